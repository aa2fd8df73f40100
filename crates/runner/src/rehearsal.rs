//! Starts each differently configured server of a plan once, and looks at each server that is to be restored, before anything is measured.
//!
//! In: a plan, the place to measure. Out: the error of the first server that does not take its variables; with a budget a note for each of them;
//! the refusal of a server that may be the recorded one. Limits: only servers for which the plan sets variables are started; the first server of the
//! plan starts first in any case. No data is made, and file systems and limits are left out.

use crate::ad_hoc::start_alone;
use crate::error::RunnerError;
use crate::events::{RunObserver, note};
use crate::preflight::RunSite;
use engine::data_set::SetUse;
use load::Stop;
use model::{Plan, Trial};
use std::sync::Arc;

/// Starts and stops the servers of `plan` that may refuse their variables, and refuses those that must not be restored. A request to stop ends it
/// early.
pub(crate) fn try_servers(
    plan: &Plan,
    site: &RunSite,
    stop: &Arc<Stop>,
    observer: &mut dyn RunObserver,
) -> Result<(), RunnerError> {
    let _heeding = engine::heed(stop);
    // One command may restore all of them.
    servers_to_restore(plan, site).into_iter().try_for_each(engine::check_before_restore)?;
    let mut left = servers_to_try(plan).into_iter().take_while(|_| stop.reason().is_none());
    left.try_for_each(|trial| match try_server(trial, site) {
        Err(error) if goes_on_after(&error, plan) && stop.reason().is_none() => {
            let engine = &trial.target.engine;
            note(
                observer,
                format_args!(
                    "engine `{engine}` does not start for some points: {error}; the run goes on with the others"
                ),
            );
            Ok(())
        }
        tried => tried,
    })
}

/// Whether the run of `plan` goes on without the points on a server that failed with `error`. They fail again in its first round, by which the run
/// file has the reason.
fn goes_on_after(error: &RunnerError, plan: &Plan) -> bool {
    error.is_of_one_point() && plan.sure.is_some_and(|sure| sure.budget.is_some())
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

/// The first trial of each log on each server that is to be restored.
fn servers_to_restore<'a>(plan: &'a Plan, site: &RunSite) -> Vec<&'a Trial> {
    let mut first: Vec<&Trial> = Vec::new();
    for trial in plan.trials.iter().filter(|trial| site.restore.is_some() && engine::replays_statements(trial)) {
        if !first.iter().any(|seen| seen.target == trial.target && seen.workload == trial.workload) {
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
    use host::TargetError;

    #[test]
    fn a_run_goes_on_without_a_server_that_refuses_its_variables_if_it_has_a_budget() {
        let goes_on = |error: RunnerError, flags: &[(&str, &str)]| {
            let flags = flags.iter().map(|(key, text)| (key.to_string(), text.to_string())).collect();
            let plan = plan::from_flags("file", &plan::Overrides::from_flags(flags), 1.0, &crate::catalogue())
                .expect("a plan");
            goes_on_after(&error, &plan)
        };
        let refused = || TargetError::Unsupported("`postgres.work_mem` = `2TB` was refused".into()).into();
        let budget = [("engine", "null"), ("clients", "1,2"), ("budget", "60s")];
        assert!(goes_on(refused(), &budget) && !goes_on(refused(), &budget[..2]));
        assert!(!goes_on(TargetError::Unsafe("the directory is not ours".into()).into(), &budget));
    }

    #[test]
    fn each_server_that_is_to_be_restored_is_looked_at_once() {
        let dir = tempfile::tempdir().unwrap();
        let mut site = RunSite {
            dir: dir.path().to_owned(),
            runs: dir.path().to_owned(),
            destroy: Vec::new(),
            system_changes: Default::default(),
            writes: Default::default(),
            if_held: Default::default(),
            restore: None,
        };
        let log = dir.path().join("a.log");
        std::fs::write(&log, "2024-03-01T10:00:00.0Z\t    8 Query\tSELECT 1\n").unwrap();
        let engines = "['mysql://a@h1/', 'mysql://a@h2/']";
        let text = format!("workload = 'replay-sql'\nengine = {engines}\nrepeat = 2\nlog = '{}'", log.display());
        let plan = plan::parse(&text, "p.toml", &plan::Overrides::default(), 1.0, &crate::catalogue()).expect("a plan");
        assert!(plan.trials.len() > 2 && servers_to_restore(&plan, &site).is_empty());
        site.restore = host::user_command::UserCommand::parse("/bin/restore copy").ok();
        let urls: Vec<String> = servers_to_restore(&plan, &site)
            .iter()
            .filter_map(|trial| Some(trial.target.params.0.get("url")?.to_string()))
            .collect();
        assert_eq!(urls, ["mysql://a@h1/", "mysql://a@h2/"]);
    }

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
