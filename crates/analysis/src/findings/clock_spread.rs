//! Finds hosts whose clocks are not known well enough: intervals of the same number are then not the same time.
//!
//! In: how well the clock of each host was compared with that of the bus, and its jumps. Out: a warning. Limits: a clock that was not
//! compared is not judged.

use super::phrases::HOSTS_MAX;
use super::{Detects, Finding, FindingKind};
use crate::evidence::PointView;
use crate::judgement::{NextStep, Severity};
use model::{EventKind, HostData, Nanos};
use serde::Serialize;
use words::list::{join_and, listed};
use words::quantity::{plural, range, time};

/// Hosts whose clocks are not known well enough for the intervals of the point.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ClockSpread {
    /// The length of an interval.
    pub interval_ns: Nanos,
    /// The hosts, the worst first.
    pub hosts: Vec<HostTime>,
    /// Jumps of the clocks of hosts, as they were recorded.
    pub steps: Vec<HostStep>,
}

/// A time that concerns one host: how well its clock is known, or how much later than planned it began.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HostTime {
    pub host: String,
    /// The time; negative if it began early.
    pub time_ns: i64,
}

/// A jump of the clock of one host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HostStep {
    pub host: String,
    /// What was recorded of it, as text.
    pub quoted: String,
}

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

impl FindingKind for ClockSpread {
    const SEVERITIES: &'static [Severity] = &[Severity::Warning];
    const DETECTS: Detects = Detects::Point(detect);
    const REASON: &'static str = "had hosts whose clocks are not known well enough";

    fn is_like(&self, other: &Self) -> bool {
        self.hosts.is_empty() == other.hosts.is_empty()
    }

    fn title(alike: &[&Self]) -> String {
        let worst = |one: &Self| one.hosts.first().map_or(0.0, |host| host.time_ns as f64);
        let interval = alike[0].interval_ns;
        match alike {
            [only] if only.hosts.is_empty() => {
                let names: Vec<String> = only.steps.iter().map(|step| step.host.clone()).collect();
                format!("the clock of {} jumped during the run phase", join_and(&names))
            }
            [only] => format!(
                "the clock of host {} may be off by {}, of intervals of {interval}",
                only.hosts[0].host,
                time(worst(only))
            ),
            several if alike[0].hosts.is_empty() => {
                format!("the clocks of hosts jumped during the run phase ({})", plural(several.len() as u64, "point"))
            }
            several => format!("clocks of hosts may be off by {}", range(several, |one| worst(one), time)),
        }
    }

    fn evidence(&self) -> String {
        let known = |one: &HostTime| format!("{}: ±{}", one.host, time(one.time_ns as f64));
        let bounds = listed(&self.hosts, HOSTS_MAX, known);
        let steps = listed(&self.steps, HOSTS_MAX, |step| format!("{}: {}", step.host, step.quoted));
        [bounds, steps].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("; ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::start_skew::StartSkew;
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

    #[test]
    fn clocks_and_starts_are_given_with_their_times() {
        let host = |time_ns| HostTime { host: "n1".into(), time_ns };
        let spread = ClockSpread { interval_ns: Nanos::from_secs(1), hosts: vec![host(60_000_000)], steps: Vec::new() };
        let title = ClockSpread::title(&[&spread]);
        assert_eq!(title, "the clock of host n1 may be off by 60.0 ms, of intervals of 1.00 s");
        assert_eq!(spread.evidence(), "n1: ±60.0 ms");
        let step = HostStep { host: "n1".into(), quoted: "by 3 ms".into() };
        let jumped = ClockSpread { hosts: Vec::new(), steps: vec![step], ..spread };
        assert_eq!(ClockSpread::title(&[&jumped]), "the clock of n1 jumped during the run phase");
        assert_eq!(jumped.evidence(), "n1: by 3 ms");
        let skew = StartSkew { interval_ns: Nanos::from_secs(1), hosts: vec![host(-90_000_000), host(70_000_000)] };
        assert_eq!(StartSkew::title(&[&skew]), "host n1 began 90.0 ms too early");
        assert_eq!(skew.evidence(), "n1: 90.0 ms too early, n1: 70.0 ms too late");
    }
}
