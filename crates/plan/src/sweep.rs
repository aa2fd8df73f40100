//! A sweep and the layers above and below it: merged into one list of settings, and expanded into points.
//!
//! In: the layers of a plan. Out: the [`Point`]s of all sweeps, in the order of the keys: the first varies slowest.
//! Limits: a plan has at most 10,000 trials; what would be more is refused before it is expanded.

use crate::arms::{chooses_arms_of, unfold_arms};
use crate::common::{self, AB, BUDGET, DATA_SET};
use crate::document::{Document, SweepTable, Written, WrittenSetting};
use crate::ending::{self, Budget};
use crate::entries;
use crate::error::{Place, PlanError, hint, listed, shown};
use crate::hourly;
use crate::link;
use crate::point::Choice;
use crate::text;
use model::sure::Precision;
use model::{
    BACKGROUND, Catalogue, Entry, HourlyCost, LinkSpeed, Meaning, ParamDef, ParamKind, Trial, Until, UsedIf,
    UsefulValues, Value,
};
use std::collections::{BTreeMap, BTreeSet, HashSet};

/// A working day at three seconds each; more is a slip in a range or list.
pub(crate) const TRIALS_MAX: usize = 10_000;
/// They apply to a sweep as a unit, so a list of them has no meaning.
const SINGLE: [&str; 8] = ["repeat", "seed", "stacks", "price", "watts", "link", DATA_SET, BUDGET];
const ENGINE: &str = "engine";
const WORKLOAD: &str = "workload";

/// One cell of the matrix.
pub(crate) struct Point<'a> {
    pub(crate) trial: Trial,
    pub(crate) repeats: u32,
    /// The most repeats that the budget of the run may be spent on, if that was said.
    pub(crate) repeats_max: Option<u32>,
    pub(crate) place: Place<'a>,
    /// How well its mean is to be known, if it goes on until that.
    pub(crate) sure: Option<Precision>,
    /// The keys that were written for its sweep, each with the value that it has.
    pub(crate) picked: Vec<(String, String)>,
}

/// The cells of all sweeps.
pub(crate) struct Matrix<'a> {
    pub(crate) points: Vec<Point<'a>>,
    /// The key of which two values are compared, if that was asked for.
    pub(crate) compared: Option<String>,
    /// What the machine costs.
    pub(crate) hourly: HourlyCost,
    /// The speed of the link to the server.
    pub(crate) link: Option<LinkSpeed>,
    /// The time of the whole run.
    pub(crate) budget: Option<Budget<'a>>,
}

