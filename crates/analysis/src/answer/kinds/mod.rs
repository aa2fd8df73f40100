//! The kinds of answer: one file each, with when a run has that shape and what is then claimed.

mod arms;
mod catalogue;
mod cost;
mod failover;
mod limit;
mod many_sweeps;
mod numbers;
mod observed;
mod observed_events;
mod suite;
mod sweep;
mod timeline;
mod variants;

pub use limit::search_claims;
pub(super) use observed::trust as trust_of_watch;

use super::{AnswerKind, AnswerParts, AskedRun};

/// A kind of answer.
struct AnswerKindDef {
    kind: AnswerKind,
    /// What it makes of a run; `None` if the run has another shape.
    answer: fn(&AskedRun) -> Option<AnswerParts>,
}

/// In the order in which they are tried.
const KINDS: &[AnswerKindDef] = &[
    AnswerKindDef { kind: AnswerKind::Observed, answer: observed::answer },
    AnswerKindDef { kind: AnswerKind::Failover, answer: failover::answer },
    AnswerKindDef { kind: AnswerKind::Limit, answer: limit::answer },
    AnswerKindDef { kind: AnswerKind::Variants, answer: variants::answer },
    AnswerKindDef { kind: AnswerKind::Cost, answer: cost::answer },
    AnswerKindDef { kind: AnswerKind::Suite, answer: suite::answer },
    AnswerKindDef { kind: AnswerKind::Catalogue, answer: catalogue::answer },
    AnswerKindDef { kind: AnswerKind::Arms, answer: arms::answer },
    AnswerKindDef { kind: AnswerKind::Sweep, answer: sweep::answer },
    AnswerKindDef { kind: AnswerKind::Timeline, answer: timeline::answer },
];

/// The answer of the first kind that `run` has the shape of.
pub(super) fn answer(run: &AskedRun) -> (AnswerKind, AnswerParts) {
    let fitting = KINDS.iter().find_map(|def| Some((def.kind, (def.answer)(run)?)));
    fitting.unwrap_or_else(|| (AnswerKind::Numbers, numbers::answer(run)))
}
