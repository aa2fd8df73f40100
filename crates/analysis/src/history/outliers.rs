//! The outliers of a series: values far from what comes before and after them, fewer in a row than a change needs.
//!
//! In: logarithms of values in the order of time. Out: the indices of those that are to be left out. Limits: the first and the last
//! value are never cut, since a change may begin there. If there were many, they would be a level of the noise, and none is cut.

use super::divisive::PART_MIN;
use crate::math::stats::{median, robust_deviation};

/// A value is an outlier if it is so many standard deviations of the noise away from both sides.
const DEVIATIONS: f64 = 5.0;
/// If more than this share of the values were outliers, none is.
const SHARE_MAX: f64 = 0.15;
/// Noise below this is taken as this: 0.1 %.
const NOISE_MIN: f64 = 0.001;

/// The indices of the outliers in `logs`, in rising order.
///
/// A single spike makes E-divisive report changes at both of its sides (Apache Otava, pull request 150).
pub fn outliers(logs: &[f64]) -> Vec<usize> {
    let noise = noise_of(logs);
    let inner = 1..logs.len().saturating_sub(1);
    let found: Vec<usize> = inner.filter(|index| is_far(logs, *index, noise) && is_brief(logs, *index)).collect();
    let is_rare = found.len() as f64 <= (SHARE_MAX * logs.len() as f64).max(1.0);
    if is_rare { found } else { Vec::new() }
}

/// The standard deviation of independent noise with the differences between neighbours that `logs` have. A change of level makes one
/// large difference, which a median does not see.
fn noise_of(logs: &[f64]) -> f64 {
    let differences: Vec<f64> = logs.windows(2).map(|pair| pair[1] - pair[0]).collect();
    (robust_deviation(&differences) / std::f64::consts::SQRT_2).max(NOISE_MIN)
}

/// The medians of the values before and after, as many on each side as a change needs.
fn levels_around(logs: &[f64], index: usize) -> [f64; 2] {
    let before = &logs[index.saturating_sub(PART_MIN)..index];
    let after = &logs[index + 1..logs.len().min(index + 1 + PART_MIN)];
    [before, after].map(|side| median(side).unwrap_or(logs[index]))
}

/// Whether fewer values in a row than a change needs are nearer to this one than to the level around it.
fn is_brief(logs: &[f64], index: usize) -> bool {
    let [before, after] = levels_around(logs, index);
    let level = (before + after) / 2.0;
    let is_near = |value: &&f64| (**value - logs[index]).abs() < (**value - level).abs();
    let alike_before = logs[..index].iter().rev().take_while(is_near).count();
    let alike_after = logs[index + 1..].iter().take_while(is_near).count();
    alike_before + 1 + alike_after < PART_MIN
}

/// Whether the value is far from both sides, compared with the noise and with how far these are from each other.
fn is_far(logs: &[f64], index: usize, noise: f64) -> bool {
    let [before, after] = levels_around(logs, index);
    let [up, down] = [logs[index] - before.max(after), before.min(after) - logs[index]];
    up.max(down) > DEVIATIONS * noise && up.max(down) > 2.0 * (before - after).abs()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulated::Random;

    fn quiet(n: usize) -> Vec<f64> {
        Random::new(3).autoregressive(n, 0.0).iter().map(|value| value * 0.01).collect()
    }

    #[test]
    fn one_or_two_spikes_in_a_row_are_outliers_and_three_may_be_a_level() {
        let mut logs = quiet(30);
        logs[12] += 0.2;
        assert_eq!(outliers(&logs), [12]);
        logs[13] += 0.2;
        assert_eq!(outliers(&logs), [12, 13]);
        logs[14] += 0.2;
        assert_eq!(outliers(&logs), [] as [usize; 0]);
    }

    #[test]
    fn no_value_next_to_a_change_of_level_is_an_outlier() {
        for at in 0..30 {
            let mut logs = quiet(30);
            logs[at..].iter_mut().for_each(|value| *value += 0.1);
            assert_eq!(outliers(&logs), [] as [usize; 0], "{at}");
        }
    }

    #[test]
    fn what_happens_often_is_no_outlier() {
        let mut logs = quiet(30);
        (3..28).step_by(5).for_each(|index| logs[index] += 0.2);
        assert_eq!(outliers(&logs), [] as [usize; 0]);
    }

    #[test]
    fn noise_hardly_ever_has_one() {
        let cut: usize = (0..300).map(|seed| super::outliers(&Random::new(seed).autoregressive(50, 0.0)).len()).sum();
        assert!(cut <= 15, "{cut} of 15,000 values");
    }
}
