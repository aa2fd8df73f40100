//! The agents of a run: who is there, who is silent, and how far their reports were read.
//!
//! In: the leases of agents, entries of their streams. Out: agents with their numbers, and the next place to read. Limits: an agent that is started
//! again is another one: it takes part from the next point on.

use super::wire::{AgentInfo, PointMember, WireFault};
use bus::{BusKeys, StreamPosition};
use model::{HostId, Tick};
use std::time::{Duration, Instant};

/// How far an agent is with its last order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum HostAnswer {
    /// It has no order, or works on it.
    Waiting,
    /// It is ready for the load.
    Ready {
        /// Whether its engine can bring back the data as it was loaded.
        can_restore: bool,
    },
    /// The point is over there.
    Settled(Option<WireFault>),
    /// Its engine is stopped, and its data removed.
    Cleared(Option<WireFault>),
}

/// How far an agent is with data that several hosts make.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum LoadingStage {
    /// Nothing is there of it.
    Nothing,
    /// The tables are there.
    Tables,
    /// It has made its part.
    PartMade,
}

/// How long an agent may work on an order without reporting anything: a copy of a large data set, a server that starts on it.
const WORKS_IN_SILENCE: Duration = Duration::from_secs(3600);

/// An order that an agent has not answered yet.
struct OpenOrder {
    number: u64,
    since: Instant,
    is_taken: bool,
}

/// Reports that are sent again.
struct ResentReports {
    key: String,
    to: u64,
    asked: Instant,
}

/// An agent of the run.
pub(super) struct HostAgent {
    pub id: HostId,
    /// How it describes itself.
    pub info: AgentInfo,
    /// Its place in the load of the current point; `None` if it has none.
    pub place: Option<u32>,
    /// Whether it is a member of the current point.
    pub is_member: bool,
    /// Whether it was ordered to get ready for the current point.
    pub is_ordered: bool,
    /// Whether the current point has it: rows and events of it can be recorded.
    pub is_entered: bool,
    /// How far it is.
    pub answer: HostAnswer,
    /// How far it is with data that several hosts make.
    pub loading: LoadingStage,
    /// When its last rows of the current point were made, in the time of the run.
    pub last_rows: Option<Tick>,
    /// The endpoint of the database that runs on its host, if that is one of several.
    pub endpoint: Option<String>,
    /// How it began the run; `None` if that is not known yet.
    pub began: Option<Option<WireFault>>,
    /// Why it is no part of the current point any more.
    pub lost: Option<String>,
    /// The stream of its reports.
    stream: String,
    /// The number of the last report that was read.
    position: u64,
    trimmed: u64,
    resent: Option<ResentReports>,
    silent_since: Option<Instant>,
    /// When that was, in the time of the run.
    silent_at: Tick,
    open_order: Option<OpenOrder>,
    /// When its last report was read.
    heard: Instant,
}

/// What follows from the number of a report.
pub(super) enum ReportOrder {
    /// It is the next one.
    Next,
    /// It was read before.
    Before,
    /// Others before it are missing: from this number, to this number.
    Missing(u64, u64),
    /// It waits for others that were asked for.
    Later,
}

/// What became of the lease of an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Presence {
    /// It is there, as before.
    There,
    /// It is not there since just now.
    Silent,
    /// It was not there, and is again.
    Back,
    /// It is not there for so long that it is given up.
    Gone,
}

impl HostAgent {
    /// The agent `info`, as host number `id` of `run`.
    pub fn new(id: HostId, info: AgentInfo, keys: &BusKeys, run: &str) -> HostAgent {
        let stream = keys.reports(run, &info.name, &info.incarnation);
        HostAgent {
            id,
            info,
            place: None,
            is_member: false,
            is_ordered: false,
            is_entered: false,
            answer: HostAnswer::Waiting,
            loading: LoadingStage::Nothing,
            last_rows: None,
            endpoint: None,
            began: None,
            lost: None,
            stream,
            position: 0,
            trimmed: 0,
            resent: None,
            silent_since: None,
            silent_at: Tick(0),
            open_order: None,
            heard: Instant::now(),
        }
    }

