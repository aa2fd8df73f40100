//! What is drawn over time: intervals turned into rates and percentiles, counters turned into rates and levels.
//!
//! In: a recorded point. Out: a [`Series`] in seconds since the run phase began (the warmup is at negative times).
//! Limits: what was recorded after the last whole interval of the run phase is no rate like the others and has a place of its own,
//! [`Series::tail`].

use crate::amounts::Amounts;
use crate::bins::{Bin, bins, intervals_per_bin};
use crate::counters::readings;
use crate::numbers::quantiles::{PhaseTimes, merge_times};
use crate::window::{Tally, Window, whole_tallies};
use model::{CounterKind, CounterRole, Interval, Phase, PhaseData, PointData, SourceDef, Tick, Times};

/// Everything about one point that is drawn over time.
#[derive(Clone, Debug)]
pub struct Series {
    /// One entry per whole interval of warmup (negative times) and run.
    pub intervals: Vec<IntervalPoint>,
    /// What was recorded after the last of them: at most the rest of the phase, and the grace time.
    pub tail: Vec<TailInterval>,
    /// The whole intervals in fewer and longer pieces, if there are more than can be drawn; else empty.
    pub bins: Vec<Bin>,
    /// The part that counts: the run phase, or the window of one that goes by rounds.
    pub counted: Span,
    /// All response times of the part that counts.
    pub response: Times,
    /// All service times of it.
    pub service: Times,
    /// Counters over time.
    pub counters: Vec<CounterSeries>,
    /// Queries, and rows inserted.
    pub amounts: Amounts,
}

impl Series {
    /// The intervals of the part that counts.
    pub fn counted_intervals(&self) -> &[IntervalPoint] {
        let before = |at_s: f64| self.intervals.iter().take_while(|interval| interval.at_s < at_s).count();
        &self.intervals[before(self.counted.from_s)..before(self.counted.to_s)]
    }
}

/// A stretch after the last whole interval of the run phase.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TailInterval {
    /// Why it is no interval like the others.
    pub part: TailPart,
    /// Its numbers. The rate of the grace time is of those operations alone that were in flight at the end.
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
    /// Operations done per second.
    pub ops_per_s: f64,
    /// Payload per second.
    pub bytes_per_s: f64,
    /// Median response time; `None` if no operation ended in the interval.
    pub p50_ns: Option<u64>,
    /// 95th percentile of it.
    pub p95_ns: Option<u64>,
    /// 99th percentile of it.
    pub p99_ns: Option<u64>,
    /// The longest.
    pub max_ns: Option<u64>,
}

/// A counter over time: rates per second of a counter, levels of a gauge.
#[derive(Clone, Debug, PartialEq)]
pub struct CounterSeries {
    /// The source: `cpu`, `disk`.
    pub source: String,
    /// What was observed.
    pub subject: String,
    /// The counter's name, for people.
    pub name: String,
    /// What it measures, if code reads it.
    pub role: Option<CounterRole>,
    /// The unit of the values: that of a gauge, or of a counter with `/s` behind it.
    pub unit: String,
    /// (end of the stretch in seconds since the run phase began, value); a gap has no entry.
    pub values: Vec<(f64, f64)>,
}

/// A stretch of time, in seconds since the run phase began.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Span {
    /// Its beginning.
    pub from_s: f64,
    /// Its end.
    pub to_s: f64,
}

/// What is drawn over time of `point`, one of `points`, of which `window` counts; `times` are all of that. `own` are its phases with
/// the run's own operations.
pub fn series(
    point: &PointData,
    own: &[PhaseData],
    points: &[PointData],
    window: &Window,
    times: PhaseTimes,
) -> Series {
    let interval = point.trial.phases.interval;
    let of = |wanted: Phase| own.iter().find(|phase| phase.phase == wanted);
    let drawn = [Phase::Warmup, Phase::Run].into_iter().filter_map(of);
    let phases: Vec<_> = drawn.map(|phase| (phase, whole_tallies(phase, interval))).collect();
    let in_bins = intervals_per_bin(phases.iter().map(|(_, whole)| whole.len()).sum(), interval);
    let binned = |per_bin| phases.iter().flat_map(|(phase, whole)| bins(phase, whole, window, per_bin)).collect();
    Series {
        intervals: phases.iter().flat_map(|(phase, whole)| interval_points(phase, whole, window)).collect(),
        tail: of(Phase::Run).map(|run| tail(run, whole_tallies(run, interval).len(), window)).unwrap_or_default(),
        bins: in_bins.map(binned).unwrap_or_default(),
        counted: Span { from_s: window.seconds_at(window.phase.start), to_s: window.seconds_at(window.phase.end) },
        response: times.response,
        service: times.service,
        counters: counter_series(point, window),
        amounts: Amounts::of(point, points, window),
    }
}

impl Span {
    /// How long it is.
    pub fn length_s(&self) -> f64 {
        self.to_s - self.from_s
    }

    /// How much of it lies in `other`, too.
    pub fn overlap_s(&self, other: &Span) -> f64 {
        (self.to_s.min(other.to_s) - self.from_s.max(other.from_s)).max(0.0)
    }
}

