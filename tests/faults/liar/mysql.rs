//! Lying servers that speak MySQL's protocol.
//!
//! In: a connection, a stage and a lie. Out: the answers of a server on which everything works, up to the lie. Limits: statements are prepared
//! without arguments, and rows have one column.

use super::{LATE, Lab, Liar, Lie, Stage, flood, measure_all, send, text_of, trickle};
use crate::lab::Finished;
use std::io::{self, Read, Write};
use std::net::TcpStream;

const GREETING: &[u8] = b"\x0a8.4.0\0\x01\0\0\0abcdefgh\0\x00\x82\x2d\x02\0\x08\0\x15\0\0\0\0\0\0\0\0\0\0ijklmnopqrst\0mysql_native_password\0";
const OK: &[u8] = &[0, 0, 0, 2, 0, 0, 0];
const END: &[u8] = &[0xfe, 0, 0, 2, 0];
const QUERY: u8 = 3;
const PREPARE: u8 = 22;
const EXECUTE: u8 = 23;
/// A packet of 2 GiB would be in 128 parts of this length.
const LONGEST: [u8; 4] = [0xff, 0xff, 0xff, 1];

/// Measures them all.
pub fn measure_each(lab: &Lab, liars: &[Liar]) -> Option<Finished> {
    Some(measure_all(lab, "mysql", serve, liars))
}

/// Behaves, up to `lie` at its stage.
pub fn serve(stream: &mut TcpStream, at: Stage, lie: Lie) -> io::Result<()> {
    if at == Stage::Greeting {
        return lie(stream);
    }
    put(stream, 0, GREETING)?;
    receive(stream)?;
    if at == Stage::Login {
        return lie(stream);
    }
    put(stream, 2, OK)?;
    let mut prepared = String::new();
    loop {
        let command = receive(stream)?;
        let text = text_of(&command[1..]);
        let due = stage_of(command[0], &text, &prepared);
        if due == Some(at) || at == Stage::Control {
            return lie(stream);
        }
        match command[0] {
            PREPARE => {
                prepared = text;
                put(stream, 1, &[0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0])?;
            }
            QUERY if text.starts_with("SELECT") => row(stream, value_of(&text))?,
            QUERY if text.starts_with("SHOW") => nothing(stream)?,
            QUERY if text.starts_with(LOAD) => put(stream, 1, &[0, inserted(&text), 0, 2, 0, 0, 0])?,
            QUERY | EXECUTE => put(stream, 1, OK)?,
            _ => return Ok(()),
        }
    }
}

/// How rows come to a server that says of itself that it takes no LOAD DATA.
const LOAD: &str = "INSERT INTO `sbtest";

/// How many rows an INSERT has: a few.
fn inserted(text: &str) -> u8 {
    1 + text.matches("),(").count() as u8
}

/// The stage that a command is of.
fn stage_of(command: u8, text: &str, prepared: &str) -> Option<Stage> {
    match command {
        PREPARE if text.starts_with("SELECT") => Some(Stage::Prepare),
        EXECUTE if prepared.starts_with("SELECT") => Some(Stage::Run),
        QUERY if text.starts_with(LOAD) => Some(Stage::Load),
        QUERY if text.starts_with("CREATE DATABASE") => Some(Stage::Schema),
        QUERY if text.starts_with("CREATE TABLE") && !text.contains("plimsoll_marker") => Some(Stage::Table),
        QUERY if text.starts_with("SELECT count(*) FROM `sbtest") => Some(Stage::Count),
        QUERY if text.starts_with("DROP") => Some(Stage::CleanUp),
        _ => None,
    }
}

/// What a server without other clients answers.
fn value_of(question: &str) -> &'static [u8] {
    let is_yes = question.contains("GET_LOCK") || question.contains("plimsoll_marker WHERE");
    if is_yes { b"\x011" } else { b"\x010" }
}

fn put(stream: &mut TcpStream, sequence: u8, body: &[u8]) -> io::Result<()> {
    stream.write_all(&packet(sequence, body))
}

fn packet(sequence: u8, body: &[u8]) -> Vec<u8> {
    [&(body.len() as u32).to_le_bytes()[..3], &[sequence], body].concat()
}

fn receive(stream: &mut TcpStream) -> io::Result<Vec<u8>> {
    let mut header = [0; 4];
    stream.read_exact(&mut header)?;
    let mut body = vec![0; u32::from_le_bytes([header[0], header[1], header[2], 0]) as usize];
    stream.read_exact(&mut body)?;
    if body.is_empty() { Err(io::ErrorKind::InvalidData.into()) } else { Ok(body) }
}

