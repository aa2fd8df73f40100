//! fio's logs: rates, bandwidths and latencies over time.
//!
//! In: files of lines `time in ms, value, direction, block size, offset, ...`. Out: operations over time for each job, with response times if
//! each operation has a line (no `log_avg_msec`). Limits: what a log is shows only in its name (`NAME_iops.1.log`, `NAME_clat.1.log`), as
//! fio gives it; the number in it is that of the thread. Logs of `slat`, and means of latencies, are not used. Lines are in the order of
//! time; one that goes back by more than an interval is refused.

use super::is_in_nanoseconds;
use super::options::JobOptions;
use crate::amount::parse_count;
use crate::error::ImportError;
use crate::grid::{INTERVALS_MAX, IntervalGrid, OpenLogInterval};
use crate::input::Input;
use crate::point::{ImportedKind, Timeline};
use model::Nanos;
use std::path::{Path, PathBuf};

/// The interval into which single operations are counted.
const INTERVAL: Nanos = Nanos::from_secs(1);
/// A year in milliseconds.
const TIME_MS_MAX: u64 = 366 * 86_400 * 1_000;
/// From here on a time counts from 1970 (`log_unix_epoch`).
const EPOCH_MIN_MS: u64 = 100_000_000_000;
/// It is in the year 5138.
const EPOCH_MAX_MS: u64 = 100_000_000_000_000;
/// Above any rate, and any time in nanoseconds.
const VALUE_MAX: u64 = TIME_MS_MAX * 1_000_000;

/// What a log holds, the most useful first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum LogKind {
    CompletionTimes,
    TotalTimes,
    Rates,
    Bandwidths,
}

/// The logs of one job.
#[derive(Default)]
pub(super) struct JobLogs(Vec<(LogKind, PathBuf)>);

/// The kind of the log `path`, and the number of its thread from 1; `None` if it is not used.
fn described(path: &Path) -> Result<Option<(LogKind, Option<u64>)>, ImportError> {
    const EXPECTED: &str = "a log of fio has a name such as `NAME_iops.1.log`, `NAME_clat.1.log` or `NAME_bw.1.log`; what it holds shows only there";
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let (_, ending) = name.rsplit_once('_').ok_or_else(|| ImportError::whole(path, EXPECTED))?;
    let mut parts = ending.split('.');
    let kind = match parts.next().unwrap_or_default() {
        "iops" => LogKind::Rates,
        "bw" => LogKind::Bandwidths,
        "clat" => LogKind::CompletionTimes,
        "lat" => LogKind::TotalTimes,
        "slat" => return Ok(None),
        _ => return Err(ImportError::whole(path, EXPECTED)),
    };
    Ok(Some((kind, parts.next().and_then(|number| parse_count(number, 1 << 20)))))
}

/// The logs of each job, of which the numbers of threads are given.
pub(super) fn assign(logs: &[&Path], threads: &[u64]) -> Result<Vec<JobLogs>, ImportError> {
    let mut assigned: Vec<JobLogs> = threads.iter().map(|_| JobLogs::default()).collect();
    let all: u64 = threads.iter().sum();
    for log in logs {
        let Some((kind, thread)) = described(log)? else { continue };
        let job = match thread {
            Some(thread) => job_of_thread(thread, threads),
            None if threads.len() == 1 => Some(0),
            None => {
                return Err(ImportError::whole(
                    log,
                    format!("the log has no number of a thread in its name, and there are {} jobs", threads.len()),
                ));
            }
        };
        let job = job.ok_or_else(|| {
            ImportError::whole(log, format!("the log is of thread {}, and the JSON has {all}", thread.unwrap_or(0)))
        })?;
        assigned[job].0.push((kind, log.to_path_buf()));
    }
    Ok(assigned)
}

/// Threads are numbered from 1 in the order of the jobs.
fn job_of_thread(thread: u64, threads: &[u64]) -> Option<usize> {
    let mut last = 0;
    threads.iter().position(|count| {
        last += count;
        (1..=last).contains(&thread)
    })
}

/// One line of a log.
struct LogEntry {
    time_ms: u64,
    value: u64,
    direction: usize,
}

impl JobLogs {
    /// The operations over time of the directions `used`, which are the first of `kinds`; `None` without a log that shows them.
    pub fn timeline(
        &self,
        used: &[usize],
        kinds: &[ImportedKind],
        options: &JobOptions,
        version: &str,
        length: Nanos,
    ) -> Result<Option<Result<Timeline, String>>, ImportError> {
        let window = options.log_window_ms();
        // Without a window a line of bandwidth is that of one operation, too.
        let Some(best) = self
            .0
            .iter()
            .map(|(kind, _)| *kind)
            .filter(|kind| window.is_none() || matches!(kind, LogKind::Rates | LogKind::Bandwidths))
            .min()
        else {
            return Ok(None);
        };
        let interval = window.map_or(INTERVAL, |ms| Nanos(ms * 1_000_000));
        let mut reader = LogReader {
            used,
            kinds,
            kind: best,
            window_ms: window,
            unit_ns: if is_in_nanoseconds(version) { 1 } else { 1_000 },
            grid: IntervalGrid::new(interval, kinds.len()),
        };
        for (_, path) in self.0.iter().filter(|(kind, _)| *kind == best) {
            reader.read(path)?;
        }
        if reader.grid.is_empty() {
            return Ok(None);
        }
        let totals: Vec<u64> = kinds.iter().map(|kind| kind.ok).collect();
        // Syncs are in no log: when they were done is not known.
        let has_others = totals.iter().skip(used.len()).any(|total| *total > 0);
        Ok(Some(if has_others { Err("syncs are in no log".to_owned()) } else { reader.grid.fit(&totals, length) }))
    }
}

