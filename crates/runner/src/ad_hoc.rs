//! Trials that are measured and not recorded: `doctor` and `disk` print their totals.
//!
//! In: a trial, a directory, a request to stop. Out: its sums. Limits: no intervals, no counters, no warmup; all trials use one
//! instance, so they must agree on its data.

use crate::PREPARE_AT_MOST;
use crate::error::RunnerError;
use engine::data_set::SetUse;
use engine::{Instance, StartContext, WorkloadClients};
use host::TargetError;
use host::cpu::EngineCpus;
use host::device::DestroyConsent;
use load::{ArrivalParts, LoadEnd, LoadOutcome, MonotonicClock, PhasePlan, PhaseSetup, Sink, Stop, run_phases};
use model::{Event, IntervalRow, Nanos, Pacing, Phase, Tick, Times, Trial};
use std::path::Path;
use std::sync::Arc;

/// An instance with its data, ready for trials.
pub struct AdHocRun {
    instance: Box<dyn Instance>,
    stop: Arc<Stop>,
}

/// The sums of one run phase.
#[derive(Default)]
pub struct PhaseTotals {
    /// Operations done within the phase.
    pub ops: u64,
    /// Payload that they moved.
    pub bytes: u64,
    /// CPU time of the clients for them, user and kernel.
    pub cpu_ns: u64,
    /// Service times of all operations, also of those that began in the phase and ended after it: these are the slow ones.
    pub service: Times,
    /// When the phase began.
    pub start: Tick,
    /// How long it lasted.
    pub took: Nanos,
}

impl AdHocRun {
    /// Starts the engine of `trial` in `dir` and makes the trial's data.
    pub fn start(trial: &Trial, dir: &Path, stop: &Arc<Stop>) -> Result<AdHocRun, RunnerError> {
        let mut started = AdHocRun { instance: start_alone(trial, dir, &[], SetUse::None)?, stop: stop.clone() };
        match started.make_data(trial) {
            Ok(()) => Ok(started),
            Err(fault) => started.stop().and(Err(fault)),
        }
    }

    /// Runs the run phase of `trial`. At least one operation was done in it.
    pub fn measure(&mut self, trial: &Trial) -> Result<PhaseTotals, RunnerError> {
        self.instance.check_trial(trial)?;
        let loading = self.instance.make_clients(trial)?;
        let (length, ops_max) = (trial.phases.run, trial.phases.ops_max);
        let run = PhasePlan { phase: Phase::Run, length, ops_max, pacing: trial.load.pacing };
        let sums = self.run_phase(loading, run, trial)?;
        match sums.ops {
            0 => Err(RunnerError::failed(format!("no operation was done in {length}; measure for longer"))),
            _ => Ok(sums),
        }
    }

    /// Stops the engine and removes its data.
    pub fn stop(self) -> Result<(), RunnerError> {
        Ok(self.instance.stop()?)
    }

    fn make_data(&mut self, trial: &Trial) -> Result<(), RunnerError> {
        if let Some(loading) = self.instance.make_loaders(trial)? {
            let pacing = Pacing::Closed { think: Nanos(0) };
            let prepare = PhasePlan { phase: Phase::Prepare, length: PREPARE_AT_MOST, ops_max: None, pacing };
            self.run_phase(loading, prepare, trial)?;
        }
        Ok(self.instance.finish_load().map(drop)?)
    }

    fn run_phase(&self, loading: WorkloadClients, phase: PhasePlan, trial: &Trial) -> Result<PhaseTotals, RunnerError> {
        let setup = PhaseSetup {
            kinds: loading.kinds.len(),
            // One interval is as long as the run phase: what ends in the grace time is then in rows of its own.
            interval: trial.phases.run,
            grace: trial.phases.grace,
            silence: None,
            on_error: trial.on_error,
            seed: trial.seed,
            parts: ArrivalParts::WHOLE,
        };
        let mut sums = PhaseTotals::default();
        let outcome = run_phases(loading, &[phase], &setup, &MonotonicClock::start(), &self.stop, &mut sums);
        check_outcome(outcome).map(|()| sums)
    }
}

