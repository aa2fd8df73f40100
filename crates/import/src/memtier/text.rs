//! The tables that memtier_benchmark prints.
//!
//! In: its output: the lines of progress, the settings, the table `ALL STATS` or `AGGREGATED AVERAGE RESULTS (n runs)`, and the distribution of
//! latencies. Out: a point for each such output. Limits: the tables have rates, so counts are known to the digits of these. Response times are
//! those of the distribution, which has steps, if its classes are finer than a millisecond; else the percentiles are facts.

use super::json::times_of;
use super::{KINDS_MAX, kind_of};
use crate::amount::{
    BYTES_MAX, CLIENTS_MAX, COUNT_MAX, SECONDS_MAX, check_amount, nanos_of, parse_amount, parse_count,
};
use crate::error::ImportError;
use crate::input::Input;
use crate::percentiles::STEPS;
use crate::point::{
    ASSUMED_LENGTH, ImportedKind, ImportedPoint, LEFT_OUT_FACT, assumed_length, times_of_classes, unknown_clients,
};
use crate::runs::{NextLine, RunOutput, at_once, read_runs};
use model::Fact;
use std::path::Path;

/// More lines of a distribution than memtier_benchmark prints.
const CLASSES_MAX: usize = 100_000;

/// Reads the output at `path`.
pub(crate) fn read(path: &Path) -> Result<Vec<ImportedPoint>, ImportError> {
    read_runs::<MemtierOutput>(path, &[])
}

/// What is read so far.
#[derive(Default)]
struct MemtierOutput {
    threads: Option<u64>,
    connections: Option<u64>,
    seconds_asked: Option<f64>,
    /// The number of the run, its seconds, and its operations, as the last line of progress has them.
    progress: Option<(u64, f64, u64)>,
    has_errors: u64,
    title: Option<String>,
    /// The names of the columns of the table that is read.
    columns: Vec<String>,
    rows: Vec<Row>,
    is_over: bool,
    in_distribution: bool,
    /// Name, milliseconds and percent up to them.
    classes: Vec<(String, f64, f64)>,
    has_fine_classes: bool,
    facts: Vec<Fact>,
}

/// A line of the table: `None` for `---`.
struct Row {
    name: String,
    figures: Vec<(String, Option<f64>)>,
}

impl RunOutput for MemtierOutput {
    fn next(&self, line: &str) -> NextLine {
        let text = line.trim();
        if self.is_over && (text.starts_with("[RUN #1]") || text.ends_with(" Threads")) {
            NextLine::Header
        } else if self.is_over && is_title(text) {
            NextLine::MoreResults
        } else {
            NextLine::SameRun
        }
    }

    fn take(&mut self, line: &str, input: &Input) -> Result<(), ImportError> {
        // Lines of progress overwrite each other.
        line.split('\r').map(str::trim).try_for_each(|text| self.take_text(text, input))
    }

    fn has_begun(&self) -> bool {
        self.progress.is_some() || self.threads.is_some() || !self.rows.is_empty()
    }

    fn is_over(&self) -> bool {
        self.is_over
    }

    fn into_point(self, input: &Input, _: &[&Path]) -> Result<ImportedPoint, ImportError> {
        self.make_point(input)
    }
}

/// Whether a table of results follows.
fn is_title(text: &str) -> bool {
    text == "ALL STATS" || text.starts_with("AGGREGATED AVERAGE RESULTS") || text.ends_with(" RUN RESULTS")
}

impl MemtierOutput {
    fn take_text(&mut self, text: &str, input: &Input) -> Result<(), ImportError> {
        if text.starts_with("[RUN #") {
            return self.take_progress(text, input);
        }
        if is_title(text) {
            (self.title, self.in_distribution) = (Some(text.to_owned()), false);
            return Ok(());
        }
        let words: Vec<&str> = text.split_whitespace().collect();
        match words.as_slice() {
            [count, "Threads"] => self.threads = parse_count(count, CLIENTS_MAX),
            [count, "Connections", "per", "thread"] => self.connections = parse_count(count, CLIENTS_MAX),
            [count, "Seconds"] => self.seconds_asked = parse_amount(count, SECONDS_MAX),
            ["Request", "Latency", "Distribution"] => self.in_distribution = true,
            ["Type", "Ops/sec", ..] => self.columns = columns_of(text),
            ["connection", "error:", ..] | ["error:", ..] => self.has_errors += 1,
            [name, percent_of @ .., percent] if self.in_distribution && percent_of.len() == 1 => {
                self.take_class(name, percent_of[0], percent, input)?
            }
            [name, figures @ ..] if !self.columns.is_empty() && figures.len() + 1 == self.columns.len() => {
                self.take_row(name, figures, input)?
            }
            _ => {}
        }
        Ok(())
    }

