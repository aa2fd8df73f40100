//! `kernel-threads`: CPU time of the kernel's own threads: they write back, keep journals, compress.
//!
//! In: [`KernelThreadTimes`]. Out: nanoseconds since the source was opened. Limits: as there. The source is left out on a machine with more
//! than 1,000 of them, and in a container.

use crate::proc_file::counter;
use crate::{CounterSource, SamplingSubject, SourceEntry, SourceMissing};
use host::kernel_threads::KernelThreadTimes;
use model::{CounterRole, SourceDef};
use std::time::Duration;

/// Its entry in [`super::SOURCES`].
pub const ENTRY: SourceEntry =
    SourceEntry { name: "kernel-threads", help: "CPU time of the kernel's own threads", open };

/// To read more would take more than 1 % of a CPU at a reading each second.
const THREADS_MAX: usize = 1_000;

fn open(_subject: &SamplingSubject) -> Result<Box<dyn CounterSource>, SourceMissing> {
    let known = KernelThreadTimes::read();
    match known.threads() {
        1..=THREADS_MAX => Ok(Box::new(KernelThreads { known, spent: Duration::ZERO })),
        _ => Err(SourceMissing::NothingToCount),
    }
}

struct KernelThreads {
    /// The time of each thread at the last reading.
    known: KernelThreadTimes,
    spent: Duration,
}

impl CounterSource for KernelThreads {
    fn describe(&self) -> SourceDef {
        let counters = vec![
            counter("cpu_ns", "ns", "CPU time of the kernel's own threads").read_as(CounterRole::KernelThreadsCpu),
        ];
        SourceDef { name: ENTRY.name.into(), subject: "machine".into(), counters }
    }

    fn read(&mut self) -> Vec<Option<f64>> {
        let times = KernelThreadTimes::read();
        if times.threads() == 0 {
            return vec![None];
        }
        self.spent += times.since(&self.known);
        self.known = times;
        vec![Some(self.spent.as_nanos() as f64)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_counter_of_this_machine_never_goes_down() {
        let subject =
            SamplingSubject { engine_pids: crate::EnginePids::Own, device: None, server: model::ServerWay::Inside };
        // In a container there is nothing to count.
        let Ok(mut source) = open(&subject) else { return };
        let (first, second) = (source.read()[0], source.read()[0]);
        assert!(first.is_some() && first <= second, "{first:?} {second:?}");
    }
}
