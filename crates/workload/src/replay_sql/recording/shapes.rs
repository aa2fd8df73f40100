//! The shapes of statements, counted, and the kinds that the most frequent of them become.
//!
//! In: shapes, again and again. Out: a number for each, and kinds with names. Limits: of the first [`SHAPES_MAX`] shapes; all that come
//! later are of the rest. The [`KINDS_MAX`] most frequent are kinds of their own, and all others are one. Shapes are distinguished by 64 bits
//! of a hash: of so many, two are taken for one with a chance of 1 in 10^9.

use model::OpClass;
use sql::Effect;
use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasher, RandomState};

/// The most kinds by name. A table of more is not read.
pub const KINDS_MAX: usize = 50;
/// The kind of the rest.
pub const OTHERS: &str = "other";
/// A program that writes names of its own into each statement has any number of them.
pub(super) const SHAPES_MAX: usize = 100_000;
const NAME_CHARS_MAX: usize = 72;

/// A kind of statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatementKind {
    /// Its shape, cut if it is long.
    pub name: String,
    /// What its statements do.
    pub class: OpClass,
    /// Whether they neither read nor write: they begin or end a transaction, or set something of their session.
    pub is_of_session: bool,
    /// How many there are.
    pub count: u64,
    /// Whether a trigger of the copy may change rows with them, as far as the copy was asked.
    pub may_fire: bool,
}

impl StatementKind {
    fn new(name: String, count: u64, (reads, writes): (bool, bool)) -> StatementKind {
        let class = OpClass::from_effects(reads, writes);
        StatementKind { name, class, is_of_session: !reads && !writes, count, may_fire: false }
    }

    /// Whether all of its statements differ in their values only.
    pub fn has_one_shape(&self) -> bool {
        self.name != OTHERS
    }
}

#[derive(Default)]
pub(super) struct Shapes {
    hasher: RandomState,
    numbers: HashMap<u64, u32>,
    counts: Vec<ShapeCount>,
}

struct ShapeCount {
    name: String,
    count: u64,
    reads: bool,
    writes: bool,
}

impl Shapes {
    /// The number of `shape`, of which there is one more with this `effect`.
    pub(super) fn count(&mut self, shape: &str, effect: Effect) -> u32 {
        let key = self.hasher.hash_one(shape);
        let next = self.counts.len();
        let number = match self.numbers.get(&key) {
            Some(number) => *number,
            None if next < SHAPES_MAX => {
                self.numbers.insert(key, next as u32);
                self.counts.push(ShapeCount::named(shortened(shape)));
                next as u32
            }
            // The rest is the last.
            None => {
                if next == SHAPES_MAX {
                    self.counts.push(ShapeCount::named(OTHERS.to_owned()));
                }
                SHAPES_MAX as u32
            }
        };
        let known = &mut self.counts[number as usize];
        known.count += 1;
        match effect {
            Effect::OfSession => {}
            Effect::Writes => known.writes = true,
            _ => known.reads = true,
        }
        number
    }

    /// The kinds, and which of them each shape is.
    pub(super) fn into_kinds(self) -> (Vec<StatementKind>, Vec<u32>) {
        let mut order: Vec<usize> = (0..self.counts.len()).collect();
        let is_rest = |nth: usize| nth == SHAPES_MAX;
        order.sort_by_key(|nth| (is_rest(*nth), std::cmp::Reverse(self.counts[*nth].count), *nth));
        let named = order.len().min(KINDS_MAX) - usize::from(order[..order.len().min(KINDS_MAX)].contains(&SHAPES_MAX));
        let (named, others) = order.split_at(named);
        let mut kind_of = vec![named.len() as u32; order.len()];
        let (mut kinds, mut names) = (Vec::new(), BTreeMap::new());
        for (kind, nth) in (0..).zip(named) {
            kind_of[*nth] = kind;
            let ShapeCount { name, count, reads, writes } = &self.counts[*nth];
            kinds.push(StatementKind::new(unique_name(name, &mut names), *count, (*reads, *writes)));
        }
        if !others.is_empty() {
            let any = |of: fn(&ShapeCount) -> bool| others.iter().any(|nth| of(&self.counts[*nth]));
            let effects = (any(|shape| shape.reads), any(|shape| shape.writes));
            let count = others.iter().map(|nth| self.counts[*nth].count).sum();
            kinds.push(StatementKind::new(OTHERS.to_owned(), count, effects));
        }
        (kinds, kind_of)
    }
}

