//! Tables that sysbench has made: `sbtest1`, `sbtest2` and so on, each with the ids from 1 on without a gap.
//!
//! In: how many tables and rows a trial wants, answers of the catalogue and of the tables. Out: how many there are. Limits: rows are counted in
//! tables of at most [`COUNTED_ROWS`]; in larger ones a thousand ids are looked up, so that a few missing rows are not noticed.

use super::{FoundServer, FoundWords};
use crate::server::network::TextRows;
use host::error::TargetError;
use model::Fact;
use std::collections::BTreeMap;
use workload::found::SysbenchTables;

/// Tables up to this size are counted, which takes a tenth of a second.
const COUNTED_ROWS: u64 = 1_000_000;
/// Ids that are looked up in a larger table. If one row in a hundred is missing, 99.996 % of such samples notice it.
const LOOKED_UP: u64 = 1_000;

/// The columns of sysbench 0.4 to 1.1, with the types that the catalogues of servers have for them.
const COLUMNS: [(&str, &[&str], Option<u64>); 4] = [
    ("id", &["int", "integer", "bigint"], None),
    ("k", &["int", "integer", "bigint"], None),
    ("c", &["char", "character", "varchar", "character varying"], Some(120)),
    ("pad", &["char", "character", "varchar", "character varying"], Some(60)),
];

/// A column as a catalogue has it: name, type, length.
type FoundColumn = (String, String, Option<u64>);

/// The tables in the current schema, of which (`tables`, `rows`) are wanted.
pub(super) fn find_tables(
    kind: &FoundServer,
    (tables, rows): (Option<u64>, Option<u64>),
    server: &str,
    mut ask: impl FnMut(&str) -> Result<TextRows, TargetError>,
) -> Result<(SysbenchTables, Vec<Fact>), TargetError> {
    let FoundWords { schema, leading_columns } = kind.words;
    let refused = |text: String| TargetError::Unsupported(format!("{server}: {text}"));
    let question = format!(
        "SELECT table_name, column_name, data_type, character_maximum_length FROM information_schema.columns \
         WHERE table_schema = {schema} AND table_name LIKE 'sbtest%' ORDER BY table_name, ordinal_position"
    );
    let there = tables_in(ask(&question)?);
    let count = count_tables(&there, tables).map_err(refused)?;
    let mut found = SysbenchTables { tables: count, rows: u64::MAX, last_id: 0 };
    let (mut has_index, mut is_counted) = (true, true);
    for number in 1..=count {
        let name = format!("sbtest{number}");
        check_columns(&name, &there[&name]).map_err(refused)?;
        let leading = ask(&leading_columns.replace("{}", &name))?;
        let leads = |column: &str| leading.iter().flatten().flatten().any(|name| name.eq_ignore_ascii_case(column));
        if !leads("id") {
            let text = format!(
                "table `{name}` has no index on column id, so each statement would read all of its rows; add one"
            );
            return Err(refused(text));
        }
        has_index &= leads("k");
        let ends = ask(&format!("SELECT min(id), max(id) FROM {}", (kind.quote_name)(&name)))?;
        let last = check_ends(&name, ends.first().map_or(&[][..], Vec::as_slice)).map_err(refused)?;
        is_counted &= last <= COUNTED_ROWS;
        let (expected, question) = rows_question(&(kind.quote_name)(&name), last);
        let counted = ask(&question)?.first().and_then(|row| row.first()?.as_deref()?.parse().ok()).unwrap_or(0);
        check_gaps(&name, last, expected, counted).map_err(refused)?;
        if let Some(wanted) = rows.filter(|wanted| *wanted > last) {
            let text = format!(
                "table_rows = `{wanted}`, but table `{name}` has {last} rows; use table_rows = `{last}`, or leave it out"
            );
            return Err(refused(text));
        }
        found.rows = found.rows.min(last);
        found.last_id = found.last_id.max(last);
    }
    found.rows = rows.unwrap_or(found.rows);
    let how = if is_counted {
        "counted"
    } else {
        "by their first and last ids, and 1,000 ids of each table that were looked up"
    };
    let facts = vec![
        Fact::new("data.origin", tables_text(count)),
        Fact::new("data.origin_rows", found.rows.to_string()),
        Fact::new("data.origin_count", how),
        Fact::new("data.origin_index", if has_index { "on column k" } else { "none on column k" }),
    ];
    Ok((found, facts))
}

/// `sbtest1 to sbtest4`.
fn tables_text(count: u64) -> String {
    if count == 1 { "sbtest1".to_owned() } else { format!("sbtest1 to sbtest{count}") }
}

/// The columns of each table whose name begins as those of sysbench do.
fn tables_in(rows: TextRows) -> BTreeMap<String, Vec<FoundColumn>> {
    let mut tables: BTreeMap<String, Vec<FoundColumn>> = BTreeMap::new();
    for row in rows {
        let Ok([Some(table), Some(column), Some(kind), length]) = <[Option<String>; 4]>::try_from(row) else {
            continue;
        };
        let length = length.and_then(|length| length.parse().ok());
        tables.entry(table).or_default().push((column, kind.to_ascii_lowercase(), length));
    }
    tables
}

