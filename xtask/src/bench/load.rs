//! `load`: how fast plimsoll makes the tables of `oltp`, compared with what makes as many rows on the same server: sysbench, pgbench, a ready
//! file, Python.
//!
//! In: the release build, both servers, their clients, Python. Out: per case the ratio of rows per second with its interval, plimsoll's CPU per
//! row and its peak memory. Limits: plimsoll's time is that of rows and indexes, as the run file has it; a peer's is that of its whole process
//! (of Python that of SQLite alone). Commits are not synced, because the way of the rows is measured.

use super::effort::Effort;
use super::keep::measure_on_servers;
use super::pairs::{PairComparison, Price, compare, judge_goal};
use super::plimsoll;
use super::process::{self, Finished};
use super::server::{BenchServer, run_quietly};
use super::slow_link::SlowLink;
use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::cell::{Cell, RefCell};
use std::fs;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

pub const NAME: &str = "load";

/// The cases by name.
pub const CASES: [&str; 12] = [
    "mariadb-1",
    "mariadb-4",
    "mariadb-file",
    "mariadb-link",
    "mariadb-link-local",
    "postgres-1",
    "postgres-4",
    "postgres-pgbench",
    "postgres-file",
    "postgres-link",
    "postgres-link-local",
    "sqlite",
];

const ROWS: u64 = 250_000;
const ROWS_QUICK: u64 = 100_000;
/// pgbench makes a multiple of so many.
const PGBENCH_ROWS: u64 = 100_000;
/// A run of so few rows costs what each run costs: start, the search for the server, a second of reads at a slow pace.
const FEW_ROWS: u64 = 1_000;
const ROUND_TRIP: Duration = Duration::from_micros(500);
/// Rows per second, plimsoll : peer, at least: as fast as sysbench and Python, 0.8 of what a ready file takes, 1.3 times the local time over
/// the link.
const AS_FAST: Option<f64> = Some(1.0);
const OF_FILE: Option<f64> = Some(0.8);
const OF_LOCAL: Option<f64> = Some(1.0 / 1.3);
/// CPU of plimsoll per row, at most.
const CPU_GOAL_US: f64 = 1.0;

/// Measures, prints, and keeps the result.
pub fn run(root: &Path, effort: &Effort) -> Result<()> {
    if let Some(binary) = &effort.binary {
        let below = root.join("target");
        fs::create_dir_all(&below)?;
        let work = tempfile::Builder::new().prefix("bench-load").tempdir_in(below)?;
        return measure_all(&std::path::absolute(binary)?, work.path(), effort, &mut Vec::new());
    }
    let binary = plimsoll::binary(root);
    measure_on_servers(root, NAME, HEAD, &["sysbench", "pgbench", "python3"], |work, table| {
        measure_all(&binary, work, effort, table)
    })
}

fn measure_all(binary: &Path, work: &Path, effort: &Effort, table: &mut Vec<String>) -> Result<()> {
    let rows = effort.rows.unwrap_or(if effort.quick { ROWS_QUICK } else { ROWS });
    let lab = LoadLab { binary, work, rows, effort, table: RefCell::new(table) };
    if effort.wants_any(&CASES[..5]) {
        lab.on_mariadb()?;
    }
    if effort.wants_any(&CASES[5..11]) {
        lab.on_postgres()?;
    }
    if effort.wants("sqlite") {
        lab.on_sqlite()?;
    }
    Ok(())
}

/// Where the programs run, and how much they load.
struct LoadLab<'a> {
    binary: &'a Path,
    work: &'a Path,
    rows: u64,
    effort: &'a Effort,
    table: RefCell<&'a mut Vec<String>>,
}

/// A comparison: plimsoll loads into `engine`, and `against` does.
struct LoadCase<'a> {
    name: &'a str,
    against: &'static str,
    engine: &'a str,
    tables: u64,
    rows: u64,
    goal: Option<f64>,
}

