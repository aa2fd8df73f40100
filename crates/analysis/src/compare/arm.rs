//! Arms and their places: which points of two runs, or of two groups of one run, belong to each other.
//!
//! In: runs. Out: [`Arm`]s, the settings in which two of them differ, and the [`CommonPlace`]s that both have. Limits: points correspond if
//! they agree in every setting that has an effect on both arms and is not what differs. A setting differs between arms if they have no
//! value of it in common. If only some values are in common, the points with these are compared and the others are not.

use crate::math::ratio::{Pairing, RepeatValue};
use crate::points::limit::as_asked;
use crate::points::sweep::is_comparable;
use crate::recorded::dimensions::{Described, ENGINE, Role, Setting, Settings};
use crate::recorded::engine_names::EngineNames;
use crate::recorded::full_label::describe_in_full;
use crate::{Analysis, Label, PointAnalysis};
use model::{HourlyCost, PointData, RecordingSummary, RunData, RunMeta, Value};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// A run to be compared.
#[derive(Clone, Copy)]
pub struct ComparedRun<'a> {
    /// What the user calls it.
    pub name: &'a str,
    pub data: &'a RunData,
    pub analysis: &'a Analysis,
}

/// Why a run cannot be compared by a setting.
#[derive(Clone, Debug, PartialEq)]
pub enum GroupingError {
    /// The points do not differ in it; the names of those in which they do.
    NotVaried(Vec<String>),
    /// No point has this value; the values that there are.
    NoSuchValue(Vec<String>),
}

/// A point with what describes it among the points of all arms.
#[derive(Clone)]
pub struct ArmPoint<'a> {
    pub data: &'a PointData,
    pub analysis: &'a PointAnalysis,
    pub settings: Settings,
    label: Label,
    /// Its place in the order of measurement.
    at: u32,
}

/// One arm of a comparison.
#[derive(Clone, Debug, PartialEq)]
pub struct ArmSummary {
    /// The run that it is from, as it was named.
    pub run: String,
    /// The setting that makes it a group of that run; `None` if it is all of the run.
    pub group: Option<Setting>,
    /// The engines and their versions, in the order of measurement.
    pub engines: Vec<(String, Option<String>)>,
    /// The most repeats of a place.
    pub repeats: usize,
    /// What its machine costs, as far as that was stated.
    pub hourly: HourlyCost,
}

/// The points that are compared with those of another arm.
pub struct Arm<'a> {
    pub name: &'a str,
    pub group: Option<Setting>,
    pub meta: &'a RunMeta,
    pub points: Vec<ArmPoint<'a>>,
    /// Whether trials of its plan have no point, because the run ended before them.
    ended_early: bool,
}

/// The points of two arms that agree in everything but what differs between the arms.
pub struct CommonPlace<'a> {
    pub label: Vec<Setting>,
    pub base: Vec<&'a ArmPoint<'a>>,
    pub new: Vec<&'a ArmPoint<'a>>,
    /// Whether both arms are of one run, so that the order of measurement is known.
    is_of_one_run: bool,
}

/// The name and the value of a setting.
type NamedValue = (String, String);

/// Each run as an arm.
pub fn split_by_run<'a>(runs: &[ComparedRun<'a>]) -> Vec<Arm<'a>> {
    let mut described = describe_together(runs).into_iter();
    runs.iter()
        .map(|run| Arm {
            name: run.name,
            group: None,
            meta: &run.data.meta,
            points: described.by_ref().take(pairs_of(run).count()).collect(),
            ended_early: has_ended_early(run.data),
        })
        .collect()
}

