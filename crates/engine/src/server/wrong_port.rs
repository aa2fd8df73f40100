//! What answers at the port of a URL if it is no server of the kind that the URL names.
//!
//! In: the first bytes of an answer, or that there were none. Out: an error of one line that says who speaks there, and what to use. Limits: it knows
//! servers that name themselves by their first bytes; nothing of what they sent is repeated.

use super::answers::{explained_error, explanation};
use host::deadline::has_cut_a_wait;
use std::io::{self, ErrorKind};

/// So many bytes show who speaks.
pub const TELLING: usize = 4;
/// So many show whether it is a MySQL server.
pub const TELLING_OF_MYSQL: usize = 7;

/// How other servers begin.
const BEGINNINGS: [(&[u8], &str); 8] = [
    (b"HTTP", "a web server"),
    (b"<htm", "a web server"),
    (b"<HTM", "a web server"),
    (b"<!DO", "a web server"),
    (b"SSH-", "an SSH server"),
    (b"-ERR", "a Redis server"),
    (b"-DEN", "a Redis server"),
    (b"-NOA", "a Redis server"),
];

/// An error if `first` is how a server begins that speaks neither MySQL's protocol nor PostgreSQL's.
pub fn refuse_others(first: &[u8]) -> io::Result<()> {
    match BEGINNINGS.iter().find(|(begin, _)| first.starts_with(begin)) {
        Some((_, who)) => Err(wrong_port(format!("{who} answers there, and no database; correct the port in the URL"))),
        None => Ok(()),
    }
}

/// Whether `first` may be the head of a MySQL server's first packet, so that more bytes will come: its length below 64 KiB, its number, which is 0,
/// and the version of the protocol, or the mark of an error.
pub fn may_be_mysql(first: &[u8]) -> bool {
    matches!(first, [_, _, 0, 0, MYSQL_PROTOCOL | MYSQL_ERROR, ..])
}

const MYSQL_PROTOCOL: u8 = 10;
const MYSQL_ERROR: u8 = 0xff;

/// An error if `first` is the first packet of a MySQL server: a greeting has its version as text, an error its number, from 1024 on. A message of
/// PostgreSQL with the same head has a zero or a letter there.
pub fn refuse_mysql(first: &[u8]) -> io::Result<()> {
    let is_mysql = match first {
        [_, _, 0, 0, MYSQL_PROTOCOL, version, ..] => version.is_ascii_digit(),
        [_, _, 0, 0, MYSQL_ERROR, _, 4, ..] => true,
        _ => false,
    };
    if is_mysql {
        return Err(wrong_port("the server speaks the MySQL protocol; use mysql:// in the URL".to_owned()));
    }
    Ok(())
}

/// `error`, with a question if nothing came before a wait was over: a server of PostgreSQL says nothing before it is asked.
pub fn explain_silence(error: io::Error, question: &str) -> io::Error {
    let is_late = error.kind() == ErrorKind::TimedOut && !has_cut_a_wait();
    match explanation(&error).filter(|_| is_late).map(|text| format!("{text}; {question}")) {
        Some(text) => explained_error(ErrorKind::TimedOut, text),
        None => error,
    }
}

#[cold]
fn wrong_port(text: String) -> io::Error {
    explained_error(ErrorKind::InvalidData, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_are_known_by_how_they_begin() {
        let refused = |first: &[u8]| {
            let error = refuse_others(first).and_then(|()| refuse_mysql(first)).err()?;
            explanation(&error).map(str::to_owned)
        };
        for (first, who) in [
            (&b"HTTP/1.1 400 Bad Request"[..], "a web server answers there"),
            (b"SSH-2.0-OpenSSH_9.6\r\n", "an SSH server answers there"),
            (b"-ERR unknown command", "a Redis server answers there"),
            (b"\x6e\0\0\0\x0a5.5.5-10.11", "the server speaks the MySQL protocol; use mysql://"),
            (b"\x59\x01\0\0\x0a8.4.0\0", "the server speaks the MySQL protocol"),
            (b"\x46\0\0\0\xff\x6a\x04Host", "the server speaks the MySQL protocol"),
        ] {
            let text = refused(first).unwrap_or_default();
            assert!(text.starts_with(who) && !text.contains(char::is_control), "{text}");
        }
        // Messages of PostgreSQL that are as long as these heads say.
        for first in
            [&b"R\0\0\0\x0a\0\0"[..], b"E\0\0\0\x0aSF\0\0\0\0", b"E\0\0\0\xffSFATAL\0", b"R\0\0\0\xff\0\0\0\x0a", b""]
        {
            assert_eq!(refused(first), None, "{first:?}");
        }
    }
}
