//! Executes prepared statements on a connection to MariaDB or MySQL: the part of the protocol that a client repeats.
//!
//! In: a stream that is logged in, statements, arguments. Out: one write and one read for each statement, between reused buffers; rows
//! are looked at one by one and not taken apart. Limits: no compression; a statement with its arguments is below 16 MiB.
//!
//! A library takes arguments and gives rows by value, which costs a multiple of what is done with them here
//! (docs/journal/2026-11-21-sql-clients.md). The login is in [`super::login`], control queries are in [`super::control`].
//! <https://mariadb.com/kb/en/com_stmt_prepare/>, <https://mariadb.com/kb/en/com_stmt_execute/>,
//! <https://mariadb.com/kb/en/result-set-packets/>

use super::arrays;
use super::binary::{LONGLONG, VAR_STRING, begin_command, put_argument, type_of};
use super::login::{LoginEnd, OpenedConnection};
use crate::server::network::{AnswerLimits, ServerStream, explained_error};
use crate::sql::kept::{KeptRows, NOT_THERE};
use crate::sql::open_connections::{CancelAtServer, ConnectionKey};
use crate::sql::preparing::PreparingConnection;
use crate::sql::recv_buffer::{self, RecvBuffer};
use crate::sql::row_tally::{Answered, ROLLED_BACK};
use host::deadline::Deadline;
use model::{KEPT_PLACES, SqlArg, SqlOp};
use std::hint::black_box;
use std::io::{self, ErrorKind, Read, Write};
use std::sync::Arc;
use std::time::Duration;

/// Why a call failed.
#[derive(Debug)]
pub enum MysqlWireError {
    /// The connection, which is of no more use.
    Io(io::Error),
    /// The server refused. The connection is good for the next call.
    Server {
        /// The number of the error.
        code: u16,
        /// The SQLSTATE and the text.
        text: String,
    },
}

impl From<io::Error> for MysqlWireError {
    fn from(error: io::Error) -> MysqlWireError {
        MysqlWireError::Io(error)
    }
}

/// A connection with its prepared statements.
pub struct MysqlWire {
    pub(super) stream: ServerStream,
    /// How long a statement on data may take.
    pub(super) patience: Duration,
    /// How long answers that touch no data may take.
    pub(super) limits: AnswerLimits,
    /// The number that the server gave it.
    id: u32,
    /// Whether the server takes the arguments of many executions in one message.
    takes_arrays: bool,
    /// Whether the rows of an INSERT are sent so.
    sends_arrays: bool,
    /// The server, if what takes too long is to be cancelled there.
    pub(super) server: Option<Arc<dyn CancelAtServer>>,
    statements: Vec<PreparedStatement>,
    /// The arguments of one row of the statement that is being prepared, as in [`PreparedStatement`].
    row_args: Option<usize>,
    /// The command that is sent next.
    pub(super) out: Vec<u8>,
    /// How much of `out` was sent, if the socket does not wait.
    sent: usize,
    pub(super) inbox: RecvBuffer,
    /// How far the answer was taken.
    part: AnswerPart,
    /// The prepared statement that is executed, if it is one.
    executing: Option<usize>,
    /// Whether the integers of the answer are kept.
    is_keeping: bool,
    /// The integers of the last answer whose were kept.
    kept: KeptRows,
    /// What the last answer shows.
    answered: Answered,
}

/// The part of an answer that comes next.
#[derive(Clone, Copy)]
pub(super) enum AnswerPart {
    /// The packet that begins every answer.
    First,
    /// So many descriptions of columns, and the packet behind them.
    Columns(u64),
    /// Rows, and the packet behind them.
    Rows,
}

struct PreparedStatement {
    id: u32,
    /// The types of its arguments as the server has them; none before the first execution.
    types: Vec<u8>,
    /// The arguments of one of its rows, if it is an INSERT of one row that is executed for many.
    row_args: Option<usize>,
    row: RowShape,
}

/// What the rows of a statement have.
#[derive(Default)]
struct RowShape {
    columns: usize,
    /// The types of the first of them.
    types: Vec<u8>,
}

/// Packets have a header of three bytes of length and one that counts them.
pub const HEADER: usize = 4;
/// A longer message comes in several packets.
const PACKET_MAX: usize = (1 << 24) - 1;

const COM_QUERY: u8 = 0x03;
const COM_STMT_PREPARE: u8 = 0x16;
const COM_STMT_EXECUTE: u8 = 0x17;

const TINY: u8 = 0x01;
const SHORT: u8 = 0x02;
const LONG: u8 = 0x03;
const INT24: u8 = 0x09;
const DECIMAL: u8 = 0xf6;

