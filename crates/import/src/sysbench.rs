//! What sysbench 0.4 to 1.1 prints of its database benchmarks and of `fileio`.
//!
//! In: the output of `sysbench ... run`: header, lines of `--report-interval`, statistics, and the histogram of `--histogram`. Out: a point
//! of the workload `oltp`, or `file`. Limits: of a database the output names neither the test nor the engine, so both are unknown unless they
//! are stated. The one percentile that is printed is a fact; only the histogram gives response times. Its classes are 1.8 % wide.
//!
//! `--report-checkpoints` prints statistics several times, each of the operations since the last: they are added up.

use crate::amount::{CLIENTS_MAX, COUNT_MAX, SECONDS_MAX, nanos_of, parse_amount, parse_count};
use crate::error::ImportError;
use crate::grid::IntervalGrid;
use crate::input::Input;
use crate::point::{FILE_ENGINE, ImportedKind, ImportedPoint, Timeline, UNKNOWN_ENGINE, times_of_classes};
use crate::sysbench_file::FileTest;
use model::{Fact, KindDef, Nanos, OpClass, Params, Times};
use std::path::Path;

/// More lines of a histogram than sysbench has classes.
const CLASSES_MAX: usize = 4_096;

/// Reads the output at `path`.
pub(crate) fn read(path: &Path) -> Result<ImportedPoint, ImportError> {
    let mut input = Input::open(path)?;
    let mut output = SysbenchOutput::default();
    while let Some(line) = input.next_line()? {
        output.take(&line, &input)?;
    }
    output.into_point(&input)
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
}

/// A line of `--report-interval`.
#[derive(Clone, Copy)]
struct IntervalLine {
    /// Since the run began.
    at_s: f64,
    /// Operations of each kind; of a database test transactions.
    done_per_s: [f64; 3],
    errors_per_s: f64,
}

/// The statistics of a run, or of the part up to a checkpoint.
#[derive(Clone, Default)]
struct Statistics {
    read: u64,
    write: u64,
    transactions: Option<u64>,
    queries: Option<u64>,
    /// All operations of a test that is none of a database.
    events: Option<u64>,
    errors: u64,
    /// Since the run began.
    total_time_s: Option<f64>,
    max_ms: Option<f64>,
    sum_ms: Option<f64>,
    facts: Vec<Fact>,
}

