//! Everything that a plan may name, gathered from the slices.
//!
//! In: the slices of engines, workloads and distributions. Out: the catalogue that plans are checked against.
//! Limits: none.

use model::{Catalogue, Params};

/// All engines, workloads and distributions of this binary.
pub fn all() -> Catalogue {
    Catalogue {
        engines: target::ENGINES.iter().map(|def| def.entry).collect(),
        workloads: workload::WORKLOADS.iter().map(|def| def.entry).collect(),
        distributions: workload::dist::DISTRIBUTIONS.iter().map(|def| def.entry).collect(),
        run_ops,
    }
}

fn run_ops(workload: &str, params: &Params) -> Option<u64> {
    workload::find(workload)?.run_ops(params)
}
