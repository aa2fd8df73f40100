//! The statements of triggers: MariaDB and MySQL write them into the general log as if the session had sent them, and the copy executes them itself.
//!
//! In: a recording of writes, and the triggers of the copy. Out: the recording without these statements, in which each kind tells whether its
//! statements may fire a trigger. Limits: a statement is one of a trigger if the log has no answers, its text is that of a statement in the body of a
//! trigger, and the session has changed the trigger's table right before: for each row that an INSERT has written out at most once, and for another
//! change, whose rows the log does not have, as often as it comes without another between. So one of a client is taken for a trigger's behind a change
//! that failed or found no row. One with variables that the body declares has another text.

use super::records::{Record, StatementPlace};
use super::shapes::StatementKind;
use super::{SqlRecording, tables_in};
use crate::recording_error::RecordingError;
use crate::replay_sql::spill::lost;
use sql::{Dialect, Token};
use std::collections::HashMap;
use std::io;
use std::sync::Arc;

/// Behind these a statement in a body begins.
const BEFORE_STATEMENTS: [&str; 6] = ["begin", "then", "else", "do", "loop", "repeat"];
const LOGGED: [&str; 7] = ["insert", "update", "delete", "replace", "select", "call", "with"];
const FIRING: [&str; 4] = ["insert", "update", "delete", "replace"];

/// A trigger of the copy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trigger {
    /// Those of its table.
    pub schema: String,
    pub table: String,
    /// What it executes.
    pub body: String,
}

/// The triggers of the copy, by what a log has of them.
#[derive(Debug, Default)]
pub struct Triggers {
    /// The table of each.
    tables: Vec<FiringTable>,
    /// The numbers of those in whose bodies a statement is, by its tokens.
    statements: HashMap<String, Vec<usize>>,
}

#[derive(Debug)]
struct FiringTable {
    schema: String,
    table: String,
    /// Whether its trigger may execute a statement of its body more than once for a row.
    has_loop: bool,
}

impl Triggers {
    pub fn of(triggers: impl IntoIterator<Item = Trigger>) -> Triggers {
        let mut made = Triggers::default();
        for (nth, Trigger { schema, table, body }) in triggers.into_iter().enumerate() {
            statements_in(&body).into_iter().for_each(|text| made.statements.entry(text).or_default().push(nth));
            made.tables.push(FiringTable { schema, table, has_loop: has_loop(&body) });
        }
        made
    }

    /// Those that `text` may fire, which is in `schema`.
    fn fired_by(&self, schema: &str, text: &str, tokens: &[Token]) -> Vec<Firing> {
        if !tokens.first().is_some_and(|first| first.is_word(text, &FIRING)) {
            return Vec::new();
        }
        let mut names = tables_in(text, tokens);
        let inserted = sql::insert_into(text, tokens, Dialect::Mysql);
        // REPLACE deletes as many rows as are in its way.
        let is_insert = tokens[0].is_word(text, &["insert"]);
        let rows = inserted.as_ref().and_then(|into| into.rows).filter(|_| is_insert);
        names.extend(inserted.map(|into| match into.schema {
            Some(schema) => format!("{schema}.{}", into.table),
            None => into.table,
        }));
        let is_named = |of: &FiringTable| {
            names.iter().any(|name| match name.split_once('.') {
                Some((schema, table)) => *table == of.table && *schema == of.schema,
                None => *name == of.table && (schema.is_empty() || *schema == of.schema),
            })
        };
        let named = self.tables.iter().enumerate().filter(|(_, of)| is_named(of));
        named.map(|(trigger, of)| Firing::of(trigger, rows.filter(|_| !of.has_loop))).collect()
    }
}

/// The statements in the body of a trigger, each by its tokens.
fn statements_in(body: &str) -> Vec<String> {
    let tokens = sql::tokens(body, Dialect::Mysql).unwrap_or_default();
    let mut statements = Vec::new();
    for part in tokens.split(|token| token.is_sign(body, ";")) {
        let begins = |at: &usize| *at == 0 || part[*at - 1].is_word(body, &BEFORE_STATEMENTS);
        let begins = (0..part.len()).filter(begins).filter(|at| part[*at].is_word(body, &LOGGED));
        statements.extend(begins.map(|at| by_tokens(body, &part[at..])));
    }
    statements
}

