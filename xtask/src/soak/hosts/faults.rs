//! The faults, and what must be true after each.
//!
//! In: a lab, the number of the round. Out: how many intervals were compared; an error names the first false answer. Limits: the moment of a fault comes
//! from the number of the round, the machine's timing does not.

use super::lab::{SoakEnd, SoakLab, send};
use super::run_file::{compare_delivered, compare_part, compare_whole, events, points};
use crate::galera::GaleraCluster;
use crate::namespaces::HostNetwork;
use anyhow::{Context, Result, ensure};
use rustix::process::Signal;
use serde_json::Value;
use std::path::Path;
use std::time::Duration;

pub struct Fault {
    pub name: &'static str,
    /// What it needs besides the bus.
    pub needs: FaultNeeds,
    /// Makes it, and checks what is left. Returns how many intervals were compared.
    pub make: fn(&mut FaultRound) -> Result<usize>,
}

/// What a fault needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultNeeds {
    Bus,
    /// A network namespace for each host.
    Network,
    /// A Galera cluster.
    Cluster,
}

pub struct FaultRound<'a> {
    pub lab: SoakLab<'a>,
    /// The hosts, if they have namespaces.
    pub network: Option<&'a HostNetwork>,
    /// The nodes, if there are some.
    pub cluster: Option<&'a mut GaleraCluster>,
    /// Its number, from 0.
    pub nth: u32,
}

pub const FAULTS: &[Fault] = &[
    Fault { name: "agent-killed", needs: FaultNeeds::Bus, make: kill_agent },
    Fault { name: "agent-frozen", needs: FaultNeeds::Bus, make: freeze_agent },
    Fault { name: "host-cut-off", needs: FaultNeeds::Network, make: cut_host },
    Fault { name: "bus-killed", needs: FaultNeeds::Bus, make: kill_bus },
    Fault { name: "coordinator-killed", needs: FaultNeeds::Bus, make: kill_coordinator },
    Fault { name: "node-killed", needs: FaultNeeds::Cluster, make: kill_node },
];

/// Compares a point of the run with that of an agent of this name. Returns how many intervals were compared.
type Comparison = fn((&Path, i64), (&Path, i64), &str) -> Result<usize>;

/// Reads and writes of small files, at a rate that any machine can serve.
const LOAD: &[&str] = &[
    "file",
    "--engine",
    "file",
    "--file-size",
    "1MiB",
    "--direct",
    "false",
    "--io",
    "sync",
    "--mode",
    "rndrw",
    "--clients",
    "4",
    "--rate",
    "400",
    "--interval",
    "200ms",
    "--agents",
    "2",
];
/// The agents that load, and one that observes.
const AGENTS: [(&str, &str); 3] = [("c1", "load"), ("c2", "load,observe"), ("db1", "observe")];
/// How long a host is frozen or cut off.
const AWAY: Duration = Duration::from_secs(10);

fn kill_agent(round: &mut FaultRound) -> Result<usize> {
    let run = round.start(&[LOAD, &["--time", "120s", "--host-wait", "3s"]].concat())?;
    send(round.lab.agent_id(1), Signal::KILL)?;
    let ended = run.end(round, 4)?;
    ensure!(ended.exits == [0, -1, 0], "the agents ended with {:?}", ended.exits);
    ended.expect("partial", &["host-lost"])?;
    ensure!(ended.point()["validity"] == "invalid", "a point that lost a host is {}", ended.point()["validity"]);
    let file = round.lab.run_file()?;
    ensure!(events(&file, 1, "host_lost")? == 1, "the loss of the host is not in the run file");
    round.lab.sweep("c2")?;
    let whole = round.compare(&["c1", "db1"], compare_whole)?;
    Ok(whole + round.compare(&["c2"], compare_delivered)?)
}

