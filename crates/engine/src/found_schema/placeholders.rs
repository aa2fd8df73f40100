//! Values of tables in place of the placeholders of a counted statement.
//!
//! In: a text with `?`, `$1` or `(...)` in place of values, and the tables of a plan. Out: the text with values of the column that each is
//! compared with or set to (`:orders.id`), and with the names that the plan has for tables and columns. Limits: the statement is split into words
//! and not parsed; what cannot be told is refused with the reason, and so is what reads no table and calls a function: that may change the server.
//! A range is between two values of its column, a list has three, `LIMIT` is from 1 to 20. How many rows a value finds follows from the made-up rows.

use super::{DatabaseNames, FoundTables};
use model::own_table::OwnTable;
use sql::{Dialect, TokenKind};
use std::ops::Range;

/// A part of a statement.
#[derive(Clone, Debug, PartialEq)]
enum Piece {
    /// A word or a name, without quotes.
    Word(String),
    /// A name in quotes, without them.
    Name(String),
    /// `?` or `$1`.
    Placeholder,
    /// `(...)`: a list of values.
    Values,
    /// `<=`, `(`, `,` and so on.
    Sign(&'static str),
    /// A number or a text.
    Literal,
}

const SIGNS: [&str; 20] =
    ["<=>", "<=", ">=", "<>", "!=", "||", "::", "=", "<", ">", "(", ")", ",", ".", ";", "+", "-", "*", "/", "%"];
/// Words that follow a table and are none of its names.
const NO_ALIAS: [&str; 26] = [
    "where",
    "set",
    "on",
    "using",
    "join",
    "left",
    "right",
    "inner",
    "outer",
    "cross",
    "natural",
    "full",
    "group",
    "order",
    "having",
    "limit",
    "offset",
    "for",
    "values",
    "value",
    "select",
    "union",
    "returning",
    "use",
    "force",
    "straight_join",
];

/// Words in front of `(` that call no function.
const NO_FUNCTION: [&str; 16] = [
    "select", "distinct", "in", "exists", "any", "all", "values", "value", "as", "and", "or", "not", "on", "where",
    "when", "union",
];

/// `text`, which is in `dialect`, with values of the tables that were `found` in place of its placeholders.
///
/// # Errors
/// Why a value cannot be told.
pub fn with_values(text: &str, dialect: Dialect, found: &FoundTables) -> Result<String, String> {
    if text.trim_end().ends_with("...") && !text.trim_end().ends_with("(...)") {
        return Err("the server has cut its text".to_owned());
    }
    let pieces = pieces_of(text, dialect).ok_or("its text cannot be split into words")?;
    let tables = found.tables.iter().enumerate();
    let tables = tables.map(|(nth, own)| NamedTable { own, names: found.names.get(nth) }).collect();
    let quote = if dialect == Dialect::Mysql { '`' } else { '"' };
    let mut statement = Statement { tables, pieces: &pieces, quote, known: Vec::new(), replaced: Vec::new() };
    statement.find_tables()?;
    if statement.known.is_empty() && statement.calls_function() {
        return Err("it reads no table of the plan and calls a function, which may change the server".to_owned());
    }
    statement.rename_columns()?;
    statement.find_inserted()?;
    for (at, (piece, place)) in pieces.iter().enumerate() {
        let is_done = statement.replaced.iter().any(|(range, _)| range == place);
        if !is_done && matches!(piece, Piece::Placeholder | Piece::Values) {
            let value = statement.value_at(at)?;
            statement.replaced.push((place.clone(), value));
        }
    }
    statement.replaced.sort_by_key(|(range, _)| range.start);
    let (mut made, mut from) = (String::with_capacity(text.len()), 0);
    for (range, value) in &statement.replaced {
        made += &text[from..range.start];
        made += value;
        from = range.end;
    }
    Ok(made + text[from..].trim_end().trim_end_matches(';'))
}

/// A table of the plan, with its names in the database.
#[derive(Clone, Copy)]
struct NamedTable<'a> {
    own: &'a OwnTable,
    names: Option<&'a DatabaseNames>,
}

