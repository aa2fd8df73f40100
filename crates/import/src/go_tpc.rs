//! What go-tpc (also as `tiup bench`) and go-ycsb print.
//!
//! In: lines `[Summary] NEW_ORDER - Takes(s): ..., Count: ...` and those of the intervals (`[Current]`); the queries of TPC-H, `[Summary] Q1:
//! 7.62s`; of go-ycsb the same without a word in front, of which the last count. Out: a point for each run, with a kind for each transaction;
//! `NEW_ORDER_ERR` are the failures of `NEW_ORDER`. Limits: the number of threads is not printed, but by go-ycsb. Of a query of TPC-H only the
//! mean time is printed: each counts once. Response times need the 50, 95, 99 and 99.9 percentiles, which old versions do not print.

use crate::amount::{CLIENTS_MAX, COUNT_MAX, SECONDS_MAX, nanos_of, parse_amount, parse_count};
use crate::error::ImportError;
use crate::grid::{INTERVALS_MAX, IntervalGrid};
use crate::input::Input;
use crate::percentiles::{STEPS, times_of_steps};
use crate::point::{ImportedKind, ImportedPoint, LEFT_OUT_FACT, Timeline, separate_parts_of_updates, unknown_clients};
use crate::runs::{NextLine, RunOutput, at_once, read_runs};
use model::{Fact, KindDef, OpClass};
use std::path::Path;

/// The most kinds of operation.
const KINDS_MAX: usize = 100;
/// Percentiles whose longest times the count are below this share of the sum are wrong: some versions print a fixed value.
const SUM_SHARE_MIN: f64 = 0.9;

/// Reads the output at `path`.
pub(crate) fn read(path: &Path) -> Result<Vec<ImportedPoint>, ImportError> {
    read_runs::<GoTpcOutput>(path, &[])
}

/// What is read so far.
#[derive(Default)]
struct GoTpcOutput {
    /// Whether it is that of go-ycsb.
    is_ycsb: bool,
    threads: Option<u64>,
    intervals: Vec<IntervalLine>,
    summary: Vec<Line>,
    /// go-ycsb's own time of the run, after which the summary follows.
    finished_s: Option<f64>,
    /// Lines before the summary of go-ycsb, which count from the beginning.
    so_far: u64,
    facts: Vec<Fact>,
}

/// A line `[Current]`.
struct IntervalLine {
    name: String,
    takes_s: f64,
    count: u64,
}

/// The figures of an operation.
#[derive(Debug, Default, PartialEq)]
struct Line {
    name: String,
    takes_s: Option<f64>,
    /// `None` of a query of TPC-H.
    count: Option<u64>,
    /// The sum of its times, or of a query of TPC-H its mean time.
    sum_s: f64,
    max_s: Option<f64>,
    /// Pairs of percent and seconds.
    percentiles: Vec<(f64, f64)>,
}

impl RunOutput for GoTpcOutput {
    fn next(&self, line: &str) -> NextLine {
        let text = line.trim();
        let is_again = |text: &str| name_of(text).is_some_and(|name| self.summary.iter().any(|one| one.name == name));
        if self.is_over() && text.starts_with("[Current] ") || self.has_begun() && text.starts_with("*** properties") {
            NextLine::Header
        } else if let Some(rest) = text.strip_prefix("[Summary] ") {
            if is_again(rest) { NextLine::MoreResults } else { NextLine::SameRun }
        } else if self.finished_s.is_some() && (text.starts_with("Run finished") || is_again(text)) {
            NextLine::MoreResults
        } else {
            NextLine::SameRun
        }
    }

    fn take(&mut self, line: &str, input: &Input) -> Result<(), ImportError> {
        let text = line.trim();
        let (word, rest) = text.split_once(' ').unwrap_or((text, ""));
        match word {
            "[Current]" => self.take_interval(rest, input),
            "[Summary]" => self.take_summary(rest, input),
            "tpmC:" | "QphH:" => {
                let value = rest.split([' ', ',']).next().unwrap_or_default();
                self.facts
                    .push(Fact::new(format!("go_tpc.{}", word.trim_end_matches(':').to_ascii_lowercase()), value));
                Ok(())
            }
            "Finished:" => {
                let numbers = rest.split_whitespace().filter_map(|word| parse_count(word, CLIENTS_MAX));
                self.threads = Some(numbers.sum::<u64>()).filter(|sum| (1..=CLIENTS_MAX).contains(sum));
                Ok(())
            }
            "Run" if text.starts_with("Run finished, takes ") => {
                self.finished_s = seconds_of(text.trim_start_matches("Run finished, takes "));
                self.so_far += self.summary.len() as u64;
                self.summary.clear();
                Ok(())
            }
            _ if text.contains(" - Takes(s): ") => {
                self.is_ycsb = true;
                if self.finished_s.is_none() {
                    let name = name_of(text);
                    let before = self.summary.len();
                    self.summary.retain(|one| Some(one.name.as_str()) != name);
                    self.so_far += (before - self.summary.len()) as u64;
                }
                self.take_summary(text, input)
            }
            _ => {
                let threads = text.strip_prefix("\"threadcount\"=\"").and_then(|rest| rest.strip_suffix('"'));
                self.threads = threads.and_then(|threads| parse_count(threads, CLIENTS_MAX)).or(self.threads);
                Ok(())
            }
        }
    }

