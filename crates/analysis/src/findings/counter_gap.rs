//! Finds counters that are missing.
//!
//! In: the events of sources that broke or were never there. Out: a note. Limits: what a missing counter would have shown
//! stays unknown; values that need it are absent, not 0.

use super::{Detects, Finding, FindingKind, Watched};
use crate::evidence::PointView;
use crate::judgement::{NextStep, Severity};
use model::EventKind;
use serde::Serialize;
use std::collections::BTreeSet;
use words::quantity::{range, whole};

/// Sources of counters that could not be read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MissingCounters {
    /// What the sampler recorded of each, without repetitions.
    pub quoted: Vec<String>,
}

fn detect(view: &PointView) -> Vec<Finding> {
    let texts: BTreeSet<String> = view.quoted(EventKind::SourceGap, usize::MAX).into_iter().collect();
    if texts.is_empty() {
        return Vec::new();
    }
    let detail = MissingCounters { quoted: texts.into_iter().collect() };
    vec![Finding::new(Severity::Note, detail).next(NextStep::RunDoctor)]
}

impl FindingKind for MissingCounters {
    const SEVERITIES: &'static [Severity] = &[Severity::Note];
    const DETECTS: Detects = Detects::EachHost(detect);
    const WATCHED: Watched = Watched::Always;

    fn title(alike: &[&Self]) -> String {
        let sources = range(alike, |one| one.quoted.len() as f64, whole);
        let is_one = alike.iter().all(|one| one.quoted.len() == 1);
        format!(
            "{sources} {} of counters or settings could not be read, or only slowly",
            if is_one { "source" } else { "sources" }
        )
    }

    fn evidence(&self) -> String {
        self.quoted.join("; ")
    }
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
