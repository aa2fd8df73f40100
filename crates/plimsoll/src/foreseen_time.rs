//! How long a plan takes, as far as its phases do not say: data is made, points begin and end or go on until their rows are in, reports are
//! written.
//!
//! In: a directory of run files. Out: seconds for the data of a trial, for a point, for a report. Limits: the newest runs count, whatever
//! their disk and machine: the runs of a directory are usually of one. What no run shows is taken to be as is usual; how long rows or
//! statements take is not guessed.

use crate::commands::{list, measure};
use engine::EngineLocation;
use model::{PointState, Trial, Value};
use std::collections::HashMap;
use std::path::Path;
use std::time::SystemTime;
use store::{PointHead, PointTimes};

/// More run files are not looked at.
const RUNS_MAX: usize = 50;
/// The analysis and the charts of a point, if no run shows it.
const REPORT_USUAL_S: f64 = 0.03;
/// The bytes of data that a database on a machine with two CPUs loads in a second, its indexes included, if no run shows it.
const USUAL_LOAD_RATE: f64 = 30e6;
/// The same for plain files.
const USUAL_FILE_RATE: f64 = 400e6;
/// Most of a load that takes no longer is what any load takes, however few its rows are: tables are made, a server settles.
const BRIEF_LOAD_S: f64 = 1.0;

/// What earlier runs took.
#[derive(Default)]
pub struct EarlierRuns {
    /// The loads of each engine with each workload, their indexes included, the newest first.
    loads: HashMap<(String, String), Vec<EarlierLoad>>,
    /// The seconds of points apart from their phases.
    points: HashMap<PointKey, Vec<f64>>,
    /// The seconds of a report for each of its points.
    reports: Vec<f64>,
    /// The points that ended when their operations were done, the newest first.
    self_ended: Vec<SelfEnded>,
}

/// A load of data.
struct EarlierLoad {
    trial: Trial,
    bytes: f64,
    seconds: f64,
}

/// A point that ended when its operations were done.
struct SelfEnded {
    trial: Trial,
    seconds: f64,
    seconds_per_op: f64,
}

/// The engine of a point, and whether data was made for it.
type PointKey = (String, bool);

impl EarlierRuns {
    /// The newest runs in `runs`.
    pub fn recall(runs: &Path) -> EarlierRuns {
        let mut earlier = EarlierRuns::default();
        for file in list::run_files_of(runs).unwrap_or_default().iter().rev().take(RUNS_MAX) {
            let points = store::read_meta(file).map(|head| head.points).unwrap_or_default();
            points.iter().for_each(|point| earlier.note_load(point));
            let times = store::read_point_times(file).unwrap_or_default();
            earlier.note_times(&points, &times);
            earlier.note_self_ended(&points, &times);
            earlier.reports.extend(report_seconds(file, points.len()));
        }
        earlier
    }

    fn note_load(&mut self, point: &PointHead) {
        let taken = point.facts.iter().find(|fact| fact.name == "load.all_s").and_then(|fact| fact.value.parse().ok());
        // `inf` is a number, too.
        let taken = taken.filter(|seconds: &f64| *seconds > 0.0 && seconds.is_finite());
        if let Some(seconds) = taken.filter(|_| point.state == PointState::Complete) {
            let load = EarlierLoad { trial: point.trial.clone(), bytes: data_bytes(&point.trial), seconds };
            self.loads.entry(load_key(&point.trial)).or_default().push(load);
        }
    }

    /// From the beginning of one point to that of the next, all but the phases is what a point takes apart from them.
    fn note_times(&mut self, points: &[PointHead], times: &[PointTimes]) {
        for pair in times.windows(2) {
            let [one, next] = pair else { continue };
            if next.point != one.point + 1 {
                continue; // there is one between them that was not ended
            }
            let Some(point) = points.iter().find(|point| point.id == next.point) else { continue };
            let all = next.began.since(one.began).as_secs_f64();
            let beside = all - one.phases.as_secs_f64();
            let key = (point.trial.target.engine.clone(), next.makes_data);
            self.points.entry(key).or_default().push(beside.max(0.0));
        }
    }

