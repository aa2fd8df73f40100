//! The history of a plan in words: metrics, changes, what changed at the same time, what is not known.
//!
//! In: typed histories. Out: text. Limits: labels and values of facts are quoted as they were recorded; they must be escaped for their
//! place. Runs are numbered from 1, the oldest first.

use super::label::label_text;
use super::list::join_and;
use super::quantity::{bytes, number, plural, rate, time};
use crate::format;
use analysis::history::{
    ChangeDirection, HistoryChange, HistoryMetric, HistoryOutcome, HistorySeries, PlanHistory, RUNS_MIN, UnusedReason,
};
use model::ChangedCondition;
use std::collections::BTreeMap;

/// A ratio from here on is a factor, not a percentage.
const FACTOR_MIN: f64 = 2.0;
/// An interval narrower than this share is written with a decimal.
const NARROW: f64 = 0.05;

/// The name of a metric in tables and sentences.
pub fn metric_name(metric: HistoryMetric) -> &'static str {
    match metric {
        HistoryMetric::OpsPerS => "ops/s",
        HistoryMetric::ResponseP99Ns => "p99",
        HistoryMetric::EngineCpuNsPerOp => "engine CPU/op",
        HistoryMetric::ClientCpuNsPerOp => "client CPU/op",
        HistoryMetric::ReadBytesPerOp => "read/op",
        HistoryMetric::WrittenBytesPerOp => "written/op",
        HistoryMetric::ContextSwitchesPerOp => "switches/op",
    }
}

/// A value of a metric with its unit.
pub fn metric_value(metric: HistoryMetric, value: f64) -> String {
    let written = match metric {
        HistoryMetric::OpsPerS => rate(value),
        HistoryMetric::ResponseP99Ns | HistoryMetric::EngineCpuNsPerOp | HistoryMetric::ClientCpuNsPerOp => time(value),
        HistoryMetric::ReadBytesPerOp | HistoryMetric::WrittenBytesPerOp => bytes(value),
        HistoryMetric::ContextSwitchesPerOp => number(value),
    };
    written.to_string()
}

/// By how much: `7.0 % lower (6.4 to 7.6)`, `2.9x as high (2.7 to 3.1)`.
pub fn change_size(change: &HistoryChange) -> String {
    let [low, high] = change.ci95;
    match change.ratio {
        ratio if ratio >= FACTOR_MIN => format!("{ratio:.1}x as high ({low:.1} to {high:.1})"),
        ratio if ratio >= 1.0 => percentages(ratio - 1.0, [low - 1.0, high - 1.0], "higher"),
        ratio => percentages(1.0 - ratio, [1.0 - high, 1.0 - low], "lower"),
    }
}

fn percentages(share: f64, ci95: [f64; 2], word: &str) -> String {
    let decimals = usize::from(ci95[1] - ci95[0] < NARROW);
    let [share, low, high] = [share, ci95[0], ci95[1]].map(|share| format!("{:.decimals$}", 100.0 * share));
    format!("{share} % {word} ({low} to {high})")
}

/// The change in a column of a table: `-7.0 %`, `+12 %`, `6.7x`.
pub fn change_sign(change: &HistoryChange) -> String {
    if change.ratio >= FACTOR_MIN {
        return format!("{:.1}x", change.ratio);
    }
    let percent = 100.0 * (change.ratio - 1.0);
    if percent.abs() < 9.95 { format!("{percent:+.1} %") } else { format!("{percent:+.0} %") }
}

/// `better` or `worse`.
pub fn direction_word(direction: ChangeDirection) -> &'static str {
    match direction {
        ChangeDirection::Better => "better",
        ChangeDirection::Worse => "worse",
    }
}

/// The label of the point of `series`.
pub fn series_label(series: &HistorySeries) -> String {
    label_text(&series.label)
}

/// What a table has of a series: `-7.0 % at run 16`, `none shown`, `cannot tell`.
pub fn change_cell(series: &HistorySeries) -> String {
    match (&series.outcome, series.changes()) {
        (HistoryOutcome::TooFew | HistoryOutcome::SometimesZero, _) => "cannot tell".to_owned(),
        (HistoryOutcome::AlwaysZero, _) => "always 0".to_owned(),
        (HistoryOutcome::Judged { .. }, []) => "none shown".to_owned(),
        (_, [change]) => format!("{} at run {}", change_sign(change), change.run + 1),
        (_, changes) => plural(changes.len() as u64, "change"),
    }
}

