//! What the target and the machine said of themselves, as far as the analysis needs it.
//!
//! In: facts by name. Out: typed answers. Limits: a fact that is missing is not guessed: the answer is then unknown.

use model::{Fact, PointData, Value};

/// Whose process the engine's work is done in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EngineProcess {
    /// Processes of the engine's own.
    Own,
    /// The client threads and further threads of plimsoll's process.
    Embedded,
    /// There is no engine: the client threads do the I/O themselves.
    None,
    /// On a server that somebody else runs: its processes are not seen, and may be on another machine.
    Elsewhere,
    /// The target did not say.
    Unknown,
}

/// Whose process the work of the point's engine was done in.
pub fn engine_process(point: &PointData) -> EngineProcess {
    match fact(&point.facts, "engine.process") {
        Some("own") => EngineProcess::Own,
        Some("embedded") => EngineProcess::Embedded,
        Some("none") => EngineProcess::None,
        Some("elsewhere") => EngineProcess::Elsewhere,
        _ => EngineProcess::Unknown,
    }
}

/// The value of the fact `name`.
pub fn fact<'a>(facts: &'a [Fact], name: &str) -> Option<&'a str> {
    facts.iter().find(|fact| fact.name == name).map(|fact| fact.value.as_str())
}

/// The number of CPUs that plimsoll may use: affinity and group limits may leave fewer than the machine has.
pub fn cpu_count(environment: &[Fact]) -> Option<f64> {
    fact(environment, "cpu.usable")
        .or_else(|| fact(environment, "cpu.count"))?
        .trim()
        .parse()
        .ok()
        .filter(|count| *count >= 1.0)
}

/// The parameter `name` of the point's workload or else of its engine, where either has one.
pub fn param<'a>(point: &'a PointData, name: &str) -> Option<&'a Value> {
    let workload = point.trial.workload.params.0.get(name);
    workload.or_else(|| point.trial.target.params.0.get(name))
}

/// How many operations can be under way at once.
pub fn slots(point: &PointData) -> u64 {
    u64::from(point.trial.load.clients) * u64::from(point.trial.load.depth)
}

/// Whether the target is the scripted engine, of which nothing but the generator can be learnt.
pub fn is_scripted(point: &PointData) -> bool {
    point.trial.target.engine == "null"
}