impl<'a> NamedTable<'a> {
    fn name(self) -> &'a str {
        self.names.map_or(self.own.name.as_str(), |names| names.table.as_str())
    }

    /// What the database calls its columns.
    fn columns(self) -> impl Iterator<Item = &'a str> {
        let called = self.names.map(|names| names.columns.as_slice()).unwrap_or_default();
        self.own.columns.iter().enumerate().map(move |(nth, own)| called.get(nth).unwrap_or(&own.name).as_str())
    }

    /// The name that the plan has for the column that the database calls `name`.
    fn column(self, name: &str) -> Option<&'a str> {
        let nth = nearest(|| self.columns(), name)?;
        Some(self.own.columns[nth].name.as_str())
    }
}

/// The place of `name` among `names`, or else of one that differs in capitals: a digest of MySQL has some where the database has none.
fn nearest<'n, I: Iterator<Item = &'n str>>(names: impl Fn() -> I, name: &str) -> Option<usize> {
    names().position(|known| known == name).or_else(|| names().position(|known| known.eq_ignore_ascii_case(name)))
}

struct Statement<'a> {
    tables: Vec<NamedTable<'a>>,
    pieces: &'a [(Piece, Range<usize>)],
    /// The sign around names of the dialect.
    quote: char,
    /// The tables that it names, with the names by which it calls them.
    known: Vec<(String, NamedTable<'a>)>,
    replaced: Vec<(Range<usize>, String)>,
}

impl<'a> Statement<'a> {
    fn is_word(&self, at: usize, words: &[&str]) -> bool {
        matches!(self.pieces.get(at), Some((Piece::Word(word), _)) if words.contains(&word.to_ascii_lowercase().as_str()))
    }

    fn is_sign(&self, at: usize, sign: &str) -> bool {
        matches!(self.pieces.get(at), Some((Piece::Sign(known), _)) if *known == sign)
    }

