//! A link with a round trip time: a proxy on this machine that passes each byte on when half of that time is over.
//!
//! In: the port of a server on 127.0.0.1, and the time. Out: another port. Limits: it is used because many kernels come without netem. The
//! threads of the proxy need CPU that client and server would have over a real link, so that a rate over it is a lower bound.

use anyhow::Result;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// So many pieces of at most [`PIECE`] are on their way at once: 16 MiB.
const PIECES: usize = 256;
const PIECE: usize = 64 << 10;

pub struct SlowLink {
    port: u16,
    is_over: Arc<AtomicBool>,
    accepting: Option<JoinHandle<()>>,
}

impl SlowLink {
    /// A link to port `to`.
    pub fn start(to: u16, round_trip: Duration) -> Result<SlowLink> {
        let listener = TcpListener::bind(("127.0.0.1", 0))?;
        let (port, is_over) = (listener.local_addr()?.port(), Arc::new(AtomicBool::new(false)));
        let over = is_over.clone();
        let accepting = std::thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                if over.load(Ordering::Relaxed) {
                    return;
                }
                // A client whose server is gone sees the end of its connection.
                let _ = connect_both(client, to, round_trip / 2);
            }
        });
        Ok(SlowLink { port, is_over, accepting: Some(accepting) })
    }

    /// The port on this side.
    pub fn port(&self) -> u16 {
        self.port
    }
}

impl Drop for SlowLink {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        drop(TcpStream::connect(("127.0.0.1", self.port))); // so that it looks at the flag
        self.accepting.take().map(JoinHandle::join);
    }
}

fn connect_both(client: TcpStream, to: u16, delay: Duration) -> std::io::Result<()> {
    let server = TcpStream::connect(("127.0.0.1", to))?;
    for stream in [&client, &server] {
        stream.set_nodelay(true)?;
    }
    pass_on(client.try_clone()?, server.try_clone()?, delay);
    pass_on(server, client, delay);
    Ok(())
}

/// Passes on what comes `from` one side, each piece after `delay`; by two threads that end with the connection.
fn pass_on(mut from: TcpStream, to: TcpStream, delay: Duration) {
    let (pieces, due) = sync_channel(PIECES);
    std::thread::spawn(move || {
        let mut piece = vec![0; PIECE];
        while let Ok(length @ 1..) = from.read(&mut piece) {
            if pieces.send((Instant::now() + delay, piece[..length].to_vec())).is_err() {
                break;
            }
        }
    });
    std::thread::spawn(move || write_when_due(to, &due));
}

fn write_when_due(mut to: TcpStream, due: &Receiver<(Instant, Vec<u8>)>) {
    // Default slack lets the kernel wake a thread 50 us late, which is a fifth of the usual delay.
    // SAFETY: the call takes no pointer, and concerns this thread alone.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1) };
    while let Ok((at, piece)) = due.recv() {
        std::thread::sleep(at.saturating_duration_since(Instant::now()));
        if to.write_all(&piece).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Both); // the other side may have done it
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_takes_a_round_trip_and_a_stream_goes_on_meanwhile() {
        let server = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = server.local_addr().unwrap().port();
        let answering = std::thread::spawn(move || {
            let (mut client, _) = server.accept().unwrap();
            let mut bytes = [0; 1000];
            client.read_exact(&mut bytes).unwrap();
            client.write_all(b"x").unwrap();
        });
        let round_trip = Duration::from_millis(20);
        let link = SlowLink::start(port, round_trip).unwrap();
        let mut client = TcpStream::connect(("127.0.0.1", link.port())).unwrap();
        let began = Instant::now();
        (0..1000).for_each(|_| client.write_all(b"y").unwrap());
        client.read_exact(&mut [0]).unwrap();
        let took = began.elapsed();
        assert!(took >= round_trip && took < 500 * round_trip, "{took:?}");
        answering.join().unwrap();
    }
}
