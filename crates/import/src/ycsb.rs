//! What YCSB prints: its summary, and the lines of its status.
//!
//! In: the output of `ycsb load` or `run`, with `-s` the status lines as well; measurements of the types `hdrhistogram`, `histogram` and
//! `timeseries`. Out: a point of the workload `ycsb` for each run, with a kind for each operation. Limits: the percentiles that are printed
//! are facts, and response times only if the 50, 95, 99 and 99.9 are among them (`hdrhistogram.percentiles`). Classes of a millisecond and means
//! over time are left out. The command line is not kept: it may have passwords.

use crate::amount::{CLIENTS_MAX, COUNT_MAX, SECONDS_MAX, nanos_of, parse_amount, parse_count};
use crate::error::ImportError;
use crate::grid::{INTERVALS_MAX, IntervalGrid};
use crate::input::Input;
use crate::percentiles::{STEPS, times_of_steps};
use crate::point::{ImportedKind, ImportedPoint, LEFT_OUT_FACT, Timeline, separate_parts_of_updates, unknown_clients};
use crate::runs::{NextLine, RunOutput, at_once, read_runs};
use model::{Fact, KindDef, Nanos, OpClass};
use std::collections::BTreeMap;
use std::path::Path;

/// The most kinds of operation.
const KINDS_MAX: usize = 100;
/// What YCSB measures besides operations.
const NO_OPERATIONS: [&str; 3] = ["CLEANUP", "INIT", "VERIFY"];

/// Reads the output at `path`.
pub(crate) fn read(path: &Path) -> Result<Vec<ImportedPoint>, ImportError> {
    read_runs::<YcsbOutput>(path, &[])
}

/// What is read so far.
#[derive(Default)]
struct YcsbOutput {
    version: Option<String>,
    has_command: bool,
    threads: Option<u64>,
    target_per_s: Option<f64>,
    runtime_ms: Option<f64>,
    throughput: Option<f64>,
    /// The measurements by the name of the operation, in the order of their names.
    measured: BTreeMap<String, Measured>,
    statuses: Vec<Status>,
    /// Lines of a histogram or of means over time.
    series: u64,
}

/// The measurements of an operation.
#[derive(Default)]
struct Measured {
    operations: Option<u64>,
    average_us: Option<f64>,
    min_us: Option<f64>,
    max_us: Option<f64>,
    /// Pairs of percent and microseconds.
    percentiles: Vec<(f64, f64)>,
    returned_ok: u64,
    returned_other: u64,
}

/// A line of the status.
struct Status {
    /// Milliseconds since 1970 or since the run began, whatever the line has.
    at_ms: i64,
    since_start_s: u64,
    operations: u64,
    /// Operations since the last line, by name.
    counts: Vec<(String, u64)>,
}

impl RunOutput for YcsbOutput {
    fn next(&self, line: &str) -> NextLine {
        let text = line.trim();
        let is_client = text.starts_with("YCSB Client ");
        let is_command = text.starts_with("Command line:");
        if is_client && (self.version.is_some() || self.is_over()) || is_command && (self.has_command || self.is_over())
        {
            NextLine::Header
        } else if self.is_over() && (text.starts_with("[OVERALL], RunTime") || is_status(text)) {
            NextLine::MoreResults
        } else {
            NextLine::SameRun
        }
    }

    fn take(&mut self, line: &str, input: &Input) -> Result<(), ImportError> {
        let text = line.trim();
        if let Some(version) = text.strip_prefix("YCSB Client ") {
            self.version = Some(version.trim().to_owned());
        } else if let Some(command) = text.strip_prefix("Command line:") {
            self.has_command = true;
            self.take_command(command);
        } else if is_status(text) {
            self.take_status(text, input)?;
        } else if let Some((name, rest)) = text.strip_prefix('[').and_then(|text| text.split_once("], ")) {
            self.take_measure(name, rest, input)?;
        }
        Ok(())
    }

    fn has_begun(&self) -> bool {
        self.has_command || !self.statuses.is_empty() || !self.measured.is_empty()
    }

    fn is_over(&self) -> bool {
        self.runtime_ms.is_some() && self.throughput.is_some()
    }

