//! What an INSERT of PostgreSQL inserts: its table, and the same statement with given values for one column.
//!
//! In: a statement, the column, a value for each row. Out: the statement that inserts these. Limits: one INSERT with VALUES or DEFAULT VALUES, and
//! with as many rows as there are values; anything else stays as it is. A column that the statement names must have DEFAULT as its value, and so must
//! one of a table whose columns it does not name, unless the row ends before it.

use crate::lexer::{Token, tokens};
use crate::reading::Dialect;
use crate::split::SplitText;

/// An INSERT, as far as it is looked at.
struct Insert<'a> {
    split: SplitText<'a>,
    /// The number of the token behind the name of its table, and behind its alias.
    behind_table: usize,
}

/// The table of an INSERT, without its schema; `None` if `text` is none.
pub fn inserted_table(text: &str) -> Option<String> {
    let tokens = tokens(text, Dialect::Postgres).ok()?;
    table_and_rest(&split(text, &tokens)).map(|(table, _)| table)
}

/// `text` with `values`, which are expressions, for `column`: one for each row. `place` is that of the column in its table, from 0, if it is known. `None`
/// if it is not known where they belong.
pub fn with_inserted(text: &str, column: &str, place: Option<usize>, values: &[String]) -> Option<String> {
    if values.is_empty() {
        return None;
    }
    let tokens = tokens(text, Dialect::Postgres).ok()?;
    let split = split(text, &tokens);
    let (_, behind_table) = table_and_rest(&split)?;
    let insert = Insert { split, behind_table };
    let edits = insert.edits(column, place, values)?;
    let mut made = String::with_capacity(text.len() + 64);
    let mut at = 0;
    for (start, end, replacement) in edits {
        made.push_str(&text[at..start]);
        made.push_str(&replacement);
        at = end;
    }
    made.push_str(&text[at..]);
    Some(made)
}

fn split<'a>(text: &'a str, tokens: &'a [Token]) -> SplitText<'a> {
    SplitText { text, tokens, dialect: Dialect::Postgres }
}

/// The table of an INSERT, and the number of the token behind its name and alias.
fn table_and_rest(split: &SplitText<'_>) -> Option<(String, usize)> {
    if !split.is_word(0, &["insert"]) || !split.is_word(1, &["into"]) {
        return None;
    }
    let (name, behind) = split.table_at(2).filter(|(_, behind)| !split.is_sign(*behind, "."))?;
    let behind_table = if split.is_word(behind, &["as"]) { behind + 2 } else { behind };
    Some((name.table, behind_table))
}

/// From, to, and what comes in between.
type Edit = (usize, usize, String);

/// Where in each row a value belongs.
#[derive(Clone, Copy)]
enum RowPlace {
    /// Behind all others.
    Last,
    /// In place of the DEFAULT that is there.
    Named(usize),
    /// The same; a row may end before it.
    OfTable(usize),
}