/// The logs of one kind of a job, as far as they are read.
struct LogReader<'a> {
    used: &'a [usize],
    kinds: &'a [ImportedKind],
    kind: LogKind,
    window_ms: Option<u64>,
    unit_ns: u64,
    grid: IntervalGrid,
}

impl LogReader<'_> {
    fn read(&mut self, path: &Path) -> Result<(), ImportError> {
        if std::fs::metadata(path).is_ok_and(|about| about.len() == 0) {
            return Ok(());
        }
        let mut input = Input::open(path)?;
        let mut before = vec![0; self.kinds.len()];
        let mut open: Vec<OpenLogInterval> = self.kinds.iter().map(|_| OpenLogInterval::default()).collect();
        let mut origin_ms = None;
        while let Some(line) = input.next_line()? {
            let entry = read_entry(&line, &input)?;
            let Some(kind) = self.used.iter().position(|direction| *direction == entry.direction) else { continue };
            let start = *origin_ms.get_or_insert(if entry.time_ms >= EPOCH_MIN_MS { entry.time_ms } else { 0 });
            let time_ms = entry.time_ms.checked_sub(start).filter(|ms| *ms <= TIME_MS_MAX);
            let time_ms = time_ms.ok_or_else(|| input.expected("a time in milliseconds since the beginning", &line))?;
            match self.window_ms {
                Some(window_ms) => self.add_window(kind, (before[kind], time_ms), window_ms, entry.value, &input)?,
                None => self.add_operation(&mut open[kind], kind, time_ms, entry.value, &input)?,
            }
            before[kind] = time_ms.max(before[kind]);
        }
        open.iter_mut().enumerate().for_each(|(kind, interval)| interval.close(kind, &mut self.grid));
        Ok(())
    }

    /// Adds an operation that ended at `time_ms`. In a log of times `value` is its time.
    fn add_operation(
        &mut self,
        open: &mut OpenLogInterval,
        kind: usize,
        time_ms: u64,
        value: u64,
        input: &Input,
    ) -> Result<(), ImportError> {
        let place = self.grid.place_of(time_ms * 1_000_000).map_err(|_| too_many(input))?;
        let moved = open.move_to(place, kind, &mut self.grid);
        moved.map_err(|_| input.wrong("the time goes back; a log of fio is in the order of time"))?;
        let has_times = matches!(self.kind, LogKind::CompletionTimes | LogKind::TotalTimes);
        let time_ns = value.saturating_mul(self.unit_ns);
        open.add(has_times.then_some((time_ns, time_ns)));
        Ok(())
    }

    /// Adds the mean rate, or bandwidth in KiB per second, of the window that ends with the entry. fio writes no entry for a window in which
    /// nothing was done.
    fn add_window(
        &mut self,
        kind: usize,
        (before_ms, end_ms): (u64, u64),
        window_ms: u64,
        value: u64,
        input: &Input,
    ) -> Result<(), ImportError> {
        let per_s = match self.kind {
            LogKind::Bandwidths => {
                let ImportedKind { ok, bytes, .. } = &self.kinds[kind];
                if *bytes == 0 { 0.0 } else { value as f64 * 1_024.0 * *ok as f64 / *bytes as f64 }
            }
            _ => value as f64,
        };
        let since_ms = end_ms.saturating_sub(before_ms);
        let covered_ms = if since_ms > window_ms + window_ms / 2 { window_ms } else { since_ms };
        let (from, to) = ((end_ms - covered_ms) * 1_000_000, end_ms * 1_000_000);
        self.grid.spread(kind, from, to, per_s * covered_ms as f64 / 1e3).map_err(|_| too_many(input))
    }
}

/// `1000, 2530, 0, 4096, 0`.
fn read_entry(line: &str, input: &Input) -> Result<LogEntry, ImportError> {
    let mut fields = line.split(',');
    let mut number = |most: u64| fields.next().and_then(|field| parse_count(field, most));
    let entry = (number(EPOCH_MAX_MS), number(VALUE_MAX), number(2));
    match entry {
        (Some(time_ms), Some(value), Some(direction)) => Ok(LogEntry { time_ms, value, direction: direction as usize }),
        _ => Err(input.expected("a line of fio's log, such as `1000, 2530, 0, 4096, 0`", line)),
    }
}

fn too_many(input: &Input) -> ImportError {
    input.wrong(format!(
        "the time is beyond {INTERVALS_MAX} intervals; let fio average over longer ones (`log_avg_msec`)"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_belong_to_jobs_in_their_order() {
        assert_eq!(
            [0, 1, 2, 3, 4].map(|thread| job_of_thread(thread, &[1, 2])),
            [None, Some(0), Some(1), Some(1), None]
        );
    }

    #[test]
    fn what_a_log_holds_shows_in_its_name() {
        let known = |name: &str| described(Path::new(name)).map_err(|error| error.to_string());
        assert_eq!(known("a_b_iops.2.log"), Ok(Some((LogKind::Rates, Some(2)))));
        assert_eq!(known("x_clat.log"), Ok(Some((LogKind::CompletionTimes, None))));
        assert_eq!(known("x_slat.1.log"), Ok(None));
        assert!(known("results.csv").unwrap_err().contains("NAME_iops.1.log"));
    }
}
