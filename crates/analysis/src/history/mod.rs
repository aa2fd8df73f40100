//! The history of a plan: its runs over time, where a metric changed, and with which run that began.
//!
//! In: [`HistoryRun`]s of any plans. Out: a [`History`]: the runs that share a plan, a series for each of their points and metrics, the
//! levels of each series and its changes, with the conditions that changed at the same time.
//! Method: outliers are cut ([`outliers`]), change points are found by E-divisive and Student's t ([`change_points`]); a change is the
//! ratio of the geometric means before and after ([`contrast`]).
//! Limits: runs are taken to be independent of each other, as far as [`contrast`] does not see otherwise. That a condition changed at the
//! same time does not prove that it is the cause. A series with a value of 0 among others has no ratios.

mod change_points;
mod contrast;
mod divisive;
#[cfg(test)]
mod golden;
mod metric;
mod outliers;
mod run;

pub use change_points::{CHANGE_MIN, P_MAX, VALUES_MIN as RUNS_MIN};
pub use metric::{HistoryMetric, MetricValue};
pub use run::{HistoryPoint, HistoryRun, UnusedPoint, UnusedReason};

use crate::Label;
use crate::math::stats::{mean, students_t, variance};
use change_points::{P_MAX_SHORT, change_points, contrasts};
use contrast::{Contrast, SHORT_MAX, smallest_shown};
use model::{ChangedCondition, RunCondition, changed_conditions};
use outliers::outliers;
use serde::Serialize;
use std::collections::BTreeSet;

/// The histories of all plans, those with the most runs first.
#[derive(Clone, Debug)]
pub struct History {
    /// One for each plan.
    pub plans: Vec<PlanHistory>,
}

/// The runs of one plan.
#[derive(Clone, Debug)]
pub struct PlanHistory {
    /// The title of the plan, as the newest run has it.
    pub title: String,
    /// Its runs, the oldest first.
    pub runs: Vec<HistoryRun>,
    /// The metrics of its points over these runs.
    pub series: Vec<HistorySeries>,
}

/// One metric of one point over the runs of a plan.
#[derive(Clone, Debug)]
pub struct HistorySeries {
    /// What distinguishes the point, as the newest run has it.
    pub label: Label,
    pub metric: HistoryMetric,
    /// Its values, the oldest first. A run that has none is missing.
    pub values: Vec<RunValue>,
    /// What follows from them.
    pub outcome: HistoryOutcome,
}

/// What one run has of a series.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RunValue {
    /// The run: its place among those of the plan.
    pub run: usize,
    pub value: MetricValue,
}

/// What follows from a series.
#[derive(Clone, Debug, PartialEq)]
pub enum HistoryOutcome {
    /// It has fewer than [`RUNS_MIN`] values.
    TooFew,
    /// All values are 0.
    AlwaysZero,
    /// Some values are 0 and others are not, so there are no ratios.
    SometimesZero,
    /// It was searched for changes.
    Judged {
        /// Places of the values that are outliers and were left out.
        outliers: Vec<usize>,
        /// The stretches between changes, at least one.
        levels: Vec<HistoryLevel>,
        /// The changes, one fewer than levels.
        changes: Vec<HistoryChange>,
        /// Of a short series without a change: the factor from which on it would have shown one in four of five cases.
        smallest_shown: Option<f64>,
    },
}

/// A stretch of a series without a change.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct HistoryLevel {
    /// The place of its first value in the series.
    pub first: usize,
    /// The place of its last value.
    pub last: usize,
    /// How many values it has, outliers not counted.
    pub values: usize,
    /// The geometric mean of these values.
    pub mean: f64,
    /// Its 95 % confidence interval, by Student's t on the logarithms.
    pub ci95: [f64; 2],
}

/// Whether a change is for the better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ChangeDirection {
    /// A higher rate, or a lower time or cost.
    Better,
    /// A lower rate, or a higher time or cost.
    Worse,
}

/// A change of a series.
#[derive(Clone, Debug, PartialEq)]
pub struct HistoryChange {
    /// The first run of the new level: its place among those of the plan.
    pub run: usize,
    /// The last run before it that counts.
    pub last_before: usize,
    /// The mean after the change, divided by the mean before.
    pub ratio: f64,
    /// Its 95 % confidence interval.
    pub ci95: [f64; 2],
    /// How often chance makes so large a difference at one place.
    pub p: f64,
    /// Whether it is for the better.
    pub direction: ChangeDirection,
    /// The conditions in which these two runs differ.
    pub conditions: Vec<ChangedCondition>,
}

