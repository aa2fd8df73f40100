//! Finds runs that are too short to state how sure their throughput is.
//!
//! In: the number of whole intervals and the length of the run. Out: a warning. Limits: does not cover rare events, which a
//! run of any length may have missed.

use super::{Detects, Finding, FindingKind, ShownBy};
use crate::evidence::PointView;
use crate::judgement::{NextStep, Severity};
use crate::math::stats::INTERVALS_MIN;
use crate::math::units::nanos;
use model::Nanos;
use serde::Serialize;
use words::quantity::{counted, plural, range, time};

/// A run of few intervals or little time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ShortRun {
    /// How many complete intervals it has.
    pub intervals: usize,
    /// The least number of them that gives a confidence interval.
    pub intervals_min: usize,
    /// The length of one.
    pub interval_ns: Nanos,
    /// The length of the run.
    pub length_ns: Nanos,
    pub length_min_ns: Nanos,
}

impl ShortRun {
    /// Whether there is no confidence interval.
    pub fn lacks_intervals(&self) -> bool {
        self.intervals < self.intervals_min
    }
}

// The kernel writes back and the engines flush about once a second: two such turns are the least to speak of a rate.
const LENGTH_MIN: Nanos = Nanos::from_secs(2);

fn detect(view: &PointView) -> Vec<Finding> {
    let Some(measured) = view.measured.filter(|_| !view.is_timed_as_whole()) else { return Vec::new() };
    let detail = ShortRun {
        intervals: measured.window.whole.len(),
        intervals_min: INTERVALS_MIN,
        interval_ns: view.point.trial.phases.interval,
        length_ns: nanos(measured.summary.seconds),
        length_min_ns: LENGTH_MIN,
    };
    let next = match (detail.lacks_intervals(), detail.length_ns < LENGTH_MIN) {
        (false, false) => return Vec::new(),
        // Shorter intervals alone do not make a short run longer.
        (_, true) => view.lengthen(),
        (true, false) => match view.lengthen() {
            NextStep::RunLonger => NextStep::RunLongerOrShortenInterval,
            other => other,
        },
    };
    vec![Finding::new(Severity::Warning, detail).next(next)]
}

impl FindingKind for ShortRun {
    const SEVERITIES: &'static [Severity] = &[Severity::Warning];
    const DETECTS: Detects = Detects::Point(detect);
    const SHOWN_BY: ShownBy = ShownBy::Rates;
    const REASON: &'static str = "ran too short";

    fn is_like(&self, other: &Self) -> bool {
        self.lacks_intervals() == other.lacks_intervals()
    }

    fn title(alike: &[&Self]) -> String {
        if alike[0].lacks_intervals() {
            let intervals = counted(alike, |one| one.intervals as u64, "interval");
            format!("too short for a confidence interval: {intervals}, {} needed", alike[0].intervals_min)
        } else {
            format!("too short: {}", range(alike, |one| one.length_ns.0 as f64, time))
        }
    }

    fn evidence(&self) -> String {
        let (length, interval) = (self.length_ns, self.interval_ns);
        let found = match self.intervals {
            0 => format!("the run phase of {length} is shorter than one interval ({interval})"),
            n => format!("{} of {interval} in {length}", plural(n as u64, "whole interval")),
        };
        let length_min_s = self.length_min_ns.as_secs_f64();
        format!("{found}; at least {} intervals and {length_min_s} s are needed", self.intervals_min)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulated::{Simulation, drain};
    use model::Tick;

    #[test]
    fn seven_intervals_are_too_few_and_eight_are_enough() {
        let found: ShortRun = Simulation::counts(&[5000; 7]).figures();
        assert_eq!((found.intervals, found.intervals_min), (7, 8));
        assert_eq!((found.interval_ns, found.length_ns), (Nanos::from_secs(1), Nanos::from_secs(7)));
        assert!(Simulation::counts(&[5000; 8]).findings("too-short").is_empty());
    }

    #[test]
    fn a_step_that_is_timed_as_a_whole_is_as_short_as_it_is() {
        assert!(drain(&[0, 1]).findings("too-short").is_empty());
    }

    #[test]
    fn many_short_intervals_do_not_make_a_long_run() {
        let short = Simulation::counts(&[5000; 16]).with(|point| {
            point.trial.phases.interval = Nanos::from_millis(100);
            point.phases[0].end = Tick(1_600_000_000);
            for interval in &mut point.phases[0].intervals {
                interval.start = Tick(u64::from(interval.index) * 100_000_000);
                interval.length = Nanos::from_millis(100);
            }
        });
        let found: ShortRun = short.figures();
        assert!(!found.lacks_intervals() && found.length_ns == Nanos::from_millis(1_600), "{found:?}");
        assert_eq!(short.finding("too-short").next, NextStep::RunLonger);
    }
}
