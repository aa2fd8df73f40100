//! Reads a run while another process records it: where it is, and its last intervals.
//!
//! In: the path of a run file that is being written, and a directory for a copy. Out: a [`LiveRun`]. The recorder is not held up: the file and
//! its log are copied as they are, and the copy is read. What it costs grows with the file, so the caller decides how often.
//!
//! Limits: files up to [`LIVE_BYTES_MAX`]. Tables are not checked for damage as a report does.

use crate::budget::Budget;
use crate::cells::{json_cell, phase_of, read_cell, read_count, state_of};
use crate::error::{ReadFault, StoreError};
use crate::hdr::Decoder;
use crate::open::{self, RunFile};
use crate::point_reader::{each_row, times_of, watched_point};
use crate::reader::meta_of;
use model::{LiveInterval, LivePhase, LivePoint, LiveRun, Nanos, OpClass, Phase, Tick, Times};
use rustix::process::{Flock, FlockOffsetType, FlockType, fcntl_getlk};
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::Path;

/// Copies are kept in memory if the caller's directory is, so they are small.
pub const LIVE_BYTES_MAX: u64 = 256 << 20;
/// SQLite locks these bytes of a database while it is open (<https://www.sqlite.org/src/file/src/os.h>, `SHARED_FIRST`).
const SHARED_FIRST: u64 = 0x4000_0000 + 2;
const SHARED_BYTES: u64 = 510;

/// Whether another process has the run file open to record, as far as its locks show. What cannot be opened is not being recorded.
pub fn is_being_recorded(path: &Path) -> bool {
    // A finished run has no log: most files need no look at their locks.
    if !open::has_log(path) {
        return false;
    }
    let wanted = Flock {
        start: SHARED_FIRST,
        length: SHARED_BYTES,
        pid: None,
        typ: FlockType::WriteLock,
        offset_type: FlockOffsetType::Set,
    };
    let held = model::open_regular(path).ok().and_then(|file| fcntl_getlk(&file, &wanted).ok().flatten());
    held.is_some()
}

/// Reads the run and at most the last `most` intervals of its newest phase, by a copy below `scratch`, which is removed again.
///
/// # Errors
/// If the file is no run of this format, is damaged, or is too large to be copied.
pub fn read_live(path: &Path, scratch: &Path, most: u32) -> Result<LiveRun, StoreError> {
    let run = open::open_copied(path, scratch, LIVE_BYTES_MAX)?;
    live_run(&run, most).map_err(|fault| fault.at(path))
}

fn live_run(run: &RunFile, most: u32) -> Result<LiveRun, ReadFault> {
    let mut budget = Budget::default();
    let meta = meta_of(run)?;
    let points = live_points(run, &mut budget)?;
    let phase = match points.last() {
        Some(point) => newest_phase(run, &mut budget, point.id, most)?,
        None => None,
    };
    let watched = match (points.last(), &phase) {
        (Some(point), Some(phase)) => watched_point(run, point.id, phase)?,
        _ => None,
    };
    Ok(LiveRun { meta, points, phase, watched })
}

fn live_points(run: &RunFile, budget: &mut Budget) -> Result<Vec<LivePoint>, ReadFault> {
    let mut sums = sums_of_points(run, budget)?;
    let mut points = Vec::new();
    const POINTS: &str = "SELECT id, state, error, trial FROM point ORDER BY id";
    each_row(run, budget, (POINTS, &[]), |_, row| {
        let id = read_cell(row, 0)?;
        let PointSums { ops, failed, measured } = sums.remove(&id).unwrap_or_default();
        let (state, error) = (state_of(row, 1)?, read_cell(row, 2)?);
        points.push(LivePoint { id, state, error, trial: json_cell(row, 3, "point.trial")?, ops, failed, measured });
        Ok(())
    })?;
    Ok(points)
}

/// What was done in the run phase of a point.
#[derive(Default)]
struct PointSums {
    ops: u64,
    failed: u64,
    measured: Nanos,
}

fn sums_of_points(run: &RunFile, budget: &mut Budget) -> Result<BTreeMap<u32, PointSums>, ReadFault> {
    let mut sums: BTreeMap<u32, PointSums> = BTreeMap::new();
    const OPS: &str =
        "SELECT i.point, i.ok, i.failed FROM interval i JOIN kind k ON k.point = i.point AND k.kind = i.kind
                       WHERE i.phase = 'run' AND k.background = 0 AND k.class != ?1";
    let mut query = run.db.prepare(OPS)?;
    let mut rows = query.query([word_of(&OpClass::Step)])?;
    while let Some(row) = rows.next()? {
        budget.count_row()?;
        let sum = sums.entry(read_cell(row, 0)?).or_default();
        budget.add_to(&mut sum.ops, read_count(row, 1)?)?;
        budget.add_to(&mut sum.failed, read_count(row, 2)?)?;
    }
    const LENGTHS: &str = "SELECT point, max(length_ns) FROM interval WHERE phase = 'run' GROUP BY point, interval";
    each_row(run, budget, (LENGTHS, &[]), |budget, row| {
        let measured = &mut sums.entry(read_cell(row, 0)?).or_default().measured;
        budget.add_to(&mut measured.0, read_count(row, 1)?)
    })?;
    Ok(sums)
}