impl ShapeCount {
    fn named(name: String) -> ShapeCount {
        ShapeCount { name, count: 0, reads: false, writes: false }
    }
}

/// The beginning of `shape`, in one line.
fn shortened(shape: &str) -> String {
    let plain = |c: char| if c.is_control() { ' ' } else { c };
    let mut name: String = shape.chars().take(NAME_CHARS_MAX).map(plain).collect();
    if shape.chars().nth(NAME_CHARS_MAX).is_some() {
        name.push_str("...");
    }
    name
}

/// `name`, with a number if another kind has it.
fn unique_name(name: &str, names: &mut BTreeMap<String, u32>) -> String {
    let count = names.entry(name.to_owned()).or_default();
    *count += 1;
    if *count > 1 { format!("{name} ({count})") } else { name.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_frequent_shapes_are_kinds_and_the_rest_is_one() {
        let mut shapes = Shapes::default();
        let mut numbers = Vec::new();
        for nth in 0..60 {
            let effect = if nth == 59 { Effect::Writes } else { Effect::Reads };
            (0..1 + u32::from(nth < 3)).for_each(|_| numbers.push(shapes.count(&format!("select c{nth}"), effect)));
        }
        let (kinds, kind_of) = shapes.into_kinds();
        assert_eq!((kinds.len(), kinds[0].count, kinds[0].name.as_str()), (KINDS_MAX + 1, 2, "select c0"));
        assert_eq!((kinds[KINDS_MAX].name.as_str(), kinds[KINDS_MAX].count), (OTHERS, 10));
        assert_eq!(kinds[KINDS_MAX].class, OpClass::from_effects(true, true));
        assert_eq!(kinds.iter().map(|kind| kind.count).sum::<u64>(), numbers.len() as u64);
        assert_eq!((kind_of[0], kind_of[59]), (0, KINDS_MAX as u32));
    }

    #[test]
    fn what_begins_or_ends_a_transaction_or_sets_something_neither_reads_nor_writes() {
        let mut shapes = Shapes::default();
        for effect in [Effect::OfSession, Effect::Reads, Effect::Calls, Effect::Writes] {
            shapes.count(&format!("{effect:?}"), effect);
        }
        let kinds = shapes.into_kinds().0;
        assert_eq!(kinds.iter().map(|kind| kind.is_of_session).collect::<Vec<_>>(), [true, false, false, false]);
        assert_eq!(kinds[3].class, OpClass::Write);
    }

    #[test]
    fn shapes_without_end_take_no_memory_without_end() {
        let mut shapes = Shapes::default();
        for nth in 0..SHAPES_MAX + 500 {
            shapes.count(&format!("select c{nth}"), Effect::Reads);
        }
        let (kinds, kind_of) = shapes.into_kinds();
        assert_eq!((kinds.len(), kind_of.len()), (KINDS_MAX + 1, SHAPES_MAX + 1));
        assert_eq!(kinds[KINDS_MAX].count as usize, SHAPES_MAX + 500 - KINDS_MAX);
    }

    #[test]
    fn names_are_short_and_differ() {
        let mut shapes = Shapes::default();
        for end in ["a", "b"] {
            shapes.count(&["select\n", &"x".repeat(100), end].concat(), Effect::Reads);
        }
        let names: Vec<String> = shapes.into_kinds().0.into_iter().map(|kind| kind.name).collect();
        assert!(names[0].starts_with("select xx") && names[0].ends_with("x..."), "{names:?}");
        assert_eq!(names[1], [&names[0], " (2)"].concat());
    }
}
