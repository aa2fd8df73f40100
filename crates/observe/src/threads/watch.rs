//! Looks at the threads of a group, and adds up what they did.
//!
//! In: a group, and the time of each look. Out: [`ThreadTotals`], which only grow. Limits: as in the opening of the folder.

use super::connections::{count_connections, listening_sockets};
use super::ledger::{Ledger, Passed, ThreadSeen};
use super::members::{ThreadFiles, ThreadGroup, ThreadId, has_socket, time_at};
use super::sleep::{Asked, Call, Sleep, classify, is_soon};
use crate::SourceMissing;
use crate::proc_file::number_after;
use crate::sched_stat::SchedStat;
use model::ThreadState;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::time::Duration;

/// The share of a core that looking may cost. Two groups are watched: together they stay below half a percent of a core.
pub(super) const COST_MAX: f64 = 0.0018;
/// The threads of one look; of more they are looked at in turns, so that no look holds a CPU for long.
pub(super) const LOOK_MAX: usize = 128;

/// The least time between two looks.
const GAP_MIN: Duration = Duration::from_millis(50);
/// The longest time between two looks.
const GAP_MAX: Duration = Duration::from_secs(1);
/// The time between two lists of threads, if none seems to have begun or ended.
const LIST_GAP_NS: u64 = 1_000_000_000;
/// A thread that waits for another one for longer may be kept for a later connection: MariaDB keeps them for minutes.
const LONG_WAIT_NS: u64 = 1_000_000_000;
/// A wait for another thread that lasts for longer is one of a session: by then its process has been asked how many connections it has.
const SETTLED_NS: u64 = LONG_WAIT_NS + LIST_GAP_NS + 2 * GAP_MAX.as_nanos() as u64;
/// A thread that waits for its client and is woken less often than this share of the busiest one has no client that works.
const WAKES_MIN: f64 = 0.1;

/// Nanoseconds, summed over threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ThreadTotals {
    /// In each state, in the order of [`ThreadState::ALL`].
    pub in_state: [u64; ThreadState::ALL.len()],
    /// While it waited for work.
    pub idle_ns: u64,
    /// Looks at threads that were at work: what they waited for is known as well as these are many.
    pub looks: u64,
    /// Most of them stopped: this is a time, and not a sum over threads.
    pub stopped_ns: u64,
}

/// What a group is watched with.
pub(super) struct Watch {
    group: ThreadGroup,
    threads: BTreeMap<ThreadId, WatchedThread>,
    totals: ThreadTotals,
    listed_at_ns: Option<u64>,
    /// What the group was like at that time.
    size_hint: u64,
    /// Where the next look begins.
    next: Option<ThreadId>,
    looked_at_ns: u64,
    /// The wakes of the busiest thread.
    busiest: f64,
    /// The sockets that listen where a process is, which hardly ever change.
    listening: HashMap<u32, HashSet<u64>>,
    /// Whether a set of descriptors of a process has a socket.
    sets: HashMap<(u32, u64), bool>,
    buffer: Vec<u8>,
}

/// Whether a thread serves a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Service {
    /// It never waited for a client.
    Unseen,
    /// It is taken to serve one, because a connection is left that no thread was seen to serve.
    Guessed,
    /// It was seen to wait for a client, or is one.
    Seen,
}

struct WatchedThread {
    files: ThreadFiles,
    ledger: Ledger,
    serves: Service,
    /// Whether its process keeps it for a later connection.
    kept: bool,
    /// Bytes read and written, when submitted I/O was last waited for.
    io: (u64, u64),
    /// The share of reads among them.
    read_share: f64,
    /// What it has slept so far in a wait for another thread that goes on: whether it has work is known when that is over, or long.
    unsettled_ns: u64,
}

impl Watch {
    /// Watches `group` from `now_ns` on. An engine must be there, and what the kernel shows of it must be readable.
    pub fn open(group: ThreadGroup, now_ns: u64) -> Result<Watch, SourceMissing> {
        let mut watch = Watch {
            group,
            threads: BTreeMap::new(),
            totals: ThreadTotals::default(),
            listed_at_ns: None,
            size_hint: 0,
            next: None,
            looked_at_ns: now_ns,
            busiest: 0.0,
            listening: HashMap::new(),
            sets: HashMap::new(),
            buffer: Vec::new(),
        };
        watch.check_readable()?;
        watch.list_threads(now_ns);
        Ok(watch)
    }

