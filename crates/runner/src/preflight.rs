//! The checks before a run (can this place be measured, can every point), and the run file.
//!
//! In: a resolved plan, the place to measure. Out: a refusal, or a run file that describes the run. Limits: others may fill the disk
//! or take the directory afterwards; the sink checks the disk again while the load runs.

use crate::ceilings;
use crate::error::RunnerError;
use crate::events::{RunObserver, note};
use crate::fitting;
use crate::killed_run;
use crate::objective_kinds;
use crate::open_set;
use crate::room::{check_room, data_location};
use engine::EngineLocation;
use host::TargetError;
use host::device::{BlockDevice, DestroyConsent};
use host::lock::{HeldLock, IfHeld, LockedThing};
use host::user_command::UserCommand;
use model::{
    COMMAND_FACT, Catalogue, Fact, LEFT_OUT_FACT, LINK_FACT, Machine, Plan, RESTORE_FACT, RunMeta, Tick, Trial,
};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use store::{RunWriter, StoreError};

/// Where a run is measured and where it is recorded.
#[derive(Clone, Debug)]
pub struct RunSite {
    /// The directory to measure: data is made in it.
    pub dir: PathBuf,
    /// The directory of run files and reports.
    pub runs: PathBuf,
    /// Block devices that may be overwritten.
    pub destroy: Vec<DestroyConsent>,
    /// Whether settings of the kernel may be changed.
    pub system_changes: SystemChangeConsent,
    /// Whether what plimsoll did not make may be changed by statements of the plan.
    pub writes: WriteConsent,
    /// What to do if another plimsoll measures there, or records the run.
    pub if_held: IfHeld,
    /// What brings the server of a replay of statements back to what its data was, before each point.
    pub restore: Option<UserCommand>,
}

/// Whether the user allows statements of a plan to change what plimsoll did not make: tables of the user's, other schemas, a server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WriteConsent {
    /// The user did not allow it, whatever the plan says.
    #[default]
    Refused,
    Given,
}

/// The directories, devices and servers of a run, which no other plimsoll measures as long as this is held.
#[derive(Debug)]
#[must_use = "another plimsoll may measure there as soon as this is dropped"]
pub struct HeldPlaces {
    _locks: Vec<HeldLock>,
}

/// Whether the user allows settings of the kernel to be changed that concern all processes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SystemChangeConsent {
    /// The user did not allow it.
    #[default]
    Refused,
    /// Yes: they are put back.
    Given,
}

/// Makes all checks before `plan` is measured at `site`, and asks for passwords that are still missing. What it returns is to be held until
/// the data is gone.
pub fn check_before_run(
    plan: &Plan,
    site: &RunSite,
    catalogue: &Catalogue,
    observer: &mut dyn RunObserver,
) -> Result<HeldPlaces, RunnerError> {
    check_abilities(plan, catalogue)?;
    let held = check_place(plan, site, catalogue, observer)?;
    engine::server::url::ask_for_passwords(plan.trials.iter().map(|trial| &trial.target.params))?;
    open_set::check_sets(plan, &site.dir)?;
    Ok(held)
}

/// Refuses a plan with a point that its engine cannot perform, before the points before it are measured.
pub fn check_abilities(plan: &Plan, catalogue: &Catalogue) -> Result<(), RunnerError> {
    check_folders(plan)?;
    check_stacks(plan)?;
    for trial in &plan.trials {
        engine::requirements::check_programs(trial)?;
        engine::process_limits::check(trial)?;
        (engine::engine_of(trial).check)(trial)?;
        objective_kinds::check(trial)?;
    }
    plan::chains(plan, catalogue).into_iter().try_for_each(|chain| check_first_step(&plan.trials[chain.start]))
}

/// Refuses two spellings of one directory of programs: their points would be taken for those of two versions.
fn check_folders(plan: &Plan) -> Result<(), RunnerError> {
    let mut known: Vec<(&str, PathBuf, &Path)> = Vec::new();
    for target in plan.trials.iter().map(|trial| &trial.target) {
        let Some(folder) = target.programs.as_deref() else { continue };
        // One that does not exist is refused by its engine.
        let Ok(real) = folder.canonicalize() else { continue };
        match known.iter().find(|(engine, path, _)| *engine == target.engine && *path == real) {
            Some((engine, _, before)) if before.as_os_str() != folder.as_os_str() => {
                let [one, other] = [before, folder].map(host::error::shown);
                return Err(RunnerError::Unsupported(format!(
                    "`{engine}@{one}` and `{engine}@{other}` are the same directory; leave one out"
                )));
            }
            Some(_) => {}
            None => known.push((&target.engine, real, folder)),
        }
    }
    Ok(())
}

