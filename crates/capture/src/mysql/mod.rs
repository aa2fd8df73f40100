//! A session of MySQL's or MariaDB's protocol.
//!
//! A client's packet with sequence number 0 is a command; all others are authentication or the file of a `LOAD DATA LOCAL`, and are not looked
//! at. An answer begins with the sequence number after the command's, and ends before the next command, however many packets it has. Its rows
//! are counted. Answers come in the order of commands, of which a client may send several at once.

mod answer;
mod framing;
pub mod handshake;
mod values;

pub use framing::are_commands;

use crate::connection::{Found, Going};
use crate::literal::Cursor;
use crate::order::Ticket;
use crate::statement::{STATEMENT_BYTES_MAX, Skipped, UnknownValues, Values};
use crate::stream::Arrived;
use answer::{AnswerRows, is_error};
use framing::{Message, Packets};
use handshake::{COMPRESS, QUERY_ATTRIBUTES, SSL, ZSTD};
use sql::Letters;
use std::borrow::Cow;
use std::collections::{HashMap, VecDeque};
use std::rc::Rc;
use values::{Layout, ParamType, read_values};

/// Of an answer only the beginning of each packet is looked at; the greeting is longest.
const ANSWER_BYTES_KEPT: usize = 512;
/// More commands than a client sends ahead.
const AWAITED_MAX: usize = 4096;
/// As many prepared statements as a server allows a client in all (`max_prepared_stmt_count`'s default is a quarter of it).
const PREPARED_MAX: usize = 65_536;
/// What a prepared statement takes besides its text.
const PREPARED_COST_BYTES: usize = 256;
/// The number that stands for the statement that was prepared last (MariaDB).
const LAST_PREPARED: u32 = u32::MAX;
/// The flag of an execution that has a count of parameters with attributes.
const HAS_PARAMETER_COUNT: u8 = 8;

struct Prepared {
    text: Rc<[u8]>,
    params: usize,
    types: Vec<ParamType>,
    long_data: HashMap<u16, Vec<u8>>,
    has_run: bool,
}

impl Prepared {
    fn held_bytes(&self) -> usize {
        self.text.len() + PREPARED_COST_BYTES + self.long_data_bytes()
    }

    fn long_data_bytes(&self) -> usize {
        self.long_data.values().map(Vec::len).sum()
    }
}

/// What an answer is to.
enum Asked {
    Statement,
    /// A statement or a command that changes the schema if it succeeds.
    Schema(String),
    Prepare(Rc<[u8]>),
    /// An execution, sent together with what it executes: its values can be read when that is prepared.
    Execute(Vec<u8>),
}

struct Awaited {
    first_seq: u8,
    asked: Asked,
    ticket: Option<Ticket>,
}

pub struct MysqlSession {
    client: Packets,
    server: Packets,
    /// What the server offers; `None` if the capture began later.
    offered: Option<u32>,
    /// What both agreed on.
    capabilities: Option<u32>,
    schema: String,
    /// The character set of its texts, and that of its login, to which a reset goes back.
    letters: Letters,
    letters_of_login: Letters,
    prepared: HashMap<u32, Prepared>,
    last_prepared: u32,
    awaited: VecDeque<Awaited>,
    answering: Option<Ticket>,
    /// The rows of that answer.
    rows: AnswerRows,
    last_server_seq: Option<u8>,
    /// Bytes of prepared texts, long data and commands that wait.
    kept_bytes: usize,
    going: Going,
}

impl MysqlSession {
    /// A session from its greeting on, or from a command of the client on.
    pub fn new(from_greeting: bool) -> MysqlSession {
        MysqlSession {
            client: Packets::new(STATEMENT_BYTES_MAX, false),
            server: Packets::new(ANSWER_BYTES_KEPT, !from_greeting),
            offered: None,
            capabilities: None,
            schema: String::new(),
            letters: Letters::Unknown,
            letters_of_login: Letters::Unknown,
            prepared: HashMap::new(),
            last_prepared: 0,
            awaited: VecDeque::new(),
            answering: None,
            rows: AnswerRows::default(),
            last_server_seq: None,
            kept_bytes: 0,
            going: Going::On,
        }
    }

