//! What varies between points: the settings of each, those in which a run's points differ, and what follows from them.
//!
//! In: the trials of a run, or the settings of some of its points. Out: typed [`Settings`] and a [`Label`] for each point, and the
//! [`Dimension`]s of any selection of points. Everything takes time in proportion to the number of points.
//! Limits: a setting that a point lacks or does not use is never a difference by itself, so a dimension needs two points that use it
//! and disagree. Parameters of an engine are compared between points of the same engine and workload, those of a workload between
//! points of the same workload. Nothing here is text for people; the crate `report` words labels.

use crate::chain;
use model::{
    Arrivals, Bytes, FileSystem, Nanos, Pacing, ParamOwner, ParamRole, PointData, PointParam, StorageLimit, Trial,
    Until, Value,
};
use serde::Serialize;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::fmt;

/// What a setting decides. The order is that in which dimensions are considered: what was asked for comes before how.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// The engine, or the path that was measured.
    Target,
    /// The workload.
    Workload,
    /// The sort of work: another value asks for something else (`mode`, `mix`, `step`).
    Work,
    /// What the engine stands on (`fs`, `storage_limit`).
    Ground,
    /// How large data and caches are.
    Size,
    /// Any other parameter.
    Tuning,
    /// What paces the load.
    Pacing,
    /// What ends the run.
    Until,
    /// The number of clients.
    Clients,
    /// The operations that one client keeps in flight.
    Depth,
    /// The repetition.
    Repeat,
}

/// The value of a setting.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SettingValue {
    /// A name: of the target or the workload.
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
    /// Nothing was made, or nothing is limited.
    Absent,
    /// The plan left the choice to plimsoll or to the server.
    Default,
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
    /// What it decides.
    pub role: Role,
    /// Its value.
    pub value: SettingValue,
    /// Whether the point makes any use of it.
    pub used: bool,
    #[serde(skip)]
    scope: Scope,
}

/// All settings of a point: target, ground, workload, parameters, pacing, clients, depth and repetition, in this order.
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
    /// The setting's name.
    pub name: String,
    /// What it decides.
    pub role: Role,
    /// Whether all the points use it.
    pub is_complete: bool,
}

/// The settings, the label and the number of the group of one point. Points with equal groups differ at most in their places.
#[derive(Clone, Debug, PartialEq)]
pub struct Described {
    /// Its settings.
    pub settings: Settings,
    /// What distinguishes it.
    pub label: Label,
    /// Which group it belongs to, from 0, in the order of their first points.
    pub group: usize,
}

/// Describes the points of a run, in their order.
pub fn describe(points: &[PointData]) -> Vec<Described> {
    let mut all: Vec<Settings> = points.iter().map(|point| Settings::from_point(point)).collect();
    mark_missing_indexes(points, &mut all);
    fill_in_defaults(points, &mut all);
    let varying = varying_by_scope(points, &all);
    let labels = points.iter().zip(&all).map(|(point, settings)| label(&point.trial, settings, &varying));
    let labels: Vec<Label> = labels.collect();
    let groups = number_groups(points, &labels);
    let described = all.into_iter().zip(labels).zip(groups);
    described.map(|((settings, label), group)| Described { settings, label, group }).collect()
}

/// The settings in which the points of `all` differ, by role and name.
pub fn varying<'a>(all: impl IntoIterator<Item = &'a Settings>) -> Vec<Dimension> {
    let (mut seen, mut points): (HashMap<&str, Seen>, usize) = (HashMap::new(), 0);
    for settings in all {
        points += 1;
        for setting in settings.used() {
            seen.entry(&setting.name).or_insert_with(|| Seen::new(setting)).meet(setting);
        }
    }
    let differing = seen.into_iter().filter(|(_, seen)| seen.differs);
    let dimension = |(name, seen): (&str, Seen)| Dimension {
        name: name.to_owned(),
        role: seen.first.role,
        is_complete: seen.points == points,
    };
    let mut dimensions: Vec<Dimension> = differing.map(dimension).collect();
    dimensions.sort_by(|a, b| (a.role, &a.name).cmp(&(b.role, &b.name)));
    dimensions
}

