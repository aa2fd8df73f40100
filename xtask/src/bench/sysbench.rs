//! sysbench fileio as a peer on the disk.
//!
//! In: a case and a file; sysbench's own name for it is made as a link in the same directory. Out: the rate that it reports. Limits:
//! only reads; its CPU is that of the whole process, because it does not report its own.

use super::cases::IoCase;
use super::effort::IoCost;
use super::process;
use anyhow::{Context, Result, bail};
use std::path::Path;
use std::process::Command;

/// The name of sysbench's first file.
pub const FILE: &str = "test_file.0";

/// How several I/Os are kept in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SysbenchMode {
    /// As many threads as I/Os.
    Threads,
    /// One thread with libaio.
    Async,
}

impl SysbenchMode {
    /// The name in tables.
    pub fn name(self) -> &'static str {
        match self {
            SysbenchMode::Threads => "sysbench, threads",
            SysbenchMode::Async => "sysbench, async",
        }
    }
}

/// Reads `file` at random for `seconds`.
pub fn run(case: &IoCase, file: &Path, seconds: u32, mode: SysbenchMode) -> Result<IoCost> {
    let work = file.parent().context("the file is in a directory")?;
    let link = work.join(FILE);
    let _ = std::fs::remove_file(&link); // of the case before
    // sysbench opens only files with its own names; a link costs no copy.
    std::fs::hard_link(file, &link).with_context(|| format!("cannot link `{}`", link.display()))?;
    let mut command = Command::new("sysbench");
    command.current_dir(work).args(["fileio", "--file-num=1", "--file-test-mode=rndrd", "--file-extra-flags=direct"]);
    command.arg(format!("--file-total-size={}", case.bytes())).arg(format!("--time={seconds}"));
    command.arg(format!("--file-block-size={}", case.block_kib << 10));
    match mode {
        SysbenchMode::Threads => command.args(["--file-io-mode=sync", &format!("--threads={}", case.depth())]),
        SysbenchMode::Async => {
            command.args(["--file-io-mode=async", &format!("--file-async-backlog={}", case.depth())])
        }
    };
    let finished = process::run(command.arg("run"))?;
    let per_s = parse_rate(&finished.stdout)?;
    let process_ns = finished.cpu_ns / (per_s * f64::from(seconds));
    Ok(IoCost { per_s, thread_ns: process_ns, user_ns: 0.0, process_ns })
}

fn parse_rate(text: &str) -> Result<f64> {
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
        assert_eq!(parse_rate(report).unwrap(), 32640.62);
        assert!(
            parse_rate("FATAL: Cannot open file").is_err() && parse_rate(&report.replace("32640.62", "0.00")).is_err()
        );
    }
}
