//! Finds open loops that the target could not serve.
//!
//! In: arrivals offered, late and unserved; how long operations and their waits took. Out: a warning if arrivals were left unserved by
//! more than a queue leaves that does not grow, or if a replay fell behind its recording. Limits: does not separate a target that is too
//! slow from too few clients; a point with more clients does.

use super::{Detects, Finding, FindingKind};
use crate::computed_phase::Measured;
use crate::evidence::PointView;
use crate::evidence::overload::{FellBehind, fell_behind, is_overloaded, is_too_much_work, mean_wait_ns};
use crate::judgement::{NextStep, Severity};
use crate::math::units::Share;
use serde::Serialize;
use words::quantity::{counted, plural, range, rate, time, whole};

/// An open loop whose arrivals were not all served.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Overload {
    /// Whether the backlog grew all the time, because more work arrived than the clients can do; if not, it was left by a stall at the
    /// end.
    pub is_lasting: bool,
    pub arrivals: u64,
    /// Arrivals that fell due while every client was busy.
    pub late_arrivals: u64,
    /// The share of them.
    pub late_share: Share,
    /// Arrivals that were never started.
    pub unserved_arrivals: u64,
    pub offered_per_s: f64,
    pub done_per_s: f64,
    /// The times of a replay that fell behind its recording.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replay: Option<FellBehind>,
}

/// Of a backlog that grows evenly the first half of the phase waits a third as long as the second.
const GROWTH: std::ops::Range<f64> = 0.15..0.5;

/// Whether the backlog grew all the time, and not in a stall at the end.
fn is_growing(view: &PointView, measured: &Measured) -> bool {
    let intervals = measured.window.whole_recorded();
    let (first, second) = intervals.split_at(intervals.len() / 2);
    let (first_ns, second_ns) = (mean_wait_ns(first), mean_wait_ns(second));
    is_too_much_work(view.point, measured) || GROWTH.contains(&(first_ns / second_ns))
}

fn detect(view: &PointView) -> Vec<Finding> {
    let Some(measured) = view.measured.filter(|measured| is_overloaded(view, measured)) else { return Vec::new() };
    let summary = measured.summary;
    let Some(offered_per_s) = summary.offered_per_s else { return Vec::new() };
    let arrivals = measured.window.phase.offered.max(1);
    let replay = fell_behind(view.point, &measured);
    let detail = Overload {
        is_lasting: replay.is_some() || is_growing(view, &measured),
        arrivals,
        late_arrivals: summary.late,
        late_share: Share(summary.late as f64 / arrivals as f64),
        unserved_arrivals: summary.unserved,
        offered_per_s,
        done_per_s: summary.ops_per_s,
        replay,
    };
    // Sessions of a log are its clients, and it has its own rate.
    let next = if replay.is_some() { NextStep::None } else { NextStep::LowerRateOrAddClients };
    vec![Finding::new(Severity::Warning, detail).next(next)]
}

impl FindingKind for Overload {
    const SEVERITIES: &'static [Severity] = &[Severity::Warning];
    const DETECTS: Detects = Detects::Point(detect);
    const REASON: &'static str = "did not serve all arrivals in time";

    fn is_like(&self, other: &Self) -> bool {
        self.is_lasting == other.is_lasting && self.replay.is_some() == other.replay.is_some()
    }

    fn title(alike: &[&Self]) -> String {
        if alike[0].replay.is_some() {
            let of = |times: fn(FellBehind) -> f64| range(alike, |one| one.replay.map_or(0.0, times) * 1e9, time);
            format!("fell behind the recording: took {} for {} of it", of(|one| one.took_s), of(|one| one.recorded_s))
        } else if alike[0].is_lasting {
            format!(
                "overloaded: {} never served; {} offered, {} done",
                counted(alike, |one| one.unserved_arrivals, "arrival"),
                range(alike, |one| one.offered_per_s, rate),
                range(alike, |one| one.done_per_s, rate)
            )
        } else {
            format!("{} left at the end and never served", counted(alike, |one| one.unserved_arrivals, "arrival"),)
        }
    }