    pub fn held_bytes(&self) -> usize {
        self.client.held_bytes() + self.kept_bytes
    }

    /// Takes what the client sent.
    pub fn take_client(&mut self, arrived: &Arrived<'_>, found: &mut Found<'_>) -> Going {
        match *arrived {
            Arrived::Lost(count) => {
                found.skipped.cut_statements += u64::from(self.client.lose(count));
                // The next answer may be to what was lost.
                self.end_answer(found);
            }
            Arrived::Bytes { at_us, bytes, is_segment_start } => {
                if self.client.is_lost && is_segment_start && are_commands(bytes) {
                    self.client.resume();
                }
                let mut client = std::mem::replace(&mut self.client, Packets::new(0, true));
                client.feed(bytes, &mut |message| self.take_client_message(at_us, message, found));
                self.client = client;
            }
        }
        self.going
    }

    fn take_client_message(&mut self, at_us: i64, message: &Message<'_>, found: &mut Found<'_>) {
        if self.going != Going::On {
            return;
        }
        if message.first_seq != 0 {
            if self.offered.is_some() && self.capabilities.is_none() {
                self.take_response(message.body);
            }
            return;
        }
        if self.awaited.is_empty() {
            self.end_answer(found);
            self.last_server_seq = None;
        }
        let Some((command, body)) = message.body.split_first() else { return };
        if message.is_cut || message.length > STATEMENT_BYTES_MAX {
            let count =
                if message.is_cut { &mut found.skipped.cut_statements } else { &mut found.skipped.too_long_statements };
            *count += 1;
            self.await_answer(message, Asked::Statement, None, found);
            return;
        }
        self.take_command(at_us, *command, body, message, found);
    }

    fn take_response(&mut self, body: &[u8]) {
        let Some(response) = handshake::read_response(body) else { return };
        let capabilities = response.capabilities & self.offered.unwrap_or(u32::MAX);
        if capabilities & SSL != 0 {
            self.going = Going::Encrypted;
        } else if capabilities & (COMPRESS | ZSTD) != 0 {
            self.going = Going::Compressed;
        }
        self.capabilities = Some(response.capabilities & self.offered.unwrap_or(0));
        self.schema = response.schema;
        self.log_in(response.letters);
    }

    fn log_in(&mut self, letters: Letters) {
        (self.letters, self.letters_of_login) = (letters, letters);
    }

