//! The check of the conditions that the rows of a workload must fulfil, after its load and before its data is removed.
//!
//! In: what the instance found. Out: facts for the run file. Limits: it may read all data several times, and is in no number of the point.
//! A condition that does not hold spoils the point, which the analysis says; it is no failure of the load.

use engine::CheckedConditions;
use model::{BROKEN_CONDITION_FACT, Fact, Nanos};

/// What the run file keeps of it; it took `took`.
pub(super) fn facts(found: &CheckedConditions, took: Nanos) -> Vec<Fact> {
    let CheckedConditions { total, checked, broken } = found;
    let stopped = if checked < total { ", stopped before the end" } else { "" };
    let held = checked - broken.len();
    let summary = Fact::new("conditions.checked", format!("{held} of {total} hold{stopped}, in {took}"));
    let broken = broken.iter().map(|rule| Fact::new(format!("{BROKEN_CONDITION_FACT}{}", rule.number), &*rule.text));
    [summary].into_iter().chain(broken).collect()
}