/// The points of all sweeps of `document`, under `overrides`.
pub(crate) fn expand_plan<'a>(
    document: &Document<'a>,
    overrides: &[WrittenSetting<'a>],
    scale: f64,
    catalogue: &Catalogue,
) -> Result<Matrix<'a>, PlanError> {
    let (defaults, overrides) = (once_each(&document.defaults, catalogue)?, last_of_each(overrides, catalogue));
    let mut sweeps = Vec::new();
    for SweepTable { place, settings } in &document.sweeps {
        sweeps.push(SweepTable { place: *place, settings: once_each(settings, catalogue)? });
    }
    let in_sweeps = sweeps.iter().flat_map(|sweep| &sweep.settings);
    known_keys(defaults.iter().chain(in_sweeps).chain(&overrides), catalogue)?;
    if sweeps.is_empty() {
        // Without a sweep the plan itself is one.
        sweeps.push(SweepTable { place: document.place, settings: Vec::new() });
    }
    let (mut points, mut compared, mut hourly, mut speed, mut budget) = (Vec::new(), None, None, None, None);
    let (mut anywhere, mut anywhere_in_file) = (KeyUse::default(), KeyUse::default());
    for sweep in &sweeps {
        if is_left_out(sweep, &sweeps, &overrides, catalogue) {
            let layers = [&defaults[..], &sweep.settings[..], &overrides[..]];
            anywhere_in_file.add(use_by_own_engines(layers, sweep.place, scale, catalogue));
            continue;
        }
        let overrides = &engines_for(sweep, &sweeps, &defaults, &overrides, catalogue)[..];
        let merged = merge_layers(&defaults, &sweep.settings, overrides);
        let (merged, arms) = unfold_arms(merged, catalogue)?;
        let settings = steps_last(check_dimensions(merged, catalogue)?, catalogue);
        let own = hourly::cost_of(&settings)?;
        hourly::check_same(*hourly.get_or_insert(own), own, &settings)?;
        let own = link::speed_of(&settings)?;
        link::check_same(*speed.get_or_insert(own), own, &settings)?;
        let own = ending::budget_of(&settings)?;
        ending::check_same(*budget.get_or_insert(own), own, &settings)?;
        let (found, mut keys) = expand_sweep(&settings, sweep.place, scale, catalogue)?;
        if let Some(key) = arms {
            keys.add_arms(&key);
            compared = Some(key);
        }
        let layers = [&defaults[..], &sweep.settings[..], overrides];
        let mut in_file = keys.clone();
        in_file.add(use_by_own_engines(layers, sweep.place, scale, catalogue));
        in_file.forgive(overrides);
        in_file.check(sweep.settings.iter(), &found, catalogue)?;
        points.extend(found);
        anywhere.add(keys);
        anywhere_in_file.add(in_file);
        few_enough(points.iter().map(|point| point.repeats as usize).sum(), sweep.place)?;
    }
    anywhere_in_file.forgive(&overrides);
    anywhere_in_file.check(defaults.iter(), &points, catalogue)?;
    anywhere.check(overrides.iter(), &points, catalogue)?;
    no_point_twice(&points)?;
    state_backgrounds(&mut points, catalogue);
    let (hourly, link, budget) = (hourly.unwrap_or_default(), speed.flatten(), budget.flatten());
    Ok(Matrix { points, compared, hourly, link, budget })
}

