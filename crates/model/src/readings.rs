//! The readings of a point's counters, kept small enough for a day of seconds.
//!
//! In: [`CounterSample`]s in the order in which they were read. Out: the readings of one counter at a time, or the samples again. A reading
//! takes one to five bytes where a float and its gap take sixteen: nearly all are whole numbers that are close to the one before.
//! Limits: a counter is decoded from its beginning, some 2 ns a reading; a caller that needs it twice keeps what it got. A number that is
//! not whole, or beyond 2^53, takes nine bytes. Nothing is lost.

use crate::units::{Bytes, Tick};
use serde::{Deserialize, Serialize};

/// One reading of one source.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CounterSample {
    /// When it was read.
    pub at: Tick,
    /// Index into the sources of the point.
    pub source: u16,
    /// One value per counter of the source; `None` is a gap.
    pub values: Vec<Option<f64>>,
}

/// All readings of a point.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Readings {
    /// By the number of the source.
    sources: Vec<SourceReadings>,
}

/// The readings of one source.
#[derive(Clone, Debug, Default, PartialEq)]
struct SourceReadings {
    /// When it was read.
    times: Vec<Tick>,
    /// Its counters; each has a value or a gap for every time.
    columns: Vec<ReadingColumn>,
}

/// The values of one counter: of each the difference to the last whole number before, or what it is if it is not whole.
#[derive(Clone, Debug, Default, PartialEq)]
struct ReadingColumn {
    bytes: Vec<u8>,
    /// The last whole number.
    last: i64,
}

/// The code of a gap.
const GAP: u64 = 0;
/// The code of a number that follows as it is.
const PLAIN: u64 = 1;
/// Codes from here on are differences.
const DIFFERENCE: u64 = 2;

/// Up to here each whole number is a float of its own.
const WHOLE_MAX: f64 = (1u64 << 53) as f64;

impl Readings {
    /// Adds what was read last. Gaps fill what a sample lacks against others of its source.
    pub fn push(&mut self, sample: CounterSample) {
        let source = usize::from(sample.source);
        if self.sources.len() <= source {
            self.sources.resize_with(source + 1, SourceReadings::default);
        }
        self.sources[source].push(sample.at, &sample.values);
    }

    /// How many samples there are.
    pub fn len(&self) -> usize {
        self.sources.iter().map(|source| source.times.len()).sum()
    }

    /// Whether nothing was read.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// When anything was read: source by source, each in order.
    pub fn times(&self) -> impl Iterator<Item = Tick> {
        self.sources.iter().flat_map(|source| source.times.iter().copied())
    }

    /// When the first reading of all was taken.
    pub fn first_at(&self) -> Option<Tick> {
        self.sources.iter().filter_map(|source| source.times.first().copied()).min()
    }

    /// When the last reading of all was taken.
    pub fn last_at(&self) -> Option<Tick> {
        self.sources.iter().filter_map(|source| source.times.last().copied()).max()
    }

    /// The readings of one counter, gaps left out: that of number `place` in the source of number `source`.
    pub fn of_counter(&self, source: u16, place: usize) -> impl Iterator<Item = (Tick, f64)> {
        let source = self.sources.get(usize::from(source));
        let column = source.and_then(|source| Some((&source.times, source.columns.get(place)?)));
        let read = column.into_iter().flat_map(|(times, column)| times.iter().copied().zip(column.values()));
        read.filter_map(|(at, value)| Some((at, value?)))
    }

    /// The last sample of one source: counters are decoded one after the other, and no sample before it is made.
    pub fn last_of(&self, source: u16) -> Option<CounterSample> {
        let readings = self.sources.get(usize::from(source))?;
        let at = *readings.times.last()?;
        let values = readings.columns.iter().map(|column| column.values().last().flatten()).collect();
        Some(CounterSample { at, source, values })
    }

    /// All samples in order of time, those of one moment in the order of their sources.
    pub fn samples(&self) -> Vec<CounterSample> {
        let mut all: Vec<CounterSample> = (0u16..).zip(&self.sources).flat_map(|(n, one)| one.samples(n)).collect();
        all.sort_by_key(|sample| sample.at);
        all
    }

