//! Finds endpoints that were down: one of several, while the others went on.
//!
//! In: the counter of time down of each endpoint, its operations, its failures by class. Out: a warning. Limits: an endpoint is down from
//! the first connection that was lost and could not be opened again; a shorter loss than 0.2 s has no finding.

use super::detector::Detector;
use crate::evidence::PointView;
use crate::finding::connections::{EndpointOutage, EndpointOutages, OutageEnd};
use crate::finding::units::nanos;
use crate::finding::{Code, NextStep};
use crate::numbers::endpoints::{DownTime, down_times, endpoint_rates, failures_between, recovery_after};
use crate::recorded::window::Window;
use crate::{Finding, Severity, Span};

/// The entry in the list of detectors.
pub const DETECTOR: Detector = Detector { code: Code::EndpointOutage, detect };

fn detect(view: &PointView) -> Vec<Finding> {
    let Some(measured) = view.measured else { return Vec::new() };
    let names = &view.point.traits.engine.endpoints;
    let mut outages: Vec<EndpointOutage> = Vec::new();
    for (number, name) in (0u16..).zip(names) {
        let all = down_times(view.point, name, measured.window);
        outages.extend(all.iter().map(|down| figures(view, number, name, down, measured.window)));
    }
    if outages.is_empty() {
        return Vec::new();
    }
    outages.sort_by_key(|one| one.at_ns);
    let span = |one: &EndpointOutage| {
        let from_s = one.at_ns.as_secs_f64();
        Span { from_s, to_s: from_s + one.down_ns.as_secs_f64() }
    };
    let spans = outages.iter().map(span).collect();
    let found = EndpointOutages { endpoints: names.len(), outages, interval_ns: view.point.trial.phases.interval };
    vec![Finding::new(Severity::Warning, found).at(spans).next(NextStep::ReadServerLog)]
}

fn figures(view: &PointView, number: u16, name: &str, down: &DownTime, window: &Window) -> EndpointOutage {
    EndpointOutage {
        endpoint: name.to_owned(),
        at_ns: nanos(down.from_s),
        down_ns: nanos(down.to_s - down.from_s),
        end: if down.is_over { OutageEnd::ServerBack } else { OutageEnd::EndOfRun },
        full_rate_after_ns: recovery_after(&endpoint_rates(view.point, number, window), down),
        failed: failures_between(view.point, number, window, down.from_s, down.to_s),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulated::Simulation;
    use crate::simulated::endpoints::{with_endpoint_down, with_endpoints};
    use model::{FailureClass, Nanos};

    /// A minute of three endpoints, of which the second is down from second 31 for `down_s`, and is cold for some seconds after it.
    fn outage(down_s: f64) -> Simulation {
        let rates = move |endpoint: usize, second: u64| match (endpoint, second as f64) {
            (1, at) if at >= 31.0 && at + 1.0 <= 31.0 + down_s => 0,
            (1, at) if at >= 31.0 && at < 31.0 + down_s + 16.0 => 50,
            _ => 100,
        };
        with_endpoint_down(with_endpoints(70, rates), 1, 31.25, down_s)
    }

    #[test]
    fn an_endpoint_that_was_down_is_found_with_when_how_long_and_when_it_was_full_again() {
        let simulation = outage(12.4);
        let finding = simulation.finding("endpoint-outage");
        let [span] = &finding.spans[..] else { panic!("{finding:?}") };
        assert!((span.from_s - 31.25).abs() < 0.01 && (span.to_s - 43.65).abs() < 0.01, "{span:?}");
        let found: EndpointOutages = simulation.figures();
        let [one] = &found.outages[..] else { panic!("{found:?}") };
        assert_eq!((one.endpoint.as_str(), one.end, found.endpoints), ("node 2", OutageEnd::ServerBack, 3));
        assert!((one.down_ns.as_secs_f64() - 12.4).abs() < 0.01, "{one:?}");
        let again_s = one.full_rate_after_ns.map(Nanos::as_secs_f64).unwrap();
        assert!((27.0..30.0).contains(&again_s), "{again_s}");
        assert_eq!(one.failed.by_class().collect::<Vec<_>>(), [(FailureClass::Lost, 4)]);
        assert!(simulation.findings("outage").is_empty(), "the others went on");
    }

    #[test]
    fn an_endpoint_that_does_not_come_back_was_down_to_the_end_of_the_run() {
        let found: EndpointOutages = outage(100.0).figures();
        assert_eq!((found.outages[0].end, found.outages[0].full_rate_after_ns), (OutageEnd::EndOfRun, None));
        assert!((found.outages[0].down_ns.as_secs_f64() - 38.75).abs() < 0.01, "{found:?}");
    }

    #[test]
    fn endpoints_that_were_up_and_points_of_one_endpoint_have_none() {
        assert!(with_endpoints(30, |_, second| 100 + second % 7).findings("endpoint-outage").is_empty());
        assert!(
            with_endpoints(30, |_, second| if second < 10 { 100 } else { 0 }).findings("endpoint-outage").is_empty()
        );
        let moment = with_endpoint_down(with_endpoints(30, |_, _| 100), 2, 10.5, 0.1);
        assert!(moment.findings("endpoint-outage").is_empty(), "connections were closed and opened again");
        assert!(Simulation::counts(&[100; 30]).findings("endpoint-outage").is_empty());
    }

    #[test]
    fn two_outages_are_one_finding_in_the_order_of_time() {
        let twice = with_endpoint_down(outage(5.0), 0, 3.5, 2.0);
        let found: EndpointOutages = twice.figures();
        let names: Vec<&str> = found.outages.iter().map(|one| one.endpoint.as_str()).collect();
        assert_eq!(names, ["node 1", "node 2"]);
    }
}
