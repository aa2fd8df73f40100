//! A point of three hosts: two with clients, of which the second does less than its half, and one on which the database runs.
//!
//! In: a run with its phase begun, and how long it is. Out: the rows of the hosts, as a recorder takes them from a bus. Limits: all is made up;
//! the same length gives the same rows.

use super::{SECOND, interval, row};
use model::{
    CounterDef, CounterKind, CounterRole as Role, CounterSample, Fact, HostClock, HostId, HostRole, HostRows,
    LoadShare, Nanos, PointHost, SourceDef, Tick,
};
use store::{PointId, RunWriter, StoreError};

/// A counter: its name, its unit, its role, and how much it grows in a second.
type Grown = (&'static str, &'static str, Role, f64);

/// What a host is, and what it counts and does.
struct MadeHost {
    name: &'static str,
    role: HostRole,
    /// Operations of its clients in a second.
    ops: u64,
    sources: Vec<(&'static str, &'static str, Vec<Grown>)>,
}

/// Records the hosts of `point`, whose run phase began at `start`.
pub fn record(run: &mut RunWriter, point: PointId, start: Tick, seconds: u32) -> Result<(), StoreError> {
    for (number, made) in (1u16..).zip(hosts()) {
        run.set_host(point, &describe(HostId(number), &made))?;
        for second in 0..=seconds {
            let rows = rows(&made, start, second, seconds);
            run.record_of_host(point, HostId(number), u64::from(second) + 1, &rows)?;
        }
    }
    Ok(())
}

fn hosts() -> Vec<MadeHost> {
    let client = |name, ops, sent| MadeHost {
        name,
        role: HostRole::Load,
        ops,
        sources: vec![
            ("cpu", "", [cpu(0.35), vec![("self", "ns", Role::PlimsollCpu, 1.2e9)]].concat()),
            ("network", "ens1", network(sent, 4.0 * sent)),
        ],
    };
    let node = MadeHost {
        name: "n1",
        role: HostRole::Observe,
        ops: 0,
        sources: vec![
            ("cpu", "", cpu(0.8)),
            (
                "process",
                "server",
                vec![("user", "ns", Role::EngineCpuUser, 2.4e9), ("system", "ns", Role::EngineCpuSystem, 0.7e9)],
            ),
            (
                "disk",
                "nvme0n1",
                vec![
                    ("busy", "ns", Role::DeviceBusy, 0.4e9),
                    ("read_bytes", "bytes", Role::DeviceReadBytes, 1e6),
                    ("write_bytes", "bytes", Role::DeviceWriteBytes, 2e7),
                ],
            ),
            ("network", "ens1", network(2.4e7, 6e6)),
            ("network", "ens2", network(1.15e8, 2e6)),
            (
                "wsrep",
                "n1",
                vec![
                    ("replicated", "bytes", Role::ReplicatedBytes, 1.1e8),
                    ("received", "bytes", Role::ReplicatedBytesReceived, 1e6),
                ],
            ),
        ],
    };
    vec![client("c1", 1_200, 3.5e6), client("c2", 800, 2.3e6), node]
}

/// Four CPUs of which this share is used.
fn cpu(busy: f64) -> Vec<Grown> {
    vec![
        ("user", "ns", Role::MachineCpuUser, 0.75 * busy * 4e9),
        ("system", "ns", Role::MachineCpuSystem, 0.25 * busy * 4e9),
        ("idle", "ns", Role::MachineCpuIdle, (1.0 - busy) * 4e9),
    ]
}

/// An interface of 1 Gbit/s.
fn network(sent: f64, received: f64) -> Vec<Grown> {
    vec![
        ("sent_bytes", "bytes", Role::NetworkSentBytes, sent),
        ("received_bytes", "bytes", Role::NetworkReceivedBytes, received),
        ("link", "bits/s", Role::LinkSpeed, 1e9),
    ]
}

fn describe(id: HostId, made: &MadeHost) -> PointHost {
    PointHost {
        id,
        name: made.name.into(),
        incarnation: format!("{}-1", made.name),
        role: made.role,
        share: made.role.loads().then_some(LoadShare { clients: 2, part: 0.5 }),
        facts: vec![Fact::new("cpu.count", "4")],
        clock: Some(HostClock { offset_ns: 1_000 * i64::from(id.0), bound_ns: 18_000 }),
        start_skew_ns: made.role.loads().then_some(-29 + 300 * i64::from(id.0)),
    }
}

/// What the host delivers at the end of a second: at first its sources, then with the readings what its clients did.
fn rows(made: &MadeHost, start: Tick, second: u32, seconds: u32) -> HostRows {
    let at = start + Nanos(u64::from(second) * SECOND.0);
    let counters = (0u16..).zip(&made.sources).map(|(source, (_, _, grown))| CounterSample {
        at,
        source,
        values: (0u64..).zip(grown).map(|(place, one)| Some(value(one, u64::from(second), place))).collect(),
    });
    let done = |second: u32| interval(second, start, row(u64::from(second), made.ops + u64::from(7 * (second % 5))));
    HostRows {
        sources: if second == 0 { made.sources.iter().map(source).collect() } else { Vec::new() },
        intervals: (made.role.loads() && second < seconds).then(|| done(second)).into_iter().collect(),
        counters: counters.collect(),
        ..HostRows::default()
    }
}

fn source((name, subject, grown): &(&'static str, &'static str, Vec<Grown>)) -> SourceDef {
    let counter = |(name, unit, role, _): &Grown| CounterDef {
        name: (*name).into(),
        unit: (*unit).into(),
        kind: if *role == Role::LinkSpeed { CounterKind::Gauge } else { CounterKind::Counter },
        help: String::new(),
        role: Some(*role),
        in_pages: false,
    };
    SourceDef { name: (*name).into(), subject: (*subject).into(), counters: grown.iter().map(counter).collect() }
}

/// A counter grows by its amount a second, now and then by a little more; the speed of a link stays.
fn value((_, _, role, per_s): &Grown, second: u64, place: u64) -> f64 {
    if *role == Role::LinkSpeed {
        return *per_s;
    }
    let more = ((second * 31 + place * 7) % 11) as f64 / 100.0;
    (per_s * (second as f64 + if second > 0 { more } else { 0.0 })).round()
}
