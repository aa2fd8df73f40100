//! Finds clients beside those of the run that did not keep the rate asked of them.
//!
//! In: the operations of the clients beside, and the rate that was asked. Out: a warning.
//! Limits: looks at the whole of what counts; a rate that was missed for a while and caught up with shows in their response times.

use super::detector::{Detector, PointView};
use crate::text::{percent, rate, time};
use crate::{Beside, Finding, Severity};

/// The entry in the list of detectors.
pub const DETECTOR: Detector = Detector {
    code: "rate-kept",
    help: "clients beside those of the run did not keep the rate asked of them",
    explain: "Where clients work beside those of the run at a rate of their own (inserts beside queries), less than 95 % of that \
              rate was done, and more is missing than these clients can have under way. The numbers of the run are then those \
              beside less work than was asked for, and not to be compared with points that kept it; the target does not sustain \
              the rate beside a run that asks as fast as it can. The response times of the clients beside count from the moment \
              at which each operation was due, and grow with the length of the run when the rate is not kept.",
    detect,
};

/// As in the insert benchmark: a step that reached less did not sustain its rate.
const KEPT_MIN: f64 = 0.95;

fn detect(view: &PointView) -> Vec<Finding> {
    let summary = view.measured.map(|measured| measured.summary);
    let beside = summary.and_then(|summary| Some((summary.beside.as_ref()?, summary.seconds)));
    beside
        .filter(|(beside, seconds)| !is_kept(beside, *seconds))
        .map(|(beside, _)| missed(beside))
        .into_iter()
        .collect()
}

fn is_kept(beside: &Beside, seconds: f64) -> bool {
    let missing = beside.asked_per_s * seconds - beside.ops as f64;
    beside.kept >= KEPT_MIN || missing <= f64::from(beside.clients)
}

fn missed(beside: &Beside) -> Finding {
    let (done, asked) = (rate(beside.ops_per_s), rate(beside.asked_per_s));
    let title =
        format!("{} beside the run did not keep its rate: {done} of {asked}, {}", beside.name(), percent(beside.kept));
    let waited =
        beside.response_ns.map_or(String::new(), |q| format!("; p99 of the response time {}", time(q.p99 as f64)));
    let evidence = format!(
        "{} done by {} clients, {} late, {} never started, {} failed{waited}",
        beside.ops, beside.clients, beside.late, beside.unserved, beside.failed
    );
    DETECTOR.finding(
        Severity::Warning,
        title,
        evidence,
        "lower the rate of the clients beside, or use fewer in the run",
    )
}

#[cfg(test)]
mod tests {
    use crate::Validity;
    use crate::simulate::Simulation;

    /// A run of 1000 operations a second, and beside it 500 asked and `done` done a second.
    fn beside(done: u64) -> Simulation {
        Simulation::counts(&[1000; 10]).beside(4, 500, done)
    }

    #[test]
    fn a_rate_that_was_kept_to_95_percent_is_not_told() {
        for done in [500, 498, 476] {
            assert!(beside(done).findings("rate-kept").is_empty(), "{done}");
            assert_eq!(beside(done).analysis().points[0].validity, Validity::Valid);
        }
    }

    #[test]
    fn a_rate_that_was_not_kept_marks_the_point() {
        let finding = beside(400).finding("rate-kept");
        assert_eq!(finding.title, "insert beside the run did not keep its rate: 400/s of 500/s, 80 %");
        assert!(
            finding.evidence.starts_with("4000 done by 4 clients, 0 late, 1000 never started"),
            "{}",
            finding.evidence
        );
        assert_eq!(beside(400).analysis().points[0].validity, Validity::Indicative);
    }

    #[test]
    fn a_few_operations_under_way_at_the_end_are_not_missing() {
        let slow = |done| Simulation::counts(&[1000; 10]).beside(4, 1, done);
        assert_eq!((slow(1).findings("rate-kept").len(), slow(0).findings("rate-kept").len()), (0, 1));
        let short = Simulation::counts(&[1000; 3]).beside(4, 1, 0);
        assert!(short.findings("rate-kept").is_empty(), "3 operations are missing, and 4 clients can have 4 under way");
    }

    #[test]
    fn a_point_without_clients_beside_has_none_to_tell_of() {
        assert!(Simulation::counts(&[1000; 10]).findings("rate-kept").is_empty());
    }
}
