//! A statement that was split: what its tokens are, by their numbers.
//!
//! In: a text and its tokens. Out: words, signs, names, tables, and where lists end. Limits: a number beyond the last token is that of nothing.

use crate::lexer::{Token, TokenKind};
use crate::reading::Dialect;

/// A statement that was split.
#[derive(Clone, Copy)]
pub(crate) struct SplitText<'a> {
    pub text: &'a str,
    pub tokens: &'a [Token],
    pub dialect: Dialect,
}

impl SplitText<'_> {
    pub fn is_word(&self, at: usize, words: &[&str]) -> bool {
        self.tokens.get(at).is_some_and(|token| token.is_word(self.text, words))
    }

    pub fn is_sign(&self, at: usize, sign: &str) -> bool {
        self.tokens.get(at).is_some_and(|token| token.is_sign(self.text, sign))
    }

    /// The name that the token at `at` is, as the server folds it. In MySQL what is in `"` may be a text.
    pub fn name(&self, at: usize) -> Option<String> {
        let token = self.tokens.get(at).filter(|_| self.is_name(at))?;
        let name = token.name(self.text)?;
        let is_folded = token.kind == TokenKind::Word && self.dialect == Dialect::Postgres;
        Some(if is_folded { name.to_lowercase() } else { name })
    }

    fn is_name(&self, at: usize) -> bool {
        self.tokens.get(at).is_some_and(|token| matches!(token.kind, TokenKind::Word | TokenKind::Name))
    }

    /// See [`Dialect::is_same_name`].
    pub fn is_same(&self, one: &str, other: &str) -> bool {
        self.dialect.is_same_name(one, other)
    }

    /// The number of the token behind the name that begins at `at`, with what is before its dots; `None` if there is no name.
    pub fn behind_name(&self, at: usize) -> Option<usize> {
        let mut last = self.is_name(at).then_some(at)?;
        while self.is_sign(last + 1, ".") && self.is_name(last + 2) {
            last += 2;
        }
        Some(last + 1)
    }

    /// The table whose name begins at `at`, and the number of the token behind it.
    pub fn table_at(&self, at: usize) -> Option<(TableName, usize)> {
        let behind = self.behind_name(at)?;
        let schema = if behind - at > 2 { self.name(behind - 3) } else { None };
        Some((TableName { schema, table: self.name(behind - 1)? }, behind))
    }

    /// The number of the token behind the bracket that closes the one at `at`.
    pub fn behind_bracket(&self, at: usize) -> Option<usize> {
        let mut depth = 0;
        for nth in at..self.tokens.len() {
            depth += i32::from(self.is_sign(nth, "(")) - i32::from(self.is_sign(nth, ")"));
            if depth == 0 {
                return Some(nth + 1);
            }
        }
        None
    }

    /// The number of the comma or the bracket that ends the item of a list that begins at `at`.
    pub fn end_of_item(&self, at: usize) -> Option<usize> {
        let mut depth = 0;
        for (nth, token) in self.tokens.iter().enumerate().skip(at) {
            if token.kind != TokenKind::Sign {
                continue;
            }
            match token.text(self.text) {
                "(" | "[" => depth += 1,
                ")" | "]" | "," if depth == 0 => return Some(nth),
                ")" | "]" => depth -= 1,
                _ => {}
            }
        }
        None
    }
}

/// The name of a table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TableName {
    /// What is before its last dot.
    pub schema: Option<String>,
    /// Its name without a schema.
    pub table: String,
}
