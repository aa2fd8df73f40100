//! Connections to database servers: a unix socket or TCP, in clear text or over TLS, with a deadline for each answer.
//!
//! In: a route from a URL or to a private server, the time that an answer may take. Out: a stream whose reads and writes end in time: each
//! at the time-out of its socket, and all together at a deadline if one is set; or to and from a memory, without a wait, also while it is
//! connected. Limits: a deadline costs one more system call for each read and write, so timed operations run without one. The system's
//! resolver takes as long as it takes to look up a name.

pub use super::answers::{
    AnswerBudget, AnswerLimits, CONTROL_ANSWER, TextRows, explained_error, explanation, first_number, unanswered,
};
use super::dir::ServerSocket;
use super::host_addresses::{self, Attempt, resolve_host};
use super::memory::{HandedSocket, SocketMemory};
use super::tls::TlsConnector;
use super::url::ServerUrl;
use host::deadline::{Deadline, has_cut_a_wait};
use host::error::TargetError;
use model::{Fact, ServerWay};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SendFlags, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};
use rustls::ClientConnection;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, Shutdown, SocketAddr, TcpStream, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// The system's words for `error`, without the error's number and without Rust's name for the call.
fn system_words(error: &io::Error) -> String {
    let text = host::error::system_words(error);
    text.strip_prefix("failed to lookup address information: ").unwrap_or(&text).to_owned()
}

/// How to get to a server.
#[derive(Clone)]
pub enum Route {
    /// The socket of a private server.
    Private(ServerSocket),
    /// The path of a unix socket.
    Socket(String),
    /// A host and its port, over TLS if the URL asks for it.
    Host(String, u16, Option<TlsConnector>),
}

impl Route {
    /// The route that `url` names, which has `default_port` if it names none.
    pub fn from_url(url: &ServerUrl, default_port: u16) -> Result<Route, TargetError> {
        let tls = url.tls.as_ref().map(|wanted| TlsConnector::new(wanted, &url.host)).transpose()?;
        Ok(match &url.socket {
            Some(path) => Route::Socket(path.clone()),
            None => Route::Host(url.host.clone(), url.port.unwrap_or(default_port), tls),
        })
    }

    /// `tcp`, `tls` or `socket`.
    pub fn via(&self) -> &'static str {
        match self {
            Route::Private(_) | Route::Socket(_) => "socket",
            Route::Host(_, _, None) => "tcp",
            Route::Host(_, _, Some(_)) => "tls",
        }
    }

    /// How clients reach the server, by the addresses that a connection to the first address of the host would have.
    pub fn server_way(&self) -> ServerWay {
        match self {
            Route::Private(_) | Route::Socket(_) => ServerWay::UnixSocket,
            Route::Host(host, port, _) => way_to(host, *port).unwrap_or(ServerWay::Unknown),
        }
    }

    /// How connections are encrypted, if they are.
    pub fn tls(&self) -> Option<&TlsConnector> {
        match self {
            Route::Host(_, _, tls) => tls.as_ref(),
            Route::Private(_) | Route::Socket(_) => None,
        }
    }

    /// The facts of a run about its connections: the socket, which the URL need not name, and how they are encrypted.
    pub fn facts(&self) -> Vec<Fact> {
        let socket =
            if let Route::Socket(path) = self { Some(Fact::new("server.socket", path.as_str())) } else { None };
        socket.into_iter().chain(super::tls::tls_facts(self.tls())).collect()
    }

    /// Connects before `deadline`. Later reads and writes each give up after `patience`.
    pub fn connect(&self, deadline: Deadline, patience: Duration) -> io::Result<PlainStream> {
        let transport = match self {
            Route::Private(socket) => Transport::Unix(connect_unix(&socket.path, deadline)?),
            Route::Socket(path) => Transport::Unix(connect_unix(path, deadline)?),
            Route::Host(host, port, _) => Transport::Tcp(connect_tcp(host, *port, deadline)?),
        };
        // The deadline is of this connection attempt and the login; these limits hold for every later answer.
        transport.set_timeouts(patience)?;
        Ok(PlainStream { patience: Some(patience), deadline: Some(deadline), ..PlainStream::new(transport) })
    }

    /// Begins to connect without a wait, over a stream whose socket is handed over: whether it succeeds within `allowed` shows when bytes
    /// come. `None` if the queue of a unix socket is full; try again after [`QUEUE_IS_FULL`].
    pub fn begin_to_connect(&self, allowed: Duration) -> io::Result<Option<ServerStream>> {
        let begun = match self {
            Route::Private(socket) => begin_unix(&socket.path)?.map(PlainStream::from),
            Route::Socket(path) => begin_unix(path)?.map(PlainStream::from),
            Route::Host(host, port, _) => {
                let attempt = Attempt::begin(host, *port)?;
                let begun = begin_tcp(attempt.address);
                let (stream, _) = begun.map_err(|error| why_refused(host, *port, allowed, error))?;
                Some(PlainStream { attempt: Some(attempt), ..stream.into() })
            }
        };
        let mut begun = begun.map(ServerStream::from);
        begun.iter_mut().for_each(ServerStream::hand_over_socket);
        Ok(begun)
    }

    /// The error of a connection that was begun and has failed by `error` before the server was logged in to within `allowed`.
    #[cold]
    pub fn explain_begun(&self, error: io::Error, allowed: Duration) -> io::Error {
        match self {
            Route::Host(host, port, _) => why_refused(host, *port, allowed, error),
            Route::Private(_) | Route::Socket(_) => error,
        }
    }
}

