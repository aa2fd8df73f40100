//! What a stored procedure does, as text.
//!
//! In: its steps, the words in which servers differ. Out: statements, one after the other. Limits: names and messages are those of
//! workloads, and have no quotes in them.

use workload::ProcedureStep;

/// The words in which the procedures of servers differ.
pub struct ProcedureWords {
    /// What is before the steps of a loop.
    pub loop_begin: &'static str,
    /// What is behind them.
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

#[cfg(test)]
pub mod tests {
    use super::*;
    use workload::{ColumnKind, ProcedureVariable, SqlProcedure};

    /// A procedure with each kind of step, for the tests of each dialect.
    pub fn count_up(parameters: &[(&'static str, ColumnKind)]) -> SqlProcedure {
        let variable = |(name, kind): &(&'static str, ColumnKind)| ProcedureVariable { name, kind: *kind };
        SqlProcedure {
            name: "count_up",
            parameters: parameters.iter().map(variable).collect(),
            variables: vec![variable(&("v_n", ColumnKind::BigInt))],
            steps: vec![
                ProcedureStep::While("v_n < p_n", vec![ProcedureStep::Perform("SELECT v_n + 1 INTO v_n")]),
                ProcedureStep::If("v_n IS NULL", vec![ProcedureStep::RollBack]),
                ProcedureStep::Fail("it was not found"),
            ],
        }
    }
}
