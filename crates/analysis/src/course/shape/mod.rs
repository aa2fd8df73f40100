//! The shape of a run: how its rate moved over time. It is computed once for each point; detectors judge it, charts draw it.
//!
//! In: the intervals and the service times of the part of the run phase that counts. Out: a [`Shape`].
//! Limits: [`Shape`] has what was found and does not judge it. Whether that is worth a finding, and what it means for the numbers of
//! the point, is decided by a detector.

pub mod bursts;
pub mod cycles;
pub mod dips;
pub mod drops;
pub mod levels;
pub mod outages;
pub mod rhythm;
pub mod stalls;
pub mod two_levels;
pub mod waves;

use crate::Quantiles;
use crate::course::own_gaps::OwnGaps;
use crate::math::stats::{median, total};
use crate::recorded::facts::{has_rhythm, slots};
use crate::recorded::window::{OpTally, Window};
use crate::{IntervalPoint, Series, Span};
use bursts::{Bursts, find_bursts};
use dips::{join_split_stalls, name_alike};
use drops::{DropRange, DropSpan, find_drops_except, find_lows};
use levels::{LevelRange, LevelSpan, SHIFT_SHARE_MIN, find_levels, settled_levels};
use model::{Interval, Nanos, Pacing, PointData, Until};
use outages::{Outage, separate_outages};
use rhythm::{Period, find_period};
use stalls::{RATE_SHARE_MAX, SlowOpSearch, SlowOps, Stall, find_stalls, measure_stall, usual_rate};
use std::ops::Range;
use two_levels::{TwoLevels, find_two_levels};
use waves::{Wave, find_wave};

/// How the rate of a run phase moved. Times are in seconds since the run phase began, rates in operations per second.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Shape {
    /// The rate that stalls are measured against: the median, or that of the busy intervals if most are empty. `None` if too
    /// little was done to have one.
    pub usual_per_s: Option<f64>,
    /// The stretches of intervals in which next to nothing was done, because the engine stood still or was far slower than usual.
    pub stalls: Vec<Stall>,
    /// The stretches in which nothing was done because the server was gone; they are no stalls.
    pub outages: Vec<Outage>,
    /// How often they come, if they come regularly.
    pub stall_period: Option<Period>,
    /// The operations that show stalls shorter than an interval.
    pub short_stalls: Option<SlowOps>,
    /// The operations that waited for very long while others were served.
    pub starved_ops: Option<SlowOps>,
    /// The levels that the rate kept to, one after the other; stalls are left out. One level if nothing shifted, none if the ops have no
    /// rhythm.
    pub levels: Vec<LevelSpan>,
    /// The stretches far below their level that are no stalls; none if the rate comes in bursts or jumps between two levels.
    pub drops: Vec<DropSpan>,
    /// How often they come, if they come regularly.
    pub drop_period: Option<Period>,
    /// The bursts in which everything was done.
    pub bursts: Option<Bursts>,
    /// The two rates between which it jumps to and fro.
    pub two_levels: Option<TwoLevels>,
    /// The stretches in which plimsoll itself did not run. Nothing above is found in them.
    pub own_gaps: OwnGaps,
    /// The wave that it swings in; `None` if it comes in bursts, jumps between two levels or dips at equal distances, which are waves of
    /// another form.
    pub wave: Option<Wave>,
}

