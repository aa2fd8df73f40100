//! How the values of a column follow from what a plan says of it, or why they cannot.
//!
//! In: tables as a plan has them. Out: [`ColumnLayout`]s, or the first fault. Limits: one column at a time; what keys need is seen in `keys`.

use super::keys;
use super::layout::{
    ColumnLayout, Follows, Law, Nulls, Numbers, RandomOrder, RowOrder, Segment, Shape, Source, fault, fault_of_table,
};
use super::names::{check_name, check_tables, find_name, no_name_twice};
use super::types::text_room;
use crate::distribution::from_access;
use crate::random::mix_word;
use crate::scatter::Scatter;
use model::own_table::{
    ColumnKind, Distinct, DrawnValues, OwnColumn, OwnConstant, OwnFault, OwnTable, ValueNumbers, ValueShape,
    ValueSource,
};

/// The most tables, and columns of one.
const TABLES_MAX: usize = 500;
const COLUMNS_MAX: usize = 1_000;
/// A million million rows.
const ROWS_MAX: u64 = 1 << 40;

/// What can be judged without values: names, numbers, constraints.
pub(super) fn check_shapes(tables: &[OwnTable]) -> Result<(), OwnFault> {
    if tables.is_empty() || tables.len() > TABLES_MAX {
        let text = format!("a plan has 1 to {TABLES_MAX} tables, and not {}", tables.len());
        return Err(OwnFault { table: None, column: None, text });
    }
    check_tables(tables)?;
    for (number, table) in tables.iter().enumerate() {
        if table.columns.is_empty() || table.columns.len() > COLUMNS_MAX {
            let (name, count) = (&table.name, table.columns.len());
            return Err(fault_of_table(number, format!("table `{name}` has {count} columns; use 1 to {COLUMNS_MAX}")));
        }
        if table.rows > ROWS_MAX {
            let text =
                format!("table `{}` has {} rows after scaling; at most {ROWS_MAX} are allowed", table.name, table.rows);
            return Err(fault_of_table(number, text));
        }
        check_columns_of(number, table)?;
        keys::check_keys(number, table)?;
    }
    Ok(())
}

fn check_columns_of(number: usize, table: &OwnTable) -> Result<(), OwnFault> {
    for (nth, column) in table.columns.iter().enumerate() {
        check_name(&column.name).map_err(|why| fault(number, nth, why))?;
        check_nulls(table, column).map_err(|why| fault(number, nth, why))?;
    }
    let names = table.columns.iter().map(|column| column.name.as_str());
    no_name_twice(names).map_err(|(nth, name)| {
        fault(number, nth, format!("two columns of table `{}` are named `{name}`: rename one", table.name))
    })
}

fn check_nulls(table: &OwnTable, column: &OwnColumn) -> Result<(), String> {
    let (name, share) = (&column.name, column.nulls);
    let is_key = table.primary_key.iter().any(|key| key.eq_ignore_ascii_case(name));
    match share {
        share if !(0.0..=1.0).contains(&share) => {
            Err(format!("column `{name}`: nulls = `{share}` is no share; use a number from 0 to 1"))
        }
        share if share > 0.0 && is_key => {
            Err(format!("column `{name}` is in the primary key and cannot be NULL; leave out nulls = `{share}`"))
        }
        share if share > 0.0 && column.not_null => {
            Err(format!("column `{name}` is NOT NULL, but nulls = `{share}`; leave out one of them"))
        }
        _ => Ok(()),
    }
}

pub(super) struct ColumnResolver<'a> {
    pub(super) tables: &'a [OwnTable],
    pub(super) table: usize,
    pub(super) column: usize,
    pub(super) seed: u64,
}

