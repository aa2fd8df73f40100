//! The connections of a capture: which segment is of which, and what each speaks.
//!
//! A connection begins with its first segment and is forgotten when it ends, when another begins with the same addresses, or when more than
//! [`CONNECTIONS_MAX`] are open and it was silent for longest. As long as its protocol is not known, nothing of it is kept.

use crate::connection::{Found, Going};
use crate::mysql::MysqlSession;
use crate::order::Order;
use crate::packets::{Packet, Segment};
use crate::postgres::PostgresSession;
use crate::recognize::{Recognized, recognize};
use crate::statement::{CaptureEvent, CaptureSummary, Dialect, Session};
use crate::stream::{Arrived, Stream};
use rustc_hash::{FxHashMap, FxHashSet};
use std::net::SocketAddr;
use std::ops::ControlFlow;

/// The most connections at a time.
pub const CONNECTIONS_MAX: usize = 65_536;
/// The most bytes that all of them keep: segments that wait for earlier ones, incomplete messages, prepared statements.
pub const HELD_BYTES_MAX: usize = 512 << 20;
/// More servers than a capture has. Of the rest encrypted connections are not known.
const SERVERS_MAX: usize = 4096;
const USUAL_PORTS: [u16; 2] = [3306, 5432];

enum Speaks {
    /// It is not known yet.
    Unknown,
    Mysql(Box<MysqlSession>),
    Postgres(Box<PostgresSession>),
    /// Nothing that can be read.
    Nothing,
}

struct Connection {
    number: u64,
    began_us: i64,
    last_us: i64,
    /// The two ends, the lesser address first.
    ends: [SocketAddr; 2],
    streams: [Stream; 2],
    /// Whether bytes of each end were seen.
    has_sent: [bool; 2],
    has_finished: [bool; 2],
    /// The sequence number of its SYN, to tell one that is sent again from that of another connection.
    syn: Option<u32>,
    /// The client's index, if it is known.
    client: Option<usize>,
    speaks: Speaks,
    held_bytes: usize,
}

/// All connections, and what was found on them.
#[derive(Default)]
pub struct Connections {
    open: FxHashMap<[SocketAddr; 2], Box<Connection>>,
    servers: FxHashSet<SocketAddr>,
    order: Order,
    summary: CaptureSummary,
    next_number: u64,
    held_bytes: usize,
}

impl Connections {
    /// Takes the next packet.
    pub fn take(&mut self, packet: Packet<'_>) {
        self.summary.packets += 1;
        match packet {
            Packet::Tcp(segment) => self.take_segment(&segment),
            Packet::Fragment => self.summary.skipped.fragments += 1,
            Packet::Other => self.summary.skipped.other_packets += 1,
        }
    }

    fn take_segment(&mut self, segment: &Segment<'_>) {
        let is_first_end = segment.source <= segment.destination;
        let from = usize::from(!is_first_end);
        let ends =
            if is_first_end { [segment.source, segment.destination] } else { [segment.destination, segment.source] };
        let is_opening = segment.is_syn && segment.acknowledged.is_none();
        if is_opening && self.open.get(&ends).is_some_and(|open| open.syn != Some(segment.seq)) {
            self.end(ends);
        }
        if !self.open.contains_key(&ends) {
            // The last acknowledgement of a connection that has ended is no new one.
            if segment.bytes.is_empty() && !segment.is_syn {
                return;
            }
            self.add(ends, segment);
        }
        let Some(mut connection) = self.open.remove(&ends) else { return };
        connection.last_us = segment.at_us;
        if is_opening {
            connection.syn = Some(segment.seq);
            connection.client = Some(from);
        }
        let held_before = connection.held_bytes;
        self.read_segment(&mut connection, from, segment);
        self.held_bytes = self.held_bytes - held_before + connection.held_bytes;
        let is_over = segment.is_reset || connection.has_finished == [true; 2];
        self.open.insert(ends, connection);
        if is_over {
            self.end(ends);
        }
        while self.held_bytes > HELD_BYTES_MAX {
            self.shed_largest();
        }
    }

