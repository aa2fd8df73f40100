//! Reports what limited the point.
//!
//! In: the judgement of [`crate::bottleneck`]. Out: a note for each cause. Limits: CPU time that others took is left to the finding
//! `foreign-cpu`, which has the same figures and the same advice.

use super::detector::Detector;
use crate::evidence::PointView;
use crate::finding::Code;
use crate::finding::bottleneck::Cause;
use crate::{Finding, Severity};

/// The entry in the list of detectors.
pub const DETECTOR: Detector = Detector { code: Code::Bottleneck, detect };

fn detect(view: &PointView) -> Vec<Finding> {
    let causes = view.bottlenecks.iter().flat_map(|found| &found.causes);
    causes.filter(|cause| !cause.limit().is_foreign()).map(to_finding).collect()
}

fn to_finding(cause: &Cause) -> Finding {
    Finding::new(Severity::Note, cause.clone()).next(cause.next)
}

#[cfg(test)]
mod tests {
    use crate::finding::bottleneck::{Cause, Limit};
    use crate::simulated::Simulation;

    #[test]
    fn each_cause_is_a_finding_with_its_figures() {
        let counters = ["user_ns", "system_ns", "idle_ns"];
        let full = |second: f64| vec![1.94e9 * second, 0.0, 0.06e9 * second];
        let busy = Simulation::counts(&[1000; 10]).source("cpu", &counters, full);
        let cause: Cause = busy.figures();
        assert_eq!((cause.limit(), (cause.share.0 * 100.0).round()), (Limit::Cpu, 97.0));
        let both = busy.source("disk", &["busy_ns", "queue_ns"], |second| vec![0.95e9 * second, 4e9 * second]);
        assert_eq!(both.findings("bottleneck").len(), 2);
    }
}
