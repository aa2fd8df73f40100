//! A server for thousands of connections on one thread, so that its clients are all that is measured.
//!
//! In: the socket of a PostgreSQL. Out: a unix socket with that server behind it. What PostgreSQL has answered to a login, to the
//! preparation of a statement or to the execution of one is answered here if the same bytes come again; of an execution the arguments may
//! be others. All else is passed on, over a connection of the client's own that first hears what was answered here. Limits: one prepared
//! statement outside of transactions, without TLS; a client waits for each answer, so that one read gives what belongs together.

use anyhow::{Context, Result};
use rustix::event::epoll::{self, Event, EventData, EventFlags};
use std::collections::HashMap;
use std::io::{self, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

/// The server of a crowd.
struct Crowd {
    listener: UnixListener,
    /// The socket of the server that is asked first.
    server: PathBuf,
    epoll: OwnedFd,
    seats: Vec<Option<Seat>>,
    free: Vec<usize>,
    /// Answers to logins and preparations, by what was asked.
    known: HashMap<Vec<u8>, Vec<u8>>,
    /// The answer to an execution.
    execution: Option<Vec<u8>>,
    buffer: Vec<u8>,
}

struct Seat {
    client: UnixStream,
    /// What was answered here.
    said: Vec<Vec<u8>>,
    behind: Option<UnixStream>,
}

/// The name of the listener among those of events. Seat n has the names 2n for the client and 2n + 1 for the server.
const LISTENER: u64 = u64::MAX;

/// The message Terminate, of which a server that was never asked need not know.
const LEAVE: &[u8] = b"X";

/// Listens with a socket in `dir`, where the server has its own, for as long as the process runs.
pub fn serve_crowd(dir: &Path) -> Result<PathBuf> {
    let socket = dir.join("crowd.sock");
    let listener = UnixListener::bind(&socket).with_context(|| format!("cannot listen at `{}`", socket.display()))?;
    let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    epoll::add(&epoll, &listener, EventData::new_u64(LISTENER), EventFlags::IN)?;
    let mut crowd = Crowd {
        listener,
        server: dir.join(".s.PGSQL.5432"),
        epoll,
        seats: Vec::new(),
        free: Vec::new(),
        known: HashMap::new(),
        execution: None,
        buffer: vec![0; 64 << 10],
    };
    std::thread::spawn(move || crowd.serve_all());
    Ok(socket)
}

impl Crowd {
    fn serve_all(&mut self) -> io::Result<()> {
        loop {
            let mut events = [MaybeUninit::uninit(); 64];
            let (ready, _) = epoll::wait(&self.epoll, &mut events, None)?;
            for name in ready.iter().map(|event: &Event| event.data.u64()) {
                if name == LISTENER {
                    self.seat_client()?;
                    continue;
                }
                let seat = (name / 2) as usize;
                let served = if name % 2 == 0 { self.hear_client(seat) } else { self.hear_server(seat) };
                if served.is_err() {
                    // Both sockets are closed, which ends their watches.
                    self.seats[seat] = None;
                    self.free.push(seat);
                }
            }
        }
    }

    fn seat_client(&mut self) -> io::Result<()> {
        let (client, _) = self.listener.accept()?;
        let seat = self.free.pop().unwrap_or_else(|| {
            self.seats.push(None);
            self.seats.len() - 1
        });
        epoll::add(&self.epoll, &client, EventData::new_u64(2 * seat as u64), EventFlags::IN)?;
        self.seats[seat] = Some(Seat { client, said: Vec::new(), behind: None });
        Ok(())
    }

    /// Answers what a client has sent, or passes it on. An error ends the connection.
    fn hear_client(&mut self, number: usize) -> io::Result<()> {
        let Some(seat) = &mut self.seats[number] else { return Ok(()) };
        let sent = match seat.client.read(&mut self.buffer)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            bytes => &self.buffer[..bytes],
        };
        let answer = match is_execution(sent) {
            true => self.execution.as_ref(),
            false => self.known.get(sent).filter(|_| seat.behind.is_none()),
        };
        if let Some(answer) = answer {
            if !is_execution(sent) {
                seat.said.push(sent.to_vec());
            }
            return seat.client.write_all(answer);
        }
        if seat.behind.is_none() && sent.starts_with(LEAVE) {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        if seat.behind.is_none() {
            let behind = seat.reach_server(&self.server)?;
            epoll::add(&self.epoll, &behind, EventData::new_u64(2 * number as u64 + 1), EventFlags::IN)?;
            seat.behind = Some(behind);
        }
        let behind = seat.behind.as_mut().expect("it was reached");
        if !is_repeated(sent) {
            return behind.write_all(sent);
        }
        // Thousands may ask at the same moment what nobody has asked before: the next of them finds the answer here.
        let answer = ask(behind, sent)?;
        seat.client.write_all(&answer)?;
        match is_execution(sent) {
            true => self.execution = Some(answer),
            false => drop(self.known.insert(sent.to_vec(), answer)),
        }
        Ok(())
    }

    /// Passes on what the server has sent.
    fn hear_server(&mut self, number: usize) -> io::Result<()> {
        let Some(Seat { client, behind: Some(behind), .. }) = &mut self.seats[number] else { return Ok(()) };
        match behind.read(&mut self.buffer)? {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            bytes => client.write_all(&self.buffer[..bytes]),
        }
    }
}

impl Seat {
    /// A connection to the server that has heard all that was answered here.
    fn reach_server(&self, server: &Path) -> io::Result<UnixStream> {
        let mut behind = UnixStream::connect(server)?;
        for said in &self.said {
            ask(&mut behind, said)?;
        }
        Ok(behind)
    }
}

/// The server's complete answer to `asked`.
fn ask(server: &mut UnixStream, asked: &[u8]) -> io::Result<Vec<u8>> {
    server.write_all(asked)?;
    let (mut answer, mut buffer) = (Vec::new(), [0; 4096]);
    while !is_complete(&answer) {
        match server.read(&mut buffer)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            bytes => answer.extend_from_slice(&buffer[..bytes]),
        }
    }
    Ok(answer)
}

