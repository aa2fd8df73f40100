//! Tables of the user's own from what was found in a database.
//!
//! In: [`FoundTable`]s. Out: tables that can be made, with notes on what became different. Limits: what cannot be kept is made simpler, one
//! thing after the other, until the tables can be made; so a plan that is written is one that is taken.

use super::names::{NameMap, NameOf};
use super::types::Reading;
use super::{ColumnStatistics, DatabaseNames, Found, FoundColumn, FoundReference, FoundTable, FoundTables};
use model::own_table::{
    ColumnKind, Dependence, Distinct, DrawnValues, OwnColumn, OwnFault, OwnIndex, OwnPartitions, OwnTable,
    PartitionRule, ValueNumbers, ValueShape, ValueSource,
};
use std::collections::{BTreeMap, BTreeSet};

/// A column that decides about fewer rows than this decides about none.
const DEPENDENCE_MIN: f64 = 0.5;

/// Tables like those that were `found`. `hides_names`: names become hashes, and no bounds of values are kept.
pub(super) fn tables_like(found: Found, hides_names: bool) -> FoundTables {
    let Found { tables: found, left_out } = found;
    let mut names = NameMap::new(hides_names);
    let all: Vec<OwnTable> =
        found.iter().map(|table| TableMaker { table, all: &found, hides_names }.make(&mut names)).collect();
    let called = if hides_names { Vec::new() } else { found.iter().map(names_in_database).collect() };
    let mut made = FoundTables { tables: all, notes: notes_of_left_out(&left_out, hides_names), names: called };
    for (table, own) in found.iter().zip(&made.tables) {
        let columns = table.columns.iter().zip(&own.columns);
        let of_columns = columns.flat_map(|(column, new)| {
            column.notes.iter().map(move |note| format!("{}.{}: {note}", own.name, new.name))
        });
        let indexes = table.indexes.iter().zip(&own.indexes);
        let of_indexes = indexes.flat_map(|(index, new)| {
            index.notes.iter().map(move |note| format!("{}, index {}: {note}", own.name, new.name))
        });
        let of_left_out = table.left_out.iter().map(|(name, reason)| {
            let name = if hides_names { "an index".to_owned() } else { format!("index `{name}`") };
            format!("{}: {name} is left out: {reason}", own.name)
        });
        let of_names = if hides_names { Vec::new() } else { notes_of_renamed(table, own) };
        made.notes.extend(of_names.into_iter().chain(of_columns).chain(of_indexes).chain(of_left_out));
    }
    // Each round makes one thing simpler, so this ends.
    let rounds = 4 * made.tables.iter().map(|table| table.columns.len() + table.indexes.len() + 2).sum::<usize>();
    for _ in 0..rounds {
        match workload::own::check_made(&made.tables, &[]) {
            Ok(()) => break,
            Err(fault) => made.simplify(&fault),
        }
    }
    made
}

fn names_in_database(found: &FoundTable) -> DatabaseNames {
    let columns = found.columns.iter().map(|column| column.name.clone()).collect();
    DatabaseNames { table: found.name.clone(), columns }
}

/// The tables that are left out, some names a line; or how many, if names are hidden.
fn notes_of_left_out(left_out: &[(String, String)], hides_names: bool) -> Vec<String> {
    const NAMES_OF_A_LINE: usize = 10;
    let mut by_reason: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (name, reason) in left_out {
        by_reason.entry(reason).or_default().push(format!("`{}`", name.chars().take(64).collect::<String>()));
    }
    let mut notes = Vec::new();
    for (reason, names) in by_reason {
        notes.push(format!("tables that are left out: {}, for {reason}", names.len()));
        if !hides_names {
            notes.extend(names.chunks(NAMES_OF_A_LINE).map(|some| format!("left out: {}", some.join(", "))));
        }
    }
    notes
}

/// What a table and its columns are called in the database, if a plan cannot have these names.
fn notes_of_renamed(table: &FoundTable, own: &OwnTable) -> Vec<String> {
    let note = |place: String, old: &str| {
        let old: String = old.chars().take(128).collect();
        format!("{place}: called `{old}` in the database")
    };
    let of_table = (own.name != table.name).then(|| note(own.name.clone(), &table.name));
    let columns = table.columns.iter().zip(&own.columns).filter(|(column, new)| column.name != new.name);
    let of_columns = columns.map(|(column, new)| note(format!("{}.{}", own.name, new.name), &column.name));
    of_table.into_iter().chain(of_columns).collect()
}

