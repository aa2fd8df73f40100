//! The names of schemas in a statement, replaced by those of the copy.
//!
//! In: a statement in the dialect of MySQL, the schemas that are called otherwise on the copy. Out: the statement with the copy's names, in
//! whatever quotes the names were. Limits: a statement is not parsed. `shop.id` may be a column of a table `shop`: if the statement names
//! such a table, or an alias, only what stands where a table does is taken for a schema. A name is compared as it is written, with its
//! capitals.

use sql::Token;

/// The words behind which a table is named.
const BEFORE_TABLE: [&str; 10] =
    ["FROM", "JOIN", "STRAIGHT_JOIN", "INTO", "UPDATE", "TABLE", "EXISTS", "DESCRIBE", "DESC", "REFERENCES"];

/// `text`, which was split into `tokens`, with other names of schemas: pairs of what was recorded and what the copy has. `None` if it
/// names none of them.
pub(super) fn with_schemas(text: &str, tokens: &[Token], renamed: &[(String, String)]) -> Option<String> {
    let statement = Statement { text, tokens };
    let (mut out, mut done) = (String::new(), 0);
    for (at, token) in tokens.iter().enumerate() {
        let Some(name) = statement.name(at) else { continue };
        let Some((_, new)) = renamed.iter().find(|(old, _)| *old == name) else { continue };
        if statement.is_schema(at, &name) {
            out.push_str(&text[done..token.start]);
            out.push_str(&format!("`{}`", new.replace('`', "``")));
            done = token.end;
        }
    }
    if done == 0 {
        return None;
    }
    out.push_str(&text[done..]);
    Some(out)
}

struct Statement<'a> {
    text: &'a str,
    tokens: &'a [Token],
}

impl Statement<'_> {
    /// The name that the token at `at` may be. What is in `"` may be a text.
    fn name(&self, at: usize) -> Option<String> {
        let token = self.tokens.get(at)?;
        if token.text(self.text).starts_with('"') { None } else { token.name(self.text) }
    }

    /// Whether the token at `at`, which is `name`, names a schema.
    fn is_schema(&self, at: usize, name: &str) -> bool {
        let is_word = |words: &[&str]| at > 0 && self.tokens[at - 1].is_word(self.text, words);
        if is_word(&["USE"]) && at == 1 {
            return true;
        }
        let is_behind_dot = at > 0 && self.is_dot(at - 1);
        if is_behind_dot || !(self.is_dot(at + 1) && self.name(at + 2).is_some()) {
            return false;
        }
        // Schema, table, column.
        let has_three_parts = self.is_dot(at + 3);
        has_three_parts || is_word(&BEFORE_TABLE) || !self.is_table_too(name)
    }

    /// Whether `name` stands for itself somewhere, or behind a schema: then it is that of a table or an alias, too.
    fn is_table_too(&self, name: &str) -> bool {
        (0..self.tokens.len()).any(|at| {
            let is_named = self.name(at).is_some_and(|found| found == name);
            is_named && (!self.is_dot(at + 1) || at > 0 && self.is_dot(at - 1))
        })
    }

    fn is_dot(&self, at: usize) -> bool {
        self.tokens.get(at).is_some_and(|token| token.is_sign(self.text, "."))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn renamed(text: &str) -> String {
        let tokens = sql::tokens(text, sql::Dialect::Mysql).unwrap();
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
