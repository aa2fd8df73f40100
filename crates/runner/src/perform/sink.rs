//! Sends the results of a load to the conductor, once per interval, with the counters of that interval.
//!
//! In: interval rows and events of the load, readings of the sampler. Out: messages to the conductor, and a request to stop before the
//! disk is full or when the engine has ended. Limits: it is called by the collector of the load and must return within an interval.

use super::CurrentTrial;
use super::instance::RunningInstance;
use crate::messages::{ConductorHandle, PerformerMessage};
use host::safety::WriteRoom;
use load::{MonotonicClock, Progress, Sink, Stop, StopReason};
use model::{Bytes, EndpointInterval, Event, EventKind, IntervalRow, Phase, SKIPPED_EVENT, Tick};

/// The sink of the phases of one trial.
pub(super) struct PhaseSink<'a> {
    pub current: &'a mut CurrentTrial,
    pub running: Option<&'a RunningInstance>,
    pub stop: &'a Stop,
    pub conductor: &'a mut dyn ConductorHandle,
    /// Whether the counters were read while all clients waited for the next phase.
    pub is_read: bool,
    /// How many operations are done.
    pub progress: Progress,
    pub clock: MonotonicClock,
}

impl PhaseSink<'_> {
    /// The event, once, with the reason why the load ends early.
    fn stop_event(&mut self, now: Tick) -> Option<Event> {
        let text = match self.stop.reason()? {
            StopReason::Interrupted => "interrupted by Ctrl-C or a signal",
            StopReason::Skipped => SKIPPED_EVENT,
            StopReason::Limit => "the disk is nearly full: its reserve would be touched",
            StopReason::Failure => return None, // the failure has an event of its own
            StopReason::Unrecorded => return None, // this cannot be recorded either
        };
        let first = !std::mem::replace(&mut self.current.stop_recorded, true);
        first.then(|| Event::new(now, EventKind::Stopped, text))
    }
}

/// Ends the load before it touches the disk's reserve: other programs fill disks, too.
pub(super) fn stop_if_full(grows_in: Option<&WriteRoom>, stop: &Stop) {
    let full = grows_in.and_then(host::safety::room_left) == Some(Bytes(0));
    if full && stop.reason().is_none() {
        stop.request(StopReason::Limit);
    }
}

/// Ends a load that counts its errors if only errors can follow.
fn stop_if_ended(running: Option<&RunningInstance>, stop: &Stop) {
    if stop.reason().is_none() && running.is_some_and(|running| running.instance.has_ended()) {
        stop.request(StopReason::Failure);
    }
}

impl Sink for PhaseSink<'_> {
    fn take_progress(&mut self, progress: Progress) {
        self.progress = progress;
    }

    fn still_opening(&mut self, opened: usize, clients: usize) {
        let text = format!(
            "{opened} of {clients} clients are ready; the others have waited for 5 s for their connections or files: the engine, or what is \
             between, does not answer"
        );
        self.conductor.deliver(PerformerMessage::Note(text));
    }

    fn all_ready(&mut self) {
        self.current.sampler.read_and_wait();
        self.is_read = true;
    }

    fn begin_phase(&mut self, phase: Phase, start: Tick) {
        if std::mem::take(&mut self.is_read) {
            self.current.sampler.read_from(start)
        } else {
            self.current.sampler.read_now()
        }
        self.current.log.begin_phase();
        if phase == Phase::Run {
            let CurrentTrial { stacks, trial, .. } = &mut *self.current;
            stacks.begin(trial, start, self.progress.clone(), self.clock);
        }
        self.conductor.deliver(PerformerMessage::PhaseBegan(phase, start));
    }

    fn interval(&mut self, intervals: Vec<IntervalRow>, mut events: Vec<Event>, now: Tick) {
        let (counters, seen) = self.current.sampler.drain();
        let settings = self.current.settings.drain();
        let taken = self.current.stacks.drain();
        events.extend(taken.events);
        events.extend(self.current.log.drain(now));
        events.extend(seen);
        events.extend(settings.events);
        // Before the events are sent, so that a stop in this interval is one of them.
        stop_if_full(self.current.grows_in.as_ref(), self.stop);
        stop_if_ended(self.running, self.stop);
        events.extend(self.stop_event(now));
        self.conductor.deliver(PerformerMessage::Rows { intervals, counters, events, at: now });
        if !taken.snapshots.is_empty() {
            self.conductor.deliver(PerformerMessage::Stacks(taken.snapshots));
        }
        if !settings.facts.is_empty() {
            self.conductor.deliver(PerformerMessage::Facts(settings.facts));
        }
    }

    fn endpoints(&mut self, rows: Vec<EndpointInterval>) {
        self.conductor.deliver(PerformerMessage::Endpoints(rows));
    }

    fn load_began(&mut self, at: Tick) {
        self.conductor.deliver(PerformerMessage::LoadBegan(at));
    }

    fn is_enough(&self) -> bool {
        self.conductor.is_enough()
    }

    fn all_ended(&mut self) {
        self.current.stacks.stop();
        self.current.sampler.read_now();
    }

    fn end_phase(&mut self, phase: Phase, end: Tick, offered: u64, unserved: u64) {
        self.conductor.deliver(PerformerMessage::PhaseEnded { phase, end, offered, unserved });
    }
}
