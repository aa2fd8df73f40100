//! Which statement of another session each statement comes after, because both name one row.
//!
//! In: the statements of a log in its order, with the rows that they name. Out: the end of the transaction of the last write of such a row, if it
//! had ended before the statement began; else of what writes that write itself, which is before it in the log and so had the lock first. Limits:
//! all that is waited for is before in the log, so that one pass is enough and no statement waits for one that waits for it. What a session has
//! locked in its open transaction it has, and waits for nobody. Of [`RECENT_MAX`] rows at least the last writes are known, and of twice as many at
//! most: 50 MB. A log that does not say how long statements took, or has whole seconds only, shows by its order what came first.

use super::records::StatementPlace;
use crate::replay_sql::answer::RecordedAnswer;
use crate::replay_sql::wanted::LogDialect;
use sql::{Behind, Effect, NAMED_MAX, Token, TransactionStep};
use std::collections::{BTreeSet, HashMap};
use std::hash::{BuildHasher, Hash, RandomState};

/// So many rows are known before the oldest are forgotten.
const RECENT_MAX: usize = 200_000;

/// So many rows that one transaction has locked are known: more are those of a job, which meets few others.
const HELD_MAX: usize = 1_000;

/// Logs have times in milliseconds, or say how long a statement took more exactly than when it ended. What is before in the log and ended so
/// shortly after a statement began may have ended before it.
const RESOLUTION_US: i64 = 1_000;

/// A statement as it is looked at.
pub(super) struct SeenStatement<'a> {
    pub text: &'a str,
    pub tokens: &'a [Token],
    pub effect: Effect,
    pub session: u32,
    pub schema: &'a str,
    pub began_us: i64,
    pub took_us: Option<u64>,
    /// Whether the times of the log have fractions of seconds.
    pub has_fractions: bool,
    pub answer: RecordedAnswer,
    /// The ids of the rows that it inserted, behind the name of their column.
    pub made: &'a str,
}

/// When something ended, and by which statement.
#[derive(Clone, Copy, Debug)]
struct End {
    at_us: i64,
    place: StatementPlace,
}

/// A write, and the transaction that it is of; outside of any it is one of its own.
#[derive(Clone, Copy, Debug)]
struct Write {
    transaction: u32,
    end: End,
}

/// The writes of one row.
#[derive(Clone, Copy, Debug)]
struct RowWrites {
    last: Write,
    /// The last one whose transaction had ended before `last` began.
    before: Option<Write>,
}

/// What is known of a session.
struct SessionState {
    statements: u32,
    /// The transaction that is open.
    open: Option<u32>,
    /// The rows that it has written or locked.
    held: BTreeSet<u64>,
    /// The transaction that its last statement has ended.
    ended_last: Option<u32>,
    autocommits: bool,
}

/// What a statement comes after, and in what.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct RowPlace {
    /// The statement that it comes after.
    pub after: Option<StatementPlace>,
    /// Whether its session was in a transaction, which may have locked rows.
    pub is_in_transaction: bool,
}

/// The last writes of rows, and the sessions that they are of.
pub(super) struct RowOrder {
    dialect: LogDialect,
    hasher: RandomState,
    /// By hashes of their tables and values.
    rows: Recent<u64, RowWrites>,
    /// The ends of transactions.
    ends: Recent<u32, End>,
    sessions: Vec<SessionState>,
    transactions: u32,
    /// Whether the log says in lines of their own when statements ended.
    tells_ends: bool,
}

impl RowOrder {
    pub(super) fn new(dialect: LogDialect) -> RowOrder {
        RowOrder {
            dialect,
            hasher: RandomState::default(),
            rows: Recent::default(),
            ends: Recent::default(),
            sessions: Vec::new(),
            transactions: 0,
            tells_ends: false,
        }
    }

    /// Takes up the next statement of the log, and returns the one that it comes after: of several, the one that ended last.
    pub(super) fn add(&mut self, seen: &SeenStatement<'_>) -> RowPlace {
        let place = self.next_place(seen.session);
        let is_in_transaction = self.sessions[seen.session as usize].open.is_some();
        if seen.effect == Effect::OfSession {
            self.follow_session(seen, place);
            return RowPlace { after: None, is_in_transaction };
        }
        let transaction = self.transaction_of(seen, place);
        let rows = self.rows_of(seen);
        let after = rows.iter().filter_map(|row| self.end_before(*row, seen)).max_by_key(|end| end.at_us);
        if seen.effect == Effect::Writes {
            self.hold_rows(seen.session, &rows);
            let write = Write { transaction, end: End { at_us: end_of(seen, seen.began_us), place } };
            rows.into_iter().for_each(|row| self.note_write(row, write, seen.began_us));
        }
        RowPlace { after: after.map(|end| end.place), is_in_transaction }
    }

