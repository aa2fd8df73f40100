//! A point that replays a recording: the size of its data, its clients, its pace and its length come from the recorded file.

use super::Choice;
use crate::common::{LIMIT, NONE, RATE_MAX};
use crate::document::Written;
use crate::error::{Place, PlanError};
use crate::value;
use model::params::TIMES;
use model::{Arrivals, Entry, Nanos, Pacing, ParamDef, ParamKind, ParamRole, Params, Value};
use std::path::PathBuf;

impl Choice<'_, '_> {
    /// `params` with the figures of the recording that they name, and with the size of the data that it needs unless the plan has one.
    pub(super) fn with_recording(&self, entry: &Entry, mut params: Params) -> Result<Params, PlanError> {
        let Some(def) = entry.params.iter().find(|def| def.kind == ParamKind::Recording) else { return Ok(params) };
        let written = self.common_or_own(def);
        let path = PathBuf::from(params.word(def.name));
        if path.as_os_str().is_empty() {
            let text = format_args!("`{}` needs the file of a recording as `{}`", entry.name, def.name);
            return Err(self.common_value("workload").place.error(text));
        }
        let summary = (self.catalogue.read_recording)(entry.name, &path, &params);
        let summary = summary.map_err(|why| self.refused_recording(entry, written.place, &why))?;
        let size = entry.params.iter().find(|def| def.role == ParamRole::DataSize);
        if let (Some(size), Some(work)) = (size, &summary.io)
            && self.chosen_value(size.name).is_none()
            && self.size_at_path(size)?.is_none()
        {
            params.0.insert(size.name.to_owned(), Value::Bytes(work.data));
        }
        params.0.insert(def.name.to_owned(), Value::Recording(Box::new(summary)));
        Ok(params)
    }

    /// The error that a recording, whose file is named at `place`, cannot be replayed. A reason that begins with another key, `from = ...`, is at the
    /// place of that, and on a command line at none: it names the key itself.
    fn refused_recording(&self, entry: &Entry, place: Place<'_>, why: &str) -> PlanError {
        let is_named = |def: &&ParamDef| {
            why.strip_prefix(def.name).is_some_and(|rest| rest.starts_with(" = `") || rest.starts_with(": "))
        };
        let named = entry.params.iter().find(is_named).map(|def| self.common_or_own(def).place);
        match named {
            None => place.error(why),
            Some(line @ Place::Line { .. }) => line.error(why),
            Some(_) => PlanError::without_place(why),
        }
    }

    /// How fast a recording is replayed; `None` if nothing is replayed.
    pub(super) fn replay_speed(&self) -> Result<Option<Value>, PlanError> {
        let (_, workload) = self.engine_and_workload()?;
        let Some(def) = workload.params.iter().find(|def| def.kind == ParamKind::Speed) else { return Ok(None) };
        value::parse_param(def, &self.common_or_own(def), 1.0, &self.catalogue.distributions).map(Some)
    }

    /// What paces a replay: the times of the recording, or nothing.
    pub(super) fn recorded_pacing(
        &self,
        speed: Value,
        rate: &Written<'_>,
        think: &Written<'_>,
    ) -> Result<Pacing, PlanError> {
        if rate.text != NONE && rate.text != LIMIT {
            let text = "`rate` has no use in a replay: the recording has the times; use `speed`";
            return Err(rate.place.error(text));
        }
        if self.common_duration("think")? > Nanos(0) {
            let text = "`think` has no use in a replay: the recording has the times; use `speed`";
            return Err(think.place.error(text));
        }
        let Value::Float(speed) = speed else { return Ok(Pacing::Closed { think: Nanos(0) }) };
        let (_, workload) = self.engine_and_workload()?;
        let params = self.typed_params(&workload)?;
        let per_s = params.recording().map_or(1.0, |summary| summary.per_s(speed) * times_of(&params));
        let per_s = per_s.clamp(f64::MIN_POSITIVE, RATE_MAX as f64);
        Ok(Pacing::Open { arrivals: Arrivals::Recorded { per_s } })
    }

    /// How long a replay lasts that keeps its times; `None` if it has none to keep.
    pub(super) fn replay_length(&self) -> Result<Option<Nanos>, PlanError> {
        match self.replay_speed()? {
            Some(Value::Float(speed)) => self.recorded_length(speed),
            _ => Ok(None),
        }
    }

    /// The same, and of a replay as fast as it can be how long its recording lasts; `None` if nothing is replayed.
    pub(super) fn length_at_most(&self) -> Result<Option<Nanos>, PlanError> {
        match self.replay_speed()? {
            Some(Value::Float(speed)) => self.recorded_length(speed),
            Some(_) => self.recorded_length(1.0),
            None => Ok(None),
        }
    }

    fn recorded_length(&self, speed: f64) -> Result<Option<Nanos>, PlanError> {
        let (_, workload) = self.engine_and_workload()?;
        let params = self.typed_params(&workload)?;
        let length = |summary: &model::RecordingSummary| summary.length_of(times_of(&params)).0 as f64 / speed;
        Ok(params.recording().map(|summary| Nanos(length(summary) as u64)))
    }
}

/// How many copies of a recording are replayed at once.
pub(crate) fn times_of(params: &Params) -> f64 {
    if let Some(Value::Float(times)) = params.0.get(TIMES) { *times } else { 1.0 }
}
