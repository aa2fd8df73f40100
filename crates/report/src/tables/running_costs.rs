//! What the points cost in money and energy, if a price or a power is known. An amount has the currency of the price.

use crate::table::TableDef;
use crate::table::{Column, ColumnOf, InTerminal, Row, Table};
use crate::wording::label::point_phrases;
use crate::wording::quantity::small_number;
use analysis::{Analysis, PointAnalysis, RunningCost};

pub const TABLE: TableDef = TableDef {
    id: "running-costs",
    title: "Cost of running it",
    is_open: false,
    in_narrow: false,
    chart: None,
    make: |_, rows| tables(&rows.analysis),
};

const LEGEND: &str = "The price and the power of the whole machine for the time that the work took, in the currency of the price. A GB is \
    10^9 bytes that operations asked to read or write; of inserts, of data on disk. A year has 8760 hours.";

/// The head of a column, and its value.
type RunningColumn = (&'static str, fn(&RunningCost) -> Option<f64>);

/// The columns in the order of their weight: a narrow terminal leaves out the last.
const COLUMNS: [RunningColumn; 7] = [
    ("per M ops", |cost| cost.per_million_ops),
    ("per GB", |cost| cost.per_gb),
    ("per year", |cost| cost.per_year),
    ("kWh/M ops", |cost| cost.kwh_per_million_ops),
    ("kWh/GB", |cost| cost.kwh_per_gb),
    ("kWh/year", |cost| cost.kwh_per_year),
    ("watts", |cost| cost.watts),
];

fn tables(analysis: &Analysis) -> Vec<Table> {
    let costs: Vec<(&PointAnalysis, RunningCost)> = analysis.points.iter().filter_map(cost_of).collect();
    if costs.is_empty() {
        return Vec::new();
    }
    let filled = COLUMNS.iter().filter(|(_, value)| costs.iter().any(|(_, cost)| value(cost).is_some()));
    let columns: Vec<ColumnOf<RunningCost>> = filled
        .map(|(head, value)| {
            let column = Column::number(*head).least_width(9).terminal(InTerminal::IfRoom);
            ColumnOf::new(column, |cost| value(cost).map(small_number))
        })
        .collect();
    let rows = costs.into_iter().map(|(point, cost)| (Row::labelled(point_phrases(point)), cost));
    vec![Table {
        legend: LEGEND.to_owned(),
        short_legend: "M: a million; GB: of payload, or stored",
        most_rows: usize::MAX,
        ..Table::of(columns, rows)
    }]
}

fn cost_of(point: &PointAnalysis) -> Option<(&PointAnalysis, RunningCost)> {
    let cost = point.summary.as_ref()?.cost.running;
    (!cost.is_none()).then_some((point, cost))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{priced, quick};

    #[test]
    fn without_a_price_there_is_no_table() {
        assert!(tables(&quick()).is_empty());
    }

    #[test]
    fn columns_without_a_value_are_left_out() {
        let table = tables(&priced(Some(0.36), None)).remove(0);
        let heads: Vec<&str> = table.columns.iter().map(|column| column.head.as_str()).collect();
        assert_eq!(heads, ["per M ops", "per GB", "per year"]);
        assert_eq!((table.rows[0].cells.len(), table.rows[0].cells[2].text.as_str()), (3, "3,154"));
        assert_eq!(tables(&priced(Some(0.36), Some(85.0))).remove(0).columns.len(), 7);
    }
}
