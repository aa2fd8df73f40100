//! Speaks PostgreSQL's protocol, version 3, with what a benchmark needs of it: prepared statements, control queries, the answer to a COPY
//! (what is copied is sent by [`super::bulk`], and the login is in [`super::login`]).
//!
//! In: a connected stream, statements. Out: statements prepared and executed with one round trip each, of which a non-blocking
//! socket gives what has arrived; rows are looked at one by one and not taken apart. Control queries answer rows of text: each
//! answer has a deadline and a budget of rows and bytes, and after an error of the connection it is closed. Limits: no
//! notifications; all values go as text, so that the server, which knows the columns' types, converts them.
//!
//! <https://www.postgresql.org/docs/current/protocol-message-formats.html>. The crate `postgres` would do the same over an
//! asynchronous runtime: without a time-out on a unix socket, and with a task switch for each statement.

use super::tables::number_placeholders;
use crate::server::network::{AnswerBudget, AnswerLimits, ServerStream, TextRows, explained_error};
use crate::sql::admin_connection::AdminConnection;
use crate::sql::kept::{KeptRows, NOT_THERE};
use crate::sql::open_connections::{CANCEL_WITHIN, CancelAtServer, ConnectionKey};
use crate::sql::preparing::PreparingConnection;
use crate::sql::recv_buffer::{self, RecvBuffer};
use crate::sql::row_tally::{Answered, ROLLED_BACK};
use crate::sql::variant::rows::RowBuffer;
use bytes::{Buf, BytesMut};
use host::deadline::Deadline;
use model::{RowCounts, SqlArg, SqlOp};
use postgres_protocol::IsNull;
use postgres_protocol::message::frontend;
use std::fmt::Write as _;
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::time::Duration;

/// Why a call failed.
#[derive(Debug)]
pub enum PostgresWireError {
    /// The connection, which is of no more use.
    Io(io::Error),
    /// The server refused. The connection is good for the next call.
    Server {
        code: String,
        /// The severity and the text.
        text: String,
    },
}

impl From<io::Error> for PostgresWireError {
    fn from(error: io::Error) -> PostgresWireError {
        PostgresWireError::Io(error)
    }
}

pub struct PostgresWire {
    pub(super) stream: ServerStream,
    /// How long a statement on data may take.
    patience: Duration,
    /// How long answers that touch no data may take.
    limits: AnswerLimits,
    /// By what the server knows the connection.
    key: ConnectionKey,
    /// The server, if what takes too long is to be cancelled there.
    server: Option<Arc<dyn CancelAtServer>>,
    /// The names under which statements are prepared, by their numbers.
    names: Vec<String>,
    /// The command that is sent next.
    pub(super) out: BytesMut,
    inbox: RecvBuffer,
    /// The first error of the server, until its answer is complete.
    failed: Option<PostgresWireError>,
    /// Whether the integers of the answer are kept.
    is_keeping: bool,
    /// The integers of the last answer whose were kept.
    kept: KeptRows,
    /// What the last answer shows.
    answered: Answered,
}

/// The largest message taken in a timed answer: rows here are below 1 KB.
const MESSAGE_MAX: usize = 64 << 20;
/// A letter and the length.
pub(super) const HEADER: usize = 5;

impl PostgresWire {
    /// A connection over `stream` that is not logged in.
    pub(super) fn over(stream: ServerStream, patience: Duration, limits: AnswerLimits) -> PostgresWire {
        let (key, server, names) = (ConnectionKey::default(), None, Vec::new());
        let (out, inbox, kept) = (BytesMut::new(), RecvBuffer::default(), KeptRows::default());
        let (failed, is_keeping, answered) = (None, false, Answered::default());
        PostgresWire { stream, patience, limits, key, server, names, out, inbox, failed, is_keeping, kept, answered }
    }

    /// The same, whose statements are cancelled at `server` if they take too long.
    pub fn cancelled_at(mut self, server: Arc<dyn CancelAtServer>) -> PostgresWire {
        self.server = Some(server);
        self
    }

    /// By what the server knows the connection.
    pub fn key(&self) -> ConnectionKey {
        self.key
    }

