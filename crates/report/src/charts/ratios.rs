//! The values of a setting, compared: the rate of each over that of the first, at every place, with its interval.
//!
//! In: the relative tables of a run. Out: figures of some dozens of rows for each table. Limits: rates and durations alone; the table of ratios
//! has the other metrics, and variants of a statement have a chart of their own.

use super::chart::Chart;
use crate::format;
use crate::overlay::forest::{Forest, ForestRow};
use crate::sheet::conditions;
use crate::wording::label::{phrase, settings_label};
use crate::wording::relative::common_settings;
use analysis::points::relative::RelativeTable;
use analysis::{Analysis, PointAnalysis};
use plot::figure::Figure;

pub const CHART: Chart = Chart {
    id: "ratios",
    title: "Ratios to the first",
    help: "Each row is a rate (or a duration) divided by that of the first value of the setting, at the same place. A line that crosses 1 shows \
           no difference.",
    draw,
    of_points: None,
    #[cfg(test)]
    fixture: crate::testing::quick,
};

fn draw(analysis: &Analysis) -> Vec<Figure> {
    let is_told =
        |table: &&RelativeTable| analysis.verdict.variants.iter().any(|variant| variant.param == table.arms[0].name);
    let tables = analysis.verdict.relative.iter().filter(|table| !is_told(table));
    (1..).zip(tables).flat_map(|(nth, table)| figures(analysis, table, nth)).collect()
}

fn figures(analysis: &Analysis, table: &RelativeTable, nth: usize) -> Vec<Figure> {
    let common = common_settings(table);
    let rows: Vec<ForestRow> = table
        .rows
        .iter()
        .filter(|row| row.metric.is_speed())
        .flat_map(|row| {
            let place = settings_label(row.place.iter().filter(|setting| !common.contains(setting)));
            let named = table.arms.iter().skip(1).zip(&row.cells);
            named.filter_map(move |(arm, cell)| {
                Some(ForestRow {
                    name: format!("{} {place}", phrase(arm)).trim().to_owned(),
                    estimate: cell.as_ref()?.ratio,
                })
            })
        })
        .collect();
    let is_compared =
        |point: &&PointAnalysis| table.arms.iter().any(|arm| point.settings.value(&arm.name) == Some(&arm.value));
    let points: Vec<&PointAnalysis> = analysis.points.iter().filter(is_compared).collect();
    let base = phrase(&table.arms[0]);
    let of = settings_label(&common);
    let forest = Forest {
        id: [format!("{}-{nth:02}", CHART.id), format::slug(&base)],
        title: if of.is_empty() { format!("Relative to {base}") } else { format!("Relative to {base}: {of}") },
        conditions: conditions(analysis, &points),
    };
    forest.figures(&rows)
}
