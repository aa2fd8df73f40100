//! What a detector is; the lists of detectors are in [`crate::detect`].

use crate::evidence::PointView;
use crate::finding::Code;
use crate::{Finding, PointAnalysis};
use model::Plan;

/// Looks for one kind of finding in a point.
pub struct Detector {
    /// The stable code of its findings.
    pub code: Code,
    /// Looks.
    pub detect: fn(&PointView) -> Vec<Finding>,
}

/// Looks for one kind of finding among the points of a run, and may know what its plan asks for.
pub struct RunDetector {
    /// The stable code of its findings.
    pub code: Code,
    /// Looks.
    pub detect: fn(&[PointAnalysis], &Plan) -> Vec<Finding>,
}
