//! How often each time occurred: dense counts while operations run, and their sparse form for everything after that.
//!
//! In: nanoseconds, one [`LatencyCounts::record`] an operation. Out: [`Times`], which travel to the store and the analysis, are added
//! up, and give mean, percentiles and maximum.
//! Limits: a bucket is at most 1/256 of its least value wide and is read as its middle, so a percentile is off by
//! [`PERCENTILE_ERROR_MAX`] at most. Count, mean and maximum are exact; the minimum is known by its bucket.
//!
//! Both forms number their buckets alike, in the layout of HdrHistogram (Gil Tene, <http://hdrhistogram.org>): one bucket for each
//! value below 512, and from there 256 to each power of two. The dense form has a 32-bit count for every bucket up to 4.3 s: 25 KiB
//! from the first time on, of which an interval touches a few hundred bytes; a longer time makes it 57 KiB, which hold any. It knows
//! its least and its most, so that to hand over an interval costs what was used and not what is there.

use crate::units::Bytes;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::ops::Range;
use std::sync::Arc;

const SUB_BITS: u32 = 8;
const SUB_COUNT: u64 = 1 << SUB_BITS;
/// The buckets of all times.
const BUCKETS: usize = buckets_below(u64::BITS);
/// The buckets of times below 2^32 ns, which are all that most clients ever see.
const BUCKETS_USUAL: usize = buckets_below(32);

/// A percentile is off by this share at most, either way: half of the widest bucket as a share of its least value.
pub const PERCENTILE_ERROR_MAX: f64 = 0.5 / SUB_COUNT as f64;

/// How many buckets the values below 2^`bits` have.
const fn buckets_below(bits: u32) -> usize {
    ((bits - SUB_BITS + 1) as usize) << SUB_BITS
}

/// The bucket of a value: exact below 512, then 256 buckets to each power of two.
#[inline]
fn bucket_of(value_ns: u64) -> usize {
    let shift = (63 - (value_ns | SUB_COUNT).leading_zeros()) - SUB_BITS;
    ((shift as usize) << SUB_BITS) + (value_ns >> shift) as usize
}

/// The first value of a bucket, and the bits that its values differ in.
fn start_of(bucket: usize) -> (u64, u32) {
    let shift = (bucket >> SUB_BITS).saturating_sub(1) as u32;
    ((bucket as u64 - (u64::from(shift) << SUB_BITS)) << shift, shift)
}

/// The value in the middle of a bucket.
fn middle_of(bucket: usize) -> u64 {
    let (first_ns, shift) = start_of(bucket);
    first_ns + ((1 << shift) >> 1)
}

/// Counts of times in nanoseconds, dense: what a client counts in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LatencyCounts {
    /// As many as were needed so far. Empty before the first time is counted, because a client performs few of the kinds that it could.
    counts: Box<[u32]>,
    total: u64,
    sum_ns: u128,
    min_ns: u64,
    max_ns: u64,
}

impl Default for LatencyCounts {
    fn default() -> Self {
        LatencyCounts { counts: Box::default(), total: 0, sum_ns: 0, min_ns: u64::MAX, max_ns: 0 }
    }
}

impl LatencyCounts {
    /// Counts one time. It allocates at most twice: for the first time, and for the first of 4.3 s. Its one branch is the check of the
    /// bounds.
    #[inline]
    pub fn record(&mut self, value_ns: u64) {
        match self.counts.get_mut(bucket_of(value_ns)) {
            Some(count) => *count += 1,
            None => self.counts_to(bucket_of(value_ns))[bucket_of(value_ns)] += 1,
        }
        self.total += 1;
        self.sum_ns += u128::from(value_ns);
        self.min_ns = self.min_ns.min(value_ns);
        self.max_ns = self.max_ns.max(value_ns);
    }

