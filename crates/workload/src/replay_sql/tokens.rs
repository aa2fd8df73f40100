//! The words of an SQL statement, as far as a replay must know them: what it does, and its shape without the values.
//!
//! In: a text in the dialect of MySQL or PostgreSQL. Out: its effect ([`effect_of`]) and its [`fingerprint`]. Limits: a statement is not
//! parsed, only split into words, numbers, quoted texts and signs. What cannot be split (a quote or a comment that is not closed) has
//! neither. A function that writes is not seen: the server is asked for read-only transactions for that reason.

use super::wanted::LogDialect;

/// What a statement does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatementEffect {
    /// It reads.
    Reads,
    /// It changes data, or locks it.
    Writes,
    /// It begins or ends a transaction, or sets something of its session.
    OfSession,
    /// It is executed again by another line of the log, is a command to the server itself, or is no statement: it is never replayed.
    Repeated,
}

/// A part of a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Token<'a> {
    /// A word, which may be a name.
    Word(&'a str),
    /// A name in quotes, with them.
    Name(&'a str),
    /// A number, a text in quotes, a parameter.
    Value,
    /// Any other sign.
    Sign(char),
}

/// The name that `token` may be: as it is written, and without its quotes.
pub(super) fn name_of<'a>(token: &Token<'a>) -> Option<(&'a str, String)> {
    match *token {
        Token::Word(word) => Some((word, word.to_owned())),
        Token::Name(quoted) => {
            let (quote, inside) = (&quoted[..1], &quoted[1..quoted.len() - 1]);
            Some((quoted, inside.replace(&quote.repeat(2), quote)))
        }
        Token::Value | Token::Sign(_) => None,
    }
}

/// Splits `text`; `None` if a quote or a comment is not closed.
pub(super) fn split(text: &str, dialect: LogDialect) -> Option<Vec<Token<'_>>> {
    let (mut tokens, mut rest) = (Vec::new(), text);
    while let Some(c) = rest.chars().next() {
        let length = match c {
            c if c.is_whitespace() => c.len_utf8(),
            '-' if is_line_comment(rest, dialect) => rest.find('\n').unwrap_or(rest.len()),
            '#' if dialect == LogDialect::Mysql => rest.find('\n').unwrap_or(rest.len()),
            '/' if rest.starts_with("/*") => rest.find("*/")? + 2,
            '\'' => {
                let has_escapes = escapes(&tokens, dialect);
                push(&mut tokens, Token::Value, quoted_length(rest, '\'', has_escapes)?)
            }
            '"' if dialect == LogDialect::Mysql => push(&mut tokens, Token::Value, quoted_length(rest, '"', true)?),
            '"' | '`' => {
                let length = quoted_length(rest, c, false)?;
                push(&mut tokens, Token::Name(&rest[..length]), length)
            }
            '$' if dialect == LogDialect::Postgres => dollar_quoted(rest, &mut tokens)?,
            c if c.is_ascii_digit() || c == '.' && rest[1..].starts_with(|c: char| c.is_ascii_digit()) => {
                push(&mut tokens, Token::Value, number_length(rest))
            }
            c if in_word(c) => {
                let length = rest.find(|c: char| !in_word(c) && !c.is_ascii_digit()).unwrap_or(rest.len());
                push(&mut tokens, Token::Word(&rest[..length]), length)
            }
            c => push(&mut tokens, Token::Sign(c), c.len_utf8()),
        };
        rest = &rest[length..];
    }
    Some(tokens)
}

fn push<'a>(tokens: &mut Vec<Token<'a>>, token: Token<'a>, length: usize) -> usize {
    tokens.push(token);
    length
}

fn in_word(c: char) -> bool {
    c.is_alphabetic() || c == '_' || c == '@'
}

/// MySQL wants a blank behind the dashes, so that `5--1` is a difference.
fn is_line_comment(rest: &str, dialect: LogDialect) -> bool {
    let Some(after) = rest.strip_prefix("--") else { return false };
    dialect == LogDialect::Postgres || after.is_empty() || after.starts_with(|c: char| c.is_whitespace())
}

