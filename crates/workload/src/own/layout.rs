//! Tables of the user's own, resolved: names are numbers, and each column knows how its value follows from the number of its row.
//!
//! In: tables as a plan has them, the seed. Out: a [`Layout`], or the first fault. Limits: a row is a function of the seed, its table and
//! its number alone; nothing here touches a row.
//!
//! A column has a number of different values, which are numbered. Rows are put into an order of the column's own (random, that of the rows,
//! or in between), and the values are dealt out along it: so their shares are exact, and not those of a draw.

use super::keys;
use super::resolve::{ColumnResolver, check_shapes};
use crate::distribution::Distribution;
use crate::random::{mix_word, number_below};
use crate::scatter::Scatter;
use model::own_table::{ColumnKind, OwnConstant, OwnFault, OwnTable};

/// Rows of which each keeps its place or changes it, in the same order again and again.
pub(super) const BLOCK: u64 = 100;

pub(super) struct Layout {
    /// In the order of the plan.
    pub(super) tables: Vec<TableLayout>,
    /// Their numbers, each after those that it refers to.
    pub(super) order: Vec<usize>,
}

pub(super) struct TableLayout {
    pub(super) rows: u64,
    pub(super) columns: Vec<ColumnLayout>,
}

pub(super) struct ColumnLayout {
    pub(super) kind: ColumnKind,
    pub(super) nulls: Option<Nulls>,
    pub(super) source: Source,
}

/// In which rows a column is NULL.
#[derive(Clone)]
pub(super) struct Nulls {
    /// The rows that have a value.
    pub(super) valued: u64,
    pub(super) order: RandomOrder,
}

/// Where the values of a column come from.
pub(super) enum Source {
    Constant(OwnConstant),
    Serial,
    Drawn { numbers: Numbers, follows: Option<Follows>, shape: Shape },
    Parent { table: usize, column: usize, numbers: Numbers, rows: Scatter, count: u64 },
    Computed { column: usize, times: i64, from: i64, to: i64, stream: u64 },
}

/// Which of its values a column has in a row.
pub(super) struct Numbers {
    /// What makes its draws differ from those of other columns.
    pub(super) stream: u64,
    /// How many places the order of its rows has.
    pub(super) places: u64,
    /// Whether the places are those of rows with a value only.
    pub(super) skips_nulls: bool,
    pub(super) distinct: u64,
    /// Whether their number is a share of the rows, which a key may need some more of.
    pub(super) grows: bool,
    pub(super) law: Law,
    pub(super) order: RowOrder,
}

/// How often each value comes.
pub(super) enum Law {
    Even,
    /// These have places of their own, one after the other.
    Common(Vec<Segment>),
    Access(Distribution),
    /// One digit of a number that no other row has: see [`keys`].
    Digit(keys::Digit),
}

/// Values that share some places evenly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Segment {
    /// The place behind the last one.
    pub(super) end: u64,
    /// The number of the first value.
    pub(super) first: u64,
    /// How many values there are.
    pub(super) values: u64,
}

/// In which order the rows of a table get the values of a column.
#[derive(Clone)]
pub(super) enum RowOrder {
    Random(RandomOrder),
    /// That of the rows.
    OfRows {
        falling: bool,
    },
    /// That of the rows for `kept` of each [`BLOCK`]; the others change places among themselves.
    Mixed {
        kept: u64,
        falling: bool,
        others: RandomOrder,
    },
}

/// A random order of some places.
#[derive(Clone)]
pub(super) struct RandomOrder {
    places: u64,
    scatter: Scatter,
    shift: u64,
}

impl RandomOrder {
    pub(super) fn new(places: u64, stream: u64) -> RandomOrder {
        let places = places.max(1);
        RandomOrder { places, scatter: Scatter::new(places), shift: number_below(mix_word(stream), places) }
    }

    /// The place of what is at `nth`, which is below the number of places.
    #[inline]
    pub(super) fn place_of(&self, nth: u64) -> u64 {
        let shifted = (self.scatter.key_of(nth) + self.shift) % self.places;
        self.scatter.key_of(shifted)
    }
}

/// How a column follows another.
pub(super) struct Follows {
    pub(super) column: usize,
    /// The values of the other column, and how they are spread.
    pub(super) distinct: u64,
    pub(super) scatter: Scatter,
    /// The rows in which it follows, in an order of their own.
    pub(super) rows: u64,
    pub(super) order: RandomOrder,
}

