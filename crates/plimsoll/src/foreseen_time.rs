//! How long a plan takes beside its loads: data is made, points begin and end, reports are written. As far as earlier runs tell.
//!
//! In: a directory of run files. Out: seconds for the data of a trial, for a point, for a report. Limits: the newest runs count, whatever
//! their disk and machine: the runs of a directory are usually of one. What no run tells of points is taken from [`usual_seconds`]; of data
//! it is not guessed.

use crate::commands::{list, measure};
use engine::EngineLocation;
use model::{PointState, Trial};
use std::collections::HashMap;
use std::path::Path;
use std::time::SystemTime;
use store::{PointHead, PointTimes};

/// More run files are not looked at.
const RUNS_MAX: usize = 50;
/// The analysis and the charts of a point, if no run tells.
const REPORT_USUAL_S: f64 = 0.03;

/// What earlier runs took.
#[derive(Default)]
pub struct EarlierRuns {
    /// The bytes of data per second that each engine took with each workload, its indexes included.
    loads: HashMap<(String, String), f64>,
    /// The seconds of points beside their phases.
    points: HashMap<PointKey, Vec<f64>>,
    /// The seconds of a report for each of its points.
    reports: Vec<f64>,
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
            earlier.note_times(&points, &store::read_point_times(file).unwrap_or_default());
            earlier.reports.extend(report_seconds(file, points.len()));
        }
        earlier
    }

    fn note_load(&mut self, point: &PointHead) {
        let taken = point.facts.iter().find(|fact| fact.name == "load.all_s").and_then(|fact| fact.value.parse().ok());
        if let Some(seconds) = taken.filter(|seconds: &f64| *seconds > 0.0 && point.state == PointState::Complete) {
            let rate = data_bytes(&point.trial) / seconds;
            self.loads.entry(load_key(&point.trial)).or_insert(rate);
        }
    }

    /// From the beginning of one point to that of the next, all but the phases is what a point takes beside them.
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

    /// How long the data of `trial` takes to make; `None` if no run has made such data.
    pub fn load_seconds(&self, trial: &Trial) -> Option<f64> {
        if engine::engine_of(trial).scripted {
            return Some(0.0); // it keeps none
        }
        self.loads.get(&load_key(trial)).map(|rate| data_bytes(trial) / rate)
    }

    /// How long a point of `trial` takes beside its phases: its server is started, its sources are opened, the machine comes to rest.
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

    /// Whether runs of the engine of `trial` tell how long its points take.
    pub fn knows_points_of(&self, trial: &Trial) -> bool {
        [true, false].iter().any(|makes| self.points.contains_key(&(trial.target.engine.clone(), *makes)))
    }
}

/// What a point takes beside its phases where no run tells: most of it is the start of a server.
fn usual_seconds(trial: &Trial, makes_data: bool) -> f64 {
    match (engine::engine_of(trial).runs, makes_data) {
        (EngineLocation::Server, true) => 2.0,
        (EngineLocation::Elsewhere, true) => 1.0,
        (EngineLocation::Server | EngineLocation::Elsewhere, false) => 0.3,
        (EngineLocation::InClients | EngineLocation::Embedded, _) => 0.15,
    }
}

/// The seconds for each of `points` from the end of the run in `file` until its report was written.
fn report_seconds(file: &Path, points: usize) -> Option<f64> {
    let modified = |path: &Path| -> Option<SystemTime> { std::fs::metadata(path).ok()?.modified().ok() };
    let report = modified(&measure::report_dir(file).join("report.html"))?;
    let taken = report.duration_since(modified(file)?).ok()?;
    // A report that was made later tells nothing.
    const MADE_WITH_THE_RUN_S: f64 = 600.0;
    let seconds = taken.as_secs_f64();
    (points > 0 && seconds < MADE_WITH_THE_RUN_S).then(|| seconds / points as f64)
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[sorted.len() / 2]
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
        assert_eq!(rates.load_seconds(&first.trial), None);
        rates.note_load(&first);
        rates.note_load(&point(&[("load.all_s", "9.0")]));
        rates.note_load(&PointHead { state: PointState::Failed, ..point(&[("load.all_s", "0.1")]) });
        assert_eq!(rates.load_seconds(&first.trial), Some(2.0));
        let mut double = first.trial.clone();
        double.workload.params.0.insert("tables".into(), model::Value::Int(2));
        assert_eq!(rates.load_seconds(&double), Some(4.0));
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
            makes_data,
        };
        // Points of a second: the second begins after two seconds, with data of its own, the others after 1.25 s each.
        let times = [at(1, 0, true), at(2, 3_000, true), at(3, 4_250, false), at(4, 5_500, false)];
        earlier.note_times(&points, &times);
        assert_eq!([earlier.point_seconds(&trial, true), earlier.point_seconds(&trial, false)], [2.0, 0.25]);
    }
}
