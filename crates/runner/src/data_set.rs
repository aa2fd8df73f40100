//! Data sets that stay: made, used by runs, verified and removed.
//!
//! In: a trial, the directory that is measured or a server. Out: a set that later runs begin with in place of a load. Limits: a set in a
//! directory is never changed: each run works on a copy of it. A set on a server is used in place, and says when a run has changed its rows.

use crate::ad_hoc::start_alone;
use crate::error::RunnerError;
use crate::events::{RunEvent, RunObserver};
use crate::perform::{data_of, facts, perform, phase_setup, prepare_phase};
use engine::data_set::{InUse, KeptIn, SetUse, check_fits, check_possible, check_version, on_server, other_settings};
use engine::{EngineLocation, Instance};
use host::TargetError;
use host::data_dir::GENERATOR_VERSION;
use host::data_set::{SetDir, SetLock, half_made, no_such_set, open_to_remove, taken_name};
use load::{MonotonicClock, Sink, Stop};
use model::{DataSet, Event, Fact, FoundSet, IntervalRow, Phase, Plan, SetState, Tick, Trial, UsedSet};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

/// Where data sets are looked for.
#[derive(Clone, Copy)]
pub enum SetPlace<'a> {
    /// In the directory that is measured.
    Directory(&'a Path),
    /// On the server of this trial.
    Server(&'a Trial),
}

/// A data set that is to be made.
#[derive(Clone, Copy)]
pub struct SetRequest<'a> {
    /// Its name.
    pub name: &'a str,
    /// What it is made for.
    pub trial: &'a Trial,
    /// The command that asks for it.
    pub command: &'a str,
}

/// Makes a data set in `dir`, or on the server of its trial. What was made is removed if that fails.
pub fn make_data_set(
    request: SetRequest<'_>,
    dir: &Path,
    stop: &Arc<Stop>,
    observer: &mut dyn RunObserver,
) -> Result<DataSet, RunnerError> {
    let trial = request.trial;
    check_possible(trial)?;
    if trial.target.fs.is_some() {
        let text = "a data set stays in the directory itself: leave out `fs`; runs that use it may have one";
        return Err(RunnerError::Unsupported(text.to_owned()));
    }
    let _heeding = engine::heed(stop);
    let making = described(request);
    let mut load = SetLoad { trial, stop, observer, clock: MonotonicClock::start() };
    if let Some(mut sets) = on_server(trial)? {
        refuse_taken(&sets.all()?, request.name)?;
        let (mut instance, made) = load.start(dir, &making)?;
        let kept = instance.keep_data(KeptIn::Server(&made));
        kept.and(instance.stop())?;
        return Ok(made);
    }
    let mut place = SetDir::create(dir, making.clone())?;
    match load.start(dir, &making).and_then(|(instance, made)| move_to(instance, &place).map(|()| made)) {
        Ok(made) => {
            place.seal(made.clone())?;
            Ok(made)
        }
        Err(fault) => Err(match place.remove() {
            Ok(()) => fault,
            Err(left) => fault.with_second(&left.into()),
        }),
    }
}

fn move_to(mut instance: Box<dyn Instance>, place: &SetDir) -> Result<(), RunnerError> {
    let kept = instance.keep_data(KeptIn::Directory(&place.files()));
    Ok(kept.and(instance.stop())?)
}

fn described(request: SetRequest<'_>) -> DataSet {
    DataSet {
        name: request.name.to_owned(),
        trial: request.trial.clone(),
        engine_version: String::new(),
        generator_version: GENERATOR_VERSION,
        plimsoll_version: env!("CARGO_PKG_VERSION").to_owned(),
        rows: None,
        bytes: 0,
        seconds: 0.0,
        made: now(),
        command: request.command.to_owned(),
    }
}

fn now() -> String {
    chrono::DateTime::<chrono::Utc>::from(std::time::SystemTime::now()).format("%Y-%m-%d %H:%M:%S").to_string()
}

fn refuse_taken(sets: &[FoundSet], name: &str) -> Result<(), TargetError> {
    match sets.iter().find(|set| set.name == name).map(|set| &set.state) {
        None => Ok(()),
        Some(SetState::Making) => Err(half_made(name)),
        Some(_) => Err(taken_name(name)),
    }
}

/// The load of a data set, shown as the load of a point is.
struct SetLoad<'a> {
    trial: &'a Trial,
    stop: &'a Arc<Stop>,
    observer: &'a mut dyn RunObserver,
    clock: MonotonicClock,
}

