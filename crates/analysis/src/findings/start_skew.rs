//! Finds hosts that began the run phase at another time than planned: in its first interval they did more or less than their share.
//!
//! In: how much later than planned each host began. Out: a warning. Limits: a host that did not report it is not judged.

use super::clock_spread::{HostTime, INTERVAL_SHARE_MAX};
use super::phrases::HOSTS_MAX;
use super::{Detects, Finding, FindingKind};
use crate::evidence::PointView;
use crate::judgement::{NextStep, Severity};
use model::Nanos;
use serde::Serialize;
use words::list::listed;
use words::quantity::{range, time};

/// Hosts that began at another time than planned.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StartSkew {
    /// The length of an interval.
    pub interval_ns: Nanos,
    /// The hosts, the worst first.
    pub hosts: Vec<HostTime>,
}

fn detect(view: &PointView) -> Vec<Finding> {
    let interval_ns = view.point.trial.phases.interval;
    let most_ns = (INTERVAL_SHARE_MAX * interval_ns.0 as f64) as u64;
    let skewed = view.point.hosts.iter().filter_map(|host| {
        let time_ns = host.host.start_skew_ns.filter(|skew_ns| skew_ns.unsigned_abs() > most_ns)?;
        Some(HostTime { host: host.host.name.clone(), time_ns })
    });
    let mut hosts: Vec<HostTime> = skewed.collect();
    if hosts.is_empty() {
        return Vec::new();
    }
    hosts.sort_by_key(|host| std::cmp::Reverse(host.time_ns.unsigned_abs()));
    vec![Finding::new(Severity::Warning, StartSkew { interval_ns, hosts }).next(NextStep::MeasureAgain)]
}

impl FindingKind for StartSkew {
    const SEVERITIES: &'static [Severity] = &[Severity::Warning];
    const DETECTS: Detects = Detects::Point(detect);
    const REASON: &'static str = "had hosts that did not begin together";

    fn title(alike: &[&Self]) -> String {
        let worst = |one: &Self| one.hosts.first().map_or(0.0, |host| host.time_ns.unsigned_abs() as f64);
        match alike {
            [only] => format!("host {} began {}", only.hosts[0].host, late_or_early(&only.hosts[0])),
            several => format!("hosts began up to {} too early or too late", range(several, |one| worst(one), time)),
        }
    }

    fn evidence(&self) -> String {
        listed(&self.hosts, HOSTS_MAX, |one| format!("{}: {}", one.host, late_or_early(one)))
    }
}

/// `90.0 ms too late`
fn late_or_early(host: &HostTime) -> String {
    let by = time(host.time_ns.unsigned_abs() as f64);
    if host.time_ns < 0 { format!("{by} too early") } else { format!("{by} too late") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulated::hosts::three_clients;

    #[test]
    fn a_host_that_began_too_late_or_too_early_is_named() {
        let skewed = |skews_ns: [i64; 3]| {
            three_clients([1.0; 3]).with(|point| {
                for (host, skew_ns) in point.hosts.iter_mut().zip(skews_ns) {
                    host.host.start_skew_ns = Some(skew_ns);
                }
            })
        };
        let found: StartSkew = skewed([628_000, -90_000_000, 70_000_000]).figures();
        let named: Vec<(&str, i64)> = found.hosts.iter().map(|host| (host.host.as_str(), host.time_ns)).collect();
        assert_eq!(named, [("c2", -90_000_000), ("c3", 70_000_000)]);
        assert!(skewed([49_000_000; 3]).findings("start-skew").is_empty());
    }
}
