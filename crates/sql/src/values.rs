//! Values in place of the parameters of a statement: `$1` of PostgreSQL, `?` of MySQL.

use crate::lexer::{Token, TokenKind, Unclosed, tokens};
use crate::reading::Dialect;
use std::borrow::Cow;
use std::ops::Range;

/// Signs between numbers, and between times.
const ARITHMETIC: [&str; 5] = ["+", "-", "*", "/", "%"];

/// A statement with literals in place of its parameters, and where they stand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BoundText {
    pub text: String,
    /// The numbers of the parameters, from 1, and the bytes that have their values.
    spans: Vec<(u16, Range<usize>)>,
}

/// The place of a parameter's value in a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BoundParam {
    /// The number of the parameter, from 1.
    pub number: u16,
    /// The tokens of the statement that are its value.
    pub tokens: Range<usize>,
}

impl BoundText {
    /// Where the values stand among the `tokens` of the text.
    pub fn params(&self, tokens: &[Token]) -> Vec<BoundParam> {
        let token_at = |byte: usize| tokens.partition_point(|token| token.start < byte);
        let param = |(number, span): &(u16, Range<usize>)| BoundParam {
            number: *number,
            tokens: token_at(span.start)..token_at(span.end),
        };
        self.spans.iter().map(param).collect()
    }
}

/// `text` with a literal in place of each parameter: the first of `values` for `$1` or the first `?`; `None` if one has no value. What stands
/// in a comment, in quotes or in a name is no parameter. A parameter right behind a word or before one gets a blank between. In `$1 + $2` no
/// quotes are left around numbers, and in `date_trunc('hour', $1)` a time is called one: PostgreSQL cannot tell what is meant of texts, though
/// its client had said the types.
///
/// # Errors
/// If a quote or a comment is not closed.
pub fn with_values<S: AsRef<str>>(text: &str, dialect: Dialect, values: &[S]) -> Result<Option<BoundText>, Unclosed> {
    let (mut out, mut done) = (String::with_capacity(text.len() + 16 * values.len()), 0);
    let tokens = tokens(text, dialect)?;
    // Where the brackets begin that the token is in.
    let mut open = Vec::new();
    let (mut nth, mut spans) = (0u16, Vec::new());
    for (at, token) in tokens.iter().enumerate() {
        if token.is_sign(text, "(") {
            open.push(at);
        } else if token.is_sign(text, ")") {
            open.pop();
        }
        if token.kind != TokenKind::Param {
            continue;
        }
        nth = nth.saturating_add(1);
        let number: Option<u16> = if token.text(text) == "?" { Some(nth) } else { token.text(text)[1..].parse().ok() };
        let value = number.and_then(|number| Some((number, values.get(usize::from(number.checked_sub(1)?))?)));
        let Some((number, value)) = value else { return Ok(None) };
        out.push_str(&text[done..token.start]);
        // `a- $1` with -1 would begin a comment, and `in$1` or `$1and` with a word is one word.
        let touches = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '\'' | '"');
        if out.ends_with(touches) {
            out.push(' ');
        }
        let start = out.len();
        if dialect == Dialect::Postgres {
            let called = open.last().and_then(|open| tokens.get(open.checked_sub(1)?)).copied();
            out.push_str(&typed(value.as_ref(), text, &tokens, (at, called)));
        } else {
            out.push_str(value.as_ref());
        }
        spans.push((number, start..out.len()));
        if text[token.end..].starts_with(touches) {
            out.push(' ');
        }
        done = token.end;
    }
    out.push_str(&text[done..]);
    Ok(Some(BoundText { text: out, spans }))
}

/// Functions of PostgreSQL that are there for several types, of which none is preferred: a text could be any.
const OF_MANY_TYPES: [&str; 6] = ["age", "date_bin", "date_part", "date_trunc", "extract", "to_char"];

/// `value` with its type, as far as it looks like one, if nothing around the parameter at `at` tells it; what is `called` is before the bracket
/// that it is in.
fn typed<'a>(value: &'a str, text: &str, tokens: &[Token], (at, called): (usize, Option<Token>)) -> Cow<'a, str> {
    if is_calculated_alone(text, tokens, at) {
        return number_in_quotes(value).unwrap_or(value).into();
    }
    let is_of_many_types = || {
        let name = called.and_then(|token| token.name(text));
        name.is_some_and(|name| OF_MANY_TYPES.contains(&name.to_ascii_lowercase().as_str()))
    };
    match time_type(value).filter(|_| has_no_cast(text, tokens, at) && is_of_many_types()) {
        Some(time) => format!("{time} {value}").into(),
        None => value.into(),
    }
}

/// The type of `'2024-03-01'`, `'2024-03-01 10:00:00'` and `'2024-03-01 10:00:00+01'`.
fn time_type(value: &str) -> Option<&'static str> {
    let time = value.strip_prefix('\'')?.strip_suffix('\'')?.as_bytes();
    let is_right = |(at, byte): (usize, &u8)| if matches!(at, 4 | 7) { *byte == b'-' } else { byte.is_ascii_digit() };
    let (day, rest) = time.split_at_checked(10)?;
    let is_day = day.iter().enumerate().all(is_right);
    match rest {
        _ if !is_day => None,
        [] => Some("date"),
        [b' ', b'0'..=b'9', ..] if rest.iter().any(|byte| b"+-Z".contains(byte)) => Some("timestamptz"),
        [b' ', b'0'..=b'9', ..] => Some("timestamp"),
        _ => None,
    }
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
    let is_param = |at: usize| tokens.get(at).is_some_and(|token| token.kind == TokenKind::Param);
    let is_bare = |at: usize| is_param(at) && has_no_cast(text, tokens, at);
    let is_behind = at >= 2 && is_sign(at - 1) && is_bare(at - 2);
    is_bare(at) && (is_behind || is_sign(at + 1) && is_bare(at + 2))
}

