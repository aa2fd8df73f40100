//! `plimsoll agent`: takes part in a run that a coordinator conducts on another host.
//!
//! In: the bus, a name, a directory to measure. Out: the run file of this host. Limits: one run; start it again for the next.

use crate::bus_flags::{self, BusFlags};
use crate::context::Context;
use crate::exit::{Exit, Fault};
use crate::flags;
use crate::output;
use crate::output::progress::NotesOnly;
use crate::signals;
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use host::lock::IfHeld;
use load::Stop;
use model::{HostRole, Nanos};
use runner::{AgentSetup, RunSite};
use serde_json::json;
use std::sync::Arc;

const WAIT: &str = "wait";
const LINK: &str = "link";
const ENGINE_PID: &str = "engine-pid";
/// For tests: this host's clock is ahead by so much.
const CLOCK_AHEAD: &str = "clock-ahead";

pub fn clap() -> Command {
    let name = Arg::new("name").long("name").value_name("NAME");
    let can = Arg::new("can").long("can").value_name("load,observe").default_value("load,observe");
    let endpoint = Arg::new("endpoint").long("endpoint").value_name("URL");
    let password = Arg::new("password-file").long("password-file").value_name("FILE");
    let pid = Arg::new(ENGINE_PID).long(ENGINE_PID).value_name("PID").value_parser(value_parser!(u32).range(1..));
    let link = Arg::new(LINK).long(LINK).value_name("[NAME=]SPEED").action(ArgAction::Append);
    let ahead = Arg::new(CLOCK_AHEAD).long(CLOCK_AHEAD).value_name("TIME").hide(true);
    let wait = Arg::new(WAIT).long(WAIT).value_name("TIME").default_value("10min");
    let command = Command::new("agent")
        .arg(name.help(
            "Name of this host in the run [default: the name of the machine, and the number of this process if srun, mpirun or an Indexed Job gave it one]",
        ))
        .arg(can.help("What this host is there for: `load` makes a part of the load, `observe` only reads the counters of the machine"))
        .arg(endpoint.help("URL of the server as this host reaches it [default: that of the plan]"))
        .arg(password.help("File with the password of that server [default: the variable PLIMSOLL_PASSWORD]"))
        .arg(pid.help(
            "With `--can observe`: the process of the server on this host [default: the one that listens at the port of its URL]",
        ))
        .arg(link.help(
            "Speed of this host's network links, such as `1Gbit`, or of one interface, such as `eth1=100Mbit`, if the kernel does not know it; may be repeated [default: what the plan states, or the kernel reports]",
        ))
        .arg(ahead)
        .arg(wait.help("How long to wait for the bus and for a coordinator, and for one that is gone"))
        .arg(flags::directory())
        .arg(flags::runs("Directory for the run file of this host"))
        .arg(flags::engine_bin());
    flags::with_consents(bus_flags::with_bus(command).mut_arg("bus", |bus| bus.required(true)))
        .about("Take part in a run from several hosts: make a part of the load, or observe this machine")
}

pub fn execute(matches: &ArgMatches, context: &Context) -> Result<Exit, Fault> {
    let bus = BusFlags::from_matches(matches)
        .ok_or_else(|| Fault::usage("--bus is empty; use one such as `redis://host:6379/`"))?;
    let (connector, keys) = bus.connect()?;
    let text = |id: &str| matches.get_one::<String>(id).cloned();
    let links: Vec<String> = matches.get_many::<String>(LINK).into_iter().flatten().cloned().collect();
    let (link, interface_links) = plan::machine_links(&links)?;
    let setup = AgentSetup {
        connector,
        keys,
        name: text("name").unwrap_or_else(|| name_of(&machine_name(), |variable| std::env::var(variable).ok())),
        role: role(&text("can").expect("it has a default"))?,
        site: RunSite { if_held: IfHeld::Share, ..flags::options(matches).site },
        endpoint: text("endpoint"),
        password_file: text("password-file"),
        engine_pid: matches.get_one::<u32>(ENGINE_PID).copied(),
        link,
        interface_links,
        clock_ahead: text(CLOCK_AHEAD).map_or(Ok(Nanos(0)), |text| plan::waiting_time(CLOCK_AHEAD, &text))?,
        wait: bus_flags::waiting_time(WAIT, &text(WAIT).expect("it has a default"))?,
    };
    let stop = Arc::new(Stop::default());
    signals::listen(&stop)?;
    let run_file = runner::serve_agent(&setup, &context.catalogue, &stop, &mut NotesOnly(context))?;
    if context.json {
        output::json::print(&json!({ "run_file": run_file }))
    } else {
        output::print(&format!("run file: {}\n", output::shown(&run_file)))
    }
    Ok(Exit::Done)
}

