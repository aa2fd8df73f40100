//! fio's times of operations as histograms.
//!
//! In: bins (`json+`) or percentiles (`json`) of clones of a job. Out: [`Times`]. Limits: percentiles of several clones give none of all of
//! them. Percentiles alone are steps: a percentile between two of fio's is the higher of them, so without fio's 50, 95, 99 and 99.9 there are
//! no times at all.

use super::is_in_nanoseconds;
use super::json::{FioDirection, FioLatency};
use crate::amount::{COUNT_MAX, SECONDS_MAX, check_amount};
use crate::percentiles::times_of_steps;
use crate::point::times_of_classes;
use model::{Fact, Times};

/// What is known of the times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KnownTimes {
    Bins,
    Percentiles,
    Nothing,
}

impl KnownTimes {
    /// The same for people, of operations called `name`.
    pub fn fact(self, name: &str) -> Option<Fact> {
        let text = match self {
            KnownTimes::Bins => "completion latency in bins of fio, 1.6 % wide",
            KnownTimes::Percentiles => {
                "completion latency; only the percentiles that fio printed are exact, others are the next higher of these"
            }
            KnownTimes::Nothing => return None,
        };
        Some(Fact::new(format!("imported.times.{name}"), text))
    }
}

/// The times of all `directions`, of clones of one job.
pub(super) fn merge<'a>(
    directions: impl Iterator<Item = &'a FioDirection>,
    version: &str,
) -> Result<(Times, KnownTimes), String> {
    let used: Vec<&FioDirection> = directions.filter(|direction| direction.ios() > 0).collect();
    let latencies: Vec<(&FioLatency, f64, u64)> =
        used.iter().filter_map(|direction| latency_of(direction, version)).collect();
    if latencies.len() < used.len() || used.is_empty() {
        return Ok((Times::default(), KnownTimes::Nothing));
    }
    if latencies.iter().all(|(latency, ..)| !latency.bins.0.is_empty()) {
        let all = latencies.iter().map(|(latency, unit_ns, _)| times_of_bins(latency, *unit_ns));
        let all = all.collect::<Result<Vec<Times>, String>>()?;
        return Ok((Times::merged(&all), KnownTimes::Bins));
    }
    match latencies.as_slice() {
        [(latency, unit_ns, count)] => match times_of_percentiles(latency, *unit_ns, *count)? {
            Some(times) => Ok((times, KnownTimes::Percentiles)),
            None => Ok((Times::default(), KnownTimes::Nothing)),
        },
        _ => Ok((Times::default(), KnownTimes::Nothing)),
    }
}

/// The completion latency, or else the total one, with its unit in nanoseconds and the number of operations.
fn latency_of<'a>(direction: &'a FioDirection, version: &str) -> Option<(&'a FioLatency, f64, u64)> {
    let (of_ns, of_us) = ([&direction.clat_ns, &direction.lat_ns], [&direction.clat, &direction.lat]);
    let known = if is_in_nanoseconds(version) { of_ns } else { of_us };
    let found =
        known.into_iter().flatten().find(|latency| !latency.bins.0.is_empty() || !latency.percentile.0.is_empty());
    let unit_ns = if is_in_nanoseconds(version) { 1.0 } else { 1e3 };
    found.map(|latency| (latency, unit_ns, direction.ios()))
}

/// `value` in units of `unit_ns` as nanoseconds.
fn to_ns(value: f64, unit_ns: f64) -> Result<u64, String> {
    let ns = check_amount(value * unit_ns, SECONDS_MAX * 1e9);
    ns.map(|ns| ns.round() as u64).ok_or_else(|| format!("the time {value} is no time from 0 to a year"))
}

/// The sum of `count` times.
fn sum_ns(latency: &FioLatency, unit_ns: f64, count: u64) -> Result<u64, String> {
    let sum = check_amount(latency.mean * unit_ns * count as f64, 9e18);
    sum.map(|sum| sum.round() as u64).ok_or_else(|| format!("the mean {} is no time", latency.mean))
}

fn times_of_bins(latency: &FioLatency, unit_ns: f64) -> Result<Times, String> {
    let mut bins = Vec::with_capacity(latency.bins.0.len());
    for (value, count) in &latency.bins.0 {
        let value: f64 = value.parse().map_err(|_| format!("the bin {} is no number", crate::error::quoted(value)))?;
        bins.push((to_ns(value, unit_ns)?, *count));
    }
    let count =
        bins.iter().try_fold(0u64, |sum, (_, count)| sum.checked_add(*count)).filter(|count| *count <= COUNT_MAX);
    let count = count.ok_or("the bins have more operations than any run")?;
    Ok(times_of_classes(bins, sum_ns(latency, unit_ns, count)?, to_ns(latency.max, unit_ns)?))
}

/// Steps at the percentiles; `None` if those that tables show are not among them.
fn times_of_percentiles(latency: &FioLatency, unit_ns: f64, count: u64) -> Result<Option<Times>, String> {
    let mut steps: Vec<(f64, u64)> = Vec::new();
    for (percent, value) in &latency.percentile.0 {
        // fio 2 has the unit of the values among them.
        let Ok(percent) = percent.parse::<f64>() else { continue };
        steps.push((percent, to_ns(*value, unit_ns)?));
    }
    let (sum_ns, max_ns) = (sum_ns(latency, unit_ns, count)?, to_ns(latency.max, unit_ns)?);
    Ok(times_of_steps(steps, count, sum_ns, max_ns))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fio::json::Entries;

    fn latency(percentiles: &[(&str, f64)]) -> FioLatency {
        let entries = percentiles.iter().map(|(percent, ns)| ((*percent).to_owned(), *ns)).collect();
        FioLatency { max: 9_000.0, mean: 120.0, percentile: Entries(entries), ..FioLatency::default() }
    }

    #[test]
    fn percentiles_come_back_as_fio_printed_them() {
        let all = [
            ("1.000000", 50.0),
            ("50.000000", 100.0),
            ("95.000000", 200.0),
            ("99.000000", 300.0),
            ("99.900000", 400.0),
        ];
        let times = times_of_percentiles(&latency(&all), 1.0, 12_345).unwrap().expect("all that are needed are there");
        let back = [0.01, 0.5, 0.95, 0.99, 0.999].map(|quantile| times.value_at_quantile(quantile));
        assert_eq!((back, times.max_ns(), times.len()), ([50, 100, 200, 300, 400], 9_000, 12_345));
        assert_eq!(times.mean_ns().round(), 120.0);
    }

    #[test]
    fn percentiles_that_tables_show_are_needed() {
        let few = [("50.000000", 100.0), ("99.000000", 300.0)];
        assert_eq!(times_of_percentiles(&latency(&few), 1.0, 1_000), Ok(None));
    }

    #[test]
    fn times_that_are_none_are_refused() {
        let mut bins = FioLatency { bins: Entries(vec![("100".into(), 5), ("x".into(), 1)]), ..FioLatency::default() };
        assert!(times_of_bins(&bins, 1.0).unwrap_err().contains("`x`"));
        bins.bins.0[1].0 = "200".into();
        bins.max = -1.0;
        assert!(times_of_bins(&bins, 1.0).unwrap_err().contains("the time -1"));
        bins.bins.0[1].1 = u64::MAX;
        assert!(times_of_bins(&bins, 1.0).unwrap_err().contains("more operations"));
    }
}
