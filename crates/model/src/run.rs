//! A recorded run as the reading half sees it: increments summed, histograms decoded, nothing judged yet.
//!
//! In: the store's reader makes these. Out: the crate `analysis` reads them.
//! Limits: the whole run stands in memory. An hour of one-second intervals, each with 2,000 operations of two kinds, takes 80 MB
//! in a closed loop and 140 MB in an open one, where response times differ from service times; with 50,000 of each kind it
//! takes 95 and 175 MB.

use crate::event::Event;
use crate::histogram::new_hdr;
use crate::role::{KindDef, PointParam};
use crate::sample::{CounterSample, Fact, Generator, SourceDef};
use crate::traits::{Machine, PointTraits};
use crate::trial::{Phase, Plan, Trial};
use crate::units::{Bytes, Nanos, Tick};
use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// What is known of a run as a whole.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunMeta {
    /// Unique among runs: a timestamp and the plan's name.
    pub run_id: String,
    /// When it began, milliseconds since 1970 UTC (for people; no duration is computed from it).
    pub started_unix_ms: u64,
    /// The version of plimsoll that recorded it.
    pub plimsoll_version: String,
    /// The resolved plan.
    pub plan: Plan,
    /// The machine, kernel, filesystem and device: what must be alike for two runs to be compared.
    pub environment: Vec<Fact>,
    /// What code reads of it.
    #[serde(default)]
    pub machine: Machine,
}

/// How a point ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PointState {
    /// Every phase ran to its end.
    Complete,
    /// It was interrupted; what was measured is there. Also the state of a point whose recorder was killed.
    Partial,
    /// The target failed; what was measured before is there.
    Failed,
}

impl PointState {
    /// The word used in files and reports.
    pub fn as_str(self) -> &'static str {
        match self {
            PointState::Complete => "complete",
            PointState::Partial => "partial",
            PointState::Failed => "failed",
        }
    }
}

/// A recorded run.
#[derive(Clone, Debug)]
pub struct RunData {
    /// What is known of the run as a whole.
    pub meta: RunMeta,
    /// Its points in the order in which they were measured.
    pub points: Vec<PointData>,
}

/// A recorded point.
#[derive(Clone, Debug)]
pub struct PointData {
    /// Its number in the run, from 1.
    pub id: u32,
    /// How it ended.
    pub state: PointState,
    /// Why it did not complete, for people.
    pub error: Option<String>,
    /// What was planned.
    pub trial: Trial,
    /// What the target said of itself, for people: version, settings as read back.
    pub facts: Vec<Fact>,
    /// What code reads of it.
    pub traits: PointTraits,
    /// The parameters of its trial as engine and workload declare them.
    pub params: Vec<PointParam>,
    /// The workload's kinds of operation; `KindInterval::kind` indexes them.
    pub kinds: Vec<KindDef>,
    /// The phases in order. A phase that was not reached is missing.
    pub phases: Vec<PhaseData>,
    /// The sources of counters.
    pub sources: Vec<SourceDef>,
    /// All readings, in time order.
    pub counters: Vec<CounterSample>,
    /// What happened, in time order.
    pub events: Vec<Event>,
}

impl PointData {
    /// The recorded data of `phase`, where it was reached.
    pub fn phase(&self, phase: Phase) -> Option<&PhaseData> {
        self.phases.iter().find(|p| p.phase == phase)
    }

    /// The kind of operation of that number, where the point has one.
    pub fn kind(&self, kind: u8) -> Option<&KindDef> {
        self.kinds.get(usize::from(kind))
    }
}

/// A recorded phase.
#[derive(Clone, Debug)]
pub struct PhaseData {
    /// Which.
    pub phase: Phase,
    /// When it began.
    pub start: Tick,
    /// When it ended: the planned end, or the end of the last operation where it ended by count, or the interruption.
    /// Where the recorder was killed, the end of the last interval recorded.
    pub end: Tick,
    /// Arrivals that fell due and were never started (open loop).
    pub unserved: u64,
    /// Arrivals offered by the schedules of all clients with an open loop, those beside the run included; 0 without any.
    pub offered: u64,
    /// Intervals in order, without holes from 0. Those beyond `end` hold operations that ended in the grace time.
    pub intervals: Vec<Interval>,
}

/// One interval, all increments summed.
#[derive(Clone, Debug)]
pub struct Interval {
    /// Its number in the phase.
    pub index: u32,
    /// When it began.
    pub start: Tick,
    /// How long it is.
    pub length: Nanos,
    /// One entry per kind of operation that had any.
    pub kinds: Vec<KindInterval>,
    /// What it cost the generator.
    pub generator: Generator,
}

/// The operations of one kind in one interval.
#[derive(Clone, Debug)]
pub struct KindInterval {
    /// Index into the point's kinds.
    pub kind: u8,
    /// Operations done.
    pub ok: u64,
    /// Operations failed.
    pub failed: u64,
    /// Payload moved.
    pub bytes: u64,
    /// Arrivals that fell due while every client was busy.
    pub late: u64,
    /// Response times. In a closed loop these are the service times.
    pub response: Times,
    /// Service times.
    pub service: Times,
}