    /// The counts, with enough of them to hold that of `bucket`.
    #[cold]
    fn counts_to(&mut self, bucket: usize) -> &mut [u32] {
        let needed = if bucket < BUCKETS_USUAL { BUCKETS_USUAL } else { BUCKETS };
        if self.counts.len() < needed {
            let mut counts = vec![0; needed].into_boxed_slice();
            counts[..self.counts.len()].copy_from_slice(&self.counts);
            self.counts = counts;
        }
        &mut self.counts
    }

    /// Whether no time was counted.
    pub fn is_empty(&self) -> bool {
        self.total == 0
    }

    /// Hands over what was counted and starts again from nothing. Reads the range used, not the whole table.
    pub fn take(&mut self) -> Times {
        if self.is_empty() {
            return Times::default();
        }
        let used = self.used_range();
        let in_use = self.counts[used.clone()].iter().zip(used.clone()).filter(|(count, _)| **count > 0);
        let buckets = in_use.map(|(count, number)| Bucket { number, count: u64::from(*count) });
        let times = Times { packed: pack(buckets), sum_ns: self.sum_ns, max_ns: self.max_ns };
        self.counts[used].fill(0);
        *self = LatencyCounts { counts: std::mem::take(&mut self.counts), ..LatencyCounts::default() };
        times
    }

    /// The buckets from that of the least to that of the most: a larger value is never in a lower bucket. Not for an empty one.
    fn used_range(&self) -> Range<usize> {
        bucket_of(self.min_ns)..bucket_of(self.max_ns) + 1
    }

    /// Counts all of `times` here too.
    pub fn add(&mut self, times: &Times) {
        let Some(first) = times.buckets().next() else { return };
        let counts = self.counts_to(bucket_of(times.max_ns));
        for bucket in times.buckets() {
            let count = &mut counts[bucket.number];
            *count = count.saturating_add(u32::try_from(bucket.count).unwrap_or(u32::MAX));
        }
        self.total = self.total.saturating_add(times.len());
        self.sum_ns = self.sum_ns.saturating_add(times.sum_ns);
        self.min_ns = self.min_ns.min(first.start_ns());
        self.max_ns = self.max_ns.max(times.max_ns);
    }
}

/// Times in nanoseconds, sparse: the buckets in use with their counts, the exact sum and the exact maximum.
///
/// About a byte for each bucket in use, since a run of a day has tens of millions of them; clones share them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Times {
    /// The buckets in use, as [`pack`] writes them.
    packed: Arc<[u8]>,
    /// No sum of times that a run file holds overflows this.
    sum_ns: u128,
    /// In the last bucket.
    max_ns: u64,
}

impl Times {
    /// Times of which each value occurred so often: `recorded` is (nanoseconds, count) in rising order. A value may be any of its
    /// bucket; `sum_ns` and `max_ns` are exact. A `max_ns` outside of the last bucket becomes the nearest value inside.
    pub fn from_recorded(recorded: impl IntoIterator<Item = (u64, u64)>, sum_ns: u64, max_ns: u64) -> Times {
        let mut buckets: Vec<Bucket> = Vec::new();
        for (value_ns, count) in recorded.into_iter().filter(|(_, count)| *count > 0) {
            let number = bucket_of(value_ns);
            match buckets.last_mut().filter(|last| last.number == number) {
                Some(last) => last.add(count),
                None => buckets.push(Bucket { number, count }),
            }
        }
        let max_ns = buckets.last().map_or(0, |last| max_ns.clamp(last.start_ns(), last.end_ns()));
        Times { packed: pack(buckets.into_iter()), sum_ns: sum_ns.into(), max_ns }
    }