    fn into_point(mut self, input: &Input, _: &[&Path]) -> Result<ImportedPoint, ImportError> {
        let missing =
            |line: &str| ImportError::whole(input.path(), format!("there is no line `{line}`; the output is cut"));
        let runtime_ms = self.runtime_ms.ok_or_else(|| missing("[OVERALL], RunTime(ms)"))?;
        let length = nanos_of(runtime_ms / 1e3).filter(|length| length.0 > 0);
        let mut point = ImportedPoint::of("YCSB", self.version.as_deref().unwrap_or_default(), "ycsb");
        point.length = length.ok_or_else(|| ImportError::whole(input.path(), "the run took no time"))?;
        point.clients = u32::try_from(self.threads.unwrap_or(1).max(1)).expect("it was checked");
        point.rate_per_s = self.target_per_s;
        point.facts.extend(self.threads.is_none().then(unknown_clients));
        let measured = std::mem::take(&mut self.measured);
        for (name, one) in measured.iter().filter(|(name, _)| !is_left_out(name)) {
            let failed = measured.get(&format!("{name}-FAILED")).and_then(|failed| failed.operations).unwrap_or(0);
            point.kinds.extend(one.kind(name, failed));
            point.facts.extend(one.facts(name));
        }
        if point.kinds.is_empty() {
            return Err(missing("[READ], Operations"));
        }
        point.facts.extend(separate_parts_of_updates(&mut point.kinds));
        point.facts.extend(self.left_out(&measured));
        point.facts.extend(self.throughput.map(|rate| Fact::new("ycsb.throughput", rate.to_string())));
        let timeline = self.timeline(&point.kinds, point.length);
        point.set_timeline(timeline);
        Ok(point)
    }
}

/// Whether the measurement is none of operations that were done.
fn is_left_out(name: &str) -> bool {
    NO_OPERATIONS.contains(&name) || name.ends_with("-FAILED") || name.starts_with("Intended-") || name == "OVERALL"
}

/// `2022-09-03 17:07:47:879 0 sec: 1000 operations; 4255.32 current ops/sec; ...`
fn is_status(text: &str) -> bool {
    text.contains(" sec: ") && text.contains(" operations; ")
}

impl YcsbOutput {
    /// The threads and the rate that were asked for.
    fn take_command(&mut self, command: &str) {
        let words: Vec<&str> = command.split_whitespace().collect();
        for (nth, word) in words.iter().enumerate() {
            let next = words.get(nth + 1).copied().unwrap_or_default();
            match *word {
                "-threads" => self.threads = parse_count(next, CLIENTS_MAX).or(self.threads),
                "-target" => self.target_per_s = parse_amount(next, COUNT_MAX as f64).filter(|rate| *rate > 0.0),
                _ => {}
            }
            if let Some(count) = word.strip_prefix("threadcount=") {
                self.threads = parse_count(count, CLIENTS_MAX).or(self.threads);
            }
        }
    }

    /// `[READ], AverageLatency(us), 146.5`: `name` is `READ`.
    fn take_measure(&mut self, name: &str, rest: &str, input: &Input) -> Result<(), ImportError> {
        // The collector of garbage has lines of its own.
        if name.starts_with("TOTAL_GC") || name.starts_with("MAX_") || name.starts_with("Intended-") {
            return Ok(());
        }
        let Some((what, value)) = rest.split_once(", ") else { return Ok(()) };
        let number = || parse_amount(value, COUNT_MAX as f64).ok_or_else(|| input.expected("a number", value));
        if name == "OVERALL" {
            match what.trim_start_matches('*') {
                "RunTime(ms)" => self.runtime_ms = Some(number()?.min(SECONDS_MAX * 1e3)),
                "Throughput(ops/sec)" => self.throughput = Some(number()?),
                _ => {}
            }
            return Ok(());
        }
        if self.measured.len() >= KINDS_MAX && !self.measured.contains_key(name) {
            return Err(input.wrong(format!("there are more than {KINDS_MAX} kinds of operation")));
        }
        if what.trim_start_matches('>').bytes().all(|byte| byte.is_ascii_digit()) {
            self.series += 1;
            return Ok(());
        }
        let one = self.measured.entry(name.to_owned()).or_default();
        if what == "Operations" && one.operations.is_some() {
            return Err(at_once(input, "an operation has its count twice"));
        }
        one.take(what.trim_start_matches('*'), number()?);
        Ok(())
    }

