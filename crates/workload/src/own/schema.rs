//! The tables of a plan as engines make them, and about how much space they take.
//!
//! In: tables and their layout. Out: descriptions of tables, those that others refer to first. Limits: a foreign key is made only of
//! references to the whole primary key of a table; MariaDB and PostgreSQL need a key there.

use super::layout::Layout;
use super::names::find_name;
use super::types::about_bytes as bytes_of;
use crate::oltp::custom::keep_name;
use crate::program::{ForeignKey, SqlColumn, SqlIndex, SqlTable, TablePartitions};
use model::Bytes;
use model::own_table::{OwnTable, PartitionRule, ValueShape, ValueSource};
use std::collections::BTreeSet;
use std::sync::Mutex;

/// The tables in an order in which none refers to a later one.
pub(super) fn tables(tables: &[OwnTable], layout: &Layout, foreign_keys: bool) -> Vec<SqlTable> {
    let define = |number: &usize| {
        let table = &tables[*number];
        SqlTable {
            name: table.name.clone(),
            columns: columns_of(table),
            primary_key: keep_names(table.primary_key.iter().map(|name| own_name(table, name))),
            indexes: table
                .indexes
                .iter()
                .map(|index| SqlIndex {
                    name: index.name.clone(),
                    columns: index.columns.iter().map(|name| own_name(table, name)).collect(),
                    unique: index.unique,
                })
                .collect(),
            foreign_keys: if foreign_keys { foreign_keys_of(table, tables) } else { Vec::new() },
            partitions: partitions_of(table, *number, layout),
        }
    };
    layout.order.iter().map(define).collect()
}

/// The name of a column as its table spells it.
fn own_name(table: &OwnTable, name: &str) -> &'static str {
    let spelt = table.columns.iter().find(|column| column.name.eq_ignore_ascii_case(name));
    keep_name(spelt.map_or(name, |column| column.name.as_str()))
}

fn partitions_of(table: &OwnTable, number: usize, layout: &Layout) -> Option<TablePartitions> {
    let wanted = table.partitions.as_ref()?;
    let column = own_name(table, &wanted.column);
    if wanted.by == PartitionRule::Hash {
        return Some(TablePartitions::Hash { column, count: wanted.count });
    }
    let nth = find_name(table.columns.iter().map(|column| column.name.as_str()), column)?;
    let count = u64::from(wanted.count);
    let mut ends: Vec<i64> = (1..count).map(|part| layout.units_along(number, nth, part, count)).collect();
    // Of few values some ends are the same.
    ends.sort_unstable();
    ends.dedup();
    Some(TablePartitions::Ranges { column, ends })
}

fn columns_of(table: &OwnTable) -> Vec<SqlColumn> {
    let is_key = |name: &str| table.primary_key.iter().any(|key| key.eq_ignore_ascii_case(name));
    let columns = table.columns.iter().map(|column| SqlColumn {
        name: keep_name(&column.name),
        kind: column.kind,
        not_null: column.not_null || is_key(&column.name),
    });
    columns.collect()
}

/// The names for as long as the process lives, each list once: see [`keep_name`].
fn keep_names(names: impl Iterator<Item = &'static str>) -> &'static [&'static str] {
    static LISTS: Mutex<BTreeSet<&'static [&'static str]>> = Mutex::new(BTreeSet::new());
    let names: Vec<&'static str> = names.collect();
    let mut lists = LISTS.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    if let Some(kept) = lists.get(&names[..]) {
        return kept;
    }
    let kept: &'static [&'static str] = Box::leak(names.into_boxed_slice());
    lists.insert(kept);
    kept
}

/// A foreign key for each set of references that are to the whole primary key of another table.
fn foreign_keys_of(table: &OwnTable, tables: &[OwnTable]) -> Vec<ForeignKey> {
    let mut keys = Vec::new();
    for parent in tables.iter().filter(|parent| !parent.primary_key.is_empty()) {
        // For each column of its key those that refer to it, in turn.
        let referring: Vec<Vec<&'static str>> =
            parent.primary_key.iter().map(|key| columns_to(table, parent, key)).collect();
        let turns = referring.iter().map(Vec::len).min().unwrap_or(0);
        let parent_key = keep_names(parent.primary_key.iter().map(|name| own_name(parent, name)));
        for turn in 0..turns {
            let columns = keep_names(referring.iter().map(|columns| columns[turn]));
            keys.push(ForeignKey { columns, parent: keep_name(&parent.name), parent_key });
        }
    }
    keys
}

/// The columns of `table` that refer to column `key` of `parent`.
fn columns_to(table: &OwnTable, parent: &OwnTable, key: &str) -> Vec<&'static str> {
    let refers = |source: &ValueSource| match source {
        ValueSource::Reference { table, column, .. } => {
            table.eq_ignore_ascii_case(&parent.name) && column.eq_ignore_ascii_case(key)
        }
        _ => false,
    };
    let columns = table.columns.iter().filter(|column| refers(&column.source));
    columns.map(|column| keep_name(&column.name)).collect()
}

/// About the bytes of all tables in a B-tree.
pub(super) fn about_bytes(tables: &[OwnTable]) -> Bytes {
    let all = tables.iter().map(|table| table.rows.saturating_mul(row_bytes(table)));
    Bytes(all.fold(0, u64::saturating_add))
}

/// About the bytes of a row of all tables.
pub(super) fn about_row_bytes(tables: &[OwnTable]) -> Bytes {
    let all: u64 = tables.iter().map(row_bytes).sum();
    Bytes(all / tables.len().max(1) as u64)
}

/// About the bytes of a row with its entries in all indexes: random inserts leave pages two thirds full.
fn row_bytes(table: &OwnTable) -> u64 {
    const HEAD: u64 = 20;
    let bytes = |name: &String| {
        let names = table.columns.iter().map(|column| column.name.as_str());
        find_name(names, name).map_or(0, |nth| column_bytes(table, nth))
    };
    let key: u64 = table.primary_key.iter().map(bytes).sum();
    let entries = table.indexes.iter().map(|index| HEAD / 2 + key + index.columns.iter().map(bytes).sum::<u64>());
    let row = HEAD + (0..table.columns.len()).map(|nth| column_bytes(table, nth)).sum::<u64>();
    (row + entries.sum::<u64>()) * 3 / 2
}

fn column_bytes(table: &OwnTable, nth: usize) -> u64 {
    let column = &table.columns[nth];
    match &column.source {
        ValueSource::Drawn(drawn) => match drawn.shape {
            ValueShape::Length(Some((least, most))) => u64::from(least + most) / 2 + 1,
            _ => bytes_of(column.kind),
        },
        _ => bytes_of(column.kind),
    }
}
