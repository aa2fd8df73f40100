//! The ratios of comparisons as CSV: one row for each place and metric.
//!
//! In: comparisons. Out: text with a header line, all digits, units in the names. Limits: a value that is not known is an empty field.

use crate::csv_column::{CsvColumn, column};
use crate::escape;
use crate::wording::compare::arm_name;
use crate::wording::label::settings_label;
use crate::wording::metric::{metric_key, verdict_word};
use analysis::compare::{MetricRatio, PlaceComparison, RunComparison};

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
    column("metric", "what is compared, with its unit", |r| metric_key(r.metric.metric).to_owned()),
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

/// The whole file.
pub fn comparison_csv(all: &[RunComparison]) -> String {
    let head: Vec<&str> = COMPARISON_COLUMNS.iter().map(|column| column.name).collect();
    let rows = all.iter().flat_map(|comparison| {
        comparison.ratios().map(move |(place, metric)| ComparedRatio { comparison, place, metric })
    });
    let line = |row: ComparedRatio| {
        let cells: Vec<String> = COMPARISON_COLUMNS.iter().map(|column| (column.value)(&row)).collect();
        cells.join(",") + "\n"
    };
    head.join(",") + "\n" + &rows.map(line).collect::<String>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_ratio_has_a_row() {
        let csv = comparison_csv(&[crate::testing::compared()]);
        let lines: Vec<&str> = csv.lines().collect();
        assert!(lines.len() == 4 && lines[1].starts_with("old,new,postgres oltp,ops_per_s,"), "{csv}");
        assert!(lines[1].ends_with(",slower") && lines.iter().all(|line| line.split(',').count() == 12), "{csv}");
    }
}
