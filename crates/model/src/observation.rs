//! What was seen of a server that others load: what was counted, which statements it executed, and what could not be seen.
//!
//! In: the watch of a server fills it. Out: the run file keeps it with the traits of its point. Limits: texts are those that the server itself
//! keeps, without values; of more statements than [`STATEMENTS_MAX`] the dearest are kept, and the rest is one sum.

use crate::op_class::OpClass;
use serde::{Deserialize, Serialize};

/// The most statements that a point keeps.
pub const STATEMENTS_MAX: usize = 200;
/// The most characters of a statement that are kept.
pub const STATEMENT_CHARS_MAX: usize = 1_000;

/// What was seen of a server that plimsoll did not load.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Observation {
    /// What the operations of the point are.
    pub counts: ObservedCounts,
    /// The statements that were executed while it was watched, those that took the most time first; empty if they are not known.
    pub statements: Vec<ObservedStatement>,
    /// All other statements together; `None` if there were none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub others: Option<ObservedStatement>,
    /// For how long statements were counted, in nanoseconds: between the first and the last reading of them.
    pub statements_ns: u64,
    /// What could not be seen, and what would show it.
    pub missing: Vec<MissingPart>,
    /// The URL of the server, without a password; `None` if only its process was watched.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
}

/// What the operations of an observed point are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ObservedCounts {
    /// It has none: only the machine and the process were watched.
    #[default]
    Nothing,
    /// Statements that clients have sent.
    Statements,
    /// Transactions that have ended, as the server reports them up to a second late.
    Transactions,
}

/// A part that could not be seen.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct MissingPart {
    /// What is missing, and why: `statements: performance_schema is off`.
    pub what: String,
    /// What would show it; empty if nothing is known.
    pub mend: String,
}

/// What one kind of statement cost.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ObservedStatement {
    /// Its text without values; empty if the server did not tell it.
    pub text: String,
    /// The database that it ran in, if the server tells it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub database: Option<String>,
    /// Whether it reads or writes; `None` of what does neither, such as BEGIN.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub class: Option<OpClass>,
    /// What it cost.
    pub cost: StatementCost,
}

/// What executions of statements cost, by the server's own account.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct StatementCost {
    /// Executions.
    pub calls: u64,
    /// Nanoseconds in the server, waits included.
    pub time_ns: u64,
    /// Executions that failed, where the server counts them.
    pub errors: u64,
    /// Rows in the answers. PostgreSQL counts rows that were changed here, too.
    pub rows_sent: u64,
    /// Rows that were read to make them; `None` if the server does not tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rows_read: Option<u64>,
    /// Pages of tables and indexes that were looked at; `None` if the server does not tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pages: Option<u64>,
}

impl StatementCost {
    /// Adds `more`.
    pub fn add(&mut self, more: &StatementCost) {
        let sum = |one: Option<u64>, other: Option<u64>| match (one, other) {
            (Some(one), Some(other)) => Some(one.saturating_add(other)),
            (one, other) => one.or(other),
        };
        self.calls = self.calls.saturating_add(more.calls);
        self.time_ns = self.time_ns.saturating_add(more.time_ns);
        self.errors = self.errors.saturating_add(more.errors);
        self.rows_sent = self.rows_sent.saturating_add(more.rows_sent);
        self.rows_read = sum(self.rows_read, more.rows_read);
        self.pages = sum(self.pages, more.pages);
    }

    /// What came since `earlier`. None of its numbers is below 0.
    pub fn since(&self, earlier: &StatementCost) -> StatementCost {
        let difference = |one: Option<u64>, other: Option<u64>| Some(one?.saturating_sub(other.unwrap_or(0)));
        StatementCost {
            calls: self.calls.saturating_sub(earlier.calls),
            time_ns: self.time_ns.saturating_sub(earlier.time_ns),
            errors: self.errors.saturating_sub(earlier.errors),
            rows_sent: self.rows_sent.saturating_sub(earlier.rows_sent),
            rows_read: difference(self.rows_read, earlier.rows_read),
            pages: difference(self.pages, earlier.pages),
        }
    }
}

impl Observation {
    /// All statements together.
    pub fn all_statements(&self) -> StatementCost {
        let mut all = StatementCost::default();
        self.statements.iter().chain(&self.others).for_each(|one| all.add(&one.cost));
        all
    }
}
