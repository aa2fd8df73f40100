//! A statement with other values, so that it may leave the house.
//!
//! In: a statement as it was sent. Out: the same with another value in place of each, and without its comments; or nothing, if it may be read
//! in two ways or is of no use with other values. Limits: names, numbers of places (`ORDER BY 2`) and lengths of types stay. Code in `/*! */`
//! becomes plain, so that no version takes it for a comment.

mod secret;
mod values;

use crate::recording_error::RecordingError;
use secret::Secret;
use sql::{Dialect, Lexed, Reading, Token, TokenKind};
use values::{Digits, Quoting, other_value};

/// Replaces values by a key of its own, which goes with it.
pub(super) struct ValueHasher {
    secret: Secret,
    dialect: Dialect,
}

/// Types with a length behind them.
const TYPES: [&str; 10] =
    ["decimal", "numeric", "dec", "varchar", "nvarchar", "varbinary", "varying", "datetime", "timestamp", "time"];
/// A longer length of a type is none.
const LENGTH_DIGITS_MAX: usize = 5;
/// Words of settings that are known to everybody: character sets, zones, modes of SQL, isolation.
const PUBLIC: &str = "ansi ansi_quotes allow_invalid_dates ascii auto_value_on_zero binary committed cp1252 c date dates default division_by_zero \
    dmy en engine error_for_division_by_zero gmt high_not_precedence ignore_space iso iso_8859_1 latin1 latin2 mdy mode no no_auto_create_user \
    no_auto_value_on_zero no_backslash_escapes no_engine_substitution no_unsigned_subtraction no_zero_date no_zero_in_date off on only only_full_group_by \
    oracle pad_char_to_full_length pipes_as_concat postgres read real_as_float repeatable safe serializable simultaneous_assignment \
    sql_ascii strict strict_all_tables strict_trans_tables substitution system time_truncate_fractional traditional uncommitted unicode us utc \
    utf utf8 utf8mb3 utf8mb4 warning error notice write ymd zero 8";

impl ValueHasher {
    /// One with a new key, for statements in `dialect`.
    ///
    /// # Errors
    /// If the system has no random numbers.
    pub fn new(dialect: Dialect) -> Result<ValueHasher, RecordingError> {
        let secret = Secret::random().map_err(|error| {
            RecordingError::of_file(format!(
                "its values cannot be replaced: the system gives no random numbers: {error}"
            ))
        })?;
        Ok(ValueHasher { secret, dialect })
    }

    /// `text`, which was split as `lexed`, with other values, and split again; `None` if it cannot be had.
    pub fn hashed(&self, text: &str, lexed: &Lexed) -> Option<(String, Lexed)> {
        let statement = HashedStatement { hasher: self, text, tokens: &lexed.tokens };
        if lexed.is_doubtful || self.is_ambiguous(text, lexed) || statement.is_useless() {
            return None;
        }
        let hashed = statement.rewritten()?;
        // Whatever was missed above shows here: it must be the same statement but for its values.
        let again = sql::lex(&hashed, Reading::usual(self.dialect)).ok()?;
        let shape = sql::shape_of(text, &lexed.tokens);
        (sql::shape_of(&hashed, &again.tokens) == shape && again.executable_comments == 0).then_some((hashed, again))
    }

    /// Whether a backslash decides what is a value: that depends on a setting which is in no log.
    fn is_ambiguous(&self, text: &str, lexed: &Lexed) -> bool {
        let usual = Reading::usual(self.dialect);
        let other = Reading { backslash_escapes: !usual.backslash_escapes, ..usual };
        text.contains('\\') && sql::lex(text, other).is_ok_and(|other| other.tokens != lexed.tokens)
    }

