//! Reads a run file back: increments summed, histograms decoded, holes between intervals filled.
//!
//! In: a path. Out: a [`RunData`] for the analysis, or a [`RunHead`] for a list.
//!
//! The file may be hostile, and is read within bounds: 4 GiB of times and 46 days of seconds among them.
//! A phase that its recorder did not end, because it was killed, ends with its last recorded interval.
//! Limits: all of the run is in memory, an hour of seconds with two kinds of operation in 80 to 180 MB (see [`model::run`]);
//! while a histogram is decoded, up to 1 MB more. Reading that hour takes 1 to 2 s.

use crate::budget::Budget;
use crate::cells::{json_cell, read_cell, read_count, read_name, state_of};
use crate::error::{ReadFault, StoreError};
use crate::open::{self, RunFile};
use crate::point_reader::{each_row, points_from};
use model::{Fact, Nanos, PointData, PointState, RunData, RunMeta, Tick, Trial};
use std::path::Path;

/// What a list of runs shows, without the measurements.
#[derive(Clone, Debug, PartialEq)]
pub struct RunHead {
    /// What is known of the run itself.
    pub meta: RunMeta,
    /// Its points in the order in which they were measured.
    pub points: Vec<PointHead>,
}

/// A point without its measurements.
#[derive(Clone, Debug, PartialEq)]
pub struct PointHead {
    /// Its number in the run, from 1.
    pub id: u32,
    pub state: PointState,
    /// Why it did not complete, for people.
    pub error: Option<String>,
    /// The engine by name, or the path.
    pub engine: String,
    /// The workload by name.
    pub workload: String,
    pub clients: u32,
    /// Operations that one client kept in flight.
    pub depth: u32,
    /// Which repetition, from 1.
    pub repeat: u32,
    pub trial: Trial,
    /// What the engine reported of itself.
    pub facts: Vec<Fact>,
}

/// When a point was at work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PointTimes {
    /// Its number in the run, from 1.
    pub point: u32,
    /// When its first phase began.
    pub began: Tick,
    /// How long its phases took, all together.
    pub phases: Nanos,
    /// How long it ran, its warmup left out.
    pub run: Nanos,
    /// Whether data was made for it.
    pub makes_data: bool,
}

/// Reads the whole run.
pub fn read(path: &Path) -> Result<RunData, StoreError> {
    let run = open::open(path)?;
    read_run(&run).map_err(|fault| fault.at(path))
}

/// Reads the points from number `first` on, of a run that this program records: it is not checked for damage.
pub fn read_points_from(path: &Path, first: u32) -> Result<Vec<PointData>, StoreError> {
    let run = open::open(path)?;
    points_from(&run, first).map_err(|fault| fault.at(path))
}

/// Reads what a list shows: cheap, and blind to damage in the measurements.
pub fn read_meta(path: &Path) -> Result<RunHead, StoreError> {
    let run = open::open(path)?;
    read_head(&run).map_err(|fault| fault.at(path))
}

/// Reads when the points were at work whose phases all ended, in the order of their numbers: as cheap and as blind as [`read_meta`].
pub fn read_point_times(path: &Path) -> Result<Vec<PointTimes>, StoreError> {
    const TIMES: &str = "SELECT point, min(start_ns), sum(max(end_ns - start_ns, 0)), max(phase = 'prepare'),
         sum(max(end_ns - start_ns, 0) * (phase = 'run')) FROM phase GROUP BY point HAVING count(*) = count(end_ns) ORDER BY point";
    let run = open::open(path)?;
    let mut times = Vec::new();
    let read = each_row(&run, &mut Budget::default(), (TIMES, &[]), |_, row| {
        let (began, phases) = (read_count(row, 1)?, read_count(row, 2)?);
        let makes_data = read_cell::<u32>(row, 3)? == 1;
        let (phases, run) = (Nanos(phases), Nanos(read_count(row, 4)?));
        times.push(PointTimes { point: read_cell(row, 0)?, began: Tick(began), phases, run, makes_data });
        Ok(())
    });
    read.map(|()| times).map_err(|fault| fault.at(path))
}

