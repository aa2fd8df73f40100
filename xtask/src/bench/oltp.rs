//! `oltp`: the cost of a query for the client, compared with sysbench on MariaDB and pgbench on PostgreSQL; and the memory of 512
//! clients.
//!
//! In: the release build, sysbench, pgbench, both servers. Out: per case the ratio of client CPU per query and of queries per
//! second; bytes. Limits: prepared point selects with uniform access over the unix socket, all rows in memory; plimsoll has
//! tables of its own on the same instance, which are those of sysbench in schema and number of rows, and of pgbench in number.

use super::effort::Effort;
use super::keep::measure_on_servers;
use super::one_cpu::OneCpu;
use super::pairs::{self, PairComparison, compare, judge_goal, price_line};
use super::plimsoll;
use super::server::BenchServer;
use super::watch::{self, MANY_CLIENTS, MemoryUse, RateStream, WatchedRun};
use crate::workspace;
use anyhow::{Context, Result};
use std::fs;
use std::path::Path;
use std::process::Command;

pub const NAME: &str = "oltp";

/// A comparison of plimsoll with a peer.
struct OltpCase {
    name: &'static str,
    peer: Peer,
    clients: u32,
    threads: ClientThreads,
    /// Operations that a client of both programs sends before the first of them is answered.
    depth: u32,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Peer {
    /// On MariaDB, with a thread for each client, which it always has.
    Sysbench,
    /// On PostgreSQL, with as many threads as plimsoll.
    Pgbench,
}

/// How many threads plimsoll has for its clients.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ClientThreads {
    Each,
    /// As many as there are cores.
    Cores,
}

const fn case(name: &'static str, peer: Peer, clients: u32, threads: ClientThreads) -> OltpCase {
    OltpCase { name, peer, clients, threads, depth: 1 }
}

const OLTP_CASES: [OltpCase; 15] = [
    case("mariadb-1", Peer::Sysbench, 1, ClientThreads::Each),
    case("mariadb-8", Peer::Sysbench, 8, ClientThreads::Each),
    case("mariadb-64", Peer::Sysbench, 64, ClientThreads::Each),
    case("mariadb-512", Peer::Sysbench, 512, ClientThreads::Each),
    case("mariadb-8-shared", Peer::Sysbench, 8, ClientThreads::Cores),
    case("mariadb-64-shared", Peer::Sysbench, 64, ClientThreads::Cores),
    case("mariadb-512-shared", Peer::Sysbench, 512, ClientThreads::Cores),
    case("postgres-1", Peer::Pgbench, 1, ClientThreads::Cores),
    case("postgres-8", Peer::Pgbench, 8, ClientThreads::Cores),
    case("postgres-64", Peer::Pgbench, 64, ClientThreads::Cores),
    case("postgres-512", Peer::Pgbench, 512, ClientThreads::Cores),
    case("postgres-8-threads", Peer::Pgbench, 8, ClientThreads::Each),
    case("postgres-64-threads", Peer::Pgbench, 64, ClientThreads::Each),
    OltpCase { depth: 8, ..case("postgres-1-pipeline", Peer::Pgbench, 1, ClientThreads::Each) },
    OltpCase { depth: 8, ..case("postgres-8-pipeline", Peer::Pgbench, 8, ClientThreads::Each) },
];

/// The memory of many clients: on an engine without a server, on MariaDB, and there on as many threads as cores.
const MEMORY_CASES: [&str; 3] = ["memory-null", "memory-mariadb", "memory-mariadb-shared"];

/// The cases by name.
pub fn case_names() -> impl Iterator<Item = &'static str> {
    OLTP_CASES.iter().map(|case| case.name).chain(MEMORY_CASES)
}

/// sysbench's own default, and one level more than a root in the trees of both servers.
const ROWS: &str = "10000";
/// The smallest that pgbench makes, on as many levels.
const PGBENCH_ROWS: &str = "100000";

/// Client CPU per query, plimsoll : peer, is to be at most this; and queries per second at least.
const GOAL: f64 = 1.0;

