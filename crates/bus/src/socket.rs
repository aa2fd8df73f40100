//! The way to the server: a socket on which no answer can take more memory than it may.
//!
//! In: an address, the words of a command. Out: the answer, which the parser of the client library makes. Limits: an answer that is longer than
//! [`BoundedSocket::allow`] permits ends the connection, so a server or a stranger who fills streams costs a process that and no more. How an answer of
//! allowed length is made of small values decides how much memory it takes: up to fourteen times its length.

use redis::{Cmd, ConnectionAddr, ConnectionLike, ErrorKind, Parser, RedisError, RedisResult, Value, cmd};
use rustix::io::Errno;
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, StreamOwned};
use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What an error has in its text if an answer was too long.
pub(crate) const TOO_LONG: &str = "the answer is longer than it may be";
/// The longest answer, unless more is allowed: leases, names, numbers.
const ANSWER_BYTES: u64 = 1 << 20;

/// How long one answer may come in for, however little of it at a time.
const ANSWER_TIME_MAX: Duration = Duration::from_secs(300);

/// A connection whose answers are bounded.
pub(crate) struct BoundedSocket {
    stream: SocketStream,
    parser: Parser,
    /// The longest answer, in bytes.
    allowed: u64,
    is_open: bool,
}

/// The bytes of a connection.
enum SocketStream {
    Tcp(TcpStream),
    Unix(UnixStream),
    Tls(Box<StreamOwned<ClientConnection, TcpStream>>),
}

/// As whom to come to the server.
#[derive(Clone, Copy)]
pub(crate) struct BusLogin<'a> {
    pub user: Option<&'a str>,
    pub password: Option<&'a str>,
    pub database: i64,
}

impl BoundedSocket {
    /// A connection to `address` that is logged in; `tls` is how it is encrypted if it is.
    pub fn connect(
        address: &ConnectionAddr,
        tls: Option<&Arc<ClientConfig>>,
        login: BusLogin,
        wait: Duration,
    ) -> RedisResult<BoundedSocket> {
        let stream = match address {
            ConnectionAddr::Unix(path) => SocketStream::Unix(connect_unix(path, wait)?),
            ConnectionAddr::Tcp(host, port) => SocketStream::Tcp(connect_tcp(host, *port, wait)?),
            ConnectionAddr::TcpTls { host, port, .. } => connect_tls(host, *port, tls, wait)?,
            other => return Err(invalid(format!("`{other}` is an address of a kind that is not known"))),
        };
        let mut socket = BoundedSocket { stream, parser: Parser::new(), allowed: ANSWER_BYTES, is_open: true };
        socket.set_wait(wait)?;
        socket.log_in(login)?;
        Ok(socket)
    }

    fn log_in(&mut self, login: BusLogin) -> RedisResult<()> {
        if let Some(password) = login.password {
            let mut command = cmd("AUTH");
            login.user.into_iter().for_each(|user| _ = command.arg(user));
            command.arg(password).query::<()>(self)?;
        }
        match login.database {
            0 => Ok(()),
            number => cmd("SELECT").arg(number).query(self),
        }
    }

    /// How long a read or a write may take.
    pub fn set_wait(&self, wait: Duration) -> io::Result<()> {
        let wait = Some(wait);
        match &self.stream {
            SocketStream::Tcp(tcp) => tcp.set_read_timeout(wait).and_then(|()| tcp.set_write_timeout(wait)),
            SocketStream::Unix(unix) => unix.set_read_timeout(wait).and_then(|()| unix.set_write_timeout(wait)),
            SocketStream::Tls(tls) => tls.sock.set_read_timeout(wait).and_then(|()| tls.sock.set_write_timeout(wait)),
        }
    }

    /// The next answers may have so many bytes.
    pub fn allow(&mut self, bytes: u64) {
        self.allowed = bytes;
    }

    /// The next answers may have as many bytes as most have.
    pub fn allow_usual(&mut self) {
        self.allowed = ANSWER_BYTES;
    }

    fn send(&mut self, bytes: &[u8]) -> RedisResult<()> {
        let sent = self.stream.write_all(bytes).and_then(|()| self.stream.flush());
        self.is_open &= sent.is_ok();
        Ok(sent?)
    }

