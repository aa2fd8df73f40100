//! Performs a point on a host that makes no load: it only reads the counters of the machine.
//!
//! In: assignments of others, the time to begin. Out: counters and events, once an interval. Limits: it starts no engine. The process of the server is
//! the one that listens at the port of its URL, or that the user names. It ends by an order, or some time after the planned end of the load.

use crate::error::RunnerError;
use crate::messages::{Assignment, ConductorHandle, OpenedTrial, Performer, PerformerMessage};
use crate::preflight::RunSite;
use load::{Clock, MonotonicClock, Stop};
use model::{Fact, Nanos, Phase, PointTraits, ServerWay, Tick, Trial};
use observe::{EnginePids, GapGrain, Sampler, SamplingSubject};
use std::sync::Arc;

/// How long after the planned end of the load it goes on, if no order ends it.
const LONGER: Nanos = Nanos::from_secs(60);
/// How long one sleep takes at most: a request to stop is seen after it.
const LOOK_EACH: Nanos = Nanos::from_millis(100);

pub(super) struct HostObserver<'a> {
    site: &'a RunSite,
    engine_pid: Option<u32>,
    clock: MonotonicClock,
    stop: Arc<Stop>,
    current: Option<(Trial, Sampler)>,
}

impl<'a> HostObserver<'a> {
    /// The observer of the disk of `site`, whose ticks are those of `clock`. The engine's process is `engine_pid`, or is looked for.
    pub fn new(site: &'a RunSite, engine_pid: Option<u32>, clock: MonotonicClock, stop: Arc<Stop>) -> HostObserver<'a> {
        HostObserver { site, engine_pid, clock, stop, current: None }
    }

    /// What is read on this host for `trial`.
    fn subject(&self, trial: &Trial, conductor: &mut dyn ConductorHandle) -> SamplingSubject {
        let found = engine::find_server_here(trial, self.engine_pid);
        let text = match &found {
            Ok(here) => format!("it observes {} (process {})", here.program, here.pid),
            Err(why) => format!("it observes the machine, and not the server: {why}"),
        };
        conductor.deliver(PerformerMessage::Note(text));
        let of_dir = || host::filesystem::find_mount(&self.site.dir).ok().and_then(|place| place.device);
        let engine_pids = found.as_ref().map_or(EnginePids::Elsewhere, |here| EnginePids::Processes(vec![here.pid]));
        let device = found.ok().and_then(|here| here.device).or_else(of_dir);
        SamplingSubject { engine_pids, device, server: ServerWay::Unknown }
    }

    /// Passes on what was read, once an interval, until there is enough or `end` is over.
    fn follow(
        &self,
        interval: Nanos,
        sampler: &mut Sampler,
        end: Tick,
        conductor: &mut dyn ConductorHandle,
    ) -> Result<(), RunnerError> {
        let mut next = self.clock.now() + interval;
        while !conductor.is_enough() && self.clock.now() < end {
            if let Some(reason) = self.stop.reason() {
                return Err(RunnerError::Stopped(reason));
            }
            self.clock.wait_until(next.min(self.clock.now() + LOOK_EACH));
            if self.clock.now() >= next {
                let (counters, events) = sampler.drain();
                let at = self.clock.now();
                conductor.deliver(PerformerMessage::Rows { intervals: Vec::new(), counters, events, at });
                next = next.max(at) + interval;
            }
        }
        Ok(())
    }
}

impl Performer for HostObserver<'_> {
    fn prepare(&mut self, assignment: &Assignment, conductor: &mut dyn ConductorHandle) -> Result<(), RunnerError> {
        let subject = self.subject(&assignment.trial, conductor);
        let (mut sources, missing) = observe::open_all(&subject);
        sources.extend(observe::open_interfaces());
        conductor.deliver(PerformerMessage::Opened(Box::new(OpenedTrial {
            facts: missing.into_iter().map(|note| Fact::new("counters.missing", note)).collect(),
            traits: PointTraits::default(),
            params: Vec::new(),
            kinds: Vec::new(),
            sources: sources.iter().map(|source| source.describe()).collect(),
        })));
        let clock = self.clock;
        let trial = assignment.trial.clone();
        let sampler = Sampler::start(sources, trial.phases.interval, GapGrain::Load, move || clock.now());
        self.current = Some((trial, sampler));
        Ok(())
    }

    fn go(&mut self, at: Tick, conductor: &mut dyn ConductorHandle) -> Result<(), RunnerError> {
        let (trial, mut sampler) = self.current.take().expect("prepare leaves the trial open");
        let phases = trial.phases;
        sampler.read_from(at);
        conductor.deliver(PerformerMessage::PhaseBegan(Phase::Run, at));
        let end = at + phases.warmup + phases.run + phases.grace + LONGER;
        let followed = self.follow(phases.interval, &mut sampler, end, conductor);
        let (phase, end) = (Phase::Run, self.clock.now());
        conductor.deliver(PerformerMessage::PhaseEnded { phase, end, offered: 0, unserved: 0 });
        self.current = Some((trial, sampler));
        followed
    }

    fn settle(
        &mut self,
        measured: Result<(), RunnerError>,
        conductor: &mut dyn ConductorHandle,
    ) -> Result<(), RunnerError> {
        let Some((_, sampler)) = self.current.take() else { return measured };
        let (counters, events) = sampler.stop(observe::READING_WAIT);
        conductor.deliver(PerformerMessage::LastReadings(counters, events));
        measured
    }

    fn can_keep(&self, _: &Assignment) -> bool {
        true
    }

    fn clear(&mut self) -> Result<(), RunnerError> {
        self.current = None;
        Ok(())
    }
}
