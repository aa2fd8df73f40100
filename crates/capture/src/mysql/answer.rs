//! Counts the rows of an answer of MySQL's protocol, packet by packet.
//!
//! In: the packets of one answer, of which the beginnings are enough. Out: [`AnswerCounts`] of one that ended. Limits: whether the end of the
//! descriptions of columns is a packet of its own is seen by its length, because the handshake may not have been captured. An answer that is
//! fetched in parts (a cursor) has no counts. In a row of a prepared statement an id is found in the first column only.
//!
//! Source: "Text Resultset", "Binary Protocol Resultset", `ColumnDefinition41`, `OK_Packet` and `EOF_Packet` of MySQL's source documentation.

use super::framing::Message;
use crate::literal::Cursor;
use crate::statement::AnswerCounts;

const OK: u8 = 0;
const LOCAL_FILE: u8 = 0xfb;
const END: u8 = 0xfe;
const ERROR: u8 = 0xff;
/// The length of an EOF packet. An OK packet in its place is longer.
const EOF_LENGTH: usize = 5;
/// A row may begin with [`END`] only if it is at least as long.
const ROW_LENGTH_MIN: usize = 0xff_ffff;
/// The bits in a status if another result follows, and if rows are to be fetched.
const MORE_RESULTS: u16 = 8;
const CURSOR_EXISTS: u16 = 0x40;

/// The flag of a column for which the server makes ids.
const AUTO_INCREMENT: u16 = 0x200;
/// What ends the description of a column: its own length, the character set, a length, the type, flags, decimals.
const COLUMN_END_LENGTH: usize = 13;
/// What stands for NULL in a row of texts, and what a row of a prepared statement begins with.
const NULL: u8 = 0xfb;
const BINARY_ROW: u8 = 0;

/// How far an answer has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Part {
    /// The first packet of a result is next.
    #[default]
    First,
    /// So many descriptions of columns are.
    Columns(u64),
    Rows,
    Over,
    /// It is not known what it has.
    Unknown,
}

/// Counts while an answer comes.
#[derive(Default)]
pub struct AnswerRows {
    part: Part,
    counts: AnswerCounts,
    /// The columns of the result that is being taken.
    columns: u64,
    /// That for which the server makes ids; `None` after the first row.
    id_column: Option<IdColumn>,
}

struct IdColumn {
    /// The number of columns before it.
    before: u64,
    /// By the number of the protocol.
    kind: u8,
}

/// Whether a packet is an error, and not the progress of a statement that goes on (MariaDB).
pub fn is_error(body: &[u8]) -> bool {
    body.first() == Some(&ERROR) && body.get(1..3) != Some(&[0xff, 0xff])
}

impl AnswerRows {
    /// The counts, if the answer has ended without an error.
    pub fn counts(&self) -> Option<AnswerCounts> {
        (self.part == Part::Over).then_some(self.counts)
    }

    /// Takes the next packet.
    pub fn take(&mut self, message: &Message<'_>) {
        if message.body.first() == Some(&ERROR) && !is_error(message.body) {
            return;
        }
        self.part = match self.part {
            Part::Over | Part::Unknown => Part::Unknown,
            _ if message.is_cut || is_error(message.body) => Part::Unknown,
            Part::First => self.begin_result(message.body).unwrap_or(Part::Unknown),
            Part::Columns(left @ 1..) => {
                let found = || IdColumn::described(self.columns.saturating_sub(left), message.body);
                self.id_column = self.id_column.take().or_else(found);
                Part::Columns(left - 1)
            }
            Part::Columns(0) if is_end(message) && message.length == EOF_LENGTH => match status_of_eof(message.body) {
                Some(status) if status & CURSOR_EXISTS == 0 => Part::Rows,
                _ => Part::Unknown,
            },
            Part::Columns(_) | Part::Rows if is_end(message) => end_rows(message).unwrap_or(Part::Unknown),
            Part::Columns(_) | Part::Rows => {
                self.counts.sent += 1;
                if let Some(column) = self.id_column.take().filter(|_| self.counts.returned_id == 0) {
                    self.counts.returned_id = column.number_in(message.body, self.columns).unwrap_or(0);
                }
                Part::Rows
            }
        };
    }

