//! Private servers for the benches: started in a directory of their own, ended and removed when they are dropped.
//!
//! In: nothing. Out: a socket and as whom to come there. Limits: as root they run as the user that their package made, so the
//! directory is below the system's temporary one, which all may enter; commits are not synced, because the client is measured.

use anyhow::{Context, Result, bail};
use rustix::process::Signal;
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A running server.
pub struct Server {
    child: Child,
    dir: tempfile::TempDir,
    end: Signal,
}

const START_AT_MOST: Duration = Duration::from_secs(30);

impl Server {
    /// MariaDB with one database, `sbtest`; root comes without a password.
    pub fn mariadb() -> Result<Server> {
        let user = User::named("mysql")?;
        let dir = user.directory()?;
        let (data, socket) = (dir.path().join("data"), dir.path().join("m.sock"));
        let mut install = user.command(Path::new("mariadb-install-db"));
        install.arg("--no-defaults").arg(option("datadir", &data));
        quietly(install.args(["--auth-root-authentication-method=normal", "--skip-test-db"]))?;
        let mut command = user.command(&find("mariadbd")?);
        command.arg("--no-defaults").args([option("datadir", &data), option("socket", &socket)]);
        command.args(["--skip-networking", "--skip-name-resolve", "--skip-log-bin", "--max-connections=2000"]);
        command.args(["--innodb-buffer-pool-size=256M", "--innodb-flush-log-at-trx-commit=0"]);
        command.args(["--character-set-server=latin1", "--max-prepared-stmt-count=1048576"]);
        let server = Server::start(command, dir, Signal::KILL)?;
        let mut admin = Command::new("mariadb");
        admin.args(["--no-defaults", "--user=root", "--execute=CREATE DATABASE sbtest"]).arg(option("socket", &socket));
        server.until(admin)?;
        Ok(server)
    }

    /// PostgreSQL with the database `postgres` of the user `plimsoll`.
    pub fn postgres() -> Result<Server> {
        let user = User::named("postgres")?;
        let dir = user.directory()?;
        let data = dir.path().join("data");
        let mut install = user.command(&find("initdb")?);
        install.args(["--auth=trust", "--no-sync", "--username=plimsoll", "-D"]).arg(&data);
        quietly(&mut install)?;
        let mut command = user.command(&find("postgres")?);
        command.arg("-D").arg(&data).arg("-k").arg(dir.path());
        for setting in ["listen_addresses=", "max_connections=600", "shared_buffers=256MB", "fsync=off"] {
            command.args(["-c", setting]);
        }
        // Asked so it ends at once, all its processes with it, and gives back its shared memory.
        let server = Server::start(command, dir, Signal::QUIT)?;
        let mut admin = Command::new("psql");
        admin.args(["-U", "plimsoll", "-c", "SELECT 1", "postgres", "-h"]).arg(server.dir());
        server.until(admin)?;
        Ok(server)
    }

    /// Where its socket is.
    pub fn dir(&self) -> &Path {
        self.dir.path()
    }

    fn start(mut command: Command, dir: tempfile::TempDir, end: Signal) -> Result<Server> {
        let log = fs::File::create(dir.path().join("log"))?;
        command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        // SAFETY: prctl is all that is called between fork and exec, and it may be.
        unsafe {
            command.pre_exec(move || Ok(rustix::process::set_parent_process_death_signal(Some(end))?));
        }
        let child = command.spawn().with_context(|| format!("cannot start {command:?}"))?;
        Ok(Server { child, dir, end })
    }

    /// Repeats `admin` until it succeeds.
    fn until(&self, mut admin: Command) -> Result<()> {
        let until = Instant::now() + START_AT_MOST;
        while let Err(error) = quietly(&mut admin) {
            if Instant::now() > until {
                let log = fs::read_to_string(self.dir().join("log")).unwrap_or_default();
                return Err(error.context(format!("the server does not answer: {log}")));
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = rustix::process::kill_process(rustix::process::Pid::from_child(&self.child), self.end);
        let _ = self.child.wait();
    }
}

/// As whom a server runs.
struct User {
    /// User and group by number, where they are not ours.
    other: Option<(u32, u32)>,
}

impl User {
    fn named(name: &str) -> Result<User> {
        if !rustix::process::geteuid().is_root() {
            return Ok(User { other: None });
        }
        let users = fs::read_to_string("/etc/passwd")?;
        let line = users.lines().find(|line| line.split(':').next() == Some(name));
        let numbers = line.and_then(|line| {
            let mut fields = line.split(':').skip(2);
            Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
        });
        match numbers {
            Some(numbers) => Ok(User { other: Some(numbers) }),
            None => bail!("there is no user `{name}`, as whom the server could run; install its Debian package"),
        }
    }

    fn directory(&self) -> Result<tempfile::TempDir> {
        let dir = tempfile::Builder::new().prefix("plimsoll-bench-").tempdir()?;
        if let Some((user, group)) = self.other {
            std::os::unix::fs::chown(dir.path(), Some(user), Some(group))?;
        }
        Ok(dir)
    }

    fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        if let Some((user, group)) = self.other {
            command.uid(user).gid(group);
        }
        command.current_dir("/");
        command
    }
}

/// Debian has servers where PATH need not lead.
fn find(program: &str) -> Result<PathBuf> {
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let folders = versions.map(|version| version.path().join("bin")).chain(["/usr/sbin".into()]);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let all: Vec<PathBuf> = folders.chain(std::env::split_paths(&path)).collect();
    let found = all.into_iter().map(|folder| folder.join(program)).find(|path| path.is_file());
    found.with_context(|| format!("`{program}` is not there"))
}

fn option(name: &str, path: &Path) -> String {
    format!("--{name}={}", path.display())
}

fn quietly(command: &mut Command) -> Result<()> {
    let output = command.stdin(Stdio::null()).output().with_context(|| format!("cannot start {command:?}"))?;
    match output.status.success() {
        true => Ok(()),
        false => bail!("{command:?} failed: {}", String::from_utf8_lossy(&output.stderr).trim()),
    }
}
