//! Imported points become a run file.
//!
//! In: points. Out: a run file in the directory of run files. Limits: the file is written under another name and gets its own when it is
//! whole; a file of that name is never overwritten. Points follow one another on the time axis of the run, also if they ran side by side.

use crate::error::ImportError;
use crate::point::{FILE_ENGINE, ImportedKind, ImportedPoint, UNKNOWN_ENGINE};
use model::{Arrivals, Generator, Params};
use model::{
    Catalogue, Fact, IntervalRow, KindDef, KindRow, Load, Machine, Nanos, OnError, OpKind, Pacing, ParamOwner,
    ParamRole, Phase, Phases, Plan, PointParam, PointState, PointTraits, RunMeta, TargetSpec, Tick, Times, Trial,
    WorkTraits, WorkloadSpec,
};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;
use store::{Batch, NewPoint, RunWriter, StoreError};

/// The longest name of a run.
const NAME_CHARS_MAX: usize = 100;
/// The distance between two points on the time axis of the run.
const BETWEEN_POINTS: Nanos = Nanos::from_secs(1);
/// So many intervals are written at once.
const BATCH: usize = 1_000;
/// A length is that of a plan if it is off by this share at most.
const LENGTH_ROUNDING: f64 = 0.02;

/// What was read from files, ready to be written.
#[derive(Debug)]
pub struct ImportedRun {
    points: Vec<ImportedPoint>,
    trials: Vec<Trial>,
    declared: Vec<Declared>,
    files: Vec<String>,
    started_unix_ms: u64,
}

/// What the catalogue says of a point.
#[derive(Debug)]
struct Declared {
    params: Vec<PointParam>,
    /// How people call what was measured.
    spoken: Option<String>,
}

impl ImportedRun {
    pub(crate) fn new(points: Vec<ImportedPoint>, files: &[PathBuf], catalogue: &Catalogue) -> ImportedRun {
        let mut trials: Vec<Trial> = Vec::new();
        for point in &points {
            let trial = trial_of(point);
            let repeats = trials.iter().filter(|known| Trial { repeat: 1, ..(*known).clone() } == trial).count();
            trials.push(Trial { repeat: u32::try_from(repeats).unwrap_or(u32::MAX - 1) + 1, ..trial });
        }
        let declared = trials.iter().zip(&points).map(|(trial, point)| Declared {
            params: params_of(trial, catalogue),
            spoken: spoken_engine(point, catalogue),
        });
        let declared = declared.collect();
        let started_unix_ms = started(&points, files);
        ImportedRun {
            trials,
            declared,
            files: files
                .iter()
                .map(|path| path.file_name().unwrap_or_default().to_string_lossy().into_owned())
                .collect(),
            started_unix_ms,
            points,
        }
    }

    /// What was imported, one point for each measurement of the program, in the order of the files.
    pub fn points(&self) -> &[ImportedPoint] {
        &self.points
    }

    /// What of the outputs was left out, in one line each, with the number of its point.
    pub fn notes(&self) -> Vec<String> {
        let numbered = (1..).zip(&self.points);
        numbered.flat_map(|(nth, point)| point.left_out().map(move |what| format!("point {nth}: {what}"))).collect()
    }

    /// The name of the run if none is given: when it began, and the programs.
    pub fn usual_name(&self) -> String {
        let seconds = i64::try_from(self.started_unix_ms / 1_000).unwrap_or(0);
        let started = chrono::DateTime::from_timestamp(seconds, 0).unwrap_or_default();
        format!("{}-{}", started.format("%Y%m%d-%H%M%S"), self.programs().join("-"))
    }

