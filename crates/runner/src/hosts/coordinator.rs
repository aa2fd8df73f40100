//! The performer of several hosts: it gives orders to agents and passes on what they report.
//!
//! In: assignments from the conductor, reports of the agents. Out: messages to the conductor, as those of one host. Limits: the first
//! failure of any host ends the point on all. A host that is silent for longer than the user's patience is lost; what it delivered counts.

use super::hosts_link::HostsLink;
use super::members::{HostAgent, HostAnswer, LoadingStage};
use super::point::{PointProgress, load_share, share_of_trial};
use super::reach_bus::LOOK_EACH;
use super::setup::{CoordinatorSetup, OnHostLoss};
use super::wire::{Order, PreparedHosts, WholeAssignment};
use crate::error::RunnerError;
use crate::messages::{Assignment, ConductorHandle, Performer, PerformerMessage};
use crate::perform::{KeptData, can_keep_data, data_of};
use host::deadline::poll_until;
use load::{Stop, StopReason};
use model::{CommonData, DataOrigin, HostClock, Nanos, PointHost, Tick, Trial};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// From the order to begin until the load begins: the order must have come everywhere.
const START_AFTER: Nanos = Nanos::from_secs(1);
/// What each client of a host adds to that: it opens its connection first.
const START_PER_CLIENT: Nanos = Nanos::from_millis(2);
/// How long hosts get to end a point that is given up, beyond their grace time, and to remove data if the user does not want to wait.
const GIVEN_UP_WAIT: Duration = Duration::from_secs(30);
/// Why a host is given up that still removes data when the user does not want to wait.
const NOT_CLEARED: &str = "it has not removed its data yet";

/// Performs trials on several hosts.
pub(crate) struct HostsPerformer {
    pub(super) setup: CoordinatorSetup,
    pub(super) link: HostsLink,
    pub(super) stop: Arc<Stop>,
    /// The number of the current point, from 1.
    pub(super) point: u32,
    pub(super) progress: PointProgress,
    pub(super) trial: Option<Trial>,
    /// When the load of the current point begins.
    pub(super) planned: Tick,
    /// Whether the load of the current point was ordered to begin.
    is_loading: bool,
    /// Whether it was given up.
    is_skipped: bool,
    /// Whether the hosts were ordered to end the load, because there is enough.
    is_stopped: bool,
    kept: Option<KeptInstances>,
    /// The data that the first host has made and the others use.
    pub(super) common: Option<CommonData>,
}

/// What the instances of the hosts hold.
struct KeptInstances {
    data: String,
    last: Trial,
    can_restore: bool,
    /// The hosts, by number.
    hosts: Vec<u16>,
}

impl HostsPerformer {
    /// The performer of the hosts behind `link`.
    pub fn new(setup: CoordinatorSetup, link: HostsLink, stop: Arc<Stop>) -> HostsPerformer {
        HostsPerformer {
            setup,
            link,
            stop,
            point: 0,
            progress: PointProgress::default(),
            trial: None,
            planned: Tick(0),
            is_loading: false,
            is_skipped: false,
            is_stopped: false,
            kept: None,
            common: None,
        }
    }

    /// Waits until every agent takes part in the run.
    ///
    /// # Errors
    /// If one cannot, or does not answer.
    pub fn begin(&mut self) -> Result<(), RunnerError> {
        self.link.find_agents()?;
        let until = Instant::now() + self.setup.wait;
        loop {
            self.pass_on(&mut NoConductor)?;
            self.stopped()?;
            let Some(silent) = self.link.agents.iter().find(|agent| agent.began.is_none()) else { break };
            if Instant::now() > until {
                let (name, seconds) = (&silent.info.name, self.setup.wait.as_secs());
                let text = format!("host `{name}` did not answer in {seconds} s; look at what its agent printed");
                return Err(RunnerError::HostLost(text));
            }
        }
        let fault = self.link.agents.iter().find_map(|agent| Some(agent.began.clone()??.into_error(&agent.info.name)));
        fault.map_or(Ok(()), Err)
    }

    /// Tells the agents that the run is over.
    pub fn end(&mut self) {
        self.link.order(&Order::End);
        // An agent that does not hear it ends when the coordinator is gone for long.
        poll_until(Duration::from_secs(5), || {
            self.link.send_orders();
            self.link.are_orders_out().then_some(())
        });
    }

    fn members(&self) -> impl Iterator<Item = &HostAgent> {
        self.link.agents.iter().filter(|agent| agent.is_member)
    }

    fn loaders(&self) -> impl Iterator<Item = &HostAgent> {
        self.members().filter(|agent| agent.place.is_some())
    }

