//! Each of several endpoints by itself: what clients did there, how long it was down, what its node of a cluster reports.
//!
//! In: a point whose engine has several endpoints, and the part of its run phase that counts. Out: an [`EndpointSummary`] for each.
//! Limits: operations of background clients and steps are counted, too; an endpoint that no client used has no times.

use crate::Quantiles;
use crate::math::units::nanos;
use crate::recorded::counters::growth_of_counter;
use crate::recorded::window::Window;
use model::{CounterRole, EndpointInterval, FailureCounts, Interval, Nanos, Phase, PointData, Times};
use serde::Serialize;

/// The numbers of one endpoint over the part of the run phase that counts.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EndpointSummary {
    /// Its name: a host and its port, or the number of a node.
    pub endpoint: String,
    /// Operations done by the end of the run phase.
    pub ops: u64,
    /// Operations done per second.
    pub ops_per_s: f64,
    /// Its share of the operations of all endpoints, from 0 to 1.
    pub share: f64,
    /// Operations failed, the grace time included.
    pub failed: u64,
    /// The same by class.
    pub failed_by_class: FailureCounts,
    /// Response times, those of the grace time included; `None` if no operation was done.
    pub response_ns: Option<Quantiles>,
    /// Operations that were tried again after a conflict; `None` if that was not counted, here and below.
    pub retries: Option<u64>,
    /// Connections that were opened after one was lost, here or elsewhere.
    pub reconnects: Option<u64>,
    /// For how long clients could not use it, in seconds.
    pub down_s: Option<f64>,
    /// Its own transactions that failed certification; `None` if it is no node of a Galera cluster, here and below.
    pub certification_failures: Option<u64>,
    /// Its own transactions that were aborted for one of another node.
    pub replication_aborts: Option<u64>,
    /// The share of the time in which flow control held it back, from 0 to 1.
    pub flow_control_share: Option<f64>,
    /// The most bytes of the first endpoint's log that it had not replayed; `None` if it is no replica.
    pub replica_lag_bytes_max: Option<u64>,
    /// The longest time until its slowest replica had replayed what was written; `None` if it feeds none.
    pub replica_delay_ns_max: Option<u64>,
    /// Operations done per second in each interval: the middle of the interval in seconds since the run phase began, and the rate.
    #[serde(skip)]
    pub rates: Vec<(f64, f64)>,
    #[serde(skip)]
    pub response: Times,
}

/// The endpoints of `point` in `window`, in the order of their numbers; none if it has one.
pub fn summarise_endpoints(point: &PointData, window: &Window) -> Vec<EndpointSummary> {
    let names = &point.traits.engine.endpoints;
    let all = (0u16..).zip(names).map(|(number, name)| summarise_endpoint(point, number, name, window));
    with_shares(all.collect())
}

fn summarise_endpoint(point: &PointData, number: u16, name: &str, window: &Window) -> EndpointSummary {
    let rows = || rows_in(point, number, &window.phase.intervals);
    let inside = rows_in(point, number, window.inside_intervals);
    let ops = inside.map(|one| one.row.ok).fold(0, u64::saturating_add);
    let response = Times::merged(rows().map(|one| &one.row.response));
    let mut failed = FailureCounts::default();
    rows().for_each(|one| failed.add(&one.row.failed));
    let grown = |role| growths_at_endpoint(point, name, role, window).into_iter().next();
    // Clients on each of several hosts count what they did and saw.
    let counted = |role| growths_at_endpoint(point, name, role, window).into_iter().reduce(|sum, one| sum + one);
    let longest = |role| growths_at_endpoint(point, name, role, window).into_iter().reduce(f64::max);
    let count = |role| counted(role).map(|amount| amount.round().max(0.0) as u64);
    let seconds = window.seconds();
    EndpointSummary {
        endpoint: name.to_owned(),
        ops,
        ops_per_s: if seconds > 0.0 { ops as f64 / seconds } else { 0.0 },
        share: 0.0,
        failed: failed.total(),
        failed_by_class: failed,
        response_ns: Quantiles::from_times(&response),
        retries: count(CounterRole::Retries),
        reconnects: count(CounterRole::EndpointReconnects),
        down_s: longest(CounterRole::EndpointDown).map(|ns| ns / 1e9),
        certification_failures: count(CounterRole::CertificationFailures),
        replication_aborts: count(CounterRole::ReplicationAborts),
        flow_control_share: grown(CounterRole::FlowControlPaused).map(|ns| (ns / 1e9 / seconds.max(1e-9)).min(1.0)),
        replica_lag_bytes_max: highest_at_endpoint(point, name, CounterRole::ReplicaLag, window),
        replica_delay_ns_max: highest_at_endpoint(point, name, CounterRole::ReplicaDelay, window),
        rates: endpoint_rates(point, number, window),
        response,
    }
}

