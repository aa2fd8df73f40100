//! Percentiles that a program printed become times.
//!
//! In: percentiles with their values, the count, sum and longest. Out: [`Times`] that are steps: exact at each percentile that was printed, and
//! between two of them the higher. Limits: without the 50, 95, 99 and 99.9 that tables show there are no times at all.

use crate::amount::{COUNT_MAX, check_amount};
use model::Times;

/// The percentiles that tables show.
const NEEDED: [f64; 4] = [50.0, 95.0, 99.0, 99.9];

/// The words for times that are such steps.
pub(crate) const STEPS: &str =
    "only the percentiles that the program printed are exact, others are the next higher of these";

/// The times of `count` operations with the percentiles `steps` (percent, nanoseconds); `None` if one that tables show is missing, or if
/// they fall.
pub(crate) fn times_of_steps(mut steps: Vec<(f64, u64)>, count: u64, sum_ns: u64, max_ns: u64) -> Option<Times> {
    steps.retain(|(percent, _)| check_amount(*percent, 100.0).is_some() && *percent > 0.0);
    steps.sort_by(|a, b| a.0.total_cmp(&b.0));
    let rises = steps.windows(2).all(|pair| pair[0].1 <= pair[1].1);
    let has = |needed: &f64| steps.iter().any(|(percent, _)| (percent - needed).abs() < 1e-6);
    if count == 0 || count > COUNT_MAX || !rises || !NEEDED.iter().all(has) {
        return None;
    }
    let (mut recorded, mut below) = (Vec::new(), 0);
    for (percent, value_ns) in steps {
        // The rank of a percentile as `Times` has it.
        let rank = ((percent / 100.0 * count as f64).next_down().ceil() as u64).clamp(below, count);
        recorded.push((value_ns, rank - below));
        below = rank;
    }
    recorded.push((max_ns.max(recorded.last().map_or(0, |(value_ns, _)| *value_ns)), count - below));
    Some(Times::from_recorded(recorded, sum_ns, max_ns))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_come_back_and_without_those_of_tables_there_are_no_times() {
        let all = vec![(50.0, 100), (95.0, 200), (99.0, 300), (99.9, 400)];
        let times = times_of_steps(all.clone(), 12_345, 1_234_500, 9_000).unwrap();
        let back = [0.5, 0.95, 0.99, 0.999].map(|quantile| times.value_at_quantile(quantile));
        assert_eq!((back, times.max_ns(), times.len()), ([100, 200, 300, 400], 9_000, 12_345));
        assert_eq!(times_of_steps(all[..3].to_vec(), 100, 1, 1), None);
        assert_eq!(times_of_steps(vec![(50.0, 9), (95.0, 2), (99.0, 3), (99.9, 4)], 100, 1, 1), None);
    }
}
