//! A plan of MariaDB or MySQL as steps in words: which tables are read in which order, by which index, and what is built on the way.
//!
//! In: the rows of EXPLAIN, as a table. Out: a step for each row, and for what it builds. Limits: estimates, lengths of keys and conditions are left
//! out, so that the same plan has the same steps; what is not known of the last column is, too.

use super::explain::column;
use crate::server::network::TextRows;

/// What the optimizer finds by reading the rows of the sample's values: the same plan, had they been there.
const OF_ROWS: [&str; 3] =
    ["Impossible WHERE noticed after reading", "no matching row in const", "unique row not found"];

/// The steps; `None` if the plan is that of a sample whose rows are not there.
pub fn steps(rows: &TextRows) -> Option<Vec<String>> {
    let extras = || rows.iter().map(|row| column(row, "Extra").unwrap_or_default());
    if extras().any(|extra| OF_ROWS.iter().any(|what| extra.contains(what))) {
        return None;
    }
    let mut steps = Vec::new();
    let mut query = rows.first().and_then(|row| column(row, "id"));
    for row in rows.iter().filter(|row| column(row, "select_type") != Some("UNION RESULT")) {
        let of = |name: &str| column(row, name);
        if of("id") != query {
            query = of("id");
            steps.extend(query_step(of("select_type").unwrap_or_default()).map(str::to_owned));
        }
        steps.extend(read_step(row));
        steps.extend(building_steps(of("Extra").unwrap_or_default()).map(str::to_owned));
    }
    if steps.is_empty() {
        steps.push("reads no table".to_owned());
    }
    Some(steps)
}

/// What a further query of a statement is for; those of a union need no words.
fn query_step(select_type: &str) -> Option<&'static str> {
    let kinds = [
        ("DEPENDENT SUBQUERY", "runs a subquery for each row"),
        ("UNCACHEABLE SUBQUERY", "runs a subquery for each row"),
        ("SUBQUERY", "runs a subquery once"),
        ("MATERIALIZED", "materializes a subquery"),
        ("LATERAL DERIVED", "makes a derived table for each row"),
        ("DEPENDENT DERIVED", "makes a derived table for each row"),
        ("DERIVED", "makes a derived table"),
    ];
    kinds.iter().find(|(kind, _)| select_type == *kind).map(|(_, step)| *step)
}

/// How a row of the plan reads its table.
fn read_step(row: &[Option<String>]) -> Option<String> {
    let extra = column(row, "Extra").unwrap_or_default();
    let Some(name) = column(row, "table") else {
        return extra.contains("optimized away").then(|| "reads an end of an index".to_owned());
    };
    if column(row, "select_type").is_some_and(|kind| matches!(kind, "INSERT" | "REPLACE")) {
        return Some(format!("inserts into `{name}`"));
    }
    let table = if name.starts_with("<derived") {
        "a derived table".to_owned()
    } else if name.starts_with("<subquery") {
        "a materialized subquery".to_owned()
    } else {
        format!("`{name}`")
    };
    let key = column(row, "key").unwrap_or_default();
    let alone = if extra.contains("Using index") && !extra.contains("Using index condition") { " alone" } else { "" };
    let access = column(row, "type").unwrap_or_default();
    Some(match access.split('|').next().unwrap_or_default() {
        "ALL" if extra.contains("Range checked") => format!("chooses an index of {table} for each row"),
        "ALL" => format!("reads all of {table}"),
        kind if kind.starts_with("hash_") => format!("reads all of {table} into a hash"),
        "index" if alone.is_empty() => format!("reads {table} in the order of {}", index(key)),
        "index" => format!("reads all of {} of {table}", index(key)),
        "range" if extra.contains("group-by") => format!("reads each group of {table} by {}", index(key)),
        "range" => format!("reads {table} by a range of {}{alone}", index(key)),
        "index_merge" => format!("reads {table} by {}", merged(extra, key)),
        "fulltext" => format!("reads {table} by full-text {}", index(key)),
        _ if key.is_empty() => format!("reads the only row of {table}"),
        _ => format!("reads {table} by {}{}{alone}", key_parts(row), filtered(key)),
    })
}

