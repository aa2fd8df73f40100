//! Where a statement says values of given columns: next to a comparison, in a list, in SET, in the rows of an INSERT.
//!
//! In: a statement that was split, and the columns. Out: the tokens that are their values. Limits: a statement is not parsed. A value is a
//! literal or a parameter, alone, in a cast, or as the first of a sum: what else is calculated and a value before its column (`5 = id`) are not found,
//! nor is anything in a MERGE. Of what an INSERT selects, a literal counts that is all that is selected for its column. A table whose schema is not
//! known is that of any schema, if there are not two of them. Tables that only a session has (CREATE TEMPORARY TABLE) count as those that they hide.

use crate::lexer::{Token, TokenKind};
use crate::reading::Dialect;
use crate::scopes::Scopes;
use crate::split::{SplitText, TableName};

/// A column whose values are looked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValueColumn {
    /// The schema of its table; `None` for any.
    pub schema: Option<String>,
    /// Other schemas that have a table of that name.
    pub also_in: Vec<String>,
    /// Whether a session that has set no path finds its table without the schema.
    pub is_visible: bool,
    /// Its table, without a schema.
    pub table: String,
    pub column: String,
    /// Its place among the columns of its table, from 0: an INSERT may name none.
    pub place: usize,
}

/// A value of a column in a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SaidValue {
    /// The number of the column among those that were given.
    pub column: usize,
    /// The number of its token.
    pub token: usize,
    /// Whether a minus is before it.
    pub is_negative: bool,
}

/// What a statement says of given columns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SaidValues {
    /// Their values, in the order of the statement.
    pub values: Vec<SaidValue>,
    /// The numbers of those columns that are of the table into which it inserts.
    pub inserted: Vec<usize>,
}

/// What `text`, which was split into `tokens`, says of `columns`. Tables without a schema are in the first schema of the `path` that has them, if that is
/// known.
pub fn said_values(
    text: &str,
    tokens: &[Token],
    dialect: Dialect,
    path: Option<&[String]>,
    columns: &[ValueColumn],
) -> SaidValues {
    let split = SplitText { text, tokens, dialect };
    let scopes = Scopes::of(split);
    let statement = Statement { split, path, columns, scopes: &scopes };
    let mut values = Vec::new();
    for at in 0..tokens.len() {
        statement.push_compared(at, &mut values);
        statement.push_compared_row(at, &mut values);
    }
    for (table, behind) in &scopes.inserts {
        statement.push_rows(table, *behind, &mut values);
    }
    values.sort_by_key(|value| value.token);
    values.dedup_by_key(|value| value.token);
    let into = scopes.inserts.first().map(|(table, _)| table);
    let is_inserted = |nth: &usize| into.is_some_and(|table| statement.is_of_table(&columns[*nth], table));
    SaidValues { values, inserted: (0..columns.len()).filter(is_inserted).collect() }
}

const COMPARED: [&str; 8] = ["=", "<>", "!=", "<", ">", "<=", ">=", "<=>"];
/// Signs between what is calculated.
const CALCULATED: [&str; 11] = ["+", "-", "*", "/", "%", "||", "^", "&", "|", "<<", ">>"];
/// Words behind which a bracket begins a row, and no call.
const BEFORE_ROW: [&str; 10] = ["where", "and", "or", "xor", "not", "on", "having", "when", "set", "row"];
/// What ends the list of a SELECT.
const BEHIND_SELECTED: [&str; 16] = [
    "from",
    "where",
    "group",
    "having",
    "window",
    "order",
    "limit",
    "offset",
    "fetch",
    "for",
    "into",
    "union",
    "except",
    "intersect",
    "on",
    "returning",
];

struct Statement<'a> {
    split: SplitText<'a>,
    path: Option<&'a [String]>,
    columns: &'a [ValueColumn],
    scopes: &'a Scopes,
}

/// A value, and the number of the token behind it.
struct FoundValue {
    token: usize,
    is_negative: bool,
    behind: usize,
}

