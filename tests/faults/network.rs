//! The network between plimsoll and a server breaks or slows down.

mod link;

use crate::database::{MariaDb, PASSWORD, has_mariadb};
use crate::fault::{Family, Fault, FaultElsewhere, Kept, Length, signal};
use crate::lab::{Finished, Lab};
use crate::liar::listen;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};
use std::time::{Duration, Instant};

pub const NETWORK: Family = Family {
    name: "network",
    about: "The network between plimsoll and a server breaks or slows down.",
    faults: &[
        Fault {
            name: "refused",
            what: "Nothing listens at the port",
            exit: 4,
            message: "connection refused at host `127.0.0.1`, port",
            kept: Kept::NoRun,
            length: Length::Short,
            make: nothing_listens,
        },
        Fault {
            name: "unknown_host",
            what: "The host has no address",
            exit: 4,
            message: "unknown host `nowhere.invalid`; correct the host in the URL",
            kept: Kept::NoRun,
            length: Length::Short,
            make: unknown_host,
        },
        Fault {
            name: "full_queue",
            what: "Packets that ask for a connection are not answered",
            exit: 4,
            message: "no answer within 2 s at host `127.0.0.1`, port",
            kept: Kept::NoRun,
            length: Length::Short,
            make: full_queue,
        },
        Fault {
            name: "silent_balancer",
            what: "Something between takes connections and is silent: after 5 s plimsoll says what it waits for, and Ctrl-C ends it",
            exit: 130,
            message: "does not answer",
            kept: Kept::MeasuredUntilThen,
            length: Length::Long,
            make: silent_balancer,
        },
        Fault {
            name: "black_hole",
            what: "Packets get lost from a moment on: the run ends after its time and its grace time, and the schema that is left is named",
            exit: 4,
            message: "was left: the server does not answer",
            kept: Kept::MeasuredUntilThen,
            length: Length::Short,
            make: black_hole,
        },
        Fault {
            name: "reset",
            what: "All connections are reset, and no new one is let through",
            exit: 4,
            message: "the connection was lost",
            kept: Kept::MeasuredUntilThen,
            length: Length::Short,
            make: reset,
        },
        Fault {
            name: "full_link",
            what: "The link to the server is full: the bottleneck is the network",
            exit: 0,
            message: "network",
            kept: Kept::All,
            length: Length::Short,
            make: link::is_full,
        },
    ],
};

pub const ELSEWHERE: &[FaultElsewhere] = &[
    FaultElsewhere {
        what: "The bus of several hosts takes connections and is silent",
        then: "leaves it in time, and says so in one line",
        file: "crates/bus/src/socket.rs",
        test: "a_server_that_takes_connections_and_says_nothing_is_left_in_time",
    },
    FaultElsewhere {
        what: "The queue of the socket of the bus is full",
        then: "does the same",
        file: "crates/bus/src/socket.rs",
        test: "a_server_whose_queue_is_full_is_left_in_time",
    },
];

fn oltp(lab: &Lab, url: &str) -> Finished {
    lab.run(&["oltp", "--engine", url, "--control-timeout", "2s", "--time", "1s", "--no-report"])
}

fn nothing_listens(lab: &Lab) -> Option<Finished> {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    Some(oltp(lab, &format!("mysql://u@127.0.0.1:{port}/")))
}

fn unknown_host(lab: &Lab) -> Option<Finished> {
    Some(oltp(lab, "postgres://u@nowhere.invalid/d"))
}

/// A listener that accepts nothing, and whose queue is full.
fn full_queue(lab: &Lab) -> Option<Finished> {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    rustix::net::listen(&listener, 0).unwrap();
    let address = listener.local_addr().unwrap();
    let _queued: Vec<_> = (0..3).map(|_| TcpStream::connect_timeout(&address, Duration::from_millis(200))).collect();
    Some(oltp(lab, &format!("mysql://u@{address}/")))
}

/// What a proxy does with what it gets.
const PASS_ON: u8 = 0;
const SWALLOW: u8 = 1;
const RESET: u8 = 2;

