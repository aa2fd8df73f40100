//! What a trial asks of the machine: which CPUs clients and engine use, and settings of the kernel for all processes.
//!
//! In: the crate `plan` makes these from `cpus`, `smt`, `turbo` and `scheduler`. Out: `host` applies them, labels and run files name them.
//! Limits: which CPUs `cores` and `all` are is known on the machine only.

use serde::{Deserialize, Serialize};
use std::fmt;

/// The highest number that the C library's set of CPUs holds.
pub const CPU_MAX: u32 = 1_023;

/// What a trial asks of the machine. What it does not name stays as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct MachineSetup {
    /// The CPUs of clients and engine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpus: Option<CpuAssignment>,
    /// Whether the threads of a core after its first are online.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub smt: Option<Switch>,
    /// Whether CPUs may run above their base frequency.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turbo: Option<Switch>,
    /// The I/O scheduler of the disk under the data.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scheduler: Option<IoScheduler>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Switch {
    On,
    Off,
}

/// An I/O scheduler of Linux (Documentation/block).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum IoScheduler {
    /// Requests go to the device as they come.
    None,
    /// Reads before writes, each by sector and with a deadline.
    MqDeadline,
    /// A share of the disk for each process.
    Bfq,
    /// Few requests at a time, by the response times of the device.
    Kyber,
}

/// The CPUs of clients and engine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct CpuAssignment {
    /// Of plimsoll itself, with the engines inside it.
    pub client: CpuChoice,
    /// Of the processes of a private server.
    pub engine: CpuChoice,
}

/// Some of the CPUs of a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CpuChoice {
    /// One thread of each core.
    Cores,
    All,
    /// Those with these numbers.
    Listed(CpuList),
}

/// Numbers of CPUs, ascending, each once, at least one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CpuList(Vec<u32>);

impl MachineSetup {
    /// Whether the machine stays as it is.
    pub fn is_none(&self) -> bool {
        *self == MachineSetup::default()
    }

    /// What is asked for, by the names of its keys, as a person would write it.
    pub fn named(&self) -> Vec<(&'static str, String)> {
        let cpus = self.cpus.as_ref().map(|cpus| ("cpus", cpus.to_string()));
        let switches = [("smt", self.smt), ("turbo", self.turbo)];
        let switches = switches.into_iter().filter_map(|(name, switch)| Some((name, switch?.as_str().to_owned())));
        let scheduler = self.scheduler.map(|scheduler| ("scheduler", scheduler.as_str().to_owned()));
        cpus.into_iter().chain(switches).chain(scheduler).collect()
    }
}

impl Switch {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Switch::On => "on",
            Switch::Off => "off",
        }
    }

    /// The switch of that word.
    pub fn from_word(word: &str) -> Option<Switch> {
        [Switch::On, Switch::Off].into_iter().find(|switch| switch.as_str() == word)
    }
}

impl IoScheduler {
    pub const ALL: [IoScheduler; 4] =
        [IoScheduler::None, IoScheduler::MqDeadline, IoScheduler::Bfq, IoScheduler::Kyber];

    /// As the kernel calls it.
    pub fn as_str(self) -> &'static str {
        match self {
            IoScheduler::None => "none",
            IoScheduler::MqDeadline => "mq-deadline",
            IoScheduler::Bfq => "bfq",
            IoScheduler::Kyber => "kyber",
        }
    }

    /// The scheduler that the kernel calls so.
    pub fn from_word(word: &str) -> Option<IoScheduler> {
        IoScheduler::ALL.into_iter().find(|scheduler| scheduler.as_str() == word)
    }
}

impl CpuAssignment {
    /// Reads `cores`, `all`, `0-3`, `0+2` or `client=0+engine=1-3`; a comma is the same as `+`. One choice is for both. `None` for what
    /// is none.
    pub fn parse(text: &str) -> Option<CpuAssignment> {
        let (mut both, mut client, mut engine) = (Vec::new(), Vec::new(), Vec::new());
        let mut current = &mut both;
        for part in text.split(['+', ',']).map(str::trim) {
            let (role, cpus) =
                part.split_once('=').map_or((None, part), |(role, cpus)| (Some(role.trim()), cpus.trim()));
            current = match role {
                None => current,
                Some("client") if client.is_empty() => &mut client,
                Some("engine") if engine.is_empty() => &mut engine,
                Some(_) => return None,
            };
            current.push(cpus);
        }
        match (both.is_empty(), client.is_empty(), engine.is_empty()) {
            (false, true, true) => {
                let choice = CpuChoice::parse(&both)?;
                Some(CpuAssignment { client: choice.clone(), engine: choice })
            }
            (true, false, false) => {
                Some(CpuAssignment { client: CpuChoice::parse(&client)?, engine: CpuChoice::parse(&engine)? })
            }
            _ => None,
        }
    }

    /// Whether clients and engine have CPUs of their own.
    pub fn is_split(&self) -> bool {
        self.client != self.engine
    }
}

