//! Who works in the phases: the clients of the run and, where there are any, others beside them at a rate of their own.
//!
//! In: clients made by an engine. Out: who of them follows which schedule of a phase ([`Turn`]).
//! Limits: those beside have constant arrivals and no limit of operations: a phase ends for both at once, when its time is over
//! or those of the run are through with theirs.

use crate::client::Client;
use crate::schedule::Schedule;
use model::{OpKind, Tick};

/// The clients of all phases of one call.
pub struct Crews {
    /// Those of the run, paced as each phase says.
    pub clients: Vec<Box<dyn Client>>,
    /// Others that work beside them.
    pub beside: Option<Beside>,
}

/// Clients that work beside those of the run, at a rate of their own.
pub struct Beside {
    /// The clients.
    pub clients: Vec<Box<dyn Client>>,
    /// The kinds of their operations; no client of the run has any of these.
    pub kinds: Vec<OpKind>,
    /// How many operations fall due per second, over all of them.
    pub per_s: f64,
}

impl Beside {
    /// How many clients they are: more than there are threads where these are shared.
    pub fn count(&self) -> u32 {
        count(&self.clients)
    }
}

/// How many clients all of `clients` are.
pub(crate) fn count(clients: &[Box<dyn Client>]) -> u32 {
    clients.iter().map(|client| client.count()).sum()
}

impl From<Vec<Box<dyn Client>>> for Crews {
    fn from(clients: Vec<Box<dyn Client>>) -> Crews {
        Crews { clients, beside: None }
    }
}

/// Which of the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Crew {
    /// The clients of the run.
    Run,
    /// Those beside them.
    Beside,
}

/// One phase for both.
#[derive(Debug)]
pub(crate) struct Turn {
    /// What the clients of the run follow.
    pub(crate) run: Schedule,
    /// What those beside them follow, where there are any.
    pub(crate) beside: Option<Schedule>,
}

impl Turn {
    /// The schedule of `crew`, where it has one.
    pub(crate) fn of(&self, crew: Crew) -> Option<&Schedule> {
        match crew {
            Crew::Run => Some(&self.run),
            Crew::Beside => self.beside.as_ref(),
        }
    }

    /// Nobody starts anything more from `at` on, where that is before the end.
    pub(crate) fn end_at(&self, at: Tick) {
        self.run.end_at(at);
        self.beside.iter().for_each(|schedule| schedule.end_at(at));
    }

    /// Arrivals that fell due before `end` in the open loops of both, and how many of them were never performed; `done` says how
    /// many operations a crew performed.
    pub(crate) fn arrivals(&self, end: Tick, done: impl Fn(Crew) -> u64) -> (u64, u64) {
        let crews = [Crew::Run, Crew::Beside].into_iter();
        let offered = crews.filter_map(|crew| Some((self.of(crew)?.offered(end), done(crew))));
        offered
            .fold((0, 0), |(all, unserved), (offered, done)| (all + offered, unserved + offered.saturating_sub(done)))
    }
}
