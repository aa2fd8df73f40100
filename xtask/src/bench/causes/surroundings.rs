//! What is made around plimsoll: neighbours, a quota, a link, a server that is stopped again and again.
//!
//! In: which of them, and whether the cause is to be made. Out: the command that starts plimsoll, and arguments. All of it ends when it is
//! dropped. Limits: root on Linux; the control groups of version 1 or 2.

use crate::bench::server::BenchServer;
use crate::namespaces::HostNetwork;
use anyhow::{Context, Result, ensure};
use rustix::process::{Pid, Signal, kill_process};
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// What is made outside of plimsoll.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Surrounding {
    /// Nothing: the cause is a setting.
    Nothing,
    Neighbours,
    /// A server of its own, and a CPU quota of plimsoll.
    QuotaOfPlimsoll,
    /// A server on the other side of a link.
    Link,
    /// Something that stops the engine again and again.
    Freezer,
    /// A server of its own, whose connections others keep until only half of the clients find one.
    FewConnections,
}

/// What was made; it ends when it is dropped.
pub struct CauseSetup {
    /// In front of the program.
    prefix: Vec<String>,
    arguments: Vec<String>,
    _kept: Vec<Kept>,
}

/// What has to end.
enum Kept {
    Server { _server: BenchServer },
    Neighbour(Child),
    Group(PathBuf),
    Network { _network: HostNetwork },
    Freezer(Option<(Sender<()>, JoinHandle<()>)>),
}

const QUOTA_US: u32 = 30_000;
const PERIOD_US: u32 = 100_000;
/// The engine is stopped for as long as it then runs.
const FREEZE: Duration = Duration::from_secs(1);
/// The connections that the server of the case `connections` allows, and those that others keep.
const CONNECTIONS: (u32, u32) = (44, 28);
/// The network of the case `link`, and its addresses.
const NETWORK: (&str, &str) = ("plbench", "10.99.71");

impl CauseSetup {
    /// Makes `which`, with the cause if `is_made`; `dir` is where the data of the run is.
    pub fn make(which: Surrounding, is_made: bool, dir: &Path) -> Result<CauseSetup> {
        match which {
            Surrounding::Neighbours if is_made => Self::neighbours(),
            Surrounding::Freezer if is_made => Ok(Self::of(vec![freezer(dir.to_owned())])),
            Surrounding::QuotaOfPlimsoll => Self::quota(is_made),
            Surrounding::Link => Self::link(is_made),
            Surrounding::FewConnections => Self::few_connections(is_made),
            Surrounding::Nothing | Surrounding::Neighbours | Surrounding::Freezer => Ok(Self::of(Vec::new())),
        }
    }

    /// The command that starts `program` in it.
    pub fn command(&self, program: &Path) -> Command {
        match self.prefix.split_first() {
            None => Command::new(program),
            Some((first, rest)) => {
                let mut command = Command::new(first);
                command.args(rest).arg(program);
                command
            }
        }
    }

    /// The engine, if it is not the one of the case.
    pub fn arguments(&self) -> impl Iterator<Item = &OsStr> {
        self.arguments.iter().map(OsStr::new)
    }

    fn of(kept: Vec<Kept>) -> CauseSetup {
        CauseSetup { prefix: Vec::new(), arguments: Vec::new(), _kept: kept }
    }

    fn neighbours() -> Result<CauseSetup> {
        let cpus = std::thread::available_parallelism().map_or(1, usize::from);
        let kept = (0..2 * cpus).map(|_| Ok(Kept::Neighbour(neighbour()?))).collect::<Result<Vec<Kept>>>()?;
        Ok(Self::of(kept))
    }

    /// A server, its socket, and the engine that it is.
    fn server() -> Result<(CauseSetup, PathBuf)> {
        let server = BenchServer::start_mariadb()?;
        let socket = server.dir().join("m.sock");
        let url = format!("mysql://root@localhost/?socket={}", socket.display());
        let made = CauseSetup { arguments: engine(&url), ..Self::of(vec![Kept::Server { _server: server }]) };
        Ok((made, socket))
    }

    fn few_connections(is_made: bool) -> Result<CauseSetup> {
        let (mut made, socket) = Self::server()?;
        let (most, kept) = CONNECTIONS;
        let client = |statement: &str| {
            let mut command = Command::new("mariadb");
            command.args(["--no-defaults", "--user=root", "--socket"]).arg(&socket).args(["--execute", statement]);
            command
        };
        if is_made {
            let status = client(&format!("SET GLOBAL max_connections = {most}")).status()?;
            ensure!(status.success(), "the server does not take {most} connections");
            for _ in 0..kept {
                made._kept.push(Kept::Neighbour(client("DO SLEEP(3600)").spawn()?));
            }
        }
        Ok(made)
    }

