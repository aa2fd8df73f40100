//! Each kind of operation by itself: a named statement of a plan, a mix, the reads and the writes of files.
//!
//! In: a point, and the part of its run phase that counts, without steps. Out: a [`StatementSummary`] for each kind
//! that was performed; the operations of those that are not in the background sum to those of the point.
//! Limits: an operation is timed as a whole. Of a transaction, that is from its first statement to the end of its commit: the statements in
//! it have no times of their own.

use crate::Quantiles;
use crate::math::repeats::Repeated;
use crate::recorded::window::Window;
use model::{Interval, KindDef, KindRow, OpClass, OpKind, PointData, Times};
use serde::Serialize;

/// The numbers of one kind of operation over the part of the run phase that counts.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StatementSummary {
    /// Its name: that of the statement, of the mix, or what is done with a file.
    pub kind: String,
    /// What its operations do.
    pub class: OpClass,
    /// How many statements one operation is, BEGIN and COMMIT included.
    pub queries_per_op: f64,
    /// Operations done by the end of the run phase.
    pub ops: u64,
    /// Operations failed, the grace time included.
    pub failed: u64,
    /// Operations done per second.
    pub ops_per_s: f64,
    /// Whether clients in the background perform it, whose operations are not counted among those of the point.
    pub background: bool,
    /// How many operations of its clients in the background fell due per second; `None` of others, and in a closed loop.
    pub asked_per_s: Option<f64>,
    /// Its share of all operations done, from 0 to 1; `None` in the background.
    pub share: Option<f64>,
    /// The payload per second.
    pub bytes_per_s: f64,
    /// Response times, those of the grace time included; `None` if none was done.
    pub response_ns: Option<Quantiles>,
    /// Service times, as the response times.
    pub service_ns: Option<Quantiles>,
    #[serde(skip)]
    pub response: Times,
    #[serde(skip)]
    pub service: Times,
}

impl StatementSummary {
    /// The same kind as one that clients in the background perform, of which `asked_per_s` fell due per second.
    pub(crate) fn in_background(self, asked_per_s: Option<f64>) -> StatementSummary {
        StatementSummary { background: true, asked_per_s, share: None, ..self }
    }

    /// What tells it from others of its point: a kind in the background may have the name of another.
    fn identity(&self) -> (&str, bool) {
        (&self.kind, self.background)
    }
}

/// The kinds of `point` that were performed in `window`, in the order in which its workload declares them.
pub fn summarise_statements(point: &PointData, window: &Window) -> Vec<StatementSummary> {
    let declared = (0u8..).zip(&point.kinds);
    let all = declared.filter_map(|(number, kind)| summarise_kind(OpKind(number), kind, window)).collect();
    with_shares(all)
}

fn summarise_kind(number: OpKind, def: &KindDef, window: &Window) -> Option<StatementSummary> {
    let inside = |value: fn(&KindRow) -> u64| sum_of_kind(window.inside_intervals, number, value);
    let all = &window.phase.intervals[..];
    let (ops, failed) = (inside(|row| row.ok), sum_of_kind(all, number, |row| row.failed));
    let times = |which: fn(&KindRow) -> &Times| Times::merged(rows_of_kind(all, number).map(which));
    let (response, service) = (times(|row| &row.response), times(|row| &row.service));
    if ops == 0 && failed == 0 && response.is_empty() {
        return None;
    }
    let per_second = |count: u64| window.per_second(count);
    Some(StatementSummary {
        kind: def.name.clone(),
        class: def.class,
        queries_per_op: def.queries_per_op,
        ops,
        failed,
        ops_per_s: per_second(ops),
        background: false,
        asked_per_s: None,
        share: None,
        bytes_per_s: per_second(inside(|row| row.bytes)),
        response_ns: Quantiles::from_times(&response),
        service_ns: Quantiles::from_times(&service),
        response,
        service,
    })
}

fn rows_of_kind(intervals: &[Interval], number: OpKind) -> impl Iterator<Item = &KindRow> {
    intervals.iter().flat_map(|interval| &interval.kinds).filter(move |row| row.kind == number)
}

fn sum_of_kind(intervals: &[Interval], number: OpKind, value: fn(&KindRow) -> u64) -> u64 {
    rows_of_kind(intervals, number).map(value).fold(0, u64::saturating_add)
}

/// `all` with the share of each in the operations of all.
fn with_shares(mut all: Vec<StatementSummary>) -> Vec<StatementSummary> {
    let total = all.iter().filter(|kind| !kind.background).map(|kind| kind.ops).fold(0, u64::saturating_add);
    for kind in all.iter_mut().filter(|kind| !kind.background) {
        kind.share = Some(if total > 0 { kind.ops as f64 / total as f64 } else { 0.0 });
    }
    all
}

/// The kinds of several repeats together: operations and failures are sums, rates are means, percentiles are of the times of all.
pub fn merge_repeats(repeats: &[&[StatementSummary]]) -> Vec<StatementSummary> {
    let mut names: Vec<(&str, bool)> = Vec::new();
    for kind in repeats.iter().flat_map(|repeat| repeat.iter()) {
        if !names.contains(&kind.identity()) {
            names.push(kind.identity());
        }
    }
    let all = names.into_iter().filter_map(|name| {
        let same: Vec<&StatementSummary> =
            repeats.iter().filter_map(|repeat| repeat.iter().find(|kind| kind.identity() == name)).collect();
        merge_kind(&same, repeats.len())
    });
    with_shares(all.collect())
}