    /// Takes up a command. Quit, close and long data have no answer.
    ///
    /// Source of the numbers: `enum_server_command` of MySQL and MariaDB.
    fn take_command(&mut self, at_us: i64, command: u8, body: &[u8], message: &Message<'_>, found: &mut Found<'_>) {
        match command {
            0x01 => {}
            0x02 => {
                let schema = String::from_utf8_lossy(body).into_owned();
                self.await_answer(message, Asked::Schema(schema), None, found);
            }
            0x03 => {
                let text = self.without_attributes(body);
                let asked = schema_of_use(text).map_or(Asked::Statement, Asked::Schema);
                let ticket = self.begin(at_us, text, Values::Known(Vec::new()), found);
                let set = std::str::from_utf8(text).ok().and_then(Letters::set_by);
                self.letters = set.unwrap_or(self.letters);
                self.await_answer(message, asked, ticket, found);
            }
            0x11 => {
                self.forget_prepared();
                let (schema, letters) = handshake::read_change(body).unwrap_or_default();
                self.log_in(letters);
                self.await_answer(message, Asked::Schema(schema), None, found);
            }
            0x16 => {
                self.kept_bytes += body.len();
                self.await_answer(message, Asked::Prepare(body.into()), None, found);
            }
            0x17 => self.take_execute(at_us, body, message, found),
            0x18 => self.take_long_data(body),
            0x19 => self.take_close(body),
            0x1a => {
                if let Some(prepared) = number_of(body).and_then(|number| self.prepared.get_mut(&number)) {
                    self.kept_bytes -= prepared.long_data_bytes();
                    prepared.long_data.clear();
                }
                self.await_answer(message, Asked::Statement, None, found);
            }
            0x1f => {
                self.forget_prepared();
                self.letters = self.letters_of_login;
                self.await_answer(message, Asked::Statement, None, found);
            }
            0xfa => {
                let number = number_of(body).unwrap_or(0);
                let number = if number == LAST_PREPARED { self.last_prepared } else { number };
                let text = self.prepared.get(&number).map(|prepared| Rc::clone(&prepared.text));
                let ticket = self.begin_execution(at_us, text, Err(UnknownValues::Bulk), found);
                self.await_answer(message, Asked::Statement, ticket, found);
            }
            // Without a statement: sleep, field list, create and drop db, refresh, shutdown, statistics, process info, connect, kill, debug, ping, time,
            // delayed insert, set option, fetch.
            0x00 | 0x04..=0x10 | 0x1b | 0x1c => self.await_answer(message, Asked::Statement, None, found),
            _ => {
                found.skipped.unknown_commands += 1;
                self.await_answer(message, Asked::Statement, None, found);
            }
        }
    }

