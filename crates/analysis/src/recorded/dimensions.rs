//! What varies between points: the settings of each, those in which a run's points differ, and what follows from them.
//!
//! In: the trials of a run, or the settings of some of its points. Out: typed [`Settings`] and a [`Label`] for each point, and the
//! [`Dimension`]s of any selection of points. Everything takes time in proportion to the number of points.
//! Limits: a setting that a point lacks or does not use is never a difference by itself, so a dimension needs two points that use it
//! and disagree. Parameters of an engine are compared between points of the same engine and workload, those of a workload between
//! points of the same workload. Nothing here is text for people; the crate `report` words labels.

use crate::recorded::engine_names::EngineNames;
use crate::recorded::sequence;
use model::{
    Arrivals, Bytes, CpuAssignment, FileSystem, MachineSetup, Nanos, Pacing, ParamOwner, ParamRole, PointData,
    PointParam, StepIndexes, StorageLimit, Trial, Until, Value, common_phrase,
};
use serde::Serialize;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::fmt;

/// The name of the setting that holds the engine, with its version if the run has several, or the path that was measured.
pub const ENGINE: &str = "engine";
/// The name of the setting that limits the memory of the engine.
pub const MEMORY_LIMIT: &str = "memory_limit";
/// The name of the setting that limits what the engine may ask of its device.
pub const STORAGE_LIMIT: &str = "storage_limit";
/// The limit of CPU.
pub const CPU_LIMIT: &str = "cpu_limit";
/// The name of the setting that holds the CPUs of clients and engine.
pub const CPUS: &str = "cpus";

/// The name by which engines call how safe a commit is.
pub const DURABILITY: &str = "durability";

/// The parameter that names a question of a user's own statements.
const QUESTION: &str = "question";
/// The name of the setting for the number of instances that run at once.
pub const INSTANCES: &str = "instances";

/// What a setting decides. The order is that in which dimensions are considered: what was asked for comes before how.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// The engine, or the path that was measured.
    Engine,
    Workload,
    /// The sort of work: another value asks for something else (`mode`, `mix`, `step`).
    Work,
    /// What the engine works on (`fs`, `storage_limit`, `cpu_limit`, `cpus`).
    Ground,
    /// How many instances run at once.
    Instances,
    /// How large data and caches are.
    Size,
    Tuning,
    /// What paces the load.
    Pacing,
    /// What ends the run.
    Until,
    /// The number of clients.
    Clients,
    /// The operations that one client keeps in flight.
    Depth,
    Repeat,
}

/// The value of a setting.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SettingValue {
    /// A name: of the engine or the workload.
    Name(String),
    /// A parameter of the engine or the workload.
    Param(Value),
    /// A file system that was made.
    FileSystem(FileSystem),
    /// What the engine may ask of its device.
    StorageLimit(StorageLimit),
    /// What paces the load.
    Pacing(Pacing),
    /// What ends the run.
    Until(Until),
    /// A number: clients, depth, repetition.
    Count(u32),
    /// A time: how long a rate is held.
    Time(Nanos),
    /// Nothing was made, or nothing is limited.
    Absent,
    /// The plan left the choice to plimsoll or to the server.
    Default,
    /// A setting of the machine stayed as it was.
    Kept,
}

/// Between which points a setting is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Scope {
    Run,
    Workload,
    Engine,
}

/// One setting of a point.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Setting {
    /// Its name, as its flag has it.
    pub name: String,
    pub role: Role,
    pub value: SettingValue,
    /// Whether it has any effect on the point.
    pub used: bool,
    /// Whether it is known to be the parameter's default.
    #[serde(skip)]
    pub is_default: bool,
    /// Its value as people say it in a sentence; `None` if its parameter declares no phrase.
    #[serde(skip)]
    pub phrase: Option<String>,
    /// The role that its parameter declares; `None` for most settings that every trial has.
    #[serde(skip)]
    declared: Option<ParamRole>,
    /// Whether the name of a configuration file already distinguishes the points in which it differs.
    #[serde(skip)]
    follows_file: bool,
    #[serde(skip)]
    scope: Scope,
}

/// All settings of a point: engine, ground, workload, parameters, pacing, clients, depth and repetition, in this order.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Settings(Vec<Setting>);

/// What distinguishes a point from the others of its run.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Label {
    /// What distinguishes its sweep: all but clients, depth and repetition.
    pub group: Vec<Setting>,
    /// Its place in the sweep: clients, depth and repetition, if they vary.
    pub place: Vec<Setting>,
}

/// A setting that takes several values among some points.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Dimension {
    pub name: String,
    pub role: Role,
    /// Whether all the points use it.
    pub is_complete: bool,
    /// Whether it decides if the data fits in memory: the size of data or cache.
    #[serde(skip)]
    pub decides_fit: bool,
}

