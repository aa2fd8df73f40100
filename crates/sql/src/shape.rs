//! The shape of a statement: without its values, its comments and its blanks, in small letters; lists of values are one.

use crate::lexer::{Token, TokenKind, Unclosed, tokens};
use crate::reading::Dialect;

/// The shape of `text`.
///
/// # Errors
/// If a quote or a comment is not closed.
pub fn fingerprint(text: &str, dialect: Dialect) -> Result<String, Unclosed> {
    Ok(shape_of(text, &tokens(text, dialect)?))
}

/// The shape of `text`, which was split into `tokens`.
pub fn shape_of(text: &str, tokens: &[Token]) -> String {
    let mut shape = String::with_capacity(text.len());
    let mut tokens = tokens;
    while let Some((_, rest)) = tokens.split_last().filter(|(last, _)| last.is_sign(text, ";")) {
        tokens = rest;
    }
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        at += 1;
        if begins_bytes(text, tokens, at - 1) {
            continue;
        }
        let written = token.text(text);
        match token.kind {
            TokenKind::Word | TokenKind::Variable => {
                push_blank(&mut shape);
                push_lowercase(&mut shape, written);
            }
            TokenKind::Name => {
                push_blank(&mut shape);
                shape.push_str(written);
            }
            TokenKind::Text | TokenKind::Number | TokenKind::Param => {
                push_blank(&mut shape);
                shape.push('?');
                // (1, 2, 3) and (4, 5) have one shape.
                while tokens.get(at).is_some_and(|next| next.is_sign(text, ",")) {
                    let next = at + 1 + usize::from(begins_bytes(text, tokens, at + 1));
                    if !tokens.get(next).is_some_and(is_value) {
                        break;
                    }
                    at = next + 1;
                }
            }
            TokenKind::Sign => {
                if !matches!(written, "," | ")" | "." | ";" | "(" | "::") {
                    push_blank(&mut shape);
                }
                shape.push_str(written);
            }
        }
    }
    shape
}

/// Whether the word at `at` names the character set of a literal whose bytes were no UTF-8, as plimsoll writes it: other values of the statement have none.
fn begins_bytes(text: &str, tokens: &[Token], at: usize) -> bool {
    let literal = tokens.get(at + 1).filter(|next| next.kind == TokenKind::Text);
    tokens.get(at).is_some_and(|word| word.is_word(text, &["_latin1"]))
        && literal.is_some_and(|literal| literal.text(text).starts_with("x'"))
}

fn is_value(token: &Token) -> bool {
    matches!(token.kind, TokenKind::Text | TokenKind::Number | TokenKind::Param)
}

fn push_lowercase(shape: &mut String, word: &str) {
    if word.is_ascii() {
        let from = shape.len();
        shape.push_str(word);
        shape[from..].make_ascii_lowercase();
    } else {
        shape.push_str(&word.to_lowercase());
    }
}

/// A blank before the next part, unless that is joined to the one before it.
fn push_blank(shape: &mut String) {
    if !shape.is_empty() && !shape.ends_with(['(', '.']) && !shape.ends_with("::") {
        shape.push(' ');
    }
}

#[cfg(test)]
mod tests {
    use super::Dialect::{Mysql, Postgres};
    use super::*;

    #[test]
    fn statements_that_differ_in_their_values_have_one_shape() {
        let of = |text| fingerprint(text, Mysql).unwrap();
        assert_eq!(of("SELECT c FROM t WHERE id=1"), "select c from t where id = ?");
        assert_eq!(of("select  c from T where ID = 'a''b\\'c' -- why\n;"), "select c from t where id = ?");
        assert_eq!(
            of("SELECT * FROM a.t WHERE k IN (1,2, 3) AND x >= -1.5e-3"),
            "select * from a.t where k in(?) and x >= - ?"
        );
        assert_eq!(of("SELECT a IN (1, _latin1 x'e9'), b = _latin1 x'e9'"), "select a in(?), b = ?");
        assert_eq!(of("select /* hint */ count(*) from `my t`"), "select count(*) from `my t`");
        assert_eq!(of("SELECT c /*!50000 FROM t */ LIMIT ?"), "select c from t limit ?");
        assert_eq!(of("SELECT @A:=1, @@GLOBAL.x, @'a b'"), "select @a := ?, @@global.x, @'a b'");
        let postgres = fingerprint("select \"C\", $1::int from t where b = $tag$ it's $tag$ and e = E'\\''", Postgres);
        assert_eq!(postgres.unwrap(), "select \"C\", ?::int from t where b = ? and e = ?");
    }

    #[test]
    fn what_is_not_closed_has_no_shape() {
        for text in ["select 'a", "select /* a", "select `a", "select 'a\\'", "select /*! 1"] {
            assert_eq!(fingerprint(text, Mysql), Err(Unclosed), "{text}");
        }
        assert_eq!(fingerprint("select $a$ b", Postgres), Err(Unclosed));
        assert!(fingerprint("select 'a\\'", Postgres).is_ok(), "a backslash is itself there");
    }
}