fn has_loop(body: &str) -> bool {
    let tokens = sql::tokens(body, Dialect::Mysql).unwrap_or_default();
    tokens.iter().any(|token| token.is_word(body, &["loop", "repeat", "do"]))
}

fn by_tokens(text: &str, tokens: &[Token]) -> String {
    tokens.iter().map(|token| token.text(text)).collect::<Vec<_>>().join(" ")
}

/// A trigger that a statement may have fired.
#[derive(Clone)]
struct Firing {
    /// Its number.
    trigger: usize,
    /// For how many rows at most; `None` if nobody knows.
    rows: Option<usize>,
    /// How often it has executed each statement of its body.
    executed: HashMap<String, usize>,
}

impl Firing {
    fn of(trigger: usize, rows: Option<usize>) -> Firing {
        Firing { trigger, rows, executed: HashMap::new() }
    }

    /// Whether it may have executed `statement` once more, which is in the bodies of the triggers `of`; if so, it has.
    fn executes(&mut self, statement: &str, of: &[usize]) -> bool {
        let in_body = of.iter().filter(|nth| **nth == self.trigger).count();
        let done = self.executed.get(statement).copied().unwrap_or(0);
        let executes = in_body > 0 && self.rows.is_none_or(|rows| done < rows.saturating_mul(in_body));
        if executes {
            self.executed.insert(statement.to_owned(), done + 1);
        }
        executes
    }
}

/// What is known of a session while its statements are read.
#[derive(Clone, Default)]
struct Session {
    /// How many statements it has sent.
    sent: u32,
    /// The triggers that the last of them may have fired, and those that these may have fired.
    fired: Vec<Firing>,
    /// The places of the statements that are of triggers.
    triggered: Vec<u32>,
}

impl Session {
    /// Adds what the statement of a trigger has fired.
    fn fire(&mut self, more: Vec<Firing>) {
        for firing in more {
            match self.fired.iter_mut().find(|known| known.trigger == firing.trigger) {
                Some(known) => known.rows = known.rows.zip(firing.rows).map(|(rows, more)| rows.saturating_add(more)),
                None => self.fired.push(firing),
            }
        }
    }
}

impl SqlRecording {
    /// The recording without the statements of `triggers`; `schemas` has the names of its schemas on the copy.
    ///
    /// # Errors
    /// If the file that it is kept in cannot be read, or there is no room for another.
    pub fn without_triggered(
        self: &Arc<Self>,
        triggers: &Triggers,
        schemas: &[String],
    ) -> Result<Arc<SqlRecording>, RecordingError> {
        if triggers.tables.is_empty() {
            return Ok(self.clone());
        }
        let kinds = self.kinds_that_fire(triggers, schemas).map_err(|error| lost(&error))?;
        let triggered = self.triggered(triggers, schemas).map_err(|error| lost(&error))?;
        let mut made = self.without_statements();
        let (mut counts, mut sent) = (vec![0u64; kinds.len()], vec![0u32; triggered.len()]);
        for record in self.records.iter() {
            let record = record.map_err(|error| lost(&error))?;
            let session = record.session as usize;
            sent[session] += 1;
            if triggered[session].binary_search(&(sent[session] - 1)).is_ok() {
                made.left_out.triggered += 1;
                continue;
            }
            counts[record.kind as usize] += 1;
            let after = record.after.and_then(|after| place_without(after, &triggered));
            made.records.push(Record { after, ..record })?;
        }
        made.records.seal()?;
        made.number_kinds(&kinds, &counts)?;
        Ok(Arc::new(made))
    }

