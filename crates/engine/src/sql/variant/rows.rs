//! The rows that a statement has returned: kept as they came, and compared afterwards.
//!
//! In: the bodies of rows in the layout of a protocol. Out: a [`FetchedRows`] with their number, their columns and a checksum that does
//! not depend on their order; the first row in which two of them differ. Limits: values are compared as text. `1.50` and `1.5` are the
//! same; `t` and `1` are not. Rows beyond [`KEPT_BYTES_MAX`] are only counted and hashed, while they arrive.

use std::fmt::Write as _;

/// What is kept of one result, in bytes. Beyond it the checksum is computed while rows arrive, and so within the response time.
const KEPT_BYTES_MAX: usize = 256 << 20;
/// So much of a value is shown.
const SHOWN_CHARS_MAX: usize = 60;

/// How a row is laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowLayout {
    /// Length-encoded texts, with one byte for NULL: the text protocol of MySQL.
    LengthEncoded,
    /// The number of values in two bytes, then each with its length in four, -1 for NULL: PostgreSQL's DataRow.
    Counted,
}

/// A value of a row; `None` for NULL.
type ValueBytes<'r> = Option<&'r [u8]>;

/// Rows as they arrive. The buffer is used again.
#[derive(Debug)]
pub struct RowBuffer {
    layout: RowLayout,
    columns: usize,
    bytes: Vec<u8>,
    ends: Vec<usize>,
    folded: RowSum,
}

/// The number and the hashes of rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct RowSum {
    rows: u64,
    sum: u64,
}

impl RowSum {
    fn add(&mut self, layout: RowLayout, row: &[u8]) {
        self.rows += 1;
        self.sum = self.sum.wrapping_add(hash_of(&values_of(layout, row)));
    }
}

impl RowBuffer {
    /// An empty one for rows in `layout`.
    pub fn new(layout: RowLayout) -> RowBuffer {
        RowBuffer { layout, columns: 0, bytes: Vec::new(), ends: Vec::new(), folded: RowSum::default() }
    }

    /// Forgets all rows, and keeps the memory.
    pub fn clear(&mut self) {
        self.columns = 0;
        self.bytes.clear();
        self.ends.clear();
        self.folded = RowSum::default();
    }

    /// The rows that follow have so many columns.
    pub fn begin(&mut self, columns: usize) {
        self.columns = columns;
    }

    #[inline]
    pub fn push(&mut self, row: &[u8]) {
        if self.bytes.len() + row.len() > KEPT_BYTES_MAX {
            self.fold();
        }
        self.bytes.extend_from_slice(row);
        self.ends.push(self.bytes.len());
    }

    /// Takes a row in the layout [`RowLayout::Counted`] whose values `write` appends.
    pub fn push_counted(&mut self, columns: usize, write: impl FnOnce(&mut Vec<u8>)) {
        if self.bytes.len() > KEPT_BYTES_MAX {
            self.fold();
        }
        self.bytes.extend_from_slice(&(columns as u16).to_be_bytes());
        write(&mut self.bytes);
        self.ends.push(self.bytes.len());
    }

    /// Counts and hashes what is kept, and forgets it.
    #[cold]
    fn fold(&mut self) {
        let mut sum = self.folded;
        self.rows().for_each(|row| sum.add(self.layout, row));
        self.folded = sum;
        self.bytes.clear();
        self.ends.clear();
    }

    fn rows(&self) -> impl Iterator<Item = &[u8]> {
        let starts = [0].into_iter().chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, end)| &self.bytes[start..*end])
    }

    /// The values of all rows; `None` if some were too many to keep.
    pub fn kept_values(&self) -> Option<Vec<Vec<Option<&[u8]>>>> {
        (self.folded.rows == 0).then(|| self.rows().map(|row| values_of(self.layout, row)).collect())
    }

    /// The number of all rows, their columns and their checksum.
    pub fn summary(&self) -> ResultSummary {
        let mut sum = self.folded;
        self.rows().for_each(|row| sum.add(self.layout, row));
        ResultSummary { rows: sum.rows, columns: self.columns as u64, checksum: sum.sum }
    }
}

/// Values in the layout [`RowLayout::Counted`].
pub fn put_counted(bytes: &mut Vec<u8>, value: Option<&[u8]>) {
    let length = value.map_or(-1, |value| value.len() as i32);
    bytes.extend_from_slice(&length.to_be_bytes());
    bytes.extend_from_slice(value.unwrap_or_default());
}

/// What two results must agree on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ResultSummary {
    /// How many rows there were.
    pub rows: u64,
    /// How many columns each row had.
    pub columns: u64,
    /// The sum of the hashes of all rows.
    pub checksum: u64,
}

