//! A client of several endpoints: a connection to each that it uses, and the choice of the next one.
//!
//! In: how to connect to each endpoint, the policy, the health of all. Out: a [`Driver`] whose operations belong to an endpoint. Limits: an
//! operation whose connection is lost fails, and is not tried again elsewhere: what became of it is not known. The next one goes to another
//! endpoint.

use super::EndpointPolicy;
use super::health::{EndpointHealth, PROBE_PATIENCE};
use crate::engine::WorkloadClients;
use crate::sql::session_options::ConnectionLifetime;
use crate::sql::{OpNames, PAUSE, SessionFactory, SqlDriver, for_source};
use load::{Driver, SyncClient};
use model::{LoadPart, Outcome, RowCounts, SqlOp};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use workload::{BackgroundOps, OpKindDef, OpStream};

/// The `clients` of this host, a part of all, for `stream`, and those of the loads `background`, that choose among the endpoints of `connects` by `policy`.
pub fn endpoint_clients<C: SessionFactory>(
    stream: &OpStream<SqlOp>,
    background: &[BackgroundOps<SqlOp>],
    kinds: &[OpKindDef],
    clients: LoadPart,
    connects: &[C],
    (health, policy): (&Arc<EndpointHealth>, EndpointPolicy),
) -> WorkloadClients {
    let names = OpNames::new(kinds);
    WorkloadClients::new(kinds, stream, background, clients, |source, slot| {
        let members = connects
            .iter()
            .enumerate()
            .map(|(nth, connect)| {
                SqlDriver::new(for_source(connect, &source), names.clone(), health.tally(nth).clone())
            })
            .collect();
        let home = slot.client as usize % connects.len();
        Box::new(SyncClient::new(source, EndpointDriver { members, health: health.clone(), policy, home, last: home }))
    })
}

struct EndpointDriver<C: SessionFactory> {
    /// One for each endpoint, connected when it is first used.
    members: Vec<SqlDriver<C>>,
    health: Arc<EndpointHealth>,
    policy: EndpointPolicy,
    /// The endpoint that is this client's if clients are spread.
    home: usize,
    /// Where the last operation ended.
    last: usize,
}

impl<C: SessionFactory> EndpointDriver<C> {
    /// Makes a member ready that has no connection because the client comes from another endpoint, or comes back. Returns whether it did.
    #[inline]
    fn arrive_at(&mut self, endpoint: usize) -> bool {
        let member = &mut self.members[endpoint];
        let is_kept = member.connect.session_options().connection == ConnectionLifetime::Kept;
        // If no endpoint is up, the member waits between its attempts.
        if member.session.is_some() || !is_kept || !self.health.is_up(endpoint) {
            return false;
        }
        (member.is_lost, member.pause) = (false, PAUSE);
        true
    }

    /// Finds out whether the endpoint is gone, or only the connection.
    #[cold]
    fn note_loss(&self, endpoint: usize) {
        if !self.health.is_up(endpoint) {
            return;
        }
        let connects = || self.members[endpoint].connect.with_patience(PROBE_PATIENCE).connect().is_ok();
        if !self.health.answers(endpoint).unwrap_or_else(connects) {
            self.health.report_lost(endpoint);
        }
    }
}

impl<C: SessionFactory> Driver for EndpointDriver<C> {
    type Op = SqlOp;
    const HAS_ENDPOINTS: bool = true;
    const HAS_ROWS: bool = true;

    fn open(&mut self) -> Result<(), String> {
        let mut used = [true, false].map(|writes| self.policy.preferred(self.home, writes)).to_vec();
        used.dedup();
        used.into_iter().try_for_each(|endpoint| self.members[endpoint].open())
    }

    fn execute_op(&mut self, op: &SqlOp) -> Outcome {
        let endpoint = self.health.choose(self.policy.preferred(self.home, op.writes));
        self.last = endpoint;
        let has_arrived = self.arrive_at(endpoint);
        let outcome = self.members[endpoint].execute_op(op);
        match outcome {
            Outcome::Failed(class) if class.is_of_connection() => self.note_loss(endpoint),
            _ if has_arrived => _ = self.health.tally(endpoint).reconnected.fetch_add(1, Relaxed),
            _ => {}
        }
        outcome
    }

    fn last_endpoint(&self) -> u16 {
        self.last as u16
    }

    #[inline]
    fn last_rows(&self) -> RowCounts {
        self.members[self.last].last_rows()
    }

    fn describe_miss(&self) -> String {
        self.members[self.last].describe_miss()
    }

    fn is_over(&self) -> bool {
        self.members[self.last].is_over()
    }

    fn describe_failure(&self) -> String {
        self.members[self.last].describe_failure()
    }
}

