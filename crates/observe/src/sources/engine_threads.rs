//! `engine-threads`: where the time of the engine's threads goes.
//!
//! In: the engine's processes and their descendants. Out: nanoseconds in each state, summed over threads. Limits: as in
//! [`crate::threads`]. An engine without processes of its own works on plimsoll's clients, whose time is in `client-threads`.

use crate::proc_file::read_once;
use crate::threads::{ThreadGroup, open_watch};
use crate::{CounterSource, EnginePids, SamplingSubject, SourceEntry, SourceMissing};
use model::ThreadOf;
use std::path::Path;

/// Its entry in [`super::SOURCES`].
pub const ENTRY: SourceEntry =
    SourceEntry { name: "engine-threads", help: "what the engine's threads do and what they wait for", open };

fn open(subject: &SamplingSubject) -> Result<Box<dyn CounterSource>, SourceMissing> {
    match &subject.engine_pids {
        EnginePids::Elsewhere => Err(SourceMissing::Elsewhere),
        EnginePids::Own => Err(SourceMissing::InClients),
        EnginePids::Processes(pids) => {
            open_watch(&ENTRY, &name_of(pids), ThreadOf::Engine, ThreadGroup::Processes(pids.clone()))
        }
    }
}

/// The name of the first of the processes.
fn name_of(pids: &[u32]) -> String {
    pids.first()
        .and_then(|pid| {
            Some(read_once(Path::new(&format!("/proc/{pid}/comm")), &mut Vec::new()).ok()?.trim().to_owned())
        })
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn subject(engine_pids: EnginePids) -> SamplingSubject {
        SamplingSubject { engine_pids, device: None, server: model::ServerWay::Inside }
    }

    #[test]
    fn an_engine_without_processes_that_are_seen_has_no_threads_of_its_own() {
        let missing = |pids| open(&subject(pids)).err().unwrap();
        assert!(matches!(missing(EnginePids::Own), SourceMissing::InClients));
        assert!(matches!(missing(EnginePids::Elsewhere), SourceMissing::Elsewhere));
        assert!(matches!(missing(EnginePids::Processes(vec![u32::MAX])), SourceMissing::NoProcess { .. }));
    }

    #[test]
    fn a_process_that_computes_is_on_a_cpu_or_in_its_queue() {
        let mut child = std::process::Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap();
        let mut source = open(&subject(EnginePids::Processes(vec![child.id()]))).unwrap();
        let busy = |values: &[Option<f64>]| values[0].unwrap() + values[1].unwrap();
        let first = source.read();
        // As long as the kernel takes to give it some time, however busy the machine is.
        let mut last = first.clone();
        while busy(&last) - busy(&first) < 50e6 {
            std::thread::yield_now();
            last = source.read();
        }
        child.kill().unwrap();
        child.wait().unwrap();
        let waits: f64 = last[2..7].iter().flatten().sum();
        assert!(waits < busy(&last) / 2.0, "{last:?}");
    }
}
