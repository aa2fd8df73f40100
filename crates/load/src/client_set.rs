//! The clients of a load: the measured ones in the foreground and, if there are background loads, their clients at paces of their own.
//!
//! In: clients made by an engine. Out: which group of clients follows which schedule of a phase ([`PhaseSchedules`]).
//! Limits: a background load has constant arrivals or a closed loop, and no limit of ops: a phase ends for all groups at once, when its
//! time is over or when the foreground has performed all its ops.

use crate::client::Client;
use crate::schedule::{DueTimes, Schedule};
use model::{Arrivals, BackgroundPace, LoadPart, OpKind, Pacing, Tick};
use std::sync::Arc;

/// The clients of all phases of one call.
pub struct ClientSet {
    /// The foreground: the measured clients, paced as each phase demands.
    pub clients: Vec<Box<dyn Client>>,
    /// The loads at rates of their own while the clients are measured.
    pub background: Vec<BackgroundLoad>,
    /// If the operations of parts of the foreground are to be counted apart: how many clients each part has, in their order.
    pub parts: Vec<u32>,
    /// When the operations of the foreground fall due, if they are those of a recording.
    pub due: Option<Arc<dyn DueTimes>>,
}

/// Clients that work at a pace of their own while others are measured.
pub struct BackgroundLoad {
    /// The clients of the load.
    pub clients: Vec<Box<dyn Client>>,
    /// The kinds of their ops; no other client has any of these.
    pub kinds: Vec<OpKind>,
    /// How each of them is paced.
    pub pace: BackgroundPace,
    /// Whether other hosts have more of these clients if they share the load; otherwise these are all.
    pub is_shared: bool,
}

impl BackgroundLoad {
    /// How many ops fall due per second, over all of them; `None` in a closed loop.
    pub fn per_s(&self) -> Option<f64> {
        match self.pace {
            BackgroundPace::Rate { per_client_s } => Some(per_client_s * f64::from(self.client_count())),
            BackgroundPace::Closed { .. } => None,
        }
    }

    /// The part that these clients have in the load of all hosts; `part` is that of a load that hosts share.
    pub(crate) fn part_of_all(&self, part: LoadPart) -> LoadPart {
        if self.is_shared { part } else { LoadPart::WHOLE }
    }

    /// The pacing of the clients of all hosts, if these clients are a `part` of them.
    pub(crate) fn pacing_of_all(&self, part: LoadPart) -> Pacing {
        match self.pace {
            BackgroundPace::Rate { per_client_s } => {
                let own = per_client_s * f64::from(self.client_count());
                let per_s = own / f64::from(part.count()) * f64::from(part.of());
                Pacing::Open { arrivals: Arrivals::Constant { per_s } }
            }
            BackgroundPace::Closed { think } => Pacing::Closed { think },
        }
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
        ClientSet { clients, background: Vec::new(), parts: Vec::new(), due: None }
    }
}

/// One group of clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ClientGroup {
    Foreground,
    /// The clients of the background load of this number.
    Background(usize),
}

/// The schedules of one phase.
#[derive(Debug)]
pub(crate) struct PhaseSchedules {
    /// What the foreground follows.
    pub(crate) foreground: Schedule,
    /// What each background load follows.
    pub(crate) background: Vec<Schedule>,
}

impl PhaseSchedules {
    /// The schedule of `group`, if it has one.
    pub(crate) fn schedule_of(&self, group: ClientGroup) -> Option<&Schedule> {
        match group {
            ClientGroup::Foreground => Some(&self.foreground),
            ClientGroup::Background(nth) => self.background.get(nth),
        }
    }

    /// No client starts an op from `at` on, if that is before the planned end.
    pub(crate) fn end_at(&self, at: Tick) {
        self.foreground.end_at(at);
        self.background.iter().for_each(|schedule| schedule.end_at(at));
    }

    /// The arrivals that fell due before `end` in the open loops of all groups, and how many of them were never performed; `performed`
    /// gives the number of ops that a group with this schedule performed.
    pub(crate) fn count_arrivals(&self, end: Tick, performed: impl Fn(ClientGroup, &Schedule) -> u64) -> (u64, u64) {
        let mut sum = (0, 0);
        let background = (0..self.background.len()).map(ClientGroup::Background);
        for group in std::iter::once(ClientGroup::Foreground).chain(background) {
            let Some(schedule) = self.schedule_of(group) else { continue };
            // 0 in a closed loop, whose ops never fall due: what it performed cannot make up for arrivals of another group.
            let performed = performed(group, schedule);
            let offered = schedule.offered_until(end);
            sum = (sum.0 + offered, sum.1 + offered.saturating_sub(performed));
        }
        sum
    }
}
