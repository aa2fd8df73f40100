//! How statements are executed over a connection: all prepared at its start, prepared when first needed, or as plain text.
//!
//! In: a connection that prepares and executes, statements with `?`, the session options. Out: a [`StatementExecutor`] that takes
//! statements by their numbers. Limits: a prepared statement stays prepared as long as the connection is open.

use crate::sql::SqlConnection;
use crate::sql::admin_connection::{WireError, if_complete};
use crate::sql::kept::{KeptRows, KeptValues};
use crate::sql::literals::{Dialect, PlainStatements};
use crate::sql::multiplex::SqlCommand;
use crate::sql::preparing::PreparingConnection;
use crate::sql::row_tally::Answered;
use crate::sql::session_options::{SessionOptions, StatementMode};
use model::SqlArg;
use std::sync::Arc;

/// A connection, and how statements are executed over it.
pub struct StatementExecutor<W> {
    /// The connection, for non-blocking use.
    pub wire: W,
    mode: ExecutionMode,
    kept: KeptValues,
    /// The statement whose preparation was put into the send buffer and is not answered yet.
    preparing: Option<u16>,
}

/// How statements are executed.
enum ExecutionMode {
    /// All are prepared, under their own numbers.
    Prepared,
    /// Each is prepared when it is first needed. `prepared[n]` is the statement that has number `n` on the connection.
    WhenNeeded { statements: Arc<[String]>, prepared: Vec<u16> },
    /// As plain text, built in one buffer.
    Plain(PlainStatements, String),
}

impl<W: PreparingConnection> StatementExecutor<W> {
    /// Executes `statements` over the new `wire` as `options` ask.
    ///
    /// # Errors
    /// If a statement could not be prepared: the statement, and why.
    pub fn new<'s>(
        wire: W,
        statements: &'s Arc<[String]>,
        options: &SessionOptions,
        dialect: Dialect,
    ) -> Result<Self, (&'s str, W::Error)> {
        let mut executor = StatementExecutor::unprepared(wire, statements, options, dialect);
        if options.prepares_all() {
            let mut prepare =
                |text: &'s String| executor.wire.prepare_statement(text).map_err(|error| (text.as_str(), error));
            statements.iter().try_for_each(&mut prepare)?;
        }
        Ok(executor)
    }

    /// The same, whose statements are still to be prepared in their order if `options` ask for all.
    pub fn unprepared(wire: W, statements: &Arc<[String]>, options: &SessionOptions, dialect: Dialect) -> Self {
        let mode = match options.statements {
            StatementMode::Plain => ExecutionMode::Plain(PlainStatements::new(statements, dialect), String::new()),
            StatementMode::Prepared | StatementMode::Arrays if options.prepares_all() => ExecutionMode::Prepared,
            StatementMode::Prepared | StatementMode::Arrays => {
                ExecutionMode::WhenNeeded { statements: statements.clone(), prepared: Vec::new() }
            }
        };
        StatementExecutor { wire, mode, kept: KeptValues::default(), preparing: None }
    }

    /// Puts the next command into the send buffer. False if it is the preparation of a statement, after whose answer the command is to be
    /// put again.
    #[inline]
    pub fn put_command(&mut self, next: SqlCommand<'_>) -> Result<bool, W::Error> {
        match next {
            SqlCommand::Text(text) => self.wire.put_text(text)?,
            SqlCommand::Call { statement, .. } if self.is_unprepared(statement) => {
                self.put_preparation(statement)?;
                return Ok(false);
            }
            SqlCommand::Call { statement, args, text } => self.put_call(statement, args, text)?,
        }
        Ok(true)
    }

    #[inline]
    fn is_unprepared(&self, statement: u16) -> bool {
        matches!(&self.mode, ExecutionMode::WhenNeeded { prepared, .. } if !prepared.contains(&statement))
    }

    #[cold]
    fn put_preparation(&mut self, statement: u16) -> Result<(), W::Error> {
        let ExecutionMode::WhenNeeded { statements, .. } = &self.mode else { unreachable!("it is prepared") };
        self.preparing = Some(statement);
        self.wire.put_preparation(&statements[usize::from(statement)])
    }

    /// Takes what has come of the answer to the last command; `take` does if that was no preparation. True if that was all of it.
    #[inline]
    pub fn take_some(&mut self, take: impl FnOnce(&mut W) -> Result<bool, W::Error>) -> Result<bool, W::Error>
    where
        W::Error: WireError,
    {
        if self.preparing.is_some() { self.take_preparation() } else { take(&mut self.wire) }
    }

    #[cold]
    fn take_preparation(&mut self) -> Result<bool, W::Error>
    where
        W::Error: WireError,
    {
        let taken = if_complete(self.wire.take_preparation());
        if matches!(taken, Ok(None)) {
            return Ok(false);
        }
        let statement = self.preparing.take();
        taken?;
        if let (ExecutionMode::WhenNeeded { prepared, .. }, Some(statement)) = (&mut self.mode, statement) {
            prepared.push(statement);
        }
        Ok(true)
    }

    #[inline]
    fn put_call(&mut self, statement: u16, args: &[SqlArg], text: &[u8]) -> Result<(), W::Error> {
        match &mut self.mode {
            ExecutionMode::Prepared => self.wire.put_execution(statement.into(), args, text),
            ExecutionMode::Plain(plain, said) => {
                plain.write_statement(said, statement.into(), args, text);
                self.wire.put_text(said)
            }
            ExecutionMode::WhenNeeded { statements, prepared } => {
                let number = number_when_needed(&mut self.wire, statements, prepared, statement)?;
                self.wire.put_execution(number, args, text)
            }
        }
    }
}