    /// The times of all of `parts` together.
    pub fn merged<'a>(parts: impl IntoIterator<Item = &'a Times>) -> Times {
        let parts: Vec<&Times> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        match parts.as_slice() {
            [] => Times::default(),
            [one] => Times::clone(one),
            several => Times {
                packed: merged_buckets(several),
                sum_ns: several.iter().fold(0, |sum, part| sum.saturating_add(part.sum_ns)),
                max_ns: several.iter().map(|part| part.max_ns).max().unwrap_or(0),
            },
        }
    }

    /// Counts `value_ns` as often as `count`. It writes all buckets again: [`LatencyCounts`] is for many times.
    pub fn record_n(&mut self, value_ns: u64, count: u64) {
        if count > 0 {
            let packed = pack([Bucket { number: bucket_of(value_ns), count }].into_iter());
            self.add(&Times { packed, sum_ns: u128::from(value_ns) * u128::from(count), max_ns: value_ns });
        }
    }

    /// Counts all of `other` here too. If nothing was counted yet, both share the memory.
    pub fn add(&mut self, other: &Times) {
        *self = Times::merged([&*self, other]);
    }

    /// How many times were counted.
    pub fn len(&self) -> u64 {
        self.buckets().fold(0, |sum, bucket| sum.saturating_add(bucket.count))
    }

    pub fn is_empty(&self) -> bool {
        self.packed.is_empty()
    }

    /// Whether these are the times of `other`, in the same memory: so are the response times and the service times of a closed loop.
    pub fn shares_memory(&self, other: &Times) -> bool {
        Arc::ptr_eq(&self.packed, &other.packed)
    }

    fn buckets(&self) -> Buckets<'_> {
        Buckets { rest: &self.packed, next: 0 }
    }

    /// The exact longest time; 0 if none was counted.
    pub fn max_ns(&self) -> u64 {
        self.max_ns
    }

    /// The exact sum of all times.
    pub fn sum_ns(&self) -> u128 {
        self.sum_ns
    }

    /// The exact mean; 0 if none was counted.
    pub fn mean_ns(&self) -> f64 {
        if self.is_empty() { 0.0 } else { self.sum_ns as f64 / self.len() as f64 }
    }

    /// The time that `quantile` of all times do not exceed, within [`PERCENTILE_ERROR_MAX`]; 0 if none was counted.
    ///
    /// Of n times in rising order it is the one of rank ceil(quantile * n), and at least the first, as HdrHistogram has it. The time of
    /// rank n is the exact maximum.
    pub fn value_at_quantile(&self, quantile: f64) -> u64 {
        let [value] = self.values_at_quantiles([quantile]);
        value
    }

    /// [`Times::value_at_quantile`] of several quantiles in rising order, at the price of one.
    pub fn values_at_quantiles<const N: usize>(&self, quantiles: [f64; N]) -> [u64; N] {
        let all = self.len();
        // 0.138 * 50,000 is a little above 6,900 in binary, and its rank is 6,900 all the same.
        let rank = |quantile: f64| ((quantile.clamp(0.0, 1.0) * all as f64).next_down().ceil() as u64).max(1);
        let ranks = quantiles.map(rank);
        let (mut values, mut found, mut below) = ([self.max_ns; N], 0, 0u64);
        for bucket in self.buckets() {
            below = below.saturating_add(bucket.count);
            while found < N && below >= ranks[found] {
                let is_longest = below == all && ranks[found] == all;
                values[found] = if is_longest { self.max_ns } else { bucket.middle_ns().min(self.max_ns) };
                found += 1;
            }
            if found == N {
                break;
            }
        }
        values
    }

    /// How many times were in the bucket of `least_ns` or above it.
    pub fn count_from(&self, least_ns: u64) -> u64 {
        let first = bucket_of(least_ns);
        let from = self.buckets().filter(|bucket| bucket.number >= first);
        from.fold(0, |sum, bucket| sum.saturating_add(bucket.count))
    }

    /// (nanoseconds, count) in rising order: the middle of each bucket, and the longest time once as it was.
    pub fn recorded(&self) -> impl Iterator<Item = (u64, u64)> {
        let (longest, last) = (self.max_ns, bucket_of(self.max_ns));
        let counts = self.buckets().flat_map(move |bucket| {
            if bucket.number == last {
                [(bucket.middle_ns().min(longest), bucket.count - 1), (longest, 1)]
            } else {
                [(bucket.middle_ns(), bucket.count), (0, 0)]
            }
        });
        counts.filter(|(_, count)| *count > 0)
    }

    /// What the buckets take in memory; clones that share them give the same.
    pub fn memory(&self) -> Bytes {
        Bytes(self.packed.len() as u64)
    }
}

