//! Finds stalls: times in which the target did next to nothing.
//!
//! In: the rates of the intervals, and the service times. Out: findings, and the stretches to be shaded.
//! A stall is a stretch of intervals below 20 % of the run's median rate. One that is shorter than an interval shows in the
//! service times instead: an operation that took a hundred times the median and far longer than nearly all others.
//! Limits: blind to stalls below 50 ms, to a stretch in which fewer than 30 operations were to be expected (there, chance
//! makes such holes), and to a short stall that held up only some of many operations under way and was not rare.

use super::bursts;
use super::detector::{Detector, Measured, PointView};
use crate::facts::slots;
use crate::rhythm::period;
use crate::stats::median;
use crate::summary::merged;
use crate::text::{listed, percent, plural, rate, time};
use crate::{Finding, IntervalPoint, Severity, Span};
use model::{Interval, Nanos, PointData};

/// The entry in the list of detectors.
pub const DETECTOR: Detector = Detector {
    code: "stall",
    help: "times in which the target did next to nothing",
    explain: "A stall is a stretch of intervals below 20 % of the run's median rate, at least 100 ms long and long enough that \
              30 operations were to be expected in it. A shorter one shows in the service times: operations of at least 50 ms \
              that took 100 times the median, and 10 times the 99.9th percentile unless only one operation is under way at a \
              time; where they lasted so long that a target at rest would have shown in the rates, others were served \
              meanwhile, and that is the finding `starvation`. A stall describes the target and does not weaken the numbers; the mean hides it, the worst second and the \
              longest response time show it. Three or more at equal distances are a period: look for what happens that often \
              (checkpoints, compaction, garbage collection, a throttle).",
    detect,
};

// Half of the median rate is still ordinary variation on the disks of the seed experiments; at a fifth nobody calls it that.
const RATE_SHARE_MAX: f64 = 0.2;
// Shorter gaps are scheduling: a busy virtual machine loses the CPU for tens of milliseconds.
const LENGTH_MIN_S: f64 = 0.1;
// The chance that Poisson arrivals with 30 expected are fewer than 6 is 2e-8.
const EXPECTED_OPS_MIN: f64 = 30.0;
// Where more than half of the intervals are empty, the others' median stands for the rate, if it is more than chance.
const BUSY_OPS_MIN: f64 = 10.0;
// A single operation can be told from scheduling noise from here on.
const SLOW_MIN_NS: u64 = 50_000_000;
// The longest of a million exponential service times is 20 times their median.
const SLOW_OVER_MEDIAN: u64 = 100;
const SLOW_OVER_P999: u64 = 10;
// However a stop of this many intervals lies, it takes four fifths of one of them: the rate of that one is then low.
const COVERS_INTERVALS: f64 = 1.6;
const PERIOD_STALLS_MIN: usize = 3;
const BURST_PERIODS: f64 = 1.5;
const LISTED_MAX: usize = 6;

/// A stretch of intervals with next to no operations.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stretch {
    /// When.
    pub span: Span,
    /// Its rate as a share of the run's median rate.
    pub rate_share: f64,
}

/// Single operations that took so long that the target must have stood still.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SlowOps {
    /// How many.
    pub count: u64,
    /// The longest of them.
    pub longest_ns: u64,
    /// The median of all operations.
    pub median_ns: u64,
    /// In how many intervals they ended.
    pub intervals: usize,
}

fn detect(view: &PointView) -> Vec<Finding> {
    let Some(measured) = view.measured else { return Vec::new() };
    let found = stretches(run_part(&measured));
    let long = (!found.is_empty()).then(|| long_stalls(&found, &measured));
    let short = slow_ops(view.point, &measured, &found).map(|slow| short_stalls(&slow, view.point, &measured));
    long.into_iter().chain(short).collect()
}

/// Whether there was a stall of either form.
pub fn seen(view: &PointView) -> bool {
    !detect(view).is_empty()
}

/// The stretches of `run`, the intervals of a run phase, in which next to nothing was done.
pub fn stretches(run: &[IntervalPoint]) -> Vec<Stretch> {
    let Some(usual) = usual_rate(run) else { return Vec::new() };
    let low = |point: &IntervalPoint| point.ops_per_s < RATE_SHARE_MAX * usual;
    let low_runs = run.chunk_by(|a, b| low(a) == low(b)).filter(|chunk| low(&chunk[0]));
    // Between regular bursts there is nothing, which is a finding of its own; a stall is longer than that.
    let between_bursts = bursts::of(run).map_or(0.0, |found| found.period_s * BURST_PERIODS);
    let all = low_runs.map(|chunk| stretch(chunk, usual)).filter(|found| is_long_enough(found, usual));
    all.filter(|found| length(&found.span) > between_bursts).collect()
}

