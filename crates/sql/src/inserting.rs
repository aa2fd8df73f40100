//! Into which table a statement inserts, and how many rows.
//!
//! In: a statement that was split. Out: its table and the number of its rows, each of which takes an id if the server makes one. Limits: INSERT,
//! REPLACE and COPY from the client, also behind `SET STATEMENT .. FOR` of MariaDB; what inserts within something else (WITH, a call) is not seen. Rows
//! that conflict with others count as all do: they take an id, too.

use crate::lexer::Token;
use crate::reading::Dialect;
use crate::split::{SplitText, TableName};

/// A statement that inserts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InsertInto {
    /// The schema that is written before the table.
    pub schema: Option<String>,
    /// The table, as the server folds its name.
    pub table: String,
    /// How many rows; `None` if its text does not say that.
    pub rows: Option<usize>,
}

/// Words between the verb and the table.
const BEFORE_TABLE: [&str; 5] = ["low_priority", "delayed", "high_priority", "ignore", "into"];

/// Words behind rows that are not the rows which are inserted.
const BEHIND_ROWS: [&str; 7] = ["union", "except", "intersect", "order", "limit", "offset", "fetch"];

/// What `text`, which was split into `tokens`, inserts; `None` if it begins as no statement that inserts.
pub fn insert_into(text: &str, tokens: &[Token], dialect: Dialect) -> Option<InsertInto> {
    let split = SplitText { text, tokens, dialect };
    let verb = verb_at(text, tokens, dialect);
    let is_copy = split.is_word(verb, &["copy"]);
    if !is_copy && !split.is_word(verb, &["insert", "replace"]) {
        return None;
    }
    let mut at = verb + 1;
    while split.is_word(at, &BEFORE_TABLE) {
        at += 1;
    }
    let (TableName { schema, table }, behind) = split.table_at(at)?;
    let has_several = (0..tokens.len()).any(|at| split.is_sign(at, ";"));
    if is_copy {
        let reads = (behind..tokens.len()).any(|at| split.is_word(at, &["from"]));
        return reads.then_some(InsertInto { schema, table, rows: None });
    }
    Some(InsertInto { schema, table, rows: rows_behind(&split, behind).filter(|_| !has_several) })
}

/// Whether `text`, which was split into `tokens`, stores rows that its client or a file has, and not itself: COPY .. FROM, LOAD DATA, LOAD XML.
pub fn loads_rows(text: &str, tokens: &[Token], dialect: Dialect) -> bool {
    let split = SplitText { text, tokens, dialect };
    match dialect {
        Dialect::Postgres => split.is_word(0, &["copy"]) && insert_into(text, tokens, dialect).is_some(),
        Dialect::Mysql => split.is_word(0, &["load"]) && split.is_word(1, &["data", "xml"]),
        Dialect::Any => false,
    }
}

/// The number of the token with which what `text` does begins, which was split into `tokens`: that behind FOR if it sets variables for one statement.
pub fn verb_at(text: &str, tokens: &[Token], dialect: Dialect) -> usize {
    let is_word = |at: usize, word: &str| tokens.get(at).is_some_and(|token| token.is_word(text, &[word]));
    if dialect == Dialect::Postgres || !is_word(0, "set") || !is_word(1, "statement") {
        return 0;
    }
    (2..tokens.len()).find(|at| is_word(*at, "for")).map_or(0, |at| at + 1)
}

/// How many rows are inserted by what is behind the name of the table, which ends before `at`.
fn rows_behind(split: &SplitText<'_>, mut at: usize) -> Option<usize> {
    at += if split.is_word(at, &["as"]) { 2 } else { 0 };
    if split.is_word(at, &["set"]) || split.is_word(at, &["default"]) && split.is_word(at + 1, &["values"]) {
        return Some(1);
    }
    if split.is_sign(at, "(") {
        at = split.behind_bracket(at)?;
    }
    at += if split.is_word(at, &["overriding"]) { 3 } else { 0 };
    if !split.is_word(at, &["values", "value"]) {
        return None;
    }
    let mut rows = 0;
    loop {
        at += 1;
        at += usize::from(split.is_word(at, &["row"]));
        if !split.is_sign(at, "(") {
            return None;
        }
        rows += 1;
        at = split.behind_bracket(at)?;
        if !split.is_sign(at, ",") {
            return Some(rows).filter(|_| !split.is_word(at, &BEHIND_ROWS));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Dialect::{Mysql, Postgres};
    use super::*;
    use crate::lexer::tokens;

    fn inserts(text: &str, dialect: Dialect) -> Option<(String, Option<usize>)> {
        let InsertInto { schema, table, rows } = insert_into(text, &tokens(text, dialect).unwrap(), dialect)?;
        Some((schema.map_or_else(|| table.clone(), |schema| format!("{schema}.{table}")), rows))
    }

    #[test]
    fn rows_are_counted_where_the_text_has_them() {
        for (text, table, rows) in [
            ("INSERT INTO t (a, b) VALUES (1, f(2, 3)), (4, '),(') RETURNING id", "t", Some(2)),
            (
                "insert into public.t as x (a) overriding user value values (1) on conflict do nothing",
                "public.t",
                Some(1),
            ),
            ("INSERT INTO \"T\" DEFAULT VALUES", "T", Some(1)),
            ("INSERT INTO T VALUES (1), (2), (3)", "t", Some(3)),
            ("INSERT INTO t (a) SELECT 1", "t", None),
            ("INSERT INTO t (SELECT 1)", "t", None),
            ("INSERT INTO t (a) VALUES (1); INSERT INTO t (a) VALUES (2)", "t", None),
            ("INSERT INTO t (a) VALUES (1) UNION ALL SELECT 2", "t", None),
            ("INSERT INTO t (a) VALUES (1), (2) LIMIT 1", "t", None),
            ("INSERT INTO t (a", "t", None),
            ("COPY t (a) FROM STDIN", "t", None),
        ] {
            assert_eq!(inserts(text, Postgres), Some((table.to_owned(), rows)), "{text}");
        }
        for (text, table, rows) in [
            ("INSERT IGNORE INTO `Shop`.`T` () VALUES (), ()", "Shop.T", Some(2)),
            ("REPLACE low_priority t SET a = 1, b = 2", "t", Some(1)),
            ("INSERT t VALUE (1) ON DUPLICATE KEY UPDATE a = VALUES(a)", "t", Some(1)),
            (
                "SET STATEMENT max_statement_time = 5, sort_buffer_size = 1 FOR INSERT INTO t (a) VALUES (1), (2)",
                "t",
                Some(2),
            ),
            ("set statement lock_wait_timeout=1 for replace into t (a) select 1", "t", None),
        ] {
            assert_eq!(inserts(text, Mysql), Some((table.to_owned(), rows)), "{text}");
        }
    }

    #[test]
    fn what_inserts_nothing_has_no_rows() {
        for text in ["SELECT 1", "UPDATE t SET a = 1", "COPY t TO STDOUT", "INSERT", "INSERT INTO", ""] {
            assert_eq!(inserts(text, Postgres), None, "{text}");
        }
        for text in ["SET STATEMENT a = 1 FOR UPDATE t SET a = 1", "SET STATEMENT a = 1", "SET @insert = 1"] {
            assert_eq!(inserts(text, Mysql), None, "{text}");
        }
    }
}
