//! What pgbench 9.6 to 17 prints, and its logs.
//!
//! In: the output of pgbench, of which the lines of `--progress` go to stderr, and its logs of transactions (`--log`) or of intervals
//! (`--aggregate-interval`). Out: a point of the engine `postgresql` for each run. Limits: only the log of transactions gives response times; mean and
//! deviation are facts. The rate of `--rate` is not printed, so the point counts as a closed loop.

mod log;

use crate::amount::{CLIENTS_MAX, COUNT_MAX, SECONDS_MAX, nanos_of, parse_amount, parse_count};
use crate::error::ImportError;
use crate::grid::IntervalGrid;
use crate::input::Input;
use crate::point::{INTERVALS_FACT, ImportedKind, ImportedPoint, Timeline};
use crate::runs::{NextLine, RunOutput, at_once, read_runs};
use log::Logged;
use model::{Fact, KindDef, Nanos, OpClass, Params, Value};
use std::path::Path;

/// More facts than these are not kept: statements of long scripts.
const FACTS_MAX: usize = 200;

/// Reads the output at `path`, and the `logs` of its only run.
pub(crate) fn read(path: &Path, logs: &[&Path]) -> Result<Vec<ImportedPoint>, ImportError> {
    read_runs::<PgbenchOutput>(path, logs)
}

/// What is read so far.
#[derive(Default)]
struct PgbenchOutput {
    version: Option<String>,
    has_vacuumed: bool,
    transaction: Option<String>,
    scale: Option<u64>,
    query_mode: Option<String>,
    clients: Option<u64>,
    processed: Option<u64>,
    failed: u64,
    tps: Option<f64>,
    /// Whether `tps` is that without the time to connect.
    tps_is_final: bool,
    has_rate: bool,
    progress: Vec<ProgressRate>,
    statements: usize,
    in_statements: bool,
    in_scripts: bool,
    facts: Vec<Fact>,
}

/// A line of `--progress`.
#[derive(Clone, Copy)]
struct ProgressRate {
    /// Since the run began, or since 1970.
    at_s: f64,
    tps: f64,
}

impl RunOutput for PgbenchOutput {
    fn next(&self, line: &str) -> NextLine {
        let text = line.trim();
        let has_results = text.starts_with("transaction type: ");
        let is_header = text.starts_with("pgbench (") && (self.version.is_some() || self.has_begun())
            || text.starts_with("starting vacuum") && (self.has_vacuumed || self.has_begun())
            || has_results && self.transaction.is_some() && !self.is_over();
        if is_header {
            NextLine::Header
        } else if self.is_over() && (has_results || text.starts_with("progress: ")) {
            NextLine::MoreResults
        } else {
            NextLine::SameRun
        }
    }

    fn take(&mut self, line: &str, input: &Input) -> Result<(), ImportError> {
        self.take_line(line, input)
    }

    fn has_begun(&self) -> bool {
        self.has_vacuumed || self.transaction.is_some() || !self.progress.is_empty()
    }

    fn is_over(&self) -> bool {
        self.processed.is_some() && self.tps.is_some()
    }

    fn into_point(self, input: &Input, logs: &[&Path]) -> Result<ImportedPoint, ImportError> {
        self.make_point(input.path(), logs)
    }
}

impl PgbenchOutput {
    fn take_line(&mut self, line: &str, input: &Input) -> Result<(), ImportError> {
        let text = line.trim();
        if let Some(rest) = text.strip_prefix("progress: ") {
            let line = read_progress(rest, input)?;
            if self.progress.last().is_some_and(|last| last.at_s >= line.at_s) {
                return Err(at_once(input, &format!("the time goes back to {} s", line.at_s)));
            }
            self.progress.push(line);
            return Ok(());
        }
        if self.in_statements && line.starts_with(' ') && !text.starts_with('-') {
            self.take_statement(text);
            return Ok(());
        }
        self.in_statements = text.starts_with("statement latencies");
        if text.starts_with("SQL script ") {
            self.in_scripts = true;
        }
        if self.in_scripts {
            self.add_fact("pgbench.script", text);
        } else if let Some((name, value)) = text.split_once(" = ") {
            self.take_measure(name, value, input)?;
        } else if let Some((name, value)) = text.split_once(": ") {
            self.take_setting(name, value, input)?;
        } else if let Some(version) = text.strip_prefix("pgbench (") {
            let end = version.find([' ', ')']).unwrap_or(version.len());
            self.version = Some(version[..end].to_owned());
        } else if text.starts_with("starting vacuum") {
            self.has_vacuumed = true;
        }
        Ok(())
    }

