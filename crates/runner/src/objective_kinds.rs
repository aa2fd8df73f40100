//! Whether the kinds of operation that an objective names are those of its workload.
//!
//! In: a trial with a search. Out: a refusal with the names there are. Limits: a log tells its kinds of statement when it is read, so that they are
//! looked up when the first probe has its clients.

use crate::error::RunnerError;
use model::Trial;
use workload::{ProgramInput, SequenceState};

/// Of more names the first are given: a log has up to fifty.
const NAMES_MAX: usize = 12;

/// Refuses an objective of a kind that the workload of `trial` does not have, as far as that is known before a server is asked.
pub(crate) fn check(trial: &Trial) -> Result<(), RunnerError> {
    if trial.workload.params.recording().is_some() || named(trial).is_empty() {
        return Ok(());
    }
    let names = engine::workload_of(trial).kind_names(&ProgramInput::from_trial(trial, &SequenceState::default()));
    check_names(trial, &names)
}

/// The same by the `names` of the kinds that the clients of `trial` have.
pub(crate) fn check_names(trial: &Trial, names: &[&str]) -> Result<(), RunnerError> {
    let Some(unknown) = named(trial).into_iter().find(|name| !names.contains(name)) else { return Ok(()) };
    let mut told: Vec<String> = names.iter().take(NAMES_MAX).map(|name| format!("`{name}`")).collect();
    if names.len() > told.len() {
        told.push(format!("{} more", names.len() - told.len()));
    }
    Err(RunnerError::Unsupported(format!(
        "slo: `{}` has no operations of kind `{unknown}`; its kinds are {}",
        trial.workload.name,
        told.join(", ")
    )))
}

/// The kinds that the objective of `trial` names.
fn named(trial: &Trial) -> Vec<&'static str> {
    trial.limit.as_ref().map_or_else(Vec::new, |limit| limit.spec.objective.kinds())
}

#[cfg(test)]
mod tests {
    use super::*;
    use plan::Overrides;

    fn trial(workload: &str, slo: &str) -> Trial {
        let keys = [("engine", "null"), ("rate", "limit"), ("slo", slo)];
        let keys = keys.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        plan::from_flags(workload, &Overrides::from_flags(keys), 1.0, &crate::catalogue()).unwrap().trials.remove(0)
    }

    #[test]
    fn an_objective_of_a_transaction_is_checked_before_a_server_is_asked() {
        assert!(check(&trial("orders", "new_order:p99<1s,p99<2s")).is_ok());
        let refused = check(&trial("orders", "load:p99<1s")).expect_err("the load is no part of the run").to_string();
        assert!(refused.contains("`orders` has no operations of kind `load`"), "{refused}");
        assert!(refused.contains("its kinds are `new_order`"), "{refused}");
    }

    #[test]
    fn a_kind_that_the_workload_does_not_have_is_refused_with_those_it_has() {
        let checked =
            |slo: &str, names: &[&str]| check_names(&trial("oltp", slo), names).map_err(|error| error.to_string());
        assert_eq!(checked("browse:p99<1s,p99<2s", &["checkout", "browse"]), Ok(()));
        assert_eq!(checked("p99<2s", &[]), Ok(()));
        let refused = checked("chekout:p99<1s", &["checkout", "browse"]).expect_err("it is misspelt");
        assert!(refused.contains("`chekout`; its kinds are `checkout`, `browse`"), "{refused}");
        let many: Vec<String> = (0..50).map(|nth| format!("select c{nth}")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        assert!(checked("a:p99<1s", &many).expect_err("none is a").ends_with("`select c11`, 38 more"));
    }
}
