//! Finds steps that ran on other data than planned, because an earlier step of their sequence was cut short.
//!
//! In: the points of the sequence. Out: a warning. Limits: the step that was cut short has a finding of its own.

use super::detector::Detector;
use crate::evidence::PointView;
use crate::finding::completeness::ShortData;
use crate::finding::{Code, NextStep};
use crate::numbers::work_done::WorkDone;
use crate::{Finding, Severity};

/// The entry in the list of detectors.
pub const DETECTOR: Detector = Detector { code: Code::ShortData, detect };

fn detect(view: &PointView) -> Vec<Finding> {
    match WorkDone::from_point(view.point, view.sequence) {
        WorkDone::OnShortData { step, point } => {
            vec![Finding::new(Severity::Warning, ShortData { step, point }).next(NextStep::MeasureAgain)]
        }
        WorkDone::Whole | WorkDone::CutShort { .. } => Vec::new(),
    }
}
