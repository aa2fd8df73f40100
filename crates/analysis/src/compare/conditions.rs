//! What differs between two arms apart from what is measured, and what that does to their comparison.
//!
//! In: two arms and their places. Out: [`Condition`]s, the gravest first. Limits: only what a run file holds can be seen to differ: not the
//! temperature of a machine, nor what its other guests do. The settings of two engines are not compared.

use super::arm::{Arm, ArmPoint, CommonPlace, Difference, Differences};
use crate::points::durability::durability;
use crate::recorded::dimensions::{ENGINE, Setting};
use model::{ChangedCondition, ConditionRole, OWN_GENERATOR, changed_conditions, conditions_of_run};
use std::collections::{BTreeMap, BTreeSet};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConditionKind {
    /// When an acknowledged commit is on disk.
    Durability,
    /// There is no place that both arms have.
    NoCommonPlace,
    /// The sort of work: the workload, or a setting that decides what is asked for.
    Work(String),
    Engine,
    /// The version of the engine.
    EngineVersion,
    /// A setting of the plan, by its name.
    Setting(String),
    /// A setting of the server that no plan sets, by its name on the server.
    ServerSetting {
        name: String,
        /// Whether it decides about durability, caches, logging or isolation.
        matters: bool,
    },
    /// How many times its cache the data is.
    DataPerCache,
    /// How long points ran.
    RunLength,
    /// A condition of the run as a whole, with its name: the machine, the kernel, the file system, the version of plimsoll.
    Environment(ConditionRole, String),
    /// The seeds of the random numbers.
    Seeds,
    /// When the arms were measured: not in turn.
    Order,
    /// The program that made the load: the results of another one were imported, and the conditions of these are not known.
    LoadGenerator,
}

impl ConditionKind {
    /// The name of the setting that differs; `None` if it is no setting of the plan.
    pub fn setting(&self) -> Option<&str> {
        match self {
            ConditionKind::Engine => Some(ENGINE),
            ConditionKind::Work(name) | ConditionKind::Setting(name) => Some(name),
            _ => None,
        }
    }
}

/// What a difference does to the comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ConditionEffect {
    /// Nothing can be concluded.
    Prevents,
    /// The difference between the arms may be that of this condition.
    Weakens,
    /// It is what is compared.
    Compared,
}

/// Something that differs between two arms.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    pub kind: ConditionKind,
    /// Its values in the base.
    pub base: Vec<String>,
    /// Its values in the other.
    pub new: Vec<String>,
    /// What it does to the comparison.
    pub effect: ConditionEffect,
}

/// From which ratio on data and cache are in another relation.
const DATA_PER_CACHE_MAX: f64 = 1.1;

/// What differs between `base` and `new`. `in_turn`: whether their repeats alternate.
pub fn find_conditions(
    base: &Arm,
    new: &Arm,
    differing: &Differences,
    places: &[CommonPlace],
    in_turn: bool,
) -> Vec<Condition> {
    use ConditionEffect::{Prevents, Weakens};
    let of = |value: &dyn Fn(&ArmPoint) -> Option<String>| {
        let of_base = places.iter().flat_map(|place| &place.base).filter_map(|point| value(point)).collect();
        (of_base, places.iter().flat_map(|place| &place.new).filter_map(|point| value(point)).collect())
    };
    let mut found = vec![
        unlike(ConditionKind::Durability, of(&|point| durability(point.analysis).map(str::to_owned)), Prevents),
        places.is_empty().then(|| Condition::of_kind(ConditionKind::NoCommonPlace, Prevents)),
        unlike(ConditionKind::RunLength, of(&run_length), Weakens),
    ];
    found.extend(
        differing.work.iter().map(|work| Some(of_difference(ConditionKind::Work(work.name.clone()), work, Prevents))),
    );
    found.extend(compared(differing, of(&|point| point.data.traits.engine.version.clone())).into_iter().map(Some));
    found.push(data_per_cache(places, differing));
    found.extend(server_settings(places, &found));
    if base.group.is_none() {
        found.extend(between_runs(base, new));
        found.push(unlike(ConditionKind::Seeds, of(&seed_of), Weakens));
    }
    found.push(load_generators(of(&|point| Some(load_generator(point)))));
    found.push((!in_turn).then(|| Condition::of_kind(ConditionKind::Order, Weakens)));
    let mut found: Vec<Condition> = found.into_iter().flatten().collect();
    let is_asked_for = base.group.as_ref().is_some_and(|group| asks_for_durability(&found, group));
    drop_repeated_durability(&mut found, is_asked_for);
    found.sort_by_key(|condition| condition.effect);
    found
}

