//! Each kind of operation as CSV: the numbers of every statement of a plan, of the reads and of the writes of files.
//!
//! In: an analysis. Out: text with a header line. Limits: what could not be measured is an empty field, never 0. A repeat is a row of its own.

use crate::csv_column::{CsvColumn, column, csv_table, float};
use crate::escape;
use crate::wording::label::point_label;
use analysis::{Analysis, PointAnalysis, Quantiles, StatementSummary};
use model::OpClass;

/// A row of statements.csv.
pub struct CsvStatement<'a> {
    point: &'a PointAnalysis,
    kind: &'a StatementSummary,
}

/// A column of statements.csv.
type StatementColumn = CsvColumn<fn(&CsvStatement) -> String>;

/// The columns of statements.csv.
pub static STATEMENT_COLUMNS: &[StatementColumn] = &[
    column("point", "number of the point in the run, from 1", |of| of.point.id.to_string()),
    column("label", "what distinguishes the point from the others of the run", |of| {
        escape::csv(&point_label(of.point))
    }),
    column(
        "kind",
        "kind of operation: the name of a statement or transaction of the plan, or what is done with files",
        |of| escape::csv(&of.kind.kind),
    ),
    column("class", "what its operations do: `read`, `write`, `read-write`, `sync` and so on", |of| {
        class_word(of.kind.class).to_owned()
    }),
    column("queries_per_op", "statements of one operation, BEGIN and COMMIT included", |of| {
        float(Some(of.kind.queries_per_op))
    }),
    column("ops", "operations of this kind that were done by the end of the run phase", |of| of.kind.ops.to_string()),
    column("failed", "operations of this kind that failed", |of| of.kind.failed.to_string()),
    column("share", "share of all operations done, from 0 to 1; empty in the background", |of| float(of.kind.share)),
    column("ops_per_s", "operations of this kind done per second", |of| float(Some(of.kind.ops_per_s))),
    column("background", "whether clients in the background did them: `true` or `false`", |of| {
        of.kind.background.to_string()
    }),
    column("asked_per_s", "operations per second that clients in the background were to do", |of| {
        float(of.kind.asked_per_s)
    }),
    column("bytes_per_s", "payload of these operations per second", |of| float(Some(of.kind.bytes_per_s))),
    column("response_mean_ns", "mean response time (finished - intended) of the whole operation", |of| {
        float(of.kind.response_ns.map(|times| times.mean))
    }),
    column("response_p50_ns", "median of it", |of| response(of, |q| q.p50)),
    column("response_p95_ns", "95th percentile of it", |of| response(of, |q| q.p95)),
    column("response_p99_ns", "99th percentile of it", |of| response(of, |q| q.p99)),
    column("response_p999_ns", "99.9th percentile of it", |of| response(of, |q| q.p999)),
    column("response_max_ns", "longest response time", |of| response(of, |q| q.max)),
    column("service_p50_ns", "median service time (finished - started)", |of| service(of, |q| q.p50)),
    column("service_p95_ns", "95th percentile of it", |of| service(of, |q| q.p95)),
    column("service_p99_ns", "99th percentile of it", |of| service(of, |q| q.p99)),
    column("service_p999_ns", "99.9th percentile of it", |of| service(of, |q| q.p999)),
    column("service_max_ns", "longest service time", |of| service(of, |q| q.max)),
];

/// One row for each kind of operation of each point that performed several.
pub fn statements_csv(analysis: &Analysis) -> String {
    csv_table(STATEMENT_COLUMNS, analysis.points.iter().flat_map(kinds_of))
}

fn kinds_of(point: &PointAnalysis) -> impl Iterator<Item = CsvStatement<'_>> {
    point.several_statements().iter().map(move |kind| CsvStatement { point, kind })
}

fn response(of: &CsvStatement, which: fn(Quantiles) -> u64) -> String {
    of.kind.response_ns.map(|times| which(times).to_string()).unwrap_or_default()
}

fn service(of: &CsvStatement, which: fn(Quantiles) -> u64) -> String {
    of.kind.service_ns.map(|times| which(times).to_string()).unwrap_or_default()
}

fn class_word(class: OpClass) -> &'static str {
    match class {
        OpClass::Read => "read",
        OpClass::Write => "write",
        OpClass::ReadWrite => "read-write",
        OpClass::Sync => "sync",
        OpClass::Index => "index",
        OpClass::Drain => "drain",
        OpClass::Compute => "compute",
        OpClass::Connect => "connect",
        OpClass::Step => "step",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{HOSTILE, quick, with_statements};

    #[test]
    fn rows_have_as_many_fields_as_their_heads_and_points_of_single_kinds_have_none() {
        let text = statements_csv(&with_statements());
        let widths: Vec<usize> = text.lines().map(|line| line.split(',').count()).collect();
        assert!(widths.len() == 3 && widths.iter().all(|width| *width == STATEMENT_COLUMNS.len()), "{text}");
        assert!(
            text.lines().nth(2).is_some_and(|line| line.contains(",pay,read-write,3,2500,3,0.25,250,false,,")),
            "{text}"
        );
        assert_eq!(statements_csv(&quick()).lines().count(), 1);
    }

    #[test]
    fn names_of_statements_are_no_formulas() {
        let mut analysis = with_statements();
        for text in HOSTILE {
            analysis.points[0].statements[0].kind = text.to_owned();
            let csv = statements_csv(&analysis);
            assert!(csv.contains(&format!(",{},", escape::csv(text))), "{csv}");
        }
    }
}
