//! The statements of two watches as CSV.
//!
//! In: comparisons of watches. Out: text with a header line and a row for each statement that one of them has. Limits: a value that is not known is
//! an empty field. Each watch is one sample, so that no ratio has an interval.

use crate::csv_column::{CsvColumn, column, csv_table, float};
use crate::escape;
use crate::wording::compare::arm_name;
use analysis::compare::{RunComparison, StatementChange, StatementFigures};

/// A row of watched.csv.
#[derive(Clone, Copy)]
pub struct ComparedStatement<'a> {
    comparison: &'a RunComparison,
    statement: &'a StatementChange,
}

/// A column of watched.csv.
type StatementColumn = CsvColumn<fn(&ComparedStatement) -> String>;

/// The columns of watched.csv.
pub static WATCHED_COLUMNS: &[StatementColumn] = &[
    column("base_arm", "name of the base", |of| escape::csv(&arm_name(&of.comparison.base))),
    column("new_arm", "name of the arm that is compared with it", |of| escape::csv(&arm_name(&of.comparison.new))),
    column("database", "database that it ran in, if the server tells it", |of| {
        escape::csv(of.statement.database.as_deref().unwrap_or_default())
    }),
    column("statement", "its text without values", |of| escape::csv(&of.statement.text)),
    column("base_mean_ns", "mean time of an execution in the base; empty if it has no such statement", |of| {
        figure(of, 0, |side| Some(side.mean_ns))
    }),
    column("new_mean_ns", "the same in the other", |of| figure(of, 1, |side| Some(side.mean_ns))),
    column("ratio", "new : base, of the mean times", |of| float(of.statement.ratio())),
    column("base_calls_per_s", "executions per second in the base", |of| figure(of, 0, |side| side.calls_per_s)),
    column("new_calls_per_s", "the same in the other", |of| figure(of, 1, |side| side.calls_per_s)),
    column("base_time_share", "its share of the time of all statements in the base", |of| {
        figure(of, 0, |side| Some(side.time_share))
    }),
    column("new_time_share", "the same in the other", |of| figure(of, 1, |side| Some(side.time_share))),
    column("base_rows_read_per_row_sent", "rows read for each row sent in the base, if the server tells it", |of| {
        figure(of, 0, |side| side.rows_read_per_row_sent)
    }),
    column("new_rows_read_per_row_sent", "the same in the other", |of| {
        figure(of, 1, |side| side.rows_read_per_row_sent)
    }),
    column("base_pages_per_call", "pages for each execution in the base, if the server tells it", |of| {
        figure(of, 0, |side| side.pages_per_call)
    }),
    column("new_pages_per_call", "the same in the other", |of| figure(of, 1, |side| side.pages_per_call)),
    column("changed", "`true` if its mean time changed so much that one should look", |of| {
        of.statement.is_telling().to_string()
    }),
];

fn figure(of: &ComparedStatement, side: usize, value: fn(&StatementFigures) -> Option<f64>) -> String {
    float(of.statement.sides[side].as_ref().and_then(value))
}

/// watched.csv; `None` if no comparison is of watches.
pub fn watched_csv(all: &[RunComparison]) -> Option<String> {
    let rows = all.iter().flat_map(|comparison| {
        let statements = comparison.watches.iter().flat_map(|watches| &watches.statements);
        statements.map(move |statement| ComparedStatement { comparison, statement })
    });
    all.iter().any(|one| one.watches.is_some()).then(|| csv_table(WATCHED_COLUMNS, rows))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::compared;
    use analysis::compare::{WatchComparison, WatchedLoad};
    use model::ObservedCounts;

    #[test]
    fn each_watched_statement_is_a_row_and_other_comparisons_have_no_such_file() {
        let mut one = compared();
        assert_eq!(watched_csv(std::slice::from_ref(&one)), None);
        let side = |mean_ns: f64, rows: f64| StatementFigures {
            calls: 1_000,
            calls_per_s: Some(100.0),
            mean_ns,
            time_share: 0.5,
            rows_read_per_row_sent: Some(rows),
            pages_per_call: None,
        };
        let change = |text: &str, sides| StatementChange { text: text.into(), database: Some("shop".into()), sides };
        let load = WatchedLoad {
            seconds: 60.0,
            known_seconds: Some(60.0),
            counts: ObservedCounts::Statements,
            per_s: Some(200.0),
            cpu_share: None,
            has_statements: true,
            has_others: false,
        };
        let statements = vec![
            change("SELECT a, b FROM t", [Some(side(2_000.0, 1.0)), Some(side(5_000.0, 80.0))]),
            change("SELECT 1", [Some(side(1_000.0, 1.0)), None]),
        ];
        one.watches = Some(WatchComparison { loads: [load; 2], statements });
        let text = watched_csv(&[one]).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[1], "old,new,shop,\"SELECT a, b FROM t\",2000,5000,2.5,100,100,0.5,0.5,1,80,,,true");
        assert_eq!(lines[2], "old,new,shop,SELECT 1,1000,,,100,,0.5,,1,,,,false");
        assert_eq!((lines.len(), lines[0].split(',').count()), (3, WATCHED_COLUMNS.len()));
    }
}
