//! The judgement: one detector a file, each listed once.
//!
//! In: a [`PointView`], or all analysed points of a run. Out: [`Finding`]s with their evidence.
//! Limits: a detector sees one point and decides alone; what needs several points is a [`RunDetector`].
//!
//! To add a detector: write its file and add its line to [`DETECTORS`] or [`RUN_DETECTORS`].

pub mod accounts_differ;
pub mod asked_achieved;
pub mod bursts;
pub mod cached;
pub mod client_bound;
pub mod clock_gap;
pub mod coordinated_omission;
pub mod corrupt;
pub mod counter_gap;
pub mod cut_short;
pub mod detector;
pub mod drops;
pub mod errors;
pub mod few_samples;
pub mod foreign_cpu;
pub mod hung;
pub mod incomplete;
pub mod insert_slowdown;
pub mod interrupted;
pub mod knee;
pub mod level_shift;
pub mod limit;
pub mod limit_escaped;
pub mod littles_law;
pub mod load_line;
pub mod measured_again;
pub mod memory_shown;
pub mod not_steady;
pub mod overload;
pub mod partition_drops;
pub mod plausibility;
pub mod punted;
pub mod rate_kept;
pub mod stall;
pub mod starvation;
pub mod steady;
pub mod swap;
pub mod too_short;
pub mod two_levels;
pub mod unlike_durability;
pub mod unsteady;
pub mod wave;
pub mod write_debt;

pub use detector::{Detector, Explanation, Measured, PointView, RunDetector};

use crate::Finding;

/// Every detector of a point, in the order in which findings are shown.
pub const DETECTORS: &[Detector] = &[
    incomplete::DETECTOR,
    interrupted::DETECTOR,
    measured_again::DETECTOR,
    cut_short::DETECTOR,
    hung::DETECTOR,
    clock_gap::DETECTOR,
    errors::DETECTOR,
    corrupt::DETECTOR,
    plausibility::DETECTOR,
    littles_law::DETECTOR,
    asked_achieved::DETECTOR,
    punted::DETECTOR,
    cached::DETECTOR,
    limit_escaped::DETECTOR,
    client_bound::DETECTOR,
    foreign_cpu::DETECTOR,
    swap::DETECTOR,
    overload::DETECTOR,
    rate_kept::DETECTOR,
    too_short::DETECTOR,
    few_samples::DETECTOR,
    steady::DETECTOR,
    not_steady::DETECTOR,
    unsteady::DETECTOR,
    level_shift::DETECTOR,
    two_levels::DETECTOR,
    wave::DETECTOR,
    stall::DETECTOR,
    drops::DETECTOR,
    partition_drops::DETECTOR,
    bursts::DETECTOR,
    starvation::DETECTOR,
    coordinated_omission::DETECTOR,
    limit::DETECTOR,
    load_line::DETECTOR,
    write_debt::DETECTOR,
    accounts_differ::DETECTOR,
    memory_shown::DETECTOR,
    counter_gap::DETECTOR,
];

/// Every detector that needs several points.
pub const RUN_DETECTORS: &[RunDetector] = &[unlike_durability::DETECTOR, insert_slowdown::DETECTOR, knee::DETECTOR];

/// The explanation of the finding `code`.
pub fn explain(code: &str) -> Option<Explanation> {
    explanations().find(|explanation| explanation.code == code)
}

/// The explanations of all findings, those of points first.
pub fn explanations() -> impl Iterator<Item = Explanation> {
    let of_points = DETECTORS.iter().map(|d| Explanation { code: d.code, help: d.help, explain: d.explain });
    of_points.chain(RUN_DETECTORS.iter().map(|d| Explanation { code: d.code, help: d.help, explain: d.explain }))
}

/// The findings of every detector in `view`.
pub fn detect_all(view: &PointView) -> Vec<Finding> {
    DETECTORS.iter().flat_map(|detector| (detector.detect)(view)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::{Random, Simulation};
    use std::collections::BTreeSet;

    #[test]
    fn every_code_is_its_own_and_says_how_it_decides() {
        let all: Vec<Explanation> = explanations().collect();
        let codes: BTreeSet<&str> = all.iter().map(|explanation| explanation.code).collect();
        assert_eq!(codes.len(), all.len());
        for entry in all {
            assert!(entry.code.chars().all(|c| c.is_ascii_lowercase() || c == '-'), "{}", entry.code);
            assert!(!entry.help.is_empty() && !entry.help.ends_with('.'), "{}", entry.code);
            assert!(entry.explain.len() > 150 && entry.explain.ends_with('.'), "{}", entry.code);
        }
    }

    #[test]
    fn a_code_is_explained_and_an_unknown_one_is_not() {
        assert_eq!(explain("stall").map(|explanation| explanation.code), Some("stall"));
        assert_eq!(explain("knee").map(|explanation| explanation.code), Some("knee"));
        assert_eq!(explain("no-such-code"), None);
    }

    #[test]
    fn a_quiet_run_of_poisson_noise_is_valid_in_each_of_60_seeds() {
        for seed in 0..60 {
            let mut random = Random::new(seed);
            let mean = [50.0, 400.0, 2_000.0][seed as usize % 3];
            let counts: Vec<u64> = (0..30).map(|_| random.poisson(mean)).collect();
            let findings = Simulation::counts(&counts).analysis().points.remove(0).findings;
            let codes: Vec<&str> = findings.iter().map(|finding| finding.code.as_str()).collect();
            let expected: &[&str] = if mean < 400.0 { &["few-samples", "limit"] } else { &["limit"] };
            assert!(codes.iter().all(|code| expected.contains(code)), "seed {seed}: {findings:?}");
        }
    }
}
