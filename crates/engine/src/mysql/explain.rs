//! What the optimizer of MariaDB or MySQL does with a statement, and what an execution costs by the session's counters.
//!
//! In: a statement. Out: facts: the plan as a table and as JSON, the optimizer's trace, the analysed execution, the counters of the session.
//! Limits: what a version or an account cannot do is left out. SHOW STATUS changes some counters itself; that is measured and subtracted.

use super::wire::{MysqlWire, MysqlWireError};
use crate::server::network::TextRows;
use crate::sql::admin_connection::{AdminConnection, allowed};
use model::{Fact, StatementEffort};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// A longer trace is cut.
const TRACE_BYTES_MAX: usize = 256 << 10;

const STATUS: &str = "SHOW SESSION STATUS WHERE Variable_name LIKE 'Handler_%' OR Variable_name LIKE 'Created_tmp_%' \
                      OR Variable_name LIKE 'Sort_%' OR Variable_name LIKE 'Select_%'";

/// Asks for all of it. `executes`: the statement is executed once more.
pub fn explain(wire: &mut MysqlWire, sql: &str, executes: bool) -> Result<Vec<Fact>, MysqlWireError> {
    let mut facts = Vec::new();
    let table = wire.rows_patiently(&format!("EXPLAIN {sql}"))?;
    let lines: Vec<String> = table.iter().map(|row| plan_line(row)).collect();
    facts.push(Fact::new("explain.plan", lines.join("\n")));
    let json = wire.rows_patiently(&format!("EXPLAIN FORMAT=JSON {sql}"));
    facts.extend(allowed(json)?.map(|rows| Fact::new("explain.json", joined(&rows))));
    facts.extend(trace(wire, sql)?.map(|trace| Fact::new("explain.trace", trace)));
    let mut counted = BTreeMap::new();
    if executes {
        let before = read_status(wire)?;
        // What a reading itself adds.
        let own = difference(&before, &read_status(wire)?);
        let begin = read_status(wire)?;
        let analysed = analyse(wire, sql)?;
        counted = difference(&own, &difference(&begin, &read_status(wire)?));
        facts.extend(
            counted
                .iter()
                .filter(|(_, count)| **count > 0)
                .map(|(name, count)| Fact::new(format!("status.{name}"), count.to_string())),
        );
        let compared = analysed.as_deref().and_then(compared_rows);
        facts.extend(efforts(&counted, compared));
        facts.extend(analysed.map(|text| Fact::new("explain.analyze", text)));
    }
    facts.push(Fact::new("explain.built", built(&table, &counted)));
    Ok(facts)
}

/// The optimizer's reasons, if it can give them.
fn trace(wire: &mut MysqlWire, sql: &str) -> Result<Option<String>, MysqlWireError> {
    let set = |value: &str| format!("SET SESSION optimizer_trace = 'enabled={value}'");
    if allowed(wire.rows_patiently(&set("on")))?.is_none() {
        return Ok(None);
    }
    let explained = allowed(wire.rows_patiently(&format!("EXPLAIN {sql}")))?;
    let trace = allowed(wire.rows_patiently("SELECT trace FROM information_schema.optimizer_trace"))?;
    allowed(wire.rows_patiently(&set("off")))?;
    Ok(explained.and(trace).map(|rows| cut(joined(&rows))))
}

fn cut(mut text: String) -> String {
    if text.len() > TRACE_BYTES_MAX {
        let end = (0..=TRACE_BYTES_MAX).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        text.truncate(end);
        text.push_str("\n... (cut)");
    }
    text
}

/// Executes `sql` and reports what it did: MariaDB by the first statement, MySQL by the second. If the server takes neither, it is
/// executed as it is.
fn analyse(wire: &mut MysqlWire, sql: &str) -> Result<Option<String>, MysqlWireError> {
    for how in ["ANALYZE FORMAT=JSON", "EXPLAIN ANALYZE"] {
        if let Some(rows) = allowed(wire.rows_patiently(&format!("{how} {sql}")))? {
            return Ok(Some(joined(&rows)));
        }
    }
    wire.run_statement(sql).map(|()| None)
}