    /// What the threads did up to the last look.
    pub fn totals(&self) -> ThreadTotals {
        self.totals
    }

    /// Whether a thread of the group is there.
    pub fn has_threads(&self) -> bool {
        !self.threads.is_empty()
    }

    /// Whether threads have begun or ended since the last list, as far as it shows without one.
    pub fn has_changed(&mut self) -> bool {
        self.group.size_hint(&mut self.buffer) != self.size_hint
    }

    /// How long to wait after a look if `owed` is the CPU time that is not paid for.
    pub fn gap_after(owed: Duration) -> Duration {
        Duration::from_secs_f64(owed.as_secs_f64() / COST_MAX).clamp(GAP_MIN, GAP_MAX)
    }

    /// What is left of `owed` when `passed` is over.
    pub fn owed_after(passed: Duration, owed: Duration) -> Duration {
        owed.saturating_sub(passed.mul_f64(COST_MAX))
    }

    /// Looks at the threads whose turn it is.
    pub fn look(&mut self, now_ns: u64) {
        self.list_threads(now_ns);
        let turn = next_turn(&self.threads, self.next);
        for id in &turn {
            self.look_at(*id, now_ns);
        }
        self.next = turn.last().copied().filter(|_| turn.len() < self.threads.len());
        self.busiest = self.threads.values().map(|thread| thread.ledger.wakes()).fold(0.0, f64::max);
        let passed_ns = now_ns.saturating_sub(std::mem::replace(&mut self.looked_at_ns, now_ns));
        self.totals.stopped_ns += if self.is_stopped() { passed_ns } else { 0 };
    }

    /// Whether most of the threads were stopped when they were last looked at.
    fn is_stopped(&self) -> bool {
        let stopped = self.threads.values().filter(|thread| thread.ledger.is_stopped()).count();
        2 * stopped > self.threads.len()
    }

    /// What the kernel shows of a thread of the group must be in a form that is known.
    fn check_readable(&mut self) -> Result<(), SourceMissing> {
        let id = self.group.some_thread(&mut self.buffer);
        let id = id.ok_or_else(|| SourceMissing::NoProcess { pids: self.group.roots() })?;
        let files = ThreadFiles::new(id, usize::MAX);
        // A kernel that does not keep these statistics shows 0 for all of them.
        let is_kept = |text: &str| SchedStat::parse(text).filter(|stat| stat.turns > 0);
        files.schedstat.require(is_kept, "time on a CPU and in its queue")?;
        files.syscall.require(Call::parse, "number of a system call").map(drop)
    }

    /// Finds threads that are new, and parts with those that ended, if it is time to.
    fn list_threads(&mut self, now_ns: u64) {
        let size_hint = self.group.size_hint(&mut self.buffer);
        let is_old = self.listed_at_ns.is_none_or(|at_ns| now_ns.saturating_sub(at_ns) >= LIST_GAP_NS);
        if !is_old && size_hint == self.size_hint {
            return;
        }
        let since_list = self.listed_at_ns.map(|at_ns| now_ns.saturating_sub(at_ns));
        (self.listed_at_ns, self.size_hint) = (Some(now_ns), size_hint);
        self.sets.clear();
        let listed = self.group.list(&mut self.buffer);
        self.threads.retain(|id, _| listed.contains(id));
        for id in listed {
            let threads = self.threads.len();
            if !self.threads.contains_key(&id) {
                let thread = WatchedThread::open(id, threads, now_ns, &self.group, since_list);
                self.threads.extend(thread.map(|thread| (id, thread)));
            }
        }
        if is_old && matches!(self.group, ThreadGroup::Processes(_)) {
            self.match_connections(now_ns);
        }
    }