/// Each point, and how long it took: from the end of the one before it, or from when its session went on, to its own end. What a recorder that was
/// killed did after its last row is not known.
pub fn read_wall_times(path: &Path) -> Result<Vec<(u32, Nanos)>, StoreError> {
    const TIMES: &str = "SELECT id, ifnull(began, 0), max(ifnull(ended, 0), ifnull(reached, 0)), gap FROM point
         LEFT JOIN (SELECT point AS of_phases, min(start_ns) AS began, max(max(start_ns, ifnull(end_ns, 0))) AS ended
             FROM phase GROUP BY point) ON of_phases = id
         LEFT JOIN (SELECT point AS of_intervals, max(start_ns + length_ns) AS reached
             FROM interval GROUP BY point) ON of_intervals = id
         LEFT JOIN (SELECT point AS of_gaps, min(at_ns) AS gap
             FROM event WHERE kind = 'clock_gap' GROUP BY point) ON of_gaps = id
         ORDER BY id";
    let run = open::open(path)?;
    let (mut times, mut before) = (Vec::new(), 0);
    let read = each_row(&run, &mut Budget::default(), (TIMES, &[]), |_, row| {
        let (began, end) = (read_count(row, 1)?, read_count(row, 2)?);
        // A session that goes on says so before the first phase of its first point.
        let gap: Option<i64> = read_cell(row, 3)?;
        let resumed = gap.and_then(|at| u64::try_from(at).ok()).filter(|at| *at <= began);
        times.push((read_cell(row, 0)?, Nanos(end.saturating_sub(resumed.unwrap_or(before)))));
        before = end.max(before);
        Ok(())
    });
    read.map(|()| times).map_err(|fault| fault.at(path))
}

fn read_head(run: &RunFile) -> Result<RunHead, ReadFault> {
    let meta = meta_of(run)?;
    let mut points = Vec::new();
    const POINTS: &str =
        "SELECT id, state, error, target, workload, clients, depth, repeat, trial, facts FROM point ORDER BY id";
    each_row(run, &mut Budget::default(), (POINTS, &[]), |_, row| {
        points.push(PointHead {
            id: read_cell(row, 0)?,
            state: state_of(row, 1)?,
            error: read_cell(row, 2)?,
            engine: read_name(row, 3)?,
            workload: read_name(row, 4)?,
            clients: read_cell(row, 5)?,
            depth: read_cell(row, 6)?,
            repeat: read_cell(row, 7)?,
            trial: json_cell(row, 8, "point.trial")?,
            facts: json_cell(row, 9, "point.facts")?,
        });
        Ok(())
    })?;
    Ok(RunHead { meta, points })
}

fn read_run(run: &RunFile) -> Result<RunData, ReadFault> {
    check_tables(run)?;
    let meta = meta_of(run)?;
    Ok(RunData { meta, points: points_from(run, 0)? })
}

/// Lets SQLite check each table: a page used twice would make rows without end.
fn check_tables(run: &RunFile) -> Result<(), ReadFault> {
    for table in open::expected_tables()?.keys() {
        if !open::has_table(&run.db, table)? {
            continue; // the file was opened, so it may lack it
        }
        let mut faults: Vec<String> = Vec::new();
        run.db.pragma(None, "quick_check", table, |row| {
            faults.push(row.get(0)?);
            Ok(())
        })?;
        // One row may hold several faults, each on a line of its own below a heading.
        let lines = faults.iter().flat_map(|fault| fault.lines()).filter(|line| !line.starts_with("***")).count();
        match (faults.first().map(String::as_str), lines) {
            (Some("ok"), _) => {}
            (Some(_), 1) => return Err(ReadFault::wrong(format!("SQLite's check found an error in table `{table}`"))),
            (Some(_), lines) => {
                return Err(ReadFault::wrong(format!("SQLite's check found {lines} errors in table `{table}`")));
            }
            (None, _) => return Err(ReadFault::wrong(format!("table `{table}` cannot be checked"))),
        }
    }
    Ok(())
}

/// The rows of `meta`.
const META_ROWS: [&str; 6] = ["run_id", "started_unix_ms", "plimsoll_version", "plan", "environment", "machine"];

/// The fields of the meta data, each a row of its own.
pub(crate) fn meta_of(run: &RunFile) -> Result<RunMeta, ReadFault> {
    let mut fields = serde_json::Map::new();
    each_row(run, &mut Budget::default(), ("SELECT key, value FROM meta", &[]), |_, row| {
        fields.insert(read_cell(row, 0)?, json_cell(row, 1, "meta.value")?);
        Ok(())
    })?;
    if let Some(missing) = META_ROWS.iter().find(|row| !fields.contains_key(**row)) {
        return Err(ReadFault::wrong(format!("table `meta` has no row `{missing}`")));
    }
    let meta = serde_json::from_value(fields.into());
    meta.map_err(|error| ReadFault::wrong(format!("table `meta`: {error}")))
}