    fn take_status(&mut self, text: &str, input: &Input) -> Result<(), ImportError> {
        const EXPECTED: &str = "a line of the status, such as `2022-09-03 17:07:47:879 10 sec: 1000 operations; ...`";
        let status = read_status(text).ok_or_else(|| input.expected(EXPECTED, text))?;
        if self.statuses.last().is_some_and(|last| last.at_ms > status.at_ms || last.operations > status.operations) {
            return Err(at_once(input, "the time or the number of operations goes back"));
        }
        if self.statuses.len() as u64 >= INTERVALS_MAX {
            return Err(input.wrong(format!("there are more than {INTERVALS_MAX} lines of the status")));
        }
        self.statuses.push(status);
        Ok(())
    }

    /// What was measured and is not used.
    fn left_out(&self, measured: &BTreeMap<String, Measured>) -> Vec<Fact> {
        let left = |what: String| Fact::new(LEFT_OUT_FACT, what);
        let mut facts = Vec::new();
        for (name, one) in measured.iter().filter(|(name, _)| NO_OPERATIONS.contains(&name.as_str())) {
            facts.push(left(format!("{} of `{name}`, which is no operation", one.operations.unwrap_or(0))));
        }
        if self.series > 0 {
            facts.push(left(format!(
                "{} lines of classes of a millisecond, or of means over time: neither gives percentiles",
                self.series
            )));
        }
        facts
    }

    /// The operations over time; `None` without status lines.
    fn timeline(&self, kinds: &[ImportedKind], length: Nanos) -> Option<Result<Timeline, String>> {
        let (first, second) = (self.statuses.first()?, self.statuses.get(1)?);
        let step_s = ((second.at_ms - first.at_ms) as f64 / 1e3).round().max(1.0);
        let start_ms = first.at_ms - i64::try_from(first.since_start_s.saturating_mul(1_000)).unwrap_or(0);
        let mut grid = IntervalGrid::new(nanos_of(step_s)?, kinds.len());
        let (mut before_ns, mut before_operations) = (0, 0);
        for status in &self.statuses {
            let at_ns = u64::try_from(status.at_ms - start_ms).unwrap_or(0).saturating_mul(1_000_000).min(length.0);
            for (nth, kind) in kinds.iter().enumerate() {
                let count = match status.counts.iter().find(|(name, _)| *name == kind.def.name) {
                    Some((_, count)) => *count,
                    None if status.counts.is_empty() && kinds.len() == 1 => status.operations - before_operations,
                    None if status.operations == before_operations || !status.counts.is_empty() => 0,
                    None => return Some(Err("the lines of the status have no counts of each operation".to_owned())),
                };
                // What the last line adds may have been done at the very end.
                let from_ns = if at_ns > before_ns { before_ns } else { before_ns.saturating_sub(1) };
                if grid.spread(nth, from_ns, at_ns.max(before_ns), count as f64).is_err() {
                    return Some(Err("there are too many of them".to_owned()));
                }
            }
            (before_ns, before_operations) = (before_ns.max(at_ns), status.operations);
        }
        let totals: Vec<u64> = kinds.iter().map(|kind| kind.ok).collect();
        Some(grid.fit(&totals, length))
    }
}

impl Measured {
    fn take(&mut self, what: &str, value: f64) {
        match what {
            "Operations" => self.operations = Some(value as u64),
            "AverageLatency(us)" => self.average_us = Some(value),
            "MinLatency(us)" => self.min_us = Some(value),
            "MaxLatency(us)" => self.max_us = Some(value),
            "Return=OK" | "Return=0" => self.returned_ok = value as u64,
            other if other.starts_with("Return=") => {
                self.returned_other = self.returned_other.saturating_add(value as u64)
            }
            other => {
                // `99thPercentileLatency(us)`, `99.9PercentileLatency(us)`, in old versions `(ms)`.
                let Some((percent, unit)) = other.split_once("PercentileLatency(") else { return };
                let unit_us = if unit == "ms)" { 1e3 } else { 1.0 };
                let percent = percent.trim_end_matches(|c: char| c.is_ascii_alphabetic());
                self.percentiles.extend(parse_amount(percent, 100.0).map(|percent| (percent, value * unit_us)));
            }
        }
    }

