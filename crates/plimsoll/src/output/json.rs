//! The JSON of `--json`: one object on stdout, on success and on failure.
//!
//! In: an analysis and the run that it is of. Out: the schema `plimsoll.run/1`, whose keys carry their units.
//! Limits: what could not be measured is null, never 0.

use crate::exit::Fault;
use analysis::{Analysis, Finding, InsertCost, PointAnalysis, Rounds, Summary};
use model::{Pacing, PointData, PointState, RunData, Trial, Until, Value as Param};
use report::wording::finding::{evidence, next_step, title};
use serde_json::{Map, Value, json};
use std::path::Path;

/// Prints `value` as one line.
pub fn print(value: &Value) {
    super::print(&format!("{value}\n"));
}

/// Prints the object that stands in place of the result where there is none.
pub fn error(fault: &Fault) {
    print(&json!({"schema": "plimsoll.error/1", "exit": fault.exit.code(), "error": fault.text}));
}

/// A run and what it means.
pub fn run(analysis: &Analysis, run: &RunData, run_file: &Path, report: Option<&Path>) -> Value {
    let points = with_data(analysis, run).map(|(point, data)| self::point(point, &data.trial));
    json!({
        "schema": "plimsoll.run/1",
        "run": run_file,
        "report": report,
        "state": state(analysis),
        "verdict": analysis.verdict,
        "findings": analysis.findings.iter().map(finding).collect::<Vec<_>>(),
        "points": points.collect::<Vec<_>>(),
    })
}

/// The points that were analysed, with what was recorded of each.
pub fn with_data<'a>(
    analysis: &'a Analysis,
    run: &'a RunData,
) -> impl Iterator<Item = (&'a PointAnalysis, &'a PointData)> {
    analysis.points.iter().filter_map(|point| Some((point, run.points.iter().find(|data| data.id == point.id)?)))
}

/// `complete` where every point of the plan is there and complete.
fn state(analysis: &Analysis) -> &'static str {
    let states: Vec<PointState> = analysis.points.iter().map(|point| point.state).collect();
    match states {
        states if states.contains(&PointState::Failed) => "failed",
        states if states.contains(&PointState::Partial) || states.len() < analysis.meta.plan.trials.len() => "partial",
        _ => "complete",
    }
}

/// One point.
pub fn point(point: &PointAnalysis, trial: &Trial) -> Value {
    let head = json!({
        "point": point.id, "target": point.target, "workload": point.workload, "clients": point.clients, "depth": point.depth,
        "repeat": point.repeat, "params": params(trial), "load": point.load, "state": point.state, "error": point.error,
        "validity": point.validity, "findings": point.findings.iter().map(finding).collect::<Vec<_>>(),
    });
    let mut numbers = point.summary.as_ref().map_or(json!({}), numbers);
    if let (Some(cost), Some(inserts)) = (numbers.get_mut("cost").and_then(Value::as_object_mut), &point.inserts) {
        cost.extend(of_inserts(inserts));
    }
    let rounds = point.rounds.as_ref().map_or(json!({"steady": null, "rounds": null}), rounds);
    let (Value::Object(mut all), Value::Object(numbers)) = (head, numbers) else { unreachable!("both are objects") };
    let Value::Object(rounds) = rounds else { unreachable!("it is an object") };
    if point.inserts.is_some() {
        let projection = serde_json::to_value(&point.projection).expect("a projection is plain data");
        all.insert("projection".into(), projection);
    }
    all.extend(numbers);
    all.extend(rounds);
    Value::Object(all)
}

fn numbers(summary: &Summary) -> Value {
    serde_json::to_value(summary).expect("numbers are plain data")
}

/// What an insert cost, beside what an operation cost.
fn of_inserts(cost: &InsertCost) -> Map<String, Value> {
    match serde_json::to_value(cost).expect("numbers are plain data") {
        Value::Object(all) => all,
        _ => unreachable!("it is an object"),
    }
}

/// The rounds of a run until steady, and where they settled: range and slope are shares of the mean.
fn rounds(rounds: &Rounds) -> Value {
    let steady = rounds.steady().map(
        |window| json!({"round": window.round, "range": window.range, "slope": window.slope, "ops_per_s": window.mean}),
    );
    json!({"steady": steady, "rounds": {"seconds": rounds.length.as_secs_f64(), "ops_per_s": rounds.rates}})
}

/// The other dimensions under their flag names: sizes in bytes, times in nanoseconds.
fn params(trial: &Trial) -> Map<String, Value> {
    let both = trial.workload.params.0.iter().chain(&trial.target.params.0);
    let mut all: Map<String, Value> = both.map(|(name, value)| (name.clone(), param(value))).collect();
    if let Some(fs) = trial.target.fs {
        all.insert("fs".into(), json!(fs.kind.to_string()));
    }
    all.extend(trial.target.limits.memory.map(|limit| ("memory_limit".to_owned(), json!(limit.0))));
    let storage = Some(trial.target.limits.storage).filter(|limit| !limit.is_none());
    all.extend(storage.map(|limit| ("storage_limit".to_owned(), json!(limit.to_string()))));
    match trial.load.pacing {
        Pacing::Closed { think } => drop(all.insert("think".into(), json!(think.0))),
        Pacing::Open { arrivals } => drop(all.insert("rate".into(), json!(arrivals.per_s()))),
    }
    match trial.phases.until {
        Until::Time => drop(all.insert("until".into(), json!("time"))),
        Until::Steady { round, precondition } => {
            all.insert("until".into(), json!("steady"));
            all.insert("round".into(), json!(round.0));
            all.insert("precondition".into(), json!(precondition));
        }
    }
    all
}

fn param(value: &Param) -> Value {
    match value {
        Param::Bool(value) => json!(value),
        Param::Int(value) => json!(value),
        Param::Float(value) => json!(value),
        Param::Bytes(value) => json!(value.0),
        Param::Nanos(value) => json!(value.0),
        Param::Word(value) => json!(value),
        Param::Access(value) => json!(value.to_string()),
        Param::Statements(all) => json!(all),
    }
}

/// The figures of a finding, and the sentences that reports make of them.
fn finding(finding: &Finding) -> Value {
    json!({
        "code": finding.code(),
        "severity": finding.severity,
        "subject": finding.subject,
        "spans": finding.spans,
        "detail": finding.detail,
        "title": title(&[&finding.detail]),
        "evidence": evidence(&finding.detail),
        "next_step": next_step(finding.next),
    })
}