impl FoundTables {
    /// Makes simpler what `fault` names.
    fn simplify(&mut self, fault: &OwnFault) {
        let Some(table) = fault.table.and_then(|nth| self.tables.get_mut(nth)) else {
            self.tables.truncate(500);
            return;
        };
        self.notes.push(format!("{}: {}", table.name, fault.text));
        match fault.column.and_then(|nth| table.columns.get_mut(nth)) {
            Some(column) => simplify_column(column),
            None => simplify_table(table, &fault.text),
        }
    }
}

fn simplify_column(column: &mut OwnColumn) {
    let plain = drawn(column.kind, None, Distinct::Natural);
    match &mut column.source {
        source if *source != plain => *source = plain,
        _ => {
            column.kind = if column.kind.is_text() { ColumnKind::VarChar(64) } else { ColumnKind::BigInt };
            column.source = drawn(column.kind, None, Distinct::Natural);
        }
    }
}

fn simplify_table(table: &mut OwnTable, text: &str) {
    if table.partitions.is_some() && text.contains("partitions") {
        table.partitions = None;
    } else if let Some(index) = table.indexes.iter_mut().find(|index| index.unique) {
        index.unique = false;
    } else if let Some(reference) =
        table.columns.iter_mut().find(|column| matches!(column.source, ValueSource::Reference { .. }))
    {
        reference.source = drawn(reference.kind, None, Distinct::Natural);
    } else if !table.primary_key.is_empty() {
        table.primary_key.clear();
    } else {
        table.indexes.clear();
        table.partitions = None;
        table.columns.truncate(1_000);
    }
}

fn drawn(kind: ColumnKind, shape: Option<ValueShape>, distinct: Distinct) -> ValueSource {
    let numbers = ValueNumbers { distinct, common: Vec::new(), access: None, correlation: 0.0 };
    ValueSource::Drawn(DrawnValues { numbers, depends_on: None, shape: shape.unwrap_or_else(|| plain_shape(kind)) })
}

fn plain_shape(kind: ColumnKind) -> ValueShape {
    match kind {
        ColumnKind::Boolean => ValueShape::Truths,
        kind if kind.is_text() => ValueShape::Length(None),
        _ => ValueShape::Range(None),
    }
}

struct TableMaker<'f> {
    table: &'f FoundTable,
    all: &'f [FoundTable],
    hides_names: bool,
}

