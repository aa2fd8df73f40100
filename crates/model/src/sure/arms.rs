//! Which repeats of a plan are still needed: the comparisons of its arms, and what of them is decided.
//!
//! In: a plan whose trials have places and arms, and what its points gave so far. Out: whether a trial is needed. Everything follows from the plan
//! and the points of earlier repeats, so a run that is resumed goes on as it would have, and the analysis knows what was left out on purpose.
//! Limits: only rates decide. A place that is not compared with another is decided when the mean of its repeats is known to the precision that was
//! asked for. The rate of an open loop is that of its schedule and decides nothing: a place that has one goes on to its last repeat.

use super::asked::ArmPlace;
use super::means::{LookKind, MeanRule};
use super::pairs::{Decision, PairJudgement, PairRule};
use crate::limit::{LimitOutcome, is_complete, searches};
use crate::op::OpKind;
use crate::op_class::OpClass;
use crate::pairing::{Pairing, RepeatValue};
use crate::run::{PhaseData, PointData, PointState, RunData};
use crate::trial::{Pacing, Phase, Plan, Trial};
use std::collections::{BTreeMap, BTreeSet};

/// What a point gave.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SeenRate {
    /// Its arm and place.
    pub at: ArmPlace,
    pub repeat: u32,
    /// Its number in the order of measurement, and the operations per second.
    pub value: RepeatValue,
}

impl SeenRate {
    /// What `point` gave; `None` if it is not complete, belongs to no comparison, or did nothing.
    pub fn from_point(point: &PointData) -> Option<SeenRate> {
        let at = point.trial.arm.filter(|_| point.state == PointState::Complete)?;
        let value = point_rate(point).filter(|rate| *rate > 0.0)?;
        Some(SeenRate { at, repeat: point.trial.repeat, value: RepeatValue { place: point.id, value } })
    }
}

/// The operations of the measured clients that were done per second of the run phase; `None` without one.
pub fn point_rate(point: &PointData) -> Option<f64> {
    let run: &PhaseData = point.phase(Phase::Run)?;
    let counts = |kind: OpKind| point.kind(kind).is_none_or(|kind| !kind.background && kind.class != OpClass::Step);
    let inside = run.intervals.iter().filter(|interval| interval.start < run.end);
    let ok: u64 = inside.flat_map(|interval| &interval.kinds).filter(|row| counts(row.kind)).map(|row| row.ok).sum();
    let seconds = run.end.since(run.start).as_secs_f64();
    (seconds > 0.0).then(|| ok as f64 / seconds)
}

/// What is known of the comparisons of a plan.
pub struct Knowledge {
    rule: PairRule,
    /// For points that are not compared with others.
    means: MeanRule,
    /// The arms of each place, as the plan has them.
    arms: BTreeMap<u32, BTreeSet<u32>>,
    /// The places of which an arm is an open loop.
    scheduled: BTreeSet<u32>,
    seen: BTreeMap<ArmPlace, Vec<SeenRate>>,
    /// What was asked before: whether an arm is open before a repeat.
    known: BTreeMap<(ArmPlace, u32), bool>,
}

impl Knowledge {
    /// Nothing is measured of `plan` yet; `None` if it goes on whatever is seen.
    pub fn of_plan(plan: &Plan) -> Option<Knowledge> {
        let sure = plan.sure?;
        let mut arms: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
        for at in plan.trials.iter().filter_map(|trial| trial.arm) {
            arms.entry(at.place).or_default().insert(at.arm);
        }
        let open_loops = plan.trials.iter().filter(|trial| matches!(trial.load.pacing, Pacing::Open { .. }));
        let scheduled = open_loops.filter_map(|trial| trial.arm).map(|at| at.place).collect();
        let (rule, means) = (sure.rule(), MeanRule::new(sure, LookKind::Planned));
        Some(Knowledge { rule, means, arms, scheduled, seen: BTreeMap::new(), known: BTreeMap::new() })
    }

    /// Adds what a point gave.
    pub fn add(&mut self, seen: SeenRate) {
        self.known.retain(|(_, repeat), _| *repeat <= seen.repeat);
        self.seen.entry(seen.at).or_default().push(seen);
    }

    /// Leaves out the arm `at`, which failed: nothing is compared with it any more.
    pub fn leave_out(&mut self, at: ArmPlace) {
        self.known.clear();
        if let Some(arms) = self.arms.get_mut(&at.place) {
            arms.remove(&at.arm);
        }
    }

    /// Whether `trial` is needed, by the points of the repeats before its own.
    pub fn needs(&mut self, trial: &Trial) -> bool {
        let Some(at) = trial.arm else { return true };
        let key = (at, trial.repeat);
        if let Some(known) = self.known.get(&key) {
            return *known;
        }
        let is_open = self.is_open(at, trial.repeat);
        self.known.insert(key, is_open);
        is_open
    }