    /// The kinds, each with whether its statements may fire a trigger; of the rest nobody knows.
    fn kinds_that_fire(&self, triggers: &Triggers, schemas: &[String]) -> io::Result<Vec<StatementKind>> {
        let mut kinds = self.kinds.clone();
        kinds.iter_mut().for_each(|kind| kind.may_fire = !kind.has_one_shape());
        for sample in self.samples() {
            let text = self.text(&sample)?;
            let tokens = sql::tokens(&text, Dialect::Mysql).unwrap_or_default();
            let fired = triggers.fired_by(&schemas[sample.schema as usize], &text, &tokens);
            kinds[usize::from(sample.kind)].may_fire |= !fired.is_empty();
        }
        Ok(kinds)
    }

    /// Of each session the places of the statements that are of triggers.
    fn triggered(&self, triggers: &Triggers, schemas: &[String]) -> io::Result<Vec<Vec<u32>>> {
        let mut sessions = vec![Session::default(); self.spans.len()];
        let mut text = Vec::new();
        for record in self.records.iter() {
            let statement = self.statement_of(record?);
            let read = self.read_text(&statement, &mut text)?;
            let session = &mut sessions[statement.session as usize];
            session.sent += 1;
            // A log with answers has only what clients have sent.
            if read.answer.has_rows() || read.answer.failed.is_some() {
                session.fired.clear();
                continue;
            }
            let text = std::str::from_utf8(&text[..text.len() - read.made_bytes]).map_err(io::Error::other)?;
            let tokens = sql::tokens(text, Dialect::Mysql).unwrap_or_default();
            let by_tokens = by_tokens(text, &tokens);
            let of = triggers.statements.get(&by_tokens);
            let is_triggered =
                of.is_some_and(|of| session.fired.iter_mut().any(|firing| firing.executes(&by_tokens, of)));
            let fired = triggers.fired_by(&schemas[statement.schema as usize], text, &tokens);
            if is_triggered {
                session.triggered.push(session.sent - 1);
                session.fire(fired);
            } else {
                session.fired = fired;
            }
        }
        Ok(sessions.into_iter().map(|session| session.triggered).collect())
    }
}