    fn name_at(&self, at: usize) -> Option<&'a str> {
        match &self.pieces.get(at)?.0 {
            Piece::Word(name) | Piece::Name(name) => Some(name),
            _ => None,
        }
    }

    /// The tables behind FROM, JOIN, INTO and UPDATE. A schema in front of a name is left out: the plan has one.
    fn find_tables(&mut self) -> Result<(), String> {
        let mut at = 0;
        while at < self.pieces.len() {
            let begins = self.is_word(at, &["from", "join", "into", "update"]);
            // `FOR UPDATE`, `ON DUPLICATE KEY UPDATE`.
            let is_table = begins && !(at > 0 && self.is_word(at - 1, &["for", "key", "do"]));
            at += 1;
            while is_table && self.is_word(at, &["ignore", "low_priority", "delayed", "only"]) {
                at += 1;
            }
            while is_table && self.name_at(at).is_some() {
                at = self.take_table(at)?;
                if !self.is_sign(at, ",") {
                    break;
                }
                at += 1;
            }
        }
        Ok(())
    }

    fn calls_function(&self) -> bool {
        let begins_list =
            |at: usize| self.is_sign(at, "(") || self.pieces.get(at).is_some_and(|(piece, _)| *piece == Piece::Values);
        (0..self.pieces.len())
            .any(|at| self.name_at(at).is_some() && begins_list(at + 1) && !self.is_word(at, &NO_FUNCTION))
    }

    /// Takes the table at `at`, and returns what follows it.
    fn take_table(&mut self, mut at: usize) -> Result<usize, String> {
        if self.is_sign(at + 1, ".") && self.name_at(at + 2).is_some() {
            self.replaced.push((self.pieces[at].1.clone(), String::new()));
            self.replaced.push((self.pieces[at + 1].1.clone(), String::new()));
            at += 2;
        }
        let name = self.name_at(at).unwrap_or_default();
        let nth = nearest(|| self.tables.iter().copied().map(NamedTable::name), name);
        let table = self.tables[nth.ok_or_else(|| format!("the plan has no table `{name}`"))?];
        self.known.push((name.to_owned(), table));
        // A digest has some names in capitals, which MySQL tells from others.
        self.rename(at, &table.own.name);
        at += 1;
        at += usize::from(self.is_word(at, &["as"]));
        if self.name_at(at).is_some() && !self.is_word(at, &NO_ALIAS) {
            self.known.push((self.name_at(at).unwrap_or_default().to_owned(), table));
            at += 1;
        }
        Ok(at)
    }

    /// Puts `new` in place of the name at `at`, in quotes if that is in quotes.
    fn rename(&mut self, at: usize, new: &str) {
        let (piece, place) = &self.pieces[at];
        let new = match piece {
            Piece::Word(old) if old != new => new.to_owned(),
            Piece::Name(old) if old != new => format!("{quote}{new}{quote}", quote = self.quote),
            _ => return,
        };
        self.replaced.push((place.clone(), new));
    }

    /// Puts the names that the plan has in place of those of columns, and of tables in front of them.
    fn rename_columns(&mut self) -> Result<(), String> {
        for at in 0..self.pieces.len() {
            let Some(name) = self.name_at(at) else { continue };
            if self.replaced.iter().any(|(range, _)| *range == self.pieces[at].1) {
                continue;
            }
            let new = if self.is_sign(at + 1, ".") { self.new_qualifier(name) } else { self.new_column(at, name)? };
            if let Some(new) = new {
                self.rename(at, new);
            }
        }
        Ok(())
    }

    /// What a table is called in the plan that is called `name` in the statement, unless `name` is one that only the statement has.
    fn new_qualifier(&self, name: &str) -> Option<&'a str> {
        let is_it = |table: &&NamedTable<'a>| table.name().eq_ignore_ascii_case(name);
        let called = self.known.iter().filter(|(called, _)| called.eq_ignore_ascii_case(name));
        called.map(|(_, table)| table).find(is_it).map(|table| table.own.name.as_str())
    }

    /// What the column `name` at `at` is called in the plan, if that is another name.
    fn new_column(&self, at: usize, name: &str) -> Result<Option<&'a str>, String> {
        let mut found: Vec<&'a str> = self.fitting(at).filter_map(|table| table.column(name)).collect();
        found.dedup();
        match found[..] {
            [] => Ok(None),
            _ if found.iter().all(|new| new.eq_ignore_ascii_case(name)) => Ok(None),
            [new] => Ok(Some(new)),
            _ => Err(format!("several tables of it have the column `{name}`")),
        }
    }

    /// The tables that the column at `at` may be of.
    fn fitting(&self, at: usize) -> impl Iterator<Item = NamedTable<'a>> {
        let qualifier = at.checked_sub(2).filter(|_| self.is_sign(at - 1, ".")).and_then(|at| self.name_at(at));
        let is_it = move |called: &str| qualifier.is_none_or(|qualifier| called.eq_ignore_ascii_case(qualifier));
        self.known.iter().filter(move |(called, _)| is_it(called)).map(|(_, table)| *table)
    }

    /// `INSERT INTO t (a, b) VALUES (?, ?)`: values of rows that are not there yet.
    fn find_inserted(&mut self) -> Result<(), String> {
        let Some(values) = (0..self.pieces.len()).find(|at| self.is_word(*at, &["values", "value"])) else {
            return Ok(());
        };
        let Some((_, table)) = self.known.first().cloned() else { return Ok(()) };
        let own = &table.own.name;
        let mut columns: Vec<&str> = Vec::new();
        if self.is_sign(values.wrapping_sub(1), ")") {
            let open = (0..values).rev().find(|at| self.is_sign(*at, "(")).unwrap_or(0);
            columns.extend((open + 1..values - 1).filter_map(|at| self.name_at(at)));
        } else {
            columns.extend(table.columns());
        }
        let value = |name: &str| match table.column(name) {
            Some(column) => Ok(format!(":{own}.{column}@new")),
            None => Err(format!("table `{own}` has no column `{name}`")),
        };
        let (mut at, mut nth) = (values + 1, 0);
        while at < self.pieces.len() {
            let replacement = match self.pieces[at].0 {
                Piece::Values => {
                    let all = columns.iter().map(|name| value(name)).collect::<Result<Vec<_>, _>>()?;
                    format!("({})", all.join(", "))
                }
                Piece::Placeholder => {
                    let name = columns.get(nth).ok_or("it inserts more values than columns")?;
                    nth += 1;
                    value(name)?
                }
                Piece::Literal => {
                    nth += 1;
                    at += 1;
                    continue;
                }
                Piece::Sign("(" | "," | ")") => {
                    // Each row begins with the first column again.
                    nth = if self.is_sign(at, "(") { 0 } else { nth };
                    at += 1;
                    continue;
                }
                _ => break,
            };
            self.replaced.push((self.pieces[at].1.clone(), replacement));
            at += 1;
        }
        Ok(())
    }

    /// What takes the place of the placeholder at `at`.
    fn value_at(&self, at: usize) -> Result<String, String> {
        let back = |steps: usize| at.checked_sub(steps);
        let before = |steps: usize, words: &[&str]| back(steps).is_some_and(|at| self.is_word(at, words));
        if before(1, &["limit", "first", "next"]) {
            return Ok(":int(1,20)".to_owned());
        }
        if before(1, &["offset"]) {
            return Ok(":int(0,100)".to_owned());
        }
        let is_second_of_limit = before(3, &["limit"]) && back(1).is_some_and(|at| self.is_sign(at, ","));
        if is_second_of_limit {
            return Ok(":int(1,20)".to_owned());
        }
        if before(1, &["between"]) {
            let column = self.column_before(at - 1)?;
            return Ok(format!("least({column}, {column}@2)"));
        }
        if before(1, &["and"]) && before(3, &["between"]) {
            let column = self.column_before(at - 3)?;
            return Ok(format!("greatest({column}, {column}@2)"));
        }
        let is_compared =
            |at: usize| ["=", "<", ">", "<=", ">=", "<>", "!=", "<=>"].iter().any(|sign| self.is_sign(at, sign));
        if back(1).is_some_and(is_compared) || before(1, &["like", "ilike"]) {
            return self.column_before(at - 1);
        }
        if is_compared(at + 1) && self.name_at(at + 2).is_some() {
            let last = if self.is_sign(at + 3, ".") { at + 4 } else { at + 2 };
            return self.column_before(last + 1);
        }
        self.value_of_list(at)
    }

    /// A value of `a IN (?, ?)` or `a IN (...)`.
    fn value_of_list(&self, at: usize) -> Result<String, String> {
        const LIST: u32 = 3;
        if self.pieces[at].0 == Piece::Values && at > 0 && self.is_word(at - 1, &["in"]) {
            let column = self.column_before(at - 1)?;
            let all: Vec<String> = (1..=LIST).map(|nth| numbered(&column, nth)).collect();
            return Ok(format!("({})", all.join(", ")));
        }
        let (mut first, mut nth) = (at, 1);
        while first >= 2 && self.is_sign(first - 1, ",") && matches!(self.pieces[first - 2].0, Piece::Placeholder) {
            (first, nth) = (first - 2, nth + 1);
        }
        if first >= 2 && self.is_sign(first - 1, "(") && self.is_word(first - 2, &["in"]) && nth <= 99 {
            return Ok(numbered(&self.column_before(first - 2)?, nth));
        }
        Err(format!("the value behind `{}` is of no column that shows", self.words_before(at)))
    }

    /// The words in front of `at`, as they are quoted.
    fn words_before(&self, at: usize) -> String {
        let words: Vec<&str> = (at.saturating_sub(3)..at)
            .filter_map(|at| match &self.pieces[at].0 {
                Piece::Word(word) | Piece::Name(word) => Some(word.as_str()),
                Piece::Sign(sign) => Some(*sign),
                _ => None,
            })
            .collect();
        words.join(" ").chars().take(40).collect()
    }

    /// The value of the column whose name ends in front of `end`.
    fn column_before(&self, end: usize) -> Result<String, String> {
        let end = if end > 0 && self.is_word(end - 1, &["not"]) { end - 1 } else { end };
        let at = end.checked_sub(1).ok_or("a value is compared with nothing")?;
        let name = self.name_at(at).ok_or_else(|| format!("a value is compared with `{}`", self.words_before(end)))?;
        let mut fitting = self.fitting(at).filter_map(|table| Some((&table.own.name, table.column(name)?)));
        let (table, column) = fitting.next().ok_or_else(|| format!("no table of it has the column `{name}`"))?;
        if fitting.any(|(other, _)| other != table) {
            return Err(format!("several tables of it have the column `{name}`"));
        }
        Ok(format!(":{table}.{column}"))
    }
}

