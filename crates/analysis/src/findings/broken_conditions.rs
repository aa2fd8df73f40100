//! Finds rows that break a condition of their workload.
//!
//! In: the check after the run. Out: an error. Limits: a workload without conditions, or a run whose check is switched off, has no finding.

use super::{Detects, Finding, FindingKind};
use crate::evidence::PointView;
use crate::judgement::{NextStep, Severity};
use serde::Serialize;
use words::list::join_and;

/// Conditions that the rows of a workload do not fulfil.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BrokenConditions {
    pub broken: Vec<BrokenRow>,
}

/// A condition, and the first row that breaks it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BrokenRow {
    pub condition: u64,
    /// What must hold, and the row.
    pub first_row: String,
}

fn detect(view: &PointView) -> Vec<Finding> {
    let broken = &view.point.traits.outcome.broken_conditions;
    let rows: Vec<BrokenRow> =
        broken.iter().map(|one| BrokenRow { condition: one.number, first_row: one.text.clone() }).collect();
    if rows.is_empty() {
        Vec::new()
    } else {
        vec![Finding::new(Severity::Error, BrokenConditions { broken: rows }).next(NextStep::DistrustEngine)]
    }
}

impl FindingKind for BrokenConditions {
    const SEVERITIES: &'static [Severity] = &[Severity::Error];
    const DETECTS: Detects = Detects::Point(detect);
    const REASON: &'static str = "left rows that break a consistency condition";

    fn is_like(&self, other: &Self) -> bool {
        let numbers = |one: &Self| one.broken.iter().map(|row| row.condition).collect::<Vec<_>>();
        numbers(self) == numbers(other)
    }

    fn title(alike: &[&Self]) -> String {
        let numbers: Vec<String> = alike[0].broken.iter().map(|row| row.condition.to_string()).collect();
        match &numbers[..] {
            [one] => format!("consistency condition {one} does not hold"),
            several => format!("consistency conditions {} do not hold", join_and(several)),
        }
    }

    fn evidence(&self) -> String {
        let rows = self.broken.iter().map(|row| format!("condition {}: {}", row.condition, row.first_row));
        rows.collect::<Vec<_>>().join("; ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulated::Simulation;
    use model::Fact;

    #[test]
    fn rows_that_break_a_condition_spoil_the_point_and_others_do_not() {
        let checked = |facts: &[(&str, &str)]| {
            let facts: Vec<Fact> = facts.iter().map(|(name, value)| Fact::new(*name, *value)).collect();
            Simulation::counts(&[1000; 10]).with(|point| point.facts.extend(facts))
        };
        assert!(checked(&[("conditions.checked", "12 of 12 hold, in 1 s")]).findings("broken-conditions").is_empty());
        let broken = checked(&[
            ("conditions.checked", "10 of 12 hold, in 1 s"),
            ("conditions.broken.3", "no gap; not so for no_w_id = 1"),
            ("conditions.broken.9", "a sum; not so for d_id = 4"),
        ]);
        assert_eq!(broken.finding("broken-conditions").severity, Severity::Error);
        let found: BrokenConditions = broken.figures();
        assert_eq!(found.broken.iter().map(|row| row.condition).collect::<Vec<_>>(), [3, 9]);
        assert_eq!(found.broken[1].first_row, "a sum; not so for d_id = 4");
    }
}
