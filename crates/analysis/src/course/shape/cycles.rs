//! Waves whose period changes.
//!
//! In: the rates of the intervals. Out: the [`Cycles`], from one upward crossing of the middle to the next. Limits: it needs four cycles
//! of eight intervals; the longest may be two and a half times as long as the shortest.
//! How: the rates are smoothed over several lengths of time. A cycle is counted if the smoothed rate goes far below the middle and
//! far above it again. A sine that runs through one turn in each cycle must carry most of the variance. The run cuts off a part of a cycle at
//! each end. Such a part counts with its share of a turn, because cycles of different lengths have another mean without it.

use super::waves::top_of_parabola;
use crate::math::stats::mean;
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
/// A part of a cycle that is shorter, in mean cycles, does not show how long its cycle is.
const PART_MIN: f64 = 0.4;
/// A part goes on with the wave if a sine carries this share of its squares, and is this high compared with the sine of the cycles. One of
/// free length carries some per cent of noise.
const PART_SHARE_MIN: f64 = 0.25;
const PART_HEIGHT_MIN: f64 = 0.5;
/// The lengths that are tried for the cycle of a part, in mean cycles: the least, the step and their number.
const PART_LENGTHS: (f64, f64, usize) = (0.6, 0.02, 46);
/// How far the cycle of a part is from the others, as a standard deviation in mean cycles: a short part hardly shows it by itself.
const PART_DEVIATION: f64 = 0.2;

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

/// A stretch of the run, and how many cycles it has.
#[derive(Clone, Copy)]
struct Turns {
    intervals: f64,
    turns: f64,
}

/// What the whole cycles are like: their mean length, the height of their sine, the variance of what it does not carry.
#[derive(Clone, Copy)]
struct UsualCycle {
    length: f64,
    amplitude: f64,
    noise: f64,
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
    let whole = Turns { intervals: last - first, turns: (crossings.len() - 1) as f64 };
    let noise = (1.0 - variance_share).max(0.0) * squares / n;
    // Before its first crossing a wave is seen backwards, and so upside down.
    let before = rates[..covered.start].iter().enumerate().map(|(at, rate)| (first - at as f64, middle - rate));
    let behind = (covered.end..rates.len()).map(|at| (at as f64 - last, rates[at] - middle));
    let usual = UsualCycle { length: whole.intervals / whole.turns, amplitude, noise };
    let parts = [before.collect::<Vec<_>>(), behind.collect()].map(|part| part_of_cycle(&part, usual));
    let all = parts
        .into_iter()
        .flatten()
        .fold(whole, |all, part| Turns { intervals: all.intervals + part.intervals, turns: all.turns + part.turns });
    Cycles { period: all.intervals / all.turns, amplitude, variance_share }
}

/// How much of a turn is in `part`: distances from an upward crossing, and how far the wave is above its middle there. The length of its
/// cycle is the one whose sine carries most of the squares, less what makes it unlike the usual one. `None` if no length fits.
fn part_of_cycle(part: &[(f64, f64)], usual: UsualCycle) -> Option<Turns> {
    let intervals = part.iter().map(|(distance, _)| distance + 0.5).fold(0.0, f64::max);
    let (least, step, number) = PART_LENGTHS;
    let lengths: Vec<f64> = (0..number).map(|nth| least + step * nth as f64).collect();
    let sines: Vec<FittedSine> = lengths.iter().map(|length| sine_of_length(part, length * usual.length)).collect();
    let likely = |nth: usize| sines[nth].squares - usual.noise * ((lengths[nth] - 1.0) / PART_DEVIATION).powi(2);
    let best = (0..number).max_by(|a, b| likely(*a).total_cmp(&likely(*b)))?;
    let squares: f64 = part.iter().map(|(_, above)| above * above).sum();
    let goes_on =
        sines[best].squares >= PART_SHARE_MIN * squares && sines[best].height >= PART_HEIGHT_MIN * usual.amplitude;
    if intervals < PART_MIN * usual.length || !goes_on {
        return None;
    }
    let is_inside = best > 0 && best + 1 < number;
    let offset = if is_inside { top_of_parabola([best - 1, best, best + 1].map(likely)) } else { 0.0 };
    Some(Turns { intervals, turns: intervals / ((lengths[best] + step * offset) * usual.length) })
}

/// A sine that begins at an upward crossing.
struct FittedSine {
    /// Below 0 if the values are its opposite.
    height: f64,
    /// What it carries of the squares of the values; 0 if they are its opposite.
    squares: f64,
}

/// The sine of this length that fits `part` best, by least squares.
fn sine_of_length(part: &[(f64, f64)], length: f64) -> FittedSine {
    let (product, own) = part.iter().fold((0.0, 0.0), |(product, own), (distance, above)| {
        let sine = (std::f64::consts::TAU * distance / length).sin();
        (product + sine * above, own + sine * sine)
    });
    let height = product / own.max(f64::MIN_POSITIVE);
    FittedSine { height, squares: height * product.max(0.0) }
}

/// Which part of its cycle the interval `at` is in, from 0 to 1.
fn turn_at(at: f64, crossings: &[f64]) -> f64 {
    let next = crossings.partition_point(|crossing| *crossing <= at).clamp(1, crossings.len() - 1);
    let (from, to) = (crossings[next - 1], crossings[next]);
    (at - from) / (to - from)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulated::Random;

    /// Waves of these lengths one after the other, from `from` turns of the first on, with this much noise.
    fn waves(lengths: &[usize], from: f64, noise: f64) -> Vec<f64> {
        let mut random = Random::new(7);
        let one = |length: &usize| (0..*length).map(|at| at as f64 / *length as f64).collect::<Vec<f64>>();
        let mut turns: Vec<f64> = lengths.iter().flat_map(one).collect();
        turns.drain(..(from * lengths[0] as f64) as usize);
        let mut value = |turn: f64| 100.0 + 20.0 * (std::f64::consts::TAU * turn).sin() + noise * random.normal();
        turns.into_iter().map(&mut value).collect()
    }

    #[test]
    fn cycles_that_the_run_cuts_off_count_with_their_part_of_a_turn() {
        // Without the first and the last the mean is 111, and with them 119.
        let lengths = [130, 110, 112, 111, 111, 140];
        for noise in [0.0, 10.0] {
            let found = find_cycles(&waves(&lengths, 0.0, noise)).expect("it swings").period;
            assert!((found / 119.0 - 1.0).abs() < 0.02, "{noise}: {found}");
        }
    }

    #[test]
    fn an_end_that_does_not_swing_is_no_part_of_a_cycle() {
        let mut rates = waves(&[100; 9], 0.0, 1.0);
        rates.extend([100.0; 150]);
        let found = find_cycles(&rates).expect("it swings").period;
        assert!((found / 100.0 - 1.0).abs() < 0.02, "{found}");
    }
}
