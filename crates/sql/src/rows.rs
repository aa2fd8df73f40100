//! The rows that a statement names by values of its own.
//!
//! In: a statement that was split into tokens. Out: its table, and the values that it compares columns with behind WHERE (`=` and IN), or that an
//! INSERT has for its first column, if that looks like a key. Limits: a statement with more than one table or a query within names nothing, and
//! so does a WITH. At most [`NAMED_MAX`] values. Which column a value is of is not kept: two statements may seem to name one row and do not.

use crate::lexer::{Token, TokenKind};

/// The most values of one statement.
pub const NAMED_MAX: usize = 4;

/// A table, and values of its rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NamedRows {
    /// The schema that is written before the table, in small letters.
    pub schema: Option<String>,
    /// The table, in small letters.
    pub table: String,
    /// The values, texts without their quotes.
    pub values: Vec<String>,
}

/// Words between the verb, or FROM, and the table.
const BEFORE_TABLE: [&str; 8] = ["low_priority", "delayed", "high_priority", "quick", "ignore", "into", "from", "only"];
/// Words that bring another table, behind the first one.
const OTHER_TABLES: [&str; 7] = ["from", "join", "straight_join", "using", "union", "intersect", "except"];
/// How the names of keys end.
const KEY_ENDS: [&str; 3] = ["id", "key", "code"];

/// The rows that `text` names, which was split into `tokens`; `None` if it is no SELECT, INSERT, REPLACE, UPDATE or DELETE of one table.
pub fn named_rows(text: &str, tokens: &[Token]) -> Option<NamedRows> {
    let statement = Statement { text, tokens };
    let inserts = statement.is_word(0, &["insert", "replace"]);
    let mut at = if inserts || statement.is_word(0, &["update", "delete"]) {
        1
    } else if statement.is_word(0, &["select"]) {
        statement.behind_from()?
    } else {
        return None;
    };
    while statement.is_word(at, &BEFORE_TABLE) {
        at += 1;
    }
    let (mut schema, mut table) = (None, statement.name(at)?);
    while statement.is_sign(at + 1, ".") {
        at += 2;
        schema = Some(std::mem::replace(&mut table, statement.name(at)?));
    }
    let has_other = !inserts && (at + 1..at + 4).any(|at| statement.is_sign(at, ","))
        || (1..tokens.len()).any(|at| statement.is_word(at, &["select"]) || statement.is_sign(at, ";"))
        || (at + 1..tokens.len()).any(|at| statement.is_word(at, &OTHER_TABLES));
    if has_other {
        return None;
    }
    let values = if inserts { statement.inserted(at + 1) } else { statement.compared(at + 1) };
    Some(NamedRows { schema, table, values })
}

struct Statement<'a> {
    text: &'a str,
    tokens: &'a [Token],
}