    /// It was ordered something that it has to answer.
    pub fn note_ordered(&mut self, number: u64) {
        self.open_order = Some(OpenOrder { number, since: Instant::now(), is_taken: false });
    }

    /// It works on order `number`.
    pub fn note_taken(&mut self, number: u64) {
        self.open_order.iter_mut().filter(|order| order.number == number).for_each(|order| order.is_taken = true);
    }

    /// It has made its part of the data, and waits.
    pub fn note_part_made(&mut self) {
        (self.loading, self.open_order) = (LoadingStage::PartMade, None);
    }

    /// It goes on with its work because of order `number`, which it does not confirm.
    pub fn note_going_on(&mut self, number: u64) {
        self.open_order = Some(OpenOrder { number, since: Instant::now(), is_taken: true });
    }

    /// It has answered its last order.
    pub fn note_answered(&mut self, answer: HostAnswer) {
        (self.answer, self.open_order) = (answer, None);
    }

    /// Why it is not waited for any longer, although its lease is there; `None` if it still is.
    pub fn is_overdue(&self, patience: Duration) -> Option<String> {
        let order = self.open_order.as_ref().filter(|_| self.silent_since.is_none())?;
        let silent = self.heard.max(order.since).elapsed();
        match order.is_taken {
            false if order.since.elapsed() > patience => {
                Some(format!("it did not take an order for {} s, although it is there", patience.as_secs()))
            }
            true if silent > WORKS_IN_SILENCE => {
                Some(format!("it reported nothing for {} min, although it is there", WORKS_IN_SILENCE.as_secs() / 60))
            }
            _ => None,
        }
    }