/// The settings, the label and the number of the group of one point. Points with equal groups differ at most in their places.
#[derive(Clone, Debug, PartialEq)]
pub struct Described {
    pub settings: Settings,
    pub label: Label,
    /// Which group it belongs to, from 0, in the order of their first points.
    pub group: usize,
}

/// Describes the points of a run, in their order. Their labels have what differs, and nothing else; engines are called by `names`.
pub fn describe(points: &[PointData], names: &EngineNames) -> Vec<Described> {
    let mut all: Vec<Settings> = points.iter().map(|point| Settings::from_point(point, names)).collect();
    mark_missing_indexes(points, &mut all);
    fill_in_defaults(points, &mut all);
    leave_to_config_files(points, &mut all);
    let varying = varying_by_scope(points, &all);
    let labels: Vec<Label> =
        points.iter().zip(&all).map(|(point, settings)| label_point(&point.trial, settings, &varying)).collect();
    let groups = number_groups(points, &labels);
    let described = all.into_iter().zip(labels).zip(groups);
    described.map(|((settings, label), group)| Described { settings, label, group }).collect()
}

/// The settings in which the points of `all` differ, by role and name.
pub fn varying<'a>(all: impl IntoIterator<Item = &'a Settings>) -> Vec<Dimension> {
    let (mut seen, mut points): (HashMap<&str, SeenValues>, usize) = (HashMap::new(), 0);
    for settings in all {
        points += 1;
        for setting in settings.compared() {
            seen.entry(&setting.name).or_insert_with(|| SeenValues::new(setting)).add(setting);
        }
    }
    let differing = seen.into_values().filter(|seen| seen.differ);
    let mut dimensions: Vec<Dimension> = differing.map(|seen| seen.dimension(points)).collect();
    dimensions.sort_by(|a, b| (a.role, &a.name).cmp(&(b.role, &b.name)));
    dimensions
}

/// Those of `candidates`, in their order, that distinguish points which the ones before them do not distinguish. A parameter that
/// only one engine has adds nothing to the engine.
pub fn independent(all: &[&Settings], candidates: Vec<Dimension>) -> Vec<Dimension> {
    let mut classes = vec![0; all.len()];
    let mut count = 1;
    let mut kept = Vec::new();
    for dimension in candidates {
        let (refined, more) = refine_classes(&classes, all, &dimension.name);
        // A dimension that splits no class repeats what those before it have shown.
        if more > count {
            (classes, count) = (refined, more);
            kept.push(dimension);
        }
    }
    kept
}

/// The classes of points when `name` is considered, too, and how many there are.
fn refine_classes(classes: &[usize], all: &[&Settings], name: &str) -> (Vec<usize>, usize) {
    let mut known: HashMap<(usize, Option<String>), usize> = HashMap::new();
    let refined = classes.iter().zip(all).map(|(class, settings)| {
        let next = known.len();
        *known.entry((*class, settings.text(name))).or_insert(next)
    });
    (refined.collect(), known.len())
}

/// The values that a setting has at some points.
struct SeenValues<'a> {
    first: &'a Setting,
    points: usize,
    differ: bool,
}

impl<'a> SeenValues<'a> {
    fn new(first: &'a Setting) -> SeenValues<'a> {
        SeenValues { first, points: 0, differ: false }
    }

    fn add(&mut self, setting: &Setting) {
        self.points += 1;
        self.differ |= setting.value != self.first.value;
    }

    /// The dimension that the setting is among `all` points.
    fn dimension(&self, all: usize) -> Dimension {
        Dimension {
            name: self.first.name.clone(),
            role: self.first.role,
            is_complete: self.points == all,
            decides_fit: self.first.decides_fit(),
        }
    }
}

/// The points whose setting is compared: all, those of one workload, or those of one workload and engine.
type ComparedPoints<'a> = (Scope, &'a str, &'a str);

fn compared_points(scope: Scope, trial: &Trial) -> ComparedPoints<'_> {
    match scope {
        Scope::Run => (scope, "", ""),
        Scope::Workload => (scope, &trial.workload.name, ""),
        Scope::Engine => (scope, &trial.workload.name, &trial.target.engine),
    }
}

fn varying_by_scope<'a>(points: &'a [PointData], all: &'a [Settings]) -> HashSet<(ComparedPoints<'a>, &'a str)> {
    let mut seen: HashMap<(ComparedPoints, &str), SeenValues> = HashMap::new();
    for (point, settings) in points.iter().zip(all) {
        for setting in settings.compared() {
            let key = (compared_points(setting.scope, &point.trial), setting.name.as_str());
            seen.entry(key).or_insert_with(|| SeenValues::new(setting)).add(setting);
        }
    }
    seen.into_iter().filter(|(_, seen)| seen.differ).map(|(key, _)| key).collect()
}

