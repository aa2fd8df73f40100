//! The steps of variants on SQLite.
//!
//! In: a database, the parameters of its connections. Out: connections that execute steps, and what SQLite reports of its plan and its work.
//! Limits: SQLite counts its work by statement: steps of full scans, sorts, rows of automatic indexes, steps of its virtual machine.

use crate::sql::OpFailure;
use crate::sql::variant::rows::{RowBuffer, RowLayout, put_counted};
use crate::sql::variant::watchdog::CancelStatement;
use crate::sql::variant::{VariantEngine, VariantSession};
use crate::sqlite::{op_failure, open_connection};
use model::{Fact, Params, StatementEffort};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, StatementStatus};
use std::io::Write as _;
use std::path::PathBuf;

/// The database of an instance.
#[derive(Clone)]
pub struct VariantDatabase {
    pub database: PathBuf,
    /// The parameters of the engine.
    pub params: Params,
}

impl VariantEngine for VariantDatabase {
    type Session = Connection;

    fn engine_name(&self) -> String {
        "engine `sqlite`".to_owned()
    }

    fn open_session(&self) -> Result<Connection, OpFailure> {
        open_connection(&self.database, &self.params, 0).map_err(op_failure)
    }
}

impl VariantSession for Connection {
    const LAYOUT: RowLayout = RowLayout::Counted;

    fn run_step(&mut self, sql: &str, rows: &mut RowBuffer) -> Result<(), OpFailure> {
        fetch(self, sql, rows).map(drop).map_err(failure)
    }

    fn canceller(&mut self) -> Result<CancelStatement, OpFailure> {
        let handle = self.get_interrupt_handle();
        Ok(Box::new(move || handle.interrupt()))
    }

    fn explain(&mut self, sql: &str, executes: bool) -> Result<Vec<Fact>, OpFailure> {
        explain(self, sql, executes).map_err(failure)
    }
}

/// The failure of a statement, without the statement: it is quoted as the plan has it.
fn failure(error: rusqlite::Error) -> OpFailure {
    let text = if let rusqlite::Error::SqlInputError { msg, .. } = &error { Some(msg.clone()) } else { None };
    let failure = op_failure(error);
    OpFailure { text: text.unwrap_or(failure.text), ..failure }
}

/// Executes `sql`, puts its rows into `rows`, and returns what it cost.
fn fetch(connection: &Connection, sql: &str, rows: &mut RowBuffer) -> rusqlite::Result<Vec<(StatementEffort, f64)>> {
    let mut statement = connection.prepare(sql)?;
    let columns = statement.column_count();
    rows.begin(columns);
    {
        let mut found = statement.raw_query();
        while let Some(row) = found.next()? {
            rows.push_counted(columns, |bytes| (0..columns).for_each(|at| put_value(bytes, row.get_ref(at).ok())));
        }
    }
    use StatementEffort::{MachineSteps, RowsRead, Sorts, TransientIndexRows};
    let counters = [
        (RowsRead, StatementStatus::FullscanStep),
        (Sorts, StatementStatus::Sort),
        (TransientIndexRows, StatementStatus::AutoIndex),
        (MachineSteps, StatementStatus::VmStep),
    ];
    Ok(counters.map(|(effort, counter)| (effort, f64::from(statement.get_status(counter)))).to_vec())
}

/// The value as a text, as servers send it.
fn put_value(bytes: &mut Vec<u8>, value: Option<ValueRef<'_>>) {
    // An i64 has 20 characters at most, and a float the digits that it needs.
    let mut text = [0u8; 400];
    let mut put_number = |bytes: &mut Vec<u8>, number: std::fmt::Arguments<'_>| {
        let mut rest = &mut text[..];
        let _ = rest.write_fmt(number); // it fits
        let left = rest.len();
        put_counted(bytes, Some(&text[..text.len() - left]));
    };
    match value {
        None | Some(ValueRef::Null) => put_counted(bytes, None),
        Some(ValueRef::Integer(number)) => put_number(bytes, format_args!("{number}")),
        Some(ValueRef::Real(number)) => put_number(bytes, format_args!("{number}")),
        Some(ValueRef::Text(text) | ValueRef::Blob(text)) => put_counted(bytes, Some(text)),
    }
}

