//! Conducts a run: which trial is next, when it starts, what is recorded of it.
//!
//! In: a strategy, a performer, a run file. Out: every point recorded. Limits: it knows no engine and does not read the data back:
//! that is the performer's part.

mod backlog;
mod judge;
pub(crate) mod recorder;
pub(crate) mod resume;
pub(crate) mod steady;
pub(crate) mod strategy;
mod sure;
pub(crate) mod time_left;

use crate::error::RunnerError;
use crate::events::{PointEnd, RunEvent, RunObserver};
use crate::messages::{Assignment, OpenedTrial, Performer, StepSequence};
use crate::perform::facts::unopened;
use host::error::TargetError;
use judge::RunJudge;
use load::{Clock, MonotonicClock, Stop, StopReason};
use model::{Fact, Phase, PointState, TIME_OVER_FACT, Tick};
use recorder::PointRecorder;
use resume::RunInterruption;
use std::sync::Arc;
use store::{NewPoint, PointId, RunWriter};
use strategy::Strategy;

pub(crate) struct Conductor<'a> {
    pub writer: &'a mut RunWriter,
    pub observer: &'a mut dyn RunObserver,
    pub stop: Arc<Stop>,
    pub clock: MonotonicClock,
    /// The points that are complete, in the order in which they were measured.
    pub done: Vec<PointId>,
    /// The interruption before it, if the run was resumed.
    pub interruption: Option<RunInterruption>,
}

