//! The figures of a point, in the order of points.csv.

use super::RepeatRule::{Follows, Least, OfSlowest, Same, Sum};
use super::Unit::{
    BitsPerSecond, Bytes, BytesPerSecond, Count, KilowattHours, Money, Nanoseconds, Number, PerSecond, Seconds, Share,
    Watts,
};
use super::{FigureDef, Figures};
use crate::{BackgroundSummary, InstanceShares, NetworkUse, PointAnalysis, RunningCost, Summary};
use model::{Percentile, Quantiles, QuotedTime};
use std::sync::LazyLock;

type PointFigure = FigureDef<PointAnalysis>;

/// The figures of a point; those of its inserts are [`super::INSERT_FIGURES`].
#[rustfmt::skip]
pub static POINT_FIGURES: Figures<PointAnalysis> = LazyLock::new(|| [
    &[
        PointFigure::number("seconds", Seconds, "length of the run phase, or of the part that counts", |p| of_summary(p, |s| Some(s.seconds))),
        PointFigure::number("ops", Count, "operations done in the run phase", |p| whole(p, |s| s.ops)).repeats(Sum),
        PointFigure::number("failed", Count, "operations that failed", |p| whole(p, |s| s.failed)).less().repeats(Sum),
        PointFigure::number("late", Count, "open loop: operations that fell due while every client was busy", |p| whole(p, |s| s.late)).less().repeats(Sum),
        PointFigure::number("unserved", Count, "open loop: operations that fell due and were never started",
            |p| whole(p, |s| s.unserved)).less().repeats(Sum),
        PointFigure::number("offered_per_s", PerSecond, "open loop: operations per second that fell due", |p| of_summary(p, |s| s.offered_per_s)),
        PointFigure::number("ops_per_s", PerSecond, "throughput: operations done per second, syncs included, without background clients",
            |p| of_summary(p, |s| Some(s.ops_per_s))).more().ci95(|p| ci95(p, |s| s.ops_per_s_ci95)),
        PointFigure::number("bytes_per_s", BytesPerSecond, "bytes that these operations asked to read or write, per second",
            |p| of_summary(p, |s| Some(s.bytes_per_s))),
    ][..],
    &PointFigure::times("response", QuotedTime::Mean, "response time (finished - intended)", |p| p.summary.as_ref()?.response_ns),
    &PointFigure::times("service", QuotedTime::Mean, "service time (finished - started)", |p| p.summary.as_ref()?.service_ns),
    &[
        PointFigure::number("worst_at_s", Seconds, "when the second with the fewest operations began, from the start of the run phase",
            |p| of_summary(p, |s| s.worst.map(|worst| worst.at_s))).repeats(OfSlowest),
        PointFigure::number("worst_length_s", Seconds, "its length: longer than a second if the intervals are",
            |p| of_summary(p, |s| s.worst.map(|worst| worst.length_s))).repeats(OfSlowest),
        PointFigure::number("worst_ops_per_s", PerSecond, "operations per second in it",
            |p| of_summary(p, |s| s.worst.map(|worst| worst.ops_per_s))).repeats(Least),
        PointFigure::number("client_cpu_ns_per_op", Nanoseconds, "CPU time of the client threads per operation",
            |p| of_summary(p, |s| s.client.cpu_ns_per_op)).less(),
        PointFigure::number("client_cpu_user_ns_per_op", Nanoseconds, "the part of it in user mode",
            |p| of_summary(p, |s| s.client.cpu_user_ns_per_op)).less(),
        PointFigure::number("read_bytes_per_op", Bytes, "bytes read from storage per operation", |p| of_summary(p, |s| s.cost.per_op.read_bytes)).less(),
        PointFigure::number("written_bytes_per_op", Bytes, "bytes written to storage per operation",
            |p| of_summary(p, |s| s.cost.per_op.written_bytes)).less(),
        PointFigure::word("written_account", "who counted them: `volume`, `disk`, `process` or `engine`; empty if no count can be believed",
            |p| Some(p.summary.as_ref()?.cost.written_account?.word().to_owned())),
        PointFigure::number("written_by_process_bytes", Bytes, "bytes that the kernel charged to the engine's processes for writes",
            |p| of_summary(p, |s| s.cost.written_accounts.process_bytes)),
        PointFigure::number("written_by_device_bytes", Bytes, "bytes that the device under the data wrote",
            |p| of_summary(p, |s| s.cost.written_accounts.device_bytes)),
        PointFigure::number("written_by_others_bytes", Bytes, "bytes that the kernel charged to other processes for writes",
            |p| of_summary(p, |s| s.cost.written_accounts.others_bytes)),
        PointFigure::number("written_by_file_system_bytes", Bytes, "of those that the device wrote, those that the file system wrote for itself, if they are known",
            |p| of_summary(p, |s| s.cost.file_system_bytes)),
        PointFigure::number("written_by_engine_bytes", Bytes, "bytes written, as the engine counts them",
            |p| of_summary(p, |s| s.cost.written_accounts.engine_bytes)),
        PointFigure::number("engine_cpu_ns_per_op", Nanoseconds, "CPU time of the engine's processes per operation",
            |p| of_summary(p, |s| s.cost.per_op.engine_cpu_ns)).less(),
        PointFigure::number("context_switches_per_op", Number, "context switches of the engine's processes per operation",
            |p| of_summary(p, |s| s.cost.per_op.context_switches)).less(),
        PointFigure::number("success_rate", Share, "share of the operations that did not fail, from 0 to 1, background clients included",
            |p| of_summary(p, |s| s.success_rate)).more().repeats(Follows),
        PointFigure::number("retries_per_s", PerSecond, "operations per second that were tried again after a conflict",
            |p| of_summary(p, |s| Some(s.retries?.per_s))),
        PointFigure::number("retries_per_op", Number, "the same for each operation that ended, background clients included",
            |p| of_summary(p, |s| Some(s.retries?.per_op))).less().repeats(Follows),
        PointFigure::number("queries_per_s", PerSecond, "statements per second, BEGIN and COMMIT included if they are sent",
            |p| of_summary(p, |s| Some(s.queries_per_s))).more().ci95(|p| ci95(p, |s| s.queries_per_s_ci95)),
        PointFigure::number("rows_per_s", PerSecond, "rows inserted per second, without background clients",
            |p| of_summary(p, |s| s.rows_per_s)).more().ci95(|p| ci95(p, |s| s.rows_per_s_ci95)),
        PointFigure::number("read_bytes_per_query", Bytes, "as `read_bytes_per_op`, per query",
            |p| of_summary(p, |s| s.cost_per_query.read_bytes)).less(),
        PointFigure::number("written_bytes_per_query", Bytes, "as `written_bytes_per_op`, per query",
            |p| of_summary(p, |s| s.cost_per_query.written_bytes)).less(),
        PointFigure::number("engine_cpu_ns_per_query", Nanoseconds, "as `engine_cpu_ns_per_op`, per query",
            |p| of_summary(p, |s| s.cost_per_query.engine_cpu_ns)).less(),
        PointFigure::number("context_switches_per_query", Number, "as `context_switches_per_op`, per query",
            |p| of_summary(p, |s| s.cost_per_query.context_switches)).less(),
        PointFigure::number("client_cpu_ns_per_query", Nanoseconds, "as `client_cpu_ns_per_op`, per query",
            |p| of_summary(p, |s| s.cost_per_query.client_cpu_ns)).less(),
        PointFigure::number("background_asked_per_s", PerSecond, "operations per second that background clients were to do; if a point has several background loads, statements.csv has each",
            |p| background(p, |b| b.asked_per_s)),
        PointFigure::number("background_ops_per_s", PerSecond, "operations per second that they did",
            |p| background(p, |b| Some(b.ops_per_s))).ci95(|p| background_load(p)?.ops_per_s_ci95),
        PointFigure::number("background_rows_per_s", PerSecond, "rows per second that they inserted", |p| background(p, |b| b.rows_per_s)),
        PointFigure::number("background_failed", Count, "operations of theirs that failed", |p| background(p, |b| Some(b.failed as f64))).repeats(Sum),
        PointFigure::number("background_late", Count, "operations of theirs that fell due while all of them were busy",
            |p| background(p, |b| Some(b.late as f64))).repeats(Sum),
        PointFigure::number("background_unserved", Count, "operations of theirs that fell due and were never started",
            |p| background(p, |b| Some(b.unserved as f64))).repeats(Sum),
        PointFigure::time("background_response_p50_ns", "median of their response time", background_times, QuotedTime::At(Percentile::P50)),
        PointFigure::time("background_response_p99_ns", "99th percentile of it", background_times, QuotedTime::At(Percentile::P99)),
        PointFigure::time("background_response_max_ns", "longest of it", background_times, QuotedTime::Longest),
        PointFigure::number("instances", Count, "instances that ran at once; `clients` are those of each",
            |p| instances(p, |i| i.n as f64, Some(1.0))).repeats(Same),
        PointFigure::number("instances_fairness", Share, "Jain's index of their operations: 1 if all did the same, 1/n if one did everything",
            |p| p.instances.as_ref().and_then(|i| i.fairness)).more().repeats(Follows),
        PointFigure::number("instance_ops_per_s_min", PerSecond, "operations per second of the slowest of them",
            |p| instances(p, |i| i.range_per_s()[0], None)).repeats(Follows),
        PointFigure::number("instance_ops_per_s_max", PerSecond, "operations per second of the fastest of them",
            |p| instances(p, |i| i.range_per_s()[1], None)).repeats(Follows),
        PointFigure::number("price_per_hour", Money, "price of the machine per hour; empty if it was not given, as all that follows from it",
            |p| running(p, |c| c.price_per_hour)),
        PointFigure::number("cost_per_million_ops", Money, "price of the time in which it does a million operations",
            |p| running(p, |c| c.per_million_ops)).less().repeats(Follows),
        PointFigure::number("cost_per_gb", Money, "price of the time in which it reads or writes 10^9 bytes of payload, or inserts rows that take as much on disk",
            |p| running(p, |c| c.per_gb)).less(),
        PointFigure::number("cost_per_year", Money, "price of the machine for 8760 hours", |p| running(p, |c| c.per_year)).less().repeats(Follows),
        PointFigure::number("watts", Watts, "power of the machine as it was given, or the mean of CPUs and memory if it was measured",
            |p| running(p, |c| c.watts)),
        PointFigure::number("kwh_per_million_ops", KilowattHours, "energy in kWh, as `cost_per_million_ops`",
            |p| running(p, |c| c.kwh_per_million_ops)).less().repeats(Follows),
        PointFigure::number("kwh_per_gb", KilowattHours, "energy in kWh, as `cost_per_gb`", |p| running(p, |c| c.kwh_per_gb)).less(),
        PointFigure::number("kwh_per_year", KilowattHours, "energy in kWh of 8760 hours at this power",
            |p| running(p, |c| c.kwh_per_year)).less().repeats(Follows),
        PointFigure::number("network_bytes_per_op", Bytes, "bytes over the network to the server and back per operation, with headers, and those of other programs over that interface",
            |p| of_summary(p, |s| s.cost.per_op.network_bytes)).less(),
        PointFigure::number("network_bytes_per_query", Bytes, "as `network_bytes_per_op`, per query",
            |p| of_summary(p, |s| s.cost_per_query.network_bytes)).less(),
        PointFigure::number("network_packets_per_op", Number, "packets, as `network_bytes_per_op`", |p| network(p, |n| n.packets_per_op)).less(),
        PointFigure::number("network_sent_bytes_per_s", BytesPerSecond, "bytes per second that the clients sent over that interface; over loopback those of both directions",
            |p| network(p, |n| n.sent_bytes_per_s)),
        PointFigure::number("network_received_bytes_per_s", BytesPerSecond, "bytes per second that they received; empty for loopback",
            |p| network(p, |n| n.received_bytes_per_s)),
        PointFigure::number("network_drops", Count, "packets that the interface dropped in the run phase", |p| network(p, |n| n.drops)).repeats(Sum),
        PointFigure::number("network_retransmitted_share", Share, "share of the TCP segments of the machine that were sent again, from 0 to 1",
            |p| network(p, |n| n.retransmitted_share)),
        PointFigure::number("network_link_bits_per_s", BitsPerSecond, "speed of the link in bits per second and direction, as it was given (`link`) or as the network card reports it",
            |p| network(p, |n| n.link_bits_per_s)).repeats(Same),
        PointFigure::number("network_link_share", Share, "share of it that the busier direction used, from 0 to 1", |p| network(p, |n| n.link_share)),
    ],
].concat());

