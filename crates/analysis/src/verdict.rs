//! The answer of a run as data: what each group reached, how steadily, what limited it, and how far to trust that.
//!
//! In: the analysed points of a run, and its plan. Out: a [`Verdict`]. Limits: groups are set side by side and not ranked, since what
//! differs between them may be the work itself. Invalid points are counted and named and otherwise left out. Nothing here is a
//! sentence: the crate `report` words it.

mod steadiness;

pub use steadiness::{LongestWait, Steadiness};

use crate::evidence::cause::{Cause, Limit, Throttle};
use crate::findings::knee::FALL_MIN;
use crate::findings::overload::Overload;
use crate::findings::{Code, DetailKind};
use crate::math::ratio::{Pairing, Preference, RatioEstimate, RepeatValue};
use crate::math::repeats::{MeanOfRepeats, REPEATS_MIN, combine};
use crate::numbers::background::BackgroundSummary;
use crate::points::durability::durability;
use crate::points::insert_slowdown::{InsertComparison, compare};
use crate::points::instance_gain::{InstanceGain, instance_gains};
use crate::points::limit::RateLimit;
use crate::points::relative::{RelativeTable, relative_tables};
use crate::points::step_steadiness::{StepSteadiness, step_steadiness};
use crate::points::sweep::{ScalingAxis, StepPlace, Sweep, SweepStep, sweeps};
use crate::points::variants::{VariantVerdict, variant_verdicts};
use crate::recorded::dimensions::Setting;
use crate::recorded::engine_names::EngineNames;
use crate::{Finding, PointAnalysis, SearchAnalysis, Severity, Validity, WorkDone};
use model::{Plan, PointState};
use serde::Serialize;
use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use steadiness::steadiness;

/// The answer of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Verdict {
    /// Each group, in the order of the run.
    pub groups: Vec<GroupVerdict>,
    /// What slower storage and larger data cost inserts; `None` if the run does not show it.
    pub comparison: Option<InsertComparison>,
    /// What one setting does to the same work, for each setting with several values.
    pub relative: Vec<RelativeTable>,
    /// What more instances carry against fewer, if their number varies.
    pub instances: Vec<InstanceGain>,
    /// Which variant of a statement is faster, at each place that has some.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub variants: Vec<VariantVerdict>,
    /// The steadiest and the least steady step of each sweep.
    pub step_steadiness: Vec<StepSteadiness>,
    /// How far to trust it all.
    pub trust: Trust,
}

/// The answer of the points that differ at most in clients, depth and repetition.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GroupVerdict {
    /// What distinguishes the group from the others.
    pub label: Vec<Setting>,
    /// The engine, or the path.
    pub engine: String,
    pub workload: String,
    /// The step of a sequence, if it is one.
    pub step: Option<String>,
    /// The durability that all its points have.
    pub durability: Option<String>,
    /// How much it does.
    pub capacity: Capacity,
    /// How much of the work the point did that shows it.
    pub work_done: WorkDone,
    pub steadiness: Steadiness,
    pub bottleneck: Bottleneck,
    /// How far its points can be trusted.
    pub validity: Tally,
    /// The largest rate that keeps an objective, if the group is a search for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<RateLimit>,
}

/// How much a group does.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Capacity {
    /// No point has a usable result.
    Unknown,
    /// A few operations, such as the building of indexes: they have a duration and no rate.
    Duration {
        /// From the first to the last of them.
        seconds: MeanOfRepeats,
        ops: u64,
    },
    Rate(Box<RateReached>),
}

/// The rate of new orders that was reached.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NewOrdersReached {
    /// New orders per minute: of all warehouses, or of one.
    pub per_minute: MeanOfRepeats,
    /// Whether it is that of one warehouse, because the terminals make pauses.
    pub is_of_warehouse: bool,
}

/// The best rate of a group.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RateReached {
    pub ops_per_s: MeanOfRepeats,
    /// Queries per second, if an operation is not one query.
    pub queries_per_s: Option<MeanOfRepeats>,
    /// Rows inserted per second, if any are.
    pub rows_per_s: Option<MeanOfRepeats>,
    /// New orders, if any are entered.
    pub new_orders: Option<NewOrdersReached>,
    /// Payload per second of a workload that moves blocks; of others 0: what a row holds is not what an engine moves.
    pub bytes_per_s: f64,
    /// The 99th percentile of the response times.
    pub p99_ns: Option<u64>,
    /// The number of clients and the depth at which the rate was reached, if they vary.
    pub place: StepPlace,
    /// How the rate changes with clients or depth.
    pub scaling: Scaling,
    /// The rate of an open loop.
    pub offered_per_s: Option<f64>,
    /// Whether a part of the offered operations was never served, or that of a recording only long after its time.
    pub is_overloaded: bool,
    /// Whether it is the latter: then all of it was served.
    pub fell_behind: bool,
    /// The loads in the background that had a rate to keep, and how much of it was done.
    pub background: Vec<BackgroundRate>,
}