/// [`Times`] as text: what [`Times::from_recorded`] takes.
#[derive(Serialize, Deserialize)]
struct RecordedTimes {
    counts: Vec<(u64, u64)>,
    sum_ns: u64,
    max_ns: u64,
}

impl Serialize for Times {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let sum_ns = u64::try_from(self.sum_ns).unwrap_or(u64::MAX);
        RecordedTimes { counts: self.recorded().collect(), sum_ns, max_ns: self.max_ns }.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Times {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Times, D::Error> {
        let RecordedTimes { counts, sum_ns, max_ns } = RecordedTimes::deserialize(deserializer)?;
        if !counts.is_sorted_by_key(|(value_ns, _)| *value_ns) {
            return Err(D::Error::custom("times are not in rising order"));
        }
        Ok(Times::from_recorded(counts, sum_ns, max_ns))
    }
}

/// The buckets of all `parts`, of which none is empty, with the sum of their counts.
fn merged_buckets(parts: &[&Times]) -> Arc<[u8]> {
    let first = parts.iter().filter_map(|part| part.buckets().next()).map(|bucket| bucket.number).min().unwrap_or(0);
    let last = parts.iter().map(|part| bucket_of(part.max_ns)).max().unwrap_or(0);
    let mut counts = vec![0u64; last - first + 1];
    for bucket in parts.iter().flat_map(|part| part.buckets()) {
        let count = &mut counts[bucket.number - first];
        *count = count.saturating_add(bucket.count);
    }
    let in_use = (first..).zip(counts).filter(|(_, count)| *count > 0);
    pack(in_use.map(|(number, count)| Bucket { number, count }))
}

/// The most that four bits hold: it says that the rest follows.
const NIBBLE_MAX: u64 = 15;

/// `buckets`, which are in rising order, none twice and none empty, in a byte each if they are close and their counts small.
///
/// The upper four bits are how many empty buckets are before it, the lower four its count less one. If either is 15 or more, the rest follows in
/// bytes of seven bits, the lowest first, of which the eighth says that more follow: first that of the upper bits.
fn pack(buckets: impl Iterator<Item = Bucket>) -> Arc<[u8]> {
    let (mut packed, mut next) = (Vec::new(), 0);
    for bucket in buckets {
        let (empty, more) = ((bucket.number - next) as u64, bucket.count.min(COUNT_MAX) - 1);
        packed.push((empty.min(NIBBLE_MAX) << 4 | more.min(NIBBLE_MAX)) as u8);
        for number in [empty, more].into_iter().filter(|number| *number >= NIBBLE_MAX) {
            push_number(&mut packed, number - NIBBLE_MAX);
        }
        next = bucket.number + 1;
    }
    packed.into()
}

fn push_number(packed: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        packed.push(number as u8 | 0x80);
        number >>= 7;
    }
    packed.push(number as u8);
}

/// Packed buckets, read from the lowest to the highest.
struct Buckets<'a> {
    rest: &'a [u8],
    /// The bucket behind the last one that was read.
    next: usize,
}

impl Buckets<'_> {
    fn take_number(&mut self) -> u64 {
        let (mut number, mut shift) = (0, 0);
        while let Some((byte, rest)) = self.rest.split_first() {
            self.rest = rest;
            number |= u64::from(byte & 0x7f) << shift;
            shift += 7;
            if byte & 0x80 == 0 {
                break;
            }
        }
        number
    }
}

