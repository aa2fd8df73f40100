//! Fits a plan to this machine: values that mean the same here are measured once, and those that this machine lacks are left out.
//!
//! In: a resolved plan, what the machine has. Out: the plan as it can be run here, and one line for each value that was left out.
//! Limits: only `cpus`, `smt`, `turbo` and `scheduler` depend on the machine in this way. A plan of which nothing is left is refused, and so
//! is a comparison of two values that are the same here.

use crate::error::RunnerError;
use crate::preflight::RunSite;
use crate::room::data_location;
use engine::EngineLocation;
use host::TargetError;
use host::cpu::CpuTopology;
use host::device::{BlockDevice, queues_below};
use host::privileged::system_change::{WantedValue, effective_setup, wanted_settings};
use model::{Asked, CpuAssignment, CpuChoice, CpuList, MachineSetup, Nanos, Plan, Switch, Trial};

/// A plan as it can be run here.
#[derive(Debug)]
pub struct FittedPlan {
    /// The plan without what cannot be run here.
    pub plan: Plan,
    /// What was left out of it, and why: one line each.
    pub left_out: Vec<String>,
    /// The parts of it that have less effect than you would expect: one line each.
    pub notes: Vec<String>,
}

/// Fits `plan` to this machine, if it asks for something that depends on the machine.
///
/// # Errors
/// If nothing can be measured, or nothing compared.
pub fn fit_plan(plan: &Plan, site: &RunSite) -> Result<FittedPlan, RunnerError> {
    if plan.trials.iter().all(|trial| trial.target.machine.is_none()) {
        let notes = notes_on_pauses(&plan.trials);
        return Ok(FittedPlan { plan: plan.clone(), left_out: Vec::new(), notes });
    }
    let has_schedulers = plan.trials.iter().any(|trial| trial.target.machine.scheduler.is_some());
    fit_to(plan, &CpuTopology::read(), |trial| {
        // A point that keeps the scheduler may be the same as one that sets it.
        let disks = if has_schedulers { disks_of(trial, site) } else { Vec::new() };
        wanted_settings(&trial.target.machine, &disks).map(|_| effective_setup(&trial.target.machine, &disks))
    })
}

/// The settings of the kernel that `trial` asks for.
///
/// # Errors
/// If this machine lacks one.
pub(crate) fn wanted_by(trial: &Trial, site: &RunSite) -> Result<Vec<WantedValue>, TargetError> {
    let disks = trial.target.machine.scheduler.map_or(Vec::new(), |_| disks_of(trial, site));
    wanted_settings(&trial.target.machine, &disks).map_err(TargetError::Unsupported)
}

/// The disks under the data of `trial`. The requests to a file system of its own pass the queue of its loop device at once, and wait in
/// that of the disk below the image.
fn disks_of(trial: &Trial, site: &RunSite) -> Vec<String> {
    match trial.target.path.as_deref().filter(|path| BlockDevice::at(path).is_some()) {
        Some(device) => queues_below(device),
        None => queues_below(data_location(trial, &site.dir)),
    }
}

/// What a trial comes to on a machine. Trials that agree in it and in all else measure the same.
#[derive(PartialEq)]
struct EffectiveMachine {
    clients: CpuList,
    engine: CpuList,
    /// Without CPUs, which are resolved above.
    setup: MachineSetup,
}

fn fit_to(
    plan: &Plan,
    topology: &CpuTopology,
    effective: impl Fn(&Trial) -> Result<MachineSetup, String>,
) -> Result<FittedPlan, RunnerError> {
    let mut left_out: Vec<String> = Vec::new();
    let mut known: Vec<(EffectiveMachine, Trial)> = Vec::new();
    let mut trials: Vec<Trial> = Vec::new();
    let rank = |trial: &Trial| plan.trials.iter().position(|other| other.target.machine == trial.target.machine);
    for trial in &plan.trials {
        let note = match effective(trial) {
            Err(why) => format!("{why}; it is left out"),
            Ok(setup) => {
                let machine = EffectiveMachine::of(trial, setup, topology)?;
                let rest = without_machine(trial);
                let Some(at) = known.iter().position(|(other, same)| *other == machine && *same == rest) else {
                    known.push((machine, rest));
                    trials.push(trial.clone());
                    continue;
                };
                // Repeats swap the order of the arms: the value that the plan names first is the one that stays.
                let mut twin = trial.clone();
                if rank(trial) < rank(&trials[at]) {
                    std::mem::swap(&mut twin, &mut trials[at]);
                }
                describe_twin(&twin, &trials[at], &machine, topology)
            }
        };
        if !left_out.contains(&note) {
            left_out.push(note);
        }
    }
    match (&plan.ab, left_out.first()) {
        (Some(key), Some(why)) => {
            let key = plan::plan_key(key);
            Err(RunnerError::Unsupported(format!("ab = `{key}` has nothing to compare here: {why}")))
        }
        (None, Some(why)) if trials.is_empty() => {
            Err(RunnerError::Unsupported(why.trim_end_matches("; it is left out").to_owned()))
        }
        _ => {
            let mut notes = notes_on_engines(&trials);
            notes.extend(notes_on_pauses(&trials));
            let asked = still_asked(&plan.asked, &trials);
            Ok(FittedPlan { plan: Plan { asked, trials, ..plan.clone() }, left_out, notes })
        }
    }
}

