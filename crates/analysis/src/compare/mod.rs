//! Two arms side by side: is one faster, by how much, how sure, and what changed in the cost of an operation?
//!
//! In: recorded and analysed runs, or the groups of one run. Out: a [`RunComparison`] of the first arm with each other one: the
//! conditions that differ, a ratio for each place (a set of settings that both arms have) and metric, and the costs that changed.
//! Limits: places correspond by their settings, never by text. Another sort of work (workload, mode, mix, step) is never compared.
//! Invalid points are in no ratio. One number per repeat: what happens within a repeat is not looked at. Nothing is averaged over places.

mod arm;
mod conditions;
mod costs;
pub mod kernel_figures;
pub mod kernels;
mod kind_plans;
pub(crate) mod kinds;
mod metrics;
mod overlay;
mod sweep;
mod watches;

pub use arm::{ArmSummary, ComparedRun, GroupingError};
pub use conditions::{Condition, ConditionEffect, ConditionKind};
pub use costs::{CostChange, CostMetric};
pub use kind_plans::PlanComparison;
pub use kinds::{KindComparison, KindRatio, ResultDifference};
pub use metrics::MetricRatio;
pub use overlay::{ArmCurve, ArmOverlay, RateBand, overlay_groups, overlay_runs};
pub use sweep::{ComparedSweep, SweepStretch};
pub use watches::{
    CHANGE_MIN, EffortChange, SHARE_MIN, StatementChange, StatementFigures, WatchComparison, WatchedLoad,
};

use crate::compare::kernels::KernelComparison;
use crate::math::ratio::{FALSE_DISCOVERIES_MAX, PAIRS_MIN, RatioEstimate, discoveries, hold_false_discoveries};
use crate::points::failed_replay::FailedReplay;
use crate::points::metric::{Metric, shared_unit};
use crate::points::work::WorkUnit;
use crate::recorded::dimensions::Setting;
use arm::{Arm, ArmPoint, CommonPlace, split_by, split_by_run};
use conditions::find_conditions;
use std::collections::BTreeSet;

/// Two arms side by side.
#[derive(Clone, Debug)]
pub struct RunComparison {
    /// What `new` is compared with.
    pub base: ArmSummary,
    pub new: ArmSummary,
    /// What differs between them, the gravest first.
    pub unlike: Vec<Condition>,
    /// The places that both have, in the order of the base.
    pub places: Vec<PlaceComparison>,
    /// The kinds of statement at places that have no rate, such as where errors leave no pair that can be used: they have no ratio, but you see
    /// what failed.
    pub unpaired_kinds: Vec<KindComparison>,
    /// How many points of the base can be used, and of the other.
    pub usable: [usize; 2],
    /// Places of one arm that the other lacks.
    pub unmatched: usize,
    /// The kernels of both, if both are runs of such.
    pub kernels: Option<KernelComparison>,
    /// The statements of both, if both are watches.
    pub watches: Option<WatchComparison>,
    /// Points that are in no ratio because they are invalid or have no result.
    pub left_out: usize,
    /// Places of the base whose repeats the other arm has lost, in the order of the base.
    pub lost: Vec<LostPlace>,
    /// The statements of replays that failed, in the base and in the other, if they were more than one in a hundred.
    pub failed_replays: [Option<FailedReplay>; 2],
}

/// A place at which the other arm has too few usable repeats, although the base has enough: they failed, are invalid or were not measured.
#[derive(Clone, Debug, PartialEq)]
pub struct LostPlace {
    /// What distinguishes the place from the others.
    pub label: Vec<Setting>,
    /// The usable repeats of the base, and those of the other arm.
    pub usable: [usize; 2],
}

/// Two arms at one place.
#[derive(Clone, Debug)]
pub struct PlaceComparison {
    /// What distinguishes the place from the others.
    pub label: Vec<Setting>,
    /// The numbers of its points in the base, and of those in the other.
    pub points: [Vec<u32>; 2],
    /// What the work of its points is counted in: the operations of a rate are these.
    pub unit: WorkUnit,
    /// How many pairs of repeats it has.
    pub pairs: usize,
    /// Whether the arms were measured in turn.
    pub is_interleaved: bool,
    /// Rate and response times.
    pub metrics: Vec<MetricRatio>,
    /// What an operation cost, by how much it changed and how sure that is.
    pub costs: Vec<CostChange>,
    /// The kinds of statement, if those of a log were replayed.
    pub kinds: Option<KindComparison>,
}

/// The first of `runs` with each of the others.
pub fn compare_runs(runs: &[ComparedRun]) -> Vec<RunComparison> {
    let mut all = compare_arms(&split_by_run(runs));
    let [base, others @ ..] = runs else { return all };
    for (one, new) in all.iter_mut().zip(others) {
        one.kernels = KernelComparison::from_runs(base, new);
        one.watches = WatchComparison::from_runs(base, new);
    }
    all
}

