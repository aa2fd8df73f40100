//! Finds jumps of the clock during the measurement.
//!
//! In: the events of the sampler. Out: an error. Limits: gaps before and after the run phase harm nothing and are left out; one
//! that was noticed soon after the end began before it.

use super::detector::{Detector, PointView};
use crate::text::plural;
use crate::{Finding, Severity};
use model::{Event, EventKind, Nanos};

/// The entry in the list of detectors.
pub const DETECTOR: Detector = Detector {
    code: "clock-gap",
    help: "the process did not run for a while: suspended, frozen, or the clock jumped",
    explain: "Between two ticks of the sampler far more time passed than it asked for: the machine was suspended or migrated, \
              plimsoll was stopped (Ctrl-Z, SIGSTOP, a frozen cgroup), or the clock is broken. The target may have run on or \
              stood still meanwhile, so neither rate nor response times of the run phase mean anything.",
    detect,
};

fn detect(view: &PointView) -> Vec<Finding> {
    let Some(phase) = view.measured.map(|measured| measured.window.phase) else { return Vec::new() };
    let noticed_until = phase.end + gap_min(view.point.trial.phases.interval);
    let in_run = |event: &&Event| event.at >= phase.start && event.at <= noticed_until;
    let gaps: Vec<&Event> = view.events(EventKind::ClockGap).filter(in_run).collect();
    let Some(first) = gaps.first() else { return Vec::new() };
    let title =
        format!("the clock jumped {} during the run, first {}", plural(gaps.len(), "time"), view.time_of(first));
    let evidence = gaps.iter().map(|event| event.text.as_str()).collect::<Vec<_>>().join("; ");
    vec![DETECTOR.finding(
        Severity::Error,
        title,
        evidence,
        "measure again without suspending the machine or the process",
    )]
}

/// The shortest gap that the sampler reports. It reports at the gap's end.
fn gap_min(interval: Nanos) -> Nanos {
    Nanos::from_secs(1).max(Nanos(interval.0.saturating_mul(5)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::Simulation;
    use model::Tick;

    #[test]
    fn a_jump_during_the_run_spoils_it() {
        let jumped = Simulation::counts(&[1000; 10]).event(EventKind::ClockGap, "3.2 s between two ticks");
        let finding = jumped.finding("clock-gap");
        assert_eq!(finding.severity, Severity::Error);
        assert_eq!(finding.title, "the clock jumped 1 time during the run, first at 0.5 s");
    }

    #[test]
    fn a_jump_after_the_run_does_not_unless_it_began_before_the_end() {
        let jumped = Simulation::counts(&[1000; 10]).event(EventKind::ClockGap, "5.5 s between two ticks");
        let noticed = |at| jumped.clone().with(|point| point.events[0].at = Tick(at));
        assert!(noticed(16_000_000_000).findings("clock-gap").is_empty());
        assert_eq!(noticed(14_000_000_000).findings("clock-gap").len(), 1);
    }
}