/// Whether the engines that `overrides` choose leave nothing of `sweep`: it names engines of its own and none of those, and another sweep of
/// the same workload does. The engine by flag then means that other sweep, and not this one with another engine.
fn is_left_out(
    sweep: &SweepTable<'_>,
    sweeps: &[SweepTable<'_>],
    overrides: &[WrittenSetting<'_>],
    catalogue: &Catalogue,
) -> bool {
    let of = |settings: &[WrittenSetting<'_>], key: &str| -> Vec<String> {
        let named = settings.iter().filter(|setting| setting.key == key).flat_map(|setting| &setting.values);
        let full = |text: &str| entries::engine_and_folder(text, &catalogue.engines).map(|(name, _)| name.to_owned());
        named.map(|value| full(&value.text).unwrap_or_else(|| value.text.clone())).collect()
    };
    let chosen = of(overrides, ENGINE);
    let names_chosen = |sweep: &SweepTable<'_>| of(&sweep.settings, ENGINE).iter().any(|own| chosen.contains(own));
    let workload = of(&sweep.settings, WORKLOAD);
    let is_meant = |other: &SweepTable<'_>| of(&other.settings, WORKLOAD) == workload && names_chosen(other);
    let has_own = sweep.settings.iter().any(|setting| setting.key == ENGINE);
    has_own && !names_chosen(sweep) && sweeps.iter().any(is_meant)
}

/// `overrides` as `sweep` takes them: of the engines that they name those that can perform its workload, and its own if none can. An engine that no
/// sweep can use stays in, and is refused like any other mistake.
fn engines_for<'a>(
    sweep: &SweepTable<'a>,
    sweeps: &[SweepTable<'a>],
    defaults: &[WrittenSetting<'a>],
    overrides: &[WrittenSetting<'a>],
    catalogue: &Catalogue,
) -> Vec<WrittenSetting<'a>> {
    let can_use = |sweep: &SweepTable<'a>, engine: &Written<'a>| {
        let merged = merge_layers(defaults, &sweep.settings, overrides);
        let workloads = merged.iter().filter(|setting| setting.key == WORKLOAD).flat_map(|setting| &setting.values);
        let mut workloads = workloads.filter_map(|named| entries::find_workload(named, &catalogue.workloads));
        let engine = entries::find_engine(engine, &catalogue.engines).ok();
        engine.is_some_and(|engine| workloads.any(|workload| entries::share_family(&engine, &workload)))
    };
    overrides
        .iter()
        .filter_map(|setting| {
            let mut setting = setting.clone();
            if setting.key == ENGINE {
                setting
                    .values
                    .retain(|engine| can_use(sweep, engine) || !sweeps.iter().any(|other| can_use(other, engine)));
            }
            (!setting.values.is_empty()).then_some(setting)
        })
        .collect()
}

/// What becomes of the keys of a sweep with the engines that the file itself names, if `overrides` choose others: a key that is meant for
/// one of several engines is no error if another one is measured alone.
fn use_by_own_engines<'a>(
    [defaults, sweep, overrides]: [&[WrittenSetting<'a>]; 3],
    place: Place<'a>,
    scale: f64,
    catalogue: &Catalogue,
) -> KeyUse {
    let chooses_engine = |setting: &WrittenSetting| setting.key == ENGINE || chooses_arms_of(setting, ENGINE);
    if !overrides.iter().any(chooses_engine) {
        return KeyUse::default();
    }
    let others: Vec<WrittenSetting> = overrides.iter().filter(|setting| !chooses_engine(setting)).cloned().collect();
    let expand = || {
        let (merged, _) = unfold_arms(merge_layers(defaults, sweep, &others), catalogue)?;
        let settings = steps_last(check_dimensions(merged, catalogue)?, catalogue);
        expand_sweep(&settings, place, scale, catalogue)
    };
    // Flags that those engines refuse are no matter: they are not measured.
    expand().map_or_else(|_: PlanError| KeyUse::default(), |(_, keys)| keys)
}

/// The settings of a file or sweep with each key under its own name, which must be set once: a list of steps may be called by the
/// plural, `steps`. Messages keep the name that was written.
fn once_each<'a>(settings: &[WrittenSetting<'a>], catalogue: &Catalogue) -> Result<Vec<WrittenSetting<'a>>, PlanError> {
    let mut all: Vec<WrittenSetting<'a>> = Vec::new();
    for setting in settings {
        let key = own_name(&setting.key, catalogue);
        if let Some(earlier) = all.iter().position(|earlier| earlier.key == key) {
            return Err(setting.place.error(why_twice(&settings[earlier].key, &setting.key)));
        }
        all.push(WrittenSetting { key, ..setting.clone() });
    }
    Ok(all)
}

fn why_twice(earlier: &str, key: &str) -> String {
    match (shown(earlier), shown(key)) {
        (earlier, key) if earlier == key => format!("`{key}` is set twice; remove one"),
        (earlier, key) => format!("`{earlier}` and `{key}` are two names of one key; remove one"),
    }
}

/// The settings of the command line with each key under its own name. Of a key given several times the last counts, at the position
/// of the first.
pub(crate) fn last_of_each<'a>(settings: &[WrittenSetting<'a>], catalogue: &Catalogue) -> Vec<WrittenSetting<'a>> {
    let mut all: Vec<WrittenSetting<'a>> = Vec::new();
    for setting in settings {
        let setting = WrittenSetting { key: own_name(&setting.key, catalogue), ..setting.clone() };
        match all.iter_mut().find(|earlier| earlier.key == setting.key) {
            Some(earlier) => *earlier = setting,
            None => all.push(setting),
        }
    }
    all
}

/// `step` for `steps`.
pub(crate) fn own_name(key: &str, catalogue: &Catalogue) -> String {
    let mut steps = catalogue.workloads.iter().filter_map(Entry::steps).map(|(name, _)| name);
    steps.find(|name| key.strip_suffix('s') == Some(name)).unwrap_or(key).to_owned()
}