    fn add(&mut self, ends: [SocketAddr; 2], segment: &Segment<'_>) {
        if self.open.len() >= CONNECTIONS_MAX {
            let mut by_time: Vec<_> = self.open.values().map(|open| (open.last_us, open.ends)).collect();
            by_time.sort_unstable();
            // Some at once, so that the next does not sort again.
            by_time.truncate(CONNECTIONS_MAX / 16);
            self.summary.skipped.forgotten_connections += by_time.len() as u64;
            by_time.into_iter().for_each(|(_, ends)| self.end(ends));
        }
        self.next_number += 1;
        let connection = Connection {
            number: self.next_number,
            began_us: segment.at_us,
            last_us: segment.at_us,
            ends,
            streams: Default::default(),
            has_sent: [false; 2],
            has_finished: [false; 2],
            syn: None,
            client: None,
            speaks: Speaks::Unknown,
            held_bytes: 0,
        };
        self.open.insert(ends, Box::new(connection));
    }

    fn read_segment(&mut self, connection: &mut Connection, from: usize, segment: &Segment<'_>) {
        if matches!(connection.speaks, Speaks::Unknown) {
            self.recognize(connection, from, segment);
        }
        connection.has_sent[from] |= !segment.bytes.is_empty();
        connection.has_finished[from] |= segment.is_fin;
        if matches!(connection.speaks, Speaks::Unknown | Speaks::Nothing) {
            return;
        }
        let to = 1 - from;
        let mut streams = std::mem::take(&mut connection.streams);
        let mut take = |from, arrived: Arrived<'_>| self.take_arrived(connection, from, &arrived);
        if let Some(acknowledged) = segment.acknowledged {
            streams[to].acknowledge(acknowledged, &mut |arrived| take(to, arrived));
        }
        // A SYN takes the sequence number before the first byte.
        let seq = segment.seq.wrapping_add(u32::from(segment.is_syn));
        streams[from].push((segment.at_us, seq), segment.bytes, segment.cut, &mut |arrived| take(from, arrived));
        if segment.is_fin {
            let captured = u32::try_from(segment.bytes.len()).unwrap_or(0);
            streams[from].finish_at(seq.wrapping_add(captured).wrapping_add(segment.cut));
        }
        connection.streams = streams;
        connection.held_bytes = connection.streams.iter().map(Stream::held_bytes).sum::<usize>()
            + match &connection.speaks {
                Speaks::Mysql(session) => session.held_bytes(),
                Speaks::Postgres(session) => session.held_bytes(),
                Speaks::Unknown | Speaks::Nothing => 0,
            };
    }

    fn recognize(&mut self, connection: &mut Connection, from: usize, segment: &Segment<'_>) {
        let may_be_first = connection.syn.is_some() && !connection.has_sent[from];
        let recognized = recognize(segment.bytes, may_be_first);
        let (dialect, client, from_start) = match recognized {
            Some(Recognized::Start { dialect, is_from_client }) => {
                (dialect, if is_from_client { from } else { 1 - from }, true)
            }
            // A server does not send requests.
            Some(Recognized::Request(_)) if connection.client.is_some_and(|client| client != from) => return,
            Some(Recognized::Request(dialect)) => (dialect, from, false),
            Some(Recognized::Tls) if connection.ends.iter().any(|end| self.is_server(end)) => {
                connection.speaks = Speaks::Nothing;
                self.summary.skipped.encrypted_connections += 1;
                return;
            }
            _ => return,
        };
        connection.client = Some(client);
        if self.servers.len() < SERVERS_MAX {
            self.servers.insert(connection.ends[1 - client]);
        }
        connection.streams[from].start(segment.seq);
        if let Some(acknowledged) = segment.acknowledged {
            connection.streams[1 - from].start(acknowledged);
        }
        connection.speaks = match dialect {
            Dialect::Mysql => Speaks::Mysql(Box::new(MysqlSession::new(from_start))),
            Dialect::Postgres => Speaks::Postgres(Box::new(PostgresSession::new(from_start))),
        };
    }

    fn is_server(&self, end: &SocketAddr) -> bool {
        USUAL_PORTS.contains(&end.port()) || self.servers.contains(end)
    }

