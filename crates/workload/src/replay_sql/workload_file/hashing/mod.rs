//! A statement with other values, so that it may leave the house.
//!
//! In: a statement as it was sent. Out: the same with another value in place of each, and without its comments; or nothing, if it may be read
//! in two ways, is no statement about data (accounts, programs, files), or sets what is not known to everybody. Limits: names, numbers of places
//! (`ORDER BY 2`) and lengths of types stay.

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
/// Of them those whose length is a number of digits behind the point.
const TYPES_OF_TIME: [&str; 3] = ["datetime", "timestamp", "time"];
/// A longer length of a type is none, and of a type of time one of more digits than one.
const LENGTH_DIGITS_MAX: usize = 5;
/// The number of a place is no longer, and a list of places has no more of them.
const PLACE_DIGITS_MAX: usize = 3;
const PLACES_MAX: usize = 100;
/// How statements begin whose values are those of data.
const OF_DATA: [&str; 30] = [
    "select",
    "with",
    "table",
    "values",
    "insert",
    "replace",
    "update",
    "delete",
    "merge",
    "truncate",
    "call",
    "execute",
    "begin",
    "start",
    "commit",
    "rollback",
    "savepoint",
    "release",
    "end",
    "abort",
    "show",
    "explain",
    "describe",
    "desc",
    "use",
    "set",
    "fetch",
    "close",
    "lock",
    "analyze",
];
/// What is made, changed or dropped by statements about data.
const OBJECTS: [&str; 9] = ["table", "index", "unique", "view", "temporary", "temp", "schema", "database", "sequence"];
/// Words of statements that set something, besides those of values.
const OF_SET: &str = "set session global local names character charset collate transaction isolation level constraints all deferred immediate \
    time zone to characteristics as";
