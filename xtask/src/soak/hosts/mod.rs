//! `cargo xtask soak hosts`: each fault of a run from several hosts, again and again.
//!
//! In: the release binary, `redis-server`; as root network namespaces and a Galera cluster. Out: a table; the first false answer ends the soak, and its
//! files stay. With `--agents` it runs many of them for some minutes instead: see [`endurance`]. Limits: the hosts are processes of this machine. After each fault it is checked that no row is lost or doubled (against the run files of
//! the agents), that the point is marked rightly, and that no process, directory, schema or key without an end is left.

mod endurance;
mod faults;
pub mod lab;
pub mod run_file;

use super::leftovers::processes_in;
use crate::galera::GaleraCluster;
use crate::namespaces::HostNetwork;
use anyhow::{Context, Result, ensure};
use faults::{FAULTS, Fault, FaultNeeds, FaultRound};
use lab::SoakLab;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The options of `cargo xtask soak hosts`.
#[derive(clap::Args)]
pub struct HostsArguments {
    /// How often each fault is made.
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: u32,
    /// Only these faults.
    #[arg(long, value_parser = clap::builder::PossibleValuesParser::new(FAULTS.iter().map(|fault| fault.name)))]
    fault: Vec<String>,
    /// Run so many agents for `--time` instead, and count what bus and coordinator cost.
    #[arg(long, conflicts_with_all = ["rounds", "fault"], value_parser = clap::value_parser!(u32).range(1..=200))]
    agents: Option<u32>,
    /// How long these run: seconds, or minutes such as `10m`.
    #[arg(long, requires = "agents", default_value = "10m", value_parser = parse_time)]
    time: Duration,
    /// Use this binary of plimsoll, and build none.
    #[arg(long)]
    pub binary: Option<PathBuf>,
}

/// What all rounds share.
struct HostsSoak<'a> {
    binary: &'a Path,
    work: &'a Path,
    network: Option<HostNetwork>,
    cluster: Option<GaleraCluster>,
}

/// Makes the faults with the binary at `binary`, below the directory `work`.
pub fn run(binary: &Path, work: &Path, arguments: &HostsArguments) -> Result<()> {
    if let Some(agents) = arguments.agents {
        return endurance::run(binary, work, agents, arguments.time);
    }
    let mut soak = HostsSoak { binary, work, network: None, cluster: None };
    println!("{:<20} {:>9} {:>20} {:>9}", "fault", "rounds", "intervals compared", "seconds");
    for fault in FAULTS
        .iter()
        .filter(|fault| arguments.fault.is_empty() || arguments.fault.iter().any(|name| name == fault.name))
    {
        if let Some(missing) = soak.get_ready(fault.needs)? {
            println!("{:<20} skipped: {missing}", fault.name);
            continue;
        }
        let started = Instant::now();
        let mut compared = 0;
        for nth in 0..arguments.rounds {
            compared += soak.make(fault, nth).with_context(|| format!("{}, round {}", fault.name, nth + 1))?;
        }
        let (rounds, seconds) = (arguments.rounds, started.elapsed().as_secs());
        println!("{:<20} {rounds:>9} {compared:>20} {seconds:>9}", fault.name);
    }
    Ok(())
}

/// `90`, `90s`, `10m`.
fn parse_time(text: &str) -> Result<Duration, String> {
    let (number, seconds) = match text.strip_suffix('m') {
        Some(minutes) => (minutes, 60),
        None => (text.trim_end_matches('s'), 1),
    };
    let number: u64 = number.parse().map_err(|_| format!("`{text}` is no time; use `90s` or `10m`"))?;
    Ok(Duration::from_secs(number.saturating_mul(seconds)))
}

impl HostsSoak<'_> {
    /// Makes what a fault needs. Returns what is missing for it.
    fn get_ready(&mut self, needs: FaultNeeds) -> Result<Option<&'static str>> {
        match needs {
            FaultNeeds::Bus => {}
            FaultNeeds::Network if !rustix::process::geteuid().is_root() => {
                return Ok(Some("only root makes network namespaces"));
            }
            FaultNeeds::Network if self.network.is_none() => {
                let mut network = HostNetwork::make("plsoak", "10.99.73")?;
                (0..3).try_for_each(|_| network.add(None).map(drop))?;
                self.network = Some(network);
            }
            FaultNeeds::Cluster if !GaleraCluster::is_possible() => {
                return Ok(Some("MariaDB with galera-4 and rsync is not installed"));
            }
            FaultNeeds::Cluster if self.cluster.is_none() => self.cluster = Some(GaleraCluster::start_here(3)?),
            FaultNeeds::Network | FaultNeeds::Cluster => {}
        }
        Ok(None)
    }

    /// One round. Its files stay if it fails.
    fn make(&mut self, fault: &Fault, nth: u32) -> Result<usize> {
        let dir = self.work.join(format!("{}-{nth}", fault.name));
        let network = self.network.as_ref().filter(|_| fault.needs == FaultNeeds::Network);
        let cluster = self.cluster.as_mut().filter(|_| fault.needs == FaultNeeds::Cluster);
        let lab = SoakLab::start(self.binary, dir.clone(), network)?;
        let mut round = FaultRound { lab, network, cluster, nth };
        let compared = (fault.make)(&mut round)?;
        check_left(&round.lab)?;
        drop(round);
        fs::remove_dir_all(&dir).with_context(|| format!("cannot remove `{}`", dir.display()))?;
        Ok(compared)
    }
}

/// Checks that nothing but run files is left of a round.
fn check_left(lab: &SoakLab) -> Result<()> {
    let processes: Vec<_> = processes_in(lab.dir()).into_iter().filter(|(id, _)| *id != lab.bus_id()).collect();
    ensure!(processes.is_empty(), "processes are left: {processes:?}");
    for entry in
        fs::read_dir(lab.dir())?.flatten().filter(|entry| entry.file_name().to_string_lossy().ends_with("-dir"))
    {
        let left: Vec<_> = fs::read_dir(entry.path())?.flatten().map(|left| left.file_name()).collect();
        ensure!(left.is_empty(), "left in `{}`: {left:?}", entry.path().display());
    }
    let endless = "local n = 0 for _, key in ipairs(redis.call('keys', 'plimsoll:*')) do \
                   if redis.call('pttl', key) < 0 then n = n + 1 end end return n";
    let count = lab.ask_bus(&["eval", endless, "0"])?;
    ensure!(count.trim() == "0", "{} keys without an end are left on the bus", count.trim());
    Ok(())
}
