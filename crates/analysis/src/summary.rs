//! The numbers of one point: throughput with its interval, percentiles, the worst second, cost per operation.
//!
//! In: the intervals of the run phase and the counter samples that fall into it. Out: a [`Summary`].
//! Limits: a value that could not be measured is `None`, never 0.

use serde::{Deserialize, Serialize};

/// The numbers of one point over its run phase.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Length of the run phase.
    pub seconds: f64,
    /// Operations done.
    pub ops: u64,
    /// Operations failed.
    pub failed: u64,
    /// Arrivals that fell due while every client was busy (open loop).
    pub late: u64,
    /// Arrivals that were never started (open loop).
    pub unserved: u64,
    /// The rate that the schedule offered; `None` in a closed loop.
    pub offered_per_s: Option<f64>,
    /// Operations done per second.
    pub ops_per_s: f64,
    /// Its 95 % confidence interval, with autocorrelation between intervals taken into account; `None` with too few.
    pub ops_per_s_ci95: Option<[f64; 2]>,
    /// Payload per second.
    pub bytes_per_s: f64,
    /// Response times; `None` where no operation was done.
    pub response_ns: Option<Quantiles>,
    /// Service times; `None` where no operation was done.
    pub service_ns: Option<Quantiles>,
    /// The whole second (or interval, where longer) with the fewest operations.
    pub worst: Option<WorstInterval>,
    /// What the generator itself used.
    pub generator: GeneratorCost,
    /// What one operation cost the target.
    pub cost: Cost,
}

/// Mean, percentiles and maximum of a distribution of times, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct Quantiles {
    pub mean: f64,
    pub p50: u64,
    pub p95: u64,
    pub p99: u64,
    pub p999: u64,
    pub max: u64,
}

/// The stretch with the fewest operations.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct WorstInterval {
    /// When it began, in seconds since the run phase began.
    pub at_s: f64,
    /// How long it is.
    pub length_s: f64,
    /// Operations per second in it.
    pub ops_per_s: f64,
}

/// What the generator itself used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct GeneratorCost {
    /// CPU of the client threads per operation, user and kernel. With an embedded engine the engine's part on those threads
    /// cannot be told apart and this is `None`.
    pub cpu_ns_per_op: Option<f64>,
    /// The user part of it.
    pub cpu_user_ns_per_op: Option<f64>,
    /// CPU of the client threads as a share of one core, summed over threads (2.0 = two cores busy).
    pub cores_used: Option<f64>,
    /// Mean lateness of clients that were waiting for an arrival (open loop).
    pub lag_mean_ns: Option<f64>,
    /// The worst of it.
    pub lag_max_ns: Option<u64>,
}

/// What one operation cost the target. `None` where no source told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Cost {
    /// Bytes that the engine's processes caused to be read from the block layer, per operation.
    pub read_bytes_per_op: Option<f64>,
    /// Bytes that the engine's processes caused to be written to the block layer, per operation.
    pub written_bytes_per_op: Option<f64>,
    /// CPU of the engine's processes (or, embedded, of the whole process), per operation.
    pub engine_cpu_ns_per_op: Option<f64>,
    /// Context switches of the engine's processes (or, embedded, of the whole process), per operation.
    pub context_switches_per_op: Option<f64>,
}
