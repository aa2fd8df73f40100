//! Whether the kernel performs operations of io_uring itself, or hands them to worker threads (io-wq) because they would block.
//!
//! In: the tasks of this process at the end of each client. Out: facts. What is handed over costs a thread switch and the CPU
//! time of a worker, which no client's account shows: sync I/O is then the faster way.
//! Limits: workers leave after 5 s without work, so only operations near the end of the load are seen, and how many there were
//! is not known. The kernel always hands over syncs of files. Workers of other rings of this process are counted as well.

use model::{Fact, Nanos};
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

/// The most workers that were there when a client ended, and their CPU time.
#[derive(Debug, Default)]
pub struct WorkerTally {
    most: AtomicU32,
    cpu_ns: AtomicU64,
}

impl WorkerTally {
    /// Counts the workers that are there now. Not for the hot path: it reads two files for each thread.
    pub fn count_now(&self) {
        let (workers, cpu) = count_workers(Path::new("/proc/self/task"));
        self.most.fetch_max(workers, Relaxed);
        self.cpu_ns.fetch_max(cpu.0, Relaxed);
    }

    /// What a reader of the run wants to know.
    pub fn facts(&self) -> Vec<Fact> {
        let (workers, cpu) = (self.most.load(Relaxed), Nanos(self.cpu_ns.load(Relaxed)));
        let punted = Fact::new("uring.punted", if workers > 0 { "yes" } else { "no" });
        if workers == 0 {
            return vec![punted];
        }
        vec![punted, Fact::new("uring.workers", workers.to_string()), Fact::new("uring.workers_cpu", cpu.to_string())]
    }
}

/// The workers among the tasks in `tasks`, and the CPU time of all of them. A task that ends meanwhile is none.
fn count_workers(tasks: &Path) -> (u32, Nanos) {
    let Ok(entries) = fs::read_dir(tasks) else { return (0, Nanos(0)) };
    let of_workers = entries
        .flatten()
        // The kernel names them `iou-wrk-` and the thread id of the ring's owner.
        .filter(|task| fs::read_to_string(task.path().join("comm")).is_ok_and(|name| name.starts_with("iou-wrk-")));
    of_workers.fold((0, Nanos(0)), |(workers, cpu), task| (workers + 1, Nanos(cpu.0 + cpu_of(&task.path()).0)))
}

/// Time on a CPU: the first number of `schedstat`; 0 if the kernel keeps none.
fn cpu_of(task: &Path) -> Nanos {
    let text = fs::read_to_string(task.join("schedstat")).unwrap_or_default();
    Nanos(text.split_whitespace().next().and_then(|ns| ns.parse().ok()).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workers_are_told_from_other_threads_and_their_cpu_time_is_added_up() {
        let tasks = tempfile::tempdir().unwrap();
        for (task, name, schedstat) in [
            ("71", "client-0\n", "900000 5 1\n"),
            ("72", "iou-wrk-71\n", "1500000 77 12\n"),
            ("73", "iou-wrk-71\n", "500000 77 3\n"),
            ("74", "iou-sqp-71\n", "900000 5 1\n"),
            ("75", "iou-wrk-71\n", ""),
        ] {
            let dir = tasks.path().join(task);
            fs::create_dir(&dir).unwrap();
            fs::write(dir.join("comm"), name).unwrap();
            fs::write(dir.join("schedstat"), schedstat).unwrap();
        }
        assert_eq!(count_workers(tasks.path()), (3, Nanos::from_millis(2)));
        let workers = WorkerTally { most: 3.into(), cpu_ns: 2_000_000.into() };
        let facts: Vec<_> = workers.facts().into_iter().map(|fact| format!("{} {}", fact.name, fact.value)).collect();
        assert_eq!(facts, ["uring.punted yes", "uring.workers 3", "uring.workers_cpu 2.00 ms"]);
    }

    #[test]
    fn without_workers_nothing_was_punted() {
        assert_eq!(count_workers(Path::new("/nonexistent")), (0, Nanos(0)));
        assert_eq!(WorkerTally::default().facts(), [Fact::new("uring.punted", "no")]);
    }
}
