//! A session of PostgreSQL's protocol.
//!
//! Source: <https://www.postgresql.org/docs/current/protocol-flow.html>. Each request waits for its answer in a queue, because a client may send
//! several before it reads. An answer that does not fit the first of the queue is not used. After an error the server reads on to the next
//! Sync: what was sent between did not run, and is no statement; what ran before in the same [`Pipeline`] it undoes. A portal that is fetched in parts is
//! one execution.

mod framing;
mod made;
mod pipeline;
mod values;

pub use framing::are_requests;

use crate::connection::{Found, Going};
use crate::literal::Cursor;
use crate::order::Ticket;
use crate::statement::{AnswerCounts, STATEMENT_BYTES_MAX, UnknownValues, Values};
use crate::stream::Arrived;
use framing::{Message, Messages};
use made::{AnswerIds, IdColumn, returns_inserted};
use pipeline::Pipeline;
use std::cell::RefCell;
use std::collections::{HashMap, VecDeque};
use std::rc::Rc;
use values::Bound;

/// What is kept of a client: the start (0), query, parse, bind, describe, execute, close.
const CLIENT_KINDS: &[u8] = &[0, b'Q', b'P', b'B', b'D', b'E', b'C'];
/// What is kept of a server: descriptions of parameters and of rows, rows, its settings, what a statement has done, and whether a transaction is open.
const SERVER_KINDS: &[u8] = b"tTDSCZ";
const SERVER_BYTES_MAX: usize = 1 << 20;
/// More requests than a client sends ahead: some load a million rows so.
const AWAITED_MAX: usize = 100_000;
const NAMES_MAX: usize = 65_536;
/// What a named statement or portal takes besides its bytes.
const NAME_COST_BYTES: usize = 256;

const PROTOCOL_3: u32 = 3;
const CANCEL: u32 = 80_877_102;
const SSL_REQUEST: u32 = 80_877_103;
const GSS_REQUEST: u32 = 80_877_104;

/// Whether `bytes` are the first message of a client.
pub fn is_start(bytes: &[u8]) -> bool {
    let mut cursor = Cursor(bytes);
    let (Some(length), Some(code)) = (cursor.array().map(u32::from_be_bytes), cursor.array().map(u32::from_be_bytes))
    else {
        return false;
    };
    let is_request = matches!(code, SSL_REQUEST | GSS_REQUEST) && length == 8;
    is_request
        || (matches!(code, CANCEL) && length >= 16)
        || (code >> 16 == PROTOCOL_3 && (9..10_000).contains(&length))
}

/// A statement that was parsed.
struct Prepared {
    text: Vec<u8>,
    types: RefCell<Vec<u32>>,
    /// Whether it has a name, under which it stays.
    is_named: bool,
    /// The ids of the rows that it inserts, if they are described.
    ids: RefCell<Option<IdColumn>>,
}

/// A statement with its values.
struct Portal {
    prepared: Rc<Prepared>,
    bound: Rc<Bound>,
    /// Whether it was executed: more executions fetch the rest.
    has_run: bool,
}

enum Asked {
    /// Whether it returns what it inserts.
    Query {
        inserts: bool,
    },
    Parse(Vec<u8>, Option<Rc<Prepared>>),
    Bind(Vec<u8>, Option<Rc<Bound>>),
    DescribeStatement(Option<Rc<Prepared>>),
    DescribePortal,
    /// What is executed, to read its values when the types are known.
    Execute(Option<(Rc<Prepared>, Rc<Bound>)>),
    Close,
    Sync,
}

struct Awaited {
    asked: Asked,
    ticket: Option<Ticket>,
}

pub struct PostgresSession {
    client: Messages,
    server: Messages,
    schema: String,
    /// Whether the server's next byte answers a request for encryption.
    awaits_encryption: bool,
    /// Whether a client has sent a request since an answer was lost.
    has_asked_again: bool,
    prepared: HashMap<Vec<u8>, Rc<Prepared>>,
    portals: HashMap<Vec<u8>, Portal>,
    awaited: VecDeque<Awaited>,
    pipeline: Pipeline,
    /// The rows of the answer to the first of them so far.
    counts: AnswerCounts,
    /// The ids in them, and where these are.
    ids: AnswerIds,
    id_column: Option<IdColumn>,
    /// Bytes of prepared texts and bound values, an upper bound between two cleanings.
    kept_bytes: usize,
    /// What they were at the last cleaning.
    cleaned_bytes: usize,
    going: Going,
}

