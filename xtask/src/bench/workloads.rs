//! `workloads`: what a statement of each workload costs the client, compared with a point select of `oltp`, and a replayed read compared
//! with one of `file`; and the memory of 512 clients of each. With an older binary: what a select and an update cost, compared with that.
//!
//! In: the release build, both servers. Out: per case the ratio of client CPU per statement, with its interval; bytes. Limits: one client,
//! over the unix socket, all rows in memory, commits not synced; a statement that returns or changes more costs more, so the ratios are
//! no goals: they show whether a workload's own work (its keys, rows and decks) is small against sending a statement.

use super::effort::Effort;
use super::keep::measure_on_servers;
use super::pairs::{PairComparison, Price, compare, price_line};
use super::plimsoll;
use super::process;
use super::server::BenchServer;
use super::watch::{self, MANY_CLIENTS, MemoryUse, RateStream};
use anyhow::{Context, Result};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

pub const NAME: &str = "workloads";

/// The cases by name.
pub const CASES: [&str; 16] = [
    "mariadb-kv-reads",
    "mariadb-kv-updates",
    "mariadb-micro",
    "mariadb-orders",
    "mariadb-own",
    "mariadb-memory",
    "postgres-kv-reads",
    "postgres-kv-updates",
    "postgres-micro",
    "postgres-orders",
    "postgres-own",
    "replay",
    "mariadb-select",
    "mariadb-update",
    "postgres-select",
    "postgres-update",
];

/// The words of each case for plimsoll, with `--clients`, `--time` and the engine to follow.
const LOADS: [(&str, &[&str]); 5] = [
    ("kv-reads", &["kv", "--mix", "c", "--records", "20000"]),
    ("kv-updates", &["kv", "--mix", "a", "--records", "20000"]),
    ("micro", &["micro", "--step", "point-query.pre", "--table-rows", "10000"]),
    ("orders", &["orders", "--items", "10000", "--customers", "300", "--conditions", "false"]),
    ("own", &["run", "tpcb-like", "--scale", "1", "--repeat", "1"]),
];
const SELECT: &[&str] = &["oltp", "--mix", "point_select", "--table-rows", "10000"];

/// What is compared with an older binary of plimsoll.
const BOTH_BINARIES: [(&str, &[&str]); 2] =
    [("select", SELECT), ("update", &["oltp", "--mix", "update_index", "--table-rows", "10000"])];

/// The reads of the recording that is replayed, each of a page of `RECORDED_MIB`.
const RECORDED_READS: u64 = 2_000_000;
const RECORDED_MIB: u64 = 64;

/// Measures, prints, and keeps the result.
pub fn run(root: &Path, effort: &Effort) -> Result<()> {
    measure_on_servers(root, NAME, HEAD, &[], |work, rows| {
        let lab = WorkloadLab { root, work, seconds: effort.seconds(5, 3) };
        match &effort.older {
            Some(older) => lab.compare_binaries(older, effort, rows),
            None => lab.measure_cases(effort, rows),
        }
    })
}

/// Where the programs run.
struct WorkloadLab<'a> {
    root: &'a Path,
    work: &'a Path,
    seconds: u32,
}

