//! Each of several endpoints by itself, as a table of the documents and of the terminal: which node carried what, and which was down.
//!
//! In: an analysis. Out: an [`EndpointSection`], if any point had several endpoints. Limits: points of one endpoint are left out, because the
//! table of points has their numbers.

use crate::format;
use crate::wording::label::point_label;
use crate::wording::quantity::percent;
use analysis::{Analysis, EndpointSummary, PointAnalysis, Quantiles};
use serde::Serialize;

/// The heading of the table.
pub const TITLE: &str = "Each endpoint";
/// What its cells mean, in a terminal,
pub const SHORT_LEGEND: &str = "share: of the operations done; retry: operations tried again after a conflict; conn: connections opened \
    after one was lost; down: time in which clients could not use it";
/// and in a document.
pub const LEGEND: &str = "An endpoint is one of the servers that clients can use: the node of a cluster, or a server and its replicas. Share: of \
    the operations done in the run phase. Retries: operations that were tried again after a conflict, among them those that failed \
    certification because another node had changed the same rows. Reconnects: connections that were opened after one was lost, here or \
    elsewhere. Down: time in which clients could not use the endpoint and used the next one. Certified against: own transactions of the \
    node that failed certification or were aborted for one of another node; flow control: the share of the time in which replication \
    was held back (of Galera only). Behind (of PostgreSQL only): the most log of the first endpoint that a replica had not replayed, and of a \
    server that feeds replicas, the longest delay of the slowest.";

/// The heads of the cells behind point and endpoint in a document,
pub const HEADS: [&str; 12] = [
    "ops/s",
    "share",
    "p50",
    "p95",
    "p99",
    "max",
    "failed",
    "retries",
    "reconnects",
    "down",
    "certified against / flow control",
    "behind",
];
/// and in a terminal.
pub const SHORT_HEADS: [&str; 7] = ["ops/s", "share", "p99", "failed", "retry", "conn", "down"];

/// The table with its heading and its legend, as a document shows it.
#[derive(Serialize)]
pub struct EndpointSection {
    title: &'static str,
    heads: [&'static str; HEADS.len()],
    legend: &'static str,
    points: Vec<PointEndpoints>,
}

impl EndpointSection {
    /// The section of `analysis`; it has no points if none had several endpoints.
    pub fn from_analysis(analysis: &Analysis) -> EndpointSection {
        EndpointSection { title: TITLE, heads: HEADS, legend: LEGEND, points: endpoint_tables(analysis) }
    }
}

/// The endpoints of one point.
#[derive(Serialize)]
pub struct PointEndpoints {
    /// The point's label.
    pub label: String,
    /// A row for each endpoint.
    pub rows: Vec<EndpointCells>,
}

/// The numbers of one endpoint.
#[derive(Serialize)]
pub struct EndpointCells {
    /// Its name.
    pub endpoint: String,
    /// A cell for each of [`HEADS`].
    pub cells: [String; HEADS.len()],
    /// A cell for each of [`SHORT_HEADS`].
    pub short: [String; SHORT_HEADS.len()],
}

/// The points of `analysis` that had several endpoints.
pub fn endpoint_tables(analysis: &Analysis) -> Vec<PointEndpoints> {
    let with_several = analysis.points.iter().filter(|point| !point.endpoints.is_empty());
    let table = |point: &PointAnalysis| PointEndpoints {
        label: point_label(point),
        rows: point.endpoints.iter().map(row).collect(),
    };
    with_several.map(table).collect()
}

fn row(one: &EndpointSummary) -> EndpointCells {
    let time = |which: fn(Quantiles) -> u64| format::nanos_or_dash(one.response_ns.map(which));
    let count = |value: Option<u64>| value.map_or("-".to_owned(), format::count);
    let down = match one.down_s {
        None => "-".to_owned(),
        Some(seconds) if seconds < 0.05 => "0".to_owned(),
        Some(seconds) => format!("{seconds:.1} s"),
    };
    let (ops, share) = (format::number(one.ops_per_s), percent(one.share).to_string());
    let aborted = one.certification_failures.zip(one.replication_aborts).map(|(failed, aborted)| failed + aborted);
    let held = one.flow_control_share.map_or("-".to_owned(), |share| percent(share).to_string());
    let galera = match aborted {
        None => "-".to_owned(),
        Some(aborted) => format!("{} / {held}", format::count(aborted)),
    };
    let (p99, failed) = (time(|q| q.p99), format::count(one.failed));
    let (retries, reconnects) = (count(one.retries), count(one.reconnects));
    EndpointCells {
        endpoint: one.endpoint.clone(),
        short: [&ops, &share, &p99, &failed, &retries, &reconnects, &down].map(String::clone),
        cells: [
            ops,
            share,
            time(|q| q.p50),
            time(|q| q.p95),
            p99,
            time(|q| q.max),
            failed,
            retries,
            reconnects,
            down,
            galera,
            behind(one),
        ],
    }
}

/// How far a replica, or the slowest replica of a server, was behind at the worst.
fn behind(one: &EndpointSummary) -> String {
    let log = one.replica_lag_bytes_max.map(|bytes| format::bytes(bytes as f64));
    log.or_else(|| one.replica_delay_ns_max.map(format::nanos)).unwrap_or("-".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{quick, with_endpoints};

    #[test]
    fn a_replica_has_the_log_that_it_lacks_and_its_server_the_delay() {
        let mut analysis = with_endpoints();
        let all = &mut analysis.points[0].endpoints;
        (all[0].replica_delay_ns_max, all[1].replica_lag_bytes_max) = (Some(12_000_000), Some(3_500_000));
        let rows = endpoint_tables(&analysis).remove(0).rows;
        let behind: Vec<&str> = rows.iter().map(|row| row.cells[HEADS.len() - 1].as_str()).collect();
        assert_eq!(behind, ["12.0 ms", "3.50 MB", "-"]);
    }

    #[test]
    fn a_point_of_several_endpoints_has_a_row_for_each_and_others_are_left_out() {
        let tables = endpoint_tables(&with_endpoints());
        let [table] = tables.as_slice() else { panic!("one point has several endpoints") };
        let rows: Vec<String> =
            table.rows.iter().map(|row| format!("{} {}", row.endpoint, row.short.join(" "))).collect();
        assert_eq!(rows.len(), 3);
        assert!(rows[0].starts_with("node 1 500 50 %") && rows[0].ends_with(" 0 0 0 0"), "{rows:?}");
        assert!(
            rows[1].starts_with("node 2 250 25 %") && rows[1].contains(" 2 ") && rows[1].ends_with("2.0 s"),
            "{rows:?}"
        );
        assert!(endpoint_tables(&quick()).is_empty());
    }
}
