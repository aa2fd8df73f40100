//! Each host of a point as CSV: a row for each network interface of it, so that what went over each is a number of its own.
//!
//! In: an analysis. Out: text with a header line. Limits: what could not be measured is an empty field, never 0. What a host did, and its CPU and
//! disk, are the same in all rows of it. A repeat is a row of its own.

use crate::csv_column::{CsvColumn, column, csv_table, float};
use crate::escape;
use crate::wording::label::point_label;
use analysis::{Analysis, HostCpu, HostDisk, HostLoad, HostSummary, InterfaceUse, PointAnalysis, Quantiles};

/// A row of hosts.csv.
pub struct CsvHost<'a> {
    point: &'a PointAnalysis,
    one: &'a HostSummary,
    network: Option<&'a InterfaceUse>,
}

/// A column of hosts.csv.
type HostColumn = CsvColumn<fn(&CsvHost) -> String>;

/// The columns of hosts.csv.
pub static HOST_COLUMNS: &[HostColumn] = &[
    column("point", "number of the point in the run, from 1", |of| of.point.id.to_string()),
    column("label", "what distinguishes the point from the others of the run", |of| {
        escape::csv(&point_label(of.point))
    }),
    column("host", "name of the host", |of| escape::csv(&of.one.host)),
    column("role", "`load`, `observe` (a node of the database runs on it) or `load-and-observe`", |of| {
        of.one.role.as_str().to_owned()
    }),
    column("validity", "how far the numbers of the host can be trusted: `valid`, `indicative` or `invalid`", |of| {
        of.one.validity.as_str().to_owned()
    }),
    column("lost_at_s", "when the host was lost, in seconds since the run phase began", |of| float(of.one.lost_at_s)),
    column("clients", "clients of the host", |of| {
        of.one.planned.map(|planned| planned.clients.to_string()).unwrap_or_default()
    }),
    column("planned_share", "part of all operations that was planned, from 0 to 1", |of| {
        float(of.one.planned.map(|planned| planned.part))
    }),
    column("share", "share of the operations of all hosts, from 0 to 1", |of| {
        float(of.one.load.and_then(|load| load.share))
    }),
    column("ops", "operations that its clients did by the end of the run phase", |of| {
        of.one.load.map(|load| load.ops.to_string()).unwrap_or_default()
    }),
    column("ops_per_s", "operations that they did per second", |of| load(of, |load| Some(load.ops_per_s))),
    column("failed", "operations that failed", |of| {
        of.one.load.map(|load| load.failed.to_string()).unwrap_or_default()
    }),
    column("response_mean_ns", "mean response time (finished - intended)", |of| {
        load(of, |load| load.response_ns.map(|times| times.mean))
    }),
    column("response_p50_ns", "median of it", |of| response(of, |q| q.p50)),
    column("response_p95_ns", "95th percentile of it", |of| response(of, |q| q.p95)),
    column("response_p99_ns", "99th percentile of it", |of| response(of, |q| q.p99)),
    column("response_p999_ns", "99.9th percentile of it", |of| response(of, |q| q.p999)),
    column("response_max_ns", "longest response time", |of| response(of, |q| q.max)),
    column("lag_mean_ns", "how late clients woke up for arrivals on average (open loop)", |of| {
        load(of, |load| load.lag_mean_ns)
    }),
    column("lag_max_ns", "the longest of it", |of| {
        of.one.load.and_then(|load| load.lag_max_ns).map(|ns| ns.to_string()).unwrap_or_default()
    }),
    column("client_cores", "cores that the client threads used", |of| load(of, |load| load.cores_used)),
    column("cpus", "CPUs of the host", |of| cpu(of, |cpu| Some(cpu.cpus))),
    column("cpu_busy_share", "share of its CPU time that was used, from 0 to 1", |of| cpu(of, |cpu| Some(cpu.busy))),
    column("cpu_engine_share", "share that the engine used", |of| cpu(of, |cpu| cpu.engine)),
    column("cpu_plimsoll_share", "share that plimsoll used", |of| cpu(of, |cpu| cpu.plimsoll)),
    column("cpu_stolen_share", "share that the hypervisor took", |of| cpu(of, |cpu| cpu.stolen)),
    column("cpu_iowait_share", "share that was idle while a task waited for I/O", |of| {
        cpu(of, |cpu| cpu.waited_for_io)
    }),
    column("interface", "name of the network interface of this row", |of| {
        of.network.map(|network| escape::csv(&network.interface)).unwrap_or_default()
    }),
    column("sent_bytes_per_s", "bytes per second that went out over it; on loopback those of both directions", |of| {
        network(of, |network| network.sent_bytes_per_s)
    }),
    column("received_bytes_per_s", "bytes per second that came in", |of| {
        network(of, |network| network.received_bytes_per_s)
    }),
    column("drops", "packets that it or its driver dropped", |of| network(of, |network| network.drops)),
    column("link_bits_per_s", "speed of its link in bits per second and direction", |of| {
        network(of, |network| network.link_bits_per_s)
    }),
    column("link_share", "part of it that the busier direction used, from 0 to 1", |of| {
        network(of, |network| network.link_share)
    }),
    column("retransmitted_share", "TCP segments of the host that were sent again, as a share of those sent", |of| {
        float(of.one.retransmitted_share)
    }),
    column(
        "replicated_bytes_per_s",
        "bytes of write sets per second that its node of a cluster sent to the others",
        |of| float(of.one.replicated_bytes_per_s),
    ),
    column("replicated_bytes_received_per_s", "the same, received", |of| float(of.one.replicated_bytes_received_per_s)),
    column("disk_read_bytes_per_s", "bytes per second that its disk read", |of| disk(of, |disk| disk.read_bytes_per_s)),
    column("disk_write_bytes_per_s", "bytes per second that it wrote", |of| disk(of, |disk| disk.write_bytes_per_s)),
    column("disk_busy_share", "share of the time in which it was busy, from 0 to 1", |of| {
        disk(of, |disk| disk.busy_share)
    }),
    column("clock_offset_ns", "by this the clock of the bus was ahead of its own", |of| {
        of.one.clock.map(|clock| clock.offset_ns.to_string()).unwrap_or_default()
    }),
    column("clock_bound_ns", "by this that offset may be off, either way", |of| {
        of.one.clock.map(|clock| clock.bound_ns.to_string()).unwrap_or_default()
    }),
    column("start_skew_ns", "how much later than planned it began the run phase, by its own clock", |of| {
        of.one.start_skew_ns.map(|skew| skew.to_string()).unwrap_or_default()
    }),
];

