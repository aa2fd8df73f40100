//! Watches a running program: its operations and its CPU from the first line with its rate to the last.
//!
//! In: a command that prints its rate about once a second. Out: operations, seconds, CPU of the whole process and its memory, between
//! those lines; so start, connecting and the load of data are left out. Limits: a line is read some ms after it was written, at both
//! ends alike; the rate is as exact as the program prints it (plimsoll: three digits).

use crate::workspace::shown;
use anyhow::{Context, Result, bail};
use std::fmt;
use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::Instant;

/// The stream on which a program prints its rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RateStream {
    Stdout,
    Stderr,
}

/// What a program did between its first line and its last.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WatchedRun {
    pub operations: f64,
    pub seconds: f64,
    /// CPU time of all its threads.
    pub cpu_ns: f64,
    /// The part of it outside of the kernel, in ticks of 10 ms.
    pub user_ns: f64,
    /// The most memory that was seen.
    pub memory: MemoryUse,
}

/// So many clients may take so much memory.
pub const MANY_CLIENTS: u32 = 512;
const MEMORY_GOAL: f64 = 150e6;

/// MemoryUse of a process, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MemoryUse {
    pub resident: f64,
    /// The part of it that is not backed by a file.
    pub anonymous: f64,
}

impl fmt::Display for MemoryUse {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{:.0} MB anonymous, {:.0} MB resident", self.anonymous / 1e6, self.resident / 1e6)
    }
}

struct RateMark {
    at: Instant,
    /// Since the line before.
    per_s: f64,
    cpu_ns: f64,
    user_ns: f64,
}

/// Runs `command` to its end. `rate` finds the operations per second in a line.
pub fn run(command: &mut Command, stream: RateStream, rate: fn(&str) -> Option<f64>) -> Result<WatchedRun> {
    let name = shown(command);
    match stream {
        RateStream::Stdout => command.stdout(Stdio::piped()),
        RateStream::Stderr => command.stdout(Stdio::null()).stderr(Stdio::piped()),
    };
    let mut child = command.stdin(Stdio::null()).spawn().with_context(|| format!("cannot start `{name}`"))?;
    let (marks, memory, other) = follow_output(&mut child, stream, rate)?;
    let status = child.wait()?;
    if !status.success() {
        bail!("`{name}` failed ({status}): {}", other.trim());
    }
    let watched = between_marks(&marks, memory);
    watched.with_context(|| format!("`{name}` printed its rate {} times: {}", marks.len(), other.trim()))
}

/// The marks of `child` until it closes the pipe, the most memory that it used, and the other lines that it wrote.
fn follow_output(
    child: &mut Child,
    stream: RateStream,
    rate: fn(&str) -> Option<f64>,
) -> Result<(Vec<RateMark>, MemoryUse, String)> {
    let pid = child.id();
    let pipe: Box<dyn std::io::Read> = match stream {
        RateStream::Stdout => Box::new(child.stdout.take().context("stdout is a pipe")?),
        RateStream::Stderr => Box::new(child.stderr.take().context("stderr is a pipe")?),
    };
    let (mut marks, mut memory, mut other) = (Vec::new(), MemoryUse::default(), String::new());
    for line in BufReader::new(pipe).lines() {
        let line = line?;
        match (rate(&line), cpu_ns(pid), user_ns(pid)) {
            (Some(per_s), Some(cpu_ns), Some(user_ns)) => {
                marks.push(RateMark { at: Instant::now(), per_s, cpu_ns, user_ns });
                memory = memory.larger_of(memory_of(pid).unwrap_or_default());
            }
            (Some(_), ..) => {} // it has ended already
            _ => other = format!("{other}\n{line}"),
        }
    }
    Ok((marks, memory, other))
}

fn between_marks(marks: &[RateMark], memory: MemoryUse) -> Option<WatchedRun> {
    let ([first, .., last], true) = (marks, marks.len() >= 2) else { return None };
    // The rate of the first line is of the time before it, which is left out.
    let operations = marks.windows(2).map(|pair| pair[1].per_s * pair[1].at.duration_since(pair[0].at).as_secs_f64());
    Some(WatchedRun {
        operations: operations.sum(),
        seconds: last.at.duration_since(first.at).as_secs_f64(),
        cpu_ns: last.cpu_ns - first.cpu_ns,
        user_ns: last.user_ns - first.user_ns,
        memory,
    })
}

/// CPU time of all threads of the process, also of those that have ended, as the scheduler counts it.
fn cpu_ns(pid: u32) -> Option<f64> {
    let mut clock = 0;
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: both pointers are valid for the calls.
    let failed = unsafe {
        libc::clock_getcpuclockid(pid as libc::pid_t, &mut clock) != 0 || libc::clock_gettime(clock, &mut time) != 0
    };
    (!failed).then_some(time.tv_sec as f64 * 1e9 + time.tv_nsec as f64)
}

