//! A stored procedure of an SQL server: one call is one transaction.
//!
//! In: a workload writes it in statements that all servers understand, and in steps. Out: engines write it in the words of their server.
//! Limits: a procedure answers with nothing; what it reads stays in its variables. A name of a parameter or a variable must be that of no
//! column, because servers disagree on which of the two is meant.

use model::ColumnKind;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SqlProcedure {
    /// Its name: letters, digits and underscores.
    pub name: &'static str,
    /// What it is called with, in order.
    pub parameters: Vec<ProcedureVariable>,
    /// Its variables, NULL at the beginning.
    pub variables: Vec<ProcedureVariable>,
    /// What it does in one transaction, which is committed at the end.
    pub steps: Vec<ProcedureStep>,
}

impl SqlProcedure {
    /// The statement that calls it, with `?` for each parameter.
    pub fn call_text(&self) -> String {
        format!("CALL {}({})", self.name, vec!["?"; self.parameters.len()].join(", "))
    }
}

/// A parameter or a variable of a procedure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcedureVariable {
    pub name: &'static str,
    pub kind: ColumnKind,
}

/// What a procedure does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProcedureStep {
    /// It performs a statement. One that selects puts the columns of its only row into variables (`INTO`), and leaves it open what they
    /// hold if there is no row.
    Perform(&'static str),
    /// It goes through the steps as long as the condition holds.
    While(&'static str, Vec<ProcedureStep>),
    /// It goes through the steps if the condition holds.
    If(&'static str, Vec<ProcedureStep>),
    /// It rolls the transaction back and ends, which is no failure.
    RollBack,
    /// It fails with this message, without quotes in it.
    Fail(&'static str),
}
