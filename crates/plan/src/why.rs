//! The plan of `plimsoll why`: a recorded point unchanged, and with one resource varied at a time.
//!
//! In: the trial of the point with the steps before it, and what can be varied on this machine. Out: a plan whose trials are in rounds.
//! Limits: a closed loop; the rate of an open loop is what was asked for, whatever binds.
//!
//! Each round has every arm once, and the unchanged point. Every second round is in reverse, so that a steady drift of the machine adds to
//! an arm in one round what it takes away in the next. All trials have the seed of the point: arms that share data use one
//! data set in turn.

use crate::common::{CLIENTS_MAX, DEPTH_MAX};
use crate::limit::{MEMORY_MIN, could_be_written};
use crate::point::twentieth_at_most;
use crate::{NAME_CHARS_MAX, plan_name};
use model::Nanos;
use model::{
    Bytes, Catalogue, CpuLimit, NotVaried, Pacing, ParamKind, ParamRole, Plan, StorageLimit, Trial, Until, Value,
    VariedArm, VariedResource, WhyPart, WhySpec,
};

/// What is left of a resource.
pub const LEFT: f64 = 0.8;
/// How many clients there are in place of one.
const MORE: f64 = 1.25;
/// A measurement that is repeated some twenty times takes no longer than this, unless that is asked for.
const TIME_USUAL: Nanos = Nanos::from_secs(10);
/// The caches fill again after a change; more than this would take most of the time.
const WARMUP: (Nanos, Nanos) = (Nanos::from_secs(1), Nanos::from_secs(5));

/// A point of a run, of which `plimsoll why` varies one resource after the other.
pub struct RecordedPoint<'a> {
    /// The run that it is from.
    pub run_id: &'a str,
    /// The plan of that run.
    pub plan: &'a Plan,
    /// The number of the point, from 1.
    pub number: u32,
    /// The trial that was measured.
    pub trial: &'a Trial,
    /// The version of its engine.
    pub engine_version: Option<String>,
}

/// How it is varied.
#[derive(Clone, Debug, PartialEq)]
pub struct Variation {
    /// How often each arm is measured.
    pub rounds: u32,
    /// How long each measurement is; `None` for that of the point, or 10 s if that is less.
    pub time: Option<Nanos>,
    /// The CPU of the unchanged point and of the arm.
    pub cpu: Result<[CpuLimit; 2], NotVaried>,
    /// What the device may do in the arm.
    pub storage: Result<StorageLimit, NotVaried>,
}

/// The plan that varies the resources of `point`.
///
/// # Errors
/// Why the point cannot be varied, in one line.
pub fn why_plan(point: &RecordedPoint<'_>, variation: &Variation, catalogue: &Catalogue) -> Result<Plan, String> {
    check_closed(point)?;
    let steps = steps_of(point, catalogue);
    let (arms, left_out) = arms_of(point.trial, variation, catalogue);
    let title = format!("What binds point {} of {}", point.number, point.run_id);
    let mut plan = Plan { scale: point.plan.scale, link: point.plan.link, ..Plan::new(name_of(point.plan), title) };
    let mut parts = Vec::new();
    for round in 1..=variation.rounds {
        for part in order_of(round, arms.len()) {
            plan.trials.extend(steps.iter().map(|step| varied_step(step, part, &arms, round, variation, catalogue)));
            parts.extend(std::iter::repeat_n(WhyPart::Preparation, steps.len() - 1).chain([part]));
        }
    }
    plan.why = Some(WhySpec {
        run_id: point.run_id.to_owned(),
        point: point.number,
        engine_version: point.engine_version.clone(),
        rounds: variation.rounds,
        arms: arms.into_iter().map(|arm| arm.declared).collect(),
        left_out,
        parts,
    });
    Ok(plan)
}

/// Refuses a point in an open loop, before anything is measured for it.
///
/// # Errors
/// Why, in one line.
pub fn check_closed(point: &RecordedPoint<'_>) -> Result<(), String> {
    if let Pacing::Open { arrivals } = point.trial.load.pacing {
        return Err(format!(
            "point {} has a rate of its own ({} ops per second fall due): what it did is what was asked for, so nothing can be varied; \
             measure it without `rate`",
            point.number,
            arrivals.per_s()
        ));
    }
    Ok(())
}

