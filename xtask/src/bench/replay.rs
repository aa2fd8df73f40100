//! `replay`: a recorded insert on InnoDB again, compared with its recording by what the disk got.
//!
//! In: a build of plimsoll, MariaDB, root, tracefs. Out: for each speed the requests, bytes, order and times of the replay against those of the
//! recording, as the kernel records and counts them at the disk. Limits: the disk is a loop device with ext4, so its speed is that of the disk
//! below; the replay is recorded while it runs, which costs it a little.

use super::effort::Effort;
use super::keep::measure_on_servers;
use super::loop_disk::{DeviceCounters, LoopDisk};
use super::traces::{self, RequestSort, TraceMatch, TracedRequest};
use super::{plimsoll, process, watch};
use crate::workspace::shown;
use anyhow::{Context, Result, bail, ensure};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

pub const NAME: &str = "replay";

/// The cases: the speeds at which the recording is replayed.
pub const CASES: [&str; 2] = ["speed-1", "speed-2"];

/// Room for what the plan of the insert might need. Its image takes what is written.
const DISK_GIB: u64 = 24;

/// Records an insert, replays it, and keeps what is found.
pub fn run(root: &Path, effort: &Effort) -> Result<()> {
    if let Some(binary) = &effort.binary {
        let below = root.join("target");
        fs::create_dir_all(&below)?;
        let work = tempfile::Builder::new().prefix("bench-replay").tempdir_in(below)?;
        return measure_all(&std::path::absolute(binary)?, work.path(), effort, &mut Vec::new());
    }
    let binary = plimsoll::binary(root);
    measure_on_servers(root, NAME, HEAD, &["mariadb"], |work, rows| measure_all(&binary, work, effort, rows))
}

fn measure_all(binary: &Path, work: &Path, effort: &Effort, rows: &mut Vec<String>) -> Result<()> {
    let lab = ReplayLab { binary, work, disk: LoopDisk::make(work, DISK_GIB)? };
    let recorded = lab.record_insert(effort.seconds(15, 5))?;
    println!("  recorded: {}", counts_text(&recorded));
    lab.fill_file()?;
    for case in CASES.iter().filter(|case| effort.wants(case)) {
        let speed: f64 = case.trim_start_matches("speed-").parse().context("a speed is a number")?;
        for _ in 0..effort.rounds() {
            let row = lab.replay(&recorded, speed)?.cells(&recorded);
            println!("  {case}: {row}");
            rows.push(format!("{case} | {row}"));
        }
    }
    Ok(())
}

/// The program, the directory and the disk of the bench.
struct ReplayLab<'a> {
    binary: &'a Path,
    work: &'a Path,
    disk: LoopDisk,
}

/// A replay as it was seen.
struct SeenReplay {
    /// What the disk got, as it was recorded.
    again: Vec<TracedRequest>,
    /// What the disk got, as the kernel counted it.
    counted: DeviceCounters,
    matched: TraceMatch,
    /// What plimsoll itself reports.
    report: Value,
}