/// The word of a class in the file.
fn word_of(class: &impl Serialize) -> String {
    serde_json::to_value(class).ok().and_then(|word| word.as_str().map(str::to_owned)).unwrap_or_default()
}

/// The phase of `point` that began last, with its last intervals.
fn newest_phase(run: &RunFile, budget: &mut Budget, point: u32, most: u32) -> Result<Option<LivePhase>, ReadFault> {
    let mut newest: Option<(Phase, Tick)> = None;
    const PHASES: &str = "SELECT point, phase, start_ns FROM phase WHERE point = ?1";
    each_row(run, budget, (PHASES, &[point]), |_, row| {
        let (phase, start) = (phase_of(row)?, Tick(read_count(row, 2)?));
        newest = newest.filter(|(_, known)| *known > start).or(Some((phase, start)));
        Ok(())
    })?;
    let Some((phase, start)) = newest else { return Ok(None) };
    Ok(Some(LivePhase { phase, start, intervals: last_intervals(run, budget, (point, phase), most)? }))
}

/// An interval, and its times as far as they are read.
struct OpenInterval {
    interval: LiveInterval,
    times: Times,
}

fn last_intervals(
    run: &RunFile,
    budget: &mut Budget,
    (point, phase): (u32, Phase),
    most: u32,
) -> Result<Vec<LiveInterval>, ReadFault> {
    let mut found: BTreeMap<u32, OpenInterval> = BTreeMap::new();
    const INTERVALS: &str = "SELECT i.interval, i.start_ns, i.length_ns, i.ok, i.failed, coalesce(k.background, 0) = 0 AND coalesce(k.class, '') != ?3
        FROM interval i LEFT JOIN kind k ON k.point = i.point AND k.kind = i.kind
        WHERE i.point = ?1 AND i.phase = ?2
          AND i.interval > (SELECT max(interval) FROM interval WHERE point = ?1 AND phase = ?2) - ?4";
    let (word, step) = (phase.as_str(), word_of(&OpClass::Step));
    let mut query = run.db.prepare(INTERVALS)?;
    let mut rows = query.query(rusqlite::params![point, word, step, most])?;
    while let Some(row) = rows.next()? {
        budget.count_row()?;
        let (start, length) = (Tick(read_count(row, 1)?), Nanos(read_count(row, 2)?));
        let empty = || OpenInterval {
            interval: LiveInterval { start, length, ops: 0, failed: 0, p99_ns: None },
            times: Times::default(),
        };
        let open = found.entry(read_cell(row, 0)?).or_insert_with(empty);
        if read_cell(row, 5)? {
            budget.add_to(&mut open.interval.ops, read_count(row, 3)?)?;
            budget.add_to(&mut open.interval.failed, read_count(row, 4)?)?;
        }
    }
    add_times(run, budget, (point, phase), &mut found)?;
    Ok(found.into_values().map(closed).collect())
}

fn closed(open: OpenInterval) -> LiveInterval {
    let p99_ns = (!open.times.is_empty()).then(|| open.times.value_at_quantile(0.99));
    LiveInterval { p99_ns, ..open.interval }
}

/// Reads the response times of the intervals in `found`.
fn add_times(
    run: &RunFile,
    budget: &mut Budget,
    (point, phase): (u32, Phase),
    found: &mut BTreeMap<u32, OpenInterval>,
) -> Result<(), ReadFault> {
    let Some(first) = found.keys().next().copied() else { return Ok(()) };
    // The first columns are those that a whole run is read by.
    const TIMES: &str = "SELECT h.point, h.phase, h.interval, h.kind, h.what, h.count, h.hdr, h.sum_ns, h.max_ns
        FROM histogram h JOIN kind k ON k.point = h.point AND k.kind = h.kind
        WHERE h.point = ?1 AND h.phase = ?2 AND h.interval >= ?3 AND h.what != 'service' AND k.background = 0 AND k.class != ?4";
    let mut decoder = Decoder::new();
    let mut query = run.db.prepare(TIMES)?;
    let mut rows = query.query(rusqlite::params![point, phase.as_str(), first, word_of(&OpClass::Step)])?;
    while let Some(row) = rows.next()? {
        budget.count_row()?;
        let times = times_of(&mut decoder, row)?;
        budget.add_to(&mut 0, times.len())?;
        if let Some(open) = found.get_mut(&read_cell(row, 2)?) {
            open.times.add(&times);
        }
    }
    Ok(())
}
