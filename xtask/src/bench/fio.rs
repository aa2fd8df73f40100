//! fio as the peer: io_uring with registered files and buffers, in two settings.
//!
//! In: a file in the page cache. Out: I/Os and the CPU that fio says they took. Limits: random reads of one job; percentages of
//! CPU have two decimals in fio's report, which is 0.01 % of a run.

use super::process;
use anyhow::{Context, Result, bail};
use serde::Deserialize;
use std::path::Path;
use std::process::Command;

/// How fio hands its I/Os to the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Setting {
    /// Each as soon as it may.
    Plain,
    /// Sixteen at a time, both ways: the setting that costs fio least at this depth.
    Batched,
}

impl Setting {
    /// The name in tables.
    pub fn as_str(self) -> &'static str {
        match self {
            Setting::Plain => "fio",
            Setting::Batched => "fio, batches of 16",
        }
    }

    fn options(self) -> &'static [&'static str] {
        match self {
            Setting::Plain => &[],
            Setting::Batched => &["--iodepth_batch_submit=16", "--iodepth_batch_complete_min=16"],
        }
    }
}

/// What one run of a generator did.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cost {
    /// I/Os done.
    pub ops: f64,
    /// CPU of the generator's thread per I/O.
    pub thread_ns: f64,
    /// CPU of the whole process per I/O, with its start and its end.
    pub process_ns: f64,
}

/// Reads 16 KiB blocks of `file` at random for `seconds`.
pub fn run(file: &Path, seconds: u32, setting: Setting) -> Result<Cost> {
    let mut command = Command::new("fio");
    command.args(["--name=uring-cache", "--readonly", "--ioengine=io_uring", "--registerfiles=1", "--fixedbufs=1"]);
    command.args(["--iodepth=32", "--bs=16k", "--rw=randread", "--direct=0", "--norandommap", "--randrepeat=0"]);
    // Buffers at page boundaries, as plimsoll has them. fio's own for buffered I/O are not, and the kernel's copy into them took
    // up to four times as long on one CPU (AMD EPYC): a comparison with those would be one of alignments.
    command.arg("--iomem=mmap");
    // By default fio drops the file from the page cache before it begins.
    command.args(["--invalidate=0", "--time_based", "--output-format=json"]);
    command.arg(format!("--runtime={seconds}")).arg(format!("--filename={}", file.display())).args(setting.options());
    let finished = process::run(&mut command)?;
    let job = parse(&finished.stdout)?;
    Ok(Cost { ops: job.ops, thread_ns: job.cpu_ns / job.ops, process_ns: finished.cpu_ns / job.ops })
}

/// The version as fio says it: `fio-3.33`.
pub fn version() -> Result<String> {
    Ok(crate::workspace::output_of(Command::new("fio").arg("--version"))?.trim().to_owned())
}

/// What is taken from the report of one job.
#[derive(Debug, PartialEq)]
struct Job {
    ops: f64,
    cpu_ns: f64,
}

fn parse(json: &str) -> Result<Job> {
    #[derive(Deserialize)]
    struct Report {
        jobs: Vec<JobReport>,
    }
    #[derive(Deserialize)]
    struct JobReport {
        error: i64,
        usr_cpu: f64,
        sys_cpu: f64,
        /// In milliseconds.
        job_runtime: f64,
        read: ReadReport,
    }
    #[derive(Deserialize)]
    struct ReadReport {
        total_ios: f64,
    }
    // Warnings stand before the report, on stdout.
    let from = json.find("\n{").map_or(0, |at| at + 1);
    let report: Report = serde_json::from_str(&json[from..]).context("fio's report is not what fio 3 writes")?;
    let [job] = &report.jobs[..] else { bail!("fio reports {} jobs instead of one", report.jobs.len()) };
    if job.error != 0 || job.read.total_ios <= 0.0 {
        bail!("fio reports error {} after {} reads", job.error, job.read.total_ios);
    }
    // usr_cpu and sys_cpu are percentages of the job's run time.
    let cpu_ns = (job.usr_cpu + job.sys_cpu) / 100.0 * job.job_runtime * 1e6;
    Ok(Job { ops: job.read.total_ios, cpu_ns })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of fio 3.33, shortened.
    const REPORT: &str = r#"{
  "fio version" : "fio-3.33",
  "jobs" : [
    {
      "jobname" : "uring-cache",
      "groupid" : 0,
      "error" : 0,
      "elapsed" : 3,
      "read" : { "io_bytes" : 1874853888, "iops" : 57187.406297, "runtime" : 2001, "total_ios" : 114432, "short_ios" : 0 },
      "write" : { "io_bytes" : 0, "total_ios" : 0 },
      "job_runtime" : 2000,
      "usr_cpu" : 1.550000,
      "sys_cpu" : 63.150000,
      "ctx" : 4417
    }
  ]
}"#;

    #[test]
    fn the_cpu_of_a_saved_report_is_its_percentage_of_the_run_time() {
        let job = parse(REPORT).unwrap();
        assert_eq!(job.ops, 114_432.0);
        assert!((job.cpu_ns - 0.647 * 2e9).abs() < 1.0, "{}", job.cpu_ns);
    }

    #[test]
    fn warnings_before_the_report_are_passed_over() {
        assert!(parse(&format!("fio: this is only a warning\n{REPORT}")).is_ok());
    }

    #[test]
    fn a_job_that_failed_or_did_nothing_has_no_cost() {
        assert!(parse(&REPORT.replace("\"error\" : 0", "\"error\" : 5")).is_err());
        assert!(parse(&REPORT.replace("114432", "0")).is_err());
        assert!(parse("no JSON").is_err());
    }
}
