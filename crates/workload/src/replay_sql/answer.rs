//! What the recorded server answered to a statement, if the log says so. A replay is compared with it, and makes the same ids.
//!
//! In: what a reader finds. Out: a [`RecordedAnswer`], also as the bytes that are kept behind the text of a statement, and as arguments of an op.
//! Limits: rows are counted, and of them only the ids are kept that an INSERT of PostgreSQL returned.

use model::SqlArg;

/// An answer. What the log does not say is `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecordedAnswer {
    /// Whether it was an error.
    pub failed: Option<bool>,
    /// Whether that was because its transaction had been aborted by a statement that may not be sent: then it need not fail again.
    pub is_consequence: bool,
    /// How many rows it returned.
    pub sent: Option<u64>,
    /// How many rows it changed.
    pub affected: Option<u64>,
    /// The id that the server made for the first row that it inserted (MySQL, MariaDB); 0 if it may have made one that is not known.
    pub made_id: Option<u64>,
    /// Whether that id is in no log: it was worked out, so that the server is told it, and nothing is compared with it.
    pub is_worked_out: bool,
    /// What LAST_INSERT_ID() was in the statement (MySQL, MariaDB).
    pub last_id: Option<u64>,
}

/// Between the table of ids that a statement made and their column, if the table is told.
pub(super) const BEHIND_TABLE: char = '\u{1f}';
/// How many arguments an answer is.
pub(super) const ANSWER_ARGS: usize = 5;
const NUMBERS: usize = 4;
/// The bits of the last byte, behind those of the numbers.
const IS_KNOWN: u8 = 1 << NUMBERS;
const HAS_FAILED: u8 = IS_KNOWN << 1;
const HAS_MADE: u8 = HAS_FAILED << 1;
const IS_CONSEQUENCE: u8 = HAS_MADE << 1;
/// The bits of the first argument.
const ARG_IS_KNOWN: u64 = 1;
const ARG_HAS_FAILED: u64 = 2;
const ARG_IS_CONSEQUENCE: u64 = 4;
const ARG_IS_WORKED_OUT: u64 = 8;

impl RecordedAnswer {
    /// Whether it says how many rows there were.
    pub fn has_rows(&self) -> bool {
        self.sent.is_some() || self.affected.is_some()
    }

    /// Whether it may have been an error: it had no rows, and the log does not say.
    pub fn may_have_failed(&self) -> bool {
        self.failed.is_none() && (self.sent, self.affected) == (Some(0), Some(0))
    }

    fn numbers(&self) -> [Option<u64>; NUMBERS] {
        [self.sent, self.affected, self.made_id, self.last_id]
    }

    fn new(
        (failed, is_consequence): (Option<bool>, bool),
        [sent, affected, made_id, last_id]: [Option<u64>; NUMBERS],
    ) -> RecordedAnswer {
        RecordedAnswer { failed, is_consequence, sent, affected, made_id, is_worked_out: false, last_id }
    }

    /// Puts it behind a text: the ids that were `made`, the numbers that are known, and a byte that says which.
    pub(super) fn put_behind(&self, text: &mut Vec<u8>, made: &str) {
        let mut flags = match self.failed {
            None => 0,
            Some(false) => IS_KNOWN,
            Some(true) => IS_KNOWN | HAS_FAILED,
        };
        flags |= if self.is_consequence { IS_CONSEQUENCE } else { 0 };
        if !made.is_empty() {
            flags |= HAS_MADE;
            text.extend_from_slice(made.as_bytes());
            text.extend_from_slice(&(made.len() as u64).to_le_bytes());
        }
        for (nth, number) in self.numbers().into_iter().enumerate() {
            if let Some(number) = number {
                flags |= 1 << nth;
                text.extend_from_slice(&number.to_le_bytes());
            }
        }
        text.push(flags);
    }

    /// Takes off what was put behind a text, but for the ids that were made, and tells how many bytes these have; `None` if that is none.
    pub(super) fn take_off(text: &mut Vec<u8>) -> Option<(RecordedAnswer, usize)> {
        let flags = text.pop()?;
        let mut numbers = [None; NUMBERS];
        for nth in (0..NUMBERS).rev().filter(|nth| flags & 1 << nth != 0) {
            numbers[nth] = Some(take_number(text)?);
        }
        let made_bytes = if flags & HAS_MADE != 0 { take_number(text)? as usize } else { 0 };
        let failed = (flags & IS_KNOWN != 0).then_some(flags & HAS_FAILED != 0);
        let is_consequence = flags & IS_CONSEQUENCE != 0;
        (made_bytes <= text.len()).then_some((RecordedAnswer::new((failed, is_consequence), numbers), made_bytes))
    }

