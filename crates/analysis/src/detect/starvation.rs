//! Finds clients that had to wait while others were served.
//!
//! In: the slow operations during which others were served. Out: a note. Limits: which client it was is not recorded; a target
//! that served no client at all has a stall, and operations that ended during or right after one are left to that detector.

use super::detector::Detector;
use crate::computed_phase::Measured;
use crate::course::shape::stalls::SlowOps;
use crate::evidence::PointView;
use crate::finding::rates::StarvedOps;
use crate::finding::units::nanos;
use crate::finding::{Code, NextStep};
use crate::{Finding, Severity};

/// The entry in the list of detectors.
pub const DETECTOR: Detector = Detector { code: Code::Starvation, detect };

fn detect(view: &PointView) -> Vec<Finding> {
    let Some(measured) = view.measured else { return Vec::new() };
    measured.shape.starved_ops.map(|slow| starved(slow, view, &measured)).into_iter().collect()
}

fn starved(slow: SlowOps, view: &PointView, measured: &Measured) -> Finding {
    let load = view.point.trial.load;
    let length_ns = nanos(measured.summary.seconds);
    let detail = StarvedOps { slow, length_ns, clients: load.clients, depth: load.depth };
    Finding::new(Severity::Note, detail).next(NextStep::FindUnfairLock)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulated::{Random, SECOND, Simulation, costly_seeds};
    use model::Nanos;

    /// Sixteen clients, nearly all operations below 1 ms, and so many that took `slow_ns`, in a run of two seconds.
    fn waiting(slow_ns: u64, count: u64) -> Simulation {
        let mut simulation = Simulation::counts(&[2_000; 20]);
        simulation.add(19, count, slow_ns, slow_ns);
        simulation.with(|point| {
            point.trial.load.clients = 16;
            point.phases[0].end.0 = 2 * SECOND;
            for interval in &mut point.phases[0].intervals {
                interval.start.0 = u64::from(interval.index) * SECOND / 10;
                interval.length = Nanos(SECOND / 10);
            }
        })
    }

    #[test]
    fn a_client_that_waits_for_seconds_while_others_are_served_is_starved() {
        let simulation = waiting(1_850_000_000, 60);
        let found: StarvedOps = simulation.figures();
        assert_eq!((found.slow.count, found.slow.longest_ns / 10_000_000), (60, 185));
        assert_eq!((found.length_ns, found.clients, found.depth), (Nanos::from_secs(2), 16, 1));
        assert!(simulation.findings("stall").is_empty());
    }

    #[test]
    fn a_quarter_of_a_short_run_is_long_and_a_tenth_is_not() {
        assert_eq!(waiting(600_000_000, 60).findings("starvation").len(), 1);
        assert!(waiting(200_000_000, 60).findings("starvation").is_empty());
    }

    #[test]
    fn a_single_client_held_up_for_long_is_starved_and_no_stall_of_the_target() {
        let simulation = waiting(1_850_000_000, 1);
        assert_eq!(simulation.figures::<StarvedOps>().slow.count, 1);
        assert!(simulation.findings("stall").is_empty());
        // An interval of 100 ms cannot tell whether others were served during 120 ms.
        assert_eq!(waiting(120_000_000, 1).findings("starvation").len(), 0);
        assert_eq!(waiting(120_000_000, 1).findings("stall").len(), 1);
    }

    #[test]
    fn a_stall_of_all_clients_and_a_heavy_tail_are_no_starvation() {
        let frozen = Simulation::closed(30, |seq| if seq == 10_000 { 3 * SECOND } else { 1_000_000 });
        assert!(frozen.with(|point| point.trial.load.clients = 8).findings("starvation").is_empty());
        for seed in costly_seeds() {
            let mut random = Random::new(seed);
            let tail = Simulation::closed(10, |_| (500_000.0 * (1.5 * random.normal()).exp()) as u64);
            assert!(tail.with(|point| point.trial.load.clients = 8).findings("starvation").is_empty(), "seed {seed}");
        }
    }
}
