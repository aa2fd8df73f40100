//! The list of engines, and what is found by the name of one.
//!
//! In: a trial or a name. Out: the engine. Limits: a plan is checked against the catalogue before anything here is asked.

use crate::cgroup_counters;
use crate::data_description::shape_on;
use crate::engine::{EngineDef, EngineLocation, workload_of};
use crate::server::variables::ServerVariables;
use crate::sql::replay::NEEDS_COPY;
use host::error::TargetError;
use model::{ConfigVariables, DataOrigin, EngineProcess, Family, Params, Trial};
use std::path::Path;
use workload::{ProgramInput, SequenceState, SqlWork};

/// All engines. A new one is one file and one line here.
pub const ENGINES: &[&EngineDef] = &[
    &crate::null::NULL,
    &crate::file::FILE,
    &crate::cpu::CPU,
    &crate::sqlite::SQLITE,
    &crate::fjall::FJALL,
    &crate::rocksdb::ROCKSDB,
    &crate::codec::CODEC,
    &crate::mysql::INNODB,
    &crate::mysql::ROCKSDB,
    &crate::mysql::GALERA,
    &crate::mysql::MYSQL_INNODB,
    &crate::mysql::MYSQL_ROCKSDB,
    &crate::postgres::POSTGRES,
    &crate::mysql::MYSQL,
    &crate::postgres::POSTGRESQL,
    &crate::tcp::TCP,
];

/// The counter sources that engines and their limits bring along, each once with a line of help, for the reference.
pub fn counter_sources() -> impl Iterator<Item = (&'static str, &'static str)> {
    let of_engines =
        ENGINES.iter().flat_map(|def| def.sources).chain(cgroup_counters::SOURCES).chain(&crate::watch::SOURCES);
    let named = of_engines.map(|source| (source.name, source.help));
    let mut seen = std::collections::BTreeSet::new();
    named.filter(move |(name, _)| seen.insert(*name))
}

/// The engine of that name.
pub fn find(name: &str) -> Option<&'static EngineDef> {
    ENGINES.iter().copied().find(|def| def.entry.name == name)
}

/// The engine of `trial`.
///
/// # Panics
/// If this binary lacks it: a plan is checked against the catalogue before.
pub fn engine_of(trial: &Trial) -> &'static EngineDef {
    find(&trial.target.engine).expect("the plan was checked against the catalogue")
}

/// A load of fewer operations is over before other hosts could take part in it. One operation adds up to five thousand rows.
const LOAD_OPS_OF_SEVERAL: u64 = 10;

/// Whose data hosts use that share the load of `trial`: one data set on a server that all can reach, and otherwise each its own. Each
/// host makes a part of a data set that is worth it.
pub fn data_origin(trial: &Trial) -> DataOrigin {
    match engine_of(trial).runs {
        EngineLocation::Elsewhere if is_made_in_parts(trial) => DataOrigin::MadeByAll,
        EngineLocation::Elsewhere => DataOrigin::MadeByFirst,
        EngineLocation::InClients | EngineLocation::Embedded | EngineLocation::Server => DataOrigin::Own,
    }
}

fn is_made_in_parts(trial: &Trial) -> bool {
    let Some(make) = workload_of(trial).sql.filter(|_| family_of(trial) == Family::Sql) else { return false };
    let sequence = SequenceState::default();
    let program = make(&ProgramInput::from_trial(trial, &sequence));
    // The statements that make the data of a variant are executed in their order, by one client.
    let is_cut = !matches!(program.work, SqlWork::Variant(_));
    is_cut && program.load.and_then(|load| load.ops().ops).is_some_and(|ops| ops >= LOAD_OPS_OF_SEVERAL)
}

/// The family in which the workload of `trial` runs on its engine: the first that both have.
pub(crate) fn family_of(trial: &Trial) -> Family {
    let of_engine = engine_of(trial).entry.families;
    let shared = workload_of(trial).entry.families.iter().find(|family| of_engine.contains(family));
    *shared.expect("the plan was checked: workload and engine share a family")
}

/// The variables that the configuration file `path` sets for `engine`: keys and values of a plan.
///
/// # Errors
/// If the engine has no such files, if the file cannot be read, or if a line cannot be used: one line of text.
pub fn read_config(engine: &str, path: &Path) -> Result<ConfigVariables, String> {
    let syntax = find(engine).and_then(|def| def.configuration);
    syntax.ok_or_else(|| format!("engine `{engine}` has no configuration files"))?.read_file(path)
}

/// The variables that a plan sets for the server of `trial`; `None` if it sets none, or if the engine is no private server.
pub fn server_variables(trial: &Trial) -> Option<ServerVariables> {
    let syntax = engine_of(trial).configuration?;
    Some(syntax.rules.variables_in(&trial.target.params)).filter(|variables| !variables.is_empty())
}

/// Whether the engine can perform the step that `params` name; true if the workload has no steps.
pub fn has_step(engine: &str, workload: &str, params: &Params) -> bool {
    let (Some(engine), Some(workload)) = (find(engine), workload::find(workload)) else { return true };
    let Some((step, _)) = workload.entry.steps() else { return true };
    let family = workload.entry.families.iter().find(|family| engine.entry.families.contains(family));
    family != Some(&Family::Kv) || !workload.steps_without_kv.contains(&params.word(step))
}

/// Refuses to restore the server on which `trial` replays a log, if it may be the recorded one or the log cannot be replayed on it.
///
/// # Errors
/// The reason, also if the server does not answer.
pub fn check_before_restore(trial: &Trial) -> Result<(), TargetError> {
    match engine_of(trial).before_restore {
        Some(check) => check(trial),
        None => Err(TargetError::Unsupported(NEEDS_COPY.to_owned())),
    }
}

/// Whose process does the work of `engine`.
pub fn process_of(engine: &str) -> EngineProcess {
    match find(engine).map(|def| def.runs) {
        None => EngineProcess::Unknown,
        Some(EngineLocation::InClients) => EngineProcess::None,
        Some(EngineLocation::Embedded) => EngineProcess::Embedded,
        Some(EngineLocation::Server) => EngineProcess::Own,
        Some(EngineLocation::Elsewhere) => EngineProcess::Elsewhere,
    }
}

/// The engine, the workload and every parameter that shapes the data, as text. Two trials must agree on it to share it.
pub fn shape_of(trial: &Trial) -> String {
    shape_on(engine_of(trial), trial)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::EngineLocation;

    #[test]
    fn every_engine_is_found_by_its_name_and_performs_something() {
        for def in ENGINES {
            assert!(std::ptr::eq(find(def.entry.name).expect("a registered engine"), *def));
            assert!(!def.entry.families.is_empty(), "{}", def.entry.name);
            match (def.version)() {
                Ok(version) => assert!(!version.is_empty()),
                Err(missing) if def.runs == EngineLocation::Server => {
                    assert!(missing.contains("apt-get install"), "{missing}")
                }
                Err(missing) if def.runs == EngineLocation::Embedded => {
                    assert!(missing.contains("--features"), "{missing}")
                }
                Err(named) => assert!(def.runs == EngineLocation::Elsewhere && named.contains("://"), "{named}"),
            }
        }
    }
}