impl SetLoad<'_> {
    /// An instance with the data of the set that is being made, and what the set is then.
    fn start(&mut self, dir: &Path, making: &DataSet) -> Result<(Box<dyn Instance>, DataSet), RunnerError> {
        let began = Instant::now();
        let mut instance = start_alone(self.trial, dir, &[], SetUse::Makes(making))?;
        match self.fill(&mut *instance) {
            Ok(()) => {
                let space = instance.measure_space();
                let made = DataSet {
                    engine_version: version_of(&*instance),
                    rows: space.rows,
                    bytes: space.total.0,
                    seconds: began.elapsed().as_secs_f64(),
                    ..making.clone()
                };
                Ok((instance, made))
            }
            Err(fault) => instance.stop().map_err(RunnerError::from).and(Err(fault)),
        }
    }

    fn fill(&mut self, instance: &mut dyn Instance) -> Result<(), RunnerError> {
        let trial = self.trial;
        instance.check_trial(trial)?;
        self.observer.on(RunEvent::PointBegan { number: 0, trial });
        let Some(loading) = instance.make_loaders(trial)? else {
            let text = format!("workload `{}` makes no data, so that there is nothing to keep", trial.workload.name);
            return Err(RunnerError::Unsupported(text));
        };
        let process = facts::declared_traits(trial, engine::engine_of(trial)).engine.process;
        let (kinds, setup) = (facts::kind_defs(&loading.kinds), phase_setup(trial, loading.kinds.len()));
        self.observer.on(RunEvent::PointOpened { kinds: &kinds, sources: &[], process });
        let (clock, stop) = (self.clock, self.stop);
        perform(loading, &[prepare_phase()], &setup, &clock, stop, self)?;
        Ok(instance.finish_load().map(drop)?)
    }
}

impl Sink for SetLoad<'_> {
    fn begin_phase(&mut self, phase: Phase, _: Tick) {
        self.observer.on(RunEvent::PhaseBegan(phase));
    }

    fn interval(&mut self, rows: Vec<IntervalRow>, events: Vec<Event>, now: Tick) {
        self.observer.on(RunEvent::Interval { rows: &rows, counters: &[], events: &events, at: Some(now) });
    }

    fn end_phase(&mut self, _: Phase, _: Tick, _: u64, _: u64) {}
}

fn version_of(instance: &dyn Instance) -> String {
    let facts = instance.report().facts;
    facts.into_iter().find(|fact| fact.name == "engine.version").map_or(String::new(), |fact| fact.value)
}

/// A complete data set that a trial uses, and that nobody removes meanwhile.
pub(crate) struct OpenSet {
    set: DataSet,
    /// The files of the engine; `None` if the set is on a server.
    files: Option<PathBuf>,
    /// When a run has changed its rows, and then how many there are.
    changed: Option<String>,
    /// Holds the lock of its directory.
    _dir: Option<SetDir>,
}

impl OpenSet {
    /// The set that `trial` uses, if it uses one: in `dir`, or on its server. It has the data that the trial asks for.
    pub fn open(trial: &Trial, dir: &Path) -> Result<Option<OpenSet>, RunnerError> {
        let Some(UsedSet { name, .. }) = &trial.data_set else { return Ok(None) };
        check_possible(trial)?;
        let open = match on_server(trial)? {
            Some(mut sets) => {
                let (set, changed) = complete(sets.all()?, name, sets.server())?;
                OpenSet { set, files: None, changed, _dir: None }
            }
            None => {
                let found = SetDir::open(dir, name, SetLock::Shared)?;
                // What differs is said before what is damaged: it may be the wrong set.
                check_fits(found.set(), trial)?;
                found.check()?;
                found.note_use(&now());
                OpenSet { set: found.set().clone(), files: Some(found.files()), changed: None, _dir: Some(found) }
            }
        };
        check_fits(&open.set, trial)?;
        Ok(Some(open))
    }

    pub fn as_use(&self) -> SetUse<'_> {
        SetUse::Uses(InUse { set: &self.set, files: self.files.as_deref() })
    }

    /// Refuses an instance that does not read the files of the set.
    pub fn check_version(&self, instance: &dyn Instance) -> Result<(), TargetError> {
        // A server has upgraded its own files.
        self.files.as_ref().map_or(Ok(()), |_| check_version(&self.set, &version_of(instance)))
    }

    /// Counts the rows of a set that a run has changed.
    pub fn note_change(&mut self, instance: &mut dyn Instance) -> Result<(), RunnerError> {
        let Some(when) = &self.changed else { return Ok(()) };
        let rows = instance.count_rows()?.unwrap_or_default();
        let made = self.set.rows.unwrap_or_default();
        self.changed = Some(format!("by a run on {when}: {rows} rows, made with {made}"));
        Ok(())
    }

    /// What the user should know of a set that was made with other settings than those of `trial`.
    pub fn warning(&self, trial: &Trial) -> Option<String> {
        let others = other_settings(&self.set, trial);
        (!others.is_empty()).then(|| {
            format!(
                "data set `{}` was made with another value of `{}`; what of it shapes files is as it was made",
                self.set.name,
                others.join("`, `")
            )
        })
    }

    pub fn facts(&self) -> Vec<Fact> {
        let set = [Fact::new("data.set", self.set.name.as_str()), Fact::new("data.set_made", self.set.made.as_str())];
        set.into_iter().chain(self.changed.iter().map(|text| Fact::new("data.set_changed", text.as_str()))).collect()
    }
}