    fn receive(&mut self) -> RedisResult<Value> {
        let until = Instant::now() + ANSWER_TIME_MAX;
        let mut reader = BoundedReader { stream: &mut self.stream, left: self.allowed, until, is_over: false };
        let answer = self.parser.parse_value(&mut reader);
        let is_over = reader.is_over;
        self.is_open &= answer.is_ok();
        if is_over { Err((ErrorKind::Parse, TOO_LONG).into()) } else { answer }
    }
}

/// Connects to the socket at `path`. While the queue of the server is full the kernel waits, for as long as a send may take: for ever unless
/// that has a limit.
fn connect_unix(path: &Path, wait: Duration) -> io::Result<UnixStream> {
    let address = SocketAddrUnix::new(path)?;
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    set_socket_timeout(&socket, Timeout::Send, Some(wait))?;
    match connect(&socket, &address) {
        Err(Errno::AGAIN) => Err(io::ErrorKind::TimedOut.into()),
        connected => Ok(connected.map(|()| socket.into())?),
    }
}

fn connect_tcp(host: &str, port: u16, wait: Duration) -> io::Result<TcpStream> {
    let mut last = None;
    for address in (host, port).to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, wait) {
            Ok(stream) => {
                stream.set_nodelay(true)?;
                return Ok(stream);
            }
            Err(error) => last = Some(error),
        }
    }
    Err(last.unwrap_or_else(|| io::Error::from(io::ErrorKind::AddrNotAvailable)))
}

fn connect_tls(host: &str, port: u16, tls: Option<&Arc<ClientConfig>>, wait: Duration) -> RedisResult<SocketStream> {
    let config = tls.ok_or_else(|| invalid("there are no certificates to check the server by".into()))?;
    let name = ServerName::try_from(host.to_owned()).map_err(|error| invalid(error.to_string()))?;
    let connection = ClientConnection::new(config.clone(), name).map_err(|error| invalid(error.to_string()))?;
    let stream = connect_tcp(host, port, wait)?;
    stream.set_read_timeout(Some(wait))?;
    stream.set_write_timeout(Some(wait))?;
    let mut stream = StreamOwned::new(connection, stream);
    // A certificate that is not trusted is an error here, and not that of the first command.
    stream.conn.complete_io(&mut stream.sock)?;
    Ok(SocketStream::Tls(Box::new(stream)))
}

fn invalid(text: String) -> RedisError {
    (ErrorKind::InvalidClientConfig, "the address cannot be used", text).into()
}

impl Read for SocketStream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            SocketStream::Tcp(tcp) => tcp.read(buffer),
            SocketStream::Unix(unix) => unix.read(buffer),
            SocketStream::Tls(tls) => tls.read(buffer),
        }
    }
}

impl Write for SocketStream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            SocketStream::Tcp(tcp) => tcp.write(bytes),
            SocketStream::Unix(unix) => unix.write(bytes),
            SocketStream::Tls(tls) => tls.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            SocketStream::Tcp(tcp) => tcp.flush(),
            SocketStream::Unix(unix) => unix.flush(),
            SocketStream::Tls(tls) => tls.flush(),
        }
    }
}

/// Reads one answer, and no more than is left.
struct BoundedReader<'a, S> {
    stream: &'a mut S,
    left: u64,
    until: Instant,
    /// Whether more was there than may be.
    is_over: bool,
}

impl<S: Read> Read for BoundedReader<'_, S> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.left == 0 {
            self.is_over = true;
            return Err(io::Error::other(TOO_LONG));
        }
        if Instant::now() >= self.until {
            return Err(io::ErrorKind::TimedOut.into());
        }
        let most = buffer.len().min(usize::try_from(self.left).unwrap_or(usize::MAX));
        let read = self.stream.read(&mut buffer[..most])?;
        self.left -= read as u64;
        Ok(read)
    }
}

impl ConnectionLike for BoundedSocket {
    fn req_packed_command(&mut self, command: &[u8]) -> RedisResult<Value> {
        self.send(command)?;
        self.receive()
    }