    /// A text in its quotes with another value.
    fn other_literal(&self, written: &str) -> Option<String> {
        let is_mysql = self.dialect == Dialect::Mysql;
        if let Some(behind) = written.strip_prefix('$') {
            let tag = &written[..behind.find('$')? + 2];
            let inside = &written[tag.len()..written.len() - tag.len()];
            let quoting = Quoting { quote: '\0', escapes: false, digits: Digits::Decimal };
            return Some(format!("'{}'", other_value(&self.secret, inside, quoting).replace('\'', "''")));
        }
        let at = written.find(['\'', '"'])?;
        let (prefix, quote) = (written[..at].to_ascii_lowercase(), &written[at..=at]);
        let inside = &written[at + 1..written.len() - 1];
        let has_codes = match &*prefix {
            // `\x41` and `\101` are letters, whose codes would stay.
            "e" => inside
                .split('\\')
                .skip(1)
                .any(|behind| behind.starts_with(['x', 'u', 'U', '0', '1', '2', '3', '4', '5', '6', '7'])),
            "u&" => inside.contains('\\'),
            _ => false,
        };
        if has_codes {
            return None;
        }
        let escapes = prefix == "e" || is_mysql && matches!(&*prefix, "" | "n");
        let digits = match &*prefix {
            "x" => Digits::Hexadecimal,
            "b" => Digits::Binary,
            _ => Digits::Decimal,
        };
        let quoting = Quoting { quote: quote.chars().next()?, escapes, digits };
        Some([&written[..at], quote, &other_value(&self.secret, inside, quoting), quote].concat())
    }

    fn other_number(&self, written: &str) -> String {
        let digits = match written.as_bytes() {
            [b'0', b'x' | b'X', ..] => Digits::Hexadecimal,
            [b'0', b'b' | b'B', ..] => Digits::Binary,
            [b'0', b'o' | b'O', ..] => Digits::Octal,
            _ => Digits::Decimal,
        };
        let (base, number) = written.split_at(if digits == Digits::Decimal { 0 } else { 2 });
        [base, &other_value(&self.secret, number, Quoting { quote: '\0', escapes: false, digits })].concat()
    }
}

struct HashedStatement<'a> {
    hasher: &'a ValueHasher,
    text: &'a str,
    tokens: &'a [Token],
}

