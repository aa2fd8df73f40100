//! A server that answers each execution of a prepared statement with the same bytes, so that its clients are all that is measured.
//!
//! In: the socket of a PostgreSQL. Out: a unix socket and a port of the loopback with that server behind them. What a client sends is passed on,
//! until the second execution shows that the first was answered: from then on each is answered here with a copy of that answer. Limits:
//! one prepared statement outside of transactions, without TLS; an execution is a Bind at the beginning and a Sync at the end of what one read
//! gives, so that one client must not send several at once.

use anyhow::{Context, Result};
use std::fs::File;
use std::io::{self, Read, Write};
use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// An execution as a client sends it, and its answer.
pub struct Exchange {
    pub message: Vec<u8>,
    pub answer: Vec<u8>,
}

pub struct CannedServer {
    pub socket: PathBuf,
    pub port: u16,
    behind: Arc<Behind>,
}

/// What all connections share.
struct Behind {
    /// The socket of the server that is asked first.
    server: PathBuf,
    known: OnceLock<Exchange>,
}

impl CannedServer {
    /// Listens with a socket in `dir`, where the server has its own, and on the loopback, for as long as the process runs.
    pub fn start(dir: &Path) -> Result<CannedServer> {
        let behind = Arc::new(Behind { server: dir.join(".s.PGSQL.5432"), known: OnceLock::new() });
        let socket = dir.join("canned.sock");
        let local = UnixListener::bind(&socket).with_context(|| format!("cannot listen at `{}`", socket.display()))?;
        let network = TcpListener::bind("127.0.0.1:0").context("cannot listen on the loopback")?;
        let port = network.local_addr()?.port();
        let shared = behind.clone();
        std::thread::spawn(move || shared.serve_all(|| Ok(local.accept()?.0.into())));
        let shared = behind.clone();
        std::thread::spawn(move || {
            shared.serve_all(|| {
                let (stream, _) = network.accept()?;
                stream.set_nodelay(true)?;
                Ok(stream.into())
            })
        });
        Ok(CannedServer { socket, port, behind })
    }

    /// The execution that is answered here, if a client has made two.
    pub fn exchange(&self) -> Option<&Exchange> {
        self.behind.known.get()
    }
}

impl Behind {
    /// Serves what `accept` gives, each connection by a thread of its own.
    fn serve_all(self: Arc<Self>, mut accept: impl FnMut() -> io::Result<OwnedFd>) {
        while let Ok(client) = accept() {
            let behind = self.clone();
            // A client that goes away ends its connection, which is no failure.
            std::thread::spawn(move || behind.serve(client.into()));
        }
    }

    /// A socket is read and written like a file.
    fn serve(&self, mut client: File) -> io::Result<()> {
        let mut server = UnixStream::connect(&self.server)?;
        let answer = Arc::new(Mutex::new(Vec::new()));
        let (from, to, kept) = (server.try_clone()?, client.try_clone()?, answer.clone());
        let passing = std::thread::spawn(move || pass_answers(from, to, &kept));
        let (mut buffer, mut asked) = (vec![0; 64 << 10], Vec::new());
        loop {
            // A client that is killed ends its connection by an error.
            let sent = match client.read(&mut buffer).unwrap_or(0) {
                0 => break,
                bytes => &buffer[..bytes],
            };
            if !is_execution(sent) {
                asked.clear();
            } else if let Some(known) = self.known.get() {
                client.write_all(&known.answer)?;
                continue;
            } else if !asked.is_empty() {
                // The client has read the answer to the last execution, or it would not ask again.
                let answer = std::mem::take(&mut *answer.lock().unwrap_or_else(PoisonError::into_inner));
                let known = self.known.get_or_init(|| Exchange { message: std::mem::take(&mut asked), answer });
                client.write_all(&known.answer)?;
                continue;
            } else {
                asked = sent.to_vec();
                answer.lock().unwrap_or_else(PoisonError::into_inner).clear();
            }
            server.write_all(sent)?;
        }
        // It fails if the server has closed the connection, which is as good.
        let _ = server.shutdown(std::net::Shutdown::Both);
        let _ = passing.join();
        Ok(())
    }
}

/// Passes what the server sends on to the client, and keeps it.
fn pass_answers(mut server: UnixStream, mut client: File, kept: &Mutex<Vec<u8>>) -> io::Result<()> {
    let mut buffer = vec![0; 64 << 10];
    loop {
        let bytes = server.read(&mut buffer)?;
        if bytes == 0 {
            return Ok(rustix::net::shutdown(&client, rustix::net::Shutdown::Both)?);
        }
        // Before the client has it: what the client sends next ends the answer.
        kept.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(&buffer[..bytes]);
        client.write_all(&buffer[..bytes])?;
    }
}

/// Whether a client sent Bind, Execute and Sync (<https://www.postgresql.org/docs/current/protocol-message-formats.html>).
fn is_execution(sent: &[u8]) -> bool {
    sent.starts_with(b"B") && sent.ends_with(b"S\0\0\0\x04")
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXECUTION: &[u8] = b"B\0\0\0\x06\0\0S\0\0\0\x04";

    #[test]
    fn executions_are_answered_by_the_server_once_and_all_else_always() {
        let dir = tempfile::tempdir().unwrap();
        let listener = UnixListener::bind(dir.path().join(".s.PGSQL.5432")).unwrap();
        // It counts what it was sent, and answers with the number.
        let server = std::thread::spawn(move || {
            let (mut stream, mut buffer, mut heard) = (listener.accept().unwrap().0, [0; 100], 0);
            while stream.read(&mut buffer).unwrap() > 0 {
                heard += 1;
                stream.write_all(&[heard]).unwrap();
            }
        });
        let canned = CannedServer::start(dir.path()).unwrap();
        let mut client = UnixStream::connect(&canned.socket).unwrap();
        let mut ask = |text: &[u8]| {
            client.write_all(text).unwrap();
            let mut answer = [0];
            client.read_exact(&mut answer).unwrap();
            answer[0]
        };
        let asked: [&[u8]; 5] = [b"Q", EXECUTION, EXECUTION, b"Q", EXECUTION];
        assert_eq!(asked.map(&mut ask), [1, 2, 2, 3, 2]);
        let Exchange { message, answer } = canned.exchange().unwrap();
        assert_eq!((&message[..], &answer[..]), (EXECUTION, &[2][..]));
        drop(client);
        server.join().unwrap();
    }
}
