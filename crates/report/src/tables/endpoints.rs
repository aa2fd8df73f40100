//! Each of several endpoints by itself: which node carried what, and which was down. Points of one endpoint are left out, because the table of
//! points has their numbers.

use crate::format;
use crate::table::TableDef;
use crate::table::{Column, ColumnOf, Row, Table};
use crate::wording::label::point_label;
use crate::wording::metric::metric_head;
use crate::wording::quantity::percent;
use analysis::points::metric::{Metric, shared_unit};
use analysis::{Analysis, EndpointSummary};
use model::{Percentile, QuotedTime};

pub const TABLE: TableDef = TableDef {
    id: "endpoint-table",
    title: "Each endpoint",
    is_open: true,
    in_narrow: false,
    chart: None,
    make: |_, rows| tables(&rows.analysis),
};

const SHORT_LEGEND: &str = "share: of the operations done; retry: operations tried again after a conflict; conn: connections opened \
    after one was lost; down: time in which clients could not use it";
const LEGEND: &str = "An endpoint is one of the servers that clients can use: the node of a cluster, or a server and its replicas. Share: of \
    the operations done in the run phase. Retries: operations that were tried again after a conflict, among them those that failed \
    certification because another node had changed the same rows. Reconnects: connections that were opened after one was lost, here or \
    elsewhere. Down: time in which clients could not use the endpoint and used the next one. Certified against: own transactions of the \
    node that failed certification or were aborted for one of another node; flow control: the share of the time in which replication \
    was held back (of Galera only). Behind (of PostgreSQL only): the most log of the first endpoint that a replica had not replayed, and of a \
    server that feeds replicas, the longest delay of the slowest.";

type EndpointColumn = ColumnOf<'static, EndpointSummary>;

fn columns(rate: String) -> Vec<EndpointColumn> {
    let time = |column: Column, quoted| EndpointColumn::new(column, move |one| format::quoted(one.response_ns, quoted));
    let [p50, p95, p99] = [Percentile::P50, Percentile::P95, Percentile::P99].map(QuotedTime::At);
    vec![
        EndpointColumn::new(Column::number(rate), |one| format::number(one.ops_per_s)),
        EndpointColumn::new(Column::number("share"), |one| percent(one.share).to_string()),
        time(Column::number("p50").documents_only(), p50),
        time(Column::number("p95").documents_only(), p95),
        time(Column::number("p99"), p99),
        time(Column::number("max").documents_only(), QuotedTime::Longest),
        EndpointColumn::new(Column::number("failed"), |one| format::count(one.failed)),
        EndpointColumn::new(Column::number("retry").long_head("retries"), |one| one.retries.map(format::count)),
        EndpointColumn::new(Column::number("conn").long_head("reconnects"), |one| one.reconnects.map(format::count)),
        EndpointColumn::new(Column::number("down"), |one| one.down_s.map(down)),
        EndpointColumn::new(Column::number("certified against / flow control").documents_only(), replication),
        EndpointColumn::new(Column::number("behind").documents_only(), behind),
    ]
}

fn tables(analysis: &Analysis) -> Vec<Table> {
    let rows = analysis.points.iter().flat_map(|point| {
        let group = if analysis.points.len() > 1 { point_label(point) } else { String::new() };
        let endpoints = point.endpoints.iter();
        endpoints.map(move |one| (Row::labelled(vec![one.endpoint.clone()]).in_group(group.clone()), one))
    });
    let label_head = "endpoint".to_owned();
    let table = Table::of(columns(metric_head(Metric::OpsPerS, shared_unit(&analysis.points))), rows);
    Table { legend: LEGEND.to_owned(), short_legend: SHORT_LEGEND, label_head, ..table }.if_any()
}

fn down(seconds: f64) -> String {
    if seconds < 0.05 { "0".to_owned() } else { format!("{seconds:.1} s") }
}

/// How many own transactions of a Galera node were ended by replication, and how long flow control held the node back.
fn replication(one: &EndpointSummary) -> Option<String> {
    let (failed, aborted) = one.certification_failures.zip(one.replication_aborts)?;
    let held = one.flow_control_share.map_or_else(format::dash, |share| percent(share).to_string());
    Some(format!("{} / {held}", format::count(failed + aborted)))
}

/// How far a replica, or the slowest replica of a server, was behind at the worst.
fn behind(one: &EndpointSummary) -> Option<String> {
    let log = one.replica_lag_bytes_max.map(|bytes| format::bytes(bytes as f64));
    log.or_else(|| one.replica_delay_ns_max.map(format::nanos))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::InTerminal;
    use crate::testing::{quick, with_endpoints};

    #[test]
    fn a_replica_has_the_log_that_it_lacks_and_its_server_the_delay() {
        let mut analysis = with_endpoints();
        let all = &mut analysis.points[0].endpoints;
        (all[0].replica_delay_ns_max, all[1].replica_lag_bytes_max) = (Some(12_000_000), Some(3_500_000));
        let table = tables(&analysis).remove(0);
        let behind: Vec<&str> = table.rows.iter().filter_map(|row| Some(row.cells.last()?.text.as_str())).collect();
        assert_eq!(behind, ["12.0 ms", "3.50 MB", "-"]);
    }

    #[test]
    fn a_point_of_several_endpoints_has_a_row_for_each_and_others_are_left_out() {
        let found = tables(&with_endpoints());
        let [table] = found.as_slice() else { panic!("one point has several endpoints") };
        let in_line = |row: &Row| {
            let cells =
                table.columns.iter().zip(&row.cells).filter(|(column, _)| column.terminal == InTerminal::Always);
            let cells: Vec<&str> = cells.map(|(_, cell)| cell.short_text()).collect();
            format!("{} {}", row.label_text(), cells.join(" "))
        };
        let rows: Vec<String> = table.rows.iter().map(in_line).collect();
        assert_eq!(rows.len(), 3);
        assert!(rows[0].starts_with("node 1 500 50 %") && rows[0].ends_with(" 0 0 0 0"), "{rows:?}");
        assert!(
            rows[1].starts_with("node 2 250 25 %") && rows[1].contains(" 2 ") && rows[1].ends_with("2.0 s"),
            "{rows:?}"
        );
        assert!(tables(&quick()).is_empty());
    }
}