/// Measures, prints, and keeps the result.
pub fn run(root: &Path, effort: &Effort) -> Result<()> {
    measure_on_servers(root, NAME, HEAD, &["sysbench", "pgbench"], |work, rows| {
        OltpLab { root, work, seconds: effort.seconds(4, 3) }.measure_cases(effort, rows)
    })
}

/// Where the programs run.
struct OltpLab<'a> {
    root: &'a Path,
    work: &'a Path,
    seconds: u32,
}

impl OltpLab<'_> {
    /// The cases of one client are measured on one CPU, with servers that were started there.
    fn measure_cases(&self, effort: &Effort, rows: &mut Vec<String>) -> Result<()> {
        for is_alone in [true, false] {
            let _held = is_alone.then(OneCpu::hold).transpose()?;
            let wanted = |peer| {
                let cases = OLTP_CASES.iter().filter(move |case| case.peer == peer && (case.clients == 1) == is_alone);
                cases.filter(|case| effort.wants(case.name)).collect::<Vec<_>>()
            };
            self.measure_on_mariadb(effort, &wanted(Peer::Sysbench), rows)?;
            self.measure_on_postgres(effort, &wanted(Peer::Pgbench), rows)?;
        }
        self.measure_all_memory(effort, rows)
    }

    fn measure_on_mariadb(&self, effort: &Effort, cases: &[&OltpCase], rows: &mut Vec<String>) -> Result<()> {
        if cases.is_empty() {
            return Ok(());
        }
        let server = BenchServer::start_mariadb()?;
        let socket = server.dir().join("m.sock");
        workspace::output_of(sysbench_select(&socket).arg("prepare"))?;
        for case in cases {
            rows.push(
                self.compare_case(case, effort, &mariadb_url(&socket), ROWS, || self.run_sysbench(&socket, case))?,
            );
        }
        Ok(())
    }

    fn measure_on_postgres(&self, effort: &Effort, cases: &[&OltpCase], rows: &mut Vec<String>) -> Result<()> {
        if cases.is_empty() {
            return Ok(());
        }
        let server = BenchServer::start_postgres()?;
        let url = format!("postgres://plimsoll@localhost/postgres?socket={}/.s.PGSQL.5432", server.dir().display());
        workspace::output_of(pgbench(&server).args(["--initialize", "--quiet", "postgres"]))?;
        for case in cases {
            rows.push(self.compare_case(case, effort, &url, PGBENCH_ROWS, || self.run_pgbench(&server, case))?);
        }
        Ok(())
    }

    fn measure_all_memory(&self, effort: &Effort, rows: &mut Vec<String>) -> Result<()> {
        let [null, mariadb, shared] = MEMORY_CASES;
        if effort.wants_any(&[mariadb, shared]) {
            let server = BenchServer::start_mariadb()?;
            let url = mariadb_url(&server.dir().join("m.sock"));
            for (name, threads) in [(mariadb, None), (shared, Some(core_count()))] {
                if effort.wants(name) {
                    rows.push(self.measure_memory(name, &url, threads)?);
                }
            }
        }
        if effort.wants(null) {
            rows.push(self.measure_memory(null, "null", None)?);
        }
        Ok(())
    }

    fn run_sysbench(&self, socket: &Path, case: &OltpCase) -> Result<WatchedRun> {
        let mut command = sysbench_select(socket);
        command.arg(format!("--threads={}", case.clients)).arg(format!("--time={}", self.seconds)).arg("run");
        watch::run(&mut command, RateStream::Stdout, watch::of_sysbench)
    }

    fn run_pgbench(&self, server: &BenchServer, case: &OltpCase) -> Result<WatchedRun> {
        let mut command = pgbench(server);
        command.args(["-M", "prepared", "-n", "-P", "1", "-c", &case.clients.to_string()]);
        command.args(["-j", &case.threads_of_plimsoll().to_string(), "-T", &self.seconds.to_string()]);
        if case.depth == 1 {
            command.arg("-S");
        } else {
            let select = "\\set aid random(1, 100000)\nSELECT abalance FROM pgbench_accounts WHERE aid = :aid;\n";
            let script = self.work.join("pipeline.sql");
            let script_text = format!("\\startpipeline\n{}\\endpipeline\n", select.repeat(case.depth as usize));
            fs::write(&script, script_text).with_context(|| format!("cannot write `{}`", script.display()))?;
            command.arg("-f").arg(script);
        }
        watch::run(command.arg("postgres"), RateStream::Stderr, watch::of_pgbench)
    }

    fn compare_case(
        &self,
        case: &OltpCase,
        effort: &Effort,
        engine: &str,
        rows: &str,
        peer: impl Fn() -> Result<WatchedRun>,
    ) -> Result<String> {
        let (against, threads) = (case.against(), case.threads_of_plimsoll());
        let OltpCase { name, clients, depth, .. } = case;
        println!("\n{name}: prepared point selects, {clients} clients on {threads} threads, plimsoll : {against}");
        // A transaction of pgbench is a complete pipeline.
        let comparison = compare(
            effort.rounds(),
            || Ok(pairs::price_of(&self.run_plimsoll(engine, rows, *clients, Some(threads), *depth)?, 1.0)),
            || Ok(pairs::price_of(&peer()?, f64::from(*depth))),
        )?;
        Ok(table_row(name, against, &comparison))
    }

    /// The memory of many clients. They get twice the time, because they need some to connect on a busy machine.
    fn measure_memory(&self, name: &str, engine: &str, threads: Option<u32>) -> Result<String> {
        let lab = OltpLab { seconds: 2 * self.seconds, ..*self };
        Ok(memory_row(name, &lab.run_plimsoll(engine, ROWS, MANY_CLIENTS, threads, 1)?.memory))
    }

    /// Only engines that are servers have `threads`.
    fn run_plimsoll(
        &self,
        engine: &str,
        rows: &str,
        clients: u32,
        threads: Option<u32>,
        depth: u32,
    ) -> Result<WatchedRun> {
        let mut command = Command::new(plimsoll::binary(self.root));
        command.args([
            "oltp",
            "--mix",
            "point_select",
            "--warmup",
            "0s",
            "--interval",
            "250ms",
            "--no-report",
            "--plain",
        ]);
        command.args(["--engine", engine, "--table-rows", rows, "--clients", &clients.to_string()]);
        // A client that sends ahead has a thread of its own, which is the only way.
        command.args(threads.filter(|_| depth == 1).map(|threads| format!("--threads={threads}")));
        command.arg(format!("--depth={depth}"));
        command.arg("--time").arg(format!("{}s", self.seconds)).arg("--dir").arg(self.work);
        command.arg("--runs").arg(self.work.join("runs"));
        watch::run(&mut command, RateStream::Stderr, watch::of_plimsoll)
    }
}

