//! The numbers as CSV: one row per point, one row per interval.
//!
//! In: an analysis. Out: text with a header line, all digits, units in the names. Limits: a value that could not be measured
//! is an empty field, never 0. Texts that a spreadsheet would take for formulas begin with `'`.

use crate::csv_column::{CsvColumn, column, csv_table, float};
use crate::escape;
use crate::inserts::FIELDS;
use crate::wording::label::{list_settings, point_label};
use crate::wording::written::account_name;
use analysis::course::series::mean_rate;
use analysis::{
    Analysis, BackgroundSummary, InstanceShares, IntervalPoint, NetworkUse, PointAnalysis, Quantiles, RunningCost,
    Span, Summary,
};
use model::{CounterRole, ThreadOf, ThreadState};

/// A column of points.csv.
type PointColumn = CsvColumn<fn(&PointAnalysis) -> String>;

/// The columns of points.csv, before those of [`FIELDS`].
pub static POINT_COLUMNS: &[PointColumn] = &[
    column("point", "number of the point in the run, from 1", |p| p.id.to_string()),
    column("label", "what distinguishes the point from the others of the run", |p| escape::csv(&point_label(p))),
    column("engine", "name of the engine, or the path that was measured", |p| escape::csv(&p.engine)),
    column("workload", "name of the workload", |p| escape::csv(&p.workload)),
    column("clients", "number of clients", |p| p.clients.to_string()),
    column("depth", "operations in flight per client", |p| p.depth.to_string()),
    column("repeat", "number of the repeat, from 1", |p| p.repeat.to_string()),
    column("params", "parameters of engine and workload, as name=value, separated by spaces", |p| {
        escape::csv(&params(p))
    }),
    column("state", "`complete`, `partial` (interrupted) or `failed`", |p| p.state.as_str().to_owned()),
    column(
        "work_done",
        "`whole`, `cut-short` or `short-data` (an earlier step was cut short); only whole points are compared",
        |p| p.work_done.as_str().to_owned(),
    ),
    column("validity", "`valid`, `indicative` or `invalid`", |p| p.validity.as_str().to_owned()),
    column("findings", "codes of the findings, separated by spaces", |p| escape::csv(&codes(p))),
    column("bottlenecks", "codes of what limited the point, separated by spaces; one, or two that share it", |p| {
        causes(p)
    }),
    column("seconds", "length of the run phase, or of the part that counts", |p| number(p, |s| Some(s.seconds))),
    column("ops", "operations done in the run phase", |p| whole(p, |s| s.ops)),
    column("failed", "operations that failed", |p| whole(p, |s| s.failed)),
    column("late", "open loop: operations that fell due while every client was busy", |p| whole(p, |s| s.late)),
    column("unserved", "open loop: operations that fell due and were never started", |p| whole(p, |s| s.unserved)),
    column("offered_per_s", "open loop: operations per second that fell due", |p| number(p, |s| s.offered_per_s)),
    column("ops_per_s", "throughput: operations done per second, syncs included, without background clients", |p| {
        number(p, |s| Some(s.ops_per_s))
    }),
    column("ops_per_s_low95", "lower end of its 95 % confidence interval", |p| low(p, |s| s.ops_per_s_ci95)),
    column("ops_per_s_high95", "upper end of it", |p| high(p, |s| s.ops_per_s_ci95)),
    column("bytes_per_s", "bytes that these operations asked to read or write, per second", |p| {
        number(p, |s| Some(s.bytes_per_s))
    }),
    column("response_mean_ns", "mean response time (finished - intended)", |p| response(p, |q| Some(q.mean))),
    column("response_p50_ns", "median of it", |p| response_ns(p, |q| q.p50)),
    column("response_p95_ns", "95th percentile of it", |p| response_ns(p, |q| q.p95)),
    column("response_p99_ns", "99th percentile of it", |p| response_ns(p, |q| q.p99)),
    column("response_p999_ns", "99.9th percentile of it", |p| response_ns(p, |q| q.p999)),
    column("response_max_ns", "longest response time", |p| response_ns(p, |q| q.max)),
    column("service_mean_ns", "mean service time (finished - started)", |p| service(p, |q| Some(q.mean))),
    column("service_p50_ns", "median of it", |p| service_ns(p, |q| q.p50)),
    column("service_p95_ns", "95th percentile of it", |p| service_ns(p, |q| q.p95)),
    column("service_p99_ns", "99th percentile of it", |p| service_ns(p, |q| q.p99)),
    column("service_p999_ns", "99.9th percentile of it", |p| service_ns(p, |q| q.p999)),
    column("service_max_ns", "longest service time", |p| service_ns(p, |q| q.max)),
    column("worst_at_s", "when the second with the fewest operations began, from the start of the run phase", |p| {
        number(p, |s| s.worst.map(|worst| worst.at_s))
    }),
    column("worst_length_s", "its length: longer than a second if the intervals are", |p| {
        number(p, |s| s.worst.map(|worst| worst.length_s))
    }),
    column("worst_ops_per_s", "operations per second in it", |p| number(p, |s| s.worst.map(|worst| worst.ops_per_s))),
    column("client_cpu_ns_per_op", "CPU time of the client threads per operation", |p| {
        number(p, |s| s.client.cpu_ns_per_op)
    }),
    column("client_cpu_user_ns_per_op", "the part of it in user mode", |p| number(p, |s| s.client.cpu_user_ns_per_op)),
    column("read_bytes_per_op", "bytes read from storage per operation", |p| number(p, |s| s.cost.read_bytes_per_op)),
    column("written_bytes_per_op", "bytes written to storage per operation", |p| {
        number(p, |s| s.cost.written_bytes_per_op)
    }),
    column(
        "written_account",
        "who counted them: `volume`, `disk`, `process` or `engine`; empty if no count can be believed",
        |p| p.summary.as_ref().and_then(|s| s.cost.written_account).map_or("", account_name).to_owned(),
    ),
    column("written_by_process_bytes", "bytes that the kernel charged to the engine's processes for writes", |p| {
        number(p, |s| s.cost.written_accounts.process_bytes)
    }),
    column("written_by_device_bytes", "bytes that the device under the data wrote", |p| {
        number(p, |s| s.cost.written_accounts.device_bytes)
    }),
    column("written_by_others_bytes", "bytes that the kernel charged to other processes for writes", |p| {
        number(p, |s| s.cost.written_accounts.others_bytes)
    }),
    column(
        "written_by_file_system_bytes",
        "of those that the device wrote, those that the file system wrote for itself, if they are known",
        |p| number(p, |s| s.cost.file_system_bytes),
    ),
    column("written_by_engine_bytes", "bytes written, as the engine counts them", |p| {
        number(p, |s| s.cost.written_accounts.engine_bytes)
    }),
    column("engine_cpu_ns_per_op", "CPU time of the engine's processes per operation", |p| {
        number(p, |s| s.cost.engine_cpu_ns_per_op)
    }),
    column("context_switches_per_op", "context switches of the engine's processes per operation", |p| {
        number(p, |s| s.cost.context_switches_per_op)
    }),
    column(
        "success_rate",
        "share of the operations that did not fail, from 0 to 1, background clients included",
        |p| number(p, |s| s.success_rate),
    ),
    column("retries_per_s", "operations per second that were tried again after a conflict", |p| {
        number(p, |s| Some(s.retries?.per_s))
    }),
    column("retries_per_op", "the same for each operation that ended, background clients included", |p| {
        number(p, |s| Some(s.retries?.per_op))
    }),
    column("queries_per_s", "statements per second, BEGIN and COMMIT included", |p| {
        number(p, |s| Some(s.queries_per_s))
    }),
    column("queries_per_s_low95", "lower end of its 95 % confidence interval", |p| low(p, |s| s.queries_per_s_ci95)),
    column("queries_per_s_high95", "upper end of it", |p| high(p, |s| s.queries_per_s_ci95)),
    column("rows_per_s", "rows inserted per second, without background clients", |p| number(p, |s| s.rows_per_s)),
    column("rows_per_s_low95", "lower end of its 95 % confidence interval", |p| low(p, |s| s.rows_per_s_ci95)),
    column("rows_per_s_high95", "upper end of it", |p| high(p, |s| s.rows_per_s_ci95)),
    column("read_bytes_per_query", "as `read_bytes_per_op`, per query", |p| {
        number(p, |s| s.cost_per_query.read_bytes_per_query)
    }),
    column("written_bytes_per_query", "as `written_bytes_per_op`, per query", |p| {
        number(p, |s| s.cost_per_query.written_bytes_per_query)
    }),
    column("engine_cpu_ns_per_query", "as `engine_cpu_ns_per_op`, per query", |p| {
        number(p, |s| s.cost_per_query.engine_cpu_ns_per_query)
    }),
    column("context_switches_per_query", "as `context_switches_per_op`, per query", |p| {
        number(p, |s| s.cost_per_query.context_switches_per_query)
    }),
    column("client_cpu_ns_per_query", "as `client_cpu_ns_per_op`, per query", |p| {
        number(p, |s| s.cost_per_query.client_cpu_ns_per_query)
    }),
    column(
        "background_asked_per_s",
        "operations per second that background clients were to do; if a point has several background loads, statements.csv has each",
        |p| background(p, |b| b.asked_per_s),
    ),
    column("background_ops_per_s", "operations per second that they did", |p| background(p, |b| Some(b.ops_per_s))),
    column("background_ops_per_s_low95", "lower end of its 95 % confidence interval", |p| {
        background(p, |b| b.ops_per_s_ci95.map(|ci| ci[0]))
    }),
    column("background_ops_per_s_high95", "upper end of it", |p| background(p, |b| b.ops_per_s_ci95.map(|ci| ci[1]))),
    column("background_rows_per_s", "rows per second that they inserted", |p| background(p, |b| b.rows_per_s)),
    column("background_failed", "operations of theirs that failed", |p| background_count(p, |b| Some(b.failed))),
    column("background_late", "operations of theirs that fell due while all of them were busy", |p| {
        background_count(p, |b| Some(b.late))
    }),
    column("background_unserved", "operations of theirs that fell due and were never started", |p| {
        background_count(p, |b| Some(b.unserved))
    }),
    column("background_response_p50_ns", "median of their response time", |p| {
        background_count(p, |b| b.response_ns.map(|q| q.p50))
    }),
    column("background_response_p99_ns", "99th percentile of it", |p| {
        background_count(p, |b| b.response_ns.map(|q| q.p99))
    }),
    column("background_response_max_ns", "longest of it", |p| background_count(p, |b| b.response_ns.map(|q| q.max))),
    column("instances", "instances that ran at once; `clients` are those of each", |p| {
        instances(p, |i| i.n as f64, Some(1.0))
    }),
    column(
        "instances_fairness",
        "Jain's index of their operations: 1 if all did the same, 1/n if one did everything",
        |p| float(p.instances.as_ref().and_then(|i| i.fairness)),
    ),
    column("instance_ops_per_s_min", "operations per second of the slowest of them", |p| {
        instances(p, |i| i.range_per_s()[0], None)
    }),
    column("instance_ops_per_s_max", "operations per second of the fastest of them", |p| {
        instances(p, |i| i.range_per_s()[1], None)
    }),
    column(
        "price_per_hour",
        "price of the machine per hour; empty if it was not given, as all that follows from it",
        |p| running(p, |c| c.price_per_hour),
    ),
    column("cost_per_million_ops", "price of the time in which it does a million operations", |p| {
        running(p, |c| c.per_million_ops)
    }),
    column(
        "cost_per_gb",
        "price of the time in which it reads or writes 10^9 bytes of payload, or inserts rows that take as much on disk",
        |p| running(p, |c| c.per_gb),
    ),
    column("cost_per_year", "price of the machine for 8760 hours", |p| running(p, |c| c.per_year)),
    column("watts", "power of the machine as it was given, or the mean of CPUs and memory if it was measured", |p| {
        running(p, |c| c.watts)
    }),
    column("kwh_per_million_ops", "energy in kWh, as `cost_per_million_ops`", |p| {
        running(p, |c| c.kwh_per_million_ops)
    }),
    column("kwh_per_gb", "energy in kWh, as `cost_per_gb`", |p| running(p, |c| c.kwh_per_gb)),
    column("kwh_per_year", "energy in kWh of 8760 hours at this power", |p| running(p, |c| c.kwh_per_year)),
    column(
        "network_bytes_per_op",
        "bytes over the network to the server and back per operation, with headers, and those of other programs over that interface",
        |p| number(p, |s| s.cost.network_bytes_per_op),
    ),
    column("network_bytes_per_query", "as `network_bytes_per_op`, per query", |p| {
        number(p, |s| s.cost_per_query.network_bytes_per_query)
    }),
    column("network_packets_per_op", "packets, as `network_bytes_per_op`", |p| network(p, |n| n.packets_per_op)),
    column(
        "network_sent_bytes_per_s",
        "bytes per second that the clients sent over that interface; over loopback those of both directions",
        |p| network(p, |n| n.sent_bytes_per_s),
    ),
    column("network_received_bytes_per_s", "bytes per second that they received; empty for loopback", |p| {
        network(p, |n| n.received_bytes_per_s)
    }),
    column("network_drops", "packets that the interface dropped in the run phase", |p| network(p, |n| n.drops)),
    column(
        "network_retransmitted_share",
        "share of the TCP segments of the machine that were sent again, from 0 to 1",
        |p| network(p, |n| n.retransmitted_share),
    ),
    column(
        "network_link_bits_per_s",
        "speed of the link in bits per second and direction, as it was given (`link`) or as the network card reports it",
        |p| network(p, |n| n.link_bits_per_s),
    ),
    column("network_link_share", "share of it that the busier direction used, from 0 to 1", |p| {
        network(p, |n| n.link_share)
    }),
];

