//! Steps that follow in the turn of an operation, such as the first query over a connection: they are kept apart from the operations.
//!
//! In: a point that marks the kinds of its steps. Out: the phases without the steps, from which all headline numbers are computed,
//! so that an operation is a turn; and a [`KindSummary`] for each kind, those of the steps among them.
//! Limits: a point without steps has no summaries by kind. The CPU and the I/O of a turn cannot be divided among its steps.

use crate::Quantiles;
use crate::math::repeats::{Repeated, combined};
use model::{Interval, KindRow, OpClass, Phase, PhaseData, PointData, Tick, Times};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::cmp::Reverse;

/// The numbers of one kind of operation, over the part of the run that counts and its grace time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct KindSummary {
    pub kind: String,
    pub ops: u64,
    pub failed: u64,
    /// Response times; `None` if none was done. A step is due as soon as it can start, so its service times are the same.
    pub response_ns: Option<Quantiles>,
    #[serde(skip)]
    pub response: Times,
}

impl KindSummary {
    /// The kinds of repeats, in the order of the first that has most of them. Counts are sums, percentiles are of the times of all.
    pub(crate) fn combine(repeats: &[&[KindSummary]]) -> Vec<KindSummary> {
        let longest = repeats.iter().min_by_key(|kinds| Reverse(kinds.len())).copied().unwrap_or_default();
        let combine_kind = |first: &KindSummary| {
            let same = repeats.iter().filter_map(|kinds| kinds.iter().find(|one| one.kind == first.kind));
            let all = Repeated::new(same);
            let response = all.times(|one| &one.response);
            let response_ns = Quantiles::from_times(&response);
            let kind = first.kind.clone();
            combined!(
                all,
                KindSummary { kind: (kind), ops: sum, failed: sum, response_ns: (response_ns), response: (response) }
            )
        };
        longest.iter().map(combine_kind).collect()
    }
}

/// Whether some of the kinds of `point` follow in the turns of others.
pub fn has_steps(point: &PointData) -> bool {
    point.kinds.iter().any(|kind| kind.class == OpClass::Step)
}

/// `phases` of `point` without its steps; as they are if it has none.
pub fn without_steps<'a>(point: &PointData, phases: Cow<'a, [PhaseData]>) -> Cow<'a, [PhaseData]> {
    if !has_steps(point) {
        return phases;
    }
    let is_own = |row: &KindRow| point.kind(row.kind).is_none_or(|kind| kind.class != OpClass::Step);
    let strip = |phase: &PhaseData| {
        let strip_interval = |interval: &Interval| Interval {
            kinds: interval.kinds.iter().filter(|row| is_own(row)).cloned().collect(),
            ..*interval
        };
        PhaseData { intervals: phase.intervals.iter().map(strip_interval).collect(), ..*phase }
    };
    Cow::Owned(phases.iter().map(strip).collect())
}

/// The numbers of each kind of `point` from `start` on, if some of them are steps.
pub fn summarise_kinds(point: &PointData, start: Tick) -> Vec<KindSummary> {
    let Some(run) = point.phase(Phase::Run).filter(|_| has_steps(point)) else { return Vec::new() };
    let counted = || run.intervals.iter().filter(move |interval| interval.start >= start);
    let summaries = (0u8..).zip(&point.kinds).map(|(number, kind)| {
        let rows = || counted().flat_map(|interval| &interval.kinds).filter(move |row| row.kind.0 == number);
        let sum = |value: fn(&KindRow) -> u64| rows().map(value).fold(0, u64::saturating_add);
        let response = Times::merged(rows().map(|row| &row.response));
        KindSummary {
            kind: kind.name.clone(),
            ops: sum(|row| row.ok),
            failed: sum(|row| row.failed),
            response_ns: Quantiles::from_times(&response),
            response,
        }
    });
    summaries.collect()
}

#[cfg(test)]
mod tests {
    use crate::simulated::Simulation;

    #[test]
    fn an_operation_is_a_turn_and_each_step_has_its_own_times() {
        let plain = Simulation::counts(&[1000; 10]).analysis().points.remove(0).summary.expect("it ran");
        let both = Simulation::counts(&[1000; 10]).with_steps(&[("first_query", 2_000_000), ("close", 10_000)]);
        let analysis = both.analysis();
        let found = analysis.points[0].summary.as_ref().expect("it ran");
        assert_eq!((found.ops, found.ops_per_s), (plain.ops, plain.ops_per_s));
        assert_eq!(found.response_ns, plain.response_ns);
        let kinds: Vec<(&str, u64, u64)> = found
            .kinds
            .iter()
            .map(|kind| (kind.kind.as_str(), kind.ops, kind.response_ns.expect("it ran").max))
            .collect();
        assert_eq!(
            kinds,
            [("connect", 10_000, 950_000), ("first_query", 10_000, 2_000_000), ("close", 10_000, 10_000)]
        );
        assert!(plain.kinds.is_empty());
        let codes: Vec<_> = analysis.points[0].findings.iter().map(|finding| finding.code().as_str()).collect();
        assert!(!codes.contains(&"littles-law") && !codes.contains(&"plausibility"), "{codes:?}");
    }
}
