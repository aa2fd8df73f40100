//! pgbench's logs: one line a transaction (`--log`), or one line an interval (`--aggregate-interval`).
//!
//! In: the log files of one run, one for each thread. Out: transactions over time, with all response times of a log of transactions.
//! Limits: lines of a file are in the order of time; a line that goes back by more than an interval is refused. Transactions that failed
//! or were skipped are in the totals of the output and not counted here.

use crate::amount::{COUNT_MAX, parse_count};
use crate::error::ImportError;
use crate::grid::{IntervalGrid, OpenLogInterval};
use crate::input::Input;
use model::{Nanos, Times};
use std::path::Path;

/// The interval into which transactions are counted.
const INTERVAL: Nanos = Nanos::from_secs(1);
/// From here on a number is a time since 1970, and none of a client.
const EPOCH_MIN_S: u64 = 100_000_000;
/// It is in the year 5138.
const EPOCH_MAX_S: u64 = 100_000_000_000;
/// A first interval with less than this share of the second is not a whole one.
const FULL_SHARE_MIN: f64 = 0.9;
/// A year in microseconds: the longest time.
const TIME_US_MAX: u64 = 366 * 86_400 * 1_000_000;

/// What the logs hold.
pub(super) struct Logged {
    pub grid: IntervalGrid,
    /// All response and service times.
    pub times: (Times, Times),
    pub started_unix_ms: Option<u64>,
    /// Whether the first interval of an aggregated log has few transactions: pgbench 14 and later align intervals with the clock, so that it
    /// began before the run.
    pub begins_early: bool,
}

/// Reads all `logs`, of which there is at least one. With a lag (`--rate`) the column after the time has how late each transaction began;
/// without one it has how often it was tried again.
pub(super) fn read(logs: &[&Path], has_lag: bool) -> Result<Logged, ImportError> {
    let firsts = logs.iter().map(|log| read_first(log)).collect::<Result<Vec<_>, _>>()?;
    let origin_us = firsts.iter().map(|first| first.began_us).min().unwrap_or(0);
    let is_aggregated = firsts.iter().any(|first| first.is_aggregated);
    let interval = if is_aggregated { aggregate_interval(logs)? } else { INTERVAL };
    let mut logged = Logged {
        grid: IntervalGrid::new(interval, 1),
        times: Default::default(),
        started_unix_ms: Some(origin_us / 1_000),
        begins_early: false,
    };
    for log in logs {
        if is_aggregated {
            read_aggregated(log, origin_us, interval, &mut logged)?
        } else {
            read_transactions(log, origin_us, has_lag, &mut logged)?
        }
    }
    logged.times = logged.grid.all_times(0);
    logged.begins_early = is_aggregated && logged.grid.begins_low(FULL_SHARE_MIN);
    Ok(logged)
}

/// What the first line of a log shows.
struct FirstLine {
    is_aggregated: bool,
    /// When the first transaction or interval began, in microseconds since 1970.
    began_us: u64,
}

fn read_first(log: &Path) -> Result<FirstLine, ImportError> {
    let mut input = Input::open(log)?;
    let line = input.next_line()?.unwrap_or_default();
    if let Some(start) = aggregated_start(&line) {
        return Ok(FirstLine { is_aggregated: true, began_us: start * 1_000_000 });
    }
    let first = read_transaction(&line, &input)?;
    Ok(FirstLine { is_aggregated: false, began_us: first.ended_us.saturating_sub(first.time_us.unwrap_or(0)) })
}

/// One line of a log of transactions.
struct Transaction {
    /// From its scheduled start; `None` if it failed or was skipped.
    time_us: Option<u64>,
    /// In microseconds since 1970.
    ended_us: u64,
    /// The column after that, if there is one.
    next_us: Option<u64>,
}

