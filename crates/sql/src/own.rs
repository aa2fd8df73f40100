//! The mark of what plimsoll itself asks a server.
//!
//! In: a text. Out: the text with the mark in front, or whether it has it. Limits: the mark is a comment, which servers keep in their logs and leave
//! out of their digests. It is in front, where no log cuts it off and no comment of a user swallows it.

/// What is in front of such a text.
const MARK: &str = "/* plimsoll */ ";

/// `question` with the mark by which it is left out of replays.
pub fn with_own_mark(question: &str) -> String {
    format!("{MARK}{question}")
}

/// `text` without the mark, if it has it.
pub fn without_own_mark(text: &str) -> &str {
    text.strip_prefix(MARK).unwrap_or(text)
}

/// Whether plimsoll itself has asked `text`.
pub fn has_own_mark(text: &str) -> bool {
    text.trim_start().starts_with(MARK.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Dialect, fingerprint};

    #[test]
    fn a_question_is_known_by_its_mark_and_is_the_same_statement_without_it() {
        let question = "SELECT state FROM pg_stat_activity";
        let marked = with_own_mark(question);
        assert!(has_own_mark(&marked) && has_own_mark(&format!("\n {marked}")));
        assert_eq!((without_own_mark(&marked), without_own_mark(question)), (question, question));
        let of_clients = [question, "/* shop */ SELECT 1", "SELECT '/* plimsoll */'", "/* plimsoll2 */ SELECT 1", ""];
        assert!(!of_clients.iter().any(|text| has_own_mark(text)));
        assert_eq!(fingerprint(&marked, Dialect::Postgres), fingerprint(question, Dialect::Postgres));
    }
}