impl History {
    /// The histories of the plans of `runs`.
    pub fn from_runs(runs: Vec<HistoryRun>) -> History {
        let mut plans: Vec<Vec<HistoryRun>> = Vec::new();
        for run in runs {
            match plans.iter_mut().find(|plan| plan[0].work.is_same_as(&run.work)) {
                Some(plan) => plan.push(run),
                None => plans.push(vec![run]),
            }
        }
        let mut plans: Vec<PlanHistory> = plans.into_iter().map(PlanHistory::from_runs).collect();
        plans.sort_by_key(|plan| std::cmp::Reverse(plan.runs.len()));
        History { plans }
    }
}

impl PlanHistory {
    fn from_runs(mut runs: Vec<HistoryRun>) -> PlanHistory {
        runs.sort_by(|a, b| (a.started_unix_ms, &a.id).cmp(&(b.started_unix_ms, &b.id)));
        let places: BTreeSet<usize> = runs.iter().flat_map(|run| run.points.keys().copied()).collect();
        let all = places.into_iter().flat_map(|place| HistoryMetric::ALL.map(|metric| (place, metric)));
        let series = all.filter_map(|(place, metric)| HistorySeries::from_runs(&runs, place, metric)).collect();
        let title = runs.last().map(|run| run.title.clone()).unwrap_or_default();
        PlanHistory { title, runs, series }
    }

    /// Whether no series can show a change yet.
    pub fn has_too_few_runs(&self) -> bool {
        self.series.iter().all(|series| series.outcome == HistoryOutcome::TooFew)
    }
}

impl HistorySeries {
    /// The series of the point at `place` in the plan; `None` if no run has the metric.
    fn from_runs(runs: &[HistoryRun], place: usize, metric: HistoryMetric) -> Option<HistorySeries> {
        let value = |(run, data): (usize, &HistoryRun)| {
            let value = data.points.get(&place)?.values.iter().find(|value| value.metric == metric)?;
            Some(RunValue { run, value: *value })
        };
        let values: Vec<RunValue> = runs.iter().enumerate().filter_map(value).collect();
        let label = runs[values.last()?.run].points[&place].label.clone();
        let outcome = judge(&values, metric, &|before, after| changed_at(&runs[before], &runs[after], place));
        Some(HistorySeries { label, metric, values, outcome })
    }

    /// How many changes chance makes of it at most, if there are none.
    pub fn by_chance(&self) -> f64 {
        match &self.outcome {
            HistoryOutcome::Judged { .. } if self.values.len() <= SHORT_MAX => P_MAX_SHORT,
            HistoryOutcome::Judged { .. } => P_MAX * self.values.len() as f64,
            _ => 0.0,
        }
    }

    /// If it is short and without a change: the factor from which on a change would have shown in four of five cases.
    pub fn smallest_shown(&self) -> Option<f64> {
        match self.outcome {
            HistoryOutcome::Judged { smallest_shown, .. } => smallest_shown,
            _ => None,
        }
    }

    /// Its changes, the oldest first.
    pub fn changes(&self) -> &[HistoryChange] {
        match &self.outcome {
            HistoryOutcome::Judged { changes, .. } => changes,
            HistoryOutcome::TooFew | HistoryOutcome::AlwaysZero | HistoryOutcome::SometimesZero => &[],
        }
    }
}

/// What follows from `values`; `changed` has the conditions in which two runs differ.
fn judge(
    values: &[RunValue],
    metric: HistoryMetric,
    changed: &dyn Fn(usize, usize) -> Vec<ChangedCondition>,
) -> HistoryOutcome {
    if values.len() < RUNS_MIN {
        return HistoryOutcome::TooFew;
    }
    let zeros = values.iter().filter(|value| value.value.value <= 0.0).count();
    if zeros > 0 {
        return if zeros == values.len() { HistoryOutcome::AlwaysZero } else { HistoryOutcome::SometimesZero };
    }
    let all: Vec<f64> = values.iter().map(|value| value.value.value.ln()).collect();
    let outliers = outliers(&all);
    let kept: Vec<usize> = (0..values.len()).filter(|place| !outliers.contains(place)).collect();
    let logs: Vec<f64> = kept.iter().map(|place| all[*place]).collect();
    let points = change_points(&logs);
    let changes: Vec<HistoryChange> = contrasts(&logs, &points)
        .into_iter()
        .zip(&points)
        .map(|(contrast, at)| {
            let [last_before, run] = [kept[at - 1], kept[*at]].map(|place| values[place].run);
            describe_change(&contrast, metric, [last_before, run], changed(last_before, run))
        })
        .collect();
    let ends = [&[0], points.as_slice(), &[logs.len()]].concat();
    let levels = ends.windows(2).map(|ends| describe_level(&logs, &kept, [ends[0], ends[1]])).collect();
    let smallest_shown = if points.is_empty() { smallest_shown(&logs) } else { None };
    HistoryOutcome::Judged { outliers, levels, changes, smallest_shown }
}

