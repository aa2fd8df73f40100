//! `floor`: what plimsoll adds to the system calls of a load, compared with a loop that makes the same calls and does nothing else.
//!
//! In: the release build, the example `floor` of the crate `load`, PostgreSQL. Out: per case the ratio of client CPU per operation and of
//! operations per second. Limits: one client, that is one thread on each side; reads of a file are of the page cache, and
//! the server of the selects is this process, which answers with bytes that it knows ([`canned`]) on the CPU of its client.

mod canned;

use super::cases::{CaseIo, IoCase, IoPlace};
use super::effort::Effort;
use super::keep::measure_on_servers;
use super::one_cpu::OneCpu;
use super::pairs::{PairComparison, Price, compare, judge_goal};
use super::server::BenchServer;
use super::{plimsoll, process};
use crate::workspace;
use anyhow::{Context, Result, ensure};
use canned::CannedServer;
use std::cell::Cell;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

pub const NAME: &str = "floor";

/// The cases by name.
pub const CASES: [&str; 5] = ["pread", "uring-1", "uring-32", "select-unix", "select-tcp"];

/// Client CPU per operation, plimsoll : floor, is to be at most this.
const GOAL: f64 = 1.1;

/// A core's own cache holds the file, so that the kernel's part is as small as it can be, and plimsoll's shows.
const CACHED: IoPlace = IoPlace::Cache { mib: 1 };

/// Measures, prints, and keeps the result.
pub fn run(root: &Path, effort: &Effort) -> Result<()> {
    let example = ["build", "--release", "--locked", "--package", "load", "--example", NAME];
    workspace::run(workspace::cargo(root).args(example))?;
    let floor = root.join("target/release/examples").join(NAME);
    let measure = |binary: PathBuf, work: &Path, rows: &mut Vec<String>| {
        FloorLab { binary, floor, work, seconds: effort.seconds(5, 2) }.measure_cases(effort, rows)
    };
    if let Some(binary) = &effort.binary {
        let work = tempfile::Builder::new().prefix(NAME).tempdir_in(root.join("target"))?;
        return measure(std::path::absolute(binary)?, work.path(), &mut Vec::new());
    }
    measure_on_servers(root, NAME, HEAD, &["psql"], |work, rows| measure(plimsoll::binary(root), work, rows))
}

/// The programs, and where they run.
struct FloorLab<'a> {
    binary: PathBuf,
    floor: PathBuf,
    work: &'a Path,
    seconds: u32,
}

impl FloorLab<'_> {
    fn measure_cases(&self, effort: &Effort, rows: &mut Vec<String>) -> Result<()> {
        let ways = [CaseIo::Sync, CaseIo::Uring { depth: 1 }, CaseIo::Uring { depth: 32 }];
        for (name, io) in CASES.into_iter().zip(ways).filter(|(name, _)| effort.wants(name)) {
            let case = IoCase { name, place: CACHED, io, block_kib: 4 };
            rows.push(self.compare_reads(&case, effort.rounds())?);
        }
        if effort.wants_any(&CASES[3..]) {
            self.compare_selects(effort, rows)?;
        }
        Ok(())
    }

    fn compare_reads(&self, case: &IoCase, rounds: u32) -> Result<String> {
        println!("\n{}: {}, plimsoll : floor", case.name, case.describe());
        let file = case.make_file(self.work)?;
        let path = file.to_string_lossy();
        let depth = case.depth().to_string();
        let loop_words = match case.io {
            CaseIo::Sync => vec!["pread", &*path],
            CaseIo::Uring { .. } => vec!["uring", &*path, &*depth],
        };
        let own = || {
            let cost = plimsoll::run(&self.binary, case, &file, self.work, self.seconds, false)?;
            Ok(Price { cpu_us: cost.thread_ns / 1e3, user_us: cost.user_ns / 1e3, per_s: cost.per_s })
        };
        self.compare_with_floor(case.name, rounds, own, &loop_words)
    }

    /// All on one CPU.
    fn compare_selects(&self, effort: &Effort, rows: &mut Vec<String>) -> Result<()> {
        let _held = OneCpu::hold()?;
        let server = BenchServer::start_postgres()?;
        let canned = CannedServer::start(server.dir())?;
        let socket = canned.socket.display().to_string();
        let address = format!("127.0.0.1:{}", canned.port);
        let by_socket = format!("postgres://plimsoll@localhost/postgres?socket={socket}");
        let by_network = format!("postgres://plimsoll@{address}/postgres");
        // The server learns what it is asked, and what to answer.
        self.price_of_select(&by_socket)?;
        let exchange = canned.exchange().context("plimsoll executed no prepared statement")?;
        let message = self.work.join("message");
        fs::write(&message, &exchange.message)?;
        let (message, answer) = (message.to_string_lossy(), exchange.answer.len().to_string());
        for (name, url, at) in [(CASES[3], &by_socket, socket), (CASES[4], &by_network, format!("tcp:{address}"))] {
            if effort.wants(name) {
                println!("\n{name}: prepared point selects, the same answer to each, plimsoll : floor");
                let loop_words = ["exchange", &*at, &*message, &*answer];
                rows.push(self.compare_with_floor(name, effort.rounds(), || self.price_of_select(url), &loop_words)?);
            }
        }
        Ok(())
    }

    /// `own` in turns with the loop that `loop_words` describe, which does as many operations each time as `own` did the last time.
    fn compare_with_floor(
        &self,
        name: &str,
        rounds: u32,
        own: impl Fn() -> Result<Price>,
        loop_words: &[&str],
    ) -> Result<String> {
        let ops = Cell::new(0.0);
        let own = || {
            let price = own()?;
            ops.set((price.per_s * f64::from(self.seconds)).round());
            Ok(price)
        };
        let floor = || {
            let mut command = Command::new(&self.floor);
            command.args(loop_words).arg(ops.get().to_string());
            parse_floor(&process::run(&mut command)?.stdout, ops.get())
        };
        let row = table_row(name, &compare(rounds, own, floor)?);
        println!("  {row}");
        Ok(row)
    }

    fn price_of_select(&self, url: &str) -> Result<Price> {
        let mut command = Command::new(&self.binary);
        command.args(["oltp", "--mix", "point_select", "--table-rows", "10000", "--clients", "1", "--engine", url]);
        command.args(["--warmup", "500ms", "--json", "--quiet", "--no-report", "--time"]);
        command.arg(format!("{}s", self.seconds)).arg("--dir").arg(self.work);
        command.arg("--runs").arg(self.work.join("runs"));
        let point = plimsoll::parse_point(&process::run(&mut command)?.stdout)?;
        let [cpu_us, user_us] = [point.cpu_ns_per_op, point.user_ns_per_op].map(|ns| ns / 1e3);
        Ok(Price { cpu_us, user_us, per_s: point.ops_per_s })
    }
}