/// The median rate, or that of the busy intervals where most are empty.
fn usual_rate(run: &[IntervalPoint]) -> Option<f64> {
    let rates: Vec<f64> = run.iter().map(|point| point.ops_per_s).collect();
    let usual = median(&rates)?;
    if usual > 0.0 {
        return Some(usual);
    }
    let busy: Vec<f64> = rates.into_iter().filter(|rate| *rate > 0.0).collect();
    median(&busy).filter(|usual| usual * run[0].length_s >= BUSY_OPS_MIN)
}

fn stretch(chunk: &[IntervalPoint], usual: f64) -> Stretch {
    let (first, last) = (chunk[0], chunk[chunk.len() - 1]);
    let ops: f64 = chunk.iter().map(|point| point.ops_per_s * point.length_s).sum();
    let span = Span { from_s: first.at_s, to_s: last.at_s + last.length_s };
    Stretch { span, rate_share: ops / length(&span) / usual }
}

fn is_long_enough(found: &Stretch, usual: f64) -> bool {
    // A nanosecond of tolerance: 0.7 + 0.1 - 0.7 is a little less than 0.1.
    length(&found.span) >= LENGTH_MIN_S - 1e-9 && usual * length(&found.span) >= EXPECTED_OPS_MIN
}

/// The operations that show stalls shorter than an interval, those of the stretches `known` left out.
fn slow_ops(point: &PointData, measured: &Measured, known: &[Stretch]) -> Option<SlowOps> {
    let slow = beyond(SLOW_MIN_NS, measured, known)?;
    let one_at_a_time = slots(point) == 1;
    let stood_still = || is_rare(&slow, measured) && !others_were_served(&slow, measured);
    (one_at_a_time || stood_still()).then_some(slow)
}

/// The operations that were held up while others were served: those of at least `least_ns`, and any that stand far apart from
/// all others.
pub fn held_up_alone(measured: &Measured, least_ns: u64) -> Option<SlowOps> {
    let known = stretches(run_part(measured));
    let apart = beyond(SLOW_MIN_NS, measured, &known).filter(|slow| is_rare(slow, measured));
    let found = apart.or_else(|| beyond(least_ns.max(SLOW_MIN_NS), measured, &known));
    found.filter(|slow| others_were_served(slow, measured))
}

/// With several operations under way a heavy tail is usual; a stall stands apart from it.
fn is_rare(slow: &SlowOps, measured: &Measured) -> bool {
    let p999 = measured.summary.service_ns.map_or(0, |all| all.p999);
    slow.longest_ns >= p999.saturating_mul(SLOW_OVER_P999)
}

/// Whether a target that stood still for as long as the longest of `slow` would have shown in the rates of the intervals.
fn others_were_served(slow: &SlowOps, measured: &Measured) -> bool {
    let seconds = slow.longest_ns as f64 / 1e9;
    let usual = usual_rate(run_part(measured)).unwrap_or(0.0);
    let interval = measured.window.whole.first().map_or(f64::MAX, |tally| tally.length.as_secs_f64());
    seconds >= COVERS_INTERVALS * interval && seconds * usual >= EXPECTED_OPS_MIN
}

/// The operations of at least `least_ns` and a hundred times the median, those of the stretches `known` left out.
fn beyond(least_ns: u64, measured: &Measured, known: &[Stretch]) -> Option<SlowOps> {
    let all = measured.summary.service_ns?;
    let least_ns = least_ns.max(all.p50.saturating_mul(SLOW_OVER_MEDIAN));
    if all.max < least_ns {
        return None;
    }
    let others = measured.window.phase.intervals.iter().filter(|interval| !belongs_to(interval, known, measured));
    let longest_ns = |interval: &Interval| interval.kinds.iter().map(|kind| kind.service.max_ns()).max().unwrap_or(0);
    let with_slow: Vec<&Interval> = others.filter(|interval| longest_ns(interval) >= least_ns).collect();
    let service = merged(with_slow.iter().copied(), |kind| &kind.service);
    let count = service.count_between(least_ns, service.max().max(least_ns));
    let found = SlowOps { count, longest_ns: service.max(), median_ns: all.p50, intervals: with_slow.len() };
    (!with_slow.is_empty()).then_some(found)
}

/// Whether the interval is part of one of the stretches or follows it: there, the operations held up by it end.
fn belongs_to(interval: &Interval, known: &[Stretch], measured: &Measured) -> bool {
    let from_s = measured.window.seconds_at(interval.start);
    let length_s = interval.length.as_secs_f64();
    let touches = |span: &Span| from_s < span.to_s + length_s / 2.0 && from_s + length_s / 2.0 > span.from_s;
    known.iter().any(|stretch| touches(&stretch.span))
}

