//! The bus on a real server: leases, streams, strangers, and a server that is killed and comes back.
//!
//! In: `redis-server` or `valkey-server` on PATH. Without either the tests end at once.

use bus::{Appended, BusAddress, BusConnector, BusError, ClockOffset, Lease, LeaseState, Outbox, OutboxSender};
use bus::{PAYLOAD_BYTES_MAX, RunSecret, StreamPosition};
use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

const SHORT: Duration = Duration::from_millis(50);
const LONG: Duration = Duration::from_secs(60);

/// A server of its own on a socket, which keeps nothing on disk.
struct TestBus {
    dir: tempfile::TempDir,
    arguments: Vec<String>,
    child: Child,
}

impl TestBus {
    /// `None` if there is no server on this machine.
    fn start(arguments: &[&str]) -> Option<TestBus> {
        let dir = tempfile::tempdir().unwrap();
        let arguments: Vec<String> = arguments.iter().map(ToString::to_string).collect();
        let child = spawn(&dir.path().join("s"), &arguments)?;
        Some(TestBus { dir, arguments, child })
    }

    fn socket(&self) -> PathBuf {
        self.dir.path().join("s")
    }

    fn connector(&self, key: &[u8]) -> BusConnector {
        let address = BusAddress::parse(&format!("redis+unix://{}", self.socket().display()), None).unwrap();
        BusConnector::new(address, RunSecret::new(key))
    }

    fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    fn come_back(&mut self) {
        self.child = spawn(&self.socket(), &self.arguments).unwrap();
    }
}

impl Drop for TestBus {
    fn drop(&mut self) {
        self.kill();
    }
}

fn spawn(socket: &std::path::Path, arguments: &[String]) -> Option<Child> {
    let _ = std::fs::remove_file(socket);
    let start = |program: &str| {
        let mut command = Command::new(program);
        command.args(["--port", "0", "--save", "", "--appendonly", "no", "--unixsocket"]).arg(socket).args(arguments);
        command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().ok()
    };
    let child = start("redis-server").or_else(|| start("valkey-server"))?;
    wait_until(|| std::os::unix::net::UnixStream::connect(socket).is_ok());
    Some(child)
}

fn wait_until(mut is_so: impl FnMut() -> bool) {
    let until = Instant::now() + LONG;
    while !is_so() {
        assert!(Instant::now() < until, "it did not come");
        std::thread::sleep(Duration::from_millis(5)); // the real time of another process: there is nothing to fake
    }
}

const KEY: &[u8] = b"0123456789abcdef";

#[test]
fn entries_come_once_in_their_order_and_a_gap_is_seen() {
    let Some(server) = TestBus::start(&[]) else { return };
    let mut bus = server.connector(KEY).connect().unwrap();
    bus.check_version().unwrap();
    assert_eq!(bus.append("plimsoll:t:a", 1, b"one").unwrap(), Appended::New);
    assert_eq!(bus.append("plimsoll:t:a", 1, b"one").unwrap(), Appended::Before);
    assert_eq!(bus.append("plimsoll:t:a", 3, b"three").unwrap(), Appended::New);
    assert_eq!(bus.append("plimsoll:t:a", 2, b"two").unwrap(), Appended::Before);
    bus.append("plimsoll:t:b", 1, b"other").unwrap();
    let streams = ["plimsoll:t:a", "plimsoll:t:b"].map(|key| StreamPosition { key, after: 0 });
    let read = bus.read(&streams, 100, SHORT).unwrap();
    let seen: Vec<_> = read.iter().map(|e| (e.stream, e.number, e.payload.clone().unwrap())).collect();
    assert_eq!(seen, [(0, 1, b"one".to_vec()), (0, 3, b"three".to_vec()), (1, 1, b"other".to_vec())]);
    let after = [StreamPosition { key: "plimsoll:t:a", after: 3 }];
    assert!(bus.read(&after, 100, SHORT).unwrap().is_empty());
    bus.trim("plimsoll:t:a", 1).unwrap();
    let left = bus.read(&streams[..1], 100, SHORT).unwrap();
    assert_eq!(left.iter().map(|entry| entry.number).collect::<Vec<_>>(), [3]);
}