fn has_no_cast(text: &str, tokens: &[Token], at: usize) -> bool {
    tokens.get(at + 1).is_none_or(|token| !token.text(text).starts_with(':'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bound(text: &str) -> String {
        with_values(text, Dialect::Postgres, &["'4'", "NULL", "-1"])
            .expect("it is closed")
            .map_or_else(|| "no value".to_owned(), |bound| bound.text)
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
        assert_eq!(with_values("SELECT 'a", Dialect::Postgres, &[""; 0]).err(), Some(Unclosed));
        assert_eq!(bound("x=$1and y"), "x='4' and y");
    }

    #[test]
    fn numbers_that_are_calculated_with_one_another_have_no_quotes() {
        let values = ["'4'", "'-2.5'", "'2024-01-01'", "'12'"];
        for (text, expected) in [
            ("SELECT $1 + $2", "SELECT 4 + -2.5"),
            ("k BETWEEN $1 AND $1*$4 - $2", "k BETWEEN '4' AND 4*12 - -2.5"),
            ("SELECT $1-$2", "SELECT 4 - -2.5"),
            ("a = $1 - b AND c = $4", "a = '4' - b AND c = '12'"),
            ("SELECT $1::int + $2, $1 || $4", "SELECT '4'::int + '-2.5', '4' || '12'"),
            ("SELECT $3 - $3", "SELECT '2024-01-01' - '2024-01-01'"),
        ] {
            assert_eq!(with_values(text, Dialect::Postgres, &values).unwrap().unwrap().text, expected);
        }
        assert_eq!(
            [number_in_quotes("'inf'"), number_in_quotes("'1e5'"), number_in_quotes("5")],
            [None, Some("1e5"), None]
        );
    }

    #[test]
    fn times_in_functions_of_many_types_are_called_times() {
        let values = ["'2024-03-01 10:00:00'", "'2024-03-01 10:00:00.5+01'", "'hour'", "'2024-03-01'"];
        for (text, expected) in [
            ("SELECT date_trunc($3, $1)", "SELECT date_trunc('hour', timestamp '2024-03-01 10:00:00')"),
            (
                "SELECT EXTRACT(hour FROM $2), lower($1)",
                "SELECT EXTRACT(hour FROM timestamptz '2024-03-01 10:00:00.5+01'), lower('2024-03-01 10:00:00')",
            ),
            ("SELECT age(max(a), $1)", "SELECT age(max(a), timestamp '2024-03-01 10:00:00')"),
            (
                "SELECT date_trunc('day', $1::date), $1",
                "SELECT date_trunc('day', '2024-03-01 10:00:00'::date), '2024-03-01 10:00:00'",
            ),
            ("SELECT to_char($4, 'YYYY')", "SELECT to_char(date '2024-03-01', 'YYYY')"),
            (
                "SELECT a FROM t WHERE b > $1 AND date_trunc('day', c) = $4",
                "SELECT a FROM t WHERE b > '2024-03-01 10:00:00' AND date_trunc('day', c) = '2024-03-01'",
            ),
        ] {
            assert_eq!(with_values(text, Dialect::Postgres, &values).unwrap().unwrap().text, expected);
        }
    }

    #[test]
    fn question_marks_of_mysql_have_the_values_in_their_order() {
        let bound = |text: &str| with_values(text, Dialect::Mysql, &["1", "'a?'"]).unwrap().map(|bound| bound.text);
        assert_eq!(
            bound("SELECT '?', `?` /* ? */ FROM t WHERE a=? AND b = ?").as_deref(),
            Some("SELECT '?', `?` /* ? */ FROM t WHERE a=1 AND b = 'a?'")
        );
        assert_eq!(bound("SELECT ?, ?, ?"), None);
    }

    #[test]
    fn each_parameter_has_the_tokens_of_its_value() {
        let told = |text: &str, dialect, values: &[&str]| {
            let bound = with_values(text, dialect, values).unwrap().unwrap();
            let tokens = tokens(&bound.text, dialect).unwrap();
            let param = |param: BoundParam| {
                let of_it = &tokens[param.tokens];
                (param.number, bound.text[of_it[0].start..of_it[of_it.len() - 1].end].to_owned())
            };
            bound.params(&tokens).into_iter().map(param).collect::<Vec<_>>()
        };
        let expected = [(2, "'x'::numeric".to_owned()), (1, "NULL".to_owned()), (2, "'x'::numeric".to_owned())];
        assert_eq!(told("SELECT $2, a$1 /* $1 */, $1, $2", Dialect::Postgres, &["NULL", "'x'::numeric"]), expected);
        let expected = [(1, "-1".to_owned()), (2, "'?'".to_owned())];
        assert_eq!(told("SELECT a-? FROM t WHERE b=?", Dialect::Mysql, &["-1", "'?'"]), expected);
    }
}