/// One sentence: `From run 16 on, ops/s of sqlite l.i0 is 7.0 % lower (6.4 to 7.6): worse.`
pub fn change_sentence(series: &HistorySeries, change: &HistoryChange) -> String {
    format!("From run {} on, {}.", change.run + 1, change_clause(series, change))
}

/// The same without the run.
pub fn change_clause(series: &HistorySeries, change: &HistoryChange) -> String {
    let (metric, label) = (metric_name(series.metric), series_label(series));
    let direction = direction_word(change.direction);
    format!("{metric} of {label} is {}: {direction}", change_size(change))
}

/// From so many series on, changes of one metric in one direction are one clause.
const GROUPED_FROM: usize = 4;

/// The changes that began with one run, in clauses: `ops/s of 13 points is 6.8 % to 7.4 % lower: worse`, or one for each if there are few.
pub fn change_clauses(changes: &ChangesOfRun) -> Vec<String> {
    let mut groups: Vec<Vec<(&HistorySeries, &HistoryChange)>> = Vec::new();
    for (series, change) in &changes.changes {
        let is_alike = |group: &&mut Vec<(&HistorySeries, &HistoryChange)>| {
            group[0].0.metric == series.metric && (group[0].1.ratio >= 1.0) == (change.ratio >= 1.0)
        };
        match groups.iter_mut().find(is_alike) {
            Some(group) => group.push((*series, *change)),
            None => groups.push(vec![(*series, *change)]),
        }
    }
    let clauses = |group: &Vec<(&HistorySeries, &HistoryChange)>| match group.len() {
        0..GROUPED_FROM => group.iter().map(|(series, change)| change_clause(series, change)).collect(),
        _ => vec![grouped_clause(group)],
    };
    groups.iter().flat_map(clauses).collect()
}

/// One clause for changes of one metric in one direction.
fn grouped_clause(group: &[(&HistorySeries, &HistoryChange)]) -> String {
    let (metric, direction) = (metric_name(group[0].0.metric), direction_word(group[0].1.direction));
    let by_size = |a: &&(&HistorySeries, &HistoryChange), b: &&(&HistorySeries, &HistoryChange)| {
        a.1.ratio.ln().abs().total_cmp(&b.1.ratio.ln().abs())
    };
    let least = group.iter().min_by(by_size).map(|(_, change)| bare_size(change)).unwrap_or_default();
    let most = group.iter().max_by(by_size).map(|(series, change)| (bare_size(change), series_label(series)));
    let (most, label) = most.unwrap_or_default();
    let word = if group[0].1.ratio >= 1.0 { "higher" } else { "lower" };
    let count = plural(group.len() as u64, "point");
    format!("{metric} of {count} is {least} to {most} {word} (most: {label}): {direction}")
}

/// `7.0 %`, `190 %`: the size of a change without its interval.
fn bare_size(change: &HistoryChange) -> String {
    let percent = 100.0 * (change.ratio - 1.0).abs();
    if percent < 9.95 { format!("{percent:.1} %") } else { format!("{percent:.0} %") }
}

/// The changes that began with the same run.
#[derive(Clone, Debug)]
pub struct ChangesOfRun<'a> {
    /// The run: its place among those of the plan.
    pub run: usize,
    /// Each change with its series.
    pub changes: Vec<(&'a HistorySeries, &'a HistoryChange)>,
}

/// The changes of all series by the run that began them, the oldest first.
pub fn changes_by_run(plan: &PlanHistory) -> Vec<ChangesOfRun<'_>> {
    let mut all: BTreeMap<usize, Vec<(&HistorySeries, &HistoryChange)>> = BTreeMap::new();
    for series in &plan.series {
        series.changes().iter().for_each(|change| all.entry(change.run).or_default().push((series, change)));
    }
    all.into_iter().map(|(run, changes)| ChangesOfRun { run, changes }).collect()
}

