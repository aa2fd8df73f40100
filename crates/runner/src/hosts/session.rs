//! A session of a run on several hosts: the agents are found before anything is made, then the conductor takes over.
//!
//! In: the bus, how many agents the load is for. Out: the run file with the rows of all hosts. Limits: one coordinator for one name on a bus:
//! a second is refused.

use super::coordinator::HostsPerformer;
use super::guard::check_shared;
use super::hosts_link::{HostsLink, present_agents};
use super::reach_bus::{LOOK_EACH, reach_bus};
use super::run_clock::RunClock;
use super::setup::CoordinatorSetup;
use super::wire::{AgentInfo, LeadInfo, Order, to_bytes};
use crate::conduct::Conductor;
use crate::conduct::strategy::{PlanMatrix, Strategy};
use crate::error::RunnerError;
use crate::events::{RunObserver, note};
use crate::preflight::wall_time_of_run;
use crate::session::RunSession;
use bus::{BusError, BusLink, Lease, random_id};
use load::{MonotonicClock, Stop};
use model::{Catalogue, Plan};
use std::time::Instant;

/// A run whose agents are there.
pub struct HostedSession {
    setup: CoordinatorSetup,
    run: String,
    link: BusLink,
    /// Held until the run is over.
    lead: Lease,
}

impl HostedSession {
    /// Becomes the coordinator, and waits until there are agents enough for `plan`.
    ///
    /// # Errors
    /// If the bus cannot be used, there is another coordinator, an agent is of another version, too few come, or the plan is none for several
    /// hosts.
    pub fn gather(
        setup: CoordinatorSetup,
        plan: &Plan,
        stop: &Stop,
        observer: &mut dyn RunObserver,
    ) -> Result<HostedSession, RunnerError> {
        check_shared(plan, setup.agents)?;
        let (run, mut link) = (random_id(), setup.connector.link());
        reach_bus(&mut link, setup.wait, stop, observer)?;
        let lead = LeadInfo { run: run.clone(), version: env!("CARGO_PKG_VERSION").into() };
        let lead = Lease::take(&setup.connector, setup.keys.lead(), to_bytes(&lead))?.ok_or_else(another_leads)?;
        let since = Instant::now();
        loop {
            if let Some(reason) = stop.reason() {
                return Err(RunnerError::Stopped(reason));
            }
            let found = present_agents(&mut link, &setup.keys)?;
            check_versions(&found)?;
            let loading: Vec<&str> =
                found.iter().filter(|agent| agent.role.loads()).map(|agent| agent.name.as_str()).collect();
            if loading.len() as u32 >= setup.agents {
                let names: Vec<&str> = found.iter().map(|agent| agent.name.as_str()).collect();
                note(observer, format_args!("agents: {}", names.join(", ")));
                return Ok(HostedSession { setup, run, link, lead });
            }
            if since.elapsed() >= setup.wait {
                return Err(too_few(&setup, &loading));
            }
            std::thread::sleep(LOOK_EACH);
        }
    }

    /// Measures all trials of the plan of `session` that are not complete.
    pub fn measure_all(self, session: RunSession, catalogue: &Catalogue) -> Result<(), RunnerError> {
        let matrix = PlanMatrix::new(session.plan, catalogue, session.writer.path());
        let mut matrix = matrix.of_session(session.interruption.as_ref());
        self.measure(session, &mut matrix)
    }

    /// Measures the trials that `strategy` asks for.
    fn measure(mut self, session: RunSession, strategy: &mut dyn Strategy) -> Result<(), RunnerError> {
        let RunSession { plan, writer, stop, observer, interruption, .. } = session;
        let (started_unix_ms, earliest) = (writer.started_unix_ms()?, interruption.as_ref().map(|gap| gap.over));
        let clock = MonotonicClock::start_when(|| wall_time_of_run(started_unix_ms).max(earliest.unwrap_or_default()));
        let run_clock = self.link.ask(|bus| RunClock::lead(bus, clock))?;
        let origin_ns = run_clock.origin_ns();
        let HostedSession { setup, run, link, lead } = self;
        let mut link = HostsLink::new(link, setup.keys.clone(), run, run_clock, setup.wait);
        let run_id = writer.path().file_stem().unwrap_or_default().to_string_lossy().into_owned();
        link.order(&Order::Begin { run_id, started_unix_ms, origin_ns, plan: Box::new(plan.clone()) });
        let mut performer = HostsPerformer::new(setup, link, stop.clone());
        let begun = performer.begin();
        let done = interruption.iter().flat_map(|gap| &gap.done).map(|done| done.point).collect();
        let conductor = Conductor { writer, observer, stop, clock, done, interruption };
        let measured = begun.and_then(|()| conductor.conduct_run(strategy, &mut performer));
        performer.end();
        drop(lead);
        measured
    }
}

fn another_leads() -> RunnerError {
    RunnerError::Bus(BusError::Taken(format!(
        "another coordinator conducts a run with this --bus-name; wait until it ends, or use another name for this run and its agents (the \
         place of a coordinator that was killed is free after {} s)",
        Lease::LENGTH.as_secs()
    )))
}

fn check_versions(agents: &[AgentInfo]) -> Result<(), RunnerError> {
    let own = env!("CARGO_PKG_VERSION");
    agents.iter().find(|agent| agent.version != own).map_or(Ok(()), |agent| {
        let (name, other) = (&agent.name, super::wire::one_line(&agent.version));
        Err(RunnerError::Unsafe(format!(
            "agent `{name}` is plimsoll `{other}`, and this is `{own}`; use the same on all hosts"
        )))
    })
}

fn too_few(setup: &CoordinatorSetup, there: &[&str]) -> RunnerError {
    let (wanted, seconds) = (setup.agents, setup.wait.as_secs());
    let who = if there.is_empty() { "none".to_owned() } else { there.join(", ") };
    RunnerError::failed(format!(
        "too few agents that load came in {seconds} s: {wanted} wanted (--agents), {} there ({who}); start the others with the same --bus, \
         --bus-name and key, or wait longer with --host-wait",
        there.len()
    ))
}