impl SysbenchOutput {
    fn take(&mut self, line: &str, input: &Input) -> Result<(), ImportError> {
        let text = line.trim();
        if self.in_histogram {
            return self.take_class(text, input);
        }
        if text.starts_with("FATAL:") {
            return Err(input.wrong(format!("sysbench failed: {}", crate::error::quoted(text))));
        }
        if text.starts_with('[') {
            self.intervals.extend(match self.file.read_interval(text) {
                Some((at_s, done_per_s)) => Some(IntervalLine { at_s, done_per_s, errors_per_s: 0.0 }),
                None => read_interval(text, input)?,
            });
        } else if text.starts_with("Latency histogram") {
            self.in_histogram = true;
        } else if self.file.take(text, input)? {
            if self.blocks.is_empty() && self.file.is_over() {
                self.blocks.push(Statistics::default());
            }
        } else if text == "SQL statistics:" || text == "OLTP test statistics:" {
            self.blocks.push(Statistics::default());
        } else if let Some(version) = text.strip_prefix("sysbench ") {
            let version = version.split([' ', ':']).next().unwrap_or_default();
            self.version = Some(version.to_owned());
        } else if let Some((name, value)) = text.split_once(':') {
            self.take_pair(name, value.trim(), input)?;
        }
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

    fn into_point(self, input: &Input) -> Result<ImportedPoint, ImportError> {
        let path = input.path();
        let total = self.total(path)?;
        let length = total.total_time_s.and_then(nanos_of).filter(|length| length.0 > 0);
        let length =
            length.ok_or_else(|| ImportError::whole(path, "there is no line `total time:`; the output is cut"))?;
        let clients = self.threads.unwrap_or(1).max(1);
        let mut facts = total.facts.clone();
        let is_file = self.file.is_over();
        let mut kinds = if is_file { self.file.kinds(length.as_secs_f64(), total.events) } else { vec![total.kind()] };
        // The histogram has the times of all operations: of several kinds it is not known whose they are.
        if let ([kind], Some(times)) = (kinds.as_mut_slice(), self.times(&total)) {
            (kind.response, kind.service) = (times.clone(), times);
            facts.push(Fact::new("imported.times", "histogram of sysbench, with classes 1.8 % wide"));
        }
        let timeline = match self.timeline(&kinds, length) {
            Some(Ok(timeline)) => Some(timeline),
            Some(Err(why)) => {
                facts.push(Fact::new("imported.intervals", format!("left out: {why}")));
                None
            }
            None => None,
        };
        let version = self.version.unwrap_or_default();
        Ok(ImportedPoint {
            program: format!("sysbench {version}").trim_end().to_owned(),
            program_name: "sysbench",
            engine: if is_file { FILE_ENGINE } else { UNKNOWN_ENGINE }.to_owned(),
            engine_params: if is_file { self.file.engine_params() } else { Params::default() },
            workload: if is_file { "file" } else { "oltp" }.to_owned(),
            workload_params: if is_file { self.file.workload_params() } else { Params::default() },
            io: self.file.io().filter(|_| is_file),
            clients: u32::try_from(clients).expect("it was checked"),
            depth: 1,
            rate_per_s: self.rate_per_s.filter(|rate| *rate > 0.0),
            started_unix_ms: None,
            length,
            kinds,
            timeline,
            error: None,
            facts,
        })
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

impl Statistics {
    fn take_pair(&mut self, name: &str, value: &str, input: &Input) -> Result<(), ImportError> {
        let count = || count_in(value.split_whitespace().next().unwrap_or_default(), COUNT_MAX, input);
        let seconds = || amount_in(value.trim_end_matches('s'), SECONDS_MAX, input);
        let ms = || amount_in(value.trim_end_matches("ms"), SECONDS_MAX * 1e6, input);
        match name {
            "read" => self.read = count()?,
            "write" => self.write = count()?,
            "transactions" => self.transactions = Some(count()?),
            "queries" => self.queries = Some(count()?),
            "total number of events" => self.events = Some(count()?),
            // sysbench 0.5 has the sum of all statements below `other` only.
            "total" if self.queries.is_none() => self.queries = Some(count()?),
            "ignored errors" => self.errors = count()?,
            "reconnects" => self.facts.push(Fact::new("sysbench.reconnects", count()?.to_string())),
            "total time" => self.total_time_s = Some(seconds()?),
            "min" => self.facts.push(Fact::new("sysbench.min_ms", ms()?.to_string())),
            "avg" => self.facts.push(Fact::new("sysbench.avg_ms", ms()?.to_string())),
            "max" => {
                self.max_ms = Some(ms()?);
                self.facts.push(Fact::new("sysbench.max_ms", ms()?.to_string()));
            }
            "sum" => self.sum_ms = Some(ms()?),
            name if name.ends_with("percentile") => {
                let number: String = name.chars().filter(|c| c.is_ascii_digit() || *c == '.').collect();
                let number = number.trim_start_matches('.');
                self.facts.push(Fact::new(format!("sysbench.p{number}_ms"), ms()?.to_string()));
            }
            _ => {}
        }
        Ok(())
    }

    /// Adds what was done before the checkpoint at the end of `part`. Percentiles of parts give none of the whole.
    fn add(&mut self, part: &Statistics) {
        let sum = |own: Option<u64>, other: Option<u64>| Some(own?.saturating_add(other?));
        self.read = self.read.saturating_add(part.read);
        self.write = self.write.saturating_add(part.write);
        self.transactions = sum(self.transactions, part.transactions);
        self.queries = sum(self.queries, part.queries);
        self.errors = self.errors.saturating_add(part.errors);
        self.total_time_s = [self.total_time_s, part.total_time_s].into_iter().flatten().reduce(f64::max);
        self.facts.clear();
    }

    fn kind(&self) -> ImportedKind {
        let transactions = self.transactions.unwrap_or(0);
        let mut def = KindDef::new("transaction", OpClass::from_effects(self.read > 0, self.write > 0));
        if let Some(queries) = self.queries.filter(|_| transactions > 0) {
            def.queries_per_op = queries as f64 / transactions as f64;
        }
        ImportedKind { ok: transactions, failed: self.errors, ..ImportedKind::new(def) }
    }
}

/// `[ 1s ] thds: 8 tps: 812.97 ... err/s: 0.00 reconn/s: 0.00`, and that of sysbench 0.5: `[   2s] threads: 64, tps: 1374.45, ...`. `None` for
/// the title of a checkpoint.
fn read_interval(text: &str, input: &Input) -> Result<Option<IntervalLine>, ImportError> {
    const EXPECTED: &str = "a line of `--report-interval`, such as `[ 1s ] thds: 8 tps: 812.97 ... err/s: 0.00`";
    let wrong = || input.expected(EXPECTED, text);
    let (at, rest) = text.strip_prefix('[').and_then(|text| text.split_once(']')).ok_or_else(wrong)?;
    if rest.contains("Checkpoint report") {
        return Ok(None);
    }
    let at_s = parse_amount(at.trim().trim_end_matches('s'), SECONDS_MAX).ok_or_else(wrong)?;
    let number = |names: &[&str]| {
        let found = names.iter().find_map(|name| rest.split_once(name));
        found.and_then(|(_, value)| value.split_whitespace().next()).map(|value| value.trim_end_matches(','))
    };
    let transactions_per_s =
        number(&["tps:"]).and_then(|text| parse_amount(text, COUNT_MAX as f64)).ok_or_else(wrong)?;
    let errors_per_s =
        number(&["err/s:", "errors:"]).and_then(|text| parse_amount(text, COUNT_MAX as f64)).unwrap_or(0.0);
    Ok(Some(IntervalLine { at_s, done_per_s: [transactions_per_s, 0.0, 0.0], errors_per_s }))
}

fn count_in(text: &str, most: u64, input: &Input) -> Result<u64, ImportError> {
    parse_count(text, most).ok_or_else(|| input.expected("a whole number", text))
}

fn amount_in(text: &str, most: f64, input: &Input) -> Result<f64, ImportError> {
    parse_amount(text, most).ok_or_else(|| input.expected("a number", text))
}