/// `Run 16 (2026-11-21 03:04:05 UTC, 20261121-030405-quick)`.
pub fn run_heading(plan: &PlanHistory, run: usize) -> String {
    let data = &plan.runs[run];
    format!("Run {} ({}, {})", run + 1, format::utc(data.started_unix_ms), data.id)
}

/// What changed between the runs around these changes, and what that means.
pub fn conditions_sentence(changes: &ChangesOfRun) -> String {
    let mut all: Vec<&ChangedCondition> = Vec::new();
    for condition in changes.changes.iter().flat_map(|(_, change)| &change.conditions) {
        if !all.contains(&condition) {
            all.push(condition);
        }
    }
    let before = changes.changes.iter().map(|(_, change)| change.last_before).min().unwrap_or_default();
    match all.as_slice() {
        [] => format!("No recorded condition changed since run {}.", before + 1),
        conditions => {
            let parts: Vec<String> = conditions.iter().map(|condition| changed_phrase(condition)).collect();
            format!("Changed since run {}: {}.", before + 1, parts.join("; "))
        }
    }
}

fn changed_phrase(condition: &ChangedCondition) -> String {
    let ChangedCondition { name, before, after, .. } = condition;
    format!("{name} from `{before}` to `{after}`")
}

/// What the answer ends with: how much was looked at, how much changed, and how much of that chance may have made.
pub fn verdict_sentence(plan: &PlanHistory) -> String {
    let judged = plan.series.iter().filter(|series| matches!(series.outcome, HistoryOutcome::Judged { .. }));
    let judged: Vec<&HistorySeries> = judged.collect();
    let changes: usize = judged.iter().map(|series| series.changes().len()).sum();
    let (series, runs) = (format!("{} series", judged.len()), plural(plan.runs.len() as u64, "run"));
    let found = match changes {
        0 => format!("No change is shown in {series} over {runs}."),
        changes => format!("{} in {series} over {runs}.", plural(changes as u64, "change")),
    };
    let by_chance: f64 = judged.iter().map(|series| series.by_chance()).sum();
    let chance = (by_chance >= 0.5).then(|| format!("Chance alone may make up to {by_chance:.0} of so many."));
    [found].into_iter().chain(chance).chain(smallest_sentence(&judged)).collect::<Vec<_>>().join(" ")
}

/// What short series without a change would have shown: `In ops/s a change by a factor of 1.4 or more in the middle would have shown in four of five cases.`
fn smallest_sentence(judged: &[&HistorySeries]) -> Option<String> {
    let rates = judged.iter().filter(|series| series.metric == HistoryMetric::OpsPerS);
    let factor = rates.filter_map(|series| series.smallest_shown()).reduce(f64::max)?;
    let (metric, factor) = (metric_name(HistoryMetric::OpsPerS), number(factor));
    Some(format!(
        "In {metric} a change by a factor of {factor} or more in the middle would have shown in four of five cases."
    ))
}

/// Why nothing is known of a plan yet.
pub fn too_few_sentence(plan: &PlanHistory) -> String {
    let most = plan.series.iter().map(|series| series.values.len()).max().unwrap_or_default();
    let missing = (RUNS_MIN - most.min(RUNS_MIN)) as u64;
    let usable = plural(most as u64, "usable run");
    let is_watch = plan.runs.first().is_some_and(|run| run.work.is_watch());
    let more = more(missing, if is_watch { "Watch it" } else { "Run the plan" });
    format!("Cannot tell: a change needs {RUNS_MIN} usable runs, and there {} {usable}. {more}.", are(most))
}

fn are(n: usize) -> &'static str {
    if n == 1 { "is" } else { "are" }
}

fn more(missing: u64, what: &str) -> String {
    format!("{what} {} more", if missing == 1 { "once".to_owned() } else { format!("{missing} times") })
}