fn describe_change(
    contrast: &Contrast,
    metric: HistoryMetric,
    [last_before, run]: [usize; 2],
    conditions: Vec<ChangedCondition>,
) -> HistoryChange {
    let is_better = (contrast.log_ratio > 0.0) == metric.more_is_better();
    let direction = if is_better { ChangeDirection::Better } else { ChangeDirection::Worse };
    HistoryChange {
        run,
        last_before,
        ratio: contrast.ratio(),
        ci95: contrast.ci95(),
        p: contrast.p,
        direction,
        conditions,
    }
}

/// The level of `logs` between two places; `kept` has the place of each in the series.
fn describe_level(logs: &[f64], kept: &[usize], [from, to]: [usize; 2]) -> HistoryLevel {
    let part = &logs[from..to];
    let n = part.len() as f64;
    let half_width = if part.len() < 2 { 0.0 } else { students_t(0.975, n - 1.0) * (variance(part) / n).sqrt() };
    let ci95 = [mean(part) - half_width, mean(part) + half_width].map(f64::exp);
    HistoryLevel { first: kept[from], last: kept[to - 1], values: part.len(), mean: mean(part).exp(), ci95 }
}

/// The conditions in which two runs differ, at the point at `place`.
fn changed_at(before: &HistoryRun, after: &HistoryRun, place: usize) -> Vec<ChangedCondition> {
    let of = |run: &HistoryRun| -> Vec<RunCondition> {
        let own = run.points.get(&place).map(|point| point.conditions.clone()).unwrap_or_default();
        [run.conditions.clone(), own].concat()
    };
    changed_conditions(&of(before), &of(after))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulated::{Random, Simulation, run_of};
    use crate::{Validity, analyse};
    use model::{ConditionRole, Fact, PointState, RunData};

    /// The run that began as the `nth`, whose points complete `per_s` operations a second.
    fn recorded(nth: u64, per_s: &[u64], kernel: &str) -> RunData {
        let point = |(at, per_s): (usize, &u64)| {
            let mut point = Simulation::counts(&[*per_s; 10]).point();
            (point.id, point.trial.load.clients) = (at as u32 + 1, at as u32 + 1);
            point
        };
        let points: Vec<_> = per_s.iter().enumerate().map(point).collect();
        let mut run = run_of(points, vec![Fact::new("kernel.release", kernel)]);
        run.meta.plan.trials = run.points.iter().map(|point| point.trial.clone()).collect();
        (run.meta.run_id, run.meta.started_unix_ms) = (format!("run-{nth:02}"), nth * 1_000);
        run
    }

    fn history(runs: &[RunData]) -> History {
        History::from_runs(runs.iter().map(|run| HistoryRun::from_run(run, &analyse(run))).collect())
    }

    /// Thirty runs, 7 % slower from the sixteenth on, where the kernel is another.
    fn slower_from_the_sixteenth() -> Vec<RunData> {
        let mut random = Random::new(5);
        let run = |nth: u64| {
            let (level, kernel) = if nth < 15 { (2_000.0, "6.1") } else { (1_860.0, "6.2") };
            recorded(nth, &[(level * (1.0 + 0.01 * random.normal())) as u64], kernel)
        };
        (0..30).map(run).collect()
    }

    fn series(history: &History, metric: HistoryMetric) -> HistorySeries {
        let found = history.plans[0].series.iter().find(|series| series.metric == metric);
        found.expect("it was measured").clone()
    }

    #[test]
    fn a_change_is_found_at_its_run_with_its_ratio_and_the_condition_that_changed() {
        let history = history(&slower_from_the_sixteenth());
        assert_eq!((history.plans.len(), history.plans[0].runs.len()), (1, 30));
        let found = series(&history, HistoryMetric::OpsPerS);
        let [change] = found.changes() else { panic!("{found:?}") };
        assert_eq!((change.run, change.last_before, change.direction), (15, 14, ChangeDirection::Worse));
        let [low, high] = change.ci95;
        assert!(low < 0.93 && 0.93 < high && high - low < 0.03, "{change:?}");
        let [condition] = &change.conditions[..] else { panic!("{change:?}") };
        assert_eq!(
            (condition.role, condition.before.as_str(), condition.after.as_str()),
            (ConditionRole::Kernel, "6.1", "6.2")
        );
        let HistoryOutcome::Judged { levels, .. } = found.outcome else { panic!("it has enough runs") };
        assert_eq!([levels[0].last, levels[1].first], [14, 15]);
    }

    #[test]
    fn the_order_of_the_files_does_not_matter_and_time_does() {
        let mut runs = slower_from_the_sixteenth();
        runs.reverse();
        let found = series(&history(&runs), HistoryMetric::OpsPerS);
        assert_eq!(found.changes().iter().map(|change| change.run).collect::<Vec<_>>(), [15]);
    }

    #[test]
    fn too_few_runs_show_nothing_and_other_plans_do_not_count() {
        let mut runs: Vec<RunData> =
            (0..5).map(|nth| recorded(nth, &[if nth < 3 { 2_000 } else { 900 }], "6.1")).collect();
        runs.extend((5..9).map(|nth| recorded(nth, &[900, 900], "6.1")));
        let history = history(&runs);
        assert_eq!(history.plans.iter().map(|plan| plan.runs.len()).collect::<Vec<_>>(), [5, 4]);
        assert!(history.plans.iter().all(PlanHistory::has_too_few_runs));
        runs.push(recorded(9, &[900], "6.1"));
        let history = self::history(&runs);
        assert!(!history.plans[0].has_too_few_runs(), "six runs are enough");
    }

    #[test]
    fn watches_of_any_length_are_of_one_plan() {
        let watch = |nth: u64| {
            let mut run = recorded(nth, &[2_000], "6.1");
            run.points[0].trial.phases.run.0 += nth;
            run.points[0].traits.observed = Some(model::Observation::default());
            run.meta.plan.trials = run.points.iter().map(|point| point.trial.clone()).collect();
            run
        };
        let history = history(&(0..7).map(watch).collect::<Vec<_>>());
        assert_eq!(history.plans.iter().map(|plan| plan.runs.len()).collect::<Vec<_>>(), [7]);
        assert!(history.plans[0].runs[0].work.is_watch() && !history.plans[0].has_too_few_runs());
    }

    #[test]
    fn points_that_cannot_be_used_are_left_out_with_the_reason() {
        let mut runs = slower_from_the_sixteenth();
        runs[3].points[0].state = PointState::Partial;
        runs[4].points[0].state = PointState::Failed;
        runs[5].points[0].phases[0].intervals.clear();
        let history = history(&runs);
        let reasons: Vec<_> =
            history.plans[0].runs.iter().flat_map(|run| run.left_out.iter().map(|point| point.reason)).collect();
        assert_eq!(reasons[..2], [UnusedReason::Partial, UnusedReason::Failed]);
        assert!(matches!(reasons[2], UnusedReason::Empty | UnusedReason::Invalid));
        let found = series(&history, HistoryMetric::OpsPerS);
        assert_eq!((found.values.len(), found.changes()[0].run), (27, 15));
    }

    #[test]
    fn an_invalid_point_is_left_out() {
        let run = recorded(0, &[2_000], "6.1");
        let mut analysis = analyse(&run);
        analysis.points[0].validity = Validity::Invalid;
        let run = HistoryRun::from_run(&run, &analysis);
        assert!(run.points.is_empty() && run.left_out[0].reason == UnusedReason::Invalid);
    }

    #[test]
    fn an_outlier_is_no_change_and_a_zero_has_no_ratio() {
        let mut runs = slower_from_the_sixteenth();
        runs[8] = recorded(8, &[1_000], "6.1");
        let found = series(&history(&runs), HistoryMetric::OpsPerS);
        let HistoryOutcome::Judged { outliers, changes, .. } = &found.outcome else { panic!("{found:?}") };
        assert_eq!((outliers.as_slice(), changes.len(), changes[0].run), ([8].as_slice(), 1, 15));
        let mut values = found.values;
        values[2].value.value = 0.0;
        let judged = |values: &[RunValue]| judge(values, HistoryMetric::ReadBytesPerOp, &|_, _| Vec::new());
        assert_eq!(judged(&values), HistoryOutcome::SometimesZero);
        values.iter_mut().for_each(|value| value.value.value = 0.0);
        assert_eq!(judged(&values), HistoryOutcome::AlwaysZero);
    }

    #[test]
    fn repeats_are_one_value() {
        let repeated = |nth: u64| {
            let mut run = recorded(nth, &[2_000, 2_200], "6.1");
            for (at, point) in run.points.iter_mut().enumerate() {
                (point.trial.load.clients, point.trial.repeat, point.trial.seed) = (1, at as u32 + 1, nth + at as u64);
            }
            run.meta.plan.trials = run.points.iter().map(|point| point.trial.clone()).collect();
            run
        };
        let history = history(&[repeated(0), repeated(1)]);
        let found = series(&history, HistoryMetric::OpsPerS);
        let value = found.values[1].value;
        assert_eq!((value.repeats, value.value, history.plans[0].runs.len()), (2, 2_100.0, 2));
        let rates = history.plans[0].series.iter().filter(|series| series.metric == HistoryMetric::OpsPerS);
        assert_eq!(rates.count(), 1);
    }
}
