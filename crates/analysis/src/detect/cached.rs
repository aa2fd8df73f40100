//! Finds direct reads that did not come from the device.
//!
//! In: bytes read by the file workload, and the counters of the disk. Out: a warning.
//! Limits: a cache inside the device or below the virtual machine is not seen; other readers of the disk hide a cache.

use super::detector::{Detector, Measured, PointView};
use crate::counters::{growth_of_least, growth_of_most};
use crate::facts::param;
use crate::text::{megabytes, percent};
use crate::{Finding, Severity};
use model::{OpClass, PointData, Value};

/// The entry in the list of detectors.
pub const DETECTOR: Detector = Detector {
    code: "cached",
    help: "direct reads did not reach the device",
    explain: "With `direct` every byte that the file workload reads should be read by the device under the file. Where the \
              disk's own counter shows less than half of it, something between them answered: a cache of the file system or \
              of a loop device, or parts of the file that were never written. The numbers are then those of that cache.",
    detect,
};

const DEVICE_SHARE_MIN: f64 = 0.5;

fn detect(view: &PointView) -> Vec<Finding> {
    let Some(measured) = view.measured else { return Vec::new() };
    let direct = param(view.point, "direct") == Some(&Value::Bool(true));
    let (start, end) = (measured.window.phase.start, measured.window.phase.end);
    // Between the device of a volume and the disk below it is the cache of the file system that holds the image.
    let growth = if view.point.trial.target.fs.is_some() { growth_of_least } else { growth_of_most };
    let device = growth(view.point, "disk", "read_bytes", start, end);
    let asked = read_per_second(view.point, &measured);
    let Some(device) = device.filter(|_| direct && view.point.trial.workload.name == "file" && asked > 0.0) else {
        return Vec::new();
    };
    let share = device.per_second() / asked;
    if share >= DEVICE_SHARE_MIN {
        return Vec::new();
    }
    let title = format!("the device read only {} of what was read: the rest came from a cache", percent(share));
    let evidence = format!("read {} of the file, {} of the device", megabytes(asked), megabytes(device.per_second()));
    let next_step = "use a larger file that was written once in full, on a file system that honours O_DIRECT";
    vec![DETECTOR.finding(Severity::Warning, title, evidence, next_step)]
}

/// Bytes read by operations of the kind `read`, per second of the run.
fn read_per_second(point: &PointData, measured: &Measured) -> f64 {
    let is_read = |kind: u8| point.kind(kind).is_some_and(|kind| kind.class == OpClass::Read);
    let kinds = measured.window.whole_recorded().iter().flat_map(|interval| &interval.kinds);
    let bytes: f64 = kinds.filter(|kind| is_read(kind.kind)).map(|kind| kind.bytes as f64).sum();
    let seconds: f64 = measured.window.whole.iter().map(|tally| tally.length.as_secs_f64()).sum();
    if seconds > 0.0 { bytes / seconds } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::{Simulation, params};

    fn direct_reads(kind: &str, device_bytes_per_s: f64) -> Simulation {
        let reads = Simulation::counts(&[1000; 10]).with(|point| {
            point.trial.workload.name = "file".into();
            point.trial.target.params = params(&[("direct", Value::Bool(true))]);
            point.kinds = vec![kind.into()];
            point.phases[0].intervals.iter_mut().for_each(|interval| interval.kinds[0].bytes = 16_384_000);
        });
        reads.source("disk", &["read_bytes"], |second| vec![device_bytes_per_s * second])
    }

    #[test]
    fn reads_that_the_device_never_saw_came_from_a_cache() {
        let finding = direct_reads("read", 1_638_400.0).finding("cached");
        assert_eq!(finding.title, "the device read only 10 % of what was read: the rest came from a cache");
        assert_eq!(finding.evidence, "read 16.4 MB/s of the file, 1.64 MB/s of the device");
    }

    #[test]
    fn reads_that_the_device_saw_and_writes_are_no_finding() {
        assert!(direct_reads("read", 16_384_000.0).findings("cached").is_empty());
        assert!(direct_reads("write", 0.0).findings("cached").is_empty());
    }

    #[test]
    fn reads_of_a_volume_that_the_disk_below_it_never_saw_came_from_a_cache() {
        let two = || direct_reads("read", 16_384_000.0).source("disk", &["read_bytes"], |second| vec![1e5 * second]);
        assert!(two().findings("cached").is_empty(), "a partition and its disk are one and the same");
        let kind = model::FileSystem::Xfs;
        let volume = two().with(|point| point.trial.target.fs = Some(model::FileSystemSpec { kind, size: None }));
        assert_eq!(volume.finding("cached").evidence, "read 16.4 MB/s of the file, 0.10 MB/s of the device");
    }

    #[test]
    fn buffered_reads_may_be_cached() {
        let buffered = direct_reads("read", 0.0).with(|point| point.trial.target.params = params(&[]));
        assert!(buffered.findings("cached").is_empty());
    }
}
