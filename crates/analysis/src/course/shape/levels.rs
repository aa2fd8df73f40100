//! The levels that a rate keeps to, and the shifts between them.
//!
//! In: one number per interval. Out: [`LevelRange`]s, at least one.
//! How: penalised least squares over all ways to cut the series (optimal partitioning with the pruning of R. Killick,
//! P. Fearnhead and I. Eckley, "Optimal detection of changepoints with a linear computational cost", JASA 107, 2012), on values
//! from which lone outliers are cut off. The penalty is in units of the noise's long-run variance, as M. Lavielle and
//! E. Moulines ask for dependent noise (Journal of Time Series Analysis 21, 2000). The memory of the noise is measured on
//! differences, which a shift changes in one place only (S. Chakar et al., "A robust approach for estimating change-points in
//! the mean of an AR(1) process", Bernoulli 23, 2017).
//! Limits: a level lasts at least [`LENGTH_MIN`] intervals, or blocks of them if there are more than [`BLOCKS_MAX`]; what is
//! shorter is a drop or nothing. A ramp or a slow wave has no levels, only a shift that happens at once counts.

use super::drops::find_drops;
use crate::Span;
use crate::math::stats::{mean, median, robust_deviation, variance};
use std::ops::Range;

/// The fewest intervals that make a level.
const LENGTH_MIN: usize = 5;

/// A longer series is searched in blocks first: the time of the search grows with the square of their number.
const BLOCKS_MAX: usize = 1_500;
// Runs of up to four outliers do not move a median of nine.
const NEIGHBOURS: usize = 9;
// Normal noise goes beyond it once in 370 values.
const OUTLIER_DEVIATIONS: f64 = 3.0;
// The information criterion of Schwarz has 2: one for a level and one for its place. That is doubled: at 2 one white series in ten (of
// 60 values) gets a level too many before the rules below, at 4 one in two hundred.
const PENALTY: f64 = 4.0;
// A longer memory looks the same as that of a series of levels.
const MEMORY_MAX: f64 = 0.9;
// The estimate of the memory is off by about 1 / sqrt(n); if it is too low, slow noise is taken for levels.
const DIFFERENCE_DEVIATIONS_MAX: f64 = 5.0;
const MEMORY_DOUBT: f64 = 2.0;
// No counter of a disk is steadier than this for long, and a series without noise needs some.
const NOISE_SHARE_MIN: f64 = 0.01;
/// Levels that differ by less are alike: two runs on a shared machine differ by as much.
pub const SHIFT_SHARE_MIN: f64 = 0.10;
/// The share of the higher level and the standard deviations of the intervals by which two levels differ, one of these pairs: what is
/// plainly seen in a quiet series counts from a twentieth on.
const SHIFT_MIN: [(f64, f64); 2] = [(0.05, 3.0), (SHIFT_SHARE_MIN, 1.2)];
// If a straight ramp is cut in two, the eighths next to the cut differ by a quarter of what the halves do; those of a step by all.
const SHARP_SHARE_MIN: f64 = 0.6;
const NEXT_TO_CUT_PART: usize = 4;
const NEXT_TO_CUT_MAX: usize = 40;
/// A drop lasts a tenth of the run at most: what is longer is a level of its own.
const DROPS_PER_RUN: usize = 10;

/// A stretch of a series that keeps to one level.
#[derive(Clone, Debug, PartialEq)]
pub struct LevelRange {
    /// The indices of its intervals.
    pub range: Range<usize>,
    /// The median of its values.
    pub median: f64,
    /// Their robust standard deviation.
    pub deviation: f64,
}

impl LevelRange {
    fn measure(values: &[f64], range: Range<usize>) -> LevelRange {
        let own = &values[range.clone()];
        LevelRange { median: median(own).unwrap_or(0.0), deviation: robust_deviation(own), range }
    }
}

