//! What the optimizer of PostgreSQL does with a statement, and what an execution costs by its own account.
//!
//! In: a statement. Out: facts: the plan, the analysed execution with its buffers, and sums over the nodes of the plan.
//! Limits: the sums are read from the text of EXPLAIN, whose numbers are means per loop, rounded: a node of many loops is off by up to half
//! a row for each. Workers of a parallel node count as loops.

use super::wire::{PostgresWire, PostgresWireError};
use crate::sql::admin_connection::AdminConnection;
use model::{Fact, StatementEffort};

/// Asks for all of it. `executes`: the statement is executed once more.
pub fn explain(wire: &mut PostgresWire, sql: &str, executes: bool) -> Result<Vec<Fact>, PostgresWireError> {
    let plan = lines(wire, &format!("EXPLAIN {sql}"))?;
    let mut facts = vec![Fact::new("explain.plan", plan.join("\n")), Fact::new("explain.built", built(&plan))];
    if executes {
        let analysed = lines(wire, &format!("EXPLAIN (ANALYZE, BUFFERS, FORMAT TEXT) {sql}"))?;
        facts.extend(efforts(&analysed));
        facts.push(Fact::new("explain.analyze", analysed.join("\n")));
    }
    Ok(facts)
}

fn lines(wire: &mut PostgresWire, question: &str) -> Result<Vec<String>, PostgresWireError> {
    Ok(wire.rows_patiently(question)?.into_iter().flatten().flatten().collect())
}

/// Nodes that build something for the statement alone.
const BUILDING: [&str; 9] = [
    "HashAggregate",
    "MixedAggregate",
    "Incremental Sort",
    "Sort",
    "Materialize",
    "Memoize",
    "CTE",
    "Hash",
    "WindowAgg",
];

/// The name of the node that a line begins, without its indentation and arrow.
fn node_of(line: &str) -> Option<&str> {
    let rest = line.trim_start().trim_start_matches("->").trim_start();
    rest.split_once("  (").map(|(node, _)| node.trim())
}

fn built(plan: &[String]) -> String {
    let mut all: Vec<&str> = Vec::new();
    for node in plan.iter().filter_map(|line| node_of(line)) {
        if let Some(known) =
            BUILDING.iter().find(|known| node == **known || node.strip_prefix("Partial ") == Some(known))
            && !all.contains(known)
        {
            all.push(known);
        }
    }
    if all.is_empty() { "nothing".to_owned() } else { all.join(", ") }
}

/// The sums over the nodes of an analysed plan.
fn efforts(analysed: &[String]) -> Vec<Fact> {
    use StatementEffort::{IndexLookups, RowsCompared, RowsRead, SortedRows, Sorts, TempBytes};
    /// The usual size of a block, which a build of the server may change.
    const BLOCK_BYTES: f64 = 8192.0;
    let (mut read, mut lookups, mut compared, mut sorts, mut sorted) = (0.0, 0.0, 0.0, 0.0, 0.0);
    let (mut node, mut loops, mut temp) = ("", 1.0, None);
    for line in analysed {
        if let Some(name) = node_of(line) {
            node = name;
            loops = number_after(line, "loops=").unwrap_or(1.0);
            let rows = actual_rows(line).unwrap_or(0.0) * loops;
            if node.contains("Index") && node.contains("Scan") {
                read += rows;
                lookups += loops;
            } else if node.contains(" Scan on ") {
                read += rows;
            } else if node.ends_with("Sort") {
                (sorts, sorted) = (sorts + 1.0, sorted + rows);
            }
        }
        let dropped = |what: &str| number_after(line, what).map(|rows| rows * loops);
        read += dropped("Rows Removed by Filter: ").filter(|_| node.contains("Scan")).unwrap_or(0.0);
        compared += dropped("Rows Removed by Join Filter: ").unwrap_or(0.0);
        // The first line of buffers is that of the whole plan.
        if line.trim_start().starts_with("Buffers:") && temp.is_none() {
            temp = Some(temp_written(line) * BLOCK_BYTES);
        }
    }
    let mut all = vec![(RowsRead, read), (IndexLookups, lookups), (Sorts, sorts), (SortedRows, sorted)];
    all.extend(temp.map(|bytes| (TempBytes, bytes)));
    all.extend((compared > 0.0).then_some((RowsCompared, compared)));
    all.into_iter().map(|(effort, amount)| Fact::new(effort.fact_name(), amount.to_string())).collect()
}

/// The number of the blocks in `temp read=5 written=7`.
fn temp_written(line: &str) -> f64 {
    line.split_once("temp ").and_then(|(_, temp)| number_after(temp, "written=")).unwrap_or(0.0)
}

/// The rows that a node gave in each loop. The first `rows=` of a line is the estimate.
fn actual_rows(line: &str) -> Option<f64> {
    number_after(line.split_once("(actual")?.1, "rows=")
}

fn number_after(text: &str, what: &str) -> Option<f64> {
    let (_, rest) = text.split_once(what)?;
    let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
    rest[..end].parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of PostgreSQL 15.
    const ANALYSED: &str = "\
HashAggregate  (cost=1.00..2.00 rows=7 width=8) (actual time=9.1..9.4 rows=7 loops=1)
  Buffers: shared hit=10, temp read=4 written=5
  ->  Nested Loop Left Join  (cost=1.00..2.00 rows=100 width=8) (actual time=0.1..8.4 rows=100 loops=1)
        Join Filter: (s.b = a.b)
        Rows Removed by Join Filter: 900
        ->  Seq Scan on a  (cost=0.00..1.10 rows=10 width=8) (actual time=0.0..0.1 rows=10 loops=1)
              Filter: (c > 1)
              Rows Removed by Filter: 5
        ->  Index Scan using i on s  (cost=0.00..1.10 rows=3 width=8) (actual time=0.0..0.1 rows=3 loops=10)
              Buffers: shared hit=3, temp read=1 written=2
  ->  Sort  (cost=1.00..2.00 rows=7 width=8) (actual time=9.1..9.4 rows=20 loops=2)
        Sort Method: quicksort  Memory: 25kB";

    fn plan() -> Vec<String> {
        ANALYSED.lines().map(str::to_owned).collect()
    }

    #[test]
    fn sums_are_over_all_loops_of_all_nodes() {
        let facts = efforts(&plan());
        let value = |effort: StatementEffort| {
            facts.iter().find(|fact| fact.name == effort.fact_name()).map(|fact| fact.value.clone())
        };
        assert_eq!(value(StatementEffort::RowsRead).as_deref(), Some("45"), "10 + 5 dropped + 3 x 10");
        assert_eq!(value(StatementEffort::IndexLookups).as_deref(), Some("10"));
        assert_eq!(value(StatementEffort::RowsCompared).as_deref(), Some("900"));
        assert_eq!(value(StatementEffort::Sorts).as_deref(), Some("1"));
        assert_eq!(value(StatementEffort::SortedRows).as_deref(), Some("40"));
        assert_eq!(value(StatementEffort::TempBytes).as_deref(), Some("40960"), "of the whole plan");
    }

    #[test]
    fn what_was_built_is_the_nodes_that_keep_rows() {
        assert_eq!(built(&plan()), "HashAggregate, Sort");
        assert_eq!(built(&["Seq Scan on a  (cost=0.00..1.10 rows=10 width=8)".to_owned()]), "nothing");
    }
}
