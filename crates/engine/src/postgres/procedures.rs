//! The stored procedures of a workload in the words of PostgreSQL.
//!
//! In: a procedure. Out: the statement that makes it. Limits: PostgreSQL has procedures since version 11; names and messages are those of
//! workloads, and have no quotes in them.

use super::tables::kind_text;
use crate::sql::procedure_steps::ProcedureWords;
use workload::{ProcedureVariable, SqlProcedure};

const WORDS: ProcedureWords = ProcedureWords {
    loop_begin: "LOOP",
    loop_end: "END LOOP",
    roll_back: "ROLLBACK; RETURN",
    fail: |message| format!("RAISE EXCEPTION '{message}'"),
};

/// The statement that makes `procedure`. A call outside of a transaction is one, which may roll itself back.
pub fn create_statement(procedure: &SqlProcedure) -> String {
    let parameters: Vec<String> = procedure.parameters.iter().map(variable_text).collect();
    let variables: String = procedure.variables.iter().map(|it| format!("{}; ", variable_text(it))).collect();
    format!(
        "CREATE PROCEDURE {}({}) LANGUAGE plpgsql AS $body$ DECLARE {variables}BEGIN {}END $body$",
        procedure.name,
        parameters.join(", "),
        WORDS.steps_text(&procedure.steps)
    )
}

fn variable_text(variable: &ProcedureVariable) -> String {
    format!("{} {}", variable.name, kind_text(variable.kind))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::procedure_steps::tests::count_up;
    use workload::ColumnKind;

    #[test]
    fn a_procedure_is_one_transaction_that_it_may_leave() {
        let procedure = count_up(&[("p_n", ColumnKind::Int)]);
        assert_eq!(
            create_statement(&procedure),
            "CREATE PROCEDURE count_up(p_n INTEGER) LANGUAGE plpgsql AS $body$ DECLARE v_n BIGINT; \
             BEGIN WHILE v_n < p_n LOOP SELECT v_n + 1 INTO v_n; END LOOP; IF v_n IS NULL THEN ROLLBACK; RETURN; END IF; \
             RAISE EXCEPTION 'it was not found'; END $body$"
        );
    }
}