/// Those of `candidates`, in their order, that tell apart points that the ones before them do not: a parameter of one engine says no
/// more than its engine.
pub fn independent(all: &[&Settings], candidates: Vec<Dimension>) -> Vec<Dimension> {
    let mut classes = vec![0; all.len()];
    let mut count = 1;
    let tells_more = |dimension: &Dimension| {
        let (refined, more) = refine(&classes, all, &dimension.name);
        let accepted = more > count;
        if accepted {
            (classes, count) = (refined, more);
        }
        accepted
    };
    candidates.into_iter().filter(tells_more).collect()
}

/// The classes of points when `name` is considered, too, and how many there are.
fn refine(classes: &[usize], all: &[&Settings], name: &str) -> (Vec<usize>, usize) {
    let mut known: HashMap<(usize, Option<String>), usize> = HashMap::new();
    let refined = classes.iter().zip(all).map(|(class, settings)| {
        let next = known.len();
        *known.entry((*class, settings.text(name))).or_insert(next)
    });
    (refined.collect(), known.len())
}

/// What is known of a setting after some points.
struct Seen<'a> {
    first: &'a Setting,
    points: usize,
    differs: bool,
}

impl<'a> Seen<'a> {
    fn new(first: &'a Setting) -> Seen<'a> {
        Seen { first, points: 0, differs: false }
    }

    fn meet(&mut self, setting: &Setting) {
        self.points += 1;
        self.differs |= setting.value != self.first.value;
    }
}

/// The points whose setting is compared: all, those of one workload, or those of one workload and engine.
type Compared<'a> = (Scope, &'a str, &'a str);

fn compared(scope: Scope, trial: &Trial) -> Compared<'_> {
    match scope {
        Scope::Run => (scope, "", ""),
        Scope::Workload => (scope, &trial.workload.name, ""),
        Scope::Engine => (scope, &trial.workload.name, &trial.target.engine),
    }
}

fn varying_by_scope<'a>(points: &'a [PointData], all: &'a [Settings]) -> HashSet<(Compared<'a>, &'a str)> {
    let mut seen: HashMap<(Compared, &str), Seen> = HashMap::new();
    for (point, settings) in points.iter().zip(all) {
        for setting in settings.used() {
            let key = (compared(setting.scope, &point.trial), setting.name.as_str());
            seen.entry(key).or_insert_with(|| Seen::new(setting)).meet(setting);
        }
    }
    seen.into_iter().filter(|(_, seen)| seen.differs).map(|(key, _)| key).collect()
}

fn label(trial: &Trial, settings: &Settings, varying: &HashSet<(Compared, &str)>) -> Label {
    let differs = |setting: &&Setting| varying.contains(&(compared(setting.scope, trial), setting.name.as_str()));
    let (mut group, place): (Vec<Setting>, Vec<Setting>) =
        settings.used().filter(differs).cloned().partition(|setting| setting.role < Role::Clients);
    if group.is_empty() {
        group = settings.used().filter(|setting| names_a_lone_group(setting)).cloned().collect();
    }
    // The workload `file` on the engine `file` is named once.
    let target = settings.value("target").cloned();
    group.retain(|setting| setting.role != Role::Workload || Some(&setting.value) != target.as_ref());
    Label { group, place }
}

fn names_a_lone_group(setting: &Setting) -> bool {
    matches!(setting.role, Role::Target | Role::Workload) || setting.name == MODE
}

fn number_groups(points: &[PointData], labels: &[Label]) -> Vec<usize> {
    let mut known: HashMap<(&str, Vec<(&str, String)>), usize> = HashMap::new();
    let numbers = points.iter().zip(labels).map(|(point, label)| {
        let words = label.group.iter().map(|setting| (setting.name.as_str(), setting.value.to_string()));
        let next = known.len();
        *known.entry((&point.trial.workload.name, words.collect())).or_insert(next)
    });
    numbers.collect()
}