impl Statement<'_> {
    /// Adds the values that the column whose name begins at `at` is compared with, if it is one of those.
    fn push_compared(&self, at: usize, values: &mut Vec<SaidValue>) {
        let split = &self.split;
        let is_within = at > 0 && (split.is_sign(at - 1, ".") || self.is_calculated(at - 1));
        let Some(behind) = split.behind_name(at).filter(|_| !is_within) else { return };
        let is_sign = COMPARED.iter().any(|sign| split.is_sign(behind, sign));
        let verb = behind + usize::from(split.is_word(behind, &["not"]));
        let is_between = split.is_word(verb, &["between"]);
        let is_list = split.is_word(verb, &["in"]) && split.is_sign(verb + 1, "(");
        if !is_sign && !is_between && !is_list {
            return;
        }
        let Some(column) = self.column_named(at, behind) else { return };
        if is_list {
            self.push_list(column, verb + 2, values);
        } else if is_between {
            self.push_between(column, verb + 1, values);
        } else {
            self.push_operand(column, behind + 1, values);
        }
    }

    /// Adds the values that the columns of the row that begins at `at` are compared with: `(a, b) = (1, 2)`, `(a, b) IN ((1, 2), (3, 4))`.
    fn push_compared_row(&self, at: usize, values: &mut Vec<SaidValue>) {
        let split = &self.split;
        let Some(end) = self.end_of_names(at) else { return };
        let is_sign = COMPARED.iter().any(|sign| split.is_sign(end + 1, sign));
        let verb = end + 1 + usize::from(split.is_word(end + 1, &["not"]));
        let is_list = split.is_word(verb, &["in"]) && split.is_sign(verb + 1, "(");
        let before = at.checked_sub(1);
        let is_call = before.is_some_and(|it| split.name(it).is_some() && !split.is_word(it, &BEFORE_ROW));
        if is_call || !is_sign && !is_list {
            return;
        }
        let places = self.places_in_names(at + 1, end);
        if is_list {
            let first = verb + 2;
            self.push_each_row(&places, first + usize::from(split.is_word(first, &["values"])), values);
        } else {
            let row = end + 2;
            self.push_row(&places, row + usize::from(split.is_word(row, &["row"])), values);
        }
    }

    /// The number of the bracket that ends the row of names that begins with the one at `at`: of two or more, unless ROW is before it.
    fn end_of_names(&self, at: usize) -> Option<usize> {
        let split = &self.split;
        let mut behind = split.is_sign(at, "(").then(|| split.behind_name(at + 1))??;
        let is_named = at.checked_sub(1).is_some_and(|before| split.is_word(before, &["row"]));
        if !is_named && !split.is_sign(behind, ",") {
            return None;
        }
        while split.is_sign(behind, ",") {
            behind = split.behind_name(behind + 1)?;
        }
        split.is_sign(behind, ")").then_some(behind)
    }

    /// The place of each column in a row of names from `at` to `end`.
    fn places_in_names(&self, mut at: usize, end: usize) -> Vec<Option<usize>> {
        let mut places = vec![None; self.columns.len()];
        for place in 0.. {
            let Some(behind) = self.split.behind_name(at).filter(|_| at < end) else { break };
            if let Some(column) = self.column_named(at, behind) {
                places[column] = Some(place);
            }
            at = behind + 1;
        }
        places
    }

    /// Adds what is behind the sign of a comparison, from `at` on: a value, `ANY ('{1,2}')`, `ANY (ARRAY[1, 2])`.
    fn push_operand(&self, column: usize, at: usize, values: &mut Vec<SaidValue>) {
        let split = &self.split;
        if !(split.is_word(at, &["any", "some", "all"]) && split.is_sign(at + 1, "(")) {
            push_value(column, self.value_at(at), values);
        } else if split.is_word(at + 2, &["array"]) && split.is_sign(at + 3, "[") {
            self.push_list(column, at + 4, values);
        } else {
            self.push_list(column, at + 2, values);
        }
    }

    /// Adds both values of a range, or none: one that is left alone would be the end of another range.
    fn push_between(&self, column: usize, at: usize, values: &mut Vec<SaidValue>) {
        let Some(first) = self.value_at(at) else { return };
        let behind_and = self.find_and(first.behind).map(|and| and + 1);
        if let Some(last) = behind_and.and_then(|at| self.value_at(at)) {
            push_value(column, Some(first), values);
            push_value(column, Some(last), values);
        }
    }

    /// The AND behind what begins at `at`.
    fn find_and(&self, at: usize) -> Option<usize> {
        let end = self.split.end_of_item(at).unwrap_or(self.split.tokens.len());
        (at..end).find(|nth| self.split.is_word(*nth, &["and"]))
    }

    /// Adds the values of a list whose first item begins at `at`.
    fn push_list(&self, column: usize, mut at: usize, values: &mut Vec<SaidValue>) {
        while let Some(end) = self.split.end_of_item(at) {
            push_value(column, self.value_at(at).filter(|value| value.behind == end), values);
            if !self.split.is_sign(end, ",") {
                return;
            }
            at = end + 1;
        }
    }

    /// Adds the values in the rows of an INSERT into `table`, which goes on at `behind`.
    fn push_rows(&self, table: &TableName, behind: usize, values: &mut Vec<SaidValue>) {
        let split = &self.split;
        let mut at = behind;
        let of_table = |column: &ValueColumn| self.is_of_table(column, table);
        let mut places = self.columns.iter().map(|column| of_table(column).then_some(column.place)).collect::<Vec<_>>();
        if split.is_sign(at, "(") && !split.is_word(at + 1, &["select", "with", "values"]) {
            let Some((names, end)) = self.names_in(at + 1) else { return };
            let place_of = |column: &ValueColumn| names.iter().position(|name| split.is_same(name, &column.column));
            places = self.columns.iter().map(|it| place_of(it).filter(|_| of_table(it))).collect();
            at = end + 1;
        }
        if split.is_word(at, &["overriding"]) {
            at += 3;
        }
        at += usize::from(split.is_sign(at, "(") && split.is_word(at + 1, &["select"]));
        if split.is_word(at, &["values", "value"]) {
            self.push_each_row(&places, at + 1, values);
        }
        while split.is_word(at, &["select"]) {
            let end = self.push_selected(&places, at + 1, values);
            let behind = end + 1 + usize::from(split.is_word(end + 1, &["all", "distinct"]));
            at = if split.is_word(end, &["union"]) { behind } else { end };
        }
    }

    /// Adds the values of the rows from `at` on, which have each column at its place.
    fn push_each_row(&self, places: &[Option<usize>], mut at: usize, values: &mut Vec<SaidValue>) {
        let split = &self.split;
        loop {
            at += usize::from(split.is_word(at, &["row"]));
            let Some(end) = self.push_row(places, at, values) else { return };
            if !split.is_sign(end + 1, ",") {
                return;
            }
            at = end + 2;
        }
    }

    /// Adds the values of the list of a SELECT that begins at `at`, which has each column at its place, and returns the number of the token behind it.
    fn push_selected(&self, places: &[Option<usize>], at: usize, values: &mut Vec<SaidValue>) -> usize {
        let split = &self.split;
        let mut at = at + usize::from(split.is_word(at, &["all", "distinct"]));
        let mut place = 0;
        loop {
            let end = self.end_of_selected(at);
            if let Some(column) = places.iter().position(|its_place| *its_place == Some(place)) {
                push_value(column, self.value_at(at).filter(|value| self.is_alias(value.behind, end)), values);
            }
            if !split.is_sign(end, ",") {
                return end;
            }
            (at, place) = (end + 1, place + 1);
        }
    }

    /// The number of the token that ends what is selected from `at` on.
    fn end_of_selected(&self, at: usize) -> usize {
        let split = &self.split;
        let end = split.end_of_item(at).unwrap_or(split.tokens.len());
        let mut depth = 0;
        let is_behind = |nth: &usize| {
            depth += i32::from(split.is_sign(*nth, "(")) - i32::from(split.is_sign(*nth, ")"));
            depth == 0 && (split.is_word(*nth, &BEHIND_SELECTED) || split.is_sign(*nth, ";"))
        };
        (at..end).find(is_behind).unwrap_or(end)
    }

    /// Whether what is from `at` to `end` is an alias, or nothing.
    fn is_alias(&self, at: usize, end: usize) -> bool {
        let named_at = at + usize::from(self.split.is_word(at, &["as"]));
        at == end || named_at + 1 == end && self.split.name(named_at).is_some()
    }

    /// Adds the values of the row that begins at `at`, which has each column at its place, and returns the number of the bracket at its end.
    fn push_row(&self, places: &[Option<usize>], at: usize, values: &mut Vec<SaidValue>) -> Option<usize> {
        if !self.split.is_sign(at, "(") {
            return None;
        }
        let mut at = at + 1;
        for place in 0.. {
            let end = self.split.end_of_item(at)?;
            if let Some(column) = places.iter().position(|its_place| *its_place == Some(place)) {
                push_value(column, self.value_at(at).filter(|value| value.behind == end), values);
            }
            if !self.split.is_sign(end, ",") {
                return Some(end);
            }
            at = end + 1;
        }
        None
    }

    /// The names in a list that begins at `at`, and the number of the bracket at its end.
    fn names_in(&self, mut at: usize) -> Option<(Vec<String>, usize)> {
        let mut names = Vec::new();
        loop {
            let end = self.split.end_of_item(at)?;
            names.push(self.split.name(end.checked_sub(1)?).unwrap_or_default());
            if !self.split.is_sign(end, ",") {
                return Some((names, end));
            }
            at = end + 1;
        }
    }

    /// Whether `column` is one of `table`. If columns are of tables of this name in several schemas, one whose schema is not known is the
    /// one that is visible, or may be any of them.
    fn is_of_table(&self, column: &ValueColumn, table: &TableName) -> bool {
        let is_same = |one: &str, other: &str| self.split.is_same(one, other);
        let is_called = |other: &ValueColumn| is_same(&other.table, &table.table);
        let is_in = |schema: &str| match (&table.schema, self.path) {
            (Some(known), _) => is_same(schema, known),
            (None, Some(path)) => {
                let has_it =
                    |name: &&String| is_same(name, schema) || column.also_in.iter().any(|it| is_same(name, it));
                path.iter().find(has_it).is_some_and(|first| is_same(first, schema))
            }
            (None, None) => {
                let mut schemas = self.columns.iter().filter(|other| is_called(other)).map(|other| &other.schema);
                column.is_visible || schemas.all(|other| other.as_deref().is_none_or(|other| is_same(other, schema)))
            }
        };
        is_called(column) && column.schema.as_deref().is_none_or(is_in)
    }

    /// The number of the column whose name is from `at` to before `behind`.
    fn column_named(&self, at: usize, behind: usize) -> Option<usize> {
        let name = self.split.name(behind - 1)?;
        let is_of = |column: &ValueColumn, table: &TableName| {
            self.split.is_same(&column.column, &name) && self.is_of_table(column, table)
        };
        let scope = self.scopes.of_token[at];
        if behind - at > 2 {
            let table = self.scopes.table_called(scope, &self.split, &self.split.name(behind - 3)?)?;
            return self.columns.iter().position(|column| is_of(column, table));
        }
        let is_here = |nth: &usize| self.scopes.tables_in(scope).any(|table| is_of(&self.columns[*nth], table));
        let mut found = (0..self.columns.len()).filter(is_here);
        found.next().filter(|_| found.next().is_none())
    }

    /// The value that begins at `at`, if it stands alone or is the first of a sum.
    fn value_at(&self, at: usize) -> Option<FoundValue> {
        let split = &self.split;
        let is_cast = split.is_word(at, &["cast"]) && split.is_sign(at + 1, "(");
        let first = if is_cast { at + 2 } else { at };
        let is_negative = split.is_sign(first, "-");
        let token = first + usize::from(is_negative || split.is_sign(first, "+"));
        let is_value = |at: usize| {
            let kind = split.tokens.get(at).map(|token| token.kind);
            matches!(kind, Some(TokenKind::Number | TokenKind::Text | TokenKind::Param))
        };
        let mut behind = token + 1;
        if is_cast {
            behind = split.behind_bracket(at + 1).filter(|_| split.is_word(behind, &["as"]))?;
        }
        while split.is_sign(behind, "::") {
            behind += 2;
            // Of `bigint[]`.
            behind += if split.is_sign(behind, "[") && split.is_sign(behind + 1, "]") { 2 } else { 0 };
        }
        // A sum moves with its first value: BETWEEN 100 AND 100 + 99.
        let is_found = is_value(token) && !is_value(behind) && (self.is_sum(behind) || !self.is_calculated(behind));
        is_found.then_some(FoundValue { token, is_negative, behind })
    }

    fn is_sum(&self, at: usize) -> bool {
        self.split.is_sign(at, "+") || self.split.is_sign(at, "-")
    }

    fn is_calculated(&self, at: usize) -> bool {
        CALCULATED.iter().any(|sign| self.split.is_sign(at, sign)) || self.split.is_word(at, &["div", "mod"])
    }
}

