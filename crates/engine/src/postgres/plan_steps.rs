//! A plan of PostgreSQL as steps in words: which tables are read in which order, by which index, how they are joined, and what is built on the way.
//!
//! In: the answer of EXPLAIN (COSTS OFF, FORMAT JSON). Out: a step for each node that a reader would name, from the top. Limits:
//! conditions may have secret values. So only those of indexes are shown, and without values. Nodes that only pass rows on are left out.

use crate::server::network::TextRows;
use serde_json::{Map, Value};
use sql::{Dialect, fingerprint};

/// A longer condition is cut.
const CONDITION_CHARS_MAX: usize = 100;

/// Nodes that pass rows on, or whose words another one has.
const SILENT: [&str; 11] = [
    "Append",
    "BitmapAnd",
    "BitmapOr",
    "Bitmap Index Scan",
    "Gather",
    "Gather Merge",
    "Hash",
    "Limit",
    "ProjectSet",
    "Result",
    "Subquery Scan",
];

type Node = Map<String, Value>;

/// The steps; `None` if the answer is no plan.
pub fn steps(rows: &TextRows) -> Option<Vec<String>> {
    let text: Vec<&str> = rows.iter().flatten().flatten().map(String::as_str).collect();
    let answer: Value = serde_json::from_str(&text.join("\n")).ok()?;
    let mut steps = Vec::new();
    add_steps(answer.get(0)?.get("Plan")?.as_object()?, &mut steps);
    if steps.is_empty() {
        steps.push("reads no table".to_owned());
    }
    Some(steps)
}

fn add_steps(node: &Node, steps: &mut Vec<String>) {
    steps.extend(query_step(node));
    steps.extend(node_step(node));
    children(node).for_each(|child| add_steps(child, steps));
}

fn children(node: &Node) -> impl Iterator<Item = &Node> {
    node.get("Plans").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_object)
}

fn text<'n>(node: &'n Node, key: &str) -> &'n str {
    node.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// What a part of a plan with a name of its own is for.
fn query_step(node: &Node) -> Option<String> {
    let name = text(node, "Subplan Name");
    match name.strip_prefix("CTE ") {
        Some(cte) => Some(format!("makes `{cte}`")),
        None if name.starts_with("InitPlan") => Some("runs a subquery once".to_owned()),
        None if name.is_empty() => None,
        None => Some("runs a subquery".to_owned()),
    }
}

fn node_step(node: &Node) -> Option<String> {
    let kind = text(node, "Node Type");
    if SILENT.contains(&kind) {
        return None;
    }
    let (name, index) = (text(node, "Relation Name"), text(node, "Index Name"));
    let parallel = if node.get("Parallel Aware") == Some(&Value::Bool(true)) { " in parallel" } else { "" };
    Some(match kind {
        "Seq Scan" => format!("reads all of `{name}`{parallel}"),
        "Index Scan" if has_no_condition(node) => format!("reads `{name}` in the order of index `{index}`{parallel}"),
        "Index Scan" => format!("reads `{name}` by index `{index}`{}{parallel}", condition(node)),
        "Index Only Scan" if has_no_condition(node) => format!("reads all of index `{index}` of `{name}`{parallel}"),
        "Index Only Scan" => format!("reads `{name}` by index `{index}` alone{}{parallel}", condition(node)),
        "Bitmap Heap Scan" => {
            let mut indexes = Vec::new();
            add_bitmaps(node, &mut indexes);
            format!("reads `{name}` by a bitmap of {}{parallel}", indexes.join(" and "))
        }
        "Tid Scan" | "Tid Range Scan" => format!("reads `{name}` by the places of its rows"),
        "ModifyTable" => match text(node, "Operation") {
            "Insert" => format!("inserts into `{name}`"),
            "Delete" => format!("deletes from `{name}`"),
            operation => format!("{}s `{name}`", operation.to_lowercase()),
        },
        "Nested Loop" => "joins by a nested loop".to_owned(),
        "Hash Join" => format!("joins by hash{parallel}"),
        "Merge Join" => "joins by merging".to_owned(),
        "Aggregate" => return grouping(text(node, "Strategy")).map(str::to_owned),
        scan if scan.ends_with(" Scan") => format!("reads `{}` ({})", source_name(node), scan.to_lowercase()),
        other => other_step(other),
    })
}

