//! A connection to PostgreSQL: the part of protocol 3.0 that a benchmark needs.
//!
//! In: bytes of the crate `postgres-protocol` for what is sent; what comes is read here, row by row, without taking it apart.
//! Out: statements prepared and executed, one round trip each, of which a socket that does not wait gives what has come. Limits: no
//! COPY, no notifications; all values go as text, so that the server, which knows the columns' types, converts them. Over TLS SCRAM
//! binds no channel.
//!
//! <https://www.postgresql.org/docs/current/protocol-message-formats.html>. The crate `postgres` would do the same over an
//! asynchronous runtime: without a time-out on a unix socket, and with a task switch for each statement.

use crate::server::tls::{Encrypted, Tls};
use crate::sql::recv_buffer::{self, RecvBuffer};
use bytes::{Buf, BytesMut};
use postgres_protocol::IsNull;
use postgres_protocol::authentication::md5_hash;
use postgres_protocol::authentication::sasl::{ChannelBinding, SCRAM_SHA_256, ScramSha256};
use postgres_protocol::message::frontend;
use std::fmt::Write as _;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;

use model::SqlArg;

/// Why a call failed.
#[derive(Debug)]
pub enum WireError {
    /// The connection.
    Io(io::Error),
    /// The server said so. The connection is good for the next call.
    Said {
        /// The SQLSTATE.
        code: String,
        /// The severity and the text.
        text: String,
    },
}

impl From<io::Error> for WireError {
    fn from(error: io::Error) -> WireError {
        WireError::Io(error)
    }
}

/// As whom to come, and to which database.
pub struct Login<'a> {
    /// The user.
    pub user: &'a str,
    /// The password, if there is one.
    pub password: Option<&'a str>,
    /// The database.
    pub database: &'a str,
    /// The schema of names that name none, where it is not the server's choice.
    pub schema: Option<&'a str>,
}

/// The socket of a connection.
pub enum Stream {
    /// On this machine.
    Unix(UnixStream),
    /// On the network.
    Tcp(TcpStream),
    /// On the network, encrypted.
    Tls(Encrypted),
}

/// An open connection.
pub struct Wire {
    stream: Stream,
    /// What is to be sent next.
    out: BytesMut,
    inbox: RecvBuffer,
    /// What the server said was wrong, while it has more to say.
    said: Option<WireError>,
}

/// The largest message taken: rows here are below 1 KB, and a server's nonsense must not fill the memory.
const MESSAGE_MAX: usize = 64 << 20;
/// A letter and the length.
const HEADER: usize = 5;

impl Wire {
    /// Logs in over `stream`.
    pub fn open(stream: Stream, login: &Login) -> Result<Wire, WireError> {
        let mut wire = Wire { stream, out: BytesMut::new(), inbox: RecvBuffer::new(), said: None };
        let path = login.schema.map(|schema| format!("-c search_path={schema}"));
        let named = [("user", login.user), ("database", login.database), ("client_encoding", "UTF8")];
        let named = named.into_iter().chain(path.as_deref().map(|path| ("options", path)));
        frontend::startup_message(named, &mut wire.out)?;
        wire.send()?;
        wire.log_in(login)?;
        wire.until_ready(|_| ())?;
        Ok(wire)
    }

    /// PreparingConnection `text` under `name`.
    pub fn prepare(&mut self, name: &str, text: &str) -> Result<(), WireError> {
        frontend::parse(name, text, [], &mut self.out)?;
        frontend::sync(&mut self.out);
        self.send()?;
        self.until_ready(|_| ())
    }

    /// Makes ready what executes the statement prepared under `name`.
    #[inline]
    pub fn put_execution(&mut self, name: &str, args: &[SqlArg], text: &[u8]) -> Result<(), WireError> {
        let put = |arg: &SqlArg, out: &mut BytesMut| {
            match *arg {
                SqlArg::Int(value) => write!(out, "{value}")?,
                SqlArg::Float(value) => write!(out, "{value}")?,
                SqlArg::Text { start, len } => out.extend_from_slice(&text[start as usize..][..len as usize]),
            }
            Ok(IsNull::No)
        };
        frontend::bind("", name, [], args, put, [], &mut self.out).map_err(|_| too_long())?;
        frontend::execute("", 0, &mut self.out)?;
        frontend::sync(&mut self.out);
        Ok(())
    }

    /// Makes ready what executes a text without arguments.
    #[inline]
    pub fn put_text(&mut self, text: &str) -> Result<(), WireError> {
        Ok(frontend::query(text, &mut self.out)?)
    }

    /// Executes a text without arguments.
    #[inline]
    pub fn run(&mut self, text: &str) -> Result<(), WireError> {
        self.put_text(text)?;
        self.call()
    }

    /// Sends what was made ready and takes all that is answered.
    #[inline]
    pub fn call(&mut self) -> Result<(), WireError> {
        self.send()?;
        self.until_ready(look_at)
    }

