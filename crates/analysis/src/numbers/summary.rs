//! The numbers of one point: throughput with its interval, percentiles, the worst second, cost per operation.
//!
//! In: the intervals of the run phase and the counter samples that fall into it. Out: a [`Summary`].
//! Limits: a value that could not be measured is `None`, never 0. Which operations each number counts is defined in
//! [`crate::window`].

use super::achieved::{Achieved, compute_achieved};
use super::network::NetworkUse;
use super::op_cost::{ClientCost, Cost, OpCost, client_cost, write_per_query};
use super::phase_times::PhaseTimes;
use super::rates::{PerOp, RateEstimate};
use super::retries::RetryRate;
use crate::Quantiles;
use crate::math::repeats::{Repeated, combined};
use crate::numbers::background::{BackgroundSummary, EndedOps};
use crate::numbers::order_rates::NewOrderRate;
use crate::numbers::steps::{KindSummary, summarise_kinds};
use crate::recorded::window::{OpTally, Window};
use model::{KindRow, Nanos, Pacing, PointData, StatedLinks};
use serde::{Deserialize, Serialize};

/// The numbers of one point over its run phase.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(test, derive(Deserialize))]
pub struct Summary {
    /// Length of the run phase.
    pub seconds: f64,
    /// Operations done by the end of the run phase.
    pub ops: u64,
    /// Operations done after that, in the grace time: they are in percentiles and maxima, and in no rate.
    #[serde(default)]
    pub grace_ops: u64,
    /// Operations failed, the grace time included.
    pub failed: u64,
    /// How many repeats these numbers are of; 1 but in a row of several.
    #[serde(skip)]
    pub repeats: u64,
    /// Operations of all clients that ended in the whole run phase: the success rate and the retries are of these.
    #[serde(skip)]
    pub ended: EndedOps,
    /// The share of the operations that were done, from 0 to 1, of all clients; `None` if none ended.
    #[serde(default)]
    pub success_rate: Option<f64>,
    /// How often operations were tried again after a conflict; `None` if the clients do not count that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retries: Option<RetryRate>,
    /// Arrivals that fell due while every client was busy (open loop).
    pub late: u64,
    /// Arrivals that were never started (open loop).
    pub unserved: u64,
    /// The rate that the schedule offered; `None` in a closed loop.
    pub offered_per_s: Option<f64>,
    /// Operations done per second.
    pub ops_per_s: f64,
    /// Its 95 % confidence interval, with autocorrelation between intervals taken into account; `None` with too few.
    pub ops_per_s_ci95: Option<[f64; 2]>,
    /// Statements done per second: a transaction is several, any other operation is one.
    #[serde(default)]
    pub queries_per_s: f64,
    /// Their 95 % confidence interval, as that of the operations.
    #[serde(default)]
    pub queries_per_s_ci95: Option<[f64; 2]>,
    /// Rows inserted per second; `None` if no operation inserts any.
    #[serde(default)]
    pub rows_per_s: Option<f64>,
    /// Their 95 % confidence interval, as that of the operations.
    #[serde(default)]
    pub rows_per_s_ci95: Option<[f64; 2]>,
    /// New orders; `None` if the point enters none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub new_orders: Option<NewOrderRate>,
    /// The payload per second.
    pub bytes_per_s: f64,
    /// Response times; `None` if no operation was done.
    pub response_ns: Option<Quantiles>,
    /// Service times; `None` if no operation was done.
    pub service_ns: Option<Quantiles>,
    /// The second (or interval, if longer) with the fewest operations; `None` if the run has no three of them.
    pub worst: Option<WorstInterval>,
    /// What the client threads used.
    pub client: ClientCost,
    /// What one operation cost the target.
    #[serde(skip_deserializing)]
    pub cost: OpCost,
    /// What one query cost the target and the clients.
    #[serde(serialize_with = "write_per_query", skip_deserializing)]
    pub cost_per_query: Cost,
    /// What went over the network; `None` if no interface leads to the engine.
    #[serde(default)]
    pub network: Option<NetworkUse>,
    /// What was achieved of the depth and the block size asked for.
    #[serde(default)]
    pub achieved: Achieved,
    /// What each group of background clients did. All numbers above are of the foreground clients, except the success
    /// rate and the costs: these cannot be separated and are divided by the operations of both.
    #[serde(default)]
    pub background: Vec<BackgroundSummary>,
    /// Each kind of operation by itself, if some of them are steps in the turns of others: these are in no number above but the success
    /// rate and the costs of a turn.
    #[serde(default)]
    pub kinds: Vec<KindSummary>,
}