    /// Where its next report is.
    pub fn next_place(&self) -> StreamPosition<'_> {
        let key = self.resent.as_ref().map_or(&self.stream, |resent| &resent.key);
        StreamPosition { key, after: self.position }
    }

    /// What follows from report `number`.
    pub fn order_of(&self, number: u64) -> ReportOrder {
        let expected = self.position + 1;
        match &self.resent {
            _ if number == expected => ReportOrder::Next,
            _ if number < expected => ReportOrder::Before,
            None => ReportOrder::Missing(expected, number - 1),
            Some(_) => ReportOrder::Later,
        }
    }

    /// Report `number` was read. Returns the key of reports that were sent again and are of no more use.
    pub fn note_read(&mut self, number: u64) -> Option<String> {
        self.position = number;
        self.heard = Instant::now();
        self.resent.take_if(|resent| number >= resent.to).map(|resent| resent.key)
    }

    /// The reports up to number `to` were asked for and will be at `key`.
    pub fn note_asked(&mut self, key: String, to: u64) {
        self.resent = Some(ResentReports { key, to, asked: Instant::now() });
    }

    /// Whether a report of it was read within `time`.
    pub fn was_heard_within(&self, time: Duration) -> bool {
        self.heard.elapsed() < time
    }

    /// For how long reports were asked for that did not come.
    pub fn waits_for_resent(&self) -> Duration {
        self.resent.as_ref().map_or(Duration::ZERO, |resent| resent.asked.elapsed())
    }

    /// The stream and the last report that can be removed from it, if that is worth it.
    pub fn take_trimmable(&mut self) -> Option<(String, u64)> {
        const AT_LEAST: u64 = 16;
        let is_worth = self.position >= self.trimmed + AT_LEAST;
        is_worth.then(|| {
            self.trimmed = self.position;
            (self.stream.clone(), self.position)
        })
    }

    /// What follows from its lease, which it holds or not. It is given up after `patience`.
    pub fn look_at_lease(&mut self, is_held: bool, now: Tick, patience: Duration) -> Presence {
        match (is_held, self.silent_since) {
            (true, None) => Presence::There,
            (true, Some(_)) => {
                self.silent_since = None;
                self.forgive_slowness();
                Presence::Back
            }
            (false, None) => {
                (self.silent_since, self.silent_at) = (Some(Instant::now()), now);
                Presence::Silent
            }
            (false, Some(since)) if since.elapsed() >= patience => Presence::Gone,
            (false, Some(_)) => Presence::There,
        }
    }

    /// The bus was away: no host could renew its lease meanwhile.
    pub fn forgive_silence(&mut self) {
        self.silent_since = None;
        self.forgive_slowness();
    }

    /// It could not hear or be heard until now.
    fn forgive_slowness(&mut self) {
        self.open_order.iter_mut().for_each(|order| order.since = Instant::now());
    }

    /// When it became silent, in the time of the run.
    pub fn silent_at(&self) -> Tick {
        self.silent_at
    }

    /// Whether it takes part in the current point.
    pub fn is_active(&self) -> bool {
        self.is_member && self.lost.is_none()
    }

    /// Who it is, in an order.
    pub fn as_member(&self) -> PointMember {
        let AgentInfo { name, incarnation, .. } = self.info.clone();
        PointMember { name, incarnation, place: self.place }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::HostRole;

    fn agent() -> HostAgent {
        let info = AgentInfo {
            name: "c1".into(),
            incarnation: "i".into(),
            version: "0".into(),
            role: HostRole::Load,
            facts: Vec::new(),
        };
        HostAgent::new(HostId(1), info, &BusKeys::new("t").unwrap(), "r")
    }

    #[test]
    fn a_gap_is_asked_for_once_and_the_reports_after_it_wait() {
        let mut agent = agent();
        assert!(matches!(agent.order_of(1), ReportOrder::Next));
        assert_eq!(agent.note_read(1), None);
        assert!(matches!(agent.order_of(1), ReportOrder::Before));
        assert!(matches!(agent.order_of(5), ReportOrder::Missing(2, 4)));
        agent.note_asked("again".into(), 4);
        assert!(matches!(agent.order_of(5), ReportOrder::Later));
        assert_eq!(agent.next_place(), StreamPosition { key: "again", after: 1 });
        assert_eq!([agent.note_read(2), agent.note_read(3)], [None, None]);
        assert_eq!(agent.note_read(4), Some("again".into()));
        assert_eq!(agent.next_place(), StreamPosition { key: "plimsoll:t:r:row:c1:i", after: 4 });
    }

    #[test]
    fn an_agent_is_silent_comes_back_or_is_given_up() {
        let (mut agent, hour) = (agent(), Duration::from_secs(3600));
        let looks = [true, false, false, true, true].map(|held| agent.look_at_lease(held, Tick(7), hour));
        assert_eq!(looks, [Presence::There, Presence::Silent, Presence::There, Presence::Back, Presence::There]);
        assert_eq!(agent.look_at_lease(false, Tick(9), Duration::ZERO), Presence::Silent);
        assert_eq!(agent.look_at_lease(false, Tick(11), Duration::ZERO), Presence::Gone);
        assert_eq!(agent.silent_at(), Tick(9));
        agent.forgive_silence();
        assert_eq!(agent.look_at_lease(false, Tick(12), Duration::ZERO), Presence::Silent);
    }

    #[test]
    fn an_agent_that_is_there_and_takes_no_order_is_overdue_and_one_that_works_is_not() {
        let (mut agent, hour) = (agent(), Duration::from_secs(3600));
        assert_eq!(agent.is_overdue(Duration::ZERO), None);
        agent.note_ordered(4);
        assert_eq!(agent.is_overdue(hour), None);
        assert!(agent.is_overdue(Duration::ZERO).unwrap().contains("did not take an order"));
        agent.note_taken(3);
        assert!(agent.is_overdue(Duration::ZERO).is_some(), "that was an earlier order");
        agent.note_taken(4);
        assert_eq!(agent.is_overdue(Duration::ZERO), None);
        agent.note_answered(HostAnswer::Settled(None));
        assert_eq!((agent.is_overdue(Duration::ZERO), agent.answer), (None, HostAnswer::Settled(None)));
    }

    #[test]
    fn an_agent_whose_lease_is_gone_is_silent_and_not_overdue() {
        let (mut agent, hour) = (agent(), Duration::from_secs(3600));
        agent.note_ordered(1);
        agent.look_at_lease(false, Tick(1), hour);
        assert_eq!(agent.is_overdue(Duration::ZERO), None);
    }
}
