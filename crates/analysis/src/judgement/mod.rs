//! What a judgement is made of: how severe it is, how far a number can be trusted, and what to do next.

mod next_step;

pub use next_step::NextStep;

use serde::{Deserialize, Serialize};

/// How far a number can be trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Validity {
    /// Nothing speaks against it.
    Valid,
    /// It shows the direction; the findings name what weakens it.
    Indicative,
    /// It must not be used; the findings name the reason.
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

impl Severity {
    /// The word used in files and reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Severity::Note => "note",
            Severity::Warning => "warning",
            Severity::Error => "error",
        }
    }
}

impl Validity {
    /// The validity that follows from the severities of all findings of a point.
    pub fn from_severities(severities: impl IntoIterator<Item = Severity>) -> Validity {
        match severities.into_iter().max() {
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
