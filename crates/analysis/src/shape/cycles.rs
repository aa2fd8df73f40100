//! Waves whose period changes.
//!
//! In: the rates of the intervals. Out: the [`Cycles`], from one upward crossing of the middle to the next. Limits: it needs four cycles
//! of eight intervals; the longest may be two and a half times as long as the shortest.
//! How: the rates are smoothed over several lengths of time. A cycle is counted if the smoothed rate goes far below the middle and
//! far above it again. A sine that runs through one turn in each cycle must carry most of the variance.

use crate::stats::mean;
use std::ops::Range;

const CYCLES_MIN: usize = 4;
const CYCLE_MIN: f64 = 8.0;
const LONGEST_MAX: f64 = 2.5;
/// The cycles cover this share of the run at least: the rest is cut off at both ends.
const COVERED_SHARE_MIN: f64 = 0.6;
/// A wave of this many intervals keeps its form if it is smoothed over one.
const INTERVALS_PER_WINDOW: usize = 5;
/// How far below and above the middle the smoothed rate must go, in its standard deviations; a sine reaches 1.4.
const REACH_DEVIATIONS: f64 = 0.7;
/// A sine through noise that was cut into cycles carries a part of its variance: more than any noise gives is asked for.
const VARIANCE_SHARE_MIN: f64 = 0.5;

/// Waves one after the other, of about the same length.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cycles {
    /// Their mean length, in intervals.
    pub period: f64,
    /// From the middle to the maximum of the sine that fits them best.
    pub amplitude: f64,
    /// The share of the variance of the rates in them that it carries.
    pub variance_share: f64,
}

/// The cycles that `rates` go through; of several ways to cut them, the one whose sine carries most.
pub fn find_cycles(rates: &[f64]) -> Option<Cycles> {
    let longest = rates.len() / CYCLES_MIN / INTERVALS_PER_WINDOW;
    let windows = std::iter::successors(Some(1usize), |window| Some(window + window.div_ceil(2)));
    let found = windows.take_while(|window| *window <= longest.max(1)).filter_map(|window| {
        let crossings = upward_crossings(&smoothed(rates, window));
        are_alike(&crossings, rates.len()).then(|| fit_sine(rates, &crossings))
    });
    let best = found.max_by(|a, b| a.variance_share.total_cmp(&b.variance_share))?;
    (best.variance_share >= VARIANCE_SHARE_MIN).then_some(best)
}

/// The means of `window` values about each.
fn smoothed(values: &[f64], window: usize) -> Vec<f64> {
    let (before, after) = (window / 2, window.div_ceil(2));
    let around = |at: usize| -> Range<usize> { at.saturating_sub(before)..(at + after).min(values.len()) };
    (0..values.len()).map(|at| mean(&values[around(at)])).collect()
}

/// Where `values` cross their mean upwards, having been far below it, and go far above it.
fn upward_crossings(values: &[f64]) -> Vec<f64> {
    let middle = mean(values);
    let squares: Vec<f64> = values.iter().map(|value| (value - middle).powi(2)).collect();
    let reach = REACH_DEVIATIONS * mean(&squares).sqrt();
    let (mut crossings, mut was_low, mut crossed) = (Vec::new(), false, None);
    for (at, value) in values.iter().enumerate() {
        if *value < middle - reach {
            (was_low, crossed) = (true, None);
        }
        if was_low && crossed.is_none() && *value >= middle {
            crossed = Some(crossing_between(values, at, middle));
        }
        if let (true, true, Some(place)) = (*value > middle + reach, was_low, crossed) {
            crossings.push(place);
            (was_low, crossed) = (false, None);
        }
    }
    crossings
}

/// Between which intervals the line from the value before `at` to that at `at` crosses `middle`.
fn crossing_between(values: &[f64], at: usize, middle: f64) -> f64 {
    let Some(before) = at.checked_sub(1).map(|before| values[before]) else { return at as f64 };
    at as f64 - (values[at] - middle) / (values[at] - before).max(f64::MIN_POSITIVE)
}

fn are_alike(crossings: &[f64], n: usize) -> bool {
    let lengths = crossings.windows(2).map(|pair| pair[1] - pair[0]);
    let (least, most) = lengths.fold((f64::MAX, 0f64), |(least, most), one| (least.min(one), most.max(one)));
    let covered = crossings.last().zip(crossings.first()).map_or(0.0, |(last, first)| last - first);
    crossings.len() > CYCLES_MIN
        && least >= CYCLE_MIN
        && most <= LONGEST_MAX * least
        && covered >= COVERED_SHARE_MIN * n as f64
}

/// The sine that runs through one turn from each of `crossings` to the next and fits `rates` best, by least squares.
fn fit_sine(rates: &[f64], crossings: &[f64]) -> Cycles {
    let (first, last) = (crossings[0], crossings[crossings.len() - 1]);
    let covered = first.ceil() as usize..(last.ceil() as usize).min(rates.len());
    let own = &rates[covered.clone()];
    let middle = mean(own);
    let (mut sines, mut cosines, mut squares) = (0.0, 0.0, 0.0);
    for at in covered.clone() {
        let (sin, cos) = (std::f64::consts::TAU * turn_at(at as f64, crossings)).sin_cos();
        let apart = rates[at] - middle;
        sines += sin * apart;
        cosines += cos * apart;
        squares += apart * apart;
    }
    let n = covered.len() as f64;
    let amplitude = 2.0 * sines.hypot(cosines) / n;
    let variance_share = n * amplitude.powi(2) / 2.0 / squares.max(f64::MIN_POSITIVE);
    Cycles { period: (last - first) / (crossings.len() - 1) as f64, amplitude, variance_share }
}

/// Which part of its cycle the interval `at` is in, from 0 to 1.
fn turn_at(at: f64, crossings: &[f64]) -> f64 {
    let next = crossings.partition_point(|crossing| *crossing <= at).clamp(1, crossings.len() - 1);
    let (from, to) = (crossings[next - 1], crossings[next]);
    (at - from) / (to - from)
}
