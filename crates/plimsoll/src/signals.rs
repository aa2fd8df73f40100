//! Ctrl-C, SIGTERM and SIGHUP: the first ends the load and keeps what was measured, the second ends the process at once.
//!
//! In: the signals of the process, but for SIGHUP if `nohup` or the shell had it ignored. Out: a request to stop, and the exit code that belongs to the signal.
//! Limits: nothing is done in the handler but to read the clock, to set flags, to give the terminal back and to end. What an ended process leaves is removed
//! by the next start.

use crate::exit::{Exit, Fault};
use crate::output::live::screen;
use load::{Clock, MonotonicClock, Stop, StopReason};
use model::{Nanos, Tick};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering::SeqCst};

/// A signal so soon after the first is the same request sent twice: `timeout` signals its child and then the whole process
/// group, which the child is in. A person who means a second request is slower.
const SAME_REQUEST: Nanos = Nanos::from_millis(250);

/// The signal that came, 0 for none.
static CAME: AtomicI32 = AtomicI32::new(0);
/// When the first came, in nanoseconds; `NEVER` before.
static FIRST_NS: AtomicU64 = AtomicU64::new(NEVER);
const NEVER: u64 = u64::MAX;

/// From now on signals end the load that `stop` belongs to.
pub fn listen(stop: &Arc<Stop>) -> Result<(), Fault> {
    let cannot = |error: std::io::Error| {
        Fault::new(Exit::Internal, format!("cannot listen to signals: {}", model::system_words(&error)))
    };
    let clock = MonotonicClock::start();
    for signal in ending_signals() {
        let exit = if signal == SIGINT { Exit::Interrupted } else { Exit::Terminated };
        let (stop, code) = (stop.clone(), i32::from(exit.code()));
        let act = move || {
            if is_second(&FIRST_NS, clock.now()) {
                screen::leave();
                signal_hook::low_level::exit(code)
            } else {
                CAME.store(signal, SeqCst);
                stop.request(StopReason::Interrupted);
            }
        };
        // SAFETY: the action reads CLOCK_MONOTONIC, stores to atomics and may write to the terminal, set it and call _exit, all by system
        // calls: a signal handler may do that.
        unsafe { signal_hook::low_level::register(signal, act) }.map_err(cannot)?;
    }
    // A file that may not grow is a failed write, which is counted, and no reason to die: with any handler it returns EFBIG.
    signal_hook::flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false))).map_err(cannot)?;
    Ok(())
}

/// The signals that end plimsoll. A run under `nohup` goes on when its terminal goes.
pub fn ending_signals() -> impl Iterator<Item = i32> {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = ignored_signals(&status);
    [SIGINT, SIGTERM, SIGHUP].into_iter().filter(move |signal| *signal != SIGHUP || ignored & (1 << (SIGHUP - 1)) == 0)
}

/// The bits of the signals that a process ignores, from the text of its `/proc/PID/status` (proc_pid_status(5)). Signal 1 has the lowest bit.
fn ignored_signals(status: &str) -> u64 {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}

/// Whether a signal that comes at `now` is a second request, and not the first or the same one again.
fn is_second(first_ns: &AtomicU64, now: Tick) -> bool {
    match first_ns.compare_exchange(NEVER, now.0, SeqCst, SeqCst) {
        Ok(_) => false,
        Err(first_ns) => now.since(Tick(first_ns)) > SAME_REQUEST,
    }
}

/// The exit of a process that a signal has ended.
pub fn exit() -> Exit {
    if CAME.load(SeqCst) == SIGINT { Exit::Interrupted } else { Exit::Terminated }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_process_ignores_is_read_from_its_status() {
        assert_eq!(ignored_signals("SigBlk:\t0000000000000000\nSigIgn:\t0000000000001001\n"), 1 << 12 | 1);
        assert_eq!(ignored_signals("Name:\tplimsoll\n"), 0);
    }

    #[test]
    fn a_signal_that_comes_again_at_once_is_the_same_request_and_a_later_one_is_a_second() {
        let first_ns = AtomicU64::new(NEVER);
        let came = |millis| is_second(&first_ns, Tick(Nanos::from_millis(millis).0));
        assert_eq!([5_000, 5_001, 5_250, 5_251, 9_000].map(came), [false, false, false, true, true]);
    }
}
