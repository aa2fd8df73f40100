//! Checks that what was recorded agrees with itself.
//!
//! In: counts, bytes, histograms, arrivals. Out: an error for each contradiction.
//! Limits: data that is wrong in the same way everywhere agrees with itself.

use super::detector::Detector;
use crate::computed_phase::Measured;
use crate::evidence::PointView;
use crate::finding::correctness::{Contradiction, TimeKind};
use crate::finding::{Code, NextStep};
use crate::recorded::facts::{is_scripted, slots};
use crate::{Finding, Quantiles, Severity};
use model::{KindRow, OpClass, PointData};

/// The entry in the list of detectors.
pub const DETECTOR: Detector = Detector { code: Code::Plausibility, detect };

// The last block of a file may be shorter than the others.
const BYTES_SHARE: f64 = 0.01;
// Response and service time of an operation fall into different buckets of the histogram, each 0.2 % wide.
const BUCKET_SHARE: f64 = 0.005;
// Arrivals that fall due while the phase ends are counted by the client that looks first.
const ARRIVALS_SHARE: f64 = 0.01;

fn detect(view: &PointView) -> Vec<Finding> {
    let Some(measured) = view.measured else { return Vec::new() };
    let checks = [
        histogram_totals(&measured),
        block_bytes(view.point, &measured),
        response_not_below_service(&measured),
        falling_percentiles(TimeKind::Response, measured.summary.response_ns),
        falling_percentiles(TimeKind::Service, measured.summary.service_ns),
        arrivals(view.point, &measured),
    ];
    let found = checks.into_iter().flatten();
    found.map(|found| Finding::new(Severity::Error, found).next(NextStep::ReportBug)).collect()
}

fn histogram_totals(measured: &Measured) -> Option<Contradiction> {
    let kinds = measured.window.phase.intervals.iter().flat_map(|interval| &interval.kinds);
    let differing: Vec<&KindRow> = kinds.filter(|kind| has_other_totals(kind)).collect();
    let first = differing.first()?;
    Some(Contradiction::HistogramsDiffer {
        intervals: differing.len(),
        first_ops: first.ok,
        first_response_times: first.response.len(),
        first_service_times: first.service.len(),
    })
}

fn has_other_totals(kind: &KindRow) -> bool {
    kind.response.len() != kind.ok || kind.service.len() != kind.ok
}

fn block_bytes(point: &PointData, measured: &Measured) -> Option<Contradiction> {
    let block_bytes = point.traits.work.io.filter(|_| !is_scripted(point))?.block;
    if block_bytes.0 == 0 {
        return None;
    }
    let kinds = measured.window.phase.intervals.iter().flat_map(|interval| &interval.kinds);
    let moving = kinds.filter(|kind| point.kind(kind.kind).is_none_or(|kind| kind.class != OpClass::Sync));
    let (ops, moved_bytes) = moving.fold((0, 0), |(ok, bytes), kind| (ok + kind.ok, bytes + kind.bytes));
    let expected = ops as f64 * block_bytes.0 as f64;
    let off = (moved_bytes as f64 - expected).abs();
    (off > BYTES_SHARE * expected).then_some(Contradiction::BytesDiffer { ops, block_bytes, moved_bytes })
}

fn response_not_below_service(measured: &Measured) -> Option<Contradiction> {
    let (response, service) = (measured.summary.response_ns?, measured.summary.service_ns?);
    (response.mean < service.mean * (1.0 - BUCKET_SHARE)).then_some(Contradiction::ResponseBelowService {
        response_mean_ns: response.mean,
        service_mean_ns: service.mean,
    })
}

fn falling_percentiles(of: TimeKind, quantiles: Option<Quantiles>) -> Option<Contradiction> {
    let q = quantiles?;
    let rises = q.p50 <= q.p95 && q.p95 <= q.p99 && q.p99 <= q.p999 && q.p999 <= q.max;
    (!rises).then_some(Contradiction::PercentilesFall { of, quantiles_ns: q })
}

fn arrivals(point: &PointData, measured: &Measured) -> Option<Contradiction> {
    let phase = measured.window.phase;
    let (performed, unserved) = (measured.window.recorded.ended(), phase.unserved);
    let accounted = performed as f64 + unserved as f64;
    let offered = phase.offered as f64;
    let slack = slots(point) as f64 + 1.0 + ARRIVALS_SHARE * offered;
    let differ = phase.offered > 0 && (accounted - offered).abs() > slack;
    differ.then_some(Contradiction::ArrivalsDiffer { offered: phase.offered, performed, unserved })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulated::{Simulation, figures_of, params};
    use model::Value;
    use model::{Bytes, Times};

    fn found(simulation: &Simulation) -> Vec<Contradiction> {
        figures_of(&simulation.findings("plausibility"))
    }

    #[test]
    fn a_lost_operation_in_a_histogram_is_found() {
        let simulation = Simulation::counts(&[1000; 10]).with(|point| point.phases[0].intervals[2].kinds[0].ok += 1);
        let expected = Contradiction::HistogramsDiffer {
            intervals: 1,
            first_ops: 1_001,
            first_response_times: 1_000,
            first_service_times: 1_000,
        };
        assert_eq!(found(&simulation), [expected]);
    }

    #[test]
    fn bytes_must_be_operations_times_block_size() {
        let file = |bytes: u64| {
            Simulation::counts(&[1000; 10]).with(|point| {
                point.trial.workload.name = "file".into();
                point.trial.workload.params = params(&[("block", Value::Bytes(Bytes(4096)))]);
                point.phases[0].intervals.iter_mut().for_each(|interval| interval.kinds[0].bytes = bytes);
            })
        };
        assert!(found(&file(4_096_000)).is_empty());
        let (block_bytes, moved_bytes) = (Bytes(4096), 20_480_000);
        assert_eq!(found(&file(2_048_000)), [Contradiction::BytesDiffer { ops: 10_000, block_bytes, moved_bytes }]);
        assert!(
            found(&file(0).with(|point| point.kinds = vec![crate::simulated::kind("fsync")])).is_empty(),
            "a sync moves none"
        );
        assert!(
            found(&file(0).with(|point| point.trial.target.engine = "null".into())).is_empty(),
            "nor does a script"
        );
    }

    #[test]
    fn a_response_below_the_service_time_is_found() {
        let simulation = Simulation::counts(&[1000; 10]).with(|point| {
            let kind = &mut point.phases[0].intervals[0].kinds[0];
            kind.response = Times::default();
            kind.response.record_n(1, 1000);
        });
        assert!(matches!(found(&simulation)[..], [Contradiction::ResponseBelowService { .. }]));
    }

    #[test]
    fn percentiles_that_fall_are_found_and_equal_ones_are_not() {
        let falling = Quantiles { mean: 1.0, p50: 5, p95: 4, p99: 6, p999: 7, max: 8 };
        let (of, quantiles_ns) = (TimeKind::Response, falling);
        assert_eq!(falling_percentiles(of, Some(falling)), Some(Contradiction::PercentilesFall { of, quantiles_ns }));
        assert_eq!(falling_percentiles(of, Some(Quantiles { p50: 4, ..falling })), None);
    }

    #[test]
    fn lost_arrivals_are_found() {
        let open = Simulation::open(10, 1_000, |_| 100_000);
        assert!(found(&open).is_empty());
        let lost = open.with(|point| point.phases[0].offered += 500);
        let expected = Contradiction::ArrivalsDiffer { offered: 10_500, performed: 10_000, unserved: 0 };
        assert_eq!(found(&lost), [expected]);
    }
}
