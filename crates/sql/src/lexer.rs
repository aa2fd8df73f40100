//! Splits an SQL text into tokens.
//!
//! In: a text and a [`Reading`] of it. Out: tokens with their places in the text. Limits: blanks and comments are no tokens. Numbers are
//! not checked.
//!
//! The rules are those of the servers' own scanners: `sql/sql_lex.cc` of MySQL and MariaDB, `src/backend/parser/scan.l` of PostgreSQL. The
//! tokenizer of the crate `sqlparser` was not taken: see docs/journal/2026-11-29-sql-lexer.md.

use crate::reading::{Dialect, Reading};

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenKind {
    /// A word: a keyword or a name.
    Word,
    /// A name in quotes.
    Name,
    /// A text in quotes, with what is before them: `E`, `N`, `X`, `B`, `U&`.
    Text,
    Number,
    /// `?`, or `$1`.
    Param,
    /// MySQL's `@x`, `@'x'`, `@@x`.
    Variable,
    /// An operator, a bracket, a comma, a dot, a semicolon.
    Sign,
}

/// A part of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token {
    pub kind: TokenKind,
    /// The byte at which it begins.
    pub start: usize,
    /// The byte behind it.
    pub end: usize,
}

impl Token {
    pub fn text<'a>(&self, of: &'a str) -> &'a str {
        &of[self.start..self.end]
    }

    /// Whether it is the sign `sign`.
    pub fn is_sign(&self, of: &str, sign: &str) -> bool {
        self.kind == TokenKind::Sign && self.text(of) == sign
    }

    /// Whether it is one of `words`, in small letters or capitals.
    pub fn is_word(&self, of: &str, words: &[&str]) -> bool {
        self.kind == TokenKind::Word && words.iter().any(|word| word.eq_ignore_ascii_case(self.text(of)))
    }

    /// The name that it may be, without its quotes: of a word, of what is in quotes of a name, or, in MySQL, of what is in `"`.
    pub fn name(&self, of: &str) -> Option<String> {
        let text = self.text(of);
        let quote = match self.kind {
            TokenKind::Word => return Some(text.to_owned()),
            TokenKind::Name => &text[text.len() - 1..],
            TokenKind::Text if text.starts_with('"') => "\"",
            _ => return None,
        };
        let inside = &text[text.find(quote)? + 1..text.len() - 1];
        Some(inside.replace(&quote.repeat(2), quote))
    }
}

/// A text that ends within a quote or a comment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unclosed;

/// A text that was split.
#[derive(Clone, Debug, Default)]
pub struct Lexed {
    /// Its tokens, in their order.
    pub tokens: Vec<Token>,
    /// How many executable comments it has: `/*! ... */`, `/*M! ... */`.
    pub executable_comments: u32,
    /// Whether servers may differ in where something ends: there are quotes or comments within a comment that some of them perform, or, in
    /// [`Dialect::Any`], comments within a comment and dashes without a blank behind them.
    pub is_doubtful: bool,
}

/// The tokens of `text` as a server in its usual settings reads it.
///
/// # Errors
/// If a quote or a comment is not closed.
pub fn tokens(text: &str, dialect: Dialect) -> Result<Vec<Token>, Unclosed> {
    lex(text, Reading::usual(dialect)).map(|lexed| lexed.tokens)
}

/// Splits `text` by this `reading`.
///
/// # Errors
/// If a quote or a comment is not closed.
pub fn lex(text: &str, reading: Reading) -> Result<Lexed, Unclosed> {
    let mut lexer = Lexer::of(text, reading);
    lexer.take_all().map(|()| lexer.made)
}

/// The same of a text that may end within a quote or a comment: what is before that. A server that performs one statement after the
/// other may have performed it before it comes to the end.
pub fn lex_to_end(text: &str, reading: Reading) -> Lexed {
    let mut lexer = Lexer::of(text, reading);
    let _unclosed = lexer.take_all();
    lexer.made
}

struct Lexer<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
    reading: Reading,
    /// Whether it is within a comment that is performed.
    is_in_executed: bool,
    made: Lexed,
}

/// The servers take each byte of a letter that is not ASCII for one of a name.
fn is_of_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$') || byte >= 0x80
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c)
}

impl<'a> Lexer<'a> {
    fn of(text: &'a str, reading: Reading) -> Lexer<'a> {
        let made = Lexed { tokens: Vec::with_capacity(text.len() / 4 + 1), ..Lexed::default() };
        Lexer { text, bytes: text.as_bytes(), at: 0, reading, is_in_executed: false, made }
    }

    fn take_all(&mut self) -> Result<(), Unclosed> {
        while self.skip_blanks()? {
            let start = self.at;
            let kind = self.next_kind()?;
            self.made.tokens.push(Token { kind, start, end: self.at });
        }
        if self.is_in_executed { Err(Unclosed) } else { Ok(()) }
    }

    fn peek(&self, ahead: usize) -> u8 {
        self.bytes.get(self.at + ahead).copied().unwrap_or(0)
    }

    fn rest(&self) -> &'a [u8] {
        &self.bytes[self.at..]
    }

