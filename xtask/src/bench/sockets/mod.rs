//! `sockets`: clients that share threads, whose sockets are read and written by io_uring or by epoll; and thousands of them on a real server.
//!
//! In: the release build, PostgreSQL, MariaDB. Out: per case the ratio of client CPU per query and of queries per second, io_uring : epoll,
//! or many clients : few, and the memory of a process with thousands of connections. Limits: two threads on one machine with their server,
//! whose CPU is not counted. It is this process, which answers with bytes that it knows ([`crowd`]), or MariaDB.

mod crowd;

use super::effort::Effort;
use super::keep::measure_on_servers;
use super::pairs::{PairComparison, Price, compare, price_line};
use super::server::BenchServer;
use super::statistics::median;
use super::{plimsoll, process};
use anyhow::{Context, Result};
use crowd::serve_crowd;
use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::process::Command;

pub const NAME: &str = "sockets";

/// The cases by name, each with its clients.
const CROWDS: [(&str, u32); 5] =
    [("crowd-3", 3), ("crowd-8", 8), ("crowd-64", 64), ("crowd-512", 512), ("crowd-10000", 10_000)];

/// The case on a real server with its thread pool: many clients, and few of the same.
const POOL: &str = "pool-2000";
const POOL_CLIENTS: [u32; 2] = [2_000, 64];

pub fn case_names() -> impl Iterator<Item = &'static str> {
    CROWDS.iter().map(|(name, _)| *name).chain([POOL])
}

/// Measures, prints, and keeps the result.
pub fn run(root: &Path, effort: &Effort) -> Result<()> {
    raise_open_files()?;
    let measure = |binary: PathBuf, work: &Path, rows: &mut Vec<String>| {
        let lab = SocketsLab { binary, work, seconds: effort.seconds(5, 2), rounds: effort.rounds() };
        let crowds: Vec<_> = CROWDS.into_iter().filter(|(name, _)| effort.wants(name)).collect();
        if !crowds.is_empty() {
            let server = BenchServer::start_postgres()?;
            let socket = serve_crowd(server.dir())?;
            let engine = format!("postgres://plimsoll@localhost/postgres?socket={}", socket.display());
            for (name, clients) in crowds {
                println!("\n{name}: prepared point selects of {clients} clients on two threads, io_uring : epoll");
                rows.push(lab.compare_crowds(name, &engine, [(clients, "uring"), (clients, "epoll")])?);
            }
        }
        if effort.wants(POOL) {
            let server = BenchServer::start_mariadb_pool()?;
            let engine = format!("mysql://root@localhost/?socket={}", server.dir().join("m.sock").display());
            println!(
                "\n{POOL}: prepared point selects on MariaDB's thread pool, {POOL_CLIENTS:?} clients on two threads"
            );
            rows.push(lab.compare_crowds(POOL, &engine, POOL_CLIENTS.map(|clients| (clients, "best")))?);
        }
        Ok(())
    };
    if let Some(binary) = &effort.binary {
        let work = tempfile::Builder::new().prefix(NAME).tempdir_in(root.join("target"))?;
        return measure(std::path::absolute(binary)?, work.path(), &mut Vec::new());
    }
    measure_on_servers(root, NAME, HEAD, &["psql", "mariadb"], |work, rows| measure(plimsoll::binary(root), work, rows))
}

/// The server has a file for each connection.
fn raise_open_files() -> Result<()> {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    Ok(setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum })?)
}

/// The program, and where it runs.
struct SocketsLab<'a> {
    binary: PathBuf,
    work: &'a Path,
    seconds: u32,
    rounds: u32,
}

/// What one run came to.
struct CrowdRun {
    price: Price,
    /// The most memory of the process.
    peak_bytes: f64,
    /// The mean response time by what it must be if all clients wait all of the time: clients / rate.
    truth: f64,
}

