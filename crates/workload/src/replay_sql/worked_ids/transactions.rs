//! The transactions of PostgreSQL that sessions have open, and what their end takes back of the counters that they began again.
//!
//! In: the statements of a session, one after the other, and which of them failed. Out: whether its transaction is open, or aborted, and the numberings
//! that come back with a rollback. Limits: a text of several statements is followed before what it does is counted. A session that ends within its
//! transaction is not seen to.

use super::inference::Replaced;
use sql::{Behind, Token, TransactionStep};
use std::collections::HashMap;

/// Those that are open, by the numbers of their sessions.
#[derive(Default)]
pub(super) struct Transactions(HashMap<u32, OpenTransaction>);

#[derive(Default)]
struct OpenTransaction {
    is_aborted: bool,
    /// What was replaced in it, the first one first.
    replaced: Vec<Replaced>,
    /// The names of its savepoints, and how much was replaced before each.
    savepoints: Vec<(String, usize)>,
}

impl Transactions {
    pub(super) fn is_open(&self, session: u32) -> bool {
        self.0.contains_key(&session)
    }

    /// Whether the next statement of `session` fails whatever it is, unless it ends the transaction.
    pub(super) fn is_aborted(&self, session: u32) -> bool {
        self.0.get(&session).is_some_and(|open| open.is_aborted)
    }

    /// The transaction of `session` has `replaced` numberings.
    pub(super) fn note(&mut self, session: u32, replaced: Vec<Replaced>) {
        if let Some(open) = self.0.get_mut(&session) {
            open.replaced.extend(replaced);
        }
    }

    /// Follows the next statement of `session`. The numberings that come back, in the order in which they do.
    pub(super) fn follow(&mut self, session: u32, text: &str, tokens: &[Token], has_failed: bool) -> Vec<Replaced> {
        let mut back = Vec::new();
        for part in tokens.split(|token| token.is_sign(text, ";")) {
            let step = match TransactionStep::of(text, part) {
                // Whoever ends it later, this session goes on without it.
                TransactionStep::Prepares => TransactionStep::Commits(Behind::Nothing),
                step => step,
            };
            if !has_failed {
                back.extend(self.follow_one(session, step));
            } else if let TransactionStep::Commits(behind) = step {
                back.extend(self.follow_one(session, TransactionStep::RollsBack(behind)));
            } else if let Some(open) = self.0.get_mut(&session) {
                open.is_aborted = true;
            }
        }
        back
    }

    fn follow_one(&mut self, session: u32, step: TransactionStep) -> Vec<Replaced> {
        match step {
            TransactionStep::Begins => {
                self.0.entry(session).or_default();
            }
            TransactionStep::Commits(behind) => return self.end(session, behind, false),
            TransactionStep::RollsBack(behind) => return self.end(session, behind, true),
            _ => {}
        }
        self.0.get_mut(&session).map_or_else(Vec::new, |open| open.follow(step))
    }

    /// The transaction of `session` ends; an aborted one is rolled back whatever ends it.
    fn end(&mut self, session: u32, behind: Behind, is_rolled_back: bool) -> Vec<Replaced> {
        let Some(open) = self.0.remove(&session) else { return Vec::new() };
        if behind == Behind::Another {
            self.0.insert(session, OpenTransaction::default());
        }
        if is_rolled_back || open.is_aborted { open.replaced.into_iter().rev().collect() } else { Vec::new() }
    }
}

impl OpenTransaction {
    /// Follows a statement within it. The numberings that come back.
    fn follow(&mut self, step: TransactionStep) -> Vec<Replaced> {
        match step {
            TransactionStep::Saves(name) => self.savepoints.push((name, self.replaced.len())),
            TransactionStep::GoesBackTo(name) => return self.go_back_to(&name),
            TransactionStep::Releases(name) => {
                let at = self.savepoint(&name).unwrap_or(self.savepoints.len());
                self.savepoints.truncate(at);
            }
            _ => {}
        }
        Vec::new()
    }

    /// The place of the last savepoint of this name.
    fn savepoint(&self, name: &str) -> Option<usize> {
        self.savepoints.iter().rposition(|(other, _)| other == name)
    }

    /// What was replaced since the savepoint, which stays; all if it is not known.
    fn go_back_to(&mut self, name: &str) -> Vec<Replaced> {
        self.is_aborted = false;
        let at = self.savepoint(name);
        let kept = at.map_or(0, |at| self.savepoints[at].1);
        self.savepoints.truncate(at.map_or(0, |at| at + 1));
        self.replaced.drain(kept..).rev().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The columns whose numberings come back behind `texts`, and whether the transaction is open and aborted then. A text `5` replaces the numbering of
    /// column 5, and those with a `!` before them failed.
    fn behind(texts: &[&str]) -> (Vec<u16>, bool, bool) {
        let mut all = Transactions::default();
        let mut back = Vec::new();
        for text in texts {
            if let Ok(column) = text.parse::<u16>() {
                all.note(1, vec![Replaced { column, numbering: column }]);
                continue;
            }
            let sent = text.trim_start_matches('!');
            let tokens = sql::tokens(sent, sql::Dialect::Postgres).unwrap();
            back.extend(all.follow(1, sent, &tokens, sent != *text));
        }
        (back.into_iter().map(|it| it.column).collect(), all.is_open(1), all.is_aborted(1))
    }

    #[test]
    fn what_a_transaction_replaced_comes_back_if_it_is_rolled_back() {
        assert_eq!(behind(&["BEGIN", "5", "6", "ROLLBACK"]), (vec![6, 5], false, false));
        assert_eq!(behind(&["start transaction", "5", "COMMIT"]), (vec![], false, false));
        assert_eq!(behind(&["BEGIN", "5", "!SELECT 1", "COMMIT"]), (vec![5], false, false));
        assert_eq!(behind(&["BEGIN", "5", "!COMMIT"]), (vec![5], false, false));
        assert_eq!(behind(&["BEGIN", "5", "COMMIT AND CHAIN", "6", "ABORT"]), (vec![6], false, false));
        assert_eq!(behind(&["BEGIN", "5", "ROLLBACK PREPARED 'a'", "BEGIN"]), (vec![], true, false));
        assert_eq!(behind(&["BEGIN; SELECT 1", "5", "ROLLBACK"]), (vec![5], false, false));
    }

    #[test]
    fn what_came_behind_a_savepoint_comes_back_alone() {
        let texts = ["BEGIN", "5", "SAVEPOINT s", "6", "!SELECT 1", "ROLLBACK TO SAVEPOINT s"];
        assert_eq!(behind(&texts), (vec![6], true, false));
        assert_eq!(behind(&[&texts[..], &["7", "ROLLBACK TO S", "COMMIT"]].concat()), (vec![6, 7], false, false));
        let released = ["BEGIN", "SAVEPOINT s", "5", "SAVEPOINT s", "6", "RELEASE s", "ROLLBACK TO s"];
        assert_eq!(behind(&released), (vec![6, 5], true, false));
    }

    #[test]
    fn a_failure_aborts_the_transaction_that_is_open() {
        assert_eq!(behind(&["BEGIN", "!SELECT 1", "!SELECT 2"]), (vec![], true, true));
        assert_eq!(behind(&["!SELECT 1"]), (vec![], false, false));
        assert_eq!(behind(&["BEGIN", "!SELECT 1", "ROLLBACK", "BEGIN"]), (vec![], true, false));
    }
}
