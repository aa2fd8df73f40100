//! fio as a peer: psync, or io_uring with registered files and buffers, in several settings.
//!
//! In: a case and its file. Out: I/Os and their CPU, as fio reports them. Limits: one job; percentages of CPU have two decimals
//! in fio's report, which is 0.01 % of a run.

use super::cases::{CaseIo, IoCase, IoPlace};
use super::effort::IoCost;
use super::process;
use anyhow::{Context, Result, bail};
use serde::Deserialize;
use std::path::Path;
use std::process::Command;

/// Options in addition to those of the case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FioSetting {
    /// The name in tables.
    pub name: &'static str,
    options: &'static [&'static str],
}

const BATCHED: [&str; 2] = ["--iodepth_batch_submit=16", "--iodepth_batch_complete_min=16"];
/// Only the time from submission to completion is kept, in one histogram, as plimsoll does in a closed loop.
const ONE_HISTOGRAM: [&str; 2] = ["--disable_slat=1", "--disable_lat=1"];

/// For io_uring without a device. fio costs least if it submits and collects sixteen at a time.
pub const URING: &[FioSetting] = &[
    FioSetting { name: "fio, batches of 16", options: &BATCHED },
    FioSetting {
        name: "fio, batches of 16, one histogram",
        options: &[BATCHED[0], BATCHED[1], ONE_HISTOGRAM[0], ONE_HISTOGRAM[1]],
    },
    FioSetting {
        name: "fio, batches of 16, one histogram, lfsr",
        options: &[BATCHED[0], BATCHED[1], ONE_HISTOGRAM[0], ONE_HISTOGRAM[1], "--random_generator=lfsr"],
    },
    FioSetting {
        name: "fio, batches of 16 to 32, one histogram",
        options: &[BATCHED[0], BATCHED[1], ONE_HISTOGRAM[0], ONE_HISTOGRAM[1], "--iodepth_batch_complete_max=32"],
    },
];

/// For one at a time.
pub const SYNC: &[FioSetting] = &[
    FioSetting { name: "fio", options: &[] },
    FioSetting { name: "fio, one histogram", options: &ONE_HISTOGRAM },
    FioSetting {
        name: "fio, one histogram, lfsr",
        options: &[ONE_HISTOGRAM[0], ONE_HISTOGRAM[1], "--random_generator=lfsr"],
    },
];

/// For the disk, where the rate counts.
pub const ON_DISK: &[FioSetting] = &[
    FioSetting { name: "fio", options: &[] },
    FioSetting { name: "fio, batches of 8", options: &["--iodepth_batch_submit=8", "--iodepth_batch_complete_max=8"] },
];

/// Reads or writes blocks of `file` at random for `seconds`.
pub fn run(case: &IoCase, file: &Path, seconds: u32, setting: &FioSetting) -> Result<IoCost> {
    let mut command = Command::new("fio");
    command.args(["--name=bench", "--norandommap", "--randrepeat=0", "--time_based", "--output-format=json"]);
    // Buffers at page boundaries, as plimsoll has them. fio's own buffers for buffered I/O are not aligned, and the kernel's copy
    // into them took up to four times as long on one CPU (AMD EPYC): that would compare alignments.
    command.arg("--iomem=mmap");
    // By default fio drops the file from the page cache before it begins.
    command.arg("--invalidate=0");
    match case.place {
        IoPlace::Null => command.args(["--rw=randwrite", "--direct=0"]),
        IoPlace::Cache { .. } => command.args(["--rw=randread", "--readonly", "--direct=0"]),
        IoPlace::Disk => command.args(["--rw=randread", "--readonly", "--direct=1"]),
    };
    match case.io {
        CaseIo::Sync => command.arg("--ioengine=psync"),
        CaseIo::Uring { .. } => command.args(["--ioengine=io_uring", "--registerfiles=1", "--fixedbufs=1"]),
    };
    command.arg(format!("--iodepth={}", case.depth())).arg(format!("--bs={}k", case.block_kib));
    command.arg(format!("--size={}", case.bytes())).arg(format!("--filename={}", file.display()));
    command.arg(format!("--runtime={seconds}")).args(setting.options);
    let finished = process::run(&mut command)?;
    let job = parse_report(&finished.stdout)?;
    Ok(IoCost {
        per_s: job.ops / job.seconds,
        thread_ns: job.cpu_ns / job.ops,
        user_ns: job.user_ns / job.ops,
        process_ns: finished.cpu_ns / job.ops,
    })
}

/// The version as fio prints it: `fio-3.33`.
pub fn version() -> Result<String> {
    Ok(crate::workspace::output_of(Command::new("fio").arg("--version"))?.trim().to_owned())
}

/// The numbers that are taken from the report of one job.
#[derive(Debug, PartialEq)]
struct JobNumbers {
    ops: f64,
    seconds: f64,
    cpu_ns: f64,
    user_ns: f64,
}

fn parse_report(json: &str) -> Result<JobNumbers> {
    #[derive(Deserialize)]
    struct FioReport {
        jobs: Vec<JobReport>,
    }
    #[derive(Deserialize)]
    struct JobReport {
        error: i64,
        usr_cpu: f64,
        sys_cpu: f64,
        /// How long it ran, in milliseconds.
        job_runtime: f64,
        read: Direction,
        write: Direction,
    }
    #[derive(Deserialize)]
    struct Direction {
        total_ios: f64,
    }
    // fio prints its warnings before the report, on stdout, too.
    let from = json.find("\n{").map_or(0, |at| at + 1);
    let report: FioReport = serde_json::from_str(&json[from..]).context("fio's report is not what fio 3 writes")?;
    let [job] = &report.jobs[..] else { bail!("fio reports {} jobs instead of one", report.jobs.len()) };
    let ops = job.read.total_ios + job.write.total_ios;
    if job.error != 0 || ops <= 0.0 {
        bail!("fio reports error {} after {ops} I/Os", job.error);
    }
    // usr_cpu and sys_cpu are percentages of the job's run time.
    let [cpu_ns, user_ns] =
        [job.usr_cpu + job.sys_cpu, job.usr_cpu].map(|percent| percent / 100.0 * job.job_runtime * 1e6);
    Ok(JobNumbers { ops, seconds: job.job_runtime / 1e3, cpu_ns, user_ns })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of fio 3.33, shortened.
    const REPORT: &str = r#"{
  "fio version" : "fio-3.33",
  "jobs" : [
    {
      "jobname" : "bench",
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
        let job = parse_report(REPORT).unwrap();
        assert_eq!(job.ops, 114_432.0);
        assert!((job.cpu_ns - 0.647 * 2e9).abs() < 1.0, "{}", job.cpu_ns);
        assert!((job.user_ns - 0.0155 * 2e9).abs() < 1.0 && job.seconds == 2.0, "{job:?}");
    }

    #[test]
    fn warnings_before_the_report_are_passed_over() {
        assert!(parse_report(&format!("fio: this is only a warning\n{REPORT}")).is_ok());
    }

    #[test]
    fn a_job_that_failed_or_did_nothing_has_no_cost() {
        assert!(parse_report(&REPORT.replace("\"error\" : 0", "\"error\" : 5")).is_err());
        assert!(parse_report(&REPORT.replace("114432", "0")).is_err());
        assert!(parse_report("no JSON").is_err());
    }
}