/// What became of the keys of a sweep or a plan.
#[derive(Clone, Default)]
struct KeyUse {
    /// Keys of an engine or workload of some point.
    taken: BTreeSet<String>,
    /// Of these: those whose value has an effect on some point.
    effective: BTreeSet<String>,
    /// Of the others: what they need to have one.
    needs: BTreeMap<String, UsedIf>,
}

impl KeyUse {
    fn add(&mut self, other: KeyUse) {
        self.taken.extend(other.taken);
        self.effective.extend(other.effective);
        self.needs.extend(other.needs);
    }

    /// A key whose condition `overrides` have switched off is no mistake of the file.
    fn forgive(&mut self, overrides: &[WrittenSetting<'_>]) {
        self.needs.retain(|_, condition| !overrides.iter().any(|setting| setting.key == condition.param));
    }

    /// Counts `ab` as the `key` that it compares.
    fn add_arms(&mut self, key: &str) {
        for all in [&mut self.taken, &mut self.effective] {
            if all.contains(key) {
                all.insert(AB.to_owned());
            }
        }
        if let Some(condition) = self.needs.get(key) {
            self.needs.insert(AB.to_owned(), *condition);
        }
    }

    /// Counts the keys that have an effect on `trial`, which `choice` has made, among those that it takes.
    fn add_trial(&mut self, choice: &Choice<'_, '_>, trial: &Trial) -> Result<(), PlanError> {
        for key in choice.settings.iter().map(|setting| &setting.key).filter(|key| self.taken.contains(*key)) {
            match choice.missing_condition(key, trial)? {
                Some(condition) => {
                    self.needs.insert(key.clone(), condition);
                }
                None => {
                    self.effective.insert(key.clone());
                }
            }
        }
        Ok(())
    }

    /// Refuses the first of `settings` that no point takes, or on which it has no effect.
    fn check<'s, 'a: 's>(
        &self,
        settings: impl Iterator<Item = &'s WrittenSetting<'a>>,
        points: &[Point<'_>],
        catalogue: &Catalogue,
    ) -> Result<(), PlanError> {
        for WrittenSetting { key, place, .. } in settings {
            if !self.taken.contains(key) {
                return Err(place.error_of(key, why_idle(key, points, catalogue)));
            }
            if let Some(condition) = self.needs.get(key).filter(|_| !self.effective.contains(key)) {
                return Err(place.error_of(key, format_args!("has no effect; it needs {}", condition_text(condition))));
            }
        }
        Ok(())
    }
}

/// ``mode = `seqrd` or `seqwr` ``.
fn condition_text(UsedIf { param, values }: &UsedIf) -> String {
    match values {
        UsefulValues::OneOf(words) => {
            let words: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
            format!("{param} = {}", words.join(" or "))
        }
        UsefulValues::NotZero => format!("`{param}` above 0"),
    }
}

/// Refuses keys that mean nothing to any engine or workload.
fn known_keys<'s, 'a: 's>(
    settings: impl Iterator<Item = &'s WrittenSetting<'a>>,
    catalogue: &Catalogue,
) -> Result<(), PlanError> {
    // The command line knows its flags: an unknown key can only come from `--set`.
    let place = |place: Place<'a>| if place.is_command_line() { Place::Set } else { place };
    settings.into_iter().try_for_each(|setting| check_known(&setting.key, place(setting.place), catalogue))
}

/// Refuses `key`, written at `place`, if it means nothing to any engine or workload.
pub(crate) fn check_known(key: &str, place: Place<'_>, catalogue: &Catalogue) -> Result<(), PlanError> {
    let entries = catalogue.engines.iter().chain(&catalogue.workloads);
    let params: Vec<&ParamDef> = entries.flat_map(|entry| entry.params).collect();
    if common::find(key).is_some() || params.iter().any(|def| def.takes(key)) {
        return Ok(());
    }
    let common = common::DEFAULTS.iter().map(|key| key.name);
    let known: BTreeSet<&str> = common.chain(params.iter().map(|def| def.name)).collect();
    Err(unknown_key(key, place, &known))
}

