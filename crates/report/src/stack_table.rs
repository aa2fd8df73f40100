//! The functions in which stalls of an engine differ from random moments, as a table of the documents.
//!
//! In: an analysis. Out: a [`StackTable`], if stacks of both sorts were taken. Limits: names of functions come from the engine and must be
//! escaped for their place.

use crate::format;
use crate::wording::label::point_label;
use analysis::{Analysis, FrameShift, PointAnalysis, StackProfile};
use serde::Serialize;

/// The heading of the table.
const TITLE: &str = "What the engine does in a stall";
/// What its cells mean.
const LEGEND: &str = "In how many threads a function is at a stall and at a random moment, on average over the snapshots (of `perf`: in \
    how many samples); those that differ most, at most five a point. Of functions that are always seen together the innermost is named.";
/// The heads of the cells behind point and function.
const HEADS: [&str; 3] = ["at stalls", "at random", "difference"];

/// The table.
#[derive(Serialize)]
pub struct StackTable {
    /// Its heading.
    pub title: &'static str,
    /// What its cells mean.
    pub legend: &'static str,
    /// The heads of the cells.
    pub heads: [&'static str; 3],
    /// A row for each function of each point.
    pub rows: Vec<StackTableRow>,
}

/// A function of one point.
#[derive(Serialize)]
pub struct StackTableRow {
    /// The point's label.
    pub label: String,
    /// The function.
    pub frame: String,
    /// A cell for each head.
    pub cells: [String; 3],
}

/// The table of `analysis`; `None` if no point has snapshots of both sorts, or none differ.
pub fn stack_table(analysis: &Analysis) -> Option<StackTable> {
    let rows: Vec<StackTableRow> = analysis.points.iter().flat_map(rows_of).collect();
    (!rows.is_empty()).then_some(StackTable { title: TITLE, legend: LEGEND, heads: HEADS, rows })
}

fn rows_of(point: &PointAnalysis) -> Vec<StackTableRow> {
    let row = |shift: &FrameShift| {
        let sign = if shift.difference() < 0.0 { "-" } else { "+" };
        let difference = format!("{sign}{}", format::number(shift.difference().abs()));
        let cells = [format::number(shift.at_stalls), format::number(shift.at_random), difference];
        StackTableRow { label: point_label(point), frame: shift.frame.clone(), cells }
    };
    point.stacks.iter().flat_map(|profile: &StackProfile| &profile.shifts).map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{quick, stalled_stacks};

    #[test]
    fn each_function_is_a_row_with_its_threads_at_both_moments() {
        let table = stack_table(&stalled_stacks()).unwrap();
        let row = table.rows.iter().find(|row| row.frame == "lock_wait").expect("its threads wait for a lock");
        assert_eq!(row.cells, ["3.00", "0.50", "+2.50"]);
        assert!(table.rows.iter().any(|row| row.cells[2].starts_with('-')));
        assert!(stack_table(&quick()).is_none());
    }
}
