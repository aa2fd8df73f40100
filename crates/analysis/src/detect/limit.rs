//! Says what held the point back, where the evidence is plain.
//!
//! In: the counters of `disk` and `cpu`, the clients' CPU, the offered rate. Out: a note per limit, or one that says that it
//! is not shown. Limits: a lock, a single writer, a network or a queue inside the engine is not seen here; a device that
//! works on many requests at once can be busy all the time and still carry more.

use super::{Detector, Measured, PointView, client_bound, foreign_cpu};
use crate::counters::growth_of_most;
use crate::facts::{is_scripted, slots};
use crate::text::{percent, rate};
use crate::{Finding, Severity};

/// The entry in the list of detectors.
pub const DETECTOR: Detector = Detector {
    code: "limit",
    help: "what held the point back, where the evidence is plain",
    explain: "Named are: `disk`, where the device was busy more than 90 % of the run; `cpu`, where more than 90 % of all CPU \
              time of the machine was used; `client`, where the client threads used their cores up; `schedule`, where an open \
              loop got all that it offered, so that nothing was at its limit. Where none of these is plain the finding says \
              `not shown`: locks, a single writer, commit latency or the network leave no mark in these counters. A busy disk \
              at depth 1 means that one request at a time kept it busy; more depth may still carry more.",
    detect,
};

// At 90 % busy a queue forms nearly always; the rest is the sampling of the counters.
const BUSY_MIN: f64 = 0.90;
// Poisson arrivals over a short run miss their mean rate by a percent or two.
const SERVED_MIN: f64 = 0.97;

/// What can hold a point back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Limit {
    /// The device.
    Disk,
    /// All CPUs of the machine.
    Cpu,
    /// The client threads.
    Client,
    /// The offered rate.
    Schedule,
    /// Something that the counters do not show.
    NotShown,
}

impl Limit {
    /// Every limit, in the order in which they are told.
    pub const ALL: [Limit; 5] = [Limit::Disk, Limit::Cpu, Limit::Client, Limit::Schedule, Limit::NotShown];

    /// The word that begins the title of its finding.
    pub fn as_str(self) -> &'static str {
        match self {
            Limit::Disk => "disk",
            Limit::Cpu => "cpu",
            Limit::Client => "client",
            Limit::Schedule => "schedule",
            Limit::NotShown => "not shown",
        }
    }

    /// The limit that `finding` tells of, where it is of this detector.
    pub fn of(finding: &Finding) -> Option<Limit> {
        let word = finding.title.split(':').next().filter(|_| finding.code == DETECTOR.code)?;
        Limit::ALL.into_iter().find(|limit| limit.as_str() == word)
    }
}

fn detect(view: &PointView) -> Vec<Finding> {
    let Some(measured) = view.measured.filter(|_| !is_scripted(view.point)) else { return Vec::new() };
    let plain = [disk(view, &measured), cpu(view, &measured), client(view, &measured), schedule(&measured)];
    let mut found: Vec<Finding> = plain.into_iter().flatten().collect();
    if found.is_empty() {
        found.push(not_shown(view, &measured));
    }
    found
}

fn told(limit: Limit, what: &str, evidence: String, next_step: &str) -> Finding {
    DETECTOR.finding(Severity::Note, format!("{}: {what}", limit.as_str()), evidence, next_step)
}

fn disk_busy(view: &PointView, measured: &Measured) -> Option<f64> {
    let (start, end) = (measured.window.phase.start, measured.window.phase.end);
    Some(growth_of_most(view.point, "disk", "busy_ns", start, end)?.per_second() / 1e9)
}

fn disk(view: &PointView, measured: &Measured) -> Option<Finding> {
    let busy = disk_busy(view, measured).filter(|busy| *busy > BUSY_MIN)?;
    let one_at_a_time = slots(view.point) == 1;
    let next_step = match one_at_a_time {
        true => "one request at a time keeps it busy; try more clients or depth",
        false => "compare with the file workload on the same device",
    };
    let what = format!("the device was busy {} of the time", percent(busy.min(1.0)));
    Some(told(Limit::Disk, &what, "busy time of the device over the run phase".into(), next_step))
}

fn cpu(view: &PointView, measured: &Measured) -> Option<Finding> {
    let usage = foreign_cpu::usage(view, measured).filter(|usage| usage.busy > BUSY_MIN)?;
    let what = format!("{} of the machine's CPU time was used", percent(usage.busy));
    Some(told(Limit::Cpu, &what, "user, system and interrupt time over the run phase".into(), "profile the target"))
}

fn client(view: &PointView, measured: &Measured) -> Option<Finding> {
    let share = client_bound::cores_share(view, measured).filter(|_| client_bound::is_busy(view, measured))?;
    let what = format!("the client threads used {} of the cores they can run on", percent(share));
    Some(told(Limit::Client, &what, "CPU time of the client threads over the run phase".into(), "use more clients"))
}

fn schedule(measured: &Measured) -> Option<Finding> {
    let summary = measured.summary;
    let offered = summary.offered_per_s.filter(|offered| summary.ops_per_s >= SERVED_MIN * offered)?;
    let evidence = format!("{} of {} offered", rate(summary.ops_per_s), rate(offered));
    Some(told(Limit::Schedule, "all that was offered was served", evidence, "raise the rate to find the limit"))
}

fn not_shown(view: &PointView, measured: &Measured) -> Finding {
    let known = |share: Option<f64>| share.map_or("not known".to_string(), percent);
    let evidence = format!(
        "disk busy {}, CPU used {}, client cores used {}",
        known(disk_busy(view, measured)),
        known(foreign_cpu::usage(view, measured).map(|usage| usage.busy)),
        known(client_bound::cores_share(view, measured))
    );
    told(Limit::NotShown, "no counter explains what held it back", evidence, "")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::Simulation;

    fn machine(disk: f64, cpu: f64) -> Simulation {
        Simulation::counts(&[1000; 10]).source("disk", &["busy_ns"], move |second| vec![disk * second * 1e9]).source(
            "cpu",
            &["user_ns", "system_ns", "idle_ns"],
            move |second| vec![cpu * second * 2e9, 0.0, (1.0 - cpu) * second * 2e9],
        )
    }

    #[test]
    fn a_busy_disk_and_busy_cpus_are_named() {
        assert_eq!(machine(0.96, 0.3).finding("limit").title, "disk: the device was busy 96 % of the time");
        assert_eq!(machine(0.2, 0.97).finding("limit").title, "cpu: 97 % of the machine's CPU time was used");
        assert_eq!(machine(0.95, 0.95).findings("limit").len(), 2);
    }

    #[test]
    fn without_plain_evidence_the_limit_is_not_shown() {
        let finding = machine(0.5, 0.4).finding("limit");
        assert_eq!(Limit::of(&finding), Some(Limit::NotShown));
        assert_eq!(finding.evidence, "disk busy 50 %, CPU used 40 %, client cores used not known");
        assert!(Simulation::counts(&[1000; 10]).finding("limit").evidence.starts_with("disk busy not known"));
    }

    #[test]
    fn an_open_loop_that_got_all_it_offered_was_held_back_by_its_schedule() {
        let finding = Simulation::open(10, 1_000, |_| 500_000).finding("limit");
        assert_eq!(Limit::of(&finding), Some(Limit::Schedule));
    }

    #[test]
    fn the_scripted_engine_has_no_limit_to_find() {
        let scripted = machine(0.99, 0.99).with(|point| point.trial.target.engine = "null".into());
        assert!(scripted.findings("limit").is_empty());
    }
}
