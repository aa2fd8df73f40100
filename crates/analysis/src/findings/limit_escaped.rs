//! Finds points whose storage was to be limited, and whose device did more than that.
//!
//! In: the trial's limit, the counters of `disk` and `limits`. Out: a warning for each that was passed. Limits: what other
//! processes do on the device counts, too; the counters of `limits` hold how much of it was the engine's.

use super::phrases::flow_word;
use super::{Detects, Finding, FindingKind};
use crate::computed_phase::Measured;
use crate::evidence::PointView;
use crate::evidence::limited_flow::{LimitedFlow, limited_flows, per_second};
use crate::judgement::{NextStep, Severity};
use serde::Serialize;
use words::quantity::{or_unknown, range, whole};

/// A device that did more than its limit allows.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EscapedLimit {
    pub flow: LimitedFlow,
    /// What the device did, per second.
    pub done_per_s: f64,
    /// What the limit counted of it, per second; `None` if it is not known.
    pub counted_per_s: Option<f64>,
    /// The limit, per second.
    pub limit_per_s: f64,
    /// The device that has the limit; `None` if it is not known.
    pub device: Option<String>,
}

/// A tenth more than the limit is within it.
const PASSED: f64 = 1.1;

// A limit is enforced in slices of 100 ms: those at both ends may be used in full.
const SLICES_S: f64 = 0.2;

fn detect(view: &PointView) -> Vec<Finding> {
    let (Some(measured), limit) = (view.measured, view.point.trial.target.limits.storage) else { return Vec::new() };
    let limits = limited_flows(limit).into_iter();
    limits.filter_map(|(flow, most_per_s)| passed(view, &measured, flow, most_per_s)).collect()
}

fn passed(view: &PointView, measured: &Measured, flow: LimitedFlow, limit_per_s: f64) -> Option<Finding> {
    let (done_per_s, seconds) = per_second(view, measured, flow.on_device())?;
    if done_per_s <= limit_per_s * (PASSED + SLICES_S / seconds) {
        return None;
    }
    let detail = EscapedLimit {
        flow,
        done_per_s,
        counted_per_s: per_second(view, measured, flow.in_group()).map(|(own, _)| own),
        limit_per_s,
        device: view.point.traits.engine.limited_device.clone(),
    };
    let has_volume = view.point.trial.target.fs.is_some();
    let next = if has_volume { NextStep::StopOtherProcesses } else { NextStep::UseOwnVolume };
    Some(Finding::new(Severity::Warning, detail).next(next))
}

impl FindingKind for EscapedLimit {
    const SEVERITIES: &'static [Severity] = &[Severity::Warning];
    const DETECTS: Detects = Detects::Point(detect);
    const REASON: &'static str = "used a device that exceeded its storage limit";

    fn is_like(&self, other: &Self) -> bool {
        self.flow == other.flow
    }

    fn title(alike: &[&Self]) -> String {
        let flow = flow_word(alike[0].flow);
        let [done, limit] = [|one: &EscapedLimit| one.done_per_s, |one: &EscapedLimit| one.limit_per_s];
        let (done, limit) = (range(alike, done, whole), range(alike, limit, whole));
        format!("the device did {done} {flow} per second although the limit is {limit}")
    }

    fn evidence(&self) -> String {
        let device = self.device.as_ref().map_or("the device".to_owned(), |device| format!("device `{device}`"));
        format!(
            "{device}: {} {} per second, {} of them counted by the limit of {}; other processes, or the kernel for the engine, did the rest",
            whole(self.done_per_s),
            flow_word(self.flow),
            or_unknown(self.counted_per_s, whole),
            whole(self.limit_per_s)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulated::Simulation;
    use model::{Fact, StorageLimit};

    fn limited(writes_per_s: f64) -> Simulation {
        let limited = Simulation::counts(&[1000; 10]).with(|point| {
            point.trial.target.limits.storage = StorageLimit { write_iops: Some(400), ..StorageLimit::default() };
            point.facts.push(Fact::new("limit.storage_device", "sda"));
        });
        limited.source("disk", &["write_ops"], move |second| vec![writes_per_s * second]).source(
            "limits",
            &["write_ops"],
            |second| vec![390.0 * second],
        )
    }

    #[test]
    fn a_device_that_wrote_more_than_its_limit_is_told_with_the_part_of_the_engine() {
        let found: EscapedLimit = limited(900.0).figures();
        assert_eq!(
            (found.flow, found.limit_per_s, found.device.as_deref()),
            (LimitedFlow::WriteOps, 400.0, Some("sda"))
        );
        let per_s = [Some(found.done_per_s), found.counted_per_s].map(|rate| rate.map(f64::round));
        assert_eq!(per_s, [Some(900.0), Some(390.0)]);
        assert_eq!(limited(900.0).finding("limit-escaped").next, NextStep::UseOwnVolume);
        let kind = model::FileSystem::Xfs;
        let volume =
            |point: &mut model::PointData| point.trial.target.fs = Some(model::FileSystemSpec { kind, size: None });
        assert_eq!(limited(900.0).with(volume).finding("limit-escaped").next, NextStep::StopOtherProcesses);
    }

    #[test]
    fn a_limit_that_was_reached_is_no_finding_and_neither_is_a_device_without_one() {
        assert!(limited(404.0).findings("limit-escaped").is_empty());
        let free = Simulation::counts(&[1000; 10]).source("disk", &["write_ops"], |second| vec![9e6 * second]);
        assert!(free.findings("limit-escaped").is_empty());
    }
}
