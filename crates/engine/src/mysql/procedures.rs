//! The stored procedures of a workload in the words of MariaDB and MySQL.
//!
//! In: a procedure. Out: the statement that makes it. Limits: names and messages are those of workloads, and have no quotes in them.

use super::tables::kind_text;
use crate::sql::procedure_steps::ProcedureWords;
use workload::{ColumnKind, ProcedureVariable, SqlProcedure};

/// `whole` is the label of all that a procedure does, and 45000 the SQLSTATE for an error of one's own.
const WORDS: ProcedureWords = ProcedureWords {
    loop_begin: "DO",
    loop_end: "END WHILE",
    roll_back: "ROLLBACK; LEAVE whole",
    fail: |message| format!("SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = '{message}'"),
};

/// The statement that makes `procedure`. It runs with the rights of those who call it.
pub fn create_statement(procedure: &SqlProcedure) -> String {
    let parameters: Vec<String> = procedure.parameters.iter().map(|it| format!("IN {}", variable_text(it))).collect();
    let variables: String = procedure.variables.iter().map(|it| format!("DECLARE {}; ", variable_text(it))).collect();
    format!(
        "CREATE PROCEDURE {}({}) SQL SECURITY INVOKER whole: BEGIN {variables}START TRANSACTION; {}COMMIT; END",
        procedure.name,
        parameters.join(", "),
        WORDS.steps_text(&procedure.steps)
    )
}

/// Texts are in the character set of the tables: the server would convert a column that it compares with a text of another, and not use
/// its index.
fn variable_text(variable: &ProcedureVariable) -> String {
    let is_text = matches!(variable.kind, ColumnKind::Char(_) | ColumnKind::VarChar(_) | ColumnKind::Text);
    let charset = if is_text { " CHARACTER SET latin1" } else { "" };
    format!("{} {}{charset}", variable.name, kind_text(variable.kind))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::procedure_steps::tests::count_up;

    #[test]
    fn a_procedure_is_one_transaction_that_it_may_leave() {
        let procedure = count_up(&[("p_n", ColumnKind::Int), ("p_t", ColumnKind::VarChar(5))]);
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
