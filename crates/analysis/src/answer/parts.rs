//! What a kind of answer makes of a run.

use super::claim::Claim;
use super::table::AnswerTable;
use serde::Serialize;

/// The shapes that runs have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AnswerKind {
    /// What a server does that others load, and what is nearest to its limit.
    Observed,
    /// Which client saw a node go, and how long.
    Failover,
    /// The largest rate that keeps an objective.
    Limit,
    /// Ways to write one statement.
    Variants,
    /// What one operation costs: kernels, codecs, openings of connections.
    Cost,
    /// Many lines, each compared by itself (`micro`, `kv`).
    Suite,
    /// Several unlike workloads, one after the other (`quick`).
    Catalogue,
    /// Values of one setting, compared.
    Arms,
    /// The rate against clients or depth.
    Sweep,
    /// One point over time.
    Timeline,
    /// None of these: the numbers are shown, and nothing is claimed.
    Numbers,
}

/// What a kind of answer makes of a run.
#[derive(Clone, Debug, Default)]
pub struct AnswerParts {
    /// The question, if the plan has none.
    pub question: String,
    /// `None` if nothing was measured.
    pub table: Option<AnswerTable>,
    /// In order of importance; those above [`CLAIMS_MAX`](super::CLAIMS_MAX) are dropped.
    pub claims: Vec<Claim>,
    /// What to do next, if this kind knows something better than the findings.
    pub next: Option<String>,
}
