//! A rate that swings like a wave.
//!
//! In: the rates of the intervals. Out: the [`Wave`]. Limits: it needs 40 intervals, four waves and four intervals a wave; a wave whose
//! period changes needs eight intervals.

use super::cycles::{Cycles, find_cycles};
use crate::math::stats::mean;

const INTERVALS_MIN: usize = 40;
const WAVES_MIN: f64 = 4.0;
const PERIOD_MIN: f64 = 4.0;
const VARIANCE_SHARE_MIN: f64 = 0.5;
const SWING_SHARE_MIN: f64 = 0.1;

/// A sine that the rates follow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Wave {
    /// From one maximum to the next, in intervals; the mean, if it changes.
    pub period: f64,
    /// The mean rate, about which it swings.
    pub middle: f64,
    /// From the middle to the maximum.
    pub amplitude: f64,
    /// Its share of the variance of the rates.
    pub variance_share: f64,
}

/// The sine that `rates` follow, of one period or of one that changes, if it explains most of their variance.
pub fn find_wave(rates: &[f64]) -> Option<Wave> {
    if rates.len() < INTERVALS_MIN {
        return None;
    }
    let middle = mean(rates);
    let is_high = |wave: &Wave| 2.0 * wave.amplitude >= SWING_SHARE_MIN * middle;
    let cycles = find_cycles(rates).map(|cycles| {
        let Cycles { period, amplitude, variance_share } = cycles;
        Wave { period, middle, amplitude, variance_share }
    });
    cycles.or_else(|| find_sine(rates, middle)).filter(is_high)
}

/// The sine of one period that `rates` follow.
fn find_sine(rates: &[f64], middle: f64) -> Option<Wave> {
    let n = rates.len() as f64;
    let squares: f64 = rates.iter().map(|rate| (rate - middle).powi(2)).sum();
    if squares <= 0.0 {
        return None;
    }
    // Zeros behind the values make the grid of frequencies at least twice as fine: no wave falls between two of them.
    let size = (rates.len() * 2).next_power_of_two();
    let mut spectrum: Vec<(f64, f64)> = rates.iter().map(|rate| (rate - middle, 0.0)).collect();
    spectrum.resize(size, (0.0, 0.0));
    fourier_transform(&mut spectrum);
    // In steps of the longer transform: from the fewest waves in the run to the shortest period.
    let (least, most) = ((WAVES_MIN * size as f64 / n).ceil() as usize, (size as f64 / PERIOD_MIN) as usize);
    let powers: Vec<f64> = spectrum.iter().map(|(real, imaginary)| real.powi(2) + imaginary.powi(2)).collect();
    let at = (least..=most).max_by(|a, b| powers[*a].total_cmp(&powers[*b]))?;
    // The transform of a sine of amplitude a over n values has the magnitude a n / 2 at its frequency, and the sine's squares add
    // up to a^2 n / 2.
    let (amplitude, variance_share) = (2.0 * powers[at].sqrt() / n, 2.0 * powers[at] / (n * squares));
    let period = size as f64 / (at as f64 + top_of_parabola([at - 1, at, at + 1].map(|place| powers[place])));
    (variance_share >= VARIANCE_SHARE_MIN).then_some(Wave { period, middle, amplitude, variance_share })
}

/// How far the top of the parabola through three values at equal distances is from the one in the middle, in distances.
pub(super) fn top_of_parabola([before, own, after]: [f64; 3]) -> f64 {
    let bend = before - 2.0 * own + after;
    if bend < 0.0 { (before - after) / (2.0 * bend) } else { 0.0 }
}

/// The discrete Fourier transform of a power of two of complex values, in place (J. W. Cooley and J. W. Tukey, Mathematics of
/// Computation 19, 1965).
fn fourier_transform(values: &mut [(f64, f64)]) {
    let n = values.len();
    let bits = n.trailing_zeros();
    for at in 0..n {
        let mirrored = at.reverse_bits() >> (usize::BITS - bits);
        if at < mirrored {
            values.swap(at, mirrored);
        }
    }
    // The values are in bit-reversed order now: transforms of 1, 2, 4 and so on neighbours join into those of twice as many.
    let mut half = 1;
    while half < n {
        let turns: Vec<(f64, f64)> =
            (0..half).map(|k| (-std::f64::consts::PI * k as f64 / half as f64).sin_cos()).collect();
        for block in values.chunks_mut(2 * half) {
            let (left, right) = block.split_at_mut(half);
            for ((a, b), (sin, cos)) in left.iter_mut().zip(right).zip(&turns) {
                let turned = (b.0 * cos - b.1 * sin, b.0 * sin + b.1 * cos);
                (*a, *b) = ((a.0 + turned.0, a.1 + turned.1), (a.0 - turned.0, a.1 - turned.1));
            }
        }
        half *= 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulated::{NOISES, Random, swinging};

    #[test]
    fn the_transform_agrees_with_the_definition() {
        let mut random = Random::new(1);
        let values: Vec<(f64, f64)> = (0..32).map(|_| (random.normal(), random.normal())).collect();
        let mut fast = values.clone();
        fourier_transform(&mut fast);
        for (k, found) in fast.iter().enumerate() {
            let (mut re, mut im) = (0.0, 0.0);
            for (at, value) in values.iter().enumerate() {
                let (sin, cos) = (-std::f64::consts::TAU * (k * at) as f64 / 32.0).sin_cos();
                re += value.0 * cos - value.1 * sin;
                im += value.0 * sin + value.1 * cos;
            }
            assert!((re - found.0).abs() < 1e-9 && (im - found.1).abs() < 1e-9, "{k}");
        }
    }

    #[test]
    fn a_ramp_a_step_and_small_swings_are_no_waves() {
        let of = |counts: Vec<u64>| find_wave(&counts.iter().map(|count| *count as f64).collect::<Vec<f64>>());
        assert_eq!(of((0..400).map(|at| 1_000 + at).collect()), None);
        assert_eq!(of((0..400).map(|at| if at < 200 { 1_000 } else { 500 }).collect()), None);
        assert_eq!(of(swinging(400, 40.0, 15.0, 1.0)), None);
    }

    #[test]
    fn noise_is_a_wave_in_one_percent_of_runs_at_most() {
        for (name, noise) in NOISES {
            let found = (0..400).filter(|seed| {
                let noise = noise(&mut Random::new(*seed), 60);
                find_wave(&noise.iter().map(|value| (1e3 * (1.0 + 0.1 * value)).max(0.0)).collect::<Vec<f64>>())
                    .is_some()
            });
            let found = found.count();
            assert!(found <= 4, "{name}: {found} of 400");
        }
    }
}