fn other_step(kind: &str) -> String {
    let known = [
        ("Sort", "sorts"),
        ("Incremental Sort", "sorts in parts"),
        ("Materialize", "keeps rows to read them again"),
        ("Memoize", "remembers what it looked up"),
        ("Unique", "drops repeated rows"),
        ("WindowAgg", "computes windows"),
        ("LockRows", "locks rows"),
        ("Merge Append", "merges sorted rows"),
        ("Recursive Union", "recurses"),
    ];
    let words = known.iter().find(|(node, _)| *node == kind).map(|(_, words)| (*words).to_owned());
    words.unwrap_or_else(|| format!("does {}", kind.to_lowercase()))
}

/// One group needs no words.
fn grouping(strategy: &str) -> Option<&'static str> {
    match strategy {
        "Hashed" => Some("groups by hash"),
        "Sorted" => Some("groups sorted rows"),
        "Mixed" => Some("groups by hash and sorted rows"),
        _ => None,
    }
}

/// What is read that is no table, or not by PostgreSQL itself.
fn source_name(node: &Node) -> &str {
    let keys = ["Relation Name", "CTE Name", "Function Name", "Alias"];
    keys.iter().map(|key| text(node, key)).find(|name| !name.is_empty()).unwrap_or("rows")
}

fn has_no_condition(node: &Node) -> bool {
    !node.contains_key("Index Cond") && !node.contains_key("Order By")
}

/// The bitmaps that a scan of a table is made of.
fn add_bitmaps(node: &Node, indexes: &mut Vec<String>) {
    for child in children(node) {
        if text(child, "Node Type") == "Bitmap Index Scan" {
            indexes.push(format!("index `{}`{}", text(child, "Index Name"), condition(child)));
        }
        add_bitmaps(child, indexes);
    }
}

