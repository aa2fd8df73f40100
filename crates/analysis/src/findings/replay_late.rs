//! Finds replays whose requests did not begin at their recorded times.
//!
//! In: how many requests of a recording began, and how many of them too late, as the load counted each. Out: a warning if more than one in
//! a hundred was late. Limits: does not separate a disk that is too slow from too few slots or too little CPU; the share of late arrivals and the
//! lag of the clients do. It counts requests, not intervals, so a replay of less than a second is judged like a long one.

use super::{Detects, Finding, FindingKind};
use crate::evidence::PointView;
use crate::judgement::{NextStep, Severity};
use crate::math::units::Share;
use model::Nanos;
use serde::Serialize;
use words::quantity::{counted, percent, range, time, whole};

/// Requests of a recording that did not begin at their times.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LateStarts {
    /// How many requests began.
    pub requests: u64,
    /// Those that began too late.
    pub late_requests: u64,
    /// The share of them.
    pub late_share: Share,
    /// Within which time a request was on time.
    pub on_time_within_ns: Nanos,
    /// The longest time between the time of a request and its beginning.
    pub latest_ns: Nanos,
}

/// A replay is the recorded load if no more of its requests than this begin late.
const LATE_SHARE_MAX: f64 = 0.01;

fn detect(view: &PointView) -> Vec<Finding> {
    let Some(starts) = view.point.traits.outcome.starts.filter(|starts| starts.begun > 0) else { return Vec::new() };
    let late_share = starts.late as f64 / starts.begun as f64;
    if late_share <= LATE_SHARE_MAX {
        return Vec::new();
    }
    let detail = LateStarts {
        requests: starts.begun,
        late_requests: starts.late,
        late_share: Share(late_share),
        on_time_within_ns: starts.on_time_within_ns,
        latest_ns: starts.latest_ns,
    };
    vec![Finding::new(Severity::Warning, detail).next(NextStep::SlowDownReplay)]
}

impl FindingKind for LateStarts {
    const SEVERITIES: &'static [Severity] = &[Severity::Warning];
    const DETECTS: Detects = Detects::Point(detect);
    const REASON: &'static str = "replayed requests later than recorded";

    fn title(alike: &[&Self]) -> String {
        let share = range(alike, |one| one.late_share.0, percent);
        format!("{share} of the recorded requests began late")
    }

    fn evidence(&self) -> String {
        format!(
            "{} of {} began more than {} after their times, the latest {}",
            whole(self.late_requests as f64),
            counted(&[self], |one| one.requests, "request"),
            time(self.on_time_within_ns.0 as f64),
            time(self.latest_ns.0 as f64)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulated::Simulation;
    use model::RecordedStarts;

    /// A replay of a tenth of a second of whose 1,000 requests so many began late.
    fn replayed(late: u64) -> Simulation {
        Simulation::open(1, 1_000, |_| 100_000).with(|point| {
            let (on_time_within_ns, latest_ns) = (Nanos::from_millis(1), Nanos::from_millis(20));
            point.phases[0].intervals.truncate(1);
            point.traits.outcome.starts = Some(RecordedStarts { begun: 1_000, late, on_time_within_ns, latest_ns });
        })
    }

    #[test]
    fn more_than_one_late_request_in_a_hundred_is_found_however_short_the_replay() {
        assert!(replayed(10).findings("replay-late").is_empty());
        let found: LateStarts = replayed(11).figures();
        assert_eq!((found.late_requests, found.requests, found.late_share), (11, 1_000, Share(0.011)));
        assert_eq!(replayed(11).finding("replay-late").severity, Severity::Warning);
    }

    #[test]
    fn a_load_that_replays_nothing_has_no_late_requests() {
        assert!(Simulation::open(10, 1_000, |_| 100_000).findings("replay-late").is_empty());
        let none =
            Simulation::counts(&[1; 10]).with(|point| point.traits.outcome.starts = Some(RecordedStarts::default()));
        assert!(none.findings("replay-late").is_empty());
    }
}