    /// The names of the programs, without versions.
    fn programs(&self) -> Vec<&'static str> {
        let mut names: Vec<&'static str> = self.points.iter().map(|point| point.program_name).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// Writes the run file `name` into the directory `runs`, which is made if it does not exist. Returns the path of the file.
    ///
    /// # Errors
    /// If there is a file of that name, if the name is none of a file, or if the file cannot be written.
    pub fn write(&self, runs: &Path, name: &str) -> Result<PathBuf, ImportError> {
        check_name(name)?;
        let cannot = |cause| ImportError::Directory { path: runs.to_owned(), cause };
        let path = runs.join(format!("{name}.{}", store::EXTENSION));
        if path.symlink_metadata().is_ok() {
            return Err(StoreError::Exists { path }.into());
        }
        fs::create_dir_all(runs).map_err(cannot)?;
        let folder = tempfile::Builder::new().prefix(".import-").tempdir_in(runs).map_err(cannot)?;
        let unfinished = folder.path().join(format!("{name}.{}", store::EXTENSION));
        let mut writer = RunWriter::create(&unfinished, &self.meta(name))?;
        self.write_points(&mut writer)?;
        writer.finish()?;
        match tempfile::TempPath::try_from_path(unfinished).map_err(cannot)?.persist_noclobber(&path) {
            Ok(()) => {}
            Err(error) if error.error.kind() == std::io::ErrorKind::AlreadyExists => {
                return Err(StoreError::Exists { path }.into());
            }
            Err(error) => return Err(cannot(error.error)),
        }
        File::open(runs).and_then(|folder| folder.sync_all()).map_err(cannot)?;
        Ok(path)
    }

    fn meta(&self, name: &str) -> RunMeta {
        let mut programs: Vec<&str> = self.points.iter().map(|point| point.program.as_str()).collect();
        programs.sort_unstable();
        programs.dedup();
        RunMeta {
            run_id: name.to_owned(),
            started_unix_ms: self.started_unix_ms,
            plimsoll_version: env!("CARGO_PKG_VERSION").into(),
            plan: Plan {
                trials: self.trials.clone(),
                ..Plan::new(
                    format!("import-{}", self.programs().join("-")),
                    format!("imported from {}", programs.join(", ")),
                )
            },
            environment: vec![Fact::new("imported.files", self.files.join(", "))],
            machine: Machine::default(),
        }
    }

    fn write_points(&self, writer: &mut RunWriter) -> Result<(), StoreError> {
        let mut start = Tick(0);
        for ((point, trial), declared) in self.points.iter().zip(&self.trials).zip(&self.declared) {
            write_point(writer, point, trial, declared, start)?;
            let whole = u64::try_from(rows_of(point).len()).unwrap_or(0).saturating_mul(interval_of(point).0);
            start = start + Nanos(whole.max(point.length.0)) + BETWEEN_POINTS;
        }
        Ok(())
    }
}

/// A name that is one of a file in any directory.
fn check_name(name: &str) -> Result<(), ImportError> {
    let begins = name.starts_with(|c: char| c.is_ascii_alphanumeric());
    if begins && name.len() <= NAME_CHARS_MAX && name.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c)) {
        Ok(())
    } else {
        Err(ImportError::Name { name: name.chars().take(NAME_CHARS_MAX).collect() })
    }
}

/// When the first point began; if no program has recorded it, when the first file was written, less the time that all points took.
fn started(points: &[ImportedPoint], files: &[PathBuf]) -> u64 {
    let recorded = points.iter().filter_map(|point| point.started_unix_ms).min();
    let written = files.iter().filter_map(|file| fs::metadata(file).ok()?.modified().ok());
    let written = written.filter_map(|time| time.duration_since(UNIX_EPOCH).ok()).min().unwrap_or_default();
    let took: u64 = points.iter().map(|point| point.length.0 / 1_000_000).sum();
    recorded.unwrap_or_else(|| u64::try_from(written.as_millis()).unwrap_or(0).saturating_sub(took))
}

/// The trial as plimsoll would have planned it, as far as it is known.
fn trial_of(point: &ImportedPoint) -> Trial {
    let pacing = match point.rate_per_s {
        Some(per_s) => Pacing::Open { arrivals: Arrivals::Poisson { per_s } },
        None => Pacing::Closed { think: Nanos(0) },
    };
    let run = planned_length(point.length);
    let interval = point.timeline.as_ref().map_or(run, |timeline| timeline.interval);
    let simple = Trial::simple(&point.engine, &point.workload);
    Trial {
        target: TargetSpec { params: point.engine_params.clone(), ..simple.target },
        workload: WorkloadSpec { params: point.workload_params.clone(), ..simple.workload },
        load: Load { clients: point.clients, depth: point.depth, pacing },
        phases: Phases { run, interval, grace: Nanos(0), ..simple.phases },
        on_error: OnError::Count,
        ..simple
    }
}

