//! One row for all repeats of a point: what a table shows of them.
//!
//! In: an analysis. Out: the same with one point in the place of its repeats, and how many it is of. Repeats whose numbers must not
//! be used,
//! or that were cut short, are left out, unless all are such. Points that a setting distinguishes which has no effect on them did the same
//! work, and are repeats.
//!
//! What a row shows of its repeats:
//! - counts of operations, failures, late and unserved arrivals, drops: sums; the success rate and the retries of an operation are of these;
//! - rates: means, with an interval by [`crate::math::repeats::combine_looked_at`];
//! - costs, sizes, durations, shares and other amounts: means of the repeats that have them;
//! - percentiles: of the times of all repeats; maxima, the longest lag and the worst second: the worst of all;
//! - the cost of a million operations: that at the mean rate;
//! - accounts, facts, where data was found, what was counted once: that of all repeats, or nothing if they differ;
//! - bottlenecks: those that most repeats have; findings: those of all; validity: the worst;
//! - the largest rate of a search: the mean, if each repeat has found one; a projection: the mean, if each has an end;
//! - what is drawn over time, and stacks: nothing.

use crate::evidence::cause::{Bottlenecks, Cause};
use crate::hosts;
use crate::math::repeats::{Repeated, combine_plain};
use crate::numbers::endpoints;
use crate::numbers::phase_times::PhaseTimes;
use crate::numbers::statements::merge_repeats;
use crate::point::errors_of_mean;
use crate::points::merge_times;
use crate::points::sweep::{is_usable, is_whole};
use crate::recorded::dimensions::Role;
use crate::{
    Analysis, CompressionCost, DataLoad, HeldLimit, InsertCost, InstanceShares, PointAnalysis, Projection, Summary,
    ThreadStates, VariantCost, WorkDone,
};
use model::{Fact, PointState, PointTraits};
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
        let Analysis { meta, searches, findings, verdict, time, .. } = analysis;
        let (meta, searches) = (meta.clone(), searches.clone());
        let (findings, verdict) = (findings.clone(), verdict.clone());
        RepeatRows { analysis: Analysis { meta, points, searches, findings, verdict, time: *time }, counts }
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
        // Of a run that has not come to its other repeats.
        let mut only = first.clone();
        only.label.place.retain(|setting| setting.role != Role::Repeat);
        return only;
    }
    let those = |may: fn(&PointAnalysis) -> bool| -> Vec<&PointAnalysis> {
        repeats.iter().copied().filter(|point| may(point)).collect()
    };
    let (comparable, usable) = (those(is_whole), those(is_usable));
    let shown = [comparable, usable].into_iter().find(|own| !own.is_empty()).unwrap_or_else(|| repeats.to_vec());
    let all = Repeated::new(shown.iter().copied()).looked_at(errors_of_mean(&shown));
    let mut label = shown[0].label.clone();
    label.place.retain(|setting| setting.role != Role::Repeat && setting.used);
    let times = PhaseTimes {
        response: merge_times(&shown, |series| &series.response),
        service: merge_times(&shown, |series| &series.service),
    };
    let summary = Summary::combine(&all.parts(|point| point.summary.as_ref()), &times);
    let unfinished = shown.iter().find(|point| point.state != PointState::Complete);
    let cut_short = shown.iter().find(|point| !point.work_done.is_whole());
    // Each field is here, so that a new one cannot be forgotten.
    PointAnalysis {
        id: first.id,
        state: unfinished.map_or(PointState::Complete, |point| point.state),
        error: repeats.iter().find_map(|point| point.error.clone()),
        engine: shown[0].engine.clone(),
        workload: shown[0].workload.clone(),
        clients: shown[0].clients,
        depth: shown[0].depth,
        repeat: shown[0].repeat,
        settings: shown[0].settings.clone(),
        label,
        group: shown[0].group,
        facts: common_facts(&all),
        traits: common_traits(&all, shown[0]),
        load: DataLoad::combine(&all.parts(|point| point.load.as_ref())),
        variant: VariantCost::combine(&all.parts(|point| point.variant.as_ref())),
        statements: merge_repeats(&all.iter().map(|point| &point.statements[..]).collect::<Vec<_>>()),
        endpoints: endpoints::merge_repeats(&all.iter().map(|point| &point.endpoints[..]).collect::<Vec<_>>()),
        hosts: hosts::merge_repeats(&all.iter().map(|point| &point.hosts[..]).collect::<Vec<_>>()),
        instances: summary.as_ref().and_then(|summary| summed_shares(&shown, summary)),
        summary,
        inserts: InsertCost::combine(&all.parts(|point| point.inserts.as_ref())),
        compression: CompressionCost::combine(&all.parts(|point| point.compression.as_ref())),
        projection: Projection::combine(&all.parts(|point| point.projection.as_ref())),
        series: None,
        shape: None,
        rounds: None,
        threads: ThreadStates::mean(&all.iter().map(|point| point.threads).collect::<Vec<_>>()),
        stacks: None,
        mhz: all.mean(|point| point.mhz),
        bottlenecks: usual_bottlenecks(&shown),
        work_done: cut_short.map_or(WorkDone::Whole, |point| point.work_done.clone()),
        findings: shown.iter().flat_map(|point| point.findings.iter().cloned()).collect(),
        validity: shown.iter().map(|point| point.validity).max().unwrap_or(first.validity),
        held: all.first().and_then(|point| point.held).map(|_| HeldLimit { per_s: mean_limit(&all) }),
        mean_rule: first.mean_rule.clone(),
    }
}

