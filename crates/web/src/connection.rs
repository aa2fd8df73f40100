//! A client whose request is not complete yet, or was refused.
//!
//! In: an accepted connection. Out: its request, as soon as all of it has come. Limits: the connection never blocks; it has a deadline that
//! what arrives does not move.

use crate::request::{HEAD_BYTES_MAX, Method, Request};
use crate::response::{Response, Status};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, Instant};

/// How long a client may take to ask.
const ASKING_TIME_MAX: Duration = Duration::from_secs(5);
/// A refused client may still be sending. If its connection were closed at once, the kernel would reset it, and the client might never
/// read why: so for a moment its bytes are read and dropped.
const DRAINING_TIME: Duration = Duration::from_secs(1);
const DRAINED_BYTES_MAX: usize = 1 << 20;

/// A client that is waited for.
pub(crate) struct Connection {
    stream: TcpStream,
    stage: Stage,
    /// When it is given up.
    until: Instant,
}

enum Stage {
    /// Its request as far as it has come.
    Asking(Vec<u8>),
    /// Refused; so many of its bytes are still dropped.
    Draining(usize),
}

/// What became of a client.
pub(crate) enum ClientProgress {
    /// It is still waited for.
    Waits,
    Asks(Request),
    /// Its request is refused.
    Refused(Status),
    /// It has gone, or is of no more interest.
    Gone,
}

impl Connection {
    pub fn new(stream: TcpStream, now: Instant) -> io::Result<Connection> {
        stream.set_nonblocking(true)?;
        Ok(Connection { stream, stage: Stage::Asking(Vec::new()), until: now + ASKING_TIME_MAX })
    }

    pub fn stream(&self) -> &TcpStream {
        &self.stream
    }

    /// When it is given up.
    pub fn until(&self) -> Instant {
        self.until
    }

    /// Gives the connection to who answers it.
    pub fn into_stream(self) -> TcpStream {
        self.stream
    }

    /// Reads what has come.
    pub fn advance(&mut self) -> ClientProgress {
        let mut buffer = [0; 4096];
        loop {
            match self.stream.read(&mut buffer) {
                Ok(0) => return ClientProgress::Gone,
                Ok(count) => match self.take(&buffer[..count]) {
                    ClientProgress::Waits => {}
                    progress => return progress,
                },
                Err(error) if error.kind() == ErrorKind::WouldBlock => return ClientProgress::Waits,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return ClientProgress::Gone,
            }
        }
    }

    fn take(&mut self, bytes: &[u8]) -> ClientProgress {
        match &mut self.stage {
            Stage::Draining(left) => match left.checked_sub(bytes.len()) {
                Some(less) => {
                    *left = less;
                    ClientProgress::Waits
                }
                None => ClientProgress::Gone,
            },
            Stage::Asking(head) => {
                head.extend_from_slice(bytes);
                match has_empty_line(head, bytes.len()) {
                    _ if head.len() > HEAD_BYTES_MAX => ClientProgress::Refused(Status::HeadTooLarge),
                    false => ClientProgress::Waits,
                    true => Request::parse(head).map_or_else(ClientProgress::Refused, ClientProgress::Asks),
                }
            }
        }
    }

    /// What to answer when its time is over: nothing if it has sent nothing, as the spare connections of browsers do.
    pub fn overdue_answer(&self) -> Option<Status> {
        matches!(&self.stage, Stage::Asking(head) if !head.is_empty()).then_some(Status::TooSlow)
    }

    /// Answers with `status` and waits for its end. What does not fit into the buffer of the new connection is not sent.
    pub fn refuse(&mut self, status: Status, now: Instant) {
        let _ = self.stream.write(&Response::text(status, refusal_text(status)).bytes(Method::Get));
        let _ = self.stream.shutdown(Shutdown::Write);
        self.stage = Stage::Draining(DRAINED_BYTES_MAX);
        self.until = now + DRAINING_TIME;
    }
}

/// Whether the head has come to its end with its last `new` bytes.
fn has_empty_line(head: &[u8], new: usize) -> bool {
    let tail = &head[head.len().saturating_sub(new + 3)..];
    tail.windows(2).any(|two| two == b"\n\n") || tail.windows(3).any(|three| three == b"\n\r\n")
}

fn refusal_text(status: Status) -> &'static str {
    match status {
        Status::MethodRefused => "this server answers GET and HEAD only",
        Status::BodyRefused => "a request must not have a body",
        Status::TargetTooLong => "the address is too long",
        Status::HeadTooLarge => "the request is too large",
        Status::TooSlow => "the request did not come in time",
        Status::VersionUnknown => "this server knows HTTP/1.0 and HTTP/1.1",
        Status::Busy => "too many requests are being answered; try again later",
        _ => "this is no request that the server understands",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_empty_line_is_seen_however_it_arrives() {
        let whole = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n";
        let ends = |new: usize| (1..=whole.len()).filter(|end| has_empty_line(&whole[..*end], new.min(*end))).collect();
        let at_once: Vec<usize> = ends(whole.len());
        let by_bytes: Vec<usize> = ends(1);
        assert_eq!((at_once, by_bytes), (vec![whole.len()], vec![whole.len()]));
        assert!(has_empty_line(b"GET / HTTP/1.0\n\n", 1));
    }
}
