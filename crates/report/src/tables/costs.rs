//! What one operation cost: bytes read and written, CPU, context switches. In documents only.

use crate::charts::cost::CHART;
use crate::charts::cost_columns;
use crate::table::TableDef;
use crate::table::{Cell, Column, ColumnOf, Look, Row, Table};
use crate::wording::label::point_label;
use crate::wording::written::written_sentences;
use analysis::{Analysis, PointAnalysis};

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
    let columns = cost_columns(analysis).into_iter().map(|(head, written, value)| {
        let cost = move |point: &PointAnalysis| value(&point.summary.as_ref()?.cost).filter(|cost| cost.is_finite());
        let greatest = analysis.points.iter().filter_map(cost).fold(0.0, f64::max);
        ColumnOf::new(Column::number(head).documents_only(), move |point| {
            let percent = cost(point).filter(|_| greatest > 0.0).map_or(0.0, |cost| 100.0 * cost / greatest);
            Cell::from(cost(point).map(written)).look(Look::Bar(percent))
        })
    });
    let rows = analysis.points.iter().map(|point| (Row::labelled(vec![point_label(point)]), point));
    vec![Table {
        legend: LEGEND.to_owned(),
        notes: written_sentences(&analysis.points.iter().collect::<Vec<_>>()),
        ..Table::of(columns.collect(), rows)
    }]
}
