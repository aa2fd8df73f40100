//! The times that are quoted of many: their mean, percentiles and maximum.
//!
//! In: recorded [`Times`]. Out: their [`Quantiles`]. A percentile is one line of the list below: fields, JSON, CSV, comparisons and
//! objectives have
//! it from there. Limits: percentiles are those of merged times, never means of percentiles.

use crate::histogram::Times;
use serde::{Deserialize, Serialize};

/// Declares [`Percentile`] and the fields of [`Quantiles`] together. A percentile that is an `Option` is chance if too few operations
/// lie above
/// it: then no table, file or sentence has it.
macro_rules! percentiles {
    ($($variant:ident $field:ident: $Kept:ty = $above:literal, $word:literal, $name:literal;)*) => {
        /// A percentile that reports quote and objectives name, the lowest first.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
        #[serde(rename_all = "lowercase")]
        pub enum Percentile {
            $(#[doc = $name] $variant,)*
        }

        /// Mean, percentiles and maximum of a distribution of times, in nanoseconds.
        #[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
        pub struct Quantiles {
            pub mean: f64,
            $(pub $field: $Kept,)*
            pub max: u64,
        }

        impl Percentile {
            pub const ALL: &[Percentile] = &[$(Percentile::$variant),*];

            /// As people and objectives write it: `p99.9`.
            pub fn as_str(self) -> &'static str {
                match self { $(Percentile::$variant => $word),* }
            }

            /// As a figure is called that is one, with its unit: `p999_ns`.
            pub fn key(self) -> &'static str {
                match self { $(Percentile::$variant => concat!(stringify!($field), "_ns")),* }
            }

            /// In a sentence: `99th percentile`.
            pub fn name(self) -> &'static str {
                match self { $(Percentile::$variant => $name),* }
            }

            /// The share of the operations that may take longer.
            pub fn tail(self) -> f64 {
                match self { $(Percentile::$variant => $above),* }
            }

            /// Whether it is quoted only if enough operations support it.
            pub fn needs_support(self) -> bool {
                match self { $(Percentile::$variant => <$Kept>::NEEDS_SUPPORT),* }
            }
        }

        impl Quantiles {
            /// The quantiles of `times`; `None` if there is no time. Mean and maximum are exact; percentiles are off by
            /// [`PERCENTILE_ERROR_MAX`](crate::histogram::PERCENTILE_ERROR_MAX) at most.
            pub fn from_times(times: &Times) -> Option<Quantiles> {
                if times.is_empty() {
                    return None;
                }
                let [$($field),*] = times.values_at_quantiles([$(1.0 - $above),*]);
                let (mean, max) = (times.mean_ns(), times.max_ns());
                Some(Quantiles { mean, $($field: <$Kept>::keep($field, Percentile::$variant.holds(times.len())),)* max })
            }

            /// A percentile; `None` if it was not kept.
            pub fn at(&self, percentile: Percentile) -> Option<u64> {
                match percentile { $(Percentile::$variant => self.$field.into()),* }
            }
        }

        percentiles!(@words $($word)*);
    };
    (@words $first:literal $($more:literal)*) => {
        /// All percentiles as objectives write them, for a text that is known when it is compiled: `p50`, `p95`.
        #[macro_export]
        macro_rules! percentile_words {
            () => { concat!("`", $first, "`" $(, ", `", $more, "`")*) };
        }
    };
}

percentiles! {
    P50 p50: u64 = 0.5, "p50", "median";
    P95 p95: u64 = 0.05, "p95", "95th percentile";
    P99 p99: u64 = 0.01, "p99", "99th percentile";
    P999 p999: Option<u64> = 0.001, "p99.9", "99.9th percentile";
}

/// With 10 operations above it, the number above a percentile is known to about a third (1 / sqrt(10)).
const ABOVE_MIN: f64 = 10.0;

