//! What a server may answer outside of the load: how long it may take, and how much it may send.
//!
//! In: a wait that is over, or a budget. Out: an error of one line. Limits: the waits themselves are those of [`host::deadline`].

use host::deadline::{Heeding, WaitOver};
use load::Stop;
use std::io::{self, ErrorKind};
use std::sync::Arc;
use std::time::Duration;

/// Connecting, logging in and each control query end within this time.
pub const CONTROL_ANSWER: Duration = Duration::from_secs(5);

/// A statement that sets up a schema and touches no data ends within this time.
const SETUP_STATEMENT: Duration = Duration::from_secs(30);

/// How long a server may take for its answers outside of the load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AnswerLimits {
    /// To a connection attempt, with the login, and to each control query.
    pub control: Duration,
    /// To a statement that sets up a schema and touches no data.
    pub setup: Duration,
}

impl Default for AnswerLimits {
    fn default() -> AnswerLimits {
        AnswerLimits { control: CONTROL_ANSWER, setup: SETUP_STATEMENT }
    }
}

/// From now on waits of this thread end soon after an interruption by `stop`.
pub fn heed(stop: &Arc<Stop>) -> Heeding {
    let stop = stop.clone();
    host::deadline::heed(move || stop.since_interruption())
}

/// The error of an answer that is not waited for any more.
#[cold]
pub fn unanswered(over: WaitOver) -> io::Error {
    let text = match over {
        WaitOver::Late(allowed) => {
            format!("the server gave no complete answer within {} s", allowed.as_secs_f64())
        }
        WaitOver::Interrupted => "the server had not answered when you ended the run".to_owned(),
    };
    explained_error(ErrorKind::TimedOut, text)
}

/// An explanation that is a message by itself.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct PlainMessage(String);

/// An error of `kind` whose `text` is a message by itself.
pub fn explained_error(kind: ErrorKind, text: impl Into<String>) -> io::Error {
    io::Error::new(kind, PlainMessage(text.into()))
}

/// The message of an error that [`explained_error`] has made.
pub fn explanation(error: &io::Error) -> Option<&str> {
    error.get_ref()?.downcast_ref::<PlainMessage>().map(|explanation| explanation.0.as_str())
}

/// The rows of an answer as text: a value for each column, `None` for NULL.
pub type TextRows = Vec<Vec<Option<String>>>;

/// How much more a control query may answer. The largest that plimsoll asks has some 400 rows and 30 KB.
pub struct AnswerBudget {
    rows: u32,
    bytes: usize,
}

impl AnswerBudget {
    const ROWS: u32 = 100_000;
    const BYTES: usize = 16 << 20;

    /// The budget of one answer, of which nothing is spent.
    pub fn full() -> AnswerBudget {
        AnswerBudget { rows: Self::ROWS, bytes: Self::BYTES }
    }

    /// Spends `bytes` that the server has sent.
    pub fn spend_bytes(&mut self, bytes: usize) -> io::Result<()> {
        let left = self.bytes.checked_sub(bytes);
        self.bytes = left.ok_or_else(|| {
            explained_error(ErrorKind::InvalidData, "the server's answer to a control query is larger than 16 MiB")
        })?;
        Ok(())
    }

    /// Spends a row of `columns` values: each takes memory in addition to its bytes.
    pub fn spend_row(&mut self, columns: usize) -> io::Result<()> {
        let left = self.rows.checked_sub(1);
        self.rows = left.ok_or_else(|| {
            explained_error(ErrorKind::InvalidData, "the server's answer to a control query has more than 100,000 rows")
        })?;
        // A row of NULLs has hardly any bytes, and takes 24 bytes of memory a column.
        self.spend_bytes(columns * size_of::<Option<String>>())
    }
}

/// The number in the last column of the first row of `rows`, which answer `question`; `None` without a row. Text and NULL are errors.
pub fn first_number(rows: &TextRows, question: &str) -> io::Result<Option<u64>> {
    let Some(row) = rows.first() else { return Ok(None) };
    let value = row.last().cloned().flatten();
    match value.as_deref().map(str::parse) {
        Some(Ok(number)) => Ok(Some(number)),
        _ => {
            let value =
                value.map_or("NULL".to_owned(), |text| format!("`{}`", text.chars().take(40).collect::<String>()));
            let text = format!("the server answered {value} where `{question}` asks for a number");
            Err(explained_error(ErrorKind::InvalidData, text))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_ends_at_its_rows_at_its_bytes_and_at_many_empty_values() {
        let mut budget = AnswerBudget::full();
        budget.spend_bytes(AnswerBudget::BYTES).unwrap();
        assert!(explanation(&budget.spend_bytes(1).unwrap_err()).unwrap().contains("16 MiB"));
        let mut budget = AnswerBudget::full();
        (0..AnswerBudget::ROWS).for_each(|_| budget.spend_row(1).unwrap());
        assert!(explanation(&budget.spend_row(1).unwrap_err()).unwrap().contains("100,000 rows"));
        assert!(AnswerBudget::full().spend_row(1 << 20).is_err());
    }

    #[test]
    fn text_and_null_are_no_numbers() {
        let rows = |value: Option<&str>| vec![vec![Some("name".to_owned()), value.map(str::to_owned)]];
        assert_eq!(first_number(&rows(Some("7")), "q").unwrap(), Some(7));
        assert_eq!(first_number(&Vec::new(), "q").unwrap(), None);
        let wrong = |value| explanation(&first_number(&rows(value), "SELECT 1").unwrap_err()).unwrap().to_owned();
        assert_eq!(wrong(Some("ON")), "the server answered `ON` where `SELECT 1` asks for a number");
        assert_eq!(wrong(None), "the server answered NULL where `SELECT 1` asks for a number");
        assert!(first_number(&vec![Vec::new()], "q").is_err());
    }
}
