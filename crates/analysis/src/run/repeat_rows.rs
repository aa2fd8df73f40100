//! One row for all repeats of a point: what a table shows of them.
//!
//! In: an analysis. Out: the same with one point in the place of its repeats, and how many it is of. Limits: means of rates, costs and
//! durations; percentiles are of the times of all repeats together, maxima and the worst second are those of any. Repeats whose numbers
//! must not be used, or that were cut short, are left out, unless all are such. Points that a setting distinguishes which has no effect on them did the same work,
//! and are repeats. The row has no series.

use crate::finding::bottleneck::{Bottlenecks, Cause};
use crate::hosts;
use crate::math::repeats::{combine, combine_plain};
use crate::numbers::endpoints;
use crate::numbers::quantiles::Quantiles;
use crate::numbers::statements::merge_repeats;
use crate::points::merge_times;
use crate::points::sweep::{is_usable, is_whole};
use crate::recorded::dimensions::Role;
use crate::{Analysis, InsertCost, InstanceShares, PointAnalysis, RunningCost, Summary, ThreadStates, VariantCost};
use std::collections::BTreeMap;

/// The rows of the tables of points.
pub struct RepeatRows {
    /// The analysis with one point for each row. It has the number of the first of its repeats.
    pub analysis: Analysis,
    /// By the number of each point, how many repeats its row is of.
    pub counts: BTreeMap<u32, RepeatCount>,
}

/// How many repeats a row is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RepeatCount {
    /// Those whose numbers may be used and compared.
    pub usable: usize,
    /// All.
    pub all: usize,
}

impl RepeatRows {
    /// The rows of `analysis`, in the order of their first points.
    pub fn from_analysis(analysis: &Analysis) -> RepeatRows {
        let mut places: BTreeMap<(usize, u32, u32), usize> = BTreeMap::new();
        let mut rows: Vec<Vec<&PointAnalysis>> = Vec::new();
        for point in &analysis.points {
            let place = *places.entry((point.group, point.clients, point.depth)).or_insert(rows.len());
            match rows.get_mut(place) {
                Some(row) => row.push(point),
                None => rows.push(vec![point]),
            }
        }
        let counts = rows
            .iter()
            .map(|row| {
                let usable = row.iter().filter(|point| is_whole(point)).count();
                (row[0].id, RepeatCount { usable, all: row.len() })
            })
            .collect();
        let points = rows.iter().map(|row| row_point(row)).collect();
        // All but the points: their series are large.
        let Analysis { meta, searches, findings, verdict, .. } = analysis;
        let (meta, searches) = (meta.clone(), searches.clone());
        let (findings, verdict) = (findings.clone(), verdict.clone());
        RepeatRows { analysis: Analysis { meta, points, searches, findings, verdict }, counts }
    }

    /// Whether any row is of several repeats.
    pub fn has_repeats(&self) -> bool {
        self.counts.values().any(|count| count.all > 1)
    }
}

/// `repeats` as one point.
fn row_point(repeats: &[&PointAnalysis]) -> PointAnalysis {
    let first = repeats[0];
    if repeats.len() == 1 {
        return first.clone();
    }
    let those = |may: fn(&PointAnalysis) -> bool| -> Vec<&PointAnalysis> {
        repeats.iter().copied().filter(|point| may(point)).collect()
    };
    let (comparable, usable) = (those(is_whole), those(is_usable));
    let shown = [&comparable[..], &usable[..]].into_iter().find(|own| !own.is_empty()).unwrap_or(repeats);
    let mut row = PointAnalysis { series: None, shape: None, rounds: None, ..shown[0].clone() };
    row.id = first.id;
    row.label.place.retain(|setting| setting.role != Role::Repeat && setting.used);
    row.validity = shown.iter().map(|point| point.validity).max().unwrap_or(first.validity);
    row.findings = shown.iter().flat_map(|point| point.findings.iter().cloned()).collect();
    row.bottlenecks = usual_bottlenecks(shown);
    row.error = repeats.iter().find_map(|point| point.error.clone());
    row.summary = mean_summary(shown);
    row.statements = merge_repeats(&shown.iter().map(|point| &point.statements[..]).collect::<Vec<_>>());
    row.endpoints = endpoints::merge_repeats(&shown.iter().map(|point| &point.endpoints[..]).collect::<Vec<_>>());
    row.hosts = hosts::merge_repeats(&shown.iter().map(|point| &point.hosts[..]).collect::<Vec<_>>());
    row.threads = ThreadStates::mean(&shown.iter().map(|point| point.threads).collect::<Vec<_>>());
    row.instances = row.summary.as_ref().and_then(|summary| summed_shares(shown, summary));
    row.variant = mean_variant(shown);
    row.inserts = mean_cost(&shown.iter().filter_map(|point| point.inserts.as_ref()).collect::<Vec<_>>());
    row
}

