//! What a plan will take, before it runs: points, data sets, time, and what its numbers will be too weak for.
//!
//! In: a resolved plan. Out: an [`Estimate`]. Limits: the time is that of warmup and run at most; making data sets, and the
//! grace time of operations that hang, come on top, and so do points that end when their rows are in. The engines
//! estimate the space on the disk.

use crate::chain::chains;
use crate::indexes::missing_indexes;
use crate::point::{has_no_time, times_of};
use model::limit::LimitSearch;
use model::{Catalogue, Entry, Pacing, Params, Phases, Plan, Trial};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// With fewer intervals no confidence interval is computed.
const INTERVALS_NEEDED: u64 = 8;
/// So many intervals a short run gets: a drift between its halves needs 16 of them, and the first or last may be cut off.
pub(crate) const INTERVALS_USUAL: u64 = 20;
/// Ten arrivals lie above a 99th percentile of a thousand.
const ARRIVALS_FEW: f64 = 1_000.0;

/// What a plan will take.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Estimate {
    /// Points to be measured, each repetition counted.
    pub points: usize,
    /// How often data is made for them: each time that the data of the point before is not what a point begins with.
    pub data_sets: usize,
    /// Warmup and run of all points, at most, or the budget of the whole; without those that end when their rows are in. A search counts with what it
    /// usually takes.
    pub seconds: f64,
    /// Points that are searches for the largest rate.
    pub searches: usize,
    /// Points that end when their rows are in, however long that takes.
    pub until_rows: usize,
    /// What the numbers will be too weak for, or what a point will not have, and what to do about it.
    pub warnings: Vec<String>,
}

/// What `plan` will take.
pub fn estimate(plan: &Plan, catalogue: &Catalogue) -> Estimate {
    let bounded: Vec<f64> = plan.trials.iter().filter_map(|trial| expected_seconds(trial, catalogue)).collect();
    let warnings = [few_intervals(plan), few_arrivals(plan), unlike_durability(plan), missing_indexes(plan, catalogue)];
    let budget = plan.sure.and_then(|sure| sure.budget).map_or(f64::INFINITY, |budget| budget.as_secs_f64());
    Estimate {
        points: plan.trials.len(),
        data_sets: chains_with_new_data(plan, catalogue).len(),
        // The sum of no numbers is -0.0.
        seconds: (0.0 + bounded.iter().sum::<f64>()).min(budget),
        searches: plan.trials.iter().filter(|trial| trial.limit.is_some()).count(),
        until_rows: plan.trials.len() - bounded.len(),
        warnings: warnings.into_iter().flatten().collect(),
    }
}

/// The chains of `plan` for which data is made; data sets are there. A sequence has data of its own, and goes on with it; other points take over that of
/// the point before if both agree on it and neither changes it for good, or if it can be restored.
pub fn chains_with_new_data(plan: &Plan, catalogue: &Catalogue) -> Vec<Range<usize>> {
    let mut chains = chains(plan, catalogue);
    chains.retain(|Range { start, .. }| {
        let trial = &plan.trials[*start];
        trial.data_set.is_none() && (*start == 0 || !takes_over(trial, &plan.trials[start - 1], catalogue))
    });
    chains
}

/// Whether `trial` goes on with the data of the one before it.
fn takes_over(trial: &Trial, before: &Trial, catalogue: &Catalogue) -> bool {
    let is_same = before.seed == trial.seed && data_set(before, catalogue) == data_set(trial, catalogue);
    let restores = trial.target.params.0.get("between").is_some_and(|word| word.to_string() == "restore");
    is_same && (restores || shares_data(before, catalogue) && shares_data(trial, catalogue))
}

fn shares_data(trial: &Trial, catalogue: &Catalogue) -> bool {
    (catalogue.shares_data)(&trial.workload.name, &trial.workload.params)
}

