//! A recorded run as the reading half sees it: increments summed, histograms decoded, nothing judged yet.
//!
//! In: the store's reader makes these. Out: the crate `analysis` reads them.
//! Limits: all of the run is in memory. An hour of one-second intervals, each with 2,000 operations of two kinds, takes 80 MB
//! in a closed loop and 140 MB in an open one, where response times differ from service times; with 50,000 of each kind it
//! takes 95 and 175 MB.

use crate::event::Event;
use crate::fact::Fact;
use crate::host::{HostClock, HostId, HostRole, LoadShare};
use crate::hourly_cost::HourlyCost;
use crate::machine::Machine;
use crate::network::{LINK_FACT, LinkSpeed};
use crate::op::OpKind;
use crate::readings::Readings;
use crate::role::{KindDef, PointParam};
use crate::sample::{EndpointInterval, Generator, KindRow, SourceDef};
use crate::stacks::StackSnapshot;
use crate::traits::PointTraits;
use crate::trial::{Phase, Plan, Trial};
use crate::units::{Nanos, Tick};
use serde::{Deserialize, Serialize};

/// The fact of a point with what was read back of the data that it wrote, and with what result.
pub const READ_BACK_FACT: &str = "verify.read_back";

/// The fact of a run with what of its plan the machine could not vary, or would have measured twice.
pub const LEFT_OUT_FACT: &str = "plan.left_out";

/// The fact of a run with the command that measured it.
pub const COMMAND_FACT: &str = "plan.command";
/// The fact of a run with the program that restored the server before each point.
pub const RESTORE_FACT: &str = "plan.restore";
/// The fact of a run with the name of its file.
pub const RUN_FILE_FACT: &str = "run.file";
/// The fact of a run with the SHA-256 of its file.
pub const RUN_DIGEST_FACT: &str = "run.sha256";
/// The fact of a run with the SHA-256 of its plan.
pub const PLAN_DIGEST_FACT: &str = "plan.sha256";

/// What is known of a run as a whole.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunMeta {
    /// Unique among runs: a timestamp and the plan's name.
    pub run_id: String,
    /// The wall clock at Tick 0, in milliseconds since 1970 UTC, as it was when the session began.
    pub started_unix_ms: u64,
    /// The version of plimsoll that recorded it.
    pub plimsoll_version: String,
    pub plan: Plan,
    /// The machine, kernel, filesystem and device: what must be alike for two runs to be compared.
    pub environment: Vec<Fact>,
    /// What code reads of it.
    pub machine: Machine,
}

impl RunMeta {
    /// Sets what the machine costs, in place of what was stated when it was recorded.
    pub fn state_cost(&mut self, stated: HourlyCost) {
        let all = stated.or(self.machine.hourly);
        self.machine.hourly = all;
        let names: Vec<String> = all.facts().map(|fact| fact.name).collect();
        self.environment.retain(|fact| !names.contains(&fact.name));
        self.environment.extend(all.facts());
    }

    /// Sets the fact `name`, in place of what was recorded.
    pub fn state_fact(&mut self, name: &str, value: impl Into<String>) {
        self.environment.retain(|fact| fact.name != name);
        self.environment.push(Fact::new(name, value));
    }

    /// The value of the fact `name` of the run; `None` if it has none.
    pub fn fact(&self, name: &str) -> Option<&str> {
        self.environment.iter().find(|fact| fact.name == name).map(|fact| fact.value.as_str())
    }

    /// Sets the speed of the link to the server, if one is `stated`, in place of what was stated when it was recorded.
    pub fn state_link(&mut self, stated: Option<LinkSpeed>) {
        let Some(speed) = stated else { return };
        self.machine.link = Some(speed);
        self.state_fact(LINK_FACT, speed.fact_value());
    }
}

/// How a point ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PointState {
    /// Every phase ran to its end.
    Complete,
    /// It was interrupted; what was measured is there. Also the state of a point whose recorder was killed.
    Partial,
    /// The engine failed; what was measured before is there.
    Failed,
}

impl PointState {
    /// The word used in files and reports.
    pub fn as_str(self) -> &'static str {
        match self {
            PointState::Complete => "complete",
            PointState::Partial => "partial",
            PointState::Failed => "failed",
        }
    }
}

#[derive(Clone, Debug)]
pub struct RunData {
    /// What is known of the run as a whole.
    pub meta: RunMeta,
    /// Its points in the order in which they were measured.
    pub points: Vec<PointData>,
}

#[derive(Clone, Debug)]
pub struct PointData {
    /// Its number in the run, from 1.
    pub id: u32,
    pub state: PointState,
    /// Why it did not complete, for people.
    pub error: Option<String>,
    pub trial: Trial,
    /// What the engine reported of itself, for people: version, settings as read back.
    pub facts: Vec<Fact>,
    /// What code reads of it.
    pub traits: PointTraits,
    /// The parameters of its trial as engine and workload declare them.
    pub params: Vec<PointParam>,
    /// The workload's kinds of operation; [`KindRow::kind`] indexes them.
    pub kinds: Vec<KindDef>,
    /// The phases in order. A phase that was not reached is missing.
    pub phases: Vec<PhaseData>,
    /// The sources of counters.
    pub sources: Vec<SourceDef>,
    pub counters: Readings,
    /// What happened, in time order.
    pub events: Vec<Event>,
    /// The stacks of the engine that were taken, in time order.
    pub stacks: Vec<StackSnapshot>,
    /// What was done on each of several endpoints, in the order of phases, intervals and endpoints; empty with one endpoint.
    pub endpoints: Vec<EndpointInterval>,
    /// The hosts that took part, each with what it recorded; empty if only the recording machine did. The phases, stacks and endpoints of
    /// the point are the sums over them; its sources, counters and events are those of the recording machine.
    pub hosts: Vec<HostData>,
}