    /// The kind `name`, of which `failed` operations have measurements of their own.
    fn kind(&self, name: &str, failed: u64) -> Option<ImportedKind> {
        let operations = self.operations?;
        let failed = failed.max(self.returned_other);
        // Old versions count the operations that failed among all.
        let has_failed = self.returned_ok > 0 && operations == self.returned_ok.saturating_add(self.returned_other);
        let ok = if has_failed { self.returned_ok } else { operations };
        let mut kind = ImportedKind::new(KindDef::new(name.to_ascii_lowercase(), class_of(name)));
        (kind.ok, kind.failed) = (ok, failed);
        let ns = |us: f64| nanos_of(us / 1e6).map(|time| time.0);
        let steps = self.percentiles.iter().map(|(percent, us)| Some((*percent, ns(*us)?))).collect::<Option<Vec<_>>>();
        let sum_ns = (self.average_us.unwrap_or(0.0) * 1e3 * operations as f64) as u64;
        let times = steps.and_then(|steps| times_of_steps(steps, operations, sum_ns, ns(self.max_us?)?));
        if let Some(times) = times {
            (kind.response, kind.service) = (times.clone(), times);
        }
        Some(kind)
    }

    fn facts(&self, name: &str) -> Vec<Fact> {
        let name = name.to_ascii_lowercase();
        let fact = |what: &str, us: f64| Fact::new(format!("ycsb.{name}.{what}_us"), us.to_string());
        let plain = [("avg", self.average_us), ("min", self.min_us), ("max", self.max_us)];
        let mut facts: Vec<Fact> = plain.into_iter().filter_map(|(what, us)| Some(fact(what, us?))).collect();
        facts.extend(self.percentiles.iter().take(KINDS_MAX).map(|(percent, us)| fact(&format!("p{percent}"), *us)));
        let has_times = self.kind(&name, 0).is_some_and(|kind| !kind.response.is_empty());
        facts.extend(has_times.then(|| Fact::new(format!("imported.times.{name}"), STEPS)));
        facts
    }
}

fn class_of(name: &str) -> OpClass {
    match name.trim_start_matches("BATCH-") {
        "READ" | "SCAN" => OpClass::Read,
        "INSERT" | "UPDATE" | "DELETE" => OpClass::Write,
        _ => OpClass::ReadWrite,
    }
}

/// `2022-09-03 17:07:47:879 0 sec: 1000 operations; 4255.32 current ops/sec; [READ: Count=479, Max=13207, ...] [UPDATE: Count=521, ...]`
fn read_status(text: &str) -> Option<Status> {
    let (before, rest) = text.split_once(" sec: ")?;
    let (when, seconds) = before.rsplit_once(' ').unwrap_or(("", before));
    let since_start_s = parse_count(seconds, SECONDS_MAX as u64)?;
    let clock = chrono::NaiveDateTime::parse_from_str(when.trim(), "%Y-%m-%d %H:%M:%S:%3f").ok();
    let at_ms = clock.map_or(since_start_s as i64 * 1_000, |clock| clock.and_utc().timestamp_millis());
    let (operations, rest) = rest.split_once(" operations; ")?;
    let mut counts = Vec::new();
    for part in rest.split('[').skip(1).take(KINDS_MAX) {
        let Some((name, figures)) = part.split_once(": Count=") else { continue };
        let count = figures.split([',', ']', ' ']).next().unwrap_or_default();
        counts.push((name.to_ascii_lowercase(), parse_count(count, COUNT_MAX)?));
    }
    Some(Status { at_ms, since_start_s, operations: parse_count(operations, COUNT_MAX)?, counts })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_the_status_has_the_counts_of_each_operation() {
        let text = "2022-06-18 00:18:00:295 10 sec: 74545 operations; 7453,01 current ops/sec; est completion in 58 seconds [READ: Count=70818, Max=316671, Avg=1511,13] [UPDATE: Count=3739, Max=16087]";
        let status = read_status(text).unwrap();
        assert_eq!((status.since_start_s, status.operations), (10, 74_545));
        assert_eq!(status.counts, [("read".to_owned(), 70_818), ("update".to_owned(), 3_739)]);
        assert!(read_status("x sec: 5 operations; ").is_none());
    }

    #[test]
    fn operations_that_failed_are_told_from_those_done_in_old_and_new_versions() {
        let kind = |operations, ok, other, failed| {
            let one = Measured {
                operations: Some(operations),
                returned_ok: ok,
                returned_other: other,
                ..Measured::default()
            };
            one.kind("READ", failed).map(|kind| (kind.ok, kind.failed)).unwrap()
        };
        assert_eq!(kind(1_000, 998, 2, 0), (998, 2));
        assert_eq!(kind(998, 998, 2, 2), (998, 2));
        assert_eq!(kind(510, 0, 0, 0), (510, 0));
    }
}