/// The facts that are the same in all repeats.
fn common_facts(all: &Repeated<PointAnalysis>) -> Vec<Fact> {
    let mut facts = all.first().map_or_else(Vec::new, |first| first.facts.clone());
    facts.retain(|fact| all.iter().all(|point| point.facts.contains(fact)));
    facts
}

/// What was declared of `first`, and what was counted if it is the same in all.
fn common_traits(all: &Repeated<PointAnalysis>, first: &PointAnalysis) -> PointTraits {
    let outcome = all.same(|point| Some(&point.traits.outcome)).cloned().unwrap_or_default();
    PointTraits { outcome, ..first.traits.clone() }
}

/// The mean of the largest rates; `None` if that of a repeat may be higher than the rate that was held.
fn mean_limit(all: &Repeated<PointAnalysis>) -> Option<f64> {
    let held: Option<Vec<f64>> = all.iter().map(|point| point.held?.per_s).collect();
    combine_plain(held?)
}

/// The bottlenecks of the first of those repeats that agree with most others on the first cause.
fn usual_bottlenecks(repeats: &[&PointAnalysis]) -> Option<Bottlenecks> {
    let all: Vec<&Bottlenecks> = repeats.iter().filter_map(|point| point.bottlenecks.as_ref()).collect();
    let first = |found: &Bottlenecks| found.causes.first().map(Cause::limit);
    let agreeing = |found: &Bottlenecks| all.iter().filter(|other| first(other) == first(found)).count();
    let most = all.iter().map(|found| agreeing(found)).max()?;
    all.iter().find(|found| agreeing(found) == most).map(|found| (*found).clone())
}

