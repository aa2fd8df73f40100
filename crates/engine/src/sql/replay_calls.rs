//! Statements that were prepared when they were recorded, prepared again on the connections of a replay.
//!
//! In: the templates of a recording. Out: which of them the server can prepare, and their numbers on a connection. Limits: what it cannot prepare,
//! most often because the client had told it the types of the parameters, is sent as text. It is found out before the replay: a preparation
//! that fails within a transaction of PostgreSQL would end that.

use crate::sql::{OpFailure, SqlSession};
use model::{Fact, SqlArg, SqlOp};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use workload::replay_sql::{PreparedTemplate, SqlRecording};

/// A session that prepares statements which are not known when it is opened.
pub trait PreparesLater: SqlSession {
    /// Prepares `template`, and returns its number on the connection.
    fn prepare_later(&mut self, template: &PreparedTemplate) -> Result<usize, OpFailure>;
    /// Executes statement `number`, whose text arguments are in `text`, and drops its rows.
    fn run_prepared(&mut self, number: usize, args: &[SqlArg], text: &[u8]) -> Result<(), OpFailure>;
}

/// The templates of a recording that the server can prepare.
#[derive(Default)]
pub struct KnownTemplates {
    templates: Arc<[PreparedTemplate]>,
    can_prepare: Vec<bool>,
    /// How many of those that it cannot were not asked about, because the connection was refused.
    unasked: usize,
    /// How many statements of the log are calls of all of them.
    calls: u64,
}

impl KnownTemplates {
    /// Asks the server for each template of `recording`, over a connection that `connect` opens to a schema: one at a time, because a server
    /// may allow few.
    pub fn ask<S: PreparesLater>(
        recording: &SqlRecording,
        mut connect: impl FnMut(u32) -> Result<S, OpFailure>,
    ) -> KnownTemplates {
        let templates = recording.templates().clone();
        let mut in_order: Vec<usize> = (0..templates.len()).collect();
        in_order.sort_by_key(|number| templates[*number].schema);
        let (mut can_prepare, mut unasked) = (vec![false; templates.len()], 0);
        let mut connection = None::<(u32, Option<S>)>;
        for number in in_order {
            let template = &templates[number];
            if connection.as_ref().is_none_or(|(schema, _)| *schema != template.schema) {
                drop(connection.take());
                connection = Some((template.schema, connect(template.schema).ok()));
            }
            match connection.as_mut().and_then(|(_, session)| session.as_mut()) {
                Some(session) => can_prepare[number] = session.prepare_later(template).is_ok(),
                None => unasked += 1,
            }
        }
        KnownTemplates { templates, can_prepare, unasked, calls: recording.calls }
    }

    pub fn fact(&self) -> Option<Fact> {
        let (all, calls) = (self.templates.len(), self.calls);
        let refused = self.can_prepare.iter().filter(|can| !**can).count() - self.unasked;
        let of_these = |many: usize, why: &str| match many {
            0 => String::new(),
            _ => format!("; {many} of these {why} and are sent as text"),
        };
        let refused = of_these(refused, "cannot be prepared here");
        let unasked = of_these(self.unasked, "could not be asked about, because their connection was refused,");
        let text =
            || format!("{calls} statements of the log are calls of {all} that are prepared again{refused}{unasked}");
        (all > 0).then(|| Fact::new("recorded.prepared", text()))
    }
}

/// What is prepared on one connection.
#[derive(Default)]
pub struct PreparedHere {
    /// The number of each template there, and `None` if it could not be prepared after all.
    numbers: HashMap<u32, Option<usize>>,
    /// The names that texts have prepared.
    named: HashSet<String>,
}

impl PreparedHere {
    /// The connection is another one.
    pub fn forget(&mut self) {
        self.numbers.clear();
        self.named.clear();
    }

