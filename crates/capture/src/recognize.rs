//! Which protocol a connection speaks, and who is its client.
//!
//! From its beginning the first message says it: MySQL's server speaks first, PostgreSQL's client. In the middle of a connection the shape of
//! a client's message does: complete commands that fill a segment. Ports are a hint for encrypted connections only, whose bytes say nothing.

use crate::statement::Dialect;
use crate::{mysql, postgres};

/// What a segment shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recognized {
    /// The first message of a session, sent by the client (or not).
    Start { dialect: Dialect, is_from_client: bool },
    /// A request in the middle of a session.
    Request(Dialect),
    /// A record of TLS.
    Tls,
}

/// What the bytes of a segment show. `may_be_first` if no byte of its sender was captured before.
pub fn recognize(bytes: &[u8], may_be_first: bool) -> Option<Recognized> {
    if may_be_first && mysql::handshake::is_greeting(bytes) {
        return Some(Recognized::Start { dialect: Dialect::Mysql, is_from_client: false });
    }
    if may_be_first && postgres::is_start(bytes) {
        return Some(Recognized::Start { dialect: Dialect::Postgres, is_from_client: true });
    }
    if is_tls(bytes) {
        return Some(Recognized::Tls);
    }
    if postgres::are_requests(bytes) {
        return Some(Recognized::Request(Dialect::Postgres));
    }
    (!bytes.is_empty() && mysql::are_commands(bytes)).then_some(Recognized::Request(Dialect::Mysql))
}

/// A record of TLS: its kind, version 3.x, a length of at most 16 KiB and some. Source: RFC 8446, 5.1.
fn is_tls(bytes: &[u8]) -> bool {
    let Some([0x14..=0x17, 3, 0..=4, high, low]) = bytes.first_chunk::<5>().copied() else { return false };
    let length = usize::from(high) << 8 | usize::from(low);
    (1..=16_384 + 256).contains(&length) && bytes.len() > 5
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_of_both_protocols_are_told_apart() {
        let middle = |bytes: &[u8]| recognize(bytes, false);
        assert_eq!(middle(b"\x09\0\0\0\x03SELECT 1"), Some(Recognized::Request(Dialect::Mysql)));
        assert_eq!(middle(b"Q\0\0\0\x0dSELECT 1\0"), Some(Recognized::Request(Dialect::Postgres)));
        assert_eq!(middle(b"\x17\x03\x03\0\x01x"), Some(Recognized::Tls));
        // Answers, and HTTP.
        assert_eq!(middle(b"\x07\0\0\x01\0\0\0\x02\0\0\0"), None);
        assert_eq!(middle(b"Z\0\0\0\x05I"), None);
        assert_eq!(middle(b"GET / HTTP/1.1\r\n\r\n"), None);
        let start = b"\0\0\0\x10\0\x03\0\0user\0a\0\0";
        let expected = Recognized::Start { dialect: Dialect::Postgres, is_from_client: true };
        assert_eq!(recognize(start, true), Some(expected));
    }
}