    fn begin_result(&mut self, body: &[u8]) -> Option<Part> {
        match *body.first()? {
            OK => {
                let (affected, made_id, status) = read_ok(body)?;
                self.counts.affected = self.counts.affected.saturating_add(affected);
                if self.counts.made_id == 0 {
                    self.counts.made_id = made_id;
                }
                Some(after(status))
            }
            // Its answer comes when the client has sent the file.
            LOCAL_FILE => Some(Part::First),
            END => None,
            _ => {
                let mut cursor = Cursor(body);
                let columns = cursor.lenenc()?;
                (self.columns, self.id_column) = (columns, None);
                // MariaDB leaves out descriptions that the client has.
                Some(Part::Columns(if cursor.byte() == Some(0) { 0 } else { columns }))
            }
        }
    }
}

impl IdColumn {
    /// The column that `body` describes, if the server makes its ids.
    fn described(before: u64, body: &[u8]) -> Option<IdColumn> {
        let mut cursor = Cursor(body);
        // The names of catalog, schema, table and column, and what MariaDB may tell of the type.
        while cursor.0.len() > COLUMN_END_LENGTH {
            cursor.lenenc_bytes()?;
        }
        let [_, _, _, _, _, _, _, kind, low, high, ..] = cursor.array::<COLUMN_END_LENGTH>()?;
        (u16::from_le_bytes([low, high]) & AUTO_INCREMENT != 0).then_some(IdColumn { before, kind })
    }

    /// Its number in `row`, which has so many `columns`.
    fn number_in(&self, row: &[u8], columns: u64) -> Option<u64> {
        let mut cursor = Cursor(row);
        if row.first() != Some(&BINARY_ROW) {
            for _ in 0..self.before {
                let is_null = cursor.0.first() == Some(&NULL);
                let skipped = if is_null { cursor.bytes(1) } else { cursor.lenenc_bytes() };
                skipped?;
            }
            return std::str::from_utf8(cursor.lenenc_bytes()?).ok()?.parse().ok();
        }
        // Where another column begins depends on the types before it.
        let width = match self.kind {
            1 => 1,
            2 => 2,
            3 | 9 => 4,
            8 => 8,
            _ => return None,
        };
        // A bit for each column that may be NULL, behind two that are not used.
        cursor.bytes(1 + usize::try_from(columns.saturating_add(2)).ok()?.div_ceil(8))?;
        let number = cursor.bytes(width)?.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte));
        (self.before == 0).then_some(number)
    }
}

fn is_end(message: &Message<'_>) -> bool {
    message.body.first() == Some(&END) && message.length < ROW_LENGTH_MIN
}

fn end_rows(message: &Message<'_>) -> Option<Part> {
    let status = if message.length == EOF_LENGTH { status_of_eof(message.body)? } else { read_ok(message.body)?.2 };
    (status & CURSOR_EXISTS == 0).then(|| after(status))
}

/// What comes after a result with this status.
fn after(status: u16) -> Part {
    if status & MORE_RESULTS != 0 { Part::First } else { Part::Over }
}

/// Rows changed, the id that was made, and the status.
fn read_ok(body: &[u8]) -> Option<(u64, u64, u16)> {
    let mut cursor = Cursor(body.get(1..)?);
    Some((cursor.lenenc()?, cursor.lenenc()?, u16::from_le_bytes(cursor.array()?)))
}