/// Whether a backslash begins an escape in the text in quotes behind `tokens`. PostgreSQL has that behind an `E` only.
fn escapes(tokens: &[Token<'_>], dialect: LogDialect) -> bool {
    dialect == LogDialect::Mysql || matches!(tokens.last(), Some(Token::Word(word)) if word.eq_ignore_ascii_case("e"))
}

/// The length of what is in quotes at the beginning of `text`; a doubled quote is part of it.
fn quoted_length(text: &str, quote: char, has_escapes: bool) -> Option<usize> {
    let mut chars = text.char_indices().skip(1).peekable();
    while let Some((at, c)) = chars.next() {
        if c == '\\' && has_escapes {
            chars.next()?;
        } else if c == quote && chars.next_if(|(_, next)| *next == quote).is_none() {
            return Some(at + 1);
        }
    }
    None
}

/// The length of `$tag$ ... $tag$`, or of the parameter `$1`, at the beginning of `text`.
fn dollar_quoted<'a>(text: &'a str, tokens: &mut Vec<Token<'a>>) -> Option<usize> {
    let end = text[1..].find(|c: char| !c.is_alphanumeric() && c != '_').map_or(text.len(), |at| at + 1);
    let is_parameter = end > 1 && text[1..end].chars().all(|c| c.is_ascii_digit());
    if is_parameter {
        return Some(push(tokens, Token::Value, end));
    }
    if !text[end..].starts_with('$') {
        return Some(push(tokens, Token::Sign('$'), 1));
    }
    let tag = &text[..=end];
    let close = text[tag.len()..].find(tag)?;
    Some(push(tokens, Token::Value, tag.len() + close + tag.len()))
}

fn number_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    let goes_on = |at: usize| match bytes[at] {
        b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' | b'_' | b'.' => true,
        b'+' | b'-' => matches!(bytes[at - 1], b'e' | b'E') && !text.starts_with("0x"),
        _ => false,
    };
    (1..bytes.len()).find(|at| !goes_on(*at)).unwrap_or(bytes.len())
}

/// What `text` does; `None` if it cannot be split into words.
pub fn effect_of(text: &str, dialect: LogDialect) -> Option<StatementEffect> {
    let tokens = split(text, dialect)?;
    let words: Vec<String> = tokens
        .iter()
        .filter_map(|token| if let Token::Word(word) = token { Some(word.to_ascii_uppercase()) } else { None })
        .collect();
    let Some(first) = words.first().map(String::as_str) else { return Some(StatementEffect::Repeated) };
    let has = |wanted: &[&str]| words.iter().any(|word| wanted.contains(&word.as_str()));
    // Commands to the server itself are not the load of an application.
    let is_of_server = match first {
        "SHUTDOWN" | "KILL" | "FLUSH" => true,
        "SET" => has(&["GLOBAL", "PERSIST", "@@GLOBAL", "@@PERSIST"]),
        "ALTER" => words.get(1).is_some_and(|word| word == "SYSTEM"),
        _ => false,
    };
    if is_of_server {
        return Some(StatementEffect::Repeated);
    }
    // Several statements in one: the words of all of them decide.
    let is_single = !tokens[..tokens.len() - 1].contains(&Token::Sign(';'));
    const CHANGES: [&str; 12] =
        ["INSERT", "UPDATE", "DELETE", "MERGE", "INTO", "CREATE", "DROP", "ALTER", "TRUNCATE", "CALL", "COPY", "LOCK"];
    Some(match first {
        "SELECT" | "WITH" | "TABLE" | "VALUES" | "EXPLAIN" | "DESCRIBE" | "DESC" if is_single => {
            // FOR SHARE locks rows, too.
            let locks = has(&["FOR"]) && has(&["SHARE"]);
            if has(&CHANGES) || locks { StatementEffect::Writes } else { StatementEffect::Reads }
        }
        "SHOW" if is_single => StatementEffect::Reads,
        "BEGIN" | "START" | "COMMIT" | "ROLLBACK" | "SAVEPOINT" | "RELEASE" | "END" | "ABORT" | "SET" | "RESET"
        | "DISCARD" | "XA" | "LISTEN" | "UNLISTEN" | "USE" => StatementEffect::OfSession,
        "PREPARE" | "EXECUTE" | "DEALLOCATE" if dialect == LogDialect::Mysql => StatementEffect::Repeated,
        // The data of these comes over the connection or from a file of the client, which the log does not have.
        "COPY" | "LOAD" => StatementEffect::Repeated,
        _ => StatementEffect::Writes,
    })
}