/// How long a point was to run; `None` for a watch, which goes on until somebody ends it.
fn run_length(point: &ArmPoint) -> Option<String> {
    point.data.traits.observed.is_none().then(|| point.data.trial.phases.run.to_string())
}

/// The seed of a point that plimsoll measured.
fn seed_of(point: &ArmPoint) -> Option<String> {
    point.data.traits.imported.is_none().then(|| point.data.trial.seed.to_string())
}

fn load_generator(point: &ArmPoint) -> String {
    point.data.traits.imported.clone().unwrap_or_else(|| OWN_GENERATOR.to_owned())
}

/// The load generators, if one of them is another program. Equal ones count, too: nothing is known of their machines.
fn load_generators((base, new): (BTreeSet<String>, BTreeSet<String>)) -> Option<Condition> {
    let list = |values: BTreeSet<String>| values.into_iter().collect();
    let is_imported = base.union(&new).any(|generator| generator != OWN_GENERATOR);
    let (kind, effect) = (ConditionKind::LoadGenerator, ConditionEffect::Weakens);
    is_imported.then(|| Condition { kind, base: list(base), new: list(new), effect })
}

impl Condition {
    fn of_kind(kind: ConditionKind, effect: ConditionEffect) -> Condition {
        Condition { kind, base: Vec::new(), new: Vec::new(), effect }
    }
}

fn unlike(
    kind: ConditionKind,
    (base, new): (BTreeSet<String>, BTreeSet<String>),
    effect: ConditionEffect,
) -> Option<Condition> {
    let list = |values: BTreeSet<String>| values.into_iter().collect();
    // What is not known of one arm cannot be seen to differ.
    let differ = base != new && !base.is_empty() && !new.is_empty();
    differ.then(|| Condition { kind, base: list(base), new: list(new), effect })
}

/// What the plans set to other values, and the versions. If that is one thing, it is what is compared; the effect of one of
/// several cannot be separated from the others.
fn compared(differing: &Differences, versions: (BTreeSet<String>, BTreeSet<String>)) -> Vec<Condition> {
    let kind =
        |name: &String| if name == ENGINE { ConditionKind::Engine } else { ConditionKind::Setting(name.clone()) };
    let changed = differing.compared.iter();
    let mut all: Vec<Condition> =
        changed.map(|one| of_difference(kind(&one.name), one, ConditionEffect::Compared)).collect();
    // Another engine has another version, and settings of its own.
    if all.iter().any(|condition| condition.kind == ConditionKind::Engine) {
        return all;
    }
    all.extend(unlike(ConditionKind::EngineVersion, versions, ConditionEffect::Compared));
    if all.len() > 1 {
        all.iter_mut().for_each(|condition| condition.effect = ConditionEffect::Weakens);
    }
    all
}

fn of_difference(kind: ConditionKind, one: &Difference, effect: ConditionEffect) -> Condition {
    Condition { kind, base: one.base.clone(), new: one.new.clone(), effect }
}

/// Whether the base is the group of one durability: that the other has another is what is compared.
fn asks_for_durability(found: &[Condition], base: &Setting) -> bool {
    let mut own = found.iter().filter(|one| one.kind == ConditionKind::Durability);
    own.any(|one| one.base == [base.value.to_string()])
}

/// Durability is a parameter, too: it is listed once, and first.
fn drop_repeated_durability(found: &mut Vec<Condition>, is_asked_for: bool) {
    let Some(at) = found.iter().position(|one| one.kind == ConditionKind::Durability) else { return };
    let mut own = found.remove(at);
    let repeats =
        |one: &Condition| matches!(one.kind, ConditionKind::Setting(_)) && one.base == own.base && one.new == own.new;
    found.retain(|one| !repeats(one));
    if is_asked_for {
        own.effect = ConditionEffect::Compared;
    }
    found.insert(0, own);
}