impl WorkloadLab<'_> {
    fn measure_cases(&self, effort: &Effort, rows: &mut Vec<String>) -> Result<()> {
        if effort.wants_any(&CASES[..6]) {
            let server = BenchServer::start_mariadb()?;
            let url = url_of("mariadb", &server);
            self.compare_loads("mariadb", &url, effort, rows)?;
            if effort.wants("mariadb-memory") {
                for (name, words) in [("oltp", SELECT)].into_iter().chain(LOADS) {
                    rows.push(self.measure_memory(&format!("mariadb-memory, {name}"), words, &url)?);
                }
            }
        }
        if effort.wants_any(&CASES[6..11]) {
            let server = BenchServer::start_postgres()?;
            let url = url_of("postgres", &server);
            self.compare_loads("postgres", &url, effort, rows)?;
        }
        if effort.wants("replay") {
            rows.push(self.compare_replay(effort)?);
        }
        Ok(())
    }

    /// One client of this version and one of `older` in turns.
    fn compare_binaries(&self, older: &Path, effort: &Effort, rows: &mut Vec<String>) -> Result<()> {
        let own = plimsoll::binary(self.root);
        for server in ["mariadb", "postgres"] {
            let started =
                if server == "mariadb" { BenchServer::start_mariadb()? } else { BenchServer::start_postgres()? };
            let url = url_of(server, &started);
            for (name, words) in BOTH_BINARIES {
                let case = format!("{server}-{name}");
                if effort.wants(&case) {
                    println!("\n{case}: this version : {}", older.display());
                    let price = |binary: &Path| self.price_with(binary, words, &["--engine", &url]);
                    let comparison = compare(effort.rounds(), || price(&own), || price(older))?;
                    rows.push(table_row(&case, &plimsoll::own_version(older)?, &comparison));
                }
            }
        }
        Ok(())
    }

    fn compare_loads(&self, server: &str, url: &str, effort: &Effort, rows: &mut Vec<String>) -> Result<()> {
        for (name, words) in LOADS {
            let case = format!("{server}-{name}");
            if effort.wants(&case) {
                println!("\n{case}: a statement of it : a point select of oltp");
                let price = |words: &[&str]| self.price_of_statement(words, &["--engine", url]);
                let comparison = compare(effort.rounds(), || price(words), || price(SELECT))?;
                rows.push(table_row(&case, "point select of oltp", &comparison));
            }
        }
        Ok(())
    }

    fn compare_replay(&self, effort: &Effort) -> Result<String> {
        println!("\nreplay: a read of a recording : one of file, both from the page cache");
        let (trace, file) = (self.write_recording()?, self.work.join("read.file"));
        let (trace, file) = (trace.to_string_lossy(), file.to_string_lossy());
        let io = ["--path", &file, "--direct", "false", "--depth", "32"];
        let size = format!("{RECORDED_MIB}MiB");
        let replay = ["replay", "--trace", &trace, "--speed", "max", "--places", "same", "--file-size", &size];
        let read = ["file", "--mode", "rndrd", "--block", "4KiB", "--file-size", &size];
        let comparison =
            compare(effort.rounds(), || self.price_of_statement(&replay, &io), || self.price_of_statement(&read, &io))?;
        Ok(table_row("replay", "random read of file", &comparison))
    }

    /// A recording in the format of the kernel's tracefs.
    fn write_recording(&self) -> Result<PathBuf> {
        let pages = RECORDED_MIB * 256;
        let mut text = String::new();
        for nth in 0..RECORDED_READS {
            // A step that shares no divisor with the number of pages visits each of them in turn, far from the one before.
            let (page, us) = (nth * 7919 % pages, nth);
            let (seconds, part) = (us / 1_000_000, us % 1_000_000);
            writeln!(
                text,
                " reader-1 [000] ..... {seconds}.{part:06}: block_rq_issue: 8,0 R 4096 () {} + 8 none,0,0 [reader]",
                page * 8
            )?;
        }
        let path = self.work.join("reads.trace");
        std::fs::write(&path, text).with_context(|| format!("cannot write `{}`", path.display()))?;
        Ok(path)
    }

    /// One client with the workload that `words` name.
    fn price_of_statement(&self, words: &[&str], rest: &[&str]) -> Result<Price> {
        self.price_with(&plimsoll::binary(self.root), words, rest)
    }

    /// The same with another binary.
    fn price_with(&self, binary: &Path, words: &[&str], rest: &[&str]) -> Result<Price> {
        let mut command = self.command(binary, words, rest, 1);
        command.args(["--warmup", "500ms", "--json", "--quiet"]);
        parse_price(&process::run(&mut command)?.stdout)
    }

    /// The memory of many clients.
    fn measure_memory(&self, name: &str, words: &[&str], url: &str) -> Result<String> {
        let mut command = self.command(&plimsoll::binary(self.root), words, &["--engine", url], MANY_CLIENTS);
        command.args(["--warmup", "0s", "--plain"]);
        Ok(memory_row(name, &watch::run(&mut command, RateStream::Stderr, watch::of_plimsoll)?.memory))
    }

    fn command(&self, binary: &Path, words: &[&str], rest: &[&str], clients: u32) -> Command {
        let mut command = Command::new(binary);
        command.args(words).args(rest).args(["--interval", "250ms", "--no-report", "--clients", &clients.to_string()]);
        command.arg("--time").arg(format!("{}s", self.seconds)).arg("--dir").arg(self.work);
        command.arg("--runs").arg(self.work.join("runs"));
        command
    }
}

