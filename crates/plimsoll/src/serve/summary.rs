//! What a list shows of a run.
//!
//! In: the head of a run, its analysis, or as much as is recorded of it. Out: a row. Limits: nothing is judged here.

use super::library::ListedRun;
use analysis::Analysis;
use analysis::verdict::Tally;
use model::{LiveRun, PointState, RunMeta, Trial};
use report::library::LibraryRow;
use store::RunHead;
use web::percent_encoded;

/// A run in the list.
#[derive(Clone, Debug)]
pub struct RunSummary {
    title: String,
    started_unix_ms: u64,
    engines: Vec<String>,
    workloads: Vec<String>,
    machine: String,
    complete: usize,
    planned: usize,
    /// How valid its points are, and its answer; `None` before it was analysed.
    judged: Option<(Tally, String)>,
}

impl RunSummary {
    /// What the head of a run shows.
    pub fn from_head(head: &RunHead) -> RunSummary {
        let complete = head.points.iter().filter(|point| point.state == PointState::Complete).count();
        RunSummary::from_meta(&head.meta, complete)
    }

    /// What can be shown of a run that is being recorded.
    pub fn from_live(run: &LiveRun) -> RunSummary {
        RunSummary::from_meta(&run.meta, run.complete())
    }

    fn from_meta(meta: &RunMeta, complete: usize) -> RunSummary {
        let trials = &meta.plan.trials;
        RunSummary {
            title: if meta.plan.title.is_empty() { meta.plan.name.clone() } else { meta.plan.title.clone() },
            started_unix_ms: meta.started_unix_ms,
            engines: distinct(trials, |trial| &trial.target.engine),
            workloads: distinct(trials, |trial| &trial.workload.name),
            machine: machine_words(meta),
            complete,
            planned: trials.len(),
            judged: None,
        }
    }

    /// The same with what the analysis found.
    pub fn with_verdict(&self, analysis: &Analysis) -> RunSummary {
        let answer = analysis::answer(analysis).headline().to_owned();
        RunSummary { judged: Some((analysis.verdict.trust.validity, answer)), ..self.clone() }
    }

    /// Whether nothing more can be known of it.
    pub fn is_whole(&self) -> bool {
        self.judged.is_some()
    }

    pub fn row(&self, run: &ListedRun) -> LibraryRow {
        let (validity, verdict) = self.judged.clone().unzip();
        LibraryRow {
            title: self.title.clone(),
            started_unix_ms: Some(self.started_unix_ms),
            engines: self.engines.clone(),
            workloads: self.workloads.clone(),
            machine: self.machine.clone(),
            points: Some((self.complete, self.planned)),
            validity,
            verdict: verdict.unwrap_or_default(),
            ..named_row(run)
        }
    }

    /// Its row while it is being recorded.
    pub fn recorded_row(&self, run: &ListedRun, live: &LiveRun) -> LibraryRow {
        let last = live.phase.as_ref().and_then(|phase| phase.intervals.last());
        let unit = report::library::unit_of(live);
        let rate = last.zip(unit).map(|(last, unit)| (report::with_separators(last.per_s() as u64), unit));
        let now = rate.map_or_else(String::new, |(rate, unit)| format!("Now {rate} {unit}/s."));
        LibraryRow { state: "recorded", verdict: now, ..self.row(run) }
    }
}

fn named_row(run: &ListedRun) -> LibraryRow {
    LibraryRow { name: run.shown(), key: percent_encoded(run.name_bytes()), ..LibraryRow::default() }
}

/// The row of a run of which nothing is known yet.
pub fn unread_row(run: &ListedRun) -> LibraryRow {
    LibraryRow { state: "unread", ..named_row(run) }
}

/// The row of a file that cannot be read as a run.
pub fn damaged_row(run: &ListedRun, reason: &str) -> LibraryRow {
    LibraryRow { state: "damaged", verdict: reason.to_owned(), ..named_row(run) }
}

/// Each value once, in the order of the plan.
fn distinct<'t>(trials: &'t [Trial], value: fn(&'t Trial) -> &'t String) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for one in trials.iter().map(value) {
        if !all.contains(one) {
            all.push(one.clone());
        }
    }
    all
}

/// `AMD EPYC 7763, 2 CPUs, nvme0n1`, as far as it was recorded. It has no name of its own: runs do not have that of their machine.
fn machine_words(meta: &RunMeta) -> String {
    const MODEL: &str = "cpu.model";
    let model = meta
        .environment
        .iter()
        .find(|fact| fact.name == MODEL && fact.value != "unknown")
        .map(|fact| fact.value.clone());
    let cpus = meta.machine.cpus.map(|cpus| if cpus == 1 { "1 CPU".to_owned() } else { format!("{cpus} CPUs") });
    [model, cpus, meta.machine.disk.clone()].into_iter().flatten().collect::<Vec<String>>().join(", ")
}
