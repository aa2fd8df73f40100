//! Rates and response times of two arms at one place.
//!
//! In: a place. Out: a [`MetricRatio`] per metric. Limits: response times of an open loop have the wait for a client in them, and
//! its rate is that of its schedule unless it is overloaded, and of a recording that of all statements sent.

use super::arm::{ArmPoint, CommonPlace};
use crate::math::ratio::{RatioEstimate, RepeatPair};
use crate::math::stats;
use crate::points::metric::Metric;

/// One metric of two arms at one place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MetricRatio {
    pub metric: Metric,
    /// The geometric mean of the base's repeats.
    pub base: f64,
    /// The same of the other's repeats.
    pub new: f64,
    pub estimate: RatioEstimate,
}

/// What a table compares first: speeds.
const SPEEDS: [Metric; 4] = [Metric::LimitPerS, Metric::RowsPerS, Metric::OpsPerS, Metric::Seconds];
/// What a table compares after the response times.
const RUNNING_COSTS: [Metric; 4] = [Metric::PerMillionOps, Metric::PerGb, Metric::KwhPerMillionOps, Metric::KwhPerGb];

/// All metrics that both arms have at `place`. Of inserts the rows are counted, and not their commits.
pub fn compare_metrics(place: &CommonPlace) -> Vec<MetricRatio> {
    let metrics = SPEEDS.into_iter().chain(Metric::response_times()).chain(RUNNING_COSTS);
    let mut all: Vec<MetricRatio> = metrics.filter_map(|metric| compare_metric(place, metric)).collect();
    if all.iter().any(|one| one.metric == Metric::RowsPerS) {
        all.retain(|one| one.metric != Metric::OpsPerS);
    }
    all
}

fn compare_metric(place: &CommonPlace, metric: Metric) -> Option<MetricRatio> {
    MetricRatio::from_pairs(metric, &place.pairing(|point| value_of(metric, point)).pairs)
}

/// Of a recording at its own times the rate is of all that was sent: the recording sets it, so statements that fail make no server slower. They are
/// told by themselves.
fn value_of(metric: Metric, point: &ArmPoint) -> Option<f64> {
    match &point.analysis.summary {
        Some(summary) if point.analysis.is_recorded_load() && metric == Metric::OpsPerS && summary.seconds > 0.0 => {
            Some((summary.ops as f64 + summary.failed as f64) / summary.seconds)
        }
        _ => Some(metric.value(point.analysis)?.value),
    }
}

impl MetricRatio {
    /// The ratio of `pairs` of repeats; `None` if no pair has two values above 0.
    pub fn from_pairs(metric: Metric, pairs: &[RepeatPair]) -> Option<MetricRatio> {
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

#[cfg(test)]
mod tests {
    use crate::analyse;
    use crate::compare::{ComparedRun, compare_runs};
    use crate::simulated::{Simulation, run_of};
    use model::{Arrivals, Pacing};

    #[test]
    fn the_rate_of_a_recording_is_of_all_that_was_sent_however_much_a_damaged_file_says_that_is() {
        let recorded = Simulation::counts(&[100; 10])
            .with(|point| point.trial.load.pacing = Pacing::Open { arrivals: Arrivals::Recorded { per_s: 100.0 } });
        let data = run_of(vec![recorded.point()], Vec::new());
        let rate = |ops: u64, failed: u64| {
            let mut analysis = analyse(&data);
            analysis.points[0].validity = crate::Validity::Valid;
            let summary = analysis.points[0].summary.as_mut().expect("it was measured");
            (summary.ops, summary.failed, summary.seconds) = (ops, failed, 10.0);
            let run = ComparedRun { name: "run", data: &data, analysis: &analysis };
            let one = compare_runs(&[run, run]).remove(0);
            let (_, speed) = one.speeds().next().expect("both have a rate");
            speed.base
        };
        assert!((rate(990, 10) - 100.0).abs() < 1e-9, "what failed was sent, too");
        assert!((rate(u64::MAX, u64::MAX) / (0.2 * u64::MAX as f64) - 1.0).abs() < 1e-9);
    }
}
