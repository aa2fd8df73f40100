//! Finds runs whose rate drifts or varies widely.
//!
//! In: the rates of the whole intervals. Out: a warning for a drift, a note for wide variation.
//! Limits: needs 16 intervals to compare halves, 8 for a trend; a run that rises and falls again by as much has neither. A rate that
//! fell and is steady since is a `slowdown`.

use super::detector::Detector;
use super::slowdown;
use crate::evidence::PointView;
use crate::finding::rates::{HalfRates, RateTrend, RateVariation, Unsteadiness};
use crate::finding::units::Share;
use crate::finding::{Code, NextStep};
use crate::math::stats::{
    INTERVALS_MIN, IntervalEstimate, counting_variance_max, estimate_change, estimate_mean, mean, variance,
};
use crate::recorded::facts::has_rhythm;
use crate::recorded::window::OpTally;
use crate::{Finding, Severity};

/// The entry in the list of detectors.
pub const DETECTOR: Detector = Detector { code: Code::Unsteady, detect };

// Less is within what two runs on a shared machine differ by.
const DRIFT_MIN: f64 = 0.10;
// A run has many points, each looked at twice: at 95 % one of ten steady points would be called unsteady.
const LEVEL: f64 = 0.999;
const VARIATION_MIN: f64 = 0.20;
// The counting noise of a few operations per interval is itself known only roughly.
const COUNTING_LEVEL: f64 = 0.999;

fn detect(view: &PointView) -> Vec<Finding> {
    let Some(measured) = view.measured.filter(|_| has_rhythm(view.point)) else { return Vec::new() };
    // What a gap of plimsoll itself took from an interval is no change of the engine, and an outage is a finding of its own.
    let whole = measured.shape.served_intervals(measured.window);
    let rates: Vec<f64> = whole.iter().map(OpTally::ops_per_s).collect();
    // The rule of the rounds judges whether a run by rounds is steady, and a slowdown is a drift that ended: one answer is enough.
    let is_judged = view.rounds.is_some() || slowdown::is_found(view);
    let drifts = if is_judged { None } else { drift(&rates) };
    let drifts = drifts.map(|drift| {
        // Inserts that slow down as the data grows never settle.
        let slows = view.inserts_rows() && drift.is_falling();
        let next = if slows { NextStep::QuoteRateAtSize } else { NextStep::WarmUpLonger };
        Finding::new(Severity::Warning, drift).next(next)
    });
    let varies = variation(&whole).map(|found| Finding::new(Severity::Note, found).next(NextStep::QuoteSpread));
    drifts.into_iter().chain(varies).collect()
}

/// A step between the halves, or else a trend: a trend is noise to the means of the halves, a step is noise to the line.
fn drift(rates: &[f64]) -> Option<Unsteadiness> {
    step(rates).or_else(|| trend(rates))
}

fn step(rates: &[f64]) -> Option<Unsteadiness> {
    let (first, second) = rates.split_at(rates.len() / 2);
    let (first, second) = (estimate_mean(first, LEVEL)?, estimate_mean(second, LEVEL)?);
    let change =
        IntervalEstimate { mean: second.mean - first.mean, half_width: first.half_width.hypot(second.half_width) };
    is_drift(&change, rates).then_some(Unsteadiness::Halves(HalfRates {
        first_per_s: first.mean,
        first_half_width_per_s: first.half_width,
        second_per_s: second.mean,
        second_half_width_per_s: second.half_width,
    }))
}

fn trend(rates: &[f64]) -> Option<Unsteadiness> {
    let change = estimate_change(rates, LEVEL).filter(|change| is_drift(change, rates))?;
    // Where the line ends: a rate that drops to nothing and stays there puts an end of the line below 0.
    let middle = mean(rates);
    let [start_per_s, end_per_s] = [-0.5, 0.5].map(|half| (middle + half * change.mean).max(0.0));
    Some(Unsteadiness::Trend(RateTrend {
        start_per_s,
        end_per_s,
        change_per_s: change.mean,
        change_half_width_per_s: change.half_width,
    }))
}

fn is_drift(change: &IntervalEstimate, rates: &[f64]) -> bool {
    change.mean.abs() > change.half_width && change.mean.abs() > DRIFT_MIN * mean(rates)
}