/// An instance for `trial` in `dir`, without limits, CPUs and a file system of its own.
pub(crate) fn start_alone(
    trial: &Trial,
    dir: &Path,
    destroy: &[DestroyConsent],
    data_set: SetUse<'_>,
) -> Result<Box<dyn Instance>, TargetError> {
    let (engine, data) = (engine::engine_of(trial), engine::shape_of(trial));
    (engine.start)(&StartContext {
        engine,
        trial,
        parent: dir,
        data: &data,
        destroy,
        cgroups: None,
        cpus: &EngineCpus::default(),
        volume_daemon: None,
        joins: None,
        data_set,
    })
}

fn check_outcome(outcome: LoadOutcome) -> Result<(), RunnerError> {
    match outcome.ended {
        LoadEnd::Failed { text, .. } => Err(RunnerError::failed(text)),
        LoadEnd::Stopped(reason) => Err(RunnerError::Stopped(reason)),
        LoadEnd::AsPlanned if !outcome.hung.is_empty() => {
            let text = format!("{} clients were still blocked at the end of the grace time", outcome.hung.len());
            Err(RunnerError::failed(text))
        }
        LoadEnd::AsPlanned => Ok(()),
    }
}

impl PhaseTotals {
    pub fn ops_per_s(&self) -> f64 {
        self.ops as f64 / self.seconds()
    }

    /// The payload per second.
    pub fn bytes_per_s(&self) -> f64 {
        self.bytes as f64 / self.seconds()
    }

    /// CPU time of the clients per operation.
    pub fn cpu_ns_per_op(&self) -> f64 {
        self.cpu_ns as f64 / self.ops as f64
    }

    /// How long the phase lasted. Never zero, so that rates can be made of it.
    pub fn seconds(&self) -> f64 {
        self.took.max(Nanos(1)).as_secs_f64()
    }
}

impl Sink for PhaseTotals {
    fn begin_phase(&mut self, _: Phase, start: Tick) {
        self.start = start;
    }

    fn interval(&mut self, rows: Vec<IntervalRow>, _: Vec<Event>, _: Tick) {
        for row in rows {
            row.kinds.iter().for_each(|kind| self.service.add(&kind.service));
            // Later rows are of the grace time: their operations are slow ones, and in no rate.
            if row.index == 0 {
                self.ops += row.kinds.iter().map(|kind| kind.ok).sum::<u64>();
                self.bytes += row.kinds.iter().map(|kind| kind.bytes).sum::<u64>();
                self.cpu_ns += row.generator.cpu_user_ns + row.generator.cpu_system_ns;
            }
        }
    }

    fn end_phase(&mut self, _: Phase, end: Tick, _: u64, _: u64) {
        self.took = end.since(self.start);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{Generator, KindRow, OpKind};

    fn row(index: u32, ok: u64, service_ns: u64) -> IntervalRow {
        let mut service = Times::default();
        service.record_n(service_ns, ok);
        let kind = KindRow { ok, bytes: ok * 4096, response: service.clone(), service, ..KindRow::empty(OpKind(0)) };
        let generator = Generator { cpu_user_ns: 100, cpu_system_ns: 300, ..Generator::default() };
        let (start, length) = (Tick(0), Nanos::from_secs(1));
        IntervalRow { phase: Phase::Run, index, start, length, kinds: vec![kind], generator }
    }

    #[test]
    fn rates_are_of_what_ended_within_the_phase_and_service_times_of_all() {
        let mut sums = PhaseTotals::default();
        sums.begin_phase(Phase::Run, Tick(1_000));
        sums.interval(vec![row(0, 6, 1_000)], Vec::new(), Tick(0));
        sums.interval(vec![row(0, 2, 2_000), row(1, 1, 9_000)], Vec::new(), Tick(0));
        sums.end_phase(Phase::Run, Tick(2_000_001_000), 0, 0);
        assert_eq!((sums.ops_per_s(), sums.bytes_per_s()), (4.0, 4.0 * 4096.0));
        assert_eq!((sums.cpu_ns_per_op(), sums.service.len(), sums.service.max_ns()), (100.0, 9, 9_000));
    }
}
