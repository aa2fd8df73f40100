//! Everything that a plan may name, collected from the slices.
//!
//! In: the slices of engines, workloads and distributions. Out: the catalogue that plans are checked against.
//! Limits: none.

use model::{Catalogue, Params};
use workload::Reuse;

/// All engines, workloads and distributions of this binary.
pub fn all() -> Catalogue {
    Catalogue {
        engines: engine::ENGINES.iter().map(|def| def.entry).collect(),
        workloads: workload::WORKLOADS.iter().map(|def| def.entry).collect(),
        distributions: workload::distribution::DISTRIBUTIONS.iter().map(|def| def.entry).collect(),
        run_ops,
        shares_data,
        has_step: engine::has_step,
    }
}

fn run_ops(workload: &str, params: &Params) -> Option<u64> {
    workload::find(workload)?.run_ops(params)
}

fn shares_data(workload: &str, params: &Params) -> bool {
    workload::find(workload).is_some_and(|def| (def.data_reuse)(params) == Reuse::Shared)
}
