//! Checks throughput and service times against each other by Little's law.
//!
//! In: the service times of the whole intervals. Out: an error if more operations were in flight than the clients can have, a
//! warning if the clients spent much of their time elsewhere.
//! Limits: the lower bound is for a closed loop with one operation per client, no think time and no failure; the scripted
//! engine is left out, since there the generator is all there is to measure.

use super::{Detects, Finding, FindingKind};
use crate::computed_phase::Measured;
use crate::evidence::PointView;
use crate::judgement::{NextStep, Severity, Validity};
use crate::numbers::achieved::mean_in_flight;
use crate::numbers::steps::has_steps;
use crate::recorded::facts::{is_scripted, slots};
use model::{EventKind, Nanos, Pacing, Phase, PointData};
use serde::Serialize;
use words::quantity::{number, percent, range};

/// A mean number of operations in flight that does not fit the clients.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct InFlightMismatch {
    /// Throughput times mean service time.
    pub in_flight_mean: f64,
    /// Clients times depth: as many as can be in flight.
    pub in_flight_max: u64,
}

impl InFlightMismatch {
    /// Whether more were in flight than can be.
    pub fn is_impossible(&self) -> bool {
        self.in_flight_mean > self.in_flight_max as f64
    }
}

// Room for the width of histogram buckets and for stamps taken once per batch.
const UPPER_SHARE: f64 = 1.05;

// Making and recording an operation costs about 0.1 us: a fifth only of operations below 0.5 us.
const LOWER_SHARE: f64 = 0.80;

fn detect(view: &PointView) -> Vec<Finding> {
    let Some(measured) = view.measured else { return Vec::new() };
    let in_flight_max = slots(view.point);
    let Some(in_flight_mean) = mean_in_flight(measured.window) else { return Vec::new() };
    let detail = InFlightMismatch { in_flight_mean, in_flight_max };
    let share = in_flight_mean / in_flight_max as f64;
    if share > UPPER_SHARE {
        return vec![Finding::new(Severity::Error, detail).next(NextStep::ReportBug)];
    }
    let outside = 1.0 - share - edge_share(view.point, &measured);
    if outside > 1.0 - LOWER_SHARE && lower_bound_holds(view) {
        vec![Finding::new(Severity::Warning, detail).next(NextStep::AddClients)]
    } else {
        Vec::new()
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
    // In a turn with steps a client is busy with those, too.
    eager
        && !has_steps(view.point)
        && all_counted
        && !view.compresses_file()
        && !is_scripted(view.point)
        && view.events(EventKind::Hung).next().is_none()
}

impl FindingKind for InFlightMismatch {
    const SEVERITIES: &'static [Severity] = &[Severity::Warning, Severity::Error];
    const DETECTS: Detects = Detects::Point(detect);
    const REASON: &'static str = "showed more operations in flight than clients";

    fn reason(validity: Validity) -> &'static str {
        if validity == Validity::Indicative { "had clients busy outside operations" } else { Self::REASON }
    }

    fn is_like(&self, other: &Self) -> bool {
        self.is_impossible() == other.is_impossible()
    }

    fn title(alike: &[&Self]) -> String {
        if alike[0].is_impossible() {
            "more operations in flight than the clients can have".to_owned()
        } else {
            let outside = |one: &Self| 1.0 - one.in_flight_mean / one.in_flight_max as f64;
            format!("clients spent {} of their time outside operations", range(alike, outside, percent))
        }
    }

    fn evidence(&self) -> String {
        let mean = number(self.in_flight_mean);
        if self.is_impossible() {
            format!("throughput * mean service time = {mean} > clients * depth = {}", self.in_flight_max)
        } else {
            format!("throughput * mean service time = {mean} of {} clients", self.in_flight_max)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulated::Simulation;
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
        let found: InFlightMismatch = simulation.figures();
        assert!((found.in_flight_mean - 1.2).abs() < 0.005 && found.in_flight_max == 1, "{found:?}");
        assert!(found.is_impossible());
    }

    #[test]
    fn clients_that_spend_half_of_their_time_elsewhere_are_found() {
        let simulation = Simulation::counts(&[1000; 10]).with(|point| point.trial.load.clients = 2);
        let finding = simulation.finding("littles-law");
        assert_eq!(finding.severity, Severity::Warning);
        let found: InFlightMismatch = simulation.figures();
        let outside = 1.0 - found.in_flight_mean / found.in_flight_max as f64;
        assert!((outside - 0.52).abs() < 0.006 && !found.is_impossible(), "{found:?}");
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