/// How many of the tables `there` are used if so many are `wanted`.
fn count_tables(there: &BTreeMap<String, Vec<FoundColumn>>, wanted: Option<u64>) -> Result<u64, String> {
    let count = (1..).take_while(|number| there.contains_key(&format!("sbtest{number}"))).count() as u64;
    let numbers = there.keys().filter_map(|name| name.strip_prefix("sbtest")?.parse::<u64>().ok());
    let last = numbers.max().unwrap_or(0);
    if count == 0 && last == 0 && there.contains_key("sbtest") {
        return Err("there is a table `sbtest`, and no `sbtest1`: sysbench 0.4 names a single table so; make a view `sbtest1` of it, or name it so".to_owned());
    }
    if last == 0 {
        return Err("the database has no table `sbtest1` that the account may read; make the tables by `sysbench oltp_read_write ... prepare`, \
                    or name the database that has them in the URL".to_owned());
    }
    if last > count {
        return Err(format!(
            "table `sbtest{}` is missing, but `sbtest{last}` is there; make all of sbtest1 to sbtest{last}",
            count + 1
        ));
    }
    match wanted {
        Some(wanted) if wanted > count => Err(format!(
            "tables = `{wanted}`, but there are {count} ({}); use tables = `{count}`, or leave it out",
            tables_text(count)
        )),
        wanted => Ok(wanted.unwrap_or(count)),
    }
}

/// Refuses a table whose columns are not those of sysbench.
fn check_columns(table: &str, columns: &[FoundColumn]) -> Result<(), String> {
    const ADVICE: &str =
        "these are not sysbench's tables; measure them with your statements, by workload `own` with existing = `true`";
    for (name, kinds, length) in COLUMNS {
        let Some((_, kind, found)) = columns.iter().find(|(column, ..)| column.eq_ignore_ascii_case(name)) else {
            return Err(format!("table `{table}` has no column {name}: {ADVICE}"));
        };
        let is_long_enough = length.is_none_or(|length| found.is_some_and(|found| found >= length));
        if !kinds.contains(&kind.as_str()) || !is_long_enough {
            let found = found.map_or(String::new(), |length| format!("({length})"));
            let wanted = length.map_or(kinds[0].to_owned(), |length| format!("{}({length})", kinds[0]));
            return Err(format!(
                "table `{table}`: column {name} is `{kind}{found}`, and sysbench makes it `{wanted}`: {ADVICE}"
            ));
        }
    }
    // Inserts give values for these four. If another column needs one, the server refuses the first insert and names the column.
    Ok(())
}

/// The last id of a table, whose least and greatest ids are `ends`.
fn check_ends(table: &str, ends: &[Option<String>]) -> Result<u64, String> {
    let end = |nth: usize| ends.get(nth).cloned().flatten().and_then(|id| id.parse::<i64>().ok());
    match (end(0), end(1)) {
        (Some(1), Some(last @ 1..)) => Ok(last as u64),
        (Some(first), Some(_)) => Err(format!(
            "table `{table}`: its ids begin with {first} and not with 1; statements would ask for rows that are not there: make the table again, \
             on Galera with auto_increment_increment = 1"
        )),
        _ => Err(format!("table `{table}` has no rows; fill it by `sysbench oltp_read_write ... prepare`")),
    }
}

/// The question how many rows there are up to the id `last`, and how many there are without a gap.
fn rows_question(table: &str, last: u64) -> (u64, String) {
    if last <= COUNTED_ROWS {
        return (last, format!("SELECT count(*) FROM {table}"));
    }
    // Multiples of the golden ratio (D. Knuth, "The Art of Computer Programming" 3, 6.4): spread over all, and in no step that gaps may have, too.
    let ids = (1..=LOOKED_UP).map(|nth| {
        let part = nth.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (1 + ((u128::from(part) * u128::from(last)) >> 64)).to_string()
    });
    let ids: std::collections::BTreeSet<String> = ids.collect();
    let list: Vec<&str> = ids.iter().map(String::as_str).collect();
    (ids.len() as u64, format!("SELECT count(*) FROM {table} WHERE id IN ({})", list.join(", ")))
}

/// Refuses a table with ids up to `last` that has fewer rows than it would have without gaps.
fn check_gaps(table: &str, last: u64, expected: u64, counted: u64) -> Result<(), String> {
    if counted >= expected {
        return Ok(());
    }
    let found = if expected == last {
        format!("it has {counted} rows")
    } else {
        format!("{} of {expected} ids that were looked up are missing", expected - counted)
    };
    Err(format!(
        "table `{table}` has ids from 1 to {last}, but {found}; statements would ask for rows that are not there: make the table again, on Galera \
         with auto_increment_increment = 1, or measure it with your own statements"
    ))
}
