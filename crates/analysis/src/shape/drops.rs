//! Short stretches far below the level that the rate keeps to.
//!
//! In: one number per interval, and the levels of these. Out: [`DropRange`]s.
//! Limits: the lowest intervals of noise with a heavy tail are no drops, so irregular drops of a single interval are not found.

use super::levels::LevelRange;
use super::rhythm::find_period;
use crate::Span;
use crate::stats::median;
use std::ops::Range;

// Less than a fifth is ordinary variation.
const DROP_SHARE_MIN: f64 = 0.20;
// Of normal noise one interval in 3.5 million.
const DROP_DEVIATIONS_MIN: f64 = 5.0;
// Lone intervals at equal distances: of four gaps at random, all are this equal in one case of a hundred.
const REGULAR_MIN: usize = 5;
// Several drops that last on average as long as this, or one of so many intervals: the ends of a tail come singly.
const LASTING_MIN: usize = 2;
const LONE_LENGTH_MIN: usize = 3;
// Of noise with a heavy tail, values that lie a quarter to a half as far below outnumber those that lie far below.
const HALFWAY_SHARE_MAX: f64 = 0.5;

/// A stretch of intervals far below its level.
#[derive(Clone, Debug, PartialEq)]
pub struct DropRange {
    /// Its intervals.
    pub range: Range<usize>,
    /// The median of its values.
    pub to: f64,
    /// The level that it left.
    pub from: f64,
}

/// The stretches of `values` that lie far below their level; none if they could be the tail of the noise.
pub fn find_drops(values: &[f64], levels: &[LevelRange]) -> Vec<DropRange> {
    find_drops_except(values, levels, |_| false)
}

/// The same without those that `is_other` names: they are something else, and do not count as drops in any rule.
pub fn find_drops_except(
    values: &[f64],
    levels: &[LevelRange],
    is_other: impl Fn(&Range<usize>) -> bool,
) -> Vec<DropRange> {
    let all = levels.iter().flat_map(|level| drops_from(values, level));
    let found: Vec<DropRange> = all.filter(|drop| !is_other(&drop.range)).collect();
    match are_regular(&found) || (are_lasting(&found) && stand_apart(values, levels, &found)) {
        true => found,
        false => Vec::new(),
    }
}

fn drops_from(values: &[f64], level: &LevelRange) -> Vec<DropRange> {
    let least = (DROP_DEVIATIONS_MIN * level.deviation).max(DROP_SHARE_MIN * level.median);
    let floor = level.median - least;
    let all: Vec<usize> = level.range.clone().collect();
    let runs = all.chunk_by(|a, b| (values[*a] < floor) == (values[*b] < floor)).filter(|run| values[run[0]] < floor);
    let drops = runs.map(|run| {
        let range = run[0]..run[run.len() - 1] + 1;
        DropRange { to: median(&values[range.clone()]).unwrap_or(0.0), from: level.median, range }
    });
    // What reaches to the end of its level is the way to the next one.
    drops.filter(|drop| drop.range.end < level.range.end && drop.range.start > level.range.start).collect()
}

fn are_regular(drops: &[DropRange]) -> bool {
    let starts: Vec<f64> = drops.iter().map(|drop| drop.range.start as f64).collect();
    drops.len() >= REGULAR_MIN && find_period(&starts).is_some()
}

fn are_lasting(drops: &[DropRange]) -> bool {
    let dropped: usize = drops.iter().map(|drop| drop.range.len()).sum();
    match drops.len() {
        0 => false,
        1 => dropped >= LONE_LENGTH_MIN,
        several => dropped >= LASTING_MIN * several,
    }
}

/// Whether few values lie between the levels and the drops. The intervals next to a drop are left out: they may hold a part of it.
fn stand_apart(values: &[f64], levels: &[LevelRange], drops: &[DropRange]) -> bool {
    let depths: Vec<f64> = drops.iter().map(|drop| drop.from - drop.to).collect();
    let Some(depth) = median(&depths) else { return false };
    let mut between = 0;
    for level in levels {
        let halfway = level.range.clone().filter(|at| (0.25..0.5).contains(&((level.median - values[*at]) / depth)));
        between += halfway.filter(|at| !is_next_to_drop(drops, *at)).count();
    }
    let dropped: usize = drops.iter().map(|drop| drop.range.len()).sum();
    between as f64 <= HALFWAY_SHARE_MAX * dropped as f64
}

fn is_next_to_drop(drops: &[DropRange], at: usize) -> bool {
    drops.iter().any(|drop| at + 1 >= drop.range.start && at <= drop.range.end)
}

/// A stretch of the run phase far below its level.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct DropSpan {
    /// When.
    pub span: Span,
    /// The level that it left.
    pub from_per_s: f64,
    /// The median rate in it.
    pub to_per_s: f64,
}