impl LoadLab<'_> {
    fn on_mariadb(&self) -> Result<()> {
        let server = BenchServer::start_mariadb_at("127.0.0.1", "127.0.0.1")?;
        let socket = format!("{}/m.sock", server.dir().display());
        let local = format!("mysql://root@localhost/?socket={socket}");
        let link = SlowLink::start(server.port(), ROUND_TRIP)?;
        let far = format!("mysql://root@127.0.0.1:{}/?ssl-mode=DISABLED", link.port());
        let by_socket = [format!("--mysql-socket={socket}")];
        let by_link = ["--mysql-host=127.0.0.1".to_owned(), format!("--mysql-port={}", link.port())];
        let way = |way: &[String]| {
            [&["--db-driver=mysql", "--mysql-user=root", "--mysql-db=sbtest"].map(str::to_owned), way].concat()
        };
        self.against_sysbench("mariadb-1", &local, 1, &way(&by_socket))?;
        self.against_sysbench("mariadb-4", &local, 4, &way(&by_socket))?;
        let file = self.case("mariadb-file", "LOAD DATA from a file", &local, OF_FILE);
        self.compare(&file, || {
            let client = |statements: &str| {
                let mut command = Command::new("mariadb");
                command.args([
                    "--no-defaults",
                    "--user=root",
                    "--local-infile=1",
                    "sbtest",
                    "--socket",
                    &socket,
                    "--execute",
                ]);
                command.arg(statements);
                command
            };
            let (path, table) = (self.rows_in_file()?, table_of("INT NOT NULL PRIMARY KEY"));
            run_quietly(&mut client("DROP TABLE IF EXISTS filed"))?;
            let load = format!("{table}; LOAD DATA LOCAL INFILE '{}' INTO TABLE filed; {INDEX}", path.display());
            self.price_of_process(&file, &mut client(&load))
        })?;
        self.against_sysbench("mariadb-link", &far, 1, &way(&by_link))?;
        self.against_local("mariadb-link-local", &far, &local)
    }

    fn on_postgres(&self) -> Result<()> {
        let server = BenchServer::start_postgres_at("127.0.0.1")?;
        let dir = server.dir().display().to_string();
        let port = server.port().to_string();
        let local = format!("postgres://plimsoll@localhost/postgres?socket={dir}/.s.PGSQL.{port}");
        let link = SlowLink::start(server.port(), ROUND_TRIP)?;
        let far = format!("postgres://plimsoll@127.0.0.1:{}/postgres?sslmode=disable", link.port());
        let way = |host: &str, port: &str| {
            let host = format!("--pgsql-host={host}");
            [
                "--db-driver=pgsql",
                "--pgsql-user=plimsoll",
                "--pgsql-db=postgres",
                &host,
                &format!("--pgsql-port={port}"),
            ]
            .map(str::to_owned)
        };
        let client = |program: &str| {
            let mut command = Command::new(program);
            command.args(["-U", "plimsoll", "-h", &dir, "-p", &port]);
            command
        };
        self.against_sysbench("postgres-1", &local, 1, &way(&dir, &port))?;
        self.against_sysbench("postgres-4", &local, 4, &way(&dir, &port))?;
        let rows = self.rows.next_multiple_of(PGBENCH_ROWS);
        let pgbench = LoadCase { rows, ..self.case("postgres-pgbench", "pgbench -i", &local, None) };
        self.compare(&pgbench, || {
            let scale = (rows / PGBENCH_ROWS).to_string();
            self.price_of_process(&pgbench, client("pgbench").args(["-i", "-q", "-s", &scale, "postgres"]))
        })?;
        let file = self.case("postgres-file", "COPY from a file", &local, OF_FILE);
        self.compare(&file, || {
            let (path, table) = (self.rows_in_file()?, table_of("INT NOT NULL PRIMARY KEY"));
            run_quietly(client("psql").args(["-q", "-c", "DROP TABLE IF EXISTS filed", "postgres"]))?;
            let copy = format!("\\copy filed FROM '{}'", path.display());
            self.price_of_process(
                &file,
                client("psql").args(["-q", "-c", &table, "-c", &copy, "-c", INDEX, "postgres"]),
            )
        })?;
        self.against_sysbench("postgres-link", &far, 1, &way("127.0.0.1", &link.port().to_string()))?;
        self.against_local("postgres-link-local", &far, &local)
    }

    fn on_sqlite(&self) -> Result<()> {
        let case = self.case("sqlite", "Python's executemany", "sqlite", AS_FAST);
        self.compare(&case, || {
            let database = self.work.join("python.db");
            drop(fs::remove_file(&database)); // of the run before
            let mut python = Command::new("python3");
            python.args(["-c", PYTHON]).arg(&database).arg(case.rows.to_string());
            let output = process::run(&mut python)?.stdout;
            let [seconds, cpu_s] = two_numbers(&output).context("Python writes two numbers")?;
            Ok(price_of(&case, seconds, cpu_s * 1e9, 0.0))
        })
    }

    /// `name` with one table and all rows.
    fn case<'c>(&self, name: &'c str, against: &'static str, engine: &'c str, goal: Option<f64>) -> LoadCase<'c> {
        LoadCase { name, against, engine, tables: 1, rows: self.rows, goal }
    }

    /// sysbench connects by `way`, with a thread for each table.
    fn against_sysbench(&self, name: &str, engine: &str, tables: u64, way: &[String]) -> Result<()> {
        let case = LoadCase { tables, ..self.case(name, "sysbench prepare", engine, AS_FAST) };
        let sysbench = |action: &str| {
            let mut command = Command::new("sysbench");
            command
                .arg("oltp_read_write")
                .args(way)
                .arg(format!("--tables={tables}"))
                .arg(format!("--threads={tables}"));
            command.arg(format!("--table-size={}", case.rows / tables)).arg(action);
            command
        };
        self.compare(&case, || {
            run_quietly(&mut sysbench("cleanup"))?;
            self.price_of_process(&case, &mut sysbench("prepare"))
        })
    }

    /// plimsoll over the link, compared with itself over the unix socket.
    fn against_local(&self, name: &str, far: &str, local: &str) -> Result<()> {
        let case = self.case(name, "plimsoll by unix socket", far, OF_LOCAL);
        let near = LoadCase { engine: local, ..self.case(name, "", local, None) };
        let (mut base, no_peak) = (None, Cell::new(0.0));
        self.compare(&case, || {
            let base = match base {
                Some(base) => base,
                None => *base.insert(self.plimsoll_run(&near, FEW_ROWS)?.cpu),
            };
            self.price_of_plimsoll(&near, base, &no_peak)
        })
    }

    /// Measures `case` if it is wanted, and adds its row.
    fn compare(&self, case: &LoadCase, peer: impl FnMut() -> Result<Price>) -> Result<()> {
        if !self.effort.wants(case.name) {
            return Ok(());
        }
        let LoadCase { name, against, tables, rows, .. } = case;
        println!("\n{name}: {rows} rows in {tables} tables, plimsoll : {against}; CPU and rate are of a row");
        let (base, peak_bytes) = (self.plimsoll_run(case, FEW_ROWS)?.cpu, Cell::new(0.0));
        let comparison = compare(self.effort.rounds(), || self.price_of_plimsoll(case, base, &peak_bytes), peer)?;
        let row = table_row(case, &comparison, peak_bytes.get());
        println!("  {row}");
        self.table.borrow_mut().push(row);
        Ok(())
    }

    /// What a row costs plimsoll, whose runs cost `base` without rows.
    fn price_of_plimsoll(&self, case: &LoadCase, base: CpuTime, peak_bytes: &Cell<f64>) -> Result<Price> {
        let run = self.plimsoll_run(case, case.rows)?;
        peak_bytes.set(peak_bytes.get().max(run.peak_bytes));
        Ok(price_of(case, run.seconds, run.cpu.all_ns - base.all_ns, run.cpu.user_ns - base.user_ns))
    }

    fn plimsoll_run(&self, case: &LoadCase, rows: u64) -> Result<PlimsollLoad> {
        let mut command = Command::new(self.binary);
        command.args([
            "oltp",
            "--mix",
            "point_select",
            "--clients",
            "1",
            "--rate",
            "10",
            "--warmup",
            "0s",
            "--time",
            "1s",
        ]);
        command.args(["--json", "--quiet", "--no-report", "--engine", case.engine]);
        command.args(["--tables", &case.tables.to_string(), "--table-rows", &(rows / case.tables).to_string()]);
        command.arg("--dir").arg(self.work).arg("--runs").arg(self.work.join("runs"));
        let finished = process::run(&mut command)?;
        PlimsollLoad::of(&finished)
    }

    /// What a row costs the process of a peer, from its start to its end.
    fn price_of_process(&self, case: &LoadCase, command: &mut Command) -> Result<Price> {
        let began = Instant::now();
        let finished = process::run(command)?;
        Ok(price_of(case, began.elapsed().as_secs_f64(), finished.cpu_ns, finished.user_ns))
    }

    /// Lines of rows between tabs, as both servers read them, in a file that is made once.
    fn rows_in_file(&self) -> Result<PathBuf> {
        let path = self.work.join("rows.tsv");
        if !path.exists() {
            let mut out = BufWriter::new(fs::File::create(&path)?);
            let mut state = 1u64;
            // Digits that look random: a linear congruential generator (Knuth, MMIX).
            let mut group = || {
                state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                (state >> 24) % 100_000_000_000
            };
            for id in 1..=self.rows {
                let mut text =
                    |groups: u32| (0..groups).map(|_| format!("{:011}", group())).collect::<Vec<_>>().join("-");
                writeln!(out, "{id}\t{}\t{}\t{}", id * 7919 % self.rows + 1, text(10), text(5))?;
            }
            out.flush()?;
        }
        Ok(path)
    }
}