impl PostgresSession {
    /// A session from its start on, or from a request of the client on.
    pub fn new(from_start: bool) -> PostgresSession {
        let mut client = Messages::new(CLIENT_KINDS, STATEMENT_BYTES_MAX, false);
        client.is_untyped = from_start;
        PostgresSession {
            client,
            server: Messages::new(SERVER_KINDS, SERVER_BYTES_MAX, !from_start),
            schema: String::new(),
            awaits_encryption: false,
            has_asked_again: false,
            prepared: HashMap::new(),
            portals: HashMap::new(),
            awaited: VecDeque::new(),
            pipeline: Pipeline::default(),
            counts: AnswerCounts::default(),
            ids: AnswerIds::default(),
            id_column: None,
            kept_bytes: 0,
            cleaned_bytes: 0,
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
                // Others may have been parsed and bound under these names.
                self.portals.clear();
                self.prepared.remove(&b""[..]);
            }
            Arrived::Bytes { at_us, bytes, is_segment_start } => {
                if self.client.is_lost && is_segment_start && are_requests(bytes) {
                    self.client.resume();
                }
                let mut client = std::mem::replace(&mut self.client, Messages::new(&[], 0, true));
                client.feed(bytes, &mut |message| self.take_client_message(at_us, message, found));
                self.client = client;
            }
        }
        self.going
    }

    /// Takes a message of the client. True if the next has no letter.
    fn take_client_message(&mut self, at_us: i64, message: &Message<'_>, found: &mut Found<'_>) -> bool {
        self.has_asked_again = true;
        if self.awaited.len() >= AWAITED_MAX {
            self.end(found);
        }
        if message.kind == 0 {
            return self.take_start(message.body);
        }
        if message.is_cut || message.is_too_long {
            self.take_cut(message, found);
            return false;
        }
        match message.kind {
            b'Q' => {
                let text = message.body.strip_suffix(&[0]).unwrap_or(message.body);
                let ticket = found.begin(at_us, &self.schema, text, Values::Known(Vec::new()));
                self.await_answer(Asked::Query { inserts: returns_inserted(text) }, ticket);
            }
            b'P' => self.take_parse(message.body),
            b'B' => self.take_bind(message.body, found),
            b'D' if message.body.first() == Some(&b'S') => {
                let name = Cursor(&message.body[1..]).until_nul().unwrap_or_default();
                let asked = Asked::DescribeStatement(self.prepared.get(name).map(Rc::clone));
                self.await_answer(asked, None);
            }
            b'D' => self.await_answer(Asked::DescribePortal, None),
            b'E' => self.take_execute(at_us, message.body, found),
            b'C' => self.take_close(message.body),
            b'S' => self.await_answer(Asked::Sync, None),
            // Its answer ends as a query's does.
            b'F' => self.await_answer(Asked::Query { inserts: false }, None),
            // Flush, the end of a COPY or its data, a password, the end.
            b'H' | b'd' | b'c' | b'f' | b'p' | b'X' => {}
            _ => found.skipped.unknown_commands += 1,
        }
        false
    }

    fn take_start(&mut self, body: &[u8]) -> bool {
        let mut cursor = Cursor(body);
        match cursor.array().map(u32::from_be_bytes) {
            Some(SSL_REQUEST | GSS_REQUEST) => {
                self.awaits_encryption = true;
                return true;
            }
            Some(code) if code >> 16 == PROTOCOL_3 => {
                let mut user = String::new();
                while let (Some(name), Some(value)) =
                    (cursor.until_nul().filter(|name| !name.is_empty()), cursor.until_nul())
                {
                    match name {
                        b"database" => self.schema = String::from_utf8_lossy(value).into_owned(),
                        b"user" => user = String::from_utf8_lossy(value).into_owned(),
                        _ => {}
                    }
                }
                if self.schema.is_empty() {
                    self.schema = user;
                }
            }
            _ => {}
        }
        false
    }

    /// The answer comes all the same.
    fn take_cut(&mut self, message: &Message<'_>, found: &mut Found<'_>) {
        let asked = match message.kind {
            b'Q' => Asked::Query { inserts: false },
            b'P' => {
                self.prepared.remove(&b""[..]);
                Asked::Parse(Vec::new(), None)
            }
            b'B' => {
                self.portals.clear();
                Asked::Bind(Vec::new(), None)
            }
            _ => return,
        };
        let count =
            if message.is_cut { &mut found.skipped.cut_statements } else { &mut found.skipped.too_long_statements };
        *count += 1;
        self.await_answer(asked, None);
    }

    fn take_parse(&mut self, body: &[u8]) {
        let mut cursor = Cursor(body);
        let (Some(name), Some(text)) = (cursor.until_nul(), cursor.until_nul()) else { return };
        let count = cursor.array().map_or(0, u16::from_be_bytes);
        let types = (0..count).map_while(|_| cursor.array().map(u32::from_be_bytes)).collect();
        let (types, ids) = (RefCell::new(types), RefCell::new(None));
        let prepared = Prepared { text: text.to_vec(), types, is_named: !name.is_empty(), ids };
        if self.prepared.len() >= NAMES_MAX {
            self.prepared.clear();
        }
        self.kept_bytes += text.len() + NAME_COST_BYTES;
        let prepared = Rc::new(prepared);
        self.prepared.insert(name.to_vec(), Rc::clone(&prepared));
        self.await_answer(Asked::Parse(name.to_vec(), Some(prepared)), None);
    }

    fn take_bind(&mut self, body: &[u8], found: &mut Found<'_>) {
        let mut cursor = Cursor(body);
        let (Some(portal), Some(statement)) = (cursor.until_nul(), cursor.until_nul()) else { return };
        let bound = Bound::read(&mut cursor).map(Rc::new);
        self.portals.remove(portal);
        match (self.prepared.get(statement), &bound) {
            (Some(prepared), Some(bound)) => {
                self.kept_bytes += bound.held_bytes() + NAME_COST_BYTES;
                if self.portals.len() >= NAMES_MAX {
                    self.portals.clear();
                }
                let made = Portal { prepared: Rc::clone(prepared), bound: Rc::clone(bound), has_run: false };
                self.portals.insert(portal.to_vec(), made);
            }
            (None, _) => found.skipped.unprepared_executions += 1,
            (_, None) => found.skipped.unknown_values += 1,
        }
        self.await_answer(Asked::Bind(portal.to_vec(), bound), None);
    }

    fn take_execute(&mut self, at_us: i64, body: &[u8], found: &mut Found<'_>) {
        let name = Cursor(body).until_nul().unwrap_or_default();
        let Some(portal) = self.portals.get_mut(name).filter(|portal| !portal.has_run) else {
            self.await_answer(Asked::Execute(None), None);
            return;
        };
        portal.has_run = true;
        let (prepared, bound) = (Rc::clone(&portal.prepared), Rc::clone(&portal.bound));
        let ticket = found.begin(at_us, &self.schema, &prepared.text, Values::Unknown(UnknownValues::TypesNotSeen));
        ticket.filter(|_| prepared.is_named).into_iter().for_each(|ticket| found.order.set_stays_prepared(ticket));
        self.await_answer(Asked::Execute(Some((prepared, bound))), ticket);
    }

    fn take_close(&mut self, body: &[u8]) {
        let name = body.get(1..).and_then(|rest| Cursor(rest).until_nul()).unwrap_or_default();
        if body.first() == Some(&b'S') {
            self.prepared.remove(name);
        } else {
            self.portals.remove(name);
        }
        self.await_answer(Asked::Close, None);
    }

    fn await_answer(&mut self, asked: Asked, ticket: Option<Ticket>) {
        if let Asked::Parse(name, _) | Asked::Bind(name, _) = &asked {
            self.kept_bytes += name.len();
        }
        self.awaited.push_back(Awaited { asked, ticket });
    }

    /// Takes what the server sent.
    pub fn take_server(&mut self, arrived: &Arrived<'_>, found: &mut Found<'_>) -> Going {
        match *arrived {
            Arrived::Lost(count) => {
                self.server.lose(count);
                if self.server.is_lost {
                    found.skipped.cut_answers += u64::from(!self.awaited.is_empty());
                    self.has_asked_again = false;
                    self.end(found);
                }
            }
            Arrived::Bytes { at_us, bytes, is_segment_start } => {
                let mut bytes = bytes;
                if self.awaits_encryption
                    && let Some((first, rest)) = bytes.split_first()
                {
                    self.awaits_encryption = false;
                    match first {
                        b'S' | b'G' => self.going = Going::Encrypted,
                        b'N' => bytes = rest,
                        _ => {}
                    }
                }
                if self.going != Going::On {
                    return self.going;
                }
                if let Some(ticket) = self.awaited.front().and_then(|awaited| awaited.ticket) {
                    found.order.answered(ticket, at_us);
                }
                if self.server.is_lost && self.has_asked_again && is_segment_start && framing::are_answers(bytes) {
                    self.server.resume();
                }
                let mut server = std::mem::replace(&mut self.server, Messages::new(&[], 0, true));
                server.feed(bytes, &mut |message| {
                    self.take_answer(at_us, message, found);
                    false
                });
                self.server = server;
            }
        }
        self.going
    }

    fn take_answer(&mut self, at_us: i64, message: &Message<'_>, found: &mut Found<'_>) {
        match (message.kind, self.awaited.front().map(|awaited| &awaited.asked)) {
            (b'S', _) => take_setting(message.body, found),
            (b'1', Some(Asked::Parse(..))) | (b'2', Some(Asked::Bind(..))) | (b'3', Some(Asked::Close)) => {
                self.pop(at_us, None, found)
            }
            (b't', Some(Asked::DescribeStatement(Some(prepared)))) => take_types(message.body, prepared),
            (b'T' | b'n', Some(Asked::DescribeStatement(prepared))) => {
                prepared.iter().for_each(|prepared| drop(prepared.ids.replace(IdColumn::read(message.body))));
                self.pop(at_us, None, found);
            }
            (b'T' | b'n', Some(Asked::DescribePortal)) => {
                self.pop(at_us, None, found);
                self.id_column = IdColumn::read(message.body);
            }
            (b'T', Some(Asked::Query { .. })) => self.id_column = IdColumn::read(message.body),
            (b'D', Some(asked)) => {
                self.counts.sent += 1;
                if let Some(column) = id_column(asked, &mut self.id_column) {
                    self.ids.take(column, message.body);
                }
            }
            (b'C', Some(Asked::Query { .. })) => self.counts.affected += changed_in_tag(message.body),
            // Done, or nothing to do.
            (b'C' | b'I', Some(Asked::Execute(_))) => {
                self.counts.affected += changed_in_tag(message.body);
                self.pop(at_us, Some(message.body), found);
            }
            // Suspended until the portal is fetched again.
            (b's', Some(Asked::Execute(_))) => self.pop(at_us, None, found),
            (b'E', Some(_)) => self.take_error(at_us, found),
            (b'Z', _) => {
                self.take_ready(at_us, found);
                self.pipeline.take_ready(message.body, found);
            }
            _ => {}
        }
    }

    /// The first of the queue has its answer; with all of its rows if it ends with a tag.
    fn pop(&mut self, at_us: i64, tag: Option<&[u8]>, found: &mut Found<'_>) {
        let (counts, ids) = (std::mem::take(&mut self.counts), std::mem::take(&mut self.ids));
        let column = self.id_column.take();
        let Some(awaited) = self.awaited.pop_front() else { return };
        if let Some(ticket) = awaited.ticket {
            if tag.is_some() {
                found.order.set_counts(ticket, counts);
                let made = column.and_then(|column| ids.made(&column));
                made.into_iter().for_each(|made| found.order.set_made(ticket, made));
            }
            found.order.answered(ticket, at_us);
            read_values(&awaited.asked, ticket, found);
            match &awaited.asked {
                Asked::Execute(Some((prepared, _))) => {
                    self.pipeline.end(&prepared.text, tag.unwrap_or_default(), ticket, found);
                }
                _ => found.order.finish(ticket),
            }
        }
    }

    /// The first of the queue failed. What follows it up to a Sync does not run; a query goes on to its ReadyForQuery. An execution of what
    /// could not be parsed or bound is the statement that failed. What ran before it in its pipeline is undone.
    fn take_error(&mut self, at_us: i64, found: &mut Found<'_>) {
        (self.counts, self.ids) = (AnswerCounts::default(), AnswerIds::default());
        let has_undone = self.pipeline.fail(found);
        if let Some(Awaited { asked: Asked::Query { .. } | Asked::Sync, ticket }) = self.awaited.front() {
            ticket.iter().for_each(|ticket| found.order.fail(*ticket));
            return;
        }
        let Some(failed) = self.awaited.pop_front() else { return };
        match &failed.asked {
            Asked::Parse(name, Some(prepared))
                if self.prepared.get(name).is_some_and(|now| Rc::ptr_eq(now, prepared)) =>
            {
                self.prepared.remove(name);
            }
            Asked::Bind(portal, Some(bound))
                if self.portals.get(portal).is_some_and(|now| Rc::ptr_eq(&now.bound, bound)) =>
            {
                self.portals.remove(portal);
            }
            _ => {}
        }
        let mut next = Some(failed);
        let mut has_failed = false;
        while let Some(Awaited { asked, ticket }) = next {
            if let Some(ticket) = ticket {
                if has_failed {
                    found.skipped.not_run_statements += 1;
                    found.order.discard(ticket);
                } else if has_undone {
                    found.skipped.rolled_back_statements += 1;
                    found.order.discard(ticket);
                    has_failed = true;
                } else {
                    found.order.fail(ticket);
                    found.order.answered(ticket, at_us);
                    read_values(&asked, ticket, found);
                    found.order.finish(ticket);
                    has_failed = true;
                }
            }
            next = self.awaited.pop_front_if(|next| !matches!(next.asked, Asked::Sync));
        }
    }

    /// The answer to a query or a Sync is over, and with it all before.
    fn take_ready(&mut self, at_us: i64, found: &mut Found<'_>) {
        while let Some(awaited) = self.awaited.front() {
            let is_query = matches!(awaited.asked, Asked::Query { .. });
            let is_last = is_query || matches!(awaited.asked, Asked::Sync);
            self.pop(at_us, is_query.then_some(&[][..]), found);
            if is_last {
                break;
            }
        }
        // Now and then, because all names are looked at.
        if self.awaited.is_empty() && self.kept_bytes > 2 * self.cleaned_bytes + (64 << 10) {
            self.kept_bytes =
                self.prepared.values().map(|prepared| prepared.text.len() + NAME_COST_BYTES).sum::<usize>()
                    + self.portals.values().map(|portal| portal.bound.held_bytes() + NAME_COST_BYTES).sum::<usize>();
            self.cleaned_bytes = self.kept_bytes;
        }
    }

    /// The connection has ended, or it is not known what is answered.
    pub fn end(&mut self, found: &mut Found<'_>) {
        self.pipeline.take_ready(b"", found);
        (self.counts, self.ids) = (AnswerCounts::default(), AnswerIds::default());
        while let Some(awaited) = self.awaited.pop_front() {
            if let Some(ticket) = awaited.ticket {
                read_values(&awaited.asked, ticket, found);
                found.order.finish(ticket);
            }
        }
    }
}

