//! The choice of the next trial.
//!
//! In: the points of the run that are complete. Out: the next trial, or none if all is measured. Limits: a strategy sees only the
//! numbers of points; if it decides by results, it reads the finished points from the run file itself.

use super::resume::RunInterruption;
use super::time_left::{TimeLeft, since_start};
use crate::error::RunnerError;
use crate::messages::StepSequence;
use model::limit::{LimitProbe, LimitSearch, LimitStep, Observation, probe_of, probe_trial};
use model::sure::{ArmPlace, Knowledge, SeenRate};
use model::{Catalogue, Nanos, Plan, PointState, Tick, Trial};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Range;
use std::path::{Path, PathBuf};
use store::{PointHead, PointId};

/// Decides which trial comes next.
pub trait Strategy {
    /// The trial after the points `done`, which are complete and in the order in which they were measured. A strategy must be able to
    /// rebuild its state from them, so that an interrupted run can be resumed.
    ///
    /// # Errors
    /// If it decides by results and cannot read them.
    fn next(&mut self, done: &[PointId]) -> Result<Option<Trial>, RunnerError>;

    /// The sequence of steps that the trial chosen last belongs to; `None` if it belongs to none.
    fn sequence(&self) -> Option<StepSequence> {
        None
    }

    /// Leaves out the trial chosen last, which the user skipped, and whatever needs its data. Returns whether it can: then the next trial is
    /// another one.
    fn skip(&mut self) -> bool {
        false
    }

    /// Leaves out the trial chosen last, which failed, its repeats, and whatever needs its data. Returns whether the run goes on with others.
    fn leave_out_failed(&mut self) -> bool {
        false
    }

    /// The trial chosen last is refused by its target. Returns whether there is another one all the same.
    fn refuse(&mut self) -> bool {
        false
    }

    /// What the search that measured the last point makes of it; `None` if no search did.
    fn judged_probe(&self) -> Option<&LimitProbe> {
        None
    }

    /// The time of the whole run, if there was no next trial because too little of it was left.
    fn spent_budget(&self) -> Option<Nanos> {
        None
    }
}

/// All trials of an expanded plan in their order. A trial that asks for the largest rate becomes the probes of a search. If the plan goes on until it
/// is sure, repeats are left out on which nothing depends any more, and all that does not fit into its time: what is shorter goes on without it.
pub struct PlanMatrix<'a> {
    plan: &'a Plan,
    chains: Vec<Range<usize>>,
    run_file: PathBuf,
    /// The trial of the plan that was chosen last.
    chosen: usize,
    /// The trials of the plan that the user skipped, or that are left out because they failed.
    skipped: BTreeSet<usize>,
    /// Of each complete point, the trial of the plan that it belongs to.
    trial_of: HashMap<PointId, usize>,
    /// What the points of searches have shown, and the highest rate that their searches tried, as far as they were read.
    seen: BTreeMap<u32, (Observation, Option<f64>)>,
    /// The highest rate of searches whose targets refused what a higher one needs.
    rates_max: BTreeMap<usize, f64>,
    /// The highest rate that the search of the trial chosen last could try if that is refused.
    below_refused: Option<f64>,
    judged: Option<LimitProbe>,
    /// What is known of its comparisons; `None` if it goes on whatever is seen.
    knowledge: Option<Knowledge>,
    /// The points up to this number are in it.
    known_to: u32,
    /// What is left of its time; `None` without a limit.
    left: Option<TimeLeft>,
    /// Whether too little was left of it for anything that was still needed.
    is_time_over: bool,
}

