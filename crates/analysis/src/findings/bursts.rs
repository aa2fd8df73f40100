//! Finds targets that deliver in bursts: everything at the beginning of a time slice, nothing for the rest of it.
//!
//! In: the bursts of the run phase. Out: a note with the period and the share of time without anything.
//! Limits: intervals of a slice or longer do not show it; then only the slow tail of the service times does.

use super::{CourseDisturbance, Detects, Finding, FindingKind, ShownBy, Watched};
use crate::Quantiles;
use crate::computed_phase::Measured;
use crate::course::shape::bursts::Bursts;
use crate::evidence::PointView;
use crate::judgement::{NextStep, Severity};
use crate::math::units::{Share, nanos};
use model::Nanos;
use serde::Serialize;
use words::quantity::{percent, range, rate, seconds, time, whole};

/// Bursts at equal distances.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct RateBursts {
    /// From the beginning of one to that of the next.
    pub period_ns: Nanos,
    /// The share of the intervals in which next to nothing was done.
    pub off_share: Share,
    /// How many there were.
    pub count: usize,
    /// How many intervals there are.
    pub intervals: usize,
    /// The length of one.
    pub interval_ns: Nanos,
    pub mean_per_s: f64,
    /// The service times; `None` if no operation was done.
    pub service_ns: Option<Quantiles>,
}

fn detect(view: &PointView) -> Vec<Finding> {
    let Some(measured) = view.measured else { return Vec::new() };
    measured.shape.bursts.map(|found| delivered(&found, &measured)).into_iter().collect()
}

fn delivered(found: &Bursts, measured: &Measured) -> Finding {
    let detail = RateBursts {
        period_ns: nanos(found.period_s),
        off_share: Share(found.off_share),
        count: found.count,
        intervals: measured.window.whole.len(),
        interval_ns: measured.window.whole[0].length,
        mean_per_s: measured.summary.ops_per_s,
        service_ns: measured.summary.service_ns,
    };
    Finding::new(Severity::Note, detail).next(NextStep::FindSlicedLimit)
}

impl FindingKind for RateBursts {
    const SEVERITIES: &'static [Severity] = &[Severity::Note];
    const DETECTS: Detects = Detects::Point(detect);
    const WATCHED: Watched = Watched::OfStatements;
    const DISTURBANCE: Option<CourseDisturbance> = Some(CourseDisturbance::StoodStill);
    const SHOWN_BY: ShownBy = ShownBy::Rates;

    fn title(alike: &[&Self]) -> String {
        format!(
            "in bursts, one about every {} ms; next to nothing was done in {} of the time",
            range(alike, |one| one.period_ns.as_secs_f64() * 1e3, whole),
            range(alike, |one| one.off_share.0, percent)
        )
    }

    fn evidence(&self) -> String {
        let quantiles = self.service_ns.map_or(String::new(), |q| {
            let [p50, p99] = [q.p50, q.p99].map(|ns| time(ns as f64));
            let p999 = q.p999.map_or(String::new(), |ns| format!(", p99.9 {}", time(ns as f64)));
            format!("; service times: p50 {p50}, p99 {p99}{p999}")
        });
        format!(
            "{} bursts in {} intervals of {}, mean {}{quantiles}",
            self.count,
            self.intervals,
            seconds(self.interval_ns, self.interval_ns),
            rate(self.mean_per_s)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulated::Simulation;

    fn every_ms(interval_ms: u64, counts: &[u64]) -> Simulation {
        let length = interval_ms * 1_000_000;
        Simulation::counts(counts).with(|point| {
            point.phases[0].end.0 = counts.len() as u64 * length;
            for interval in &mut point.phases[0].intervals {
                interval.start.0 = u64::from(interval.index) * length;
                interval.length = Nanos(length);
            }
        })
    }

    /// What a limit of 200 operations a slice of 104 ms gives, all of them done in 20 ms.
    fn limited(interval_ms: u64, slices: u64) -> Vec<u64> {
        let mut counts = vec![0; (slices * 104 / interval_ms) as usize];
        for op in 0..slices * 200 {
            let at_us = op / 200 * 104_000 + op % 200 * 100;
            if let Some(count) = counts.get_mut((at_us / 1_000 / interval_ms) as usize) {
                *count += 1;
            }
        }
        counts
    }

    #[test]
    fn a_limit_enforced_in_slices_of_a_tenth_of_a_second_delivers_in_bursts() {
        let simulation = every_ms(50, &limited(50, 100));
        let found: RateBursts = simulation.figures();
        let period_ms = found.period_ns.as_secs_f64() * 1e3;
        assert!((100.0..110.0).contains(&period_ms), "{found:?}");
        assert!(simulation.findings("stall").is_empty(), "{:?}", simulation.findings("stall"));
    }

    #[test]
    fn intervals_as_long_as_the_slices_show_no_bursts() {
        assert!(every_ms(1_000, &limited(1_000, 600)).findings("bursts").is_empty());
        assert!(every_ms(104, &limited(104, 600)).findings("bursts").is_empty());
    }

    #[test]
    fn the_gaps_between_bursts_are_not_told_again_as_drops() {
        let simulation = every_ms(20, &limited(20, 100));
        assert_eq!(simulation.findings("bursts").len(), 1);
        assert!(simulation.findings("drops").is_empty());
    }

    #[test]
    fn pauses_of_seconds_are_stalls_and_no_bursts() {
        let pauses: Vec<u64> = (0..400).map(|at| if at % 20 < 8 { 0 } else { 100 }).collect();
        let simulation = every_ms(50, &pauses);
        assert!(simulation.findings("bursts").is_empty() && !simulation.findings("stall").is_empty());
    }
}
