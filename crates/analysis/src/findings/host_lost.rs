//! Finds hosts that were lost while the point was measured.
//!
//! In: the events of the hosts. Out: an error, or a warning if the point went on with the others to its end. Limits: a host that was lost
//! after the run phase changes no number of it and is left out.

use super::phrases::HOSTS_MAX;
use super::{CourseDisturbance, Detects, Finding, FindingKind};
use crate::Span;
use crate::evidence::PointView;
use crate::judgement::{NextStep, Severity};
use crate::math::units::Share;
use model::{Event, EventKind, HostData, Nanos, PointState};
use serde::Serialize;
use words::list::{join_and, listed};
use words::quantity::{percent, plural};

/// Hosts that were lost while the point was measured.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LostHosts {
    /// How many hosts the point had.
    pub hosts: usize,
    /// Those that were lost, in order of time.
    pub lost: Vec<LostHost>,
    /// Whether the point went on with the others to its end.
    pub went_on: bool,
}

/// A host that was lost.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LostHost {
    pub host: String,
    /// When, since the run phase began; `None` before it.
    pub at_ns: Option<Nanos>,
    /// Its part of the load; `None` if it had none, or it is not known.
    pub load_share: Option<Share>,
    /// What was recorded of it, as text.
    pub quoted: String,
}

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

impl FindingKind for LostHosts {
    const SEVERITIES: &'static [Severity] = &[Severity::Warning, Severity::Error];
    const DETECTS: Detects = Detects::Point(detect);
    const DISTURBANCE: Option<CourseDisturbance> = Some(CourseDisturbance::Gone);
    const REASON: &'static str = "lost a host";

    fn is_like(&self, other: &Self) -> bool {
        self.went_on == other.went_on && self.lost.len() == other.lost.len()
    }

    fn title(alike: &[&Self]) -> String {
        let first = alike[0];
        let rest = if first.went_on { "; the point went on without it" } else { "" };
        match (first.lost.as_slice(), alike.len()) {
            ([one], 1) => format!("host {} was lost{}{rest}", one.host, at_time(one)),
            (several, 1) => {
                let names: Vec<String> = several.iter().map(|one| one.host.clone()).collect();
                format!("{} of {} were lost: {}", several.len(), plural(first.hosts as u64, "host"), join_and(&names))
            }
            (lost, _) => format!("{} of {} lost", lost.len(), plural(first.hosts as u64, "host")),
        }
    }

    fn evidence(&self) -> String {
        listed(&self.lost, HOSTS_MAX, |one| {
            let share = one.load_share.map(|share| format!(", {} of the load", percent(share.0)));
            format!("{}{}: {}", one.host, share.unwrap_or_default(), one.quoted)
        })
    }

    fn times(&self, spans: &[Span]) -> String {
        let from = spans.first().filter(|_| self.went_on);
        from.map_or(String::new(), |span| format!("; without it from {:.1} to {:.1} s", span.from_s, span.to_s))
    }
}

/// ` at 4.0 s`
fn at_time(lost: &LostHost) -> String {
    lost.at_ns.map_or(" before the run phase".to_owned(), |at| format!(" at {:.1} s", at.as_secs_f64()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judgement::Validity;
    use crate::simulated::SECOND;
    use crate::simulated::hosts::three_clients;
    use model::Tick;

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

    #[test]
    fn a_lost_host_is_named_with_the_moment_and_what_went_on_with_its_stretch() {
        let lost = |host: &str| LostHost {
            host: host.into(),
            at_ns: Some(Nanos::from_millis(4_040)),
            load_share: Some(Share(0.25)),
            quoted: "its lease has ended".into(),
        };
        let found = |lost, went_on| LostHosts { hosts: 4, lost, went_on };
        let one = found(vec![lost("c2")], false);
        assert_eq!(LostHosts::title(&[&one]), "host c2 was lost at 4.0 s");
        assert_eq!(one.evidence(), "c2, 25 % of the load: its lease has ended");
        let on = found(vec![lost("c2")], true);
        assert_eq!(LostHosts::title(&[&on]), "host c2 was lost at 4.0 s; the point went on without it");
        assert_eq!(on.times(&[Span { from_s: 4.0, to_s: 10.0 }]), "; without it from 4.0 to 10.0 s");
        let two = found(vec![lost("c2"), lost("c3")], false);
        assert_eq!(LostHosts::title(&[&two]), "2 of 4 hosts were lost: c2 and c3");
        assert_eq!(LostHosts::title(&[&one, &one]), "1 of 4 hosts lost");
    }
}
