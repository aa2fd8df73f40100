//! Finds points whose p99 rests on too few operations.
//!
//! In: the number of response times. Out: a warning that names the highest percentile that holds. Only p99.9 is missing: nothing, since
//! [`Quantiles::p999`] is then absent and no other number of the point is weaker for it. Operations count as if independent; those that
//! one stall delayed are not.
//!
//! [`Quantiles::p999`]: crate::Quantiles::p999

use super::{Detects, Finding, FindingKind};
use crate::evidence::PointView;
use crate::judgement::{Severity, Validity};
use crate::math::units::nanos;
use model::{Nanos, Percentile};
use serde::Serialize;
use words::quantity::{plural, whole};

/// Too few operations for p99.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct FewSamples {
    /// Operations done, the grace time included.
    pub ops: u64,
    /// Of them, those that ended in the grace time.
    pub grace_ops: u64,
    /// The highest percentile that they support; `None` if they support none.
    pub highest: Option<Percentile>,
    /// The length of the run.
    pub length_ns: Nanos,
    pub failed_ops: u64,
}

impl FewSamples {
    /// Whether no operation ended before the grace time.
    pub fn is_all_grace(&self) -> bool {
        self.ops > 0 && self.ops == self.grace_ops
    }
}

fn detect(view: &PointView) -> Vec<Finding> {
    let Some(measured) = view.measured else { return Vec::new() };
    let ops = measured.series.response.len();
    let highest = Percentile::ALL.iter().copied().rfind(|percentile| percentile.holds(ops));
    let severity = match highest {
        Some(highest) if highest >= Percentile::P99 => return Vec::new(),
        _ if measured.summary.ops > 0 && view.is_timed_as_whole() => return Vec::new(),
        // A rate of 0 next to the times of operations that ended too late would be read as one.
        _ if measured.summary.ops == 0 => Severity::Error,
        _ => Severity::Warning,
    };
    let summary = measured.summary;
    let (length_ns, grace_ops, failed_ops) = (nanos(summary.seconds), summary.grace_ops, summary.failed);
    let detail = FewSamples { ops, grace_ops, highest, length_ns, failed_ops };
    vec![Finding::new(severity, detail).next(view.lengthen())]
}

impl FindingKind for FewSamples {
    const SEVERITIES: &'static [Severity] = &[Severity::Warning, Severity::Error];
    const DETECTS: Detects = Detects::Point(detect);
    const REASON: &'static str = "had too few operations for p99";

    fn reason(validity: Validity) -> &'static str {
        if validity == Validity::Invalid { "did no operation" } else { Self::REASON }
    }

    fn can_judge_imported(view: &PointView) -> bool {
        view.measured.is_some_and(|measured| measured.summary.ops == 0 || !measured.series.response.is_empty())
    }

    fn is_like(&self, other: &Self) -> bool {
        (self.highest, self.ops == 0, self.is_all_grace()) == (other.highest, other.ops == 0, other.is_all_grace())
    }

    fn title(alike: &[&Self]) -> String {
        match alike[0].highest {
            _ if alike[0].ops == 0 => "no operation was done".to_owned(),
            _ if alike[0].is_all_grace() => "no operation ended within the run phase".to_owned(),
            Some(highest) => format!("too few operations for percentiles above {}", highest.as_str()),
            None => "too few operations for any percentile".to_owned(),
        }
    }

    fn mixed_title(alike: &[(&str, &Self)]) -> Option<String> {
        let highest = || alike.iter().map(|(_, one)| one.highest);
        // A higher percentile needs more operations; none at all needs the fewest.
        let (low, high) = (highest().min()?, highest().max()?.map(Percentile::as_str)?);
        let low = low.map_or("none", Percentile::as_str);
        Some(format!("too few operations for the high percentiles: the highest that holds is {low} to {high}"))
    }

    fn evidence(&self) -> String {
        match self.ops {
            0 => {
                format!("{:.2} s of run phase, {} failed", self.length_ns.as_secs_f64(), whole(self.failed_ops as f64))
            }
            ops if self.is_all_grace() => {
                let length_s = self.length_ns.as_secs_f64();
                format!("{} ended in the grace time, after {length_s:.2} s of run phase", plural(ops, "operation"))
            }
            ops => format!("{}; p99 needs 1,000, p95 200 and the median 20", plural(ops, "operation")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judgement::NextStep;
    use crate::simulated::{Simulation, drain};
    use model::Fact;

    fn highest(ops: u64) -> Option<Percentile> {
        Simulation::counts(&[ops]).figures::<FewSamples>().highest
    }

    #[test]
    fn the_highest_percentile_that_holds_is_named() {
        let expected = [Some(Percentile::P95), Some(Percentile::P50), None];
        assert_eq!([999, 39, 19].map(highest), expected);
    }

    #[test]
    fn a_short_quiet_point_is_valid_for_its_rate_and_p99_and_says_nothing_of_p999() {
        let analysis = Simulation::counts(&[400; 10]).analysis();
        let point = &analysis.points[0];
        assert!(point.findings.iter().all(|finding| finding.severity == Severity::Note), "{:?}", point.findings);
        let times = point.summary.as_ref().and_then(|summary| summary.response_ns).expect("it ran");
        assert_eq!((point.validity, times.p999), (Validity::Valid, None));
        assert!(serde_json::to_value(times).expect("it is plain")["p999"].is_null());
    }

    #[test]
    fn a_step_that_ends_by_its_work_is_not_told_to_run_longer() {
        let timed = Simulation::counts(&[19]);
        assert_eq!(timed.finding("few-samples").next, NextStep::RunLonger);
        let counted = timed.with(|point| point.facts.push(Fact::new("run.ops", "19")));
        assert_eq!(counted.finding("few-samples").next, NextStep::None);
    }

    #[test]
    fn a_step_that_is_timed_as_a_whole_has_no_percentile_to_be_weak() {
        assert!(drain(&[0, 1]).findings("few-samples").is_empty());
        assert_eq!(drain(&[0, 0]).finding("few-samples").severity, Severity::Error, "it did not finish");
    }

    #[test]
    fn a_point_without_operations_is_invalid() {
        let finding = Simulation::counts(&[0; 10]).finding("few-samples");
        assert_eq!(finding.severity, Severity::Error);
    }

    #[test]
    fn a_point_whose_only_operation_ended_in_the_grace_time_is_invalid() {
        let simulation = Simulation::closed(8, |_| 9_340_000_000);
        let finding = simulation.finding("few-samples");
        assert_eq!(finding.severity, Severity::Error);
        let found: FewSamples = simulation.figures();
        assert_eq!((found.ops, found.grace_ops), (1, 1));
    }
}