pub const OK: u8 = 0x00;
pub const EOF: u8 = 0xfe;
pub const ERR: u8 = 0xff;
pub const LOCAL_FILE: u8 = 0xfb;
/// A row may begin with the same byte, and is longer.
pub const EOF_BELOW: usize = 9;

/// The bit in the status of an answer if a transaction is open.
const IN_TRANSACTION: u16 = 0x0001;
/// The bit in the status of an answer if another answer follows.
const MORE_RESULTS: u16 = 0x0008;

impl MysqlWire {
    /// The connection that was `opened`. A statement on data may take as long as `patience`.
    pub fn new(opened: OpenedConnection, patience: Duration, limits: AnswerLimits) -> MysqlWire {
        let OpenedConnection { stream, id, takes_arrays } = opened;
        let (statements, out, inbox) = (Vec::new(), Vec::new(), RecvBuffer::default());
        let (part, executing, server, kept) = (AnswerPart::First, None, None, KeptRows::default());
        let (sent, is_keeping) = (0, false);
        MysqlWire {
            stream,
            patience,
            limits,
            id,
            takes_arrays,
            sends_arrays: false,
            server,
            statements,
            row_args: None,
            out,
            sent,
            inbox,
            part,
            executing,
            is_keeping,
            kept,
            answered: Answered::default(),
        }
    }

    /// The login over it is done, and told `end`.
    pub fn set_opened(&mut self, end: &LoginEnd) {
        (self.id, self.takes_arrays) = (end.id, end.takes_arrays);
    }

    /// An answer that was held came as `taken`.
    pub(super) fn let_go<T>(&mut self, taken: &Result<T, MysqlWireError>) {
        let is_incomplete = matches!(taken, Err(MysqlWireError::Io(error)) if error.kind() == ErrorKind::WouldBlock);
        self.inbox.let_go(is_incomplete);
    }

    /// The same, whose statements are cancelled at `server` if they take too long.
    pub fn cancelled_at(mut self, server: Arc<dyn CancelAtServer>) -> MysqlWire {
        self.server = Some(server);
        self
    }

    /// By what the server knows the connection.
    pub fn key(&self) -> ConnectionKey {
        ConnectionKey { id: self.id, secret: 0 }
    }

    /// All answers until [`MysqlWire::end_preparing`] come within `allowed`.
    pub fn begin_preparing(&mut self, allowed: Duration) {
        self.stream.set_deadline(Some(Deadline::unless_interrupted(allowed)));
    }

    /// From now on each read waits as long as its socket does, and the answer to a statement takes at most `limit`, if there is one.
    pub fn end_preparing(&mut self, limit: Option<Duration>) {
        self.stream.set_deadline(None);
        limit.into_iter().for_each(|limit| self.inbox.set_limit(limit));
    }

    /// From now on an INSERT of several rows is prepared for one, and its rows are sent as an array.
    ///
    /// # Errors
    /// If the server takes none.
    pub fn send_arrays(&mut self) -> Result<(), MysqlWireError> {
        self.sends_arrays = true;
        if self.takes_arrays { Ok(()) } else { Err(without_arrays().into()) }
    }

    /// Puts each call of `op` into the send buffer, behind what is there.
    #[inline]
    pub fn put_ahead(&mut self, op: &SqlOp) -> Result<(), MysqlWireError> {
        if self.sent == self.out.len() {
            self.out.clear();
            self.sent = 0;
        } else if self.sent > self.out.len() / 2 {
            // If the socket is always full, all of it is never sent.
            self.out.drain(..self.sent);
            self.sent = 0;
        }
        op.calls_with_args().try_for_each(|(call, args)| self.put_call(call.statement.into(), args, &op.text))
    }

    /// Takes what has arrived of the answer to prepared `statement`, the oldest that was sent ahead. `None` if that was not all of it.
    #[inline]
    pub fn take_ahead(&mut self, statement: usize) -> Result<Option<Answered>, MysqlWireError> {
        self.executing = Some(statement);
        let taken = self.take_some();
        if matches!(taken, Ok(false)) {
            return Ok(None);
        }
        // The next answer begins here, even if this one ended with an error.
        self.part = AnswerPart::First;
        self.inbox.begin_answer();
        let answered = std::mem::take(&mut self.answered);
        taken.map(|_| Some(answered))
    }

    /// Whether bytes were received that are not taken.
    #[inline]
    pub fn has_received(&self) -> bool {
        !self.inbox.is_empty()
    }

    /// Makes the socket non-blocking, for [`MysqlWire::send_some`] and [`MysqlWire::take_some`].
    pub fn stop_waiting(&self) -> io::Result<()> {
        Ok(rustix::io::ioctl_fionbio(&self.stream, true)?)
    }

    /// How many statements are prepared.
    pub fn prepared(&self) -> usize {
        self.statements.len()
    }