impl HashedStatement<'_> {
    fn rewritten(&self) -> Option<String> {
        let (mut out, mut done) = (String::with_capacity(self.text.len()), 0);
        for (at, token) in self.tokens.iter().enumerate() {
            // Blanks and comments alike.
            if token.start > done && !out.is_empty() {
                out.push(' ');
            }
            out.push_str(&self.other_token(at, token)?);
            done = token.end;
        }
        Some(out)
    }

    fn other_token(&self, at: usize, token: &Token) -> Option<String> {
        let written = token.text(self.text);
        match token.kind {
            TokenKind::Text if self.is_in_setting() => self.keeps_in_setting(written).then(|| written.to_owned()),
            TokenKind::Text => self.hasher.other_literal(written),
            // Of an account, `'a user'@'a host'`, it looks like a name.
            TokenKind::Variable if written.ends_with(['\'', '"']) => None,
            TokenKind::Number if !self.keeps_number(at) => Some(self.hasher.other_number(written)),
            _ => Some(written.to_owned()),
        }
    }

    fn is_word(&self, at: usize, words: &[&str]) -> bool {
        self.tokens.get(at).is_some_and(|token| token.is_word(self.text, words))
    }

    fn is_sign(&self, at: usize, sign: &str) -> bool {
        self.tokens.get(at).is_some_and(|token| token.is_sign(self.text, sign))
    }

    /// What is a program in quotes, and a setting of an application, of which only the application knows which words it has.
    fn is_useless(&self) -> bool {
        let is_postgres = self.hasher.dialect == Dialect::Postgres;
        let is_program = self.is_word(0, &["do"])
            || self.is_word(0, &["create"]) && (1..5).any(|at| self.is_word(at, &["function", "procedure"]));
        let is_own_setting = self.is_word(0, &["set"]) && (2..4).any(|at| self.is_sign(at, "."));
        is_postgres && (is_program || is_own_setting)
    }

    /// Whether it sets something of the session, and no variable of the user.
    fn is_in_setting(&self) -> bool {
        let is_variable = |token: &Token| {
            let written = token.text(self.text);
            token.kind == TokenKind::Variable && !written.starts_with("@@")
        };
        self.is_word(0, &["set"]) && !self.tokens.get(1).is_some_and(is_variable)
    }

    /// Whether the text `written` is a name or is known to everybody. With another one the setting would be refused.
    fn keeps_in_setting(&self, written: &str) -> bool {
        let is_postgres = self.hasher.dialect == Dialect::Postgres;
        let names_schemas = is_postgres && (1..3).any(|at| self.is_word(at, &["search_path"]));
        let inside = written.trim_matches(['\'', '"']);
        let distance = inside.strip_prefix(['+', '-']).filter(|distance| distance.len() <= 5);
        let is_zone = distance.is_some_and(|it| it.bytes().all(|byte| byte.is_ascii_digit() || byte == b':'));
        let words = inside.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').filter(|word| !word.is_empty());
        let mut words = words.map(str::to_ascii_lowercase);
        names_schemas
            || is_zone
            || inside.is_ascii() && words.all(|word| PUBLIC.split_whitespace().any(|it| it == word))
    }

    /// Whether the number at `at` is that of a column, or the length of a type.
    fn keeps_number(&self, at: usize) -> bool {
        let Some(before) = at.checked_sub(1) else { return false };
        let is_short = self.tokens[at].end - self.tokens[at].start <= LENGTH_DIGITS_MAX;
        let is_number = |at: usize| self.tokens.get(at).is_some_and(|token| token.kind == TokenKind::Number);
        let is_length = |open: usize| self.is_sign(open, "(") && open > 0 && self.is_word(open - 1, &TYPES);
        let is_second_length =
            self.is_sign(before, ",") && before > 1 && is_number(before - 1) && is_length(before - 2);
        is_short && (is_length(before) || is_second_length || self.is_behind_by(before))
    }

    /// Whether what ends at `at` begins a list behind ORDER BY or GROUP BY that has numbers of columns only.
    fn is_behind_by(&self, mut at: usize) -> bool {
        while self.is_sign(at, ",") {
            let Some(mut before) = at.checked_sub(1) else { return false };
            if self.is_word(before, &["asc", "desc"]) && before > 0 {
                before -= 1;
            }
            if self.tokens[before].kind != TokenKind::Number || before == 0 {
                return false;
            }
            at = before - 1;
        }
        self.is_word(at, &["by"])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use sql::Dialect::{Mysql, Postgres};

    fn hashed(text: &str, dialect: Dialect) -> Option<String> {
        let hasher = ValueHasher { secret: Secret::fixed(), dialect };
        let lexed = sql::lex(text, Reading::usual(dialect)).ok()?;
        hasher.hashed(text, &lexed).map(|(hashed, _)| hashed)
    }

    #[test]
    fn values_and_comments_go_and_the_rest_stays() {
        for (text, dialect) in [
            ("SELECT c FROM secrettable WHERE a = 'SECRET' AND b = 73731", Mysql),
            ("SELECT \"SECRET\", N'SECRET', x'73731a', 0x73731a, b'10110111', -73731.5 FROM t", Mysql),
            ("/* SECRET */ SELECT /* SECRET */ c -- SECRET\n FROM t # SECRET", Mysql),
            ("SELECT /*!50000 73731, */ c FROM t WHERE a = 'it\\'s SECRET'", Mysql),
            ("CREATE USER 'SECRET' IDENTIFIED BY 'SECRET'", Mysql),
            ("SET @a = 'SECRET', @b = 73731", Mysql),
            (
                "SELECT \"Name\" FROM t WHERE a = 'SECRET' AND b = $$it's SECRET$$ AND c = $SECRET$SECRET$SECRET$",
                Postgres,
            ),
            ("SELECT E'it\\'s SECRET\\n', U&'SECRET', 'SECRET' -- SECRET\n 'SECRET'", Postgres),
            ("SELECT 1 /* SECRET /* SECRET */ SECRET */ WHERE a = 'C:\\SECRET\\'", Postgres),
            ("ALTER ROLE app PASSWORD 'SECRET'", Postgres),
        ] {
            let found = hashed(text, dialect).unwrap_or_default();
            assert!(!found.contains("SECRET") && !found.contains("73731"), "{text}: {found}");
            assert_eq!(sql::fingerprint(&found, dialect), sql::fingerprint(text, dialect), "{text}: {found}");
        }
        let found = hashed("SELECT c  FROM `t` WHERE a LIKE '%ab\\_c%' AND b IN (NULL, TRUE, 0, 1)", Mysql).unwrap();
        assert!(found.starts_with("SELECT c FROM `t` WHERE a LIKE '%"), "{found}");
        assert!(found.ends_with("%' AND b IN (NULL, TRUE, 0, 1)") && found.contains("\\_"), "{found}");
    }

    #[test]
    fn what_decides_what_a_statement_is_stays() {
        for (text, dialect) in [
            ("SELECT a FROM t GROUP BY 2, 3 DESC, 4 ORDER BY 12", Mysql),
            ("SELECT CAST(a AS DECIMAL(10, 2)), date_trunc('hour', b) FROM t", Postgres),
            ("SET NAMES 'utf8mb4'", Mysql),
            ("SET SESSION sql_mode = 'STRICT_TRANS_TABLES,NO_ZERO_DATE', time_zone = '+02:00', autocommit = 0", Mysql),
            ("SET search_path = 'Shop', public", Postgres),
            ("BEGIN", Mysql),
        ] {
            assert_eq!(hashed(text, dialect).as_deref(), Some(text));
        }
        assert_ne!(
            hashed("SELECT a FROM t ORDER BY a LIMIT 12", Mysql).as_deref(),
            Some("SELECT a FROM t ORDER BY a LIMIT 12")
        );
    }

    #[test]
    fn what_may_be_read_in_two_ways_or_is_of_no_use_is_left_out() {
        for (text, dialect) in [
            ("SELECT 'a\\', 'b', SECRET, 'c\\'", Mysql),
            ("SELECT 1 /*! 'SECRET' /* */", Mysql),
            ("SELECT E'\\x41\\x42'", Postgres),
            ("SELECT U&'\\0041'", Postgres),
            ("SET app.token = SECRET", Postgres),
            ("SET application_name = 'SECRET'", Postgres),
            ("SET SESSION app.token = 'SECRET'", Postgres),
            ("DO $$ SECRET $$", Postgres),
            ("CREATE OR REPLACE FUNCTION f() RETURNS int AS $$ SECRET $$ LANGUAGE sql", Postgres),
            ("SET NAMES 'SECRET'", Mysql),
            ("CREATE USER 'SECRET'@'SECRET' IDENTIFIED BY 'SECRET'", Mysql),
            ("SET PASSWORD FOR 'SECRET' = PASSWORD('SECRET')", Mysql),
        ] {
            assert_eq!(hashed(text, dialect), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_statement_is_too_strange(text in "[aeExNUuSET$&?'\"`\\\\/*!#@0-9 \n;.,=é-]{0,50}") {
            for dialect in [Mysql, Postgres] {
                let _ = hashed(&text, dialect);
            }
        }

        #[test]
        fn letters_in_quotes_never_stay(secret in "[a-z]{12}", quote in "['\"]", head in "[a-z =(\\\\'\"/*-]{0,12}") {
            let text = format!("select {head} {quote}{secret}{quote}");
            let tokens = sql::tokens(&text, Mysql).unwrap_or_default();
            let is_value = tokens.last().is_some_and(|it| it.kind == TokenKind::Text);
            if let Some(found) = hashed(&text, Mysql).filter(|_| is_value) {
                prop_assert!(!found.contains(&secret), "{}: {}", text, found);
            }
        }
    }
}
