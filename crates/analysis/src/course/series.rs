//! What is drawn over time: intervals turned into rates and percentiles, counters turned into rates and levels.
//!
//! In: a recorded point. Out: a [`Series`] in seconds since the run phase began (the warmup is at negative times).
//! Limits: what was recorded after the last whole interval of the run phase is no rate like the others; it is in [`Series::tail`].
//! No counter has a rate over less than half an interval, unless it was not read for longer.

use crate::course::bins::{IntervalBin, intervals_per_bin, make_bins};
use crate::course::response_counts::{CountColumn, count_columns};
use crate::numbers::amounts::Amounts;
use crate::numbers::phase_times::{PhaseTimes, merge_times};
use crate::recorded::counters::{idle_reading_before, readings};
use crate::recorded::window::{OpTally, Window, whole_tallies};
use model::{CounterDef, CounterKind, CounterRole, Interval, Phase, PhaseData, PointData, SourceDef, Times};

/// More values of a counter than this become means of neighbours: those of an hour in seconds are still in full for a zoom.
const VALUES_KEPT_MAX: usize = 4_000;

/// Everything about one point that is drawn over time.
#[derive(Clone, Debug)]
pub struct Series {
    /// One entry per whole interval of warmup (negative times) and run.
    pub intervals: Vec<IntervalPoint>,
    /// What was recorded after the last of them: at most the rest of the phase, and the grace time.
    pub tail: Vec<TailInterval>,
    /// The whole intervals in fewer and longer pieces, if there are more than can be drawn; else empty.
    pub bins: Vec<IntervalBin>,
    /// How many operations had which response time, a column for each interval, or for each bin.
    pub response_counts: Vec<CountColumn>,
    /// The part that counts: the run phase, or the window of a run until steady.
    pub counted: Span,
    /// All response times of the part that counts.
    pub response: Times,
    /// All service times of it.
    pub service: Times,
    /// The counters that code reads, over time: those that have a role. Of a long run neighbouring values are one, as they can be drawn;
    /// [`all_counters`] has every counter with all its values.
    pub counters: Vec<CounterSeries>,
    /// Queries, and rows inserted.
    pub amounts: Amounts,
}

impl Series {
    /// The intervals of the part that counts.
    pub fn counted_intervals(&self) -> &[IntervalPoint] {
        let [from, to] = [self.counted.from_s, self.counted.to_s]
            .map(|at_s| self.intervals.partition_point(|interval| interval.at_s < at_s));
        &self.intervals[from..to]
    }
}

/// A stretch after the last whole interval of the run phase.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TailInterval {
    /// Why it is no interval like the others.
    pub part: TailPart,
    /// Its numbers. The rate of the grace time counts only operations that were in flight at the end.
    pub interval: IntervalPoint,
    /// Operations done in it.
    pub ops: u64,
}

/// Which stretch after the last whole interval of the run phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TailPart {
    /// The rest of the phase, shorter than an interval: its operations are in all numbers.
    Partial,
    /// After the end of the phase: its operations are in percentiles and maxima, and in no rate.
    Grace,
}

/// One interval of a point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct IntervalPoint {
    /// Its beginning, in seconds since the run phase began.
    pub at_s: f64,
    /// Its length in seconds.
    pub length_s: f64,
    /// Operations of the measured clients done per second. Those of background clients are not in it, but the counters of process,
    /// CPU and disk include what they used: if there are any, a counter divided by this rate is not the cost of an operation.
    pub ops_per_s: f64,
    /// Payload of those operations per second.
    pub bytes_per_s: f64,
    /// Median response time; `None` if no operation ended in the interval.
    pub p50_ns: Option<u64>,
    /// 95th percentile of it.
    pub p95_ns: Option<u64>,
    /// 99th percentile of it.
    pub p99_ns: Option<u64>,
    pub max_ns: Option<u64>,
}

/// A counter over time: rates per second of a counter, levels of a gauge.
#[derive(Clone, Debug, PartialEq)]
pub struct CounterSeries {
    /// The source: `cpu`, `disk`.
    pub source: String,
    pub subject: String,
    /// The counter's name, for people.
    pub name: String,
    /// What it measures, if code reads it.
    pub role: Option<CounterRole>,
    /// The unit of the values: that of a gauge, or of a counter with `/s` behind it.
    pub unit: String,
    /// In order of time. A counter has a rate for the stretch from one reading to the next, and none if it went down in between. A
    /// gauge has a level for each reading, whose stretch has no length. Of a long run it may be the mean of neighbours.
    pub values: Vec<(Span, f64)>,
}