/// The levels of `values`, which follow each other without a gap: one if nothing shifts, none if there are no values.
pub fn find_levels(values: &[f64]) -> Vec<LevelRange> {
    if values.is_empty() {
        return Vec::new();
    }
    let block = values.len().div_ceil(BLOCKS_MAX);
    let blocks: Vec<f64> = values.chunks(block).map(|chunk| median(chunk).unwrap_or(0.0)).collect();
    let cuts = find_cuts(&without_outliers(&blocks));
    let bounds: Vec<usize> = cuts.iter().map(|cut| cut * block).chain([values.len()]).collect();
    let mut found: Vec<LevelRange> =
        bounds.windows(2).map(|pair| LevelRange::measure(values, pair[0]..pair[1])).collect();
    join_while(values, &mut found, find_excursion);
    join_while(values, &mut found, find_weak_shift);
    join_while(values, &mut found, find_cut_off_drop);
    refine_shifts(values, &mut found, block);
    found
}

/// The values, with outliers moved up to the neighbours that they differ from.
fn without_outliers(values: &[f64]) -> Vec<f64> {
    let half = NEIGHBOURS / 2;
    let around = (0..values.len()).map(|at| &values[at.saturating_sub(half)..(at + half + 1).min(values.len())]);
    let middle: Vec<f64> = around.map(|neighbours| median(neighbours).unwrap_or(0.0)).collect();
    let apart: Vec<f64> = values.iter().zip(&middle).map(|(value, middle)| value - middle).collect();
    let most = OUTLIER_DEVIATIONS * robust_deviation(&apart);
    apart.iter().zip(&middle).map(|(apart, middle)| middle + apart.clamp(-most, most)).collect()
}

/// The indices at which levels begin; the first is 0.
fn find_cuts(values: &[f64]) -> Vec<usize> {
    let n = values.len();
    let penalty = PENALTY * long_run_variance(values) * (n as f64).ln();
    let sums = PrefixSums::from_values(values);
    let mut best = vec![f64::INFINITY; n + 1];
    let mut previous = vec![0; n + 1];
    // Each level adds the penalty, and the first begins with its negative: so only shifts cost.
    best[0] = -penalty;
    let mut candidates: Vec<usize> = Vec::new();
    for end in LENGTH_MIN.min(n)..=n {
        candidates.extend(end.checked_sub(LENGTH_MIN).or((end == n).then_some(0)));
        let costs = candidates.iter().map(|from| (*from, best[*from] + sums.squares_about_mean(*from..end)));
        let costs: Vec<(usize, f64)> = costs.collect();
        let cheapest = costs.iter().copied().min_by(|a, b| a.1.total_cmp(&b.1));
        let (from, least) = cheapest.unwrap_or((0, best[0] + sums.squares_about_mean(0..end)));
        // What costs more than the best even without a further penalty will never be the best.
        candidates = costs.iter().filter(|(_, cost)| *cost <= least + penalty).map(|(from, _)| *from).collect();
        (best[end], previous[end]) = (least + penalty, from);
    }
    // Each end has only the start of its last level: the cuts are read backwards from the end of the series.
    let mut cuts = vec![previous[n]];
    while cuts[cuts.len() - 1] > 0 {
        cuts.push(previous[cuts[cuts.len() - 1]]);
    }
    cuts.reverse();
    cuts
}

/// The variance that the mean of many values has, times their number. The differences of a process with memory m have the
/// variance 2 g (1 - m), where g is that of the values, and its long-run variance is g (1 + m) / (1 - m).
fn long_run_variance(values: &[f64]) -> f64 {
    let usual = median(values).unwrap_or(0.0);
    let floor = (NOISE_SHARE_MIN * usual).powi(2).max(f64::MIN_POSITIVE);
    if values.len() <= 2 {
        return floor;
    }
    let [one, two] = [1, 2].map(|lag| lagged_differences(values, lag));
    let [one_apart, two_apart] = [&one, &two].map(|all| clipped_variance(all));
    // Differences over two steps have the variance 2 g (1 - m^2): divided by that over one step, this is 1 + m.
    let doubt = MEMORY_DOUBT / (values.len() as f64).sqrt();
    let memory = if one_apart > 0.0 { (two_apart / one_apart - 1.0 + doubt).clamp(0.0, MEMORY_MAX) } else { 0.0 };
    (clipped_variance(&one) / 2.0 * (1.0 + memory) / (1.0 - memory).powi(2)).max(floor)
}

fn lagged_differences(values: &[f64], lag: usize) -> Vec<f64> {
    values.iter().zip(&values[lag..]).map(|(a, b)| b - a).collect()
}