/// Whether the data is another multiple of the cache, and does not fit in one of them at least. If the size of one of the two is
/// compared, so is this.
fn data_per_cache(places: &[CommonPlace], differing: &Differences) -> Option<Condition> {
    let share = |points: &[&ArmPoint]| {
        let point = points.first()?;
        let (outcome, engine) = (&point.data.traits.outcome, &point.data.traits.engine);
        // Logs are written and hardly ever read.
        let (all, logs) = match outcome.data_bytes {
            Some(all) => (all, outcome.log_bytes),
            None => (outcome.loaded_bytes?, outcome.loaded_log_bytes),
        };
        let bytes = all.saturating_sub(logs.unwrap_or(0));
        Some(bytes as f64 / engine.cache_bytes.filter(|bytes| *bytes > 0)? as f64)
    };
    let shares = places.iter().filter_map(|place| Some((share(&place.base)?, share(&place.new)?)));
    let (base, new) = shares.max_by(|a, b| factor(*a).total_cmp(&factor(*b)))?;
    let text = |share: f64| vec![((share * 100.0).round() / 100.0).to_string()];
    let effect = if differing.compared.iter().any(|one| one.decides_fit) {
        ConditionEffect::Compared
    } else {
        ConditionEffect::Weakens
    };
    let matters = factor((base, new)) > DATA_PER_CACHE_MAX && base.max(new) > 1.0;
    matters.then(|| Condition { kind: ConditionKind::DataPerCache, base: text(base), new: text(new), effect })
}

/// The settings of the servers that differ, those that matter first. Those that repeat what the plans set are left out; so are all of two
/// engines, each of which has its own, and of servers of one version whose plans differ: they follow from that.
fn server_settings(places: &[CommonPlace], found: &[Option<Condition>]) -> Vec<Option<Condition>> {
    let known = || found.iter().flatten();
    let engine = |points: &[&ArmPoint]| points.first().map(|point| point.data.trial.target.engine.clone());
    let are_engines = places.iter().any(|place| engine(&place.base) != engine(&place.new));
    let version = |points: &[&ArmPoint]| points.first().and_then(|point| point.data.traits.engine.version.clone());
    let are_versions = places.iter().any(|place| version(&place.base) != version(&place.new));
    let plans_differ = known().any(|one| matches!(one.kind, ConditionKind::Setting(_) | ConditionKind::Engine));
    if are_engines || (plans_differ && !are_versions) {
        return Vec::new();
    }
    let [of_base, of_new] = [first_settings(places, |place| &place.base), first_settings(places, |place| &place.new)];
    let repeats = |base: &str, new: &str| known().any(|one| one.base == [base] && one.new == [new]);
    let mut all: Vec<Condition> = Vec::new();
    for (name, (base, matters)) in &of_base {
        let Some((new, _)) = of_new.get(name).filter(|(new, _)| new != base && !repeats(base, new)) else { continue };
        let kind = ConditionKind::ServerSetting { name: (*name).to_owned(), matters: *matters };
        let (base, new) = (vec![(*base).to_owned()], vec![(*new).to_owned()]);
        all.push(Condition { kind, base, new, effect: ConditionEffect::Weakens });
    }
    all.sort_by_key(|one| !matches!(one.kind, ConditionKind::ServerSetting { matters: true, .. }));
    all.into_iter().map(Some).collect()
}

/// Each setting of an arm's servers with its value in the first point that has it, and whether it matters. A setting whose values
/// differ within the arm is left out.
fn first_settings<'a>(
    places: &'a [CommonPlace<'a>],
    side: impl Fn(&'a CommonPlace<'a>) -> &'a Vec<&'a ArmPoint<'a>>,
) -> BTreeMap<&'a str, (&'a str, bool)> {
    let mut values: BTreeMap<&str, (&str, bool)> = BTreeMap::new();
    let mut varied: BTreeSet<&str> = BTreeSet::new();
    for setting in places.iter().flat_map(side).flat_map(|point| &point.data.traits.engine.settings) {
        let (value, _) = values.entry(&setting.name).or_insert((&setting.value, setting.matters));
        if *value != setting.value {
            varied.insert(&setting.name);
        }
    }
    values.retain(|name, _| !varied.contains(name));
    values
}

fn factor((a, b): (f64, f64)) -> f64 {
    (a / b).max(b / a)
}

/// What differs between the machines and programs of two runs.
fn between_runs(base: &Arm, new: &Arm) -> impl Iterator<Item = Option<Condition>> {
    let [before, after] = [base, new].map(|arm| conditions_of_run(arm.meta));
    changed_conditions(&before, &after).into_iter().map(|changed| Some(of_change(changed)))
}

fn of_change(changed: ChangedCondition) -> Condition {
    let ChangedCondition { role, name, before, after } = changed;
    let kind = ConditionKind::Environment(role, name);
    Condition { kind, base: vec![before], new: vec![after], effect: ConditionEffect::Weakens }
}