/// The groups of `run` that differ in the setting `by`: the one with the value `base`, or else the first, with each of the others.
pub fn compare_groups(run: &ComparedRun, by: &str, base: Option<&str>) -> Result<Vec<RunComparison>, GroupingError> {
    Ok(compare_arms(&split_by(run, by, base)?))
}

fn compare_arms(arms: &[Arm]) -> Vec<RunComparison> {
    let [base, others @ ..] = arms else { return Vec::new() };
    let mut all: Vec<RunComparison> = others.iter().map(|new| compare_two(base, new)).collect();
    let places = || all.iter().flat_map(|one| &one.places);
    let p_values: Vec<f64> = places().flat_map(|place| &place.costs).map(CostChange::p_value).collect();
    let mut shown = discoveries(&p_values, FALSE_DISCOVERIES_MAX).into_iter();
    for place in all.iter_mut().flat_map(|one| &mut one.places) {
        place.costs.iter_mut().for_each(|cost| cost.keep_if(shown.next() == Some(true)));
        costs::rank(&mut place.costs);
    }
    let metrics = all.iter_mut().flat_map(|one| &mut one.places).flat_map(|place| &mut place.metrics);
    hold_false_discoveries(&mut metrics.map(|metric| &mut metric.estimate).collect::<Vec<_>>());
    let kinds = all.iter_mut().flat_map(|one| &mut one.places).filter_map(|place| place.kinds.as_mut());
    kinds::judge_together(&mut kinds.collect::<Vec<_>>());
    align_labels(&mut all);
    all
}

/// What one arm has changed is in the labels of no arm, so that a place has one label in all comparisons; unless the places of one could
/// then not be distinguished.
fn align_labels(all: &mut [RunComparison]) {
    let compared = all.iter().flat_map(|one| &one.unlike).filter_map(|condition| condition.kind.setting());
    let compared: BTreeSet<String> = compared.map(str::to_owned).collect();
    for one in all {
        let short = |place: &PlaceComparison| -> Vec<Setting> {
            place.label.iter().filter(|setting| !compared.contains(&setting.name)).cloned().collect()
        };
        let labels: Vec<Vec<Setting>> = one.places.iter().map(short).collect();
        let is_distinct = (1..labels.len()).all(|nth| !labels[..nth].contains(&labels[nth]));
        if is_distinct {
            one.places.iter_mut().zip(labels).for_each(|(place, label)| place.label = label);
        }
    }
}

fn compare_two(base: &Arm, new: &Arm) -> RunComparison {
    let differing = arm::differing(base, new);
    let (matched, unmatched) = arm::match_places(base, new, &differing);
    let lost = lost_places(base, new, &matched, &differing);
    let (mut places, mut unpaired_kinds) = (Vec::new(), Vec::new());
    for place in &matched {
        match compare_place(place) {
            Some(compared) => places.push(compared),
            // Times of a place without any rate are no result, and are not judged with the others.
            None => unpaired_kinds.extend(kinds::compare_kinds(place).map(KindComparison::without_times)),
        }
    }
    let in_turn = places.iter().all(|place| place.is_interleaved);
    let unlike = find_conditions(base, new, &differing, &matched, in_turn);
    if unlike.iter().any(|condition| condition.effect == ConditionEffect::Prevents) {
        let metrics = places.iter_mut().flat_map(|place| &mut place.metrics);
        metrics.for_each(|metric| metric.estimate = metric.estimate.as_indicative());
        let kinds = places.iter_mut().filter_map(|place| place.kinds.as_mut()).flat_map(|kinds| &mut kinds.ratios);
        kinds.for_each(|kind| kind.estimate = kind.estimate.as_indicative());
    }
    let usable = [base, new].map(|arm| arm.points.iter().filter(|point| point.is_usable()).count());
    let left_out = base.points.len() + new.points.len() - usable[0] - usable[1];
    let failed_replays = [base, new].map(|arm| FailedReplay::of(arm.points.iter().map(|point| point.analysis)));
    let (base, new) = (base.summary(), new.summary());
    RunComparison {
        base,
        new,
        unlike,
        places,
        unpaired_kinds,
        usable,
        unmatched,
        kernels: None,
        watches: None,
        left_out,
        lost,
        failed_replays,
    }
}