/// The variance about 0, to which no difference gives more than one of so many robust deviations: of noise with tails it is
/// more than the robust one, and shifts hardly raise it.
fn clipped_variance(differences: &[f64]) -> f64 {
    let most = DIFFERENCE_DEVIATIONS_MAX * robust_deviation(differences);
    let squares: Vec<f64> = differences.iter().map(|difference| difference.clamp(-most, most).powi(2)).collect();
    mean(&squares)
}

/// Sums from the beginning, so that the sum of any stretch is a difference of two.
struct PrefixSums {
    values: Vec<f64>,
    squares: Vec<f64>,
}

impl PrefixSums {
    fn from_values(values: &[f64]) -> PrefixSums {
        // About the mean: the squares of large numbers that hardly differ would drown the differences.
        let mean = mean(values);
        let apart = values.iter().map(|value| value - mean);
        PrefixSums { values: running_sums(apart.clone()), squares: running_sums(apart.map(|apart| apart * apart)) }
    }

    fn squares_about_mean(&self, range: Range<usize>) -> f64 {
        let sum = self.values[range.end] - self.values[range.start];
        let squares = self.squares[range.end] - self.squares[range.start];
        (squares - sum * sum / range.len() as f64).max(0.0)
    }
}

/// The sums of the first 0, 1, 2 and so on of `values`.
fn running_sums(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut sum = 0.0;
    let sums = values.map(|value| {
        sum += value;
        sum
    });
    [0.0].into_iter().chain(sums).collect()
}

/// Joins levels for as long as `which` returns the range of some.
fn join_while(values: &[f64], levels: &mut Vec<LevelRange>, which: fn(&[f64], &[LevelRange]) -> Option<Range<usize>>) {
    while let Some(some) = which(values, levels) {
        let range = levels[some.start].range.start..levels[some.end - 1].range.end;
        levels.splice(some, [LevelRange::measure(values, range)]);
    }
}

/// The first level from which the rate returns to the level before it, after at most half of the time of the shorter neighbour: a
/// drop, or a peak. A drop may come again soon, if it is short. The range is of the three levels.
fn find_excursion(values: &[f64], levels: &[LevelRange]) -> Option<Range<usize>> {
    let drop_max = values.len() / DROPS_PER_RUN;
    let first = levels.windows(3).position(|three| is_excursion(three, drop_max))?;
    Some(first..first + 3)
}

fn is_excursion(three: &[LevelRange], drop_max: usize) -> bool {
    let [before, own, after] = three else { return false };
    let (from, to) = (own.median - before.median, own.median - after.median);
    let returns = from * to > 0.0 && (before.median - after.median).abs() <= SHARP_SHARE_MIN * from.abs().min(to.abs());
    let is_short_drop = from < 0.0 && own.range.len() <= drop_max;
    returns && (is_short_drop || own.range.len() * 2 <= before.range.len().min(after.range.len()))
}

/// The first or last level and its neighbour, if it is a drop that the run cut off: as low as drops of the neighbour, and at most
/// twice as long as the longest of them.
fn find_cut_off_drop(values: &[f64], levels: &[LevelRange]) -> Option<Range<usize>> {
    let last = levels.len().checked_sub(2)?;
    let at_end = is_cut_off_drop(values, &levels[last + 1], &levels[last]).then_some(last..last + 2);
    at_end.or_else(|| is_cut_off_drop(values, &levels[0], &levels[1]).then_some(0..2))
}

fn is_cut_off_drop(values: &[f64], level: &LevelRange, neighbour: &LevelRange) -> bool {
    let drops = find_drops(values, std::slice::from_ref(neighbour));
    let is_as_low = drops.iter().any(|drop| (drop.to - level.median).abs() <= (drop.from - drop.to) / 4.0);
    is_as_low && drops.iter().any(|drop| level.range.len() <= 2 * drop.range.len())
}

/// The pair of levels that differs least, if it differs too little, or if one becomes the other slowly.
fn find_weak_shift(values: &[f64], levels: &[LevelRange]) -> Option<Range<usize>> {
    let pairs = levels.windows(2).enumerate().filter(|(_, pair)| is_weak_shift(values, pair));
    let (first, _) = pairs.min_by(|a, b| shift_share(a.1).total_cmp(&shift_share(b.1)))?;
    Some(first..first + 2)
}

