//! `cargo xtask bench watch-day`: what a watch of a day leaves on disk and in memory, and what it costs to show that day.
//!
//! In: the working tree, and a MariaDB that the bench starts. Out: for a server that idles and for one under load the size of the run files of a
//! day, the memory of the watch after each part of the day, and the CPU time and memory of `plimsoll show`, in docs/benchmarks/watch-day.md.
//! Limits: a day of seconds is recorded as so many intervals of some milliseconds (crates/runner/examples/watched_day), so what comes by the
//! clock comes less often; the load is light, because a busy machine leaves intervals without a reading.

use super::effort::Effort;
use super::server::BenchServer;
use super::{keep, plimsoll, process};
use crate::workspace;
use anyhow::{Context, Result, ensure};
use rusqlite::{Connection, OpenFlags};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// The name of the bench.
pub const NAME: &str = "watch-day";

const SECONDS_OF_DAY: u32 = 86_400;
/// An interval: all sources are read within it, also in a build that is not optimised.
const INTERVAL_MS: u32 = 10;
/// `plimsoll serve` shows a file that is being recorded up to this.
const FILE_GOAL: f64 = 256.0 * 1024.0 * 1024.0;
/// From a quarter of the day to its end.
const MEMORY_GOAL: f64 = 4e6;
const SHOW_GOAL_S: f64 = 10.0;

struct DayCase {
    name: &'static str,
    files: u32,
    is_loaded: bool,
}

const DAYS: [DayCase; 3] = [
    DayCase { name: "idle", files: 1, is_loaded: false },
    DayCase { name: "loaded", files: 1, is_loaded: true },
    DayCase { name: "loaded-hourly", files: 24, is_loaded: true },
];
/// The names of its cases.
pub const CASES: [&str; 3] = ["idle", "loaded", "loaded-hourly"];

/// Measures, prints, and keeps the result.
pub fn run(root: &Path, effort: &Effort) -> Result<()> {
    workspace::run(workspace::cargo(root).args(["build", "--release", "--locked", "--package", "plimsoll"]))?;
    let example = ["build", "--release", "--locked", "--package", "runner", "--example", "watched_day"];
    workspace::run(workspace::cargo(root).args(example))?;
    let below = root.join("target/bench");
    fs::create_dir_all(&below)?;
    let dir = tempfile::Builder::new().prefix(NAME).tempdir_in(below)?;
    let mut rows = Vec::new();
    let measured = measure_all(root, dir.path(), effort, &mut rows);
    println!();
    rows.iter().for_each(|row| println!("{row}"));
    keep::keep_rows(root, NAME, HEAD, &["mariadbd"], &rows).and(measured)
}

fn measure_all(root: &Path, dir: &Path, effort: &Effort, rows: &mut Vec<String>) -> Result<()> {
    let intervals = effort.rows.and_then(|rows| u32::try_from(rows).ok());
    let intervals = intervals.unwrap_or(if effort.quick { SECONDS_OF_DAY / 24 } else { SECONDS_OF_DAY });
    for case in DAYS.iter().filter(|case| effort.wants(case.name)) {
        let server = BenchServer::start_mariadb_with_digests()?;
        let url = format!("mysql://root@localhost/?socket={}", server.dir().join("m.sock").display());
        let mut load = case.is_loaded.then(|| Load::start(root, dir, &url)).transpose()?;
        let runs = dir.join(case.name);
        fs::create_dir(&runs)?;
        let mut command = Command::new(root.join("target/release/examples/watched_day"));
        command.arg(&runs).args([case.files, intervals / case.files, INTERVAL_MS].map(|number| number.to_string()));
        let day = WatchedDay::read(&process::run(command.arg(&url))?.stdout)?;
        if let Some(Load(child)) = &mut load {
            ensure!(child.try_wait()?.is_none(), "the load ended before the day did");
        }
        drop(load);
        let last = day.files.last().context("it left no file")?;
        let shown = process::run(Command::new(plimsoll::binary(root)).arg("show").arg(&last.path))?;
        rows.push(cells(case, intervals, &day, shown.cpu_ns / 1e9, shown.peak_bytes)?);
        println!("{}", rows[rows.len() - 1]);
        fs::remove_dir_all(&runs)?;
    }
    Ok(())
}

/// A light load on the server, ended with it.
struct Load(Child);