    /// Lets `edit` change the samples.
    pub fn edit(&mut self, edit: impl FnOnce(&mut Vec<CounterSample>)) {
        let mut samples = self.samples();
        edit(&mut samples);
        *self = samples.into_iter().collect();
    }

    /// Puts the samples of each source in order of time, and gives back the memory that no reading uses.
    pub fn settle(&mut self) {
        if !self.sources.iter().all(|source| source.times.is_sorted()) {
            self.edit(|samples| samples.sort_by_key(|sample| sample.at));
        }
        for source in &mut self.sources {
            source.times.shrink_to_fit();
            source.columns.iter_mut().for_each(|column| column.bytes.shrink_to_fit());
        }
    }

    /// What the readings take in memory.
    pub fn memory(&self) -> Bytes {
        let of_source = |source: &SourceReadings| {
            let columns: usize = source.columns.iter().map(|column| column.bytes.capacity()).sum();
            columns + source.times.capacity() * size_of::<Tick>()
        };
        Bytes(self.sources.iter().map(of_source).sum::<usize>() as u64)
    }
}

impl FromIterator<CounterSample> for Readings {
    fn from_iter<T: IntoIterator<Item = CounterSample>>(samples: T) -> Readings {
        let mut readings = Readings::default();
        readings.extend(samples);
        readings
    }
}

impl Extend<CounterSample> for Readings {
    fn extend<T: IntoIterator<Item = CounterSample>>(&mut self, samples: T) {
        samples.into_iter().for_each(|sample| self.push(sample));
    }
}

impl SourceReadings {
    fn push(&mut self, at: Tick, values: &[Option<f64>]) {
        while self.columns.len() < values.len() {
            let mut column = ReadingColumn::default();
            self.times.iter().for_each(|_| column.push(None));
            self.columns.push(column);
        }
        self.times.push(at);
        let values = values.iter().copied().chain(std::iter::repeat(None));
        self.columns.iter_mut().zip(values).for_each(|(column, value)| column.push(value));
    }

    fn samples(&self, source: u16) -> impl Iterator<Item = CounterSample> {
        let mut columns: Vec<Values> = self.columns.iter().map(ReadingColumn::values).collect();
        self.times.iter().map(move |at| {
            let values = columns.iter_mut().map(|column| column.next().flatten()).collect();
            CounterSample { at: *at, source, values }
        })
    }
}

impl ReadingColumn {
    fn push(&mut self, value: Option<f64>) {
        match value.map(|value| (value, whole(value))) {
            None => put_number(&mut self.bytes, GAP),
            Some((_, Some(number))) => {
                put_number(&mut self.bytes, DIFFERENCE + without_sign(number - self.last));
                self.last = number;
            }
            Some((value, None)) => {
                put_number(&mut self.bytes, PLAIN);
                self.bytes.extend(value.to_le_bytes());
            }
        }
    }

    fn values(&self) -> Values<'_> {
        Values { bytes: &self.bytes, last: 0 }
    }
}

/// The values of a column, one after the other; `None` is a gap.
struct Values<'a> {
    bytes: &'a [u8],
    last: i64,
}

impl Iterator for Values<'_> {
    type Item = Option<f64>;

    fn next(&mut self) -> Option<Option<f64>> {
        if self.bytes.is_empty() {
            return None;
        }
        Some(match take_number(&mut self.bytes) {
            GAP => None,
            PLAIN => {
                let (plain, rest) = self.bytes.split_first_chunk().expect("a number follows its code");
                self.bytes = rest;
                Some(f64::from_le_bytes(*plain))
            }
            difference => {
                self.last += with_sign(difference - DIFFERENCE);
                Some(self.last as f64)
            }
        })
    }
}

/// `value` as a whole number, if it is one and comes back as the same float.
fn whole(value: f64) -> Option<i64> {
    let number = value as i64;
    (value.abs() < WHOLE_MAX && (number as f64).to_bits() == value.to_bits()).then_some(number)
}