impl Percentile {
    /// Whether so many operations support it. Half an operation of tolerance: 10,000 * 0.001 is not exactly 10.
    pub fn holds(self, ops: u64) -> bool {
        ops as f64 * self.tail() >= ABOVE_MIN - 0.5 * self.tail()
    }

    /// How many operations support it.
    pub fn ops_min(self) -> u64 {
        (ABOVE_MIN / self.tail()).round() as u64
    }
}

/// How a percentile is kept.
trait KeptPercentile {
    const NEEDS_SUPPORT: bool;
    fn keep(ns: u64, is_supported: bool) -> Self;
}

impl KeptPercentile for u64 {
    const NEEDS_SUPPORT: bool = false;

    fn keep(ns: u64, _: bool) -> u64 {
        ns
    }
}

impl KeptPercentile for Option<u64> {
    const NEEDS_SUPPORT: bool = true;

    fn keep(ns: u64, is_supported: bool) -> Option<u64> {
        is_supported.then_some(ns)
    }
}

/// One of the times that are quoted of many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuotedTime {
    Mean,
    At(Percentile),
    Longest,
}

impl QuotedTime {
    /// All of them, in the order in which files have them.
    pub fn all() -> impl Iterator<Item = QuotedTime> {
        let percentiles = Percentile::ALL.iter().copied().map(QuotedTime::At);
        [QuotedTime::Mean].into_iter().chain(percentiles).chain([QuotedTime::Longest])
    }

    /// The head of a column: `p99`.
    pub fn as_str(self) -> &'static str {
        match self {
            QuotedTime::Mean => "mean",
            QuotedTime::At(percentile) => percentile.as_str(),
            QuotedTime::Longest => "max",
        }
    }

    /// As a figure is called that is one, with its unit: `max_ns`.
    pub fn key(self) -> &'static str {
        match self {
            QuotedTime::Mean => "mean_ns",
            QuotedTime::At(percentile) => percentile.key(),
            QuotedTime::Longest => "max_ns",
        }
    }

    /// In a sentence, before what it is of: `median`, `longest`.
    pub fn name(self) -> &'static str {
        match self {
            QuotedTime::Mean => "mean",
            QuotedTime::At(percentile) => percentile.name(),
            QuotedTime::Longest => "longest",
        }
    }

    /// What it is of `times`; `None` if it was not kept.
    pub fn of(self, times: Quantiles) -> Option<f64> {
        match self {
            QuotedTime::Mean => Some(times.mean),
            QuotedTime::At(percentile) => times.at(percentile).map(|ns| ns as f64),
            QuotedTime::Longest => Some(times.max as f64),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_highest_percentile_is_known_from_ten_thousand_operations_on() {
        let p999 = |count: u64| {
            let mut times = Times::default();
            times.record_n(100, count - 20);
            times.record_n(1_000_000, 20);
            Quantiles::from_times(&times).expect("it is not empty").p999
        };
        assert_eq!((p999(9_999), Percentile::P999.ops_min()), (None, 10_000));
        assert!(p999(10_000).is_some_and(|ns| ns > 990_000));
    }

    #[test]
    fn percentiles_are_declared_from_the_lowest_to_the_highest() {
        assert!(Percentile::ALL.is_sorted_by(|low, high| low.tail() > high.tail()));
        assert_eq!(percentile_words!().split(", ").count(), Percentile::ALL.len());
        let keys: Vec<&str> = QuotedTime::all().map(QuotedTime::key).collect();
        assert!(keys.contains(&"p999_ns") && keys.last() == Some(&"max_ns"), "{keys:?}");
    }

    proptest! {
        #[test]
        fn percentiles_rise_for_any_times(times in prop::collection::vec(1u64..1 << 40, 1..200)) {
            let mut recorded = Times::default();
            times.iter().for_each(|time| recorded.record_n(*time, 1));
            let q = Quantiles::from_times(&recorded).expect("it is not empty");
            prop_assert!(q.p50 <= q.p95 && q.p95 <= q.p99 && q.p99 <= q.max && q.p999.is_none(), "{q:?}");
        }
    }
}
