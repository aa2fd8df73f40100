//! Servers that must be distinguished before they are a bus: over TLS with a certificate that is trusted or not, and one that is too old.
//!
//! In: `redis-server` with TLS on PATH, certificates made here. Without a server, or with one that has no TLS, the tests of TLS end at
//! once.

use bus::{Appended, BusAddress, BusConnection, BusConnector, BusError, RunSecret};
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const KEY: &[u8] = b"0123456789abcdef";
const PASSWORD: &str = "hunter2";

/// A server that takes TLS and a password only, with certificates: `issuer.pem` has issued that of the server for `localhost`, `stranger.pem`
/// none.
struct TlsBus {
    dir: tempfile::TempDir,
    port: u16,
    child: Child,
}

impl TlsBus {
    /// `None` if there is no server on this machine, or one without TLS.
    fn start() -> Option<TlsBus> {
        let dir = tempfile::tempdir().unwrap();
        make_certificates(dir.path());
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let mut command = Command::new("redis-server");
        command.current_dir(dir.path()).args(["--port", "0", "--save", "", "--bind", "127.0.0.1"]);
        command.args([
            "--tls-cert-file",
            "server.pem",
            "--tls-key-file",
            "server.key",
            "--tls-ca-cert-file",
            "issuer.pem",
        ]);
        command.args(["--tls-auth-clients", "no", "--requirepass", PASSWORD, "--tls-port", &port.to_string()]);
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().ok()?;
        let mut bus = TlsBus { dir, port, child };
        bus.is_up().then_some(bus)
    }

    fn is_up(&mut self) -> bool {
        let until = Instant::now() + Duration::from_secs(60);
        while TcpStream::connect(("127.0.0.1", self.port)).is_err() {
            if self.child.try_wait().unwrap().is_some() {
                return false;
            }
            assert!(Instant::now() < until, "it does not listen");
            std::thread::sleep(Duration::from_millis(5)); // the real time of another process: there is nothing to fake
        }
        true
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// A connection to `host`, by which the server is called, if its certificate is from `issuer`.
    fn connect(&self, host: &str, issuer: &str) -> Result<BusConnection, BusError> {
        let url = format!("rediss://{host}:{}/?ssl-ca={}", self.port, self.path(issuer).display());
        let address = BusAddress::parse(&url, Some(&self.path("password")))?;
        BusConnector::new(address, RunSecret::new(KEY)).connect()
    }
}

impl Drop for TlsBus {
    fn drop(&mut self) {
        let _ = self.child.kill(); // it may have ended
        let _ = self.child.wait();
    }
}

fn make_certificates(dir: &std::path::Path) {
    let write = |name: &str, text: &str| {
        std::fs::write(dir.join(name), text).unwrap();
        std::fs::set_permissions(dir.join(name), std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    };
    let make_issuer = |name: &str| {
        let (mut params, key) = (CertificateParams::new([]).unwrap(), KeyPair::generate().unwrap());
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, name);
        write(name, &params.self_signed(&key).unwrap().pem());
        Issuer::new(params, key)
    };
    let issuer = make_issuer("issuer.pem");
    make_issuer("stranger.pem");
    let (params, key) = (CertificateParams::new(["localhost".to_owned()]).unwrap(), KeyPair::generate().unwrap());
    write("server.pem", &params.signed_by(&key, &issuer).unwrap().pem());
    write("server.key", &key.serialize_pem());
    write("password", PASSWORD);
}

#[test]
fn a_bus_over_tls_is_used_if_its_certificate_is_trusted_and_refused_at_once_if_not() {
    let Some(server) = TlsBus::start() else { return };
    let mut bus = server.connect("localhost", "issuer.pem").unwrap();
    bus.check_version().unwrap();
    assert_eq!(bus.append("plimsoll:t:a", 1, b"one").unwrap(), Appended::New);
    for (host, issuer) in [("localhost", "stranger.pem"), ("127.0.0.1", "issuer.pem")] {
        let refused = server.connect(host, issuer).map(drop).unwrap_err();
        // To wait for it would be in vain.
        assert!(matches!(&refused, BusError::Refused(_)), "{host} {issuer}: {refused:?}");
        let text = refused.to_string();
        assert!(text.contains("certificate") && text.contains("ssl-ca") && !text.contains('\n'), "{text}");
    }
}

#[test]
fn a_bus_that_takes_tls_only_is_no_bus_without_it() {
    let Some(server) = TlsBus::start() else { return };
    let address = BusAddress::parse(&format!("redis://localhost:{}/", server.port), None).unwrap();
    let met = BusConnector::new(address, RunSecret::new(KEY)).connect().and_then(|mut bus| bus.check_version());
    let text = met.unwrap_err().to_string();
    assert!(!text.contains('\n') && !text.contains(PASSWORD), "{text}");
}

/// Answers each question on the first connection as a server of this version answers `INFO`.
fn answer_as_version(listener: TcpListener, version: &str) {
    let info = format!("# Server\r\nredis_version:{version}\r\nredis_mode:standalone\r\n");
    let answer = format!("${}\r\n{info}\r\n", info.len());
    std::thread::spawn(move || {
        let (mut client, _) = listener.accept().unwrap();
        let mut question = [0; 4096];
        while client.read(&mut question).is_ok_and(|bytes| bytes > 0) {
            client.write_all(answer.as_bytes()).unwrap();
        }
    });
}

#[test]
fn a_server_without_streams_is_refused_in_a_line_that_names_its_version() {
    for (version, is_taken) in [("4.0.14", false), ("2.8.17", false), ("5.0.0", true), ("255.255.255", true)] {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = BusAddress::parse(&format!("redis://{}/", listener.local_addr().unwrap()), None).unwrap();
        answer_as_version(listener, version);
        let met = BusConnector::new(address, RunSecret::new(KEY)).connect().and_then(|mut bus| bus.check_version());
        match met {
            Ok(()) => assert!(is_taken, "{version}"),
            Err(BusError::Refused(text)) => {
                let expected =
                    format!("is a server of version {version}, which has no streams; use Redis 5.0 or later");
                assert!(!is_taken && text.contains(&expected) && !text.contains('\n'), "{text}");
            }
            Err(other) => panic!("{version}: {other}"),
        }
    }
}
