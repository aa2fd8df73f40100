//! Servers by URL over TLS: real ones that take nothing else, and those that must not be trusted.

use crate::lab::{directory, fact, prepared, run, servers, start, trial, until};
use model::{Phase, Trial};
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

const PASSWORD: &str = "c4n4ry";
const NO_TLS: &str = "the server offers no TLS; give it a certificate";
const NOT_IN_FILE: &str = "signed by a CA that is not in `";
const UNKNOWN_CA: &str = "certificate signed by an unknown CA; pass it with";

/// A directory that servers may enter, with the password in a file, and certificates: `issuer.pem` has issued `server.pem` for
/// `localhost` and `client.pem` for `certified`; `stranger.pem` has issued nothing.
struct Lab {
    dir: tempfile::TempDir,
}

impl Lab {
    fn new() -> Lab {
        let lab = Lab { dir: directory() };
        std::fs::set_permissions(lab.dir.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
        let issuer = lab.issuer("issuer.pem");
        lab.issuer("stranger.pem");
        lab.certify(&issuer, CertificateParams::new(["localhost".to_owned()]).unwrap(), "server");
        let mut client = CertificateParams::new([]).unwrap();
        client.distinguished_name.push(DnType::CommonName, "certified");
        lab.certify(&issuer, client, "client");
        lab.write("password", PASSWORD);
        lab
    }

    fn issuer(&self, name: &str) -> Issuer<'static, KeyPair> {
        let (mut params, key) = (CertificateParams::new([]).unwrap(), KeyPair::generate().unwrap());
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, name);
        self.write(name, &params.self_signed(&key).unwrap().pem());
        Issuer::new(params, key)
    }

    fn certify(&self, issuer: &Issuer<KeyPair>, params: CertificateParams, name: &str) {
        let key = KeyPair::generate().unwrap();
        self.write(&format!("{name}.pem"), &params.signed_by(&key, issuer).unwrap().pem());
        self.write(&format!("{name}.key"), &key.serialize_pem());
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).unwrap();
        std::fs::set_permissions(self.path(name), std::fs::Permissions::from_mode(0o600)).unwrap();
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn shown(&self, name: &str) -> String {
        self.path(name).to_str().unwrap().to_owned()
    }

    /// The directory of a server that runs as `user`, with its certificate.
    fn data_of(&self, user: &str) -> PathBuf {
        let data = self.path("data");
        std::fs::create_dir(&data).unwrap();
        for name in ["server.pem", "server.key", "issuer.pem"] {
            std::fs::copy(self.path(name), data.join(name)).unwrap();
        }
        if rustix::process::geteuid().is_root() {
            asked(Command::new("chown").args(["-R", &format!("{user}:{user}")]).arg(&data));
        }
        data
    }

    /// A short load on the server at `url`, as whom the password is for.
    fn trial(&self, engine: &str, url: &str) -> Trial {
        let load = [("url", url), ("password_file", &self.shown("password")), ("clients", "2"), ("mix", "read_write")];
        trial(engine, "oltp", &load)
    }

    /// Measures the server at `url`: what its instance reported of TLS.
    fn measured(&self, engine: &str, url: &str) -> [Option<String>; 2] {
        let trial = self.trial(engine, url);
        let mut instance = prepared(&trial, self.dir.path());
        let (outcome, seen) = run(&mut *instance, &trial).unwrap();
        assert_eq!((outcome.ended, seen.total(Phase::Run).1), (load::LoadEnd::AsPlanned, 0), "{:?}", seen.events);
        assert!(seen.total(Phase::Run).0 > 0);
        let told = ["server.tls", "server.tls_verified"].map(|name| fact(&*instance, name));
        // Over TCP the other end of a connection is a session of the server, or the server itself.
        let works_in = |pid: &u32| std::fs::read_link(format!("/proc/{pid}/cwd")).unwrap();
        let seen: Vec<PathBuf> = instance.report().processes.iter().map(works_in).collect();
        let data = self.path("data").canonicalize().unwrap();
        assert!(matches!(seen.as_slice(), [one] if one.starts_with(&data)), "{seen:?}");
        instance.stop().unwrap();
        told
    }

    /// Why the server at `url` is not measured.
    fn refused(&self, engine: &str, url: &str, why: &str) {
        let Err(error) = start(&self.trial(engine, url), self.dir.path()) else { panic!("{url} was taken") };
        let text = error.to_string();
        assert!(text.contains(why) && !text.contains(PASSWORD) && !text.contains('\n'), "{url}: {text}");
    }
}

/// A program as the user of a server, which is never root.
fn as_user(user: &str, program: &Path) -> Command {
    if !rustix::process::geteuid().is_root() {
        return Command::new(program);
    }
    let mut command = Command::new("setpriv");
    let [uid, gid] = ["reuid", "regid"].map(|id| format!("--{id}={user}"));
    command.args([uid, gid, "--clear-groups".into()]).arg(program);
    command
}