fn why_refused(host: &str, port: u16, allowed: Duration, error: io::Error) -> io::Error {
    match error.kind() {
        ErrorKind::ConnectionRefused | ErrorKind::HostUnreachable | ErrorKind::NetworkUnreachable => {
            no_connection(host, port, allowed, Some(error))
        }
        _ => error,
    }
}

/// Connects to the socket at `path`. While the server's queue is full the kernel would wait for ever.
fn connect_unix(path: &str, deadline: Deadline) -> io::Result<UnixStream> {
    loop {
        match begin_unix(path)? {
            Some(stream) => return Ok(stream),
            None => std::thread::sleep(deadline.wait_at_most().map_err(unanswered)?.min(QUEUE_IS_FULL)),
        }
    }
}

/// Connects to the socket at `path` without a wait. `None` if the server's queue is full.
fn begin_unix(path: &str) -> io::Result<Option<UnixStream>> {
    let no_server = |error: Errno| {
        let (error, advice) = (io::Error::from(error), "start the server, or correct the path in the URL");
        let why = system_words(&error);
        explained_error(error.kind(), format!("no server at the socket `{path}`: {why}; {advice}"))
    };
    let address = SocketAddrUnix::new(path).map_err(no_server)?;
    let socket = new_socket(AddressFamily::UNIX)?;
    loop {
        match connect(&socket, &address) {
            Ok(()) => break,
            Err(Errno::AGAIN) => return Ok(None),
            Err(Errno::INTR) => {}
            Err(error) => return Err(no_server(error)),
        }
    }
    rustix::io::ioctl_fionbio(&socket, false)?;
    Ok(Some(socket.into()))
}

/// Between two attempts to connect to a unix socket whose queue is full.
pub const QUEUE_IS_FULL: Duration = Duration::from_millis(5);

/// A socket that does not wait.
fn new_socket(family: AddressFamily) -> io::Result<OwnedFd> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    Ok(socket_with(family, SocketType::STREAM, flags, None)?)
}