    /// Passes on reports until `is_done` of all members that are left, or until one fails.
    fn wait_for(
        &mut self,
        conductor: &mut dyn ConductorHandle,
        is_done: fn(&HostAgent) -> bool,
        who: fn(&HostAgent) -> bool,
    ) -> Result<(), RunnerError> {
        let mut given_up = None;
        loop {
            self.pass_on(conductor)?;
            self.look_at_stop();
            if self.members().filter(|agent| agent.lost.is_none() && agent.is_ordered && who(agent)).all(is_done) {
                return self.outcome();
            }
            if self.outcome().is_err() && !self.is_skipped {
                self.skip();
            }
            if self.is_skipped {
                let since = *given_up.get_or_insert_with(Instant::now);
                if since.elapsed() > self.patience_with_end() {
                    let is_late = |agent: &HostAgent| agent.is_active() && agent.is_ordered && !is_done(agent);
                    self.lose_who(is_late, "it did not end the point", conductor);
                }
            }
            if conductor.is_enough() {
                self.stop_load();
            }
        }
    }

    /// Gives up the agents that `is_lost`.
    fn lose_who(&mut self, is_lost: impl Fn(&HostAgent) -> bool, why: &str, conductor: &mut dyn ConductorHandle) {
        let lost = self.link.agents.iter().enumerate().filter(|(_, agent)| is_lost(agent)).map(|(nth, _)| nth);
        for nth in lost.collect::<Vec<usize>>() {
            self.lose(nth, why, self.link.clock.run_now(), conductor);
        }
    }

    fn patience_with_end(&self) -> Duration {
        let grace = self.trial.as_ref().map_or(0, |trial| trial.phases.grace.0);
        GIVEN_UP_WAIT + Duration::from_nanos(grace)
    }

    /// The gravest failure of a host, the first in the order of their numbers, or that one is lost.
    fn outcome(&self) -> Result<(), RunnerError> {
        let faults = self.members().filter_map(|agent| match &agent.answer {
            HostAnswer::Settled(Some(fault)) if !fault.is_skip() => Some(fault.clone().into_error(&agent.info.name)),
            _ => None,
        });
        let mut lost = self.members().filter(|_| !self.does_without_lost()).filter_map(|agent| {
            let why = agent.lost.as_ref()?;
            // The run ends with it, also if it goes on after points that fail: one host cannot do the part of another.
            Some(RunnerError::HostLost(format!(
                "host `{}` is lost: {why}; what it delivered is kept, and nothing more is measured, because each point is for all hosts",
                agent.info.name
            )))
        });
        // Of several faults the one that ends the run, also if it would go on after the others: a client that is blocked is in the way of all points.
        let fault = faults.min_by_key(RunnerError::is_of_one_point);
        fault.or_else(|| lost.next()).map_or(Ok(()), Err)
    }

    /// Whether the point goes on without hosts that are lost.
    fn does_without_lost(&self) -> bool {
        let goes_on = self.setup.on_host_loss == OnHostLoss::GoOn && self.is_loading;
        goes_on && self.loaders().any(|agent| agent.lost.is_none())
    }

    /// Gives the point up on all hosts.
    fn skip(&mut self) {
        self.is_skipped = true;
        self.link.order(&Order::Skip { point: self.point });
    }

    fn look_at_stop(&mut self) {
        if self.stop.reason().is_some() && !self.is_skipped {
            self.skip();
        }
    }

    fn stop_load(&mut self) {
        if !self.is_stopped {
            self.is_stopped = true;
            self.link.order(&Order::Stop { point: self.point });
        }
    }

    /// `Err` if the user or a limit ended the point.
    fn stopped(&self) -> Result<(), RunnerError> {
        match self.stop.reason() {
            Some(reason) if reason != StopReason::Failure => Err(RunnerError::Stopped(reason)),
            _ => Ok(()),
        }
    }

    /// Waits for others in place of the hosts that were lost, if the run goes on without those.
    fn await_members(&mut self) -> Result<(), RunnerError> {
        let until = Instant::now() + self.setup.wait;
        loop {
            self.link.find_agents()?;
            let are_enough =
                self.link.agents.iter().filter(|agent| agent.lost.is_none() && agent.info.role.loads()).count()
                    >= self.setup.agents as usize;
            if are_enough || self.setup.on_host_loss == OnHostLoss::Stop || Instant::now() > until {
                return Ok(());
            }
            self.stopped()?;
            std::thread::sleep(LOOK_EACH);
        }
    }

    /// Chooses who measures the next point: agents that are there, in the order of their numbers.
    fn choose_members(&mut self) -> Result<(), RunnerError> {
        self.await_members()?;
        let mut next = 0;
        for agent in &mut self.link.agents {
            (agent.answer, agent.is_ordered, agent.is_entered) = (HostAnswer::Waiting, false, false);
            (agent.loading, agent.last_rows) = (LoadingStage::Nothing, None);
            agent.is_member = agent.lost.is_none();
            let loads = agent.is_member && agent.info.role.loads() && next < self.setup.agents;
            agent.place = loads.then_some(next);
            next += u32::from(loads);
            agent.is_member &= loads || !agent.info.role.loads();
        }
        if next < self.setup.agents {
            let (wanted, there) = (self.setup.agents, next);
            return Err(RunnerError::HostLost(format!(
                "the load is for {wanted} agents (--agents {wanted}), and {there} are there; start the others and resume the run"
            )));
        }
        Ok(())
    }