/// The longest name of a collation.
const COLLATION_CHARS_MAX: usize = 32;
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
        // Code in `/*! */` is a comment to other versions.
        let is_unclear = lexed.is_doubtful || lexed.executable_comments > 0 || self.is_ambiguous(text, lexed);
        if is_unclear || statement.has_words_at_texts() || !statement.is_of_data() || !statement.sets_known_words() {
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
            TokenKind::Number if has_long_exponent(written) => None,
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

    /// Whether a word is at a text without a blank, or begins with a digit: then a quote is missing, and the word may be a value.
    fn has_words_at_texts(&self) -> bool {
        let is_text = |token: &Token| token.kind == TokenKind::Text;
        let is_bare = |token: &Token| matches!(token.kind, TokenKind::Word | TokenKind::Number);
        let touch = |two: &[Token]| {
            two[0].end == two[1].start && (is_text(&two[0]) && is_bare(&two[1]) || is_bare(&two[0]) && is_text(&two[1]))
        };
        let begins_with_digit = |token: &Token| {
            token.kind == TokenKind::Word && token.text(self.text).starts_with(|c: char| c.is_ascii_digit())
        };
        self.tokens.windows(2).any(touch) || self.tokens.iter().any(begins_with_digit)
    }

    /// Whether each statement of the text is about data. One that sets something is alone: where it ends decides what is a value.
    fn is_of_data(&self) -> bool {
        let is_end = |at: &usize| self.is_sign(*at, ";");
        let begins = std::iter::once(0).chain((0..self.tokens.len()).filter(is_end).map(|end| end + 1));
        let begins: Vec<usize> = begins.filter(|at| *at < self.tokens.len() && !is_end(at)).collect();
        let is_about_data = |at: usize| match self.is_word(at, &["create", "alter", "drop"]) {
            true => self.is_word(at + 1, &OBJECTS),
            false => self.is_word(at, &OF_DATA) || self.is_sign(at, "("),
        };
        let sets = begins.iter().any(|at| self.is_word(*at, &["set"]));
        begins.iter().all(|at| is_about_data(*at)) && !(sets && begins.len() > 1)
    }

    /// Whether a statement that sets something of the session has only words that everybody knows: what a password, the setting of an
    /// application or the name of a role is, only that application knows.
    fn sets_known_words(&self) -> bool {
        if !self.is_in_setting() {
            return true;
        }
        if self.is_word(1, &["password", "role"]) || (1..self.tokens.len()).any(|at| self.is_sign(at, ".")) {
            return false;
        }
        let has_value = (1..self.tokens.len()).any(|at| self.is_assignment(at));
        let names_schemas = self.names_schemas();
        let mut is_value = false;
        for (at, token) in self.tokens.iter().enumerate() {
            let ends_value = self.hasher.dialect == Dialect::Mysql && self.is_sign(at, ",");
            is_value = !ends_value && (is_value || self.is_assignment(at));
            let written = token.name(self.text).unwrap_or_default().to_ascii_lowercase();
            let is_known = match token.kind {
                TokenKind::Word if has_value && !is_value => true,
                TokenKind::Word | TokenKind::Name => {
                    names_schemas && is_value && !written.contains('.')
                        || is_public(&written)
                        || is_of(OF_SET, &written)
                }
                _ => true,
            };
            if !is_known {
                return false;
            }
        }
        true
    }

    fn is_assignment(&self, at: usize) -> bool {
        self.is_sign(at, "=") || self.is_sign(at, ":=") || self.is_word(at, &["to"])
    }

    fn names_schemas(&self) -> bool {
        self.hasher.dialect == Dialect::Postgres && (1..3).any(|at| self.is_word(at, &["search_path"]))
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
        let inside = written.trim_matches(['\'', '"']);
        let sets_zone = (1..self.tokens.len()).any(|at| self.is_word(at, &["time_zone", "timezone", "zone"]));
        let distance =
            inside.strip_prefix(['+', '-']).filter(|distance| (1..=5).contains(&distance.len()) && sets_zone);
        let is_zone = distance.is_some_and(|it| it.bytes().all(|byte| byte.is_ascii_digit() || byte == b':'));
        let is_zone = is_zone || sets_zone && is_zone_name(inside);
        let has_known_signs = inside.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_, -".contains(&byte));
        let words = inside.split([',', ' ', '-']).filter(|word| !word.is_empty());
        let mut words = words.map(str::to_ascii_lowercase);
        self.names_schemas() || is_zone || has_known_signs && words.all(|word| is_public(&word))
    }

    /// Whether the number at `at` is that of a column, or the length of a type.
    fn keeps_number(&self, at: usize) -> bool {
        let Some(before) = at.checked_sub(1) else { return false };
        let digits = self.tokens[at].end - self.tokens[at].start;
        let is_short = digits <= LENGTH_DIGITS_MAX;
        if before > 0 && self.is_sign(before, "(") && self.is_word(before - 1, &TYPES_OF_TIME) {
            return digits == 1;
        }
        let is_number = |at: usize| self.tokens.get(at).is_some_and(|token| token.kind == TokenKind::Number);
        let is_length = |open: usize| self.is_sign(open, "(") && open > 0 && self.is_word(open - 1, &TYPES);
        let is_second_length =
            self.is_sign(before, ",") && before > 1 && is_number(before - 1) && is_length(before - 2);
        is_short && (is_length(before) || is_second_length) || digits <= PLACE_DIGITS_MAX && self.is_behind_by(before)
    }

    /// Whether what ends at `at` begins a list behind ORDER BY or GROUP BY that has numbers of columns only.
    fn is_behind_by(&self, mut at: usize) -> bool {
        for _ in 0..PLACES_MAX {
            if !self.is_sign(at, ",") {
                return self.is_word(at, &["by"]);
            }
            let Some(mut before) = at.checked_sub(1) else { return false };
            if self.is_word(before, &["asc", "desc"]) && before > 0 {
                before -= 1;
            }
            if self.tokens[before].kind != TokenKind::Number || before == 0 {
                return false;
            }
            at = before - 1;
        }
        false
    }
}

/// Whether `name` is written as the names of the time zone database are: `Europe/Berlin`, `America/Argentina/Buenos_Aires`.
fn is_zone_name(name: &str) -> bool {
    const AREAS: [&str; 11] = [
        "Africa",
        "America",
        "Antarctica",
        "Arctic",
        "Asia",
        "Atlantic",
        "Australia",
        "Etc",
        "Europe",
        "Indian",
        "Pacific",
    ];
    let mut parts = name.split('/');
    let is_place =
        |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_alphabetic() || b"_-".contains(&byte));
    let is_in_area = parts.next().is_some_and(|area| AREAS.contains(&area));
    is_in_area && (1..=2).contains(&parts.clone().count()) && parts.all(is_place)
}

/// Whether `written` has an exponent that no number of a database has, and which would stay: `1e73731`.
fn has_long_exponent(written: &str) -> bool {
    let is_decimal = !written.starts_with(['x', 'X']) && !written.get(1..2).is_some_and(|base| "xXbBoO".contains(base));
    let exponent = written.find(['e', 'E']).map(|at| &written[at + 1..]);
    is_decimal && exponent.is_some_and(|digits| digits.trim_start_matches(['-', '+']).len() > PLACE_DIGITS_MAX)
}