/// A stretch of time, in seconds since the run phase began.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Span {
    pub from_s: f64,
    pub to_s: f64,
}

/// What is drawn over time of `point`, one of `sequence`. `window` is the part that counts, and `times` are its times; `own` are its
/// phases with the operations of foreground clients.
pub fn compute_series(
    point: &PointData,
    own: &[PhaseData],
    sequence: &[PointData],
    window: &Window,
    times: PhaseTimes,
) -> Series {
    let interval = point.trial.phases.interval;
    let [warmup, run] = [Phase::Warmup, Phase::Run].map(|wanted| own.iter().find(|phase| phase.phase == wanted));
    let phases: Vec<(&PhaseData, Vec<OpTally>)> =
        warmup.into_iter().chain(run).map(|phase| (phase, whole_tallies(phase, interval))).collect();
    let per_bin = intervals_per_bin(phases.iter().map(|(_, whole)| whole.len()).sum(), interval);
    let columns = phases.iter().flat_map(|(phase, whole)| count_columns(phase, whole, window, per_bin.unwrap_or(1)));
    let response_counts = columns.collect();
    let bins = match per_bin {
        Some(per_bin) => phases.iter().flat_map(|(phase, whole)| make_bins(phase, whole, window, per_bin)).collect(),
        None => Vec::new(),
    };
    // The run phase is the last, if there is one.
    let tail = run.zip(phases.last()).map(|(run, (_, whole))| tail_intervals(run, whole.len(), window));
    let counted = Span { from_s: window.seconds_at(window.phase.start), to_s: window.seconds_at(window.phase.end) };
    Series {
        intervals: phases.iter().flat_map(|(phase, whole)| interval_points(phase, whole, window)).collect(),
        tail: tail.unwrap_or_default(),
        bins,
        response_counts,
        counted,
        response: times.response,
        service: times.service,
        counters: drawn_counters(point, window, &counted),
        amounts: Amounts::from_point(point, sequence, window),
    }
}

impl Span {
    /// How long it is.
    pub fn length_s(&self) -> f64 {
        self.to_s - self.from_s
    }

    pub fn middle_s(&self) -> f64 {
        f64::midpoint(self.from_s, self.to_s)
    }

    /// Whether `at_s` lies in it.
    pub fn contains_s(&self, at_s: f64) -> bool {
        (self.from_s..self.to_s).contains(&at_s)
    }

    /// How much of it lies in `other`, too.
    pub fn overlap_s(&self, other: &Span) -> f64 {
        (self.to_s.min(other.to_s) - self.from_s.max(other.from_s)).max(0.0)
    }
}

/// What `run` recorded after its first `whole` intervals.
fn tail_intervals(run: &PhaseData, whole: usize, window: &Window) -> Vec<TailInterval> {
    let rest = &run.intervals[whole.min(run.intervals.len())..];
    let (partial, grace) = rest.split_at(rest.partition_point(|interval| interval.start < run.end));
    let partial_tally = join_intervals(partial);
    // The phase ended inside the last interval, so the seconds of its rate end there, too.
    let partial_tally = OpTally { length: run.end.since(partial_tally.start), ..partial_tally };
    let parts = [(TailPart::Partial, partial_tally, partial), (TailPart::Grace, join_intervals(grace), grace)];
    let used = parts.into_iter().filter(|(_, tally, _)| tally.ended() > 0);
    used.map(|(part, tally, recorded)| {
        let interval = interval_point(&tally, recorded, window);
        TailInterval { part, interval, ops: tally.ok }
    })
    .collect()
}

fn join_intervals(recorded: &[Interval]) -> OpTally {
    OpTally::joined(&recorded.iter().map(OpTally::from_interval).collect::<Vec<_>>())
}

fn interval_points(phase: &PhaseData, whole: &[OpTally], window: &Window) -> Vec<IntervalPoint> {
    let points = whole.iter().enumerate().map(|(index, tally)| {
        // Whole intervals at the end in which nothing ended were not recorded.
        let recorded = phase.intervals.get(index..=index).unwrap_or_default();
        interval_point(tally, recorded, window)
    });
    points.collect()
}