/// The table that is filled from a file: that of sysbench, without its index.
fn table_of(key: &str) -> String {
    format!("CREATE TABLE filed (id {key}, k INT NOT NULL, c CHAR(120) NOT NULL, pad CHAR(60) NOT NULL)")
}

const INDEX: &str = "CREATE INDEX k_filed ON filed (k)";

/// Adds sorted rows in one transaction and makes the index, as fast as Python and SQLite can; the rows exist before the clock starts.
const PYTHON: &str = r#"
import random, sqlite3, sys, time
rows = int(sys.argv[2])
def text(groups): return "-".join("%011d" % random.randrange(10**11) for _ in range(groups))
texts = [(text(10), text(5)) for _ in range(1000)]
data = [(n, random.randint(1, rows), *texts[n % 1000]) for n in range(1, rows + 1)]
began, cpu = time.perf_counter(), time.process_time()
db = sqlite3.connect(sys.argv[1])
db.execute("PRAGMA synchronous = OFF")
db.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, k INTEGER NOT NULL, c CHAR(120) NOT NULL, pad CHAR(60) NOT NULL)")
db.executemany("INSERT INTO t VALUES (?, ?, ?, ?)", data)
db.commit()
db.execute("CREATE INDEX k ON t (k)")
db.commit()
print(time.perf_counter() - began, time.process_time() - cpu)
"#;

