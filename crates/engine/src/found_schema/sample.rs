//! Statistics of a column from some of its rows, in the way of PostgreSQL's ANALYZE.
//!
//! In: values of a sample in the order of the rows, the number of all rows. Out: [`ColumnStatistics`]. Limits: the number of different values is
//! an estimate: of a sample of a tenth it may be off by a factor of two for columns with many rare values.
//!
//! The estimate is that of Haas and Stokes 1998, "Estimating the number of classes in a finite population", `Duj1`, which PostgreSQL uses, too.

use super::ColumnStatistics;
use std::cmp::Ordering;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

/// As many as PostgreSQL keeps.
const COMMON_MAX: usize = 100;
const BOUNDS: usize = 100;

/// A value of a sample.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum SampledValue {
    /// A number, as it was written.
    Number(f64, String),
    /// A date or time, whose text sorts as it does.
    Date(String),
    /// The hash and the length of a text. The text itself is not read.
    Text(u64, u32),
}

impl SampledValue {
    /// A value that cannot be read as what its column holds: it is one, and no NULL.
    pub(super) fn unread(bytes: &[u8]) -> SampledValue {
        let mut hasher = DefaultHasher::new();
        bytes.hash(&mut hasher);
        SampledValue::Text(hasher.finish(), u32::try_from(bytes.len()).unwrap_or(u32::MAX))
    }
}

/// The statistics of a column of `rows` rows with these `values` in some of them; `None` is NULL.
pub(super) fn statistics_of(values: &[Option<SampledValue>], rows: u64) -> ColumnStatistics {
    let valued: Vec<&SampledValue> = values.iter().flatten().collect();
    if valued.is_empty() {
        let nulls = if values.is_empty() { 0.0 } else { 1.0 };
        return ColumnStatistics { nulls, ..ColumnStatistics::default() };
    }
    let nulls = 1.0 - valued.len() as f64 / values.len() as f64;
    let counts = count_values(&valued);
    let distinct = estimate_distinct(&counts, valued.len() as u64, rows as f64 * (1.0 - nulls));
    let common = common_counts(&counts, valued.len() as u64, distinct);
    let rest: Vec<&SampledValue> =
        valued.iter().copied().filter(|value| !common.iter().any(|(key, _)| *key == key_of(value))).collect();
    let bounds = if rest.len() > 1 { bounds_of(rest) } else { bounds_of(valued.clone()) };
    ColumnStatistics {
        nulls,
        distinct: Some(distinct),
        common: common.iter().map(|(_, count)| *count as f64 / valued.len() as f64).collect(),
        bounds,
        correlation: correlation_of(&valued),
        lengths: lengths_of(&valued),
    }
}

/// What tells a value from others.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum ValueKey {
    Written(String),
    Hashed(u64),
}

fn key_of(value: &SampledValue) -> ValueKey {
    match value {
        SampledValue::Number(_, text) | SampledValue::Date(text) => ValueKey::Written(text.clone()),
        SampledValue::Text(hash, _) => ValueKey::Hashed(*hash),
    }
}

/// The values with how often each comes, the most frequent first.
fn count_values(valued: &[&SampledValue]) -> Vec<(ValueKey, u64)> {
    let mut counts: HashMap<ValueKey, (usize, u64)> = HashMap::new();
    for (nth, value) in valued.iter().enumerate() {
        counts.entry(key_of(value)).or_insert((nth, 0)).1 += 1;
    }
    let mut all: Vec<(ValueKey, (usize, u64))> = counts.into_iter().collect();
    // Among equals the first that was seen, so that the same sample has the same statistics.
    all.sort_by(|(_, one), (_, other)| other.1.cmp(&one.1).then(one.0.cmp(&other.0)));
    all.into_iter().map(|(key, (_, count))| (key, count)).collect()
}

fn estimate_distinct(counts: &[(ValueKey, u64)], sampled: u64, rows: f64) -> f64 {
    let (n, d) = (sampled as f64, counts.len() as f64);
    let once = counts.iter().filter(|(_, count)| *count == 1).count() as f64;
    if n >= rows {
        return d;
    }
    if once >= n {
        // All differ: so do all others.
        return rows;
    }
    (n * d / (n - once + once * n / rows)).clamp(d, rows)
}

/// Those that are common: all if the sample has few, else those that come clearly more often than the mean.
fn common_counts(counts: &[(ValueKey, u64)], sampled: u64, distinct: f64) -> Vec<(ValueKey, u64)> {
    let (most, least) = (counts.first().map_or(0, |(_, count)| *count), counts.last().map_or(0, |(_, count)| *count));
    let is_even = most as f64 <= 1.25 * least as f64 || most < 2;
    let has_all = counts.len() <= COMMON_MAX && distinct < counts.len() as f64 * 1.05;
    if is_even {
        return Vec::new();
    }
    let mean = sampled as f64 / distinct;
    let enough = |count: u64| if has_all { count > 0 } else { count as f64 > 1.25 * mean && count > 3 };
    counts.iter().filter(|(_, count)| enough(*count)).take(COMMON_MAX).cloned().collect()
}

fn order(one: &SampledValue, other: &SampledValue) -> Ordering {
    match (one, other) {
        (SampledValue::Number(a, _), SampledValue::Number(b, _)) => a.total_cmp(b),
        (SampledValue::Date(a), SampledValue::Date(b)) => a.cmp(b),
        // Hashes have no order that means anything. What is of another kind stands apart, so that this is an order.
        _ => rank(one).cmp(&rank(other)),
    }
}

fn rank(value: &SampledValue) -> u8 {
    match value {
        SampledValue::Text(..) => 0,
        SampledValue::Number(..) => 1,
        SampledValue::Date(_) => 2,
    }
}

