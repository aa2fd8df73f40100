//! Keys: primary ones and unique indexes, and values that no two rows share.
//!
//! In: tables, their layout. Out: a layout in which each key is unique, or why it cannot be. Limits: of a key of several columns, none of
//! which is unique, the columns become the digits of a number that no other row has; a column can be in one such key only, and has no
//! distribution of its own then.

use super::layout::{BLOCK, Law, Layout, Numbers, RowOrder, Shape, Source, fault_of_table};
use super::names::{NAME_BYTES_MAX, check_name, find_name, no_name_twice};
use model::own_table::{ColumnKind, OwnFault, OwnTable};

/// One digit of the number of a row.
#[derive(Clone, Copy, Debug)]
pub(super) struct Digit {
    /// All numbers that the digits of the key can make.
    pub(super) all: u128,
    /// The numbers that differ in the digits behind it.
    pub(super) divisor: u128,
    /// Whether none is behind it: rows that are added later count on in it.
    pub(super) is_last: bool,
}

/// The primary key and the unique indexes of a table, with what they are called in messages.
fn keys_of(table: &OwnTable) -> impl Iterator<Item = (&'static str, &[String])> {
    let primary = (!table.primary_key.is_empty()).then_some(("primary key", &table.primary_key[..]));
    let unique = table.indexes.iter().filter(|index| index.unique).map(|index| ("unique index", &index.columns[..]));
    primary.into_iter().chain(unique)
}

/// Refuses keys, indexes and partitions that no engine takes.
pub(super) fn check_keys(number: usize, table: &OwnTable) -> Result<(), OwnFault> {
    let refused = |text: String| fault_of_table(number, format!("table `{}`: {text}", table.name));
    let all = keys_of(table).chain(table.indexes.iter().map(|index| ("index", &index.columns[..])));
    for (what, columns) in all {
        check_columns(what, columns, table).map_err(refused)?;
    }
    for index in &table.indexes {
        check_name(&index.name).map_err(refused)?;
        // PostgreSQL's indexes have the name of their table before their own.
        if table.name.len() + 1 + index.name.len() > NAME_BYTES_MAX {
            let name = &index.name;
            return Err(refused(format!(
                "the names of table and index `{name}` are too long; use {NAME_BYTES_MAX} bytes"
            )));
        }
    }
    no_name_twice(table.indexes.iter().map(|index| index.name.as_str()))
        .map_err(|(_, name)| refused(format!("two indexes are named `{name}`: rename one")))?;
    check_partitions(table).map_err(refused)
}

fn check_columns(what: &str, columns: &[String], table: &OwnTable) -> Result<(), String> {
    if columns.is_empty() || columns.len() > COLUMNS_MAX {
        return Err(format!("the {what} has {} columns; use 1 to {COLUMNS_MAX}", columns.len()));
    }
    for name in columns {
        let Some(nth) = column_of(table, name) else {
            return Err(format!("the {what} names column `{}`, which the table does not have", shown(name)));
        };
        if table.columns[nth].kind == ColumnKind::Text {
            return Err(format!("the {what} names column `{name}` of type `text`; use `varchar(n)`"));
        }
    }
    no_name_twice(columns.iter().map(String::as_str)).map_err(|(_, name)| format!("the {what} names `{name}` twice"))
}

/// As many as MariaDB takes.
const COLUMNS_MAX: usize = 16;

fn shown(name: &str) -> String {
    name.escape_debug().take(NAME_BYTES_MAX).collect()
}

fn column_of(table: &OwnTable, name: &str) -> Option<usize> {
    find_name(table.columns.iter().map(|column| column.name.as_str()), name)
}

fn check_partitions(table: &OwnTable) -> Result<(), String> {
    const COUNT_MAX: u32 = 1_000;
    let Some(partitions) = &table.partitions else { return Ok(()) };
    let (name, count) = (&partitions.column, partitions.count);
    let Some(nth) = column_of(table, name) else {
        return Err(format!("its partitions need column `{}`, which the table does not have", shown(name)));
    };
    let kind = table.columns[nth].kind;
    // PostgreSQL's partitions have the name of their table before their number.
    if table.name.len() + "_p999".len() > NAME_BYTES_MAX {
        return Err("a table with partitions has a name of at most 58 bytes".into());
    }
    if !(2..=COUNT_MAX).contains(&count) {
        return Err(format!("partitions = `{count}`: use 2 to {COUNT_MAX}"));
    }
    if !matches!(kind, ColumnKind::SmallInt | ColumnKind::Int | ColumnKind::BigInt) {
        return Err(format!("its partitions are by `{name}` of type `{kind}`; use a column of integers"));
    }
    match keys_of(table).find(|(_, columns)| !columns.iter().any(|column| column.eq_ignore_ascii_case(name))) {
        Some((what, _)) => {
            Err(format!("each key of a table with partitions has to name their column `{name}`; its {what} does not"))
        }
        None => Ok(()),
    }
}

/// Makes each key of a table unique.
pub(super) fn make_unique(tables: &[OwnTable], layout: &mut Layout, number: usize) -> Result<(), OwnFault> {
    let table = &tables[number];
    for (what, names) in keys_of(table) {
        let columns: Vec<usize> = names.iter().filter_map(|name| column_of(table, name)).collect();
        if table.rows < 2 || columns.iter().any(|nth| is_unique(layout, number, *nth)) {
            continue;
        }
        count_by_digits(layout, number, &columns).map_err(|why| {
            let key = names.join("`, `");
            fault_of_table(number, format!("table `{}`: the {what} (`{key}`) {why}", table.name))
        })?;
    }
    Ok(())
}

