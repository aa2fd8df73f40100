//! Searches for the largest rate, made up for tests: of a queue with one server.
//!
//! In: engines and an objective. Out: a recorded run. Limits: service times are exponentially distributed, 1 ms on average unless a test says otherwise.

use crate::simulated::{Random, Simulation, run_of};
use model::limit::{ArrivalLaw, LimitPart, LimitSearch, LimitSpec, LimitStep, Objective, Observation, probe_trial};
use model::{Nanos, PointData, RunData, Trial};

const SECOND: f64 = 1e9;

/// A search for each of `engines` on a queue with one server, of which so many probes were measured, recorded as a run has it.
pub fn searched(engines: &[&str], objective: &str, rate_max: Option<f64>, probes_max: usize) -> RunData {
    let servers: Vec<(&str, f64)> = engines.iter().map(|engine| (*engine, 1e6)).collect();
    searched_on(&servers, objective, rate_max, probes_max)
}

/// The same on servers that take so many nanoseconds on average.
pub fn searched_on(servers: &[(&str, f64)], objective: &str, rate_max: Option<f64>, probes_max: usize) -> RunData {
    let mut points = Vec::new();
    let mut trials = Vec::new();
    for (search, (engine, service_ns)) in (0..).zip(servers) {
        let asked = asked(engine, objective, rate_max);
        points.extend(probes(&asked, search, *service_ns, probes_max));
        trials.push(asked);
    }
    let mut run = run_of(points, Vec::new());
    run.meta.plan.trials = trials;
    run
}

/// The trial of a search.
pub fn asked(engine: &str, objective: &str, rate_max: Option<f64>) -> Trial {
    let objective = Objective::parse(objective).expect("it is one");
    let spec = LimitSpec { objective, hold: Nanos::from_secs(20), rate_max, arrivals: ArrivalLaw::Poisson };
    let mut trial = Simulation::counts(&[1]).recorded.trial;
    trial.target.engine = engine.into();
    trial.phases.run = Nanos::from_secs(10);
    trial.limit = Some(LimitPart { spec, probe: None });
    trial
}

fn probes(asked: &Trial, search: u32, service_ns: f64, probes_max: usize) -> Vec<PointData> {
    let spec = &asked.limit.as_ref().expect("it asks for a search").spec;
    let mut machine = LimitSearch::new(spec, asked.phases.run);
    let (mut points, mut random) = (Vec::new(), Random::new(7 + u64::from(search)));
    while let LimitStep::Measure { kind, per_s, length } = machine.next_step()
        && points.len() < probes_max
    {
        let trial = probe_trial(asked, search, points.len() as u32 + 1, kind, per_s, length);
        let point = probe(trial, per_s, length, service_ns, &mut random);
        machine.observe(Observation::from_point(&point).expect("it has a run phase"));
        points.push(point);
    }
    points
}

fn probe(trial: Trial, per_s: Option<f64>, length: Nanos, service_ns: f64, random: &mut Random) -> PointData {
    let seconds = length.0.div_ceil(SECOND as u64).max(1);
    let mut service = Random::new(3);
    let simulation = match per_s {
        None => Simulation::closed(seconds, |_| service.exponential(service_ns) as u64),
        Some(per_s) => {
            let mut at = 0.0;
            let arrivals = std::iter::from_fn(|| {
                at += random.exponential(SECOND / per_s);
                Some(at as u64)
            });
            Simulation::queue(seconds, 1, per_s, arrivals, |_| service.exponential(service_ns) as u64)
        }
    };
    // The only CPU does all the work.
    let busy = per_s.map_or(1.0, |per_s| (per_s * service_ns / SECOND).min(1.0));
    let mut simulation = simulation.source("cpu", &["user_ns", "system_ns", "idle_ns"], move |second| {
        vec![busy * second * SECOND, 0.0, (1.0 - busy) * second * SECOND]
    });
    simulation.recorded.trial =
        Trial { phases: model::Phases { run: Nanos::from_secs(seconds), ..trial.phases }, ..trial };
    simulation.point()
}
