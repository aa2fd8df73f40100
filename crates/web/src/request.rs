//! A request: what a client asks for.
//!
//! In: the bytes of its head. Out: a [`Request`], or the [`Status`] to refuse it with. Limits: GET and HEAD without a body.

use crate::response::Status;
use crate::target::Target;

/// The most bytes of a request with its headers.
pub(crate) const HEAD_BYTES_MAX: usize = 16 << 10;
/// The most bytes of its target.
const TARGET_BYTES_MAX: usize = 4 << 10;
const HEADERS_MAX: usize = 64;

/// What a client may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Asks for a page.
    Get,
    /// Asks what the answer would be, without its body.
    Head,
}

/// What a client asks for.
#[derive(Clone, Debug)]
pub struct Request {
    /// Whether the head alone is asked for.
    pub method: Method,
    target: Target,
    host: Option<String>,
    cookies: Vec<(String, String)>,
}

impl Request {
    /// The request in `head`, which ends with an empty line.
    pub(crate) fn parse(head: &[u8]) -> Result<Request, Status> {
        let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
        let mut parsed = httparse::Request::new(&mut headers);
        match parsed.parse(head) {
            Ok(httparse::Status::Complete(_)) => {}
            Ok(httparse::Status::Partial) => return Err(Status::BadRequest),
            Err(httparse::Error::TooManyHeaders) => return Err(Status::HeadTooLarge),
            Err(httparse::Error::Version) => return Err(Status::VersionUnknown),
            Err(_) => return Err(Status::BadRequest),
        }
        let method = match parsed.method {
            Some("GET") => Method::Get,
            Some("HEAD") => Method::Head,
            _ => return Err(Status::MethodRefused),
        };
        let target = parsed.path.unwrap_or_default();
        if target.len() > TARGET_BYTES_MAX {
            return Err(Status::TargetTooLong);
        }
        refuse_body(parsed.headers)?;
        let target = Target::parse(target).ok_or(Status::BadRequest)?;
        Ok(Request { method, target, host: only_host(parsed.headers)?, cookies: cookies_of(parsed.headers) })
    }

    /// The parts of its path.
    pub fn segments(&self) -> Vec<&[u8]> {
        self.target.segments.iter().map(Vec::as_slice).collect()
    }

    /// The first value of `name` in its query, as text; empty if it has none.
    pub fn query(&self, name: &str) -> String {
        self.query_values(name).next().map_or_else(String::new, |value| String::from_utf8_lossy(value).into_owned())
    }

    /// All values of `name` in its query.
    pub fn query_values(&self, name: &str) -> impl Iterator<Item = &[u8]> {
        let pairs = self.target.query.iter().filter(move |(known, _)| known == name.as_bytes());
        pairs.map(|(_, value)| value.as_slice())
    }

    /// The host that it is meant for, as the client names it.
    pub fn host(&self) -> Option<&str> {
        self.host.as_deref()
    }

    /// The values of the cookie `name`. There may be several: another program of this machine can set one for all ports.
    pub fn cookies(&self, name: &str) -> impl Iterator<Item = &str> {
        self.cookies.iter().filter(move |(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

fn values<'h>(headers: &'h [httparse::Header<'h>], name: &str) -> impl Iterator<Item = &'h [u8]> {
    headers.iter().filter(move |header| header.name.eq_ignore_ascii_case(name)).map(|header| header.value)
}

/// A body is refused, whatever its length is said to be.
fn refuse_body(headers: &[httparse::Header<'_>]) -> Result<(), Status> {
    let has_body = values(headers, "content-length").any(|value| value.trim_ascii() != b"0")
        || values(headers, "transfer-encoding").next().is_some();
    if has_body { Err(Status::BodyRefused) } else { Ok(()) }
}

/// The header `Host`, of which there may be one.
fn only_host(headers: &[httparse::Header<'_>]) -> Result<Option<String>, Status> {
    let mut all = values(headers, "host");
    let host = all.next().map(|value| String::from_utf8_lossy(value).into_owned());
    if all.next().is_some() { Err(Status::BadRequest) } else { Ok(host) }
}

fn cookies_of(headers: &[httparse::Header<'_>]) -> Vec<(String, String)> {
    let texts = values(headers, "cookie").map(String::from_utf8_lossy);
    texts
        .flat_map(|text: std::borrow::Cow<'_, str>| -> Vec<(String, String)> {
            let pairs = text.split(';').filter_map(|pair| pair.trim().split_once('='));
            pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(head: &str) -> Status {
        Request::parse(head.as_bytes()).unwrap_err()
    }

    #[test]
    fn a_request_has_its_path_query_host_and_cookies() {
        let head = b"GET /run/a?x=1&x=2 HTTP/1.1\r\nHost: 127.0.0.1:80\r\nCookie: a=1; b=2\r\nCookie: a=3\r\n\r\n";
        let request = Request::parse(head).unwrap();
        assert_eq!((request.method, request.segments()), (Method::Get, vec![&b"run"[..], b"a"]));
        assert_eq!(request.query_values("x").collect::<Vec<_>>(), [b"1", b"2"]);
        assert_eq!((request.query("x"), request.query("y")), ("1".to_owned(), String::new()));
        assert_eq!(request.host(), Some("127.0.0.1:80"));
        assert_eq!(request.cookies("a").collect::<Vec<_>>(), ["1", "3"]);
    }

    #[test]
    fn only_reading_is_possible() {
        for method in ["POST", "PUT", "DELETE", "OPTIONS", "CONNECT", "get"] {
            assert_eq!(refused(&format!("{method} / HTTP/1.1\r\nHost: a\r\n\r\n")), Status::MethodRefused, "{method}");
        }
        assert_eq!(refused("GET / HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello"), Status::BodyRefused);
        assert_eq!(refused("GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"), Status::BodyRefused);
        assert!(Request::parse(b"HEAD / HTTP/1.0\r\nContent-Length: 0\r\n\r\n").is_ok());
    }

    #[test]
    fn what_is_no_request_is_refused() {
        assert_eq!(refused("GET http://a/ HTTP/1.1\r\n\r\n"), Status::BadRequest);
        assert_eq!(refused("GET /%zz HTTP/1.1\r\n\r\n"), Status::BadRequest);
        assert_eq!(refused("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"), Status::BadRequest);
        assert_eq!(refused("GET / HTTP/3.0\r\n\r\n"), Status::VersionUnknown);
        assert_eq!(refused("\u{16}\u{3}\u{1}\r\n\r\n"), Status::BadRequest);
        assert_eq!(refused(&format!("GET /{} HTTP/1.1\r\n\r\n", "a".repeat(TARGET_BYTES_MAX))), Status::TargetTooLong);
        let many: String = (0..=HEADERS_MAX).map(|nth| format!("H{nth}: a\r\n")).collect();
        assert_eq!(refused(&format!("GET / HTTP/1.1\r\n{many}\r\n")), Status::HeadTooLarge);
    }
}