impl TableMaker<'_> {
    fn make(&self, names: &mut NameMap) -> OwnTable {
        let found = self.table;
        let name = names.of(NameOf::Table, &found.name);
        let columns = found.columns.iter().map(|column| self.column(column, names)).collect();
        let mut column = |text: &String| names.of(NameOf::Column(found.name.clone()), text);
        let primary_key = found.primary_key.iter().map(&mut column).collect();
        let indexes = (1..).zip(&found.indexes).map(|(nth, index)| OwnIndex {
            // Names of indexes are not needed, and may tell what they are about.
            name: format!("i{nth}"),
            columns: index.columns.iter().map(&mut column).collect(),
            unique: index.unique,
        });
        let indexes = indexes.collect();
        let partitions = found.partitions.as_ref().map(|partitions| OwnPartitions {
            by: if partitions.is_hash { PartitionRule::Hash } else { PartitionRule::Range },
            column: column(&partitions.column),
            count: partitions.count.clamp(2, 1_000),
        });
        OwnTable { name, rows: found.rows, columns, primary_key, indexes, partitions, keys: None }
    }

    fn column(&self, found: &FoundColumn, names: &mut NameMap) -> OwnColumn {
        let kind = self.indexed_type(found);
        let not_null = found.not_null && !self.is_in_key(found);
        OwnColumn {
            name: names.of(NameOf::Column(self.table.name.clone()), &found.name),
            kind,
            not_null,
            nulls: if found.not_null || self.is_in_key(found) { 0.0 } else { rounded(found.statistics.nulls) },
            source: self.source(found, kind, names),
        }
    }

    fn is_in_key(&self, found: &FoundColumn) -> bool {
        self.table.primary_key.contains(&found.name)
    }

    /// Text without a bound cannot be in an index everywhere.
    fn indexed_type(&self, found: &FoundColumn) -> ColumnKind {
        let indexes = self.table.indexes.iter().map(|index| &index.columns);
        let is_indexed = indexes.chain([&self.table.primary_key]).any(|columns| columns.contains(&found.name));
        match found.kind {
            ColumnKind::Text if is_indexed => {
                let longest = found.statistics.lengths.map_or(64, |(_, most)| most);
                ColumnKind::VarChar(longest.clamp(1, 500) as u16)
            }
            kind => kind,
        }
    }

    fn source(&self, found: &FoundColumn, kind: ColumnKind, names: &mut NameMap) -> ValueSource {
        if let Some((parent, column)) = self.reference_of(found) {
            let table = names.of(NameOf::Table, &parent.name);
            let column = names.of(NameOf::Column(parent.name.clone()), column);
            let mut numbers = self.numbers(found, kind);
            // Those of all rows of the other table, unless only some are referred to.
            if let Some(distinct) = found.statistics.distinct.filter(|distinct| *distinct >= 0.95 * parent.rows as f64)
            {
                let all = if self.is_unique(found, distinct) { Distinct::All } else { Distinct::Natural };
                numbers.distinct = all;
            }
            return ValueSource::Reference { table, column, numbers };
        }
        if self.is_serial(found, kind) {
            return ValueSource::Serial;
        }
        let shape = self.shape(found, kind);
        let numbers = self.numbers(found, kind);
        let depends_on = self.dependence(found).filter(|_| numbers.distinct != Distinct::All).map(|(column, share)| {
            let column = names.of(NameOf::Column(self.table.name.clone()), column);
            Dependence { column, share: hundredths(share) }
        });
        ValueSource::Drawn(DrawnValues { numbers, depends_on, shape })
    }

    /// The column that decides about most rows of `found`, with its share of them. It is one with more values, or as many and earlier, so
    /// that no two decide about each other.
    fn dependence<'f>(&self, found: &'f FoundColumn) -> Option<(&'f str, f64)> {
        let place = |name: &str| self.table.columns.iter().position(|column| column.name == name);
        let order = |nth: usize| {
            let distinct = self.table.columns[nth].statistics.distinct.unwrap_or(0.0);
            (std::cmp::Reverse(distinct.round() as u64), nth)
        };
        let own = order(place(&found.name)?);
        let decides = |(name, share): &&(String, f64)| {
            let nth = place(name).filter(|nth| order(*nth) < own);
            let other = nth.map(|nth| &self.table.columns[nth]);
            // Each value of a column that is nearly unique has one row: that would be no dependence.
            let repeats = |other: &FoundColumn| {
                other.statistics.distinct.is_some_and(|distinct| 2.0 * distinct <= self.table.rows as f64)
            };
            *share >= DEPENDENCE_MIN && !self.is_digit(found) && other.is_some_and(repeats)
        };
        found.depends_on.iter().find(decides).map(|(name, share)| (name.as_str(), *share))
    }

    /// The column that a column refers to, of another table or of its own.
    fn reference_of(&self, found: &FoundColumn) -> Option<(&FoundTable, &String)> {
        let names = |reference: &FoundReference| reference.columns.iter().position(|name| *name == found.name);
        let (reference, nth) = self.table.references.iter().find_map(|it| Some((it, names(it)?)))?;
        let parent = self.all.iter().find(|table| table.name == reference.parent)?;
        let column = reference.parent_columns.get(nth)?;
        let is_itself = parent.name == self.table.name && *column == found.name;
        let target = parent.columns.iter().find(|other| other.name == *column)?;
        (target.kind == found.kind && parent.rows > 0 && !is_itself).then_some((parent, column))
    }

    /// A key of whole numbers from about 1 on, with few gaps.
    fn is_serial(&self, found: &FoundColumn, kind: ColumnKind) -> bool {
        let is_alone = self.table.primary_key == [found.name.clone()];
        let whole = matches!(kind, ColumnKind::SmallInt | ColumnKind::Int | ColumnKind::BigInt);
        let ends = || {
            Some((
                found.statistics.bounds.first()?.parse::<i64>().ok()?,
                found.statistics.bounds.last()?.parse::<i64>().ok()?,
            ))
        };
        let is_dense = ends().is_none_or(|(least, most)| {
            let numbers = most.abs_diff(least).saturating_add(1);
            (0..=1_000).contains(&least) && numbers <= self.table.rows.saturating_mul(3) / 2 + 10
        });
        is_alone && whole && is_dense
    }

    /// Whether each row has a value of its own.
    fn is_unique(&self, found: &FoundColumn, distinct: f64) -> bool {
        let unique = self.table.indexes.iter().filter(|index| index.unique).map(|index| &index.columns);
        let is_key = unique.chain([&self.table.primary_key]).any(|columns| *columns == [found.name.clone()]);
        let valued = self.table.rows as f64 * (1.0 - found.statistics.nulls);
        is_key || valued > 1.0 && distinct >= 0.999 * valued
    }

    /// Whether a column is counted as a digit of a key, and has no law of its own.
    fn is_digit(&self, found: &FoundColumn) -> bool {
        let unique = self.table.indexes.iter().filter(|index| index.unique).map(|index| &index.columns);
        let mut keys = unique.chain([&self.table.primary_key]).filter(|columns| columns.len() > 1);
        keys.any(|columns| columns.contains(&found.name) && !self.has_unique_column(columns))
    }

    /// Whether it has the most values of the columns of a key of several: it grows with the table.
    fn is_first_digit(&self, found: &FoundColumn, distinct: f64) -> bool {
        let others = self.table.columns.iter().filter(|column| column.name != found.name && self.is_digit(column));
        let most = others.filter_map(|column| column.statistics.distinct).fold(0.0, f64::max);
        self.is_digit(found) && distinct >= most && distinct <= self.table.rows as f64
    }

    fn has_unique_column(&self, columns: &[String]) -> bool {
        let of_key = self.table.columns.iter().filter(|column| columns.contains(&column.name));
        of_key.clone().any(|column| column.statistics.distinct.is_some_and(|distinct| self.is_unique(column, distinct)))
    }

    fn numbers(&self, found: &FoundColumn, kind: ColumnKind) -> ValueNumbers {
        let statistics = &found.statistics;
        let distinct = match statistics.distinct {
            Some(distinct) if self.is_unique(found, distinct) => Distinct::All,
            None if self.is_unique(found, 0.0) => Distinct::All,
            Some(_) if kind == ColumnKind::Boolean => Distinct::Natural,
            Some(distinct) if self.is_first_digit(found, distinct) => self.share_of(distinct),
            Some(distinct) => self.distinct_of(distinct),
            None => Distinct::Natural,
        };
        let is_plain = distinct == Distinct::All || self.is_digit(found);
        let common = if is_plain { Vec::new() } else { common_of(statistics, distinct) };
        // An order of rows that is hardly one costs the exactness of the shares.
        let correlation = if statistics.correlation.abs() < 0.05 { 0.0 } else { hundredths(statistics.correlation) };
        ValueNumbers { distinct, common, access: None, correlation }
    }

    /// A number of values that grows with the table if it is more than a tenth of the rows: what PostgreSQL assumes.
    fn distinct_of(&self, distinct: f64) -> Distinct {
        let share = distinct / self.table.rows.max(1) as f64;
        if share > 0.1 { self.share_of(distinct) } else { Distinct::Count((distinct.round() as u64).max(1)) }
    }

    /// So many values as a share of the rows; as a number if no share can be written: of an empty table, or of few values of many rows.
    fn share_of(&self, distinct: f64) -> Distinct {
        let share = rounded((distinct / self.table.rows.max(1) as f64).min(1.0));
        if share > 0.0 { Distinct::Share(share) } else { Distinct::Count((distinct.round() as u64).max(1)) }
    }

    fn shape(&self, found: &FoundColumn, kind: ColumnKind) -> ValueShape {
        let statistics = &found.statistics;
        if kind.is_text() {
            let room = match kind {
                ColumnKind::Char(length) | ColumnKind::VarChar(length) => u32::from(length),
                _ => 65_535,
            };
            let lengths = statistics.lengths.map(|(least, most)| (least.min(room), most.clamp(1, room)));
            return ValueShape::Length(lengths.map(|(least, most)| (least.min(most), most)));
        }
        if kind == ColumnKind::Boolean || self.hides_names {
            return plain_shape(kind);
        }
        let read = |bound: &String| match found.reading {
            // Decades are more seconds than the column of a plan takes.
            Reading::Seconds => {
                units_of(kind, bound).or_else(|| seconds_in(bound)).filter(|seconds| i32::try_from(*seconds).is_ok())
            }
            _ => units_of(kind, bound),
        };
        let mut bounds: Vec<i64> = statistics.bounds.iter().filter_map(read).collect();
        bounds.sort_unstable();
        let unique = statistics.distinct.is_some_and(|distinct| self.is_unique(found, distinct));
        match bounds[..] {
            // Of a time of day without bounds it is known that it is one of a day.
            [] if found.reading == Reading::Seconds => ValueShape::Range(Some((0, 86_399))),
            [] => ValueShape::Range(None),
            [first, .., last] if unique || self.is_digit(found) || bounds.len() == 2 => {
                ValueShape::Range(Some((first, last)))
            }
            [one] => ValueShape::Range(Some((one, one))),
            [first, .., last] => match statistics.distinct {
                // So few that they are the bounds, or nearly.
                Some(distinct) if distinct <= bounds.len() as f64 => ValueShape::Range(Some((first, last))),
                _ => ValueShape::Histogram(bounds),
            },
        }
    }
}

