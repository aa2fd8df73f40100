//! Finds points whose storage was to be limited, and whose device did more than that.
//!
//! In: the trial's limit, the counters of `disk` and `limits`. Out: a warning for each that was passed. Limits: what others do on the
//! device counts, too; the counters of `limits` say how much of it was the engine's.

use super::detector::{Detector, Measured, PointView};
use crate::counters::growth_of_first;
use crate::facts::fact;
use crate::{Finding, Severity};

/// The entry in the list of detectors.
pub const DETECTOR: Detector = Detector {
    code: "limit-escaped",
    help: "the device did more than `storage_limit` allows",
    explain: "The point has a `storage_limit`, and the device under its data did more than that in the run phase. Either others used \
              the device, or writes of the engine escaped the limit: with control groups of version 1 a group is held to its \
              reads, its direct writes and what it syncs itself, and not to what the kernel writes for it later from the page cache. \
              Then the numbers are not those of a disk that is so slow. Measure with `fs`, where the whole device is limited, or \
              let the engine write past the page cache (`direct`, `flush_method`).",
    detect,
};

/// A limit is enforced in slices of 100 ms: a tenth more, and two slices at the ends, are within it.
const PASSED: f64 = 1.1;
const SLICES_S: f64 = 0.2;

fn detect(view: &PointView) -> Vec<Finding> {
    let (Some(measured), limit) = (view.measured, view.point.trial.target.limits.storage) else { return Vec::new() };
    let limits = [
        ("read_ops", "reads", limit.read_iops),
        ("write_ops", "writes", limit.write_iops),
        ("read_bytes", "bytes read", limit.read_bytes_per_s),
        ("write_bytes", "bytes written", limit.write_bytes_per_s),
    ];
    limits
        .into_iter()
        .filter_map(|(counter, what, most)| passed(view, &measured, counter, what, most? as f64))
        .collect()
}

fn passed(view: &PointView, measured: &Measured, counter: &str, what: &str, most: f64) -> Option<Finding> {
    let (start, end) = (measured.window.phase.start, measured.window.phase.end);
    let per_s = |source: &str| {
        let growth = growth_of_first(view.point, source, counter, start, end)?;
        let seconds = growth.to.since(growth.from).as_secs_f64();
        (seconds > 0.0).then(|| (growth.amount / seconds, seconds))
    };
    let (done, seconds) = per_s("disk")?;
    if done <= most * (PASSED + SLICES_S / seconds) {
        return None;
    }
    let own = per_s("limits").map_or("not known".to_owned(), |(own, _)| format!("{own:.0}"));
    let device = fact(&view.point.facts, "limit.storage_device").unwrap_or("not known");
    let title = format!("the device did {done:.0} {what} a second under a limit of {most:.0}");
    let evidence =
        format!("device `{device}`: {done:.0} {what} a second, {own} of them counted by the limit of {most:.0}");
    Some(DETECTOR.finding(
        Severity::Warning,
        title,
        evidence,
        "limit a device of its own: add `fs`, such as fs = `ext4`",
    ))
}

#[cfg(test)]
mod tests {
    use crate::simulate::Simulation;
    use model::{Fact, StorageLimit};

    fn limited(writes_per_s: f64) -> Simulation {
        let limited = Simulation::counts(&[1000; 10]).with(|point| {
            point.trial.target.limits.storage = StorageLimit { write_iops: Some(400), ..StorageLimit::default() };
            point.facts.push(Fact::new("limit.storage_device", "sda"));
        });
        limited.source("disk", &["write_ops"], move |second| vec![writes_per_s * second]).source(
            "limits",
            &["write_ops"],
            |second| vec![390.0 * second],
        )
    }

    #[test]
    fn a_device_that_wrote_more_than_its_limit_is_told_with_the_part_of_the_engine() {
        let finding = limited(900.0).finding("limit-escaped");
        assert_eq!(finding.title, "the device did 900 writes a second under a limit of 400");
        assert!(finding.evidence.contains("`sda`") && finding.evidence.contains("390 of them"), "{}", finding.evidence);
    }

    #[test]
    fn a_limit_that_was_reached_is_no_finding_and_neither_is_a_device_without_one() {
        assert!(limited(404.0).findings("limit-escaped").is_empty());
        let free = Simulation::counts(&[1000; 10]).source("disk", &["write_ops"], |second| vec![9e6 * second]);
        assert!(free.findings("limit-escaped").is_empty());
    }
}