impl PlanMatrix<'_> {
    /// The trials of `plan`, whose run is recorded in `run_file`.
    pub fn new<'a>(plan: &'a Plan, catalogue: &Catalogue, run_file: &Path) -> PlanMatrix<'a> {
        let (chains, run_file) = (plan::chains(plan, catalogue), run_file.to_owned());
        let (skipped, trial_of, seen) = (BTreeSet::new(), HashMap::new(), BTreeMap::new());
        let knowledge = Knowledge::of_plan(plan);
        PlanMatrix {
            plan,
            chains,
            run_file,
            chosen: 0,
            skipped,
            trial_of,
            seen,
            rates_max: BTreeMap::new(),
            below_refused: None,
            judged: None,
            knowledge,
            known_to: 0,
            left: None,
            is_time_over: false,
        }
    }

    /// The same, of a session that begins now: after the points and the time of the sessions `before` it, if there were any.
    pub(crate) fn of_session(self, before: Option<&RunInterruption>) -> Self {
        let (done, earlier) = before.map_or((&[][..], &[][..]), |gap| (&gap.done[..], &gap.earlier[..]));
        self.after(done).in_time(earlier, since_start())
    }

    /// The same, which ends when the time that the plan has for all of it is over by the clock `now`. The points of `earlier` sessions took this
    /// long, whether they are complete or not.
    pub fn in_time(self, earlier: &[(u32, Nanos)], now: impl Fn() -> Tick + 'static) -> Self {
        let Some(budget) = self.plan.sure.and_then(|sure| sure.budget) else { return self };
        let spent = earlier.iter().fold(0, |sum: u64, (_, took)| sum.saturating_add(took.0));
        let mut left = TimeLeft::new(budget, Nanos(spent), now);
        for (point, took) in earlier {
            let trial = self.trial_of.get(&PointId(*point));
            if let Some(at) = trial.and_then(|nth| self.plan.trials[*nth].arm) {
                left.note_earlier(at, *took);
            }
        }
        PlanMatrix { left: Some(left), ..self }
    }

    /// The same, of a run in which the points `done` are complete.
    pub fn after(self, done: &[DonePoint]) -> Self {
        PlanMatrix { trial_of: done.iter().map(|done| (done.point, done.trial)).collect(), ..self }
    }

    /// The points `done` by the trials of the plan. A point that is new is of the trial chosen last.
    fn by_trial(&mut self, done: &[PointId]) -> BTreeMap<usize, Vec<PointId>> {
        let mut all: BTreeMap<usize, Vec<PointId>> = BTreeMap::new();
        for point in done {
            let trial = *self.trial_of.entry(*point).or_insert(self.chosen);
            all.entry(trial).or_default().push(*point);
        }
        all
    }

    /// Learns what the points `done` gave that were not known yet.
    fn learn(&mut self, done: &[PointId]) -> Result<(), RunnerError> {
        if let Some(left) = &mut self.left {
            left.note_end();
        }
        let (Some(knowledge), Some(last)) = (&mut self.knowledge, done.iter().map(|point| point.0).max()) else {
            return Ok(());
        };
        if last > self.known_to {
            let points = store::read_points_from(&self.run_file, self.known_to + 1)?;
            let new = points.iter().filter(|point| done.contains(&PointId(point.id)));
            new.filter_map(SeenRate::from_point).for_each(|seen| knowledge.add(seen));
            self.known_to = last;
        }
        Ok(())
    }

    /// Whether the trial number `nth` is needed, or a step of its sequence.
    fn is_needed(&mut self, nth: usize) -> bool {
        let Some(knowledge) = &mut self.knowledge else { return true };
        let chain = chain_of(&self.chains, nth);
        self.plan.trials[chain].iter().any(|trial| knowledge.needs(trial))
    }

    /// Whether there is time for the trial number `nth`, for what is compared with it in the same repeat, and for the rest of all pairs that have
    /// begun there. Half a pair is lost: what has begun ends if the time is not over, and if a single point is missing even then.
    fn is_in_time(&mut self, nth: usize, done: &BTreeMap<usize, Vec<PointId>>) -> bool {
        let trial = &self.plan.trials[nth];
        let Some(at) = trial.arm.filter(|_| self.left.is_some()) else { return true };
        let of_repeat = self.plan.trials.iter().enumerate().filter(|(_, one)| one.repeat == trial.repeat);
        let own: Vec<(usize, ArmPlace)> = of_repeat.filter_map(|(other, one)| Some((other, one.arm?))).collect();
        let begun: BTreeSet<u32> =
            own.iter().filter(|(other, _)| done.contains_key(other)).map(|(_, own)| own.place).collect();
        let mut missing = Vec::new();
        for (other, own) in own {
            let is_open = own.place == at.place || begun.contains(&own.place);
            let is_left_out = done.contains_key(&other) || self.skipped.contains(&other);
            if is_open && !is_left_out && self.is_needed(other) {
                missing.push(own);
            }
        }
        let is_enough =
            |points: &[ArmPlace]| self.left.as_ref().is_none_or(|left| left.is_enough_for(points.iter().copied()));
        if begun.contains(&at.place) { missing.len() < 2 || is_enough(&[]) } else { is_enough(&missing) }
    }

    /// What the point `id` of a search has shown, and the highest rate that its search tried.
    fn observation(&mut self, id: PointId) -> Result<(Observation, Option<f64>), RunnerError> {
        if let Some(seen) = self.seen.get(&id.0) {
            return Ok(seen.clone());
        }
        // All that are new at once: after each probe one, and of a run that is resumed all of them.
        let first = self.seen.last_key_value().map_or(0, |(last, _)| last + 1);
        let points = store::read_points_from(&self.run_file, first)?;
        self.seen.extend(points.iter().filter_map(|point| {
            let rate_max = point.trial.limit.as_ref()?.spec.rate_max;
            Some((point.id, (Observation::from_point(point)?, rate_max)))
        }));
        self.seen
            .get(&id.0)
            .cloned()
            .ok_or_else(|| RunnerError::failed(format!("point {} has no run phase to judge", id.0)))
    }

    /// The next probe of the search number `nth`, whose points so far are `done`; `None` if the search is over. What it makes of the last
    /// of them is kept if that is the point measured `last`.
    fn next_probe(
        &mut self,
        nth: usize,
        done: &[PointId],
        last: Option<PointId>,
    ) -> Result<Option<Trial>, RunnerError> {
        let mut asked = self.plan.trials[nth].clone();
        let spec = &mut asked.limit.as_mut().expect("it asks for a search").spec;
        let mut search = LimitSearch::new(spec, asked.phases.run);
        for id in done {
            if search.next_step() == LimitStep::Over {
                break;
            }
            let (seen, rate_max) = self.observation(*id)?;
            search.limit_to(rate_max);
            search.observe(seen);
        }
        search.limit_to(self.rates_max.get(&nth).copied());
        (spec.rate_max, self.below_refused) = (search.rate_max(), search.below_refused());
        let next = match search.next_step() {
            LimitStep::Measure { kind, per_s, length } => {
                Some(probe_trial(&asked, nth as u32, done.len() as u32 + 1, kind, per_s, length))
            }
            LimitStep::Over => None,
        };
        if done.last().copied() == last {
            self.judged = search.last_probe().cloned();
        }
        Ok(next)
    }
}

