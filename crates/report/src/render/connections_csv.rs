//! Connections as CSV: the times of each kind of operation, and the memory of an engine while it held some.
//!
//! In: an analysis. Out: text with a header line. Limits: what could not be measured is an empty field, never 0.

use crate::csv_column::{CsvColumn, column, csv_table};
use crate::escape;
use crate::wording::label::point_label;
use analysis::{Analysis, KindSummary, PointAnalysis, Quantiles};
use model::HeldMemory;

/// A row of kinds.csv.
pub struct CsvKind<'a> {
    point: &'a PointAnalysis,
    kind: &'a KindSummary,
}

/// A column of kinds.csv.
type KindColumn = CsvColumn<fn(&CsvKind) -> String>;

/// The columns of kinds.csv.
pub static KIND_COLUMNS: &[KindColumn] = &[
    column("point", "number of the point in the run, from 1", |of| of.point.id.to_string()),
    column("label", "what distinguishes the point from the others of the run", |of| {
        escape::csv(&point_label(of.point))
    }),
    column("kind", "kind of operation", |of| escape::csv(&of.kind.kind)),
    column("ops", "operations of this kind that were done", |of| of.kind.ops.to_string()),
    column("failed", "operations of this kind that failed", |of| of.kind.failed.to_string()),
    column("response_p50_ns", "median of their response time (finished - intended)", |of| time(of, |q| q.p50)),
    column("response_p95_ns", "95th percentile of it", |of| time(of, |q| q.p95)),
    column("response_p99_ns", "99th percentile of it", |of| time(of, |q| q.p99)),
    column("response_p999_ns", "99.9th percentile of it", |of| time(of, |q| q.p999)),
    column("response_max_ns", "longest response time", |of| time(of, |q| q.max)),
];

/// One row for each kind of operation of each point that has steps; `None` if no point has.
pub fn kinds_csv(analysis: &Analysis) -> Option<String> {
    let rows: Vec<CsvKind> = analysis.points.iter().flat_map(kinds_of).collect();
    (!rows.is_empty()).then(|| csv_table(KIND_COLUMNS, rows.into_iter()))
}

fn kinds_of(point: &PointAnalysis) -> impl Iterator<Item = CsvKind<'_>> {
    let kinds = point.summary.iter().flat_map(|summary| &summary.kinds);
    kinds.map(move |kind| CsvKind { point, kind })
}

fn time(of: &CsvKind, which: fn(Quantiles) -> u64) -> String {
    of.kind.response_ns.map(|times| which(times).to_string()).unwrap_or_default()
}

/// A row of held.csv.
pub struct CsvHeld<'a> {
    point: &'a PointAnalysis,
    held: &'a HeldMemory,
}

/// A column of held.csv.
type HeldColumn = CsvColumn<fn(&CsvHeld) -> String>;

/// The columns of held.csv.
pub static HELD_COLUMNS: &[HeldColumn] = &[
    column("point", "number of the point in the run, from 1", |of| of.point.id.to_string()),
    column("label", "what distinguishes the point from the others of the run", |of| {
        escape::csv(&point_label(of.point))
    }),
    column("held", "connections or transactions that were held open", |of| of.held.held.to_string()),
    column("memory_bytes", "memory of the engine's processes meanwhile", |of| of.held.bytes.to_string()),
];

/// One row for each reading of the memory of an engine that held connections; `None` if none did.
pub fn held_csv(analysis: &Analysis) -> Option<String> {
    let rows: Vec<CsvHeld> = analysis.points.iter().flat_map(readings_of).collect();
    (!rows.is_empty()).then(|| csv_table(HELD_COLUMNS, rows.into_iter()))
}

fn readings_of(point: &PointAnalysis) -> impl Iterator<Item = CsvHeld<'_>> {
    let readings = point.traits.outcome.hold.iter().flat_map(|found| &found.memory);
    readings.map(move |held| CsvHeld { point, held })
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
