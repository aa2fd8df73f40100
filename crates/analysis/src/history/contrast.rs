//! Whether two stretches of a series differ, and by how much: Student's t on their logarithms.
//!
//! In: logarithms of the values before and after. Out: a [`Contrast`]: the ratio, its interval and its p-value.
//! Limits: both stretches are taken to have the same spread. Runs that follow one another may resemble each other (a warm machine, a
//! disk that ages): if the values within a stretch do so, they count as fewer. Of a short series its values do not show that, so it is
//! taken to be as much as it can be: the thresholds of [`Contrast::of_short`] are those of noise with the greatest autocorrelation.

use super::change_points::{CHANGE_MIN, P_MAX_SHORT};
use super::divisive::PART_MIN;
use crate::math::stats::mean;
use statrs::distribution::{ContinuousCDF, StudentsT};

/// A greater autocorrelation cannot be distinguished from a drift.
const AUTOCORRELATION_MAX: f64 = 0.8;

/// Of series with so many values all stretches are judged by [`Contrast::of_short`].
pub const SHORT_MAX: usize = 24;

/// How great Student's t is by chance at the best of all places of a series: it is exceeded in 5 % and in 1 % of series with so many values
/// of AR(1) noise with the coefficient 0.8 and no change. Simulated with 100,000 series each; a smaller coefficient exceeds them less often,
/// white noise in 0.8 %.
const BY_CHANCE: [(usize, f64, f64); 11] = [
    (6, 4.83, 7.68),
    (7, 5.68, 8.23),
    (8, 6.12, 8.49),
    (9, 6.46, 8.63),
    (10, 6.69, 8.74),
    (11, 6.89, 8.85),
    (12, 7.04, 9.05),
    (14, 7.35, 9.29),
    (16, 7.56, 9.60),
    (20, 7.97, 9.94),
    (24, 8.19, 10.23),
];

/// What chance makes of a series with `n` values in 5 % and in 1 % of all cases.
fn by_chance(n: usize) -> [f64; 2] {
    let last = BY_CHANCE.len() - 1;
    let above = BY_CHANCE.iter().position(|(values, ..)| *values >= n).unwrap_or(last);
    let ((from, low5, low1), (to, high5, high1)) = (BY_CHANCE[above.saturating_sub(1)], BY_CHANCE[above]);
    let share = if to == from { 1.0 } else { (n.clamp(from, to) - from) as f64 / (to - from) as f64 };
    [low5 + share * (high5 - low5), low1 + share * (high1 - low1)]
}

/// The smallest change that a series of `logs` without one would show in four of five cases, in its middle, as the factor above 1.
pub fn smallest_shown(logs: &[f64]) -> Option<f64> {
    if !(2 * PART_MIN..=SHORT_MAX).contains(&logs.len()) {
        return None;
    }
    let (n, half) = (logs.len() as f64, (logs.len() / 2) as f64);
    let deviation = crate::math::stats::variance(logs).sqrt();
    let error = deviation * (1.0 / half + 1.0 / (n - half)).sqrt();
    // What chance exceeds in P_MAX_SHORT of all series, by the same power as between 5 % and 1 %.
    let [often, rarely] = by_chance(logs.len());
    let threshold = often * (0.05 / P_MAX_SHORT).powf((rarely / often).ln() / 5f64.ln());
    // Simulated with white noise: a change of so many thresholds is found in 80 % of series with six values, and in more of longer ones.
    Some((1.55 * threshold * error).exp().max(1.0 + CHANGE_MIN))
}

/// The difference between two stretches of a series.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Contrast {
    /// The logarithm of the ratio: after to before.
    pub log_ratio: f64,
    /// The probability of so large a difference, or a larger one, between stretches of one level.
    pub p: f64,
    /// The standard error of the logarithm.
    error: f64,
    /// So many standard errors are half of the interval.
    half_width: f64,
}