    fn take_setting(&mut self, name: &str, value: &str, input: &Input) -> Result<(), ImportError> {
        // `7726`, `100/100`, `20 (3.534%)`
        let first = || value.split([' ', '/']).next().unwrap_or_default();
        let count = |most| parse_count(first(), most).ok_or_else(|| input.expected("a whole number", value));
        match name {
            "transaction type" => self.transaction = Some(value.to_owned()),
            "scaling factor" => self.scale = Some(count(COUNT_MAX)?),
            "query mode" => self.query_mode = Some(value.to_owned()),
            "number of clients" => self.clients = Some(count(CLIENTS_MAX)?),
            "number of transactions actually processed" if self.processed.is_some() => {
                return Err(at_once(input, "the number of transactions is there twice"));
            }
            "number of transactions actually processed" => self.processed = Some(count(COUNT_MAX)?),
            "number of failed transactions" => self.failed = count(COUNT_MAX)?,
            "number of transactions skipped" => self.add_fact("pgbench.skipped", value),
            "maximum number of tries" => self.add_fact("pgbench.max_tries", value),
            "rate limit schedule lag" => {
                self.has_rate = true;
                self.add_fact("pgbench.schedule_lag", value);
            }
            "number of threads"
            | "duration"
            | "number of transactions per client"
            | "partition method"
            | "partitions"
            | "number of transactions retried"
            | "total number of retries" => {
                let name = name.trim_start_matches("number of ").replace(' ', "_");
                self.add_fact(format!("pgbench.{name}"), value);
            }
            name if name.starts_with("number of transactions above") => {
                let what = name.trim_start_matches("number of transactions ");
                self.add_fact("pgbench.above_limit", format!("{what}: {value}"))
            }
            _ => {}
        }
        Ok(())
    }

    fn take_measure(&mut self, name: &str, value: &str, input: &Input) -> Result<(), ImportError> {
        match name {
            "tps" => {
                let number = value.split_whitespace().next().unwrap_or_default();
                let tps = parse_amount(number, COUNT_MAX as f64).ok_or_else(|| input.expected("a rate", value))?;
                // Up to version 13 there are two: with and without the time to connect.
                if !self.tps_is_final {
                    (self.tps, self.tps_is_final) =
                        (Some(tps), value.contains("excluding") || value.contains("without"));
                }
            }
            "latency average" | "latency stddev" | "initial connection time" | "average connection time" => {
                self.add_fact(format!("pgbench.{}", name.replace(' ', "_")), value);
            }
            _ => {}
        }
        Ok(())
    }

    fn take_statement(&mut self, text: &str) {
        self.statements += 1;
        self.add_fact(format!("pgbench.statement.{}", self.statements), text);
    }

    fn add_fact(&mut self, name: impl Into<String>, value: impl Into<String>) {
        if self.facts.len() < FACTS_MAX {
            self.facts.push(Fact::new(name, value));
        }
    }

    fn make_point(mut self, path: &Path, logs: &[&Path]) -> Result<ImportedPoint, ImportError> {
        let missing = |line: &str| ImportError::whole(path, format!("there is no line `{line}`; the output is cut"));
        let processed = self.processed.ok_or_else(|| missing("number of transactions actually processed:"))?;
        let tps = self.tps.ok_or_else(|| missing("tps ="))?;
        let length = length_of(processed, tps).ok_or_else(|| {
            ImportError::whole(path, format!("{processed} transactions at {tps} per second give no time of the run"))
        })?;
        let mut kind = ImportedKind::new(self.kind());
        (kind.ok, kind.failed) = (processed, self.failed);
        let logged = if logs.is_empty() { None } else { Some(log::read(logs, self.has_rate)?) };
        let started_unix_ms = logged.as_ref().and_then(|logged| logged.started_unix_ms);
        let timeline = self.timeline(logged, &mut kind, length);
        let mut params = Params::default();
        params.0.extend(self.transaction.clone().map(|word| ("transaction".to_owned(), Value::Word(word))));
        params.0.extend(self.scale.map(|scale| ("scale".to_owned(), Value::Int(scale))));
        params.0.extend(self.query_mode.clone().map(|mode| ("query_mode".to_owned(), Value::Word(mode))));
        let version = self.version.as_deref().unwrap_or_default();
        let mut point = ImportedPoint::of("pgbench", version, "pgbench");
        point.engine = "postgresql".to_owned();
        point.workload_params = params;
        point.clients = u32::try_from(self.clients.unwrap_or(1).max(1)).expect("it was checked");
        point.started_unix_ms = started_unix_ms;
        (point.length, point.kinds, point.timeline, point.facts) = (length, vec![kind], timeline, self.facts);
        Ok(point)
    }