fn joined(rows: &TextRows) -> String {
    rows.iter().flatten().flatten().cloned().collect::<Vec<_>>().join("\n")
}

type SessionStatus = BTreeMap<String, i64>;

fn read_status(wire: &mut MysqlWire) -> Result<SessionStatus, MysqlWireError> {
    let rows = wire.rows_patiently(STATUS)?;
    Ok(rows.iter().filter_map(|row| Some((row.first()?.clone()?, row.get(1)?.as_ref()?.parse().ok()?))).collect())
}

/// `after` - `before`, never below 0.
fn difference(before: &SessionStatus, after: &SessionStatus) -> SessionStatus {
    after.iter().map(|(name, count)| (name.clone(), (count - before.get(name).unwrap_or(&0)).max(0))).collect()
}

fn efforts(counted: &SessionStatus, compared: Option<f64>) -> Vec<Fact> {
    use StatementEffort::{IndexLookups, RowsCompared, RowsRead, SortedRows, Sorts, TempDiskTables, TempTables};
    let sum = |names: &[&str]| names.iter().filter_map(|name| counted.get(*name)).sum::<i64>() as f64;
    let read = ["Handler_read_next", "Handler_read_prev", "Handler_read_rnd", "Handler_read_rnd_next"];
    let all = [
        (RowsRead, sum(&read)),
        (IndexLookups, sum(&["Handler_read_key"])),
        (TempTables, sum(&["Created_tmp_tables"])),
        (TempDiskTables, sum(&["Created_tmp_disk_tables"])),
        (Sorts, sum(&["Sort_scan", "Sort_range", "Sort_priority_queue_sorts"])),
        (SortedRows, sum(&["Sort_rows"])),
    ];
    let all = all.into_iter().chain(compared.map(|pairs| (RowsCompared, pairs)));
    all.map(|(effort, amount)| Fact::new(effort.fact_name(), amount.to_string())).collect()
}

/// The pairs of rows that joins with a buffer compared, by an analysed plan of MariaDB: no counter has them.
fn compared_rows(analysed: &str) -> Option<f64> {
    let plan: Value = serde_json::from_str(analysed).ok()?;
    let mut pairs = 0.0;
    each_object(&plan, &mut |object| {
        let Some(Value::Object(join)) = object.get("block-nl-join") else { return };
        let number = |name: &str| join.get(name).and_then(Value::as_f64);
        pairs += number("r_loops").unwrap_or(0.0) * number("r_effective_rows").unwrap_or(0.0);
    });
    (pairs > 0.0).then_some(pairs)
}

fn each_object(value: &Value, look: &mut impl FnMut(&serde_json::Map<String, Value>)) {
    match value {
        Value::Object(object) => {
            look(object);
            object.values().for_each(|value| each_object(value, look));
        }
        Value::Array(list) => list.iter().for_each(|value| each_object(value, look)),
        _ => {}
    }
}

/// The columns of EXPLAIN as MariaDB has them; MySQL has `partitions` behind the table, and `filtered` before the last.
pub(super) fn column<'r>(row: &'r [Option<String>], name: &str) -> Option<&'r str> {
    let is_mysql = row.len() == 12;
    let at = match name {
        "id" => 0,
        "select_type" => 1,
        "table" => 2,
        "type" => 3 + usize::from(is_mysql),
        "key" => 5 + usize::from(is_mysql),
        "ref" => 7 + usize::from(is_mysql),
        "rows" => 8 + usize::from(is_mysql),
        _ => row.len().checked_sub(1)?,
    };
    row.get(at)?.as_deref()
}

/// `1 PRIMARY aggrpt: ALL, 1000 rows; Using temporary`.
fn plan_line(row: &[Option<String>]) -> String {
    let of = |name: &str| column(row, name).unwrap_or("-");
    let key = column(row, "key").map_or(String::new(), |key| format!(" by {key}"));
    let rows = column(row, "rows").map_or(String::new(), |rows| format!(", {rows} rows"));
    let extra = column(row, "Extra").filter(|extra| !extra.is_empty()).map_or(String::new(), |it| format!("; {it}"));
    format!("{} {} {}: {}{key}{rows}{extra}", of("id"), of("select_type"), of("table"), of("type"))
}