/// What a statement has returned.
#[derive(Debug)]
pub struct FetchedRows {
    /// What another result must agree on.
    pub summary: ResultSummary,
    kept: RowBuffer,
}

impl FetchedRows {
    /// The rows of `buffer`.
    pub fn new(buffer: RowBuffer) -> FetchedRows {
        FetchedRows { summary: buffer.summary(), kept: buffer }
    }

    /// How `other` differs from this: the first row that does, in the order of their texts; `None` if it does not.
    pub fn difference(&self, other: &FetchedRows) -> Option<ResultDifference> {
        if self.summary == other.summary {
            return None;
        }
        let difference = ResultDifference { expected: self.summary, found: other.summary, row: None };
        if self.summary.columns != other.summary.columns {
            return Some(difference);
        }
        Some(ResultDifference { row: self.first_row_apart(other), ..difference })
    }

    /// The first row in which both differ, in the order of their texts; `None` if some were too many to keep.
    fn first_row_apart(&self, other: &FetchedRows) -> Option<[Option<String>; 2]> {
        let is_whole = |rows: &FetchedRows| rows.kept.folded.rows == 0;
        if !is_whole(self) || !is_whole(other) {
            return None;
        }
        let [mine, theirs] = [self, other].map(FetchedRows::sorted_texts);
        let most = mine.len().max(theirs.len());
        let at = (0..most).find(|at| mine.get(*at) != theirs.get(*at))?;
        // Of two sorted lists the smaller row is the one that the other lacks; the other side shows what it has in its place.
        Some([mine.get(at).cloned(), theirs.get(at).cloned()])
    }

    fn sorted_texts(&self) -> Vec<String> {
        let mut texts: Vec<String> = self.kept.rows().map(|row| row_text(&values_of(self.kept.layout, row))).collect();
        texts.sort_unstable();
        texts
    }
}

/// How two results differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResultDifference {
    /// The result that was expected.
    pub expected: ResultSummary,
    /// The result that came instead.
    pub found: ResultSummary,
    /// The first row that differs, expected and found; a side is `None` if it has no more rows. `None` if the rows were not kept.
    pub row: Option<[Option<String>; 2]>,
}

/// The values of `row`; those that cannot be read are left out.
fn values_of(layout: RowLayout, row: &[u8]) -> Vec<ValueBytes<'_>> {
    let mut values = Vec::new();
    let mut rest = match layout {
        RowLayout::LengthEncoded => row,
        RowLayout::Counted => row.get(2..).unwrap_or_default(),
    };
    while !rest.is_empty() {
        let next = match layout {
            RowLayout::LengthEncoded => next_encoded(rest),
            RowLayout::Counted => next_counted(rest),
        };
        let Some((value, after)) = next else { break };
        values.push(value);
        rest = after;
    }
    values
}

fn next_encoded(bytes: &[u8]) -> Option<(ValueBytes<'_>, &[u8])> {
    const NULL: u8 = 0xfb;
    if let [NULL, rest @ ..] = bytes {
        return Some((None, rest));
    }
    let (length, rest) = crate::mysql::length_encoded(bytes)?;
    let (value, rest) = rest.split_at_checked(usize::try_from(length).ok()?)?;
    Some((Some(value), rest))
}

fn next_counted(bytes: &[u8]) -> Option<(ValueBytes<'_>, &[u8])> {
    let (length, rest) = bytes.split_first_chunk::<4>()?;
    match usize::try_from(i32::from_be_bytes(*length)) {
        Err(_) => Some((None, rest)),
        Ok(length) => rest.split_at_checked(length).map(|(value, rest)| (Some(value), rest)),
    }
}

