//! Statements as plain text, with the values as literals.
//!
//! In: statements with `?`, an operation's arguments. Out: texts. Limits: texts are UTF-8 without the character 0, as workloads write
//! them.
//!
//! A quote is doubled, which every engine reads alike whatever its settings. A backslash is read by some settings as itself and by
//! others as the beginning of an escape, so a text with one is written in a form that has one meaning: bytes in hexadecimal for
//! MySQL, and for PostgreSQL a string with the prefix for escapes.

use model::SqlArg;
use std::fmt::Write as _;
use std::sync::Arc;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    Mysql,
    Postgres,
}

/// Statements in pieces, with a value between each two.
#[derive(Clone)]
pub struct PlainStatements {
    dialect: Dialect,
    pieces: Arc<[Vec<String>]>,
}

impl PlainStatements {
    /// The `statements` with `?` for each value.
    pub fn new(statements: &[String], dialect: Dialect) -> PlainStatements {
        let pieces = statements.iter().map(|text| text.split('?').map(str::to_owned).collect());
        PlainStatements { dialect, pieces: pieces.collect() }
    }

    /// Writes statement number `statement` with `args` in place of what `out` holds.
    #[inline]
    pub fn write_statement(&self, out: &mut String, statement: usize, args: &[SqlArg], text: &[u8]) {
        let (first, rest) = self.pieces[statement].split_first().expect("a split text has a first piece");
        out.clear();
        out.push_str(first);
        for (arg, piece) in args.iter().zip(rest) {
            push_literal(out, self.dialect, arg, text);
            out.push_str(piece);
        }
    }
}

/// Writes `arg`, whose bytes are in `text` if it is a text.
#[inline]
pub fn push_literal(out: &mut String, dialect: Dialect, arg: &SqlArg, text: &[u8]) {
    let written = match *arg {
        // Behind a minus of the statement's own, a second one would begin a comment.
        SqlArg::Int(value) if value < 0 => write!(out, "({value})"),
        SqlArg::Float(value) if value < 0.0 => write!(out, "({value})"),
        SqlArg::Int(value) => write!(out, "{value}"),
        SqlArg::Float(value) => write!(out, "{value}"),
        SqlArg::Text { start, len } => {
            let bytes = &text[start as usize..][..len as usize];
            push_quoted(out, dialect, std::str::from_utf8(bytes).expect("workloads write UTF-8"))
        }
        SqlArg::Null => out.write_str("NULL"),
        SqlArg::Kept(_) => unreachable!("kept values are filled in before"),
    };
    written.expect("writing to a string does not fail");
}

fn push_quoted(out: &mut String, dialect: Dialect, text: &str) -> std::fmt::Result {
    // Looked at many bytes at once; most texts have neither.
    let is_plain = !text.bytes().fold(false, |found, byte| found | (byte == b'\'') | (byte == b'\\'));
    if is_plain {
        return write!(out, "'{text}'");
    }
    match (dialect, text.contains('\\')) {
        (_, false) => write!(out, "'{}'", DoubledChars(text, &['\''])),
        (Dialect::Postgres, true) => write!(out, "E'{}'", DoubledChars(text, &['\'', '\\'])),
        (Dialect::Mysql, true) => {
            out.push_str("X'");
            text.bytes().try_for_each(|byte| write!(out, "{byte:02X}"))?;
            out.write_char('\'')
        }
    }
}

/// A text with some of its characters doubled.
struct DoubledChars<'a>(&'a str, &'a [char]);

impl std::fmt::Display for DoubledChars<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.split_inclusive(self.1).try_for_each(|part| {
            f.write_str(part)?;
            part.chars().last().filter(|last| self.1.contains(last)).map_or(Ok(()), |last| f.write_char(last))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(dialect: Dialect, statement: &str, args: &[SqlArg], text: &str) -> String {
        let mut out = "what was there".to_owned();
        PlainStatements::new(&[statement.to_owned()], dialect).write_statement(&mut out, 0, args, text.as_bytes());
        out
    }

    fn quoted(dialect: Dialect, text: &str) -> String {
        written(dialect, "?", &[SqlArg::Text { start: 0, len: text.len() as u32 }], text)
    }

    #[test]
    fn values_stand_in_the_places_of_their_marks() {
        let args = [SqlArg::Int(7), SqlArg::Text { start: 1, len: 2 }, SqlArg::Float(0.5)];
        let text = written(Dialect::Mysql, "SET a=?, b=?, c=? WHERE d", &args, "xyzx");
        assert_eq!(text, "SET a=7, b='yz', c=0.5 WHERE d");
        assert_eq!(written(Dialect::Postgres, "COMMIT", &[], ""), "COMMIT");
        assert_eq!(written(Dialect::Postgres, "k-?", &[SqlArg::Int(-5)], ""), "k-(-5)");
    }

    #[test]
    fn a_text_cannot_end_its_own_quotes_whatever_the_servers_settings() {
        for dialect in [Dialect::Mysql, Dialect::Postgres] {
            assert_eq!(quoted(dialect, "it's'; DROP"), "'it''s''; DROP'");
        }
        assert_eq!(quoted(Dialect::Postgres, "\\' OR"), "E'\\\\'' OR'");
        assert_eq!(quoted(Dialect::Mysql, "\\'a"), "X'5C2761'");
    }
}
