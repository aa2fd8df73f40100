//! Finds a rate that is steady, but lower than it was at the beginning.
//!
//! In: the rates of the whole intervals, without those of stalls and outages. Out: a warning if the mean over the run phase is above the
//! rate that the engine keeps, else a note. The class is that of E. Barrett et al., "Virtual machine warmup blows hot and cold", OOPSLA
//! 2017: the last segment is steady, and an earlier one was faster.
//! Limits: needs 40 intervals. The first tenth of them is compared with the second half, which must be level. A rate that fell at once is
//! a `level-shift`; one that still falls is a drift (`unsteady`); a run until steady is judged by its rounds. Points are not compared with
//! each other: that is for `insert-slowdown`.

use super::{CourseDisturbance, Detects, Finding, FindingKind, ShownBy};
use crate::computed_phase::Measured;
use crate::evidence::PointView;
use crate::judgement::{NextStep, Severity};
use crate::math::stats::{IntervalEstimate, estimate_change, estimate_mean, mean, median};
use crate::math::units::Share;
use crate::recorded::window::OpTally;
use model::Nanos;
use serde::Serialize;
use words::quantity::{percent, range, rate, seconds};

/// A rate that fell and is steady since.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Slowdown {
    /// The mean rate at the beginning.
    pub begin_per_s: f64,
    /// How long that beginning is.
    pub begin_ns: Nanos,
    /// The mean rate of the second half of the run phase.
    pub steady_per_s: f64,
    /// Half the width of its 99.9 % interval.
    pub steady_half_width_per_s: f64,
    /// When the rate came near that mean, since the run phase began.
    pub steady_from_ns: Nanos,
    /// By which share the steady rate is below that of the beginning.
    pub fall_share: Share,
    /// By which share the mean over the run phase is above the steady rate.
    pub mean_above_share: Share,
    /// The length of an interval, which is how exactly the times are known.
    pub interval_ns: Nanos,
}

impl Slowdown {
    /// Whether the mean over the run phase is not the rate that the engine keeps.
    pub fn spoils_mean(&self) -> bool {
        self.mean_above_share.0 > MEAN_ABOVE_MAX
    }
}

// The halves of a run whose mean is so far above the rate of its second half differ by 10 %, which is called a drift.
const MEAN_ABOVE_MAX: f64 = 0.05;

// The beginning has four intervals then, of which a mean is known.
const INTERVALS_MIN: usize = 40;

/// The beginning is one of so many parts of the run.
const BEGINNING_PART: usize = 10;

// Two runs on a shared machine differ by less.
const FALL_MIN: f64 = 0.10;

// Each point of a run is looked at: at 95 % one of twenty steady ones would be called slower.
const LEVEL: f64 = 0.999;

// A steady rate changes by less over half of the run.
const LEVEL_CHANGE_MAX: f64 = 0.05;

// It also changes by far less than it fell before: else it still falls.
const REST_OF_FALL_MAX: f64 = 0.5;

// So little of the fall is left when the rate counts as steady.
const LEFT_AT_STEADY: f64 = 0.1;

fn detect(view: &PointView) -> Vec<Finding> {
    let Some(found) = find(view) else { return Vec::new() };
    let severity = if found.spoils_mean() { Severity::Warning } else { Severity::Note };
    let next = if view.inserts_rows() { NextStep::QuoteRateAtSize } else { NextStep::WarmUpLonger };
    vec![Finding::new(severity, found).next(next)]
}

/// Whether the point has the finding: a fall that it explains is no drift.
pub fn is_found(view: &PointView) -> bool {
    find(view).is_some()
}

fn find(view: &PointView) -> Option<Slowdown> {
    let is_judged = view.rounds.is_none() && !view.has_variant() && !view.is_timed_as_whole();
    let measured = view.measured.filter(|measured| is_judged && has_one_level(measured))?;
    let busy = measured.shape.busy_intervals(measured.window);
    let rates: Vec<f64> = busy.iter().map(OpTally::ops_per_s).collect();
    let fall = Fall::find(&rates)?;
    let at = |index: usize| Nanos(busy[index].start.since(measured.window.origin).0);
    Some(Slowdown {
        begin_per_s: fall.begin_per_s,
        begin_ns: at(fall.begin_intervals),
        steady_per_s: fall.steady.mean,
        steady_half_width_per_s: fall.steady.half_width,
        steady_from_ns: at(fall.steady_from),
        fall_share: Share(1.0 - fall.steady.mean / fall.begin_per_s),
        mean_above_share: Share(mean(&rates) / fall.steady.mean - 1.0),
        interval_ns: busy[0].length,
    })
}

/// Whether nothing else explains that the rate changed: a shift, jumps between two levels, bursts or a wave.
fn has_one_level(measured: &Measured) -> bool {
    let shape = measured.shape;
    let is_restless = shape.two_levels.is_some() || shape.bursts.is_some() || shape.wave.is_some();
    shape.levels.len() == 1 && !is_restless
}

