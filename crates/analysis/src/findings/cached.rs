//! Finds reads of files that did not come from the device.
//!
//! In: bytes read by the file workload, and the counters of the disk. Out: a warning for direct reads, a note for buffered ones.
//! Limits: a cache inside the device or below the virtual machine is not seen; other readers of the disk hide a cache.

use super::{Detects, Finding, FindingKind};
use crate::computed_phase::Measured;
use crate::evidence::PointView;
use crate::judgement::{NextStep, Severity};
use crate::recorded::counters::{growth_of_least, growth_of_most};
use crate::recorded::facts::{is_direct_file, is_scripted};
use model::{CounterRole, OpClass, OpKind, PointData};
use serde::Serialize;
use words::quantity::{megabytes_per_s, percent, range};

/// Reads of which the device performed a part only.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct CachedReads {
    /// The way that the reads were to take.
    pub via: ReadRoute,
    /// Bytes per second that the clients read.
    pub read_bytes_per_s: f64,
    /// Bytes per second that the device read.
    pub device_read_bytes_per_s: f64,
}

/// The way from a client to the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReadRoute {
    /// Past the page cache.
    Direct,
    /// Through the page cache.
    PageCache,
}

// If the device moved more than half of the bytes, the rate is mostly the device's own.
const DEVICE_SHARE_MIN: f64 = 0.5;

fn detect(view: &PointView) -> Vec<Finding> {
    let Some(measured) = view.measured else { return Vec::new() };
    let (start, end) = (measured.window.phase.start, measured.window.phase.end);
    // Between the device of a volume and the disk below it is the cache of the file system that holds the image.
    let growth = if view.point.trial.target.fs.is_some() { growth_of_least } else { growth_of_most };
    let device = growth(view.point, CounterRole::DeviceReadBytes, start, end);
    let read_bytes_per_s = read_per_second(view.point, &measured);
    let is_file_read = view.point.traits.work.io.is_some() && !is_scripted(view.point) && read_bytes_per_s > 0.0;
    let Some(device) = device.filter(|_| is_file_read) else { return Vec::new() };
    let via = if is_direct_file(view.point) { ReadRoute::Direct } else { ReadRoute::PageCache };
    let detail = CachedReads { via, read_bytes_per_s, device_read_bytes_per_s: device.per_second() };
    let (severity, next) = match via {
        ReadRoute::Direct => (Severity::Warning, NextStep::UseLargerFile),
        // The page cache answers whom it was asked to answer: the numbers are right, but they are not those of the disk.
        ReadRoute::PageCache => (Severity::Note, NextStep::BypassPageCache),
    };
    if detail.device_read_bytes_per_s < DEVICE_SHARE_MIN * read_bytes_per_s {
        vec![Finding::new(severity, detail).next(next)]
    } else {
        Vec::new()
    }
}

/// Bytes read by operations of the kind `read`, per second of the run.
fn read_per_second(point: &PointData, measured: &Measured) -> f64 {
    let is_read = |kind: OpKind| point.kind(kind).is_some_and(|kind| kind.class == OpClass::Read);
    let kinds = measured.window.whole_recorded().iter().flat_map(|interval| &interval.kinds);
    let bytes: f64 = kinds.filter(|kind| is_read(kind.kind)).map(|kind| kind.bytes as f64).sum();
    let seconds: f64 = measured.window.whole.iter().map(|tally| tally.length.as_secs_f64()).sum();
    if seconds > 0.0 { bytes / seconds } else { 0.0 }
}

impl FindingKind for CachedReads {
    const SEVERITIES: &'static [Severity] = &[Severity::Note, Severity::Warning];
    const DETECTS: Detects = Detects::Point(detect);
    const REASON: &'static str = "read from a cache";

    fn is_like(&self, other: &Self) -> bool {
        self.via == other.via
    }

    fn title(alike: &[&Self]) -> String {
        let share = range(alike, |one| one.device_read_bytes_per_s / one.read_bytes_per_s, percent);
        let cache = match alike[0].via {
            ReadRoute::Direct => "a cache",
            ReadRoute::PageCache => "the page cache",
        };
        format!("only {share} of the bytes read came from the device; the rest came from {cache}")
    }

    fn evidence(&self) -> String {
        format!(
            "{} read from the file, {} from the device",
            megabytes_per_s(self.read_bytes_per_s),
            megabytes_per_s(self.device_read_bytes_per_s)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulated::{Simulation, params};
    use model::Value;

    fn direct_reads(kind: &str, device_bytes_per_s: f64) -> Simulation {
        let reads = Simulation::counts(&[1000; 10]).with(|point| {
            point.trial.workload.name = "file".into();
            point.trial.target.params = params(&[("direct", Value::Bool(true))]);
            point.kinds = vec![crate::simulated::kind(kind)];
            point.phases[0].intervals.iter_mut().for_each(|interval| interval.kinds[0].bytes = 16_384_000);
        });
        reads.source("disk", &["read_bytes"], |second| vec![device_bytes_per_s * second])
    }

    #[test]
    fn reads_that_the_device_never_saw_came_from_a_cache() {
        let (read_bytes_per_s, device_read_bytes_per_s) = (16_384_000.0, 1_638_400.0);
        let expected = CachedReads { via: ReadRoute::Direct, read_bytes_per_s, device_read_bytes_per_s };
        assert_eq!(direct_reads("read", 1_638_400.0).figures::<CachedReads>(), expected);
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
        assert_eq!(volume.figures::<CachedReads>().device_read_bytes_per_s, 1e5);
    }

    #[test]
    fn buffered_reads_may_be_cached_and_a_note_shows_it() {
        let buffered = |rate| direct_reads("read", rate).with(|point| point.trial.target.params = params(&[]));
        assert_eq!(buffered(0.0).finding("cached").severity, Severity::Note);
        assert_eq!(buffered(0.0).figures::<CachedReads>().via, ReadRoute::PageCache);
        assert!(buffered(16_384_000.0).findings("cached").is_empty());
    }
}