/// The rows of endpoint `number` in those of `intervals`, which are some of the run phase in their order.
fn rows_in<'a>(
    point: &'a PointData,
    number: u16,
    intervals: &[Interval],
) -> impl Iterator<Item = &'a EndpointInterval> + use<'a> {
    let range = intervals.first().zip(intervals.last()).map(|(first, last)| first.index..=last.index);
    let rows = point.endpoints.iter().filter(move |one| one.phase == Phase::Run && one.row.endpoint == number);
    rows.filter(move |one| range.as_ref().is_some_and(|range| range.contains(&one.index)))
}

/// The operations done per second by endpoint `number` in each whole interval of the run phase, at its middle.
pub fn endpoint_rates(point: &PointData, number: u16, window: &Window) -> Vec<(f64, f64)> {
    let mut rows = rows_in(point, number, window.whole_recorded()).peekable();
    let rates = window.whole_recorded().iter().map(|interval| {
        let done = rows.next_if(|one| one.index == interval.index).map_or(0, |one| one.row.ok);
        let length_s = interval.length.as_secs_f64().max(1e-9);
        (window.seconds_at(interval.start) + length_s / 2.0, done as f64 / length_s)
    });
    rates.collect()
}

/// The failures of endpoint `number` in the intervals that touch the stretch from `from_s` to `to_s` of the run phase.
pub fn failures_between(point: &PointData, number: u16, window: &Window, from_s: f64, to_s: f64) -> FailureCounts {
    let touches = |interval: &&Interval| {
        let begin_s = window.seconds_at(interval.start);
        begin_s <= to_s && begin_s + interval.length.as_secs_f64() >= from_s
    };
    let touched: Vec<u32> = window.phase.intervals.iter().filter(touches).map(|interval| interval.index).collect();
    let mut sum = FailureCounts::default();
    let rows = rows_in(point, number, &window.phase.intervals).filter(|one| touched.binary_search(&one.index).is_ok());
    rows.for_each(|one| sum.add(&one.row.failed));
    sum
}

/// How much the counters of `role` that are about the endpoint `name` grew in the run phase, each by itself.
fn growths_at_endpoint(point: &PointData, name: &str, role: CounterRole, window: &Window) -> Vec<f64> {
    let (start, end) = (window.phase.start, window.phase.end);
    let grown = counters_at_endpoint(point, name, role)
        .filter_map(|(source, counter)| growth_of_counter(point, source, counter, start, end));
    grown.map(|growth| growth.amount).collect()
}

/// The highest reading in the run phase of the levels of `role` that are about the endpoint `name`.
fn highest_at_endpoint(point: &PointData, name: &str, role: CounterRole, window: &Window) -> Option<u64> {
    let phase = window.phase.start..=window.phase.end;
    let readings = counters_at_endpoint(point, name, role)
        .flat_map(|(source, counter)| point.counters.of_counter(source, counter))
        .filter_map(|(at, value)| phase.contains(&at).then_some(value));
    readings.reduce(f64::max).map(|highest| highest.round() as u64)
}

/// The numbers of the source and of the counter of `role` that is about the endpoint `name`.
pub fn counter_at_endpoint(point: &PointData, name: &str, role: CounterRole) -> Option<(u16, usize)> {
    counters_at_endpoint(point, name, role).next()
}

/// The same of every source that has one.
fn counters_at_endpoint<'a>(
    point: &'a PointData,
    name: &'a str,
    role: CounterRole,
) -> impl Iterator<Item = (u16, usize)> + use<'a> {
    let about = (0u16..).zip(&point.sources).filter(move |(_, source)| source.subject == name);
    about.filter_map(move |(number, source)| {
        Some((number, source.counters.iter().position(|counter| counter.role == Some(role))?))
    })
}

