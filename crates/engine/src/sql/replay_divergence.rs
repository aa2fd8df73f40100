//! How far the statements of a replay did what the recorded ones did: each answer is compared with the one in the log.
//!
//! In: the recorded answer and the new one, of one statement after the other, from all clients. Out: a fact with what the log has to compare with,
//! and one for each kind. Limits: rows are compared by their number. If a log does not say whether a statement failed, one that fails now
//! agrees with it if it had no rows. One that failed because its transaction had been aborted is compared if it fails. An UPDATE of a client that
//! asked for the rows that it finds, in place of those that it changes, agrees if it changes all that it finds, or none. An id that was worked out is
//! compared with nothing.

use super::row_tally::Answered;
use model::{ComparedBy, Fact, KindDivergence, OpKind, REPLAY_COMPARED_FACT, REPLAY_DIVERGENCE_FACT};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use workload::replay_sql::RecordedAnswer;

/// In what a statement differs from the recorded one; the first that holds counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Divergence {
    /// It failed, and the recorded one did not.
    Failed,
    /// It did not fail, and the recorded one did.
    Succeeded,
    /// It returned another number of rows.
    Returned,
    /// It changed another number of rows.
    Changed,
    /// It made another id.
    OtherId,
}

const DIVERGENCES: usize = 5;

/// The counts of all clients, by the numbers of the kinds.
pub struct ReplayDivergence {
    kinds: Vec<(&'static str, KindCounts)>,
    /// Whether the values of the log are others than the recorded ones: then it has no answers.
    is_hashed: bool,
    /// Of each kind whether triggers may change rows with it; empty if there are none.
    may_fire: Vec<bool>,
    has_rows: AtomicBool,
    has_errors: AtomicBool,
}

#[derive(Default)]
struct KindCounts {
    compared: AtomicU64,
    diverged: [AtomicU64; DIVERGENCES],
}

impl ReplayDivergence {
    /// Of kinds with these names nothing yet.
    pub fn new(names: impl Iterator<Item = &'static str>, is_hashed: bool) -> ReplayDivergence {
        let kinds = names.map(|name| (name, KindCounts::default())).collect();
        let [has_rows, has_errors] = [const { AtomicBool::new(false) }; 2];
        ReplayDivergence { kinds, is_hashed, may_fire: Vec::new(), has_rows, has_errors }
    }

    /// The same of kinds with which triggers may change rows, or not.
    #[must_use]
    pub fn with_triggers(self, may_fire: Vec<bool>) -> ReplayDivergence {
        ReplayDivergence { may_fire, ..self }
    }

    /// Compares one statement of `kind` with the recorded one; `now` is `None` if it failed.
    pub fn compare(&self, kind: OpKind, recorded: &RecordedAnswer, now: Option<&Answered>) {
        let Some((_, counts)) = self.kinds.get(usize::from(kind.0)) else { return };
        let is_told = recorded.has_rows() || recorded.failed.is_some();
        // What would have come if nothing had aborted its transaction is in no log.
        if !is_told || recorded.is_consequence && now.is_some() {
            return;
        }
        let known = if recorded.has_rows() { &self.has_rows } else { &self.has_errors };
        // Written once, so that clients do not take the line of the cache from each other.
        if !known.load(Relaxed) {
            known.store(true, Relaxed);
        }
        counts.compared.fetch_add(1, Relaxed);
        // MariaDB's slow log, which has no errors, counts the rows that triggers have changed, too; the answer to the client does not.
        let has_others = self.may_fire.get(usize::from(kind.0)) == Some(&true) && recorded.failed.is_none();
        let affected = recorded.affected.filter(|_| !has_others || now.is_none());
        if let Some(divergence) = divergence_of(&RecordedAnswer { affected, ..*recorded }, now) {
            counts.diverged[divergence as usize].fetch_add(1, Relaxed);
        }
    }

