//! The answer of a run: the question that was asked, a small table in which the reader sees the answer, a few claims in order of
//! importance, how far to trust them, and one next step.
//!
//! In: an [`Analysis`]. Out: an [`Answer`], which terminal, page, Markdown and JSON only render. A kind of answer is one file in
//! [`kinds`]: when a run has that shape, and what is then claimed. Claims are made from the verdict, from relative tables and from
//! findings, and compute nothing of their own: so they cannot contradict what the details say.
//! Limits: at most [`ROWS_MAX`] rows, [`COLUMNS_MAX`] columns and [`CLAIMS_MAX`] claims; all else is in the details.

mod amounts;
mod asked;
mod bottleneck;
mod claim;
mod comparison;
mod conditions;
mod disturbance;
mod divergence;
mod effect;
mod failed_replay;
mod kinds;
mod losses;
pub mod objective;
mod parts;
mod places;
mod recorded_loss;
pub mod speech;
mod sureness;
mod table;
#[cfg(test)]
mod tests;
mod thing;
mod trust;
mod wakeups;

pub use crate::points::failed_replay::FailedReplay;
pub use crate::points::work::{WorkRate, WorkUnit};
pub use asked::AskedRun;
pub use claim::{Claim, ClaimFigure, ClaimKind, WORDS_MAX};
pub use comparison::comparison_cautions;
pub use failed_replay::{failed_sentence, remedy};
pub use kinds::search_claims;
pub use parts::{AnswerKind, AnswerParts};
pub use table::{AnswerCell, AnswerColumn, AnswerRow, AnswerTable, COLUMNS_MAX, ROWS_MAX};
pub use trust::not_measured;

use crate::points::sweep::is_usable;
use crate::{Analysis, Code, RepeatRows};
use serde::Serialize;

pub const CLAIMS_MAX: usize = 5;

/// What a run says about the question that it was made for.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Answer {
    /// The shape of the run, which decides what is claimed.
    pub kind: AnswerKind,
    /// The question: that of the plan, or what was understood from the flags.
    pub question: String,
    /// The numbers in which the answer is seen; `None` if nothing was measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub table: Option<AnswerTable>,
    /// What is claimed, the most important first. The first one answers the question.
    pub claims: Vec<Claim>,
    /// How far to trust it: complete sentences, at most three.
    pub trust: Vec<String>,
    /// What to do next: one sentence or one command.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

impl Answer {
    /// The first claim, which answers the question; the question if nothing is claimed.
    pub fn headline(&self) -> &str {
        self.claims.first().map_or(&self.question, |claim| &claim.sentence)
    }

    /// Whether the first claim is that operations failed, so that it comes before all numbers.
    pub fn begins_with_failures(&self) -> bool {
        let first = self.claims.first().filter(|claim| claim.kind == ClaimKind::Caution);
        first.is_some_and(|claim| claim.findings.contains(&Code::Errors))
    }
}

/// The answer of `analysis`.
pub fn answer(analysis: &Analysis) -> Answer {
    answer_with(analysis, &RepeatRows::from_analysis(analysis).analysis)
}

/// The answer of `analysis`, whose repeats are taken together in `rows`.
pub fn answer_with(analysis: &Analysis, rows: &Analysis) -> Answer {
    let run = AskedRun { analysis, rows };
    let (kind, parts) = kinds::answer(&run);
    let AnswerParts { question, table, mut claims, next } = parts;
    // A claim may only repeat a figure that may be used; without one there is nothing to claim. A search says itself why it has none.
    let is_watch = kind == AnswerKind::Observed;
    if !is_watch && !run.rows.points.iter().any(is_usable) && analysis.searches.is_empty() {
        claims = vec![trust::nothing_usable(&run)];
    }
    if let Some(claim) = losses::only_failures(&run) {
        claims = vec![claim];
    }
    let failures = failed_replay::claims(&run);
    if !failures.is_empty() {
        // They say why nothing is usable, with more words.
        claims.retain(|claim| !claim.findings.contains(&Code::Errors));
        claims.splice(0..0, failures);
    }
    if run.asks_what_limits() {
        claims.sort_by_key(|claim| claim.kind != ClaimKind::Bottleneck);
    }
    claims.truncate(CLAIMS_MAX);
    let table = table.map(AnswerTable::bounded);
    let trust = if is_watch { kinds::trust_of_watch(&run) } else { trust::sentences(&run, table.as_ref()) };
    let first_step = || trust::step_after_failure(&run).or_else(|| trust::step_after_interruption(&run));
    let next = if is_watch { next } else { first_step().or(next).or_else(|| trust::next_step(&run)) };
    Answer { kind, question: run.told_question().unwrap_or(question), table, claims, trust, next }
}