impl OltpCase {
    fn against(&self) -> &'static str {
        match (self.peer, self.threads, self.depth) {
            (Peer::Sysbench, ClientThreads::Each, _) => "sysbench",
            (Peer::Sysbench, ClientThreads::Cores, _) => "sysbench, plimsoll threads as cores",
            (Peer::Pgbench, ClientThreads::Cores, _) => "pgbench -S, both threads as cores",
            (Peer::Pgbench, ClientThreads::Each, 1) => "pgbench -S, both threads as clients",
            (Peer::Pgbench, ClientThreads::Each, _) => "pgbench, \\startpipeline of 8, both threads as clients",
        }
    }

    fn threads_of_plimsoll(&self) -> u32 {
        match self.threads {
            ClientThreads::Each => self.clients,
            ClientThreads::Cores => self.clients.min(core_count()),
        }
    }
}

/// sysbench's oltp_point_select on the server at `socket`, without the command that follows.
fn sysbench_select(socket: &Path) -> Command {
    let mut command = Command::new("sysbench");
    command.args(["oltp_point_select", "--db-driver=mysql", "--mysql-user=root", "--mysql-db=sbtest"]);
    command.args(["--rand-type=uniform", "--tables=1", "--report-interval=1"]);
    command.arg(format!("--mysql-socket={}", socket.display())).arg(format!("--table-size={ROWS}"));
    command
}

