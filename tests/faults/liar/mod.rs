//! Servers that lie, hang or flood: what each does, at which stage, and how plimsoll must end.
//!
//! In: a table of liars. Out: for each a server on loopback that behaves up to its stage and lies from there on, and a plimsoll that
//! measures it. Limits: up to their stage they know as much of their protocol as plimsoll asks of a server; they execute nothing.

pub mod mysql;
pub mod postgres;

use crate::lab::{Finished, Lab};
use std::io::{self, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Child;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// The most memory that a plimsoll may take, whatever a server sends.
const MEMORY_MAX_KIB: u64 = 300 << 10;
/// So many are measured at a time: most of them wait.
const AT_A_TIME: usize = 12;
/// Several times the longest deadline: on a busy machine plimsoll is late as well.
const IN_TIME: Duration = Duration::from_secs(100);

/// When a server begins to lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// When it is connected to.
    Greeting,
    /// When it was told who comes.
    Login,
    /// At the first query.
    Control,
    /// When a schema is to be made.
    Schema,
    /// When a table is to be made.
    Table,
    /// When the first statement of the run is prepared.
    Prepare,
    /// When the first statement of the load is executed.
    Load,
    /// When the rows are counted.
    Count,
    /// When the first statement of the run is executed.
    Run,
    /// When the schema is to be dropped.
    CleanUp,
}

/// What a server does from its stage on, until its client has left.
pub type Lie = fn(&mut TcpStream) -> io::Result<()>;

/// One lying server.
pub struct Liar {
    pub at: Stage,
    /// What it does, for messages of the test.
    pub what: &'static str,
    pub lie: Lie,
    /// A part of stderr.
    pub message: &'static str,
}

const LATE: &str = "the server gave no complete answer within";

/// Silence at each stage.
pub const SILENT: &[Liar] = &[
    Liar { at: Stage::Greeting, what: "silence", lie: be_silent, message: LATE },
    Liar { at: Stage::Login, what: "silence", lie: be_silent, message: LATE },
    Liar { at: Stage::Control, what: "silence", lie: be_silent, message: LATE },
    Liar { at: Stage::Schema, what: "silence", lie: be_silent, message: "may have made schema `plimsoll_" },
    Liar { at: Stage::Table, what: "silence", lie: be_silent, message: LATE },
    Liar { at: Stage::Run, what: "silence", lie: be_silent, message: "still blocked" },
];

/// A connection that is closed.
pub const CLOSED: &[Liar] = &[
    Liar { at: Stage::Greeting, what: "the end", lie: hang_up, message: "the connection was lost" },
    Liar { at: Stage::Login, what: "the end", lie: hang_up, message: "the connection was lost" },
    Liar { at: Stage::Schema, what: "the end", lie: hang_up, message: "may have made schema `plimsoll_" },
    Liar { at: Stage::Load, what: "the end", lie: hang_up, message: "the connection was lost" },
    Liar { at: Stage::Run, what: "the end", lie: hang_up, message: "the connection was lost" },
    Liar { at: Stage::CleanUp, what: "the end", lie: hang_up, message: "was left" },
];

/// How a kind of server serves one connection, and lies when its stage comes.
pub type Serve = fn(&mut TcpStream, Stage, Lie) -> io::Result<()>;

/// A server on loopback that follows `serve` on each connection: its port.
pub fn listen(serve: impl Fn(&mut TcpStream) -> io::Result<()> + Send + Sync + 'static) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (port, serve) = (listener.local_addr().unwrap().port(), Arc::new(serve));
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let serve = serve.clone();
            std::thread::spawn(move || serve(&mut stream)); // ends when its client leaves
        }
    });
    port
}

/// The text of a command, without the mark of what plimsoll itself asks.
fn text_of(command: &[u8]) -> String {
    String::from_utf8_lossy(command).trim_start_matches("/* plimsoll */ ").to_owned()
}

/// A short load on the server at `url`, which has little patience.
pub fn arguments(url: &str) -> Vec<&str> {
    let load = ["oltp", "--engine", url, "--mix", "point_select", "--table-rows", "10", "--clients", "2"];
    let times = ["--time", "1s", "--grace", "500ms", "--interval", "100ms", "--control-timeout", "1s"];
    [&load[..], &times, &["--setup-timeout", "2s", "--no-report", "--quiet"]].concat()
}

