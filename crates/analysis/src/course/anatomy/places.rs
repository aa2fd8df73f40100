//! The places at which counters are compared: the dips, and the quiet intervals of the same run.
//!
//! In: the spans of stalls and drops, and the intervals of the run phase. Out: [`ComparedPlaces`]. Limits: dips that nearly touch are
//! one, because they are no two witnesses; what lies next to a dip is no quiet interval, because it may hold a part of it.

use crate::Span;
use crate::math::stats::median;

/// Fewer dips show nothing: two intervals of a run agree in many counters.
pub const DIPS_MIN: usize = 3;
/// More than this add nothing to the answer, and cost time.
const DIPS_MAX: usize = 200;
// Taken from all of the run. The median of 500 values is known to a twentieth of their spread.
const QUIET_MAX: usize = 500;
/// Dips with fewer intervals between them are one.
const APART_MIN: f64 = 3.0;
/// What is around a place: so many quiet intervals on each side.
const AROUND: usize = 8;

/// Where counters are compared.
pub struct ComparedPlaces {
    pub dips: Vec<Span>,
    pub quiet: Vec<Span>,
    /// The length of an interval in seconds.
    pub interval_s: f64,
    /// How many intervals lie between a place and the quiet intervals that it is compared with. It is the same number for quiet intervals
    /// and for dips: with more distance at the dips, counters that drift slowly would seem to move there.
    pub gap: usize,
}

impl ComparedPlaces {
    /// The places of a run with these dips, in order, among its `intervals`; `None` if there are too few of either.
    pub fn new(dips: &[Span], intervals: impl Iterator<Item = Span>, interval_s: f64) -> Option<ComparedPlaces> {
        let dips = joined(dips, APART_MIN * interval_s);
        let quiet: Vec<Span> = intervals
            .filter(|span| {
                // The half keeps an interval that only touches the margin by the last digits of its seconds.
                let near =
                    |dip: &Span| span.from_s < dip.to_s + 0.5 * interval_s && span.to_s > dip.from_s - 0.5 * interval_s;
                !dips.iter().any(near)
            })
            .collect();
        let is_enough = dips.len() >= DIPS_MIN && quiet.len() > 2 * AROUND;
        let gap = gap_of(&dips, interval_s);
        is_enough.then(|| ComparedPlaces { dips: thinned(&dips, DIPS_MAX), quiet, interval_s, gap })
    }

    /// The numbers of the quiet intervals around quiet interval number `at` of `len`.
    pub fn around_quiet(&self, at: usize, len: usize) -> impl Iterator<Item = usize> {
        let (before, after) = (at.saturating_sub(self.gap), (at + 1 + self.gap).min(len));
        around(before, after, len)
    }

    /// The numbers of the quiet intervals around a dip, the first after which is number `next` of `len`.
    pub fn around_dip(&self, next: usize, len: usize) -> impl Iterator<Item = usize> {
        around(next, next, len)
    }
}

/// `dips` with those as one that are less than `apart_s` from each other.
fn joined(dips: &[Span], apart_s: f64) -> Vec<Span> {
    let mut all: Vec<Span> = Vec::new();
    for dip in dips {
        match all.last_mut() {
            Some(last) if dip.from_s - last.to_s < apart_s => last.to_s = last.to_s.max(dip.to_s),
            _ => all.push(*dip),
        }
    }
    all
}

/// At most `most` of `all`, at equal distances.
pub fn thinned<T: Clone>(all: &[T], most: usize) -> Vec<T> {
    let step = all.len().div_ceil(most).max(1);
    all.iter().step_by(step).cloned().collect()
}

/// The quiet intervals that are compared with the dips, of so many: their numbers.
pub fn sampled(quiet: usize) -> Vec<usize> {
    thinned(&(0..quiet).collect::<Vec<_>>(), QUIET_MAX)
}

/// The distance of the quiet intervals around a dip from its first interval, before and after it, on average. What is next to a dip is not
/// quiet.
fn gap_of(dips: &[Span], interval_s: f64) -> usize {
    let lengths: Vec<f64> = dips.iter().map(|dip| dip.length_s() / interval_s).collect();
    let usual = median(&lengths).unwrap_or(1.0);
    ((usual + 1.0) / 2.0).round() as usize
}

/// So many numbers before `before`, and so many from `after` on, of `len`.
fn around(before: usize, after: usize, len: usize) -> impl Iterator<Item = usize> {
    (before.saturating_sub(AROUND)..before).chain(after..(after + AROUND).min(len))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn second(at: usize) -> Span {
        Span { from_s: at as f64, to_s: at as f64 + 1.0 }
    }

    #[test]
    fn dips_that_nearly_touch_are_one_and_their_neighbours_are_not_quiet() {
        let dips = [10, 12, 30, 50].map(second);
        let places = ComparedPlaces::new(&dips, (0..60).map(second), 1.0).expect("three dips are enough");
        let lengths: Vec<f64> = places.dips.iter().map(Span::length_s).collect();
        assert_eq!(lengths, [3.0, 1.0, 1.0]);
        let missing: Vec<usize> = (0..60).filter(|at| !places.quiet.contains(&second(*at))).collect();
        assert_eq!(missing, [9, 10, 11, 12, 13, 29, 30, 31, 49, 50, 51]);
    }

    #[test]
    fn two_dips_and_a_short_run_show_nothing() {
        assert!(ComparedPlaces::new(&[10, 30].map(second), (0..60).map(second), 1.0).is_none());
        assert!(ComparedPlaces::new(&[2, 9, 16].map(second), (0..20).map(second), 1.0).is_none());
    }

    #[test]
    fn a_place_is_compared_with_those_on_both_sides_of_it() {
        let dips = [10, 30, 50].map(|at| Span { from_s: at as f64, to_s: at as f64 + 3.0 });
        let places = ComparedPlaces::new(&dips, (0..60).map(second), 1.0).expect("three dips are enough");
        assert_eq!(places.around_quiet(3, 20).collect::<Vec<_>>(), [0, 6, 7, 8, 9, 10, 11, 12, 13]);
        assert_eq!(places.around_dip(19, 20).collect::<Vec<_>>(), [11, 12, 13, 14, 15, 16, 17, 18, 19]);
        assert_eq!(sampled(2_000).len(), 500);
    }
}
