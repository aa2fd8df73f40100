//! The flags of runs on several hosts: the bus, its password, the key of the run, and how many agents make the load.
//!
//! In: command lines. Out: the way to the bus, and what a coordinator needs. Limits: a password or a key is never an argument: both come
//! from files that are closed to others, or from the environment.

use crate::exit::Fault;
use crate::output::shell_word;
use bus::{BusAddress, BusConnector, BusKeys, RunSecret};
use clap::{Arg, ArgMatches, Command, value_parser};
use model::Nanos;
use runner::{CoordinatorSetup, OnHostLoss};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// All flags here: none of them is a key of a plan.
pub const FLAGS: [&str; 7] = [BUS, NAME, KEY_FILE, PASSWORD_FILE, AGENTS, WAIT, ON_LOSS];

const BUS: &str = "bus";
const NAME: &str = "bus-name";
const KEY_FILE: &str = "bus-key-file";
const PASSWORD_FILE: &str = "bus-password-file";
const AGENTS: &str = "agents";
const WAIT: &str = "host-wait";
const ON_LOSS: &str = "on-host-loss";
const HEADING: &str = "Several hosts";
/// The most agents of one load.
const AGENTS_MAX: i64 = 1_000;

/// Adds the flags of a coordinator.
pub fn with_coordinator(command: Command) -> Command {
    let agents = Arg::new(AGENTS).long(AGENTS).value_name("N").requires(BUS).help_heading(HEADING);
    let wait = Arg::new(WAIT).long(WAIT).value_name("TIME").requires(BUS).default_value("30s").help_heading(HEADING);
    let on_loss = Arg::new(ON_LOSS).long(ON_LOSS).value_name("stop|go-on").requires(BUS).default_value("stop");
    with_bus(command)
        .arg(agents.value_parser(value_parser!(u32).range(1..=AGENTS_MAX)).help(
            "With --bus: how many agents share the load; agents that only observe come in addition [default: 1]",
        ))
        .arg(wait.help("With --bus: how long to wait for the bus and for agents at the beginning, and for one that is silent before it is given up"))
        .arg(on_loss.value_parser(["stop", "go-on"]).hide_possible_values(true).help_heading(HEADING).help(
            "With --bus: what becomes of a point whose load runs when a host is lost: `stop` ends it, `go-on` measures on with the hosts that are left",
        ))
}

/// Adds the flags of the bus.
pub fn with_bus(command: Command) -> Command {
    let bus = Arg::new(BUS).long(BUS).value_name("URL").env("PLIMSOLL_BUS").hide_env_values(true);
    let name = Arg::new(NAME).long(NAME).value_name("NAME").default_value("main").requires(BUS);
    let key = Arg::new(KEY_FILE).long(KEY_FILE).value_name("FILE").requires(BUS).value_parser(value_parser!(PathBuf));
    let password = Arg::new(PASSWORD_FILE)
        .long(PASSWORD_FILE)
        .value_name("FILE")
        .requires(BUS)
        .value_parser(value_parser!(PathBuf));
    command
        .arg(bus.help_heading(HEADING).help(
            "Measure from several hosts: the Redis or Valkey server between them, such as `redis://host:6379/` or `rediss://user@host/` (TLS)",
        ))
        .arg(name.help_heading(HEADING).help("What a coordinator and its agents have in common, if several runs share a bus"))
        .arg(key.help_heading(HEADING).help(
            "File with the key of the run, the same on all hosts: whoever has it may give orders [default: the variable PLIMSOLL_BUS_KEY]",
        ))
        .arg(password.help_heading(HEADING).help(
            "File with the password of the bus [default: the variable PLIMSOLL_BUS_PASSWORD, or none]",
        ))
}

/// Where the bus of a run is, and who is on it.
#[derive(Clone, Debug)]
pub struct BusFlags {
    url: String,
    name: String,
    key_file: Option<PathBuf>,
    password_file: Option<PathBuf>,
    agents: u32,
    wait: String,
    on_host_loss: OnHostLoss,
}

impl BusFlags {
    /// As `matches` have them; `None` if the run is of this host alone.
    pub fn from_matches(matches: &ArgMatches) -> Option<BusFlags> {
        let text = |id| matches.try_get_one::<String>(id).ok().flatten().cloned();
        let path = |id| matches.try_get_one::<PathBuf>(id).ok().flatten().cloned();
        let url = text(BUS).filter(|url| !url.is_empty())?;
        Some(BusFlags {
            url,
            name: text(NAME).unwrap_or_default(),
            key_file: path(KEY_FILE),
            password_file: path(PASSWORD_FILE),
            agents: matches.try_get_one::<u32>(AGENTS).ok().flatten().copied().unwrap_or(1),
            wait: text(WAIT).unwrap_or_default(),
            on_host_loss: match text(ON_LOSS).as_deref() {
                Some("go-on") => OnHostLoss::GoOn,
                _ => OnHostLoss::Stop,
            },
        })
    }

    /// The flags as they are typed again, each after a blank.
    pub fn as_typed(&self) -> String {
        let path = |path: &Option<PathBuf>| path.as_ref().map(|path| path.display().to_string());
        let flags = [
            (BUS, Some(self.url.clone())),
            (NAME, Some(self.name.clone())),
            (KEY_FILE, path(&self.key_file)),
            (PASSWORD_FILE, path(&self.password_file)),
            (AGENTS, Some(self.agents.to_string())),
            (WAIT, Some(self.wait.clone())),
            (ON_LOSS, (self.on_host_loss == OnHostLoss::GoOn).then(|| "go-on".to_owned())),
        ];
        let given =
            flags.into_iter().filter_map(|(flag, value)| Some((flag, value.filter(|value| !value.is_empty())?)));
        given.map(|(flag, value)| format!(" --{flag} {}", shell_word(&value))).collect()
    }

    /// The way to the bus, and the keys on it.
    pub fn connect(&self) -> Result<(BusConnector, BusKeys), Fault> {
        let read = |file: &Option<PathBuf>| file.as_deref().map(Path::to_owned);
        let secret = RunSecret::read(read(&self.key_file).as_deref())?;
        let address = BusAddress::parse(&self.url, read(&self.password_file).as_deref())?;
        Ok((BusConnector::new(address, secret), BusKeys::new(&self.name)?))
    }

    /// What the coordinator of the run needs.
    pub fn coordinator(&self) -> Result<CoordinatorSetup, Fault> {
        let (connector, keys) = self.connect()?;
        let (agents, on_host_loss) = (self.agents, self.on_host_loss);
        Ok(CoordinatorSetup { connector, keys, agents, wait: waiting_time(WAIT, &self.wait)?, on_host_loss })
    }
}

/// How long to wait, given by the flag `name` as `text`.
pub fn waiting_time(name: &'static str, text: &str) -> Result<Duration, Fault> {
    let Nanos(wait) = plan::waiting_time(name, text)?;
    Ok(Duration::from_nanos(wait))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_flags_of_the_bus_are_typed_again_as_they_were_given() {
        let command = with_coordinator(Command::new("run"));
        let all = ["run", "--bus", "redis://h/", "--agents", "3", "--bus-key-file", "a b", "--on-host-loss", "go-on"];
        let flags = BusFlags::from_matches(&command.get_matches_from(all)).unwrap();
        assert_eq!(
            flags.as_typed(),
            " --bus redis://h/ --bus-name main --bus-key-file 'a b' --agents 3 --host-wait 30s --on-host-loss go-on"
        );
    }
}
