//! A slower CPU: on each CPU a thread of real-time priority takes a share of the time, in short slices.
//!
//! In: a speed in per cent. Out: all CPUs compute at that speed until the [`CpuSlowdown`] is dropped. Limits: root, or the right to run
//! threads at real-time priority. It concerns all programs of the machine. A CPU quota instead would only slow down what needs more than the
//! quota: one client that computes half of the time would not notice it.
//!
//! All CPUs stop at the same moments, so that no work moves to a CPU that runs on. A slice ends when the thread has had its share since
//! the beginning, by its own CPU time: a slice that began late, because the timer was, is made up for. Each begins every 200 us,
//! which is short against most ops; a wake-up in a slice waits for its end, 4 us on average at 80 %.
//!
//! What the threads use is counted ([`slowdown_usage`]): it is part of plimsoll's CPU time, and no work of an engine inside plimsoll.
//!
//! A thread dies with its process, so nothing is left after `kill -9`.

use crate::cpu::topology::{CPUS, online_cpus};
use crate::error::TargetError;
use model::CpuList;
use rustix::thread::{CpuSet, clock_nanosleep_absolute, sched_setaffinity};
use rustix::time::{ClockId, Timespec, clock_gettime};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread::JoinHandle;

/// From the beginning of one slice to the next.
const PERIOD_NS: u64 = 200_000;
/// A slice is no longer than this, whatever there is to make up for: the kernel stops real-time threads that take all of a CPU.
const SLICE_MAX_NS: u64 = PERIOD_NS * 9 / 10;
/// The least real-time priority: above all ordinary threads.
const PRIORITY: libc::c_int = 1;

/// What threads that slow CPUs down have used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SlowdownUsage {
    /// CPU time in user mode.
    pub user_ns: u64,
    /// CPU time in the kernel.
    pub system_ns: u64,
    /// Context switches, voluntary and not.
    pub context_switches: u64,
}

/// User time, system time and context switches of all such threads since this process began.
static USED: [AtomicU64; 3] = [const { AtomicU64::new(0) }; 3];

/// What all threads that slow CPUs down have used since this process began, also those that ended.
pub fn slowdown_usage() -> SlowdownUsage {
    let [user_ns, system_ns, context_switches] = USED.each_ref().map(|used| used.load(Relaxed));
    SlowdownUsage { user_ns, system_ns, context_switches }
}