/// The seconds of a time such as `-12:34:56.5` or `12:34:56+02`.
fn seconds_in(text: &str) -> Option<i64> {
    let text = text.trim().trim_matches('"');
    let (sign, text) = text.strip_prefix('-').map_or((1, text), |rest| (-1, rest));
    let mut parts = text.split(':');
    let mut next =
        || parts.next()?.split(['.', '+', '-']).next()?.parse::<i64>().ok().filter(|part| *part < 1_000_000_000);
    let (hours, minutes) = (next()?, next()?);
    Some(sign * (hours * 3_600 + minutes * 60 + next().unwrap_or(0)))
}

/// The units of a bound as an engine writes it: with more digits than are kept, or with a fraction of a second.
fn units_of(kind: ColumnKind, text: &str) -> Option<i64> {
    let text = text.trim().trim_matches('"');
    match kind {
        ColumnKind::Date => kind.units_in(text.get(..10)?),
        ColumnKind::DateTime => kind.units_in(text.get(..19).unwrap_or(text)),
        _ => kind.units_in(text).or_else(|| {
            let units = (text.parse::<f64>().ok()? * kind.units_per_one()? as f64).round();
            (units.abs() < 9e18).then_some(units as i64)
        }),
    }
}

/// The shares of common values, as many as there may be.
fn common_of(statistics: &ColumnStatistics, distinct: Distinct) -> Vec<f64> {
    let shares: Vec<f64> = statistics.common.iter().map(|share| rounded(*share)).filter(|share| *share > 0.0).collect();
    let most = match distinct {
        Distinct::Count(count) => count as usize,
        _ => shares.len(),
    };
    let mut shares: Vec<f64> = shares.into_iter().take(most).collect();
    let sum: f64 = shares.iter().sum();
    let is_all = shares.len() == most && matches!(distinct, Distinct::Count(_));
    if sum > 1.0 || is_all && sum < 1.0 {
        // What rounding and the sample have left over is divided among them.
        shares.iter_mut().for_each(|share| *share /= sum);
    }
    shares.into_iter().map(four_digits).collect()
}

