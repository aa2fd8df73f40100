//! The choice of the next trial.
//!
//! In: the points of the run that are complete. Out: the next trial, or none if all is measured. Limits: a strategy sees only the
//! numbers of points; if it decides by results, it reads the finished points from the run file itself.

use crate::messages::StepSequence;
use model::{Catalogue, Plan, Trial};
use std::ops::Range;
use store::PointId;

/// Decides which trial comes next.
pub trait Strategy {
    /// The trial after the points `done`, which are complete and in the order in which they were measured. A strategy must be able to
    /// rebuild its state from them, so that an interrupted run can be resumed.
    fn next(&mut self, done: &[PointId]) -> Option<Trial>;

    /// The sequence of steps that the trial after `done` points belongs to; `None` if it belongs to none.
    fn sequence(&self, _done: usize) -> Option<StepSequence> {
        None
    }
}

/// All trials of an expanded plan in their order.
pub struct PlanMatrix<'a> {
    plan: &'a Plan,
    chains: Vec<Range<usize>>,
}

impl PlanMatrix<'_> {
    /// The trials of `plan`.
    pub fn new<'a>(plan: &'a Plan, catalogue: &Catalogue) -> PlanMatrix<'a> {
        PlanMatrix { plan, chains: plan::chains(plan, catalogue) }
    }
}

impl Strategy for PlanMatrix<'_> {
    fn next(&mut self, done: &[PointId]) -> Option<Trial> {
        self.plan.trials.get(done.len()).cloned()
    }

    fn sequence(&self, done: usize) -> Option<StepSequence> {
        let chain = self.chains.iter().find(|chain| chain.contains(&done))?;
        let steps = self.plan.trials[chain.clone()].to_vec();
        Some(StepSequence { steps, place: done - chain.start, first: chain.start })
    }
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
        let mut matrix = PlanMatrix::new(&plan, &catalogue);
        let done: Vec<PointId> = (1..=4).map(PointId).collect();
        assert_eq!(matrix.next(&[]), Some(plan.trials[0].clone()));
        assert_eq!(matrix.next(&done[..3]), Some(plan.trials[3].clone()));
        assert_eq!(matrix.next(&done), None);
        let sequence = matrix.sequence(3).unwrap();
        assert_eq!((sequence.first, sequence.place), (2, 1));
        assert_eq!(sequence.steps_before(), &plan.trials[2..3]);
    }
}
