//! The largest rate at which an objective holds: what is asked, how it is searched, and what a search has found.
//!
//! In: a [`LimitSpec`] of the plan, and one [`Observation`] for each probe. Out: the next probe, and in the end a [`LimitResult`]. The
//! runner searches with it, and [`searches`] repeats each search of a recorded run from its points, so that the answer in a report is the
//! one that the runner saw.
//! Limits: pure. It knows no engine; what it must know of one are rates, response times and levels of counters with a role.

pub mod debt;
pub mod objective;
pub mod objective_fault;
pub mod observation;
pub mod result;
mod rhythm;
mod scatter;
pub mod search;
#[cfg(test)]
mod simulate;
mod stops;

pub use debt::DebtCourse;
pub use objective::{Criterion, Judgement, Objective, SampledShare};
pub use observation::{KindWindow, Observation, ProbeFault, ResponseWindow};
pub use result::{
    FailureAbove, HoldCause, HoldDebt, LimitOutcome, LimitProbe, LimitResult, LowerBoundCause, NeededHold, TargetChange,
};
pub use search::{LimitSearch, LimitStep};

use crate::run::{PointData, PointState, RunData};
use crate::trial::{Arrivals, Pacing, Trial};
use crate::units::Nanos;
use serde::{Deserialize, Serialize};

/// What is asked of a search.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LimitSpec {
    /// What the rate must keep.
    pub objective: Objective,
    /// How long the best rate is held in the end.
    pub hold: Nanos,
    /// The highest rate that is tried, per second; `None` for as high as it gets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_max: Option<f64>,
    /// How operations fall due in its probes.
    pub arrivals: ArrivalLaw,
}

/// How operations fall due, without their rate.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ArrivalLaw {
    /// They come at equal distances.
    Constant,
    /// At exponentially distributed distances.
    Poisson,
    /// At the times of a recording, of which as many copies are replayed as a rate needs.
    Recorded(RecordedLoad),
}

/// A recorded load, whose multiples are tried.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct RecordedLoad {
    /// Operations per second of one copy.
    pub per_s: f64,
    /// How long a replay of it is: no probe and no hold can be longer.
    pub length: Nanos,
    /// The clients that one copy needs; `None` if their number was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clients: Option<u32>,
    /// Its sessions: a part of it has one at least. `None` in old runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sessions: Option<u32>,
}

impl ArrivalLaw {
    /// Arrivals of this law at a rate.
    pub fn at(self, per_s: f64) -> Arrivals {
        match self {
            ArrivalLaw::Constant => Arrivals::Constant { per_s },
            ArrivalLaw::Poisson => Arrivals::Poisson { per_s },
            ArrivalLaw::Recorded(_) => Arrivals::Recorded { per_s },
        }
    }

    /// The recorded load, if its multiples are tried.
    pub fn recorded(&self) -> Option<&RecordedLoad> {
        if let ArrivalLaw::Recorded(load) = self { Some(load) } else { None }
    }
}

impl RecordedLoad {
    /// The most clients that a probe has.
    const CLIENTS_MAX: f64 = 16_384.0;

    /// How many copies have a rate of `per_s`.
    pub fn times(&self, per_s: f64) -> f64 {
        rounded(per_s / self.per_s)
    }

    /// Lets `trial` replay as many copies as a rate of `per_s` needs.
    fn apply(&self, trial: &mut Trial, per_s: f64) {
        let times = self.times(per_s);
        trial.workload.params.set_times(times);
        if let Some(clients) = self.clients {
            trial.load.clients = (f64::from(clients) * times.ceil()).clamp(1.0, RecordedLoad::CLIENTS_MAX) as u32;
        }
    }
}

/// The rate with four digits: those of a person who would set it, and far finer than the bracket. What is no rate is 0.
fn rounded(per_s: f64) -> f64 {
    if per_s <= 0.0 || !per_s.is_finite() {
        return 0.0;
    }
    let unit = 10f64.powf(per_s.log10().floor() - 3.0);
    let digits = (per_s / unit).round();
    // A unit of 0.01 is not exact in binary, but 100 is.
    if unit < 1.0 { digits / (1.0 / unit).round() } else { digits * unit.round() }
}

/// What a trial has to do with a search: it is the whole of it, as a plan names it, or one of its points.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LimitPart {
    pub spec: LimitSpec,
    /// The probe; `None` of the trial of a plan, which becomes as many points as its search needs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probe: Option<ProbePart>,
}