    fn req_packed_commands(&mut self, commands: &[u8], offset: usize, count: usize) -> RedisResult<Vec<Value>> {
        self.send(commands)?;
        let answers: Vec<Value> = (0..offset + count).map(|_| self.receive()).collect::<RedisResult<_>>()?;
        Ok(answers.into_iter().skip(offset).collect())
    }

    fn req_command(&mut self, command: &Cmd) -> RedisResult<Value> {
        self.req_packed_command(&command.get_packed_command())
    }

    fn get_db(&self) -> i64 {
        0
    }

    fn check_connection(&mut self) -> bool {
        self.is_open
    }

    fn is_open(&self) -> bool {
        self.is_open
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    /// What a client makes of a server that writes `answer` to every command.
    fn answer_of(answer: impl Into<Vec<u8>>, allowed: u64) -> RedisResult<Value> {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let answer: Vec<u8> = answer.into();
        let server = thread::spawn(move || {
            let mut command = [0; 1024];
            let _ = theirs.read(&mut command);
            let _ = theirs.write_all(&answer); // the client may be gone
        });
        let stream = SocketStream::Unix(ours);
        let mut socket = BoundedSocket { stream, parser: Parser::new(), allowed, is_open: true };
        let answer = socket.req_command(&cmd("PING"));
        assert_eq!(socket.is_open(), answer.is_ok());
        drop(socket);
        server.join().unwrap();
        answer
    }

    #[test]
    fn an_answer_that_is_longer_than_allowed_is_an_error_and_ends_the_connection() {
        let string = |bytes: usize| format!("${bytes}\r\n{}\r\n", "x".repeat(bytes));
        assert_eq!(answer_of(string(100), 1_000).unwrap(), Value::BulkString(b"x".repeat(100)));
        let error = answer_of(string(4_000_000), 1_000_000).unwrap_err();
        assert!(error.to_string().contains(TOO_LONG), "{error}");
        // What is announced and never sent takes nothing.
        let error = answer_of(format!("${}\r\n{}", u32::MAX, "x".repeat(2_000_000)), 1_000_000).unwrap_err();
        assert!(error.to_string().contains(TOO_LONG), "{error}");
    }

    #[test]
    fn a_server_that_takes_connections_and_says_nothing_is_left_in_time() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = ConnectionAddr::Tcp("127.0.0.1".into(), listener.local_addr().unwrap().port());
        let login = BusLogin { user: None, password: Some("secret"), database: 0 };
        let error =
            BoundedSocket::connect(&address, None, login, Duration::from_millis(100)).err().expect("it is silent");
        let told = crate::BusError::of_server("redis://a", &error);
        assert!(told.is_away());
        assert_eq!(told.to_string(), "the bus `redis://a` cannot be reached: it does not answer in time");
    }

    #[test]
    fn an_answer_that_never_ends_is_left_in_time() {
        let mut stream = io::repeat(b'x');
        let mut reader = BoundedReader { stream: &mut stream, left: u64::MAX, until: Instant::now(), is_over: false };
        assert_eq!(reader.read(&mut [0; 1]).unwrap_err().kind(), io::ErrorKind::TimedOut);
    }

    #[test]
    fn a_server_whose_queue_is_full_is_left_in_time() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("socket");
        let listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
        rustix::net::listen(&listener, 0).unwrap();
        let wait = Duration::from_millis(100);
        let queued: Vec<UnixStream> = (0..9).map_while(|_| connect_unix(&path, wait).ok()).collect();
        assert!((1..9).contains(&queued.len()), "{}", queued.len());
        assert_eq!(connect_unix(&path, wait).unwrap_err().kind(), io::ErrorKind::TimedOut);
    }

    #[test]
    fn lists_of_any_announced_length_are_read_up_to_what_is_allowed() {
        let list = format!("*{}\r\n{}", i64::MAX, ":1\r\n".repeat(500_000));
        let error = answer_of(list, 1_000_000).unwrap_err();
        assert!(error.to_string().contains(TOO_LONG), "{error}");
        assert!(answer_of("*-1\r\n", 100).unwrap() == Value::Nil);
        assert!(answer_of("no such thing\r\n", 100).is_err());
    }
}
