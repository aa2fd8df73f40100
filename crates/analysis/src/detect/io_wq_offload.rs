//! Finds points in which the kernel handed operations of io_uring to worker threads.
//!
//! In: the facts `uring.*` of the point. Out: a note with what it cost. Limits: how many operations were handed over is not
//! known, and the CPU time is that of the workers that were there at the end. Syncs of files are always handed over, so a
//! point with syncs has no such finding: the workers may be theirs alone.

use super::detector::Detector;
use crate::computed_phase::Measured;
use crate::evidence::PointView;
use crate::finding::machine::OffloadedIo;
use crate::finding::{Code, NextStep};
use crate::{Finding, Severity};

/// The entry in the list of detectors.
pub const DETECTOR: Detector = Detector { code: Code::IoWqOffload, detect };

fn detect(view: &PointView) -> Vec<Finding> {
    let Some(measured) = view.measured else { return Vec::new() };
    let workers = view.point.traits.outcome.io_workers.as_ref().filter(|workers| workers.count > 0);
    let syncs = view.point.traits.work.io.is_some_and(|work| work.syncs);
    workers.filter(|_| !syncs).map(|workers| offloaded(workers, &measured)).into_iter().collect()
}

fn offloaded(seen: &model::IoWorkers, measured: &Measured) -> Finding {
    let detail = OffloadedIo {
        workers: Some(seen.count),
        workers_cpu: seen.cpu.clone(),
        client_cpu_ns_per_op: measured.summary.client.cpu_ns_per_op,
    };
    Finding::new(Severity::Note, detail).next(NextStep::CompareWithSync)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulated::{Simulation, params};
    use model::Fact;
    use model::Value;

    fn with_workers(fsync: &str) -> Simulation {
        Simulation::counts(&[1000; 10]).with(|point| {
            point.trial.workload.name = "file".into();
            point.trial.workload.params = params(&[("fsync", Value::Word(fsync.into()))]);
            let facts = [("uring.punted", "yes"), ("uring.workers", "12"), ("uring.workers_cpu", "3.20 s")];
            point.facts.extend(facts.map(|(name, value)| Fact::new(name, value)));
        })
    }

    #[test]
    fn workers_are_told_with_what_they_cost_and_what_to_compare_with() {
        let found: OffloadedIo = with_workers("none").figures();
        assert_eq!((found.workers, found.workers_cpu.as_deref()), (Some(12), Some("3.20 s")));
        assert_eq!(with_workers("none").finding("io-wq-offload").next, NextStep::CompareWithSync);
    }

    #[test]
    fn syncs_alone_are_not_blamed_and_no_workers_are_no_finding() {
        assert!(with_workers("fdatasync").findings("io-wq-offload").is_empty());
        let none = Simulation::counts(&[1000; 10]).with(|point| point.facts.push(Fact::new("uring.punted", "no")));
        assert!(none.findings("io-wq-offload").is_empty());
    }
}
