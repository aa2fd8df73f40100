//! The tables of a database of SQLite.
//!
//! In: its file. Out: [`FoundTable`]s. Limits: the file is opened read-only, and must be no plimsoll's of a run. `sqlite_stat1` has only the
//! rows of each value of an index, so columns are looked at: rows spread over the whole table, up to a number.

use super::sample::{SampledValue, statistics_of};
use super::{Found, FoundIndex, FoundTable};
use crate::sqlite_schema::quote_name;
use host::error::TargetError;
use model::own_table::ColumnKind;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags};
use std::path::Path;

/// Reads all tables of the database in `path`, and `sample_rows` rows of each.
pub(super) fn read(path: &Path, sample_rows: u32) -> Result<Found, TargetError> {
    let shown = host::error::shown(path);
    if !path.is_file() {
        return Err(TargetError::Unsupported(format!(
            "`{shown}` is no file; name a file of SQLite, or a server: mysql://user@host/database"
        )));
    }
    let cannot = |error: rusqlite::Error| {
        TargetError::Unsupported(format!("cannot read `{shown}` as a database of SQLite: {error}"))
    };
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let database = Connection::open_with_flags(path, flags).map_err(cannot)?;
    let names =
        "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name";
    let mut found = Found::default();
    for name in texts(&database, names).map_err(cannot)? {
        match read_table(&database, &name, sample_rows) {
            Ok(table) if table.columns.is_empty() => found.left_out.push((name, "it has no columns".to_owned())),
            Ok(table) => found.tables.push(table),
            // Such as a virtual table whose module is not here.
            Err(error) => found.left_out.push((name, format!("SQLite cannot read it: {error}"))),
        }
    }
    found.keep_largest();
    Ok(found)
}

fn texts(database: &Connection, question: &str) -> rusqlite::Result<Vec<String>> {
    let mut statement = database.prepare(question)?;
    statement.query_map([], |row| row.get(0))?.collect()
}

fn read_table(database: &Connection, name: &str, sample_rows: u32) -> rusqlite::Result<FoundTable> {
    let quoted = quote_name(name);
    let rows: i64 = database.query_row(&format!("SELECT count(*) FROM {quoted}"), [], |row| row.get(0))?;
    let rows = rows.max(0) as u64;
    let mut table = FoundTable { name: name.to_owned(), rows, ..FoundTable::default() };
    let mut keys: Vec<(i64, String)> = Vec::new();
    let mut statement = database.prepare(&format!("PRAGMA table_xinfo({quoted})"))?;
    let mut columns = statement.query([])?;
    while let Some(row) = columns.next()? {
        // 1 is a hidden column of a virtual table, 2 and 3 are generated.
        let hidden: i64 = row.get(6)?;
        if hidden == 1 {
            continue;
        }
        let (name, declared): (String, String) = (row.get(1)?, row.get(2)?);
        let (not_null, key): (bool, i64) = (row.get(3)?, row.get(5)?);
        table.add_column(&name, &declared, not_null);
        if hidden > 1 {
            table.note_column(super::GENERATED);
        }
        if key > 0 {
            keys.push((key, name));
        }
    }
    // A whole number of SQLite has up to 64 bits, whatever it is called.
    let small = table.columns.iter_mut().filter(|column| column.kind == ColumnKind::SmallInt);
    small.for_each(|column| column.kind = ColumnKind::Int);
    keys.sort_by_key(|(nth, _)| *nth);
    table.primary_key = keys.into_iter().map(|(_, name)| name).collect();
    read_indexes(database, &quoted, &mut table)?;
    read_references(database, &quoted, &mut table)?;
    sample_columns(database, &mut table, sample_rows)?;
    Ok(table)
}

