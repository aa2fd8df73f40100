//! How many pairs a comparison can have in the budget of its run, before it is spent.
//!
//! In: a plan, and what earlier runs took. Out: how often all of its points fit into the budget, and a line if that decides nothing. Limits: places
//! that are decided early leave their time to the others, and points that are known end early, so some comparisons get more pairs.

use crate::commands::plans;
use crate::exit::Fault;
use crate::flags;
use crate::foreseen_time::EarlierRuns;
use clap::ArgMatches;
use engine::requirements::uses_found_data;
use model::sure::{FIRST_ROUND_PART, PAIRS_MIN, budget_flag};
use model::{Catalogue, Nanos, Plan, Trial};
use std::path::Path;

/// How often all points of `plan` can be measured: by its budget, and by the repeats that it allows; `None` if it does not go on until it is sure.
pub fn pairs_in_time(plan: &Plan, earlier: &EarlierRuns, catalogue: &Catalogue) -> Option<u32> {
    let sure = plan.sure?;
    let Some(budget) = sure.budget else { return Some(sure.pairs_max) };
    // Points that take no time fit as often as one likes: the number saturates.
    let rounds = (budget.as_secs_f64() / round_seconds(plan, earlier, catalogue).iter().sum::<f64>()) as u32;
    Some(rounds.min(sure.pairs_max))
}

/// `plan` with points as long as `matches` and its budget let them be.
pub fn fit_lengths(plan: Plan, matches: &ArgMatches, runs: &Path, catalogue: &Catalogue) -> Result<Plan, Fault> {
    flags::quick_look(fit_first_round(plan, runs, catalogue), matches, catalogue)
}

/// `plan` whose points leave room in the first round of its budget for what they take apart from their load, as far as the runs in `runs` tell, or as is
/// usual. Without a budget nothing changes.
fn fit_first_round(plan: Plan, runs: &Path, catalogue: &Catalogue) -> Plan {
    let is_bounded = plan.sure.is_some_and(|sure| sure.budget.is_some());
    if is_bounded { with_room(plan, &EarlierRuns::recall(runs), catalogue) } else { plan }
}

fn with_room(plan: Plan, earlier: &EarlierRuns, catalogue: &Catalogue) -> Plan {
    let [_, beside] = round_seconds(&plan, earlier, catalogue);
    plan::leave_room(plan, Nanos((beside * 1e9) as u64), catalogue)
}

/// What `plan` lacks to decide anything, in one line, if it goes on until it is sure.
pub fn too_few_pairs(plan: &Plan, earlier: &EarlierRuns, catalogue: &Catalogue) -> Option<String> {
    let (sure, pairs) = (plan.sure?, pairs_in_time(plan, earlier, catalogue)?);
    let what = if sure.comparisons > 0 { "pairs" } else { "repeats of each point" };
    if sure.pairs_max < PAIRS_MIN {
        return Some(format!(
            "{} {what} are too few to decide anything: use --repeat {PAIRS_MIN} or more",
            sure.pairs_max
        ));
    }
    let budget = sure.budget.filter(|_| pairs < PAIRS_MIN)?;
    let rounds = f64::from(PAIRS_MIN);
    let [load, beside] = round_seconds(plan, earlier, catalogue).map(|seconds| rounds * seconds);
    // In a larger budget points are longer: up to their part of it in each round.
    let needed = (load + beside).max(beside / (1.0 - rounds / f64::from(FIRST_ROUND_PART))).ceil();
    let time_for = if pairs == 0 { "none".to_owned() } else { pairs.to_string() };
    Some(format!(
        "a budget of {} is too short: it takes {PAIRS_MIN} {what} to decide anything, and there is time for {time_for}; use {} or more, or \
         fewer points",
        plans::long_time(budget.as_secs_f64()),
        budget_flag(needed)
    ))
}

