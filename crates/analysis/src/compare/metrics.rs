//! Rates and response times of two arms at one place.
//!
//! In: a place. Out: a [`MetricRatio`] per metric. Limits: the longest time is never compared, because it is one operation. Response
//! times of an open loop have the wait for a client in them, and its rate is that of its schedule unless it is overloaded.

use super::arm::{ArmPoint, CommonPlace};
use crate::ratio::{Preference, RatioEstimate, RepeatPair};
use crate::{Quantiles, stats};

/// What is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpeedMetric {
    /// Operations per second.
    OpsPerS,
    /// The seconds that a step took that is timed as a whole.
    Seconds,
    /// The median response time, in nanoseconds.
    P50,
    /// The 95th percentile.
    P95,
    /// The 99th percentile.
    P99,
}

/// One metric of two arms at one place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MetricRatio {
    /// Which.
    pub metric: SpeedMetric,
    /// The geometric mean of the base's repeats,
    pub base: f64,
    /// and of the other's.
    pub new: f64,
    /// Their ratio.
    pub estimate: RatioEstimate,
}

impl SpeedMetric {
    const ALL: [SpeedMetric; 5] =
        [SpeedMetric::OpsPerS, SpeedMetric::Seconds, SpeedMetric::P50, SpeedMetric::P95, SpeedMetric::P99];

    /// Whether it tells how fast work is done, and not how long one operation takes.
    pub fn is_speed(self) -> bool {
        matches!(self, SpeedMetric::OpsPerS | SpeedMetric::Seconds)
    }

    /// Which way is the better one.
    pub fn better(self) -> Preference {
        match self {
            SpeedMetric::OpsPerS => Preference::More,
            _ => Preference::Less,
        }
    }

    /// Its value at `point`; `None` if it has none.
    fn value(self, point: &ArmPoint) -> Option<f64> {
        let duration = point.analysis.duration_s();
        let summary = point.analysis.summary.as_ref()?;
        let time = |which: fn(&Quantiles) -> u64| {
            summary.response_ns.as_ref().filter(|_| duration.is_none()).map(|times| which(times) as f64)
        };
        match self {
            SpeedMetric::OpsPerS => Some(summary.ops_per_s).filter(|_| duration.is_none()),
            SpeedMetric::Seconds => duration,
            SpeedMetric::P50 => time(|times| times.p50),
            SpeedMetric::P95 => time(|times| times.p95),
            SpeedMetric::P99 => time(|times| times.p99),
        }
    }
}

/// All metrics that both arms have at `place`.
pub fn compare_metrics(place: &CommonPlace) -> Vec<MetricRatio> {
    SpeedMetric::ALL.iter().filter_map(|metric| compare_metric(place, *metric)).collect()
}

fn compare_metric(place: &CommonPlace, metric: SpeedMetric) -> Option<MetricRatio> {
    MetricRatio::from_pairs(metric, &place.pairing(|point| metric.value(point)).pairs)
}

impl MetricRatio {
    /// The ratio of `pairs` of repeats; `None` if no pair has two values above 0.
    pub fn from_pairs(metric: SpeedMetric, pairs: &[RepeatPair]) -> Option<MetricRatio> {
        let estimate = RatioEstimate::from_pairs(pairs, metric.better())?;
        let usable: Vec<RepeatPair> = pairs.iter().filter(|pair| pair.base > 0.0 && pair.new > 0.0).copied().collect();
        let (base, new) = (middle(&usable, |pair| pair.base), middle(&usable, |pair| pair.new));
        Some(MetricRatio { metric, base, new, estimate })
    }
}

/// The geometric mean of one side of `pairs`, so that the ratio of both is that of the estimate.
pub fn middle(pairs: &[RepeatPair], side: impl Fn(&RepeatPair) -> f64) -> f64 {
    let logs: Vec<f64> = pairs.iter().map(|pair| side(pair).ln()).collect();
    stats::mean(&logs).exp()
}