/// How the rate of a group changes with clients or depth.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Scaling {
    NotVaried,
    /// It still rises at the last step.
    Rising,
    /// The last step is the best, but its rate is not known well enough to be above the others.
    RiseNotShown,
    /// An earlier step reaches 90 % of the best rate.
    Levelled {
        /// The first such step.
        at: StepPlace,
        /// The share of the best rate that it reaches.
        share: f64,
    },
    /// The last step is no better than the best.
    NoGain {
        last: StepPlace,
    },
    /// The last step is clearly worse than the best.
    Falling {
        last: StepPlace,
        /// How far it is below the best, as a share of the best.
        fall_share: f64,
        /// The 95 % interval of that share; `None` if fewer than three pairs of repeats show a fall.
        ci95: Option<[f64; 2]>,
        /// How many pairs of repeats the interval is computed from. An interval from three is indicative.
        pairs: usize,
    },
}

/// A load in the background, at a rate of its own.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BackgroundRate {
    /// The kinds of its operations.
    pub kinds: Vec<String>,
    /// The rate asked for.
    pub asked_per_s: f64,
    pub ops_per_s: f64,
    /// The share of it that was done.
    pub kept: f64,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Bottleneck {
    /// How many points each limit was seen in; a point can have several.
    pub limits: BTreeMap<Limit, usize>,
    /// The limits that were set and that limited points.
    #[serde(skip)]
    pub throttles: Vec<Throttle>,
    /// Points for which the counters show no limit.
    pub unknown: usize,
    /// Points of which any of this is known.
    pub judged: usize,
}

/// How many points have each validity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Tally {
    pub valid: usize,
    pub indicative: usize,
    pub invalid: usize,
}

/// How far to trust a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Trust {
    /// How many points have each validity.
    pub validity: Tally,
    /// What makes points indicative or invalid, the gravest first.
    pub reasons: Vec<Reason>,
    /// The lowest and the highest share of operations that succeeded in a point, from 0 to 1.
    pub success: Option<[f64; 2]>,
    /// The lowest and the highest number of retries for each operation in a point; `None` if no point counts them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retries_per_op: Option<[f64; 2]>,
    /// What was planned and not measured.
    pub unmeasured: Vec<Unmeasured>,
}

/// What weakens some points.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Reason {
    /// The code of the findings.
    pub code: Code,
    /// What they make of the points: indicative or invalid.
    pub validity: Validity,
    pub points: usize,
}

impl Reason {
    /// What the points did or had: `ran too short`.
    pub fn words(&self) -> &'static str {
        self.code.reason(self.validity)
    }
}

/// Points of one engine that the plan asked for and the run has not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Unmeasured {
    /// The engine, or the path.
    pub engine: String,
    pub workload: String,
    /// How many points are missing.
    pub missing: usize,
    /// How many were planned.
    pub planned: usize,
}

/// The verdict on `points`, all those of a run that was planned as `plan` and has no search.
pub fn verdict(points: &[PointAnalysis], plan: &Plan, names: &EngineNames) -> Verdict {
    verdict_with_searches(points, &[], plan, names)
}

/// The verdict on `points`, all those of a run that was planned as `plan`, and on its `searches`, each a group of its own.
pub fn verdict_with_searches(
    points: &[PointAnalysis],
    searches: &[SearchAnalysis],
    plan: &Plan,
    names: &EngineNames,
) -> Verdict {
    let ordinary = without_held(points, searches);
    let comparison = compare(&ordinary);
    let all = sweeps(&ordinary);
    let step_steadiness = step_steadiness(&all);
    let sweeps: HashMap<usize, Sweep> = all.into_iter().map(|sweep| (sweep.group, sweep)).collect();
    let groups = by_group(&ordinary);
    let with_work = groups.iter().filter(|own| !own.iter().all(|point| point.had_nothing_to_do()));
    let judged = with_work.map(|own| judge_group(own, sweeps.get(&own[0].group)));
    // A rate of files and blocks together has no meaning: their tables compare sizes and times.
    let compresses = ordinary.iter().any(|point| point.compression.is_some());
    let relative = if compresses { Vec::new() } else { relative_tables(points, plan) };
    Verdict {
        groups: judged.chain(searches.iter().map(judge_search)).collect(),
        comparison: Some(comparison).filter(|comparison| !comparison.slowdowns.is_empty()),
        relative,
        instances: instance_gains(&ordinary),
        variants: variant_verdicts(&ordinary),
        step_steadiness,
        trust: trust(points, plan, names),
    }
}

