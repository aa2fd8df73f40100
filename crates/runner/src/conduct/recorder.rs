//! Records one point: it writes the messages of a performer to the run file, once per interval, and passes them to the observer.
//!
//! In: the messages of a performer. Out: the point in the run file, events for the observer, and whether a run until steady is
//! steady. Limits: a run file that cannot be written ends the load; what it holds is kept.

use super::judge::RunJudge;
use super::resume::RunInterruption;
use crate::error::RunnerError;
use crate::events::{RunEvent, RunObserver};
use crate::messages::{ConductorHandle, OpenedTrial, PerformerMessage};
use load::{Stop, StopReason};
use model::{Event, EventKind, Fact, HostId, HostRows, IntervalRow, OpKind, Phase, Tick, Trial};
use store::{Batch, NewPoint, PointId, RunWriter, StoreError};

/// The recorder of one point.
pub(crate) struct PointRecorder<'a> {
    pub writer: &'a mut RunWriter,
    pub observer: &'a mut dyn RunObserver,
    pub stop: &'a Stop,
    pub trial: &'a Trial,
    /// The interruption before it, if the run was resumed.
    pub interruption: &'a mut Option<RunInterruption>,
    /// What may end the run phase before its time; `None` if time ends it.
    pub judge: Option<RunJudge>,
    /// The point, as soon as it is opened.
    pub point: Option<PointId>,
    /// The first error of the run file.
    pub broken: Option<StoreError>,
    /// The phase that began last.
    pub phase: Phase,
    /// When it began, and up to when it is recorded.
    pub recorded: (Tick, Tick),
}

impl PointRecorder<'_> {
    fn open_point(&mut self, opened: &OpenedTrial) {
        let new_point = NewPoint {
            trial: self.trial,
            facts: &opened.facts,
            traits: &opened.traits,
            params: &opened.params,
            kinds: &opened.kinds,
            sources: &opened.sources,
        };
        match self.writer.begin_point(&new_point) {
            Ok(point) => self.point = Some(point),
            Err(error) => self.note_broken(error),
        }
        // An event belongs to a point, so the gap is recorded with the first point after it.
        if let Some(event) = self.interruption.as_mut().and_then(RunInterruption::take_event) {
            self.record(&Batch { events: &[event], ..Batch::default() });
        }
    }

    fn begin_phase(&mut self, phase: Phase, start: Tick) {
        self.phase = phase;
        if self.broken.is_none() {
            self.recorded = (start, start);
        }
        self.observer.on(RunEvent::PhaseBegan(phase));
        if let (Phase::Run, Some(judge)) = (phase, &mut self.judge) {
            judge.begin_run(start);
        }
        self.write(|writer, point| writer.begin_phase(point, phase, start));
    }

    fn add_rows(&mut self, rows: &[IntervalRow], batch: &Batch, at: Tick) {
        self.record(batch);
        if self.broken.is_none() {
            self.recorded.1 = at;
        }
        let Batch { counters, events, .. } = *batch;
        self.observer.on(RunEvent::Interval { rows, counters, events, at: Some(at) });
        if let Some(judge) = &mut self.judge {
            judge.add_rows(rows, at);
        }
    }

    fn add_rows_of_host(&mut self, host: HostId, row: u64, rows: &HostRows, at: Tick) {
        self.write(|writer, point| writer.record_of_host(point, host, row, rows).map(drop));
        if at == Tick(0) {
            return; // they are of no interval
        }
        let HostRows { intervals, events, .. } = rows;
        // The counters of hosts have numbers of their own.
        self.observer.on(RunEvent::Interval { rows: intervals, counters: &[], events, at: Some(at) });
        if let Some(judge) = &mut self.judge {
            judge.add_rows_of_host(host, intervals, at);
        }
    }

    fn record(&mut self, batch: &Batch) {
        self.write(|writer, point| writer.record(point, batch));
    }

    /// A failed write does not end the point here, but asks the load to stop: it is no longer recorded. What comes after it is not written,
    /// either: there would be a hole before it.
    fn write(&mut self, work: impl FnOnce(&mut RunWriter, PointId) -> Result<(), StoreError>) {
        let Some(point) = self.point.filter(|_| self.broken.is_none()) else { return };
        if let Err(error) = work(self.writer, point) {
            self.note_broken(error);
        }
    }

    /// The result of a load that ended as `measured`. A recording that broke explains more than the load that was stopped for it.
    pub fn result(self, measured: Result<(), RunnerError>) -> Result<(), RunnerError> {
        let Some(error) = self.broken else { return measured };
        let (began, to) = self.recorded;
        Err(RunnerError::Unrecorded { error: Box::new(error), phase: self.phase.as_str(), end: to.since(began) })
    }

    fn note_broken(&mut self, error: StoreError) {
        self.broken.get_or_insert(error);
        self.stop.request(StopReason::Unrecorded);
    }
}

