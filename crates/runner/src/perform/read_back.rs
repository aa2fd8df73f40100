//! The check of what a point has written, after its load and before its data is removed.
//!
//! In: what the instance found. Out: facts and events for the run file, and an error if data is damaged. Limits: it takes as
//! long as reading all data takes, and is in no number of the point.

use crate::error::RunnerError;
use engine::verify::ReadBack;
use model::{Event, EventKind, Fact, Nanos, READ_BACK_FACT, Tick};

/// How many damaged units have an event of their own.
const EVENTS_MAX: usize = 10;

/// What the run file keeps of it; it took `took`.
pub(super) fn facts(found: &ReadBack, took: Nanos) -> Vec<Fact> {
    let checked = &found.checked;
    let stopped = if checked.stopped { ", stopped before the end" } else { "" };
    let counts = [
        ("verify.corrupt", checked.corrupt),
        ("verify.stale", checked.stale),
        ("verify.misdirected", checked.misdirected),
        ("verify.unsure", checked.unsure),
    ];
    let summary = Fact::new(READ_BACK_FACT, format!("{}{stopped}, in {took}", checked.summary()));
    [summary].into_iter().chain(counts.map(|(name, count)| Fact::new(name, count.to_string()))).collect()
}

/// The first damaged units, as failures at `at`.
pub(super) fn events(found: &ReadBack, at: Tick) -> Vec<Event> {
    let lines = found.lines().take(EVENTS_MAX);
    lines.map(|line| Event::new(at, EventKind::Failure, format!("corrupt: read back: {line}"))).collect()
}

/// An error if any of it is damaged.
pub(super) fn check_damage(found: &ReadBack) -> Result<(), RunnerError> {
    match found.lines().next() {
        None => Ok(()),
        Some(first) => {
            let summary = found.checked.summary();
            Err(RunnerError::failed(format!("read back: {summary}; first: {first}; what was measured is kept")))
        }
    }
}