/// The bottlenecks of the first of those repeats that agree with most others on the first cause.
fn usual_bottlenecks(repeats: &[&PointAnalysis]) -> Option<Bottlenecks> {
    let all: Vec<&Bottlenecks> = repeats.iter().filter_map(|point| point.bottlenecks.as_ref()).collect();
    let first = |found: &Bottlenecks| found.causes.first().map(Cause::limit);
    let agreeing = |found: &Bottlenecks| all.iter().filter(|other| first(other) == first(found)).count();
    let most = all.iter().map(|found| agreeing(found)).max()?;
    all.iter().find(|found| agreeing(found) == most).map(|found| (*found).clone())
}

/// The variant of `repeats` with the means of its durations.
fn mean_variant(repeats: &[&PointAnalysis]) -> Option<VariantCost> {
    let all: Vec<&VariantCost> = repeats.iter().filter_map(|point| point.variant.as_ref()).collect();
    let mean = |value: fn(&VariantCost) -> Option<f64>| combine_plain(all.iter().filter_map(|one| value(one)));
    let first = *all.first()?;
    let (total_seconds, statement_seconds) = (mean(|one| one.total_seconds), mean(|one| one.statement_seconds));
    Some(VariantCost { total_seconds, statement_seconds, ..first.clone() })
}

fn mean_summary(repeats: &[&PointAnalysis]) -> Option<Summary> {
    let all: Vec<&Summary> = repeats.iter().filter_map(|point| point.summary.as_ref()).collect();
    let first = *all.first()?;
    let mut row = first.clone();
    let mean = |value: fn(&Summary) -> Option<f64>| combine_plain(all.iter().filter_map(|one| value(one)));
    let sum = |value: fn(&Summary) -> u64| all.iter().map(|one| value(one)).sum::<u64>();
    row.seconds = mean(|one| Some(one.seconds)).unwrap_or(first.seconds);
    (row.failed, row.late, row.unserved) = (sum(|one| one.failed), sum(|one| one.late), sum(|one| one.unserved));
    let ops = combine(all.iter().map(|one| (one.ops_per_s, one.ops_per_s_ci95))).unwrap_or_default();
    let queries = combine(all.iter().map(|one| (one.queries_per_s, one.queries_per_s_ci95))).unwrap_or_default();
    let rows = combine(all.iter().filter_map(|one| Some((one.rows_per_s?, one.rows_per_s_ci95))));
    (row.ops_per_s, row.ops_per_s_ci95) = (ops.mean, ops.ci95);
    (row.queries_per_s, row.queries_per_s_ci95) = (queries.mean, queries.ci95);
    (row.rows_per_s, row.rows_per_s_ci95) = (rows.map(|rows| rows.mean), rows.and_then(|rows| rows.ci95));
    row.bytes_per_s = mean(|one| Some(one.bytes_per_s)).unwrap_or(first.bytes_per_s);
    row.response_ns = Quantiles::from_times(&merge_times(repeats, |series| &series.response)).or(first.response_ns);
    row.service_ns = Quantiles::from_times(&merge_times(repeats, |series| &series.service)).or(first.service_ns);
    row.worst = all.iter().filter_map(|one| one.worst).min_by(|a, b| a.ops_per_s.total_cmp(&b.ops_per_s));
    row.client.cpu_ns_per_op = mean(|one| one.client.cpu_ns_per_op);
    row.cost.read_bytes_per_op = mean(|one| one.cost.read_bytes_per_op);
    row.cost.written_bytes_per_op = mean(|one| one.cost.written_bytes_per_op);
    row.cost.network_bytes_per_op = mean(|one| one.cost.network_bytes_per_op);
    row.cost.engine_cpu_ns_per_op = mean(|one| one.cost.engine_cpu_ns_per_op);
    row.cost.context_switches_per_op = mean(|one| one.cost.context_switches_per_op);
    row.cost.running = mean_running_cost(&all, row.ops_per_s);
    Some(row)
}