/// Warmup and run of `trial`, at most, and of a search what it usually takes; `None` if it ends when its rows are in and has no limit.
pub fn expected_seconds(trial: &Trial, catalogue: &Catalogue) -> Option<f64> {
    let Phases { warmup, run, .. } = trial.phases;
    if let Some(limit) = &trial.limit {
        let (probes, holds) = (LimitSearch::PROBES_USUAL as f64, LimitSearch::HOLDS_USUAL as f64);
        let (warmup_s, probe_s) = (warmup.as_secs_f64(), run.as_secs_f64());
        // A hold is no shorter than a probe.
        let hold_s = limit.spec.hold.as_secs_f64().max(probe_s);
        return Some(probes * (warmup_s + probe_s) + holds * (warmup_s + hold_s));
    }
    let ends_itself = (catalogue.run_ops)(&trial.workload.name, &trial.workload.params).is_some();
    let unlimited = ends_itself && has_no_time(&trial.phases);
    let params = &trial.workload.params;
    let recorded = params.recording().map(|summary| summary.ops_in(times_of(params)) as f64);
    match (trial.load.pacing, recorded) {
        (Pacing::Open { arrivals }, Some(ops)) => Some((ops / arrivals.per_s()).min(run.as_secs_f64())),
        _ => (!unlimited).then(|| warmup.as_secs_f64() + run.as_secs_f64()),
    }
}

/// How many points `trial` becomes: a search measures each of its probes.
pub fn measured_points(trial: &Trial) -> u64 {
    trial.limit.as_ref().map_or(1, |_| (LimitSearch::PROBES_USUAL + LimitSearch::HOLDS_USUAL) as u64)
}

/// What distinguishes the data set of `trial` from others.
pub(crate) fn data_set(trial: &Trial, catalogue: &Catalogue) -> String {
    let shaping = |entries: &[Entry], name: &str, params: &Params| -> Vec<String> {
        let defs = entries.iter().filter(|entry| entry.name == name).flat_map(|entry| entry.params);
        let shaping =
            defs.filter(|def| def.shapes_data).flat_map(|def| params.0.iter().filter(|(name, _)| def.takes(name)));
        shaping.map(|pair| format!("{pair:?}")).collect()
    };
    let (target, workload) = (&trial.target, &trial.workload);
    let engine_part = shaping(&catalogue.engines, &target.engine, &target.params);
    let workload_part = shaping(&catalogue.workloads, &workload.name, &workload.params);
    let precondition = trial.phases.precondition();
    let place = (&target.programs, &target.path, &target.fs);
    format!("{:?}", (&target.engine, place, engine_part, &workload.name, workload_part, precondition))
}

fn few_intervals(plan: &Plan) -> Option<String> {
    let intervals = plan.trials.iter().map(|trial| trial.phases.run.0 / trial.phases.interval.0.max(1));
    let points = intervals.filter(|intervals| *intervals < INTERVALS_NEEDED).count();
    (points > 0).then(|| {
        format!(
            "{} fewer than {INTERVALS_NEEDED} intervals, too few for a confidence interval: \
             leave out `interval`, or set it to a twentieth of `time`",
            points_have(points, plan.trials.len())
        )
    })
}

/// `3 of 7 points have`
fn points_have(points: usize, all: usize) -> String {
    match (points, all) {
        (1, 1) => "the only point has".to_owned(),
        (1, _) => format!("1 of {all} points has"),
        (_, 2) if points == all => "both points have".to_owned(),
        _ if points == all => format!("all {all} points have"),
        _ => format!("{points} of {all} points have"),
    }
}

fn few_arrivals(plan: &Plan) -> Option<String> {
    let arrivals = plan.trials.iter().filter_map(|trial| match trial.load.pacing {
        Pacing::Open { arrivals } if arrivals.is_even() => Some(arrivals.per_s() * trial.phases.run.as_secs_f64()),
        Pacing::Open { .. } | Pacing::Closed { .. } => None,
    });
    let points = arrivals.filter(|arrivals| *arrivals < ARRIVALS_FEW).count();
    (points > 0).then(|| {
        format!(
            "{} fewer than {ARRIVALS_FEW} arrivals, too few for a 99th percentile: raise `rate` or `time`",
            points_have(points, plan.trials.len())
        )
    })
}