/// The points that are not the result of a search: those ran at different rates, each at the largest that its search found.
fn without_held<'a>(points: &'a [PointAnalysis], searches: &[SearchAnalysis]) -> Cow<'a, [PointAnalysis]> {
    let held: BTreeSet<u32> = searches.iter().filter_map(|search| Some(search.held()?.point.id)).collect();
    // What holds connections has no rate either: its result is their number.
    let is_ordinary = |point: &PointAnalysis| !held.contains(&point.id) && point.traits.work.hold.is_none();
    if points.iter().all(is_ordinary) {
        Cow::Borrowed(points)
    } else {
        points.iter().filter(|point| is_ordinary(point)).cloned().collect()
    }
}

/// The points of each group, in the order of the run.
fn by_group(points: &[PointAnalysis]) -> Vec<Vec<&PointAnalysis>> {
    let mut groups: BTreeMap<usize, Vec<&PointAnalysis>> = BTreeMap::new();
    points.iter().for_each(|point| groups.entry(point.group).or_default().push(point));
    let mut groups: Vec<Vec<&PointAnalysis>> = groups.into_values().collect();
    groups.sort_by_key(|own| own[0].id);
    groups
}

fn judge_group(own: &[&PointAnalysis], sweep: Option<&Sweep>) -> GroupVerdict {
    let first = own[0];
    let own_durability = durability(first).filter(|word| own.iter().all(|point| durability(point) == Some(*word)));
    GroupVerdict {
        label: first.label.group.clone(),
        engine: first.engine.clone(),
        workload: first.workload.clone(),
        step: first.settings.step().map(str::to_owned),
        durability: own_durability.map(str::to_owned),
        capacity: sweep.map_or(Capacity::Unknown, capacity),
        work_done: sweep.map_or(first, |sweep| sweep.best().points[0]).work_done.clone(),
        steadiness: steadiness(own),
        bottleneck: bottleneck(own),
        validity: Tally::count(own.iter().copied()),
        limit: None,
    }
}

/// A search is judged by the point in which its limit was held, and its bottleneck by the rate above it.
fn judge_search(search: &SearchAnalysis) -> GroupVerdict {
    let held: Vec<&PointAnalysis> = search.held().map(|probe| &probe.point).into_iter().collect();
    let cause = search.bottleneck().map(|cause| cause.point);
    let above: Vec<&PointAnalysis> =
        search.probes.iter().map(|probe| &probe.point).filter(|point| Some(point.id) == cause).collect();
    let first = search.probes.first().map(|probe| &probe.point);
    GroupVerdict {
        label: search.settings().cloned().collect(),
        engine: search.engine.clone(),
        workload: search.workload.clone(),
        step: first.and_then(|point| point.settings.step()).map(str::to_owned),
        durability: first.and_then(durability).map(str::to_owned),
        capacity: match held.as_slice() {
            [] => Capacity::Unknown,
            held => capacity(&Sweep::from_points(held.to_vec())),
        },
        work_done: held.first().map(|point| point.work_done.clone()).unwrap_or_default(),
        steadiness: steadiness(&held),
        bottleneck: bottleneck(&above),
        validity: Tally::count(held.iter().copied()),
        limit: Some(search.figures()),
    }
}

fn capacity(sweep: &Sweep) -> Capacity {
    let best = sweep.best();
    let ops = best.points.iter().filter_map(|point| Some(point.summary.as_ref()?.ops)).max().unwrap_or(0);
    let durations: Option<Vec<f64>> = best.points.iter().map(|point| point.duration_s()).collect();
    if let Some(seconds) = durations.and_then(|all| combine(all.into_iter().map(|seconds| (seconds, None)))) {
        return Capacity::Duration { seconds, ops };
    }
    Capacity::Rate(Box::new(rate_reached(sweep, best)))
}