/// One row per point.
pub fn points_csv(analysis: &Analysis) -> String {
    let own = POINT_COLUMNS.iter().map(|column| column.name);
    let names: Vec<&str> = own.chain(FIELDS.iter().map(|field| field.name)).collect();
    let mut out = format!("{}\n", names.join(","));
    for point in &analysis.points {
        let own = POINT_COLUMNS.iter().map(|column| (column.value)(point));
        let costs = FIELDS.iter().map(|field| float(point.inserts.as_ref().and_then(field.value)));
        out.push_str(&own.chain(costs).collect::<Vec<_>>().join(","));
        out.push('\n');
    }
    out
}

fn params(point: &PointAnalysis) -> String {
    let params = list_settings(point).into_iter().map(|(name, one)| format!("{name}={}", one.text));
    params.collect::<Vec<_>>().join(" ")
}

fn codes(point: &PointAnalysis) -> String {
    point.findings.iter().map(|finding| finding.code().as_str()).collect::<Vec<_>>().join(" ")
}

fn causes(point: &PointAnalysis) -> String {
    let causes = point.bottlenecks.iter().flat_map(|found| &found.causes);
    causes.map(|cause| cause.limit().as_str()).collect::<Vec<_>>().join(" ")
}

fn number(point: &PointAnalysis, value: fn(&Summary) -> Option<f64>) -> String {
    float(point.summary.as_ref().and_then(value))
}

