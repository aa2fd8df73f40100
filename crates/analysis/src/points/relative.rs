//! Each metric of each arm relative to the first arm: what two values of one setting do to the same work.
//!
//! In: the points of a run, and its plan. Out: a [`RelativeTable`] for each setting whose values were measured at places that are
//! otherwise equal. Limits: a sort of work (a workload, step, mix or mode), a number of clients and a repeat are places and no arms, unless
//! the plan compares that very key; so an index build is never set against queries. Points whose numbers must not be used, and points that
//! were cut short or ran on data that was, are in no ratio and are listed. Arms that are more than two have the first in common, so their ratios depend on each other.

use crate::findings::Code;
use crate::math::ratio::{Pairing, RatioEstimate, RepeatValue, hold_false_discoveries};
use crate::math::repeats::{MeanOfRepeats, combine};
use crate::points::durability::{durability, is_asked_for};
use crate::points::merge_times;
use crate::points::metric::{MeasuredValue, Metric, shared_rate, shared_unit};
use crate::points::pair_judging::PairJudging;
use crate::points::sweep::{is_comparable, is_usable};
use crate::points::work::WorkUnit;
use crate::recorded::dimensions::{Role, Setting};
use crate::recorded::exact_text::exact_text;
use crate::{PointAnalysis, Quantiles};
use model::sure::Decision;
use model::{EngineProcess, Plan};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// The arms of one setting, compared at each place.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RelativeTable {
    /// The arms in the order in which they were first measured; the first is the base.
    pub arms: Vec<Setting>,
    /// Whether the arms are the durabilities of their points: that they differ in it is then what was asked for.
    pub compares_durability: bool,
    /// A row for each place and metric, in the order of the run; places of one group come together, where the first of them is.
    pub rows: Vec<RelativeRow>,
    /// Arms without a single point that can be compared, by their places in `arms`.
    pub arms_without_points: Vec<usize>,
    /// The points that are in no ratio because their numbers must not be used, or because they were cut short or ran on data that was.
    pub left_out: Vec<u32>,
}

impl RelativeTable {
    /// Whether an arm has repeats that are in no pair of rates or times. The means are of all repeats, so they make another ratio than the pairs
    /// do. A cost of 0 is in no ratio anyway.
    pub fn has_repeats_without_pair(&self) -> bool {
        let is_unlike = |row: &RelativeRow, cell: &RelativeCell| {
            [row.base.repeats, cell.mean.repeats].iter().any(|repeats| *repeats != cell.ratio.n)
        };
        let mut timed = self.rows.iter().filter(|row| row.metric.is_speed() || row.metric.is_response_time());
        timed.any(|row| row.cells.iter().flatten().any(|cell| is_unlike(row, cell)))
    }
}

/// One metric at one place.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RelativeRow {
    /// What names the place: all that distinguishes its points from others but the arm and the repeat.
    pub place: Vec<Setting>,
    /// The places with which it belongs together, in the words of the workload; `None` if it has no groups.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    pub metric: Metric,
    /// What the work of all points at the place is counted in: the operations of a rate are these.
    #[serde(skip)]
    pub unit: WorkUnit,
    /// What the base did.
    pub base: MeanOfRepeats,
    /// One cell for each other arm; `None` if it has no usable repeat that can be paired here.
    pub cells: Vec<Option<RelativeCell>>,
}

/// What one arm did, and its ratio to the base.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct RelativeCell {
    /// The mean of the arm's repeats.
    pub mean: MeanOfRepeats,
    /// The arm's value divided by that of the base.
    #[serde(flatten)]
    pub ratio: RatioEstimate,
    /// Whether base and arm were measured in turn.
    pub is_interleaved: bool,
    /// Whether engines are not ranked, because they promise different things of a commit, or because one works inside plimsoll and the other is a
    /// server: their ratio is no conclusion.
    pub is_unlike: bool,
    /// What was decided by pairs that went on until they decide; `None` if their number was fixed, and of metrics that decide nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decision: Option<Decision>,
    /// How many pairs more would decide it, if it is open.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pairs_more: Option<u32>,
}

/// The speeds, which come first in a table.
const SPEEDS: [Metric; 5] =
    [Metric::LimitPerS, Metric::RowsPerS, Metric::OpsPerS, Metric::Seconds, Metric::StatementSeconds];
/// The costs, which come after the response times.
const COSTS: [Metric; 7] = [
    Metric::EngineCpuNsPerOp,
    Metric::EngineCpuNsPerInsert,
    Metric::ContextSwitchesPerOp,
    Metric::ReadBytesPerOp,
    Metric::ReadBytesPerInsert,
    Metric::WrittenBytesPerOp,
    Metric::WrittenBytesPerInsert,
];

