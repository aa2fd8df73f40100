//! What data was made for, so that it is measured only by trials that expect just that data.
//!
//! In: a trial, the engine that it runs on. Out: a text that two trials must agree on to share data; a refusal of other data.
//! Limits: data on an existing server carries its description in this process only.

use crate::engine::{EngineDef, StartContext, workload_of};
use crate::server::location::DataLocation;
use host::data_dir::DataDir;
use host::error::{TargetError, shown};
use model::{ParamDef, Params, Trial, Value};
use std::hash::{DefaultHasher, Hash, Hasher};
use workload::SequenceState;

/// `engine`, the workload and every parameter that shapes the data, as text. Two trials must agree on it to share it.
pub(crate) fn shape_on(engine: &EngineDef, trial: &Trial) -> String {
    let of_engine = shaping_values(engine.entry.params, &trial.target.params);
    let of_workload = shaping_values(workload_of(trial).entry.params, &trial.workload.params);
    let programs = trial.target.programs.as_ref().map_or(String::new(), |folder| format!("@{}", folder.display()));
    format!("{}{programs}{of_engine} {}{of_workload}", trial.target.engine, trial.workload.name)
}

/// ` name=value` of each parameter that shapes the data.
fn shaping_values(defs: &'static [ParamDef], params: &Params) -> String {
    let shaping = defs.iter().filter(|def| def.shapes_data);
    let values = shaping.flat_map(|def| params.0.iter().filter(|(name, _)| def.takes(name)));
    values.map(|(name, value)| format!(" {name}={}", shape_text(value))).collect()
}

/// `value` as text. Names alone do not tell what is in a data set, or in tables.
pub(crate) fn shape_text(value: &Value) -> String {
    let mut hasher = DefaultHasher::new();
    match value {
        Value::Data(data) => data.statements.hash(&mut hasher),
        Value::Tables(tables) => format!("{tables:?}").hash(&mut hasher),
        _ => return value.to_string(),
    }
    format!("{value}#{:016x}", hasher.finish())
}

/// What an instance made its data for.
pub(crate) struct DataDescription {
    engine: &'static EngineDef,
    /// As in the manifest.
    data: String,
    shape: String,
    /// How far the trials on it have come.
    pub(crate) sequence: SequenceState,
}

impl DataDescription {
    pub(crate) fn new(start: &StartContext) -> DataDescription {
        let shape = shape_on(start.engine, start.trial);
        DataDescription { engine: start.engine, data: start.data.into(), shape, sequence: SequenceState::default() }
    }

    /// A hash of what the data was made for. Hosts of one version of plimsoll that perform shares of one trial have the same.
    pub(crate) fn fingerprint(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.shape.hash(&mut hasher);
        hasher.finish()
    }

    /// The data is again as it was loaded: no trial has gone on with it.
    pub(crate) fn forget_steps(&mut self) {
        self.sequence = SequenceState::default();
    }

    /// Refuses data that is not what `trial` expects.
    pub(crate) fn check_dir(&self, dir: &DataDir, trial: &Trial) -> Result<(), TargetError> {
        dir.check_fits(&self.data, trial.data_seed())?;
        self.check_shape(&shown(dir.path()), trial)
    }

    /// The same of data on a server.
    pub(crate) fn check_on(&self, location: &DataLocation, trial: &Trial) -> Result<(), TargetError> {
        location.check_fits(&self.data, trial.data_seed())?;
        self.check_shape(&location.shown(), trial)
    }

    fn check_shape(&self, place: &str, trial: &Trial) -> Result<(), TargetError> {
        let wanted = shape_on(self.engine, trial);
        if self.shape == wanted {
            return Ok(());
        }
        Err(TargetError::Unsafe(format!(
            "the data in `{place}` does not fit this trial: it was made for `{}`, but `{wanted}` is needed",
            self.shape
        )))
    }
}