fn name_of(plan: &Plan) -> String {
    plan_name(&format!("why-{}", plan.name).chars().take(NAME_CHARS_MAX).collect::<String>())
}

/// The steps of its sequence up to the point, the point last.
fn steps_of(point: &RecordedPoint<'_>, catalogue: &Catalogue) -> Vec<Trial> {
    let at = point.plan.trials.iter().position(|trial| trial == point.trial);
    let chain = at.and_then(|at| crate::chains(point.plan, catalogue).into_iter().find(|chain| chain.contains(&at)));
    let steps = at.zip(chain).map(|(at, chain)| point.plan.trials[chain.start..=at].to_vec());
    steps.unwrap_or_else(|| vec![point.trial.clone()])
}

/// The parts of a round: every second one in reverse.
fn order_of(round: u32, arms: usize) -> Vec<WhyPart> {
    let varied = (0..arms as u32).map(WhyPart::Varied);
    let mut order: Vec<WhyPart> = std::iter::once(WhyPart::Unchanged).chain(varied).collect();
    if round.is_multiple_of(2) {
        order.reverse();
    }
    order
}

/// An arm, and how it changes a trial.
struct ArmChange {
    declared: VariedArm,
    change: TrialChange,
}

/// What differs from the unchanged point.
enum TrialChange {
    Cpu(CpuLimit),
    Device(StorageLimit),
    Memory { caches: Vec<(String, Bytes)>, limit: Option<Bytes> },
    Clients(u32),
    Depth(u32),
}

type ArmOrReason = Result<ArmChange, NotVaried>;

/// The arms of `trial`, and what cannot be varied. The memory comes last: it needs another start of the engine, and the round after begins
/// with it.
fn arms_of(
    trial: &Trial,
    variation: &Variation,
    catalogue: &Catalogue,
) -> (Vec<ArmChange>, Vec<(VariedResource, NotVaried)>) {
    let all: [(VariedResource, ArmOrReason); 4] = [
        (VariedResource::Cpu, cpu_arm(variation)),
        (VariedResource::Device, device_arm(variation)),
        (VariedResource::Clients, clients_arm(trial)),
        (VariedResource::Memory, memory_arm(trial, catalogue)),
    ];
    let (mut arms, mut left_out) = (Vec::new(), Vec::new());
    for (resource, arm) in all {
        match arm {
            Ok(arm) => arms.push(arm),
            Err(reason) => left_out.push((resource, reason)),
        }
    }
    (arms, left_out)
}

fn cpu_arm(variation: &Variation) -> ArmOrReason {
    let [_, limit] = variation.cpu?;
    if !could_be_written(limit) {
        return Err(NotVaried::NotPermitted);
    }
    Ok(ArmChange { declared: declared(VariedResource::Cpu, LEFT, "cpu_limit", limit), change: TrialChange::Cpu(limit) })
}

fn device_arm(variation: &Variation) -> ArmOrReason {
    let limit = variation.storage?;
    Ok(ArmChange {
        declared: declared(VariedResource::Device, LEFT, "storage_limit", limit),
        change: TrialChange::Device(limit),
    })
}

/// More clients; of an engine that keeps several ops in flight more of them.
fn clients_arm(trial: &Trial) -> ArmOrReason {
    let more = |now: u32, most: u64| {
        let more = (f64::from(now) * MORE).ceil() as u32;
        (u64::from(more) <= most).then_some((more, f64::from(more) / f64::from(now)))
    };
    let (load, instances) = (&trial.load, u64::from(trial.target.instances));
    let (name, (count, factor), change): (_, _, fn(u32) -> TrialChange) = match load.depth {
        1 => (
            "clients",
            more(load.clients, CLIENTS_MAX / instances).ok_or(NotVaried::MostClients)?,
            TrialChange::Clients,
        ),
        _ => ("depth", more(load.depth, DEPTH_MAX).ok_or(NotVaried::MostClients)?, TrialChange::Depth),
    };
    Ok(ArmChange { declared: declared(VariedResource::Clients, factor, name, count), change: change(count) })
}

