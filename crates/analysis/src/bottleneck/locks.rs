//! Locks inside the engine.
//!
//! In: the time that transactions waited for row locks, how often they did, the time that clients waited for their turn to write, and the time that
//! threads at work waited for others. Out: a cause. Limits: the engine's account may leave out waits of less than a millisecond; to the kernel
//! a lock and a commit that another thread syncs look the same. What a drain waits for is no lock. A single client waits for nobody, and more
//! threads than there are operations in flight wait for something else than what clients ask.

use super::seen::{Seen, Work};
use super::tested::Tested;
use crate::evidence::cause::{Cause, Confidence, Limit, LimitEvidence, LockAccount};
use crate::judgement::NextStep;
use crate::math::units::Share;
use model::CounterRole;

/// As a share of the clients.
const WAITING_MIN: f64 = 0.25;
/// Half of the clients: the lock serves them one after the other.
const WAITING_SURE: f64 = 0.5;
/// Of the time of threads at work.
// More than for syncs: a thread that waits for another thread may wait for work, which looks the same.
const LOCK_MIN: f64 = 0.30;
const LOCK_LIKELY: f64 = 0.45;
/// More threads than so many times the operations in flight wait for work: both are means, and one of them is sampled.
const THREADS_PER_OP_MAX: f64 = 1.5;
/// Of the clients. If fewer of them wait at a time, most are idle, and no lock holds them up.
const THREADS_PER_CLIENT_MIN: f64 = 0.1;
/// If every other operation waits for a row, the threads that wait do so for rows.
const ROW_WAITS_MIN: f64 = 0.5;
/// With fewer waits for rows than this, other rows or shorter transactions change little.
const ROW_WAITS_WORTH_ADVICE: f64 = 0.05;

pub fn test(seen: &Seen) -> Tested {
    if seen.is_drain() {
        return Tested::Unknown;
    }
    let is_alone = seen.has_single_client();
    let engine = (CounterRole::RowLockTime, LockAccount::Engine);
    let one_writer = (!is_alone).then_some((CounterRole::WriterTurnTime, LockAccount::OneWriter));
    let accounts = std::iter::once(engine).chain(one_writer);
    let of_clients = |role| Some(seen.time_share(role)? / seen.slots().max(1) as f64);
    let counted = accounts.into_iter().filter_map(|(role, by)| Some((of_clients(role)?, by)));
    let most = counted.max_by(|a, b| a.0.total_cmp(&b.0));
    let (waiting, by) = (most.map(|(share, _)| share), most.map_or(LockAccount::Engine, |(_, by)| by));
    let work = seen.work.filter(|work| !is_alone && waits_for_clients(seen, work));
    let in_threads = work.map(|work| work.lock);
    let per_client = work.map_or(0.0, |work| work.lock * work.threads / seen.slots().max(1) as f64);
    let are_few = per_client < THREADS_PER_CLIENT_MIN && seen.measured.summary.background.is_empty();
    match (waiting, in_threads) {
        (Some(share), _) if share >= WAITING_MIN => {
            let confidence = if share >= WAITING_SURE { Confidence::Sure } else { Confidence::Likely };
            locked(seen, share, by, confidence)
        }
        (_, Some(share)) if share >= LOCK_MIN && are_few => {
            Tested::below(Limit::Locks, per_client, THREADS_PER_CLIENT_MIN)
        }
        (_, Some(share)) if share >= LOCK_MIN => {
            let waits_for_rows = seen.row_waits_per_op().is_some_and(|waits| waits >= ROW_WAITS_MIN);
            let confidence = match share {
                share if share >= LOCK_LIKELY && waits_for_rows => Confidence::Sure,
                share if share >= LOCK_LIKELY || waits_for_rows => Confidence::Likely,
                _ => Confidence::Possible,
            };
            locked(seen, share, LockAccount::Threads, confidence)
        }
        (_, Some(share)) => Tested::below(Limit::Locks, share, LOCK_MIN),
        (Some(share), None) => Tested::below(Limit::Locks, share, WAITING_MIN),
        (None, None) => Tested::Unknown,
    }
}

/// Whether threads that wait for others can be those that perform operations.
fn waits_for_clients(seen: &Seen, work: &Work) -> bool {
    let waiting = work.lock * work.threads;
    let are_few = || seen.in_flight().is_none_or(|in_flight| waiting <= THREADS_PER_OP_MAX * in_flight);
    let connects = seen.opens_connections() || seen.view.point.traits.engine.connects_for_each_op;
    !connects && (!seen.measured.summary.background.is_empty() || are_few())
}

fn locked(seen: &Seen, share: f64, by: LockAccount, confidence: Confidence) -> Tested {
    let row_waits_per_op = seen.row_waits_per_op();
    let evidence = LimitEvidence::Locks { waiting_share: Share(share.min(1.0)), row_waits_per_op, by };
    let next = next_step(by, row_waits_per_op);
    Tested::Binds(Cause::new(evidence, share).confidence(confidence).next(next))
}

/// What to do depends on the lock: of rows, of the one writer, or another one in the engine, which nothing but its stacks shows.
fn next_step(by: LockAccount, row_waits_per_op: Option<f64>) -> NextStep {
    match by {
        LockAccount::OneWriter => NextStep::EnlargeTransactions,
        LockAccount::Engine => NextStep::SpreadRows,
        LockAccount::Threads if row_waits_per_op.is_some_and(|waits| waits >= ROW_WAITS_WORTH_ADVICE) => {
            NextStep::SpreadRows
        }
        LockAccount::Threads => NextStep::FindInnerLock,
    }
}
