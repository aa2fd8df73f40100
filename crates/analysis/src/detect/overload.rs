//! Finds open loops that the target could not serve.
//!
//! In: arrivals offered, late and unserved. Out: a warning. Limits: does not tell a target that is too slow from too few
//! clients; more clients tell.

use super::detector::{Detector, Measured, PointView};
use crate::facts::slots;
use crate::text::{percent, plural, rate};
use crate::{Finding, Severity};

/// The entry in the list of detectors.
pub const DETECTOR: Detector = Detector {
    code: "overload",
    help: "the offered rate was not served in time",
    explain: "In an open loop arrivals fell due while every client was busy (late), or were never started before the end \
              (unserved). Unserved arrivals beyond 0.1 % of the offered ones and beyond one per operation that can be under way, or \
              more than 5 % late ones, mean that the offered rate is beyond what the target carries with so many clients at \
              least at times. Response times include the wait, as users would feel it; in a \
              lasting overload they grow with the length of the run and are no property of the target.",
    detect,
};

const LATE_SHARE_MAX: f64 = 0.05;
// Arrivals that fall due in the last moment find the clients busy at any rate.
const UNSERVED_SHARE_MAX: f64 = 0.001;

/// Whether the offered rate was beyond what could be served, so that a part of it never was.
pub fn is_lasting(view: &PointView, measured: &Measured) -> bool {
    let (offered, unserved) = (measured.window.phase.offered, measured.summary.unserved);
    unserved > slots(view.point) && unserved as f64 > UNSERVED_SHARE_MAX * offered as f64
}

/// Whether this detector speaks of the point.
pub fn is_told(view: &PointView, measured: &Measured) -> bool {
    is_lasting(view, measured) || late_share(measured) > LATE_SHARE_MAX
}

/// The share of the arrivals that fell due while every client was busy.
fn late_share(measured: &Measured) -> f64 {
    measured.summary.late as f64 / measured.window.phase.offered.max(1) as f64
}

/// Whether `finding` tells of such an overload, and not of late arrivals alone.
pub fn tells_of_unserved(finding: &Finding) -> bool {
    finding.code == DETECTOR.code && finding.title.starts_with(OVERLOADED)
}

const OVERLOADED: &str = "overloaded:";

fn detect(view: &PointView) -> Vec<Finding> {
    let Some(measured) = view.measured else { return Vec::new() };
    let summary = measured.summary;
    let Some(offered_per_s) = summary.offered_per_s else { return Vec::new() };
    let offered = measured.window.phase.offered.max(1) as f64;
    let late = late_share(&measured);
    let lasting = is_lasting(view, &measured);
    if !is_told(view, &measured) {
        return Vec::new();
    }
    let title = match lasting {
        false => format!("{} of the arrivals had to wait for a free client", percent(late)),
        true => format!(
            "{OVERLOADED} {} never served: {} offered, {} done",
            plural(summary.unserved as usize, "arrival"),
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
    fn a_single_arrival_left_over_at_the_end_is_no_overload() {
        let left_over = |unserved| {
            let served = Simulation::open(10, 1_000, |_| 500_000);
            served.with(|point| point.phases[0].unserved = unserved).findings("overload").len()
        };
        assert_eq!([1, 10, 11].map(left_over), [0, 0, 1]);
        let of_many_clients = Simulation::open(10, 1_000, |_| 500_000).with(|point| {
            point.phases[0].unserved = 60;
            point.trial.load.clients = 64;
        });
        assert!(of_many_clients.findings("overload").is_empty());
    }

    #[test]
    fn a_rate_that_is_carried_and_a_closed_loop_are_no_overload() {
        assert!(Simulation::open(10, 1_000, |_| 500_000).findings("overload").is_empty());
        assert!(Simulation::counts(&[1000; 10]).findings("overload").is_empty());
    }
}