/// `share` with four digits, which are more than a sample knows. It is cut off, so that shares are never more than all together.
fn four_digits(share: f64) -> f64 {
    let scale = 10f64.powi(3 - share.log10().floor() as i32);
    // A share that has four digits may be a little below them as a binary number.
    (share * scale + 1e-6).floor() / scale
}

/// Six digits are enough for a row of a million.
fn rounded(share: f64) -> f64 {
    (share.clamp(0.0, 1.0) * 1e6).round() / 1e6
}

fn hundredths(correlation: f64) -> f64 {
    (correlation.clamp(-1.0, 1.0) * 100.0).round() / 100.0
}

/// The tables that statements are written for: those with a primary key, the largest first.
pub fn with_keys(tables: &[OwnTable], most: usize) -> Vec<&OwnTable> {
    let mut keyed: Vec<&OwnTable> =
        tables.iter().filter(|table| !table.primary_key.is_empty() && table.rows > 0).collect();
    keyed.sort_by_key(|table| std::cmp::Reverse(table.rows));
    keyed.truncate(most);
    // No two of one name, whatever the spelling.
    let mut seen = BTreeSet::new();
    keyed.retain(|table| seen.insert(table.name.to_ascii_lowercase()));
    keyed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_have_four_digits_and_are_never_more_than_all() {
        assert_eq!(
            [0.07890100000000001, 1.0, 0.9, 0.000123456, 1.0 / 3.0].map(four_digits),
            [0.0789, 1.0, 0.9, 0.0001234, 0.3333]
        );
        let statistics = ColumnStatistics { common: vec![0.5, 0.3, 0.21], ..ColumnStatistics::default() };
        let shares = common_of(&statistics, Distinct::Count(3));
        assert_eq!(shares, [0.495, 0.297, 0.2079]);
        assert!((0.999..=1.0).contains(&shares.iter().sum::<f64>()), "{shares:?}");
    }
}
