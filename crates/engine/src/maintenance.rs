//! Maintenance of a data set as an operation of a client: index builds, and draining of pending writes.
//!
//! In: how to connect, and what to do for an operation. Out: clients whose operations are recorded like any other.
//! Limits: an operation has no time limit. It ends early only if the connection is lost, or if an engine makes no progress; then
//! the writes still pending are kept as [`RemainingDebt`].
//!
//! The same code drains pending writes after the load and when a step of a workload asks for it.

use crate::engine::WorkloadClients;
use crate::sql::OpFailure;
use load::{Client, Driver, OpSource, SyncClient};
use model::{Bytes, Fact, LoadPart, Op, Outcome};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};
use workload::{ClientIndex, OpKindDef, OpStream};

/// How long a maintenance connection waits for an answer: a day.
pub(super) const PATIENCE: Duration = Duration::from_secs(86_400);

const LOOK_EVERY: Duration = Duration::from_millis(10);

/// If background work that is due makes no progress for this long, something holds it back.
pub(super) const NO_PROGRESS_FOR: Duration = Duration::from_secs(60);

/// The work that an engine does in the background.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BackgroundWork {
    /// How much it has done so far, in any unit.
    pub done: u64,
    /// Whether some work waits to be done, or is being done.
    pub is_pending: bool,
}

/// How a wait for background work ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WaitEnd {
    /// All of it is done.
    Quiet,
    /// Some is due, and it makes no progress: compactions may be disabled.
    HeldBack,
}

/// Waits until nothing is pending and nothing was done for `quiet_for`; or until nothing was done for `patience` although something is
/// pending. The first wait is needed because background work that ends may start more, and for a moment neither may show.
pub(super) fn wait_until_quiet<E>(
    quiet_for: Duration,
    patience: Duration,
    mut look: impl FnMut() -> Result<BackgroundWork, E>,
) -> Result<WaitEnd, E> {
    let (mut seen, mut since) = (look()?, Instant::now());
    loop {
        match seen.is_pending {
            false if since.elapsed() >= quiet_for => return Ok(WaitEnd::Quiet),
            true if since.elapsed() >= patience => return Ok(WaitEnd::HeldBack),
            _ => std::thread::sleep(LOOK_EVERY),
        }
        let now = look()?;
        if now != seen {
            (seen, since) = (now, Instant::now());
        }
    }
}

/// Writes still pending when an engine was quiesced but made no progress any more. Clones share the value.
#[derive(Clone, Debug, Default)]
pub(super) struct RemainingDebt(Arc<AtomicU64>);

impl RemainingDebt {
    /// Stores how much is left; 0 if the engine is quiesced.
    pub(super) fn store(&self, left: Bytes) {
        self.0.store(left.0, Relaxed);
    }

    /// What is left, as a fact of the point that should have drained it. Returned once.
    pub(super) fn take_fact(&self) -> Option<Fact> {
        let left = self.0.swap(0, Relaxed);
        (left > 0).then(|| Fact::new("drain.pending_bytes", left.to_string()))
    }
}

/// Waits until `look` returns at most `few`, or until it has not fallen for `patience`. Returns what is left then; 0 if it is at
/// most `few`.
pub(super) fn wait_until_few<E>(
    few: u64,
    patience: Duration,
    mut look: impl FnMut() -> Result<u64, E>,
) -> Result<u64, E> {
    let (mut least, mut since) = (u64::MAX, Instant::now());
    loop {
        let left = look()?;
        // Progress is a new minimum, and not any change: new work may come while old work is done.
        if left < least {
            (least, since) = (left, Instant::now());
        }
        if left <= few {
            return Ok(0);
        }
        // Some work never ends by itself, such as the purge of versions that an open transaction still needs.
        if since.elapsed() > patience {
            return Ok(left);
        }
        std::thread::sleep(LOOK_EVERY);
    }
}

/// Opens a client's connection and performs maintenance operations on it.
pub(super) trait Maintenance: Clone + Send + 'static {
    /// The family of the operations.
    type Op: Op;
    type Open: Send;
    /// The engine, for messages.
    fn engine_name(&self) -> String;
    /// Opens it, on the client's own thread.
    fn open_connection(&self) -> Result<Self::Open, OpFailure>;
    fn perform_op(&self, open: &mut Self::Open, op: &Self::Op) -> Result<(), OpFailure>;
}