/// Measures each of `liars`, several at a time, and checks how that ends. The first of them is measured in `lab`, and returned.
pub fn measure_all(lab: &Lab, scheme: &str, serve: Serve, liars: &[Liar]) -> Finished {
    several_at_a_time(AT_A_TIME, liars, |nth, liar| {
        let own = Lab::new();
        measure(if nth == 0 { lab } else { &own }, scheme, serve, liar)
    })
}

/// Performs `one` for each of `all` with its number, so many at a time, and returns what the first gave.
pub fn several_at_a_time<T: Sync>(at_a_time: usize, all: &[T], one: impl Fn(usize, &T) -> Finished + Sync) -> Finished {
    let (next, first) = (AtomicUsize::new(0), Mutex::new(None));
    std::thread::scope(|scope| {
        for _ in 0..at_a_time.min(all.len()) {
            scope.spawn(|| {
                while let Some((nth, item)) = Some(next.fetch_add(1, Relaxed)).and_then(|n| Some((n, all.get(n)?))) {
                    let finished = one(nth, item);
                    if nth == 0 {
                        *first.lock().unwrap() = Some(finished);
                    }
                }
            });
        }
    });
    first.into_inner().unwrap().expect("there is a first one")
}

fn measure(lab: &Lab, scheme: &str, serve: Serve, liar: &Liar) -> Finished {
    let (at, lie) = (liar.at, liar.lie);
    let port = listen(move |stream| serve(stream, at, lie));
    let url = format!("{scheme}://visitor@127.0.0.1:{port}/");
    let mut command = lab.command(&arguments(&url));
    let began = Instant::now();
    let mut child = command.env("PLIMSOLL_PASSWORD", "c4n4ry").spawn().unwrap();
    let memory = peak_memory(&mut child);
    let (finished, took): (Finished, _) = (child.wait_with_output().unwrap().into(), began.elapsed());
    let said = format!("{scheme}, {at:?}, {}: after {took:?}, {memory} KiB: {}", liar.what, finished.stderr);
    assert_eq!(finished.exit, 4, "{said}");
    assert!(finished.stderr.contains(liar.message), "`{}` is not in {said}", liar.message);
    assert!(!finished.stderr.contains("panicked") && !finished.stderr.contains("c4n4ry"), "{said}");
    let lines: Vec<&str> = finished.stderr.lines().collect();
    assert!(lines.len() <= 2 && lines.iter().all(|line| line.len() < 1_500), "{said}");
    assert!(!lines.iter().any(|line| line.contains(char::is_control)), "{said}");
    assert!(memory < MEMORY_MAX_KIB && took < IN_TIME, "{said}");
    finished
}

/// The most memory that `child` has had by its end, in KiB.
fn peak_memory(child: &mut Child) -> u64 {
    let (status, mut most) = (format!("/proc/{}/status", child.id()), 0);
    while child.try_wait().unwrap().is_none() {
        let text = std::fs::read_to_string(&status).unwrap_or_default();
        let peak = text.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB")?.parse().ok());
        most = peak.unwrap_or(most).max(most);
        std::thread::sleep(Duration::from_millis(10)); // the real time of another process: there is nothing to fake
    }
    most
}

/// Says nothing more, until the client leaves.
pub fn be_silent(stream: &mut TcpStream) -> io::Result<()> {
    io::copy(stream, &mut io::sink()).map(drop)
}

/// Sends `bytes`, and says nothing more.
pub fn send(stream: &mut TcpStream, bytes: &[u8]) -> io::Result<()> {
    stream.write_all(bytes)?;
    be_silent(stream)
}

/// Sends a byte a second, again and again those of `bytes`.
pub fn trickle(stream: &mut TcpStream, bytes: &[u8]) -> io::Result<()> {
    for byte in bytes.iter().cycle() {
        stream.write_all(&[*byte])?;
        std::thread::sleep(Duration::from_secs(1)); // the real time of a slow server: there is nothing to fake
    }
    Ok(())
}

/// Sends `message` again and again.
pub fn flood(stream: &mut TcpStream, message: &[u8]) -> io::Result<()> {
    let many = message.repeat((64 << 10) / message.len() + 1);
    loop {
        stream.write_all(&many)?;
    }
}

/// Hangs up.
pub fn hang_up(_: &mut TcpStream) -> io::Result<()> {
    Ok(())
}
