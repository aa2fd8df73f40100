//! Each figure, declared once: its name in CSV and JSON, its unit, its heads, its help, how it is read, how repeats combine, which way is better.
//!
//! A slice of [`FigureDef`] is what is known of a subject, in the order of its CSV file. From it come the file and its reference, the columns
//! of tables, and what is compared. The structs with the values combine repeats themselves, field by field and without a rest, so that the
//! compiler asks for a rule for each new field; tests compare those rules with the ones declared here. The figures of response and service
//! times are made from the list of percentiles, by [`FigureDef::times`].

mod compression;
mod endpoint;
mod host;
mod insert;
mod point;
mod statement;

pub use compression::COMPRESSION_FIGURES;
pub use endpoint::ENDPOINT_FIGURES;
pub use host::{HOST_FIGURES, HOST_SYSTEM_FIGURES, INTERFACE_FIGURES};
pub use insert::INSERT_FIGURES;
pub use point::POINT_FIGURES;
pub use statement::{KIND_FIGURES, STATEMENT_FIGURES};

use model::{Percentile, Quantiles, QuotedTime};
use std::sync::LazyLock;
use words::quantity::whole;

/// Of subjects whose mean time is no figure.
const FIRST_PERCENTILE: QuotedTime = QuotedTime::At(Percentile::ALL[0]);

/// The figures of a subject that has times.
pub type Figures<T> = LazyLock<Vec<FigureDef<T>>>;

/// One figure of a `T`.
pub struct FigureDef<T> {
    /// Its name in CSV and JSON, which carries the unit.
    pub key: &'static str,
    /// What it counts, from which it follows how a value is written.
    pub unit: Unit,
    /// Its head in the terminal, as short as it can be; its key if no table has it.
    pub head: &'static str,
    /// Its head in a page, where there is more room.
    pub long_head: &'static str,
    /// What it is, for the reference.
    pub help: &'static str,
    /// Which way is the better one.
    pub better: Better,
    /// What a row of several repeats has of it.
    pub repeats: RepeatRule,
    /// Takes it from a `T`.
    pub read: Read<T>,
    /// Takes its 95 % confidence interval, if it can have one.
    pub ci95: Option<ReadInterval<T>>,
}

/// Takes the ends of a confidence interval.
pub type ReadInterval<T> = fn(&T) -> Option<[f64; 2]>;

/// How a figure is taken. `None` if it was not measured.
pub enum Read<T> {
    /// It is a number.
    Number(fn(&T) -> Option<f64>),
    /// It is one of several times.
    Time(fn(&T) -> Option<Quantiles>, QuotedTime),
    /// It is a word or a name.
    Word(fn(&T) -> Option<String>),
}

/// What a figure counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Things, such as operations.
    Count,
    /// Anything else without a unit: a mean of counts, a ratio.
    Number,
    /// A part of a whole, from 0 to 1.
    Share,
    /// Things in a second.
    PerSecond,
    Bytes,
    /// Bytes in a second.
    BytesPerSecond,
    /// Bits in a second.
    BitsPerSecond,
    /// A time in nanoseconds.
    Nanoseconds,
    /// A time in seconds.
    Seconds,
    /// Money, in the currency of the price that was given.
    Money,
    KilowattHours,
    Watts,
    /// A frequency in MHz.
    Megahertz,
    /// A word or a name.
    Word,
}

/// Which way a figure is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Better {
    /// The more of it the better.
    More,
    /// The less of it the better.
    Less,
    /// Neither: the figure only describes.
    Neither,
}

/// What a row of several repeats has of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RepeatRule {
    /// The mean of those that have it, with an interval if the figure can have one.
    Mean,
    Sum,
    Most,
    Least,
    /// The value of all repeats, or nothing if they differ.
    Same,
    /// That of the repeat with the slowest second.
    OfSlowest,
    /// It is of the times of all repeats together.
    Pooled,
    /// It follows from other figures of the row: a share of the sums, a cost at the mean rate.
    Follows,
}

impl<T> Clone for Read<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Read<T> {}

impl<T> Clone for FigureDef<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for FigureDef<T> {}

