//! Finds outages: times in which the server was gone.
//!
//! In: the outages of the run phase. Out: a warning, or an error if the server was not back when the run phase ended.
//! What an outage explains is not reported again: it is no `stall`, its failures are no `errors`, its restart is no `restarted`.
//! Limits: those of [`crate::course::shape::outages`].

use super::detector::Detector;
use crate::computed_phase::Measured;
use crate::course::shape::outages::Outage;
use crate::evidence::PointView;
use crate::finding::connections::{OutageEnd, Outages};
use crate::finding::units::{Share, nanos};
use crate::finding::{Code, NextStep};
use crate::math::stats::total;
use crate::{Finding, Severity};
use model::EventKind;

/// The entry in the list of detectors.
pub const DETECTOR: Detector = Detector { code: Code::Outage, detect };

// One line each, and the first shows how the server was gone.
const QUOTED_MAX: usize = 3;

fn detect(view: &PointView) -> Vec<Finding> {
    let Some(measured) = view.measured.filter(|measured| !measured.shape.outages.is_empty()) else {
        return Vec::new();
    };
    let figures = figures(&measured, view);
    let severity = match figures.end {
        OutageEnd::ServerBack => Severity::Warning,
        OutageEnd::EndOfRun => Severity::Error,
    };
    let spans = measured.shape.outages.iter().map(|outage| outage.span).collect();
    vec![Finding::new(severity, figures).at(spans).next(NextStep::ReadServerLog)]
}

fn figures(measured: &Measured, view: &PointView) -> Outages {
    let outages = &measured.shape.outages;
    let longest =
        outages.iter().max_by(|a, b| a.span.length_s().total_cmp(&b.span.length_s())).expect("there is an outage");
    let total_s = total(outages.iter().map(|outage| outage.span.length_s()));
    let is_over = outages.iter().all(|outage| outage.is_over);
    Outages {
        count: outages.len(),
        total_ns: nanos(total_s),
        run_share: Share(total_s / measured.window.seconds()),
        longest_ns: nanos(longest.span.length_s()),
        longest_at_ns: nanos(longest.span.from_s),
        end: if is_over { OutageEnd::ServerBack } else { OutageEnd::EndOfRun },
        failed_ops: failed_in(outages),
        restarts: outages.iter().map(|outage| outage.restarts).sum(),
        quoted: view.quoted(EventKind::Failure, QUOTED_MAX),
        interval_ns: measured.window.whole[0].length,
    }
}

