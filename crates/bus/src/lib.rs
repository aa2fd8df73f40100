//! The bus between the hosts of one run: leases, streams and a clock, on a server that speaks the protocol of Redis (from 5.0).
//!
//! In: the address of the server, its password, the key of the run, and payloads as bytes. Out: payloads that a host with the same key
//! has sent, each once and in its order; who holds a lease; the time of the server with its bound.
//!
//! A payload is at most [`PAYLOAD_BYTES_MAX`] long and carries an authenticator over the key of its stream, its number and its bytes
//! ([`RunSecret`]): what a stranger writes, or moves to another place, is refused. An entry of a stream has the number that its sender gave it, so it is
//! there once and never out of order, and a gap is seen.
//!
//! Limits: it knows nothing of benchmarks. Payloads are not encrypted by it; TLS does that (`rediss://`). An answer that is longer than it may be ends
//! the connection, so a hostile server costs the run, and no memory of the host.

mod address;
mod clock;
mod connection;
mod error;
mod keys;
mod lease;
mod link;
mod outbox;
mod secret;
mod sender;
mod socket;

pub use address::BusAddress;
pub use clock::ClockOffset;
pub use connection::{Appended, BusConnection, LeaseState, StreamEntry, StreamPosition};
pub use error::BusError;
pub use keys::{BusKeys, check_name};
pub use lease::Lease;
pub use link::{BusConnector, BusLink};
pub use outbox::Outbox;
pub use secret::{RunSecret, random_id};
pub use sender::OutboxSender;

/// The longest payload of an entry, in bytes.
pub const PAYLOAD_BYTES_MAX: usize = 16 << 20;
