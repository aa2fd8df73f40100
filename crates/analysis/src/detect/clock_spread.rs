//! Finds hosts whose clocks are not known well enough: intervals of the same number are then not the same time.
//!
//! In: how well the clock of each host was compared with that of the bus, and its jumps. Out: a warning. Limits: a clock that was not
//! compared is not judged.

use super::detector::Detector;
use crate::evidence::PointView;
use crate::finding::hosts::{ClockSpread, HostStep, HostTime};
use crate::finding::{Code, NextStep};
use crate::{Finding, Severity};
use model::{EventKind, HostData};

/// The entry in the list of detectors.
pub const DETECTOR: Detector = Detector { code: Code::ClockSpread, detect };

/// Of an interval: operations of so much of it may be in the interval before or after.
pub const INTERVAL_SHARE_MAX: f64 = 0.05;

fn detect(view: &PointView) -> Vec<Finding> {
    let interval_ns = view.point.trial.phases.interval;
    let most_ns = INTERVAL_SHARE_MAX * interval_ns.0 as f64;
    let all = &view.point.hosts;
    let bound = |host: &HostData| {
        let time_ns = i64::try_from(host.host.clock?.bound_ns).unwrap_or(i64::MAX);
        (time_ns as f64 > most_ns).then(|| HostTime { host: host.host.name.clone(), time_ns })
    };
    let mut hosts: Vec<HostTime> = all.iter().filter_map(bound).collect();
    let steps: Vec<HostStep> = all.iter().flat_map(|host| steps_of(view, host)).collect();
    if hosts.is_empty() && steps.is_empty() {
        return Vec::new();
    }
    hosts.sort_by_key(|host| std::cmp::Reverse(host.time_ns));
    vec![Finding::new(Severity::Warning, ClockSpread { interval_ns, hosts, steps }).next(NextStep::SteadyClocks)]
}

/// The jumps of the clock of `host` in the run phase.
fn steps_of(view: &PointView, host: &HostData) -> impl Iterator<Item = HostStep> {
    let phase = view.measured.map(|measured| measured.window.phase.start..=measured.window.phase.end);
    let steps = host.events.iter().filter(|event| event.kind == EventKind::ClockStep);
    let inside = steps.filter(move |event| phase.as_ref().is_some_and(|phase| phase.contains(&event.at)));
    inside.map(|event| HostStep { host: host.host.name.clone(), quoted: event.text.clone() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulated::hosts::three_clients;
    use crate::simulated::{SECOND, Simulation};
    use model::{Event, HostClock, Tick};

    fn bounds(bounds_ns: [u64; 3]) -> Simulation {
        three_clients([1.0; 3]).with(|point| {
            for (host, bound_ns) in point.hosts.iter_mut().zip(bounds_ns) {
                host.host.clock = Some(HostClock { offset_ns: -1_000, bound_ns });
            }
        })
    }

    #[test]
    fn a_clock_that_may_be_off_by_more_than_a_twentieth_of_an_interval_is_named() {
        let found: ClockSpread = bounds([20_000, 60_000_000, 80_000_000]).figures();
        let named: Vec<&str> = found.hosts.iter().map(|host| host.host.as_str()).collect();
        assert_eq!((named, found.hosts[0].time_ns), (vec!["c3", "c2"], 80_000_000));
        assert!(bounds([49_000_000; 3]).findings("clock-spread").is_empty());
        assert!(three_clients([1.0; 3]).findings("clock-spread").is_empty(), "it was not compared");
    }

    #[test]
    fn a_jump_of_a_clock_during_the_run_is_quoted() {
        let jumped = |at_s: u64| {
            bounds([20_000; 3]).with(|point| {
                point.hosts[2].events.push(Event::new(Tick(at_s * SECOND), EventKind::ClockStep, "by 3.0 ms"));
            })
        };
        let found: ClockSpread = jumped(5).figures();
        assert_eq!(
            (found.hosts.len(), found.steps[0].host.as_str(), found.steps[0].quoted.as_str()),
            (0, "c3", "by 3.0 ms")
        );
        assert!(jumped(12).findings("clock-spread").is_empty());
    }
}