impl Shape {
    /// The shape of the part of the run phase of `point` that `window` cuts. `series` and `service` are the series and the service
    /// times of that part.
    pub fn compute(point: &PointData, window: &Window, series: &Series, service: Option<Quantiles>) -> Shape {
        let own_gaps = OwnGaps::from_point(point, window);
        if !has_rhythm(point) {
            return Shape { own_gaps, ..Shape::default() };
        }
        let seen = own_gaps.seen_intervals(series.counted_intervals());
        let mut shape = Shape { own_gaps, ..Shape::from_rates(&seen, &LevelContext::from_point(point, window)) };
        let usual_ns = service.as_ref().map_or(0, |service| service.p50);
        for stall in &mut shape.stalls {
            stall.tell_slow_from_stalled(window, usual_ns);
            stall.lengthen(window);
        }
        let search = service.map(|service| SlowOpSearch {
            window,
            service,
            p999_ns: series.service.value_at_quantile(0.999),
            usual_per_s: shape.usual_per_s.unwrap_or(0.0),
            stalls: &shape.stalls,
            own_gaps: &shape.own_gaps,
        });
        let (short_stalls, starved_ops) = search
            .map(|search| (search.short_stalls(slots(point)), search.starved_ops(slots(point))))
            .unwrap_or_default();
        (shape.short_stalls, shape.starved_ops) = (short_stalls, starved_ops);
        shape.with_outages(point, window)
    }

    /// The same with outages apart from stalls.
    fn with_outages(self, point: &PointData, window: &Window) -> Shape {
        let (outages, stalls) = separate_outages(point, window, self.stalls);
        let stall_period =
            if outages.is_empty() { self.stall_period } else { period_of(&spans_of(&stalls, |stall| stall.span)) };
        Shape { outages, stalls, stall_period, ..self }
    }

    /// Nothing but the usual rate.
    fn without_form(usual_per_s: Option<f64>) -> Shape {
        Shape {
            usual_per_s,
            stall_period: None,
            drop_period: None,
            levels: Vec::new(),
            wave: None,
            stalls: Vec::new(),
            outages: Vec::new(),
            drops: Vec::new(),
            bursts: None,
            two_levels: None,
            short_stalls: None,
            starved_ops: None,
            own_gaps: OwnGaps::default(),
        }
    }

    /// What the rates of the intervals alone show.
    fn from_rates(run: &[IntervalPoint], context: &LevelContext) -> Shape {
        if context.is_uneven {
            return Shape::without_form(usual_rate(run));
        }
        let rates: Vec<f64> = run.iter().map(|interval| interval.ops_per_s).collect();
        let warm_rates = &rates[..rates.len().saturating_sub(context.cool_down)];
        let (usual_per_s, bursts) = (usual_rate(run), find_bursts(run));
        let found = find_levels(warm_rates);
        let stalls = find_stalls(run, bursts.as_ref());
        // Bursts are drops and waves, too: nothing is reported twice.
        let (stalls, drops) = match (bursts, usual_per_s) {
            (None, Some(usual)) => tell_dips_apart(run, warm_rates, usual, &found, stalls),
            _ => (stalls, Vec::new()),
        };
        let [stall_spans, drop_spans] = [spans_of(&stalls, |stall| stall.span), spans_of(&drops, |drop| drop.span)];
        let [stall_period, drop_period] = [&stall_spans, &drop_spans].map(|spans| period_of(spans));
        let two_levels = find_two_levels(&rates)
            .filter(|found| !found.are_drops(drops.len(), drop_period.is_some()))
            .filter(|found| found.high - found.low > least_jump(run));
        let is_wave_of_another_form =
            bursts.is_some() || two_levels.is_some() || drop_period.or(stall_period).is_some();
        Shape {
            usual_per_s,
            stall_period,
            drop_period: drop_period.filter(|_| two_levels.is_none()),
            levels: settled_levels(context.without_backlog(run, &found), &stall_spans),
            wave: if is_wave_of_another_form { None } else { find_wave(warm_rates) },
            stalls,
            outages: Vec::new(),
            drops: if two_levels.is_some() { Vec::new() } else { drops },
            bursts,
            two_levels,
            short_stalls: None,
            starved_ops: None,
            own_gaps: OwnGaps::default(),
        }
    }

    /// The whole intervals of `window` in which plimsoll ran and the server was there.
    pub fn served_intervals(&self, window: &Window) -> Vec<OpTally> {
        let outages: Vec<Span> = self.outages.iter().map(|outage| outage.span).collect();
        without_spans(self.own_gaps.untouched(window), window, &outages)
    }

