//! Finds runs that are too short to say how sure their throughput is.
//!
//! In: the number of whole intervals and the length of the run. Out: a warning. Limits: says nothing of rare events, which a
//! run of any length may have missed.

use super::detector::{Detector, PointView};
use crate::stats::INTERVALS_MIN;
use crate::text::plural;
use crate::{Finding, Severity};

/// The entry in the list of detectors.
pub const DETECTOR: Detector = Detector {
    code: "too-short",
    help: "too few intervals or seconds to say how sure the throughput is",
    explain: "A confidence interval of the throughput comes from the spread between intervals; with fewer than 8 whole ones \
              there is none to be had. Below 2 s whatever happens once a second (a flush, a commit of the journal, a timer) \
              has been caught once or not at all. The point is then only indicative: run longer, or record shorter intervals.",
    detect,
};

// The kernel writes back and the engines flush about once a second: two such turns are the least to speak of a rate.
const SECONDS_MIN: f64 = 2.0;

fn detect(view: &PointView) -> Vec<Finding> {
    let Some(measured) = view.measured else { return Vec::new() };
    let (intervals, seconds) = (measured.window.whole.len(), measured.summary.seconds);
    if intervals >= INTERVALS_MIN && seconds >= SECONDS_MIN {
        return Vec::new();
    }
    let title = match intervals < INTERVALS_MIN {
        true => "too short for a confidence interval of the throughput".to_string(),
        false => format!("too short: {seconds:.2} s"),
    };
    let evidence = format!(
        "{} of {} in {seconds:.2} s; {INTERVALS_MIN} and {SECONDS_MIN} s are the least",
        plural(intervals, "whole interval"),
        view.point.trial.phases.interval
    );
    vec![DETECTOR.finding(Severity::Warning, title, evidence, "run longer (`--time`), or shorten `--interval`")]
}

#[cfg(test)]
mod tests {
    use crate::simulate::Simulation;
    use model::{Nanos, Tick};

    #[test]
    fn seven_intervals_are_too_few_and_eight_are_enough() {
        let finding = Simulation::counts(&[5000; 7]).finding("too-short");
        assert!(finding.evidence.starts_with("7 whole intervals of 1.00 s in 7.00 s"), "{}", finding.evidence);
        assert!(Simulation::counts(&[5000; 8]).findings("too-short").is_empty());
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
        assert_eq!(short.finding("too-short").title, "too short: 1.60 s");
    }
}
