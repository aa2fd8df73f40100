//! An agent: it waits for a coordinator, takes part in one run, and ends.
//!
//! In: the bus, a name, a place to measure, what the host is there for. Out: the run file of this host. Limits: one run; whatever starts agents starts
//! the next. It obeys only who has the key of the run.

use super::control::{AgentControl, OrderThread};
use super::guard::OwnChoices;
use super::own_run::{AgentParts, NewRun, OwnEnd, OwnRun};
use super::reach_bus::{LOOK_EACH, reach_bus};
use super::run_clock::RunClock;
use super::wire::{AgentInfo, LeadInfo, NumberedOrder, Order, Report, WireFault, from_bytes, to_bytes};
use crate::error::RunnerError;
use crate::events::{RunObserver, note};
use crate::preflight::{HeldPlaces, RunSite, check_before_run};
use bus::{BusConnector, BusError, BusKeys, BusLink, Lease, Outbox, OutboxSender, random_id};
use load::{Stop, StopReason};
use model::{Catalogue, Fact, HostRole, InterfaceLink, LINK_FACT, LinkSpeed, Nanos, Plan};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

/// How long an agent that refuses a run waits until its reason is on the bus.
const LAST_WORDS: Duration = Duration::from_secs(10);

/// What the command line of an agent has.
pub struct AgentSetup {
    /// The way to the bus.
    pub connector: BusConnector,
    /// The keys of the hosts that belong together.
    pub keys: BusKeys,
    /// The name of this host.
    pub name: String,
    /// What it is there for.
    pub role: HostRole,
    /// Where it measures and records.
    pub site: RunSite,
    /// The URL of the server, in place of that of the plan.
    pub endpoint: Option<String>,
    /// The file of the server's password.
    pub password_file: Option<String>,
    /// The process of the server, if this host only observes; without it the one that listens at the port of its URL.
    pub engine_pid: Option<u32>,
    /// The speed of this host's network links, if its user states one for all of them.
    pub link: Option<LinkSpeed>,
    /// The speeds that its user states of single interfaces.
    pub interface_links: Vec<InterfaceLink>,
    /// By how much the clock of this agent is ahead: for tests of hosts whose clocks differ.
    pub clock_ahead: Nanos,
    /// How long it waits for the bus and for a coordinator, at the beginning and if one is gone.
    pub wait: Duration,
}

/// Takes part in the next run. Returns the run file of this host.
///
/// # Errors
/// If the bus cannot be used, the name is taken, no coordinator comes or it does not come back, or something of the host itself breaks.
pub fn serve_agent(
    setup: &AgentSetup,
    catalogue: &Catalogue,
    stop: &Arc<Stop>,
    observer: &mut dyn RunObserver,
) -> Result<PathBuf, RunnerError> {
    let AgentSetup { connector, keys, name, role, .. } = setup;
    bus::check_name("--name", name)?;
    // Before it waits for a run, and again before it writes.
    host::safety::check_links(&setup.site.runs)?;
    let agent = AgentInfo {
        name: name.clone(),
        incarnation: random_id(),
        version: env!("CARGO_PKG_VERSION").into(),
        role: *role,
        facts: machine_facts(setup),
    };
    let mut link = connector.link();
    reach_bus(&mut link, setup.wait, stop, observer)?;
    let lease = Lease::take(connector, keys.agent(name), to_bytes(&agent))?.ok_or_else(|| name_taken(name))?;
    link.ask(|bus| bus.add_member(&keys.agents(), name))?;
    let served = loop {
        note(observer, format_args!("`{name}` waits for a coordinator"));
        let lead = wait_for_lead(setup, &mut link, stop)?;
        check_version(&lead)?;
        match serve_run(setup, catalogue, &agent, lead, &lease, stop, observer) {
            Ok(ServedEnd::Replaced) => {}
            Ok(ServedEnd::Over(run_file)) => break Ok(run_file),
            Err(error) => break Err(error),
        }
    };
    let gone = link.ask(|bus| bus.remove_member(&keys.agents(), name));
    drop(gone); // the lease ends by itself, and a name without a lease is no agent
    served
}

/// How a run ended on this host.
enum ServedEnd {
    /// As the coordinator ordered. This is the run file.
    Over(PathBuf),
    /// Another coordinator began a run, or went on with this one: it wants this host, too.
    Replaced,
}