/// The shape of `text`: without its values, its comments and its blanks, in small letters; lists of values are one. `None` if it cannot
/// be split into words.
pub fn fingerprint(text: &str, dialect: LogDialect) -> Option<String> {
    let mut shape = String::new();
    let mut tokens = split(text, dialect)?;
    while tokens.last() == Some(&Token::Sign(';')) {
        tokens.pop();
    }
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        at += 1;
        match token {
            Token::Word(word) => push_part(&mut shape, &word.to_lowercase()),
            Token::Name(name) => push_part(&mut shape, name),
            Token::Value => {
                push_part(&mut shape, "?");
                // (1, 2, 3) and (4, 5) have one shape.
                while tokens.get(at..at + 2).is_some_and(|next| next == [Token::Sign(','), Token::Value]) {
                    at += 2;
                }
            }
            Token::Sign(sign) => {
                if !matches!(sign, ',' | ')' | '.' | ';')
                    && *sign != '('
                    && !shape.ends_with(['(', '.'])
                    && !shape.is_empty()
                {
                    shape.push(' ');
                }
                shape.push(*sign);
            }
        }
    }
    Some(shape)
}

fn push_part(shape: &mut String, part: &str) {
    if !shape.is_empty() && !shape.ends_with(['(', '.']) {
        shape.push(' ');
    }
    shape.push_str(part);
}

#[cfg(test)]
mod tests {
    use super::LogDialect::{Mysql, Postgres};
    use super::StatementEffect::{OfSession, Reads, Repeated, Writes};
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn statements_that_differ_in_their_values_have_one_shape() {
        let of = |text| fingerprint(text, Mysql).unwrap();
        assert_eq!(of("SELECT c FROM t WHERE id=1"), "select c from t where id = ?");
        assert_eq!(of("select  c from T where ID = 'a''b\\'c' -- why\n;"), "select c from t where id = ?");
        assert_eq!(
            of("SELECT * FROM a.t WHERE k IN (1,2, 3) AND x > -1.5e-3"),
            "select * from a.t where k in(?) and x > - ?"
        );
        assert_eq!(of("select /* hint */ count(*) from `my t`"), "select count(*) from `my t`");
        let postgres = fingerprint("select \"C\", $1::int from t where b = $tag$ it's $tag$ and e = E'\\''", Postgres);
        assert_eq!(postgres.unwrap(), "select \"C\", ? : : int from t where b = ? and e = e ?");
    }

    #[test]
    fn what_a_statement_does_is_seen_by_its_words_outside_of_quotes() {
        for (text, dialect, effect) in [
            ("SELECT 'INSERT INTO t'", Mysql, Reads),
            ("select \"delete\" from t", Mysql, Reads),
            ("SELECT c FROM t FOR UPDATE", Mysql, Writes),
            ("SELECT c FROM t FOR SHARE", Postgres, Writes),
            ("SELECT 1 INTO OUTFILE '/tmp/x'", Mysql, Writes),
            ("WITH x AS (DELETE FROM t RETURNING 1) SELECT * FROM x", Postgres, Writes),
            ("select 1; delete from t", Postgres, Writes),
            ("select 1; select 2", Postgres, Writes),
            ("SHOW TABLES", Mysql, Reads),
            ("begin", Mysql, OfSession),
            ("SET NAMES utf8mb4", Mysql, OfSession),
            ("execute s using @a", Mysql, Repeated),
            ("-- only a comment", Postgres, Repeated),
            ("SET GLOBAL general_log = ON", Mysql, Repeated),
            ("set @@global.x = 1", Mysql, Repeated),
            ("alter system set x = 1", Postgres, Repeated),
            ("UPDATE t SET k = 1", Mysql, Writes),
            ("(SELECT 1) UNION (SELECT 2)", Mysql, Reads),
        ] {
            assert_eq!(effect_of(text, dialect), Some(effect), "{text}");
        }
    }

    #[test]
    fn what_is_not_closed_cannot_be_split() {
        for text in ["select 'a", "select /* a", "select `a", "select 'a\\'"] {
            assert_eq!((fingerprint(text, Mysql), effect_of(text, Mysql)), (None, None), "{text}");
        }
        assert_eq!(fingerprint("select $a$ b", Postgres), None);
        assert!(fingerprint("select 'a\\'", Postgres).is_some(), "a backslash is itself there");
    }

    proptest! {
        #[test]
        fn no_text_is_too_strange(text: String) {
            for dialect in [Mysql, Postgres] {
                prop_assert_eq!(fingerprint(&text, dialect).is_some(), effect_of(&text, dialect).is_some());
            }
        }

        #[test]
        fn no_signs_are_too_strange(text in "[a'\"`$\\\\/*#;(),.0-9eE+@ \n-]{0,60}") {
            for dialect in [Mysql, Postgres] {
                prop_assert_eq!(fingerprint(&text, dialect).is_some(), effect_of(&text, dialect).is_some());
            }
        }
    }
}