fn long_stalls(found: &[Stretch], measured: &Measured) -> Finding {
    let total: f64 = found.iter().map(|stall| length(&stall.span)).sum();
    let longest = found.iter().map(|stall| stall.span).max_by(|a, b| length(a).total_cmp(&length(b)));
    let longest = longest.expect("there is at least one stretch");
    let deepest = found.iter().map(|stall| stall.rate_share).fold(1.0, f64::min);
    let starts: Vec<f64> = found.iter().map(|stall| stall.span.from_s).collect();
    let digits = decimals(measured.window.whole[0].length);
    let every = period(&starts)
        .map_or(String::new(), |(gap, spread)| format!("; one every {gap:.digits$} s (+-{spread:.digits$} s)"));
    let title = format!(
        "{}, {total:.digits$} s in all; the longest {:.digits$} s from {:.digits$} s on{every}",
        plural(found.len(), "stall"),
        length(&longest),
        longest.from_s
    );
    let usual = usual_rate(run_part(measured)).unwrap_or(0.0);
    let evidence = format!(
        "below 20 % of the median rate of {}, down to {} of it: {}",
        rate(usual),
        percent(deepest),
        all_of(found, digits)
    );
    let next_step = "look at the charts of disk and CPU at these times; see what the target does then";
    DETECTOR.finding(Severity::Note, title, evidence, next_step)
}

/// The decimals with which times that are multiples of `interval` are told apart: at least one, at most three.
pub fn decimals(interval: Nanos) -> usize {
    let is_whole = |digits: &usize| interval.0.is_multiple_of(1_000_000_000 / 10u64.pow(*digits as u32));
    (1..3).find(is_whole).unwrap_or(3)
}

fn all_of(found: &[Stretch], digits: usize) -> String {
    listed(found, LISTED_MAX, |stall| format!("{:.digits$}-{:.digits$} s", stall.span.from_s, stall.span.to_s))
}

fn short_stalls(slow: &SlowOps, point: &PointData, measured: &Measured) -> Finding {
    let times = slow.longest_ns / slow.median_ns.max(1);
    let took = if slow.count == 1 { "took" } else { "took up to" };
    let operations = plural(slow.count as usize, "operation");
    let title = format!("{operations} {took} {}, {times}x the median", time(slow.longest_ns as f64));
    // Only where one operation is under way at a time is each slow one a stall of its own.
    let countable = slots(point) == 1 && slow.count >= PERIOD_STALLS_MIN as u64;
    let every = match countable {
        true => format!("; one every {:.2} s on average", measured.summary.seconds / slow.count as f64),
        false => String::new(),
    };
    let evidence = format!(
        "median service time {}; they ended in {} of {}{every}",
        time(slow.median_ns as f64),
        slow.intervals,
        plural(measured.window.phase.intervals.len(), "interval")
    );
    let next_step = "record shorter intervals (`--interval 100ms`) to see when they happen";
    DETECTOR.finding(Severity::Note, title, evidence, next_step)
}

/// The intervals that count, without those of the warmup.
pub fn run_part<'a>(measured: &Measured<'a>) -> &'a [IntervalPoint] {
    measured.series.counted_intervals()
}

