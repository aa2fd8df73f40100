//! Says that the kernel handed operations of io_uring to worker threads.
//!
//! In: the facts `uring.*` of the point. Out: a note with what it cost. Limits: how many operations were handed over is not
//! known, and the CPU time is that of the workers who were there at the end. Syncs of files are always handed over, so where a
//! point has syncs nothing is said: the workers may be theirs alone.

use super::detector::{Detector, Measured, PointView};
use crate::facts::{fact, param};
use crate::text::time;
use crate::{Finding, Severity};
use model::Value;

/// The entry in the list of detectors.
pub const DETECTOR: Detector = Detector {
    code: "punted",
    help: "the kernel handed operations of io_uring to worker threads",
    explain: "An operation that io_uring cannot start without blocking is handed to a worker thread of the kernel (`iou-wrk`), \
              which performs it as a synchronous call. That costs a thread switch to and fro and CPU time that no client's \
              account shows; io = `sync` is then usually faster for the same depth made of clients. The usual reasons are a \
              file system or device that does not support asynchronous I/O (tmpfs, zram, some FUSE and network file \
              systems), writes that extend a file or need space allocated, and O_SYNC. Syncs are always handed over, so \
              points with `fsync` are left out. It describes the way of measuring; the throughput is what it is.",
    detect,
};

fn detect(view: &PointView) -> Vec<Finding> {
    let Some(measured) = view.measured else { return Vec::new() };
    let facts = &view.point.facts;
    let is_punted = fact(facts, "uring.punted") == Some("yes");
    let syncs = matches!(param(view.point, "fsync"), Some(Value::Word(word)) if word != "none");
    match is_punted && !syncs {
        true => vec![punted(view, &measured)],
        false => Vec::new(),
    }
}

fn punted(view: &PointView, measured: &Measured) -> Finding {
    let told = |name: &str| fact(&view.point.facts, name).unwrap_or("not known").to_owned();
    let (workers, cpu) = (told("uring.workers"), told("uring.workers_cpu"));
    let title = format!("io_uring handed operations to kernel workers ({workers} of them, {cpu} of CPU)");
    let known = |ns: Option<f64>| ns.map_or("not known".to_owned(), time);
    let evidence = format!(
        "workers at the end of the load {workers}, their CPU {cpu}, in no client's account; clients {} of CPU per operation",
        known(measured.summary.generator.cpu_ns_per_op)
    );
    let next_step = "compare with io = `sync` and as many clients as there is depth: it is usually faster then";
    DETECTOR.finding(Severity::Note, title, evidence, next_step)
}

#[cfg(test)]
mod tests {
    use crate::simulate::{Simulation, params};
    use model::{Fact, Value};

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
        let finding = with_workers("none").finding("punted");
        assert_eq!(finding.title, "io_uring handed operations to kernel workers (12 of them, 3.20 s of CPU)");
        assert!(finding.next_step.contains("io = `sync`"));
    }

    #[test]
    fn syncs_alone_are_not_blamed_and_no_workers_are_no_finding() {
        assert!(with_workers("fdatasync").findings("punted").is_empty());
        let none = Simulation::counts(&[1000; 10]).with(|point| point.facts.push(Fact::new("uring.punted", "no")));
        assert!(none.findings("punted").is_empty());
    }
}