fn unknown_key(key: &str, place: Place<'_>, known: &BTreeSet<&str>) -> PlanError {
    let of_file: &[&str] =
        if place.is_command_line() { &[] } else { &["name", "title", "question", "compare", "over", "sweep"] };
    let meant = hint(key, known.iter().chain(of_file).copied());
    let allowed = listed(of_file.iter().copied().chain(common::DEFAULTS.iter().map(|key| key.name)));
    let key = shown(key);
    place.error(match meant.as_str() {
        "" => format!("unknown key `{key}`: allowed are {allowed} and the parameters of engine and workload"),
        _ => format!("unknown key `{key}`{meant}"),
    })
}

/// One list of settings. A stronger layer replaces the values of a key and leaves it in its place; the place of a key that two
/// layers of the file name is in the sweep, because a reader looks there for the order of the dimensions.
fn merge_layers<'a>(
    defaults: &[WrittenSetting<'a>],
    sweep: &[WrittenSetting<'a>],
    overrides: &[WrittenSetting<'a>],
) -> Vec<WrittenSetting<'a>> {
    let in_sweep = |key: &str| sweep.iter().any(|setting| setting.key == key);
    let mut merged: Vec<WrittenSetting<'a>> =
        defaults.iter().filter(|setting| !in_sweep(&setting.key)).cloned().collect();
    merged.extend(sweep.iter().cloned());
    for setting in overrides {
        match merged.iter_mut().find(|weaker| weaker.key == setting.key) {
            Some(weaker) => *weaker = setting.clone(),
            None => merged.push(setting.clone()),
        }
    }
    merged
}

/// The settings with their ranges written out, and without a list that makes no dimension.
fn check_dimensions<'a>(
    mut settings: Vec<WrittenSetting<'a>>,
    catalogue: &Catalogue,
) -> Result<Vec<WrittenSetting<'a>>, PlanError> {
    for setting in settings.iter_mut().filter(|setting| whole_numbers(&setting.key, catalogue)) {
        let parts: Vec<Vec<Written<'a>>> = setting.values.iter().map(range_expanded).collect::<Result<_, _>>()?;
        setting.values = parts.concat();
    }
    for setting in settings.iter_mut().filter(|setting| has_levels(&setting.key, catalogue)) {
        setting.values = setting.values.iter().flat_map(levels_expanded).collect();
    }
    let settings: Vec<_> = settings.into_iter().map(|setting| cores_counted(setting, catalogue)).collect();
    for setting in &settings {
        if SINGLE.contains(&setting.key.as_str()) && setting.values.len() > 1 {
            return Err(setting.place.error(format_args!("`{}` cannot be a list; use one value", setting.key)));
        }
        if setting.key == "engine" {
            no_engine_twice(setting, catalogue)?;
        }
        let mut seen = HashSet::new();
        if let Some(twice) = setting.values.iter().find(|value| !seen.insert(value.text.as_str())) {
            let text = shown(&twice.text);
            return Err(twice.place.error(format_args!("`{}` names `{text}` twice: remove one", setting.key)));
        }
    }
    Ok(settings)
}

/// Refuses two names of one engine, such as `mariadb` and `mariadb:innodb`.
fn no_engine_twice(setting: &WrittenSetting<'_>, catalogue: &Catalogue) -> Result<(), PlanError> {
    let mut named: BTreeMap<(&str, Option<&str>), &str> = BTreeMap::new();
    for value in &setting.values {
        let Some(engine) = entries::engine_and_folder(&value.text, &catalogue.engines) else { continue };
        match named.insert(engine, &value.text) {
            Some(before) if before != value.text => {
                let text = shown(&value.text);
                return Err(value.place.error(format_args!("`{before}` and `{text}` are the same engine; remove one")));
            }
            _ => {}
        }
    }
    Ok(())
}

