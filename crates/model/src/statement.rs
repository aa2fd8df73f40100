//! Statements that the user wrote: their text, and the source of the values in them.
//!
//! In: the crate `plan` reads them from a plan file. Out: a workload makes operations of them; the run file keeps them.
//! Limits: a placeholder is a value, never a name; the number of a table is the only part of a name that is filled in.

use serde::{Deserialize, Serialize};
use std::fmt;

/// The placeholder for the number of a table.
pub const TABLE: &str = "{table}";

/// A kind of operation that the user wrote: one statement, or a transaction of several.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CustomOp {
    /// The name of the kind.
    pub name: String,
    /// How often it comes, in proportion to the weights of the others; at least 1.
    pub weight: u32,
    /// Its statements in order.
    pub statements: Vec<CustomStatement>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CustomStatement {
    /// Its text, with `?` for each value and [`TABLE`] for the number of the table.
    pub text: String,
    /// The values in the order of their `?`.
    pub values: Vec<CustomValue>,
}

/// A value. Equal ones are the same value within one operation.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct CustomValue {
    /// Where it comes from.
    pub draw: Draw,
    /// Which draw of that kind, from 1: `:id` is the first, `:id2` the second.
    pub nth: u32,
}

/// Where a value comes from.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Draw {
    /// The id of a loaded row, by the access distribution.
    Id,
    /// An id that no row has had.
    NewId,
    /// A value of column k, by the access distribution.
    K,
    /// A text like those in column c.
    C,
    /// A text like those in column pad.
    Pad,
    /// A whole number, uniform between both, which are included.
    Int(i64, i64),
    /// So many random letters and digits.
    Text(u32),
    /// The value of a column of a table of the user's own, in a loaded row by the access distribution. Those of one table with the same
    /// number are of the same row.
    Column(ColumnName),
    /// The value that the column would have in a row that was not loaded.
    NewColumn(ColumnName),
}

/// A column of a table.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ColumnName {
    /// The name of the table.
    pub table: String,
    /// The name of the column.
    pub column: String,
}

impl fmt::Display for ColumnName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.table, self.column)
    }
}

impl CustomStatement {
    /// Whether it names the number of a table, and so is a statement on each of them.
    pub fn is_on_tables(&self) -> bool {
        self.text.contains(TABLE)
    }

    /// Its text as the user wrote it, with `:id` for a value.
    pub fn as_written(&self) -> String {
        let mut parts = self.text.split('?');
        // A question mark within quotes is no value, and hides which of them are.
        if parts.clone().count() != self.values.len() + 1 {
            return self.text.clone();
        }
        let first = parts.next().unwrap_or_default().to_owned();
        parts.zip(&self.values).fold(first, |text, (part, value)| text + &value.to_string() + part)
    }

    /// Whether `sql` is this statement on some table.
    pub fn is_written_as(&self, sql: &str) -> bool {
        let Some((before, _)) = self.text.split_once(TABLE) else { return self.text == sql };
        let digits = sql.get(before.len()..).unwrap_or_default();
        let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
        end > 0 && self.text.replace(TABLE, &digits[..end]) == sql
    }

    /// Whether it changes anything: whether one of the words that do so is in it. `SELECT ... FOR UPDATE` counts, for it locks.
    pub fn writes(&self) -> bool {
        const VERBS: [&str; 9] =
            ["INSERT", "UPDATE", "DELETE", "REPLACE", "MERGE", "TRUNCATE", "CREATE", "DROP", "ALTER"];
        self.has_word(&VERBS)
    }

    /// Whether it may leave other rows behind than it found.
    pub fn changes_rows(&self) -> bool {
        self.has_word(&["INSERT", "DELETE", "REPLACE", "MERGE", "TRUNCATE", "CREATE", "DROP", "ALTER"])
    }

    /// Whether it adds rows.
    pub fn adds_rows(&self) -> bool {
        self.has_word(&["INSERT", "REPLACE", "MERGE"])
    }

    /// Whether its first word is that of a statement that inserts, updates or deletes rows.
    pub fn begins_as_change(&self) -> bool {
        let first = self.text.split_ascii_whitespace().next().unwrap_or_default();
        ["INSERT", "UPDATE", "DELETE", "REPLACE", "MERGE"].iter().any(|verb| first.eq_ignore_ascii_case(verb))
    }

    fn has_word(&self, wanted: &[&str]) -> bool {
        let in_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let mut words = self.text.split(|c: char| !in_name(c));
        words.any(|word| wanted.iter().any(|wanted| word.eq_ignore_ascii_case(wanted)))
    }
}

impl fmt::Display for CustomValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nth = if self.nth > 1 { self.nth.to_string() } else { String::new() };
        match &self.draw {
            Draw::Id => write!(f, ":id{nth}"),
            Draw::NewId => write!(f, ":new_id{nth}"),
            Draw::K => write!(f, ":k{nth}"),
            Draw::C => write!(f, ":c{nth}"),
            Draw::Pad => write!(f, ":pad{nth}"),
            Draw::Int(min, max) => write!(f, ":int{nth}({min},{max})"),
            Draw::Text(chars) => write!(f, ":text{nth}({chars})"),
            Draw::Column(name) if self.nth > 1 => write!(f, ":{name}@{nth}"),
            Draw::Column(name) => write!(f, ":{name}"),
            Draw::NewColumn(name) => write!(f, ":{name}@new{nth}"),
        }
    }
}

impl fmt::Display for CustomOp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.name, self.weight)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> CustomStatement {
        CustomStatement { text: text.into(), values: Vec::new() }
    }

    #[test]
    fn a_statement_is_shown_as_it_was_written_and_known_by_its_sql() {
        let values = [(Draw::Id, 1), (Draw::Int(-5, 5), 1), (Draw::Id, 2)].map(|(draw, nth)| CustomValue { draw, nth });
        let text = "UPDATE sbtest{table} SET k = ? + ? WHERE id = ?".to_owned();
        let statement = CustomStatement { text, values: values.to_vec() };
        assert_eq!(statement.as_written(), "UPDATE sbtest{table} SET k = :id + :int(-5,5) WHERE id = :id2");
        assert!(statement.is_written_as("UPDATE sbtest12 SET k = ? + ? WHERE id = ?"));
        assert!(!statement.is_written_as("UPDATE sbtest SET k = ? + ? WHERE id = ?"));
        assert_eq!(of("SELECT '?'").as_written(), "SELECT '?'");
    }

    #[test]
    fn what_a_statement_changes_is_seen_by_its_words() {
        let seen = |text| [of(text).writes(), of(text).changes_rows(), of(text).adds_rows()];
        assert_eq!(seen("SELECT updated, k_delete FROM t"), [false; 3]);
        assert_eq!(seen("update sbtest1 set k = 1"), [true, false, false]);
        assert_eq!(seen("WITH gone AS (DELETE FROM t) SELECT 1"), [true, true, false]);
        assert_eq!(seen("INSERT INTO t VALUES (?)"), [true; 3]);
        assert_eq!(seen("SELECT c FROM t FOR UPDATE"), [true, false, false]);
        let begins = |text| of(text).begins_as_change();
        assert!(begins(" update t SET a = 1") && begins("DELETE\nFROM t"));
        assert!(!begins("SELECT c FROM t FOR UPDATE") && !begins("TRUNCATE t") && !begins(""));
    }
}
