//! What a stored procedure does, as text.
//!
//! In: its steps, the words in which servers differ. Out: statements, one after the other. Limits: names and messages are those of
//! workloads, and have no quotes in them.

use workload::ProcedureStep;

/// The words in which the procedures of servers differ.
pub struct ProcedureWords {
    /// Before the steps of a loop,
    pub loop_begin: &'static str,
    /// and behind them.
    pub loop_end: &'static str,
    /// Rolls the transaction back and ends the procedure.
    pub roll_back: &'static str,
    /// Fails with a message.
    pub fail: fn(&str) -> String,
}

impl ProcedureWords {
    /// The text of `steps`.
    pub fn steps_text(&self, steps: &[ProcedureStep]) -> String {
        steps.iter().map(|step| self.step_text(step) + "; ").collect()
    }

    fn step_text(&self, step: &ProcedureStep) -> String {
        let ProcedureWords { loop_begin, loop_end, roll_back, fail } = self;
        match step {
            ProcedureStep::Perform(statement) => (*statement).to_owned(),
            ProcedureStep::While(condition, steps) => {
                format!("WHILE {condition} {loop_begin} {}{loop_end}", self.steps_text(steps))
            }
            ProcedureStep::If(condition, steps) => format!("IF {condition} THEN {}END IF", self.steps_text(steps)),
            ProcedureStep::RollBack => (*roll_back).to_owned(),
            ProcedureStep::Fail(message) => fail(message),
        }
    }
}
