//! What happened at a moment of a trial, apart from the stream of operations.
//!
//! In: phases, clients, engines and the sampler report events. Out: the store keeps them, charts mark them.
//! Limits: events are rare; a failure that repeats is counted in the intervals and reported once.

use crate::op::FailureClass;
use crate::units::Tick;
use serde::{Deserialize, Serialize};

/// Something that happened at a moment of a trial.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
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

    /// The event of a failure of `class` at `at`. Its text begins with the class: `lost: client 3: ...`.
    pub fn failure(at: Tick, class: FailureClass, text: &str) -> Self {
        Event::new(at, EventKind::Failure, format!("{}: {text}", class.as_str()))
    }

    /// Whether it is the event of a failure of `class`.
    pub fn is_failure_of(&self, class: FailureClass) -> bool {
        let rest = self.text.strip_prefix(class.as_str()).filter(|_| self.kind == EventKind::Failure);
        rest.is_some_and(|rest| rest.starts_with(": "))
    }
}

/// The text of the event by which a point says that the user skipped it.
pub const SKIPPED_EVENT: &str = "skipped at the user's request";

/// The sort of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EventKind {
    /// A phase began or ended.
    Phase,
    /// An operation failed (the first of its class and client).
    Failure,
    /// An operation that was done has returned or changed another number of rows than it must (the first of its kind and client).
    Missing,
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
    /// Another server answers in the place of the one that is measured.
    OtherServer,
    /// A setting of the server was found changed.
    Setting,
    /// The agent of a host is silent, or is there again: what the host does is not known meanwhile, and may come later.
    HostSilent,
    /// A host left the point: it was given up, or it left by itself.
    HostLost,
    /// The clock of a host jumped against that of the bus.
    ClockStep,
    /// The wall clock of the machine was set; the clock of the run does not know it.
    WallClock,
    /// The stacks of the engine were taken, or could not be.
    Stacks,
    /// The user or a safety limit ended the trial.
    Stopped,
    /// The engine reported something that matters.
    Engine,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_is_known_by_its_class_when_it_is_read_back() {
        let lost = Event::failure(Tick(1), FailureClass::Lost, "client 3: the connection was lost");
        assert_eq!(lost.text, "lost: client 3: the connection was lost");
        assert!(lost.is_failure_of(FailureClass::Lost) && !lost.is_failure_of(FailureClass::Io));
        assert!(!Event::new(Tick(1), EventKind::Engine, "lost: it was").is_failure_of(FailureClass::Lost));
        assert!(!Event::new(Tick(1), EventKind::Failure, "lost and found").is_failure_of(FailureClass::Lost));
    }
}
