//! Integers that an operation keeps of the answers to some of its calls, as arguments of later calls.
//!
//! In: an operation with [`KeptAnswer`]s, the rows of its answers. Out: the arguments of each call with the kept values filled in, and
//! which call is next. Limits: an operation that keeps nothing never comes here. A value that is no integer fails the operation.

use model::{IfEmpty, KEPT_PLACES, KeptAnswer, KeptRow, SqlArg, SqlOp};

/// No workload keeps more integers of one answer. A server that sends more is not believed.
const VALUES_MAX: usize = 1 << 16;

/// The integers in the first columns of the rows of one answer.
#[derive(Default)]
pub struct KeptRows {
    columns: usize,
    values: Vec<i64>,
    /// Whether a value was no integer, or there were too many rows.
    is_bad: bool,
}

impl KeptRows {
    /// Begins an answer of which the first `columns` columns are kept.
    pub fn begin(&mut self, columns: u8) {
        (self.columns, self.is_bad) = (columns.into(), false);
        self.values.clear();
    }

    /// How many columns of each row are kept.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Adds the next value of a row; `None` if it is no integer.
    pub fn push(&mut self, value: Option<i64>) {
        match value {
            Some(value) if self.values.len() < VALUES_MAX => self.values.push(value),
            _ => self.is_bad = true,
        }
    }

    /// Adds the next value, of which the server has sent this text; `None` for NULL.
    pub fn push_text(&mut self, text: Option<&[u8]>) {
        self.push(text.and_then(|text| std::str::from_utf8(text).ok()?.parse().ok()));
    }

    /// Notes that a row could not be read.
    pub fn spoil(&mut self) {
        self.is_bad = true;
    }

    /// The values of row number `nth`.
    #[cfg(test)]
    pub fn row(&self, nth: usize) -> &[i64] {
        &self.values[nth * self.columns..][..self.columns]
    }

    /// Whether something could not be kept.
    #[cfg(test)]
    pub fn is_bad(&self) -> bool {
        self.is_bad
    }

    /// The values of the `row` that is kept; `None` if there are no rows.
    fn chosen(&self, row: KeptRow) -> Option<&[i64]> {
        let rows = self.values.len() / self.columns.max(1);
        let nth = match row {
            KeptRow::First => 0,
            KeptRow::Middle => rows.saturating_sub(1) / 2,
        };
        (rows > 0).then(|| &self.values[nth * self.columns..][..self.columns])
    }
}

/// What comes after an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AfterAnswer {
    /// The call after the next so many.
    Next {
        /// How many calls are left out.
        skipped: u16,
    },
    /// The same call again.
    Again,
}

/// What one operation has kept, and the arguments of its next call.
#[derive(Default)]
pub struct KeptValues {
    places: [i64; KEPT_PLACES],
    args: Vec<SqlArg>,
    /// Whether the last call was repeated.
    is_repeated: bool,
}

impl KeptValues {
    /// `args` with the kept values in their places.
    pub fn fill_in(&mut self, args: &[SqlArg]) -> &[SqlArg] {
        self.args.clear();
        self.args.extend(args.iter().map(|arg| match *arg {
            SqlArg::Kept(place) => SqlArg::Int(self.places[usize::from(place)]),
            other => other,
        }));
        &self.args
    }

    /// The arguments that were filled in last.
    pub fn filled(&self) -> &[SqlArg] {
        &self.args
    }

    /// Keeps what `answer` asks for of `rows`; `None` if it is not there.
    pub fn keep(&mut self, answer: &KeptAnswer, rows: &KeptRows) -> Option<AfterAnswer> {
        if rows.is_bad {
            return None;
        }
        if let Some(values) = rows.chosen(answer.row) {
            self.is_repeated = false;
            self.places[usize::from(answer.place)..][..values.len()].copy_from_slice(values);
            return Some(AfterAnswer::Next { skipped: 0 });
        }
        match answer.if_empty {
            IfEmpty::Fail => None,
            IfEmpty::Skip(skipped) if std::mem::take(&mut self.is_repeated) => Some(AfterAnswer::Next { skipped }),
            IfEmpty::Skip(_) => {
                self.is_repeated = true;
                Some(AfterAnswer::Again)
            }
        }
    }
}

