//! The conditions of a run: what may change its numbers although the plan is the same.
//!
//! In: the facts of a run and of its points. Out: [`RunCondition`]s with a role, and those that two runs do not share. Code compares roles
//! and values, never names.
//! Limits: facts that tell what happened in a run (sizes, times, counts of its own work) are no conditions. Only this file has the names
//! of the facts that are. What an engine reads back of its own settings begins with its name.

use crate::fact::Fact;
use crate::run::{PointData, RunMeta};
use serde::Serialize;

/// What a condition is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ConditionRole {
    /// The version of plimsoll, or how it was compiled.
    Plimsoll,
    /// The version of the engine, or its program.
    EngineVersion,
    /// A setting that was read back from the engine.
    EngineSetting,
    /// When an acknowledged commit is on disk.
    Durability,
    /// The release of the kernel.
    Kernel,
    /// A setting of the kernel.
    KernelSetting,
    OperatingSystem,
    /// CPUs, memory or clock of the machine.
    Machine,
    /// The file system of the data.
    FileSystem,
    /// The options with which it is mounted.
    MountOptions,
    /// The disk below it, or a setting of the disk.
    Disk,
    /// The seed of the trial.
    Seed,
    /// The program that made the load: plimsoll, or another whose results were imported.
    LoadGenerator,
}

/// Something that may change the numbers of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RunCondition {
    pub role: ConditionRole,
    /// Its name, for people: that of the fact.
    pub name: String,
    /// Its value as it was recorded.
    pub value: String,
}

/// A condition that two runs do not share.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ChangedCondition {
    pub role: ConditionRole,
    /// Its name, for people.
    pub name: String,
    /// Its value in the first run.
    pub before: String,
    /// Its value in the other.
    pub after: String,
}

/// Sizes that differ by a smaller share are alike: a kernel takes another part of the memory for itself.
const SIZE_SHARE_MIN: f64 = 0.02;

/// The facts that are conditions, by name or, with a `*` at the end, by the beginning of the name. The first that fits counts;
/// without a role the fact is no condition.
const KNOWN: &[(&str, Option<ConditionRole>)] = &[
    ("kernel.release", Some(ConditionRole::Kernel)),
    ("kernel.*", Some(ConditionRole::KernelSetting)),
    ("os", Some(ConditionRole::OperatingSystem)),
    ("clock.read_ns", None),
    ("clock.*", Some(ConditionRole::Machine)),
    ("cpu.*", Some(ConditionRole::Machine)),
    ("cgroup.*", Some(ConditionRole::Machine)),
    ("cpus.count", None),
    ("cpus.*", Some(ConditionRole::Machine)),
    ("set.scheduler.*", Some(ConditionRole::Disk)),
    ("set.*", Some(ConditionRole::Machine)),
    ("memory.*", Some(ConditionRole::Machine)),
    ("machine.*", Some(ConditionRole::Machine)),
    ("plimsoll.*", Some(ConditionRole::Plimsoll)),
    ("filesystem.options", Some(ConditionRole::MountOptions)),
    ("filesystem.barrier", Some(ConditionRole::MountOptions)),
    ("filesystem", Some(ConditionRole::FileSystem)),
    ("filesystem.*", Some(ConditionRole::FileSystem)),
    ("fs.made_by", Some(ConditionRole::FileSystem)),
    ("fs.loop_direct", Some(ConditionRole::FileSystem)),
    ("disk.*", Some(ConditionRole::Disk)),
    ("engine.version", Some(ConditionRole::EngineVersion)),
    ("server.program", Some(ConditionRole::EngineVersion)),
    ("durability", Some(ConditionRole::Durability)),
    ("isolation", Some(ConditionRole::EngineSetting)),
    ("server.tls", Some(ConditionRole::EngineSetting)),
    ("server.device", Some(ConditionRole::Disk)),
    ("client.sockets", Some(ConditionRole::KernelSetting)),
    ("uring.registered_buffers", Some(ConditionRole::KernelSetting)),
    ("uring.deferred_taskrun", Some(ConditionRole::KernelSetting)),
];

/// The conditions of a run as a whole.
pub fn conditions_of_run(meta: &RunMeta) -> Vec<RunCondition> {
    let own = RunCondition {
        role: ConditionRole::Plimsoll,
        name: "plimsoll.version".to_owned(),
        value: meta.plimsoll_version.clone(),
    };
    let known = meta.environment.iter().filter_map(|fact| Some(condition(known_role(&fact.name)?, fact)));
    std::iter::once(own).chain(known).collect()
}