impl ColumnResolver<'_> {
    pub(super) fn resolve(&self) -> Result<ColumnLayout, OwnFault> {
        let own = self.own();
        let source = match &own.source {
            ValueSource::Constant(value) => self.constant(value)?,
            ValueSource::Serial => self.serial()?,
            ValueSource::Drawn(drawn) => self.drawn(drawn)?,
            ValueSource::Reference { table, column, numbers } => self.parent(table, column, numbers)?,
            ValueSource::Computed { column, times, from, to } => self.computed(column, (*times, *from, *to))?,
        };
        Ok(ColumnLayout { kind: own.kind, nulls: self.nulls(), source })
    }

    fn own(&self) -> &OwnColumn {
        &self.tables[self.table].columns[self.column]
    }

    fn rows(&self) -> u64 {
        self.tables[self.table].rows
    }

    fn refused(&self, why: impl std::fmt::Display) -> OwnFault {
        fault(self.table, self.column, format!("column `{}`: {why}", self.own().name))
    }

    /// What makes the draws for `purpose` differ from all others.
    fn stream(&self, column: usize, purpose: u64) -> u64 {
        mix_word(mix_word(self.seed ^ (self.table as u64) << 32 ^ column as u64) ^ purpose)
    }

    fn nulls(&self) -> Option<Nulls> {
        let (rows, share) = (self.rows(), self.own().nulls);
        let valued = rows - ((rows as f64 * share).round() as u64).min(rows);
        (share > 0.0).then(|| Nulls { valued, order: RandomOrder::new(rows, self.stream(self.column, 1)) })
    }

    fn constant(&self, value: &OwnConstant) -> Result<Source, OwnFault> {
        let kind = self.own().kind;
        let fits = match value {
            OwnConstant::Units(units) => kind.unit_limits().is_some_and(|(least, most)| (least..=most).contains(units)),
            OwnConstant::Bool(_) => kind == ColumnKind::Boolean,
            OwnConstant::Text(text) => {
                text_room(kind).is_some_and(|room| text.len() <= room) && text.is_ascii() && !text.contains('\0')
            }
        };
        if !fits {
            return Err(self.refused(format_args!("its `value` does not fit into `{kind}`")));
        }
        Ok(Source::Constant(value.clone()))
    }

    fn serial(&self) -> Result<Source, OwnFault> {
        self.check_numbers_to(self.rows())?;
        Ok(Source::Serial)
    }

    /// Refuses numbers from 1 to `most` that the type does not hold.
    fn check_numbers_to(&self, most: u64) -> Result<(), OwnFault> {
        let kind = self.own().kind;
        match (kind.unit_limits(), kind.units_per_one()) {
            (Some((_, limit)), Some(units)) if (limit / units) as u64 >= most => Ok(()),
            (Some(_), Some(_)) => {
                Err(self.refused(format_args!("`{kind}` cannot count {most} rows; use a larger type or fewer rows")))
            }
            _ => Err(self.refused(format_args!("`{kind}` cannot count rows; use a type of numbers or dates"))),
        }
    }

    fn parent(&self, table: &str, column: &str, numbers: &ValueNumbers) -> Result<Source, OwnFault> {
        let (parent, other) = self.find_parent(table, column)?;
        let (own, target) = (self.own(), &self.tables[parent].columns[other]);
        if target.kind != own.kind {
            let (kind, wanted) = (own.kind, target.kind);
            return Err(self.refused(format_args!("is `{kind}`, but `{table}.{column}` is `{wanted}`; use one type")));
        }
        if target.nulls > 0.0 {
            return Err(self.refused(format_args!("refers to `{table}.{column}`, which may be NULL; refer to a key")));
        }
        let count = self.tables[parent].rows;
        if count == 0 && self.rows() > 0 {
            return Err(self.refused(format_args!("refers to table `{table}`, which has no rows")));
        }
        let distinct = match self.resolve_distinct(numbers.distinct, None) {
            None => count,
            Some(distinct) if distinct <= count => distinct,
            Some(_) if numbers.distinct == Distinct::All => {
                let rows = self.rows();
                return Err(self.refused(format_args!(
                    "distinct = `all` with {rows} rows refers to only {count} rows of `{table}`"
                )));
            }
            Some(_) => count,
        };
        let numbers = self.numbers(numbers, distinct.max(1), self.first_of_group())?;
        Ok(Source::Parent { table: parent, column: other, numbers, rows: Scatter::new(count), count: count.max(1) })
    }

    fn find_parent(&self, table: &str, column: &str) -> Result<(usize, usize), OwnFault> {
        let parent = find_name(self.tables.iter().map(|other| other.name.as_str()), table)
            .ok_or_else(|| self.refused(format_args!("refers to table `{table}`, which the plan does not have")))?;
        let names = self.tables[parent].columns.iter().map(|other| other.name.as_str());
        let other = find_name(names, column).ok_or_else(|| {
            self.refused(format_args!("refers to `{table}.{column}`, but that table has no such column"))
        })?;
        Ok((parent, other))
    }

    /// Columns that refer to different columns of a table are of the same row of it: the first of them has the draws of all.
    fn first_of_group(&self) -> usize {
        let columns = &self.tables[self.table].columns;
        let target = |nth: usize| match &columns[nth].source {
            ValueSource::Reference { table, column, .. } => Some((table.to_lowercase(), column.to_lowercase())),
            _ => None,
        };
        let Some((table, column)) = target(self.column) else { return self.column };
        let turn = (0..self.column).filter(|nth| target(*nth) == Some((table.clone(), column.clone()))).count();
        let is_of_table = |nth: &usize| target(*nth).is_some_and(|(other, _)| other == table);
        let in_turn = |nth: &usize| (0..*nth).filter(|before| target(*before) == target(*nth)).count() == turn;
        (0..=self.column).filter(is_of_table).find(in_turn).unwrap_or(self.column)
    }

    fn computed(&self, column: &str, (times, from, to): (i64, i64, i64)) -> Result<Source, OwnFault> {
        let other = self.find_column(column, "is computed from")?;
        let (kind, base) = (self.own().kind, self.tables[self.table].columns[other].kind);
        let dates = [ColumnKind::Date, ColumnKind::DateTime];
        let is_counted = |kind: ColumnKind| kind.units_per_one().is_some();
        if !is_counted(kind) || !is_counted(base) || (dates.contains(&kind) || dates.contains(&base)) && kind != base {
            return Err(
                self.refused(format_args!("is `{kind}` and cannot be computed from `{column}`, which is `{base}`"))
            );
        }
        if from > to {
            return Err(self.refused(format_args!("plus = `{from}` to `{to}`: the least comes first")));
        }
        Ok(Source::Computed { column: other, times, from, to, stream: self.stream(self.column, 2) })
    }

    fn find_column(&self, name: &str, what: &str) -> Result<usize, OwnFault> {
        let names = self.tables[self.table].columns.iter().map(|other| other.name.as_str());
        find_name(names, name)
            .ok_or_else(|| self.refused(format_args!("{what} `{name}`, but the table has no such column")))
    }

    fn drawn(&self, drawn: &DrawnValues) -> Result<Source, OwnFault> {
        let natural = self.natural_distinct(&drawn.shape)?;
        let wanted = self.resolve_distinct(drawn.numbers.distinct, natural);
        let distinct = wanted.or(natural).unwrap_or(self.rows()).max(1);
        let shape = self.shape(&drawn.shape, distinct)?;
        let numbers = self.numbers(&drawn.numbers, distinct, self.column)?;
        let follows = drawn.depends_on.as_ref().map(|on| {
            let column = self.find_column(&on.column, "depends on")?;
            if !(0.0..=1.0).contains(&on.share) {
                return Err(self.refused(format_args!("dependence = `{}` is no share; use 0 to 1", on.share)));
            }
            let (rows, order) = (self.rows(), RandomOrder::new(self.rows(), self.stream(self.column, 3)));
            let rows = (rows as f64 * on.share).round() as u64;
            Ok(Follows { column, distinct: 1, scatter: Scatter::new(1), rows, order })
        });
        Ok(Source::Drawn { numbers, follows: follows.transpose()?, shape })
    }

    /// The number of values that is written; `None` if none is. A share of the rows never makes more than there are.
    fn resolve_distinct(&self, distinct: Distinct, most: Option<u64>) -> Option<u64> {
        match distinct {
            Distinct::Natural => None,
            Distinct::All => Some(self.rows().max(1)),
            Distinct::Count(count) => Some(count.max(1)),
            Distinct::Share(share) => {
                Some(((self.rows() as f64 * share).round() as u64).clamp(1, most.unwrap_or(u64::MAX).max(1)))
            }
        }
    }

    /// How many values `shape` has, if that follows from it.
    fn natural_distinct(&self, shape: &ValueShape) -> Result<Option<u64>, OwnFault> {
        let kind = self.own().kind;
        let wrong = || self.refused(format_args!("its values do not fit into `{kind}`"));
        let span = |least: i64, most: i64| {
            let (low, high) = kind.unit_limits().ok_or_else(wrong)?;
            if least > most {
                return Err(self.refused("its `min` is above its `max`"));
            }
            if least < low || most > high {
                return Err(wrong());
            }
            Ok(Some(most.abs_diff(least).saturating_add(1)))
        };
        match shape {
            ValueShape::Range(Some((least, most))) => span(*least, *most),
            ValueShape::Range(None) => kind.unit_limits().map(|_| None).ok_or_else(wrong),
            ValueShape::Histogram(bounds) => match bounds[..] {
                [first, .., last] if bounds.is_sorted() => Ok(span(first, last)?.map(|all| all.min(self.rows()))),
                _ => Err(self.refused("its `histogram` needs at least two bounds, in rising order")),
            },
            ValueShape::Texts(texts) => {
                let fits = |text: &String| {
                    text_room(kind).is_some_and(|room| text.len() <= room) && text.is_ascii() && !text.contains('\0')
                };
                if texts.is_empty() || !texts.iter().all(fits) {
                    return Err(wrong());
                }
                Ok(Some(texts.len() as u64))
            }
            ValueShape::Length(_) => text_room(kind).map(|_| None).ok_or_else(wrong),
            ValueShape::Truths if kind == ColumnKind::Boolean => Ok(Some(2)),
            ValueShape::Truths => Err(wrong()),
        }
    }

    fn shape(&self, shape: &ValueShape, distinct: u64) -> Result<Shape, OwnFault> {
        let room = |has: u64| {
            if has < distinct {
                let what = format_args!("has room for {has} different values, but {distinct} are asked for");
                return Err(self.refused(what));
            }
            Ok(())
        };
        let kind = self.own().kind;
        match shape {
            ValueShape::Range(None) => {
                self.check_numbers_to(distinct)?;
                let unit = kind.units_per_one().unwrap_or(1);
                let min = kind.usual_min();
                Ok(Shape::Range { min, span: distinct.saturating_mul(unit as u64) })
            }
            ValueShape::Range(Some((least, most))) => {
                let span = most.abs_diff(*least).saturating_add(1);
                room(span)?;
                Ok(Shape::Range { min: *least, span })
            }
            ValueShape::Histogram(bounds) => Ok(Shape::Histogram(bounds.clone())),
            ValueShape::Texts(texts) => room(texts.len() as u64).map(|()| Shape::Texts(texts.clone())),
            ValueShape::Truths => room(2).map(|()| Shape::Truths),
            ValueShape::Length(length) => self.text_shape(*length, distinct),
        }
    }

    fn text_shape(&self, length: Option<(u32, u32)>, distinct: u64) -> Result<Shape, OwnFault> {
        let kind = self.own().kind;
        let room = text_room(kind).unwrap_or(0) as u32;
        let (least, most) = length.unwrap_or_else(|| super::types::usual_length(kind));
        if least > most || most > room {
            return Err(self.refused(format_args!("length = `{least}` to `{most}` does not fit into `{kind}`")));
        }
        // The code tells texts apart: 36 characters for each place.
        let code = (0..14).find(|places| 36u128.pow(*places) >= u128::from(distinct)).unwrap_or(13);
        if code > most {
            let has = 36u128.pow(most);
            return Err(self.refused(format_args!(
                "{most} characters have room for {has} different values, but {distinct} are asked for"
            )));
        }
        Ok(Shape::Length { code: code as usize, least: least.max(code), most })
    }

    fn numbers(&self, numbers: &ValueNumbers, distinct: u64, of_column: usize) -> Result<Numbers, OwnFault> {
        let correlation = numbers.correlation;
        if !(-1.0..=1.0).contains(&correlation) {
            return Err(self.refused(format_args!("correlation = `{correlation}` is none; use a number from -1 to 1")));
        }
        if numbers.access.is_some() && (correlation != 0.0 || !numbers.common.is_empty()) {
            return Err(self.refused("`distribution` goes with neither `common` nor `correlation`; leave it out"));
        }
        // With an order of the rows the place of a row is its own; else rows without a value take none.
        let skips_nulls = correlation == 0.0 && numbers.access.is_none();
        let places = match self.nulls() {
            Some(nulls) if skips_nulls => nulls.valued,
            _ => self.rows(),
        };
        let law = match (&numbers.access, &numbers.common[..]) {
            (Some(access), _) => Law::Access(from_access(access, distinct)),
            (None, []) => Law::Even,
            (None, common) => Law::Common(self.segments(&self.fitted(common, numbers, distinct), distinct, places)?),
        };
        let stream = self.stream(of_column, 0);
        let order = RowOrder::new(correlation, places, stream);
        let grows = matches!(numbers.distinct, Distinct::Share(_));
        Ok(Numbers { stream, places, skips_nulls, distinct, grows, law, order })
    }

    /// The shares of common values. If their number falls with the rows, there may be fewer than are written: these have all rows then.
    fn fitted(&self, common: &[f64], numbers: &ValueNumbers, distinct: u64) -> Vec<f64> {
        let is_written = match (numbers.distinct, &self.own().source) {
            (Distinct::Count(_) | Distinct::All, ValueSource::Drawn(_)) => true,
            (Distinct::Natural, ValueSource::Drawn(drawn)) => {
                !matches!(drawn.shape, ValueShape::Histogram(_) | ValueShape::Length(_) | ValueShape::Range(None))
            }
            _ => false,
        };
        if is_written || (common.len() as u64) < distinct {
            return common.to_vec();
        }
        let kept = &common[..distinct as usize];
        let sum: f64 = kept.iter().sum();
        kept.iter().map(|share| if sum > 0.0 { share / sum } else { *share }).collect()
    }

    /// The places of common values, and of the others.
    fn segments(&self, common: &[f64], distinct: u64, places: u64) -> Result<Vec<Segment>, OwnFault> {
        let sum: f64 = common.iter().sum();
        if common.iter().any(|share| !(0.0..=1.0).contains(share)) || sum > 1.0 + 1e-6 {
            return Err(self.refused(format_args!("the shares in `common` are {sum} together; they are at most 1")));
        }
        if common.len() as u64 > distinct {
            let count = common.len();
            return Err(self.refused(format_args!("`common` has {count} shares, but there are {distinct} values")));
        }
        if common.len() as u64 == distinct && sum < 0.999 {
            return Err(self.refused(format_args!(
                "the shares in `common` are {sum} together, and no value is left for the other rows; add values or shares"
            )));
        }
        Ok(cut_into_segments(common, sum.min(1.0), (distinct, places), self.is_between_bounds()))
    }

    /// Whether the values are those between the bounds of a histogram, of which the common ones may be any.
    fn is_between_bounds(&self) -> bool {
        let histogram = |drawn: &DrawnValues| matches!(drawn.shape, ValueShape::Histogram(_));
        matches!(&self.own().source, ValueSource::Drawn(drawn) if histogram(drawn))
    }
}

