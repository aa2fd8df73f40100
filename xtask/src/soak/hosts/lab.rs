//! The processes of one round: a bus, agents, a coordinator, each with a directory of its own.
//!
//! In: the binary of plimsoll, `redis-server`. Out: run files and what the coordinator printed. Limits: the hosts are processes of this machine;
//! as root each may have a network namespace of its own. What still runs is killed when the lab is dropped.

use super::run_file::{is_being_measured, run_files};
use crate::namespaces::HostNetwork;
use crate::soak::leftovers;
use anyhow::{Context, Result, bail, ensure};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Outside of the range from which the kernel takes ports.
const BUS_PORT: u16 = 23_379;
/// Longer than anything takes that is waited for.
const WAIT_AT_MOST: Duration = Duration::from_secs(180);

/// The processes of one round.
pub struct SoakLab<'a> {
    binary: &'a Path,
    dir: PathBuf,
    /// Where the hosts are; `None` if all are in this namespace.
    network: Option<&'a HostNetwork>,
    bus: Child,
    agents: Vec<SoakAgent>,
    coordinator: Option<Child>,
}

pub struct SoakAgent {
    pub name: String,
    child: Child,
}

/// How a process ended.
pub struct SoakEnd {
    pub exit: i32,
    /// What it printed: JSON of the run.
    pub stdout: String,
    pub stderr: String,
}

impl<'a> SoakLab<'a> {
    /// A lab in the empty directory `dir`, with a bus.
    pub fn start(binary: &'a Path, dir: PathBuf, network: Option<&'a HostNetwork>) -> Result<SoakLab<'a>> {
        fs::create_dir_all(dir.join("bus")).with_context(|| format!("cannot make `{}`", dir.display()))?;
        let key = dir.join("key");
        fs::write(&key, "0123456789abcdef\n")?;
        fs::set_permissions(&key, fs::Permissions::from_mode(0o600))?;
        let bus = start_bus(&dir, network)?;
        Ok(SoakLab { binary, dir, network, bus, agents: Vec::new(), coordinator: None })
    }

    /// Where everything of it is.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The process of the bus.
    pub fn bus_id(&self) -> u32 {
        self.bus.id()
    }

    /// Starts an agent, on the host of that number if there are hosts.
    pub fn start_agent(&mut self, nth: usize, name: &str, can: &str) -> Result<()> {
        self.start_agent_with(nth, name, can, &[])
    }

    /// The same with further flags.
    pub fn start_agent_with(&mut self, nth: usize, name: &str, can: &str, more: &[&str]) -> Result<()> {
        let mut command = match self.network {
            Some(network) => network.host(nth).command(self.binary),
            None => Command::new(self.binary),
        };
        let (dir, runs) = (format!("{name}-dir"), format!("{name}-runs"));
        fs::create_dir_all(self.dir.join(&dir))?;
        command
            .args(["agent", "--name", name, "--can", can, "--wait", "60s", "--dir", &dir, "--runs", &runs])
            .args(more);
        let child = self.spawn(command, name)?;
        self.agents.push(SoakAgent { name: name.to_owned(), child });
        Ok(())
    }

    /// Starts the coordinator with these arguments.
    pub fn start_coordinator(&mut self, arguments: &[&str]) -> Result<()> {
        let mut command = Command::new(self.binary);
        command.args(arguments).args(["--json", "--no-report", "--quiet"]);
        self.coordinator = Some(self.spawn(command, "coordinator")?);
        Ok(())
    }

    fn spawn(&self, mut command: Command, name: &str) -> Result<Child> {
        let output = |what: &str| fs::File::create(self.dir.join(format!("{name}.{what}")));
        let bus = format!("redis://{}:{BUS_PORT}/", bus_address(self.network));
        command.args(["--bus", &bus, "--bus-key-file", "key"]).current_dir(&self.dir);
        command.env("PLIMSOLL_PASSWORD", "").stdin(Stdio::null()).stdout(output("out")?).stderr(output("err")?);
        command.spawn().with_context(|| format!("cannot start {command:?}"))
    }

    /// The process of the coordinator.
    pub fn coordinator_id(&self) -> Result<u32> {
        self.coordinator.as_ref().map(Child::id).context("there is no coordinator")
    }

    /// The process of agent number `nth`.
    pub fn agent_id(&self, nth: usize) -> u32 {
        self.agents[nth].child.id()
    }

    /// The run file of the coordinator.
    pub fn run_file(&self) -> Result<PathBuf> {
        run_files(&self.dir.join("plimsoll-runs")).pop().context("the coordinator has left no run file")
    }

    /// The run files of an agent, the oldest first.
    pub fn run_files_of(&self, agent: &str) -> Vec<PathBuf> {
        run_files(&self.dir.join(format!("{agent}-runs")))
    }

    /// Waits until point `point` of the run has some intervals of its run phase.
    pub fn wait_for_load(&mut self, point: u32) -> Result<()> {
        let until = Instant::now() + WAIT_AT_MOST;
        while !self.run_file().is_ok_and(|file| is_being_measured(&file, point)) {
            let coordinator = self.coordinator.as_mut().context("there is no coordinator")?;
            if let Some(status) = coordinator.try_wait()? {
                bail!("the coordinator ended with {status} before the load: {}", self.messages_of("coordinator"));
            }
            ensure!(Instant::now() < until, "the load did not begin in {WAIT_AT_MOST:?}");
            std::thread::sleep(Duration::from_millis(50)); // the real time of other processes
        }
        Ok(())
    }

    /// Waits for the end of the coordinator.
    pub fn end_coordinator(&mut self) -> Result<SoakEnd> {
        let child = self.coordinator.take().context("there is no coordinator")?;
        self.end_of(child, "coordinator")
    }

    /// Waits for the end of all agents. Returns their exit codes.
    pub fn end_agents(&mut self) -> Result<Vec<i32>> {
        let agents = std::mem::take(&mut self.agents);
        agents.into_iter().map(|agent| Ok(self.end_of(agent.child, &agent.name)?.exit)).collect()
    }

    fn end_of(&self, mut child: Child, name: &str) -> Result<SoakEnd> {
        let until = Instant::now() + WAIT_AT_MOST;
        let status = loop {
            if let Some(status) = child.try_wait()? {
                break status;
            }
            if Instant::now() > until {
                let _ = child.kill();
                bail!("`{name}` did not end in {WAIT_AT_MOST:?}: {}", self.messages_of(name));
            }
            std::thread::sleep(Duration::from_millis(50)); // the real time of another process
        };
        let stdout = fs::read_to_string(self.dir.join(format!("{name}.out")))?;
        // A signal ended it: no exit code has this number.
        Ok(SoakEnd { exit: status.code().unwrap_or(-1), stdout, stderr: self.messages_of(name) })
    }

    fn messages_of(&self, name: &str) -> String {
        fs::read_to_string(self.dir.join(format!("{name}.err"))).unwrap_or_default().trim().to_owned()
    }

    /// Kills the bus, and starts it again with its data after `away`.
    pub fn restart_bus(&mut self, away: Duration) -> Result<()> {
        self.bus.kill()?;
        self.bus.wait()?;
        std::thread::sleep(away); // so long the bus is away: that is what is tried
        self.bus = start_bus(&self.dir, self.network)?;
        Ok(())
    }

    /// What the bus answers to this command.
    pub fn ask_bus(&self, words: &[&str]) -> Result<String> {
        let address = bus_address(self.network);
        let port = BUS_PORT.to_string();
        let mut command = Command::new("redis-cli");
        crate::workspace::output_of(command.args(["-h", &address, "-p", &port]).args(words))
    }

    /// Removes what an agent that was killed has left, as the next start of plimsoll in its directory does.
    pub fn sweep(&self, agent: &str) -> Result<()> {
        let (data, runs) = (format!("{agent}-dir"), format!("{agent}-runs-next"));
        leftovers::sweep(self.binary, &self.dir, data.as_ref(), runs.as_ref())
    }
}