    fn is_mysql(&self) -> bool {
        self.reading.dialect == Dialect::Mysql
    }

    /// Goes to the next token. False at the end.
    fn skip_blanks(&mut self) -> Result<bool, Unclosed> {
        while let Some(&byte) = self.bytes.get(self.at) {
            match byte {
                _ if is_blank(byte) => self.at += 1,
                b'-' if self.begins_line_comment() => self.skip_line(),
                b'#' if self.is_mysql() => self.skip_line(),
                b'/' if self.peek(1) == b'*' => self.skip_comment()?,
                b'*' if self.is_in_executed && self.peek(1) == b'/' => {
                    self.is_in_executed = false;
                    self.at += 2;
                }
                _ => return Ok(true),
            }
        }
        Ok(false)
    }

    /// MySQL wants a blank or a control character behind the dashes, so that `5--1` is a difference.
    fn begins_line_comment(&self) -> bool {
        let is_at_end = self.at + 2 >= self.bytes.len();
        let is_behind = self.reading.dialect == Dialect::Postgres || is_at_end || self.peek(2) <= b' ';
        self.peek(1) == b'-' && is_behind
    }

    fn skip_line(&mut self) {
        let ends = |byte: &u8| *byte == b'\n' || *byte == b'\r' && !self.is_mysql();
        self.at += self.rest().iter().position(ends).unwrap_or(self.rest().len());
    }

    /// Skips a comment; of one that is performed only what marks it.
    fn skip_comment(&mut self) -> Result<(), Unclosed> {
        let marker = match (self.peek(2), self.peek(3)) {
            (b'!', _) => 3,
            (b'M', b'!') => 4,
            (b'+', _) => 0,
            _ => return self.skip_plain_comment(),
        };
        if self.reading.dialect == Dialect::Any && marker > 0 {
            self.made.executable_comments += 1;
        }
        if !self.is_mysql() {
            return self.skip_plain_comment();
        }
        let inside = self.inside_of_comment()?;
        self.made.is_doubtful |= ["'", "\"", "`", "/*", "#", "--"].iter().any(|sign| inside.contains(sign));
        if marker == 0 {
            // A hint for the optimizer.
            return self.skip_plain_comment();
        }
        let nth = self.made.executable_comments.min(7);
        self.made.executable_comments += 1;
        if self.reading.executed >> nth & 1 == 0 {
            return self.skip_plain_comment();
        }
        // One within another ends both: the servers differ, and it is doubtful.
        self.is_in_executed = true;
        let digits = self.bytes[self.at + marker..].iter().take(6).take_while(|byte| byte.is_ascii_digit()).count();
        self.at += marker + if digits >= 5 { digits } else { 0 };
        Ok(())
    }

    /// What is before the next end of a comment.
    fn inside_of_comment(&self) -> Result<&str, Unclosed> {
        let inside = &self.text[self.at + 2..];
        Ok(&inside[..inside.find("*/").ok_or(Unclosed)?])
    }

    fn skip_plain_comment(&mut self) -> Result<(), Unclosed> {
        if self.reading.dialect == Dialect::Any {
            self.made.is_doubtful |= self.inside_of_comment()?.contains("/*");
        }
        let nests = self.reading.dialect == Dialect::Postgres;
        let mut depth = 1;
        self.at += 2;
        while depth > 0 {
            match (self.peek(0), self.peek(1)) {
                (b'*', b'/') => (depth, self.at) = (depth - 1, self.at + 2),
                (b'/', b'*') if nests => (depth, self.at) = (depth + 1, self.at + 2),
                _ if self.at < self.bytes.len() => self.at += 1,
                _ => return Err(Unclosed),
            }
        }
        Ok(())
    }

    /// Takes the token that begins here.
    fn next_kind(&mut self) -> Result<TokenKind, Unclosed> {
        let byte = self.peek(0);
        match byte {
            b'\'' => self.take_text(self.reading.backslash_escapes),
            b'"' if self.is_mysql() => {
                self.take_quoted(b'"', self.reading.backslash_escapes)?;
                Ok(TokenKind::Text)
            }
            b'"' => self.take_quoted(b'"', false).map(|()| TokenKind::Name),
            b'`' if self.reading.dialect != Dialect::Postgres => {
                self.take_quoted(b'`', false).map(|()| TokenKind::Name)
            }
            b'$' if !self.is_mysql() => self.take_dollar(),
            b'0'..=b'9' => Ok(self.take_number()),
            b'.' if self.peek(1).is_ascii_digit() && !self.is_behind_name() => Ok(self.take_number()),
            _ if is_of_word(byte) => self.take_word(),
            b'@' if self.is_mysql() => self.take_variable(),
            b'?' if self.reading.dialect != Dialect::Postgres => {
                self.at += 1;
                Ok(TokenKind::Param)
            }
            _ => {
                self.made.is_doubtful |= byte.is_ascii_control() || self.rest().starts_with(b"--") && !self.is_mysql();
                self.at += self.sign_length();
                Ok(TokenKind::Sign)
            }
        }
    }