impl Strategy for PlanMatrix<'_> {
    fn next(&mut self, done: &[PointId]) -> Result<Option<Trial>, RunnerError> {
        let (by_trial, last) = (self.by_trial(done), done.last().copied());
        self.judged = None;
        self.learn(done)?;
        let mut too_long = PassedOver::default();
        for (nth, trial) in self.plan.trials.iter().enumerate() {
            if too_long.holds(nth, trial) {
                too_long.add(trial, &chain_of(&self.chains, nth));
                continue;
            }
            let own = by_trial.get(&nth).map_or(&[][..], Vec::as_slice);
            let next = match (&trial.limit, self.skipped.contains(&nth)) {
                (_, true) => None,
                (Some(_), false) => self.next_probe(nth, own, last)?,
                (None, false) => (own.is_empty() && self.is_needed(nth)).then(|| trial.clone()),
            };
            if next.is_none() {
                continue;
            }
            if !self.is_in_time(nth, &by_trial) {
                too_long.add(trial, &chain_of(&self.chains, nth));
                continue;
            }
            self.chosen = nth;
            if let (Some(left), Some(at)) = (&mut self.left, trial.arm) {
                left.note_begin(at);
            }
            return Ok(next);
        }
        self.is_time_over = too_long.is_any();
        Ok(None)
    }

    fn skip(&mut self) -> bool {
        // The later steps of a sequence need the data that this one would have left.
        self.skipped.extend(self.chosen..chain_of(&self.chains, self.chosen).end);
        true
    }

    /// In a run with a budget: others can use the time that is left.
    fn leave_out_failed(&mut self) -> bool {
        if self.left.is_none() {
            return false;
        }
        // The later steps of a sequence need the data that this one would have left.
        let rest = self.chosen..chain_of(&self.chains, self.chosen).end;
        let failed: Vec<ArmPlace> = self.plan.trials[rest.clone()].iter().filter_map(|trial| trial.arm).collect();
        let all = self.plan.trials.iter().enumerate();
        let repeats = all.filter(|(_, trial)| trial.arm.is_some_and(|at| failed.contains(&at)));
        self.skipped.extend(rest.chain(repeats.map(|(nth, _)| nth)));
        if let Some(knowledge) = &mut self.knowledge {
            failed.into_iter().for_each(|at| knowledge.leave_out(at));
        }
        true
    }

    fn refuse(&mut self) -> bool {
        let Some(per_s) = self.below_refused.take() else { return false };
        self.rates_max.insert(self.chosen, per_s);
        true
    }

    fn sequence(&self) -> Option<StepSequence> {
        let chain = self.chains.iter().find(|chain| chain.contains(&self.chosen))?;
        let steps = self.plan.trials[chain.clone()].to_vec();
        // A probe differs from the trial that asks for its search, and no search is part of a sequence.
        let is_search = steps.iter().any(|step| step.limit.is_some());
        (!is_search).then(|| StepSequence { steps, place: self.chosen - chain.start, first: chain.start })
    }

    fn judged_probe(&self) -> Option<&LimitProbe> {
        self.judged.as_ref()
    }

    fn spent_budget(&self) -> Option<Nanos> {
        self.plan.sure?.budget.filter(|_| self.is_time_over)
    }
}

