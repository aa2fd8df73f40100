//! Executes the operations of a client on a connection of SQLite.
//!
//! In: an operation, the texts of its statements, and whether they are kept prepared. Out: rows read and rows changed. Limits: what is read
//! is looked at and dropped; a transaction that fails is the caller's to roll back.

use crate::sql::session_options::StatementMode;
use model::{SqlArg, SqlOp};
use rusqlite::{Connection, Statement};

/// What begins a transaction that writes, one that only reads, and what ends both.
pub(crate) const AROUND_A_TRANSACTION: [&str; 3] = ["BEGIN IMMEDIATE", "BEGIN", "COMMIT"];

/// Performs `op`, whose calls are of `statements`.
pub(crate) fn perform_op(
    connection: &Connection,
    how: StatementMode,
    statements: &[String],
    op: &SqlOp,
) -> rusqlite::Result<()> {
    if !op.transaction {
        return perform_calls(connection, how, statements, op);
    }
    let [begin_to_write, begin_to_read, commit] = AROUND_A_TRANSACTION;
    // A transaction that begins to read and then writes may fail at once, without waiting: SQLite cannot upgrade it behind another
    // writer.
    let begin = if op.writes { begin_to_write } else { begin_to_read };
    connection.prepare_cached(begin)?.raw_execute()?;
    perform_calls(connection, how, statements, op)?;
    connection.prepare_cached(commit)?.raw_execute()?;
    Ok(())
}

fn perform_calls(
    connection: &Connection,
    how: StatementMode,
    statements: &[String],
    op: &SqlOp,
) -> rusqlite::Result<()> {
    let mut args = &op.args[..];
    for call in &op.calls {
        let (mine, rest) = args.split_at(call.args as usize);
        args = rest;
        let text = &statements[call.statement as usize];
        match how {
            StatementMode::Prepared => {
                let mut statement = connection.prepare_cached(text)?;
                execute_statement(&mut statement, mine, &op.text)?;
            }
            StatementMode::Plain => execute_statement(&mut connection.prepare(text)?, mine, &op.text)?,
        }
    }
    Ok(())
}

fn execute_statement(statement: &mut Statement, args: &[SqlArg], text: &[u8]) -> rusqlite::Result<()> {
    bind_arguments(statement, args, text)?;
    fetch_all(statement)
}

fn bind_arguments(statement: &mut Statement, args: &[SqlArg], text: &[u8]) -> rusqlite::Result<()> {
    for (place, arg) in (1..).zip(args) {
        match *arg {
            SqlArg::Int(value) => statement.raw_bind_parameter(place, value)?,
            SqlArg::Float(value) => statement.raw_bind_parameter(place, value)?,
            SqlArg::Text { start, len } => {
                let bytes = &text[start as usize..][..len as usize];
                let value = std::str::from_utf8(bytes).expect("workloads write UTF-8");
                statement.raw_bind_parameter(place, value)?;
            }
        }
    }
    Ok(())
}

/// Steps through all rows and looks at each first column, as a client would.
fn fetch_all(statement: &mut Statement) -> rusqlite::Result<()> {
    if statement.column_count() == 0 {
        return statement.raw_execute().map(drop);
    }
    let mut rows = statement.raw_query();
    while let Some(row) = rows.next()? {
        std::hint::black_box(row.get_ref(0)?);
    }
    Ok(())
}