    /// Prepares `text`, with `$1` for each value, under the next number, which is returned. The server finds out the `types` of parameters that are
    /// `unknown`.
    pub fn prepare_typed(&mut self, text: &str, types: &[String]) -> Result<usize, PostgresWireError> {
        const UNKNOWN: &str = "unknown";
        let number = self.names.len();
        // What was recorded may have prepared statements as text, under names of its own.
        let name = format!("plimsoll_{number}");
        self.answered = Answered::default();
        if types.iter().all(|it| it == UNKNOWN) {
            frontend::parse(&name, text, [], &mut self.out)?;
            frontend::sync(&mut self.out);
        } else {
            // The message has numbers of types, and only the server knows all of them.
            frontend::query(&format!("PREPARE {name} ({}) AS {text}", types.join(", ")), &mut self.out)?;
        }
        self.send_and_receive()?;
        self.names.push(name);
        Ok(number)
    }

    /// All answers until [`PostgresWire::end_preparing`] come within `allowed`.
    pub fn begin_preparing(&mut self, allowed: Duration) {
        self.stream.set_deadline(Some(Deadline::unless_interrupted(allowed)));
    }

    /// From now on each read waits as long as its socket does, and the answer to a statement takes at most `limit`, if there is one.
    pub fn end_preparing(&mut self, limit: Option<Duration>) {
        self.stream.set_deadline(None);
        limit.into_iter().for_each(|limit| self.inbox.set_limit(limit));
    }

    /// Makes the socket non-blocking, for [`PostgresWire::send_some`] and [`PostgresWire::take_some`].
    pub fn stop_waiting(&self) -> io::Result<()> {
        Ok(rustix::io::ioctl_fionbio(&self.stream, true)?)
    }

    /// Sends as much of the command as the socket takes. True if that was all of it.
    #[inline]
    pub fn send_some(&mut self) -> Result<bool, PostgresWireError> {
        let sent = self.stream.write(&self.out);
        self.out.advance(recv_buffer::if_ready(sent)?.unwrap_or(0));
        Ok(self.out.is_empty())
    }

    /// Puts all calls of `op` into the send buffer, behind what is there. The server commits at each Sync what came since the last: the
    /// calls of a transaction together, without BEGIN and COMMIT, so that one that fails leaves nothing open in which those after it would
    /// fail, too.
    #[inline]
    pub fn put_ahead(&mut self, op: &SqlOp) -> Result<(), PostgresWireError> {
        for (call, args) in op.calls_with_args() {
            self.put_bound(call.statement.into(), args, &op.text)?;
            if !op.transaction {
                frontend::sync(&mut self.out);
            }
        }
        if op.transaction {
            frontend::sync(&mut self.out);
        }
        Ok(())
    }

    /// Puts the execution of prepared statement `number` into the send buffer, without the Sync that the server answers.
    #[inline]
    fn put_bound(&mut self, number: usize, args: &[SqlArg], text: &[u8]) -> Result<(), PostgresWireError> {
        // The unnamed portal is replaced by the next bind, so nothing has to be closed. No result formats: values come as text.
        let bound =
            frontend::bind("", &self.names[number], [], args, |arg, out| put_value(arg, text, out), [], &mut self.out);
        bound.map_err(|_| too_long())?;
        frontend::execute("", 0, &mut self.out)?;
        Ok(())
    }