fn label_point(trial: &Trial, settings: &Settings, varying: &HashSet<(ComparedPoints, &str)>) -> Label {
    let differs =
        |setting: &&Setting| varying.contains(&(compared_points(setting.scope, trial), setting.name.as_str()));
    let (group, place) = settings.compared().filter(differs).cloned().partition(|setting| setting.role < Role::Clients);
    Label { group, place }
}

fn number_groups(points: &[PointData], labels: &[Label]) -> Vec<usize> {
    let mut known = HashMap::new();
    let numbers = points.iter().zip(labels).map(|(point, label)| {
        let words = label.group.iter().map(|setting| (setting.name.as_str(), setting.value.to_string()));
        let words: Vec<(&str, String)> = words.collect();
        let next = known.len();
        *known.entry((&point.trial.workload.name, words)).or_insert(next)
    });
    numbers.collect()
}

impl Settings {
    fn from_point(point: &PointData, names: &EngineNames) -> Settings {
        let trial = &point.trial;
        let name = names.name_of(trial);
        let mut engine = Setting::of_run(ENGINE, Role::Engine, SettingValue::Name(name.clone()));
        // With its version, if the name has one because the run has several.
        let spoken = point.traits.phrases.get(ENGINE).zip(name.strip_prefix(&trial.target.engine));
        engine.phrase = spoken.map(|(spoken, rest)| [spoken.as_str(), rest].concat());
        let mut all = vec![engine];
        all.extend(ground_settings(trial));
        all.push(Setting::of_run("workload", Role::Workload, SettingValue::Name(trial.workload.name.clone())));
        all.extend(param_settings(point, ParamOwner::Workload));
        all.extend(param_settings(point, ParamOwner::Engine));
        all.extend(search_settings(trial));
        all.extend(load_settings(trial));
        for setting in all.iter_mut().filter(|setting| setting.declared.is_none() || setting.name == MEMORY_LIMIT) {
            setting.phrase = setting.phrase.take().or_else(|| common_phrase(&setting.name, trial));
        }
        Settings(all)
    }

    /// All settings, used or not.
    pub fn iter(&self) -> impl Iterator<Item = &Setting> {
        self.0.iter()
    }

    /// The settings that have any effect on the point.
    pub fn used(&self) -> impl Iterator<Item = &Setting> {
        self.0.iter().filter(|setting| setting.used)
    }

    /// The settings in which points are compared: those that have any effect, without the variables that are in a configuration file.
    fn compared(&self) -> impl Iterator<Item = &Setting> {
        self.used().filter(|setting| !setting.follows_file)
    }

    /// The setting `name`, used or not. If workload and engine both have a parameter of that name, the workload's.
    pub fn get(&self, name: &str) -> Option<&Setting> {
        self.0.iter().find(|setting| setting.name == name)
    }

    /// Whether the point is at `place`, which these settings name.
    pub fn are_at<'s>(&self, place: impl IntoIterator<Item = &'s Setting>) -> bool {
        place.into_iter().all(|one| self.has(one))
    }

    /// Whether the point has the value of `setting`, and uses it.
    pub fn has(&self, setting: &Setting) -> bool {
        self.value(&setting.name) == Some(&setting.value)
    }

    /// The value of `name`; `None` if the point lacks it or makes no use of it.
    pub fn value(&self, name: &str) -> Option<&SettingValue> {
        self.get(name).filter(|setting| setting.used).map(|setting| &setting.value)
    }

    /// The value of `name` as a person would write it in a plan; `None` if the point lacks it or makes no use of it.
    pub fn text(&self, name: &str) -> Option<String> {
        self.value(name).map(SettingValue::to_string)
    }

    /// The word in `name`; `None` if the point lacks it, makes no use of it, or it holds something else.
    pub fn word(&self, name: &str) -> Option<&str> {
        self.get(name).filter(|setting| setting.used)?.word()
    }

    /// The step of a sequence that the point is; `None` if it is in no sequence.
    pub fn step(&self) -> Option<&str> {
        self.used().find(|setting| setting.is_step())?.word()
    }

    /// The configuration file of the engine, or the word for none; `None` if the engine has no such files.
    fn config_file(&self) -> Option<String> {
        let file = self.0.iter().find(|setting| setting.declared == Some(ParamRole::ConfigFile));
        file.map(|setting| setting.value.to_string())
    }

    /// The variables of the engine's server.
    fn variables(&self) -> impl Iterator<Item = &Setting> {
        self.0.iter().filter(|setting| is_variable(&setting.name))
    }

    /// Adds `setting`, or replaces the one of its name.
    pub fn put(&mut self, setting: Setting) {
        match self.0.iter_mut().find(|known| known.name == setting.name) {
            Some(known) => *known = setting,
            None => self.0.push(setting),
        }
    }

    /// Removes the setting `name`.
    pub fn remove(&mut self, name: &str) {
        self.0.retain(|setting| setting.name != name);
    }
}

