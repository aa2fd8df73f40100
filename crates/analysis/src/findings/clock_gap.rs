//! Finds stretches of the measurement in which plimsoll did not run.
//!
//! In: the events of the sampler. Out: an error. Limits: gaps before and after the run phase do no harm and are left out; one
//! that was noticed soon after the end began before it.

use super::foreign_cpu::STEAL_WARNING;
use super::phrases::tenths;
use super::{Detects, Finding, FindingKind, Watched};
use crate::Span;
use crate::computed_phase::Measured;
use crate::evidence::PointView;
use crate::evidence::cpu_usage::{CpuUsage, OTHERS_MAX};
use crate::judgement::{NextStep, Severity};
use crate::math::units::Share;
use model::{Event, EventKind, Nanos, PointData, Tick};
use serde::Serialize;
use words::quantity::{counted, percent, range, time};

/// Times in which the sampler did not run although it was due.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ClockGaps {
    pub count: usize,
    /// When the first was noticed, since the run phase began.
    pub first_at_ns: Option<Nanos>,
    /// For how long it did not run at most; `None` if its readings do not show a gap, because the clocks disagreed.
    pub longest_ns: Option<Nanos>,
    /// The share of the machine's CPU time that other processes and the hypervisor took; `None` if it is not known.
    pub foreign_cpu_share: Option<Share>,
    /// What the sampler recorded of each.
    pub quoted: Vec<String>,
}

fn detect(view: &PointView) -> Vec<Finding> {
    let Some(measured) = view.measured else { return Vec::new() };
    let phase = measured.window.phase;
    let noticed_until = phase.end + gap_min(view.point.trial.phases.interval);
    let gaps = view.events(EventKind::ClockGap).filter(|gap| (phase.start..=noticed_until).contains(&gap.at));
    let gaps: Vec<&Event> = gaps.collect();
    let Some(first) = gaps.first() else { return Vec::new() };
    let stretches: Vec<(Tick, Tick)> = gaps.iter().filter_map(|event| unrecorded(view.point, event)).collect();
    let detail = ClockGaps {
        count: gaps.len(),
        first_at_ns: view.time_of(first),
        longest_ns: stretches.iter().map(|(from, to)| to.since(*from)).max(),
        foreign_cpu_share: foreign_share(view, &measured),
        quoted: gaps.iter().map(|event| event.text.clone()).collect(),
    };
    // A full CPU explains a process that did not run better than a machine that was suspended.
    let is_crowded = detail.foreign_cpu_share.is_some_and(|share| share.0 > OTHERS_MAX);
    let next = if is_crowded { NextStep::FreeCpu } else { NextStep::KeepRunning };
    let seconds_at = |at| measured.window.seconds_at(at);
    let spans = stretches.iter().map(|(from, to)| Span { from_s: seconds_at(*from), to_s: seconds_at(*to) }).collect();
    vec![Finding::new(Severity::Error, detail).at(spans).next(next)]
}

/// The stretch before `event` in which a reading was due and none was made; `None` if there was no such stretch: then the clocks
/// disagreed while everything ran.
fn unrecorded(point: &PointData, event: &Event) -> Option<(Tick, Tick)> {
    let last = point.counters.times().filter(|at| *at < event.at).max()?;
    let interval = point.trial.phases.interval;
    let due = last + interval;
    (event.at.since(due) >= gap_min(interval)).then_some((due, event.at))
}

fn foreign_share(view: &PointView, measured: &Measured) -> Option<Share> {
    let usage = CpuUsage::measure(view, measured)?;
    let others = usage.users.map(|users| users.others);
    let steal = Some(usage.steal).filter(|_| usage.is_stolen_above(STEAL_WARNING));
    (others.is_some() || steal.is_some()).then(|| Share(others.unwrap_or(0.0) + steal.unwrap_or(0.0)))
}

/// The shortest gap that the sampler reports. It reports at the gap's end.
fn gap_min(interval: Nanos) -> Nanos {
    Nanos::from_secs(1).max(Nanos(interval.0.saturating_mul(5)))
}

