//! Watches a running program: what it did and what CPU it took from the first line a second that it writes to the last.
//!
//! In: a command that tells its rate about once a second. Out: operations, seconds, CPU of the whole process and, where asked,
//! its memory, between those lines. So start, connecting, preparing and the making of data are outside. Limits: a line is seen
//! some ms after it was written, at both ends alike; the rate is as exact as the program prints it (plimsoll: three digits).

use crate::workspace::shown;
use anyhow::{Context, Result, bail};
use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::Instant;

/// Where a program tells its rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tells {
    Stdout,
    Stderr,
}

/// What a program did between its first line and its last.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Window {
    pub operations: f64,
    pub seconds: f64,
    /// CPU time of all its threads,
    pub cpu_ns: f64,
    /// and the part of it outside of the kernel, in ticks of 10 ms.
    pub user_ns: f64,
    /// The most memory that was seen.
    pub memory: Memory,
}

/// Memory of a process, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Memory {
    /// All of it,
    pub resident: f64,
    /// and that which no file stands behind.
    pub anonymous: f64,
}

/// One line.
struct Mark {
    at: Instant,
    /// Since the line before.
    per_s: f64,
    cpu_ns: f64,
    user_ns: f64,
}

/// Runs `command` to its end. `rate` finds the operations per second in a line.
pub fn run(command: &mut Command, tells: Tells, rate: fn(&str) -> Option<f64>) -> Result<Window> {
    let name = shown(command);
    match tells {
        Tells::Stdout => command.stdout(Stdio::piped()),
        Tells::Stderr => command.stdout(Stdio::null()).stderr(Stdio::piped()),
    };
    let mut child = command.stdin(Stdio::null()).spawn().with_context(|| format!("cannot start `{name}`"))?;
    let (marks, memory, told) = follow(&mut child, tells, rate)?;
    let status = child.wait()?;
    if !status.success() {
        bail!("`{name}` failed ({status}): {}", told.trim());
    }
    window(&marks, memory).with_context(|| format!("`{name}` told its rate {} times: {}", marks.len(), told.trim()))
}

/// Its marks until it closes the pipe, the most memory, and the end of what it wrote beside them.
fn follow(child: &mut Child, tells: Tells, rate: fn(&str) -> Option<f64>) -> Result<(Vec<Mark>, Memory, String)> {
    let pid = child.id();
    let pipe: Box<dyn std::io::Read> = match tells {
        Tells::Stdout => Box::new(child.stdout.take().context("stdout is a pipe")?),
        Tells::Stderr => Box::new(child.stderr.take().context("stderr is a pipe")?),
    };
    let (mut marks, mut memory, mut told) = (Vec::new(), Memory::default(), String::new());
    for line in BufReader::new(pipe).lines() {
        let line = line?;
        match (rate(&line), cpu_ns(pid), user_ns(pid)) {
            (Some(per_s), Some(cpu_ns), Some(user_ns)) => {
                marks.push(Mark { at: Instant::now(), per_s, cpu_ns, user_ns });
                memory = memory.max(memory_of(pid).unwrap_or_default());
            }
            (Some(_), ..) => {} // it has ended already
            _ => told = format!("{told}\n{line}"),
        }
    }
    Ok((marks, memory, told))
}

fn window(marks: &[Mark], memory: Memory) -> Option<Window> {
    let ([first, .., last], true) = (marks, marks.len() >= 2) else { return None };
    let between = |pair: &[Mark]| pair[1].per_s * pair[1].at.duration_since(pair[0].at).as_secs_f64();
    Some(Window {
        operations: marks.windows(2).map(between).sum(),
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

/// Field 14 of /proc/PID/stat, counted from behind the name, which may hold anything.
fn user_ns(pid: u32) -> Option<f64> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let ticks: f64 = text.rsplit_once(')')?.1.split_whitespace().nth(11)?.parse().ok()?;
    Some(ticks * 1e9 / rustix::param::clock_ticks_per_second() as f64)
}

fn memory_of(pid: u32) -> Option<Memory> {
    let text = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok()?;
    let kib = |name: &str| {
        let rest = text.lines().find_map(|line| line.strip_prefix(name))?;
        rest.trim().strip_suffix(" kB")?.trim().parse::<f64>().ok()
    };
    Some(Memory { resident: kib("Rss:")? * 1024.0, anonymous: kib("Anonymous:")? * 1024.0 })
}

impl Memory {
    /// The larger of each.
    fn max(self, other: Memory) -> Memory {
        Memory { resident: self.resident.max(other.resident), anonymous: self.anonymous.max(other.anonymous) }
    }
}

/// `[1/1] oltp on mysql run 69.3k ops/s, 0:01 left`: plimsoll, in its phase run.
pub fn of_plimsoll(line: &str) -> Option<f64> {
    let (_, rest) = line.split_once(" run ")?;
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
        assert_eq!(of_plimsoll("[1/1] oltp on mysql warmup 15.1k ops/s, 0:00 left"), None);
        assert_eq!(of_sysbench("[ 1s ] thds: 8 tps: 57181.64 qps: 57181.64 (r/w/o: 1/0/0)"), Some(57_181.64));
        assert_eq!(of_pgbench("progress: 2.0 s, 24032.1 tps, lat 0.041 ms stddev 0.010"), Some(24_032.1));
        assert_eq!((of_sysbench("Threads started!"), of_pgbench("pgbench (15.14)")), (None, None));
    }

    #[test]
    fn operations_and_cpu_are_those_between_the_first_line_and_the_last() {
        let begin = Instant::now();
        let mark = |seconds, per_s, cpu_ns| Mark {
            at: begin + Duration::from_secs(seconds),
            per_s,
            cpu_ns,
            user_ns: cpu_ns / 4.0,
        };
        let marks = [mark(1, 9e9, 5e9), mark(2, 100.0, 6e9), mark(4, 200.0, 7e9)];
        let seen = window(&marks, Memory::default()).unwrap();
        assert_eq!((seen.operations, seen.seconds, seen.cpu_ns, seen.user_ns), (500.0, 3.0, 2e9, 5e8));
        assert_eq!(window(&marks[..1], Memory::default()), None);
    }

    #[test]
    fn a_program_is_watched_while_it_runs() {
        let script =
            "echo 'x run 5 ops/s'; n=0; while [ $n -lt 200000 ]; do n=$((n+1)); done; echo 'x run 7 ops/s'; read x";
        let seen =
            run(Command::new("sh").args(["-c", &format!("{script}; true")]), Tells::Stdout, of_plimsoll).unwrap();
        assert!(seen.cpu_ns > 0.0 && seen.cpu_ns <= 1.1e9 * seen.seconds && seen.memory.resident > 0.0, "{seen:?}");
        let error = run(Command::new("sh").args(["-c", "echo no; exit 4"]), Tells::Stdout, of_plimsoll);
        assert!(error.unwrap_err().to_string().ends_with("no"));
    }
}
