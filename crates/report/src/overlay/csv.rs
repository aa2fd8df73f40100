//! Comparisons as CSV: one row for each ratio, for each cost of an operation, and for each condition that differs.
//!
//! In: comparisons. Out: text with a header line, all digits, units in the names. Limits: a value that is not known is an empty field.

use crate::csv_column::{CsvColumn, column, csv_table};
use crate::escape;
use crate::wording::compare::{arm_name, condition_key, cost_key, effect_word};
use crate::wording::label::settings_label;
use crate::wording::metric::verdict_word;
use analysis::compare::{Condition, CostChange, MetricRatio, PlaceComparison, RunComparison};

/// One ratio with where it belongs.
#[derive(Clone, Copy)]
pub struct ComparedRatio<'a> {
    comparison: &'a RunComparison,
    place: &'a PlaceComparison,
    metric: &'a MetricRatio,
}

type ComparisonColumn = CsvColumn<fn(&ComparedRatio) -> String>;

/// The columns of ratios.csv.
pub static COMPARISON_COLUMNS: &[ComparisonColumn] = &[
    column("base_arm", "name of the base: a run, or a group of one", |r| escape::csv(&arm_name(&r.comparison.base))),
    column("new_arm", "name of the arm that is compared with it", |r| escape::csv(&arm_name(&r.comparison.new))),
    column("point", "what distinguishes the points from the others of their arms", |r| {
        escape::csv(&settings_label(&r.place.label))
    }),
    column("metric", "what is compared, with its unit", |r| r.metric.metric.key().to_owned()),
    column("base", "geometric mean of the base's repeats", |r| r.metric.base.to_string()),
    column("new", "geometric mean of the other's repeats", |r| r.metric.new.to_string()),
    column("ratio", "new : base", |r| r.metric.estimate.ratio.to_string()),
    column("low95", "lower end of its 95 % confidence interval", |r| end(r, 0)),
    column("high95", "upper end of it", |r| end(r, 1)),
    column("pairs", "pairs of repeats that the ratio is of", |r| r.metric.estimate.n.to_string()),
    column(
        "smallest_effect",
        "smallest difference that these pairs would have shown in 9 of 10 tries, as a share",
        |r| r.metric.estimate.smallest_effect.map_or(String::new(), |effect| effect.to_string()),
    ),
    column("verdict", "`faster`, `slower`, `no difference shown` or `indicative`", |r| {
        verdict_word(r.metric.metric, r.metric.estimate.verdict).to_owned()
    }),
];

fn end(row: &ComparedRatio, which: usize) -> String {
    row.metric.estimate.ci95.map_or(String::new(), |ci95| ci95[which].to_string())
}

/// The text of ratios.csv.
pub fn comparison_csv(all: &[RunComparison]) -> String {
    let rows = all.iter().flat_map(|comparison| {
        comparison.ratios().map(move |(place, metric)| ComparedRatio { comparison, place, metric })
    });
    csv_table(COMPARISON_COLUMNS, rows)
}

/// A cost of an operation with where it belongs.
#[derive(Clone, Copy)]
pub struct ComparedCost<'a> {
    comparison: &'a RunComparison,
    place: &'a PlaceComparison,
    cost: &'a CostChange,
}

type ComparedCostColumn = CsvColumn<fn(&ComparedCost) -> String>;

