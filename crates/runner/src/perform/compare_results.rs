//! Whether variants of a statement return the same.
//!
//! In: what the statement of a point has returned. Out: an error with the first row that differs from what another variant, or another
//! repeat, has returned for the same question on the same data and engine. Limits: points of an earlier session of the same run are not
//! compared with these row by row; their checksums are in the run file.

use crate::error::RunnerError;
use engine::{ResultDifference, VariantResult};
use model::Trial;
use std::collections::BTreeMap;

/// What variants must return, by engine, data and question.
#[derive(Default)]
pub(super) struct ExpectedResults(BTreeMap<String, VariantResult>);

impl ExpectedResults {
    /// Keeps the first result of a question, and compares others with it.
    pub fn compare(&mut self, trial: &Trial, result: VariantResult) -> Result<(), RunnerError> {
        let own = &result.variant;
        if let Some(difference) = &result.difference {
            return Err(differing(&format!("variant `{own}`"), "its first execution", difference));
        }
        let question = question_of(trial);
        let Some(expected) = self.0.get(&question) else {
            self.0.insert(question, result);
            return Ok(());
        };
        let Some(difference) = expected.rows.difference(&result.rows) else { return Ok(()) };
        let against = if expected.variant == *own {
            "an earlier repeat".to_owned()
        } else {
            format!("variant `{}`", expected.variant)
        };
        Err(differing(&format!("variant `{own}`"), &against, &difference))
    }
}

/// What the variants of `trial` ask for, and of which data.
fn question_of(trial: &Trial) -> String {
    let question = trial.workload.params.0.get("question").map_or(String::new(), ToString::to_string);
    format!("{} {question}", engine::shape_of(trial))
}

/// The error that `who` has returned something else than `against`.
fn differing(who: &str, against: &str, difference: &ResultDifference) -> RunnerError {
    let ResultDifference { expected, found, row } = difference;
    let counts = match (expected.columns == found.columns, expected.rows == found.rows) {
        (false, _) => format!(": {} columns instead of {}", found.columns, expected.columns),
        (true, false) => format!(": {} rows instead of {}", found.rows, expected.rows),
        (true, true) => String::new(),
    };
    let shown = |row: &Option<String>| row.clone().unwrap_or_else(|| "no more row".to_owned());
    let row = match row {
        Some([expected, found]) => {
            format!("; the first row that differs: {} instead of {}", shown(found), shown(expected))
        }
        None => String::new(),
    };
    RunnerError::failed(format!(
        "{who} returned another result than {against}{counts}{row}; a variant that returns something else is not faster but wrong"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::ResultSummary;

    #[test]
    fn the_error_names_both_variants_and_the_first_row() {
        let summary = |rows| ResultSummary { rows, columns: 2, checksum: rows };
        let row = Some([Some("(1, 'a')".to_owned()), None]);
        let difference = ResultDifference { expected: summary(2), found: summary(1), row };
        let text = differing("variant `view`", "variant `derived`", &difference).to_string();
        assert_eq!(
            text,
            "variant `view` returned another result than variant `derived`: 1 rows instead of 2; the first row that differs: no more \
             row instead of (1, 'a'); a variant that returns something else is not faster but wrong"
        );
    }
}