impl Load {
    fn start(root: &Path, dir: &Path, url: &str) -> Result<Load> {
        let mut command = Command::new(plimsoll::binary(root));
        command.args([
            "oltp",
            "--mix",
            "read_write",
            "--engine",
            url,
            "--clients",
            "2",
            "--rate",
            "20",
            "--table-rows",
            "10000",
            "--statements",
            "plain",
        ]);
        command.args(["--time", "6h", "--no-report", "--quiet", "--dir"]).arg(dir).arg("--runs").arg(dir.join("load"));
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        child.map(Load).context("cannot start the load")
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// What the example printed, and what is in its files.
#[derive(Debug, Default, PartialEq)]
struct WatchedDay {
    /// The memory of the watch after each part of each file.
    memory: Vec<f64>,
    files: Vec<DayFile>,
}

#[derive(Debug, PartialEq)]
struct DayFile {
    path: PathBuf,
    bytes: f64,
}

impl WatchedDay {
    fn read(stdout: &str) -> Result<WatchedDay> {
        let mut day = WatchedDay::default();
        for line in stdout.lines() {
            let (first, bytes) = line.rsplit_once(' ').with_context(|| format!("what is `{line}`"))?;
            let bytes: f64 = bytes.parse().with_context(|| format!("what is `{line}`"))?;
            match first.split_once(' ') {
                Some(("file", path)) => day.files.push(DayFile { path: path.into(), bytes }),
                _ => day.memory.push(bytes),
            }
        }
        ensure!(day.memory.len() >= 4 && !day.files.is_empty(), "the example printed too little: {stdout}");
        Ok(day)
    }

    /// After a quarter of the day, half of it, and at its end.
    fn course_of_memory(&self) -> [f64; 3] {
        let count = self.memory.len();
        [count / 4, count / 2, count - 1].map(|nth| self.memory[nth])
    }

    fn bytes(&self) -> f64 {
        self.files.iter().map(|file| file.bytes).sum()
    }
}

/// How many times the machine was read.
fn readings(day: &WatchedDay) -> Result<u64> {
    let count = |file: &DayFile| -> Result<u64> {
        let db = Connection::open_with_flags(&file.path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        const READINGS: &str = "SELECT count(*) FROM counter WHERE source = 0";
        Ok(db.query_row(READINGS, [], |row| row.get::<_, i64>(0))? as u64)
    };
    day.files.iter().map(count).sum()
}

fn cells(case: &DayCase, intervals: u32, day: &WatchedDay, show_s: f64, show_bytes: f64) -> Result<String> {
    let [quarter, half, end] = day.course_of_memory();
    let largest = day.files.iter().map(|file| file.bytes).fold(0.0, f64::max);
    let is_met = largest < FILE_GOAL && end - quarter < MEMORY_GOAL && show_s < SHOW_GOAL_S;
    Ok(format!(
        "{} | {} | {intervals} | {} | {:.1} | {:.1} | {:.1} / {:.1} / {:.1} | {show_s:.2} | {:.0} | {}",
        case.name,
        day.files.len(),
        readings(day)?,
        day.bytes() / 1e6,
        largest / 1e6,
        quarter / 1e6,
        half / 1e6,
        end / 1e6,
        show_bytes / 1e6,
        if is_met { "met" } else { "missed" }
    ))
}

const HEAD: &str = "\
# watch-day

What a watch of a day with an interval of a second leaves on disk and in memory, and what it costs to show. `cargo xtask bench watch-day` adds
its lines here. A MariaDB with `performance_schema` on is watched over its socket, idle or under 20 transactions of
`plimsoll oltp --mix read_write` per second. The 86,400 intervals of a day last 10 ms each, with all else as in `plimsoll observe`: readings, statements, one run file after
the other. `readings` is how often the machine was read: an interval in which the machine was busy with other things has none of its own.
Memory is what the process of the watch has of its own (`RssAnon`) after a quarter of the day, half of it, and at its end. CPU and peak memory
of `show` are of the last file. Goals: no file above 256 MiB, which is what `plimsoll serve` shows of a run that is being recorded; no more than 4 MB
of memory more at the end than after a quarter; `show` in 10 s.

| date | versions | kernel | case | files | intervals | readings | MB a day | largest file MB | memory MB | show CPU s | show peak MB | goals |
|---|---|---|---|---|---|---|---|---|---|---|---|---|
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_example_prints_is_read_and_the_memory_is_told_at_three_moments() {
        let memory: String = (1..=24).map(|nth| format!("memory {} {}\n", nth * 3_600, 10_000_000 + nth)).collect();
        let day = WatchedDay::read(&format!("{memory}file /a b/w-1.plimsoll 200\nfile /x 300\n")).unwrap();
        assert_eq!((day.files[0].path.to_str(), day.bytes()), (Some("/a b/w-1.plimsoll"), 500.0));
        assert_eq!(day.course_of_memory(), [10_000_007.0, 10_000_013.0, 10_000_024.0]);
        assert!(WatchedDay::read("").is_err() && WatchedDay::read("nonsense").is_err());
    }

    #[test]
    fn every_case_has_its_name_in_the_list_of_the_command_line() {
        assert_eq!(DAYS.map(|case| case.name), CASES);
    }
}