/// Field 14 of /proc/PID/stat, counted from the end of the name, which may contain spaces and brackets.
fn user_ns(pid: u32) -> Option<f64> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let ticks: f64 = text.rsplit_once(')')?.1.split_whitespace().nth(11)?.parse().ok()?;
    Some(ticks * 1e9 / rustix::param::clock_ticks_per_second() as f64)
}

fn memory_of(pid: u32) -> Option<MemoryUse> {
    let text = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok()?;
    let [resident, anonymous] = ["Rss:", "Anonymous:"].map(|name| {
        let rest = text.lines().find_map(|line| line.strip_prefix(name))?;
        let kib: f64 = rest.trim().strip_suffix(" kB")?.trim().parse().ok()?;
        Some(kib * 1024.0)
    });
    Some(MemoryUse { resident: resident?, anonymous: anonymous? })
}

impl MemoryUse {
    /// Whether it meets the goal.
    pub fn judge(&self) -> &'static str {
        if self.anonymous < MEMORY_GOAL { "under 150 MB met" } else { "under 150 MB missed" }
    }

    /// The larger of each.
    fn larger_of(self, other: MemoryUse) -> MemoryUse {
        MemoryUse { resident: self.resident.max(other.resident), anonymous: self.anonymous.max(other.anonymous) }
    }
}

/// `[1/1] mysql oltp: run, 69.3k ops/s, 0:01 left`: plimsoll, in its phase run.
pub fn of_plimsoll(line: &str) -> Option<f64> {
    // Older versions wrote no comma.
    let (_, rest) = line.split_once(": run, ").or_else(|| line.split_once(" run "))?;
    let number = rest.split_once(" ops/s")?.0;
    let (digits, factor) = match number.as_bytes().last()? {
        b'k' => (&number[..number.len() - 1], 1e3),
        b'M' => (&number[..number.len() - 1], 1e6),
        _ => (number, 1.0),
    };
    Some(digits.parse::<f64>().ok()? * factor)
}

/// `[ 1s ] thds: 8 tps: 57181.64 qps: ...`: sysbench with --report-interval.
pub fn of_sysbench(line: &str) -> Option<f64> {
    line.split_once(" tps: ")?.1.split(' ').next()?.parse().ok()
}

/// `progress: 1.0 s, 24032.1 tps, lat ...`: pgbench with --progress.
pub fn of_pgbench(line: &str) -> Option<f64> {
    line.strip_prefix("progress: ")?.split_once(" s, ")?.1.split_once(" tps")?.0.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn each_program_tells_its_rate_in_its_own_words() {
        assert_eq!(of_plimsoll("[1/1] oltp on mysql run 69.3k ops/s, 0:00 left"), Some(69_300.0));
        assert_eq!(of_plimsoll("[1/1] insert on null run 1.25M ops/s, 0:01 left"), Some(1_250_000.0));
        assert_eq!(of_plimsoll("[7/7] mariadb:innodb qp: run, 14.2k ops/s, 0:10 left"), Some(14_200.0));
        assert_eq!(of_plimsoll("[1/1] oltp on mysql warmup 15.1k ops/s, 0:00 left"), None);
        assert_eq!(of_sysbench("[ 1s ] thds: 8 tps: 57181.64 qps: 57181.64 (r/w/o: 1/0/0)"), Some(57_181.64));
        assert_eq!(of_pgbench("progress: 2.0 s, 24032.1 tps, lat 0.041 ms stddev 0.010"), Some(24_032.1));
        assert_eq!((of_sysbench("Threads started!"), of_pgbench("pgbench (15.14)")), (None, None));
    }

    #[test]
    fn operations_and_cpu_are_those_between_the_first_line_and_the_last() {
        let begin = Instant::now();
        let mark = |seconds, per_s, cpu_ns| RateMark {
            at: begin + Duration::from_secs(seconds),
            per_s,
            cpu_ns,
            user_ns: cpu_ns / 4.0,
        };
        let marks = [mark(1, 9e9, 5e9), mark(2, 100.0, 6e9), mark(4, 200.0, 7e9)];
        let seen = between_marks(&marks, MemoryUse::default()).unwrap();
        assert_eq!((seen.operations, seen.seconds, seen.cpu_ns, seen.user_ns), (500.0, 3.0, 2e9, 5e8));
        assert_eq!(between_marks(&marks[..1], MemoryUse::default()), None);
    }

    #[test]
    fn a_program_is_watched_while_it_runs() {
        let script =
            "echo 'x run 5 ops/s'; n=0; while [ $n -lt 200000 ]; do n=$((n+1)); done; echo 'x run 7 ops/s'; read x";
        let seen =
            run(Command::new("sh").args(["-c", &format!("{script}; true")]), RateStream::Stdout, of_plimsoll).unwrap();
        assert!(seen.cpu_ns > 0.0 && seen.cpu_ns <= 1.1e9 * seen.seconds && seen.memory.resident > 0.0, "{seen:?}");
        let error = run(Command::new("sh").args(["-c", "echo no; exit 4"]), RateStream::Stdout, of_plimsoll);
        assert!(error.unwrap_err().to_string().ends_with("no"));
    }
}
