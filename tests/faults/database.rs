//! A MariaDB or PostgreSQL that plimsoll does not start: for faults that are made at a real server.
//!
//! In: options of the server. Out: a running server with an account `visitor` and its URL; it is killed at the end. Limits: it needs root, to
//! run as the server's own user; its data is lost at a crash of the machine.

use crate::lab::wait_until;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use tempfile::TempDir;

/// The password of the account, which must appear nowhere.
pub const PASSWORD: &str = "c4n4ry-in-the-mine";

/// A MariaDB.
pub struct MariaDb {
    dir: TempDir,
    port: u16,
    server: Child,
}

/// Whether MariaDB can be started here.
pub fn has_mariadb() -> bool {
    is_root() && Command::new("mariadbd").arg("--version").output().is_ok()
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// A port of loopback that was free a moment ago.
fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// What `command` prints.
pub fn asked(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// The files of a new MariaDB, made once for all tests.
fn installed() -> &'static Path {
    static INSTALLED: OnceLock<TempDir> = OnceLock::new();
    let dir = INSTALLED.get_or_init(|| {
        let dir = directory_of("mysql");
        let data = format!("--datadir={}", dir.path().join("data").display());
        let own = ["--no-defaults", "--user=mysql", "--auth-root-authentication-method=normal", "--skip-test-db"];
        asked(Command::new("mariadb-install-db").args(own).args([LOG_SIZE, "--debug-no-sync", &data]));
        dir
    });
    dir.path()
}

const LOG_SIZE: &str = "--innodb-log-file-size=8M";

/// A directory that belongs to `user`.
fn directory_of(user: &str) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    asked(Command::new("chown").arg(format!("{user}:{user}")).arg(dir.path()));
    dir
}

fn started_as(user: &str, program: &Path, arguments: &[String]) -> Child {
    as_user(user, program, arguments).spawn().unwrap()
}

fn as_user(user: &str, program: &Path, arguments: &[String]) -> Command {
    let [uid, gid] = ["--reuid=", "--regid="].map(|option| format!("{option}{user}"));
    let mut command = Command::new("setpriv");
    command.args([&uid, &gid, "--clear-groups"]).arg(program).args(arguments);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command
}

impl MariaDb {
    /// One with `options`.
    pub fn start(options: &[&str]) -> MariaDb {
        MariaDb::start_with(options, None)
    }

    /// The same with `library` in front of those that it has, from then on.
    pub fn start_with(options: &[&str], library: Option<&Path>) -> MariaDb {
        let dir = directory_of("mysql");
        asked(Command::new("cp").arg("-a").arg(installed().join("data")).arg(dir.path()));
        let library = library.map(|library| {
            // Its user may not read those of root.
            let own = dir.path().join("preloaded.so");
            asked(Command::new("install").args(["-m", "755"]).arg(library).arg(&own));
            own
        });
        let port = free_port();
        let server = mariadb_command(dir.path(), port, options).envs(library.map(|own| ("LD_PRELOAD", own))).spawn();
        let mut made = MariaDb { server: server.unwrap(), dir, port };
        made.wait_until_up();
        made.ask(&format!("CREATE USER visitor@'%' IDENTIFIED BY '{PASSWORD}'; GRANT ALL ON *.* TO visitor@'%'"));
        made
    }

    /// Kills it, and starts it again with `options`.
    pub fn restart(&mut self, options: &[&str]) {
        self.kill();
        self.server = mariadb_command(self.dir.path(), self.port, options).spawn().unwrap();
        self.wait_until_up();
    }

    /// Kills it.
    pub fn kill(&mut self) {
        let _ = self.server.kill(); // it may have gone
        let _ = self.server.wait();
    }

    fn wait_until_up(&mut self) {
        let socket = self.socket();
        wait_until("mariadbd", || {
            assert!(self.server.try_wait().unwrap().is_none(), "mariadbd ended");
            let ping = Command::new("mariadb-admin").args(["ping", "-uroot", "-S", &socket]).output();
            ping.unwrap().status.success()
        });
    }

    fn socket(&self) -> String {
        self.dir.path().join("m.sock").display().to_string()
    }

    /// What it answers its root.
    pub fn ask(&self, sql: &str) -> String {
        asked(Command::new("mariadb").args(["-N", "-uroot", "-S", &self.socket(), "-e", sql]))
    }

