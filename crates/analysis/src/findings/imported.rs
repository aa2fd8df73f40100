//! Marks points whose results another program has measured.
//!
//! In: the mark that the import has left. Out: a warning: nothing is known of the machine, its settings and what disturbed. Limits: it does
//! not judge the other program.

use super::{Detects, Finding, FindingKind};
use crate::evidence::PointView;
use crate::judgement::Severity;
use serde::Serialize;

/// Results of another program.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ImportedResults {
    /// The program with its version.
    pub program: String,
    /// Whether the operations are known for intervals and not only for the whole run.
    pub has_intervals: bool,
    /// Whether response times are known, so that there are percentiles.
    pub has_times: bool,
}

fn detect(view: &PointView) -> Vec<Finding> {
    let Some(program) = view.point.traits.imported.clone() else { return Vec::new() };
    let has_times = view.measured.is_some_and(|measured| !measured.series.response.is_empty());
    vec![Finding::new(Severity::Warning, ImportedResults { program, has_intervals: view.has_intervals(), has_times })]
}

impl FindingKind for ImportedResults {
    const SEVERITIES: &'static [Severity] = &[Severity::Warning];
    const DETECTS: Detects = Detects::Point(detect);
    const REASON: &'static str = "came from another program";

    fn can_judge_imported(_: &PointView) -> bool {
        true
    }

    fn is_like(&self, other: &Self) -> bool {
        self.program == other.program
    }

    fn title(alike: &[&Self]) -> String {
        format!("imported from {}, conditions unknown", alike[0].program)
    }

    fn evidence(&self) -> String {
        let intervals = if self.has_intervals { "with" } else { "without" };
        let times = if self.has_times { "with" } else { "without" };
        format!("{intervals} intervals, {times} response times; without counters of the machine")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judgement::{NextStep, Validity};
    use crate::simulated::Simulation;
    use model::{Fact, IMPORTED_FACT, Times};

    fn imported(simulation: Simulation) -> Simulation {
        simulation.with(|point| point.facts.push(Fact::new(IMPORTED_FACT, "fio 3.33")))
    }

    fn codes(simulation: &Simulation) -> Vec<&'static str> {
        let findings = simulation.analysis().points.remove(0).findings;
        findings.iter().map(|finding| finding.code().as_str()).collect()
    }

    #[test]
    fn imported_results_are_at_most_indicative_and_have_no_bottleneck() {
        let simulation = imported(Simulation::counts(&[20_000; 10]));
        assert_eq!(codes(&simulation), ["imported"]);
        let point = simulation.analysis().points.remove(0);
        assert_eq!((point.validity, point.bottlenecks.is_none()), (Validity::Indicative, true));
        let found: ImportedResults = simulation.figures();
        assert_eq!((found.program.as_str(), found.has_intervals, found.has_times), ("fio 3.33", true, true));
    }

    #[test]
    fn a_run_without_intervals_and_times_is_not_told_to_be_short() {
        let simulation = imported(Simulation::counts(&[20_000])).with(|point| {
            for kind in
                point.phases.iter_mut().flat_map(|phase| &mut phase.intervals).flat_map(|interval| &mut interval.kinds)
            {
                (kind.response, kind.service) = (Times::default(), Times::default());
            }
        });
        assert_eq!(codes(&simulation), ["imported"]);
        let found: ImportedResults = simulation.figures();
        assert_eq!((found.has_intervals, found.has_times), (false, false));
    }

    #[test]
    fn stalls_are_found_in_intervals_of_other_programs() {
        let mut counts = vec![20_000; 40];
        counts[20] = 0;
        let simulation = imported(Simulation::counts(&counts));
        assert!(codes(&simulation).contains(&"stall"));
        let steps: Vec<NextStep> =
            simulation.analysis().points[0].findings.iter().map(|finding| finding.next).collect();
        assert!(!steps.contains(&NextStep::ShortenInterval) && !steps.contains(&NextStep::CompareCharts), "{steps:?}");
        assert_eq!(NextStep::RunLonger.for_imported(), NextStep::ImportLonger);
    }
}
