//! The statistics that the rest of the crate uses: medians, quantiles, and those of a mean, which the measuring half has, too.
//!
//! In: plain series of numbers, one per interval. Out: plain numbers.
//! Limits: an interval of a mean assumes that the series is stationary, as [`model::mean_interval`] says.

pub use model::mean_interval::{
    INTERVALS_MIN, IntervalEstimate, estimate_change, estimate_mean, estimate_rate, mean, normal_quantile, normal_tail,
    students_t, variance,
};

use statrs::distribution::{ChiSquared, ContinuousCDF};

/// The greatest variance that `n` counts of independent events with this `mean` have in a share `level` of cases: the index of
/// dispersion of Poisson counts times n - 1 is distributed as chi-square (R. A. Fisher, "Statistical Methods for Research
/// Workers", section 16, 1925).
pub fn counting_variance_max(n: usize, mean: f64, level: f64) -> f64 {
    let freedom = n.saturating_sub(1).max(1) as f64;
    let quantile = ChiSquared::new(freedom).expect("the freedom is at least 1").inverse_cdf(level);
    mean * quantile / freedom
}

/// The sum; 0 if there are no values. The sum of the standard library is then -0, which prints with its sign.
pub fn total(values: impl Iterator<Item = f64>) -> f64 {
    values.fold(0.0, |sum, value| sum + value)
}

/// The median; `None` if there are no values.
pub fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        n if n % 2 == 1 => Some(sorted[middle]),
        _ => Some((sorted[middle - 1] + sorted[middle]) / 2.0),
    }
}

/// The quantile `share` (0 to 1) of `values`, interpolated between neighbours (R. Hyndman and Y. Fan, "Sample quantiles in statistical
/// packages", The American Statistician 50(4), 1996, definition 7); `None` if there are no values.
pub fn quantile(values: &[f64], share: f64) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let place = share * sorted.len().checked_sub(1)? as f64;
    let (low, high) = (sorted[place.floor() as usize], sorted[place.ceil() as usize]);
    Some(low + (high - low) * place.fract())
}

/// The standard deviation of normal values with the median distance from the median that `values` have: half of them may be
/// anything without changing it much (F. R. Hampel, JASA 69, 1974). 0 if there are no values.
pub fn robust_deviation(values: &[f64]) -> f64 {
    let middle = median(values).unwrap_or(0.0);
    let distances: Vec<f64> = values.iter().map(|value| (value - middle).abs()).collect();
    // 1 / 0.6745, the normal distribution's 75 % quantile: half of normal values lie that many deviations about their median.
    1.4826 * median(&distances).unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulated::Random;

    type Estimate = fn(&[f64], f64) -> Option<IntervalEstimate>;

    /// How often the 95 % interval of an AR(1) series of `n` values covers its mean of 0, in 500 seeds.
    fn coverage(n: usize, coefficient: f64, estimate: Estimate) -> f64 {
        let covered = (0..500).filter(|seed| {
            let series = Random::new(*seed).autoregressive(n, coefficient);
            let found = estimate(&series, 0.95).expect("there are enough values");
            found.mean.abs() <= found.half_width
        });
        covered.count() as f64 / 500.0
    }

    #[test]
    fn the_interval_covers_the_mean_of_independent_values_in_95_percent_of_runs() {
        for n in [8, 15, 30, 120] {
            let share = coverage(n, 0.0, estimate_rate);
            assert!((0.93..=0.99).contains(&share), "{n} values: {share}");
        }
    }

    #[test]
    fn the_interval_of_a_rate_covers_it_in_93_to_99_percent_of_autocorrelated_runs() {
        for (n, coefficient) in [(30, 0.5), (60, 0.3), (60, 0.8), (240, 0.7), (240, 0.9)] {
            let share = coverage(n, coefficient, estimate_rate);
            assert!((0.93..=0.99).contains(&share), "{n} values, coefficient {coefficient}: {share}");
        }
    }

    #[test]
    fn the_interval_covers_the_mean_of_autocorrelated_values_in_90_to_98_percent_of_runs() {
        for (n, coefficient) in [(30, 0.5), (60, 0.3), (60, 0.5), (60, 0.7), (240, 0.7), (240, 0.9)] {
            let share = coverage(n, coefficient, estimate_mean);
            assert!((0.90..=0.98).contains(&share), "{n} values, coefficient {coefficient}: {share}");
        }
    }

    #[test]
    fn the_interval_of_independent_values_is_nearly_as_narrow_as_the_textbook_says() {
        let widths: Vec<f64> = (0..200)
            .map(|seed| estimate_mean(&Random::new(seed).autoregressive(60, 0.0), 0.95).expect("enough").half_width)
            .collect();
        let textbook = 2.001 / 60f64.sqrt();
        assert!((0.98..1.20).contains(&(mean(&widths) / textbook)), "{}", mean(&widths) / textbook);
    }

    #[test]
    fn the_interval_of_a_change_covers_it_in_95_percent_of_runs() {
        let covered = (0..500).filter(|seed| {
            let noise = Random::new(*seed).autoregressive(60, 0.3);
            let rising: Vec<f64> = noise.iter().enumerate().map(|(index, value)| value + index as f64 / 10.0).collect();
            let found = estimate_change(&rising, 0.95).expect("there are enough values");
            (found.mean - 6.0).abs() <= found.half_width
        });
        let share = covered.count() as f64 / 500.0;
        assert!((0.90..=0.98).contains(&share), "{share}");
    }

    #[test]
    fn students_t_agrees_with_the_published_table() {
        for (freedom, expected) in [(1.0, 12.706), (2.0, 4.303), (7.0, 2.365), (29.0, 2.045), (120.0, 1.980)] {
            assert!((students_t(0.975, freedom) - expected).abs() < 0.001, "{freedom} degrees of freedom");
        }
    }

    #[test]
    fn the_variance_of_counts_is_bounded_as_in_the_published_table_of_chi_square() {
        // chi-square with 39 degrees of freedom: 72.055 at 99.9 %.
        assert!((counting_variance_max(40, 6.0, 0.999) - 6.0 * 72.055 / 39.0).abs() < 0.001);
    }

    #[test]
    fn seven_values_have_no_interval_and_equal_values_have_no_width() {
        assert_eq!(estimate_mean(&[5.0; 7], 0.95), None);
        assert_eq!(estimate_mean(&[5.0; 8], 0.95), Some(IntervalEstimate { mean: 5.0, half_width: 0.0 }));
    }

    #[test]
    fn a_quantile_is_interpolated_between_neighbours() {
        let values = [4.0, 1.0, 2.0, 3.0];
        assert_eq!([0.0, 0.25, 0.5, 1.0].map(|share| quantile(&values, share)), [1.0, 1.75, 2.5, 4.0].map(Some));
        assert_eq!([quantile(&[], 0.5), quantile(&[7.0], 0.9)], [None, Some(7.0)]);
    }

    #[test]
    fn the_median_stands_in_the_middle() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), Some(2.5));
    }

    #[test]
    fn the_variance_of_a_textbook_sample_is_right() {
        assert!((variance(&[2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]) - 32.0 / 7.0).abs() < 1e-12);
    }
}