/// A smaller cache, and less memory if that is limited.
fn memory_arm(trial: &Trial, catalogue: &Catalogue) -> ArmOrReason {
    let engine = catalogue.engines.iter().find(|entry| entry.name == trial.target.engine).ok_or(NotVaried::NoCache)?;
    let mut caches = Vec::new();
    for def in engine.params.iter().filter(|def| def.role == ParamRole::CacheSize) {
        let (ParamKind::Bytes { min, .. }, Some(Value::Bytes(now))) = (def.kind, trial.target.params.0.get(def.name))
        else {
            continue;
        };
        let less = share_of(*now);
        if less.0 < min {
            return Err(NotVaried::SmallestCache);
        }
        caches.push((def.name.to_owned(), less));
    }
    let limit = trial.target.limits.memory.map(share_of);
    let Some((name, cache)) = caches.first() else { return Err(NotVaried::NoCache) };
    if limit.is_some_and(|limit| limit.0 < MEMORY_MIN) {
        return Err(NotVaried::SmallestCache);
    }
    let declared = declared(VariedResource::Memory, LEFT, name, cache);
    Ok(ArmChange { declared, change: TrialChange::Memory { caches, limit } })
}

/// What is left, in whole pages of 4 KiB.
fn share_of(size: Bytes) -> Bytes {
    const PAGE: u64 = 4096;
    Bytes((size.0 as f64 * LEFT) as u64 / PAGE * PAGE)
}

fn declared(resource: VariedResource, factor: f64, key: &str, value: impl std::fmt::Display) -> VariedArm {
    VariedArm { resource, factor, setting: format!("{key} = {value}") }
}

/// `step` of a round, as `part` asks for it.
fn varied_step(
    step: &Trial,
    part: WhyPart,
    arms: &[ArmChange],
    round: u32,
    variation: &Variation,
    catalogue: &Catalogue,
) -> Trial {
    // Stops of the engine would be one more thing that differs.
    let mut trial = Trial { repeat: round, limit: None, stacks: false, arm: None, ..step.clone() };
    if let Ok([unchanged, _]) = variation.cpu {
        trial.target.limits.cpu = Some(unchanged);
    }
    if !is_step(step, catalogue) {
        shorten(&mut trial, variation.time);
    }
    if let WhyPart::Varied(arm) = part {
        change_trial(&mut trial, &arms[arm as usize].change);
    }
    trial
}

fn is_step(trial: &Trial, catalogue: &Catalogue) -> bool {
    let workload = catalogue.workloads.iter().find(|entry| entry.name == trial.workload.name);
    workload.is_some_and(|entry| entry.steps().is_some())
}

fn shorten(trial: &mut Trial, time: Option<Nanos>) {
    let phases = &mut trial.phases;
    phases.run = time.unwrap_or(phases.run.min(TIME_USUAL));
    phases.warmup = phases.warmup.clamp(WARMUP.0, WARMUP.1);
    phases.interval = twentieth_at_most(phases.interval, phases.run);
    (phases.ops_max, phases.until) = (None, Until::Time);
}

