//! The keys of which each copy of a recording has values of its own, as a user names them.
//!
//! In: `orders.id:order_lines.order_id+orders.customer_id=1000000`. Out: [`AskedKey`]s. Limits: whether there are such columns is known to the
//! server only. Names have no quotes, and none of the signs `.`, `:`, `+` and `=`.

use super::recording::shown;
use std::fmt;

/// A key: columns whose values move together from copy to copy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AskedKey {
    /// The column that the key is of, and those that refer to it.
    pub columns: Vec<KeyColumn>,
    /// By how much all values move in each copy; `None` if only those move that the recording itself makes.
    pub range: Option<i64>,
}

/// A column as it is named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyColumn {
    /// Its schema; `None` for those in which the statements are.
    pub schema: Option<String>,
    pub table: String,
    pub column: String,
}

impl KeyColumn {
    /// Whether both may name one column: without a schema it may be of any.
    fn may_be(&self, other: &KeyColumn) -> bool {
        let has_one_schema = self.schema.is_none() || other.schema.is_none() || self.schema == other.schema;
        has_one_schema && self.table == other.table && self.column == other.column
    }
}

impl fmt::Display for KeyColumn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.schema.iter().try_for_each(|schema| write!(f, "{schema}."))?;
        write!(f, "{}.{}", self.table, self.column)
    }
}

impl fmt::Display for AskedKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let columns: Vec<String> = self.columns.iter().map(KeyColumn::to_string).collect();
        f.write_str(&columns.join(":"))
    }
}

/// The keys in `text`.
pub(super) fn parse_keys(text: &str) -> Result<Vec<AskedKey>, String> {
    let keys = text.split('+').map(str::trim).filter(|key| !key.is_empty()).map(parse_key);
    let keys = keys.collect::<Result<Vec<AskedKey>, String>>()?;
    let mut seen: Vec<&KeyColumn> = Vec::new();
    for column in keys.iter().flat_map(|key| &key.columns) {
        if let Some(other) = seen.iter().find(|other| other.may_be(column)) {
            let names = [&other.to_string(), &column.to_string()].map(|name| format!("`{}`", shown(name)));
            let named = if names[0] == names[1] {
                format!("{} is named twice", names[0])
            } else {
                format!("{} and {} may be one column; name the schema of both, or one of them only", names[0], names[1])
            };
            return Err(format!("keys: {named}"));
        }
        seen.push(column);
    }
    Ok(keys)
}

fn parse_key(text: &str) -> Result<AskedKey, String> {
    let wrong = || {
        format!(
            "keys = `{}`: write `TABLE.COLUMN`, `:` before a column that refers to it, `=RANGE` behind them if all values move, and `+` between keys",
            shown(text)
        )
    };
    if text.contains(['`', '"', '\'']) {
        // The message has names in quotes itself.
        let text = shown(text).replace('`', "'");
        return Err(format!("keys = `{text}`: write names without quotes, as the server has them"));
    }
    let (columns, range) = match text.split_once('=') {
        Some((columns, range)) => (columns, Some(range.trim().parse::<i64>().map_err(|_| wrong())?)),
        None => (text, None),
    };
    if range.is_some_and(|range| range < 1) {
        return Err(format!(
            "keys = `{}`: write a range above 0: so many values of the key each copy has",
            shown(text)
        ));
    }
    let columns = columns.split(':').map(parse_column).collect::<Option<Vec<KeyColumn>>>().ok_or_else(wrong)?;
    Ok(AskedKey { columns, range })
}

fn parse_column(text: &str) -> Option<KeyColumn> {
    let parts: Vec<&str> = text.trim().split('.').collect();
    let (schema, table, column) = match parts[..] {
        [table, column] => (None, table, column),
        [schema, table, column] => (Some(schema.to_owned()), table, column),
        _ => return None,
    };
    let is_named = parts.iter().all(|part| !part.is_empty());
    is_named.then(|| KeyColumn { schema, table: table.to_owned(), column: column.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_columns_that_move_together_and_may_have_a_range() {
        let keys = parse_keys("orders.id:order_lines.order_id + shop.orders.customer=1000000").unwrap();
        let told: Vec<(String, Option<i64>)> = keys.iter().map(|key| (key.to_string(), key.range)).collect();
        let key = |name: &str, range: Option<i64>| (name.to_owned(), range);
        assert_eq!(told, [key("orders.id:order_lines.order_id", None), key("shop.orders.customer", Some(1_000_000))]);
        assert_eq!((keys[0].columns.len(), keys[1].columns[0].schema.as_deref()), (2, Some("shop")));
        assert_eq!(parse_keys(""), Ok(Vec::new()));
    }

    #[test]
    fn what_is_no_key_is_refused_in_one_line() {
        let refused = |text: &str| parse_keys(text).unwrap_err();
        for text in ["id", "orders.", ".id", "a.b.c.d", "orders.id=", "orders.id=many", "orders.id:=5", "orders.id=5=6"]
        {
            assert!(refused(text).starts_with(&format!("keys = `{text}`: write `TABLE.COLUMN`")), "{text}");
        }
        for text in ["orders.id=0", "orders.id=-5"] {
            assert!(refused(text).contains("write a range above 0"), "{text}");
        }
        assert_eq!(refused("a.b+c.d:a.b=5"), "keys: `a.b` is named twice");
        let twice = "keys: `shop.a.b` and `a.b` may be one column; name the schema of both, or one of them only";
        assert_eq!(refused("shop.a.b+a.b"), twice);
        assert!(parse_keys("shop.a.b+crm.a.b").is_ok());
        for (text, told) in [("`a`.`b`", "'a'.'b'"), ("\"a\".b", "\"a\".b"), ("a.'b'", "a.'b'")] {
            assert_eq!(refused(text), format!("keys = `{told}`: write names without quotes, as the server has them"));
        }
    }
}
