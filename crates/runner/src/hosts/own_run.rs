//! The run as one agent measures and records it: its own run file, its performer, its outbox.
//!
//! In: orders. Out: points in the run file of this host, reports for the coordinator. Limits: one point at a time.

use super::control::AgentControl;
use super::guard::OwnChoices;
use super::observer::HostObserver;
use super::run_clock::RunClock;
use super::sink::AgentSink;
use super::wire::{AgentInfo, PointMember, PointReport, Report, WholeAssignment, WireFault, to_bytes};
use crate::conduct::recorder::PointRecorder;
use crate::error::RunnerError;
use crate::events::{PointEnd, RunEvent, RunObserver};
use crate::messages::{Assignment, Performer};
use crate::perform::TrialPerformer;
use crate::preflight::{HeldPlaces, RunSite, create_run_of_host};
use bus::{Outbox, OutboxSender};
use load::{Stop, StopReason};
use model::{Catalogue, Phase, Plan, PointState, Tick};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use store::{PointId, RunWriter};

/// How long the last report of an agent that breaks may take.
const LEAVE_WAIT: Duration = Duration::from_secs(5);
/// How long the end of a run waits until the last reports are on the bus.
const FLUSH_WAIT: Duration = Duration::from_secs(30);

/// What an agent has of a run.
pub(super) struct OwnRun<'a> {
    pub file: PathBuf,
    writer: RunWriter,
    outbox: Arc<Outbox>,
    sender: Arc<OutboxSender>,
    clock: Arc<RunClock>,
    control: Arc<AgentControl>,
    stop: Arc<Stop>,
    performer: Box<dyn Performer + 'a>,
    choices: OwnChoices,
    loads: bool,
    incarnation: AgentInfo,
    open: Option<OpenPoint>,
    /// Why a point failed on this host, of the first that did.
    fault: Option<RunnerError>,
    /// Where it measures. Behind the performer, whose data goes first.
    _places: Option<HeldPlaces>,
}

/// A run that is over on this host.
pub(super) struct OwnEnd {
    pub file: PathBuf,
    /// Why a point failed on this host.
    pub fault: Option<RunnerError>,
}

/// The point that is being measured.
struct OpenPoint {
    number: u32,
    assignment: Assignment,
    /// Its number in the run file of this host, as soon as it is there.
    id: Option<PointId>,
    phase: Phase,
    /// When that began, and up to when it is recorded.
    recorded: (Tick, Tick),
}

/// The run that an agent takes part in.
pub(super) struct NewRun<'a> {
    pub run_id: String,
    pub started_unix_ms: u64,
    pub plan: &'a Plan,
    pub agent: &'a AgentInfo,
    pub choices: OwnChoices,
    pub engine_pid: Option<u32>,
    pub places: Option<HeldPlaces>,
}

/// What every part of an agent needs.
pub(super) struct AgentParts {
    pub outbox: Arc<Outbox>,
    pub sender: Arc<OutboxSender>,
    pub clock: Arc<RunClock>,
    pub control: Arc<AgentControl>,
    pub stop: Arc<Stop>,
}

