//! The steps of a sequence: points that went on with the data of the one before.
//!
//! In: the points of a run. Out: the sequence of a point, and its part since the last drain.
//! Limits: old runs have no number for each sequence. There it is recognised by what points have in common and by their order, and
//! a step that comes again begins a new one.

use model::{Params, PointData, Trial, Value};

/// The name of the step that `point` is; `None` if it is in no sequence.
pub fn step_name(point: &PointData) -> Option<&str> {
    point.traits.work.step.as_ref().map(|step| step.name.as_str())
}

/// Whether `point` is the step that waits until all pending writes are done.
pub fn is_drain(point: &PointData) -> bool {
    point.traits.work.step.as_ref().is_some_and(|step| step.drains)
}

/// All points in their order, each sequence on its own; a point that is in none is alone.
pub fn sequences(all: &[PointData]) -> Vec<&[PointData]> {
    all.chunk_by(goes_on_with).flat_map(split_at_repeated_steps).collect()
}

fn goes_on_with(one: &PointData, next: &PointData) -> bool {
    step_name(one).zip(step_name(next)).is_some() && have_data_in_common(one, next)
}

/// Parts of `run` in which no step comes twice.
fn split_at_repeated_steps(run: &[PointData]) -> Vec<&[PointData]> {
    let (mut parts, mut start) = (Vec::new(), 0);
    for nth in 1..run.len() {
        if run[start..nth].iter().any(|known| step_name(known) == step_name(&run[nth])) {
            parts.push(&run[start..nth]);
            start = nth;
        }
    }
    parts.push(&run[start..]);
    parts
}

/// The sequence that `point` is in, from its first step to its last; the point alone if it is in none.
pub fn sequence_of<'a>(point: &'a PointData, all: &'a [PointData]) -> Vec<&'a PointData> {
    let own = sequences(all).into_iter().find(|sequence| sequence.iter().any(|one| one.id == point.id));
    let own = own.filter(|_| step_name(point).is_some());
    own.map_or_else(|| vec![point], |sequence| sequence.iter().collect())
}

/// The points of the sequence of `point` whose writes one drain completes, with that drain as the last if there is one.
pub fn up_to_drain<'a>(point: &'a PointData, all: &'a [PointData]) -> Vec<&'a PointData> {
    let sequence = sequence_of(point, all);
    let parts = sequence.chunk_by(|one, _| !is_drain(one));
    parts.into_iter().find(|part| part.iter().any(|one| one.id == point.id)).map_or(Vec::new(), <[_]>::to_vec)
}

/// The points of the sequence of `point` up to it, itself the last.
pub fn up_to<'a>(point: &'a PointData, all: &'a [PointData]) -> Vec<&'a PointData> {
    let mut sequence = sequence_of(point, all);
    let own = sequence.iter().position(|one| one.id == point.id).unwrap_or(0);
    sequence.truncate(own + 1);
    sequence
}

fn have_data_in_common(one: &PointData, other: &PointData) -> bool {
    if let (Some(own), Some(others)) = (one.traits.course.sequence, other.traits.course.sequence) {
        return own == others;
    }
    let (a, b): (&Trial, &Trial) = (&one.trial, &other.trial);
    let same_engine = a.target == b.target && a.workload.name == b.workload.name;
    same_engine
        && (a.repeat, a.seed, a.load.clients) == (b.repeat, b.seed, b.load.clients)
        && without_step(one) == without_step(other)
}

/// The parameters of the workload but the one that names the step.
fn without_step(point: &PointData) -> Params {
    let mut others = point.trial.workload.params.clone();
    others.0.retain(|_, value| !matches!(value, Value::Word(word) if Some(word.as_str()) == step_name(point)));
    others
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulated::{Simulation, params, run_of};

    /// A run of these steps; a word with `3:` before it is on three indexes.
    fn run(steps: &[&str]) -> Vec<PointData> {
        let point_of = |text: &&str| {
            let (indexes, word) = text.split_once(':').unwrap_or(("0", text));
            let indexes = Value::Int(indexes.parse().expect("a number"));
            Simulation::counts(&[1]).with(|point| {
                point.trial.workload.params = params(&[("step", Value::Word(word.to_owned())), ("indexes", indexes)]);
            })
        };
        run_of(steps.iter().map(|step| point_of(step).point()).collect(), Vec::new()).points
    }

    fn ids(points: Vec<&PointData>) -> Vec<u32> {
        points.iter().map(|point| point.id).collect()
    }

    #[test]
    fn a_sequence_ends_where_a_step_comes_again_or_the_data_is_another() {
        let points = run(&["l.i0", "l.x", "l.i0", "l.x", "3:l.i0", "3:l.x"]);
        assert_eq!([0, 2, 3, 4].map(|nth| ids(sequence_of(&points[nth], &points))), [[1, 2], [3, 4], [3, 4], [5, 6]]);
        assert_eq!(ids(up_to(&points[2], &points)), [3]);
    }

    #[test]
    fn a_drain_completes_the_writes_since_the_one_before() {
        let points = run(&["l.i0", "l.i1", "drain", "l.i2"]);
        assert_eq!(ids(up_to_drain(&points[0], &points)), [1, 2, 3]);
        assert_eq!(ids(up_to_drain(&points[3], &points)), [4]);
    }

    #[test]
    fn a_point_without_a_step_is_alone() {
        let points =
            run_of(vec![Simulation::counts(&[1]).point(), Simulation::counts(&[1]).point()], Vec::new()).points;
        assert_eq!(ids(sequence_of(&points[1], &points)), [2]);
    }
}
