//! How sure a comparison must be at each of several looks, so that looking again and again raises no more false alarms than one look.
//!
//! In: at which numbers of pairs one looks, and the share of false alarms that is allowed. Out: a [`Boundary`]: for each look the level at which
//! a difference is called. Limits: the levels are those of normal values whose variance is known; a few pairs are compared with Student's t of the
//! same level, which the simulations in `analysis::known_answers` cover.
//!
//! Sources: K. K. G. Lan and D. L. DeMets, "Discrete sequential boundaries for clinical trials", Biometrika 70(3), 1983 (the error is spent as
//! information comes in, whenever one looks); K. Kim and D. L. DeMets, "Design and analysis of group sequential tests based on the type I error
//! spending rate function", Biometrika 74(1), 1987 (the function, a power of the share of information; the third power is like the boundary of
//! O'Brien and Fleming); P. Armitage, C. K. McPherson and B. C. Rowe, "Repeated significance tests on accumulating data", JRSS A 132(2), 1969 (the
//! integral); C. Jennison and B. W. Turnbull, "Group Sequential Methods", 2000, sections 3.8 and 7.2 (levels in place of boundaries for Student's t).

use crate::mean_interval::normal_tail;
use statrs::distribution::{Continuous, Normal};

/// The first look: with fewer pairs nothing is concluded, here and wherever repeats are compared.
pub const PAIRS_MIN: u32 = 4;
/// The power of the share of information by which the error is spent. The function that Lan and DeMets give for O'Brien and Fleming leaves a
/// millionth for four pairs of twenty: Student's t with three degrees of freedom would have to be above 130 there, and nothing could end so soon.
const SPENDING_POWER: i32 = 3;
/// Two looks are at least so far apart: closer ones see the same pairs again.
const LOOK_GROWTH: f64 = 1.1;
/// Points of the grid on which the integral is computed: an odd number.
const GRID: usize = 161;
/// So many standard deviations off there is nothing more.
const FURTHEST: f64 = 8.0;
/// Less than this is nothing.
const SPENT_MIN: f64 = 1e-14;

/// The levels at which differences are called.
#[derive(Clone, Debug, PartialEq)]
pub struct Boundary {
    looks: Vec<Look>,
    error: f64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Look {
    pairs: u32,
    /// The greatest chance, on both sides together, at which a difference is called here.
    level: f64,
}

impl Boundary {
    /// The boundary of at most `pairs_max` pairs, at which equal arms are called different in a share `error` of all cases.
    pub fn planned(pairs_max: u32, error: f64) -> Boundary {
        Boundary::of_looks(&looks(pairs_max), pairs_max, error)
    }

    /// That of a comparison that was planned with `pairs_max` pairs and ended with fewer, because its time was over: its last look, at `pairs`,
    /// spends what is left. When it ends must not depend on what was seen.
    pub fn ended(pairs: u32, pairs_max: u32, error: f64) -> Boundary {
        let mut before: Vec<u32> = looks(pairs_max).into_iter().filter(|look| *look < pairs).collect();
        before.push(pairs.max(PAIRS_MIN));
        Boundary::of_looks(&before, pairs_max, error)
    }

    fn of_looks(looks: &[u32], pairs_max: u32, error: f64) -> Boundary {
        let last = looks.len().saturating_sub(1);
        let spent = |(nth, pairs): (usize, &u32)| {
            let information = f64::from(*pairs) / f64::from(pairs_max.max(1));
            if nth == last { error } else { error * information.min(1.0).powi(SPENDING_POWER) }
        };
        let spent: Vec<f64> = looks.iter().enumerate().map(spent).collect();
        let levels = levels(looks, &spent);
        Boundary {
            looks: looks.iter().zip(levels).map(|(pairs, level)| Look { pairs: *pairs, level }).collect(),
            error,
        }
    }

    /// The numbers of pairs at which one looks, in order.
    pub fn looks(&self) -> impl Iterator<Item = u32> + '_ {
        self.looks.iter().map(|look| look.pairs)
    }

    /// The level of the last look at no more than `pairs` pairs; that of the first with fewer.
    pub fn level_at(&self, pairs: u32) -> f64 {
        let before = self.looks.iter().rev().find(|look| look.pairs <= pairs);
        before.or(self.looks.first()).map_or(self.error, |look| look.level)
    }

    /// The share of false alarms that it allows.
    pub fn error(&self) -> f64 {
        self.error
    }
}

/// At which numbers of pairs one looks: at each of the first ones, later after each tenth more, and at the last.
fn looks(pairs_max: u32) -> Vec<u32> {
    let mut looks = Vec::new();
    let mut next = PAIRS_MIN;
    while next < pairs_max {
        looks.push(next);
        next = (next + 1).max((f64::from(next) * LOOK_GROWTH).ceil() as u32);
    }
    looks.push(pairs_max.max(PAIRS_MIN));
    looks
}

/// What is left of the distribution of a sum that has not crossed a boundary yet: places, and the weight of each.
type Remaining = Vec<(f64, f64)>;

