//! Several hosts on one machine: a bus of their own, and a directory for each.
//!
//! In: `redis-server` on PATH. Out: agents, coordinators, and what their run files hold. Limits: the hosts are processes of this machine.

use crate::lab::{Finished, Lab, wait_until};
use rusqlite::{Connection, OpenFlags};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// A bus, and the directories of all hosts.
pub struct HostsLab {
    pub lab: Lab,
    pub bus: Child,
    pub password: Option<&'static str>,
}

impl HostsLab {
    /// `None` if there is no server on this machine.
    pub fn new(password: Option<&'static str>) -> Option<HostsLab> {
        let lab = Lab::new();
        let bus = start_bus(lab.path(), password)?;
        for (name, text) in
            [("key", "0123456789abcdef\n"), ("other.key", "fedcba9876543210\n"), ("password", "hunter2\n")]
        {
            let path = lab.path().join(name);
            std::fs::write(&path, text).unwrap();
            std::fs::set_permissions(&path, PermissionsExt::from_mode(0o600)).unwrap();
        }
        Some(HostsLab { lab, bus, password })
    }

    pub fn url(&self) -> String {
        format!("redis+unix://{}", socket(self.lab.path()).display())
    }

    /// plimsoll with these arguments and the bus, not started yet.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let url = self.url();
        let mut all = [arguments, &["--bus", &url, "--bus-key-file", "key"]].concat();
        if self.password.is_some() {
            all.extend(["--bus-password-file", "password"]);
        }
        self.lab.command(&all)
    }

    pub fn agent(&self, name: &str, can: &str) -> Child {
        self.agent_with(name, can, &[])
    }

    /// The same with further flags.
    pub fn agent_with(&self, name: &str, can: &str, more: &[&str]) -> Child {
        let (dir, runs) = (format!("{name}-dir"), format!("{name}-runs"));
        std::fs::create_dir_all(self.lab.path().join(&dir)).unwrap();
        let all = ["agent", "--name", name, "--can", can, "--dir", &dir, "--runs", &runs];
        let mut command = self.command(&[&all[..], more].concat());
        command.env("PLIMSOLL_PASSWORD", VISITOR).spawn().unwrap()
    }

    pub fn coordinator(&self, arguments: &[&str]) -> Child {
        self.command(&[LOAD, arguments, &["--json", "--no-report"]].concat()).spawn().unwrap()
    }

    /// The only run file in this directory.
    pub fn run_file(&self, runs: &str) -> PathBuf {
        let files = std::fs::read_dir(self.lab.path().join(runs)).unwrap().flatten().map(|entry| entry.path());
        let mut files: Vec<PathBuf> = files.filter(|path| path.extension().is_some_and(|e| e == "plimsoll")).collect();
        files.sort();
        assert_eq!(files.len(), 1, "{files:?}");
        files.remove(0)
    }

    pub fn kill_bus(&mut self) {
        self.bus.kill().unwrap();
        self.bus.wait().unwrap();
    }
}

impl Drop for HostsLab {
    fn drop(&mut self) {
        self.kill_bus();
    }
}

/// The password of the account by which agents use a server.
pub const VISITOR: &str = "visitor";

/// Four clients that share a load of two agents.
pub const LOAD: &[&str] =
    &["file", "--engine", "null", "--service", "5ms", "--clients", "4", "--interval", "100ms", "--agents", "2"];

pub fn socket(dir: &Path) -> PathBuf {
    dir.join("bus.sock")
}

pub fn start_bus(dir: &Path, password: Option<&str>) -> Option<Child> {
    let socket = socket(dir);
    let _ = std::fs::remove_file(&socket);
    let mut command = Command::new("redis-server");
    command.args(["--port", "0", "--save", "", "--appendonly", "no", "--unixsocket"]).arg(&socket);
    command.args(password.iter().flat_map(|password| ["--requirepass", password]));
    let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().ok()?;
    wait_until("the bus", || std::os::unix::net::UnixStream::connect(&socket).is_ok());
    Some(child)
}

pub fn end(child: Child) -> Finished {
    child.wait_with_output().unwrap().into()
}

pub fn query<T: rusqlite::types::FromSql>(file: &Path, sql: &str) -> T {
    let db = Connection::open_with_flags(file, OpenFlags::SQLITE_OPEN_READ_ONLY).unwrap();
    db.query_row(sql, [], |row| row.get(0)).unwrap()
}

/// What the run file of the coordinator has of a host.
pub fn ops_of(file: &Path, host: &str) -> u64 {
    query::<i64>(
        file,
        &format!("SELECT coalesce(sum(ok), 0) FROM interval i JOIN host h USING (point, host) WHERE h.name = '{host}'"),
    ) as u64
}

pub fn own_ops(file: &Path) -> u64 {
    query::<i64>(file, "SELECT coalesce(sum(ok), 0) FROM interval") as u64
}

pub fn assert_all_arrived(lab: &HostsLab, agents: &[&str]) {
    let run_file = lab.lab.run_files().pop().unwrap();
    for agent in agents {
        let own = own_ops(&lab.run_file(&format!("{agent}-runs")));
        assert_eq!(ops_of(&run_file, agent), own, "{agent}");
        assert!(own > 0, "{agent}");
    }
    let all: u64 = agents.iter().map(|agent| ops_of(&run_file, agent)).sum();
    assert_eq!(own_ops(&run_file), all, "nothing is counted twice");
}
