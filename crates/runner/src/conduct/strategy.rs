//! The choice of the next trial.
//!
//! In: the points of the run that are complete. Out: the next trial, or none if all is measured. Limits: a strategy sees only the
//! numbers of points; if it decides by results, it reads the finished points from the run file itself.

use crate::error::RunnerError;
use crate::messages::StepSequence;
use model::limit::{LimitProbe, LimitSearch, LimitStep, Observation, probe_of, probe_trial};
use model::{Catalogue, Plan, PointState, Trial};
use std::collections::BTreeMap;
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

    /// What the search that measured the last point makes of it; `None` if no search did.
    fn judged_probe(&self) -> Option<&LimitProbe> {
        None
    }
}

/// All trials of an expanded plan in their order. A trial that asks for the largest rate becomes the probes of a search.
pub struct PlanMatrix<'a> {
    plan: &'a Plan,
    chains: Vec<Range<usize>>,
    run_file: PathBuf,
    /// The trial of the plan that was chosen last.
    chosen: usize,
    /// What the points of searches have shown, as far as they were read.
    seen: BTreeMap<u32, Observation>,
    judged: Option<LimitProbe>,
}

impl PlanMatrix<'_> {
    /// The trials of `plan`, whose run is recorded in `run_file`.
    pub fn new<'a>(plan: &'a Plan, catalogue: &Catalogue, run_file: &Path) -> PlanMatrix<'a> {
        let (chains, run_file) = (plan::chains(plan, catalogue), run_file.to_owned());
        PlanMatrix { plan, chains, run_file, chosen: 0, seen: BTreeMap::new(), judged: None }
    }

    /// What the point `id` of a search has shown.
    fn observation(&mut self, id: PointId) -> Result<Observation, RunnerError> {
        if let Some(seen) = self.seen.get(&id.0) {
            return Ok(seen.clone());
        }
        // All that are new at once: after each probe one, and of a run that is resumed all of them.
        let first = self.seen.last_key_value().map_or(0, |(last, _)| last + 1);
        let points = store::read_points_from(&self.run_file, first)?;
        let observed = points.iter().filter(|point| point.trial.limit.is_some());
        self.seen.extend(observed.filter_map(|point| Some((point.id, Observation::from_point(point)?))));
        let missing = || RunnerError::failed(format!("point {} has no run phase to judge", id.0));
        self.seen.get(&id.0).cloned().ok_or_else(missing)
    }

    /// The next probe of the search number `nth`, whose points so far come first in `done`; `None` if the search is over. Takes its
    /// points from `done`.
    fn next_probe(&mut self, nth: usize, done: &mut &[PointId]) -> Result<Option<Trial>, RunnerError> {
        let asked = &self.plan.trials[nth];
        let spec = &asked.limit.as_ref().expect("it asks for a search").spec;
        let mut search = LimitSearch::new(spec, asked.phases.run);
        let mut measured = 0;
        while let LimitStep::Measure { kind, per_s, length } = search.next_step() {
            let Some((id, rest)) = done.split_first() else {
                self.judged = search.last_probe().cloned();
                return Ok(Some(probe_trial(asked, nth as u32, measured + 1, kind, per_s, length)));
            };
            search.observe(self.observation(*id)?);
            (*done, measured) = (rest, measured + 1);
        }
        self.judged = search.last_probe().cloned();
        Ok(None)
    }
}

impl Strategy for PlanMatrix<'_> {
    fn next(&mut self, done: &[PointId]) -> Result<Option<Trial>, RunnerError> {
        let mut left = done;
        for (nth, trial) in self.plan.trials.iter().enumerate() {
            (self.chosen, self.judged) = (nth, self.judged.take().filter(|_| left.is_empty()));
            if trial.limit.is_some() {
                if let Some(probe) = self.next_probe(nth, &mut left)? {
                    return Ok(Some(probe));
                }
            } else if let Some((_, rest)) = left.split_first() {
                left = rest;
            } else {
                return Ok(Some(trial.clone()));
            }
        }
        Ok(None)
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
}

/// The points that [`PlanMatrix`] goes on after, in its order: of the first trials of the plan one complete point each, of a search all
/// that it has, up to the first trial that has none. Equal trials need a complete point each.
pub(super) fn complete_points(plan: &Plan, points: &[PointHead]) -> Vec<PointId> {
    let mut left: Vec<&PointHead> = points.iter().filter(|point| point.state == PointState::Complete).collect();
    let mut done = Vec::new();
    for (nth, trial) in plan.trials.iter().enumerate() {
        let own: Vec<usize> = match trial.limit {
            Some(_) => positions(&left, |point| probe_of(&point.trial, nth as u32).is_some()),
            None => positions(&left, |point| point.trial == *trial).into_iter().take(1).collect(),
        };
        if own.is_empty() {
            break;
        }
        done.extend(own.iter().map(|place| PointId(left[*place].id)));
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
    use plan::Overrides;

    #[test]
    fn a_matrix_goes_on_after_the_points_that_are_done_and_knows_the_sequence_of_a_step() {
        let catalogue = crate::catalogue();
        let keys = [("engine", "null"), ("step", "l.i0,l.i1"), ("indexes", "0,3")];
        let keys = keys.map(|(key, value)| (key.to_owned(), value.to_owned()));
        let plan = plan::from_flags("insert", &Overrides::from_flags(keys.into()), 1.0, &catalogue).unwrap();
        let mut matrix = PlanMatrix::new(&plan, &catalogue, Path::new("none"));
        let done: Vec<PointId> = (1..=4).map(PointId).collect();
        assert_eq!(matrix.next(&done).unwrap(), None);
        assert_eq!(matrix.next(&[]).unwrap(), Some(plan.trials[0].clone()));
        assert_eq!(matrix.next(&done[..3]).unwrap(), Some(plan.trials[3].clone()));
        let sequence = matrix.sequence().unwrap();
        assert_eq!((sequence.first, sequence.place), (2, 1));
        assert_eq!(sequence.steps_before(), &plan.trials[2..3]);
    }
}
