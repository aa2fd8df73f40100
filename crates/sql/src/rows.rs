//! The rows that a statement names by values of its own.
//!
//! In: a statement that was split into tokens. Out: its tables, and the values that it compares columns with behind WHERE (`=` and IN), or that an
//! INSERT has for its first column, if that looks like a key. If a column that is compared looks like a key, the others count for nothing: many
//! rows have one state. Limits: a WITH names nothing. At most [`NAMED_MAX`] values and as many tables. Which column and which table a value is of is
//! not kept: two statements may seem to name one row and do not.

use crate::lexer::{Token, TokenKind};
use crate::reading::Dialect;
use crate::split::{SplitText, TableName};

/// The most values, and the most tables, of one statement.
pub const NAMED_MAX: usize = 4;

/// Tables, and values of their rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NamedRows {
    /// The tables, the one that is written to first, in small letters; behind them those to which columns refer by their names, as `order_id` does to `orders`.
    pub tables: Vec<TableName>,
    /// The values, texts without their quotes.
    pub values: Vec<String>,
}

/// Words between the verb, or FROM, and the table.
const BEFORE_TABLE: [&str; 8] = ["low_priority", "delayed", "high_priority", "quick", "ignore", "into", "from", "only"];
/// Words that a table follows.
const OPENS_TABLE: [&str; 4] = ["from", "join", "straight_join", "using"];
/// Words that may stand behind a table and are no other name of it.
const BEHIND_TABLE: [&str; 8] = ["where", "set", "on", "inner", "left", "group", "order", "limit"];
/// How the names of keys end.
const KEY_ENDS: [&str; 4] = ["id", "key", "code", "number"];

/// The rows that `text` names, which was split into `tokens`; `None` if it is no SELECT, INSERT, REPLACE, UPDATE or DELETE of a table.
pub fn named_rows(text: &str, tokens: &[Token], dialect: Dialect) -> Option<NamedRows> {
    let split = SplitText { text, tokens, dialect };
    let statement = Statement(split);
    let is_verb = split.is_word(0, &["select", "insert", "replace", "update", "delete"]);
    if !is_verb || (0..tokens.len()).any(|at| split.is_sign(at, ";")) {
        return None;
    }
    let mut tables = Vec::new();
    let mut behind = 1;
    if !split.is_word(0, &["select"]) {
        behind = statement.add_tables(1, &mut tables);
    }
    let inserts = split.is_word(0, &["insert", "replace"]);
    let inserted = if inserts { statement.inserted(behind) } else { Found::default() };
    for at in behind..tokens.len() {
        if split.is_word(at, &OPENS_TABLE) {
            statement.add_tables(at + 1, &mut tables);
        }
    }
    tables.truncate(NAMED_MAX);
    let Found { values, columns } = if inserted.values.is_empty() { statement.compared(behind) } else { inserted };
    if !tables.is_empty() {
        columns.iter().take(NAMED_MAX).for_each(|column| tables.extend(referred_tables(column)));
    }
    (!tables.is_empty()).then_some(NamedRows { tables, values })
}

/// Values, and the columns that have them, in small letters.
#[derive(Default)]
struct Found {
    values: Vec<String>,
    columns: Vec<String>,
}

/// The tables to which `column` refers if its name is made of theirs: the one session says an order by its `id`, another one by its `order_id`.
fn referred_tables(column: &str) -> Vec<TableName> {
    let stem = column.strip_suffix("_id").filter(|stem| !stem.is_empty());
    let table = |table: String| TableName { schema: None, table };
    stem.map_or_else(Vec::new, |stem| vec![table(stem.to_owned()), table(format!("{stem}s"))])
}

struct Statement<'a>(SplitText<'a>);

