//! What the history of a plan needs of one run.
//!
//! In: a recorded run and its analysis. Out: a [`HistoryRun`], small enough to keep many of them in memory.
//! Limits: repeats of a point are one value. Points that are not complete or invalid are left out, with the reason.

use super::metric::{MetricValue, measure_all};
use crate::{Analysis, Label, PointAnalysis, Role, Validity};
use model::{PlanWork, PointData, PointState, RunCondition, RunData, conditions_of_point, conditions_of_run};
use serde::Serialize;
use std::collections::BTreeMap;

/// A run among others.
#[derive(Clone, Debug)]
pub struct HistoryRun {
    pub id: String,
    /// When it began, in milliseconds since 1970 UTC.
    pub started_unix_ms: u64,
    /// The title of its plan.
    pub title: String,
    /// What its plan asks for.
    pub work: PlanWork,
    /// Its conditions, those of its points not included.
    pub conditions: Vec<RunCondition>,
    /// Its points that can be used, repeats together, by their place in the plan.
    pub points: BTreeMap<usize, HistoryPoint>,
    /// The points that cannot.
    pub left_out: Vec<UnusedPoint>,
}

/// One point of a run, its repeats together.
#[derive(Clone, Debug)]
pub struct HistoryPoint {
    /// What distinguishes it from the others of its run.
    pub label: Label,
    /// The conditions that are its own.
    pub conditions: Vec<RunCondition>,
    pub values: Vec<MetricValue>,
}

/// A point that is left out of the history.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct UnusedPoint {
    /// What distinguishes it from the others of its run.
    pub label: Label,
    pub reason: UnusedReason,
}

/// Why a point is left out of the history.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum UnusedReason {
    Partial,
    Failed,
    /// A finding spoils its numbers.
    Invalid,
    /// No operation ended in it.
    Empty,
}

impl HistoryRun {
    /// What is needed of `run`, which `analysis` is of.
    pub fn from_run(run: &RunData, analysis: &Analysis) -> HistoryRun {
        let work = PlanWork::from_run(run);
        let mut usable: BTreeMap<usize, Vec<(&PointAnalysis, &PointData)>> = BTreeMap::new();
        let mut left_out = Vec::new();
        for point in &analysis.points {
            let Some(data) = run.points.iter().find(|data| data.id == point.id) else { continue };
            match (unused_reason(point), work.place_of(&data.trial)) {
                (Some(reason), _) => left_out.push(UnusedPoint { label: point.label.clone(), reason }),
                (None, Some(place)) => usable.entry(place).or_default().push((point, data)),
                (None, None) => {}
            }
        }
        HistoryRun {
            id: run.meta.run_id.clone(),
            started_unix_ms: run.meta.started_unix_ms,
            title: run.meta.plan.title.clone(),
            work,
            conditions: conditions_of_run(&run.meta),
            points: usable.into_iter().map(|(place, repeats)| (place, HistoryPoint::from_repeats(&repeats))).collect(),
            left_out,
        }
    }
}

impl HistoryPoint {
    fn from_repeats(repeats: &[(&PointAnalysis, &PointData)]) -> HistoryPoint {
        let (first, data) = repeats.iter().min_by_key(|(point, _)| point.repeat).expect("a place has a point");
        let mut label = first.label.clone();
        label.place.retain(|setting| setting.role != Role::Repeat);
        let points: Vec<&PointAnalysis> = repeats.iter().map(|(point, _)| *point).collect();
        HistoryPoint { label, conditions: conditions_of_point(data), values: measure_all(&points) }
    }
}

fn unused_reason(point: &PointAnalysis) -> Option<UnusedReason> {
    let is_empty = point.summary.as_ref().is_none_or(|summary| summary.ops == 0);
    match (point.state, point.validity) {
        (PointState::Partial, _) => Some(UnusedReason::Partial),
        (PointState::Failed, _) => Some(UnusedReason::Failed),
        (PointState::Complete, Validity::Invalid) => Some(UnusedReason::Invalid),
        (PointState::Complete, _) => is_empty.then_some(UnusedReason::Empty),
    }
}