/// A row for each network interface of each host of each point that had several hosts; one row for a host without any.
pub fn hosts_csv(analysis: &Analysis) -> String {
    csv_table(HOST_COLUMNS, analysis.points.iter().flat_map(hosts_of))
}

fn hosts_of(point: &PointAnalysis) -> impl Iterator<Item = CsvHost<'_>> {
    point.hosts.iter().flat_map(move |one| {
        let none = one.networks.is_empty().then_some(None);
        let networks = one.networks.iter().map(Some).chain(none);
        networks.map(move |network| CsvHost { point, one, network })
    })
}

fn load(of: &CsvHost, which: fn(HostLoad) -> Option<f64>) -> String {
    float(of.one.load.and_then(which))
}

fn response(of: &CsvHost, which: fn(Quantiles) -> u64) -> String {
    let times = of.one.load.and_then(|load| load.response_ns);
    times.map(|times| which(times).to_string()).unwrap_or_default()
}

fn cpu(of: &CsvHost, which: fn(HostCpu) -> Option<f64>) -> String {
    float(of.one.cpu.and_then(which))
}

fn disk(of: &CsvHost, which: fn(HostDisk) -> Option<f64>) -> String {
    float(of.one.disk.and_then(which))
}

fn network(of: &CsvHost, which: fn(&InterfaceUse) -> Option<f64>) -> String {
    float(of.network.and_then(which))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{HOSTILE, quick, with_hosts};

    #[test]
    fn each_interface_is_a_row_with_as_many_fields_as_heads_and_points_of_one_machine_have_none() {
        let text = hosts_csv(&with_hosts());
        let widths: Vec<usize> = text.lines().map(|line| line.split(',').count()).collect();
        assert!(widths.len() == 5 && widths.iter().all(|width| *width == HOST_COLUMNS.len()), "{text}");
        assert!(text.lines().nth(2).is_some_and(|line| line.contains(",c2,load,valid,,2,0.5,")), "{text}");
        assert!(
            text.lines().nth(4).is_some_and(|line| line.contains(",n1,observe,valid,") && line.contains(",eth1,")),
            "{text}"
        );
        assert_eq!(hosts_csv(&quick()).lines().count(), 1);
    }

    #[test]
    fn names_of_hosts_are_no_formulas() {
        let mut analysis = with_hosts();
        for text in HOSTILE {
            analysis.points[0].hosts[0].host = text.to_owned();
            let csv = hosts_csv(&analysis);
            assert!(csv.contains(&format!(",{},load", escape::csv(text))), "{csv}");
        }
    }
}
