//! Stalls: times in which the engine did next to nothing.
//!
//! In: the rates of the intervals, and the service times. Out: [`Stall`]s, and the [`SlowOps`] that show shorter ones.
//! A stall is a stretch of intervals below 20 % of the run's median rate. A stall that is shorter than an interval shows in the
//! service times instead: an operation that took a hundred times the median and far longer than nearly all others.
//! Limits: it finds no stalls below 50 ms, none in a stretch in which fewer than 30 operations were to be expected (such gaps come by
//! chance), and no short stall that delayed only some of many operations in flight and was not rare.

use super::bursts::Bursts;
use crate::Quantiles;
use crate::course::own_gaps::OwnGaps;
use crate::math::stats::median;
use crate::math::units::nanos;
use crate::numbers::phase_times::merge_times;
use crate::recorded::window::Window;
use crate::{IntervalPoint, Span};
use model::Interval;

/// The rate of a stall is below this share of the median: half of it is still ordinary variation on many disks.
pub const RATE_SHARE_MAX: f64 = 0.2;
// Shorter gaps are scheduling: a busy virtual machine loses the CPU for tens of milliseconds.
const LENGTH_MIN_S: f64 = 0.1;
// The chance that Poisson arrivals with 30 expected are fewer than 6 is 2e-8.
const EXPECTED_OPS_MIN: f64 = 30.0;
// If more than half of the intervals are empty, the median of the others is the rate, unless they are chance.
const BUSY_OPS_MIN: f64 = 10.0;
// A shorter operation may be slow because of the scheduler.
const SLOW_MIN_NS: u64 = 50_000_000;
// The longest of a million exponential service times is 20 times their median.
const SLOW_OVER_MEDIAN: u64 = 100;
const SLOW_OVER_P999: u64 = 10;
// A stop that lasts this many intervals covers at least four fifths of one of them, wherever it begins: that one has a low rate.
const COVERS_INTERVALS: f64 = 1.6;
const BURST_PERIODS: f64 = 1.5;
// Fewer operations in an interval may be those that a stall let through.
const ENDED_MIN: u64 = 5;
// At a fifth of the rate all operations take five times as long: what takes less is few operations and no slow ones.
const SLOWER_MIN: f64 = 3.0;
// A wait of a second is long at any load.
const STARVED_NS: u64 = 1_000_000_000;
// A client that spent a quarter of the run in one operation hardly took part in it.
const STARVED_RUN_SHARE: f64 = 0.25;

/// A stretch of intervals with next to no operations.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stall {
    pub span: Span,
    /// How long it was, in seconds: as long as the longest operation that it delayed. The intervals at its ends are not low if
    /// operations ended in a part of them, so it can be up to an interval longer than the span at each end.
    pub length_s: f64,
    /// Its rate as a share of the run's median rate.
    pub rate_share: f64,
    /// By what factor operations took longer than usual, if they ended all the time: the engine did not stand still, but was slow.
    pub slower: Option<f64>,
}

impl Stall {
    /// Says by how much it was slower than `usual_ns`, the median service time of the run, if operations ended in each of its intervals and none
    /// of them took as long as half of it.
    pub fn tell_slow_from_stalled(&mut self, window: &Window, usual_ns: u64) {
        let inside = |interval: &&Interval| {
            let middle_s = window.seconds_at(interval.start) + interval.length.as_secs_f64() / 2.0;
            (self.span.from_s..self.span.to_s).contains(&middle_s)
        };
        let within: Vec<&Interval> = window.phase.intervals.iter().filter(inside).collect();
        let least = within.iter().map(|interval| ended(interval)).min().unwrap_or(0);
        let expected = (self.span.length_s() / window.whole[0].length.as_secs_f64()).round() as usize;
        let times = merge_times(within.iter().copied(), |kind| &kind.service);
        let is_served = least >= ENDED_MIN && within.len() >= expected;
        let is_brief = (times.max_ns() as f64) < 0.5 * 1e9 * self.span.length_s();
        let slower = times.value_at_quantile(0.5) as f64 / usual_ns.max(1) as f64;
        self.slower = (is_served && is_brief && slower > SLOWER_MIN).then_some(slower);
    }