impl Statement<'_> {
    fn is_word(&self, at: usize, words: &[&str]) -> bool {
        self.tokens.get(at).is_some_and(|token| token.is_word(self.text, words))
    }

    fn is_sign(&self, at: usize, sign: &str) -> bool {
        self.tokens.get(at).is_some_and(|token| token.is_sign(self.text, sign))
    }

    /// The name at `at` in small letters, so that a server which folds names and one which does not are alike.
    fn name(&self, at: usize) -> Option<String> {
        let token = self.tokens.get(at)?;
        let is_name = matches!(token.kind, TokenKind::Word | TokenKind::Name);
        token.name(self.text).filter(|_| is_name).map(|name| name.to_lowercase())
    }

    /// The place behind the first FROM that is in no brackets.
    fn behind_from(&self) -> Option<usize> {
        let mut depth = 0;
        for at in 0..self.tokens.len() {
            depth += i32::from(self.is_sign(at, "(")) - i32::from(self.is_sign(at, ")"));
            if depth == 0 && self.is_word(at, &["from"]) {
                return Some(at + 1);
            }
        }
        None
    }

    /// What columns are compared with behind WHERE, which is at `from` or later.
    fn compared(&self, from: usize) -> Vec<String> {
        let mut values = Vec::new();
        let begin = (from..self.tokens.len()).find(|at| self.is_word(*at, &["where"]));
        for at in begin.unwrap_or(self.tokens.len())..self.tokens.len() {
            if self.is_sign(at, "=") && self.name(at - 1).is_some() {
                values.extend(self.literal(at + 1).map(|(value, _)| value));
            } else if self.is_word(at, &["in"]) && self.is_sign(at + 1, "(") && !self.is_word(at - 1, &["not"]) {
                self.add_listed(at + 2, &mut values);
            }
            if values.len() >= NAMED_MAX {
                break;
            }
        }
        values.truncate(NAMED_MAX);
        values
    }

    /// Adds the literals of the list that begins at `at`.
    fn add_listed(&self, mut at: usize, values: &mut Vec<String>) {
        while let Some((value, behind)) = self.literal(at) {
            values.push(value);
            if !self.is_sign(behind, ",") || values.len() >= NAMED_MAX {
                return;
            }
            at = behind + 1;
        }
    }

    /// What each row has for the first column of the list at `at`, or behind an alias there, if that looks like a key.
    fn inserted(&self, at: usize) -> Vec<String> {
        let mut values = Vec::new();
        let at = if self.is_word(at, &["as"]) { at + 2 } else { at };
        let is_key = |name: String| KEY_ENDS.iter().any(|end| name.ends_with(end));
        if !self.is_sign(at, "(") || !self.name(at + 1).is_some_and(is_key) {
            return values;
        }
        let mut at = self.behind_bracket(at);
        // OVERRIDING SYSTEM VALUE.
        at += if self.is_word(at, &["overriding"]) { 3 } else { 0 };
        if !self.is_word(at, &["values", "value"]) {
            return values;
        }
        at += 1;
        while self.is_sign(at, "(") && values.len() < NAMED_MAX {
            let first = self.literal(at + 1);
            let is_whole = |behind: &usize| self.is_sign(*behind, ",") || self.is_sign(*behind, ")");
            values.extend(first.filter(|(_, behind)| is_whole(behind)).map(|(value, _)| value));
            // The comma behind the row.
            at = self.behind_bracket(at) + 1;
        }
        values
    }

    /// The place behind the bracket that closes the one at `at`; the end if none does.
    fn behind_bracket(&self, at: usize) -> usize {
        let mut depth = 0;
        for at in at..self.tokens.len() {
            depth += i32::from(self.is_sign(at, "(")) - i32::from(self.is_sign(at, ")"));
            if depth == 0 {
                return at + 1;
            }
        }
        self.tokens.len()
    }

    /// The literal at `at`, and the place behind it. `5` and `'5'` are one value.
    fn literal(&self, at: usize) -> Option<(String, usize)> {
        let token = self.tokens.get(at)?;
        let written = token.text(self.text);
        match token.kind {
            TokenKind::Number => Some((written.to_owned(), at + 1)),
            TokenKind::Text => Some((unquoted(written), at + 1)),
            TokenKind::Sign if written == "-" => {
                let number = self.tokens.get(at + 1).filter(|next| next.kind == TokenKind::Number)?;
                Some((format!("-{}", number.text(self.text)), at + 2))
            }
            _ => None,
        }
    }
}

