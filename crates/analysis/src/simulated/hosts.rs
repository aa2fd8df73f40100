//! Recorded points of several hosts, made up for tests, with a known answer.
//!
//! In: how much each host does of its share, and what its machine counts. Out: a [`Simulation`]. Limits: ten seconds, one kind of operation,
//! a closed loop.

use crate::simulated::{SECOND, Simulation};
use model::{
    CounterDef, CounterKind, CounterRole as Role, CounterSample, Fact, Generator, HostData, HostId, HostPhase,
    HostRole, Interval, KindRow, LoadShare, Nanos, OpKind, Phase, PointHost, SourceDef, Tick, Times,
};

/// Operations that a host with its whole share does in a second.
pub const OPS_PER_S: u64 = 1_000;
const SECONDS: u64 = 10;

/// Three hosts with two clients each; each does this part of a third of the load.
pub fn three_clients(kept: [f64; 3]) -> Simulation {
    let hosts = (1..).zip(kept).map(|(id, kept)| client(id, kept)).collect();
    of_hosts(hosts)
}

/// A point that these hosts measured: the sums over them.
pub fn of_hosts(hosts: Vec<HostData>) -> Simulation {
    let done = |second: usize| -> u64 {
        let phases = hosts.iter().flat_map(|host| &host.phases);
        phases.map(|phase| phase.intervals[second].kinds.iter().map(|kind| kind.ok).sum::<u64>()).sum()
    };
    let counts: Vec<u64> = (0..SECONDS as usize).map(done).collect();
    Simulation::counts(&counts).process("elsewhere").with(|point| {
        point.trial.load.clients = 2 * hosts.iter().filter(|host| host.host.role.loads()).count() as u32;
        for (second, interval) in point.phases[0].intervals.iter_mut().enumerate() {
            let phases = hosts.iter().flat_map(|host| &host.phases);
            phases.for_each(|phase| interval.generator.add(&phase.intervals[second].generator));
        }
        point.hosts = hosts;
    })
}

/// Host number `id`, named `c` and its number, whose clients do this part of a third of the load.
pub fn client(id: u16, kept: f64) -> HostData {
    let ok = (OPS_PER_S as f64 * kept).round() as u64;
    let mut host = HostData::unmeasured(PointHost {
        share: Some(LoadShare { clients: 2, part: 1.0 / 3.0 }),
        ..named(id, "c", HostRole::Load)
    });
    host.phases = vec![HostPhase { phase: Phase::Run, intervals: (0..SECONDS).map(|nth| interval(nth, ok)).collect() }];
    host
}

/// Host number `id`, named `n` and its number, on which a node of the database runs.
pub fn node(id: u16) -> HostData {
    HostData::unmeasured(named(id, "n", HostRole::Observe))
}

fn named(id: u16, kind: &str, role: HostRole) -> PointHost {
    let name = kind.to_owned() + &id.to_string();
    PointHost {
        id: HostId(id),
        incarnation: name.clone() + "-1",
        name,
        role,
        share: None,
        facts: vec![Fact::new("cpu.count", "4")],
        clock: None,
        start_skew_ns: None,
    }
}

fn interval(second: u64, ok: u64) -> Interval {
    let mut times = Times::default();
    times.record_n(2 * SECOND * 95 / 100 / ok.max(1), ok);
    Interval {
        index: second as u32,
        start: Tick(second * SECOND),
        length: Nanos(SECOND),
        kinds: vec![KindRow { ok, response: times.clone(), service: times, ..KindRow::empty(OpKind(0)) }],
        generator: Generator::default(),
    }
}

/// `host` whose client threads use so many cores.
pub fn using_cores(mut host: HostData, cores: f64) -> HostData {
    let intervals = host.phases.iter_mut().flat_map(|phase| &mut phase.intervals);
    intervals.for_each(|interval| interval.generator.cpu_user_ns = (cores * SECOND as f64) as u64);
    host
}

/// `host` with a source of these counters, each of which grows by so much a second; a link speed is a level.
pub fn counting(mut host: HostData, source: &str, subject: &str, counters: &[(Role, f64)]) -> HostData {
    let number = host.sources.len() as u16;
    let is_level = |role| matches!(role, Role::LinkSpeed);
    let define = |(place, (role, _)): (usize, &(Role, f64))| CounterDef {
        name: "counter_".to_owned() + &place.to_string(),
        unit: "count".into(),
        kind: if is_level(*role) { CounterKind::Gauge } else { CounterKind::Counter },
        help: String::new(),
        role: Some(*role),
        in_pages: false,
    };
    let counters_defined = counters.iter().enumerate().map(define).collect();
    host.sources.push(SourceDef { name: source.into(), subject: subject.into(), counters: counters_defined });
    for second in 0..=SECONDS {
        let value = |(role, per_s): &(Role, f64)| Some(if is_level(*role) { *per_s } else { per_s * second as f64 });
        let values = counters.iter().map(value).collect();
        host.counters.push(CounterSample { at: Tick(second * SECOND), source: number, values });
    }
    host
}

/// `host` whose four CPUs are busy for this share of the time, by the engine if it runs there, and lose this share to the hypervisor.
pub fn with_cpu(host: HostData, busy: f64, stolen: f64) -> HostData {
    let ns = 4.0 * SECOND as f64;
    let counters = [
        (Role::MachineCpuUser, busy * ns),
        (Role::MachineCpuSystem, 0.0),
        (Role::MachineCpuIdle, (1.0 - busy - stolen) * ns),
        (Role::MachineCpuSteal, stolen * ns),
        (Role::PlimsollCpu, if host.host.role.loads() { busy * ns } else { 0.0 }),
    ];
    let is_node = host.host.role.observes();
    let host = counting(host, "cpu", "", &counters);
    let engine = [(Role::EngineCpuUser, busy * ns), (Role::EngineCpuSystem, 0.0)];
    if is_node { counting(host, "process", "server", &engine) } else { host }
}

/// `host` with an interface that sends so many bytes a second over a link of 1 Gbit/s.
pub fn with_network(host: HostData, interface: &str, sent_per_s: f64) -> HostData {
    let counters = [
        (Role::NetworkSentBytes, sent_per_s),
        (Role::NetworkReceivedBytes, sent_per_s / 10.0),
        (Role::NetworkDrops, 2.0),
        (Role::LinkSpeed, 1e9),
    ];
    counting(host, "network", interface, &counters)
}

/// `host` with a disk that is busy for this share of the time.
pub fn with_disk(host: HostData, busy: f64) -> HostData {
    let counters =
        [(Role::DeviceBusy, busy * SECOND as f64), (Role::DeviceReadBytes, 1e6), (Role::DeviceWriteBytes, 20e6)];
    counting(host, "disk", "vda", &counters)
}
