//! What becomes of data and engine between two points.
//!
//! In: the parameter `between`. Out: the words, and the copy of the data that points begin with. Limits: `restart` and `restore` are
//! for engines whose data is a directory of plimsoll's own; caches are cold after both, and what the engine knew is forgotten.

use crate::copy::{self, Copied};
use crate::dataset::DataDir;
use crate::error::TargetError;
use model::{Fact, ParamDef, ParamKind, Params};
use std::path::{Path, PathBuf};

/// What an engine does before each point.
pub const BETWEEN: ParamDef = ParamDef {
    name: "between",
    kind: ParamKind::OneOf(&["keep", "restart", "restore"]),
    default: "keep",
    help: "what a point begins with: the engine and data as the point before left them (keep), the engine started anew with cold \
           caches (restart), or that on a copy of the data as it was loaded (restore; reflink where the file system can)",
    scales: false,
    shapes_data: true,
};

/// The word of a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Between {
    /// Everything stays as it is.
    Keep,
    /// The engine is started anew.
    Restart,
    /// The engine is started anew on the data as it was loaded.
    Restore,
}

impl Between {
    /// That of `params`.
    pub fn of(params: &Params) -> Between {
        match params.word(BETWEEN.name) {
            "restart" => Between::Restart,
            "restore" => Between::Restore,
            _ => Between::Keep,
        }
    }
}

/// What a point begins with, and the copy that it takes where it begins with one.
pub struct Beginnings {
    /// What was asked for.
    pub between: Between,
    copy: Option<(PathBuf, Copied)>,
    /// What the data in use is; nothing where everything stays as it is.
    state: Option<String>,
}

impl Beginnings {
    /// Those of `params`, before the data is made.
    pub fn of(params: &Params) -> Beginnings {
        let between = Between::of(params);
        let state = (between != Between::Keep).then(|| "loaded".to_owned());
        Beginnings { between, copy: None, state }
    }

    /// Those of an engine that is never started anew: somebody else's server.
    pub fn unchanged() -> Beginnings {
        Beginnings { between: Between::Keep, copy: None, state: None }
    }

    /// The engine stands still with its data in `data`, which was just made: keeps a copy of it in `dir` where one is wanted.
    pub fn loaded(&mut self, dir: &mut DataDir, data: &Path) -> Result<(), TargetError> {
        if self.between != Between::Restore {
            return copy::chill(data);
        }
        let place = dir.own_copy()?;
        let how = copy::contents(data, &place)?;
        self.copy = Some((place, how));
        Ok(())
    }

    /// The engine stands still with its data in `data`: makes it what a further point begins with.
    pub fn again(&mut self, data: &Path) -> Result<(), TargetError> {
        self.state = Some(match &self.copy {
            None => {
                copy::chill(data)?;
                "restarted".into()
            }
            Some((place, _)) => {
                copy::empty(data)?;
                format!("restored ({})", copy::contents(place, data)?.as_str())
            }
        });
        Ok(())
    }

    /// Whether every point begins with the data as it was loaded.
    pub fn restores(&self) -> bool {
        self.copy.is_some()
    }

    /// Whether a further point begins with another state than the one before left. One that `continues` a sequence of steps is not
    /// given other data, which would undo them.
    pub fn changes(&self, continues: bool) -> bool {
        match self.between {
            Between::Keep => false,
            Between::Restart => true,
            Between::Restore => !continues,
        }
    }

    /// What the data in use is.
    pub fn facts(&self) -> Vec<Fact> {
        self.state.iter().map(|state| Fact::new("data.state", state.as_str())).collect()
    }
}