fn network(point: &PointAnalysis, value: fn(NetworkUse) -> Option<f64>) -> String {
    float(point.summary.as_ref().and_then(|summary| summary.network).and_then(value))
}

fn whole(point: &PointAnalysis, value: fn(&Summary) -> u64) -> String {
    point.summary.as_ref().map(|summary| value(summary).to_string()).unwrap_or_default()
}

fn low(point: &PointAnalysis, ci95: fn(&Summary) -> Option<[f64; 2]>) -> String {
    float(point.summary.as_ref().and_then(ci95).map(|ci| ci[0]))
}

fn high(point: &PointAnalysis, ci95: fn(&Summary) -> Option<[f64; 2]>) -> String {
    float(point.summary.as_ref().and_then(ci95).map(|ci| ci[1]))
}

fn response(point: &PointAnalysis, value: fn(Quantiles) -> Option<f64>) -> String {
    float(point.summary.as_ref().and_then(|summary| summary.response_ns).and_then(value))
}

fn response_ns(point: &PointAnalysis, value: fn(Quantiles) -> u64) -> String {
    let times = point.summary.as_ref().and_then(|summary| summary.response_ns);
    times.map(|times| value(times).to_string()).unwrap_or_default()
}

fn service(point: &PointAnalysis, value: fn(Quantiles) -> Option<f64>) -> String {
    float(point.summary.as_ref().and_then(|summary| summary.service_ns).and_then(value))
}

