//! How the servers of two arms perform a kind of statement, in words: `plan differs: old reads orders by index customer; new reads all of orders`.
//!
//! In: the plans of a kind, and the names of the arms. Out: half a sentence. Limits: it names the first steps that only one of the plans has;
//! JSON has both plans.

use super::list::join_and;
use analysis::compare::{KindComparison, PlanComparison};
use words::code::code_span;

/// The arms in a table: the heads of its columns.
pub const COLUMNS: [&str; 2] = ["base", "new"];

/// The steps of each arm that are named.
const STEPS_MAX: usize = 3;
/// The kinds that a sentence names.
const NAMED_MAX: usize = 3;

/// What is to be reported of the plans of a kind that got slower or faster; `None` if an arm has none.
pub fn plan_text(plans: &PlanComparison, names: [&str; 2]) -> Option<String> {
    match plans {
        PlanComparison::Unknown => None,
        PlanComparison::Same(_) => Some("same plan".to_owned()),
        PlanComparison::Unsteady => Some("plan changes from repeat to repeat".to_owned()),
        PlanComparison::Other(plans) => Some(format!("plan differs: {}", difference(plans, names))),
    }
}

/// The same for a cell of a table.
pub fn plan_word(plans: &PlanComparison) -> &'static str {
    match plans {
        PlanComparison::Unknown => "",
        PlanComparison::Same(_) => "same plan",
        PlanComparison::Unsteady => "plan changes",
        PlanComparison::Other(_) => "plan differs",
    }
}

/// `The plans of 2 kinds of statement differ without a sure difference in their times: ...`
pub fn replanned_sentence(kinds: &KindComparison) -> Option<String> {
    let all = kinds.replanned().count();
    let named: Vec<String> = kinds.replanned().take(NAMED_MAX).map(|one| code_span(&one.kind)).collect();
    let rest = if all > named.len() { format!(" and {} more", all - named.len()) } else { String::new() };
    let what = match all {
        0 => return None,
        1 => "plan of 1 kind of statement differs without a sure difference in its time".to_owned(),
        _ => format!("plans of {all} kinds of statement differ without a sure difference in their times"),
    };
    Some(format!("The {what}: {}{rest}.", join_and(&named)))
}

/// What only one of the plans has; of plans with the same steps the first that is in another place.
fn difference([base, new]: &[Vec<String>; 2], names: [&str; 2]) -> String {
    let only = [only_in(base, new), only_in(new, base)];
    let told = [0, 1].map(|arm| format!("{} {}", names[arm], steps_text(&only[arm])));
    match only.each_ref().map(Vec::is_empty) {
        [false, false] => told.join("; "),
        [false, true] => format!("only {}", told[0]),
        [true, false] => format!("only {}", told[1]),
        [true, true] => {
            let moved = base.iter().zip(new).find(|(base, new)| base != new);
            moved.map_or(String::new(), |(base, new)| format!("{} first {base}; {} first {new}", names[0], names[1]))
        }
    }
}

/// The steps of `one` that `other` has not, or not as often.
fn only_in<'a>(one: &'a [String], other: &[String]) -> Vec<&'a str> {
    let mut left: Vec<&String> = other.iter().collect();
    let is_new = |step: &&String| match left.iter().position(|known| known == step) {
        Some(at) => {
            left.swap_remove(at);
            false
        }
        None => true,
    };
    one.iter().filter(is_new).map(String::as_str).collect()
}

fn steps_text(steps: &[&str]) -> String {
    let mut named: Vec<String> = steps.iter().take(STEPS_MAX).map(|step| (*step).to_owned()).collect();
    if steps.len() > STEPS_MAX {
        named.push(format!("does {} more steps", steps.len() - STEPS_MAX));
    }
    join_and(&named)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(base: &[&str], new: &[&str]) -> String {
        let steps = |steps: &[&str]| steps.iter().map(|step| (*step).to_owned()).collect::<Vec<String>>();
        let plans = PlanComparison::Other([steps(base), steps(new)]);
        plan_text(&plans, ["A", "B"]).expect("both have one")
    }

    #[test]
    fn a_difference_is_told_by_the_steps_that_only_one_has() {
        let by_index = "reads `orders` by index `customer`";
        assert_eq!(
            told(&[by_index], &["reads all of `orders`"]),
            format!("plan differs: A {by_index}; B reads all of `orders`")
        );
        assert_eq!(told(&[by_index], &[by_index, "sorts"]), "plan differs: only B sorts");
        assert_eq!(told(&["sorts", by_index, "sorts"], &[by_index, "sorts"]), "plan differs: only A sorts");
        let (c, o) = ("reads all of `c`", "reads all of `o`");
        assert_eq!(told(&[c, o], &[o, c]), format!("plan differs: A first {c}; B first {o}"));
        assert_eq!(
            told(&[by_index], &["a", "b", "c", "d", "e"]),
            format!("plan differs: A {by_index}; B a, b, c and does 2 more steps")
        );
    }

    #[test]
    fn what_is_not_known_of_both_is_not_told() {
        let names = ["A", "B"];
        assert_eq!(plan_text(&PlanComparison::Unknown, names), None);
        assert_eq!(plan_text(&PlanComparison::Same(Vec::new()), names).as_deref(), Some("same plan"));
        assert_eq!(plan_text(&PlanComparison::Unsteady, names).as_deref(), Some("plan changes from repeat to repeat"));
        assert_eq!(replanned_sentence(&KindComparison::default()), None);
    }
}