    /// Matches threads and connections, process by process. If more threads serve than there are connections, those that have waited
    /// longest are kept. If fewer do, the youngest of the others serve: a session that is always blocked was never seen to wait for
    /// its client, and background threads begin with their server.
    fn match_connections(&mut self, now_ns: u64) {
        let Watch { threads, buffer, listening, .. } = self;
        let processes: BTreeSet<u32> = threads.keys().map(|id| id.0).collect();
        // A number may be used again, and a server that starts a process for each job has ever new ones.
        listening.retain(|pid, _| processes.contains(pid));
        for pid in processes {
            // The first thread of a process listens; of a process for each session it is the only one.
            let of_process = threads.iter_mut().filter(|(id, _)| id.0 == pid && id.1 != pid);
            let several: Vec<&mut WatchedThread> = of_process.map(|(_, thread)| thread).collect();
            let is_known = several.iter().all(|thread| thread.ledger.sleep().is_some());
            if several.is_empty() || !is_known {
                continue;
            }
            let listening = listening.entry(pid).or_insert_with(|| listening_sockets(pid, buffer));
            if let Some(connections) = count_connections(pid, listening) {
                match_process(several, connections, now_ns);
            }
        }
    }

    fn look_at(&mut self, id: ThreadId, now_ns: u64) {
        let Watch { threads, sets, buffer, busiest, totals, .. } = self;
        let Some(thread) = threads.get_mut(&id) else { return };
        let Some((stat, seen)) = thread.read(&mut ProcessAsked { pid: id.0, sets, buffer }) else {
            // It ended, or may not be seen any more.
            threads.remove(&id);
            return;
        };
        if thread.ledger.still_asleep(&stat).is_none() {
            thread.settle(totals, ThreadState::Lock);
        }
        let passed = thread.ledger.add_look(now_ns, stat, seen);
        thread.kept = thread.kept && thread.long_wait_ns(now_ns).is_some();
        thread.add_to(totals, passed, *busiest, now_ns);
    }
}

/// What is asked about the threads of a process.
struct ProcessAsked<'a> {
    pid: u32,
    sets: &'a mut HashMap<(u32, u64), bool>,
    buffer: &'a mut Vec<u8>,
}

impl Asked for ProcessAsked<'_> {
    fn has_socket(&mut self, set: u64) -> bool {
        let ProcessAsked { pid, sets, buffer } = self;
        *sets.entry((*pid, set)).or_insert_with(|| has_socket(*pid, set, buffer))
    }

    fn ends_soon(&mut self, operation: u64, limit: u64) -> bool {
        time_at(self.pid, limit).is_some_and(|limit| is_soon(operation, limit, clocks()))
    }
}

/// The monotonic and the wall clock.
fn clocks() -> [Duration; 2] {
    use rustix::time::{ClockId, clock_gettime};
    [ClockId::Monotonic, ClockId::Realtime].map(|clock| {
        let now = clock_gettime(clock);
        Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
    })
}

impl WatchedThread {
    /// The thread `id`, with what it did before: if it began since the list before, `since_list` ago, that counts. A thread that has computed
    /// for longer is older; it was missed in that list, or counted already.
    fn open(
        id: ThreadId,
        threads: usize,
        now_ns: u64,
        group: &ThreadGroup,
        since_list: Option<u64>,
    ) -> Option<WatchedThread> {
        let files = ThreadFiles::new(id, threads);
        let stat = files.schedstat.read_with(SchedStat::parse).ok()??;
        // It was read some time after `now_ns`.
        let most_ns = since_list.map_or(0, |ns| ns + GAP_MIN.as_nanos() as u64);
        let is_new = stat.cpu_ns + stat.queued_ns <= most_ns;
        let ledger = if is_new { Ledger::begun(now_ns, &stat) } else { Ledger::new(now_ns, stat) };
        let serves = if matches!(group, ThreadGroup::Clients) { Service::Seen } else { Service::Unseen };
        Some(WatchedThread { files, ledger, serves, kept: false, io: (0, 0), read_share: 0.0, unsettled_ns: 0 })
    }

    /// What the kernel shows of it now; `None` if it is gone.
    fn read(&self, asked: &mut dyn Asked) -> Option<(SchedStat, ThreadSeen)> {
        let stat = self.files.schedstat.read_with(SchedStat::parse).ok()??;
        if let Some(seen) = self.ledger.still_asleep(&stat) {
            return Some((stat, seen));
        }
        let seen = match self.files.syscall.read_with(Call::parse).ok()?? {
            Call::Running => ThreadSeen::Running,
            call => {
                let sleep = self.files.wchan.read_with(|wchan| classify(call, wchan, asked)).ok()?;
                sleep.map_or(ThreadSeen::Running, ThreadSeen::Asleep)
            }
        };
        Some((stat, seen))
    }

