//! What is drawn over time: intervals turned into rates and percentiles, counters turned into rates and levels.
//!
//! In: a recorded point. Out: a [`Series`] in seconds since the run phase began (the warmup is at negative times).
//! Limits: intervals beyond the end of the run phase (the grace time) are left out; their operations are in the histograms.

use hdrhistogram::Histogram;

/// Everything about one point that is drawn over time.
#[derive(Clone, Debug)]
pub struct Series {
    /// One entry per whole interval of warmup (negative times) and run.
    pub intervals: Vec<IntervalPoint>,
    /// All response times of the run phase.
    pub response: Histogram<u64>,
    /// All service times of the run phase.
    pub service: Histogram<u64>,
    /// Counters over time.
    pub counters: Vec<CounterSeries>,
    /// Stalls of the run phase, to be shaded.
    pub stalls: Vec<Span>,
}

/// One interval of a point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct IntervalPoint {
    /// Its beginning, in seconds since the run phase began.
    pub at_s: f64,
    /// Its length in seconds.
    pub length_s: f64,
    /// Operations done per second.
    pub ops_per_s: f64,
    /// Payload per second.
    pub bytes_per_s: f64,
    /// Median response time; `None` where no operation ended in the interval.
    pub p50_ns: Option<u64>,
    /// 95th percentile of it.
    pub p95_ns: Option<u64>,
    /// 99th percentile of it.
    pub p99_ns: Option<u64>,
    /// The longest.
    pub max_ns: Option<u64>,
}

/// A counter over time: rates per second of a counter, levels of a gauge.
#[derive(Clone, Debug, PartialEq)]
pub struct CounterSeries {
    /// The source: `cpu`, `disk`.
    pub source: String,
    /// What was observed.
    pub subject: String,
    /// The counter's name.
    pub name: String,
    /// The unit of the values: that of a gauge, or of a counter with `/s` behind it.
    pub unit: String,
    /// (end of the stretch in seconds since the run phase began, value); a gap has no entry.
    pub values: Vec<(f64, f64)>,
}

/// A stretch of time, in seconds since the run phase began.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Span {
    /// Its beginning.
    pub from_s: f64,
    /// Its end.
    pub to_s: f64,
}