    /// The transactions over time: those of the logs, or else those of `--progress`. Times that are in no interval become those of `kind`.
    fn timeline(&mut self, logged: Option<Logged>, kind: &mut ImportedKind, length: Nanos) -> Option<Timeline> {
        let mut left_out = None;
        if let Some(Logged { grid, times, begins_early, .. }) = logged {
            // Transactions that failed or were skipped have no time.
            let count = times.0.len();
            if count > 0 {
                self.add_fact("imported.times", format!("log of {count} of {} transactions", kind.ok));
            }
            let fitted = if begins_early {
                Err("those of the log are aligned with the clock and not with the run".to_owned())
            } else {
                grid.fit(&[kind.ok], length)
            };
            match fitted {
                Ok(timeline) => return Some(timeline),
                Err(why) => left_out = Some(why),
            }
            (kind.response, kind.service) = times;
        }
        match self.progress_grid().map(|grid| grid.fit(&[kind.ok], length)) {
            Some(Ok(timeline)) => return Some(timeline),
            Some(Err(why)) => left_out = left_out.or(Some(why)),
            None => {}
        }
        if let Some(why) = left_out {
            self.add_fact(INTERVALS_FACT, format!("left out: {why}"));
        }
        None
    }

    /// The kind of operation: the built-in scripts are known, with the number of their statements.
    fn kind(&self) -> KindDef {
        let (class, queries_per_op) = match self.transaction.as_deref().unwrap_or_default() {
            "<builtin: TPC-B (sort of)>" => (OpClass::ReadWrite, 7.0),
            "<builtin: simple update>" => (OpClass::ReadWrite, 5.0),
            "<builtin: select only>" => (OpClass::Read, 1.0),
            _ => (OpClass::ReadWrite, 1.0),
        };
        KindDef { queries_per_op, ..KindDef::new("transaction", class) }
    }

    /// The transactions over time, as the lines of `--progress` have them; `None` without such lines.
    fn progress_grid(&self) -> Option<IntervalGrid> {
        const EPOCH_MIN_S: f64 = 1e9;
        let first = self.progress.first()?;
        let step = self.progress.get(1).map_or(first.at_s, |second| second.at_s - first.at_s);
        // With `--progress-timestamp` the times count from 1970.
        let origin = if first.at_s >= EPOCH_MIN_S { first.at_s - step } else { 0.0 };
        let interval = nanos_of((step * 10.0).round() / 10.0).filter(|interval| interval.0 > 0)?;
        let mut grid = IntervalGrid::new(interval, 1);
        let mut before = 0;
        for line in &self.progress {
            let at = nanos_of(line.at_s - origin)?.0;
            let amount = line.tps * at.saturating_sub(before) as f64 / 1e9;
            grid.spread(0, before, at, amount).ok()?;
            before = before.max(at);
        }
        Some(grid)
    }
}

/// How long the run was, for the printed rate to be that of the printed number.
fn length_of(processed: u64, tps: f64) -> Option<Nanos> {
    let seconds = processed as f64 / tps;
    nanos_of(seconds).filter(|length| length.0 > 0)
}

/// `5.0 s, 683.9 tps, lat 1.2 ms stddev 0.3, 0 failed`.
fn read_progress(rest: &str, input: &Input) -> Result<ProgressRate, ImportError> {
    let mut parts = rest.split(", ");
    let mut number = |unit: &str, most: f64| {
        let part = parts.next()?;
        parse_amount(part.strip_suffix(unit)?, most)
    };
    let line = number(" s", 1e11).zip(number(" tps", COUNT_MAX as f64)).map(|(at_s, tps)| ProgressRate { at_s, tps });
    line.filter(|line| line.at_s <= SECONDS_MAX || line.at_s >= 1e9).ok_or_else(|| {
        input.expected("a line of `--progress`, such as `progress: 5.0 s, 683.9 tps, lat 1.2 ms stddev 0.3`", rest)
    })
}