    fn has_begun(&self) -> bool {
        !self.intervals.is_empty() || !self.summary.is_empty()
    }

    fn is_over(&self) -> bool {
        !self.summary.is_empty() && (!self.is_ycsb || self.finished_s.is_some())
    }

    fn into_point(self, input: &Input, _: &[&Path]) -> Result<ImportedPoint, ImportError> {
        let missing = "there is no line that begins with `[Summary]` or `Run finished`, which the program prints at the end; the output is cut";
        if !self.is_over() {
            return Err(ImportError::whole(input.path(), missing));
        }
        let (program, workload) = match (self.is_ycsb, self.summary.iter().all(|line| line.count.is_none())) {
            (true, _) => ("go-ycsb", "ycsb"),
            (false, true) => ("go-tpc", "tpch"),
            (false, false) => ("go-tpc", "tpcc"),
        };
        let mut point = ImportedPoint::of(program, "", workload);
        let length = self.length_s().and_then(nanos_of).filter(|length| length.0 > 0);
        point.length = length.ok_or_else(|| ImportError::whole(input.path(), "the results have no time of the run"))?;
        point.clients = u32::try_from(self.threads.unwrap_or(1).max(1)).expect("it was checked");
        point.facts.extend(self.threads.is_none().then(unknown_clients));
        for line in &self.summary {
            match line.failed_name() {
                // The program prints failures alone if nothing of the kind was done.
                Some(name) if self.summary.iter().any(|other| other.name == name) => {}
                _ => point.kinds.push(self.kind(line)),
            }
            point.facts.extend(line.facts());
        }
        point.facts.extend(self.facts.iter().cloned());
        point.facts.extend(separate_parts_of_updates(&mut point.kinds));
        if workload == "tpch" {
            let text = "the output has mean times of queries and no counts: each counts once, one after the other";
            point.facts.push(Fact::new("imported.ops", text));
        }
        if self.so_far > 0 {
            let what = format!("{} lines of results so far, which the last ones include", self.so_far);
            point.facts.push(Fact::new(LEFT_OUT_FACT, what));
        }
        let timeline = self.timeline(&point, input)?;
        point.set_timeline(timeline);
        Ok(point)
    }
}

impl GoTpcOutput {
    fn take_interval(&mut self, text: &str, input: &Input) -> Result<(), ImportError> {
        if self.intervals.len() as u64 >= INTERVALS_MAX {
            return Err(input.wrong(format!("there are more than {INTERVALS_MAX} lines `[Current]`")));
        }
        let line = read_line(text).ok_or_else(|| wrong(text, input))?;
        if let (Some(takes_s), Some(count)) = (line.takes_s, line.count) {
            self.intervals.push(IntervalLine { name: line.name, takes_s, count });
        }
        Ok(())
    }

    fn take_summary(&mut self, text: &str, input: &Input) -> Result<(), ImportError> {
        let line = read_line(text).ok_or_else(|| wrong(text, input))?;
        if self.summary.len() >= KINDS_MAX {
            return Err(input.wrong(format!("there are more than {KINDS_MAX} kinds of operation")));
        }
        // The sum of all others.
        if line.name != "TOTAL" {
            self.summary.push(line);
        }
        Ok(())
    }

    /// The time of the run: the longest of those of an operation, which each counts from its first. Of queries one after the other it is the
    /// sum.
    fn length_s(&self) -> Option<f64> {
        let longest = self.summary.iter().filter_map(|line| line.takes_s).reduce(f64::max);
        let sum = || Some(self.summary.iter().map(|line| line.sum_s).sum());
        self.finished_s.or(longest).or_else(sum)
    }