    /// Sets its length by the longest operation that ended in it or in the interval after it.
    pub fn lengthen(&mut self, window: &Window) {
        let near = window.phase.intervals.iter().filter(|interval| self.is_near(interval, window));
        let (span_s, interval_s) = (self.span.length_s(), window.whole[0].length.as_secs_f64());
        let longest_s = near.map(longest_ns).max().unwrap_or(0) as f64 / 1e9;
        self.length_s = longest_s.clamp(span_s, span_s + 2.0 * interval_s);
    }

    /// Whether `interval` is part of it or follows it: the operations that it delayed end there.
    fn is_near(&self, interval: &Interval, window: &Window) -> bool {
        let from_s = window.seconds_at(interval.start);
        let half_s = interval.length.as_secs_f64() / 2.0;
        // Half an interval of tolerance: the seconds of neighbouring intervals differ in the last digits.
        from_s < self.span.to_s + half_s && from_s + half_s > self.span.from_s
    }
}

/// Single operations that took far longer than the others.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct SlowOps {
    pub count: u64,
    /// The longest of them.
    pub longest_ns: u64,
    /// The median of all operations.
    pub median_ns: u64,
    /// In how many intervals they ended.
    pub intervals: usize,
    /// When the interval began in which the longest ended, since the run phase began.
    pub longest_at_ns: u64,
}

impl SlowOps {
    /// The longest of them, in seconds.
    pub fn longest_s(&self) -> f64 {
        self.longest_ns as f64 / 1e9
    }
}

/// The stretches of `run`, the intervals of a run phase, in which next to nothing was done. Nothing is done between regular `bursts`,
/// so a stall must be longer than the gap between two of them.
pub fn find_stalls(run: &[IntervalPoint], bursts: Option<&Bursts>) -> Vec<Stall> {
    let Some(usual) = usual_rate(run) else { return Vec::new() };
    let low_runs = run.chunk_by(|a, b| is_low(a, usual) == is_low(b, usual)).filter(|chunk| is_low(&chunk[0], usual));
    let between_bursts = bursts.map_or(0.0, |found| found.period_s * BURST_PERIODS);
    let all = low_runs.map(|chunk| measure_stall(chunk, usual)).filter(|found| is_long_enough(found, usual));
    all.filter(|found| found.span.length_s() > between_bursts).collect()
}

fn is_low(interval: &IntervalPoint, usual: f64) -> bool {
    interval.ops_per_s < RATE_SHARE_MAX * usual
}

/// The median rate of `run`, or that of the busy intervals if most are empty.
pub fn usual_rate(run: &[IntervalPoint]) -> Option<f64> {
    let rates: Vec<f64> = run.iter().map(|interval| interval.ops_per_s).collect();
    let usual = median(&rates)?;
    if usual > 0.0 {
        return Some(usual);
    }
    let busy: Vec<f64> = rates.into_iter().filter(|rate| *rate > 0.0).collect();
    median(&busy).filter(|usual| usual * run[0].length_s >= BUSY_OPS_MIN)
}

/// The stall of the intervals `chunk`, of which there is at least one; `usual` is the rate that it is measured against.
pub fn measure_stall(chunk: &[IntervalPoint], usual: f64) -> Stall {
    let (first, last) = (chunk[0], chunk[chunk.len() - 1]);
    let ops: f64 = chunk.iter().map(|interval| interval.ops_per_s * interval.length_s).sum();
    let span = Span { from_s: first.at_s, to_s: last.at_s + last.length_s };
    Stall { span, length_s: span.length_s(), rate_share: ops / span.length_s() / usual, slower: None }
}

fn is_long_enough(found: &Stall, usual: f64) -> bool {
    let length_s = found.span.length_s();
    // A nanosecond of tolerance: 0.7 + 0.1 - 0.7 is a little less than 0.1.
    length_s >= LENGTH_MIN_S - 1e-9 && usual * length_s >= EXPECTED_OPS_MIN
}

/// A search for operations that took far longer than the others.
pub struct SlowOpSearch<'a> {
    /// The part of the run phase that counts.
    pub window: &'a Window<'a>,
    pub service: Quantiles,
    /// The 99.9th percentile of the service times, however few they are: it is a bound here and not a result.
    pub p999_ns: u64,
    /// Its usual rate; 0 if it has none.
    pub usual_per_s: f64,
    /// The stalls that the intervals show: the operations that these delayed are left out.
    pub stalls: &'a [Stall],
    /// The gaps of plimsoll itself: the operations that these delayed are left out, too.
    pub own_gaps: &'a OwnGaps,
}