/// A rate that fell and is level since.
struct Fall {
    begin_per_s: f64,
    begin_intervals: usize,
    steady: IntervalEstimate,
    /// The first interval of the steady part.
    steady_from: usize,
}

impl Fall {
    fn find(rates: &[f64]) -> Option<Fall> {
        if rates.len() < INTERVALS_MIN {
            return None;
        }
        let begin = &rates[..rates.len() / BEGINNING_PART];
        let second_half = &rates[rates.len() / 2..];
        let steady = estimate_mean(second_half, LEVEL)?;
        let fall_per_s = mean(begin) - steady.mean;
        // A single fast interval is no beginning.
        let usual_fall_per_s = fall_per_s.min(median(begin)? - steady.mean);
        let chance_per_s = chance_of_difference(begin, second_half, &steady);
        let is_fall = usual_fall_per_s > FALL_MIN * mean(begin) && usual_fall_per_s > chance_per_s;
        if !is_fall || !is_level(second_half, fall_per_s) {
            return None;
        }
        let steady_from = steady_from(rates, begin.len(), steady.mean + LEFT_AT_STEADY * fall_per_s);
        Some(Fall { begin_per_s: mean(begin), begin_intervals: begin.len(), steady, steady_from })
    }
}

/// How far the mean of the beginning may be from that of the second half by chance. A few intervals that fall do not show their own
/// noise: it is that of the second half, and more if neighbours differ by more.
fn chance_of_difference(begin: &[f64], second_half: &[f64], steady: &IntervalEstimate) -> f64 {
    let per_interval = steady.half_width * (second_half.len() as f64).sqrt();
    let louder = (jitter(begin) / jitter(second_half).max(f64::MIN_POSITIVE)).max(1.0);
    steady.half_width.hypot(louder * per_interval / (begin.len() as f64).sqrt())
}

/// How much neighbours differ: what falls slowly hardly changes it.
fn jitter(rates: &[f64]) -> f64 {
    let squares: Vec<f64> = rates.windows(2).map(|pair| (pair[1] - pair[0]).powi(2)).collect();
    mean(&squares).sqrt()
}

/// Whether `rates` keep to one level: they change by little, and by far less than by `fall_per_s`, noise included.
fn is_level(rates: &[f64], fall_per_s: f64) -> bool {
    estimate_change(rates, 0.95).is_some_and(|change| {
        let most = change.mean.abs() + change.half_width;
        change.mean.abs() < LEVEL_CHANGE_MAX * mean(rates) && most < REST_OF_FALL_MAX * fall_per_s
    })
}

/// The first interval from which so many have a mean of at most `near_per_s`; at the latest the middle.
fn steady_from(rates: &[f64], length: usize, near_per_s: f64) -> usize {
    let middle = rates.len() / 2;
    (0..middle).find(|from| mean(&rates[*from..from + length]) <= near_per_s).unwrap_or(middle)
}

impl FindingKind for Slowdown {
    const SEVERITIES: &'static [Severity] = &[Severity::Note, Severity::Warning];
    const DETECTS: Detects = Detects::Point(detect);
    const DISTURBANCE: Option<CourseDisturbance> = Some(CourseDisturbance::SlowedDown);
    const SHOWN_BY: ShownBy = ShownBy::Rates;
    const REASON: &'static str = "slowed down";

    fn is_like(&self, other: &Self) -> bool {
        self.interval_ns == other.interval_ns
    }

    fn title(alike: &[&Self]) -> String {
        let interval = alike[0].interval_ns;
        let from = range(alike, |one| one.steady_from_ns.0 as f64, |ns| seconds(Nanos(ns as u64), interval));
        let steady = range(alike, |one| one.steady_per_s, rate);
        let begin = range(alike, |one| one.begin_per_s, rate);
        let fall = range(alike, |one| one.fall_share.0, percent);
        format!("steady from {from} on at {steady}, {fall} slower than at the beginning ({begin})")
    }