impl Conductor<'_> {
    /// Measures every trial that `strategy` asks for, up to the first that fails, or all but those if it leaves them out: their first error is the
    /// result all the same. The data of the last instance is always removed.
    pub fn conduct_run(
        mut self,
        strategy: &mut dyn Strategy,
        performer: &mut dyn Performer,
    ) -> Result<(), RunnerError> {
        let measured = self.measure_all(strategy, performer);
        let ended = with_removal(measured, performer.clear());
        self.observer.on(RunEvent::SessionEnded);
        ended
    }

    fn measure_all(&mut self, strategy: &mut dyn Strategy, performer: &mut dyn Performer) -> Result<(), RunnerError> {
        let (mut next, mut failure, mut opened) = (next_assignment(strategy, &self.done)?, None, None);
        while let Some(assignment) = next {
            // A wish to skip the point before may have come when that was over already.
            self.stop.end_skip();
            let MeasuredTrial { point, measured, is_data_whole } = match self.measure_trial(&assignment, performer) {
                Ok(measured) => measured,
                Err(error) if is_refusal(&error) && strategy.refuse() => {
                    next = self.next_after_refusal(&error, strategy, performer)?;
                    continue;
                }
                Err(error) if goes_on_after(&error, strategy) => {
                    let (point, end) =
                        (Some(self.record_unopened(&assignment, &error)?), PointEnd::Recorded(PointState::Failed));
                    opened = point;
                    self.observer.on(RunEvent::PointEnded { point, end, is_continued: false });
                    if let Err(left) = performer.clear() {
                        return Err(error.with_second(&left));
                    }
                    next = self.next_after_failure(error, &mut failure, strategy)?;
                    continue;
                }
                Err(error) => return Err(self.with_reason_kept(&assignment, error)),
            };
            opened = point.or(opened);
            // The strategy may look at the point before it decides, so the point is finished first.
            let finished = point.map_or(Ok(()), |point| self.finish_point(point, &measured));
            let measured = measured.and(finished);
            let (following, measured) = match self.following(point, &measured, strategy) {
                Ok(following) => (following, measured),
                Err(error) => (None, Err(error)),
            };
            // The next trial may use the same instance and data: then they are not removed in between.
            let kept = is_data_whole && following.as_ref().is_some_and(|next| performer.can_keep(next));
            let removed = match point.filter(|_| !kept) {
                Some(point) => self.clean_up(point, &measured, performer)?,
                None if kept => Ok(()),
                None => performer.clear(),
            };
            let is_removed = removed.is_ok();
            let ended = with_removal(measured, removed);
            let is_continued = kept && following.as_ref().is_some_and(|next| !next.sequence.steps_before().is_empty());
            self.observer.on(RunEvent::PointEnded { point, end: point_end(&ended), is_continued });
            next = match ended {
                Err(error) if is_removed && goes_on_after(&error, strategy) => {
                    self.next_after_failure(error, &mut failure, strategy)?
                }
                Err(error) if !error.is_skip() => return Err(error),
                _ => following,
            };
        }
        self.note_time_over(strategy, opened)?;
        failure.map_or(Ok(()), Err)
    }

    /// Records if the time of the run ended it: the points alone do not tell that from an interruption between two of them. If none is complete,
    /// it is said of the last that was `opened`, in an earlier session if need be.
    fn note_time_over(&mut self, strategy: &dyn Strategy, opened: Option<PointId>) -> Result<(), RunnerError> {
        let earlier = || Some(PointId(self.interruption.as_ref()?.earlier.last()?.0));
        let last = self.done.last().copied().or(opened).or_else(earlier);
        let Some((budget, last)) = strategy.spent_budget().zip(last) else { return Ok(()) };
        Ok(self.writer.add_facts(last, &[Fact::new(TIME_OVER_FACT, budget.to_string())])?)
    }

    /// Records a trial that failed with `error` before its point was opened: as a point without numbers, by which the answer has the reason.
    fn record_unopened(&mut self, assignment: &Assignment, error: &RunnerError) -> Result<PointId, RunnerError> {
        let OpenedTrial { facts, traits, params, kinds, sources } = &unopened(assignment);
        let point =
            self.writer.begin_point(&NewPoint { trial: &assignment.trial, facts, traits, params, kinds, sources })?;
        self.writer.finish_point(point, PointState::Failed, Some(&error.to_string()))?;
        Ok(point)
    }

    /// The `error` that ends the run at a trial that was not opened. If points were measured before it, the answer to them has the reason, too;
    /// without any the error is all that there is to tell.
    fn with_reason_kept(&mut self, assignment: &Assignment, error: RunnerError) -> RunnerError {
        if error.is_of_one_point() && !self.done.is_empty() {
            // If the run file cannot be written either, the first error is the one that counts.
            let _ = self.record_unopened(assignment, &error);
        }
        error
    }

    /// The trial after one that ended as `measured`; `None` if it was the last, or if it failed.
    fn following(
        &mut self,
        point: Option<PointId>,
        measured: &Result<(), RunnerError>,
        strategy: &mut dyn Strategy,
    ) -> Result<Option<Assignment>, RunnerError> {
        match (measured, point) {
            (Ok(()), Some(point)) => self.next_after(point, strategy),
            (Err(error), _) if error.is_skip() => self.next_after_skip(strategy),
            _ => Ok(None),
        }
    }

    /// What comes after a trial whose target refused it with `error`.
    fn next_after_refusal(
        &mut self,
        error: &RunnerError,
        strategy: &mut dyn Strategy,
        performer: &mut dyn Performer,
    ) -> Result<Option<Assignment>, RunnerError> {
        performer.clear()?;
        self.observer.on(RunEvent::Note(&format!("{error}; the search goes on without it")));
        next_assignment(strategy, &self.done)
    }

    /// What comes after a trial that failed with `error`, unless the user ended the run meanwhile. The `first` error is kept.
    fn next_after_failure(
        &mut self,
        error: RunnerError,
        first: &mut Option<RunnerError>,
        strategy: &mut dyn Strategy,
    ) -> Result<Option<Assignment>, RunnerError> {
        self.stop.end_failure();
        if let Some(reason) = self.stop.reason() {
            return Err(RunnerError::Stopped(reason));
        }
        self.observer.on(RunEvent::Note(&format!("{error}; the run goes on without this point")));
        first.get_or_insert(error);
        next_assignment(strategy, &self.done)
    }

    /// What comes after a trial that the user skipped, unless the user ended the run meanwhile.
    fn next_after_skip(&mut self, strategy: &mut dyn Strategy) -> Result<Option<Assignment>, RunnerError> {
        if !strategy.skip() {
            return Err(RunnerError::Stopped(StopReason::Skipped));
        }
        self.stop.end_skip();
        match self.stop.reason() {
            Some(reason) => Err(RunnerError::Stopped(reason)),
            None => next_assignment(strategy, &self.done),
        }
    }

    fn next_after(&mut self, point: PointId, strategy: &mut dyn Strategy) -> Result<Option<Assignment>, RunnerError> {
        self.done.push(point);
        let next = next_assignment(strategy, &self.done);
        if let Some(probe) = strategy.judged_probe() {
            self.observer.on(RunEvent::ProbeJudged(probe));
        }
        next
    }

    /// Measures one trial. The outer result is an error if its point could not be opened, unless it was skipped before.
    fn measure_trial(
        &mut self,
        assignment: &Assignment,
        performer: &mut dyn Performer,
    ) -> Result<MeasuredTrial, RunnerError> {
        let trial = &assignment.trial;
        self.observer.on(RunEvent::PointBegan { number: self.done.len(), trial });
        let mut recorder = PointRecorder {
            writer: &mut *self.writer,
            observer: &mut *self.observer,
            stop: &self.stop,
            trial,
            interruption: &mut self.interruption,
            judge: RunJudge::from_trial(trial),
            point: None,
            broken: None,
            phase: Phase::Prepare,
            recorded: (Tick(0), Tick(0)),
        };
        let ready = performer.prepare(assignment, &mut recorder);
        let measured = ready.and_then(|()| performer.go(self.clock.now(), &mut recorder));
        let measured = performer.settle(measured, &mut recorder);
        let (point, phase) = (recorder.point, recorder.phase);
        let measured = recorder.result(measured);
        // Data that is made is whole only at its end.
        let is_data_whole = measured.is_ok() || phase != Phase::Prepare;
        match (point, measured) {
            (None, Err(error)) if !error.is_skip() => Err(error),
            (None, Ok(())) => unreachable!("a trial that was measured was opened"),
            (point, measured) => Ok(MeasuredTrial { point, measured, is_data_whole }),
        }
    }

    /// Stops the instance as the last phase of `point`, whose load ended as `measured`. Returns whether its data was removed.
    fn clean_up(
        &mut self,
        point: PointId,
        measured: &Result<(), RunnerError>,
        performer: &mut dyn Performer,
    ) -> Result<Result<(), RunnerError>, RunnerError> {
        let began = self.writer.begin_phase(point, Phase::Cleanup, self.clock.now());
        let removed = performer.clear();
        let recorded = began.and_then(|()| self.writer.end_phase(point, Phase::Cleanup, self.clock.now(), 0, 0));
        // An error before it is reported rather than this one, which follows from it.
        if measured.is_ok() {
            recorded?;
        }
        // The point was finished as complete before its data was removed: now it failed.
        if measured.is_ok() && removed.is_err() {
            self.finish_point(point, &removed)?;
        }
        Ok(removed)
    }

    fn finish_point(&mut self, point: PointId, measured: &Result<(), RunnerError>) -> Result<(), RunnerError> {
        let error = measured.as_ref().err().map(ToString::to_string);
        Ok(self.writer.finish_point(point, point_state(measured), error.as_deref())?)
    }
}