/// The shares of the operations of all repeats together.
fn summed_shares(repeats: &[&PointAnalysis], summary: &Summary) -> Option<InstanceShares> {
    let mut all = repeats.iter().filter_map(|point| point.instances.as_ref());
    let mut ops = all.next()?.ops.clone();
    all.for_each(|shares| ops.iter_mut().zip(&shares.ops).for_each(|(sum, ops)| *sum += ops));
    InstanceShares::from_ops(&ops, summary)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::{FigureDef, INSERT_FIGURES, POINT_FIGURES, Read, RepeatRule};
    use crate::numbers::background::{BackgroundSummary, EndedOps};
    use crate::numbers::cost::DataFound;
    use crate::numbers::network::NetworkUse;
    use crate::numbers::order_rates::NewOrderRate;
    use crate::numbers::retries::RetryRate;
    use crate::numbers::steps::KindSummary;
    use crate::numbers::summary::WorstInterval;
    use crate::simulated::{Simulation, params, run_of};
    use crate::{
        ByteAccount, Cost, OpCost, Quantiles, RunningCost, UnknownWritten, Validity, WriteAccounts, WriteBreakdown,
        analyse,
    };
    use model::{PointData, Times};
    use serde::Serialize;
    use serde::de::DeserializeOwned;
    use serde_json::{Value, json};

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
            let cost = &mut point.summary.as_mut().unwrap().cost.per_op;
            (cost.read_bytes, cost.written_bytes) = (Some(value), Some(2.0 * value));
            (cost.network_bytes, cost.engine_cpu_ns) = (Some(3.0 * value), Some(4.0 * value));
            cost.context_switches = Some(5.0 * value);
        }
        let cost = RepeatRows::from_analysis(&analysis).analysis.points[0].summary.as_ref().unwrap().cost.per_op;
        let bytes = [cost.read_bytes, cost.written_bytes, cost.network_bytes];
        assert_eq!(bytes, [Some(200.0), Some(400.0), Some(600.0)]);
        assert_eq!((cost.engine_cpu_ns, cost.context_switches), (Some(800.0), Some(1000.0)));
    }

    /// What each repeat has of a field that has 1 in the first, the fourfold and the ninefold of it in the others.
    const FACTORS: [f64; 3] = [1.0, 4.0, 9.0];

    /// A summary with a value in each field.
    fn full_summary() -> Value {
        let mut times = Times::default();
        times.record_n(1, 20_000);
        let times = Quantiles::from_times(&times);
        let background = BackgroundSummary {
            kinds: vec!["insert".to_owned()],
            response_ns: times,
            service_ns: times,
            ..BackgroundSummary::default()
        };
        full(&Summary {
            retries: Some(RetryRate::default()),
            new_orders: Some(NewOrderRate::default()),
            response_ns: times,
            service_ns: times,
            worst: Some(WorstInterval::default()),
            network: Some(NetworkUse::default()),
            background: vec![background],
            kinds: vec![KindSummary { response_ns: times, ..KindSummary::default() }],
            ..Summary::default()
        })
    }

    /// `template` with a value in the place of each that is not known.
    fn full(template: &impl Serialize) -> Value {
        fn fill(key: &str, value: &mut Value) {
            match value {
                Value::Object(all) => all.iter_mut().for_each(|(key, one)| fill(key, one)),
                Value::Array(all) => all.iter_mut().for_each(|one| fill(key, one)),
                Value::Null => {
                    *value = match key {
                        "written_account" => json!("device"),
                        "written_unknown" => json!("no-device"),
                        "read_account" => json!("volume"),
                        "found" => json!("in memory"),
                        key if key.ends_with("ci95") => json!([1, 1]),
                        _ => json!(1),
                    }
                }
                _ => {}
            }
        }
        let mut value = serde_json::to_value(template).expect("it is plain");
        fill("", &mut value);
        value
    }

    /// The numbers of `value` by their paths. Each number is unlike that of any other path.
    fn numbered(path: &str, value: &mut Value, factor: f64, found: &mut Numbers) {
        match value {
            Value::Number(_) => {
                let number = 1000.0 * (found.len() + 1) as f64 * factor;
                found.insert(path.to_owned(), number);
                *value = json!(number as u64);
            }
            Value::Array(all) => {
                all.iter_mut().enumerate().for_each(|(at, one)| numbered(&format!("{path}.{at}"), one, factor, found))
            }
            Value::Object(all) => {
                all.iter_mut().for_each(|(key, one)| numbered(&format!("{path}.{key}"), one, factor, found))
            }
            Value::Null => panic!("{path} has no value"),
            Value::Bool(_) | Value::String(_) => {}
        }
    }

    /// What an op, a query or a row cost, which is not read back: from the numbers below `path` whose names end in `per`.
    fn cost_of(numbers: &Numbers, path: &str, per: &str) -> Cost {
        let at = |name: &str| numbers.get(&format!("{path}.{name}_per_{per}")).copied();
        Cost {
            read_bytes: at("read_bytes").or(at("block_read_bytes")),
            written_bytes: at("written_bytes"),
            network_bytes: at("network_bytes"),
            engine_cpu_ns: at("engine_cpu_ns"),
            context_switches: at("context_switches").or(at("engine_context_switches")),
            client_cpu_ns: at("client_cpu_ns"),
            client_context_switches: at("client_context_switches"),
            by_engine: WriteBreakdown {
                read: at("engine_read_bytes"),
                log: at("engine_log_bytes"),
                pages: at("engine_pages_bytes"),
                compaction: at("engine_compaction_bytes"),
                doublewrite: at("engine_doublewrite_bytes"),
                written: at("engine_written_bytes"),
            },
        }
    }

    fn fill_costs(summary: &mut Summary, numbers: &Numbers) {
        let at = |name: &str| numbers.get(&format!(".cost.{name}")).copied();
        let account = |name: &str| at(&format!("written_accounts.{name}"));
        summary.cost_per_query = cost_of(numbers, ".cost_per_query", "query");
        summary.cost = OpCost {
            per_op: cost_of(numbers, ".cost", "op"),
            written_account: Some(ByteAccount::Device),
            written_unknown: Some(UnknownWritten::NoDevice),
            written_accounts: WriteAccounts {
                process_bytes: account("process_bytes"),
                device_bytes: account("device_bytes"),
                others_bytes: account("others_bytes"),
                engine_bytes: account("engine_bytes"),
                flush_ops: account("flush_ops"),
                is_synced: true,
            },
            file_system_bytes: at("file_system_bytes"),
            running: RunningCost {
                price_per_hour: at("price_per_hour"),
                per_million_ops: at("per_million_ops"),
                per_gb: at("per_gb"),
                per_year: at("per_year"),
                watts: at("watts"),
                kwh_per_million_ops: at("kwh_per_million_ops"),
                kwh_per_gb: at("kwh_per_gb"),
                kwh_per_year: at("kwh_per_year"),
            },
        };
    }

    /// Numbers by their paths.
    type Numbers = BTreeMap<String, f64>;

    /// Three repeats of `template`, with the numbers of each by their paths.
    fn three_repeats<T: DeserializeOwned + Serialize>(
        template: &Value,
        fill: fn(&mut T, &Numbers),
    ) -> ([T; 3], [Numbers; 3]) {
        let all = FACTORS.map(|factor| {
            let (mut value, mut found) = (template.clone(), BTreeMap::new());
            numbered("", &mut value, factor, &mut found);
            let mut repeat: T = serde_json::from_value(value).expect("as it is written");
            fill(&mut repeat, &found);
            // A field that the template does not have would be null here.
            numbered("", &mut serde_json::to_value(&repeat).unwrap(), factor, &mut BTreeMap::new());
            (repeat, found)
        });
        let [a, b, c] = all;
        ([a.0, b.0, c.0], [a.1, b.1, c.1])
    }

    /// Compares each number of `row` with what `rule` makes of those of the repeats at its path; nothing is expected where it has `None`.
    fn compare<T: Serialize>(row: &T, repeats: &[Numbers; 3], rule: impl Fn(&str, [f64; 3]) -> Option<f64>) {
        let row = serde_json::to_value(row).unwrap();
        for path in repeats[0].keys() {
            let wanted = rule(path, [0, 1, 2].map(|nth| repeats[nth][path]));
            let found = row.pointer(&path.replace('.', "/")).and_then(Value::as_f64);
            let is_near = wanted.zip(found).is_some_and(|(wanted, found)| (wanted / found - 1.0).abs() < 1e-9);
            assert!(is_near || wanted.is_none() && found.is_none(), "{path}: {found:?} in place of {wanted:?}");
        }
    }

    fn mean([a, b, c]: [f64; 3]) -> f64 {
        (a + b + c) / 3.0
    }

    /// The ends of an interval around the mean by the spread of three repeats, which is wider than their own.
    fn end_of_interval(path: &str, rates: [f64; 3]) -> f64 {
        let spread = (rates.map(|rate| (rate - mean(rates)).powi(2)).iter().sum::<f64>() / 2.0).sqrt();
        let half = 4.302_652_729_911_275 * spread / 3.0_f64.sqrt();
        if path.ends_with(".0") { mean(rates) - half } else { mean(rates) + half }
    }

    #[test]
    fn each_number_of_a_summary_is_combined_by_its_rule() {
        let (mut all, numbers) = three_repeats::<Summary>(&full_summary(), fill_costs);
        let mut times = [Times::default(), Times::default()];
        for (summary, failed) in all.iter_mut().zip([0, 1, 6]) {
            (summary.repeats, summary.ended) = (1, EndedOps { done: 10, failed });
            summary.background[0].response.record_n(1_000 + failed, 1);
            summary.background[0].service.record_n(2_000 + failed, 1);
            summary.kinds[0].response.record_n(3_000 + failed, 1);
            times.iter_mut().for_each(|times| times.record_n(5_000 + failed, 1));
        }
        let [response, service] = times;
        let row = Summary::combine(&Repeated::new(&all), &PhaseTimes { response, service }).unwrap();
        let mut shown = analyse(&run_of(vec![point(1, 1000, 1)], Vec::new())).points.remove(0);
        shown.summary = Some(all[0].clone());
        let declared = |path: &str| {
            let figure = POINT_FIGURES.iter().find(|figure| figure.value(&shown) == Some(numbers[0][path]));
            figure.map(|figure| figure.repeats)
        };
        let ci_of = |path: &str| path.contains("_ci95.").then(|| path.split("_ci95").next().unwrap().to_owned());
        let at_mean = |path: &str| mean([0, 1, 2].map(|nth| numbers[nth][path]));
        compare(&row, &numbers, |path, values| {
            let [first, _, last] = values;
            if path.contains("_ns.") {
                return row_time(&row, path);
            }
            if let Some(rate) = ci_of(path) {
                return Some(end_of_interval(path, [0, 1, 2].map(|nth| numbers[nth][&rate])));
            }
            // What is no figure, and what follows from others.
            let by_name = || match path.rsplit('.').next().unwrap() {
                "ops" | "grace_ops" | "failed" => values.iter().sum(),
                "success_rate" => 30.0 / 37.0,
                "per_op" => (10.0 * values[0] + 11.0 * values[1] + 16.0 * values[2]) / 37.0,
                "lag_max_ns" => last,
                "clients" => first,
                "per_million_ops" => at_mean(".cost.price_per_hour") * 1e6 / at_mean(".ops_per_s") / 3600.0,
                "kwh_per_million_ops" => at_mean(".cost.watts") * 1e3 / at_mean(".ops_per_s") / 3600.0,
                "per_year" => at_mean(".cost.price_per_hour") * 8760.0,
                "kwh_per_year" => at_mean(".cost.watts") * 8.76,
                _ => mean(values),
            };
            match declared(path) {
                None | Some(RepeatRule::Pooled | RepeatRule::Follows) => Some(by_name()),
                Some(rule) => made_by(rule, values),
            }
        });
        assert_eq!((row.repeats, row.ops_of_a_repeat() * 3.0), (3, row.ops as f64));
        assert_eq!(row.cost.written_account, Some(ByteAccount::Device));
        assert!(row.cost.written_accounts.is_synced);
        let pooled =
            [row.background[0].response_ns, row.background[0].service_ns, row.kinds[0].response_ns, row.response_ns];
        let greatest = pooled.map(|times| times.unwrap().max);
        assert_eq!(greatest, [1_006, 2_006, 3_006, 5_006], "times are those of all repeats");
        all[1].cost.written_account = Some(ByteAccount::Process);
        all[1].cost.written_accounts.is_synced = false;
        let unlike = Summary::combine(&Repeated::new(&all), &PhaseTimes::default()).unwrap();
        assert_eq!((unlike.cost.written_account, unlike.cost.written_accounts.is_synced), (None, false));
    }

    /// What `row` has at the path of a percentile, which is checked apart.
    fn row_time(row: &Summary, path: &str) -> Option<f64> {
        serde_json::to_value(row).unwrap().pointer(&path.replace('.', "/")).and_then(Value::as_f64)
    }

    #[test]
    fn each_number_of_the_cost_of_an_insert_is_a_mean() {
        let (mut all, numbers) = three_repeats::<InsertCost>(&full(&InsertCost::default()), |cost, numbers| {
            cost.per_row = cost_of(numbers, "", "insert")
        });
        for (cost, factor) in all.iter_mut().zip(FACTORS) {
            (cost.pending_at_start_bytes, cost.in_log_only) = (Some(3.0 * factor), factor == 4.0);
            cost.written_account = Some(ByteAccount::Engine);
        }
        let row = InsertCost::combine(&Repeated::new(&all)).unwrap();
        compare(&row, &numbers, |path, values| match path.strip_suffix(".0").or(path.strip_suffix(".1")) {
            Some(_) => Some(end_of_interval(path, [0, 1, 2].map(|nth| numbers[nth][".inserts_per_s"]))),
            None => Some(mean(values)),
        });
        assert_eq!((row.pending_at_start_bytes, row.in_log_only), (Some(14.0), true));
        assert_eq!((row.written_account, row.read_account), (Some(ByteAccount::Engine), Some(ByteAccount::Volume)));
        assert_eq!(row.found, Some(DataFound::InMemory));
        (all[2].found, all[2].read_account) = (Some(DataFound::LargerThanMemory), Some(ByteAccount::Process));
        let unlike = InsertCost::combine(&Repeated::new(&all)).unwrap();
        assert_eq!((unlike.found, unlike.read_account), (None, None));
    }

    /// What `rule` makes of the numbers of three repeats, of which the first has the slowest second; `None` if they differ and must not.
    fn made_by(rule: RepeatRule, [a, b, c]: [f64; 3]) -> Option<f64> {
        match rule {
            RepeatRule::Mean => Some(mean([a, b, c])),
            RepeatRule::Sum => Some(a + b + c),
            RepeatRule::Most => Some(a.max(b).max(c)),
            RepeatRule::Least => Some(a.min(b).min(c)),
            RepeatRule::Same => Some(a).filter(|a| *a == b && *a == c),
            RepeatRule::OfSlowest => Some(a),
            RepeatRule::Pooled | RepeatRule::Follows => unreachable!("they need more than these numbers"),
        }
    }

    /// Compares what `row` has of each figure with what its declaration makes of those of the repeats.
    fn compare_declared<T>(figures: &[FigureDef<T>], repeats: [&T; 3], row: &T) {
        for figure in figures {
            let Some([a, b, c]) = repeats
                .iter()
                .map(|one| figure.value(one))
                .collect::<Option<Vec<f64>>>()
                .map(|all| [all[0], all[1], all[2]])
            else {
                continue;
            };
            // Times are of all repeats together, and what follows from others is tested with them.
            if matches!(figure.read, Read::Time(..)) || figure.repeats == RepeatRule::Follows {
                continue;
            }
            let wanted = made_by(figure.repeats, [a, b, c]);
            let found = figure.value(row);
            let is_near = wanted.zip(found).is_some_and(|(wanted, found)| (wanted / found - 1.0).abs() < 1e-9);
            assert!(is_near || wanted == found, "{}: {found:?} in place of {wanted:?}", figure.key);
        }
    }

    #[test]
    fn a_row_has_of_each_figure_what_its_declaration_says() {
        let (summaries, _) = three_repeats::<Summary>(&full_summary(), fill_costs);
        let (costs, _) = three_repeats::<InsertCost>(&full(&InsertCost::default()), |cost, numbers| {
            cost.per_row = cost_of(numbers, "", "insert")
        });
        let mut analysis = analyse(&run_of((1..=3).map(|nth| point(1, 1000, nth)).collect(), Vec::new()));
        for ((point, summary), cost) in analysis.points.iter_mut().zip(summaries).zip(costs) {
            let ended = EndedOps { done: 10, failed: 0 };
            (point.summary, point.inserts) = (Some(Summary { repeats: 1, ended, ..summary }), Some(cost));
        }
        let row = RepeatRows::from_analysis(&analysis).analysis.points.remove(0);
        let [a, b, c] = [0, 1, 2].map(|nth| &analysis.points[nth]);
        compare_declared(&POINT_FIGURES, [a, b, c], &row);
        let [a, b, c] = [a, b, c].map(|point| point.inserts.as_ref().unwrap());
        compare_declared(INSERT_FIGURES, [a, b, c], row.inserts.as_ref().unwrap());
    }

    #[test]
    fn what_is_not_of_a_summary_is_a_mean_or_nothing() {
        let mut analysis = analyse(&run_of((1..=3).map(|nth| point(1, 1000, nth)).collect(), Vec::new()));
        for (point, factor) in analysis.points.iter_mut().zip(FACTORS) {
            (point.mhz, point.held) = (Some(100.0 * factor), Some(HeldLimit { per_s: Some(30.0 * factor) }));
            point.facts = vec![Fact::new("same", "1"), Fact::new("unlike", factor.to_string())];
            (point.traits.engine.version, point.traits.outcome.data_bytes) =
                (Some("7".to_owned()), Some(factor as u64));
            let number = |times: f64| Some((times * factor) as u64);
            point.load = Some(DataLoad {
                seconds: factor,
                rows: number(30.0),
                rows_per_s: Some(3.0 * factor),
                index_seconds: Some(6.0 * factor),
                bytes: number(300.0),
                log_bytes: number(600.0),
                settle_seconds: Some(9.0 * factor),
            });
        }
        let row = RepeatRows::from_analysis(&analysis).analysis.points.remove(0);
        assert_eq!((row.mhz, row.held), (Some(1400.0 / 3.0), Some(HeldLimit { per_s: Some(140.0) })));
        assert_eq!(row.facts, [Fact::new("same", "1")]);
        assert_eq!((row.traits.engine.version.as_deref(), row.traits.outcome.data_bytes), (Some("7"), None));
        let load = row.load.expect("each was loaded");
        assert_eq!((load.rows, load.bytes, load.log_bytes), (Some(140), Some(1400), Some(2800)));
        let rates = [Some(load.seconds), load.rows_per_s, load.index_seconds, load.settle_seconds];
        assert_eq!(rates, [14.0 / 3.0, 14.0, 28.0, 42.0].map(Some));
        analysis.points[1].held = Some(HeldLimit { per_s: None });
        let unknown = RepeatRows::from_analysis(&analysis).analysis.points.remove(0);
        assert_eq!(unknown.held, Some(HeldLimit { per_s: None }), "the limit of a repeat may be higher");
    }

    #[test]
    fn a_step_of_few_operations_has_a_duration_however_often_it_was_repeated() {
        let step = |nth| {
            let simulation = Simulation::counts(&[4]).with(|point| {
                (point.trial.repeat, point.trial.seed) = (nth, u64::from(nth));
                point.trial.workload.name = "insert".into();
                point.trial.workload.params = params(&[("step", model::Value::Word("drain".into()))]);
                point.facts.push(Fact::new("run.ops", "4"));
            });
            simulation.point()
        };
        let row = rows((1..=3).map(step).collect()).analysis.points.remove(0);
        let summary = row.summary.as_ref().expect("it ran");
        assert_eq!((summary.ops, summary.ops_of_a_repeat(), row.duration_s()), (12, 4.0, Some(1.0)));
    }

    #[test]
    fn percentiles_are_of_the_times_of_all_repeats() {
        let found = rows(vec![point(1, 100, 1), point(1, 1000, 2)]);
        let response = found.analysis.points[0].summary.as_ref().unwrap().response_ns.expect("operations were done");
        // Operations take 0.95 s / rate: one in eleven takes 9.5 ms, the others 0.95 ms.
        assert!(response.p50 < 1_000_000 && response.p99 > 9_000_000, "{response:?}");
    }
}
