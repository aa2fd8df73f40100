//! Sequences of steps: which points of a plan go on with the data that the point before them left.
//!
//! In: trials in the order in which they are measured. Out: their chains. A point that is no step of a sequence, or the first of one,
//! begins a chain of its own. Limits: whether a step does go on with the data that it finds, its workload decides.

use crate::estimate::data_set;
use model::{Catalogue, Plan, Trial};
use std::ops::Range;

/// The chains of `plan`: every point is in one of them, most are alone.
pub fn chains(plan: &Plan, catalogue: &Catalogue) -> Vec<Range<usize>> {
    let chains = plan.trials.chunk_by(|before, trial| continues(before, trial, catalogue));
    let mut start = 0;
    chains
        .map(|chain| {
            start += chain.len();
            start - chain.len()..start
        })
        .collect()
}

/// Whether `trial` is a later step of the sequence that `before` is a step of, on the same data.
pub(crate) fn continues(before: &Trial, trial: &Trial, catalogue: &Catalogue) -> bool {
    let later = place(before, catalogue).zip(place(trial, catalogue)).is_some_and(|(before, own)| before < own);
    later && before.seed == trial.seed && data_set(before, catalogue) == data_set(trial, catalogue)
}

/// The place of `trial` in the sequence that its workload declares.
fn place(trial: &Trial, catalogue: &Catalogue) -> Option<usize> {
    let workload = catalogue.workloads.iter().find(|entry| entry.name == trial.workload.name)?;
    let (name, words) = workload.steps()?;
    let own = trial.workload.params.0.get(name)?.to_string();
    words.iter().position(|word| *word == own)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Overrides, estimate, fixture, parse};
    use model::{Nanos, Until};

    fn read(text: &str, overrides: &[(&str, &str)]) -> Result<Plan, String> {
        let overrides =
            Overrides::from_flags(overrides.iter().map(|(key, text)| (key.to_string(), text.to_string())).collect());
        parse(text, "p.toml", &overrides, 1.0, &fixture::with_steps()).map_err(|error| error.to_string())
    }

    fn told(plan: &Plan) -> Vec<String> {
        let tell = |trial: &Trial| {
            let param = |name: &str| trial.workload.params.0.get(name).map_or("-".into(), ToString::to_string);
            format!("{} {} {}", trial.repeat, param("indexes"), param("step"))
        };
        plan.trials.iter().map(tell).collect()
    }

    fn steps(text: &str, flag: Option<&str>) -> Result<Vec<String>, String> {
        let flags: Vec<(&str, &str)> = flag.iter().map(|steps| ("step", *steps)).collect();
        let plan = read(text, &flags)?;
        Ok(plan.trials.iter().map(|trial| trial.workload.params.word("step").to_owned()).collect())
    }

    #[test]
    fn without_steps_named_all_are_run_and_with_some_those_in_their_order() {
        let plan = "workload = 'chain'";
        assert_eq!(steps(plan, None).unwrap(), ["l.i0", "l.x", "l.i1", "qr"]);
        assert_eq!(steps(plan, Some("l.i1,l.x")).unwrap(), ["l.x", "l.i1"]);
        assert_eq!(steps("workload = 'chain'\nstep = ['qr', 'l.i0']", None).unwrap(), ["l.i0", "qr"]);
        assert_eq!(steps("workload = 'chain'\nsteps = ['qr', 'l.i0']", None).unwrap(), ["l.i0", "qr"]);
        let plural = read(plan, &[("steps", "l.i9")]).unwrap_err();
        assert!(plural.starts_with("--steps cannot be `l.i9`; use one of `l.i0`, `l.x`"), "{plural}");
        let twice = read("workload = 'chain'\nstep = 'qr'\nsteps = 'l.i0'", &[]).unwrap_err();
        assert_eq!(twice, "p.toml:3: `step` and `steps` are two names of one key; remove one");
        let refused = steps(plan, Some("l.i0,l.i9")).unwrap_err();
        assert!(refused.starts_with("--step cannot be `l.i9`; use one of `l.i0`, `l.x`"), "{refused}");
    }

    #[test]
    fn of_the_two_names_of_the_steps_the_one_that_was_given_last_counts() {
        let given = |first: (&str, &str), then: (&str, &str)| {
            let mut overrides = Overrides::from_flags(vec![(first.0.to_owned(), first.1.to_owned())]);
            overrides.set(then.0, then.1);
            let plan = crate::from_flags("chain", &overrides, 1.0, &fixture::with_steps()).expect("valid flags");
            let printed = crate::to_toml("chain", &overrides, 1.0, &fixture::with_steps());
            assert_eq!(read(&printed, &[]).as_ref(), Ok(&plan), "{printed}");
            told(&plan)
        };
        assert_eq!(given(("steps", "l.i0,l.x"), ("step", "l.i0")), ["1 3 l.i0"]);
        assert_eq!(given(("step", "l.i0"), ("steps", "l.i0,l.x")), ["1 3 l.i0", "1 3 l.x"]);
    }

    #[test]
    fn an_engine_that_lacks_a_step_has_the_others_unless_that_step_is_written() {
        let plan = read("workload = 'chain'\nengine = ['sqlite', 'fjall']", &[]).unwrap();
        assert_eq!(told(&plan).len(), 4 + 3);
        assert_eq!(chains(&plan, &fixture::with_steps()), [0..4, 4..7]);
        assert_eq!(steps("workload = 'chain'\nengine = 'fjall'", None).unwrap(), ["l.i0", "l.x", "l.i1"]);
        // What is written stays, for the engine to refuse it.
        assert_eq!(steps("workload = 'chain'\nengine = 'fjall'", Some("l.i0,qr")).unwrap(), ["l.i0", "qr"]);
    }

    #[test]
    fn steps_vary_fastest_wherever_they_stand_and_mean_nothing_to_other_workloads() {
        let text = "[[sweep]]\nstep = ['l.i1', 'l.i0']\nworkload = ['chain', 'oltp']\nindexes = [0, 3]";
        let plan = read(text, &[]).unwrap();
        assert_eq!(told(&plan), ["1 0 l.i0", "1 0 l.i1", "1 3 l.i0", "1 3 l.i1", "1 - -"]);
        assert_eq!(chains(&plan, &fixture::with_steps()), [0..2, 2..4, 4..5]);
    }

    #[test]
    fn whole_chains_are_repeated_there_and_back_and_none_is_torn_or_reversed() {
        let plan = read("workload = 'chain'\nindexes = [0, 3]\nstep = ['l.i0', 'qr']\nrepeat = 2", &[]).unwrap();
        let expected = ["1 0 l.i0", "1 0 qr", "1 3 l.i0", "1 3 qr", "2 3 l.i0", "2 3 qr", "2 0 l.i0", "2 0 qr"];
        assert_eq!(told(&plan), expected);
        assert_eq!(chains(&plan, &fixture::with_steps()), [0..2, 2..4, 4..6, 6..8]);
    }

    #[test]
    fn steps_of_two_sweeps_on_the_same_data_are_one_chain() {
        let text = "workload = 'chain'\nrepeat = 2\n[[sweep]]\nstep = ['l.i0', 'l.i1']\n\
                    [[sweep]]\nstep = 'qr'\ntime = 5\nclients = 4";
        let plan = read(text, &[]).unwrap();
        assert_eq!(told(&plan), ["1 3 l.i0", "1 3 l.i1", "1 3 qr", "2 3 l.i0", "2 3 l.i1", "2 3 qr"]);
        assert_eq!(chains(&plan, &fixture::with_steps()), [0..3, 3..6]);
        let other = read(&text.replace("step = 'qr'", "step = 'qr'\nindexes = 0"), &[]).unwrap();
        assert_eq!(chains(&other, &fixture::with_steps()), [0..2, 2..3, 3..4, 4..6]);
    }

    #[test]
    fn a_step_that_ends_with_its_rows_has_no_warmup_and_no_time() {
        let times = |text: &str| -> Vec<(Nanos, Nanos)> {
            let plan = read(&format!("workload = 'chain'\nstep = ['l.i0', 'qr']\n{text}"), &[]).unwrap();
            plan.trials.iter().map(|trial| (trial.phases.warmup, trial.phases.run)).collect()
        };
        let (none, seconds) = (Nanos(0), Nanos::from_secs);
        assert_eq!(times("warmup = 5"), [(none, seconds(200_000)), (seconds(5), seconds(30))]);
        assert_eq!(times("interval = '10s'")[0], (none, seconds(30 * 86_400)));
        assert_eq!(times("warmup = 5\ntime = 20"), [(none, seconds(200_000)), (seconds(5), seconds(20))]);
        assert_eq!(times("rows = 0"), [(none, seconds(30)), (none, seconds(30))]);
    }

    #[test]
    fn a_load_has_short_intervals_unless_one_is_written_or_it_is_large() {
        let interval = |text: &str, flags: &[(&str, &str)]| {
            let plan = read(&format!("workload = 'chain'\nstep = ['l.i0', 'qr']\n{text}"), flags).unwrap();
            plan.trials[0].phases.interval
        };
        let millis = Nanos::from_millis;
        assert_eq!(interval("", &[]), millis(200));
        assert_eq!(interval("time = '2s'", &[]), millis(200));
        assert_eq!(interval("rows = 20000000", &[]), millis(1_000));
        assert_eq!(interval("interval = '5s'", &[]), millis(5_000));
        assert_eq!(interval("interval = '5s'", &[("time", "10s")]), millis(500));
    }

    #[test]
    fn the_estimate_counts_the_steps_that_take_as_long_as_they_take_apart() {
        let of = |text: &str| {
            let plan = read(&format!("workload = 'chain'\n{text}"), &[]).unwrap();
            let estimate = estimate(&plan, &fixture::with_steps());
            (estimate.seconds, estimate.until_rows, estimate.warnings)
        };
        assert_eq!(of(""), (30.0, 3, vec![]));
        assert_eq!(of("time = 10"), (10.0, 3, vec![]), "the time is that of the queries");
        assert_eq!(of("rows = 0"), (120.0, 0, vec![]));
    }

    #[test]
    fn what_means_nothing_to_a_step_that_ends_itself_is_refused_where_there_are_no_others() {
        let refused = |line: &str| read(&format!("workload = 'chain'\nstep = 'l.i0'\n{line}"), &[]).unwrap_err();
        let text = "p.toml:3: `warmup` has no effect on steps that end when their rows are inserted";
        assert_eq!(refused("warmup = 5"), text);
        assert_eq!(refused("until = 'steady'"), text.replace("warmup", "until"));
        let text = text.replace("warmup", "time") + "; set `rows`, or rows = `0` to insert for a time";
        assert_eq!(refused("time = 20"), text);
        let text = "workload = 'chain'\nstep = ['l.i0', 'qr']\nuntil = 'steady'\nround = 2";
        let until: Vec<bool> =
            read(text, &[]).unwrap().trials.iter().map(|trial| trial.phases.until == Until::Time).collect();
        assert_eq!(until, [true, false]);
    }
}