/// What is drawn of the stretch `tally`, whose times are in `recorded`.
pub fn interval_point(tally: &OpTally, recorded: &[Interval], window: &Window) -> IntervalPoint {
    let response = merge_times(recorded, |kind| &kind.response);
    let known = (!response.is_empty()).then(|| response.values_at_quantiles([0.5, 0.95, 0.99, 1.0]));
    let [p50, p95, p99, max] = known.map_or([None; 4], |times| times.map(Some));
    IntervalPoint {
        at_s: window.seconds_at(tally.start),
        length_s: tally.length.as_secs_f64(),
        ops_per_s: tally.ops_per_s(),
        bytes_per_s: tally.bytes_per_s(),
        p50_ns: p50,
        p95_ns: p95,
        p99_ns: p99,
        max_ns: max,
    }
}

impl CounterSeries {
    /// Whether it has levels and no rates: it is a gauge.
    pub fn is_level(&self) -> bool {
        self.values.first().is_some_and(|(span, _)| span.from_s == span.to_s)
    }

    /// What is drawn of `counter`, one of `source`: `readings` are (seconds since the run phase began, reading) in order of time, about
    /// one per `interval_s`.
    pub fn from_readings(
        source: &SourceDef,
        counter: &CounterDef,
        readings: &[(f64, f64)],
        interval_s: f64,
    ) -> CounterSeries {
        let (unit, values) = match counter.kind {
            CounterKind::Gauge => (counter.unit.clone(), readings.iter().map(gauge_level).collect()),
            CounterKind::Counter => (format!("{}/s", counter.unit), growth_rates(readings, interval_s)),
        };
        let (subject, name) = (source.subject.clone(), counter.name.clone());
        CounterSeries { source: source.name.clone(), subject, name, role: counter.role, unit, values }
    }
}

/// The counters of `point` that have a role, each with no more values than can be drawn.
fn drawn_counters(point: &PointData, window: &Window, counted: &Span) -> Vec<CounterSeries> {
    let seconds: f64 =
        [Phase::Warmup, Phase::Run].into_iter().filter_map(|phase| point.phase(phase)).map(length_s).sum();
    let cell_s = seconds / VALUES_KEPT_MAX as f64;
    let read = all_counters(point, window).filter(|counter| counter.role.is_some());
    read.map(|counter| thin_out(counter, cell_s, counted)).collect()
}

fn length_s(phase: &PhaseData) -> f64 {
    phase.end.since(phase.start).as_secs_f64()
}

/// `counter`, if it has more values than are kept, with those that end in the same cell of `cell_s` seconds as one. Cells are the same for
/// all counters, also for one that lacks a stretch because it was reset.
fn thin_out(counter: CounterSeries, cell_s: f64, counted: &Span) -> CounterSeries {
    if counter.values.len() <= VALUES_KEPT_MAX || cell_s <= 0.0 {
        return counter;
    }
    // Whether a stretch counts is judged by its middle: one that is made of several must not reach across either end.
    let ends = [counted.from_s, counted.to_s];
    let cell = |(span, _): &(Span, f64)| {
        let is_before = ends.map(|end_s| span.middle_s() < end_s);
        ((span.to_s / cell_s).ceil() as i64, is_before)
    };
    let values = counter.values.chunk_by(|one, next| cell(one) == cell(next)).map(mean_value).collect();
    CounterSeries { values, ..counter }
}

/// The mean of neighbouring values, each weighted by its time; those of a gauge have none and count alike.
pub fn mean_value(part: &[(Span, f64)]) -> (Span, f64) {
    let span = Span { from_s: part[0].0.from_s, to_s: part[part.len() - 1].0.to_s };
    let seconds: f64 = part.iter().map(|(span, _)| span.length_s()).sum();
    let mean = if seconds > 0.0 {
        part.iter().map(|(span, value)| span.length_s() * value).sum::<f64>() / seconds
    } else {
        part.iter().map(|(_, value)| value).sum::<f64>() / part.len() as f64
    };
    (span, mean)
}

/// A reading that covers less of a stretch is not used for it.
const COVERED_MIN: f64 = 0.5;

