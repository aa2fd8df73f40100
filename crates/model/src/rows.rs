//! Rows: how many operations returned and changed, and how many a statement must.
//!
//! In: workloads declare what their statements do, drivers count what answers say. Out: recorders add the counts up, the store keeps them.
//! Limits: the numbers are the engine's own words; whether a changed row is on disk is not told by them.

use crate::units::is_zero;
use serde::{Deserialize, Serialize};
use std::fmt;

/// How many rows were returned and changed: by one statement, by one operation, or by many of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RowCounts {
    /// Rows in the answers.
    pub returned: u64,
    /// Rows that were inserted, updated or deleted.
    pub changed: u64,
    /// Operations that missed rows: a statement of theirs returned or changed another number than it must.
    pub missed: u64,
    /// Operations that found nothing to do: a statement of theirs had no row, which may be, and is rare.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub idle: u64,
    /// Commits of changed rows, each of which a durable server must flush.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub commits: u64,
}

impl RowCounts {
    #[inline]
    pub fn add(&mut self, other: &RowCounts) {
        self.returned += other.returned;
        self.changed += other.changed;
        self.missed += other.missed;
        self.idle += other.idle;
        self.commits += other.commits;
    }

    /// Whether nothing was counted.
    pub fn is_zero(&self) -> bool {
        *self == RowCounts::default()
    }
}

/// How many rows a statement returns and changes if it does what it is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExpectedRows {
    /// Rows in its answer.
    pub returned: RowRange,
    /// Rows that it inserts, updates or deletes.
    pub changed: RowRange,
    /// Of which it mostly has at least one, though it need not.
    pub mostly: MostlyRows,
    /// Whether it may write what is there already: some servers do not count such a row as changed, and say apart that they found it.
    pub may_repeat: bool,
    /// Whether other transactions delete its rows and insert them again, which some servers show as rows that are gone.
    pub may_be_replaced: bool,
}

/// What a statement mostly does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MostlyRows {
    /// It is not known, or it must.
    Unknown,
    Returned,
    Changed,
}

/// A number of rows, from the least to the most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowRange {
    pub least: u64,
    pub most: u64,
}

impl RowRange {
    pub const ANY: RowRange = RowRange { least: 0, most: u64::MAX };

    #[inline]
    fn holds(self, rows: u64) -> bool {
        (self.least..=self.most).contains(&rows)
    }
}

impl ExpectedRows {
    /// It is not known.
    pub const ANY: ExpectedRows = ExpectedRows {
        returned: RowRange::ANY,
        changed: RowRange::ANY,
        mostly: MostlyRows::Unknown,
        may_repeat: false,
        may_be_replaced: false,
    };
    /// One row is returned.
    pub const RETURNS_ONE: ExpectedRows = ExpectedRows::returns(1, 1);
    /// One row is changed.
    pub const CHANGES_ONE: ExpectedRows = ExpectedRows::changes(1, 1);

    /// From `least` to `most` rows are returned.
    pub const fn returns(least: u64, most: u64) -> ExpectedRows {
        ExpectedRows { returned: RowRange { least, most }, ..ExpectedRows::ANY }
    }

    /// From `least` to `most` rows are changed.
    pub const fn changes(least: u64, most: u64) -> ExpectedRows {
        ExpectedRows { changed: RowRange { least, most }, ..ExpectedRows::ANY }
    }

    /// The same if any of the rows may be gone meanwhile.
    pub const fn or_fewer(self) -> ExpectedRows {
        let mostly = match (self.returned.least, self.changed.least) {
            (0, 0) => self.mostly,
            (0, _) => MostlyRows::Changed,
            _ => MostlyRows::Returned,
        };
        let (returned, changed) = (RowRange { least: 0, ..self.returned }, RowRange { least: 0, ..self.changed });
        ExpectedRows { returned, changed, mostly, ..self }
    }

    /// The same of a statement that may write what is there already.
    pub const fn or_repeated(self) -> ExpectedRows {
        ExpectedRows { may_repeat: true, ..self }
    }

    /// The same among transactions that delete its rows and insert them again.
    pub const fn while_replaced(self) -> ExpectedRows {
        ExpectedRows { may_be_replaced: true, ..self }
    }

    /// Whether it reads, and changes nothing as far as is known.
    pub fn only_returns(&self) -> bool {
        self.changed == RowRange::ANY
    }

