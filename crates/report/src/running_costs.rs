//! What the points cost in money and energy, as a table of the documents and of the terminal.
//!
//! In: an analysis. Out: a [`RunningCostTable`], if a price or a power is known. Limits: an amount has the currency of the price.

use crate::format;
use crate::wording::label::point_label;
use crate::wording::quantity::small_number;
use analysis::{Analysis, PointAnalysis, RunningCost};
use serde::Serialize;

/// The heading of the table.
pub const TITLE: &str = "Cost of running it";
/// What its cells mean.
pub const LEGEND: &str = "The price and the power of the whole machine for the time that the work took, in the currency of the price. A GB is \
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

/// The table.
#[derive(Serialize)]
pub struct RunningCostTable {
    /// The heads of the columns that have a value, behind the point's label.
    pub heads: Vec<&'static str>,
    /// The label of each point, and a cell for each head.
    pub rows: Vec<(String, Vec<String>)>,
}

/// The table of `analysis`; `None` if neither a price nor a power is known.
pub fn running_cost_table(analysis: &Analysis) -> Option<RunningCostTable> {
    let costs: Vec<(&PointAnalysis, RunningCost)> = analysis.points.iter().filter_map(cost_of).collect();
    let columns: Vec<&RunningColumn> =
        COLUMNS.iter().filter(|(_, value)| costs.iter().any(|(_, cost)| value(cost).is_some())).collect();
    let cells = |cost: &RunningCost| {
        columns.iter().map(|(_, value)| value(cost).map_or_else(format::dash, small_number)).collect()
    };
    let rows = costs.iter().map(|(point, cost)| (point_label(point), cells(cost))).collect();
    let heads = columns.iter().map(|(head, _)| *head).collect();
    (!costs.is_empty()).then_some(RunningCostTable { heads, rows })
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
        assert!(running_cost_table(&quick()).is_none());
    }

    #[test]
    fn columns_without_a_value_are_left_out() {
        let table = running_cost_table(&priced(Some(0.36), None)).expect("there is a price");
        assert_eq!(table.heads, ["per M ops", "per GB", "per year"]);
        assert_eq!((table.rows[0].1.len(), table.rows[0].1[2].as_str()), (3, "3,154"));
        let both = running_cost_table(&priced(Some(0.36), Some(85.0))).expect("there is a price");
        assert_eq!(both.heads.len(), 7);
    }
}