/// The description of the complete set `name` among those on `server`, and when a run has changed it.
fn complete(sets: Vec<FoundSet>, name: &str, server: &str) -> Result<(DataSet, Option<String>), TargetError> {
    let names: Vec<String> = sets.iter().map(|set| set.name.clone()).collect();
    let found = sets.into_iter().find(|set| set.name == name);
    let found = found.ok_or_else(|| no_such_set(name, &format!("on {server}"), &names))?;
    match (found.state, found.set) {
        (SetState::Complete, Some(set)) => Ok((set, found.changed)),
        (SetState::Damaged(why), _) => Err(TargetError::Unsafe(format!("data set `{name}` is damaged: {why}"))),
        _ => Err(half_made(name)),
    }
}

/// Refuses a plan with a data set that is not there, or that has other data than a point asks for.
pub(crate) fn check_sets(plan: &Plan, dir: &Path) -> Result<(), RunnerError> {
    let mut seen = BTreeSet::new();
    for trial in plan.trials.iter().filter(|trial| trial.data_set.is_some()) {
        if !seen.insert(data_of(std::slice::from_ref(trial))) {
            continue;
        }
        let Some(open) = OpenSet::open(trial, dir)? else { continue };
        let def = engine::engine_of(trial);
        let is_installed = def.runs != EngineLocation::Elsewhere && trial.target.programs.is_none();
        let version = (def.version)().ok().filter(|version| version.starts_with(|c: char| c.is_ascii_digit()));
        if let Some(version) = version.filter(|_| is_installed) {
            check_version(&open.set, &version)?;
        }
    }
    Ok(())
}

/// All data sets at `place`.
pub fn data_sets(place: SetPlace<'_>) -> Result<Vec<FoundSet>, RunnerError> {
    match place {
        SetPlace::Directory(dir) => Ok(host::data_set::all(dir)),
        SetPlace::Server(trial) => Ok(on_server(trial)?.map_or(Ok(Vec::new()), |mut sets| sets.all())?),
    }
}

/// What the set `name` in `dir` is; `None` if there is no such set, or nothing can be read of it.
pub fn set_in_dir(dir: &Path, name: &str) -> Option<DataSet> {
    host::data_set::all(dir).into_iter().find(|found| found.name == name)?.set
}

/// Starts the engine on the set `name`, in `dir` or on the server of `place`, and counts its rows. Returns the set.
pub fn verify_data_set(name: &str, place: SetPlace<'_>, dir: &Path) -> Result<DataSet, RunnerError> {
    let set = match place {
        SetPlace::Directory(dir) => SetDir::open(dir, name, SetLock::Shared)?.set().clone(),
        SetPlace::Server(trial) => {
            let mut sets = on_server(trial)?.expect("the trial is of a server");
            complete(sets.all()?, name, sets.server())?.0
        }
    };
    let used = UsedSet { name: name.to_owned(), seed: set.trial.data_seed() };
    let mut trial = Trial { data_set: Some(used), ..set.trial.clone() };
    if let SetPlace::Server(of_server) = place {
        trial.target = of_server.target.clone();
    }
    let open = OpenSet::open(&trial, dir)?.expect("the trial names a set");
    let mut instance = start_alone(&trial, dir, &[], open.as_use())?;
    let rows = open.check_version(&*instance).and_then(|()| {
        instance.make_loaders(&trial)?;
        instance.finish_load()?;
        instance.count_rows()
    });
    let stopped = instance.stop();
    let rows = rows.and_then(|rows| stopped.map(|()| rows))?;
    let made = set.rows.unwrap_or_default();
    match rows {
        Some(rows) if rows != made => {
            let who = open.changed.map_or("somebody else".to_owned(), |when| format!("a run on {when}"));
            Err(TargetError::Unsafe(format!(
                "data set `{name}` has {rows} rows, and was made with {made}: it was changed by {who}; remove it with `plimsoll data drop \
                 {name}` and make it again"
            ))
            .into())
        }
        _ => Ok(set),
    }
}

/// Removes the set `name` at `place`.
pub fn drop_data_set(name: &str, place: SetPlace<'_>) -> Result<(), RunnerError> {
    match place {
        SetPlace::Directory(dir) => Ok(open_to_remove(dir, name)?.remove()?),
        SetPlace::Server(trial) => {
            let mut sets = on_server(trial)?.expect("the trial is of a server");
            let names: Vec<String> = sets.all()?.into_iter().map(|set| set.name).collect();
            if !names.iter().any(|known| known == name) {
                return Err(no_such_set(name, &format!("on {}", sets.server()), &names).into());
            }
            Ok(sets.remove(name)?)
        }
    }
}