impl FindingKind for ClockGaps {
    const SEVERITIES: &'static [Severity] = &[Severity::Error];
    const DETECTS: Detects = Detects::EachHost(detect);
    const WATCHED: Watched = Watched::AsOwnFault;
    const REASON: &'static str = "lost time while nothing was recorded";

    fn is_like(&self, other: &Self) -> bool {
        (self.is_crowded(), self.longest_ns.is_some()) == (other.is_crowded(), other.longest_ns.is_some())
    }

    fn title(alike: &[&Self]) -> String {
        let times = counted(alike, |one| one.count as u64, "time");
        let first = tenths(alike, |one| one.first_at_ns.unwrap_or_default());
        let share = |one: &Self| one.foreign_cpu_share.map_or(0.0, |share| share.0);
        let cause = if alike[0].is_crowded() {
            format!("; others used {} of the CPU", range(alike, share, percent))
        } else {
            String::new()
        };
        let gap = match alike[0].longest_ns {
            Some(_) => format!("up to {}", range(alike, |one| one.longest_ns.unwrap_or_default().0 as f64, time)),
            None => "a while".to_owned(),
        };
        format!("plimsoll did not run for {gap}, {times}; first noticed at {first} s{cause}")
    }

    fn evidence(&self) -> String {
        self.quoted.join("; ")
    }
}

impl ClockGaps {
    fn is_crowded(&self) -> bool {
        self.foreign_cpu_share.is_some_and(|share| share.0 > OTHERS_MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulated::Simulation;

    #[test]
    fn a_jump_during_the_run_spoils_it() {
        let jumped = Simulation::counts(&[1000; 10]).event(EventKind::ClockGap, "3.2 s between two ticks");
        let finding = jumped.finding("clock-gap");
        assert_eq!(finding.severity, Severity::Error);
        assert_eq!(finding.next, NextStep::KeepRunning);
        let found: ClockGaps = jumped.figures();
        assert_eq!((found.count, found.first_at_ns), (1, Some(Nanos::from_millis(500))));
        assert_eq!(found.quoted, ["3.2 s between two ticks"]);
    }

    #[test]
    fn on_a_machine_whose_cpu_others_use_the_machine_was_not_suspended() {
        let counters = ["user_ns", "system_ns", "idle_ns", "self_ns"];
        let values = |second: f64| [1.0, 0.0, 1.0, 0.2].map(|cores| cores * second * 1e9).into();
        let busy = Simulation::counts(&[1000; 10]).source("cpu", &counters, values).process("embedded");
        let finding = busy.event(EventKind::ClockGap, "1.2 s between two ticks").finding("clock-gap");
        assert_eq!(finding.next, NextStep::FreeCpu);
    }

    #[test]
    fn a_gap_is_as_long_as_no_reading_was_made_although_one_was_due() {
        let read = Simulation::counts(&[1000; 30]).source("disk", &["busy_ns"], |second| vec![second]);
        let noticed = |at| {
            let silent = read.clone().event(EventKind::ClockGap, "noticed");
            silent.with(|point| {
                point.events[0].at = Tick(at);
                // The reading at second 8 is the last one before second 16.
                point.counters.edit(|all| all.retain(|sample| !(9..16).contains(&(sample.at.0 / 1_000_000_000))));
            })
        };
        let gap = noticed(16_000_000_000);
        assert_eq!(gap.figures::<ClockGaps>().longest_ns, Some(Nanos::from_secs(7)));
        assert_eq!(gap.finding("clock-gap").spans, [Span { from_s: 9.0, to_s: 16.0 }]);
        let disagreed = noticed(20_000_000_000).finding("clock-gap");
        assert!(disagreed.spans.is_empty(), "readings were made all the time: {disagreed:?}");
    }

    #[test]
    fn a_jump_after_the_run_does_not_unless_it_began_before_the_end() {
        let jumped = Simulation::counts(&[1000; 10]).event(EventKind::ClockGap, "5.5 s between two ticks");
        let noticed = |at| jumped.clone().with(|point| point.events[0].at = Tick(at));
        assert!(noticed(16_000_000_000).findings("clock-gap").is_empty());
        assert_eq!(noticed(14_000_000_000).findings("clock-gap").len(), 1);
    }
}