    /// Sends as much of the command as the socket takes. True if that was all of it.
    #[inline]
    pub fn send_some(&mut self) -> Result<bool, MysqlWireError> {
        // A socket buffer that is full takes a part of a long command; the next call continues behind it.
        self.sent += recv_buffer::if_ready(self.stream.write(&self.out[self.sent..]))?.unwrap_or(0);
        Ok(self.sent == self.out.len())
    }

    /// Takes the part of the answer that has arrived. True if that was all of it.
    #[inline]
    pub fn take_some(&mut self) -> Result<bool, MysqlWireError> {
        match self.take_all() {
            Ok(()) => Ok(true),
            Err(MysqlWireError::Io(error)) if error.kind() == ErrorKind::WouldBlock => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Takes the complete answer. If a non-blocking socket has no more for now, the next call goes on from there.
    #[inline]
    fn take_all(&mut self) -> Result<(), MysqlWireError> {
        loop {
            let (inbox, stream, part, answered) =
                (&mut self.inbox, &mut self.stream, &mut self.part, &mut self.answered);
            let taken = match self.is_keeping {
                false => take_answer(inbox, stream, part, answered, look_at),
                true => {
                    let shape = self.executing.map(|statement| &self.statements[statement].row);
                    take_answer(inbox, stream, part, answered, |row| keep_row(&mut self.kept, shape, row))
                }
            };
            match taken {
                Ok(true) => {}
                Ok(false) => return Ok(()),
                Err(error) => {
                    if matches!(error, MysqlWireError::Server { .. }) {
                        self.forget_types();
                    }
                    return Err(error);
                }
            }
        }
    }

    /// Puts the execution of a prepared statement into the send buffer, behind what is there.
    #[inline]
    fn put_call(&mut self, statement: usize, args: &[SqlArg], text: &[u8]) -> Result<(), MysqlWireError> {
        let start = self.out.len();
        let prepared = &mut self.statements[statement];
        match prepared.row_args {
            None => put_execution(&mut self.out, prepared, args, text),
            Some(row_args) => arrays::put_execution(&mut self.out, prepared.id, row_args, args, text),
        }
        self.executing = Some(statement);
        self.seal_command(start)
    }

    /// Writes the length of the command that begins at `start` into its header.
    #[inline]
    fn seal_command(&mut self, start: usize) -> Result<(), MysqlWireError> {
        let length = self.out.len() - start - HEADER;
        if length >= PACKET_MAX {
            self.forget_types();
            return Err(too_long().into());
        }
        self.out[start..start + HEADER].copy_from_slice(&(length as u32).to_le_bytes());
        Ok(())
    }

    /// The command in the send buffer is the next that is sent and answered.
    #[inline]
    fn await_answer(&mut self) {
        (self.sent, self.part, self.is_keeping) = (0, AnswerPart::First, false);
        self.answered = Answered::default();
        self.inbox.begin_answer();
    }

    /// Sends the types of the arguments again next time: the server may not have taken them.
    #[cold]
    fn forget_types(&mut self) {
        if let Some(statement) = self.executing {
            self.statements[statement].types.clear();
        }
    }
}

impl PreparingConnection for MysqlWire {
    type Error = MysqlWireError;

    fn put_preparation(&mut self, text: &str) -> Result<(), MysqlWireError> {
        let one_row = if self.sends_arrays { arrays::of_one_row(text) } else { None };
        let (text, row_args) = match &one_row {
            Some((text, row_args)) => (text.as_str(), Some(*row_args)),
            None => (text, None),
        };
        self.row_args = row_args;
        self.out.clear();
        begin_command(&mut self.out, COM_STMT_PREPARE);
        self.out.extend_from_slice(text.as_bytes());
        self.executing = None;
        self.seal_command(0)?;
        self.await_answer();
        Ok(())
    }

    fn take_preparation(&mut self) -> Result<(), MysqlWireError> {
        self.inbox.hold();
        let prepared = take_prepared(&mut self.inbox, &mut self.stream);
        self.let_go(&prepared);
        // The text of a statement is sent once; an execution then names it by the id in this answer.
        self.statements.push(PreparedStatement { row_args: self.row_args, ..prepared? });
        Ok(())
    }

    #[inline]
    fn send_command(&mut self) -> Result<(), MysqlWireError> {
        self.stream.write_all(&self.out)?;
        self.sent = self.out.len();
        Ok(())
    }

    #[inline]
    fn put_execution(&mut self, statement: usize, args: &[SqlArg], text: &[u8]) -> Result<(), MysqlWireError> {
        self.out.clear();
        self.put_call(statement, args, text)?;
        self.await_answer();
        Ok(())
    }

    #[inline]
    fn put_text(&mut self, text: &str) -> Result<(), MysqlWireError> {
        self.out.clear();
        begin_command(&mut self.out, COM_QUERY);
        self.out.extend_from_slice(text.as_bytes());
        self.executing = None;
        self.seal_command(0)?;
        self.await_answer();
        Ok(())
    }

    #[inline]
    fn send_and_receive(&mut self) -> Result<(), MysqlWireError> {
        self.send_command()?;
        self.take_all()
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

    fn row_missing() -> MysqlWireError {
        // No error of the server's: 0 is none of its numbers.
        MysqlWireError::Server { code: 0, text: NOT_THERE.into() }
    }

    fn rolled_back() -> MysqlWireError {
        MysqlWireError::Server { code: 0, text: ROLLED_BACK.into() }
    }
}

impl Drop for MysqlWire {
    /// A server counts a client that does not take its leave as an aborted one.
    fn drop(&mut self) {
        const QUIT: [u8; 5] = [1, 0, 0, 0, 1];
        self.stream.send_last(&QUIT);
    }
}

/// A statement that was prepared: its number, and then the descriptions of its arguments, which are skipped, and of its columns.
fn take_prepared(inbox: &mut RecvBuffer, socket: &mut impl Read) -> Result<PreparedStatement, MysqlWireError> {
    let answer = next_packet(inbox, socket)?;
    let (&[OK, id @ .., _, _, _, _], _) = answer.split_first_chunk::<9>().ok_or_else(malformed_packet)? else {
        return Err(malformed_packet().into());
    };
    let [columns, arguments] = [5, 7].map(|at| status_at(answer, at).unwrap_or_default());
    let mut types = Vec::new();
    for (described, of_columns) in [(arguments, false), (columns, true)].into_iter().filter(|(count, _)| *count > 0) {
        // Each, and the end of them.
        for nth in 0..=described {
            let body = next_packet(inbox, socket)?;
            if of_columns && usize::from(nth) < KEPT_PLACES && nth < described {
                types.push(column_type(body).unwrap_or_default());
            }
        }
    }
    let row = RowShape { columns: columns.into(), types };
    Ok(PreparedStatement { id: u32::from_le_bytes(id), types: Vec::new(), row_args: None, row })
}

/// The type in the description of a column: behind six texts, the length of the rest, a character set and a length.
fn column_type(description: &[u8]) -> Option<u8> {
    let mut rest = description;
    for _ in 0..6 {
        let (length, after) = length_encoded(rest)?;
        rest = after.get(usize::try_from(length).ok()?..)?;
    }
    rest.get(7).copied()
}

/// Looks at a row, as a client would.
#[inline]
fn look_at(row: &[u8]) {
    black_box(row[row.len() - 1]);
}

/// Keeps the first values of `row`: values in the binary form of their types, or texts if the statement was not prepared.
fn keep_row(kept: &mut KeptRows, shape: Option<&RowShape>, row: &[u8]) {
    let is_kept = match shape {
        Some(shape) => keep_binary_row(kept, shape, row),
        None => keep_text_row(kept, row),
    };
    if is_kept.is_none() {
        kept.spoil();
    }
}

/// The row is a byte 0, a bit for each column that tells whether it is NULL, the first two of them unused, and the values.
/// <https://mariadb.com/kb/en/resultset-row/>
fn keep_binary_row(kept: &mut KeptRows, shape: &RowShape, row: &[u8]) -> Option<()> {
    let (nulls, mut rest) = row.get(1..)?.split_at_checked((shape.columns + 2).div_ceil(8))?;
    for (nth, kind) in (2..).zip(shape.types.get(..kept.columns())?) {
        if nulls[nth / 8] & 1 << (nth % 8) != 0 {
            kept.push(None);
            continue;
        }
        rest = keep_value(kept, *kind, rest)?;
    }
    Some(())
}

/// Keeps the value of the type `kind` at the start of `bytes`, and returns the bytes behind it.
fn keep_value<'a>(kept: &mut KeptRows, kind: u8, bytes: &'a [u8]) -> Option<&'a [u8]> {
    let width = match kind {
        TINY => 1,
        SHORT => 2,
        INT24 | LONG => 4,
        LONGLONG => 8,
        // Sums are decimals, which come as text.
        DECIMAL | VAR_STRING => {
            let (length, after) = length_encoded(bytes)?;
            let (text, after) = after.split_at_checked(usize::try_from(length).ok()?)?;
            kept.push_text(Some(text));
            return Some(after);
        }
        _ => return None,
    };
    let (digits, after) = bytes.split_at_checked(width)?;
    // Little-endian, with the sign in the last byte.
    let sign = i64::from(digits[width - 1] as i8) >> 7;
    kept.push(Some(digits.iter().rev().fold(sign, |value, &byte| value << 8 | i64::from(byte))));
    Some(after)
}

fn keep_text_row(kept: &mut KeptRows, row: &[u8]) -> Option<()> {
    let mut rest = row;
    for _ in 0..kept.columns() {
        let (length, after) = length_encoded(rest)?;
        let (text, after) = after.split_at_checked(usize::try_from(length).ok()?)?;
        kept.push_text(Some(text));
        rest = after;
    }
    Some(())
}

/// Takes one answer, and adds to `answered` what it shows. True if another one follows. `part` is how far it has come, also when a
/// non-blocking socket has no more for now.
#[inline]
fn take_answer(
    inbox: &mut RecvBuffer,
    socket: &mut impl Read,
    part: &mut AnswerPart,
    answered: &mut Answered,
    mut look: impl FnMut(&[u8]),
) -> Result<bool, MysqlWireError> {
    loop {
        let body = next_packet(inbox, socket)?;
        match part {
            AnswerPart::First => match body[0] {
                // A statement without a result, such as an UPDATE, is answered by one packet.
                OK => {
                    let (changed, made_id, status) = read_ok(body).ok_or_else(malformed_packet)?;
                    answered.rows.changed += changed;
                    answered.made_id = if answered.made_id == 0 { made_id } else { answered.made_id };
                    if changed == 0 {
                        answered.found += found_in_ok(body);
                    }
                    return Ok(end_answer(answered, status));
                }
                // The server may ask for a file of the client (LOAD DATA LOCAL). No workload needs that, and a hostile server
                // could read any file.
                LOCAL_FILE => return Err(malformed_packet().into()),
                _ => *part = AnswerPart::Columns(described_columns(body).ok_or_else(malformed_packet)?),
            },
            // The packet behind the descriptions is an EOF packet, which has nothing of interest.
            AnswerPart::Columns(0) => *part = AnswerPart::Rows,
            AnswerPart::Columns(left) => *left -= 1,
            // A row whose first value is longer than 16 MiB would begin with 0xfe too; only the length distinguishes them.
            AnswerPart::Rows if body[0] == EOF && body.len() < EOF_BELOW => {
                *part = AnswerPart::First;
                let status = status_at(body, 3).ok_or_else(malformed_packet)?;
                return Ok(end_answer(answered, status));
            }
            AnswerPart::Rows => {
                answered.rows.returned += 1;
                look(body);
            }
        }
    }
}

/// Notes what the `status` at the end of an answer shows. True if another answer follows.
#[inline]
fn end_answer(answered: &mut Answered, status: u16) -> bool {
    answered.in_transaction = status & IN_TRANSACTION != 0;
    has_more(status)
}

/// The number of columns that are described behind the packet `first`. MariaDB describes those of a prepared statement once, and leaves
/// them out later: one more byte in `first` is then 0.
#[inline]
pub fn described_columns(first: &[u8]) -> Option<u64> {
    let (columns, rest) = length_encoded(first)?;
    Some(if rest.first() == Some(&0) { 0 } else { columns })
}

/// The body of the next packet, which is never empty. An error packet of the server becomes an error.
#[inline]
pub(super) fn next_packet<'a>(inbox: &'a mut RecvBuffer, socket: &mut impl Read) -> Result<&'a [u8], MysqlWireError> {
    // The header is only looked at until the body is here too: a non-blocking socket may have half a packet.
    let header = inbox.peek(HEADER, socket)?;
    let length = u32::from_le_bytes([header[0], header[1], header[2], 0]) as usize;
    if length == 0 || length >= PACKET_MAX {
        return Err(malformed_packet().into());
    }
    inbox.peek(HEADER + length, socket)?;
    let body = &inbox.take(HEADER + length)[HEADER..];
    match body[0] {
        ERR => Err(server_error(body)),
        _ => Ok(body),
    }
}

