//! The JSON of `--json`: one object on stdout, on success and on failure.
//!
//! In: an analysis and the run that it is of. Out: the schema `plimsoll.run/1`, whose keys carry their units.
//! Limits: what could not be measured is null, never 0.

use crate::exit::Fault;
use analysis::course::anatomy::StallCauses;
use analysis::evidence::cause::{Bottlenecks, Cause};
use analysis::findings::{evidence, title};
use analysis::{Analysis, DetailKind, Finding, InsertCost, PointAnalysis, Projection, Rounds, Summary};
use model::{HoldOutcome, Pacing, PointData, PointState, RunData, Trial, Until, Value as Param};
use report::wording::finding::bottleneck::cause_words;
use report::wording::projection::{obstacle_clause, projection_sentence};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::path::Path;

/// Prints `value` as one line.
pub fn print(value: &Value) {
    super::print(&format!("{value}\n"));
}

/// Prints the object that replaces the result if there is none.
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
        "state": state(analysis, run),
        "answer": analysis::answer(analysis),
        "verdict": report::wording::verdict::sentences(analysis),
        "verdict_detail": analysis.verdict,
        "kernels": analysis::compare::kernels::KernelTable::from_analysis(analysis),
        "findings": analysis.findings.iter().map(finding).collect::<Vec<_>>(),
        "points": points.collect::<Vec<_>>(),
    })
}

/// The points that were analysed, the probes of searches included, with what was recorded of each.
pub fn with_data<'a>(
    analysis: &'a Analysis,
    run: &'a RunData,
) -> impl Iterator<Item = (&'a PointAnalysis, &'a PointData)> {
    let probes = analysis.searches.iter().flat_map(|search| &search.probes).map(|probe| (probe.point.id, &probe.point));
    let points = analysis.points.iter().map(|point| (point.id, point));
    let all: BTreeMap<u32, &PointAnalysis> = probes.chain(points).collect();
    all.into_values().filter_map(|point| Some((point, run.points.iter().find(|data| data.id == point.id)?)))
}

/// `complete` if every point of the plan is there and complete, and every search is over.
fn state(analysis: &Analysis, run: &RunData) -> &'static str {
    let states: Vec<PointState> = with_data(analysis, run).map(|(point, _)| point.state).collect();
    match states {
        states if states.contains(&PointState::Failed) => "failed",
        states if states.contains(&PointState::Partial) || !model::sure::is_all_measured(run) => "partial",
        _ => "complete",
    }
}

