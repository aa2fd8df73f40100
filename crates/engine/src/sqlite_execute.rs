//! Executes the operations of a client on a connection of SQLite.
//!
//! In: an operation, the texts of its statements, and whether they are kept prepared. Out: rows read and rows changed. Limits: what is read
//! is looked at and dropped; a transaction that fails is the caller's to roll back.

use crate::sql::kept::{AfterAnswer, KeptRows, KeptValues, NOT_THERE, answer_kept};
use crate::sql::row_tally::{Answered, RowTally};
use crate::sql::session_options::StatementMode;
use crate::sql::{args_of, end_text};
use model::{RowCounts, SqlArg, SqlOp, TransactionEnd};
use rusqlite::{Connection, Statement};

/// What begins a transaction that writes, one that only reads, and what ends both.
pub(crate) const AROUND_A_TRANSACTION: [&str; 4] = ["BEGIN IMMEDIATE", "BEGIN", "COMMIT", "ROLLBACK"];

/// What operations keep of their answers, and how many rows these have: the buffers of one client.
pub(crate) struct Keeper {
    pub(crate) tally: RowTally,
    rows: KeptRows,
    values: KeptValues,
}

impl Keeper {
    /// Counts rows by `tally`.
    pub(crate) fn new(tally: RowTally) -> Keeper {
        Keeper { tally, rows: KeptRows::default(), values: KeptValues::default() }
    }
}

/// `statement` without the words that lock the rows it reads: SQLite has none, and a transaction that writes has all of the database.
pub(crate) fn without_row_locks(statement: &str) -> &str {
    statement.strip_suffix(" FOR UPDATE").unwrap_or(statement)
}

/// Performs `op`, whose calls are of `statements`.
pub(crate) fn perform_op(
    connection: &Connection,
    how: StatementMode,
    statements: &[String],
    op: &SqlOp,
    keeper: &mut Keeper,
) -> rusqlite::Result<()> {
    keeper.tally.begin(op);
    if !op.transaction {
        return perform_calls(connection, how, statements, op, keeper);
    }
    let [begin_to_write, begin_to_read, ..] = AROUND_A_TRANSACTION;
    // A transaction that begins to read and then writes may fail at once, without waiting: SQLite cannot upgrade it behind another
    // writer.
    let begin = if op.writes { begin_to_write } else { begin_to_read };
    connection.prepare_cached(begin)?.raw_execute()?;
    perform_calls(connection, how, statements, op, keeper)?;
    connection.prepare_cached(end_text(op))?.raw_execute()?;
    keeper.tally.end_transaction(op.ending == TransactionEnd::Commit);
    Ok(())
}

fn perform_calls(
    connection: &Connection,
    how: StatementMode,
    statements: &[String],
    op: &SqlOp,
    keeper: &mut Keeper,
) -> rusqlite::Result<()> {
    if !op.keeps.is_empty() {
        return perform_keeping(connection, how, statements, op, keeper);
    }
    for (call, args) in op.calls_with_args() {
        let text = &statements[call.statement as usize];
        let rows = with_statement(connection, how, text, |statement| execute_statement(statement, args, &op.text))?;
        keeper.tally.add(call.statement, &answered(connection, rows));
    }
    Ok(())
}

/// The same for an operation whose calls need what others of them have returned.
fn perform_keeping(
    connection: &Connection,
    how: StatementMode,
    statements: &[String],
    op: &SqlOp,
    Keeper { tally, rows, values }: &mut Keeper,
) -> rusqlite::Result<()> {
    let (mut nth, mut args) = (0, &op.args[..]);
    while let Some(call) = op.calls.get(nth) {
        let mine = values.fill_in(&args[..call.args.into()]);
        let text = &statements[usize::from(call.statement)];
        let (rows_of_call, after) = if let Some(answer) = answer_kept(op, nth) {
            rows.begin(answer.columns);
            let counted = with_statement(connection, how, text, |statement| {
                bind_arguments(statement, mine, &op.text)?;
                keep_all(statement, rows)
            })?;
            (counted, values.keep(answer, rows).ok_or_else(row_missing)?)
        } else {
            let execute = |statement: &mut Statement| execute_statement(statement, mine, &op.text);
            (with_statement(connection, how, text, execute)?, AfterAnswer::Next { skipped: 0 })
        };
        tally.add(call.statement, &answered(connection, rows_of_call));
        let AfterAnswer::Next { skipped } = after else { continue };
        let next = nth + 1 + usize::from(skipped);
        args = &args[args_of(op, nth..next)..];
        nth = next;
    }
    Ok(())
}

fn answered(connection: &Connection, rows: RowCounts) -> Answered {
    Answered { rows, in_transaction: !connection.is_autocommit(), ..Answered::default() }
}

fn row_missing() -> rusqlite::Error {
    rusqlite::Error::SqliteFailure(rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_EMPTY), Some(NOT_THERE.into()))
}

/// Does `what` with the statement `text`.
#[inline]
fn with_statement(
    connection: &Connection,
    how: StatementMode,
    text: &str,
    what: impl FnOnce(&mut Statement) -> rusqlite::Result<RowCounts>,
) -> rusqlite::Result<RowCounts> {
    match how {
        StatementMode::Prepared | StatementMode::Arrays => {
            let mut statement = connection.prepare_cached(text)?;
            what(&mut statement)
        }
        StatementMode::Plain => what(&mut connection.prepare(text)?),
    }
}

/// Steps through all rows and keeps the first values of each.
fn keep_all(statement: &mut Statement, kept: &mut KeptRows) -> rusqlite::Result<RowCounts> {
    let (mut rows, mut counts) = (statement.raw_query(), RowCounts::default());
    while let Some(row) = rows.next()? {
        counts.returned += 1;
        for column in 0..kept.columns() {
            kept.push(row.get::<_, Option<i64>>(column).unwrap_or_default());
        }
    }
    Ok(counts)
}

fn execute_statement(statement: &mut Statement, args: &[SqlArg], text: &[u8]) -> rusqlite::Result<RowCounts> {
    bind_arguments(statement, args, text)?;
    fetch_all(statement)
}

/// Binds `args`, whose texts are in `text`.
pub(crate) fn bind_arguments(statement: &mut Statement, args: &[SqlArg], text: &[u8]) -> rusqlite::Result<()> {
    for (place, arg) in (1..).zip(args) {
        match *arg {
            SqlArg::Int(value) => statement.raw_bind_parameter(place, value)?,
            SqlArg::Float(value) => statement.raw_bind_parameter(place, value)?,
            SqlArg::Text { start, len } => {
                let bytes = &text[start as usize..][..len as usize];
                let value = std::str::from_utf8(bytes).expect("workloads write UTF-8");
                statement.raw_bind_parameter(place, value)?;
            }
            SqlArg::Null => statement.raw_bind_parameter(place, rusqlite::types::Null)?,
            SqlArg::Kept(_) => unreachable!("kept values are filled in before"),
        }
    }
    Ok(())
}

/// Steps through all rows and looks at each first column, as a client would.
fn fetch_all(statement: &mut Statement) -> rusqlite::Result<RowCounts> {
    let mut counts = RowCounts::default();
    if statement.column_count() == 0 {
        counts.changed = statement.raw_execute()? as u64;
        return Ok(counts);
    }
    let mut rows = statement.raw_query();
    while let Some(row) = rows.next()? {
        counts.returned += 1;
        std::hint::black_box(row.get_ref(0)?);
    }
    Ok(counts)
}
