//! Finds clients that had to wait while others were served.
//!
//! In: the slow operations during which others were served. Out: a note. Limits: which client it was is not recorded; a target
//! that served no client at all has a stall, and operations that ended during or right after one are left to that detector.

use super::{CourseDisturbance, Detects, Finding, FindingKind};
use crate::computed_phase::Measured;
use crate::course::shape::stalls::SlowOps;
use crate::evidence::PointView;
use crate::judgement::{NextStep, Severity};
use crate::math::units::nanos;
use model::Nanos;
use serde::Serialize;
use words::quantity::{counted, percent, plural, range, time, whole};

/// Operations that took very long while others were served.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct StarvedOps {
    /// How many, how long, and the median of all.
    #[serde(flatten)]
    pub slow: SlowOps,
    /// The length of the run.
    pub length_ns: Nanos,
    pub clients: u32,
    /// Operations that each kept in flight.
    pub depth: u32,
}

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

impl FindingKind for StarvedOps {
    const SEVERITIES: &'static [Severity] = &[Severity::Note];
    const DETECTS: Detects = Detects::Point(detect);
    const DISTURBANCE: Option<CourseDisturbance> = Some(CourseDisturbance::Unfair);

    fn title(alike: &[&Self]) -> String {
        let is_one = alike.iter().all(|one| one.slow.count == 1);
        format!(
            "{} waited {} ({} times the median) while others were served",
            counted(alike, |one| one.slow.count, "operation"),
            if is_one { String::new() } else { "up to ".to_owned() }
                + &range(alike, |one| one.slow.longest_ns as f64, time),
            range(alike, |one| (one.slow.longest_ns / one.slow.median_ns.max(1)) as f64, whole)
        )
    }

    fn evidence(&self) -> String {
        let run_s = self.length_ns.as_secs_f64();
        format!(
            "median service time {}; the longest took {} of the run phase of {run_s:.1} s; {}, depth {}",
            time(self.slow.median_ns as f64),
            percent(self.slow.longest_ns as f64 / 1e9 / run_s.max(f64::MIN_POSITIVE)),
            plural(u64::from(self.clients), "client"),
            self.depth
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulated::{Random, SECOND, Simulation, costly_seeds};

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