    /// From here on the socket does not wait: for [`Wire::send_some`] and [`Wire::take_some`].
    pub fn stop_waiting(&self) -> io::Result<()> {
        Ok(rustix::io::ioctl_fionbio(self.socket(), true)?)
    }

    /// The socket.
    pub fn socket(&self) -> BorrowedFd<'_> {
        match &self.stream {
            Stream::Unix(stream) => stream.as_fd(),
            Stream::Tcp(stream) => stream.as_fd(),
            Stream::Tls(stream) => stream.get_ref().as_fd(),
        }
    }

    /// Sends as much of what was made ready as there is room for: whether that was all of it.
    #[inline]
    pub fn send_some(&mut self) -> Result<bool, WireError> {
        let sent = self.stream.write(&self.out);
        self.out.advance(recv_buffer::if_ready(sent)?.unwrap_or(0));
        Ok(self.out.is_empty())
    }

    /// Takes what has come of the answer: whether that was all of it.
    #[inline]
    pub fn take_some(&mut self) -> Result<bool, WireError> {
        match self.until_ready(look_at) {
            Ok(()) => Ok(true),
            Err(WireError::Io(error)) if error.kind() == io::ErrorKind::WouldBlock => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// The rows of a text without arguments, each column as text.
    pub fn rows(&mut self, text: &str) -> Result<Vec<Vec<Option<String>>>, WireError> {
        frontend::query(text, &mut self.out)?;
        self.send()?;
        let mut rows = Vec::new();
        self.until_ready(|row| rows.push(columns(row)))?;
        Ok(rows)
    }

    fn log_in(&mut self, login: &Login) -> Result<(), WireError> {
        let password = || login.password.ok_or_else(|| unwilling("it wants a password, and none was given"));
        let is_open = matches!(self.stream, Stream::Tcp(_));
        let mut scram = None;
        loop {
            let (tag, body) = self.message()?;
            let body = match tag {
                b'R' => body,
                b'E' => return Err(said(body)),
                _ => continue,
            };
            let (kind, rest) = body.split_first_chunk::<4>().ok_or_else(nonsense)?;
            let mut answer = BytesMut::new();
            match i32::from_be_bytes(*kind) {
                0 => return Ok(()),
                3 if is_open => {
                    let why = "it wants the password in clear text over the network: set its pg_hba.conf to scram-sha-256, or use TLS";
                    return Err(unwilling(why).into());
                }
                3 => frontend::password_message(password()?.as_bytes(), &mut answer)?,
                5 => {
                    let salt = *rest.first_chunk::<4>().ok_or_else(nonsense)?;
                    let hash = md5_hash(login.user.as_bytes(), password()?.as_bytes(), salt);
                    frontend::password_message(hash.as_bytes(), &mut answer)?;
                }
                10 => {
                    let begun = scram.insert(ScramSha256::new(password()?.as_bytes(), ChannelBinding::unsupported()));
                    frontend::sasl_initial_response(SCRAM_SHA_256, begun.message(), &mut answer)?;
                }
                11 => {
                    let begun = scram.as_mut().ok_or_else(nonsense)?;
                    begun.update(rest)?;
                    frontend::sasl_response(begun.message(), &mut answer)?;
                }
                12 => scram.as_mut().ok_or_else(nonsense)?.finish(rest)?,
                _ => return Err(unwilling("it wants a way to log in that plimsoll does not know").into()),
            }
            self.out.extend_from_slice(&answer);
            self.send()?;
        }
    }

    fn send(&mut self) -> io::Result<()> {
        let sent = self.stream.write_all(&self.out);
        self.out.clear();
        sent
    }

    /// Takes all messages up to the one that says that the server waits again; `row` gets the body of each row. If the socket
    /// has nothing more for now, it goes on there when it is called again.
    #[inline]
    fn until_ready(&mut self, mut row: impl FnMut(&[u8])) -> Result<(), WireError> {
        loop {
            match self.message()? {
                (b'Z', _) => return self.said.take().map_or(Ok(()), Err),
                (b'D', body) => row(body),
                (b'E', body) => {
                    let told = said(body);
                    self.said.get_or_insert(told);
                }
                _ => {}
            }
        }
    }

    /// The next message: its tag and body.
    #[inline]
    fn message(&mut self) -> io::Result<(u8, &[u8])> {
        let header = self.inbox.peek(HEADER, &mut self.stream)?;
        let length = u32::from_be_bytes([header[1], header[2], header[3], header[4]]) as usize;
        if !(4..MESSAGE_MAX).contains(&length) {
            return Err(nonsense());
        }
        self.inbox.peek(1 + length, &mut self.stream)?;
        let message = self.inbox.take(1 + length);
        Ok((message[0], &message[HEADER..]))
    }
}

impl Stream {
    /// Asks for TLS on `stream`, and has it.
    pub fn encrypted(mut stream: TcpStream, tls: &Tls) -> io::Result<Stream> {
        let mut asked = BytesMut::new();
        frontend::ssl_request(&mut asked);
        stream.write_all(&asked)?;
        // One byte, and nothing of what another process may have put behind it.
        let mut answer = [0];
        stream.read_exact(&mut answer)?;
        match answer {
            [b'S'] => tls.over(stream).map(Stream::Tls),
            [b'N'] => Err(tls.is_missing()),
            _ => Err(nonsense()),
        }
    }
}

impl Read for Stream {
    #[inline]
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Stream::Unix(stream) => stream.read(buffer),
            Stream::Tcp(stream) => stream.read(buffer),
            Stream::Tls(stream) => stream.read(buffer),
        }
    }
}