/// The seconds, the CPU and the part of it outside of the kernel that the loop prints after `ops` operations.
fn parse_floor(line: &str, ops: f64) -> Result<Price> {
    let numbers = line.split_whitespace().map(str::parse).collect::<Result<Vec<f64>, _>>()?;
    let [seconds, cpu_ns, user_ns] = numbers[..] else {
        anyhow::bail!("the loop prints other numbers than expected: {line}");
    };
    ensure!(ops > 0.0 && seconds > 0.0, "the loop did nothing");
    Ok(Price { cpu_us: cpu_ns / ops / 1e3, user_us: user_ns / ops / 1e3, per_s: ops / seconds })
}

fn table_row(name: &str, comparison: &PairComparison) -> String {
    let PairComparison { own, peer, cpu, rate } = comparison;
    let goal = judge_goal(GOAL, false, cpu);
    format!("{name} | {} | {} | {cpu} | {rate} | {goal}", cost_text(own), cost_text(peer))
}

/// `403 ns (73 user), 2450000/s`.
fn cost_text(price: &Price) -> String {
    format!("{:.0} ns ({:.0} user), {:.0}/s", price.cpu_us * 1e3, price.user_us * 1e3, price.per_s)
}

const HEAD: &str = "\
# floor

What plimsoll adds to the system calls of a load, as `cargo xtask bench floor` measures it. It adds its lines here. The floor is a loop that makes
the same calls and counts them: no operation is timed, kept or drawn from a workload, and the clock is read twice in all. Nothing that
measures can be at 1.0; plimsoll reads the clock twice an operation, or twice a batch, and keeps each time.

Both have one thread and take turns (A B B A). CPU is that of the thread, as the kernel counts it, in ns per operation, with the part outside
of the kernel in brackets; the rate is in operations per second. Ratios are plimsoll : floor, the geometric mean over the pairs with its
95 % confidence interval (Student's t on the logarithms). CPU is to be at most 1.1: `met` or `missed` where the whole interval is on one side,
`open` otherwise. Absolute numbers are medians, and true of that machine in those minutes only.

`pread` and `uring-N` read 4 KiB at random from a file of 1 MiB in the page cache, the latter with registered files and buffers and N in
flight. `select` is a prepared point select over a unix socket or the loopback: a server in the bench answers the first
as PostgreSQL does, and all others with a copy of that answer; the floor sends the same bytes and reads as many. The server's CPU is
not counted. Client and server share one CPU: on which core the kernel wakes a thread decides more about a select than either program does
(before 2026-12-01 it was free to choose).

| date | versions | kernel | case | plimsoll | floor | CPU ratio | rate ratio | CPU at most 1.1 |
|---|---|---|---|---|---|---|---|---|
";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::statistics::ratio;

    #[test]
    fn the_loop_tells_its_time_and_its_cpu() {
        let price = parse_floor("2.5\t1000000\t250000\n", 1_000.0).unwrap();
        assert_eq!(price, Price { cpu_us: 1.0, user_us: 0.25, per_s: 400.0 });
        assert!(parse_floor("2.5\t1000000\n", 1_000.0).is_err());
        assert!(parse_floor("0\t0\t0\n", 0.0).is_err());
    }

    #[test]
    fn a_row_fits_the_head_of_the_table() {
        let price = Price { cpu_us: 0.403, user_us: 0.073, per_s: 2.45e6 };
        let (cpu, rate) = (ratio(&[(1.2, 1.0); 2]).unwrap(), ratio(&[(1.0, 1.2); 2]).unwrap());
        let row = table_row("pread", &PairComparison { own: price, peer: price, cpu, rate });
        assert_eq!(row.matches('|').count() + 4, HEAD.lines().last().unwrap().matches('|').count() - 1, "{row}");
        assert!(row.starts_with("pread | 403 ns (73 user), 2450000/s | ") && row.ends_with(" | missed"), "{row}");
    }
}
