//! Says which counters are missing.
//!
//! In: the events of sources that broke or were never there. Out: a note. Limits: what a missing counter would have shown
//! stays unknown; values that need it are absent, not 0.

use super::detector::{Detector, PointView};
use crate::text::plural;
use crate::{Finding, Severity};
use model::EventKind;
use std::collections::BTreeSet;

/// The entry in the list of detectors.
pub const DETECTOR: Detector = Detector {
    code: "counter-gap",
    help: "a source of counters is missing or broke",
    explain: "A file of the kernel or a statistic of the engine could not be read, at first or at some time. The load goes on \
              and its numbers stand. Cost per operation, the charts of that source and the findings that rest on it (foreign \
              CPU, memory pressure, what held the point back) are missing or cover less than the run.",
    detect,
};

fn detect(view: &PointView) -> Vec<Finding> {
    let texts: BTreeSet<&str> = view.events(EventKind::SourceGap).map(|event| event.text.as_str()).collect();
    if texts.is_empty() {
        return Vec::new();
    }
    let title = format!("counters are missing: {}", plural(texts.len(), "gap"));
    let evidence = texts.into_iter().collect::<Vec<_>>().join("; ");
    vec![DETECTOR.finding(Severity::Note, title, evidence, "see `plimsoll doctor` for what this machine offers")]
}

#[cfg(test)]
mod tests {
    use crate::simulate::Simulation;
    use model::EventKind;

    #[test]
    fn the_same_gap_is_told_once() {
        let gaps = ["psi: no /proc/pressure", "disk: no such device", "psi: no /proc/pressure"];
        let simulation =
            gaps.iter().fold(Simulation::counts(&[1000; 10]), |all, gap| all.event(EventKind::SourceGap, gap));
        let finding = simulation.finding("counter-gap");
        assert_eq!(finding.title, "counters are missing: 2 gaps");
        assert_eq!(finding.evidence, "disk: no such device; psi: no /proc/pressure");
        assert!(Simulation::counts(&[1000; 10]).findings("counter-gap").is_empty());
    }
}
