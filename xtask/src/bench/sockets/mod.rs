//! `sockets`: clients that share threads, whose sockets are read and written by io_uring or by epoll.
//!
//! In: the release build, PostgreSQL. Out: per case the ratio of client CPU per query and of queries per second, io_uring : epoll, and
//! the memory of a process with thousands of connections. Limits: two threads on one machine with their server, which is this process and
//! answers with bytes that it knows ([`crowd`]); its CPU is not counted.

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

pub fn case_names() -> impl Iterator<Item = &'static str> {
    CROWDS.iter().map(|(name, _)| *name)
}

/// Measures, prints, and keeps the result.
pub fn run(root: &Path, effort: &Effort) -> Result<()> {
    raise_open_files()?;
    let measure = |binary: PathBuf, work: &Path, rows: &mut Vec<String>| {
        let server = BenchServer::start_postgres()?;
        let socket = serve_crowd(server.dir())?;
        let lab = SocketsLab { binary, work, socket, seconds: effort.seconds(5, 2) };
        for (name, clients) in CROWDS.into_iter().filter(|(name, _)| effort.wants(name)) {
            rows.push(lab.compare_ways(name, clients, effort.rounds())?);
        }
        Ok(())
    };
    if let Some(binary) = &effort.binary {
        let work = tempfile::Builder::new().prefix(NAME).tempdir_in(root.join("target"))?;
        return measure(std::path::absolute(binary)?, work.path(), &mut Vec::new());
    }
    measure_on_servers(root, NAME, HEAD, &["psql"], |work, rows| measure(plimsoll::binary(root), work, rows))
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
    socket: PathBuf,
    seconds: u32,
}

/// What one run with one way came to.
struct CrowdRun {
    price: Price,
    /// The most memory of the process.
    peak_bytes: f64,
    /// The mean response time by what it must be if all clients wait all of the time: clients / rate.
    truth: f64,
}

impl SocketsLab<'_> {
    fn compare_ways(&self, name: &str, clients: u32, rounds: u32) -> Result<String> {
        println!("\n{name}: prepared point selects of {clients} clients on two threads, io_uring : epoll");
        let by_ring = RefCell::new(Vec::new());
        let own = || {
            let run = self.run_crowd(clients, "uring")?;
            let price = run.price;
            by_ring.borrow_mut().push(run);
            Ok(price)
        };
        let compared = compare(rounds, own, || Ok(self.run_crowd(clients, "epoll")?.price))?;
        let row = table_row(name, &compared, &by_ring.into_inner());
        println!("  {row}");
        Ok(row)
    }

    fn run_crowd(&self, clients: u32, sockets: &str) -> Result<CrowdRun> {
        let mut command = Command::new(&self.binary);
        command.args(["oltp", "--mix", "point_select", "--table-rows", "10000", "--threads", "2"]);
        command.args(["--clients", &clients.to_string(), "--sockets", sockets, "--engine"]);
        command.arg(format!("postgres://plimsoll@localhost/postgres?socket={}", self.socket.display()));
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

fn table_row(name: &str, compared: &PairComparison, by_ring: &[CrowdRun]) -> String {
    let PairComparison { own, peer, cpu, rate } = compared;
    let memory = median(by_ring.iter().map(|run| run.peak_bytes)) / 1e6;
    let truth = median(by_ring.iter().map(|run| run.truth));
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

`memory` is the most that plimsoll's process had, with io_uring; with 10,000 connections it is to be below 500 MB. `mean x rate / clients` is
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
