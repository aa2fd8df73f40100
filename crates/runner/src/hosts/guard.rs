//! What an agent accepts of an order, and what it decides itself.
//!
//! In: the trials of an order, the flags of the agent. Out: trials as this host performs them, or a refusal. Limits: orders come from somebody
//! with the key of the run. All the same no order names a program or a path of this host: those are flags of the agent.

use crate::error::RunnerError;
use crate::messages::{Assignment, StepSequence};
use engine::EngineLocation;
use model::{Catalogue, Plan, Trial, Value};

/// The parameter with the URL of an existing server.
const URL: &str = "url";
/// The parameter with the file of its password.
const PASSWORD_FILE: &str = "password_file";

/// What an agent decides itself.
#[derive(Clone, Debug, Default)]
pub(super) struct OwnChoices {
    /// The URL of the server, in place of that of the plan.
    pub endpoint: Option<String>,
    /// The file of the password. A file that the plan names is one of the coordinator's host.
    pub password_file: Option<String>,
}

impl OwnChoices {
    /// `assignment` as this host performs it.
    pub fn apply(&self, assignment: Assignment, catalogue: &Catalogue) -> Result<Assignment, RunnerError> {
        let Assignment { trial, sequence, joins } = assignment;
        let StepSequence { steps, place, first } = sequence;
        let all = [vec![trial], steps].concat();
        plan::check(&plan_of(all.iter().map(as_planned).collect()), "the order", catalogue)?;
        let mut own = all.into_iter().map(|trial| self.apply_to(trial));
        let trial = own.next().expect("there is a trial")?;
        let sequence = StepSequence { steps: own.collect::<Result<_, _>>()?, place, first };
        Ok(Assignment { trial, sequence, joins })
    }

    /// `trial` as this host performs it.
    pub fn apply_to(&self, mut trial: Trial) -> Result<Trial, RunnerError> {
        let refused = |text: &str| Err(RunnerError::Unsafe(text.to_owned()));
        if trial.target.programs.is_some() {
            return refused(
                "an agent starts no programs that an order names; leave `@DIR` out, and give the agent --engine-bin DIR",
            );
        }
        if trial.target.path.is_some() {
            return refused(
                "an agent measures no file or device that an order names; leave `path` out, and give the agent --dir DIR",
            );
        }
        let params = &mut trial.target.params.0;
        if let Some(file) = params.get_mut(PASSWORD_FILE) {
            *file = Value::Word(self.password_file.clone().unwrap_or_default());
        }
        if let (Some(url), Some(own)) = (params.get_mut(URL), &self.endpoint) {
            *url = Value::Word(own.clone());
        }
        Ok(trial)
    }
}

/// `trial` as the plan has it: the coordinator makes the probes of a search.
fn as_planned(trial: &Trial) -> Trial {
    let mut planned = trial.clone();
    planned.limit.iter_mut().for_each(|limit| limit.probe = None);
    planned
}

/// Refuses a plan that several hosts cannot measure together.
pub(super) fn check_shared(plan: &Plan, hosts: u32) -> Result<(), RunnerError> {
    for trial in plan.trials.iter().filter(|_| hosts > 1) {
        let engine = &trial.target.engine;
        if engine::engine_of(trial).runs == EngineLocation::Server {
            return Err(RunnerError::Unsupported(format!(
                "engine `{engine}` is a private server, which each of {hosts} agents would start for itself; name a server that all reach by \
                 its URL, such as `--engine mysql://user@host/`, or use --agents 1"
            )));
        }
        if trial.load.clients < hosts {
            let clients = trial.load.clients;
            return Err(RunnerError::Unsupported(format!(
                "{hosts} agents cannot share clients = `{clients}`: each needs one of its own; use at least {hosts} clients, or fewer agents"
            )));
        }
    }
    Ok(())
}

/// A plan of `trials`, so that they are checked as those of a plan are.
pub(super) fn plan_of(trials: Vec<Trial>) -> Plan {
    Plan { trials, ..Plan::new("order", "") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plan::Overrides;

    fn trial(keys: &[(&str, &str)]) -> Trial {
        let keys = keys.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        plan::from_flags("oltp", &Overrides::from_flags(keys), 1.0, &crate::catalogue()).unwrap().trials.remove(0)
    }

    #[test]
    fn an_order_names_no_program_no_path_and_no_password_of_an_agent() {
        let own = OwnChoices { endpoint: Some("mysql://u@n2/".into()), password_file: Some("/own".into()) };
        let server = trial(&[("engine", "mysql://u@n1/"), ("password_file", "/etc/shadow")]);
        let applied = own.apply_to(server.clone()).unwrap();
        assert_eq!(
            (applied.target.params.word(URL), applied.target.params.word(PASSWORD_FILE)),
            ("mysql://u@n2/", "/own")
        );
        let without = OwnChoices::default().apply_to(server.clone()).unwrap();
        assert_eq!((without.target.params.word(URL), without.target.params.word(PASSWORD_FILE)), ("mysql://u@n1/", ""));
        let mut foreign = server.clone();
        foreign.target.programs = Some("/tmp/evil".into());
        assert!(own.apply_to(foreign).unwrap_err().to_string().contains("--engine-bin"));
        let mut foreign = server;
        foreign.target.path = Some("/dev/sda".into());
        assert!(own.apply_to(foreign).unwrap_err().to_string().contains("--dir"));
    }

    #[test]
    fn a_probe_of_a_search_is_an_order_like_any_other() {
        let asked = trial(&[("engine", "null"), ("rate", "limit")]);
        let kind = model::limit::ProbeKind::Closed;
        let probe = model::limit::probe_trial(&asked, 0, 1, kind, Some(500.0), model::Nanos::from_secs(4));
        let order = Assignment { sequence: StepSequence::alone(&probe, 0), trial: probe.clone(), joins: None };
        let accepted = OwnChoices::default().apply(order, &crate::catalogue()).unwrap();
        assert_eq!(accepted.trial, probe);
    }

    #[test]
    fn a_private_server_and_too_few_clients_are_refused_for_several_agents() {
        let refusal =
            |keys: &[(&str, &str)], hosts| check_shared(&plan_of(vec![trial(keys)]), hosts).map_err(|e| e.to_string());
        let private = [("engine", "mariadb:innodb"), ("clients", "4")];
        assert!(refusal(&private, 2).unwrap_err().contains("name a server that all reach"));
        assert_eq!(refusal(&private, 1), Ok(()));
        assert!(refusal(&[("engine", "null"), ("clients", "2")], 3).unwrap_err().contains("at least 3 clients"));
        assert_eq!(refusal(&[("engine", "null"), ("clients", "3")], 3), Ok(()));
    }
}
