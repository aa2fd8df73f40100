//! The hosts of a point next to each other: which did less than its share, which was busy. Points of one machine are left out, because the
//! table of points has their numbers.

use crate::format;
use crate::table::TableDef;
use crate::table::{Cell, Column, ColumnOf, Row, Table};
use crate::wording::label::point_label;
use crate::wording::metric::metric_head;
use crate::wording::quantity::{bytes, megabytes_per_s, number, percent, time};
use analysis::points::metric::{Metric, shared_unit};
use analysis::{Analysis, HostSummary, InterfaceUse};
use model::{Percentile, QuotedTime};

pub const TABLE: TableDef = TableDef {
    id: "host-table",
    title: "Hosts",
    is_open: true,
    in_narrow: false,
    chart: None,
    make: |_, rows| tables(&rows.analysis),
};

const SHORT_LEGEND: &str = "share: of the operations done, < if below 90 % of what was planned; lag: how late clients woke up; CPU: in \
    use; net: of the speed of the link, or MB/s; disk: busy";
const LEGEND: &str = "Share: of the operations of all hosts, and what was planned; a host below 90 % of its plan is uneven. Lag: how late clients \
    woke up for arrivals, on average (open loop). Client cores: those that the client threads used. CPU: the share of the host's CPU time that was used, \
    by the engine and by plimsoll, and what the hypervisor took. Network: of each interface what went out and came in, the part of its link that \
    the busier direction used, and what was dropped. The kernel counts each interface as a whole: traffic between nodes of a database is apart \
    from that of clients only on an interface of its own. Between nodes: write sets that the node of a cluster sent and received, by its own count. \
    Disk: read and written, and for how much of the time it was busy. Clock: how well it was compared with that of the bus. Start: how much later \
    than planned the host began.";

type HostColumn = ColumnOf<'static, HostSummary>;

fn columns(rate: String) -> Vec<HostColumn> {
    let response = |column: Column, percentile| {
        let quoted = QuotedTime::At(percentile);
        HostColumn::new(column, move |one| format::quoted(one.load.and_then(|load| load.response_ns), quoted))
    };
    vec![
        HostColumn::new(Column::number("clients").documents_only(), |one| {
            one.planned.map(|planned| planned.clients.to_string())
        }),
        HostColumn::new(Column::number("share").long_head("share / planned"), share_cell),
        HostColumn::new(Column::number(rate), |one| one.load.map(|load| format::number(load.ops_per_s))),
        response(Column::number("p50").documents_only(), Percentile::P50),
        response(Column::number("p99"), Percentile::P99),
        HostColumn::new(Column::number("failed").documents_only(), |one| {
            one.load.map(|load| format::count(load.failed))
        }),
        HostColumn::new(Column::number("lag"), |one| {
            one.load.and_then(|load| load.lag_mean_ns).map(|ns| time(ns).to_string())
        }),
        HostColumn::new(Column::number("client cores").documents_only(), |one| {
            one.load.and_then(|load| load.cores_used).map(|cores| number(cores).to_string())
        }),
        HostColumn::new(Column::number("CPU"), |one| {
            one.cpu.map(|cpu| Cell::from(cpu_words(one)).short(percent(cpu.busy).to_string()))
        }),
        HostColumn::new(Column::number("net").long_head("network"), |one| {
            let all = Some(networks_words(one)).filter(|text| !text.is_empty());
            Cell::from(all).short(one.busiest_link().and_then(short_network).unwrap_or_else(format::dash))
        }),
        HostColumn::new(Column::number("between nodes").documents_only(), |one| {
            one.replicated_bytes_per_s.map(|sent| between_words(one, sent))
        }),
        HostColumn::new(Column::number("disk"), |one| {
            let busy = one.disk.and_then(|disk| disk.busy_share).map(|share| percent(share).to_string());
            Cell::from(disk_words(one)).short(busy.unwrap_or_else(format::dash))
        }),
        HostColumn::new(Column::number("clock / start").documents_only(), clock_words),
    ]
}

fn tables(analysis: &Analysis) -> Vec<Table> {
    let rows = analysis.points.iter().flat_map(|point| {
        let group = if analysis.points.len() > 1 { point_label(point) } else { String::new() };
        point.hosts.iter().map(move |host| (head_of(host).in_group(group.clone()), host))
    });
    let label_head = "host".to_owned();
    let table = Table::of(columns(metric_head(Metric::OpsPerS, shared_unit(&analysis.points))), rows);
    Table { legend: LEGEND.to_owned(), short_legend: SHORT_LEGEND, label_head, ..table }.if_any()
}

fn head_of(one: &HostSummary) -> Row {
    let is_marked = one.missed_share().is_some() || one.lost_at_s.is_some();
    Row { is_marked, ..Row::labelled(vec![host_name(one)]) }
}

/// `c2 (uneven)`
fn host_name(one: &HostSummary) -> String {
    let marks = [
        one.lost_at_s.map(|at_s| format!("lost at {at_s:.1} s")),
        one.missed_share().map(|_| "uneven".to_owned()),
        Some(one.validity.as_str().to_owned()).filter(|_| one.validity != analysis::Validity::Valid),
    ];
    let marks: Vec<String> = marks.into_iter().flatten().collect();
    if marks.is_empty() { one.host.clone() } else { format!("{} ({})", one.host, marks.join(", ")) }
}

