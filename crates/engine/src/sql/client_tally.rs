//! What the clients of an SQL server did in addition to their operations: retries, new connections, lost ones.
//!
//! In: clients count. Out: a counter source, and facts of a point. Limits: the counts are of all clients of an instance on this host; those
//! of one of several endpoints are in [`super::endpoints`].

use crate::counters::{CounterSpec, ServerSource, in_process_source, own};
use model::{CounterKind, CounterRole, CounterSource, Fact};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// What the clients of an instance did in addition to their operations.
#[derive(Default)]
pub struct ClientTally {
    /// Operations that were retried.
    pub retried: AtomicU64,
    pub reconnected: AtomicU64,
    /// Operations that failed for a lost connection.
    pub lost: AtomicU64,
    /// Retries and reconnects that facts have reported.
    reported: [AtomicU64; 2],
}

impl ClientTally {
    /// Whether any connection was lost.
    pub fn has_lost(&self) -> bool {
        self.lost.load(Relaxed) > 0
    }

    /// The counts since they were last asked for.
    pub fn take_facts(&self) -> Vec<Fact> {
        facts_since([self.retried.load(Relaxed), self.reconnected.load(Relaxed)], &self.reported)
    }

    /// In the order of [`RETRIES`], [`RECONNECTS`], [`LOST`].
    pub fn read_counters(&self) -> [Option<f64>; 3] {
        [&self.retried, &self.reconnected, &self.lost].map(|count| Some(count.load(Relaxed) as f64))
    }
}

/// Facts with how much retries and reconnects have grown since `reported`, which is brought up to date.
pub fn facts_since(counts: [u64; 2], reported: &[AtomicU64; 2]) -> Vec<Fact> {
    let all = ["client.retries", "client.reconnects"].into_iter().zip(counts).zip(reported);
    let facts = all.map(|((name, count), reported)| {
        let before = reported.swap(count, Relaxed);
        Fact::new(name, count.saturating_sub(before).to_string())
    });
    facts.collect()
}

/// Operations that clients tried again.
pub const RETRIES: CounterSpec =
    own(CounterKind::Counter, "retries", "ops", "operations that were tried again after a conflict")
        .read_as(CounterRole::Retries);
/// Connections that clients opened in the place of lost ones.
pub const RECONNECTS: CounterSpec = own(
    CounterKind::Counter,
    "reconnects",
    "connections",
    "connections that were opened after one was lost, here or elsewhere",
)
.read_as(CounterRole::EndpointReconnects);
/// Operations that failed with their connection.
pub const LOST: CounterSpec =
    own(CounterKind::Counter, "lost", "ops", "operations that failed because the connection was lost");

/// What clients count if the server has one endpoint.
pub static CLIENTS: ServerSource = ServerSource {
    name: "clients",
    help: "what the clients did in addition to their operations: retries, reconnects, lost operations (SQL servers)",
    counters: &[RETRIES, RECONNECTS, LOST],
};

/// The source of what `tally` counts.
pub fn counter_source(tally: &Arc<ClientTally>) -> Box<dyn CounterSource> {
    let tally = tally.clone();
    in_process_source(&CLIENTS, move || tally.read_counters().to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_have_what_was_counted_since_the_last_and_counters_go_on() {
        let tally = Arc::new(ClientTally::default());
        let mut source = counter_source(&tally);
        tally.retried.fetch_add(3, Relaxed);
        assert_eq!(tally.take_facts(), [Fact::new("client.retries", "3"), Fact::new("client.reconnects", "0")]);
        for (count, more) in [(&tally.retried, 2), (&tally.reconnected, 7), (&tally.lost, 11)] {
            count.fetch_add(more, Relaxed);
        }
        assert_eq!(tally.take_facts(), [Fact::new("client.retries", "2"), Fact::new("client.reconnects", "7")]);
        let names: Vec<_> = source.describe().counters.into_iter().map(|counter| counter.name).collect();
        assert_eq!(names, ["retries", "reconnects", "lost"]);
        assert_eq!(source.read(), [Some(5.0), Some(7.0), Some(11.0)]);
    }
}
