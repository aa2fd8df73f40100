//! Each of several endpoints as CSV: the numbers of every node of a cluster.
//!
//! In: an analysis. Out: text with a header line. Limits: what could not be measured is an empty field, never 0. A repeat is a row of its own.

use crate::csv_column::{CsvColumn, column, csv_table, float};
use crate::escape;
use crate::wording::label::point_label;
use analysis::{Analysis, EndpointSummary, PointAnalysis, Quantiles};

/// A row of endpoints.csv.
pub struct CsvEndpoint<'a> {
    point: &'a PointAnalysis,
    one: &'a EndpointSummary,
}

/// A column of endpoints.csv.
type EndpointColumn = CsvColumn<fn(&CsvEndpoint) -> String>;

/// The columns of endpoints.csv.
pub static ENDPOINT_COLUMNS: &[EndpointColumn] = &[
    column("point", "number of the point in the run, from 1", |of| of.point.id.to_string()),
    column("label", "what distinguishes the point from the others of the run", |of| {
        escape::csv(&point_label(of.point))
    }),
    column("endpoint", "the endpoint: a host with its port, or the number of a node", |of| {
        escape::csv(&of.one.endpoint)
    }),
    column("ops", "operations that were done there by the end of the run phase", |of| of.one.ops.to_string()),
    column("ops_per_s", "operations done there per second", |of| float(Some(of.one.ops_per_s))),
    column("share", "share of the operations of all endpoints, from 0 to 1", |of| float(Some(of.one.share))),
    column("failed", "operations that failed there", |of| of.one.failed.to_string()),
    column("failed_by_class", "the same by class, such as `conflict 2; lost 1`", |of| escape::csv(&classes(of.one))),
    column("retries", "operations that were tried again after a conflict", |of| count(of.one.retries)),
    column("reconnects", "connections that were opened after one was lost, here or elsewhere", |of| {
        count(of.one.reconnects)
    }),
    column("down_s", "time in which clients could not use the endpoint", |of| float(of.one.down_s)),
    column("response_mean_ns", "mean response time (finished - intended)", |of| {
        float(of.one.response_ns.map(|times| times.mean))
    }),
    column("response_p50_ns", "median of it", |of| response(of, |q| q.p50)),
    column("response_p95_ns", "95th percentile of it", |of| response(of, |q| q.p95)),
    column("response_p99_ns", "99th percentile of it", |of| response(of, |q| q.p99)),
    column("response_p999_ns", "99.9th percentile of it", |of| response(of, |q| q.p999)),
    column("response_max_ns", "longest response time", |of| response(of, |q| q.max)),
    column("certification_failures", "own transactions of a Galera node that failed certification", |of| {
        count(of.one.certification_failures)
    }),
    column("replication_aborts", "own transactions of a Galera node that were aborted for one of another node", |of| {
        count(of.one.replication_aborts)
    }),
    column(
        "flow_control_share",
        "share of the time in which flow control held a Galera node back, from 0 to 1",
        |of| float(of.one.flow_control_share),
    ),
    column(
        "replica_lag_bytes_max",
        "most bytes of the first endpoint's log that a PostgreSQL replica had not replayed",
        |of| count(of.one.replica_lag_bytes_max),
    ),
    column(
        "replica_delay_ns_max",
        "longest time until the slowest replica of a PostgreSQL server had replayed what was written",
        |of| count(of.one.replica_delay_ns_max),
    ),
];

/// One row for each endpoint of each point that had several.
pub fn endpoints_csv(analysis: &Analysis) -> String {
    let of_point = |point| endpoints_of(point);
    csv_table(ENDPOINT_COLUMNS, analysis.points.iter().flat_map(of_point))
}

fn endpoints_of(point: &PointAnalysis) -> impl Iterator<Item = CsvEndpoint<'_>> {
    point.endpoints.iter().map(move |one| CsvEndpoint { point, one })
}

fn response(of: &CsvEndpoint, which: fn(Quantiles) -> u64) -> String {
    of.one.response_ns.map(|times| which(times).to_string()).unwrap_or_default()
}

fn count(value: Option<u64>) -> String {
    value.map(|value| value.to_string()).unwrap_or_default()
}

fn classes(one: &EndpointSummary) -> String {
    let named = one.failed_by_class.by_class().map(|(class, number)| format!("{} {number}", class.as_str()));
    named.collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{HOSTILE, quick, with_endpoints};

    #[test]
    fn rows_have_as_many_fields_as_their_heads_and_points_of_one_endpoint_have_none() {
        let text = endpoints_csv(&with_endpoints());
        let widths: Vec<usize> = text.lines().map(|line| line.split(',').count()).collect();
        assert!(widths.len() == 4 && widths.iter().all(|width| *width == ENDPOINT_COLUMNS.len()), "{text}");
        assert!(text.lines().nth(2).is_some_and(|line| line.contains(",node 2,2500,250,0.25,2,lost 2,")), "{text}");
        assert_eq!(endpoints_csv(&quick()).lines().count(), 1);
    }

    #[test]
    fn names_of_endpoints_are_no_formulas() {
        let mut analysis = with_endpoints();
        for text in HOSTILE {
            analysis.points[0].endpoints[0].endpoint = text.to_owned();
            let csv = endpoints_csv(&analysis);
            assert!(csv.contains(&format!(",{},", escape::csv(text))), "{csv}");
        }
    }
}
