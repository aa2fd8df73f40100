//! The relative tables of a run as CSV.
//!
//! In: an analysis. Out: text with a header line and a row for each place, metric and arm but the first. Limits: an arm without a usable
//! repeat at a place has no row there; a figure that is not known is an empty field.

use crate::csv_column::{CsvColumn, column, csv_table};
use crate::escape;
use crate::wording::label::{phrase, settings_label};
use crate::wording::metric::verdict_word;
use analysis::Analysis;
use analysis::points::relative::{RelativeCell, RelativeRow, RelativeTable};

/// One ratio of a relative table.
#[derive(Clone, Copy)]
pub struct RelativeRatio<'a> {
    table: &'a RelativeTable,
    row: &'a RelativeRow,
    /// The place of the arm among the cells.
    nth: usize,
    cell: &'a RelativeCell,
}

type RelativeColumn = CsvColumn<fn(&RelativeRatio) -> String>;

/// The columns of relative.csv.
pub static RELATIVE_COLUMNS: &[RelativeColumn] = &[
    column("base_arm", "what the first arm has", |r| escape::csv(&phrase(&r.table.arms[0]))),
    column("new_arm", "what the arm has that is compared with it", |r| escape::csv(&phrase(&r.table.arms[r.nth + 1]))),
    column("point", "what both arms have in common here", |r| escape::csv(&settings_label(&r.row.place))),
    column("group", "the lines with which it belongs together; empty if there are no groups", |r| {
        escape::csv(r.row.group.as_deref().unwrap_or(""))
    }),
    column("metric", "what is compared, with its unit", |r| r.row.metric.key().to_owned()),
    column("base", "mean of the first arm's repeats", |r| r.row.base.mean.to_string()),
    column("new", "mean of the other's repeats", |r| r.cell.mean.mean.to_string()),
    column("ratio", "geometric mean of the pairs' ratios", |r| r.cell.ratio.ratio.to_string()),
    column("low95", "lower end of its 95 % confidence interval", |r| end(r, 0)),
    column("high95", "upper end of it", |r| end(r, 1)),
    column("pairs", "pairs of repeats that the ratio is of", |r| r.cell.ratio.n.to_string()),
    column("in_turn", "`true` if the arms were measured in turn", |r| r.cell.is_interleaved.to_string()),
    column(
        "smallest_effect",
        "smallest difference that these pairs would have shown in 9 of 10 tries, as a share",
        |r| r.cell.ratio.smallest_effect.map_or(String::new(), |effect| effect.to_string()),
    ),
    column("verdict", "`faster`, `slower`, of costs `less`, `more`; `no difference shown` or `indicative`", |r| {
        verdict_word(r.row.metric, r.cell.ratio.verdict).to_owned()
    }),
];

fn end(row: &RelativeRatio, which: usize) -> String {
    row.cell.ratio.ci95.map_or(String::new(), |ci95| ci95[which].to_string())
}

pub fn relative_csv(analysis: &Analysis) -> String {
    let rows = analysis.verdict.relative.iter().flat_map(|table| table.rows.iter().map(move |row| (table, row)));
    let ratios = rows.flat_map(|(table, row)| {
        let cells = row.cells.iter().enumerate();
        cells.filter_map(move |(nth, cell)| Some(RelativeRatio { table, row, nth, cell: cell.as_ref()? }))
    });
    csv_table(RELATIVE_COLUMNS, ratios)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{inserting, label, with_verdict};

    #[test]
    fn each_ratio_of_each_arm_has_a_row() {
        let mut analysis = inserting(&[("engine", &["innodb", "rocksdb", "fjall"])], 30);
        analysis.points.iter_mut().for_each(|point| label(point, &["engine", "workload"], &[]));
        let analysis = with_verdict(analysis);
        let csv = relative_csv(&analysis);
        let lines: Vec<&str> = csv.lines().collect();
        let ratios = analysis.verdict.relative.iter().flat_map(|table| &table.rows).flat_map(|row| &row.cells);
        assert_eq!(lines.len(), 1 + ratios.flatten().count(), "{csv}");
        assert!(lines[1].starts_with("innodb,rocksdb,") && lines[1].ends_with(",indicative"), "{csv}");
        assert!(lines.iter().all(|line| line.split(',').count() == RELATIVE_COLUMNS.len()), "{csv}");
    }
}