/// The mean rate of a counter in `span`, whose own stretches may begin and end at other moments; `None` if they cover less than half of it.
pub fn mean_rate(values: &[(Span, f64)], span: &Span) -> Option<f64> {
    let first = values.partition_point(|(own, _)| own.to_s <= span.from_s);
    let near = values[first..].iter().take_while(|(own, _)| own.from_s < span.to_s);
    let (covered_s, amount) = near.fold((0.0, 0.0), |(covered_s, amount), (own, rate)| {
        let overlap_s = own.overlap_s(span);
        (covered_s + overlap_s, amount + overlap_s * rate)
    });
    (covered_s > 0.0 && covered_s >= COVERED_MIN * span.length_s()).then(|| amount / covered_s)
}

/// Every counter of `point`, whatever its role, over warmup and run, with an interval of margin at either end. `window` is the part that
/// counts. They are made one at a time, so that a caller that drops each needs no memory for all.
pub fn all_counters<'a>(point: &'a PointData, window: &'a Window) -> impl Iterator<Item = CounterSeries> + 'a {
    let numbered = (0u16..).zip(&point.sources);
    let places =
        numbered.flat_map(|(index, source)| (0..source.counters.len()).map(move |place| (index, source, place)));
    places.map(|(index, source, place)| place_counter(point, window, (index, source), place))
}

/// Counter number `place` of a source of `point` over time.
fn place_counter(
    point: &PointData,
    window: &Window,
    (index, source): (u16, &SourceDef),
    place: usize,
) -> CounterSeries {
    // The stretches at both ends begin and end with a reading just outside.
    let margin = point.trial.phases.interval;
    let first = point.phase(Phase::Warmup).map_or(window.origin, |warmup| warmup.start);
    let end = point.phase(Phase::Run).map_or(window.phase.end, |run| run.end);
    let mut drawn = readings(point, index, place);
    // Else the first rate would be that of some milliseconds more, in which nothing ran.
    if let Some(before) = idle_reading_before(point, &drawn, first) {
        drawn[before].0 = first;
    }
    drawn.retain(|(at, _)| (first - margin..=end + margin).contains(at));
    let drawn: Vec<(f64, f64)> = drawn.into_iter().map(|(at, value)| (window.seconds_at(at), value)).collect();
    CounterSeries::from_readings(source, &source.counters[place], &drawn, margin.as_secs_f64())
}

fn gauge_level((at_s, level): &(f64, f64)) -> (Span, f64) {
    (Span { from_s: *at_s, to_s: *at_s }, *level)
}

/// The growth per second between neighbouring readings; none if the counter went down, because it was reset.
///
/// The sampler reads once more when a phase begins and when it stops, often a few milliseconds after the reading of its grid. The growth
/// in so short a time shows nothing about the rate, so [`join_stretches`] adds it to a neighbour.
fn growth_rates(readings: &[(f64, f64)], interval_s: f64) -> Vec<(Span, f64)> {
    let stretches = readings.windows(2).filter_map(|pair| {
        let ((from_s, before), (to_s, after)) = (pair[0], pair[1]);
        (to_s > from_s && after >= before).then_some((Span { from_s, to_s }, after - before))
    });
    let joined = join_stretches(stretches, interval_s / 2.0);
    joined.into_iter().map(|(span, growth)| (span, growth / span.length_s())).collect()
}

