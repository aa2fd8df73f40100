//! Performs steps again because the data that they left is gone: a run was interrupted in the middle of a sequence, and its next step
//! needs the data of the steps before it.
//!
//! In: a new instance, and the steps before the point. Out: their data, when they began and ended, and an event for each.
//! Limits: they are not measured again. Their own points are in the run file already.

use super::sink::stop_if_full;
use super::{measured_phases, perform, phase_setup, prepare_phase};
use crate::error::RunnerError;
use crate::messages::{ConductorHandle, PerformerMessage};
use engine::{Instance, ResetFor, WorkloadClients};
use host::safety::WriteRoom;
use load::{Clock, MonotonicClock, Sink, Stop};
use model::{Event, EventKind, IntervalRow, Phase, Tick, Trial};
use std::sync::Arc;

/// What steps that are performed again need.
pub(super) struct StepReplayer<'a> {
    /// The clock of the run.
    pub clock: &'a MonotonicClock,
    /// The request to stop them.
    pub stop: &'a Arc<Stop>,
    /// The receiver of their rows.
    pub conductor: &'a mut dyn ConductorHandle,
    /// Where their data grows.
    pub grows_in: Option<WriteRoom>,
}

/// What was performed again, as a phase of the point that needed it.
pub(super) struct ReplayedSteps {
    pub start: Tick,
    pub end: Tick,
    /// One for each step.
    pub events: Vec<Event>,
    /// The steps by name.
    pub steps: Vec<String>,
}

impl ReplayedSteps {
    /// The phase `prepare` of the point, as messages.
    pub fn into_messages(self) -> [PerformerMessage; 3] {
        let ReplayedSteps { start, end, events, .. } = self;
        let rows = PerformerMessage::LastReadings(Vec::new(), events);
        [
            PerformerMessage::PhaseBegan(Phase::Prepare, start),
            rows,
            PerformerMessage::PhaseEnded { phase: Phase::Prepare, end, offered: 0, unserved: 0 },
        ]
    }
}

/// The sink of a step: it counts.
struct OpCounter<'a, 'b> {
    replayer: &'a mut StepReplayer<'b>,
    ops: u64,
}

impl StepReplayer<'_> {
    /// Makes the data of `instance` by `loaders`, if there are any, and performs `steps` on it.
    pub fn perform(
        &mut self,
        instance: &mut dyn Instance,
        loaders: Option<WorkloadClients>,
        steps: &[Trial],
    ) -> Result<ReplayedSteps, RunnerError> {
        let start = self.clock.now();
        if let (Some(loading), Some(first)) = (loaders, steps.first()) {
            self.count_ops(loading, first, &[prepare_phase()])?;
            instance.finish_load()?;
        }
        let mut events = Vec::new();
        for (nth, trial) in steps.iter().enumerate() {
            if nth > 0 {
                instance.reset(ResetFor::NextStep)?;
            }
            let began = self.clock.now();
            let loading = instance.make_clients(trial)?;
            let ops = self.count_ops(loading, trial, &measured_phases(trial))?;
            let now = self.clock.now();
            let seconds = now.since(began).as_secs_f64();
            let text = format!("`{}` performed again: {ops} operations in {seconds:.1} s", step_name(trial));
            events.push(Event::new(now, EventKind::Phase, text));
        }
        instance.reset(ResetFor::NextStep)?; // the point itself is a later step
        Ok(ReplayedSteps { start, end: self.clock.now(), events, steps: steps.iter().map(step_name).collect() })
    }

    /// Runs the phases of `plan`. Returns how many operations were done.
    fn count_ops(
        &mut self,
        loading: WorkloadClients,
        trial: &Trial,
        plan: &[load::PhasePlan],
    ) -> Result<u64, RunnerError> {
        let (setup, clock, stop) = (phase_setup(trial, loading.kinds.len()), *self.clock, self.stop.clone());
        let mut counted = OpCounter { replayer: self, ops: 0 };
        perform(loading, plan, &setup, &clock, &stop, &mut counted)?;
        Ok(counted.ops)
    }
}

/// The name of the step that `trial` is.
fn step_name(trial: &Trial) -> String {
    let steps = workload::find(&trial.workload.name).and_then(|def| def.entry.steps());
    let step = steps.and_then(|(name, _)| trial.workload.params.0.get(name));
    step.map_or_else(|| trial.workload.name.clone(), ToString::to_string)
}

impl Sink for OpCounter<'_, '_> {
    fn begin_phase(&mut self, _: Phase, _: Tick) {}

    fn interval(&mut self, rows: Vec<IntervalRow>, _: Vec<Event>, _: Tick) {
        self.ops += rows.iter().flat_map(|row| &row.kinds).map(|kind| kind.ok).sum::<u64>();
        stop_if_full(self.replayer.grows_in.as_ref(), self.replayer.stop);
        self.replayer.conductor.deliver(PerformerMessage::Unrecorded(rows));
    }

    fn end_phase(&mut self, _: Phase, _: Tick, _: u64, _: u64) {}
}