/// The stretch with the fewest operations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WorstInterval {
    /// When it began, in seconds since the run phase began.
    pub at_s: f64,
    /// How long it is.
    pub length_s: f64,
    /// Operations per second in it.
    pub ops_per_s: f64,
}

impl Summary {
    /// The numbers of repeats as those of one row; `None` if none has any. `times` are those of all repeats.
    ///
    /// Counts (operations, failures, late and unserved arrivals, drops) are sums, and shares of them follow from the sums. Rates, times
    /// and costs are means, with an interval if there can be one. Percentiles are of all times, what is the worst is the worst of all, and
    /// what is no number is that of all repeats, or absent if they differ.
    pub(crate) fn combine(all: &Repeated<Summary>, times: &PhaseTimes) -> Option<Summary> {
        let first = all.first()?;
        let (ops_per_s, ops_per_s_ci95) = all.rate(|one| Some((one.ops_per_s, one.ops_per_s_ci95)));
        let (queries_per_s, queries_per_s_ci95) = all.rate(|one| Some((one.queries_per_s, one.queries_per_s_ci95)));
        let (rows_per_s, rows_per_s_ci95) = all.rate(|one| Some((one.rows_per_s?, one.rows_per_s_ci95)));
        let ops_per_s = ops_per_s.unwrap_or_default();
        let ended = EndedOps::combine(&all.parts(|one| Some(&one.ended)));
        let retries: Vec<(RetryRate, EndedOps)> =
            all.iter().filter_map(|one| Some((one.retries?, one.ended))).collect();
        let backgrounds: Vec<&[BackgroundSummary]> = all.iter().map(|one| &one.background[..]).collect();
        let kinds: Vec<&[KindSummary]> = all.iter().map(|one| &one.kinds[..]).collect();
        let slowest = all.iter().filter_map(|one| one.worst).min_by(|a, b| a.ops_per_s.total_cmp(&b.ops_per_s));
        Some(combined!(
            all,
            Summary {
                seconds: mean,
                ops: sum,
                grace_ops: sum,
                failed: sum,
                repeats: sum,
                ended: (ended),
                success_rate: (ended.success_rate()),
                retries: (RetryRate::combine(&retries)),
                late: sum,
                unserved: sum,
                offered_per_s: mean,
                ops_per_s: (ops_per_s),
                ops_per_s_ci95: (ops_per_s_ci95),
                queries_per_s: (queries_per_s.unwrap_or_default()),
                queries_per_s_ci95: (queries_per_s_ci95),
                rows_per_s: (rows_per_s),
                rows_per_s_ci95: (rows_per_s_ci95),
                new_orders: (NewOrderRate::combine(&all.parts(|one| one.new_orders.as_ref()))),
                bytes_per_s: mean,
                response_ns: (Quantiles::from_times(&times.response).or(first.response_ns)),
                service_ns: (Quantiles::from_times(&times.service).or(first.service_ns)),
                worst: (slowest),
                client: (ClientCost::combine(&all.parts(|one| Some(&one.client)))),
                cost: (OpCost::combine(&all.parts(|one| Some(&one.cost)), ops_per_s)),
                cost_per_query: (Cost::combine(&all.parts(|one| Some(&one.cost_per_query)))),
                network: (NetworkUse::combine(&all.parts(|one| one.network.as_ref()))),
                achieved: (Achieved::combine(&all.parts(|one| Some(&one.achieved)))),
                background: (BackgroundSummary::combine(&backgrounds)),
                kinds: (KindSummary::combine(&kinds)),
            }
        ))
    }

    /// Operations of one repeat, on average.
    pub fn ops_of_a_repeat(&self) -> f64 {
        self.ops as f64 / self.repeats.max(1) as f64
    }

