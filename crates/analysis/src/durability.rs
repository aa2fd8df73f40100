//! The durability of points, and which workloads were measured with more than one.
//!
//! In: analysed points. Out: the durability (`disk`, `os`, `none`) of a point, and of the points of each workload.
//! Limits: it trusts what the engine reports. Whether the device keeps its promise is not known.

use crate::PointAnalysis;
use std::collections::{BTreeMap, BTreeSet};

/// The durability of `point`, if it has one: as read back from the engine, else as planned.
pub fn durability(point: &PointAnalysis) -> Option<&str> {
    point.traits.engine.durability.as_deref()
}

/// The workloads whose points differ in durability, with the values that they have.
pub fn unlike_durabilities(points: &[PointAnalysis]) -> Vec<(&str, Vec<&str>)> {
    let words = durability_by_workload(points);
    let unlike = words.into_iter().filter(|(_, words)| words.len() > 1);
    unlike.map(|(workload, words)| (workload, words.into_keys().collect())).collect()
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
