//! The place in a series that divides it best into a part before and a part after.
//!
//! In: values in the order of time. Out: an index. Source: D. Matteson and N. James, "A Nonparametric Approach for Multiple Change
//! Point Analysis of Multivariate Data", JASA 109(505), 2014 (E-divisive), as Hunter (M. Fleming and others, arXiv 2301.03034) and its
//! successor Apache Otava compute it.
//! Limits: it finds the best place, whether or not anything changed there: the caller tests that. Quadratic in time and memory, so it
//! is for windows of some dozens of values.

/// The fewest values that a part may have.
pub const PART_MIN: usize = 3;

/// The indices at which the second part of the best division of `values` begins and ends; `None` if they are too few for two parts.
///
/// It maximises Q = (t (k - t) / k) E over the end t of the first part and the end k of the second, where E is the energy distance of
/// both parts: twice the mean distance between them, less the mean distance within each (equations 5 and 7 of the source, with the
/// exponent 1). What follows k belongs to neither part: a third level would otherwise hide the first change.
pub fn best_division(values: &[f64]) -> Option<[usize; 2]> {
    let distances = PairDistances::new(values);
    let mut best: Option<(f64, [usize; 2])> = None;
    for end in 2 * PART_MIN..=values.len() {
        for at in PART_MIN..=end - PART_MIN {
            let q = distances.q(at, end);
            if best.is_none_or(|(most, _)| q > most) {
                best = Some((q, [at, end]));
            }
        }
    }
    best.map(|(_, division)| division)
}

/// The sums of the distances of all pairs in every stretch of a series.
struct PairDistances {
    /// By beginning and end of the stretch.
    within: Vec<Vec<f64>>,
}

impl PairDistances {
    fn new(values: &[f64]) -> PairDistances {
        let n = values.len();
        let mut within = vec![vec![0.0; n + 1]; n + 1];
        for from in (0..n).rev() {
            let mut of_first = 0.0;
            for to in from + 1..n {
                of_first += (values[from] - values[to]).abs();
                within[from][to + 1] = within[from + 1][to + 1] + of_first;
            }
        }
        PairDistances { within }
    }

    /// Q of the parts `0..at` and `at..end`.
    fn q(&self, at: usize, end: usize) -> f64 {
        let (before, after) = (self.within[0][at], self.within[at][end]);
        let between = self.within[0][end] - before - after;
        let (n, m) = (at as f64, (end - at) as f64);
        let energy = 2.0 * between / (n * m) - mean_distance(before, n) - mean_distance(after, m);
        n * m / (n + m) * energy
    }
}

/// The mean over the pairs of `n` values whose distances add up to `sum`.
fn mean_distance(sum: f64, n: f64) -> f64 {
    2.0 * sum / (n * (n - 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_divided_where_it_is() {
        for at in 3..=17 {
            let values: Vec<f64> =
                (0..20).map(|index| f64::from(u8::from(index >= at)) + 0.01 * (index % 3) as f64).collect();
            assert_eq!(best_division(&values).map(|[at, _]| at), Some(at));
        }
    }

    #[test]
    fn a_third_level_does_not_hide_the_first_change() {
        let levels: Vec<f64> = [[0.0; 6], [1.0; 6], [0.0; 6]].concat();
        assert!(matches!(best_division(&levels), Some([6 | 12, _])));
    }

    #[test]
    fn too_few_values_are_not_divided() {
        assert_eq!(best_division(&[1.0, 1.0, 1.0, 2.0, 2.0]), None);
        assert_eq!(best_division(&[1.0, 1.0, 1.0, 2.0, 2.0, 2.0]), Some([3, 6]));
    }

    /// The mean distance within each of the two parts is 2.
    #[test]
    fn q_is_that_of_the_definition() {
        let values = [1.0, 2.0, 4.0, 10.0, 11.0, 13.0];
        let distance = |i: usize, j: usize| f64::abs(values[i] - values[j]);
        let between: f64 = (0..3).flat_map(|i| (3..6).map(move |j| distance(i, j))).sum();
        let expected = 9.0 / 6.0 * (2.0 / 9.0 * between - 2.0 - 2.0);
        assert!((PairDistances::new(&values).q(3, 6) - expected).abs() < 1e-12);
    }
}
