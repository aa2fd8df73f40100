//! What a statement does to the transaction of its session.
//!
//! In: a statement that was split. Out: its [`TransactionStep`]. Limits: of a text of several statements it is that of the first. What a server
//! begins or commits by itself does not show.

use crate::lexer::Token;

/// What a statement does to the transaction of its session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TransactionStep {
    Nothing,
    Begins,
    Commits(Behind),
    RollsBack(Behind),
    Saves(String),
    /// It goes back to this savepoint, and the transaction goes on.
    GoesBackTo(String),
    Releases(String),
    /// PREPARE TRANSACTION: it is that of no session any more.
    Prepares,
    /// COMMIT PREPARED or ROLLBACK PREPARED: it ends one that is that of no session.
    EndsPrepared,
}

/// What is behind the end of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Behind {
    Nothing,
    /// The next one, by AND CHAIN.
    Another,
}

impl TransactionStep {
    /// What `text` does, which was split into `tokens`. Names of savepoints are in small letters.
    pub fn of(text: &str, tokens: &[Token]) -> TransactionStep {
        let is_word = |at: usize, words: &[&str]| tokens.get(at).is_some_and(|token| token.is_word(text, words));
        // The word SAVEPOINT may be left out before it.
        let savepoint = |at: usize| {
            let token = tokens.get(at + usize::from(is_word(at, &["savepoint"])));
            token.and_then(|token| token.name(text)).unwrap_or_default().to_lowercase()
        };
        let is_transaction = is_word(1, &["transaction"]);
        if is_word(0, &["begin"]) || is_word(0, &["start"]) && is_transaction {
            return TransactionStep::Begins;
        }
        if is_word(0, &["prepare"]) && is_transaction {
            return TransactionStep::Prepares;
        }
        if is_word(0, &["savepoint"]) {
            return TransactionStep::Saves(savepoint(0));
        }
        if is_word(0, &["release"]) {
            return TransactionStep::Releases(savepoint(1));
        }
        let (commits, rolls_back) = (is_word(0, &["commit", "end"]), is_word(0, &["rollback", "abort"]));
        if !commits && !rolls_back {
            return TransactionStep::Nothing;
        }
        if is_word(1, &["prepared"]) {
            return TransactionStep::EndsPrepared;
        }
        // ROLLBACK TO, ROLLBACK WORK TO.
        if let Some(to) = (1..3).find(|at| rolls_back && is_word(*at, &["to"])) {
            return TransactionStep::GoesBackTo(savepoint(to + 1));
        }
        let has = |word: &str| tokens.iter().any(|token| token.is_word(text, &[word]));
        let behind = if has("chain") && !has("no") { Behind::Another } else { Behind::Nothing };
        if commits { TransactionStep::Commits(behind) } else { TransactionStep::RollsBack(behind) }
    }
}

#[cfg(test)]
mod tests {
    use super::TransactionStep::{self, *};
    use super::*;
    use crate::lexer::tokens;
    use crate::reading::Dialect;

    #[test]
    fn what_begins_ends_and_goes_back_is_known_in_all_its_words() {
        let name = |name: &str| name.to_owned();
        for (text, expected) in [
            ("/* app */ BEGIN ISOLATION LEVEL SERIALIZABLE", Begins),
            ("start transaction read only", Begins),
            ("COMMIT", Commits(Behind::Nothing)),
            ("end work and no chain", Commits(Behind::Nothing)),
            ("COMMIT WORK AND CHAIN", Commits(Behind::Another)),
            ("ABORT", RollsBack(Behind::Nothing)),
            ("ROLLBACK AND CHAIN", RollsBack(Behind::Another)),
            ("SAVEPOINT \"S 1\"", Saves(name("s 1"))),
            ("savepoint prepared", Saves(name("prepared"))),
            ("ROLLBACK TO s", GoesBackTo(name("s"))),
            ("rollback work to savepoint S", GoesBackTo(name("s"))),
            ("RELEASE s", Releases(name("s"))),
            ("RELEASE SAVEPOINT s", Releases(name("s"))),
            ("PREPARE TRANSACTION 'a'", Prepares),
            ("COMMIT PREPARED 'a'", EndsPrepared),
            ("ROLLBACK PREPARED 'a'", EndsPrepared),
            ("PREPARE q AS SELECT 1", Nothing),
            ("START SLAVE", Nothing),
            ("SELECT 'commit'", Nothing),
            ("", Nothing),
        ] {
            assert_eq!(TransactionStep::of(text, &tokens(text, Dialect::Postgres).unwrap()), expected, "{text}");
        }
    }
}
