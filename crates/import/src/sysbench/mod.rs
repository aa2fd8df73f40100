//! What sysbench 0.4 to 1.1 prints of its database benchmarks and of `fileio`.
//!
//! In: the output of `sysbench ... run`: header, lines of `--report-interval`, statistics, and the histogram of `--histogram`; also of scripts
//! such as `tpcc.lua`. Out: a point of the workload `oltp`, or `file`, for each run. Limits: of a database the output names neither the test nor
//! the engine, so both are unknown unless they are stated. The one percentile that is printed is a fact; only the histogram gives response
//! times. Its classes are 1.8 % wide. A transaction that met an ignored error, a deadlock or a lost connection counts as failed.
//!
//! `--report-checkpoints` prints statistics several times, each of the operations since the last: they are added up.

mod file;
mod interval;
mod statistics;

use crate::amount::{CLIENTS_MAX, COUNT_MAX, SECONDS_MAX, nanos_of, parse_amount, parse_count};
use crate::error::{ImportError, quoted};
use crate::grid::IntervalGrid;
use crate::input::Input;
use crate::point::{FILE_ENGINE, ImportedKind, ImportedPoint, LEFT_OUT_FACT, Timeline, times_of_classes};
use crate::runs::{NextLine, RunOutput, at_once, read_runs};
use file::FileTest;
use interval::{IntervalLine, ReadLine, read_interval};
use model::{Fact, Nanos, Times};
use statistics::Statistics;
use std::path::Path;

/// More lines of a histogram than sysbench has classes.
const CLASSES_MAX: usize = 4_096;

/// Reads the output at `path`.
pub(crate) fn read(path: &Path) -> Result<Vec<ImportedPoint>, ImportError> {
    read_runs::<SysbenchOutput>(path, &[])
}

/// What is read so far.
#[derive(Default)]
struct SysbenchOutput {
    version: Option<String>,
    threads: Option<u64>,
    rate_per_s: Option<f64>,
    intervals: Vec<IntervalLine>,
    blocks: Vec<Statistics>,
    /// Milliseconds and count of each class.
    histogram: Vec<(f64, u64)>,
    in_histogram: bool,
    other_test: Option<&'static str>,
    file: FileTest,
    /// Whether the options of the run were printed.
    has_options: bool,
    /// Whether the next statistics are those of a checkpoint.
    is_checkpoint: bool,
    /// Whether the last statistics are those of the whole run.
    is_final: bool,
    /// Why sysbench failed, and the line that says so.
    failure: Option<(u64, String)>,
    /// Lines that cannot be: how many, and the first of them.
    impossible: Option<(u64, String)>,
}

impl RunOutput for SysbenchOutput {
    fn next(&self, line: &str) -> NextLine {
        let text = line.trim();
        let is_title = text == "SQL statistics:" || text == "OLTP test statistics:";
        if version_of(text).is_some() && (self.version.is_some() || self.has_begun())
            || self.has_options && text.starts_with("Running the test with following options")
        {
            NextLine::Header
        } else if self.is_over() && (is_title || text.starts_with('[')) {
            NextLine::MoreResults
        } else {
            NextLine::SameRun
        }
    }

    fn take(&mut self, line: &str, input: &Input) -> Result<(), ImportError> {
        self.take_line(line.trim(), input)
    }

    fn has_begun(&self) -> bool {
        self.has_options || self.threads.is_some() || !self.intervals.is_empty() || !self.blocks.is_empty()
    }

    fn is_over(&self) -> bool {
        let has_time = self.blocks.last().is_some_and(|block| block.total_time_s.is_some());
        has_time && (self.is_final || self.file.is_over())
    }

    fn into_point(self, input: &Input, _: &[&Path]) -> Result<ImportedPoint, ImportError> {
        self.make_point(input)
    }
}

/// The version in a header such as `sysbench 1.0.20 (using system LuaJIT 2.1.0-beta3)` or `sysbench 0.4.12:  multi-threaded ...`.
fn version_of(text: &str) -> Option<&str> {
    let version = text.strip_prefix("sysbench ")?;
    let version = version.split([' ', ':']).next().unwrap_or_default();
    version.starts_with(|c: char| c.is_ascii_digit()).then_some(version)
}

