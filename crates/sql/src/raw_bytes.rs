//! Bytes of a log that are no UTF-8: as signs within its text, and as literals that a server of MySQL takes for the same bytes.
//!
//! In: lines of a log, then statements. Out: text in which each such byte is a sign of its own, and statements whose literals are in hexadecimal where
//! they have such signs. Limits: such a literal is said to be of the session's character set, and of `latin1` if that is not known. Then letters of a
//! session in another set become others; bytes in a column of bytes stay the same. What is written elsewhere than in a literal, and literals that stand
//! side by side, are not known.

use crate::letters::Letters;
use crate::lexer::{Token, TokenKind, tokens};
use crate::reading::Dialect;
use std::borrow::Cow;
use std::fmt::Write as _;

/// The signs of the bytes are behind this one: the last ones of all, which no text has.
const BEFORE_SIGNS: u32 = 0x0010_ff00;

fn sign_of(byte: u8) -> char {
    char::from_u32(BEFORE_SIGNS + u32::from(byte)).unwrap_or(char::REPLACEMENT_CHARACTER)
}

fn byte_of(sign: char) -> Option<u8> {
    let byte = u8::try_from(u32::from(sign).checked_sub(BEFORE_SIGNS)?).ok()?;
    (!byte.is_ascii()).then_some(byte)
}

/// `bytes` as text, with a sign for each byte that is no UTF-8, by which [`with_bytes_in_literals`] knows it again.
pub fn text_of_bytes(bytes: &[u8]) -> Cow<'_, str> {
    if let Ok(text) = std::str::from_utf8(bytes)
        && !has_raw_bytes(text)
    {
        return Cow::Borrowed(text);
    }
    let mut text = String::with_capacity(2 * bytes.len());
    for chunk in bytes.utf8_chunks() {
        for sign in chunk.valid().chars() {
            if byte_of(sign).is_some() {
                text.extend(sign.encode_utf8(&mut [0; 4]).bytes().map(sign_of));
            } else {
                text.push(sign);
            }
        }
        text.extend(chunk.invalid().iter().copied().map(sign_of));
    }
    Cow::Owned(text)
}

/// Whether `text` has signs of bytes that are no UTF-8.
pub fn has_raw_bytes(text: &str) -> bool {
    // The first byte of these signs is one of few others.
    text.as_bytes().contains(&0xf4) && text.chars().any(|sign| byte_of(sign).is_some())
}

/// The statement `text` of MySQL with each literal in hexadecimal that has signs of bytes, which are of `letters`; `None` if there are some elsewhere.
pub fn with_bytes_in_literals(text: &str, letters: Letters) -> Option<String> {
    let set = match letters {
        Letters::Unknown => "latin1",
        Letters::Of(set) => set,
        Letters::Other => return None,
    };
    let tokens = tokens(text, Dialect::Mysql).ok()?;
    let (mut made, mut done) = (String::with_capacity(2 * text.len()), 0);
    for (at, token) in tokens.iter().enumerate().filter(|(_, token)| has_raw_bytes(token.text(text))) {
        let before = at.checked_sub(1).map(|before| tokens[before]);
        let is_text = |token: Option<Token>| token.is_some_and(|token| token.kind == TokenKind::Text);
        if !is_text(Some(*token)) || is_text(before) || is_text(tokens.get(at + 1).copied()) {
            return None;
        }
        let written = token.text(text);
        let quote = written.chars().next().filter(|quote| matches!(quote, '\'' | '"'))?;
        let has_set = before.is_some_and(|word| word.kind == TokenKind::Word && word.text(text).starts_with('_'));
        made.push_str(&text[done..token.start]);
        if !has_set {
            let _ = write!(made, " _{set}");
        }
        made.push_str(" x'");
        for byte in bytes_inside(&written[1..written.len() - 1], quote) {
            let _ = write!(made, "{byte:02x}");
        }
        made.push('\'');
        done = token.end;
    }
    made.push_str(&text[done..]);
    Some(made).filter(|made| !has_raw_bytes(made))
}

/// The bytes that a literal in such quotes stands for.
fn bytes_inside(written: &str, quote: char) -> Vec<u8> {
    let (mut bytes, mut rest) = (Vec::with_capacity(written.len()), written.chars());
    while let Some(first) = rest.next() {
        let sign = match first {
            '\\' => match rest.next().unwrap_or('\\') {
                'n' => '\n',
                't' => '\t',
                'r' => '\r',
                '0' => '\0',
                'b' => '\u{8}',
                'Z' => '\u{1a}',
                // LIKE takes the backslash for its own.
                wild @ ('%' | '_') => {
                    bytes.push(b'\\');
                    wild
                }
                other => other,
            },
            doubled if doubled == quote => rest.next().unwrap_or(quote),
            other => other,
        };
        match byte_of(sign) {
            Some(byte) => bytes.push(byte),
            None => bytes.extend_from_slice(sign.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(statement: &[u8]) -> Option<String> {
        with_bytes_in_literals(&text_of_bytes(statement), Letters::Unknown)
    }

    #[test]
    fn each_byte_comes_back_from_a_literal_and_other_texts_stay_as_they_are() {
        // As a session in latin1 has it in MariaDB's slow log.
        let cafe = written(b"INSERT INTO i_t(g,n) VALUES('caf\xe9','\xc3\xa9')").unwrap();
        assert_eq!(cafe, "INSERT INTO i_t(g,n) VALUES( _latin1 x'636166e9','\u{e9}')");
        assert_eq!(text_of_bytes("'caf\u{e9}'".as_bytes()), Cow::Borrowed("'caf\u{e9}'"));
        let all: Vec<u8> = (0x80..=0xff).collect();
        let digits: String = all.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(written(&[&b"SELECT '"[..], &all, b"'"].concat()), Some(format!("SELECT  _latin1 x'{digits}'")));
        let sign = "SELECT '\u{10ffe9}'";
        assert_eq!(written(sign.as_bytes()).as_deref(), Some("SELECT  _latin1 x'f48fbfa9'"), "it is none of ours");
    }

    #[test]
    fn escapes_are_resolved_and_a_character_set_that_is_named_stays() {
        assert_eq!(
            written(b"INSERT INTO i_t(h) VALUES(_binary'\\0\\n\\Z\\\\\\'''\\%\xff')").as_deref(),
            Some("INSERT INTO i_t(h) VALUES(_binary x'000a1a5c27275c25ff')")
        );
        assert_eq!(written(b"SELECT \"a\"\"\xff\"").as_deref(), Some("SELECT  _latin1 x'6122ff'"));
    }

    #[test]
    fn a_literal_is_of_the_character_set_of_its_session() {
        let of = |letters| with_bytes_in_literals(&text_of_bytes(b"SELECT '\xcf'"), letters);
        assert_eq!(of(Letters::Of("cp1251")).as_deref(), Some("SELECT  _cp1251 x'cf'"));
        assert_eq!(of(Letters::Other), None);
    }

    #[test]
    fn what_is_in_no_literal_of_its_own_is_not_known() {
        for text in
            [&b"SELECT \xe9"[..], b"SELECT `\xe9`", b"SELECT 1 /* \xe9 */", b"SELECT 'a' '\xe9'", b"SELECT n'\xe9'"]
        {
            assert_eq!(written(text), None, "{text:?}");
        }
    }
}
