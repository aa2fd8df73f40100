//! The clients of a load: the measured ones in the foreground and, if there is a background load, its clients at their own rate.
//!
//! In: clients made by an engine. Out: which group of clients follows which schedule of a phase ([`PhaseSchedules`]).
//! Limits: the background load has constant arrivals and no limit of ops: a phase ends for both groups at once, when its time is
//! over or when the foreground has performed all its ops.

use crate::client::Client;
use crate::schedule::{DueTimes, Schedule};
use model::{LoadPart, OpKind, Tick};
use std::sync::Arc;

/// The clients of all phases of one call.
pub struct ClientSet {
    /// The foreground: the measured clients, paced as each phase demands.
    pub clients: Vec<Box<dyn Client>>,
    /// The background load, if there is one.
    pub background: Option<BackgroundLoad>,
    /// If the operations of parts of the foreground are to be counted apart: how many clients each part has, in their order.
    pub parts: Vec<u32>,
    /// When the operations of the foreground fall due, if they are those of a recording.
    pub due: Option<Arc<dyn DueTimes>>,
}

/// Clients that work at a rate of their own while others are measured.
pub struct BackgroundLoad {
    /// The clients.
    pub clients: Vec<Box<dyn Client>>,
    /// The kinds of their ops; no foreground client has any of these.
    pub kinds: Vec<OpKind>,
    /// How many ops fall due per second, for each of them.
    pub per_client_s: f64,
}

impl BackgroundLoad {
    /// How many ops fall due per second, over all of them.
    pub fn per_s(&self) -> f64 {
        self.per_client_s * f64::from(self.client_count())
    }

    /// The same over the clients of all hosts, if these clients are a `part` of them.
    pub(crate) fn per_s_of_all(&self, part: LoadPart) -> f64 {
        self.per_client_s * f64::from(self.client_count()) / f64::from(part.count()) * f64::from(part.of())
    }

    /// The number of clients: more than the number of threads if clients share threads.
    pub fn client_count(&self) -> u32 {
        count_clients(&self.clients)
    }
}

/// The number of clients that all of `clients` are together.
pub fn count_clients(clients: &[Box<dyn Client>]) -> u32 {
    clients.iter().map(|client| client.client_count()).sum()
}

impl From<Vec<Box<dyn Client>>> for ClientSet {
    fn from(clients: Vec<Box<dyn Client>>) -> ClientSet {
        ClientSet { clients, background: None, parts: Vec::new(), due: None }
    }
}

/// One of the two groups of clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ClientGroup {
    /// The measured clients.
    Foreground,
    /// The clients of the background load.
    Background,
}

/// The schedules of one phase.
#[derive(Debug)]
pub(crate) struct PhaseSchedules {
    /// What the foreground follows.
    pub(crate) foreground: Schedule,
    /// What the background load follows, if there is one.
    pub(crate) background: Option<Schedule>,
}

impl PhaseSchedules {
    /// The schedule of `group`, if it has one.
    pub(crate) fn schedule_of(&self, group: ClientGroup) -> Option<&Schedule> {
        match group {
            ClientGroup::Foreground => Some(&self.foreground),
            ClientGroup::Background => self.background.as_ref(),
        }
    }

    /// No client starts an op from `at` on, if that is before the planned end.
    pub(crate) fn end_at(&self, at: Tick) {
        self.foreground.end_at(at);
        self.background.iter().for_each(|schedule| schedule.end_at(at));
    }

    /// The arrivals that fell due before `end` in the open loops of both groups, and how many of them were never performed; `done`
    /// gives the number of ops that a group performed.
    pub(crate) fn count_arrivals(&self, end: Tick, done: impl Fn(ClientGroup) -> u64) -> (u64, u64) {
        let mut sum = (0, 0);
        for group in [ClientGroup::Foreground, ClientGroup::Background] {
            let Some(schedule) = self.schedule_of(group) else { continue };
            // 0 in a closed loop, whose ops never fall due: what it performed cannot make up for arrivals of the other group.
            let offered = schedule.offered_until(end);
            sum = (sum.0 + offered, sum.1 + offered.saturating_sub(done(group)));
        }
        sum
    }
}
