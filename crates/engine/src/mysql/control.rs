//! Control queries on a connection to MariaDB or MySQL: statements of set-up, settings, counters.
//!
//! In: statements as text. Out: rows of text. Limits: each answer has a deadline and a budget of rows and bytes, and its packets must be
//! numbered as the protocol demands. After an error of the connection it is closed, so that no later query reads the rest of an answer.

use super::wire::{
    AnswerPart, EOF, EOF_BELOW, ERR, HEADER, LOCAL_FILE, MysqlWire, MysqlWireError, OK, described_columns, has_more,
    length_encoded, malformed_packet, next_packet, protocol_error, server_error, status_at, status_of_ok,
};
use crate::server::network::{AnswerBudget, AnswerLimits, ServerStream, TextRows};
use crate::sql::admin_connection::AdminConnection;
use crate::sql::open_connections::CANCEL_WITHIN;
use crate::sql::preparing::PreparingConnection;
use crate::sql::recv_buffer::RecvBuffer;
use crate::sql::variant::rows::RowBuffer;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

/// The most columns that a table of MySQL or MariaDB has.
const COLUMNS_MAX: u64 = 4096;
/// The byte of a value that is NULL.
const NULL: u8 = 0xfb;

impl AdminConnection for MysqlWire {
    fn stream(&mut self) -> &mut ServerStream {
        &mut self.stream
    }

    fn socket_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }

    fn patience(&self) -> Duration {
        self.patience
    }

    fn limits(&self) -> AnswerLimits {
        self.limits
    }

    #[cold]
    fn cancel_statement(&self) {
        // A server that cannot be reached is reported by what comes next.
        let _ = self.server.as_ref().map(|server| server.cancel(self.key(), CANCEL_WITHIN));
    }

    fn read_rows(&mut self) -> Result<TextRows, MysqlWireError> {
        let (stream, inbox) = (&mut self.stream, &mut self.inbox);
        inbox.hold();
        let rows = AnswerReader { stream, inbox, sequence: 1, budget: AnswerBudget::full() }.read_all();
        self.let_go(&rows);
        rows
    }

    fn fetch_rows(&mut self, sql: &str, rows: &mut RowBuffer) -> Result<(), MysqlWireError> {
        self.put_text(sql)?;
        self.send_command()?;
        let mut part = AnswerPart::First;
        loop {
            let body = next_packet(&mut self.inbox, &mut self.stream)?;
            let status = match part {
                AnswerPart::First => match body[0] {
                    OK => status_of_ok(body),
                    LOCAL_FILE => return Err(malformed_packet().into()),
                    _ => {
                        let (columns, _) = length_encoded(body).ok_or_else(malformed_packet)?;
                        rows.begin(columns as usize);
                        part = AnswerPart::Columns(described_columns(body).ok_or_else(malformed_packet)?);
                        continue;
                    }
                },
                AnswerPart::Columns(0) => {
                    part = AnswerPart::Rows;
                    continue;
                }
                AnswerPart::Columns(left) => {
                    part = AnswerPart::Columns(left - 1);
                    continue;
                }
                AnswerPart::Rows if body[0] == EOF && body.len() < EOF_BELOW => status_at(body, 3),
                AnswerPart::Rows => {
                    rows.push(body);
                    continue;
                }
            };
            if !has_more(status.ok_or_else(malformed_packet)?) {
                return Ok(());
            }
            part = AnswerPart::First;
        }
    }
}

/// Reads the answer to one command.
struct AnswerReader<'w> {
    stream: &'w mut ServerStream,
    inbox: &'w mut RecvBuffer,
    /// The number that the next packet must have.
    sequence: u8,
    budget: AnswerBudget,
}

