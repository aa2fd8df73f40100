//! How steadily the points of a group ran.
//!
//! In: the analysed points of a group. Out: [`Steadiness`]: how many stalled, starved or drifted, and the longest wait of each sort. A point
//! with any finding of a disturbance did not run steadily.
//! Limits: a point that is timed as a whole is neither steady nor unsteady; one that is too short is not judged.

use super::figures;
use crate::PointAnalysis;
use crate::findings::Code;
use crate::findings::unsteady::Unsteadiness;
use crate::math::stats::INTERVALS_MIN;
use serde::Serialize;

/// How steadily points ran.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Steadiness {
    /// Points that have a rate.
    pub measured: usize,
    /// Those of them that ran long enough to judge, or that were disturbed.
    pub judged: usize,
    /// Points in which everything stood still.
    pub stalled: usize,
    /// Points in which some clients waited while others were served.
    pub starved: usize,
    /// Points whose rate drifted.
    pub drifted: usize,
    /// Points of which any of these is true, or that any other finding calls disturbed.
    pub disturbed: usize,
    /// The numbers of these points in the run.
    pub unsteady: Vec<u32>,
    pub longest_stall: Option<LongestWait>,
    pub longest_outage: Option<LongestWait>,
    /// The longest wait of a client while others were served.
    pub longest_wait: Option<LongestWait>,
}

/// A stall, or the wait of a single client.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LongestWait {
    pub point: u32,
    pub seconds: f64,
}

/// How steadily `points` ran.
pub(super) fn steadiness(points: &[&PointAnalysis]) -> Steadiness {
    let measured: Vec<&PointAnalysis> = points.iter().copied().filter(|point| has_rate(point)).collect();
    let count = |condition: fn(&PointAnalysis) -> bool| measured.iter().filter(|point| condition(point)).count();
    let longest = |wait: fn(&PointAnalysis) -> Option<LongestWait>| {
        measured.iter().filter_map(|point| wait(point)).reduce(LongestWait::longer)
    };
    Steadiness {
        measured: measured.len(),
        judged: count(|point| has_intervals(point) || is_disturbed(point)),
        stalled: count(has_stalled),
        starved: count(has_starved),
        drifted: count(has_drifted),
        disturbed: count(is_disturbed),
        unsteady: measured.iter().filter(|point| is_disturbed(point)).map(|point| point.id).collect(),
        longest_stall: longest(longest_stall),
        longest_outage: longest(longest_outage),
        longest_wait: longest(longest_wait),
    }
}

/// A step or a file that is timed as a whole is neither steady nor unsteady.
fn has_rate(point: &PointAnalysis) -> bool {
    let is_whole = point.duration_s().is_some() || point.compression.is_some();
    point.summary.as_ref().is_some_and(|summary| summary.ops > 0) && !is_whole
}

/// Whether there are enough intervals to see a drift.
fn has_intervals(point: &PointAnalysis) -> bool {
    point.series.as_ref().is_some_and(|series| series.counted_intervals().len() >= INTERVALS_MIN)
}

fn is_disturbed(point: &PointAnalysis) -> bool {
    let has_finding = point.findings.iter().any(|finding| finding.code().is_disturbance());
    let was_away = point.traits.observed.as_ref().is_some_and(|seen| seen.away_ns > 0);
    has_finding || has_drifted(point) || longest_outage(point).is_some() || was_away
}

fn has(point: &PointAnalysis, code: Code) -> bool {
    point.findings.iter().any(|finding| finding.code() == code)
}

fn has_stalled(point: &PointAnalysis) -> bool {
    has(point, Code::Stall)
}

fn has_starved(point: &PointAnalysis) -> bool {
    has(point, Code::Starvation)
}

fn has_drifted(point: &PointAnalysis) -> bool {
    let is_drift = figures::<Unsteadiness>(point).any(Unsteadiness::is_drift);
    is_drift || has(point, Code::NotSteady) || has(point, Code::Slowdown)
}

/// The longest stall of `point`: of all, or, if it was shorter than an interval, of the operations that show it.
fn longest_stall(point: &PointAnalysis) -> Option<LongestWait> {
    let shape = point.shape.as_ref().filter(|_| has_stalled(point))?;
    let stood_still = shape.stalls.iter().filter(|stall| stall.slower.is_none());
    let longest = stood_still.map(|stall| stall.length_s).reduce(f64::max);
    let seconds = longest.or_else(|| shape.short_stalls.map(|slow| slow.longest_s()))?;
    Some(LongestWait { point: point.id, seconds })
}

/// The longest time in which the server was gone.
fn longest_outage(point: &PointAnalysis) -> Option<LongestWait> {
    let lengths_s = point.shape.as_ref()?.outages.iter().map(|outage| outage.span.length_s());
    Some(LongestWait { point: point.id, seconds: lengths_s.reduce(f64::max)? })
}

/// The longest wait of a client while others were served.
fn longest_wait(point: &PointAnalysis) -> Option<LongestWait> {
    let shape = point.shape.as_ref().filter(|_| has_starved(point))?;
    Some(LongestWait { point: point.id, seconds: shape.starved_ops?.longest_s() })
}

impl LongestWait {
    fn longer(self, other: LongestWait) -> LongestWait {
        if other.seconds > self.seconds { other } else { self }
    }
}

impl Steadiness {
    /// That of the points of both.
    pub fn with(self, other: &Steadiness) -> Steadiness {
        let mut unsteady = self.unsteady;
        unsteady.extend(&other.unsteady);
        unsteady.sort_unstable();
        Steadiness {
            measured: self.measured + other.measured,
            judged: self.judged + other.judged,
            stalled: self.stalled + other.stalled,
            starved: self.starved + other.starved,
            drifted: self.drifted + other.drifted,
            disturbed: self.disturbed + other.disturbed,
            unsteady,
            longest_stall: self.longest_stall.into_iter().chain(other.longest_stall).reduce(LongestWait::longer),
            longest_outage: self.longest_outage.into_iter().chain(other.longest_outage).reduce(LongestWait::longer),
            longest_wait: self.longest_wait.into_iter().chain(other.longest_wait).reduce(LongestWait::longer),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::simulated::{Simulation, noisy, swinging};

    fn disturbed(simulation: &Simulation) -> usize {
        simulation.analysis().verdict.steadiness().disturbed
    }

    #[test]
    fn drops_waves_shifts_and_jumps_are_not_steady_and_noise_is() {
        let drops = noisy(1, 300, 20.0, |at| if at % 20 >= 18 { 600.0 } else { 1_000.0 });
        let shift = noisy(1, 300, 20.0, |at| if at < 100 { 1_000.0 } else { 800.0 });
        let jumps = noisy(1, 300, 3.0, |at| if at / 20 % 2 == 0 { 200.0 } else { 400.0 });
        let wave = Simulation::counts(&swinging(1_800, 190.0, 25.0, 6.0));
        for (code, one) in [("drops", drops), ("level-shift", shift), ("two-levels", jumps), ("wave", wave)] {
            assert_eq!((one.findings(code).len(), disturbed(&one)), (1, 1), "{code}");
        }
        let quiet = noisy(1, 300, 20.0, |_| 1_000.0);
        let verdict = quiet.analysis().verdict.steadiness();
        assert_eq!((verdict.judged, verdict.disturbed), (1, 0));
    }
}