/// Whether a client sent Bind, Execute and Sync (<https://www.postgresql.org/docs/current/protocol-message-formats.html>).
fn is_execution(sent: &[u8]) -> bool {
    sent.starts_with(b"B") && sent.ends_with(b"S\0\0\0\x04")
}

/// Whether it is a login with protocol 3.0, a preparation, or an execution.
fn is_repeated(sent: &[u8]) -> bool {
    is_execution(sent) || sent.starts_with(b"P") || sent.get(4..8) == Some(&[0, 3, 0, 0]) && sent[0] == 0
}

/// Whether an answer ends with ReadyForQuery.
fn is_complete(answer: &[u8]) -> bool {
    answer.len() >= 6 && answer[answer.len() - 6..].starts_with(b"Z\0\0\0\x05")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    const EXECUTION: &[u8] = b"B\0\0\0\x06\0\0S\0\0\0\x04";

    #[test]
    fn what_was_answered_to_one_client_is_answered_to_the_next_and_the_server_hears_the_rest() {
        let dir = tempfile::tempdir().unwrap();
        let listener = UnixListener::bind(dir.path().join(".s.PGSQL.5432")).unwrap();
        // It tells what it heard, and how often it was asked. A program that another test starts may hold the first connection open for a moment
        // longer, so that both are served at once.
        let server = std::thread::spawn(move || {
            let heard = Mutex::new(Vec::new());
            std::thread::scope(|scope| {
                for stream in listener.incoming().take(2) {
                    let (mut stream, heard) = (stream.unwrap(), &heard);
                    scope.spawn(move || {
                        let mut buffer = [0; 100];
                        while let Ok(bytes @ 1..) = stream.read(&mut buffer) {
                            let mut heard = heard.lock().unwrap();
                            heard.push(buffer[0]);
                            stream.write_all(&[b"Z\0\0\0\x05", &[heard.len() as u8][..]].concat()).unwrap();
                            assert!(bytes < 100);
                        }
                    });
                }
            });
            heard.into_inner().unwrap()
        });
        let socket = serve_crowd(dir.path()).unwrap();
        let ask = |client: &mut UnixStream, text: &[u8]| {
            client.write_all(text).unwrap();
            let mut answer = [0; 6];
            client.read_exact(&mut answer).unwrap();
            answer[5]
        };
        let mut first = UnixStream::connect(&socket).unwrap();
        let told = [&b"P1"[..], EXECUTION, EXECUTION, b"Q"].map(|text| ask(&mut first, text));
        assert_eq!(told, [1, 2, 2, 3]);
        drop(first);
        let mut second = UnixStream::connect(&socket).unwrap();
        let told = [&b"P1"[..], EXECUTION, b"Q"].map(|text| ask(&mut second, text));
        // The preparation is said to the server again before the question.
        assert_eq!(told, [1, 2, 5]);
        drop(second);
        assert_eq!(server.join().unwrap(), b"PBQPQ");
    }
}
