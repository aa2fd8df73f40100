//! Where the load's results go: into the run file, once per interval, with the counters read meanwhile.
//!
//! In: interval rows and events of the load, readings of the sampler. Out: one transaction per interval, a line of progress,
//! and the word that a run by rounds is steady. Limits: a run file that cannot be written to ends the load; what it holds is kept.

use super::progress::Progress;
use super::rounds::Rounds;
use crate::exit::Fault;
use host::safety::Room;
use load::{Sink, Stop, StopReason};
use model::{Bytes, CounterSample, Event, EventKind, Fact, IntervalRow, OpKind, Phase, Phases, Tick};
use observe::Sampler;
use std::sync::Arc;
use store::{Batch, PointId, RunWriter, StoreError};

/// The sink of one point.
pub struct PointSink<'a> {
    writer: &'a mut RunWriter,
    point: PointId,
    sampler: Option<Sampler>,
    stop: &'a Arc<Stop>,
    /// Where the data is that may grow; `None` where it cannot.
    grows_in: Option<Room>,
    progress: &'a mut Progress,
    /// The first error of the run file.
    broken: Option<StoreError>,
    /// Whether the run file says already why the load ended early.
    told_stop: bool,
    /// What the run phase is judged by; `None` where its time ends it.
    rounds: Option<Rounds>,
}

impl<'a> PointSink<'a> {
    /// The sink of `point`, whose data grows in `grows_in`.
    pub fn new(
        writer: &'a mut RunWriter,
        point: PointId,
        sampler: Sampler,
        stop: &'a Arc<Stop>,
        grows_in: Option<Room>,
        progress: &'a mut Progress,
    ) -> Self {
        let (broken, told_stop, rounds) = (None, false, None);
        PointSink { writer, point, sampler: Some(sampler), stop, grows_in, progress, broken, told_stop, rounds }
    }

    /// The same sink, which ends the run phase as `phases` says.
    pub fn until(self, phases: &Phases) -> Self {
        PointSink { rounds: Rounds::of(phases), ..self }
    }

    /// Others work beside the clients of the run, as `facts` say; their operations, of `kinds`, are in no round.
    pub fn beside(&mut self, kinds: &[OpKind], facts: &[Fact]) {
        let written = self.writer.add_facts(self.point, facts);
        self.note(written);
        self.rounds.iter_mut().for_each(|rounds| rounds.leave_out(kinds));
    }

    /// Takes the last readings.
    pub fn close(mut self) -> Result<(), Fault> {
        let (counters, events) = self.sampler.take().expect("closed once").stop();
        self.record(&[], &counters, &events);
        self.broken.map_or(Ok(()), |error| Err(error.into()))
    }

    fn record(&mut self, intervals: &[IntervalRow], counters: &[CounterSample], events: &[Event]) {
        let recorded = self.writer.record(self.point, &Batch { intervals, counters, events });
        self.note(recorded);
    }

    /// Recording never stops the load by an error of its own, but a load that nobody records is pointless.
    fn note(&mut self, written: Result<(), StoreError>) {
        if let Err(error) = written {
            self.broken.get_or_insert(error);
            self.stop.request(StopReason::Unrecorded);
        }
    }

    /// The event that says, once, why the load ends early.
    fn stopped(&mut self, now: Tick) -> Option<Event> {
        let text = match self.stop.reason()? {
            StopReason::Interrupted => "interrupted by a signal",
            StopReason::Limit => "the disk is nearly full: its reserve would be touched",
            StopReason::Failure => return None, // the failure has an event of its own
            StopReason::Unrecorded => return None, // nor can this be recorded
        };
        let first = !std::mem::replace(&mut self.told_stop, true);
        first.then(|| Event::new(now, EventKind::Stopped, text))
    }
}

/// Others fill disks, too: ends the load before the reserve is touched.
pub fn watch_space(grows_in: Option<&Room>, stop: &Stop) {
    let full = grows_in.and_then(host::safety::room_left) == Some(Bytes(0));
    if full && stop.reason().is_none() {
        stop.request(StopReason::Limit);
    }
}

impl Sink for PointSink<'_> {
    fn begin_phase(&mut self, phase: Phase, start: Tick) {
        self.progress.phase(phase);
        self.sampler.iter().for_each(Sampler::read_now);
        if phase == Phase::Run {
            self.rounds.iter_mut().for_each(|rounds| rounds.begin(start));
        }
        let written = self.writer.begin_phase(self.point, phase, start);
        self.note(written);
    }

    fn interval(&mut self, rows: Vec<IntervalRow>, mut events: Vec<Event>, now: Tick) {
        let (counters, seen) = self.sampler.as_mut().expect("open while the load runs").drain();
        events.extend(seen);
        watch_space(self.grows_in.as_ref(), self.stop);
        events.extend(self.stopped(now));
        self.record(&rows, &counters, &events);
        self.progress.interval(&rows);
        self.rounds.iter_mut().for_each(|rounds| rounds.add(&rows, now));
    }

    fn is_enough(&self) -> bool {
        self.rounds.as_ref().is_some_and(Rounds::are_steady)
    }

    fn end_phase(&mut self, phase: Phase, end: Tick, offered: u64, unserved: u64) {
        let written = self.writer.end_phase(self.point, phase, end, offered, unserved);
        self.note(written);
    }
}
