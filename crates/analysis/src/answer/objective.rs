//! What a search for the largest rate asks for, in words, and what a probe showed of it.

use crate::SearchAnalysis;
use crate::points::limit::ProbeAnalysis;
use model::Nanos;
use model::limit::Criterion;
use words::list::join_and;
use words::quantity::{percent, time};

/// The most characters of the name of a kind: a statement of a log is long.
const KIND_CHARS_MAX: usize = 40;

/// `p99 under 10 ms and errors under 0.1 %`, `p99 of checkout under 50 ms`; without the errors if `is_short` and something else is asked for.
pub fn objective_words(search: &SearchAnalysis, is_short: bool) -> String {
    let criteria = search.spec.objective.criteria();
    let is_kept = |criterion: &&Criterion| !is_short || criteria.len() == 1 || criterion.time().is_some();
    let words = |criterion: &Criterion| match criterion {
        Criterion::Errors { below, .. } => format!("errors{} under {}", of_kind(criterion), percent(*below)),
        Criterion::Longest { below, .. } => {
            format!("no response{} of {} or more", of_kind(criterion), set_time(*below))
        }
        Criterion::Stall { below } => format!("no stall of {} or more", set_time(*below)),
        Criterion::Percentile { percentile, below, .. } => {
            format!("{}{} under {}", percentile.as_str(), of_kind(criterion), set_time(*below))
        }
    };
    join_and(&criteria.iter().filter(is_kept).map(words).collect::<Vec<_>>())
}

/// ` of checkout`; nothing if `criterion` is of all operations.
pub fn of_kind(criterion: &Criterion) -> String {
    let Some(kind) = criterion.kind() else { return String::new() };
    let cut: String = kind.chars().take(KIND_CHARS_MAX).collect();
    let end = if cut.len() < kind.len() { ".." } else { "" };
    format!(" of {}{end}", cut.trim_end())
}

/// What `probe` showed of what `criterion` limits; `None` if that is no response time or share.
pub fn criterion_value(probe: &ProbeAnalysis, criterion: Criterion) -> Option<String> {
    let summary = probe.point.summary.as_ref()?;
    let (times, failed) = match criterion.kind() {
        None => (summary.response_ns, summary.success_rate.map(|rate| 1.0 - rate)),
        Some(kind) => {
            let own = probe.point.statements.iter().find(|own| own.kind == kind && !own.background)?;
            (own.response_ns, Some(own.failed as f64 / (own.failed + own.response.len()).max(1) as f64))
        }
    };
    let (ns, below) = match criterion {
        Criterion::Errors { .. } => return Some(percent(failed?).to_string()),
        Criterion::Stall { .. } => return None,
        Criterion::Percentile { percentile, below, .. } => (times?.at(percentile)?, below),
        Criterion::Longest { below, .. } => (times?.max, below),
    };
    // If a backlog grew, it is what never began that misses the objective.
    (ns >= below.0).then(|| time(ns as f64).to_string())
}

/// A time that a person wrote: `10 ms`, not `10.0 ms`.
fn set_time(time: Nanos) -> String {
    match time.0 {
        ns if ns >= 1_000_000_000 => format!("{} s", ns as f64 / 1e9),
        ns if ns >= 1_000_000 => format!("{} ms", ns as f64 / 1e6),
        ns => format!("{} us", ns as f64 / 1e3),
    }
}