    fn note_self_ended(&mut self, points: &[PointHead], times: &[PointTimes]) {
        for one in times {
            let Some(point) = points.iter().find(|point| point.id == one.point) else { continue };
            let Some(ops) = run_ops(&point.trial).filter(|_| point.state == PointState::Complete) else { continue };
            let seconds = one.run.as_secs_f64();
            let seconds_per_op = seconds / ops.max(1) as f64;
            self.self_ended.push(SelfEnded { trial: point.trial.clone(), seconds, seconds_per_op });
        }
    }

    /// How long the data of `trial` takes to make.
    pub fn load_seconds(&self, trial: &Trial) -> f64 {
        let entry = engine::engine_of(trial);
        if entry.scripted {
            return 0.0; // it keeps none
        }
        // A server settles for about half a second after a load.
        let (beside, usual_rate) = match entry.runs {
            EngineLocation::InClients => (0.0, USUAL_FILE_RATE),
            EngineLocation::Embedded => (0.0, USUAL_LOAD_RATE),
            EngineLocation::Server | EngineLocation::Elsewhere => (0.5, USUAL_LOAD_RATE),
        };
        let bytes = data_bytes(trial);
        let loads = self.loads.get(&load_key(trial)).map_or(&[][..], Vec::as_slice);
        if let Some(same) = loads.iter().find(|load| has_same_data(&load.trial, trial)) {
            return same.seconds;
        }
        match largest(loads) {
            Some(load) if load.seconds < BRIEF_LOAD_S => load.seconds + (bytes - load.bytes).max(0.0) / usual_rate,
            Some(load) => bytes * load.seconds / load.bytes,
            None => beside + bytes / usual_rate,
        }
    }

    /// How long `trial` runs, which ends when its operations are done; `None` if no run has performed such operations.
    pub fn self_ended_seconds(&self, trial: &Trial) -> Option<f64> {
        let alike = |one: &&SelfEnded| {
            let (target, workload) = (&one.trial.target, &one.trial.workload);
            target.engine == trial.target.engine && workload.name == trial.workload.name
        };
        let alike: Vec<&SelfEnded> = self.self_ended.iter().filter(alike).collect();
        // The same work took the same time; other work takes as long as its operations do.
        let same = alike.iter().filter(|one| one.trial.workload.params == trial.workload.params);
        let same: Vec<f64> = same.map(|one| one.seconds).collect();
        if !same.is_empty() {
            return Some(median(&same));
        }
        let of_words = words(trial);
        let like_words = alike.iter().filter(|one| words(&one.trial) == of_words).map(|one| one.seconds_per_op);
        let like_words: Vec<f64> = like_words.collect();
        (!like_words.is_empty()).then(|| median(&like_words) * run_ops(trial).unwrap_or(1) as f64)
    }

    /// How long a point of `trial` takes apart from its phases: its server is started, its sources are opened, the machine comes to rest.
    pub fn point_seconds(&self, trial: &Trial, makes_data: bool) -> f64 {
        let engine = &trial.target.engine;
        let known = |makes_data| self.points.get(&(engine.clone(), makes_data)).map(|all| median(all));
        // A point that goes on with data takes less than one that makes it, and more than none.
        known(makes_data).or_else(|| known(!makes_data)).unwrap_or_else(|| usual_seconds(trial, makes_data))
    }

    /// How long the analysis and the report take for each point.
    pub fn report_seconds(&self) -> f64 {
        if self.reports.is_empty() { REPORT_USUAL_S } else { median(&self.reports) }
    }

    /// Whether runs tell how long the data of `trial` takes to make.
    pub fn knows_load_of(&self, trial: &Trial) -> bool {
        let tells = |load: &EarlierLoad| load.seconds >= BRIEF_LOAD_S || has_same_data(&load.trial, trial);
        let mut loads = self.loads.get(&load_key(trial)).into_iter().flatten();
        loads.any(tells) || engine::engine_of(trial).scripted
    }

