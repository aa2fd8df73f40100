//! Watches a run of minutes for growth that would fill memory or disk in a run of days.
//!
//! In: the release binary, a number of minutes. Out: the growth of the process's memory and of the run file by the hour; too much
//! fails. Limits: the load is random reads of a file in the page cache at full speed in intervals of a second, which is the most
//! operations that this machine can record; the first half is left out, because buffers reach their size in it. The memory of the
//! analysis after the run is not watched.

use super::hosts::run_file::run_files;
use super::plimsoll;
use anyhow::{Context, Result, ensure};
use std::fs;
use std::path::Path;
use std::process::Child;
use std::time::{Duration, Instant};

const MINUTE_S: f64 = 60.0;
const HOUR_S: f64 = 3600.0;
const EVERY: Duration = Duration::from_secs(1);
/// At most 288 MB a day, a file that can still be copied, read and kept.
const FILE_BYTES_PER_HOUR_MAX: f64 = 12e6;
/// At most 170 MB a week, in a process of some 20 MB.
const MEMORY_BYTES_PER_HOUR_MAX: f64 = 1e6;

/// Memory and log at one moment.
struct GrowthSample {
    at_s: f64,
    memory_bytes: f64,
    log_bytes: u64,
}

/// Runs for `minutes` and reports what grew.
pub fn watch_run(root: &Path, work: &Path, minutes: u32) -> Result<()> {
    let runs = work.join("runs-long");
    let time = format!("{minutes}m");
    let mut command = plimsoll(root);
    command.args(["file", "--file-size", "256MiB", "--direct", "false", "--block", "4KiB", "--io", "sync", "--quiet"]);
    command.args(["--time", &time, "--interval", "1s", "--no-report", "--dir"]).arg(work).arg("--runs").arg(&runs);
    let mut child = command.spawn()?;
    let samples = sample_process(&mut child, &runs, f64::from(minutes) * MINUTE_S)?;
    let output = child.wait_with_output()?;
    ensure!(output.status.success(), "the run failed: {}", String::from_utf8_lossy(&output.stderr));
    let file = run_files(&runs).pop().context("the run left no run file")?;
    let seconds = f64::from(minutes) * MINUTE_S;
    judge_growth(&samples, fs::metadata(&file)?.len() as f64 / seconds * HOUR_S)
}

/// Samples the process once a second for as long as its load runs.
fn sample_process(child: &mut Child, runs: &Path, seconds: f64) -> Result<Vec<GrowthSample>> {
    let started = Instant::now();
    let mut samples = Vec::new();
    while started.elapsed().as_secs_f64() < seconds {
        std::thread::sleep(EVERY); // the real time of another process
        ensure!(child.try_wait()?.is_none(), "the run ended before its time");
        let log = run_files(runs).pop().map(|file| file.with_extension("plimsoll-wal"));
        let log_bytes = log.and_then(|log| fs::metadata(log).ok()).map_or(0, |meta| meta.len());
        let at_s = started.elapsed().as_secs_f64();
        samples.push(GrowthSample { at_s, memory_bytes: memory_bytes(child.id())?, log_bytes });
    }
    Ok(samples)
}

/// The memory of the process that is its own: not the pages of files that it shares with the page cache.
fn memory_bytes(process: u32) -> Result<f64> {
    let path = format!("/proc/{process}/status");
    let status = fs::read_to_string(&path).with_context(|| format!("cannot read `{path}`"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"));
    let kib = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<f64>().ok());
    Ok(kib.with_context(|| format!("`{path}` has no RssAnon"))? * 1024.0)
}

fn judge_growth(samples: &[GrowthSample], file_per_hour: f64) -> Result<()> {
    let later = samples[samples.len() / 2..].iter().map(|sample| (sample.at_s, sample.memory_bytes));
    let later: Vec<(f64, f64)> = later.collect();
    let per_hour = slope(&later) * HOUR_S;
    let (first, last) = (later.first().context("nothing was sampled")?, later.last().context("nothing was sampled")?);
    let log = samples.iter().map(|sample| sample.log_bytes).max().unwrap_or(0) as f64;
    println!("memory: {} half-way, {} at the end, {} an hour", mb(first.1), mb(last.1), mb(per_hour));
    println!("run file: {} an hour; its log {} at most while recording", mb(file_per_hour), mb(log));
    let most = mb(FILE_BYTES_PER_HOUR_MAX);
    ensure!(file_per_hour <= FILE_BYTES_PER_HOUR_MAX, "the run file grows by more than {most} an hour");
    let most = mb(MEMORY_BYTES_PER_HOUR_MAX);
    ensure!(per_hour <= MEMORY_BYTES_PER_HOUR_MAX, "the memory grows by more than {most} an hour");
    Ok(())
}

fn mb(bytes: f64) -> String {
    format!("{:.2} MB", bytes / 1e6)
}

/// The slope of the least-squares line through `points`.
fn slope(points: &[(f64, f64)]) -> f64 {
    let n = points.len() as f64;
    let (mean_x, mean_y) = (points.iter().map(|p| p.0).sum::<f64>() / n, points.iter().map(|p| p.1).sum::<f64>() / n);
    let products: f64 = points.iter().map(|p| (p.0 - mean_x) * (p.1 - mean_y)).sum();
    products / points.iter().map(|p| (p.0 - mean_x).powi(2)).sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(per_second: f64) -> Vec<GrowthSample> {
        let sample = |second: u32| {
            let at_s = f64::from(second);
            let warming = if second < 60 { -5e6 } else { 0.0 };
            GrowthSample { at_s, memory_bytes: 2e7 + warming + per_second * at_s, log_bytes: 4096 }
        };
        (0..300).map(sample).collect()
    }

    #[test]
    fn memory_that_is_level_in_the_second_half_passes_and_one_that_grows_does_not() {
        assert!(judge_growth(&samples(0.0), 8e6).is_ok());
        assert!(judge_growth(&samples(400.0), 8e6).is_err());
    }

    #[test]
    fn a_run_file_that_grows_too_fast_is_refused() {
        assert!(judge_growth(&samples(0.0), 12.1e6).is_err());
    }

    #[test]
    fn the_slope_is_that_of_the_line() {
        assert!((slope(&[(1.0, 10.0), (2.0, 12.0), (4.0, 16.0)]) - 2.0).abs() < 1e-12);
    }
}