/// The value of `metric` at `point`, if it is the one that counts for its work: costs of an operation or of a row.
fn own_value(metric: Metric, point: &PointAnalysis) -> Option<MeasuredValue> {
    let counts = match metric {
        Metric::EngineCpuNsPerOp
        | Metric::ContextSwitchesPerOp
        | Metric::ReadBytesPerOp
        | Metric::WrittenBytesPerOp => !is_inserting(point),
        Metric::EngineCpuNsPerInsert | Metric::ReadBytesPerInsert | Metric::WrittenBytesPerInsert => {
            is_inserting(point)
        }
        Metric::RowsPerS
        | Metric::OpsPerS
        | Metric::LimitPerS
        | Metric::Seconds
        | Metric::StatementSeconds
        | Metric::Response(_) => true,
        // The arms of one run have one price: these ratios are those of the rates.
        Metric::PerMillionOps | Metric::KwhPerMillionOps | Metric::PerGb | Metric::KwhPerGb => false,
    };
    metric.value(point).filter(|_| counts)
}

/// The rate that counts for the work of `point`; `None` of an open loop: a rate that was asked for is not the engine's.
fn own_rate(point: &PointAnalysis) -> Option<Metric> {
    point.summary.as_ref().filter(|summary| summary.offered_per_s.is_none())?;
    Metric::of_work(point).filter(|metric| metric.is_rate())
}

/// Whether inserts are the work of `point`, and not a load in the background.
fn is_inserting(point: &PointAnalysis) -> bool {
    let is_background = point.summary.as_ref().is_some_and(|summary| summary.has_background_inserts());
    point.inserts.is_some() && !is_background
}

/// The tables of `points`, all those of a run that was planned as `plan`: of the key that it compares, else of each setting with several
/// values.
pub fn relative_tables(points: &[PointAnalysis], plan: &Plan) -> Vec<RelativeTable> {
    let dimensions = compared(points, plan);
    let compares_durability = is_asked_for(points, plan);
    let judging = PairJudging::new(points, plan);
    dimensions
        .iter()
        .filter_map(|arms| Some(RelativeTable { compares_durability, ..relative_table(points, arms, &judging)? }))
        .collect()
}

/// The settings that are compared, each with its values in the order of the run: that of an A/B run alone, else all that can be arms, and the
/// one that the plan asks about, whatever it is.
fn compared(points: &[PointAnalysis], plan: &Plan) -> Vec<Vec<Setting>> {
    let (ab, asked) = (plan.ab.as_deref(), plan.asked.compare.as_deref());
    let mut dimensions: Vec<Vec<Setting>> = Vec::new();
    let mut known: HashSet<(&str, String)> = HashSet::new();
    for setting in
        points.iter().flat_map(distinguishing).filter(|one| known.insert((&one.name, exact_text(&one.value))))
    {
        match dimensions.iter_mut().find(|values| values[0].name == setting.name) {
            Some(values) => values.push(setting.clone()),
            None => dimensions.push(vec![setting.clone()]),
        }
    }
    dimensions.retain(|values| values.len() > 1);
    if dimensions.iter().any(|values| ab == Some(&values[0].name)) {
        dimensions.retain(|values| ab == Some(&values[0].name));
        return dimensions;
    }
    dimensions.retain(|values| {
        asked == Some(&values[0].name)
            || matches!(values[0].role, Role::Engine | Role::Ground | Role::Instances | Role::Size | Role::Tuning)
    });
    dimensions.sort_by_key(|values| values[0].role);
    dimensions
}

/// What distinguishes `point` from others but its repeat. What has no effect on it distinguishes nothing, so a step that comes before the
/// indexes is the same work however many indexes come later.
fn distinguishing(point: &PointAnalysis) -> impl Iterator<Item = &Setting> {
    let all = point.label.group.iter().chain(&point.label.place);
    all.filter(|setting| setting.used && setting.role != Role::Repeat)
}

/// The points of one place, by arm.
struct ArmsAtPlace<'a> {
    settings: Vec<Setting>,
    group: Option<String>,
    arms: Vec<Vec<&'a PointAnalysis>>,
}

