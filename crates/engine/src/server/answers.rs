//! What a server may answer outside of the load: how long it may take, and how much it may send.
//!
//! In: a limit, or a budget. Out: the time that is left, an error of one line when nothing is. Limits: of a wait that a user has ended the
//! rest is for [`super::interruption`].

use super::interruption::{self, LOOK_EVERY};
use std::io::{self, ErrorKind};
use std::time::{Duration, Instant};

/// Connecting, logging in and each control query end within this time.
pub const CONTROL_ANSWER: Duration = Duration::from_secs(5);

/// A statement that sets up a schema and touches no data ends within this time.
const SETUP_STATEMENT: Duration = Duration::from_secs(30);

/// A schema is removed within this time after Ctrl-C, by a server that answers.
const REMOVAL_AFTER_INTERRUPTION: Duration = Duration::from_secs(10);

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

/// The moment at which an answer must be complete.
#[derive(Clone, Copy, Debug)]
pub struct Deadline {
    at: Instant,
    allowed: Duration,
    /// Whether it comes sooner after Ctrl-C.
    heeds_interruption: bool,
}

impl Deadline {
    /// The moment when `allowed` has passed from now on, or sooner if the user wants the end.
    pub fn from_now(allowed: Duration) -> Deadline {
        Deadline { at: Instant::now() + allowed, allowed, heeds_interruption: true }
    }

    /// The same for the removal of a schema. A user who has pressed Ctrl-C before wants it removed all the same.
    pub fn for_removal(allowed: Duration) -> Deadline {
        match interruption::time_left(Duration::ZERO) {
            None => Deadline::from_now(allowed),
            Some(_) => {
                let allowed = allowed.min(REMOVAL_AFTER_INTERRUPTION);
                Deadline { heeds_interruption: false, ..Deadline::from_now(allowed) }
            }
        }
    }

    /// The whole time that the answer may take.
    pub fn allowed(&self) -> Duration {
        self.allowed
    }

    /// The time that is left; an error when there is none.
    pub fn time_left(&self) -> io::Result<Duration> {
        let left = self.at.saturating_duration_since(Instant::now());
        let hurried = interruption::time_left(self.allowed.saturating_sub(left));
        match hurried.filter(|hurried| self.heeds_interruption && *hurried < left) {
            Some(Duration::ZERO) => Err(interrupted_error()),
            Some(hurried) => Ok(hurried),
            None if left.is_zero() => Err(self.missed_error()),
            None => Ok(left),
        }
    }

    /// How long one wait may take before it looks again at the time that is left.
    pub(super) fn wait_at_most(&self) -> io::Result<Duration> {
        let left = self.time_left()?;
        Ok(if self.heeds_interruption && interruption::is_heeded() { left.min(LOOK_EVERY) } else { left })
    }

    #[cold]
    fn missed_error(&self) -> io::Error {
        let seconds = self.allowed.as_secs_f64();
        explained_error(ErrorKind::TimedOut, format!("the server gave no complete answer within {seconds} s"))
    }
}

#[cold]
fn interrupted_error() -> io::Error {
    interruption::note_cut();
    explained_error(ErrorKind::TimedOut, "the server had not answered when you ended the run")
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
