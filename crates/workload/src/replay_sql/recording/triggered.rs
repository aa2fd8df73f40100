//! The statements of triggers: MariaDB and MySQL write them into the general log as if the session had sent them, and the copy executes them itself.
//!
//! In: a recording of writes, and the triggers of the copy. Out: the recording without these statements, in which each kind tells whether its
//! statements may fire a trigger. Limits: a statement is one of a trigger if the log has no answers, its text is that of a statement in the body of a
//! trigger, and the session has changed the trigger's table right before. One with variables that the body declares has another text.

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
    /// The schema and the table of each.
    tables: Vec<(String, String)>,
    /// The numbers of those in whose bodies a statement is, by its tokens.
    statements: HashMap<String, Vec<usize>>,
}

impl Triggers {
    pub fn of(triggers: impl IntoIterator<Item = Trigger>) -> Triggers {
        let mut made = Triggers::default();
        for (nth, Trigger { schema, table, body }) in triggers.into_iter().enumerate() {
            statements_in(&body).into_iter().for_each(|text| made.statements.entry(text).or_default().push(nth));
            made.tables.push((schema, table));
        }
        made
    }

    /// The numbers of those that `text` may fire, which is in `schema`.
    fn fired_by(&self, schema: &str, text: &str, tokens: &[Token]) -> Vec<usize> {
        if !tokens.first().is_some_and(|first| first.is_word(text, &FIRING)) {
            return Vec::new();
        }
        let mut names = tables_in(text, tokens);
        let inserted = sql::insert_into(text, tokens, Dialect::Mysql);
        names.extend(inserted.map(|into| match into.schema {
            Some(schema) => format!("{schema}.{}", into.table),
            None => into.table,
        }));
        let is_named = |(of_schema, of_table): &(String, String)| {
            names.iter().any(|name| match name.split_once('.') {
                Some((schema, table)) => table == of_table && schema == of_schema,
                None => name == of_table && (schema.is_empty() || schema == of_schema),
            })
        };
        (0..self.tables.len()).filter(|nth| is_named(&self.tables[*nth])).collect()
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

fn by_tokens(text: &str, tokens: &[Token]) -> String {
    tokens.iter().map(|token| token.text(text)).collect::<Vec<_>>().join(" ")
}

/// What is known of a session while its statements are read.
#[derive(Clone, Default)]
struct Session {
    /// How many statements it has sent.
    sent: u32,
    /// The triggers that the last of them may have fired, and those that these may have fired.
    fired: Vec<usize>,
    /// The places of the statements that are of triggers.
    triggered: Vec<u32>,
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
            let of = triggers.statements.get(&by_tokens(text, &tokens));
            let is_triggered = of.is_some_and(|of| of.iter().any(|nth| session.fired.contains(nth)));
            let fired = triggers.fired_by(&schemas[statement.schema as usize], text, &tokens);
            if is_triggered {
                session.triggered.push(session.sent - 1);
                session.fired.extend(fired);
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
    fn a_statement_waits_for_the_last_that_is_left() {
        let triggered = [vec![1, 2, 4]];
        let of = |nth| place_without(StatementPlace { session: 0, nth }, &triggered).map(|place| place.nth);
        assert_eq!([0, 1, 2, 3, 4, 5].map(of), [Some(0), Some(0), Some(0), Some(1), Some(1), Some(2)]);
        assert_eq!(place_without(StatementPlace { session: 0, nth: 0 }, &[vec![0]]), None);
    }
}