fn of_summary(point: &PointAnalysis, value: fn(&Summary) -> Option<f64>) -> Option<f64> {
    point.summary.as_ref().and_then(value)
}

fn whole(point: &PointAnalysis, value: fn(&Summary) -> u64) -> Option<f64> {
    point.summary.as_ref().map(|summary| value(summary) as f64)
}

fn ci95(point: &PointAnalysis, value: fn(&Summary) -> Option<[f64; 2]>) -> Option<[f64; 2]> {
    point.summary.as_ref().and_then(value)
}

fn network(point: &PointAnalysis, value: fn(NetworkUse) -> Option<f64>) -> Option<f64> {
    point.summary.as_ref()?.network.and_then(value)
}

fn running(point: &PointAnalysis, value: fn(&RunningCost) -> Option<f64>) -> Option<f64> {
    value(&point.summary.as_ref()?.cost.running)
}

/// The background load of `point`, if it has one; of several each has a row in statements.csv.
fn background_load(point: &PointAnalysis) -> Option<&BackgroundSummary> {
    match point.summary.as_ref()?.background.as_slice() {
        [load] => Some(load),
        _ => None,
    }
}

fn background(point: &PointAnalysis, value: fn(&BackgroundSummary) -> Option<f64>) -> Option<f64> {
    background_load(point).and_then(value)
}

fn background_times(point: &PointAnalysis) -> Option<Quantiles> {
    background_load(point)?.response_ns
}

/// The value of several instances, or else that `of_one`.
fn instances(point: &PointAnalysis, value: fn(&InstanceShares) -> f64, of_one: Option<f64>) -> Option<f64> {
    point.instances.as_ref().map(value).or(of_one)
}
