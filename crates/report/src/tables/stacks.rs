//! The functions in which stalls of an engine differ from random moments, if stacks of both sorts were taken. In documents only.

use crate::format;
use crate::table::TableDef;
use crate::table::{Column, ColumnOf, Row, Table};
use crate::wording::label::point_label;
use analysis::{Analysis, FrameShift};

pub const TABLE: TableDef = TableDef {
    id: "stalled-functions",
    title: "What the engine does in a stall",
    is_open: false,
    in_narrow: false,
    chart: None,
    make: |analysis, _| tables(analysis),
};

const LEGEND: &str = "In how many threads a function is at a stall and at a random moment, on average over the snapshots (of `perf`: in \
    how many samples); those that differ most, at most five a point. Of functions that are always seen together the innermost is named.";

type ShiftColumn = ColumnOf<'static, FrameShift>;

fn tables(analysis: &Analysis) -> Vec<Table> {
    let number = |head| Column::number(head).documents_only();
    let columns = vec![
        ShiftColumn::new(Column::text("function").documents_only(), |shift| shift.frame.clone()),
        ShiftColumn::new(number("at stalls"), |shift| format::number(shift.at_stalls)),
        ShiftColumn::new(number("at random"), |shift| format::number(shift.at_random)),
        ShiftColumn::new(number("difference"), |shift| {
            let sign = if shift.difference() < 0.0 { "-" } else { "+" };
            format!("{sign}{}", format::number(shift.difference().abs()))
        }),
    ];
    let rows = analysis.points.iter().flat_map(|point| {
        let shifts = point.stacks.iter().flat_map(|profile| &profile.shifts);
        shifts.map(|shift| (Row::labelled(vec![point_label(point)]), shift))
    });
    Table { legend: LEGEND.to_owned(), ..Table::of(columns, rows) }.if_any()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{quick, stalled_stacks};

    #[test]
    fn each_function_is_a_row_with_its_threads_at_both_moments() {
        let table = tables(&stalled_stacks()).remove(0);
        let row = table.rows.iter().find(|row| row.cells[0].text == "lock_wait").expect("its threads wait for a lock");
        assert_eq!(row.cells[1..], ["3.00", "0.50", "+2.50"].map(Into::into));
        assert!(table.rows.iter().any(|row| row.cells[3].text.starts_with('-')));
        assert!(tables(&quick()).is_empty());
    }
}
