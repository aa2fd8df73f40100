//! plimsoll as the other side of a pair: the release binary, driven by flags and read by its JSON.
//!
//! In: a case and its file. Out: I/Os and the CPU of the client that did them. Limits: no warmup, so that every I/O of the process
//! is counted; the caller brings a file into the page cache before.

use super::cases::{CaseIo, IoCase, IoPlace};
use super::effort::IoCost;
use super::process;
use anyhow::{Context, Result, bail};
use serde::Deserialize;
use std::path::{Path, PathBuf};
use std::process::Command;

pub fn binary(root: &Path) -> PathBuf {
    root.join("target/release/plimsoll")
}

/// The version as the binary prints it, and the commit that it was built from, if there is one.
pub fn version(root: &Path) -> Result<String> {
    let own = own_version(&binary(root))?;
    let mut git = Command::new("git");
    git.current_dir(root).args(["rev-parse", "--short", "HEAD"]).stderr(std::process::Stdio::null());
    let commit = git.output().ok().filter(|output| output.status.success()).map(|output| output.stdout);
    let commit = commit.map_or(String::new(), |hash| format!(" ({})", String::from_utf8_lossy(&hash).trim()));
    Ok(format!("{own}{commit}"))
}

/// The version as `binary` prints it.
pub fn own_version(binary: &Path) -> Result<String> {
    let own = crate::workspace::output_of(Command::new(binary).arg("--version"))?;
    Ok(own.trim().to_owned())
}

/// Runs `case` with `binary` on `file` for `seconds`, by one client or, with `threads`, by as many as I/Os are in flight; run files go below `work`.
pub fn run(binary: &Path, case: &IoCase, file: &Path, work: &Path, seconds: u32, threads: bool) -> Result<IoCost> {
    let mut command = Command::new(binary);
    command.args(["file", "--warmup", "0s", "--json", "--quiet", "--no-report"]);
    let (io, clients, depth) = match case.io {
        CaseIo::Uring { depth } if threads => ("sync", depth, 1),
        CaseIo::Uring { depth } => ("uring", 1, depth),
        CaseIo::Sync => ("sync", 1, 1),
    };
    command.args(["--io", io, "--clients", &clients.to_string(), "--depth", &depth.to_string()]);
    match case.place {
        IoPlace::Null => command.args(["--mode", "rndwr", "--direct", "false", "--destroy", "/dev/null=null"]),
        IoPlace::Cache { .. } => command.args(["--mode", "rndrd", "--direct", "false"]),
        IoPlace::Disk => command.args(["--mode", "rndrd", "--direct", "true"]),
    };
    command.arg("--block").arg(format!("{}KiB", case.block_kib));
    command.arg("--time").arg(format!("{seconds}s")).arg("--file-size").arg(case.bytes().to_string());
    command.arg("--path").arg(file).arg("--dir").arg(work).arg("--runs").arg(work.join("runs"));
    let finished = process::run(&mut command)?;
    let point = parse_point(&finished.stdout)?;
    Ok(IoCost {
        per_s: point.ops_per_s,
        thread_ns: point.cpu_ns_per_op,
        user_ns: point.user_ns_per_op,
        process_ns: finished.cpu_ns / point.ops,
    })
}

/// What the JSON of a run with one point has of it.
#[derive(Debug, PartialEq)]
pub struct PointNumbers {
    pub ops: f64,
    pub ops_per_s: f64,
    /// Statements per second, which are operations of what is no database.
    pub queries_per_s: f64,
    pub cpu_ns_per_op: f64,
    pub user_ns_per_op: f64,
}

/// The numbers of a point that did operations, of which none failed.
pub fn parse_point(json: &str) -> Result<PointNumbers> {
    #[derive(Deserialize)]
    struct RunReport {
        points: Vec<PrintedPoint>,
    }
    #[derive(Deserialize)]
    struct PrintedPoint {
        ops: f64,
        ops_per_s: f64,
        queries_per_s: Option<f64>,
        failed: u64,
        client: ClientReport,
    }
    #[derive(Deserialize)]
    struct ClientReport {
        cpu_ns_per_op: Option<f64>,
        cpu_user_ns_per_op: Option<f64>,
    }
    let run: RunReport = serde_json::from_str(json).context("plimsoll's JSON is not of the schema plimsoll.run/1")?;
    let [point] = &run.points[..] else { bail!("plimsoll reports {} points instead of one", run.points.len()) };
    let PrintedPoint { ops, ops_per_s, queries_per_s, failed, client } = point;
    let queries_per_s = queries_per_s.unwrap_or(*ops_per_s);
    match (client.cpu_ns_per_op, client.cpu_user_ns_per_op) {
        (Some(cpu_ns_per_op), Some(user_ns_per_op)) if *ops > 0.0 && *failed == 0 => {
            Ok(PointNumbers { ops: *ops, ops_per_s: *ops_per_s, queries_per_s, cpu_ns_per_op, user_ns_per_op })
        }
        (cpu, _) => bail!("plimsoll reports {ops} I/Os, {failed} failed, CPU per operation {cpu:?}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RUN: &str = r#"{"schema":"plimsoll.run/1","run":"a.plimsoll","report":null,"state":"complete",
        "points":[{"point":1,"engine":"file","workload":"file","clients":1,"depth":32,"ops":4000000,"ops_per_s":1e6,"failed":0,
        "client":{"cpu_ns_per_op":901.5,"cpu_user_ns_per_op":31.0},"validity":"valid","findings":[]}]}"#;

    #[test]
    fn operations_and_their_cpu_come_from_the_json_of_a_run() {
        let (ops_per_s, queries_per_s) = (1e6, 1e6);
        let point = PointNumbers { ops: 4e6, ops_per_s, queries_per_s, cpu_ns_per_op: 901.5, user_ns_per_op: 31.0 };
        assert_eq!(parse_point(RUN).unwrap(), point);
    }

    #[test]
    fn a_run_that_failed_or_did_not_measure_its_cpu_has_no_cost() {
        assert!(parse_point(&RUN.replace("\"failed\":0", "\"failed\":3")).is_err());
        assert!(parse_point(&RUN.replace("901.5", "null")).is_err());
        assert!(parse_point(r#"{"schema":"plimsoll.error/1","exit":3,"error":"no"}"#).is_err());
    }
}
