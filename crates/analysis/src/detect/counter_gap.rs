//! Finds counters that are missing.
//!
//! In: the events of sources that broke or were never there. Out: a note. Limits: what a missing counter would have shown
//! stays unknown; values that need it are absent, not 0.

use super::detector::Detector;
use crate::evidence::PointView;
use crate::finding::machine::MissingCounters;
use crate::finding::{Code, NextStep};
use crate::{Finding, Severity};
use model::EventKind;
use std::collections::BTreeSet;

/// The entry in the list of detectors.
pub const DETECTOR: Detector = Detector { code: Code::CounterGap, detect };

fn detect(view: &PointView) -> Vec<Finding> {
    let texts: BTreeSet<String> = view.quoted(EventKind::SourceGap, usize::MAX).into_iter().collect();
    if texts.is_empty() {
        return Vec::new();
    }
    let detail = MissingCounters { quoted: texts.into_iter().collect() };
    vec![Finding::new(Severity::Note, detail).next(NextStep::RunDoctor)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulated::Simulation;

    #[test]
    fn the_same_gap_is_told_once() {
        let gaps = ["psi: no /proc/pressure", "disk: no such device", "psi: no /proc/pressure"];
        let simulation =
            gaps.iter().fold(Simulation::counts(&[1000; 10]), |all, gap| all.event(EventKind::SourceGap, gap));
        let found: MissingCounters = simulation.figures();
        assert_eq!(found.quoted, ["disk: no such device", "psi: no /proc/pressure"]);
        assert!(Simulation::counts(&[1000; 10]).findings("counter-gap").is_empty());
    }
}
