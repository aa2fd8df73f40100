//! Values in place of the parameters of a statement: `$1` of PostgreSQL, `?` of MySQL.

use crate::lexer::{Token, TokenKind, Unclosed, tokens};
use crate::reading::Dialect;

/// Signs between numbers, and between times.
const ARITHMETIC: [&str; 5] = ["+", "-", "*", "/", "%"];

/// `text` with a literal in place of each parameter: the first of `values` for `$1` or the first `?`; `None` if one has no value. What stands
/// in a comment, in quotes or in a name is no parameter. A parameter right behind a word or before one gets a blank between. In `$1 + $2` no
/// quotes are left around numbers: PostgreSQL cannot tell what sum of two texts is meant, though its client had said the types.
///
/// # Errors
/// If a quote or a comment is not closed.
pub fn with_values<S: AsRef<str>>(text: &str, dialect: Dialect, values: &[S]) -> Result<Option<String>, Unclosed> {
    let (mut out, mut done) = (String::with_capacity(text.len() + 16 * values.len()), 0);
    let tokens = tokens(text, dialect)?;
    let params = tokens.iter().enumerate().filter(|(_, token)| token.kind == TokenKind::Param);
    for (nth, (at, token)) in (1..).zip(params) {
        let number: Option<usize> =
            if token.text(text) == "?" { Some(nth) } else { token.text(text)[1..].parse().ok() };
        let Some(value) = number.and_then(|number| values.get(number.checked_sub(1)?)) else { return Ok(None) };
        out.push_str(&text[done..token.start]);
        // `a- $1` with -1 would begin a comment, and `in$1` or `$1and` with a word is one word.
        let touches = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '\'' | '"');
        if out.ends_with(touches) {
            out.push(' ');
        }
        let is_number = dialect == Dialect::Postgres && is_calculated_alone(text, &tokens, at);
        let number = number_in_quotes(value.as_ref()).filter(|_| is_number);
        out.push_str(number.unwrap_or(value.as_ref()));
        if text[token.end..].starts_with(touches) {
            out.push(' ');
        }
        done = token.end;
    }
    out.push_str(&text[done..]);
    Ok(Some(out))
}

/// The number in `'12.5'`.
fn number_in_quotes(value: &str) -> Option<&str> {
    let number = value.strip_prefix('\'')?.strip_suffix('\'')?;
    let digits = number.strip_prefix('-').unwrap_or(number);
    let is_number = digits.starts_with(|c: char| c.is_ascii_digit()) && digits.parse::<f64>().is_ok();
    is_number.then_some(number)
}

/// Whether the parameter at `at` is added to another one, or the like, and no cast tells the type of either.
fn is_calculated_alone(text: &str, tokens: &[Token], at: usize) -> bool {
    let is_sign =
        |at: usize| tokens.get(at).is_some_and(|token| ARITHMETIC.iter().any(|sign| token.is_sign(text, sign)));
    let is_cast = |at: usize| tokens.get(at + 1).is_some_and(|token| token.text(text).starts_with(':'));
    let is_bare = |at: usize| tokens.get(at).is_some_and(|token| token.kind == TokenKind::Param) && !is_cast(at);
    let is_behind = at >= 2 && is_sign(at - 1) && is_bare(at - 2);
    is_bare(at) && (is_behind || is_sign(at + 1) && is_bare(at + 2))
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
    fn numbers_that_are_calculated_with_one_another_have_no_quotes() {
        let values = ["'4'", "'-2.5'", "'2024-01-01'", "'12'"];
        for (text, expected) in [
            ("SELECT $1 + $2", "SELECT 4 + -2.5"),
            ("k BETWEEN $1 AND $1*$4 - $2", "k BETWEEN '4' AND 4*12 - -2.5"),
            ("SELECT $1-$2", "SELECT 4- -2.5"),
            ("a = $1 - b AND c = $4", "a = '4' - b AND c = '12'"),
            ("SELECT $1::int + $2, $1 || $4", "SELECT '4'::int + '-2.5', '4' || '12'"),
            ("SELECT $3 - $3", "SELECT '2024-01-01' - '2024-01-01'"),
        ] {
            assert_eq!(with_values(text, Dialect::Postgres, &values).unwrap().as_deref(), Some(expected));
        }
        assert_eq!(
            [number_in_quotes("'inf'"), number_in_quotes("'1e5'"), number_in_quotes("5")],
            [None, Some("1e5"), None]
        );
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