/// The shares of the operations of all repeats together.
fn summed_shares(repeats: &[&PointAnalysis], summary: &Summary) -> Option<InstanceShares> {
    let mut all = repeats.iter().filter_map(|point| point.instances.as_ref());
    let mut ops = all.next()?.ops.clone();
    all.for_each(|shares| ops.iter_mut().zip(&shares.ops).for_each(|(sum, ops)| *sum += ops));
    InstanceShares::from_ops(&ops, summary)
}

/// The cost at the mean rates, so that it fits them.
fn mean_running_cost(all: &[&Summary], ops_per_s: f64) -> RunningCost {
    let mean =
        |value: fn(&RunningCost) -> Option<f64>| combine_plain(all.iter().filter_map(|one| value(&one.cost.running)));
    let has_ops =
        all.iter().any(|one| one.cost.running.per_million_ops.or(one.cost.running.kwh_per_million_ops).is_some());
    let (price, watts) = (mean(|cost| cost.price_per_hour), mean(|cost| cost.watts));
    let at_mean = RunningCost::at_rates(price, watts, Some(ops_per_s).filter(|_| has_ops), None);
    RunningCost { per_gb: mean(|cost| cost.per_gb), kwh_per_gb: mean(|cost| cost.kwh_per_gb), ..at_mean }
}

/// Each field of [`InsertCost`] that holds a number, as the mean of those of `$all`.
macro_rules! mean_fields {
    ($row:ident, $all:ident: $($field:ident)*) => {
        $($row.$field = combine_plain($all.iter().filter_map(|cost| cost.$field));)*
    };
}

