//! The JSON of `plimsoll history`: one object for all plans.
//!
//! In: a history. Out: the schema `plimsoll.history/1`. Limits: runs are named, and counted from 1, the oldest first; what was not measured
//! is null.

use crate::commands::UnreadRun;
use analysis::history::{
    History, HistoryChange, HistoryLevel, HistoryOutcome, HistoryRun, HistorySeries, PlanHistory, RUNS_MIN, RunValue,
    UnusedPoint,
};
use report::wording::history::{change_sentence, series_label, verdict_sentence};
use report::wording::label::label_text;
use serde_json::{Value, json};
use std::path::Path;

/// All plans of a directory, the files that were left out, and where the report is.
pub fn history(history: &History, unread: &[UnreadRun], report: Option<&Path>) -> Value {
    let left_out = unread.iter().map(|one| json!({"file": one.file, "reason": one.reason}));
    json!({
        "schema": "plimsoll.history/1",
        "report": report,
        "runs_needed": RUNS_MIN,
        "left_out": left_out.collect::<Vec<_>>(),
        "plans": history.plans.iter().map(plan).collect::<Vec<_>>(),
    })
}

fn plan(plan: &PlanHistory) -> Value {
    json!({
        "title": plan.title,
        "verdict": verdict_sentence(plan),
        "runs": (1..).zip(&plan.runs).map(|(number, one)| run(number, one)).collect::<Vec<_>>(),
        "series": plan.series.iter().map(|one| series(plan, one)).collect::<Vec<_>>(),
    })
}

fn run(number: u32, run: &HistoryRun) -> Value {
    let left_out = run.left_out.iter().map(unused_point).collect::<Vec<_>>();
    json!({"number": number, "run": run.id, "started_unix_ms": run.started_unix_ms, "left_out": left_out})
}

fn unused_point(point: &UnusedPoint) -> Value {
    json!({"label": label_text(&point.label), "reason": point.reason})
}

fn series(plan: &PlanHistory, series: &HistorySeries) -> Value {
    let (outcome, outliers, levels) = match &series.outcome {
        HistoryOutcome::TooFew => ("too-few-runs", &[][..], &[][..]),
        HistoryOutcome::AlwaysZero => ("always-zero", &[][..], &[][..]),
        HistoryOutcome::SometimesZero => ("sometimes-zero", &[][..], &[][..]),
        HistoryOutcome::Judged { outliers, levels, .. } => ("judged", outliers.as_slice(), levels.as_slice()),
    };
    json!({
        "label": series_label(series),
        "metric": series.metric,
        "outcome": outcome,
        "values": series.values.iter().map(value).collect::<Vec<_>>(),
        "outliers": outliers.iter().map(|at| number(series, *at)).collect::<Vec<_>>(),
        "levels": levels.iter().map(|one| level(series, one)).collect::<Vec<_>>(),
        "smallest_shown": series.smallest_shown(),
        "changes": series.changes().iter().map(|one| change(plan, series, one)).collect::<Vec<_>>(),
    })
}

/// The number of the run that has the value at `at`.
fn number(series: &HistorySeries, at: usize) -> usize {
    series.values[at].run + 1
}

fn value(value: &RunValue) -> Value {
    let of_run = value.value;
    json!({"run": value.run + 1, "value": of_run.value, "ci95": of_run.ci95, "repeats": of_run.repeats})
}

fn level(series: &HistorySeries, level: &HistoryLevel) -> Value {
    let [from, to] = [level.first, level.last].map(|at| number(series, at));
    json!({"from_run": from, "to_run": to, "runs": level.values, "mean": level.mean, "ci95": level.ci95})
}

fn change(plan: &PlanHistory, series: &HistorySeries, change: &HistoryChange) -> Value {
    json!({
        "run": change.run + 1, "run_name": plan.runs[change.run].id, "run_before": change.last_before + 1,
        "ratio": change.ratio, "ci95": change.ci95, "p": change.p, "direction": change.direction,
        "conditions": change.conditions, "text": change_sentence(series, change),
    })
}