/// The variables by which launchers number the processes of one job: Open MPI, PMIx, Slurm, MPICH, and an Indexed Job of Kubernetes. The first
/// that is set counts: under Slurm, mpirun starts its own processes from a task.
const PROCESS_NUMBERS: [&str; 5] =
    ["OMPI_COMM_WORLD_RANK", "PMIX_RANK", "SLURM_PROCID", "PMI_RANK", "JOB_COMPLETION_INDEX"];

/// The name of a process on `machine`, which has the variables that `variable` looks up.
fn name_of(machine: &str, variable: impl Fn(&str) -> Option<String>) -> String {
    let number = PROCESS_NUMBERS.iter().find_map(|name| variable(name)?.parse::<u32>().ok());
    match number.map(|number| format!("-{number}")) {
        // The pods of an Indexed Job are called after their number.
        Some(end) if !machine.ends_with(&end) => format!("{machine}{end}"),
        _ => machine.to_owned(),
    }
}

/// The name of the machine, as far as it can be that of an agent.
fn machine_name() -> String {
    let name = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let name: String =
        name.chars().map(|c| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '-' }).take(64).collect();
    if name.is_empty() { "host".to_owned() } else { name }
}

fn role(text: &str) -> Result<HostRole, Fault> {
    let mut words: Vec<&str> = text.split(',').map(str::trim).collect();
    words.sort_unstable();
    match words.as_slice() {
        ["load"] => Ok(HostRole::Load),
        ["observe"] => Ok(HostRole::Observe),
        ["load", "observe"] => Ok(HostRole::LoadAndObserve),
        _ => Err(Fault::usage(format!(
            "--can: `{}` is not possible; use `load`, `observe` or `load,observe`",
            text.escape_debug()
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_called_after_its_machine_and_the_number_that_its_launcher_gave_it() {
        let name = |machine: &str, set: &[(&str, &str)]| {
            name_of(machine, |variable| set.iter().find(|(name, _)| *name == variable).map(|(_, v)| (*v).to_owned()))
        };
        assert_eq!(name("n1", &[]), "n1");
        assert_eq!(name("n1", &[("SLURM_PROCID", "3")]), "n1-3");
        assert_eq!(name("n1", &[("SLURM_PROCID", "0"), ("OMPI_COMM_WORLD_RANK", "1")]), "n1-1");
        assert_eq!(name("plimsoll-agent-2", &[("JOB_COMPLETION_INDEX", "2")]), "plimsoll-agent-2");
        assert_eq!(name("n1", &[("PMI_RANK", "../x"), ("JOB_COMPLETION_INDEX", "4")]), "n1-4");
    }

    #[test]
    fn a_host_can_load_observe_or_both() {
        assert_eq!(role("load").unwrap(), HostRole::Load);
        assert_eq!(role("observe").unwrap(), HostRole::Observe);
        assert_eq!(
            (role("observe, load").unwrap(), role("load,observe").unwrap()),
            (HostRole::LoadAndObserve, HostRole::LoadAndObserve)
        );
        assert!(["", "loud", "load,load", "load,observe,x"].iter().all(|text| role(text).is_err()));
    }
}
