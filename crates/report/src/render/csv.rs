//! The numbers as CSV: one row per point, one row per interval.
//!
//! In: an analysis. Out: text with a header line, all digits, units in the names. Limits: a value that could not be measured
//! is an empty field, never 0. Texts that a spreadsheet would take for formulas begin with `'`.

use crate::csv_column::{
    CsvColumn, Explained, column, csv_lines, csv_table, explained, figure_columns, figure_fields, float,
};
use crate::escape;
use crate::wording::label::{list_settings, point_label};
use analysis::course::series::mean_rate;
use analysis::figures::{INSERT_FIGURES, POINT_FIGURES};
use analysis::{Analysis, IntervalPoint, PointAnalysis, Span};
use model::{CounterRole, ThreadOf, ThreadState};

/// A column of points.csv.
type PointColumn = CsvColumn<fn(&PointAnalysis) -> String>;

/// The columns of points.csv before its figures.
static POINT_WORDS: &[PointColumn] = &[
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
];

/// The columns of points.csv, before those of what an insert cost.
pub fn point_columns() -> Vec<Explained> {
    [explained(POINT_WORDS), figure_columns(&POINT_FIGURES)].concat()
}

/// The columns of what an insert cost, behind those.
pub fn insert_columns() -> Vec<Explained> {
    figure_columns(INSERT_FIGURES)
}

/// One row per point.
pub fn points_csv(analysis: &Analysis) -> String {
    let row = |point: &PointAnalysis| {
        let words: Vec<String> = POINT_WORDS.iter().map(|column| (column.value)(point)).collect();
        let inserts = figure_fields(INSERT_FIGURES, point.inserts.as_ref());
        [words, figure_fields(&POINT_FIGURES, Some(point)), inserts].concat()
    };
    csv_lines([point_columns(), insert_columns()].concat(), analysis.points.iter().map(row))
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
static INTERVAL_COLUMNS: &[IntervalColumn] = &[
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

/// The columns of intervals.csv.
pub fn interval_columns() -> Vec<Explained> {
    explained(INTERVAL_COLUMNS)
}

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
        let points = [point_columns(), insert_columns()].concat();
        for columns in [points, interval_columns()] {
            let names: std::collections::BTreeSet<&str> = columns.iter().map(|(name, _)| name.as_str()).collect();
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
        let p99 = background_500().response_ns.expect("they worked").p99.to_string();
        assert_eq!(names.map(|name| field(&csv, name)), ["500", "498", "2490", p99.as_str()]);
    }
}
