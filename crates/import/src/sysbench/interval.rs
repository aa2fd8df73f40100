//! Lines of sysbench's `--report-interval`.
//!
//! In: a line that begins with `[`. Out: [`ReadLine`]. Limits: a rate that no program reaches (sysbench prints such if its clock went back) is told
//! from what is no number: the line is left out, and the totals stay.

use crate::amount::{COUNT_MAX, SECONDS_MAX, check_amount, parse_amount};
use crate::error::{ImportError, quoted};
use crate::input::Input;

/// A line of `--report-interval`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct IntervalLine {
    /// Since the run began.
    pub at_s: f64,
    /// Operations of each kind; of a database test transactions.
    pub done_per_s: [f64; 3],
    /// Transactions that failed, and connections that were lost.
    pub errors_per_s: f64,
    /// `None` if the line has none.
    pub threads: Option<u64>,
}

/// What a line is.
#[derive(Debug, PartialEq)]
pub(super) enum ReadLine {
    Rates(IntervalLine),
    /// The title of the statistics up to a checkpoint.
    Checkpoint,
    /// A message that begins with a bracket.
    Other,
    /// Why its numbers cannot be.
    Impossible(String),
}

/// `[ 1s ] thds: 8 tps: 812.97 ... err/s: 0.00 reconn/s: 0.00`; that of sysbench 0.5: `[   2s] threads: 64, tps: 1374.45, ...`; that of scripts:
/// `[ 10s ] thds: 8 tps: 488.40 ... err/s 128.77 reconn/s: 0.00`.
pub(super) fn read_interval(text: &str, input: &Input) -> Result<ReadLine, ImportError> {
    const EXPECTED: &str = "a line of `--report-interval`, such as `[ 1s ] thds: 8 tps: 812.97 ... err/s: 0.00`";
    let wrong = || input.expected(EXPECTED, text);
    let (at, rest) = text.strip_prefix('[').and_then(|text| text.split_once(']')).ok_or_else(wrong)?;
    let Some(at) = at.trim().strip_suffix('s') else { return Ok(ReadLine::Other) };
    if rest.contains("Checkpoint report") {
        return Ok(ReadLine::Checkpoint);
    }
    let at_s = parse_amount(at, SECONDS_MAX).ok_or_else(wrong)?;
    let word = |names: &[&str]| {
        let found = names.iter().find_map(|name| rest.split_once(name));
        found.and_then(|(_, value)| value.split_whitespace().next()).map(|value| value.trim_end_matches(','))
    };
    let number = |names: &[&str]| word(names).map(|text| text.parse::<f64>().map_err(|_| wrong())).transpose();
    let done_per_s = number(&["tps:"])?.ok_or_else(wrong)?;
    let failed_per_s = number(&["err/s:", "err/s", "errors:"])?.unwrap_or(0.0);
    let lost_per_s = number(&["reconn/s:", "reconnects:"])?.unwrap_or(0.0);
    if let Some(rate) =
        [done_per_s, failed_per_s, lost_per_s].into_iter().find(|rate| check_amount(*rate, COUNT_MAX as f64).is_none())
    {
        return Ok(ReadLine::Impossible(format!("{} per second", quoted(&rate.to_string()))));
    }
    let threads = word(&["thds:", "threads:"]).and_then(|text| text.parse().ok());
    let done_per_s = [done_per_s, 0.0, 0.0];
    Ok(ReadLine::Rates(IntervalLine { at_s, done_per_s, errors_per_s: failed_per_s + lost_per_s, threads }))
}
