//! A sweep of servers: three engines, two mixes and four numbers of clients, with the counters that charts are drawn of.
//!
//! In: the number of a point, and a second. Out: its trial's settings, facts, sources and readings. Limits: all is made up; the same number
//! gives the same values, which vary from second to second by some tenths.

use model::CounterKind::{Counter, Gauge};
use model::{
    CounterDef, CounterKind, CounterRole as Role, CounterSample, EngineProcess, EngineTraits, Fact, Nanos, PointTraits,
    SourceDef, ThreadOf, ThreadState, Tick,
};

const ENGINES: [&str; 3] = ["mariadb:innodb", "postgres", "mariadb:rocksdb"];
const CLIENTS: [u32; 4] = [1, 4, 16, 64];
const MIXES: [&str; 2] = ["read_write", "write_only"];
/// As many settings as a server reports, of which a few differ from point to point.
const FACTS: usize = 120;
const OWN_FACTS: usize = 6;
/// MadeCounters that no chart draws, as a server has hundreds.
const OTHERS: usize = 60;

/// A counter: its name, unit, kind and role, how much it is or grows in a second, and by what share it varies.
type Made = (&'static str, &'static str, CounterKind, Role, f64, f64);

const CPU: [Made; 8] = [
    ("user", "ns", Counter, Role::MachineCpuUser, 6e8, 0.3),
    ("system", "ns", Counter, Role::MachineCpuSystem, 3e8, 0.3),
    ("softirq", "ns", Counter, Role::MachineCpuSoftirq, 5e7, 0.5),
    ("iowait", "ns", Counter, Role::MachineCpuIowait, 2e8, 0.5),
    ("steal", "ns", Counter, Role::MachineCpuSteal, 2e7, 0.5),
    ("idle", "ns", Counter, Role::MachineCpuIdle, 8.3e8, 0.2),
    ("own", "ns", Counter, Role::PlimsollCpu, 1e8, 0.2),
    ("kernel_threads", "ns", Counter, Role::KernelThreadsCpu, 4e7, 0.4),
];
const DISK: [Made; 7] = [
    ("reads", "ops", Counter, Role::DeviceReadOps, 900.0, 0.4),
    ("writes", "ops", Counter, Role::DeviceWriteOps, 1_500.0, 0.4),
    ("flushes", "ops", Counter, Role::DeviceFlushOps, 400.0, 0.4),
    ("read_bytes", "bytes", Counter, Role::DeviceReadBytes, 1.5e7, 0.4),
    ("write_bytes", "bytes", Counter, Role::DeviceWriteBytes, 3e7, 0.4),
    ("busy", "ns", Counter, Role::DeviceBusy, 7e8, 0.3),
    ("queue", "ns", Counter, Role::DeviceQueue, 2e9, 0.4),
];
const PROCESS: [Made; 5] = [
    ("user", "ns", Counter, Role::EngineCpuUser, 4.5e8, 0.3),
    ("system", "ns", Counter, Role::EngineCpuSystem, 2e8, 0.3),
    ("switches", "count", Counter, Role::EngineContextSwitches, 9_000.0, 0.3),
    ("read_bytes", "bytes", Counter, Role::ProcessReadBytes, 1.5e7, 0.4),
    ("write_bytes", "bytes", Counter, Role::ProcessWriteBytes, 2.8e7, 0.4),
];
const NETWORK: [Made; 2] = [
    ("sent", "bytes", Counter, Role::NetworkSentBytes, 6e6, 0.2),
    ("received", "bytes", Counter, Role::NetworkReceivedBytes, 2e6, 0.2),
];
const ENGINE: [Made; 12] = [
    ("log_age", "bytes", Gauge, Role::LogAge, 5e7, 0.6),
    ("log_age_max", "bytes", Gauge, Role::LogAgeMax, 8e7, 0.0),
    ("log_made", "bytes", Counter, Role::LogMade, 9e6, 0.3),
    ("log_written", "bytes", Counter, Role::LogWritten, 1.1e7, 0.3),
    ("dirty", "bytes", Gauge, Role::DirtyPages, 4e7, 0.4),
    ("pending", "bytes", Gauge, Role::PendingCompaction, 2e7, 0.8),
    ("level_0", "count", Gauge, Role::UnsortedTables, 6.0, 0.8),
    ("held", "ns", Counter, Role::WritersHeld, 2e8, 0.8),
    ("free_page_waits", "ops", Counter, Role::FreePageWaits, 12.0, 0.9),
    ("history", "count", Gauge, Role::HistoryLength, 3_000.0, 0.5),
    ("hits", "ops", Counter, Role::CacheHits, 50_000.0, 0.2),
    ("misses", "ops", Counter, Role::CacheMisses, 900.0, 0.4),
];
/// The share of its time that a thread is in each state, in the order of [`ThreadState::ALL`].
const STATE_SHARES: [f64; 7] = [0.3, 0.05, 0.15, 0.2, 0.1, 0.15, 0.05];
const THREADS: [(&str, ThreadOf); 3] =
    [("threads", ThreadOf::Engine), ("sessions", ThreadOf::Session), ("clients", ThreadOf::Client)];