/// The groups of `run` by their value of the setting `by`, that with the value `base` first.
pub fn split_by<'a>(run: &ComparedRun<'a>, by: &str, base: Option<&str>) -> Result<Vec<Arm<'a>>, GroupingError> {
    let mut arms: Vec<Arm> = Vec::new();
    let all = describe_together(std::slice::from_ref(run));
    let others = varied_names(&all);
    for point in all {
        let Some(group) = point.settings.get(by).filter(|group| group.used).cloned() else { continue };
        match arms.iter_mut().find(|arm| arm.group.as_ref().is_some_and(|known| known.value == group.value)) {
            Some(arm) => arm.points.push(point),
            None => arms.push(Arm {
                name: run.name,
                group: Some(group),
                meta: &run.data.meta,
                points: vec![point],
                ended_early: has_ended_early(run.data),
            }),
        }
    }
    if arms.len() < 2 || !others.iter().any(|name| name == by) {
        return Err(GroupingError::NotVaried(others));
    }
    let texts: Vec<String> = arms.iter().filter_map(|arm| Some(arm.group.as_ref()?.value.to_string())).collect();
    match base.map(|base| texts.iter().position(|text| text == base)) {
        Some(None) => return Err(GroupingError::NoSuchValue(texts)),
        Some(Some(first)) => arms[..=first].rotate_right(1),
        None => {}
    }
    Ok(arms)
}

/// The settings, repetition left out, that have more than one value among `points`.
fn varied_names(points: &[ArmPoint]) -> Vec<String> {
    let mut values: BTreeMap<(Role, &str), BTreeSet<String>> = BTreeMap::new();
    for setting in points.iter().flat_map(|point| point.settings.used()) {
        values.entry((setting.role, &setting.name)).or_default().insert(setting.value.to_string());
    }
    let varied = values.into_iter().filter(|((role, _), values)| *role != Role::Repeat && values.len() > 1);
    varied.map(|((_, name), _)| name.to_owned()).collect()
}

/// What was recorded of each analysed point of `run`.
fn pairs_of<'a>(run: &ComparedRun<'a>) -> impl Iterator<Item = (&'a PointData, &'a PointAnalysis)> + use<'a> {
    let (analysis, data) = (run.analysis, run.data);
    analysis.points.iter().filter_map(|point| Some((data.points.iter().find(|data| data.id == point.id)?, point)))
}

/// The points of all `runs`, described as if they were of one: what only one run varies is a difference between the others, too.
fn describe_together<'a>(runs: &[ComparedRun<'a>]) -> Vec<ArmPoint<'a>> {
    let numbered = (0u32..).zip(runs).flat_map(|(nth, run)| pairs_of(run).map(move |pair| (nth, pair)));
    let numbered: Vec<(u32, (&PointData, &PointAnalysis))> = numbered.collect();
    let trials = |nth: u32| runs[nth as usize].data.meta.plan.trials.as_slice();
    let mut headers: Vec<PointData> =
        numbered.iter().map(|(nth, (data, _))| header(&as_asked(data, trials(*nth)), *nth)).collect();
    // Within a run, recordings that say the same may be what is compared.
    if runs.len() > 1 {
        name_recordings_alike(&mut headers);
    }
    let planned: Vec<_> = runs.iter().flat_map(|run| run.data.meta.plan.trials.clone()).collect();
    let described = describe_in_full(&headers, &EngineNames::new(&headers, &planned));
    let all = (0u32..).zip(numbered).zip(described);
    all.map(|((at, (_, (data, analysis))), Described { settings, label, .. })| ArmPoint {
        data,
        analysis,
        settings,
        label,
        at,
    })
    .collect()
}

/// Gives all recordings that say the same the path of the first of them: a copy of a log, or its workload file, is the same work. One of the
/// same path with other statements gets a name of its own: the file was written again, or is in another directory.
fn name_recordings_alike(headers: &mut [PointData]) {
    let mut known: Vec<RecordingSummary> = Vec::new();
    for value in headers.iter_mut().flat_map(|header| header.trial.workload.params.0.values_mut()) {
        let Value::Recording(summary) = value else { continue };
        if let Some(same) = known.iter().find(|known| known.says_the_same(summary)) {
            summary.path.clone_from(&same.path);
            continue;
        }
        // Not only the first of that path: if that is of an older run, its statements are not known.
        let mut others = known.iter().filter(|known| known.path == summary.path).filter_map(known_digest);
        if let Some(digest) = known_digest(summary).filter(|digest| others.any(|other| other != *digest)) {
            summary.name_by_digest(digest);
        }
        known.push((**summary).clone());
    }
}