/// What is needed and takes longer than what is left of the time. Nothing of it begins: half a pair would be worth nothing.
#[derive(Default)]
struct PassedOver {
    /// The places that it is at: what has no time in one repeat has none in a later one.
    places: BTreeSet<u32>,
    /// The trials before this one: the later steps of a sequence need the data of the step that is passed over.
    before: usize,
}

impl PassedOver {
    fn holds(&self, nth: usize, trial: &Trial) -> bool {
        nth < self.before || trial.arm.is_some_and(|at| self.places.contains(&at.place))
    }

    /// Adds `trial` and the rest of its sequence `chain`.
    fn add(&mut self, trial: &Trial, chain: &Range<usize>) {
        self.places.extend(trial.arm.map(|at| at.place));
        self.before = self.before.max(chain.end);
    }

    fn is_any(&self) -> bool {
        self.before > 0
    }
}

/// The sequence among `chains` that the trial number `nth` belongs to: itself if it belongs to none.
fn chain_of(chains: &[Range<usize>], nth: usize) -> Range<usize> {
    let before = chains.partition_point(|chain| chain.end <= nth);
    chains.get(before).filter(|chain| chain.contains(&nth)).cloned().unwrap_or(nth..nth + 1)
}

/// A point that is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DonePoint {
    /// Its number in the run file.
    pub point: PointId,
    /// The number of its trial in the plan, from 0.
    pub trial: usize,
}

/// The points that [`PlanMatrix`] goes on after, in the order of the plan: of each trial one complete point, of a search all that it has.
/// Equal trials need a complete point each.
pub(super) fn complete_points(plan: &Plan, points: &[PointHead]) -> Vec<DonePoint> {
    let mut left: Vec<&PointHead> = points.iter().filter(|point| point.state == PointState::Complete).collect();
    let mut done = Vec::new();
    for (nth, trial) in plan.trials.iter().enumerate() {
        let own: Vec<usize> = match trial.limit {
            Some(_) => positions(&left, |point| probe_of(&point.trial, nth as u32).is_some()),
            None => positions(&left, |point| point.trial == *trial).into_iter().take(1).collect(),
        };
        done.extend(own.iter().map(|place| DonePoint { point: PointId(left[*place].id), trial: nth }));
        for place in own.iter().rev() {
            left.remove(*place);
        }
    }
    done
}