fn two_numbers(text: &str) -> Option<[f64; 2]> {
    let numbers: Vec<f64> = text.split_whitespace().map(str::parse).collect::<Result<_, _>>().ok()?;
    numbers.try_into().ok()
}

/// What a load of plimsoll took.
struct PlimsollLoad {
    /// For rows and indexes together.
    seconds: f64,
    cpu: CpuTime,
    peak_bytes: f64,
}

/// That of a whole process.
#[derive(Clone, Copy)]
struct CpuTime {
    all_ns: f64,
    /// Outside of the kernel.
    user_ns: f64,
}

impl PlimsollLoad {
    fn of(finished: &Finished) -> Result<PlimsollLoad> {
        let run: Value = serde_json::from_str(&finished.stdout).context("plimsoll writes JSON")?;
        let load = &run["points"][0]["load"];
        ensure!(load["rows"].as_u64().is_some(), "plimsoll loaded no rows: {load}");
        let rows_s = load["seconds"].as_f64().context("a load has seconds")?;
        let seconds = rows_s + load["index_seconds"].as_f64().context("an index was made after the rows")?;
        let cpu = CpuTime { all_ns: finished.cpu_ns, user_ns: finished.user_ns };
        Ok(PlimsollLoad { seconds, cpu, peak_bytes: finished.peak_bytes })
    }
}

fn price_of(case: &LoadCase, seconds: f64, cpu_ns: f64, user_ns: f64) -> Price {
    let rows = case.rows as f64;
    Price { cpu_us: cpu_ns / rows / 1e3, user_us: user_ns / rows / 1e3, per_s: rows / seconds }
}