impl AnswerReader<'_> {
    /// The rows of all results. There is more than one if a procedure was called.
    fn read_all(mut self) -> Result<TextRows, MysqlWireError> {
        let mut rows = Vec::new();
        while self.read_result(&mut rows)? {}
        Ok(rows)
    }

    /// Reads one result. True if another one follows.
    fn read_result(&mut self, rows: &mut TextRows) -> Result<bool, MysqlWireError> {
        let first = self.next_packet()?;
        let columns = match first[0] {
            OK => return status_of_ok(first).map(has_more).ok_or_else(|| malformed_packet().into()),
            LOCAL_FILE => return Err(protocol_error("a request for a local file".into())),
            _ => described_columns(first).ok_or_else(malformed_packet)?,
        };
        if !(1..=COLUMNS_MAX).contains(&columns) {
            return Err(protocol_error(format!("an answer of {columns} columns")));
        }
        // Their descriptions, and the packet behind these.
        for _ in 0..=columns {
            self.next_packet()?;
        }
        self.read_rows(columns as usize, rows)
    }

    fn read_rows(&mut self, columns: usize, rows: &mut TextRows) -> Result<bool, MysqlWireError> {
        loop {
            let body = self.next_packet()?;
            if body[0] == EOF && body.len() < EOF_BELOW {
                return status_at(body, 3).map(has_more).ok_or_else(|| malformed_packet().into());
            }
            rows.push(row_values(body, columns).ok_or_else(malformed_packet)?);
            self.budget.spend_row(columns)?;
        }
    }

    /// The body of the next packet, which is never empty. An error packet of the server becomes an error.
    fn next_packet(&mut self) -> Result<&[u8], MysqlWireError> {
        let header = self.inbox.peek(HEADER, self.stream)?;
        let [low, middle, high, sequence] = [header[0], header[1], header[2], header[3]];
        let length = u32::from_le_bytes([low, middle, high, 0]) as usize;
        if length == 0 {
            return Err(protocol_error("an empty packet".into()));
        }
        // Before it is received: the buffer would grow to it.
        self.budget.spend_bytes(HEADER + length)?;
        if sequence != self.sequence {
            return Err(protocol_error(format!("packet number {sequence} where {} was due", self.sequence)));
        }
        self.sequence = self.sequence.wrapping_add(1);
        self.inbox.peek(HEADER + length, self.stream)?;
        let body = &self.inbox.take(HEADER + length)[HEADER..];
        if body[0] == ERR { Err(server_error(body)) } else { Ok(body) }
    }
}

/// The values of a row of `columns`; `None` if it is malformed.
fn row_values(mut row: &[u8], columns: usize) -> Option<Vec<Option<String>>> {
    let mut values = Vec::with_capacity(columns);
    for _ in 0..columns {
        let value;
        (value, row) = next_value(row)?;
        values.push(value);
    }
    row.is_empty().then_some(values)
}