fn positions(points: &[&PointHead], is_wanted: impl Fn(&PointHead) -> bool) -> Vec<usize> {
    points.iter().enumerate().filter(|(_, point)| is_wanted(point)).map(|(place, _)| place).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::sure::{Precision, SurePlan};
    use plan::Overrides;
    use std::cell::Cell;
    use std::rc::Rc;

    #[test]
    fn a_pair_begins_if_there_is_time_for_all_that_have_begun_and_those_end() {
        let catalogue = crate::catalogue();
        let keys = [("engine", "null"), ("ab", "service=1ms,2ms"), ("clients", "1,2"), ("budget", "100s")];
        let keys = keys.map(|(key, value)| (key.to_owned(), value.to_owned()));
        let plan = plan::from_flags("file", &Overrides::from_flags(keys.into()), 1.0, &catalogue).unwrap();
        let (clock, second) = (Rc::new(Cell::new(0)), 1_000_000_000);
        let now = clock.clone();
        let matrix = PlanMatrix::new(&plan, &catalogue, Path::new("none"));
        let mut matrix = matrix.in_time(&[], move || Tick(now.get()));
        let all = [(0, 0), (0, 1), (1, 0), (1, 1)].map(|(place, arm)| ArmPlace { place, arm });
        for at in all {
            let left = matrix.left.as_mut().expect("it has a budget");
            left.note_begin(at);
            clock.set(clock.get() + 10 * second);
            left.note_end();
        }
        let is_at = |trial: &Trial, at: ArmPlace| trial.repeat == 2 && trial.arm == Some(at);
        let [base, new, other_base, _] =
            all.map(|at| plan.trials.iter().position(|trial| is_at(trial, at)).expect("it is planned"));
        let (none, half) = (BTreeMap::new(), BTreeMap::from([(base, vec![PointId(5)])]));
        clock.set(75 * second);
        assert!(matrix.is_in_time(base, &none), "a pair takes 20 s of the 25 s that are left");
        assert!(!matrix.is_in_time(other_base, &half), "a pair and the rest of another take 30 s");
        matrix.skipped.insert(new);
        assert!(matrix.is_in_time(other_base, &half), "what is skipped takes no time");
        matrix.skipped.clear();
        clock.set(101 * second);
        assert!(matrix.is_in_time(new, &half), "half a pair is lost");
        assert!(!matrix.is_in_time(base, &none));
    }

    /// The repeat, the place and the arm of each point that a run of `plan` measures if nothing is ever decided and points take so many seconds.
    fn conducted(
        plan: &Plan,
        chains: Option<Vec<Range<usize>>>,
        seconds: impl Fn(ArmPlace) -> u64,
    ) -> Vec<(u32, u32, u32)> {
        let clock = Rc::new(Cell::new(0));
        let now = clock.clone();
        let matrix = PlanMatrix::new(plan, &crate::catalogue(), Path::new("none"));
        let mut matrix = matrix.in_time(&[], move || Tick(now.get()));
        if let Some(chains) = chains {
            matrix.chains = chains;
        }
        // No point is read.
        matrix.known_to = u32::MAX;
        let (mut done, mut all) = (Vec::new(), Vec::new());
        while let Some(trial) = matrix.next(&done).expect("nothing is read") {
            let at = trial.arm.expect("all have a place");
            clock.set(clock.get() + seconds(at) * 1_000_000_000);
            done.push(PointId(done.len() as u32 + 1));
            all.push((trial.repeat, at.place, at.arm));
        }
        assert!(matrix.spent_budget().is_some(), "its time ended it: {all:?}");
        all
    }

    /// A plan with a budget of 100 s, whose repeats have points at these places with these arms.
    fn with_budget(points: &[(u32, u32)]) -> Plan {
        let repeats = (1..=20).flat_map(|repeat| points.iter().map(move |point| (repeat, *point)));
        let trials = repeats.map(|(repeat, (place, arm))| Trial {
            repeat,
            arm: Some(ArmPlace { place, arm }),
            ..Trial::simple("null", "file")
        });
        let (difference, budget) = (Precision::USUAL, Some(Nanos::from_secs(100)));
        let sure = SurePlan { difference, pairs_max: 20, comparisons: 2, budget };
        Plan { trials: trials.collect(), sure: Some(sure), ..Plan::new("test", "") }
    }

    #[test]
    fn pairs_of_shorter_points_go_on_when_longer_ones_do_not_fit_any_more() {
        let seconds = |at: ArmPlace| if at.place == 0 { 20 } else { 3 };
        let all = conducted(&with_budget(&[(0, 0), (0, 1), (1, 0), (1, 1)]), None, seconds);
        // Two rounds take 92 s, and a pair at the second place 6 s.
        let places: Vec<(u32, u32)> = all.iter().map(|(repeat, place, _)| (*repeat, *place)).collect();
        let round = |repeat| [(repeat, 0), (repeat, 0), (repeat, 1), (repeat, 1)];
        assert_eq!(places, [&round(1)[..], &round(2), &[(3, 1), (3, 1)]].concat());
        let last: Vec<u32> = all[8..].iter().map(|(_, _, arm)| *arm).collect();
        assert_eq!(last, [0, 1], "the pair is whole");
    }

    #[test]
    fn all_of_24_points_are_measured_once_before_any_is_repeated() {
        let places: Vec<(u32, u32)> = (0..24).map(|place| (place, 0)).collect();
        let all = conducted(&with_budget(&places), None, |_| 2);
        let first: Vec<(u32, u32)> = all[..24].iter().map(|(repeat, place, _)| (*repeat, *place)).collect();
        assert_eq!(first, (0..24).map(|place| (1, place)).collect::<Vec<_>>());
        assert!(all.len() == 50 && all[24..].iter().all(|(repeat, ..)| *repeat > 1), "{all:?}");
    }

    #[test]
    fn the_other_half_of_what_has_begun_comes_before_any_other_pair() {
        let seconds = |at: ArmPlace| if at.place == 0 { 30 } else { 9 };
        // One arm after the other: all places have begun before one has ended.
        let all = conducted(&with_budget(&[(0, 0), (1, 0), (0, 1), (1, 1)]), None, seconds);
        assert_eq!(all[..4], [(1, 0, 0), (1, 1, 0), (1, 0, 1), (1, 1, 1)]);
        assert_eq!(all[4..], [(2, 1, 0), (2, 1, 1)], "a pair at the first place takes 60 s of the 22 s that are left");
    }

    #[test]
    fn what_failed_is_left_out_with_its_repeats_and_the_others_go_on() {
        let plan = with_budget(&[(0, 0), (0, 1), (1, 0)]);
        let matrix = PlanMatrix::new(&plan, &crate::catalogue(), Path::new("none"));
        let mut matrix = matrix.in_time(&[], || Tick(0));
        // No point is read.
        matrix.known_to = u32::MAX;
        assert_eq!(matrix.next(&[]).unwrap().and_then(|trial| trial.arm), Some(ArmPlace { place: 0, arm: 0 }));
        assert!(matrix.leave_out_failed());
        let (mut done, mut all) = (Vec::new(), Vec::new());
        while let Some(trial) = matrix.next(&done).expect("nothing is read").filter(|_| all.len() < 4) {
            done.push(PointId(done.len() as u32 + 1));
            all.extend(trial.arm.map(|at| (trial.repeat, at.place, at.arm)));
        }
        assert_eq!(all, [(1, 0, 1), (1, 1, 0), (2, 0, 1), (2, 1, 0)]);
        let without = Plan { sure: None, ..with_budget(&[(0, 0)]) };
        let mut matrix = PlanMatrix::new(&without, &crate::catalogue(), Path::new("none"));
        assert!(matrix.next(&[]).unwrap().is_some() && !matrix.leave_out_failed(), "it has no budget");
    }

    #[test]
    fn the_later_steps_of_a_sequence_are_passed_over_with_the_step_that_has_no_time() {
        // Two arms of three steps each: the second takes long, and the third needs its data.
        let plan = with_budget(&[(0, 0), (1, 0), (2, 0), (0, 1), (1, 1), (2, 1)]);
        let chains = (0..40).map(|nth| 3 * nth..3 * nth + 3).collect();
        let all = conducted(&plan, Some(chains), |at| if at.place == 1 { 30 } else { 2 });
        assert_eq!(all.iter().filter(|(_, place, _)| *place > 0).count(), 4, "once each: {all:?}");
        assert_eq!(all[6..8], [(2, 0, 0), (2, 0, 1)]);
        assert_eq!(all.len(), 6 + 2 * 8, "the first steps fill the 32 s that are left: {all:?}");
    }

    #[test]
    fn a_run_that_goes_on_has_what_earlier_sessions_left_of_its_time() {
        let catalogue = crate::catalogue();
        let keys = [("engine", "null"), ("clients", "1,2"), ("budget", "100s")];
        let keys = keys.map(|(key, value)| (key.to_owned(), value.to_owned()));
        let plan = plan::from_flags("file", &Overrides::from_flags(keys.into()), 1.0, &catalogue).unwrap();
        let second = 1_000_000_000;
        // The second point was killed, and only the first is complete.
        let after = |seconds: [u64; 2]| {
            let done = [DonePoint { point: PointId(1), trial: 0 }];
            let earlier = [(1, Nanos(seconds[0] * second)), (2, Nanos(seconds[1] * second))];
            PlanMatrix::new(&plan, &catalogue, Path::new("none")).after(&done).in_time(&earlier, || Tick(0))
        };
        let none = BTreeMap::new();
        let is_in_time = |seconds: [u64; 2]| [0, 1].map(|nth| after(seconds).is_in_time(nth, &none));
        assert_eq!(is_in_time([20, 50]), [true, true]);
        assert_eq!(is_in_time([40, 59]), [false, true], "the first took 40 s, and of the other nothing is known");
        assert_eq!(is_in_time([40, 60]), [false, false]);
    }

    #[test]
    fn a_matrix_goes_on_after_the_points_that_are_done_and_knows_the_sequence_of_a_step() {
        let catalogue = crate::catalogue();
        let keys = [("engine", "null"), ("step", "l.i0,l.i1"), ("indexes", "0,3")];
        let keys = keys.map(|(key, value)| (key.to_owned(), value.to_owned()));
        let plan = plan::from_flags("insert", &Overrides::from_flags(keys.into()), 1.0, &catalogue).unwrap();
        let matrix = || PlanMatrix::new(&plan, &catalogue, Path::new("none"));
        let done: Vec<DonePoint> = (0..4).map(|trial| DonePoint { point: PointId(trial as u32 + 1), trial }).collect();
        let ids: Vec<PointId> = done.iter().map(|done| done.point).collect();
        assert_eq!(matrix().after(&done).next(&ids).unwrap(), None);
        assert_eq!(matrix().next(&[]).unwrap(), Some(plan.trials[0].clone()));
        let mut resumed = matrix().after(&done[..3]);
        assert_eq!(resumed.next(&ids[..3]).unwrap(), Some(plan.trials[3].clone()));
        let sequence = resumed.sequence().unwrap();
        assert_eq!((sequence.first, sequence.place), (2, 1));
        assert_eq!(sequence.steps_before(), &plan.trials[2..3]);
        assert_eq!(resumed.next(&ids).unwrap(), None, "a point that is new is of the trial chosen last");
    }

    #[test]
    fn a_skipped_step_takes_the_rest_of_its_sequence_along_and_a_resumed_run_measures_both() {
        let catalogue = crate::catalogue();
        let keys = [("engine", "null"), ("step", "l.i0,l.i1"), ("indexes", "0,3")];
        let keys = keys.map(|(key, value)| (key.to_owned(), value.to_owned()));
        let plan = plan::from_flags("insert", &Overrides::from_flags(keys.into()), 1.0, &catalogue).unwrap();
        let mut matrix = PlanMatrix::new(&plan, &catalogue, Path::new("none"));
        assert_eq!(matrix.next(&[]).unwrap(), Some(plan.trials[0].clone()));
        assert!(matrix.skip());
        assert_eq!(matrix.next(&[]).unwrap(), Some(plan.trials[2].clone()));
        assert_eq!(matrix.next(&[PointId(2)]).unwrap(), Some(plan.trials[3].clone()));
        assert_eq!(matrix.next(&[PointId(2), PointId(3)]).unwrap(), None);

        let done = [(2, 2), (3, 3)].map(|(id, trial)| DonePoint { point: PointId(id), trial });
        let mut resumed = PlanMatrix::new(&plan, &catalogue, Path::new("none")).after(&done);
        let mut ids = vec![PointId(2), PointId(3)];
        assert_eq!(resumed.next(&ids).unwrap(), Some(plan.trials[0].clone()));
        ids.push(PointId(4));
        assert_eq!(resumed.next(&ids).unwrap(), Some(plan.trials[1].clone()));
    }
}