    /// Whether it is known how many rows there may be.
    pub fn is_known(&self) -> bool {
        [self.returned, self.changed] != [RowRange::ANY; 2]
    }

    /// Whether an answer with `rows` has none where there mostly is one.
    #[inline]
    pub fn is_idle_with(&self, rows: &RowCounts) -> bool {
        match self.mostly {
            MostlyRows::Unknown => false,
            MostlyRows::Returned => rows.returned == 0,
            // With RETURNING some engines tell only the rows that come back.
            MostlyRows::Changed => rows.changed == 0 && rows.returned == 0,
        }
    }

    /// Whether an answer with `rows` is as it must be.
    #[inline]
    pub fn hold_for(&self, rows: &RowCounts) -> bool {
        self.returned.holds(rows.returned) && self.changed.holds(rows.changed)
    }

    /// The same if so many rows were `found`, changed or not.
    pub fn hold_for_found(&self, rows: &RowCounts, found: u64) -> bool {
        let changed = if self.may_repeat { rows.changed.max(found) } else { rows.changed };
        self.hold_for(&RowCounts { changed, ..*rows })
    }

    /// What is wrong with an answer with `rows`: `changed 0 rows, must change 1`. Empty if nothing is.
    pub fn broken_by(&self, rows: &RowCounts) -> String {
        let parts =
            [("returned", "return", self.returned, rows.returned), ("changed", "change", self.changed, rows.changed)];
        let wrong = parts.into_iter().filter(|(_, _, range, seen)| !range.holds(*seen));
        let texts = wrong.map(|(did, does, range, seen)| {
            let noun = if seen == 1 { "row" } else { "rows" };
            format!("{did} {seen} {noun}, must {does} {range}")
        });
        texts.collect::<Vec<_>>().join(", and ")
    }
}

impl fmt::Display for RowRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.least, self.most) {
            (least, most) if least == most => write!(f, "{least}"),
            (least, u64::MAX) => write!(f, "at least {least}"),
            (0, most) => write!(f, "at most {most}"),
            (least, most) => write!(f, "{least} to {most}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(returned: u64, changed: u64) -> RowCounts {
        RowCounts { returned, changed, ..RowCounts::default() }
    }

    #[test]
    fn a_number_outside_of_its_range_is_told() {
        assert_eq!(ExpectedRows::CHANGES_ONE.broken_by(&counts(0, 0)), "changed 0 rows, must change 1");
        assert_eq!(ExpectedRows::returns(1, 100).broken_by(&counts(101, 0)), "returned 101 rows, must return 1 to 100");
        assert_eq!(
            ExpectedRows::returns(2, u64::MAX).broken_by(&counts(1, 0)),
            "returned 1 row, must return at least 2"
        );
        assert_eq!(ExpectedRows::changes(0, 5).broken_by(&counts(0, 6)), "changed 6 rows, must change at most 5");
        for (expected, fine) in [
            (ExpectedRows::ANY, counts(7, 7)),
            (ExpectedRows::RETURNS_ONE, counts(1, 0)),
            (ExpectedRows::CHANGES_ONE.or_fewer(), counts(0, 0)),
        ] {
            assert!(expected.hold_for(&fine) && expected.broken_by(&fine).is_empty(), "{expected:?}");
        }
    }

    #[test]
    fn what_may_be_gone_is_mostly_there() {
        let [none, one] = [counts(0, 0), counts(1, 1)];
        for likely in [ExpectedRows::CHANGES_ONE.or_fewer(), ExpectedRows::RETURNS_ONE.or_fewer()] {
            assert!(likely.hold_for(&none) && likely.is_idle_with(&none) && !likely.is_idle_with(&one), "{likely:?}");
        }
        assert!(!ExpectedRows::ANY.is_idle_with(&none) && !ExpectedRows::CHANGES_ONE.is_idle_with(&none));
        let unknown = ExpectedRows::changes(1, u64::MAX).or_fewer();
        assert!(!unknown.is_known() && unknown.is_idle_with(&none) && ExpectedRows::RETURNS_ONE.is_known());
    }

    #[test]
    fn counts_add_up() {
        let mut sum = counts(1, 2);
        sum.add(&RowCounts { missed: 1, ..counts(10, 20) });
        assert_eq!(sum, RowCounts { returned: 11, changed: 22, missed: 1, ..RowCounts::default() });
        assert!(!sum.is_zero() && RowCounts::default().is_zero());
    }
}
