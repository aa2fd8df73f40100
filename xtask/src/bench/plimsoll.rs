//! plimsoll as the other side of a pair: the release binary, driven by flags and read by its JSON.
//!
//! In: a file in the page cache. Out: I/Os and the CPU of the client that did them. Limits: no warmup, so that every I/O of the
//! process is counted; the file is in the cache before.

use super::fio::Cost;
use super::process;
use anyhow::{Context, Result, bail};
use serde::Deserialize;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The release binary.
pub fn binary(root: &Path) -> PathBuf {
    root.join("target/release/plimsoll")
}

/// The version as the binary says it, and the commit it was built from where there is one.
pub fn version(root: &Path) -> Result<String> {
    let own = crate::workspace::output_of(Command::new(binary(root)).arg("--version"))?;
    let mut git = Command::new("git");
    git.current_dir(root).args(["rev-parse", "--short", "HEAD"]).stderr(std::process::Stdio::null());
    let commit = git.output().ok().filter(|output| output.status.success()).map(|output| output.stdout);
    let commit = commit.map_or(String::new(), |hash| format!(" ({})", String::from_utf8_lossy(&hash).trim()));
    Ok(format!("{}{commit}", own.trim()))
}

/// Reads 16 KiB blocks of `file` at random for `seconds`; run files go below `work`.
pub fn run(root: &Path, file: &Path, work: &Path, seconds: u32) -> Result<Cost> {
    let size = std::fs::metadata(file)?.len();
    let mut command = Command::new(binary(root));
    command.args(["file", "--mode", "rndrd", "--block", "16KiB", "--io", "uring", "--direct", "false"]);
    command.args(["--depth", "32", "--clients", "1", "--warmup", "0s", "--json", "--quiet", "--no-report"]);
    command.arg("--time").arg(format!("{seconds}s")).arg("--file-size").arg(size.to_string());
    command.arg("--path").arg(file).arg("--dir").arg(work).arg("--runs").arg(work.join("runs"));
    let finished = process::run(&mut command)?;
    let point = parse(&finished.stdout)?;
    Ok(Cost { ops: point.ops, thread_ns: point.cpu_ns_per_op, process_ns: finished.cpu_ns / point.ops })
}

#[derive(Debug, PartialEq)]
struct Point {
    ops: f64,
    cpu_ns_per_op: f64,
}

fn parse(json: &str) -> Result<Point> {
    #[derive(Deserialize)]
    struct Run {
        points: Vec<PointReport>,
    }
    #[derive(Deserialize)]
    struct PointReport {
        ops: f64,
        failed: u64,
        generator: GeneratorReport,
    }
    #[derive(Deserialize)]
    struct GeneratorReport {
        cpu_ns_per_op: Option<f64>,
    }
    let run: Run = serde_json::from_str(json).context("plimsoll's JSON is not of the schema plimsoll.run/1")?;
    let [point] = &run.points[..] else { bail!("plimsoll reports {} points instead of one", run.points.len()) };
    match point.generator.cpu_ns_per_op {
        Some(cpu_ns_per_op) if point.ops > 0.0 && point.failed == 0 => Ok(Point { ops: point.ops, cpu_ns_per_op }),
        cpu => bail!("plimsoll reports {} reads, {} failed, CPU per operation {cpu:?}", point.ops, point.failed),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RUN: &str = r#"{"schema":"plimsoll.run/1","run":"a.plimsoll","report":null,"state":"complete",
        "points":[{"point":1,"target":"file","workload":"file","clients":1,"depth":32,"ops":4000000,"failed":0,
        "generator":{"cpu_ns_per_op":901.5,"cpu_user_ns_per_op":31.0},"validity":"valid","findings":[]}]}"#;

    #[test]
    fn operations_and_their_cpu_come_from_the_json_of_a_run() {
        assert_eq!(parse(RUN).unwrap(), Point { ops: 4e6, cpu_ns_per_op: 901.5 });
    }

    #[test]
    fn a_run_that_failed_or_did_not_measure_its_cpu_has_no_cost() {
        assert!(parse(&RUN.replace("\"failed\":0", "\"failed\":3")).is_err());
        assert!(parse(&RUN.replace("901.5", "null")).is_err());
        assert!(parse(r#"{"schema":"plimsoll.error/1","exit":3,"error":"no"}"#).is_err());
    }
}