fn is_of(words: &str, word: &str) -> bool {
    words.split_whitespace().any(|own| own == word)
}

/// Whether everybody knows `word`: a character set, a collation of one, a zone, a mode.
fn is_public(word: &str) -> bool {
    let is_collation = word.len() <= COLLATION_CHARS_MAX
        && word.split_once('_').is_some_and(|(set, behind)| {
            ["utf8", "utf8mb3", "utf8mb4", "latin1", "latin2", "ascii", "cp1252"].contains(&set)
                && behind
                    .split('_')
                    .all(|part| part.len() <= 9 && part.bytes().all(|byte| byte.is_ascii_alphanumeric()))
        });
    is_of(PUBLIC, word) || is_collation
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
            ("SELECT c FROM t WHERE a = 'it\\'s SECRET'", Mysql),
            ("SET @a = 'SECRET', @b = 73731", Mysql),
            (
                "SELECT \"Name\" FROM t WHERE a = 'SECRET' AND b = $$it's SECRET$$ AND c = $SECRET$SECRET$SECRET$",
                Postgres,
            ),
            ("SELECT E'it\\'s SECRET\\n', U&'SECRET', 'SECRET' -- SECRET\n 'SECRET'", Postgres),
            ("SELECT 1 /* SECRET /* SECRET */ SECRET */ WHERE a = 'C:\\SECRET\\'", Postgres),
            ("BEGIN; SELECT 'SECRET'; COMMIT", Postgres),
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
            ("SET NAMES 'utf8mb4' COLLATE 'utf8mb4_general_ci'", Mysql),
            ("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED", Mysql),
            ("SET client_encoding TO 'UTF8'", Postgres),
            ("SET SESSION sql_mode = 'STRICT_TRANS_TABLES,NO_ZERO_DATE', time_zone = '+02:00', autocommit = 0", Mysql),
            ("SET search_path = 'Shop', public", Postgres),
            ("SET TIME ZONE 'Europe/Berlin'", Postgres),
            ("SET SESSION timezone TO 'America/Argentina/Buenos_Aires'", Postgres),
            ("SET time_zone = 'Etc/UTC'", Mysql),
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
            ("SET TIME ZONE 'SECRET/Berlin'", Postgres),
            ("SET time_zone = 'Europe/SECRET7'", Mysql),
            ("CREATE USER 'SECRET'@'SECRET' IDENTIFIED BY 'SECRET'", Mysql),
            ("SET PASSWORD FOR 'SECRET' = PASSWORD('SECRET')", Mysql),
            ("SET PASSWORD = '!@#$'", Mysql),
            ("SET PASSWORD = '+7391'", Mysql),
            ("CREATE USER 'SECRET' IDENTIFIED BY 'SECRET'", Mysql),
            ("CREATE USER SECRET@SECRET.corp IDENTIFIED BY 73738", Mysql),
            ("GRANT ALL ON *.* TO `SECRET`@`10.77.66.55`", Mysql),
            ("ALTER ROLE app PASSWORD 'SECRET'", Postgres),
            ("ALTER ROLE r SET app.token = SECRET", Postgres),
            ("SET application_name = SECRET", Postgres),
            ("SET LOCAL \"app.user\" = SECRET", Postgres),
            ("SET ROLE SECRET", Postgres),
            ("SET SESSION AUTHORIZATION SECRET", Postgres),
            ("BEGIN; SET app.token = SECRET; COMMIT", Postgres),
            ("SET search_path TO public; SELECT * FROM u WHERE password = 'SECRET'", Postgres),
            ("SET search_path TO public; SELECT $1", Postgres),
            ("INSERT INTO c VALUES ('Pat O'SECRET', 'x'SECRET')", Mysql),
            ("SELECT 12345SECRET FROM t", Mysql),
            ("SELECT 1e73731", Mysql),
            ("SELECT 1 /*!99999 SECRET */", Mysql),
            ("COPY t FROM '/home/SECRET'", Postgres),
        ] {
            assert_eq!(hashed(text, dialect), None, "{text}");
        }
    }

    #[test]
    fn a_list_of_very_many_numbers_is_no_list_of_places() {
        let list = |count: u32| (0..count).map(|number| number.to_string()).collect::<Vec<_>>().join(",");
        let found = hashed(&format!("SELECT * FROM t WHERE a IN ({})", list(20_000)), Mysql).unwrap();
        assert!(!found.contains("73,74,75"), "they are values");
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