#[test]
fn what_a_stranger_writes_is_not_believed() {
    let Some(server) = TestBus::start(&[]) else { return };
    let (mut ours, mut strange) =
        (server.connector(KEY).connect().unwrap(), server.connector(b"another key 0123").connect().unwrap());
    strange.append("plimsoll:t:ctl", 1, b"end").unwrap();
    let read = ours.read(&[StreamPosition { key: "plimsoll:t:ctl", after: 0 }], 10, SHORT).unwrap();
    assert!(read[0].payload.as_ref().unwrap_err().contains("written with another key"));
    strange.hold_lease("plimsoll:t:lead", b"me", LONG).unwrap();
    assert!(matches!(ours.lease_value("plimsoll:t:lead"), Err(BusError::Foreign(_))));
}

#[test]
fn a_lease_is_held_by_one_is_renewed_and_given_back() {
    let Some(server) = TestBus::start(&[]) else { return };
    let connector = server.connector(KEY);
    let mut bus = connector.connect().unwrap();
    let lease = Lease::take(&connector, "plimsoll:t:agent:c1".into(), b"one".to_vec()).unwrap().unwrap();
    assert!(Lease::take(&connector, "plimsoll:t:agent:c1".into(), b"two".to_vec()).unwrap().is_none());
    assert_eq!(bus.lease_value("plimsoll:t:agent:c1").unwrap(), Some(b"one".to_vec()));
    let held = |bus: &mut bus::BusConnection, value: &[u8]| bus.hold_lease("plimsoll:t:agent:c1", value, LONG).unwrap();
    assert_eq!((held(&mut bus, b"one"), held(&mut bus, b"two")), (LeaseState::Renewed, LeaseState::HeldByAnother));
    assert!(!lease.is_lost());
    drop(lease);
    assert_eq!(bus.lease_value("plimsoll:t:agent:c1").unwrap(), None);
}

#[test]
fn messages_and_leases_survive_a_server_that_is_killed() {
    let Some(mut server) = TestBus::start(&[]) else { return };
    let connector = server.connector(KEY);
    let outbox = Arc::new(Outbox::create_in(server.dir.path()).unwrap());
    let lease = Lease::take(&connector, "plimsoll:t:agent:c1".into(), b"one".to_vec()).unwrap().unwrap();
    let sender = OutboxSender::start(connector.clone(), "plimsoll:t:row:c1:1".into(), outbox.clone()).unwrap();
    outbox.push(b"before").unwrap();
    assert!(outbox.wait_sent(LONG));
    server.kill();
    outbox.push(b"meanwhile").unwrap();
    assert!(!outbox.wait_sent(SHORT));
    server.come_back();
    assert!(outbox.wait_sent(LONG));
    let mut bus = connector.connect().unwrap();
    let read = bus.read(&[StreamPosition { key: "plimsoll:t:row:c1:1", after: 0 }], 10, SHORT).unwrap();
    // The server kept nothing: the first message is a gap, which its reader sees, and which the outbox can fill.
    assert_eq!(read.iter().map(|entry| entry.number).collect::<Vec<_>>(), [2]);
    assert_eq!(outbox.get(1).unwrap(), Some(b"before".to_vec()));
    wait_until(|| bus.lease_value("plimsoll:t:agent:c1").unwrap().is_some());
    assert!(!lease.is_lost());
    drop(sender);
}

