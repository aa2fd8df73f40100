//! Finds points of one workload that differ in durability although their plan does not compare that.
//!
//! In: the parameter or fact `durability` of each point. Out: a warning per workload.
//! Limits: trusts the engine's word; whether the device keeps its promise is not known.

use super::detector::RunDetector;
use crate::finding::comparison::MixedDurability;
use crate::finding::{Code, NextStep, Subject};
use crate::points::durability::{durability_by_workload, is_asked_for};
use crate::{Finding, PointAnalysis, Severity};
use model::Plan;
use std::collections::{BTreeMap, BTreeSet};

/// The entry in the list of detectors of runs.
pub const DETECTOR: RunDetector = RunDetector { code: Code::MixedDurability, detect };

fn detect(points: &[PointAnalysis], plan: &Plan) -> Vec<Finding> {
    if is_asked_for(points, plan) {
        return Vec::new();
    }
    let words = durability_by_workload(points);
    words.into_iter().filter(|(_, words)| words.len() > 1).map(|(workload, words)| finding(workload, words)).collect()
}

fn finding(workload: &str, words: BTreeMap<&str, BTreeSet<&str>>) -> Finding {
    let owned =
        |(word, targets): (&str, BTreeSet<&str>)| (word.to_owned(), targets.into_iter().map(str::to_owned).collect());
    let detail = MixedDurability { targets: words.into_iter().map(owned).collect() };
    let finding = Finding::new(Severity::Warning, detail).about(Subject::Workload(workload.to_owned()));
    finding.next(NextStep::AlignDurability)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyse;
    use crate::simulated::{Simulation, figures_of, params, run_of};
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
        assert_eq!(findings[0].subject, Subject::Workload("oltp".into()));
        let targets = &figures_of::<MixedDurability>(&findings)[0].targets;
        assert_eq!(targets.keys().collect::<Vec<_>>(), ["disk", "os"]);
        assert!(targets["disk"].contains("sqlite") && targets["os"].contains("fjall"), "{targets:?}");
        assert!(run(["disk", "disk"]).is_empty());
    }

    #[test]
    fn what_the_plan_compares_is_no_warning_unless_an_engine_kept_another() {
        let point = |durability: &str, read_back: &str| {
            let simulation = Simulation::counts(&[1000; 10]).with(|point| {
                point.trial.target.params = params(&[("durability", Value::Word(durability.into()))]);
                point.facts.push(model::Fact::new("durability", read_back));
            });
            simulation.point()
        };
        let found = |last: [&str; 2], ab: Option<&str>| {
            let mut run = run_of(vec![point("os", "os"), point(last[0], last[1])], Vec::new());
            run.meta.plan.ab = ab.map(str::to_owned);
            analyse(&run)
        };
        let asked = found(["disk", "disk"], Some("durability"));
        assert!(asked.findings.is_empty() && asked.verdict.relative[0].compares_durability, "{:?}", asked.findings);
        assert_eq!(found(["disk", "disk"], None).findings.len(), 1);
        let kept_another = found(["disk", "none"], Some("durability"));
        assert!(kept_another.findings.len() == 1 && !kept_another.verdict.relative[0].compares_durability);
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
        let targets = &figures_of::<MixedDurability>(&findings)[0].targets;
        assert_eq!(targets.keys().collect::<Vec<_>>(), ["disk", "none"]);
    }
}