fn new_orders_reached(best: &SweepStep) -> Option<NewOrdersReached> {
    let rates = || best.points.iter().filter_map(|point| point.summary.as_ref()?.new_orders);
    let is_of_warehouse = rates().any(|rate| rate.per_minute_and_warehouse.is_some());
    let per_minute = best.estimate(|summary| {
        let rate = summary.new_orders?;
        let part =
            rate.per_minute_and_warehouse.filter(|_| rate.per_minute > 0.0).map_or(1.0, |one| one / rate.per_minute);
        Some((rate.per_minute * part, rate.per_minute_ci95.map(|ci95| ci95.map(|bound| bound * part))))
    })?;
    Some(NewOrdersReached { per_minute, is_of_warehouse })
}

fn rate_reached(sweep: &Sweep, best: &SweepStep) -> RateReached {
    let summaries = || best.points.iter().filter_map(|point| point.summary.as_ref());
    let has_queries = summaries().any(|summary| summary.has_queries());
    let queries = best.estimate(|summary| Some((summary.queries_per_s, summary.queries_per_s_ci95)));
    let bytes = best.estimate(|summary| Some((summary.bytes_per_s, None)));
    let moves_blocks = best.points.iter().any(|point| point.traits.work.io.is_some());
    let background = summaries().map(|summary| &summary.background).find(|loads| !loads.is_empty());
    RateReached {
        ops_per_s: best.estimate(|summary| Some((summary.ops_per_s, summary.ops_per_s_ci95))).unwrap_or_default(),
        queries_per_s: queries.filter(|_| has_queries),
        rows_per_s: best.estimate(|summary| Some((summary.rows_per_s?, summary.rows_per_s_ci95))),
        new_orders: new_orders_reached(best),
        bytes_per_s: bytes.filter(|_| moves_blocks).map_or(0.0, |bytes| bytes.mean),
        p99_ns: best.p99_ns(),
        place: sweep.place(best),
        scaling: scaling(sweep),
        offered_per_s: summaries().find_map(|summary| summary.offered_per_s),
        is_overloaded: best.points.iter().any(|point| is_overloaded(point)),
        fell_behind: best.points.iter().any(|point| figures::<Overload>(point).any(|one| one.replay.is_some())),
        background: background.into_iter().flatten().filter_map(background_rate).collect(),
    }
}

/// The rate of `load`, if it had one to keep.
fn background_rate(load: &BackgroundSummary) -> Option<BackgroundRate> {
    let (kinds, ops_per_s) = (load.kinds.clone(), load.ops_per_s);
    Some(BackgroundRate { kinds, asked_per_s: load.asked_per_s?, ops_per_s, kept: load.kept? })
}

/// Whether a part of the offered arrivals was never served.
fn is_overloaded(point: &PointAnalysis) -> bool {
    figures::<Overload>(point).any(|overload| overload.is_lasting)
}

/// The figures of the findings of one kind of `point`.
fn figures<T: DetailKind + 'static>(point: &PointAnalysis) -> impl Iterator<Item = &T> {
    point.findings.iter().filter_map(|finding| T::in_detail(&finding.detail))
}

fn scaling(sweep: &Sweep) -> Scaling {
    let (best, knee, last) = (sweep.best(), sweep.knee(), sweep.last());
    let [of_knee, of_last] = [knee, last].map(|step| step.ops_per_s() / best.ops_per_s().max(f64::MIN_POSITIVE));
    match sweep.axis {
        ScalingAxis::None => Scaling::NotVaried,
        _ if !std::ptr::eq(knee, best) => Scaling::Levelled { at: sweep.place(knee), share: of_knee },
        _ if std::ptr::eq(best, last) && sweep.is_rise_shown() => Scaling::Rising,
        _ if std::ptr::eq(best, last) => Scaling::RiseNotShown,
        _ => match 1.0 - of_last {
            fall_share if fall_share > FALL_MIN => fall(sweep.place(last), fall_share, fall_ratio(best, last)),
            _ => Scaling::NoGain { last: sweep.place(last) },
        },
    }
}

fn fall(last: StepPlace, fall_share: f64, ratio: Option<RatioEstimate>) -> Scaling {
    let below = |ratio: RatioEstimate| ratio.ci95.filter(|[_, high]| *high < 1.0 && ratio.n >= REPEATS_MIN);
    let ci95 = ratio.and_then(below).map(|[low, high]| [1.0 - high, 1.0 - low]);
    Scaling::Falling { last, fall_share, ci95, pairs: ratio.map_or(0, |ratio| ratio.n) }
}