fn index(key: &str) -> String {
    if key == "PRIMARY" { "its primary key".to_owned() } else { format!("index `{key}`") }
}

/// `2 columns of index `ct``, by how many values it is looked up with.
fn key_parts(row: &[Option<String>]) -> String {
    let key = column(row, "key").unwrap_or_default();
    let key = index(key.split('|').next().unwrap_or_default());
    match column(row, "ref").map_or(1, |values| values.split('|').next().unwrap_or_default().split(',').count()) {
        0 | 1 => key,
        many => format!("{many} columns of {key}"),
    }
}

/// MariaDB's filter of row numbers: `a|b` are the index that is read, and the one that filters.
fn filtered(key: &str) -> String {
    key.split_once('|').map_or(String::new(), |(_, filter)| format!(", filtered by {}", index(filter)))
}

/// `a union of indexes a,b`.
fn merged(extra: &str, key: &str) -> String {
    let how = if extra.contains("intersect(") { "an intersection" } else { "a union" };
    let names: Vec<String> = key.split(',').map(|name| format!("`{name}`")).collect();
    format!("{how} of indexes {}", names.join(", "))
}

/// What is built for the rows of a table.
fn building_steps(extra: &str) -> impl Iterator<Item = &'static str> {
    let has_hash = extra.contains("hash join") || extra.contains("BNLH") || extra.contains("BKAH");
    let all = [
        (extra.contains("Using join buffer") && has_hash, "joins by hash"),
        (extra.contains("Using join buffer") && !has_hash, "joins by a buffer"),
        (extra.contains("Using temporary"), "makes a temporary table"),
        (extra.contains("Using filesort"), "sorts"),
        (extra.contains("Deleting all rows"), "deletes all rows at once"),
    ];
    all.into_iter().filter(|(is_so, _)| *is_so).map(|(_, step)| step)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The rows of what `mariadb` prints, as MariaDB 10.11 and MySQL 8.0 have printed them.
    fn rows(printed: &str) -> TextRows {
        let value = |text: &str| (text != "NULL").then(|| text.to_owned());
        printed.lines().map(|line| line.trim_start().split('/').map(value).collect()).collect()
    }

    fn told(printed: &str) -> String {
        steps(&rows(printed)).map_or("none".to_owned(), |steps| steps.join("; "))
    }

    #[test]
    fn each_access_of_mariadb_has_its_words() {
        for (printed, expected) in [
            ("1/SIMPLE/orders/const/PRIMARY/PRIMARY/4/const/1/", "reads `orders` by its primary key"),
            ("1/SIMPLE/orders/ref/customer,ct/customer/5/const/10/", "reads `orders` by index `customer`"),
            ("1/SIMPLE/orders/ref/customer,ct/ct/5/const/10/Using index", "reads `orders` by index `ct` alone"),
            (
                "1/SIMPLE/orders/ref/customer,ct/ct/10/const,const/1/Using index",
                "reads `orders` by 2 columns of index `ct` alone",
            ),
            ("1/SIMPLE/orders/ALL/NULL/NULL/NULL/NULL/49776/Using where", "reads all of `orders`"),
            (
                "1/SIMPLE/orders/range/customer,ct/customer/5/NULL/30/Using index condition; Using filesort",
                "reads `orders` by a range of index `customer`; sorts",
            ),
            (
                "1/SIMPLE/orders/index/NULL/customer/5/NULL/5/Using where",
                "reads `orders` in the order of index `customer`",
            ),
            (
                "1/SIMPLE/orders/index/NULL/ct/10/NULL/49776/Using where; Using index",
                "reads all of index `ct` of `orders`",
            ),
            (
                "1/SIMPLE/orders/range/NULL/customer/5/NULL/12445/Using index for group-by",
                "reads each group of `orders` by index `customer`",
            ),
            (
                "1/SIMPLE/t1/index_merge/a,b/a,b/5,5/NULL/132/Using union(a,b); Using where",
                "reads `t1` by a union of indexes `a`, `b`",
            ),
            (
                "1/SIMPLE/t1/index_merge/a,b/b,a/5,5/NULL/1/Using intersect(b,a); Using where; Using index",
                "reads `t1` by an intersection of indexes `b`, `a`",
            ),
            (
                "1/SIMPLE/t1/ref|filter/a,b/a|b/5|5/const/132 (1%)/Using where; Using rowid filter",
                "reads `t1` by index `a`, filtered by index `b`",
            ),
            ("1/SIMPLE/NULL/NULL/NULL/NULL/NULL/NULL/NULL/No tables used", "reads no table"),
            ("1/SIMPLE/NULL/NULL/NULL/NULL/NULL/NULL/NULL/Select tables optimized away", "reads an end of an index"),
            ("1/INSERT/noix/ALL/NULL/NULL/NULL/NULL/NULL/NULL", "inserts into `noix`"),
            ("1/SIMPLE/NULL/NULL/NULL/NULL/NULL/NULL/49776/Deleting all rows", "deletes all rows at once"),
            ("1/SIMPLE/NULL/NULL/NULL/NULL/NULL/NULL/NULL/Impossible WHERE noticed after reading const tables", "none"),
        ] {
            assert_eq!(told(printed), expected, "{printed}");
        }
    }

    #[test]
    fn tables_are_told_in_the_order_of_the_join_and_subqueries_by_how_often_they_run() {
        for (printed, expected) in [
            (
                "1/SIMPLE/c/ref/PRIMARY,city/city/23/const/100/Using index condition; Using temporary; Using filesort\n\
                 1/SIMPLE/o/ref/customer,ct/ct/5/shop.c.id/4/Using index",
                "reads `c` by index `city`; makes a temporary table; sorts; reads `o` by index `ct` alone",
            ),
            (
                "1/SIMPLE/a/ALL/NULL/NULL/NULL/NULL/2000/\n\
                 1/SIMPLE/b/ALL/NULL/NULL/NULL/NULL/2000/Using where; Using join buffer (flat, BNL join)",
                "reads all of `a`; reads all of `b`; joins by a buffer",
            ),
            (
                "1/SIMPLE/a/ALL/NULL/NULL/NULL/NULL/2000/Using where\n\
                 1/SIMPLE/b/hash_ALL/NULL/#hash#$hj/5/shop.a.k/2000/Using where; Using join buffer (flat, BNLH join)",
                "reads all of `a`; reads all of `b` into a hash; joins by hash",
            ),
            (
                "1/PRIMARY/o/range/PRIMARY/PRIMARY/4/NULL/9/Using where\n\
                 2/DEPENDENT SUBQUERY/o2/ref/customer,ct/ct/5/shop.o.customer/4/Using index",
                "reads `o` by a range of its primary key; runs a subquery for each row; reads `o2` by index `ct` alone",
            ),
            (
                "1/PRIMARY/c/ALL/PRIMARY/NULL/NULL/NULL/5000/\n\
                 1/PRIMARY/<derived2>/ref/key0/key0/5/shop.c.id/10/Using where\n\
                 2/DERIVED/orders/index/customer,ct/ct/10/NULL/49776/Using index; Using temporary; Using filesort",
                "reads all of `c`; reads a derived table by index `key0`; makes a derived table; reads all of index `ct` of `orders`; \
                 makes a temporary table; sorts",
            ),
            (
                "1/PRIMARY/orders/ALL/NULL/NULL/NULL/NULL/49776/Using where\n\
                 2/UNION/orders/ref/customer,ct/customer/5/const/10/\n\
                 NULL/UNION RESULT/<union1,2>/ALL/NULL/NULL/NULL/NULL/NULL/",
                "reads all of `orders`; reads `orders` by index `customer`",
            ),
        ] {
            assert_eq!(told(printed), expected, "{printed}");
        }
    }

    #[test]
    fn what_changes_with_the_data_alone_changes_no_step() {
        let of = |rows: &str| told(&format!("1/SIMPLE/orders/ref/customer,ct/customer/5/const/{rows}/"));
        assert_eq!(of("10"), of("123456"));
        // MySQL 8.0 has the columns `partitions` and `filtered`, too.
        assert_eq!(told("1/SIMPLE/orders/NULL/ref/customer/customer/5/const/10/100.00/NULL"), of("10"));
    }
}
