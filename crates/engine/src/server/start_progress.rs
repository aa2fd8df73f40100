//! Whether a server that is being started still gets on with it.
//!
//! In: the size of its log and the CPU time of its processes, again and again. Out: whether it is worth waiting. Limits: a server that does
//! nothing but wait for the disk looks as if it stood still, so it is given a minute; one that never ends its work is given ten.

use std::fs;
use std::path::Path;
use std::time::Duration;

/// How long a server may neither write to its log nor use the CPU before it is ready. On a busy machine it gets little of it.
pub const STANDSTILL_AT_MOST: Duration = Duration::from_secs(60);

/// How long a start may take at all: a server with a large log recovers for minutes.
pub const START_AT_MOST: Duration = Duration::from_secs(600);

/// What counts as work. A server that only waits uses some milliseconds in a minute.
const WORK: Duration = Duration::from_secs(1);

/// What a server has done so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WorkDone {
    /// The size of its log.
    pub log_bytes: u64,
    /// The CPU time of its process and of the children of that.
    pub cpu: Duration,
}

impl WorkDone {
    /// What the server `pid` has done, as far as it can be seen.
    pub fn of(pid: u32, log: &Path) -> WorkDone {
        let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
        let children = children.split_whitespace().filter_map(|child| child.parse().ok());
        WorkDone {
            log_bytes: fs::metadata(log).map_or(0, |found| found.len()),
            cpu: std::iter::once(pid).chain(children).map(cpu_time).sum(),
        }
    }
}

/// The CPU time of a process with that of the children that it has waited for; 0 if it cannot be read.
fn cpu_time(pid: u32) -> Duration {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let ticks_per_s = rustix::param::clock_ticks_per_second();
    parse_cpu_ticks(&stat).map_or(Duration::ZERO, |ticks| Duration::from_millis(1000 * ticks / ticks_per_s))
}

/// Fields 14 to 17 of proc_pid_stat(5): user and system time, of its own and of children. The name before them may hold anything.
fn parse_cpu_ticks(stat: &str) -> Option<u64> {
    let behind_name = &stat[stat.rfind(')')? + 1..];
    let ticks = behind_name.split_whitespace().skip(11).take(4).map(str::parse::<u64>);
    ticks.sum::<Result<u64, _>>().ok()
}

/// When a server that is being started did something last.
#[derive(Debug, Default)]
pub struct StartProgress {
    seen: WorkDone,
    at: Duration,
}

impl StartProgress {
    /// Whether it is worth waiting, `elapsed` after the start, for a server that has done `work`.
    pub fn is_hopeful(&mut self, elapsed: Duration, work: WorkDone) -> bool {
        if work.log_bytes != self.seen.log_bytes || work.cpu >= self.seen.cpu + WORK {
            (self.seen, self.at) = (work, elapsed);
        }
        elapsed < START_AT_MOST && elapsed - self.at < STANDSTILL_AT_MOST
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The seconds for which a server is waited for that has done this by each of them.
    fn patience(work: impl Fn(u64) -> WorkDone) -> u64 {
        let mut progress = StartProgress::default();
        (0..).find(|second| !progress.is_hopeful(Duration::from_secs(*second), work(*second))).unwrap()
    }

    fn cpu(cpu: Duration) -> WorkDone {
        WorkDone { log_bytes: 100, cpu }
    }

    #[test]
    fn a_server_that_does_nothing_is_given_a_minute_and_one_that_works_ten() {
        assert_eq!(patience(|_| WorkDone::default()), 60);
        assert_eq!(patience(|_| cpu(Duration::ZERO)), 60);
        assert_eq!(patience(|second| cpu(Duration::from_millis(2 * second))), 60, "it only waits");
        // One core shared by twenty.
        assert_eq!(patience(|second| cpu(Duration::from_millis(50 * second))), 600);
        assert_eq!(patience(|second| WorkDone { log_bytes: second.min(90) / 30, cpu: Duration::ZERO }), 150);
    }

    #[test]
    fn the_times_of_a_process_are_behind_its_name() {
        let stat = "71 (a ) b) S 1 71 71 0 -1 4194560 900 0 0 0 20 5 3 2 20 0 1 0 100 0 0";
        assert_eq!(parse_cpu_ticks(stat), Some(30));
        assert_eq!((parse_cpu_ticks(""), parse_cpu_ticks("71 (a) S 1")), (None, Some(0)));
        let begun = WorkDone::of(std::process::id(), Path::new("/proc/self/cmdline"));
        while WorkDone::of(std::process::id(), Path::new("/nowhere")).cpu <= begun.cpu {}
    }
}