/// About how long all points of `plan` take once: their warmup and run, and all apart from that, such as data and servers.
fn round_seconds(plan: &Plan, earlier: &EarlierRuns, catalogue: &Catalogue) -> [f64; 2] {
    let starts = plan::chains_with_new_data(plan, catalogue).into_iter().map(|chain| chain.start);
    let made: Vec<usize> = starts.filter(|start| !uses_found_data(&plan.trials[*start])).collect();
    let beside = |(nth, trial): (usize, &Trial)| {
        let makes_data = made.contains(&nth);
        let data = if makes_data { earlier.load_seconds(trial) } else { 0.0 };
        data + earlier.point_seconds(trial, makes_data)
    };
    // What ends with its work, and was never measured, takes nobody knows how long.
    let load = |(_, trial): (usize, &Trial)| {
        let own = plan::expected_seconds(trial, catalogue).or_else(|| earlier.self_ended_seconds(trial));
        own.unwrap_or(0.0)
    };
    let round = || plan.trials.iter().enumerate().filter(|(_, trial)| trial.repeat == 1);
    [round().map(load).sum(), round().map(beside).sum()]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many pairs there is time for, and what is said of it.
    fn foreseen(flags: &[(&str, &str)]) -> (Option<u32>, Option<String>) {
        let catalogue = runner::catalogue();
        let usual = [("engine", "null"), ("warmup", "0s"), ("time", "2s")];
        let own = usual.iter().chain(flags).map(|(key, text)| (key.to_string(), text.to_string())).collect();
        let plan = plan::from_flags("file", &plan::Overrides::from_flags(own), 1.0, &catalogue).expect("a valid plan");
        let earlier = EarlierRuns::default();
        (pairs_in_time(&plan, &earlier, &catalogue), too_few_pairs(&plan, &earlier, &catalogue))
    }

    #[test]
    fn a_budget_that_is_too_short_for_four_pairs_says_how_long_those_take() {
        let ab = ("ab", "service=1ms,4ms");
        let (pairs, said) = foreseen(&[ab, ("budget", "10s")]);
        // A point of 2 s begins and ends in 0.15 s.
        let line = "a budget of 10.0 s is too short: it takes 4 pairs to decide anything, and there is time for 2; use --budget 18s or more, or fewer points";
        assert_eq!((pairs, said.as_deref()), (Some(2), Some(line)));
        assert_eq!(foreseen(&[ab, ("budget", "18s")]), (Some(4), None));
        assert_eq!(foreseen(&[ab, ("budget", "1h")]), (Some(20), None));
        let (_, repeats) = foreseen(&[("clients", "1,2,4"), ("budget", "20s")]);
        assert!(
            repeats.is_some_and(|line| line.contains("too short: it takes 4 repeats of each point to decide anything"))
        );
        assert_eq!([90.0, 121.0, 600.0].map(budget_flag), ["--budget 90s", "--budget 3m", "--budget 10m"]);
    }

    #[test]
    fn a_first_round_of_24_points_keeps_to_a_tenth_of_the_budget_with_all_that_it_takes() {
        let (catalogue, earlier) = (runner::catalogue(), EarlierRuns::default());
        let clients: Vec<String> = (1..=24).map(|clients| clients.to_string()).collect();
        let clients = clients.join(",");
        let flags =
            [("engine", "null"), ("clients", clients.as_str()), ("warmup", "10s"), ("time", "60s"), ("budget", "10m")];
        let flags = flags.iter().map(|(key, text)| (key.to_string(), text.to_string())).collect();
        let plan =
            plan::from_flags("file", &plan::Overrides::from_flags(flags), 1.0, &catalogue).expect("a valid plan");
        let round = |plan: &Plan| round_seconds(plan, &earlier, &catalogue).iter().sum::<f64>();
        assert!(round(&plan) > 61.0, "the load alone takes a tenth: {}", round(&plan));
        let fitted = with_room(plan, &earlier, &catalogue);
        assert!(round(&fitted) <= 60.001, "{}", round(&fitted));
        assert!(fitted.trials.iter().all(|trial| trial.phases.run.as_secs_f64() >= 2.0));
    }

    #[test]
    fn too_few_repeats_are_named_and_a_plan_of_a_fixed_number_says_nothing() {
        let few = "3 pairs are too few to decide anything: use --repeat 4 or more".to_owned();
        let ab = ("ab", "service=1ms,4ms");
        assert_eq!(foreseen(&[ab, ("budget", "5m"), ("repeat", "3")]), (Some(3), Some(few)));
        assert_eq!(foreseen(&[ab, ("until", "sure")]), (Some(20), None));
        assert_eq!(foreseen(&[ab, ("repeat", "2")]), (None, None));
    }
}