impl Setting {
    /// A setting that every trial has, such as `clients`.
    pub fn of_run(name: &str, role: Role, value: SettingValue) -> Setting {
        let (used, is_default, declared, scope) = (true, false, None, Scope::Run);
        Setting {
            name: name.to_owned(),
            role,
            value,
            used,
            is_default,
            phrase: None,
            declared,
            follows_file: false,
            scope,
        }
    }

    /// Whether it names the step of a sequence that the point is.
    pub fn is_step(&self) -> bool {
        self.declared == Some(ParamRole::Step)
    }

    /// Whether its word is a name that the user chose: of a configuration file, or of a question.
    pub(crate) fn is_named_by_user(&self) -> bool {
        self.declared == Some(ParamRole::ConfigFile) || self.name == QUESTION
    }

    /// A parameter of the workload that declares `role` and has an effect.
    pub fn of_workload(name: &str, role: ParamRole, value: Value) -> Setting {
        Setting { scope: Scope::Workload, ..Setting::of_param(name, role, value) }
    }

    fn of_param(name: &str, role: ParamRole, value: Value) -> Setting {
        let setting = Setting::of_run(name, setting_role(role), SettingValue::Param(value));
        Setting { declared: Some(role), scope: Scope::Engine, ..setting }
    }

    fn word(&self) -> Option<&str> {
        match &self.value {
            SettingValue::Param(Value::Word(word)) => Some(word),
            _ => None,
        }
    }

    /// Whether it is the size of the data.
    pub(crate) fn is_data_size(&self) -> bool {
        self.declared == Some(ParamRole::DataSize)
    }

    /// Whether it decides if the data fits in memory.
    pub(crate) fn decides_fit(&self) -> bool {
        matches!(self.declared, Some(ParamRole::CacheSize | ParamRole::DataSize))
    }
}

/// The engine by its name, without a version, or the path.
pub fn engine_or_path(trial: &Trial) -> String {
    match &trial.target.path {
        Some(path) => path.display().to_string(),
        None => trial.target.engine.clone(),
    }
}

/// The file system that was made for the trial, and what the engine may have at most.
fn ground_settings(trial: &Trial) -> Vec<Setting> {
    let (fs, limits) = (trial.target.fs, trial.target.limits);
    let kind = fs.map_or(SettingValue::Absent, |fs| SettingValue::FileSystem(fs.kind));
    let memory = limits.memory.map_or(SettingValue::Absent, size_value);
    let storage =
        if limits.storage.is_none() { SettingValue::Absent } else { SettingValue::StorageLimit(limits.storage) };
    let mut all = vec![Setting::of_run("fs", Role::Ground, kind)];
    if let Some(fs) = fs {
        all.push(Setting::of_run("fs_size", Role::Size, fs.size.map_or(SettingValue::Default, size_value)));
    }
    // What the engine may have of memory bounds every cache.
    let memory = Setting::of_run(MEMORY_LIMIT, Role::Size, memory);
    all.push(Setting { declared: Some(ParamRole::CacheSize), ..memory });
    all.push(Setting::of_run(STORAGE_LIMIT, Role::Ground, storage));
    let cpu = limits.cpu.map_or(SettingValue::Absent, |limit| SettingValue::Param(Value::Word(limit.to_string())));
    all.push(Setting::of_run(CPU_LIMIT, Role::Ground, cpu));
    all.extend(machine_settings(&trial.target.machine));
    all.push(Setting::of_run(INSTANCES, Role::Instances, SettingValue::Count(trial.target.instances)));
    all
}

/// The CPUs of the trial, and what it asks of the kernel.
fn machine_settings(machine: &MachineSetup) -> [Setting; 4] {
    let cpus = machine.cpus.as_ref().map(CpuAssignment::to_string);
    let [smt, turbo] = [machine.smt, machine.turbo].map(|switch| switch.map(|switch| switch.as_str().to_owned()));
    let scheduler = machine.scheduler.map(|scheduler| scheduler.as_str().to_owned());
    let all = [(CPUS, cpus), ("smt", smt), ("turbo", turbo), ("scheduler", scheduler)];
    all.map(|(name, asked)| {
        let value = match asked {
            Some(word) => SettingValue::Param(Value::Word(word)),
            None if name == CPUS => SettingValue::Absent,
            None => SettingValue::Kept,
        };
        Setting::of_run(name, Role::Ground, value)
    })
}

fn size_value(bytes: Bytes) -> SettingValue {
    SettingValue::Param(Value::Bytes(bytes))
}

/// What a search for the largest rate asks for, if `trial` is one.
fn search_settings(trial: &Trial) -> Vec<Setting> {
    let Some(part) = &trial.limit else { return Vec::new() };
    let objective = SettingValue::Param(Value::Word(part.spec.objective.to_string()));
    [("slo", objective), ("hold", SettingValue::Time(part.spec.hold))]
        .map(|(name, value)| Setting { scope: Scope::Workload, ..Setting::of_run(name, Role::Tuning, value) })
        .into()
}

