//! What one host of a point delivers at once, in the form in which it goes over a bus.
//!
//! In: an agent makes [`HostRows`]. Out: the recorder writes them into the run file. Limits: moments are those of the run, not of the host's clock.

use crate::event::Event;
use crate::readings::CounterSample;
use crate::sample::{EndpointInterval, IntervalRow, SourceDef};
use crate::stacks::StackSnapshot;
use serde::{Deserialize, Serialize};

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::endpoint::{EndpointRow, FailureCounts};
    use crate::event::EventKind;
    use crate::histogram::{LatencyCounts, Times};
    use crate::host::{HostId, HostRole};
    use crate::op::{FailureClass, OpKind};
    use crate::run::PointHost;
    use crate::sample::{Generator, KindRow};
    use crate::stacks::{FoldedStack, StackReason};
    use crate::trial::Phase;
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