/// A proxy to `port`: its own port, and the switch for what it does.
fn proxy_to(port: u16) -> (u16, Arc<AtomicU8>) {
    let switch = Arc::new(AtomicU8::new(PASS_ON));
    let of_proxy = switch.clone();
    let own = listen(move |client| {
        if of_proxy.load(Relaxed) == RESET {
            return Ok(());
        }
        let server = TcpStream::connect(("127.0.0.1", port))?;
        let (from, to, switch) = (server.try_clone()?, client.try_clone()?, of_proxy.clone());
        std::thread::spawn(move || pass_on(from, to, &switch));
        pass_on(client.try_clone()?, server, &of_proxy)
    });
    (own, switch)
}

fn pass_on(mut from: TcpStream, mut to: TcpStream, switch: &AtomicU8) -> io::Result<()> {
    let mut buffer = [0; 64 << 10];
    from.set_read_timeout(Some(Duration::from_millis(20)))?;
    loop {
        let done = switch.load(Relaxed) == RESET;
        let received = if done { Ok(0) } else { from.read(&mut buffer) };
        match received {
            Ok(0) => {
                let _ = from.shutdown(Shutdown::Both); // it may be gone
                return to.shutdown(Shutdown::Both);
            }
            Ok(count) if switch.load(Relaxed) == PASS_ON => to.write_all(&buffer[..count])?,
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
    }
}

/// A run through a proxy that does `then` when the load is on, and how long it takes from there.
fn through_proxy(lab: &Lab, then: u8) -> Option<(Finished, Duration)> {
    if !has_mariadb() {
        return None;
    }
    let server = MariaDb::start(&[]);
    let (port, switch) = proxy_to(server.port());
    let url = format!("mysql://visitor@127.0.0.1:{port}/");
    let load =
        ["oltp", "--engine", &url, "--mix", "read_write", "--table-rows", "100", "--clients", "2", "--think", "5ms"];
    let times = ["--time", "4s", "--grace", "2s", "--interval", "100ms", "--no-report", "--quiet"];
    let mut command = lab.command(&[&load[..], &times].concat());
    let mut child = command.env("PLIMSOLL_PASSWORD", PASSWORD).spawn().unwrap();
    lab.wait_for_load(&mut child, 3);
    switch.store(then, Relaxed);
    let broken = Instant::now();
    let finished: Finished = child.wait_with_output().unwrap().into();
    let left = server.schemas_left();
    assert!(finished.stderr.contains(left.trim()) && left.starts_with("plimsoll_"), "{left}: {}", finished.stderr);
    Some((finished, broken.elapsed()))
}

/// Only the first connection gets through, which sets up the schema.
fn silent_balancer(lab: &Lab) -> Option<Finished> {
    if !has_mariadb() {
        return None;
    }
    let server = MariaDb::start(&[]);
    let (to, taken) = (server.port(), AtomicU8::new(0));
    let port = listen(move |stream| {
        if taken.fetch_add(1, Relaxed) > 0 {
            return io::copy(stream, &mut io::sink()).map(drop); // until it leaves
        }
        let server = TcpStream::connect(("127.0.0.1", to))?;
        let (mut answers, mut back) = (server.try_clone()?, stream.try_clone()?);
        std::thread::spawn(move || io::copy(&mut answers, &mut back));
        io::copy(stream, &mut &server).map(drop)
    });
    let url = format!("mysql://visitor@127.0.0.1:{port}/");
    let load = ["oltp", "--engine", &url, "--table-rows", "100", "--clients", "2", "--time", "1s", "--no-report"];
    let mut child = lab.command(&load).env("PLIMSOLL_PASSWORD", PASSWORD).spawn().unwrap();
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let mut said = String::new();
    while !said.contains("does not answer") {
        assert_ne!(stderr.read_line(&mut said).unwrap(), 0, "it ended too early: {said}");
    }
    signal(&child, "INT");
    stderr.read_to_string(&mut said).unwrap();
    let finished = Finished::from(child.wait_with_output().unwrap());
    Some(Finished { stderr: said, ..finished })
}

fn black_hole(lab: &Lab) -> Option<Finished> {
    let (finished, took) = through_proxy(lab, SWALLOW)?;
    // Time, grace time, and some for the end of plimsoll on a busy machine.
    assert!(took < Duration::from_secs(4 + 2 + 8), "{took:?}: {}", finished.stderr);
    Some(finished)
}

fn reset(lab: &Lab) -> Option<Finished> {
    through_proxy(lab, RESET).map(|(finished, _)| finished)
}