/// Writes the command that executes `prepared`.
#[inline]
fn put_execution(out: &mut Vec<u8>, prepared: &mut PreparedStatement, args: &[SqlArg], text: &[u8]) {
    // Id, flags, iteration count, NULL bitmap, whether types follow, types, values: the layout of COM_STMT_EXECUTE.
    begin_command(out, COM_STMT_EXECUTE);
    out.extend_from_slice(&prepared.id.to_le_bytes());
    out.extend_from_slice(&[0, 1, 0, 0, 0]); // no cursor; once
    if args.is_empty() {
        return;
    }
    let bitmap = out.len();
    out.resize(bitmap + args.len().div_ceil(8), 0);
    let nulls = (0..).zip(args).filter(|(_, arg)| **arg == SqlArg::Null);
    nulls.for_each(|(nth, _): (usize, _)| out[bitmap + nth / 8] |= 1 << (nth % 8));
    // The server keeps the types of the execution before.
    if has_types(&prepared.types, args) {
        out.push(0);
    } else {
        prepared.types.clear();
        prepared.types.extend(args.iter().map(type_of));
        out.push(1);
        out.extend(prepared.types.iter().flat_map(|&kind| [kind, 0]));
    }
    args.iter().for_each(|arg| put_argument(out, arg, text));
}

