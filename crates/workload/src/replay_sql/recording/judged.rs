//! What is left of a recording of reads when the server is known: a function or a view of its own may do more than read.
//!
//! In: a recording, and a judge who knows the server. Out: the recording without the statements that he does not let through, counted by what
//! they name. Limits: a statement stands for all of its shape; those beyond the shapes that are distinguished are judged one by one.

use super::records::{Record, Records};
use super::shapes::{OTHERS, SHAPES_MAX, StatementKind};
use super::{LeftOut, SqlRecording, shown};
use crate::recording_error::RecordingError;
use crate::replay_sql::spill::lost;
use sql::{Effect, Judge};
use std::sync::Arc;

/// Names of functions and views that are distinguished in what was left out.
const EFFECTS_MAX: usize = 200;
/// The kind of a sample of which nothing is left: there are fewer kinds.
const NO_KIND: u8 = u8::MAX;

impl SqlRecording {
    /// Counts a read that names `cause`.
    pub(super) fn leave_out(&mut self, cause: Option<String>) {
        self.left_out.effects += 1;
        let cause = shown(&cause.unwrap_or_default());
        let is_told_apart = self.effects.len() < EFFECTS_MAX || self.effects.contains_key(&cause);
        *self.effects.entry(if is_told_apart { cause } else { OTHERS.to_owned() }).or_default() += 1;
    }

    /// The names of what was left out because of them, each with how often, the most frequent first.
    pub fn effects_listed(&self) -> String {
        let mut all: Vec<(&String, &u64)> = self.effects.iter().collect();
        all.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
        all.iter().map(|(name, count)| format!("{name} {count}")).collect::<Vec<_>>().join(", ")
    }

    /// What `judge`, who knows the server, lets through of the statements of a replay of reads.
    ///
    /// # Errors
    /// If that is nothing, or there is no room for it.
    pub fn judged(self: &Arc<Self>, judge: &Judge) -> Result<Arc<SqlRecording>, RecordingError> {
        let causes = self.samples.iter().map(|sample| self.cause_in(judge, sample));
        let causes = causes.collect::<Result<Vec<Option<String>>, RecordingError>>()?;
        if causes.len() <= SHAPES_MAX && causes.iter().all(Option::is_none) {
            return Ok(self.clone());
        }
        let mut made = self.without_statements();
        let mut counts = vec![0u64; self.kinds.len()];
        for record in self.records.iter() {
            let record = record.map_err(|error| lost(&error))?;
            let cause = match record.shape as usize {
                SHAPES_MAX => self.cause_in(judge, &record)?,
                shape => causes[shape].clone(),
            };
            if cause.is_some() {
                made.leave_out(cause);
                continue;
            }
            counts[record.kind as usize] += 1;
            made.records.push(record)?;
        }
        if made.records.count() == 0 {
            return Err(made.nothing_to_replay());
        }
        made.of_log = self.of_log.saturating_sub(made.left_out.effects - self.left_out.effects);
        made.records.seal()?;
        made.number_kinds(&self.kinds, &counts)?;
        Ok(Arc::new(made))
    }

    /// What `record` names that does more than read; `None` if it may be sent.
    fn cause_in(&self, judge: &Judge, record: &Record) -> Result<Option<String>, RecordingError> {
        let text = self.text(&self.statement_of(*record)).map_err(|error| lost(&error))?;
        Ok(match judge.judge(&text) {
            Ok(judgement) if judgement.effect == Effect::Reads => None,
            Ok(judgement) => Some(judgement.cause.unwrap_or_default()),
            Err(_) => Some("quotes".to_owned()),
        })
    }

    pub(super) fn without_statements(&self) -> SqlRecording {
        SqlRecording {
            records: Records::default(),
            texts: self.texts.clone(),
            samples: self.samples.clone(),
            set_ups: self.set_ups.clone(),
            first_us: self.first_us,
            length: self.length,
            schemas: self.schemas.clone(),
            spans: self.spans.clone(),
            kinds: Vec::new(),
            of_log: self.of_log,
            failed_in_log: self.failed_in_log,
            left_out: self.left_out,
            effects: self.effects.clone(),
            skipped: self.skipped.clone(),
            pauses: self.pauses,
            server: self.server.clone(),
            keeps_sessions_whole: self.keeps_sessions_whole,
            has_whole_seconds: self.has_whole_seconds,
            set_again: self.set_again,
            copies: self.copies.clone(),
            templates: self.templates.clone(),
            calls: self.calls,
            is_hashed: self.is_hashed,
            digest: self.digest,
        }
    }

    /// Takes over those of `kinds` that still have statements.
    pub(super) fn number_kinds(&mut self, kinds: &[StatementKind], counts: &[u64]) -> Result<(), RecordingError> {
        let mut numbers = vec![0u8; kinds.len()];
        for ((number, kind), count) in numbers.iter_mut().zip(kinds).zip(counts).filter(|(_, count)| **count > 0) {
            *number = self.kinds.len() as u8;
            self.kinds.push(StatementKind { count: *count, ..kind.clone() });
        }
        for sample in &mut self.samples {
            let kind = usize::from(sample.kind);
            let is_left = counts.get(kind).is_some_and(|count| *count > 0);
            sample.kind = if is_left { numbers[kind] } else { NO_KIND };
        }
        self.records.put_in_order(|record| record.kind = numbers[record.kind as usize])
    }

    pub(super) fn nothing_to_replay(&self) -> RecordingError {
        let LeftOut { writes, of_session, effects, own, .. } = self.left_out;
        if writes + of_session + effects == 0 {
            let skipped: Vec<String> = self.skipped.kinds().map(|(name, kind)| format!("{name} ({kind})")).collect();
            let skipped = if skipped.is_empty() { String::new() } else { format!("; skipped: {}", skipped.join(", ")) };
            let own = if own == 0 { String::new() } else { format!("; {own} are questions of plimsoll itself") };
            return RecordingError::of_file(format!("it has no statement to replay{own}{skipped}"));
        }
        let named = if effects == 0 {
            String::new()
        } else {
            let listed = self.effects_listed();
            format!(", {effects} name what does more than read ({listed}); allow it with functions = `NAME+NAME`")
        };
        RecordingError::of_file(format!(
            "it has no read to replay: {writes} statements write, {of_session} are of transactions and settings; they are replayed with \
             allow_writes = `true`{named}"
        ))
    }
}