/// The result of a load, and of the removal of its data: both errors if both failed. A run goes on after a skipped point, but not on top of
/// what it left.
fn with_removal(measured: Result<(), RunnerError>, removed: Result<(), RunnerError>) -> Result<(), RunnerError> {
    match (measured, removed) {
        (Err(error), Err(left)) => Err(error.with_second(&left)),
        (measured, removed) => measured.and(removed),
    }
}

/// Whether the run goes on with other trials after one that failed with `error`, and leaves that one out.
fn goes_on_after(error: &RunnerError, strategy: &mut dyn Strategy) -> bool {
    error.is_of_one_point() && strategy.leave_out_failed()
}

/// Whether a target does not take a trial as it is.
fn is_refusal(error: &RunnerError) -> bool {
    matches!(error, RunnerError::Unsupported(_) | RunnerError::Target(TargetError::Unsupported(_)))
}

/// A trial after its load.
struct MeasuredTrial {
    /// `None` if it was skipped before its engine was ready.
    point: Option<PointId>,
    measured: Result<(), RunnerError>,
    /// Whether the next trial may use its data.
    is_data_whole: bool,
}

fn point_end(measured: &Result<(), RunnerError>) -> PointEnd {
    match measured {
        Err(error) if error.is_skip() => PointEnd::Skipped,
        measured => PointEnd::Recorded(point_state(measured)),
    }
}

fn point_state(measured: &Result<(), RunnerError>) -> PointState {
    measured.as_ref().map_or_else(RunnerError::point_state, |()| PointState::Complete)
}