fn relative_table(points: &[PointAnalysis], values: &[Setting], judging: &PairJudging) -> Option<RelativeTable> {
    let mut places = places(points, values);
    // A value that no place shares with another is no arm: an engine that alone has its workload.
    let is_arm: Vec<bool> =
        (0..values.len()).map(|nth| places.iter().any(|place| !place.arms[nth].is_empty())).collect();
    for place in &mut places {
        place.arms = kept(std::mem::take(&mut place.arms), &is_arm);
    }
    let arms = kept(values.to_vec(), &is_arm);
    let mut rows = in_groups(places.iter().flat_map(|place| rows_of(place, judging)).collect());
    let many = rows.iter_mut().filter(|row| !judging.is_held_to_error(row.metric));
    let mut cells: Vec<&mut RatioEstimate> =
        many.flat_map(|row| &mut row.cells).flatten().map(|cell| &mut cell.ratio).collect();
    hold_false_discoveries(&mut cells);
    let own = || places.iter().flat_map(|place| place.arms.iter().flatten());
    let left_out: BTreeSet<u32> = own().filter(|point| !is_comparable(point)).map(|point| point.id).collect();
    let has_point = |nth: usize| places.iter().any(|place| place.arms[nth].iter().any(|point| is_comparable(point)));
    let arms_without_points: Vec<usize> = (0..arms.len()).filter(|nth| !has_point(*nth)).collect();
    let is_empty = rows.is_empty() && arms_without_points.is_empty();
    (!is_empty).then(|| RelativeTable {
        arms,
        compares_durability: false,
        rows,
        arms_without_points,
        left_out: left_out.into_iter().collect(),
    })
}

/// `rows` with those of each group together, in the order of their first rows.
fn in_groups(mut rows: Vec<RelativeRow>) -> Vec<RelativeRow> {
    let mut groups: Vec<Option<String>> = Vec::new();
    for row in &rows {
        if !groups.contains(&row.group) {
            groups.push(row.group.clone());
        }
    }
    rows.sort_by_key(|row| groups.iter().position(|group| *group == row.group));
    rows
}

/// Those of `all` that `is_kept` selects.
fn kept<T>(all: Vec<T>, is_kept: &[bool]) -> Vec<T> {
    all.into_iter().zip(is_kept).filter(|(_, is_kept)| **is_kept).map(|(one, _)| one).collect()
}

/// The places at which several arms were tried, in the order of the run.
fn places<'a>(points: &'a [PointAnalysis], arms: &[Setting]) -> Vec<ArmsAtPlace<'a>> {
    let mut known: BTreeMap<Vec<(&str, String)>, usize> = BTreeMap::new();
    let mut places: Vec<ArmsAtPlace> = Vec::new();
    let numbers: HashMap<String, usize> = arms.iter().map(|arm| exact_text(&arm.value)).zip(0..).collect();
    for point in points {
        let Some(own) = distinguishing(point).find(|setting| setting.name == arms[0].name) else { continue };
        let nth = numbers[&exact_text(&own.value)];
        let rest: Vec<&Setting> = distinguishing(point).filter(|setting| setting.name != own.name).collect();
        let key = rest.iter().map(|setting| (setting.name.as_str(), exact_text(&setting.value))).collect();
        let at = *known.entry(key).or_insert(places.len());
        if at == places.len() {
            let settings = rest.into_iter().cloned().collect();
            let group = point.traits.work.step.as_ref().and_then(|step| step.group.clone());
            places.push(ArmsAtPlace { settings, group, arms: vec![Vec::new(); arms.len()] });
        }
        places[at].arms[nth].push(point);
    }
    places.retain(|place| place.arms.iter().filter(|arm| !arm.is_empty()).count() > 1);
    places
}

fn rows_of(place: &ArmsAtPlace, judging: &PairJudging) -> Vec<RelativeRow> {
    let points = place.arms.iter().flatten().filter(|point| is_comparable(point));
    let own: Option<Vec<Metric>> = points.map(|point| own_rate(point)).collect();
    let rate = own.and_then(shared_rate);
    let counts = |metric: &Metric| !metric.is_rate() || Some(*metric) == rate;
    SPEEDS
        .into_iter()
        .chain(Metric::response_times())
        .chain(COSTS)
        .filter(counts)
        .filter_map(|metric| row_of(place, metric, judging))
        .collect()
}

fn row_of(place: &ArmsAtPlace, metric: Metric, judging: &PairJudging) -> Option<RelativeRow> {
    let [base, others @ ..] = place.arms.as_slice() else { return None };
    let cells: Vec<Option<RelativeCell>> = others.iter().map(|arm| cell_of(base, arm, metric, judging)).collect();
    let base = mean_of(base, metric).filter(|_| cells.iter().any(Option::is_some))?;
    let unit = shared_unit(place.arms.iter().flatten().copied());
    Some(RelativeRow { place: place.settings.clone(), group: place.group.clone(), metric, unit, base, cells })
}