impl Iterator for Buckets<'_> {
    type Item = Bucket;

    #[inline]
    fn next(&mut self) -> Option<Bucket> {
        let (byte, rest) = self.rest.split_first()?;
        self.rest = rest;
        let (mut empty, mut more) = (u64::from(byte >> 4), u64::from(byte & 15));
        if empty == NIBBLE_MAX {
            empty += self.take_number();
        }
        if more == NIBBLE_MAX {
            more += self.take_number();
        }
        let number = self.next + empty as usize;
        self.next = number + 1;
        Some(Bucket { number, count: more + 1 })
    }
}

/// One bucket in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Bucket {
    number: usize,
    /// It is at least 1.
    count: u64,
}

/// A count stays at this: a million operations a second over nine years.
const COUNT_MAX: u64 = (1 << 48) - 1;

impl Bucket {
    fn add(&mut self, count: u64) {
        self.count = self.count.saturating_add(count).min(COUNT_MAX);
    }

    fn start_ns(self) -> u64 {
        start_of(self.number).0
    }

    fn end_ns(self) -> u64 {
        let (first_ns, shift) = start_of(self.number);
        first_ns + ((1 << shift) - 1)
    }

    fn middle_ns(self) -> u64 {
        middle_of(self.number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Times from nothing to 584 years, at the edges of buckets and inside.
    fn scattered() -> impl Iterator<Item = u64> {
        let powers = (0..64).flat_map(|bit| [1u64 << bit, (1 << bit) - 1, (1u64 << bit) + (1 << bit) / 3]);
        powers.chain((0..200).map(|n| n * n * 12_370)).chain([u64::MAX])
    }

    fn counts_of(times_ns: impl IntoIterator<Item = u64>) -> LatencyCounts {
        let mut counts = LatencyCounts::default();
        times_ns.into_iter().for_each(|ns| counts.record(ns));
        counts
    }

    fn times_of(times_ns: impl IntoIterator<Item = u64>) -> Times {
        counts_of(times_ns).take()
    }

    /// Numbers in [0, 1), of a linear congruential generator (Knuth's MMIX constants).
    fn uniform(seed: u64) -> impl FnMut() -> f64 {
        let mut state = seed;
        move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1u64 << 53) as f64
        }
    }

    #[test]
    fn times_come_back_from_text_and_those_out_of_order_are_refused() {
        let times = times_of(scattered().filter(|ns| *ns < 1 << 50));
        let text = serde_json::to_string(&times).unwrap();
        assert_eq!(serde_json::from_str::<Times>(&text).unwrap(), times);
        let none = serde_json::to_string(&Times::default()).unwrap();
        assert_eq!(serde_json::from_str::<Times>(&none).unwrap(), Times::default());
        let fallen = r#"{"counts":[[900,1],[100,1]],"sum_ns":1000,"max_ns":900}"#;
        assert!(serde_json::from_str::<Times>(fallen).unwrap_err().to_string().contains("rising order"));
    }

    #[test]
    fn every_bucket_holds_its_own_middle_and_ends() {
        for number in 0..BUCKETS {
            let bucket = Bucket { number, count: 1 };
            let places = [bucket.start_ns(), bucket.middle_ns(), bucket.end_ns()];
            assert_eq!(places.map(bucket_of), [number; 3]);
        }
        assert_eq!(bucket_of(u64::MAX), BUCKETS - 1);
    }

    #[test]
    fn neighbouring_values_never_go_down_a_bucket() {
        let mut last = 0;
        for value in (0..100_000u64).chain((17..63).flat_map(|bit| [(1 << bit) - 1, 1 << bit, (1 << bit) + 1])) {
            let bucket = bucket_of(value);
            assert!(bucket >= last, "value {value} fell from bucket {last} to {bucket}");
            last = bucket;
        }
    }