fn share_cell(one: &HostSummary) -> Option<Cell> {
    let share = one.load?.share?;
    let below = if one.missed_share().is_some() { "<" } else { "" };
    Some(Cell::from(share_words(one, share)).short(format!("{below}{}", percent(share))))
}

fn share_words(one: &HostSummary, share: f64) -> String {
    let planned = one.planned.map(|planned| format!(" / {}", percent(planned.part)));
    format!("{}{}", percent(share), planned.unwrap_or_default())
}

/// `62 %: engine 50 %, stolen 1.0 %`
fn cpu_words(one: &HostSummary) -> String {
    let Some(cpu) = one.cpu else { return String::new() };
    let part = |name: &str, share: Option<f64>| {
        share.filter(|share| *share >= 0.005).map(|share| format!("{name} {}", percent(share)))
    };
    let parts = [
        part("engine", cpu.engine),
        part("plimsoll", cpu.plimsoll),
        part("stolen", cpu.stolen),
        part("waiting for I/O", cpu.waited_for_io),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    let more = if parts.is_empty() { String::new() } else { format!(": {}", parts.join(", ")) };
    format!("{} of {}{more}", percent(cpu.busy), number(cpu.cpus))
}

/// `eth0 12.0 out, 3.4 in MB/s, 10 % of 1 Gbit/s; 20 dropped`
fn networks_words(one: &HostSummary) -> String {
    let again = one.retransmitted_share.filter(|share| *share > 0.0);
    let again = again.map(|share| format!("{} of the segments sent again", percent(share)));
    one.networks.iter().map(network_words).chain(again).collect::<Vec<_>>().join("; ")
}

fn network_words(one: &InterfaceUse) -> String {
    let way = |per_s: Option<f64>, word: &str| per_s.map(|per_s| format!("{} {word}", megabytes_per_s(per_s)));
    let ways: Vec<String> =
        [way(one.sent_bytes_per_s, "out"), way(one.received_bytes_per_s, "in")].into_iter().flatten().collect();
    let link = one.link_share.zip(one.link_bits_per_s);
    let link = link.map(|(share, bits)| format!(", {} of {} Gbit/s", percent(share), number(bits / 1e9)));
    let drops =
        one.drops.filter(|drops| *drops > 0.0).map(|drops| format!(", {} dropped", format::count(drops as u64)));
    format!("{} {}{}{}", one.interface, ways.join(", "), link.unwrap_or_default(), drops.unwrap_or_default())
}

/// The share of the link, or MB/s if its speed is not known.
fn short_network(one: &InterfaceUse) -> Option<String> {
    let busier = one.sent_bytes_per_s.map(|sent| sent.max(one.received_bytes_per_s.unwrap_or(0.0)));
    match one.link_share {
        Some(share) => Some(percent(share).to_string()),
        None => busier.map(|per_s| number(per_s / 1e6).to_string()),
    }
}

fn between_words(one: &HostSummary, sent: f64) -> String {
    let received = one.replicated_bytes_received_per_s;
    let received = received.map(|per_s| format!(", {} in", megabytes_per_s(per_s)));
    format!("{} out{}", megabytes_per_s(sent), received.unwrap_or_default())
}

/// `21 MB/s, busy 97 %`
fn disk_words(one: &HostSummary) -> Option<String> {
    let disk = one.disk?;
    let moved = disk.read_bytes_per_s.unwrap_or(0.0) + disk.write_bytes_per_s.unwrap_or(0.0);
    let is_known = disk.read_bytes_per_s.or(disk.write_bytes_per_s).is_some();
    let moved = is_known.then(|| format!("{}/s", bytes(moved)));
    let busy = disk.busy_share.map(|share| format!("busy {}", percent(share)));
    let parts: Vec<String> = moved.into_iter().chain(busy).collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// `±40.0 us / +1.20 ms`
fn clock_words(one: &HostSummary) -> Option<String> {
    let clock = one.clock.map(|clock| format!("±{}", time(clock.bound_ns as f64)));
    let start = one
        .start_skew_ns
        .map(|skew_ns| format!("{}{}", if skew_ns < 0 { "-" } else { "+" }, time(skew_ns.unsigned_abs() as f64)));
    match (clock, start) {
        (None, None) => None,
        (clock, start) => {
            Some(format!("{} / {}", clock.unwrap_or_else(format::dash), start.unwrap_or_else(format::dash)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{quick, with_hosts};

    #[test]
    fn hosts_are_next_to_each_other_and_the_uneven_one_is_marked() {
        let found = tables(&with_hosts());
        let [table] = found.as_slice() else { panic!("one point has several hosts") };
        let hosts: Vec<String> = table.rows.iter().map(Row::label_text).collect();
        assert_eq!(hosts, ["c1", "c2 (uneven)", "n1"]);
        assert_eq!(table.rows.iter().map(|row| row.is_marked).collect::<Vec<_>>(), [false, true, false]);
        let [_, second, node] = table.rows.as_slice() else { panic!("three hosts") };
        let share = &second.cells[1];
        assert!(share.short_text().starts_with('<') && share.text.ends_with(" / 50 %"), "{:?}", second.cells);
        let text = |nth: usize| node.cells[nth].text.as_str();
        assert_eq!(text(1), "-");
        assert!(text(8).starts_with("80 % of 4.00: engine 80 %"), "{}", text(8));
        assert!(text(9).contains("eth1") && text(9).contains(" of 1.00 Gbit/s"), "{}", text(9));
        assert!(text(10).contains("out"), "{}", text(10));
        assert!(tables(&quick()).is_empty());
    }
}
