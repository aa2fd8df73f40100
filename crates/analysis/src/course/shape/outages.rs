//! Outages: stretches in which nothing finished because the server was gone or connections failed.
//!
//! In: the stalls of a run phase, the failures in its intervals, the events. Out: [`Outage`]s; they are then no stalls.
//! An outage is a stall in which operations failed, if clients lost their connections at that time or before, or in which the server was
//! restarted. A client reports its first failure of each class only, so a second outage may have no event of its own.
//! Limits: those of stalls: an outage that is shorter than an interval shows as failures and not as an outage. A server that is frozen and
//! goes on later, so that no connection fails, has stalled.

use super::stalls::Stall;
use crate::Span;
use crate::recorded::window::{OpTally, Window};
use model::{Event, EventKind, FailureClass, PointData};

/// A stretch in which the server was gone.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outage {
    /// When: from the first connection that was lost, if that is known, or else from the first interval in which nothing finished.
    pub span: Span,
    /// Operations that failed in it.
    pub failed_ops: u64,
    /// How often the server was restarted in it.
    pub restarts: usize,
    /// Whether operations were done again before the run phase ended.
    pub is_over: bool,
}

/// The outages among `stalls`, and the others.
pub fn separate_outages(point: &PointData, window: &Window, stalls: Vec<Stall>) -> (Vec<Outage>, Vec<Stall>) {
    let search = OutageSearch::new(point, window);
    let mut outages = Vec::new();
    let others = stalls.into_iter().filter(|stall| {
        let outage = search.outage_of(stall);
        outages.extend(outage);
        outage.is_none()
    });
    let others = others.collect();
    (outages, others)
}

struct OutageSearch<'a> {
    window: &'a Window<'a>,
    /// When connections were lost, and when the server was restarted, in seconds since the run phase began.
    lost_s: Vec<f64>,
    restarted_s: Vec<f64>,
}

impl<'a> OutageSearch<'a> {
    fn new(point: &PointData, window: &'a Window<'a>) -> OutageSearch<'a> {
        let times = |is_wanted: fn(&Event) -> bool| {
            point.events.iter().filter(|event| is_wanted(event)).map(|event| window.seconds_at(event.at)).collect()
        };
        let lost_s = times(|event| event.is_failure_of(FailureClass::Lost));
        OutageSearch { window, lost_s, restarted_s: times(|event| event.kind == EventKind::Restart) }
    }

    fn outage_of(&self, stall: &Stall) -> Option<Outage> {
        let interval_s = self.window.whole.first()?.length.as_secs_f64();
        // It began in the interval before it, and ended in the one after it.
        let around = Span { from_s: stall.span.from_s - interval_s, to_s: stall.span.to_s + interval_s };
        let failed_ops = self.failed_in(&around);
        let restarts = self.restarted_s.iter().filter(|at| around.contains_s(**at)).count();
        let is_lost = failed_ops > 0 && self.lost_s.iter().any(|at| *at < around.to_s);
        let end_s = self.window.seconds_at(self.window.phase.end);
        let first_lost_s = self.lost_s.iter().copied().filter(|at| around.contains_s(*at)).reduce(f64::min);
        let from_s = first_lost_s.filter(|at| *at < stall.span.to_s).unwrap_or(stall.span.from_s);
        let is_over = stall.span.to_s < end_s - interval_s / 2.0;
        let span = Span { from_s, to_s: stall.span.to_s };
        (is_lost || restarts > 0).then_some(Outage { span, failed_ops, restarts, is_over })
    }

    fn failed_in(&self, span: &Span) -> u64 {
        let tallies = self.window.phase.intervals.iter().map(OpTally::from_interval);
        tallies
            .filter(|tally| {
                let middle_s = self.window.seconds_at(tally.start) + tally.length.as_secs_f64() / 2.0;
                span.contains_s(middle_s)
            })
            .map(|tally| tally.failed)
            .sum()
    }
}