    /// Whether runs of the engine of `trial` tell how long its points take.
    pub fn knows_points_of(&self, trial: &Trial) -> bool {
        [true, false].iter().any(|makes| self.points.contains_key(&(trial.target.engine.clone(), *makes)))
    }
}

/// The load of the most bytes, of which the time for other data is told best; of several the newest.
fn largest(loads: &[EarlierLoad]) -> Option<&EarlierLoad> {
    // The last of equal ones is taken.
    loads.iter().rev().filter(|load| load.bytes > 0.0).max_by(|one, other| one.bytes.total_cmp(&other.bytes))
}

fn has_same_data(one: &Trial, other: &Trial) -> bool {
    one.workload.params == other.workload.params && one.target.instances == other.target.instances
}

/// What a point takes apart from its phases if no run shows it: most of it is the start of a server.
fn usual_seconds(trial: &Trial, makes_data: bool) -> f64 {
    let each = match (engine::engine_of(trial).runs, makes_data) {
        (EngineLocation::Server, true) => 2.0,
        (EngineLocation::Elsewhere, true) => 1.0,
        (EngineLocation::Server | EngineLocation::Elsewhere, false) => 0.3,
        (EngineLocation::InClients | EngineLocation::Embedded, _) => 0.15,
    };
    each * f64::from(trial.target.instances)
}

/// The seconds for each of `points` from the end of the run in `file` until its report was written.
fn report_seconds(file: &Path, points: usize) -> Option<f64> {
    let modified = |path: &Path| -> Option<SystemTime> { std::fs::metadata(path).ok()?.modified().ok() };
    let report = modified(&measure::report_dir(file).join("report.html"))?;
    let taken = report.duration_since(modified(file)?).ok()?;
    // A report that was made later shows nothing.
    const MADE_WITH_THE_RUN_S: f64 = 600.0;
    let seconds = taken.as_secs_f64();
    (points > 0 && seconds < MADE_WITH_THE_RUN_S).then(|| seconds / points as f64)
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[sorted.len() / 2]
}

fn run_ops(trial: &Trial) -> Option<u64> {
    engine::workload_of(trial).run_ops(&trial.workload.params)
}

/// The parameters of the workload whose values are words: they say what is done, and numbers how much of it.
fn words(trial: &Trial) -> Vec<(&String, &Value)> {
    trial.workload.params.0.iter().filter(|(_, value)| matches!(value, Value::Word(_))).collect()
}

fn data_bytes(trial: &Trial) -> f64 {
    let bytes = (engine::workload_of(trial).data_bytes)(&trial.workload.params);
    bytes.0 as f64 * f64::from(trial.target.instances)
}