    /// Whether a name is right before: then a dot joins it to what follows, also to digits.
    fn is_behind_name(&self) -> bool {
        let before = self.made.tokens.last();
        self.is_mysql()
            && before.is_some_and(|it| it.end == self.at && matches!(it.kind, TokenKind::Word | TokenKind::Name))
    }

    fn take_word(&mut self) -> Result<TokenKind, Unclosed> {
        let (first, behind) = (self.peek(0).to_ascii_lowercase(), self.peek(1));
        if behind == b'\'' && matches!(first, b'n' | b'x' | b'b') {
            self.at += 1;
            return self.take_text(first == b'n' && self.reading.backslash_escapes);
        }
        if !self.is_mysql() && first == b'e' && behind == b'\'' {
            self.at += 1;
            return self.take_text(true);
        }
        if !self.is_mysql() && first == b'u' && behind == b'&' && matches!(self.peek(2), b'\'' | b'"') {
            self.at += 2;
            return if self.peek(0) == b'"' {
                self.take_quoted(b'"', false).map(|()| TokenKind::Name)
            } else {
                self.take_text(false)
            };
        }
        self.at += self.word_length();
        Ok(TokenKind::Word)
    }

    fn word_length(&self) -> usize {
        self.rest().iter().position(|byte| !is_of_word(*byte)).unwrap_or(self.rest().len())
    }

    /// Takes a text in single quotes. PostgreSQL takes one that follows in another line for a part of it, with the same escapes.
    fn take_text(&mut self, escapes: bool) -> Result<TokenKind, Unclosed> {
        self.take_quoted(b'\'', escapes)?;
        while self.reading.dialect == Dialect::Postgres
            && let Some(next) = self.continued_at()
        {
            self.at = next;
            self.take_quoted(b'\'', escapes)?;
        }
        Ok(TokenKind::Text)
    }

    /// Where a text goes on: behind blanks with an end of a line among them, and comments that end with one.
    fn continued_at(&self) -> Option<usize> {
        let (mut at, mut has_line_end) = (self.at, false);
        loop {
            match self.bytes.get(at)? {
                b'\n' | b'\r' => (at, has_line_end) = (at + 1, true),
                b'-' if self.bytes.get(at + 1) == Some(&b'-') => {
                    at += self.bytes[at..].iter().position(|byte| matches!(byte, b'\n' | b'\r'))?;
                }
                b'\'' => return has_line_end.then_some(at),
                byte if is_blank(*byte) => at += 1,
                _ => return None,
            }
        }
    }

    /// Takes what is in quotes; a doubled quote is part of it.
    fn take_quoted(&mut self, quote: u8, escapes: bool) -> Result<(), Unclosed> {
        self.at += 1;
        loop {
            let byte = *self.bytes.get(self.at).ok_or(Unclosed)?;
            self.at += 1;
            if byte == b'\\' && escapes {
                self.at += 1;
            } else if byte == quote {
                if self.peek(0) != quote {
                    return Ok(());
                }
                self.at += 1;
            }
        }
    }

