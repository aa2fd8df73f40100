//! What to call a point while it runs: what distinguishes it from the others of its plan.
//!
//! In: a trial and all trials of the plan. Out: a few words. Limits: for progress and dry runs; reports have labels of their
//! own, made from the recorded run.

use model::{Pacing, Trial};

/// `insert on fjall, indexes 3`: workload, engine, and every setting that is not the same in all of `trials`.
pub fn of(trial: &Trial, trials: &[Trial]) -> String {
    let mine = settings(trial);
    let differs = |name: &str, value: &String| {
        trials.iter().any(|other| settings(other).iter().any(|(n, v)| n == name && v != value))
    };
    let varying = mine.iter().filter(|(name, value)| differs(name, value));
    let words = varying.map(|(name, value)| format!(", {name} {value}")).collect::<String>();
    format!("{} on {}{words}", trial.workload.name, trial.target.engine)
}

fn settings(trial: &Trial) -> Vec<(String, String)> {
    let load = [("clients", trial.load.clients), ("depth", trial.load.depth), ("repeat", trial.repeat)];
    let params = trial.workload.params.0.iter().chain(&trial.target.params.0);
    let mut all: Vec<(String, String)> = params.map(|(name, value)| (name.clone(), value.to_string())).collect();
    all.extend(load.map(|(name, value)| (name.to_owned(), value.to_string())));
    if let Pacing::Open { arrivals } = trial.load.pacing {
        all.push(("rate".into(), arrivals.per_s().to_string()));
    }
    all
}
