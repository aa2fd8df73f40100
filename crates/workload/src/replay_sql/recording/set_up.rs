//! What a session has set and prepared before the place at which a part of it begins: without that, the part does something else.
//!
//! In: the shapes of a log, and the statements of a session in their order. Out: what each shape leaves behind in its session, and the last
//! statements that left what is there. Limits: SET and RESET, but for those of one transaction or statement, and PREPARE as text. What a function
//! sets (`set_config`) is not known, and what was set in a transaction counts although that was rolled back.

use super::records::Record;
use crate::replay_sql::wanted::LogDialect;
use sql::Token;

/// What the names of prepared statements begin with here: a setting has no blank before its name.
const PREPARED: &str = " ";

/// What a statement leaves behind in its session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum SetUp {
    Nothing,
    /// What has this name from now on: a setting, or a prepared statement.
    Leaves(String),
    /// What has this name is gone.
    Forgets(String),
    /// All that was prepared is gone.
    ForgetsPrepared,
    ForgetsAll,
}

impl SetUp {
    /// What `text` leaves behind, which was split into `tokens`. Of a text of several statements that is not known.
    pub(super) fn of(text: &str, tokens: &[Token], dialect: LogDialect) -> SetUp {
        let is_word = |at: usize, words: &[&str]| tokens.get(at).is_some_and(|token| token.is_word(text, words));
        let prepared = |at: usize| {
            let name = tokens.get(at).map_or("", |token| token.text(text));
            format!("{PREPARED}{}", name.to_lowercase())
        };
        if tokens.iter().any(|token| token.is_sign(text, ";")) {
            return SetUp::Nothing;
        }
        // DEALLOCATE q, and DEALLOCATE PREPARE q.
        let behind = 1 + usize::from(is_word(1, &["prepare"]));
        if is_word(0, &["prepare"]) && !is_word(1, &["transaction"]) {
            SetUp::Leaves(prepared(1))
        } else if is_word(0, &["deallocate"]) && is_word(behind, &["all"]) {
            SetUp::ForgetsPrepared
        } else if is_word(0, &["deallocate"]) || is_word(0, &["drop"]) && behind == 2 {
            SetUp::Forgets(prepared(behind))
        } else if is_word(0, &["discard"]) && is_word(1, &["all"]) {
            SetUp::ForgetsAll
        } else if is_word(0, &["set", "reset"]) {
            set_by(text, tokens, dialect)
        } else {
            SetUp::Nothing
        }
    }
}

/// What SET or RESET sets: the name before `=` or TO, or all that it says if these are several.
fn set_by(text: &str, tokens: &[Token], dialect: LogDialect) -> SetUp {
    let is_word = |at: usize, words: &[&str]| tokens.get(at).is_some_and(|token| token.is_word(text, words));
    // In MySQL and MariaDB LOCAL is another word for SESSION.
    let is_passing = is_word(1, &["transaction", "constraints", "statement"])
        || dialect == LogDialect::Postgres && is_word(1, &["local"]);
    if is_passing {
        return SetUp::Nothing;
    }
    let begin = 1 + usize::from(is_word(1, &["session", "local"]));
    let assigns = |at: &usize| tokens[*at].is_sign(text, "=") || tokens[*at].is_sign(text, ":=");
    let sets_several = (begin..tokens.len()).filter(assigns).count() > 1;
    let ends_name = |at: &usize| !sets_several && (assigns(at) || is_word(*at, &["to"]));
    let end = (begin..tokens.len()).find(ends_name).unwrap_or(tokens.len());
    let named = tokens.get(begin..end).unwrap_or_default();
    match (named.first(), named.last()) {
        (Some(first), Some(last)) => SetUp::Leaves(text[first.start..last.end].to_lowercase()),
        _ => SetUp::Nothing,
    }
}

