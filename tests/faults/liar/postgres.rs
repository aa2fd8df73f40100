//! Lying servers that speak PostgreSQL's protocol.
//!
//! In: a connection, a stage and a lie. Out: the answers of a server on which everything works, up to the lie. Limits: rows have one column.

use super::{LATE, Lab, Liar, Lie, Stage, flood, measure_all, send, text_of, trickle};
use crate::lab::Finished;
use std::io::{self, Read, Write};
use std::net::TcpStream;

const AUTHENTICATED: &[u8] = b"R\0\0\0\x08\0\0\0\0";
const KEY: &[u8] = b"K\0\0\0\x0c\0\0\0\x01\0\0\0\x02";
const READY: &[u8] = b"Z\0\0\0\x05I";
const NOTICE: &[u8] = b"N\0\0\0\x11SNOTICE\0Mx\0\0";
const PARAMETER: &[u8] = b"S\0\0\0\x08a\0b\0";
const ROW: &[u8] = b"D\0\0\0\x0b\0\x01\0\0\0\x01x";
/// The server takes rows as text, of no columns that anybody looks at.
const COPY_IN: &[u8] = b"G\0\0\0\x07\0\0\0";
const DONE: &[u8] = b"C\0\0\0\x06S\0";

/// Measures them all.
pub fn measure_each(lab: &Lab, liars: &[Liar]) -> Option<Finished> {
    Some(measure_all(lab, "postgres", serve, liars))
}

/// Behaves, up to `lie` at its stage.
pub fn serve(stream: &mut TcpStream, at: Stage, lie: Lie) -> io::Result<()> {
    if at == Stage::Greeting {
        return lie(stream);
    }
    // The message that begins a connection has no letter.
    receive_body(stream)?;
    if at == Stage::Login {
        return lie(stream);
    }
    stream.write_all(&[AUTHENTICATED, KEY, READY].concat())?;
    let (mut prepared, mut copied) = (String::new(), 0);
    loop {
        let mut letter = [0];
        stream.read_exact(&mut letter)?;
        let text = text_of(&receive_body(stream)?);
        if stage_of(letter[0], &text, &prepared) == Some(at) || at == Stage::Control {
            return lie(stream);
        }
        match letter[0] {
            b'P' => prepared = text,
            b'B' => stream.write_all(DONE)?,
            b'S' => stream.write_all(READY)?,
            b'Q' if text.starts_with("COPY") => stream.write_all(COPY_IN)?,
            b'd' => copied += text.lines().count(),
            b'c' => done_copying(stream, std::mem::take(&mut copied))?,
            b'Q' if text.starts_with("SELECT") || text.starts_with("SHOW") => answer(stream, value_of(&text))?,
            b'Q' => stream.write_all(&[DONE, READY].concat())?,
            b'X' => return Ok(()),
            _ => {}
        }
    }
}

fn done_copying(stream: &mut TcpStream, rows: usize) -> io::Result<()> {
    let tag = format!("COPY {rows}\0");
    stream.write_all(&[b"C", &(4 + tag.len() as u32).to_be_bytes()[..], tag.as_bytes(), READY].concat())
}

/// The stage that a message is of. The text of one that prepares begins with the name of the statement.
fn stage_of(letter: u8, text: &str, prepared: &str) -> Option<Stage> {
    match letter {
        b'P' if text.contains("SELECT") => Some(Stage::Prepare),
        b'B' if prepared.contains("SELECT") => Some(Stage::Run),
        b'Q' if text.starts_with("COPY") => Some(Stage::Load),
        b'Q' if text.starts_with("CREATE SCHEMA") => Some(Stage::Schema),
        b'Q' if text.starts_with("CREATE TABLE") && !text.contains("plimsoll_marker") => Some(Stage::Table),
        b'Q' if text.starts_with("SELECT count(*) FROM \"sbtest") => Some(Stage::Count),
        b'Q' if text.starts_with("DROP") => Some(Stage::CleanUp),
        _ => None,
    }
}

/// What a server without other clients answers.
fn value_of(question: &str) -> &'static [u8] {
    match question {
        _ if question.contains("plimsoll_marker WHERE") => b"1",
        _ if question.contains("advisory_lock") => b"t",
        _ if question.contains("is_in_recovery") || question.contains("> 0") => b"f",
        _ if question.contains("default_transaction_read_only") => b"off",
        _ if question.contains("max_connections") => b"100",
        _ => b"0",
    }
}

fn receive_body(stream: &mut TcpStream) -> io::Result<Vec<u8>> {
    let mut length = [0; 4];
    stream.read_exact(&mut length)?;
    let mut body = vec![0; (u32::from_be_bytes(length) as usize).saturating_sub(4)];
    stream.read_exact(&mut body).map(|()| body)
}

/// A row of one column with `value`, and the end of the answer.
fn answer(stream: &mut TcpStream, value: &[u8]) -> io::Result<()> {
    let length = value.len() as u32;
    let row = [b"D", &(10 + length).to_be_bytes()[..], &[0, 1], &length.to_be_bytes(), value].concat();
    stream.write_all(&[&row[..], DONE, READY].concat())
}

/// Answers by a row of `value`, and goes on so for each query.
fn always(stream: &mut TcpStream, value: &[u8]) -> io::Result<()> {
    loop {
        answer(stream, value)?;
        stream.read_exact(&mut [0])?;
        receive_body(stream)?;
    }
}

