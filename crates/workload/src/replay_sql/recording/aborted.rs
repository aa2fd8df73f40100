//! Statements of PostgreSQL that failed because their transaction had been aborted.
//!
//! In: the statements of a log in its order, and which of them failed. Out: of each one whether an earlier one had aborted its transaction. Limits:
//! behind a text of several statements the transaction of a session is not known until it begins the next one; nor is one of a statement that the log
//! does not have whole.

use sql::{Behind, Token, TransactionStep};
use std::collections::HashMap;

/// The transactions that are open.
#[derive(Default)]
pub(super) struct AbortedTransactions {
    /// By hashes of the names of their sessions: whether each was aborted.
    open: HashMap<u64, bool>,
}

impl AbortedTransactions {
    /// Follows the next statement of `session`, which was split into `tokens`. Whether its transaction had been aborted, so that it failed whatever it is.
    pub(super) fn follow(&mut self, session: u64, text: &str, tokens: &[Token]) -> bool {
        if tokens.iter().any(|token| token.is_sign(text, ";")) {
            self.forget(session);
            return false;
        }
        match TransactionStep::of(text, tokens) {
            TransactionStep::Begins
            | TransactionStep::Commits(Behind::Another)
            | TransactionStep::RollsBack(Behind::Another) => {
                self.open.insert(session, false);
            }
            TransactionStep::Commits(Behind::Nothing)
            | TransactionStep::RollsBack(Behind::Nothing)
            | TransactionStep::EndsPrepared => self.forget(session),
            TransactionStep::GoesBackTo(_) => {
                self.open.entry(session).and_modify(|is_aborted| *is_aborted = false);
            }
            _ => {}
        }
        self.open.get(&session).copied().unwrap_or(false)
    }

    /// The last statement of `session` failed.
    pub(super) fn fail(&mut self, session: u64) {
        if let Some(is_aborted) = self.open.get_mut(&session) {
            *is_aborted = true;
        }
    }

    /// `session` is over, or what it is in is not known.
    pub(super) fn forget(&mut self, session: u64) {
        self.open.remove(&session);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Which of `texts`, those of one session, came in a transaction that had been aborted. Those with a `!` before them failed.
    fn aborted<const N: usize>(texts: [&str; N]) -> [bool; N] {
        let mut all = AbortedTransactions::default();
        texts.map(|text| {
            let sent = text.trim_start_matches('!');
            let was_aborted = all.follow(1, sent, &sql::tokens(sent, sql::Dialect::Postgres).unwrap());
            if sent != text {
                all.fail(1);
            }
            all.fail(2);
            was_aborted
        })
    }

    #[test]
    fn a_failure_aborts_its_transaction_up_to_its_end() {
        assert_eq!(
            aborted(["BEGIN", "!SELECT 1", "!SELECT 2", "COMMIT", "!SELECT 3"]),
            [false, false, true, false, false]
        );
        assert_eq!(aborted(["start transaction", "!SELECT 1", "ROLLBACK AND CHAIN", "!SELECT 2"]), [false; 4]);
        assert_eq!(aborted(["!SELECT 1", "!SELECT 2"]), [false; 2], "each is a transaction of its own");
    }

    #[test]
    fn a_savepoint_is_gone_back_to() {
        let texts =
            ["BEGIN", "SAVEPOINT s", "!SELECT 1", "!SELECT 2", "ROLLBACK TO s", "SELECT 3", "!SELECT 4", "!SELECT 5"];
        assert_eq!(aborted(texts), [false, false, false, true, false, false, false, true]);
    }

    #[test]
    fn behind_several_statements_in_one_text_nothing_is_known() {
        assert_eq!(aborted(["BEGIN", "!SELECT 1; SELECT 2", "!SELECT 3"]), [false; 3]);
    }
}