    fn evidence(&self) -> String {
        format!(
            "offered {}, done {}; {} of {} late, {} unserved; response times include the wait",
            rate(self.offered_per_s),
            rate(self.done_per_s),
            whole(self.late_arrivals as f64),
            plural(self.arrivals, "arrival"),
            whole(self.unserved_arrivals as f64)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulated::{Random, SECOND, Simulation};
    use model::{Arrivals, Nanos, Pacing, Times};

    const SERVICE_NS: u64 = 1_000_000;

    /// Ten seconds of clients that each serve an arrival in a millisecond, offered so much of what they can do.
    fn constant(clients: u32, utilisation: f64) -> Simulation {
        let per_s = utilisation * f64::from(clients) * 1e3;
        Simulation::queue(10, clients, per_s, (0..).map(|nth| (nth as f64 * 1e9 / per_s) as u64), |_| SERVICE_NS)
    }

    fn poisson(seed: u64, clients: u32, utilisation: f64, service_ns: impl FnMut(u64) -> u64) -> Simulation {
        let (per_s, mut random, mut at_ns) = (utilisation * f64::from(clients) * 1e3, Random::new(seed), 0.0);
        let arrivals = std::iter::repeat_with(move || {
            at_ns += random.exponential(1e9 / per_s);
            at_ns as u64
        });
        Simulation::queue(10, clients, per_s, arrivals, service_ns)
    }

    /// A log of 60 statements a second for 6 s, the first `slow` of which take 80 ms each, and the last so many nanoseconds.
    fn replay(slow: u64, last_ns: u64) -> Simulation {
        let due = (0..360).map(|nth| nth * SECOND / 60);
        let service_ns = |nth| match nth {
            359 => last_ns,
            nth if nth < slow => 80_000_000,
            _ => SERVICE_NS,
        };
        let (free, last) = if slow == 360 { (29, 0) } else { (7, last_ns / SECOND) };
        Simulation::queue(free + last, 1, 60.0, due, service_ns).with(|point| {
            point.trial.load.pacing = Pacing::Open { arrivals: Arrivals::Recorded { per_s: 60.0 } };
            point.trial.phases.run = Nanos::from_secs(86_400);
        })
    }

    #[test]
    fn a_replay_that_takes_longer_than_its_recording_is_overloaded_though_it_serves_all() {
        let found: Overload = replay(360, 80_000_000).figures();
        assert_eq!((found.unserved_arrivals, found.late_arrivals, found.arrivals), (0, 359, 360));
        assert_eq!(found.replay, Some(FellBehind { took_s: 29.0, recorded_s: 6.0 }));
        assert!(found.is_lasting, "{found:?}");
    }

    #[test]
    fn a_replay_that_waits_for_its_last_statement_or_is_late_for_a_moment_has_kept_up() {
        for (slow, last_ns) in [(0, SERVICE_NS), (0, 20 * SECOND), (3, SERVICE_NS)] {
            assert!(!warns(&replay(slow, last_ns)), "{slow} slow statements, the last in {last_ns} ns");
        }
    }

    fn warns(simulation: &Simulation) -> bool {
        !simulation.findings("overload").is_empty()
    }

    #[test]
    fn a_rate_below_what_the_clients_can_do_is_no_overload_and_one_above_is() {
        for clients in [1, 2, 4, 8] {
            for utilisation in [0.1, 0.5, 0.875] {
                assert!(!warns(&constant(clients, utilisation)), "{clients} clients, constant {utilisation}");
                let found = (0..8).filter(|seed| warns(&poisson(*seed, clients, utilisation, |_| SERVICE_NS)));
                assert_eq!(found.count(), 0, "{clients} clients, Poisson {utilisation}");
            }
            let found: Overload = constant(clients, 1.1).figures();
            assert!(found.is_lasting, "{clients} clients: {found:?}");
            let found = (0..8).filter(|seed| warns(&poisson(*seed, clients, 1.1, |_| SERVICE_NS)));
            assert_eq!(found.count(), 8, "{clients} clients, Poisson");
        }
    }

    #[test]
    fn service_times_of_any_length_are_no_overload_below_what_the_clients_can_do() {
        for clients in [1, 8] {
            let found = (0..8).filter(|seed| {
                let mut random = Random::new(seed + 100);
                let exponential = move |_| random.exponential(SERVICE_NS as f64) as u64;
                warns(&poisson(*seed, clients, 0.875, exponential))
            });
            assert_eq!(found.count(), 0, "{clients} clients");
        }
    }

    #[test]
    fn twice_the_rate_that_the_target_carries_leaves_arrivals_unserved() {
        let found: Overload = Simulation::open(10, 2_000, |_| 1_000_000).figures();
        assert!(found.is_lasting && found.unserved_arrivals > 9_000, "{found:?}");
        assert_eq!((found.offered_per_s, found.done_per_s.round()), (2_000.0, 1_000.0));
    }

    /// The client has work to do between two operations, which is in no service time.
    #[test]
    fn a_backlog_that_grows_though_operations_are_short_is_an_overload() {
        let mut simulation = Simulation::open(10, 2_000, |_| 1_000_000);
        for interval in &mut simulation.recorded.phases[0].intervals {
            let service = &mut interval.kinds[0].service;
            let n = service.len();
            *service = Times::default();
            service.record_n(1_000, n);
        }
        assert!(simulation.figures::<Overload>().is_lasting);
    }

    #[test]
    fn stalls_make_arrivals_late_and_are_no_overload() {
        let stalling = |seq| if seq % 10_000 == 5_000 { 200_000_000 } else { 100_000 };
        let simulation = Simulation::open(20, 5_000, stalling);
        assert!(simulation.findings("overload").is_empty());
        let summary = simulation.analysis().points.remove(0).summary.expect("it ran");
        assert!(summary.late > 15_000, "{} had to wait: a figure, and no alarm", summary.late);
    }

    #[test]
    fn a_stall_that_lasts_to_the_end_leaves_arrivals_unserved_without_a_growing_backlog() {
        let found: Overload =
            Simulation::open(10, 1_000, |seq| if seq == 8_000 { 3 * SECOND } else { 100_000 }).figures();
        assert!(!found.is_lasting && found.unserved_arrivals == 1_999, "{found:?}");
    }

    #[test]
    fn what_chance_leaves_at_the_end_is_no_overload() {
        let left_over = |unserved| {
            let served = Simulation::open(10, 1_000, |_| 500_000);
            warns(&served.with(|point| point.phases[0].unserved = unserved))
        };
        // Three times the square root of 10,000, and the one that the client is busy with.
        assert_eq!([1, 301, 302].map(left_over), [false, false, true]);
    }

    #[test]
    fn a_rate_that_is_carried_and_a_closed_loop_are_no_overload() {
        assert!(Simulation::open(10, 1_000, |_| 500_000).findings("overload").is_empty());
        assert!(Simulation::counts(&[1000; 10]).findings("overload").is_empty());
    }
}