/// `0 199 2241 0 1175850568 995598`.
fn read_transaction(line: &str, input: &Input) -> Result<Transaction, ImportError> {
    const EXPECTED: &str = "a line of pgbench's log, such as `0 199 2241 0 1175850568 995598`";
    let fields: Vec<&str> = line.split_whitespace().collect();
    let wrong = || input.expected(EXPECTED, line);
    let number = |nth: usize, most: u64| fields.get(nth).and_then(|field| parse_count(field, most));
    let (Some(seconds), Some(micros)) = (number(4, EPOCH_MAX_S), number(5, 999_999)) else { return Err(wrong()) };
    let is_word = fields[2].bytes().all(|byte| byte.is_ascii_alphabetic());
    let time_us = if is_word { None } else { Some(number(2, TIME_US_MAX).ok_or_else(wrong)?) };
    let next_us = if fields.len() > 6 { Some(number(6, TIME_US_MAX).ok_or_else(wrong)?) } else { None };
    Ok(Transaction { time_us, ended_us: seconds * 1_000_000 + micros, next_us })
}

fn read_transactions(log: &Path, origin_us: u64, has_lag: bool, logged: &mut Logged) -> Result<(), ImportError> {
    let mut input = Input::open(log)?;
    let mut open = OpenLogInterval::default();
    while let Some(line) = input.next_line()? {
        let transaction = read_transaction(&line, &input)?;
        let at_ns = transaction.ended_us.saturating_sub(origin_us).saturating_mul(1_000);
        let place = logged.grid.place_of(at_ns).map_err(|_| too_late(&input))?;
        let moved = open.move_to(place, 0, &mut logged.grid);
        moved.map_err(|_| input.wrong("the time goes back; a log of pgbench is in the order of time"))?;
        let Some(time_us) = transaction.time_us else { continue };
        let lag_us = transaction.next_us.filter(|_| has_lag);
        let service_us = time_us.saturating_sub(lag_us.unwrap_or(0));
        open.add(Some((time_us * 1_000, service_us * 1_000)));
    }
    open.close(0, &mut logged.grid);
    Ok(())
}

/// When the interval of a line begins, in seconds since 1970; `None` if it is a line of a transaction.
fn aggregated_start(line: &str) -> Option<u64> {
    let first = line.split_whitespace().next()?;
    parse_count(first, EPOCH_MAX_S).filter(|start| *start >= EPOCH_MIN_S)
}

/// The distance between the first two lines that differ.
fn aggregate_interval(logs: &[&Path]) -> Result<Nanos, ImportError> {
    for log in logs {
        let mut input = Input::open(log)?;
        let mut first = None;
        while let Some(line) = input.next_line()? {
            let start = aggregated_start(&line).ok_or_else(|| not_aggregated(&input, &line))?;
            match first {
                None => first = Some(start),
                Some(first) if start > first && start - first <= TIME_US_MAX / 1_000_000 => {
                    return Ok(Nanos::from_secs(start - first));
                }
                Some(_) => {}
            }
        }
    }
    Ok(INTERVAL)
}

fn read_aggregated(log: &Path, origin_us: u64, interval: Nanos, logged: &mut Logged) -> Result<(), ImportError> {
    let mut input = Input::open(log)?;
    while let Some(line) = input.next_line()? {
        let start = aggregated_start(&line).ok_or_else(|| not_aggregated(&input, &line))?;
        let count = line.split_whitespace().nth(1).and_then(|field| parse_count(field, COUNT_MAX));
        let count = count.ok_or_else(|| not_aggregated(&input, &line))?;
        let at_ns = (start * 1_000_000).saturating_sub(origin_us).saturating_mul(1_000);
        let place = logged.grid.place_of(at_ns.saturating_add(interval.0 / 2)).map_err(|_| too_late(&input))?;
        logged.grid.add(0, place, count as f64);
    }
    Ok(())
}

fn not_aggregated(input: &Input, line: &str) -> ImportError {
    input.expected("a line of pgbench's aggregated log, such as `1345828501 5601 1542744 483552416 61 2573`", line)
}

fn too_late(input: &Input) -> ImportError {
    input.wrong(format!(
        "the time is more than {} intervals after the first line; check that the log is of one run",
        crate::grid::INTERVALS_MAX
    ))
}
