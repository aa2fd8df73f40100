//! Finds servers that plimsoll did not start and does not see, or not all of them.
//!
//! In: what the instance found when it connected, the counters of `cpu`. Out: a note. Limits: how much of the CPU time a server used that
//! is on this machine and not seen cannot be distinguished from that of other processes.

use super::{Detects, Finding, FindingKind, Watched};
use crate::evidence::PointView;
use crate::evidence::cpu_usage::CpuUsage;
use crate::judgement::{NextStep, Severity};
use crate::math::units::Share;
use model::UnseenServer;
use serde::Serialize;
use words::quantity::percent;

/// A server that plimsoll did not start and does not see, or not all of it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct UnseenProcess {
    pub why: UnseenServer,
    /// The share of the machine's CPU time that the server and other processes used together; `None` if they can be distinguished, or if it
    /// is not known.
    pub mixed_cpu_share: Option<Share>,
}

fn detect(view: &PointView) -> Vec<Finding> {
    let Some(why) = view.point.traits.engine.unseen else { return Vec::new() };
    let usage = view.measured.and_then(|measured| CpuUsage::measure(view, &measured));
    // If the users are known, the finding `foreign-cpu` has the others.
    let mixed = usage.filter(|usage| usage.users.is_none()).and_then(|usage| usage.beyond_plimsoll);
    let detail = UnseenProcess { why, mixed_cpu_share: mixed.map(Share) };
    vec![Finding::new(Severity::Note, detail).next(next_step(why))]
}

fn next_step(why: UnseenServer) -> NextStep {
    match why {
        UnseenServer::NotPermitted | UnseenServer::IoNotPermitted => NextStep::RunAsRoot,
        UnseenServer::OtherProgram => NextStep::ConnectDirectly,
        UnseenServer::Restarted => NextStep::MeasureAgain,
        UnseenServer::Remote | UnseenServer::NotFound => NextStep::None,
    }
}

impl FindingKind for UnseenProcess {
    const SEVERITIES: &'static [Severity] = &[Severity::Note];
    const DETECTS: Detects = Detects::Point(detect);
    const WATCHED: Watched = Watched::Always;

    fn is_like(&self, other: &Self) -> bool {
        self.why == other.why
    }

    fn title(alike: &[&Self]) -> String {
        let why = match alike[0].why {
            UnseenServer::Remote => "the server is on another machine",
            UnseenServer::NotPermitted => "the server belongs to another user",
            UnseenServer::IoNotPermitted => {
                return "the server belongs to another user: its I/O is not recorded".to_owned();
            }
            UnseenServer::NotFound => "the connection ends in no process that plimsoll sees",
            UnseenServer::OtherProgram => "the connection ends in a proxy or a tunnel",
            UnseenServer::Restarted => {
                return "the server ended during the point: its CPU, memory and disk are recorded up to then"
                    .to_owned();
            }
        };
        format!("{why}: the server's CPU, memory and disk are not recorded")
    }

    fn evidence(&self) -> String {
        match (self.why, self.mixed_cpu_share) {
            (UnseenServer::Remote, _) => "CPU time here that is not plimsoll's is that of other processes".to_owned(),
            (UnseenServer::IoNotPermitted, _) => "its CPU time, memory and context switches are recorded".to_owned(),
            (_, Some(share)) => {
                let share = percent(share.0);
                format!("the server and all other processes together used {share} of the machine's CPU time")
            }
            (_, None) => "how much CPU time other processes used is not known".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulated::Simulation;

    /// A machine whose CPUs are busy half of the time, a tenth by plimsoll.
    fn half_busy() -> Simulation {
        let counters = ["user_ns", "system_ns", "iowait_ns", "steal_ns", "softirq_ns", "idle_ns", "self_ns"];
        let all = |second: f64| vec![second * 1e9, 0.0, 0.0, 0.0, 0.0, second * 1e9, second * 0.2e9];
        Simulation::counts(&[1000; 10]).source("cpu", &counters, all).process("elsewhere")
    }

    fn found(why: UnseenServer) -> UnseenProcess {
        half_busy().with(|point| point.traits.engine.unseen = Some(why)).figures()
    }

    #[test]
    fn a_server_that_may_be_here_has_the_cpu_time_that_it_may_have_used() {
        let mixed = found(UnseenServer::NotPermitted).mixed_cpu_share.unwrap();
        assert!((mixed.0 - 0.4).abs() < 1e-9, "{mixed:?}");
        assert_eq!(found(UnseenServer::Remote).mixed_cpu_share, None);
        assert!(half_busy().findings("server-unseen").is_empty());
    }

    #[test]
    fn it_is_a_note() {
        let unseen = half_busy().with(|point| point.traits.engine.unseen = Some(UnseenServer::NotFound));
        assert_eq!(unseen.finding("server-unseen").severity, Severity::Note);
    }
}