impl ReplayLab<'_> {
    fn trace(&self) -> PathBuf {
        self.work.join("recorded.trace")
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(self.binary);
        command.args(arguments).stdin(Stdio::null());
        command
    }

    /// Records the disk for `seconds` while MariaDB inserts rows on it.
    fn record_insert(&self, seconds: u32) -> Result<Vec<TracedRequest>> {
        // It is ended when the recording is complete.
        let time = format!("{}s", seconds + 30);
        let load = ["insert", "--engine", "mariadb:innodb", "--step", "l.i1", "--rows", "0", "--rows-per-commit", "10"];
        let mut insert = self.command(&load);
        insert.args(["--clients", "4", "--time", &time, "--no-report"]);
        insert.arg("--dir").arg(self.disk.mount()).arg("--runs").arg(self.work.join("runs"));
        let mut insert = Loaded::start(&mut insert)?;
        let time = format!("{seconds}s");
        let mut record = self.command(&["record-io", "--device", self.disk.device(), "--time", &time, "--json"]);
        let done = process::run(record.arg("-o").arg(self.trace()))?;
        insert.end()?;
        let lost = serde_json::from_str::<Value>(&done.stdout)?["events_lost"].as_u64().unwrap_or(0);
        ensure!(lost == 0, "the kernel lost {lost} events of the recording");
        self.read_trace(&self.trace())
    }

    fn read_trace(&self, path: &Path) -> Result<Vec<TracedRequest>> {
        let text = fs::read(path).with_context(|| format!("cannot read `{}`", path.display()))?;
        let requests = traces::requests_in(&String::from_utf8_lossy(&text));
        ensure!(!requests.is_empty(), "`{}` has no requests", path.display());
        Ok(requests)
    }

    fn replay_command(&self, speed: &str) -> Command {
        let mut command = self.command(&["replay", "--speed", speed, "--json", "--quiet", "--no-report"]);
        command.arg("--trace").arg(self.trace()).arg("--path").arg(self.disk.mount().join("replayed"));
        command.arg("--dir").arg(self.work).arg("--runs").arg(self.work.join("runs"));
        command
    }

    /// Makes the file that the replays use, so that nothing but their requests reaches the disk later.
    fn fill_file(&self) -> Result<()> {
        process::run(&mut self.replay_command("max"))?;
        rustix::fs::sync();
        Ok(())
    }

    /// Replays the recording, and records the disk meanwhile.
    fn replay(&self, recorded: &[TracedRequest], speed: f64) -> Result<SeenReplay> {
        let again = self.work.join("again.trace");
        drop(fs::remove_file(&again));
        let mut recorder = self.command(&["record-io", "--device", self.disk.device(), "--time", "1h"]);
        let mut recorder = recorder.arg("-o").arg(&again).stdout(Stdio::null()).spawn()?;
        wait_for_file(&again, &mut recorder)?;
        let before = self.disk.counters()?;
        let report = process::run(&mut self.replay_command(&speed.to_string()));
        let counted = self.disk.counters()?.since(&before);
        kill_process(Pid::from_child(&recorder), Signal::INT)?;
        ensure!(recorder.wait()?.success(), "the recorder of the replay failed");
        let report: Value = serde_json::from_str(&report?.stdout)?;
        let again = self.read_trace(&again)?;
        let matched = traces::compare(recorded, &again, speed).context("the disk got nothing that was recorded")?;
        Ok(SeenReplay { again, counted, matched, report: report["points"][0].clone() })
    }
}

/// A load in the background that has begun to insert.
struct Loaded {
    child: Child,
    name: String,
    stderr: BufReader<std::process::ChildStderr>,
}

impl Loaded {
    fn start(command: &mut Command) -> Result<Loaded> {
        let name = shown(command);
        let mut child = command.arg("--plain").stdout(Stdio::null()).stderr(Stdio::piped()).spawn()?;
        let mut loaded =
            Loaded { stderr: BufReader::new(child.stderr.take().context("stderr is a pipe")?), child, name };
        let mut said = String::new();
        loop {
            let mut line = String::new();
            if loaded.stderr.read_line(&mut line)? == 0 {
                bail!("`{}` ended before it inserted: {said}", loaded.name);
            }
            if watch::of_plimsoll(&line).is_some_and(|per_s| per_s > 0.0) {
                return Ok(loaded);
            }
            said += &line;
        }
    }

    /// Ends it, as a user would.
    fn end(&mut self) -> Result<()> {
        kill_process(Pid::from_child(&self.child), Signal::INT)?;
        let mut rest = String::new();
        self.stderr.read_to_string(&mut rest)?;
        self.child.wait()?;
        Ok(())
    }
}

