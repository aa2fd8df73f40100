//! The statements of replays that failed: how many, with which message, and what probably mends it.
//!
//! In: the points of a replay, with what the server said. Out: a [`FailedReplay`]. Limits: `None` if no more than one in a hundred failed; the
//! finding `errors` has those. Messages are known in English.

use crate::{PointAnalysis, Summary};
use model::ComparedBy;
use std::collections::BTreeMap;

/// If a larger share failed, the answer begins with that.
pub(crate) const FAILED_MAX: f64 = 0.01;

/// The statements of replays that failed.
#[derive(Clone, Debug, PartialEq)]
pub struct FailedReplay {
    pub failed: u64,
    /// Of how many that were sent.
    pub sent: u64,
    /// The most frequent message, and how often it came; of a transaction that was aborted by another only if there is no other.
    pub message: (String, u64),
    /// Whether copies had keys of their own.
    pub has_keys: bool,
    /// How often the server was told an id.
    pub told_ids: u64,
    /// What the log has of answers.
    pub compared_by: ComparedBy,
}

/// What PostgreSQL says of each statement behind one that has failed.
const CONSEQUENCE: &str = "current transaction is aborted";

impl FailedReplay {
    /// Those of the replays among `points` in which more than one in a hundred failed; `None` if there are none.
    pub fn of<'a>(points: impl Iterator<Item = &'a PointAnalysis>) -> Option<FailedReplay> {
        let (mut failed, mut sent, mut has_keys, mut told_ids) = (0, 0, false, 0_u64);
        let mut compared_by = ComparedBy::Nothing;
        let mut messages: BTreeMap<&str, u64> = BTreeMap::new();
        for point in points.filter(|point| failed_share(point).is_some_and(|share| share > FAILED_MAX)) {
            let summary = point.summary.as_ref()?;
            // Of a damaged file each may be the largest number.
            failed = summary.failed.saturating_add(failed);
            sent = sent_in(summary).saturating_add(sent);
            if let Some(found) = &point.traits.outcome.replay_divergence {
                has_keys |= found.keys > 0;
                told_ids = told_ids.saturating_add(found.told_ids);
                compared_by = compared_by.max(found.compared_by);
            }
            for one in &point.traits.outcome.replay_failures {
                let times = messages.entry(&one.message).or_default();
                *times = times.saturating_add(one.failed);
            }
        }
        let is_cause = |message: &str| !message.contains(CONSEQUENCE);
        let (message, times) = messages.into_iter().max_by_key(|(message, times)| (is_cause(message), *times))?;
        let message = (message.to_owned(), times);
        Some(FailedReplay { failed, sent, message, has_keys, told_ids, compared_by })
    }
}

/// The share of the statements sent that failed; `None` if `point` is no replay with failures.
pub(crate) fn failed_share(point: &PointAnalysis) -> Option<f64> {
    let summary = point.summary.as_ref().filter(|_| !point.traits.outcome.replay_failures.is_empty())?;
    Some(summary.failed as f64 / sent_in(summary) as f64)
}

fn sent_in(summary: &Summary) -> u64 {
    summary.failed.saturating_add(summary.ops).saturating_add(summary.grace_ops)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyse;
    use crate::simulated::{replay_with_failures, run_of};

    #[test]
    fn of_several_points_those_that_fail_are_counted_together() {
        let points = vec![
            replay_with_failures(0, &[]),
            replay_with_failures(1_000, &[(1_000, "Table 'shop.orders' doesn't exist")]),
            replay_with_failures(2_000, &[(1_400, "x"), (600, "Table 'shop.orders' doesn't exist")]),
        ];
        let failed = FailedReplay::of(
            analyse(&run_of(points.into_iter().map(|one| one.point()).collect(), Vec::new())).points.iter(),
        )
        .expect("two of them fail");
        assert_eq!(
            (failed.failed, failed.sent, failed.message),
            (3_000, 43_000, ("Table 'shop.orders' doesn't exist".to_owned(), 1_600))
        );
    }

    #[test]
    fn counts_of_a_damaged_file_saturate() {
        let replay = || replay_with_failures(1_000, &[(u64::MAX, "x")]).point();
        let mut analysis = analyse(&run_of(vec![replay(), replay()], Vec::new()));
        let summaries = analysis.points.iter_mut().filter_map(|point| point.summary.as_mut());
        summaries.for_each(|summary| summary.failed = u64::MAX);
        let failed = FailedReplay::of(analysis.points.iter()).expect("all of them fail");
        assert_eq!((failed.failed, failed.sent, failed.message.1), (u64::MAX, u64::MAX, u64::MAX));
    }

    #[test]
    fn what_aborted_a_transaction_is_told_before_what_came_of_it() {
        const ABORTED: &str =
            "ERROR 25P02: current transaction is aborted, commands ignored until end of transaction block";
        let message = |messages: &[(u64, &str)]| {
            let analysis = analyse(&run_of(vec![replay_with_failures(2_000, messages).point()], Vec::new()));
            FailedReplay::of(analysis.points.iter()).expect("it fails").message
        };
        assert_eq!(message(&[(1_900, ABORTED), (60, "x"), (40, "y")]), ("x".to_owned(), 60));
        assert_eq!(message(&[(2_000, ABORTED)]), (ABORTED.to_owned(), 2_000));
    }
}