    fn add_to(&mut self, totals: &mut ThreadTotals, passed: Passed, busiest: f64, now_ns: u64) {
        totals.add(ThreadState::Cpu, passed.cpu_ns);
        totals.add(ThreadState::Runnable, passed.runnable_ns);
        totals.looks += u64::from(self.ledger.is_running());
        let Some(sleep) = self.ledger.sleep().filter(|_| passed.slept_ns > 0) else { return };
        if sleep == Sleep::In(ThreadState::Client) {
            self.serves = Service::Seen;
        }
        if sleep == Sleep::Submission || sleep == Sleep::AsyncIo && self.serves != Service::Unseen {
            totals.looks += 1;
            return self.add_io_to(totals, passed.slept_ns);
        }
        match self.activity(busiest).state_in(sleep) {
            Some(ThreadState::Lock) if sleep == Sleep::Thread => {
                self.unsettled_ns += passed.slept_ns;
                totals.looks += 1;
                if self.ledger.asleep_ns(now_ns) > SETTLED_NS {
                    self.settle(totals, ThreadState::Lock);
                }
            }
            Some(state) => {
                totals.looks += u64::from(!matches!(state, ThreadState::Client | ThreadState::Other));
                totals.add(state, passed.slept_ns);
            }
            None => {
                totals.idle_ns += passed.slept_ns + std::mem::take(&mut self.unsettled_ns);
            }
        }
    }

    /// Counts the wait that is over, or known by now, as `state`.
    fn settle(&mut self, totals: &mut ThreadTotals, state: ThreadState) {
        totals.add(state, std::mem::take(&mut self.unsettled_ns));
    }

    /// Divides a wait for reads or writes by the bytes of both.
    fn add_io_to(&mut self, totals: &mut ThreadTotals, slept_ns: u64) {
        let read_ns = (slept_ns as f64 * self.read_share()) as u64;
        totals.add(ThreadState::Read, read_ns);
        totals.add(ThreadState::Sync, slept_ns.saturating_sub(read_ns));
    }

    fn activity(&self, busiest: f64) -> Activity {
        match self.serves {
            Service::Unseen => Activity::Background,
            Service::Guessed | Service::Seen if self.kept => Activity::Kept,
            Service::Guessed | Service::Seen => {
                Activity::Session { asks_often: self.ledger.wakes() >= WAKES_MIN * busiest }
            }
        }
    }

    /// How long it has waited for another thread, if that is long.
    fn long_wait_ns(&self, now_ns: u64) -> Option<u64> {
        let waited_ns = self.ledger.asleep_ns(now_ns);
        (self.ledger.sleep() == Some(Sleep::Thread) && waited_ns > LONG_WAIT_NS).then_some(waited_ns)
    }

    /// The share of reads among the bytes that the thread has moved since it was last asked; as before if it moved none.
    fn read_share(&mut self) -> f64 {
        let bytes = |text: &str| Some((number_after(text, "read_bytes")?, number_after(text, "write_bytes")?));
        if let Ok(Some(now)) = self.files.io.read_with(bytes) {
            let [read, written] =
                [now.0.saturating_sub(self.io.0), now.1.saturating_sub(self.io.1)].map(|bytes| bytes as f64);
            if read + written > 0.0 {
                (self.read_share, self.io) = (read / (read + written), now);
            }
        }
        self.read_share
    }
}

/// What a thread is, as far as it decides what its sleep means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Activity {
    /// It never waited for a client.
    Background,
    /// It served a client, and has none now.
    Kept,
    /// It serves a client, or is one.
    Session {
        /// It is woken about as often as the others.
        asks_often: bool,
    },
}

