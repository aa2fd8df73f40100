//! Each kind of operation by itself, as a table of the documents and of the terminal: which statement is slow.
//!
//! In: an analysis. Out: a [`StatementTable`], if any point performed several kinds. Limits: points of one kind are left out, because the
//! table of points has their numbers; so are those of variants and of compressed files, which have tables of their own.

use crate::format;
use crate::wording::label::point_label;
use crate::wording::quantity::percent;
use analysis::{Analysis, PointAnalysis, Quantiles, StatementSummary};
use serde::Serialize;

/// The heading of the table.
pub const TITLE: &str = "Each kind of operation";
/// What its cells mean, in a terminal,
pub const SHORT_LEGEND: &str = "share: of the operations done, without those in the background; response times of whole operations, with \
    the commit of a transaction";
/// and in a document.
pub const LEGEND: &str = "A kind is a statement or transaction that the plan names, or what is done with files. Share: of the operations done \
    in the run phase; what clients do in the background is not counted. Times are response times of whole operations: of a transaction, from its first statement to the end of its commit. \
    The statements in a transaction have no times of their own.";

/// The heads of the cells behind point and kind.
pub const HEADS: [&str; 7] = ["ops/s", "share", "p50", "p95", "p99", "max", "failed"];

/// The table with its heading and its legend, as a document shows it.
#[derive(Serialize)]
pub struct StatementSection {
    title: &'static str,
    heads: [&'static str; HEADS.len()],
    legend: &'static str,
    points: Vec<PointStatements>,
}

impl StatementSection {
    /// The section of `analysis`; it has no points if none performed several kinds.
    pub fn from_analysis(analysis: &Analysis) -> StatementSection {
        StatementSection { title: TITLE, heads: HEADS, legend: LEGEND, points: statement_tables(analysis) }
    }
}

/// The kinds of one point.
#[derive(Serialize)]
pub struct PointStatements {
    /// The point's label.
    pub label: String,
    /// A row for each kind.
    pub rows: Vec<StatementRow>,
}

/// The numbers of one kind.
#[derive(Serialize)]
pub struct StatementRow {
    /// Its name.
    pub kind: String,
    /// A cell for each of [`HEADS`].
    pub cells: [String; HEADS.len()],
}

/// The points of `analysis` that performed several kinds of operation.
pub fn statement_tables(analysis: &Analysis) -> Vec<PointStatements> {
    let with_several = analysis.points.iter().filter(|point| !point.several_statements().is_empty());
    let table = |point: &PointAnalysis| PointStatements {
        label: point_label(point),
        rows: point.several_statements().iter().map(row).collect(),
    };
    with_several.map(table).collect()
}

fn row(kind: &StatementSummary) -> StatementRow {
    let time = |which: fn(Quantiles) -> u64| format::nanos_or_dash(kind.response_ns.map(which));
    StatementRow {
        kind: label(kind),
        cells: [
            format::number(kind.ops_per_s),
            kind.share.map_or_else(format::dash, |share| percent(share).to_string()),
            time(|q| q.p50),
            time(|q| q.p95),
            time(|q| q.p99),
            time(|q| q.max),
            format::count(kind.failed),
        ],
    }
}

/// `lookup`; in the background `report (background)`. The rate that was asked for is in the line of the load, below its point.
fn label(kind: &StatementSummary) -> String {
    if kind.background { format!("{} (background)", kind.kind) } else { kind.kind.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{quick, with_statements};

    #[test]
    fn a_point_of_several_kinds_has_a_row_for_each_and_others_are_left_out() {
        let tables = statement_tables(&with_statements());
        let [table] = tables.as_slice() else { panic!("one point has several kinds") };
        let rows: Vec<String> = table.rows.iter().map(|row| format!("{} {}", row.kind, row.cells.join(" "))).collect();
        assert_eq!(rows.len(), 2);
        assert!(rows[0].starts_with("lookup 750 75") && rows[1].starts_with("pay 250 25"), "{rows:?}");
        assert!(rows[0].ends_with(" 0") && rows[1].ends_with(" 3"), "{rows:?}");
        assert!(statement_tables(&quick()).is_empty());
    }
}