/// What the values are.
pub(super) enum Shape {
    /// So many units from `min` on.
    Range {
        min: i64,
        span: u64,
    },
    Histogram(Vec<i64>),
    Texts(Vec<String>),
    /// A code of `code` characters that tells the number, and random ones up to a length in these bounds.
    Length {
        code: usize,
        least: u32,
        most: u32,
    },
    Truths,
}

/// A fault in a column.
pub(super) fn fault(table: usize, column: usize, text: impl Into<String>) -> OwnFault {
    OwnFault { table: Some(table), column: Some(column), text: text.into() }
}

/// A fault in a table.
pub(super) fn fault_of_table(table: usize, text: impl Into<String>) -> OwnFault {
    OwnFault { table: Some(table), column: None, text: text.into() }
}

impl Layout {
    /// The layout of `tables`, random by `seed`.
    pub(super) fn new(tables: &[OwnTable], seed: u64) -> Result<Layout, OwnFault> {
        check_shapes(tables)?;
        let order = super::circles::order_of_tables(tables)?;
        super::circles::check_columns(tables)?;
        let mut layout = Layout { tables: Vec::new(), order };
        for number in 0..tables.len() {
            let columns = (0..tables[number].columns.len()).map(|column| {
                ColumnResolver { tables, table: number, column, seed: mix_word(mix_word(seed) ^ 0x6f77_6e00) }.resolve()
            });
            let columns = columns.collect::<Result<Vec<_>, _>>()?;
            layout.tables.push(TableLayout { rows: tables[number].rows, columns });
        }
        (0..tables.len()).try_for_each(|number| keys::make_unique(tables, &mut layout, number))?;
        (0..tables.len()).try_for_each(|number| layout.check_followers(tables, number))?;
        Ok(layout)
    }

    /// Completes columns that follow others: how many values those have is known now.
    fn check_followers(&mut self, tables: &[OwnTable], table: usize) -> Result<(), OwnFault> {
        for column in 0..tables[table].columns.len() {
            let Source::Drawn { follows: Some(follows), .. } = &self.tables[table].columns[column].source else {
                continue;
            };
            let distinct = self.distinct_of(table, follows.column);
            let Source::Drawn { follows: Some(follows), numbers, .. } = &mut self.tables[table].columns[column].source
            else {
                continue;
            };
            (follows.distinct, follows.scatter) = (distinct, Scatter::new(distinct.max(numbers.distinct)));
        }
        Ok(())
    }

    /// How many different values a column has at most.
    pub(super) fn distinct_of(&self, table: usize, column: usize) -> u64 {
        match &self.tables[table].columns[column].source {
            Source::Constant(_) => 1,
            Source::Drawn { numbers, .. } | Source::Parent { numbers, .. } => numbers.distinct,
            Source::Serial | Source::Computed { .. } => self.tables[table].rows.max(1),
        }
    }
}

impl RowOrder {
    pub(super) fn new(correlation: f64, places: u64, stream: u64) -> RowOrder {
        let falling = correlation < 0.0;
        match (correlation.abs() * BLOCK as f64).round() as u64 {
            0 => RowOrder::Random(RandomOrder::new(places, stream)),
            BLOCK => RowOrder::OfRows { falling },
            kept => {
                let others = places / BLOCK * (BLOCK - kept) + (places % BLOCK).saturating_sub(kept);
                RowOrder::Mixed { kept, falling, others: RandomOrder::new(others, stream) }
            }
        }
    }

    /// The place of row `row`, both below `places`.
    #[inline]
    pub(super) fn place_of(&self, row: u64, places: u64) -> u64 {
        let turned = |place: u64, falling: bool| if falling { places - 1 - place } else { place };
        match self {
            RowOrder::Random(order) => order.place_of(row),
            RowOrder::OfRows { falling } => turned(row, *falling),
            RowOrder::Mixed { kept, falling, others } => {
                let (block, within) = (row / BLOCK, row % BLOCK);
                let moved = BLOCK - kept;
                let place = match within.checked_sub(*kept) {
                    None => row,
                    Some(nth) => {
                        let nth = others.place_of(block * moved + nth);
                        nth / moved * BLOCK + kept + nth % moved
                    }
                };
                turned(place, *falling)
            }
        }
    }
}