    /// Whether clients in the background insert rows, at a rate that was asked for.
    pub fn has_background_inserts(&self) -> bool {
        self.background.iter().any(|load| load.rows_per_s.is_some())
    }

    /// Whether there are more or fewer queries than operations, so that both rates are worth showing.
    pub fn has_queries(&self) -> bool {
        (self.queries_per_s - self.ops_per_s).abs() > 1e-6 * self.ops_per_s
    }
}

/// The numbers of the run phase of `point`, cut as `window`, with all its response and service times, those of its background
/// clients, and the speeds of the links to its server that were stated.
pub fn summarise(
    point: &PointData,
    window: &Window,
    times: &PhaseTimes,
    background: Vec<BackgroundSummary>,
    links: StatedLinks<'_>,
) -> Summary {
    let (inside, per_op) = (window.inside, PerOp::from_point(point));
    let (done, queries) = (|kind: &KindRow| kind.ok as f64, |kind: &KindRow| per_op.queries(kind));
    let queries_rate = RateEstimate::from_window(window, queries);
    let rows_rate = per_op.rate_of_rows(window);
    let offered_per_s = match point.trial.load.pacing {
        Pacing::Closed { .. } => None,
        Pacing::Open { arrivals } => Some(arrivals.per_s()),
    };
    let (cost, cost_per_query) = OpCost::measure(point, window);
    let ended = EndedOps::of_point(point);
    Summary {
        seconds: window.seconds(),
        ops: inside.ok,
        grace_ops: window.recorded.ok.saturating_sub(inside.ok),
        failed: window.recorded.failed,
        repeats: 1,
        ended,
        success_rate: ended.success_rate(),
        retries: RetryRate::measure(point, ended),
        late: window.recorded.late,
        unserved: window.phase.unserved,
        offered_per_s,
        ops_per_s: window.per_second(inside.ok),
        ops_per_s_ci95: RateEstimate::from_window(window, done).ci95,
        queries_per_s: queries_rate.per_s,
        queries_per_s_ci95: queries_rate.ci95,
        rows_per_s: rows_rate.map(|rate| rate.per_s),
        rows_per_s_ci95: rows_rate.and_then(|rate| rate.ci95),
        new_orders: NewOrderRate::measure(point, window),
        bytes_per_s: window.per_second(inside.bytes),
        response_ns: Quantiles::from_times(&times.response),
        service_ns: Quantiles::from_times(&times.service),
        // A slow rest of an interval at the end can make every whole second faster than the mean: then none is the worst.
        worst: find_worst_interval(window).filter(|worst| worst.ops_per_s <= window.per_second(inside.ok)),
        cost,
        cost_per_query,
        client: client_cost(point, window),
        network: NetworkUse::measure(point, window, links),
        achieved: compute_achieved(point, window),
        background,
        kinds: summarise_kinds(point, window.phase.start),
    }
}

/// The stretch of at least a second, made of neighbouring whole intervals, with the fewest operations; the first of them if
/// several are. `None` if the run has fewer than three such stretches: the worst of one is the run itself.
fn find_worst_interval(window: &Window) -> Option<WorstInterval> {
    let whole = &window.whole;
    let first = whole.first()?;
    let intervals = 1_000_000_000u64.div_ceil(first.length.0.max(1)) as usize;
    if whole.len() / intervals < STRETCHES_MIN {
        return None;
    }
    let slowest = whole.windows(intervals).min_by(|a, b| sum_ops(a).total_cmp(&sum_ops(b)))?;
    // Summed in whole nanoseconds: ten times 0.1 s would be 0.9999999999999999 s.
    let length_s = Nanos(slowest.iter().map(|tally| tally.length.0).sum()).as_secs_f64();
    let at_s = window.seconds_at(slowest[0].start);
    Some(WorstInterval { at_s, length_s, ops_per_s: sum_ops(slowest) / length_s })
}

fn sum_ops(stretch: &[OpTally]) -> f64 {
    stretch.iter().map(|tally| tally.ok as f64).sum()
}

