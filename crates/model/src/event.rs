//! What happened at a moment of a trial, apart from the stream of operations.
//!
//! In: phases, clients, engines and the sampler report events. Out: the store keeps them, charts mark them.
//! Limits: events are rare; a failure that repeats is counted in the intervals and reported once.

use crate::units::Tick;
use serde::{Deserialize, Serialize};

/// Something that happened at a moment of a trial.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// When.
    pub at: Tick,
    /// What sort of thing.
    pub kind: EventKind,
    /// What exactly, for people.
    pub text: String,
}

impl Event {
    /// The event of `kind` at `at`.
    pub fn new(at: Tick, kind: EventKind, text: impl Into<String>) -> Self {
        Event { at, kind, text: text.into() }
    }
}

/// The sort of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EventKind {
    /// A phase began or ended.
    Phase,
    /// An operation failed (the first of its class and client).
    Failure,
    /// A client was still blocked when the grace time was over.
    Hung,
    /// A counter source is missing or broke.
    SourceGap,
    /// The clocks disagree, or the run was interrupted and resumed.
    ClockGap,
    /// From here on plimsoll itself did not run: it was stopped or frozen, or its machine paused.
    OwnStop,
    /// From here on all of plimsoll waited for a CPU.
    OwnWait,
    /// Plimsoll ran again: the end of the [`EventKind::OwnStop`] or [`EventKind::OwnWait`] before.
    OwnGapEnd,
    /// The machine was suspended and has resumed; the clock of the run does not count that time.
    Suspend,
    /// The server was restarted.
    Restart,
    /// A setting of the server was found changed.
    Setting,
    /// The user or a safety limit ended the trial.
    Stopped,
    /// The engine reported something that matters.
    Engine,
}
