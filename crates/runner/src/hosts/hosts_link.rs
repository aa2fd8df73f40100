//! The coordinator's end of the bus: it gives orders, and reads what the agents report.
//!
//! In: orders, the streams of the agents, their leases. Out: entries of the streams, and whose lease is gone. Limits: while the bus is away nothing is
//! read and no host is missed; after a minute of that the run ends.

use super::members::{HostAgent, Presence};
use super::run_clock::RunClock;
use super::wire::{AgentInfo, NumberedOrder, Order, from_bytes, to_bytes};
use crate::error::RunnerError;
use bus::{Appended, BusError, BusKeys, BusLink, StreamEntry, StreamPosition};
use model::HostId;
use std::time::{Duration, Instant};

/// How long one question for reports waits for some.
const READ_WAIT: Duration = Duration::from_millis(500);
/// How long after some reports the next ones are asked for. Agents report at the ends of intervals, all at about the same time, and one answer has
/// the reports of all of them.
const GATHER_WAIT: Duration = Duration::from_millis(25);
/// The most reports of each agent that are read at once.
const READ_MOST: usize = 64;
/// How often the leases are looked at.
const LEASES_EACH: Duration = Duration::from_secs(1);
/// An agent that has reported something within this time is there.
const HEARD_LATELY: Duration = Duration::from_secs(3);
/// How long the bus may be away before the run ends.
const BUS_WAIT: Duration = Duration::from_secs(60);
/// How long after the bus is back leases may be missing: agents renew them once a second.
const LEASES_BACK: Duration = Duration::from_secs(5);

/// The coordinator's end of the bus.
pub(crate) struct HostsLink {
    pub(super) link: BusLink,
    keys: BusKeys,
    run: String,
    /// All orders so far, each with the number of its entry: a bus that lost its memory gets them again.
    orders: Vec<(u64, Vec<u8>)>,
    /// How many of them are on the bus.
    out: usize,
    /// How many were on it once.
    ever_out: usize,
    /// The agents of the run, in the order of their numbers.
    pub(super) agents: Vec<HostAgent>,
    pub(super) clock: RunClock,
    patience: Duration,
    /// How many reports of each agent are read at once.
    read_most: usize,
    /// Whether there were reports just now, so that others are on their way.
    are_expected: bool,
    leases_seen: Instant,
    away_until: Option<Instant>,
    requests: u64,
}

impl HostsLink {
    /// The end of a run on the bus.
    pub fn new(link: BusLink, keys: BusKeys, run: String, clock: RunClock, patience: Duration) -> HostsLink {
        let (orders, agents, leases_seen) = (Vec::new(), Vec::new(), Instant::now());
        HostsLink {
            link,
            keys,
            run,
            orders,
            out: 0,
            ever_out: 0,
            agents,
            clock,
            patience,
            read_most: READ_MOST,
            are_expected: false,
            leases_seen,
            away_until: None,
            requests: 0,
        }
    }

    /// Gives an order. It goes out now, or when the bus is back. Returns its number among the orders.
    pub fn order(&mut self, order: &Order) -> u64 {
        let nth = self.orders.len() as u64 + 1;
        let number = self.orders.last().map_or(1, |(last, _)| last + 1);
        self.orders.push((number, to_bytes(&NumberedOrder { nth, order: order.clone() })));
        self.send_orders();
        nth
    }

    /// Gives an order that those who `have_to` answer.
    pub fn order_answered(&mut self, order: &Order, have_to: impl Fn(&HostAgent) -> bool) {
        let number = self.order(order);
        let ordered = self.agents.iter_mut().filter(|agent| agent.is_active() && have_to(agent));
        ordered.for_each(|agent| agent.note_ordered(number));
    }

    /// Whether all orders are on the bus.
    pub fn are_orders_out(&self) -> bool {
        self.out == self.orders.len()
    }

    /// Sends the orders that are not on the bus yet.
    pub fn send_orders(&mut self) {
        let key = self.keys.orders(&self.run);
        while let Some((number, order)) = self.orders.get(self.out) {
            let number = *number;
            let is_first_time = self.out >= self.ever_out;
            match self.link.ask(|bus| bus.append(&key, number, order)) {
                // Its answer was lost, or a stranger has taken the number: agents obey an order once.
                Ok(Appended::Before) if is_first_time => {
                    let Ok(last) = self.link.ask(|bus| bus.last_number(&key)) else { return self.note_away() };
                    self.orders[self.out].0 = last.max(number).saturating_add(1);
                }
                Ok(_) => {
                    self.out += 1;
                    self.ever_out = self.ever_out.max(self.out);
                }
                Err(_) => return self.note_away(),
            }
        }
    }

    /// The bus cannot be reached: what it had may be lost with its memory.
    fn note_away(&mut self) {
        self.out = 0;
        self.away_until = Some(Instant::now());
    }

    /// Enters the agents that are new since the last call.
    pub fn find_agents(&mut self) -> Result<(), RunnerError> {
        let found = present_agents(&mut self.link, &self.keys)?;
        for info in found {
            if !self.agents.iter().any(|agent| agent.info.incarnation == info.incarnation) {
                let id = HostId(self.agents.len() as u16 + 1);
                self.agents.push(HostAgent::new(id, info, &self.keys, &self.run));
            }
        }
        Ok(())
    }