fn next_assignment(strategy: &mut dyn Strategy, done: &[PointId]) -> Result<Option<Assignment>, RunnerError> {
    let Some(trial) = strategy.next(done)? else { return Ok(None) };
    let sequence = strategy.sequence().unwrap_or_else(|| StepSequence::alone(&trial, done.len()));
    Ok(Some(Assignment { trial, sequence, joins: None }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::messages::{ConductorHandle, PerformerMessage};
    use crate::preflight::{RunSite, create_run};
    use model::Trial;
    use std::collections::VecDeque;

    /// How a trial goes.
    #[derive(Clone, Copy)]
    enum Going {
        Refused,
        NotOpened,
        LoadFails,
        Whole,
    }

    /// A host on which the first trials go as they are told to, and all others are whole.
    struct Failing {
        first: VecDeque<Going>,
        current: Going,
        /// Whether its data cannot be removed. Once its instance was stopped there is nothing to remove.
        leaves_data: bool,
    }

    impl Failing {
        fn at(first: &[Going]) -> Failing {
            Failing { first: first.iter().copied().collect(), current: Going::Whole, leaves_data: false }
        }
    }

    impl Performer for Failing {
        fn prepare(&mut self, _: &Assignment, conductor: &mut dyn ConductorHandle) -> Result<(), RunnerError> {
            self.current = self.first.pop_front().unwrap_or(Going::Whole);
            match self.current {
                Going::Refused => return Err(TargetError::Unsupported("192 clients do not fit".into()).into()),
                Going::NotOpened => return Err(RunnerError::failed("no server")),
                Going::LoadFails | Going::Whole => {}
            }
            let (facts, params, kinds, sources) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
            let traits = model::PointTraits::default();
            conductor.deliver(PerformerMessage::Opened(Box::new(OpenedTrial {
                facts,
                traits,
                params,
                kinds,
                sources,
            })));
            Ok(())
        }

        fn go(&mut self, _: model::Tick, _: &mut dyn ConductorHandle) -> Result<(), RunnerError> {
            match self.current {
                Going::LoadFails => Err(RunnerError::failed("the disk failed")),
                _ => Ok(()),
            }
        }

        fn settle(
            &mut self,
            measured: Result<(), RunnerError>,
            _: &mut dyn ConductorHandle,
        ) -> Result<(), RunnerError> {
            measured
        }

        fn can_keep(&self, _: &Assignment) -> bool {
            false
        }

        fn clear(&mut self) -> Result<(), RunnerError> {
            match std::mem::take(&mut self.leaves_data) {
                true => Err(RunnerError::failed("the schema `p` is still there")),
                false => Ok(()),
            }
        }
    }

    #[derive(Default)]
    struct Notes(Vec<String>);

    impl RunObserver for Notes {
        fn on(&mut self, event: RunEvent<'_>) {
            if let RunEvent::Note(text) = event {
                self.0.push(text.into());
            }
        }
    }

    /// So many trials, of which it leaves out those that fail.
    struct LeavingOut(Vec<Trial>);

    impl Strategy for LeavingOut {
        fn next(&mut self, _: &[PointId]) -> Result<Option<Trial>, RunnerError> {
            Ok(self.0.pop())
        }

        fn leave_out_failed(&mut self) -> bool {
            true
        }
    }

    /// The same in a run whose time is over then.
    struct InTime(LeavingOut);

    impl Strategy for InTime {
        fn next(&mut self, done: &[PointId]) -> Result<Option<Trial>, RunnerError> {
            self.0.next(done)
        }

        fn leave_out_failed(&mut self) -> bool {
            true
        }

        fn spent_budget(&self) -> Option<model::Nanos> {
            Some(model::Nanos::from_secs(60))
        }
    }

    /// Has another trial for one that is refused.
    struct Lowering(Trial);

    impl Strategy for Lowering {
        fn next(&mut self, _: &[PointId]) -> Result<Option<Trial>, RunnerError> {
            Ok(Some(self.0.clone()))
        }

        fn refuse(&mut self) -> bool {
            true
        }
    }

    struct Forever(Trial);

    impl Strategy for Forever {
        fn next(&mut self, _: &[PointId]) -> Result<Option<Trial>, RunnerError> {
            Ok(Some(self.0.clone()))
        }
    }

    /// The state of a point, and its error.
    type EndedPoint = (PointState, Option<String>);

    /// How a run of a trial ends: its error, its notes, and its points.
    fn conducted(
        strategy: impl FnOnce(Trial) -> Box<dyn Strategy>,
        performer: &mut dyn Performer,
    ) -> (String, Vec<String>, Vec<EndedPoint>) {
        let (error, notes, points) = recorded(strategy, performer);
        (error, notes, points.into_iter().map(|point| (point.state, point.error)).collect())
    }

    fn recorded(
        strategy: impl FnOnce(Trial) -> Box<dyn Strategy>,
        performer: &mut dyn Performer,
    ) -> (String, Vec<String>, Vec<model::PointData>) {
        let dir = tempfile::tempdir().unwrap();
        let site = RunSite {
            dir: dir.path().into(),
            runs: dir.path().into(),
            destroy: Vec::new(),
            system_changes: Default::default(),
            writes: Default::default(),
            if_held: Default::default(),
            restore: None,
        };
        let plan = plan::from_flags("file", &plan::Overrides::default(), 1.0, &crate::catalogue()).unwrap();
        let mut notes = Notes::default();
        let (run_file, mut writer) = create_run(&plan, &[], None, &site, &mut notes).unwrap();
        let (stop, clock, done) = (Arc::default(), MonotonicClock::start(), Vec::new());
        let (writer_ref, observer) = (&mut writer, &mut notes);
        let conductor = Conductor { writer: writer_ref, observer, stop, clock, done, interruption: None };
        let error = conductor.conduct_run(&mut *strategy(plan.trials[0].clone()), performer).unwrap_err();
        writer.finish().unwrap();
        let run = store::read(&run_file).unwrap();
        (error.to_string(), notes.0, run.points)
    }

    #[test]
    fn a_load_that_fails_ends_the_run_and_data_that_cannot_be_removed_is_named_with_it() {
        let mut performer = Failing { leaves_data: true, ..Failing::at(&[Going::LoadFails]) };
        let (error, _, points) = conducted(|trial| Box::new(Forever(trial)), &mut performer);
        assert_eq!(error, "the disk failed; the data could not be removed: the schema `p` is still there");
        assert_eq!(points, [(PointState::Failed, Some("the disk failed".to_owned()))]);
    }

    #[test]
    fn a_run_that_leaves_out_what_failed_measures_the_others_and_has_its_error() {
        for (going, why) in [(Going::LoadFails, "the disk failed"), (Going::NotOpened, "no server")] {
            let mut performer = Failing::at(&[going]);
            let (error, notes, points) =
                conducted(|trial| Box::new(LeavingOut(vec![trial.clone(), trial])), &mut performer);
            assert_eq!(error, why);
            assert!(notes.contains(&format!("{why}; the run goes on without this point")), "{notes:?}");
            assert_eq!(points, [(PointState::Failed, Some(why.to_owned())), (PointState::Complete, None)]);
        }
    }

    #[test]
    fn a_run_whose_time_is_over_says_so_at_its_last_point_even_if_none_is_complete() {
        let over = |first: &[Going]| -> Vec<bool> {
            let strategy = |trial: Trial| -> Box<dyn Strategy> {
                let trials = first.iter().map(|_| trial.clone()).collect();
                Box::new(InTime(LeavingOut(trials)))
            };
            let (_, _, points) = recorded(strategy, &mut Failing::at(first));
            points.iter().map(|point| point.facts.iter().any(|fact| fact.name == TIME_OVER_FACT)).collect()
        };
        assert_eq!(over(&[Going::LoadFails]), [true]);
        assert_eq!(over(&[Going::LoadFails, Going::NotOpened]), [false, true]);
        assert_eq!(over(&[Going::Whole, Going::LoadFails]), [true, false]);
    }

    #[test]
    fn a_run_that_ends_at_a_trial_that_was_not_opened_has_its_reason_if_points_were_measured_before() {
        let ended_at = |first: &[Going]| conducted(|trial| Box::new(Forever(trial)), &mut Failing::at(first));
        let (error, _, points) = ended_at(&[Going::Whole, Going::NotOpened]);
        assert_eq!(error, "no server");
        assert_eq!(points, [(PointState::Complete, None), (PointState::Failed, Some("no server".to_owned()))]);
        let (error, _, points) = ended_at(&[Going::NotOpened]);
        assert_eq!((error.as_str(), points.len()), ("no server", 0), "the error is all that there is to tell");
    }

    #[test]
    fn a_trial_that_its_target_refuses_has_no_point_and_the_run_goes_on_if_there_is_another() {
        let mut refusing = Failing::at(&[Going::Refused, Going::LoadFails]);
        let (error, notes, points) = conducted(|trial| Box::new(Lowering(trial)), &mut refusing);
        assert!(notes.contains(&"192 clients do not fit; the search goes on without it".to_owned()), "{notes:?}");
        assert_eq!((error.as_str(), points.len()), ("the disk failed", 1));
        let (error, _, points) = conducted(|trial| Box::new(Forever(trial)), &mut Failing::at(&[Going::Refused]));
        assert_eq!((error.as_str(), points.len()), ("192 clients do not fit", 0));
    }
}
