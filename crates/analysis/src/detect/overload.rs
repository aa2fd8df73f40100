//! Finds open loops that the target could not serve.
//!
//! In: arrivals offered, late and unserved. Out: a warning. Limits: does not tell a target that is too slow from too few
//! clients; more clients tell.

use super::{Detector, PointView};
use crate::text::{percent, plural, rate};
use crate::{Finding, Severity};

/// The entry in the list of detectors.
pub const DETECTOR: Detector = Detector {
    code: "overload",
    help: "the offered rate was not served in time",
    explain: "In an open loop arrivals fell due while every client was busy (late), or were never started before the end \
              (unserved). Unserved arrivals, or more than 5 % late ones, mean that the offered rate is beyond what the target \
              carries with so many clients at least at times. Response times include the wait, as users would feel it; in a \
              lasting overload they grow with the length of the run and are no property of the target.",
    detect,
};

const LATE_SHARE_MAX: f64 = 0.05;

fn detect(view: &PointView) -> Vec<Finding> {
    let Some(measured) = view.measured else { return Vec::new() };
    let summary = measured.summary;
    let Some(offered_per_s) = summary.offered_per_s else { return Vec::new() };
    let offered = measured.window.phase.offered.max(1) as f64;
    let late = summary.late as f64 / offered;
    if summary.unserved == 0 && late <= LATE_SHARE_MAX {
        return Vec::new();
    }
    let title = match summary.unserved {
        0 => format!("{} of the arrivals had to wait for a free client", percent(late)),
        n => format!(
            "{} never served: {} offered, {} done",
            plural(n as usize, "arrival"),
            rate(offered_per_s),
            rate(summary.ops_per_s)
        ),
    };
    let evidence = format!(
        "offered {}, done {}; {} of {offered:.0} arrivals late, {} unserved; response times include the wait",
        rate(offered_per_s),
        rate(summary.ops_per_s),
        summary.late,
        summary.unserved
    );
    vec![DETECTOR.finding(Severity::Warning, title, evidence, "lower the rate, or allow more clients")]
}

#[cfg(test)]
mod tests {
    use crate::simulate::Simulation;

    #[test]
    fn twice_the_rate_that_the_target_carries_leaves_arrivals_unserved() {
        let finding = Simulation::open(10, 2_000, |_| 1_000_000).finding("overload");
        assert!(finding.title.ends_with("never served: 2.00k/s offered, 1.00k/s done"), "{}", finding.title);
    }

    #[test]
    fn stalls_make_arrivals_late_without_losing_any() {
        let stalling = |seq| if seq % 10_000 == 5_000 { 200_000_000 } else { 100_000 };
        let finding = Simulation::open(20, 5_000, stalling).finding("overload");
        assert!(finding.title.ends_with("of the arrivals had to wait for a free client"), "{}", finding.title);
    }

    #[test]
    fn a_rate_that_is_carried_and_a_closed_loop_are_no_overload() {
        assert!(Simulation::open(10, 1_000, |_| 500_000).findings("overload").is_empty());
        assert!(Simulation::counts(&[1000; 10]).findings("overload").is_empty());
    }
}