/// What paces and ends the load, and how much of it there is.
fn load_settings(trial: &Trial) -> [Setting; 5] {
    [
        ("pacing", Role::Pacing, pacing_of(trial.load.pacing)),
        ("until", Role::Until, SettingValue::Until(trial.phases.until)),
        ("clients", Role::Clients, SettingValue::Count(trial.load.clients)),
        ("depth", Role::Depth, SettingValue::Count(trial.load.depth)),
        ("repeat", Role::Repeat, SettingValue::Count(trial.repeat)),
    ]
    .map(|(name, role, value)| Setting { scope: Scope::Workload, ..Setting::of_run(name, role, value) })
}

/// The parameters of `owner` as the point declares them, the sort of work first. What is not declared is tuning.
fn param_settings(point: &PointData, owner: ParamOwner) -> Vec<Setting> {
    let (params, scope) = match owner {
        ParamOwner::Workload => (&point.trial.workload.params, Scope::Workload),
        ParamOwner::Engine => (&point.trial.target.params, Scope::Engine),
    };
    let mut all = Vec::new();
    for (name, value) in &params.0 {
        let declared = point.params.iter().find(|param| param.owner == owner && param.name == *name);
        let (role, used) = declared.map_or((ParamRole::Tuning, true), |param: &PointParam| (param.role, param.used));
        let is_default = point.traits.defaults.contains(name);
        let phrase = point.traits.phrases.get(name).cloned().or_else(|| step_phrase(point, role));
        all.push(Setting { used, is_default, phrase, scope, ..Setting::of_param(name, role, value.clone()) });
    }
    all.sort_by_key(|setting| setting.role != Role::Work);
    all
}

/// What the step does, for runs that do not have its phrase.
fn step_phrase(point: &PointData, role: ParamRole) -> Option<String> {
    let step = point.traits.work.step.as_ref().filter(|_| role == ParamRole::Step)?;
    let inserts = point.kinds.iter().any(|kind| kind.rows_per_op > 0.0 && !kind.background);
    let words = match (step.indexes, inserts) {
        (StepIndexes::Made, _) => "building the indexes",
        _ if step.drains => "writing what was put off",
        (StepIndexes::NotAtStart, true) => "inserts without indexes",
        (StepIndexes::Kept, true) => "inserts with indexes",
        (_, false) => "queries",
    };
    Some(words.to_owned())
}

fn setting_role(declared: ParamRole) -> Role {
    match declared {
        ParamRole::Mode | ParamRole::Mix | ParamRole::Step => Role::Work,
        // A detail of the same sort of work is one more thing to try out.
        ParamRole::Work | ParamRole::ConfigFile | ParamRole::Tuning => Role::Tuning,
        ParamRole::Ground | ParamRole::Indexes => Role::Ground,
        ParamRole::CacheSize | ParamRole::DataSize | ParamRole::Size => Role::Size,
    }
}

/// A step on tables without secondary indexes makes no use of their number, whatever its plan asks for.
fn mark_missing_indexes(points: &[PointData], all: &mut [Settings]) {
    let mut settings = all.iter_mut();
    for sequence in sequence::sequences(points) {
        let mut present = None;
        for (point, own) in sequence.iter().zip(&mut settings) {
            let step = point.traits.work.step.as_ref().map_or(StepIndexes::Kept, |step| step.indexes);
            let has_indexes = *present.insert(step.present(present));
            let indexes = own.0.iter_mut().filter(|setting| setting.declared == Some(ParamRole::Indexes));
            indexes.for_each(|setting| setting.used &= has_indexes);
        }
    }
}

/// A variable of a server that a plan does not set has the server's own value: that differs from the points that set it.
fn fill_in_defaults(points: &[PointData], all: &mut [Settings]) {
    let mut variables: HashMap<&str, BTreeSet<&str>> = HashMap::new();
    for point in points {
        let set = point.trial.target.params.0.keys().filter(|name| is_variable(name));
        variables.entry(&point.trial.target.engine).or_default().extend(set.map(String::as_str));
    }
    for (point, own) in points.iter().zip(all) {
        let known = &variables[point.trial.target.engine.as_str()];
        let missing = known.iter().filter(|name| !point.trial.target.params.0.contains_key(**name));
        let unset: Vec<Setting> = missing.map(|name| unset_variable(name)).collect();
        let end = own.0.iter().position(|setting| setting.role == Role::Pacing).unwrap_or(own.0.len());
        own.0.splice(end..end, unset);
    }
}

fn unset_variable(name: &str) -> Setting {
    Setting { scope: Scope::Engine, ..Setting::of_run(name, Role::Tuning, SettingValue::Default) }
}

