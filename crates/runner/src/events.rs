//! The events of a run while it is measured.
//!
//! In: the session calls [`RunObserver::on`] for each [`RunEvent`], in the order in which they happen. Out: the observer shows them as
//! a live view, as a bar or as lines, or keeps them for a test. Limits: an observer cannot change or end a run, and is called by the thread
//! that records, so it must return at once. While clients work it is called once an interval, never for a single operation.

use model::limit::LimitProbe;
use model::{
    Bytes, CounterSample, EngineProcess, Event, IntervalRow, KindDef, Phase, PointState, SourceDef, Tick, Trial,
};
use store::PointId;

/// What an observer of a run is told.
#[derive(Clone, Copy, Debug)]
pub enum RunEvent<'a> {
    /// A note for the user, in one line.
    Note(&'a str),
    /// The measurement of a point begins.
    PointBegan {
        /// How many points of the run are complete before it.
        number: usize,
        /// The trial of the point.
        trial: &'a Trial,
    },
    /// The engine of the point is ready.
    PointOpened {
        /// The kinds of its operations.
        kinds: &'a [KindDef],
        /// The counters that are read while it works.
        sources: &'a [SourceDef],
        /// Whose process does the work of the engine.
        process: EngineProcess,
    },
    /// A phase of the point begins.
    PhaseBegan(Phase),
    /// An interval is over. Also called for steps that are performed again and not recorded.
    Interval {
        /// What the clients did: increments.
        rows: &'a [IntervalRow],
        /// What the sources of counters read; of steps that are performed again nothing.
        counters: &'a [CounterSample],
        /// Events of the interval, such as restarts.
        events: &'a [Event],
        /// Now; `None` in steps that are performed again.
        at: Option<Tick>,
    },
    /// The data that the point wrote is being read back.
    ReadingBack {
        /// Bytes that were read.
        done: Bytes,
        /// Bytes to read in all.
        total: Bytes,
    },
    /// A search has judged the point that was measured last.
    ProbeJudged(&'a LimitProbe),
    /// The point is recorded.
    PointEnded {
        /// Its number in the run file; `None` if it was skipped before its engine was ready.
        point: Option<PointId>,
        /// How the point ended.
        end: PointEnd,
        /// Whether the next point is a later step of the same sequence: the engine works on, so whoever takes long now disturbs it.
        is_continued: bool,
    },
    /// Nothing more is measured.
    SessionEnded,
}

/// How a point ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PointEnd {
    /// With this state in the run file.
    Recorded(PointState),
    /// The user left it out; a resumed run measures it.
    Skipped,
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
