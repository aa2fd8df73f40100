//! Takes the reports of all agents, once each and in their order, and passes them on.
//!
//! In: entries of the streams of the agents. Out: messages for the conductor, and how far each agent is. Limits: a report that is missing is asked
//! for, and those after it wait. Nothing of a report is used before its authenticator, type and size were checked.

use super::coordinator::HostsPerformer;
use super::hosts_link::HostsLink;
use super::members::{HostAnswer, LoadingStage, Presence, ReportOrder};
use super::wire::{PointReport, Report, from_bytes, one_line};
use crate::error::RunnerError;
use crate::messages::{ConductorHandle, OpenedTrial, PerformerMessage};
use bus::StreamEntry;
use model::{Event, EventKind, HostRows, Phase, Tick};

impl HostsPerformer {
    /// Passes on what was reported since the last call; waits a little if that is nothing.
    pub(super) fn pass_on(&mut self, conductor: &mut dyn ConductorHandle) -> Result<(), RunnerError> {
        self.link.send_orders();
        for (nth, entry) in self.link.read()? {
            match self.link.agents[nth].order_of(entry.number) {
                ReportOrder::Next => self.take_entry(nth, entry, conductor)?,
                ReportOrder::Missing(from, to) => self.link.ask_again(nth, from, to),
                ReportOrder::Before | ReportOrder::Later => {}
            }
        }
        self.link.trim();
        for (nth, presence) in self.link.look_at_leases() {
            self.note_presence(nth, presence, conductor);
        }
        for (nth, why) in self.link.overdue() {
            self.lose(nth, &why, self.link.clock.run_now(), conductor);
        }
        let HostsLink { link, clock, .. } = &mut self.link;
        match link.ask(|bus| clock.compare(bus)) {
            Err(error) if !error.is_away() => Err(error.into()),
            _ => Ok(()),
        }
    }

    fn note_presence(&mut self, nth: usize, presence: Presence, conductor: &mut dyn ConductorHandle) {
        let (now, since) = (self.link.clock.run_now(), self.link.agents[nth].silent_at());
        let silent = |text: &str| (EventKind::HostSilent, text.to_owned());
        let (kind, text) = match presence {
            Presence::There => return,
            Presence::Silent => silent("its agent is silent"),
            Presence::Back => silent("its agent is there again"),
            Presence::Gone => {
                let why = format!("it was silent for {} s", self.setup.wait.as_secs());
                return self.lose(nth, &why, since, conductor);
            }
        };
        self.report_event(nth, kind, &text, now, conductor);
    }

    /// Agent `nth` is no part of the point any more, and was not since `at`.
    pub(super) fn lose(&mut self, nth: usize, why: &str, at: Tick, conductor: &mut dyn ConductorHandle) {
        let why = format!("{why}{}", self.data_left_by(nth));
        // What it did after its last rows is not known.
        let at = self.link.agents[nth].last_rows.map_or(at, |last| last.min(at));
        self.report_event(nth, EventKind::HostLost, &format!("it was given up: {why}"), at, conductor);
        self.link.agents[nth].lost = Some(why);
    }

    /// What agent `nth` has made on a server, and may leave there.
    fn data_left_by(&self, nth: usize) -> String {
        let common = self.common.as_ref().filter(|_| self.link.agents[nth].place == Some(0));
        common.map_or(String::new(), |common| {
            format!("; schema `{}`, which it made, may be left on the server", one_line(&common.schema))
        })
    }

    fn report_event(&mut self, nth: usize, kind: EventKind, text: &str, at: Tick, conductor: &mut dyn ConductorHandle) {
        let text = format!("{}: {text}", self.link.agents[nth].info.name);
        conductor.deliver(PerformerMessage::Note(text.clone()));
        if self.progress.is_opened() && self.link.agents[nth].is_member {
            self.enter_host(nth, conductor);
            conductor.deliver(PerformerMessage::HostEvent(self.link.agents[nth].id, Event::new(at, kind, text)));
        }
    }

    fn take_entry(
        &mut self,
        nth: usize,
        entry: StreamEntry,
        conductor: &mut dyn ConductorHandle,
    ) -> Result<(), RunnerError> {
        let number = entry.number;
        let Ok(payload) = entry.payload else {
            // Somebody without the key was faster. What the agent wrote is in its own file.
            self.link.ask_again(nth, number, number);
            return Ok(());
        };
        let name = self.link.agents[nth].info.name.clone();
        let report = from_bytes::<Report>(&payload, "a report", &name)?;
        if let Some(used) = self.link.agents[nth].note_read(number) {
            let _ = self.link.link.ask(|bus| bus.delete(&used)); // the bus removes it later
        }
        match report {
            Report::Began(fault) => self.link.agents[nth].began = Some(fault),
            Report::Of { point, report } if point == self.point && self.link.agents[nth].is_member => {
                self.take_report(nth, number, report, conductor)
            }
            Report::Of { .. } => {}
            Report::Cleared { point, fault } if point == self.point => {
                self.link.agents[nth].note_answered(HostAnswer::Cleared(fault));
            }
            Report::Cleared { .. } => {}
            Report::Taken(order) => self.link.agents[nth].note_taken(order),
            Report::Left(why) => self.lose(nth, &one_line(&why), self.link.clock.run_now(), conductor),
        }
        Ok(())
    }

