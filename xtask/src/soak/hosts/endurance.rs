//! Many agents for minutes: what bus and coordinator cost, how exactly all began, and how large the run file is.
//!
//! In: a number of agents, a time. Out: the figures; an error if bus and coordinator together take more of a core than they may, or if the run file is
//! larger than predicted. Limits: all agents are processes of this machine and share its CPUs, so the load is a low constant rate on the null engine. What
//! is predicted is that the rows of all agents take as much as in their own run files.

use super::lab::SoakLab;
use super::run_file::{StartFigures, compare_whole, start_figures};
use anyhow::{Context, Result, ensure};
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

/// Bus and coordinator together may take so much of one core.
const CORE_SHARE_MAX: f64 = 0.02;
/// The run file may be larger than the run files of all agents together by so much.
const SIZE_EXCESS_MAX: f64 = 0.10;
/// Operations per second of each agent.
const RATE_EACH: u32 = 20;

/// What was counted up to a moment.
struct CostSample {
    at: Instant,
    bus_s: f64,
    coordinator_s: f64,
}

/// Runs so many agents for `time`.
pub fn run(binary: &Path, work: &Path, agents: u32, time: Duration) -> Result<()> {
    let mut lab = SoakLab::start(binary, work.join("endurance"), None)?;
    let names: Vec<String> = (1..=agents).map(|nth| format!("c{nth}")).collect();
    for name in &names {
        lab.start_agent(0, name, "load")?;
    }
    let (count, rate, seconds) = (agents.to_string(), (agents * RATE_EACH).to_string(), format!("{}s", time.as_secs()));
    let load =
        ["file", "--engine", "null", "--service", "1ms", "--clients", &count, "--rate", &rate, "--agents", &count];
    lab.start_coordinator(&[&load[..], &["--interval", "1s", "--warmup", "0s", "--time", &seconds]].concat())?;
    lab.wait_for_load(1)?;
    let first = CostSample::take(&lab)?;
    std::thread::sleep(time.mul_f64(0.9)); // the load runs: that is what is measured
    let late = CostSample::take(&lab)?;
    let end = lab.end_coordinator()?;
    ensure!(end.exit == 0, "the run ended with {}: {}", end.exit, end.stderr);
    let exits = lab.end_agents()?;
    ensure!(exits.iter().all(|exit| *exit == 0), "agents ended with {exits:?}");
    let file = lab.run_file()?;
    let (mut compared, mut predicted) = (0, 0);
    for name in &names {
        let own = lab.run_files_of(name).pop().with_context(|| format!("{name} has left no run file"))?;
        compared += compare_whole((&file, 1), (&own, 1), name)?;
        predicted += fs::metadata(&own)?.len();
    }
    println!("{agents} agents for {} s: {compared} intervals compared with their own run files", time.as_secs());
    report_cost(&first, &late)?;
    report_file(&file, predicted as f64)
}

impl CostSample {
    fn take(lab: &SoakLab) -> Result<CostSample> {
        let (bus_s, coordinator_s) = (cpu_seconds(lab.bus_id())?, cpu_seconds(lab.coordinator_id()?)?);
        Ok(CostSample { at: Instant::now(), bus_s, coordinator_s })
    }
}

/// The CPU time of a process, in user mode and in the kernel.
fn cpu_seconds(id: u32) -> Result<f64> {
    let path = format!("/proc/{id}/stat");
    let text = fs::read_to_string(&path).with_context(|| format!("cannot read `{path}`"))?;
    parse_cpu_seconds(&text).with_context(|| format!("`{path}` has no CPU time"))
}

/// The name of the program is in parentheses and may have spaces. (`man 5 proc_pid_stat`)
fn parse_cpu_seconds(stat: &str) -> Option<f64> {
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks: u64 = fields.get(11)?.parse::<u64>().ok()? + fields.get(12)?.parse::<u64>().ok()?;
    Some(ticks as f64 / rustix::param::clock_ticks_per_second() as f64)
}

fn report_cost(first: &CostSample, late: &CostSample) -> Result<()> {
    let seconds = late.at.duration_since(first.at).as_secs_f64();
    let (bus, coordinator) =
        ((late.bus_s - first.bus_s) / seconds, (late.coordinator_s - first.coordinator_s) / seconds);
    println!("CPU of the bus: {:.2} % of a core; of the coordinator: {:.2} %", bus * 100.0, coordinator * 100.0);
    let share = bus + coordinator;
    ensure!(share <= CORE_SHARE_MAX, "bus and coordinator took {:.2} % of a core together", share * 100.0);
    Ok(())
}

fn report_file(file: &Path, predicted: f64) -> Result<()> {
    let (starts, size) = (start_figures(file)?, fs::metadata(file)?.len() as f64);
    let StartFigures { skew_ms, bound_ms } = starts;
    println!("start: {skew_ms:.3} ms off the planned moment at most; clocks known within {bound_ms:.3} ms");
    println!("run file: {:.2} MB; those of all agents together: {:.2} MB", size / 1e6, predicted / 1e6);
    ensure!(size <= predicted * (1.0 + SIZE_EXCESS_MAX), "the run file is larger than those of all agents together");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cpu_time_is_found_behind_any_name() {
        let stat = "42 (a ) b) S 1 1 1 0 -1 0 0 0 0 0 250 50 0 0 20 0 1 0 0 0 0";
        let ticks = rustix::param::clock_ticks_per_second() as f64;
        assert_eq!(parse_cpu_seconds(stat), Some(300.0 / ticks));
        assert_eq!(parse_cpu_seconds("42 (x"), None);
    }
}
