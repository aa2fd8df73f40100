//! The histogram in which a client records times: log-linear counts, exact sum, least and most.
//!
//! In: nanoseconds, one `record` an operation. Out: counts to merge, hand over ([`LatencyCounts::take`]) and convert to an
//! HDR histogram when an interval is stored.
//! Limits: values above 2^42 ns (73 minutes) are counted in the last bucket, their exact sum and maximum stay right.
//! A bucket is at most 1/256 of its value wide and stands for its middle, so a value is off by 0.2 % at most. The run file holds
//! an HDR histogram of three digits, which adds up to 0.1 %: [`PERCENTILE_ERROR_MAX`] is the sum of both.
//!
//! The layout is that of HdrHistogram (Gil Tene, <http://hdrhistogram.org>) with 256 buckets to each power of two and 32-bit
//! counts: 36 KiB from the first time on, of which a run touches a few hundred bytes. The range touched is known by the
//! least and the most, so that handing over an interval costs what was used, not what is there.

use hdrhistogram::Histogram;
use std::ops::Range;

const SUB_BITS: u32 = 8;
const SUB_COUNT: u64 = 1 << SUB_BITS;
const VALUE_BITS_MAX: u32 = 42;
const BUCKETS: usize = ((VALUE_BITS_MAX - SUB_BITS + 1) as usize) << SUB_BITS;

/// A percentile is off by this share at most, either way: half of a bucket of a client's counts, and a bucket of the HDR histogram
/// in the run file, of which a percentile is the upper end.
pub const PERCENTILE_ERROR_MAX: f64 = 0.5 / SUB_COUNT as f64 + 1.0 / 1024.0;

/// Counts of times in nanoseconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LatencyCounts {
    /// None before the first time is counted: of what a client may do, it does little.
    counts: Box<[u32]>,
    total: u64,
    sum_ns: u64,
    min_ns: u64,
    max_ns: u64,
}

/// The used part of a [`LatencyCounts`], handed over at the end of an interval.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LatencyDelta {
    first: usize,
    counts: Box<[u32]>,
    total: u64,
    sum_ns: u64,
    min_ns: u64,
    max_ns: u64,
}

impl Default for LatencyCounts {
    fn default() -> Self {
        LatencyCounts { counts: Box::default(), total: 0, sum_ns: 0, min_ns: u64::MAX, max_ns: 0 }
    }
}

/// The bucket of a value: exact below 512, then 256 buckets to each power of two.
#[inline]
fn bucket_of(value_ns: u64) -> usize {
    let shift = (63 - (value_ns | SUB_COUNT).leading_zeros()) - SUB_BITS;
    let bucket = ((shift as usize) << SUB_BITS) + (value_ns >> shift) as usize;
    bucket.min(BUCKETS - 1)
}

/// The value in the middle of a bucket.
fn middle_of(bucket: usize) -> u64 {
    let shift = (bucket >> SUB_BITS).saturating_sub(1) as u32;
    let low = ((bucket as u64) - ((shift as u64) << SUB_BITS)) << shift;
    low + ((1u64 << shift) >> 1)
}

impl LatencyCounts {
    /// Counts one time. No allocation but for the first, no branch but the bounds.
    #[inline]
    pub fn record(&mut self, value_ns: u64) {
        match self.counts.get_mut(bucket_of(value_ns)) {
            Some(count) => *count += 1,
            None => self.all()[bucket_of(value_ns)] += 1,
        }
        self.total += 1;
        self.sum_ns = self.sum_ns.wrapping_add(value_ns);
        self.min_ns = self.min_ns.min(value_ns);
        self.max_ns = self.max_ns.max(value_ns);
    }

    /// The buckets, made where there are none yet.
    #[cold]
    fn all(&mut self) -> &mut [u32] {
        if self.counts.is_empty() {
            self.counts = vec![0; BUCKETS].into_boxed_slice();
        }
        &mut self.counts
    }

    /// How many times were counted.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// The exact sum of all times.
    pub fn sum_ns(&self) -> u64 {
        self.sum_ns
    }

    /// The exact longest time; 0 where none was counted.
    pub fn max_ns(&self) -> u64 {
        self.max_ns
    }

    /// Hands over what was counted and starts again from nothing. Copies the range used, not the whole table.
    pub fn take(&mut self) -> LatencyDelta {
        if self.total == 0 {
            return LatencyDelta::default();
        }
        let used = self.used();
        let delta = LatencyDelta {
            first: used.start,
            counts: self.counts[used.clone()].into(),
            total: self.total,
            sum_ns: self.sum_ns,
            min_ns: self.min_ns,
            max_ns: self.max_ns,
        };
        self.counts[used].fill(0);
        let counts = std::mem::take(&mut self.counts);
        *self = LatencyCounts { counts, total: 0, sum_ns: 0, min_ns: u64::MAX, max_ns: 0 };
        delta
    }