impl Activity {
    /// The state of the thread in `sleep`; `None` if it waits for work.
    fn state_in(self, sleep: Sleep) -> Option<ThreadState> {
        match (sleep, self) {
            (Sleep::In(state @ (ThreadState::Read | ThreadState::Sync | ThreadState::Lock)), _) => Some(state),
            (_, Activity::Background | Activity::Kept) => None,
            (Sleep::In(ThreadState::Client), Activity::Session { asks_often }) => {
                asks_often.then_some(ThreadState::Client)
            }
            (Sleep::In(_) | Sleep::AsyncIo | Sleep::Submission | Sleep::Timer, Activity::Session { .. }) => {
                Some(ThreadState::Other)
            }
            (Sleep::Thread | Sleep::Pause, Activity::Session { .. }) => Some(ThreadState::Lock),
            (Sleep::Stopped, Activity::Session { asks_often }) => asks_often.then_some(ThreadState::Other),
        }
    }
}

/// Decides which of the threads of a process, in the order of their numbers, serve and which are kept. Earlier guesses are dropped. If they
/// stayed, a young thread of a pool could count as a session for the rest of the run.
fn match_process(threads: Vec<&mut WatchedThread>, connections: usize, now_ns: u64) {
    let (mut serving, mut others): (Vec<_>, Vec<_>) =
        threads.into_iter().partition(|thread| thread.serves == Service::Seen);
    let known = others.len().saturating_sub(connections.saturating_sub(serving.len()));
    for (nth, thread) in others.iter_mut().enumerate() {
        thread.serves = if nth < known { Service::Unseen } else { Service::Guessed };
        thread.kept = false;
    }
    let too_many = serving.len().saturating_sub(connections);
    serving.sort_by_key(|thread| Reverse(thread.long_wait_ns(now_ns)));
    for (nth, thread) in serving.into_iter().enumerate() {
        thread.kept = nth < too_many && thread.long_wait_ns(now_ns).is_some();
    }
}

/// The threads whose turn it is: at most [`LOOK_MAX`] of them, from behind `last`, the last one of the turn before.
fn next_turn<T>(threads: &BTreeMap<ThreadId, T>, last: Option<ThreadId>) -> Vec<ThreadId> {
    let behind = threads.keys().filter(|id| last.is_none_or(|last| **id > last));
    let from_start = threads.keys().filter(|id| last.is_some_and(|last| **id <= last));
    behind.chain(from_start).take(LOOK_MAX).copied().collect()
}

impl ThreadTotals {
    fn add(&mut self, state: ThreadState, ns: u64) {
        self.in_state[state as usize] += ns;
    }
}

#[cfg(test)]
mod tests {
    use super::Service::{Guessed, Seen, Unseen};
    use super::*;

    fn session(asks_often: bool) -> Activity {
        Activity::Session { asks_often }
    }

    #[test]
    fn a_thread_without_a_client_counts_only_if_it_works_on_storage() {
        assert_eq!(Activity::Background.state_in(Sleep::In(ThreadState::Sync)), Some(ThreadState::Sync));
        for sleep in [Sleep::Thread, Sleep::Pause, Sleep::AsyncIo, Sleep::In(ThreadState::Other), Sleep::Stopped] {
            assert_eq!(Activity::Background.state_in(sleep), None, "{sleep:?}");
        }
    }

    #[test]
    fn a_connection_that_nothing_comes_over_waits_for_work() {
        let waits = Sleep::In(ThreadState::Client);
        assert_eq!(session(true).state_in(waits), Some(ThreadState::Client));
        assert_eq!(session(false).state_in(waits), None);
    }

    #[test]
    fn a_wait_for_another_thread_is_a_lock_unless_the_thread_is_kept() {
        assert_eq!(session(false).state_in(Sleep::Thread), Some(ThreadState::Lock));
        assert_eq!(Activity::Kept.state_in(Sleep::Thread), None);
    }

    #[test]
    fn an_engine_is_stopped_while_most_of_its_threads_are() {
        let mut ledger = Ledger::new(0, SchedStat::default());
        assert!(!ledger.is_stopped());
        ledger.add_look(SECOND, SchedStat { turns: 1, ..SchedStat::default() }, ThreadSeen::Asleep(Sleep::Stopped));
        assert!(ledger.is_stopped());
        ledger.add_look(2 * SECOND, SchedStat { turns: 2, ..SchedStat::default() }, ThreadSeen::Running);
        assert!(!ledger.is_stopped());
    }