pub fn point(point: &PointAnalysis, trial: &Trial) -> Value {
    let head = json!({
        "point": point.id, "engine": point.engine,
        "engine_version": point.traits.engine.version, "workload": point.workload, "clients": point.clients, "depth": point.depth,
        "repeat": point.repeat, "params": params(trial), "load": point.load, "state": point.state, "error": point.error,
        "work_done": point.work_done, "validity": point.validity, "findings": point.findings.iter().map(finding).collect::<Vec<_>>(),
    });
    let mut numbers = point.summary.as_ref().map_or_else(|| nulls(numbers(&Summary::default())), numbers);
    let inserts = point.inserts.as_ref().map_or_else(|| nulls(of_inserts(&InsertCost::default())), of_inserts);
    if let (Some(cost), Value::Object(inserts)) = (numbers.get_mut("cost").and_then(Value::as_object_mut), inserts) {
        cost.extend(inserts);
    }
    let rounds = point.rounds.as_ref().map_or(json!({"steady": null, "rounds": null}), rounds);
    let (Value::Object(mut all), Value::Object(numbers)) = (head, numbers) else { unreachable!("both are objects") };
    let Value::Object(rounds) = rounds else { unreachable!("it is an object") };
    all.insert("statements".into(), json!(point.statements));
    all.insert("endpoints".into(), json!(point.endpoints));
    // Only points of several hosts have them.
    all.extend((!point.hosts.is_empty()).then(|| ("hosts".to_owned(), json!(point.hosts))));
    all.insert("instances".into(), json!(point.instances));
    let causes = point.findings.iter().find_map(|finding| StallCauses::in_detail(&finding.detail));
    all.insert("stall_causes".into(), json!(causes));
    all.insert("bottlenecks".into(), point.bottlenecks.as_ref().map_or(Value::Null, bottlenecks));
    all.insert("ruled_out".into(), json!(point.bottlenecks.as_ref().map(|found| &found.ruled_out)));
    if let Some(variant) = &point.variant {
        all.insert("result".into(), json!(variant.result));
        all.insert("variant".into(), json!(variant));
    }
    all.insert("projection".into(), point.projection.as_ref().map_or(Value::Null, projection));
    all.insert("hold".into(), point.traits.outcome.hold.as_ref().map_or(Value::Null, |found| hold(point, found)));
    all.insert("thread_states".into(), json!(point.threads));
    // Only points whose stacks were taken have them.
    all.extend(point.stacks.as_ref().map(|found| ("stacks".to_owned(), json!(found))));
    all.extend(numbers);
    all.extend(rounds);
    // Only points that were watched have it.
    all.extend(point.traits.observed.as_ref().map(|seen| ("observed".to_owned(), json!(seen))));
    // Only replays of statements have it.
    let divergence = &point.traits.outcome.replay_divergence;
    all.extend(divergence.as_ref().map(|found| ("replay_divergence".to_owned(), json!(found))));
    // Only points of one workload have it.
    let compression =
        point.compression.as_ref().map(|found| serde_json::to_value(found).expect("numbers are plain data"));
    all.extend(compression.map(|found| ("compress".to_owned(), found)));
    Value::Object(all)
}

/// The end at full size, or the obstacle to knowing it, as data and in words.
fn projection(projection: &Projection) -> Value {
    let obstacle = projection.end.as_ref().err();
    json!({
        "rows": projection.rows, "factor": projection.factor, "end": projection.end.as_ref().ok(), "obstacle": obstacle,
        "cannot_tell": obstacle.map(obstacle_clause), "text": projection_sentence(projection),
    })
}

/// What limited a point, with the figures in words.
fn bottlenecks(found: &Bottlenecks) -> Value {
    let cause = |cause: &Cause| {
        let mut all = json!({
            "code": cause.limit(), "share": cause.share, "confidence": cause.confidence,
            "evidence": cause_words(cause), "next_step": cause.next.sentence(),
        });
        if let Some(place) = &cause.place {
            (all["host"], all["interface"]) = (json!(place.host), json!(place.interface));
        }
        all
    };
    found.causes.iter().map(cause).collect()
}

/// What was held when one more was refused.
fn hold(point: &PointAnalysis, found: &HoldOutcome) -> Value {
    json!({
        "kind": point.traits.work.hold, "reached": found.reached, "limit": found.limit, "error": found.error,
        "connections": found.connections, "connections_max": found.connections_max,
        "memory_bytes_per_connection": found.memory_per_connection(), "memory": found.memory,
        "threads": found.threads, "processes": found.processes,
    })
}

fn numbers(summary: &Summary) -> Value {
    serde_json::to_value(summary).expect("numbers are plain data")
}

/// The cost of an insert, in addition to the cost of an operation.
fn of_inserts(cost: &InsertCost) -> Value {
    serde_json::to_value(cost).expect("numbers are plain data")
}

/// The same keys with null for every value: what was not measured has its key, too.
fn nulls(value: Value) -> Value {
    match value {
        Value::Object(all) => all.into_iter().map(|(key, value)| (key, nulls(value))).collect(),
        _ => Value::Null,
    }
}

/// The rounds of a run until steady, and where they settled: range and slope are shares of the mean.
fn rounds(rounds: &Rounds) -> Value {
    let steady = rounds.steady_window().map(
        |window| json!({"round": window.round, "range": window.range, "slope": window.slope, "ops_per_s": window.mean}),
    );
    json!({"steady": steady, "rounds": {"seconds": rounds.length.as_secs_f64(), "ops_per_s": rounds.rates}})
}

