//! Which trial comes next.
//!
//! In: the points of the run that are complete. Out: the next trial, or none when all is measured. Limits: a strategy sees numbers of
//! points only; one that decides by what was measured reads the finished points from the run file itself.

use crate::messages::Sequence;
use model::{Catalogue, Plan, Trial};
use std::ops::Range;
use store::PointId;

/// Decides which trial comes next.
pub trait Strategy {
    /// The trial after the points `done`, which are complete and in the order in which they were measured. A strategy keeps nothing
    /// that it cannot rebuild from them, so that a run that was interrupted can go on.
    fn next(&mut self, done: &[PointId]) -> Option<Trial>;

    /// The sequence of steps that the trial after `done` points belongs to; `None` if it belongs to none.
    fn sequence(&self, _done: usize) -> Option<Sequence> {
        None
    }
}

/// All trials of an expanded plan in their order.
pub struct Matrix<'a> {
    plan: &'a Plan,
    chains: Vec<Range<usize>>,
}

impl Matrix<'_> {
    /// The trials of `plan`.
    pub fn new<'a>(plan: &'a Plan, catalogue: &Catalogue) -> Matrix<'a> {
        Matrix { plan, chains: plan::chains(plan, catalogue) }
    }
}

impl Strategy for Matrix<'_> {
    fn next(&mut self, done: &[PointId]) -> Option<Trial> {
        self.plan.trials.get(done.len()).cloned()
    }

    fn sequence(&self, done: usize) -> Option<Sequence> {
        let chain = self.chains.iter().find(|chain| chain.contains(&done))?;
        let steps = self.plan.trials[chain.clone()].to_vec();
        Some(Sequence { steps, place: done - chain.start, first: chain.start })
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
        let mut matrix = Matrix::new(&plan, &catalogue);
        let done: Vec<PointId> = (1..=4).map(PointId).collect();
        assert_eq!(matrix.next(&[]), Some(plan.trials[0].clone()));
        assert_eq!(matrix.next(&done[..3]), Some(plan.trials[3].clone()));
        assert_eq!(matrix.next(&done), None);
        let sequence = matrix.sequence(3).unwrap();
        assert_eq!((sequence.first, sequence.place), (2, 1));
        assert_eq!(sequence.steps_before(), &plan.trials[2..3]);
    }
}
