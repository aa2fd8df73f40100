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
struct KindDef {
    kind: AnswerKind,
    /// What it makes of a run; `None` if the run has another shape.
    answer: fn(&AskedRun) -> Option<AnswerParts>,
}

/// In the order in which they are tried.
const KINDS: &[KindDef] = &[
    KindDef { kind: AnswerKind::Observed, answer: observed::answer },
    KindDef { kind: AnswerKind::Failover, answer: failover::answer },
    KindDef { kind: AnswerKind::Limit, answer: limit::answer },
    KindDef { kind: AnswerKind::Variants, answer: variants::answer },
    KindDef { kind: AnswerKind::Cost, answer: cost::answer },
    KindDef { kind: AnswerKind::Suite, answer: suite::answer },
    KindDef { kind: AnswerKind::Catalogue, answer: catalogue::answer },
    KindDef { kind: AnswerKind::Arms, answer: arms::answer },
    KindDef { kind: AnswerKind::Sweep, answer: sweep::answer },
    KindDef { kind: AnswerKind::Timeline, answer: timeline::answer },
];

/// The answer of the first kind that `run` has the shape of.
pub(super) fn answer(run: &AskedRun) -> (AnswerKind, AnswerParts) {
    let fitting = KINDS.iter().find_map(|def| Some((def.kind, (def.answer)(run)?)));
    fitting.unwrap_or_else(|| (AnswerKind::Numbers, numbers::answer(run)))
}
