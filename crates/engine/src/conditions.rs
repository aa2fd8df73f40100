//! The check of the conditions that must hold of the rows of a workload.
//!
//! In: conditions, and how a query is asked. Out: which of them hold, and of the others the first row that breaks them. Limits: each
//! condition is one statement, which sees one state of the data; it may read all of it, and has no time limit but `go_on`.

use host::error::TargetError;
use std::time::Duration;
use workload::SqlCondition;

/// How long one condition may take: the data of a server may be larger than its memory.
pub(crate) const CONDITION_PATIENCE: Duration = Duration::from_secs(6 * 3_600);

/// A row, each value as text; `None` for NULL.
pub(crate) type ConditionRow = Vec<Option<String>>;

/// What a check of conditions has found.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct CheckedConditions {
    /// How many there are.
    pub total: usize,
    /// How many were checked: fewer if the check was ended early.
    pub checked: usize,
    /// Those that do not hold.
    pub broken: Vec<BrokenRule>,
}

impl CheckedConditions {
    /// Both of two parts of the same data set.
    pub(crate) fn joined_with(mut self, other: CheckedConditions) -> CheckedConditions {
        self.checked = self.checked.min(other.checked);
        for broken in other.broken {
            if !self.broken.iter().any(|known| known.number == broken.number) {
                self.broken.push(broken);
            }
        }
        self
    }
}

/// A condition that does not hold.
#[derive(Debug, PartialEq, Eq)]
pub struct BrokenRule {
    /// The number of the condition in its workload.
    pub number: u8,
    /// What must hold, and the first row for which it does not.
    pub text: String,
}

/// Checks `conditions` as long as `go_on` returns true; `ask` returns the first row of a query.
pub(crate) fn check_conditions(
    conditions: &[SqlCondition],
    go_on: &mut dyn FnMut() -> bool,
    mut ask: impl FnMut(&str) -> Result<Option<ConditionRow>, TargetError>,
) -> Result<CheckedConditions, TargetError> {
    let mut found = CheckedConditions { total: conditions.len(), ..CheckedConditions::default() };
    for condition in conditions {
        if !go_on() {
            break;
        }
        let broken = ask(&condition.query)?.map(|row| describe_row(condition, &row));
        found.broken.extend(broken.map(|text| BrokenRule { number: condition.number, text }));
        found.checked += 1;
    }
    Ok(found)
}

/// `w_ytd is the sum of d_ytd; not so for w_id = 1, w_ytd = 5, sum of d_ytd = 4`.
fn describe_row(condition: &SqlCondition, row: &ConditionRow) -> String {
    let values = condition.columns.iter().zip(row).map(|(name, value)| {
        // A server may send anything.
        let value = value.as_deref().map(|value| value.escape_debug().take(80).collect::<String>());
        format!("{name} = {}", value.unwrap_or_else(|| "NULL".to_owned()))
    });
    format!("{}; not so for {}", condition.rule, values.collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn condition(number: u8) -> SqlCondition {
        SqlCondition { number, rule: "a is b", query: format!("query {number}"), columns: &["a", "b"] }
    }

    #[test]
    fn a_condition_without_a_row_holds_and_the_row_of_another_is_described() {
        let row = vec![Some("1\n".to_owned()), None];
        let ask = |query: &str| Ok((query == "query 2").then(|| row.clone()));
        let found = check_conditions(&[1, 2, 3].map(condition), &mut || true, ask).unwrap();
        let text = "a is b; not so for a = 1\\n, b = NULL".to_owned();
        let broken = vec![BrokenRule { number: 2, text }];
        assert_eq!(found, CheckedConditions { total: 3, checked: 3, broken });
    }

    #[test]
    fn a_check_that_is_ended_has_checked_fewer() {
        let mut left = 2;
        let mut go_on = || {
            left -= 1;
            left >= 0
        };
        let found = check_conditions(&[1, 2, 3].map(condition), &mut go_on, |_| Ok(None)).unwrap();
        assert_eq!((found.checked, found.total), (2, 3));
    }
}