impl Contrast {
    /// The contrast of `after` to `before`, with a pooled variance (Student, "The Probable Error of a Mean", Biometrika 6, 1908). The
    /// variance of a mean of autocorrelated values is greater by (1 + r) / (1 - r), r being the autocorrelation at lag 1 (G. Bayley and
    /// J. Hammersley, "The effective number of independent observations in an autocorrelated time series", 1946, for AR(1)).
    pub fn between(before: &[f64], after: &[f64]) -> Contrast {
        let residuals = [residuals(before), residuals(after)];
        Contrast::with_dependence(before, after, &residuals, dependence(&residuals))
    }

    /// The same as if all values were independent. If a stretch has further changes in it, its values resemble their neighbours for that
    /// reason alone.
    pub fn of_independent(before: &[f64], after: &[f64]) -> Contrast {
        Contrast::with_dependence(before, after, &[residuals(before), residuals(after)], 1.0)
    }

    /// The same of stretches that are all of a short series, at its best place. The probability is that of chance at any place; beyond the table it
    /// falls by the power with which it falls between its two columns.
    pub fn of_short(before: &[f64], after: &[f64]) -> Contrast {
        let plain = Contrast::of_independent(before, after);
        let [often, rarely] = by_chance(before.len() + after.len());
        let t = if plain.error > 0.0 { plain.log_ratio.abs() / plain.error } else { f64::INFINITY };
        let p = 0.05 * (often / t).powf(5f64.ln() / (rarely / often).ln());
        let p = if plain.log_ratio == 0.0 { 1.0 } else { p.min(1.0) };
        Contrast { p, half_width: often, ..plain }
    }

    fn with_dependence(before: &[f64], after: &[f64], residuals: &[Vec<f64>; 2], dependence: f64) -> Contrast {
        let n = (before.len() + after.len()) as f64;
        let squares = sum_squares(residuals);
        let freedom = (n / dependence - 2.0).max(1.0);
        let variance = squares / (n - 2.0).max(1.0) * dependence;
        let error = (variance * (1.0 / before.len() as f64 + 1.0 / after.len() as f64)).sqrt();
        let log_ratio = mean(after) - mean(before);
        let half_width = crate::math::stats::students_t(0.975, freedom);
        Contrast { log_ratio, p: p_value(log_ratio, error, freedom), error, half_width }
    }

    /// The ratio of after to before.
    pub fn ratio(&self) -> f64 {
        self.log_ratio.exp()
    }

    /// Its 95 % confidence interval.
    pub fn ci95(&self) -> [f64; 2] {
        let half_width = self.half_width * self.error;
        [(self.log_ratio - half_width).exp(), (self.log_ratio + half_width).exp()]
    }
}

fn residuals(values: &[f64]) -> Vec<f64> {
    let mean = mean(values);
    values.iter().map(|value| value - mean).collect()
}

fn sum_squares(residuals: &[Vec<f64>; 2]) -> f64 {
    residuals.iter().flatten().map(|value| value * value).sum()
}

/// By how much the variance of a mean is greater than that of independent values; 1 at least.
fn dependence(residuals: &[Vec<f64>; 2]) -> f64 {
    let squares = sum_squares(residuals);
    let n: usize = residuals.iter().map(Vec::len).sum();
    let products: f64 = residuals.iter().flat_map(|part| part.windows(2)).map(|pair| pair[0] * pair[1]).sum();
    // Each part's own mean makes the autocorrelation of independent values about -1/n of the part: two parts, 2/n of both.
    let correlation = if squares == 0.0 { 0.0 } else { products / squares + 2.0 / n as f64 };
    // Values that avoid their neighbours would make an interval narrower than their number allows.
    let correlation = correlation.clamp(0.0, AUTOCORRELATION_MAX);
    (1.0 + correlation) / (1.0 - correlation)
}