impl Statement<'_> {
    /// The name at `at` in small letters, so that a server which folds names and one which does not are alike.
    fn name(&self, at: usize) -> Option<String> {
        self.0.name(at).map(|name| name.to_lowercase())
    }

    /// Adds the table at `at`, and those behind commas; the place behind them.
    fn add_tables(&self, mut at: usize, tables: &mut Vec<TableName>) -> usize {
        loop {
            while self.0.is_word(at, &BEFORE_TABLE) {
                at += 1;
            }
            let named = self.0.table_at(at).filter(|(_, behind)| !self.0.is_sign(*behind, "."));
            let Some((TableName { schema, table }, behind_name)) = named else { return at };
            let schema = schema.map(|schema| schema.to_lowercase());
            tables.push(TableName { schema, table: table.to_lowercase() });
            at = behind_name;
            let behind = at + usize::from(self.0.is_word(at, &["as"]));
            let is_other_name = self.name(behind).is_some() && !self.0.is_word(behind, &BEHIND_TABLE);
            let comma = behind + usize::from(is_other_name);
            if !self.0.is_sign(comma, ",") {
                return at;
            }
            at = comma + 1;
        }
    }

    /// What columns are compared with behind WHERE, which is at `from` or later: keys, if any of them looks like one.
    fn compared(&self, from: usize) -> Found {
        let (mut keys, mut others) = (Found::default(), Found::default());
        let begin = (from..self.0.tokens.len()).find(|at| self.0.is_word(*at, &["where"]));
        for at in begin.unwrap_or(self.0.tokens.len())..self.0.tokens.len() {
            let Some(column) = self.name(at - 1) else { continue };
            let found = if looks_like_key(&column) { &mut keys } else { &mut others };
            let before = found.values.len();
            if self.0.is_sign(at, "=") {
                found.values.extend(self.literal(at + 1).map(|(value, _)| value));
            } else if self.0.is_word(at, &["in"]) && self.0.is_sign(at + 1, "(") && column != "not" {
                self.add_listed(at + 2, &mut found.values);
            }
            if found.values.len() > before {
                found.columns.push(column);
            }
        }
        let mut found = if keys.values.is_empty() { others } else { keys };
        found.values.truncate(NAMED_MAX);
        found
    }

    /// Adds the literals of the list that begins at `at`.
    fn add_listed(&self, mut at: usize, values: &mut Vec<String>) {
        while let Some((value, behind)) = self.literal(at) {
            values.push(value);
            if !self.0.is_sign(behind, ",") || values.len() >= NAMED_MAX {
                return;
            }
            at = behind + 1;
        }
    }

    /// What each row has for the first column of the list at `at`, or behind an alias there, if that looks like a key.
    fn inserted(&self, at: usize) -> Found {
        let mut values = Vec::new();
        let at = if self.0.is_word(at, &["as"]) { at + 2 } else { at };
        let column = self.name(at + 1).filter(|name| self.0.is_sign(at, "(") && looks_like_key(name));
        let Some(column) = column else { return Found::default() };
        let behind_bracket = |at: usize| self.0.behind_bracket(at).unwrap_or(self.0.tokens.len());
        let mut at = behind_bracket(at);
        // OVERRIDING SYSTEM VALUE.
        at += if self.0.is_word(at, &["overriding"]) { 3 } else { 0 };
        if !self.0.is_word(at, &["values", "value"]) {
            return Found::default();
        }
        at += 1;
        while self.0.is_sign(at, "(") && values.len() < NAMED_MAX {
            let first = self.literal(at + 1);
            let is_whole = |behind: &usize| self.0.is_sign(*behind, ",") || self.0.is_sign(*behind, ")");
            values.extend(first.filter(|(_, behind)| is_whole(behind)).map(|(value, _)| value));
            // The comma behind the row.
            at = behind_bracket(at) + 1;
        }
        Found { values, columns: vec![column] }
    }

    /// The literal at `at`, and the place behind it. `5` and `'5'` are one value.
    fn literal(&self, at: usize) -> Option<(String, usize)> {
        let token = self.0.tokens.get(at)?;
        let written = token.text(self.0.text);
        match token.kind {
            TokenKind::Number => Some((written.to_owned(), at + 1)),
            TokenKind::Text => Some((unquoted(written), at + 1)),
            TokenKind::Sign if written == "-" => {
                let number = self.0.tokens.get(at + 1).filter(|next| next.kind == TokenKind::Number)?;
                Some((format!("-{}", number.text(self.0.text)), at + 2))
            }
            _ => None,
        }
    }
}