/// The settings with the steps of a sequence last, so that they vary fastest, and in the order of the sequence however they were
/// written. A sweep that names none has them all, as far as its engines do.
fn steps_last<'a>(mut settings: Vec<WrittenSetting<'a>>, catalogue: &Catalogue) -> Vec<WrittenSetting<'a>> {
    let workloads = settings.iter().filter(|setting| setting.key == "workload").flat_map(|setting| &setting.values);
    let entries = workloads.filter_map(|named| catalogue.workloads.iter().find(|entry| entry.name == named.text));
    let Some((name, words)) = entries.into_iter().find_map(Entry::steps) else { return settings };
    let named = settings.iter().position(|setting| setting.key == name).map(|at| settings.remove(at));
    let mut steps = named.unwrap_or_else(|| all_words(name, words));
    steps.values.sort_by_key(|value| words.iter().position(|word| *word == value.text).unwrap_or(words.len()));
    settings.push(steps);
    settings
}

/// The setting `name` with all its words, for a sweep that does not have it.
fn all_words<'a>(name: &'static str, words: &[&str]) -> WrittenSetting<'a> {
    let place = Place::Default(name);
    let values = words.iter().map(|word| Written { key: name.to_owned(), text: (*word).to_owned(), place });
    WrittenSetting { key: name.to_owned(), place, values: values.collect() }
}

/// Whether `key` holds whole numbers or sizes, which may be written as a range.
fn whole_numbers(key: &str, catalogue: &Catalogue) -> bool {
    let mut defs = catalogue.engines.iter().chain(&catalogue.workloads).flat_map(|entry| entry.params);
    let whole = |kind: ParamKind| matches!(kind, ParamKind::Int { .. } | ParamKind::Bytes { .. });
    ["clients", "depth", "ops_max", "rounds_max"].contains(&key) || defs.any(|def| def.name == key && whole(def.kind))
}

/// Whether the values of `key` are names with levels: codecs, file systems.
fn has_levels(key: &str, catalogue: &Catalogue) -> bool {
    let mut defs = catalogue.engines.iter().chain(&catalogue.workloads).flat_map(|entry| entry.params);
    key == "fs" || defs.any(|def| def.name == key && matches!(def.kind, ParamKind::Leveled(_)))
}

/// `gzip:1`, `gzip:2`, `gzip:3` of `gzip:1..3`: each level of the range; and of `zfs:gzip-1..3` those that ZFS names with a dash. What is no such range is left for the reader of the value.
fn levels_expanded<'a>(value: &Written<'a>) -> Vec<Written<'a>> {
    const LEVELS_MAX: i32 = 100;
    let range_after = |mark: char| {
        let (name, levels) = value.text.rsplit_once(mark)?;
        let (first, last) = levels.split_once("..")?;
        let (first, last) = (first.trim().parse::<i32>().ok()?, last.trim().parse::<i32>().ok()?);
        let is_range = first <= last && i64::from(last) - i64::from(first) < i64::from(LEVELS_MAX);
        is_range.then_some((name, mark, first..=last))
    };
    // First the colon: the dash of `zstd:-5..-1` is a sign.
    let Some((name, mark, levels)) = range_after(':').or_else(|| range_after('-')) else { return vec![value.clone()] };
    // Levels on both sides of 0 are of a name of which 0 is none.
    let across = *levels.start() < 0 && *levels.end() > 0;
    let levels = levels.filter(|level| !(across && *level == 0));
    levels.map(|level| Written { text: format!("{name}{mark}{level}"), ..value.clone() }).collect()
}

/// The word for as many clients as plimsoll may use CPUs.
const CORES: &str = "cores";

/// The values of `clients` with the number in place of `cores`, unless that number is there already: on a machine
/// with one CPU `1,cores` is one value.
fn cores_counted<'a>(setting: WrittenSetting<'a>, catalogue: &Catalogue) -> WrittenSetting<'a> {
    if setting.key != "clients" {
        return setting;
    }
    let count = catalogue.usable_cpus.to_string();
    let is_written = setting.values.iter().any(|value| value.text == count);
    let kept = setting.values.iter().filter(|value| value.text != CORES || !is_written);
    let counted = kept.map(|value| match value.text.as_str() {
        CORES => Written { text: count.clone(), ..value.clone() },
        _ => value.clone(),
    });
    WrittenSetting { values: counted.collect(), ..setting }
}