/// Takes part in the run of `lead`.
fn serve_run(
    setup: &AgentSetup,
    catalogue: &Catalogue,
    agent: &AgentInfo,
    lead: LeadInfo,
    lease: &Lease,
    stop: &Arc<Stop>,
    observer: &mut dyn RunObserver,
) -> Result<ServedEnd, RunnerError> {
    let control = Arc::new(AgentControl::new(stop.clone(), setup.wait));
    let started = OrderThread::start(&setup.connector, &setup.keys, &lead.run, agent, control.clone());
    let (_hearing, orders) = started.map_err(|error| {
        let why = host::error::system_words(&error);
        RunnerError::failed(format!("the thread that hears orders cannot be started: {why}"))
    })?;
    let (link, stop) = (setup.connector.link(), stop.clone());
    let mut served = ServedRun { setup, catalogue, agent: agent.clone(), lead, control, stop, link, own: None };
    let obeyed = catch_unwind(AssertUnwindSafe(|| served.obey(&orders, lease, observer)));
    let is_replaced = obeyed.unwrap_or_else(|panic| served.end_broken(panic));
    let finished = served.own.map(OwnRun::finish).transpose();
    match (is_replaced?, finished?) {
        (true, _) => Ok(ServedEnd::Replaced),
        (false, Some(OwnEnd { file, fault })) => fault.map_or(Ok(ServedEnd::Over(file)), Err),
        (false, None) => Err(RunnerError::failed("the run ended before anything was measured")),
    }
}

fn machine_facts(setup: &AgentSetup) -> Vec<Fact> {
    let place = host::filesystem::find_mount(&setup.site.dir).map(|place| place.facts()).unwrap_or_default();
    let link = setup.link.map(|link| Fact::new(LINK_FACT, link.fact_value()));
    let single = setup.interface_links.iter().map(|link| Fact::new(link.fact_name(), link.speed.fact_value()));
    host::machine::facts().into_iter().chain(place).chain(link).chain(single).collect()
}

fn name_taken(name: &str) -> RunnerError {
    RunnerError::Bus(BusError::Taken(format!(
        "another agent has the name `{name}`; choose another with --name (the name of an agent that was killed is free after {} s)",
        Lease::LENGTH.as_secs()
    )))
}

/// Waits for the lease of a coordinator.
fn wait_for_lead(setup: &AgentSetup, link: &mut BusLink, stop: &Stop) -> Result<LeadInfo, RunnerError> {
    let (since, key) = (Instant::now(), setup.keys.lead());
    loop {
        if let Some(reason) = stop.reason() {
            return Err(RunnerError::Stopped(reason));
        }
        match link.ask(|bus| bus.lease_value(&key)) {
            Ok(Some(value)) => return from_bytes(&value, "the lease", &key),
            Ok(None) => {}
            Err(error) if error.is_away() && since.elapsed() < setup.wait => {}
            Err(error) => return Err(error.into()),
        }
        if since.elapsed() >= setup.wait {
            let seconds = setup.wait.as_secs();
            return Err(RunnerError::failed(format!(
                "no coordinator came in {seconds} s; start `plimsoll run PLAN --bus ... --agents N` with the same bus, name and key, or \
                 wait longer with --wait"
            )));
        }
        std::thread::sleep(LOOK_EACH);
    }
}

fn check_version(lead: &LeadInfo) -> Result<(), RunnerError> {
    let own = env!("CARGO_PKG_VERSION");
    if lead.version == own {
        Ok(())
    } else {
        let other = super::wire::one_line(&lead.version);
        Err(RunnerError::Unsafe(format!(
            "the coordinator is plimsoll `{other}`, and this is `{own}`; use the same on all hosts"
        )))
    }
}

/// A run that this agent takes part in.
struct ServedRun<'a> {
    setup: &'a AgentSetup,
    catalogue: &'a Catalogue,
    agent: AgentInfo,
    lead: LeadInfo,
    control: Arc<AgentControl>,
    stop: Arc<Stop>,
    link: BusLink,
    own: Option<OwnRun<'a>>,
}