fn push_value(column: usize, value: Option<FoundValue>, values: &mut Vec<SaidValue>) {
    values.extend(value.map(|FoundValue { token, is_negative, .. }| SaidValue { column, token, is_negative }));
}

#[cfg(test)]
mod tests {
    use super::Dialect::{Mysql, Postgres};
    use super::*;
    use crate::lexer;

    /// Two of one table, and one of another.
    fn columns() -> Vec<ValueColumn> {
        let of = |(table, column, place): (&str, &str, usize)| ValueColumn {
            schema: None,
            also_in: Vec::new(),
            is_visible: false,
            table: table.to_owned(),
            column: column.to_owned(),
            place,
        };
        [("orders", "id", 0), ("orders", "customer", 2), ("order_lines", "order_id", 1)].map(of).to_vec()
    }

    /// The values that `text` says of the columns: `id 5`, `customer 7`.
    fn said(text: &str, dialect: Dialect) -> String {
        let (tokens, columns) = (lexer::tokens(text, dialect).unwrap(), columns());
        let said = said_values(text, &tokens, dialect, None, &columns);
        let value = |value: &SaidValue| {
            let sign = if value.is_negative { "-" } else { "" };
            format!("{} {sign}{}", columns[value.column].column, tokens[value.token].text(text))
        };
        said.values.iter().map(value).collect::<Vec<_>>().join(", ")
    }

