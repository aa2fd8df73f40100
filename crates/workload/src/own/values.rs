//! The values of rows: each a function of the layout, the table, the column and the number of the row.
//!
//! In: a layout. Out: values as arguments of statements. Limits: rows that were not loaded have values as well, the unique ones of their
//! own. A value takes 20 to 100 ns.

use super::layout::{ColumnLayout, Follows, Law, Layout, Nulls, Numbers, Shape, Source};
use super::types::push_units;
use crate::oltp::custom::int_between;
use crate::program::push_text;
use crate::random::{Words, mix_word, number_below, push_random_text, rng_for_key};
use model::own_table::OwnConstant;
use model::{SqlArg, SqlOp};

/// What becomes of a row that is NULL in a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NullRows {
    Stay,
    /// It has some value of the column: nothing is equal to NULL.
    GetAValue,
}

/// A value before it is written.
enum OwnValue<'a> {
    Null,
    Units(i64),
    Truth(bool),
    Text(&'a str),
    /// The text with this number.
    Numbered {
        number: u64,
        stream: u64,
        code: usize,
        least: u32,
        most: u32,
    },
}

impl Layout {
    /// Adds the value of `column` in `row`, from 0, as the next argument.
    pub(super) fn push_value(&self, op: &mut SqlOp, table: usize, column: usize, row: u64, nulls: NullRows) {
        match self.value_of(table, column, row, nulls) {
            OwnValue::Null => op.args.push(SqlArg::Null),
            OwnValue::Units(units) => push_units(op, self.tables[table].columns[column].kind, units),
            // As text: PostgreSQL takes no number for a truth.
            OwnValue::Truth(truth) => push_text(op, |text| text.push(b'0' + u8::from(truth))),
            OwnValue::Text(constant) => push_text(op, |text| text.extend_from_slice(constant.as_bytes())),
            OwnValue::Numbered { number, stream, code, least, most } => {
                push_text(op, |text| push_numbered(text, number, stream, (code, least, most)));
            }
        }
    }

    fn value_of(&self, table: usize, column: usize, row: u64, nulls: NullRows) -> OwnValue<'_> {
        let own = &self.tables[table].columns[column];
        match &own.source {
            _ if nulls == NullRows::Stay && self.is_null(table, column, row) => OwnValue::Null,
            _ if own.nulls.as_ref().is_some_and(|nulls| nulls.valued == 0) => OwnValue::Null,
            Source::Constant(OwnConstant::Units(units)) => OwnValue::Units(*units),
            Source::Constant(OwnConstant::Bool(truth)) => OwnValue::Truth(*truth),
            Source::Constant(OwnConstant::Text(text)) => OwnValue::Text(text),
            Source::Drawn { numbers, shape, .. } => {
                let number = self.number_of(table, column, row);
                shape.value_of(number, numbers.distinct, numbers.stream)
            }
            Source::Parent { table: parent, column: other, .. } => {
                let parent_row = self.number_of(table, column, row);
                self.value_of(*parent, *other, parent_row, NullRows::GetAValue)
            }
            Source::Serial | Source::Computed { .. } => OwnValue::Units(self.units_of(table, column, row)),
        }
    }

    /// The units of a column of numbers behind `part` of `parts` of its rows, in the order of its values.
    pub(super) fn units_along(&self, table: usize, column: usize, part: u64, parts: u64) -> i64 {
        let own = &self.tables[table].columns[column];
        match &own.source {
            Source::Drawn { numbers, shape, .. } => {
                let number = match &numbers.law {
                    Law::Common(_) => numbers.number_at(scaled(part, numbers.places, parts)),
                    _ => scaled(part, numbers.distinct, parts),
                };
                match shape.value_of(number, numbers.distinct, numbers.stream) {
                    OwnValue::Units(units) => units,
                    _ => 0,
                }
            }
            Source::Parent { table, column, .. } => self.units_along(*table, *column, part, parts),
            _ => self.units_of(table, column, scaled(part, self.tables[table].rows, parts)),
        }
    }

    /// Whether a column is NULL in a row: what is computed is, if what it is computed from is.
    fn is_null(&self, table: usize, column: usize, row: u64) -> bool {
        let own = &self.tables[table].columns[column];
        let is_own =
            own.nulls.as_ref().is_some_and(|nulls| nulls.place_of(row, self.tables[table].rows) >= nulls.valued);
        is_own || matches!(own.source, Source::Computed { column, .. } if self.is_null(table, column, row))
    }

    /// The units of a column of numbers or dates; 0 of any other.
    fn units_of(&self, table: usize, column: usize, row: u64) -> i64 {
        let own = &self.tables[table].columns[column];
        match &own.source {
            Source::Serial => {
                let unit = own.kind.units_per_one().unwrap_or(1);
                let first = own.kind.usual_min();
                (row as i64).saturating_mul(unit).saturating_add(first)
            }
            Source::Computed { column, times, from, to, stream } => {
                let mut rng = rng_for_key(*stream, row);
                let added = if from == to { *from } else { int_between(*from, *to, &mut rng) };
                let base = i128::from(self.units_of(table, *column, row)) * i128::from(*times) + i128::from(added);
                let (least, most) = own.kind.unit_limits().unwrap_or((i64::MIN, i64::MAX));
                base.clamp(least.into(), most.into()) as i64
            }
            _ => match self.value_of(table, column, row, NullRows::GetAValue) {
                OwnValue::Units(units) => units,
                _ => 0,
            },
        }
    }

    /// The number of the value of a column in a row; of a reference the row of the other table.
    fn number_of(&self, table: usize, column: usize, row: u64) -> u64 {
        let own = &self.tables[table].columns[column];
        let rows = self.tables[table].rows;
        match &own.source {
            Source::Drawn { numbers, follows, .. } => match follows {
                Some(follows) if self.does_follow(table, follows, row) => {
                    follows.number_of(self.number_of(table, follows.column, row), numbers.distinct)
                }
                _ => numbers.number_of(row, rows, own),
            },
            Source::Parent { numbers, rows: scatter, count, .. } => {
                let number = numbers.number_of(row, rows, own);
                numbers.parent_row(number, scatter, *count)
            }
            Source::Serial => row,
            Source::Constant(_) => 0,
            Source::Computed { .. } => mix_word(self.units_of(table, column, row) as u64),
        }
    }

    fn does_follow(&self, table: usize, follows: &Follows, row: u64) -> bool {
        let rows = self.tables[table].rows.max(1);
        follows.order.place_of(row % rows) < follows.rows && !self.is_null(table, follows.column, row)
    }
}