/// The levels at `looks` that spend `spent` of the error in all by each of them.
fn levels(looks: &[u32], spent: &[f64]) -> Vec<f64> {
    let mut remaining: Remaining = vec![(0.0, 1.0)];
    let (mut pairs, mut before) = (0.0, 0.0);
    let mut levels = Vec::new();
    for (look, spent) in looks.iter().zip(spent) {
        let now = f64::from(*look);
        let step = (now - pairs).sqrt();
        let furthest = FURTHEST * now.sqrt();
        let bound = bound(&remaining, step, spent - before, furthest);
        levels.push(2.0 * normal_tail(bound / now.sqrt()));
        remaining = advance(&remaining, step, bound);
        (pairs, before) = (now, *spent);
    }
    levels
}

/// The bound that a share `error` crosses on both sides together, when the sum goes on by a normal step of this deviation.
fn bound(remaining: &Remaining, step: f64, error: f64, furthest: f64) -> f64 {
    if error < SPENT_MIN {
        return furthest;
    }
    let crossing = |bound: f64| -> f64 {
        2.0 * remaining.iter().map(|(at, weight)| weight * normal_tail((bound - at) / step)).sum::<f64>()
    };
    let (mut low, mut high) = (0.0, furthest);
    for _ in 0..50 {
        let middle = (low + high) / 2.0;
        if crossing(middle) > error {
            low = middle;
        } else {
            high = middle;
        }
    }
    high
}

/// What is left within `bound` after a normal step of this deviation, on a grid for Simpson's rule.
fn advance(remaining: &Remaining, step: f64, bound: f64) -> Remaining {
    let normal = Normal::standard();
    let distance = 2.0 * bound / (GRID - 1) as f64;
    let point = |nth: usize| {
        let at = nth as f64 * distance - bound;
        let density: f64 = remaining.iter().map(|(from, weight)| weight * normal.pdf((at - from) / step) / step).sum();
        let simpson = match nth {
            0 => 1.0,
            nth if nth == GRID - 1 => 1.0,
            nth if nth % 2 == 1 => 4.0,
            _ => 2.0,
        };
        (at, density * simpson * distance / 3.0)
    };
    (0..GRID).map(point).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mean_interval::normal_quantile;

    #[test]
    fn one_look_is_the_test_that_everybody_knows() {
        let boundary = Boundary::planned(4, 0.05);
        assert_eq!(boundary.looks().collect::<Vec<_>>(), [4]);
        assert!((boundary.level_at(4) - 0.05).abs() < 1e-6, "{boundary:?}");
    }

    /// Five equal looks that spend the error as `spent` says: the bounds of a standard normal value.
    fn bounds(spent: impl Fn(f64) -> f64) -> Vec<f64> {
        let looks = [10, 20, 30, 40, 50];
        let spent: Vec<f64> = looks.iter().map(|look| spent(f64::from(*look) / 50.0)).collect();
        levels(&looks, &spent).iter().map(|level| normal_quantile(1.0 - level / 2.0)).collect()
    }

    #[test]
    fn five_looks_have_the_published_bounds_of_lan_and_demets() {
        // D. L. DeMets and K. K. G. Lan, "Interim analysis: the alpha spending function approach", Statistics in Medicine 13, 1994, table I: two
        // sides of 2.5 % each by the function like O'Brien and Fleming.
        let like_obrien_fleming = |t: f64| 4.0 * normal_tail(normal_quantile(1.0 - 0.05 / 4.0) / t.sqrt());
        for (found, published) in bounds(like_obrien_fleming).iter().zip([4.88, 3.36, 2.68, 2.29, 2.03]) {
            assert!((found - published).abs() < 0.015, "{found} {published}");
        }
        // The same paper, by the function like Pocock.
        let like_pocock = |t: f64| 0.05 * (1.0 + (std::f64::consts::E - 1.0) * t).ln();
        for (found, published) in bounds(like_pocock).iter().zip([2.44, 2.43, 2.41, 2.40, 2.39]) {
            assert!((found - published).abs() < 0.03, "{found} {published}");
        }
    }

    #[test]
    fn the_error_is_spent_late_and_all_of_it() {
        let boundary = Boundary::planned(20, 0.05);
        assert_eq!(boundary.looks().collect::<Vec<_>>(), [4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 20]);
        let level = |pairs| boundary.level_at(pairs);
        assert!((level(4) - 0.05 * 0.008).abs() < 1e-6, "{}", level(4));
        assert_eq!((level(12), level(2)), (level(11), level(4)), "between two looks the last one counts");
        assert!(
            boundary.looks().zip(boundary.looks().skip(1)).all(|(one, next)| level(one) < level(next)),
            "{boundary:?}"
        );
        assert!((0.03..0.05).contains(&level(20)), "looking costs little: {}", level(20));
    }

    #[test]
    fn a_comparison_whose_time_is_over_spends_the_rest_at_its_last_look() {
        let ended = Boundary::ended(9, 20, 0.05);
        assert_eq!(ended.looks().collect::<Vec<_>>(), [4, 5, 6, 7, 8, 9]);
        assert_eq!(ended.level_at(8), Boundary::planned(20, 0.05).level_at(8));
        assert!((0.04..0.05).contains(&ended.level_at(9)), "{ended:?}");
        assert_eq!(Boundary::ended(20, 20, 0.05), Boundary::planned(20, 0.05));
    }

    #[test]
    fn a_thousand_pairs_are_looked_at_some_fifty_times() {
        let looks = looks(1_000);
        assert!((40..60).contains(&looks.len()) && looks.ends_with(&[1_000]), "{looks:?}");
    }
}