    /// Both servers read it so.
    fn is_said(text: &str, expected: &str) {
        for dialect in [Mysql, Postgres] {
            assert_eq!(said(text, dialect), expected, "{text}");
        }
    }

    #[test]
    fn values_beside_comparisons_are_said_of_their_columns() {
        for (text, expected) in [
            ("SELECT * FROM orders WHERE id = 5 AND total > 9", "id 5"),
            ("SELECT id=5, 7 FROM shop.orders WHERE id <>-6 AND orders.id<='7' LIMIT 3", "id 5, id -6, id '7'"),
            ("SELECT 1 FROM orders WHERE id BETWEEN 5 AND 9 AND total BETWEEN 1 AND 2", "id 5, id 9"),
            ("SELECT 1 FROM orders WHERE id NOT BETWEEN 5 AND 5 + 99", "id 5, id 5"),
            ("SELECT 1 FROM orders WHERE id BETWEEN 5 AND customer * 2", ""),
            (
                "SELECT 1 FROM orders WHERE id IN (5, -6,'7', f(8), 9) OR id NOT IN (10)",
                "id 5, id -6, id '7', id 9, id 10",
            ),
            ("UPDATE orders SET customer = 7, total = 8 WHERE id = 5", "customer 7, id 5"),
            ("DELETE FROM orders WHERE id = 5 ORDER BY id LIMIT 6", "id 5"),
            ("SELECT 1 FROM orders WHERE id = 5 * 2 OR id + 1 = 6 OR id % 8 = 7 OR 9 = id", ""),
            ("SELECT 1 FROM orders WHERE id = 5 + 1 OR id = 7 - customer", "id 5, id 7"),
            ("SELECT 'id = 5' /* id = 6 */ FROM orders -- id = 7", ""),
            ("SELECT 1 FROM orders WHERE note = 'id = 5' AND grid = 6", ""),
        ] {
            is_said(text, expected);
        }
    }

