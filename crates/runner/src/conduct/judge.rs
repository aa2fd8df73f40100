//! What may end the run phase of a point before its time.
//!
//! In: the interval rows of the run phase. Out: whether they are enough: a run until steady is steady, or the probe of a search cannot meet its
//! objective any more. Limits: as those of the two judges.

use super::steady::SteadyJudge;
use model::limit::{BacklogWatch, ProbeKind};
use model::{IntervalRow, OpKind, Pacing, Tick, Trial};

/// The judge of one run phase.
#[derive(Debug)]
pub(crate) enum RunJudge {
    /// It lasts until it is steady.
    Steady(SteadyJudge),
    /// It is a probe: it lasts until its backlog is hopeless.
    Backlog(BacklogWatch),
}

impl RunJudge {
    /// The judge of the run phase of `trial`; `None` if its time ends it.
    pub fn from_trial(trial: &Trial) -> Option<RunJudge> {
        if let Some(judge) = SteadyJudge::from_phases(&trial.phases) {
            return Some(RunJudge::Steady(judge));
        }
        let limit =
            trial.limit.as_ref().filter(|limit| limit.probe.is_some_and(|probe| probe.kind != ProbeKind::Closed))?;
        let Pacing::Open { arrivals } = trial.load.pacing else { return None };
        let (length, interval) = (trial.phases.run, trial.phases.interval);
        Some(RunJudge::Backlog(BacklogWatch::new(&limit.spec.objective, arrivals.per_s(), length, interval)))
    }

    /// Operations of `kinds` do not count.
    pub fn leave_out(&mut self, kinds: &[OpKind]) {
        match self {
            RunJudge::Steady(judge) => judge.leave_out(kinds),
            RunJudge::Backlog(watch) => watch.leave_out(kinds),
        }
    }

    /// The run phase has begun.
    pub fn begin_run(&mut self, start: Tick) {
        match self {
            RunJudge::Steady(judge) => judge.begin_run(start),
            RunJudge::Backlog(watch) => watch.begin_run(start),
        }
    }

    /// Adds rows that were delivered by `now`.
    pub fn add_rows(&mut self, rows: &[IntervalRow], now: Tick) {
        match self {
            RunJudge::Steady(judge) => judge.add_rows(rows, now),
            RunJudge::Backlog(watch) => watch.add_rows(rows, now),
        }
    }

    /// Whether what was delivered is enough.
    pub fn is_enough(&self) -> bool {
        match self {
            RunJudge::Steady(judge) => judge.are_steady(),
            RunJudge::Backlog(watch) => watch.is_hopeless(),
        }
    }
}
