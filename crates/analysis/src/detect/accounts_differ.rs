//! Finds bytes on which the engine's own counters and the block layer do not agree.
//!
//! In: what a drain and the steps before it wrote, by both. Out: a warning at the drain, when no write is pending.
//! Limits: counters without a log or without pages are left out; a file system's journal is the block layer's alone.

use super::detector::{Detector, PointView};
use crate::cost::DrainedWrites;
use crate::finding::correctness::{StepAccounts, UnlikeAccounts};
use crate::finding::units::Share;
use crate::finding::{Code, NextStep};
use crate::sequence;
use crate::{Finding, Severity};

/// The entry in the list of detectors.
pub const DETECTOR: Detector = Detector { code: Code::AccountsDiffer, detect };

const DIFFERENCE_MAX: f64 = 0.10;

fn detect(view: &PointView) -> Vec<Finding> {
    let drained = sequence::is_drain(view.point).then(|| DrainedWrites::until_drain(view.point, view.others)).flatten();
    let both = drained.as_ref().and_then(|drained| drained.block_written.zip(drained.engine_written));
    let Some((block, engine)) = both.filter(|(block, engine)| block.max(*engine) > 0.0) else { return Vec::new() };
    let difference = (block - engine).abs() / block.max(engine);
    if difference <= DIFFERENCE_MAX {
        return Vec::new();
    }
    let furthest = drained.as_ref().and_then(|drained| drained.furthest).map(|(id, block_bytes, engine_bytes)| {
        let step = view.others.iter().find(|other| other.id == id).and_then(sequence::step_name).map(str::to_owned);
        StepAccounts { step, block_bytes, engine_bytes }
    });
    let detail =
        UnlikeAccounts { block_bytes: block, engine_bytes: engine, difference_share: Share(difference), furthest };
    let has_volume = view.point.trial.target.fs.is_some();
    let next = if has_volume { NextStep::WatchFiles } else { NextStep::WatchFilesWithOwnVolume };
    vec![Finding::new(Severity::Warning, detail).next(next)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::{figures_of, run_of, stepping};
    use model::PointData;

    fn findings(points: Vec<PointData>) -> Vec<UnlikeAccounts> {
        let analysed = crate::analyse(&run_of(points, Vec::new())).points;
        analysed.iter().flat_map(|point| figures_of(&point.findings)).collect()
    }

    /// The engine counts so many times what the block layer wrote.
    fn saying(mut point: PointData, times: f64) -> PointData {
        let innodb = point.sources.iter().position(|source| source.name == "innodb").expect("it has it") as u16;
        let own = point.counters.iter_mut().filter(|sample| sample.source == innodb);
        own.for_each(|sample| sample.values[0] = sample.values[0].map(|bytes| bytes * times));
        point
    }

    #[test]
    fn accounts_that_differ_by_a_fifth_after_the_drain_are_named_both() {
        let steps = || vec![stepping("l.i1", 10, 5e6, 9_999.0), stepping("drain", 10, 5e6, 0.0)];
        assert!(findings(steps()).is_empty());
        let found = findings(steps().into_iter().map(|point| saying(point, 0.8)).collect());
        assert_eq!((found[0].block_bytes, found[0].engine_bytes), (100e6, 80e6));
        assert!((found[0].difference_share.0 - 0.2).abs() < 1e-9, "{:?}", found[0]);
        let furthest = StepAccounts { step: Some("drain".into()), block_bytes: 50e6, engine_bytes: 40e6 };
        assert_eq!(found[0].furthest, Some(furthest));
        let nearly = steps().into_iter().map(|point| saying(point, 0.92)).collect();
        assert!(findings(nearly).is_empty());
    }

    #[test]
    fn without_a_drain_nothing_is_compared() {
        assert!(findings(vec![saying(stepping("l.i1", 10, 5e6, 9_999.0), 0.5)]).is_empty());
    }
}
