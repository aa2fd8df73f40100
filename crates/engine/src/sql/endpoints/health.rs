//! Which endpoints can be used, and since when one cannot: shared by all clients of an instance.
//!
//! In: clients report an endpoint that they lost, a watch tries it until it answers again. Out: the endpoint to use next, and how long each
//! was down. Limits: an endpoint is down from the first lost connection that cannot be opened again, so one that freezes is down only
//! when a client has given up waiting for it; the end is known to some tenths of a second.

use crate::counters::{CounterSpec, ServerSource, in_process_source_of, own};
use crate::sql::client_tally::{ClientTally, LOST, RECONNECTS, RETRIES, facts_since};
use model::{CounterKind, CounterRole, CounterSource, Fact};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock, Weak};
use std::time::{Duration, Instant};

/// How often an endpoint that is down is tried.
const TRY_EVERY: Duration = Duration::from_millis(100);
/// How long an endpoint has to answer.
pub const PROBE_PATIENCE: Duration = Duration::from_secs(1);

/// Shows whether an endpoint performs statements.
pub type Probe = Box<dyn Fn() -> bool + Send + Sync>;

/// The endpoints of an instance as its clients see them.
pub struct EndpointHealth {
    began: Instant,
    endpoints: Vec<EndpointState>,
    /// Whether each performs statements, asked over a connection of its own.
    probes: OnceLock<Vec<Probe>>,
    /// Retries and reconnects that facts have reported.
    reported: [AtomicU64; 2],
}

struct EndpointState {
    name: String,
    /// When it was lost, in nanoseconds since the beginning; 0 while it is up.
    lost_at: AtomicU64,
    /// For how long it was down before that.
    down_before: AtomicU64,
    tally: Arc<ClientTally>,
}

impl EndpointHealth {
    /// The endpoints of these names, all of them up.
    pub fn new(names: &[String]) -> EndpointHealth {
        let state = |name: &String| EndpointState {
            name: name.clone(),
            lost_at: AtomicU64::new(0),
            down_before: AtomicU64::new(0),
            tally: Arc::default(),
        };
        EndpointHealth {
            began: Instant::now(),
            endpoints: names.iter().map(state).collect(),
            probes: OnceLock::new(),
            reported: Default::default(),
        }
    }

    /// Whether clients may use endpoint number `nth`.
    #[inline]
    pub fn is_up(&self, nth: usize) -> bool {
        self.endpoints[nth].lost_at.load(Relaxed) == 0
    }

    /// The endpoint to use by a client that prefers `preferred`: that one, or the next that is up; that one as well if none is.
    #[inline]
    pub fn choose(&self, preferred: usize) -> usize {
        if self.is_up(preferred) { preferred } else { self.next_after(preferred) }
    }

    #[cold]
    fn next_after(&self, preferred: usize) -> usize {
        let number = self.endpoints.len();
        let others = (1..number).map(|step| (preferred + step) % number);
        others.into_iter().find(|nth| self.is_up(*nth)).unwrap_or(preferred)
    }

    /// Whether endpoint number `nth` performs statements now: a node that has left its cluster takes connections and performs none. `None` if
    /// nobody can tell.
    pub fn answers(&self, nth: usize) -> Option<bool> {
        self.probes.get()?.get(nth).map(|probe| probe())
    }

    /// A client has lost endpoint number `nth` and cannot connect to it again.
    pub fn report_lost(&self, nth: usize) {
        // Only the first of them counts.
        let _ = self.endpoints[nth].lost_at.compare_exchange(0, self.now_ns(), Relaxed, Relaxed);
    }

    /// Endpoint number `nth` answers again.
    pub fn report_back(&self, nth: usize) {
        let state = &self.endpoints[nth];
        let lost_at = state.lost_at.swap(0, Relaxed);
        if lost_at > 0 {
            state.down_before.fetch_add(self.now_ns().saturating_sub(lost_at), Relaxed);
        }
    }

    /// For how long endpoint number `nth` was down, up to now.
    fn down_ns(&self, nth: usize) -> u64 {
        let state = &self.endpoints[nth];
        let now_down = match state.lost_at.load(Relaxed) {
            0 => 0,
            lost_at => self.now_ns().saturating_sub(lost_at),
        };
        state.down_before.load(Relaxed) + now_down
    }

    fn now_ns(&self) -> u64 {
        // Never 0, which means that an endpoint is up.
        self.began.elapsed().as_nanos() as u64 + 1
    }

    /// What clients did on endpoint number `nth` in addition to their operations.
    pub fn tally(&self, nth: usize) -> &Arc<ClientTally> {
        &self.endpoints[nth].tally
    }

