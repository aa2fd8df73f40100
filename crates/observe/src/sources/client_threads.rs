//! `client-threads`: where the time of plimsoll's client threads goes.
//!
//! In: the threads of this process that perform ops. Out: nanoseconds in each state, summed over threads. Limits: as in
//! [`crate::threads`]; an embedded engine works on these threads, and its time cannot be separated.

use crate::threads::{ThreadGroup, open_watch};
use crate::{CounterSource, SamplingSubject, SourceEntry, SourceMissing};
use model::ThreadOf;

/// Its entry in [`super::SOURCES`].
pub const ENTRY: SourceEntry =
    SourceEntry { name: "client-threads", help: "what plimsoll's clients do and what they wait for", open };

fn open(_subject: &SamplingSubject) -> Result<Box<dyn CounterSource>, SourceMissing> {
    open_watch(&ENTRY, "plimsoll", ThreadOf::Client, ThreadGroup::Clients)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::EnginePids;
    use std::io::Read;

    #[test]
    fn a_client_that_waits_for_an_answer_waits_for_the_engine() {
        let (mut ours, theirs) = std::os::unix::net::UnixStream::pair().unwrap();
        let client = move || ours.read(&mut [0]);
        let client = std::thread::Builder::new().name("client-1".into()).spawn(client).unwrap();
        let mut source =
            open(&SamplingSubject { engine_pids: EnginePids::Own, device: None, server: model::ServerWay::Inside })
                .unwrap();
        let names: Vec<String> = source.describe().counters.into_iter().map(|counter| counter.name).collect();
        let at = names.iter().position(|name| name == "engine_ns").unwrap();
        let mut values = source.read();
        while values[at].unwrap() < 100e6 {
            std::thread::yield_now();
            values = source.read();
        }
        drop(theirs);
        client.join().unwrap().unwrap();
        let others: f64 = values[..7].iter().flatten().sum::<f64>() - values[at].unwrap();
        // Other tests have clients, too: they compute, and wait for this one.
        assert!(values[at].unwrap() > others, "{values:?}");
    }
}
