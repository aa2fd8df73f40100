//! What is reset before a point: nothing, the engine with its caches, or the data as well.
//!
//! In: the parameter `mode`. Out: the words, and the copy of the data that points begin with, with how it was made. Limits:
//! `restart` and `restore` are for engines whose data is a directory of plimsoll's own; caches are cold after both, and what the
//! engine knew is forgotten.

use crate::data_description::DataDescription;
use crate::data_set::{InUse, SetUse};
use crate::engine::ResetFor;
use host::data_dir::DataDir;
use host::error::TargetError;
use host::privileged::copy::{self, CopyResult};
use model::{Fact, ParamDef, ParamKind, ParamRole, Params, Phrase, Trial};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// What is reset before each point.
pub const BETWEEN: ParamDef = ParamDef {
    help: "state before each point: `keep` (as the previous point left it; if that added or removed rows, the data is loaded \
           again), `restart` (the engine is restarted and its files are dropped from the page cache) or `restore` \
           (the same, on a new copy of the loaded data, by reflink if the file system supports it); each repeat loads its own data",
    shapes_data: true,
    phrase: Phrase::Words(&[
        ("keep", "an engine that goes on running"),
        ("restart", "a restart before each point"),
        ("restore", "restored data before each point"),
    ]),
    ..ParamDef::new("between", ParamRole::Ground, ParamKind::OneOf(&["keep", "restart", "restore"]), "keep")
};

/// What a trial asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResetMode {
    /// Everything stays as it is.
    Keep,
    /// The engine is restarted.
    Restart,
    /// The engine is restarted on the data as it was loaded.
    Restore,
}

impl ResetMode {
    pub fn from_params(params: &Params) -> ResetMode {
        // A cluster, whose nodes are not restarted, has no such parameter.
        match params.0.get(BETWEEN.name).map(ToString::to_string).as_deref() {
            Some("restart") => ResetMode::Restart,
            Some("restore") => ResetMode::Restore,
            _ => ResetMode::Keep,
        }
    }
}

/// What happens to a directory while its engine is stopped: the data directory, and the engine's own directory in it.
pub type WhileStopped = fn(&mut DataReset, &mut DataDir, &Path) -> Result<(), TargetError>;

/// Resets the data of an instance, from a copy if the mode is [`ResetMode::Restore`].
pub struct DataReset {
    /// What was asked for.
    pub mode: ResetMode,
    /// The copy of the loaded data, and how it was made; or the files of a data set.
    copy: Option<(PathBuf, CopyResult)>,
    /// Whether the copy is a data set.
    is_set: bool,
    /// Whether the next reset brings back the copy.
    pub brings_back: bool,
    /// What the data in use is; `None` if nothing is ever reset.
    state: Option<DataState>,
}

/// What the data in use is.
enum DataState {
    Loaded,
    Restarted,
    Restored(CopyResult),
    /// That of a data set, on which points before have only read.
    Kept,
}

impl DataReset {
    /// Those of `params`, before the data is made.
    pub fn from_params(params: &Params) -> DataReset {
        let mode = ResetMode::from_params(params);
        let state = (mode != ResetMode::Keep).then_some(DataState::Loaded);
        DataReset { mode, state, ..DataReset::unchanged() }
    }

    /// Those of `trial`, before the data is made. A variant that starts cold is restarted in any case.
    pub fn for_trial(trial: &Trial) -> DataReset {
        let asked = DataReset::from_params(&trial.target.params);
        let is_cold =
            (crate::engine::workload_of(trial).traits)(&trial.workload.params).variant.is_some_and(|it| it.is_cold);
        match asked.mode {
            ResetMode::Keep if is_cold => {
                DataReset { mode: ResetMode::Restart, state: Some(DataState::Loaded), ..asked }
            }
            _ => asked,
        }
    }

    /// Those of an engine that is never restarted: an existing server.
    pub fn unchanged() -> DataReset {
        DataReset { mode: ResetMode::Keep, copy: None, is_set: false, brings_back: false, state: None }
    }

    /// The same for data that is that of `set`, of which every point can begin with a copy.
    pub fn with_set(self, set: SetUse<'_>) -> DataReset {
        let SetUse::Uses(InUse { files: Some(files), .. }) = set else { return self };
        let copy = Some((files.to_owned(), CopyResult::default()));
        DataReset { copy, is_set: true, brings_back: true, state: Some(DataState::Loaded), ..self }
    }

    /// After the load, with the engine stopped and its data in `data`: keeps a copy in `dir` if the mode needs one.
    pub fn keep_copy(&mut self, dir: &mut DataDir, data: &Path) -> Result<(), TargetError> {
        if self.mode != ResetMode::Restore {
            // The load left the data in the page cache; the first point would be warm and the others cold.
            return copy::drop_caches(data);
        }
        let place = dir.own_copy()?;
        let how = copy::copy_contents(data, &place)?;
        self.copy = Some((place, how));
        Ok(())
    }

    /// Before a further point, with the engine stopped and its data in `data`: restores the copy, or drops caches.
    pub fn restore_data(&mut self, data: &Path) -> Result<(), TargetError> {
        self.state = Some(match self.copy.as_ref().filter(|_| self.brings_back) {
            None => {
                // A restart without this would find the data in the page cache, and be cold in name only.
                copy::drop_caches(data)?;
                DataState::Restarted
            }
            Some((place, _)) => {
                // Removing the old data is part of what a restore takes.
                let began = Instant::now();
                copy::remove_contents(data)?;
                let mut copied = copy::copy_contents(place, data)?;
                copied.took = began.elapsed();
                DataState::Restored(copied)
            }
        });
        Ok(())
    }

    /// Whether every point begins with the data as it was loaded.
    pub fn can_restore(&self) -> bool {
        self.copy.is_some()
    }

    /// Whether something is reset for `purpose`. The next step of a sequence keeps the data, because a restore would undo the steps
    /// before it. If the data is restored, `made_for` forgets the steps that changed it.
    pub fn is_due(&mut self, purpose: ResetFor, made_for: &mut DataDescription) -> bool {
        self.brings_back = match purpose {
            ResetFor::NextStep => false,
            ResetFor::NextPoint => self.mode == ResetMode::Restore,
            ResetFor::ChangedPoint => self.can_restore(),
        };
        if self.brings_back {
            made_for.forget_steps();
        } else if self.is_set {
            self.state = Some(DataState::Kept);
        }
        self.brings_back || self.mode == ResetMode::Restart
    }

    /// The state of the data in use, and how long the restore took.
    pub fn facts(&self) -> Vec<Fact> {
        let (state, copied) = match &self.state {
            None => return Vec::new(),
            Some(DataState::Loaded) => ("loaded".into(), None),
            Some(DataState::Restarted) => ("restarted".into(), None),
            Some(DataState::Kept) => ("kept".into(), None),
            Some(DataState::Restored(copied)) => (format!("restored ({})", copied.describe()), Some(copied)),
        };
        let took = copied.map(|copied| seconds_fact("data.restore_s", copied));
        [Fact::new("data.state", state)].into_iter().chain(took).collect()
    }

    /// How the copy of the loaded data was made, if one is kept.
    pub fn facts_of_load(&self) -> Vec<Fact> {
        let Some((_, copied)) = self.copy.as_ref().filter(|_| !self.is_set) else { return Vec::new() };
        vec![Fact::new("load.copy", copied.describe()), seconds_fact("load.copy_s", copied)]
    }
}

fn seconds_fact(name: &str, copied: &CopyResult) -> Fact {
    Fact::new(name, format!("{:.3}", copied.took.as_secs_f64()))
}
