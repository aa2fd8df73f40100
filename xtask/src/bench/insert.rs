//! `insert`: the cost of an insert for the client, and whether the generator is ever the limit.
//!
//! In: the release build, sysbench, the servers. Out: the ratio of client CPU per single-row insert to sysbench's oltp_insert; CPU
//! per row in batches of 1,000; rows per second without an engine and with the fastest. Limits: over the unix socket, commits are not
//! synced; the CPU of an embedded engine cannot be separated from the client's, so batches are measured on servers.

use super::effort::Effort;
use super::keep::measure_on_servers;
use super::pairs::{self, PairComparison, Price, compare, judge_goal, median_price, price_line};
use super::plimsoll;
use super::server::BenchServer;
use super::statistics::median;
use super::watch::{self, RateStream, WatchedRun};
use crate::workspace;
use anyhow::{Context, Result};
use std::path::Path;
use std::process::Command;

pub const NAME: &str = "insert";

/// The cases by name.
pub const CASES: [&str; 5] = ["single-1", "single-8", "batch-mariadb", "batch-postgres", "generator"];

const BATCH: u32 = 1_000;
/// The engine that does nothing, and the others; the fastest of these is compared with it.
const ENGINES: [&str; 5] = ["null", "sqlite", "fjall", "mariadb:innodb", "postgres"];
/// Client CPU per single-row insert, plimsoll : sysbench, at most. The second goal is 0.15 of what the Python client of the insert
/// benchmark took (113 us, 63 % of all CPU used).
const GOAL: f64 = 1.0;
const SINGLE_GOAL_US: f64 = 0.15 * 113.0;
/// Per row in batches.
const BATCH_GOAL_US: f64 = 1.5;
/// Rows per second, null engine : fastest engine, at least.
const GENERATOR_GOAL: f64 = 10.0;

/// Measures, prints, and keeps the result.
pub fn run(root: &Path, effort: &Effort) -> Result<()> {
    measure_on_servers(root, NAME, HEAD, &["sysbench"], |work, rows| {
        InsertLab { root, work, seconds: effort.seconds(5, 3), rounds: effort.rounds() }.measure_cases(effort, rows)
    })
}

/// Where the programs run.
struct InsertLab<'a> {
    root: &'a Path,
    work: &'a Path,
    seconds: u32,
    rounds: u32,
}

impl InsertLab<'_> {
    fn measure_cases(&self, effort: &Effort, rows: &mut Vec<String>) -> Result<()> {
        if effort.wants_any(&CASES[..3]) {
            self.on_mariadb(effort, rows)?;
        }
        if effort.wants("batch-postgres") {
            let server = BenchServer::start_postgres()?;
            let url = format!("postgres://plimsoll@localhost/postgres?socket={}/.s.PGSQL.5432", server.dir().display());
            rows.push(self.measure_batches("batch-postgres", &url)?);
        }
        if effort.wants("generator") {
            rows.push(self.measure_generator()?);
        }
        Ok(())
    }

    fn on_mariadb(&self, effort: &Effort, rows: &mut Vec<String>) -> Result<()> {
        let server = BenchServer::start_mariadb()?;
        let socket = server.dir().join("m.sock");
        let url = format!("mysql://root@localhost/?socket={}", socket.display());
        workspace::output_of(sysbench_insert(&socket).arg("prepare"))?;
        for clients in [1, 8] {
            let name = format!("single-{clients}");
            if !effort.wants(&name) {
                continue;
            }
            println!("\n{name}: single-row inserts, {clients} clients, plimsoll : sysbench oltp_insert");
            let words = ["oltp", "--mix", "insert", "--engine", &url];
            let comparison = compare(
                self.rounds,
                || Ok(pairs::price_of(&self.run_plimsoll(&words, clients)?, 1.0)),
                || Ok(pairs::price_of(&self.run_sysbench(&socket, clients)?, 1.0)),
            )?;
            rows.push(single_row(&name, &comparison));
        }
        if effort.wants("batch-mariadb") {
            rows.push(self.measure_batches("batch-mariadb", &url)?);
        }
        Ok(())
    }

    fn run_sysbench(&self, socket: &Path, clients: u32) -> Result<WatchedRun> {
        let mut command = sysbench_insert(socket);
        command.arg(format!("--threads={clients}")).arg(format!("--time={}", self.seconds)).arg("run");
        watch::run(&mut command, RateStream::Stdout, watch::of_sysbench)
    }

    /// Client CPU per row in batches.
    fn measure_batches(&self, name: &str, engine: &str) -> Result<String> {
        println!("\n{name}: batches of {BATCH} rows, 1 client");
        let mut prices = Vec::new();
        for round in 1..=self.rounds {
            let price = pairs::price_of(&self.insert_batches(engine, 1)?, BATCH.into());
            println!("  round {round}: {}", price_line(&price));
            prices.push(price);
        }
        Ok(batch_row(name, self.seconds, &prices))
    }

    /// Rows per second without an engine, and with the fastest engine: medians of runs in turns.
    fn measure_generator(&self) -> Result<String> {
        println!("\ngenerator: batches of {BATCH} rows, 2 clients, durability none");
        let mut seen = ENGINES.map(|_| Vec::new());
        for round in 1..=self.rounds {
            for (engine, seen) in ENGINES.iter().zip(&mut seen) {
                let per_s = pairs::price_of(&self.insert_batches(engine, 2)?, BATCH.into()).per_s;
                println!("  round {round}: {engine} {per_s:.0} rows/s");
                seen.push(per_s);
            }
        }
        let [null, others @ ..] = seen.map(median);
        let fastest = ENGINES[1..].iter().copied().zip(others).max_by(|a, b| a.1.total_cmp(&b.1));
        Ok(generator_row(null, fastest.context("there are engines")?))
    }

    /// The insert benchmark without secondary indexes, which every engine does fastest.
    fn insert_batches(&self, engine: &str, clients: u32) -> Result<WatchedRun> {
        let batch = BATCH.to_string();
        let mut words = vec!["insert", "--engine", engine, "--schema", "iibench-2012", "--indexes", "0"];
        words.extend(["--step", "l.i1", "--rows", "0", "--rows-per-commit", &batch]);
        // The servers were started without syncing commits; the embedded engines get an option for it.
        if !engine.contains("://") && engine != "null" {
            words.extend(["--durability", "none"]);
        }
        self.run_plimsoll(&words, clients)
    }

    fn run_plimsoll(&self, words: &[&str], clients: u32) -> Result<WatchedRun> {
        let mut command = Command::new(plimsoll::binary(self.root));
        command.args(words).args(["--warmup", "0s", "--interval", "250ms", "--no-report", "--plain"]);
        command.args(["--clients", &clients.to_string()]).arg("--time").arg(format!("{}s", self.seconds));
        command.arg("--dir").arg(self.work).arg("--runs").arg(self.work.join("runs"));
        watch::run(&mut command, RateStream::Stderr, watch::of_plimsoll)
    }
}

