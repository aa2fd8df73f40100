//! Estimates before a run: how much space a trial needs, and how much it writes.
//!
//! In: a trial, or the steps of a sequence on one data set. Out: the most space that it needs while it runs, and the bytes that it
//! writes if they can be known. Limits: an estimate, to refuse what cannot fit. The speed of a closed loop is not known before the
//! run; the caller asks [`host::safety::room_left`] during it.

use crate::engine::{EngineLocation, workload_of};
use crate::registry::{engine_of, family_of};

use host::privileged::volume;
use model::{Arrivals, Bytes, Family, Nanos, Pacing, Phases, Trial};
use workload::{ProgramInput, SequenceState, SqlLoad};

/// Of a large table a run changes at most so much: it splits pages, and leaves versions of rows that nobody needs any more.
const CHANGED_MOST: Bytes = Bytes(4 << 30);
/// A closed loop without think time is taken to do this many operations per second: more than any engine here commits, also
/// without a sync.
const OPS_PER_S: f64 = 100_000.0;
/// A transaction of order entry is some 28 statements: no server on one machine enters more of them in a second.
const ORDER_TRANSACTIONS_PER_S: f64 = 20_000.0;
/// What rows take that are loaded in the order of their keys, as a multiple of the estimate for a B-tree: InnoDB took 1.13 and PostgreSQL 1.23
/// times as much, and SQLite 0.87.
const ORDERED_LOAD: f64 = 1.4;
/// And its data to grow no faster than this: above, the clients' own CPU time for making and packing rows is the limit.
const GROWTH_BYTES_PER_S: f64 = 100e6;

/// The most space that `trial` takes: its data, what warmup and run add to it, and the engine's logs and copies; or the image of
/// the file system that is made for it.
pub fn disk_bytes(trial: &Trial) -> Bytes {
    chain_bytes(std::slice::from_ref(trial))
}

/// The same of all steps of a sequence, which go on with one data set: a trial alone, or several.
pub fn chain_bytes(steps: &[Trial]) -> Bytes {
    image_bytes(steps).unwrap_or_else(|| peak_bytes(steps))
}

/// The most space that `steps` take besides their data, which is a copy of a data set of `set` bytes.
pub fn bytes_beside_set(steps: &[Trial], set: Bytes) -> Bytes {
    let grown: f64 = growing_steps(steps).iter().map(|step| grown_bytes(step)).sum();
    steps.iter().map(|step| run_bytes(step, set, Bytes(grown as u64))).max().unwrap_or_default()
}

/// The size of the image of the file system that is made for `steps`; `None` if none is.
pub fn image_bytes(steps: &[Trial]) -> Option<Bytes> {
    let fs = steps.first()?.target.fs?;
    Some(fs.size.unwrap_or_else(|| volume::image_for(fs.kind, peak_bytes(steps))))
}

/// What plimsoll writes to make the files of `trial`, all passes over them included; `None` for other engines, which write more than
/// they are given.
pub fn made_files_bytes(trial: &Trial) -> Option<Bytes> {
    let passes = u64::from(trial.phases.precondition().max(1));
    (family_of(trial) == Family::Io).then(|| Bytes(peak_bytes(std::slice::from_ref(trial)).0.saturating_mul(passes)))
}

/// The data of `trial` when it is made, with the engine's logs and copies.
pub fn data_bytes(trial: &Trial) -> Bytes {
    let data = (workload_of(trial).data_bytes)(&trial.workload.params);
    on_all_instances(trial, data, Bytes(0))
}

/// What all instances of `trial` take of which each holds so much `data` from the load, and `grown` bytes from the run.
fn on_all_instances(trial: &Trial, data: Bytes, grown: Bytes) -> Bytes {
    Bytes(with_copy(trial, engine_peak(trial, data, grown)).0.saturating_mul(u64::from(trial.target.instances)))
}

