//! What the points cost in money and energy, if a price or a power is known.

use super::TableDef;
use crate::running_costs::{LEGEND, TITLE, running_cost_table};
use crate::table::{Column, InTerminal, Row, Table};
use analysis::Analysis;

pub const TABLE: TableDef = TableDef {
    id: "running-costs",
    title: TITLE,
    is_open: false,
    in_narrow: false,
    chart: None,
    make: |_, rows| tables(&rows.analysis),
};

fn tables(analysis: &Analysis) -> Vec<Table> {
    let Some(table) = running_cost_table(analysis) else { return Vec::new() };
    let column = |head: &&'static str| Column::number(*head).least_width(9).terminal(InTerminal::IfRoom);
    vec![Table {
        legend: LEGEND.to_owned(),
        short_legend: "M: a million; GB: of payload, or stored",
        columns: table.heads.iter().map(column).collect(),
        rows: table.rows.into_iter().map(|(label, cells)| Row::new(label, cells)).collect(),
        most_rows: usize::MAX,
        ..Table::default()
    }]
}