#[inline]
fn has_types(types: &[u8], args: &[SqlArg]) -> bool {
    // NULL has the type of whatever was there before.
    let fits = |(&kind, arg): (&u8, &SqlArg)| kind == type_of(arg) || *arg == SqlArg::Null;
    types.len() == args.len() && types.iter().zip(args).all(fits)
}

/// The length-encoded number at the start of `bytes`, and the bytes behind it.
#[inline]
pub fn length_encoded(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let (&first, rest) = bytes.split_first()?;
    let length = match first {
        0..=250 => return Some((first.into(), rest)),
        0xfc => 2,
        0xfd => 3,
        0xfe => 8,
        _ => return None,
    };
    let (digits, rest) = rest.split_at_checked(length)?;
    // Little-endian: the last byte is the most significant one.
    let value = digits.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte));
    Some((value, rest))
}

/// How many rows were changed, the id that was made, and the status, in an OK packet.
#[inline]
fn read_ok(body: &[u8]) -> Option<(u64, u64, u16)> {
    let (changed, rest) = length_encoded(body.get(1..)?)?;
    let (made_id, rest) = length_encoded(rest)?;
    Some((changed, made_id, status_at(rest, 0)?))
}

/// `Rows matched: 1  Changed: 0  Warnings: 0`: how many rows an UPDATE has found, in the text at the end of an OK packet that has changed
/// none, which is in the language of the server; 0 without such a text.
fn found_in_ok(body: &[u8]) -> u64 {
    // 0 rows, the last id, status and warnings.
    let text = body.get(2..).and_then(length_encoded).and_then(|(_, rest)| rest.get(4..)).unwrap_or_default();
    let text = match text {
        // Servers send the length of the text before it, in spite of their documentation.
        [length, text @ ..] if usize::from(*length) == text.len() => text,
        text => text,
    };
    let digits = text.iter().skip_while(|byte| !byte.is_ascii_digit()).take_while(|byte| byte.is_ascii_digit());
    digits.fold(0, |number: u64, digit| number.saturating_mul(10).saturating_add((digit - b'0').into()))
}

