//! An analysed point: its numbers, what is drawn of it, what was found.
//!
//! In: [`crate::analyse`] makes it. Out: a [`PointAnalysis`], which detectors of runs, the verdict and reports read.
//! Limits: findings that need two points (knees, comparisons) are of the run.

use crate::course::shape::Shape;
use crate::evidence::cause::Bottlenecks;
use crate::{
    CompressionCost, DataLoad, EndpointSummary, Finding, HostSummary, InsertCost, InstanceShares, Label, Projection,
    Role, Rounds, Series, SettingValue, Settings, StackProfile, StatementSummary, Summary, ThreadStates, Validity,
    VariantCost, WorkDone,
};
use model::pairing::RepeatValue;
use model::sure::MeanRule;
use model::{Fact, PointState, PointTraits};
use std::sync::Arc;

/// One point and what it means.
#[derive(Clone, Debug)]
pub struct PointAnalysis {
    /// Its number in the run, from 1.
    pub id: u32,
    pub state: PointState,
    /// Why it did not complete.
    pub error: Option<String>,
    /// The engine by name, or the path.
    pub engine: String,
    /// The workload by name.
    pub workload: String,
    pub clients: u32,
    /// Operations that one client kept in flight.
    pub depth: u32,
    pub repeat: u32,
    /// All settings, these among them.
    pub settings: Settings,
    /// What distinguishes this point from the others of the run.
    pub label: Label,
    /// The number of its group, from 0: points of one group differ at most in clients, depth and repetition, and make one line in
    /// charts over clients or depth.
    pub group: usize,
    /// What the target reported of itself, for people.
    pub facts: Vec<Fact>,
    /// The same and what was declared, as far as code reads it.
    pub traits: PointTraits,
    /// The load of its data; `None` if the data was there already.
    pub load: Option<DataLoad>,
    /// What the steps of its variant took; `None` if it is none.
    pub variant: Option<VariantCost>,
    /// The numbers; `None` if the run phase was not reached.
    pub summary: Option<Summary>,
    /// Each kind of operation of the measured clients by itself; empty if the run phase was not reached.
    pub statements: Vec<StatementSummary>,
    /// Each of several endpoints by itself; empty if the engine has one.
    pub endpoints: Vec<EndpointSummary>,
    /// Its hosts next to each other; empty if only the recording machine measured it.
    pub hosts: Vec<HostSummary>,
    /// What each of several instances did; `None` of one.
    pub instances: Option<InstanceShares>,
    /// What an insert cost; `None` if the point inserts nothing and is no step of a sequence.
    pub inserts: Option<InsertCost>,
    /// What compressing a file showed; `None` if the point compressed none.
    pub compression: Option<CompressionCost>,
    /// Where it would end at full size; `None` at full size and if it inserts nothing.
    pub projection: Option<Projection>,
    /// What is drawn over time; `None` if the run phase was not reached.
    pub series: Option<Series>,
    /// How the rate moved: stalls, levels, drops, waves; `None` if the run phase was not reached.
    pub shape: Option<Shape>,
    /// The rounds of a run until steady; `None` if time ends the run, or if the run phase was not reached.
    pub rounds: Option<Rounds>,
    /// Where the time of its threads went in the part of the run phase that counts.
    pub threads: ThreadStates,
    /// The stacks of its engine; `None` if none were taken.
    pub stacks: Option<StackProfile>,
    /// The mean frequency of the CPUs in the run phase, in MHz; nominal on most virtual machines. `None` if it was not recorded.
    pub mhz: Option<f64>,
    /// What limited it, and what did not; `None` of a failed point, of one without operations, and of the scripted engine.
    pub bottlenecks: Option<Bottlenecks>,
    /// How much of its work it did.
    pub work_done: WorkDone,
    pub findings: Vec<Finding>,
    /// How far the numbers can be trusted.
    pub validity: Validity,
    /// What a search has found whose limit was held in this point; `None` of any other point.
    pub held: Option<HeldLimit>,
    /// How the mean of its repeats is judged that were looked at until it was known; `None` if their number was planned, or if they are compared.
    pub mean_rule: Option<Arc<MeanRule>>,
}

/// The largest rate that keeps an objective.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HeldLimit {
    /// Operations per second; `None` if the limit may be higher than the rate that was held.
    pub per_s: Option<f64>,
}

/// A step of fewer operations than this is timed as a whole.
const OPS_WITH_RATE_MIN: f64 = 10.0;
/// A step that is timed as a whole and ends sooner had nothing to do, in seconds.
const WORK_MIN_S: f64 = 1e-3;

