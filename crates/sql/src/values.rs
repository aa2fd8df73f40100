//! Values in place of the parameters of a statement: `$1` of PostgreSQL, `?` of MySQL.

use crate::lexer::{TokenKind, Unclosed, tokens};
use crate::reading::Dialect;

/// `text` with a literal in place of each parameter: the first of `values` for `$1` or the first `?`; `None` if one has no value. What stands
/// in a comment, in quotes or in a name is no parameter. A parameter right behind a word or before one gets a blank between.
///
/// # Errors
/// If a quote or a comment is not closed.
pub fn with_values<S: AsRef<str>>(text: &str, dialect: Dialect, values: &[S]) -> Result<Option<String>, Unclosed> {
    let (mut out, mut done) = (String::with_capacity(text.len() + 16 * values.len()), 0);
    let tokens = tokens(text, dialect)?;
    for (nth, token) in (1..).zip(tokens.iter().filter(|token| token.kind == TokenKind::Param)) {
        let number: Option<usize> =
            if token.text(text) == "?" { Some(nth) } else { token.text(text)[1..].parse().ok() };
        let Some(value) = number.and_then(|number| values.get(number.checked_sub(1)?)) else { return Ok(None) };
        out.push_str(&text[done..token.start]);
        // `a- $1` with -1 would begin a comment, and `in$1` or `$1and` with a word is one word.
        let touches = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '\'' | '"');
        if out.ends_with(touches) {
            out.push(' ');
        }
        out.push_str(value.as_ref());
        if text[token.end..].starts_with(touches) {
            out.push(' ');
        }
        done = token.end;
    }
    out.push_str(&text[done..]);
    Ok(Some(out))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bound(text: &str) -> String {
        with_values(text, Dialect::Postgres, &["'4'", "NULL", "-1"])
            .expect("it is closed")
            .unwrap_or_else(|| "no value".to_owned())
    }

    #[test]
    fn parameters_are_replaced_outside_of_comments_and_quotes_only() {
        for (text, expected) in [
            (
                "SELECT c FROM t -- the customer's rows $1\nWHERE id = $1",
                "SELECT c FROM t -- the customer's rows $1\nWHERE id = '4'",
            ),
            (
                "SELECT c /* don't $1 /* $1 */ */ FROM t WHERE id = $1",
                "SELECT c /* don't $1 /* $1 */ */ FROM t WHERE id = '4'",
            ),
            ("SELECT $$a'b$1$$, $q$ $$ $1 $q$, $2", "SELECT $$a'b$1$$, $q$ $$ $1 $q$, NULL"),
            ("SELECT E'it\\'s $1' AND id = $1", "SELECT E'it\\'s $1' AND id = '4'"),
            ("SELECT E'a'\n'b\\'$1' AND id = $1", "SELECT E'a'\n'b\\'$1' AND id = '4'"),
            ("SELECT '\\', $1, U&'\\', \"$1\", a$1, é$1", "SELECT '\\', '4', U&'\\', \"$1\", a$1, é$1"),
            ("SELECT $1::int, 5-$3, x in($1)and $2", "SELECT '4'::int, 5- -1, x in('4')and NULL"),
            ("SELECT $1and $2, $11", "no value"),
            ("SELECT $0", "no value"),
            ("SELECT $99999999999999999999999", "no value"),
            ("SELECT a#>>'{b,c}' ? $1", "SELECT a#>>'{b,c}' ? '4'"),
        ] {
            assert_eq!(bound(text), expected, "{text}");
        }
        assert_eq!(with_values("SELECT 'a", Dialect::Postgres, &[""; 0]), Err(Unclosed));
        assert_eq!(bound("x=$1and y"), "x='4' and y");
    }

    #[test]
    fn question_marks_of_mysql_have_the_values_in_their_order() {
        let bound = |text: &str| with_values(text, Dialect::Mysql, &["1", "'a?'"]).unwrap();
        assert_eq!(
            bound("SELECT '?', `?` /* ? */ FROM t WHERE a=? AND b = ?").as_deref(),
            Some("SELECT '?', `?` /* ? */ FROM t WHERE a=1 AND b = 'a?'")
        );
        assert_eq!(bound("SELECT ?, ?, ?"), None);
    }
}