/// The place of a statement, or of the last one before it that is left, without those that were `triggered`; `None` if nothing is left of these.
fn place_without(place: StatementPlace, triggered: &[Vec<u32>]) -> Option<StatementPlace> {
    let of_session = &triggered[place.session as usize];
    let before = of_session.partition_point(|nth| *nth <= place.nth) as u32;
    Some(StatementPlace { nth: (place.nth + 1 - before).checked_sub(1)?, ..place })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::replay_sql::log_taker::{FoundStatement, LogTaker};
    use crate::replay_sql::recording::RecordingBuilder;
    use crate::replay_sql::{LogDialect, LogWanted, RecordedAnswer};

    fn recording(statements: &[(&str, &str)], answer: RecordedAnswer) -> Arc<SqlRecording> {
        let mut builder = RecordingBuilder::new(LogDialect::Mysql, &LogWanted { writes: true, ..LogWanted::default() });
        for (nth, (session, text)) in statements.iter().enumerate() {
            let found =
                FoundStatement { began_us: nth as i64, session, schema: "shop", text, answer, ..Default::default() };
            builder.add(&found).unwrap();
        }
        Arc::new(builder.finish(false).unwrap())
    }

    fn trigger(table: &str, body: &str) -> Trigger {
        Trigger { schema: "shop".to_owned(), table: table.to_owned(), body: body.to_owned() }
    }

    fn left(recording: &Arc<SqlRecording>, triggers: Vec<Trigger>) -> (Vec<String>, Arc<SqlRecording>) {
        let made = recording.without_triggered(&Triggers::of(triggers), recording.schemas()).unwrap();
        (made.statements().map(|statement| made.text(&statement.unwrap()).unwrap()).collect(), made)
    }

    const COUNT: &str = "update r_n set n=n+1 where id=1";

    #[test]
    fn what_a_trigger_executes_is_left_out_behind_what_fires_it_and_nowhere_else() {
        // As MariaDB 10.11 has written it into its general log.
        let statements = [
            ("334", "insert into r_t(v) values(1)"),
            ("334", COUNT),
            ("335", COUNT),
            ("334", "insert into r_t(v) values(2)"),
            ("334", COUNT),
            ("334", "select 1"),
            ("334", COUNT),
        ];
        let log = recording(&statements, RecordedAnswer::default());
        let (texts, made) = left(&log, vec![trigger("r_t", "update  r_n set n=n+1\n where id=1")]);
        let expected = [statements[0].1, COUNT, statements[3].1, "select 1", COUNT];
        assert_eq!((texts, made.left_out.triggered), (expected.map(str::to_owned).to_vec(), 2));
        let of_kind = |name: &str| made.kinds().iter().find(|kind| kind.name.starts_with(name)).unwrap();
        assert!(of_kind("insert").may_fire && !of_kind("update").may_fire);
        assert_eq!(of_kind("update").count, 2);
        assert_eq!(left(&log, vec![trigger("other", COUNT)]).0.len(), 7, "nothing has changed its table");
        assert_eq!(left(&log, Vec::new()).0.len(), 7);
        let answered = RecordedAnswer { affected: Some(1), ..RecordedAnswer::default() };
        assert_eq!(left(&recording(&statements, answered), vec![trigger("r_t", COUNT)]).0.len(), 7);
    }

    #[test]
    fn a_body_may_have_several_statements_which_may_fire_other_triggers() {
        let body = "BEGIN IF new.v > 1 THEN insert into aud(t,v) values(new.id,new.v); END IF; SET @a = 1; delete from old; END";
        let audit = "insert into aud(t,v) values(new.id,new.v)";
        let statements = [
            ("1", "UPDATE trg SET v=v+1 WHERE id=1"),
            ("1", audit),
            ("1", COUNT),
            ("1", "delete from old"),
            ("1", audit),
        ];
        let triggers = vec![trigger("trg", body), trigger("aud", COUNT)];
        let (texts, made) = left(&recording(&statements, RecordedAnswer::default()), triggers);
        assert_eq!((texts.len(), made.left_out.triggered), (1, 4));
    }

    #[test]
    fn a_trigger_executes_its_statement_once_for_each_row_that_is_written_out_and_what_follows_is_of_the_client() {
        let left_of = |statements: &[&str], body: &str| {
            let of_session: Vec<_> = statements.iter().map(|text| ("1", *text)).collect();
            left(&recording(&of_session, RecordedAnswer::default()), vec![trigger("t", body)]).0.len()
        };
        let one = "insert into t(v) values(1)";
        assert_eq!(left_of(&[one, COUNT, COUNT], COUNT), 2);
        assert_eq!(left_of(&["insert into t(v) values(2),(3)", COUNT, COUNT, COUNT], COUNT), 2);
        assert_eq!(left_of(&[one, COUNT, one, COUNT, COUNT], COUNT), 3);
        let twice = format!("BEGIN {COUNT}; {COUNT}; END");
        assert_eq!(left_of(&[one, COUNT, COUNT, COUNT], &twice), 2);
        let looping = format!("BEGIN WHILE @n > 0 DO {COUNT}; SET @n = @n - 1; END WHILE; END");
        assert_eq!(left_of(&[one, COUNT, COUNT, COUNT], &looping), 1);
        for unknown in ["update t set v=v+1", "replace into t(v) values(1)", "insert into t(v) select v from s"] {
            assert_eq!(left_of(&[unknown, COUNT, COUNT, "select 1", COUNT], COUNT), 3, "{unknown}");
        }
    }

    #[test]
    fn a_statement_waits_for_the_last_that_is_left() {
        let triggered = [vec![1, 2, 4]];
        let of = |nth| place_without(StatementPlace { session: 0, nth }, &triggered).map(|place| place.nth);
        assert_eq!([0, 1, 2, 3, 4, 5].map(of), [Some(0), Some(0), Some(0), Some(1), Some(1), Some(2)]);
        assert_eq!(place_without(StatementPlace { session: 0, nth: 0 }, &[vec![0]]), None);
    }
}