/// What can be asked of `trials`: a key of which one value is left compares nothing.
fn still_asked(asked: &Asked, trials: &[Trial]) -> Asked {
    let keys = plan::differing_keys(trials);
    let differs = |key: &String| keys.iter().any(|(own, _)| own == plan::plan_key(key));
    let [compare, over] = [&asked.compare, &asked.over].map(|key| key.clone().filter(differs));
    // What is not compared is not asked any more: what is left has a question of its own.
    let is_lost = asked.compare.is_some() && compare.is_none();
    let question = asked.question.clone().filter(|_| !is_lost);
    Asked { question, compare, over }
}

impl EffectiveMachine {
    fn of(trial: &Trial, setup: MachineSetup, topology: &CpuTopology) -> Result<EffectiveMachine, TargetError> {
        let asked = trial.target.machine.cpus.as_ref();
        let without_siblings = topology.without_siblings();
        let topology = if trial.target.machine.smt == Some(Switch::Off) { &without_siblings } else { topology };
        let choose = |choice: Option<&CpuChoice>| topology.choose(choice.unwrap_or(&CpuChoice::All));
        let (clients, engine) = (choose(asked.map(|cpus| &cpus.client))?, choose(asked.map(|cpus| &cpus.engine))?);
        Ok(EffectiveMachine { clients, engine, setup: MachineSetup { cpus: None, ..setup } })
    }
}

/// Which engines have other CPUs than `cpus` names for them.
fn notes_on_engines(trials: &[Trial]) -> Vec<String> {
    let mut notes: Vec<String> = Vec::new();
    for trial in trials {
        let Some(cpus) = &trial.target.machine.cpus else { continue };
        let engine = &trial.target.engine;
        let note = match engine::engine_of(trial).runs {
            EngineLocation::Elsewhere => {
                format!(
                    "cpus = `{cpus}`: plimsoll did not start the server of engine `{engine}`, so only the clients are pinned"
                )
            }
            EngineLocation::Embedded if cpus.is_split() => {
                format!("cpus = `{cpus}`: engine `{engine}` runs inside plimsoll, on the CPUs of the clients")
            }
            _ => continue,
        };
        if !notes.contains(&note) {
            notes.push(note);
        }
    }
    notes
}

/// Which replays of `trials` would mostly wait: they last ten times as long as they would without their pauses. A clock that jumps makes
/// such a log, or two logs of different days in one file.
pub fn notes_on_pauses(trials: &[Trial]) -> Vec<String> {
    let mut notes: Vec<String> = Vec::new();
    for trial in trials {
        let params = &trial.workload.params;
        // Only the statements of a log have sessions, and a speed.
        let Some(summary) = params.recording() else { continue };
        let Some(pauses) = summary.sessions.map(|sessions| sessions.pauses) else { continue };
        let Some(speed) = workload::replay_sql::speed_of(params) else { continue };
        let busy = Nanos(summary.length.0.saturating_sub(pauses.sum.0));
        if summary.length.0 / 10 <= busy.0 {
            continue;
        }
        let in_replay = |time: Nanos| hours_and_minutes(time.as_secs_f64() / speed);
        let note = format!(
            "`{summary}`: the replay takes {}, but for {} of it nothing is sent: the longest pause is {} and begins {} after the first \
             statement; cut the log there, or use a higher speed",
            in_replay(summary.length),
            in_replay(pauses.sum),
            in_replay(pauses.longest),
            in_replay(pauses.longest_after)
        );
        if !notes.contains(&note) {
            notes.push(note);
        }
    }
    notes
}