/// CPUs that compute more slowly, until this is dropped.
#[derive(Debug)]
pub struct CpuSlowdown {
    over: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl CpuSlowdown {
    /// Takes time from each CPU that is online until they have `speed_percent` of it left. 100 takes none, and wakes each as often.
    ///
    /// # Errors
    /// If the kernel does not list its CPUs, or if threads may not have real-time priority here.
    pub fn start(speed_percent: u8) -> Result<CpuSlowdown, TargetError> {
        check_slowdown()?;
        let mut started = CpuSlowdown { over: Arc::default(), threads: Vec::new() };
        // Those that plimsoll may not use are among them, and are left alone.
        for cpu in all_cpus()?.numbers().iter().copied() {
            let (over, number) = (started.over.clone(), cpu);
            let thread = std::thread::Builder::new().name(format!("slow-{number}"));
            let taken_percent = u64::from(100 - speed_percent.min(100));
            let spawned = thread.spawn(move || take_time(cpu, taken_percent, &over));
            started.threads.push(spawned.map_err(|error| failed("start a thread", &error))?);
        }
        Ok(started)
    }
}

impl Drop for CpuSlowdown {
    fn drop(&mut self) {
        self.over.store(true, Relaxed);
        self.threads.drain(..).for_each(|thread| drop(thread.join()));
    }
}

/// Refuses a slower CPU if the kernel does not list its CPUs, or if threads may not have real-time priority here.
pub fn check_slowdown() -> Result<(), TargetError> {
    all_cpus()?;
    let tried = std::thread::Builder::new().spawn(raise_priority);
    let tried = tried.and_then(|thread| thread.join().expect("it makes one system call"));
    tried.map_err(|error| {
        let why = model::system_words(&error);
        TargetError::Unsupported(format!(
            "`cpu_limit` as a speed needs threads of real-time priority: {why}; run as root, or limit the CPU time, such as `0.8`"
        ))
    })
}

fn failed(what: &str, error: &std::io::Error) -> TargetError {
    TargetError::Failed(format!("cannot {what} that slows a CPU: {}", model::system_words(error)))
}

/// The calling thread runs before all ordinary ones from now on.
fn raise_priority() -> std::io::Result<()> {
    let priority: libc::c_int = PRIORITY;
    // By the number of the call: the C library of the static program refuses this function. The kernel's `sched_param` is one integer.
    // SAFETY: the kernel reads `priority` during the call and keeps no pointer to it; 0 is the calling thread.
    let result = unsafe { libc::syscall(libc::SYS_sched_setscheduler, 0, libc::SCHED_FIFO, &raw const priority) };
    if result == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
}

/// The CPUs that are online.
fn all_cpus() -> Result<CpuList, TargetError> {
    online_cpus(Path::new(CPUS)).ok_or_else(|| {
        TargetError::Unsupported(format!(
            "`cpu_limit` as a speed needs the list of CPUs in `{CPUS}/online`, which cannot be read; limit the CPU time, such as `0.8`"
        ))
    })
}

/// Takes its share of the time of `cpu` until it is `over`. A CPU that went offline is left alone.
fn take_time(cpu: u32, taken_percent: u64, over: &AtomicBool) {
    let mut only = CpuSet::new();
    only.set(cpu as usize);
    if sched_setaffinity(None, &only).is_err() || raise_priority().is_err() {
        return;
    }
    let (began, used_before) = (now_ns(ClockId::Monotonic), now_ns(ClockId::ThreadCPUTime));
    let mut counted = [0; 3];
    while !over.load(Relaxed) {
        sleep_until(next_slice(now_ns(ClockId::Monotonic)));
        let now = now_ns(ClockId::Monotonic);
        let used = now_ns(ClockId::ThreadCPUTime) - used_before;
        let end = now + slice_ns(now - began, used, taken_percent);
        // At 100 there is no slice, only the wake-up.
        while taken_percent > 0 && now_ns(ClockId::Monotonic) < end {
            std::hint::spin_loop();
        }
        let own = usage_of_this_thread();
        USED.iter().zip(own).zip(counted).for_each(|((all, own), counted)| {
            all.fetch_add(own.saturating_sub(counted), Relaxed);
        });
        counted = own;
    }
}

/// User time, system time and context switches.
fn usage_of_this_thread() -> [u64; 3] {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the pointer is valid for one rusage, and all-zero bytes are a valid rusage if the call fails.
    let usage = unsafe {
        libc::getrusage(libc::RUSAGE_THREAD, usage.as_mut_ptr());
        usage.assume_init()
    };
    let ns = |time: libc::timeval| time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1_000;
    [ns(usage.ru_utime), ns(usage.ru_stime), (usage.ru_nvcsw + usage.ru_nivcsw) as u64]
}

/// The beginning of the slice after `now_ns`: on all CPUs the same moment.
fn next_slice(now_ns: u64) -> u64 {
    (now_ns / PERIOD_NS + 1) * PERIOD_NS
}

/// How long a slice has to be that begins `elapsed_ns` after the first, if `used_ns` were taken so far.
fn slice_ns(elapsed_ns: u64, used_ns: u64, taken_percent: u64) -> u64 {
    let due = (elapsed_ns + PERIOD_NS) * taken_percent / 100;
    due.saturating_sub(used_ns).min(SLICE_MAX_NS)
}

fn now_ns(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// If a signal ends the sleep early, the slice begins early, and the next is the shorter.
fn sleep_until(at_ns: u64) {
    let at = Timespec { tv_sec: (at_ns / 1_000_000_000) as i64, tv_nsec: (at_ns % 1_000_000_000) as _ };
    let _ = clock_nanosleep_absolute(ClockId::Monotonic, &at);
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::thread::sched_getaffinity;

    #[test]
    fn slices_make_up_for_what_is_missing_and_never_take_a_whole_period() {
        assert_eq!(slice_ns(0, 0, 20), 40_000);
        assert_eq!(slice_ns(PERIOD_NS, 30_000, 20), 50_000, "the first was 10 us short");
        assert_eq!(slice_ns(PERIOD_NS, 90_000, 20), 0, "more than its share");
        assert_eq!(slice_ns(1_000_000_000, 0, 20), SLICE_MAX_NS);
        assert_eq!(slice_ns(1_000_000_000, 0, 0), 0);
    }

    #[test]
    fn slices_begin_at_the_same_moments_on_all_cpus() {
        assert_eq!([0, 1, PERIOD_NS - 1].map(next_slice), [PERIOD_NS; 3]);
        assert_eq!(next_slice(PERIOD_NS), 2 * PERIOD_NS);
    }

    #[test]
    fn a_thread_takes_its_share_of_its_cpu_and_no_more() {
        if check_slowdown().is_err() {
            eprintln!("skipped: needs root: no thread can have real-time priority");
            return;
        }
        let cpu = sched_getaffinity(None).expect("some CPU runs this");
        let cpu = (0..CpuSet::MAX_CPU).find(|number| cpu.is_set(*number)).expect("one of them") as u32;
        let over = Arc::new(AtomicBool::new(false));
        let until = over.clone();
        let thread = std::thread::spawn(move || {
            let began = now_ns(ClockId::Monotonic);
            take_time(cpu, 50, &until);
            (now_ns(ClockId::ThreadCPUTime), now_ns(ClockId::Monotonic) - began)
        });
        let began = now_ns(ClockId::Monotonic);
        while now_ns(ClockId::Monotonic) - began < 100_000_000 {
            std::thread::yield_now();
        }
        over.store(true, Relaxed);
        let (taken, elapsed) = thread.join().unwrap();
        let used = slowdown_usage();
        // Of one thread; no other test slows anything down.
        assert!(used.user_ns + used.system_ns > taken / 2 && used.context_switches > 0, "{used:?} of {taken}");
        // 50 % of what it ran for, one slice and its own start at the most; at least the slices that a busy host leaves.
        assert!(taken <= elapsed / 2 + SLICE_MAX_NS + 5_000_000, "{taken} of {elapsed}");
        assert!(taken >= 5_000_000, "{taken} of {elapsed}");
    }
}