/// Why nothing is known of single series; `None` if all are known.
pub fn cannot_tell_sentence(plan: &PlanHistory) -> Option<String> {
    let names = |wanted: &HistoryOutcome| -> Vec<String> {
        let fitting = plan.series.iter().filter(|series| series.outcome == *wanted);
        fitting.map(|series| format!("{} of {}", metric_name(series.metric), series_label(series))).collect()
    };
    let (few, zero) = (names(&HistoryOutcome::TooFew), names(&HistoryOutcome::SometimesZero));
    let few = (!few.is_empty()).then(|| format!("too few runs have {} (a change needs {RUNS_MIN})", join_and(&few)));
    let zero =
        (!zero.is_empty()).then(|| format!("{} was 0 in some runs, and no ratio can be made of that", join_and(&zero)));
    let reasons: Vec<String> = few.into_iter().chain(zero).collect();
    (!reasons.is_empty()).then(|| format!("Cannot tell: {}.", reasons.join("; ")))
}

/// Which points were left out, by reason; `None` if none was.
pub fn left_out_sentence(plan: &PlanHistory) -> Option<String> {
    let mut counts: BTreeMap<UnusedReason, u64> = BTreeMap::new();
    for point in plan.runs.iter().flat_map(|run| &run.left_out) {
        *counts.entry(point.reason).or_default() += 1;
    }
    let parts: Vec<String> =
        counts.into_iter().map(|(reason, n)| plural(n, &format!("{} point", reason_word(reason)))).collect();
    (!parts.is_empty()).then(|| format!("Left out: {}.", join_and(&parts)))
}

/// Why a point was left out, as an adjective.
fn reason_word(reason: UnusedReason) -> &'static str {
    match reason {
        UnusedReason::Partial => "interrupted",
        UnusedReason::Failed => "failed",
        UnusedReason::Invalid => "invalid",
        UnusedReason::Empty => "empty",
    }
}

/// Which values were left out as outliers; `None` if none was.
pub fn outliers_sentence(plan: &PlanHistory) -> Option<String> {
    let of_series = |series: &HistorySeries| {
        let HistoryOutcome::Judged { outliers, .. } = &series.outcome else { return None };
        let runs: Vec<String> = outliers.iter().map(|at| format!("{}", series.values[*at].run + 1)).collect();
        let name = format!("{} of {}", metric_name(series.metric), series_label(series));
        let noun = if runs.len() == 1 { "run" } else { "runs" };
        (!runs.is_empty()).then(|| format!("{name} ({noun} {})", join_and(&runs)))
    };
    let all: Vec<String> = plan.series.iter().filter_map(of_series).collect();
    (!all.is_empty()).then(|| format!("Outliers, not counted: {}.", all.join(", ")))
}

/// `30 runs, 2026-10-01 10:00:00 UTC to 2026-10-30 10:00:00 UTC`.
pub fn runs_phrase(plan: &PlanHistory) -> String {
    let runs = plural(plan.runs.len() as u64, "run");
    match (plan.runs.first(), plan.runs.last()) {
        (Some(first), Some(last)) => {
            format!("{runs}, {} to {}", format::utc(first.started_unix_ms), format::utc(last.started_unix_ms))
        }
        _ => runs,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(ratio: f64, ci95: [f64; 2]) -> HistoryChange {
        let direction = ChangeDirection::Worse;
        HistoryChange { run: 15, last_before: 14, ratio, ci95, p: 0.0, direction, conditions: Vec::new() }
    }

    #[test]
    fn a_change_is_a_percentage_with_its_interval_or_a_factor() {
        assert_eq!(change_size(&change(0.93, [0.924, 0.936])), "7.0 % lower (6.4 to 7.6)");
        assert_eq!(change_size(&change(1.5, [1.4, 1.6])), "50 % higher (40 to 60)");
        assert_eq!(change_size(&change(2.9, [2.7, 3.1])), "2.9x as high (2.7 to 3.1)");
        assert_eq!([change_sign(&change(0.93, [0.0; 2])), change_sign(&change(1.5, [0.0; 2]))], ["-7.0 %", "+50 %"]);
    }

    #[test]
    fn all_conditions_that_changed_are_named_once() {
        let history = crate::history::fixture();
        let changes = changes_by_run(&history.plans[0]);
        assert_eq!(conditions_sentence(&changes[0]), "Changed since run 15: kernel.vm.dirty_ratio from `20` to `5`.");
        let none = ChangesOfRun { run: 3, changes: Vec::new() };
        assert_eq!(conditions_sentence(&none), "No recorded condition changed since run 1.");
    }
}