/// Refuses a plan that asks for stacks and has no engine that can be stopped for them. If some can, the others have a note.
fn check_stacks(plan: &Plan) -> Result<(), RunnerError> {
    let inside =
        |trial: &&Trial| matches!(engine::engine_of(trial).runs, EngineLocation::InClients | EngineLocation::Embedded);
    let mut asking = plan.trials.iter().filter(|trial| trial.stacks).peekable();
    let Some(first) = asking.peek().map(|trial| trial.target.engine.clone()) else { return Ok(()) };
    if !asking.all(|trial| inside(&trial)) {
        return Ok(());
    }
    Err(RunnerError::Unsupported(format!(
        "`stacks` needs an engine with processes of its own: `{first}` works inside plimsoll, and the tools that take stacks would stop \
         the load, too; use a private server, such as `mariadb:innodb`"
    )))
}

/// Refuses a sequence of steps whose first would ask for rows that no step has inserted.
fn check_first_step(trial: &Trial) -> Result<(), RunnerError> {
    match engine::workload_of(trial).reuse_of(&trial.workload.params) {
        workload::DataReuse::Continues { begins: false, .. } => Err(RunnerError::Unsupported(format!(
            "step `{}` needs rows, but no earlier step inserts any; add for example `l.i1` to the same --steps list",
            trial.workload.params.word("step")
        ))),
        _ => Ok(()),
    }
}

/// Checks before anything is written that the directory can be measured, is free and has room. Removes what killed runs left there, and
/// undoes what they did as root anywhere. The place is held from before these checks on: two that start at once would both find it free.
pub fn check_place(
    plan: &Plan,
    site: &RunSite,
    catalogue: &Catalogue,
    observer: &mut dyn RunObserver,
) -> Result<HeldPlaces, RunnerError> {
    host::safety::check_directory(&site.dir)?;
    let held = hold_places(plan, site, observer)?;
    // Before the check of the space: what killed runs left takes some of it.
    let swept = host::data_dir::sweep_abandoned(&site.dir, host::privileged::volume::release_volume);
    let undone = host::privileged::undo_abandoned();
    swept.notes.iter().chain(&undone).for_each(|text| note(observer, text));
    if let Some(used) = swept.in_use.first() {
        let used = host::error::shown(used);
        let text = format!("another plimsoll run is using this directory (`{used}`); wait until it finishes");
        return Err(RunnerError::Unsafe(text));
    }
    check_targets(plan, site)?;
    check_system_changes(plan, site)?;
    check_space(plan, &site.dir, catalogue)?;
    Ok(held)
}

/// Locks every directory and device on which `plan` has data, and every server that it loads by its URL. A server has a lock of plimsoll's on
/// itself while a point lasts, which is true for other machines, too; but a run that found it free between two points would end the other.
fn hold_places(plan: &Plan, site: &RunSite, observer: &mut dyn RunObserver) -> Result<HeldPlaces, TargetError> {
    // What keeps nothing there neither disturbs another run nor is disturbed by one.
    let keeps = |trial: &&Trial| trial.target.path.is_some() || engine::estimate::keeps_data(trial);
    let here = plan.trials.iter().filter(keeps);
    let here = here.filter(|trial| engine::engine_of(trial).runs != EngineLocation::Elsewhere);
    let (mut places, mut known) = (Vec::new(), BTreeSet::new());
    for trial in here {
        let device = trial.target.path.as_deref().filter(|path| BlockDevice::at(path).is_some());
        let (path, thing) = match device {
            Some(device) => (device, LockedThing::Device),
            None => (data_location(trial, &site.dir), LockedThing::Directory),
        };
        // Two names may lead to one directory, and a lock is in the way of another one of the same process, too.
        let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        if known.insert(real.clone()) {
            places.push((real, thing));
        }
    }
    // All in the same order: two that wait would otherwise wait for each other.
    places.sort_by(|one, other| one.0.cmp(&other.0));
    let tell = &mut |text: &str| note(observer, text);
    let locks = places.iter().map(|(path, thing)| host::lock::lock(path, *thing, site.if_held, tell));
    let mut locks = locks.collect::<Result<Vec<HeldLock>, _>>()?;
    let named = plan.trials.iter().flat_map(|trial| engine::server::url::servers_to_load(&trial.target.params));
    for server in named.collect::<BTreeSet<String>>() {
        locks.push(host::lock::lock_server(&server, site.if_held, tell)?);
    }
    Ok(HeldPlaces { _locks: locks })
}