/// `all` with the share of each in the operations of all.
fn with_shares(mut all: Vec<EndpointSummary>) -> Vec<EndpointSummary> {
    let total = all.iter().map(|one| one.ops).fold(0, u64::saturating_add);
    all.iter_mut().for_each(|one| one.share = if total > 0 { one.ops as f64 / total as f64 } else { 0.0 });
    all
}

/// The endpoints of several repeats together: counts are sums, rates are means, percentiles are of the times
/// of all, and how far replicas are behind is the worst.
pub fn merge_repeats(repeats: &[&[EndpointSummary]]) -> Vec<EndpointSummary> {
    let Some(first) = repeats.first() else { return Vec::new() };
    let all = first.iter().map(|one| {
        let same = repeats.iter().filter_map(|repeat| repeat.iter().find(|other| other.endpoint == one.endpoint));
        merge_endpoint(&same.collect::<Vec<_>>())
    });
    with_shares(all.collect())
}

/// The same endpoint of several repeats, at least one.
fn merge_endpoint(same: &[&EndpointSummary]) -> EndpointSummary {
    let sum = |value: fn(&EndpointSummary) -> Option<u64>| {
        same.iter().filter_map(|one| value(one)).reduce(u64::saturating_add)
    };
    let highest = |value: fn(&EndpointSummary) -> Option<u64>| same.iter().filter_map(|one| value(one)).max();
    let mean = |value: fn(&EndpointSummary) -> Option<f64>| {
        let values: Vec<f64> = same.iter().filter_map(|one| value(one)).collect();
        (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
    };
    let response = Times::merged(same.iter().map(|one| &one.response));
    let mut failed = FailureCounts::default();
    same.iter().for_each(|one| failed.add(&one.failed_by_class));
    EndpointSummary {
        endpoint: same[0].endpoint.clone(),
        // The shares of all endpoints follow from the sums.
        share: 0.0,
        ops: sum(|one| Some(one.ops)).unwrap_or(0),
        ops_per_s: mean(|one| Some(one.ops_per_s)).unwrap_or(0.0),
        failed: failed.total(),
        failed_by_class: failed,
        response_ns: Quantiles::from_times(&response),
        retries: sum(|one| one.retries),
        reconnects: sum(|one| one.reconnects),
        down_s: mean(|one| one.down_s),
        certification_failures: sum(|one| one.certification_failures),
        replication_aborts: sum(|one| one.replication_aborts),
        flow_control_share: mean(|one| one.flow_control_share),
        replica_lag_bytes_max: highest(|one| one.replica_lag_bytes_max),
        replica_delay_ns_max: highest(|one| one.replica_delay_ns_max),
        rates: Vec::new(),
        response,
    }
}

/// A stretch in which an endpoint could not be used.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DownTime {
    /// When it began, in seconds since the run phase began.
    pub from_s: f64,
    /// When it ended, on the same scale.
    pub to_s: f64,
    /// Whether it ended before the run phase did.
    pub is_over: bool,
}

/// Shorter ones are the time in which the watch tries an endpoint again whose connections were closed.
const DOWN_MIN_S: f64 = 0.2;
/// The clock of a reading and that of the counter differ by less.
const SLACK_S: f64 = 0.02;

/// When the endpoint `name` was down in the run phase, by the readings of its counter of time down.
pub fn down_times(point: &PointData, name: &str, window: &Window) -> Vec<DownTime> {
    let Some((source, counter)) = counter_at_endpoint(point, name, CounterRole::EndpointDown) else {
        return Vec::new();
    };
    let readings: Vec<(f64, f64)> =
        point.counters.of_counter(source, counter).map(|(at, ns)| (window.seconds_at(at), ns / 1e9)).collect();
    let end_s = window.seconds_at(window.phase.end);
    let mut found: Vec<DownTime> = Vec::new();
    // The beginning of the stretch that has not ended.
    let mut open: Option<f64> = None;
    for pair in readings.windows(2) {
        let [(from_s, before), (to_s, after)] = [pair[0], pair[1]];
        let (down_s, length_s) = (after - before, to_s - from_s);
        let is_whole = down_s >= length_s - SLACK_S;
        match open {
            None if down_s > 0.0 => open = Some(if is_whole { from_s } else { to_s - down_s }),
            Some(began_s) if !is_whole => {
                found.push(DownTime { from_s: began_s, to_s: from_s + down_s.max(0.0), is_over: true });
                open = None;
            }
            _ => {}
        }
    }
    found.extend(open.map(|began_s| DownTime { from_s: began_s, to_s: end_s, is_over: false }));
    let in_run = found.into_iter().filter(|one| one.from_s < end_s && one.to_s > 0.0);
    let cut = in_run.map(|one| DownTime { from_s: one.from_s.max(0.0), to_s: one.to_s.min(end_s), ..one });
    cut.filter(|one| one.to_s - one.from_s >= DOWN_MIN_S).collect()
}