/// Connects to the first of the host's addresses that answers.
fn connect_tcp(host: &str, port: u16, deadline: Deadline) -> io::Result<TcpStream> {
    let mut last = None;
    // `localhost` is often both ::1 and 127.0.0.1, and a server may listen on one of them only.
    for address in resolve_host(host, port)? {
        match connect_address(address, deadline) {
            Ok(stream) => {
                host_addresses::note_answer(host, port, address);
                return Ok(stream);
            }
            Err(error) if has_cut_a_wait() => return Err(error),
            Err(error) => last = Some(error),
        }
    }
    Err(no_connection(host, port, deadline.allowed(), last))
}

/// How long a connection says nothing before the kernel asks whether the other side is there. Firewalls and balancers forget connections
/// after five minutes, and a connection that a long load or a long point does not use must be there after it.
const QUIET_MAX: Duration = Duration::from_secs(60);
/// Between two such questions.
const ASK_AGAIN: Duration = Duration::from_secs(10);
/// Questions without an answer after which the connection is lost.
const UNANSWERED_MAX: u32 = 6;

fn keep_alive(stream: &OwnedFd) -> io::Result<()> {
    use rustix::net::sockopt;
    sockopt::set_socket_keepalive(stream, true)?;
    sockopt::set_tcp_keepidle(stream, QUIET_MAX)?;
    sockopt::set_tcp_keepintvl(stream, ASK_AGAIN)?;
    Ok(sockopt::set_tcp_keepcnt(stream, UNANSWERED_MAX)?)
}

/// Connects to `address` before `deadline`.
fn connect_address(address: SocketAddr, deadline: Deadline) -> io::Result<TcpStream> {
    let (stream, is_connected) = begin_tcp(address)?;
    if !is_connected {
        wait_until_ready(&stream, deadline, PollFlags::OUT)?;
        rustix::net::sockopt::socket_error(&stream)??;
    }
    Ok(stream)
}

/// Begins to connect to `address`, without a wait, and returns whether that was all. The socket waits for what comes later.
fn begin_tcp(address: SocketAddr) -> io::Result<(TcpStream, bool)> {
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let socket = new_socket(family)?;
    // Nagle's algorithm would hold back a small statement until the answer to the one before is acknowledged.
    rustix::net::sockopt::set_tcp_nodelay(&socket, true)?;
    keep_alive(&socket)?;
    let is_connected = match connect(&socket, &address) {
        Ok(()) => true,
        Err(Errno::INPROGRESS | Errno::INTR) => false,
        Err(error) => return Err(error.into()),
    };
    rustix::io::ioctl_fionbio(&socket, false)?;
    Ok((socket.into(), is_connected))
}

/// Waits until `socket` is ready, or has failed, before `deadline`.
#[cold]
fn wait_until_ready(socket: &impl AsFd, deadline: Deadline, ready: PollFlags) -> io::Result<()> {
    loop {
        match poll(&mut [PollFd::new(socket, ready)], Some(&timespec(deadline.wait_at_most().map_err(unanswered)?))) {
            // The loop looks at the time that is left, which is an error when there is none.
            Ok(0) | Err(Errno::INTR) => {}
            Ok(_) => return Ok(()),
            Err(error) => return Err(error.into()),
        }
    }
}

/// Waits for the answer to what was sent, for as long as a read would, which is for ever without `patience`. A read that waits itself at a unix socket is
/// woken twice for each answer: the kernel wakes it also when the server takes the question and so makes room. A poll is woken by
/// the answer alone. With a client and its server on one CPU that makes a point select a fifth faster.
#[inline]
fn wait_for_answer(socket: &impl AsFd, patience: Option<Duration>) -> io::Result<()> {
    match poll(&mut [PollFd::new(socket, PollFlags::IN)], patience.map(timespec).as_ref())? {
        0 => Err(ErrorKind::WouldBlock.into()),
        _ => Ok(()),
    }
}

fn timespec(time: Duration) -> Timespec {
    Timespec { tv_sec: time.as_secs() as i64, tv_nsec: time.subsec_nanos().into() }
}

