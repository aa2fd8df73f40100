//! Words that several findings share: places in time, rates and how much of a list is shown.

use crate::Span;
use crate::evidence::limited_flow::LimitedFlow;
use model::Nanos;
use words::quantity::{Quantity, seconds};

/// Seconds with one decimal, as a range.
pub(super) fn tenths<T>(alike: &[&T], at: impl Fn(&T) -> Nanos) -> String {
    let all = || alike.iter().map(|one| at(one).as_secs_f64());
    let [low, high] = [all().fold(f64::MAX, f64::min), all().fold(0.0, f64::max)].map(|at| format!("{at:.1}"));
    if low == high { low } else { format!("{low} to {high}") }
}

pub(super) fn flow_word(flow: LimitedFlow) -> &'static str {
    match flow {
        LimitedFlow::ReadOps => "reads",
        LimitedFlow::WriteOps => "writes",
        LimitedFlow::ReadBytes => "bytes read",
        LimitedFlow::WriteBytes => "bytes written",
    }
}

pub(super) const SPANS_LISTED_MAX: usize = 6;

/// A moment, in seconds since the run phase began.
pub(super) fn at_second(at_s: f64, interval: Nanos) -> Quantity {
    seconds(Nanos((at_s.max(0.0) * 1e9).round() as u64), interval)
}

/// `3.0-6.0 s`
pub(super) fn span(span: &Span, interval: Nanos) -> String {
    format!("{}-{}", at_second(span.from_s, interval).digits(), at_second(span.to_s, interval))
}

/// More hosts are not named in one line.
pub(super) const HOSTS_MAX: usize = 4;
