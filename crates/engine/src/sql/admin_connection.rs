//! Connections outside of the load: set-up, settings, counters. Each answer has a deadline and a budget of rows and bytes, and after an
//! error of the connection it is closed, so that no later query reads the rest of an answer.

use super::OpFailure;
use super::preparing::PreparingConnection;
use super::variant::rows::RowBuffer;
use crate::server::identity::IdentityWatch;
use crate::server::network::{AnswerLimits, ServerStream, TextRows, first_number};
use host::deadline::Deadline;
use std::io::{self, ErrorKind};
use std::os::fd::BorrowedFd;
use std::time::Duration;

/// Why a call on a connection failed: the connection is of no more use, or the server refused and it is good for the next call.
pub trait WireError: From<io::Error> + Sized {
    /// The error of the connection; `None` if the server refused.
    fn lost(&self) -> Option<&io::Error>;
    /// The failure of an operation that ended with it.
    fn into_failure(self) -> OpFailure;
}

impl<E: WireError> From<E> for OpFailure {
    #[cold]
    fn from(error: E) -> OpFailure {
        error.into_failure()
    }
}

/// The answer to a question that a server may refuse for want of a privilege, or because its version does not know it: `None` then.
pub fn allowed<T, E: WireError>(answer: Result<T, E>) -> Result<Option<T>, E> {
    match answer {
        Err(error) if error.lost().is_none() => Ok(None),
        answer => answer.map(Some),
    }
}

/// What was asked for over a connection that does not wait: `None` if the answer has not come as a whole.
pub fn if_complete<T, E: WireError>(taken: Result<T, E>) -> Result<Option<T>, E> {
    match taken {
        Err(error) if error.lost().is_some_and(|cause| cause.kind() == ErrorKind::WouldBlock) => Ok(None),
        taken => taken.map(Some),
    }
}

/// A control connection, used outside of the load.
pub trait AdminConnection: PreparingConnection<Error: WireError> + Send + 'static {
    fn stream(&mut self) -> &mut ServerStream;
    fn socket_fd(&self) -> BorrowedFd<'_>;
    /// How long a statement on data may take.
    fn patience(&self) -> Duration;
    /// How long answers that touch no data may take.
    fn limits(&self) -> AnswerLimits;
    /// Cancels at the server what it executes, for which nothing waits any more.
    fn cancel_statement(&self);
    /// Reads the rows of the answer to the command that was sent, as far as the budget of a control query allows. If a connection that does
    /// not wait has no more for now, the next call reads the answer from its beginning.
    fn read_rows(&mut self) -> Result<TextRows, Self::Error>;
    /// Executes `sql`, which may take as long as the patience of the connection, and puts its rows into `rows` as they arrive.
    fn fetch_rows(&mut self, sql: &str, rows: &mut RowBuffer) -> Result<(), Self::Error>;

    /// Looks which server this is. True if it is another one than the first that answered `watch`, as [`IdentityWatch::look`] tells.
    fn is_other(&mut self, watch: &IdentityWatch, is_after_loss: bool) -> bool {
        watch.look(is_after_loss, |question| self.query_rows(question).ok())
    }

    /// The rows that answer `question` before `deadline`. It has the mark of what plimsoll itself asks: a log that has it is replayed without.
    fn query_until(&mut self, question: &str, deadline: Deadline) -> Result<TextRows, Self::Error> {
        self.run_until(&sql::with_own_mark(question), deadline)
    }

    /// The rows that answer `statement`, as it is, before `deadline`.
    fn run_until(&mut self, statement: &str, deadline: Deadline) -> Result<TextRows, Self::Error> {
        self.put_text(statement)?;
        self.stream().set_deadline(Some(deadline));
        let answer = self.send_command().and_then(|()| self.read_rows());
        self.stream().set_deadline(None);
        // A time-out leaves the rest of the answer on its way: on this connection the next query would read it.
        if answer.as_ref().is_err_and(|error| error.lost().is_some()) {
            self.stream().shut_down();
        }
        answer
    }

    /// Runs `statement`, which may take as long as the patience of the connection. After that it is cancelled at the server.
    fn run_statement(&mut self, statement: &str) -> Result<(), Self::Error> {
        self.run_patiently(statement).map(drop)
    }

    /// Runs `statement`, which sets up a schema and touches no data.
    fn set_up(&mut self, statement: &str) -> Result<(), Self::Error> {
        self.run_until(statement, Deadline::unless_interrupted(self.limits().setup.min(self.patience()))).map(drop)
    }

    /// Runs `statement`, which removes data. If it is not awaited to its end, the server goes on with it.
    fn remove(&mut self, statement: &str) -> Result<(), Self::Error> {
        self.run_until(statement, Deadline::for_removal(self.patience())).map(drop)
    }

    /// The rows that answer a control query, which the server has at hand.
    fn query_rows(&mut self, question: &str) -> Result<TextRows, Self::Error> {
        self.query_until(question, Deadline::unless_interrupted(self.limits().control.min(self.patience())))
    }

    /// The rows that answer a question about data, which may take as long as a statement.
    fn rows_patiently(&mut self, question: &str) -> Result<TextRows, Self::Error> {
        self.run_patiently(&sql::with_own_mark(question))
    }

    /// The rows that answer `statement`, as it is, which is cancelled at the server after the patience of the connection.
    fn run_patiently(&mut self, statement: &str) -> Result<TextRows, Self::Error> {
        let answer = self.run_until(statement, Deadline::unless_interrupted(self.patience()));
        let lost = answer.as_ref().err().and_then(WireError::lost);
        if lost.is_some_and(|error| error.kind() == ErrorKind::TimedOut) {
            self.cancel_statement();
        }
        answer
    }

    /// The number that answers a question about data, which may take as long as a statement; 0 if it has no row.
    fn number_patiently(&mut self, question: &str) -> Result<u64, Self::Error> {
        Ok(first_number(&self.rows_patiently(question)?, question)?.unwrap_or_default())
    }

    /// The number that answers a control query; 0 if it has no row.
    fn query_number(&mut self, question: &str) -> Result<u64, Self::Error> {
        Ok(first_number(&self.query_rows(question)?, question)?.unwrap_or_default())
    }

    /// The last value of the first row that answers a control query.
    fn query_value(&mut self, question: &str) -> Result<Option<String>, Self::Error> {
        Ok(self.query_rows(question)?.into_iter().next().and_then(|row| row.into_iter().last()?))
    }
}
