//! What limits a target above the largest rate that keeps an objective.
//!
//! In: the probes that missed the objective, the lowest rate first, and the closed loop. Out: a [`BottleneckAbove`] with the figures of the
//! detectors. Limits: a probe of which everything was served shows no limit, even if it was too slow: then the next probe is asked.

use crate::finding::bottleneck::{Cause, Limit};
use crate::finding::rates::Stalls;
use crate::points::limit::ProbeAnalysis;
use crate::{DetailKind, PointAnalysis};
use serde::Serialize;

/// What limited the target in one probe.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BottleneckAbove {
    /// The number of the point.
    pub point: u32,
    /// The rate that was offered; `None` of a closed loop.
    pub rate_per_s: Option<f64>,
    /// What was at its limit; empty if stalls are all that is known.
    pub limits: Vec<Limit>,
    /// The same with the figures of each.
    #[serde(rename = "evidence")]
    pub causes: Vec<Cause>,
    /// Its stalls, if there were any.
    pub stalls: Option<Stalls>,
}

/// What the first of `probes` shows that shows anything.
pub fn bottleneck_above<'a>(mut probes: impl Iterator<Item = &'a ProbeAnalysis>) -> Option<BottleneckAbove> {
    probes.find_map(shown_by)
}

fn shown_by(probe: &ProbeAnalysis) -> Option<BottleneckAbove> {
    let point = &probe.point;
    let all = point.bottlenecks.iter().flat_map(|found| &found.causes);
    let causes: Vec<Cause> = all.filter(|cause| cause.limit().is_cause()).cloned().collect();
    let limits: Vec<Limit> = causes.iter().map(Cause::limit).collect();
    let stalls = figures::<Stalls>(point).next().cloned();
    let is_shown = !limits.is_empty() || stalls.is_some();
    is_shown.then(|| BottleneckAbove { point: point.id, rate_per_s: probe.offered_per_s(), limits, causes, stalls })
}

fn figures<'a, T: DetailKind + 'a>(point: &'a PointAnalysis) -> impl Iterator<Item = &'a T> {
    point.findings.iter().filter_map(|finding| T::in_detail(&finding.detail))
}