/// The other dimensions under their flag names: sizes in bytes, times in nanoseconds.
fn params(trial: &Trial) -> Map<String, Value> {
    let both = trial.workload.params.0.iter().chain(&trial.target.params.0);
    let mut all: Map<String, Value> = both.map(|(name, value)| (name.clone(), param(value))).collect();
    all.extend(
        trial.target.programs.as_ref().map(|folder| ("programs".to_owned(), json!(folder.display().to_string()))),
    );
    if trial.target.instances > 1 {
        all.insert("instances".into(), json!(trial.target.instances));
    }
    if let Some(fs) = trial.target.fs {
        all.insert("fs".into(), json!(fs.kind.to_string()));
    }
    all.extend(trial.target.limits.memory.map(|limit| ("memory_limit".to_owned(), json!(limit.0))));
    let storage = Some(trial.target.limits.storage).filter(|limit| !limit.is_none());
    all.extend(storage.map(|limit| ("storage_limit".to_owned(), json!(limit.to_string()))));
    all.extend(trial.target.limits.cpu.map(|limit| ("cpu_limit".to_owned(), json!(limit.to_string()))));
    all.extend(trial.target.machine.named().into_iter().map(|(name, value)| (name.to_owned(), json!(value))));
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
        Until::Sure(within) => {
            all.insert("until".into(), json!("sure"));
            all.insert("within_share".into(), json!(within.share()));
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
        Param::Background(all) => json!(all),
        Param::Variant(variant) => json!(variant.name),
        Param::Data(data) => json!(data.to_string()),
        Param::Recording(summary) => json!(summary.to_string()),
        Param::Tables(all) => json!(all),
    }
}

/// The figures of a finding, and the sentences that reports make of them.
fn finding(finding: &Finding) -> Value {
    let mut all = json!({
        "code": finding.code(),
        "severity": finding.severity,
        "subject": finding.subject,
        "spans": finding.spans,
        "detail": finding.detail,
        "title": title(&[&finding.detail]),
        "evidence": evidence(finding),
        "next_step": finding.next.sentence(),
    });
    if let Some(host) = &finding.host {
        all["host"] = json!(host);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_point_that_never_ran_has_every_key_with_null() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/stall/run.plimsoll");
        let mut recorded = store::read(&path).expect("a run of the golden tests");
        let first = |recorded: &RunData| run(&analysis::analyse(recorded), recorded, &path, None)["points"][0].clone();
        let ran = first(&recorded);
        recorded.points[0].phases.clear();
        let never = first(&recorded);
        let keys = |point: &Value| point.as_object().map(|all| all.keys().cloned().collect::<Vec<_>>());
        for (ran, never) in [(&ran, &never), (&ran["cost"], &never["cost"]), (&ran["client"], &never["client"])] {
            assert_eq!(keys(ran), keys(never));
        }
        assert!(ran["ops_per_s"].is_f64() && never["ops_per_s"].is_null() && never["response_ns"].is_null(), "{never}");
        assert!(never["cost"]["read_bytes_per_op"].is_null() && never["projection"].is_null(), "{never}");
    }

    #[test]
    fn a_finding_has_its_figures_beside_its_sentences() {
        let found = analysis::findings::swap::MemoryPressure {
            swapped_in_pages: 0,
            swapped_out_pages: 120,
            waited_share: analysis::math::units::Share(0.02),
        };
        let shown = finding(&Finding::new(analysis::Severity::Warning, found));
        assert_eq!(shown["code"], "swap");
        assert_eq!(shown["detail"], json!({"swapped_in_pages": 0, "swapped_out_pages": 120, "waited_share": 0.02}));
        assert_eq!(shown["subject"], json!({"kind": "point"}));
        assert_eq!((&shown["spans"], &shown["next_step"]), (&json!([]), &json!("")));
        assert!(shown["title"].as_str().is_some_and(|title| !title.is_empty()), "{shown}");
    }
}
