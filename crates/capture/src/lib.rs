//! SQL statements from a packet capture: who sent what, and when.
//!
//! In: what `tcpdump -s0 -w load.pcap port 3306` wrote, as pcap or pcapng, of MySQL, MariaDB or PostgreSQL; the server needs no setting for it.
//! Out: [`CaptureEvent`]s in the order in which statements ended, with their values as literals, and a [`CaptureSummary`] that counts what
//! was skipped, and why. The statements of a session have their order; one of which no end was captured comes as late as it may have ended.
//!
//! What a capture holds: everything that was on the wire. All statements with their values are in it, all rows that were read, and what
//! clients authenticated with. Treat the file as you treat a copy of the data. Of the rows of an answer this crate keeps only the ids that
//! an INSERT of PostgreSQL returned, and it keeps no password and no other part of an authentication; from a handshake it takes the schema,
//! and the user's name where PostgreSQL has it for the schema.
//!
//! Limits: connections must be neither encrypted nor compressed. Memory is bounded, whatever the file holds: [`STATEMENT_BYTES_MAX`] for a
//! statement, [`HELD_BYTES_MAX`] for all connections, and as much as [`WAITING_BYTES_MAX`] for statements whose answers have not ended.
//! Texts that are not UTF-8 are counted and left out; of MySQL and MariaDB only if they are so elsewhere than in a literal. The parts of a fragmented IP packet are not put together.

mod connection;
mod connections;
mod literal;
mod mysql;
mod order;
mod packets;
mod postgres;
mod recognize;
mod statement;
mod stream;

pub use connections::{CONNECTIONS_MAX, HELD_BYTES_MAX};
pub use order::{WAITING_BYTES_MAX, WAITING_MAX};
pub use packets::{CaptureError, is_capture};
pub use statement::{
    AnswerCounts, CaptureEvent, CaptureSummary, CapturedStatement, Dialect, MadeIds, STATEMENT_BYTES_MAX, Session,
    Skipped, UnknownValues, Values,
};
pub use stream::PENDING_BYTES_MAX;

use connections::Connections;
use packets::PacketReader;
use std::io::Read;
use std::ops::ControlFlow;

/// Reads a capture to its end, and gives each statement and each end of a session to `on_event`, which may break off.
///
/// # Errors
/// If the file is no capture, has packets of a kind of link that is not known, cannot be read, or is damaged. A file that ends within a
/// packet is no error: `tcpdump` leaves one if it is killed.
pub fn read_capture(
    reader: impl Read + Send,
    mut on_event: impl FnMut(CaptureEvent) -> ControlFlow<()>,
) -> Result<CaptureSummary, CaptureError> {
    let mut packets = PacketReader::new(reader)?;
    let mut connections = Connections::default();
    let mut flow = ControlFlow::Continue(());
    let is_whole = packets.read_all(&mut |packet| {
        connections.take(packet);
        flow = connections.flush(&mut on_event);
        flow
    })?;
    if flow.is_continue() {
        connections.end_all();
        let _ = connections.flush(&mut on_event);
    }
    Ok(connections.into_summary(!is_whole))
}
