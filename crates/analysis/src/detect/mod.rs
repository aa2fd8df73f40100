//! The judgement: one detector a file, each listed once.
//!
//! In: a [`PointView`], or all analysed points of a run. Out: [`Finding`]s with their evidence.
//! Limits: a detector sees one point and decides alone; what needs several points is a [`RunDetector`].
//!
//! To add a detector: write its file and add its line to [`DETECTORS`] or [`RUN_DETECTORS`].

pub mod accounts_differ;
pub mod background_rate_missed;
pub mod bottleneck;
pub mod broken_conditions;
pub mod bursts;
pub mod cache_mismatch;
pub mod cached;
pub mod client_bound;
pub mod clock_gap;
pub mod clock_spread;
pub mod connect_retries;
pub mod coordinated_omission;
pub mod corrupt;
pub mod counter_gap;
pub mod cpu_throttled;
pub mod cut_short;
pub mod detector;
pub mod drops;
pub mod endpoint_outage;
pub mod errors;
pub mod few_samples;
pub mod foreign_cpu;
pub mod host_lost;
pub mod host_uneven;
pub mod hung;
pub mod imported;
pub mod incomplete;
pub mod inconsistent_repeats;
pub mod insert_slowdown;
pub mod interrupted;
pub mod io_wq_offload;
pub mod knee;
pub mod least_steady;
pub mod level_shift;
pub mod limit_escaped;
pub mod littles_law;
pub mod load_line;
pub mod measured_again;
pub mod mixed_durability;
pub mod not_steady;
pub mod outage;
pub mod overload;
pub mod own_gap;
pub mod pace_exceeded;
pub mod partition_drops;
pub mod plausibility;
pub mod replay_late;
pub mod restarted;
pub mod retries;
pub mod server_unseen;
pub mod settings_changed;
pub mod settings_unread;
pub mod short_data;
pub mod slowdown;
pub mod source_read;
pub mod stacks_taken;
pub mod stall;
pub mod stall_cause;
pub mod start_skew;
pub mod starvation;
pub mod steady;
pub mod swap;
pub mod target_not_reached;
pub mod too_short;
pub mod two_levels;
pub mod unfair_instances;
pub mod unsteady;
pub mod wave;
pub mod wide_interval;
pub mod write_debt;

pub use detector::{Detector, RunDetector};

use crate::Finding;
use crate::evidence::{HostPartView, PointView};
use crate::finding::Code;
use crate::hosts::HostPart;

/// Every detector of a point, in the order in which findings are shown.
pub const DETECTORS: &[Detector] = &[
    imported::DETECTOR,
    incomplete::DETECTOR,
    interrupted::DETECTOR,
    measured_again::DETECTOR,
    cut_short::DETECTOR,
    short_data::DETECTOR,
    hung::DETECTOR,
    settings_changed::DETECTOR,
    settings_unread::DETECTOR,
    restarted::DETECTOR,
    outage::DETECTOR,
    endpoint_outage::DETECTOR,
    host_lost::DETECTOR,
    host_uneven::DETECTOR,
    clock_spread::DETECTOR,
    start_skew::DETECTOR,
    own_gap::DETECTOR,
    clock_gap::DETECTOR,
    errors::DETECTOR,
    retries::DETECTOR,
    corrupt::DETECTOR,
    broken_conditions::DETECTOR,
    plausibility::DETECTOR,
    littles_law::DETECTOR,
    pace_exceeded::DETECTOR,
    replay_late::DETECTOR,
    target_not_reached::DETECTOR,
    io_wq_offload::DETECTOR,
    cached::DETECTOR,
    source_read::DETECTOR,
    limit_escaped::DETECTOR,
    client_bound::DETECTOR,
    foreign_cpu::DETECTOR,
    cpu_throttled::DETECTOR,
    swap::DETECTOR,
    stacks_taken::DETECTOR,
    overload::DETECTOR,
    background_rate_missed::DETECTOR,
    too_short::DETECTOR,
    wide_interval::DETECTOR,
    few_samples::DETECTOR,
    steady::DETECTOR,
    not_steady::DETECTOR,
    unsteady::DETECTOR,
    slowdown::DETECTOR,
    level_shift::DETECTOR,
    two_levels::DETECTOR,
    wave::DETECTOR,
    stall::DETECTOR,
    drops::DETECTOR,
    stall_cause::DETECTOR,
    partition_drops::DETECTOR,
    bursts::DETECTOR,
    starvation::DETECTOR,
    connect_retries::DETECTOR,
    unfair_instances::DETECTOR,
    coordinated_omission::DETECTOR,
    bottleneck::DETECTOR,
    load_line::DETECTOR,
    write_debt::DETECTOR,
    accounts_differ::DETECTOR,
    cache_mismatch::DETECTOR,
    counter_gap::DETECTOR,
    server_unseen::DETECTOR,
];