/// The digest of the statements of a log; `None` if the run is older than digests.
fn known_digest(summary: &RecordingSummary) -> Option<u32> {
    summary.sessions.map(|sessions| sessions.digest).filter(|digest| *digest != 0)
}

/// Sequences of several runs have the same numbers.
const SEQUENCES_MAX: u32 = 1 << 20;

/// `point` without what was measured, and with a sequence that no other run has.
fn header(point: &PointData, run: u32) -> PointData {
    let mut traits = point.traits.clone();
    traits.course.sequence = traits.course.sequence.map(|number| number.wrapping_add(run * SEQUENCES_MAX));
    PointData {
        state: point.state,
        traits,
        params: point.params.clone(),
        ..PointData::unmeasured(point.id, point.trial.clone())
    }
}

impl ArmPoint<'_> {
    /// Its place in the order of measurement.
    pub fn at(&self) -> u32 {
        self.at
    }

    /// Whether its numbers may be used and compared.
    pub fn is_usable(&self) -> bool {
        is_comparable(self.analysis)
    }

    /// The settings by which it corresponds to a point of another arm.
    fn key(&self, differing: &Differences) -> Vec<NamedValue> {
        let kept = self.settings.used().filter(|one| one.role != Role::Repeat && !differing.covers(&one.name));
        let mut key: Vec<NamedValue> = kept.map(|one| (one.name.clone(), one.value.to_string())).collect();
        key.sort();
        key
    }
}

impl Arm<'_> {
    /// The words about it.
    pub fn summary(&self) -> ArmSummary {
        let mut engines: Vec<(String, Option<String>)> = Vec::new();
        for point in &self.points {
            let engine = (point.settings.text(ENGINE).unwrap_or_default(), point.data.traits.engine.version.clone());
            if !engines.contains(&engine) {
                engines.push(engine);
            }
        }
        let repeats = self.points.iter().map(|point| point.data.trial.repeat as usize).max().unwrap_or(0);
        let (run, hourly) = (self.name.to_owned(), self.meta.machine.hourly);
        ArmSummary { run, group: self.group.clone(), engines, repeats, hourly }
    }

    /// The values of each setting that has an effect on a point.
    fn values(&self) -> BTreeMap<(Role, String), BTreeSet<String>> {
        let mut all: BTreeMap<(Role, String), BTreeSet<String>> = BTreeMap::new();
        for setting in self.points.iter().flat_map(|point| point.settings.used()) {
            all.entry((setting.role, setting.name.clone())).or_default().insert(setting.value.to_string());
        }
        all
    }
}

/// A setting whose values in two arms have none in common.
pub struct Difference {
    pub name: String,
    pub base: Vec<String>,
    pub new: Vec<String>,
    /// Whether it decides if the data fits in memory.
    pub decides_fit: bool,
}

/// In what two arms differ.
#[derive(Default)]
pub struct Differences {
    /// The settings that are compared: points correspond whatever their values are.
    pub compared: Vec<Difference>,
    /// The sorts of work that are never compared.
    pub work: Vec<Difference>,
    /// The settings that only one arm has.
    one_sided: BTreeSet<String>,
}

impl Differences {
    fn covers(&self, name: &str) -> bool {
        self.one_sided.contains(name) || self.compared.iter().any(|compared| compared.name == name)
    }
}

/// In what two arms differ.
pub fn differing(base: &Arm, new: &Arm) -> Differences {
    let (of_base, of_new) = (base.values(), new.values());
    let decides_fit = |name: &str| {
        let settings = base.points.iter().filter_map(|point| point.settings.get(name));
        settings.take(1).any(Setting::decides_fit)
    };
    let mut found = Differences::default();
    for ((role, name), values) in &of_base {
        match of_new.get(&(*role, name.clone())) {
            None => drop(found.one_sided.insert(name.clone())),
            Some(others) if values.is_disjoint(others) && *role != Role::Repeat => {
                let list = |values: &BTreeSet<String>| values.iter().cloned().collect();
                let (base, new) = (list(values), list(others));
                let difference = Difference { name: name.clone(), base, new, decides_fit: decides_fit(name) };
                if is_work(*role) { found.work.push(difference) } else { found.compared.push(difference) }
            }
            Some(_) => {}
        }
    }
    found.one_sided.extend(of_new.keys().filter(|key| !of_base.contains_key(key)).map(|(_, name)| name.clone()));
    found
}

