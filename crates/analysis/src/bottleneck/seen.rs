//! What the tests look at: the growth of counters over the run phase, and what several tests need.
//!
//! In: a point with its numbers. Out: shares of time and rates. Limits: `None` if there is no such counter, or its readings do not cover
//! the phase.

use crate::computed_phase::Measured;
use crate::evidence::PointView;
use crate::evidence::cause::{Cause, Confidence, Counters, LimitEvidence, LockAccount, Throttle};
use crate::evidence::client_share::cores_share;
use crate::evidence::cpu_usage::CpuUsage;
use crate::math::units::Share;
use crate::numbers::achieved::device_growth_per_s;
use crate::numbers::thread_states::StateShares;
use crate::recorded::counters::{Growth, growth_of_all, growth_of_most, mean_level};
use crate::recorded::facts::{EngineProcess, engine_process, is_direct_file, slots};
use model::{CounterRole, Nanos, OpClass, Pacing, Tick};

/// A point whose bottleneck is looked for.
pub struct Seen<'a> {
    pub view: &'a PointView<'a>,
    pub measured: &'a Measured<'a>,
    /// How the CPU time of the machine was used; `None` if it is not known, or known in too few ticks.
    pub cpu: Option<CpuUsage>,
    /// The share of their cores that the client threads used.
    pub client_share: Option<f64>,
    /// The share of the time in which the device was busy.
    pub disk_busy: Option<f64>,
    /// What the threads do that the engine works on; `None` if they were not seen, or hardly worked.
    pub work: Option<Work>,
}

/// The states of the threads that the engine works on while they have work: its own, or plimsoll's clients if they do its work.
/// Shares of that time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Work {
    /// In the queue of a CPU.
    pub runnable: f64,
    /// In reads of storage.
    pub read: f64,
    /// In writes and syncs.
    pub sync: f64,
    /// On other threads, for locks.
    pub lock: f64,
    /// On the thread that syncs the commits of a group.
    pub group: f64,
    /// How many threads were at work on average.
    pub threads: f64,
    /// How many looks at them the shares of waits are from; `None` if they were not counted.
    pub looks: Option<f64>,
}

/// Fewer waits for rows than one in twenty operations are not what threads wait for at each other.
const ROW_WAITS_FEW: f64 = 0.05;
/// A group of commits waits for a thread that is seen in its sync.
// Two of the 120 looks at two threads in three seconds. On a disk that syncs in 50 us a twentieth was missed in two of ten such runs.
const GROUP_SYNC_MIN: f64 = 0.02;
/// Threads that worked for less of the time of one have too few looks to be judged.
const THREADS_MIN: f64 = 0.05;
/// With fewer looks nothing that they show is sure: a share of one half is then known to a tenth at best.
const LOOKS_SURE: f64 = 20.0;
/// With fewer it is a sign.
const LOOKS_LIKELY: f64 = 5.0;

impl Work {
    fn from_states(states: &StateShares) -> Option<Work> {
        let at_work = 1.0 - states.client - states.other;
        let threads = states.threads * at_work;
        let share = |share: f64| share / at_work;
        let StateShares { runnable, read, sync, lock, looks, .. } = *states;
        let [runnable, read, sync, lock] = [runnable, read, sync, lock].map(share);
        (threads >= THREADS_MIN).then_some(Work { runnable, read, sync, lock, group: 0.0, threads, looks })
    }

    /// On a CPU or in its queue.
    pub fn computed(&self) -> f64 {
        1.0 - self.read - self.sync - self.lock - self.group
    }

    /// The same if what threads wait for at others is the sync of a group's commits: to the kernel both look alike.
    fn with_group_commits(self) -> Work {
        Work { lock: 0.0, group: self.lock, ..self }
    }
}

