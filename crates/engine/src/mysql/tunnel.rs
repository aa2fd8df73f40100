//! Has the crate `mysql` log in over a connection that is encrypted here.
//!
//! In: a server, how to encrypt, whom to log in. Out: the crate's connection, and the encrypted one below it, which can be taken
//! over. Limits: a thread for each connection that is not; to be logged in takes a socket and a thread more than it would, which a
//! connection per transaction has in its response times.
//!
//! The crate would encrypt by itself, but then nobody else could read its connection, and it trusts issuers that nobody named
//! (docs/journal/2026-11-21-sql-clients.md). Instead it comes to a socket of this process, and a thread carries what it says. To the
//! crate that is a unix socket, over which a password may go in clear text: it is, into what is encrypted.
//!
//! What a client says first has the same 32 bytes as what asks for TLS, which is said before and counted, too
//! (<https://mariadb.com/docs/server/reference/clientserver-protocol/1-connecting/connection>): so until it is logged in, packets to
//! the server have a number that is higher by one.

use super::client::{failure, wire_failure};
use super::wire::{ERR, HEADER, OK, WireError, said};
use crate::server::network::{self, CONNECT_AT_MOST};
use crate::server::tls::{Encrypted, Tls};
use crate::sql::OpFailure;
use ::mysql::{Conn, OptsBuilder};
use model::FailureClass;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::fs::{DirBuilder, remove_dir, remove_file};
use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread::JoinHandle;
use std::time::Duration;

/// A server to which connections are encrypted.
#[derive(Clone)]
pub struct Way {
    /// Its host
    pub host: String,
    /// and port,
    pub port: u16,
    /// and how.
    pub tls: Tls,
}

impl Way {
    /// Has the crate log in with `opts`: its connection, and what that goes through.
    pub fn open(&self, opts: OptsBuilder, patience: Duration) -> Result<(Conn, Tunnel), OpFailure> {
        let mut server = network::connect(&self.host, self.port, patience).map_err(lost)?;
        let greeting = packet(&mut server).map_err(lost)?;
        self.check(&greeting).map_err(wire_failure)?;
        let door = Door::open(&std::env::temp_dir()).map_err(lost)?;
        let opts = opts.socket(Some(door.path()));
        let tls = self.tls.clone();
        let carries = std::thread::Builder::new().name("tunnel".into());
        let carrier = carries.spawn(move || {
            let mut near = door.let_in()?;
            let mut far = Channel(log_in(&mut near, server, &greeting, &tls)?);
            carry(&mut near, &mut far).map(|()| far)
        });
        let tunnel = Tunnel(carrier.map_err(lost)?);
        match Conn::new(opts) {
            Ok(connection) => Ok((connection, tunnel)),
            // What the crate has to say is that nobody answered, where the tunnel broke.
            Err(error) => Err(tunnel.ended().err().filter(is_refusal).map_or_else(|| failure(error), lost)),
        }
    }

    /// Refuses a server that does not let us in, or not in this way.
    fn check(&self, greeting: &[u8]) -> Result<(), WireError> {
        const PROTOCOL: u8 = 10;
        let body = &greeting[HEADER..];
        match body.first() {
            Some(&ERR) => Err(said(body)),
            Some(&PROTOCOL) if has_tls(body) => Ok(()),
            Some(&PROTOCOL) => Err(self.tls.is_missing().into()),
            _ => Err(io::Error::new(ErrorKind::InvalidData, "it does not speak the protocol of MySQL").into()),
        }
    }
}

/// In the abilities of servers and clients.
const SSL: u16 = 0x0800;

/// Whether the server can encrypt: its abilities stand behind its version, which ends with 0, a number of four bytes and nine of salt.
fn has_tls(greeting: &[u8]) -> bool {
    let version = greeting.iter().position(|byte| *byte == 0);
    let abilities = version.and_then(|end| greeting.get(end + 1 + 4 + 9..)?.first_chunk());
    abilities.is_some_and(|bytes| u16::from_le_bytes(*bytes) & SSL != 0)
}

/// Where the crate comes in: a socket in a directory that is closed to others, and is gone when it has.
struct Door {
    dir: PathBuf,
    socket: PathBuf,
    listener: UnixListener,
}

impl Door {
    fn open(parent: &Path) -> io::Result<Door> {
        let dir = closed_directory(parent)?;
        let socket = dir.join("s");
        match UnixListener::bind(&socket) {
            Ok(listener) => Ok(Door { dir, socket, listener }),
            Err(error) => remove_dir(&dir).and(Err(error)),
        }
    }

