//! Connections as CSV: the times of each kind of operation, and the memory of an engine while it held some.
//!
//! In: an analysis. Out: text with a header line. Limits: what could not be measured is an empty field, never 0.

use crate::csv_column::{Explained, csv_lines, figure_columns, figure_fields, place_columns, place_fields};
use analysis::Analysis;
use analysis::figures::KIND_FIGURES;

/// The columns of kinds.csv.
pub fn kind_columns() -> Vec<Explained> {
    [place_columns(), figure_columns(&KIND_FIGURES)].concat()
}

/// One row for each kind of operation of each point that has steps; `None` if no point has.
pub fn kinds_csv(analysis: &Analysis) -> Option<String> {
    let rows = analysis.points.iter().flat_map(|point| {
        let kinds = point.summary.iter().flat_map(|summary| &summary.kinds);
        kinds.map(move |kind| [place_fields(point), figure_fields(&KIND_FIGURES, Some(kind))].concat())
    });
    let mut rows = rows.peekable();
    rows.peek().is_some().then(|| csv_lines(kind_columns(), rows))
}

/// The columns of held.csv.
pub fn held_columns() -> Vec<Explained> {
    let held = ("held".to_owned(), "connections or transactions that were held open");
    let memory = ("memory_bytes".to_owned(), "memory of the engine's processes meanwhile");
    [place_columns(), vec![held, memory]].concat()
}

/// One row for each reading of the memory of an engine that held connections; `None` if none did.
pub fn held_csv(analysis: &Analysis) -> Option<String> {
    let rows = analysis.points.iter().flat_map(|point| {
        let readings = point.traits.outcome.hold.iter().flat_map(|found| &found.memory);
        readings.map(move |held| [place_fields(point), vec![held.held.to_string(), held.bytes.to_string()]].concat())
    });
    let mut rows = rows.peekable();
    rows.peek().is_some().then(|| csv_lines(held_columns(), rows))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_have_as_many_fields_as_their_heads_and_other_runs_have_no_such_file() {
        let analysis = (crate::charts::CHARTS.iter().find(|chart| chart.id == "connections").unwrap().fixture)();
        for text in [kinds_csv(&analysis).unwrap(), held_csv(&analysis).unwrap()] {
            let widths: Vec<usize> = text.lines().map(|line| line.split(',').count()).collect();
            assert!(widths.len() > 2 && widths.iter().all(|width| *width == widths[0]), "{text}");
        }
        assert_eq!((kinds_csv(&crate::testing::quick()), held_csv(&crate::testing::quick())), (None, None));
    }
}
