//! The rows of repeats, computed once more by other code: SQL over the run file and arithmetic, and the columns of points.csv, each by the
//! rule that its figure declares. Percentiles are not computed again: those of a row must lie between those of its repeats.

use analysis::figures::{INSERT_FIGURES, POINT_FIGURES, RepeatRule};
use analysis::{Analysis, RepeatRows, Validity};
use rusqlite::{Connection, OpenFlags};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// How the values of repeats make that of a row.
#[derive(Clone, Copy, PartialEq)]
enum Rule {
    /// As the figure declares it.
    Declared(RepeatRule),
    /// An end of the interval of the mean.
    Interval,
    /// Text that says what a row is of.
    Text,
}

/// Which rule a figure has is a matter of its declaration; what the rule makes of numbers is computed here.
fn rule_of(column: &str) -> Rule {
    let of_point = POINT_FIGURES.iter().map(|figure| (figure.key, figure.repeats));
    let mut declared = of_point.chain(INSERT_FIGURES.iter().map(|figure| (figure.key, figure.repeats)));
    match (declared.find(|(key, _)| *key == column), column) {
        (Some((_, repeats)), _) => Rule::Declared(repeats),
        (None, "engine" | "workload" | "clients" | "depth") => Rule::Declared(RepeatRule::Same),
        (None, end) if end.ends_with("_low95") || end.ends_with("_high95") => Rule::Interval,
        (None, _) => Rule::Text,
    }
}

