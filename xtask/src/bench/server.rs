//! Private servers for the benches: started in a directory of their own, ended and removed when they are dropped.
//!
//! In: nothing. Out: a socket, and the user to connect as. Limits: root starts them as the user of their package, so the directory is
//! below the system's temporary one, which all may enter; commits are not synced, because the client is measured.

use anyhow::{Context, Result, bail};
use rustix::process::Signal;
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

pub struct BenchServer {
    child: Child,
    dir: tempfile::TempDir,
    end: Signal,
    port: u16,
}

/// Outside of the range from which the kernel takes ports.
const MARIADB_PORT: u16 = 23_306;
const POSTGRES_PORT: u16 = 23_307;
const START_AT_MOST: Duration = Duration::from_secs(30);

impl BenchServer {
    /// MariaDB with one database, `sbtest`; root needs no password.
    pub fn start_mariadb() -> Result<BenchServer> {
        Self::start_mariadb_with(None, &[])
    }

    /// The same, which keeps an account of its statements.
    pub fn start_mariadb_with_digests() -> Result<BenchServer> {
        Self::start_mariadb_with(None, &["--performance-schema=ON"])
    }

    /// The same, which serves up to 4,000 connections by a pool of threads.
    pub fn start_mariadb_pool() -> Result<BenchServer> {
        Self::start_mariadb_with(None, &["--thread-handling=pool-of-threads", "--max-connections=4000"])
    }

    /// The same, also on the network at `address`, where `client` is let in as root.
    pub fn start_mariadb_at(address: &str, client: &str) -> Result<BenchServer> {
        Self::start_mariadb_with(Some((address, client)), &[])
    }

    /// The port on the network.
    pub fn port(&self) -> u16 {
        self.port
    }

    fn start_mariadb_with(network: Option<(&str, &str)>, more: &[&str]) -> Result<BenchServer> {
        let user = ServerUser::by_name("mysql")?;
        let dir = user.make_dir()?;
        let (data, socket) = (dir.path().join("data"), dir.path().join("m.sock"));
        let mut install = user.command(Path::new("mariadb-install-db"));
        install.arg("--no-defaults").arg(option("datadir", &data));
        run_quietly(install.args(["--auth-root-authentication-method=normal", "--skip-test-db"]))?;
        let mut command = user.command(&find_program("mariadbd")?);
        command.arg("--no-defaults").args([option("datadir", &data), option("socket", &socket)]);
        match network {
            None => command.arg("--skip-networking"),
            Some((address, _)) => {
                command.arg(format!("--bind-address={address}")).arg(format!("--port={MARIADB_PORT}"))
            }
        };
        command.args(["--skip-name-resolve", "--skip-log-bin", "--max-connections=2000"]);
        command.args(["--innodb-buffer-pool-size=256M", "--innodb-flush-log-at-trx-commit=0"]);
        command.args(["--character-set-server=latin1", "--max-prepared-stmt-count=1048576"]).args(more);
        let server = BenchServer::spawn(command, dir, Signal::KILL, MARIADB_PORT)?;
        let mut admin = Command::new("mariadb");
        let grant = network.map_or(String::new(), |(_, client)| {
            format!("; CREATE USER IF NOT EXISTS root@'{client}'; GRANT ALL ON *.* TO root@'{client}'")
        });
        admin.args(["--no-defaults", "--user=root"]).arg(format!("--execute=CREATE DATABASE sbtest{grant}"));
        admin.arg(option("socket", &socket));
        server.wait_until_ready(admin)?;
        Ok(server)
    }

    /// PostgreSQL with the database `postgres` of the user `plimsoll`, who needs no password; its socket is `.s.PGSQL.5432`.
    pub fn start_postgres() -> Result<BenchServer> {
        Self::start_postgres_with("", 5432)
    }

    /// The same, also on the network at `address`; the name of its socket ends in its port.
    pub fn start_postgres_at(address: &str) -> Result<BenchServer> {
        Self::start_postgres_with(address, POSTGRES_PORT)
    }