    fn path(&self) -> String {
        self.socket.to_string_lossy().into_owned()
    }

    /// The one who comes; the door is closed behind him.
    fn let_in(self) -> io::Result<UnixStream> {
        // Who does not come now could not.
        let most = Timespec { tv_sec: CONNECT_AT_MOST.as_secs() as i64, tv_nsec: 0 };
        match poll(&mut [PollFd::new(&self.listener, PollFlags::IN)], Some(&most))? {
            0 => Err(ErrorKind::TimedOut.into()),
            _ => self.listener.accept().map(|(stream, _)| stream),
        }
    }
}

/// A new directory in `parent` that is closed to others. Who was killed while it came in has left one, and in a container a process
/// may have the number of the one before.
fn closed_directory(parent: &Path) -> io::Result<PathBuf> {
    static OPENED: AtomicU64 = AtomicU64::new(0);
    loop {
        let dir = parent.join(format!("plimsoll-{}-{}", std::process::id(), OPENED.fetch_add(1, Relaxed)));
        match DirBuilder::new().mode(0o700).create(&dir) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            made => return made.map(|()| dir),
        }
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        let _ = remove_file(&self.socket).and_then(|()| remove_dir(&self.dir)); // an empty directory is all that stays
    }
}

/// The thread that carries what the crate says. Where nobody takes the connection over, it ends when the crate has said goodbye.
pub struct Tunnel(JoinHandle<io::Result<Channel>>);

impl Tunnel {
    /// The encrypted connection itself, without the crate's, which has said all that it has to say.
    pub fn taken_over(self, connection: Conn) -> Result<Channel, OpFailure> {
        drop(connection);
        self.ended().map_err(lost)
    }

    fn ended(self) -> io::Result<Channel> {
        self.0.join().unwrap_or_else(|_| Err(io::Error::other("the thread that encrypts has panicked")))
    }
}

/// An encrypted connection that is logged in.
pub struct Channel(Encrypted);

impl Channel {
    /// The socket, whose bytes are encrypted.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.0.get_ref().as_fd()
    }
}

impl Read for Channel {
    #[inline]
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer)
    }
}

impl Write for Channel {
    #[inline]
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// The command that ends a connection.
const QUIT: [u8; 5] = [1, 0, 0, 0, 1];

impl Drop for Channel {
    /// A server that is told goodbye does not count an aborted client.
    fn drop(&mut self) {
        let _ = self.0.write_all(&QUIT); // it may have gone before
    }
}

/// One who knows the way in has got the second byte of this behind its first: the rest of the login follows.
const ALREADY_KNOWN: [u8; 2] = [1, 3];

/// Carries packets until the server has let the crate in, or has said why not.
fn log_in(near: &mut UnixStream, mut server: TcpStream, greeting: &[u8], tls: &Tls) -> io::Result<Encrypted> {
    near.write_all(greeting)?;
    let mut first = packet(near)?;
    server.write_all(&asks_for_tls(&mut first)?)?;
    let mut far = tls.over(server)?;
    renumber(&mut first, 1);
    far.write_all(&first)?;
    loop {
        let mut answer = packet(&mut far)?;
        renumber(&mut answer, -1);
        near.write_all(&answer)?;
        match &answer[HEADER..] {
            [OK | ERR, ..] => return Ok(far),
            body if *body == ALREADY_KNOWN => continue,
            _ => {}
        }
        let mut more = packet(near)?;
        renumber(&mut more, 1);
        far.write_all(&more)?;
    }
}

/// The packet that asks for TLS on behalf of who says `first`, which is marked as encrypted.
fn asks_for_tls(first: &mut [u8]) -> io::Result<Vec<u8>> {
    const ASKED: usize = 32;
    let too_short = || io::Error::new(ErrorKind::InvalidData, "the first packet is too short");
    let body = first.get_mut(HEADER..HEADER + ASKED).ok_or_else(too_short)?;
    body[1] |= SSL.to_le_bytes()[1];
    Ok([&[ASKED as u8, 0, 0, 1], &*body].concat())
}

fn renumber(packet: &mut [u8], by: i8) {
    packet[HEADER - 1] = packet[HEADER - 1].wrapping_add_signed(by);
}

/// One packet, with its header: of a login, so a short one.
fn packet(stream: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; HEADER];
    stream.read_exact(&mut bytes)?;
    let [low, high, 0, _] = bytes[..] else {
        return Err(io::Error::new(ErrorKind::InvalidData, "it does not speak the protocol of MySQL"));
    };
    bytes.resize(HEADER + usize::from(u16::from_le_bytes([low, high])), 0);
    stream.read_exact(&mut bytes[HEADER..])?;
    Ok(bytes)
}

