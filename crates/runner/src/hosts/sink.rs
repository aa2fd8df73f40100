//! Takes what a performer of an agent delivers: into the run file of the agent first, then to the bus.
//!
//! In: messages of one point. Out: rows in the agent's run file, reports in its outbox. Limits: it is called by the thread that stores,
//! once an interval, and waits for no other host: a report is written to a file, and another thread sends it.

use super::control::{AgentControl, DataStage};
use super::run_clock::RunClock;
use super::wire::{PointReport, Report, to_bytes};
use crate::conduct::recorder::PointRecorder;
use crate::error::RunnerError;
use crate::messages::{ConductorHandle, OpenedTrial, PerformerMessage};
use bus::Outbox;
use load::StopReason;
use model::{CommonData, Fact, HostRows, Tick, Trial};

/// The conductor of one point, as the performer of an agent sees it.
pub(super) struct AgentSink<'a> {
    pub recorder: PointRecorder<'a>,
    pub outbox: &'a Outbox,
    pub control: &'a AgentControl,
    pub clock: &'a RunClock,
    pub point: u32,
    /// Whether clients run here.
    pub loads: bool,
    /// When the load began, by the clock of this host.
    pub began: Option<Tick>,
}

impl AgentSink<'_> {
    /// Reports something of the point.
    pub fn report(&self, report: PointReport) {
        let report = Report::Of { point: self.point, report };
        if self.outbox.push(&to_bytes(&report)).is_err() {
            // The disk is full, and the run file is on the same: the load is not recorded any more.
            self.recorder.stop.request(StopReason::Unrecorded);
        }
    }

    /// Reports rows that were made at `at`; 0 if they are of no interval.
    fn report_rows(&self, rows: HostRows, at: Tick) {
        let rows = self.clock.in_run_time(rows);
        let at = if at == Tick(0) { at } else { self.clock.run_time(at) };
        self.report(PointReport::Rows(Box::new(rows), at));
    }

    fn report_opened(&self, opened: &OpenedTrial) {
        let sources = opened.sources.clone();
        self.report(if self.loads {
            // The sources go with the rows: they are of this host, and the rest is of the point.
            PointReport::Opened(Box::new(OpenedTrial { sources: Vec::new(), ..opened.clone() }))
        } else {
            PointReport::Observing { endpoint: engine::find_endpoint_here(self.recorder.trial) }
        });
        self.report_rows(HostRows { sources, ..HostRows::default() }, Tick(0));
    }

    fn pass_on(&mut self, message: &PerformerMessage) {
        let rows = HostRows::default;
        match message {
            PerformerMessage::Note(text) => self.report(PointReport::Note(text.clone())),
            PerformerMessage::Opened(opened) => self.report_opened(opened),
            PerformerMessage::Background { groups, facts } => {
                self.report(PointReport::Background { groups: groups.clone(), facts: facts.clone() });
            }
            PerformerMessage::PhaseBegan(phase, start) => {
                self.report(PointReport::PhaseBegan(*phase, self.clock.run_time(*start)));
            }
            PerformerMessage::LoadBegan(at) => {
                self.began.get_or_insert(*at);
            }
            PerformerMessage::Rows { intervals, counters, events, at } => {
                let (intervals, counters, mut events) = (intervals.clone(), counters.clone(), events.clone());
                events.extend(self.clock.take_jump());
                self.report_rows(HostRows { intervals, counters, events, ..rows() }, *at);
            }
            PerformerMessage::PhaseEnded { phase, end, offered, unserved } => {
                let (phase, end, offered, unserved) = (*phase, self.clock.run_time(*end), *offered, *unserved);
                self.report(PointReport::PhaseEnded { phase, end, offered, unserved });
            }
            PerformerMessage::LastReadings(counters, events) => {
                let (counters, events) = (counters.clone(), events.clone());
                self.report_rows(HostRows { counters, events, ..rows() }, Tick(0));
            }
            PerformerMessage::Endpoints(endpoints) => {
                self.report_rows(HostRows { endpoints: endpoints.clone(), ..rows() }, Tick(0));
            }
            PerformerMessage::Stacks(stacks) => {
                self.report_rows(HostRows { stacks: stacks.clone(), ..rows() }, Tick(0));
            }
            PerformerMessage::Facts(facts) => self.report(PointReport::Facts(facts.clone())),
            PerformerMessage::Unrecorded(rows) => {
                self.report(PointReport::Unrecorded(self.clock.intervals_in_run_time(rows.clone())));
            }
            PerformerMessage::ReadingBack(done, total) => self.report(PointReport::ReadingBack(*done, *total)),
            // Only the coordinator has hosts, and agents watch no server that others load.
            PerformerMessage::Observed(_)
            | PerformerMessage::Host(_)
            | PerformerMessage::HostRows { .. }
            | PerformerMessage::HostEvent(..) => {}
        }
    }
}

impl ConductorHandle for AgentSink<'_> {
    fn accept_engine(&mut self, _: &Trial, _: &[Fact]) -> Result<(), RunnerError> {
        Ok(()) // the coordinator compares: it knows the earlier points
    }

    fn announce_data(&mut self, data: &CommonData) -> Result<(), RunnerError> {
        self.report(PointReport::Shared(data.clone()));
        Ok(())
    }

    fn await_parts(&mut self) -> Result<(), RunnerError> {
        self.report(PointReport::PartMade);
        // The host that made the tables completes the data.
        let is_first = self.recorder.trial.host_part().first() == 0;
        self.control.await_data(self.point, if is_first { DataStage::Made } else { DataStage::Complete })
    }

    fn deliver(&mut self, message: PerformerMessage) {
        // A clone shares the memory of its histograms.
        self.recorder.deliver(message.clone());
        self.pass_on(&message);
    }

    fn is_enough(&self) -> bool {
        self.control.is_enough(self.point)
    }
}
