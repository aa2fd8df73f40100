//! Finds hosts that did less than their share of the load.
//!
//! In: the operations of each host, and its part of the load as it was planned. Out: a warning in an open loop, whose rate was planned; a note in a
//! closed loop, in which a host that is farther from the database does less by itself. Limits: hosts that were lost are left to `host-lost`.

use super::detector::Detector;
use crate::evidence::PointView;
use crate::finding::hosts::{UnevenHost, UnevenHosts};
use crate::finding::units::Share;
use crate::finding::{Code, NextStep};
use crate::{Finding, Severity};
use model::Pacing;

/// The entry in the list of detectors.
pub const DETECTOR: Detector = Detector { code: Code::HostUneven, detect };

fn detect(view: &PointView) -> Vec<Finding> {
    let there = view.hosts.iter().filter(|host| host.lost_at_s.is_none());
    let uneven = there.filter_map(|host| {
        let (planned, done) = host.missed_share()?;
        Some(UnevenHost { host: host.host.clone(), planned_share: Share(planned), done_share: Share(done) })
    });
    let mut uneven: Vec<UnevenHost> = uneven.collect();
    if uneven.is_empty() {
        return Vec::new();
    }
    uneven.sort_by(|a, b| a.kept().total_cmp(&b.kept()));
    let hosts = view.hosts.iter().filter(|host| host.load.is_some()).count();
    let severity = match view.point.trial.load.pacing {
        Pacing::Open { .. } => Severity::Warning,
        Pacing::Closed { .. } => Severity::Note,
    };
    vec![Finding::new(severity, UnevenHosts { hosts, uneven }).next(NextStep::EvenHosts)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulated::hosts::three_clients;

    #[test]
    fn a_host_below_nine_tenths_of_its_share_is_named_with_both_shares() {
        let found: UnevenHosts = three_clients([1.0, 0.8, 1.0]).figures();
        assert_eq!((found.hosts, found.uneven.len(), found.uneven[0].host.as_str()), (3, 1, "c2"));
        let UnevenHost { planned_share, done_share, .. } = &found.uneven[0];
        assert!((planned_share.0 - 1.0 / 3.0).abs() < 1e-9 && (done_share.0 - 0.8 / 2.8).abs() < 1e-3, "{found:?}");
        assert!(three_clients([1.0, 0.95, 1.0]).findings("host-uneven").is_empty());
    }

    #[test]
    fn it_is_a_warning_if_the_rate_was_planned_and_a_note_if_it_was_not() {
        let severity_of = |pacing: Pacing| {
            let hosts = three_clients([1.0, 0.8, 1.0]).with(|point| point.trial.load.pacing = pacing);
            hosts.finding("host-uneven").severity
        };
        let arrivals = model::Arrivals::Constant { per_s: 3000.0 };
        assert_eq!(severity_of(Pacing::Open { arrivals }), Severity::Warning);
        assert_eq!(severity_of(Pacing::Closed { think: model::Nanos(0) }), Severity::Note);
    }

    #[test]
    fn a_host_that_has_a_smaller_part_of_the_load_keeps_its_share() {
        let smaller = three_clients([1.0, 0.5, 1.0]).with(|point| {
            for (host, part) in point.hosts.iter_mut().zip([0.4, 0.2, 0.4]) {
                host.host.share.as_mut().expect("it has a part").part = part;
            }
        });
        assert!(smaller.findings("host-uneven").is_empty());
    }
}