impl Drop for Loaded {
    fn drop(&mut self) {
        // It has ended already unless something failed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn wait_for_file(path: &Path, recorder: &mut Child) -> Result<()> {
    let end = Instant::now() + Duration::from_secs(20);
    while !path.exists() {
        ensure!(recorder.try_wait()?.is_none() && Instant::now() < end, "the replay cannot be recorded");
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}

const SORTS: [(RequestSort, &str); 3] =
    [(RequestSort::Read, "reads"), (RequestSort::Write, "writes"), (RequestSort::Flush, "flushes")];

/// `12 reads (1.2 MB), 3 writes (0.1 MB), 4 flushes`
fn counts_text(requests: &[TracedRequest]) -> String {
    let parts = SORTS.iter().map(|(sort, name)| {
        let (count, bytes) = (traces::count_of(requests, *sort), traces::bytes_of(requests, *sort));
        if *sort == RequestSort::Flush { format!("{count} {name}") } else { format!("{count} {name} ({})", mb(bytes)) }
    });
    parts.collect::<Vec<_>>().join(", ")
}

fn mb(bytes: u64) -> String {
    format!("{:.3} MB", bytes as f64 / 1e6)
}

impl SeenReplay {
    fn cells(&self, recorded: &[TracedRequest]) -> String {
        let DeviceCounters { reads, read_bytes, writes, written_bytes, flushes } = self.counted;
        let counted =
            format!("{reads} reads ({}), {writes} writes ({}), {flushes} flushes", mb(read_bytes), mb(written_bytes));
        let TraceMatch { in_order, error_p50_ns, error_p99_ns, error_max_ns } = self.matched;
        let times = [error_p50_ns, error_p99_ns, error_max_ns].map(|ns| format!("{:.3}", ns / 1e6)).join(" / ");
        format!(
            "{} | {} | {counted} | {:.2} % | {times} | {}",
            counts_text(recorded),
            counts_text(&self.again),
            in_order * 100.0,
            self.told()
        )
    }

    /// What plimsoll reports of the replay: its validity, and whether it was late.
    fn told(&self) -> String {
        let findings = self.report["findings"].as_array().into_iter().flatten();
        let codes: Vec<&str> = findings.filter_map(|finding| finding["code"].as_str()).collect();
        let late = if codes.contains(&"replay-late") { "late" } else { "on time" };
        format!("{}, {late}", self.report["validity"].as_str().unwrap_or("-"))
    }
}

const HEAD: &str = "\
# replay

A recorded insert on InnoDB, replayed on a file on the same disk, as `cargo xtask bench replay` measures it. It adds its lines here. The disk is a loop
device with ext4. `recorded` is what it got from a private MariaDB with four clients that insert, by `plimsoll record-io`; `replayed` is what it got from
`plimsoll replay`, recorded in the same way; `counted` is the same by the kernel's own counters of the device, which count a flush among the writes, too.
`in order` is the share of the recorded reads and writes that came again in their order, by sort and size: the kernel may merge requests and
join flushes that have to wait.
`times` is how far the time of such a request is from its recorded time divided by the speed: the median, the 99th percentile and the most,
in milliseconds. The last column is what plimsoll reports by itself.

| date | versions | kernel | case | recorded | replayed | counted | in order | times | reported |
|---|---|---|---|---|---|---|---|---|---|
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_has_what_was_recorded_and_what_came_again() {
        let request = |sort, bytes| TracedRequest { at_ns: 0, sort, bytes };
        let recorded = [request(RequestSort::Write, 8192), request(RequestSort::Flush, 0)];
        let seen = SeenReplay {
            again: recorded[..1].to_vec(),
            counted: DeviceCounters { writes: 1, written_bytes: 8192, ..DeviceCounters::default() },
            matched: TraceMatch { in_order: 0.5, error_p50_ns: 1e5, error_p99_ns: 2e6, error_max_ns: 3e6 },
            report: serde_json::json!({"validity": "indicative", "findings": [{"code": "replay-late"}]}),
        };
        assert_eq!(
            seen.cells(&recorded),
            "0 reads (0.000 MB), 1 writes (0.008 MB), 1 flushes | 0 reads (0.000 MB), 1 writes (0.008 MB), 0 flushes | \
             0 reads (0.000 MB), 1 writes (0.008 MB), 0 flushes | 50.00 % | 0.100 / 2.000 / 3.000 | indicative, late"
        );
    }
}