/// Puts back the settings of the kernel that a killed run has changed, with a note.
pub fn put_back_settings(observer: &mut dyn RunObserver) {
    host::privileged::system_change::put_back_abandoned().iter().for_each(|text| note(observer, text));
}

/// Refuses a plan that changes settings of the kernel, unless that is allowed and possible now.
fn check_system_changes(plan: &Plan, site: &RunSite) -> Result<(), TargetError> {
    let mut changes: Vec<String> = Vec::new();
    for trial in plan.trials.iter().filter(|trial| !trial.target.machine.is_none()) {
        let wanted = fitting::wanted_by(trial, site)?;
        changes.extend(host::privileged::system_change::describe_changes(&wanted));
    }
    changes.sort();
    changes.dedup();
    if changes.is_empty() {
        return Ok(());
    }
    if site.system_changes == SystemChangeConsent::Refused {
        return Err(TargetError::Unsafe(format!(
            "this would change settings of the kernel for all processes: {}; add --allow-system-change to allow it, and they are \
             put back at the end",
            changes.join(", ")
        )));
    }
    host::privileged::system_change::check_possible()
}

/// Checks that the data of each point has room at its location: in `dir`, or at a path of the point's own.
pub fn check_space(plan: &Plan, dir: &Path, catalogue: &Catalogue) -> Result<(), TargetError> {
    plan::chains(plan, catalogue).into_iter().try_for_each(|chain| check_room(&plan.trials[chain], dir))
}

/// Checks that the file systems can be made that points are measured on, and that the block devices may be written that they name.
pub fn check_targets(plan: &Plan, site: &RunSite) -> Result<(), TargetError> {
    check_consents(plan, site)?;
    check_cpu_limits(plan)?;
    plan.trials.iter().try_for_each(|trial| {
        engine::requirements::check_file_system(trial)?;
        engine::requirements::check_limits(trial)?;
        engine::requirements::check_scheduler(trial)?;
        engine::requirements::check_instances(trial)?;
        engine::requirements::check_background(trial)?;
        engine::requirements::check_found_data(trial)?;
        engine::outside::check_outside(trial, site.writes == WriteConsent::Given)?;
        engine::requirements::check_server_place(trial, data_location(trial, &site.dir))?;
        trial.target.path.as_deref().map_or(Ok(()), host::safety::check_links)?;
        let no_null = |path| host::device::check_null_device(path, &site.destroy);
        trial.target.path.as_deref().map_or(Ok(()), no_null)?;
        check_device(trial, site)
    })
}

/// Refuses a command that is never run, and the consent to destroy a device that no point is measured on: it would be ignored, and a slip of the
/// path remain unseen.
fn check_consents(plan: &Plan, site: &RunSite) -> Result<(), TargetError> {
    if site.restore.is_some() && !plan.trials.iter().any(engine::replays_statements) {
        let text = "--restore has no effect: no point replays the statements of a log (`replay-sql`)";
        return Err(TargetError::Unsupported(text.to_owned()));
    }
    let is_measured = |device: &Path| plan.trials.iter().any(|trial| trial.target.path.as_deref() == Some(device));
    match site.destroy.iter().find(|consent| !is_measured(&consent.device)) {
        None => Ok(()),
        Some(consent) => {
            let device = host::error::shown(&consent.device);
            Err(TargetError::Unsupported(format!("--destroy {device} has no effect; it needs `--path {device}`")))
        }
    }
}

/// Refuses limits of CPU time together with speeds of the CPUs: a limit of CPU time puts the engines of all points into groups, and the
/// kernel runs no thread of real-time priority in such a group.
fn check_cpu_limits(plan: &Plan) -> Result<(), TargetError> {
    let limits = || plan.trials.iter().filter_map(|trial| trial.target.limits.cpu);
    let time = limits().find(|limit| limit.milli_cpus().is_some());
    let speed = limits().find(|limit| limit.speed_percent().is_some());
    match (time, speed) {
        (Some(time), Some(speed)) => Err(TargetError::Unsupported(format!(
            "cpu_limit = `{time}` limits CPU time and cpu_limit = `{speed}` slows the CPUs: one run can do only one of these; \
             make a run for each"
        ))),
        _ => Ok(()),
    }
}

/// Refuses a device that holds the directories of data or run files.
fn check_device(trial: &Trial, site: &RunSite) -> Result<(), TargetError> {
    let device = trial.target.path.as_deref().and_then(BlockDevice::at);
    match device.filter(|_| engine::estimate::writes_in_run(trial)) {
        Some(device) => device.check_destroy(&site.destroy, &[&site.dir, existing_ancestor(&site.runs)]),
        None => Ok(()),
    }
}

