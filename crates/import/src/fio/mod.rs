//! What fio 2 and 3 write with `--output-format=json` and `json+`, and fio's logs.
//!
//! In: the JSON, and logs of rates (`write_iops_log`), bandwidths (`write_bw_log`) and latencies (`write_lat_log`) of the same run. Out: one
//! point for each job of each run; clones of a job (`numjobs`) are one point. Limits: jobs that ran side by side are points of their own and do
//! not know of each other. With `json+` response times are fio's bins, 1.6 % wide; with `json` the percentiles that fio printed are steps, exact
//! where fio has a percentile. fio's completion latency counts from the submission.

mod json;
mod log;
mod options;
mod times;

use crate::amount::{BYTES_MAX, CLIENTS_MAX, COUNT_MAX, SECONDS_MAX, nanos_of};
use crate::error::ImportError;
use crate::point::{FILE_ENGINE, INTERVALS_FACT, ImportedKind, ImportedPoint};
pub(crate) use json::read_text;
use json::{FioDirection, FioJob, FioOutput};
use log::JobLogs;
use model::{Fact, KindDef, Nanos, OpClass};
use options::JobOptions;
use std::path::Path;
use times::KnownTimes;

/// The directions in the order of fio's numbers for them, with the kind of operation that each is. The last is all of them together, which
/// fio writes with `unified_rw_reporting`.
const DIRECTIONS: [(&str, OpClass); 4] =
    [("read", OpClass::Read), ("write", OpClass::Write), ("trim", OpClass::Write), ("mixed", OpClass::ReadWrite)];
/// The place of all directions together.
const MIXED: usize = 3;

/// Reads the JSON at `path` and the `logs` of the same run.
pub(crate) fn read(path: &Path, logs: &[&Path]) -> Result<Vec<ImportedPoint>, ImportError> {
    let runs = json::read(path)?;
    if let (Some(log), true) = (logs.first(), runs.len() > 1) {
        let what = format!(
            "this log may belong to any of the {} runs of fio in the JSON; give it with one of them",
            runs.len()
        );
        return Err(ImportError::whole(log, what));
    }
    let points = runs.iter().map(|run| points_of(path, run, logs)).collect::<Result<Vec<_>, _>>()?;
    Ok(points.into_iter().flatten().collect())
}

fn points_of(path: &Path, output: &FioOutput, logs: &[&Path]) -> Result<Vec<ImportedPoint>, ImportError> {
    let groups = groups_of(output);
    if groups.is_empty() {
        return Err(ImportError::whole(path, "fio has written no job; check that fio did not fail"));
    }
    let threads: Vec<u64> = groups.iter().map(|group| group.threads).collect();
    let logs = log::assign(logs, &threads)?;
    groups.iter().zip(&logs).map(|(group, logs)| group.make_point(path, output, logs)).collect()
}

/// The entries of a job and its clones.
struct JobGroup<'a> {
    jobs: Vec<&'a FioJob>,
    options: JobOptions,
    /// How many threads of fio they are.
    threads: u64,
}

/// The jobs with their clones. Each clone has an entry of its own, unless fio was asked to report groups.
fn groups_of(output: &FioOutput) -> Vec<JobGroup<'_>> {
    let mut groups: Vec<JobGroup> = Vec::new();
    let is_sum = |job: &&FioJob| job.jobname == "All clients";
    // fio adds up the jobs of all clients. Who has kept nothing else has one point of them.
    let only_sum = output.all_jobs().all(|job| is_sum(&job));
    for job in output.all_jobs().filter(|job| only_sum || !is_sum(job)) {
        match groups.last_mut().filter(|group| is_clone_of(job, group)) {
            Some(group) => {
                group.jobs.push(job);
                group.threads = group.threads.max(group.jobs.len() as u64);
            }
            None => {
                let options = JobOptions::new(&output.global_options.0, &job.job_options.0);
                let threads = options.count("numjobs").unwrap_or(1).clamp(1, CLIENTS_MAX);
                groups.push(JobGroup { jobs: vec![job], options, threads });
            }
        }
    }
    groups
}

fn is_clone_of(job: &FioJob, group: &JobGroup) -> bool {
    let first = group.jobs[0];
    let is_same = first.jobname == job.jobname && first.groupid == job.groupid && first.hostname == job.hostname;
    is_same && (group.jobs.len() as u64) < group.threads
}

