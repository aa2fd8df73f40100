//! The ratio of two things measured in pairs, with its interval.
//!
//! In: pairs measured one right after the other. Out: the geometric mean of their ratios and its 95 % confidence interval.
//! Limits: Student's t on the logarithms; the pairs are taken as independent, and a slow drift cancels out if the order within pairs
//! alternates (A B B A).

use std::fmt;

/// A ratio with its 95 % confidence interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ratio {
    /// The geometric mean of the ratios.
    pub mean: f64,
    /// The lower end of the interval.
    pub low: f64,
    pub high: f64,
    /// The number of pairs.
    pub pairs: usize,
}

/// Quantiles 0.975 of Student's t for 1 to 30 degrees of freedom (NIST/SEMATECH e-Handbook of Statistical Methods, 1.3.6.7.2).
const T_975: [f64; 30] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120,
    2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
];

/// The ratio first : second over all pairs; `None` for fewer than two.
pub fn ratio(pairs: &[(f64, f64)]) -> Option<Ratio> {
    let n = pairs.len();
    if n < 2 {
        return None;
    }
    // Logarithms make halving and doubling equally far from 1.
    let logs: Vec<f64> = pairs.iter().map(|(a, b)| (a / b).ln()).collect();
    let mean = logs.iter().sum::<f64>() / n as f64;
    let variance = logs.iter().map(|log| (log - mean).powi(2)).sum::<f64>() / (n - 1) as f64;
    // Beyond the table the last value is a little too large, so the interval a little too wide.
    let t = T_975[(n - 1).min(T_975.len()) - 1];
    let half = t * (variance / n as f64).sqrt();
    Some(Ratio { mean: mean.exp(), low: (mean - half).exp(), high: (mean + half).exp(), pairs: n })
}

impl Ratio {
    /// What the interval shows: whether the first is less or more than the second.
    pub fn verdict(&self) -> &'static str {
        match self {
            Ratio { high, .. } if *high < 1.0 => "less",
            Ratio { low, .. } if *low > 1.0 => "more",
            _ => "no difference shown",
        }
    }
}

impl fmt::Display for Ratio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.3} (95 %: {:.3} to {:.3}, n = {} pairs)", self.mean, self.low, self.high, self.pairs)
    }
}

/// The middle value, or the mean of the two in the middle; 0 if there are no values.
pub fn median(values: impl IntoIterator<Item = f64>) -> f64 {
    let mut sorted: Vec<f64> = values.into_iter().collect();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => 0.0,
        n if n % 2 == 1 => sorted[n / 2],
        n => (sorted[n / 2 - 1] + sorted[n / 2]) / 2.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers that look random: a linear congruential generator (Knuth, MMIX), 12 of them added for a normal one.
    fn noise(state: &mut u64) -> f64 {
        let mut uniform = || {
            *state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (*state >> 11) as f64 / (1u64 << 53) as f64
        };
        (0..12).map(|_| uniform()).sum::<f64>() - 6.0
    }

    #[test]
    fn equal_ratios_have_an_interval_without_width() {
        let ratio = ratio(&[(1.0, 2.0), (5.0, 10.0), (7.0, 14.0)]).unwrap();
        assert!((ratio.mean - 0.5).abs() < 1e-12 && (ratio.high - ratio.low).abs() < 1e-12, "{ratio}");
        assert_eq!(ratio.verdict(), "less");
    }

    #[test]
    fn the_interval_of_two_pairs_is_the_textbooks() {
        // Logarithms 0 and ln 4: mean ln 2, standard error ln 2, t(1) = 12.706.
        let ratio = ratio(&[(1.0, 1.0), (4.0, 1.0)]).unwrap();
        assert!((ratio.mean - 2.0).abs() < 1e-9);
        assert!((ratio.high.ln() - (1.0 + 12.706) * 2f64.ln()).abs() < 1e-9);
        assert_eq!(ratio.verdict(), "no difference shown");
    }

    #[test]
    fn one_pair_says_nothing() {
        assert_eq!(ratio(&[(1.0, 2.0)]), None);
    }

    #[test]
    fn the_interval_holds_the_true_ratio_in_95_of_100_experiments() {
        let mut state = 1;
        let held = (0..2_000).filter(|_| {
            let pairs: Vec<(f64, f64)> = (0..8).map(|_| ((0.8f64.ln() + 0.1 * noise(&mut state)).exp(), 1.0)).collect();
            let ratio = ratio(&pairs).unwrap();
            ratio.low <= 0.8 && 0.8 <= ratio.high
        });
        let share = held.count() as f64 / 2_000.0;
        assert!((0.935..=0.965).contains(&share), "{share}");
    }

    #[test]
    fn the_median_is_the_middle() {
        assert_eq!((median([3.0, 1.0, 2.0]), median([4.0, 1.0, 2.0, 3.0]), median([])), (2.0, 2.5, 0.0));
    }
}