    /// The buckets from that of the least to that of the most: a larger value is never in a lower bucket. Not for an empty one.
    fn used(&self) -> Range<usize> {
        bucket_of(self.min_ns)..bucket_of(self.max_ns) + 1
    }

    /// Adds what another recorder handed over.
    pub fn add(&mut self, delta: &LatencyDelta) {
        if delta.total == 0 {
            return;
        }
        for (mine, theirs) in self.all()[delta.first..].iter_mut().zip(&delta.counts) {
            *mine = mine.saturating_add(*theirs);
        }
        self.total += delta.total;
        self.sum_ns = self.sum_ns.wrapping_add(delta.sum_ns);
        self.min_ns = self.min_ns.min(delta.min_ns);
        self.max_ns = self.max_ns.max(delta.max_ns);
    }

    /// The same counts as an HDR histogram of three significant digits: each bucket's middle, held within the exact least
    /// and most.
    pub fn to_hdr(&self) -> Histogram<u64> {
        let mut hdr = new_hdr();
        if self.total == 0 {
            return hdr;
        }
        for bucket in self.used() {
            let count = self.counts[bucket];
            if count > 0 {
                let value = middle_of(bucket).clamp(self.min_ns, self.max_ns);
                hdr.record_n(value.max(1), count.into()).expect("an auto-resizing histogram takes every value");
            }
        }
        hdr
    }
}

/// An empty HDR histogram as plimsoll stores them: three significant digits, any value.
pub fn new_hdr() -> Histogram<u64> {
    Histogram::new(3).expect("3 is a valid number of significant digits")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_bucket_holds_its_own_middle() {
        for bucket in 0..BUCKETS {
            assert_eq!(bucket_of(middle_of(bucket)), bucket);
        }
    }

    #[test]
    fn neighbouring_values_never_go_down_a_bucket() {
        let mut last = 0;
        for value in (0..100_000u64).chain((17..42).flat_map(|bit| [(1 << bit) - 1, 1 << bit, (1 << bit) + 1])) {
            let bucket = bucket_of(value);
            assert!(bucket >= last, "value {value} fell from bucket {last} to {bucket}");
            last = bucket;
        }
    }

    #[test]
    fn a_percentile_is_off_by_a_fifth_of_a_percent_at_most() {
        for value in [3u64, 511, 512, 1_000, 99_999, 1_234_567, 200_000_000, 3_600_000_000_000] {
            let off = (middle_of(bucket_of(value)) as f64 - value as f64).abs() / value as f64;
            assert!(off <= 0.002, "{value} is recorded {off} off");
        }
    }

    #[test]
    fn the_stated_error_of_a_percentile_is_reached_and_not_passed() {
        let values = (9..40).flat_map(|bit| (0..512u64).map(move |part| (1u64 << bit) + (part << bit) / 512));
        let worst = values.map(|value| {
            let mut counts = LatencyCounts::default();
            // The least and the most are known exactly: between them, only the bucket is.
            [value / 2, value, value * 2].into_iter().for_each(|ns| counts.record(ns));
            let p50 = counts.to_hdr().value_at_quantile(0.5) as f64;
            (p50 / value as f64 - 1.0).abs()
        });
        let worst = worst.fold(0.0, f64::max);
        assert!(worst <= PERCENTILE_ERROR_MAX && worst > 0.9 * PERCENTILE_ERROR_MAX, "{worst}");
    }

    #[test]
    fn handing_over_keeps_everything_once() {
        let mut client = LatencyCounts::default();
        let mut all = LatencyCounts::default();
        [100, 250, 1_000_000].into_iter().for_each(|ns| client.record(ns));
        all.add(&client.take());
        assert_eq!(client.total(), 0);
        client.record(7);
        all.add(&client.take());
        all.add(&client.take());
        assert_eq!((all.total(), all.sum_ns(), all.max_ns()), (4, 1_000_357, 1_000_000));
    }

    #[test]
    fn counts_take_no_memory_before_the_first_time() {
        let mut counts = LatencyCounts::default();
        assert_eq!((counts.counts.len(), counts.take().total), (0, 0));
        counts.record(3);
        assert_eq!((counts.counts.len(), counts.total()), (BUCKETS, 1));
    }

    #[test]
    fn values_beyond_the_range_keep_their_exact_maximum() {
        let mut counts = LatencyCounts::default();
        counts.record(1 << 50);
        assert_eq!((counts.total(), counts.max_ns()), (1, 1 << 50));
    }

    #[test]
    fn the_hdr_histogram_has_the_same_count_and_stays_within_least_and_most() {
        let mut counts = LatencyCounts::default();
        (1..=10_000u64).for_each(|n| counts.record(n * 1_000));
        let hdr = counts.to_hdr();
        assert_eq!(hdr.len(), 10_000);
        let p50 = hdr.value_at_quantile(0.5) as f64;
        assert!((p50 / 5_000_000.0 - 1.0).abs() < 0.003, "p50 is {p50}");
        assert!(hdr.max() as f64 <= 10_000_000.0 * 1.001);
    }
}