fn change_trial(trial: &mut Trial, change: &TrialChange) {
    match change {
        TrialChange::Cpu(limit) => trial.target.limits.cpu = Some(*limit),
        TrialChange::Device(limit) => trial.target.limits.storage = *limit,
        TrialChange::Clients(count) => trial.load.clients = *count,
        TrialChange::Depth(count) => trial.load.depth = *count,
        TrialChange::Memory { caches, limit } => {
            for (name, size) in caches {
                trial.target.params.0.insert(name.clone(), Value::Bytes(*size));
            }
            trial.target.limits.memory = limit.or(trial.target.limits.memory);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Overrides, fixture, parse};

    fn recorded(text: &str) -> Plan {
        parse(text, "p.toml", &Overrides::default(), 1.0, &fixture::with_steps()).expect("a valid plan")
    }

    fn variation(rounds: u32) -> Variation {
        let cpu = Ok([100, 80].map(CpuLimit::SpeedPercent));
        Variation { rounds, time: None, cpu, storage: Err(NotVaried::NotPermitted) }
    }

    fn why(plan: &Plan, number: u32, variation: &Variation) -> Result<Plan, String> {
        let trial = &plan.trials[number as usize - 1];
        let point = RecordedPoint { run_id: "r", plan, number, trial, engine_version: None };
        why_plan(&point, variation, &fixture::with_steps())
    }

    #[test]
    fn every_round_has_each_arm_once_and_every_second_is_in_reverse() {
        let plan = recorded("workload = 'oltp'\nclients = 4\ncache = '100MiB'\ntime = '60s'");
        let made = why(&plan, 1, &variation(2)).unwrap();
        let spec = made.why.expect("it is the plan of a why");
        let resources: Vec<&str> = spec.arms.iter().map(|arm| arm.resource.as_str()).collect();
        assert_eq!(resources, ["cpu", "clients", "memory"]);
        assert_eq!(spec.left_out, [(VariedResource::Device, NotVaried::NotPermitted)]);
        use WhyPart::{Unchanged, Varied};
        let forth = [Unchanged, Varied(0), Varied(1), Varied(2)];
        assert_eq!(spec.parts, [forth, [Varied(2), Varied(1), Varied(0), Unchanged]].concat());
        let settings: Vec<&str> = spec.arms.iter().map(|arm| arm.setting.as_str()).collect();
        assert_eq!(settings, ["cpu_limit = 80%", "clients = 5", "cache = 80 MiB"]);
        let told: Vec<_> =
            made.trials[..4].iter().map(|it| (it.target.limits.cpu, it.load.clients, it.repeat)).collect();
        let [all, less] = [100, 80].map(|percent| Some(CpuLimit::SpeedPercent(percent)));
        assert_eq!(told, [(all, 4, 1), (less, 4, 1), (all, 5, 1), (all, 4, 1)]);
        assert_eq!(made.trials[3].target.params.bytes("cache"), Bytes::from_mib(80));
        assert!(made.trials.iter().all(|it| it.phases.run == TIME_USUAL && it.phases.interval <= Nanos::from_secs(1)));
        assert_eq!(made.trials[4].repeat, 2);
    }

    #[test]
    fn a_later_step_is_measured_with_the_steps_before_it_and_keeps_its_length() {
        let plan = recorded("workload = 'chain'\nstep = ['l.i0', 'l.x', 'l.i1']");
        let made = why(&plan, 2, &variation(1)).unwrap();
        let words: Vec<&str> = made.trials[..4].iter().map(|it| it.workload.params.word("step")).collect();
        assert_eq!(words, ["l.i0", "l.x", "l.i0", "l.x"]);
        let parts = made.why.clone().expect("it is the plan of a why").parts;
        assert_eq!(parts[..4], [WhyPart::Preparation, WhyPart::Unchanged, WhyPart::Preparation, WhyPart::Varied(0)]);
        assert_eq!(made.trials[1].phases, plan.trials[1].phases);
        assert_eq!(crate::chains(&Plan { why: None, ..made.clone() }, &fixture::with_steps())[0], 0..2);
    }

    #[test]
    fn several_ops_in_flight_become_more_and_a_single_client_becomes_two() {
        let settings = |text: &str| {
            let made = why(&recorded(text), 1, &variation(1)).unwrap();
            let arms = made.why.expect("it is the plan of a why").arms;
            let arm = arms.into_iter().find(|arm| arm.resource == VariedResource::Clients).expect("clients");
            (arm.setting, arm.factor)
        };
        assert_eq!(settings("workload = 'file'\nclients = 1\ndepth = 32"), ("depth = 40".to_owned(), 1.25));
        assert_eq!(settings("workload = 'oltp'\nclients = 1"), ("clients = 2".to_owned(), 2.0));
    }

    #[test]
    fn an_open_loop_is_refused_with_the_reason() {
        let refused = why(&recorded("workload = 'oltp'\nrate = 500"), 1, &variation(1)).unwrap_err();
        assert!(refused.starts_with("point 1 has a rate of its own (500 ops per second fall due)"), "{refused}");
    }
}
