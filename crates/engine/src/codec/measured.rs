//! What is found of a point besides the times of its ops: sizes, the time until the file was on disk, CPU time, reads of the source.
//!
//! In: a driver's figures. Out: facts. Limits: what was not measured is no fact.

use host::kernel_threads::KernelThreadTimes;
use host::privileged::volume::VolumeDaemon;
use model::Fact;
use rustix::time::{ClockId, clock_gettime};
use std::fs;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Shared between the client, which measures, and the instance, which reports.
#[derive(Clone, Default)]
pub(super) struct SharedFigures(Arc<Mutex<Figures>>);

impl SharedFigures {
    pub fn change(&self, change: impl FnOnce(&mut Figures)) {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Takes them away; those of the next point begin with none.
    pub fn take(&self) -> Figures {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// What was found of one file and one codec.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Figures {
    /// The length of the file.
    pub input_bytes: Option<u64>,
    /// The size of what became of it, read after it was synced.
    pub output_bytes: Option<u64>,
    /// From the first byte read until all was on disk.
    pub durable: Option<Spent>,
    /// From the first byte of the result read until all was back.
    pub brought_back: Option<Spent>,
    /// Bytes of the source that did not come from memory.
    pub source_read_bytes: Option<u64>,
}

/// What a whole file took.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Spent {
    pub elapsed: Duration,
    /// CPU time of this process.
    pub own_cpu: Duration,
    /// CPU time of the kernel's threads.
    pub kernel_cpu: Duration,
    /// CPU time of the process that is the file system, if one is.
    pub daemon_cpu: Option<Duration>,
}

impl Figures {
    /// As the run file keeps them.
    pub fn facts(&self) -> Vec<Fact> {
        let bytes = [
            ("compress.input_bytes", self.input_bytes),
            ("compress.output_bytes", self.output_bytes),
            ("compress.source_read_bytes", self.source_read_bytes),
        ];
        let spent = |spent: Option<Spent>, names: [&'static str; 4]| {
            spent.into_iter().flat_map(move |spent| {
                let times = [Some(spent.elapsed), Some(spent.own_cpu), Some(spent.kernel_cpu), spent.daemon_cpu];
                let there = names.into_iter().zip(times).filter_map(|(name, time)| Some((name, time?.as_secs_f64())));
                there.map(|(name, s)| Fact::new(name, format!("{s:.6}"))).collect::<Vec<_>>()
            })
        };
        let bytes = bytes.into_iter().filter_map(|(name, value)| Some(Fact::new(name, value?.to_string())));
        let durable = ["compress.durable_s", "compress.own_cpu_s", "compress.kernel_cpu_s", "compress.daemon_cpu_s"];
        let back = ["decompress.seconds", "decompress.own_cpu_s", "decompress.kernel_cpu_s", "decompress.daemon_cpu_s"];
        bytes.chain(spent(self.durable, durable)).chain(spent(self.brought_back, back)).collect()
    }
}

/// The CPU time and the reads at one moment.
pub(super) struct Reading {
    own_cpu: Duration,
    kernel: KernelThreadTimes,
    daemon_cpu: Option<Duration>,
    read_bytes: Option<u64>,
}

impl Reading {
    /// Now, and of the thread that asks; with the process that is the file system, if one is.
    pub fn take(daemon: Option<&VolumeDaemon>) -> Reading {
        let own = clock_gettime(ClockId::ProcessCPUTime);
        let own_cpu = Duration::new(own.tv_sec as u64, own.tv_nsec as u32);
        let daemon_cpu = daemon.and_then(VolumeDaemon::cpu_time);
        Reading { own_cpu, kernel: KernelThreadTimes::read(), daemon_cpu, read_bytes: read_bytes_of_thread() }
    }

    /// What was spent between `before` and this, in `elapsed`.
    pub fn spent_since(&self, before: &Reading, elapsed: Duration) -> Spent {
        let own_cpu = self.own_cpu.saturating_sub(before.own_cpu);
        let of_daemon = self.daemon_cpu.zip(before.daemon_cpu);
        let daemon_cpu = of_daemon.map(|(after, before)| after.saturating_sub(before));
        Spent { elapsed, own_cpu, kernel_cpu: self.kernel.since(&before.kernel), daemon_cpu }
    }

    /// Bytes that this thread read from a disk since `before`.
    pub fn read_since(&self, before: &Reading) -> Option<u64> {
        Some(self.read_bytes?.saturating_sub(before.read_bytes?))
    }
}

/// What this thread has caused to be read from a disk.
fn read_bytes_of_thread() -> Option<u64> {
    let text = fs::read_to_string("/proc/thread-self/io").ok()?;
    text.lines().find_map(|line| line.strip_prefix("read_bytes:")?.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_measured_becomes_facts_and_what_was_not_becomes_none() {
        let spent = Spent { elapsed: Duration::from_millis(1500), own_cpu: Duration::from_secs(1), ..Spent::default() };
        let figures = Figures { input_bytes: Some(7), durable: Some(spent), ..Figures::default() };
        let facts: Vec<String> = figures.facts().iter().map(|fact| format!("{}={}", fact.name, fact.value)).collect();
        let expected = ["compress.input_bytes=7", "compress.durable_s=1.500000", "compress.own_cpu_s=1.000000"];
        assert_eq!(facts[..3], expected);
        assert_eq!(facts[3..], ["compress.kernel_cpu_s=0.000000"], "no process is the file system");
        let by_daemon = Spent { daemon_cpu: Some(Duration::from_secs(2)), ..Spent::default() };
        let facts = Figures { brought_back: Some(by_daemon), ..Figures::default() }.facts();
        assert_eq!(facts.last().unwrap(), &Fact::new("decompress.daemon_cpu_s", "2.000000"));
        assert!(Figures::default().facts().is_empty());
    }

    #[test]
    fn cpu_time_of_this_process_is_counted() {
        let before = Reading::take(None);
        let mut sum = 0u64;
        while Reading::take(None).own_cpu < before.own_cpu + Duration::from_millis(20) {
            sum = std::hint::black_box(sum.wrapping_add(1));
        }
        let spent = Reading::take(None).spent_since(&before, Duration::from_secs(1));
        assert!(spent.own_cpu >= Duration::from_millis(20) && spent.elapsed == Duration::from_secs(1), "{spent:?}");
    }
}
