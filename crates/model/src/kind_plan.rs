//! How a server performs one kind of statement of a replay: the steps of its plan, in its order.
//!
//! In: the steps, in words, of one recorded statement of the kind. Out: the text of a fact that holds them, and back. Limits: a plan has no costs, no
//! estimates and no values, so that the same plan is the same text; of a long one the rest is counted.

use serde::{Deserialize, Serialize};

/// What the name of a fact begins with that has the plan of one kind of statement of a replay; the number of the kind follows.
pub const REPLAY_PLAN_FACT: &str = "replay_plan.";
/// The fact that tells of how many kinds of statement of a replay there is a plan, and why not of the others.
pub const REPLAY_PLANS_FACT: &str = "replay_plans";

/// The steps of a longer plan are counted.
const BYTES_MAX: usize = 2_048;

/// How a server performs one kind of statement.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KindPlan {
    /// The name of the kind.
    pub kind: String,
    /// What it does, one after the other: ``reads `orders` by index `customer` ``.
    pub steps: Vec<String>,
}

impl KindPlan {
    /// It as the text of a fact: the kind in the first line, and a step in each further one.
    pub fn text(&self) -> String {
        let mut text = self.kind.clone();
        for (at, step) in self.steps.iter().enumerate() {
            if text.len() + step.len() > BYTES_MAX {
                text += &format!("\n{} more steps", self.steps.len() - at);
                break;
            }
            text.push('\n');
            text.extend(step.chars().map(|c| if c.is_control() { ' ' } else { c }));
        }
        text
    }

    /// What a fact holds; `None` if it has no step.
    pub fn from_text(text: &str) -> Option<KindPlan> {
        let (kind, steps) = text.split_once('\n')?;
        Some(KindPlan { kind: kind.to_owned(), steps: steps.lines().map(str::to_owned).collect() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_comes_back_from_its_fact_and_a_long_one_is_cut() {
        let steps = |count: usize| (0..count).map(|nth| format!("reads all of `part{nth}`")).collect::<Vec<_>>();
        let plan = KindPlan { kind: "select c from t".into(), steps: steps(3) };
        assert_eq!(KindPlan::from_text(&plan.text()), Some(plan));
        let long = KindPlan { kind: "select c from parts".into(), steps: steps(1_000) }.text();
        let found = KindPlan::from_text(&long).unwrap();
        assert!(long.len() < BYTES_MAX + 30, "{}", long.len());
        assert_eq!(found.steps.last(), Some(&format!("{} more steps", 1_001 - found.steps.len())));
        let odd = KindPlan { kind: "k".into(), steps: vec!["reads all of `a\nb`".into()] };
        assert_eq!(KindPlan::from_text(&odd.text()).unwrap().steps, ["reads all of `a b`"]);
        assert_eq!(KindPlan::from_text("select c from t"), None);
    }
}