/// The most that the engine of `trial` takes of them. Tables are loaded in the order of their keys, so their pages are full and no other space
/// is needed at the end.
fn engine_peak(trial: &Trial, data: Bytes, grown: Bytes) -> Bytes {
    let whole = engine_bytes(trial, data.0.saturating_add(grown.0));
    let loaded = (data.0 as f64 * ORDERED_LOAD) as u64;
    let ordered = Bytes(run_bytes(trial, data, grown).0.saturating_add(loaded));
    // Whether they are is asked last: it takes the whole program of the workload.
    if ordered < whole && matches!(sql_load(trial), Some(SqlLoad::Rows { .. })) { ordered } else { whole }
}

/// What a run of `trial` takes besides its `data`, to which it adds `grown` bytes.
fn run_bytes(trial: &Trial, data: Bytes, grown: Bytes) -> Bytes {
    let changed = if writes_in_run(trial) { data.min(CHANGED_MOST) } else { Bytes(0) };
    engine_bytes(trial, grown.0.saturating_add(changed.0))
}

/// What the engine of `trial` makes of so many bytes of rows.
fn engine_bytes(trial: &Trial, rows: u64) -> Bytes {
    (engine_of(trial).disk_peak)(Bytes(rows), &trial.target.params)
}

/// How the data of `trial` is made before its run; `None` if it is not, or not in tables.
fn sql_load(trial: &Trial) -> Option<SqlLoad> {
    if family_of(trial) != Family::Sql {
        return None;
    }
    workload_of(trial).sql_program(&ProgramInput::from_trial(trial, &SequenceState::default()))?.load
}

/// Whether `trial` needs space for data at all, wherever that is: kernels of the CPU do not.
pub fn keeps_data(trial: &Trial) -> bool {
    engine_of(trial).runs == EngineLocation::Elsewhere || engine_bytes(trial, 1) > Bytes(0)
}

/// A copy of the data as it was loaded may take as much again.
fn with_copy(trial: &Trial, peak: Bytes) -> Bytes {
    let restores = trial.target.params.0.get("between").is_some_and(|word| word.to_string() == "restore");
    if restores { Bytes(peak.0.saturating_mul(2)) } else { peak }
}

fn peak_bytes(steps: &[Trial]) -> Bytes {
    let Some(trial) = steps.first() else { return Bytes(0) };
    // An existing file or device is measured as it is: nothing is made.
    if trial.target.path.as_ref().is_some_and(|path| path.exists()) {
        return Bytes(0);
    }
    let workload = workload_of(trial);
    let growing = growing_steps(steps);
    // A step whose data is made before its run finds the data if a step before it has it.
    let making = growing.iter().enumerate().filter(|(nth, step)| *nth == 0 || sql_load(step).is_none());
    let data = making.map(|(_, step)| (workload.data_bytes)(&step.workload.params).0).fold(0, u64::saturating_add);
    let grown: f64 = growing.iter().map(|step| grown_bytes(step)).sum();
    // What the run adds is that of all instances together.
    on_all_instances(trial, Bytes(data), Bytes((grown / f64::from(trial.target.instances)) as u64))
}

/// The steps that add to the data. A step that deletes as many rows as it inserts adds none to those of the steps before it. The first
/// has none before it: the rows that it deletes are its own, and an engine frees their space later (purge, compaction, vacuum).
fn growing_steps(steps: &[Trial]) -> Vec<&Trial> {
    let growing = steps.iter().enumerate().filter(|(nth, step)| {
        let rows = (workload_of(step).traits)(&step.workload.params).rows;
        *nth == 0 || !rows.is_some_and(|rows| rows.deletes)
    });
    growing.map(|(_, step)| step).collect()
}

/// What warmup and run of `trial` add to its data.
fn grown_bytes(trial: &Trial) -> f64 {
    let growth = (workload_of(trial).growth_bytes_per_op)(&trial.workload.params);
    growth.0 as f64 * ops_at_most(trial, growth)
}