    /// The open transaction of `session`, if it has one, keeps the locks of `rows` up to its end.
    fn hold_rows(&mut self, session: u32, rows: &[u64]) {
        let state = &mut self.sessions[session as usize];
        if state.open.is_some() && state.held.len() < HELD_MAX {
            state.held.extend(rows);
        }
    }

    /// The last statement of `session` ended at `at_us`.
    pub(super) fn end_last_of(&mut self, session: u32, at_us: i64) {
        self.tells_ends = true;
        let Some(state) = self.sessions.get(session as usize) else { return };
        let place = StatementPlace { session, nth: state.statements.saturating_sub(1) };
        if let Some(transaction) = state.ended_last {
            self.ends.insert(transaction, End { at_us, place });
        }
    }

    fn next_place(&mut self, session: u32) -> StatementPlace {
        let number = session as usize;
        while self.sessions.len() <= number {
            self.sessions.push(SessionState {
                statements: 0,
                open: None,
                held: BTreeSet::new(),
                ended_last: None,
                autocommits: true,
            });
        }
        let state = &mut self.sessions[number];
        state.ended_last = None;
        let nth = state.statements;
        state.statements += 1;
        StatementPlace { session, nth }
    }

    fn next_transaction(&mut self) -> u32 {
        self.transactions += 1;
        self.transactions
    }

    /// The transaction that a statement is of. One outside of any has one of its own, which ends with it.
    fn transaction_of(&mut self, seen: &SeenStatement<'_>, place: StatementPlace) -> u32 {
        let number = seen.session as usize;
        if let Some(open) = self.sessions[number].open {
            return open;
        }
        let next = self.next_transaction();
        if !self.sessions[number].autocommits {
            self.sessions[number].open = Some(next);
        } else if seen.effect == Effect::Writes {
            self.end_transaction(next, seen, place);
        }
        next
    }

    fn end_transaction(&mut self, transaction: u32, seen: &SeenStatement<'_>, place: StatementPlace) {
        let unknown_us = if self.tells_ends { i64::MAX } else { seen.began_us };
        self.ends.insert(transaction, End { at_us: end_of(seen, unknown_us), place });
        self.sessions[seen.session as usize].ended_last = Some(transaction);
    }

    /// A statement that may begin or end a transaction.
    fn follow_session(&mut self, seen: &SeenStatement<'_>, place: StatementPlace) {
        let change = SessionChange::of(seen.text, seen.tokens);
        let number = seen.session as usize;
        if change == SessionChange::None {
            return;
        }
        if change != SessionChange::CommitsNever
            && let Some(open) = self.sessions[number].open.take()
        {
            self.sessions[number].held.clear();
            self.end_transaction(open, seen, place);
        }
        match change {
            SessionChange::Begins => {
                let next = self.next_transaction();
                self.sessions[number].open = Some(next);
            }
            SessionChange::CommitsAlways => self.sessions[number].autocommits = true,
            SessionChange::CommitsNever => self.sessions[number].autocommits = false,
            SessionChange::Ends | SessionChange::None => {}
        }
    }

    /// Hashes of the rows that a statement names: first of those that it made itself.
    fn rows_of(&self, seen: &SeenStatement<'_>) -> Vec<u64> {
        let Some(named) = sql::named_rows(seen.text, seen.tokens, self.dialect.sql()) else { return Vec::new() };
        let mut rows = Vec::new();
        for (nth, it) in named.tables.into_iter().enumerate() {
            let schema = match (self.dialect, it.schema) {
                (LogDialect::Mysql, Some(schema)) => schema,
                // Of PostgreSQL it is the database, and the schema of a table may be written or not.
                _ => seen.schema.to_lowercase(),
            };
            let made = if nth == 0 { made_ids(seen) } else { Vec::new() };
            let values = made.iter().chain(&named.values).take(NAMED_MAX);
            rows.extend(values.map(|value| self.hasher.hash_one((&schema, &it.table, value))));
        }
        rows
    }

