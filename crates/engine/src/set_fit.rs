//! Which trials fit a data set.
//!
//! In: the description of a set, a trial. Out: whether the set has the data that the trial asks for. Limits: what shapes the data only by
//! how the engine runs (its cache, its durability) may differ from what the set was made with.

use crate::data_description::shape_text;
use crate::data_set::ServerSets;
use crate::engine::{EngineDef, EngineLocation, workload_of};
use crate::registry::{engine_of, family_of};
use crate::reset::BETWEEN;
use host::data_dir::GENERATOR_VERSION;
use host::error::TargetError;
use model::{DataSet, Family, ParamDef, ParamKind, Params, Trial};
use std::collections::BTreeMap;
use workload::DataReuse;

/// The data sets on the server of `trial`; `None` if its engine keeps its data on this machine.
pub fn on_server(trial: &Trial) -> Result<Option<Box<dyn ServerSets>>, TargetError> {
    engine_of(trial).server_sets.map(|open| open(trial)).transpose()
}

/// Refuses a trial whose data cannot be that of a set.
pub fn check_possible(trial: &Trial) -> Result<(), TargetError> {
    let (def, workload) = (engine_of(trial), &trial.workload.name);
    let refused = |text: String| Err(TargetError::Unsupported(text));
    let is_database = matches!(family_of(trial), Family::Sql | Family::Kv);
    if !is_database || !keeps_sets(def) {
        return refused(format!("engine `{}` keeps no data sets; leave out `--data`", trial.target.engine));
    }
    if matches!(workload_of(trial).reuse_of(&trial.workload.params), DataReuse::Continues { .. }) {
        return refused(format!("workload `{workload}` measures how its data is made, so that it uses no data set"));
    }
    if trial.target.instances > 1 || trial.share.is_some() {
        return refused(
            "one instance on one host uses a data set; leave out `instances` and the other hosts".to_owned(),
        );
    }
    Ok(())
}

fn keeps_sets(def: &EngineDef) -> bool {
    // What can be restored is a directory of plimsoll's own.
    def.server_sets.is_some() || def.entry.params.iter().any(|param| param.name == BETWEEN.name)
}

/// Refuses `set` if its data is not what `trial` asks for.
pub fn check_fits(set: &DataSet, trial: &Trial) -> Result<(), TargetError> {
    let (made, asked) = (shape(&set.trial), shape(trial));
    let name = &set.name;
    if set.generator_version != GENERATOR_VERSION {
        return Err(TargetError::Unsafe(format!(
            "data set `{name}` was made by plimsoll {}, which made other rows of the same seed; remove it with `plimsoll data drop {name}` \
             and make it again",
            set.plimsoll_version
        )));
    }
    // Another engine or workload has other keys, which say nothing.
    let keys = ["engine", "workload"].into_iter().chain(asked.keys().chain(made.keys()).map(String::as_str));
    let Some(key) = keys.into_iter().find(|key| made.get(*key) != asked.get(*key)) else { return Ok(()) };
    let text = |shape: &BTreeMap<String, String>| shape.get(key).map_or("none", String::as_str).to_owned();
    let (has, wants) = (text(&made), text(&asked));
    let flag = key.replace('_', "-");
    let mend = match key {
        "workload" => format!("make one with `plimsoll data make {wants} --name NAME`"),
        _ => format!(
            "use `--{flag} {has}`, or make another set with `plimsoll data make {} --engine {} --{flag} {wants} --name NAME`",
            trial.workload.name,
            engine_text(trial)
        ),
    };
    Err(TargetError::Unsafe(format!(
        "data set `{name}` does not fit: it was made with {key} = `{has}`, and this run has {key} = `{wants}`; {mend}"
    )))
}

/// The engine as `--engine` takes it in a shell.
fn engine_text(trial: &Trial) -> String {
    let url = trial.target.params.0.get("url");
    url.map_or_else(|| trial.target.engine.clone(), |url| format!("'{url}'"))
}

/// Everything that decides which rows a set has, and in what form: keys of a plan with their values.
pub fn shape(trial: &Trial) -> BTreeMap<String, String> {
    let mut shape = BTreeMap::from([
        ("engine".to_owned(), trial.target.engine.clone()),
        ("workload".to_owned(), trial.workload.name.clone()),
        ("seed".to_owned(), trial.data_seed().to_string()),
    ]);
    let of_workload = workload_of(trial).entry.params.iter().filter(|def| def.shapes_data);
    shape.extend(values(of_workload, &trial.workload.params));
    let of_engine = engine_of(trial).entry.params.iter().filter(|def| def.name == "storage");
    shape.extend(values(of_engine, &trial.target.params));
    shape
}

/// The settings of a server that the set was made with and that `trial` has otherwise: what of them shapes files is as it was made.
pub fn other_settings(set: &DataSet, trial: &Trial) -> Vec<String> {
    let settings = |trial: &Trial| -> BTreeMap<String, String> {
        let defs = engine_of(trial).entry.params.iter();
        let defs = defs.filter(|def| matches!(def.kind, ParamKind::Variables | ParamKind::ConfigFile));
        values(defs, &trial.target.params).collect()
    };
    let (made, asked) = (settings(&set.trial), settings(trial));
    let keys = made.keys().chain(asked.keys().filter(|key| !made.contains_key(*key)));
    keys.filter(|key| made.get(*key) != asked.get(*key)).cloned().collect()
}

fn values<'a>(
    defs: impl Iterator<Item = &'a ParamDef> + 'a,
    params: &'a Params,
) -> impl Iterator<Item = (String, String)> + 'a {
    let values = defs.flat_map(move |def| params.0.iter().filter(move |(name, _)| def.takes(name)));
    values.map(|(name, value)| (name.clone(), shape_text(value)))
}

/// Refuses a set whose files another major version of the engine has made. `version` is that of the engine that runs.
pub fn check_version(set: &DataSet, version: &str) -> Result<(), TargetError> {
    let is_embedded = engine_of(&set.trial).runs == EngineLocation::Embedded;
    if major(&set.engine_version, is_embedded) == major(version, is_embedded) {
        return Ok(());
    }
    Err(TargetError::Unsafe(format!(
        "data set `{}` was made by {} {}, and this is {version}: files of another major version are not used; make one with this version",
        set.name, set.trial.target.engine, set.engine_version
    )))
}

/// The part of a version that tells which files it reads: `16` of `16.3`, `10.11` of `10.11.6-MariaDB`; `3` of the library SQLite 3.45.1.
fn major(version: &str, is_embedded: bool) -> Vec<&str> {
    let numbers = version.split(|c: char| !c.is_ascii_digit() && c != '.').next().unwrap_or_default();
    let parts: Vec<&str> = numbers.split('.').collect();
    parts[..if is_embedded { 1 } else { parts.len().saturating_sub(1).max(1) }].to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_number_of_a_version_is_no_other_major_version() {
        assert_eq!(major("3.45.1", true), major("3.50.0", true));
        for (one, other, is_same) in [
            ("10.11.6-MariaDB", "10.11.8-MariaDB-0+deb12u1", true),
            ("10.11.6-MariaDB", "11.4.2-MariaDB", false),
            ("15.14 (Debian 15.14-0+deb12u1)", "15.2", true),
            ("15.14", "16.0", false),
            ("8.0.36", "8.4.0", false),
        ] {
            assert_eq!(major(one, false) == major(other, false), is_same, "{one} {other}");
        }
    }
}
