//! Recorded points of three endpoints, made up for tests, with a known answer.
//!
//! In: how many operations each endpoint does in each second, and when one is down. Out: a [`Simulation`]. Limits: an endpoint that is down
//! fails one operation as lost in each of the first four seconds.

use crate::simulated::{SECOND, Simulation};
use model::{
    CounterDef, CounterKind, CounterRole, CounterSample, EndpointInterval, EndpointRow, FailureClass, FailureCounts,
    Phase, SourceDef, Tick, Times,
};

/// The names of the endpoints.
const NAMES: [&str; 3] = ["node 1", "node 2", "node 3"];

/// So many seconds in which each of three endpoints does `rate` operations: of the number of the endpoint and of the second. All are up.
pub fn with_endpoints(seconds: u64, rate: impl Fn(usize, u64) -> u64) -> Simulation {
    let counts: Vec<u64> = (0..seconds).map(|second| (0..NAMES.len()).map(|nth| rate(nth, second)).sum()).collect();
    Simulation::counts(&counts).with(|point| {
        point.traits.engine.endpoints = NAMES.map(str::to_owned).to_vec();
        for second in 0..seconds {
            point.endpoints.extend((0..NAMES.len()).map(|nth| EndpointInterval {
                phase: Phase::Run,
                index: second as u32,
                row: row(nth as u16, rate(nth, second)),
            }));
        }
        for name in NAMES {
            let source = point.sources.len() as u16;
            let counters = vec![counter("down_ns", "ns", CounterRole::EndpointDown)];
            point.sources.push(SourceDef { name: "endpoint".into(), subject: name.into(), counters });
            for second in 0..=seconds {
                point.counters.push(CounterSample { at: Tick(second * SECOND), source, values: vec![Some(0.0)] });
            }
        }
    })
}

/// The same with endpoint number `nth` down for `down_s` seconds from `at_s` on.
pub fn with_endpoint_down(simulation: Simulation, nth: usize, at_s: f64, down_s: f64) -> Simulation {
    simulation.with(|point| {
        let about =
            point.sources.iter().position(|source| source.subject == NAMES[nth]).expect("it has a source") as u16;
        point.counters.edit(|samples| {
            for sample in samples.iter_mut().filter(|sample| sample.source == about) {
                let down = (sample.at.0 as f64 / SECOND as f64 - at_s).clamp(0.0, down_s);
                sample.values = sample.values.iter().map(|value| value.map(|ns| ns + down * 1e9)).collect();
            }
        });
        let first = at_s as u32;
        for one in &mut point.endpoints {
            if usize::from(one.row.endpoint) == nth && (first..first + 4).contains(&one.index) {
                one.row.failed.count(FailureClass::Lost);
            }
        }
    })
}

/// The same with a first endpoint whose only replica, endpoint number 1, is `lag_bytes` and `delay_ns` behind in second 5, and not before or
/// afterwards.
pub fn with_replica_behind(simulation: Simulation, lag_bytes: f64, delay_ns: f64) -> Simulation {
    simulation.with(|point| {
        let seconds = point.endpoints.iter().map(|one| u64::from(one.index) + 1).max().unwrap_or(0);
        for (nth, role, behind) in [(0, CounterRole::ReplicaDelay, delay_ns), (1, CounterRole::ReplicaLag, lag_bytes)] {
            let source = point.sources.len() as u16;
            let counters = vec![CounterDef { kind: CounterKind::Gauge, ..counter("behind", "count", role) }];
            point.sources.push(SourceDef { name: "replication".into(), subject: NAMES[nth].into(), counters });
            for second in 0..=seconds {
                let value = if second == 5 { behind } else { 0.0 };
                point.counters.push(CounterSample { at: Tick(second * SECOND), source, values: vec![Some(value)] });
            }
        }
    })
}

fn row(endpoint: u16, ok: u64) -> EndpointRow {
    let mut response = Times::default();
    response.record_n(1_000_000 * (1 + u64::from(endpoint)), ok);
    EndpointRow { endpoint, ok, failed: FailureCounts::default(), response }
}

fn counter(name: &str, unit: &str, role: CounterRole) -> CounterDef {
    let (kind, help) = (CounterKind::Counter, String::new());
    CounterDef { name: name.into(), unit: unit.into(), kind, help, role: Some(role), in_pages: false }
}
