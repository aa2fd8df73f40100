//! What a trial asks of the machine under its engine, a file system of its own and limits, and whether it can have that.
//!
//! A refusal comes before anything is made. Room on the disk is [`host::safety`]'s to look at.

use crate::engine::{EngineLocation, workload_of};
use crate::estimate::data_bytes;
use crate::params::allocator_in;
use crate::registry::{ENGINES, engine_of};
use crate::server::program::{FoundPrograms, ProgramSet, common_folder};
use crate::sql::found_data;
use host::error::TargetError;
use host::privileged::private_mounts;
use model::{Bytes, Family, FileSystem, Limits, OpClass, TaskSet, Trial, Value};
use std::path::Path;
use workload::{ProgramInput, SequenceState};

/// No server works with less memory than this in addition to its cache. MariaDB took some 97 MiB with a cache of 16 MiB and 16 clients.
const BESIDE_CACHE: Bytes = Bytes::from_mib(32);

/// Refuses programs and an allocator that the engine of `trial` cannot have, before anything is started.
pub fn check_programs(trial: &Trial) -> Result<(), TargetError> {
    let (name, def, folder) = (&trial.target.engine, engine_of(trial), trial.target.programs.as_deref());
    let found = match (def.programs, folder) {
        (Some(programs), _) => find_programs(programs, folder).map(drop),
        (None, None) => Ok(()),
        (None, Some(folder)) => {
            let folder = host::error::shown(folder);
            Err(format!("it has no directory of programs: leave out `@{folder}`"))
        }
    };
    let library = || allocator_in(&trial.target.params).find_library().map(drop);
    found.and_then(|()| library()).map_err(|why| TargetError::Unsupported(format!("engine `{name}`: {why}")))
}

/// The programs of an engine from `folder`, or else from that of `--engine-bin`, or else from this machine.
///
/// # Errors
/// What is missing, and which engine it is that the folder holds.
pub fn find_programs(programs: &ProgramSet, folder: Option<&Path>) -> Result<FoundPrograms, String> {
    programs.find(folder).map_err(|why| match folder.or(common_folder()).and_then(|folder| engine_in(folder)) {
        Some((engine, other)) if other.product != programs.product => {
            format!("{why}; it holds {}: write `{engine}@DIR`", other.product)
        }
        _ => why,
    })
}

/// The engine whose programs are in `folder`, by the name of its server.
fn engine_in(folder: &Path) -> Option<(&'static str, &'static ProgramSet)> {
    let servers = ENGINES.iter().filter_map(|def| Some((def.entry.name, def.programs?)));
    let (name, programs) = servers.into_iter().find(|(_, programs)| programs.find(Some(folder)).is_ok())?;
    Some((name.split_once(':').map_or(name, |(server, _)| server), programs))
}

/// Refuses a file system that this machine cannot make, or that is too small for the data of `trial`.
pub fn check_file_system(trial: &Trial) -> Result<(), TargetError> {
    let Some(spec) = &trial.target.fs else { return Ok(()) };
    let name = &trial.target.engine;
    if !keeps_data_here(trial) {
        let text = format!(
            "engine `{name}` keeps no data on this machine, so fs = `{}` has no effect; leave it out",
            spec.kind
        );
        return Err(TargetError::Unsupported(text));
    }
    if matches!(spec.kind, FileSystem::Zfs { .. }) && !copies_files(trial) {
        return Err(TargetError::Unsupported(format!(
            "fs = `{}` is for `compress` only: zfs-fuse has no direct I/O, and no files that are mapped and written, so engine \
             `{name}` would be measured through it as on no ZFS; use `ext4`, `xfs` or `btrfs`",
            spec.kind
        )));
    }
    host::privileged::volume::check_spec(spec, data_bytes(trial))
}

/// Whether its engine reads and writes whole files through the page cache, which every file system can do.
fn copies_files(trial: &Trial) -> bool {
    engine_of(trial).entry.families.contains(&Family::Task(TaskSet::Codecs))
}

/// Refuses a scheduler for an engine that keeps no data on this machine.
pub fn check_scheduler(trial: &Trial) -> Result<(), TargetError> {
    match trial.target.machine.scheduler {
        Some(scheduler) if !keeps_data_here(trial) => Err(TargetError::Unsupported(format!(
            "engine `{}` keeps no data on this machine, so scheduler = `{}` has no effect; leave it out",
            trial.target.engine,
            scheduler.as_str()
        ))),
        _ => Ok(()),
    }
}

/// Refuses limits that cannot be applied to the engine of `trial`, or on this machine.
pub fn check_limits(trial: &Trial) -> Result<(), TargetError> {
    let limits = trial.target.limits;
    let (name, runs) = (&trial.target.engine, engine_of(trial).runs);
    if limits.is_none() {
        return Ok(());
    }
    let of_engine = Limits { cpu: limits.cpu.filter(|limit| limit.milli_cpus().is_some()), ..limits };
    if !of_engine.is_none() && !keeps_data_here(trial) {
        return refuse_limit(format!(
            "engine `{name}` keeps no data on this machine, so limits have no effect; leave them out"
        ));
    }
    if let (Some(memory), true) = (limits.memory, runs != EngineLocation::Server) {
        let text = "runs inside plimsoll, so the limit would slow the load generator as well";
        let advice = if trial.target.params.0.contains_key("cache") {
            "limit its `cache`"
        } else {
            "leave the limit out: with direct = `true` it uses no page cache"
        };
        return refuse_limit(format!("memory_limit = `{memory}`: engine `{name}` {text}; {advice}"));
    }
    if let (Some(memory), Some(Value::Bytes(cache))) = (limits.memory, trial.target.params.0.get("cache"))
        && memory.0 < cache.0 + BESIDE_CACHE.0
    {
        let least = Bytes(cache.0 + BESIDE_CACHE.0);
        let text =
            format!("the server needs at least {least}, or the kernel kills it; raise the limit or shrink the cache");
        return refuse_limit(format!("memory_limit = `{memory}` is too small for cache = `{cache}`: {text}"));
    }
    host::privileged::cgroup::check_limits(&limits)
}