    /// The text of a query. If the handshake was not captured, attributes are known by the two bytes that no text begins with.
    fn without_attributes<'b>(&self, body: &'b [u8]) -> &'b [u8] {
        let may_have = self.capabilities.is_none_or(|capabilities| capabilities & QUERY_ATTRIBUTES != 0);
        let skip = || {
            let mut cursor = Cursor(body);
            let params = usize::try_from(cursor.lenenc()?).ok()?;
            (cursor.lenenc()? == 1).then_some(())?;
            if params == 0 {
                return Some(cursor.0);
            }
            values::skip_attributes(&mut cursor, params)?;
            Some(cursor.0)
        };
        if may_have { skip().unwrap_or(body) } else { body }
    }

    fn take_execute(&mut self, at_us: i64, body: &[u8], message: &Message<'_>, found: &mut Found<'_>) {
        let number = number_of(body).unwrap_or(0);
        let not_yet = self.awaited.iter().rev().find_map(|awaited| match &awaited.asked {
            Asked::Prepare(text) => Some(Rc::clone(text)),
            _ => None,
        });
        if let Some(text) = not_yet.filter(|_| number == LAST_PREPARED) {
            let ticket = self.begin(at_us, &text, Values::Unknown(UnknownValues::TypesNotSeen), found);
            self.kept_bytes += body.len();
            self.await_answer(message, Asked::Execute(body.to_vec()), ticket, found);
            return;
        }
        let number = if number == LAST_PREPARED { self.last_prepared } else { number };
        let values = self.values_of(number, body);
        let text = self.prepared.get(&number).map(|prepared| Rc::clone(&prepared.text));
        let ticket = self.begin_execution(at_us, text, values, found);
        let prepared = self.prepared.get_mut(&number);
        let has_run = prepared.is_some_and(|prepared| std::mem::replace(&mut prepared.has_run, true));
        ticket.filter(|_| has_run).into_iter().for_each(|ticket| found.order.set_stays_prepared(ticket));
        self.await_answer(message, Asked::Statement, ticket, found);
    }

    fn begin_execution(
        &mut self,
        at_us: i64,
        text: Option<Rc<[u8]>>,
        values: Result<Vec<String>, UnknownValues>,
        found: &mut Found<'_>,
    ) -> Option<Ticket> {
        let Some(text) = text else {
            found.skipped.unprepared_executions += 1;
            return None;
        };
        let values = found.counted(values);
        self.begin(at_us, &text, values, found)
    }

    fn begin(&self, at_us: i64, text: &[u8], values: Values, found: &mut Found<'_>) -> Option<Ticket> {
        let text = sendable(text, self.letters, found.skipped);
        found.begin(at_us, &self.schema, &text, values)
    }

    /// The values of an execution: after the statement's number come flags and the iteration count.
    fn values_of(&mut self, number: u32, body: &[u8]) -> Result<Vec<String>, UnknownValues> {
        let Some(prepared) = self.prepared.get_mut(&number) else { return Err(UnknownValues::TypesNotSeen) };
        let (Some(flags), Some(body)) = (body.get(4).copied(), body.get(9..)) else {
            return Err(UnknownValues::Malformed);
        };
        let Prepared { params, types, long_data, .. } = prepared;
        let mut read = |has_attributes| {
            let layout = Layout { params: *params, has_attributes, long_data };
            let mut new_types = types.clone();
            read_values(body, &layout, &mut new_types).inspect(|_| *types = new_types)
        };
        let values = match self.capabilities {
            Some(capabilities) => {
                read(capabilities & QUERY_ATTRIBUTES != 0 && (*params > 0 || flags & HAS_PARAMETER_COUNT != 0))
            }
            // Without the handshake: the one of both forms that ends where the packet does.
            None => read(false).or_else(|error| read(true).map_err(|_| error)),
        };
        self.kept_bytes -= long_data.values().map(Vec::len).sum::<usize>();
        long_data.clear();
        values
    }

    fn take_long_data(&mut self, body: &[u8]) {
        let mut cursor = Cursor(body);
        let (Some(number), Some(param)) = (cursor.array().map(u32::from_le_bytes), cursor.array()) else { return };
        let number = if number == LAST_PREPARED { self.last_prepared } else { number };
        let Some(prepared) = self.prepared.get_mut(&number) else { return };
        let data = prepared.long_data.entry(u16::from_le_bytes(param)).or_default();
        if data.len() + cursor.0.len() <= STATEMENT_BYTES_MAX {
            data.extend_from_slice(cursor.0);
            self.kept_bytes += cursor.0.len();
        }
    }

    fn take_close(&mut self, body: &[u8]) {
        if let Some(closed) = number_of(body).and_then(|number| self.prepared.remove(&number)) {
            self.kept_bytes -= closed.held_bytes();
        }
    }

    fn forget_prepared(&mut self) {
        self.kept_bytes -= self.prepared.values().map(Prepared::held_bytes).sum::<usize>();
        self.prepared.clear();
    }

    fn await_answer(&mut self, message: &Message<'_>, asked: Asked, ticket: Option<Ticket>, found: &mut Found<'_>) {
        if self.awaited.len() >= AWAITED_MAX {
            self.end(found);
        }
        self.awaited.push_back(Awaited { first_seq: message.last_seq.wrapping_add(1), asked, ticket });
    }

    /// Takes what the server sent.
    pub fn take_server(&mut self, arrived: &Arrived<'_>, found: &mut Found<'_>) {
        match *arrived {
            Arrived::Lost(count) => {
                self.server.lose(count);
                if self.server.is_lost {
                    found.skipped.cut_answers += u64::from(self.answering.is_some() || !self.awaited.is_empty());
                    self.end(found);
                }
            }
            Arrived::Bytes { at_us, bytes, is_segment_start } => {
                if let Some(ticket) = self.answering {
                    found.order.answered(ticket, at_us);
                }
                let next_seq = self.awaited.front().map(|awaited| awaited.first_seq);
                if self.server.is_lost && is_segment_start && next_seq.is_some() && bytes.get(3).copied() == next_seq {
                    self.server.resume();
                }
                let mut server = std::mem::replace(&mut self.server, Packets::new(0, true));
                server.feed(bytes, &mut |message| self.take_server_message(at_us, message, found));
                self.server = server;
            }
        }
    }

    fn take_server_message(&mut self, at_us: i64, message: &Message<'_>, found: &mut Found<'_>) {
        if message.first_seq == 0
            && self.capabilities.is_none()
            && self.offered.is_none()
            && let Some(greeting) = handshake::read_greeting(message.body)
        {
            self.offered = Some(greeting.capabilities);
            *found.server_version = Some(greeting.version);
            return;
        }
        // After 255 comes 0: then this number is the next of an answer, and begins none.
        let goes_on = self.last_server_seq.is_some_and(|last| last.wrapping_add(1) == message.first_seq);
        self.last_server_seq = Some(message.last_seq);
        let has_failed = is_error(message.body);
        if !goes_on && let Some(awaited) = self.awaited.pop_front_if(|next| next.first_seq == message.first_seq) {
            self.end_answer(found);
            (self.answering, self.rows) = (awaited.ticket, AnswerRows::default());
            self.begin_answer(awaited.asked, has_failed, message.body, found);
        }
        if let Some(ticket) = self.answering {
            found.order.answered(ticket, at_us);
            if has_failed {
                found.order.fail(ticket);
            }
            self.rows.take(message);
        }
    }

    fn begin_answer(&mut self, asked: Asked, has_failed: bool, body: &[u8], found: &mut Found<'_>) {
        match asked {
            Asked::Statement => {}
            Asked::Schema(schema) if !has_failed => self.schema = schema,
            Asked::Schema(_) => {}
            Asked::Prepare(text) => {
                self.kept_bytes -= text.len();
                if !has_failed {
                    self.add_prepared(text, body);
                }
            }
            Asked::Execute(execute) => {
                self.kept_bytes -= execute.len();
                if let Some(ticket) = self.answering {
                    let values = self.values_of(self.last_prepared, &execute);
                    let values = found.counted(values);
                    found.order.set_values(ticket, values);
                }
            }
        }
    }

    /// The answer to a preparation: 0, the statement's number, its columns, its parameters.
    fn add_prepared(&mut self, text: Rc<[u8]>, body: &[u8]) {
        let Some([0, a, b, c, d, _, _, low, high]) = body.first_chunk::<9>().copied() else { return };
        if self.prepared.len() >= PREPARED_MAX {
            self.forget_prepared();
        }
        self.last_prepared = u32::from_le_bytes([a, b, c, d]);
        self.kept_bytes += text.len() + PREPARED_COST_BYTES;
        let params = usize::from(u16::from_le_bytes([low, high]));
        let prepared = Prepared { text, params, types: Vec::new(), long_data: HashMap::new(), has_run: false };
        if let Some(replaced) = self.prepared.insert(self.last_prepared, prepared) {
            self.kept_bytes -= replaced.held_bytes();
        }
    }

    fn end_answer(&mut self, found: &mut Found<'_>) {
        if let Some(ticket) = self.answering.take() {
            self.rows.counts().into_iter().for_each(|counts| found.order.set_counts(ticket, counts));
            found.order.finish(ticket);
        }
    }

    /// The connection has ended, or it is not known what is answered.
    pub fn end(&mut self, found: &mut Found<'_>) {
        self.end_answer(found);
        for awaited in self.awaited.drain(..) {
            match awaited.asked {
                Asked::Prepare(text) => self.kept_bytes -= text.len(),
                Asked::Execute(body) => self.kept_bytes -= body.len(),
                Asked::Statement | Asked::Schema(_) => {}
            }
            if let Some(ticket) = awaited.ticket {
                found.order.finish(ticket);
            }
        }
    }
}

