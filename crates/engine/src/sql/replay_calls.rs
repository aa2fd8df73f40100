//! Statements that were prepared when they were recorded, prepared again on the connections of a replay.
//!
//! In: the templates of a recording. Out: which of them the server can prepare, and their numbers on a connection. Limits: what it cannot prepare,
//! most often because the client had told it the types of the parameters, is sent as text. It is found out before the replay: a preparation
//! that fails within a transaction of PostgreSQL would end that.

use crate::sql::{OpFailure, SqlSession};
use model::{Fact, SqlArg, SqlOp};
use std::collections::HashMap;
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
    /// How many statements of the log are calls of all of them.
    calls: u64,
}

impl KnownTemplates {
    /// Asks the server for each template of `recording`, over a connection that `connect` opens to a schema.
    pub fn ask<S: PreparesLater>(
        recording: &SqlRecording,
        mut connect: impl FnMut(u32) -> Result<S, OpFailure>,
    ) -> KnownTemplates {
        let templates = recording.templates().clone();
        let mut sessions: HashMap<u32, Option<S>> = HashMap::new();
        let can_prepare = templates.iter().map(|template| {
            let session = sessions.entry(template.schema).or_insert_with(|| connect(template.schema).ok());
            session.as_mut().is_some_and(|session| session.prepare_later(template).is_ok())
        });
        let can_prepare = can_prepare.collect();
        KnownTemplates { templates, can_prepare, calls: recording.calls }
    }

    pub fn fact(&self) -> Option<Fact> {
        let (all, calls) = (self.templates.len(), self.calls);
        let as_text = self.can_prepare.iter().filter(|can| !**can).count();
        let rest = if as_text > 0 {
            format!("; {as_text} of these cannot be prepared here and are sent as text")
        } else {
            String::new()
        };
        let text = || format!("{calls} statements of the log are calls of {all} that are prepared again{rest}");
        (all > 0).then(|| Fact::new("recorded.prepared", text()))
    }
}

/// What is prepared on one connection: the number of each template there, and `None` if it could not be prepared after all.
#[derive(Default)]
pub struct PreparedHere(HashMap<u32, Option<usize>>);

impl PreparedHere {
    /// The connection is another one.
    pub fn forget(&mut self) {
        self.0.clear();
    }

    /// `text` is executed next: behind DEALLOCATE and DISCARD nothing is taken to be prepared.
    pub fn note_text(&mut self, text: &str) {
        const FORGETTING: [&str; 2] = ["deallocate", "discard"];
        let word = || text.split(|c: char| !c.is_ascii_alphabetic()).next().unwrap_or_default();
        if !self.0.is_empty() && FORGETTING.iter().any(|it| word().eq_ignore_ascii_case(it)) {
            self.forget();
        }
    }

    /// Prepares `template` of those that are known, if it is not prepared.
    pub fn prepare<S: PreparesLater>(
        &mut self,
        template: u32,
        known: &KnownTemplates,
        session: &mut S,
    ) -> Result<(), OpFailure> {
        let number = template as usize;
        if self.0.contains_key(&template) || known.can_prepare.get(number) != Some(&true) {
            return Ok(());
        }
        let prepared = session.prepare_later(&known.templates[number]);
        if let Err(failure) = &prepared
            && failure.class.is_of_connection()
        {
            return prepared.map(drop);
        }
        self.0.insert(template, prepared.ok());
        Ok(())
    }

    /// The number under which it is prepared.
    pub fn number_of(&self, call: &RecordedCall<'_>) -> Option<usize> {
        self.0.get(&call.template).copied().flatten()
    }
}

/// A call as an operation of a replay has it.
pub struct RecordedCall<'a> {
    /// The number of its template.
    pub template: u32,
    /// Its values.
    pub args: &'a [SqlArg],
}

impl<'a> RecordedCall<'a> {
    /// The call that `op` has from argument number `first` on; `None` if it was sent as text.
    pub fn in_op(op: &'a SqlOp, first: usize) -> Option<RecordedCall<'a>> {
        let (SqlArg::Int(template), args) = op.args.get(first..)?.split_first()? else { return None };
        Some(RecordedCall { template: u32::try_from(*template).ok()?, args })
    }
}
