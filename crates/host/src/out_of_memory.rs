//! Whether the kernel killed a process because memory ran out.
//!
//! In: a process, or the time since when. Out: that it was killed for this, with the limit of its control group. Limits: the kernel's log
//! names the process, but only root may read it, and containers have none, or one with numbers of processes that are not theirs; then the
//! counters of kills of the control group that plimsoll is in count, or those of the machine. They do not name the process.

use crate::privileged::cgroup::MemoryOfOwnGroup;
use crate::text_file::text_of;
use model::Bytes;
use rustix::fs::{Mode, OFlags, open};
use rustix::time::{ClockId, clock_gettime};
use std::path::Path;
use std::time::{Duration, SystemTime};

/// How many processes the kernel had killed when it was made.
#[derive(Clone, Copy, Debug)]
pub struct OutOfMemoryWatch {
    kills: Option<u64>,
    since: Duration,
}

impl OutOfMemoryWatch {
    /// Kills from now on count.
    pub fn start() -> OutOfMemoryWatch {
        OutOfMemoryWatch { kills: count_kills(), since: since_boot() }
    }

    /// What to say if the process `pid`, which was killed, was killed because memory ran out.
    pub fn explain(&self, pid: u32) -> Option<String> {
        let log = if has_numbers_of_kernel() { kills_in_log() } else { None };
        let named = log.map(|kills| kills.iter().any(|kill| kill.pid == pid && kill.at >= self.since));
        named.unwrap_or_else(|| self.has_counted()).then(describe)
    }

    /// The same of any process.
    pub fn explain_any(&self) -> Option<String> {
        let named = kills_in_log().map(|kills| kills.iter().any(|kill| kill.at >= self.since));
        (named == Some(true) || self.has_counted()).then(describe)
    }

    fn has_counted(&self) -> bool {
        count_kills().zip(self.kills).is_some_and(|(now, before)| now > before)
    }
}

/// Whether processes have the same numbers here as in the kernel's log: those of the first namespace, whose number is fixed
/// (PROC_PID_INIT_INO in linux/proc_ns.h).
fn has_numbers_of_kernel() -> bool {
    std::fs::read_link("/proc/self/ns/pid").is_ok_and(|namespace| namespace == Path::new("pid:[4026531836]"))
}

/// Whether the kernel's log has that a process called `name` was killed at about `at`, because memory ran out.
pub fn was_killed_at(name: &str, at: SystemTime) -> bool {
    const ABOUT: Duration = Duration::from_secs(10);
    let ago = SystemTime::now().duration_since(at).unwrap_or_default();
    let Some(at) = since_boot().checked_sub(ago) else { return false }; // before this start of the machine
    let kills = kills_in_log().unwrap_or_default();
    kills.iter().any(|kill| kill.name == name && kill.at.abs_diff(at) <= ABOUT)
}

/// `was killed by the kernel, because memory ran out (the limit is 300 MiB)`.
fn describe() -> String {
    let limit = MemoryOfOwnGroup::find().and_then(|group| group.limit());
    let limit = limit.map(|Bytes(limit)| format!(" (the limit of its control group is {})", Bytes(limit)));
    format!("was killed by the kernel, because memory ran out{}", limit.unwrap_or_default())
}

/// The kills in the control group of this process, or else on the machine.
fn count_kills() -> Option<u64> {
    let of_group = MemoryOfOwnGroup::find().and_then(|group| group.count_kills());
    of_group.or_else(|| number_after("oom_kill ", &text_of("/proc/vmstat")?))
}

fn number_after(key: &str, text: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix(key)?.trim().parse().ok())
}

/// One kill of the kernel's log.
#[derive(Clone, Debug, PartialEq)]
struct LoggedKill {
    pid: u32,
    name: String,
    /// Since the start of the machine.
    at: Duration,
}

/// The kills in the kernel's log; `None` if it cannot be read.
fn kills_in_log() -> Option<Vec<LoggedKill>> {
    // A record of the log has at most 8 KiB (CONSOLE_EXT_LOG_MAX), and a read returns one.
    const RECORD_BYTES_MAX: usize = 8 << 10;
    let log = open("/dev/kmsg", OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC, Mode::empty()).ok()?;
    let (mut record, mut kills) = (vec![0; RECORD_BYTES_MAX], Vec::new());
    loop {
        match rustix::io::read(&log, &mut record) {
            Ok(0) | Err(rustix::io::Errno::AGAIN) => return Some(kills),
            Ok(bytes) => kills.extend(logged_kill(&String::from_utf8_lossy(&record[..bytes]))),
            // The record was overwritten meanwhile, or is longer: the next read returns the one after it.
            Err(rustix::io::Errno::PIPE | rustix::io::Errno::INVAL) => {}
            Err(_) => return None,
        }
    }
}

/// A record such as `6,1234,5678901,-;Memory cgroup out of memory: Killed process 42 (mariadbd) total-vm:...`: level, number and
/// microseconds since the start of the machine (Documentation/ABI/testing/dev-kmsg).
fn logged_kill(record: &str) -> Option<LoggedKill> {
    let (head, text) = record.split_once(';')?;
    let us: u64 = head.split(',').nth(2)?.parse().ok()?;
    let (_, killed) = text.split_once("ut of memory: Killed process ")?;
    let (pid, rest) = killed.split_once(" (")?;
    let (name, _) = rest.split_once(')')?;
    Some(LoggedKill { pid: pid.parse().ok()?, name: name.to_owned(), at: Duration::from_micros(us) })
}

/// The time since the start of the machine, as the kernel's log has it: without that in which it was suspended.
fn since_boot() -> Duration {
    let time = clock_gettime(ClockId::Monotonic);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kill_is_known_by_its_process_and_its_time_in_the_kernels_log() {
        let of_group =
            "3,1201,88123456,-;Memory cgroup out of memory: Killed process 4711 (mariadbd) total-vm:1kB, anon-rss:2kB";
        let of_machine = "3,7,2000000,-;Out of memory: Killed process 12 (plimsoll) total-vm:1kB\n SUBSYSTEM=x\n";
        let kill = |pid, name: &str, us| Some(LoggedKill { pid, name: name.into(), at: Duration::from_micros(us) });
        assert_eq!(logged_kill(of_group), kill(4711, "mariadbd", 88_123_456));
        assert_eq!(logged_kill(of_machine), kill(12, "plimsoll", 2_000_000));
        for other in ["", "6,1,2,-;usb 1-1: new device", "6,1,x,-;Out of memory: Killed process 1 (a)", "no record"] {
            assert_eq!(logged_kill(other), None);
        }
    }

    #[test]
    fn the_counter_of_the_machine_is_read() {
        assert_eq!(number_after("oom_kill ", "pgfault 5\noom_kill 3\nnr_x 1\n"), Some(3));
        assert_eq!(number_after("oom_kill ", "oom_kill_disable 0\nunder_oom 0\n"), None);
        assert!(count_kills().is_some(), "this kernel counts them");
    }

    #[test]
    fn a_process_that_the_kernel_did_not_kill_is_no_victim_of_it() {
        let watch = OutOfMemoryWatch::start();
        assert_eq!(watch.explain(std::process::id()), None);
        assert!(!was_killed_at("no such process", SystemTime::now()));
    }
}
