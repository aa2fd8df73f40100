//! A server of a product and a version that plimsoll does not know, without some of its counters and settings.

use crate::database::{MariaDb, PASSWORD, has_mariadb};
use crate::lab::{Finished, Lab};
use crate::liar::listen;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

/// Words, and what takes their places. They keep their lengths, as the packets do.
type Words = &'static [(&'static [u8], &'static [u8])];

/// What the server is asked for, and does not have.
const UNKNOWN: Words = &[
    (b"innodb_metrics", b"innodb_metricz"),
    (b"Innodb_buffer_pool_pages_dirty", b"Innodb_buffer_pool_pages_dirtz"),
    (b"innodb_flush_log_at_trx_commit", b"innodb_flush_log_at_trx_commiz"),
    (b"innodb_doublewrite", b"innodb_doublewritz"),
];
/// What it calls itself.
const PRODUCT: Words = &[(b"MariaDB", b"FutureX")];

/// A proxy to `port`, behind which the server is another.
fn proxy_to(port: u16) -> u16 {
    listen(move |client| {
        let server = TcpStream::connect(("127.0.0.1", port))?;
        let (from, to) = (server.try_clone()?, client.try_clone()?);
        std::thread::spawn(move || pass_on(from, to, PRODUCT)); // ends with the connection
        pass_on(client.try_clone()?, server, UNKNOWN)
    })
}

fn pass_on(mut from: TcpStream, mut to: TcpStream, words: Words) -> io::Result<()> {
    let (mut buffer, mut held) = ([0; 64 << 10], Vec::new());
    from.set_read_timeout(Some(Duration::from_millis(5)))?;
    loop {
        match from.read(&mut buffer) {
            Ok(0) => {
                to.write_all(&held)?;
                return to.shutdown(Shutdown::Write);
            }
            Ok(count) => held.extend_from_slice(&buffer[..count]),
            // Nothing follows: it was no beginning of a word.
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                to.write_all(&held)?;
                held.clear();
                continue;
            }
            Err(error) => return Err(error),
        }
        words.iter().for_each(|(word, other)| replace(&mut held, word, other));
        let ready = held.len() - begun(&held, words);
        to.write_all(&held[..ready])?;
        held.drain(..ready);
    }
}

fn replace(bytes: &mut [u8], word: &[u8], other: &[u8]) {
    assert_eq!(word.len(), other.len());
    let mut at = 0;
    while let Some(found) = bytes[at..].windows(word.len()).position(|part| part == word) {
        at += found;
        bytes[at..at + other.len()].copy_from_slice(other);
    }
}

/// How many bytes at the end of `bytes` may be the beginning of a word.
fn begun(bytes: &[u8], words: Words) -> usize {
    let longest = words.iter().map(|(word, _)| word.len() - 1).max().unwrap_or(0).min(bytes.len());
    let begins = |length: usize| words.iter().any(|(word, _)| word.starts_with(&bytes[bytes.len() - length..]));
    (1..=longest).rev().find(|length| begins(*length)).unwrap_or(0)
}

/// The point is measured, and what is missing is named.
pub fn unknown_version(lab: &Lab) -> Option<Finished> {
    if !has_mariadb() {
        return None;
    }
    let server = MariaDb::start(&[]);
    let url = format!("mysql://visitor@127.0.0.1:{}/", proxy_to(server.port()));
    let load = ["oltp", "--engine", &url, "--mix", "read_write", "--table-rows", "100", "--clients", "2"];
    let times = ["--time", "1s", "--interval", "50ms", "--no-report", "--quiet", "--json"];
    let mut command = lab.command(&[&load[..], &times].concat());
    let finished: Finished = command.env("PLIMSOLL_PASSWORD", PASSWORD).output().unwrap().into();
    assert_eq!(finished.exit, 0, "{}", finished.stderr);
    let run = finished.json();
    let point = &run["points"][0];
    assert!(point["ops"].as_u64().unwrap() > 0 && point["failed"] == 0, "{point}");
    assert!(point["engine_version"].as_str().unwrap().contains("FutureX"), "{point}");
    let counted = ["pages_dirty", "os_log_written"].map(|counter| readings(lab, counter));
    assert!(counted[0] == 0 && counted[1] > 3, "one is missing, and the others are there: {counted:?}");
    assert_eq!(server.schemas_left(), "");
    Some(finished)
}

/// How often `counter` of InnoDB was read.
fn readings(lab: &Lab, counter: &str) -> i64 {
    let db = rusqlite::Connection::open(&lab.run_files()[0]).unwrap();
    let sql = "SELECT count(value) FROM counter_long WHERE source = 'innodb' AND name = ?1";
    db.query_row(sql, [counter], |row| row.get(0)).unwrap()
}