/// Times in nanoseconds, as often as each occurred: an HDR histogram of three significant digits without its empty buckets, and
/// the sum of the times.
///
/// It stands for the histogram exactly: [`Times::to_hdr`] gives back the same counts, so that no percentile changes.
/// A single time is known as the middle of its bucket: exact below 2048 ns, at most 1/2048 (0.05 %) off above. That is on top of
/// what the recording lost; see [`crate::histogram::PERCENTILE_ERROR_MAX`]. The mean is exact if the sum was recorded.
/// 8 bytes for each bucket in use; clones share them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Times {
    /// In rising order, none twice.
    buckets: Arc<[Bucket]>,
    // No sum of times that a run file holds overflows this.
    sum_ns: u128,
}

impl Times {
    /// What `hdr` holds, a histogram of [`new_hdr`]'s layout. The sum is that of the buckets' middles.
    pub fn of(hdr: &Histogram<u64>) -> Times {
        let recorded = hdr.iter_recorded();
        let buckets: Arc<[Bucket]> =
            recorded.map(|one| Bucket::of(one.value_iterated_to(), one.count_at_value())).collect();
        let sum_ns = buckets.iter().map(|bucket| u128::from(bucket.middle_ns()) * u128::from(bucket.count())).sum();
        Times { buckets, sum_ns }
    }

    /// The same with the sum of the times as it was recorded.
    pub fn with_sum(self, sum_ns: u64) -> Times {
        Times { sum_ns: sum_ns.into(), ..self }
    }

    /// Counts `value_ns` as often as `count`.
    pub fn record_n(&mut self, value_ns: u64, count: u64) {
        let one = Bucket::of(value_ns, count);
        let sum_ns = u128::from(value_ns) * u128::from(count);
        match self.buckets.binary_search_by_key(&one.number(), |known| known.number()) {
            Ok(place) => {
                Arc::make_mut(&mut self.buckets)[place].add(count);
                self.sum_ns = self.sum_ns.saturating_add(sum_ns);
            }
            Err(_) if count == 0 => {}
            Err(_) => self.add(&Times { buckets: [one].into(), sum_ns }),
        }
    }

    /// Counts all of `other` here too. Where nothing was counted yet, both share the memory.
    pub fn add(&mut self, other: &Times) {
        self.sum_ns = self.sum_ns.saturating_add(other.sum_ns);
        if self.is_empty() {
            self.buckets = Arc::clone(&other.buckets);
            return;
        }
        let mut all = [&*self.buckets, &*other.buckets].concat();
        // Two ascending runs: the stable sort does no more than merge them.
        all.sort_by_key(|bucket| bucket.number());
        all.dedup_by(|later, kept| {
            let same = later.number() == kept.number();
            kept.add(if same { later.count() } else { 0 });
            same
        });
        self.buckets = all.into();
    }

    /// Counts all of these in `hdr` too.
    pub fn add_to(&self, hdr: &mut Histogram<u64>) {
        for bucket in self.buckets.iter() {
            hdr.record_n(bucket.middle_ns(), bucket.count()).expect("an auto-resizing histogram takes every value");
        }
    }

    /// The histogram that these stand for, from which percentiles are read.
    pub fn to_hdr(&self) -> Histogram<u64> {
        let mut hdr = new_hdr();
        self.add_to(&mut hdr);
        hdr
    }

    /// How many times were counted.
    pub fn len(&self) -> u64 {
        self.buckets.iter().fold(0, |sum, bucket| sum.saturating_add(bucket.count()))
    }

    /// Whether none was.
    pub fn is_empty(&self) -> bool {
        self.buckets.is_empty()
    }

    /// The end of the longest time's bucket, as the histogram gives it: at most 1/1024 above the time; 0 where none was
    /// counted.
    pub fn max_ns(&self) -> u64 {
        self.buckets.last().map_or(0, |longest| longest.last_ns())
    }

    /// The sum of all times.
    pub fn sum_ns(&self) -> u128 {
        self.sum_ns
    }

    /// The mean, from the sum; 0 if none was counted.
    pub fn mean_ns(&self) -> f64 {
        if self.is_empty() { 0.0 } else { self.sum_ns as f64 / self.len() as f64 }
    }

    /// What the buckets take in memory; clones that share them say the same.
    pub fn memory(&self) -> Bytes {
        Bytes(size_of_val(&*self.buckets) as u64)
    }
}

/// One bucket in use: its number in the upper 16 bits, its count in the lower 48, which is enough for a million operations a
/// second over nine years; counts stay at the most that fits.
///
/// The buckets are those of an HDR histogram of three digits: one for each value below 2048, and 1024 to each power of two
/// from there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Bucket(u64);

const SUB_BITS: u32 = 10;
const COUNT_BITS: u32 = 48;
const COUNT_MAX: u64 = (1 << COUNT_BITS) - 1;

impl Bucket {
    /// The bucket of `value_ns` with so many in it.
    fn of(value_ns: u64, count: u64) -> Bucket {
        let shift = (value_ns | 1 << SUB_BITS).ilog2() - SUB_BITS;
        let number = (u64::from(shift) << SUB_BITS) + (value_ns >> shift);
        Bucket(number << COUNT_BITS | count.min(COUNT_MAX))
    }