fn service_ns(point: &PointAnalysis, value: fn(Quantiles) -> u64) -> String {
    let times = point.summary.as_ref().and_then(|summary| summary.service_ns);
    times.map(|times| value(times).to_string()).unwrap_or_default()
}

/// The background load of `point`, if it has one; of several each has a row in statements.csv.
fn background_load(point: &PointAnalysis) -> Option<&BackgroundSummary> {
    match point.summary.as_ref()?.background.as_slice() {
        [load] => Some(load),
        _ => None,
    }
}

fn background(point: &PointAnalysis, value: fn(&BackgroundSummary) -> Option<f64>) -> String {
    float(background_load(point).and_then(value))
}

/// The value of several instances, or else that `of_one`.
fn instances(point: &PointAnalysis, value: fn(&InstanceShares) -> f64, of_one: Option<f64>) -> String {
    float(point.instances.as_ref().map(value).or(of_one))
}

fn running(point: &PointAnalysis, value: fn(&RunningCost) -> Option<f64>) -> String {
    float(point.summary.as_ref().and_then(|summary| value(&summary.cost.running)))
}

fn background_count(point: &PointAnalysis, value: fn(&BackgroundSummary) -> Option<u64>) -> String {
    background_load(point).and_then(value).map(|count| count.to_string()).unwrap_or_default()
}