/// The segments of `common` values, whose shares are `sum` together, and of the others: behind them, or with them `spread` among the others.
fn cut_into_segments(common: &[f64], sum: f64, (distinct, places): (u64, u64), spread: bool) -> Vec<Segment> {
    let (count, others) = (common.len() as u64, distinct - common.len() as u64);
    let share_of_other = if others > 0 { (1.0 - sum) / others as f64 } else { 0.0 };
    let number_of = |nth: u64| {
        if spread { (u128::from(2 * nth + 1) * u128::from(distinct) / u128::from(2 * count)) as u64 } else { nth }
    };
    let (mut segments, mut shares, mut next) = (Vec::new(), 0.0, 0);
    let mut push = |share: f64, first: u64, values: u64| {
        shares += share;
        let end = ((shares * places as f64).round() as u64).min(places);
        segments.push(Segment { end, first, values });
    };
    for (nth, share) in (0..).zip(common) {
        let number = number_of(nth);
        push((number - next) as f64 * share_of_other, next, number - next);
        push(*share, number, 1);
        next = number + 1;
    }
    push((distinct - next) as f64 * share_of_other, next, distinct - next);
    segments.retain(|segment| segment.values > 0);
    // Rounding leaves no place over.
    segments.iter_mut().next_back().into_iter().for_each(|last| last.end = places);
    segments
}
