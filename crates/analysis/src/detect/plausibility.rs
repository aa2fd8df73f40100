//! Checks that what was recorded agrees with itself.
//!
//! In: counts, bytes, histograms, arrivals. Out: an error for each contradiction.
//! Limits: data that is wrong in the same way everywhere agrees with itself.

use super::detector::{Detector, Measured, PointView};
use crate::facts::{is_scripted, param, slots};
use crate::text::plural;
use crate::{Finding, Quantiles, Severity};
use model::{KindInterval, OpClass, PointData, Value};

/// The entry in the list of detectors.
pub const DETECTOR: Detector = Detector {
    code: "plausibility",
    help: "what was recorded contradicts itself",
    explain: "What is recorded twice must agree: each histogram holds as many times as operations were done; the bytes moved \
              by the file workload are reads and writes times block size; response times are not below service times; \
              percentiles rise; arrivals done and unserved are those that the schedule offered. A contradiction means that \
              plimsoll or the run file is broken; no number of the point can be used.",
    detect,
};

// The last block of a file may be shorter than the others.
const BYTES_SHARE: f64 = 0.01;
// Response and service time of an operation fall into different buckets of the histogram, each 0.2 % wide.
const BUCKET_SHARE: f64 = 0.005;
// Arrivals that fall due while the phase ends are counted by whoever looks first.
const ARRIVALS_SHARE: f64 = 0.01;

fn detect(view: &PointView) -> Vec<Finding> {
    let Some(measured) = view.measured else { return Vec::new() };
    let checks = [
        histogram_totals(&measured),
        block_bytes(view.point, &measured),
        response_not_below_service(&measured),
        ordered("response", measured.summary.response_ns),
        ordered("service", measured.summary.service_ns),
        arrivals(view.point, &measured),
    ];
    checks.into_iter().flatten().map(contradiction).collect()
}

/// A contradiction: what it is, and the figures.
type Contradiction = (&'static str, String);

fn contradiction((what, evidence): Contradiction) -> Finding {
    let next_step = "do not use this point; please report it with the run file";
    DETECTOR.finding(Severity::Error, what.to_string(), evidence, next_step)
}

fn histogram_totals(measured: &Measured) -> Option<Contradiction> {
    let differs = |kind: &&KindInterval| kind.response.len() != kind.ok || kind.service.len() != kind.ok;
    let kinds = || measured.window.phase.intervals.iter().flat_map(|interval| &interval.kinds);
    let first = kinds().find(differs)?;
    let evidence = format!(
        "{} differ; the first has {}, {} response and {} service times",
        plural(kinds().filter(differs).count(), "interval"),
        plural(first.ok as usize, "operation"),
        first.response.len(),
        first.service.len()
    );
    Some(("histograms and counts differ", evidence))
}

fn block_bytes(point: &PointData, measured: &Measured) -> Option<Contradiction> {
    let block = match param(point, "block") {
        Some(Value::Bytes(block)) if point.trial.workload.name == "file" && !is_scripted(point) => *block,
        _ => return None,
    };
    let moves = |kind: &&KindInterval| point.kind(kind.kind).is_none_or(|kind| kind.class != OpClass::Sync);
    let kinds = measured.window.phase.intervals.iter().flat_map(|interval| &interval.kinds).filter(moves);
    let (ok, bytes) = kinds.fold((0, 0), |(ok, bytes), kind| (ok + kind.ok, bytes + kind.bytes));
    let expected = ok as f64 * block.0 as f64;
    let off = (bytes as f64 - expected).abs();
    let evidence = || format!("{} of {block} moved {bytes} bytes", plural(ok as usize, "operation"));
    (off > BYTES_SHARE * expected).then(|| ("bytes moved are not operations times block size", evidence()))
}

fn response_not_below_service(measured: &Measured) -> Option<Contradiction> {
    let (response, service) = (measured.summary.response_ns?, measured.summary.service_ns?);
    let evidence = || format!("mean response {:.0} ns, mean service {:.0} ns", response.mean, service.mean);
    (response.mean < service.mean * (1.0 - BUCKET_SHARE))
        .then(|| ("response times are below service times", evidence()))
}

fn ordered(which: &str, quantiles: Option<Quantiles>) -> Option<Contradiction> {
    let q = quantiles?;
    let rises = q.p50 <= q.p95 && q.p95 <= q.p99 && q.p99 <= q.p999 && q.p999 <= q.max;
    let evidence = format!("{which}: p50 {} p95 {} p99 {} p99.9 {} max {} ns", q.p50, q.p95, q.p99, q.p999, q.max);
    (!rises).then_some(("percentiles do not rise", evidence))
}

fn arrivals(point: &PointData, measured: &Measured) -> Option<Contradiction> {
    let phase = measured.window.phase;
    let recorded = measured.window.recorded;
    let accounted = recorded.ended() as f64 + phase.unserved as f64;
    let offered = phase.offered as f64;
    let slack = slots(point) as f64 + 1.0 + ARRIVALS_SHARE * offered;
    let evidence = || format!("{} offered, {} performed, {} unserved", phase.offered, recorded.ended(), phase.unserved);
    let differ = phase.offered > 0 && (accounted - offered).abs() > slack;
    differ.then(|| ("arrivals performed and unserved are not those offered", evidence()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::{Simulation, params};
    use model::{Bytes, Times};

    fn titles(simulation: &Simulation) -> Vec<String> {
        simulation.findings("plausibility").into_iter().map(|finding| finding.title).collect()
    }

    #[test]
    fn a_lost_operation_in_a_histogram_is_found() {
        let simulation = Simulation::counts(&[1000; 10]).with(|point| point.phases[0].intervals[2].kinds[0].ok += 1);
        assert_eq!(titles(&simulation), ["histograms and counts differ"]);
        assert!(
            simulation.finding("plausibility").evidence.starts_with("1 interval differ; the first has 1001 operations")
        );
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
        assert!(titles(&file(4_096_000)).is_empty());
        assert_eq!(titles(&file(2_048_000)), ["bytes moved are not operations times block size"]);
        assert!(titles(&file(0).with(|point| point.kinds = vec!["fsync".into()])).is_empty(), "a sync moves none");
        assert!(
            titles(&file(0).with(|point| point.trial.target.engine = "null".into())).is_empty(),
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
        assert_eq!(titles(&simulation), ["response times are below service times"]);
    }

    #[test]
    fn percentiles_that_fall_are_found_and_equal_ones_are_not() {
        let falling = Quantiles { mean: 1.0, p50: 5, p95: 4, p99: 6, p999: 7, max: 8 };
        assert_eq!(ordered("response", Some(falling)).map(|found| found.0), Some("percentiles do not rise"));
        assert_eq!(ordered("response", Some(Quantiles { p50: 4, ..falling })), None);
    }

    #[test]
    fn lost_arrivals_are_found() {
        let open = Simulation::open(10, 1_000, |_| 100_000);
        assert!(titles(&open).is_empty());
        let lost = open.with(|point| point.phases[0].offered += 500);
        assert_eq!(titles(&lost), ["arrivals performed and unserved are not those offered"]);
    }
}