fn table_row(case: &LoadCase, comparison: &PairComparison, peak_bytes: f64) -> String {
    let LoadCase { name, against, tables, rows, goal, .. } = case;
    let PairComparison { own, peer, rate, .. } = comparison;
    let [own_rate, peer_rate] = [own, peer].map(|price| format!("{:.0}", price.per_s));
    let rate_goal = goal.map(|least| format!("at least {least:.2} {}, ", judge_goal(least, true, rate)));
    // SQLite works in plimsoll's own process.
    let is_own = case.engine != "sqlite";
    let cpu_goal = if !is_own {
        "-"
    } else if own.cpu_us <= CPU_GOAL_US {
        "CPU met"
    } else {
        "CPU missed"
    };
    let goals = format!("{}{cpu_goal}", rate_goal.unwrap_or_default());
    let peak_mb = peak_bytes / 1e6;
    format!(
        "{name} | {against} | {rows} in {tables} | {own_rate} | {peer_rate} | {rate} | {:.2} | {:.2} | {peak_mb:.0} | {goals}",
        own.cpu_us, peer.cpu_us
    )
}

const HEAD: &str = "\
# load

How fast the tables of `oltp` are made, as `cargo xtask bench load` measures it. It adds its lines here. All programs fill tables of one schema (pgbench
its own, whose rows are half as wide) on one private server whose commits are not synced, in interleaved pairs (A B B A). plimsoll's time is that
of the rows and the indexes, as its run file has it; that of a peer is its whole process, the index included; Python's begins when its rows are
made, and its SQLite syncs nothing. `file` is a ready file that the server's own client sends over one connection, the index made
afterwards: the least that a server needs. sysbench has a thread for each table. `link` is TCP through a proxy of the bench that delays
each byte by a quarter of a millisecond each way (0.5 ms a round trip); the proxy takes CPU from both sides. `link-local` compares plimsoll over that
link with itself over the unix socket.

Ratios are plimsoll : peer in rows per second, the geometric mean over the pairs with its 95 % confidence interval (Student's t on the
logarithms); a goal is `met` or `missed` where the whole interval is on one side, `open` otherwise. CPU is that of the client's process in us a
row (of SQLite with the engine), plimsoll's without what a run of 1,000 rows needs. The peak is of plimsoll's memory. Absolute numbers
are medians, and true of that machine in those minutes only.

| date | versions | kernel | case | against | rows in tables | plimsoll rows/s | peer rows/s | ratio of rows/s | plimsoll CPU us | peer CPU us | peak MB | goals |
|---|---|---|---|---|---|---|---|---|---|---|---|---|
";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::statistics::ratio;

    #[test]
    fn rows_and_their_index_are_the_time_of_a_load() {
        let finished = |json: &str| Finished { stdout: json.to_owned(), cpu_ns: 3e9, user_ns: 1e9, peak_bytes: 5e7 };
        let run = r#"{"points":[{"load":{"rows":1000,"seconds":1.5,"index_seconds":0.5,"settle_seconds":9.0}}]}"#;
        let load = PlimsollLoad::of(&finished(run)).unwrap();
        assert_eq!((load.seconds, load.cpu.all_ns, load.peak_bytes), (2.0, 3e9, 5e7));
        assert!(PlimsollLoad::of(&finished(&run.replace("0.5", "null"))).is_err());
        assert!(PlimsollLoad::of(&finished(r#"{"points":[]}"#)).is_err());
        assert_eq!(two_numbers("0.5 0.25\n"), Some([0.5, 0.25]));
    }

    #[test]
    fn a_row_fits_the_head_of_the_table_and_says_what_is_met() {
        let price = |per_s| Price { cpu_us: 0.5, user_us: 0.4, per_s };
        let same = || ratio(&[(9.0, 10.0); 2]).unwrap();
        let comparison = PairComparison { own: price(9e4), peer: price(1e5), cpu: same(), rate: same() };
        let case = LoadCase { name: "mariadb-file", against: "x", engine: "y", tables: 1, rows: 1_000, goal: OF_FILE };
        let row = table_row(&case, &comparison, 4e7);
        let columns = HEAD.lines().last().unwrap().matches('|').count() - 1;
        assert_eq!(row.matches('|').count() + 4, columns, "{row}");
        assert!(row.ends_with("| 0.50 | 0.50 | 40 | at least 0.80 met, CPU met"), "{row}");
    }
}