/// A variable that has one value with each configuration file follows from the file: labels and comparisons name the file alone. A
/// variable that a plan changes in addition has several values with one file and is compared on its own.
fn leave_to_config_files(points: &[PointData], all: &mut [Settings]) {
    let engine = |point: &PointData| point.trial.target.engine.clone();
    let mut seen: HashMap<(String, String, String), String> = HashMap::new();
    let mut free: HashSet<(String, String)> = HashSet::new();
    for (point, own) in points.iter().zip(all.iter()) {
        let Some(file) = own.config_file() else { continue };
        for variable in own.variables() {
            let (name, value) = (variable.name.clone(), variable.value.to_string());
            let known = seen.entry((engine(point), file.clone(), name.clone())).or_insert_with(|| value.clone());
            if *known != value {
                free.insert((engine(point), name));
            }
        }
    }
    for (point, own) in points.iter().zip(all) {
        if own.config_file().is_some() {
            let of_file = |name: &str| !free.contains(&(engine(point), name.to_owned()));
            let variables = own.0.iter_mut().filter(|setting| is_variable(&setting.name));
            variables.for_each(|setting| setting.follows_file = of_file(&setting.name));
        }
    }
}

fn is_variable(name: &str) -> bool {
    name.contains('.')
}

/// The pacing as a setting. The mean rate of a recording follows from the recording and the speed, which are settings of their own.
fn pacing_of(pacing: Pacing) -> SettingValue {
    match pacing {
        Pacing::Open { arrivals: Arrivals::Recorded { .. } } => SettingValue::Name("recorded times".to_owned()),
        other => SettingValue::Pacing(other),
    }
}

impl fmt::Display for SettingValue {
    /// As a person would write it in a plan.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SettingValue::Name(name) => f.write_str(name),
            SettingValue::Param(value) => write!(f, "{value}"),
            SettingValue::FileSystem(kind) => write!(f, "{kind}"),
            SettingValue::StorageLimit(limit) => write!(f, "{limit}"),
            SettingValue::Pacing(Pacing::Closed { think: Nanos(0) }) => f.write_str("closed"),
            SettingValue::Pacing(Pacing::Closed { think }) => write!(f, "closed, think {}", think.in_full()),
            SettingValue::Pacing(Pacing::Open { arrivals }) => {
                write!(f, "{} {}", arrivals_word(arrivals), arrivals.per_s())
            }
            SettingValue::Until(Until::Time) => f.write_str("time"),
            SettingValue::Until(Until::Steady { .. }) => f.write_str("steady"),
            SettingValue::Until(Until::Sure(within)) => write!(f, "sure:{within}"),
            SettingValue::Count(n) => write!(f, "{n}"),
            SettingValue::Time(time) => write!(f, "{}s", time.as_secs_f64()),
            SettingValue::Absent => f.write_str("none"),
            SettingValue::Default => f.write_str("default"),
            // A scheduler may be called `none`: what stays as it is has another word.
            SettingValue::Kept => f.write_str("keep"),
        }
    }
}

/// The values of `settings`, for findings that name a group.
pub fn plain_words(settings: &[Setting]) -> String {
    settings.iter().map(|setting| setting.value.to_string()).collect::<Vec<_>>().join(" ")
}

