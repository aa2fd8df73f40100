//! Finds points of one workload that differ in durability.
//!
//! In: the parameter or fact `durability` of each point. Out: a warning per workload.
//! Limits: trusts what the engine says; whether the device keeps its promise is not known.

use super::detector::RunDetector;
pub use crate::durability::durability;
use crate::durability::durability_by_workload;
use crate::{Finding, PointAnalysis, Severity};
use std::collections::{BTreeMap, BTreeSet};

/// The entry in the list of detectors of runs.
pub const DETECTOR: RunDetector = RunDetector {
    code: "unlike-durability",
    help: "points of one workload differ in durability and must not be compared",
    explain: "An engine that has each commit on disk before it answers and one that leaves it to the operating system do not do \
              the same work: in one measurement the first made 353 single-row inserts per second and the second 3,791. \
              Points of one workload with unlike `durability` may stand beside each other only where durability is what is \
              being compared. Set it equal for all engines (`--durability`).",
    detect,
};

fn detect(points: &[PointAnalysis]) -> Vec<Finding> {
    let words = durability_by_workload(points);
    words.iter().filter(|(_, words)| words.len() > 1).map(|(workload, words)| finding(workload, words)).collect()
}

fn finding(workload: &str, words: &BTreeMap<&str, BTreeSet<&str>>) -> Finding {
    let names: Vec<&str> = words.keys().copied().collect();
    let title = format!("{workload}: points of unlike durability ({})", names.join(", "));
    let shown = |(word, targets): (&&str, &BTreeSet<&str>)| {
        format!("`{word}`: {}", targets.iter().copied().collect::<Vec<_>>().join(", "))
    };
    let evidence = words.iter().map(shown).collect::<Vec<_>>().join("; ");
    DETECTOR.finding(Severity::Warning, title, evidence, "set `--durability` equal for all before comparing them")
}

#[cfg(test)]
mod tests {
    use crate::analyse;
    use crate::simulate::{Simulation, params, run_of};
    use model::Value;

    fn run(durabilities: [&str; 2]) -> Vec<crate::Finding> {
        let point = |(engine, durability): (&str, &str)| {
            let simulation = Simulation::counts(&[1000; 10]).with(|point| {
                point.trial.target.engine = engine.into();
                point.trial.target.params = params(&[("durability", Value::Word(durability.into()))]);
            });
            simulation.point()
        };
        analyse(&run_of(["sqlite", "fjall"].into_iter().zip(durabilities).map(point).collect(), Vec::new())).findings
    }

    #[test]
    fn engines_of_unlike_durability_are_marked() {
        let findings = run(["disk", "os"]);
        assert_eq!(findings[0].title, "oltp: points of unlike durability (disk, os)");
        assert_eq!(findings[0].evidence, "`disk`: sqlite; `os`: fjall");
        assert!(run(["disk", "disk"]).is_empty());
    }

    #[test]
    fn what_the_engine_read_back_counts_and_not_what_was_planned() {
        let point = |read_back: &str| {
            let simulation = Simulation::counts(&[1000; 10]).with(|point| {
                point.trial.target.params = params(&[("durability", Value::Word("disk".into()))]);
                point.facts.push(model::Fact::new("durability", read_back));
            });
            simulation.point()
        };
        let findings = analyse(&run_of(vec![point("disk"), point("none")], Vec::new())).findings;
        assert_eq!(findings[0].title, "oltp: points of unlike durability (disk, none)");
    }
}