/// The innermost directory around `dir` that exists.
fn existing_ancestor(dir: &Path) -> &Path {
    dir.ancestors().find(|around| around.is_dir()).unwrap_or(Path::new("."))
}

/// The machine and the place, which must be alike for two runs to be compared, and the ceilings that its disk showed before.
pub fn describe_environment(site: &RunSite, observer: &mut dyn RunObserver) -> Vec<Fact> {
    let place = host::filesystem::find_mount(&site.dir).map(|place| place.facts()).unwrap_or_default();
    let ceilings = ceilings::known_facts(&site.runs, &place, observer);
    let machine = host::machine::facts().into_iter().chain(load::clock_facts());
    machine.chain(place).chain(ceilings).collect()
}

/// Makes the run file of `plan`, and the directory around it. `left_out` is what the plan would also measure on another machine.
pub fn create_run(
    plan: &Plan,
    left_out: &[String],
    command: Option<String>,
    site: &RunSite,
    observer: &mut dyn RunObserver,
) -> Result<(PathBuf, RunWriter), RunnerError> {
    host::safety::check_links(&site.runs)?;
    killed_run::note_newest(site, observer);
    std::fs::create_dir_all(&site.runs).map_err(|error| {
        let (runs, why) = (host::error::shown(&site.runs), host::error::system_words(&error));
        RunnerError::Unsafe(format!(
            "cannot create the directory `{runs}` for run files: {why}; choose another directory with --runs"
        ))
    })?;
    let mut meta = describe_run(plan, site, observer);
    meta.environment.extend((!left_out.is_empty()).then(|| Fact::new(LEFT_OUT_FACT, left_out.join("; "))));
    meta.environment.extend(command.map(|command| Fact::new(COMMAND_FACT, command)));
    meta.environment.extend(site.restore.as_ref().map(|restore| Fact::new(RESTORE_FACT, restore.program())));
    create_run_file(meta, site, observer)
}

/// Locks the run in `run_file`, which is to be recorded further, before anything of it is read: two that resume it at once would both find
/// it free. The lock is for its writer to hold.
pub fn lock_run(run_file: &Path, site: &RunSite, observer: &mut dyn RunObserver) -> Result<HeldLock, RunnerError> {
    let tell = &mut |text: &str| note(observer, text);
    Ok(host::lock::lock(run_file, LockedThing::RunFile, site.if_held, tell)?)
}

/// Makes the run file of one host of a run called `name`, which began at `started_unix_ms`.
pub(crate) fn create_run_of_host(
    plan: &Plan,
    name: &str,
    started_unix_ms: u64,
    site: &RunSite,
    observer: &mut dyn RunObserver,
) -> Result<(PathBuf, RunWriter), RunnerError> {
    let meta = describe_run(plan, site, observer);
    create_run_file(RunMeta { run_id: name.to_owned(), started_unix_ms, ..meta }, site, observer)
}

/// How a run file of a watch is called, and when it begins.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct WatchFile<'a> {
    /// The name that the user gives.
    pub name: Option<&'a str>,
    /// Whether it is one of several, whose names end with their times.
    pub is_of_several: bool,
    /// When it begins, since 1970; `None` if that is now.
    pub began: Option<Duration>,
}

/// Makes the run file `file` of a watch. `data_dir` is the way to the data of what is watched, if that is seen here.
pub(crate) fn create_watch_run(
    plan: &Plan,
    file: WatchFile,
    command: Option<String>,
    (data_dir, site): (Option<&Path>, &RunSite),
    observer: &mut dyn RunObserver,
) -> Result<(PathBuf, RunWriter), RunnerError> {
    host::safety::check_links(&site.runs)?;
    std::fs::create_dir_all(&site.runs).map_err(|error| {
        let (runs, why) = (host::error::shown(&site.runs), host::error::system_words(&error));
        RunnerError::Unsafe(format!("cannot create the directory `{runs}` for run files: {why}"))
    })?;
    // What is not seen here has no place here: no directory of this machine is taken for its own.
    let dir = data_dir.map_or_else(|| PathBuf::from("/nonexistent"), Path::to_owned);
    let mut meta = describe_run(plan, &RunSite { dir, ..site.clone() }, observer);
    meta.environment.extend(command.map(|command| Fact::new(COMMAND_FACT, command)));
    let began = file.began.unwrap_or(Duration::from_millis(meta.started_unix_ms));
    meta.started_unix_ms = u64::try_from(began.as_millis()).unwrap_or(u64::MAX);
    match file.name {
        Some(name) if file.is_of_several => meta.run_id = format!("{name}-{}", time_in_name(began)),
        Some(name) => {
            let path = site.runs.join(format!("{name}.{}", store::EXTENSION));
            if path.symlink_metadata().is_ok() {
                return Err(StoreError::Exists { path }.into());
            }
            meta.run_id = name.to_owned();
        }
        None => meta.run_id = format!("{}-{}", time_in_name(began), plan.name),
    }
    create_run_file(meta, site, observer)
}