/// `277 h`, `4 min`, `12 s`.
fn hours_and_minutes(seconds: f64) -> String {
    match seconds {
        s if s >= 7_200.0 => format!("{:.0} h", s / 3_600.0),
        s if s >= 120.0 => format!("{:.0} min", s / 60.0),
        s => format!("{s:.0} s"),
    }
}

fn without_machine(trial: &Trial) -> Trial {
    let mut rest = trial.clone();
    rest.target.machine = MachineSetup::default();
    rest
}

/// Which value of `trial` means here the same as that of `twin`.
fn describe_twin(trial: &Trial, twin: &Trial, machine: &EffectiveMachine, topology: &CpuTopology) -> String {
    let texts = |trial: &Trial| {
        let setup = &trial.target.machine;
        let [smt, turbo] = [setup.smt, setup.turbo].map(|switch| switch.map_or("keep", Switch::as_str).to_owned());
        let cpus = setup.cpus.as_ref().map_or("none".to_owned(), CpuAssignment::to_string);
        let scheduler = setup.scheduler.map_or("keep", |scheduler| scheduler.as_str()).to_owned();
        [("cpus", cpus), ("smt", smt), ("turbo", turbo), ("scheduler", scheduler)]
    };
    let differing = texts(trial).into_iter().zip(texts(twin)).filter(|((_, own), (_, other))| own != other);
    let same = differing.map(|((key, own), (_, other))| match key {
        "cpus" => {
            let (clients, arranged) = (&machine.clients, topology.describe());
            format!("cpus = `{own}` is left out: it is the same as `{other}` here (CPUs {clients}; {arranged})")
        }
        key => format!("{key} = `{own}` is left out: it is the same as `{other}` here"),
    });
    same.collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(text: &str) -> Plan {
        plan::parse(text, "p.toml", &plan::Overrides::default(), 1.0, &crate::catalogue()).expect("a plan")
    }

    /// The plan on this machine without siblings of cores, whose kernel offers all but bfq.
    fn fitted(text: &str) -> Result<FittedPlan, String> {
        let effective = |trial: &Trial| match trial.target.machine.scheduler {
            Some(model::IoScheduler::Bfq) => Err("scheduler = `bfq`: the kernel has none".to_owned()),
            other => Ok(MachineSetup {
                scheduler: other.or(Some(model::IoScheduler::Kyber)),
                smt: Some(Switch::Off),
                ..trial.target.machine.clone()
            }),
        };
        let topology = CpuTopology::read().without_siblings();
        fit_to(&plan(text), &topology, effective).map_err(|error| error.to_string())
    }

    fn setups(fitted: &FittedPlan) -> Vec<String> {
        let named =
            |trial: &Trial| trial.target.machine.named().into_iter().map(|(_, value)| value).collect::<Vec<_>>();
        fitted.plan.trials.iter().map(|trial| named(trial).join(" ")).collect()
    }

    #[test]
    fn without_siblings_cores_and_all_are_measured_once_and_the_reason_is_given_once() {
        let fitted = fitted("workload = 'oltp'\ncpus = ['cores', 'all']\nclients = [1, 2]\nrepeat = 2").unwrap();
        assert_eq!(setups(&fitted), ["cores", "cores", "cores", "cores"]);
        let [note] = &fitted.left_out[..] else { panic!("{:?}", fitted.left_out) };
        assert!(note.starts_with("cpus = `all` is left out: it is the same as `cores` here (CPUs "), "{note}");
        assert!(note.ends_with("1 thread per core)"), "{note}");
    }

    #[test]
    fn a_scheduler_that_the_kernel_lacks_is_left_out_and_one_that_is_set_already_measured_once() {
        let fitted = fitted("workload = 'file'\nscheduler = ['keep', 'none', 'bfq', 'kyber']").unwrap();
        assert_eq!(setups(&fitted), ["", "none"]);
        let expected = [
            "scheduler = `bfq`: the kernel has none; it is left out",
            "scheduler = `kyber` is left out: it is the same as `keep` here",
        ];
        assert_eq!(fitted.left_out, expected);
    }

    #[test]
    fn a_plan_of_which_nothing_is_left_is_refused_with_the_reason() {
        let refused = |text: &str| fitted(text).unwrap_err();
        assert_eq!(refused("workload = 'file'\nscheduler = 'bfq'"), "scheduler = `bfq`: the kernel has none");
        let compared = refused("workload = 'oltp'\nab = 'cpus=cores,all'");
        assert!(
            compared.starts_with("ab = `cpus` has nothing to compare here: cpus = `all` is left out"),
            "{compared}"
        );
        assert!(refused("workload = 'oltp'\ncpus = '1000'").starts_with("cpus = `1000`: CPU 1000 is offline"));
    }

    #[test]
    fn a_replay_that_would_mostly_wait_is_named_with_its_longest_pause() {
        let dir = tempfile::tempdir().unwrap();
        let site = RunSite {
            dir: dir.path().to_owned(),
            runs: dir.path().to_owned(),
            destroy: Vec::new(),
            system_changes: Default::default(),
            writes: Default::default(),
            if_held: Default::default(),
            restore: None,
        };
        let log = dir.path().join("a.log");
        let entry = |time: &str| format!("{time}\t    8 Query\tSELECT 1\n");
        let times = ["2024-03-01T10:00:00.0Z", "2024-03-01T10:00:03.5Z", "2024-03-13T10:00:00.0Z"];
        let notes_at = |speed: &str, times: &[&str]| {
            std::fs::write(&log, times.iter().map(|time| entry(time)).collect::<String>()).unwrap();
            let engine = "engine = 'mysql://a@127.0.0.1/'";
            let text = format!("workload = 'replay-sql'\n{engine}\nlog = '{}'\nspeed = '{speed}'", log.display());
            // It asks for nothing of the machine, as replays do.
            fit_plan(&plan(&text), &site).unwrap().notes
        };
        let [note] = &notes_at("2", &times)[..] else { panic!("no note") };
        assert!(note.contains("the replay takes 144 h, but for 144 h of it nothing is sent"), "{note}");
        assert!(note.contains("the longest pause is 144 h and begins 2 s after the first"), "{note}");
        assert_eq!((notes_at("max", &times).len(), notes_at("1", &times[..2]).len()), (0, 0));
    }

    #[test]
    fn a_replay_is_given_up_after_a_silence_as_long_as_its_log_or_as_was_asked() {
        let dir = tempfile::tempdir().unwrap();
        let entry = |time: &str| format!("2024-03-01T{time}.0Z\t    8 Query\tSELECT 1\n");
        let phases_of = |last: &str, more: &str| {
            let log = dir.path().join(format!("{}.log", last.replace(':', "-")));
            std::fs::write(&log, entry("10:00:00") + &entry(last)).unwrap();
            let source = format!("engine = 'mysql://a@127.0.0.1/'\nlog = '{}'\n{more}", log.display());
            plan(&format!("workload = 'replay-sql'\n{source}")).trials[0].phases
        };
        let silence_of = |last: &str, more: &str| phases_of(last, more).longest_silence().0 / 1_000_000_000;
        assert_eq!(
            [silence_of("10:00:04", ""), silence_of("10:03:00", ""), silence_of("13:00:00", "")],
            [120, 180, 600]
        );
        assert_eq!([silence_of("10:00:04", "grace = '5s'"), silence_of("10:00:04", "time = '3s'")], [5, 10]);
        assert_eq!([silence_of("10:03:00", "speed = 'max'"), silence_of("10:03:00", "speed = '0.5'")], [180, 360]);
        // What is in flight at the end of a phase has the usual time.
        assert_eq!(phases_of("13:00:00", "").grace, Nanos::from_secs(10));
    }

    #[test]
    fn engines_inside_plimsoll_are_said_to_have_the_cpus_of_the_clients() {
        let notes =
            fitted("workload = 'oltp'\nengine = ['sqlite', 'postgres']\ncpus = 'client=0+engine=all'").unwrap().notes;
        assert_eq!(
            notes,
            ["cpus = `client=0+engine=all`: engine `sqlite` runs inside plimsoll, on the CPUs of the clients"]
        );
        assert_eq!(fitted("workload = 'oltp'\ncpus = 'cores'").unwrap().notes, [""; 0]);
    }

    #[test]
    fn points_that_differ_in_more_are_all_kept() {
        let fitted =
            fitted("workload = 'oltp'\n[[sweep]]\ncpus = 'cores'\nclients = 1\n[[sweep]]\ncpus = 'all'\nclients = 2");
        let fitted = fitted.unwrap();
        assert_eq!((setups(&fitted), fitted.left_out.len()), (vec!["cores".to_owned(), "all".to_owned()], 0));
    }
}