    #[test]
    fn a_column_belongs_to_the_table_of_its_select() {
        for (text, expected) in [
            ("SELECT 1 FROM customers WHERE id = 5", ""),
            ("SELECT 1 FROM orders AS o, customers c WHERE o.id = 5 AND c.id = 6 AND customer = 7", "id 5, customer 7"),
            ("SELECT 1 FROM customers c JOIN orders o ON o.id = 5 AND c.id = 6 WHERE orders.id = 7", "id 5"),
            ("SELECT 1 FROM a LEFT JOIN order_lines l USING (id) WHERE order_id = 5 AND id = 6", "order_id 5"),
            ("SELECT 1 FROM customers WHERE id = 5 AND id IN (SELECT customer FROM orders WHERE id = 6)", "id 6"),
            (
                "SELECT 1 FROM orders o WHERE EXISTS (SELECT 1 FROM t WHERE id = 5 AND o.id = 6) AND id = 7",
                "id 6, id 7",
            ),
            ("SELECT 1 FROM (SELECT id FROM orders WHERE id = 5) o, t WHERE id = 6", "id 5"),
            ("SELECT 1 FROM (orders o, t) WHERE id = 5", "id 5"),
            ("SELECT 1 FROM orders WHERE id = 5 UNION SELECT 1 FROM t WHERE id = 6", "id 5"),
            ("WITH o AS (SELECT 1 FROM orders WHERE id = 5) SELECT 1 FROM o WHERE id = 6", "id 5"),
            ("INSERT INTO orders (total) SELECT total FROM t WHERE id = 5", ""),
            ("DELETE FROM t WHERE id = 5; DELETE FROM orders WHERE id = 6", "id 6"),
            ("SELECT 1 FROM orders o, orders p WHERE o.id = 5 AND p.id = 6", "id 5, id 6"),
            ("SELECT extract(hour FROM made) FROM orders WHERE id = 5 FOR UPDATE", "id 5"),
        ] {
            is_said(text, expected);
        }
        assert_eq!(said("SELECT 1 FROM `Orders` WHERE `ID` = 5 AND \"id\" = 6", Mysql), "id 5");
        assert_eq!(said("SELECT 1 FROM ORDERS WHERE Id = 5 AND \"id\" = 6 AND \"Id\" = 7", Postgres), "id 5, id 6");
        assert_eq!(said("SELECT 1 FROM \"Orders\" WHERE id = 5", Postgres), "");
        assert_eq!(
            said("UPDATE t, orders o SET o.customer = 7 WHERE t.id = 5 AND o.id = 6", Mysql),
            "customer 7, id 6"
        );
        assert_eq!(said("UPDATE orders SET total = 1 FROM t WHERE t.id = 5 AND orders.id = 6", Postgres), "id 6");
        assert_eq!(said("SELECT 1 FROM t WHERE a IS DISTINCT FROM orders AND id = 5", Postgres), "");
    }