impl Nulls {
    /// The place of a row; those from `valued` on are NULL.
    #[inline]
    fn place_of(&self, row: u64, rows: u64) -> u64 {
        self.order.place_of(row % rows.max(1))
    }
}

impl Follows {
    /// The number of the value that belongs to number `other` of the column that is followed.
    fn number_of(&self, other: u64, distinct: u64) -> u64 {
        let spread = self.scatter.key_of(other % self.distinct);
        // Of more values as many have the same; of fewer each has its own.
        if self.distinct >= distinct { scaled(spread, distinct, self.distinct) } else { spread }
    }
}

/// `nth` of `of`, among `all`.
#[inline]
fn scaled(nth: u64, all: u64, of: u64) -> u64 {
    (u128::from(nth) * u128::from(all) / u128::from(of.max(1))) as u64
}

impl Numbers {
    /// The number of the value in `row` of `rows`.
    #[inline]
    fn number_of(&self, row: u64, rows: u64, own: &ColumnLayout) -> u64 {
        if let Law::Access(access) = &self.law {
            return access.draw(&mut rng_for_key(self.stream, row));
        }
        if let Law::Digit(_) = self.law {
            return self.digit_of(row, rows);
        }
        let is_new = row >= rows;
        if is_new && matches!(self.law, Law::Even) && self.distinct >= rows {
            // Behind all numbers of loaded rows.
            return self.distinct + (row - rows);
        }
        let row = if is_new { mix_word(row) % rows.max(1) } else { row };
        let nth = match &own.nulls {
            Some(nulls) if self.skips_nulls => nulls.place_of(row, rows) % self.places.max(1),
            _ => row,
        };
        self.number_at(self.order.place_of(nth, self.places))
    }

    /// The number of the value at a place.
    #[inline]
    fn number_at(&self, place: u64) -> u64 {
        let Law::Common(segments) = &self.law else { return scaled(place, self.distinct, self.places) };
        let nth = segments.partition_point(|segment| segment.end <= place);
        let Some(segment) = segments.get(nth) else { return self.distinct - 1 };
        let start = if nth == 0 { 0 } else { segments[nth - 1].end };
        segment.first + scaled(place - start, segment.values, segment.end - start)
    }

