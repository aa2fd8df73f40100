//! Questions about a point as a whole: in which process the engine works, and how many operations can be in flight.
//!
//! In: the traits that a point declares. Out: typed answers. Limits: a trait that is missing is not guessed: the answer is then
//! unknown.

use model::{Machine, PointData};

pub use model::EngineProcess;

/// Whose process the work of the point's engine was done in.
pub fn engine_process(point: &PointData) -> EngineProcess {
    point.traits.engine.process
}

/// The number of CPUs that plimsoll may use: affinity and group limits may leave fewer than the machine has.
pub fn cpu_count(machine: &Machine) -> Option<f64> {
    machine.cpus.map(|cpus| cpus as f64)
}

/// How many operations can be in flight at once.
pub fn slots(point: &PointData) -> u64 {
    u64::from(point.trial.all_clients()) * u64::from(point.trial.load.depth)
}

/// Whether its rate has a rhythm that a disturbance can break. A point that compresses a file has none: its first ops take the whole file
/// each, for seconds, and those on single blocks follow in microseconds.
pub fn has_rhythm(point: &PointData) -> bool {
    point.traits.outcome.compression.is_none()
}

/// Whether the target is the scripted engine, which shows nothing but the generator.
pub fn is_scripted(point: &PointData) -> bool {
    point.traits.engine.scripted
}

/// Whether the clients read and wrote files past the page cache.
pub fn is_direct_file(point: &PointData) -> bool {
    point.traits.work.io.is_some() && point.traits.engine.direct_io == Some(true)
}