/// The rate of `last` divided by that of `best`, from pairs of their repeats.
fn fall_ratio(best: &SweepStep, last: &SweepStep) -> Option<RatioEstimate> {
    let rates = |step: &SweepStep| -> Vec<RepeatValue> {
        let rate = |point: &&PointAnalysis| Some((point.id, point.summary.as_ref()?.ops_per_s));
        step.points.iter().filter_map(rate).map(|(place, value)| RepeatValue { place, value }).collect()
    };
    let pairs = Pairing::adjacent(&rates(best), &rates(last)).pairs;
    RatioEstimate::from_pairs(&pairs, Preference::More)
}

fn bottleneck(points: &[&PointAnalysis]) -> Bottleneck {
    let mut all = Bottleneck::default();
    for point in points {
        let limits = limits_of(point);
        all.judged += usize::from(!limits.is_empty());
        all.throttles.extend(throttles_of(point));
        for limit in limits {
            match limit {
                Limit::Unclear => all.unknown += 1,
                known => *all.limits.entry(known).or_default() += 1,
            }
        }
    }
    all
}

fn limits_of(point: &PointAnalysis) -> BTreeSet<Limit> {
    point.bottlenecks.iter().flat_map(|found| &found.causes).map(Cause::limit).collect()
}

/// The limits that were set and that limited `point`.
fn throttles_of(point: &PointAnalysis) -> impl Iterator<Item = Throttle> {
    point.bottlenecks.iter().flat_map(|found| &found.causes).filter_map(Cause::throttle)
}

impl Bottleneck {
    /// That of the points of both.
    pub fn with(mut self, other: &Bottleneck) -> Bottleneck {
        other.limits.iter().for_each(|(limit, points)| *self.limits.entry(*limit).or_default() += points);
        self.throttles.extend(&other.throttles);
        self.unknown += other.unknown;
        self.judged += other.judged;
        self
    }
}

impl Verdict {
    /// The steadiness of all points.
    pub fn steadiness(&self) -> Steadiness {
        self.groups.iter().fold(Steadiness::default(), |sum, group| sum.with(&group.steadiness))
    }

    /// The bottlenecks of all points. That of a search is in its own figures.
    pub fn bottleneck(&self) -> Bottleneck {
        self.groups
            .iter()
            .filter(|group| group.limit.is_none())
            .fold(Bottleneck::default(), |sum, group| sum.with(&group.bottleneck))
    }
}

impl Tally {
    fn count<'a>(points: impl Iterator<Item = &'a PointAnalysis>) -> Tally {
        points.fold(Tally::default(), |mut tally, point| {
            match point.validity {
                Validity::Valid => tally.valid += 1,
                Validity::Indicative => tally.indicative += 1,
                Validity::Invalid => tally.invalid += 1,
            }
            tally
        })
    }

    pub fn points(&self) -> usize {
        self.valid + self.indicative + self.invalid
    }
}

fn trust(points: &[PointAnalysis], plan: &Plan, names: &EngineNames) -> Trust {
    let summaries = || points.iter().filter_map(|point| point.summary.as_ref());
    Trust {
        validity: Tally::count(points.iter()),
        reasons: reasons(points),
        success: range_of(summaries().filter_map(|summary| summary.success_rate)),
        retries_per_op: range_of(summaries().filter_map(|summary| Some(summary.retries?.per_op))),
        unmeasured: unmeasured(points, plan, names),
    }
}

/// The least and the greatest of `values`.
fn range_of(values: impl Iterator<Item = f64>) -> Option<[f64; 2]> {
    values.map(|value| [value, value]).reduce(|all, one| [all[0].min(one[0]), all[1].max(one[1])])
}

/// What weakens points, by gravity: what makes numbers wrong comes before what makes them uncertain. What is not in this list is
/// between the two.
const GRAVEST: [Code; 24] = [
    Code::Corrupt,
    Code::BrokenConditions,
    Code::WorkMissing,
    Code::Incomplete,
    Code::Interrupted,
    Code::Hung,
    Code::NotDurable,
    Code::OtherServer,
    Code::SettingsChanged,
    Code::Restarted,
    Code::Outage,
    Code::EndpointOutage,
    Code::SettingsUnread,
    Code::OwnGap,
    Code::ClockGap,
    Code::Plausibility,
    Code::LittlesLaw,
    Code::Errors,
    Code::LimitEscaped,
    Code::ForeignCpu,
    Code::ForeignStatements,
    Code::CpuThrottled,
    Code::Swap,
    Code::ClientBound,
];
const LEAST_GRAVE: [Code; 4] = [Code::WideInterval, Code::FewSamples, Code::TooShort, Code::Imported];

