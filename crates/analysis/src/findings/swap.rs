//! Finds runs that were short of memory.
//!
//! In: the counters of `memory` and `psi`. Out: a warning. Limits: a memory limit of a group shows in `psi` only if the
//! kernel counts it for the whole machine.

use super::{Detects, Finding, FindingKind, Watched};
use crate::evidence::PointView;
use crate::judgement::{NextStep, Severity};
use crate::math::units::Share;
use model::CounterRole;
use serde::Serialize;
use words::quantity::{percent, plural, whole};

/// Signs that the machine was short of memory.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct MemoryPressure {
    pub swapped_in_pages: u64,
    pub swapped_out_pages: u64,
    /// The share of the time in which all tasks waited for memory.
    pub waited_share: Share,
}

// A single page may be an old one of another process that comes back; the count is in the finding.
const SWAPPED_PAGES_MAX: f64 = 0.0;

// Of the time. The kernel waits for memory now and then on any machine, when it makes room for the page cache.
const PRESSURE_MAX: f64 = 0.01;

fn detect(view: &PointView) -> Vec<Finding> {
    let Some(measured) = view.measured else { return Vec::new() };
    let pages = measured
        .growth_of_all(view.point, CounterRole::SwapIn)
        .zip(measured.growth_of_all(view.point, CounterRole::SwapOut));
    let waited_ns = measured.growth_of_all(view.point, CounterRole::MemoryStall);
    // An engine that is held to a memory limit is meant to wait for memory.
    let asked_for = view.point.trial.target.limits.memory.is_some();
    let pressure = waited_ns.filter(|_| !asked_for).map_or(0.0, |ns| ns / 1e9 / measured.summary.seconds);
    let (swapped_in, swapped_out) = pages.unwrap_or((0.0, 0.0));
    if swapped_in + swapped_out <= SWAPPED_PAGES_MAX && pressure <= PRESSURE_MAX {
        return Vec::new();
    }
    let detail = MemoryPressure {
        swapped_in_pages: swapped_in as u64,
        swapped_out_pages: swapped_out as u64,
        waited_share: Share(pressure),
    };
    vec![Finding::new(Severity::Warning, detail).next(NextStep::ShrinkMemory)]
}

impl FindingKind for MemoryPressure {
    const SEVERITIES: &'static [Severity] = &[Severity::Warning];
    const DETECTS: Detects = Detects::EachHost(detect);
    const WATCHED: Watched = Watched::Always;
    const REASON: &'static str = "ran short of memory";

    fn title(_: &[&Self]) -> String {
        "the machine was short of memory".to_owned()
    }

    fn evidence(&self) -> String {
        format!(
            "{} swapped in, {} out; all tasks waited for memory {} of the time",
            plural(self.swapped_in_pages, "page"),
            whole(self.swapped_out_pages as f64),
            percent(self.waited_share.0)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulated::Simulation;

    fn swapping(pages_per_s: f64, full_share: f64) -> Simulation {
        Simulation::counts(&[1000; 10])
            .source("memory", &["swap_in_pages", "swap_out_pages"], move |second| {
                vec![7.0, 900.0 + pages_per_s * second]
            })
            .source("psi", &["memory_full_ns"], move |second| vec![full_share * second * 1e9])
    }

    #[test]
    fn swapped_pages_and_waiting_for_memory_are_found() {
        let found: MemoryPressure = swapping(12.0, 0.0).figures();
        assert_eq!((found.swapped_in_pages, found.swapped_out_pages, found.waited_share), (0, 120, Share(0.0)));
        assert!((swapping(0.0, 0.02).figures::<MemoryPressure>().waited_share.0 - 0.02).abs() < 1e-9);
    }

    #[test]
    fn an_engine_that_was_to_be_short_of_memory_is_no_finding() {
        let limit = Some(model::Bytes::from_mib(128));
        assert!(swapping(0.0, 0.02).with(|point| point.trial.target.limits.memory = limit).findings("swap").is_empty());
    }

    #[test]
    fn what_was_swapped_before_the_run_does_not_count() {
        assert!(swapping(0.0, 0.005).findings("swap").is_empty());
    }
}
