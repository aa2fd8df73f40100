//! Checks that what was recorded agrees with itself.
//!
//! In: counts, bytes, histograms, arrivals. Out: an error for each contradiction.
//! Limits: data that is wrong in the same way everywhere agrees with itself.

use super::{Detects, Finding, FindingKind};
use crate::Quantiles;
use crate::computed_phase::Measured;
use crate::evidence::PointView;
use crate::judgement::{NextStep, Severity};
use crate::recorded::facts::{is_scripted, slots};
use model::{Bytes, KindRow, OpClass, Percentile, PointData};
use serde::Serialize;
use words::quantity::plural;

/// Two records of the same thing that differ.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(tag = "what", rename_all = "kebab-case")]
pub enum Contradiction {
    /// Histograms hold another number of times than operations were counted.
    HistogramsDiffer { intervals: usize, first_ops: u64, first_response_times: u64, first_service_times: u64 },
    /// The bytes moved are not operations times block size.
    BytesDiffer { ops: u64, block_bytes: Bytes, moved_bytes: u64 },
    /// Response times are below service times.
    ResponseBelowService { response_mean_ns: f64, service_mean_ns: f64 },
    /// Percentiles do not rise.
    PercentilesFall { of: TimeKind, quantiles_ns: Quantiles },
    /// Arrivals performed and unserved are not those that the schedule offered.
    ArrivalsDiffer { offered: u64, performed: u64, unserved: u64 },
}

/// Which time of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum TimeKind {
    /// From the moment at which it was due.
    Response,
    /// From the moment at which it started.
    Service,
}

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
    let known = Percentile::ALL.iter().filter_map(|percentile| q.at(*percentile));
    let rises = known.chain([q.max]).is_sorted();
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

impl FindingKind for Contradiction {
    const SEVERITIES: &'static [Severity] = &[Severity::Error];
    const DETECTS: Detects = Detects::Point(detect);
    const REASON: &'static str = "showed impossible numbers";

    fn is_like(&self, other: &Self) -> bool {
        std::mem::discriminant(self) == std::mem::discriminant(other)
    }

    fn title(alike: &[&Self]) -> String {
        let title = match alike[0] {
            Contradiction::HistogramsDiffer { .. } => "histograms and counts differ",
            Contradiction::BytesDiffer { .. } => "the bytes moved are not operations times block size",
            Contradiction::ResponseBelowService { .. } => "response times are below service times",
            Contradiction::PercentilesFall { .. } => "percentiles do not rise",
            Contradiction::ArrivalsDiffer { .. } => "arrivals performed and unserved do not add up to those offered",
        };
        title.to_owned()
    }

    fn evidence(&self) -> String {
        match self {
            Contradiction::HistogramsDiffer { intervals, first_ops, first_response_times, first_service_times } => {
                let differ = if *intervals == 1 { "differs" } else { "differ" };
                format!(
                    "{} {differ}; the first has {}, {first_response_times} response and {first_service_times} service times",
                    plural(*intervals as u64, "interval"),
                    plural(*first_ops, "operation"),
                )
            }
            Contradiction::BytesDiffer { ops, block_bytes, moved_bytes } => {
                format!("{} of {block_bytes} moved {moved_bytes} bytes", plural(*ops, "operation"))
            }
            Contradiction::ResponseBelowService { response_mean_ns, service_mean_ns } => {
                format!("mean response {response_mean_ns:.0} ns, mean service {service_mean_ns:.0} ns")
            }
            Contradiction::PercentilesFall { of, quantiles_ns: q } => {
                let of = match of {
                    TimeKind::Response => "response",
                    TimeKind::Service => "service",
                };
                let known = Percentile::ALL.iter().filter_map(|one| Some(format!("{} {}", one.as_str(), q.at(*one)?)));
                format!("{of}: {} max {} ns", known.collect::<Vec<_>>().join(" "), q.max)
            }
            Contradiction::ArrivalsDiffer { offered, performed, unserved } => {
                format!("{offered} offered, {performed} performed, {unserved} unserved")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulated::{Simulation, figures_of, params};
    use model::{Times, Value};

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
        let mut times = Times::default();
        times.record_n(5, 1);
        let equal = Quantiles::from_times(&times).expect("there is one");
        let falling = Quantiles { p95: 4, ..equal };
        let (of, quantiles_ns) = (TimeKind::Response, falling);
        assert_eq!(falling_percentiles(of, Some(falling)), Some(Contradiction::PercentilesFall { of, quantiles_ns }));
        assert_eq!(falling_percentiles(of, Some(equal)), None);
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