/// Whether a column has a value of its own in each row.
pub(super) fn is_unique(layout: &Layout, table: usize, column: usize) -> bool {
    let rows = layout.tables[table].rows;
    let deals_each_once = |numbers: &Numbers| matches!(numbers.law, Law::Even) && numbers.distinct >= rows;
    match &layout.tables[table].columns[column].source {
        Source::Constant(_) => false,
        Source::Serial => true,
        Source::Drawn { numbers, follows: None, shape } => {
            deals_each_once(numbers) && !matches!(shape, Shape::Histogram(_))
        }
        Source::Drawn { .. } => false,
        Source::Parent { table, column, numbers, .. } => deals_each_once(numbers) && is_unique(layout, *table, *column),
        Source::Computed { column, times, from, to, .. } => {
            *times != 0 && from == to && is_unique(layout, table, *column)
        }
    }
}

/// Makes `columns` the digits of a number that no other row has.
fn count_by_digits(layout: &mut Layout, table: usize, columns: &[usize]) -> Result<(), String> {
    let rows = layout.tables[table].rows;
    let mut groups: Vec<(u64, u64)> = Vec::new();
    let mut order = None;
    for nth in columns {
        let Some(numbers) = counted_numbers(&layout.tables[table].columns[*nth].source) else { continue };
        match numbers.law {
            Law::Even => {}
            Law::Digit(_) => {
                return Err("shares a column with another key of several columns; only one can be kept unique".into());
            }
            Law::Common(_) | Law::Access(_) => {
                return Err(
                    "has no column with distinct = `all`, so its columns cannot have `common` or `distribution`".into(),
                );
            }
        }
        // Columns that refer to one row of another table are one digit.
        if !groups.iter().any(|(stream, _)| *stream == numbers.stream) {
            groups.push((numbers.stream, numbers.distinct));
            order.get_or_insert_with(|| numbers.order.clone());
        }
    }
    let mut all = product(&groups);
    if all < u128::from(rows) {
        grow_one(layout, table, columns, &mut groups);
        all = product(&groups);
    }
    let (Some(order), true) = (order, all >= u128::from(rows)) else {
        return Err(format!("has at most {all} different values, but the table has {rows} rows"));
    };
    let order = order.over(rows, groups[0].0);
    for nth in columns {
        let Some(numbers) = counted_numbers_mut(&mut layout.tables[table].columns[*nth].source) else { continue };
        let Some(at) = groups.iter().position(|(stream, _)| *stream == numbers.stream) else { continue };
        let divisor =
            groups[at + 1..].iter().fold(1u128, |all, (_, distinct)| all.saturating_mul(u128::from(*distinct)));
        numbers.law = Law::Digit(Digit { all, divisor, is_last: at + 1 == groups.len() });
        (numbers.places, numbers.skips_nulls, numbers.order) = (rows, false, order.clone());
    }
    Ok(())
}

/// How many numbers digits with so many values make.
fn product(groups: &[(u64, u64)]) -> u128 {
    groups.iter().fold(1u128, |all, (_, distinct)| all.saturating_mul(u128::from(*distinct)))
}

/// Gives one digit as many values as the rows need, if their number is a share of the rows: that is rounded, or was an estimate.
fn grow_one(layout: &mut Layout, table: usize, columns: &[usize], groups: &mut [(u64, u64)]) {
    let rows = u128::from(layout.tables[table].rows);
    let all = product(groups);
    for nth in columns {
        let source = &mut layout.tables[table].columns[*nth].source;
        let room = room_of(source);
        let Some(numbers) = counted_numbers_mut(source).filter(|numbers| numbers.grows) else { continue };
        let Some(group) = groups.iter_mut().find(|(stream, _)| *stream == numbers.stream) else { continue };
        let needed = rows.div_ceil((all / u128::from(group.1)).max(1));
        if needed <= room {
            (numbers.distinct, group.1) = (needed as u64, needed as u64);
            return;
        }
    }
}

/// How many different values a column can have.
fn room_of(source: &Source) -> u128 {
    match source {
        Source::Drawn { shape: Shape::Range { span, .. }, .. } => u128::from(*span),
        Source::Drawn { shape: Shape::Length { code, .. }, .. } => 36u128.saturating_pow(*code as u32),
        _ => 0,
    }
}

/// The numbers of a column that can be a digit.
fn counted_numbers(source: &Source) -> Option<&Numbers> {
    match source {
        Source::Drawn { numbers, follows: None, shape } if !matches!(shape, Shape::Histogram(_)) => Some(numbers),
        Source::Parent { numbers, .. } => Some(numbers),
        _ => None,
    }
}

fn counted_numbers_mut(source: &mut Source) -> Option<&mut Numbers> {
    match source {
        Source::Drawn { numbers, follows: None, shape } if !matches!(shape, Shape::Histogram(_)) => Some(numbers),
        Source::Parent { numbers, .. } => Some(numbers),
        _ => None,
    }
}

impl RowOrder {
    /// The same order of so many places.
    fn over(&self, places: u64, stream: u64) -> RowOrder {
        match self {
            RowOrder::Random(_) => RowOrder::new(0.0, places, stream),
            RowOrder::OfRows { falling } => RowOrder::OfRows { falling: *falling },
            RowOrder::Mixed { kept, falling, .. } => {
                let sign = if *falling { -1.0 } else { 1.0 };
                RowOrder::new(sign * *kept as f64 / BLOCK as f64, places, stream)
            }
        }
    }
}