    /// Orders those of `who` to get ready.
    fn order_prepare(&mut self, assignment: &Assignment, who: PreparedHosts) {
        let members = self.members().map(HostAgent::as_member).collect();
        let ordered = self.link.agents.iter_mut().filter(|agent| agent.is_member && who.includes(agent.place));
        ordered.for_each(|agent| agent.is_ordered = true);
        let assignment = Box::new(WholeAssignment::from(assignment));
        let order = Order::Prepare { point: self.point, assignment, members, who };
        self.link.order_answered(&order, |agent| who.includes(agent.place));
    }

    /// The first host makes the data, and then the others come to it.
    fn prepare_by_first(
        &mut self,
        assignment: &Assignment,
        conductor: &mut dyn ConductorHandle,
    ) -> Result<(), RunnerError> {
        self.order_prepare(assignment, PreparedHosts::First);
        self.wait_for(conductor, is_ready, is_first)?;
        self.order_others(assignment)
    }

    /// The first host makes the tables, all fill them at the same time, the first completes the data, and then the others use it.
    fn prepare_by_all(
        &mut self,
        assignment: &Assignment,
        conductor: &mut dyn ConductorHandle,
    ) -> Result<(), RunnerError> {
        self.order_prepare(assignment, PreparedHosts::First);
        self.wait_for(conductor, has_tables, is_first)?;
        self.order_others(assignment)?;
        self.wait_for(conductor, has_part, is_anybody)?;
        self.order_going_on(&Order::CompleteData { point: self.point }, is_first);
        self.wait_for(conductor, is_ready, is_first)?;
        self.order_going_on(&Order::UseData { point: self.point }, |agent| !is_first(agent));
        Ok(())
    }

    /// Orders the hosts behind the first to get ready on its data.
    fn order_others(&mut self, assignment: &Assignment) -> Result<(), RunnerError> {
        self.stopped()?;
        let joining = Assignment { joins: self.common.clone(), ..assignment.clone() };
        self.order_prepare(&joining, PreparedHosts::Others);
        Ok(())
    }

    /// Gives an order to go on, which those of `who` who are not ready yet answer by being ready.
    fn order_going_on(&mut self, order: &Order, who: fn(&HostAgent) -> bool) {
        let number = self.link.order(order);
        let going_on = self.link.agents.iter_mut().filter(|agent| agent.is_active() && who(agent) && !is_ready(agent));
        going_on.filter(|agent| agent.place.is_some()).for_each(|agent| agent.note_going_on(number));
    }

    /// Who the hosts of the point are, as far as that is known, to the conductor.
    pub(super) fn describe_host(&self, agent: &HostAgent, clock: Option<HostClock>, skew_ns: Option<i64>) -> PointHost {
        let hosts = self.loaders().count() as u32;
        let whole = self.trial.as_ref();
        let share = agent.place.zip(whole).and_then(|(place, whole)| {
            let own = share_of_trial(whole, place, hosts).ok()?;
            Some(load_share(whole, &own, hosts))
        });
        let endpoint = agent.endpoint.as_deref().map(PointHost::endpoint_fact);
        PointHost {
            id: agent.id,
            name: agent.info.name.clone(),
            incarnation: agent.info.incarnation.clone(),
            role: agent.info.role,
            share,
            facts: agent.info.facts.iter().cloned().chain(endpoint).collect(),
            clock,
            start_skew_ns: skew_ns,
        }
    }

    /// When the load of the point can begin on all hosts.
    fn start_time(&self) -> Tick {
        let clients = self.trial.as_ref().map_or(0, Trial::all_clients) / self.setup.agents.max(1);
        let opening = Nanos(START_PER_CLIENT.0 * u64::from(clients));
        let way = Nanos(4 * self.link.clock.slowest().0);
        self.link.clock.run_now() + START_AFTER + way + opening
    }
}

/// Whether others can fill its tables, or use its data.
fn has_tables(agent: &HostAgent) -> bool {
    agent.loading >= LoadingStage::Tables || is_ready(agent)
}

fn has_part(agent: &HostAgent) -> bool {
    agent.loading == LoadingStage::PartMade || is_ready(agent)
}

fn is_ready(agent: &HostAgent) -> bool {
    matches!(agent.answer, HostAnswer::Ready { .. } | HostAnswer::Settled(_))
}