    #[test]
    fn a_table_of_another_schema_is_another_table() {
        let of = |schemas: &[&str], in_schema: Option<&str>, text: &str| {
            let tokens = lexer::tokens(text, Postgres).unwrap();
            let path = in_schema.map(|schema| vec![schema.to_owned()]);
            let column = |schema: &&str| ValueColumn { schema: Some((*schema).to_owned()), ..columns().swap_remove(0) };
            let columns: Vec<ValueColumn> = schemas.iter().map(column).collect();
            let said = said_values(text, &tokens, Postgres, path.as_deref(), &columns);
            assert_eq!(said.inserted, [0; 0], "{text}");
            said.values.into_iter().map(|value| value.column).collect::<Vec<usize>>()
        };
        let (plain, other) =
            ("UPDATE orders SET total = 1 WHERE id = 5", "UPDATE crm.orders SET total = 1 WHERE id = 5");
        let both = "SELECT 1 FROM shop.orders o, crm.orders c WHERE o.id = 5 AND c.id = 6 AND id = 7";
        assert_eq!(of(&["shop"], None, plain), [0]);
        assert_eq!(of(&["shop"], Some("crm"), plain), [0; 0]);
        assert_eq!(of(&["shop"], None, other), [0; 0]);
        assert_eq!(of(&["shop"], Some("shop"), other), [0; 0]);
        assert_eq!(of(&["shop"], Some("shop"), both), [0, 0]);
        assert_eq!(of(&["shop", "crm"], Some("crm"), plain), [1]);
        assert_eq!(of(&["shop", "crm"], None, plain), [0; 0], "it may be either");
        assert_eq!(of(&["shop", "crm"], None, both), [0, 1]);
    }

    #[test]
    fn a_table_without_a_schema_or_a_path_is_the_visible_one() {
        let column = |schema: &str, is_visible: bool| ValueColumn {
            schema: Some(schema.to_owned()),
            is_visible,
            ..columns().swap_remove(0)
        };
        let columns = [column("crm", false), column("shop", true)];
        let text = "INSERT INTO orders (id) VALUES (5)";
        let inserted = |path: Option<&[String]>| {
            said_values(text, &lexer::tokens(text, Postgres).unwrap(), Postgres, path, &columns).inserted
        };
        assert_eq!(inserted(None), [1]);
        assert_eq!(inserted(Some(&["crm".to_owned()])), [0]);
    }

