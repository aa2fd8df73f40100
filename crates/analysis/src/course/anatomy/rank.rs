//! The test by which a counter is named: do the dips have more of its highest values than chance would give them?
//!
//! In: how many dips and other intervals there are, and how many of the others reach the value that most dips reach. Out: a probability.
//! Limits: it assumes that the dips lie at random among the intervals if they have nothing to do with the counter. It does not assume
//! anything of the counter: not even that its values are independent of each other.

use statrs::distribution::{DiscreteCDF, Hypergeometric};

/// How many of so many dips must agree: three of four.
pub fn agreeing(dips: usize) -> usize {
    (3 * dips).div_ceil(4)
}

/// The probability that [`agreeing`] of `dips` places drawn at random from `dips + others` are among the highest `above + agreeing`, where
/// `above` is how many of the others reach the least of these dips. Exact: the tail of the hypergeometric distribution, as in precedence
/// tests (N. Balakrishnan and H. K. T. Ng, "Precedence-Type Tests and Applications", Wiley 2006, chapter 3). Ties count against the dips.
pub fn chance_of_rank(dips: usize, others: usize, above: usize) -> f64 {
    let needed = agreeing(dips);
    let (all, highest) = ((dips + others) as u64, (above + needed) as u64);
    let drawn = Hypergeometric::new(all, highest, dips as u64).expect("no part is larger than the whole");
    drawn.sf(needed as u64 - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_of_four_dips_must_agree_and_of_three_all() {
        assert_eq!([3, 4, 5, 8, 10].map(agreeing), [3, 3, 4, 6, 8]);
    }

    #[test]
    fn the_chance_is_that_of_counting_the_cases() {
        // All three of sixty: one case of C(60, 3) = 34,220.
        assert!((chance_of_rank(3, 57, 0) * 34_220.0 - 1.0).abs() < 1e-6);
        // Three of the four highest of ten: C(4, 3) of C(10, 3) = 120.
        assert!((chance_of_rank(3, 7, 1) * 120.0 - 4.0).abs() < 1e-6);
        assert!((chance_of_rank(3, 7, 7) - 1.0).abs() < 1e-9);
    }
}
