//! An answer: a status, headers and a body.
//!
//! In: a body and its type. Out: bytes on a connection. Limits: each answer ends its connection. Headers that keep a page to itself are
//! always there: a browser must not guess its type, keep it, show it in a frame, or send its address to others.

use crate::request::Method;
use std::io::{self, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long a client may take to accept a part of the answer.
const WRITE_WAIT: Duration = Duration::from_secs(5);
/// How long a client may take to accept all of the answer.
const ANSWER_TIME_MAX: Duration = Duration::from_secs(30);
const PART_BYTES: usize = 64 << 10;

/// How a request was answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// 200: here it is.
    Ok,
    /// 400: the request is no request.
    BadRequest,
    /// 403: the client may not see it.
    Forbidden,
    /// 404: there is no such page.
    NotFound,
    /// 405: only reading is possible.
    MethodRefused,
    /// 408: the request did not come in time.
    TooSlow,
    /// 413: a request with a body.
    BodyRefused,
    /// 414: the target is too long.
    TargetTooLong,
    /// 421: the request is for another host.
    OtherHost,
    /// 422: what was asked for is there and cannot be shown.
    Unshowable,
    /// 431: the request is too large.
    HeadTooLarge,
    /// 500: a bug.
    Internal,
    /// 503: too many requests are being answered.
    Busy,
    /// 505: another version of HTTP.
    VersionUnknown,
}

impl Status {
    /// Its number and its words.
    pub fn line(self) -> &'static str {
        match self {
            Status::Ok => "200 OK",
            Status::BadRequest => "400 Bad Request",
            Status::Forbidden => "403 Forbidden",
            Status::NotFound => "404 Not Found",
            Status::MethodRefused => "405 Method Not Allowed",
            Status::TooSlow => "408 Request Timeout",
            Status::BodyRefused => "413 Content Too Large",
            Status::TargetTooLong => "414 URI Too Long",
            Status::OtherHost => "421 Misdirected Request",
            Status::Unshowable => "422 Unprocessable Content",
            Status::HeadTooLarge => "431 Request Header Fields Too Large",
            Status::Internal => "500 Internal Server Error",
            Status::Busy => "503 Service Unavailable",
            Status::VersionUnknown => "505 HTTP Version Not Supported",
        }
    }
}

/// What a client gets: status, head and body.
#[derive(Clone, Debug)]
pub struct Response {
    status: Status,
    content_type: &'static str,
    headers: Vec<(&'static str, String)>,
    body: Arc<[u8]>,
}

impl Response {
    /// An answer with a body of `content_type`.
    pub fn new(status: Status, content_type: &'static str, body: impl Into<Arc<[u8]>>) -> Response {
        Response { status, content_type, headers: Vec::new(), body: body.into() }
    }

    /// An answer in plain text, one line.
    pub fn text(status: Status, text: &str) -> Response {
        let response = Response::new(status, "text/plain; charset=utf-8", format!("{text}\n").into_bytes());
        match status {
            Status::MethodRefused => response.with_header("Allow", "GET, HEAD".to_owned()),
            _ => response,
        }
    }

    /// The same with one more header. Control characters of its value are left out.
    pub fn with_header(mut self, name: &'static str, value: String) -> Response {
        self.headers.push((name, value.chars().filter(|c| !c.is_control()).collect()));
        self
    }

    /// The status code and its words.
    pub fn status(&self) -> Status {
        self.status
    }

    /// What follows the head; not sent to a client that asked for the head alone.
    pub fn body(&self) -> &[u8] {
        &self.body
    }

    fn head(&self) -> String {
        let mut head = format!(
            "HTTP/1.1 {}\r\nContent-Type: {}\r\nContent-Length: {}\r\nConnection: close\r\nCache-Control: no-store\r\n\
             X-Content-Type-Options: nosniff\r\nX-Frame-Options: DENY\r\nReferrer-Policy: no-referrer\r\n",
            self.status.line(),
            self.content_type,
            self.body.len()
        );
        self.headers.iter().for_each(|(name, value)| head += &format!("{name}: {value}\r\n"));
        head + "\r\n"
    }

    /// The complete answer as bytes.
    pub(crate) fn bytes(&self, method: Method) -> Vec<u8> {
        let mut bytes = self.head().into_bytes();
        if method == Method::Get {
            bytes.extend_from_slice(&self.body);
        }
        bytes
    }

    /// Sends it, and gives up on a client that does not read it in time.
    pub(crate) fn send(&self, method: Method, mut stream: &TcpStream) -> io::Result<()> {
        let until = Instant::now() + ANSWER_TIME_MAX;
        stream.set_nonblocking(false)?;
        stream.set_write_timeout(Some(WRITE_WAIT))?;
        let body = if method == Method::Get { &*self.body } else { &[] };
        stream.write_all(self.head().as_bytes())?;
        for part in body.chunks(PART_BYTES) {
            if Instant::now() > until {
                return Err(io::ErrorKind::TimedOut.into());
            }
            stream.write_all(part)?;
        }
        stream.shutdown(Shutdown::Write)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text_of(response: &Response, method: Method) -> String {
        String::from_utf8(response.bytes(method)).unwrap()
    }

    #[test]
    fn an_answer_has_its_length_and_keeps_to_itself() {
        let response = Response::new(Status::Ok, "text/html", b"<p>".to_vec());
        let text = text_of(&response, Method::Get);
        assert!(text.starts_with("HTTP/1.1 200 OK\r\n") && text.ends_with("\r\n\r\n<p>"), "{text}");
        for header in ["Content-Length: 3", "Connection: close", "X-Content-Type-Options: nosniff", "no-store"] {
            assert!(text.contains(header), "{header}");
        }
        assert!(text_of(&response, Method::Head).ends_with("no-referrer\r\n\r\n"));
    }

    #[test]
    fn no_value_begins_a_header_of_its_own() {
        let response = Response::text(Status::Ok, "a").with_header("X", "a\r\nSet-Cookie: b".to_owned());
        assert!(text_of(&response, Method::Get).contains("X: aSet-Cookie: b\r\n"));
    }
}