/// The places at which the base has usable repeats and `new` has lost so many of its own that nothing can be decided.
fn lost_places(base: &Arm, new: &Arm, matched: &[CommonPlace], differing: &arm::Differences) -> Vec<LostPlace> {
    // A step that had nothing to do is compared with none, and is no loss.
    let usable = |points: &[&ArmPoint]| {
        points.iter().filter(|point| point.is_usable() || point.analysis.had_nothing_to_do()).count()
    };
    // Another engine has not lost what this one did.
    let is_same_engine = |place: &&CommonPlace| !engines_of(&place.base).is_disjoint(&engines_of(&place.new));
    let of_matched = matched.iter().filter(is_same_engine).filter_map(|place| {
        let [of_base, of_new] = [usable(&place.base), usable(&place.new)];
        let is_lost = of_new == 0 || of_base >= PAIRS_MIN && of_new < PAIRS_MIN && of_new < place.new.len();
        let lost = || LostPlace { label: place.label.clone(), usable: [of_base, of_new] };
        (of_base > 0 && is_lost).then(lost)
    });
    // A run of other work has lost nothing of this one, however early it ended.
    let is_other_work = matched.is_empty() && !new.points.is_empty();
    let planned: BTreeSet<&str> = new.meta.plan.trials.iter().map(|trial| trial.target.engine.as_str()).collect();
    let unmeasured = arm::not_measured(base, new, differing).into_iter();
    let unmeasured = unmeasured.filter(|(_, points)| !is_other_work && !engines_of(points).is_disjoint(&planned));
    let unmeasured = unmeasured.map(|(label, points)| (label, usable(&points)));
    let unmeasured = unmeasured.filter(|(_, of_base)| *of_base > 0);
    of_matched.chain(unmeasured.map(|(label, of_base)| LostPlace { label, usable: [of_base, 0] })).collect()
}

fn engines_of<'a>(points: &[&'a ArmPoint]) -> BTreeSet<&'a str> {
    points.iter().map(|point| point.data.trial.target.engine.as_str()).collect()
}

fn compare_place(place: &CommonPlace) -> Option<PlaceComparison> {
    let metrics = metrics::compare_metrics(place);
    let pairs = metrics.iter().map(|metric| metric.estimate.n).max()?;
    Some(PlaceComparison {
        label: place.label.clone(),
        points: [&place.base, &place.new].map(|points| points.iter().map(|point| point.data.id).collect()),
        unit: shared_unit(place.base.iter().chain(&place.new).map(|point| point.analysis)),
        pairs,
        is_interleaved: place.pairing(|_: &ArmPoint| Some(1.0)).is_interleaved,
        metrics,
        costs: costs::compare_costs(place),
        kinds: kinds::compare_kinds(place),
    })
}

impl RunComparison {
    /// Whether both arms are groups of one run.
    pub fn is_of_one_run(&self) -> bool {
        self.base.group.is_some()
    }

    /// The kinds of statement of all replays.
    pub fn kinds(&self) -> impl Iterator<Item = &KindComparison> {
        self.places.iter().filter_map(|place| place.kinds.as_ref()).chain(&self.unpaired_kinds)
    }

    /// All ratios, with their places.
    pub fn ratios(&self) -> impl Iterator<Item = (&PlaceComparison, &MetricRatio)> {
        self.places.iter().flat_map(|place| place.metrics.iter().map(move |metric| (place, metric)))
    }

    /// The rates, or the durations of steps that are timed as a whole.
    pub fn speeds(&self) -> impl Iterator<Item = (&PlaceComparison, &MetricRatio)> {
        self.ratios().filter(|(_, metric)| metric.metric.is_speed())
    }
}

impl PlaceComparison {
    /// The ratio of the rates, or of the durations; `None` if neither is known.
    pub fn speed(&self) -> Option<&MetricRatio> {
        self.metrics.iter().find(|metric| metric.metric.is_speed())
    }

    /// The costs of an operation that have changed for sure; with fewer than four pairs all, for what they are worth.
    pub fn changed_costs(&self) -> impl Iterator<Item = &CostChange> {
        self.costs.iter().filter(|cost| cost.is_shown)
    }
}