impl<T> FigureDef<T> {
    /// A number. A row has the mean of it.
    pub const fn number(
        key: &'static str,
        unit: Unit,
        help: &'static str,
        read: fn(&T) -> Option<f64>,
    ) -> FigureDef<T> {
        let (better, repeats) = (Better::Neither, RepeatRule::Mean);
        FigureDef { key, unit, head: key, long_head: key, help, better, repeats, read: Read::Number(read), ci95: None }
    }

    /// A word or a name. A row has it if all repeats have the same.
    pub const fn word(key: &'static str, help: &'static str, read: fn(&T) -> Option<String>) -> FigureDef<T> {
        let (unit, better, repeats) = (Unit::Word, Better::Neither, RepeatRule::Same);
        FigureDef { key, unit, head: key, long_head: key, help, better, repeats, read: Read::Word(read), ci95: None }
    }

    /// One of several times. A row has that of the times of all repeats together.
    pub const fn time(
        key: &'static str,
        help: &'static str,
        read: fn(&T) -> Option<Quantiles>,
        quoted: QuotedTime,
    ) -> FigureDef<T> {
        let repeats = if matches!(quoted, QuotedTime::Longest) { RepeatRule::Most } else { RepeatRule::Pooled };
        let (unit, better, read) = (Unit::Nanoseconds, Better::Less, Read::Time(read, quoted));
        FigureDef { key, unit, head: key, long_head: key, help, better, repeats, read, ci95: None }
    }

    /// The figures of the `response` or `service` times that `read` takes, from `first` on. `subject` says what they are of, behind the
    /// name of the
    /// first: `response time (finished - intended)`.
    pub fn times(word: &str, first: QuotedTime, subject: &str, read: fn(&T) -> Option<Quantiles>) -> Vec<FigureDef<T>> {
        let shown = QuotedTime::all().skip_while(|quoted| *quoted != first);
        let declared = shown.map(|quoted| {
            let needed = match quoted {
                QuotedTime::At(percentile) if percentile.needs_support() => {
                    ["; empty with fewer than ", &whole(percentile.ops_min() as f64).to_string(), " operations"]
                        .concat()
                }
                _ => String::new(),
            };
            let help = match quoted {
                _ if quoted == first => [quoted.name(), " ", subject].concat(),
                QuotedTime::Longest => [quoted.name(), " ", word, " time"].concat(),
                _ => [quoted.name(), " of it", &needed].concat(),
            };
            // Once for each figure, for as long as the program runs.
            FigureDef::time([word, "_", quoted.key()].concat().leak(), help.leak(), read, quoted)
        });
        declared.collect()
    }

    /// With a head for the terminal and one for a page.
    pub const fn heads(self, head: &'static str, long_head: &'static str) -> Self {
        FigureDef { head, long_head, ..self }
    }

    /// The more the better.
    pub const fn more(self) -> Self {
        FigureDef { better: Better::More, ..self }
    }

    /// The less the better.
    pub const fn less(self) -> Self {
        FigureDef { better: Better::Less, ..self }
    }

    /// The same figure; a row of several repeats shows it by this rule.
    pub const fn repeats(self, repeats: RepeatRule) -> Self {
        FigureDef { repeats, ..self }
    }

    /// With its 95 % confidence interval.
    pub const fn ci95(self, ci95: fn(&T) -> Option<[f64; 2]>) -> Self {
        FigureDef { ci95: Some(ci95), ..self }
    }

    /// Its number in `one`; `None` if it was not measured, or is a word.
    pub fn value(&self, one: &T) -> Option<f64> {
        match self.read {
            Read::Number(read) => read(one),
            Read::Time(read, quoted) => quoted.of(read(one)?),
            Read::Word(_) => None,
        }
    }

    /// The word that it is in `one`.
    pub fn text(&self, one: &T) -> Option<String> {
        match self.read {
            Read::Number(_) | Read::Time(..) => None,
            Read::Word(read) => read(one),
        }
    }

    /// Its confidence interval in `one`.
    pub fn interval(&self, one: &T) -> Option<[f64; 2]> {
        self.ci95?(one)
    }
}

/// The figure `key` of `all`.
///
/// # Panics
///
/// If there is none: that is a mistake in a table's list of columns.
pub fn figure<T>(all: &'static [FigureDef<T>], key: &str) -> &'static FigureDef<T> {
    all.iter().find(|one| one.key == key).unwrap_or_else(|| panic!("no figure is called `{key}`"))
}