    fn kind(&self, line: &Line) -> ImportedKind {
        let failures = self.summary.iter().filter(|other| other.failed_name() == Some(line.name.as_str()));
        let failed: u64 = failures.filter_map(|other| other.count).sum();
        let mut kind = match line.failed_name() {
            Some(name) => ImportedKind { failed: line.count.unwrap_or(0), ..kind_of(name) },
            None => ImportedKind { ok: line.count.unwrap_or(1), failed, ..kind_of(&line.name) },
        };
        if let Some(times) = line.times().filter(|_| kind.ok > 0) {
            (kind.response, kind.service) = (times.clone(), times);
        }
        kind
    }

    /// The operations over time; `None` without lines of intervals.
    fn timeline(&self, point: &ImportedPoint, input: &Input) -> Result<Option<Result<Timeline, String>>, ImportError> {
        let longest = self.intervals.iter().map(|line| line.takes_s).fold(0.0, f64::max);
        let Some(interval) = nanos_of(longest.round()).filter(|interval| interval.0 > 0) else { return Ok(None) };
        let all = |line: &&ImportedKind| line.ok.saturating_add(line.failed);
        let (printed, total): (u64, u64) =
            (self.intervals.iter().map(|line| line.count).sum(), point.kinds.iter().map(|kind| all(&kind)).sum());
        if printed > total + total / 50 + 10 {
            let evidence = format!("the intervals have {printed} operations, and the summary has {total}");
            return Err(at_once(input, &evidence));
        }
        let (mut grid, mut place, mut before) = (IntervalGrid::new(interval, point.kinds.len()), 0, "");
        for line in &self.intervals {
            // The lines of an interval are in the order of their names.
            place += usize::from(line.name.as_str() <= before);
            before = &line.name;
            let kind = point.kinds.iter().position(|kind| kind.def.name == line.name.to_ascii_lowercase());
            if let (Some(kind), Ok(place)) = (kind, grid.place_of((place as u64).saturating_mul(interval.0))) {
                grid.add(kind, place, line.count as f64);
            }
        }
        let totals: Vec<u64> = point.kinds.iter().map(|kind| kind.ok).collect();
        Ok(Some(grid.fit(&totals, point.length)))
    }
}

impl Line {
    /// The operation of which these are the failures.
    fn failed_name(&self) -> Option<&str> {
        self.name.strip_suffix("_ERR").or_else(|| self.name.strip_suffix("_ERROR"))
    }

    fn times(&self) -> Option<model::Times> {
        let (count, max_s) = (self.count?, self.max_s?);
        if max_s * (count as f64) < SUM_SHARE_MIN * self.sum_s {
            return None;
        }
        let ns = |seconds: f64| nanos_of(seconds).map(|time| time.0);
        let steps: Option<Vec<(f64, u64)>> =
            self.percentiles.iter().map(|(percent, seconds)| Some((*percent, ns(*seconds)?))).collect();
        times_of_steps(steps?, count, (self.sum_s * 1e9) as u64, ns(max_s)?)
    }

    fn facts(&self) -> Vec<Fact> {
        let name = self.name.to_ascii_lowercase();
        let fact = |what: &str, seconds: f64| {
            Fact::new(format!("go_tpc.{name}.{what}_ms"), ((seconds * 1e6).round() / 1e3).to_string())
        };
        let mean_s = self.count.map_or(self.sum_s, |count| self.sum_s / count.max(1) as f64);
        let mut facts = vec![fact("avg", mean_s)];
        facts.extend(self.percentiles.iter().map(|(percent, seconds)| fact(&format!("p{percent}"), *seconds)));
        if self.times().is_some() {
            facts.push(Fact::new(format!("imported.times.{name}"), STEPS));
        } else if self.max_s.is_some_and(|max_s| max_s * (self.count.unwrap_or(0) as f64) < SUM_SHARE_MIN * self.sum_s)
        {
            let what = format!(
                "percentiles of `{name}`: all operations together would take less than the sum that is printed"
            );
            facts.push(Fact::new(LEFT_OUT_FACT, what));
        }
        facts
    }
}

fn kind_of(name: &str) -> ImportedKind {
    let class = match name {
        "ORDER_STATUS" | "STOCK_LEVEL" | "READ" | "SCAN" => OpClass::Read,
        "INSERT" | "UPDATE" | "DELETE" => OpClass::Write,
        query if query.starts_with('Q') => OpClass::Read,
        _ => OpClass::ReadWrite,
    };
    ImportedKind::new(KindDef::new(name.to_ascii_lowercase(), class))
}