/// Which probe of which search a point is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProbePart {
    /// The number of the search's trial in the plan, from 0.
    pub search: u32,
    /// The number of the probe in the search, from 1.
    pub nth: u32,
    /// What it is for.
    pub kind: ProbeKind,
}

/// What a probe is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ProbeKind {
    /// A closed loop finds the order of magnitude.
    Closed,
    /// A rate is tried.
    Probe,
    /// The best rate is held.
    Hold,
}

impl ProbeKind {
    /// The word used in files and tables.
    pub fn as_str(self) -> &'static str {
        match self {
            ProbeKind::Closed => "closed",
            ProbeKind::Probe => "probe",
            ProbeKind::Hold => "hold",
        }
    }
}

/// A search of a recorded run.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedSearch {
    /// The number of its trial in the plan, from 0.
    pub search: u32,
    pub spec: LimitSpec,
    /// Its complete points in the order in which they were measured: one for each probe of the result.
    pub points: Vec<u32>,
    /// What it has found; [`LimitOutcome::Interrupted`] if it was not measured to its end.
    pub result: LimitResult,
}

/// The searches of `run` in the order of its plan, each repeated from its points.
pub fn searches(run: &RunData) -> Vec<RecordedSearch> {
    let of_plan = (0u32..).zip(&run.meta.plan.trials);
    let asked = of_plan.filter_map(|(search, trial)| Some((search, trial, &trial.limit.as_ref()?.spec)));
    asked.map(|(search, trial, spec)| repeat_search(search, trial, spec, &run.points)).collect()
}

fn repeat_search(search: u32, trial: &Trial, spec: &LimitSpec, points: &[PointData]) -> RecordedSearch {
    let mut machine = LimitSearch::new(spec, trial.phases.run);
    let mut own = Vec::new();
    for point in points.iter().filter(|point| is_complete(point) && probe_of(&point.trial, search).is_some()) {
        // A rate that the target refused has no point; those after it have the highest that was left.
        machine.limit_to(point.trial.limit.as_ref().and_then(|part| part.spec.rate_max));
        if let (LimitStep::Measure { .. }, Some(seen)) = (machine.next_step(), Observation::from_point(point)) {
            machine.observe(seen);
            own.push(point.id);
        }
    }
    RecordedSearch { search, spec: spec.clone(), points: own, result: machine.result() }
}

pub(crate) fn is_complete(point: &PointData) -> bool {
    point.state == PointState::Complete
}

/// The probe of search number `search` that `trial` is; `None` if it is none of it.
pub fn probe_of(trial: &Trial, search: u32) -> Option<ProbePart> {
    trial.limit.as_ref()?.probe.filter(|probe| probe.search == search)
}

/// The most intervals that a probe is cut into, unless the plan asks for longer ones: with fewer, its scatter is little known.
const INTERVALS: u64 = 40;
/// A time slice of the scheduler is some milliseconds: shorter intervals would show the scheduler.
const INTERVAL_MIN: Nanos = Nanos::from_millis(50);

/// The trial of probe number `nth`, from 1, of the search `search` that `asked` asks for.
///
/// # Panics
/// If `asked` is not the trial of a search.
pub fn probe_trial(asked: &Trial, search: u32, nth: u32, kind: ProbeKind, per_s: Option<f64>, length: Nanos) -> Trial {
    let spec = &asked.limit.as_ref().expect("it asks for a search").spec;
    let mut trial = asked.clone();
    trial.limit = Some(LimitPart { spec: spec.clone(), probe: Some(ProbePart { search, nth, kind }) });
    if let Some(per_s) = per_s {
        trial.load.pacing = Pacing::Open { arrivals: spec.arrivals.at(per_s) };
        spec.arrivals.recorded().iter().for_each(|load| load.apply(&mut trial, per_s));
    }
    let stalls = spec.objective.criteria().iter().filter_map(|criterion| match criterion {
        Criterion::Stall { below } => Some(Nanos(below.0 / 5)),
        _ => None,
    });
    let interval = stalls.fold(Nanos(length.0 / INTERVALS), Nanos::min).max(INTERVAL_MIN);
    trial.phases.interval = interval.min(asked.phases.interval);
    trial.phases.run = length;
    trial
}
