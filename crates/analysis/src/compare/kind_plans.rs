//! Whether the servers of two arms perform a kind of statement in the same way.
//!
//! In: the points of both arms at one place. Out: of each kind a [`PlanComparison`]. Limits: the plans are those of one recorded statement. If an
//! arm has another plan in some repeats, its plans are not compared.

use super::arm::ArmPoint;
use serde::Serialize;
use std::collections::BTreeMap;

/// The plans of one kind of statement in both arms.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum PlanComparison {
    /// An arm has none.
    #[default]
    Unknown,
    /// Both have these steps.
    Same(Vec<String>),
    /// The steps of the base, and those of the other.
    Other([Vec<String>; 2]),
    /// An arm has several: it is not the same in all repeats.
    Unsteady,
}

impl PlanComparison {
    /// Whether they differ for sure.
    pub fn differs(&self) -> bool {
        matches!(self, PlanComparison::Other(_))
    }

    /// The steps of the base and of the other, as far as each has one plan.
    pub fn steps(&self) -> [Option<&[String]>; 2] {
        match self {
            PlanComparison::Unknown | PlanComparison::Unsteady => [None, None],
            PlanComparison::Same(steps) => [Some(steps), Some(steps)],
            PlanComparison::Other([base, new]) => [Some(base), Some(new)],
        }
    }
}

/// The plan of each kind in all repeats of an arm; `None` if they do not agree.
pub struct ArmPlans<'a>(BTreeMap<&'a str, Option<&'a [String]>>);

impl<'a> ArmPlans<'a> {
    pub fn of(points: &[&'a ArmPoint<'a>]) -> ArmPlans<'a> {
        let mut all: BTreeMap<&str, Option<&[String]>> = BTreeMap::new();
        for plan in points.iter().flat_map(|point| &point.data.traits.outcome.replay_plans) {
            let known = all.entry(plan.kind.as_str()).or_insert(Some(plan.steps.as_slice()));
            *known = known.filter(|known| *known == plan.steps);
        }
        ArmPlans(all)
    }

    /// How the plans of `kind` are those of the `other` arm.
    pub fn compare(&self, other: &ArmPlans, kind: &str) -> PlanComparison {
        match (self.0.get(kind), other.0.get(kind)) {
            (Some(Some(base)), Some(Some(new))) if base == new => PlanComparison::Same(base.to_vec()),
            (Some(Some(base)), Some(Some(new))) => PlanComparison::Other([base.to_vec(), new.to_vec()]),
            (Some(_), Some(_)) => PlanComparison::Unsteady,
            _ => PlanComparison::Unknown,
        }
    }
}
