//! What one operation cost: bytes read and written, CPU, context switches. In documents only.

use crate::charts::cost::CHART;
use crate::charts::cost_columns;
use crate::format;
use crate::table::TableDef;
use crate::table::{Cell, Column, Look, Row, Table};
use crate::wording::label::point_label;
use crate::wording::written::written_sentences;
use analysis::Analysis;

pub const TABLE: TableDef = TableDef {
    id: "costs",
    title: "Cost per operation",
    is_open: false,
    in_narrow: false,
    chart: Some(CHART.id),
    make: |_, rows| tables(&rows.analysis),
};

const LEGEND: &str = "A dash means that the value was not measured or does not apply. Work left undone at the \
    end (dirty pages, compaction) is not counted.";

fn tables(analysis: &Analysis) -> Vec<Table> {
    let columns = cost_columns(analysis);
    let mut rows: Vec<Row> =
        analysis.points.iter().map(|point| Row::new(point_label(point), Vec::<Cell>::new())).collect();
    for (_, written, value) in &columns {
        let values: Vec<Option<f64>> = analysis
            .points
            .iter()
            .map(|point| value(&point.summary.as_ref()?.cost).filter(|cost| cost.is_finite()))
            .collect();
        let greatest = values.iter().flatten().copied().fold(0.0, f64::max);
        for (row, value) in rows.iter_mut().zip(values) {
            let percent = value.filter(|_| greatest > 0.0).map_or(0.0, |value| 100.0 * value / greatest);
            row.cells.push(Cell::from(value.map_or_else(format::dash, written)).look(Look::Bar(percent)));
        }
    }
    vec![Table {
        legend: LEGEND.to_owned(),
        columns: columns.iter().map(|column| Column::number(column.0).documents_only()).collect(),
        rows,
        notes: written_sentences(&analysis.points.iter().collect::<Vec<_>>()),
        ..Table::default()
    }]
}
