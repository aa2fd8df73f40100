//! Plans that go on until they are sure: `until = sure`, and `budget`, the time of a whole run.
//!
//! In: the points of a plan, what it compares, and how long it may take. Out: the plan with a place and an arm for each trial, by which repeats are
//! left out that nothing depends on any more; with a budget, points so short that the first round takes a tenth of it. Limits: which repeats are
//! needed is decided while they are measured, by [`model::sure`]. Searches for a rate, and runs until steady, take the time that they take.

use crate::common::{BUDGET, INTERVAL_MIN};
use crate::ending::{Budget, PAIRS_MAX};
use crate::error::PlanError;
use crate::point::twentieth_at_most;
use crate::question::setting_name;
use crate::sweep::{Matrix, Point, TRIALS_MAX};
use crate::value::time_text;
use model::sure::{ArmPlace, FIRST_ROUND_PART, Precision, SurePlan, WARMUP_PART};
use model::{Catalogue, EngineProcess, Nanos, Phases, Plan, Trial};
use std::collections::{BTreeMap, BTreeSet};

/// A shorter point says little: the kernel writes back and engines flush about once a second.
const POINT_MIN: Nanos = Nanos::from_secs(2);
/// The warmup keeps this part of a point that has no room for more.
const WARMUP_LEAST_PART: u64 = 10;
/// How `matrix` goes on until it is sure, if it does: its points get their places and arms, and with a budget their length and repeats. `compare` is
/// the setting whose values are compared.
pub(crate) fn make_sure(
    matrix: &mut Matrix<'_>,
    compare: Option<&str>,
    catalogue: &Catalogue,
) -> Result<Option<SurePlan>, PlanError> {
    let (budget, asked) = (matrix.budget, matrix.points.iter().find_map(|point| point.sure));
    if let Some(budget) = budget {
        refuse_unbounded(&matrix.points, budget, catalogue)?;
        fit_to_budget(&mut matrix.points, budget, catalogue)?;
    }
    let pairs_max = matrix.points.iter().map(|point| point.repeats).max().unwrap_or(1);
    let Some(difference) = asked.or(budget.map(|_| Precision::USUAL)).filter(|_| pairs_max > 1) else {
        return Ok(None);
    };
    let comparisons = place_arms(&mut matrix.points, compare, catalogue);
    Ok(Some(SurePlan { difference, pairs_max, comparisons, budget: budget.map(|budget| budget.time) }))
}

/// Gives each of `points` its place and its arm by the values that were written for it. Returns how many comparisons that makes. Engines inside
/// plimsoll and servers are not ranked with each other, so each sort has a base of its own.
fn place_arms(points: &mut [Point<'_>], compare: Option<&str>, catalogue: &Catalogue) -> u32 {
    let is_compared = |key: &str| compare == Some(setting_name(key));
    // A key that only some of the points have does not tell places apart that both arms share.
    let is_shared = |key: &str| points.iter().all(|point| point.picked.iter().any(|(own, _)| own == key));
    let telling: BTreeSet<String> = points.iter().flat_map(|point| &point.picked).map(|(key, _)| key.clone()).collect();
    let telling: Vec<String> = telling.into_iter().filter(|key| !is_compared(key) && is_shared(key)).collect();
    let values = |point: &Point<'_>, is_meant: &dyn Fn(&str) -> bool| -> Vec<String> {
        point.picked.iter().filter(|(key, _)| is_meant(key)).map(|(key, text)| format!("{key}={text}")).collect()
    };
    let sorts = engine_sorts(points, compare, catalogue);
    let keys: Vec<ArmKey> = points
        .iter()
        .zip(&sorts)
        .enumerate()
        .map(|(nth, (point, sort))| match compare {
            Some(_) => ArmKey {
                place: (*sort, values(point, &|key| telling.iter().any(|own| own == key))),
                arm: values(point, &is_compared),
            },
            None => ArmKey { place: (*sort, vec![nth.to_string()]), arm: Vec::new() },
        })
        .collect();
    let places = numbered(keys.iter().map(|key| &key.place));
    let arms = [EngineSort::Any, EngineSort::Embedded, EngineSort::Server]
        .map(|sort| (sort, numbered(keys.iter().filter(|key| key.place.0 == sort).map(|key| &key.arm))));
    let arms = BTreeMap::from(arms);
    for (point, ArmKey { place, arm }) in points.iter_mut().zip(&keys) {
        point.trial.arm = Some(ArmPlace { place: places[place], arm: arms[&place.0][arm] });
    }
    let has_base = |place: u32| points.iter().any(|point| point.trial.arm == Some(ArmPlace { place, arm: 0 }));
    let others = points.iter().filter_map(|point| point.trial.arm).filter(|at| at.arm > 0 && has_base(at.place));
    others.count() as u32
}