    #[test]
    fn a_table_without_a_schema_is_in_the_first_one_of_the_path_that_has_it() {
        let is_said = |path: &[&str], text: &str| {
            let path: Vec<String> = path.iter().map(|name| (*name).to_owned()).collect();
            let (schema, also_in) = (Some("shop".to_owned()), vec!["crm".to_owned()]);
            let column = ValueColumn { schema, also_in, ..columns().swap_remove(0) };
            let tokens = lexer::tokens(text, Postgres).unwrap();
            let said = said_values(text, &tokens, Postgres, Some(&path), &[column]);
            said.values.len() == 1 && said.inserted.len() == 1
        };
        let plain = "INSERT INTO orders (id) VALUES (5)";
        for (path, expected) in [
            (&["shop", "crm"][..], true),
            (&["crm", "shop"], false),
            (&["$user", "shop"], true),
            (&["Shop", "other"], false),
            (&["other"], false),
            (&[], false),
        ] {
            assert_eq!(is_said(path, plain), expected, "{path:?}");
            assert!(is_said(path, "INSERT INTO shop.orders (id) VALUES (5)"), "{path:?}");
            assert!(!is_said(path, "INSERT INTO crm.orders (id) VALUES (5)"), "{path:?}");
        }
    }

    #[test]
    fn the_rows_of_an_insert_say_their_values_by_position() {
        for (text, expected) in [
            ("INSERT INTO orders (total, id) VALUES (1, 5), (2, -6), (f(3, 4), '7')", "id 5, id -6, id '7'"),
            ("INSERT INTO shop.orders VALUES (5, 'a), (b', 7), (DEFAULT, NULL, 8)", "id 5, customer 7, customer 8"),
            ("INSERT INTO order_lines (id, order_id) VALUES (5, 6)", "order_id 6"),
            ("INSERT INTO orders (id) VALUES (5 + 1)", ""),
            ("INSERT INTO t (id, customer) VALUES (5, 6)", ""),
            ("INSERT INTO orders (id", ""),
            ("INSERT INTO orders (id) VALUES (5", ""),
        ] {
            is_said(text, expected);
        }
        let or_update =
            "INSERT IGNORE orders (id) VALUES (5) ON DUPLICATE KEY UPDATE customer = 7, total = VALUES(total)";
        assert_eq!(said(or_update, Mysql), "id 5, customer 7");
        assert_eq!(said("REPLACE INTO orders SET id = 5, total = replace('a', 'b', 'c')", Mysql), "id 5");
        let on_conflict = "INSERT INTO orders AS o (\"id\") OVERRIDING SYSTEM VALUE VALUES ('5'::bigint) ON CONFLICT (id) \
                           DO UPDATE SET customer = 7 WHERE o.id = 6 RETURNING id";
        assert_eq!(said(on_conflict, Postgres), "id '5', customer 7, id 6");
    }

    #[test]
    fn what_an_insert_selects_says_its_literals_by_position() {
        for (text, expected) in [
            ("INSERT INTO orders (total, id) SELECT 1, 5", "id 5"),
            (
                "INSERT INTO orders (id, total, customer) SELECT -5 AS id, total, '7' c FROM orders WHERE id = 6",
                "id -5, customer '7', id 6",
            ),
            (
                "INSERT INTO orders SELECT DISTINCT 5, f(8, 9), 7 FROM t, u WHERE t.id = 8 ORDER BY 1, 2, 3",
                "id 5, customer 7",
            ),
            ("INSERT INTO orders (id) SELECT 5 UNION ALL SELECT 6 UNION SELECT 7 FROM t", "id 5, id 6, id 7"),
            ("INSERT INTO orders (id, total) (SELECT 5, 8)", "id 5"),
            ("INSERT INTO orders (total, id) SELECT extract(hour FROM made), 5 FROM t", "id 5"),
            ("INSERT INTO orders (total, id) SELECT total, total FROM t ORDER BY 1, 5", ""),
            ("INSERT INTO orders (id, total) SELECT 5 * 2, 8 FROM t", ""),
            ("INSERT INTO orders (id) SELECT 5 + total FROM t", ""),
            ("INSERT INTO orders (id) SELECT (SELECT 5)", ""),
            ("INSERT INTO orders (id) SELECT 5; DELETE FROM t WHERE id IN (6, 7)", "id 5"),
            ("INSERT INTO t (id) SELECT 5", ""),
            ("INSERT INTO orders (id) SELECT", ""),
        ] {
            is_said(text, expected);
        }
        assert_eq!(said("INSERT INTO orders (id) SELECT $1 WHERE $2 ON CONFLICT DO NOTHING", Postgres), "id $1");
    }