    fn take_arrived(&mut self, connection: &mut Connection, from: usize, arrived: &Arrived<'_>) {
        if let Arrived::Lost(count) = arrived {
            self.summary.skipped.gaps += 1;
            self.summary.skipped.lost_bytes += count;
        }
        let is_client = connection.client == Some(from);
        let going = self.with_found(connection, |speaks, found| match speaks {
            Speaks::Mysql(session) if is_client => session.take_client(arrived, found),
            Speaks::Mysql(session) => {
                session.take_server(arrived, found);
                Going::On
            }
            Speaks::Postgres(session) if is_client => session.take_client(arrived, found),
            Speaks::Postgres(session) => session.take_server(arrived, found),
            Speaks::Unknown | Speaks::Nothing => Going::On,
        });
        match going {
            Going::On => return,
            Going::Encrypted => self.summary.skipped.encrypted_connections += 1,
            Going::Compressed => self.summary.skipped.compressed_connections += 1,
        }
        connection.speaks = Speaks::Nothing;
    }

    fn with_found<T>(&mut self, connection: &mut Connection, f: impl FnOnce(&mut Speaks, &mut Found<'_>) -> T) -> T {
        let client = connection.client.unwrap_or(0);
        let Connection { number, began_us, ends, .. } = *connection;
        let session = Session { number, client: ends[client], server: ends[1 - client], began_us };
        let mut server_version = None;
        let mut found = Found {
            order: &mut self.order,
            skipped: &mut self.summary.skipped,
            session,
            dialect: if matches!(connection.speaks, Speaks::Postgres(_)) { Dialect::Postgres } else { Dialect::Mysql },
            server_version: &mut server_version,
        };
        let result = f(&mut connection.speaks, &mut found);
        if let Some(version) = server_version {
            self.summary.server = Some((version, session.server));
        }
        result
    }

    /// Forgets what the connection that keeps most keeps. It goes on as after a gap, without its prepared statements.
    fn shed_largest(&mut self) {
        let largest = self.open.values().max_by_key(|open| open.held_bytes).map(|open| open.ends);
        let Some(mut connection) = largest.and_then(|ends| self.open.remove(&ends)) else { return };
        self.finish_session(&mut connection);
        self.summary.skipped.cut_statements += 1;
        connection.streams = Default::default();
        connection.speaks = Speaks::Unknown;
        self.held_bytes -= connection.held_bytes;
        connection.held_bytes = 0;
        self.open.insert(connection.ends, connection);
    }

    fn end(&mut self, ends: [SocketAddr; 2]) {
        let Some(mut connection) = self.open.remove(&ends) else { return };
        self.held_bytes -= connection.held_bytes;
        let mut streams = std::mem::take(&mut connection.streams);
        for (from, stream) in streams.iter_mut().enumerate() {
            stream.close(&mut |arrived| self.take_arrived(&mut connection, from, &arrived));
        }
        match connection.speaks {
            Speaks::Unknown if connection.has_sent == [false; 2] => {}
            Speaks::Unknown => self.summary.skipped.other_connections += 1,
            Speaks::Nothing => {}
            Speaks::Mysql(_) | Speaks::Postgres(_) => {
                let is_mysql = matches!(connection.speaks, Speaks::Mysql(_));
                self.summary.mysql_sessions += u64::from(is_mysql);
                self.summary.postgres_sessions += u64::from(!is_mysql);
                let is_answered = connection.client.is_none_or(|client| connection.has_sent[1 - client]);
                self.summary.skipped.unanswered_connections += u64::from(!is_answered);
                self.finish_session(&mut connection);
                let at_us = connection.last_us;
                self.with_found(&mut connection, |_, found| found.order.end_session(found.session, at_us));
            }
        }
    }

    fn finish_session(&mut self, connection: &mut Connection) {
        self.with_found(connection, |speaks, found| match speaks {
            Speaks::Mysql(session) => session.end(found),
            Speaks::Postgres(session) => session.end(found),
            Speaks::Unknown | Speaks::Nothing => {}
        });
    }

    /// The capture has ended, and with it all connections.
    pub fn end_all(&mut self) {
        let mut open: Vec<_> = self.open.values().map(|open| (open.last_us, open.number, open.ends)).collect();
        open.sort_unstable();
        open.into_iter().for_each(|(_, _, ends)| self.end(ends));
    }

    /// Gives out what is done.
    pub fn flush(&mut self, on_event: &mut impl FnMut(CaptureEvent) -> ControlFlow<()>) -> ControlFlow<()> {
        self.order.flush(on_event)
    }

    /// What there was besides statements.
    pub fn into_summary(self, is_cut: bool) -> CaptureSummary {
        CaptureSummary { statements: self.order.given, is_cut, ..self.summary }
    }
}