/// Carries both ways what comes, until the crate says goodbye, which the server is not told: it may go on without the crate.
fn carry(near: &mut UnixStream, far: &mut Channel) -> io::Result<()> {
    let mut buffer = vec![0; 16 << 10];
    loop {
        while let Some(came) = decrypted(far, &mut buffer)? {
            near.write_all(&buffer[..came])?;
        }
        let [from_near, from_far] = wait_for(near, far)?;
        if from_near {
            match near.read(&mut buffer)? {
                0 => return Ok(()),
                said if buffer[..said] == QUIT => return Ok(()),
                said => far.write_all(&buffer[..said])?,
            }
        }
        if from_far {
            receive(far)?;
        }
    }
}

/// Which of the two have something, or have gone.
fn wait_for(near: &UnixStream, far: &Channel) -> io::Result<[bool; 2]> {
    let mut polled = [near.as_fd(), far.0.sock.as_fd()].map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN));
    while let Err(error) = poll(&mut polled, None) {
        if error != rustix::io::Errno::INTR {
            return Err(error.into());
        }
    }
    Ok(polled.map(|polled| !polled.revents().is_empty()))
}

/// What was received already, and is complete.
fn decrypted(far: &mut Channel, buffer: &mut [u8]) -> io::Result<Option<usize>> {
    match far.0.conn.reader().read(buffer) {
        Ok(0) => Err(ErrorKind::UnexpectedEof.into()),
        Ok(came) => Ok(Some(came)),
        Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(None),
        Err(error) => Err(error),
    }
}

fn receive(far: &mut Channel) -> io::Result<()> {
    let stream = &mut *far.0;
    if stream.conn.read_tls(&mut stream.sock)? == 0 {
        return Err(ErrorKind::UnexpectedEof.into());
    }
    stream.conn.process_new_packets().map(drop).map_err(io::Error::other)
}

fn is_refusal(error: &io::Error) -> bool {
    error.kind() == ErrorKind::PermissionDenied
}

fn lost(error: io::Error) -> OpFailure {
    OpFailure { class: FailureClass::Lost, ..wire_failure(error.into()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_can_encrypt_says_so_in_its_greeting() {
        let greeting = |abilities: u16| {
            [b"\x0a11.4.2-MariaDB\0", &[1, 0, 0, 0][..], b"saltsalt\0", &abilities.to_le_bytes()].concat()
        };
        assert!(has_tls(&greeting(0xffff)) && !has_tls(&greeting(!SSL)));
        assert!(!has_tls(b"") && !has_tls(b"\x0aversion without an end"));
    }

    #[test]
    fn who_asks_for_tls_says_what_is_said_again_encrypted() {
        let mut first = [&[40, 0, 0, 1][..], &[0x85, 0xa6], &[7; 38]].concat();
        let asked = asks_for_tls(&mut first).unwrap();
        assert_eq!((asked.len(), &asked[..HEADER], &asked[HEADER..]), (36, &[32, 0, 0, 1][..], &first[HEADER..36]));
        assert_eq!(first[5], 0xae, "with the mark");
        renumber(&mut first, 1);
        assert_eq!(first[3], 2);
        assert!(asks_for_tls(&mut [0; 20]).is_err());
    }

    #[test]
    fn a_door_is_closed_to_others_and_gone_when_somebody_has_come() {
        use std::os::unix::fs::PermissionsExt;
        let parent = tempfile::tempdir().unwrap();
        let door = Door::open(parent.path()).unwrap();
        let dir = door.dir.clone();
        assert_eq!(std::fs::metadata(&dir).unwrap().permissions().mode() & 0o777, 0o700);
        let mut who = UnixStream::connect(door.path()).unwrap();
        let mut inside = door.let_in().unwrap();
        assert!(!dir.exists());
        who.write_all(b"x").unwrap();
        inside.read_exact(&mut [0]).unwrap();
    }

    #[test]
    fn what_a_killed_process_of_the_same_number_has_left_is_no_door() {
        let parent = tempfile::tempdir().unwrap();
        let left = |nth: u32| parent.path().join(format!("plimsoll-{}-{nth}", std::process::id()));
        (0..64).for_each(|nth| std::fs::create_dir(left(nth)).unwrap());
        let door = Door::open(parent.path()).unwrap();
        assert!((0..64).all(|nth| door.dir != left(nth) && left(nth).exists()));
    }
}