impl SoakEnd {
    /// What the coordinator printed.
    pub fn json(&self) -> Result<Value> {
        serde_json::from_str(&self.stdout)
            .with_context(|| format!("this is no JSON of a run: `{}`; {}", self.stdout, self.stderr))
    }
}

impl Drop for SoakLab<'_> {
    fn drop(&mut self) {
        let children = self.agents.iter_mut().map(|agent| &mut agent.child).chain(self.coordinator.as_mut());
        for child in children.chain([&mut self.bus]) {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Sends `signal` to a process of the lab.
pub fn send(id: u32, signal: Signal) -> Result<()> {
    let pid = Pid::from_raw(id as i32).context("a process has a number")?;
    kill_process(pid, signal).with_context(|| format!("cannot send a signal to process {id}"))
}

fn bus_address(network: Option<&HostNetwork>) -> String {
    network.map_or_else(|| "127.0.0.1".to_owned(), HostNetwork::own_address)
}

fn start_bus(dir: &Path, network: Option<&HostNetwork>) -> Result<Child> {
    let (address, port) = (bus_address(network), BUS_PORT.to_string());
    let log = fs::File::create(dir.join("bus.log"))?;
    let mut command = Command::new("redis-server");
    command.args(["--bind", &address, "--port", &port, "--protected-mode", "no", "--save", ""]);
    command.args(["--appendonly", "yes", "--appendfsync", "always", "--dir"]).arg(dir.join("bus"));
    command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
    let child = command.spawn().context("cannot start `redis-server`; on Debian: apt-get install redis-server")?;
    let until = Instant::now() + WAIT_AT_MOST;
    while std::net::TcpStream::connect((address.as_str(), BUS_PORT)).is_err() {
        ensure!(Instant::now() < until, "the bus does not answer");
        std::thread::sleep(Duration::from_millis(20)); // the real time of another process
    }
    Ok(child)
}