impl PointData {
    /// A point of `trial` of which nothing is measured.
    pub fn unmeasured(id: u32, trial: Trial) -> PointData {
        PointData {
            id,
            state: PointState::Partial,
            error: None,
            trial,
            facts: Vec::new(),
            traits: PointTraits::default(),
            params: Vec::new(),
            kinds: Vec::new(),
            phases: Vec::new(),
            sources: Vec::new(),
            counters: Readings::default(),
            events: Vec::new(),
            stacks: Vec::new(),
            endpoints: Vec::new(),
            hosts: Vec::new(),
        }
    }

    /// The recorded data of `phase`; `None` if it was not reached.
    pub fn phase(&self, phase: Phase) -> Option<&PhaseData> {
        self.phases.iter().find(|p| p.phase == phase)
    }

    /// The kind of operation of that number; `None` if the point has none.
    pub fn kind(&self, kind: OpKind) -> Option<&KindDef> {
        self.kinds.get(usize::from(kind))
    }
}

#[derive(Clone, Debug)]
pub struct PhaseData {
    pub phase: Phase,
    pub start: Tick,
    /// When it ended: the planned end, or the end of the last operation if it ended by count, or the interruption.
    /// If the recorder was killed, the end of the last interval recorded.
    pub end: Tick,
    /// Arrivals that fell due and were never started (open loop).
    pub unserved: u64,
    /// Arrivals offered by the schedules of all clients with an open loop, those of background clients included; 0 without any.
    pub offered: u64,
    /// Intervals in order, without holes from 0. Those beyond `end` hold operations that ended in the grace time.
    pub intervals: Vec<Interval>,
}

/// One interval, all increments summed.
#[derive(Clone, Debug)]
pub struct Interval {
    /// Its number in the phase.
    pub index: u32,
    pub start: Tick,
    /// How long it is.
    pub length: Nanos,
    /// One entry per kind of operation that had any, all increments summed.
    pub kinds: Vec<KindRow>,
    /// What it cost the generator.
    pub generator: Generator,
}

/// A host of a point, as it is known from its agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PointHost {
    /// Its number in the point.
    pub id: HostId,
    /// Its name, which people gave it.
    pub name: String,
    /// Which agent of that name: an agent that is started again is another.
    pub incarnation: String,
    /// What it is there for.
    pub role: HostRole,
    /// Its part of the load; `None` if it has none, or it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share: Option<LoadShare>,
    /// What is known of the machine, for people, by the names that the environment of a run has.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub facts: Vec<Fact>,
    /// How its clock differs from that of the bus; `None` if it was not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock: Option<HostClock>,
    /// How much later than planned it began the run phase, by its own clock; negative if it was early, `None` if it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_skew_ns: Option<i64>,
}

/// The fact of a host with the name of the endpoint of the database that runs on it, if the database has several.
const ENDPOINT_FACT: &str = "server.endpoint";

impl PointHost {
    /// The fact that the endpoint `name` runs on a host.
    pub fn endpoint_fact(name: &str) -> Fact {
        Fact::new(ENDPOINT_FACT, name)
    }

    /// The endpoint of the database that runs on it, if that is known.
    pub fn endpoint(&self) -> Option<&str> {
        self.facts.iter().find(|fact| fact.name == ENDPOINT_FACT).map(|fact| fact.value.as_str())
    }
}

/// What one host of a point recorded.
#[derive(Clone, Debug)]
pub struct HostData {
    pub host: PointHost,
    /// What its clients did, in the phases in which they did anything.
    pub phases: Vec<HostPhase>,
    /// Its sources of counters.
    pub sources: Vec<SourceDef>,
    /// All readings of them.
    pub counters: Readings,
    /// What happened on it, in time order.
    pub events: Vec<Event>,
}

/// What the clients of one host did in one phase. When it began and ended is known of all hosts together.
#[derive(Clone, Debug)]
pub struct HostPhase {
    pub phase: Phase,
    /// The intervals of the host, in order and without holes from 0: those of the same number are the same time on all hosts.
    pub intervals: Vec<Interval>,
}

impl HostData {
    /// A host of which nothing is recorded.
    pub fn unmeasured(host: PointHost) -> HostData {
        HostData { host, phases: Vec::new(), sources: Vec::new(), counters: Readings::default(), events: Vec::new() }
    }

    /// What its clients did in `phase`; `None` if they did nothing.
    pub fn phase(&self, phase: Phase) -> Option<&HostPhase> {
        self.phases.iter().find(|known| known.phase == phase)
    }
}