    fn is_open(&self, at: ArmPlace, repeat: u32) -> bool {
        if self.scheduled.contains(&at.place) {
            return true;
        }
        let arms: Vec<u32> = self.arms.get(&at.place).into_iter().flatten().copied().collect();
        let others: Vec<u32> = arms.iter().copied().filter(|arm| *arm > 0).collect();
        let is_undecided = |arm: &u32| {
            let judged = self.judge(ArmPlace { arm: *arm, ..at }, repeat);
            judged.is_none_or(|judged| judged.decision == Decision::Open)
        };
        match at.arm {
            _ if others.is_empty() || !arms.contains(&0) => !self.means.is_known(&self.values(at, repeat)),
            0 => others.iter().any(is_undecided),
            arm => is_undecided(&arm),
        }
    }

    /// What the pairs of an arm and its base show by the repeats before `repeat`; `None` without a pair.
    fn judge(&self, arm: ArmPlace, repeat: u32) -> Option<PairJudgement> {
        let [base, new] = [0, arm.arm].map(|arm_number| self.values(ArmPlace { arm: arm_number, ..arm }, repeat));
        let logs: Vec<f64> = Pairing::adjacent(&base, &new).pairs.iter().filter_map(|pair| pair.log_ratio()).collect();
        self.rule.judge(&logs)
    }

    fn values(&self, at: ArmPlace, repeat: u32) -> Vec<RepeatValue> {
        let seen = self.seen.get(&at).into_iter().flatten().filter(|seen| seen.repeat < repeat);
        seen.map(|seen| seen.value).collect()
    }
}

/// Whether each trial of the plan of `run` is needed: what was decided without it is not missing. If a time was set for the whole run, its first
/// round is needed.
pub fn needed_trials(run: &RunData) -> Vec<bool> {
    needed_if(run, run.meta.plan.sure.is_some_and(|sure| sure.budget.is_some()))
}

/// The same; `is_first_alone`: of the first round only.
fn needed_if(run: &RunData, is_first_alone: bool) -> Vec<bool> {
    let plan = &run.meta.plan;
    let Some(mut knowledge) = Knowledge::of_plan(plan) else { return vec![true; plan.trials.len()] };
    run.points.iter().filter_map(SeenRate::from_point).for_each(|seen| knowledge.add(seen));
    plan.trials.iter().map(|trial| knowledge.needs(trial) && (trial.repeat == 1 || !is_first_alone)).collect()
}

/// Whether the time of `run` was over when it ended: then it is not resumed.
pub fn is_time_over(run: &RunData) -> bool {
    run.points.iter().any(|point| point.traits.course.is_time_over)
}