    /// What the log has to compare with, and the counts of each kind of which some were compared.
    pub fn facts(&self) -> Vec<Fact> {
        let with = match (self.has_rows.load(Relaxed), self.has_errors.load(Relaxed)) {
            (true, _) => ComparedBy::Rows,
            (false, true) => ComparedBy::Errors,
            (false, false) if self.is_hashed => ComparedBy::Hashed,
            (false, false) => ComparedBy::Nothing,
        };
        let kinds = (1..).zip(&self.kinds);
        let kinds = kinds.filter_map(|(nth, (name, counts))| {
            let text = counts.of_kind(name)?.to_string();
            Some(Fact::new(format!("{REPLAY_DIVERGENCE_FACT}{nth}"), text))
        });
        std::iter::once(Fact::new(REPLAY_COMPARED_FACT, with.as_str())).chain(kinds).collect()
    }
}

impl KindCounts {
    /// `None` if none was compared.
    fn of_kind(&self, name: &str) -> Option<KindDivergence> {
        let compared = self.compared.load(Relaxed);
        let count = |way: Divergence| self.diverged[way as usize].load(Relaxed);
        (compared > 0).then(|| KindDivergence {
            kind: name.to_owned(),
            compared,
            failed: count(Divergence::Failed),
            succeeded: count(Divergence::Succeeded),
            returned: count(Divergence::Returned),
            changed: count(Divergence::Changed),
            other_id: count(Divergence::OtherId),
        })
    }
}

fn divergence_of(recorded: &RecordedAnswer, now: Option<&Answered>) -> Option<Divergence> {
    let RecordedAnswer { failed, sent, affected, made_id, is_worked_out, .. } = *recorded;
    let Some(now) = now else {
        let had_rows = [sent, affected].into_iter().flatten().any(|rows| rows > 0);
        return (!failed.unwrap_or(!had_rows)).then_some(Divergence::Failed);
    };
    if failed == Some(true) {
        return Some(Divergence::Succeeded);
    }
    if sent.is_some_and(|sent| sent != now.rows.returned) {
        return Some(Divergence::Returned);
    }
    let is_found = |affected: u64| now.rows.changed == 0 && affected == now.found;
    if affected.is_some_and(|affected| affected != now.rows.changed && !is_found(affected)) {
        return Some(Divergence::Changed);
    }
    // The id that INSERT .. RETURNING has made is in its rows, and a replay does not read the values of rows.
    let is_known = !is_worked_out && (now.made_id > 0 || now.rows.returned == 0);
    made_id.is_some_and(|id| id > 0 && is_known && id != now.made_id).then_some(Divergence::OtherId)
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::RowCounts;

    fn rows(sent: u64, affected: u64) -> RecordedAnswer {
        RecordedAnswer { sent: Some(sent), affected: Some(affected), ..RecordedAnswer::default() }
    }

    fn answered(returned: u64, changed: u64) -> Answered {
        Answered { rows: RowCounts { returned, changed, ..RowCounts::default() }, ..Answered::default() }
    }

    #[test]
    fn a_statement_diverges_by_its_error_its_rows_or_its_id() {
        let of = |recorded: RecordedAnswer, now: Option<Answered>| divergence_of(&recorded, now.as_ref());
        let errors = |failed| RecordedAnswer { failed: Some(failed), ..RecordedAnswer::default() };
        assert_eq!(of(errors(false), None), Some(Divergence::Failed));
        assert_eq!(of(errors(true), None), None);
        assert_eq!(of(errors(true), Some(answered(0, 0))), Some(Divergence::Succeeded));
        assert_eq!(of(errors(false), Some(answered(7, 7))), None, "rows are not known");
        assert_eq!(of(rows(2, 0), Some(answered(2, 0))), None);
        assert_eq!(of(rows(2, 0), Some(answered(1, 0))), Some(Divergence::Returned));
        assert_eq!(of(rows(0, 1), Some(answered(0, 0))), Some(Divergence::Changed));
        assert_eq!(of(rows(0, 2), Some(Answered { found: 2, ..answered(0, 0) })), None, "the rows that it found");
        assert_eq!(of(rows(0, 1), None), Some(Divergence::Failed));
        assert_eq!(of(rows(0, 0), None), None, "the recorded one may have failed, too");
        let made = |id| Some(Answered { made_id: id, ..answered(0, 1) });
        let recorded = RecordedAnswer { made_id: Some(9), ..rows(0, 1) };
        assert_eq!((of(recorded, made(9)), of(recorded, made(10))), (None, Some(Divergence::OtherId)));
        assert_eq!(of(RecordedAnswer { made_id: Some(9), ..rows(1, 0) }, Some(answered(1, 0))), None, "it is returned");
        assert_eq!(of(RecordedAnswer { made_id: Some(0), ..rows(0, 1) }, made(10)), None, "it is not known");
        let worked = RecordedAnswer { is_worked_out: true, ..recorded };
        assert_eq!([of(worked, made(0)), of(worked, made(10))], [None; 2], "no log has it");
    }

    #[test]
    fn rows_that_triggers_have_changed_are_not_compared_with_those_of_the_statement() {
        let counts = |recorded: RecordedAnswer, now: Option<Answered>| {
            let divergence = ReplayDivergence::new(["insert ?"].into_iter(), false).with_triggers(vec![true]);
            divergence.compare(OpKind(0), &recorded, now.as_ref());
            divergence.facts()[1].value.clone()
        };
        assert_eq!(counts(rows(0, 2), Some(answered(0, 1))), "1 0 0 0 0 0 insert ?");
        assert_eq!(counts(rows(0, 2), None), "1 1 0 0 0 0 insert ?", "it had rows, so it had not failed");
        let of_capture = RecordedAnswer { failed: Some(false), ..rows(0, 2) };
        assert_eq!(counts(of_capture, Some(answered(0, 1))), "1 0 0 0 1 0 insert ?");
    }

    #[test]
    fn each_kind_has_its_counts_and_a_log_without_answers_says_so() {
        let facts = |compared: &[(u8, RecordedAnswer, Option<Answered>)]| -> Vec<(String, String)> {
            let divergence = ReplayDivergence::new(["select ?", "insert ?"].into_iter(), false);
            compared.iter().for_each(|(kind, recorded, now)| {
                divergence.compare(OpKind(*kind), recorded, now.as_ref());
            });
            divergence.facts().into_iter().map(|fact| (fact.name, fact.value)).collect()
        };
        let fact = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(facts(&[(0, RecordedAnswer::default(), None)]), [fact("replay_compared", "nothing")]);
        let of_hashed = ReplayDivergence::new(["select ?"].into_iter(), true).facts();
        assert_eq!(of_hashed, [Fact::new("replay_compared", "hashed")]);
        let failed = RecordedAnswer { failed: Some(true), ..RecordedAnswer::default() };
        assert_eq!(
            facts(&[(1, failed, None), (1, failed, Some(answered(0, 1)))]),
            [fact("replay_compared", "errors"), fact("replay_divergence.2", "2 0 1 0 0 0 insert ?")]
        );
        let consequence = RecordedAnswer { is_consequence: true, ..failed };
        assert_eq!(facts(&[(0, consequence, Some(answered(1, 0)))]), [fact("replay_compared", "nothing")]);
        assert_eq!(
            facts(&[(0, consequence, None), (0, consequence, Some(answered(1, 0)))]),
            [fact("replay_compared", "errors"), fact("replay_divergence.1", "1 0 0 0 0 0 select ?")]
        );
        assert_eq!(
            facts(&[(0, rows(1, 0), Some(answered(1, 0))), (0, rows(1, 0), Some(answered(2, 0))), (1, failed, None)]),
            [
                fact("replay_compared", "rows"),
                fact("replay_divergence.1", "2 0 0 1 0 0 select ?"),
                fact("replay_divergence.2", "1 0 0 0 0 0 insert ?")
            ]
        );
    }
}
