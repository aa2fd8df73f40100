//! One point of a sweep: of each key one value. Here texts become a [`Trial`].
//!
//! In: a [`Choice`] of values. Out: the trial of its first repetition, or what is wrong with it.
//! Limits: the engine decides whether it can serve this depth, and whether there is space.

use crate::common::{
    self, AUTO, CLIENTS_MAX, CommonKind, EXACT_MAX, FS_SIZE_MAX, FS_SIZE_MIN, INTERVAL_MIN, INTERVALS_PER_ROUND,
    INTERVALS_PER_ROUND_MIN, LIMIT, NONE, PHASE_MAX, RATE_MAX,
};
use crate::document::{Written, WrittenSetting};
use crate::entries::{self, URL, cannot_run, declares_param, default_engine, find_entry, is_url, share_family};
use crate::error::{Place, PlanError, hint, listed, shown};
use crate::estimate::INTERVALS_USUAL;
use crate::limit;
use crate::statements;
use crate::tables;
use crate::text;
use crate::value::{self, time_text};
use crate::variants;
use model::limit::objective::GRAMMAR;
use model::limit::{ArrivalLaw, LimitPart, LimitSpec, Objective};
use model::{
    Arrivals, BACKGROUND, Bytes, Catalogue, Entry, Family, FileSystem, FileSystemSpec, IoScheduler, Limits, Load,
    MachineSetup, NO_CONFIG, Nanos, NoRate, OnError, Pacing, ParamDef, ParamKind, ParamRole, Params, Phases, Switch,
    TargetSpec, Trial, Until, UsedIf, Value, WorkloadSpec,
};
use std::path::{Path, PathBuf};