    /// It as arguments of an op.
    pub(super) fn args(&self) -> [SqlArg; ANSWER_ARGS] {
        let [a, b, c, d] = self.numbers();
        let bits = [
            (self.failed.is_some(), ARG_IS_KNOWN),
            (self.failed == Some(true), ARG_HAS_FAILED),
            (self.is_consequence, ARG_IS_CONSEQUENCE),
            (self.is_worked_out, ARG_IS_WORKED_OUT),
        ];
        let bits: u64 = bits.into_iter().filter(|(is_set, _)| *is_set).map(|(_, bit)| bit).sum();
        [Some(bits), a, b, c, d].map(|value: Option<u64>| value.map_or(SqlArg::Null, |it| SqlArg::Int(it as i64)))
    }

    /// The answer that these arguments of an op are; what is missing is not known.
    pub fn from_args(args: &[SqlArg]) -> RecordedAnswer {
        let value = |nth: usize| match args.get(nth) {
            Some(SqlArg::Int(value)) => Some(*value as u64),
            _ => None,
        };
        let bits = value(0).unwrap_or(0);
        let failed = (bits & ARG_IS_KNOWN != 0).then_some(bits & ARG_HAS_FAILED != 0);
        let answer = RecordedAnswer::new((failed, bits & ARG_IS_CONSEQUENCE != 0), [1, 2, 3, 4].map(value));
        RecordedAnswer { is_worked_out: bits & ARG_IS_WORKED_OUT != 0, ..answer }
    }
}

/// The table, if it is told, and the column of ids whose first word is `name`.
pub fn made_column(name: &str) -> (Option<&str>, &str) {
    name.split_once(BEHIND_TABLE).map_or((None, name), |(table, column)| (Some(table), column))
}

fn take_number(bytes: &mut Vec<u8>) -> Option<u64> {
    take_end(bytes).map(u64::from_le_bytes)
}

/// Takes the last `N` bytes off; `None` if there are fewer.
pub(super) fn take_end<const N: usize>(bytes: &mut Vec<u8>) -> Option<[u8; N]> {
    let end = *bytes.last_chunk()?;
    bytes.truncate(bytes.len() - N);
    Some(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_comes_back_from_behind_its_text_and_from_arguments() {
        let known = RecordedAnswer {
            failed: Some(false),
            is_consequence: false,
            sent: Some(0),
            affected: Some(3),
            made_id: Some(u64::MAX),
            is_worked_out: false,
            last_id: Some(7),
        };
        let some = RecordedAnswer { failed: Some(true), affected: Some(1 << 40), ..RecordedAnswer::default() };
        let consequence = RecordedAnswer { is_consequence: true, ..some };
        for answer in [RecordedAnswer::default(), some, consequence, known] {
            let mut text = b"SELECT 1".to_vec();
            answer.put_behind(&mut text, "");
            assert_eq!((RecordedAnswer::take_off(&mut text), &text[..]), (Some((answer, 0)), &b"SELECT 1"[..]));
            answer.put_behind(&mut text, "id\t7");
            assert_eq!((RecordedAnswer::take_off(&mut text), &text[8..]), (Some((answer, 4)), &b"id\t7"[..]));
            assert_eq!(RecordedAnswer::from_args(&answer.args()), answer);
        }
        assert_eq!(RecordedAnswer::take_off(&mut vec![1, 2, 0b1111]), None, "it is cut off");
        assert_eq!(RecordedAnswer::from_args(&[]), RecordedAnswer::default());
        // No recording has these.
        for failed in [None, Some(false), Some(true)] {
            let worked = RecordedAnswer { failed, is_worked_out: true, made_id: Some(7), ..RecordedAnswer::default() };
            assert_eq!(RecordedAnswer::from_args(&worked.args()), worked);
        }
    }

    #[test]
    fn only_what_had_no_rows_in_a_log_without_errors_may_have_failed() {
        let none = RecordedAnswer { sent: Some(0), affected: Some(0), ..RecordedAnswer::default() };
        assert!(none.may_have_failed());
        assert!(!RecordedAnswer { failed: Some(false), ..none }.may_have_failed());
        assert!(!RecordedAnswer { affected: Some(1), ..none }.may_have_failed());
        // MySQL's slow log does not say how many rows were changed: an INSERT that did its work looks the same.
        assert!(!RecordedAnswer { affected: None, ..none }.may_have_failed());
    }
}