/// How many operations failed in `outages`.
pub fn failed_in(outages: &[Outage]) -> u64 {
    outages.iter().map(|outage| outage.failed_ops).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Span;
    use crate::finding::correctness::FailedOps;
    use crate::finding::machine::ServerRestarts;
    use crate::finding::rates::Stalls;
    use crate::simulated::{SECOND, Simulation};
    use model::{Event, FailureClass, Nanos, Tick};

    /// A minute at 1000/s without a server from second 20 to second 25; one operation a second fails meanwhile.
    fn outage() -> Simulation {
        let counts: Vec<u64> = (0..60).map(|at| if (20..25).contains(&at) { 0 } else { 1_000 + at % 7 }).collect();
        let simulation = Simulation::counts(&counts);
        simulation.with(|point| {
            point.phases[0].intervals[20..25].iter_mut().for_each(|interval| interval.kinds[0].failed = 1);
            let lost = "client 0: the connection was lost";
            point.events.push(Event::failure(Tick(20 * SECOND + SECOND / 5), FailureClass::Lost, lost));
        })
    }

    fn restart(simulation: Simulation, at_s: u64) -> Simulation {
        simulation.with(|point| {
            point.events.push(Event::new(Tick(at_s * SECOND), EventKind::Restart, "the server was restarted"));
        })
    }

    fn codes(simulation: &Simulation) -> Vec<&'static str> {
        let findings = simulation.analysis().points.remove(0).findings;
        findings.iter().map(|finding| finding.code().as_str()).filter(|code| *code != "bottleneck").collect()
    }

    #[test]
    fn an_outage_is_one_finding_and_neither_a_stall_nor_errors_nor_a_restart() {
        let ended =
            |simulation: Simulation| simulation.with(|point| point.traits.outcome.server_ended = Some("gone".into()));
        let simulation = ended(restart(outage(), 24));
        assert_eq!(codes(&simulation)[0], "outage");
        let repeated = ["stall", "errors", "restarted", "drops", "level-shift", "unsteady", "slowdown"];
        assert!(codes(&simulation).iter().all(|code| !repeated.contains(code)), "{:?}", codes(&simulation));
        let finding = simulation.finding("outage");
        let span = Span { from_s: 20.2, to_s: 25.0 };
        assert_eq!((finding.severity, &finding.spans[..]), (Severity::Warning, &[span][..]));
        let found: Outages = simulation.figures();
        assert_eq!((found.count, found.failed_ops, found.restarts, found.end), (1, 5, 1, OutageEnd::ServerBack));
        assert_eq!((found.longest_ns, found.longest_at_ns), (Nanos::from_millis(4_800), Nanos::from_millis(20_200)));
        assert!((found.run_share.0 - 0.08).abs() < 1e-9, "{found:?}");
        assert_eq!(found.quoted, ["lost: client 0: the connection was lost"]);
    }

    #[test]
    fn an_outage_to_the_end_of_the_run_makes_the_point_invalid() {
        let simulation = outage().with(|point| {
            point.phases[0].intervals.truncate(25);
            point.phases[0].end = Tick(30 * SECOND);
        });
        let found: Outages = simulation.figures();
        assert_eq!((found.end, simulation.finding("outage").severity), (OutageEnd::EndOfRun, Severity::Error));
        assert_eq!(found.longest_ns, Nanos::from_millis(9_800));
    }

    #[test]
    fn what_is_no_outage_keeps_its_findings() {
        let frozen = outage().with(|point| {
            point.events.clear();
            point.phases[0].intervals.iter_mut().for_each(|interval| interval.kinds[0].failed = 0);
        });
        assert!(codes(&frozen).contains(&"stall") && !codes(&frozen).contains(&"outage"), "{:?}", codes(&frozen));
        let conflicts = outage().with(|point| {
            point.events[0] = Event::failure(Tick(20 * SECOND), FailureClass::Conflict, "client 0: lock wait timeout");
        });
        let both = codes(&conflicts);
        assert!(both.contains(&"stall") && both.contains(&"errors") && !both.contains(&"outage"), "{both:?}");
    }

    #[test]
    fn failures_restarts_and_stalls_at_other_times_are_reported_apart() {
        let more = restart(outage(), 50).with(|point| {
            let intervals = &mut point.phases[0].intervals;
            intervals[40].kinds[0].failed = 3;
            for interval in &mut intervals[30..33] {
                interval.kinds[0] = model::KindRow::empty(model::OpKind(0));
            }
        });
        assert_eq!(more.figures::<Outages>().failed_ops, 5);
        let failed: FailedOps = more.figures();
        assert_eq!((failed.failed_ops, failed.in_outages_ops), (8, 5));
        let Stalls::Rates(stalls) = more.figures() else { panic!("the rates show it") };
        assert_eq!((stalls.count, stalls.longest_at_ns), (1, Nanos::from_secs(30)));
        assert_eq!(more.figures::<ServerRestarts>().count, 1);
    }

    #[test]
    fn a_second_outage_of_the_same_clients_has_no_event_and_is_found() {
        let twice = outage().with(|point| {
            for interval in &mut point.phases[0].intervals[40..44] {
                interval.kinds[0] = model::KindRow { failed: 2, ..model::KindRow::empty(model::OpKind(0)) };
            }
        });
        let found: Outages = twice.figures();
        assert_eq!((found.count, found.failed_ops), (2, 13));
        assert!(twice.findings("stall").is_empty());
    }
}