    /// The end of the last write of `row` that a statement comes after; `None` if its own session has the lock.
    fn end_before(&self, row: u64, seen: &SeenStatement<'_>) -> Option<End> {
        let writes = self.rows.get(&row).filter(|writes| writes.last.end.place.session != seen.session)?;
        if self.sessions[seen.session as usize].held.contains(&row) {
            return None;
        }
        let before = writes.before.filter(|write| write.end.place.session != seen.session);
        self.end_of_write(&writes.last, seen).or_else(|| self.end_of_write(&before?, seen))
    }

    /// The end of the transaction of `write` if it had ended before the statement began. Else of what writes the end of `write` itself, even if both
    /// overlapped: it is before in the log, so that it had the lock first, for which the statement then waits as it did.
    fn end_of_write(&self, write: &Write, seen: &SeenStatement<'_>) -> Option<End> {
        let by_us = seen.began_us.saturating_add(RESOLUTION_US);
        let of_transaction = self.ends.get(&write.transaction).filter(|end| end.at_us <= by_us).copied();
        of_transaction.or_else(|| (seen.effect == Effect::Writes).then_some(write.end))
    }

    fn note_write(&mut self, row: u64, last: Write, began_us: i64) {
        let has_ended = |write: &Write| self.ends.get(&write.transaction).is_some_and(|end| end.at_us <= began_us);
        let before =
            self.rows.get(&row).and_then(|known| if has_ended(&known.last) { Some(known.last) } else { known.before });
        self.rows.insert(row, RowWrites { last, before });
    }
}

/// When a statement ended; at `unknown_us` if it is not known. Within a second of a log in whole seconds its order counts.
fn end_of(seen: &SeenStatement<'_>, unknown_us: i64) -> i64 {
    let at_us = seen.took_us.map_or(unknown_us, |took_us| seen.began_us.saturating_add_unsigned(took_us));
    if seen.has_fractions { at_us } else { at_us.div_euclid(1_000_000).saturating_mul(1_000_000) }
}

/// The ids that the server made for the rows of a statement.
fn made_ids(seen: &SeenStatement<'_>) -> Vec<String> {
    let first = seen.answer.made_id.filter(|id| *id > 0);
    let many = seen.answer.affected.unwrap_or(1).clamp(1, NAMED_MAX as u64);
    let counted = first.into_iter().flat_map(|id| (id..id.saturating_add(many)).map(|id| id.to_string()));
    counted.chain(seen.made.split('\t').skip(1).map(str::to_owned)).take(NAMED_MAX).collect()
}

/// What a statement does to the transactions of its session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SessionChange {
    None,
    /// It begins one, and ends the one before.
    Begins,
    /// It ends the one that is open.
    Ends,
    /// From now on each statement is committed, and so is what is open.
    CommitsAlways,
    /// From now on the next statement begins one.
    CommitsNever,
}

impl SessionChange {
    pub(super) fn of(text: &str, tokens: &[Token]) -> SessionChange {
        match TransactionStep::of(text, tokens) {
            TransactionStep::Begins
            | TransactionStep::Commits(Behind::Another)
            | TransactionStep::RollsBack(Behind::Another) => SessionChange::Begins,
            TransactionStep::Commits(Behind::Nothing)
            | TransactionStep::RollsBack(Behind::Nothing)
            | TransactionStep::EndsPrepared => SessionChange::Ends,
            _ if tokens.first().is_some_and(|first| first.is_word(text, &["set"])) => autocommit_set(text, tokens),
            _ => SessionChange::None,
        }
    }
}

/// What `SET autocommit = 0`, in whichever words, changes.
fn autocommit_set(text: &str, tokens: &[Token]) -> SessionChange {
    let written = |at: usize| tokens.get(at).map_or_else(String::new, |token| token.text(text).to_lowercase());
    // `autocommit`, `@@autocommit`, and `@@session.autocommit` in one token or in three.
    let is_set = |at: &usize| written(*at).trim_start_matches("@@").rsplit('.').next() == Some("autocommit");
    let Some(at) = (1..tokens.len()).find(is_set) else { return SessionChange::None };
    match written(at + 2).as_str() {
        "1" | "on" | "true" => SessionChange::CommitsAlways,
        "0" | "off" | "false" => SessionChange::CommitsNever,
        _ => SessionChange::None,
    }
}