    #[test]
    fn a_session_that_was_stopped_is_in_no_wait_of_its_own() {
        assert_eq!(session(true).state_in(Sleep::Stopped), Some(ThreadState::Other));
        assert_eq!(session(false).state_in(Sleep::Stopped), None, "it did not work before either");
    }

    const SECOND: u64 = 1_000_000_000;

    /// A thread that has waited for another one since so many seconds before the tenth.
    fn waiting(thread: u32, seconds: u64, serves: Service) -> WatchedThread {
        let mut ledger = Ledger::new(0, SchedStat::default());
        let woken = SchedStat { turns: 1, ..SchedStat::default() };
        ledger.add_look((10 - seconds) * SECOND, woken, ThreadSeen::Asleep(Sleep::Thread));
        let files = ThreadFiles::new((1, thread), usize::MAX);
        WatchedThread { files, ledger, serves, kept: false, io: (0, 0), read_share: 0.0, unsettled_ns: 0 }
    }

    #[test]
    fn a_thread_that_a_list_has_missed_is_not_counted_from_its_birth() {
        let id: ThreadId = (std::process::id(), rustix::thread::gettid().as_raw_pid() as u32);
        let stat = || ThreadFiles::new(id, 1).schedstat.read_with(SchedStat::parse).unwrap().unwrap();
        while stat().cpu_ns < SECOND / 10 {}
        let counted_ns = |since_list: Option<u64>| {
            let thread = WatchedThread::open(id, 1, SECOND, &ThreadGroup::Clients, since_list);
            thread.unwrap().ledger.add_look(SECOND, stat(), ThreadSeen::Running).cpu_ns
        };
        assert!(counted_ns(Some(3_600 * SECOND)) >= SECOND / 10, "it may have begun since the list before");
        assert!(counted_ns(Some(SECOND / 100)) < SECOND / 10, "it is older than the list before");
        assert!(counted_ns(None) < SECOND / 10, "it is older than the watch");
    }

    #[test]
    fn a_wait_for_another_thread_counts_when_it_is_over_or_known_to_be_one_of_a_session() {
        let passed = Passed { slept_ns: SECOND, ..Passed::default() };
        let in_lock = |totals: &ThreadTotals| totals.in_state[ThreadState::Lock as usize];
        let mut totals = ThreadTotals::default();
        let mut session = waiting(2, 1, Seen);
        session.add_to(&mut totals, passed, 0.0, 10 * SECOND);
        assert_eq!((in_lock(&totals), totals.idle_ns), (0, 0), "it is not known yet");
        session.settle(&mut totals, ThreadState::Lock);
        assert_eq!((in_lock(&totals), totals.idle_ns), (SECOND, 0), "it was woken");
        let mut cached = waiting(3, 1, Seen);
        cached.add_to(&mut totals, passed, 0.0, 10 * SECOND);
        cached.kept = true;
        cached.add_to(&mut totals, passed, 0.0, 11 * SECOND);
        assert_eq!((in_lock(&totals), totals.idle_ns), (SECOND, 2 * SECOND), "kept from the beginning on");
        let mut stuck = waiting(4, 1, Seen);
        stuck.add_to(&mut totals, passed, 0.0, 20 * SECOND);
        assert_eq!(in_lock(&totals), 2 * SECOND, "blocked for long");
    }

    #[test]
    fn looks_count_if_the_thread_is_at_work() {
        let looks = |sleep: Sleep| {
            let mut totals = ThreadTotals::default();
            let mut thread = waiting(2, 0, Seen);
            thread.ledger.add_look(
                10 * SECOND,
                SchedStat { turns: 2, ..SchedStat::default() },
                ThreadSeen::Asleep(sleep),
            );
            let passed = Passed { slept_ns: 1, ..Passed::default() };
            thread.add_to(&mut totals, passed, 0.0, 10 * SECOND);
            totals.looks
        };
        assert_eq!([Sleep::Thread, Sleep::In(ThreadState::Sync), Sleep::Pause].map(looks), [1, 1, 1]);
        assert_eq!([Sleep::Timer, Sleep::In(ThreadState::Client), Sleep::In(ThreadState::Other)].map(looks), [0, 0, 0]);
    }

