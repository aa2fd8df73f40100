//! What the analysis says: findings with evidence, and the validity that follows from them.
//!
//! In: detectors make findings. Out: reports show them beside the numbers they concern.
//! Limits: a finding states what was seen and what to do next; it never changes a number.

use serde::{Deserialize, Serialize};

/// How far a number can be trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Validity {
    /// Nothing speaks against it.
    Valid,
    /// It shows the direction; the findings say what weakens it.
    Indicative,
    /// It must not be used; the findings say why.
    Invalid,
}

/// What a finding does to the numbers of its point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Something seen in the target: it describes the result and does not weaken it (a stall of the disk).
    Note,
    /// Weakens the numbers: the point is at most indicative.
    Warning,
    /// Spoils the numbers: the point is invalid.
    Error,
}

/// One thing that the analysis found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// The stable code: `stall`, `client-bound`. `plimsoll explain CODE` tells more.
    pub code: String,
    /// What it does to the numbers.
    pub severity: Severity,
    /// One line for people: what, when, how much.
    pub title: String,
    /// The figures that show it.
    pub evidence: String,
    /// What to do next; empty where nothing is to be done.
    pub next_step: String,
}

impl Validity {
    /// The validity that follows from `findings`.
    pub fn from_findings<'a>(findings: impl IntoIterator<Item = &'a Finding>) -> Validity {
        match findings.into_iter().map(|f| f.severity).max() {
            Some(Severity::Error) => Validity::Invalid,
            Some(Severity::Warning) => Validity::Indicative,
            Some(Severity::Note) | None => Validity::Valid,
        }
    }

    /// The word used in files and reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Validity::Valid => "valid",
            Validity::Indicative => "indicative",
            Validity::Invalid => "invalid",
        }
    }
}