fn mariadb_url(socket: &Path) -> String {
    format!("mysql://root@localhost/?socket={}", socket.display())
}

fn pgbench(server: &BenchServer) -> Command {
    let mut command = Command::new("pgbench");
    command.args(["-U", "plimsoll", "-h"]).arg(server.dir());
    command
}

fn core_count() -> u32 {
    std::thread::available_parallelism().map_or(1, |cores| cores.get() as u32)
}

fn table_row(name: &str, peer: &str, comparison: &PairComparison) -> String {
    let PairComparison { own, peer: other, cpu, rate } = comparison;
    let goals = format!("CPU {}, rate {}", judge_goal(GOAL, false, cpu), judge_goal(GOAL, true, rate));
    format!("{name} | {peer} | {} | {} | {cpu} | {rate} | {goals}", price_line(own), price_line(other))
}

fn memory_row(name: &str, memory: &MemoryUse) -> String {
    println!("\n{name}: {MANY_CLIENTS} clients, {memory}");
    format!("{name} | | {memory} | | | | {}", memory.judge())
}

const HEAD: &str = "\
# oltp

What a query costs the client, as `cargo xtask bench oltp` measures it: prepared point selects over a unix socket, all rows in
memory, in interleaved pairs (A B B A) on one private instance. It adds its lines here. CPU is that of the whole process in us per
query, with the part outside of the kernel in brackets, and the rate is in queries per second, both from the first line a second
that the program writes to its last (the process's CPU clock is read at each line), so that start, connecting and the making of
data are outside. Ratios are plimsoll : peer, the geometric mean over the pairs with its 95 % confidence interval (Student's t on
the logarithms). CPU is to be at most 1.0 of the peer's and the rate at least 1.0: `met` or `missed` where the whole interval is
on one side, `open` otherwise. Absolute numbers are medians, and true of that machine in those minutes only.

sysbench reads its own table of 10,000 rows and plimsoll one of the same schema and size beside it; pgbench -S reads a number from
100,000 rows, and plimsoll 120 letters from as many. Both serve the connections of `postgres-N` by as many threads as there are
cores, and in the cases `threads` by one each, which is plimsoll's default and the only way of sysbench (in lines that do not say
`both`, plimsoll had a thread each). In `shared` only plimsoll has as few threads. In `pipeline` both send eight selects before the first
is answered: pgbench as a block that it waits for, plimsoll one more whenever one is answered. The lines `memory` are the most that 512 clients of plimsoll took, `shared` on as many
threads as there are cores (an embedded engine has caches of its own for each, so there is none among them).

From 2026-12-01 on a single client and its server share one CPU. Before, the kernel put them on one core or on two as it liked, and waking the
other one took several times as long as the query: the ratio of `mariadb-1` that day was 0.7 to 8.2.

| date | versions | kernel | case | against | plimsoll | peer | CPU ratio | rate ratio | goals |
|---|---|---|---|---|---|---|---|---|---|
";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::pairs::Price;
    use crate::bench::statistics::ratio;

    #[test]
    fn a_row_fits_the_head_of_the_table_and_says_what_is_met() {
        let price = |cpu_us| Price { cpu_us, user_us: 1.0, per_s: 1e4 };
        let (cpu, rate) = (ratio(&[(4.0, 5.0); 2]).unwrap(), ratio(&[(1.0, 1.1); 2]).unwrap());
        let row = table_row("mariadb-1", "sysbench", &PairComparison { own: price(4.0), peer: price(5.0), cpu, rate });
        let columns = HEAD.lines().last().unwrap().matches('|').count() - 1;
        for row in [&row, &memory_row("memory-null", &MemoryUse { resident: 2e8, anonymous: 1e8 })] {
            assert_eq!(row.matches('|').count() + 4, columns, "{row}");
        }
        assert!(row.ends_with("CPU met, rate missed") && row.contains("4.00 us (1.00 user), 10000/s"), "{row}");
    }
}