/// The URL of the `server` that was `started`.
fn url_of(server: &str, started: &BenchServer) -> String {
    let dir = started.dir().display();
    match server {
        "mariadb" => format!("mysql://root@localhost/?socket={dir}/m.sock"),
        _ => format!("postgres://plimsoll@localhost/postgres?socket={dir}/.s.PGSQL.5432"),
    }
}

/// What a statement cost the client threads, by the JSON of a run with one point.
fn parse_price(json: &str) -> Result<Price> {
    let point = plimsoll::parse_point(json)?;
    let [cpu_us, user_us] = [point.cpu_ns_per_op, point.user_ns_per_op]
        .map(|ns_per_op| ns_per_op * point.ops_per_s / point.queries_per_s / 1e3);
    Ok(Price { cpu_us, user_us, per_s: point.queries_per_s })
}

fn table_row(name: &str, against: &str, comparison: &PairComparison) -> String {
    let PairComparison { own, peer, cpu, .. } = comparison;
    format!("{name} | {against} | {} | {} | {cpu} |", price_line(own), price_line(peer))
}

fn memory_row(name: &str, memory: &MemoryUse) -> String {
    println!("{name}: {MANY_CLIENTS} clients, {memory}");
    format!("{name} | | {memory} | | | {}", memory.judge())
}

const HEAD: &str = "\
# workloads

What a statement of each workload costs the client, as `cargo xtask bench workloads` measures it: one client over a unix socket, all rows
in memory, commits not synced, in interleaved pairs (A B B A) with prepared point selects of `oltp` on the same server. A replayed
read is compared with a random read of `file`, both from the page cache with 32 in flight. CPU is that of the client's thread in us per
statement, with the part outside of the kernel in brackets; the rate is in statements per second. Ratios are the workload : the other, the
geometric mean over the pairs with its 95 % confidence interval (Student's t on the logarithms). A statement that returns or changes more
costs more, so the ratios have no goal. The lines `memory` are the most that 512 clients took. Absolute numbers are medians, and true of that
machine in those minutes only.

| date | versions | kernel | case | against | workload | other | CPU ratio | goals |
|---|---|---|---|---|---|---|---|---|
";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::statistics::ratio;

    #[test]
    fn a_transaction_is_divided_by_its_statements() {
        let run = r#"{"points":[{"ops":2500.0,"failed":0,"ops_per_s":500.0,"queries_per_s":10000.0,
            "client":{"cpu_ns_per_op":360000.0,"cpu_user_ns_per_op":40000.0}}]}"#;
        assert_eq!(parse_price(run).unwrap(), Price { cpu_us: 18.0, user_us: 2.0, per_s: 10_000.0 });
        assert!(parse_price(&run.replace("360000.0", "null")).is_err());
        assert!(parse_price(r#"{"points":[]}"#).is_err());
    }

    #[test]
    fn rows_fit_the_head_of_the_table() {
        let price = Price { cpu_us: 18.0, user_us: 2.0, per_s: 1e4 };
        let same = || ratio(&[(4.0, 5.0); 2]).unwrap();
        let comparison = PairComparison { own: price, peer: price, cpu: same(), rate: same() };
        let columns = HEAD.lines().last().unwrap().matches('|').count() - 1;
        let memory = MemoryUse { resident: 1e8, anonymous: 5e7 };
        for row in
            [table_row("mariadb-own", "point select of oltp", &comparison), memory_row("mariadb-memory, kv", &memory)]
        {
            assert_eq!(row.matches('|').count() + 4, columns, "{row}");
        }
    }
}
