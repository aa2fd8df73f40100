//! Finds servers that plimsoll did not start and does not see, or not all of them.
//!
//! In: what the instance found when it connected, the counters of `cpu`. Out: a note. Limits: how much of the CPU time a server used that
//! is on this machine and not seen cannot be told from that of other processes.

use super::detector::Detector;
use crate::evidence::PointView;
use crate::evidence::cpu_usage::CpuUsage;
use crate::finding::machine::UnseenProcess;
use crate::finding::units::Share;
use crate::finding::{Code, NextStep};
use crate::{Finding, Severity};
use model::UnseenServer;

/// The entry in the list of detectors.
pub const DETECTOR: Detector = Detector { code: Code::ServerUnseen, detect };

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