impl ServedRun<'_> {
    /// Obeys the orders until the run ends. Returns whether another has begun in its place.
    fn obey(
        &mut self,
        orders: &Receiver<NumberedOrder>,
        lease: &Lease,
        observer: &mut dyn RunObserver,
    ) -> Result<bool, RunnerError> {
        loop {
            if self.control.is_replaced() {
                return Ok(true);
            }
            self.control.take_notes().iter().for_each(|text| note(observer, text));
            self.own.iter_mut().for_each(|own| own.end_if_skipped(observer));
            if self.stop.reason() == Some(StopReason::Interrupted) {
                return Err(RunnerError::Stopped(StopReason::Interrupted));
            }
            if lease.is_lost() {
                return Err(name_taken(&self.agent.name));
            }
            match orders.recv_timeout(LOOK_EACH) {
                Ok(NumberedOrder { order: Order::End, .. }) => return Ok(false),
                Ok(NumberedOrder { nth, order }) => self.take(nth, order, observer)?,
                Err(RecvTimeoutError::Timeout) => self.control.check_lead()?,
                // The thread ends when it has seen that.
                Err(RecvTimeoutError::Disconnected) if self.control.is_replaced() => return Ok(true),
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(RunnerError::failed("the thread that hears orders broke"));
                }
            }
        }
    }

    /// Reports that this process is broken, which its lease does not show, and ends as it would have ended without that.
    fn end_broken(&self, panic: Box<dyn Any + Send>) -> ! {
        if let Some(own) = &self.own {
            own.leave(&format!("its agent broke: {}", panic_text(&*panic)));
        }
        resume_unwind(panic)
    }

    fn take(&mut self, nth: u64, order: Order, observer: &mut dyn RunObserver) -> Result<(), RunnerError> {
        match (order, &mut self.own) {
            (Order::Begin { run_id, started_unix_ms, origin_ns, plan }, None) => {
                self.begin(run_id, started_unix_ms, origin_ns, &plan, observer)
            }
            (Order::Prepare { point, assignment, members, who }, Some(own)) => {
                let mine = members
                    .iter()
                    .find(|member| member.name == self.agent.name && member.incarnation == self.agent.incarnation);
                if mine.is_some_and(|member| who.includes(member.place)) {
                    own.report(&Report::Taken(nth));
                    own.prepare(point, *assignment, &members, self.catalogue, observer);
                }
                Ok(())
            }
            (Order::Go { point, at }, Some(own)) => {
                own.report(&Report::Taken(nth));
                own.go(point, at, observer);
                Ok(())
            }
            (Order::Clear { point }, Some(own)) => {
                own.report(&Report::Taken(nth));
                own.clear(point);
                Ok(())
            }
            // The thread that hears orders obeys the others, and a run begins once.
            _ => Ok(()),
        }
    }

    /// Takes part in the run, or reports why it cannot.
    fn begin(
        &mut self,
        run_id: String,
        started_unix_ms: u64,
        origin_ns: u64,
        plan: &Plan,
        observer: &mut dyn RunObserver,
    ) -> Result<(), RunnerError> {
        bus::check_name("the name of the run", &run_id)?;
        let AgentSetup { connector, keys, site, endpoint, password_file, engine_pid, clock_ahead, .. } = self.setup;
        host::safety::check_links(&site.runs)?;
        std::fs::create_dir_all(&site.runs).map_err(|error| no_outbox(site, &error))?;
        let outbox = Arc::new(Outbox::create_in(&site.runs).map_err(|error| no_outbox(site, &error))?);
        let key = keys.reports(&self.lead.run, &self.agent.name, &self.agent.incarnation);
        let sender = Arc::new(OutboxSender::start(connector.clone(), key, outbox.clone())?);
        let clock = Arc::new(self.link.ask(|bus| RunClock::follow(bus, origin_ns, *clock_ahead))?);
        self.control.begin_run(outbox.clone(), clock.clone());
        let choices = OwnChoices { endpoint: endpoint.clone(), password_file: password_file.clone() };
        let (control, stop) = (self.control.clone(), self.stop.clone());
        let parts = AgentParts { outbox: outbox.clone(), sender: sender.clone(), clock, control, stop };
        let own = self.own_plan(plan, &choices, observer).and_then(|(plan, places)| {
            let engine_pid = *engine_pid;
            let agent = &self.agent;
            let run = NewRun { run_id, started_unix_ms, plan: &plan, agent, choices, engine_pid, places };
            OwnRun::create(run, parts, site, observer)
        });
        let began = own.as_ref().err().map(WireFault::from);
        let is_refused = began.is_some();
        let _ = outbox.push(&to_bytes(&Report::Began(began))); // a full disk is seen as soon as a point is recorded
        if is_refused {
            outbox.wait_sent(LAST_WORDS);
        }
        drop(sender);
        self.own = Some(own?);
        Ok(())
    }

    /// The plan as this host measures it, after all checks that a run of this host alone makes, and the places that it holds for that.
    fn own_plan(
        &self,
        plan: &Plan,
        choices: &OwnChoices,
        observer: &mut dyn RunObserver,
    ) -> Result<(Plan, Option<HeldPlaces>), RunnerError> {
        plan::check(plan, "the order", self.catalogue)?;
        let trials = plan.trials.iter().map(|trial| choices.apply_to(trial.clone()));
        let own = Plan { trials: trials.collect::<Result<_, _>>()?, ..plan.clone() };
        let loads = self.agent.role.loads();
        let check = || check_before_run(&own, &self.setup.site, self.catalogue, observer);
        let held = loads.then(check).transpose()?;
        Ok((own, held))
    }
}

/// What a panic reported.
fn panic_text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("it is not known why")
}

fn no_outbox(site: &RunSite, error: &std::io::Error) -> RunnerError {
    let (runs, why) = (host::error::shown(&site.runs), host::error::system_words(error));
    RunnerError::Unsafe(format!(
        "cannot write in the directory `{runs}` for run files: {why}; choose another directory with --runs"
    ))
}