fn range_expanded<'a>(value: &Written<'a>) -> Result<Vec<Written<'a>>, PlanError> {
    if !value.text.contains("..") {
        return Ok(vec![value.clone()]);
    }
    let powers = text::powers_of_two(&value.text);
    let powers = powers.ok_or_else(|| {
        value.refused("a range from the lower to the higher number, such as `1..64` (the powers of two in it are used)")
    })?;
    Ok(powers.into_iter().map(|power| Written { text: power.to_string(), ..value.clone() }).collect())
}

/// The points of one sweep, and what became of its keys.
fn expand_sweep<'a>(
    settings: &[WrittenSetting<'a>],
    place: Place<'a>,
    scale: f64,
    catalogue: &Catalogue,
) -> Result<(Vec<Point<'a>>, KeyUse), PlanError> {
    if !settings.iter().any(|setting| setting.key == "workload") {
        let names = listed(catalogue.workloads.iter().map(|entry| entry.name));
        return Err(place.error(format_args!("`workload` is missing: name one of {names}")));
    }
    let cells = settings.iter().fold(1usize, |cells, setting| cells.saturating_mul(setting.values.len()));
    few_enough(cells, place)?;
    let all_written = settings.iter().all(|setting| !matches!(setting.place, Place::Default(_)));
    let mut points = Vec::new();
    let mut keys = KeyUse::default();
    for cell in 0..cells {
        let choice = Choice { settings, picked: picked_values(settings, cell), scale, catalogue };
        let takes = settings.iter().map(|setting| choice.takes_key(&setting.key)).collect::<Result<Vec<bool>, _>>()?;
        keys.taken
            .extend(settings.iter().zip(&takes).filter(|(_, takes)| **takes).map(|(setting, _)| setting.key.clone()));
        // The values of a dimension that concerns others make no difference here: one point for all of them.
        if choice.picked.iter().zip(&takes).all(|(picked, takes)| *takes || *picked == 0) {
            let (trial, repeats) = (choice.make_trial()?, choice.repeat_count()?);
            // If no steps were written, an engine performs those that it has.
            if all_written || has_step(&trial, catalogue) {
                keys.add_trial(&choice, &trial)?;
                points.push(Point {
                    trial,
                    repeats,
                    repeats_max: choice.repeats_max()?,
                    place,
                    sure: choice.sure_precision()?,
                    picked: choice.picked_texts(),
                });
            }
        }
    }
    Ok((points, keys))
}

