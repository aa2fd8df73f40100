//! One thing that is claimed of a run: a sentence, and the figures in it.

use crate::Code;
use serde::Serialize;

/// A longer sentence is read twice.
pub const WORDS_MAX: usize = 30;

/// What a claim is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ClaimKind {
    /// How much is reached.
    Rate,
    /// How much better or worse one thing is than another.
    Difference,
    /// That a comparison shows no difference, and how small one it would have shown.
    NoDifference,
    /// That a comparison is not decided, and why.
    Undecided,
    /// From where on more clients or depth gain nothing.
    Scaling,
    Bottleneck,
    /// What disturbs it: stalls, drops, waves, shifts, with their period and length.
    Disturbance,
    /// That nothing disturbed it.
    Steadiness,
    /// What must not be concluded, or is missing.
    Caution,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Claim {
    /// What it is about.
    pub kind: ClaimKind,
    /// One sentence of at most [`WORDS_MAX`] words, with one comparison, without a parameter's key.
    pub sentence: String,
    /// The numbers in the sentence, as the details of the run have them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub figures: Vec<ClaimFigure>,
    /// The findings that it is made from.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<Code>,
}

/// A number in a claim.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ClaimFigure {
    /// What it is, with its unit, as the JSON of a point has it: `ops_per_s`, `response_p99_ns`, `ratio`.
    pub name: String,
    /// In the unit that the name ends with.
    pub value: f64,
    /// Its 95 % confidence interval.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ci95: Option<[f64; 2]>,
    /// The point that has it; `None` of a ratio and of a mean of repeats.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub point: Option<u32>,
}

impl Claim {
    /// A claim without figures.
    pub fn new(kind: ClaimKind, sentence: impl Into<String>) -> Claim {
        Claim { kind, sentence: sentence.into(), figures: Vec::new(), findings: Vec::new() }
    }

    /// The same with a figure of its sentence.
    pub fn figure(mut self, name: impl Into<String>, value: f64, ci95: Option<[f64; 2]>) -> Claim {
        self.figures.push(ClaimFigure { name: name.into(), value, ci95, point: None });
        self
    }

    /// The same with a figure of its sentence that one point has.
    pub fn figure_of(mut self, point: u32, name: impl Into<String>, value: f64) -> Claim {
        self.figures.push(ClaimFigure { name: name.into(), value, ci95: None, point: Some(point) });
        self
    }

    /// The same with a figure of its sentence that is of one point if `point` names one, as [`super::AskedRun::point_of`] does.
    pub fn figure_at(
        mut self,
        point: Option<u32>,
        name: impl Into<String>,
        value: f64,
        ci95: Option<[f64; 2]>,
    ) -> Claim {
        self.figures.push(ClaimFigure { name: name.into(), value, ci95, point });
        self
    }

    /// The same, made from findings of `code`.
    pub fn from_finding(mut self, code: Code) -> Claim {
        self.findings.push(code);
        self
    }
}
