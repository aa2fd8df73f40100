//! The numbers of a run whose shape no kind of answer knows: the table, and no claims.

use super::{AnswerParts, AskedRun};

pub(super) fn answer(_run: &AskedRun) -> AnswerParts {
    AnswerParts { question: "What was measured?".to_owned(), ..AnswerParts::default() }
}