impl Write for Stream {
    #[inline]
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Stream::Unix(stream) => stream.write(bytes),
            Stream::Tcp(stream) => stream.write(bytes),
            Stream::Tls(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Stream::Unix(stream) => stream.flush(),
            Stream::Tcp(stream) => stream.flush(),
            Stream::Tls(stream) => stream.flush(),
        }
    }
}

/// Each row is looked at, as a client would.
#[inline]
fn look_at(row: &[u8]) {
    std::hint::black_box(row.first());
}

impl Drop for Wire {
    /// A server that is told goodbye does not log a lost client.
    fn drop(&mut self) {
        self.out.clear();
        frontend::terminate(&mut self.out);
        let _ = self.send();
    }
}

fn too_long() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, "a value is too long for the protocol")
}

fn nonsense() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "it does not speak the protocol of PostgreSQL")
}

fn unwilling(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::PermissionDenied, why)
}

/// The error in the body of an ErrorResponse: fields of a letter and a text.
#[cold]
fn said(body: &[u8]) -> WireError {
    let fields: Vec<String> =
        body.split(|byte| *byte == 0).map(|field| String::from_utf8_lossy(field).into_owned()).collect();
    let field = |letter: char| fields.iter().find_map(|field| field.strip_prefix(letter)).unwrap_or_default();
    WireError::Said { code: field('C').to_owned(), text: format!("{} {}: {}", field('S'), field('C'), field('M')) }
}

/// The columns of a row: their number, then each with its length, -1 for NULL.
fn columns(row: &[u8]) -> Vec<Option<String>> {
    let mut columns = Vec::new();
    let mut rest = row.get(2..).unwrap_or_default();
    while let Some((length, after)) = rest.split_first_chunk::<4>() {
        let length = i32::from_be_bytes(*length);
        let bytes = after.get(..length.max(0) as usize).unwrap_or_default();
        columns.push((length >= 0).then(|| String::from_utf8_lossy(bytes).into_owned()));
        rest = &after[bytes.len()..];
    }
    columns
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A wire whose server has sent `bytes` and hung up.
    fn told(bytes: &[u8]) -> Wire {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        theirs.write_all(bytes).unwrap();
        Wire { stream: Stream::Unix(ours), out: BytesMut::new(), inbox: RecvBuffer::new(), said: None }
    }

    #[test]
    fn a_password_does_not_go_over_the_network_in_clear_text() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let ours = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut theirs, _) = listener.accept().unwrap();
        theirs.write_all(b"R\0\0\0\x08\0\0\0\x03").unwrap();
        let login = Login { user: "u", password: Some("canary"), database: "d", schema: None };
        let Err(WireError::Io(refused)) = Wire::open(Stream::Tcp(ours), &login) else { panic!("it went on") };
        assert!(refused.to_string().contains("scram-sha-256"), "{refused}");
        let mut sent = Vec::new();
        theirs.read_to_end(&mut sent).unwrap();
        assert!(!sent.windows(6).any(|bytes| bytes == b"canary"), "{sent:?}");
    }

    #[test]
    fn rows_and_nulls_are_taken_apart() {
        assert_eq!(
            columns(b"\0\x03\0\0\0\x02on\xff\xff\xff\xff\0\0\0\0"),
            [Some("on".into()), None, Some(String::new())]
        );
    }

    #[test]
    fn an_error_is_told_when_the_server_is_ready_again() {
        let error = b"E\0\0\0\x28SERROR\0C40001\0Mcould not serialize\0\0";
        let mut wire = told(&[&error[..], b"Z\0\0\0\x05I"].concat());
        let Err(WireError::Said { code, text }) = wire.until_ready(|_| ()) else { panic!("no error") };
        assert_eq!((code.as_str(), text.as_str()), ("40001", "ERROR 40001: could not serialize"));
    }

    #[test]
    fn a_server_that_hangs_up_or_talks_nonsense_is_an_error_of_the_connection() {
        for bytes in [&b""[..], b"Z\0\0", b"D\0\0\0\x01", b"D\xff\xff\xff\xff"] {
            assert!(matches!(told(bytes).until_ready(|_| ()), Err(WireError::Io(_))), "{bytes:?}");
        }
    }
}