/// Where the ids are in the rows of the answer to `asked`, which are described as `described`, or were when it was prepared.
fn id_column<'a>(asked: &Asked, described: &'a mut Option<IdColumn>) -> Option<&'a IdColumn> {
    match asked {
        Asked::Query { inserts: true } => described.as_ref(),
        Asked::Execute(Some((prepared, bound))) if returns_inserted(&prepared.text) => {
            if described.is_none() {
                let known = prepared.ids.borrow();
                *described = known.as_ref().map(|column| column.in_format(|index| bound.has_binary_column(index)));
            }
            described.as_ref()
        }
        _ => None,
    }
}

/// Reads the values of a statement that is over: their types are as known as they will be.
fn read_values(asked: &Asked, ticket: Ticket, found: &mut Found<'_>) {
    if let Asked::Execute(Some((prepared, bound))) = asked {
        let values = found.counted(bound.literals(&prepared.types.borrow()));
        found.order.set_values(ticket, values);
    }
}

/// The number at the end of `UPDATE 1` or `INSERT 0 1`; 0 if the statement changes no rows.
fn changed_in_tag(tag: &[u8]) -> u64 {
    let number =
        || std::str::from_utf8(tag.strip_suffix(b"\0")?.rsplit(|byte| *byte == b' ').next()?).ok()?.parse().ok();
    if matches!(tag.first(), Some(b'I' | b'U' | b'D' | b'M')) { number().unwrap_or(0) } else { 0 }
}

fn take_setting(body: &[u8], found: &mut Found<'_>) {
    let mut cursor = Cursor(body);
    if cursor.until_nul() == Some(b"server_version") {
        *found.server_version = cursor.until_nul().map(|version| String::from_utf8_lossy(version).into_owned());
    }
}

fn take_types(body: &[u8], prepared: &Prepared) {
    let mut cursor = Cursor(body);
    let count = cursor.array().map_or(0, u16::from_be_bytes);
    *prepared.types.borrow_mut() = (0..count).map_while(|_| cursor.array().map(u32::from_be_bytes)).collect();
}
