//! What an insert costs: a table for each group of columns in a document, one of the most telling columns in a terminal.

use crate::inserts::{self, CostPart, InsertColumn, PAGE_LEGEND, TITLE, accounts, filled_columns};
use crate::table::TableDef;
use crate::table::{Column, InTerminal, Row, Table};
use crate::wording::label::point_phrases;
use analysis::{Analysis, RepeatRows};

pub const TABLE: TableDef =
    TableDef { id: "insert-costs", title: TITLE, is_open: false, in_narrow: true, chart: None, make: tables };

const SHORT_LEGEND: &str = "r, w: read, written; i: row inserted; eng: KB/i counted by the engine; paid: wKB/i with the drain; d:c:m: data, cache, \
    memory; >: at least; -: not known";

fn tables(analysis: &Analysis, all: &RepeatRows) -> Vec<Table> {
    let lines = inserts::lines(&all.analysis);
    if lines.is_empty() {
        return Vec::new();
    }
    let columns = filled_columns(&lines);
    let row = |line: &inserts::InsertLine| {
        Row::of_phrases(point_phrases(line.point), columns.iter().map(|column| (column.cell)(line)))
    };
    let projections = inserts::projections(analysis).into_iter().map(|(labels, text)| format!("{labels}: {text}"));
    vec![Table {
        legend: PAGE_LEGEND.to_owned(),
        short_legend: SHORT_LEGEND,
        columns: columns.iter().map(|column| shown(column)).collect(),
        rows: lines.iter().map(row).collect(),
        notes: accounts(&lines).into_iter().chain(projections).collect(),
        warnings: inserts::warnings(analysis),
        most_rows: usize::MAX,
        ..Table::default()
    }]
}

fn shown(column: &InsertColumn) -> Column {
    let part = CostPart::ALL.iter().find(|(part, _)| *part == column.part).map_or("", |(_, title)| title);
    let terminal = if column.width.is_some() { InTerminal::IfRoom } else { InTerminal::Never };
    let least_width = column.width.unwrap_or_default();
    Column::number(column.head).long_head(column.long_head).part(part).least_width(least_width).terminal(terminal)
}
