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
    /// What LAST_INSERT_ID() was in the statement (MySQL, MariaDB).
    pub last_id: Option<u64>,
}

/// How many arguments an answer is.
pub(super) const ANSWER_ARGS: usize = 5;
const NUMBERS: usize = 4;
/// The bits of the last byte, behind those of the numbers.
const IS_KNOWN: u8 = 1 << NUMBERS;
const HAS_FAILED: u8 = IS_KNOWN << 1;
const HAS_MADE: u8 = HAS_FAILED << 1;
const IS_CONSEQUENCE: u8 = HAS_MADE << 1;

impl RecordedAnswer {
    /// Whether it says how many rows there were.
    pub fn has_rows(&self) -> bool {
        self.sent.is_some() || self.affected.is_some()
    }

    fn numbers(&self) -> [Option<u64>; NUMBERS] {
        [self.sent, self.affected, self.made_id, self.last_id]
    }

    fn new(
        (failed, is_consequence): (Option<bool>, bool),
        [sent, affected, made_id, last_id]: [Option<u64>; NUMBERS],
    ) -> RecordedAnswer {
        RecordedAnswer { failed, is_consequence, sent, affected, made_id, last_id }
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
        let failed = self.failed.map(|failed| u64::from(failed) + 2 * u64::from(self.is_consequence));
        [failed, a, b, c, d].map(|value| value.map_or(SqlArg::Null, |it| SqlArg::Int(it as i64)))
    }

    /// The answer that these arguments of an op are; what is missing is not known.
    pub fn from_args(args: &[SqlArg]) -> RecordedAnswer {
        let value = |nth: usize| match args.get(nth) {
            Some(SqlArg::Int(value)) => Some(*value as u64),
            _ => None,
        };
        let (failed, is_consequence) = (value(0).map(|it| it & 1 != 0), value(0).is_some_and(|it| it & 2 != 0));
        RecordedAnswer::new((failed, is_consequence), [1, 2, 3, 4].map(value))
    }
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
    }
}