fn asked(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// A server's program: on PATH, or where Debian puts it.
fn program(name: &str) -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let folders =
        std::env::split_paths(&path).chain(["/usr/sbin".into()]).chain(versions.map(|v| v.path().join("bin")));
    let found = folders.map(|folder| folder.join(name)).find(|program| program.is_file());
    found.unwrap_or_else(|| panic!("`{name}` is not installed"))
}

/// A port on which no server listens.
fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// A server that nobody but a test has started. It goes with this.
struct ByHand(Child);

impl ByHand {
    fn start(command: &mut Command, ready: impl Fn() -> bool) -> ByHand {
        let mut started = ByHand(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
        until(|| {
            assert!(started.0.try_wait().unwrap().is_none(), "{command:?} ended");
            ready()
        });
        started
    }
}

impl Drop for ByHand {
    fn drop(&mut self) {
        let _ = self.0.kill(); // it may have gone
        let _ = self.0.wait();
    }
}

fn is_here(engine: &str) -> bool {
    servers().any(|server| server.entry.name == engine)
}

#[test]
fn mariadb_is_measured_over_tls_that_is_verified_and_not_where_it_cannot_be() {
    if !is_here("mariadb:innodb") {
        return;
    }
    let lab = Lab::new();
    let (data, port) = (lab.data_of("mysql"), free_port());
    let at = |name: &str| data.join(name).to_str().unwrap().to_owned();
    let data_at = format!("--datadir={}", data.display());
    let plain = ["--auth-root-authentication-method=normal", "--skip-test-db"];
    asked(as_user("mysql", &program("mariadb-install-db")).args(["--no-defaults", &data_at]).args(plain));
    let server = |more: &[String]| {
        let mut command = as_user("mysql", &program("mariadbd"));
        command.args(["--no-defaults", &data_at, "--bind-address=127.0.0.1", "--skip-log-bin"]);
        command.args([format!("--port={port}"), format!("--socket={}", at("m.sock"))]).args(more);
        ByHand::start(&mut command, || TcpStream::connect(("127.0.0.1", port)).is_ok())
    };
    let ask = |sql: &str| asked(Command::new("mariadb").args(["-N", "-uroot", "-S", &at("m.sock"), "-e", sql]));
    let url = |host: &str, options: &str| format!("mysql://visitor@{host}:{port}/?{options}");
    let issuer = format!("ssl-ca={}", lab.shown("issuer.pem"));

    let without = server(&["--skip-ssl".into()]);
    lab.refused("mysql", &url("localhost", "ssl-mode=required"), NO_TLS);
    drop(without);

    let own = [("cert", "server.pem"), ("key", "server.key"), ("ca", "issuer.pem")];
    let _server = server(&own.map(|(option, name)| format!("--ssl-{option}={}", at(name))));
    for (name, requires) in [("visitor", "SSL"), ("certified", "X509"), ("plain", "NONE")] {
        ask(&format!("CREATE USER {name} IDENTIFIED BY '{PASSWORD}' REQUIRE {requires}; GRANT ALL ON *.* TO {name}"));
    }
    let accepts = || -> u64 {
        ask("SHOW GLOBAL STATUS LIKE 'Ssl_finished_accepts'").split('\t').nth(1).unwrap().trim().parse().unwrap()
    };
    let before = accepts();
    let [tls, verified] = lab.measured("mysql", &url("localhost", &issuer));
    assert!(tls.as_ref().unwrap().starts_with("TLSv1."), "{tls:?}");
    assert_eq!(verified.as_deref(), Some("issuer and name"));
    assert!(accepts() >= before + 5, "the instance, two loaders, two clients: {before} and {}", accepts());
    assert_eq!(ask("SELECT count(*) FROM information_schema.schemata WHERE schema_name LIKE 'plimsoll%'"), "0\n");
    assert_eq!(ask("SHOW GLOBAL STATUS LIKE 'Aborted_clients'"), "Aborted_clients\t0\n", "all said goodbye");

    lab.refused("mysql", &url("localhost", "ssl-mode=DISABLED"), "Access denied");
    let told = lab.measured("mysql", &url("127.0.0.1", &format!("ssl-mode=VERIFY_CA&{issuer}")));
    assert_eq!(told[1].as_deref(), Some("issuer"));
    let stranger = format!("ssl-ca={}", lab.shown("stranger.pem"));
    lab.refused("mysql", &url("localhost", &stranger), NOT_IN_FILE);
    lab.refused("mysql", &url("localhost", &format!("ssl-mode=VERIFY_CA&{stranger}")), NOT_IN_FILE);
    lab.refused("mysql", &url("127.0.0.1", &issuer), "is not for `127.0.0.1` but for");
    lab.refused("mysql", &url("localhost", "ssl-mode=VERIFY_IDENTITY"), UNKNOWN_CA);
    assert_eq!(lab.measured("mysql", &url("127.0.0.1", "ssl-mode=required"))[1].as_deref(), Some("nothing"));
    assert_eq!(lab.measured("mysql", &format!("mysql://plain@localhost:{port}/"))[0].as_deref(), Some("none"));

    let certified = format!("mysql://certified@localhost:{port}/?{issuer}");
    lab.refused("mysql", &certified, "Access denied");
    let own = format!("&ssl-cert={}&ssl-key={}", lab.shown("client.pem"), lab.shown("client.key"));
    lab.measured("mysql", &format!("{certified}{own}"));
}

#[test]
fn postgresql_is_measured_over_tls_that_is_verified_and_not_where_it_cannot_be() {
    if !is_here("postgres") {
        return;
    }
    let lab = Lab::new();
    let (data, port) = (lab.data_of("postgres"), free_port());
    let place = data.join("cluster");
    asked(
        as_user("postgres", &program("initdb")).args(["--auth=trust", "--no-sync", "-U", "postgres", "-D"]).arg(&place),
    );
    let access = "local all all trust\nhostssl all visitor all scram-sha-256\nhostssl all clear all password\n\
                  hostssl all certified all cert\n";
    std::fs::write(place.join("pg_hba.conf"), access).unwrap();
    let at = |name: &str| data.join(name).to_str().unwrap().to_owned();
    let mut command = as_user("postgres", &program("postgres"));
    command.arg("-D").arg(&place);
    for setting in [
        format!("port={port}"),
        "listen_addresses=127.0.0.1".into(),
        format!("unix_socket_directories={}", place.display()),
        format!("ssl_cert_file={}", at("server.pem")),
        format!("ssl_key_file={}", at("server.key")),
        format!("ssl_ca_file={}", at("issuer.pem")),
    ] {
        command.args(["-c", &setting]);
    }
    let psql = |sql: &str| {
        let mut psql = Command::new("psql");
        psql.args(["-At", "-U", "postgres", "-p", &port.to_string(), "-c", sql, "postgres", "-h"]).arg(&place);
        psql
    };
    let ask = |sql: &str| asked(&mut psql(sql));
    let _server = ByHand::start(&mut command, || psql("SELECT 1").output().unwrap().status.success());
    for name in ["visitor", "clear", "certified"] {
        ask(&format!("CREATE ROLE {name} LOGIN PASSWORD '{PASSWORD}'"));
        ask(&format!("GRANT CREATE ON DATABASE postgres TO {name}"));
    }
    let as_whom = |user: &str, host: &str, options: &str| format!("postgres://{user}@{host}:{port}/postgres?{options}");
    let url = |host: &str, options: &str| as_whom("visitor", host, options);
    let issuer = format!("sslrootcert={}", lab.shown("issuer.pem"));

    lab.refused("postgresql", &url("localhost", &issuer), NO_TLS);
    ask("ALTER SYSTEM SET ssl = on");
    ask("SELECT pg_reload_conf()");
    until(|| ask("SHOW ssl") == "on\n");

    let [tls, verified] = lab.measured("postgresql", &url("localhost", &issuer));
    assert!(tls.as_ref().unwrap().starts_with("TLSv1."), "{tls:?}");
    assert_eq!(verified.as_deref(), Some("issuer and name"));
    let instance = start(&lab.trial("postgresql", &url("localhost", &issuer)), lab.dir.path()).unwrap();
    let encrypted =
        "SELECT count(*) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE usename = 'visitor' AND ssl";
    assert_eq!(ask(encrypted), "1\n");
    instance.stop().unwrap();

    lab.refused("postgresql", &url("localhost", "sslmode=disable"), "no encryption");
    let told = lab.measured("postgresql", &url("127.0.0.1", &format!("sslmode=verify-ca&{issuer}")));
    assert_eq!(told[1].as_deref(), Some("issuer"));
    let stranger = format!("sslrootcert={}", lab.shown("stranger.pem"));
    lab.refused("postgresql", &url("localhost", &stranger), NOT_IN_FILE);
    lab.refused("postgresql", &url("127.0.0.1", &issuer), "is not for `127.0.0.1` but for");
    lab.refused("postgresql", &url("localhost", "sslmode=verify-full"), UNKNOWN_CA);
    assert_eq!(lab.measured("postgresql", &url("127.0.0.1", "sslmode=require"))[1].as_deref(), Some("nothing"));
    lab.measured("postgresql", &as_whom("clear", "localhost", &issuer));

    let certified = as_whom("certified", "localhost", &issuer);
    lab.refused("postgresql", &certified, "certificate");
    let own = format!("&sslcert={}&sslkey={}", lab.shown("client.pem"), lab.shown("client.key"));
    lab.measured("postgresql", &format!("{certified}{own}"));
}