/// The word for a sort of arrivals, as `--arrivals` has it.
pub fn arrivals_word(arrivals: &Arrivals) -> &'static str {
    match arrivals {
        Arrivals::Constant { .. } => "constant",
        Arrivals::Poisson { .. } => "poisson",
        Arrivals::Recorded { .. } => "recorded",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulated::{Simulation, params};
    use model::FileSystemSpec;
    use std::path::PathBuf;

    fn point(engine: &str, workload: &str, pairs: &[(&str, Value)], clients: u32, depth: u32) -> PointData {
        let simulation = Simulation::counts(&[1]).with(|point| {
            point.trial.target.engine = engine.into();
            point.trial.target.params = params(&[("cache", Value::Bytes(Bytes(engine.len() as u64)))]);
            point.trial.workload.name = workload.into();
            point.trial.workload.params = params(pairs);
            (point.trial.load.clients, point.trial.load.depth) = (clients, depth);
        });
        simulation.point()
    }

    fn described(points: &[PointData]) -> Vec<Described> {
        describe(points, &EngineNames::new(points, &[]))
    }

    fn word(word: &str) -> Value {
        Value::Word(word.into())
    }

    fn words(settings: &[Setting]) -> String {
        settings.iter().map(|setting| format!("{}={}", setting.name, setting.value)).collect::<Vec<_>>().join(" ")
    }

    /// `group | place` of each point.
    fn labels(points: &[PointData]) -> Vec<String> {
        let text = |one: Described| format!("{} | {}", words(&one.label.group), words(&one.label.place));
        described(points).into_iter().map(text).collect()
    }

    fn group_labels(points: &[PointData]) -> Vec<String> {
        described(points).iter().map(|one| words(&one.label.group)).collect()
    }

    fn dimension_names(points: &[PointData]) -> Vec<String> {
        let described = described(points);
        let settings: Vec<&Settings> = described.iter().map(|one| &one.settings).collect();
        let chosen = independent(&settings, varying(settings.iter().copied()));
        chosen.into_iter().map(|dimension| dimension.name).collect()
    }

    #[test]
    fn a_mixed_run_is_labelled_by_what_varies_and_nothing_else() {
        let block = ("block", Value::Bytes(Bytes(16384)));
        let points = [
            point("file", "file", &[("mode", word("rndrd")), block.clone()], 1, 8),
            point("file", "file", &[("mode", word("rndwr")), block], 1, 32),
            point("sqlite", "insert", &[("indexes", Value::Int(0))], 1, 1),
            point("fjall", "insert", &[("indexes", Value::Int(3))], 1, 1),
            point("sqlite", "oltp", &[], 1, 1),
            point("sqlite", "oltp", &[], 16, 1),
        ];
        let expected = [
            "engine=file workload=file mode=rndrd | depth=8",
            "engine=file workload=file mode=rndwr | depth=32",
            "engine=sqlite workload=insert indexes=0 | ",
            "engine=fjall workload=insert indexes=3 | ",
            "engine=sqlite workload=oltp | clients=1",
            "engine=sqlite workload=oltp | clients=16",
        ];
        assert_eq!(labels(&points), expected);
        assert_eq!(described(&points).iter().map(|one| one.group).collect::<Vec<_>>(), [0, 1, 2, 3, 4, 4]);
    }

    #[test]
    fn a_parameter_that_a_point_lacks_or_does_not_use_is_no_dimension_by_itself() {
        let reads = point("file", "file", &[("mode", word("rndrd"))], 1, 1);
        let writes = point("file", "file", &[("mode", word("rndwr")), ("fsync", word("none"))], 1, 1);
        let unused = point("file", "file", &[("mode", word("seqrd")), ("fsync", word("all"))], 1, 1);
        assert_eq!(dimension_names(&[reads.clone(), writes.clone()]), ["mode"]);
        assert_eq!(dimension_names(&[reads.clone(), writes.clone(), unused.clone()]), ["mode"]);
        assert_eq!(group_labels(&[reads.clone(), writes.clone()]), ["mode=rndrd", "mode=rndwr"]);
        let synced = point("file", "file", &[("mode", word("rndwr")), ("fsync", word("all"))], 1, 1);
        let all = [reads, writes, synced];
        assert_eq!(dimension_names(&all), ["mode", "fsync"]);
        assert_eq!(group_labels(&all), ["mode=rndrd", "mode=rndwr fsync=none", "mode=rndwr fsync=all"]);
        let described = described(&all);
        let dimensions = varying(described.iter().map(|one| &one.settings));
        assert_eq!(dimensions.iter().map(|one| one.is_complete).collect::<Vec<_>>(), [true, false]);
    }

    #[test]
    fn what_follows_from_the_engine_is_no_dimension_of_its_own() {
        let points = [point("innodb", "oltp", &[], 1, 1), point("rocksdb", "oltp", &[], 1, 1)];
        assert_eq!(dimension_names(&points), ["engine"], "each has a cache of its own");
    }

    #[test]
    fn a_step_on_tables_without_indexes_has_no_number_of_indexes() {
        let steps = |steps: &[&str]| -> Vec<PointData> {
            let of = |indexes: u64| {
                let step = move |step: &&str| {
                    point("sqlite", "insert", &[("step", word(step)), ("indexes", Value::Int(indexes))], 1, 1)
                };
                steps.iter().map(step).collect::<Vec<_>>()
            };
            [of(0), of(3)].concat()
        };
        let (none, made) = (["step=l.i0", "step=l.i1"], ["step=l.i0", "step=l.x indexes=3", "step=l.i1 indexes=3"]);
        assert_eq!(group_labels(&steps(&["l.i0", "l.i1"]))[2..], none);
        assert_eq!(group_labels(&steps(&["l.i0", "l.x", "l.i1"]))[3..], made);
        assert_eq!(group_labels(&steps(&["l.i1"])), ["indexes=0", "indexes=3"], "it has them from the start");
    }

    #[test]
    fn a_server_variable_that_is_not_set_differs_from_one_that_is() {
        let mut points = [point("mariadb", "oltp", &[], 1, 1), point("mariadb", "oltp", &[], 1, 1)];
        points[1].trial.target.params.0.insert("mariadb.flush".into(), word("O_DIRECT"));
        assert_eq!(group_labels(&points), ["mariadb.flush=default", "mariadb.flush=O_DIRECT"]);
    }

    #[test]
    fn pacing_and_the_end_of_the_run_are_dimensions() {
        let mut points: Vec<PointData> = (0..2).map(|_| point("null", "file", &[], 1, 1)).collect();
        points[1].trial.load.pacing = Pacing::Open { arrivals: Arrivals::Poisson { per_s: 5_000.0 } };
        assert_eq!(group_labels(&points), ["pacing=closed", "pacing=poisson 5000"]);
        let mut points: Vec<PointData> = (0..2).map(|_| point("file", "file", &[], 1, 1)).collect();
        points[1].trial.phases.until = Until::Steady { round: Nanos::from_secs(60), precondition: 2 };
        assert_eq!(group_labels(&points), ["until=time", "until=steady"]);
    }

    #[test]
    fn the_points_of_a_lone_sweep_differ_in_their_places_only() {
        let points = [point("sqlite", "oltp", &[], 1, 1), point("sqlite", "oltp", &[], 4, 1)];
        assert_eq!(labels(&points), [" | clients=1", " | clients=4"]);
        assert_eq!(
            describe(&points, &EngineNames::new(&points, &[])).iter().map(|one| one.group).collect::<Vec<_>>(),
            [0, 0]
        );
    }

    #[test]
    fn paths_and_file_systems_are_groups_of_their_own() {
        let at = |path: &str| {
            let mut point = point("file", "file", &[], 1, 1);
            point.trial.target.path = Some(PathBuf::from(path));
            point
        };
        assert_eq!(group_labels(&[at("/mnt/a/f"), at("/mnt/b/f")]), ["engine=/mnt/a/f", "engine=/mnt/b/f"]);
        let on = |words: Option<&str>, mib: Option<u64>| {
            let mut point = point("sqlite", "oltp", &[], 1, 1);
            let kind = words.and_then(FileSystem::from_words);
            point.trial.target.fs = kind.map(|kind| FileSystemSpec { kind, size: mib.map(Bytes::from_mib) });
            point
        };
        let kinds = [on(None, None), on(Some("ext4:nobarrier"), None), on(Some("btrfs:zstd:3"), None)];
        assert_eq!(group_labels(&kinds), ["fs=none", "fs=ext4:nobarrier", "fs=btrfs:zstd:3"]);
        let sizes = [on(Some("xfs"), None), on(Some("xfs"), Some(512))];
        assert_eq!(group_labels(&sizes), ["fs_size=default", "fs_size=512 MiB"]);
    }

    /// A point on a server with this configuration file, which sets these variables.
    fn configured(file: &str, variables: &[(&str, &str)]) -> PointData {
        let mut point = point("mariadb", "oltp", &[], 1, 1);
        let role = ParamRole::ConfigFile;
        point.params.push(PointParam { name: "config".into(), owner: ParamOwner::Engine, role, used: true });
        let all = variables.iter().copied().chain([("config", file)]);
        point.trial.target.params.0.extend(all.map(|(name, value)| (name.to_string(), word(value))));
        point
    }

    #[test]
    fn a_configuration_file_stands_for_the_variables_that_follow_from_it() {
        let points = [
            configured("default", &[]),
            configured("a.cnf", &[("mariadb.x", "1"), ("mariadb.y", "1")]),
            configured("b.cnf", &[("mariadb.x", "2"), ("mariadb.y", "1")]),
        ];
        assert_eq!(group_labels(&points), ["config=default", "config=a.cnf", "config=b.cnf"]);
        assert_eq!(dimension_names(&points), ["config"]);
        let settings = &described(&points)[2].settings;
        assert_eq!(settings.text("mariadb.x").as_deref(), Some("2"), "it is listed all the same");
    }

    #[test]
    fn a_variable_that_a_plan_changes_in_addition_to_the_file_is_compared_on_its_own() {
        let pairs = [("a.cnf", "1"), ("a.cnf", "2"), ("b.cnf", "1"), ("b.cnf", "2")];
        let points = pairs.map(|(file, x)| configured(file, &[("mariadb.x", x), ("mariadb.y", file)]));
        let expected = [
            "config=a.cnf mariadb.x=1",
            "config=a.cnf mariadb.x=2",
            "config=b.cnf mariadb.x=1",
            "config=b.cnf mariadb.x=2",
        ];
        assert_eq!(group_labels(&points), expected);
        assert_eq!(dimension_names(&points), ["config", "mariadb.x"]);
    }

    #[test]
    fn thousands_of_points_are_described_at_once() {
        let points: Vec<PointData> = (0..4_000)
            .map(|nth| point("sqlite", "oltp", &[("tables", Value::Int(nth)), ("rows", Value::Int(nth % 7))], 1, 1))
            .collect();
        let began = std::time::Instant::now();
        let described = described(&points);
        let settings: Vec<&Settings> = described.iter().map(|one| &one.settings).collect();
        assert_eq!(independent(&settings, varying(settings.iter().copied())).len(), 2);
        // It takes 0.1 s without optimisation; what compares each point with all others takes a minute.
        assert!(began.elapsed().as_secs() < 10, "{:?}", began.elapsed());
    }
}