    /// `[RUN #1 100%,  30 secs]  0 threads:     1070830 ops,   35289 (avg:   35692) ops/sec, ...`
    fn take_progress(&mut self, text: &str, input: &Input) -> Result<(), ImportError> {
        let number = |before: &str, after: &str| -> Option<&str> {
            let (_, rest) = text.rsplit_once("[RUN #")?;
            rest.split_once(before)?.1.split_once(after).map(|(number, _)| number.trim())
        };
        let run = text.rsplit_once("[RUN #").and_then(|(_, rest)| rest.split([' ', ']']).next());
        let run = run.and_then(|run| parse_count(run, COUNT_MAX));
        let seconds = number("%,", " secs]").and_then(|seconds| parse_amount(seconds, SECONDS_MAX));
        let done = number(":", " ops,").and_then(|done| parse_count(done, COUNT_MAX));
        let (Some(run), Some(seconds), Some(done)) = (run, seconds, done) else { return Ok(()) };
        if self.progress.is_some_and(|(before, last_s, last)| before == run && (last_s > seconds || last > done)) {
            return Err(at_once(input, "the progress of a run goes back"));
        }
        self.progress = Some((run, seconds, done));
        Ok(())
    }

    fn take_row(&mut self, name: &str, figures: &[&str], input: &Input) -> Result<(), ImportError> {
        let title = self.title.clone().unwrap_or_default();
        if let Some(which) = title.strip_suffix(" RUN RESULTS") {
            if name == "Totals" {
                let name = format!("memtier.{}_run_ops_per_s", which.to_ascii_lowercase());
                self.facts.push(Fact::new(name, figures[0]));
            }
            return Ok(());
        }
        let read = |figure: &&str| match *figure {
            "---" => Ok(None),
            text => parse_amount(text, COUNT_MAX as f64).map(Some).ok_or_else(|| input.expected("a number", text)),
        };
        if name == "Totals" {
            (self.is_over, self.columns) = (true, Vec::new());
            return Ok(());
        }
        if self.rows.iter().any(|row| row.name == name) {
            return Err(at_once(input, &format!("the table has {name} twice")));
        }
        if self.rows.len() < KINDS_MAX {
            let values = figures.iter().map(read).collect::<Result<Vec<_>, _>>()?;
            let names = self.columns.iter().skip(1).cloned();
            self.rows.push(Row { name: name.to_owned(), figures: names.zip(values).collect() });
        }
        Ok(())
    }

    /// `SET       0.071        0.000`.
    fn take_class(&mut self, name: &str, ms: &str, percent: &str, input: &Input) -> Result<(), ImportError> {
        let figures = parse_amount(ms, SECONDS_MAX * 1e3).zip(parse_amount(percent, 100.001));
        let Some((value, share)) = figures else { return Ok(()) };
        if self.classes.len() >= CLASSES_MAX {
            return Err(input.wrong(format!("the distribution has more than {CLASSES_MAX} lines")));
        }
        self.has_fine_classes |= ms.contains('.');
        self.classes.push((name.to_ascii_lowercase(), value, share.min(100.0)));
        Ok(())
    }

    fn make_point(self, input: &Input) -> Result<ImportedPoint, ImportError> {
        if !self.is_over {
            let missing = "there is no table `ALL STATS` with a line `Totals`, which memtier_benchmark prints at the end; the output is cut";
            return Err(ImportError::whole(input.path(), missing));
        }
        let mut point = ImportedPoint::of("memtier_benchmark", "", "memtier");
        let clients = self.threads.zip(self.connections).and_then(|(threads, each)| threads.checked_mul(each));
        let clients = clients.filter(|clients| (1..=CLIENTS_MAX).contains(clients));
        point.clients = clients.map_or(1, |clients| u32::try_from(clients).expect("it was checked"));
        point.facts.extend(clients.is_none().then(unknown_clients));
        let seconds = self.length_s();
        point.length = seconds.and_then(nanos_of).unwrap_or(ASSUMED_LENGTH);
        point.facts.extend(seconds.is_none().then(assumed_length));
        for row in self.rows.iter().filter(|row| row.figure("Ops/sec").is_some_and(|rate| rate > 0.0)) {
            let (kind, facts) = self.kind(row, point.length.as_secs_f64()).ok_or_else(|| {
                ImportError::whole(input.path(), format!("the rates of {} are more than any run has", row.name))
            })?;
            point.kinds.push(kind);
            point.facts.extend(facts);
        }
        if point.kinds.is_empty() {
            return Err(ImportError::whole(input.path(), "no command was done; check that the server was reached"));
        }
        if let Some(title) = self.title.filter(|title| title.starts_with("AGGREGATED")) {
            point.facts.push(Fact::new("memtier.results", title));
            point.facts.push(Fact::new(LEFT_OUT_FACT, "the single runs: the point is their average"));
        }
        if self.has_errors > 0 {
            point.facts.push(Fact::new("memtier.connection_errors", self.has_errors.to_string()));
        }
        point.facts.extend(self.facts);
        Ok(point)
    }