impl<'a> Seen<'a> {
    /// Reads what several tests need.
    pub fn new(view: &'a PointView<'a>, measured: &'a Measured<'a>) -> Seen<'a> {
        let cpu = CpuUsage::measure(view, measured).filter(CpuUsage::is_resolved);
        let (client_share, disk_busy) = (cores_share(view, measured), disk_busy(view, measured));
        let mut seen = Seen { view, measured, cpu, client_share, disk_busy, work: None };
        let threads = measured.threads;
        let is_in_clients = matches!(engine_process(view.point), EngineProcess::Embedded | EngineProcess::None);
        let states = if is_in_clients { threads.client.as_ref() } else { threads.engine.as_ref() };
        let work = states.and_then(Work::from_states);
        seen.work = work.map(|work| if seen.commits_in_groups(&work) { work.with_group_commits() } else { work });
        seen
    }

    /// Whether threads that wait for others wait for the sync of a group's commits: commits are synced, a thread is seen in it, and the
    /// engine counts waits for rows, of which there are hardly any.
    fn commits_in_groups(&self, work: &Work) -> bool {
        let few_row_waits = self.row_waits_per_op().is_some_and(|waits| waits < ROW_WAITS_FEW);
        self.syncs_commits() && work.sync >= GROUP_SYNC_MIN && few_row_waits
    }

    /// How often an operation waited for a row; `None` if the engine does not count it.
    pub fn row_waits_per_op(&self) -> Option<f64> {
        let waits = self.all(CounterRole::RowLockWaits)?.per_second();
        let ops_per_s = self.measured.summary.ops_per_s;
        (ops_per_s > 0.0).then(|| waits / ops_per_s)
    }

    /// `cause` with no more confidence than there were looks at the threads whose waits show it.
    pub fn by_looks(&self, cause: Cause) -> Cause {
        let looks = self.work.and_then(|work| work.looks).filter(|_| is_by_looks(&cause.evidence));
        let most = match looks {
            Some(looks) if looks < LOOKS_LIKELY => Confidence::Possible,
            Some(looks) if looks < LOOKS_SURE => Confidence::Likely,
            _ => Confidence::Sure,
        };
        let confidence = cause.confidence.max(most);
        cause.confidence(confidence)
    }

    /// Whether its clients open a connection for each operation. Between two of them a server's threads wait for the next connection,
    /// which looks like a wait for a lock.
    pub fn opens_connections(&self) -> bool {
        let mut measured = self.view.point.kinds.iter().filter(|kind| !kind.background);
        measured.any(|kind| kind.class == OpClass::Connect)
    }

    /// Whether nobody else performs operations of the point.
    pub fn has_single_client(&self) -> bool {
        self.slots() == 1 && self.measured.summary.background.is_empty()
    }

    /// How many operations were in flight on average (Little's law); `None` if they were not timed.
    pub fn in_flight(&self) -> Option<f64> {
        let summary = self.measured.summary;
        match self.view.point.trial.load.pacing {
            Pacing::Closed { think: Nanos(0) } => Some(self.slots() as f64),
            _ => Some(summary.ops_per_s * summary.service_ns?.mean / 1e9),
        }
    }

    /// The share of their time for which threads waited for a CPU: those that the engine works on, or the clients, whichever is more.
    pub fn waited_for_cpu(&self) -> Option<f64> {
        let clients = self.measured.threads.client.map(|states| states.runnable);
        self.work.map(|work| work.runnable).into_iter().chain(clients).reduce(f64::max)
    }

    /// Whether an acknowledged commit of the engine is on disk.
    pub fn syncs_commits(&self) -> bool {
        let work = &self.view.point.traits.work;
        work.io.is_none() && self.view.point.traits.engine.durability.as_deref() == Some("disk")
    }

    /// Whether what its clients do is the read or the write that they wait for: past the page cache and without a sync.
    pub fn waits_for_own_io(&self) -> bool {
        let io = &self.view.point.traits.work.io;
        io.as_ref().is_some_and(|io| !io.syncs && (io.read_share == 1.0 || is_direct_file(self.view.point)))
    }

    /// Whether its operations only wait until the engine has written what it put off.
    pub fn is_drain(&self) -> bool {
        let mut measured = self.view.point.kinds.iter().filter(|kind| !kind.background).peekable();
        measured.peek().is_some() && measured.all(|kind| kind.class == OpClass::Drain)
    }

    /// How many operations can be in flight at once.
    pub fn slots(&self) -> u64 {
        slots(self.view.point)
    }

    /// The growth of all counters of `role` together.
    pub fn all(&self, role: CounterRole) -> Option<Growth> {
        let (start, end) = self.phase();
        growth_of_all(self.view.point, role, start, end)
    }

    /// The growth of the counter of `role` that grew most.
    pub fn most(&self, role: CounterRole) -> Option<Growth> {
        let (start, end) = self.phase();
        growth_of_most(self.view.point, role, start, end)
    }

    /// The mean of the readings of the first gauge of `role`.
    pub fn mean_level(&self, role: CounterRole) -> Option<f64> {
        let (start, end) = self.phase();
        mean_level(self.view.point, role, start, end)
    }

    /// Requests that the device had in flight on average.
    pub fn device_queue(&self) -> Option<f64> {
        self.measured.summary.achieved.device_under_way_mean
    }

    /// What a counter of nanoseconds grew by, as a share of the time; above 1 if it adds up several tasks.
    pub fn time_share(&self, role: CounterRole) -> Option<f64> {
        Some(self.all(role)?.per_second() / 1e9)
    }

    /// When the part of the run that counts began and ended.
    pub fn phase(&self) -> (Tick, Tick) {
        (self.measured.window.phase.start, self.measured.window.phase.end)
    }

    /// How busy the machine was.
    pub fn counters(&self) -> Counters {
        Counters {
            disk_busy_share: self.disk_busy.map(Share),
            cpu_share: self.cpu.map(|usage| Share(usage.busy)),
            client_cores_share: self.client_share.map(Share),
        }
    }
}

/// Whether what threads were seen to wait for is what shows it.
fn is_by_looks(evidence: &LimitEvidence) -> bool {
    matches!(
        evidence,
        LimitEvidence::Sync { .. }
            | LimitEvidence::Write { .. }
            | LimitEvidence::Commit { .. }
            | LimitEvidence::Drain { .. }
            | LimitEvidence::Locks { by: LockAccount::Threads, .. }
            | LimitEvidence::Throttled(Throttle::AboveDevice { .. })
    )
}

/// The share of the time in which the device of the point was busy; of several hosts the busiest.
pub fn disk_busy(view: &PointView, measured: &Measured) -> Option<f64> {
    if !view.parts.is_empty() {
        let databases = view.parts.iter().filter(|one| !one.part.is_load());
        return databases.filter_map(|one| disk_busy(&one.view, one.view.measured.as_ref()?)).reduce(f64::max);
    }
    device_growth_per_s(view.point, measured.window, CounterRole::DeviceBusy).map(|busy_ns| busy_ns / 1e9)
}