fn is_settled(agent: &HostAgent) -> bool {
    matches!(agent.answer, HostAnswer::Settled(_))
}

fn is_cleared(agent: &HostAgent) -> bool {
    matches!(agent.answer, HostAnswer::Cleared(_))
}

fn is_loader(agent: &HostAgent) -> bool {
    agent.place.is_some()
}

fn is_first(agent: &HostAgent) -> bool {
    agent.place == Some(0)
}

fn is_anybody(_: &HostAgent) -> bool {
    true
}

impl Performer for HostsPerformer {
    fn prepare(&mut self, assignment: &Assignment, conductor: &mut dyn ConductorHandle) -> Result<(), RunnerError> {
        self.point += 1;
        (self.progress, self.trial) = (PointProgress::default(), Some(assignment.trial.clone()));
        (self.is_loading, self.is_skipped, self.is_stopped) = (false, false, false);
        self.choose_members()?;
        match engine::data_origin(&assignment.trial) {
            DataOrigin::MadeByFirst if self.setup.agents > 1 => self.prepare_by_first(assignment, conductor)?,
            DataOrigin::MadeByAll if self.setup.agents > 1 => self.prepare_by_all(assignment, conductor)?,
            DataOrigin::Own | DataOrigin::MadeByFirst | DataOrigin::MadeByAll => {
                self.order_prepare(assignment, PreparedHosts::Loaders);
            }
        }
        self.wait_for(conductor, is_ready, is_anybody)?;
        self.stopped()?;
        self.order_prepare(assignment, PreparedHosts::Observers);
        self.wait_for(conductor, is_ready, is_anybody)?;
        self.progress.report_ends(conductor);
        self.stopped()?;
        let all_restore = self.loaders().all(|agent| agent.answer == HostAnswer::Ready { can_restore: true });
        self.kept = Some(KeptInstances {
            data: data_of(&assignment.sequence.steps),
            last: assignment.trial.clone(),
            can_restore: all_restore,
            hosts: self.members().map(|agent| agent.id.0).collect(),
        });
        Ok(())
    }

    fn go(&mut self, _: Tick, conductor: &mut dyn ConductorHandle) -> Result<(), RunnerError> {
        self.planned = self.start_time();
        self.is_loading = true;
        self.link.order_answered(&Order::Go { point: self.point, at: self.planned }, is_anybody);
        self.wait_for(conductor, is_settled, is_loader)
    }

    fn settle(
        &mut self,
        measured: Result<(), RunnerError>,
        conductor: &mut dyn ConductorHandle,
    ) -> Result<(), RunnerError> {
        if !self.progress.is_opened() {
            return measured.and(self.stopped());
        }
        // Hosts that only observe end when the others have.
        if measured.is_ok() {
            self.stop_load();
        } else if !self.is_skipped {
            self.skip();
        }
        let ended = self.wait_for(conductor, is_settled, is_anybody);
        self.progress.report_ends(conductor);
        measured.and(ended).and(self.stopped())
    }

    fn can_keep(&self, next: &Assignment) -> bool {
        let Some(kept) = &self.kept else { return false };
        let is_there = |id: &u16| self.link.agents.iter().any(|agent| agent.id.0 == *id && agent.lost.is_none());
        let data = KeptData { data: &kept.data, last: &kept.last, can_restore: kept.can_restore };
        kept.hosts.iter().all(is_there) && can_keep_data(&data, next)
    }

    fn clear(&mut self) -> Result<(), RunnerError> {
        (self.kept, self.common) = (None, None);
        if self.point == 0 || self.members().all(|agent| agent.lost.is_some() || is_cleared(agent)) {
            return Ok(());
        }
        self.link.order_answered(&Order::Clear { point: self.point }, is_anybody);
        let mut given_up = None;
        while !self.members().filter(|agent| agent.lost.is_none()).all(is_cleared) {
            self.pass_on(&mut NoConductor)?;
            if self.stop.reason() == Some(StopReason::Interrupted) {
                let since = *given_up.get_or_insert_with(Instant::now);
                if since.elapsed() > GIVEN_UP_WAIT {
                    self.lose_who(|agent| agent.is_active() && !is_cleared(agent), NOT_CLEARED, &mut NoConductor);
                }
            }
        }
        let fault = self.members().find_map(|agent| match &agent.answer {
            HostAnswer::Cleared(Some(fault)) => Some(fault.clone().into_error(&agent.info.name)),
            _ => None,
        });
        fault.map_or(Ok(()), Err)
    }
}

/// Between points nothing is recorded.
struct NoConductor;

impl ConductorHandle for NoConductor {
    fn accept_engine(&mut self, _: &Trial, _: &[model::Fact]) -> Result<(), RunnerError> {
        Ok(())
    }

    fn deliver(&mut self, _: PerformerMessage) {}

    fn is_enough(&self) -> bool {
        false
    }
}
