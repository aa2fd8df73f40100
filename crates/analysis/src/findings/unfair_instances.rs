//! Finds instances that did not get equal shares of the machine.
//!
//! In: the operations of each instance in the run phase. Out: a note. Limits: instances with a few operations differ by chance, and have
//! no finding; shares that change places during the run can be equal in the end.

use super::{Detects, Finding, FindingKind};
use crate::evidence::PointView;
use crate::judgement::Severity;
use crate::numbers::instance_shares::{InstanceShares, counting_excess};
use serde::Serialize;
use words::quantity::{counted, percent, range, rate};

/// Instances that did unequal shares of the work.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(transparent)]
pub struct UnequalInstances {
    pub shares: InstanceShares,
}

/// Below, some of your users would call it another service.
const LEAST_TO_MOST: f64 = 0.8;

/// Beyond it chance alone is no explanation, of any number of instances.
const EXCESS_MIN: f64 = 5.0;

fn detect(view: &PointView) -> Vec<Finding> {
    let ops = &view.point.traits.outcome.instance_ops;
    let shares = view.measured.and_then(|measured| InstanceShares::from_ops(ops, measured.summary));
    shares
        .filter(|shares| {
            shares.least_to_most.is_some_and(|share| share < LEAST_TO_MOST) && counting_excess(&shares.ops) > EXCESS_MIN
        })
        .map(|shares| Finding::new(Severity::Note, UnequalInstances { shares }))
        .into_iter()
        .collect()
}

/// The most instances whose rates are listed.
const INSTANCES_MAX: usize = 16;

impl FindingKind for UnequalInstances {
    const SEVERITIES: &'static [Severity] = &[Severity::Note];
    const DETECTS: Detects = Detects::Point(detect);

    fn title(alike: &[&Self]) -> String {
        let share = range(alike, |one| one.shares.least_to_most.unwrap_or(0.0), percent);
        format!(
            "the slowest of {} did {share} of what the fastest did",
            counted(alike, |one| one.shares.n as u64, "instance")
        )
    }

    fn evidence(&self) -> String {
        let rates: Vec<String> =
            self.shares.ops_per_s.iter().take(INSTANCES_MAX).map(|per_s| rate(*per_s).to_string()).collect();
        let more = if self.shares.ops_per_s.len() > INSTANCES_MAX { ", ..." } else { "" };
        let fairness =
            self.shares.fairness.map_or(String::new(), |index| format!("; fairness {}", fairness_text(index)));
        format!("{}{more}{fairness}", rates.join(", "))
    }
}

/// Jain's index: rounded downwards, so that 1 is written of equal shares only.
pub fn fairness_text(index: f64) -> String {
    let floored = (index * 1e3).floor() / 1e3;
    if floored >= 1.0 { "1".to_owned() } else { format!("{floored:.3}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulated::Simulation;

    fn with_ops(ops: &[u64]) -> Simulation {
        let count = ops.iter().sum::<u64>() / 10;
        let ops = ops.to_vec();
        Simulation::counts(&[count; 10]).with(|point| {
            point.trial.target.instances = ops.len() as u32;
            point.traits.outcome.instance_ops = ops.clone();
        })
    }

    #[test]
    fn an_instance_with_half_of_the_others_is_found() {
        let UnequalInstances { shares } = with_ops(&[10_000, 10_000, 5_000]).figures();
        assert_eq!((shares.n, shares.least_to_most), (3, Some(0.5)));
    }

    #[test]
    fn equal_shares_and_few_operations_are_not() {
        for ops in [&[10_000, 9_000, 9_500][..], &[10, 6], &[50_000], &[]] {
            assert!(with_ops(ops).findings("unfair-instances").is_empty(), "{ops:?}");
        }
    }
}