/// Refuses statements in the background that have the name of an operation of the workload: their rows could not be distinguished.
pub fn check_background(trial: &Trial) -> Result<(), TargetError> {
    let entries = trial.workload.params.background();
    let Some(make) = workload_of(trial).sql.filter(|_| !entries.is_empty()) else { return Ok(()) };
    let own = make(&ProgramInput::from_trial(trial, &SequenceState::default())).kinds;
    let is_taken = |name: &str| own.iter().any(|kind| kind.name == name);
    match entries.iter().find(|entry| is_taken(&entry.op.name)) {
        None => Ok(()),
        Some(entry) => Err(TargetError::Unsupported(format!(
            "a `[[background]]` is named `{}`, and so is an operation of workload `{}`: rename it",
            entry.op.name, trial.workload.name
        ))),
    }
}

/// Whether `trial` uses tables that are there already, and makes none.
pub fn uses_found_data(trial: &Trial) -> bool {
    found_data::wanted_by(trial).is_some()
}

/// Refuses tables that are there already on an engine that has none, and statements that would change them unless that is allowed.
pub fn check_found_data(trial: &Trial) -> Result<(), TargetError> {
    let program = workload_of(trial).sql_program(&ProgramInput::from_trial(trial, &SequenceState::default()));
    let Some(program) = program else { return Ok(()) };
    let Some(wanted) = &program.found else { return Ok(()) };
    let asked = wanted.asked;
    if engine_of(trial).runs != EngineLocation::Elsewhere || engine_of(trial).scripted {
        return Err(TargetError::Unsupported(format!(
            "engine `{}` has no tables of yours: {asked} needs the server that has them, by --engine mysql://USER@HOST/DATABASE or \
             postgres://USER@HOST/DATABASE",
            trial.target.engine
        )));
    }
    let writer = program.kinds.iter().find(|kind| kind.class != OpClass::Read);
    match writer.filter(|_| !wanted.allows_writes) {
        None => Ok(()),
        Some(kind) => Err(TargetError::Unsafe(format!(
            "`{}` changes rows, and with {asked} these are yours; use allow_writes = `true` if they may change",
            kind.name
        ))),
    }
}

/// Refuses several instances of what cannot be started, and more than the memory of this machine holds with their caches.
pub fn check_instances(trial: &Trial) -> Result<(), TargetError> {
    let (name, count) = (&trial.target.engine, trial.target.instances);
    if count <= 1 {
        return Ok(());
    }
    if engine_of(trial).runs == EngineLocation::Elsewhere {
        let text = format!(
            "engine `{name}` is a server that plimsoll did not start, so instances = `{count}` is not possible; leave it out"
        );
        return Err(TargetError::Unsupported(text));
    }
    let Some(Value::Bytes(cache)) = trial.target.params.0.get("cache") else { return Ok(()) };
    check_caches(count, *cache, host::machine::memory_bytes())
}

/// Refuses `count` caches that `memory` does not hold.
fn check_caches(count: u32, cache: Bytes, memory: Option<Bytes>) -> Result<(), TargetError> {
    let needed = Bytes(cache.0.saturating_mul(u64::from(count)));
    match memory.filter(|memory| needed > *memory) {
        None => Ok(()),
        Some(memory) => Err(TargetError::Unsafe(format!(
            "instances = `{count}` with cache = `{cache}` each need {needed} together, and this machine has {memory} of memory; use fewer \
             instances or a smaller cache"
        ))),
    }
}

/// Refuses a private server whose data would be in `dir`, if its user could not be let in there.
pub fn check_server_place(trial: &Trial, dir: &Path) -> Result<(), TargetError> {
    match engine_of(trial).runs {
        EngineLocation::Server => private_mounts::check_place(dir),
        _ => Ok(()),
    }
}

fn refuse_limit(text: String) -> Result<(), TargetError> {
    Err(TargetError::Unsupported(text))
}

fn keeps_data_here(trial: &Trial) -> bool {
    let engine = engine_of(trial);
    engine.runs != EngineLocation::Elsewhere && !engine.scripted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn caches_that_the_memory_does_not_hold_together_are_refused() {
        let check = |count| check_caches(count, Bytes::from_gib(2), Some(Bytes::from_gib(8)));
        assert!(check(4).is_ok());
        let refused = check(5).unwrap_err().to_string();
        assert!(refused.starts_with("instances = `5` with cache = `2 GiB` each need 10 GiB together"), "{refused}");
        assert!(check_caches(1000, Bytes::from_gib(2), None).is_ok(), "the memory is not known");
    }
}
