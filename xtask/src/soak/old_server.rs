//! A MySQL 5.5 for the table of compatibility, which plimsoll reaches by URL.
//!
//! In: the folder of `cargo xtask engines`. Out: a running server with a data directory of its own, and its URL; both are gone when it is
//! dropped. Limits: a unix socket only, and an account `root` without a password.

use anyhow::{Context, Result, bail, ensure};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Killed and removed when it is dropped.
pub struct OldServer {
    child: Child,
    dir: TempDir,
}

impl OldServer {
    /// Starts the server in `folder` and waits until it accepts connections.
    pub fn start(folder: &Path) -> Result<OldServer> {
        let dir = tempfile::tempdir()?;
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o711))?;
        let data = dir.path().join("data");
        crate::workspace::run(Command::new("cp").arg("-r").arg(folder.join("data")).arg(&data))?;
        let is_root = rustix::process::geteuid().is_root();
        if is_root {
            crate::workspace::run(Command::new("chown").args(["-R", "nobody"]).arg(&data))?;
        }
        let share = folder.join("share");
        let option = |name: &str, path: PathBuf| format!("--{name}={}", path.display());
        let mut command = Command::new(folder.join("bin/mysqld"));
        command.arg("--no-defaults").arg("--skip-networking").args(is_root.then_some("--user=nobody"));
        command.arg(option("basedir", folder.to_owned())).arg(option("lc-messages-dir", share.clone()));
        command.arg(option("character-sets-dir", share.join("charsets"))).arg(option("datadir", data.clone()));
        command.arg(option("socket", data.join("socket"))).arg(option("pid-file", data.join("pid")));
        let log = fs::File::create(dir.path().join("log"))?;
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn();
        let child = child.with_context(|| format!("cannot start `{}`", folder.join("bin/mysqld").display()))?;
        let mut server = OldServer { child, dir };
        server.wait_until_ready()?;
        Ok(server)
    }

    /// As plimsoll takes it.
    pub fn url(&self) -> String {
        format!("mysql://root@localhost/?socket={}", self.socket().display())
    }

    fn socket(&self) -> PathBuf {
        self.dir.path().join("data/socket")
    }

    fn wait_until_ready(&mut self) -> Result<()> {
        const PATIENCE: Duration = Duration::from_secs(60);
        let started = Instant::now();
        while UnixStream::connect(self.socket()).is_err() {
            if self.child.try_wait()?.is_some() {
                bail!("the server ended:\n{}", fs::read_to_string(self.dir.path().join("log"))?);
            }
            ensure!(started.elapsed() < PATIENCE, "the server does not answer");
            std::thread::sleep(Duration::from_millis(100));
        }
        Ok(())
    }
}

impl Drop for OldServer {
    fn drop(&mut self) {
        // Its data is of no use to anybody.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
