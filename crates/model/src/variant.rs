//! Variants of one statement, and the data that they are compared on.
//!
//! In: the crate `plan` reads them from a plan file, for the engine of the point. Out: a workload makes operations of their steps; the
//! run file keeps them. Limits: SQL is not understood; `{rows}` in it is filled in by the workload.

use serde::{Deserialize, Serialize};
use std::fmt;

/// The placeholder for the number of rows, which `--scale` multiplies.
pub const ROWS: &str = "{rows}";

/// What a step of a variant is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StepPart {
    /// It makes what the statement needs: a view, a temporary table, an index, a setting.
    Setup,
    /// It is the statement whose result counts.
    Statement,
    /// It removes what the set-up has made.
    Cleanup,
}

/// One step of a variant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SqlStep {
    /// What it is for.
    pub part: StepPart,
    pub sql: String,
}

/// One way to write a statement.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SqlVariant {
    pub name: String,
    /// Its set-up, its statement and its clean-up, in order; exactly one is the statement.
    pub steps: Vec<SqlStep>,
}

/// The tables that variants are compared on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SqlDataSet {
    /// Its name; empty for none.
    pub name: String,
    /// The statements that make and fill the tables.
    pub statements: Vec<String>,
}

impl SqlVariant {
    /// The parts of its steps, in order.
    pub fn parts(&self) -> Vec<StepPart> {
        self.steps.iter().map(|step| step.part).collect()
    }

    /// The names of its steps: `setup-1`, `setup-2`, `statement`, `cleanup-1`.
    pub fn step_names(&self) -> Vec<String> {
        let nth = |at: usize, part: StepPart| self.steps[..=at].iter().filter(|step| step.part == part).count();
        self.steps
            .iter()
            .enumerate()
            .map(|(at, step)| match step.part {
                StepPart::Setup => format!("setup-{}", nth(at, StepPart::Setup)),
                StepPart::Statement => "statement".to_owned(),
                StepPart::Cleanup => format!("cleanup-{}", nth(at, StepPart::Cleanup)),
            })
            .collect()
    }
}

impl fmt::Display for SqlVariant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

impl fmt::Display for SqlDataSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.name.is_empty() { "none" } else { &self.name })
    }
}

/// What an execution of a statement cost inside the engine, by the engine's own counters, as far as code reads it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StatementEffort {
    /// Rows read one after the other: by scans, or along an index.
    RowsRead,
    /// Searches for a key in an index.
    IndexLookups,
    /// Pairs of rows that a join compared one by one.
    RowsCompared,
    /// Rows put into an index that the engine made for this statement alone.
    TransientIndexRows,
    TempTables,
    /// Internal temporary tables that went to disk.
    TempDiskTables,
    /// Bytes written to temporary files.
    TempBytes,
    Sorts,
    SortedRows,
    /// Steps of the engine's virtual machine.
    MachineSteps,
}

/// All of them with the names of their facts.
pub const STATEMENT_EFFORTS: [(StatementEffort, &str); 10] = [
    (StatementEffort::RowsRead, "statement.rows_read"),
    (StatementEffort::IndexLookups, "statement.index_lookups"),
    (StatementEffort::RowsCompared, "statement.rows_compared"),
    (StatementEffort::TransientIndexRows, "statement.transient_index_rows"),
    (StatementEffort::TempTables, "statement.temp_tables"),
    (StatementEffort::TempDiskTables, "statement.temp_disk_tables"),
    (StatementEffort::TempBytes, "statement.temp_bytes"),
    (StatementEffort::Sorts, "statement.sorts"),
    (StatementEffort::SortedRows, "statement.sorted_rows"),
    (StatementEffort::MachineSteps, "statement.machine_steps"),
];

impl StatementEffort {
    /// The name of its fact.
    pub fn fact_name(self) -> &'static str {
        let found = STATEMENT_EFFORTS.iter().find(|(effort, _)| *effort == self);
        found.map(|(_, name)| *name).expect("the table has all of them")
    }

    /// The one whose fact has this name.
    pub fn from_fact_name(name: &str) -> Option<StatementEffort> {
        STATEMENT_EFFORTS.iter().find(|(_, known)| *known == name).map(|(effort, _)| *effort)
    }
}

/// What a statement has returned.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct StatementResult {
    pub rows: u64,
    pub columns: u64,
    /// The sum of the hashes of all rows, whatever their order: 16 hexadecimal digits.
    pub checksum: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_named_by_their_part_and_number() {
        use StepPart::{Cleanup, Setup, Statement};
        let step = |part| SqlStep { part, sql: "SELECT 1".into() };
        let variant = SqlVariant { name: "a".into(), steps: [Setup, Setup, Statement, Cleanup].map(step).to_vec() };
        assert_eq!(variant.step_names(), ["setup-1", "setup-2", "statement", "cleanup-1"]);
    }

    #[test]
    fn every_effort_has_a_fact_and_is_found_by_it() {
        for (effort, name) in STATEMENT_EFFORTS {
            assert_eq!((effort.fact_name(), StatementEffort::from_fact_name(name)), (name, Some(effort)));
        }
        assert_eq!(StatementEffort::from_fact_name("statement.none"), None);
    }
}