    /// The same without the intervals of stalls.
    pub fn busy_intervals(&self, window: &Window) -> Vec<OpTally> {
        let stalls: Vec<Span> = self.stalls.iter().map(|stall| stall.span).collect();
        without_spans(self.served_intervals(window), window, &stalls)
    }

    /// Whether the target stalled, for longer than an interval or for less.
    pub fn has_stalls(&self) -> bool {
        !self.stalls.is_empty() || self.short_stalls.is_some()
    }
}

/// `tallies` without those of which one of `spans` has more than half.
fn without_spans(mut tallies: Vec<OpTally>, window: &Window, spans: &[Span]) -> Vec<OpTally> {
    tallies.retain(|tally| {
        let from_s = window.seconds_at(tally.start);
        let own = Span { from_s, to_s: from_s + tally.length.as_secs_f64() };
        // Not all of it: the seconds of neighbouring intervals differ in the last digits.
        spans.iter().all(|span| span.overlap_s(&own) * 2.0 < own.length_s())
    });
    tallies
}

/// What decides whether a stretch of intervals is a level that the target kept to.
#[derive(Default)]
struct LevelContext {
    /// The rate that an open loop offered.
    offered_per_s: Option<f64>,
    /// The number of intervals at the end in which the clients finished, one after the other.
    cool_down: usize,
    /// Whether the load itself goes up and down, so that the rate shows nothing of the target.
    is_uneven: bool,
}

impl LevelContext {
    fn from_point(point: &PointData, window: &Window) -> LevelContext {
        match point.trial.load.pacing {
            Pacing::Open { arrivals } if arrivals.is_even() => {
                LevelContext { offered_per_s: Some(arrivals.per_s()), ..LevelContext::default() }
            }
            // What a recording offers goes up and down with it.
            Pacing::Open { .. } => LevelContext { is_uneven: true, ..LevelContext::default() },
            Pacing::Closed { think: Nanos(0) } => {
                LevelContext { cool_down: cool_down(point, window), ..LevelContext::default() }
            }
            Pacing::Closed { .. } => LevelContext::default(),
        }
    }

    /// `levels` without those above the offered rate: an open loop above it works off the backlog of a stall.
    fn without_backlog(&self, run: &[IntervalPoint], levels: &[LevelRange]) -> Vec<LevelSpan> {
        let most = self.offered_per_s.map_or(f64::INFINITY, |offered| offered * (1.0 + SHIFT_SHARE_MIN));
        levels.iter().map(|level| level_span(run, level)).filter(|level| level.ops_per_s <= most).collect()
    }
}

// With the same clients the mean in flight of two intervals differs by less than this; with one client of ten fewer, by more.
const IN_FLIGHT_SHARE_MIN: f64 = 0.92;

/// How many of the last intervals have fewer operations in flight than the run had, if the run ended before its time because its work was
/// done (a number of operations, or the rows of a load): clients that have an equal share each end one after the other.
fn cool_down(point: &PointData, window: &Window) -> usize {
    let phases = &point.trial.phases;
    if phases.until != Until::Time || window.inside.length >= phases.run {
        return 0;
    }
    let in_flight: Vec<f64> = window.whole_recorded().iter().map(mean_in_flight_of).collect();
    let usual = median(&in_flight).unwrap_or(0.0);
    in_flight.iter().rev().take_while(|mean| **mean < IN_FLIGHT_SHARE_MIN * usual).count()
}

/// By Little's law: the time that operations took, over the time.
fn mean_in_flight_of(interval: &Interval) -> f64 {
    let service_ns = total(interval.kinds.iter().map(|kind| kind.service.sum_ns() as f64));
    service_ns / interval.length.0.max(1) as f64
}

