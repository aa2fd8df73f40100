//! Steps that are performed again because the data that they left is gone: a run that was interrupted goes on in the middle of a
//! sequence, and its next step needs what the steps before it made.
//!
//! In: a new instance, and the steps before the point. Out: their data, when they began and ended, and an event for each.
//! Limits: nobody measures them. Their own points stand in the run file already, from when they were measured.

use super::progress::Progress;
use super::session::{perform, phases, prepare, setup};
use super::sink::watch_space;
use crate::exit::Fault;
use engine::{Instance, Loading, ResetFor};
use host::safety::Room;
use load::{Clock, MonotonicClock, Sink, Stop};
use model::{Event, EventKind, IntervalRow, Phase, Tick, Trial};
use std::sync::Arc;

/// What steps that are performed again need.
pub struct Again<'a> {
    /// The clock of the run.
    pub clock: &'a MonotonicClock,
    /// What may end them.
    pub stop: &'a Arc<Stop>,
    /// Where people see them.
    pub progress: &'a mut Progress,
    /// Where their data grows.
    pub grows_in: Option<Room>,
}

/// What was performed again, as a phase of the point that needed it.
pub struct Replayed {
    /// When it began,
    pub start: Tick,
    /// and ended.
    pub end: Tick,
    /// One for each step.
    pub events: Vec<Event>,
    /// The steps by name.
    pub steps: Vec<String>,
}

/// The sink of a step: it counts.
struct Counted<'a, 'b> {
    again: &'a mut Again<'b>,
    ops: u64,
}

impl Again<'_> {
    /// Makes the data of `instance` by `loaders`, where they are, and performs `steps` on it.
    pub fn perform(
        &mut self,
        instance: &mut dyn Instance,
        loaders: Option<Loading>,
        steps: &[Trial],
    ) -> Result<Replayed, Fault> {
        let start = self.clock.now();
        if let (Some(loading), Some(first)) = (loaders, steps.first()) {
            self.run(loading, first, &[prepare()])?;
            instance.finish_load()?;
        }
        let mut events = Vec::new();
        for (nth, trial) in steps.iter().enumerate() {
            if nth > 0 {
                instance.reset(ResetFor::NextStep)?;
            }
            let began = self.clock.now();
            let loading = instance.clients(trial)?;
            let ops = self.run(loading, trial, &phases(trial))?;
            let now = self.clock.now();
            let seconds = now.since(began).as_secs_f64();
            let text = format!("`{}` performed again: {ops} operations in {seconds:.1} s", step(trial));
            events.push(Event::new(now, EventKind::Phase, text));
        }
        instance.reset(ResetFor::NextStep)?; // the point itself is a later step
        Ok(Replayed { start, end: self.clock.now(), events, steps: steps.iter().map(step).collect() })
    }

    /// How many operations were done.
    fn run(&mut self, loading: Loading, trial: &Trial, plan: &[load::PhasePlan]) -> Result<u64, Fault> {
        let (setup, clock, stop) = (setup(trial, loading.kinds.len()), *self.clock, self.stop.clone());
        let mut counted = Counted { again: self, ops: 0 };
        perform(loading, plan, &setup, &clock, &stop, &mut counted)?;
        Ok(counted.ops)
    }
}

/// The step that `trial` is.
fn step(trial: &Trial) -> String {
    let steps = workload::find(&trial.workload.name).and_then(|def| def.entry.steps());
    let step = steps.and_then(|(name, _)| trial.workload.params.0.get(name));
    step.map_or_else(|| trial.workload.name.clone(), ToString::to_string)
}

impl Sink for Counted<'_, '_> {
    fn begin_phase(&mut self, _: Phase, _: Tick) {}

    fn interval(&mut self, rows: Vec<IntervalRow>, _: Vec<Event>, _: Tick) {
        self.ops += rows.iter().flat_map(|row| &row.kinds).map(|kind| kind.ok).sum::<u64>();
        watch_space(self.again.grows_in.as_ref(), self.again.stop);
        self.again.progress.interval(&rows);
    }

    fn end_phase(&mut self, _: Phase, _: Tick, _: u64, _: u64) {}
}