fn freeze_agent(round: &mut FaultRound) -> Result<usize> {
    let run = round.start(&[LOAD, &["--time", "16s"]].concat())?;
    send(round.lab.agent_id(1), Signal::STOP)?;
    std::thread::sleep(AWAY); // so long it is frozen: that is what is tried
    send(round.lab.agent_id(1), Signal::CONT)?;
    let ended = run.end(round, 0)?;
    ensure!(ended.exits == [0, 0, 0], "the agents ended with {:?}", ended.exits);
    ended.expect("complete", &["own-gap"])?;
    ensure!(ended.point()["validity"] != "valid", "a point with a frozen host is valid");
    round.compare_all()
}

fn cut_host(round: &mut FaultRound) -> Result<usize> {
    let run = round.start(&[LOAD, &["--time", "16s"]].concat())?;
    let host = round.network.context("there are no namespaces")?.host(1);
    host.set_link(false)?;
    std::thread::sleep(AWAY); // so long it is cut off: that is what is tried
    host.set_link(true)?;
    let ended = run.end(round, 0)?;
    ensure!(ended.exits == [0, 0, 0], "the agents ended with {:?}", ended.exits);
    ended.expect("complete", &[])?;
    ended.expect_not("host-lost")?;
    round.compare_all()
}

fn kill_bus(round: &mut FaultRound) -> Result<usize> {
    let run = round.start(&[LOAD, &["--time", "10s"]].concat())?;
    round.lab.restart_bus(Duration::from_secs(3))?;
    let ended = run.end(round, 0)?;
    ensure!(ended.exits == [0, 0, 0], "the agents ended with {:?}", ended.exits);
    ended.expect("complete", &[])?;
    ended.expect_not("host-lost")?;
    round.compare_all()
}

fn kill_coordinator(round: &mut FaultRound) -> Result<usize> {
    let _run = round.start(&[LOAD, &["--repeat", "2", "--time", "4s"]].concat())?;
    if round.nth % 2 == 1 {
        round.lab.wait_for_load(2)?;
    }
    send(round.lab.coordinator_id()?, Signal::KILL)?;
    ensure!(round.lab.end_coordinator()?.exit == -1, "the coordinator ended by itself");
    let file = round.lab.run_file()?;
    let before = points(&file)?.len();
    let ended = resume(round)?;
    ensure!(ended.exits == [0, 0, 0], "the agents ended with {:?}", ended.exits);
    let all = points(&file)?;
    let complete = all.iter().filter(|point| point.state == "complete").count();
    ensure!(complete == 2, "after the run was resumed, {complete} of 2 points are complete: {all:?}");
    let mut compared = 0;
    for (name, _) in AGENTS {
        let files = round.lab.run_files_of(name);
        ensure!(files.len() == 2, "{name} has {} run files for two coordinators", files.len());
        for (nth, point) in all.iter().enumerate() {
            let (own, number) = if nth < before { (&files[0], nth + 1) } else { (&files[1], nth + 1 - before) };
            let compare: Comparison = if point.state == "complete" { compare_whole } else { compare_part };
            compared += compare((&file, point.id), (own, number as i64), name)?;
        }
    }
    Ok(compared)
}

/// Resumes the run as soon as the place of the killed coordinator is free.
fn resume(round: &mut FaultRound) -> Result<EndedRound> {
    loop {
        round.lab.start_coordinator(&["run", "--resume", "last", "--agents", "2"])?;
        let end = round.lab.end_coordinator()?;
        if end.exit == 3 {
            continue; // the lease of the killed one has some seconds left
        }
        ensure!(end.exit == 0, "the resumed run ended with {}: {}", end.exit, end.stderr);
        return Ok(EndedRound { json: end.json()?, exits: round.lab.end_agents()? });
    }
}