fn unlike_durability(plan: &Plan) -> Option<String> {
    let mut words: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for trial in &plan.trials {
        if let Some(word) = trial.target.params.0.get("durability") {
            words.entry(&trial.workload.name).or_default().insert(format!("`{word}`"));
        }
    }
    let (workload, unlike) = words.into_iter().find(|(_, words)| words.len() > 1)?;
    let unlike = unlike.into_iter().collect::<Vec<_>>().join(", ");
    Some(format!("points of `{workload}` differ in `durability` ({unlike}): do not compare them"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Overrides, fixture, parse};

    fn estimated(text: &str) -> Estimate {
        let catalogue = fixture::catalogue();
        let plan = parse(text, "p.toml", &Overrides::default(), 1.0, &catalogue).expect("a valid plan");
        estimate(&plan, &catalogue)
    }

    #[test]
    fn time_is_warmup_and_run_of_all_repetitions() {
        let text = "workload = 'insert'\nindexes = [0, 3]\ntime = '20s'\nwarmup = '5s'\nrepeat = 3";
        let estimate = estimated(text);
        assert_eq!((estimate.points, estimate.seconds, estimate.warnings), (6, 150.0, vec![]));
    }

    #[test]
    fn a_search_takes_a_closed_loop_nine_probes_and_two_holds() {
        let estimate = estimated("workload = 'oltp'\nrate = 'limit'\ntime = 20\nwarmup = 5\nhold = '1m'");
        assert_eq!((estimate.points, estimate.searches, estimate.seconds), (1, 1, 10.0 * 25.0 + 2.0 * 65.0));
        let short_hold = estimated("workload = 'oltp'\nrate = 'limit'\ntime = 20\nwarmup = 5\nhold = 6");
        assert_eq!(short_hold.seconds, 12.0 * 25.0, "a hold is no shorter than a probe");
    }

    #[test]
    fn points_that_agree_on_what_shapes_data_share_a_data_set() {
        let text = "workload = 'file'\nmode = ['rndrd', 'rndwr']\nfile_size = ['1g', '2g']\ndepth = '1..8'";
        // File sizes vary faster than modes, and one data set is there at a time.
        assert_eq!((estimated(text).points, estimated(text).data_sets), (16, 4));
        let text = "workload = 'file'\nfile_size = ['1g', '2g']\nmode = ['rndrd', 'rndwr']\ndepth = '1..8'";
        assert_eq!((estimated(text).points, estimated(text).data_sets), (16, 2));
        assert_eq!(estimated("workload = 'insert'\nengine = ['sqlite', 'fjall']\nindexes = [0, 3]").data_sets, 4);
    }

    #[test]
    fn data_is_counted_as_often_as_it_is_made() {
        let made = |text: &str| estimated(text).data_sets;
        assert_eq!(made("workload = 'file'\nrepeat = 3"), 3, "each repetition has a seed of its own");
        assert_eq!(made("workload = 'insert'\nclients = [1, 2, 4]"), 3, "inserts leave other data");
        assert_eq!(made("workload = 'oltp'\nclients = [1, 2, 4]"), 1);
        let text = "workload = 'chain'\nindexes = [0, 3]\nrepeat = 2";
        let plan = parse(text, "p.toml", &Overrides::default(), 1.0, &fixture::with_steps()).expect("a valid plan");
        assert_eq!(estimate(&plan, &fixture::with_steps()).data_sets, 4, "one for each sequence");
    }

    #[test]
    fn a_run_until_steady_takes_all_its_rounds_at_most_and_data_of_its_own() {
        let estimate =
            estimated("workload = 'file'\nuntil = ['steady', 'time']\nround = 60\nrounds_max = 10\ntime = 30");
        assert_eq!((estimate.seconds, estimate.data_sets), (630.0, 2));
    }

    #[test]
    fn weak_points_are_warned_of_with_what_to_do() {
        let few = "the only point has fewer than 8 intervals, too few for a confidence interval: \
                   leave out `interval`, or set it to a twentieth of `time`";
        assert_eq!(estimated("workload = 'file'\ntime = 5\ninterval = 1").warnings, [few]);
        let arrivals =
            "1 of 2 points has fewer than 1000 arrivals, too few for a 99th percentile: raise `rate` or `time`";
        assert_eq!(estimated("workload = 'file'\nrate = [33, 34]").warnings, [arrivals]);
        let unlike = "points of `insert` differ in `durability` (`disk`, `os`): do not compare them";
        assert_eq!(estimated("workload = 'insert'\ndurability = ['os', 'disk']").warnings, [unlike]);
    }
}
