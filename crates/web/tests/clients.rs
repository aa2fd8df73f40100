//! Clients of every sort: the quick, the slow, the large, the silent and the many.
//!
//! In: a server on loopback. Out: each is answered or given up, and none holds up another. Limits: deadlines are those of the server,
//! so the slow ones take seconds.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use web::{Handler, Response, Server, Status};

/// A server in a thread of its own, which ends with it.
struct Running {
    address: SocketAddr,
    stop: Option<OwnedFd>,
    thread: Option<JoinHandle<()>>,
}

fn start(threads: usize, handler: Handler) -> Running {
    let server = Server::bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let address = server.address();
    let (ended, stop) = rustix::pipe::pipe().unwrap();
    let thread = thread::spawn(move || server.serve(handler, threads, ended).unwrap());
    Running { address, stop: Some(stop), thread: Some(thread) }
}

/// Answers with the path, and panics at `/bug`.
fn echo() -> Handler {
    Arc::new(|request| {
        let path: Vec<String> = request.segments().iter().map(|part| String::from_utf8_lossy(part).into()).collect();
        assert_ne!(path, ["bug"], "as asked");
        Response::text(Status::Ok, &path.join("/"))
    })
}

impl Running {
    fn client(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        stream
    }

    fn ask(&self, request: &[u8]) -> String {
        let mut stream = self.client();
        // A server that refuses what is too large may stop reading before all of it is sent.
        let _ = stream.write_all(request);
        answer(&mut stream)
    }

    fn get(&self, path: &str) -> String {
        self.ask(format!("GET {path} HTTP/1.1\r\nHost: a\r\n\r\n").as_bytes())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop = None;
        self.thread.take().unwrap().join().unwrap();
    }
}

fn answer(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    match stream.read_to_end(&mut bytes) {
        Err(error) if error.kind() != ErrorKind::ConnectionReset => panic!("no answer: {error}"),
        _ => String::from_utf8(bytes).unwrap(),
    }
}

#[test]
fn each_request_is_answered_and_ends_its_connection() {
    for threads in [0, 3] {
        let server = start(threads, echo());
        for nth in 0..50 {
            let answer = server.get(&format!("/page/{nth}"));
            assert!(answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.ends_with(&format!("\r\n\r\npage/{nth}\n")));
        }
    }
}

#[test]
fn a_head_has_the_headers_and_no_body() {
    let answer = start(0, echo()).ask(b"HEAD /a HTTP/1.1\r\nHost: a\r\n\r\n");
    assert!(answer.contains("Content-Length: 2\r\n") && answer.ends_with("\r\n\r\n"), "{answer}");
}

#[test]
fn what_only_reads_is_answered_and_nothing_else() {
    let server = start(0, echo());
    let post = server.ask(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc");
    assert!(post.starts_with("HTTP/1.1 405 ") && post.contains("Allow: GET, HEAD\r\n"), "{post}");
    let body = server.ask(b"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc");
    assert!(body.starts_with("HTTP/1.1 413 "), "{body}");
    assert!(server.ask(b"hello\r\n\r\n").starts_with("HTTP/1.1 400 "));
}

#[test]
fn a_giant_request_is_refused_before_it_is_read_whole() {
    let server = start(0, echo());
    let line = format!("GET /{} HTTP/1.1\r\n\r\n", "a".repeat(8_000));
    assert!(server.ask(line.as_bytes()).starts_with("HTTP/1.1 414 "));
    let headers = format!("GET / HTTP/1.1\r\nX: {}\r\n\r\n", "a".repeat(600_000));
    assert!(server.ask(headers.as_bytes()).starts_with("HTTP/1.1 431 "));
    let endless = vec![b'a'; 16 << 20];
    let answer = server.ask(&endless);
    assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 431 "), "{answer}");
    assert!(server.get("/still").ends_with("still\n"));
}

#[test]
fn a_slow_client_is_cut_off_and_holds_up_no_other() {
    let server = start(1, echo());
    let mut slow = server.client();
    slow.write_all(b"GET / HT").unwrap();
    let silent = server.client();
    assert!(server.get("/quick").ends_with("quick\n"), "answered while others are slow");
    let began = Instant::now();
    assert!(answer(&mut slow).starts_with("HTTP/1.1 408 "));
    let took = began.elapsed();
    assert!(took > Duration::from_secs(1) && took < Duration::from_secs(50), "{took:?}");
    let mut silent = silent;
    assert_eq!(answer(&mut silent), "", "who has asked nothing gets no answer");
}

#[test]
fn more_clients_than_are_waited_for_find_their_turn() {
    let server = start(2, echo());
    let mut silent: Vec<TcpStream> = (0..100).map(|_| server.client()).collect();
    let began = Instant::now();
    assert!(server.get("/late").ends_with("late\n"));
    assert!(began.elapsed() < Duration::from_secs(4), "before the silent ones are overdue: {:?}", began.elapsed());
    silent.clear();
    assert!(server.get("/after").ends_with("after\n"));
}

#[test]
fn clients_that_say_half_of_what_they_want_keep_out_nobody() {
    let server = start(0, echo());
    let mut halves = Vec::new();
    for nth in 0..129 {
        let mut half = server.client();
        half.write_all(b"GET /met").unwrap();
        halves.push(half);
        let began = Instant::now();
        assert!(server.get("/quick").ends_with("quick\n"), "beside {nth}");
        assert!(began.elapsed() < Duration::from_secs(4), "beside {nth}: {:?}", began.elapsed());
    }
}

#[test]
fn a_client_that_never_reads_is_given_up() {
    let large: Arc<[u8]> = vec![b'x'; 64 << 20].into();
    let server = start(1, Arc::new(move |_| Response::new(Status::Ok, "text/plain", large.clone())));
    let mut dead = server.client();
    dead.write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
    let mut next = server.client();
    next.write_all(b"HEAD / HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
    assert!(answer(&mut next).starts_with("HTTP/1.1 200 "), "the only thread has come back");
    drop(dead);
}

#[test]
fn a_handler_that_panics_answers_that_and_the_next_request() {
    for threads in [0, 1] {
        let server = start(threads, echo());
        assert!(server.get("/bug").starts_with("HTTP/1.1 500 "));
        assert!(server.get("/next").ends_with("next\n"));
    }
}