fn is_work(role: Role) -> bool {
    matches!(role, Role::Workload | Role::Work)
}

/// The places that both arms have, in the order of the base, and how many only one of them has.
pub fn match_places<'a>(base: &'a Arm, new: &'a Arm, differing: &Differences) -> (Vec<CommonPlace<'a>>, usize) {
    let by_key = |arm: &'a Arm| -> HashMap<Vec<NamedValue>, Vec<&'a ArmPoint<'a>>> {
        let mut places: HashMap<_, Vec<&ArmPoint>> = HashMap::new();
        arm.points.iter().for_each(|point| places.entry(point.key(differing)).or_default().push(point));
        places
    };
    let (of_base, mut of_new) = (by_key(base), by_key(new));
    let (mut places, mut alone) = (Vec::new(), 0);
    for (key, points) in of_base {
        let Some(others) = of_new.remove(&key).filter(|others| is_unambiguous(&points) && is_unambiguous(others))
        else {
            alone += 1;
            continue;
        };
        let label = place_label(&points[0].label, differing);
        places.push(CommonPlace { label, base: points, new: others, is_of_one_run: base.group.is_some() });
    }
    places.sort_by_key(|place| place.base[0].at);
    (places, alone + of_new.len())
}

/// The places of `base` that `new` lacks because its run ended before them, with the points of the base.
pub fn not_measured<'a>(
    base: &'a Arm,
    new: &Arm,
    differing: &Differences,
) -> Vec<(Vec<Setting>, Vec<&'a ArmPoint<'a>>)> {
    let mut missing: Vec<(Vec<NamedValue>, Vec<&ArmPoint>)> = Vec::new();
    let measured: BTreeSet<Vec<NamedValue>> = new.points.iter().map(|point| point.key(differing)).collect();
    for point in base.points.iter().filter(|_| new.ended_early) {
        let key = point.key(differing);
        match missing.iter_mut().find(|(known, _)| *known == key) {
            _ if measured.contains(&key) => {}
            Some((_, points)) => points.push(point),
            None => missing.push((key, vec![point])),
        }
    }
    missing.into_iter().map(|(_, points)| (place_label(&points[0].label, differing), points)).collect()
}

/// Whether trials of the plan of `run` have no point. How many points a search takes is not known before.
fn has_ended_early(run: &RunData) -> bool {
    let trials = &run.meta.plan.trials;
    trials.iter().all(|trial| trial.limit.is_none()) && trials.len() > run.points.len()
}

/// Whether `points` of one arm are repeats of each other: what differs between the arms has one value there.
fn is_unambiguous(points: &[&ArmPoint]) -> bool {
    let none = Differences::default();
    points.windows(2).all(|pair| pair[0].key(&none) == pair[1].key(&none))
}

/// The settings that distinguish a place from the others.
fn place_label(label: &Label, differing: &Differences) -> Vec<Setting> {
    let all = label.group.iter().chain(&label.place);
    all.filter(|one| one.role != Role::Repeat && !differing.covers(&one.name)).cloned().collect()
}

impl CommonPlace<'_> {
    /// The usable points in pairs, each with its `value`: neighbours in time within one run, or repeats with the same number of two runs.
    pub fn pairing(&self, value: impl Fn(&ArmPoint) -> Option<f64>) -> Pairing {
        let repeats = |points: &[&ArmPoint], place: fn(&ArmPoint) -> u32| -> Vec<RepeatValue> {
            let usable = points.iter().filter(|point| point.is_usable());
            usable.filter_map(|point| Some(RepeatValue { place: place(point), value: value(point)? })).collect()
        };
        if self.is_of_one_run {
            Pairing::adjacent(&repeats(&self.base, |point| point.at), &repeats(&self.new, |point| point.at))
        } else {
            let number = |point: &ArmPoint| point.data.trial.repeat;
            Pairing::by_number(&repeats(&self.base, number), &repeats(&self.new, number))
        }
    }
}