impl PointAnalysis {
    /// Its kinds of operation, if it performed several and no other table has them: variants and files that are compressed have tables of
    /// their own.
    pub fn several_statements(&self) -> &[StatementSummary] {
        let is_shown = self.statements.len() > 1 && self.variant.is_none() && self.compression.is_none();
        if is_shown { &self.statements } else { &[] }
    }

    /// How long the run phase took, in seconds, if that is the result: of a step that only creates indexes or drains, or that is a few
    /// operations. Such a point has a duration and no rate. Of a variant it is one execution with its set-up and clean-up.
    pub fn duration_s(&self) -> Option<f64> {
        if let Some(variant) = &self.variant {
            return variant.total_seconds;
        }
        let summary = self.summary.as_ref().filter(|summary| summary.ops > 0 && self.settings.step().is_some())?;
        let ends_itself = self.traits.course.run_ops.is_some();
        // If time ends it, that time is no result. Old runs do not have what ends a step; their steps have no groups.
        let has_group = self.traits.work.step.as_ref().is_some_and(|step| step.group.is_some());
        let is_short = summary.ops_of_a_repeat() < OPS_WITH_RATE_MIN && (ends_itself || !has_group);
        (ends_itself && summary.rows_per_s.is_none() || is_short).then_some(summary.seconds)
    }

    /// Whether it is the step that writes what others have put off.
    pub fn is_drain(&self) -> bool {
        self.traits.work.step.as_ref().is_some_and(|step| step.drains)
    }

    /// Whether its operations have the times of a recording.
    pub fn is_recorded_load(&self) -> bool {
        self.settings.iter().any(|one| one.role == Role::Pacing && matches!(one.value, SettingValue::Name(_)))
    }

    /// Whether it is a step that ended at once, as the building of no indexes does.
    pub fn had_nothing_to_do(&self) -> bool {
        self.variant.is_none() && self.duration_s().is_some_and(|seconds| seconds < WORK_MIN_S)
    }
}

/// How many standard errors half the interval of the mean of `repeats`, all of one point, is if they were looked at until it was known; `None` if not.
pub(crate) fn errors_of_mean(repeats: &[&PointAnalysis]) -> Option<f64> {
    repeats.first()?.mean_rule.as_ref()?.errors(&rates_of(repeats))
}

/// The rates of `repeats`, with their places in the run.
pub(crate) fn rates_of(repeats: &[&PointAnalysis]) -> Vec<RepeatValue> {
    let rate = |point: &&PointAnalysis| {
        let value = point.summary.as_ref()?.ops_per_s;
        (value > 0.0).then_some(RepeatValue { place: point.id, value })
    };
    repeats.iter().filter_map(rate).collect()
}

#[cfg(test)]
mod tests {
    use crate::PointAnalysis;
    use crate::simulated::{Simulation, params};
    use model::{Fact, StepIndexes, StepWork, Value};

    fn step(name: &str, counts: &[u64]) -> PointAnalysis {
        let simulation = Simulation::counts(counts).with(|point| {
            point.trial.workload.name = "insert".into();
            point.trial.workload.params = params(&[("step", Value::Word(name.into()))]);
            point.facts.push(Fact::new("run.ops", "20"));
        });
        simulation.analysis().points.remove(0)
    }

    #[test]
    fn a_step_that_inserts_nothing_and_ends_by_itself_has_a_duration() {
        assert_eq!(step("l.x", &[10, 10]).duration_s(), Some(2.0));
        assert_eq!(step("drain", &[1]).duration_s(), Some(1.0));
        let mut inserting = step("l.i0", &[10, 10]);
        inserting.summary.as_mut().unwrap().rows_per_s = Some(10.0);
        assert_eq!(inserting.duration_s(), None);
    }

    #[test]
    fn a_step_that_time_ends_has_a_rate_however_few_its_operations_are() {
        let mut few = step("scan", &[1, 1]);
        few.traits.course.run_ops = None;
        let (indexes, group) = (StepIndexes::Kept, Some("ranges".to_owned()));
        few.traits.work.step = Some(StepWork { name: "scan".into(), at: 0, drains: false, indexes, group });
        assert_eq!(few.duration_s(), None);
    }

    #[test]
    fn a_point_without_operations_or_without_steps_has_no_duration() {
        assert_eq!(step("l.x", &[0, 0]).duration_s(), None);
        assert_eq!(Simulation::counts(&[1]).analysis().points[0].duration_s(), None);
    }
}
