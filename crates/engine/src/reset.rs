//! What becomes of data and engine between two points.
//!
//! In: the parameter `mode`. Out: the words, and the copy of the data that points begin with, with how it was made. Limits:
//! `restart` and `restore` are for engines whose data is a directory of plimsoll's own; caches are cold after both, and what the
//! engine knew is forgotten.

use crate::data_description::DataDescription;
use crate::engine::ResetFor;
use host::copy::{self, Copied};
use host::data_dir::DataDir;
use host::error::TargetError;
use model::{Fact, ParamDef, ParamKind, Params};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// What an engine does before each point.
pub const BETWEEN: ParamDef = ParamDef {
    name: "between",
    kind: ParamKind::OneOf(&["keep", "restart", "restore"]),
    default: "keep",
    help: "state before each point: keep (as the previous point left it), restart (cold caches), restore (restart \
           on a fresh copy of the loaded data, by reflink if the file system can)",
    scales: false,
    shapes_data: true,
};

/// The word of a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResetMode {
    /// Everything stays as it is.
    Keep,
    /// The engine is started anew.
    Restart,
    /// The engine is started anew on the data as it was loaded.
    Restore,
}

impl ResetMode {
    /// That of `params`.
    pub fn from_params(params: &Params) -> ResetMode {
        match params.word(BETWEEN.name) {
            "restart" => ResetMode::Restart,
            "restore" => ResetMode::Restore,
            _ => ResetMode::Keep,
        }
    }
}

/// What a point begins with, and the copy that it takes where it begins with one.
pub struct DataReset {
    /// What was asked for.
    pub mode: ResetMode,
    /// Where the data is as it was loaded, and how it came there.
    copy: Option<(PathBuf, Copied)>,
    /// What the data in use is; nothing where everything stays as it is.
    state: Option<DataState>,
}

/// What the data in use is.
enum DataState {
    Loaded,
    Restarted,
    Restored(Copied),
}

impl DataReset {
    /// Those of `params`, before the data is made.
    pub fn from_params(params: &Params) -> DataReset {
        let mode = ResetMode::from_params(params);
        let state = (mode != ResetMode::Keep).then_some(DataState::Loaded);
        DataReset { mode, copy: None, state }
    }

    /// Those of an engine that is never started anew: somebody else's server.
    pub fn unchanged() -> DataReset {
        DataReset { mode: ResetMode::Keep, copy: None, state: None }
    }

    /// The engine stands still with its data in `data`, which was just made: keeps a copy of it in `dir` where one is wanted.
    pub fn keep_copy(&mut self, dir: &mut DataDir, data: &Path) -> Result<(), TargetError> {
        if self.mode != ResetMode::Restore {
            return copy::chill(data);
        }
        let place = dir.own_copy()?;
        let how = copy::contents(data, &place)?;
        self.copy = Some((place, how));
        Ok(())
    }

    /// The engine stands still with its data in `data`: makes it what a further point begins with.
    pub fn restore(&mut self, data: &Path) -> Result<(), TargetError> {
        self.state = Some(match &self.copy {
            None => {
                copy::chill(data)?;
                DataState::Restarted
            }
            Some((place, _)) => {
                let began = Instant::now();
                copy::empty(data)?;
                let mut copied = copy::contents(place, data)?;
                copied.took = began.elapsed();
                DataState::Restored(copied)
            }
        });
        Ok(())
    }

    /// Whether every point begins with the data as it was loaded.
    pub fn restores(&self) -> bool {
        self.copy.is_some()
    }

    /// Whether a further point begins with another state than the one before left. One that `continues` a sequence of steps is not
    /// given other data, which would undo them; where data goes back to what was loaded, it is again what it was `made_for`.
    pub fn is_due(&self, purpose: ResetFor, made_for: &mut DataDescription) -> bool {
        match self.mode {
            ResetMode::Keep => false,
            ResetMode::Restart => true,
            ResetMode::Restore if purpose == ResetFor::NextStep => false,
            ResetMode::Restore => {
                made_for.forget();
                true
            }
        }
    }

    /// What the data in use is, and what it took to make a copy of it.
    pub fn facts(&self) -> Vec<Fact> {
        let state = |state: String| Fact::new("data.state", state);
        match &self.state {
            None => Vec::new(),
            Some(DataState::Loaded) => vec![state("loaded".into())],
            Some(DataState::Restarted) => vec![state("restarted".into())],
            Some(DataState::Restored(copied)) => {
                vec![state(format!("restored ({})", copied.how())), seconds_fact("data.restore_s", copied)]
            }
        }
    }

    /// How the copy of the data as it was loaded came to be, where one is kept.
    pub fn facts_of_load(&self) -> Vec<Fact> {
        let facts = |(_, copied): &(PathBuf, Copied)| {
            [Fact::new("load.copy", copied.how()), seconds_fact("load.copy_s", copied)]
        };
        self.copy.iter().flat_map(facts).collect()
    }
}

fn seconds_fact(name: &str, copied: &Copied) -> Fact {
    Fact::new(name, format!("{:.3}", copied.took.as_secs_f64()))
}
