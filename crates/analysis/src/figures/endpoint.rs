//! The figures of an endpoint, in the order of endpoints.csv.

use super::RepeatRule::{Follows, Most, Sum};
use super::Unit::{Bytes, Count, Nanoseconds, PerSecond, Seconds, Share};
use super::{FigureDef, Figures};
use crate::EndpointSummary;
use model::QuotedTime;
use std::sync::LazyLock;

type EndpointFigure = FigureDef<EndpointSummary>;

/// One of several endpoints of a point.
#[rustfmt::skip]
pub static ENDPOINT_FIGURES: Figures<EndpointSummary> = LazyLock::new(|| [
    &[
        EndpointFigure::word("endpoint", "the endpoint: a host with its port, or the number of a node", |e| Some(e.endpoint.clone())),
        EndpointFigure::number("ops", Count, "operations that were done there by the end of the run phase", |e| Some(e.ops as f64)).repeats(Sum),
        EndpointFigure::number("ops_per_s", PerSecond, "operations done there per second", |e| Some(e.ops_per_s)).more(),
        EndpointFigure::number("share", Share, "share of the operations of all endpoints, from 0 to 1", |e| Some(e.share)).repeats(Follows),
        EndpointFigure::number("failed", Count, "operations that failed there", |e| Some(e.failed as f64)).less().repeats(Sum),
        EndpointFigure::word("failed_by_class", "the same by class, such as `conflict 2; lost 1`", |e| Some(classes(e))),
        EndpointFigure::number("retries", Count, "operations that were tried again after a conflict", |e| e.retries.map(|number| number as f64)).repeats(Sum),
        EndpointFigure::number("reconnects", Count, "connections that were opened after one was lost, here or elsewhere",
            |e| e.reconnects.map(|number| number as f64)).repeats(Sum),
        EndpointFigure::number("down_s", Seconds, "time in which clients could not use the endpoint", |e| e.down_s),
    ][..],
    &EndpointFigure::times("response", QuotedTime::Mean, "response time (finished - intended)", |e| e.response_ns),
    &[
        EndpointFigure::number("certification_failures", Count, "own transactions of a Galera node that failed certification",
            |e| e.certification_failures.map(|number| number as f64)).repeats(Sum),
        EndpointFigure::number("replication_aborts", Count, "own transactions of a Galera node that were aborted for one of another node",
            |e| e.replication_aborts.map(|number| number as f64)).repeats(Sum),
        EndpointFigure::number("flow_control_share", Share, "share of the time in which flow control held a Galera node back, from 0 to 1",
            |e| e.flow_control_share),
        EndpointFigure::number("replica_lag_bytes_max", Bytes, "most bytes of the first endpoint's log that a PostgreSQL replica had not replayed",
            |e| e.replica_lag_bytes_max.map(|number| number as f64)).repeats(Most),
        EndpointFigure::number("replica_delay_ns_max", Nanoseconds, "longest time until the slowest replica of a PostgreSQL server had replayed what was written",
            |e| e.replica_delay_ns_max.map(|number| number as f64)).less().repeats(Most),
    ],
].concat());

fn classes(one: &EndpointSummary) -> String {
    let named = one.failed_by_class.by_class().map(|(class, number)| format!("{} {number}", class.as_str()));
    named.collect::<Vec<_>>().join("; ")
}