/// An interval of a point, as intervals.csv has it.
pub struct CsvInterval<'a> {
    point: &'a PointAnalysis,
    /// The label of the point, escaped.
    label: &'a str,
    interval: &'a IntervalPoint,
}

/// A column of intervals.csv.
type IntervalColumn = CsvColumn<fn(&CsvInterval) -> String>;

/// The columns of intervals.csv.
pub static INTERVAL_COLUMNS: &[IntervalColumn] = &[
    column("point", "number of the point in the run, from 1", |row| row.point.id.to_string()),
    column("label", "what distinguishes the point from the others of the run", |row| row.label.to_owned()),
    column("phase", "`warmup` or `run`", |row| phase_of(row.interval).to_owned()),
    column("at_s", "when the interval began, from the start of the run phase; negative in the warmup", |row| {
        float(Some(row.interval.at_s))
    }),
    column("length_s", "its length", |row| float(Some(row.interval.length_s))),
    column("ops_per_s", "operations done per second, syncs included, without background clients", |row| {
        float(Some(row.interval.ops_per_s))
    }),
    column("bytes_per_s", "bytes that these operations asked to read or write, per second", |row| {
        float(Some(row.interval.bytes_per_s))
    }),
    column("p50_ns", "median response time of the operations that ended in it", |row| nanos(row.interval.p50_ns)),
    column("p95_ns", "95th percentile of it", |row| nanos(row.interval.p95_ns)),
    column("p99_ns", "99th percentile of it", |row| nanos(row.interval.p99_ns)),
    column("max_ns", "longest of it", |row| nanos(row.interval.max_ns)),
    column(
        "engine_cpu_threads",
        "threads of the engine that were on a CPU, on average; empty if its threads were not seen",
        |row| threads(row, ThreadOf::Engine, ThreadState::Cpu),
    ),
    column("engine_runnable_threads", "threads of the engine that waited for a CPU, on average", |row| {
        threads(row, ThreadOf::Engine, ThreadState::Runnable)
    }),
    column("engine_read_threads", "threads of the engine that waited for reads of storage, on average", |row| {
        threads(row, ThreadOf::Engine, ThreadState::Read)
    }),
    column(
        "engine_sync_threads",
        "threads of the engine that waited for writes and syncs of storage, on average",
        |row| threads(row, ThreadOf::Engine, ThreadState::Sync),
    ),
    column(
        "engine_lock_threads",
        "threads of the engine that waited for other threads: locks, and the thread that syncs for a group, on average",
        |row| threads(row, ThreadOf::Engine, ThreadState::Lock),
    ),
    column("engine_client_threads", "threads of the engine that waited for their clients, on average", |row| {
        threads(row, ThreadOf::Engine, ThreadState::Client)
    }),
    column(
        "engine_other_threads",
        "threads of the engine that waited for something else, or were stopped, on average",
        |row| threads(row, ThreadOf::Engine, ThreadState::Other),
    ),
    column(
        "client_cpu_threads",
        "client threads of plimsoll that were on a CPU, on average; an embedded engine works on them",
        |row| threads(row, ThreadOf::Client, ThreadState::Cpu),
    ),
    column("client_runnable_threads", "client threads of plimsoll that waited for a CPU, on average", |row| {
        threads(row, ThreadOf::Client, ThreadState::Runnable)
    }),
    column("client_read_threads", "client threads of plimsoll that waited for reads of storage, on average", |row| {
        threads(row, ThreadOf::Client, ThreadState::Read)
    }),
    column(
        "client_sync_threads",
        "client threads of plimsoll that waited for writes and syncs of storage, on average",
        |row| threads(row, ThreadOf::Client, ThreadState::Sync),
    ),
    column(
        "client_lock_threads",
        "client threads of plimsoll that waited for other threads: locks, and the thread that syncs for a group, on average",
        |row| threads(row, ThreadOf::Client, ThreadState::Lock),
    ),
    column("client_engine_threads", "client threads of plimsoll that waited for the engine, on average", |row| {
        threads(row, ThreadOf::Client, ThreadState::Client)
    }),
    column(
        "client_other_threads",
        "client threads of plimsoll that waited for something else, or were stopped, on average",
        |row| threads(row, ThreadOf::Client, ThreadState::Other),
    ),
];