#[test]
fn passwords_and_servers_that_are_not_there_have_one_line_each() {
    let Some(mut server) = TestBus::start(&["--requirepass", "hunter2"]) else { return };
    let refused = server.connector(KEY).connect().and_then(|mut bus| bus.check_version()).unwrap_err();
    assert!(matches!(&refused, BusError::Refused(text) if text.contains("--bus-password-file")), "{refused}");
    server.kill();
    let away = server.connector(KEY).connect().map(drop).unwrap_err();
    assert!(matches!(&away, BusError::Away(text) if !text.contains('\n')), "{away}");
    server.come_back();
}

#[test]
fn the_clock_of_the_bus_is_that_of_this_machine_within_its_bound() {
    let Some(server) = TestBus::start(&[]) else { return };
    let mut bus = server.connector(KEY).connect().unwrap();
    let now_ns = || std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_nanos() as u64;
    let offset = ClockOffset::measure(&mut bus, now_ns).unwrap();
    assert!(offset.offset_ns.unsigned_abs() <= u128::from(offset.bound_ns), "{offset:?}");
    assert!(offset.slowest_ns >= 2 * (offset.bound_ns - 500) - 1, "{offset:?}");
}

#[test]
fn an_entry_that_is_longer_than_any_of_ours_costs_the_connection_and_no_more() {
    let Some(server) = TestBus::start(&[]) else { return };
    let mut link = server.connector(KEY).link();
    link.ask(|bus| bus.append("plimsoll:t:a", 1, b"ours")).unwrap();
    // A stranger needs no key to write.
    let mut stranger = std::os::unix::net::UnixStream::connect(server.socket()).unwrap();
    let bytes = PAYLOAD_BYTES_MAX + (2 << 20);
    let head = format!("*5\r\n$4\r\nXADD\r\n$12\r\nplimsoll:t:a\r\n$3\r\n2-0\r\n$1\r\np\r\n${bytes}\r\n");
    stranger.write_all(head.as_bytes()).unwrap();
    stranger.write_all(&vec![b'x'; bytes]).unwrap();
    stranger.write_all(b"\r\n").unwrap();
    let mut answer = [0; 64];
    assert!(stranger.read(&mut answer).unwrap() > 0);
    let read = |link: &mut bus::BusLink, after| {
        link.ask(|bus| bus.read(&[StreamPosition { key: "plimsoll:t:a", after }], 1, SHORT))
    };
    assert_eq!(read(&mut link, 0).unwrap()[0].payload, Ok(b"ours".to_vec()));
    let error = read(&mut link, 1).unwrap_err();
    assert!(
        matches!(&error, BusError::Foreign(text) if text.contains("longer than any that plimsoll reads")),
        "{error}"
    );
    // The next question has a connection of its own, and its own answer.
    assert_eq!(link.ask(|bus| bus.last_number("plimsoll:t:b")).unwrap(), 0);
}

#[test]
fn a_bus_over_tls_is_used_if_its_certificate_is_trusted() {
    let dir = tempfile::tempdir().unwrap();
    let key = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    let place = |name: &str| dir.path().join(name).display().to_string();
    std::fs::write(place("cert"), key.cert.pem()).unwrap();
    std::fs::write(place("key"), key.signing_key.serialize_pem()).unwrap();
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let (port, cert, private) = (free.to_string(), place("cert"), place("key"));
    let tls = ["--tls-port", &port, "--tls-cert-file", &cert, "--tls-key-file", &private, "--tls-ca-cert-file", &cert];
    let Some(_server) = TestBus::start(&[&tls[..], &["--tls-auth-clients", "no"]].concat()) else { return };
    let connect = |options: &str| {
        let address = BusAddress::parse(&format!("rediss://localhost:{port}/{options}"), None)?;
        BusConnector::new(address, RunSecret::new(KEY)).connect()
    };
    let mut bus = connect(&format!("?ssl-ca={cert}")).unwrap();
    assert_eq!(bus.append("plimsoll:t:a", 1, b"secret").unwrap(), Appended::New);
    let refused = connect("").map(drop).unwrap_err().to_string();
    assert!(!refused.contains("panicked") && !refused.contains('\n'), "{refused}");
}
