//! Finds background clients that missed the rate asked of them.
//!
//! In: the operations of the background clients, and the rate that was asked. Out: a warning.
//! Limits: looks at all of what counts; a rate that was missed for a while and caught up with shows in their response times.

use super::{Detects, Finding, FindingKind};
use crate::evidence::PointView;
use crate::judgement::{NextStep, Severity};
use crate::numbers::background::BackgroundSummary;
use serde::Serialize;
use words::quantity::{percent, plural, range, rate, time, whole};

/// A background load below the rate asked of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(transparent)]
pub struct MissedRate {
    /// What the background clients did, of what was asked.
    pub load: BackgroundSummary,
}

/// As in the insert benchmark: a step that reached less did not sustain its rate.
const KEPT_MIN: f64 = 0.95;

fn detect(view: &PointView) -> Vec<Finding> {
    let Some(summary) = view.measured.map(|measured| measured.summary) else { return Vec::new() };
    summary.background.iter().filter(|load| !is_kept(load, summary.seconds)).map(missed).collect()
}

fn is_kept(load: &BackgroundSummary, seconds: f64) -> bool {
    let (Some(asked_per_s), Some(kept)) = (load.asked_per_s, load.kept) else { return true };
    let missing = asked_per_s * seconds - load.ops as f64;
    kept >= KEPT_MIN || missing <= f64::from(load.clients)
}

fn missed(load: &BackgroundSummary) -> Finding {
    Finding::new(Severity::Warning, MissedRate { load: load.clone() }).next(NextStep::LowerBackgroundRate)
}

impl FindingKind for MissedRate {
    const SEVERITIES: &'static [Severity] = &[Severity::Warning];
    const DETECTS: Detects = Detects::Point(detect);
    const REASON: &'static str = "missed the rate of the background load";

    fn is_like(&self, other: &Self) -> bool {
        self.load.kinds == other.load.kinds
    }

    fn title(alike: &[&Self]) -> String {
        format!(
            "background {} missed its rate: {} of {} ({})",
            alike[0].load.kinds.join(" and "),
            range(alike, |one| one.load.ops_per_s, rate),
            range(alike, |one| one.load.asked_per_s.unwrap_or(0.0), rate),
            range(alike, |one| (one.load.kept.unwrap_or(0.0) * 1e3).floor() / 1e3, percent)
        )
    }

    fn evidence(&self) -> String {
        let load = &self.load;
        let p99 =
            load.response_ns.map_or(String::new(), |q| format!("; p99 of the response time {}", time(q.p99 as f64)));
        format!(
            "{} done by {}, {} late, {} never started, {} failed{p99}",
            whole(load.ops as f64),
            plural(u64::from(load.clients), "client"),
            whole(load.late as f64),
            whole(load.unserved as f64),
            whole(load.failed as f64)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judgement::Validity;
    use crate::simulated::Simulation;

    /// A run of 1000 operations a second, with 500 more asked in the background and `done` done a second.
    fn with_background(done: u64) -> Simulation {
        Simulation::counts(&[1000; 10]).background(4, 500, done)
    }

    #[test]
    fn a_rate_that_was_kept_to_95_percent_is_not_told() {
        for done in [500, 498, 476] {
            assert!(with_background(done).findings("background-rate-missed").is_empty(), "{done}");
            assert_eq!(with_background(done).analysis().points[0].validity, Validity::Valid);
        }
    }

    #[test]
    fn a_rate_that_was_not_kept_marks_the_point() {
        let MissedRate { load } = with_background(400).figures();
        assert_eq!((load.ops_per_s, load.asked_per_s, load.kept), (400.0, Some(500.0), Some(0.8)));
        assert_eq!((load.ops, load.clients, load.late, load.unserved), (4_000, 4, 0, 1_000));
        assert_eq!(with_background(400).analysis().points[0].validity, Validity::Indicative);
    }

    #[test]
    fn a_few_operations_under_way_at_the_end_are_not_missing() {
        let slow = |done| Simulation::counts(&[1000; 10]).background(4, 1, done);
        assert_eq!(
            (slow(1).findings("background-rate-missed").len(), slow(0).findings("background-rate-missed").len()),
            (0, 1)
        );
        let short = Simulation::counts(&[1000; 3]).background(4, 1, 0);
        assert!(
            short.findings("background-rate-missed").is_empty(),
            "3 operations are missing, and 4 clients can have 4 under way"
        );
    }

    #[test]
    fn a_point_without_background_clients_has_no_finding() {
        assert!(Simulation::counts(&[1000; 10]).findings("background-rate-missed").is_empty());
    }
}