/// The most bytes that warmup and run of `trial` write, without making its data; `None` if that cannot be known: an engine
/// writes more than it is given, and a closed loop without `ops_max` writes as much as it can.
pub fn written_bytes_at_most(trial: &Trial) -> Option<Bytes> {
    let workload = workload_of(trial);
    if engine_of(trial).scripted {
        return Some(Bytes(0));
    }
    // The file at the path is overwritten before the run.
    if trial.target.path.is_some() && trial.phases.precondition() > 1 {
        return None;
    }
    let sequence = SequenceState::default();
    let input = ProgramInput::from_trial(trial, &sequence);
    let (writes, block) = match family_of(trial) {
        Family::Io => {
            let program = (workload.io?)(&input);
            (program.writes, Some(program.block))
        }
        Family::Sql => (workload.sql_program(&input)?.writes, None),
        Family::Kv => ((workload.kv?)(&input).ok()?.writes, None),
        Family::Task(_) => ((workload.task?)(&input).writes, None),
        Family::Connection => ((workload.traits)(input.params).hold.is_some(), None),
    };
    match (writes, block) {
        (false, _) => Some(Bytes(0)),
        (true, Some(block)) => Some(Bytes(block.0.saturating_mul(ops_counted(trial)?))),
        (true, None) => None,
    }
}

/// The most operations of warmup and run, if they are known: a count ends the run, or they fall due at equal distances.
fn ops_counted(trial: &Trial) -> Option<u64> {
    let Phases { warmup, run, ops_max, .. } = trial.phases;
    // A warmup has a length and no count.
    let counted = ops_max.filter(|_| warmup == Nanos(0));
    let due = match trial.load.pacing {
        Pacing::Open { arrivals: Arrivals::Constant { per_s } } => {
            Some((per_s * (warmup.as_secs_f64() + run.as_secs_f64())).ceil() as u64)
        }
        _ => None,
    };
    counted.into_iter().chain(due).min()
}

/// Whether `trial` writes, apart from making its data.
pub fn writes_in_run(trial: &Trial) -> bool {
    written_bytes_at_most(trial) != Some(Bytes(0))
}

/// How many operations the run of `trial` has on this host, if it ends by itself; 0 if other hosts perform all of them.
pub fn own_run_ops(trial: &Trial) -> Option<u64> {
    workload_of(trial).own_run_ops(&ProgramInput::from_trial(trial, &SequenceState::default()))
}

/// The most operations that the clients of `trial` do in a second if nothing holds them up but the engine and their own pauses.
fn closed_ops_per_s(trial: &Trial) -> f64 {
    let Some(orders) = (workload_of(trial).traits)(&trial.workload.params).orders else { return OPS_PER_S };
    let paused = orders.most_per_client_and_second().map(|each| each * f64::from(trial.all_clients()));
    paused.map_or(ORDER_TRANSACTIONS_PER_S, |per_s| per_s.min(ORDER_TRANSACTIONS_PER_S))
}

/// Operations of warmup and run. An open loop and think time bound them, and so does a run that ends itself; a closed loop is
/// guessed.
fn ops_at_most(trial: &Trial, growth: Bytes) -> f64 {
    let per_s = match trial.load.pacing {
        Pacing::Open { arrivals } => arrivals.per_s(),
        Pacing::Closed { think } => {
            let guessed = closed_ops_per_s(trial).min(GROWTH_BYTES_PER_S / (growth.0 as f64).max(1.0));
            guessed.min(f64::from(trial.all_clients()) / think.as_secs_f64())
        }
    };
    let run = per_s * trial.phases.run.as_secs_f64();
    let own = own_run_ops(trial);
    let own = own.map(|ops| ops.saturating_mul(u64::from(trial.target.instances)));
    let run = [trial.phases.ops_max, own].into_iter().flatten().fold(run, |run, most| run.min(most as f64));
    per_s * trial.phases.warmup.as_secs_f64() + run
}
