//! What a statement without its values does, by its words.
//!
//! In: a text as servers keep it: with `?` or `$1` for values, perhaps cut off. Out: whether it reads or writes. Limits: a function or a
//! procedure that writes counts as what its statement says.

use super::details::shape_in_line;
use super::ledger::StatementText;
use model::{OpClass, STATEMENT_CHARS_MAX};
use sql::Dialect;

/// Reading words, and writing ones.
const READS: [&str; 5] = ["SELECT", "WITH", "VALUES", "TABLE", "FETCH"];
const WRITES: [&str; 8] = ["INSERT", "UPDATE", "DELETE", "REPLACE", "MERGE", "COPY", "LOAD", "TRUNCATE"];

/// The kinds of statement that the operations of an observed point are, in their order.
pub(super) const KINDS: [(&str, OpClass); 5] = [
    ("select", OpClass::Read),
    ("insert", OpClass::Write),
    ("update", OpClass::Write),
    ("delete", OpClass::Write),
    ("other", OpClass::ReadWrite),
];

/// Statements that begin with one of these are kept by all servers without their values.
const NORMALISED: [&str; 9] = ["SELECT", "WITH", "VALUES", "TABLE", "INSERT", "UPDATE", "DELETE", "REPLACE", "MERGE"];

/// `text` in one line, as it is kept, with what it does. Of all but the usual statements PostgreSQL keeps the values, passwords among them, and of
/// all the comments, in which clients write who asks: they are left out here.
pub(super) fn described(text: &str, dialect: Dialect) -> StatementText {
    // PostgreSQL keeps the mark, too.
    let text = sql::without_own_mark(text);
    let words: Vec<&str> = text.split_whitespace().collect();
    let is_normalised = first_word(&words).is_some_and(|first| NORMALISED.contains(&first.as_str()));
    let has_comment = text.contains("/*") || text.contains("--");
    let line = match !has_comment && (is_normalised || !text.contains(['\'', '"', '$'])) {
        true => words.join(" "),
        false => shape_in_line(text, dialect, STATEMENT_CHARS_MAX),
    };
    let words: Vec<&str> = line.split_whitespace().collect();
    StatementText { class: class_of(&words), text: line.chars().take(STATEMENT_CHARS_MAX).collect() }
}

fn class_of(words: &[&str]) -> Option<OpClass> {
    let first = first_word(words)?;
    let writes = |word: &&str| WRITES[..3].contains(&word.trim_start_matches('(').to_ascii_uppercase().as_str());
    if first == "WITH" && words.iter().any(writes) {
        return Some(OpClass::Write);
    }
    let has = |all: &[&str]| all.contains(&first.as_str());
    if has(&READS) { Some(OpClass::Read) } else { has(&WRITES).then_some(OpClass::Write) }
}

/// The place among [`KINDS`] of the statement `text`.
pub(super) fn kind_of(text: &str) -> usize {
    let words: Vec<&str> = text.split_whitespace().collect();
    match (class_of(&words), first_word(&words).as_deref()) {
        (Some(OpClass::Read), _) => 0,
        (Some(_), Some("UPDATE")) => 2,
        (Some(_), Some("DELETE" | "TRUNCATE")) => 3,
        (Some(_), _) => 1,
        (None, _) => KINDS.len() - 1,
    }
}

/// Whether the statement `known`, as a server keeps it, sets what `setting` sets. The value is left out: servers write it in many ways.
pub(super) fn sets_same(known: &str, setting: &str) -> bool {
    let target = |text: &str| -> String {
        let text = text.split('=').next().unwrap_or_default();
        text.chars().filter(|c| !c.is_whitespace() && *c != '`').flat_map(char::to_lowercase).collect()
    };
    target(known) == target(setting)
}

fn first_word(words: &[&str]) -> Option<String> {
    let first = words.iter().map(|word| word.trim_start_matches('(')).find(|word| !word.is_empty())?;
    Some(first.chars().take_while(char::is_ascii_alphabetic).collect::<String>().to_ascii_uppercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_are_known_by_their_first_word_and_with_by_what_follows() {
        let kinds = |texts: &[&str]| texts.iter().map(|text| KINDS[kind_of(text)].0).collect::<Vec<_>>();
        let reads = ["SELECT `c` FROM `t`", "( select 1 )", "with a as (select 1) select 2", "VALUES (?)"];
        assert_eq!(kinds(&reads), ["select"; 4]);
        assert_eq!(
            kinds(&["REPLACE INTO t", "COPY t FROM stdin", "update t set a = $1", "DELETE FROM t", "TRUNCATE t"]),
            ["insert", "insert", "update", "delete", "delete"]
        );
        assert_eq!(kinds(&["BEGIN", "COMMIT", "SET a = ?", "", "SELECTED"]), ["other"; 5]);
        let moved = described("WITH a AS (DELETE FROM t RETURNING *) SELECT count(*) FROM a", Dialect::Postgres);
        assert_eq!(moved.class, Some(OpClass::Write));
    }

    #[test]
    fn a_setting_is_known_whatever_its_value_and_however_the_server_writes_it() {
        let zone = "SET SESSION time_zone = 'SYSTEM'";
        assert!(sets_same("SET SESSION `time_zone` = ?", zone));
        assert!(sets_same("SET statement_timeout = $1", "SET statement_timeout = '2s'"));
        assert!(sets_same("SET SESSION TRANSACTION READ ONLY", "SET SESSION TRANSACTION READ ONLY"));
        assert!(!sets_same("SET SESSION `sql_mode` = ?", zone) && !sets_same("SELECT 1", zone));
    }

    #[test]
    fn a_text_is_one_line_of_a_bearable_length() {
        let found = described(&format!("SELECT\n  a,\tb {}", "é".repeat(3_000)), Dialect::Postgres);
        assert!(found.text.starts_with("SELECT a, b é") && found.text.chars().count() == STATEMENT_CHARS_MAX);
    }

    #[test]
    fn what_servers_keep_with_its_values_loses_them() {
        for text in [
            "create role r1 password 'canary'",
            "ALTER ROLE r1 PASSWORD E'can\\'ary'",
            "alter role r1 password $q$canary$q$",
            "alter role r1 password $$canary$$",
            "alter role r1 password U&'canary'",
            "do $$ begin perform 'canary'; end $$",
            "comment on table t is 'canary",
            "COPY (SELECT * FROM t WHERE a = 'canary') TO STDOUT",
        ] {
            let kept = described(text, Dialect::Postgres).text;
            assert!(!kept.contains("canary") && !kept.contains("ary"), "{text}: {kept}");
        }
        let told =
            described("/* canary */ SELECT a FROM t WHERE b = $1 /*user='can''ary'*/ -- canary", Dialect::Postgres);
        assert_eq!((told.text.as_str(), told.class), ("select a from t where b = ?", Some(OpClass::Read)));
        assert_eq!(described("BEGIN", Dialect::Postgres).text, "BEGIN");
        let own = described("/* plimsoll */ SELECT key, value FROM pg_stat_wal v", Dialect::Postgres).text;
        assert_eq!(own, "SELECT key, value FROM pg_stat_wal v", "by which the watch knows it");
        assert_eq!(described("SELECT $1 FROM \"T\"", Dialect::Postgres).text, "SELECT $1 FROM \"T\"");
    }
}
