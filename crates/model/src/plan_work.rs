//! What a plan asks for, apart from chance: whether two runs measured the same.
//!
//! In: a recorded run. Out: [`PlanWork`]s that can be compared. Two plans ask for the same if their expanded trials are equal, in the same
//! order, apart from their seeds; names, titles and comments of a plan do not count. A parameter that only one of two trials has is no
//! difference if it has its default there: a newer plimsoll declares more parameters.
//! How long a watch lasts is no part of what it asks for: files of one watch end at a time of the clock, and the first has what is left until then.
//! Limits: a parameter whose default has changed makes another plan, and so does a server from another folder (`NAME@DIR`), since a plan
//! may have several of those.

use crate::params::Params;
use crate::run::RunData;
use crate::trial::Trial;
use crate::units::Nanos;

/// The trials of a plan without their seeds.
#[derive(Clone, Debug)]
pub struct PlanWork {
    trials: Vec<PlannedWork>,
}

/// One trial without its seed.
#[derive(Clone, Debug)]
struct PlannedWork {
    trial: Trial,
    /// The names of the parameters that are known to have their default.
    defaults: Vec<String>,
    /// Whether it only watches what others do.
    is_watch: bool,
}

impl PlanWork {
    /// What the plan of `run` asks for.
    pub fn from_run(run: &RunData) -> PlanWork {
        let work = |trial: &Trial| {
            let point = run.points.iter().find(|point| point.trial == *trial);
            let defaults = point.map(|point| point.traits.defaults.clone()).unwrap_or_default();
            let is_watch = point.is_some_and(|point| point.traits.observed.is_some());
            PlannedWork { trial: Trial { seed: 0, stacks: false, ..trial.clone() }, defaults, is_watch }
        };
        PlanWork { trials: run.meta.plan.trials.iter().map(work).collect() }
    }

    /// Whether it only watches what others do.
    pub fn is_watch(&self) -> bool {
        !self.trials.is_empty() && self.trials.iter().all(|planned| planned.is_watch)
    }

    /// Whether `other` asks for the same.
    pub fn is_same_as(&self, other: &PlanWork) -> bool {
        let mut pairs = self.trials.iter().zip(&other.trials);
        self.trials.len() == other.trials.len() && pairs.all(|(own, other)| own.is_same_as(other))
    }

    /// The number of the first trial that differs from `trial` in seed and repetition at most: the same for all repeats of a point, and in
    /// all plans that ask for the same. `None` if the plan has no such trial.
    pub fn place_of(&self, trial: &Trial) -> Option<usize> {
        let without_chance = |trial: &Trial| Trial { seed: 0, repeat: 1, stacks: false, ..trial.clone() };
        let sought = without_chance(trial);
        self.trials.iter().position(|planned| without_chance(&planned.trial) == sought)
    }
}

impl PlannedWork {
    fn is_same_as(&self, other: &PlannedWork) -> bool {
        self.without_params() == other.without_params()
            && self.agrees_in(other, |trial| &trial.target.params)
            && self.agrees_in(other, |trial| &trial.workload.params)
    }

    fn without_params(&self) -> Trial {
        let mut trial = self.trial.clone();
        (trial.target.params, trial.workload.params) = (Params::default(), Params::default());
        if self.is_watch {
            trial.phases.run = Nanos(0);
        }
        trial
    }

    fn agrees_in(&self, other: &PlannedWork, params: impl Fn(&Trial) -> &Params) -> bool {
        let (own, others) = (&params(&self.trial).0, &params(&other.trial).0);
        let mut names = own.keys().chain(others.keys());
        names.all(|name| match (own.get(name), others.get(name)) {
            (Some(own), Some(other)) => own == other,
            (Some(_), None) => self.defaults.contains(name),
            (None, _) => other.defaults.contains(name),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::Value;
    use crate::trial::WorkloadSpec;

    fn trial(repeat: u32, params: &[(&str, u64)]) -> Trial {
        let params = Params(params.iter().map(|(name, value)| ((*name).to_owned(), Value::Int(*value))).collect());
        let simple = Trial::simple("null", "file");
        let workload = WorkloadSpec { params, ..simple.workload };
        Trial { workload, repeat, seed: u64::from(repeat), ..simple }
    }

    fn work(trials: &[(Trial, &[&str])]) -> PlanWork {
        let planned = |(trial, defaults): &(Trial, &[&str])| PlannedWork {
            trial: Trial { seed: 0, ..trial.clone() },
            defaults: defaults.iter().map(|name| (*name).to_owned()).collect(),
            is_watch: false,
        };
        PlanWork { trials: trials.iter().map(planned).collect() }
    }

    #[test]
    fn a_seed_is_no_difference_and_all_else_is() {
        let plan = work(&[(trial(1, &[("rows", 10)]), &[])]);
        let with = |change: fn(&mut Trial)| {
            let mut trial = trial(1, &[("rows", 10)]);
            change(&mut trial);
            work(&[(trial, &[])])
        };
        assert!(plan.is_same_as(&with(|trial| trial.seed = 99)));
        assert!(!plan.is_same_as(&with(|trial| trial.load.clients = 2)));
        assert!(!plan.is_same_as(&with(|trial| trial.phases.run = Nanos::from_secs(2))));
        assert!(!plan.is_same_as(&with(|trial| trial.workload.params.0.clear())));
        let twice = work(&[(trial(1, &[("rows", 10)]), &[]), (trial(2, &[("rows", 10)]), &[])]);
        assert!(!plan.is_same_as(&twice));
    }

    #[test]
    fn a_parameter_that_one_plan_lacks_is_no_difference_at_its_default() {
        let old = work(&[(trial(1, &[("rows", 10)]), &[])]);
        let new = |value, defaults| work(&[(trial(1, &[("rows", 10), ("depth", value)]), defaults)]);
        assert!(old.is_same_as(&new(1, &["depth"])) && new(1, &["depth"]).is_same_as(&old));
        assert!(!old.is_same_as(&new(2, &[])) && !new(2, &[]).is_same_as(&old));
        assert!(!new(1, &["depth"]).is_same_as(&new(2, &["depth"])), "the default itself changed");
    }

    #[test]
    fn how_long_a_watch_lasts_is_no_difference() {
        let watch = |ns: u64, clients: u32| {
            let mut trial = trial(1, &[]);
            (trial.phases.run, trial.load.clients) = (Nanos(ns), clients);
            let mut plan = work(&[(trial, &[])]);
            plan.trials[0].is_watch = true;
            plan
        };
        let (day, rest) = (watch(86_400_000_000_000, 1), watch(12_345_678_901, 1));
        assert!(day.is_watch() && day.is_same_as(&rest) && !day.is_same_as(&watch(86_400_000_000_000, 2)));
        let mut own = trial(1, &[]);
        own.phases.run = Nanos(12_345_678_901);
        assert_eq!(rest.place_of(&own), Some(0));
        assert!(!work(&[(own, &[])]).is_watch());
    }

    #[test]
    fn repeats_have_one_place() {
        let plan = work(&[(trial(1, &[]), &[]), (trial(1, &[("rows", 1)]), &[]), (trial(2, &[("rows", 1)]), &[])]);
        assert_eq!(plan.place_of(&trial(2, &[("rows", 1)])), Some(1));
        assert_eq!(plan.place_of(&trial(3, &[])), Some(0));
        assert_eq!(plan.place_of(&trial(1, &[("rows", 2)])), None);
    }
}