fn is_weak_shift(values: &[f64], pair: &[LevelRange]) -> bool {
    let deviation = pair[0].deviation.min(pair[1].deviation);
    let shift = (pair[1].median - pair[0].median).abs();
    let is_at_least = |(share, deviations): (f64, f64)| shift_share(pair) >= share && shift >= deviations * deviation;
    !SHIFT_MIN.into_iter().any(is_at_least) || !is_sharp(values, pair) || is_ramp(values, pair)
}

/// By which share of the higher level a pair differs.
fn shift_share(pair: &[LevelRange]) -> f64 {
    let (before, after) = (pair[0].median, pair[1].median);
    (after - before).abs() / before.max(after).max(f64::MIN_POSITIVE)
}

/// Whether the values next to the cut differ by most of what the levels do.
fn is_sharp(values: &[f64], pair: &[LevelRange]) -> bool {
    let (before, after) = (&pair[0], &pair[1]);
    let count = (before.range.len().min(after.range.len()) / NEXT_TO_CUT_PART).clamp(3, NEXT_TO_CUT_MAX);
    let at = after.range.start;
    // One to either side may belong to the other level in part, or by the length of a block.
    let last = mean(&clipped(&values[at.saturating_sub(count + 1).max(before.range.start)..at - 1], pair));
    let first = mean(&clipped(&values[at + 1..(at + 1 + count).min(after.range.end)], pair));
    (first - last) / (after.median - before.median) >= SHARP_SHARE_MIN
}

/// Whether a straight line fits better than two levels do: next to the cut, over as much of both levels as the shorter one has, or over
/// all of both. The step has the place of the cut more to fit, which is worth ln(n) variances (Schwarz).
fn is_ramp(values: &[f64], pair: &[LevelRange]) -> bool {
    let (before, after) = (&pair[0], &pair[1]);
    let at = after.range.start;
    let shorter = before.range.len().min(after.range.len());
    let near = [shorter.div_ceil(2), shorter].map(|reach| [at - reach..at, at..at + reach]);
    near.into_iter().chain([[before.range.clone(), after.range.clone()]]).any(|[left, right]| {
        let [left, right] = [left, right].map(|range| clipped(&values[range], pair));
        let both = [left.as_slice(), &right].concat();
        let step = squares_about_mean(&left) + squares_about_mean(&right);
        let n = both.len() as f64;
        squares_about_line(&both) < step * (1.0 + n.ln() / n)
    })
}

fn squares_about_mean(values: &[f64]) -> f64 {
    variance(values) * (values.len() as f64 - 1.0)
}

/// The squares that a straight line through `values` leaves, by least squares.
fn squares_about_line(values: &[f64]) -> f64 {
    let (middle, mean) = ((values.len() as f64 - 1.0) / 2.0, mean(values));
    let places = || (0..values.len()).map(|at| at as f64 - middle);
    let spread: f64 = places().map(|place| place.powi(2)).sum();
    let together: f64 = places().zip(values).map(|(place, value)| place * (value - mean)).sum();
    squares_about_mean(values) - together.powi(2) / spread.max(f64::MIN_POSITIVE)
}

/// Some values of a pair of levels, of which outliers are moved to the ends of their noise.
fn clipped(values: &[f64], pair: &[LevelRange]) -> Vec<f64> {
    let ends = pair.iter().map(|level| (level.median, OUTLIER_DEVIATIONS * level.deviation));
    let (least, most) = ends.fold((f64::MAX, f64::MIN), |(least, most), (median, reach)| {
        (least.min(median - reach), most.max(median + reach))
    });
    values.iter().map(|value| value.clamp(least, most)).collect()
}

/// Moves each shift to the interval at which the values fit both levels best.
fn refine_shifts(values: &[f64], levels: &mut [LevelRange], block: usize) {
    for nth in 1..levels.len() {
        let (before, after) = (levels[nth - 1].clone(), levels[nth].clone());
        let reach = block + LENGTH_MIN;
        let at = after.range.start;
        let from = at.saturating_sub(reach).max(before.range.start + 1);
        let to = (at + reach).min(after.range.end - 1);
        let misfits = (from..=to).map(|cut| {
            let misfit = misfit(&values[from..cut], &before, &after) + misfit(&values[cut..to], &after, &before);
            (cut, misfit)
        });
        let cut = misfits.min_by(|a, b| a.1.total_cmp(&b.1)).map_or(at, |(cut, _)| cut);
        levels[nth - 1] = LevelRange::measure(values, before.range.start..cut);
        levels[nth] = LevelRange::measure(values, cut..after.range.end);
    }
}