/// If some points have a background load, those that could have one and have none state that: it distinguishes them.
fn state_backgrounds(points: &mut [Point<'_>], catalogue: &Catalogue) {
    if !points.iter().any(|point| point.trial.workload.params.0.contains_key(BACKGROUND)) {
        return;
    }
    let takes = |workload: &str| {
        let mut entries = catalogue.workloads.iter().filter(|entry| entry.name == workload);
        entries.any(|entry| entry.params.iter().any(|def| matches!(def.kind, ParamKind::Background { .. })))
    };
    for point in points {
        let workload = &mut point.trial.workload;
        if takes(&workload.name) {
            workload.params.0.entry(BACKGROUND.to_owned()).or_insert_with(|| Value::Background(Vec::new()));
        }
    }
}

fn has_step(trial: &Trial, catalogue: &Catalogue) -> bool {
    (catalogue.has_step)(&trial.target.engine, &trial.workload.name, &trial.workload.params)
}

fn few_enough(trials: usize, place: Place<'_>) -> Result<(), PlanError> {
    if trials <= TRIALS_MAX {
        return Ok(());
    }
    Err(place.error(format_args!("the plan has {trials} points; at most {TRIALS_MAX} are allowed")))
}

/// The number of the value of each setting in cell number `cell`; the last setting varies fastest.
fn picked_values(settings: &[WrittenSetting<'_>], mut cell: usize) -> Vec<usize> {
    let mut picked = vec![0; settings.len()];
    for (picked, setting) in picked.iter_mut().zip(settings).rev() {
        *picked = cell % setting.values.len();
        cell /= setting.values.len();
    }
    picked
}

fn why_idle(key: &str, points: &[Point<'_>], catalogue: &Catalogue) -> String {
    let engines: BTreeSet<&str> = points.iter().map(|point| point.trial.target.engine.as_str()).collect();
    let workloads: BTreeSet<&str> = points.iter().map(|point| point.trial.workload.name.as_str()).collect();
    match key {
        "arrivals" => "needs `rate`".to_owned(),
        "slo" | "hold" | "rate_max" => "needs rate = `limit`".to_owned(),
        "ops_max" if points.iter().all(|point| point.trial.limit.is_some()) => {
            "has no effect with rate = `limit`; use `time`, the longest that a probe lasts".to_owned()
        }
        AB => "names a key that none of these engines and workloads takes".to_owned(),
        "time" if points.iter().all(|point| point.trial.phases.until == Until::Time) => {
            "has no effect on steps that end when their rows are inserted; set `rows`, or rows = `0` to insert for a time".to_owned()
        }
        "time" | "ops_max" => "has no effect with until = `steady`; use `round` and `rounds_max`".to_owned(),
        "round" | "rounds_max" => "needs until = `steady`".to_owned(),
        "warmup" | "until" => "has no effect on steps that end when their rows are inserted".to_owned(),
        "precondition" => "needs until = `steady` and a workload on files".to_owned(),
        "fs_size" => "needs `fs`".to_owned(),
        BACKGROUND => format!("needs a workload of SQL statements, not {}", listed(workloads)),
        _ if let Some((param, word)) = statements_of(key, catalogue) => format!("needs {param} = `{word}`"),
        "path" => format!("needs an engine that works on files, not {}", listed(engines)),
        _ if is_client_threads(key, catalogue) => {
            format!("is for engines with a server, not {}; for more clients at once use `clients`", listed(engines))
        }
        _ => {
            let used = |entries: &[Entry], names: &BTreeSet<&str>| -> Vec<Entry> {
                entries.iter().filter(|entry| names.contains(entry.name)).copied().collect()
            };
            let entries = [used(&catalogue.engines, &engines), used(&catalogue.workloads, &workloads)].concat();
            let params: BTreeSet<&str> = entries.iter().flat_map(|entry| entry.params).map(|def| def.name).collect();
            let (engines, workloads) = (listed(engines), listed(workloads));
            let params = listed(params);
            format!("is a parameter of neither engine {engines} nor workload {workloads}: they take {params}")
        }
    }
}

/// Whether `key` is the number of threads of the clients. Users of sysbench mean the number of clients.
fn is_client_threads(key: &str, catalogue: &Catalogue) -> bool {
    let mut defs = catalogue.engines.iter().flat_map(|entry| entry.params).filter(|def| def.name == key);
    defs.any(|def| def.meaning == Some(Meaning::ClientThreads))
}

/// What statements under `key` are for: another parameter, and its value.
fn statements_of(key: &str, catalogue: &Catalogue) -> Option<(&'static str, &'static str)> {
    let mut defs = catalogue.workloads.iter().flat_map(|entry| entry.params).filter(|def| def.name == key);
    defs.find_map(|def| match def.kind {
        ParamKind::Statements { if_word } => if_word,
        _ => None,
    })
}

fn no_point_twice(points: &[Point<'_>]) -> Result<(), PlanError> {
    let mut seen = HashSet::new();
    let twice = points.iter().find(|point| {
        let Trial { target, workload, load, phases, on_error, limit, .. } = &point.trial;
        !seen.insert(format!("{:?}", (target, workload, load, phases, on_error, limit)))
    });
    match twice {
        None => Ok(()),
        Some(Point { trial, place, .. }) => Err(place.error(format_args!(
            "two points are the same: `{}` on `{}`, clients {}, depth {}; remove one, or set `repeat`",
            trial.workload.name, trial.target.engine, trial.load.clients, trial.load.depth
        ))),
    }
}