    #[test]
    fn the_time_in_the_memory_of_a_process_is_read() {
        let limit = [3i64, 20_000_000];
        let address = limit.as_ptr() as u64;
        assert_eq!(time_at(std::process::id(), address), Some(Duration::new(3, 20_000_000)));
        assert_eq!(time_at(std::process::id(), 8), None);
    }

    #[test]
    fn of_more_threads_than_connections_those_that_wait_longest_are_kept() {
        let mut threads = [waiting(2, 3, Seen), waiting(3, 8, Seen), waiting(4, 0, Seen), waiting(5, 9, Unseen)];
        match_process(threads.iter_mut().collect(), 2, 10 * SECOND);
        assert_eq!(threads.each_ref().map(|thread| thread.kept), [false, true, false, false]);
        match_process(threads.iter_mut().collect(), 0, 10 * SECOND);
        assert_eq!(threads.each_ref().map(|thread| thread.kept), [true, true, false, false], "one works");
    }

    #[test]
    fn connections_that_no_thread_was_seen_to_serve_are_those_of_the_youngest_threads() {
        let mut threads = [waiting(2, 9, Unseen), waiting(3, 0, Seen), waiting(4, 1, Unseen), waiting(5, 1, Unseen)];
        match_process(threads.iter_mut().collect(), 3, 10 * SECOND);
        assert_eq!(threads.each_ref().map(|thread| thread.serves), [Unseen, Seen, Guessed, Guessed]);
    }

    #[test]
    fn a_guess_ends_when_all_connections_are_seen_to_be_served() {
        // The youngest is a worker of a pool, which waits for work for less than a second at a time.
        let mut threads = [waiting(2, 0, Unseen), waiting(3, 0, Seen), waiting(4, 0, Unseen)];
        match_process(threads.iter_mut().collect(), 2, 10 * SECOND);
        assert_eq!(threads.each_ref().map(|thread| thread.serves), [Unseen, Seen, Guessed]);
        threads[0].serves = Seen;
        match_process(threads.iter_mut().collect(), 2, 10 * SECOND);
        assert_eq!(threads.each_ref().map(|thread| thread.serves), [Seen, Seen, Unseen]);
        assert_eq!(threads[2].activity(0.0), Activity::Background);
    }

    #[test]
    fn many_threads_are_looked_at_in_turns_and_none_is_left_out() {
        let threads: BTreeMap<ThreadId, ()> = (0..300).map(|thread| ((1, thread), ())).collect();
        let mut seen = BTreeSet::new();
        let mut last = None;
        for _ in 0..3 {
            let turn = next_turn(&threads, last);
            assert_eq!(turn.len(), LOOK_MAX);
            last = turn.last().copied();
            seen.extend(turn);
        }
        assert_eq!(seen.len(), 300);
        let few: BTreeMap<ThreadId, ()> = threads.into_iter().take(7).collect();
        assert_eq!(next_turn(&few, None).len(), 7);
    }

    #[test]
    fn looks_that_cost_more_are_fewer() {
        assert_eq!(Watch::gap_after(Duration::from_micros(10)), GAP_MIN);
        assert_eq!(Watch::gap_after(Duration::from_micros(360)), Duration::from_millis(200));
        assert_eq!(Watch::gap_after(Duration::from_millis(50)), GAP_MAX);
    }

    #[test]
    fn a_look_before_its_turn_makes_the_next_gap_longer() {
        let cost = Duration::from_micros(360);
        let left = Watch::owed_after(Duration::from_millis(100), cost);
        assert_eq!(left, Duration::from_micros(180));
        assert_eq!(Watch::gap_after(left + cost), Duration::from_millis(300));
        assert_eq!(Watch::owed_after(Duration::from_secs(1), cost), Duration::ZERO);
    }

    #[test]
    fn an_engine_that_is_gone_is_missing() {
        let missing = Watch::open(ThreadGroup::Processes(vec![u32::MAX]), 0).err().expect("there is no such process");
        assert!(matches!(missing, SourceMissing::NoProcess { .. }));
    }
}
