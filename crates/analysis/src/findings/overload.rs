//! Finds open loops that the target could not serve.
//!
//! In: arrivals offered, late and unserved; how long operations and their waits took. Out: a warning if arrivals were left unserved by
//! more than a queue leaves that does not grow. Limits: does not separate a target that is too slow from too few clients; a point with
//! more clients does.

use super::{Detects, Finding, FindingKind};
use crate::computed_phase::Measured;
use crate::evidence::PointView;
use crate::evidence::overload::{is_overloaded, is_too_much_work};
use crate::judgement::{NextStep, Severity};
use crate::math::stats::total;
use crate::math::units::Share;
use model::Interval;
use serde::Serialize;
use words::quantity::{counted, plural, range, rate, whole};

/// An open loop whose arrivals were not all served.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Overload {
    /// Whether the backlog grew all the time, because more work arrived than the clients can do; if not, it was left by a stall at the
    /// end.
    pub is_lasting: bool,
    /// Arrivals offered.
    pub arrivals: u64,
    /// Arrivals that fell due while every client was busy.
    pub late_arrivals: u64,
    /// The share of them.
    pub late_share: Share,
    /// Arrivals that were never started.
    pub unserved_arrivals: u64,
    /// The rate offered.
    pub offered_per_s: f64,
    /// The rate done.
    pub done_per_s: f64,
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

/// How long the operations of `intervals` waited for a client, on average: from the exact sums of response and service times.
fn mean_wait_ns(intervals: &[Interval]) -> f64 {
    let kinds = || intervals.iter().flat_map(|interval| &interval.kinds);
    let waited_ns = total(kinds().map(|kind| kind.response.sum_ns().saturating_sub(kind.service.sum_ns()) as f64));
    waited_ns / kinds().map(|kind| kind.response.len()).sum::<u64>().max(1) as f64
}

fn detect(view: &PointView) -> Vec<Finding> {
    let Some(measured) = view.measured.filter(|measured| is_overloaded(view, measured)) else { return Vec::new() };
    let summary = measured.summary;
    let Some(offered_per_s) = summary.offered_per_s else { return Vec::new() };
    let arrivals = measured.window.phase.offered.max(1);
    let detail = Overload {
        is_lasting: is_growing(view, &measured),
        arrivals,
        late_arrivals: summary.late,
        late_share: Share(summary.late as f64 / arrivals as f64),
        unserved_arrivals: summary.unserved,
        offered_per_s,
        done_per_s: summary.ops_per_s,
    };
    vec![Finding::new(Severity::Warning, detail).next(NextStep::LowerRateOrAddClients)]
}

impl FindingKind for Overload {
    const SEVERITIES: &'static [Severity] = &[Severity::Warning];
    const DETECTS: Detects = Detects::Point(detect);
    const REASON: &'static str = "did not serve all arrivals in time";

    fn is_like(&self, other: &Self) -> bool {
        self.is_lasting == other.is_lasting
    }

    fn title(alike: &[&Self]) -> String {
        if alike[0].is_lasting {
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
    use model::Times;

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