    /// The agents that are there and do not do what they were ordered, each with the reason to give it up.
    pub fn overdue(&self) -> Vec<(usize, String)> {
        if self.away_until.is_some_and(|until| until.elapsed() < LEASES_BACK) {
            return Vec::new();
        }
        let active = self.agents.iter().enumerate().filter(|(_, agent)| agent.is_active());
        active.filter_map(|(nth, agent)| Some((nth, agent.is_overdue(self.patience)?))).collect()
    }

    /// The next entries of the streams, each with the place of its agent; none if there are none, or while the bus is away.
    pub(super) fn read(&mut self) -> Result<Vec<(usize, StreamEntry)>, RunnerError> {
        if std::mem::take(&mut self.are_expected) {
            std::thread::sleep(GATHER_WAIT);
        }
        let read: Vec<(usize, &HostAgent)> =
            self.agents.iter().enumerate().filter(|(_, agent)| agent.lost.is_none()).collect();
        if read.is_empty() {
            std::thread::sleep(READ_WAIT);
            return Ok(Vec::new());
        }
        let places: Vec<StreamPosition> = read.iter().map(|(_, agent)| agent.next_place()).collect();
        let most = self.read_most;
        match self.link.ask(|bus| bus.read(&places, most, READ_WAIT)) {
            Ok(entries) => {
                let entries = entries.into_iter().map(|entry| (read[entry.stream].0, entry)).collect::<Vec<_>>();
                self.are_expected = !entries.is_empty();
                Ok(entries)
            }
            Err(BusError::Away(_)) if self.link.away_for() < BUS_WAIT => {
                self.note_away();
                Ok(Vec::new())
            }
            // They may be too long together, and are not one by one.
            Err(BusError::Foreign(_)) if most > 1 => {
                self.read_most = 1;
                Ok(Vec::new())
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Asks agent `nth` for the reports from number `from` to number `to`.
    pub(super) fn ask_again(&mut self, nth: usize, from: u64, to: u64) {
        self.requests += 1;
        let request = self.requests;
        let AgentInfo { name, incarnation, .. } = self.agents[nth].info.clone();
        self.agents[nth].note_asked(self.keys.resent(&self.run, &name, &incarnation, request), to);
        self.order(&Order::Resend { name, incarnation, request, from, to });
    }

    /// Removes what is recorded from the bus.
    pub(super) fn trim(&mut self) {
        for agent in &mut self.agents {
            if let Some((key, number)) = agent.take_trimmable() {
                // What stays there is only memory of the bus.
                let _ = self.link.ask(|bus| bus.trim(&key, number));
            }
        }
    }

    /// Of each agent, whether it holds its lease. One that has just reported something is there, and is not looked for. `None` if the bus is
    /// away.
    fn held_leases(&mut self) -> Option<Vec<bool>> {
        let mut held = vec![true; self.agents.len()];
        let asked: Vec<usize> = self
            .agents
            .iter()
            .enumerate()
            .filter(|(_, agent)| agent.is_active() && !agent.was_heard_within(HEARD_LATELY))
            .map(|(nth, _)| nth)
            .collect();
        let keys: Vec<String> = asked.iter().map(|nth| self.keys.agent(&self.agents[*nth].info.name)).collect();
        let values = self.link.ask(|bus| bus.lease_values(&keys)).ok()?;
        for ((nth, key), value) in asked.into_iter().zip(&keys).zip(values) {
            held[nth] = value.is_some_and(|value| is_lease_of(&self.agents[nth], key, &value));
        }
        Some(held)
    }

    /// Looks at the leases if that is due. Returns the agents whose presence changed.
    pub(super) fn look_at_leases(&mut self) -> Vec<(usize, Presence)> {
        if self.leases_seen.elapsed() < LEASES_EACH || self.link.away_for() > Duration::ZERO {
            return Vec::new();
        }
        self.leases_seen = Instant::now();
        if self.away_until.is_some_and(|until| until.elapsed() < LEASES_BACK) {
            self.agents.iter_mut().for_each(HostAgent::forgive_silence);
            return Vec::new();
        }
        let Some(held) = self.held_leases() else { return Vec::new() };
        let mut changed = Vec::new();
        for (nth, agent) in self.agents.iter_mut().enumerate().filter(|(_, agent)| agent.is_active()) {
            let waits_long = agent.waits_for_resent() > self.patience;
            match agent.look_at_lease(held[nth], self.clock.run_now(), self.patience) {
                _ if waits_long => changed.push((nth, Presence::Gone)),
                Presence::There => {}
                presence => changed.push((nth, presence)),
            }
        }
        changed
    }
}

/// Whether `value` is that of the lease of `agent`.
fn is_lease_of(agent: &HostAgent, key: &str, value: &[u8]) -> bool {
    from_bytes::<AgentInfo>(value, "the lease", key).is_ok_and(|holder| holder.incarnation == agent.info.incarnation)
}

/// The agents that hold a lease, by name.
pub(super) fn present_agents(link: &mut BusLink, keys: &BusKeys) -> Result<Vec<AgentInfo>, RunnerError> {
    let names = link.ask(|bus| bus.members(&keys.agents()))?;
    let mut found = Vec::new();
    for name in names {
        let key = keys.agent(&name);
        let Some(value) = link.ask(|bus| bus.lease_value(&key))? else { continue };
        let info: AgentInfo = from_bytes(&value, "the lease", &key)?;
        if info.name == name {
            found.push(info);
        }
    }
    Ok(found)
}