fn read_indexes(database: &Connection, quoted: &str, table: &mut FoundTable) -> rusqlite::Result<()> {
    let mut statement = database.prepare(&format!("PRAGMA index_list({quoted})"))?;
    let listed: Vec<(String, bool, String, bool)> = statement
        .query_map([], |row| Ok((row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?)))?
        .collect::<Result<_, _>>()?;
    for (name, unique, origin, is_partial) in listed.into_iter().rev() {
        if origin == "pk" {
            continue;
        }
        let mut columns = database.prepare(&format!("PRAGMA index_xinfo({})", quote_name(&name)))?;
        let columns: Vec<(Option<String>, bool, bool)> =
            columns.query_map([], |row| Ok((row.get(2)?, row.get(3)?, row.get(5)?)))?.collect::<Result<_, _>>()?;
        let keys = || columns.iter().filter(|(.., is_key)| *is_key);
        // An expression has no name.
        let named: Option<Vec<String>> = keys().map(|(column, ..)| column.clone()).collect();
        match named {
            _ if is_partial => table.leave_out_index(&name, super::PARTIAL.to_owned()),
            None => table.leave_out_index(&name, super::EXPRESSION.to_owned()),
            Some(columns) => {
                table.indexes.push(FoundIndex { name: name.clone(), columns, unique, ..FoundIndex::default() });
                if keys().any(|(_, is_descending, _)| *is_descending) {
                    table.note_index(&name, super::DESCENDING);
                }
            }
        }
    }
    Ok(())
}

fn read_references(database: &Connection, quoted: &str, table: &mut FoundTable) -> rusqlite::Result<()> {
    let mut statement = database.prepare(&format!("PRAGMA foreign_key_list({quoted})"))?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let (id, parent, from, to): (i64, String, String, Option<String>) =
            (row.get(0)?, row.get(2)?, row.get(3)?, row.get(4)?);
        // Without a column it is the primary key.
        let Some(to) = to else { continue };
        table.add_reference_column(&id.to_string(), &from, (&parent, &to));
    }
    Ok(())
}

fn sample_columns(database: &Connection, table: &mut FoundTable, sample_rows: u32) -> rusqlite::Result<()> {
    if sample_rows == 0 || table.rows == 0 {
        return Ok(());
    }
    let step = table.rows.div_ceil(sample_rows.into());
    let names: Vec<String> = table.columns.iter().map(|column| quote_name(&column.name)).collect();
    let question = format!("SELECT {} FROM {}", names.join(", "), quote_name(&table.name));
    let mut statement = database.prepare(&question)?;
    let mut rows = statement.query([])?;
    let mut sampled: Vec<Vec<Option<SampledValue>>> = vec![Vec::new(); table.columns.len()];
    let mut nth = 0;
    while let Some(row) = rows.next()? {
        nth += 1;
        if (nth - 1) % step != 0 {
            continue;
        }
        for (at, (values, column)) in sampled.iter_mut().zip(&table.columns).enumerate() {
            values.push(row.get_ref(at).ok().and_then(|value| sampled_value(value, column.kind)));
        }
    }
    for (column, values) in table.columns.iter_mut().zip(&sampled) {
        column.statistics = statistics_of(values, table.rows);
    }
    Ok(())
}

fn sampled_value(value: ValueRef<'_>, kind: ColumnKind) -> Option<SampledValue> {
    let hashed = SampledValue::unread;
    Some(match (value, kind) {
        (ValueRef::Null, _) => return None,
        (ValueRef::Integer(number), kind) if !kind.is_text() => SampledValue::Number(number as f64, number.to_string()),
        (ValueRef::Real(number), kind) if !kind.is_text() => SampledValue::Number(number, number.to_string()),
        (ValueRef::Integer(number), _) => hashed(number.to_string().as_bytes()),
        (ValueRef::Real(number), _) => hashed(number.to_string().as_bytes()),
        (ValueRef::Text(text), ColumnKind::Date | ColumnKind::DateTime) => match std::str::from_utf8(text) {
            Ok(text) => SampledValue::Date(text.to_owned()),
            Err(_) => hashed(text),
        },
        (ValueRef::Text(bytes) | ValueRef::Blob(bytes), _) => hashed(bytes),
    })
}