/// The squares of the distances of `values` from their level; an outlier gives no more than a value of the `other` level, so that it does
/// not move the cut.
fn misfit(values: &[f64], own: &LevelRange, other: &LevelRange) -> f64 {
    let most = (other.median - own.median).abs();
    values.iter().map(|value| (value - own.median).abs().min(most).powi(2)).sum()
}

/// A stretch of the run phase with one level.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct LevelSpan {
    pub span: Span,
    /// The median rate of its intervals.
    pub ops_per_s: f64,
    /// The robust standard deviation of the intervals' rates.
    pub deviation: f64,
}

/// `levels` without those that are `stalls` for half of their time; those before and after that are alike are joined.
pub fn settled_levels(levels: impl IntoIterator<Item = LevelSpan>, stalls: &[Span]) -> Vec<LevelSpan> {
    let mut settled: Vec<LevelSpan> = Vec::new();
    for level in levels {
        let stalled_s: f64 = stalls.iter().map(|stall| stall.overlap_s(&level.span)).sum();
        if stalled_s * 2.0 >= level.span.length_s() {
            continue;
        }
        match settled.last_mut() {
            // Neighbours differ, or they would be one level: only those on both sides of what is left out may be alike.
            Some(last) if last.span.to_s < level.span.from_s && are_alike(last, &level) => {
                last.span.to_s = level.span.to_s;
            }
            _ => settled.push(level),
        }
    }
    settled
}

