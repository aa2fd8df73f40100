//! `postgres-sessions`: what PostgreSQL's sessions do by their own account, from `pg_stat_activity`.
//!
//! In: an address. Out: nanoseconds in each state, summed over the sessions that work in the database, which only grow. They are asked for
//! about ten times a second, on a connection and a thread of their own, so that a server that hangs holds up no other counter.
//!
//! A session without a wait event that is not idle counts as on a CPU, whether it has one or waits for one; one that was woken and waits for
//! a CPU is still in the wait that has ended. The events are in the
//! [documentation](https://www.postgresql.org/docs/current/monitoring-stats.html#WAIT-EVENT-TABLE): those of type IO whose names end in
//! `Read` are reads, the others of it writes and syncs; Lock, LWLock and BufferPin are locks, and among them is the wait for the session
//! that writes the log for a group of commits.
//!
//! Limits: plimsoll's own questions are left out, and sessions that have been idle for two seconds. The state of a session that is
//! shorter than the time between two questions is seen by chance, as often as it is long.

use super::client::PostgresAddress;
use super::wire::PostgresWire;
use crate::counters::{CounterSpec, PATIENCE, ServerSource, grows, in_process_source};
use crate::sql::admin_connection::AdminConnection;
use model::{CounterRole, CounterSource, ThreadOf, ThreadState};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The account of sessions, in the order of [`ThreadState::ALL`].
pub static SESSIONS: ServerSource = ServerSource {
    name: "postgres-sessions",
    help: "what PostgreSQL's sessions do and wait for, by pg_stat_activity",
    counters: &[
        in_state("cpu_ns", "working, on a CPU or waiting for one", ThreadState::Cpu),
        in_state("runnable_ns", "always 0: PostgreSQL cannot tell it from working", ThreadState::Runnable),
        in_state("read_ns", "waiting for reads of files", ThreadState::Read),
        in_state("sync_ns", "waiting for writes and syncs of files", ThreadState::Sync),
        in_state(
            "lock_ns",
            "waiting for row locks, internal locks, or the session that writes the log",
            ThreadState::Lock,
        ),
        in_state("client_ns", "waiting for the client", ThreadState::Client),
        in_state("other_ns", "waiting for something else", ThreadState::Other),
    ],
};

const fn in_state(name: &'static str, help: &'static str, state: ThreadState) -> CounterSpec {
    grows(name, name, "ns", help).read_as(CounterRole::ThreadTime(ThreadOf::Session, state))
}

/// The name of plimsoll's connections that are no clients.
const WATCHER: &str = "plimsoll counters";

/// The time between two questions.
const GAP: Duration = Duration::from_millis(100);
/// Of a longer silence no more is counted: what the sessions did in it was not seen.
const GAP_COUNTED_MAX: Duration = Duration::from_millis(300);

/// A row for each kind of wait, with the number of sessions in it.
const QUESTION: &str = "SELECT COALESCE(wait_event_type, ''), COALESCE(wait_event, ''), count(*) FROM pg_stat_activity \
                        WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid() \
                        AND application_name <> 'plimsoll counters' \
                        AND (state <> 'idle' OR state_change > clock_timestamp() - interval '2 seconds') GROUP BY 1, 2";

type InStates = [u64; ThreadState::ALL.len()];

/// Asks the server at `address` from now on, until the source is dropped.
pub fn sessions_source(address: &PostgresAddress) -> Box<dyn CounterSource> {
    let (reader, stopped) = SessionReader::new();
    let (asked, address) = (reader.seen.clone(), address.clone());
    // Without the thread nothing is ever seen, which is a gap.
    let _ = std::thread::Builder::new()
        .name("session-watch".into())
        .stack_size(512 << 10)
        .spawn(move || asked.ask_until_stopped(&address, &stopped));
    in_process_source(&SESSIONS, move || reader.read())
}

/// What was seen; `None` until the server has answered.
#[derive(Default)]
struct SeenSessions(Mutex<Option<InStates>>);

impl SeenSessions {
    fn lock_states(&self) -> MutexGuard<'_, Option<InStates>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn ask_until_stopped(&self, address: &PostgresAddress, stopped: &Receiver<()>) {
        let mut wire: Option<PostgresWire> = None;
        let mut asked_at = Instant::now();
        loop {
            wire = wire.or_else(|| connect(address));
            let rows = wire.as_mut().and_then(|wire| wire.query_rows(QUESTION).ok());
            let since = asked_at.elapsed().min(GAP_COUNTED_MAX);
            asked_at = Instant::now();
            match rows {
                Some(rows) => self.add_rows(&rows, since),
                // What is left of the answer may still be in the connection.
                None => wire = None,
            }
            if stopped.recv_timeout(GAP) != Err(RecvTimeoutError::Timeout) {
                return;
            }
        }
    }

    fn add_rows(&self, rows: &[Vec<Option<String>>], since: Duration) {
        let mut states = self.lock_states();
        let all = states.get_or_insert_default();
        for (kind, sessions) in rows.iter().filter_map(|row| counted(row)) {
            all[kind as usize] += sessions * since.as_nanos() as u64;
        }
    }
}

