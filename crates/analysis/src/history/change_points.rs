//! The change points of a series of runs.
//!
//! In: logarithms of values in the order of time. Out: the indices at which another level begins. Source: Hunter (M. Fleming and
//! others, "Hunter: Using Change Point Detection to Hunt for Performance Regressions", arXiv 2301.03034) and its successor Apache
//! Otava: E-divisive with means, Student's t in place of permutations, windows of 50 values, a first pass that lets weak points
//! through, and a filter that takes them away again, the weakest first.
//! Limits: a change needs [`PART_MIN`] values on either side. A ramp becomes one or two steps. The level of the test is that of one place:
//! in a quiet series of n runs there are at most n places where it can fail.

use super::contrast::Contrast;
use super::divisive::{PART_MIN, best_division};

/// A change is reported if chance makes so large a difference at its place less often than this.
pub const P_MAX: f64 = 0.001;
/// The first pass lets points through that are weaker by this factor: they may be strong after weaker neighbours were removed.
const WEAK: f64 = 10.0;
/// Values that are looked at together.
const WINDOW: usize = 50;
/// Changes by less than this share are not reported: 0.5 %. Without noise the test finds any difference at all.
pub const CHANGE_MIN: f64 = 0.005;
/// Series of fewer values cannot show a change.
pub const VALUES_MIN: usize = 2 * PART_MIN;

/// The indices at which another level of `logs` begins, in rising order.
pub fn change_points(logs: &[f64]) -> Vec<usize> {
    let mut points = weak_points(logs);
    while let Some(weakest) = weakest_point(logs, &points) {
        points.remove(weakest);
    }
    points
}

/// The points of all windows, each of which begins behind the last point of the one before, or half a window later.
fn weak_points(logs: &[f64]) -> Vec<usize> {
    let (mut points, mut start) = (Vec::new(), 0);
    while start < logs.len() {
        let end = logs.len().min(start + WINDOW);
        let mut found = Vec::new();
        divide(&logs[start..end], start, &mut found);
        found.sort_unstable();
        let last = found.last().copied().unwrap_or(0);
        points.append(&mut found);
        start = last.max(start + WINDOW / 2);
    }
    points.sort_unstable();
    points.dedup();
    points
}

/// Divides `part`, which begins at `offset`, as long as both halves differ.
fn divide(part: &[f64], offset: usize, found: &mut Vec<usize>) {
    let Some(at) = best_division(part) else { return };
    let (before, after) = part.split_at(at);
    if Contrast::of_independent(before, after).p < P_MAX * WEAK {
        found.push(offset + at);
        divide(before, offset, found);
        divide(after, offset + at, found);
    }
}

/// The place in `points` of the one that is to go next: the one with the greatest p that is too great, or else the smallest change that
/// is too small; `None` if all may stay.
fn weakest_point(logs: &[f64], points: &[usize]) -> Option<usize> {
    let all: Vec<Contrast> = contrasts(logs, points);
    let numbered = || all.iter().enumerate();
    let unlikely = numbered().max_by(|(_, a), (_, b)| a.p.total_cmp(&b.p)).filter(|(_, one)| one.p >= P_MAX);
    let size = |one: &Contrast| one.log_ratio.abs();
    let small = numbered().min_by(|(_, a), (_, b)| size(a).total_cmp(&size(b)));
    let small = small.filter(|(_, one)| size(one) < CHANGE_MIN.ln_1p());
    unlikely.or(small).map(|(at, _)| at)
}

/// The contrast at each of `points`: between the stretch since the point before it and the stretch to the point after it.
pub fn contrasts(logs: &[f64], points: &[usize]) -> Vec<Contrast> {
    let ends = [&[0], points, &[logs.len()]].concat();
    ends.windows(3).map(|ends| Contrast::between(&logs[ends[0]..ends[1]], &logs[ends[1]..ends[2]])).collect()
}