fn load_key(trial: &Trial) -> (String, String) {
    (trial.target.engine.clone(), trial.workload.name.clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{Fact, Nanos, Tick};

    fn point(facts: &[(&str, &str)]) -> PointHead {
        let text = "workload = 'oltp'\nengine = 'sqlite'";
        let plan = plan::parse(text, "test.toml", &plan::Overrides::default(), 1.0, &runner::catalogue());
        let trial = plan.expect("it is a plan").trials.remove(0);
        PointHead {
            id: 1,
            state: PointState::Complete,
            error: None,
            engine: "sqlite".into(),
            workload: "oltp".into(),
            clients: 1,
            depth: 1,
            repeat: 1,
            trial,
            facts: facts.iter().map(|(name, value)| Fact::new(*name, *value)).collect(),
        }
    }

    #[test]
    fn the_newest_load_counts_and_larger_data_takes_longer_in_proportion() {
        let mut rates = EarlierRuns::default();
        let first = point(&[("load.all_s", "2.0")]);
        assert!(!rates.knows_load_of(&first.trial));
        assert_eq!(rates.load_seconds(&first.trial), data_bytes(&first.trial) / USUAL_LOAD_RATE);
        for no_time in ["inf", "NaN", "-1"] {
            rates.note_load(&point(&[("load.all_s", no_time)]));
        }
        rates.note_load(&first);
        rates.note_load(&point(&[("load.all_s", "9.0")]));
        rates.note_load(&PointHead { state: PointState::Failed, ..point(&[("load.all_s", "0.1")]) });
        assert_eq!(rates.load_seconds(&first.trial), 2.0);
        let mut double = first.trial.clone();
        double.workload.params.0.insert("tables".into(), model::Value::Int(2));
        assert_eq!(rates.load_seconds(&double), 4.0);
    }

    #[test]
    fn a_load_of_few_rows_tells_nothing_of_one_of_many() {
        let of_rows = |rows: u64, seconds: &str| {
            let mut head = point(&[("load.all_s", seconds)]);
            head.trial.workload.params.0.insert("table_rows".into(), Value::Int(rows));
            head
        };
        let mut earlier = EarlierRuns::default();
        let (few, many, more) = (of_rows(100, "0.3"), of_rows(1_000_000, "8.0"), of_rows(2_000_000, "9.9"));
        earlier.note_load(&few);
        assert_eq!(earlier.load_seconds(&few.trial), 0.3);
        assert!(earlier.knows_load_of(&few.trial) && !earlier.knows_load_of(&many.trial));
        let rest = data_bytes(&many.trial) - data_bytes(&few.trial);
        assert_eq!(earlier.load_seconds(&many.trial), 0.3 + rest / USUAL_LOAD_RATE);
        earlier.note_load(&many);
        assert!(earlier.knows_load_of(&more.trial));
        assert_eq!(earlier.load_seconds(&more.trial), data_bytes(&more.trial) * 8.0 / data_bytes(&many.trial));
    }

    #[test]
    fn work_that_ends_itself_takes_as_long_as_the_same_before_or_as_its_operations() {
        let inserting = |rows: u64| {
            let text = format!("workload = 'insert'\nengine = 'sqlite'\nstep = 'l.i0'\nrows = {rows}");
            let plan = plan::parse(&text, "test.toml", &plan::Overrides::default(), 1.0, &runner::catalogue());
            PointHead { trial: plan.expect("it is a plan").trials.remove(0), ..point(&[]) }
        };
        let mut earlier = EarlierRuns::default();
        let (small, large) = (inserting(10_000), inserting(40_000));
        assert_eq!(earlier.self_ended_seconds(&small.trial), None);
        let run = Nanos::from_secs(3);
        let times = [PointTimes { point: 1, began: Tick(0), phases: run, run, makes_data: true }];
        earlier.note_self_ended(std::slice::from_ref(&small), &times);
        assert_eq!(earlier.self_ended_seconds(&small.trial), Some(3.0));
        assert_eq!(earlier.self_ended_seconds(&large.trial), Some(12.0));
    }

    #[test]
    fn a_point_takes_what_those_before_took_beside_their_phases() {
        let mut earlier = EarlierRuns::default();
        let trial = point(&[]).trial;
        assert_eq!(earlier.point_seconds(&trial, false), 0.15, "as is usual");
        let points: Vec<PointHead> = (1..=4).map(|id| PointHead { id, ..point(&[]) }).collect();
        let at = |point: u32, began_ms: u64, makes_data| PointTimes {
            point,
            began: Tick(Nanos::from_millis(began_ms).0),
            phases: Nanos::from_secs(1),
            run: Nanos::from_secs(1),
            makes_data,
        };
        // Points of a second: the second begins after two seconds, with data of its own, the others after 1.25 s each.
        let times = [at(1, 0, true), at(2, 3_000, true), at(3, 4_250, false), at(4, 5_500, false)];
        earlier.note_times(&points, &times);
        assert_eq!([earlier.point_seconds(&trial, true), earlier.point_seconds(&trial, false)], [2.0, 0.25]);
    }
}