    #[test]
    fn rows_that_are_compared_with_rows_say_the_values_of_their_columns() {
        for (text, expected) in [
            ("SELECT 1 FROM orders WHERE (id, total) = (5, 6)", "id 5"),
            (
                "SELECT 1 FROM orders o WHERE total = 1 AND (o.total, o.customer, o.id) > (6, 7, -5)",
                "customer 7, id -5",
            ),
            (
                "DELETE FROM orders WHERE (id, total) IN ((5, 6), (7, 8)) OR (total, id) NOT IN ((9, 10))",
                "id 5, id 7, id 10",
            ),
            ("SELECT 1 FROM orders WHERE ROW(id, customer) = ROW(5, f(6, 7))", "id 5"),
            ("DELETE FROM orders WHERE row(id) = row(5)", "id 5"),
            ("SELECT 1 FROM orders WHERE ROW(id) IN (ROW(5), ROW(6))", "id 5, id 6"),
            ("SELECT 1 FROM orders WHERE ROW(id) = ROW(lower(5))", ""),
            ("SELECT 1 FROM orders WHERE (total, id) IN (SELECT total, 5 FROM t)", ""),
            ("SELECT 1 FROM orders WHERE f(id, total) = (5, 6)", ""),
            ("SELECT 1 FROM customers WHERE (id, customer) = (5, 6)", ""),
            ("SELECT 1 FROM orders WHERE (id, total) = (5", ""),
            ("SELECT 1 FROM orders WHERE (id, total", ""),
        ] {
            is_said(text, expected);
        }
        assert_eq!(said("UPDATE orders SET total = 1, (customer, id) = (7, 5)", Postgres), "customer 7, id 5");
        assert_eq!(said("SELECT 1 FROM orders WHERE (id, total) IN (VALUES (5, 6), ($1, 8))", Postgres), "id 5, id $1");
    }

    #[test]
    fn a_value_may_be_in_a_cast() {
        for (text, expected) in [
            (
                "SELECT 1 FROM orders WHERE id = CAST(5 AS decimal(10, 2)) AND customer = cast('7' AS char)",
                "id 5, customer '7'",
            ),
            ("SELECT 1 FROM orders WHERE id IN (CAST(-5 AS int), 6) OR id = CAST(7 AS int) * 2", "id -5, id 6"),
            ("SELECT 1 FROM orders WHERE id BETWEEN CAST(5 AS int) AND CAST(6 AS int) + 1", "id 5, id 6"),
            ("INSERT INTO orders (id) VALUES (CAST(5 AS int))", "id 5"),
            ("SELECT 1 FROM orders WHERE id = CAST(5 + 1 AS int) OR id = -CAST(6 AS int) OR id = CAST(7", ""),
        ] {
            is_said(text, expected);
        }
        assert_eq!(
            said("SELECT 1 FROM orders WHERE id = 5::bigint AND customer = '7'::int8", Postgres),
            "id 5, customer '7'"
        );
    }

    #[test]
    fn lists_of_postgresql_and_parameters_are_values() {
        assert_eq!(said("SELECT 1 FROM orders WHERE id = ANY ('{5,6}'::bigint[])", Postgres), "id '{5,6}'");
        assert_eq!(
            said("SELECT 1 FROM orders WHERE id = ANY(ARRAY[5, 6]) AND id = ANY($1)", Postgres),
            "id 5, id 6, id $1"
        );
        assert_eq!(said("SELECT 1 FROM orders WHERE id = $2 AND total = $1", Postgres), "id $2");
        assert_eq!(said("INSERT INTO orders (total, id) VALUES (?, ?), (?, ?)", Mysql), "id ?, id ?");
    }

    #[test]
    fn the_columns_of_the_table_of_an_insert_are_told() {
        let inserted =
            |text: &str| said_values(text, &lexer::tokens(text, Mysql).unwrap(), Mysql, None, &columns()).inserted;
        assert_eq!(inserted("INSERT INTO orders (total) VALUES (1)"), [0, 1]);
        assert_eq!(inserted("replace order_lines (qty) values (1)"), [2]);
        assert_eq!(inserted("UPDATE orders SET total = 1"), [0; 0]);
        assert_eq!(inserted("INSERT INTO t SELECT replace(a, 'b', 'c') FROM orders"), [0; 0]);
    }
}
