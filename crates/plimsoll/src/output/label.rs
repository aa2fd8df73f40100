//! What to call a point while it runs: what distinguishes it from the others of its plan.
//!
//! In: all trials of a plan. Out: a few words for each. Limits: for progress and dry runs; reports have labels of their own, made
//! from the recorded run.

use model::{Pacing, ParamOwner, Plan, Trial, Until};
use std::collections::BTreeMap;

/// `insert on fjall, indexes 3` for each trial of `plan`: workload, engine, and every setting that is not the same in all.
pub fn all(plan: &Plan) -> Vec<String> {
    let settings: Vec<_> = plan.trials.iter().map(settings).collect();
    let mut seen: BTreeMap<&str, (&str, bool)> = BTreeMap::new();
    for (name, value) in settings.iter().flatten() {
        let (first, varies) = seen.entry(name).or_insert((value, false));
        *varies |= *first != value;
    }
    let varies = |name: &str| seen.get(name).is_some_and(|(_, varies)| *varies);
    let words = |own: &[(String, String)]| -> String {
        own.iter().filter(|(name, _)| varies(name)).map(|(name, value)| format!(", {name} {value}")).collect()
    };
    let called = |trial: &Trial| format!("{} on {}", trial.workload.name, trial.target.engine);
    plan.trials.iter().zip(&settings).map(|(trial, own)| called(trial) + &words(own)).collect()
}

/// The parameters of workload and engine that have an effect.
fn used_params(trial: &Trial) -> Vec<(String, String)> {
    let declared = runner::declared_params(trial);
    let mut all = Vec::new();
    for (owner, params) in [(ParamOwner::Workload, &trial.workload.params), (ParamOwner::Engine, &trial.target.params)]
    {
        let is_used = |name: &str| declared.iter().any(|def| def.owner == owner && def.name == name && def.used);
        all.extend(
            params.0.iter().filter(|(name, _)| is_used(name)).map(|(name, value)| (name.clone(), value.to_string())),
        );
    }
    all
}

fn settings(trial: &Trial) -> Vec<(String, String)> {
    let load = [("clients", trial.load.clients), ("depth", trial.load.depth), ("repeat", trial.repeat)];
    let mut all = used_params(trial);
    let place = [("path", trial.target.path.as_ref().map(|path| super::shown(path)))];
    let place =
        place.into_iter().chain([("fs", Some(trial.target.fs.map_or("none".into(), |fs| fs.kind.to_string())))]);
    let limits = [
        ("memory_limit", trial.target.limits.memory.map_or("none".into(), |limit| limit.to_string())),
        ("storage_limit", trial.target.limits.storage.to_string()),
    ];
    all.extend(limits.map(|(name, value)| (name.to_owned(), value)));
    all.extend(place.filter_map(|(name, value)| Some((name.to_owned(), value?))));
    all.extend(load.map(|(name, value)| (name.to_owned(), value.to_string())));
    all.push(match trial.load.pacing {
        Pacing::Closed { .. } => ("loop".into(), "closed".into()),
        Pacing::Open { arrivals } => ("loop".into(), format!("open at {}/s", arrivals.per_s())),
    });
    all.push(match trial.phases.until {
        Until::Time => ("until".into(), "time".into()),
        Until::Steady { .. } => ("until".into(), "steady".into()),
    });
    all
}