fn cell_of(
    base: &[&PointAnalysis],
    arm: &[&PointAnalysis],
    metric: Metric,
    judging: &PairJudging,
) -> Option<RelativeCell> {
    let Pairing { pairs, is_interleaved } = Pairing::adjacent(&values(base, metric), &values(arm, metric));
    let (ratio, decides) = judging.judge(&pairs, metric)?;
    // What a server carries and what a library carries is the same question: clients ask both for it.
    let is_unlike = keep_unlike(base, arm) || metric != Metric::LimitPerS && run_unlike(base, arm);
    let is_bound = metric.is_written() && base.iter().chain(arm).any(|point| owes_writes(point));
    let ratio = if is_unlike || is_bound { ratio.as_indicative() } else { ratio };
    let decides = decides.filter(|_| !base.iter().chain(arm).any(|point| is_open_loop(point)));
    let decision = decides.map(|judged| judged.decision);
    let pairs_more = decides.map(|judged| judged.pairs_more).filter(|more| *more > 0);
    Some(RelativeCell { mean: mean_of(arm, metric)?, ratio, is_interleaved, is_unlike, decision, pairs_more })
}

/// Whether the rate of `point` is that of its schedule, which decides nothing.
fn is_open_loop(point: &PointAnalysis) -> bool {
    point.summary.as_ref().is_some_and(|summary| summary.offered_per_s.is_some())
}

/// Whether a good part of the writes that `point` caused was pending at its end, so that its bytes are a lower bound.
fn owes_writes(point: &PointAnalysis) -> bool {
    is_usable(point) && point.findings.iter().any(|finding| finding.code() == Code::WriteDebt)
}

/// Whether engines promise different things of a commit. A durability that is compared itself may differ.
fn keep_unlike(base: &[&PointAnalysis], arm: &[&PointAnalysis]) -> bool {
    let are_engines = base.iter().zip(arm).any(|(base, arm)| base.engine != arm.engine);
    let words = |points: &[&PointAnalysis]| -> BTreeSet<Option<String>> {
        points.iter().map(|point| durability(point).map(str::to_owned)).collect()
    };
    are_engines && words(base) != words(arm)
}

/// Whether one engine works inside plimsoll, and the other is a server.
fn run_unlike(base: &[&PointAnalysis], arm: &[&PointAnalysis]) -> bool {
    let any = |points: &[&PointAnalysis], wanted: &[EngineProcess]| {
        points.iter().any(|point| wanted.contains(&point.traits.engine.process))
    };
    let (embedded, server) = ([EngineProcess::Embedded], [EngineProcess::Own, EngineProcess::Elsewhere]);
    any(base, &embedded) && any(arm, &server) || any(base, &server) && any(arm, &embedded)
}

fn values(points: &[&PointAnalysis], metric: Metric) -> Vec<RepeatValue> {
    let usable = points.iter().filter(|point| is_comparable(point));
    usable.filter_map(|point| Some(RepeatValue { place: point.id, value: own_value(metric, point)?.value })).collect()
}