/// Whether the whole interval of `estimate` is below `share` of the base's work.
pub fn is_below(metric: &MetricRatio, share: f64) -> bool {
    let RatioEstimate { ratio, verdict, .. } = metric.estimate;
    let speed = if metric.metric == Metric::Seconds { 1.0 / ratio } else { ratio };
    metric.metric.is_speed() && verdict == crate::RatioVerdict::Slower && speed < share
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulated::{Random, Simulation, params, run_of};
    use crate::{Analysis, RatioVerdict, analyse};
    use ConditionEffect::{Compared, Prevents, Weakens};
    use model::{ConditionRole, CounterRole, Fact, PointData, RunData, Value};

    /// One repeat of `oltp` on sqlite for ten seconds at about `rate` per second; an operation costs `cpu_ns` of CPU and `reads` of the
    /// engine's own counter, all with 1 % noise.
    fn repeat(random: &mut Random, number: u32, rate: f64, cpu_ns: f64, reads: f64) -> Simulation {
        let mut noisy = |value: f64| value * (1.0 + 0.01 * random.normal());
        let (rate, cpu_ns, reads) = (noisy(rate), noisy(cpu_ns), noisy(reads));
        let count = rate.round();
        let process = ["read_bytes", "write_bytes", "cpu_user_ns", "cpu_system_ns", "context_switches"];
        let used = |s: f64| vec![0.0, 4096.0 * count * s, cpu_ns * count * s, 0.0, 2.0 * count * s];
        Simulation::counts(&[count as u64; 10])
            .source("process", &process, used)
            .source("innodb", &["reads", "log_writes"], |s| vec![reads * count * s, count * s])
            .with(|point| point.trial.repeat = number)
    }

    /// A run of `n` repeats, each changed by `change`.
    fn run(seed: u64, n: u32, rate: f64, cpu_ns: f64, reads: f64, change: impl Fn(&mut PointData)) -> RunData {
        let mut random = Random::new(seed);
        let point = |number| repeat(&mut random, number, rate, cpu_ns, reads).with(&change).point();
        run_of((1..=n).map(point).collect(), Vec::new())
    }

    fn compared(runs: &[&RunData]) -> Vec<RunComparison> {
        let analyses: Vec<Analysis> = runs.iter().map(|run| analyse(run)).collect();
        let all = runs.iter().zip(&analyses).map(|(data, analysis)| ComparedRun { name: "run", data, analysis });
        compare_runs(&all.collect::<Vec<_>>())
    }

    fn grouped(run: &RunData, by: &str, base: Option<&str>) -> Result<Vec<RunComparison>, GroupingError> {
        compare_groups(&ComparedRun { name: "run", data: run, analysis: &analyse(run) }, by, base)
    }

    fn verdicts(one: &RunComparison) -> Vec<RatioVerdict> {
        one.speeds().map(|(_, speed)| speed.estimate.verdict).collect()
    }

    fn condition(one: &RunComparison, kind: &ConditionKind) -> Option<ConditionEffect> {
        one.unlike.iter().find(|condition| condition.kind == *kind).map(|condition| condition.effect)
    }

    fn set(name: &str, value: &str) -> impl Fn(&mut PointData) {
        let params = params(&[(name, Value::Word(value.into()))]);
        move |point| point.trial.target.params.0.extend(params.0.clone())
    }

    fn nothing(_: &mut PointData) {}

    #[test]
    fn a_slower_run_is_told_with_its_cost_and_that_it_was_not_measured_in_turn() {
        let (base, new) = (run(1, 6, 1000.0, 50e3, 3.0, nothing), run(2, 6, 850.0, 60e3, 3.0, nothing));
        let [one] = &compared(&[&base, &new])[..] else { panic!("one comparison") };
        assert_eq!(verdicts(one), [RatioVerdict::Slower]);
        let [place] = &one.places[..] else { panic!("one place: {one:?}") };
        assert!((place.speed().unwrap().estimate.ratio - 0.85).abs() < 0.02 && place.pairs == 6, "{place:?}");
        let metrics: Vec<Metric> = place.metrics.iter().map(|metric| metric.metric).collect();
        assert!(metrics.into_iter().eq([Metric::OpsPerS].into_iter().chain(Metric::response_times())), "{place:?}");
        let changed: Vec<&CostMetric> = place.changed_costs().map(|cost| &cost.metric).collect();
        assert_eq!(changed, [&CostMetric::EngineCpu]);
        let cost = &place.costs[0];
        assert!((cost.ratio.unwrap().ratio - 1.2).abs() < 0.03 && (cost.base - 50e3).abs() < 1e3, "{cost:?}");
        assert_eq!(condition(one, &ConditionKind::Order), Some(Weakens));
        assert!(is_below(place.speed().unwrap(), 0.97) && !is_below(place.speed().unwrap(), 0.8));
    }

    #[test]
    fn equal_runs_show_no_difference_and_no_cost_that_changed() {
        let (base, new) = (run(3, 6, 1000.0, 50e3, 3.0, nothing), run(4, 6, 1000.0, 50e3, 3.0, nothing));
        let [one] = &compared(&[&base, &new])[..] else { panic!("one comparison") };
        assert_eq!(verdicts(one), [RatioVerdict::NoDifferenceShown]);
        assert_eq!(one.places[0].changed_costs().count(), 0, "{:?}", one.places[0].costs);
    }

    #[test]
    fn a_cost_that_the_base_does_not_have_comes_first_and_has_no_ratio() {
        let (base, new) = (run(5, 5, 1000.0, 50e3, 0.0, nothing), run(6, 5, 900.0, 52e3, 1.5, nothing));
        let [one] = &compared(&[&base, &new])[..] else { panic!("one comparison") };
        let first = &one.places[0].costs[0];
        let is_reads = matches!(&first.metric, CostMetric::Engine { source, counter, .. } if source == "innodb" && counter == "reads");
        assert!(is_reads && first.is_shown && first.base == 0.0 && first.ratio.is_none(), "{first:?}");
    }

    #[test]
    fn what_a_cpu_quota_took_is_a_cost_of_the_run_that_had_one_and_the_quota_differs() {
        let with_quota = |seed: u64, cpus: &str, held: f64| {
            let mut random = Random::new(seed);
            let counters = ["throttled_ns", "throttled_periods"];
            let points = (1..=5).map(|number| {
                let repeat = repeat(&mut random, number, 1000.0 * (1.0 - held), 50e3, 3.0);
                if held > 0.0 {
                    repeat.source("quota", &counters, |s| vec![held * 1e9 * s, 5.0 * s]).point()
                } else {
                    repeat.point()
                }
            });
            let mut run = run_of(points.collect(), Vec::new());
            run.meta.environment.push(Fact::new("cgroup.cpu_quota", cpus));
            run
        };
        let (base, new) = (with_quota(21, "none", 0.0), with_quota(22, "0.5", 0.5));
        let [one] = &compared(&[&base, &new])[..] else { panic!("one comparison") };
        assert_eq!(verdicts(one), [RatioVerdict::Slower]);
        let kind = ConditionKind::Environment(ConditionRole::Machine, "cgroup.cpu_quota".into());
        assert_eq!(condition(one, &kind), Some(Weakens));
        let changed: Vec<&CostChange> = one.places[0].changed_costs().collect();
        let [quota] = changed[..] else { panic!("only the quota changed: {changed:?}") };
        assert_eq!((&quota.metric, quota.base), (&CostMetric::Machine(CounterRole::QuotaThrottled), 0.0));
        // Half a second of each second, for 500 operations.
        assert!((quota.new / 1e6 - 1.0).abs() < 0.1, "{quota:?}");
    }

    #[test]
    fn the_cost_that_changed_is_among_the_first_three_in_99_of_100_runs() {
        let found = |seed| {
            let (base, new) = (run(seed, 4, 1000.0, 50e3, 3.0, nothing), run(seed + 500, 4, 950.0, 50e3, 3.6, nothing));
            let one = compared(&[&base, &new]).remove(0);
            let mut first = one.places[0].costs.iter().take(3);
            first.any(|cost| {
                cost.is_shown && matches!(&cost.metric, CostMetric::Engine { counter, .. } if counter == "reads")
            })
        };
        let hits = (0..100).filter(|seed| found(*seed)).count();
        assert!(hits >= 99, "{hits} of 100");
    }

    #[test]
    fn what_the_plans_set_to_other_values_is_what_is_compared() {
        let base = run(7, 4, 1000.0, 50e3, 3.0, set("mariadb.flush", "a"));
        let new = run(8, 4, 1000.0, 50e3, 3.0, set("mariadb.flush", "b"));
        let [one] = &compared(&[&base, &new])[..] else { panic!("one comparison") };
        assert_eq!(condition(one, &ConditionKind::Setting("mariadb.flush".into())), Some(Compared));
        assert_eq!((one.places.len(), one.places[0].pairs), (1, 4));
        let unset = run(8, 4, 1000.0, 50e3, 3.0, nothing);
        let [one] = &compared(&[&base, &unset])[..] else { panic!("one comparison") };
        let differs = &one.unlike.iter().find(|one| one.effect == Compared).unwrap();
        assert_eq!((&differs.base[0][..], &differs.new[0][..]), ("a", "default"));
    }

    #[test]
    fn a_version_is_compared_alone_and_of_two_changes_neither_can_be_told_from_the_other() {
        let version =
            |version: &'static str| move |point: &mut PointData| point.traits.engine.version = Some(version.into());
        let (base, new) = (run(9, 4, 1000.0, 50e3, 3.0, version("1")), run(10, 4, 1000.0, 50e3, 3.0, version("2")));
        assert_eq!(condition(&compared(&[&base, &new])[0], &ConditionKind::EngineVersion), Some(Compared));
        let both = run(10, 4, 1000.0, 50e3, 3.0, |point| {
            version("2")(point);
            set("mariadb.flush", "b")(point);
        });
        assert_eq!(condition(&compared(&[&base, &both])[0], &ConditionKind::EngineVersion), Some(Weakens));
    }

    #[test]
    fn unlike_durability_allows_no_conclusion() {
        let durable =
            |word: &'static str| move |point: &mut PointData| point.traits.engine.durability = Some(word.into());
        let (base, new) = (run(11, 6, 1000.0, 50e3, 3.0, durable("disk")), run(12, 6, 500.0, 50e3, 3.0, durable("os")));
        let [one] = &compared(&[&base, &new])[..] else { panic!("one comparison") };
        assert_eq!(
            (verdicts(one), one.unlike[0].kind.clone()),
            (vec![RatioVerdict::Indicative], ConditionKind::Durability)
        );
        assert_eq!(one.unlike[0].effect, Prevents);
    }

    #[test]
    fn groups_of_two_durabilities_are_compared_by_it() {
        let mut random = Random::new(13);
        let mut points = Vec::new();
        for number in 1..=4u32 {
            for word in ["os", "disk"] {
                let rate = if word == "os" { 1000.0 } else { 500.0 };
                let one = repeat(&mut random, number, rate, 50e3, 3.0).with(set("durability", word));
                points.push(one.with(|point| point.traits.engine.durability = Some(word.into())).point());
            }
        }
        let [one] = &grouped(&run_of(points, Vec::new()), "durability", None).unwrap()[..] else { panic!("one") };
        assert_eq!(verdicts(one), [RatioVerdict::Slower]);
        let kinds: Vec<(&ConditionKind, ConditionEffect)> =
            one.unlike.iter().map(|one| (&one.kind, one.effect)).collect();
        assert_eq!(kinds, [(&ConditionKind::Durability, Compared)], "it is listed once");
    }

    #[test]
    fn a_setting_of_the_server_that_no_plan_sets_is_a_condition_and_those_that_matter_come_first() {
        let server = |values: [&'static str; 3]| {
            move |point: &mut PointData| {
                let names = ["autovacuum_max_workers", "jit", "wal_level"];
                let settings = names.iter().zip(values).map(|(name, value)| model::ServerSetting {
                    name: (*name).to_owned(),
                    value: value.to_owned(),
                    matters: *name == "wal_level",
                });
                point.traits.engine.settings = settings.collect();
            }
        };
        let base = run(25, 4, 1000.0, 50e3, 3.0, server(["3", "on", "replica"]));
        let new = run(26, 4, 1000.0, 50e3, 3.0, server(["4", "on", "minimal"]));
        let one = compared(&[&base, &new]).remove(0);
        let of = |name: &str, matters| ConditionKind::ServerSetting { name: name.to_owned(), matters };
        let found: Vec<(&ConditionKind, &str)> = one
            .unlike
            .iter()
            .filter(|one| matches!(one.kind, ConditionKind::ServerSetting { .. }))
            .map(|one| (&one.kind, one.new[0].as_str()))
            .collect();
        assert_eq!(found, [(&of("wal_level", true), "minimal"), (&of("autovacuum_max_workers", false), "4")]);
        let planned = run(26, 4, 1000.0, 50e3, 3.0, |point| {
            server(["3", "on", "minimal"])(point);
            set("postgres.wal_level", "minimal")(point);
        });
        let base = run(25, 4, 1000.0, 50e3, 3.0, |point| {
            server(["3", "on", "replica"])(point);
            set("postgres.wal_level", "replica")(point);
        });
        let one = compared(&[&base, &planned]).remove(0);
        assert_eq!(condition(&one, &of("wal_level", true)), None, "the plans set it: {:?}", one.unlike);
        let follows = run(26, 4, 1000.0, 50e3, 3.0, |point| {
            server(["8", "on", "replica"])(point);
            set("postgres.wal_level", "minimal")(point);
        });
        let one = compared(&[&base, &follows]).remove(0);
        let workers = of("autovacuum_max_workers", false);
        assert_eq!(condition(&one, &workers), None, "it follows from what the plans set");
        let upgraded = |run: &RunData, version: &str| {
            let mut run = run.clone();
            run.points.iter_mut().for_each(|point| point.traits.engine.version = Some(version.into()));
            run
        };
        let one = compared(&[&upgraded(&base, "15"), &upgraded(&follows, "16")]).remove(0);
        assert_eq!(condition(&one, &workers), Some(Weakens), "or from the version");
    }

    #[test]
    fn another_sort_of_work_is_never_compared() {
        let mode = |word: &str| {
            let params = params(&[("mode", Value::Word(word.into()))]);
            move |point: &mut PointData| point.trial.workload.params = params.clone()
        };
        let (base, mut new) =
            (run(13, 4, 1000.0, 50e3, 3.0, mode("rndrd")), run(14, 4, 1000.0, 50e3, 3.0, mode("rndwr")));
        // It ended before its last repeats.
        new.meta.plan.trials.extend(new.meta.plan.trials.clone());
        let [one] = &compared(&[&base, &new])[..] else { panic!("one comparison") };
        assert_eq!((one.places.len(), one.unmatched, one.lost.len()), (0, 2, 0));
        assert_eq!(condition(one, &ConditionKind::NoCommonPlace), Some(Prevents));
        assert_eq!(condition(one, &ConditionKind::Work("mode".into())), Some(Prevents));
    }

    #[test]
    fn places_that_both_have_are_compared_and_the_others_are_counted() {
        let with_clients = |seed, all: &[u32]| {
            let mut random = Random::new(seed);
            let mut points = Vec::new();
            for number in 1..=4 {
                for clients in all {
                    let one = repeat(&mut random, number, 1000.0, 50e3, 3.0);
                    points.push(one.with(|point| point.trial.load.clients = *clients).point());
                }
            }
            run_of(points, Vec::new())
        };
        let [one] = &compared(&[&with_clients(1, &[1, 4, 16]), &with_clients(2, &[4, 16, 64])])[..] else {
            panic!("one")
        };
        let labels: Vec<String> =
            one.places.iter().map(|place| place.label.last().unwrap().value.to_string()).collect();
        assert_eq!((labels, one.unmatched), (vec!["4".to_owned(), "16".to_owned()], 2));
    }

    #[test]
    fn a_place_has_one_label_in_all_comparisons() {
        let base = run(22, 4, 1000.0, 50e3, 3.0, set("mariadb.flush", "a"));
        let changed = run(23, 4, 1000.0, 50e3, 3.0, set("mariadb.flush", "b"));
        let again = run(24, 4, 1000.0, 50e3, 3.0, set("mariadb.flush", "a"));
        let labels: Vec<Vec<String>> = compared(&[&base, &changed, &again])
            .iter()
            .map(|one| one.places[0].label.iter().map(|setting| setting.name.clone()).collect())
            .collect();
        assert_eq!(labels, [["engine", "workload"], ["engine", "workload"]]);
    }

    /// Two engines in the order A B B A.
    fn two_engines() -> RunData {
        let mut random = Random::new(15);
        let mut points = Vec::new();
        for number in 1..=6u32 {
            let order = if number % 2 == 1 { ["sqlite", "fjall"] } else { ["fjall", "sqlite"] };
            for engine in order {
                let rate = if engine == "sqlite" { 1000.0 } else { 1300.0 };
                let one = repeat(&mut random, number, rate, 50e3, 3.0);
                points.push(one.with(|point| point.trial.target.engine = engine.into()).point());
            }
        }
        run_of(points, Vec::new())
    }

    #[test]
    fn groups_of_one_run_are_paired_by_time_and_either_can_be_the_base() {
        let run = two_engines();
        let [one] = &grouped(&run, "engine", None).unwrap()[..] else { panic!("one comparison") };
        assert_eq!((verdicts(one), one.is_of_one_run()), (vec![RatioVerdict::Faster], true));
        assert!(one.places[0].is_interleaved && condition(one, &ConditionKind::Order).is_none());
        assert_eq!(condition(one, &ConditionKind::Engine), Some(Compared));
        let [one] = &grouped(&run, "engine", Some("fjall")).unwrap()[..] else { panic!("one comparison") };
        assert_eq!((verdicts(one), one.base.engines[0].0.as_str()), (vec![RatioVerdict::Slower], "fjall"));
    }

    #[test]
    fn a_setting_that_does_not_vary_and_a_value_that_no_point_has_are_refused_with_what_there_is() {
        let run = two_engines();
        let varied = vec!["engine".to_owned()];
        assert_eq!(grouped(&run, "clients", None).unwrap_err(), GroupingError::NotVaried(varied));
        let values = vec!["sqlite".to_owned(), "fjall".to_owned()];
        assert_eq!(grouped(&run, "engine", Some("innodb")).unwrap_err(), GroupingError::NoSuchValue(values));
    }

    #[test]
    fn invalid_points_are_in_no_ratio() {
        let (base, new) = (run(16, 4, 1000.0, 50e3, 3.0, nothing), run(17, 4, 900.0, 50e3, 3.0, nothing));
        let mut analyses = [analyse(&base), analyse(&new)];
        analyses[1].points[2].validity = crate::Validity::Invalid;
        let runs = [&base, &new];
        let all = runs.iter().zip(&analyses).map(|(data, analysis)| ComparedRun { name: "run", data, analysis });
        let one = compare_runs(&all.collect::<Vec<_>>()).remove(0);
        assert_eq!((one.places[0].pairs, one.left_out, verdicts(&one)), (3, 1, vec![RatioVerdict::Indicative]));
    }

    #[test]
    fn repeats_that_the_new_run_lost_are_named_and_those_that_it_was_never_to_have_are_not() {
        let lost = |new: &RunData, invalid: &[usize]| {
            let base = run(16, 5, 1000.0, 50e3, 3.0, nothing);
            let mut analyses = [analyse(&base), analyse(new)];
            invalid.iter().for_each(|nth| analyses[1].points[*nth].validity = crate::Validity::Invalid);
            let all = [&base, new].into_iter().zip(&analyses);
            let all = all.map(|(data, analysis)| ComparedRun { name: "run", data, analysis });
            let one = compare_runs(&all.collect::<Vec<_>>()).remove(0);
            one.lost.into_iter().map(|lost| lost.usable).collect::<Vec<_>>()
        };
        let new = run(17, 5, 1000.0, 50e3, 3.0, nothing);
        assert_eq!(lost(&new, &[]), Vec::<[usize; 2]>::new());
        assert_eq!(lost(&new, &[0, 1, 2, 3, 4]), [[5, 0]], "all of them");
        assert_eq!(lost(&new, &[2, 3]), [[5, 3]], "too few are left to decide");
        assert_eq!(lost(&new, &[2]), Vec::<[usize; 2]>::new(), "four pairs decide");
    }

    #[test]
    fn another_engine_has_lost_nothing_of_the_base_and_is_named_as_what_differs() {
        let base = run(16, 5, 1000.0, 50e3, 3.0, nothing);
        let new = run(17, 5, 1000.0, 50e3, 3.0, |point| point.trial.target.engine = "mariadb".into());
        let mut analyses = [analyse(&base), analyse(&new)];
        analyses[1].points.iter_mut().for_each(|point| point.validity = crate::Validity::Invalid);
        let all = [&base, &new].into_iter().zip(&analyses);
        let all = all.map(|(data, analysis)| ComparedRun { name: "run", data, analysis });
        let one = compare_runs(&all.collect::<Vec<_>>()).remove(0);
        assert_eq!((one.lost.len(), one.places.len()), (0, 0));
        assert!(condition(&one, &ConditionKind::Engine).is_some(), "{:?}", one.unlike);
    }

    #[test]
    fn a_step_that_had_nothing_to_do_in_the_new_run_is_not_lost() {
        let as_step = |point: &mut PointData| {
            point.trial.workload.params = params(&[("step", Value::Word("drain".into()))]);
            point.traits.course.run_ops = Some(1);
        };
        let runs = [16, 17].map(|seed| run(seed, 4, 1000.0, 50e3, 3.0, as_step));
        let mut analyses = [analyse(&runs[0]), analyse(&runs[1])];
        for point in &mut analyses[1].points {
            point.summary.as_mut().expect("it was measured").seconds = 0.000_1;
            assert!(point.had_nothing_to_do());
        }
        let all = runs.iter().zip(&analyses).map(|(data, analysis)| ComparedRun { name: "run", data, analysis });
        let one = compare_runs(&all.collect::<Vec<_>>()).remove(0);
        assert_eq!((one.lost.len(), one.speeds().count()), (0, 0));
    }

    #[test]
    fn places_that_the_new_run_ended_before_are_lost_and_those_that_its_plan_lacks_are_not() {
        let mut random = Random::new(19);
        let mut with_clients = |all: &[u32]| {
            let repeats = all.iter().flat_map(|clients| (1..=4).map(move |number| (*clients, number)));
            let points = repeats.map(|(clients, number)| {
                repeat(&mut random, number, 1000.0, 50e3, 3.0).with(|point| point.trial.load.clients = clients).point()
            });
            run_of(points.collect(), Vec::new())
        };
        let (base, mut new) = (with_clients(&[1, 64]), with_clients(&[64]));
        let trials = |run: &RunData| run.points.iter().map(|point| point.trial.clone()).collect::<Vec<_>>();
        let lost = |new: &RunData| {
            let lost = compared(&[&base, new]).remove(0).lost;
            lost.into_iter().map(|lost| (lost.label.last().unwrap().value.to_string(), lost.usable)).collect::<Vec<_>>()
        };
        new.meta.plan.trials = trials(&new);
        assert_eq!(lost(&new), []);
        new.meta.plan.trials = trials(&base);
        assert_eq!(lost(&new), [("1".to_owned(), [4, 0])]);
    }

    #[test]
    fn machines_kernels_and_mounts_that_differ_are_named() {
        let with = |mut run: RunData, kernel: &str, memory: &str| {
            run.meta.environment = vec![Fact::new("kernel.release", kernel), Fact::new("memory.total_bytes", memory)];
            run
        };
        let of = |role, name: &str| ConditionKind::Environment(role, name.to_owned());
        let base = with(run(18, 4, 1000.0, 50e3, 3.0, nothing), "6.1", "1000000");
        let new = with(run(19, 4, 1000.0, 50e3, 3.0, nothing), "6.12", "1001000");
        let one = compared(&[&base, &new]).remove(0);
        assert_eq!(condition(&one, &of(ConditionRole::Kernel, "kernel.release")), Some(Weakens));
        assert_eq!(condition(&one, &of(ConditionRole::Machine, "memory.total_bytes")), None, "nearly equal");
    }

    #[test]
    fn data_that_fits_one_cache_and_not_the_other_is_a_condition() {
        let cache = |bytes| {
            move |point: &mut PointData| {
                (point.traits.engine.cache_bytes, point.traits.outcome.data_bytes) = (Some(bytes), Some(9_000));
                point.traits.outcome.log_bytes = Some(5_000);
            }
        };
        let (base, new) = (run(20, 4, 1000.0, 50e3, 3.0, cache(8_000)), run(21, 4, 700.0, 50e3, 3.0, cache(2_000)));
        let one = compared(&[&base, &new]).remove(0);
        let found = one.unlike.iter().find(|one| one.kind == ConditionKind::DataPerCache).unwrap();
        assert_eq!((&found.base[0][..], &found.new[0][..]), ("0.5", "2"));
        let both_fit = run(21, 4, 700.0, 50e3, 3.0, cache(5_000));
        assert_eq!(condition(&compared(&[&base, &both_fit])[0], &ConditionKind::DataPerCache), None);
    }
}
