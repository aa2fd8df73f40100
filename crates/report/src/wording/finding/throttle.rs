//! In words: which limit was set, how high it is, and what shows that it was reached.
//!
//! In: throttles with their figures. Out: names and evidence. Limits: limits that plimsoll does not see have no height.

use super::machine::flow_word;
use crate::wording::quantity::{bytes, number, percent, whole};
use analysis::evidence::limited_flow::LimitedFlow;
use analysis::finding::bottleneck::{Cause, Throttle};
use std::collections::BTreeSet;

/// Which limit was set, and how high it is: `` `cpu_limit` of 0.5 CPUs ``.
pub fn throttle_name(throttle: &Throttle) -> String {
    let of_cpus = |cpus: Option<f64>| cpus.map_or(String::new(), |cpus| format!(" of {}", cpus_as_set(cpus)));
    match *throttle {
        Throttle::Quota { cpus, .. } => format!("the CPU quota{} that plimsoll was started with", of_cpus(cpus)),
        Throttle::EngineQuota { cpus, .. } => format!("the CPU quota{} of the engine's control group", of_cpus(cpus)),
        Throttle::CpuLimit { cpus, .. } => format!("`cpu_limit`{}", of_cpus(Some(cpus))),
        Throttle::Storage { flow, limit_per_s, .. } => format!("`storage_limit` of {}", flow_rate(flow, limit_per_s)),
        Throttle::CpuQueue { .. } => "a limit of CPU that plimsoll does not see".to_owned(),
        Throttle::AboveDevice { .. } => "a limit of storage that plimsoll does not see".to_owned(),
    }
}

/// The limit of all of `alike` if it is the same, or else what it is.
pub(super) fn one_throttle(alike: &[&Cause]) -> String {
    let names: BTreeSet<String> = alike.iter().filter_map(|cause| Some(throttle_name(&cause.throttle()?))).collect();
    match (names.len(), alike[0].throttle()) {
        (1, _) => names.into_iter().collect(),
        (_, Some(Throttle::Quota { .. })) => "the CPU quota that plimsoll was started with".to_owned(),
        (_, Some(Throttle::EngineQuota { .. })) => "the CPU quota of the engine's control group".to_owned(),
        (_, Some(Throttle::CpuLimit { .. })) => "`cpu_limit`".to_owned(),
        _ => "`storage_limit`".to_owned(),
    }
}

/// `0.5 CPUs`: somebody set it so, and it is no measurement with three digits.
fn cpus_as_set(cpus: f64) -> String {
    let unit = if cpus == 1.0 { "CPU" } else { "CPUs" };
    format!("{} {unit}", (cpus * 1e3).round() / 1e3)
}

/// `500 writes per second`
fn flow_rate(flow: LimitedFlow, per_s: f64) -> String {
    match flow {
        LimitedFlow::ReadOps | LimitedFlow::WriteOps => format!("{} {} per second", whole(per_s), flow_word(flow)),
        LimitedFlow::ReadBytes => format!("{} read per second", bytes(per_s)),
        LimitedFlow::WriteBytes => format!("{} written per second", bytes(per_s)),
    }
}

/// What shows that it was reached.
pub(super) fn throttle_figures(throttle: &Throttle) -> String {
    match throttle {
        Throttle::Quota { .. } => "counted by the control group of plimsoll".to_owned(),
        Throttle::EngineQuota { .. } => "counted by the control group of the engine".to_owned(),
        Throttle::CpuLimit { .. } => "CPU time of the engine over that of the limit".to_owned(),
        Throttle::CpuQueue { busy_share, .. } => {
            format!(
                "the CPUs of the machine were {} used: a quota or an affinity that plimsoll does not see",
                percent(busy_share.0)
            )
        }
        Throttle::AboveDevice { waiting_threads, device_requests } => format!(
            "{} threads waited for storage on average, and the disk had {} requests: a limit that plimsoll does not see",
            number(*waiting_threads),
            number(*device_requests)
        ),
        Throttle::Storage { flow, done_per_s, .. } => format!("{} on average", flow_rate(*flow, *done_per_s)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wording::finding::FindingWords;
    use analysis::finding::bottleneck::LimitEvidence;
    use analysis::finding::units::Share;

    fn cause(throttle: Throttle) -> Cause {
        Cause::new(LimitEvidence::Throttled(throttle), 0.98)
    }

    #[test]
    fn a_limit_that_was_set_is_named_with_its_height() {
        let (used_share, flow) = (Share(0.98), LimitedFlow::WriteOps);
        let storage = cause(Throttle::Storage { flow, used_share, done_per_s: 98.0, limit_per_s: 100.0 });
        let expected = "limited by `storage_limit` of 100 writes per second, of which 98 % was used";
        assert_eq!(Cause::title(&[&storage]), expected);
        let limit = |cpus| cause(Throttle::CpuLimit { used_share, cpus });
        assert_eq!(Cause::title(&[&limit(0.5)]), "limited by `cpu_limit` of 0.5 CPUs, of which 98 % was used");
        assert_eq!(Cause::title(&[&limit(0.5), &limit(1.0)]), "limited by `cpu_limit`, of which 98 % was used");
        let engine = Throttle::EngineQuota { held_share: Share(0.4), cpus: Some(1.5) };
        assert_eq!(throttle_name(&engine), "the CPU quota of 1.5 CPUs of the engine's control group");
    }
}