impl fmt::Display for CpuAssignment {
    /// As a person would write it in a plan.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_split() {
            return write!(f, "client={}+engine={}", self.client, self.engine);
        }
        write!(f, "{}", self.client)
    }
}

impl From<CpuAssignment> for String {
    fn from(assignment: CpuAssignment) -> String {
        assignment.to_string()
    }
}

impl TryFrom<String> for CpuAssignment {
    type Error = String;

    fn try_from(text: String) -> Result<CpuAssignment, String> {
        CpuAssignment::parse(&text).ok_or_else(|| format!("`{}` are no CPUs", text.escape_debug()))
    }
}

impl CpuChoice {
    fn parse(parts: &[&str]) -> Option<CpuChoice> {
        match parts {
            ["cores"] => Some(CpuChoice::Cores),
            ["all"] => Some(CpuChoice::All),
            parts => CpuList::parse(parts.iter().copied()).map(CpuChoice::Listed),
        }
    }
}

impl fmt::Display for CpuChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CpuChoice::Cores => f.write_str("cores"),
            CpuChoice::All => f.write_str("all"),
            CpuChoice::Listed(list) => f.write_str(&list.ranges().join("+")),
        }
    }
}

impl CpuList {
    /// The list with these numbers; `None` if there are none.
    pub fn new(numbers: impl IntoIterator<Item = u32>) -> Option<CpuList> {
        let mut numbers: Vec<u32> = numbers.into_iter().collect();
        numbers.sort_unstable();
        numbers.dedup();
        (!numbers.is_empty()).then_some(CpuList(numbers))
    }

    /// Reads a list of the kernel: `0-3,8`.
    pub fn from_kernel(text: &str) -> Option<CpuList> {
        CpuList::parse(text.trim().split(','))
    }

    fn parse<'a>(parts: impl Iterator<Item = &'a str>) -> Option<CpuList> {
        let mut numbers = Vec::new();
        for part in parts {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let [first, last] = [cpu_number(first)?, cpu_number(last)?];
            (first <= last).then_some(())?;
            numbers.extend(first..=last);
        }
        CpuList::new(numbers)
    }

    /// The numbers in ascending order.
    pub fn numbers(&self) -> &[u32] {
        &self.0
    }

    /// `0-3`, `8`.
    fn ranges(&self) -> Vec<String> {
        let runs = self.0.chunk_by(|one, next| one + 1 == *next);
        runs.map(|run| match run {
            [one] => one.to_string(),
            run => format!("{}-{}", run[0], run[run.len() - 1]),
        })
        .collect()
    }
}

fn cpu_number(text: &str) -> Option<u32> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|number| is_number && *number <= CPU_MAX)
}

impl fmt::Display for CpuList {
    /// As the kernel has it: `0-3,8`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.ranges().join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpus_read_as_they_are_written() {
        for text in ["cores", "all", "0", "0-3", "0+2", "0-3+8+10-11", "client=0+engine=1-3", "client=0+2+engine=all"] {
            assert_eq!(CpuAssignment::parse(text).map(|cpus| cpus.to_string()).as_deref(), Some(text));
        }
        let written = |text: &str| CpuAssignment::parse(text).map(|cpus| cpus.to_string());
        assert_eq!(written("engine = 3,1,2 + client=0").as_deref(), Some("client=0+engine=1-3"));
        assert_eq!(written("client=1+engine=1").as_deref(), Some("1"), "the same for both");
    }

    #[test]
    fn what_are_no_cpus_is_none() {
        for text in ["", "core", "0-", "-1", "3-1", "+1", "client=0", "engine=1", "0+client=1", "client=0+client=1"] {
            assert_eq!(CpuAssignment::parse(text), None, "{text}");
        }
        for text in ["cores+1", "9999", "client=0+server=1", "0+engine=1+client=2", "client=+engine=1"] {
            assert_eq!(CpuAssignment::parse(text), None, "{text}");
        }
    }

    #[test]
    fn a_list_of_the_kernel_is_read_and_written() {
        assert_eq!(CpuList::from_kernel("0-1,4\n").map(|list| list.to_string()).as_deref(), Some("0-1,4"));
        assert_eq!(["", "\n", "x", "1-0"].map(CpuList::from_kernel), [None, None, None, None]);
    }

    #[test]
    fn a_setup_is_kept_as_a_person_writes_it() {
        let cpus = CpuAssignment::parse("client=0+engine=1");
        let setup = MachineSetup { cpus, scheduler: Some(IoScheduler::MqDeadline), ..MachineSetup::default() };
        let text = serde_json::to_string(&setup).expect("plain data");
        assert_eq!(text, r#"{"cpus":"client=0+engine=1","scheduler":"mq-deadline"}"#);
        assert_eq!(serde_json::from_str::<MachineSetup>(&text).expect("as it was written"), setup);
        assert!(serde_json::from_str::<MachineSetup>(r#"{"cpus":"/etc"}"#).is_err());
    }
}