/// FNV-1a over the values with their lengths, mixed once more so that sums of similar rows do not meet (the finalizer of SplitMix64; G.
/// Steele, D. Lea, C. Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014).
fn hash_of(values: &[ValueBytes<'_>]) -> u64 {
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    let mut take = |bytes: &[u8]| {
        bytes.iter().for_each(|byte| hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3));
    };
    for value in values {
        match value {
            None => take(&[0xff]),
            Some(text) => {
                let text = canonical(text);
                take(&[1]);
                take(&(text.len() as u64).to_le_bytes());
                take(text);
            }
        }
    }
    let mixed = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// A decimal number without the zeros at the end of its fraction, which show only the type of its column; other texts as they are.
fn canonical(text: &[u8]) -> &[u8] {
    let digits = text.strip_prefix(b"-").unwrap_or(text);
    let Some(point) = digits.iter().position(|byte| *byte == b'.') else { return text };
    let is_decimal = point > 0 && digits.iter().enumerate().all(|(at, byte)| at == point || byte.is_ascii_digit());
    if !is_decimal {
        return text;
    }
    let kept = text.iter().rposition(|byte| *byte != b'0').map_or(0, |last| last + 1);
    text[..kept].strip_suffix(b".").unwrap_or(&text[..kept])
}

/// `(1, 'a\nb', NULL)`.
fn row_text(values: &[ValueBytes<'_>]) -> String {
    let mut text = String::from("(");
    for (nth, value) in values.iter().enumerate() {
        if nth > 0 {
            text.push_str(", ");
        }
        match value {
            None => text.push_str("NULL"),
            Some(value) => put_value(&mut text, &String::from_utf8_lossy(canonical(value))),
        }
    }
    text.push(')');
    text
}

/// A number as it is, another text in quotes and escaped.
fn put_value(text: &mut String, value: &str) {
    if value.parse::<f64>().is_ok_and(f64::is_finite) {
        text.push_str(value);
        return;
    }
    let shown: String = value.chars().take(SHOWN_CHARS_MAX).collect();
    let more = if shown.len() < value.len() { "..." } else { "" };
    let _ = write!(text, "'{}{more}'", shown.escape_debug());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(rows: &[&[Option<&str>]]) -> FetchedRows {
        let mut buffer = RowBuffer::new(RowLayout::Counted);
        buffer.begin(rows.first().map_or(0, |row| row.len()));
        for row in rows {
            buffer.push_counted(row.len(), |bytes| row.iter().for_each(|it| put_counted(bytes, it.map(str::as_bytes))));
        }
        FetchedRows::new(buffer)
    }

    #[test]
    fn the_order_of_rows_and_zeros_behind_a_fraction_do_not_matter() {
        let one = counted(&[&[Some("1"), Some("2.50")], &[None, Some("x")]]);
        let two = counted(&[&[None, Some("x")], &[Some("1.0"), Some("2.5")]]);
        assert_eq!(one.summary, two.summary);
        assert_eq!((one.summary.rows, one.summary.columns), (2, 2));
        let encoded = {
            let mut buffer = RowBuffer::new(RowLayout::LengthEncoded);
            buffer.begin(2);
            buffer.push(b"\x011\x032.5");
            buffer.push(b"\xfb\x01x");
            FetchedRows::new(buffer)
        };
        assert_eq!(encoded.summary, one.summary, "the layout does not matter either");
    }

    #[test]
    fn null_is_no_text_and_columns_do_not_run_together() {
        let sum = |row: &[Option<&str>]| counted(&[row]).summary.checksum;
        let all = [sum(&[None]), sum(&[Some("")]), sum(&[Some("NULL")]), sum(&[Some("0")])];
        assert!((0..4).all(|a| (0..a).all(|b| all[a] != all[b])), "{all:?}");
        assert_ne!(sum(&[Some("ab"), Some("c")]), sum(&[Some("a"), Some("bc")]));
        // A row that comes twice is not the same as one that comes once.
        assert_ne!(counted(&[&[None], &[None]]).summary, counted(&[&[None]]).summary);
    }

    #[test]
    fn the_first_row_that_differs_is_shown_with_both_values_escaped() {
        let expected = counted(&[&[Some("1"), Some("a")], &[Some("2"), Some("b\n")]]);
        let found = counted(&[&[Some("2"), Some("c'")], &[Some("1"), Some("a")]]);
        let row = expected.difference(&found).expect("they differ").row.expect("rows were kept");
        assert_eq!(row, [Some("(2, 'b\\n')".to_owned()), Some("(2, 'c\\'')".to_owned())]);
        let fewer = counted(&[&[Some("1"), Some("a")]]);
        assert_eq!(expected.difference(&fewer).unwrap().row, Some([Some("(2, 'b\\n')".into()), None]));
        assert_eq!(expected.difference(&expected), None);
        assert_eq!(
            expected.difference(&counted(&[&[Some("1")]])).unwrap().row,
            None,
            "of other columns no row is shown"
        );
    }

    #[test]
    fn rows_that_are_folded_count_and_hash_as_those_that_are_kept() {
        let rows: Vec<String> = (0..100).map(|nth| nth.to_string()).collect();
        let (mut kept, mut folded) = (RowBuffer::new(RowLayout::Counted), RowBuffer::new(RowLayout::Counted));
        for row in &rows {
            kept.push_counted(1, |bytes| put_counted(bytes, Some(row.as_bytes())));
            folded.push_counted(1, |bytes| put_counted(bytes, Some(row.as_bytes())));
            folded.fold();
        }
        assert_eq!(kept.summary(), folded.summary());
        let (kept, folded) = (FetchedRows::new(kept), FetchedRows::new(folded));
        assert_eq!(kept.difference(&folded), None);
        let none = counted(&[]);
        assert_eq!(folded.difference(&none).expect("they differ").row, None, "what was not kept is not shown");
    }
}