/// One row per interval of warmup and run.
pub fn intervals_csv(analysis: &Analysis) -> String {
    let labelled = analysis.points.iter().map(|point| (point, escape::csv(&point_label(point))));
    let labelled: Vec<(&PointAnalysis, String)> = labelled.collect();
    let rows = labelled.iter().flat_map(|(point, label)| {
        let intervals = point.series.iter().flat_map(|series| &series.intervals);
        intervals.map(move |interval| CsvInterval { point, label, interval })
    });
    csv_table(INTERVAL_COLUMNS, rows)
}

fn phase_of(interval: &IntervalPoint) -> &'static str {
    if interval.at_s < 0.0 { "warmup" } else { "run" }
}

/// How many threads were in that state in the interval, on average; empty if it was not counted.
fn threads(row: &CsvInterval, of: ThreadOf, state: ThreadState) -> String {
    let span = Span { from_s: row.interval.at_s, to_s: row.interval.at_s + row.interval.length_s };
    let counters = row.point.series.iter().flat_map(|series| &series.counters);
    let mut of_state = counters.filter(|counter| counter.role == Some(CounterRole::ThreadTime(of, state)));
    float(of_state.find_map(|counter| mean_rate(&counter.values, &span)).map(|ns_per_s| ns_per_s / 1e9))
}