/// Whether every point of the plan of `run` is complete, and every search is over. If its time was over, its first round is enough.
pub fn is_all_measured(run: &RunData) -> bool {
    let trials = run.meta.plan.trials.iter().zip(needed_if(run, is_time_over(run)));
    let asked = trials.filter(|(trial, is_needed)| trial.limit.is_none() && *is_needed).count();
    let complete = run.points.iter().filter(|point| is_complete(point) && point.trial.limit.is_none()).count();
    complete >= asked && searches(run).iter().all(|search| search.result.outcome != LimitOutcome::Interrupted)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::Machine;
    use crate::run::RunMeta;
    use crate::sure::{Precision, SurePlan};
    use crate::trial::Arrivals;
    use crate::units::Nanos;

    /// A plan of `repeats` repeats of so many arms at each of two places.
    fn plan(arms: u32, repeats: u32) -> Plan {
        let at = |place, arm| ArmPlace { place, arm };
        let trial = |repeat, at| Trial { repeat, arm: Some(at), ..Trial::simple("null", "file") };
        let places = (0..2).flat_map(|place| (0..arms).map(move |arm| (place, arm)));
        let trials =
            (1..=repeats).flat_map(|repeat| places.clone().map(move |(place, arm)| trial(repeat, at(place, arm))));
        let sure =
            SurePlan { difference: Precision::USUAL, pairs_max: repeats, comparisons: 2 * (arms - 1), budget: None };
        Plan { trials: trials.collect(), sure: Some(sure), ..Plan::new("test", "") }
    }

    /// What is needed in each repeat if the arm at a place has the rate that `rate` says, until nothing is.
    fn measured(plan: &Plan, rate: impl Fn(ArmPlace, u32) -> f64) -> Vec<Vec<(u32, u32)>> {
        let mut knowledge = Knowledge::of_plan(plan).expect("it goes on until it is sure");
        let mut all: Vec<Vec<(u32, u32)>> = Vec::new();
        for (nth, trial) in (1..).zip(&plan.trials) {
            let at = trial.arm.expect("all have one");
            if knowledge.needs(trial) {
                all.resize(trial.repeat as usize, Vec::new());
                all[trial.repeat as usize - 1].push((at.place, at.arm));
                let value = RepeatValue { place: nth, value: rate(at, trial.repeat) };
                knowledge.add(SeenRate { at, repeat: trial.repeat, value });
            }
        }
        all
    }

    fn jitter(repeat: u32) -> f64 {
        1.0 + 0.003 * [1.0, -0.4, 0.2, -0.9, 0.6, -0.1][repeat as usize % 6]
    }

    #[test]
    fn a_place_that_is_decided_is_measured_no_more_and_the_others_go_on() {
        let rate = |at: ArmPlace, repeat: u32| match (at.place, at.arm) {
            (0, 1) => 200.0 * jitter(repeat),
            // Not to be distinguished from the base, nor as near to it as matters.
            (1, 1) => 100.8 * (1.0 + 10.0 * (jitter(repeat) - 1.0)),
            _ => 100.0,
        };
        let all = measured(&plan(2, 12), rate);
        assert_eq!(all[3], [(0, 0), (0, 1), (1, 0), (1, 1)], "four pairs at least");
        let last = all.iter().position(|repeat| !repeat.contains(&(0, 0))).expect("it is decided");
        assert!((4..=6).contains(&last), "{all:?}");
        assert_eq!((all.len(), &all[11]), (12, &vec![(1, 0), (1, 1)]));
    }

    #[test]
    fn the_base_goes_on_as_long_as_one_of_the_arms_is_open() {
        let rate = |at: ArmPlace, repeat: u32| match at.arm {
            1 => 200.0 * jitter(repeat),
            2 => 100.8 * (1.0 + 10.0 * (jitter(repeat) - 1.0)),
            _ => 100.0,
        };
        let all = measured(&plan(3, 12), rate);
        assert_eq!(all[11], [(0, 0), (0, 2), (1, 0), (1, 2)]);
    }

    #[test]
    fn arms_that_are_alike_end_it_and_so_do_means_that_are_known() {
        let alike = measured(&plan(2, 20), |_, repeat| 100.0 * jitter(repeat));
        assert_eq!(alike.len(), 4);
        let noisy = |_: ArmPlace, repeat: u32| 100.0 * (1.0 + 4.0 * (jitter(repeat) - 1.0));
        let alone = measured(&plan(1, 20), noisy);
        assert!((5..=12).contains(&alone.len()), "{alone:?}");
    }

    #[test]
    fn what_has_lost_its_base_or_its_only_other_arm_goes_on_until_its_mean_is_known() {
        for lost in [0, 1] {
            let plan = plan(2, 20);
            let mut knowledge = Knowledge::of_plan(&plan).expect("it goes on until it is sure");
            knowledge.leave_out(ArmPlace { place: 0, arm: lost });
            let kept = ArmPlace { place: 0, arm: 1 - lost };
            for (nth, trial) in (1..).zip(&plan.trials).filter(|(_, trial)| trial.arm == Some(kept)) {
                if knowledge.needs(trial) {
                    let value = RepeatValue { place: nth, value: 100.0 * jitter(trial.repeat) };
                    knowledge.add(SeenRate { at: kept, repeat: trial.repeat, value });
                }
            }
            let last = plan.trials.iter().rfind(|trial| trial.arm == Some(kept)).expect("it has repeats");
            assert!(!knowledge.needs(last), "arm {lost} is lost");
        }
    }

    #[test]
    fn equal_rates_of_open_loops_decide_nothing() {
        for arms in [1, 2] {
            let mut plan = plan(arms, 12);
            for trial in plan.trials.iter_mut().filter(|trial| trial.arm.is_some_and(|at| at.place == 1)) {
                trial.load.pacing = Pacing::Open { arrivals: Arrivals::Constant { per_s: 100.0 } };
            }
            let all = measured(&plan, |_, _| 100.0);
            let scheduled: Vec<(u32, u32)> = (0..arms).map(|arm| (1, arm)).collect();
            assert_eq!((all.len(), &all[11]), (12, &scheduled), "the closed loops are known long before");
        }
    }

    #[test]
    fn a_budget_leaves_nothing_to_measure_when_it_is_spent_and_something_when_it_was_interrupted() {
        let mut plan = plan(2, 6);
        plan.sure = plan.sure.map(|sure| SurePlan { budget: Some(Nanos::from_secs(60)), ..sure });
        let first = plan.trials.iter().filter(|trial| trial.repeat == 1);
        let points = (1..).zip(first).map(|(id, trial)| {
            let state = PointState::Complete;
            PointData { state, ..PointData::unmeasured(id, trial.clone()) }
        });
        let points = points.collect();
        let (run_id, plimsoll_version, machine) = ("r".into(), "1.0".into(), Machine::default());
        let meta = RunMeta { run_id, started_unix_ms: 0, plimsoll_version, plan, environment: Vec::new(), machine };
        let mut run = RunData { meta, points };
        assert!(!is_all_measured(&run));
        run.points[3].traits.course.is_time_over = true;
        assert!(is_all_measured(&run));
    }

    #[test]
    fn more_comparisons_need_more_evidence() {
        let [one, ten] = [1, 10].map(|comparisons| {
            let sure = SurePlan { difference: Precision::USUAL, pairs_max: 20, comparisons, budget: None };
            sure.boundary().level_at(20)
        });
        assert!(ten < one / 8.0, "{one} {ten}");
    }
}