    /// Takes over `schema` with its rows as it is on `other`.
    pub fn copy_schema(&self, other: &MariaDb, schema: &str) {
        let dumped = asked(Command::new("mariadb-dump").args(["-uroot", "-S", &other.socket(), "--databases", schema]));
        self.ask(&dumped);
    }

    /// Its command-line client as root, which executes what it reads.
    pub fn client(&self) -> Command {
        let mut client = Command::new("mariadb");
        client.args(["-uroot", "-S", &self.socket()]);
        client
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    pub fn pid(&self) -> u32 {
        self.server.id()
    }

    /// Its URL for the account.
    pub fn url(&self) -> String {
        format!("mysql://visitor@127.0.0.1:{}/", self.port)
    }

    /// The schemas of plimsoll's that are there.
    pub fn schemas_left(&self) -> String {
        self.ask("SHOW DATABASES LIKE 'plimsoll%'")
    }
}

fn mariadb_command(dir: &Path, port: u16, options: &[&str]) -> Command {
    let [data, socket] = ["data", "m.sock"].map(|name| dir.join(name).display().to_string());
    let own =
        ["--no-defaults", "--user=mysql", LOG_SIZE, "--bind-address=127.0.0.1", "--debug-no-sync"].map(str::to_owned);
    let place = [format!("--datadir={data}"), format!("--socket={socket}"), format!("--port={port}")];
    let options = options.iter().map(|option| (*option).to_owned());
    let arguments: Vec<String> = own.into_iter().chain(place).chain(options).collect();
    as_user("mysql", Path::new("mariadbd"), &arguments)
}

impl Drop for MariaDb {
    fn drop(&mut self) {
        // A stopped one is killed as well.
        self.kill();
    }
}

/// A PostgreSQL.
pub struct PostgreSql {
    dir: TempDir,
    port: u16,
    server: Child,
}

/// The directory of its programs, if it is installed.
fn postgres_programs() -> Option<PathBuf> {
    let versions = std::fs::read_dir("/usr/lib/postgresql").ok()?.flatten();
    versions.map(|version| version.path().join("bin")).find(|bin| bin.join("postgres").exists())
}

impl PostgreSql {
    /// One, if it can be started here.
    pub fn start() -> Option<PostgreSql> {
        let programs = postgres_programs().filter(|_| is_root())?;
        let (dir, port) = (directory_of("postgres"), free_port());
        let place = dir.path().display().to_string();
        let data = format!("{place}/data");
        let made = ["-D", &data, "-U", "visitor", "--auth=trust", "--no-sync"].map(str::to_owned);
        assert!(started_as("postgres", &programs.join("initdb"), &made).wait().unwrap().success());
        let options = ["-D", &data, "-k", &place, "-p", &port.to_string(), "-c", "fsync=off"].map(str::to_owned);
        let server = started_as("postgres", &programs.join("postgres"), &options);
        let started = PostgreSql { dir, port, server };
        wait_until("postgres", || started.psql("SELECT 1").output().unwrap().status.success());
        Some(started)
    }

    fn psql(&self, sql: &str) -> Command {
        let mut psql = self.client();
        psql.args(["-c", sql]);
        psql
    }

    /// Its command-line client, which executes what it reads.
    pub fn client(&self) -> Command {
        let mut psql = Command::new("psql");
        psql.args(["-At", "-U", "visitor", "-d", "postgres", "-p", &self.port.to_string(), "-h"]).arg(self.dir.path());
        psql
    }

    /// What it answers.
    pub fn ask(&self, sql: &str) -> String {
        asked(&mut self.psql(sql))
    }

    pub fn url(&self) -> String {
        format!("postgres://visitor@127.0.0.1:{}/postgres?sslmode=disable", self.port)
    }

    /// The schemas of plimsoll's that are there.
    pub fn schemas_left(&self) -> String {
        self.ask("SELECT nspname FROM pg_namespace WHERE nspname LIKE 'plimsoll%'")
    }
}

impl Drop for PostgreSql {
    fn drop(&mut self) {
        let quit = Command::new("kill").args(["-s", "QUIT", &self.server.id().to_string()]).status();
        assert!(quit.is_ok_and(|status| status.success()));
        let _ = self.server.wait();
    }
}