/// `stalls` and drops of `run`, each stretch as one of them. `rates` are those of the intervals before the clients end.
fn tell_dips_apart(
    run: &[IntervalPoint],
    rates: &[f64],
    usual: f64,
    levels: &[LevelRange],
    stalls: Vec<Stall>,
) -> (Vec<Stall>, Vec<DropSpan>) {
    // In a damaged file the intervals may be in another order than their times: a stall is then nowhere.
    let ranges = stalls.iter().map(|stall| range_of_span(run, &stall.span)).filter(|range| !range.is_empty());
    let (seen, late): (Vec<Range<usize>>, Vec<Range<usize>>) = ranges.partition(|range| range.end <= rates.len());
    let seen = join_split_stalls(rates, usual, &seen, &find_lows(rates, levels));
    let drops = find_drops_except(rates, levels, &seen);
    let (seen, drops) = name_alike(rates, usual, RATE_SHARE_MAX, seen, drops);
    let stalls = seen.into_iter().chain(late).map(|range| measure_stall(&run[range], usual));
    let drops = drops.into_iter().filter(|drop| drop.from - drop.to > least_jump(run));
    (stalls.collect(), drops.map(|drop| drop_span(run, drop)).collect())
}

/// A rate that changes by less jumps from one whole count to the next: of 3.5 ops an interval, each has three or four.
fn least_jump(run: &[IntervalPoint]) -> f64 {
    const OPS: f64 = 1.5;
    let lengths: Vec<f64> = run.iter().map(|interval| interval.length_s).collect();
    median(&lengths).map_or(0.0, |length_s| OPS / length_s)
}

fn range_of_span(run: &[IntervalPoint], span: &Span) -> Range<usize> {
    // By their middles: the seconds of neighbours differ in the last digits.
    let middle_s = |interval: &IntervalPoint| interval.at_s + interval.length_s / 2.0;
    let [from, to] = [span.from_s, span.to_s].map(|at_s| run.partition_point(|interval| middle_s(interval) < at_s));
    from..to
}

fn spans_of<T>(all: &[T], span: fn(&T) -> Span) -> Vec<Span> {
    all.iter().map(span).collect()
}

fn drop_span(run: &[IntervalPoint], drop: DropRange) -> DropSpan {
    DropSpan { span: span_of_range(run, &drop.range), from_per_s: drop.from, to_per_s: drop.to }
}

fn level_span(run: &[IntervalPoint], level: &LevelRange) -> LevelSpan {
    LevelSpan { span: span_of_range(run, &level.range), ops_per_s: level.median, deviation: level.deviation }
}

fn span_of_range(run: &[IntervalPoint], range: &Range<usize>) -> Span {
    let last = run[range.end - 1];
    Span { from_s: run[range.start].at_s, to_s: last.at_s + last.length_s }
}

