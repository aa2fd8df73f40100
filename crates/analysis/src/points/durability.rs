//! The durability of points, and which workloads were measured with more than one.
//!
//! In: analysed points, and the plan. Out: the durability (`disk`, `os`, `none`) of a point, and of the points of each workload, and
//! whether the plan compares just that.
//! Limits: it trusts what the engine reports. Whether the device keeps its promise is not known.

use crate::PointAnalysis;
use model::Plan;
use std::collections::{BTreeMap, BTreeSet};

/// The durability of `point`, if it has one: as read back from the engine, else as planned.
pub fn durability(point: &PointAnalysis) -> Option<&str> {
    point.traits.engine.durability.as_deref()
}

/// The workloads whose points differ in durability although `plan` does not compare that, with the values that they have.
pub fn unlike_durabilities<'a>(points: &'a [PointAnalysis], plan: &Plan) -> Vec<(&'a str, Vec<&'a str>)> {
    if is_asked_for(points, plan) {
        return Vec::new();
    }
    let words = durability_by_workload(points);
    let unlike = words.into_iter().filter(|(_, words)| words.len() > 1);
    unlike.map(|(workload, words)| (workload, words.into_keys().collect())).collect()
}

/// Whether `plan` compares durabilities: each of `points` has the one that its arm is named after. An engine that kept another than it was
/// asked for makes them unlike again.
pub fn is_asked_for(points: &[PointAnalysis], plan: &Plan) -> bool {
    let Some(key) = plan.ab.as_deref().or(plan.asked.compare.as_deref()) else { return false };
    !points.is_empty()
        && points.iter().all(|point| match (durability(point), point.settings.text(key)) {
            (Some(durability), Some(arm)) => durability == arm,
            _ => false,
        })
}

/// The targets by workload and durability.
pub fn durability_by_workload(points: &[PointAnalysis]) -> BTreeMap<&str, BTreeMap<&str, BTreeSet<&str>>> {
    let mut by_workload: BTreeMap<&str, BTreeMap<&str, BTreeSet<&str>>> = BTreeMap::new();
    for point in points {
        let Some(durability) = durability(point) else { continue };
        by_workload.entry(&point.workload).or_default().entry(durability).or_default().insert(&point.engine);
    }
    by_workload
}
