//! Starts each differently configured server of a plan once, before anything is measured.
//!
//! In: a plan, the place to measure. Out: the error of the first server that does not take its variables. Limits: only servers for which
//! the plan sets variables; the first server of the plan starts first in any case. No data is made, and file systems and limits are left
//! out.

use crate::ad_hoc::start_alone;
use crate::error::RunnerError;
use crate::preflight::RunSite;
use engine::data_set::SetUse;
use load::Stop;
use model::{Plan, Trial};
use std::sync::Arc;

/// Starts and stops the servers of `plan` that may refuse their variables. A request to stop ends it early.
pub(crate) fn try_servers(plan: &Plan, site: &RunSite, stop: &Arc<Stop>) -> Result<(), RunnerError> {
    let _heeding = engine::heed(stop);
    let mut left = servers_to_try(plan).into_iter().take_while(|_| stop.reason().is_none());
    left.try_for_each(|trial| try_server(trial, site))
}

/// The first trial on each server that the plan configures, without the server that the plan begins with.
fn servers_to_try(plan: &Plan) -> Vec<&Trial> {
    let key = |trial: &Trial| {
        let variables = engine::server_variables(trial)?;
        Some((trial.target.engine.clone(), trial.target.programs.clone(), variables))
    };
    let mut seen: Vec<_> = plan.trials.first().and_then(key).into_iter().collect();
    let mut first = Vec::new();
    for trial in &plan.trials {
        if let Some(server) = key(trial).filter(|server| !seen.contains(server)) {
            seen.push(server);
            first.push(trial);
        }
    }
    first
}

fn try_server(trial: &Trial, site: &RunSite) -> Result<(), RunnerError> {
    Ok(start_alone(trial, &site.dir, &site.destroy, SetUse::None)?.stop()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_configuration_is_tried_once_and_the_first_point_is_its_own_trial() {
        let tried = |text: &str| {
            let catalogue = crate::catalogue();
            let plan = plan::parse(text, "p.toml", &plan::Overrides::default(), 1.0, &catalogue).expect("a plan");
            let variables = |trial: &&Trial| trial.target.params.0.get("postgres.work_mem").map(ToString::to_string);
            servers_to_try(&plan).iter().filter_map(variables).collect::<Vec<_>>()
        };
        let sweep = |set: &str| format!("workload = 'oltp'\nengine = 'postgres'\nclients = [1, 2]\n{set}");
        assert_eq!(tried(&sweep("")), [""; 0]);
        assert_eq!(tried(&sweep("'postgres.work_mem' = '1MB'")), [""; 0]);
        assert_eq!(tried(&sweep("'postgres.work_mem' = ['1MB', '2MB', '3MB']")), ["2MB", "3MB"]);
        assert_eq!(
            tried("workload = 'oltp'\n[[sweep]]\n[[sweep]]\nengine = 'postgres'\n'postgres.work_mem' = '1MB'"),
            ["1MB"]
        );
    }
}
