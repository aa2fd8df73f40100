//! Finds open loops that the target could not serve.
//!
//! In: arrivals offered, late and unserved. Out: a warning. Limits: does not separate a target that is too slow from too few
//! clients; a point with more clients does.

use super::detector::{Detector, Measured, PointView};
use crate::facts::slots;
use crate::finding::load::Overload;
use crate::finding::units::Share;
use crate::finding::{Code, NextStep};
use crate::{Finding, Severity};

/// The entry in the list of detectors.
pub const DETECTOR: Detector = Detector { code: Code::Overload, detect };

const LATE_SHARE_MAX: f64 = 0.05;
// Arrivals that fall due in the last moment find the clients busy at any rate.
const UNSERVED_SHARE_MAX: f64 = 0.001;

/// Whether the offered rate was beyond what could be served, so that a part of it never was.
pub fn is_lasting(view: &PointView, measured: &Measured) -> bool {
    let (offered, unserved) = (measured.window.phase.offered, measured.summary.unserved);
    unserved > slots(view.point) && unserved as f64 > UNSERVED_SHARE_MAX * offered as f64
}

/// Whether this detector has a finding of the point.
pub fn is_found(view: &PointView, measured: &Measured) -> bool {
    is_lasting(view, measured) || late_share(measured) > LATE_SHARE_MAX
}

/// The share of the arrivals that fell due while every client was busy.
fn late_share(measured: &Measured) -> f64 {
    measured.summary.late as f64 / measured.window.phase.offered.max(1) as f64
}

fn detect(view: &PointView) -> Vec<Finding> {
    let Some(measured) = view.measured.filter(|measured| is_found(view, measured)) else { return Vec::new() };
    let summary = measured.summary;
    let Some(offered_per_s) = summary.offered_per_s else { return Vec::new() };
    let detail = Overload {
        is_lasting: is_lasting(view, &measured),
        arrivals: measured.window.phase.offered.max(1),
        late_arrivals: summary.late,
        late_share: Share(late_share(&measured)),
        unserved_arrivals: summary.unserved,
        offered_per_s,
        done_per_s: summary.ops_per_s,
    };
    vec![Finding::new(Severity::Warning, detail).next(NextStep::LowerRateOrAddClients)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::Simulation;

    #[test]
    fn twice_the_rate_that_the_target_carries_leaves_arrivals_unserved() {
        let found: Overload = Simulation::open(10, 2_000, |_| 1_000_000).figures();
        assert!(found.is_lasting && found.unserved_arrivals > 9_000, "{found:?}");
        assert_eq!((found.offered_per_s, found.done_per_s.round()), (2_000.0, 1_000.0));
    }

    #[test]
    fn stalls_make_arrivals_late_without_losing_any() {
        let stalling = |seq| if seq % 10_000 == 5_000 { 200_000_000 } else { 100_000 };
        let found: Overload = Simulation::open(20, 5_000, stalling).figures();
        assert!(!found.is_lasting && found.late_share.0 > LATE_SHARE_MAX, "{found:?}");
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