impl Insert<'_> {
    /// The number of the bracket that closes the one at `at`, with those of the commas between.
    fn bracket(&self, at: usize) -> Option<(usize, Vec<usize>)> {
        let (mut depth, mut commas) = (0, Vec::new());
        for (nth, token) in self.split.tokens.iter().enumerate().skip(at) {
            match token.text(self.split.text) {
                "(" | "[" => depth += 1,
                ")" | "]" => depth -= 1,
                "," if depth == 1 => commas.push(nth),
                _ => {}
            }
            if depth == 0 {
                return Some((nth, commas));
            }
        }
        None
    }

    fn edits(&self, column: &str, place: Option<usize>, values: &[String]) -> Option<Vec<Edit>> {
        let quoted = format!("\"{}\"", column.replace('"', "\"\""));
        let start_of = |at: usize| self.split.tokens[at].start;
        if self.split.is_word(self.behind_table, &["default"]) && self.split.is_word(self.behind_table + 1, &["values"])
        {
            let [value] = values else { return None };
            let end = self.split.tokens[self.behind_table + 1].end;
            return Some(vec![(
                start_of(self.behind_table),
                end,
                format!("({quoted}) OVERRIDING SYSTEM VALUE VALUES ({value})"),
            )]);
        }
        let (mut at, mut edits) = (self.behind_table, Vec::new());
        let place = if self.split.is_sign(at, "(") {
            let (end_of_columns, commas) = self.bracket(at)?;
            let begins = std::iter::once(at + 1).chain(commas.iter().map(|comma| comma + 1));
            let named = begins.into_iter().position(|at| self.split.name(at).as_deref() == Some(column));
            if named.is_none() {
                edits.push((start_of(end_of_columns), start_of(end_of_columns), format!(", {quoted}")));
            }
            at = end_of_columns + 1;
            named.map_or(RowPlace::Last, RowPlace::Named)
        } else {
            RowPlace::OfTable(place?)
        };
        let behind = self.split.tokens.get(at - 1)?.end;
        if self.split.is_word(at, &["overriding"]) {
            at += 3;
        } else {
            edits.push((behind, behind, " OVERRIDING SYSTEM VALUE".to_owned()));
        }
        if !self.split.is_word(at, &["values"]) {
            return None;
        }
        self.edit_rows(at + 1, place, values, &mut edits)?;
        Some(edits)
    }

    /// Puts each value into its row, the first of which begins at `at`, at its `place`.
    fn edit_rows(&self, at: usize, place: RowPlace, values: &[String], edits: &mut Vec<Edit>) -> Option<()> {
        let mut at = at;
        for (nth, value) in values.iter().enumerate() {
            if !self.split.is_sign(at, "(") {
                return None;
            }
            let (end, commas) = self.bracket(at)?;
            let in_row = commas.len() + 1;
            match place {
                RowPlace::Named(place) | RowPlace::OfTable(place) if place < in_row => {
                    let first = if place == 0 { at + 1 } else { *commas.get(place - 1)? + 1 };
                    let last = commas.get(place).copied().unwrap_or(end);
                    if last != first + 1 || !self.split.is_word(first, &["default"]) {
                        return None;
                    }
                    edits.push((self.split.tokens[first].start, self.split.tokens[first].end, value.clone()));
                }
                RowPlace::Named(_) => return None,
                RowPlace::Last | RowPlace::OfTable(_) => {
                    let lacking = if let RowPlace::OfTable(place) = place { place - in_row } else { 0 };
                    let behind = self.split.tokens[end].start;
                    edits.push((behind, behind, format!("{}, {value}", ", DEFAULT".repeat(lacking))));
                }
            }
            at = end + 1;
            let goes_on = self.split.is_sign(at, ",");
            if goes_on != (nth + 1 < values.len()) {
                return None;
            }
            at += usize::from(goes_on);
        }
        (!self.split.tokens[at..].iter().any(|token| token.is_sign(self.split.text, ";"))).then_some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(text: &str, values: &[&str]) -> Option<String> {
        with_at(text, None, values)
    }

    fn with_at(text: &str, place: Option<usize>, values: &[&str]) -> Option<String> {
        with_inserted(text, "id", place, &values.iter().map(|value| (*value).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn a_column_is_added_to_each_row() {
        assert_eq!(
            with("INSERT INTO shop.orders (a, b) VALUES (1, f(2, 3)), (4, '),(') RETURNING id", &["7", "8"]).unwrap(),
            "INSERT INTO shop.orders (a, b, \"id\") OVERRIDING SYSTEM VALUE VALUES (1, f(2, 3), 7), (4, '),(', 8) RETURNING id"
        );
        assert_eq!(
            with("insert into t as x (a) overriding user value values (1) on conflict (a) do update set b = 2", &["7"])
                .unwrap(),
            "insert into t as x (a, \"id\") overriding user value values (1, 7) on conflict (a) do update set b = 2"
        );
        assert_eq!(
            with("INSERT INTO t DEFAULT VALUES RETURNING id", &["7"]).unwrap(),
            "INSERT INTO t (\"id\") OVERRIDING SYSTEM VALUE VALUES (7) RETURNING id"
        );
    }

    #[test]
    fn a_column_that_is_named_has_its_default_replaced() {
        assert_eq!(
            with("INSERT INTO t (\"id\", a) VALUES (DEFAULT, 1), (default, 2)", &["7", "8"]).unwrap(),
            "INSERT INTO t (\"id\", a) OVERRIDING SYSTEM VALUE VALUES (7, 1), (8, 2)"
        );
        assert_eq!(
            with("INSERT INTO t (a, ID) VALUES (1, DEFAULT)", &["7"]).unwrap(),
            "INSERT INTO t (a, ID) OVERRIDING SYSTEM VALUE VALUES (1, 7)"
        );
        assert_eq!(with("INSERT INTO t (id, a) VALUES (5, 1)", &["5"]), None, "it says the id itself");
    }

    #[test]
    fn a_column_that_is_not_named_has_its_place_in_the_table() {
        for (text, place, expected) in [
            (
                "INSERT INTO t VALUES (DEFAULT, 1) RETURNING id",
                0,
                "INSERT INTO t OVERRIDING SYSTEM VALUE VALUES (7, 1) RETURNING id",
            ),
            (
                "INSERT INTO t AS x VALUES (1, f(2, 3), default)",
                2,
                "INSERT INTO t AS x OVERRIDING SYSTEM VALUE VALUES (1, f(2, 3), 7)",
            ),
            ("INSERT INTO t OVERRIDING USER VALUE VALUES (1)", 1, "INSERT INTO t OVERRIDING USER VALUE VALUES (1, 7)"),
            ("INSERT INTO t VALUES (1)", 3, "INSERT INTO t OVERRIDING SYSTEM VALUE VALUES (1, DEFAULT, DEFAULT, 7)"),
            ("INSERT INTO t (a) VALUES (1)", 0, "INSERT INTO t (a, \"id\") OVERRIDING SYSTEM VALUE VALUES (1, 7)"),
        ] {
            assert_eq!(with_at(text, Some(place), &["7"]).as_deref(), Some(expected));
        }
        assert_eq!(
            with_at("INSERT INTO t VALUES (1, DEFAULT), (2, DEFAULT)", Some(1), &["7", "8"]).unwrap(),
            "INSERT INTO t OVERRIDING SYSTEM VALUE VALUES (1, 7), (2, 8)"
        );
        assert_eq!(with_at("INSERT INTO t VALUES (5, 1)", Some(0), &["5"]), None, "it says the id itself");
        assert_eq!(with_at("INSERT INTO t (SELECT 1)", Some(1), &["5"]), None);
        assert_eq!(with_at("INSERT INTO t SELECT 1", Some(1), &["5"]), None);
        assert_eq!(with_at("INSERT INTO t", Some(1), &["5"]), None);
        assert_eq!(with_at("INSERT INTO t AS", Some(1), &["5"]), None);
    }

    #[test]
    fn what_is_not_known_stays_as_it_is() {
        for text in [
            "INSERT INTO t VALUES (1)",
            "INSERT INTO t (a) SELECT 1",
            "INSERT INTO t (a) VALUES (1), (2)",
            "INSERT INTO t (a) VALUES (1); DELETE FROM t",
            "INSERT INTO t (a",
            "UPDATE t SET a = 1",
            "INSERT INTO t (a) VALUES",
            "INSERT INTO",
            "",
        ] {
            assert_eq!(with(text, &["7"]), None, "{text}");
        }
        assert_eq!(with("INSERT INTO t (a) VALUES (1)", &["7", "8"]), None, "there are fewer rows");
        assert_eq!(with("INSERT INTO t (a) VALUES (1)", &[]), None);
    }

    #[test]
    fn the_table_is_named_as_the_server_folds_it() {
        assert_eq!(inserted_table("INSERT INTO Shop.\"Orders\" (a) VALUES (1)").as_deref(), Some("Orders"));
        assert_eq!(inserted_table("insert into ORDERS values (1)").as_deref(), Some("orders"));
        assert_eq!(inserted_table("SELECT 1"), None);
    }
}