/// The length in whole seconds if it is off by little, as runs are: equal plans must have equal lengths.
fn planned_length(length: Nanos) -> Nanos {
    let seconds = length.as_secs_f64().round();
    let is_near = seconds >= 1.0 && (length.as_secs_f64() - seconds).abs() <= LENGTH_ROUNDING * seconds;
    if is_near { Nanos((seconds * 1e9) as u64) } else { length }
}

/// The length of its intervals: that of the run if it has none. They begin where the phase does.
fn interval_of(point: &ImportedPoint) -> Nanos {
    point.timeline.as_ref().map_or(point.length, |timeline| timeline.interval)
}

/// The parameters as engine and workload declare them. Those of programs that plimsoll does not have are details of their work.
fn params_of(trial: &Trial, catalogue: &Catalogue) -> Vec<PointParam> {
    let engine =
        catalogue.engines.iter().find(|entry| entry.name == trial.target.engine).map_or(&[][..], |entry| entry.params);
    let workload = catalogue
        .workloads
        .iter()
        .find(|entry| entry.name == trial.workload.name)
        .map_or(&[][..], |entry| entry.params);
    let (own, asked) = (&trial.target.params, &trial.workload.params);
    let mut all = PointParam::declared(ParamOwner::Engine, engine, own, asked);
    all.extend(PointParam::declared(ParamOwner::Workload, workload, asked, own));
    let undeclared = |owner: ParamOwner, params: &Params, known: &[PointParam]| -> Vec<PointParam> {
        let names = params.0.keys().filter(|name| !known.iter().any(|one| one.owner == owner && one.name == **name));
        names.map(|name| PointParam { name: name.clone(), owner, role: usual_role(name), used: true }).collect()
    };
    let more = [undeclared(ParamOwner::Engine, own, &all), undeclared(ParamOwner::Workload, asked, &all)].concat();
    all.extend(more);
    all
}

/// How people call the database of `point`; `None` of a file.
fn spoken_engine(point: &ImportedPoint, catalogue: &Catalogue) -> Option<String> {
    let is_database = point.io.is_none() && point.engine != FILE_ENGINE;
    let database = is_database.then_some(point.engine.as_str())?;
    let known = catalogue.engines.iter().find(|entry| entry.name == database).map(|entry| entry.spoken);
    let other = OTHER_DATABASES.iter().find(|(name, _)| *name == database).map(|(_, spoken)| *spoken);
    Some(known.or(other).unwrap_or(database).to_owned())
}

/// Databases that are none of plimsoll's engines, and one that the program does not name.
const OTHER_DATABASES: [(&str, &str); 6] = [
    (UNKNOWN_ENGINE, "the database"),
    ("db2", "Db2"),
    ("mariadb", "MariaDB"),
    ("oracle", "Oracle"),
    ("sql server", "SQL Server"),
    ("tidb", "TiDB"),
];

fn usual_role(name: &str) -> ParamRole {
    match name {
        "transaction" => ParamRole::Mix,
        "scale" => ParamRole::DataSize,
        _ => ParamRole::Work,
    }
}

fn write_point(
    writer: &mut RunWriter,
    point: &ImportedPoint,
    trial: &Trial,
    declared: &Declared,
    start: Tick,
) -> Result<(), StoreError> {
    let mut facts = vec![Fact::new(model::IMPORTED_FACT, &point.program)];
    facts.extend(point.facts.iter().cloned());
    let spoken = declared.spoken.iter().map(|spoken| ("engine".to_owned(), spoken.clone()));
    let traits = PointTraits {
        work: WorkTraits { io: point.io, ..WorkTraits::default() },
        phrases: spoken.collect(),
        ..PointTraits::default()
    };
    let kinds: Vec<KindDef> = point.kinds.iter().map(|kind| kind.def.clone()).collect();
    let new = NewPoint { trial, facts: &facts, traits: &traits, params: &declared.params, kinds: &kinds, sources: &[] };
    let id = writer.begin_point(&new)?;
    writer.begin_phase(id, Phase::Run, start)?;
    let rows: Vec<IntervalRow> =
        rows_of(point).into_iter().map(|row| IntervalRow { start: start + Nanos(row.start.0), ..row }).collect();
    for batch in rows.chunks(BATCH) {
        writer.record(id, &Batch { intervals: batch, ..Batch::default() })?;
    }
    writer.end_phase(id, Phase::Run, start + point.length, 0, 0)?;
    let state = if point.error.is_some() { PointState::Failed } else { PointState::Complete };
    writer.finish_point(id, state, point.error.as_deref())
}