    /// Percentiles of drawn times against the drawn time of the same rank.
    #[test]
    fn percentiles_of_random_times_keep_to_the_stated_error_and_the_maximum_is_exact() {
        let mut draw = uniform(7);
        let mut worst = 0f64;
        for n in [1usize, 2, 10, 999, 1_000, 50_000] {
            let even = (0..n).map(|_| (draw() * 5e6) as u64).collect::<Vec<_>>();
            let tailed = (0..n).map(|_| (2e5 * (-(1.0 - draw()).ln()).powi(3)) as u64).collect();
            let of_any_size = (0..n).map(|_| 2f64.powf(64.0 * draw()) as u64).collect();
            for mut drawn in [even, tailed, of_any_size] {
                let times = times_of(drawn.iter().copied());
                drawn.sort_unstable();
                for permille in 0..=1000 {
                    let rank = (permille * n).div_ceil(1000).max(1);
                    let (seen, exact) = (times.value_at_quantile(permille as f64 / 1000.0), drawn[rank - 1]);
                    let off = (seen as f64 - exact as f64).abs() / (exact as f64).max(1.0);
                    assert!(off <= PERCENTILE_ERROR_MAX, "n {n}, {permille} permille: {seen} for {exact}");
                    worst = worst.max(off);
                }
                let sum: u128 = drawn.iter().map(|ns| u128::from(*ns)).sum();
                assert_eq!((times.max_ns(), times.value_at_quantile(1.0)), (drawn[n - 1], drawn[n - 1]));
                assert_eq!((times.len(), times.sum_ns()), (n as u64, sum));
            }
        }
        assert!(worst > 0.95 * PERCENTILE_ERROR_MAX, "the bound is far from what is seen: {worst}");
    }

    #[test]
    fn a_percentile_never_exceeds_the_longest_time() {
        for ns in scattered() {
            let times = times_of([ns; 3]);
            assert!([0.0, 0.5, 0.99].iter().all(|quantile| times.value_at_quantile(*quantile) <= ns), "{ns}");
            assert_eq!(times.value_at_quantile(1.0), ns);
        }
    }

    #[test]
    fn handing_over_keeps_everything_once() {
        let mut client = counts_of([100, 250, 1_000_000]);
        let mut all = LatencyCounts::default();
        all.add(&client.take());
        assert!(client.is_empty());
        client.record(7);
        all.add(&client.take());
        all.add(&client.take());
        assert_eq!(all.take(), times_of([7, 100, 250, 1_000_000]));
        assert_eq!(all, LatencyCounts { counts: vec![0; BUCKETS_USUAL].into(), ..LatencyCounts::default() });
    }

    #[test]
    fn counts_take_no_memory_before_the_first_time_and_more_for_a_long_one() {
        let mut counts = LatencyCounts::default();
        assert_eq!((counts.counts.len(), counts.take()), (0, Times::default()));
        let mut seen = vec![3, (1 << 32) - 1];
        seen.iter().for_each(|ns| counts.record(*ns));
        assert_eq!(counts.counts.len(), BUCKETS_USUAL);
        counts.record(1 << 32);
        counts.record(u64::MAX);
        seen.extend([1 << 32, u64::MAX]);
        assert_eq!(counts.counts.len(), BUCKETS);
        let mut expected = Times::default();
        seen.iter().for_each(|ns| expected.record_n(*ns, 1));
        assert_eq!(counts.take(), expected);
    }

    #[test]
    fn what_is_recorded_is_made_of_it_again() {
        let times = times_of(scattered().filter(|ns| *ns < 1 << 50));
        let sum_ns = u64::try_from(times.sum_ns()).unwrap();
        assert_eq!(Times::from_recorded(times.recorded(), sum_ns, times.max_ns()), times);
        let finer = [(1_000_000, 2), (1_000_001, 0), (1_000_900, 1), (9_000_000, 1)];
        let made = Times::from_recorded(finer, 12_000_900, 9_000_007);
        assert_eq!(made, times_of([1_000_000, 1_000_000, 1_000_900, 9_000_007]).with_sum(12_000_900));
        assert_eq!(Times::from_recorded([(600, 1)], 600, 7_000).max_ns(), 601);
    }