/// The rate of an endpoint is full again at this share of what it was.
const FULL_SHARE: f64 = 0.9;
/// It has been full before for at least as many intervals, or nothing is known of it.
const BEFORE_MIN: usize = 3;

/// When a rate was full again after an outage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FullRate {
    /// So long after the outage began.
    #[serde(rename = "after_ns")]
    After(Nanos),
    /// Not before the run phase ended.
    NotReached,
    /// Too little is known of the time before.
    Unknown,
}

/// When `rates`, each with the time of its middle in seconds, were full again after an outage between these seconds: nine tenths of the median rate before.
pub fn full_rate_after(rates: &[(f64, f64)], from_s: f64, to_s: f64) -> FullRate {
    let mut before: Vec<f64> = rates.iter().filter(|(at_s, _)| *at_s < from_s).map(|(_, rate)| *rate).collect();
    before.sort_by(f64::total_cmp);
    let full = before.get(before.len() / 2).map_or(0.0, |median| median * FULL_SHARE);
    if before.len() < BEFORE_MIN || full <= 0.0 {
        return FullRate::Unknown;
    }
    let again = rates.iter().find(|(at_s, rate)| *at_s > to_s && *rate >= full);
    again.map_or(FullRate::NotReached, |(at_s, _)| FullRate::After(nanos(at_s - from_s)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulated::Simulation;
    use crate::simulated::endpoints::{with_endpoints, with_replica_behind};

    #[test]
    fn each_endpoint_has_its_operations_and_its_share_and_none_has_a_part_of_them() {
        let point = with_endpoints(30, |endpoint, _| [100, 200, 100][endpoint]).analysis().points.remove(0);
        let seen: Vec<(&str, u64, f64)> =
            point.endpoints.iter().map(|one| (one.endpoint.as_str(), one.ops, one.share)).collect();
        assert_eq!(seen, [("node 1", 3_000, 0.25), ("node 2", 6_000, 0.5), ("node 3", 3_000, 0.25)]);
        assert_eq!(point.endpoints[1].rates[0], (0.5, 200.0));
        assert!(point.endpoints.iter().all(|one| one.response_ns.is_some() && one.down_s == Some(0.0)));
        assert!(Simulation::counts(&[100; 10]).analysis().points[0].endpoints.is_empty());
    }

    #[test]
    fn a_replica_is_as_far_behind_as_it_was_at_the_worst() {
        let of = |lag: f64, delay: f64| {
            with_replica_behind(with_endpoints(10, |_, _| 100), lag, delay).analysis().points.remove(0).endpoints
        };
        let behind = |all: &[EndpointSummary]| -> Vec<(Option<u64>, Option<u64>)> {
            all.iter().map(|one| (one.replica_lag_bytes_max, one.replica_delay_ns_max)).collect()
        };
        let (one, two) = (of(3e6, 7e6), of(9e6, 2e6));
        assert_eq!(behind(&one), [(None, Some(7_000_000)), (Some(3_000_000), None), (None, None)]);
        let both = merge_repeats(&[&one, &two]);
        assert_eq!(behind(&both), [(None, Some(7_000_000)), (Some(9_000_000), None), (None, None)]);
    }

    #[test]
    fn repeats_are_added_up_by_endpoint() {
        let of = |rate: u64| with_endpoints(10, move |_, _| rate).analysis().points.remove(0).endpoints;
        let (one, two) = (of(100), of(300));
        let both = merge_repeats(&[&one, &two]);
        let seen: Vec<(u64, f64)> = both.iter().map(|one| (one.ops, one.ops_per_s)).collect();
        assert_eq!(seen, [(4_000, 200.0); 3]);
        assert_eq!(both[0].response_ns.map(|times| times.max), one[0].response_ns.map(|times| times.max));
    }
}
