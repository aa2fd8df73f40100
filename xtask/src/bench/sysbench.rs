//! sysbench fileio as a peer on the disk.
//!
//! In: a case and a file beside which its name for it stands. Out: the rate that it reports. Limits: reads; its CPU is that of the
//! whole process, because it does not report its own.

use super::cases::Case;
use super::effort::Cost;
use super::process;
use anyhow::{Context, Result, bail};
use std::path::Path;
use std::process::Command;

/// What sysbench calls its first file.
pub const FILE: &str = "test_file.0";

/// How several I/Os are under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Setting {
    /// As many threads.
    Threads,
    /// One thread with libaio.
    Async,
}

impl Setting {
    /// The name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Setting::Threads => "sysbench, threads",
            Setting::Async => "sysbench, async",
        }
    }
}

/// Reads `file` at random for `seconds`.
pub fn run(case: &Case, file: &Path, seconds: u32, setting: Setting) -> Result<Cost> {
    let work = file.parent().context("the file is in a directory")?;
    let link = work.join(FILE);
    let _ = std::fs::remove_file(&link); // of the case before
    std::fs::hard_link(file, &link).with_context(|| format!("cannot link `{}`", link.display()))?;
    let mut command = Command::new("sysbench");
    command.current_dir(work).args(["fileio", "--file-num=1", "--file-test-mode=rndrd", "--file-extra-flags=direct"]);
    command.arg(format!("--file-total-size={}", case.bytes())).arg(format!("--time={seconds}"));
    command.arg(format!("--file-block-size={}", case.block_kib << 10));
    match setting {
        Setting::Threads => command.args(["--file-io-mode=sync", &format!("--threads={}", case.depth())]),
        Setting::Async => command.args(["--file-io-mode=async", &format!("--file-async-backlog={}", case.depth())]),
    };
    let finished = process::run(command.arg("run"))?;
    let per_s = parse(&finished.stdout)?;
    let process_ns = finished.cpu_ns / (per_s * f64::from(seconds));
    Ok(Cost { per_s, thread_ns: process_ns, user_ns: 0.0, process_ns })
}

fn parse(text: &str) -> Result<f64> {
    let rate = text.lines().find_map(|line| line.trim().strip_prefix("reads/s:")).map(str::trim);
    match rate.and_then(|rate| rate.parse().ok()) {
        Some(rate) if rate > 0.0 => Ok(rate),
        _ => bail!("sysbench reports {} reads a second", rate.unwrap_or("no")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_comes_from_the_report_of_sysbench_1_0() {
        let report = "File operations:\n    reads/s:                      32640.62\n    writes/s:      0.00\n";
        assert_eq!(parse(report).unwrap(), 32640.62);
        assert!(parse("FATAL: Cannot open file").is_err() && parse(&report.replace("32640.62", "0.00")).is_err());
    }
}
