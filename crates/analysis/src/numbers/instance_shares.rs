//! Several instances at once: what each did, and how evenly they shared the machine.
//!
//! In: the operations of each instance. Out: [`InstanceShares`]. Limits: the shares are of the whole run phase, also if only a part of it
//! counts for the rate. Instances have the same work, so a share is a share of the machine.

use crate::Summary;
use crate::math::stats::{mean, variance};
use serde::{Deserialize, Serialize};

/// What several instances did at once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct InstanceShares {
    /// How many there were.
    pub n: usize,
    /// Jain's index of fairness: 1 if all did the same, 1/n if one did everything. `None` if nothing was done.
    pub fairness: Option<f64>,
    /// What the slowest did, as a share of what the fastest did.
    pub least_to_most: Option<f64>,
    /// Operations per second of each, in their order; their sum is the rate of the point.
    pub ops_per_s: Vec<f64>,
    /// The operations that each did in the run phase.
    pub ops: Vec<u64>,
}

impl InstanceShares {
    /// The shares of instances that did `ops` each, at a point with the rates of `summary`; `None` of one instance.
    pub fn from_ops(ops: &[u64], summary: &Summary) -> Option<InstanceShares> {
        if ops.len() < 2 {
            return None;
        }
        let done: Vec<f64> = ops.iter().map(|ops| *ops as f64).collect();
        let total: f64 = done.iter().sum();
        let share = |ops: &f64| if total > 0.0 { ops / total } else { 0.0 };
        let [least, most] =
            [done.iter().copied().fold(f64::INFINITY, f64::min), done.iter().copied().fold(0.0, f64::max)];
        Some(InstanceShares {
            n: ops.len(),
            fairness: fairness(&done),
            least_to_most: (most > 0.0).then(|| least / most),
            ops_per_s: done.iter().map(|ops| share(ops) * summary.ops_per_s).collect(),
            ops: ops.to_vec(),
        })
    }

    /// The rates of the slowest and of the fastest.
    pub fn range_per_s(&self) -> [f64; 2] {
        let rates = || self.ops_per_s.iter().copied();
        [rates().fold(f64::INFINITY, f64::min), rates().fold(0.0, f64::max)]
    }
}

/// The index of R. Jain, D. Chiu and W. Hawe, "A Quantitative Measure of Fairness and Discrimination for Resource Allocation in Shared
/// Computer Systems", DEC-TR-301 (1984): the square of the sum over n times the sum of the squares.
fn fairness(amounts: &[f64]) -> Option<f64> {
    let (sum, squares) =
        amounts.iter().fold((0.0, 0.0), |(sum, squares), amount| (sum + amount, squares + amount * amount));
    (squares > 0.0).then(|| sum * sum / (amounts.len() as f64 * squares))
}

/// How many standard deviations the operations of instances lie apart that all had the same chance: by chance alone they would lie about
/// one apart.
pub(crate) fn counting_excess(ops: &[u64]) -> f64 {
    let done: Vec<f64> = ops.iter().map(|ops| *ops as f64).collect();
    (variance(&done) / mean(&done).max(1.0)).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shares(ops: &[u64]) -> Option<InstanceShares> {
        InstanceShares::from_ops(ops, &Summary { ops_per_s: 100.0, ..Summary::default() })
    }

    #[test]
    fn equal_shares_are_fair_and_one_that_takes_all_is_not() {
        let equal = shares(&[50, 50, 50, 50]).expect("there are four");
        assert_eq!((equal.fairness, equal.least_to_most, equal.ops_per_s), (Some(1.0), Some(1.0), vec![25.0; 4]));
        let greedy = shares(&[200, 0, 0, 0]).expect("there are four");
        assert_eq!((greedy.fairness, greedy.least_to_most), (Some(0.25), Some(0.0)));
    }

    #[test]
    fn the_index_is_the_square_of_the_sum_over_n_times_the_sum_of_the_squares() {
        // 100 for one and 10 for each of nine others: (100 + 90)^2 / (10 (10000 + 900)).
        let found = fairness(&[100.0, 10.0, 10.0, 10.0, 10.0, 10.0, 10.0, 10.0, 10.0, 10.0]).unwrap();
        assert!((found - 36_100.0 / 109_000.0).abs() < 1e-12, "{found}");
    }

    #[test]
    fn one_instance_has_no_shares_and_nothing_done_no_fairness() {
        assert_eq!(shares(&[50]), None);
        let idle = shares(&[0, 0]).expect("there are two");
        assert_eq!((idle.fairness, idle.least_to_most, idle.ops_per_s), (None, None, vec![0.0, 0.0]));
    }

    #[test]
    fn counts_that_differ_by_chance_lie_about_one_deviation_apart() {
        assert!(counting_excess(&[10_000, 10_100, 9_900, 10_050]) < 1.2);
        assert!(counting_excess(&[10_000, 5_000]) > 30.0);
    }
}