/// The engine, the clients and the mix of point number `nth`.
pub fn settings(nth: usize) -> (&'static str, u32, &'static str) {
    (ENGINES[nth % 3], CLIENTS[nth / 3 % 4], MIXES[nth / 12 % 2])
}

/// A server with processes of its own.
pub fn traits() -> PointTraits {
    let engine =
        EngineTraits { process: EngineProcess::Own, version: Some("11.8.3".into()), ..EngineTraits::default() };
    PointTraits { engine, ..PointTraits::default() }
}

/// What the server of point number `nth` reports.
pub fn facts(nth: usize) -> Vec<Fact> {
    let value = |fact: usize| match fact < OWN_FACTS {
        true => format!("/tmp/made/point-{nth}/{fact}"),
        false => format!("{} MiB", 16 * fact),
    };
    (0..FACTS).map(|fact| Fact::new(format!("server_setting_{fact}"), value(fact))).collect()
}

/// The sources of a server.
pub fn sources() -> Vec<SourceDef> {
    all().into_iter().map(|(name, subject, made)| source(name, subject, &made)).collect()
}

/// The readings of second number `second` of point number `nth`, which began at `start`.
pub fn readings(nth: usize, start: Tick, second: u32) -> Vec<CounterSample> {
    let at = start + Nanos(u64::from(second) * 1_000_000_000);
    let sample = |(source, (_, _, made)): (u16, (_, _, Vec<Made>))| {
        let values =
            (0u64..).zip(&made).map(|(place, made)| Some(value(made, [nth as u64, u64::from(source), place], second)));
        CounterSample { at, source, values: values.collect() }
    };
    (0u16..).zip(all()).map(sample).collect()
}

/// Operations of one second.
pub fn ops(nth: usize, second: u32) -> u64 {
    1_500 + (1_000.0 * noise([nth as u64, 99, 0], u64::from(second))) as u64
}

fn all() -> Vec<(&'static str, &'static str, Vec<Made>)> {
    let mut all = vec![
        ("cpu", "machine", CPU.to_vec()),
        ("disk", "vda", DISK.to_vec()),
        ("process", "server", PROCESS.to_vec()),
        ("network", "lo", NETWORK.to_vec()),
        ("engine", "server", ENGINE.to_vec()),
    ];
    all.extend(THREADS.map(|(name, of)| (name, "", threads(of))));
    all.push(("others", "server", vec![("other", "count", Counter, Role::RowLockWaits, 40.0, 0.9); OTHERS]));
    all
}

fn threads(of: ThreadOf) -> Vec<Made> {
    let states = ThreadState::ALL.into_iter().zip(STATE_SHARES);
    states.map(|(state, share)| ("time", "ns", Counter, Role::ThreadTime(of, state), 8e9 * share, 0.3)).collect()
}

fn source(name: &str, subject: &str, made: &[Made]) -> SourceDef {
    let counter = |(place, (counter, unit, kind, role, ..)): (usize, &Made)| CounterDef {
        name: format!("{counter}_{place}"),
        unit: (*unit).into(),
        kind: *kind,
        help: String::new(),
        role: (name != "others").then_some(*role),
        in_pages: false,
    };
    let counters = made.iter().enumerate().map(counter).collect();
    SourceDef { name: name.into(), subject: subject.into(), counters }
}

/// A gauge goes up and down around its amount; a counter grows by it, a little more or less each second.
fn value((_, _, kind, _, amount, share): &Made, place: [u64; 3], second: u32) -> f64 {
    let second = u64::from(second);
    let varied = amount * share * noise(place, second);
    match kind {
        Gauge => (amount + varied).round(),
        Counter => (amount * second as f64 + varied).round(),
    }
}

/// A number in [0, 1) that looks random: the finaliser of SplitMix64 (Steele, Lea and Flood, 2014).
fn noise(place: [u64; 3], second: u64) -> f64 {
    let [point, source, counter] = place;
    let mut bits = (point << 48 ^ source << 40 ^ counter << 32 ^ second).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    bits = (bits ^ bits >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    bits = (bits ^ bits >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    ((bits ^ bits >> 31) >> 11) as f64 / (1u64 << 53) as f64
}