/// ` (customer = ?)`: the condition of an index, without its values.
fn condition(node: &Node) -> String {
    let Ok(mut shape) = fingerprint(text(node, "Index Cond"), Dialect::Postgres) else { return String::new() };
    if let Some((end, _)) = shape.char_indices().nth(CONDITION_CHARS_MAX) {
        shape.truncate(end);
        shape.push_str("...");
    }
    if shape.is_empty() { shape } else { format!(" {shape}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(plan: &str) -> String {
        let answer = format!("[{{\"Plan\": {plan}}}]");
        steps(&vec![vec![Some(answer)]]).expect("it is a plan").join("; ")
    }

    // What PostgreSQL 15 has answered, without what it says of all nodes.
    const BITMAP: &str = r#"{"Node Type": "Bitmap Heap Scan", "Relation Name": "orders", "Alias": "orders",
        "Recheck Cond": "((total = 3) OR (customer = 5))", "Plans": [{"Node Type": "BitmapOr", "Plans": [
        {"Node Type": "Bitmap Index Scan", "Index Name": "Odd Name", "Index Cond": "(total = 3)"},
        {"Node Type": "Bitmap Index Scan", "Index Name": "orders_customer", "Index Cond": "(customer = 5)"}]}]}"#;
    const JOIN: &str = r#"{"Node Type": "Limit", "Plans": [{"Node Type": "Sort", "Sort Key": ["o.total"], "Plans": [
        {"Node Type": "Nested Loop", "Join Type": "Inner", "Plans": [
        {"Node Type": "Index Scan", "Index Name": "customers_city", "Relation Name": "customers", "Alias": "c",
         "Index Cond": "(city = 'it''s -- secret c7'::text)"},
        {"Node Type": "Index Scan", "Index Name": "orders_customer", "Relation Name": "orders", "Alias": "o",
         "Index Cond": "(customer = c.id)", "Filter": "(note ~~ 'secret%'::text)"}]}]}]}"#;
    const PARALLEL: &str = r#"{"Node Type": "Aggregate", "Strategy": "Plain", "Partial Mode": "Finalize", "Plans": [
        {"Node Type": "Gather", "Workers Planned": 1, "Plans": [{"Node Type": "Aggregate", "Strategy": "Plain", "Partial Mode": "Partial", "Plans": [
        {"Node Type": "Seq Scan", "Parallel Aware": true, "Relation Name": "big", "Alias": "big", "Filter": "(k = 3)"}]}]}]}"#;
    const CTE: &str = r#"{"Node Type": "Hash Join", "Hash Cond": "(customers.id = x.id)", "Plans": [
        {"Node Type": "Seq Scan", "Parent Relationship": "InitPlan", "Subplan Name": "CTE x", "Relation Name": "noix", "Filter": "(k = 3)"},
        {"Node Type": "Seq Scan", "Relation Name": "customers"},
        {"Node Type": "Hash", "Plans": [{"Node Type": "CTE Scan", "CTE Name": "x", "Alias": "x"}]}]}"#;
    const ENDS: &str = r#"{"Node Type": "Result", "Plans": [{"Node Type": "Limit", "Subplan Name": "InitPlan 1 (returns $0)", "Plans": [
        {"Node Type": "Index Only Scan", "Scan Direction": "Backward", "Index Name": "orders_pkey", "Relation Name": "orders",
         "Index Cond": "(id IS NOT NULL)"}]}]}"#;
    const SUBPLAN: &str = r#"{"Node Type": "Index Scan", "Index Name": "orders_pkey", "Relation Name": "orders", "Alias": "o", "Index Cond": "(id < 10)",
        "Plans": [{"Node Type": "Aggregate", "Strategy": "Plain", "Parent Relationship": "SubPlan", "Subplan Name": "SubPlan 1", "Plans": [
        {"Node Type": "Seq Scan", "Relation Name": "orders", "Alias": "o2", "Filter": "(customer = o.customer)"}]}]}"#;
    const INSERT: &str = r#"{"Node Type": "ModifyTable", "Operation": "Insert", "Relation Name": "customers", "Alias": "customers",
        "Conflict Resolution": "UPDATE", "Plans": [{"Node Type": "Result"}]}"#;
    const UPDATE: &str = r#"{"Node Type": "ModifyTable", "Operation": "Update", "Relation Name": "orders",
        "Plans": [{"Node Type": "Seq Scan", "Relation Name": "orders", "Filter": "(total = 3)"}]}"#;
    const UNION: &str = r#"{"Node Type": "Aggregate", "Strategy": "Hashed", "Group Key": ["(1)"], "Plans": [{"Node Type": "Append", "Plans": [
        {"Node Type": "Result"}, {"Node Type": "Seq Scan", "Relation Name": "noix", "Alias": "noix"}]}]}"#;

    #[test]
    fn each_node_of_postgresql_has_its_words() {
        for (plan, expected) in [
            (
                BITMAP,
                "reads `orders` by a bitmap of index `Odd Name` (total = ?) and index `orders_customer` (customer = ?)",
            ),
            (
                JOIN,
                "sorts; joins by a nested loop; reads `customers` by index `customers_city` (city = ?::text); \
                 reads `orders` by index `orders_customer` (customer = c.id)",
            ),
            (PARALLEL, "reads all of `big` in parallel"),
            (CTE, "joins by hash; makes `x`; reads all of `noix`; reads all of `customers`; reads `x` (cte scan)"),
            (ENDS, "runs a subquery once; reads `orders` by index `orders_pkey` alone (id is not null)"),
            (SUBPLAN, "reads `orders` by index `orders_pkey` (id < ?); runs a subquery; reads all of `orders`"),
            (INSERT, "inserts into `customers`"),
            (UPDATE, "updates `orders`; reads all of `orders`"),
            (UNION, "groups by hash; reads all of `noix`"),
            (
                r#"{"Node Type": "Index Scan", "Index Name": "i", "Relation Name": "t"}"#,
                "reads `t` in the order of index `i`",
            ),
            (
                r#"{"Node Type": "Index Only Scan", "Index Name": "i", "Relation Name": "t"}"#,
                "reads all of index `i` of `t`",
            ),
            (
                r#"{"Node Type": "Foreign Scan", "Relation Name": "t", "Remote SQL": "'secret'"}"#,
                "reads `t` (foreign scan)",
            ),
            (r#"{"Node Type": "Memoize", "Cache Key": "n.k"}"#, "remembers what it looked up"),
            (r#"{"Node Type": "Result"}"#, "reads no table"),
        ] {
            assert_eq!(told(plan), expected, "{plan}");
        }
    }

    #[test]
    fn no_step_has_a_value_of_the_statement() {
        for value in [
            "'secret'::text",
            "ANY ('{secret,4711}'::text[])",
            "E'a\\\\secret'",
            "4711",
            "'2026-01-01 47:11'::timestamp",
            "'-- secret'",
            "$1",
        ] {
            let plan = format!(
                r#"{{"Node Type": "Index Scan", "Index Name": "i", "Relation Name": "t", "Index Cond": "(c = {})"}}"#,
                value.replace('\\', "\\\\")
            );
            let told = told(&plan);
            assert!(told.contains("(c = ") && !told.contains("secret") && !told.contains("47"), "{told}");
        }
        assert!(!told(JOIN).contains("secret"));
        let unclosed =
            r#"{"Node Type": "Index Scan", "Index Name": "i", "Relation Name": "t", "Index Cond": "(c = 'secret"}"#;
        assert_eq!(told(unclosed), "reads `t` by index `i`");
        assert_eq!(steps(&vec![vec![Some("no plan".to_owned())]]), None);
    }
}
