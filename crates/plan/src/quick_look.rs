//! The short form of a plan: each point once and for seconds. Its numbers show the direction and conclude nothing.

use model::{Catalogue, Nanos, Plan, Until};

/// As long as a point lasts at most, and so long as a search holds its rate.
const RUN_MAX: Nanos = Nanos::from_secs(3);
const WARMUP_MAX: Nanos = Nanos::from_millis(500);
/// So many intervals a short run has.
const INTERVALS: u64 = 20;

/// `plan` with each point once, for at most 3 s, whatever was to end it. A point that ends when its rows are in is as long as before.
pub fn quick_look(mut plan: Plan, catalogue: &Catalogue) -> Plan {
    plan.trials.retain(|trial| trial.repeat == 1);
    plan.sure = None;
    for trial in &mut plan.trials {
        let has_end = (catalogue.run_ops)(&trial.workload.name, &trial.workload.params).is_some();
        // The probes of a search have a time, whatever they replay.
        let ends_itself = has_end && trial.limit.is_none();
        trial.arm = None;
        let phases = &mut trial.phases;
        phases.until = Until::Time;
        phases.warmup = phases.warmup.min(WARMUP_MAX);
        if !ends_itself {
            phases.run = phases.run.min(RUN_MAX);
            phases.interval = phases.interval.min(Nanos(phases.run.0 / INTERVALS));
        }
        if let Some(limit) = &mut trial.limit {
            limit.spec.hold = limit.spec.hold.min(RUN_MAX);
        }
    }
    plan
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Overrides, fixture, parse};

    #[test]
    fn a_quick_look_measures_each_point_once_and_for_three_seconds() {
        let catalogue = fixture::catalogue();
        let text = "workload = 'oltp'\nclients = [1, 4]\nrepeat = 4\ntime = '30s'\nwarmup = '10s'";
        let plan = parse(text, "p.toml", &Overrides::default(), 1.0, &catalogue).expect("a valid plan");
        let quick = quick_look(plan, &catalogue);
        assert_eq!(quick.trials.len(), 2);
        for trial in &quick.trials {
            let phases = trial.phases;
            assert_eq!((phases.run, phases.warmup, phases.interval), (RUN_MAX, WARMUP_MAX, Nanos::from_millis(150)));
        }
        let long = parse("workload = 'oltp'\ntime = '1s'", "p.toml", &Overrides::default(), 1.0, &catalogue).unwrap();
        assert_eq!(quick_look(long.clone(), &catalogue), long, "what is short stays as it is");
        let steady = "workload = 'oltp'\nuntil = 'steady'";
        let steady = parse(steady, "p.toml", &Overrides::default(), 1.0, &catalogue).expect("a valid plan");
        let phases = quick_look(steady, &catalogue).trials[0].phases;
        assert_eq!((phases.run, phases.until), (RUN_MAX, Until::Time), "it does not wait until it is steady");
    }
}