#[cfg(test)]
mod tests {
    //! The policies on scripted connections; real clusters are in the contract tests.

    use super::*;
    use crate::sql::endpoints::health::{Probe, start_watch};
    use crate::sql::session_options::SessionOptions;
    use crate::sql::testing::{ScriptedServer, options};
    use model::FailureClass;
    use std::sync::atomic::AtomicBool;
    use std::time::Duration;

    /// A client of three endpoints whose own is number `home`, and the flags by which these are gone.
    fn client(policy: EndpointPolicy, home: usize) -> (EndpointDriver<ScriptedServer>, [Arc<AtomicBool>; 3]) {
        let options = SessionOptions { retries_for: Duration::ZERO, ..options() };
        let servers = [0; 3].map(|_| ScriptedServer::new(&[], options.clone()));
        let health = Arc::new(EndpointHealth::new(&["a", "b", "c"].map(str::to_owned)));
        let members = servers
            .iter()
            .enumerate()
            .map(|(nth, server)| SqlDriver::new(server.clone(), OpNames::default(), health.tally(nth).clone()));
        let mut driver =
            EndpointDriver { members: members.collect(), health: health.clone(), policy, home, last: home };
        driver.open().unwrap();
        (driver, servers.map(|server| server.is_gone))
    }

    fn perform(driver: &mut EndpointDriver<ScriptedServer>, writes: bool) -> (Outcome, u16) {
        let outcome = driver.execute_op(&SqlOp { writes, ..SqlOp::default() });
        (outcome, driver.last_endpoint())
    }

    const DONE: Outcome = Outcome::Ok { bytes: 0 };

    #[test]
    fn one_operation_fails_when_an_endpoint_is_lost_and_the_next_is_done_elsewhere() {
        let (mut driver, flags) = client(EndpointPolicy::Spread, 1);
        assert_eq!(perform(&mut driver, true), (DONE, 1));
        flags[1].store(true, Relaxed);
        assert_eq!(perform(&mut driver, true), (Outcome::Failed(FailureClass::Lost), 1));
        assert_eq!([perform(&mut driver, true), perform(&mut driver, true)], [(DONE, 2); 2]);
        flags[1].store(false, Relaxed);
        driver.health.report_back(1);
        assert_eq!([perform(&mut driver, true), perform(&mut driver, true)], [(DONE, 1); 2]);
        let reconnects = [0, 1, 2].map(|nth| driver.health.tally(nth).reconnected.load(Relaxed));
        assert_eq!(reconnects, [0, 1, 1], "there and back");
        assert_eq!(driver.health.tally(1).lost.load(Relaxed), 1);
    }

    #[test]
    fn an_endpoint_that_takes_connections_and_performs_nothing_is_lost_all_the_same() {
        let (mut driver, _) = client(EndpointPolicy::Spread, 1);
        start_watch(&driver.health, (0..3).map(|nth| Box::new(move || nth != 1) as Probe).collect());
        let refuses = &driver.members[1].session.as_ref().unwrap().failures;
        refuses.lock().unwrap().push(Some(FailureClass::Lost));
        assert_eq!(perform(&mut driver, true), (Outcome::Failed(FailureClass::Lost), 1));
        assert_eq!(perform(&mut driver, true), (DONE, 2));
    }

    #[test]
    fn a_lost_connection_to_an_endpoint_that_answers_is_opened_again_there() {
        let (mut driver, flags) = client(EndpointPolicy::First, 2);
        flags[0].store(true, Relaxed);
        let session = driver.members[0].session.as_mut().unwrap();
        // Only this connection is gone.
        session.is_gone = Arc::new(AtomicBool::new(true));
        flags[0].store(false, Relaxed);
        assert_eq!(perform(&mut driver, true), (Outcome::Failed(FailureClass::Lost), 0));
        assert_eq!(perform(&mut driver, true), (DONE, 0));
        assert_eq!(driver.health.tally(0).reconnected.load(Relaxed), 1);
    }

    #[test]
    fn reads_are_spread_and_writes_go_to_the_first_if_they_are_split() {
        let (mut driver, flags) = client(EndpointPolicy::Split, 2);
        assert_eq!([perform(&mut driver, true), perform(&mut driver, false)], [(DONE, 0), (DONE, 2)]);
        flags[0].store(true, Relaxed);
        perform(&mut driver, true);
        assert_eq!([perform(&mut driver, true), perform(&mut driver, false)], [(DONE, 1), (DONE, 2)]);
        let reconnects = [0, 1, 2].map(|nth| driver.health.tally(nth).reconnected.load(Relaxed));
        assert_eq!(reconnects, [0, 1, 0]);
    }
}
