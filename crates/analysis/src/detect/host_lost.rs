//! Finds hosts that were lost while the point was measured.
//!
//! In: the events of the hosts. Out: an error, or a warning if the point went on with the others to its end. Limits: a host that was lost
//! after the run phase changes no number of it and is left out.

use super::detector::Detector;
use crate::evidence::PointView;
use crate::finding::hosts::{LostHost, LostHosts};
use crate::finding::units::Share;
use crate::finding::{Code, NextStep};
use crate::{Finding, Severity, Span};
use model::{Event, EventKind, HostData, PointState};

/// The entry in the list of detectors.
pub const DETECTOR: Detector = Detector { code: Code::HostLost, detect };

fn detect(view: &PointView) -> Vec<Finding> {
    let run_end = view.measured.map(|measured| measured.window.phase.end);
    let mut lost: Vec<(&HostData, &Event)> = view
        .point
        .hosts
        .iter()
        .filter_map(|host| Some((host, host.events.iter().find(|event| event.kind == EventKind::HostLost)?)))
        .filter(|(_, event)| run_end.is_none_or(|end| event.at < end))
        .collect();
    if lost.is_empty() {
        return Vec::new();
    }
    lost.sort_by_key(|(_, event)| event.at);
    let went_on = view.point.state == PointState::Complete;
    let figures = LostHosts {
        hosts: view.point.hosts.len(),
        lost: lost.iter().map(|(host, event)| lost_host(view, host, event)).collect(),
        went_on,
    };
    let severity = if went_on { Severity::Warning } else { Severity::Error };
    vec![Finding::new(severity, figures).at(spans(view, &lost)).next(NextStep::KeepHosts)]
}

fn lost_host(view: &PointView, host: &HostData, event: &Event) -> LostHost {
    LostHost {
        host: host.host.name.clone(),
        at_ns: view.time_of(event),
        load_share: host.host.share.map(|share| Share(share.part)),
        quoted: event.text.clone(),
    }
}

/// From the first loss on the load is another one.
fn spans(view: &PointView, lost: &[(&HostData, &Event)]) -> Vec<Span> {
    let Some(measured) = view.measured else { return Vec::new() };
    let window = measured.window;
    let from_s = window.seconds_at(lost[0].1.at).max(window.seconds_at(window.phase.start));
    vec![Span { from_s, to_s: window.seconds_at(window.phase.end) }]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Validity;
    use crate::simulated::SECOND;
    use crate::simulated::hosts::three_clients;
    use model::{Nanos, Tick};

    fn losing(state: PointState, at_s: u64) -> crate::simulated::Simulation {
        three_clients([1.0, 1.0, 1.0]).with(|point| {
            point.state = state;
            let lost = Event::new(Tick(at_s * SECOND), EventKind::HostLost, "no sign of life for 5.0 s");
            point.hosts[1].events.push(lost);
        })
    }

    #[test]
    fn a_point_that_lost_a_host_is_invalid_and_the_host_is_named() {
        let lost = losing(PointState::Partial, 4);
        let figures: LostHosts = lost.figures();
        assert_eq!((figures.hosts, figures.went_on, figures.lost[0].host.as_str()), (3, false, "c2"));
        assert_eq!(figures.lost[0].at_ns, Some(Nanos::from_secs(4)));
        assert!((figures.lost[0].load_share.unwrap().0 - 1.0 / 3.0).abs() < 1e-9);
        assert_eq!(lost.analysis().points[0].validity, Validity::Invalid);
        assert_eq!(lost.analysis().points[0].hosts[1].lost_at_s, Some(4.0));
    }

    #[test]
    fn a_point_that_went_on_with_the_others_has_the_stretch_in_which_it_did() {
        let finding = losing(PointState::Complete, 4).finding("host-lost");
        assert_eq!((finding.severity, finding.spans), (Severity::Warning, vec![Span { from_s: 4.0, to_s: 10.0 }]));
    }

    #[test]
    fn a_host_that_was_lost_after_the_run_phase_does_no_harm() {
        assert!(losing(PointState::Complete, 11).findings("host-lost").is_empty());
    }
}