    fn take_report(&mut self, nth: usize, row: u64, report: PointReport, conductor: &mut dyn ConductorHandle) {
        let is_first = self.link.agents[nth].place == Some(0);
        match report {
            PointReport::Note(text) => {
                let text = format!("{}: {}", self.link.agents[nth].info.name, one_line(&text));
                conductor.deliver(PerformerMessage::Note(text));
            }
            PointReport::Opened(opened) => self.open_on(nth, *opened, conductor),
            PointReport::Observing { endpoint } => {
                self.link.agents[nth].endpoint = endpoint.map(|name| one_line(&name));
                self.enter_host(nth, conductor);
            }
            PointReport::Background { groups, facts } if is_first => {
                conductor.deliver(PerformerMessage::Background { groups, facts });
            }
            PointReport::PhaseBegan(phase, start) if self.link.agents[nth].place.is_some() => {
                if phase == Phase::Prepare {
                    self.progress.begin_load(self.link.agents[nth].id, start);
                }
                if self.progress.begin_phase(phase) {
                    conductor.deliver(PerformerMessage::PhaseBegan(phase, start));
                }
            }
            PointReport::Rows(rows, at) => self.take_rows(nth, row, *rows, at, conductor),
            PointReport::PhaseEnded { phase, end, offered, unserved } if self.link.agents[nth].place.is_some() => {
                self.progress.end_phase(phase, end, offered, unserved);
            }
            PointReport::Facts(facts) if is_first => conductor.deliver(PerformerMessage::Facts(facts)),
            PointReport::Unrecorded(rows) => conductor.deliver(PerformerMessage::Unrecorded(rows)),
            PointReport::ReadingBack(done, total) if is_first => {
                conductor.deliver(PerformerMessage::ReadingBack(done, total));
            }
            PointReport::Shared(common) if is_first => {
                self.common = Some(common);
                self.link.agents[nth].loading = LoadingStage::Tables;
            }
            PointReport::PartMade => self.link.agents[nth].note_part_made(),
            PointReport::Ready { can_restore, .. } => {
                self.link.agents[nth].note_answered(HostAnswer::Ready { can_restore });
            }
            PointReport::Settled { fault, clock, start_skew_ns } => {
                self.link.agents[nth].note_answered(HostAnswer::Settled(fault));
                if self.progress.is_opened() {
                    let host = self.describe_host(&self.link.agents[nth], Some(clock), start_skew_ns);
                    conductor.deliver(PerformerMessage::Host(Box::new(host)));
                }
            }
            // What is of all hosts together comes from the first, and phases are those of the load.
            PointReport::Background { .. }
            | PointReport::Shared(_)
            | PointReport::PhaseBegan(..)
            | PointReport::PhaseEnded { .. }
            | PointReport::Facts(_)
            | PointReport::ReadingBack(..) => {}
        }
    }

    /// The instance of host `nth` is there: the point is opened, if it is the first.
    fn open_on(&mut self, nth: usize, opened: OpenedTrial, conductor: &mut dyn ConductorHandle) {
        match self.progress.open(&opened.kinds) {
            Ok(true) => {
                let trial = self.trial.clone().expect("a point has a trial");
                let accepted = conductor.accept_engine(&trial, &opened.facts);
                conductor.deliver(PerformerMessage::Opened(Box::new(opened)));
                if let Err(error) = accepted {
                    self.link.agents[nth].lost = Some(error.to_string());
                }
            }
            Ok(false) => {}
            Err(why) => self.link.agents[nth].lost = Some(why),
        }
        self.enter_host(nth, conductor);
    }

    /// Makes the host one of the point, as soon as there is one.
    fn enter_host(&mut self, nth: usize, conductor: &mut dyn ConductorHandle) {
        if self.progress.is_opened() && !self.link.agents[nth].is_entered {
            self.link.agents[nth].is_entered = true;
            let host = self.describe_host(&self.link.agents[nth], None, None);
            conductor.deliver(PerformerMessage::Host(Box::new(host)));
        }
    }

    fn take_rows(&mut self, nth: usize, row: u64, mut rows: HostRows, at: Tick, conductor: &mut dyn ConductorHandle) {
        let host = self.link.agents[nth].id;
        if at > Tick(0) {
            self.link.agents[nth].last_rows = Some(at);
        }
        let interval = self.trial.as_ref().expect("a point has a trial").phases.interval;
        self.progress.align_load(host, &mut rows.intervals, interval);
        conductor.deliver(PerformerMessage::HostRows { host, row, rows: Box::new(rows), at });
    }
}