impl SlowOpSearch<'_> {
    /// The operations that show stalls shorter than an interval, if up to `slots` can be in flight at once.
    pub fn short_stalls(&self, slots: u64) -> Option<SlowOps> {
        let slow = self.slower_than(SLOW_MIN_NS)?;
        // With one operation in flight a slow one is a stall. With several, the others must have been delayed, too.
        let is_stall = slots == 1 || (self.is_rare(&slow) && !self.others_were_served(&slow));
        is_stall.then_some(slow)
    }

    /// The operations that waited while others were served: those of a second or of a quarter of the run, and those far slower than
    /// all others.
    pub fn starved_ops(&self, slots: u64) -> Option<SlowOps> {
        let run_share_ns = (self.window.seconds() * STARVED_RUN_SHARE * 1e9) as u64;
        let least_ns = STARVED_NS.min(run_share_ns).max(SLOW_MIN_NS);
        let apart = self.slower_than(SLOW_MIN_NS).filter(|slow| self.is_rare(slow));
        let found = apart.or_else(|| self.slower_than(least_ns)).filter(|_| slots > 1);
        found.filter(|slow| self.others_were_served(slow))
    }

    /// Whether the longest is far from all others. With several operations in flight a heavy tail is usual.
    fn is_rare(&self, slow: &SlowOps) -> bool {
        slow.longest_ns >= self.p999_ns.saturating_mul(SLOW_OVER_P999)
    }

    /// Whether others finished during the longest of `slow`: a stop of that length would show in the rates of the intervals, and the
    /// operations near stalls are left out.
    fn others_were_served(&self, slow: &SlowOps) -> bool {
        let seconds = slow.longest_ns as f64 / 1e9;
        let interval_s = self.window.whole.first().map_or(f64::MAX, |tally| tally.length.as_secs_f64());
        seconds >= COVERS_INTERVALS * interval_s && seconds * self.usual_per_s >= EXPECTED_OPS_MIN
    }

    /// The operations of at least `least_ns` and a hundred times the median, without those that a stall delayed.
    fn slower_than(&self, least_ns: u64) -> Option<SlowOps> {
        let least_ns = least_ns.max(self.service.p50.saturating_mul(SLOW_OVER_MEDIAN));
        if self.service.max < least_ns {
            return None;
        }
        let others = self.window.phase.intervals.iter().filter(|interval| !self.is_delayed(interval));
        let with_slow: Vec<&Interval> = others.filter(|interval| longest_ns(interval) >= least_ns).collect();
        let service = merge_times(with_slow.iter().copied(), |kind| &kind.service);
        let count = service.count_from(least_ns);
        let (longest_ns, median_ns) = (service.max_ns(), self.service.p50);
        let slowest = with_slow.iter().max_by_key(|interval| self::longest_ns(interval))?;
        let longest_at_ns = nanos(self.window.seconds_at(slowest.start).max(0.0)).0;
        Some(SlowOps { count, longest_ns, median_ns, intervals: with_slow.len(), longest_at_ns })
    }

    /// Whether a stall or a gap may have delayed the operations that ended in `interval`.
    fn is_delayed(&self, interval: &Interval) -> bool {
        let from_s = self.window.seconds_at(interval.start);
        let span = Span { from_s, to_s: from_s + interval.length.as_secs_f64() };
        self.stalls.iter().any(|stall| stall.is_near(interval, self.window)) || self.own_gaps.has_delayed(&span)
    }
}

fn ended(interval: &Interval) -> u64 {
    interval.kinds.iter().map(|kind| kind.service.len()).sum()
}

fn longest_ns(interval: &Interval) -> u64 {
    interval.kinds.iter().map(|kind| kind.service.max_ns()).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::course::shape::bursts::find_bursts;
    use crate::simulated::Random;

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
            assert!(find_stalls(&run, find_bursts(&run).as_ref()).is_empty(), "seed {seed}, mean {mean}");
        }
    }
}