    /// Whether any client has lost a connection.
    pub fn has_lost(&self) -> bool {
        self.endpoints.iter().any(|state| state.tally.has_lost())
    }

    /// Retries and reconnects of all endpoints since they were last asked for.
    pub fn take_facts(&self) -> Vec<Fact> {
        let sum = |count: fn(&ClientTally) -> &AtomicU64| -> u64 {
            self.endpoints.iter().map(|state| count(&state.tally).load(Relaxed)).sum()
        };
        facts_since([sum(|tally| &tally.retried), sum(|tally| &tally.reconnected)], &self.reported)
    }

    /// The counter source of each endpoint.
    pub fn counter_sources(self: &Arc<Self>) -> Vec<Box<dyn CounterSource>> {
        let sources = (0..self.endpoints.len()).map(|nth| {
            let health = self.clone();
            in_process_source_of(&ENDPOINT, &self.endpoints[nth].name, move || health.read_counters(nth))
        });
        sources.collect()
    }

    /// In the order of [`ENDPOINT`].
    fn read_counters(&self, nth: usize) -> Vec<Option<f64>> {
        let [retries, reconnects, lost] = self.endpoints[nth].tally.read_counters();
        let up = if self.is_up(nth) { 1.0 } else { 0.0 };
        vec![Some(up), Some(self.down_ns(nth) as f64), retries, reconnects, lost]
    }
}

/// What clients see of one of several endpoints.
pub static ENDPOINT: ServerSource = ServerSource {
    name: "endpoint",
    help: "one of several endpoints as the clients see it: whether it is up, retries, reconnects, lost operations (SQL servers)",
    counters: &[
        own(CounterKind::Gauge, "up", "count", "1 if clients can use the endpoint, else 0"),
        read_down(),
        RETRIES,
        RECONNECTS,
        LOST,
    ],
};

const fn read_down() -> CounterSpec {
    own(CounterKind::Counter, "down_ns", "ns", "time in which clients could not use the endpoint")
        .read_as(CounterRole::EndpointDown)
}

/// Tries the endpoints that are down, on a thread of its own, until the instance is gone. Each of `probes` shows whether its endpoint
/// answers.
pub fn start_watch(health: &Arc<EndpointHealth>, probes: Vec<Probe>) {
    health.probes.get_or_init(|| probes);
    let health = Arc::downgrade(health);
    let watch = std::thread::Builder::new().name("endpoints".into()).spawn(move || try_until_gone(&health));
    // Without it an endpoint that was lost stays so, which the counters show.
    drop(watch);
}

fn try_until_gone(health: &Weak<EndpointHealth>) {
    loop {
        std::thread::sleep(TRY_EVERY);
        let Some(health) = health.upgrade() else { return };
        for nth in 0..health.endpoints.len() {
            if !health.is_up(nth) && health.answers(nth) == Some(true) {
                health.report_back(nth);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn three() -> EndpointHealth {
        EndpointHealth::new(&["a", "b", "c"].map(str::to_owned))
    }

    #[test]
    fn clients_of_an_endpoint_that_is_down_use_the_next_one_until_it_is_back() {
        let health = three();
        health.report_lost(1);
        assert_eq!([0, 1, 2].map(|nth| health.choose(nth)), [0, 2, 2]);
        health.report_lost(2);
        assert_eq!([0, 1, 2].map(|nth| health.choose(nth)), [0, 0, 0]);
        health.report_lost(0);
        assert_eq!([0, 1, 2].map(|nth| health.choose(nth)), [0, 1, 2], "none is up");
        health.report_back(1);
        assert_eq!([0, 1, 2].map(|nth| health.choose(nth)), [1, 1, 1]);
    }

    #[test]
    fn the_time_down_grows_while_an_endpoint_is_down_and_stays_when_it_is_back() {
        let health = three();
        assert_eq!(health.read_counters(1)[..2], [Some(1.0), Some(0.0)]);
        health.report_lost(1);
        health.report_lost(1);
        let first = health.down_ns(1);
        while health.down_ns(1) == first {}
        health.report_back(1);
        let after = health.down_ns(1);
        assert!(after > first && health.read_counters(1)[0] == Some(1.0));
        health.report_back(1);
        assert_eq!(health.down_ns(1), after);
    }

    #[test]
    fn facts_have_what_happened_since_they_were_last_taken() {
        let health = three();
        health.tally(0).retried.fetch_add(2, Relaxed);
        health.tally(2).retried.fetch_add(3, Relaxed);
        assert_eq!(health.take_facts()[0], Fact::new("client.retries", "5"));
        assert_eq!(health.take_facts()[0], Fact::new("client.retries", "0"));
        assert_eq!(health.read_counters(2)[2], Some(3.0), "the counter goes on");
    }
}