/// Two-sided. Values without any spread differ for certain, or not at all.
fn p_value(difference: f64, error: f64, freedom: f64) -> f64 {
    if error == 0.0 {
        return if difference == 0.0 { 1.0 } else { 0.0 };
    }
    let t = StudentsT::new(0.0, 1.0, freedom).expect("the freedom is at least 1");
    2.0 * t.sf((difference / error).abs())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulated::Random;

    /// The example of Student's paper with two drugs (table 1 of "sleep" in R), unpaired and with equal variances:
    /// `t.test(extra ~ group, data = sleep, var.equal = TRUE)`: t = -1.8608, df = 18, p = 0.07919, interval -3.363874 to 0.203874.
    #[test]
    fn the_test_is_that_of_student() {
        let first = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0];
        let second = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4];
        // In another order the values do not resemble their neighbours, and the rest of the test depends on no order.
        let order = [0, 6, 1, 5, 3, 9, 2, 7, 4, 8];
        let contrast = Contrast::between(&order.map(|i| first[i]), &order.map(|i| second[i]));
        assert!((contrast.p - 0.07919).abs() < 1e-4, "{contrast:?}");
        let [low, high] = contrast.ci95().map(f64::ln);
        assert!((low + 0.203874).abs() < 1e-4 && (high - 3.363874).abs() < 1e-4, "{low} {high}");
    }

    #[test]
    fn values_without_spread_differ_for_certain_or_not_at_all() {
        assert_eq!(Contrast::between(&[1.0; 3], &[1.0; 3]).p, 1.0);
        let apart = Contrast::between(&[1.0; 3], &[2.0; 3]);
        assert_eq!((apart.p, apart.ratio(), apart.ci95()), (0.0, 1f64.exp(), [1f64.exp(); 2]));
    }

    #[test]
    fn a_short_series_has_the_thresholds_of_its_length() {
        assert_eq!([by_chance(6), by_chance(24), by_chance(30)], [[4.83, 7.68], [8.19, 10.23], [8.19, 10.23]]);
        let [often, rarely] = by_chance(13);
        assert!((often - 7.195).abs() < 1e-9 && (rarely - 9.17).abs() < 1e-9, "{often} {rarely}");
        assert_eq!(Contrast::of_short(&[1.0; 3], &[1.0; 3]).p, 1.0);
        assert_eq!(Contrast::of_short(&[1.0; 3], &[2.0; 3]).p, 0.0);
    }

    #[test]
    fn a_factor_of_53_in_eight_runs_is_shown_with_an_interval_that_holds_it() {
        // Rates of one plan whose durability changed in between: two levels before, and another after.
        let rates = [35_910.0, 37_396.0, 18_345.0, 17_238.0, 482.0, 482.0, 505.0, 462.0].map(f64::ln);
        let contrast = Contrast::of_short(&rates[..4], &rates[4..]);
        let [low, high] = contrast.ci95();
        assert!(contrast.p < 0.001 && low < contrast.ratio() && contrast.ratio() < high && high < 0.2, "{contrast:?}");
    }

    #[test]
    fn the_smallest_change_that_would_show_grows_with_the_noise() {
        let noisy = |deviation: f64| {
            let noise = Random::new(5).autoregressive(8, 0.0);
            smallest_shown(&noise.iter().map(|value| deviation * value).collect::<Vec<_>>())
        };
        let [quiet, loud] = [noisy(0.01), noisy(0.1)].map(|factor| factor.expect("it is short"));
        assert!(quiet > 1.0 && quiet < 1.1 && loud > 1.3 && loud < 2.5, "{quiet} {loud}");
        assert_eq!(smallest_shown(&[0.0; 25]), None);
    }

    /// How often the test at `level` finds a difference between two halves of one noise.
    fn false_alarms(coefficient: f64, n: usize, level: f64) -> f64 {
        let alarms = (0..2_000).filter(|seed| {
            let noise = Random::new(*seed).autoregressive(n, coefficient);
            Contrast::between(&noise[..n / 2], &noise[n / 2..]).p < level
        });
        alarms.count() as f64 / 2_000.0
    }

    #[test]
    fn the_test_holds_its_level_and_nearly_so_if_runs_resemble_their_neighbours() {
        for (coefficient, n, most) in
            [(0.0, 6, 0.06), (0.0, 40, 0.06), (0.3, 40, 0.10), (0.5, 40, 0.11), (0.5, 80, 0.09)]
        {
            let share = false_alarms(coefficient, n, 0.05);
            assert!(share <= most, "coefficient {coefficient}, {n} values: {share}");
        }
    }
}