/// A moment since 1970 as names of runs begin with it, so that they sort by time: `20261121-030405`, in UTC.
fn time_in_name(moment: Duration) -> String {
    let moment = chrono::DateTime::from_timestamp(moment.as_secs() as i64, 0).unwrap_or_default();
    moment.format("%Y%m%d-%H%M%S").to_string()
}

/// How long ago, by the wall clock, a run began that started at `started_unix_ms`; 0 if the clock was set back since.
pub(crate) fn wall_time_of_run(started_unix_ms: u64) -> Tick {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let since = now.saturating_sub(Duration::from_millis(started_unix_ms));
    Tick(u64::try_from(since.as_nanos()).unwrap_or(0))
}

fn describe_run(plan: &Plan, site: &RunSite, observer: &mut dyn RunObserver) -> RunMeta {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let stated = plan.hourly.facts().chain(plan.link.map(|speed| Fact::new(LINK_FACT, speed.fact_value())));
    let environment: Vec<Fact> = describe_environment(site, observer).into_iter().chain(stated).collect();
    RunMeta {
        run_id: format!("{}-{}", time_in_name(now), plan.name),
        started_unix_ms: now.as_millis() as u64,
        plimsoll_version: env!("CARGO_PKG_VERSION").into(),
        plan: plan.clone(),
        machine: Machine::from_facts(&environment),
        environment,
    }
}

/// The run file of `meta` at `site`, locked, with a number after its name if a run of this second has the name already.
fn create_run_file(
    meta: RunMeta,
    site: &RunSite,
    observer: &mut dyn RunObserver,
) -> Result<(PathBuf, RunWriter), RunnerError> {
    const TRIES: u32 = 100;
    let runs = &site.runs;
    let name = meta.run_id.clone();
    let numbered = (2..TRIES).map(|n| format!("{name}-{n}"));
    for run_id in std::iter::once(name.clone()).chain(numbered) {
        let run_file = runs.join(format!("{run_id}.{}", store::EXTENSION));
        match RunWriter::create(&run_file, &RunMeta { run_id, ..meta.clone() }) {
            Err(StoreError::Exists { .. }) => {}
            created => {
                let mut writer = created?;
                let tell = &mut |text: &str| note(observer, text);
                // Never awaited: whoever has it may wait for the directory that this one holds.
                writer.hold(host::lock::lock(&run_file, LockedThing::NewRunFile, IfHeld::Refuse, tell)?);
                return Ok((run_file, writer));
            }
        }
    }
    let runs = host::error::shown(runs);
    Err(RunnerError::Unsafe(format!("`{runs}` already holds {TRIES} runs of this second; start again")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_of_cpu_time_and_speeds_of_the_cpus_are_refused_in_one_run() {
        let plan = |limits: &str| {
            let flags = vec![("cpu_limit".to_owned(), limits.to_owned())];
            plan::from_flags("file", &plan::Overrides::from_flags(flags), 1.0, &crate::catalogue()).expect("flags")
        };
        let refused = check_cpu_limits(&plan("0.5,80%")).expect_err("both").to_string();
        assert!(refused.starts_with("cpu_limit = `0.5` limits CPU time and cpu_limit = `80%` slows"), "{refused}");
        assert!(check_cpu_limits(&plan("0.5,none")).is_ok() && check_cpu_limits(&plan("80%,100%")).is_ok());
    }

    #[test]
    fn room_is_looked_for_where_the_data_of_the_point_will_be() {
        let [dir, other] = [(); 2].map(|()| tempfile::tempdir().expect("a directory"));
        let path = other.path().join("f0").display().to_string();
        let catalogue = crate::catalogue();
        let refused = |flags: &[(&str, &str)]| {
            let flags = flags.iter().map(|(key, text)| (key.to_string(), text.to_string())).collect();
            let plan = plan::from_flags("file", &plan::Overrides::from_flags(flags), 1.0, &catalogue).expect("flags");
            check_space(&plan, dir.path(), &catalogue).expect_err("no disk has so much room").to_string()
        };
        let names = |text: &str, dir: &tempfile::TempDir| text.contains(&format!("`{}`", dir.path().display()));
        let size = ("file_size", "900TiB");
        assert!(names(&refused(&[size]), &dir));
        assert!(names(&refused(&[size, ("path", &path)]), &other));
    }
}
