//! The facts and declarations of a trial in the run file.
//!
//! In: an assignment, the kinds of its operations, its engine. Out: facts for people, and what workload and engine declare for the
//! analysis. Limits: facts about engine and host come from the running instance.

use crate::catalogue;
use crate::messages::{Assignment, OpenedTrial};
use engine::EngineDef;
use host::flush_probe::FlushProbe;
use load::BackgroundLoad;
use model::{EngineTraits, Fact, KindDef, PointTraits, Trial};
use workload::OpKindDef;

/// The kinds of its operations, its place in a sequence, and the number of operations if it ends by itself: so many as the instance has `counted`,
/// if it has.
pub(super) fn of_trial(assignment: &Assignment, kinds: &[OpKindDef], counted: Option<u64>) -> Vec<Fact> {
    let ops = run_ops(&assignment.trial, counted).map(|ops| Fact::new("run.ops", ops.to_string()));
    kinds.iter().flat_map(kind_facts).chain(place_in_sequence(assignment)).chain(ops).collect()
}

/// The number of its sequence, if it is a step of one.
fn place_in_sequence(assignment: &Assignment) -> Option<Fact> {
    let sequence = Some(&assignment.sequence).filter(|sequence| sequence.steps.len() > 1);
    sequence.map(|sequence| Fact::new("sequence", (sequence.first + 1).to_string()))
}

/// How many operations the run of `trial` has, if it ends by itself.
fn run_ops(trial: &Trial, counted: Option<u64>) -> Option<u64> {
    if trial.is_probe() {
        return None;
    }
    let own = counted.or_else(|| engine::estimate::own_run_ops(trial))?;
    Some(own.saturating_mul(u64::from(trial.target.instances)))
}

/// The statements and rows of one operation of a kind, if it is not one statement without rows.
fn kind_facts(kind: &OpKindDef) -> Vec<Fact> {
    let queries =
        (kind.queries != 1.0).then(|| Fact::new(format!("queries_per_op.{}", kind.name), kind.queries.to_string()));
    let rows = (kind.rows > 0.0).then(|| Fact::new(format!("rows_per_op.{}", kind.name), kind.rows.to_string()));
    queries.into_iter().chain(rows).collect()
}

/// The groups of clients in the background: how many they are, the kinds of their operations, and how many of these fall due per second
/// over all clients of a group. With `-` for a closed loop.
pub(super) fn of_background(loads: &[BackgroundLoad], kinds: &[OpKindDef]) -> [Fact; 3] {
    let joined = |text: &dyn Fn(&BackgroundLoad) -> String| loads.iter().map(text).collect::<Vec<_>>().join(",");
    let names = |load: &BackgroundLoad| {
        load.kinds.iter().map(|kind| kinds[usize::from(kind.0)].name).collect::<Vec<_>>().join(",")
    };
    let rate = |load: &BackgroundLoad| load.per_s().map_or("-".to_owned(), |per_s| per_s.to_string());
    let clients = joined(&|load| load.client_count().to_string());
    let facts = [("clients", clients), ("kinds", joined(&names)), ("per_s", joined(&rate))];
    facts.map(|(name, value)| Fact::new(format!("background.{name}"), value))
}

/// How the device of the data flushes.
pub(super) fn of_flushes(probe: &FlushProbe) -> [Fact; 3] {
    let word = |is_so| if is_so { "yes" } else { "no" };
    [
        Fact::new("flush.fastest_ns", probe.fastest.0.to_string()),
        Fact::new("flush.counted", word(probe.is_counted)),
        Fact::new("flush.durable_writes", word(probe.writes_durably)),
    ]
}

/// The operations that each of several instances did in the run phase; nothing of one instance.
pub(super) fn of_instances(done_by_part: &[u64]) -> Vec<Fact> {
    let ops: Vec<String> = done_by_part.iter().map(u64::to_string).collect();
    if ops.is_empty() { Vec::new() } else { vec![Fact::new("instances.ops", ops.join(" "))] }
}

/// The kinds of operation as the run file declares them.
pub(crate) fn kind_defs(kinds: &[OpKindDef]) -> Vec<KindDef> {
    let defs = kinds.iter().map(|kind| {
        let (queries_per_op, rows_per_op) = (kind.queries, kind.rows);
        KindDef { queries_per_op, rows_per_op, ..KindDef::new(kind.name, kind.class) }
    });
    defs.collect()
}

/// What workload and engine declare of `trial` beyond what facts state.
pub(crate) fn declared_traits(trial: &Trial, def: &EngineDef) -> PointTraits {
    let engine = EngineTraits::from_params(def.entry.params, &trial.target.params);
    let engine = EngineTraits { scripted: def.scripted, ..engine };
    let work = (engine::workload_of(trial).traits)(&trial.workload.params);
    let (defaults, phrases) = (catalogue::default_params(trial), catalogue::phrases(trial));
    PointTraits { engine, work, defaults, phrases, ..PointTraits::default() }
}

/// A trial without an engine: what is declared of it, by which its point has the name that it would have had.
pub(crate) fn unopened(assignment: &Assignment) -> OpenedTrial {
    let trial = &assignment.trial;
    let mut traits = declared_traits(trial, engine::engine_of(trial));
    traits.engine.process = engine::process_of(&trial.target.engine);
    OpenedTrial {
        facts: place_in_sequence(assignment).into_iter().collect(),
        traits,
        params: catalogue::declared_params(trial),
        kinds: Vec::new(),
        sources: Vec::new(),
    }
}