/// The status in an OK packet.
#[inline]
pub fn status_of_ok(body: &[u8]) -> Option<u16> {
    read_ok(body).map(|(_, _, status)| status)
}

#[inline]
pub fn status_at(body: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(*body.get(at..)?.first_chunk()?))
}

#[inline]
pub fn has_more(status: u16) -> bool {
    status & MORE_RESULTS != 0
}

/// The error in the body of an ERR packet: a number, and after `#` a SQLSTATE before the text.
#[cold]
pub fn server_error(body: &[u8]) -> MysqlWireError {
    let Some((code, text)) = body[1..].split_first_chunk() else { return malformed_packet().into() };
    let code = u16::from_le_bytes(*code);
    // A server that refuses a connection before the login sends no SQLSTATE; HY000 is the general one.
    let (state, text) = match text.split_first_chunk::<6>() {
        Some((state, text)) if state[0] == b'#' => (&state[1..], text),
        _ => (&b"HY000"[..], text),
    };
    let [state, text] = [state, text].map(String::from_utf8_lossy);
    MysqlWireError::Server { code, text: format!("ERROR {code} ({state}): {text}") }
}

/// The error of a server that sent `what`, which the protocol does not allow.
#[cold]
pub fn protocol_error(what: String) -> MysqlWireError {
    explained_error(ErrorKind::InvalidData, format!("the server breaks the MySQL protocol: it sent {what}")).into()
}

#[cold]
fn without_arrays() -> io::Error {
    let why = "the server takes no arrays of rows, as MariaDB does; use statements = `prepared`";
    explained_error(ErrorKind::Unsupported, why)
}

#[cold]
fn too_long() -> io::Error {
    // Spelled out: a replay tells messages without their numbers, which may be values.
    io::Error::new(ErrorKind::InvalidInput, "a statement with its arguments is longer than sixteen MiB")
}