    fn number(self) -> u64 {
        self.0 >> COUNT_BITS
    }

    fn count(self) -> u64 {
        self.0 & COUNT_MAX
    }

    fn add(&mut self, count: u64) {
        self.0 += count.min(COUNT_MAX - self.count());
    }

    /// The first value of the bucket and how many values it holds.
    fn range(self) -> (u64, u64) {
        let shift = (self.number() >> SUB_BITS).saturating_sub(1);
        ((self.number() - (shift << SUB_BITS)) << shift, 1 << shift)
    }

    fn middle_ns(self) -> u64 {
        let (first, width) = self.range();
        first + width / 2
    }

    fn last_ns(self) -> u64 {
        let (first, width) = self.range();
        first + (width - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Times from nothing to 390 years, at the edges of buckets and inside.
    fn scattered() -> impl Iterator<Item = u64> {
        let powers = (0..64).flat_map(|bit| [1u64 << bit, (1 << bit) - 1, (1u64 << bit) + (1 << bit) / 3]);
        powers.chain((0..200).map(|n| n * n * 12_370))
    }

    fn hdr_of(times_ns: impl IntoIterator<Item = u64>) -> Histogram<u64> {
        let mut hdr = new_hdr();
        times_ns.into_iter().for_each(|ns| hdr.record(ns).expect("it resizes"));
        hdr
    }

    fn times_of(times_ns: impl IntoIterator<Item = u64>) -> Times {
        let mut times = Times::default();
        times_ns.into_iter().for_each(|ns| times.record_n(ns, 1));
        times
    }

    #[test]
    fn a_histogram_is_given_back_bucket_by_bucket() {
        let hdr = hdr_of(scattered());
        let times = Times::of(&hdr);
        assert!(times.to_hdr() == hdr);
        assert_eq!((times.len(), times.max_ns()), (hdr.len(), hdr.max()));
        assert!((times.mean_ns() / hdr.mean() - 1.0).abs() < 1e-12, "{} {}", times.mean_ns(), hdr.mean());
    }

    #[test]
    fn a_time_recorded_alone_is_in_the_bucket_of_the_histogram() {
        for ns in scattered() {
            let (times, hdr) = (times_of([ns]), hdr_of([ns]));
            assert!(times.to_hdr() == hdr, "{ns}");
            assert_eq!(times.mean_ns(), ns as f64, "{ns}");
            assert_eq!(times.max_ns(), hdr.max(), "{ns}");
        }
    }

    #[test]
    fn the_mean_is_that_of_the_sum_that_was_recorded() {
        let mut times = Times::of(&hdr_of([1_000_300, 1_000_300])).with_sum(2_000_600);
        assert_eq!(times.mean_ns(), 1_000_300.0);
        times.add(&Times::of(&hdr_of([9_000_001])).with_sum(9_000_001));
        assert_eq!((times.sum_ns(), times.mean_ns()), (11_000_601, 11_000_601.0 / 3.0));
    }

    #[test]
    fn even_the_longest_time_of_all_is_kept() {
        let times = times_of([u64::MAX, 5]);
        assert_eq!((times.len(), times.max_ns()), (2, u64::MAX));
        assert!(times.to_hdr().max() >= u64::MAX - 1);
    }

    #[test]
    fn a_count_stays_at_the_most_that_fits_and_in_its_bucket() {
        let mut times = Times::default();
        times.record_n(3_000, u64::MAX);
        times.record_n(3_000, 1);
        times.add(&times.clone());
        assert_eq!((times.len(), times.max_ns()), (COUNT_MAX, 3_001));
    }

    #[test]
    fn a_time_is_exact_below_2048_ns_and_a_twentieth_of_a_percent_off_above() {
        for ns in scattered() {
            let off = Bucket::of(ns, 1).middle_ns() as f64 - ns as f64;
            assert!(off.abs() <= if ns < 2_048 { 0.0 } else { ns as f64 / 2_048.0 }, "{ns} is {off} off");
        }
    }

    #[test]
    fn sums_are_those_of_the_histograms() {
        let (first, second) = (hdr_of(scattered().step_by(2)), hdr_of(scattered().step_by(3)));
        let mut sum = Times::of(&first);
        sum.add(&Times::of(&second));
        let mut expected = first;
        expected.add(&second).expect("it resizes");
        assert_eq!(sum, Times::of(&expected));
        let mut added = second.clone();
        sum.add_to(&mut added);
        assert_eq!(added.len(), expected.len() + second.len());
    }

    #[test]
    fn nothing_stays_nothing_and_adding_to_it_copies_nothing() {
        let mut times = Times::default();
        times.record_n(5, 0);
        times.add(&Times::of(&new_hdr()));
        assert!(times.is_empty());
        assert_eq!((times.len(), times.max_ns(), times.mean_ns()), (0, 0, 0.0));
        let other = times_of([7, 7, 4_000]);
        times.add(&other);
        assert!(Arc::ptr_eq(&times.buckets, &other.buckets));
        assert_eq!(times.memory(), Bytes(16));
    }
}