/// The way to the first address of `host` to which there is a route. Nothing is sent: the kernel chooses the address of a socket for
/// datagrams when it is connected.
fn way_to(host: &str, port: u16) -> Option<ServerWay> {
    resolve_host(host, port).ok()?.find_map(|server| {
        let any: IpAddr = if server.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
        let socket = UdpSocket::bind((any, 0)).ok()?;
        socket.connect(server).ok()?;
        Some(ServerWay::Network { client: socket.local_addr().ok()?.ip(), server: server.ip() })
    })
}

/// The error of a host whose addresses were all tried, of which the last failed by `error`.
fn no_connection(host: &str, port: u16, allowed: Duration, error: Option<io::Error>) -> io::Error {
    let Some(error) = error else { return host_addresses::without_address(host) };
    let why = match error.kind() {
        ErrorKind::ConnectionRefused => "connection refused".to_owned(),
        ErrorKind::TimedOut => format!("no answer within {} s", allowed.as_secs_f64()),
        _ => system_words(&error),
    };
    // What other clients reach by the name `localhost` may be a socket in a place of its own.
    let socket = if host == "localhost" { "; if it has a socket, name that: `?socket=PATH`" } else { "" };
    let text = format!(
        "{why} at host `{host}`, port {port}; start the server, or correct the host and port in the URL{socket}"
    );
    explained_error(error.kind(), text)
}

enum Transport {
    Unix(UnixStream),
    Tcp(TcpStream),
}

impl Transport {
    fn set_timeouts(&self, patience: Duration) -> io::Result<()> {
        match self {
            Transport::Unix(stream) => {
                stream.set_read_timeout(Some(patience))?;
                stream.set_write_timeout(Some(patience))
            }
            Transport::Tcp(stream) => {
                stream.set_read_timeout(Some(patience))?;
                stream.set_write_timeout(Some(patience))
            }
        }
    }
}

impl AsFd for Transport {
    #[inline]
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Transport::Unix(stream) => stream.as_fd(),
            Transport::Tcp(stream) => stream.as_fd(),
        }
    }
}

/// A connected socket in clear text. Reads and writes end at its time-outs, and at its deadline while it has one.
pub struct PlainStream {
    transport: Transport,
    /// The time-out of its socket.
    patience: Option<Duration>,
    deadline: Option<Deadline>,
    /// Whether something was written since the last read.
    has_asked: bool,
    /// What is read and written in place of the socket, once that was handed over.
    memory: Option<Box<SocketMemory>>,
    /// The attempt to reach the server, if it was begun without a wait and nothing has come yet.
    attempt: Option<Attempt>,
}

impl PlainStream {
    fn new(transport: Transport) -> PlainStream {
        PlainStream { transport, patience: None, deadline: None, has_asked: false, memory: None, attempt: None }
    }
}

impl From<UnixStream> for PlainStream {
    fn from(stream: UnixStream) -> PlainStream {
        PlainStream::new(Transport::Unix(stream))
    }
}

impl From<TcpStream> for PlainStream {
    fn from(stream: TcpStream) -> PlainStream {
        PlainStream::new(Transport::Tcp(stream))
    }
}

impl AsFd for PlainStream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.transport.as_fd()
    }
}

impl Read for PlainStream {
    #[inline]
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if let Some(memory) = &mut self.memory {
            let read = memory.read(buffer)?;
            // Who says something has answered, be it to refuse the login.
            if let Some(attempt) = self.attempt.take_if(|_| read > 0) {
                attempt.succeed();
            }
            return Ok(read);
        }
        let has_asked = std::mem::take(&mut self.has_asked);
        if let Some(deadline) = self.deadline {
            wait_until_ready(self, deadline, PollFlags::IN)?;
        } else if has_asked && matches!(self.transport, Transport::Unix(_)) {
            wait_for_answer(self, self.patience)?;
        }
        match &mut self.transport {
            Transport::Unix(stream) => stream.read(buffer),
            Transport::Tcp(stream) => stream.read(buffer),
        }
    }
}

