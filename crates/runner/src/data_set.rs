//! Data sets that stay: made, verified and removed. Runs use them by [`crate::open_set`].
//!
//! In: a trial, the directory that is measured or a server. Out: a set that later runs begin with in place of a load. Limits: a set in a
//! directory is never changed: each run works on a copy of it. A set on a server is used in place, and says when a run has changed its rows.

use crate::ad_hoc::start_alone;
use crate::error::RunnerError;
use crate::events::{RunEvent, RunObserver};
use crate::open_set::{OpenSet, complete, now, version_of};
use crate::perform::{facts, perform, phase_setup, prepare_phase};
use crate::room::check_room;
use engine::Instance;
use engine::data_set::{KeptIn, SetUse};
use engine::set_fit::{check_possible, on_server};
use host::TargetError;
use host::data_dir::GENERATOR_VERSION;
use host::data_set::{SetDir, SetLock, half_made, no_such_set, open_to_remove, taken_name};
use load::{MonotonicClock, Sink, Stop};
use model::{DataSet, Event, FoundSet, IntervalRow, Phase, SetState, Tick, Trial, UsedSet};
use std::path::Path;
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

/// All data sets at `place`.
pub fn data_sets(place: SetPlace<'_>) -> Result<Vec<FoundSet>, RunnerError> {
    match place {
        SetPlace::Directory(dir) => Ok(host::data_set::all(dir)),
        SetPlace::Server(trial) => Ok(on_server(trial)?.map_or(Ok(Vec::new()), |mut sets| sets.all())?),
    }
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
    // The engine works on a copy.
    check_room(std::slice::from_ref(&trial), dir)?;
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
            let who = open.changed().map_or("somebody else".to_owned(), |when| format!("a run on {when}"));
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
