//! Whether a point did the work that its plan asks for, on the data that its plan asks for.
//!
//! In: a recorded point and its sequence. Out: a [`WorkDone`]. Only points that did it all are compared with each other: the first rows of a
//! load are the cheapest, and queries on less data are faster. Limits: `ops_max` cuts no point short, since it gives all engines the same
//! work, and `time` only steps of a sequence.

use crate::recorded::sequence::step_name;
use crate::recorded::window::OpTally;
use model::{Phase, PointData, PointState};
use serde::Serialize;

/// How much of its work a point did.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum WorkDone {
    #[default]
    Whole,
    /// A part of it: it was interrupted, it failed, the disk was nearly full, or its time was over.
    CutShort {
        /// The share of its operations that it did; `None` if it was to run for a time.
        share: Option<f64>,
    },
    /// All or a part of it, but on other data than planned: an earlier step of its sequence was cut short.
    #[serde(rename = "short-data")]
    OnShortData {
        /// The name of that step.
        step: String,
        /// The number of its point in the run.
        point: u32,
    },
}

impl WorkDone {
    /// That of `point`, which is in `sequence`.
    pub fn from_point(point: &PointData, sequence: &[PointData]) -> WorkDone {
        let mut earlier = sequence.iter().take_while(|one| one.id != point.id);
        match earlier.find(|one| is_cut_short(one)) {
            Some(first) => {
                WorkDone::OnShortData { step: step_name(first).unwrap_or_default().to_owned(), point: first.id }
            }
            None if is_cut_short(point) => WorkDone::CutShort { share: share_done(point) },
            None => WorkDone::Whole,
        }
    }

    /// Whether it did all of its work, on all of its data.
    pub fn is_whole(&self) -> bool {
        *self == WorkDone::Whole
    }

    /// The word used in files.
    pub fn as_str(&self) -> &'static str {
        match self {
            WorkDone::Whole => "whole",
            WorkDone::CutShort { .. } => "cut-short",
            WorkDone::OnShortData { .. } => "short-data",
        }
    }
}

/// Whether `point` ended before its plan has it end.
fn is_cut_short(point: &PointData) -> bool {
    match point.state {
        // A variant or a file that is measured less often than planned did the same work each time.
        PointState::Complete if step_name(point).is_none() => false,
        PointState::Complete => !is_ended_by_ops_max(point) && share_done(point).is_some_and(|share| share < 1.0),
        PointState::Partial | PointState::Failed => true,
    }
}

fn is_ended_by_ops_max(point: &PointData) -> bool {
    point.trial.phases.ops_max.is_some_and(|most| ended_ops(point) >= most)
}

/// The share of its operations that `point` did; `None` if it has no number of them.
fn share_done(point: &PointData) -> Option<f64> {
    let planned = point.traits.course.run_ops.filter(|planned| *planned > 0)?;
    Some(ended_ops(point) as f64 / planned as f64)
}

fn ended_ops(point: &PointData) -> u64 {
    point.phase(Phase::Run).map_or(0, |phase| OpTally::from_phase(phase).ended())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulated::{Simulation, params};
    use crate::{PointAnalysis, analyse};
    use model::{Fact, Value};

    /// A step that was to do 20,000 operations, of which it did `counts`.
    fn step(name: &str, counts: &[u64], change: impl FnOnce(&mut PointData)) -> PointData {
        let simulation = Simulation::counts(counts).with(|point| {
            point.trial.workload.name = "insert".into();
            point.trial.workload.params = params(&[("step", Value::Word(name.into()))]);
            point.facts.push(Fact::new("run.ops", "20000"));
        });
        simulation.with(change).point()
    }

    fn analysed(points: Vec<PointData>) -> Vec<PointAnalysis> {
        analyse(&crate::simulated::run_of(points, Vec::new())).points
    }

    fn words(points: Vec<PointData>) -> Vec<&'static str> {
        analysed(points).iter().map(|point| point.work_done.as_str()).collect()
    }

    #[test]
    fn steps_after_one_that_was_cut_short_ran_on_short_data() {
        let steps = vec![
            step("l.i0", &[2000; 10], |_| ()),
            step("l.i1", &[2000; 5], |_| ()),
            step("l.i2", &[2000; 10], |_| ()),
            step("drain", &[2000; 5], |_| ()),
        ];
        let found = analysed(steps);
        let told: Vec<&WorkDone> = found.iter().map(|point| &point.work_done).collect();
        let after = WorkDone::OnShortData { step: "l.i1".into(), point: 2 };
        assert_eq!(told, [&WorkDone::Whole, &WorkDone::CutShort { share: Some(0.5) }, &after, &after]);
        let codes = |nth: usize| -> Vec<&str> { found[nth].findings.iter().map(|one| one.code().as_str()).collect() };
        assert!(codes(1).contains(&"cut-short") && !codes(1).contains(&"short-data"), "{:?}", codes(1));
        assert!(codes(2).contains(&"short-data"), "{:?}", codes(2));
    }

    #[test]
    fn a_new_sequence_begins_with_whole_data() {
        let steps = vec![
            step("l.i0", &[2000; 5], |_| ()),
            step("l.i1", &[2000; 10], |_| ()),
            step("l.i0", &[2000; 10], |_| ()),
            step("l.i1", &[2000; 10], |_| ()),
        ];
        assert_eq!(words(steps), ["cut-short", "short-data", "whole", "whole"]);
    }

    #[test]
    fn a_point_that_runs_for_a_time_is_cut_short_if_it_was_interrupted() {
        let timed = || Simulation::counts(&[2000; 10]);
        let stopped = timed().with(|point| point.state = PointState::Partial).point();
        assert_eq!(words(vec![timed().point(), stopped.clone()]), ["whole", "cut-short"]);
        assert_eq!(WorkDone::from_point(&stopped, &[]), WorkDone::CutShort { share: None });
    }

    #[test]
    fn a_number_of_operations_gives_all_engines_the_same_work() {
        let limited = step("l.i0", &[2000; 5], |point| point.trial.phases.ops_max = Some(10_000));
        assert_eq!(words(vec![limited]), ["whole"]);
    }
}