/// sysbench's oltp_insert on the server at `socket`, without the command that follows.
fn sysbench_insert(socket: &Path) -> Command {
    let mut command = Command::new("sysbench");
    command.args(["oltp_insert", "--db-driver=mysql", "--mysql-user=root", "--mysql-db=sbtest", "--tables=1"]);
    command.args(["--table-size=10000", "--report-interval=1"]);
    command.arg(format!("--mysql-socket={}", socket.display()));
    command
}

fn single_row(name: &str, comparison: &PairComparison) -> String {
    let PairComparison { own, peer, cpu, rate } = comparison;
    let absolute = at_most(SINGLE_GOAL_US, own.cpu_us);
    let goals = format!("CPU {}, under {SINGLE_GOAL_US:.1} us {absolute}", judge_goal(GOAL, false, cpu));
    format!("{name} | sysbench oltp_insert | {} | {} | {cpu} | {rate} | {goals}", price_line(own), price_line(peer))
}

fn batch_row(name: &str, seconds: u32, prices: &[Price]) -> String {
    let price = median_price(prices);
    let goal = at_most(BATCH_GOAL_US, price.cpu_us);
    let (n, own) = (prices.len(), price_line(&price));
    format!("{name} | | {own}, n = {n} runs of {seconds} s | | | | under {BATCH_GOAL_US} us a row {goal}")
}

fn generator_row(null_per_s: f64, (engine, per_s): (&str, f64)) -> String {
    let ratio = null_per_s / per_s;
    let goal = if ratio >= GENERATOR_GOAL { "met" } else { "missed" };
    let (own, peer) = (format!("{null_per_s:.0} rows/s"), format!("{per_s:.0} rows/s"));
    format!("generator | {engine} | {own} | {peer} | | {ratio:.1} | rate at least {GENERATOR_GOAL} {goal}")
}

fn at_most(goal: f64, value: f64) -> &'static str {
    if value <= goal { "met" } else { "missed" }
}

const HEAD: &str = "\
# insert

What an insert costs the client, as `cargo xtask bench insert` measures it. It adds its lines here. `single` is one row a commit on
MariaDB over the unix socket, beside sysbench's oltp_insert in interleaved pairs (A B B A) on one private instance, into tables of one
schema; `batch` is the purchases table without secondary indexes in commits of 1,000 rows; `generator` is the same without an engine
beside the fastest engine there is, two clients, durability none. CPU is that of the whole process in us per row, with the part outside
of the kernel in brackets, and the rate is in rows per second, both from the first line a second that the program writes to its last.
Ratios are plimsoll : peer, the geometric mean over the pairs with its 95 % confidence interval (Student's t on the logarithms); a goal
for a ratio is `met` or `missed` where the whole interval is on one side, `open` otherwise. Absolute numbers are medians, and true of
that machine in those minutes only.

| date | versions | kernel | case | against | plimsoll | peer | CPU ratio | rate ratio | goals |
|---|---|---|---|---|---|---|---|---|---|
";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::statistics::ratio;

    #[test]
    fn rows_fit_the_head_of_the_table_and_say_what_is_met() {
        let price = |cpu_us| Price { cpu_us, user_us: 1.0, per_s: 1e4 };
        let ratio = ratio(&[(9.0, 10.0); 2]).unwrap();
        let single =
            single_row("single-1", &PairComparison { own: price(9.0), peer: price(10.0), cpu: ratio, rate: ratio });
        let batch = batch_row("batch-mariadb", 5, &[price(1.0), price(1.6), price(1.7)]);
        let generator = generator_row(1e7, ("fjall", 5e5));
        let columns = HEAD.lines().last().unwrap().matches('|').count() - 1;
        for row in [&single, &batch, &generator] {
            assert_eq!(row.matches('|').count() + 4, columns, "{row}");
        }
        assert!(single.ends_with("CPU met, under 16.9 us met"), "{single}");
        assert!(batch.ends_with("under 1.5 us a row missed") && generator.ends_with("20.0 | rate at least 10 met"));
    }
}
