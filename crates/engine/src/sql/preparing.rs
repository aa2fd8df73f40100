//! A connection on which statements are prepared and executed.

use crate::sql::kept::KeptRows;
use crate::sql::row_tally::Answered;
use model::SqlArg;

/// A connection that numbers what it prepares from 0 on.
pub trait PreparingConnection {
    type Error;
    /// Puts the preparation of `text`, with `?` for each value, into the send buffer.
    fn put_preparation(&mut self, text: &str) -> Result<(), Self::Error>;
    /// Takes the answer to it: the statement has the next number. If a connection that does not wait has no more for now, the next call
    /// goes on from there.
    fn take_preparation(&mut self) -> Result<(), Self::Error>;
    fn send_command(&mut self) -> Result<(), Self::Error>;
    /// Puts the execution of prepared statement `number` into the send buffer. Its text arguments are in `text`.
    fn put_execution(&mut self, number: usize, args: &[SqlArg], text: &[u8]) -> Result<(), Self::Error>;
    /// Puts the execution of a text without arguments into the send buffer.
    fn put_text(&mut self, text: &str) -> Result<(), Self::Error>;
    /// Prepares `text` under the next number.
    fn prepare_statement(&mut self, text: &str) -> Result<(), Self::Error> {
        self.put_preparation(text)?;
        self.send_command()?;
        self.take_preparation()
    }
    /// Sends the buffer and reads the complete answer.
    fn send_and_receive(&mut self) -> Result<(), Self::Error>;
    /// Keeps the first `columns` columns of the answer to the command in the send buffer.
    fn keep_rows(&mut self, columns: u8);
    /// What was kept of the last such answer.
    fn kept_rows(&self) -> &KeptRows;
    /// What the last answer shows.
    fn answered(&self) -> Answered;
    /// The error of an operation that needs a row that is not there.
    fn row_missing() -> Self::Error;
    /// The error of a transaction that the server has rolled back although no statement of it failed.
    fn rolled_back() -> Self::Error;
}