impl JobGroup<'_> {
    fn make_point(&self, path: &Path, output: &FioOutput, logs: &JobLogs) -> Result<ImportedPoint, ImportError> {
        let first = self.jobs[0];
        let wrong =
            |what: String| ImportError::whole(path, format!("job {}: {what}", crate::error::quoted(&first.jobname)));
        let length = self.length().map_err(wrong)?;
        let mut used: Vec<usize> = (0..MIXED).filter(|nth| self.is_used(*nth)).collect();
        if used.is_empty() && self.is_used(MIXED) {
            used.push(MIXED);
        }
        let mut facts = self.options.facts();
        facts.extend(first.hostname.iter().map(|_| Fact::new("fio.client_server", "the job ran on another machine")));
        let mut kinds = Vec::new();
        for nth in &used {
            let (kind, known) = self.kind(*nth, &output.version).map_err(wrong)?;
            facts.extend(known.fact(DIRECTIONS[*nth].0));
            if self.directions(*nth).any(|direction| direction.total_ios == 0 && direction.io_bytes > 0) {
                facts.push(Fact::new(
                    format!("imported.ops.{}", DIRECTIONS[*nth].0),
                    "this version of fio prints no count: the operations are its rate, which is rounded, times its time",
                ));
            }
            kinds.push(kind);
        }
        self.take_failures(&mut kinds);
        if let Some(syncs) = self.syncs() {
            kinds.push(syncs);
        }
        let timeline = logs.timeline(&used, &kinds, &self.options, &output.version, length)?;
        let timeline = match timeline {
            Some(Ok(timeline)) => {
                if !timeline.times.is_empty() {
                    for (kind, times) in kinds.iter_mut().zip(&timeline.times) {
                        let all: u64 = times.iter().map(|(response, _)| response.len()).sum();
                        if all > 0 {
                            (kind.response, kind.service) = Default::default();
                        }
                    }
                }
                Some(timeline)
            }
            Some(Err(why)) => {
                facts.push(Fact::new(INTERVALS_FACT, format!("left out: {why}")));
                None
            }
            None => None,
        };
        let (engine_params, workload_params, io) = self.options.settings();
        facts.push(Fact::new("fio.jobname", &first.jobname));
        Ok(ImportedPoint {
            program: program_of(&output.version),
            program_name: "fio",
            engine: FILE_ENGINE.to_owned(),
            engine_params,
            workload: "file".to_owned(),
            workload_params,
            io,
            clients: u32::try_from(self.threads).expect("it was checked"),
            depth: self.options.depth(),
            rate_per_s: None,
            started_unix_ms: self.started(output),
            length,
            kinds,
            timeline,
            error: self
                .jobs
                .iter()
                .find(|job| job.error != 0)
                .map(|job| format!("fio reports the error {}", job.error)),
            facts,
        })
    }

    /// The entries of direction `nth`.
    fn directions(&self, nth: usize) -> impl Iterator<Item = &FioDirection> {
        self.jobs.iter().map(move |job| [&job.read, &job.write, &job.trim, &job.mixed][nth])
    }

    fn is_used(&self, nth: usize) -> bool {
        self.directions(nth).any(|direction| direction.total_ios > 0 || direction.io_bytes > 0)
    }

    /// The longest of the times that fio states for a direction.
    fn length(&self) -> Result<Nanos, String> {
        let all = (0..DIRECTIONS.len()).flat_map(|nth| self.directions(nth));
        let longest_ms = all.map(|direction| direction.runtime).max().unwrap_or(0);
        let longest = nanos_of(longest_ms as f64 / 1e3);
        longest.filter(|length| length.0 > 0).ok_or_else(|| {
            format!("a `runtime` of {longest_ms} ms, where a time above 0 and up to {SECONDS_MAX} s was expected")
        })
    }

    /// The operations of direction `nth`.
    fn kind(&self, nth: usize, version: &str) -> Result<(ImportedKind, KnownTimes), String> {
        let (name, class) = DIRECTIONS[nth];
        let mut kind = ImportedKind::new(KindDef::new(name, class));
        for direction in self.directions(nth) {
            let (ios, bytes) = (direction.ios(), direction.bytes());
            if ios > COUNT_MAX || bytes > BYTES_MAX {
                return Err(format!("{name}: {ios} operations and {bytes} bytes are more than any run has"));
            }
            kind.ok += ios;
            kind.bytes += bytes;
        }
        if kind.ok > COUNT_MAX || kind.bytes > BYTES_MAX {
            return Err(format!("{name}: {} operations are more than any run has", kind.ok));
        }
        let (times, known) = times::merge(self.directions(nth), version).map_err(|why| format!("{name}: {why}"))?;
        (kind.response, kind.service) = (times.clone(), times);
        Ok((kind, known))
    }

    /// fio has counted the requests that failed among the others, and not by direction: each direction has its share of them.
    fn take_failures(&self, kinds: &mut [ImportedKind]) {
        let mut failed = self.jobs.iter().map(|job| job.total_err.min(COUNT_MAX)).sum::<u64>();
        let mut all: u64 = kinds.iter().map(|kind| kind.ok).sum();
        failed = failed.min(all);
        for kind in kinds {
            let share = (u128::from(failed) * u128::from(kind.ok)).div_ceil(u128::from(all.max(1))) as u64;
            all -= kind.ok;
            (kind.ok, kind.failed, failed) = (kind.ok - share, share, failed - share);
        }
    }

    /// Syncs of files, which fio counts apart.
    fn syncs(&self) -> Option<ImportedKind> {
        let count = self.jobs.iter().map(|job| job.sync.total_ios.min(COUNT_MAX)).sum::<u64>().min(COUNT_MAX);
        let def = KindDef::new("fsync", OpClass::Sync);
        (count > 0).then(|| ImportedKind { ok: count, ..ImportedKind::new(def) })
    }

    /// When the job began, in newer versions; else when fio began: its results have the time at which they were written.
    fn started(&self, output: &FioOutput) -> Option<u64> {
        let stated = self.jobs.iter().filter_map(|job| job.job_start).min();
        let written = output.timestamp_ms.or_else(|| output.timestamp.and_then(|seconds| seconds.checked_mul(1_000)));
        let elapsed_ms = output.all_jobs().map(|job| job.elapsed).max().unwrap_or(0).saturating_mul(1_000);
        stated.or_else(|| written.map(|written| written.saturating_sub(elapsed_ms))).filter(|ms| *ms < 1 << 47)
    }
}

/// `fio-3.33` is `fio 3.33`.
fn program_of(version: &str) -> String {
    let number = version.strip_prefix("fio-").unwrap_or(version);
    format!("fio {number}").trim_end().to_owned()
}

/// Whether times are in nanoseconds: in microseconds before fio 3.
fn is_in_nanoseconds(version: &str) -> bool {
    let number = version.trim_start_matches("fio-");
    let major: String = number.chars().take_while(char::is_ascii_digit).collect();
    major.parse().is_ok_and(|major: u32| major >= 3) || number.starts_with("2.99")
}
