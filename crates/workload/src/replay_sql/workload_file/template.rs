//! A statement as what many have in common, and what is its own.
//!
//! In: a text with its tokens. Out: the text with `?` in place of each value and each comment, and these as a JSON array; and the text again out of
//! both. Limits: a `?` that was there is a value itself, so that each one is a place.

use serde::de::{DeserializeSeed, Error, IgnoredAny, SeqAccess, Visitor};
use sql::{Token, TokenKind};
use std::fmt;

/// The sign in place of a value.
const PLACE: char = '?';

/// A statement in two parts.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Parts<'a> {
    pub template: String,
    pub values: Vec<&'a str>,
}

impl<'a> Parts<'a> {
    /// Of `text`, which was split into `tokens`.
    pub fn of(text: &'a str, tokens: &[Token]) -> Parts<'a> {
        let mut parts = Parts { template: String::with_capacity(text.len()), values: Vec::new() };
        let mut done = 0;
        for token in tokens {
            parts.push_between(&text[done..token.start]);
            match token.kind {
                TokenKind::Text | TokenKind::Number => parts.push_value(token.text(text)),
                _ => parts.push_kept(token.text(text)),
            }
            done = token.end;
        }
        parts.push_between(&text[done..]);
        parts
    }

    fn push_value(&mut self, value: &'a str) {
        self.template.push(PLACE);
        self.values.push(value);
    }

    /// What is between two tokens: blanks, or comments, which may be others each time.
    fn push_between(&mut self, between: &'a str) {
        if between.chars().all(char::is_whitespace) {
            self.template.push_str(between);
        } else {
            self.push_value(between);
        }
    }

    fn push_kept(&mut self, mut kept: &'a str) {
        while let Some(at) = kept.find(PLACE) {
            self.template.push_str(&kept[..at]);
            self.push_value(&kept[at..=at]);
            kept = &kept[at + 1..];
        }
        self.template.push_str(kept);
    }
}

/// Writes `template` with the values of the JSON array `values` to `text`.
pub(super) fn put_together(template: &str, values: &str, text: &mut String) -> serde_json::Result<()> {
    text.clear();
    let mut reader = serde_json::Deserializer::from_str(values);
    Filling { template, text }.deserialize(&mut reader)?;
    reader.end()
}

/// The values go where they belong one by one: an array of a stranger may have millions.
struct Filling<'a> {
    template: &'a str,
    text: &'a mut String,
}

impl<'de> DeserializeSeed<'de> for Filling<'_> {
    type Value = ();

    fn deserialize<D: serde::Deserializer<'de>>(self, reader: D) -> Result<(), D::Error> {
        reader.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Filling<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array of texts")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut values: A) -> Result<(), A::Error> {
        let mut kept = self.template.split(PLACE);
        self.text.push_str(kept.next().unwrap_or_default());
        for behind in kept {
            values.next_element_seed(Pushed(self.text))?.ok_or_else(|| A::Error::custom("a value is missing"))?;
            self.text.push_str(behind);
        }
        match values.next_element::<IgnoredAny>()? {
            None => Ok(()),
            Some(_) => Err(A::Error::custom("there are more values than places")),
        }
    }
}

/// Adds one value to a text.
struct Pushed<'a>(&'a mut String);

impl<'de> DeserializeSeed<'de> for Pushed<'_> {
    type Value = ();

    fn deserialize<D: serde::Deserializer<'de>>(self, reader: D) -> Result<(), D::Error> {
        reader.deserialize_str(self)
    }
}

impl Visitor<'_> for Pushed<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text")
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<(), E> {
        self.0.push_str(value);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use sql::Dialect::{self, Mysql, Postgres};

    fn parts(text: &str, dialect: Dialect) -> Option<(String, String)> {
        let tokens = sql::tokens(text, dialect).ok()?;
        let parts = Parts::of(text, &tokens);
        Some((parts.template, serde_json::to_string(&parts.values).unwrap()))
    }

    fn again(template: &str, values: &str) -> serde_json::Result<String> {
        let mut text = String::new();
        put_together(template, values, &mut text).map(|()| text)
    }

    #[test]
    fn values_and_comments_are_apart_and_come_together_again() {
        for (text, dialect, template, values) in [
            ("SELECT c FROM t WHERE id=1", Mysql, "SELECT c FROM t WHERE id=?", r#"["1"]"#),
            ("select 'a\"b' /* x */ from `t?`", Mysql, "select ??from `t?`", r#"["'a\"b'"," /* x */ ","?"]"#),
            ("SELECT a ? $1, $2 -- b", Postgres, "SELECT a ? $1, $2?", r#"["?"," -- b"]"#),
        ] {
            let (found, own) = parts(text, dialect).unwrap();
            assert_eq!((found.as_str(), own.as_str()), (template, values));
            assert_eq!(again(&found, &own).unwrap(), text);
        }
    }

    #[test]
    fn values_that_do_not_fit_are_refused() {
        for values in ["[]", r#"["1","2"]"#, "[1]", "{}", r#"["1"] x"#, r#"["1""#, ""] {
            assert!(again("select ?", values).is_err(), "{values}");
        }
    }

    proptest! {
        #[test]
        fn any_statement_comes_together_again(text in "[a?'\"`\\\\/*#$1 \n;.é-]{0,60}") {
            for dialect in [Mysql, Postgres] {
                if let Some((template, values)) = parts(&text, dialect) {
                    prop_assert_eq!(again(&template, &values).unwrap(), text.clone());
                }
            }
        }
    }
}