    /// Takes what has arrived of the answer up to the next Sync, which may be to several statements: `each` is told the rows of each of them.
    /// `rows` are those of a statement of which a part had arrived. True if that was all.
    #[inline]
    pub fn take_statements(
        &mut self,
        rows: &mut RowCounts,
        mut each: impl FnMut(RowCounts),
    ) -> Result<bool, PostgresWireError> {
        let taken = self.take_messages(|tag, body| match tag {
            b'D' => {
                look_at(body);
                rows.returned += 1;
            }
            b'C' => {
                rows.changed = changed_in_tag(body);
                each(std::mem::take(rows));
            }
            _ => {}
        });
        match taken {
            Ok(()) => Ok(true),
            Err(PostgresWireError::Io(error)) if error.kind() == io::ErrorKind::WouldBlock => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Whether bytes were received that are not taken.
    #[inline]
    pub fn has_received(&self) -> bool {
        !self.inbox.is_empty()
    }

    /// Takes the part of the answer that has arrived. True if that was all of it.
    #[inline]
    pub fn take_some(&mut self) -> Result<bool, PostgresWireError> {
        match self.until_ready() {
            Ok(()) => Ok(true),
            Err(PostgresWireError::Io(error)) if error.kind() == io::ErrorKind::WouldBlock => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Takes all messages of an answer, up to the one with which the server waits for the next command. If a non-blocking socket has no
    /// more for now, the next call goes on from there.
    #[inline]
    fn until_ready(&mut self) -> Result<(), PostgresWireError> {
        if !self.is_keeping {
            return self.take_messages(|tag, body| {
                if tag == b'D' {
                    look_at(body)
                }
            });
        }
        // Taken out of the connection while its buffer is read, and put back.
        let mut kept = std::mem::take(&mut self.kept);
        let taken = self.take_messages(|tag, body| {
            if tag == b'D' {
                keep_row(&mut kept, body)
            }
        });
        self.kept = kept;
        taken
    }

    /// Takes the answer to a COPY: how many rows the server took.
    pub fn copied_rows(&mut self) -> Result<u64, PostgresWireError> {
        let mut rows = 0;
        self.take_messages(|tag, body| {
            if tag == b'C' {
                rows = rows_in_tag(body).unwrap_or_default()
            }
        })?;
        Ok(rows)
    }

    /// Takes an answer up to its end. Its errors are left out of what `look` sees.
    #[inline]
    fn take_messages(&mut self, mut look: impl FnMut(u8, &[u8])) -> Result<(), PostgresWireError> {
        loop {
            let message = match self.next_message() {
                Ok(message) => message,
                Err(lost) => return Err(self.cause_of_loss(lost)),
            };
            match message {
                // ReadyForQuery ends every answer, also one that failed: an error before it is kept until then, so that no message
                // is left over.
                (b'Z', body) => {
                    self.answered.in_transaction = body == IN_TRANSACTION;
                    self.is_keeping = false;
                    return self.failed.take().map_or(Ok(()), Err);
                }
                (b'E', body) => {
                    let error = server_error(body);
                    self.failed.get_or_insert(error);
                }
                (b'D', body) => {
                    look(b'D', body);
                    self.answered.rows.returned += 1;
                }
                (b'C', body) => {
                    look(b'C', body);
                    let (changed, is_rollback) = (changed_in_tag(body), body.starts_with(ROLLBACK));
                    self.answered.rows.changed += changed;
                    self.answered.is_rollback |= is_rollback;
                }
                (tag, body) => look(tag, body),
            }
        }
    }

    /// After a fatal error, such as the request of an administrator to end the connection, the server hangs up.
    #[cold]
    fn cause_of_loss(&mut self, lost: io::Error) -> PostgresWireError {
        let is_lost = lost.kind() != ErrorKind::WouldBlock;
        self.failed.take_if(|_| is_lost).unwrap_or(lost.into())
    }

    /// The same for a control query: its rows, as far as `budget` allows.
    pub(super) fn collect_rows(&mut self, mut budget: AnswerBudget) -> Result<TextRows, PostgresWireError> {
        let mut rows = Vec::new();
        loop {
            let message = match self.message_within(&mut budget) {
                Ok(message) => message,
                Err(lost) => return Err(self.cause_of_loss(lost)),
            };
            match message {
                // As in `until_ready`, the error waits for the end of the answer.
                (b'Z', _) => return self.failed.take().map_or(Ok(rows), Err),
                (b'D', body) => {
                    let columns = row_values(body).ok_or_else(malformed_message)?;
                    budget.spend_row(columns.len())?;
                    rows.push(columns);
                }
                (b'K', body) => {
                    if let Some(key) = key_in(body) {
                        self.key = key;
                    }
                }
                (b'E', body) => {
                    let error = server_error(body);
                    self.failed.get_or_insert(error);
                }
                _ => {}
            }
        }
    }

    /// The next message: its tag and body.
    #[inline]
    fn next_message(&mut self) -> io::Result<(u8, &[u8])> {
        let length = self.next_length()?;
        // Taken only when it is complete: a non-blocking socket may have half of it, and the next call begins with the same
        // header.
        self.inbox.peek(length, &mut self.stream)?;
        let message = self.inbox.take(length);
        Ok((message[0], &message[HEADER..]))
    }

    /// The next bytes, which are not taken.
    pub(super) fn next_bytes(&mut self, count: usize) -> io::Result<&[u8]> {
        self.inbox.peek(count, &mut self.stream)
    }

    /// The next message, if `budget` has room for it: the buffer would grow to its length.
    pub(super) fn message_within(&mut self, budget: &mut AnswerBudget) -> io::Result<(u8, &[u8])> {
        budget.spend_bytes(self.next_length()?)?;
        self.next_message()
    }

    /// The length of the next message with its header.
    #[inline]
    fn next_length(&mut self) -> io::Result<usize> {
        let header = self.inbox.peek(HEADER, &mut self.stream)?;
        let length = u32::from_be_bytes([header[1], header[2], header[3], header[4]]) as usize;
        // The length counts its own four bytes but not the letter.
        if (4..MESSAGE_MAX).contains(&length) { Ok(1 + length) } else { Err(malformed_message()) }
    }
}

/// What a server sends for requests to cancel what the connection executes. From protocol 3.2 on, which is not asked for, the secret is
/// longer.
fn key_in(body: &[u8]) -> Option<ConnectionKey> {
    let [id, secret] = body.as_chunks::<4>().0 else { return None };
    let [id, secret] = [id, secret].map(|bytes| u32::from_be_bytes(*bytes));
    Some(ConnectionKey { id, secret })
}

/// Asks the server at the other end of `stream`, on which nothing was sent, to cancel what the connection known by `key` executes.
pub fn request_cancel(mut stream: ServerStream, key: ConnectionKey) -> io::Result<()> {
    let mut request = BytesMut::new();
    frontend::cancel_request(key.id as i32, key.secret as i32, &mut request);
    stream.write_all(&request)?;
    // There is no answer: the server closes the connection when it has taken the request.
    match stream.read(&mut [0]) {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == ErrorKind::ConnectionReset => Ok(()),
        Err(error) => Err(error),
    }
}

/// Writes a value as text, so that the server converts it to the column's type.
#[inline]
fn put_value(
    arg: &SqlArg,
    text: &[u8],
    out: &mut BytesMut,
) -> Result<IsNull, Box<dyn std::error::Error + Sync + Send>> {
    match *arg {
        SqlArg::Int(value) => write!(out, "{value}")?,
        SqlArg::Float(value) => write!(out, "{value}")?,
        SqlArg::Text { start, len } => out.extend_from_slice(&text[start as usize..][..len as usize]),
        SqlArg::Null => return Ok(IsNull::Yes),
        SqlArg::Kept(_) => unreachable!("kept values are filled in before"),
    }
    Ok(IsNull::No)
}

/// Keeps the first values of `row`, which come as text.
fn keep_row(kept: &mut KeptRows, row: &[u8]) {
    if keep_values(kept, row).is_none() {
        kept.spoil();
    }
}

fn keep_values(kept: &mut KeptRows, row: &[u8]) -> Option<()> {
    let mut rest = row.get(2..)?;
    for _ in 0..kept.columns() {
        let (length, after) = rest.split_first_chunk::<4>()?;
        // A negative length is NULL.
        let length = usize::try_from(i32::from_be_bytes(*length)).ok()?;
        let (text, after) = after.split_at_checked(length)?;
        kept.push_text(Some(text));
        rest = after;
    }
    Some(())
}

/// What the server says if it waits for the next statement of a transaction.
const IN_TRANSACTION: &[u8] = b"T";
/// What it says when a transaction has ended without its changes.
const ROLLBACK: &[u8] = b"ROLLBACK";

/// The number at the end of `UPDATE 1` or `INSERT 0 1`; 0 if the statement changes no rows.
#[inline]
fn changed_in_tag(body: &[u8]) -> u64 {
    match body {
        // Most statements change fewer than ten rows.
        [b'I' | b'U' | b'D' | b'M', .., b' ', digit @ b'0'..=b'9', 0] => u64::from(digit - b'0'),
        [b'I' | b'U' | b'D' | b'M', .., 0] => number_at_end(&body[..body.len() - 1]).unwrap_or(0),
        _ => 0,
    }
}

fn number_at_end(tag: &[u8]) -> Option<u64> {
    str::from_utf8(tag.rsplit(|byte| *byte == b' ').next()?).ok()?.parse().ok()
}

/// The number in `COPY 5000`, by which the server says what it has done.
fn rows_in_tag(body: &[u8]) -> Option<u64> {
    str::from_utf8(body.strip_suffix(b"\0")?).ok()?.strip_prefix("COPY ")?.parse().ok()
}

/// Looks at a row, as a client would.
#[inline]
fn look_at(row: &[u8]) {
    std::hint::black_box(row.first());
}

impl PreparingConnection for PostgresWire {
    type Error = PostgresWireError;

    fn put_preparation(&mut self, text: &str) -> Result<(), PostgresWireError> {
        frontend::parse(&name_of(self.names.len()), &number_placeholders(text), [], &mut self.out)?;
        frontend::sync(&mut self.out);
        Ok(())
    }

    fn take_preparation(&mut self) -> Result<(), PostgresWireError> {
        self.until_ready()?;
        self.names.push(name_of(self.names.len()));
        Ok(())
    }

    fn send_command(&mut self) -> Result<(), PostgresWireError> {
        self.inbox.begin_answer();
        let sent = self.stream.write_all(&self.out);
        self.out.clear();
        Ok(sent?)
    }

    #[inline]
    fn put_execution(&mut self, number: usize, args: &[SqlArg], text: &[u8]) -> Result<(), PostgresWireError> {
        self.answered = Answered::default();
        self.put_bound(number, args, text)?;
        frontend::sync(&mut self.out);
        Ok(())
    }

    #[inline]
    fn put_text(&mut self, text: &str) -> Result<(), PostgresWireError> {
        self.answered = Answered::default();
        Ok(frontend::query(text, &mut self.out)?)
    }

    #[inline]
    fn send_and_receive(&mut self) -> Result<(), PostgresWireError> {
        self.send_command()?;
        self.until_ready()
    }

    fn keep_rows(&mut self, columns: u8) {
        self.is_keeping = true;
        self.kept.begin(columns);
    }

    fn kept_rows(&self) -> &KeptRows {
        &self.kept
    }

    #[inline]
    fn answered(&self) -> Answered {
        self.answered
    }

    fn row_missing() -> PostgresWireError {
        // The SQLSTATE for no data.
        PostgresWireError::Server { code: "02000".into(), text: NOT_THERE.into() }
    }

    fn rolled_back() -> PostgresWireError {
        // The SQLSTATE for a transaction that was rolled back, for whatever reason.
        PostgresWireError::Server { code: "40000".into(), text: ROLLED_BACK.into() }
    }
}

impl AdminConnection for PostgresWire {
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
        let _ = self.server.as_ref().map(|server| server.cancel(self.key, CANCEL_WITHIN));
    }

    fn read_rows(&mut self) -> Result<TextRows, PostgresWireError> {
        self.inbox.hold();
        let rows = self.collect_rows(AnswerBudget::full());
        let is_incomplete = matches!(&rows, Err(PostgresWireError::Io(error)) if error.kind() == ErrorKind::WouldBlock);
        self.inbox.let_go(is_incomplete);
        rows
    }

    fn fetch_rows(&mut self, sql: &str, rows: &mut RowBuffer) -> Result<(), PostgresWireError> {
        self.put_text(sql)?;
        self.send_command()?;
        self.take_messages(|tag, body| match tag {
            b'T' => rows.begin(body.first_chunk().map_or(0, |count| u16::from_be_bytes(*count)).into()),
            b'D' => rows.push(body),
            _ => {}
        })
    }
}

impl Drop for PostgresWire {
    /// A server logs a client that does not take its leave as lost.
    fn drop(&mut self) {
        self.out.clear();
        frontend::terminate(&mut self.out);
        self.stream.send_last(&self.out);
    }
}

/// The name under which statement number `number` is prepared.
fn name_of(number: usize) -> String {
    format!("s{number}")
}

fn too_long() -> io::Error {
    io::Error::new(ErrorKind::InvalidInput, "a value is too long for the protocol")
}

#[cold]
pub(super) fn malformed_message() -> io::Error {
    explained_error(ErrorKind::InvalidData, "the server breaks the PostgreSQL protocol: it sent a malformed message")
}

/// The error in the body of an ErrorResponse: fields of a letter and a text.
#[cold]
pub(super) fn server_error(body: &[u8]) -> PostgresWireError {
    let fields: Vec<String> =
        body.split(|byte| *byte == 0).map(|field| String::from_utf8_lossy(field).into_owned()).collect();
    // Severity, SQLSTATE, message and detail.
    let [severity, code, message, detail] = ['S', 'C', 'M', 'D']
        .map(|letter| fields.iter().find_map(|field| field.strip_prefix(letter)).unwrap_or_default());
    let mut text = format!("{severity} {code}: {message}");
    // The detail names the key that is there already, or the one that is not. Others name processes, or repeat the message.
    if code.starts_with(INTEGRITY_VIOLATIONS) && !detail.is_empty() {
        text = format!("{text}: {detail}");
    }
    PostgresWireError::Server { code: code.to_owned(), text }
}

/// The class of the SQLSTATEs for keys and constraints.
const INTEGRITY_VIOLATIONS: &str = "23";

/// The values of a row: their number, then each with its length, -1 for NULL; `None` if it is malformed.
fn row_values(row: &[u8]) -> Option<Vec<Option<String>>> {
    let (count, mut rest) = row.split_first_chunk::<2>()?;
    let mut columns = Vec::new();
    for _ in 0..u16::from_be_bytes(*count) {
        let (length, after) = rest.split_first_chunk::<4>()?;
        // A negative length is NULL, which has no bytes.
        let Ok(length) = usize::try_from(i32::from_be_bytes(*length)) else {
            columns.push(None);
            rest = after;
            continue;
        };
        let (text, after) = after.split_at_checked(length)?;
        columns.push(Some(String::from_utf8_lossy(text).into_owned()));
        rest = after;
    }
    rest.is_empty().then_some(columns)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::network::explanation;
    use std::os::unix::net::UnixStream;

    /// A connection on which the server has sent `bytes` and sends no more.
    fn answered(bytes: &[u8]) -> PostgresWire {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        theirs.write_all(bytes).unwrap();
        theirs.shutdown(std::net::Shutdown::Write).unwrap();
        // It stays open to what the client sends.
        std::mem::forget(theirs);
        wire(ours, Duration::from_secs(60))
    }

    fn wire(ours: UnixStream, patience: Duration) -> PostgresWire {
        PostgresWire::over(ours.into(), patience, AnswerLimits::default())
    }

    fn why(error: PostgresWireError) -> String {
        match error {
            PostgresWireError::Io(error) => explanation(&error).expect("an explanation").to_owned(),
            error => panic!("{error:?}"),
        }
    }

    #[test]
    fn an_answer_tells_its_rows_and_how_its_transaction_stands() {
        let told = |messages: &[(u8, &[u8])]| {
            let bytes = messages
                .iter()
                .flat_map(|(tag, body)| [&[*tag][..], &(body.len() as u32 + 4).to_be_bytes(), *body].concat());
            let mut wire = answered(&bytes.collect::<Vec<u8>>());
            wire.put_text("").and_then(|()| wire.send_and_receive()).unwrap();
            let Answered { rows, in_transaction, is_rollback, .. } = wire.answered;
            (rows.returned, rows.changed, in_transaction, is_rollback)
        };
        assert_eq!(told(&[(b'C', b"UPDATE 1\0"), (b'Z', b"T")]), (0, 1, true, false));
        assert_eq!(told(&[(b'C', b"INSERT 0 1000\0"), (b'Z', b"I")]), (0, 1_000, false, false));
        let row: (u8, &[u8]) = (b'D', &[0, 1, 0, 0, 0, 1, b'7']);
        assert_eq!(told(&[row, row, (b'C', b"SELECT 2\0"), (b'Z', b"I")]), (2, 0, false, false));
        assert_eq!(told(&[(b'C', b"COMMIT\0"), (b'Z', b"I")]), (0, 0, false, false));
        assert_eq!(told(&[(b'C', b"ROLLBACK\0"), (b'Z', b"I")]), (0, 0, false, true));
        assert_eq!(
            ["DELETE 0\0", "MERGE 12\0", "UPDATE x\0", "DROP TABLE\0", ""].map(|tag| changed_in_tag(tag.as_bytes())),
            [0, 12, 0, 0, 0]
        );
    }

    #[test]
    fn rows_and_nulls_are_taken_apart_and_malformed_rows_are_none() {
        let row = b"\0\x03\0\0\0\x02on\xff\xff\xff\xff\0\0\0\0";
        assert_eq!(row_values(row), Some(vec![Some("on".into()), None, Some(String::new())]));
        for length in 0..row.len() {
            assert_eq!(row_values(&row[..length]), None, "{length}");
        }
        assert_eq!(row_values(b"\0\x01\0\0\0\0x"), None);
        assert_eq!(row_values(b"\xff\xff\0\0\0\0"), None);
    }

    #[test]
    fn integers_are_kept_of_the_rows_of_one_answer_and_not_of_the_next() {
        let row = b"D\0\0\0\x13\0\x02\0\0\0\x02-7\0\0\0\x03abc";
        let bytes = [&row[..], b"Z\0\0\0\x05I", row, b"Z\0\0\0\x05I"].concat();
        let mut wire = answered(&bytes);
        wire.keep_rows(1);
        wire.until_ready().unwrap();
        assert_eq!(wire.kept_rows().row(0), [-7]);
        assert!(!wire.is_keeping);
        let mut kept = KeptRows::default();
        for bad in [&b"\0\x01\xff\xff\xff\xff"[..], b"\0\x01\0\0\0\x02x", b"\0"] {
            kept.begin(1);
            keep_row(&mut kept, bad);
            assert!(kept.is_bad(), "{bad:?}");
        }
    }

    #[test]
    fn an_error_is_returned_when_the_server_is_ready_again() {
        let error = b"E\0\0\0\x28SERROR\0C40001\0Mcould not serialize\0\0";
        let bytes = [&error[..], b"Z\0\0\0\x05I"].concat();
        let collected = answered(&bytes).collect_rows(AnswerBudget::full()).map(drop);
        for answer in [answered(&bytes).until_ready(), collected] {
            let Err(PostgresWireError::Server { code, text }) = answer else { panic!("no error") };
            assert_eq!((code.as_str(), text.as_str()), ("40001", "ERROR 40001: could not serialize"));
        }
    }

    #[test]
    fn the_error_with_which_a_server_hangs_up_is_the_cause() {
        let bytes = b"E\0\0\0\x2bSFATAL\0C57P01\0Mterminating connection\0\0";
        let Err(PostgresWireError::Server { code, .. }) = answered(bytes).until_ready() else { panic!("no error") };
        assert_eq!(code, "57P01");
    }

    #[test]
    fn a_server_that_hangs_up_or_sends_nonsense_is_an_error_of_the_connection() {
        for bytes in [&b""[..], b"Z\0\0", b"D\0\0\0\x01", b"D\xff\xff\xff\xff"] {
            assert!(matches!(answered(bytes).until_ready(), Err(PostgresWireError::Io(_))), "{bytes:?}");
            assert!(matches!(answered(bytes).query_rows("SELECT 1"), Err(PostgresWireError::Io(_))), "{bytes:?}");
        }
        assert!(why(answered(b"D\0\0\0\x06\0\x01").query_rows("SELECT 1").unwrap_err()).contains("malformed"));
    }

    #[test]
    fn a_silent_server_is_left_in_time_and_its_connection_is_closed() {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let mut wire = wire(ours, Duration::from_millis(50));
        theirs.write_all(b"D\0").unwrap();
        assert_eq!(why(wire.query_rows("SELECT 1").unwrap_err()), "the server gave no complete answer within 0.05 s");
        assert!(matches!(wire.query_rows("SELECT 2"), Err(PostgresWireError::Io(_))));
        let mut sent = Vec::new();
        theirs.read_to_end(&mut sent).unwrap();
        assert!(sent.ends_with(b"SELECT 1\0"), "nothing is sent after the error");
    }

    #[test]
    fn endless_rows_and_endless_notices_end_at_the_budget() {
        for (message, expected) in
            [(&b"D\0\0\0\x0b\0\x01\0\0\0\x01x"[..], "100,000 rows"), (b"N\0\0\0\x06xy", "16 MiB")]
        {
            let (ours, mut theirs) = UnixStream::pair().unwrap();
            let flood = message.repeat(1 << 10);
            let server = std::thread::spawn(move || while theirs.write_all(&flood).is_ok() {});
            let text = why(wire(ours, Duration::from_secs(60)).run_statement("VACUUM").unwrap_err());
            assert!(text.contains(expected), "{text}");
            server.join().unwrap();
        }
        assert!(why(answered(b"N\x01\0\0\0").query_rows("SELECT 1").unwrap_err()).contains("16 MiB"));
    }
}