/// An error of the server with this text. What follows it works.
fn error(stream: &mut TcpStream, text: &[u8]) -> io::Result<()> {
    let fields = [b"SERROR\0C42000\0M", text, b"\0\0"].concat();
    stream.write_all(&[b"E", &(fields.len() as u32 + 4).to_be_bytes()[..], &fields, READY].concat())?;
    let mut letter = [0];
    loop {
        stream.read_exact(&mut letter)?;
        receive_body(stream)?;
        // The end of what a client asks for at once.
        if letter == *b"Q" || letter == *b"S" {
            stream.write_all(READY)?;
        }
    }
}

const BROKEN: &str = "the server breaks the PostgreSQL protocol";

/// Messages that are malformed or too long.
pub const MALFORMED: &[Liar] = &[
    Liar { at: Stage::Login, what: "a message of 2 GiB", lie: |s| send(s, b"R\x7f\xff\xff\xff"), message: BROKEN },
    Liar { at: Stage::Login, what: "a request cut short", lie: |s| send(s, b"R\0\0\0\x06\0\0"), message: BROKEN },
    Liar {
        at: Stage::Greeting,
        what: "a web server",
        lie: |s| send(s, b"HTTP/1.1 400 Bad Request\r\n\r\n"),
        message: "a web server answers there, and no database",
    },
    Liar {
        at: Stage::Control,
        what: "a length below that of the length",
        lie: |s| send(s, b"Z\0\0\0\0"),
        message: "malformed message",
    },
    Liar {
        at: Stage::Control,
        what: "32,767 columns in 6 bytes",
        lie: |s| send(s, b"D\0\0\0\x06\x7f\xff"),
        message: "malformed message",
    },
    Liar { at: Stage::Control, what: "a message of 32 MiB", lie: |s| flood(s, b"N\x02\0\0\0"), message: "16 MiB" },
    Liar { at: Stage::Control, what: "nonsense", lie: |s| flood(s, b"\xde\xad\xbe\xef\x01"), message: BROKEN },
    Liar {
        at: Stage::Run,
        what: "a message of 2 GiB",
        lie: |s| send(s, b"D\x7f\xff\xff\xff"),
        message: "malformed message",
    },
];

/// Values that are not what was asked for.
pub const WRONG_VALUES: &[Liar] = &[
    Liar { at: Stage::Count, what: "text for a number", lie: |s| always(s, b"many"), message: "answered `many` where" },
    Liar {
        at: Stage::Count,
        what: "control characters",
        lie: |s| always(s, b"\x1b[2J\x07"),
        message: "answered ` [2J ` where",
    },
];

/// Answers that do not end.
pub const ENDLESS: &[Liar] = &[
    Liar { at: Stage::Login, what: "notices", lie: |s| flood(s, NOTICE), message: "the server" },
    Liar { at: Stage::Login, what: "parameters", lie: |s| flood(s, PARAMETER), message: "the server" },
    Liar { at: Stage::Control, what: "rows", lie: |s| flood(s, ROW), message: "the server" },
    Liar { at: Stage::Control, what: "notices", lie: |s| flood(s, NOTICE), message: "the server" },
    Liar { at: Stage::Count, what: "rows", lie: |s| flood(s, ROW), message: "the server" },
    Liar { at: Stage::Run, what: "rows", lie: |s| flood(s, ROW), message: "still blocked" },
];

/// Bytes that come one a second.
pub const SLOW: &[Liar] = &[
    Liar { at: Stage::Login, what: "the end of the login", lie: |s| trickle(s, AUTHENTICATED), message: LATE },
    Liar { at: Stage::Control, what: "an answer", lie: |s| trickle(s, NOTICE), message: LATE },
    Liar { at: Stage::Schema, what: "an answer in set-up", lie: |s| trickle(s, NOTICE), message: LATE },
];

/// What a client must not give away.
pub const THIEVES: &[Liar] = &[
    Liar {
        at: Stage::Login,
        what: "the password in clear text",
        lie: |s| send(s, b"R\0\0\0\x08\0\0\0\x03"),
        message: "clear text",
    },
    Liar { at: Stage::Login, what: "GSSAPI", lie: |s| send(s, b"R\0\0\0\x08\0\0\0\x07"), message: "GSSAPI" },
    Liar {
        at: Stage::Login,
        what: "an unknown method",
        lie: |s| send(s, b"R\0\0\0\x08\0\0\x03\xe8"),
        message: "number 1000",
    },
    Liar {
        at: Stage::Login,
        what: "a wrong proof",
        lie: |s| send(s, b"R\0\0\0\x17\0\0\0\x0aSCRAM-SHA-256\0\0R\0\0\0\x0c\0\0\0\x0cv=xx"),
        message: "SCRAM",
    },
];

/// Errors of the server that are hard to show.
pub const ERRORS: &[Liar] = &[
    Liar {
        at: Stage::Login,
        what: "control characters",
        lie: |s| error(s, b"no\x1b[2J\r\nforged: line"),
        message: "no [2J  forged: line",
    },
    Liar { at: Stage::Schema, what: "64 KiB of text", lie: |s| error(s, &[b'x'; 60_000]), message: "xxxxxxxx" },
    Liar {
        at: Stage::Load,
        what: "text that is no UTF-8",
        lie: |s| error(s, b"caf\xe9 \xff\xfe"),
        message: "caf\u{fffd}",
    },
    Liar { at: Stage::Run, what: "control characters", lie: |s| error(s, b"a\x07b\x9b31m"), message: "a b" },
];