impl<W: PreparingConnection> SqlConnection for StatementExecutor<W> {
    type Error = W::Error;

    #[inline]
    fn run_text(&mut self, text: &str) -> Result<(), W::Error> {
        self.wire.put_text(text)?;
        self.wire.send_and_receive()
    }

    #[inline]
    fn call_statement(&mut self, statement: u16, args: &[SqlArg], text: &[u8]) -> Result<(), W::Error> {
        self.put_call(statement, args, text)?;
        self.wire.send_and_receive()
    }

    fn call_keeping(
        &mut self,
        statement: u16,
        args: &[SqlArg],
        text: &[u8],
        columns: u8,
    ) -> Result<&KeptRows, W::Error> {
        self.put_call(statement, args, text)?;
        self.wire.keep_rows(columns);
        self.wire.send_and_receive()?;
        Ok(self.wire.kept_rows())
    }

    #[inline]
    fn answered(&self) -> Answered {
        self.wire.answered()
    }

    fn kept_values(&mut self) -> &mut KeptValues {
        &mut self.kept
    }

    fn row_missing() -> W::Error {
        W::row_missing()
    }

    fn rolled_back() -> W::Error {
        W::rolled_back()
    }
}

/// The number under which `statement` is prepared; it is prepared now if it was not before.
fn number_when_needed<W: PreparingConnection>(
    wire: &mut W,
    statements: &[String],
    prepared: &mut Vec<u16>,
    statement: u16,
) -> Result<usize, W::Error> {
    // A connection that lasts for one operation prepares only a few, so a search through them is short.
    if let Some(number) = prepared.iter().position(|known| *known == statement) {
        return Ok(number);
    }
    wire.prepare_statement(&statements[usize::from(statement)])?;
    prepared.push(statement);
    Ok(prepared.len() - 1)
}

#[cfg(test)]
mod tests {
    //! The numbers, on a wire that writes down what it is told; the real servers are in the contract tests.

    use super::*;
    use crate::sql::session_options::ConnectionLifetime;
    use crate::sql::testing::options;

    #[derive(Default)]
    struct RecordingConnection(Vec<String>);

    impl PreparingConnection for RecordingConnection {
        type Error = &'static str;
        fn put_preparation(&mut self, text: &str) -> Result<(), &'static str> {
            self.0.push(format!("prepare {text}"));
            if text == "bad" { Err("it is bad") } else { Ok(()) }
        }
        fn take_preparation(&mut self) -> Result<(), &'static str> {
            Ok(())
        }
        fn send_command(&mut self) -> Result<(), &'static str> {
            Ok(())
        }
        fn put_execution(&mut self, number: usize, _: &[SqlArg], _: &[u8]) -> Result<(), &'static str> {
            self.0.push(format!("execute {number}"));
            Ok(())
        }
        fn put_text(&mut self, text: &str) -> Result<(), &'static str> {
            self.0.push(text.into());
            Ok(())
        }
        fn send_and_receive(&mut self) -> Result<(), &'static str> {
            Ok(())
        }
        fn keep_rows(&mut self, _: u8) {
            unreachable!("nothing is kept here")
        }
        fn kept_rows(&self) -> &KeptRows {
            unreachable!("nothing is kept here")
        }
        fn answered(&self) -> Answered {
            Answered::default()
        }
        fn row_missing() -> &'static str {
            "a row is missing"
        }
        fn rolled_back() -> &'static str {
            "it was rolled back"
        }
    }

    fn speaker(statements: StatementMode, connection: ConnectionLifetime) -> StatementExecutor<RecordingConnection> {
        let options = SessionOptions { statements, connection, ..options() };
        let all: Arc<[String]> = ["a", "b", "c"].map(String::from).into();
        StatementExecutor::new(RecordingConnection::default(), &all, &options, Dialect::Postgres).unwrap()
    }

    fn said(statements: StatementMode, connection: ConnectionLifetime) -> Vec<String> {
        let mut speaker = speaker(statements, connection);
        [2, 0, 2].into_iter().for_each(|number| speaker.call_statement(number, &[], &[]).unwrap());
        speaker.wire.0
    }

    #[test]
    fn statements_are_executed_by_the_numbers_under_which_they_were_prepared() {
        let all = said(StatementMode::Prepared, ConnectionLifetime::Kept);
        assert_eq!(all, ["prepare a", "prepare b", "prepare c", "execute 2", "execute 0", "execute 2"]);
        let needed = said(StatementMode::Prepared, ConnectionLifetime::PerTransaction);
        assert_eq!(needed, ["prepare c", "execute 0", "prepare a", "execute 1", "execute 0"]);
        assert_eq!(said(StatementMode::Plain, ConnectionLifetime::Kept), ["c", "a", "c"]);
    }

    #[test]
    fn a_statement_that_could_not_be_prepared_has_no_number() {
        let mut speaker = speaker(StatementMode::Prepared, ConnectionLifetime::PerTransaction);
        speaker.mode =
            ExecutionMode::WhenNeeded { statements: ["bad".into(), "a".into()].into(), prepared: Vec::new() };
        assert!(speaker.call_statement(0, &[], &[]).is_err() && speaker.call_statement(1, &[], &[]).is_ok());
        assert_eq!(speaker.wire.0, ["prepare bad", "prepare a", "execute 0"]);
    }
}