fn variation(whole: &[OpTally]) -> Option<Unsteadiness> {
    let counts: Vec<f64> = whole.iter().map(|tally| tally.ok as f64).collect();
    let mean = mean(&counts);
    if counts.len() < INTERVALS_MIN || mean == 0.0 {
        return None;
    }
    let variance = variance(&counts);
    let beyond_counting = (variance - mean).max(0.0).sqrt() / mean;
    let by_chance = variance <= counting_variance_max(counts.len(), mean, COUNTING_LEVEL);
    if beyond_counting <= VARIATION_MIN || by_chance {
        return None;
    }
    let rates: Vec<f64> = whole.iter().map(OpTally::ops_per_s).collect();
    Some(Unsteadiness::Variation(RateVariation {
        variation_share: Share(beyond_counting),
        least_per_s: rates.iter().copied().fold(f64::MAX, f64::min),
        most_per_s: rates.iter().copied().fold(0.0, f64::max),
        intervals: whole.len(),
        interval_ns: whole[0].length,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulated::{Random, Simulation};
    use model::Nanos;

    #[test]
    fn a_drive_that_slows_down_when_garbage_collection_begins_is_not_steady() {
        let counts: Vec<u64> =
            (0..60).map(|second| if second < 30 { 3800 + second % 50 } else { 3000 + second % 70 }).collect();
        let simulation = Simulation::counts(&counts);
        assert_eq!(simulation.finding("unsteady").severity, Severity::Warning);
        let Unsteadiness::Halves(halves) = simulation.figures() else { panic!("the halves differ") };
        assert!((halves.second_per_s / halves.first_per_s - 0.8).abs() < 0.01, "{halves:?}");
    }

    #[test]
    fn a_rising_rate_is_not_steady() {
        let mut random = Random::new(3);
        let counts: Vec<u64> =
            (0..60).map(|second| (1000.0 + 8.0 * second as f64 + 20.0 * random.normal()) as u64).collect();
        let Unsteadiness::Trend(line) = Simulation::counts(&counts).figures() else { panic!("it is a trend") };
        assert!((1.4..1.5).contains(&(line.end_per_s / line.start_per_s)), "{line:?}");
    }

    #[test]
    fn no_rate_falls_by_more_than_all_of_it() {
        let falling: Vec<f64> = (0..40).map(|n| (1000.0 - 30.0 * n as f64).max(0.0)).collect();
        let line = |rates: &[f64]| match trend(rates) {
            Some(Unsteadiness::Trend(line)) => line,
            other => panic!("{other:?}"),
        };
        assert_eq!(line(&falling).end_per_s, 0.0);
        let rising: Vec<f64> = falling.into_iter().rev().collect();
        assert_eq!(line(&rising).start_per_s, 0.0);
    }

    #[test]
    fn jumps_between_200_and_400_vary_and_do_not_drift() {
        let mut random = Random::new(4);
        let counts: Vec<u64> = (0..100).map(|_| if random.uniform() < 0.5 { 200 } else { 400 }).collect();
        let simulation = Simulation::counts(&counts);
        assert_eq!(simulation.finding("unsteady").severity, Severity::Note);
        let Unsteadiness::Variation(found) = simulation.figures() else { panic!("it varies") };
        assert!((0.3..0.4).contains(&found.variation_share.0), "{found:?}");
    }

    #[test]
    fn few_operations_per_second_are_not_called_unsteady_for_their_counting_noise() {
        let wrong = (0..1000).filter(|seed| {
            let mut random = Random::new(*seed);
            let second = OpTally { length: Nanos::from_secs(1), ..OpTally::default() };
            let whole: Vec<OpTally> = (0..40).map(|_| OpTally { ok: random.poisson(6.0), ..second }).collect();
            variation(&whole).is_some()
        });
        let wrong = wrong.count();
        assert!(wrong <= 5, "{wrong} of 1000");
    }

    #[test]
    fn noise_around_a_constant_rate_is_called_a_drift_in_two_percent_of_runs_at_most() {
        for (coefficient, deviation) in [(0.0, 50.0), (0.0, 200.0), (0.4, 120.0), (0.7, 60.0)] {
            let wrong = (0..1000).filter(|seed| {
                let noise = Random::new(*seed).autoregressive(60, coefficient);
                drift(&noise.iter().map(|value| 1000.0 + deviation * value).collect::<Vec<f64>>()).is_some()
            });
            let wrong = wrong.count();
            assert!(wrong <= 20, "coefficient {coefficient}, deviation {deviation}: {wrong} of 1000");
        }
    }
}
