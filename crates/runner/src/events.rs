//! The events of a run while it is measured.
//!
//! In: the session calls [`RunObserver::on`] for each [`RunEvent`], in the order in which they happen. Out: the observer shows them as
//! a progress bar or as lines, or keeps them for a test. Limits: an observer cannot change or end a run, and is called by the thread
//! that records, so it must return at once.

use model::limit::LimitProbe;
use model::{Bytes, IntervalRow, KindDef, Phase, PointState, Trial};

/// What happened.
#[derive(Clone, Copy, Debug)]
pub enum RunEvent<'a> {
    /// A note for the user, in one line.
    Note(&'a str),
    /// A point begins.
    PointBegan {
        /// How many points of the run are complete before it.
        number: usize,
        /// What it measures.
        trial: &'a Trial,
    },
    /// The engine of the point is ready for operations of these kinds.
    PointOpened(&'a [KindDef]),
    /// A phase of the point begins.
    PhaseBegan(Phase),
    /// An interval is over. Also called for steps that are performed again and not recorded.
    Interval(&'a [IntervalRow]),
    /// The data that the point wrote is being read back.
    ReadingBack {
        /// Bytes that were read,
        done: Bytes,
        /// of so many.
        total: Bytes,
    },
    /// A search has judged the point that was measured last.
    ProbeJudged(&'a LimitProbe),
    /// The point is recorded.
    PointEnded(PointState),
    /// Nothing more is measured.
    SessionEnded,
}

/// Receives the events of a run.
pub trait RunObserver {
    /// Called once for each event.
    fn on(&mut self, event: RunEvent<'_>);
}

/// Passes each event to several observers, in their order.
pub struct ObserverList<'a>(pub Vec<&'a mut dyn RunObserver>);

impl RunObserver for ObserverList<'_> {
    fn on(&mut self, event: RunEvent<'_>) {
        self.0.iter_mut().for_each(|observer| observer.on(event));
    }
}

/// Sends a note to `observer`.
pub(crate) fn note(observer: &mut dyn RunObserver, text: impl std::fmt::Display) {
    observer.on(RunEvent::Note(&text.to_string()));
}