impl Write for PlainStream {
    #[inline]
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if let Some(memory) = &mut self.memory {
            return memory.write(bytes);
        }
        if let Some(deadline) = self.deadline {
            wait_until_ready(self, deadline, PollFlags::OUT)?;
        }
        self.has_asked = true;
        match &mut self.transport {
            Transport::Unix(stream) => stream.write(bytes),
            Transport::Tcp(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A connection to a server.
pub struct ServerStream {
    socket: PlainStream,
    /// `None` in clear text.
    encryption: Option<Box<ClientConnection>>,
}

impl<S: Into<PlainStream>> From<S> for ServerStream {
    fn from(socket: S) -> ServerStream {
        ServerStream { socket: socket.into(), encryption: None }
    }
}

impl ServerStream {
    /// From now on all is encrypted, once [`ServerStream::shake_hands`] has succeeded.
    pub fn begin_tls(&mut self, tls: &TlsConnector) -> io::Result<()> {
        self.encryption = Some(tls.begin()?);
        Ok(())
    }

    /// Does the handshake that was begun, as [`TlsConnector::shake_hands`] does.
    pub fn shake_hands(&mut self, tls: &TlsConnector) -> io::Result<()> {
        let connection = self.encryption.as_mut().expect("TLS was begun");
        tls.shake_hands(connection, &mut self.socket)
    }

    /// Whether TLS was begun.
    pub fn is_encrypted(&self) -> bool {
        self.encryption.is_some()
    }

    /// Sets the moment at which reads and writes end, or lets each wait for its socket's time-out.
    pub fn set_deadline(&mut self, deadline: Option<Deadline>) {
        self.socket.deadline = deadline;
    }

    /// Whether others on the network can read what is sent: TCP in clear text.
    pub fn is_open_to_others(&self) -> bool {
        !self.is_encrypted() && matches!(self.socket.transport, Transport::Tcp(_))
    }

    /// Closes the connection in both directions, so that every later read and write fails.
    pub fn shut_down(&self) {
        // It fails if the server has closed the connection, which is as good.
        let _ = match &self.socket.transport {
            Transport::Unix(stream) => stream.shutdown(Shutdown::Both),
            Transport::Tcp(stream) => stream.shutdown(Shutdown::Both),
        };
    }

    /// From now on reads and writes are those of a memory, and the socket is another's to read and write.
    pub fn hand_over_socket(&mut self) {
        let memory = &mut self.socket.memory;
        memory.get_or_insert_default();
        self.socket.deadline = None;
    }

    /// The socket that was handed over.
    #[inline]
    pub fn handed_socket(&mut self) -> HandedSocket<'_> {
        let PlainStream { transport, memory, .. } = &mut self.socket;
        HandedSocket { fd: (*transport).as_fd(), memory: memory.as_mut().expect("the socket was handed over") }
    }

    /// Sends `bytes` before the connection is closed, as far as that is possible without a wait if the socket was handed over.
    pub fn send_last(&mut self, bytes: &[u8]) {
        // The server may have closed the connection.
        let _ = self.write_all(bytes);
        if let PlainStream { transport, memory: Some(memory), .. } = &self.socket {
            let _ = rustix::net::send(transport, &memory.outgoing, SendFlags::DONTWAIT | SendFlags::NOSIGNAL);
        }
    }
}

impl AsFd for ServerStream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Read for ServerStream {
    #[inline]
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match &mut self.encryption {
            None => self.socket.read(buffer),
            Some(connection) => rustls::Stream::new(&mut **connection, &mut self.socket).read(buffer),
        }
    }
}

impl Write for ServerStream {
    #[inline]
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.encryption {
            None => self.socket.write(bytes),
            Some(connection) => rustls::Stream::new(&mut **connection, &mut self.socket).write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.encryption {
            None => self.socket.flush(),
            Some(connection) => rustls::Stream::new(&mut **connection, &mut self.socket).flush(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peer_that_sends_a_byte_now_and_then_is_left_at_the_deadline() {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        theirs.write_all(b"abc").unwrap();
        let mut stream = ServerStream::from(ours);
        stream.set_deadline(Some(Deadline::unless_interrupted(Duration::from_millis(50))));
        let mut answer = [0; 4];
        let error = stream.read_exact(&mut answer).unwrap_err();
        assert_eq!(explanation(&error), Some("the server gave no complete answer within 0.05 s"));
        theirs.write_all(b"d").unwrap();
        assert_eq!(
            stream.read(&mut answer).unwrap_err().kind(),
            ErrorKind::TimedOut,
            "bytes that are there come too late"
        );
        stream.set_deadline(None);
        assert_eq!(stream.read(&mut answer).unwrap(), 1);
    }

    #[test]
    fn a_server_that_does_not_answer_on_a_unix_socket_is_left_after_the_patience() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("s").display().to_string();
        let server = std::os::unix::net::UnixListener::bind(&path).unwrap();
        let deadline = Deadline::unless_interrupted(CONTROL_ANSWER);
        let mut stream = ServerStream::from(Route::Socket(path).connect(deadline, Duration::from_millis(20)).unwrap());
        stream.set_deadline(None);
        let (mut theirs, _) = server.accept().unwrap();
        stream.write_all(b"question").unwrap();
        let mut answer = [0; 4];
        assert_eq!(stream.read(&mut answer).unwrap_err().kind(), ErrorKind::WouldBlock);
        stream.write_all(b"another").unwrap();
        theirs.write_all(b"yes").unwrap();
        assert_eq!(stream.read(&mut answer).unwrap(), 3);
        stream.write_all(b"the last").unwrap();
        drop(theirs);
        assert!(matches!(stream.read(&mut answer), Ok(0) | Err(_)), "an end is an answer, too");
    }

    #[test]
    fn a_connection_that_says_nothing_is_kept_alive() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let stream = connect_tcp("127.0.0.1", port, Deadline::unless_interrupted(Duration::from_secs(10))).unwrap();
        assert!(rustix::net::sockopt::socket_keepalive(&stream).unwrap());
        assert_eq!(rustix::net::sockopt::tcp_keepidle(&stream).unwrap(), QUIET_MAX);
    }

    #[test]
    fn a_peer_that_takes_nothing_is_left_at_the_deadline() {
        let (ours, _theirs) = UnixStream::pair().unwrap();
        let mut stream = ServerStream::from(ours);
        rustix::io::ioctl_fionbio(&stream, true).unwrap();
        while stream.write(&[0; 1 << 16]).is_ok() {}
        stream.set_deadline(Some(Deadline::unless_interrupted(Duration::from_millis(20))));
        assert_eq!(stream.write(&[0; 1 << 16]).unwrap_err().kind(), ErrorKind::TimedOut);
    }

    fn refused(route: Route) -> String {
        let error =
            route.connect(Deadline::unless_interrupted(CONTROL_ANSWER), CONTROL_ANSWER).err().expect("an error");
        explanation(&error).expect("an explanation").to_owned()
    }

    #[test]
    fn a_server_that_is_not_there_is_named_in_plain_words() {
        // Nobody listens on a port that was free a moment ago.
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let text = refused(Route::Host("127.0.0.1".into(), port, None));
        assert!(text.starts_with(&format!("connection refused at host `127.0.0.1`, port {port};")), "{text}");
        assert!(!text.contains("socket"), "{text}");
        let text = refused(Route::Host("localhost".into(), port, None));
        assert!(text.ends_with("; if it has a socket, name that: `?socket=PATH`"), "{text}");
        let text = refused(Route::Socket("/nonexistent/s.sock".into()));
        assert!(
            text.starts_with("no server at the socket `/nonexistent/s.sock`: No such file or directory;"),
            "{text}"
        );
        let text = refused(Route::Host("no such host".into(), 1, None));
        assert!(text.starts_with("unknown host `no such host`;") && !text.contains("lookup"), "{text}");
    }
}