fn numbered(column: &str, nth: u32) -> String {
    if nth == 1 { column.to_owned() } else { format!("{column}@{nth}") }
}

/// Splits `text`; `None` if a quote or a comment is not closed, or it has a sign that is not known here.
fn pieces_of(text: &str, dialect: Dialect) -> Option<Vec<(Piece, Range<usize>)>> {
    let mut pieces: Vec<(Piece, Range<usize>)> = Vec::new();
    for token in sql::tokens(text, dialect).ok()? {
        let piece = match token.kind {
            TokenKind::Word => Piece::Word(token.text(text).to_owned()),
            TokenKind::Name => Piece::Name(token.name(text)?),
            TokenKind::Param => Piece::Placeholder,
            TokenKind::Text | TokenKind::Number => Piece::Literal,
            TokenKind::Variable => return None,
            TokenKind::Sign => {
                split_signs(text, token.start..token.end, &mut pieces)?;
                continue;
            }
        };
        pieces.push((piece, token.start..token.end));
    }
    Some(pieces)
}

/// Adds the signs at `place`, or the list of values that begins with them.
fn split_signs(text: &str, place: Range<usize>, pieces: &mut Vec<(Piece, Range<usize>)>) -> Option<()> {
    const VALUES: &str = "(...)";
    // The signs of a list that was added are behind it.
    let mut at = pieces.last().map_or(0, |(_, last)| last.end).max(place.start);
    while at < place.end {
        let rest = &text[at..];
        let (piece, length) = if rest.starts_with(VALUES) {
            (Piece::Values, VALUES.len())
        } else {
            let sign = SIGNS.iter().find(|sign| rest.starts_with(**sign))?;
            (Piece::Sign(sign), sign.len())
        };
        pieces.push((piece, at..at + length));
        at += length;
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::own_table::{ColumnKind, OwnColumn, ValueSource};

    /// The plan has other names than the database for the last table and for some of its columns.
    fn tables() -> FoundTables {
        let table = |name: &str, columns: &[&str]| OwnTable {
            name: name.to_owned(),
            rows: 10,
            columns: columns
                .iter()
                .map(|name| OwnColumn {
                    name: (*name).to_owned(),
                    kind: ColumnKind::Int,
                    not_null: false,
                    nulls: 0.0,
                    source: ValueSource::Serial,
                })
                .collect(),
            primary_key: Vec::new(),
            indexes: Vec::new(),
            partitions: None,
            keys: None,
        };
        let tables = vec![
            table("orders", &["id", "customer", "total"]),
            table("customers", &["id", "name"]),
            table("Order_Line", &["id", "unit_price", "unit_price_2"]),
        ];
        let names = |table: &OwnTable| DatabaseNames {
            table: table.name.replace('_', " "),
            columns: table
                .columns
                .iter()
                .map(|column| match column.name.as_str() {
                    "unit_price" => "unit price".to_owned(),
                    "unit_price_2" => "unit-price".to_owned(),
                    same => same.to_owned(),
                })
                .collect(),
        };
        FoundTables { names: tables.iter().map(names).collect(), tables, notes: Vec::new() }
    }

    /// Only PostgreSQL numbers its placeholders.
    fn dialect_of(text: &str) -> Dialect {
        if text.contains('$') { Dialect::Postgres } else { Dialect::Mysql }
    }

    #[test]
    fn placeholders_become_values_of_the_column_that_they_are_compared_with_or_set_to() {
        for (text, expected) in [
            ("SELECT * FROM `orders` WHERE `id` = ?", "SELECT * FROM `orders` WHERE `id` = :orders.id"),
            (
                "select * from orders where id = $1 limit $2",
                "select * from orders where id = :orders.id limit :int(1,20)",
            ),
            (
                "SELECT `c` . `name` FROM `customers` AS `c` WHERE `c` . `id` = ?",
                "SELECT `c` . `name` FROM `customers` AS `c` WHERE `c` . `id` = :customers.id",
            ),
            (
                "SELECT * FROM orders WHERE total BETWEEN ? AND ? AND id IN (...)",
                "SELECT * FROM orders WHERE total BETWEEN least(:orders.total, :orders.total@2) AND greatest(:orders.total, :orders.total@2) AND id IN (:orders.id, :orders.id@2, :orders.id@3)",
            ),
            (
                "UPDATE `shop` . `orders` SET `total` = ? WHERE `id` = ? ;",
                "UPDATE   `orders` SET `total` = :orders.total WHERE `id` = :orders.id ",
            ),
            (
                "INSERT INTO `orders` ( `id` , `total` ) VALUES (...) /* , ... */",
                "INSERT INTO `orders` ( `id` , `total` ) VALUES (:orders.id@new, :orders.total@new) /* , ... */",
            ),
            (
                "INSERT INTO customers (id, name) VALUES ($1, $2)",
                "INSERT INTO customers (id, name) VALUES (:customers.id@new, :customers.name@new)",
            ),
            (
                "INSERT INTO CUSTOMERS VALUES (...)",
                "INSERT INTO customers VALUES (:customers.id@new, :customers.name@new)",
            ),
            ("SELECT * FROM orders WHERE $1 = id", "SELECT * FROM orders WHERE :orders.id = id"),
            (
                "SELECT id FROM orders WHERE id IN ($1, $2)",
                "SELECT id FROM orders WHERE id IN (:orders.id, :orders.id@2)",
            ),
        ] {
            assert_eq!(with_values(text, dialect_of(text), &tables()).as_deref(), Ok(expected), "{text}");
        }
    }

    #[test]
    fn names_that_the_plan_has_changed_are_changed_in_statements() {
        for (text, expected) in [
            (
                r#"select count(*) from "Order Line" where id=$1"#,
                r#"select count(*) from "Order_Line" where id=:Order_Line.id"#,
            ),
            (
                r#"select l."unit price", "Order Line".id from "Order Line" l where "unit-price" > $1"#,
                r#"select l."unit_price", "Order_Line".id from "Order_Line" l where "unit_price_2" > :Order_Line.unit_price_2"#,
            ),
            (
                "INSERT INTO `Order Line` (`id`, `unit price`) VALUES (...)",
                "INSERT INTO `Order_Line` (`id`, `unit_price`) VALUES (:Order_Line.id@new, :Order_Line.unit_price@new)",
            ),
        ] {
            assert_eq!(with_values(text, dialect_of(text), &tables()).as_deref(), Ok(expected), "{text}");
        }
        let unknown = with_values("SELECT * FROM Order_Line WHERE id = ?", Dialect::Mysql, &tables());
        assert_eq!(unknown, Err("the plan has no table `Order_Line`".to_owned()), "the database has no such name");
    }

    #[test]
    fn a_statement_that_reads_no_table_is_taken_if_it_calls_no_function() {
        for text in ["SELECT 1", "SELECT (1) WHERE 1 IN (1, 2)"] {
            assert_eq!(with_values(text, dialect_of(text), &tables()).as_deref(), Ok(text));
        }
    }

    #[test]
    fn what_cannot_be_told_is_refused_with_the_reason() {
        for (text, part) in [
            ("SELECT * FROM invoices WHERE id = ?", "no table `invoices`"),
            ("SELECT * FROM orders WHERE weight = ?", "has the column `weight`"),
            ("SELECT * FROM orders o, customers c WHERE id = ?", "several tables"),
            ("SELECT * FROM orders WHERE id + ? > 5", "is of no column"),
            ("SELECT * FROM orders WHERE id = ...", "cut"),
            ("SELECT 'open", "cannot be split"),
            ("select pg_stat_statements_reset()", "no table of the plan and calls a function"),
            ("SELECT `SLEEP` (?)", "no table of the plan and calls a function"),
            ("SELECT GET_LOCK (...)", "no table of the plan and calls a function"),
        ] {
            let refused = with_values(text, dialect_of(text), &tables()).unwrap_err();
            assert!(refused.contains(part), "{text}: {refused}");
        }
    }
}