    fn start_postgres_with(address: &str, port: u16) -> Result<BenchServer> {
        let user = ServerUser::by_name("postgres")?;
        let dir = user.make_dir()?;
        let data = dir.path().join("data");
        let mut install = user.command(&find_program("initdb")?);
        install.args(["--auth=trust", "--no-sync", "--username=plimsoll", "-D"]).arg(&data);
        run_quietly(&mut install)?;
        let mut command = user.command(&find_program("postgres")?);
        command.arg("-D").arg(&data).arg("-k").arg(dir.path());
        let (addresses, port_setting) = (format!("listen_addresses={address}"), format!("port={port}"));
        for setting in [&addresses, &port_setting, "max_connections=10100", "shared_buffers=256MB", "fsync=off"] {
            command.args(["-c", setting]);
        }
        // SIGQUIT ends all its processes at once and frees its shared memory; after SIGKILL both may be left.
        let server = BenchServer::spawn(command, dir, Signal::QUIT, port)?;
        let mut admin = Command::new("psql");
        admin.args(["-U", "plimsoll", "-c", "SELECT 1", "postgres", "-p", &port.to_string(), "-h"]).arg(server.dir());
        server.wait_until_ready(admin)?;
        Ok(server)
    }

    /// Where its socket is.
    pub fn dir(&self) -> &Path {
        self.dir.path()
    }

    fn spawn(mut command: Command, dir: tempfile::TempDir, end: Signal, port: u16) -> Result<BenchServer> {
        let log = fs::File::create(dir.path().join("log"))?;
        command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        // SAFETY: between fork and exec only prctl is called, which is safe there.
        unsafe {
            command.pre_exec(move || Ok(rustix::process::set_parent_process_death_signal(Some(end))?));
        }
        let child = command.spawn().with_context(|| format!("cannot start {command:?}"))?;
        Ok(BenchServer { child, dir, end, port })
    }

    /// Repeats `admin` until it succeeds.
    fn wait_until_ready(&self, mut admin: Command) -> Result<()> {
        let until = Instant::now() + START_AT_MOST;
        while let Err(error) = run_quietly(&mut admin) {
            if Instant::now() > until {
                let log = fs::read_to_string(self.dir().join("log")).unwrap_or_default();
                return Err(error.context(format!("the server does not answer: {log}")));
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(())
    }
}

impl Drop for BenchServer {
    fn drop(&mut self) {
        let _ = rustix::process::kill_process(rustix::process::Pid::from_child(&self.child), self.end);
        let _ = self.child.wait();
    }
}

/// The user that a server runs as.
pub struct ServerUser {
    /// User and group by number; `None` for those of this process.
    other: Option<(u32, u32)>,
}

impl ServerUser {
    /// The user `name` if this is root, or else this one.
    pub fn by_name(name: &str) -> Result<ServerUser> {
        // Both servers refuse to run as root, and only root can run them as another user.
        if !rustix::process::geteuid().is_root() {
            return Ok(ServerUser { other: None });
        }
        let users = fs::read_to_string("/etc/passwd")?;
        let line = users.lines().find(|line| line.split(':').next() == Some(name));
        let numbers = line.and_then(|line| {
            let mut fields = line.split(':').skip(2);
            Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
        });
        match numbers {
            Some(numbers) => Ok(ServerUser { other: Some(numbers) }),
            None => bail!("there is no user `{name}` to run the server as; install its Debian package"),
        }
    }

    /// A directory of this user.
    pub fn make_dir(&self) -> Result<tempfile::TempDir> {
        let dir = tempfile::Builder::new().prefix("plimsoll-bench-").tempdir()?;
        if let Some((user, group)) = self.other {
            std::os::unix::fs::chown(dir.path(), Some(user), Some(group))?;
        }
        Ok(dir)
    }

    /// The command that starts `program` as this user.
    pub fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        if let Some((user, group)) = self.other {
            command.uid(user).gid(group);
        }
        // Its user may be unable to enter the current directory, such as root's home.
        command.current_dir("/");
        command
    }
}

/// Finds a server on PATH, or in the directories of Debian that need not be on PATH.
pub fn find_program(program: &str) -> Result<PathBuf> {
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let folders = versions.map(|version| version.path().join("bin")).chain(["/usr/sbin".into()]);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let all: Vec<PathBuf> = folders.chain(std::env::split_paths(&path)).collect();
    let found = all.into_iter().map(|folder| folder.join(program)).find(|path| path.is_file());
    found.with_context(|| format!("`{program}` is not there"))
}

/// `--name=path`
pub fn option(name: &str, path: &Path) -> String {
    format!("--{name}={}", path.display())
}

/// Runs `command` to its end; what it wrote is part of the error if it fails.
pub fn run_quietly(command: &mut Command) -> Result<()> {
    let output = command.stdin(Stdio::null()).output().with_context(|| format!("cannot start {command:?}"))?;
    if output.status.success() {
        Ok(())
    } else {
        bail!("{command:?} failed: {}", String::from_utf8_lossy(&output.stderr).trim())
    }
}
