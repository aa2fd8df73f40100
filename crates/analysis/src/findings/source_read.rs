//! Finds files that came from their disk while they were compressed, and not from memory.
//!
//! In: what the engine counted of its source. Out: a warning: the time until the result is on disk has the reads in it. Limits: a cache
//! inside the device or below the virtual machine answers such reads as well, and then they cost little.

use super::{Detects, Finding, FindingKind};
use crate::evidence::PointView;
use crate::judgement::{NextStep, Severity};
use crate::math::units::Share;
use serde::Serialize;
use words::quantity::{bytes, percent, range};

/// A file that was read from its disk while it was compressed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct SourceReads {
    /// How many of its bytes.
    pub read_bytes: u64,
    /// Their share of the file.
    pub read_share: Share,
}

/// Of the file; less is the granularity of the kernel's counts.
const READ_MAX: f64 = 0.01;

fn detect(view: &PointView) -> Vec<Finding> {
    let figures = view.point.traits.outcome.compression.as_ref();
    let sizes = figures.and_then(|figures| Some((figures.source_read_bytes?, figures.input_bytes?)));
    let Some((read_bytes, input_bytes)) = sizes.filter(|(_, input)| *input > 0) else { return Vec::new() };
    let share = read_bytes as f64 / input_bytes as f64;
    let detail = SourceReads { read_bytes, read_share: Share(share) };
    if share > READ_MAX {
        vec![Finding::new(Severity::Warning, detail).next(NextStep::UseSmallerFile)]
    } else {
        Vec::new()
    }
}

impl FindingKind for SourceReads {
    const SEVERITIES: &'static [Severity] = &[Severity::Warning];
    const DETECTS: Detects = Detects::Point(detect);
    const REASON: &'static str = "read their file from its disk";

    fn is_like(&self, _: &Self) -> bool {
        true
    }

    fn title(alike: &[&Self]) -> String {
        let share = range(alike, |one| one.read_share.0, percent);
        format!("{share} of the file was read from its disk while it was compressed")
    }

    fn evidence(&self) -> String {
        format!("read {} from the disk", bytes(self.read_bytes as f64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulated::Simulation;
    use model::CompressionOutcome;

    /// A file of 100 MB of which so many bytes came from its disk.
    fn compressed(read_bytes: u64) -> Simulation {
        let outcome = CompressionOutcome {
            input_bytes: Some(100_000_000),
            source_read_bytes: Some(read_bytes),
            ..CompressionOutcome::default()
        };
        Simulation::counts(&[1; 10]).with(|point| point.traits.outcome.compression = Some(outcome.clone()))
    }

    #[test]
    fn a_file_that_came_from_its_disk_is_named_with_its_share() {
        assert_eq!(
            compressed(40_000_000).figures::<SourceReads>(),
            SourceReads { read_bytes: 40_000_000, read_share: Share(0.4) }
        );
    }

    #[test]
    fn a_file_in_memory_is_none_nor_is_a_page_or_two() {
        assert!(compressed(0).findings("source-read").is_empty());
        assert!(compressed(900_000).findings("source-read").is_empty());
    }
}