/// Small numbers of either sign as small numbers: 0, -1, 1, -2 as 0, 1, 2, 3.
fn without_sign(number: i64) -> u64 {
    ((number << 1) ^ (number >> 63)) as u64
}

fn with_sign(number: u64) -> i64 {
    (number >> 1) as i64 ^ -((number & 1) as i64)
}

/// Seven bits to a byte, the lowest first; the highest bit of all but the last is set (LEB128).
fn put_number(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

fn take_number(bytes: &mut &[u8]) -> u64 {
    let (mut number, mut shift) = (0, 0);
    while let Some((byte, rest)) = bytes.split_first() {
        *bytes = rest;
        number |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            break;
        }
        shift += 7;
    }
    number
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(at: u64, source: u16, values: &[Option<f64>]) -> CounterSample {
        CounterSample { at: Tick(at), source, values: values.to_vec() }
    }

    #[test]
    fn every_number_comes_back_to_the_last_bit() {
        let large = WHOLE_MAX;
        let numbers =
            [0.0, -0.0, 1.0, -1.0, 0.1 + 0.2, 1e300, -1e-300, large, large - 1.0, 1.0 - large, f64::INFINITY, 7.0];
        let values: Vec<Option<f64>> =
            numbers.into_iter().flat_map(|number| [Some(number), None, Some(-number)]).collect();
        let samples: Vec<CounterSample> = (0..).zip(&values).map(|(at, value)| sample(at, 0, &[*value])).collect();
        let readings: Readings = samples.iter().cloned().collect();
        let bits = |samples: &[CounterSample]| -> Vec<Option<u64>> {
            samples.iter().map(|sample| sample.values[0].map(f64::to_bits)).collect()
        };
        assert_eq!(bits(&readings.samples()), bits(&samples));
        assert_eq!(readings.of_counter(0, 0).count(), 2 * numbers.len());
    }

    #[test]
    fn samples_of_several_sources_come_back_in_order_of_time() {
        let samples = [
            sample(1, 0, &[Some(5.0), None]),
            sample(1, 2, &[Some(9.0)]),
            sample(2, 0, &[Some(6.0), Some(1.5)]),
            sample(3, 2, &[Some(8.0)]),
        ];
        let readings: Readings = samples.iter().cloned().collect();
        assert_eq!(readings.samples(), samples);
        assert_eq!((readings.len(), readings.first_at(), readings.last_at()), (4, Some(Tick(1)), Some(Tick(3))));
        assert_eq!(readings.of_counter(0, 1).collect::<Vec<_>>(), [(Tick(2), 1.5)]);
        assert_eq!(
            [0, 1, 2].map(|source| readings.last_of(source)),
            [Some(samples[2].clone()), None, Some(samples[3].clone())]
        );
        assert_eq!((readings.of_counter(1, 0).count(), readings.of_counter(9, 0).count()), (0, 0));
    }

    #[test]
    fn what_was_written_late_is_put_in_order_and_a_counter_that_came_later_has_gaps_before() {
        let mut readings: Readings =
            [sample(5, 0, &[Some(1.0)]), sample(3, 0, &[Some(2.0), Some(4.0)])].into_iter().collect();
        readings.settle();
        assert_eq!(readings.samples(), [sample(3, 0, &[Some(2.0), Some(4.0)]), sample(5, 0, &[Some(1.0), None])]);
    }

    #[test]
    fn an_hour_of_two_hundred_counters_takes_less_than_three_megabytes() {
        let value = |second: u64, counter: u64| Some((7_000_000 * counter + second * (counter * 1_237 + 17)) as f64);
        let mut readings = Readings::default();
        for second in 0..3_600 {
            let values: Vec<Option<f64>> = (0..200).map(|counter| value(second, counter)).collect();
            readings.push(sample(second, 0, &values));
        }
        readings.settle();
        assert!(readings.memory().0 < 3_000_000, "{:?}", readings.memory());
    }
}