/// The rows of a point, whose times count from the beginning of its run phase. Times that are known for the whole point only are in a row
/// of their own after the end, without operations: so they are in percentiles, and in no interval and no rate.
fn rows_of(point: &ImportedPoint) -> Vec<IntervalRow> {
    let interval = interval_of(point);
    let places =
        point.timeline.as_ref().map_or(1, |timeline| timeline.counts.iter().map(Vec::len).max().unwrap_or(1)).max(1);
    let mut bytes_before = vec![(0, 0); point.kinds.len()];
    let mut rows: Vec<IntervalRow> = (0..places)
        .map(|place| {
            let numbered = (0u8..).zip(&point.kinds);
            let kinds = numbered.filter_map(|(number, kind)| {
                kind_row(point, kind, number, place, places, &mut bytes_before[usize::from(number)])
            });
            interval_row(place, interval, kinds.collect())
        })
        .collect();
    let whole: Vec<KindRow> = (0u8..).zip(&point.kinds).filter_map(|(number, kind)| whole_row(kind, number)).collect();
    if !whole.is_empty() {
        // In the first interval that begins after the end.
        let after = usize::try_from(point.length.0.div_ceil(interval.0.max(1))).unwrap_or(places);
        rows.push(interval_row(after.max(places), interval, whole));
    }
    rows
}

fn interval_row(place: usize, interval: Nanos, kinds: Vec<KindRow>) -> IntervalRow {
    IntervalRow {
        phase: Phase::Run,
        index: u32::try_from(place).expect("there are at most a million intervals"),
        start: Tick(place as u64 * interval.0),
        length: interval,
        kinds,
        generator: Generator::default(),
    }
}

/// What is known of `kind` in the interval `place`; `None` if nothing ended in it. `before` has the operations and bytes so far.
fn kind_row(
    point: &ImportedPoint,
    kind: &ImportedKind,
    number: u8,
    place: usize,
    places: usize,
    before: &mut (u64, u64),
) -> Option<KindRow> {
    let nth = usize::from(number);
    let timeline = point.timeline.as_ref();
    let ok = timeline.map_or(kind.ok, |timeline| count_at(&timeline.counts, nth, place));
    // Of failures without a time it is known only that they happened by the end.
    let is_last = place + 1 == places;
    let failed = match timeline.filter(|timeline| !timeline.failed.is_empty()) {
        Some(timeline) => count_at(&timeline.failed, nth, place),
        None if is_last => kind.failed,
        None => 0,
    };
    let (response, service) =
        timeline.and_then(|timeline| timeline.times.get(nth)?.get(place)).cloned().unwrap_or_default();
    if ok == 0 && failed == 0 && response.is_empty() {
        return None;
    }
    let done = before.0 + ok;
    let moved = if kind.ok == 0 { 0 } else { (u128::from(kind.bytes) * u128::from(done) / u128::from(kind.ok)) as u64 };
    let bytes = moved - before.1;
    *before = (done, moved);
    Some(KindRow { ok, failed, bytes, response, service, ..KindRow::empty(OpKind(number)) })
}

fn count_at(counts: &[Vec<u64>], kind: usize, place: usize) -> u64 {
    counts.get(kind).and_then(|counts| counts.get(place)).copied().unwrap_or(0)
}

/// The times of the whole point, if there are any.
fn whole_row(kind: &ImportedKind, number: u8) -> Option<KindRow> {
    let (response, service): (&Times, &Times) = (&kind.response, &kind.service);
    (!response.is_empty()).then(|| KindRow {
        response: response.clone(),
        service: service.clone(),
        ..KindRow::empty(OpKind(number))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_of_a_run_is_one_of_a_file() {
        assert!(["a", "2026-run_1.b"].iter().all(|name| check_name(name).is_ok()));
        let refused = ["", "../a", "a/b", ".a", "-a", "a b", "a\n", &"x".repeat(101)];
        assert!(refused.iter().all(|name| check_name(name).is_err()));
    }

    #[test]
    fn a_length_near_whole_seconds_is_that_of_a_plan() {
        let planned = |seconds: f64| planned_length(Nanos((seconds * 1e9) as u64)).as_secs_f64();
        assert_eq!([planned(10.01), planned(2.99), planned(2.5), planned(0.1)], [10.0, 3.0, 2.5, 0.1]);
    }
}