    /// Takes `$1`, `$$ ... $$` or `$tag$ ... $tag$`.
    fn take_dollar(&mut self) -> Result<TokenKind, Unclosed> {
        let digits = self.bytes[self.at + 1..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        if digits > 0 {
            self.at += 1 + digits;
            return Ok(TokenKind::Param);
        }
        let is_of_tag = |byte: &&u8| is_of_word(**byte) && **byte != b'$';
        let length = 1 + self.bytes[self.at + 1..].iter().take_while(is_of_tag).count();
        if self.peek(length) != b'$' {
            self.at += 1;
            return Ok(TokenKind::Sign);
        }
        let inside = self.at + length + 1;
        let tag = &self.text[self.at..inside];
        let end = self.text[inside..].find(tag).ok_or(Unclosed)?;
        self.at = inside + end + tag.len();
        Ok(TokenKind::Text)
    }

    /// Takes a number. In MySQL a name may begin with a digit.
    fn take_number(&mut self) -> TokenKind {
        let length = self.word_length();
        let word = &self.rest()[..length];
        let is_digit = |byte: &u8| byte.is_ascii_digit();
        let digits = word.iter().take_while(|byte| is_digit(byte)).count();
        let has_base = has_base(word, self.is_mysql());
        let is_grouped = word.iter().all(|byte| is_digit(byte) || *byte == b'_');
        let is_name = length > digits && (self.is_behind_dot() || !has_base && !is_exponent(word, digits));
        if self.is_mysql() && is_name {
            self.at += length;
            return TokenKind::Word;
        }
        self.at += if has_base || is_grouped && !self.is_mysql() { length } else { digits };
        if !has_base {
            if self.peek(0) == b'.' && self.peek(1) != b'.' {
                self.at += 1;
                self.at += self.rest().iter().take_while(|byte| is_digit(byte)).count();
            }
            self.take_exponent();
        }
        TokenKind::Number
    }

    fn is_behind_dot(&self) -> bool {
        self.made.tokens.last().is_some_and(|last| last.is_sign(self.text, "."))
    }

    fn take_exponent(&mut self) {
        let sign = usize::from(matches!(self.peek(1), b'+' | b'-'));
        if matches!(self.peek(0), b'e' | b'E') && self.peek(1 + sign).is_ascii_digit() {
            self.at += 1 + sign;
            self.at += self.rest().iter().take_while(|byte| byte.is_ascii_digit()).count();
        }
    }

    /// Takes MySQL's `@x`, `@@x`, or `@` with a name in quotes.
    fn take_variable(&mut self) -> Result<TokenKind, Unclosed> {
        let is_of_server = self.peek(1) == b'@';
        self.at += if is_of_server { 2 } else { 1 };
        match self.peek(0) {
            quote @ (b'\'' | b'"' | b'`') => {
                self.take_quoted(quote, quote != b'`' && self.reading.backslash_escapes)?;
            }
            _ => {
                let is_of_name = |byte: &u8| is_of_word(*byte) || *byte == b'.' && !is_of_server;
                self.at += self.rest().iter().take_while(|byte| is_of_name(byte)).count();
            }
        }
        Ok(TokenKind::Variable)
    }

    /// The length of the operator or the sign at the beginning of the rest.
    fn sign_length(&self) -> usize {
        let rest = self.rest();
        if self.reading.dialect == Dialect::Postgres && is_of_operator(rest[0]) {
            return postgres_operator_length(rest);
        }
        const LONG: [&[u8]; 14] =
            [b"<=>", b"->>", b":=", b"::", b"<=", b">=", b"<>", b"!=", b"||", b"&&", b"->", b"<<", b">>", b".."];
        LONG.iter().find(|sign| rest.starts_with(sign)).map_or(1, |sign| sign.len())
    }
}

/// Whether `word` is a number with its base: `0x1F`, `0b01`, and in PostgreSQL from version 16 on `0o17` and `0x_1F`.
fn has_base(word: &[u8], is_mysql: bool) -> bool {
    let of = |base: u8, is_digit: fn(&u8) -> bool| {
        let [b'0', letter, rest @ ..] = word else { return false };
        let letter = if is_mysql { *letter } else { letter.to_ascii_lowercase() };
        letter == base && !rest.is_empty() && rest.iter().all(|byte| is_digit(byte) || *byte == b'_' && !is_mysql)
    };
    of(b'x', u8::is_ascii_hexdigit)
        || of(b'b', |byte| matches!(byte, b'0' | b'1'))
        || !is_mysql && of(b'o', |byte| matches!(byte, b'0'..=b'7'))
}

/// Whether `word`, which begins with so many digits, is a number with an exponent, or the beginning of one: `1e5`, `1e` before a sign.
fn is_exponent(word: &[u8], digits: usize) -> bool {
    matches!(word[digits], b'e' | b'E') && word[digits + 1..].iter().all(u8::is_ascii_digit)
}

fn is_of_operator(byte: u8) -> bool {
    b"+-*/<>=~!@#%^&|`?".contains(&byte)
}

/// An operator is a name, and no name is longer.
const OPERATOR_BYTES_MAX: usize = 63;

/// As long as can be, without a comment in it; one that ends with a sign of a number has a sign in it that no number has (`scan.l`).
fn postgres_operator_length(rest: &[u8]) -> usize {
    let length = rest.iter().take(OPERATOR_BYTES_MAX + 1).take_while(|byte| is_of_operator(**byte)).count();
    let comment = rest[..length].windows(2).position(|two| two == b"--" || two == b"/*").unwrap_or(length);
    let mut length = comment.max(1);
    while length > 1 && matches!(rest[length - 1], b'+' | b'-') {
        if rest[..length - 1].iter().any(|byte| b"~!@#%^&|`?".contains(byte)) {
            break;
        }
        length -= 1;
    }
    length
}
