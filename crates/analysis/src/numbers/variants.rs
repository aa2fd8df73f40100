//! What each step of a variant of a statement took, and what the engine's own account of it says.
//!
//! The engine's account is of one execution outside of what was measured, and of the statement alone, without its set-up.

use crate::math::repeats::{Repeated, combined};
use model::{Phase, PointData, StatementEffort, StatementResult, StepPart};
use serde::Serialize;
use std::collections::BTreeMap;

/// What an execution of a variant took.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct VariantCost {
    pub name: String,
    /// The parameter that names it.
    #[serde(skip)]
    pub param: String,
    /// Executions of its statement that ended.
    pub executions: u64,
    /// All steps together, in seconds; `None` if a step was never done.
    pub total_seconds: Option<f64>,
    /// The statement alone, in seconds.
    pub statement_seconds: Option<f64>,
    pub steps: Vec<StepCost>,
    /// Steps that were cancelled at their time limit.
    pub timeouts: u64,
    /// That limit, in seconds; `None` for none.
    pub timeout_seconds: Option<f64>,
    /// What the statement has returned.
    #[serde(skip)]
    pub result: Option<StatementResult>,
    /// What the optimizer built for the statement alone, in words of the engine.
    pub built: Option<String>,
    /// What one execution cost inside the engine.
    pub efforts: BTreeMap<StatementEffort, f64>,
    #[serde(skip)]
    pub plan: Option<String>,
}

/// One step of a variant.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StepCost {
    pub name: String,
    /// What it is for.
    pub part: StepPart,
    /// The mean of its response times, in seconds; `None` if it was never done.
    pub seconds: Option<f64>,
}

impl VariantCost {
    /// The variant of repeats: means of its durations, and counts as sums; `None` if there is none.
    pub(crate) fn combine(all: &Repeated<VariantCost>) -> Option<VariantCost> {
        let first = all.first()?;
        let steps = first.steps.iter().enumerate().map(|(at, step)| {
            let same = all.parts(|one| one.steps.get(at));
            combined!(same, StepCost { name: (step.name.clone()), part: (step.part), seconds: mean })
        });
        let efforts = first.efforts.keys().map(|effort| (*effort, all.mean(|one| one.efforts.get(effort).copied())));
        Some(combined!(
            all,
            VariantCost {
                name: (first.name.clone()),
                param: (first.param.clone()),
                executions: sum,
                total_seconds: mean,
                statement_seconds: mean,
                steps: (steps.collect()),
                timeouts: sum,
                timeout_seconds: same,
                result: (all.same(|one| one.result.clone())),
                built: (all.same(|one| one.built.clone())),
                efforts: (efforts.filter_map(|(effort, mean)| Some((effort, mean?))).collect()),
                plan: (all.same(|one| one.plan.clone())),
            }
        ))
    }

    /// What the variant of `point` took; `None` if it is none.
    pub(crate) fn from_point(point: &PointData) -> Option<VariantCost> {
        let work = point.traits.work.variant.as_ref()?;
        let done = |kind: usize| mean_seconds(point, kind);
        let steps = work.parts.iter().zip(&point.kinds).enumerate();
        let steps: Vec<StepCost> = steps
            .map(|(at, (part, kind))| StepCost {
                name: kind.name.clone(),
                part: *part,
                seconds: done(at).map(|(_, seconds)| seconds),
            })
            .collect();
        let statement = work.parts.iter().position(|part| *part == StepPart::Statement);
        let statement = statement.and_then(done);
        let outcome = &point.traits.outcome;
        Some(VariantCost {
            name: work.name.clone(),
            param: work.param.clone(),
            executions: statement.map_or(0, |(executions, _)| executions),
            total_seconds: steps.iter().map(|step| step.seconds).sum(),
            statement_seconds: statement.map(|(_, seconds)| seconds),
            steps,
            timeouts: outcome.timeouts,
            timeout_seconds: work.timeout.map(|limit| limit.as_secs_f64()),
            result: outcome.result.clone(),
            built: outcome.built.clone(),
            efforts: outcome.efforts.clone(),
            plan: outcome.plan.clone(),
        })
    }

    /// The steps of `part` together, in seconds.
    pub fn part_seconds(&self, part: StepPart) -> Option<f64> {
        self.steps.iter().filter(|step| step.part == part).map(|step| step.seconds).sum()
    }
}

/// How often operations of `kind` were done in the run phase of `point`, and the mean of their response times.
fn mean_seconds(point: &PointData, kind: usize) -> Option<(u64, f64)> {
    let intervals = &point.phase(Phase::Run)?.intervals;
    let rows = intervals.iter().flat_map(|interval| &interval.kinds).filter(|row| usize::from(row.kind) == kind);
    let (count, sum) =
        rows.fold((0, 0u128), |(count, sum), row| (count + row.response.len(), sum + row.response.sum_ns()));
    (count > 0).then(|| (count, sum as f64 / count as f64 / 1e9))
}
