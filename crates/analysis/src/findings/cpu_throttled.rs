//! Finds points at which plimsoll, with an engine inside it, was not allowed to use the CPU as fast as it could.
//!
//! In: the counters of `quota` and `frequency`, the quota of the machine's description. Out: warnings. Limits: a quota of a group that
//! plimsoll does not see (around a container) shows as steal, if at all; what a virtual machine's host does to the frequency is not seen.

use super::{Detects, Finding, FindingKind, Watched};
use crate::computed_phase::Measured;
use crate::evidence::PointView;
use crate::evidence::quota::held_by_quota;
use crate::judgement::{NextStep, Severity};
use crate::math::units::Share;
use model::CounterRole;
use serde::Serialize;
use words::quantity::{number, percent, plural};

/// What kept the CPU from working as fast as it could.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(tag = "by", rename_all = "kebab-case")]
pub enum CpuThrottling {
    /// The quota of the control group that plimsoll was started in.
    Quota {
        /// CPU time that it allows per time, in CPUs; `None` if it is not known.
        cpus: Option<f64>,
        /// CPUs of the machine.
        machine_cpus: Option<u64>,
        /// Periods of the quota in which it held plimsoll back.
        periods: u64,
        /// The share of the run's CPU time, over all CPUs, in which it did.
        held_share: Share,
    },
    /// The CPU's own protection.
    Heat {
        /// How often a core was slowed down.
        events: u64,
    },
}

/// Of the run; a process that starts uses its quota up once.
const HELD_MAX: f64 = 0.01;

fn detect(view: &PointView) -> Vec<Finding> {
    let Some(measured) = view.measured else { return Vec::new() };
    let found = [by_quota(view, &measured), by_heat(view, &measured)];
    let [quota, heat] = found.map(|found| found.map(|detail| Finding::new(Severity::Warning, detail)));
    let quota = quota.map(|found| found.next(NextStep::LiftQuota));
    quota.into_iter().chain(heat.map(|found| found.next(NextStep::CoolMachine))).collect()
}

fn by_quota(view: &PointView, measured: &Measured) -> Option<CpuThrottling> {
    let held = held_by_quota(view, measured, CounterRole::QuotaThrottled)?;
    let periods = measured.growth_of_all(view.point, CounterRole::QuotaPeriods)? as u64;
    let (cpus, machine_cpus) = (view.machine.cpu_quota, view.machine.cpus);
    (held > HELD_MAX).then_some(CpuThrottling::Quota { cpus, machine_cpus, periods, held_share: Share(held.min(1.0)) })
}

fn by_heat(view: &PointView, measured: &Measured) -> Option<CpuThrottling> {
    let events = measured.growth_of_all(view.point, CounterRole::ThermalThrottles)? as u64;
    (events > 0).then_some(CpuThrottling::Heat { events })
}

impl FindingKind for CpuThrottling {
    const SEVERITIES: &'static [Severity] = &[Severity::Warning];
    const DETECTS: Detects = Detects::EachHost(detect);
    const WATCHED: Watched = Watched::Always;
    const REASON: &'static str = "were slowed down by a CPU quota or by heat";

    fn is_like(&self, other: &Self) -> bool {
        std::mem::discriminant(self) == std::mem::discriminant(other)
    }

    fn title(alike: &[&Self]) -> String {
        match alike[0] {
            CpuThrottling::Quota { cpus: Some(cpus), .. } => {
                format!("limited by a CPU quota of {}", cpus_text(*cpus))
            }
            CpuThrottling::Quota { cpus: None, .. } => "limited by a CPU quota".to_owned(),
            CpuThrottling::Heat { .. } => "the CPU slowed down because of its heat".to_owned(),
        }
    }

    fn evidence(&self) -> String {
        match *self {
            CpuThrottling::Quota { machine_cpus, periods, held_share, .. } => {
                let of =
                    machine_cpus.map_or(String::new(), |cpus| format!(" of a machine with {}", plural(cpus, "CPU")));
                format!(
                    "held back {} of the time of all CPUs{of}, in {}",
                    percent(held_share.0),
                    plural(periods, "period")
                )
            }
            CpuThrottling::Heat { events } => format!("{} of a core", plural(events, "thermal throttling")),
        }
    }
}

/// `0.5 CPUs`, `1 CPU`
fn cpus_text(cpus: f64) -> String {
    let unit = if cpus == 1.0 { "CPU" } else { "CPUs" };
    format!("{} {unit}", number(cpus))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulated::Simulation;
    use model::Fact;

    /// A run on two CPUs. The quota stopped each of them for this share of the time.
    fn held(share: f64, hot: f64) -> Simulation {
        let mut simulation = Simulation::counts(&[1000; 10])
            .source("quota", &["throttled_ns", "throttled_periods"], move |second| {
                vec![share * 2e9 * second, 5.0 * second]
            })
            .source("frequency", &["mhz", "thermal_throttles"], move |second| vec![2400.0, hot * second]);
        simulation.environment.push(Fact::new("cgroup.cpu_quota", "0.5"));
        simulation.environment.push(Fact::new("cpu.usable", "2"));
        simulation
    }

    #[test]
    fn a_quota_that_held_plimsoll_back_is_found_with_its_size() {
        let CpuThrottling::Quota { cpus, machine_cpus, periods, held_share } = held(0.6, 0.0).figures() else {
            panic!("it is the quota")
        };
        assert_eq!((cpus, machine_cpus, periods), (Some(0.5), Some(2), 50));
        assert!((held_share.0 - 0.6).abs() < 1e-9);
        assert!(held(0.005, 0.0).findings("cpu-throttled").is_empty(), "a quota that was not used up");
    }

    #[test]
    fn heat_is_a_finding_of_its_own() {
        assert_eq!(held(0.0, 3.0).figures::<CpuThrottling>(), CpuThrottling::Heat { events: 30 });
        assert_eq!(held(0.6, 3.0).findings("cpu-throttled").len(), 2);
    }
}