/// `same` kind in those of `repeats` repeats in which it was performed.
fn merge_kind(same: &[&StatementSummary], repeats: usize) -> Option<StatementSummary> {
    let first = *same.first()?;
    let sum = |value: fn(&StatementSummary) -> u64| same.iter().map(|kind| value(kind)).fold(0, u64::saturating_add);
    let mean =
        |value: fn(&StatementSummary) -> f64| same.iter().map(|kind| value(kind)).sum::<f64>() / repeats.max(1) as f64;
    let times = |which: fn(&StatementSummary) -> &Times| Times::merged(same.iter().map(|kind| which(kind)));
    let (response, service) = (times(|kind| &kind.response), times(|kind| &kind.service));
    Some(StatementSummary {
        kind: first.kind.clone(),
        class: first.class,
        queries_per_op: Repeated::new(same.iter().copied()).mean(|kind| kind.queries_per_op),
        background: first.background,
        asked_per_s: Repeated::new(same.iter().copied()).mean(|kind| kind.asked_per_s),
        share: None,
        ops: sum(|kind| kind.ops),
        failed: sum(|kind| kind.failed),
        ops_per_s: mean(|kind| kind.ops_per_s),
        bytes_per_s: mean(|kind| kind.bytes_per_s),
        response_ns: Quantiles::from_times(&response).or(first.response_ns),
        service_ns: Quantiles::from_times(&service).or(first.service_ns),
        response,
        service,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PointAnalysis;
    use crate::simulated::{SECOND, Simulation};

    /// Ten seconds of `reads` and `writes` a second, of 1 and of 5 ms, of which the last second is after the end of the phase.
    fn mixed(reads: u64, writes: u64) -> PointAnalysis {
        let simulation = Simulation::counts(&[0; 10]).with(|point| {
            point.kinds =
                vec![crate::simulated::kind("read"), crate::simulated::kind("write"), crate::simulated::kind("fill")];
            point.phases[0].end = model::Tick(9 * SECOND);
            for interval in &mut point.phases[0].intervals {
                let row = |number: u8, ok: u64, ns: u64| {
                    let mut times = Times::default();
                    times.record_n(ns, ok);
                    let (response, service, bytes) = (times.clone(), times, 4096 * ok);
                    KindRow { ok, bytes, response, service, ..KindRow::empty(OpKind(number)) }
                };
                interval.kinds = vec![row(0, reads, 1_000_000), row(1, writes, 5_000_000)];
            }
            point.phases[0].intervals[3].kinds[1].failed = 7;
        });
        simulation.analysis().points.remove(0)
    }

    #[test]
    fn each_kind_has_its_rate_its_times_and_its_failures_and_the_counts_sum_to_the_point() {
        let point = mixed(600, 200);
        let names: Vec<&str> = point.statements.iter().map(|kind| kind.kind.as_str()).collect();
        assert_eq!(names, ["read", "write"], "nothing was filled in the run phase");
        let [reads, writes] = point.statements.as_slice() else { panic!("two kinds") };
        let summary = point.summary.as_ref().expect("it ran");
        assert_eq!((reads.ops, writes.ops, writes.failed), (5_400, 1_800, 7));
        assert_eq!(reads.ops + writes.ops, summary.ops);
        assert_eq!(reads.failed + writes.failed, summary.failed);
        assert_eq!((reads.ops_per_s, reads.share, writes.share), (600.0, Some(0.75), Some(0.25)));
        assert!((reads.bytes_per_s + writes.bytes_per_s - summary.bytes_per_s).abs() < 1e-6);
        let p99 = |kind: &StatementSummary| kind.response_ns.expect("it ran").p99 / 1_000_000;
        assert!(p99(reads) == 1 && (4..=5).contains(&p99(writes)), "{reads:?} {writes:?}");
    }

    #[test]
    fn times_of_all_kinds_are_those_of_the_point() {
        let point = mixed(600, 200);
        let series = point.series.as_ref().expect("it ran");
        let all = Times::merged(point.statements.iter().map(|kind| &kind.response));
        assert_eq!(all, series.response);
    }

    #[test]
    fn steps_of_a_turn_are_no_statements_and_background_clients_have_rows_of_their_own() {
        let kinds = |simulation: Simulation| simulation.analysis().points.remove(0).statements;
        let names = |kinds: &[StatementSummary]| kinds.iter().map(|kind| kind.kind.clone()).collect::<Vec<_>>();
        assert_eq!(names(&kinds(Simulation::counts(&[100; 10]).with_steps(&[("close", 10_000)]))), ["connect"]);
        let both = kinds(Simulation::counts(&[100; 10]).background(4, 500, 490));
        assert_eq!(
            both.iter().map(|kind| (kind.background, kind.share)).collect::<Vec<_>>(),
            [(false, Some(1.0)), (true, None)]
        );
        assert_eq!((both[1].asked_per_s, both[1].ops), (Some(500.0), 4_900));
    }

    #[test]
    fn repeats_are_merged_by_kind_and_one_that_lacks_a_kind_has_a_rate_of_0_of_it() {
        let (one, mut two) = (mixed(600, 200), mixed(200, 100));
        let both = merge_repeats(&[&one.statements, &two.statements]);
        let numbers: Vec<(u64, f64)> = both.iter().map(|kind| (kind.ops, kind.ops_per_s)).collect();
        assert_eq!(numbers, [(7_200, 400.0), (2_700, 150.0)]);
        assert!((both[0].share.expect("measured") - 7_200.0 / 9_900.0).abs() < 1e-12);
        two.statements.truncate(1);
        let both = merge_repeats(&[&one.statements, &two.statements]);
        assert_eq!((both[1].ops, both[1].ops_per_s), (1_800, 100.0));
    }
}
