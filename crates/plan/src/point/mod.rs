//! One point of a sweep: of each key one value. Here texts become a [`Trial`].
//!
//! In: a [`Choice`] of values. Out: the trial of its first repetition, or what is wrong with it. The engine decides later whether it
//! can serve this depth, and whether there is space. Each file has what its part of the trial needs.

mod engine;
mod load;
mod params;
mod phases;
mod recording;
mod search;
mod target;

pub use phases::has_no_time;
pub(crate) use phases::{longest_run, twentieth_at_most};
pub(crate) use recording::times_of;

use crate::common::{self, BUDGET, CommonKind, EXACT_MAX, NONE};
use crate::document::{Written, WrittenSetting};
use crate::error::{Place, PlanError};
use crate::value;
use model::{Catalogue, Entry, Family, Load, Nanos, ParamDef, TargetSpec, Trial, UsedIf, WorkloadSpec};

/// Of each setting of a sweep one value: `picked` holds their numbers.
pub(crate) struct Choice<'s, 'a> {
    pub(crate) settings: &'s [WrittenSetting<'a>],
    pub(crate) picked: Vec<usize>,
    pub(crate) scale: f64,
    pub(crate) catalogue: &'s Catalogue,
}

impl<'a> Choice<'_, 'a> {
    /// The trial of this choice.
    pub(crate) fn make_trial(&self) -> Result<Trial, PlanError> {
        let (engine, workload) = self.engine_and_workload()?;
        // Before the parameters: what they lack does not matter then.
        self.check_can_have_rate(&workload)?;
        let seed = value::parse_int(&self.common_value("seed"), 0, EXACT_MAX)?;
        Ok(Trial {
            target: TargetSpec {
                engine: engine.name.into(),
                programs: self.program_folder()?,
                path: self.target_path(&engine)?,
                fs: self.file_system(&engine)?,
                limits: self.limits()?,
                machine: self.machine_setup()?,
                instances: self.instance_count(&engine)?,
                params: self.typed_params(&engine)?,
            },
            workload: WorkloadSpec { name: workload.name.into(), params: self.typed_params(&workload)? },
            load: Load {
                clients: self.client_count()?,
                depth: self.common_int("depth")? as u32,
                pacing: self.pacing()?,
            },
            phases: self.phases(&workload)?,
            on_error: self.on_error()?,
            repeat: 1,
            seed,
            limit: self.search(&workload)?,
            stacks: self.common_truth("stacks")?,
            share: None,
            data_set: self.data_set(seed)?,
            arm: None,
        })
    }

    /// How often it is to be measured.
    pub(crate) fn repeat_count(&self) -> Result<u32, PlanError> {
        self.common_int("repeat").map(|repeats| repeats as u32)
    }

    /// How often it is measured at most, if that was said where the budget of the run was, or after it. A budget by flag gives the points of a
    /// plan file the repeats that it has time for.
    pub(crate) fn repeats_max(&self) -> Result<Option<u32>, PlanError> {
        let is_flag = |key: &str| self.chosen_value(key).map(|written| written.place.is_command_line());
        match (is_flag("repeat"), is_flag(BUDGET)) {
            (Some(by_flag), Some(budget_by_flag)) if by_flag || !budget_by_flag => self.repeat_count().map(Some),
            _ => Ok(None),
        }
    }

    /// Whether `key` is a key of this engine and workload: a key for a list of engines need not concern each of them.
    pub(crate) fn takes_key(&self, key: &str) -> Result<bool, PlanError> {
        let (engine, workload) = self.engine_and_workload()?;
        Ok(match key {
            "path" => on_files(&engine),
            "fs_size" => self.common_value("fs").text != NONE,
            "arrivals" => self.common_value("rate").text != NONE,
            "slo" | "hold" | "rate_max" => self.is_search(),
            "ops_max" => !self.is_until_steady()? && !self.is_search(),
            "time" => !self.is_until_steady()? && !self.ends_with_its_rows()?,
            "round" | "rounds_max" => self.is_until_steady()?,
            "precondition" => self.is_until_steady()? && on_files(&workload),
            "warmup" => !self.ends_itself()? || self.is_search(),
            // Pairs of points that end by themselves are measured until they decide.
            "until" => !self.ends_itself()? || self.sure_precision()?.is_some() && self.repeat_count()? > 1,
            key if common::find(key).is_some() => true,
            key => [&engine, &workload]
                .into_iter()
                .flat_map(|it| it.params)
                .any(|def| def.takes(key) && self.has_param(def, &workload)),
        })
    }

    /// What the value of `key` needs to have an effect on `trial`, which this choice has made; `None` if it has one. A parameter
    /// that engine and workload share has one if either uses it. One that shapes the data has one on every step of a sequence: steps
    /// go on with the same data only if they agree on it.
    pub(crate) fn missing_condition(&self, key: &str, trial: &Trial) -> Result<Option<UsedIf>, PlanError> {
        let (engine, workload) = self.engine_and_workload()?;
        let sides = [
            (engine, &trial.target.params, &trial.workload.params),
            (workload, &trial.workload.params, &trial.target.params),
        ];
        let declared = sides.into_iter().flat_map(|(entry, own, others)| {
            let is_of_steps = move |condition: &UsedIf| entry.steps().is_some_and(|(name, _)| name == condition.param);
            let condition = move |def: &ParamDef| def.used_if.filter(|own| !(def.shapes_data && is_of_steps(own)));
            entry.params.iter().filter(move |def| def.takes(key)).map(move |def| (condition(def), own, others))
        });
        let mut missing = None;
        for (used_if, own, others) in declared {
            match used_if.filter(|condition| !condition.holds(own, others)) {
                Some(condition) => missing = Some(condition),
                None => return Ok(None),
            }
        }
        Ok(missing)
    }

    /// The keys that were written, each with the value of this choice.
    pub(crate) fn picked_texts(&self) -> Vec<(String, String)> {
        let all = self.settings.iter().zip(&self.picked);
        all.map(|(setting, picked)| (setting.key.clone(), setting.values[*picked].text.clone())).collect()
    }

    fn chosen_value(&self, key: &str) -> Option<&Written<'a>> {
        let at = self.settings.iter().position(|setting| setting.key == key)?;
        Some(&self.settings[at].values[self.picked[at]])
    }

    /// The value of a common key: the one chosen, else its default.
    fn common_value(&self, key: &'static str) -> Written<'a> {
        let default = common::find(key).map_or("", |common| common.default);
        self.chosen_value(key).cloned().unwrap_or_else(|| default_value(key, default))
    }

    /// The whole number in a common key, within the bounds that it declares.
    fn common_int(&self, key: &'static str) -> Result<u64, PlanError> {
        match common::kind_of(key) {
            CommonKind::Int { min, max } => value::parse_int(&self.common_value(key), min, max),
            other => unreachable!("`{key}` is declared as {other:?}"),
        }
    }

    /// The length of time in a common key, within the bounds that it declares.
    fn common_duration(&self, key: &'static str) -> Result<Nanos, PlanError> {
        match common::kind_of(key) {
            CommonKind::Duration { min, max } => value::parse_duration(&self.common_value(key), min, max),
            other => unreachable!("`{key}` is declared as {other:?}"),
        }
    }

    /// The word in a common key, one of those that it declares.
    fn common_word(&self, key: &'static str) -> Result<&'static str, PlanError> {
        match common::kind_of(key) {
            CommonKind::OneOf(words) => value::parse_word(&self.common_value(key), words),
            other => unreachable!("`{key}` is declared as {other:?}"),
        }
    }

    /// Whether a common key is `true`.
    fn common_truth(&self, key: &'static str) -> Result<bool, PlanError> {
        Ok(value::parse_word(&self.common_value(key), &[common::FALSE, common::TRUE])? == common::TRUE)
    }
}

/// A value as if it was written, for a key that was not.
pub(crate) fn default_value(key: &'static str, text: &str) -> Written<'static> {
    Written { key: key.to_owned(), text: text.to_owned(), place: Place::Default(key) }
}

fn on_files(engine: &Entry) -> bool {
    engine.families.contains(&Family::Io)
}