/// The name in front of a line's figures.
fn name_of(text: &str) -> Option<&str> {
    let (name, _) = text.split_once(" - ").or_else(|| text.split_once(": "))?;
    let name = name.trim();
    let is_name = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    (!name.is_empty() && name.len() <= 40 && name.chars().all(is_name)).then_some(name)
}

/// `NEW_ORDER - Takes(s): 59.4, Count: 359, TPM: 362.5, Sum(ms): 33008, Avg(ms): 91, 90th(ms): 192, ...`, `Q1: 7.62s`, `Q12 - 9.9s`, `READ   -
/// Takes(s): 3.7, Count: 503, OPS: 136.2, Avg(us): 32853, ...`
fn read_line(text: &str) -> Option<Line> {
    let name = name_of(text)?;
    let rest = text[name.len()..].trim_start().trim_start_matches(['-', ':']).trim();
    let mut line = Line { name: name.to_owned(), ..Line::default() };
    if let Some(seconds) = rest.strip_suffix('s').and_then(|seconds| parse_amount(seconds, SECONDS_MAX)) {
        return Some(Line { sum_s: seconds, ..line });
    }
    let mut mean_s = None;
    for part in rest.split(", ") {
        let (what, value) = part.split_once(": ")?;
        let (figure, unit) = what.strip_suffix(')').and_then(|what| what.split_once('(')).unwrap_or((what, ""));
        let scale = match unit {
            "ms" => 1e-3,
            "us" => 1e-6,
            _ => 1.0,
        };
        let seconds = || parse_amount(value, COUNT_MAX as f64).map(|value| value * scale);
        match figure {
            "Takes" => line.takes_s = Some(seconds().filter(|seconds| *seconds <= SECONDS_MAX)?),
            "Count" => line.count = Some(parse_count(value, COUNT_MAX)?),
            "Sum" => line.sum_s = seconds()?,
            "Avg" => mean_s = Some(seconds()?),
            "Max" => line.max_s = Some(seconds()?),
            "TPM" | "OPS" | "Min" => {}
            other => {
                let percent = parse_amount(other.strip_suffix("th")?, 100.0)?;
                line.percentiles.push((percent, seconds()?));
            }
        }
    }
    if line.sum_s == 0.0 {
        line.sum_s = mean_s.unwrap_or(0.0) * line.count? as f64;
    }
    line.count.is_some().then_some(line)
}

/// `4.945199407s`, `1m2.5s`, `980ms`: a duration as Go writes it.
fn seconds_of(text: &str) -> Option<f64> {
    let (mut rest, mut sum) = (text.trim(), 0.0);
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let letters = rest[digits..].find(|c: char| c.is_ascii_digit()).map_or(rest.len(), |at| digits + at);
        let scale = match &rest[digits..letters] {
            "h" => 3_600.0,
            "m" => 60.0,
            "s" => 1.0,
            "ms" => 1e-3,
            "µs" | "us" => 1e-6,
            _ => return None,
        };
        sum += parse_amount(&rest[..digits], SECONDS_MAX)? * scale;
        rest = &rest[letters..];
    }
    Some(sum).filter(|sum| *sum > 0.0)
}

fn wrong(text: &str, input: &Input) -> ImportError {
    input.expected("figures such as `NEW_ORDER - Takes(s): 59.4, Count: 359, TPM: 362.5, Sum(ms): 33008, ...`", text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_all_versions_are_read() {
        let line = read_line("READ   - Takes(s): 3.7, Count: 503, OPS: 136.2, Avg(us): 32853, Min(us): 1851, Max(us): 1290917, 99.9th(us): 1291000").unwrap();
        assert_eq!((line.name.as_str(), line.count), ("READ", Some(503)));
        assert!((line.max_s.unwrap() - 1.290917).abs() < 1e-9);
        assert_eq!(line.percentiles.len(), 1);
        assert!((line.sum_s - 503.0 * 0.032853).abs() < 1e-9);
        assert_eq!(read_line("Q1: 7.62s").map(|line| (line.count, line.sum_s)), Some((None, 7.62)));
        assert_eq!(read_line("Q12    - Count: 1, Sum(ms): 9945.8, Avg(ms): 9944.7").unwrap().count, Some(1));
        assert!(read_line("NEW_ORDER - Takes(s): 3.7, Count: -1").is_none());
    }

    #[test]
    fn durations_of_go_are_seconds() {
        assert_eq!(["4.5s", "1m2s", "980ms", "1h0m1s"].map(seconds_of), [4.5, 62.0, 0.98, 3_601.0].map(Some));
        assert_eq!(["", "s", "5", "4x"].map(seconds_of), [None; 4]);
    }
}