impl SysbenchOutput {
    fn take_line(&mut self, text: &str, input: &Input) -> Result<(), ImportError> {
        if self.in_histogram {
            return self.take_class(text, input);
        }
        if text.starts_with("FATAL:") {
            self.failure.get_or_insert((input.line(), format!("sysbench failed: {}", quoted(text))));
        } else if text.starts_with('[') {
            self.take_interval(text, input)?;
        } else if text.starts_with("Latency histogram") {
            self.in_histogram = true;
        } else if self.file.take(text, input)? {
            if self.blocks.is_empty() && self.file.is_over() {
                self.blocks.push(Statistics::default());
            }
        } else if text == "SQL statistics:" || text == "OLTP test statistics:" {
            self.is_final = !std::mem::take(&mut self.is_checkpoint);
            self.blocks.push(Statistics::default());
        } else if let Some(version) = version_of(text) {
            self.version = Some(version.to_owned());
        } else if text.starts_with("Running the test with following options") {
            self.has_options = true;
        } else if let Some((name, value)) = text.split_once(':') {
            self.take_pair(name, value.trim(), input)?;
        }
        Ok(())
    }

    fn take_interval(&mut self, text: &str, input: &Input) -> Result<(), ImportError> {
        let line = match self.file.read_interval(text) {
            Some((at_s, done_per_s)) => IntervalLine { at_s, done_per_s, errors_per_s: 0.0, threads: None },
            None => match read_interval(text, input)? {
                ReadLine::Rates(line) => line,
                ReadLine::Checkpoint => {
                    self.is_checkpoint = true;
                    return Ok(());
                }
                ReadLine::Other => return Ok(()),
                ReadLine::Impossible(what) => {
                    let (count, _) = self.impossible.get_or_insert((0, format!("in line {}: {what}", input.line())));
                    *count += 1;
                    return Ok(());
                }
            },
        };
        if self.intervals.last().is_some_and(|last| last.at_s > line.at_s) {
            return Err(at_once(input, &format!("the time goes back to {} s", line.at_s)));
        }
        match (self.threads, line.threads) {
            (Some(own), Some(threads)) if own != threads => {
                return Err(at_once(input, &format!("the line is of {threads} threads, and the run has {own}")));
            }
            _ => {}
        }
        self.intervals.push(line);
        Ok(())
    }

    fn take_pair(&mut self, name: &str, value: &str, input: &Input) -> Result<(), ImportError> {
        match name {
            "Number of threads" => self.threads = Some(count_in(value, CLIENTS_MAX, input)?),
            "Target transaction rate" => {
                self.rate_per_s = Some(amount_in(value.trim_end_matches("/sec"), COUNT_MAX as f64, input)?)
            }
            "CPU speed" => self.other_test = Some("cpu"),
            "Total operations" => self.other_test = Some("memory"),
            _ => {
                if let Some(block) = self.blocks.last_mut() {
                    block.take_pair(name, value, input)?;
                }
            }
        }
        Ok(())
    }

    /// A line of the histogram: `1.025 |***** 84`.
    fn take_class(&mut self, text: &str, input: &Input) -> Result<(), ImportError> {
        let Some((value, rest)) = text.split_once('|') else {
            self.in_histogram = text.starts_with("value");
            return Ok(());
        };
        let class = parse_amount(value, SECONDS_MAX * 1e3).zip(parse_count(rest.trim_start_matches('*'), COUNT_MAX));
        self.histogram
            .push(class.ok_or_else(|| input.expected("a class of the histogram, such as `1.025 |*** 84`", text))?);
        if self.histogram.len() <= CLASSES_MAX {
            Ok(())
        } else {
            Err(input.wrong("the histogram has more classes than any of sysbench"))
        }
    }

    fn make_point(self, input: &Input) -> Result<ImportedPoint, ImportError> {
        let path = input.path();
        if let (Some((line, what)), false) = (&self.failure, self.is_over()) {
            return Err(ImportError::line(path, *line, what));
        }
        let total = self.total(path)?;
        let length = total.total_time_s.and_then(nanos_of).filter(|length| length.0 > 0);
        let length = length.ok_or_else(|| {
            ImportError::whole(path, "there is no line `total time:` or `time elapsed:`; the output is cut")
        })?;
        let is_file = self.file.is_over();
        let mut kinds = if is_file { self.file.kinds(length.as_secs_f64(), total.events) } else { vec![total.kind()] };
        let mut facts = total.facts.clone();
        // The histogram has the times of all operations: of several kinds it is not known whose they are.
        if let ([kind], Some(times)) = (kinds.as_mut_slice(), self.times(&total)) {
            (kind.response, kind.service) = (times.clone(), times);
            facts.push(Fact::new("imported.times", "histogram of sysbench, with classes 1.8 % wide"));
        }
        if let Some((count, first)) = &self.impossible {
            let what = format!("lines of `--report-interval` that cannot be: {count}, the first {first}");
            facts.push(Fact::new(LEFT_OUT_FACT, what));
        }
        let timeline = self.timeline(&kinds, length);
        let version = self.version.as_deref().unwrap_or_default();
        let mut point = ImportedPoint::of("sysbench", version, if is_file { "file" } else { "oltp" });
        point.clients = u32::try_from(self.threads.unwrap_or(1).max(1)).expect("it was checked");
        point.rate_per_s = self.rate_per_s.filter(|rate| *rate > 0.0);
        (point.length, point.kinds, point.facts) = (length, kinds, facts);
        point.set_timeline(timeline);
        if is_file {
            point.engine = FILE_ENGINE.to_owned();
            (point.engine_params, point.workload_params) = (self.file.engine_params(), self.file.workload_params());
            point.io = self.file.io();
        }
        Ok(point)
    }