impl SocketsLab<'_> {
    /// Compares two crowds on `engine`, each of so many clients with such sockets.
    fn compare_crowds(&self, name: &str, engine: &str, [first, second]: [(u32, &str); 2]) -> Result<String> {
        let of_first = RefCell::new(Vec::new());
        let own = || {
            let run = self.run_crowd(engine, first)?;
            let price = run.price;
            of_first.borrow_mut().push(run);
            Ok(price)
        };
        let compared = compare(self.rounds, own, || Ok(self.run_crowd(engine, second)?.price))?;
        let row = table_row(name, &compared, &of_first.into_inner());
        println!("  {row}");
        Ok(row)
    }

    fn run_crowd(&self, engine: &str, (clients, sockets): (u32, &str)) -> Result<CrowdRun> {
        let mut command = Command::new(&self.binary);
        command.args(["oltp", "--mix", "point_select", "--table-rows", "10000", "--threads", "2"]);
        command.args(["--clients", &clients.to_string(), "--sockets", sockets, "--engine", engine]);
        command.args(["--warmup", "500ms", "--json", "--quiet", "--no-report", "--time"]);
        command.arg(format!("{}s", self.seconds)).arg("--dir").arg(self.work);
        command.arg("--runs").arg(self.work.join("runs"));
        let finished = process::run(&mut command)?;
        let point = plimsoll::parse_point(&finished.stdout)?;
        let [cpu_us, user_us] = [point.cpu_ns_per_op, point.user_ns_per_op].map(|ns| ns / 1e3);
        let truth = mean_response(&finished.stdout)? * point.ops_per_s / f64::from(clients) / 1e9;
        let price = Price { cpu_us, user_us, per_s: point.ops_per_s };
        Ok(CrowdRun { price, peak_bytes: finished.peak_bytes, truth })
    }
}

/// The mean response time of the one point, in ns.
fn mean_response(json: &str) -> Result<f64> {
    let run: serde_json::Value = serde_json::from_str(json)?;
    run["points"][0]["response_ns"]["mean"].as_f64().context("plimsoll's JSON has no mean response time")
}

fn table_row(name: &str, compared: &PairComparison, of_first: &[CrowdRun]) -> String {
    let PairComparison { own, peer, cpu, rate } = compared;
    let memory = median(of_first.iter().map(|run| run.peak_bytes)) / 1e6;
    let truth = median(of_first.iter().map(|run| run.truth));
    format!("{name} | {} | {} | {cpu} | {rate} | {memory:.0} MB | {truth:.2}", price_line(own), price_line(peer))
}

const HEAD: &str = "\
# sockets

What io_uring saves clients that share threads, as `cargo xtask bench sockets` measures it. It adds its lines here. Both ways take turns
(A B B A) with prepared point selects over a unix socket, closed loop, on two threads. A server in the bench answers them on one thread with
a copy of what PostgreSQL answered; its CPU is not counted.

CPU is that of the client threads per query, as the kernel counts it, with the part outside of the kernel in brackets; the rate is in
queries per second. Ratios are io_uring : epoll, the geometric mean over the pairs with its 95 % confidence interval (Student's t on the
logarithms). Absolute numbers are medians, and true of that machine in those minutes only.

`pool-2000` compares 2,000 clients of MariaDB's thread pool (column io_uring) with 64 on the same server (column epoll). Both use
the best way that the kernel has.

`memory` is the most that plimsoll's process had, in the first of both ways; with 10,000 connections it is to be below 500 MB. `mean x rate / clients` is
the mean response time by what it must be if all clients wait all of the time (Little's law): far below 1 it would leave out a
wait.

| date | versions | kernel | case | io_uring | epoll | CPU ratio | rate ratio | memory | mean x rate / clients |
|---|---|---|---|---|---|---|---|---|---|
";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::statistics::ratio;

    #[test]
    fn a_row_fits_the_head_of_the_table() {
        let price = Price { cpu_us: 4.0, user_us: 1.0, per_s: 200_000.0 };
        let both = ratio(&[(1.0, 1.2); 2]).unwrap();
        let compared = PairComparison { own: price, peer: price, cpu: both, rate: both };
        let row = table_row("crowd-8", &compared, &[CrowdRun { price, peak_bytes: 42e6, truth: 0.97 }]);
        assert_eq!(row.matches('|').count() + 4, HEAD.lines().last().unwrap().matches('|').count() - 1, "{row}");
        assert!(row.ends_with(" | 42 MB | 0.97"), "{row}");
    }

    #[test]
    fn the_mean_response_time_comes_from_the_json_of_a_run() {
        assert_eq!(mean_response(r#"{"points":[{"response_ns":{"mean":1500}}]}"#).unwrap(), 1_500.0);
        assert!(mean_response(r#"{"points":[]}"#).is_err());
    }
}
