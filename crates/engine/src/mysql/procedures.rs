//! The stored procedures of a workload in the words of MariaDB and MySQL.
//!
//! In: a procedure. Out: the statement that makes it. Limits: names and messages are those of workloads, and have no quotes in them.

use super::tables::kind_text;
use workload::{ColumnKind, ProcedureStep, ProcedureVariable, SqlProcedure};

/// The label of all that a procedure does.
const WHOLE: &str = "whole";

/// The statement that makes `procedure`. It runs with the rights of those who call it.
pub fn create_statement(procedure: &SqlProcedure) -> String {
    let parameters: Vec<String> = procedure.parameters.iter().map(|it| format!("IN {}", variable_text(it))).collect();
    let variables: String = procedure.variables.iter().map(|it| format!("DECLARE {}; ", variable_text(it))).collect();
    format!(
        "CREATE PROCEDURE {}({}) SQL SECURITY INVOKER {WHOLE}: BEGIN {variables}START TRANSACTION; {}COMMIT; END",
        procedure.name,
        parameters.join(", "),
        steps_text(&procedure.steps)
    )
}

/// Texts are in the character set of the tables: the server would convert a column that it compares with a text of another, and not use
/// its index.
fn variable_text(variable: &ProcedureVariable) -> String {
    let is_text = matches!(variable.kind, ColumnKind::Char(_) | ColumnKind::VarChar(_) | ColumnKind::Text);
    let charset = if is_text { " CHARACTER SET latin1" } else { "" };
    format!("{} {}{charset}", variable.name, kind_text(variable.kind))
}

fn steps_text(steps: &[ProcedureStep]) -> String {
    steps.iter().map(step_text).collect()
}

fn step_text(step: &ProcedureStep) -> String {
    match step {
        ProcedureStep::Perform(statement) => format!("{statement}; "),
        ProcedureStep::While(condition, steps) => format!("WHILE {condition} DO {}END WHILE; ", steps_text(steps)),
        ProcedureStep::If(condition, steps) => format!("IF {condition} THEN {}END IF; ", steps_text(steps)),
        ProcedureStep::RollBack => format!("ROLLBACK; LEAVE {WHOLE}; "),
        // The SQLSTATE for an error of one's own.
        ProcedureStep::Fail(message) => format!("SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = '{message}'; "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_procedure_is_one_transaction_that_it_may_leave() {
        let variable = |name, kind| ProcedureVariable { name, kind };
        let steps = vec![
            ProcedureStep::While("v_n < p_n", vec![ProcedureStep::Perform("SELECT v_n + 1 INTO v_n")]),
            ProcedureStep::If("v_n IS NULL", vec![ProcedureStep::RollBack]),
            ProcedureStep::Fail("it was not found"),
        ];
        let procedure = SqlProcedure {
            name: "count_up",
            parameters: vec![variable("p_n", ColumnKind::Int), variable("p_t", ColumnKind::VarChar(5))],
            variables: vec![variable("v_n", ColumnKind::BigInt)],
            steps,
        };
        assert_eq!(
            create_statement(&procedure),
            "CREATE PROCEDURE count_up(IN p_n INT, IN p_t VARCHAR(5) CHARACTER SET latin1) SQL SECURITY INVOKER \
             whole: BEGIN DECLARE v_n BIGINT; START TRANSACTION; WHILE v_n < p_n DO SELECT v_n + 1 INTO v_n; END WHILE; \
             IF v_n IS NULL THEN ROLLBACK; LEAVE whole; END IF; \
             SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'it was not found'; COMMIT; END"
        );
        assert_eq!(procedure.call_text(), "CALL count_up(?, ?)");
    }
}