impl<'a> OwnRun<'a> {
    /// Makes the run file of this host for `run`, and whoever performs its trials.
    pub fn create(
        run: NewRun<'_>,
        parts: AgentParts,
        site: &'a RunSite,
        observer: &mut dyn RunObserver,
    ) -> Result<OwnRun<'a>, RunnerError> {
        let NewRun { run_id, started_unix_ms, plan, agent, choices, engine_pid, places } = run;
        let AgentParts { outbox, sender, clock, control, stop } = parts;
        let name = format!("{run_id}-{}", agent.name);
        let (file, writer) = create_run_of_host(plan, &name, started_unix_ms, site, observer)?;
        let loads = agent.role.loads();
        let performer: Box<dyn Performer + 'a> = if loads {
            Box::new(TrialPerformer::new(plan, site, clock.clock(), stop.clone()))
        } else {
            Box::new(HostObserver::new(site, engine_pid, clock.clock(), stop.clone()))
        };
        let (incarnation, open, fault) = (agent.clone(), None, None);
        Ok(OwnRun {
            file,
            writer,
            outbox,
            sender,
            clock,
            control,
            stop,
            performer,
            choices,
            loads,
            incarnation,
            open,
            fault,
            _places: places,
        })
    }

    /// Reports something that is not of one point.
    pub fn report(&self, report: &Report) {
        // A full disk ends the point that is measured; between points the lease shows that the agent is gone.
        let _ = self.outbox.push(&to_bytes(report));
    }

    /// Gets ready for `point`.
    pub fn prepare(
        &mut self,
        point: u32,
        whole: WholeAssignment,
        members: &[PointMember],
        catalogue: &Catalogue,
        observer: &mut dyn RunObserver,
    ) {
        self.control.begin_point(point);
        self.clock.begin_point();
        let assignment = self.own_assignment(whole, members, catalogue);
        let ready = assignment.and_then(|assignment| {
            observer.on(RunEvent::PointBegan { number: point as usize - 1, trial: &assignment.trial });
            let recorded = (Tick(0), Tick(0));
            let (phase, assignment_of_point) = (Phase::Prepare, assignment.clone());
            self.open = Some(OpenPoint { number: point, assignment: assignment_of_point, id: None, phase, recorded });
            self.with_sink(observer, |performer, sink| performer.prepare(&assignment, sink))
        });
        match ready {
            Ok(()) => {
                let (can_restore, clock) = (self.performer.can_restore(), self.clock.host_clock());
                self.report(&Report::Of { point, report: PointReport::Ready { can_restore, clock } });
            }
            Err(error) => self.settle(point, Err(error), None, observer),
        }
    }

    /// The assignment as this host performs it.
    fn own_assignment(
        &self,
        whole: WholeAssignment,
        members: &[PointMember],
        catalogue: &Catalogue,
    ) -> Result<Assignment, RunnerError> {
        let odd = || {
            RunnerError::Unsupported(
                "the order does not fit together; use the same version of plimsoll on all hosts".into(),
            )
        };
        let assignment = self.choices.apply(whole.into_assignment().ok_or_else(odd)?, catalogue)?;
        let hosts = members.iter().filter(|member| member.place.is_some()).count() as u32;
        let own = members
            .iter()
            .find(|member| member.name == self.incarnation.name && member.incarnation == self.incarnation.incarnation);
        match own.ok_or_else(odd)?.place {
            Some(place) => super::point::share_of(&assignment, place, hosts),
            None => Ok(assignment),
        }
    }

    /// Runs the load of the point that is ready, from `at` of the run on, and settles it.
    pub fn go(&mut self, point: u32, at: Tick, observer: &mut dyn RunObserver) {
        if self.open.as_ref().is_none_or(|open| open.number != point) {
            return; // an order for a point that this agent is not part of
        }
        let planned = self.clock.own_time(at);
        let mut began = None;
        let measured = self.with_sink(observer, |performer, sink| {
            let measured = performer.go(planned, sink);
            began = sink.began;
            measured
        });
        let skew_ns = began.map(|began| began.0 as i64 - planned.0 as i64);
        self.settle(point, measured, skew_ns, observer);
    }

    /// Ends the point, whose load ended as `measured`.
    fn settle(
        &mut self,
        point: u32,
        measured: Result<(), RunnerError>,
        start_skew_ns: Option<i64>,
        observer: &mut dyn RunObserver,
    ) {
        let measured = match self.open {
            Some(_) => self.with_sink(observer, |performer, sink| performer.settle(measured, sink)),
            None => measured,
        };
        let id = self.open.take().and_then(|open| open.id);
        let state = measured.as_ref().map_or_else(RunnerError::point_state, |()| PointState::Complete);
        let text = measured.as_ref().err().map(ToString::to_string);
        let recorded = id.map_or(Ok(()), |id| self.writer.finish_point(id, state, text.as_deref()));
        let measured = measured.and(recorded.map_err(RunnerError::from));
        let end = if measured.as_ref().is_err_and(RunnerError::is_skip) {
            PointEnd::Skipped
        } else {
            PointEnd::Recorded(state)
        };
        observer.on(RunEvent::PointEnded { point: id, end, is_continued: false });
        let fault = measured.as_ref().err().map(WireFault::from);
        let clock = self.clock.host_clock();
        self.report(&Report::Of { point, report: PointReport::Settled { fault, clock, start_skew_ns } });
        self.control.end_point();
        self.note_fault(measured);
    }

    /// Keeps why a point failed here. One that was given up by order failed elsewhere, if it did.
    fn note_fault(&mut self, measured: Result<(), RunnerError>) {
        let own = measured.err().filter(|error| !error.is_skip());
        self.fault = self.fault.take().or(own);
    }

    /// Gives up the point that waits for its load, if that was ordered.
    pub fn end_if_skipped(&mut self, observer: &mut dyn RunObserver) {
        let Some(reason) = self.stop.reason() else { return };
        if let Some(point) = self.open.as_ref().map(|open| open.number) {
            self.settle(point, Err(RunnerError::Stopped(reason)), None, observer);
        }
    }

    fn with_sink(
        &mut self,
        observer: &mut dyn RunObserver,
        work: impl FnOnce(&mut dyn Performer, &mut AgentSink) -> Result<(), RunnerError>,
    ) -> Result<(), RunnerError> {
        let open = self.open.as_mut().expect("a point is open");
        let recorder = PointRecorder {
            writer: &mut self.writer,
            observer,
            stop: &self.stop,
            trial: &open.assignment.trial,
            interruption: &mut None,
            judge: None,
            point: open.id,
            broken: None,
            phase: open.phase,
            recorded: open.recorded,
        };
        let (outbox, control, clock) = (&*self.outbox, &*self.control, &*self.clock);
        let mut sink =
            AgentSink { recorder, outbox, control, clock, point: open.number, loads: self.loads, began: None };
        let done = work(&mut *self.performer, &mut sink);
        let recorder = sink.recorder;
        (open.id, open.phase, open.recorded) = (recorder.point, recorder.phase, recorder.recorded);
        recorder.result(done)
    }

    /// Stops the engine and removes its data.
    pub fn clear(&mut self, point: u32) {
        let cleared = self.performer.clear();
        let fault = cleared.as_ref().err().map(WireFault::from);
        self.report(&Report::Cleared { point, fault });
        self.note_fault(cleared);
    }

    /// Reports that this host leaves the run, and waits a little until that is on the bus.
    pub fn leave(&self, why: &str) {
        self.report(&Report::Left(why.into()));
        self.outbox.wait_sent(LEAVE_WAIT);
    }

    /// Ends the run on this host: the data is removed, the last reports are sent, the run file is finished.
    pub fn finish(mut self) -> Result<OwnEnd, RunnerError> {
        let removed = self.performer.clear();
        let is_interrupted = self.stop.reason() == Some(StopReason::Interrupted);
        if is_interrupted {
            self.report(&Report::Left("it was interrupted".into()));
        }
        self.outbox.wait_sent(FLUSH_WAIT);
        drop(self.sender);
        let (file, fault) = (self.file, self.fault);
        removed.and(self.writer.finish().map_err(RunnerError::from)).map(|()| OwnEnd { file, fault })
    }
}