/// A row of one column, whose value is `value` with its length.
fn row(stream: &mut TcpStream, value: &[u8]) -> io::Result<()> {
    let all = [&[1][..], b"a column", END, value, END];
    all.into_iter().zip(1..).try_for_each(|(body, nth)| put(stream, nth, body))
}

fn nothing(stream: &mut TcpStream) -> io::Result<()> {
    [&[1][..], b"a column", END, END].into_iter().zip(1..).try_for_each(|(body, nth)| put(stream, nth, body))
}

/// Answers by a row of `value`, and goes on so for each query.
fn always(stream: &mut TcpStream, value: &[u8]) -> io::Result<()> {
    loop {
        row(stream, value)?;
        receive(stream)?;
    }
}

/// The same row without end, in packets that are numbered as they should be.
fn endless_rows(stream: &mut TcpStream) -> io::Result<()> {
    [&[1][..], b"a", END].into_iter().zip(1..).try_for_each(|(body, nth)| put(stream, nth, body))?;
    numbered(stream, 4, b"\x01x")
}

/// Packets of `body` without end, the first of which has the number `from`.
fn numbered(stream: &mut TcpStream, from: u8, body: &[u8]) -> io::Result<()> {
    let mut next = from;
    loop {
        let many: Vec<u8> = (0..4096).flat_map(|nth: u32| packet(next.wrapping_add(nth as u8), body)).collect();
        stream.write_all(&many)?;
        next = next.wrapping_add(4096u32 as u8);
    }
}

/// An error of the server with this text. What follows it works.
fn error(stream: &mut TcpStream, sequence: u8, text: &[u8]) -> io::Result<()> {
    put(stream, sequence, &[b"\xff\x28\x04#42000", text].concat())?;
    loop {
        receive(stream)?;
        put(stream, 1, OK)?;
    }
}

const BROKEN: &str = "the server breaks the MySQL protocol";

/// Packets that are malformed, too long, or numbered wrongly.
pub const MALFORMED: &[Liar] = &[
    Liar {
        at: Stage::Greeting,
        what: "a greeting cut short",
        lie: |s| send(s, &packet(0, &GREETING[..20])),
        message: BROKEN,
    },
    Liar { at: Stage::Greeting, what: "a greeting of 16 MiB", lie: |s| send(s, &LONGEST), message: "above 64 KiB" },
    Liar {
        at: Stage::Greeting,
        what: "a greeting of version 9",
        lie: |s| send(s, &packet(0, b"\x095.0\0")),
        message: "version 9",
    },
    Liar {
        at: Stage::Greeting,
        what: "a web server",
        lie: |s| send(s, b"HTTP/1.1 400 Bad Request\r\n\r\n"),
        message: "a web server answers there, and no database",
    },
    Liar { at: Stage::Login, what: "an empty packet", lie: |s| send(s, &[0, 0, 0, 2]), message: "an empty packet" },
    Liar {
        at: Stage::Login,
        what: "a wrong number",
        lie: |s| send(s, &packet(9, OK)),
        message: "packet number 9 where 2 was due",
    },
    Liar {
        at: Stage::Login,
        what: "bytes behind the OK",
        lie: |s| send(s, &[packet(2, OK), packet(0, OK)].concat()),
        message: BROKEN,
    },
    Liar {
        at: Stage::Control,
        what: "2^64 columns",
        lie: |s| send(s, &packet(1, &[[0xfe].as_slice(), &[0xff; 8]].concat())),
        message: "18446744073709551615 columns",
    },
    Liar { at: Stage::Control, what: "a packet of 16 MiB", lie: |s| flood(s, &LONGEST), message: "16 MiB" },
    Liar {
        at: Stage::Control,
        what: "an OK cut short",
        lie: |s| send(s, &packet(1, &[0])),
        message: "malformed packet",
    },
    Liar {
        at: Stage::Control,
        what: "a row that is longer than its packet",
        lie: |s| always(s, b"\xfd\xff\xff\xffx"),
        message: "malformed packet",
    },
    Liar { at: Stage::Control, what: "nonsense", lie: |s| flood(s, b"\xde\xad\xbe\xef"), message: BROKEN },
    Liar {
        at: Stage::Prepare,
        what: "a prepared statement cut short",
        lie: |s| send(s, &packet(1, &[0, 1, 0])),
        message: "malformed packet",
    },
    Liar { at: Stage::Load, what: "an empty packet", lie: |s| send(s, &[0, 0, 0, 1]), message: "malformed packet" },
    Liar { at: Stage::Run, what: "an answer of 16 MiB", lie: |s| send(s, &LONGEST), message: "malformed packet" },
];

