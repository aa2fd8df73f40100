//! How people say the settings that every trial has: clients, file system, limits, CPUs.
//!
//! In: a trial and the name of a setting. Out: its phrase, as [`Phrase`] has those of parameters.

use crate::limits::CpuLimit;
use crate::machine_setup::{CpuAssignment, CpuChoice, IoScheduler, Switch};
use crate::params::Value;
use crate::phrase::Phrase;
use crate::trial::{Arrivals, Pacing, Trial};
use crate::units::{Nanos, number_word};

const CLIENTS: Phrase = Phrase::Counted { zero: "no client", one: "one client", many: "{} clients" };
const DEPTH: Phrase =
    Phrase::Counted { zero: "nothing in flight", one: "one request in flight", many: "{} requests in flight" };
const INSTANCES: Phrase = Phrase::Counted { zero: "no instance", one: "one instance", many: "{} instances" };
const FILE_SYSTEMS: Phrase = Phrase::Words(&[
    ("ext4", "ext4"),
    ("ext4:nobarrier", "ext4 without barriers"),
    ("xfs", "XFS"),
    ("btrfs", "Btrfs"),
    ("btrfs:{}", "Btrfs with {}"),
    ("zfs", "ZFS"),
    ("zfs:{}", "ZFS with {}"),
]);

/// How people say the setting `key` of `trial`, one of those that every trial has; `None` for any other key.
pub fn common_phrase(key: &str, trial: &Trial) -> Option<String> {
    let (limits, machine) = (&trial.target.limits, &trial.target.machine);
    let count = |phrase: Phrase, number: u32| phrase.say(&Value::Int(u64::from(number)));
    let said = match key {
        "fs" => match &trial.target.fs {
            None => "the file system of the directory".to_owned(),
            Some(fs) => FILE_SYSTEMS.say(&Value::Word(fs.kind.to_string()))?,
        },
        "memory_limit" => limits.memory.map_or("all memory".to_owned(), |bytes| format!("{bytes} of memory")),
        "storage_limit" => limits.storage.phrase(),
        "cpu_limit" => match limits.cpu {
            None => "all of the CPU".to_owned(),
            Some(CpuLimit::SpeedPercent(percent)) => format!("CPUs at {percent} % of their speed"),
            Some(limit) => format!("{limit} CPUs"),
        },
        "cpus" => machine.cpus.as_ref().map_or("any CPU".to_owned(), cpus_phrase),
        "smt" => switch_phrase("hyper-threads", machine.smt),
        "turbo" => switch_phrase("turbo", machine.turbo),
        "scheduler" => match machine.scheduler {
            None => "the scheduler as it is".to_owned(),
            Some(IoScheduler::None) => "no I/O scheduler".to_owned(),
            Some(scheduler) => format!("the scheduler {}", scheduler.as_str()),
        },
        "instances" => return count(INSTANCES, trial.target.instances),
        "clients" => return count(CLIENTS, trial.load.clients),
        "depth" => return count(DEPTH, trial.load.depth),
        "pacing" => match trial.load.pacing {
            Pacing::Closed { think: Nanos(0) } => "a closed loop".to_owned(),
            Pacing::Closed { think } => format!("a closed loop with pauses of {think}"),
            Pacing::Open { arrivals: Arrivals::Recorded { .. } } => "the recorded times".to_owned(),
            Pacing::Open { arrivals } => {
                let per_s = arrivals.per_s();
                let is_whole = per_s.fract() == 0.0 && per_s > 12.0;
                format!(
                    "an open loop of {} per second",
                    if is_whole { number_word(per_s as u64) } else { per_s.to_string() }
                )
            }
        },
        _ => return None,
    };
    Some(said)
}

fn switch_phrase(of: &str, switch: Option<Switch>) -> String {
    match switch {
        None => format!("{of} as they are"),
        Some(switch) => format!("{of} {}", switch.as_str()),
    }
}

fn cpus_phrase(cpus: &CpuAssignment) -> String {
    let one = |choice: &CpuChoice| match choice {
        CpuChoice::Cores => "one thread per core".to_owned(),
        CpuChoice::All => "all threads of all cores".to_owned(),
        CpuChoice::Listed(list) if list.numbers().len() == 1 => "one CPU".to_owned(),
        CpuChoice::Listed(list) => format!("{} CPUs", number_word(list.numbers().len() as u64)),
    };
    if cpus.client == cpus.engine {
        one(&cpus.client)
    } else {
        format!("{} for the clients and {} for the engine", one(&cpus.client), one(&cpus.engine))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filesystem::{FileSystem, FileSystemSpec};

    #[test]
    fn what_every_trial_has_is_said_without_its_key() {
        let mut trial = Trial::simple("sqlite", "oltp");
        trial.load.clients = 16;
        trial.target.fs = Some(FileSystemSpec { kind: FileSystem::Ext4 { barrier: false }, size: None });
        trial.target.machine.cpus = CpuAssignment::parse("0-1");
        trial.target.machine.smt = Some(Switch::Off);
        let said = |key| common_phrase(key, &trial).unwrap_or_default();
        assert_eq!(
            ["clients", "fs", "cpus", "smt"].map(said),
            ["16 clients", "ext4 without barriers", "two CPUs", "hyper-threads off"]
        );
        let others =
            ["depth", "instances", "memory_limit", "storage_limit", "cpu_limit", "turbo", "scheduler", "pacing"];
        assert!(others.map(said).iter().all(|said| !said.is_empty() && !said.contains(['_', '='])), "{others:?}");
        assert_eq!(common_phrase("indexes", &trial), None);
    }
}
