//! The hosts of a point: the machines that load the database or on which a part of it runs.
//!
//! In: an agent describes its host, measures its clock and delivers [`HostRows`]. Out: the run file keeps them, the reading half shows the
//! hosts of a point next to each other.
//! Limits: a point that only the recording machine measured has no hosts at all; its rows are those of [`HostId::RECORDER`].

use crate::event::Event;
use crate::readings::{CounterSample, Readings};
use crate::run::Interval;
use crate::sample::{EndpointInterval, Fact, IntervalRow, SourceDef};
use crate::stacks::StackSnapshot;
use crate::trial::Phase;
use serde::{Deserialize, Serialize};

/// The number of a host among those of a point.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct HostId(pub u16);

impl HostId {
    /// The machine that records the run.
    pub const RECORDER: HostId = HostId(0);
}

/// What a host is there for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HostRole {
    /// Clients run on it.
    Load,
    /// A node of the database runs on it, and is observed.
    Observe,
    /// Both.
    LoadAndObserve,
}

impl HostRole {
    /// The word used in files.
    pub fn as_str(self) -> &'static str {
        match self {
            HostRole::Load => "load",
            HostRole::Observe => "observe",
            HostRole::LoadAndObserve => "load-and-observe",
        }
    }

    /// Whether clients run on it.
    pub fn loads(self) -> bool {
        matches!(self, HostRole::Load | HostRole::LoadAndObserve)
    }

    /// Whether a node of the database runs on it.
    pub fn observes(self) -> bool {
        matches!(self, HostRole::Observe | HostRole::LoadAndObserve)
    }
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

/// The part of a point's load that one host has.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LoadShare {
    /// Its clients, of all that measure.
    pub clients: u32,
    /// Its part of all operations as it was planned, from 0 to 1: of the clients in a closed loop, of the rate in an open loop.
    pub part: f64,
}

/// A comparison of a host's clock with that of the bus.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostClock {
    /// The clock of the bus is ahead of the host's by this.
    pub offset_ns: i64,
    /// The offset is off by this at most, either way: the most of all comparisons that the point was measured by.
    pub bound_ns: u64,
}

/// What one host delivers at once, in the form in which it goes over a bus. Its moments are those of the run, not of the host's clock.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct HostRows {
    /// Sources of counters that the host describes here. They follow those that it described before for the same point.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<SourceDef>,
    /// What its clients did: increments.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub intervals: Vec<IntervalRow>,
    /// What its sources read. [`CounterSample::source`] counts the sources of this host in this point, from 0.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub counters: Vec<CounterSample>,
    /// What happened on it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<Event>,
    /// The stacks of the engine that were taken on it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stacks: Vec<StackSnapshot>,
    /// What its clients did on each of several endpoints: increments.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub endpoints: Vec<EndpointInterval>,
}

/// How far the rows of one host are in the run file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BusPosition {
    /// The point that they belong to.
    pub point: u32,
    /// The number of the host in that point.
    pub host: HostId,
    /// The name of the host.
    pub name: String,
    /// The agent that sent them.
    pub incarnation: String,
    /// The number of the last row of that agent that is in the file.
    pub row: u64,
}

/// What one host of a point recorded.
#[derive(Clone, Debug)]
pub struct HostData {
    /// The host.
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
    /// Which.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::endpoint::{EndpointRow, FailureCounts};
    use crate::event::EventKind;
    use crate::histogram::{LatencyCounts, Times};
    use crate::op::{FailureClass, OpKind};
    use crate::sample::{Generator, KindRow};
    use crate::stacks::{FoldedStack, StackReason};
    use crate::units::{Nanos, Tick};

    fn times(count: u64) -> Times {
        let mut counts = LatencyCounts::default();
        (0..count).for_each(|n| counts.record(100_000 + n * n * 7_001));
        counts.take()
    }

    fn rows() -> HostRows {
        let kind =
            KindRow { ok: 300, failed: 2, response: times(300), service: times(299), ..KindRow::empty(OpKind(1)) };
        let interval = IntervalRow {
            phase: Phase::Run,
            index: 3,
            start: Tick(5),
            length: Nanos(7),
            kinds: vec![kind],
            generator: Generator { lag_max_ns: 9, ..Generator::default() },
        };
        let mut failed = FailureCounts::default();
        failed.add_of(FailureClass::NoSpace, 2);
        let endpoint = EndpointRow { endpoint: 1, ok: 4, failed, response: times(4) };
        HostRows {
            sources: vec![SourceDef { name: "cpu".into(), subject: String::new(), counters: Vec::new() }],
            intervals: vec![interval],
            counters: vec![CounterSample { at: Tick(1), source: 0, values: vec![Some(0.1 + 0.2), None] }],
            events: vec![Event::new(Tick(2), EventKind::HostLost, "n1: its agent is silent")],
            stacks: vec![StackSnapshot {
                at: Tick(3),
                reason: StackReason::Random,
                tool: "gdb".into(),
                took: Nanos(4),
                stopped: Nanos(2),
                stacks: vec![FoldedStack::new("mariadbd", ["main"])],
            }],
            endpoints: vec![EndpointInterval { phase: Phase::Warmup, index: 0, row: endpoint }],
        }
    }

    #[test]
    fn rows_come_over_a_bus_as_they_were_sent() {
        let sent = rows();
        let text = serde_json::to_string(&sent).unwrap();
        assert_eq!(serde_json::from_str::<HostRows>(&text).unwrap(), sent);
        assert_eq!(serde_json::to_string(&HostRows::default()).unwrap(), "{}");
        assert_eq!(serde_json::from_str::<HostRows>("{}").unwrap(), HostRows::default());
    }

    #[test]
    fn a_host_that_knows_little_of_itself_comes_back_as_it_was() {
        let host = PointHost {
            id: HostId(2),
            name: "c2".into(),
            incarnation: "0b".into(),
            role: HostRole::LoadAndObserve,
            share: None,
            facts: Vec::new(),
            clock: None,
            start_skew_ns: None,
        };
        let text = serde_json::to_string(&host).unwrap();
        assert_eq!(text, r#"{"id":2,"name":"c2","incarnation":"0b","role":"load-and-observe"}"#);
        assert_eq!(serde_json::from_str::<PointHost>(&text).unwrap(), host);
        for role in [HostRole::Load, HostRole::Observe, HostRole::LoadAndObserve] {
            assert_eq!(serde_json::to_string(&role).unwrap(), format!("\"{}\"", role.as_str()));
        }
    }
}
