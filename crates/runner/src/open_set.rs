//! A data set that a run uses.
//!
//! In: a trial that names one. Out: the set, held so that nobody removes it meanwhile, and what it says of its rows. Limits: of a server's set
//! nothing is held.

use crate::error::RunnerError;
use engine::data_set::{InUse, SetUse};
use engine::set_fit::{check_fits, check_possible, check_version, on_server, other_settings};
use engine::{EngineLocation, Instance};
use host::TargetError;
use host::data_set::{SetDir, SetLock, half_made, no_such_set};
use model::{DataSet, Fact, FoundSet, Plan, SetState, Trial, UsedSet};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The date and time, as descriptions of sets have them.
pub(crate) fn now() -> String {
    chrono::DateTime::<chrono::Utc>::from(std::time::SystemTime::now()).format("%Y-%m-%d %H:%M:%S").to_string()
}

/// The version that `instance` reports of its engine.
pub(crate) fn version_of(instance: &dyn Instance) -> String {
    let facts = instance.report().facts;
    facts.into_iter().find(|fact| fact.name == "engine.version").map_or(String::new(), |fact| fact.value)
}

/// A complete data set that a trial uses, and that nobody removes meanwhile.
pub(crate) struct OpenSet {
    set: DataSet,
    /// The files of the engine; `None` if the set is on a server.
    files: Option<PathBuf>,
    /// When a run has changed its rows, and then how many there are.
    changed: Option<String>,
    /// Holds the lock of its directory.
    _dir: Option<SetDir>,
}

impl OpenSet {
    /// The set that `trial` uses, if it uses one: in `dir`, or on its server. It has the data that the trial asks for.
    pub fn open(trial: &Trial, dir: &Path) -> Result<Option<OpenSet>, RunnerError> {
        let Some(UsedSet { name, .. }) = &trial.data_set else { return Ok(None) };
        check_possible(trial)?;
        let open = match on_server(trial)? {
            Some(mut sets) => {
                let (set, changed) = complete(sets.all()?, name, sets.server())?;
                OpenSet { set, files: None, changed, _dir: None }
            }
            None => {
                let found = SetDir::open(dir, name, SetLock::Shared)?;
                // What differs is said before what is damaged: it may be the wrong set.
                check_fits(found.set(), trial)?;
                found.check()?;
                found.note_use(&now());
                OpenSet { set: found.set().clone(), files: Some(found.files()), changed: None, _dir: Some(found) }
            }
        };
        check_fits(&open.set, trial)?;
        Ok(Some(open))
    }

    /// When a run has changed its rows.
    pub fn changed(self) -> Option<String> {
        self.changed
    }

    pub fn as_use(&self) -> SetUse<'_> {
        SetUse::Uses(InUse { set: &self.set, files: self.files.as_deref() })
    }

    /// Refuses an instance that does not read the files of the set.
    pub fn check_version(&self, instance: &dyn Instance) -> Result<(), TargetError> {
        // A server has upgraded its own files.
        self.files.as_ref().map_or(Ok(()), |_| check_version(&self.set, &version_of(instance)))
    }

    /// Counts the rows of a set that a run has changed.
    pub fn note_change(&mut self, instance: &mut dyn Instance) -> Result<(), RunnerError> {
        let Some(when) = &self.changed else { return Ok(()) };
        let rows = instance.count_rows()?.unwrap_or_default();
        let made = self.set.rows.unwrap_or_default();
        self.changed = Some(format!("by a run on {when}: {rows} rows, made with {made}"));
        Ok(())
    }

    /// What the user should know of a set that was made with other settings than those of `trial`.
    pub fn warning(&self, trial: &Trial) -> Option<String> {
        let others = other_settings(&self.set, trial);
        (!others.is_empty()).then(|| {
            format!(
                "data set `{}` was made with another value of `{}`; what of it shapes files is as it was made",
                self.set.name,
                others.join("`, `")
            )
        })
    }

    pub fn facts(&self) -> Vec<Fact> {
        let set = [Fact::new("data.set", self.set.name.as_str()), Fact::new("data.set_made", self.set.made.as_str())];
        set.into_iter().chain(self.changed.iter().map(|text| Fact::new("data.set_changed", text.as_str()))).collect()
    }
}

/// The description of the complete set `name` among those on `server`, and when a run has changed it.
pub(crate) fn complete(
    sets: Vec<FoundSet>,
    name: &str,
    server: &str,
) -> Result<(DataSet, Option<String>), TargetError> {
    let names: Vec<String> = sets.iter().map(|set| set.name.clone()).collect();
    let found = sets.into_iter().find(|set| set.name == name);
    let found = found.ok_or_else(|| no_such_set(name, &format!("on {server}"), &names))?;
    match (found.state, found.set) {
        (SetState::Complete, Some(set)) => Ok((set, found.changed)),
        (SetState::Damaged(why), _) => Err(TargetError::Unsafe(format!("data set `{name}` is damaged: {why}"))),
        _ => Err(half_made(name)),
    }
}

/// Refuses a plan with a data set that is not there, or that has other data than a point asks for.
pub(crate) fn check_sets(plan: &Plan, dir: &Path) -> Result<(), RunnerError> {
    let mut seen = BTreeSet::new();
    for trial in plan.trials.iter().filter(|trial| trial.data_set.is_some()) {
        if !seen.insert(engine::shape_of(trial)) {
            continue;
        }
        let Some(open) = OpenSet::open(trial, dir)? else { continue };
        let def = engine::engine_of(trial);
        let is_installed = def.runs != EngineLocation::Elsewhere && trial.target.programs.is_none();
        let version = (def.version)().ok().filter(|version| version.starts_with(|c: char| c.is_ascii_digit()));
        if let Some(version) = version.filter(|_| is_installed) {
            check_version(&open.set, &version)?;
        }
    }
    Ok(())
}
