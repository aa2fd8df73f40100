//! `oltp`: the cost of a query for the client, compared with sysbench on MariaDB and pgbench on PostgreSQL; and the memory of 512
//! clients.
//!
//! In: the release build, sysbench, pgbench, both servers. Out: per case the ratio of client CPU per query and of queries per
//! second; bytes. Limits: prepared point selects with uniform access over the unix socket, all rows in memory; plimsoll has
//! tables of its own on the same instance, which are those of sysbench in schema and number of rows, and of pgbench in number.

use super::effort::Effort;
use super::keep::measure_on_servers;
use super::pairs::{self, PairComparison, compare, judge_goal, price_line};
use super::plimsoll;
use super::server::BenchServer;
use super::watch::{self, MANY_CLIENTS, MemoryUse, RateStream, WatchedRun};
use crate::workspace;
use anyhow::Result;
use std::path::Path;
use std::process::Command;

pub const NAME: &str = "oltp";

/// The cases by name.
pub const CASES: [&str; 11] = [
    "mariadb-1",
    "mariadb-8",
    "mariadb-64",
    "postgres-1",
    "postgres-8",
    "postgres-64",
    "postgres-8-threads",
    "postgres-64-threads",
    "memory-null",
    "memory-mariadb",
    "memory-mariadb-shared",
];

const CLIENTS: [u32; 3] = [1, 8, 64];
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

/// A comparison of plimsoll with a peer.
struct OltpCase<'a> {
    name: String,
    against: &'static str,
    engine: &'a str,
    rows: &'static str,
    clients: u32,
    /// The number of plimsoll's client threads.
    threads: u32,
}

impl OltpLab<'_> {
    fn measure_cases(&self, effort: &Effort, rows: &mut Vec<String>) -> Result<()> {
        if effort.wants_any(&CASES[..3]) || effort.wants_any(&CASES[9..]) {
            self.on_mariadb(effort, rows)?;
        }
        if effort.wants_any(&CASES[3..8]) {
            self.on_postgres(effort, rows)?;
        }
        if effort.wants("memory-null") {
            rows.push(self.measure_memory("memory-null", "null", None)?);
        }
        Ok(())
    }

    fn on_mariadb(&self, effort: &Effort, rows: &mut Vec<String>) -> Result<()> {
        let server = BenchServer::start_mariadb()?;
        let socket = server.dir().join("m.sock");
        let url = format!("mysql://root@localhost/?socket={}", socket.display());
        workspace::output_of(sysbench_select(&socket).arg("prepare"))?;
        for clients in CLIENTS {
            let name = format!("mariadb-{clients}");
            let case = OltpCase { name, against: "sysbench", engine: &url, rows: ROWS, clients, threads: clients };
            rows.extend(self.compare_case(&case, effort, || self.run_sysbench(&socket, clients))?);
        }
        if effort.wants("memory-mariadb") {
            rows.push(self.measure_memory("memory-mariadb", &url, None)?);
        }
        if effort.wants("memory-mariadb-shared") {
            rows.push(self.measure_memory("memory-mariadb-shared", &url, Some(core_count()))?);
        }
        Ok(())
    }

    fn run_sysbench(&self, socket: &Path, clients: u32) -> Result<WatchedRun> {
        let mut command = sysbench_select(socket);
        command.arg(format!("--threads={clients}")).arg(format!("--time={}", self.seconds)).arg("run");
        watch::run(&mut command, RateStream::Stdout, watch::of_sysbench)
    }

    fn on_postgres(&self, effort: &Effort, rows: &mut Vec<String>) -> Result<()> {
        let server = BenchServer::start_postgres()?;
        let url = format!("postgres://plimsoll@localhost/postgres?socket={}/.s.PGSQL.5432", server.dir().display());
        workspace::output_of(pgbench(&server).args(["--initialize", "--quiet", "postgres"]))?;
        for clients in CLIENTS {
            // Both programs can serve many connections on a few threads,
            let (threads, name) = (clients.min(core_count()), format!("postgres-{clients}"));
            let against = "pgbench -S, both threads as cores";
            let case = OltpCase { name, against, engine: &url, rows: PGBENCH_ROWS, clients, threads };
            rows.extend(self.compare_case(&case, effort, || self.run_pgbench(&server, clients, threads))?);
        }
        for clients in CLIENTS.into_iter().filter(|clients| *clients > 1 && (!effort.quick || !effort.cases.is_empty()))
        {
            // or each on its own thread, which is plimsoll's default and the only way of sysbench.
            let (threads, name) = (clients, format!("postgres-{clients}-threads"));
            let against = "pgbench -S, both threads as clients";
            let case = OltpCase { name, against, engine: &url, rows: PGBENCH_ROWS, clients, threads };
            rows.extend(self.compare_case(&case, effort, || self.run_pgbench(&server, clients, threads))?);
        }
        Ok(())
    }

    fn run_pgbench(&self, server: &BenchServer, clients: u32, threads: u32) -> Result<WatchedRun> {
        let mut command = pgbench(server);
        command.args(["-S", "-M", "prepared", "-n", "-P", "1", "-c", &clients.to_string()]);
        command.args(["-j", &threads.to_string(), "-T", &self.seconds.to_string(), "postgres"]);
        watch::run(&mut command, RateStream::Stderr, watch::of_pgbench)
    }

    /// Measures `case` if it is wanted.
    fn compare_case(
        &self,
        case: &OltpCase,
        effort: &Effort,
        peer: impl Fn() -> Result<WatchedRun>,
    ) -> Result<Option<String>> {
        if !effort.wants(&case.name) {
            return Ok(None);
        }
        let OltpCase { name, against, engine, rows, clients, threads } = case;
        println!("\n{name}: prepared point selects, {clients} clients on {threads} threads, plimsoll : {against}");
        let comparison = compare(
            effort.rounds(),
            || Ok(pairs::price_of(&self.run_plimsoll(engine, rows, *clients, Some(*threads))?, 1.0)),
            || Ok(pairs::price_of(&peer()?, 1.0)),
        )?;
        Ok(Some(table_row(name, against, &comparison)))
    }

    /// The memory of many clients. They get twice the time, because they need some to connect on a busy machine.
    fn measure_memory(&self, name: &str, engine: &str, threads: Option<u32>) -> Result<String> {
        let lab = OltpLab { seconds: 2 * self.seconds, ..*self };
        Ok(memory_row(name, &lab.run_plimsoll(engine, ROWS, MANY_CLIENTS, threads)?.memory))
    }

    /// Only engines that are servers have `threads`.
    fn run_plimsoll(&self, engine: &str, rows: &str, clients: u32, threads: Option<u32>) -> Result<WatchedRun> {
        let mut command = Command::new(plimsoll::binary(self.root));
        command.args(["oltp", "--mix", "point_select", "--warmup", "0s", "--interval", "250ms", "--no-report"]);
        command.args(["--engine", engine, "--table-rows", rows, "--clients", &clients.to_string()]);
        command.args(threads.map(|threads| format!("--threads={threads}")));
        command.arg("--time").arg(format!("{}s", self.seconds)).arg("--dir").arg(self.work);
        command.arg("--runs").arg(self.work.join("runs"));
        watch::run(&mut command, RateStream::Stderr, watch::of_plimsoll)
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
`both`, plimsoll had a thread each). The lines `memory` are the most that 512 clients of plimsoll took, `shared` on as many
threads as there are cores (an embedded engine has caches of its own for each, so there is none among them).

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