fn status_of_eof(body: &[u8]) -> Option<u16> {
    Some(u16::from_le_bytes(*body.get(3..)?.first_chunk()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    const EOF: &[u8] = &[0xfe, 0, 0, 2, 0];
    const EOF_MORE: &[u8] = &[0xfe, 0, 0, 10, 0];
    const OK_AT_END: &[u8] = &[0xfe, 0, 0, 2, 0, 0, 0];

    fn counts_of(bodies: &[&[u8]]) -> Option<AnswerCounts> {
        let mut rows = AnswerRows::default();
        for (nth, body) in (1u8..).zip(bodies) {
            rows.take(&Message { first_seq: nth, last_seq: nth, body, length: body.len(), is_cut: false });
        }
        rows.counts()
    }

    fn counted(bodies: &[&[u8]]) -> Option<(u64, u64, u64)> {
        counts_of(bodies).map(|counts| (counts.sent, counts.affected, counts.made_id))
    }

    fn returned(bodies: &[&[u8]]) -> Option<(u64, u64)> {
        counts_of(bodies).map(|counts| (counts.sent, counts.returned_id))
    }

    /// A column of whole numbers.
    fn described(name: &str, flags: u16) -> Vec<u8> {
        let named = [&[name.len() as u8][..], name.as_bytes()].concat();
        let end = [&[12, 63, 0, 11, 0, 0, 0, 3][..], &flags.to_le_bytes(), &[0, 0, 0]].concat();
        [&b"\x03def\x04shop\x01a\x01a"[..], &named, &named, &end].concat()
    }

    #[test]
    fn an_id_that_is_returned_is_known_by_the_description_of_its_column() {
        let (id, other) = (described("id", AUTO_INCREMENT | 3), described("v", 0));
        let text: &[&[u8]] = &[&[2], &other, &id, EOF, b"\x015\x0217", b"\x016\x0218", EOF];
        assert_eq!(returned(text), Some((2, 17)), "that of the first row");
        assert_eq!(returned(&[&[2], &other, &id, EOF, b"\xfb\x0217", EOF]), Some((1, 17)), "behind NULL");
        assert_eq!(returned(&[&[1], &other, EOF, b"\x015", EOF]), Some((1, 0)));
        let binary: &[u8] = &[0, 0, 7, 1, 0, 0, 5, 0, 0, 0];
        assert_eq!(returned(&[&[2], &id, &other, EOF, binary, EOF]), Some((1, 263)));
        assert_eq!(returned(&[&[2], &other, &id, EOF, binary, EOF]), Some((1, 0)), "not known");
        let mut longer = id.clone();
        longer.insert(id.len() - COLUMN_END_LENGTH, 0);
        assert_eq!(returned(&[&[1], &longer, EOF, b"\x019", EOF]), Some((1, 9)));
    }

    #[test]
    fn rows_are_counted_whether_or_not_their_descriptions_have_an_end_of_their_own() {
        // 300 rows changed, id 5.
        assert_eq!(counted(&[&[0, 0xfc, 0x2c, 1, 5, 2, 0, 0, 0]]), Some((0, 300, 5)));
        assert_eq!(counted(&[&[1], b"def", EOF, b"\x011", b"\x012", EOF]), Some((2, 0, 0)));
        assert_eq!(counted(&[&[1], b"def", b"\x011", b"\x012", OK_AT_END]), Some((2, 0, 0)));
        assert_eq!(counted(&[&[1], b"def", EOF, EOF]), Some((0, 0, 0)));
        assert_eq!(counted(&[&[1], b"def", OK_AT_END]), Some((0, 0, 0)));
        assert_eq!(counted(&[&[2, 0], b"\x011\x011", OK_AT_END]), Some((1, 0, 0)), "descriptions that the client has");
    }

    #[test]
    fn several_results_are_added_up_and_the_first_id_counts() {
        let (first, second) = (&[0, 1, 7, 10, 0, 0, 0], &[0, 2, 9, 2, 0, 0, 0]);
        assert_eq!(counted(&[first, second]), Some((0, 3, 7)));
        assert_eq!(counted(&[&[1], b"def", EOF, b"\x011", EOF_MORE, second]), Some((1, 2, 9)));
        assert_eq!(counted(&[first]), None, "the second is missing");
    }

    #[test]
    fn an_error_a_cursor_and_an_answer_without_its_end_have_no_counts() {
        assert_eq!(counted(&[&[0xff, 0x15, 4, b'#']]), None);
        assert_eq!(counted(&[&[1], b"def", EOF, b"\x011", &[0xff, 0x15, 4]]), None);
        assert_eq!(counted(&[&[1], b"def", &[0xfe, 0, 0, 0x42, 0]]), None, "a cursor");
        assert_eq!(counted(&[&[1], b"def", EOF, b"\x011"]), None);
        let progress: &[u8] = &[0xff, 0xff, 0xff, 1];
        assert_eq!(counted(&[progress, &[0, 1, 0, 2, 0, 0, 0]]), Some((0, 1, 0)));
        assert!(!is_error(progress) && is_error(&[0xff, 0x15, 4]));
    }
}