/// Eleven days at one second.
const INTERVALS_MAX: u64 = 1_000_000;
/// The interval of a load, whose length is not known before: one of two seconds, the shortest that counts, has ten.
const LOAD_INTERVAL: Nanos = Nanos::from_millis(200);
/// At a hundred commits a second more of them take longer than [`INTERVALS_MAX`] such intervals.
const SMALL_LOAD_MAX: u64 = 10_000_000;

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
            load: self.load_of_trial()?,
            phases: self.phases(&workload)?,
            on_error: self.on_error()?,
            repeat: 1,
            seed: value::parse_int(&self.common_value("seed"), 0, EXACT_MAX)?,
            limit: self.search(&workload)?,
            stacks: self.common_truth("stacks")?,
            share: None,
        })
    }

    /// How often it is to be measured.
    pub(crate) fn repeat_count(&self) -> Result<u32, PlanError> {
        self.common_int("repeat").map(|repeats| repeats as u32)
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
            "warmup" | "until" => !self.ends_itself()?,
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

    /// The engine and the workload chosen, which have a family of operations in common.
    pub(crate) fn engine_and_workload(&self) -> Result<(Entry, Entry), PlanError> {
        let named = self.common_value("workload");
        let workload = find_entry(&named, &self.catalogue.workloads)?;
        let Some(named) = self.chosen_value("engine") else {
            let engine = default_engine(&workload, &self.catalogue.engines);
            let engine = engine.ok_or_else(|| named.place.error(format_args!("no engine can run `{}`", workload.name)));
            return engine.map(|engine| (engine, workload));
        };
        let engine =
            self.find_engine(named).map_err(|error| self.refusal_among_able(named, &workload).unwrap_or(error))?;
        if !share_family(&engine, &workload) {
            return Err(named.place.error(cannot_run(&engine, &workload, &self.catalogue.engines)));
        }
        Ok((engine, workload))
    }

    /// The engine of that name, or the one that takes such a URL. The server that `url` has the address of may be named, too: `mysql`.
    fn find_engine(&self, named: &Written<'_>) -> Result<Entry, PlanError> {
        let engines = &self.catalogue.engines;
        let by_url = engines.iter().find(|entry| entry.name == named.text && declares_param(entry, URL));
        match by_url.filter(|_| self.chosen_value(URL).is_some()) {
            Some(entry) => Ok(*entry),
            None => entries::find_engine(named, engines),
        }
    }

    /// The same refusal with those engines only that can run `workload`; `None` of a URL, which names them by its kind.
    fn refusal_among_able(&self, named: &Written<'_>, workload: &Entry) -> Option<PlanError> {
        let able = self.catalogue.engines.iter().filter(|engine| share_family(engine, workload)).copied();
        if is_url(named) { None } else { entries::find_engine(named, &able.collect::<Vec<_>>()).err() }
    }

    fn program_folder(&self) -> Result<Option<PathBuf>, PlanError> {
        self.chosen_value("engine").map_or(Ok(None), entries::folder_in)
    }

    /// The value of a common key: the one chosen, else its default.
    fn common_value(&self, key: &'static str) -> Written<'a> {
        let default = || common::find(key).map_or("", |common| common.default);
        self.chosen_value(key).cloned().unwrap_or_else(|| default_value(key, default()))
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

    fn chosen_value(&self, key: &str) -> Option<&Written<'a>> {
        let at = self.settings.iter().position(|setting| setting.key == key)?;
        Some(&self.settings[at].values[self.picked[at]])
    }

    /// Whether this point has the parameter `def`: it has statements only if another parameter asks for them, and a background only if
    /// one was written.
    fn has_param(&self, def: &ParamDef, entry: &Entry) -> bool {
        if matches!(def.kind, ParamKind::Background { .. }) {
            return self.chosen_value(def.name).is_some();
        }
        let ParamKind::Statements { if_word: Some((param, word)) } = def.kind else { return true };
        let other = entry.params.iter().find(|other| other.name == param);
        self.chosen_value(param).map_or(other.map(|other| other.default), |written| Some(written.text.as_str()))
            == Some(word)
    }

    fn typed_params(&self, entry: &Entry) -> Result<Params, PlanError> {
        let needed = entry.params.iter().filter(|def| self.has_param(def, entry));
        let (several, single): (Vec<&ParamDef>, Vec<_>) = needed.partition(|def| def.kind == ParamKind::Variables);
        let variables = several.into_iter().flat_map(|def| self.typed_variables(def));
        let typed = |def: &ParamDef| -> Result<(String, Value), PlanError> {
            let named = (def.name == URL).then(|| self.chosen_value("engine")).flatten().filter(|named| is_url(named));
            let written = named.or(self.chosen_value(def.name)).cloned();
            if let Some(size) = written.is_none().then(|| self.size_at_path(def)).transpose()?.flatten() {
                return Ok((def.name.to_owned(), Value::Bytes(size)));
            }
            let written = written.unwrap_or_else(|| default_value(def.name, def.default));
            if let (ParamKind::Statements { if_word }, "") = (def.kind, written.text.as_str()) {
                return Err(self.no_statements(def, if_word));
            }
            if matches!(def.kind, ParamKind::Background { .. }) {
                self.check_takes_sql(&written)?;
            }
            if matches!(def.kind, ParamKind::Variants | ParamKind::DataSets) {
                let engine = self.engine_and_workload()?.0.name;
                return Ok((def.name.to_owned(), variants::typed(&written, def.kind, engine, self.catalogue)?));
            }
            Ok((def.name.to_owned(), value::parse_param(def, &written, self.scale, &self.catalogue.distributions)?))
        };
        let typed = single.into_iter().map(typed).chain(variables).collect::<Result<_, _>>().map(Params)?;
        self.check_tables(entry, &typed)?;
        self.with_recording(entry, self.with_config(entry, typed)?)
    }

    /// `params` with the figures of the recording that they name, and with the size of the data that it needs unless the plan has one.
    fn with_recording(&self, entry: &Entry, mut params: Params) -> Result<Params, PlanError> {
        let Some(def) = entry.params.iter().find(|def| def.kind == ParamKind::Recording) else { return Ok(params) };
        let written = self.common_or_own(def);
        let path = PathBuf::from(params.word(def.name));
        if path.as_os_str().is_empty() {
            let text = format_args!("`{}` needs the file of a recording as `{}`", entry.name, def.name);
            return Err(self.common_value("workload").place.error(text));
        }
        let summary = (self.catalogue.read_recording)(entry.name, &path, &params);
        let summary = summary.map_err(|why| written.place.error(why))?;
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

    /// The value of a parameter as it is written: the one chosen, else its default.
    fn common_or_own(&self, def: &ParamDef) -> Written<'a> {
        self.chosen_value(def.name).cloned().unwrap_or_else(|| default_value(def.name, def.default))
    }

    /// Refuses statements for the background of an engine that takes none.
    fn check_takes_sql(&self, written: &Written<'_>) -> Result<(), PlanError> {
        let (engine, _) = self.engine_and_workload()?;
        if engine.families.contains(&Family::Sql) {
            return Ok(());
        }
        let name = engine.name;
        let text = format_args!(
            "a `[[{BACKGROUND}]]` needs an SQL engine, and `{name}` is none; leave it out, or measure `{name}` in a sweep of its own"
        );
        Err(written.place.error(text))
    }

    /// Refuses tables that cannot be made, and statements on what they have not.
    fn check_tables(&self, entry: &Entry, params: &Params) -> Result<(), PlanError> {
        let value_of =
            |is_kind: fn(ParamKind) -> bool| entry.params.iter().find(|def| is_kind(def.kind)).map(|def| def.name);
        let statements = value_of(|kind| matches!(kind, ParamKind::Statements { .. }));
        let ops = statements.map_or(&[][..], |name| params.statements(name));
        let place_of = |name: Option<&str>| name.and_then(|name| self.chosen_value(name)).map(|written| written.place);
        let Some(tables) = value_of(|kind| kind == ParamKind::Tables) else {
            let place = place_of(statements).unwrap_or(Place::Default("statement"));
            return statements::without_columns(ops).map_err(|what| place.error(what));
        };
        (self.catalogue.check_tables)(params.tables(tables), ops).map_err(|fault| {
            let of_table = self.chosen_value(tables).and_then(|written| tables::error_at(written, &fault));
            let place = place_of(statements).unwrap_or(Place::Default("statement"));
            of_table.unwrap_or_else(|| place.error(&fault.text))
        })
    }

    /// The error that there are no statements for `def`, which needs them.
    fn no_statements(&self, def: &ParamDef, if_word: Option<(&'static str, &'static str)>) -> PlanError {
        let (key, what) = match if_word {
            Some((param, word)) => (param, format!("{param} = `{word}`")),
            None => ("workload", format!("workload `{}`", self.common_value("workload").text)),
        };
        let place = self.chosen_value(key).map_or(Place::Default(def.name), |other| other.place);
        place.error(format_args!("{what} needs statements; write them in a plan file as `[[{}]]`", def.name))
    }

    /// `params` with the variables of the configuration file that they name, except those that the plan sets itself.
    fn with_config(&self, entry: &Entry, mut params: Params) -> Result<Params, PlanError> {
        let Some(def) = entry.params.iter().find(|def| def.kind == ParamKind::ConfigFile) else { return Ok(params) };
        let Some(written) = self.chosen_value(def.name) else { return Ok(params) };
        let file = params.word(def.name).to_owned();
        if file == NO_CONFIG {
            return Ok(params);
        }
        let set = (self.catalogue.read_config)(entry.name, Path::new(&file)).map_err(|why| written.place.error(why))?;
        for (key, value) in set {
            params.0.entry(key).or_insert(Value::Word(value));
        }
        params.0.insert(def.name.to_owned(), Value::Word(self.short_name(def.name, &file)));
        Ok(params)
    }

    /// The last part of the path `file`, unless `key` names another file that is called so.
    fn short_name(&self, key: &str, file: &str) -> String {
        let name_of = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
        let all = self.settings.iter().filter(|setting| setting.key == key).flat_map(|setting| &setting.values);
        let name = name_of(file);
        let is_unique = all.filter(|other| name_of(&other.text) == name).count() == 1;
        if is_unique && name != NO_CONFIG { name } else { file.to_owned() }
    }

    /// The size of the file that the point measures, if `def` is the size of its data and the file is there already.
    fn size_at_path(&self, def: &ParamDef) -> Result<Option<Bytes>, PlanError> {
        if def.role != ParamRole::DataSize || !matches!(def.kind, ParamKind::Bytes { .. }) {
            return Ok(None);
        }
        let path = self.target_path(&self.engine_and_workload()?.0)?;
        Ok(path.and_then(|path| (self.catalogue.size_at)(&path)))
    }

    /// The variables that `def` takes, as far as they are set.
    fn typed_variables(&self, def: &ParamDef) -> Vec<Result<(String, Value), PlanError>> {
        let set = self.settings.iter().zip(&self.picked).filter(|(setting, _)| def.takes(&setting.key));
        let typed = |written: &Written<'_>| Ok((written.key.clone(), Value::Word(value::parse_variable(written)?)));
        set.map(|(setting, picked)| typed(&setting.values[*picked])).collect()
    }

    fn target_path(&self, engine: &Entry) -> Result<Option<PathBuf>, PlanError> {
        let written = self.common_value("path");
        let path = value::parse_path(&written)?;
        Ok((on_files(engine) && !path.is_empty()).then(|| PathBuf::from(path)))
    }

    fn file_system(&self, engine: &Entry) -> Result<Option<FileSystemSpec>, PlanError> {
        let written = self.common_value("fs");
        if written.text == NONE {
            return Ok(None);
        }
        let kind = FileSystem::from_words(&written.text).ok_or_else(|| no_file_system(&written))?;
        if self.target_path(engine)?.is_some() {
            let text = "`fs` and `path` exclude each other; leave one out";
            return Err(written.place.error(text));
        }
        Ok(Some(FileSystemSpec { kind, size: self.fs_size()? }))
    }

    fn fs_size(&self) -> Result<Option<Bytes>, PlanError> {
        let written = self.common_value("fs_size");
        if written.text == AUTO {
            return Ok(None);
        }
        let size = text::parse_size(&written.text).filter(|size| (FS_SIZE_MIN.0..=FS_SIZE_MAX.0).contains(size));
        size.map(|size| Some(Bytes(size)))
            .ok_or_else(|| written.refused(format_args!("a size from {FS_SIZE_MIN} to {FS_SIZE_MAX}, or `{AUTO}`")))
    }

    fn limits(&self) -> Result<Limits, PlanError> {
        let memory = limit::memory_limit(&self.common_value("memory_limit"), self.scale)?;
        let storage = limit::storage_limit(&self.common_value("storage_limit"))?;
        Ok(Limits { memory, storage, cpu: limit::cpu_limit(&self.common_value("cpu_limit"))? })
    }

    fn machine_setup(&self) -> Result<MachineSetup, PlanError> {
        Ok(MachineSetup {
            cpus: limit::cpu_assignment(&self.common_value("cpus"))?,
            smt: Switch::from_word(self.common_word("smt")?),
            turbo: Switch::from_word(self.common_word("turbo")?),
            scheduler: IoScheduler::from_word(self.common_word("scheduler")?),
        })
    }

    fn instance_count(&self, engine: &Entry) -> Result<u32, PlanError> {
        let (written, count) = (self.common_value("instances"), self.common_int("instances")? as u32);
        if count > 1 && self.target_path(engine)?.is_some() {
            let text = "`instances` and `path` exclude each other: each instance needs data of its own; leave one out";
            return Err(written.place.error(text));
        }
        match self.common_int("clients")?.saturating_mul(u64::from(count)) {
            all if all > CLIENTS_MAX => {
                let text = format_args!(
                    "`instances` = {count} with these `clients` are {all} clients; use at most {CLIENTS_MAX} in all"
                );
                Err(written.place.error(text))
            }
            _ => Ok(count),
        }
    }

    fn load_of_trial(&self) -> Result<Load, PlanError> {
        Ok(Load { clients: self.client_count()?, depth: self.common_int("depth")? as u32, pacing: self.pacing()? })
    }

    /// The number of clients: as many as recorded sessions were open at once, if a log is replayed and none is given.
    fn client_count(&self) -> Result<u32, PlanError> {
        let given = self.common_int("clients")? as u32;
        let (_, workload) = self.engine_and_workload()?;
        if self.chosen_value("clients").is_some() || !workload.params.iter().any(|def| def.kind == ParamKind::Recording)
        {
            return Ok(given);
        }
        let sessions = self.typed_params(&workload)?.recording().and_then(|summary| summary.sessions);
        Ok(sessions.map_or(given, |sessions| sessions.most_at_once.clamp(1, CLIENTS_MAX as u32)))
    }

    fn pacing(&self) -> Result<Pacing, PlanError> {
        let written = self.common_value("think");
        let think = self.common_duration("think")?;
        let rate = self.common_value("rate");
        if let Some(speed) = self.replay_speed()? {
            return self.recorded_pacing(speed, &rate, &written);
        }
        if rate.text == NONE {
            return Ok(Pacing::Closed { think });
        }
        if think > Nanos(0) {
            return Err(written.place.error("`think` needs a closed loop; leave out `rate` or `think`"));
        }
        if self.is_search() {
            // A search begins with a closed loop.
            return Ok(Pacing::Closed { think: Nanos(0) });
        }
        let per_s = value::parse_above_zero(&rate, RATE_MAX).map_err(|_| {
            rate.refused(format_args!("a number above 0, at most {RATE_MAX}, or `{NONE}`, or `{LIMIT}`"))
        })?;
        let arrivals = match self.common_word("arrivals")? {
            "poisson" => Arrivals::Poisson { per_s },
            _ => Arrivals::Constant { per_s },
        };
        Ok(Pacing::Open { arrivals })
    }

    /// How fast a recording is replayed; `None` if nothing is replayed.
    fn replay_speed(&self) -> Result<Option<Value>, PlanError> {
        let (_, workload) = self.engine_and_workload()?;
        let Some(def) = workload.params.iter().find(|def| def.kind == ParamKind::Speed) else { return Ok(None) };
        value::parse_param(def, &self.common_or_own(def), 1.0, &self.catalogue.distributions).map(Some)
    }

    /// What paces a replay: the times of the recording, or nothing.
    fn recorded_pacing(&self, speed: Value, rate: &Written<'_>, think: &Written<'_>) -> Result<Pacing, PlanError> {
        if rate.text != NONE {
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
        let per_s = params.recording().map_or(1.0, |summary| summary.per_s(speed));
        let per_s = per_s.clamp(f64::MIN_POSITIVE, RATE_MAX as f64);
        Ok(Pacing::Open { arrivals: Arrivals::Recorded { per_s } })
    }

    /// How long a replay lasts that keeps its times; `None` if it has none to keep.
    fn replay_length(&self) -> Result<Option<Nanos>, PlanError> {
        let Some(Value::Float(speed)) = self.replay_speed()? else { return Ok(None) };
        let (_, workload) = self.engine_and_workload()?;
        let params = self.typed_params(&workload)?;
        Ok(params.recording().map(|summary| Nanos((summary.length.0 as f64 / speed) as u64)))
    }

    /// Whether the largest rate is searched for.
    fn is_search(&self) -> bool {
        self.common_value("rate").text == LIMIT
    }

    /// The search for the largest rate, if that is asked for.
    fn search(&self, workload: &Entry) -> Result<Option<LimitPart>, PlanError> {
        if !self.is_search() {
            return Ok(None);
        }
        if self.ends_itself()? {
            return Err(self.no_search(workload, "with these parameters it ends by itself"));
        }
        let slo = self.common_value("slo");
        let objective = Objective::parse(&slo.text).ok_or_else(|| slo.refused(GRAMMAR))?;
        let rate_max = self.common_value("rate_max");
        let rate_max = match rate_max.text.as_str() {
            NONE => None,
            _ => Some(value::parse_above_zero(&rate_max, RATE_MAX)?),
        };
        // The users of a service are independent of each other, unless you know better.
        let arrivals = match self.chosen_value("arrivals").map(|_| self.common_word("arrivals")).transpose()? {
            Some("constant") => ArrivalLaw::Constant,
            _ => ArrivalLaw::Poisson,
        };
        let spec = LimitSpec { objective, hold: self.common_duration("hold")?, rate_max, arrivals };
        Ok(Some(LimitPart { spec, probe: None }))
    }

    /// Refuses to search for the rate of a workload that has none.
    fn check_can_have_rate(&self, workload: &Entry) -> Result<(), PlanError> {
        let why = match workload.why_no_rate() {
            Some(NoRate::Steps) => "it is a sequence of steps, which have an end",
            Some(NoRate::Variants) => "it executes each variant of a statement a number of times, and ends",
            Some(NoRate::OwnProcess) => "it computes in plimsoll's own process, so no engine carries a load",
            None => return Ok(()),
        };
        if self.is_search() { Err(self.no_search(workload, why)) } else { Ok(()) }
    }

    fn no_search(&self, workload: &Entry, why: &str) -> PlanError {
        let text = format_args!("rate = `{LIMIT}` cannot be used with `{}`: {why}", workload.name);
        self.common_value("rate").place.error(text)
    }

    /// Whether the run is over when its operations are: a warmup would perform them, and there is nothing to wait for beyond them.
    fn ends_itself(&self) -> Result<bool, PlanError> {
        Ok(self.run_ops()?.is_some())
    }

    /// How many operations its run has; `None` if it does not end by itself.
    fn run_ops(&self) -> Result<Option<u64>, PlanError> {
        let (_, workload) = self.engine_and_workload()?;
        Ok((self.catalogue.run_ops)(workload.name, &self.typed_params(&workload)?))
    }

    /// Whether this is a step of a sequence that ends when its work is done: its length is its rows, and no time shortens it. Otherwise
    /// engines would go on with different data.
    fn ends_with_its_rows(&self) -> Result<bool, PlanError> {
        let (_, workload) = self.engine_and_workload()?;
        Ok(workload.steps().is_some() && self.ends_itself()?)
    }

    fn is_until_steady(&self) -> Result<bool, PlanError> {
        Ok(self.common_value("until").text == "steady" && !self.ends_itself()?)
    }

    fn phases(&self, workload: &Entry) -> Result<Phases, PlanError> {
        self.common_word("until")?;
        let (steady, ends_itself) = (self.is_until_steady()?, self.ends_itself()?);
        let has_time = self.chosen_value("time").is_some() && !self.ends_with_its_rows()?;
        let (run, interval, until) = match (steady, ends_itself && !has_time) {
            (true, _) => self.run_in_rounds(workload)?,
            (false, true) => self.as_long_as_it_takes()?,
            (false, false) => self.timed_run()?,
        };
        Ok(Phases {
            warmup: if ends_itself { Nanos(0) } else { self.warmup_before(run)? },
            run,
            ops_max: if steady { None } else { self.ops_max()? },
            interval,
            grace: self.common_duration("grace")?,
            until,
        })
    }

    /// The length of the run phase and of its intervals, and what ends it: its time.
    fn timed_run(&self) -> Result<(Nanos, Nanos, Until), PlanError> {
        let time = self.common_value("time");
        let run = self.common_duration("time")?;
        let interval = match self.chosen_value("interval") {
            None => twentieth_at_most(self.common_duration("interval")?, run).min(run),
            Some(_) => {
                self.interval_up_to(run, || format!("at most the `time` of the run phase, {}", time_text(run)))?
            }
        };
        few_enough(&time, run, interval)?;
        Ok((run, interval, Until::Time))
    }

    /// The same of a run that ends itself, without a limit.
    fn as_long_as_it_takes(&self) -> Result<(Nanos, Nanos, Until), PlanError> {
        let interval = match self.chosen_value("interval") {
            None => self.interval_of_load()?,
            Some(_) if self.outlasts_its_time("interval") => {
                twentieth_at_most(self.common_duration("interval")?, self.common_duration("time")?)
            }
            Some(_) => self.common_duration("interval")?,
        };
        Ok((longest_run(interval), interval, Until::Time))
    }

    fn interval_of_load(&self) -> Result<Nanos, PlanError> {
        let usual = self.common_duration("interval")?;
        if let Some(length) = self.replay_length()? {
            return Ok(twentieth_at_most(usual, length));
        }
        let is_small = self.run_ops()?.is_some_and(|ops| ops <= SMALL_LOAD_MAX);
        Ok(if is_small { LOAD_INTERVAL.min(usual) } else { usual })
    }

    /// The length of the run phase at most and of its intervals, and what ends it: rounds that are steady.
    fn run_in_rounds(&self, workload: &Entry) -> Result<(Nanos, Nanos, Until), PlanError> {
        let rate = self.common_value("rate");
        if rate.text != NONE {
            return Err(rate.place.error("`rate` and until = `steady` exclude each other; leave one out"));
        }
        let written = self.common_value("round");
        let round = self.common_duration("round")?;
        let half = Nanos(round.0 / INTERVALS_PER_ROUND_MIN);
        let interval = match self.chosen_value("interval") {
            None => {
                self.common_duration("interval")?.min(Nanos(round.0 / INTERVALS_PER_ROUND)).max(INTERVAL_MIN).min(half)
            }
            Some(_) => self.interval_up_to(half, || format!("at most half of the `round`, {}", time_text(half)))?,
        };
        if !round.0.is_multiple_of(interval.0) {
            return Err(written.refused(format_args!("a whole number of `interval`s of {}", time_text(interval))));
        }
        let rounds_max = self.common_int("rounds_max")?;
        let run = Nanos(round.0.saturating_mul(rounds_max));
        if run > PHASE_MAX {
            return Err(
                written.refused(format_args!("at most {} for `rounds_max` = {rounds_max}", time_text(PHASE_MAX)))
            );
        }
        few_enough(&written, run, interval)?;
        let precondition = match on_files(workload) {
            true => self.common_int("precondition")? as u32,
            false => 1,
        };
        Ok((run, interval, Until::Steady { round, precondition }))
    }

    fn warmup_before(&self, run: Nanos) -> Result<Nanos, PlanError> {
        let warmup = self.common_duration("warmup")?;
        Ok(if self.outlasts_its_time("warmup") { warmup.min(run) } else { warmup })
    }

    /// Whether `key` was written in the file and the time on the command line: then the value of `key` was meant for the plan's
    /// own time. A plan of hours must remain a plan if you try it with `--time 3s`.
    fn outlasts_its_time(&self, key: &'static str) -> bool {
        let is_flag = |key| self.chosen_value(key).map(|written| written.place.is_command_line());
        is_flag("time") == Some(true) && is_flag(key) == Some(false)
    }

    /// The interval that was written, if it is at most `most`; shortened, if it was meant for the time of the file.
    fn interval_up_to(&self, most: Nanos, refusal: impl Fn() -> String) -> Result<Nanos, PlanError> {
        let written = self.common_value("interval");
        let interval = self.common_duration("interval")?;
        if self.outlasts_its_time("interval") {
            return Ok(twentieth_at_most(interval, most));
        }
        (interval <= most).then_some(interval).ok_or_else(|| written.refused(refusal()))
    }

    fn ops_max(&self) -> Result<Option<u64>, PlanError> {
        let written = self.common_value("ops_max");
        if written.text == NONE {
            return Ok(None);
        }
        value::parse_int(&written, 1, EXACT_MAX)
            .map(Some)
            .map_err(|_| written.refused(format_args!("a whole number from 1 to {EXACT_MAX}, or `none`")))
    }

    fn on_error(&self) -> Result<OnError, PlanError> {
        if self.is_search() && self.chosen_value("on_error").is_none() {
            // Failures are part of the objective.
            return Ok(OnError::Count);
        }
        let workload = self.engine_and_workload()?.1;
        let has_variants = workload.params.iter().any(|def| def.kind == ParamKind::Variants);
        if has_variants && self.chosen_value("on_error").is_none() {
            // A statement that is cancelled at its time limit is a result. Other failures end the load all the same.
            return Ok(OnError::Count);
        }
        Ok(match self.common_word("on_error")? {
            "count" => OnError::Count,
            _ => OnError::Stop,
        })
    }
}

/// `interval`, but at most a twentieth of `run`: that is enough for a confidence interval, however short the run is.
pub(crate) fn twentieth_at_most(interval: Nanos, run: Nanos) -> Nanos {
    interval.min(Nanos(run.0 / INTERVALS_USUAL)).max(INTERVAL_MIN)
}

/// As long as a run phase with intervals of this length can be: the length of one without a limit.
pub(crate) fn longest_run(interval: Nanos) -> Nanos {
    PHASE_MAX.min(Nanos(interval.0.saturating_mul(INTERVALS_MAX)))
}

fn few_enough(written: &Written<'_>, run: Nanos, interval: Nanos) -> Result<(), PlanError> {
    let intervals = run.0 / interval.0;
    if intervals <= INTERVALS_MAX {
        return Ok(());
    }
    let (key, text, interval) = (&written.key, shown(&written.text), time_text(interval));
    let most = format_args!(
        "`{key}` = `{text}` gives more than {INTERVALS_MAX} intervals of {interval}; use a longer `interval`"
    );
    Err(written.place.error(most))
}

/// A value as if it was written, for a key that was not.
pub(crate) fn default_value(key: &'static str, text: &str) -> Written<'static> {
    Written { key: key.to_owned(), text: text.to_owned(), place: Place::Default(key) }
}

fn on_files(engine: &Entry) -> bool {
    engine.families.contains(&Family::Io)
}

/// Names what can be made; old experiments ask for XFS without barriers by name.
fn no_file_system(written: &Written<'_>) -> PlanError {
    if written.text == "xfs:nobarrier" {
        let text = "`xfs:nobarrier` is refused by every kernel since Linux 4.19: use `xfs`, or `ext4:nobarrier`";
        return written.place.error(text);
    }
    if written.text.starts_with("btrfs:zstd") {
        return written.refused("a level from 1 to 15, such as `btrfs:zstd:3`");
    }
    if written.text.starts_with("btrfs:zlib") {
        return written.refused("a level from 1 to 9, such as `btrfs:zlib:3`");
    }
    if written.text.starts_with("zfs:gzip") {
        return written.refused("a level from 1 to 9, such as `zfs:gzip-6`");
    }
    let (ranges, words): (Vec<&str>, Vec<&str>) = FileSystem::WORDS.into_iter().partition(|word| word.contains(".."));
    let levels: Vec<String> = ranges.iter().filter_map(|range| level_text(range)).collect();
    let hint = hint(&written.text, words.iter().copied());
    written.refused(format_args!("{}, {} or `{NONE}`{hint}", listed(words), levels.join(", ")))
}

/// `` `btrfs:zlib:N` (N from 1 to 9)`` of `btrfs:zlib:1..9`.
fn level_text(range: &str) -> Option<String> {
    let (kind, last) = range.split_once("..")?;
    let first = kind.trim_start_matches(|c: char| !c.is_ascii_digit());
    let kind = kind.strip_suffix(first)?;
    Some(format!("`{kind}N` (N from {first} to {last})"))
}

#[cfg(test)]
mod tests {
    use crate::{Overrides, fixture, from_flags};
    use model::{Catalogue, Entry, Family, NO_CONFIG, ParamDef, ParamKind, ParamRole, Trial, Value};

    const URL: ParamDef = ParamDef {
        name: "url",
        kind: ParamKind::Path,
        default: "",
        help: "",
        scales: false,
        shapes_data: true,
        role: ParamRole::Ground,
        meaning: None,
        used_if: None,
    };

    fn catalogue() -> Catalogue {
        const VARIABLES: ParamDef = ParamDef { name: "maria.*", kind: ParamKind::Variables, ..URL };
        let server = |name, params| Entry { name, help: "", families: &[Family::Sql], params };
        let mut catalogue = fixture::catalogue();
        catalogue.engines.extend([
            server("maria:innodb", &[VARIABLES]),
            server("maria:rocksdb", &[]),
            server("mysql", &[URL]),
            server("mysql:innodb", &[]),
        ]);
        catalogue
    }

    fn engine(text: &str) -> Result<(String, String), String> {
        let overrides = Overrides::from_flags(vec![("engine".into(), text.into())]);
        let plan = from_flags("oltp", &overrides, 1.0, &catalogue()).map_err(|error| error.to_string())?;
        let target = &plan.trials[0].target;
        Ok((target.engine.clone(), target.params.0.get("url").map(|url| url.to_string()).unwrap_or_default()))
    }

    const CONFIG: ParamDef = ParamDef { name: "config", kind: ParamKind::ConfigFile, default: NO_CONFIG, ..URL };
    const TUNED: &[ParamDef] = &[CONFIG, ParamDef { name: "tuned.*", kind: ParamKind::Variables, ..URL }];

    /// The parameters of each point on the engine `tuned`, in words.
    fn tuned(flags: &[(&str, &str)]) -> Result<Vec<String>, String> {
        let mut catalogue = fixture::catalogue();
        catalogue.engines.push(Entry { name: "tuned", help: "", families: &[Family::Sql], params: TUNED });
        let flags = flags
            .iter()
            .map(|(key, text)| (key.to_string(), text.to_string()))
            .chain([("engine".into(), "tuned".into())]);
        let plan = from_flags("oltp", &Overrides::from_flags(flags.collect()), 1.0, &catalogue);
        let words = |trial: &Trial| trial.target.params.0.values().map(Value::to_string).collect::<Vec<_>>().join(" ");
        Ok(plan.map_err(|error| error.to_string())?.trials.iter().map(words).collect())
    }

    #[test]
    fn a_configuration_file_becomes_variables_and_its_name() {
        assert_eq!(tuned(&[]).unwrap(), ["default"]);
        assert_eq!(tuned(&[("config", "")]).unwrap(), ["default"]);
        let points = tuned(&[("config", "default,/etc/few.cnf,many.cnf")]).unwrap();
        assert_eq!(points, ["default", "few.cnf 2M 1", "many.cnf 2M 8"]);
        let two_of_one_name = tuned(&[("config", "a/few.cnf,b/few.cnf")]).unwrap();
        assert_eq!(two_of_one_name, ["a/few.cnf 2M 1", "b/few.cnf 2M 1"]);
    }

    #[test]
    fn what_a_plan_sets_itself_is_stronger_than_the_file() {
        let points = tuned(&[("config", "few.cnf"), ("tuned.threads", "3,4")]).unwrap();
        assert_eq!(points, ["few.cnf 2M 3", "few.cnf 2M 4"]);
    }

    #[test]
    fn a_configuration_file_that_cannot_be_used_is_refused_with_its_flag() {
        assert_eq!(tuned(&[("config", "few.cnf,x.cnf")]).unwrap_err(), "--config: `x.cnf`, line 3: no");
        assert!(tuned(&[("config", "few.cnf,few.cnf")]).unwrap_err().contains("twice"));
    }

    #[test]
    fn a_server_alone_is_the_first_of_its_engines() {
        assert_eq!(engine("maria").unwrap().0, "maria:innodb");
        assert_eq!(engine("maria:rocksdb").unwrap().0, "maria:rocksdb");
        assert!(engine("maria:").is_err());
        let names =
            "`fjall`, `maria`, `maria:innodb`, `maria:rocksdb`, `mysql`, `mysql:innodb`, or a URL (`mysql://...`)";
        assert!(engine("mar").unwrap_err().contains(names), "{}", engine("mar").unwrap_err());
    }

    #[test]
    fn two_names_of_one_engine_are_refused_by_their_flag() {
        let twice = engine("maria,maria:innodb").unwrap_err();
        assert_eq!(twice, "--engine: `maria` and `maria:innodb` are the same engine; remove one");
        assert!(engine("maria:innodb,maria:rocksdb").is_ok());
    }

    #[test]
    fn a_name_without_a_url_is_the_private_server_and_with_one_the_existing_server() {
        assert_eq!(engine("mysql").unwrap().0, "mysql:innodb");
        let flags = [("engine", "mysql"), ("url", "mysql://u@h/")].map(|(key, text)| (key.into(), text.into()));
        let plan = from_flags("oltp", &Overrides::from_flags(flags.into()), 1.0, &catalogue()).unwrap();
        assert_eq!(plan.trials[0].target.engine, "mysql");
    }

    #[test]
    fn an_engine_may_name_the_folder_of_its_programs() {
        let targets = |text: &str| {
            let overrides = Overrides::from_flags(vec![("engine".into(), text.into())]);
            let plan = from_flags("oltp", &overrides, 1.0, &catalogue()).map_err(|error| error.to_string())?;
            let of = |trial: &model::Trial| {
                let folder = trial.target.programs.as_ref().map(|folder| folder.display().to_string());
                (trial.target.engine.clone(), folder.unwrap_or_default())
            };
            Ok::<_, String>(plan.trials.iter().map(of).collect::<Vec<_>>())
        };
        let told = targets("maria@/opt/a b,maria:rocksdb@/opt/a b,maria@../c@2,maria").unwrap();
        let expected = [
            ("maria:innodb", "/opt/a b"),
            ("maria:rocksdb", "/opt/a b"),
            ("maria:innodb", "../c@2"),
            ("maria:innodb", ""),
        ];
        assert_eq!(told, expected.map(|(name, folder)| (name.to_owned(), folder.to_owned())));
        for (text, message) in [
            ("maria@", "--engine: `maria@` names no folder; write `maria@DIR`, or `maria` for the installed server"),
            ("maria@/a,maria:innodb@/a", "--engine: `maria@/a` and `maria:innodb@/a` are the same engine; remove one"),
            ("marai@/a", "--engine cannot be `marai`"),
        ] {
            let refusal = targets(text).unwrap_err();
            assert!(refusal.starts_with(message), "{refusal}");
        }
        let text = "workload = 'oltp'\nengine = ['maria@/a', 'maria@/b']\nrepeat = 2";
        let plan = crate::parse(text, "p.toml", &Overrides::default(), 1.0, &catalogue()).unwrap();
        let folders: Vec<_> =
            plan.trials.iter().filter_map(|trial| trial.target.programs.as_deref()?.to_str()).collect();
        assert_eq!(folders, ["/a", "/b", "/b", "/a"], "interleaved as every dimension is");
        let once = text.trim_end_matches("\nrepeat = 2");
        let once = crate::parse(once, "p.toml", &Overrides::default(), 1.0, &catalogue()).unwrap();
        assert_eq!(crate::estimate(&once, &catalogue()).data_sets, 2, "two folders share no data");
        assert_eq!(crate::check(&plan, "run", &catalogue()), Ok(()));
    }

    #[test]
    fn a_name_that_is_no_engine_is_answered_with_those_that_can_run_the_workload() {
        let refused = engine("sqlit").unwrap_err();
        assert!(refused.contains("did you mean `sqlite`?") && !refused.contains("`file`"), "{refused}");
        let maria = engine("mariadb://u@h/").unwrap_err();
        assert_eq!(maria, "--engine: no engine for `mariadb://`; use `mysql://`; did you mean `mysql://`?");
    }

    #[test]
    fn a_level_of_a_file_system_is_not_written_as_a_range() {
        let fs = Overrides::from_flags(vec![("fs".into(), "btrfz".into())]);
        let refused = from_flags("oltp", &fs, 1.0, &catalogue()).unwrap_err().to_string();
        let levels = "`btrfs:zlib:N` (N from 1 to 9), `btrfs:zstd:N` (N from 1 to 15), `zfs:gzip-N` (N from 1 to 9) or `none`; \
                      did you mean `btrfs`?";
        assert!(refused.ends_with(levels), "{refused}");
    }

    #[test]
    fn a_short_run_has_twenty_intervals_unless_one_is_given() {
        let intervals = |flags: &[(&str, &str)]| {
            let flags = flags.iter().map(|(key, text)| (key.to_string(), text.to_string())).collect();
            let plan = from_flags("oltp", &Overrides::from_flags(flags), 1.0, &catalogue()).unwrap();
            plan.trials[0].phases.interval
        };
        assert_eq!(intervals(&[("time", "3s")]), model::Nanos::from_millis(150));
        assert_eq!(intervals(&[("time", "20s")]), model::Nanos::from_secs(1));
        assert_eq!(intervals(&[("time", "20ms")]), model::Nanos::from_millis(10), "the shortest there is");
        assert_eq!(intervals(&[("time", "1h")]), model::Nanos::from_secs(1));
        assert_eq!(intervals(&[("time", "3s"), ("interval", "1s")]), model::Nanos::from_secs(1));
    }

    #[test]
    fn a_url_is_the_engine_that_takes_it_and_its_parameter() {
        let url = "mysql://user@localhost/?socket=/run/s.sock";
        assert_eq!(engine(url).unwrap(), ("mysql".into(), url.into()));
    }

    #[test]
    fn variables_of_a_server_are_dimensions_under_its_name() {
        let text = "workload = 'oltp'\nengine = ['maria:innodb', 'maria:rocksdb']\nmaria.purge_threads = [1, 4]\n";
        let read = |text: &str| crate::parse(text, "p.toml", &Overrides::default(), 1.0, &catalogue());
        let plan = read(text).unwrap();
        let told = |trial: &model::Trial| {
            trial.target.params.0.iter().map(|(name, value)| format!("{name}={value}")).collect()
        };
        let told: Vec<Vec<String>> = plan.trials.iter().map(told).collect();
        assert_eq!(told, [vec!["maria.purge_threads=1"], vec!["maria.purge_threads=4"], vec![]]);
        assert_eq!(crate::estimate(&plan, &catalogue()).data_sets, 3, "each starts a server of its own");
        let flags = Overrides::from_flags(vec![
            ("engine".into(), "maria".into()),
            ("maria.purge_threads".into(), "1,4".into()),
        ]);
        let printed = crate::to_toml("oltp", &flags, &fixture::catalogue());
        let same = from_flags("oltp", &flags, 1.0, &catalogue()).unwrap();
        assert_eq!(read(&printed).unwrap(), same, "{printed}");
        for (text, message) in [
            (
                "maria.Purge = 1",
                "p.toml:2: `maria.Purge` is no name of a variable: small letters, digits and `_` behind one dot",
            ),
            (
                "maria.a.b = 1",
                "p.toml:2: `maria.a` cannot be a table; use text in quotes, a number, `true` or `false`, or a list of these",
            ),
            ("other.a = 1", "p.toml:2: unknown key `other.a`"),
            (
                "maria.a = ''",
                "p.toml:2: `maria.a` has an empty value; use 1 to 1000 characters, none of them a control character",
            ),
        ] {
            let refusal = read(&format!("workload = 'oltp'\n{text}\nengine = 'maria'\n")).unwrap_err().to_string();
            assert!(refusal.starts_with(message), "{refusal}");
        }
    }

    #[test]
    fn limits_are_dimensions_and_scale_where_they_are_memory() {
        let text = "workload = 'oltp'\nmemory_limit = ['none', '1g']\nstorage_limit = ['none', 'iops=2000+bps=1m']\n";
        let plan = crate::parse(text, "p.toml", &Overrides::default(), 0.5, &catalogue()).unwrap();
        let told: Vec<_> = plan.trials.iter().map(|trial| trial.target.limits.named()).collect();
        let memory = ("memory_limit", "512 MiB".to_owned());
        let storage = ("storage_limit", "iops=2000+bps=1MiB".to_owned());
        assert_eq!(told, [vec![], vec![storage.clone()], vec![memory.clone()], vec![memory, storage]]);
        assert_eq!(crate::estimate(&plan, &catalogue()).data_sets, 1, "limits can be changed while a server runs");
    }

    #[test]
    fn a_url_without_an_engine_is_refused_and_not_shown() {
        for (url, what) in [
            ("oracle://u:canary@h/", "`oracle://`"),
            ("m://u:canary@h/", "`m://`"),
            ("://u:canary@h/", "this URL"),
            ("mysql:/u:canary@h/x?y=://", "this URL"),
        ] {
            let refusal = engine(url).unwrap_err();
            assert_eq!(refusal, format!("--engine: no engine for {what}; use `mysql://`"));
        }
    }
}