fn gravity(code: Code) -> (usize, usize) {
    let places = [&GRAVEST[..], &LEAST_GRAVE].map(|codes| codes.iter().position(|known| *known == code));
    match places.into() {
        (Some(place), _) => (0, place),
        (None, None) => (1, 0),
        (None, Some(place)) => (2, place),
    }
}

fn reasons(points: &[PointAnalysis]) -> Vec<Reason> {
    let mut counts: BTreeMap<(Validity, Code), usize> = BTreeMap::new();
    for point in points {
        let weakening = point.findings.iter().filter(|finding| finding.severity > Severity::Note);
        let deciding = weakening.filter(|finding| Validity::from_severities([finding.severity]) == point.validity);
        let codes: BTreeSet<Code> = deciding.map(Finding::code).collect();
        codes.into_iter().for_each(|code| *counts.entry((point.validity, code)).or_default() += 1);
    }
    let reasons = counts.into_iter().map(|((validity, code), points)| Reason { code, validity, points });
    let mut reasons: Vec<Reason> = reasons.collect();
    reasons.sort_by_key(|reason| (Reverse(reason.validity), gravity(reason.code), Reverse(reason.points)));
    reasons
}

/// The engines of which points are missing, in the order of the plan.
fn unmeasured(points: &[PointAnalysis], plan: &Plan, names: &EngineNames) -> Vec<Unmeasured> {
    let mut all: Vec<Unmeasured> = Vec::new();
    let mut places: HashMap<(String, &str), usize> = HashMap::new();
    for trial in plan.trials.iter().filter(|trial| trial.limit.is_none()) {
        let (engine, workload) = (names.name_of(trial), &trial.workload.name);
        let place = *places.entry((engine.clone(), workload)).or_insert(all.len());
        if place == all.len() {
            all.push(Unmeasured { engine, workload: workload.clone(), missing: 0, planned: 0 });
        }
        all[place].planned += 1;
        all[place].missing += 1;
    }
    // The answer names a point that failed, so it is not one of those that are missing.
    let is_tried = |point: &&PointAnalysis| point.summary.is_some() || point.state == PointState::Failed;
    for point in points.iter().filter(is_tried) {
        if let Some(place) = places.get(&(point.engine.clone(), point.workload.as_str())) {
            all[*place].missing = all[*place].missing.saturating_sub(1);
        }
    }
    all.retain(|one| one.missing > 0);
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::course::shape::stalls::SlowOps;
    use crate::findings::stall::{ShortStalls, Stalls};
    use crate::findings::starvation::StarvedOps;
    use crate::points::sweep::{is_comparable, is_whole};
    use crate::simulated::{Simulation, params, run_of};
    use crate::{Analysis, analyse};
    use model::{Nanos, Pacing, PointData, Value};

    fn analysed(points: Vec<PointData>) -> Analysis {
        analyse(&run_of(points, Vec::new()))
    }

    fn judged(points: Vec<PointData>) -> Verdict {
        analysed(points).verdict
    }

    fn point(engine: &str, workload: &str, param: (&str, Value), depth: u32, rate: u64) -> PointData {
        let simulation = Simulation::counts(&[rate; 10]).with(|point| {
            point.trial.target.engine = engine.into();
            point.trial.workload.name = workload.into();
            point.trial.workload.params = params(&[param]);
            point.trial.load.pacing = Pacing::Closed { think: Nanos(1) };
            point.trial.load.depth = depth;
        });
        simulation.point()
    }

    fn file(mode: &str, depth: u32, rate: u64) -> PointData {
        point("file", "file", ("mode", Value::Word(mode.into())), depth, rate)
    }

    fn rate(group: &GroupVerdict) -> &RateReached {
        match &group.capacity {
            Capacity::Rate(rate) => rate,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn each_group_has_its_best_rate_and_how_it_scales() {
        let points =
            vec![file("rndrd", 1, 9_000), file("rndrd", 8, 31_000), file("rndrd", 32, 32_000), file("rndwr", 1, 5)];
        let verdict = judged(points);
        assert_eq!(verdict.groups.len(), 2);
        let reads = rate(&verdict.groups[0]);
        let at = |depth| StepPlace { clients: None, depth: Some(depth) };
        assert_eq!((reads.ops_per_s.mean, reads.place), (32_000.0, at(32)));
        assert_eq!(reads.scaling, Scaling::Levelled { at: at(8), share: 31.0 / 32.0 });
        assert_eq!((verdict.groups[0].validity.valid, verdict.steadiness().measured), (3, 4));
    }

    #[test]
    fn a_step_that_had_nothing_to_do_is_compared_with_none() {
        let mut build = point("sqlite", "insert", ("step", Value::Word("l.x".into())), 1, 1);
        build.phases[0].intervals.truncate(3);
        let mut step = analysed(vec![build]).points.remove(0);
        assert!(is_comparable(&step));
        step.summary.as_mut().expect("it was measured").seconds = 0.000_118;
        assert_eq!((is_whole(&step), is_comparable(&step)), (true, false));
    }

    #[test]
    fn a_step_of_few_operations_has_a_duration_and_no_rate() {
        let mut build = point("sqlite", "insert", ("step", Value::Word("l.x".into())), 1, 1);
        build.phases[0].intervals.truncate(3);
        let verdict = judged(vec![build]);
        assert_eq!(verdict.groups[0].step.as_deref(), Some("l.x"));
        // One operation a second and three of them: too few for a percentile, and so for a valid point, but it is timed.
        assert!(matches!(verdict.groups[0].capacity, Capacity::Duration { ops: 3, .. }), "{verdict:?}");
    }

    #[test]
    fn a_group_without_a_usable_point_is_there_with_an_unknown_capacity() {
        let verdict = judged(vec![file("rndrd", 1, 0), file("rndwr", 1, 1_000)]);
        assert_eq!((&verdict.groups[0].capacity, verdict.groups[0].validity.invalid), (&Capacity::Unknown, 1));
        assert_eq!(rate(&verdict.groups[1]).ops_per_s.mean, 1_000.0);
    }

    #[test]
    fn an_engine_that_was_planned_and_not_measured_is_named() {
        let mut run = run_of(vec![file("rndrd", 1, 1_000), file("rndrd", 8, 1_000)], Vec::new());
        run.meta.plan.trials = run.points.iter().map(|point| point.trial.clone()).collect();
        let mut other = run.points[0].trial.clone();
        other.target.engine = "postgres".into();
        run.meta.plan.trials.push(other);
        run.points.pop();
        let missing =
            |engine: &str, planned| Unmeasured { engine: engine.into(), workload: "file".into(), missing: 1, planned };
        assert_eq!(analyse(&run).verdict.trust.unmeasured, [missing("file", 2), missing("postgres", 1)]);
        let mut failed = PointData::unmeasured(2, run.meta.plan.trials[1].clone());
        failed.state = PointState::Failed;
        run.points.push(failed);
        assert_eq!(analyse(&run).verdict.trust.unmeasured, [missing("postgres", 1)], "it was tried");
    }

    #[test]
    fn what_was_not_measured_did_not_run_steadily_either() {
        let mut failed = file("rndrd", 1, 1_000);
        (failed.state, failed.phases) = (PointState::Failed, Vec::new());
        let verdict = judged(vec![failed]);
        assert_eq!((verdict.steadiness().measured, verdict.bottleneck().judged), (0, 0));
    }

    #[test]
    fn the_longest_wait_is_the_stall_as_its_finding_has_it() {
        let mut stalled = file("rndrd", 1, 1_950);
        stalled.phases[0].intervals[4..7].iter_mut().for_each(|interval| interval.kinds.clear());
        let verdict = judged(vec![file("rndwr", 1, 1_000), stalled]);
        let longest = verdict.steadiness().longest_stall.expect("it stalled");
        assert_eq!((longest.point, longest.seconds), (2, 3.0));
        assert_eq!((verdict.steadiness().disturbed, verdict.steadiness().measured), (1, 2));
    }

    #[test]
    fn a_last_step_that_is_slower_has_its_loss() {
        let points = vec![file("rndrd", 1, 9_000), file("rndrd", 8, 32_000), file("rndrd", 32, 24_000)];
        let scaling = rate(&judged(points).groups[0]).scaling;
        let Scaling::Falling { last, fall_share, ci95, pairs } = scaling else { panic!("it falls") };
        assert_eq!((last.depth, fall_share, ci95, pairs), (Some(32), 0.25, None, 1));
        let repeat = |repeat: u32, rate: u64| {
            let steps = [(1, 9_000), (8, rate), (32, rate * 3 / 4)];
            steps.map(|(depth, rate)| {
                let mut point = file("rndrd", depth, rate);
                (point.trial.repeat, point.trial.seed) = (repeat, u64::from(repeat));
                point
            })
        };
        let points = (1..=4).flat_map(|nth| repeat(nth, 32_000 + 100 * u64::from(nth))).collect();
        let Scaling::Falling { ci95, pairs, .. } = rate(&judged(points).groups[0]).scaling else { panic!("it falls") };
        assert!(ci95.is_some_and(|[low, high]| 0.24 < low && high < 0.26) && pairs == 4, "{ci95:?} of {pairs}");
    }

    #[test]
    fn a_stall_does_not_hide_the_longer_wait_of_a_client() {
        let mut analysis = analysed(vec![file("rndrd", 1, 1_000), file("rndrd", 8, 1_000)]);
        let slow = |ms: u64| SlowOps {
            count: 1,
            longest_ns: ms * 1_000_000,
            median_ns: 1_000,
            intervals: 1,
            longest_at_ns: 0,
        };
        let stall = Stalls::Operations(ShortStalls { slow: slow(200), intervals_of: 10, period_ns: None });
        let starved = StarvedOps { slow: slow(4_100), length_ns: Nanos::from_secs(10), clients: 1, depth: 8 };
        let findings = [Finding::new(Severity::Note, stall), Finding::new(Severity::Note, starved)];
        for (point, finding) in analysis.points.iter_mut().zip(findings) {
            point.findings.push(finding);
        }
        analysis.points[0].shape.as_mut().unwrap().short_stalls = Some(slow(200));
        analysis.points[1].shape.as_mut().unwrap().starved_ops = Some(slow(4_100));
        let found = steadiness(&analysis.points.iter().collect::<Vec<_>>());
        let longest = |wait: Option<LongestWait>| wait.map(|wait| (wait.point, wait.seconds));
        assert_eq!((longest(found.longest_stall), longest(found.longest_wait)), (Some((1, 0.2)), Some((2, 4.1))));
    }

    #[test]
    fn a_point_of_few_intervals_is_not_judged_unless_it_was_disturbed() {
        let mut short = file("rndrd", 1, 1_000);
        short.phases[0].intervals.truncate(4);
        short.phases[0].end.0 = 4_000_000_000;
        let found = judged(vec![file("rndwr", 1, 1_000), short]).steadiness();
        assert_eq!((found.measured, found.judged, found.disturbed), (2, 1, 0));
    }

    #[test]
    fn the_gravest_reason_comes_first_however_rare() {
        let short = |mode: &str| {
            let mut point = file(mode, 1, 1_000);
            point.phases[0].intervals.truncate(4);
            point.phases[0].end.0 = 4_000_000_000;
            point
        };
        let mut failing = short("rndrw");
        failing.phases[0].intervals[3].kinds[0].failed = 1;
        let verdict = judged(vec![short("rndrd"), short("rndwr"), failing]);
        let reasons: Vec<(&str, usize)> = verdict.trust.reasons.iter().map(|r| (r.code.as_str(), r.points)).collect();
        assert_eq!(reasons, [("errors", 1), ("too-short", 3)]);
        assert_eq!(verdict.trust.validity, Tally { valid: 0, indicative: 3, invalid: 0 });
        assert!(verdict.trust.success.is_some_and(|[least, most]| least < 1.0 && most == 1.0));
    }

    #[test]
    fn an_overload_and_a_background_load_are_in_the_rate() {
        let verdict = judged(vec![Simulation::open(10, 5_000, |_| 1_000_000).point()]);
        let reached = rate(&verdict.groups[0]);
        assert_eq!((reached.is_overloaded, reached.offered_per_s), (true, Some(5_000.0)));
        assert_eq!(verdict.bottleneck().limits.keys().copied().collect::<Vec<_>>(), [Limit::TargetOrClients]);
        let verdict = judged(vec![Simulation::counts(&[1000; 12]).background(4, 500, 498).point()]);
        let background = &rate(&verdict.groups[0]).background[0];
        assert_eq!((background.asked_per_s, background.ops_per_s), (500.0, 498.0));
    }
}