fn are_alike(one: &LevelSpan, other: &LevelSpan) -> bool {
    (one.ops_per_s - other.ops_per_s).abs() < SHIFT_SHARE_MIN * one.ops_per_s.max(other.ops_per_s)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulated::{NOISES, Noise, Random};

    fn noisy(seed: u64, n: usize, deviation: f64, level: impl Fn(usize) -> f64) -> Vec<f64> {
        let mut random = Random::new(seed);
        (0..n).map(|at| (level(at) + deviation * random.normal()).max(0.0)).collect()
    }

    /// Where levels begin and what they are, to the nearest ten.
    fn shape(values: &[f64]) -> Vec<(usize, f64)> {
        find_levels(values).iter().map(|level| (level.range.start, (level.median / 10.0).round() * 10.0)).collect()
    }

    #[test]
    fn a_limit_lowered_and_raised_again_makes_three_levels_that_begin_where_it_was_changed() {
        for seed in 0..50 {
            let values = noisy(seed, 60, 40.0, |at| if (16..32).contains(&at) { 1_000.0 } else { 3_000.0 });
            let begins: Vec<usize> = find_levels(&values).iter().map(|level| level.range.start).collect();
            assert_eq!(begins, [0, 16, 32], "seed {seed}");
        }
    }

    #[test]
    fn a_drive_of_380_that_becomes_300_and_unstable_after_4000_s_has_two_levels() {
        let mut random = Random::new(1);
        let one = |at| if at < 4_000 { 380.0 + 5.0 * random.normal() } else { 300.0 + 30.0 * random.normal() };
        let found = find_levels(&(0..18_000).map(one).collect::<Vec<f64>>());
        assert!(found.len() == 2 && found[1].range.start.abs_diff(4_000) <= 1, "{found:?}");
        assert!(found[1].deviation > 4.0 * found[0].deviation, "{found:?}");
    }

    #[test]
    fn what_is_left_again_soon_is_a_drop_and_no_level() {
        for length in [1, 3, 12, 30] {
            let values = noisy(3, 1_800, 1.5, |at| if at % 120 >= 120 - length { 87.0 } else { 148.0 });
            // The end cuts off the last drop.
            let found = find_levels(&values[..1_799]);
            assert_eq!(found.len(), 1, "{length}: {found:?}");
            let drops = find_drops(&values[..1_799], &found);
            let ranges: Vec<Range<usize>> = drops.iter().map(|drop| drop.range.clone()).collect();
            let expected: Vec<Range<usize>> = (1..15).map(|n| n * 120 - length..n * 120).collect();
            assert_eq!(ranges[..14], expected, "{length}");
            // Nothing is left of a drop of one interval at the end.
            let last = (length > 1).then_some(1_800 - length..1_799);
            assert_eq!(ranges.get(14), last.as_ref(), "{length}");
        }
    }

    #[test]
    fn a_ramp_a_slow_wave_and_a_level_approached_slowly_have_no_shift() {
        assert_eq!(find_levels(&noisy(1, 1_800, 3.0, |at| 375.0 + at as f64 / 10.0)).len(), 1);
        assert_eq!(find_levels(&noisy(2, 1_800, 3.0, |at| 375.0 + 25.0 * (at as f64 / 30.0).sin())).len(), 1);
        assert_eq!(find_levels(&noisy(3, 1_800, 5.0, |at| 550.0 + 300.0 * (-(at as f64) / 150.0).exp())).len(), 1);
    }

    #[test]
    fn a_lone_outlier_is_no_level_but_a_drop_if_it_is_deep() {
        for (to, drops) in [(100.0, 1), (600.0, 1), (750.0, 0)] {
            let values = noisy(1, 60, 20.0, |at| if at == 30 { to } else { 1_000.0 });
            let found = find_levels(&values);
            assert_eq!((found.len(), find_drops(&values, &found).len()), (1, drops), "to {to}");
        }
    }

    #[test]
    fn levels_that_are_alike_are_joined_and_those_in_a_stall_are_left_out() {
        let level = |from_s, to_s, ops_per_s| LevelSpan { span: Span { from_s, to_s }, ops_per_s, deviation: 1.0 };
        let found = [level(0.0, 5.0, 148.0), level(5.0, 9.0, 1.0), level(9.0, 20.0, 150.0), level(20.0, 30.0, 90.0)];
        let settled = settled_levels(found, &[Span { from_s: 5.0, to_s: 9.0 }]);
        assert_eq!(settled, [level(0.0, 20.0, 148.0), level(20.0, 30.0, 90.0)]);
    }

    #[test]
    fn series_without_noise_and_short_ones_are_taken() {
        assert_eq!(find_levels(&[]), Vec::new());
        for n in [1, 2, 3, 9, 3_000] {
            assert_eq!(shape(&vec![100.0; n]), [(0, 100.0)], "{n}");
            assert_eq!(shape(&vec![0.0; n]), [(0, 0.0)], "{n}");
        }
        let step: Vec<f64> = (0..20).map(|at| if at < 9 { 100.0 } else { 50.0 }).collect();
        assert_eq!(shape(&step), [(0, 100.0), (9, 50.0)]);
    }

    /// The first noises have normal tails. Of the others every tenth to hundredth value is half of the median or less.
    const WITHOUT_TAIL: usize = 3;

    /// In how many of 400 seeds of a noise about 1000 a shift or a drop is found.
    fn false_alarms(n: usize, noise: Noise, deviation: f64) -> [usize; 2] {
        (0..400).fold([0, 0], |[shifted, dropped], seed| {
            let noise = noise(&mut Random::new(seed), n);
            let values: Vec<f64> = noise.iter().map(|value| (1e3 * (1.0 + deviation * value)).max(0.0)).collect();
            let found = find_levels(&values);
            let has_drops = !find_drops(&values, &found).is_empty();
            [shifted + usize::from(found.len() > 1), dropped + usize::from(has_drops)]
        })
    }

    #[test]
    fn noise_has_a_shift_in_two_percent_of_runs_at_most_and_a_drop_in_one_if_it_has_no_heavy_tail() {
        for (nth, (name, noise)) in NOISES.into_iter().enumerate() {
            let [shifted, dropped] = false_alarms(60, noise, 0.1);
            let dropped_max = if nth < WITHOUT_TAIL { 4 } else { 400 };
            assert!(shifted <= 8 && dropped <= dropped_max, "{name}: {shifted} shifts, {dropped} drops in 400 runs");
        }
    }

    #[test]
    fn the_end_of_a_heavy_tail_is_a_drop_in_one_run_of_four_at_most() {
        for (name, noise) in &NOISES[WITHOUT_TAIL..WITHOUT_TAIL + 2] {
            for n in [60, 300] {
                let [_, dropped] = false_alarms(n, *noise, 0.1);
                assert!(dropped <= 100, "{name}, {n} intervals: {dropped} drops in 400 runs");
            }
        }
    }
}
