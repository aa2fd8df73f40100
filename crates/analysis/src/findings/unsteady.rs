//! Finds runs whose rate drifts or varies widely.
//!
//! In: the rates of the whole intervals. Out: a warning for a drift, a note for wide variation.
//! Limits: needs a second, and 16 intervals to compare halves, 8 for a trend; a run that rises and falls again by as much has neither. A rate that
//! fell and is steady since is a `slowdown`.

use super::{CourseDisturbance, Detects, Finding, FindingKind, ShownBy, slowdown};
use crate::evidence::PointView;
use crate::judgement::{NextStep, Severity};
use crate::math::stats::{
    INTERVALS_MIN, IntervalEstimate, counting_variance_max, estimate_change, estimate_mean, mean, variance,
};
use crate::math::units::Share;
use crate::recorded::facts::has_rhythm;
use crate::recorded::window::OpTally;
use model::Nanos;
use serde::Serialize;
use words::quantity::{percent, plural, range, rate};

/// A rate that is not the same over the run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(tag = "how", rename_all = "kebab-case")]
pub enum Unsteadiness {
    Halves(HalfRates),
    /// It rises or falls over all of the run.
    Trend(RateTrend),
    /// It varies widely from interval to interval.
    Variation(RateVariation),
}

/// The rates of the halves of a run, with 99.9 % intervals.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct HalfRates {
    pub first_per_s: f64,
    /// Half the width of its interval.
    pub first_half_width_per_s: f64,
    pub second_per_s: f64,
    /// Half the width of its interval.
    pub second_half_width_per_s: f64,
}

/// A straight line through the rates.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct RateTrend {
    /// Where the line begins.
    pub start_per_s: f64,
    pub end_per_s: f64,
    /// How much it rises; below 0 if it falls.
    pub change_per_s: f64,
    /// Half the width of its 99.9 % interval.
    pub change_half_width_per_s: f64,
}

/// How widely the rates of the intervals vary.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct RateVariation {
    /// Their coefficient of variation beyond what counting alone gives.
    pub variation_share: Share,
    pub least_per_s: f64,
    pub most_per_s: f64,
    /// How many intervals there are.
    pub intervals: usize,
    /// The length of one.
    pub interval_ns: Nanos,
}

impl Unsteadiness {
    /// Whether the mean depends on when the run was stopped.
    pub fn is_drift(&self) -> bool {
        !matches!(self, Unsteadiness::Variation(_))
    }

    /// Whether the rate fell over the run.
    pub fn is_falling(&self) -> bool {
        match self {
            Unsteadiness::Halves(halves) => halves.second_per_s < halves.first_per_s,
            Unsteadiness::Trend(line) => line.change_per_s < 0.0,
            Unsteadiness::Variation(_) => false,
        }
    }
}

// Less is within what two runs on a shared machine differ by.
const DRIFT_MIN: f64 = 0.10;

// A change within the first second is that of a beginning, however many intervals are in it.
const DRIFT_TIME_MIN: Nanos = Nanos::from_secs(1);

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
    let is_judged = view.rounds.is_some() || slowdown::is_found(view) || is_short(&whole);
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

fn is_short(whole: &[OpTally]) -> bool {
    whole.iter().map(|interval| interval.length.0).sum::<u64>() < DRIFT_TIME_MIN.0
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

impl FindingKind for Unsteadiness {
    const SEVERITIES: &'static [Severity] = &[Severity::Note, Severity::Warning];
    const DETECTS: Detects = Detects::Point(detect);
    const DISTURBANCE: Option<CourseDisturbance> = Some(CourseDisturbance::Unsettled);
    const SHOWN_BY: ShownBy = ShownBy::Rates;
    const REASON: &'static str = "drifted";

    fn is_like(&self, other: &Self) -> bool {
        let form = |one: &Self| (std::mem::discriminant(one), one.change_share() < 0.0);
        form(self) == form(other)
    }

    fn title(alike: &[&Self]) -> String {
        let change = || changed_by(alike);
        match alike[0] {
            Unsteadiness::Halves(_) if alike[0].change_share() < 0.0 => {
                format!("drift: the second half is {} slower than the first", change())
            }
            Unsteadiness::Halves(_) => format!("drift: the second half is {} faster than the first", change()),
            Unsteadiness::Trend(_) if alike[0].change_share() < 0.0 => {
                format!("drift: the rate falls by {} over the run phase", change())
            }
            Unsteadiness::Trend(_) => format!("drift: the rate rises by {} over the run phase", change()),
            Unsteadiness::Variation(_) => {
                let variation = range(alike, |one| one.variation(), percent);
                format!("the rate varies by {variation} from interval to interval")
            }
        }
    }

    fn evidence(&self) -> String {
        match self {
            Unsteadiness::Halves(halves) => halves_evidence(halves),
            Unsteadiness::Trend(line) => trend_evidence(line),
            Unsteadiness::Variation(found) => variation_evidence(found),
        }
    }
}

fn halves_evidence(halves: &HalfRates) -> String {
    format!(
        "first half {} ±{}, second half {} ±{} (99.9 % intervals)",
        rate(halves.first_per_s),
        rate(halves.first_half_width_per_s),
        rate(halves.second_per_s),
        rate(halves.second_half_width_per_s)
    )
}

fn trend_evidence(line: &RateTrend) -> String {
    format!(
        "a straight line from {} to {}, a change of {} ±{} (99.9 % interval)",
        rate(line.start_per_s),
        rate(line.end_per_s),
        rate(line.change_per_s),
        rate(line.change_half_width_per_s)
    )
}

fn variation_evidence(found: &RateVariation) -> String {
    format!(
        "{} of {}, from {} to {}",
        plural(found.intervals as u64, "interval"),
        found.interval_ns,
        rate(found.least_per_s),
        rate(found.most_per_s)
    )
}

impl Unsteadiness {
    /// By which share of the beginning the rate changed; below 0 if it fell.
    pub fn change_share(&self) -> f64 {
        match self {
            Unsteadiness::Halves(halves) => halves.second_per_s / halves.first_per_s - 1.0,
            Unsteadiness::Trend(line) => line.end_per_s / line.start_per_s - 1.0,
            Unsteadiness::Variation(_) => 0.0,
        }
    }

    fn variation(&self) -> f64 {
        if let Unsteadiness::Variation(found) = self { found.variation_share.0 } else { 0.0 }
    }
}

/// A percentage of a rate near 0 has no meaning.
const MANIFOLD: f64 = 10.0;

fn changed_by(alike: &[&Unsteadiness]) -> String {
    if alike.iter().all(|one| one.change_share().abs() <= MANIFOLD) {
        range(alike, |one| one.change_share().abs(), percent)
    } else {
        "more than tenfold".to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulated::{Random, Simulation};

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
    fn a_part_of_a_second_is_too_short_for_a_drift() {
        let intervals = |milliseconds: u64| {
            vec![OpTally { ok: 10, length: Nanos::from_millis(milliseconds), ..OpTally::default() }; 40]
        };
        assert_eq!([10, 100].map(|milliseconds| is_short(&intervals(milliseconds))), [true, false]);
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