/// Reads what the thread has seen, and ends it.
struct SessionReader {
    seen: Arc<SeenSessions>,
    /// That it is dropped asks the thread to stop.
    _stop: Sender<()>,
}

impl SessionReader {
    /// A reader, and what the thread hears of its end.
    fn new() -> (SessionReader, Receiver<()>) {
        let (stop, stopped) = channel();
        (SessionReader { seen: Arc::default(), _stop: stop }, stopped)
    }

    fn read(&self) -> Vec<Option<f64>> {
        let seen = *self.seen.lock_states();
        (0..ThreadState::ALL.len()).map(|state| seen.map(|ns| ns[state] as f64)).collect()
    }
}

fn connect(address: &PostgresAddress) -> Option<PostgresWire> {
    let mut wire = address.connect_admin(PATIENCE).ok()?;
    name_watcher(&mut wire)?;
    Some(wire)
}

/// Gives a connection of plimsoll's that is no client its name, by which it is left out of the account.
pub fn name_watcher(wire: &mut PostgresWire) -> Option<()> {
    wire.query_rows(&format!("SET application_name = '{WATCHER}'")).ok().map(drop)
}

/// The state and the number of sessions in a row of the answer.
fn counted(row: &[Option<String>]) -> Option<(ThreadState, u64)> {
    let [Some(kind), Some(event), Some(sessions)] = row else { return None };
    Some((state_of(kind, event), sessions.parse().ok()?))
}

/// The state of a session that waits for `event` of this kind; both are empty if it does not wait.
fn state_of(kind: &str, event: &str) -> ThreadState {
    match kind {
        "" => ThreadState::Cpu,
        "IO" if event.ends_with("Read") => ThreadState::Read,
        "IO" => ThreadState::Sync,
        "Lock" | "LWLock" | "BufferPin" => ThreadState::Lock,
        "Client" => ThreadState::Client,
        _ => ThreadState::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(kind: &str, event: &str, sessions: &str) -> Vec<Option<String>> {
        [kind, event, sessions].map(|text| Some(text.to_owned())).to_vec()
    }

    #[test]
    fn each_kind_of_wait_is_a_state() {
        let of = |kind, event| counted(&row(kind, event, "3"));
        assert_eq!(of("", ""), Some((ThreadState::Cpu, 3)));
        assert_eq!(of("IO", "DataFileRead"), Some((ThreadState::Read, 3)));
        assert_eq!(of("IO", "WALSync"), Some((ThreadState::Sync, 3)));
        assert_eq!(of("LWLock", "WALWrite"), Some((ThreadState::Lock, 3)));
        assert_eq!(of("Lock", "transactionid"), Some((ThreadState::Lock, 3)));
        assert_eq!(of("Client", "ClientRead"), Some((ThreadState::Client, 3)));
        assert_eq!(of("Timeout", "PgSleep"), Some((ThreadState::Other, 3)));
        assert_eq!(counted(&row("IO", "WALSync", "many")), None);
    }

    #[test]
    fn every_session_adds_the_time_since_the_question_before() {
        let (reader, _stopped) = SessionReader::new();
        assert_eq!(reader.read(), vec![None; 7], "the server has not answered");
        let rows = [row("IO", "WALSync", "2"), row("", "", "1")];
        reader.seen.add_rows(&rows, Duration::from_millis(100));
        reader.seen.add_rows(&rows, Duration::from_millis(50));
        let (working, waiting) = (Some(150e6), Some(300e6));
        let nothing = Some(0.0);
        assert_eq!(reader.read(), [working, nothing, nothing, waiting, nothing, nothing, nothing]);
    }

    #[test]
    fn the_states_are_in_the_order_of_their_counters() {
        let roles: Vec<_> = SESSIONS.counters.iter().map(|counter| counter.to_def().role).collect();
        let expected = ThreadState::ALL.map(|state| Some(CounterRole::ThreadTime(ThreadOf::Session, state)));
        assert_eq!(roles, expected);
        assert!(QUESTION.contains(WATCHER));
    }

    #[test]
    fn a_source_that_is_dropped_ends_its_thread() {
        let (reader, stopped) = SessionReader::new();
        drop(reader);
        assert_eq!(stopped.recv_timeout(GAP), Err(RecvTimeoutError::Disconnected));
    }
}