    impl Times {
        fn with_sum(self, sum_ns: u128) -> Times {
            Times { sum_ns, ..self }
        }
    }

    #[test]
    fn times_recorded_one_by_one_are_those_that_were_counted() {
        let mut times = Times::default();
        scattered().for_each(|ns| times.record_n(ns, 1));
        assert_eq!(times, times_of(scattered()));
        assert_eq!(times.max_ns(), u64::MAX);
    }

    #[test]
    fn times_of_several_parts_are_those_of_all() {
        let parts = [times_of(scattered().step_by(2)), Times::default(), times_of(scattered().skip(1).step_by(2))];
        assert_eq!(Times::merged(&parts), times_of(scattered()));
        let mut sum = parts[2].clone();
        sum.add(&parts[0]);
        assert_eq!(sum, times_of(scattered()));
        assert_eq!(sum.count_from(1 << 40), scattered().filter(|ns| *ns >= 1 << 40).count() as u64);
    }

    #[test]
    fn a_count_stays_at_the_most_that_fits_and_in_its_bucket() {
        let mut times = Times::default();
        times.record_n(3_000, u64::MAX);
        times.record_n(3_000, 1);
        times.add(&times.clone());
        assert_eq!((times.len(), times.max_ns()), (COUNT_MAX, 3_000));
    }

    #[test]
    fn nothing_stays_nothing_and_adding_to_it_copies_nothing() {
        let mut times = Times::default();
        times.record_n(5, 0);
        times.add(&Times::default());
        assert_eq!((times.len(), times.max_ns(), times.mean_ns(), times.value_at_quantile(0.5)), (0, 0, 0.0, 0));
        let other = times_of([7, 7, 4_000]);
        times.add(&other);
        assert!(times.shares_memory(&other));
        assert_eq!(times.memory(), Bytes(4));
    }

    #[test]
    fn what_is_packed_is_unpacked_whatever_the_gaps_and_the_counts() {
        let numbers = [0usize, 1, 2, 16, 17, 32, 33, 200, 400, 6_000, BUCKETS - 1];
        let counts = [1u64, 2, 15, 16, 17, 143, 144, 20_000, 1 << 32, COUNT_MAX - 1, COUNT_MAX];
        for turn in 0..counts.len() {
            let buckets: Vec<Bucket> = numbers
                .iter()
                .zip(counts.iter().cycle().skip(turn))
                .map(|(number, count)| Bucket { number: *number, count: *count })
                .collect();
            let packed = pack(buckets.iter().copied());
            assert_eq!(Buckets { rest: &packed, next: 0 }.collect::<Vec<_>>(), buckets);
        }
    }

    #[test]
    fn a_second_of_operations_takes_about_a_byte_for_each_bucket() {
        let mut draw = uniform(3);
        let times = times_of((0..2_000).map(|_| (600_000.0 * (-(1.0 - draw()).ln()).powf(1.2)) as u64 + 150_000));
        let buckets = times.buckets().count() as u64;
        assert!(buckets > 700 && times.memory().0 < buckets * 5 / 4, "{buckets}: {}", times.memory());
    }

    #[test]
    fn several_quantiles_are_those_asked_for_one_by_one() {
        let times = times_of(scattered());
        let quantiles = [0.0, 0.25, 0.5, 0.5, 0.99, 1.0];
        assert_eq!(times.values_at_quantiles(quantiles), quantiles.map(|quantile| times.value_at_quantile(quantile)));
        assert_eq!(Times::default().values_at_quantiles([0.5, 1.0]), [0, 0]);
    }
}