fn looks_like_key(column: &str) -> bool {
    KEY_ENDS.iter().any(|end| column.ends_with(end))
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

    /// The tables with blanks between, each with its schema, and the values; nothing if no rows are named.
    fn named(text: &str, dialect: Dialect) -> Option<(String, Vec<String>)> {
        let NamedRows { tables, values } = named_rows(text, &tokens(text, dialect).unwrap(), dialect)?;
        let whole = |TableName { schema, table }: TableName| match schema {
            Some(schema) => format!("{schema}.{table}"),
            None => table,
        };
        Some((tables.into_iter().map(whole).collect::<Vec<_>>().join(" "), values))
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
            "b shop.t",
            &["5"],
        );
        mysql("SELECT c FROM t WHERE state = 'new' AND note = \"it\"\"s\"", "t", &["new", "it\"s"]);
        mysql("UPDATE low_priority t SET a = 1, b = 2 WHERE id IN (5, -6)", "t", &["5", "-6"]);
        mysql("DELETE FROM t WHERE id IN (1,2,3,4,5,6)", "t", &["1", "2", "3", "4"]);
        mysql("SELECT c FROM t WHERE id NOT IN (1, 2) AND a > 5 LIMIT 5, 10", "t", &[]);
        mysql("UPDATE t SET a = 1", "t", &[]);
        let postgres = |text: &str, table: &str, values: &[&str]| is_named(Dialect::Postgres, text, table, values);
        postgres("SELECT c FROM ONLY public.\"T\" x WHERE id='5'::bigint AND u = 'it''s'", "public.t", &["5"]);
        postgres("SELECT c FROM t WHERE u = 'it''s'", "t", &["it's"]);
        postgres("UPDATE t SET a = 1 WHERE \"id\" = 7 RETURNING a", "t", &["7"]);
        postgres("SELECT c FROM t WHERE id = $1 AND n = 'a'", "t", &["a"]);
        postgres("SELECT c FROM t WHERE a = b AND c = f(1)", "t", &[]);
    }

    #[test]
    fn an_insert_names_the_rows_of_its_first_column_if_that_looks_like_a_key() {
        let mysql = |text: &str, table: &str, values: &[&str]| is_named(Dialect::Mysql, text, table, values);
        mysql("INSERT INTO t (id, a) VALUES (5, 'x'), ('6', f(7, 8)), (1 + 1, 2)", "t", &["5", "6"]);
        mysql("REPLACE INTO shop.t (`order_id`, a) VALUES (5, 1)", "shop.t order orders", &["5"]);
        mysql("INSERT IGNORE t (id) VALUES (5) ON DUPLICATE KEY UPDATE a = 7", "t", &["5"]);
        mysql("INSERT INTO t (level, text) VALUES (1, 'a')", "t", &[]);
        mysql("INSERT INTO t VALUES (1, 'a')", "t", &[]);
        let postgres = "insert into t as x (Uuid, a) overriding system value values ('ab-cd', 1) returning uuid";
        is_named(Dialect::Postgres, postgres, "t", &["ab-cd"]);
    }

    #[test]
    fn the_tables_of_joins_and_of_queries_within_are_named_as_well() {
        let mysql = |text: &str, table: &str, values: &[&str]| is_named(Dialect::Mysql, text, table, values);
        mysql("SELECT c FROM t AS x, s.u y WHERE x.id = 5", "t s.u", &["5"]);
        mysql("SELECT c FROM t JOIN u ON t.id = u.id WHERE t.id = 5", "t u", &["5"]);
        mysql("SELECT (SELECT 1 FROM u) FROM t WHERE id = 5", "u t", &["5"]);
        mysql("SELECT c FROM (SELECT 1 FROM u) AS t WHERE id = 5", "u", &["5"]);
        mysql(
            "DELETE FROM t WHERE v_id = 5 AND EXISTS (SELECT 1 FROM u WHERE id = 6 AND a = 'b')",
            "t u v vs",
            &["5", "6"],
        );
        mysql("INSERT INTO t (a, b) SELECT a, b FROM u WHERE id = 5", "t u", &["5"]);
        mysql("SELECT c FROM a, b, c, d, e WHERE id = 5", "a b c d", &["5"]);
        let postgres = |text: &str, table: &str, values: &[&str]| is_named(Dialect::Postgres, text, table, values);
        postgres("UPDATE t SET a = 1 FROM u WHERE t.id = 5", "t u", &["5"]);
        postgres("DELETE FROM t USING u WHERE t.id = 5", "t u", &["5"]);
    }

    #[test]
    fn a_statement_without_a_table_names_nothing() {
        for text in [
            "UPDATE t SET a = 1 WHERE id = 5; UPDATE u SET a = 1",
            "SELECT 5",
            "WITH t AS (SELECT 1) SELECT c FROM t WHERE id = 5",
            "BEGIN",
            "SELECT c FROM",
            "",
        ] {
            assert_eq!(named(text, Dialect::Mysql), None, "{text}");
        }
    }
}