/// What a session has set and prepared so far.
#[derive(Default)]
pub(super) struct LeftBehind<'a> {
    /// What is there by its name, with the statement that left it, in the order of these.
    there: Vec<(&'a str, Record)>,
}

impl<'a> LeftBehind<'a> {
    /// Follows the next statement of the session.
    pub(super) fn follow(&mut self, set_up: &'a SetUp, record: Record) {
        match set_up {
            SetUp::Nothing => {}
            SetUp::Leaves(name) => {
                self.there.retain(|(known, _)| known != name);
                self.there.push((name.as_str(), record));
            }
            SetUp::Forgets(name) => self.there.retain(|(known, _)| known != name),
            SetUp::ForgetsPrepared => self.there.retain(|(known, _)| !known.starts_with(PREPARED)),
            SetUp::ForgetsAll => self.there.clear(),
        }
    }

    /// How many statements left what is there.
    pub(super) fn count(&self) -> u32 {
        self.there.len() as u32
    }

    /// The statements that left what is there.
    pub(super) fn records(&self) -> impl Iterator<Item = Record> + '_ {
        self.there.iter().map(|(_, record)| *record)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set_up(dialect: LogDialect, text: &str) -> SetUp {
        SetUp::of(text, &sql::tokens(text, dialect.sql()).unwrap(), dialect)
    }

    #[test]
    fn what_stays_in_a_session_has_a_name() {
        let leaves = |dialect, text| match set_up(dialect, text) {
            SetUp::Leaves(name) => name,
            other => format!("{other:?}"),
        };
        for (text, name) in [
            ("SET search_path TO shop, public", "search_path"),
            ("set SESSION Search_Path = 'shop'", "search_path"),
            ("RESET search_path", "search_path"),
            ("SET TIME ZONE 'UTC'", "time zone 'utc'"),
            ("PREPARE Q AS SELECT $1", " q"),
            ("SET LOCAL search_path TO shop", "Nothing"),
            ("SET TRANSACTION READ ONLY", "Nothing"),
            ("PREPARE TRANSACTION 'a'", "Nothing"),
            ("SET a = 1; SET b = 2", "Nothing"),
            ("SELECT 1", "Nothing"),
            ("SET", "Nothing"),
        ] {
            assert_eq!(leaves(LogDialect::Postgres, text), name, "{text}");
        }
        for (text, name) in [
            ("SET NAMES utf8mb4", "names utf8mb4"),
            ("SET @a := 1", "@a"),
            ("SET LOCAL sql_mode = ''", "sql_mode"),
            ("SET a = 1, b = 2", "a = 1, b = 2"),
            ("SET STATEMENT max_statement_time = 1 FOR SELECT 1", "Nothing"),
        ] {
            assert_eq!(leaves(LogDialect::Mysql, text), name, "{text}");
        }
    }

    #[test]
    fn the_last_statement_of_each_name_counts_until_it_is_taken_back() {
        let left = |texts: &[&str]| -> Vec<u32> {
            let set_ups: Vec<SetUp> = texts.iter().map(|text| set_up(LogDialect::Postgres, text)).collect();
            let mut behind = LeftBehind::default();
            for (text_bytes, it) in (0..).zip(&set_ups) {
                behind.follow(it, Record { text_bytes, ..Record::default() });
            }
            behind.records().map(|record| record.text_bytes).collect()
        };
        assert_eq!(left(&["SET a = 1", "PREPARE q AS SELECT 1", "SET a = 2", "SELECT 1"]), [1, 2]);
        assert_eq!(left(&["PREPARE q AS SELECT 1", "DEALLOCATE q", "PREPARE r AS SELECT 1"]), [2]);
        assert_eq!(left(&["SET a = 1", "PREPARE q AS SELECT 1", "DEALLOCATE PREPARE ALL"]), [0]);
        assert!(left(&["SET a = 1", "PREPARE q AS SELECT 1", "DISCARD ALL"]).is_empty());
    }
}