/// Every detector that needs several points.
pub const RUN_DETECTORS: &[RunDetector] = &[
    mixed_durability::DETECTOR,
    insert_slowdown::DETECTOR,
    inconsistent_repeats::DETECTOR,
    least_steady::DETECTOR,
    knee::DETECTOR,
];

/// The findings of every detector in `view`.
pub fn detect_all(view: &PointView) -> Vec<Finding> {
    let able = DETECTORS.iter().filter(|detector| imported::can_judge(view, detector.code));
    let mut found: Vec<Finding> = able.flat_map(|detector| detect_one(view, detector)).collect();
    if view.point.traits.imported.is_some() {
        found.iter_mut().for_each(|finding| finding.next = finding.next.for_imported());
    }
    debug_assert!(found.iter().all(has_declared_severity), "a severity is not the declared one: {found:?}");
    found
}

/// The findings of one detector: those about the machine of clients or of the database are looked for on each of several hosts.
fn detect_one(view: &PointView, detector: &Detector) -> Vec<Finding> {
    if view.parts.is_empty() || !is_about_host(detector.code) {
        return (detector.detect)(view);
    }
    let judged = view.parts.iter().filter(|one| is_judged_by(one, detector.code));
    judged.flat_map(|one| (detector.detect)(&one.view).into_iter().map(|found| found.on_host(one.host))).collect()
}

/// Whether findings of `code` are looked for in this part of a host.
fn is_judged_by(part: &HostPartView, code: Code) -> bool {
    if code == Code::ClientBound { part.part == HostPart::Load } else { part.is_first }
}

/// Whether such a finding is about one machine and plimsoll on it.
fn is_about_host(code: Code) -> bool {
    use Code::{ClientBound, ClockGap, CounterGap, CpuThrottled, ForeignCpu, OwnGap, Swap};
    matches!(code, ClientBound | ClockGap | CounterGap | CpuThrottled | ForeignCpu | OwnGap | Swap)
}

/// Whether `finding` has a severity that the reference lists for its code.
fn has_declared_severity(finding: &Finding) -> bool {
    finding.code().severities().contains(&finding.severity)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulated::{Random, Simulation};
    use std::collections::BTreeSet;

    #[test]
    fn every_code_has_one_detector_and_is_written_in_small_letters() {
        let of_points = DETECTORS.iter().map(|detector| detector.code);
        let codes: Vec<Code> = of_points.chain(RUN_DETECTORS.iter().map(|detector| detector.code)).collect();
        assert_eq!(codes, Code::ALL);
        let names: BTreeSet<&str> = codes.iter().map(|code| code.as_str()).collect();
        assert_eq!(names.len(), codes.len());
        assert!(names.iter().all(|name| name.chars().all(|c| c.is_ascii_lowercase() || c == '-')), "{names:?}");
    }

    #[test]
    fn findings_about_several_points_are_those_of_the_detectors_of_runs() {
        let of_runs: Vec<Code> = RUN_DETECTORS.iter().map(|detector| detector.code).collect();
        let declared = Code::ALL.iter().copied().filter(|code| code.is_about_several_points());
        assert_eq!(declared.collect::<Vec<_>>(), of_runs);
    }

    #[test]
    fn a_code_is_found_by_its_name() {
        assert_eq!(Code::parse("stall"), Some(Code::Stall));
        assert_eq!(Code::parse("no-such-code"), None);
    }

    #[test]
    fn a_quiet_run_of_poisson_noise_is_valid_in_each_of_60_seeds() {
        for seed in 0..60 {
            let mut random = Random::new(seed);
            let mean = [50.0, 400.0, 2_000.0][seed as usize % 3];
            let counts: Vec<u64> = (0..30).map(|_| random.poisson(mean)).collect();
            let findings = Simulation::counts(&counts).analysis().points.remove(0).findings;
            let codes: Vec<&str> = findings.iter().map(|finding| finding.code().as_str()).collect();
            // A noise of 14 % can look, by chance, as if it had a memory: its interval is then wide. That of one seed rises by a third.
            let expected: &[&str] = if mean < 400.0 {
                &["few-samples", "bottleneck", "wide-interval", "level-shift"]
            } else {
                &["bottleneck"]
            };
            assert!(codes.iter().all(|code| expected.contains(code)), "seed {seed}: {findings:?}");
        }
    }
}