    /// What is to be sent for `text`, which is executed next: nothing for a DEALLOCATE of what a protocol message had prepared under a name that
    /// is not there now. It would fail, and end its transaction.
    pub fn note_text<'t>(&mut self, text: &'t str) -> &'t str {
        let is_between = |c: char| c.is_ascii_whitespace() || matches!(c, ';' | '(');
        let mut words = text.split(is_between).filter(|word| !word.is_empty());
        let is = |word: &str, other: &str| word.eq_ignore_ascii_case(other);
        let verb = words.next().unwrap_or_default();
        if is(verb, "prepare") {
            self.named.extend(words.next().map(name_of));
        } else if is(verb, "deallocate") {
            let name = words.find(|word| !word.eq_ignore_ascii_case("prepare")).unwrap_or_default();
            let is_alone = words.next().is_none();
            if is(name, "all") {
                self.forget();
            } else if !self.named.remove(&name_of(name)) && is_alone {
                return "";
            }
        } else if is(verb, "discard") && words.next().is_some_and(|word| is(word, "all")) {
            self.forget();
        }
        text
    }

    /// Prepares `template` of those that are known, if it is not prepared.
    pub fn prepare<S: PreparesLater>(
        &mut self,
        template: u32,
        known: &KnownTemplates,
        session: &mut S,
    ) -> Result<(), OpFailure> {
        let number = template as usize;
        if self.numbers.contains_key(&template) || known.can_prepare.get(number) != Some(&true) {
            return Ok(());
        }
        let prepared = session.prepare_later(&known.templates[number]);
        if let Err(failure) = &prepared
            && failure.class.is_of_connection()
        {
            return prepared.map(drop);
        }
        self.numbers.insert(template, prepared.ok());
        Ok(())
    }

    /// The number under which it is prepared.
    pub fn number_of(&self, call: &RecordedCall<'_>) -> Option<usize> {
        self.numbers.get(&call.template).copied().flatten()
    }
}

/// A name as PostgreSQL keeps it: in small letters if it is not in quotes.
fn name_of(written: &str) -> String {
    let quoted = written.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    quoted.map_or_else(|| written.to_ascii_lowercase(), str::to_owned)
}

/// A call as an operation of a replay has it.
pub struct RecordedCall<'a> {
    /// The number of its template.
    pub template: u32,
    pub args: &'a [SqlArg],
}

impl<'a> RecordedCall<'a> {
    /// The call that `op` has from argument number `first` on; `None` if it was sent as text.
    pub fn in_op(op: &'a SqlOp, first: usize) -> Option<RecordedCall<'a>> {
        let (SqlArg::Int(template), args) = op.args.get(first..)?.split_first()? else { return None };
        Some(RecordedCall { template: u32::try_from(*template).ok()?, args })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refused_connection_is_not_told_as_a_statement_that_cannot_be_prepared() {
        let template = |schema| PreparedTemplate { text: "SELECT ?".into(), types: Vec::new(), schema };
        let templates: Arc<[PreparedTemplate]> = Arc::from([0, 0, 1].map(template));
        let known = KnownTemplates { templates, can_prepare: vec![true, false, false], unasked: 1, calls: 9 };
        let told = "9 statements of the log are calls of 3 that are prepared again; 1 of these cannot be prepared here and are sent as text; \
                    1 of these could not be asked about, because their connection was refused, and are sent as text";
        assert_eq!(known.fact(), Some(Fact::new("recorded.prepared", told)));
    }

    #[test]
    fn what_no_text_has_prepared_is_not_deallocated() {
        let mut here = PreparedHere { numbers: HashMap::from([(1, Some(1))]), ..PreparedHere::default() };
        for text in ["DEALLOCATE s1", "deallocate prepare \"S_1\";", "DEALLOCATE PREPARE p"] {
            assert_eq!(here.note_text(text), "", "{text}");
        }
        for text in ["PREPARE P(int) AS SELECT $1", "DISCARD TEMP", "DEALLOCATE q; SELECT 1", "DEALLOCATE p"] {
            assert_eq!(here.note_text(text), text);
        }
        assert_eq!(here.note_text("DEALLOCATE p"), "", "it is gone");
        assert!(here.numbers.contains_key(&1), "a template has a name of its own");
        assert_eq!(here.note_text("DEALLOCATE ALL"), "DEALLOCATE ALL");
        assert!(here.numbers.is_empty());
    }
}
