//! Finds steps that ran on other data than planned, because an earlier step of their sequence was cut short.
//!
//! In: the points of the sequence. Out: a warning. Limits: the step that was cut short has a finding of its own.

use super::{Detects, Finding, FindingKind};
use crate::evidence::PointView;
use crate::judgement::{NextStep, Severity};
use crate::numbers::work_done::WorkDone;
use serde::Serialize;

/// A step on other data than planned.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ShortData {
    /// The earlier step that was cut short.
    pub step: String,
    /// The number of its point in the run.
    pub point: u32,
}

fn detect(view: &PointView) -> Vec<Finding> {
    match WorkDone::from_point(view.point, view.sequence) {
        WorkDone::OnShortData { step, point } => {
            vec![Finding::new(Severity::Warning, ShortData { step, point }).next(NextStep::MeasureAgain)]
        }
        WorkDone::Whole | WorkDone::CutShort { .. } => Vec::new(),
    }
}

impl FindingKind for ShortData {
    const SEVERITIES: &'static [Severity] = &[Severity::Warning];
    const DETECTS: Detects = Detects::Point(detect);
    const REASON: &'static str = "ran on the data of a step that was cut short";

    fn is_like(&self, other: &Self) -> bool {
        self.step == other.step
    }

    fn title(alike: &[&Self]) -> String {
        format!("ran on short data: {} was cut short", alike[0].step)
    }

    fn evidence(&self) -> String {
        format!("{} is point {}", self.step, self.point)
    }
}