/// The `clients` of this host, a part of all, that perform `maintenance` for the operations of `stream`.
pub(super) fn maintenance_clients<C: Maintenance>(
    stream: &OpStream<C::Op>,
    kinds: &[OpKindDef],
    clients: LoadPart,
    maintenance: &C,
) -> WorkloadClients {
    let clients = ClientIndex::all_in(clients).map(|slot| -> Box<dyn Client> {
        let driver = MaintenanceDriver { maintenance: maintenance.clone(), open: None, failure: String::new() };
        Box::new(SyncClient::new(OpSource::new(stream, slot), driver))
    });
    WorkloadClients {
        kinds: kinds.to_vec(),
        clients: clients.collect(),
        background: Vec::new(),
        parts: Vec::new(),
        due: None,
    }
}

struct MaintenanceDriver<C: Maintenance> {
    maintenance: C,
    open: Option<C::Open>,
    failure: String,
}

impl<C: Maintenance> Driver for MaintenanceDriver<C> {
    type Op = C::Op;

    fn open(&mut self) -> Result<(), String> {
        let opened = self.maintenance.open_connection();
        let opened = opened.map_err(|failure| format!("{}: {}", self.maintenance.engine_name(), failure.text))?;
        self.open = Some(opened);
        Ok(())
    }

    fn execute_op(&mut self, op: &C::Op) -> Outcome {
        let open = self.open.as_mut().expect("opened before the first operation");
        match self.maintenance.perform_op(open, op) {
            Ok(()) => Outcome::Ok { bytes: 0 },
            Err(failure) => {
                self.failure = failure.text;
                Outcome::Failed(failure.class)
            }
        }
    }

    fn describe_failure(&self) -> String {
        format!("{}: {}", self.maintenance.engine_name(), self.failure)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn background_work_is_over_when_nothing_is_left_and_a_failure_is_told() {
        let work = |done, is_pending| BackgroundWork { done, is_pending };
        let mut says = [work(0, true), work(1, false), work(1, true), work(2, false)].into_iter();
        let ended =
            wait_until_quiet(Duration::ZERO, Duration::MAX, || Ok::<_, ()>(says.next().expect("it was quiet before")));
        assert_eq!((ended, says.len()), (Ok(WaitEnd::Quiet), 2));
        let mut looks = 0;
        let told = wait_until_quiet(Duration::MAX, Duration::MAX, || {
            looks += 1;
            if looks < 3 { Ok(work(looks, false)) } else { Err("gone") }
        });
        assert_eq!((told, looks), (Err("gone"), 3));
    }

    #[test]
    fn work_that_is_due_and_makes_no_progress_is_not_waited_for_and_one_that_moves_is() {
        let (mut looks, patience) = (0, Duration::from_millis(50));
        let ended = wait_until_quiet(Duration::ZERO, patience, || {
            looks += 1;
            // Several times longer than patience it moves, and is never done.
            Ok::<_, ()>(BackgroundWork { done: looks.min(20), is_pending: true })
        });
        assert!(ended == Ok(WaitEnd::HeldBack) && looks > 20, "{ended:?} {looks}");
    }

    #[test]
    fn a_debt_that_does_not_become_less_any_more_is_told_and_one_that_is_paid_is_not() {
        let left = |patience, says: &[u64]| {
            let mut says = says.iter().copied();
            wait_until_few(5, patience, || says.next().ok_or("it was over before"))
        };
        assert_eq!(left(Duration::MAX, &[9, 9, 10, 8, 5]), Ok(0));
        assert_eq!(left(Duration::ZERO, &[9, 9]), Ok(9));
        assert_eq!(left(Duration::MAX, &[9]), Err("it was over before"));
    }

    #[test]
    fn what_is_left_is_told_once_and_nothing_where_rest_was_reached() {
        let (debt, of_instance) = (RemainingDebt::default(), RemainingDebt::default());
        let of_client = of_instance.clone();
        of_client.store(Bytes(300 << 14));
        assert_eq!(of_instance.take_fact(), Some(Fact::new("drain.pending_bytes", "4915200")));
        assert_eq!((of_instance.take_fact(), debt.take_fact()), (None, None));
    }
}