    fn quota(is_made: bool) -> Result<CauseSetup> {
        let (mut made, _) = Self::server()?;
        if is_made {
            let group = quota_group()?;
            // The shell enters the group and becomes the program, whose children are then in it as well.
            let enter = "echo $$ > \"$0\" && exec \"$@\"".to_owned();
            let procs = group.join("cgroup.procs").display().to_string();
            made.prefix = vec!["sh".into(), "-c".into(), enter, procs];
            made._kept.push(Kept::Group(group));
        }
        Ok(made)
    }

    fn link(is_limited: bool) -> Result<CauseSetup> {
        let mut network = HostNetwork::make(NETWORK.0, NETWORK.1)?;
        let client = network.add(is_limited.then_some("100mbit"))?;
        let (address, prefix) = (client.address().to_owned(), client.prefix());
        let server = BenchServer::start_mariadb_at(&network.own_address(), &address)?;
        let url = format!("mysql://root@{}:{}/?ssl-mode=DISABLED", network.own_address(), server.port());
        let kept = vec![Kept::Server { _server: server }, Kept::Network { _network: network }];
        Ok(CauseSetup { prefix, arguments: engine(&url), _kept: kept })
    }
}

fn engine(url: &str) -> Vec<String> {
    vec!["--engine".to_owned(), url.to_owned()]
}

/// A program that computes until it is killed.
fn neighbour() -> Result<Child> {
    let mut command = Command::new("sh");
    command.args(["-c", "while :; do :; done"]).stdin(Stdio::null());
    command.spawn().context("cannot start a program that computes")
}

/// A control group with a CPU quota.
fn quota_group() -> Result<PathBuf> {
    let version_2 = Path::new("/sys/fs/cgroup/cgroup.controllers");
    let parent = Path::new(if version_2.exists() { "/sys/fs/cgroup" } else { "/sys/fs/cgroup/cpu" });
    let group = parent.join("plimsoll-bench-causes");
    fs::create_dir_all(&group).with_context(|| format!("cannot make `{}`", group.display()))?;
    let (file, quota) = if version_2.exists() {
        ("cpu.max", format!("{QUOTA_US} {PERIOD_US}"))
    } else {
        ("cpu.cfs_quota_us", QUOTA_US.to_string())
    };
    let file = group.join(file);
    fs::write(&file, quota).with_context(|| format!("cannot write `{}`", file.display()))?;
    Ok(group)
}

/// Stops the servers whose data is below `dir` for every other second.
fn freezer(dir: PathBuf) -> Kept {
    let (end, ended) = channel();
    let thread = std::thread::spawn(move || {
        let is_over = || !matches!(ended.recv_timeout(FREEZE), Err(RecvTimeoutError::Timeout));
        while !is_over() {
            let pids = servers_below(&dir);
            send(&pids, Signal::STOP);
            let is_over = is_over();
            send(&pids, Signal::CONT);
            if is_over {
                return;
            }
        }
    });
    Kept::Freezer(Some((end, thread)))
}

/// The servers whose command line names a place below `dir`.
fn servers_below(dir: &Path) -> Vec<Pid> {
    let dir = dir.as_os_str().as_encoded_bytes().to_vec();
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let is_server = |path: &Path| {
        let words = fs::read(path.join("cmdline")).unwrap_or_default();
        let program = words.split(|byte| *byte == 0).next().unwrap_or_default();
        program.ends_with(b"mariadbd") && words.windows(dir.len()).any(|part| part == dir)
    };
    let found = processes.map(|entry| entry.path()).filter(|path| is_server(path));
    found.filter_map(|path| Pid::from_raw(path.file_name()?.to_str()?.parse().ok()?)).collect()
}

fn send(pids: &[Pid], signal: Signal) {
    for pid in pids {
        // One that has ended in the meantime needs no signal.
        let _ = kill_process(*pid, signal);
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        match self {
            Kept::Server { .. } | Kept::Network { .. } => {}
            Kept::Neighbour(child) => {
                let _ = child.kill();
                let _ = child.wait();
            }
            Kept::Group(group) => {
                let _ = fs::remove_dir(group);
            }
            Kept::Freezer(running) => {
                if let Some((end, thread)) = running.take() {
                    drop(end);
                    let _ = thread.join();
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_surrounding_the_program_is_started_as_it_is() {
        let nothing = CauseSetup::make(Surrounding::Nothing, true, Path::new("/")).unwrap();
        assert_eq!(nothing.command(Path::new("/bin/true")).get_program(), "/bin/true");
        assert_eq!(nothing.arguments().count(), 0);
    }

    #[test]
    fn a_program_is_started_behind_its_prefix() {
        let prefix = vec!["ip".to_owned(), "netns".to_owned()];
        let made = CauseSetup { prefix, ..CauseSetup::of(Vec::new()) };
        let command = made.command(Path::new("/bin/true"));
        assert_eq!(command.get_program(), "ip");
        assert_eq!(command.get_args().collect::<Vec<_>>(), ["netns", "/bin/true"]);
    }
}