const STRETCHES_MIN: usize = 3;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulated::{Random, SECOND, Simulation};
    use model::Tick;

    fn summary(simulation: &Simulation) -> Summary {
        simulation.analysis().points.remove(0).summary.expect("it ran")
    }

    #[test]
    fn throughput_is_what_ended_inside_the_run_over_its_seconds() {
        let found = summary(&Simulation::closed(10, |_| 1_000_000));
        assert_eq!((found.seconds, found.ops, found.ops_per_s), (10.0, 9_999, 999.9));
        assert_eq!(found.response_ns, found.service_ns);
    }

    #[test]
    fn the_interval_of_the_throughput_holds_it_and_needs_eight_intervals() {
        let mut random = Random::new(5);
        let counts: Vec<u64> = (0..30).map(|_| 1000 + random.poisson(100.0)).collect();
        let found = summary(&Simulation::counts(&counts));
        let [low, high] = found.ops_per_s_ci95.expect("there are 30 intervals");
        assert!(low < found.ops_per_s && found.ops_per_s < high && high - low < 12.0, "{low} {high}");
        assert_eq!(summary(&Simulation::counts(&counts[..7])).ops_per_s_ci95, None);
    }

    #[test]
    fn an_open_loop_with_stalls_has_the_percentiles_that_theory_gives() {
        // 0.1 ms of service, 200 ms every 10,000 operations, one each 0.2 ms: who arrives t after the beginning of a stall
        // waits 200 ms - t / 2, so one percent of the arrivals (20 ms of every 2 s) waits 190 ms or more.
        let stalling = |seq| if seq % 10_000 == 9_999 { 200_000_000 } else { 100_000 };
        let found = summary(&Simulation::open(60, 5_000, stalling));
        let (response, service) = (found.response_ns.expect("it ran"), found.service_ns.expect("it ran"));
        assert!((response.p99 as f64 / 190e6 - 1.0).abs() < 0.01, "{}", response.p99);
        let p999 = service.p999.expect("there are 300,000 operations");
        assert!((p999 as f64 / 100e3 - 1.0).abs() < 0.01, "{p999}");
        assert_eq!(found.offered_per_s, Some(5_000.0));
    }

    #[test]
    fn operations_of_the_grace_time_are_in_the_percentiles_and_not_in_the_throughput() {
        let found = summary(&Simulation::closed(10, |seq| if seq == 9_000 { 3 * SECOND } else { 1_000_000 }));
        assert_eq!((found.ops, found.grace_ops), (9_000, 1));
        assert!(found.response_ns.expect("it ran").max >= 3 * SECOND);
    }

    #[test]
    fn the_worst_second_is_made_of_shorter_intervals() {
        let quarter = |simulation: Simulation| {
            simulation.with(|point| {
                point.trial.phases.interval = Nanos(SECOND / 4);
                point.phases[0].end = Tick(3 * SECOND);
                for interval in &mut point.phases[0].intervals {
                    interval.start = Tick(u64::from(interval.index) * SECOND / 4);
                    interval.length = Nanos(SECOND / 4);
                }
            })
        };
        let found = summary(&quarter(Simulation::counts(&[9, 9, 0, 9, 5, 5, 5, 5, 9, 9, 9, 9])));
        assert_eq!(found.worst, Some(WorstInterval { at_s: 0.5, length_s: 1.0, ops_per_s: 19.0 }));
        let whole = summary(&Simulation::counts(&[9, 4, 7]));
        assert_eq!(whole.worst, Some(WorstInterval { at_s: 1.0, length_s: 1.0, ops_per_s: 4.0 }));
    }

    #[test]
    fn a_run_of_less_than_three_seconds_has_no_worst_one() {
        assert_eq!(summary(&Simulation::counts(&[9, 4])).worst, None);
        let short = Simulation::counts(&[9; 19]).with(|point| {
            point.trial.phases.interval = Nanos(SECOND / 10);
            point.phases[0].end = Tick(19 * SECOND / 10);
            for interval in &mut point.phases[0].intervals {
                interval.start = Tick(u64::from(interval.index) * SECOND / 10);
                interval.length = Nanos(SECOND / 10);
            }
        });
        assert_eq!(summary(&short).worst, None);
    }
}
