//! When a run with a budget has measured every point once: then there is a first table, long before its end.
//!
//! In: the plan, what of it was complete before, and the trial that begins. Out: the line above the table, once. Limits: it is due when the first
//! repeat begins; a run whose time is over after the first round has its complete answer at once.

use super::left::clock;
use model::sure::FIRST_ROUND_PART;
use model::{Nanos, Plan, Trial};
use std::collections::BTreeSet;

/// Up to this factor of its part of the budget a first round is not called late: it took about what was meant for it.
const LATE: f64 = 1.2;

/// The first round of a budget, before it was shown.
pub struct FirstRound {
    budget: Nanos,
    points: usize,
    /// How many of them are complete: others were skipped, or failed.
    measured: usize,
}

impl FirstRound {
    /// That of `plan`, of which the trials `done` were complete before; `None` without a budget, with a single point, or if repeats were measured
    /// already.
    pub fn of_plan(plan: &Plan, done: &BTreeSet<usize>) -> Option<FirstRound> {
        let budget = plan.sure?.budget?;
        let points = plan.trials.iter().filter(|trial| trial.repeat == 1).count();
        let is_over = done.iter().filter_map(|nth| plan.trials.get(*nth)).any(is_after_first_round);
        (points > 1 && !is_over).then_some(FirstRound { budget, points, measured: done.len() })
    }

    /// One of its points is complete.
    pub fn note_measured(&mut self) {
        self.measured += 1;
    }

    /// What is above the table if so much of the budget is `left`.
    pub fn heading(&self, left: Nanos) -> String {
        let FirstRound { budget, points, measured } = *self;
        let took = Nanos(budget.0.saturating_sub(left.0));
        // By the seconds that are printed: 0:06 of 1:00 is a tenth.
        let meant = budget.as_secs_f64() / f64::from(FIRST_ROUND_PART);
        let is_late = took.as_secs_f64().round() > LATE * meant;
        let [took, budget] = [took, budget].map(|time| clock(time.as_secs_f64()));
        let late = if is_late { ", more than the tenth that was meant for it" } else { "" };
        let which = match measured {
            measured if measured == points => format!("each of {points} points was"),
            1 => format!("1 of {points} points was"),
            measured => format!("{measured} of {points} points were"),
        };
        format!(
            "First look after {took} of {budget}{late}: {which} measured once, and briefly. Repeats follow and may change these numbers."
        )
    }
}

/// Whether a first round is over when `trial` begins.
pub fn is_after_first_round(trial: &Trial) -> bool {
    trial.repeat > 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(flags: &[(&str, &str)]) -> Plan {
        let usual = [("engine", "null"), ("clients", "1,2,4")];
        let flags = usual.iter().chain(flags).map(|(key, text)| (key.to_string(), text.to_string())).collect();
        plan::from_flags("file", &plan::Overrides::from_flags(flags), 1.0, &runner::catalogue()).expect("a valid plan")
    }

    #[test]
    fn the_first_look_says_when_it_is_and_what_it_is_worth() {
        let plan = plan(&[("budget", "100s")]);
        let mut round = FirstRound::of_plan(&plan, &BTreeSet::new()).expect("it has a budget");
        let second = plan.trials.iter().find(|trial| trial.repeat == 2).expect("it has repeats");
        assert!(!is_after_first_round(&plan.trials[2]) && is_after_first_round(second));
        (0..2).for_each(|_| round.note_measured());
        let skipped = round.heading(Nanos::from_secs(92));
        assert!(skipped.contains(": 2 of 3 points were measured once, and briefly. "), "{skipped}");
        round.note_measured();
        let heading = round.heading(Nanos::from_secs(92));
        let begins = "First look after 0:08 of 1:40: each of 3 points was measured once, and briefly. ";
        assert!(heading.starts_with(begins), "{heading}");
        for left in [89_600, 88_000] {
            let heading = round.heading(Nanos::from_millis(left));
            assert!(!heading.contains("tenth"), "{heading}");
        }
        let late = round.heading(Nanos::from_secs(75));
        assert!(late.contains(", more than the tenth that was meant for it: each of 3 points"), "{late}");
    }

    #[test]
    fn there_is_no_first_look_without_a_budget_and_none_after_repeats() {
        assert!(FirstRound::of_plan(&plan(&[("repeat", "4")]), &BTreeSet::new()).is_none());
        let resumed = plan(&[("budget", "100s")]);
        assert!(FirstRound::of_plan(&resumed, &(0..3).collect()).is_some(), "the first round was all");
        assert!(FirstRound::of_plan(&resumed, &(0..4).collect()).is_none());
    }
}