/// The columns of costs.csv.
pub static COMPARED_COST_COLUMNS: &[ComparedCostColumn] = &[
    column("base_arm", "name of the base", |r| escape::csv(&arm_name(&r.comparison.base))),
    column("new_arm", "name of the arm that is compared with it", |r| escape::csv(&arm_name(&r.comparison.new))),
    column("point", "what distinguishes the points from the others of their arms", |r| {
        escape::csv(&settings_label(&r.place.label))
    }),
    column("cost", "what an op cost: nanoseconds, bytes or events, as its name tells", |r| {
        escape::csv(&cost_key(&r.cost.metric))
    }),
    column("base", "mean of the base's repeats, the geometric one if there is a ratio", |r| r.cost.base.to_string()),
    column("new", "the same of the other's", |r| r.cost.new.to_string()),
    column("ratio", "new : base; empty if a repeat had none of it", |r| {
        r.cost.ratio.map_or(String::new(), |ratio| ratio.ratio.to_string())
    }),
    column("low95", "lower end of its 95 % confidence interval", |r| cost_end(r, 0)),
    column("high95", "upper end of it", |r| cost_end(r, 1)),
    column("pairs", "pairs of repeats that the comparison is of", |r| r.cost.pairs().to_string()),
    column("changed", "`true` if it changed for sure", |r| r.cost.is_shown.to_string()),
];

fn cost_end(row: &ComparedCost, which: usize) -> String {
    row.cost.ratio.and_then(|ratio| ratio.ci95).map_or(String::new(), |ci95| ci95[which].to_string())
}

pub fn costs_csv(all: &[RunComparison]) -> String {
    let places = all.iter().flat_map(|comparison| comparison.places.iter().map(move |place| (comparison, place)));
    let rows = places
        .flat_map(|(comparison, place)| place.costs.iter().map(move |cost| ComparedCost { comparison, place, cost }));
    csv_table(COMPARED_COST_COLUMNS, rows)
}

/// A condition with the comparison that it belongs to.
#[derive(Clone, Copy)]
pub struct DifferingCondition<'a> {
    comparison: &'a RunComparison,
    condition: &'a Condition,
}

type ConditionColumn = CsvColumn<fn(&DifferingCondition) -> String>;

/// The columns of conditions.csv.
pub static CONDITION_COLUMNS: &[ConditionColumn] = &[
    column("base_arm", "name of the base", |r| escape::csv(&arm_name(&r.comparison.base))),
    column("new_arm", "name of the arm that is compared with it", |r| escape::csv(&arm_name(&r.comparison.new))),
    column("condition", "what differs; settings of a server that no plan sets begin with `server.`", |r| {
        escape::csv(&condition_key(&r.condition.kind))
    }),
    column("base", "its values in the base, joined by `; `", |r| escape::csv(&r.condition.base.join("; "))),
    column("new", "its values in the other", |r| escape::csv(&r.condition.new.join("; "))),
    column(
        "effect",
        "`compared`, `weakens` (it may be the reason for a difference) or `prevents` (nothing is concluded)",
        |r| effect_word(r.condition.effect).to_owned(),
    ),
];

pub fn conditions_csv(all: &[RunComparison]) -> String {
    let rows = all.iter().flat_map(|comparison| {
        comparison.unlike.iter().map(move |condition| DifferingCondition { comparison, condition })
    });
    csv_table(CONDITION_COLUMNS, rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_ratio_each_cost_and_each_condition_has_a_row() {
        let csv = comparison_csv(&[crate::testing::compared()]);
        let lines: Vec<&str> = csv.lines().collect();
        assert!(lines.len() == 4 && lines[1].starts_with("old,new,postgres oltp,ops_per_s,"), "{csv}");
        assert_eq!(
            conditions_csv(&[crate::testing::compared()]),
            "base_arm,new_arm,condition,base,new,effect\nold,new,not_in_turn,,,weakens\n\
             old,new,secondary_index,true,false,compared\n"
        );
        let costs = costs_csv(&[crate::testing::compared()]);
        let costs: Vec<&str> = costs.lines().collect();
        assert!(costs[1].starts_with("old,new,postgres oltp,engine_cpu_ns_per_op,"), "{}", costs[1]);
        assert!(costs[1].ends_with(",2.5,2.5,2.5,4,true"), "{}", costs[1]);
        assert_eq!(costs[2], "old,new,postgres oltp,postgres.blocks_read_per_op,0,3,,,,4,true");
        assert!(lines[1].ends_with(",slower") && lines.iter().all(|line| line.split(',').count() == 12), "{csv}");
    }
}