    fn evidence(&self) -> String {
        format!(
            "the first {} {}, the second half {} ±{} (99.9 % interval); the mean over the run phase is {} above that",
            seconds(self.begin_ns, self.interval_ns),
            rate(self.begin_per_s),
            rate(self.steady_per_s),
            rate(self.steady_half_width_per_s),
            percent(self.mean_above_share.0.max(0.0))
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulated::{NOISES, Random, Simulation, figures_of, noisy};

    /// 1000/s that fall to 800/s in so many seconds, of which a third is the time constant, with noise of 2 %.
    fn falling(seed: u64, within_s: f64) -> Simulation {
        noisy(seed, 120, 20.0, |at| 800.0 + 200.0 * (-3.0 * at as f64 / within_s).exp())
    }

    #[test]
    fn a_rate_that_falls_slowly_and_is_steady_then_is_found_in_95_of_100_seeds() {
        let mut found = 0;
        for seed in 0..100 {
            let simulation = falling(seed, 50.0);
            let Some(one) = figures_of::<Slowdown>(&simulation.findings("slowdown")).pop() else { continue };
            found += 1;
            assert!((780.0..820.0).contains(&one.steady_per_s), "seed {seed}: {one:?}");
            assert!((0.10..0.20).contains(&one.fall_share.0), "seed {seed}: {one:?}");
            let from_s = one.steady_from_ns.as_secs_f64();
            assert!((15.0..=60.0).contains(&from_s), "seed {seed}: {one:?}");
        }
        assert!(found >= 95, "{found} of 100");
    }

    #[test]
    fn it_weakens_the_point_only_if_the_mean_is_not_the_rate_that_the_engine_keeps() {
        let short = noisy(1, 200, 5.0, |at| 800.0 + 400.0 * (-(at as f64) / 12.0).exp());
        let found: Slowdown = short.figures();
        assert!(found.mean_above_share.0 < 0.05, "{found:?}");
        assert_eq!(short.finding("slowdown").severity, Severity::Note);
        let long = noisy(1, 200, 5.0, |at| 800.0 + 400.0 * (-(at as f64) / 30.0).exp());
        assert_eq!(long.finding("slowdown").severity, Severity::Warning);
    }

    #[test]
    fn the_same_fall_is_not_reported_as_a_drift_too() {
        let simulation = noisy(1, 200, 5.0, |at| 800.0 + 400.0 * (-(at as f64) / 30.0).exp());
        assert!(simulation.findings("unsteady").is_empty());
        assert_eq!(simulation.findings("slowdown").len(), 1);
    }

    #[test]
    fn what_another_finding_explains_is_no_slowdown() {
        let shifted = noisy(1, 120, 10.0, |at| if at < 20 { 1_000.0 } else { 800.0 });
        assert_eq!((shifted.findings("level-shift").len(), shifted.findings("slowdown").len()), (1, 0));
        let still_falling = noisy(1, 120, 10.0, |at| 1_000.0 - 3.0 * at as f64);
        assert_eq!((still_falling.findings("unsteady").len(), still_falling.findings("slowdown").len()), (1, 0));
        let stalled = noisy(1, 120, 10.0, |at| if (70..90).contains(&at) { 0.0 } else { 1_000.0 });
        assert_eq!((stalled.findings("stall").len(), stalled.findings("slowdown").len()), (1, 0));
        let until_steady = falling(1, 50.0).until_steady(12);
        assert!(until_steady.findings("slowdown").is_empty());
    }

    #[test]
    fn a_warmup_and_one_fast_interval_are_no_slowdown() {
        let rising = noisy(1, 120, 10.0, |at| 800.0 - 200.0 * (-(at as f64) / 16.0).exp());
        assert!(rising.findings("slowdown").is_empty());
        let one = noisy(1, 120, 10.0, |at| if at == 2 { 9_000.0 } else { 800.0 });
        assert!(one.findings("slowdown").is_empty());
    }

    #[test]
    fn it_is_found_in_noise_in_one_percent_of_runs_at_most() {
        for (name, noise) in NOISES {
            let found = (0..200).filter(|seed| {
                let rates: Vec<f64> =
                    noise(&mut Random::new(*seed), 60).iter().map(|value| (1_000.0 + 50.0 * value).max(0.0)).collect();
                Fall::find(&rates).is_some()
            });
            let found = found.count();
            assert!(found <= 2, "{name}: {found} of 200");
        }
    }

    fn slowdown(steady_per_s: f64, fall: f64) -> Slowdown {
        Slowdown {
            begin_per_s: 1_000.0,
            begin_ns: Nanos::from_secs(12),
            steady_per_s,
            steady_half_width_per_s: 4.1,
            steady_from_ns: Nanos::from_secs(35),
            fall_share: Share(fall),
            mean_above_share: Share(0.032),
            interval_ns: Nanos::from_secs(1),
        }
    }

    #[test]
    fn a_slowdown_has_the_rate_that_is_kept_and_since_when() {
        let (one, other) = (slowdown(803.0, 0.197), slowdown(900.0, 0.1));
        let expected = "steady from 35.0 s on at 803/s, 20 % slower than at the beginning (1.00k/s)";
        assert_eq!(Slowdown::title(&[&one]), expected);
        let both = "steady from 35.0 s on at 803 to 900/s, 10 to 20 % slower than at the beginning (1.00k/s)";
        assert_eq!(Slowdown::title(&[&one, &other]), both);
        let evidence = "the first 12.0 s 1.00k/s, the second half 803/s ±4.10/s (99.9 % interval); the mean over the run phase is \
                        3.2 % above that";
        assert_eq!(one.evidence(), evidence);
    }
}
