//! Finds endpoints that were down: one of several, while the others went on.
//!
//! In: the counter of time down of each endpoint, its operations, its failures by class. Out: a warning. Limits: an endpoint is down from
//! the first connection that was lost and could not be opened again; a shorter loss than 0.2 s has no finding.

use super::outage::OutageEnd;
use super::{CourseDisturbance, Detects, Finding, FindingKind};
use crate::Span;
use crate::evidence::PointView;
use crate::judgement::{NextStep, Severity};
use crate::math::units::nanos;
use crate::numbers::endpoints::{DownTime, FullRate, down_times, endpoint_rates, failures_between, full_rate_after};
use crate::recorded::window::Window;
use model::{FailureCounts, Nanos};
use serde::Serialize;
use words::list::listed;
use words::quantity::{plural, range, seconds};

/// Times in which some of several endpoints were down.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EndpointOutages {
    /// How many endpoints the engine has.
    pub endpoints: usize,
    /// Each outage, in the order of time; at least one.
    pub outages: Vec<EndpointOutage>,
    /// The length of an interval, which is how exactly rates are known.
    pub interval_ns: Nanos,
}

/// A time in which one endpoint was down.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EndpointOutage {
    pub endpoint: String,
    /// When it was lost, since the run phase began.
    pub at_ns: Nanos,
    pub down_ns: Nanos,
    pub end: OutageEnd,
    /// When it had its full rate again.
    pub full_rate: FullRate,
    /// Operations on it that failed then, by class.
    pub failed: FailureCounts,
}

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
        full_rate: full_rate_after(&endpoint_rates(view.point, number, window), down.from_s, down.to_s),
        failed: failures_between(view.point, number, window, down.from_s, down.to_s),
    }
}

impl FindingKind for EndpointOutages {
    const SEVERITIES: &'static [Severity] = &[Severity::Warning];
    const DETECTS: Detects = Detects::Point(detect);
    const DISTURBANCE: Option<CourseDisturbance> = Some(CourseDisturbance::Gone);
    const REASON: &'static str = "had an endpoint that was down";

    fn is_like(&self, other: &Self) -> bool {
        let form = |one: &Self| (one.outages.len() == 1, one.interval_ns);
        form(self) == form(other)
    }

    fn title(alike: &[&Self]) -> String {
        match alike {
            [only] => {
                let clauses: Vec<String> =
                    only.outages.iter().map(|one| outage_clause(one, only.interval_ns)).collect();
                listed(&clauses, ENDPOINT_OUTAGES_MAX, String::clone)
            }
            several => {
                let longest = range(several, longest_ns, |ns| seconds(Nanos(ns as u64), TENTH));
                format!("single endpoints were down; the longest outage took {longest}")
            }
        }
    }

    fn evidence(&self) -> String {
        let failed = |one: &EndpointOutage| format!("{}: {}", one.endpoint, failed_clause(&one.failed));
        listed(&self.outages.iter().map(failed).collect::<Vec<_>>(), ENDPOINT_OUTAGES_MAX, String::clone)
    }
}

const ENDPOINT_OUTAGES_MAX: usize = 4;

fn longest_ns(found: &EndpointOutages) -> f64 {
    found.outages.iter().map(|one| one.down_ns.0 as f64).fold(0.0, f64::max)
}

/// `node 2 was down for 12.4 s from 31.0 s on; full rate again after 31.0 s`
fn outage_clause(one: &EndpointOutage, interval: Nanos) -> String {
    // Known to a tenth of a second, whatever the intervals of rates are.
    let known = |time: Nanos| seconds(time, TENTH);
    let again = match (one.end, one.full_rate) {
        (OutageEnd::EndOfRun, _) => ", to the end of the run".to_owned(),
        (OutageEnd::ServerBack, FullRate::After(after)) => {
            format!("; full rate again after {}", seconds(after, interval))
        }
        (OutageEnd::ServerBack, FullRate::NotReached) => "; it did not reach its full rate again".to_owned(),
        (OutageEnd::ServerBack, FullRate::Unknown) => String::new(),
    };
    format!("{} was down for {} from {} on{again}", one.endpoint, known(one.down_ns), known(one.at_ns))
}

const TENTH: Nanos = Nanos::from_millis(100);

/// `4 operations failed (lost 3, conflict 1)`
fn failed_clause(failed: &FailureCounts) -> String {
    let classes: Vec<String> =
        failed.by_class().map(|(class, number)| format!("{} {number}", class.as_str())).collect();
    if classes.is_empty() {
        "no operation failed".to_owned()
    } else {
        format!("{} failed ({})", plural(failed.total(), "operation"), classes.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulated::Simulation;
    use crate::simulated::endpoints::{with_endpoint_down, with_endpoints};
    use model::FailureClass;

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
        let FullRate::After(again) = one.full_rate else { panic!("{one:?}") };
        assert!((27.0..30.0).contains(&again.as_secs_f64()), "{again:?}");
        assert_eq!(one.failed.by_class().collect::<Vec<_>>(), [(FailureClass::Lost, 4)]);
        assert!(simulation.findings("outage").is_empty(), "the others went on");
    }

    #[test]
    fn an_endpoint_that_does_not_come_back_was_down_to_the_end_of_the_run() {
        let found: EndpointOutages = outage(100.0).figures();
        assert_eq!((found.outages[0].end, found.outages[0].full_rate), (OutageEnd::EndOfRun, FullRate::NotReached));
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

    #[test]
    fn the_outage_of_an_endpoint_is_a_sentence_with_its_length_and_its_recovery() {
        let mut failed = FailureCounts::default();
        failed.add_of(model::FailureClass::Lost, 4);
        let one = EndpointOutage {
            endpoint: "node 2".into(),
            at_ns: Nanos::from_secs(31),
            down_ns: Nanos::from_millis(12_400),
            end: OutageEnd::ServerBack,
            full_rate: FullRate::After(Nanos::from_secs(31)),
            failed,
        };
        let found = |outages| EndpointOutages { endpoints: 3, outages, interval_ns: Nanos::from_secs(1) };
        let title = |outages| EndpointOutages::title(&[&found(outages)]);
        assert_eq!(title(vec![one.clone()]), "node 2 was down for 12.4 s from 31.0 s on; full rate again after 31.0 s");
        assert_eq!(found(vec![one.clone()]).evidence(), "node 2: 4 operations failed (lost 4)");
        let never = EndpointOutage { end: OutageEnd::EndOfRun, full_rate: FullRate::NotReached, ..one.clone() };
        assert_eq!(title(vec![never]), "node 2 was down for 12.4 s from 31.0 s on, to the end of the run");
        let unknown = EndpointOutage { full_rate: FullRate::Unknown, ..one.clone() };
        assert_eq!(title(vec![unknown]), "node 2 was down for 12.4 s from 31.0 s on");
        let both = [found(vec![one.clone()]), found(vec![EndpointOutage { down_ns: Nanos::from_secs(2), ..one }])];
        let text = EndpointOutages::title(&both.each_ref());
        assert_eq!(text, "single endpoints were down; the longest outage took 2.0 to 12.4 s");
    }
}