fn period_of(spans: &[Span]) -> Option<Period> {
    find_period(&spans.iter().map(|span| span.from_s).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulated::{SECOND, Simulation};

    fn shape_of(simulation: &Simulation) -> Shape {
        simulation.analysis().points.remove(0).shape.expect("it ran")
    }

    /// Intervals of a tenth of a second instead of a second.
    fn in_tenths(simulation: Simulation) -> Simulation {
        simulation.with(|point| {
            point.trial.phases.interval = Nanos(SECOND / 10);
            point.phases[0].end.0 /= 10;
            for interval in &mut point.phases[0].intervals {
                interval.start.0 /= 10;
                interval.length = Nanos(SECOND / 10);
            }
        })
    }

    #[test]
    fn a_backlog_that_is_worked_off_after_a_stall_is_no_level() {
        // 100 arrivals in each interval; eight intervals of standstill, then eight at twice the rate, ten times.
        let counts: Vec<u64> = (0..800).map(|at| [100, 0, 200, 100][(at % 80 / 8).min(3)]).collect();
        let open = |counts: &[u64]| {
            let arrivals = model::Arrivals::Constant { per_s: 1_000.0 };
            in_tenths(Simulation::counts(counts)).with(|point| point.trial.load.pacing = Pacing::Open { arrivals })
        };
        let shape = shape_of(&open(&counts));
        assert_eq!((shape.stalls.len(), shape.levels.len()), (10, 1), "{:?}", shape.levels);
        assert!(open(&counts).findings("level-shift").is_empty());
        let closed = shape_of(&in_tenths(Simulation::counts(&counts)));
        assert!(closed.levels.len() > 1, "a closed loop has no backlog: {:?}", closed.levels);
        let slower: Vec<u64> = (0..200).map(|at| if at < 100 { 100 } else { 60 }).collect();
        assert_eq!(shape_of(&open(&slower)).levels.len(), 2, "a rate below the one offered is a level");
    }

    #[test]
    fn the_pauses_of_a_recording_are_no_stalls_of_what_it_is_replayed_on() {
        let counts: Vec<u64> = (0..800).map(|at| [100, 0, 200, 100][(at % 80 / 8).min(3)]).collect();
        let arrivals = model::Arrivals::Recorded { per_s: 1_000.0 };
        let replayed =
            in_tenths(Simulation::counts(&counts)).with(|point| point.trial.load.pacing = Pacing::Open { arrivals });
        let shape = shape_of(&replayed);
        assert_eq!((shape.stalls.len(), shape.levels.len(), shape.drops.len()), (0, 0, 0), "{shape:?}");
        assert!(shape.usual_per_s.is_some());
    }

    #[test]
    fn whole_counts_of_a_constant_rate_are_neither_two_levels_nor_drops() {
        for per_interval in [3.1, 3.5, 3.8, 4.2] {
            let counted = |at: u64| (per_interval * at as f64) as u64;
            let counts: Vec<u64> = (0..83).map(|at| counted(at + 1) - counted(at)).collect();
            let shape = shape_of(&Simulation::counts(&counts));
            assert_eq!((shape.two_levels, shape.drops), (None, vec![]), "{per_interval} ops an interval");
        }
        let halved: Vec<u64> = (0..83).map(|at| if at / 5 % 2 == 0 { 2 } else { 4 }).collect();
        assert!(shape_of(&Simulation::counts(&halved)).two_levels.is_some(), "two ops are more than a jump of one");
    }

    /// Four clients that end one after the other over the last 20 of 60 s, each operation 4 ms long.
    fn ending(service_ns: u64) -> Simulation {
        let counts = (0..60u64).map(|second| if second < 40 { 1_000 } else { 250 * (3 - (second - 40) / 7) });
        let mut simulation = Simulation::counts(&[]);
        for (second, count) in counts.enumerate() {
            simulation.add(second, count, service_ns, service_ns);
        }
        simulation.with(|point| {
            let done = point.phases[0].intervals.iter().map(|interval| interval.kinds[0].ok).sum();
            point.phases[0].end.0 = 60 * SECOND;
            point.trial.load.clients = 4;
            point.trial.phases.run = Nanos(600 * SECOND);
            point.trial.phases.ops_max = Some(done);
        })
    }

    #[test]
    fn clients_that_end_one_after_the_other_are_no_shift() {
        let simulation = ending(4_000_000);
        assert_eq!(shape_of(&simulation).levels.len(), 1);
        assert!(simulation.findings("level-shift").is_empty());
        let by_rows = ending(4_000_000).with(|point| point.trial.phases.ops_max = None);
        assert!(by_rows.findings("level-shift").is_empty(), "its work was done, whatever it is counted in");
        let by_time = ending(4_000_000).with(|point| {
            (point.trial.phases.ops_max, point.trial.phases.run) = (None, Nanos(60 * SECOND));
        });
        assert_eq!(by_time.findings("level-shift").len(), 1);
    }

    #[test]
    fn a_target_that_gets_slower_before_a_run_by_number_ends_has_shifted() {
        let slower = ending(4_000_000).with(|point| {
            // All four clients are busy to the end: what was done took longer.
            for interval in &mut point.phases[0].intervals {
                let ok = interval.kinds[0].ok;
                let mut service = model::Times::default();
                service.record_n(4 * SECOND / ok.max(1), ok);
                (interval.kinds[0].response, interval.kinds[0].service) = (service.clone(), service);
            }
        });
        assert!(shape_of(&slower).levels.len() > 1);
    }
}