/// Stretches and their growth. One shorter than `shortest_s` is part of the one that ends where it begins: if a phase begins at its end,
/// no rate reaches across. The first after a gap is part of the next.
fn join_stretches(stretches: impl Iterator<Item = (Span, f64)>, shortest_s: f64) -> Vec<(Span, f64)> {
    let is_short = |span: &Span| span.length_s() < shortest_s;
    let mut joined: Vec<(Span, f64)> = Vec::new();
    for (next, growth) in stretches {
        match joined.last_mut() {
            Some((last, sum)) if last.to_s == next.from_s && (is_short(&next) || is_short(last)) => {
                last.to_s = next.to_s;
                *sum += growth;
            }
            _ => joined.push((next, growth)),
        }
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulated::{SECOND, Simulation};
    use model::{CounterSample, OpKind, Tick};

    /// (beginning, end, value) of each.
    fn values(counter: &CounterSeries) -> Vec<(f64, f64, f64)> {
        counter.values.iter().map(|(span, value)| (span.from_s, span.to_s, *value)).collect()
    }

    fn series_of(simulation: &Simulation) -> Series {
        simulation.analysis().points.remove(0).series.expect("it ran")
    }

    #[test]
    fn the_warmup_is_drawn_at_negative_times_and_the_grace_time_is_not() {
        let simulation = Simulation::counts(&[50, 60, 100, 110, 120, 1]).with(|point| {
            let mut warmup = point.phases[0].clone();
            warmup.phase = Phase::Warmup;
            warmup.end = Tick(2 * SECOND);
            let mut run = point.phases[0].clone();
            (run.start, run.end) = (Tick(2 * SECOND), Tick(5 * SECOND));
            run.intervals.drain(..2);
            warmup.intervals.truncate(2);
            point.phases = vec![warmup, run];
        });
        let series = series_of(&simulation);
        let seen: Vec<(f64, f64)> = series.intervals.iter().map(|point| (point.at_s, point.ops_per_s)).collect();
        assert_eq!(seen, [(-2.0, 50.0), (-1.0, 60.0), (0.0, 100.0), (1.0, 110.0), (2.0, 120.0)]);
        assert_eq!(series.response.len(), 331);
    }

    #[test]
    fn an_interval_without_operations_has_no_percentiles() {
        let series = series_of(&Simulation::counts(&[100, 0]));
        assert!(series.intervals[0].p50_ns.is_some_and(|p50| (9_481_000..=9_519_000).contains(&p50)));
        assert_eq!(series.intervals[0].max_ns, Some(9_500_000));
        assert_eq!((series.intervals[1].p50_ns, series.intervals[1].max_ns), (None, None));
    }

    #[test]
    fn the_percentiles_of_an_interval_are_of_all_kinds_together() {
        let simulation = Simulation::counts(&[100]).with(|point| {
            let mut slow = point.phases[0].intervals[0].kinds[0].clone();
            slow.kind = OpKind(1);
            slow.response = Times::default();
            slow.response.record_n(70_000_000, 300);
            slow.ok = 300;
            point.phases[0].intervals[0].kinds.push(slow);
        });
        let p50 = series_of(&simulation).intervals[0].p50_ns.expect("there are operations");
        assert!((69_900_000..70_100_000).contains(&p50), "{p50}");
    }

    #[test]
    fn what_ended_after_the_last_whole_interval_is_in_the_tail() {
        let mut simulation = Simulation::counts(&[100, 100, 30]);
        simulation.recorded.phases[0].end = Tick(2 * SECOND + SECOND / 2);
        simulation.add(4, 1, 2_300_000_000, 2_300_000_000);
        let series = series_of(&simulation);
        assert_eq!(series.intervals.len(), 2);
        let [partial, grace] = series.tail[..] else { panic!("{:?}", series.tail) };
        let numbers = |tail: TailInterval| (tail.part, tail.interval.at_s, tail.interval.length_s, tail.ops);
        assert_eq!(numbers(partial), (TailPart::Partial, 2.0, 0.5, 30));
        assert_eq!(partial.interval.ops_per_s, 60.0);
        assert_eq!(numbers(grace), (TailPart::Grace, 3.0, 2.0, 1));
        assert_eq!(grace.interval.max_ns, Some(2_300_000_000));
    }

    #[test]
    fn a_run_that_ends_on_time_has_no_tail() {
        assert_eq!(series_of(&Simulation::counts(&[100; 3])).tail, []);
    }

    #[test]
    fn counters_become_rates_and_gauges_stay_levels() {
        let simulation = Simulation::counts(&[10; 4])
            .source("disk", &["read_bytes", "write_bytes"], |second| vec![1000.0 * second * second, second])
            .with(|point| {
                point.sources[0].subject = "vda".into();
                point.sources[0].counters[1].kind = CounterKind::Gauge;
            });
        let counters = series_of(&simulation).counters;
        assert_eq!((counters[0].subject.as_str(), counters[0].unit.as_str()), ("vda", "count/s"));
        let rates = [(0.0, 1.0, 1000.0), (1.0, 2.0, 3000.0), (2.0, 3.0, 5000.0), (3.0, 4.0, 7000.0)];
        assert_eq!(values(&counters[0]), rates);
        assert_eq!((counters[1].unit.as_str(), values(&counters[1])[3]), ("count", (3.0, 3.0, 3.0)));
    }

    #[test]
    fn a_gap_is_part_of_a_longer_stretch_and_a_counter_that_went_down_has_no_rate() {
        let simulation =
            Simulation::counts(&[10; 4]).source("disk", &["read_bytes"], |second| vec![second]).with(|point| {
                point.counters.edit(|all| (all[1].values, all[3].values) = (vec![None], vec![Some(0.5)]));
                point.counters.push(CounterSample { at: Tick(90 * SECOND), source: 0, values: vec![Some(99.0)] });
            });
        assert_eq!(values(&series_of(&simulation).counters[0]), [(0.0, 2.0, 1.0), (3.0, 4.0, 3.5)]);
    }

    #[test]
    fn a_reading_just_after_that_of_the_grid_makes_no_rate_of_a_few_milliseconds() {
        // As the sampler reads: on the grid of the warmup, again when the run phase begins, and again when it stops.
        let simulation =
            Simulation::counts(&[10; 3]).source("disk", &["read_bytes"], |second| vec![second]).with(|point| {
                let read = |(ms, value): (u64, f64)| CounterSample {
                    at: Tick(ms * 1_000_000),
                    source: 0,
                    values: vec![Some(value)],
                };
                let readings = [(134, 0.0), (1_134, 900.0), (1_140, 1_000.0), (2_140, 3_000.0), (2_150, 3_101.0)];
                point.counters = readings.into_iter().map(read).collect();
            });
        let counter = series_of(&simulation).counters.remove(0);
        let spans: Vec<(f64, f64)> = counter.values.iter().map(|(span, _)| (span.from_s, span.to_s)).collect();
        assert_eq!(spans, [(0.134, 1.14), (1.14, 2.15)]);
        let total: f64 = counter.values.iter().map(|(span, rate)| span.length_s() * rate).sum();
        assert!((total - 3_101.0).abs() < 1e-9, "{total}");
        assert!((counter.values[0].1 - 1_000.0 / 1.006).abs() < 1e-6, "{:?}", counter.values);
    }

    #[test]
    fn a_long_run_keeps_the_means_of_neighbours_of_counters_with_a_role_and_no_other_counters() {
        const SECONDS: u64 = 10_000;
        let simulation = Simulation::counts(&[10; SECONDS as usize])
            .source("disk", &["read_bytes", "unknown"], |second| vec![second * second, second])
            .with(|point| point.counters.edit(|all| all[1_500].values[0] = Some(0.0)));
        let series = series_of(&simulation);
        let [counter] = &series.counters[..] else { panic!("{:?}", series.counters.len()) };
        assert!((3_999..=4_003).contains(&counter.values.len()), "{}", counter.values.len());
        let total: f64 = counter.values.iter().map(|(span, rate)| span.length_s() * rate).sum();
        // It began again at 1,500 s: the growth up to the second before, and all of what it showed at the end.
        assert!((total - (1_499.0 * 1_499.0 + (SECONDS * SECONDS) as f64)).abs() < 1.0, "{total}");
    }

    #[test]
    fn a_short_stretch_goes_to_the_next_one_if_none_ends_where_it_begins() {
        let rates = |readings: &[(f64, f64)]| -> Vec<(f64, f64, f64)> {
            growth_rates(readings, 1.0).iter().map(|(span, rate)| (span.from_s, span.to_s, *rate)).collect()
        };
        assert_eq!(rates(&[(0.0, 0.0), (0.25, 75.0), (1.25, 100.0)]), [(0.0, 1.25, 80.0)]);
        // The process was replaced before 1.0.
        let replaced = [(0.0, 50.0), (1.0, 10.0), (1.25, 60.0), (2.25, 60.0), (3.25, 70.0)];
        assert_eq!(rates(&replaced), [(1.0, 2.25, 40.0), (2.25, 3.25, 10.0)]);
        // There is nothing else: a run shorter than half an interval.
        assert_eq!(rates(&[(0.0, 0.0), (0.25, 75.0)]), [(0.0, 0.25, 300.0)]);
        // Half an interval is long enough.
        assert_eq!(rates(&[(0.0, 0.0), (0.5, 5.0), (1.0, 15.0)]), [(0.0, 0.5, 10.0), (0.5, 1.0, 20.0)]);
    }

    #[test]
    fn a_rate_is_that_of_the_time_that_both_have() {
        let span = |from_s, to_s| Span { from_s, to_s };
        let values = [(span(0.0, 1.0), 10.0), (span(1.0, 2.0), 30.0)];
        assert_eq!(mean_rate(&values, &span(0.5, 1.5)), Some(20.0));
        assert_eq!(mean_rate(&values, &span(1.75, 2.75)), None, "a quarter is covered");
        assert_eq!(mean_rate(&values, &span(3.0, 4.0)), None);
    }
}