/// `text`, which is in `letters`, with its bytes that are no UTF-8 in literals that have them in hexadecimal, if they are in literals.
fn sendable<'t>(text: &'t [u8], letters: Letters, skipped: &mut Skipped) -> Cow<'t, [u8]> {
    let Cow::Owned(signs) = sql::text_of_bytes(text) else { return Cow::Borrowed(text) };
    let Some(written) = sql::with_bytes_in_literals(&signs, letters) else { return Cow::Borrowed(text) };
    skipped.taken_for_latin1 += u64::from(letters == Letters::Unknown && written.contains(" _latin1 x'"));
    Cow::Owned(written.into_bytes())
}

fn number_of(body: &[u8]) -> Option<u32> {
    body.first_chunk().copied().map(u32::from_le_bytes)
}

/// The schema that a text `USE name` chooses.
fn schema_of_use(text: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(text.get(..text.len().min(300))?).ok()?.trim().trim_end_matches(';').trim_end();
    let (word, name) = text.split_once(|c: char| c.is_ascii_whitespace() || c == '`')?;
    if !word.eq_ignore_ascii_case("use") {
        return None;
    }
    let name = name.trim();
    let name = name.strip_suffix('`').map_or(name, |name| name.strip_prefix('`').unwrap_or(name));
    (!name.is_empty() && !name.contains(char::is_whitespace)).then(|| name.replace("``", "`"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::order::Order;
    use crate::statement::{CaptureEvent, Dialect, Session};
    use std::net::SocketAddr;
    use std::ops::ControlFlow;

    /// The texts of the queries that a session gives out, and what it counts.
    fn given(mut session: MysqlSession, queries: &[&[u8]]) -> (Vec<String>, Skipped) {
        let (mut order, mut skipped, mut server_version) = (Order::default(), Skipped::default(), None);
        let end = SocketAddr::from(([127, 0, 0, 1], 1));
        let mut found = Found {
            order: &mut order,
            skipped: &mut skipped,
            session: Session { number: 1, client: end, server: end, began_us: 0 },
            dialect: Dialect::Mysql,
            server_version: &mut server_version,
        };
        for query in queries {
            let length = u8::try_from(query.len() + 1).unwrap();
            let bytes = [&[length, 0, 0, 0, 3][..], *query].concat();
            session.take_client(&Arrived::Bytes { at_us: 1, bytes: &bytes, is_segment_start: true }, &mut found);
        }
        session.end(&mut found);
        let mut texts = Vec::new();
        let flow = order.flush(&mut |event| {
            if let CaptureEvent::Statement(one) = event {
                texts.push(one.text);
            }
            ControlFlow::Continue(())
        });
        assert!(flow.is_continue());
        (texts, skipped)
    }

    #[test]
    fn bytes_of_other_character_sets_are_sent_in_that_of_the_login_or_the_last_that_was_set() {
        let mut session = MysqlSession::new(false);
        let (capabilities, rest) = ((1_u32 << 15) | (1 << 9), [0_u8; 23]);
        let response = [&capabilities.to_le_bytes()[..], &[0, 0, 0, 1, 51], &rest, b"u\0\0"].concat();
        session.take_response(&response);
        let (texts, skipped) =
            given(session, &[b"select '\xcf'", b"set names koi8r", b"select '\xf0'", b"select \xf0", b"select 'a'"]);
        let expected =
            ["select  _cp1251 x'cf'", "set names koi8r", "select  _koi8r x'f0'", "select 'a'"].map(str::to_owned);
        assert_eq!(texts, expected);
        assert_eq!((skipped.not_utf8_statements, skipped.taken_for_latin1), (1, 0));
        let (texts, skipped) = given(MysqlSession::new(false), &[b"select '\xcf'"]);
        assert_eq!((texts, skipped.taken_for_latin1), (vec!["select  _latin1 x'cf'".to_owned()], 1));
    }

    #[test]
    fn use_is_known_in_the_forms_that_clients_send() {
        let schema = |text: &str| schema_of_use(text.as_bytes());
        assert_eq!(schema("USE shop").as_deref(), Some("shop"));
        assert_eq!(schema(" use `my``shop` ;").as_deref(), Some("my`shop"));
        assert_eq!(schema("use`shop`").as_deref(), Some("shop"));
        assert_eq!(schema("used car"), None);
        assert_eq!(schema("use"), None);
    }
}