/// What `points` gave together. A percentile is that of all their operations, as in every other table.
fn mean_of(points: &[&PointAnalysis], metric: Metric) -> Option<MeanOfRepeats> {
    let usable: Vec<&PointAnalysis> = points.iter().copied().filter(|point| is_comparable(point)).collect();
    let values = usable.iter().filter_map(|point| own_value(metric, point));
    let mean = combine(values.map(|measured| (measured.value, measured.ci95)))?;
    let pooled = metric
        .percentile()
        .filter(|_| mean.repeats > 1)
        .and_then(|percentile| Quantiles::from_times(&merge_times(&usable, |series| &series.response))?.at(percentile));
    Some(pooled.map_or(mean, |ns| MeanOfRepeats { mean: ns as f64, ci95: None, ..mean }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::ratio::RatioVerdict;
    use crate::recorded::dimensions::SettingValue;
    use crate::simulated::{Simulation, params, run_of};
    use crate::{Analysis, analyse};
    use model::sure::SurePlan;
    use model::{Fact, ParamOwner, ParamRole, Percentile, PointData, PointParam, StepIndexes, StepWork, Value};

    /// Twelve seconds at about `rate`; repeats differ by a little.
    fn point(engine: &str, rate: u64, repeat: u32) -> PointData {
        let noise = [0, 9, 3, 12, 6, 1][repeat as usize % 6];
        let simulation = Simulation::counts(&[rate + noise; 12]).with(|point| {
            point.trial.target.engine = engine.into();
            point.trial.workload.name = "oltp".into();
            (point.trial.repeat, point.trial.seed) = (repeat, u64::from(repeat));
        });
        simulation.point()
    }

    /// The arms in the order A B B A.
    fn pairs(arms: &[(&str, u64)], n: u32) -> Vec<PointData> {
        let repeat = |repeat: u32| {
            let mut own: Vec<PointData> = arms.iter().map(|(engine, rate)| point(engine, *rate, repeat)).collect();
            if repeat.is_multiple_of(2) {
                own.reverse();
            }
            own
        };
        (1..=n).flat_map(repeat).collect()
    }

    fn tables(points: Vec<PointData>) -> Vec<RelativeTable> {
        analyse(&run_of(points, Vec::new())).verdict.relative
    }

    fn names(table: &RelativeTable) -> Vec<String> {
        table.arms.iter().map(|arm| arm.value.to_string()).collect()
    }

    /// The cells of the row of `metric` at the first place.
    fn cells(table: &RelativeTable, metric: Metric) -> Vec<RelativeCell> {
        let row = table.rows.iter().find(|row| row.metric == metric).expect("it was measured");
        row.cells.iter().map(|cell| cell.expect("each arm was measured")).collect()
    }

    #[test]
    fn sizes_that_look_alike_to_people_are_values_of_their_own() {
        let size = |bytes| SettingValue::Param(model::Value::Bytes(model::Bytes(bytes)));
        let (one, other) = (size(2_097_152), size(2_097_153));
        assert_ne!(exact_text(&one), exact_text(&other));
        assert_eq!(exact_text(&one), exact_text(&size(2_097_152)));
    }

    #[test]
    fn each_arm_is_compared_with_the_first_in_pairs() {
        let found = tables(pairs(&[("a", 1000), ("b", 1300), ("c", 500)], 6));
        let [table] = found.as_slice() else { panic!("one setting varies: {found:?}") };
        assert_eq!(names(table), ["a", "b", "c"]);
        let rates = cells(table, Metric::OpsPerS);
        let told = rates.iter().map(|cell| ((cell.ratio.ratio * 10.0).round(), cell.ratio.n, cell.ratio.verdict));
        assert_eq!(told.collect::<Vec<_>>(), [(13.0, 6, RatioVerdict::Faster), (5.0, 6, RatioVerdict::Slower)]);
        assert!(rates.iter().all(|cell| cell.is_interleaved));
        assert_eq!(table.rows[0].base.repeats, 6);
    }

    #[test]
    fn equal_arms_show_no_difference_and_two_repeats_claim_nothing() {
        let verdict = |n| cells(&tables(pairs(&[("a", 1000), ("b", 1000)], n))[0], Metric::OpsPerS)[0].ratio.verdict;
        assert_eq!([verdict(6), verdict(2)], [RatioVerdict::NoDifferenceShown, RatioVerdict::Indicative]);
    }

    #[test]
    fn a_repeat_that_must_not_be_used_is_in_no_ratio_and_listed() {
        let mut points = pairs(&[("a", 1000), ("b", 1300)], 6);
        points[3].phases[0].intervals[3].kinds[0].failed = 500;
        points[3].trial.on_error = model::OnError::Count;
        let table = tables(points).remove(0);
        let left = table.left_out.clone();
        assert_eq!((left, cells(&table, Metric::OpsPerS)[0].ratio.n), (vec![4], 5));
        assert!(table.has_repeats_without_pair(), "the partner of the fourth point");
        assert!(!tables(pairs(&[("a", 1000), ("b", 1300)], 6))[0].has_repeats_without_pair());
    }

    #[test]
    fn cpus_and_settings_of_the_machine_are_arms() {
        use model::{CpuAssignment, IoScheduler, MachineSetup};
        let setups = [("cores", None), ("all", None), ("all", Some(IoScheduler::None))];
        let point = |nth: usize, repeat: u32| {
            let mut point = point("a", [1000, 1170, 900][nth], repeat);
            let (cpus, scheduler) = setups[nth];
            point.trial.target.machine =
                MachineSetup { cpus: CpuAssignment::parse(cpus), scheduler, ..MachineSetup::default() };
            point
        };
        let of = |arms: [usize; 2]| tables((1..=4).flat_map(|repeat| arms.map(|nth| point(nth, repeat))).collect());
        let cpus = of([0, 1]).remove(0);
        assert_eq!((cpus.arms[0].name.as_str(), names(&cpus).join(" ")), ("cpus", "cores all".to_owned()));
        assert_eq!((cells(&cpus, Metric::OpsPerS)[0].ratio.ratio * 100.0).round(), 117.0);
        let scheduler = of([1, 2]).remove(0);
        assert_eq!(
            (scheduler.arms[0].name.as_str(), names(&scheduler).join(" ")),
            ("scheduler", "keep none".to_owned())
        );
    }

    #[test]
    fn an_engine_that_alone_has_its_workload_is_no_arm() {
        let mut points = pairs(&[("file", 700), ("a", 1000), ("b", 1300)], 4);
        for alone in points.iter_mut().filter(|point| point.trial.target.engine == "file") {
            alone.trial.workload.name = "file".into();
        }
        let table = tables(points).remove(0);
        assert_eq!((names(&table).join(" "), table.arms_without_points.len()), ("a b".to_owned(), 0));
    }

    #[test]
    fn an_arm_without_a_usable_point_is_there() {
        let mut points = pairs(&[("a", 1000), ("b", 1300)], 2);
        for failed in points.iter_mut().filter(|point| point.trial.target.engine == "b") {
            (failed.state, failed.phases) = (model::PointState::Failed, Vec::new());
        }
        let table = tables(points).remove(0);
        assert_eq!((table.arms_without_points.clone(), table.rows.len()), (vec![1], 0));
    }

    #[test]
    fn work_of_another_sort_and_another_number_of_clients_are_places_unless_the_plan_compares_them() {
        let mode = |mode: &str, clients: u32, repeat: u32| {
            let mut point = point("file", 1000 * u64::from(clients), repeat);
            point.trial.workload.name = "file".into();
            point.trial.workload.params = params(&[("mode", Value::Word(mode.into()))]);
            point.trial.load.clients = clients;
            point
        };
        let points: Vec<PointData> =
            (1..=4).flat_map(|n| [mode("rndrd", 1, n), mode("rndrd", 4, n), mode("seqrd", 1, n)]).collect();
        assert!(tables(points.clone()).is_empty());
        let mut run = run_of(points, Vec::new());
        run.meta.plan.ab = Some("clients".into());
        let analysis: Analysis = analyse(&run);
        let [table] = analysis.verdict.relative.as_slice() else { panic!("one comparison was asked for") };
        assert_eq!((names(table), cells(table, Metric::OpsPerS)[0].ratio.n), (vec!["1".into(), "4".into()], 4));
        assert!(table.rows.iter().all(|row| row.place.iter().any(|one| one.value.to_string() == "rndrd")));
    }

    #[test]
    fn a_step_before_the_indexes_is_the_same_work_however_many_come_later() {
        let step = |step: &str, indexes: u64, repeat: u32| {
            let mut point = point("sqlite", if step == "l.i1" { 4000 / (indexes + 1) } else { 5000 }, repeat);
            point.trial.workload.name = "insert".into();
            let own = [("step", Value::Word(step.into())), ("indexes", Value::Int(indexes))];
            point.trial.workload.params = params(&own);
            let param =
                |name: &str, role| PointParam { name: name.into(), owner: ParamOwner::Workload, role, used: true };
            point.params = vec![param("step", ParamRole::Step), param("indexes", ParamRole::Indexes)];
            let (at, known) = if step == "l.i0" { (0, StepIndexes::NotAtStart) } else { (1, StepIndexes::Made) };
            point.traits.work.step =
                Some(StepWork { name: step.into(), at, drains: false, indexes: known, group: None });
            point
        };
        let steps = |n| [0, 3].map(|indexes| ["l.i0", "l.i1"].map(|name| step(name, indexes, n))).concat();
        let found = tables((1..=4).flat_map(steps).collect());
        let indexes = found.iter().find(|table| table.arms[0].name == "indexes").expect("they vary");
        let speeds: Vec<&RelativeRow> = indexes.rows.iter().filter(|row| row.metric.is_speed()).collect();
        assert_eq!(speeds.len(), 1, "{speeds:?}");
        assert!(speeds[0].place.iter().any(|one| one.value.to_string() == "l.i1"), "{:?}", speeds[0].place);
    }

    #[test]
    fn places_of_a_group_come_together_where_its_first_is() {
        let step = |(at, (name, group)): (u32, (&str, &str)), engine: &str, repeat: u32| {
            let mut point = point(engine, 1000 + u64::from(at), repeat);
            point.trial.workload.params = params(&[("step", Value::Word(name.into()))]);
            let (indexes, group) = (StepIndexes::Kept, Some(group.to_owned()));
            point.traits.work.step = Some(StepWork { name: name.into(), at, drains: false, indexes, group });
            point
        };
        let steps = [("point.pre", "reads"), ("update", "writes"), ("point", "reads")];
        let arm = |engine: &'static str, repeat| (0..).zip(steps).map(move |one| step(one, engine, repeat));
        let points = (1..=4).flat_map(|repeat| ["a", "b"].into_iter().flat_map(move |engine| arm(engine, repeat)));
        let table = tables(points.collect()).remove(0);
        let rates = table.rows.iter().filter(|row| row.metric == Metric::OpsPerS);
        let told: Vec<(&str, String)> = rates
            .map(|row| (row.group.as_deref().unwrap_or(""), row.place.last().unwrap().value.to_string()))
            .collect();
        let expected = [("reads", "point.pre"), ("reads", "point"), ("writes", "update")];
        assert_eq!(told, expected.map(|(group, step)| (group, step.to_owned())));
    }

    #[test]
    fn pairs_that_went_on_until_they_decided_are_judged_as_they_were_while_they_were_measured() {
        let judged = |rate: u64| {
            let mut run = run_of(pairs(&[("a", 1000), ("b", rate)], 6), Vec::new());
            let difference = model::sure::Precision::USUAL;
            let sure = SurePlan { difference, pairs_max: 20, comparisons: 1, budget: None };
            run.meta.plan.sure = Some(sure);
            let table = analyse(&run).verdict.relative.remove(0);
            let cell = cells(&table, Metric::OpsPerS)[0];
            let pairs = Pairing::adjacent(&seen(&run, "a"), &seen(&run, "b")).pairs;
            let logs: Vec<f64> = pairs.iter().filter_map(|pair| pair.log_ratio()).collect();
            assert_eq!(cell.decision, Some(sure.rule().decision_of(&logs)), "as the runner judges");
            assert!(cells(&table, Metric::Response(Percentile::P50))[0].decision.is_none(), "times decide nothing");
            cell
        };
        let faster = judged(1300);
        assert_eq!((faster.ratio.verdict, faster.decision), (RatioVerdict::Faster, Some(Decision::Higher)));
        assert_eq!(judged(700).decision, Some(Decision::Lower));
        let fixed = cells(&tables(pairs(&[("a", 1000), ("b", 1300)], 6))[0], Metric::OpsPerS)[0];
        let width = |cell: RelativeCell| cell.ratio.ci95.map(|[low, high]| high / low).unwrap();
        assert!(fixed.decision.is_none() && width(faster) > width(fixed), "who looks early must be surer");
    }

    #[test]
    fn what_is_open_has_its_last_look_only_if_time_ended_the_run() {
        let decision = |is_time_over: bool| {
            let rates = (1..).zip([1080, 1020, 1075, 1025, 1070, 1030]);
            let points = rates.flat_map(|(repeat, rate)| [point("a", 1000, repeat), point("b", rate, repeat)]);
            let mut run = run_of(points.collect(), Vec::new());
            let (difference, budget) = (model::sure::Precision::USUAL, Some(model::Nanos::from_secs(60)));
            run.meta.plan.sure = Some(SurePlan { difference, pairs_max: 20, comparisons: 1, budget });
            run.points[11].traits.course.is_time_over = is_time_over;
            let table = analyse(&run).verdict.relative.remove(0);
            cells(&table, Metric::OpsPerS)[0].decision
        };
        assert_eq!([false, true].map(decision), [Some(Decision::Open), Some(Decision::Higher)]);
    }

    #[test]
    fn equal_schedules_are_not_called_alike() {
        let mut run = run_of(pairs(&[("a", 1000), ("b", 1000)], 6), Vec::new());
        let difference = model::sure::Precision::USUAL;
        run.meta.plan.sure = Some(SurePlan { difference, pairs_max: 20, comparisons: 1, budget: None });
        let decision = |run: &model::RunData| {
            let table = analyse(run).verdict.relative.remove(0);
            let rate = table.rows.iter().find(|row| row.metric == Metric::OpsPerS)?;
            rate.cells[0].and_then(|cell| cell.decision)
        };
        assert!(decision(&run).is_some());
        for point in &mut run.points {
            point.trial.load.pacing = model::Pacing::Open { arrivals: model::Arrivals::Constant { per_s: 1000.0 } };
        }
        assert_eq!(decision(&run), None);
    }

    /// What the points of an engine gave, as the runner computes it.
    fn seen(run: &model::RunData, engine: &str) -> Vec<RepeatValue> {
        let own = run.points.iter().filter(|point| point.trial.target.engine == engine);
        own.map(|point| RepeatValue { place: point.id, value: model::sure::point_rate(point).unwrap() }).collect()
    }

    #[test]
    fn a_percentile_that_too_few_operations_support_is_not_compared() {
        let metrics = |rate| -> Vec<Metric> {
            tables(pairs(&[("a", rate), ("b", 2 * rate)], 4))[0].rows.iter().map(|row| row.metric).collect()
        };
        // 12 seconds: some 240 operations support the 95th percentile and not the 99th.
        let [few, many] = [20, 1000].map(metrics);
        let compares = |metrics: &[Metric], percentile| metrics.contains(&Metric::Response(percentile));
        assert!(compares(&few, Percentile::P95) && !compares(&few, Percentile::P99), "{few:?}");
        assert!(compares(&many, Percentile::P99), "{many:?}");
    }

    #[test]
    fn arms_that_need_unlike_numbers_of_queries_are_compared_by_their_operations() {
        let rates = |queries: [f64; 2]| {
            let mut analysis = analyse(&run_of(pairs(&[("a", 1000), ("b", 1300)], 6), Vec::new()));
            for point in &mut analysis.points {
                let summary = point.summary.as_mut().expect("it ran");
                summary.queries_per_s = summary.ops_per_s * if point.engine == "a" { queries[0] } else { queries[1] };
            }
            let table = relative_tables(&analysis.points, &analysis.meta.plan).remove(0);
            table.rows.iter().map(|row| row.metric).filter(|metric| metric.is_rate()).collect::<Vec<_>>()
        };
        assert_eq!(rates([20.0, 20.1]), [Metric::OpsPerS], "transactions of the same statements, and a retry");
        assert_eq!(rates([1.0, 1.5]), [Metric::OpsPerS], "one arm has a call for what is a statement and a half");
        assert_eq!(rates([20.0, 1.5]), [Metric::OpsPerS]);
    }

    #[test]
    fn a_percentile_of_repeats_is_that_of_all_their_operations_as_in_the_table_of_points() {
        let slow = |per_s: u64, repeat: u32| {
            let mut point = point("a", per_s, repeat);
            let intervals = point.phases[0].intervals.iter_mut().flat_map(|interval| &mut interval.kinds);
            intervals.for_each(|kind| {
                let mut times = model::Times::default();
                times.record_n(if repeat == 1 { 10_000_000 } else { 100_000 }, kind.ok);
                (kind.response, kind.service) = (times.clone(), times);
            });
            point
        };
        let points = (1..=4).flat_map(|repeat| [slow(1_000, repeat), point("b", 1_000, repeat)]).collect();
        let analysis = analyse(&run_of(points, Vec::new()));
        let row = analysis.verdict.relative[0]
            .rows
            .iter()
            .find(|row| row.metric == Metric::Response(Percentile::P99))
            .expect("it is there");
        let rows = crate::RepeatRows::from_analysis(&analysis).analysis;
        let shown = rows.points[0].summary.as_ref().and_then(|summary| summary.response_ns).expect("it ran").p99;
        assert_eq!(row.base.mean, shown as f64);
    }

    #[test]
    fn bytes_written_that_are_a_lower_bound_are_indicative() {
        let mut analysis = analyse(&run_of(pairs(&[("a", 1000), ("b", 1300)], 6), Vec::new()));
        for point in &mut analysis.points {
            let written = if point.engine == "a" { 4000.0 } else { 400.0 };
            point.summary.as_mut().unwrap().cost.per_op.written_bytes = Some(written + f64::from(point.id));
        }
        let verdict = |points: &[PointAnalysis]| {
            cells(&relative_tables(points, &analysis.meta.plan)[0], Metric::WrittenBytesPerOp)[0].ratio.verdict
        };
        assert_eq!(verdict(&analysis.points), RatioVerdict::Faster);
        let mut pending = analysis.points.clone();
        let debt = crate::findings::write_debt::WriteDebt::AfterDrain { left_bytes: 1e6 };
        pending[1].findings.push(crate::Finding::new(crate::Severity::Warning, debt));
        assert_eq!(verdict(&pending), RatioVerdict::Indicative);
    }

    #[test]
    fn engines_of_unlike_durability_are_indicative() {
        let mut points = pairs(&[("a", 1000), ("b", 1300)], 6);
        for point in &mut points {
            let word = if point.trial.target.engine == "a" { "disk" } else { "os" };
            point.facts.push(Fact::new("durability", word));
        }
        let table = tables(points).remove(0);
        assert_eq!(cells(&table, Metric::OpsPerS)[0].ratio.verdict, RatioVerdict::Indicative);
    }

    #[test]
    fn an_engine_inside_plimsoll_and_a_server_are_unlike_whichever_is_the_base() {
        let unlike = |processes: [&str; 2]| {
            let mut points = pairs(&[("a", 1000), ("b", 1300)], 6);
            for point in &mut points {
                let process = processes[usize::from(point.trial.target.engine == "b")];
                point.facts = vec![Fact::new("engine.process", process)];
                point.traits.learn_all(&point.facts);
            }
            let table = tables(points).remove(0);
            let cell = cells(&table, Metric::OpsPerS)[0];
            assert_eq!(cell.is_unlike, cell.ratio.verdict == RatioVerdict::Indicative);
            cell.is_unlike
        };
        assert!(unlike(["embedded", "own"]) && unlike(["elsewhere", "embedded"]));
        assert!(!unlike(["embedded", "embedded"]) && !unlike(["own", "elsewhere"]));
    }
}