fn mean_cost(all: &[&InsertCost]) -> Option<InsertCost> {
    let mut row = **all.first()?;
    let rate = combine(all.iter().filter_map(|cost| Some((cost.inserts_per_s?, cost.inserts_per_s_ci95))));
    (row.inserts_per_s, row.inserts_per_s_ci95) = (rate.map(|rate| rate.mean), rate.and_then(|rate| rate.ci95));
    mean_fields!(row, all:
        block_read_bytes_per_s written_bytes_per_s block_read_bytes_per_insert written_bytes_per_insert
        engine_read_bytes_per_insert engine_written_bytes_per_insert engine_log_bytes_per_insert
        engine_pages_bytes_per_insert engine_compaction_bytes_per_insert engine_doublewrite_bytes_per_insert
        engine_cpu_ns_per_insert client_cpu_ns_per_insert engine_context_switches_per_insert
        client_context_switches_per_insert data_bytes log_bytes unflushed_bytes data_bytes_per_row
        write_amplification written_bytes engine_written_bytes pending_bytes log_age_bytes drain_written_bytes
        drain_left_bytes written_with_drain_bytes_per_insert data_per_cache
    );
    Some(row)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulated::{Simulation, run_of};
    use crate::{Validity, analyse};
    use model::PointData;

    /// Twelve seconds of `rate`, each operation of 1 s / `rate`.
    fn point(clients: u32, rate: u64, repeat: u32) -> PointData {
        let simulation = Simulation::counts(&[rate; 12]).with(|point| {
            point.trial.load.clients = clients;
            (point.trial.repeat, point.trial.seed) = (repeat, u64::from(repeat));
        });
        simulation.point()
    }

    fn rows(points: Vec<PointData>) -> RepeatRows {
        RepeatRows::from_analysis(&analyse(&run_of(points, Vec::new())))
    }

    #[test]
    fn repeats_are_one_row_with_their_mean_their_interval_and_their_number() {
        let repeats = [(1, 1000), (2, 1100), (3, 1200)];
        let points = repeats.iter().flat_map(|(nth, rate)| [point(1, *rate, *nth), point(4, 2 * rate, *nth)]).collect();
        let found = rows(points);
        let rates: Vec<f64> =
            found.analysis.points.iter().map(|row| row.summary.as_ref().unwrap().ops_per_s.round()).collect();
        assert_eq!((rates, found.has_repeats()), (vec![1100.0, 2200.0], true));
        assert_eq!(found.counts[&1], RepeatCount { usable: 3, all: 3 });
        // 1100 +- 4.303 * 100 / sqrt(3).
        let [low, high] = found.analysis.points[0].summary.as_ref().unwrap().ops_per_s_ci95.expect("three repeats");
        assert!((low - 851.6).abs() < 1.0 && (high - 1348.4).abs() < 1.0, "{low} {high}");
        assert!(found.analysis.points[0].label.place.iter().all(|setting| setting.role != Role::Repeat));
    }

    #[test]
    fn a_repeat_that_must_not_be_used_is_counted_and_left_out() {
        let mut analysis = analyse(&run_of([1, 2, 3].map(|nth| point(1, 1000 * nth, nth as u32)).to_vec(), Vec::new()));
        analysis.points[2].validity = Validity::Invalid;
        let found = RepeatRows::from_analysis(&analysis);
        assert_eq!(found.counts[&1], RepeatCount { usable: 2, all: 3 });
        assert_eq!(found.analysis.points[0].summary.as_ref().unwrap().ops_per_s.round(), 1500.0);
        analysis.points.iter_mut().for_each(|point| point.validity = Validity::Invalid);
        let found = RepeatRows::from_analysis(&analysis);
        assert_eq!((found.counts[&1].usable, found.analysis.points[0].validity), (0, Validity::Invalid));
    }

    #[test]
    fn a_run_without_repeats_keeps_its_points() {
        let found = rows(vec![point(1, 1000, 1), point(4, 3000, 1)]);
        assert_eq!((found.analysis.points.len(), found.has_repeats()), (2, false));
        assert!(found.analysis.points[0].series.is_some(), "nothing was combined");
    }

    #[test]
    fn each_cost_of_an_operation_is_the_mean_of_the_repeats() {
        let mut analysis = analyse(&run_of(vec![point(1, 1000, 1), point(1, 1000, 2)], Vec::new()));
        for (point, value) in analysis.points.iter_mut().zip([100.0, 300.0]) {
            let cost = &mut point.summary.as_mut().unwrap().cost;
            (cost.read_bytes_per_op, cost.written_bytes_per_op) = (Some(value), Some(2.0 * value));
            (cost.network_bytes_per_op, cost.engine_cpu_ns_per_op) = (Some(3.0 * value), Some(4.0 * value));
            cost.context_switches_per_op = Some(5.0 * value);
        }
        let cost = RepeatRows::from_analysis(&analysis).analysis.points[0].summary.as_ref().unwrap().cost;
        let bytes = [cost.read_bytes_per_op, cost.written_bytes_per_op, cost.network_bytes_per_op];
        assert_eq!(bytes, [Some(200.0), Some(400.0), Some(600.0)]);
        assert_eq!((cost.engine_cpu_ns_per_op, cost.context_switches_per_op), (Some(800.0), Some(1000.0)));
    }

    #[test]
    fn percentiles_are_of_the_times_of_all_repeats() {
        let found = rows(vec![point(1, 100, 1), point(1, 1000, 2)]);
        let response = found.analysis.points[0].summary.as_ref().unwrap().response_ns.expect("operations were done");
        // Operations take 0.95 s / rate: one in eleven takes 9.5 ms, the others 0.95 ms.
        assert!(response.p50 < 1_000_000 && response.p99 > 9_000_000, "{response:?}");
    }
}