    /// How long a run was: what the rates give for the operations of the last run, or what was asked for.
    fn length_s(&self) -> Option<f64> {
        let rate: f64 = self.rows.iter().filter_map(|row| row.figure("Ops/sec")).sum();
        let is_one = self.title.as_deref() == Some("ALL STATS");
        let done = self.progress.filter(|_| is_one && rate > 0.0).map(|(.., done)| done as f64 / rate);
        let printed = || self.progress.map(|(_, seconds, _)| seconds);
        done.or(self.seconds_asked).or_else(printed).filter(|seconds| *seconds > 0.0 && *seconds <= SECONDS_MAX)
    }

    fn kind(&self, row: &Row, seconds: f64) -> Option<(ImportedKind, Vec<Fact>)> {
        let mut kind = kind_of(&row.name);
        kind.ok = check_amount(row.figure("Ops/sec")? * seconds, COUNT_MAX as f64)?.round() as u64;
        let kb_per_s = row.figure("KB/sec").unwrap_or(0.0);
        kind.bytes = check_amount(kb_per_s * 1_024.0 * seconds, BYTES_MAX as f64)?.round() as u64;
        let name = kind.def.name.clone();
        let fact = |what: &str, value: f64| Fact::new(format!("memtier.{name}.{what}"), value.to_string());
        let mut facts = Vec::new();
        let mean_ms = row.figure("Avg. Latency").or_else(|| row.figure("Latency")).unwrap_or(0.0);
        facts.extend((mean_ms > 0.0).then(|| fact("avg_ms", mean_ms)));
        for (column, what) in [("Hits/sec", "hits_per_s"), ("Misses/sec", "misses_per_s")] {
            facts.extend(row.figure(column).map(|value| fact(what, value)));
        }
        let percentiles: Vec<(f64, f64)> = row.percentiles().collect();
        facts.extend(percentiles.iter().map(|(percent, ms)| fact(&format!("p{percent}_ms"), *ms)));
        let sum_ns = check_amount(mean_ms * 1e6 * kind.ok as f64, 9e18)? as u64;
        let classes = self.classes_of(&name, kind.ok).filter(|_| self.has_fine_classes);
        if let Some(classes) = classes {
            let times = times_of_classes(classes, sum_ns, 0);
            (kind.response, kind.service) = (times.clone(), times);
            facts.push(Fact::new(format!("imported.times.{name}"), "the distribution that the program printed"));
        } else if let Some(times) = times_of(&percentiles, kind.ok, mean_ms, None) {
            (kind.response, kind.service) = (times.clone(), times);
            facts.push(Fact::new(format!("imported.times.{name}"), STEPS));
        }
        Some((kind, facts))
    }

    /// The distribution of `count` operations called `name`, as (nanoseconds, count); `None` if there is none that ends at 100 %.
    fn classes_of(&self, name: &str, count: u64) -> Option<Vec<(u64, u64)>> {
        let (mut classes, mut below) = (Vec::new(), 0);
        for (_, ms, percent) in self.classes.iter().filter(|(known, ..)| known == name) {
            let up_to = ((percent / 100.0 * count as f64).round() as u64).clamp(below, count);
            classes.push((nanos_of(ms / 1e3)?.0, up_to - below));
            below = up_to;
        }
        (below == count && count > 0).then_some(classes)
    }
}

impl Row {
    fn figure(&self, column: &str) -> Option<f64> {
        self.figures.iter().find(|(name, _)| name == column).and_then(|(_, value)| *value)
    }

    /// The columns `p99.9 Latency`.
    fn percentiles(&self) -> impl Iterator<Item = (f64, f64)> {
        self.figures.iter().filter_map(|(name, value)| {
            Some((name.strip_prefix('p')?.strip_suffix(" Latency")?.parse().ok()?, (*value)?))
        })
    }
}

/// The names of columns, of which some have two words: `Avg. Latency`, `p99 Latency`.
fn columns_of(text: &str) -> Vec<String> {
    let mut columns: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match columns.last_mut().filter(|last| word == "Latency" && (*last == "Avg." || last.starts_with('p'))) {
            Some(last) => last.push_str(" Latency"),
            None => columns.push(word.to_owned()),
        }
    }
    columns
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_may_have_two_words() {
        let columns =
            columns_of("Type  Ops/sec  Hits/sec  Misses/sec  Avg. Latency  p50 Latency  p99.9 Latency  KB/sec");
        assert_eq!(
            columns,
            ["Type", "Ops/sec", "Hits/sec", "Misses/sec", "Avg. Latency", "p50 Latency", "p99.9 Latency", "KB/sec"]
        );
        assert_eq!(columns_of("Type Ops/sec Latency")[2], "Latency");
    }
}