/// What is in the quotes of `written`; with something before them it stays as it is, and so do backslashes.
fn unquoted(written: &str) -> String {
    let inside = |quote: char| Some((written.strip_prefix(quote)?.strip_suffix(quote)?, quote));
    match inside('\'').or_else(|| inside('"')) {
        Some((text, quote)) => text.replace(&quote.to_string().repeat(2), &quote.to_string()),
        None => written.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lexer::tokens;
    use crate::reading::Dialect;

    /// The schema and the table with a dot between, and the values; nothing if no rows are named.
    fn named(text: &str, dialect: Dialect) -> Option<(String, Vec<String>)> {
        let NamedRows { schema, table, values } = named_rows(text, &tokens(text, dialect).unwrap())?;
        Some((schema.map_or(table.clone(), |schema| format!("{schema}.{table}")), values))
    }

    fn is_named(dialect: Dialect, text: &str, table: &str, values: &[&str]) {
        let values: Vec<String> = values.iter().map(|value| (*value).to_owned()).collect();
        assert_eq!(named(text, dialect), Some((table.to_owned(), values)), "{text}");
    }

    #[test]
    fn rows_are_named_behind_where_whatever_the_quotes_are() {
        let mysql = |text: &str, table: &str, values: &[&str]| is_named(Dialect::Mysql, text, table, values);
        mysql("SELECT c FROM t WHERE id = 5", "t", &["5"]);
        mysql(
            "select c, f(a from b) from `Shop`.`T` as x where x.id='5' and b = \"it\"\"s\" for update",
            "shop.t",
            &["5", "it\"s"],
        );
        mysql("UPDATE low_priority t SET a = 1, b = 2 WHERE id IN (5, -6)", "t", &["5", "-6"]);
        mysql("DELETE FROM t WHERE id IN (1,2,3,4,5,6)", "t", &["1", "2", "3", "4"]);
        mysql("SELECT c FROM t WHERE id NOT IN (1, 2) AND a > 5 LIMIT 5, 10", "t", &[]);
        mysql("UPDATE t SET a = 1", "t", &[]);
        let postgres = |text: &str, table: &str, values: &[&str]| is_named(Dialect::Postgres, text, table, values);
        postgres("SELECT c FROM ONLY public.\"T\" x WHERE id='5'::bigint AND u = 'it''s'", "public.t", &["5", "it's"]);
        postgres("UPDATE t SET a = 1 WHERE \"id\" = 7 RETURNING a", "t", &["7"]);
        postgres("SELECT c FROM t WHERE id = $1 AND n = 'a'", "t", &["a"]);
        postgres("SELECT c FROM t WHERE a = b AND c = f(1)", "t", &[]);
    }

    #[test]
    fn an_insert_names_the_rows_of_its_first_column_if_that_looks_like_a_key() {
        let mysql = |text: &str, table: &str, values: &[&str]| is_named(Dialect::Mysql, text, table, values);
        mysql("INSERT INTO t (id, a) VALUES (5, 'x'), ('6', f(7, 8)), (1 + 1, 2)", "t", &["5", "6"]);
        mysql("REPLACE INTO shop.t (`order_id`, a) VALUES (5, 1)", "shop.t", &["5"]);
        mysql("INSERT IGNORE t (id) VALUES (5) ON DUPLICATE KEY UPDATE a = 7", "t", &["5"]);
        mysql("INSERT INTO t (level, text) VALUES (1, 'a')", "t", &[]);
        mysql("INSERT INTO t VALUES (1, 'a')", "t", &[]);
        let postgres = "insert into t as x (Uuid, a) overriding system value values ('ab-cd', 1) returning uuid";
        is_named(Dialect::Postgres, postgres, "t", &["ab-cd"]);
    }

    #[test]
    fn a_statement_of_several_tables_or_of_none_names_nothing() {
        for text in [
            "SELECT c FROM t, u WHERE t.id = 5",
            "SELECT c FROM t AS x, u WHERE x.id = 5",
            "SELECT c FROM t JOIN u ON t.id = u.id WHERE t.id = 5",
            "SELECT c FROM t WHERE id = 5 AND a IN (SELECT a FROM u)",
            "SELECT (SELECT 1 FROM u) FROM t WHERE id = 5",
            "SELECT c FROM (SELECT 1) AS t WHERE id = 5",
            "SELECT c FROM t WHERE id = 5 UNION SELECT 1",
            "DELETE t FROM t JOIN u WHERE t.id = 5",
            "INSERT INTO t (id) SELECT 5",
            "UPDATE t SET a = 1 WHERE id = 5; UPDATE u SET a = 1",
            "SELECT 5",
            "WITH t AS (SELECT 1) SELECT c FROM t WHERE id = 5",
            "BEGIN",
            "SELECT c FROM",
            "",
        ] {
            assert_eq!(named(text, Dialect::Mysql), None, "{text}");
        }
        assert_eq!(named("UPDATE t SET a = 1 FROM u WHERE t.id = 5", Dialect::Postgres), None);
        assert_eq!(named("DELETE FROM t USING u WHERE t.id = 5", Dialect::Postgres), None);
    }
}