/// What the optimizer built for the statement alone.
fn built(table: &TextRows, counted: &SessionStatus) -> String {
    let mut all: Vec<String> = Vec::new();
    let on_disk = counted.get("Created_tmp_disk_tables").is_some_and(|count| *count > 0);
    for row in table {
        let (name, extra) = (column(row, "table").unwrap_or_default(), column(row, "Extra").unwrap_or_default());
        let key = column(row, "key").map_or("without index".to_owned(), |key| format!("with index {key}"));
        if name.starts_with("<derived") {
            all.push(format!("derived table {key}"));
        }
        if name.starts_with("<subquery") {
            all.push(format!("materialized subquery {key}"));
        }
        if extra.contains("Using temporary") {
            all.push(format!("temporary table {}", if on_disk { "on disk" } else { "in memory" }));
        }
        if extra.contains("Using filesort") {
            all.push("filesort".to_owned());
        }
        if let Some((_, buffer)) = extra.split_once("Using join buffer") {
            all.push(format!("join buffer{}", buffer.split(';').next().unwrap_or_default()));
        }
    }
    // Several tables may need the same, such as a temporary table.
    let mut named = BTreeSet::new();
    all.retain(|what| named.insert(what.clone()));
    if all.is_empty() { "nothing".to_owned() } else { all.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(values: [&str; 10]) -> Vec<Option<String>> {
        values.iter().map(|value| (*value != "NULL").then(|| (*value).to_owned())).collect()
    }

    fn plan() -> TextRows {
        vec![
            row(["1", "PRIMARY", "a", "ALL", "NULL", "NULL", "NULL", "NULL", "9", "Using temporary"]),
            row(["1", "PRIMARY", "<derived2>", "ref", "key0", "key0", "5", "db.a.x", "2", ""]),
            row(["2", "DERIVED", "s", "ALL", "NULL", "NULL", "NULL", "NULL", "4", "Using temporary; Using filesort"]),
        ]
    }

    #[test]
    fn a_plan_is_a_line_for_each_table_and_what_was_built() {
        assert_eq!(plan_line(&plan()[1]), "1 PRIMARY <derived2>: ref by key0, 2 rows");
        let counted = |disk: i64| SessionStatus::from([("Created_tmp_disk_tables".to_owned(), disk)]);
        let memory = "temporary table in memory, derived table with index key0, filesort";
        assert_eq!(built(&plan(), &counted(0)), memory);
        assert_eq!(built(&plan(), &counted(1)), memory.replace("in memory", "on disk"));
        assert_eq!(
            built(
                &vec![row(["1", "SIMPLE", "a", "ALL", "NULL", "NULL", "NULL", "NULL", "9", "Using where"])],
                &counted(0)
            ),
            "nothing"
        );
    }

    #[test]
    fn pairs_of_rows_are_those_of_every_buffered_join() {
        let plan = r#"{"query_block": {"nested_loop": [{"table": {}}, {"block-nl-join": {"r_loops": 100, "r_effective_rows": 50}}]}}"#;
        assert_eq!(compared_rows(plan), Some(5_000.0));
        assert_eq!(compared_rows("{}"), None);
    }

    #[test]
    fn counters_are_the_change_without_what_reading_them_adds() {
        let status = |read: i64, tmp: i64| {
            SessionStatus::from([("Handler_read_rnd_next".to_owned(), read), ("Created_tmp_tables".to_owned(), tmp)])
        };
        let own = difference(&status(10, 1), &status(15, 2));
        let change = difference(&own, &difference(&status(20, 3), &status(1_025, 6)));
        assert_eq!((change["Handler_read_rnd_next"], change["Created_tmp_tables"]), (1_000, 2));
        let facts = efforts(&change, Some(7.0));
        let value = |name: &str| facts.iter().find(|fact| fact.name == name).map(|fact| fact.value.as_str());
        assert_eq!(
            [value("statement.rows_read"), value("statement.temp_tables"), value("statement.rows_compared")],
            [Some("1000"), Some("2"), Some("7")]
        );
    }
}