fn kill_node(round: &mut FaultRound) -> Result<usize> {
    let cluster = round.cluster.as_mut().context("there is no cluster")?;
    let (url, killed) = (cluster.url(), round.nth as usize % cluster.nodes());
    let load =
        ["oltp", "--engine", &url, "--mix", "read_write", "--table-rows", "500", "--clients", "6", "--think", "5ms"];
    let more = ["--on-error", "count", "--interval", "200ms", "--agents", "2", "--time", "12s"];
    let run = round.start(&[&load[..], &more].concat())?;
    round.cluster.as_mut().context("there is no cluster")?.kill(killed)?;
    let ended = run.end(round, 0)?;
    ensure!(ended.exits == [0, 0, 0], "the agents ended with {:?}", ended.exits);
    ended.expect("complete", &["endpoint-outage"])?;
    ended.expect_not("host-lost")?;
    let cluster = round.cluster.as_mut().context("there is no cluster")?;
    let left = cluster.ask((killed + 1) % cluster.nodes(), "SHOW DATABASES LIKE 'plimsoll%'")?;
    ensure!(left.trim().is_empty(), "left on the server: {left}");
    cluster.restart(killed)?;
    round.compare_all()
}

/// A run whose load has begun.
struct StartedRound;

/// A run that has ended.
struct EndedRound {
    json: Value,
    exits: Vec<i32>,
}

impl FaultRound<'_> {
    /// Starts agents and a coordinator, and waits for the moment of the fault.
    fn start(&mut self, arguments: &[&str]) -> Result<StartedRound> {
        for (nth, (name, can)) in AGENTS.iter().enumerate() {
            self.lab.start_agent(nth, name, can)?;
        }
        self.lab.start_coordinator(arguments)?;
        self.lab.wait_for_load(1)?;
        std::thread::sleep(self.moment()); // the faults of different rounds come at different moments
        Ok(StartedRound)
    }

    /// Up to 2 s. Fibonacci hashing (D. Knuth, "The Art of Computer Programming", volume 3, section 6.4): the moments of neighbouring rounds are
    /// far apart, and the same in each soak.
    fn moment(&self) -> Duration {
        let random = u64::from(self.nth + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 33;
        Duration::from_millis(random % 2_000)
    }

    fn compare_all(&self) -> Result<usize> {
        self.compare(&AGENTS.map(|(name, _)| name), compare_whole)
    }

    /// Compares point 1 of these agents.
    fn compare(&self, names: &[&str], compare: Comparison) -> Result<usize> {
        let file = self.lab.run_file()?;
        let mut compared = 0;
        for name in names {
            let own = self.lab.run_files_of(name).pop().with_context(|| format!("{name} has left no run file"))?;
            compared += compare((&file, 1), (&own, 1), name)?;
        }
        Ok(compared)
    }
}

impl StartedRound {
    /// Waits for the end of all; the coordinator must end with `exit`.
    fn end(self, round: &mut FaultRound, exit: i32) -> Result<EndedRound> {
        let end: SoakEnd = round.lab.end_coordinator()?;
        ensure!(end.exit == exit, "the run ended with {} and not {exit}: {}", end.exit, end.stderr);
        Ok(EndedRound { json: end.json()?, exits: round.lab.end_agents()? })
    }
}

impl EndedRound {
    fn point(&self) -> &Value {
        &self.json["points"][0]
    }

    fn codes(&self) -> Vec<&str> {
        let findings = self.point()["findings"].as_array();
        findings.into_iter().flatten().filter_map(|finding| finding["code"].as_str()).collect()
    }

    /// The point must be in `state`, with findings of these codes.
    fn expect(&self, state: &str, codes: &[&str]) -> Result<()> {
        ensure!(self.point()["state"] == state, "the point is {}, and not {state}", self.point()["state"]);
        let found = self.codes();
        let missing = codes.iter().find(|code| !found.contains(code));
        ensure!(missing.is_none(), "there is no finding {missing:?} among {found:?}");
        Ok(())
    }

    fn expect_not(&self, code: &str) -> Result<()> {
        ensure!(!self.codes().contains(&code), "there is a finding `{code}`");
        Ok(())
    }
}