/// What was put into it last.
struct Recent<K, V> {
    young: HashMap<K, V>,
    old: HashMap<K, V>,
}

impl<K, V> Default for Recent<K, V> {
    fn default() -> Recent<K, V> {
        Recent { young: HashMap::new(), old: HashMap::new() }
    }
}

impl<K: Eq + Hash, V> Recent<K, V> {
    fn get(&self, key: &K) -> Option<&V> {
        self.young.get(key).or_else(|| self.old.get(key))
    }

    fn insert(&mut self, key: K, value: V) {
        if self.young.len() >= RECENT_MAX {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(key, value);
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Copies, RecordingBuilder, SqlRecording};
    use super::*;
    use crate::replay_sql::LogWanted;
    use crate::replay_sql::log_taker::{FoundStatement, LogTaker};
    use model::Nanos;
    use std::sync::Arc;

    const MS: i64 = 1_000;

    fn builder(dialect: LogDialect) -> RecordingBuilder {
        RecordingBuilder::new(dialect, &LogWanted { writes: true, ..LogWanted::default() })
    }

    /// What a log has of statements with the milliseconds at which they began and ended, their sessions and texts, in the order of their ends.
    fn recorded(found: &[(i64, i64, &str, &str)]) -> SqlRecording {
        let mut builder = builder(LogDialect::Mysql);
        for (began, ended, session, text) in found {
            let (began_us, took_us) = (began * MS + 1, Some(((ended - began) * MS) as u64));
            let found =
                FoundStatement { began_us, took_us, session, schema: "shop", text, ..FoundStatement::default() };
            builder.add(&found).unwrap();
        }
        builder.finish(false).unwrap()
    }

    /// The text of each statement that comes after another, and the text of that one.
    fn pairs(recording: &SqlRecording) -> Vec<(String, String)> {
        let all: Vec<_> = recording.statements().map(Result::unwrap).collect();
        let text = |nth: usize| recording.text(&all[nth]).unwrap();
        let pair = |nth: usize| {
            let after = all[nth].after?;
            let mut of_session = (0..all.len()).filter(|nth| all[*nth].session == after.session);
            Some((text(nth), text(of_session.nth(after.nth as usize).unwrap())))
        };
        (0..all.len()).filter_map(pair).collect()
    }

    fn is_after(found: &[(i64, i64, &str, &str)], expected: &[(&str, &str)]) {
        let expected: Vec<(String, String)> =
            expected.iter().map(|(one, other)| ((*one).to_owned(), (*other).to_owned())).collect();
        assert_eq!(pairs(&recorded(found)), expected, "{found:?}");
    }

    const INSERT: &str = "INSERT INTO t (id, c) VALUES (5, 1)";
    const UPDATE: &str = "UPDATE shop.T SET c = 2 WHERE id = '5'";
    const READ: &str = "SELECT c FROM `t` WHERE id IN (4, 5)";

    #[test]
    fn a_statement_comes_after_the_last_write_of_its_row_that_had_ended_before() {
        is_after(&[(0, 1, "a", INSERT), (1, 2, "b", UPDATE), (3, 4, "c", READ)], &[(UPDATE, INSERT), (READ, UPDATE)]);
        is_after(&[(0, 4, "a", INSERT), (2, 5, "b", READ)], &[]);
        // Of an end within a millisecond the order of the log says more.
        is_after(&[(0, 3, "a", INSERT), (2, 4, "b", READ)], &[(READ, INSERT)]);
        // Of two writes that overlapped, the one that ended first had the lock.
        is_after(&[(0, 4, "a", INSERT), (2, 5, "b", UPDATE)], &[(UPDATE, INSERT)]);
        let joined = "SELECT u.c FROM u JOIN t ON t.id = u.t_id WHERE t.id = 5 AND u.state = 'new'";
        is_after(&[(0, 1, "a", INSERT), (3, 4, "b", joined)], &[(joined, INSERT)]);
        is_after(&[(0, 1, "a", INSERT), (1, 2, "a", UPDATE), (3, 4, "a", READ)], &[]);
        is_after(&[(0, 1, "a", READ), (1, 2, "b", UPDATE)], &[]);
        for other in ["UPDATE t SET c = 5 WHERE id = 6", "UPDATE u SET c = 2 WHERE id = 5", "UPDATE t SET c = 5"] {
            is_after(&[(0, 1, "a", INSERT), (1, 2, "b", other)], &[]);
        }
        // A write that has not ended does not hide the one before it.
        is_after(&[(0, 1, "a", INSERT), (2, 9, "b", UPDATE), (3, 12, "c", READ)], &[(UPDATE, INSERT), (READ, INSERT)]);
    }

    #[test]
    fn what_is_in_a_transaction_has_ended_with_it_and_a_write_waits_for_its_lock() {
        let begun = |begin, end, text| [(0, 0, "a", begin), (1, 2, "a", INSERT), (5, 6, "a", end), (7, 8, "b", text)];
        is_after(&begun("BEGIN", "COMMIT", READ), &[(READ, "COMMIT")]);
        is_after(&begun("START TRANSACTION", "ROLLBACK", UPDATE), &[(UPDATE, "ROLLBACK")]);
        is_after(&begun("SET autocommit = 0", "COMMIT", UPDATE), &[(UPDATE, "COMMIT")]);
        is_after(&begun("SET @@session.autocommit=OFF", "SET autocommit=1", READ), &[(READ, "SET autocommit=1")]);
        is_after(&begun("BEGIN", "ROLLBACK TO SAVEPOINT s", READ), &[]);
        is_after(&begun("BEGIN", "ROLLBACK TO SAVEPOINT s", UPDATE), &[(UPDATE, INSERT)]);
        let locked = "SELECT c FROM t WHERE id = 5 FOR UPDATE";
        let open = |text| [(0, 0, "a", "BEGIN"), (1, 2, "a", INSERT), (4, 5, "b", text), (3, 6, "a", "COMMIT")];
        is_after(&open(locked), &[(locked, INSERT)]);
        is_after(&open(READ), &[]);
        is_after(
            &[(0, 0, "a", "BEGIN"), (1, 2, "a", INSERT), (3, 4, "a", "COMMIT AND CHAIN"), (5, 6, "b", READ)],
            &[(READ, "COMMIT AND CHAIN")],
        );
    }

    #[test]
    fn of_locks_that_were_waited_for_at_once_the_first_in_the_log_is_the_first() {
        let (lock, set) = ("SELECT c FROM t WHERE id = 5 FOR UPDATE", "UPDATE t SET c = 3 WHERE id = 5");
        let of = |session: &'static str, at: i64| [(at, at + 1, session, set), (at + 1, at + 2, session, "COMMIT")];
        let begins = [(0, 0, "a", "BEGIN"), (0, 0, "b", "BEGIN"), (1, 2, "a", lock)];
        // `b` waited for the lock of `a`, from before its UPDATE to behind its COMMIT.
        let log = [&begins[..], &of("a", 5)[..], &[(3, 8, "b", lock)][..], &of("b", 9)[..]].concat();
        is_after(&log, &[(lock, set)]);
        // A general log has the line of `b` while `a` has the lock: nobody waits for who waits for his lock.
        let mut builder = builder(LogDialect::Mysql);
        for (began_us, (session, text)) in
            (1..).zip([("a", "BEGIN"), ("a", lock), ("b", lock), ("a", set), ("a", READ), ("a", "COMMIT"), ("b", set)])
        {
            builder.add(&FoundStatement { began_us, session, text, ..FoundStatement::default() }).unwrap();
        }
        let recording = builder.finish(false).unwrap();
        let in_transaction = recording.statements().filter(|it| it.as_ref().unwrap().is_in_transaction).count();
        assert_eq!(in_transaction, 4);
        let one = |text: &str, after: &str| (text.to_owned(), after.to_owned());
        assert_eq!(pairs(&recording), [one(lock, lock), one(set, "COMMIT")]);
    }

    #[test]
    fn ids_that_were_made_are_those_of_rows() {
        let after = |dialect, answer: RecordedAnswer, made: &str, read: &str| {
            let mut builder = builder(dialect);
            let text = "INSERT INTO t (c) VALUES (1), (2)";
            let found = FoundStatement { began_us: 1, session: "a", text, answer, made, ..FoundStatement::default() };
            builder.add(&found).unwrap();
            let (began_us, text) = (9, read);
            builder.add(&FoundStatement { began_us, session: "b", text, ..FoundStatement::default() }).unwrap();
            pairs(&builder.finish(false).unwrap()).len()
        };
        let answer = RecordedAnswer { made_id: Some(7), affected: Some(2), ..RecordedAnswer::default() };
        let read = ["SELECT c FROM t WHERE id = 8", "SELECT c FROM t WHERE id = 9"];
        assert_eq!(read.map(|read| after(LogDialect::Mysql, answer, "", read)), [1, 0]);
        let none = RecordedAnswer::default();
        assert_eq!(read.map(|read| after(LogDialect::Postgres, none, "id\t7\t8", read)), [1, 0]);
    }

    #[test]
    fn an_end_in_a_line_of_its_own_and_the_order_of_whole_seconds_count() {
        let with_ends = |found: &[(&str, &str, i64)]| {
            let mut builder = builder(LogDialect::Mysql);
            for (nth, (session, text, end_ms)) in found.iter().enumerate() {
                let began_us = nth as i64 * 10 * MS + 1;
                builder.add(&FoundStatement { began_us, session, text, ..FoundStatement::default() }).unwrap();
                builder.end_last_of(session, *end_ms * MS, false).unwrap();
            }
            pairs(&builder.finish(false).unwrap()).len()
        };
        assert_eq!(with_ends(&[("a", UPDATE, 5), ("b", UPDATE, 15), ("a", UPDATE, 25)]), 2);
        assert_eq!(with_ends(&[("a", UPDATE, 5), ("b", UPDATE, 25), ("a", READ, 30)]), 1);
        assert_eq!(with_ends(&[("a", UPDATE, 5), ("b", UPDATE, 25), ("a", UPDATE, 30)]), 2);
        assert_eq!(with_ends(&[("a", "BEGIN", 5), ("a", UPDATE, 15), ("b", UPDATE, 35), ("a", "COMMIT", 34)]), 1);
        let mut builder = builder(LogDialect::Mysql);
        for session in ["a", "b"] {
            let (began_us, took_us) = (1_000_000, Some(900_000));
            let found = FoundStatement { began_us, took_us, session, text: UPDATE, ..FoundStatement::default() };
            builder.add(&found).unwrap();
        }
        assert_eq!(pairs(&builder.finish(true).unwrap()).len(), 1);
    }

    #[test]
    fn reads_alone_have_no_order() {
        let mut builder = RecordingBuilder::new(LogDialect::Mysql, &LogWanted::default());
        for (session, text) in [("a", INSERT), ("b", READ)] {
            builder.add(&FoundStatement { session, text, ..FoundStatement::default() }).unwrap();
        }
        assert!(pairs(&builder.finish(false).unwrap()).is_empty());
    }

    #[test]
    fn each_copy_has_the_order_and_what_lies_before_a_stretch_is_none() {
        let other = "UPDATE t SET c = 3 WHERE id = 5";
        let one = Arc::new(recorded(&[
            (0, 1, "a", INSERT),
            (2_000, 2_001, "b", UPDATE),
            (4_000, 4_001, "a", other),
            (6_000, 6_001, "b", READ),
        ]));
        let both = [(UPDATE.to_owned(), INSERT.to_owned()), (other.to_owned(), UPDATE.to_owned())];
        let last = (READ.to_owned(), other.to_owned());
        assert_eq!(pairs(&one), [&both[..], std::slice::from_ref(&last)].concat());
        let copies = Copies { times: 2.0, shift: Nanos(0), length: Nanos(u64::MAX), seed: 1 };
        let two = pairs(&one.copies(&copies).unwrap());
        assert_eq!((two.len(), two.iter().filter(|pair| **pair == last).count()), (6, 2));
        let part = one.stretch(Nanos::from_secs(1), None).unwrap();
        assert_eq!(pairs(&part), [both[1].clone(), last.clone()]);
        let part = one.stretch(Nanos::from_secs(5), None).unwrap();
        assert_eq!((part.len(), pairs(&part)), (1, Vec::new()));
    }

    #[test]
    fn rows_without_end_take_no_memory_without_end() {
        let mut recent = Recent::default();
        (0..3 * RECENT_MAX).for_each(|nth| recent.insert(nth, ()));
        assert!(recent.young.len() + recent.old.len() <= 2 * RECENT_MAX);
        assert!(recent.get(&(2 * RECENT_MAX)).is_some() && recent.get(&0).is_none());
    }
}
