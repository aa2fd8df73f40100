//! Finds outages: times in which the server was gone.
//!
//! In: the outages of the run phase. Out: a warning, or an error if the server was not back when the run phase ended.
//! What an outage explains is not reported again: it is no `stall`, its failures are no `errors`, its restart is no `restarted`.
//! Limits: those of [`crate::course::shape::outages`].

use super::{CourseDisturbance, Detects, Finding, FindingKind};
use crate::Span;
use crate::computed_phase::Measured;
use crate::course::shape::outages::Outage;
use crate::evidence::PointView;
use crate::judgement::{NextStep, Severity};
use crate::math::stats::total;
use crate::math::units::{Share, nanos};
use crate::numbers::endpoints::{FullRate, full_rate_after};
use crate::recorded::window::OpTally;
use model::{EventKind, Nanos};
use serde::Serialize;
use words::list::listed;
use words::quantity::{counted, percent, plural, range, seconds};

/// Times in which the server was gone.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Outages {
    pub count: usize,
    /// The length of all together.
    pub total_ns: Nanos,
    /// The share of the run phase that they are.
    pub run_share: Share,
    /// The length of the longest.
    pub longest_ns: Nanos,
    /// When the longest began, since the run phase began.
    pub longest_at_ns: Nanos,
    /// How the last of them ended.
    pub end: OutageEnd,
    /// When the full rate was back after the longest.
    pub full_rate: FullRate,
    /// Operations that failed in them.
    pub failed_ops: u64,
    /// How often the server was restarted in them.
    pub restarts: usize,
    /// The first failures as the driver described them.
    pub quoted: Vec<String>,
    /// The length of an interval, which is how exactly the times are known.
    pub interval_ns: Nanos,
}

/// How an outage ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum OutageEnd {
    /// Operations were done again.
    ServerBack,
    /// It did not: the run phase ended first.
    EndOfRun,
}

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
    let rate = |tally: &OpTally| {
        (measured.window.seconds_at(tally.start) + tally.length.as_secs_f64() / 2.0, tally.ops_per_s())
    };
    let rates: Vec<(f64, f64)> = measured.window.whole.iter().map(rate).collect();
    Outages {
        count: outages.len(),
        total_ns: nanos(total_s),
        run_share: Share(total_s / measured.window.seconds()),
        longest_ns: nanos(longest.span.length_s()),
        longest_at_ns: nanos(longest.span.from_s),
        end: if is_over { OutageEnd::ServerBack } else { OutageEnd::EndOfRun },
        full_rate: full_rate_after(&rates, longest.span.from_s, longest.span.to_s),
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

const OUTAGES_LISTED_MAX: usize = 6;

impl FindingKind for Outages {
    const SEVERITIES: &'static [Severity] = &[Severity::Warning, Severity::Error];
    const DETECTS: Detects = Detects::Point(detect);
    const DISTURBANCE: Option<CourseDisturbance> = Some(CourseDisturbance::Gone);
    const REASON: &'static str = "had an outage of the server";

    fn is_like(&self, other: &Self) -> bool {
        let form = |one: &Self| (one.end, one.restarts > 0, one.count == 1, one.interval_ns);
        form(self) == form(other)
    }

    fn title(alike: &[&Self]) -> String {
        let interval = alike[0].interval_ns;
        let in_seconds = |ns: f64| seconds(Nanos(ns as u64), interval);
        let longest = range(alike, |one| one.longest_ns.0 as f64, in_seconds);
        // Of several points a range of times would read as one outage.
        let at = match alike {
            [only] => format!(", at {}", in_seconds(only.longest_at_ns.0 as f64)),
            _ => String::new(),
        };
        let outages = match alike[0].count {
            1 if alike.len() == 1 => format!("an outage of {longest}{at}"),
            1 => format!("an outage each, of {longest}"),
            _ => {
                let total = range(alike, |one| one.total_ns.0 as f64, in_seconds);
                let count = counted(alike, |one| one.count as u64, "outage");
                format!("{count}, {total} in all; the longest {longest}{at}")
            }
        };
        let cause = if alike[0].restarts > 0 { "the server was restarted" } else { "connections were lost" };
        let end = match alike[0].end {
            OutageEnd::ServerBack => "",
            OutageEnd::EndOfRun => "; the server was not back at the end",
        };
        format!("{outages}: {cause}{end}")
    }

    fn evidence(&self) -> String {
        let failed = plural(self.failed_ops, "operation");
        let restarts = match self.restarts {
            0 => String::new(),
            restarts => format!(", {}", plural(restarts as u64, "restart")),
        };
        let first = if self.quoted.is_empty() { String::new() } else { format!("; first: {}", self.quoted.join("; ")) };
        format!("{} of the run phase, {failed} failed{restarts}{first}", percent(self.run_share.0))
    }

    fn times(&self, spans: &[Span]) -> String {
        let moment = |at_s: f64| seconds(nanos(at_s), self.interval_ns);
        let one = |span: &Span| format!("{}-{}", moment(span.from_s).digits(), moment(span.to_s));
        format!("; {}", listed(spans, OUTAGES_LISTED_MAX, one))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::errors::FailedOps;
    use crate::findings::restarted::ServerRestarts;
    use crate::findings::stall::Stalls;
    use crate::simulated::{SECOND, Simulation};
    use model::{Event, FailureClass, Tick};

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
        assert_eq!(found.full_rate, FullRate::After(Nanos::from_millis(5_300)));
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
    fn the_full_rate_is_back_when_nine_tenths_of_it_are() {
        let slow_until = |second: usize| {
            let slowed = outage().with(|point| {
                point.phases[0].intervals[25..second].iter_mut().for_each(|interval| interval.kinds[0].ok = 400);
            });
            slowed.figures::<Outages>().full_rate
        };
        assert_eq!(slow_until(37), FullRate::After(Nanos::from_millis(17_300)));
        assert_eq!(slow_until(60), FullRate::NotReached);
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
    fn a_restart_in_an_outage_is_told_where_outages_are_not_looked_for() {
        let watched = restart(outage(), 24).with(|point| point.traits.observed = Some(model::Observation::default()));
        assert!(watched.findings("outage").is_empty());
        assert_eq!(watched.figures::<ServerRestarts>().count, 1);
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

    #[test]
    fn an_outage_has_its_time_its_cause_and_whether_the_server_came_back() {
        let one = Outages {
            count: 1,
            total_ns: Nanos::from_millis(4_800),
            run_share: Share(0.08),
            longest_ns: Nanos::from_millis(4_800),
            longest_at_ns: Nanos::from_millis(20_200),
            end: OutageEnd::ServerBack,
            full_rate: FullRate::Unknown,
            failed_ops: 5,
            restarts: 1,
            quoted: vec!["lost: client 0: gone".into()],
            interval_ns: Nanos::from_secs(1),
        };
        assert_eq!(Outages::title(&[&one]), "an outage of 4.8 s, at 20.2 s: the server was restarted");
        let evidence = "8.0 % of the run phase, 5 operations failed, 1 restart; first: lost: client 0: gone";
        assert_eq!(one.evidence(), evidence);
        assert_eq!(one.times(&[Span { from_s: 20.2, to_s: 25.0 }]), "; 20.2-25.0 s");
        let longest_ns = Nanos::from_secs(3);
        let more = Outages { count: 2, longest_ns, restarts: 0, end: OutageEnd::EndOfRun, ..one };
        let expected = "2 outages, 4.8 s in all; the longest 3.0 s, at 20.2 s: connections were lost; the server was not back at the end";
        assert_eq!(Outages::title(&[&more]), expected);
    }
}
