//! Checks throughput and service times against each other by Little's law.
//!
//! In: the service times of the whole intervals. Out: an error where more was under way than clients can have, a warning where
//! clients spent much of their time elsewhere.
//! Limits: the lower bound is for a closed loop with one operation per client, no think time and no failure; the scripted
//! engine is left out of it, since there the generator is all there is to measure.

use super::detector::{Detector, Measured, PointView};
use crate::facts::{is_scripted, slots};
use crate::numbers::achieved::mean_in_flight;
use crate::text::percent;
use crate::{Finding, Severity};
use model::units::three_digits;
use model::{EventKind, Nanos, Pacing, Phase, PointData};

/// The entry in the list of detectors.
pub const DETECTOR: Detector = Detector {
    code: "littles-law",
    help: "throughput and service times contradict each other",
    explain: "Little's law (J. D. C. Little, Operations Research 9(3), 1961): the mean number of operations under way is the \
              throughput times the mean time of one. It cannot exceed clients * depth; where it does by more than 5 %, a time \
              or a count is wrong and the point is invalid. In a closed loop of one operation per client without think time \
              it must come near to the number of clients; where it stays below 80 %, the clients spent the rest outside \
              operations (making them, recording, or waiting for a CPU) and the target could have carried more.",
    detect,
};

// Room for the width of histogram buckets and for stamps taken once per batch.
const UPPER_SHARE: f64 = 1.05;
// Making and recording an operation costs about 0.1 us: a fifth only of operations below 0.5 us.
const LOWER_SHARE: f64 = 0.80;

fn detect(view: &PointView) -> Vec<Finding> {
    let Some(measured) = view.measured else { return Vec::new() };
    let slots = slots(view.point) as f64;
    let Some(under_way) = mean_in_flight(measured.window) else { return Vec::new() };
    if under_way > slots * UPPER_SHARE {
        return vec![too_many(under_way, slots)];
    }
    let outside = 1.0 - under_way / slots - edge_share(view.point, &measured);
    match outside > 1.0 - LOWER_SHARE && lower_bound_holds(view) {
        true => vec![elsewhere(under_way, slots)],
        false => Vec::new(),
    }
}

/// Operations cut by the beginning and the end of the phase are counted elsewhere: per client, one of the longest.
pub fn edge_share(point: &PointData, measured: &Measured) -> f64 {
    let warmup = point.phase(Phase::Warmup).into_iter().flat_map(|phase| &phase.intervals);
    let kinds = warmup.chain(&measured.window.phase.intervals).flat_map(|interval| &interval.kinds);
    let longest_ns = kinds.map(|kind| kind.service.max_ns()).max().unwrap_or(0);
    longest_ns as f64 / 1e9 / measured.summary.seconds
}

fn lower_bound_holds(view: &PointView) -> bool {
    let load = &view.point.trial.load;
    let eager = load.pacing == Pacing::Closed { think: Nanos(0) } && load.depth == 1;
    let recorded = view.measured.map(|measured| measured.window.recorded);
    let all_counted = recorded.is_some_and(|all| all.failed == 0 && all.ok > 0);
    eager && all_counted && !is_scripted(view.point) && view.events(EventKind::Hung).next().is_none()
}

fn too_many(under_way: f64, slots: f64) -> Finding {
    let title = "more operations under way than the clients can have".to_string();
    let evidence = format!("throughput * mean service time = {} > clients * depth = {slots}", three_digits(under_way));
    let next_step =
        "do not use this point; a clock or a counter of plimsoll is wrong, please report it with the run file";
    DETECTOR.finding(Severity::Error, title, evidence, next_step)
}

fn elsewhere(under_way: f64, slots: f64) -> Finding {
    let title = format!("clients spent {} of their time outside operations", percent(1.0 - under_way / slots));
    let evidence = format!("throughput * mean service time = {} of {slots} clients", three_digits(under_way));
    let next_step = "use more clients, or a machine with more CPUs for the load";
    DETECTOR.finding(Severity::Warning, title, evidence, next_step)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::Simulation;
    use model::Times;

    #[test]
    fn one_client_cannot_have_two_operations_under_way() {
        let mut simulation = Simulation::counts(&[1000; 10]);
        simulation.recorded.phases[0].intervals.iter_mut().for_each(|interval| {
            interval.kinds[0].service = Times::default();
            interval.kinds[0].service.record_n(1_200_000, 1000);
        });
        let finding = simulation.finding("littles-law");
        assert_eq!(finding.severity, Severity::Error);
        assert!(finding.evidence.contains("= 1.20 > clients * depth = 1"), "{}", finding.evidence);
    }

    #[test]
    fn clients_that_spend_half_of_their_time_elsewhere_are_found() {
        let simulation = Simulation::counts(&[1000; 10]).with(|point| point.trial.load.clients = 2);
        let finding = simulation.finding("littles-law");
        assert_eq!(finding.severity, Severity::Warning);
        assert_eq!(finding.title, "clients spent 52 % of their time outside operations");
    }

    #[test]
    fn think_time_and_depth_explain_time_outside_operations() {
        let two = Simulation::counts(&[1000; 10]).with(|point| point.trial.load.clients = 2);
        let thinking = Pacing::Closed { think: Nanos(1_000_000) };
        assert!(two.clone().with(|point| point.trial.load.pacing = thinking).findings("littles-law").is_empty());
        assert!(two.clone().with(|point| point.trial.load.depth = 4).findings("littles-law").is_empty());
        assert!(two.with(|point| point.trial.target.engine = "null".into()).findings("littles-law").is_empty());
    }

    #[test]
    fn a_long_operation_across_the_end_is_not_time_outside_operations() {
        let simulation = Simulation::closed(10, |seq| if seq == 5_000 { 8_000_000_000 } else { 1_000_000 });
        assert!(simulation.findings("littles-law").is_empty());
    }
}