fn length(span: &Span) -> f64 {
    span.to_s - span.from_s
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::{Random, Simulation};

    #[test]
    fn a_server_frozen_for_three_seconds_is_found_where_it_was() {
        let simulation = Simulation::counts(&[1000, 1010, 990, 0, 0, 0, 1000, 1000, 1005, 1000, 995, 1000]);
        let analysis = simulation.analysis();
        assert_eq!(analysis.points[0].series.as_ref().expect("it ran").stalls, [Span { from_s: 3.0, to_s: 6.0 }]);
        let finding = simulation.finding("stall");
        assert_eq!(finding.title, "1 stall, 3.0 s in all; the longest 3.0 s from 3.0 s on");
        assert!(finding.evidence.contains("down to 0 % of it: 3.0-6.0 s"), "{}", finding.evidence);
        assert_eq!(finding.severity, Severity::Note);
    }

    #[test]
    fn a_stall_that_lasts_to_the_end_of_the_run_is_found_though_nobody_recorded_it() {
        let mut counts = Simulation::counts(&[500; 10]).recorded;
        counts.phases[0].end.0 += 5_000_000_000;
        let simulation = Simulation { recorded: counts, environment: Vec::new() };
        assert!(simulation.finding("stall").title.contains("5.0 s from 10.0 s on"));
    }

    #[test]
    fn regular_drops_have_a_period() {
        let counts: Vec<u64> = (0..100).map(|second| if second % 20 >= 17 { 10 } else { 1000 + second % 7 }).collect();
        let title = Simulation::counts(&counts).finding("stall").title;
        assert_eq!(title, "5 stalls, 15.0 s in all; the longest 3.0 s from 97.0 s on; one every 20.0 s (+-0.0 s)");
    }

    #[test]
    fn times_are_told_as_finely_as_the_intervals_are_long() {
        let counts: Vec<u64> = (0..200).map(|n| if n % 17 < 7 { 0 } else { 300 }).collect();
        let simulation = Simulation::counts(&counts).with(|point| {
            point.phases[0].end.0 = 200 * 20_000_000;
            for interval in &mut point.phases[0].intervals {
                interval.start.0 = u64::from(interval.index) * 20_000_000;
                interval.length = Nanos::from_millis(20);
            }
        });
        let title = simulation.findings("stall").remove(0).title;
        assert!(
            title.contains("the longest 0.14 s from ") && title.contains("; one every 0.34 s (+-0.00 s)"),
            "{title}"
        );
        let lengths_ms = [1000, 100, 250, 20, 5, 3000].map(Nanos::from_millis);
        assert_eq!(lengths_ms.map(decimals), [1, 1, 2, 2, 3, 1]);
    }

    #[test]
    fn irregular_drops_have_none() {
        let at = [5, 9, 40, 77, 81];
        let counts: Vec<u64> = (0..100).map(|second| if at.contains(&second) { 0 } else { 1000 }).collect();
        let title = Simulation::counts(&counts).finding("stall").title;
        assert!(title.starts_with("5 stalls") && !title.contains("every"), "{title}");
    }

    #[test]
    fn a_disk_that_stands_still_most_of_the_time_stalls() {
        let counts: Vec<u64> = (0..60).map(|second| if second % 10 < 4 { 300 } else { 0 }).collect();
        assert!(Simulation::counts(&counts).finding("stall").title.starts_with("6 stalls, 36.0 s in all"));
    }

    #[test]
    fn stalls_of_200_ms_in_one_second_intervals_show_in_the_service_times() {
        let simulation = Simulation::closed(60, |seq| if seq % 10_000 == 9_999 { 200_000_000 } else { 100_000 });
        let finding = simulation.finding("stall");
        assert!(finding.title.starts_with("50 operations took up to 200 ms, "), "{}", finding.title);
        let times: f64 =
            finding.title.split(", ").nth(1).and_then(|t| t.split('x').next()?.parse().ok()).expect("a number");
        assert!((1_990.0..2_010.0).contains(&times), "{times}");
        assert!(finding.evidence.contains("one every 1.20 s on average"), "{}", finding.evidence);
        assert!(simulation.analysis().points[0].series.as_ref().expect("it ran").stalls.is_empty());
    }

    #[test]
    fn the_same_stall_is_not_reported_in_both_forms() {
        let simulation = Simulation::closed(30, |seq| if seq == 10_000 { 3_000_000_000 } else { 1_000_000 });
        assert!(simulation.finding("stall").title.starts_with("1 stall, 3.0 s in all"));
    }

    #[test]
    fn a_heavy_tail_of_many_clients_is_no_stall() {
        let simulation = Simulation::closed(60, |seq| if seq % 100 == 99 { 80_000_000 } else { 500_000 });
        let many = simulation.with(|point| point.trial.load.clients = 8);
        assert!(many.findings("stall").is_empty());
    }

    #[test]
    fn no_stall_is_found_in_poisson_noise_of_any_rate() {
        for seed in 0..1000 {
            let mut random = Random::new(seed);
            let mean = [0.2, 1.0, 5.0, 20.0, 100.0][seed as usize % 5];
            let point = |second| IntervalPoint {
                at_s: f64::from(second),
                length_s: 1.0,
                ops_per_s: random.poisson(mean) as f64,
                bytes_per_s: 0.0,
                p50_ns: None,
                p95_ns: None,
                p99_ns: None,
                max_ns: None,
            };
            let run: Vec<IntervalPoint> = (0..60).map(point).collect();
            assert!(stretches(&run).is_empty(), "seed {seed}, mean {mean}");
        }
    }

    #[test]
    fn no_stall_is_found_in_exponential_service_times() {
        for seed in 0..20 {
            let mut random = Random::new(seed);
            let simulation = Simulation::closed(10, |_| random.exponential(1_000_000.0) as u64);
            assert!(simulation.findings("stall").is_empty(), "seed {seed}");
        }
    }
}
