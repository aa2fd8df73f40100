//! Finds what moved with stalls and drops: counters, and lines of the server's log.
//!
//! In: the stalls and drops of the run phase, and every counter of the point. Out: a note. Limits: those of [`crate::anatomy`]; stalls
//! that only single operations show have no time that counters could be compared at.

use super::detector::Detector;
use crate::Finding;
use crate::Severity;
use crate::course::anatomy::find_causes;
use crate::evidence::PointView;
use crate::finding::causes::StallCauses;
use crate::finding::{Code, NextStep};
use model::CounterRole;

/// The entry in the list of detectors.
pub const DETECTOR: Detector = Detector { code: Code::StallCause, detect };

fn detect(view: &PointView) -> Vec<Finding> {
    let Some(measured) = view.measured.filter(|_| !view.has_variant()) else { return Vec::new() };
    let causes = find_causes(view.point, measured.window, measured.shape);
    causes.into_iter().map(explained).collect()
}

fn explained(found: StallCauses) -> Finding {
    let next = next_step(&found);
    Finding::new(Severity::Note, found).next(next)
}

fn next_step(found: &StallCauses) -> NextStep {
    match found.causes.first() {
        Some(first) if first.is_full() && first.role == Some(CounterRole::LogAge) => NextStep::EnlargeLog,
        _ => NextStep::CompareCharts,
    }
}
