//! Says of a closed loop with a stall that its percentiles hide the waiting.
//!
//! In: the pacing and the stalls. Out: a note. Limits: how much is hidden cannot be told from a closed loop.

use super::detector::{Detector, PointView};
use crate::text::time;
use crate::{Finding, Severity};
use model::Pacing;

/// The entry in the list of detectors.
pub const DETECTOR: Detector = Detector {
    code: "coordinated-omission",
    help: "a closed loop stalled, and its percentiles do not show the waiting",
    explain: "In a closed loop a client that waits for the target asks for nothing meanwhile, so a stall of seconds is one slow \
              operation per client among many fast ones, and no percentile shows it. Users who arrive on their own would all \
              have waited. An open loop (`--rate`) counts response time from the moment at which each operation was due and \
              shows it. A server frozen for 3 s of 12 s had a p99 of 7.6 ms in a closed loop and 2880 ms at a fixed rate.",
    detect,
};

fn detect(view: &PointView) -> Vec<Finding> {
    let closed = matches!(view.point.trial.load.pacing, Pacing::Closed { .. });
    let stalled = view.measured.filter(|measured| closed && measured.shape.has_stalls());
    let Some(response) = stalled.and_then(|measured| measured.summary.response_ns) else { return Vec::new() };
    let title = "the percentiles of this closed loop do not show the waiting during stalls".to_string();
    let evidence = format!("p99 {}, longest {}", time(response.p99 as f64), time(response.max as f64));
    let next_step = "measure response times at a fixed rate below the maximum: `--rate N`";
    vec![DETECTOR.finding(Severity::Note, title, evidence, next_step)]
}

#[cfg(test)]
mod tests {
    use crate::simulate::Simulation;

    fn stalling(seq: u64) -> u64 {
        if seq % 10_000 == 9_999 { 200_000_000 } else { 100_000 }
    }

    #[test]
    fn a_closed_loop_with_stalls_carries_the_note_and_an_open_loop_does_not() {
        let closed = Simulation::closed(20, stalling).finding("coordinated-omission");
        assert!(closed.evidence.starts_with("p99 100 us, longest 200 ms"), "{}", closed.evidence);
        assert!(Simulation::open(20, 5_000, stalling).findings("coordinated-omission").is_empty());
    }

    #[test]
    fn a_closed_loop_without_stalls_carries_none() {
        assert!(Simulation::counts(&[1000; 20]).findings("coordinated-omission").is_empty());
    }
}