/// What `run` recorded after its first `whole` intervals.
fn tail(run: &PhaseData, whole: usize, window: &Window) -> Vec<TailInterval> {
    let rest = &run.intervals[whole.min(run.intervals.len())..];
    let (partial, grace) = rest.split_at(rest.partition_point(|interval| interval.start < run.end));
    let until_end = |tally: Tally| Tally { length: run.end.since(tally.start), ..tally };
    let stretch = |part, recorded: &[Interval]| {
        let all: Vec<Tally> = recorded.iter().map(Tally::of).collect();
        let all = Tally::of_all(&all);
        let tally = if part == TailPart::Partial { until_end(all) } else { all };
        let is_used = tally.ended() > 0;
        is_used.then(|| TailInterval { part, interval: interval_point(&tally, recorded, window), ops: tally.ok })
    };
    [(TailPart::Partial, partial), (TailPart::Grace, grace)].into_iter().filter_map(|(p, r)| stretch(p, r)).collect()
}

fn interval_points(phase: &PhaseData, whole: &[Tally], window: &Window) -> Vec<IntervalPoint> {
    let recorded = |index| phase.intervals.get(index..=index).unwrap_or_default();
    let place = |(index, tally): (usize, &Tally)| interval_point(tally, recorded(index), window);
    whole.iter().enumerate().map(place).collect()
}

/// What is drawn of the stretch `tally`, whose times are in `recorded`.
pub fn interval_point(tally: &Tally, recorded: &[Interval], window: &Window) -> IntervalPoint {
    let response = merge_times(recorded, |kind| &kind.response);
    let at = |quantile| (!response.is_empty()).then(|| response.value_at_quantile(quantile));
    IntervalPoint {
        at_s: window.seconds_at(tally.start),
        length_s: tally.length.as_secs_f64(),
        ops_per_s: tally.ops_per_s(),
        bytes_per_s: tally.bytes_per_s(),
        p50_ns: at(0.5),
        p95_ns: at(0.95),
        p99_ns: at(0.99),
        max_ns: at(1.0),
    }
}

/// Every counter of every source over warmup and run, an interval of margin at either end.
fn counter_series(point: &PointData, window: &Window) -> Vec<CounterSeries> {
    let margin = point.trial.phases.interval;
    let start = point.phase(Phase::Warmup).map_or(window.origin, |warmup| warmup.start) - margin;
    let end = point.phase(Phase::Run).map_or(window.phase.end, |run| run.end);
    let drawn = start..=end + margin;
    let of_source = |(index, source): (u16, &SourceDef)| -> Vec<CounterSeries> {
        let each = source.counters.iter().enumerate().map(|(place, counter)| {
            let mut own = readings(point, index, place);
            own.retain(|(at, _)| drawn.contains(at));
            let (unit, values) = match counter.kind {
                CounterKind::Gauge => (counter.unit.clone(), own),
                CounterKind::Counter => (format!("{}/s", counter.unit), rates(&own)),
            };
            let values = values.into_iter().map(|(at, value)| (window.seconds_at(at), value)).collect();
            let (subject, name) = (source.subject.clone(), counter.name.clone());
            CounterSeries { source: source.name.clone(), subject, name, role: counter.role, unit, values }
        });
        each.collect()
    };
    (0u16..).zip(&point.sources).flat_map(of_source).collect()
}

/// The growth per second up to each reading; none if the counter went down, because it was reset.
fn rates(readings: &[(Tick, f64)]) -> Vec<(Tick, f64)> {
    let rate = |pair: &[(Tick, f64)]| {
        let ((from, before), (to, after)) = (pair[0], pair[1]);
        (to > from && after >= before).then(|| (to, (after - before) / to.since(from).as_secs_f64()))
    };
    readings.windows(2).filter_map(rate).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::{SECOND, Simulation};
    use model::{CounterSample, OpKind};

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
            .source("disk", &["read_bytes", "in_flight"], |second| vec![1000.0 * second * second, second])
            .with(|point| {
                point.sources[0].subject = "vda".into();
                point.sources[0].counters[1].kind = CounterKind::Gauge;
            });
        let counters = series_of(&simulation).counters;
        assert_eq!((counters[0].subject.as_str(), counters[0].unit.as_str()), ("vda", "count/s"));
        assert_eq!(counters[0].values, [(1.0, 1000.0), (2.0, 3000.0), (3.0, 5000.0), (4.0, 7000.0)]);
        assert_eq!((counters[1].unit.as_str(), counters[1].values[0]), ("count", (0.0, 0.0)));
    }

    #[test]
    fn a_gap_and_a_counter_that_began_anew_have_no_entry() {
        let simulation =
            Simulation::counts(&[10; 4]).source("disk", &["read_bytes"], |second| vec![second]).with(|point| {
                point.counters[1].values = vec![None];
                point.counters[3].values = vec![Some(0.5)];
                point.counters.push(CounterSample { at: Tick(90 * SECOND), source: 0, values: vec![Some(99.0)] });
            });
        assert_eq!(series_of(&simulation).counters[0].values, [(2.0, 1.0), (4.0, 3.5)]);
    }
}
