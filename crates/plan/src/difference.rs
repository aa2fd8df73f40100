//! What difference a comparison could show, before it is measured.

use model::sure::{PAIRS_MIN, SurePlan};
use statrs::distribution::{ContinuousCDF, StudentsT};

/// By how much repeats of a point on a quiet machine usually vary: the standard deviation of a rate as a share of its mean.
pub const USUAL_SPREAD: f64 = 0.03;

/// The smallest relative difference that `pairs` pairs of points can tell from none, if each point varies by `spread` (a share of its mean,
/// one standard deviation): half the width of the 95 % interval of the mean difference of pairs, t(0.975, n - 1) s / sqrt(n), of the logarithms
/// of rates. The difference of two independent points has sqrt(2) times the spread of one. Source: Student, "The probable error of
/// a mean", Biometrika 6 (1908); D. C. Montgomery, "Design and Analysis of Experiments", 2.5 (paired comparison). Assumes points
/// that are independent and normal. `None` of fewer than two pairs, which have no interval.
pub fn smallest_difference(pairs: u32, spread: f64) -> Option<f64> {
    let freedom = f64::from(pairs.checked_sub(1).filter(|freedom| *freedom > 0)?);
    let t = StudentsT::new(0.0, 1.0, freedom).ok()?.inverse_cdf(0.975);
    Some((t * spread * (2.0 / f64::from(pairs)).sqrt()).exp_m1())
}

/// The same of a comparison that goes on until it is sure, if `pairs` pairs are all that it gets: its last look spends what is left of the error, and
/// the error is shared with the other comparisons of the plan. `None` of fewer pairs than it looks at.
pub fn smallest_until_sure(sure: &SurePlan, pairs: u32, spread: f64) -> Option<f64> {
    // Before the boundary, which takes quantiles of all its looks.
    if pairs < PAIRS_MIN {
        return None;
    }
    let errors = sure.rule_at_the_end(pairs as usize).errors_at(pairs as usize);
    Some((errors * spread * (2.0 / f64::from(pairs)).sqrt()).exp_m1())
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::sure::Precision;

    #[test]
    fn who_looks_often_and_at_many_comparisons_sees_less() {
        let share = |pairs, comparisons| {
            let sure = SurePlan { difference: Precision::USUAL, pairs_max: 20, comparisons, budget: None };
            smallest_until_sure(&sure, pairs, USUAL_SPREAD)
        };
        assert_eq!(share(3, 1), None);
        let [four, six, twenty] = [4, 6, 20].map(|pairs| share(pairs, 1).expect("it is looked at"));
        assert!(four > six && six > twenty && (0.02..0.03).contains(&twenty), "{four} {six} {twenty}");
        assert!(smallest_difference(6, USUAL_SPREAD).is_some_and(|fixed| six > fixed));
        assert!(share(6, 10).is_some_and(|of_ten| of_ten > 1.5 * six));
    }

    #[test]
    fn more_pairs_show_smaller_differences_and_one_pair_shows_none() {
        let percent = |pairs| smallest_difference(pairs, USUAL_SPREAD).map(|share| (share * 1_000.0).round() / 10.0);
        // t is 3.182 with 3 degrees of freedom, and 2.571 with 5 (any table of the distribution).
        assert_eq!([1, 4, 6].map(percent), [None, Some(7.0), Some(4.6)]);
        assert!(smallest_difference(100, USUAL_SPREAD).unwrap() < 0.01);
    }
}