#[cold]
pub fn malformed_packet() -> io::Error {
    explained_error(ErrorKind::InvalidData, "the server breaks the MySQL protocol: it sent a malformed packet")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mysql::binary::{DOUBLE, put_number};

    /// The packets of `bodies`.
    fn packets(bodies: &[&[u8]]) -> Vec<u8> {
        let packet = |body: &&[u8]| [&(body.len() as u32).to_le_bytes()[..3], &[1], body].concat();
        bodies.iter().flat_map(packet).collect()
    }

    const END: &[u8] = &[EOF, 0, 0, 2, 0];
    const ROW: &[u8] = &[0, 0, 3, b'a', b'b', b'c'];

    /// Takes one answer of `bodies`, and says how many bytes of it are left.
    fn taken(bodies: &[&[u8]]) -> (Result<bool, MysqlWireError>, usize) {
        let bytes = packets(bodies);
        let (mut inbox, mut socket) = (RecvBuffer::default(), &bytes[..]);
        let answer = take_answer(&mut inbox, &mut socket, &mut AnswerPart::First, &mut Answered::default(), look_at);
        let mut left = 0;
        while inbox.peek(1, &mut socket).is_ok() {
            left += inbox.take(1).len();
        }
        (answer, left)
    }

    #[test]
    fn an_answer_is_taken_to_its_end_with_and_without_a_description_of_its_columns() {
        for bodies in [
            &[&[1][..], b"a column", END, ROW, ROW, END][..],
            &[&[1, 1], b"a column", END, ROW, END],
            &[&[1, 0], END, ROW, END],
            &[&[2, 0], END, END],
            &[&[OK, 1, 0, 2, 0, 0, 0]],
        ] {
            let (answer, left) = taken(bodies);
            assert!(matches!(answer, Ok(false)), "{answer:?} of {bodies:?}");
            assert_eq!(left, 0, "{bodies:?}");
        }
    }

    /// A socket that has so many bytes more each time it is asked, and nothing in between.
    struct Slow<'a>(&'a [u8], usize, bool);

    impl Read for Slow<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            self.2 = !self.2;
            if self.2 { Err(ErrorKind::WouldBlock.into()) } else { (&mut self.0).take(self.1 as u64).read(buffer) }
        }
    }

    #[test]
    fn an_answer_that_is_not_there_yet_is_taken_as_far_as_it_is() {
        let bytes = packets(&[&[1], b"a column", END, ROW, &[7; 300], END]);
        for piece in [1, 3, 50, 1000] {
            let (mut inbox, mut socket, mut part) =
                (RecvBuffer::default(), Slow(&bytes, piece, false), AnswerPart::First);
            let mut answered = Answered::default();
            let answer = loop {
                match take_answer(&mut inbox, &mut socket, &mut part, &mut answered, look_at) {
                    Err(MysqlWireError::Io(error)) if error.kind() == ErrorKind::WouldBlock => {}
                    answer => break answer,
                }
            };
            assert!(matches!(answer, Ok(false)) && socket.0.is_empty(), "{answer:?} in pieces of {piece}");
            assert_eq!(answered.rows.returned, 2, "in pieces of {piece}");
        }
    }

    #[test]
    fn an_answer_tells_its_rows_and_whether_a_transaction_is_open() {
        let told = |bodies: &[&[u8]]| {
            let (bytes, mut answered) = (packets(bodies), Answered::default());
            let mut part = AnswerPart::First;
            take_answer(&mut RecvBuffer::default(), &mut &bytes[..], &mut part, &mut answered, look_at).unwrap();
            (answered.rows.returned, answered.rows.changed, answered.in_transaction)
        };
        assert_eq!(told(&[&[OK, 3, 0, 1, 0, 0, 0]]), (0, 3, true));
        assert_eq!(told(&[&[OK, 0xfc, 0x10, 0x27, 0, 2, 0, 0, 0]]), (0, 10_000, false));
        let head = [OK, 0, 0, 2, 0, 0, 0];
        for text in
            [&b"Rows matched: 12  Changed: 0  Warnings: 0"[..], b"Zeilen gefunden: 12  geaendert: 0  Warnungen: 0.."]
        {
            assert_eq!(found_in_ok(&[&head[..], &[text.len() as u8], text].concat()), 12);
        }
        assert_eq!((found_in_ok(&[&head[..], b"12 rows"].concat()), found_in_ok(&head)), (12, 0));
        assert_eq!(told(&[&[1], b"a column", END, ROW, ROW, &[EOF, 0, 0, 1, 0]]), (2, 0, true));
    }

    #[test]
    fn a_prepared_statement_has_its_number_and_what_describes_it_is_taken() {
        let described = [OK, 7, 1, 0, 0, 1, 0, 2, 0, 0, 0, 0];
        let bytes =
            packets(&[&described, b"first", b"second", END, b"column", END, &[OK, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]]);
        let (mut inbox, mut socket) = (RecvBuffer::default(), &bytes[..]);
        let mut next = || take_prepared(&mut inbox, &mut socket);
        assert_eq!((next().unwrap().id, next().unwrap().id), (0x107, 8));
        assert!(matches!(next(), Err(MysqlWireError::Io(_))));
        for body in [&[OK, 7][..], &[1, 0, 0, 0, 0, 0, 0, 0, 0]] {
            let bytes = packets(&[body]);
            assert!(
                matches!(take_prepared(&mut RecvBuffer::default(), &mut &bytes[..]), Err(MysqlWireError::Io(_))),
                "{body:?}"
            );
        }
    }

    #[test]
    fn of_several_answers_one_is_taken_at_a_time() {
        let (answer, left) = taken(&[&[OK, 0xfc, 1, 1, 0, 8, 0, 0, 0], &[OK, 0, 0, 2, 0, 0, 0]]);
        assert!(matches!(answer, Ok(true)) && left == HEADER + 7, "{answer:?}, {left} left");
    }

    #[test]
    fn an_error_among_the_rows_ends_the_answer_in_the_words_of_the_server() {
        let (answer, left) = taken(&[&[1, 0], END, ROW, b"\xff\xbd\x04#40001Deadlock found"]);
        let Err(MysqlWireError::Server { code: 1213, text }) = answer else { panic!("{answer:?}") };
        assert_eq!((text.as_str(), left), ("ERROR 1213 (40001): Deadlock found", 0));
    }

    #[test]
    fn a_server_that_hangs_up_or_talks_nonsense_is_an_error_of_the_connection() {
        for bodies in
            [&[][..], &[&[1, 0], END], &[&[]], &[&[OK]], &[&[OK, 0, 0, 2]], &[&[0xfc, 1]], &[&[LOCAL_FILE, 0]]]
        {
            let answer = taken(bodies).0;
            assert!(matches!(answer, Err(MysqlWireError::Io(_))), "{answer:?} of {bodies:?}");
        }
    }

    #[test]
    fn arguments_carry_their_types_until_the_server_has_them() {
        let args = [SqlArg::Int(-2), SqlArg::Text { start: 1, len: 2 }, SqlArg::Float(0.5)];
        let (mut prepared, mut first, mut second) = (
            PreparedStatement { id: 7, types: Vec::new(), row_args: None, row: RowShape::default() },
            Vec::new(),
            Vec::new(),
        );
        put_execution(&mut first, &mut prepared, &args, b"xyz");
        put_execution(&mut second, &mut prepared, &args, b"xyz");
        let head = [0, 0, 0, 0, COM_STMT_EXECUTE, 7, 0, 0, 0, 0, 1, 0, 0, 0, 0];
        let values = [&(-2i64).to_le_bytes()[..], &[2, b'y', b'z'], &0.5f64.to_le_bytes()].concat();
        let types = [1, LONGLONG, 0, VAR_STRING, 0, DOUBLE, 0];
        assert_eq!(first, [&head[..], &types, &values].concat());
        assert_eq!(second, [&head[..], &[0], &values].concat());
        first.clear();
        put_execution(&mut first, &mut prepared, &[args[1], args[1], args[1]], b"xyz");
        assert_eq!(first[15..22], [1, VAR_STRING, 0, VAR_STRING, 0, VAR_STRING, 0]);
    }

    #[test]
    fn integers_of_all_widths_and_sums_are_kept_and_null_is_not() {
        let shape = RowShape { columns: 7, types: vec![TINY, SHORT, LONG, LONGLONG, DECIMAL, LONG] };
        let values = [&[0xff][..], &[0, 0x80], &[1, 2, 3, 4], &(-5i64).to_le_bytes(), &[3, b'1', b'2', b'3']].concat();
        let row = |nulls: [u8; 2]| [&[0][..], &nulls, &values].concat();
        let mut kept = KeptRows::default();
        kept.begin(5);
        assert_eq!(keep_binary_row(&mut kept, &shape, &row([0, 0])), Some(()));
        assert_eq!(kept.row(0), [-1, -0x8000, 0x0403_0201, -5, 123]);
        kept.begin(1);
        keep_row(&mut kept, Some(&shape), &row([4, 0]));
        assert!(kept.is_bad());
        kept.begin(6);
        assert_eq!(keep_binary_row(&mut kept, &shape, &row([0, 0])), None, "cut off");
        kept.begin(2);
        keep_row(&mut kept, None, b"\x02-7\x011rest");
        assert_eq!(kept.row(0), [-7, 1]);
    }

    #[test]
    fn lengths_come_back_as_they_were_put() {
        for length in [0, 250, 251, 0xffff, 0x1_0000, 0xff_ffff, 0x100_0000, u32::MAX] {
            let mut bytes = Vec::new();
            put_number(&mut bytes, length);
            bytes.push(9);
            assert_eq!(length_encoded(&bytes), Some((length.into(), &[9][..])));
        }
        assert_eq!([length_encoded(&[]), length_encoded(&[0xfc, 1]), length_encoded(&[0xff, 1])], [None; 3]);
    }
}
