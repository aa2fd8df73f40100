//! The probes of searches for the largest rate as CSV.
//!
//! In: an analysis. Out: text with a header line and a row for each probe. Limits: what could not be measured is an empty field, never 0.
//! Only the probe in which a limit was held is a row of points.csv, too.

use crate::csv_column::{CsvColumn, Explained, column, csv_lines, explained, figure_columns, figure_fields, float};
use crate::escape;
use crate::wording::label::settings_label;
use analysis::figures::{FigureDef, Figures};
use analysis::points::limit::ProbeAnalysis;
use analysis::{Analysis, PointAnalysis, SearchAnalysis};
use model::{Percentile, QuotedTime};
use std::sync::LazyLock;

/// A probe, as probes.csv has it.
pub struct CsvProbe<'a> {
    search: &'a SearchAnalysis,
    nth: usize,
}

impl CsvProbe<'_> {
    fn probe(&self) -> &ProbeAnalysis {
        &self.search.probes[self.nth]
    }
}

/// A column of probes.csv.
type ProbeColumn = CsvColumn<fn(&CsvProbe) -> String>;

/// The columns before the response times.
static PROBE_COLUMNS: &[ProbeColumn] = &[
    column("search", "what distinguishes the search from the others of the run", |row| {
        escape::csv(&settings_label(row.search.settings()))
    }),
    column("slo", "the objective", |row| escape::csv(&row.search.spec.objective.to_string())),
    column("limit_per_s", "the largest rate that was held; empty if there is none", |row| {
        float(row.search.result.per_s)
    }),
    column("outcome", "how the search ended", |row| row.search.result.outcome.as_str().to_owned()),
    column("point", "number of the point in the run, from 1", |row| row.probe().point.id.to_string()),
    column("probe", "`closed`, `probe` or `hold`", |row| row.probe().part.kind.as_str().to_owned()),
    column("offered_per_s", "operations per second that fell due; empty for the closed loop", |row| {
        float(row.probe().offered_per_s())
    }),
    column("kept", "`true` or `false`; empty if the probe shows neither", |row| {
        row.search.keeps(row.nth).map(|kept| kept.to_string()).unwrap_or_default()
    }),
    column("ops_per_s", "operations done per second", |row| {
        float(row.probe().point.summary.as_ref().map(|summary| summary.ops_per_s))
    }),
    column("seconds", "length of the probe", |row| {
        float(row.probe().point.summary.as_ref().map(|summary| summary.seconds))
    }),
];

static RESPONSE_TIMES: Figures<PointAnalysis> = LazyLock::new(|| {
    let first = QuotedTime::At(Percentile::P50);
    FigureDef::<PointAnalysis>::times("response", first, "response time", |point| point.summary.as_ref()?.response_ns)
});

/// The columns of probes.csv.
pub fn probe_columns() -> Vec<Explained> {
    [explained(PROBE_COLUMNS), figure_columns(&RESPONSE_TIMES)].concat()
}

/// One row per probe.
pub fn probes_csv(analysis: &Analysis) -> String {
    let rows =
        analysis.searches.iter().flat_map(|search| (0..search.probes.len()).map(move |nth| CsvProbe { search, nth }));
    let row = |probe: CsvProbe| {
        let own = PROBE_COLUMNS.iter().map(|column| (column.value)(&probe)).collect();
        [own, figure_fields(&RESPONSE_TIMES, Some(&probe.probe().point))].concat()
    };
    csv_lines(probe_columns(), rows.map(row))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::limits;

    #[test]
    fn every_probe_is_a_row_with_a_field_for_each_column() {
        let analysis = limits();
        let text = probes_csv(&analysis);
        let rows: Vec<Vec<&str>> = text.lines().map(|line| line.split(',').collect()).collect();
        let probes: usize = analysis.searches.iter().map(|search| search.probes.len()).sum();
        assert_eq!(rows.len(), probes + 1);
        let (head, first) = (&rows[0], &rows[1]);
        // The objective is quoted, and its comma is inside.
        assert!(text.contains("sqlite oltp,\"p99<20ms,errors<0.1%\","), "{text}");
        assert_eq!((head.len(), first.len()), (probe_columns().len(), probe_columns().len() + 1));
        assert_eq!(first[6..9], ["closed", "", ""], "{first:?}");
    }
}