fn explain(connection: &Connection, sql: &str, executes: bool) -> rusqlite::Result<Vec<Fact>> {
    let plan = plan_lines(connection, sql)?;
    let mut facts = vec![Fact::new("explain.plan", plan.join("\n")), Fact::new("explain.built", built(&plan))];
    if executes {
        let mut rows = RowBuffer::new(RowLayout::Counted);
        let efforts = fetch(connection, sql, &mut rows)?;
        facts.extend(efforts.into_iter().map(|(effort, count)| Fact::new(effort.fact_name(), count.to_string())));
    }
    Ok(facts)
}

/// The plan with two blanks for each level. (<https://sqlite.org/eqp.html>)
fn plan_lines(connection: &Connection, sql: &str) -> rusqlite::Result<Vec<String>> {
    let mut statement = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}"))?;
    let nodes = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(3)?)))?;
    let mut levels: Vec<(i64, usize)> = vec![(0, 0)];
    let mut lines = Vec::new();
    for node in nodes {
        let (id, parent, detail): (i64, i64, String) = node?;
        let level = levels.iter().find(|(known, _)| *known == parent).map_or(0, |(_, level)| *level);
        levels.push((id, level + 1));
        lines.push(format!("{:1$}{detail}", "", 2 * level));
    }
    Ok(lines)
}

/// What SQLite makes for the statement alone.
fn built(plan: &[String]) -> String {
    let mut all: Vec<String> = Vec::new();
    for line in plan {
        let line = line.trim();
        let what = match line {
            _ if line.contains("AUTOMATIC") => "automatic index".to_owned(),
            _ if line.starts_with("MATERIALIZE") => "materialized subquery".to_owned(),
            _ if line.starts_with("CO-ROUTINE") => "co-routine".to_owned(),
            _ if line.starts_with("BLOOM FILTER") => "Bloom filter".to_owned(),
            _ => match line.strip_prefix("USE TEMP B-TREE FOR ") {
                Some(purpose) => format!("temporary B-tree for {purpose}"),
                None => continue,
            },
        };
        if !all.contains(&what) {
            all.push(what);
        }
    }
    if all.is_empty() { "nothing".to_owned() } else { all.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn database() -> Connection {
        let connection = Connection::open_in_memory().unwrap();
        connection
            .execute_batch("CREATE TABLE t (a INT, b REAL, c TEXT); INSERT INTO t VALUES (1, 1.5, 'x'), (2, NULL, 'y')")
            .unwrap();
        connection
    }

    #[test]
    fn rows_are_texts_and_the_plan_names_what_is_built() {
        let mut connection = database();
        let mut rows = RowBuffer::new(RowLayout::Counted);
        connection.run_step("SELECT a, b, c FROM t", &mut rows).unwrap();
        let summary = rows.summary();
        assert_eq!((summary.rows, summary.columns), (2, 3));
        let facts = connection.explain("SELECT DISTINCT c FROM t ORDER BY b", true).unwrap();
        let value = |name: &str| facts.iter().find(|fact| fact.name == name).map(|fact| fact.value.as_str()).unwrap();
        assert_eq!(value("explain.plan").lines().next(), Some("SCAN t"));
        assert!(value("explain.built").starts_with("temporary B-tree for DISTINCT, temporary B-tree for ORDER BY"));
        assert!(value("statement.machine_steps").parse::<f64>().unwrap() > 0.0);
        assert!(connection.explain("SELECT nosuch FROM t", true).unwrap_err().text.contains("nosuch"));
    }

    #[test]
    fn a_statement_that_does_not_end_is_interrupted() {
        let mut connection = database();
        let mut cancel = connection.canceller().unwrap();
        let endless = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT max(x) FROM n";
        let (done, is_done) = std::sync::mpsc::channel();
        let canceller = std::thread::spawn(move || {
            // An interrupt that comes before the statement has no effect, so it is repeated.
            while is_done.recv_timeout(std::time::Duration::from_millis(1)).is_err() {
                cancel();
            }
        });
        let mut rows = RowBuffer::new(RowLayout::Counted);
        let failure = connection.run_step(endless, &mut rows).unwrap_err();
        done.send(()).unwrap();
        canceller.join().unwrap();
        assert!(failure.text.contains("interrupted"), "{}", failure.text);
    }
}