/// Values that are not what was asked for.
pub const WRONG_VALUES: &[Liar] = &[
    Liar {
        at: Stage::Control,
        what: "text for a number",
        lie: |s| always(s, b"\x03abc"),
        message: "answered `abc` where",
    },
    Liar { at: Stage::Control, what: "NULL for a number", lie: |s| always(s, b"\xfb"), message: "answered NULL where" },
    Liar {
        at: Stage::Control,
        what: "control characters",
        lie: |s| always(s, b"\x05\x1b[2J\x07"),
        message: "answered ` [2J ` where",
    },
    Liar {
        at: Stage::Control,
        what: "a number below zero",
        lie: |s| always(s, b"\x02-1"),
        message: "answered `-1` where",
    },
    Liar {
        at: Stage::Count,
        what: "text for the number of rows",
        lie: |s| always(s, b"\x04many"),
        message: "answered `many` where",
    },
];

/// Answers that do not end.
pub const ENDLESS: &[Liar] = &[
    Liar { at: Stage::Control, what: "rows", lie: endless_rows, message: "the server" },
    Liar {
        at: Stage::Control,
        what: "columns",
        lie: |s| put(s, 1, &[0xfc, 0xff, 0x0f]).and_then(|()| numbered(s, 2, &[b'c'; 200])),
        message: "the server",
    },
    Liar { at: Stage::Count, what: "rows", lie: endless_rows, message: "the server" },
    Liar {
        at: Stage::Prepare,
        what: "descriptions of columns",
        lie: |s| {
            put(s, 1, &[0, 1, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0, 0, 0]).and_then(|()| trickle(s, &packet(2, b"c")))
        },
        message: LATE,
    },
    Liar { at: Stage::Run, what: "rows", lie: endless_rows, message: "still blocked" },
];

/// Bytes that come one a second.
pub const SLOW: &[Liar] = &[
    Liar { at: Stage::Greeting, what: "the greeting", lie: |s| trickle(s, &packet(0, GREETING)), message: LATE },
    Liar { at: Stage::Login, what: "the OK", lie: |s| trickle(s, &packet(2, OK)), message: LATE },
    Liar { at: Stage::Control, what: "an answer", lie: |s| trickle(s, &[0, 0, 9, 1]), message: LATE },
    Liar { at: Stage::Schema, what: "an answer in set-up", lie: |s| trickle(s, &[0, 0, 9, 1]), message: LATE },
];

/// What a client must not give away.
pub const THIEVES: &[Liar] = &[
    Liar {
        at: Stage::Login,
        what: "a switch to clear text",
        lie: |s| send(s, &packet(2, b"\xfemysql_clear_password\0")),
        message: "plugin `mysql_clear_password`",
    },
    Liar {
        at: Stage::Login,
        what: "a switch to an unknown plugin",
        lie: |s| send(s, &packet(2, b"\xfeclient_ed25519\0abc\0")),
        message: "plugin `client_ed25519`",
    },
    Liar {
        at: Stage::Login,
        what: "a plugin with a control character",
        lie: |s| send(s, &packet(2, b"\xfea\x1b[2Jb\0abc\0")),
        message: "plugin `a [2Jb`",
    },
    Liar {
        at: Stage::Login,
        what: "sha256_password without TLS",
        lie: |s| send(s, &packet(2, b"\xfesha256_password\0abc\0")),
        message: "`ssl-mode=REQUIRED`",
    },
    Liar {
        at: Stage::Login,
        what: "the old plugin",
        lie: |s| send(s, &packet(2, b"\xfe")),
        message: "plugin `mysql_old_password`",
    },
    Liar {
        at: Stage::Control,
        what: "a request for a local file",
        lie: |s| send(s, &packet(1, b"\xfb/etc/passwd")),
        message: "a local file",
    },
    Liar {
        at: Stage::Load,
        what: "a request for a local file",
        lie: |s| send(s, &packet(1, b"\xfb/etc/passwd")),
        message: "malformed packet",
    },
];

/// Errors of the server that are hard to show.
pub const ERRORS: &[Liar] = &[
    Liar {
        at: Stage::Login,
        what: "control characters",
        lie: |s| error(s, 2, b"no\x1b[2J\r\nforged: line"),
        message: "no [2J  forged: line",
    },
    Liar {
        at: Stage::Control,
        what: "an error without a number",
        lie: |s| send(s, &packet(1, &[0xff, 1])),
        message: "malformed packet",
    },
    Liar { at: Stage::Schema, what: "64 KiB of text", lie: |s| error(s, 1, &[b'x'; 60_000]), message: "xxxxxxxx" },
    Liar {
        at: Stage::Load,
        what: "text that is no UTF-8",
        lie: |s| error(s, 1, b"caf\xe9 \xff\xfe"),
        message: "caf\u{fffd}",
    },
    Liar { at: Stage::Run, what: "control characters", lie: |s| error(s, 1, b"a\0b\x07c\x9b31m"), message: "a b c" },
];