/// What is kept of the answer to call number `nth` of `op`.
pub fn answer_kept(op: &SqlOp, nth: usize) -> Option<&KeptAnswer> {
    op.keeps.iter().find(|kept| usize::from(kept.call) == nth)
}

/// What a person reads if a row or a value that an operation needs is not there.
pub const NOT_THERE: &str =
    "a row that the next statement of the transaction needs was not found, or holds no whole number";

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(columns: u8, values: &[i64]) -> KeptRows {
        let mut rows = KeptRows::default();
        rows.begin(columns);
        values.iter().for_each(|value| rows.push(Some(*value)));
        rows
    }

    fn answer(row: KeptRow, if_empty: IfEmpty) -> KeptAnswer {
        KeptAnswer { call: 0, row, columns: 1, place: 2, if_empty }
    }

    #[test]
    fn the_row_in_the_middle_is_that_at_half_of_the_number_rounded_up() {
        for (values, middle) in [(&[7][..], 7), (&[7, 8], 7), (&[7, 8, 9], 8), (&[6, 7, 8, 9], 7)] {
            let mut kept = KeptValues::default();
            kept.keep(&answer(KeptRow::Middle, IfEmpty::Fail), &rows(1, values)).expect("a row");
            assert_eq!(kept.fill_in(&[SqlArg::Int(1), SqlArg::Kept(2)]), [SqlArg::Int(1), SqlArg::Int(middle)]);
        }
    }

    #[test]
    fn several_columns_of_the_first_row_are_kept_one_after_the_other() {
        let mut kept = KeptValues::default();
        let two = KeptAnswer { columns: 2, ..answer(KeptRow::First, IfEmpty::Fail) };
        kept.keep(&two, &rows(2, &[3, 4, 5, 6])).expect("a row");
        assert_eq!(kept.fill_in(&[SqlArg::Kept(3), SqlArg::Kept(2)]), [SqlArg::Int(4), SqlArg::Int(3)]);
    }

    #[test]
    fn a_call_without_a_row_is_repeated_once_and_then_those_that_need_it_are_left_out() {
        let (mut kept, none) = (KeptValues::default(), rows(1, &[]));
        let skipping = answer(KeptRow::First, IfEmpty::Skip(4));
        for _ in 0..2 {
            assert_eq!(kept.keep(&skipping, &none), Some(AfterAnswer::Again));
            assert_eq!(kept.keep(&skipping, &none), Some(AfterAnswer::Next { skipped: 4 }));
        }
        kept.keep(&skipping, &none);
        assert_eq!(kept.keep(&skipping, &rows(1, &[5])), Some(AfterAnswer::Next { skipped: 0 }));
        assert_eq!(kept.keep(&skipping, &none), Some(AfterAnswer::Again), "the next one has its own repetition");
        assert_eq!(kept.keep(&answer(KeptRow::First, IfEmpty::Fail), &none), None);
    }

    #[test]
    fn a_value_that_is_no_whole_number_and_endless_rows_are_not_kept() {
        let failing = answer(KeptRow::First, IfEmpty::Fail);
        for text in [None, Some(&b"1.5"[..]), Some(b"x"), Some(b"\xff")] {
            let mut bad = rows(1, &[]);
            bad.push_text(text);
            assert_eq!(KeptValues::default().keep(&failing, &bad), None, "{text:?}");
        }
        let mut endless = rows(1, &[]);
        (0..=VALUES_MAX as i64).for_each(|value| endless.push(Some(value)));
        assert_eq!((KeptValues::default().keep(&failing, &endless), endless.values.len()), (None, VALUES_MAX));
        let mut good = rows(1, &[]);
        good.push_text(Some(b"-12"));
        assert_eq!(good.values, [-12]);
    }
}
