//! Finds steps that a plan asks to run with secondary indexes, and that would run without them.
//!
//! In: a resolved plan, and what its workloads declare of their steps. Out: a warning that names the steps and what to do.
//! Limits: it warns and does not refuse. A sweep over the number of indexes may hold such steps on purpose, and their labels have no
//! number of indexes.

use crate::chain::chains;
use model::{Catalogue, ParamOwner, ParamRole, Params, Plan, PointParam, StepIndexes, Trial, Value};
use std::collections::BTreeSet;

/// What is wrong with the indexes of `plan`, in one line; `None` if every step has the indexes that it asks for.
pub fn missing_indexes(plan: &Plan, catalogue: &Catalogue) -> Option<String> {
    let without: Vec<StepWithout> = chains(plan, catalogue)
        .into_iter()
        .flat_map(|chain| steps_without_indexes(&plan.trials[chain], catalogue))
        .collect();
    let first = without.first()?;
    let steps: BTreeSet<String> = without.iter().map(|one| format!("`{}`", one.step)).collect();
    let advice = match making_step(first.trial, catalogue) {
        Some(maker) => format!("add the step `{maker}`, or set `{}` = `0`", first.param),
        None => format!("set `{}` = `0`", first.param),
    };
    Some(format!(
        "{} of {} points run without secondary indexes although `{}` is not 0 (step {}): no step before them makes the indexes; {advice}",
        without.len(),
        plan.trials.len(),
        first.param,
        steps.into_iter().collect::<Vec<_>>().join(", "),
    ))
}

/// A step that asks for indexes and runs without them.
struct StepWithout<'a> {
    trial: &'a Trial,
    step: String,
    /// The parameter by which it asks.
    param: String,
}

fn steps_without_indexes<'a>(chain: &'a [Trial], catalogue: &Catalogue) -> Vec<StepWithout<'a>> {
    let (mut present, mut found) = (None, Vec::new());
    for trial in chain {
        let Some(step) = (catalogue.traits)(&trial.workload.name, &trial.workload.params).step else { continue };
        let has_indexes = step.indexes.present(present);
        present = Some(has_indexes);
        if let Some(param) = asks_for_indexes(trial, catalogue).filter(|_| !has_indexes) {
            found.push(StepWithout { trial, step: step.name, param });
        }
    }
    found
}

/// The parameter by which `trial` asks for indexes, if it asks for any and has a use for them.
fn asks_for_indexes(trial: &Trial, catalogue: &Catalogue) -> Option<String> {
    let workload = catalogue.workloads.iter().find(|entry| entry.name == trial.workload.name)?;
    let params = &trial.workload.params;
    let declared = PointParam::declared(ParamOwner::Workload, workload.params, params, &trial.target.params);
    let indexes = declared.into_iter().find(|param| param.role == ParamRole::Indexes && param.used)?;
    (params.0.get(&indexes.name) != Some(&Value::Int(0))).then_some(indexes.name)
}

/// The step of the workload of `trial` that makes indexes.
fn making_step(trial: &Trial, catalogue: &Catalogue) -> Option<&'static str> {
    let workload = catalogue.workloads.iter().find(|entry| entry.name == trial.workload.name)?;
    let (name, words) = workload.steps()?;
    words.iter().copied().find(|word| {
        let mut params: Params = trial.workload.params.clone();
        params.0.insert(name.to_owned(), Value::Word((*word).to_owned()));
        let step = (catalogue.traits)(workload.name, &params).step;
        step.is_some_and(|step| step.indexes == StepIndexes::Made)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Overrides, fixture, parse};

    fn warning(lines: &str) -> Option<String> {
        let catalogue = fixture::with_steps();
        let text = format!("workload = 'chain'\n{lines}");
        let plan = parse(&text, "p.toml", &Overrides::default(), 1.0, &catalogue).expect("a valid plan");
        let found = missing_indexes(&plan, &catalogue);
        assert_eq!(crate::estimate(&plan, &catalogue).warnings, found.iter().cloned().collect::<Vec<_>>());
        found
    }

    #[test]
    fn a_step_that_asks_for_indexes_that_no_step_makes_is_named_with_the_step_that_would() {
        let expected = "2 of 3 points run without secondary indexes although `indexes` is not 0 (step `l.i1`, `qr`): no step before \
                        them makes the indexes; add the step `l.x`, or set `indexes` = `0`";
        assert_eq!(warning("step = ['l.i0', 'l.i1', 'qr']").as_deref(), Some(expected));
        let swept = warning("step = ['l.i0', 'l.i1']\nindexes = [0, 3]").expect("half of it");
        assert!(swept.starts_with("1 of 4 points run without secondary indexes"), "{swept}");
    }

    #[test]
    fn steps_that_have_their_indexes_and_those_that_ask_for_none_are_not_warned_of() {
        let plans = ["", "step = 'l.i0'", "step = 'l.i1'", "step = ['l.i0', 'l.x', 'l.i1']", "step = ['l.i1', 'qr']"];
        assert!(plans.iter().all(|lines| warning(lines).is_none()));
        assert_eq!(warning("step = ['l.i0', 'l.i1']\nindexes = 0"), None);
    }
}