/// Bounds with as many values between each two; none of texts.
fn bounds_of(mut values: Vec<&SampledValue>) -> Vec<String> {
    values.sort_by(|one, other| order(one, other));
    let last = values.len().saturating_sub(1);
    let parts = last.clamp(1, BOUNDS);
    let written = |value: &SampledValue| match value {
        SampledValue::Number(_, text) | SampledValue::Date(text) => Some(text.clone()),
        SampledValue::Text(..) => None,
    };
    (0..=parts).filter_map(|nth| written(values[nth * last / parts])).collect()
}

/// Pearson's correlation of the place of a row and of its value in their orders, as PostgreSQL has it; 0 of texts.
fn correlation_of(valued: &[&SampledValue]) -> f64 {
    if valued.len() < 2 || valued.iter().any(|value| matches!(value, SampledValue::Text(..))) {
        return 0.0;
    }
    let mut sorted: Vec<usize> = (0..valued.len()).collect();
    sorted.sort_by(|one, other| order(valued[*one], valued[*other]));
    let n = valued.len() as f64;
    // Both are permutations of 0 to n - 1, so their means and variances are known.
    let products: f64 = sorted.iter().enumerate().map(|(rank, place)| rank as f64 * *place as f64).sum();
    let (mean, variance) = ((n - 1.0) / 2.0, (n * n - 1.0) / 12.0);
    ((products / n - mean * mean) / variance).clamp(-1.0, 1.0)
}

/// The bounds of the lengths, without the tenth of shortest and longest texts.
fn lengths_of(valued: &[&SampledValue]) -> Option<(u32, u32)> {
    let mut lengths: Vec<u32> = valued
        .iter()
        .filter_map(|value| if let SampledValue::Text(_, length) = value { Some(*length) } else { None })
        .collect();
    if lengths.is_empty() {
        return None;
    }
    lengths.sort_unstable();
    let mean = lengths.iter().map(|length| f64::from(*length)).sum::<f64>() / lengths.len() as f64;
    Some(around_mean(mean, (lengths[0], lengths[lengths.len() - 1])))
}

/// The widest bounds within `low` and `high` whose middle is `mean`: lengths are drawn evenly between bounds, and their sum is to be that of the rows.
pub(super) fn around_mean(mean: f64, (low, high): (u32, u32)) -> (u32, u32) {
    let (low, high) = (f64::from(low), f64::from(high));
    let mean = mean.clamp(low, high);
    let reach = (mean - low).min(high - mean).max(0.0);
    ((mean - reach).round() as u32, (mean + reach).round() as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(values: impl Iterator<Item = i64>) -> Vec<Option<SampledValue>> {
        values.map(|value| Some(SampledValue::Number(value as f64, value.to_string()))).collect()
    }

    #[test]
    fn a_column_in_order_is_unique_and_rises_with_its_rows() {
        let found = statistics_of(&numbers(1..=1_000), 1_000);
        assert_eq!((found.distinct, found.nulls, found.common.len()), (Some(1_000.0), 0.0, 0));
        assert!((found.correlation - 1.0).abs() < 1e-9);
        assert_eq!((found.bounds.len(), &*found.bounds[0], &*found.bounds[100]), (101, "1", "1000"));
        let falling = statistics_of(&numbers((1..=1_000).rev()), 1_000);
        assert!((falling.correlation + 1.0).abs() < 1e-9);
    }

    #[test]
    fn skew_and_nulls_are_found_and_few_values_are_all_common() {
        let mut values = numbers((0..900).map(|nth| if nth < 600 { 7 } else { nth % 3 }));
        values.extend(vec![None; 100]);
        let found = statistics_of(&values, 10_000);
        assert!((found.nulls - 0.1).abs() < 1e-9);
        assert_eq!(found.distinct, Some(4.0));
        assert_eq!(found.common.len(), 4);
        assert!((found.common[0] - 600.0 / 900.0).abs() < 1e-9, "{:?}", found.common);
        let even = statistics_of(&numbers((0..1_000).map(|nth| nth % 10)), 1_000);
        assert_eq!((even.common.len(), even.distinct), (0, Some(10.0)));
    }

    #[test]
    fn different_values_are_estimated_from_a_tenth_of_the_rows() {
        // Each of 1,000 values comes ten times; a tenth of the rows, drawn by a multiplicative generator.
        let sampled = (0..1_000u64).map(|nth| ((nth * 7_919 + 13) % 10_007 % 1_000) as i64);
        let found = statistics_of(&numbers(sampled), 10_000);
        let distinct = found.distinct.unwrap();
        assert!((500.0..2_000.0).contains(&distinct), "{distinct}");
        assert_eq!(statistics_of(&numbers(0..500), 10_000).distinct, Some(10_000.0));
    }

    #[test]
    fn values_of_several_kinds_have_an_order_and_none_is_null() {
        let mut values = numbers((0..200).map(|nth| nth * 7 % 200));
        values.extend((0..100).map(|nth: u32| Some(SampledValue::unread(&nth.to_le_bytes()))));
        let found = statistics_of(&values, 300);
        assert_eq!((found.nulls, found.distinct, found.correlation), (0.0, Some(300.0), 0.0));
        assert!(found.bounds.iter().all(|bound| bound.parse::<i64>().is_ok()));
    }

    #[test]
    fn of_texts_only_lengths_are_kept() {
        let texts: Vec<_> = (0..100).map(|nth| Some(SampledValue::Text(nth, 10 + (nth % 11) as u32))).collect();
        let found = statistics_of(&texts, 100);
        assert_eq!((found.bounds.len(), found.lengths, found.correlation), (0, Some((10, 20)), 0.0));
        assert_eq!(statistics_of(&[None, None], 2).nulls, 1.0);
        assert_eq!(statistics_of(&[], 0), ColumnStatistics::default());
    }
}