    /// The statistics of all parts together.
    fn total(&self, path: &Path) -> Result<Statistics, ImportError> {
        let missing = || match (self.other_test, self.blocks.is_empty()) {
            (Some(test), true) => format!(
                "this is the test `{test}` of sysbench; only its database tests (`SQL statistics:`) and `fileio` can be imported"
            ),
            (None, true) => {
                "there are no `SQL statistics:`, which sysbench prints at the end; the output is cut".to_owned()
            }
            (_, false) => "the statistics have no line `transactions:`; the output is cut".to_owned(),
        };
        if let ([only], true) = (self.blocks.as_slice(), self.file.is_over()) {
            return Ok(only.clone());
        }
        let (last, parts) = self.blocks.split_last().ok_or_else(|| ImportError::whole(path, missing()))?;
        let mut total = last.clone();
        for part in parts {
            total.add(part);
        }
        match total.transactions {
            Some(transactions) if transactions <= COUNT_MAX => Ok(total),
            _ => Err(ImportError::whole(path, missing())),
        }
    }

    /// The response times, if the histogram has those of all transactions.
    fn times(&self, total: &Statistics) -> Option<Times> {
        let counted = self.histogram.iter().map(|(_, count)| count).sum::<u64>();
        if self.blocks.len() != 1 || counted == 0 || Some(counted) != total.transactions.or(total.events) {
            return None;
        }
        let classes = self.histogram.iter().map(|(ms, count)| ((ms * 1e6).round() as u64, *count)).collect();
        let ns = |ms: f64| (ms * 1e6).round() as u64;
        Some(times_of_classes(classes, ns(total.sum_ms?), ns(total.max_ms?)))
    }

    /// The operations of each kind over time; `None` if no line was printed.
    fn timeline(&self, kinds: &[ImportedKind], length: Nanos) -> Option<Result<Timeline, String>> {
        self.intervals.first()?;
        let [done, failed] = [|kind: &ImportedKind| kind.ok, |kind: &ImportedKind| kind.failed]
            .map(|count| kinds.iter().map(count).collect::<Vec<u64>>());
        let done = self.grid_of(kinds, |line, place| line.done_per_s[place]).and_then(|grid| grid.fit(&done, length));
        let failed = self.grid_of(kinds, |line, _| line.errors_per_s).and_then(|grid| grid.fit(&failed, length));
        Some(done.map(|timeline| Timeline { failed: failed.map(|grid| grid.counts).unwrap_or_default(), ..timeline }))
    }

    fn grid_of(
        &self,
        kinds: &[ImportedKind],
        rate: impl Fn(&IntervalLine, usize) -> f64,
    ) -> Result<IntervalGrid, String> {
        let times = || self.intervals.iter().map(|line| nanos_of(line.at_s).unwrap_or_default());
        let interval = times().next().filter(|interval| interval.0 > 0).ok_or("they have no length")?;
        let (mut grid, mut before) = (IntervalGrid::new(interval, kinds.len()), 0);
        let places: Vec<usize> = kinds.iter().map(|kind| self.file.place_of(kind)).collect();
        for (line, at) in self.intervals.iter().zip(times()) {
            for (nth, place) in places.iter().enumerate() {
                let amount = rate(line, *place) * at.0.saturating_sub(before) as f64 / 1e9;
                grid.spread(nth, before, at.0, amount).map_err(|_| "there are too many of them")?;
            }
            before = before.max(at.0);
        }
        Ok(grid)
    }
}

fn count_in(text: &str, most: u64, input: &Input) -> Result<u64, ImportError> {
    parse_count(text, most).ok_or_else(|| input.expected("a whole number", text))
}

fn amount_in(text: &str, most: f64, input: &Input) -> Result<f64, ImportError> {
    parse_amount(text, most).ok_or_else(|| input.expected("a number", text))
}
