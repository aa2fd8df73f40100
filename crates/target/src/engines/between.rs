//! What becomes of data and engine between two points.
//!
//! In: the parameter `between`. Out: the words, and the copy of the data that points begin with, with how it was made. Limits:
//! `restart` and `restore` are for engines whose data is a directory of plimsoll's own; caches are cold after both, and what the
//! engine knew is forgotten.

use super::MadeFor;
use crate::copy::{self, Copied};
use crate::dataset::DataDir;
use crate::error::TargetError;
use model::{Fact, ParamDef, ParamKind, ParamRole, Params};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// What an engine does before each point.
pub const BETWEEN: ParamDef = ParamDef {
    name: "between",
    kind: ParamKind::OneOf(&["keep", "restart", "restore"]),
    default: "keep",
    help: "what a point begins with: the engine and data as the point before left them (keep), the engine started anew with cold \
           caches (restart), or that on a copy of the data as it was loaded (restore; reflink where the file system can)",
    scales: false,
    shapes_data: true,
    role: ParamRole::Ground,
    meaning: None,
    used_if: None,
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
    /// Where the data is as it was loaded, and how it came there.
    copy: Option<(PathBuf, Copied)>,
    /// What the data in use is; nothing where everything stays as it is.
    state: Option<State>,
}

/// What the data in use is.
enum State {
    Loaded,
    Restarted,
    Restored(Copied),
}

impl Beginnings {
    /// Those of `params`, before the data is made.
    pub fn of(params: &Params) -> Beginnings {
        let between = Between::of(params);
        let state = (between != Between::Keep).then_some(State::Loaded);
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
                State::Restarted
            }
            Some((place, _)) => {
                let began = Instant::now();
                copy::empty(data)?;
                let mut copied = copy::contents(place, data)?;
                copied.took = began.elapsed();
                State::Restored(copied)
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
    pub fn changes(&self, continues: bool, made_for: &mut MadeFor) -> bool {
        match self.between {
            Between::Keep => false,
            Between::Restart => true,
            Between::Restore if continues => false,
            Between::Restore => {
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
            Some(State::Loaded) => vec![state("loaded".into())],
            Some(State::Restarted) => vec![state("restarted".into())],
            Some(State::Restored(copied)) => {
                vec![state(format!("restored ({})", copied.how())), seconds("data.restore_s", copied)]
            }
        }
    }

    /// How the copy of the data as it was loaded came to be, where one is kept.
    pub fn facts_of_load(&self) -> Vec<Fact> {
        let facts =
            |(_, copied): &(PathBuf, Copied)| [Fact::new("load.copy", copied.how()), seconds("load.copy_s", copied)];
        self.copy.iter().flat_map(facts).collect()
    }
}

fn seconds(name: &str, copied: &Copied) -> Fact {
    Fact::new(name, format!("{:.3}", copied.took.as_secs_f64()))
}
