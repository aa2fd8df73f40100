//! The names of schemas in a statement, replaced by those of the copy.
//!
//! In: a statement in the dialect of MySQL, the schemas that are called otherwise on the copy. Out: the statement with the copy's names, in
//! whatever quotes the names were. Limits: a statement is not parsed. `shop.id` may be a column of a table `shop`: if the statement names
//! such a table, or an alias, only what stands where a table does is taken for a schema. A name is compared as it is written, with its
//! capitals.

use super::tokens::{Token, name_of};

/// The words behind which a table is named.
const BEFORE_TABLE: [&str; 10] =
    ["FROM", "JOIN", "STRAIGHT_JOIN", "INTO", "UPDATE", "TABLE", "EXISTS", "DESCRIBE", "DESC", "REFERENCES"];

/// `text`, which was split into `tokens`, with other names of schemas: pairs of what was recorded and what the copy has. `None` if it
/// names none of them.
pub(super) fn with_schemas(text: &str, tokens: &[Token<'_>], renamed: &[(String, String)]) -> Option<String> {
    let found: Vec<(&str, &str)> = (0..tokens.len())
        .filter_map(|at| {
            let (written, name) = name_of(tokens.get(at)?)?;
            let (_, new) = renamed.iter().find(|(old, _)| *old == name)?;
            is_schema(tokens, at, &name).then_some((written, new.as_str()))
        })
        .collect();
    if found.is_empty() {
        return None;
    }
    let (mut out, mut done) = (String::with_capacity(text.len() + 16 * found.len()), 0);
    for (written, new) in found {
        // The tokens are parts of the text, in its order.
        let at = written.as_ptr() as usize - text.as_ptr() as usize;
        out.push_str(&text[done..at]);
        out.push_str(&format!("`{}`", new.replace('`', "``")));
        done = at + written.len();
    }
    out.push_str(&text[done..]);
    Some(out)
}

/// Whether the token at `at`, which is `name`, names a schema.
fn is_schema(tokens: &[Token<'_>], at: usize, name: &str) -> bool {
    let before = at.checked_sub(1).map(|before| &tokens[before]);
    if is_word(before, &["USE"]) && at == 1 {
        return true;
    }
    let is_qualifier = is_dot(tokens.get(at + 1)) && tokens.get(at + 2).is_some_and(|next| name_of(next).is_some());
    if is_dot(before) || !is_qualifier {
        return false;
    }
    // Schema, table, column.
    let has_three_parts = is_dot(tokens.get(at + 3));
    has_three_parts || is_word(before, &BEFORE_TABLE) || !is_table_too(tokens, name)
}

/// Whether `name` stands for itself somewhere, or behind a schema: then it is that of a table or an alias, too.
fn is_table_too(tokens: &[Token<'_>], name: &str) -> bool {
    (0..tokens.len()).any(|at| {
        let is_named = name_of(&tokens[at]).is_some_and(|(_, found)| found == name);
        is_named && (!is_dot(tokens.get(at + 1)) || at > 0 && is_dot(tokens.get(at - 1)))
    })
}

fn is_dot(token: Option<&Token<'_>>) -> bool {
    token == Some(&Token::Sign('.'))
}

fn is_word(token: Option<&Token<'_>>, words: &[&str]) -> bool {
    matches!(token, Some(Token::Word(found)) if words.iter().any(|word| word.eq_ignore_ascii_case(found)))
}

#[cfg(test)]
mod tests {
    use super::super::LogDialect;
    use super::super::tokens::split;
    use super::*;

    fn renamed(text: &str) -> String {
        let tokens = split(text, LogDialect::Mysql).unwrap();
        let names = [("shop", "shop_copy"), ("my crm", "c`m")].map(|(old, new)| (old.to_owned(), new.to_owned()));
        with_schemas(text, &tokens, &names).unwrap_or_else(|| "as it was".to_owned())
    }

    #[test]
    fn schemas_are_renamed_in_whatever_quotes_they_are() {
        for (text, expected) in [
            ("SELECT c FROM shop.t", "SELECT c FROM `shop_copy`.t"),
            ("select c from `shop`.`t`", "select c from `shop_copy`.`t`"),
            ("select c from shop . `t` join `my crm`.u", "select c from `shop_copy` . `t` join `c``m`.u"),
            ("SELECT shop.t.c FROM a, shop.t", "SELECT `shop_copy`.t.c FROM a, `shop_copy`.t"),
            ("INSERT INTO shop.t VALUES ('shop.t')", "INSERT INTO `shop_copy`.t VALUES ('shop.t')"),
            ("SELECT shop.f(1)", "SELECT `shop_copy`.f(1)"),
            ("use `shop`", "use `shop_copy`"),
        ] {
            assert_eq!(renamed(text), expected);
        }
    }

    #[test]
    fn what_is_no_schema_stays_as_it_is() {
        for text in [
            "SELECT c FROM t",
            "SELECT shop.id FROM shop",
            "SELECT shop.id FROM t AS shop",
            "SELECT t.shop FROM t",
            "SELECT c FROM shops.t -- shop.t",
            "SELECT \"shop.t\" FROM t",
            "SELECT c FROM SHOP.t",
        ] {
            assert_eq!(renamed(text), "as it was", "{text}");
        }
    }

    #[test]
    fn a_table_that_is_called_as_its_schema_is_told_apart_from_it() {
        assert_eq!(renamed("SELECT shop.id FROM shop.shop"), "SELECT shop.id FROM `shop_copy`.shop");
        assert_eq!(renamed("SELECT shop.shop.id FROM shop"), "SELECT `shop_copy`.shop.id FROM shop");
    }
}
