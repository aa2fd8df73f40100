//! The runs that are being recorded, read as often as that costs next to nothing.
//!
//! In: listed runs, a directory for copies. Out: what is recorded so far. Limits: all viewers of a run share one reading, which is at least
//! [`AGAIN_MIN`] old before the next, and [`SHARE_OF_TIME`] times as old as it took CPU time: so viewers take at most 2 % of one CPU, however
//! many they are and however large the file is.

use super::library::ListedRun;
use super::thread_cpu_time;
use crate::output::label;
use analysis::Analysis;
use model::{LiveRun, Plan, RunData, Trial};
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, TryLockError};
use std::time::{Duration, Instant};

const AGAIN_MIN: Duration = Duration::from_secs(2);
const SHARE_OF_TIME: u32 = 50;
/// So many intervals of the newest phase are drawn.
const INTERVALS: u32 = 120;

/// A run as it was read last.
pub struct ReadLive {
    /// What is recorded of it.
    pub run: LiveRun,
    /// Of a watch the analysis of its last intervals.
    pub watched: Option<Analysis>,
    /// When it is read again at the earliest.
    pub again: Duration,
    /// The plan does not change, so its labels are made once.
    labels: Arc<OnceLock<Vec<String>>>,
}

impl ReadLive {
    /// A label for each trial of its plan.
    pub fn labels(&self) -> &[String] {
        self.labels.get_or_init(|| labels_of(&self.run.meta.plan))
    }
}

/// What was read, when, and how long that is good.
struct LiveReading {
    outcome: Result<Arc<ReadLive>, String>,
    at: Instant,
    again: Duration,
}

/// The readings of all runs that are being recorded: usually one.
pub struct LiveRuns {
    scratch: PathBuf,
    readings: Mutex<HashMap<PathBuf, LiveReading>>,
}

impl LiveRuns {
    /// None yet; copies are made below `scratch`.
    pub fn new(scratch: PathBuf) -> LiveRuns {
        LiveRuns { scratch, readings: Mutex::default() }
    }

    /// Whether one is being read.
    pub fn is_reading(&self) -> bool {
        matches!(self.readings.try_lock(), Err(TryLockError::WouldBlock))
    }

    /// What is recorded of `run`, not older than it may be.
    ///
    /// # Errors
    /// Why it cannot be read.
    pub fn read(&self, run: &ListedRun) -> Result<Arc<ReadLive>, String> {
        // Who asks meanwhile waits for this reading: two would cost twice.
        let mut readings = self.readings.lock().unwrap_or_else(PoisonError::into_inner);
        readings.retain(|_, reading| reading.at.elapsed() < Duration::from_secs(600) + reading.again);
        if let Some(known) = readings.get(&run.path).filter(|known| known.at.elapsed() < known.again) {
            return known.outcome.clone();
        }
        let before = readings.get(&run.path).and_then(|known| known.outcome.clone().ok());
        let before_cpu = thread_cpu_time();
        let read = store::read_live(&run.path, &self.scratch, INTERVALS).map(|run| (analysis_of_watch(&run), run));
        let again = (thread_cpu_time().saturating_sub(before_cpu) * SHARE_OF_TIME).max(AGAIN_MIN);
        let labels = before.map_or_else(Arc::default, |before| before.labels.clone());
        let read = read.map(|(watched, run)| Arc::new(ReadLive { run, watched, again, labels }));
        let outcome = read.map_err(|error| error.to_string());
        readings.insert(run.path.clone(), LiveReading { outcome: outcome.clone(), at: Instant::now(), again });
        outcome
    }
}

fn analysis_of_watch(run: &LiveRun) -> Option<Analysis> {
    let point = run.watched.clone()?;
    Some(analysis::analyse(&RunData { meta: run.meta.clone(), points: vec![point] }))
}

/// The label of each trial. This version may not know what another one records: then workload and engine have to do.
fn labels_of(plan: &Plan) -> Vec<String> {
    let is_known =
        |trial: &Trial| workload::find(&trial.workload.name).is_some() && engine::find(&trial.target.engine).is_some();
    if plan.trials.iter().all(is_known) {
        label::all(plan)
    } else {
        plan.trials.iter().map(|trial| format!("{} on {}", trial.workload.name, trial.target.engine)).collect()
    }
}