#[test]
fn every_column_of_a_row_follows_from_those_of_its_repeats() {
    let mut wrong = Vec::new();
    for run in ["repeats", "sweep", "ab"] {
        let analysis = analysed(run);
        let single = table(&analysis);
        let rows = RepeatRows::from_analysis(&analysis);
        assert!(rows.has_repeats(), "{run}");
        for (row, cells) in rows.analysis.points.iter().zip(&table(&rows.analysis)) {
            let repeats: Vec<&BTreeMap<String, String>> = analysis
                .points
                .iter()
                .zip(&single)
                .filter(|(point, _)| (point.group, point.clients, point.depth) == (row.group, row.clients, row.depth))
                .filter(|(point, _)| point.validity != Validity::Invalid)
                .map(|(_, cells)| cells)
                .collect();
            assert!(repeats.len() > 1, "{run}: point {} has no two repeats that can be used", row.id);
            let columns = cells.iter().filter(|(column, cell)| !follows(column, cell, &repeats));
            wrong.extend(columns.map(|(column, cell)| {
                let of: Vec<&str> = repeats.iter().map(|repeat| repeat[column].as_str()).collect();
                format!("{run}, row of point {}: {column} is {cell:?}, of {of:?}", row.id)
            }));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Whether `cell` of a row is what the rule of its column makes of `repeats`.
fn follows(column: &str, cell: &str, repeats: &[&BTreeMap<String, String>]) -> bool {
    let number = |text: &str| text.parse::<f64>().ok();
    let own: Vec<f64> = repeats.iter().filter_map(|repeat| number(&repeat[column])).collect();
    let sum: f64 = own.iter().sum();
    let (least, most) = (own.iter().copied().fold(f64::MAX, f64::min), own.iter().copied().fold(f64::MIN, f64::max));
    let is = |expected: f64| number(cell).is_some_and(|cell| is_near(cell, expected));
    let rule = match rule_of(column) {
        Rule::Text => return true,
        Rule::Interval if own.is_empty() => return cell.is_empty(),
        // Two repeats have one only if each has its own.
        Rule::Interval => return number(cell).is_some() || repeats.len() == 2 && own.len() < 2,
        Rule::Declared(rule) => rule,
    };
    match rule {
        RepeatRule::Follows => true,
        RepeatRule::Same => {
            let first = &repeats[0][column];
            let all_same = repeats.iter().all(|repeat| repeat[column] == *first);
            cell == if all_same { first.as_str() } else { "" }
        }
        // Together they may have the operations that none has alone.
        RepeatRule::Pooled if own.is_empty() && column.ends_with("_p999_ns") => {
            let ops: f64 = repeats.iter().filter_map(|repeat| number(&repeat["ops"])).sum();
            number(cell).is_some() == (ops >= 10_000.0)
        }
        _ if own.is_empty() => cell.is_empty(),
        RepeatRule::Sum => is(sum),
        RepeatRule::Mean => is(sum / own.len() as f64),
        RepeatRule::Least => is(least),
        RepeatRule::Most => is(most),
        RepeatRule::OfSlowest => own.iter().any(|one| is(*one)),
        RepeatRule::Pooled => number(cell).is_some_and(|cell| (least..=most).contains(&cell)),
    }
}

fn is_near(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * a.abs().max(b.abs())
}

/// What the run file has of one point, by SQL.
#[derive(Debug)]
struct Measured {
    ops: f64,
    failed: f64,
    seconds: f64,
    queries: f64,
    rows: f64,
    bytes: f64,
    response_ns: (f64, f64, f64),
    cpu_ns_per_op: f64,
    switches_per_op: f64,
    read_bytes_per_op: f64,
    process_written_bytes: f64,
    device_written_bytes: f64,
}

#[test]
fn the_row_of_three_repeats_is_what_sql_and_arithmetic_give() {
    let file = folder("repeats").join("run.plimsoll");
    let db = Connection::open_with_flags(file, OpenFlags::SQLITE_OPEN_READ_ONLY).unwrap();
    let rows = RepeatRows::from_analysis(&analysed("repeats")).analysis;
    let mut wrong = Vec::new();
    for (indexes, cells) in ["0", "3"].into_iter().zip(table(&rows)) {
        let sql = "SELECT id FROM point WHERE json_extract(params, '$.indexes') = ?1";
        let ids: Vec<u32> =
            db.prepare(sql).unwrap().query_map([indexes], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
        assert_eq!(ids.len(), 3);
        let repeats: Vec<Measured> = ids.iter().map(|id| measure(&db, *id)).collect();
        let sum = |value: &dyn Fn(&Measured) -> f64| repeats.iter().map(value).sum::<f64>();
        let mean = |value: &dyn Fn(&Measured) -> f64| sum(value) / 3.0;
        let half_width = |value: &dyn Fn(&Measured) -> f64| {
            let squares = sum(&|one| (value(one) - mean(value)).powi(2));
            // Student's t of two degrees of freedom at 97.5 %.
            4.302_652_729_911_275 * (squares / 2.0 / 3.0).sqrt()
        };
        let expected = [
            ("ops", sum(&|one| one.ops)),
            ("failed", sum(&|one| one.failed)),
            ("success_rate", sum(&|one| one.ops) / sum(&|one| one.ops + one.failed)),
            ("seconds", mean(&|one| one.seconds)),
            ("ops_per_s", mean(&|one| one.ops / one.seconds)),
            ("queries_per_s", mean(&|one| one.queries / one.seconds)),
            ("rows_per_s", mean(&|one| one.rows / one.seconds)),
            ("inserts_per_s", mean(&|one| one.rows / one.seconds)),
            ("rows", mean(&|one| one.rows)),
            ("bytes_per_s", mean(&|one| one.bytes / one.seconds)),
            ("response_mean_ns", sum(&|one| one.response_ns.1) / sum(&|one| one.response_ns.0)),
            ("response_max_ns", repeats.iter().map(|one| one.response_ns.2).fold(0.0, f64::max)),
            ("engine_cpu_ns_per_op", mean(&|one| one.cpu_ns_per_op)),
            ("engine_cpu_ns_per_query", mean(&|one| one.cpu_ns_per_op)),
            ("engine_cpu_ns_per_insert", mean(&|one| one.cpu_ns_per_op / 50.0)),
            ("context_switches_per_op", mean(&|one| one.switches_per_op)),
            ("engine_context_switches_per_insert", mean(&|one| one.switches_per_op / 50.0)),
            ("read_bytes_per_op", mean(&|one| one.read_bytes_per_op)),
            ("read_bytes_per_query", mean(&|one| one.read_bytes_per_op)),
            ("written_by_process_bytes", mean(&|one| one.process_written_bytes)),
            ("written_by_device_bytes", mean(&|one| one.device_written_bytes)),
        ];
        for (column, expected) in expected {
            let shown: f64 = cells[column].parse().unwrap_or(f64::NAN);
            if !is_near(shown, expected) {
                wrong.push(format!("indexes {indexes}: {column} is {shown}, and should be {expected}"));
            }
        }
        // The wider of the spread between the repeats and of their own intervals.
        let low: f64 = cells["ops_per_s_low95"].parse().unwrap();
        let (rate, least) = (mean(&|one| one.ops / one.seconds), half_width(&|one| one.ops / one.seconds));
        if rate - low < least * (1.0 - 1e-6) {
            wrong.push(format!("indexes {indexes}: {rate} has an interval from {low}, less than {least} wide"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The numbers of the run phase of point `id`. All its operations are inserts of clients that are measured, in a closed loop.
fn measure(db: &Connection, id: u32) -> Measured {
    let run = "(SELECT start_ns, end_ns FROM phase WHERE point = ?1 AND phase = 'run')";
    let number =
        |sql: &str| -> f64 { db.query_row(sql, [id], |row| row.get::<_, Option<f64>>(0)).unwrap().unwrap_or(0.0) };
    let done = |worth: &str| {
        number(&format!(
            "SELECT CAST(sum(i.ok * {worth}) AS REAL) FROM interval i JOIN kind k USING (point, kind), {run} AS run
             WHERE i.point = ?1 AND i.phase = 'run' AND i.start_ns < run.end_ns"
        ))
    };
    let times = |what: &str| {
        number(&format!(
            "SELECT CAST({what} AS REAL) FROM histogram WHERE point = ?1 AND phase = 'run' AND what <> 'service'"
        ))
    };
    let start = number("SELECT CAST(start_ns AS REAL) FROM phase WHERE point = ?1 AND phase = 'run'");
    let end = number("SELECT CAST(end_ns AS REAL) FROM phase WHERE point = ?1 AND phase = 'run'");
    let grown = |role: &str, until| grown_per_op(db, id, role, (start, until));
    let last = number("SELECT CAST(max(at_ns) AS REAL) FROM counter WHERE point = ?1");
    let ((user, ops), (system, _)) = (grown("engine-cpu-user", end), grown("engine-cpu-system", end));
    Measured {
        ops: done("1"),
        failed: number("SELECT CAST(sum(failed) AS REAL) FROM interval WHERE point = ?1 AND phase = 'run'"),
        seconds: (end - start) / 1e9,
        queries: done("k.queries_per_op"),
        rows: done("k.rows_per_op"),
        bytes: number("SELECT CAST(sum(bytes) AS REAL) FROM interval WHERE point = ?1 AND phase = 'run'"),
        response_ns: (times("sum(count)"), times("sum(sum_ns)"), times("max(max_ns)")),
        cpu_ns_per_op: (user + system) / ops,
        switches_per_op: grown("engine-context-switches", end).0 / ops,
        read_bytes_per_op: grown("process-read-bytes", end).0 / ops,
        process_written_bytes: grown("process-write-bytes", last).0,
        device_written_bytes: grown("device-write-bytes", last).0,
    }
}

/// By how much the counter of this role grew in the run phase, and the operations between its two readings: those nearest to the ends, or
/// the one before it and the one after it if nothing ran in between.
fn grown_per_op(db: &Connection, id: u32, role: &str, (start, end): (f64, f64)) -> (f64, f64) {
    let sql = "SELECT CAST(c.at_ns AS REAL), CAST(v.value AS REAL)
               FROM source s, json_each(s.counters) d
               JOIN counter c ON c.point = s.point AND c.source = s.source
               JOIN json_each(c.\"values\") v ON v.key = d.key
               WHERE s.point = ?1 AND json_extract(d.value, '$.role') = ?2 AND v.value IS NOT NULL ORDER BY s.source, c.at_ns";
    let mut statement = db.prepare(sql).unwrap();
    let readings = statement.query_map((id, role), |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    let readings: Vec<(f64, f64)> = readings.map(Result::unwrap).collect();
    let near = |at: f64| *readings.iter().min_by(|a, b| (a.0 - at).abs().total_cmp(&(b.0 - at).abs())).unwrap();
    let idle = |reading: &&(f64, f64), at: f64| (reading.0 - at).abs() <= 1e8;
    let before = readings.iter().rev().find(|one| one.0 <= start).filter(|one| idle(one, start));
    let after = readings.iter().find(|one| one.0 >= end).filter(|one| idle(one, end));
    let (from, to) = (before.copied().unwrap_or_else(|| near(start)), after.copied().unwrap_or_else(|| near(end)));
    let sql = "SELECT CAST(sum(i.ok) AS REAL), CAST(min(i.start_ns) AS REAL),
                      min(CAST(min(i.start_ns + i.length_ns) AS REAL), CAST(p.end_ns AS REAL)), CAST(p.end_ns AS REAL)
               FROM interval i JOIN phase p USING (point, phase) WHERE i.point = ?1 AND i.phase = 'run' GROUP BY i.interval";
    let mut statement = db.prepare(sql).unwrap();
    let intervals = statement.query_map([id], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))).unwrap();
    let ops = intervals.map(|interval| {
        let (ok, began, ended, phase_end): (f64, f64, f64, f64) = interval.unwrap();
        if began >= phase_end {
            // In flight at the end of the phase.
            return if from.0 <= began && began < to.0 { ok } else { 0.0 };
        }
        ok * (ended.min(to.0) - began.max(from.0)).max(0.0) / (ended - began)
    });
    (to.1 - from.1, ops.sum())
}

fn folder(run: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden").join(run)
}

fn analysed(run: &str) -> Analysis {
    analysis::analyse(&store::read(&folder(run).join("run.plimsoll")).unwrap())
}

/// points.csv of `analysis`: the cells of each line by their columns.
fn table(analysis: &Analysis) -> Vec<BTreeMap<String, String>> {
    let csv = report::points_csv(analysis);
    let mut lines = csv.lines().map(cells);
    let heads = lines.next().expect("a line of heads");
    lines.map(|line| heads.iter().cloned().zip(line).collect()).collect()
}

/// The cells of a line; a cell in quotes may have commas.
fn cells(line: &str) -> Vec<String> {
    let (mut cells, mut is_quoted) = (vec![String::new()], false);
    for letter in line.chars() {
        match letter {
            '"' => is_quoted = !is_quoted,
            ',' if !is_quoted => cells.push(String::new()),
            other => cells.last_mut().expect("there is one").push(other),
        }
    }
    cells
}
