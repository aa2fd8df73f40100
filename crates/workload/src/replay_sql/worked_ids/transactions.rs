//! The transactions of PostgreSQL that sessions have open, and what their end takes back of the counters that they began again.
//!
//! In: the statements of a session, one after the other, and which of them failed. Out: whether its transaction is open, or aborted, and the numberings
//! that come back with a rollback. Limits: a text of several statements is followed before what it does is counted. A session that ends within its
//! transaction is not seen to.

use super::inference::Replaced;
use sql::Token;
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

/// What a statement does to the transaction of its session.
#[derive(Debug, PartialEq, Eq)]
enum Change {
    Begins,
    Commits(Then),
    RollsBack(Then),
    Saves(String),
    GoesBackTo(String),
    Releases(String),
    Nothing,
}

/// What is behind the end of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Then {
    Nothing,
    /// The next one, by AND CHAIN.
    Another,
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
            let change = Change::of(text, part);
            if !has_failed {
                back.extend(self.follow_one(session, change));
            } else if let Change::Commits(then) = change {
                back.extend(self.end(session, &Change::RollsBack(then)));
            } else if let Some(open) = self.0.get_mut(&session) {
                open.is_aborted = true;
            }
        }
        back
    }

    fn follow_one(&mut self, session: u32, change: Change) -> Vec<Replaced> {
        if change == Change::Begins {
            self.0.entry(session).or_default();
            return Vec::new();
        }
        if let Change::Commits(_) | Change::RollsBack(_) = change {
            return self.end(session, &change);
        }
        let Some(open) = self.0.get_mut(&session) else { return Vec::new() };
        match change {
            Change::Saves(name) => open.savepoints.push((name, open.replaced.len())),
            Change::GoesBackTo(name) => return open.go_back_to(&name),
            Change::Releases(name) => {
                let at = open.savepoint(&name).unwrap_or(open.savepoints.len());
                open.savepoints.truncate(at);
            }
            _ => {}
        }
        Vec::new()
    }

    /// The transaction of `session` ends by `change`; an aborted one is rolled back whatever ends it.
    fn end(&mut self, session: u32, change: &Change) -> Vec<Replaced> {
        let Some(open) = self.0.remove(&session) else { return Vec::new() };
        if let Change::Commits(Then::Another) | Change::RollsBack(Then::Another) = change {
            self.0.insert(session, OpenTransaction::default());
        }
        let is_rolled_back = open.is_aborted || matches!(change, Change::RollsBack(_));
        if is_rolled_back { open.replaced.into_iter().rev().collect() } else { Vec::new() }
    }
}

impl OpenTransaction {
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

impl Change {
    fn of(text: &str, part: &[Token]) -> Change {
        let is_word = |at: usize, words: &[&str]| part.get(at).is_some_and(|token| token.is_word(text, words));
        let name = |at: usize| {
            let name = part.get(at).and_then(|token| token.name(text));
            name.unwrap_or_default().to_lowercase()
        };
        // Of another transaction.
        if is_word(1, &["prepared"]) {
            return Change::Nothing;
        }
        let has_chain = part.iter().any(|token| token.is_word(text, &["chain"]));
        let then = if has_chain && !part.iter().any(|token| token.is_word(text, &["no"])) {
            Then::Another
        } else {
            Then::Nothing
        };
        let to = (1..3).find(|at| is_word(*at, &["to"]));
        if is_word(0, &["begin"]) || is_word(0, &["start"]) && is_word(1, &["transaction"]) {
            Change::Begins
        } else if is_word(0, &["commit", "end"]) || is_word(0, &["prepare"]) && is_word(1, &["transaction"]) {
            Change::Commits(then)
        } else if let Some(to) = to.filter(|_| is_word(0, &["rollback"])) {
            Change::GoesBackTo(name(to + 1 + usize::from(is_word(to + 1, &["savepoint"]))))
        } else if is_word(0, &["rollback", "abort"]) {
            Change::RollsBack(then)
        } else if is_word(0, &["savepoint"]) {
            Change::Saves(name(1))
        } else if is_word(0, &["release"]) {
            Change::Releases(name(1 + usize::from(is_word(1, &["savepoint"]))))
        } else {
            Change::Nothing
        }
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