/// The first value of `row`, and the rest of the row.
fn next_value(row: &[u8]) -> Option<(Option<String>, &[u8])> {
    if let [NULL, rest @ ..] = row {
        return Some((None, rest));
    }
    let (length, rest) = length_encoded(row)?;
    let (text, rest) = rest.split_at_checked(usize::try_from(length).ok()?)?;
    Some((Some(String::from_utf8_lossy(text).into_owned()), rest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mysql::login::OpenedConnection;
    use crate::server::network::{AnswerLimits, explanation};
    use std::io::{Read, Write};
    use std::os::unix::net::UnixStream;
    use std::time::Duration;

    const END: &[u8] = &[EOF, 0, 0, 2, 0];

    /// The packets of `bodies`, numbered as they should be.
    fn packets(bodies: &[&[u8]]) -> Vec<u8> {
        let packet =
            |(nth, body): (usize, &&[u8])| [&(body.len() as u32).to_le_bytes()[..3], &[nth as u8 + 1], body].concat();
        bodies.iter().enumerate().flat_map(packet).collect()
    }

    fn wire(ours: UnixStream, patience: Duration) -> MysqlWire {
        MysqlWire::new(OpenedConnection::at_end_of(ours), patience, AnswerLimits::default())
    }

    /// A connection on which the server has sent `bytes` and then nothing, and its end.
    fn connection(bytes: &[u8]) -> (MysqlWire, UnixStream) {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        theirs.write_all(bytes).unwrap();
        (wire(ours, Duration::from_millis(50)), theirs)
    }

    fn asked(bytes: &[u8]) -> Result<TextRows, MysqlWireError> {
        connection(bytes).0.query_rows("SELECT 1")
    }

    fn why(answer: Result<TextRows, MysqlWireError>) -> String {
        match answer {
            Err(MysqlWireError::Io(error)) => explanation(&error).expect("an explanation").to_owned(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn rows_are_text_and_null_in_all_their_lengths() {
        let long = "x".repeat(300);
        let row = [&[NULL, 0, 2][..], b"on", &[0xfc, 44, 1], long.as_bytes()].concat();
        let rows = asked(&packets(&[&[4], b"a", b"b", b"c", b"d", END, &row, END])).unwrap();
        assert_eq!(rows, [vec![None, Some(String::new()), Some("on".into()), Some(long)]]);
        assert_eq!(asked(&packets(&[&[OK, 0, 0, 2, 0, 0, 0]])).unwrap(), TextRows::new());
    }

    #[test]
    fn an_answer_that_the_protocol_does_not_allow_is_an_error_of_one_line() {
        for (bodies, expected) in [
            (&[&[0xfe, 255, 255, 255, 255, 255, 255, 255, 255][..]][..], "18446744073709551615 columns"),
            (&[&[0xfc, 1, 16]], "4097 columns"),
            (&[&[0xfc, 1]], "malformed packet"),
            (&[&[OK]], "malformed packet"),
            (&[&[LOCAL_FILE, b'/']], "a local file"),
            (&[&[]], "an empty packet"),
            (&[&[2], b"a", b"b", END, &[1, b'x']], "malformed packet"),
            (&[&[1], b"a", END, &[9, b'x']], "malformed packet"),
            (&[&[1], b"a", END, &[0xfe, 255, 255, 255, 255, 255, 255, 255, 255, 1]], "malformed packet"),
        ] {
            let text = why(asked(&packets(bodies)));
            assert!(text.contains(expected) && text.contains("MySQL protocol"), "{text}");
        }
        assert!(why(asked(&[1, 0, 0, 9, 1])).contains("packet number 9 where 1 was due"));
    }

    #[test]
    fn a_silent_server_is_left_in_time_and_its_connection_is_closed() {
        let (mut wire, mut theirs) = connection(&packets(&[&[1], b"a", END]));
        let text = why(wire.query_rows("SELECT 1"));
        assert_eq!(text, "the server gave no complete answer within 0.05 s");
        assert!(matches!(wire.query_rows("SELECT 2"), Err(MysqlWireError::Io(_))));
        let mut received = Vec::new();
        theirs.read_to_end(&mut received).unwrap();
        assert!(received.ends_with(b"/* plimsoll */ SELECT 1"), "nothing is sent after the error");
    }

    #[test]
    fn endless_rows_end_at_the_budget() {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let mut wire = wire(ours, Duration::from_secs(60));
        let server = std::thread::spawn(move || {
            theirs.write_all(&packets(&[&[1], b"a", END])).unwrap();
            let mut sequence = 4u8;
            while theirs.write_all(&[2, 0, 0, sequence, 1, b'x']).is_ok() {
                sequence = sequence.wrapping_add(1);
            }
        });
        let text = why(wire.run_statement("SELECT 1").map(|()| TextRows::new()));
        assert!(text.contains("100,000 rows"), "{text}");
        server.join().unwrap();
    }

    #[test]
    fn a_packet_beyond_the_budget_is_refused_before_it_is_received() {
        let bytes = [&packets(&[&[1]])[..], &[255, 255, 255, 2]].concat();
        assert!(why(asked(&bytes)).contains("16 MiB"));
    }
}