/// The conditions of one point, those of its run not included.
pub fn conditions_of_point(point: &PointData) -> Vec<RunCondition> {
    let seed = point.trial.seed.to_string();
    let seed = RunCondition { role: ConditionRole::Seed, name: "seed".to_owned(), value: seed };
    let engine = point.trial.target.engine.split(':').next().unwrap_or_default();
    let role = |fact: &Fact| known_role(&fact.name).or_else(|| setting_role(&fact.name, engine));
    let known = point.facts.iter().filter_map(|fact| Some(condition(role(fact)?, fact)));
    known.chain([seed, load_generator(point)]).collect()
}

/// The program that made the load: results of other programs are imported.
fn load_generator(point: &PointData) -> RunCondition {
    let value = point.traits.imported.clone().unwrap_or_else(|| OWN_GENERATOR.to_owned());
    RunCondition { role: ConditionRole::LoadGenerator, name: "load_generator".to_owned(), value }
}

/// The name of the load generator of points that were not imported.
pub const OWN_GENERATOR: &str = "plimsoll";

/// The conditions in which two runs differ, by role. What only one of them recorded is not known to differ.
pub fn changed_conditions(before: &[RunCondition], after: &[RunCondition]) -> Vec<ChangedCondition> {
    let mut all: Vec<ChangedCondition> = before.iter().filter_map(|before| before.change_in(after)).collect();
    all.sort_by_key(|condition| condition.role);
    all
}

impl RunCondition {
    /// How it differs in another run, which has the conditions `after`.
    fn change_in(&self, after: &[RunCondition]) -> Option<ChangedCondition> {
        let other = after.iter().find(|other| other.role == self.role && other.name == self.name)?;
        let RunCondition { role, name, value } = self.clone();
        let after = other.value.clone();
        (!self.is_alike(&after)).then_some(ChangedCondition { role, name, before: value, after })
    }

    fn is_alike(&self, other: &str) -> bool {
        self.value == other || self.name.ends_with("_bytes") && are_near(&self.value, other)
    }
}

fn are_near(size: &str, other: &str) -> bool {
    let sizes = size.parse::<f64>().ok().zip(other.parse::<f64>().ok());
    sizes.is_some_and(|(size, other)| (size / other - 1.0).abs() < SIZE_SHARE_MIN)
}

fn condition(role: ConditionRole, fact: &Fact) -> RunCondition {
    RunCondition { role, name: fact.name.clone(), value: fact.value.clone() }
}

fn known_role(name: &str) -> Option<ConditionRole> {
    let fits = |known: &str| known.strip_suffix('*').map_or(name == known, |beginning| name.starts_with(beginning));
    KNOWN.iter().find(|(known, _)| fits(known)).and_then(|(_, role)| *role)
}

/// `mariadb.innodb_flush_method` is a setting of the engine `mariadb:innodb`.
fn setting_role(name: &str, engine: &str) -> Option<ConditionRole> {
    let rest = name.strip_prefix(engine)?;
    rest.starts_with('.').then_some(ConditionRole::EngineSetting)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_entry_that_fits_decides() {
        use ConditionRole::{FileSystem, Kernel, KernelSetting, Machine, MountOptions};
        let names = ["kernel.release", "kernel.vm.dirty_ratio", "filesystem", "filesystem.options", "clock.source"];
        let expected = [Kernel, KernelSetting, FileSystem, MountOptions, Machine];
        assert_eq!(names.map(known_role), expected.map(Some));
    }

    #[test]
    fn what_a_run_did_is_no_condition() {
        let names = ["load.rows", "data.bytes", "clock.read_ns", "ceiling.measured", "verify.corrupt", "uring.workers"];
        assert_eq!(names.map(known_role), [None; 6]);
    }

    #[test]
    fn conditions_differ_by_their_values_and_sizes_by_more_than_a_kernel_takes() {
        let run = |kernel: &str, memory: &str| {
            let facts = [Fact::new("kernel.release", kernel), Fact::new("memory.total_bytes", memory)];
            facts.map(|fact| condition(known_role(&fact.name).expect("it is one"), &fact))
        };
        let names = |before: &[RunCondition], after: &[RunCondition]| {
            changed_conditions(before, after).into_iter().map(|one| one.name).collect::<Vec<_>>()
        };
        assert_eq!(names(&run("6.1", "1000000"), &run("6.12", "1001000")), ["kernel.release"]);
        assert_eq!(names(&run("6.1", "1000000"), &run("6.1", "2000000")), ["memory.total_bytes"]);
        assert_eq!(names(&run("6.1", "0"), &run("6.1", "0")), [""; 0], "neither has any");
        assert!(names(&run("6.1", "1000000"), &run("6.12", "1")[..0]).is_empty(), "one run did not record it");
    }

    #[test]
    fn settings_of_an_engine_begin_with_its_name() {
        assert_eq!(setting_role("sqlite.cache_size", "sqlite"), Some(ConditionRole::EngineSetting));
        assert_eq!(setting_role("mysql.flush", "mysqlx"), None);
        assert_eq!(setting_role("files.direct", "file"), None);
    }
}
