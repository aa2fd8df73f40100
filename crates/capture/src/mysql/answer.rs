//! Counts the rows of an answer of MySQL's protocol, packet by packet.
//!
//! In: the packets of one answer, of which the beginnings are enough. Out: [`AnswerCounts`] of one that ended. Limits: whether the end of the
//! descriptions of columns is a packet of its own is seen by its length, because the handshake may not have been captured. An answer that is
//! fetched in parts (a cursor) has no counts.
//!
//! Source: "Text Resultset", `OK_Packet` and `EOF_Packet` of MySQL's source documentation.

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
            Part::Columns(left @ 1..) => Part::Columns(left - 1),
            Part::Columns(0) if is_end(message) && message.length == EOF_LENGTH => match status_of_eof(message.body) {
                Some(status) if status & CURSOR_EXISTS == 0 => Part::Rows,
                _ => Part::Unknown,
            },
            Part::Columns(_) | Part::Rows if is_end(message) => end_rows(message).unwrap_or(Part::Unknown),
            Part::Columns(_) | Part::Rows => {
                self.counts.sent += 1;
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
                // MariaDB leaves out descriptions that the client has.
                Some(Part::Columns(if cursor.byte() == Some(0) { 0 } else { columns }))
            }
        }
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

    fn counted(bodies: &[&[u8]]) -> Option<(u64, u64, u64)> {
        let mut rows = AnswerRows::default();
        for (nth, body) in (1u8..).zip(bodies) {
            rows.take(&Message { first_seq: nth, last_seq: nth, body, length: body.len(), is_cut: false });
        }
        rows.counts().map(|counts| (counts.sent, counts.affected, counts.made_id))
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