/// What a point is compared by.
struct ArmKey {
    /// What it shares with those that it is compared with.
    place: (EngineSort, Vec<String>),
    arm: Vec<String>,
}

/// Which engines an engine is compared with.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum EngineSort {
    /// All that are of no other sort.
    Any,
    /// Those inside plimsoll's process.
    Embedded,
    Server,
}

/// The sort of each of `points`: one for all of them unless engines are compared and both sorts are there.
fn engine_sorts(points: &[Point<'_>], compare: Option<&str>, catalogue: &Catalogue) -> Vec<EngineSort> {
    let sort = |point: &Point<'_>| match (catalogue.engine_process)(&point.trial.target.engine) {
        EngineProcess::Embedded => EngineSort::Embedded,
        EngineProcess::Own | EngineProcess::Elsewhere => EngineSort::Server,
        EngineProcess::None | EngineProcess::Unknown => EngineSort::Any,
    };
    let sorts: Vec<EngineSort> = points.iter().map(sort).collect();
    let are_both_there = [EngineSort::Embedded, EngineSort::Server].iter().all(|sort| sorts.contains(sort));
    if are_both_there && compare == Some("engine") { sorts } else { vec![EngineSort::Any; points.len()] }
}

/// Each of `all` with its number in the order in which they first come.
fn numbered<'k, K: Ord + 'k>(all: impl Iterator<Item = &'k K>) -> BTreeMap<&'k K, u32> {
    let mut numbers = BTreeMap::new();
    for one in all {
        let next = numbers.len() as u32;
        numbers.entry(one).or_insert(next);
    }
    numbers
}

/// Refuses `points` that a budget does not bound. Steps that load what is measured after them take the time that they take.
fn refuse_unbounded(points: &[Point<'_>], budget: Budget<'_>, catalogue: &Catalogue) -> Result<(), PlanError> {
    let unfit = points.iter().find(|point| point.trial.limit.is_some() || point.trial.phases.round().is_some());
    if let Some(point) = unfit {
        let other = if point.trial.limit.is_some() { "rate = `limit`" } else { "until = `steady`" };
        return Err(budget.place.error(format_args!("`{BUDGET}` and {other} exclude each other; leave one out")));
    }
    if !points.is_empty() && points.iter().all(|point| point.repeats_max == Some(1)) {
        let why = "a budget is for repeats; leave one out";
        return Err(budget.place.error(format_args!("`{BUDGET}` and repeat = `1` exclude each other: {why}")));
    }
    let has_steps = |name: &str| catalogue.workloads.iter().any(|entry| entry.name == name && entry.steps().is_some());
    let is_timed = |name: &str| {
        points.iter().any(|point| point.trial.workload.name == name && !ends_itself(&point.trial, catalogue))
    };
    let of_rows = |name: &str| has_steps(name) && !is_timed(name);
    if points.iter().any(|point| of_rows(&point.trial.workload.name)) {
        let what = "has no effect on steps that end when their rows are inserted; set rows = `0`, or leave it out";
        return Err(budget.place.error_of(BUDGET, what));
    }
    Ok(())
}

fn ends_itself(trial: &Trial, catalogue: &Catalogue) -> bool {
    (catalogue.run_ops)(&trial.workload.name, &trial.workload.params).is_some()
}

/// Cuts `points` to a length at which all of them, once, take a tenth of `budget`; the rest of it is for their repeats.
fn fit_to_budget(points: &mut [Point<'_>], budget: Budget<'_>, catalogue: &Catalogue) -> Result<(), PlanError> {
    let Budget { time: budget, place } = budget;
    let count = points.len().max(1) as u64;
    let ends_itself = |trial: &Trial| ends_itself(trial, catalogue);
    let timed = points.iter().map(|point| &point.trial).filter(|trial| !ends_itself(trial));
    let lengths: Vec<u64> = timed.map(|trial| length(&trial.phases).min(POINT_MIN).0).collect();
    let least = Nanos(lengths.iter().fold(0, |sum, one| sum.saturating_add(*one)));
    if least > budget {
        let (budget, least, timed) = (time_text(budget), time_text(least), lengths.len());
        return Err(place.error(format_args!(
            "`{BUDGET}` = `{budget}` is too short for {timed} points of up to 2 s; use at least `{least}`, or fewer points"
        )));
    }
    let each = Nanos(budget.0 / u64::from(FIRST_ROUND_PART) / (lengths.len() as u64).max(1)).max(POINT_MIN);
    let repeats = PAIRS_MAX.min((TRIALS_MAX as u64 / count) as u32);
    for point in points {
        point.repeats = point.repeats_max.unwrap_or(point.repeats.max(repeats));
        let trial = &mut point.trial;
        if !ends_itself(trial) {
            cut(&mut trial.phases, each);
        }
    }
    Ok(())
}

/// `plan` with points so short that its first round keeps to its part of the budget, although its data, its servers and all else apart from warmup and
/// run take `beside`; none is shorter than the least length. Without a budget nothing changes.
pub fn leave_room(mut plan: Plan, beside: Nanos, catalogue: &Catalogue) -> Plan {
    let Some(budget) = plan.sure.and_then(|sure| sure.budget) else { return plan };
    let is_timed = |trial: &Trial| !ends_itself(trial, catalogue);
    let timed = plan.trials.iter().filter(|trial| trial.repeat == 1 && is_timed(trial)).count() as u64;
    let room = (budget.0 / u64::from(FIRST_ROUND_PART)).saturating_sub(beside.0);
    let each = Nanos(room / timed.max(1)).max(POINT_MIN);
    for trial in plan.trials.iter_mut().filter(|trial| is_timed(trial)) {
        cut(&mut trial.phases, each);
        // The run has its least length first, but no engine begins at its usual rate.
        let rest = each.0.saturating_sub(trial.phases.run.0).max(each.0 / WARMUP_LEAST_PART);
        trial.phases.warmup = trial.phases.warmup.min(Nanos(rest));
    }
    plan
}

/// The length of warmup and run.
fn length(phases: &Phases) -> Nanos {
    Nanos(phases.warmup.0.saturating_add(phases.run.0))
}

/// Cuts warmup and run to `each` together.
fn cut(phases: &mut Phases, each: Nanos) {
    if length(phases) <= each {
        return;
    }
    phases.warmup = phases.warmup.min(Nanos(each.0 / u64::from(WARMUP_PART)));
    // A run below the least length says little, however long its warmup is.
    let least = POINT_MIN.min(phases.run).max(INTERVAL_MIN);
    phases.run = phases.run.min(Nanos(each.0 - phases.warmup.0)).max(least);
    phases.interval = twentieth_at_most(phases.interval, phases.run);
}

/// Whether the trials of repeat number `repeat` are measured in reverse. The first repeat is in order, and chance decides of the others: in whatever
/// way the noise of one point depends on that of the next, it then favours neither arm, which A B B A does not reach.
pub(crate) fn is_reversed(seed: u64, repeat: u32) -> bool {
    // SplitMix64 (Steele, Lea and Flood, OOPSLA 2014): neighbouring repeats have unrelated bits.
    let state = seed.wrapping_add(u64::from(repeat).wrapping_mul(0x9E37_79B9_7F4A_7C15));
    let mixed = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    repeat > 1 && (mixed ^ (mixed >> 31)) & 1 == 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Overrides, check, fixture, parse};
    use model::Until;

    fn with(text: &str, flags: &[(&str, &str)]) -> Result<Plan, String> {
        let flags = flags.iter().map(|(key, text)| (key.to_string(), text.to_string())).collect();
        parse(text, "p.toml", &Overrides::from_flags(flags), 1.0, &fixture::with_steps())
            .map_err(|error| error.to_string())
    }

    /// Place and arm of the points of one repeat, in the order in which they are measured.
    fn arms(plan: &Plan, repeat: u32) -> Vec<(u32, u32)> {
        let own = plan.trials.iter().filter(|trial| trial.repeat == repeat);
        own.map(|trial| trial.arm.expect("it has a place")).map(|at| (at.place, at.arm)).collect()
    }

    #[test]
    fn a_comparison_until_sure_has_twenty_pairs_at_most_and_chance_has_their_order() {
        let flags = [("ab", "engine=sqlite,null"), ("clients", "1,8"), ("until", "sure:5%")];
        let plan = with("workload = 'oltp'", &flags).expect("a valid comparison");
        let difference = Precision::from_percent(5.0).unwrap();
        assert_eq!(plan.sure, Some(SurePlan { difference, pairs_max: 20, comparisons: 2, budget: None }));
        assert_eq!(arms(&plan, 1), [(0, 0), (0, 1), (1, 0), (1, 1)]);
        let reversed = (2..=20).filter(|repeat| arms(&plan, *repeat) == [(1, 1), (1, 0), (0, 1), (0, 0)]).count();
        assert!((5..=14).contains(&reversed), "{reversed} of 19 repeats are in reverse");
        assert!(plan.trials.iter().all(|trial| trial.phases.until == Until::Sure(difference)));
        assert_eq!(check(&plan, "run", &fixture::with_steps()), Ok(()));
        let more = with("workload = 'oltp'", &[&flags[..], &[("seed", "2")]].concat()).unwrap();
        assert!((2..=20).any(|repeat| arms(&plan, repeat) != arms(&more, repeat)), "another seed is another order");
    }

    #[test]
    fn arms_of_sweeps_of_their_own_meet_at_places_that_they_share() {
        let text = "workload = 'oltp'\nrepeat = 4\nuntil = 'sure'\n[[sweep]]\nengine = 'sqlite'\nclients = [1, 4]\n\
                    [[sweep]]\nengine = 'fjall'\nclients = [4, 16]\ncache = '64MiB'";
        let plan = with(text, &[]).expect("a valid plan");
        assert_eq!(arms(&plan, 1), [(0, 0), (1, 0), (1, 1), (2, 1)]);
        assert_eq!(plan.sure.map(|sure| (sure.pairs_max, sure.comparisons)), Some((4, 1)));
    }

    #[test]
    fn engines_inside_plimsoll_and_servers_have_bases_of_their_own() {
        // How many bases there are, how many others, and how many comparisons they make.
        let placed = |engines: &str, compare: &str| {
            let text = format!("workload = 'oltp'\ncompare = '{compare}'\nbudget = '5m'\n{engines}\nclients = [1, 4]");
            let plan = parse(&text, "p.toml", &Overrides::default(), 1.0, &fixture::with_servers()).expect(&text);
            let all = arms(&plan, 1);
            let with_arm = |wanted: u32| all.iter().filter(|(_, arm)| *arm == wanted).count();
            (with_arm(0), with_arm(1), plan.sure.map(|sure| sure.comparisons))
        };
        assert_eq!(placed("engine = ['sqlite', 'mariadb:innodb', 'postgres']", "engine"), (4, 2, Some(2)));
        assert_eq!(placed("engine = ['sqlite', 'postgres']", "engine"), (4, 0, Some(0)), "neither is ranked");
        assert_eq!(placed("engine = ['sqlite', 'postgres']", "clients"), (2, 2, Some(2)), "no engines are compared");
    }

    #[test]
    fn repeats_that_compare_nothing_have_places_and_a_single_point_has_none() {
        let repeats = with("workload = 'oltp'\nclients = [1, 4]\nrepeat = 6\nuntil = 'sure'", &[]).unwrap();
        assert_eq!((arms(&repeats, 3).len(), repeats.sure.map(|sure| sure.comparisons)), (2, Some(0)));
        let alone = with("workload = 'oltp'\nuntil = 'sure'", &[]).unwrap();
        assert_eq!((alone.sure, alone.trials[0].arm), (None, None));
        let phases = alone.trials[0].phases;
        assert_eq!((phases.until, phases.interval), (Until::Sure(Precision::USUAL), Nanos::from_millis(200)));
    }

    #[test]
    fn steps_that_end_with_their_rows_are_compared_until_that_is_decided() {
        let plan = with("workload = 'chain'", &[("ab", "engine=sqlite,null"), ("until", "sure")]).unwrap();
        assert!(plan.sure.is_some_and(|sure| sure.comparisons > 0), "{:?}", plan.sure);
        assert!(plan.trials.iter().any(|trial| trial.phases.until == Until::Time));
    }

    #[test]
    fn a_tenth_of_the_budget_is_for_the_first_round_and_the_rest_for_repeats() {
        let text = "workload = 'oltp'\nclients = [1, 4]\ntime = '30s'\nwarmup = '10s'\nbudget = '5m'";
        let plan = with(text, &[]).expect("a valid plan");
        let Phases { warmup, run, interval, .. } = plan.trials[0].phases;
        assert_eq!((warmup, run), (Nanos::from_secs(3), Nanos::from_secs(12)));
        assert_eq!((interval, plan.trials.len()), (Nanos::from_millis(600), 40));
        assert_eq!(plan.sure.and_then(|sure| sure.budget), Some(Nanos::from_secs(300)));
        let short = with("workload = 'oltp'\ntime = '3s'", &[("budget", "1h")]).unwrap();
        assert_eq!(short.trials[0].phases.run, Nanos::from_secs(3), "what is short stays as it is");
        let least = with(text, &[("budget", "10s")]).expect("two points of 2 s").trials[0].phases;
        assert_eq!((least.warmup, least.run), (Nanos::from_millis(400), POINT_MIN), "the warmup does not shorten it");
    }

    #[test]
    fn what_points_take_beside_their_load_makes_them_shorter_and_never_too_short() {
        let text = "workload = 'oltp'\nclients = [1, 4]\ntime = '30s'\nwarmup = '10s'\nbudget = '5m'";
        let (plan, catalogue) = (with(text, &[]).expect("a valid plan"), fixture::with_steps());
        let phases = |beside_s: u64| {
            let plan = leave_room(plan.clone(), Nanos::from_secs(beside_s), &catalogue);
            let phases = plan.trials[0].phases;
            assert!(plan.trials.iter().all(|trial| trial.phases == phases), "all repeats are alike");
            assert_eq!(check(&plan, "run", &catalogue), Ok(()));
            (phases.warmup, phases.run)
        };
        let second = Nanos::from_secs(1).0;
        assert_eq!(phases(0), (Nanos(3 * second), Nanos(12 * second)));
        assert_eq!(phases(10), (Nanos(2 * second), Nanos(8 * second)));
        // 2.3 s are left for each: two of them run.
        let tight = leave_room(plan.clone(), Nanos(254 * second / 10), &catalogue).trials[0].phases;
        assert_eq!((tight.warmup, tight.run), (Nanos(3 * second / 10), POINT_MIN));
        assert_eq!(phases(600), (Nanos(2 * second / 10), POINT_MIN));
        let fixed = with("workload = 'oltp'\ntime = '30s'", &[]).unwrap();
        assert_eq!(leave_room(fixed.clone(), Nanos::from_secs(60), &catalogue), fixed);
    }

    #[test]
    fn repeats_that_are_said_with_the_budget_or_after_it_are_the_most() {
        let pairs_max = |text: &str, flags: &[(&str, &str)]| {
            let plan = with(text, flags).expect("a valid plan");
            assert_eq!(plan.trials.iter().map(|trial| trial.repeat).max(), plan.sure.map(|sure| sure.pairs_max));
            plan.sure.expect("it has a budget").pairs_max
        };
        let (flag, ab) = (("budget", "5m"), ("ab", "clients=1,2"));
        assert_eq!(pairs_max("workload = 'oltp'", &[ab, flag]), 20);
        assert_eq!(pairs_max("workload = 'oltp'", &[ab, flag, ("until", "sure:5%")]), 20);
        assert_eq!(pairs_max("workload = 'oltp'", &[ab, flag, ("repeat", "6")]), 6);
        assert_eq!(pairs_max("workload = 'oltp'\nclients = [1, 4]\nbudget = '5m'\nrepeat = 5", &[]), 5);
        assert_eq!(pairs_max("workload = 'oltp'\nclients = [1, 4]\nbudget = '5m'", &[("repeat", "30")]), 30);
        let file = "workload = 'oltp'\nclients = [1, 4]\nrepeat = 4";
        assert_eq!(pairs_max(file, &[flag]), 20, "the plan was written for another time");
        let once =
            with("workload = 'oltp'", &[flag, ("repeat", "1")]).expect_err("it would change nothing but the time");
        let why = "`budget` and repeat = `1` exclude each other: a budget is for repeats; leave one out";
        assert_eq!(once, format!("--budget: {why}"));
        assert!(with("workload = 'oltp'\nrepeat = 1", &[flag]).is_ok());
    }

    #[test]
    fn what_has_no_end_that_it_could_be_sure_of_is_refused_in_one_line() {
        let refused = |text: &str, flags: &[(&str, &str)]| with(text, flags).expect_err(text);
        let few = refused("workload = 'oltp'", &[("clients", "1..128"), ("budget", "10s")]);
        assert!(
            few.ends_with(
                "`budget` = `10s` is too short for 8 points of up to 2 s; use at least `16s`, or fewer points"
            ),
            "{few}"
        );
        let limit = refused("workload = 'oltp'\nrate = 'limit'\nbudget = '1h'", &[]);
        assert!(limit.ends_with("`budget` and rate = `limit` exclude each other; leave one out"), "{limit}");
        let steady = refused("workload = 'oltp'\nuntil = 'steady'\nbudget = '1h'", &[]);
        assert!(steady.ends_with("`budget` and until = `steady` exclude each other; leave one out"), "{steady}");
        let rate = refused("workload = 'oltp'\nuntil = 'sure'\nrate = 100", &[]);
        assert!(rate.ends_with("`rate` and until = `sure` exclude each other; leave one out"), "{rate}");
        let twice = refused("workload = 'oltp'\n[[sweep]]\nbudget = '1h'\n[[sweep]]\nbudget = '2h'\nclients = 2", &[]);
        assert!(twice.contains("`budget` must be the same in all sweeps"), "{twice}");
    }

    #[test]
    fn who_asks_for_a_time_of_points_and_for_a_budget_is_told_that_the_budget_goes_on() {
        let refused = with("workload = 'oltp'", &[("clients", "1,2"), ("until", "time"), ("budget", "5m")]);
        let why = "`budget` and until = `time` exclude each other: a run with a budget goes on until it is sure; leave one out";
        assert_eq!(refused, Err(format!("--budget: {why}")));
        assert!(with("workload = 'oltp'\nuntil = 'time'", &[("clients", "1,2"), ("budget", "5m")]).is_ok());
    }

    #[test]
    fn a_refused_budget_is_named_where_it_was_written() {
        let refused = |text: &str, flags: &[(&str, &str)]| with(text, flags).expect_err(text);
        let flag = refused("workload = 'oltp'\nrate = 'limit'", &[("budget", "1h")]);
        assert!(flag.starts_with("--budget: "), "{flag}");
        let line = refused("workload = 'oltp'\nbudget = '10s'", &[("clients", "1..128")]);
        assert!(line.starts_with("p.toml:2: `budget` = `10s`"), "{line}");
    }

    #[test]
    fn a_budget_does_not_bound_steps_that_end_with_their_rows() {
        let loads = [("step", "l.i0,l.x"), ("budget", "1h")];
        let refused = with("workload = 'chain'", &loads).expect_err("nothing is measured after the load");
        let what = "has no effect on steps that end when their rows are inserted; set rows = `0`, or leave it out";
        assert_eq!(refused, format!("--budget {what}"));
        assert!(with("workload = 'chain'\nrows = 0", &loads).is_ok());
        assert!(with("workload = 'chain'", &[("budget", "1h")]).is_ok(), "queries are measured after the load");
    }

    #[test]
    fn a_quick_look_is_as_short_as_ever() {
        let plan =
            with("workload = 'oltp'", &[("ab", "engine=sqlite,null"), ("until", "sure"), ("time", "30s")]).unwrap();
        let quick = crate::quick_look(plan, &fixture::with_steps());
        let trial = &quick.trials[0];
        assert_eq!((quick.sure, trial.arm, trial.phases.until, quick.trials.len()), (None, None, Until::Time, 2));
        assert_eq!(trial.phases.run, Nanos::from_secs(3));
    }
}