impl ConductorHandle for PointRecorder<'_> {
    fn accept_engine(&mut self, trial: &Trial, facts: &[Fact]) -> Result<(), RunnerError> {
        self.interruption.iter().try_for_each(|interruption| interruption.check_engine(trial, facts))
    }

    fn deliver(&mut self, message: PerformerMessage) {
        match message {
            PerformerMessage::Note(text) => self.observer.on(RunEvent::Note(&text)),
            PerformerMessage::Opened(opened) => {
                self.open_point(&opened);
                let OpenedTrial { kinds, sources, traits, facts, .. } = &*opened;
                let mut known = traits.clone();
                known.learn_all(facts);
                self.observer.on(RunEvent::PointOpened { kinds, sources, process: known.engine.process });
            }
            PerformerMessage::Background { groups, facts } => {
                let kinds: Vec<OpKind> = groups.iter().flat_map(|group| group.kinds.iter().copied()).collect();
                self.write(|writer, point| writer.set_background(point, groups));
                self.write(|writer, point| writer.add_facts(point, &facts));
                self.judge.iter_mut().for_each(|judge| judge.leave_out(&kinds));
            }
            PerformerMessage::PhaseBegan(phase, start) => self.begin_phase(phase, start),
            // Of one host it is in the lag of its clients.
            PerformerMessage::LoadBegan(_) => {}
            PerformerMessage::Rows { intervals, counters, events, at } => {
                let batch = Batch { intervals: &intervals, counters: &counters, events: &events, ..Batch::default() };
                self.add_rows(&intervals, &batch, at);
            }
            PerformerMessage::PhaseEnded { phase, end, offered, unserved } => {
                self.write(|writer, point| writer.end_phase(point, phase, end, offered, unserved));
            }
            PerformerMessage::LastReadings(counters, events) => {
                let events: &[Event] = &events;
                self.record(&Batch { counters: &counters, events, ..Batch::default() });
            }
            PerformerMessage::Endpoints(rows) => self.record(&Batch { endpoints: &rows, ..Batch::default() }),
            PerformerMessage::Stacks(stacks) => self.record(&Batch { stacks: &stacks, ..Batch::default() }),
            PerformerMessage::Observed(seen) => self.write(|writer, point| writer.set_observation(point, &seen)),
            PerformerMessage::Facts(facts) => self.write(|writer, point| writer.add_facts(point, &facts)),
            PerformerMessage::Unrecorded(rows) => {
                self.observer.on(RunEvent::Interval { rows: &rows, counters: &[], events: &[], at: None });
            }
            PerformerMessage::ReadingBack(done, total) => self.observer.on(RunEvent::ReadingBack { done, total }),
            PerformerMessage::Host(host) => {
                self.judge.iter_mut().filter(|_| host.share.is_some()).for_each(|judge| judge.expect_host(host.id));
                self.write(|writer, point| writer.set_host(point, &host));
            }
            PerformerMessage::HostRows { host, row, rows, at } => self.add_rows_of_host(host, row, &rows, at),
            PerformerMessage::HostEvent(host, event) => {
                let is_lost = event.kind == EventKind::HostLost;
                self.judge.iter_mut().filter(|_| is_lost).for_each(|judge| judge.forget_host(host));
                self.write(|writer, point| writer.record_event_of_host(point, host, &event));
            }
        }
    }

    fn is_enough(&self) -> bool {
        self.judge.as_ref().is_some_and(RunJudge::is_enough)
    }
}