    /// The digit of a row in the number that no other row has: as many numbers lie between those of two rows as there are to spare, and one
    /// of them is taken.
    fn digit_of(&self, row: u64, rows: u64) -> u64 {
        let Law::Digit(digit) = self.law else { return 0 };
        let rows = rows.max(1);
        let (turn, row) = (row / rows, row % rows);
        let place = u128::from(self.order.place_of(row, rows));
        let first = scaled_wide(place, digit.all, rows);
        let spare = (scaled_wide(place + 1, digit.all, rows) - first).clamp(1, u64::MAX.into()) as u64;
        let number = first + u128::from(number_below(mix_word(row ^ 0x6a69_7474), spare));
        let own = (number / digit.divisor % u128::from(self.distinct)) as u64;
        // Rows that were not loaded have the digits of loaded ones, and a last one beyond all of these.
        if digit.is_last { own + turn * self.distinct } else { own }
    }

    /// The row of the other table with the number of a value.
    fn parent_row(&self, number: u64, scatter: &crate::scatter::Scatter, count: u64) -> u64 {
        let number = number % count;
        match (&self.order, &self.law) {
            // In the order of the rows, spread over all of them.
            (super::layout::RowOrder::OfRows { .. } | super::layout::RowOrder::Mixed { .. }, _)
            | (_, Law::Digit(_)) => scaled(number, count, self.distinct.max(1)).min(count - 1),
            _ => scatter.key_of(number),
        }
    }
}

/// `place * all / rows` without overflow: `all` may have more than 64 bits.
fn scaled_wide(place: u128, all: u128, rows: u64) -> u128 {
    let rows = u128::from(rows);
    all / rows * place + all % rows * place / rows
}

impl Shape {
    fn value_of(&self, number: u64, distinct: u64, stream: u64) -> OwnValue<'_> {
        match self {
            Shape::Range { min, span } => {
                let units = i128::from(*min) + i128::from(number) * i128::from(*span) / i128::from(distinct);
                OwnValue::Units(units.clamp(i64::MIN.into(), i64::MAX.into()) as i64)
            }
            Shape::Histogram(bounds) => OwnValue::Units(between_bounds(bounds, number, distinct)),
            Shape::Texts(texts) => OwnValue::Text(&texts[number as usize % texts.len()]),
            Shape::Truths => OwnValue::Truth(number % 2 == 1),
            Shape::Length { code, least, most } => {
                OwnValue::Numbered { number, stream, code: *code, least: *least, most: *most }
            }
        }
    }
}

/// The value at `number` of `distinct` along bounds with as many values between each two.
fn between_bounds(bounds: &[i64], number: u64, distinct: u64) -> i64 {
    let buckets = (bounds.len() - 1) as u128;
    let along = u128::from(number.min(distinct - 1)) * buckets;
    let (bucket, rest) = ((along / u128::from(distinct)) as usize, along % u128::from(distinct));
    let (low, high) = (bounds[bucket], bounds[bucket + 1]);
    (i128::from(low) + (i128::from(high) - i128::from(low)) * rest as i128 / i128::from(distinct)) as i64
}

/// Small letters and digits: texts that differ do so whatever the collation.
const CHARACTERS: &[u8; 64] = b"abcdefghijklmnopqrstuvwxyz0123456789abcdefghijklmnopqrstuvwxyz01";
const DIGITS: &[u8; 36] = b"0123456789abcdefghijklmnopqrstuvwxyz";

/// Appends the text with a number: its code in `code` places, and what is random by the number.
fn push_numbered(text: &mut Vec<u8>, number: u64, stream: u64, (code, least, most): (usize, u32, u32)) {
    let start = text.len();
    text.resize(start + code, b'0');
    let mut left = number;
    for place in (start..start + code).rev() {
        text[place] = DIGITS[(left % 36) as usize];
        left /= 36;
    }
    // Only texts of rows that were not loaded have more.
    while left > 0 {
        text.push(DIGITS[(left % 36) as usize]);
        left /= 36;
    }
    let mut rng = rng_for_key(stream, number);
    let length = u64::from(least) + number_below(rng.next_u64(), u64::from(most - least) + 1);
    let missing = (start as u64 + length).saturating_sub(text.len() as u64);
    push_random_text(text, missing as usize, CHARACTERS, &mut rng);
}