fn nanos(time: Option<u64>) -> String {
    time.map(|ns| ns.to_string()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{background_500, damaged, inserts, quick};

    /// Fields of a line, with quotes understood.
    fn fields(line: &str) -> usize {
        let mut quoted = false;
        1 + line
            .chars()
            .filter(|c| {
                quoted ^= *c == '"';
                *c == ',' && !quoted
            })
            .count()
    }

    #[test]
    fn every_row_has_as_many_fields_as_the_header_whatever_the_texts() {
        for (what, analysis) in damaged() {
            for csv in [points_csv(&analysis), intervals_csv(&analysis)] {
                let wanted = fields(csv.lines().next().unwrap());
                assert!(csv.lines().all(|l| fields(l) == wanted), "{what}: {csv}");
            }
        }
    }

    #[test]
    fn points_and_intervals_are_all_there() {
        let analysis = quick();
        assert_eq!(points_csv(&analysis).lines().count(), 14);
        assert_eq!(intervals_csv(&analysis).lines().count(), 1 + 13 * 20);
        let first = intervals_csv(&analysis).lines().nth(1).unwrap().to_owned();
        assert!(first.starts_with("1,file rndrd depth 1,warmup,-1,0.25,"), "{first}");
    }

    #[test]
    fn an_interval_has_how_many_threads_were_in_each_state() {
        let csv = intervals_csv(&crate::testing::waiting());
        let head: Vec<&str> = csv.lines().next().unwrap().split(',').collect();
        let place = |name: &str| head.iter().rev().position(|field| *field == name).unwrap();
        let line = csv.lines().nth(30).unwrap();
        let value = |name: &str| line.rsplit(',').nth(place(name)).unwrap().parse::<f64>().unwrap();
        assert!((value("engine_sync_threads") - 3.2).abs() < 1e-6, "{line}");
        assert!((value("client_engine_threads") - 7.2).abs() < 1e-6, "{line}");
        let unseen = intervals_csv(&quick());
        assert!(unseen.lines().nth(1).unwrap().ends_with(&",".repeat(14)), "what was not counted is empty");
    }

    #[test]
    fn what_an_insert_cost_stands_behind_the_other_numbers() {
        let csv = points_csv(&inserts());
        let [head, first, second, ..] = csv.lines().collect::<Vec<_>>()[..] else { panic!("{csv}") };
        let value = |line: &str, name: &str| {
            let place = head.split(',').position(|field| field == name).unwrap();
            line.rsplit(',').nth(head.split(',').count() - 1 - place).unwrap().to_owned()
        };
        assert_eq!(value(first, "written_bytes_per_insert"), "10080");
        assert_eq!(
            (value(second, "pending_bytes"), value(first, "memory_per_cache")),
            (String::new(), "96".to_owned())
        );
    }

    #[test]
    fn every_column_has_a_name_of_its_own_and_is_explained() {
        let costs = FIELDS.iter().map(CsvColumn::explained);
        let points: Vec<(&str, &str)> = POINT_COLUMNS.iter().map(CsvColumn::explained).chain(costs).collect();
        let intervals: Vec<(&str, &str)> = INTERVAL_COLUMNS.iter().map(CsvColumn::explained).collect();
        for columns in [points, intervals] {
            let names: std::collections::BTreeSet<&str> = columns.iter().map(|(name, _)| *name).collect();
            assert_eq!(names.len(), columns.len());
            assert!(columns.iter().all(|(_, meaning)| !meaning.is_empty() && !meaning.ends_with('.')));
        }
    }

    #[test]
    fn what_was_not_measured_is_empty_and_not_zero() {
        let mut analysis = quick();
        analysis.points[0].summary.as_mut().unwrap().cost = Default::default();
        let csv = points_csv(&analysis);
        let costs = ["read_bytes_per_op", "written_account", "engine_cpu_ns_per_op", "context_switches_per_op"];
        assert_eq!(costs.map(|name| field(&csv, name)), ["", "", "", ""], "{csv}");
    }

    /// What the first point has in the column `name`. No text of the quick run has a comma.
    fn field<'a>(csv: &'a str, name: &str) -> &'a str {
        let mut lines = csv.lines().map(|line| line.split(','));
        let place = lines.next().unwrap().position(|head| head == name).unwrap();
        lines.next().unwrap().nth(place).unwrap()
    }

    #[test]
    fn the_rate_asked_of_background_clients_is_next_to_the_rate_reached() {
        let mut analysis = quick();
        assert_eq!(field(&points_csv(&analysis), "background_asked_per_s"), "");
        analysis.points[0].summary.as_mut().unwrap().background = vec![background_500()];
        let csv = points_csv(&analysis);
        let names =
            ["background_asked_per_s", "background_ops_per_s", "background_rows_per_s", "background_response_p99_ns"];
        assert_eq!(names.map(|name| field(&csv, name)), ["500", "498", "2490", "12000000"]);
    }
}
