//! Finds bytes that the engine's own account and the block layer do not agree on.
//!
//! In: what a drain and the steps before it wrote, by both. Out: a warning at the drain, when nothing is left under way.
//! Limits: an account without a log or without pages is no account; a file system's journal is the block layer's alone.

use super::detector::{Detector, PointView};
use crate::chain;
use crate::cost::DrainedWrites;
use crate::text::{bytes, percent};
use crate::{Finding, Severity};

/// The entry in the list of detectors.
pub const DETECTOR: Detector = Detector {
    code: "accounts-differ",
    help: "the engine says that it wrote another amount than the block layer does",
    explain: "When write debt is paid, what the engine says that it wrote to its log, its pages and its compactions should be what \
              the block layer saw of it. Compared after the step `drain`, over all steps that it paid for; found where they differ \
              by more than 10 % of the greater. More in the block layer: a file system that copies or keeps a journal, files that \
              the engine does not count (sorted runs of a new index), blocks that are rounded up. More in the engine: pages that \
              were written several times to the page cache and once to the device (PostgreSQL), files that were deleted before \
              they reached it, or compression below the engine. Until it is known which, the written KB per insert is known to \
              that difference only.",
    detect,
};

const DIFFERENCE_MAX: f64 = 0.10;

fn detect(view: &PointView) -> Vec<Finding> {
    let drained = chain::is_drain(view.point).then(|| DrainedWrites::until_drain(view.point, view.others)).flatten();
    let both = drained.as_ref().and_then(|drained| drained.block_written.zip(drained.engine_written));
    let Some((block, engine)) = both.filter(|(block, engine)| block.max(*engine) > 0.0) else { return Vec::new() };
    let difference = (block - engine).abs() / block.max(engine);
    if difference <= DIFFERENCE_MAX {
        return Vec::new();
    }
    let title = format!(
        "the block layer wrote {}, the engine says {}: {} apart",
        bytes(block),
        bytes(engine),
        percent(difference)
    );
    let furthest = drained.as_ref().and_then(|drained| drained.furthest).map(|(id, block, engine)| {
        let step = view.others.iter().find(|other| other.id == id).and_then(chain::step).unwrap_or("this one");
        format!("; furthest apart in {step}: {} and {}", bytes(block), bytes(engine))
    });
    let evidence = format!("over the steps since the drain before, this one included{}", furthest.unwrap_or_default());
    let next_step = "look at which files grow, and use a file system of its own (`fs`) to see all of the device";
    vec![DETECTOR.finding(Severity::Warning, title, evidence, next_step)]
}

#[cfg(test)]
mod tests {
    use crate::simulate::{run_of, stepping};
    use model::PointData;

    fn findings(points: Vec<PointData>) -> Vec<crate::Finding> {
        let found = crate::analyse(&run_of(points, Vec::new())).points.into_iter().flat_map(|point| point.findings);
        found.filter(|finding| finding.code == "accounts-differ").collect()
    }

    /// The engine says that it wrote so many times what the block layer did.
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
        assert_eq!(found[0].title, "the block layer wrote 100 MB, the engine says 80.0 MB: 20 % apart");
        assert!(found[0].evidence.ends_with("; furthest apart in drain: 50.0 MB and 40.0 MB"), "{:?}", found[0]);
        let nearly = steps().into_iter().map(|point| saying(point, 0.92)).collect();
        assert!(findings(nearly).is_empty());
    }

    #[test]
    fn without_a_drain_nothing_is_compared() {
        assert!(findings(vec![saying(stepping("l.i1", 10, 5e6, 9_999.0), 0.5)]).is_empty());
    }
}