impl Settings {
    fn from_point(point: &PointData) -> Settings {
        let trial = &point.trial;
        let mut all = vec![run_setting("target", Role::Target, SettingValue::Name(target_name(trial)))];
        all.extend(ground(trial));
        all.push(run_setting("workload", Role::Workload, SettingValue::Name(trial.workload.name.clone())));
        all.extend(param_settings(point, ParamOwner::Workload));
        all.extend(param_settings(point, ParamOwner::Engine));
        all.extend(load(trial));
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

    /// The setting `name`, used or not. If workload and engine both have a parameter of that name, the workload's.
    pub fn get(&self, name: &str) -> Option<&Setting> {
        self.0.iter().find(|setting| setting.name == name)
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
        match self.value(name)? {
            SettingValue::Param(Value::Word(word)) => Some(word),
            _ => None,
        }
    }

    /// The sort of work that is a step of a sequence, if the point is one.
    pub fn step(&self) -> Option<&str> {
        self.word(STEP)
    }

    /// Sets `name`, or replaces what is set under that name.
    pub fn set(&mut self, name: &str, value: SettingValue) {
        match self.0.iter_mut().find(|setting| setting.name == name) {
            Some(setting) => (setting.value, setting.used) = (value, true),
            None => self.0.push(Setting { scope: Scope::Workload, ..run_setting(name, role_of(name), value) }),
        }
        let mode = self.word(MODE).map(str::to_owned);
        let depends = |setting: &&mut Setting| USED_IN_MODES.iter().any(|(param, _)| *param == setting.name);
        for setting in self.0.iter_mut().filter(depends) {
            setting.used = is_used_in(&setting.name, mode.as_deref());
        }
    }

    /// Removes the setting `name`.
    pub fn remove(&mut self, name: &str) {
        self.0.retain(|setting| setting.name != name);
    }
}

impl FromIterator<(String, SettingValue)> for Settings {
    fn from_iter<I: IntoIterator<Item = (String, SettingValue)>>(pairs: I) -> Settings {
        let mut settings = Settings::default();
        pairs.into_iter().for_each(|(name, value)| settings.set(&name, value));
        settings
    }
}

fn run_setting(name: &str, role: Role, value: SettingValue) -> Setting {
    Setting { name: name.to_owned(), role, value, used: true, scope: Scope::Run }
}

/// The engine by name, or the path.
pub fn target_name(trial: &Trial) -> String {
    match &trial.target.path {
        Some(path) => path.display().to_string(),
        None => trial.target.engine.clone(),
    }
}

/// The file system that was made for the trial, and what the engine may have at most.
fn ground(trial: &Trial) -> Vec<Setting> {
    let or_absent = |value: Option<SettingValue>| value.unwrap_or(SettingValue::Absent);
    let bytes = |bytes: Bytes| SettingValue::Param(Value::Bytes(bytes));
    let fs = trial.target.fs;
    let limits = trial.target.limits;
    let storage = Some(limits.storage).filter(|limit| !limit.is_none());
    let size = fs.map(|fs| fs.size.map_or(SettingValue::Default, bytes));
    let mut all = vec![run_setting("fs", Role::Ground, or_absent(fs.map(|fs| SettingValue::FileSystem(fs.kind))))];
    all.extend(size.map(|size| run_setting("fs_size", Role::Size, size)));
    all.push(run_setting("memory_limit", Role::Size, or_absent(limits.memory.map(bytes))));
    let own = [&trial.workload.params, &trial.target.params];
    if own.iter().all(|params| !params.0.contains_key(STORAGE_LIMIT)) {
        let storage = or_absent(storage.map(SettingValue::StorageLimit));
        all.push(run_setting(STORAGE_LIMIT, Role::Ground, storage));
    }
    all
}

/// What paces and ends the load, and how much of it there is.
fn load(trial: &Trial) -> [Setting; 5] {
    let count = |value: u32| SettingValue::Count(value);
    [
        ("pacing", Role::Pacing, SettingValue::Pacing(trial.load.pacing)),
        ("until", Role::Until, SettingValue::Until(trial.phases.until)),
        ("clients", Role::Clients, count(trial.load.clients)),
        ("depth", Role::Depth, count(trial.load.depth)),
        ("repeat", Role::Repeat, count(trial.repeat)),
    ]
    .map(|(name, role, value)| Setting { scope: Scope::Workload, ..run_setting(name, role, value) })
}

/// The parameters of `owner` as the point declares them, what is asked for first. What is not declared is tuning.
fn param_settings(point: &PointData, owner: ParamOwner) -> Vec<Setting> {
    let (params, scope) = match owner {
        ParamOwner::Workload => (&point.trial.workload.params, Scope::Workload),
        ParamOwner::Engine => (&point.trial.target.params, Scope::Engine),
    };
    let setting = |(name, value): (&String, &Value)| {
        let declared = point.params.iter().find(|param| param.owner == owner && param.name == *name);
        let (role, used) = declared.map_or((Role::Tuning, true), |param| (role(param), param.used));
        Setting { role, ..param_setting(name, value.clone(), scope, used) }
    };
    let mut all: Vec<Setting> = params.0.iter().map(setting).collect();
    all.sort_by_key(|setting| setting.role != Role::Work);
    all
}

fn role(param: &PointParam) -> Role {
    match param.role {
        // What decides the sort of work is more than a detail of it.
        ParamRole::Work if SORTS_OF_WORK.contains(&param.name.as_str()) => Role::Work,
        ParamRole::Work | ParamRole::Tuning => Role::Tuning,
        ParamRole::Ground => Role::Ground,
        ParamRole::Size => Role::Size,
    }
}

fn param_setting(name: &str, value: Value, scope: Scope, used: bool) -> Setting {
    Setting { name: name.to_owned(), role: role_of(name), value: SettingValue::Param(value), used, scope }
}

// What the run file does not declare: which parameters decide the sort of work, and which steps have indexes.

const MODE: &str = "mode";
const STEP: &str = "step";
const STORAGE_LIMIT: &str = "storage_limit";

/// Another value of these asks for something else, and not for the same in another way.
const SORTS_OF_WORK: [&str; 3] = [MODE, "mix", STEP];

/// Settings that are more than tuning.
const ROLES: [(&str, Role); 15] = [
    ("target", Role::Target),
    ("workload", Role::Workload),
    ("pacing", Role::Pacing),
    ("until", Role::Until),
    ("clients", Role::Clients),
    ("depth", Role::Depth),
    ("repeat", Role::Repeat),
    (MODE, Role::Work),
    ("mix", Role::Work),
    (STEP, Role::Work),
    (STORAGE_LIMIT, Role::Ground),
    ("fs", Role::Ground),
    ("cache", Role::Size),
    ("memory_limit", Role::Size),
    ("rows", Role::Size),
];

fn role_of(name: &str) -> Role {
    ROLES.iter().find(|(param, _)| *param == name).map_or(Role::Tuning, |(_, role)| *role)
}

/// Parameters that a workload has always and uses in some of its modes only.
const USED_IN_MODES: [(&str, &[&str]); 7] = [
    ("access", &["rndrd", "rndwr", "rndrw"]),
    ("cursor", &["seqrd", "seqwr"]),
    ("fsync", WRITING),
    ("fsync_end", WRITING),
    ("fsync_every", WRITING),
    ("read_share", &["rndrw"]),
    ("sync", WRITING),
];
const WRITING: &[&str] = &["rndwr", "rndrw", "seqwr"];

/// Whether the parameter `name` has any effect in `mode`; a workload without modes uses all it has.
pub fn is_used_in(name: &str, mode: Option<&str>) -> bool {
    let bound = USED_IN_MODES.iter().find(|(param, _)| *param == name);
    bound.zip(mode).is_none_or(|((_, modes), mode)| modes.contains(&mode))
}

const INDEXES: &str = "indexes";
/// A sequence that begins with one of these begins with tables that have no secondary indexes;
const BEGIN_WITHOUT_INDEXES: [&str; 2] = ["l.i0", "l.x"];
/// until this step makes them.
const MAKES_INDEXES: &str = "l.x";

/// A step on tables without secondary indexes makes no use of their number, whatever its plan says.
fn mark_missing_indexes(points: &[PointData], all: &mut [Settings]) {
    let mut settings = all.iter_mut();
    for sequence in chain::sequences(points) {
        let mut has_indexes = chain::step(&sequence[0]).is_none_or(|first| !BEGIN_WITHOUT_INDEXES.contains(&first));
        for (point, own) in sequence.iter().zip(&mut settings) {
            has_indexes |= chain::step(point) == Some(MAKES_INDEXES);
            let indexes = own.0.iter_mut().filter(|setting| setting.name == INDEXES);
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
        let unset = |name: &&str| Setting {
            value: SettingValue::Default,
            ..param_setting(name, Value::Bool(false), Scope::Engine, true)
        };
        let unset: Vec<Setting> = missing.map(unset).collect();
        let end = own.0.iter().position(|setting| setting.role == Role::Pacing).unwrap_or(own.0.len());
        own.0.splice(end..end, unset);
    }
}

fn is_variable(name: &str) -> bool {
    name.contains('.')
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
            SettingValue::Pacing(Pacing::Closed { think }) => write!(f, "closed, think {think}"),
            SettingValue::Pacing(Pacing::Open { arrivals }) => {
                write!(f, "{} {}", arrivals_word(arrivals), arrivals.per_s())
            }
            SettingValue::Until(Until::Time) => f.write_str("time"),
            SettingValue::Until(Until::Steady { .. }) => f.write_str("steady"),
            SettingValue::Count(n) => write!(f, "{n}"),
            SettingValue::Absent => f.write_str("none"),
            SettingValue::Default => f.write_str("default"),
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
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::{Simulation, params};
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

    fn word(word: &str) -> Value {
        Value::Word(word.into())
    }

    fn words(settings: &[Setting]) -> String {
        settings.iter().map(|setting| format!("{}={}", setting.name, setting.value)).collect::<Vec<_>>().join(" ")
    }

    /// `group | place` of each point.
    fn labels(points: &[PointData]) -> Vec<String> {
        let told = |one: Described| format!("{} | {}", words(&one.label.group), words(&one.label.place));
        describe(points).into_iter().map(told).collect()
    }

    fn groups(points: &[PointData]) -> Vec<String> {
        describe(points).iter().map(|one| words(&one.label.group)).collect()
    }

    fn names(points: &[PointData]) -> Vec<String> {
        let described = describe(points);
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
            "target=file mode=rndrd | depth=8",
            "target=file mode=rndwr | depth=32",
            "target=sqlite workload=insert indexes=0 | ",
            "target=fjall workload=insert indexes=3 | ",
            "target=sqlite workload=oltp | clients=1",
            "target=sqlite workload=oltp | clients=16",
        ];
        assert_eq!(labels(&points), expected);
        assert_eq!(describe(&points).iter().map(|one| one.group).collect::<Vec<_>>(), [0, 1, 2, 3, 4, 4]);
    }

    #[test]
    fn a_parameter_that_a_point_lacks_or_does_not_use_is_no_dimension_by_itself() {
        let reads = point("file", "file", &[("mode", word("rndrd"))], 1, 1);
        let writes = point("file", "file", &[("mode", word("rndwr")), ("fsync", word("none"))], 1, 1);
        let unused = point("file", "file", &[("mode", word("seqrd")), ("fsync", word("all"))], 1, 1);
        assert_eq!(names(&[reads.clone(), writes.clone()]), ["mode"]);
        assert_eq!(names(&[reads.clone(), writes.clone(), unused.clone()]), ["mode"]);
        assert_eq!(groups(&[reads.clone(), writes.clone()]), ["mode=rndrd", "mode=rndwr"]);
        let synced = point("file", "file", &[("mode", word("rndwr")), ("fsync", word("all"))], 1, 1);
        let all = [reads, writes, synced];
        assert_eq!(names(&all), ["mode", "fsync"]);
        assert_eq!(groups(&all), ["mode=rndrd", "mode=rndwr fsync=none", "mode=rndwr fsync=all"]);
        let described = describe(&all);
        let dimensions = varying(described.iter().map(|one| &one.settings));
        assert_eq!(dimensions.iter().map(|one| one.is_complete).collect::<Vec<_>>(), [true, false]);
    }

    #[test]
    fn what_follows_from_the_engine_is_no_dimension_of_its_own() {
        let points = [point("innodb", "oltp", &[], 1, 1), point("rocksdb", "oltp", &[], 1, 1)];
        assert_eq!(names(&points), ["target"], "each has a cache of its own");
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
        assert_eq!(groups(&steps(&["l.i0", "l.i1"]))[2..], none);
        assert_eq!(groups(&steps(&["l.i0", "l.x", "l.i1"]))[3..], made);
        assert_eq!(groups(&steps(&["l.i1"])), ["indexes=0", "indexes=3"], "it has them from the start");
    }

    #[test]
    fn a_server_variable_that_is_not_set_differs_from_one_that_is() {
        let mut points = [point("mariadb", "oltp", &[], 1, 1), point("mariadb", "oltp", &[], 1, 1)];
        points[1].trial.target.params.0.insert("mariadb.flush".into(), word("O_DIRECT"));
        assert_eq!(groups(&points), ["mariadb.flush=default", "mariadb.flush=O_DIRECT"]);
    }

    #[test]
    fn pacing_and_the_end_of_the_run_are_dimensions() {
        let mut points: Vec<PointData> = (0..2).map(|_| point("null", "file", &[], 1, 1)).collect();
        points[1].trial.load.pacing = Pacing::Open { arrivals: Arrivals::Poisson { per_s: 5_000.0 } };
        assert_eq!(groups(&points), ["pacing=closed", "pacing=poisson 5000"]);
        let mut points: Vec<PointData> = (0..2).map(|_| point("file", "file", &[], 1, 1)).collect();
        points[1].trial.phases.until = Until::Steady { round: Nanos::from_secs(60), precondition: 2 };
        assert_eq!(groups(&points), ["until=time", "until=steady"]);
    }

    #[test]
    fn a_lone_sweep_is_named_by_target_and_workload() {
        let points = [point("sqlite", "oltp", &[], 1, 1), point("sqlite", "oltp", &[], 4, 1)];
        assert_eq!(
            labels(&points),
            ["target=sqlite workload=oltp | clients=1", "target=sqlite workload=oltp | clients=4"]
        );
    }

    #[test]
    fn paths_and_file_systems_are_groups_of_their_own() {
        let at = |path: &str| {
            let mut point = point("file", "file", &[], 1, 1);
            point.trial.target.path = Some(PathBuf::from(path));
            point
        };
        assert_eq!(groups(&[at("/mnt/a/f"), at("/mnt/b/f")]), ["target=/mnt/a/f", "target=/mnt/b/f"]);
        let on = |words: Option<&str>, mib: Option<u64>| {
            let mut point = point("sqlite", "oltp", &[], 1, 1);
            let kind = words.and_then(FileSystem::from_words);
            point.trial.target.fs = kind.map(|kind| FileSystemSpec { kind, size: mib.map(Bytes::from_mib) });
            point
        };
        let kinds = [on(None, None), on(Some("ext4:nobarrier"), None), on(Some("btrfs:zstd:3"), None)];
        assert_eq!(groups(&kinds), ["fs=none", "fs=ext4:nobarrier", "fs=btrfs:zstd:3"]);
        let sizes = [on(Some("xfs"), None), on(Some("xfs"), Some(512))];
        assert_eq!(groups(&sizes), ["fs_size=default", "fs_size=512 MiB"]);
    }

    #[test]
    fn thousands_of_points_are_described_at_once() {
        let points: Vec<PointData> = (0..4_000)
            .map(|nth| point("sqlite", "oltp", &[("tables", Value::Int(nth)), ("rows", Value::Int(nth % 7))], 1, 1))
            .collect();
        let began = std::time::Instant::now();
        let described = describe(&points);
        let settings: Vec<&Settings> = described.iter().map(|one| &one.settings).collect();
        assert_eq!(independent(&settings, varying(settings.iter().copied())).len(), 2);
        // It takes 0.1 s without optimisation; what compares each point with all others takes a minute.
        assert!(began.elapsed().as_secs() < 10, "{:?}", began.elapsed());
    }
}
