//! Makes a run file of a given size, for measurements of what reads it: `made_run FILE POINTS SECONDS COUNTERS`, or with `servers` in the
//! place of the counters a sweep of servers with all that they count, or with `hosts` points that three hosts measured.
//!
//! In: a path, and how many points, seconds of each and counters. Out: the file, as the recorder writes it. Limits: nothing was measured;
//! the operations are those of two engines with a rate that varies a little, the counters grow as those of a kernel do. The same arguments
//! make the same run.

mod hosts;
mod servers;

use model::{
    Bytes, CounterDef, CounterKind, CounterRole, CounterSample, Generator, IntervalRow, KindDef, KindRow,
    LatencyCounts, Load, Machine, Nanos, OnError, OpClass, OpKind, Params, Phase, Phases, Plan, PointState,
    PointTraits, RunMeta, SourceDef, TargetSpec, Tick, Times, Trial, Value, WorkloadSpec,
};
use serde_json::json;
use std::error::Error;
use std::path::PathBuf;
use store::{Batch, NewPoint, RunWriter};

const SECOND: Nanos = Nanos::from_secs(1);
/// As many counters as the largest sources have.
const COUNTERS_OF_SOURCE: usize = 20;
/// The roles of the first counters of each source.
const ROLES: [[CounterRole; 4]; 3] = [
    [
        CounterRole::MachineCpuUser,
        CounterRole::MachineCpuSystem,
        CounterRole::MachineCpuIdle,
        CounterRole::MachineCpuIowait,
    ],
    [
        CounterRole::DeviceReadOps,
        CounterRole::DeviceReadBytes,
        CounterRole::DeviceWriteOps,
        CounterRole::DeviceWriteBytes,
    ],
    [
        CounterRole::ProcessReadBytes,
        CounterRole::ProcessWriteBytes,
        CounterRole::EngineContextSwitches,
        CounterRole::LogWritten,
    ],
];

struct Size {
    points: usize,
    seconds: u32,
    counters: MadeCounters,
}

/// What is counted apart from the operations.
#[derive(Clone, Copy, PartialEq)]
enum MadeCounters {
    /// So many counters of two embedded engines.
    Plain(usize),
    /// All that servers count.
    Servers,
    /// What three hosts count.
    Hosts,
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [file, points, seconds, counters] = arguments.as_slice() else {
        return Err("usage: made_run FILE POINTS SECONDS COUNTERS|servers|hosts".into());
    };
    let counters = match counters.as_str() {
        "servers" => MadeCounters::Servers,
        "hosts" => MadeCounters::Hosts,
        number => MadeCounters::Plain(number.parse()?),
    };
    let size = Size { points: points.parse()?, seconds: seconds.parse()?, counters };
    make_run(&PathBuf::from(file), &size)
}

fn make_run(path: &std::path::Path, size: &Size) -> Result<(), Box<dyn Error>> {
    let trials: Vec<Trial> = (0..size.points).map(|nth| trial(nth, size)).collect();
    let mut run = RunWriter::create(path, &meta(&trials)?)?;
    let kinds = [KindDef::new("transaction", OpClass::ReadWrite)];
    let (sources, traits) = match size.counters {
        MadeCounters::Plain(count) => (sources(count), PointTraits::default()),
        MadeCounters::Servers => (servers::sources(), servers::traits()),
        MadeCounters::Hosts => (Vec::new(), PointTraits::default()),
    };
    let rows: Vec<KindRow> = (0..60).map(|second| row(second, 2_000 + 7 * (second % 13))).collect();
    for (trial, nth) in trials.iter().zip(0u64..) {
        let (place, is_of_server) = (nth as usize, size.counters == MadeCounters::Servers);
        let facts = if is_of_server { servers::facts(place) } else { Vec::new() };
        let readings = |start, second| match is_of_server {
            true => servers::readings(place, start, second),
            false => readings(&sources, start, second),
        };
        let new = NewPoint { trial, facts: &facts, traits: &traits, params: &[], kinds: &kinds, sources: &sources };
        let point = run.begin_point(&new)?;
        let start = Tick(nth * u64::from(size.seconds + 2) * SECOND.0);
        run.begin_phase(point, Phase::Run, start)?;
        if size.counters == MadeCounters::Hosts {
            hosts::record(&mut run, point, start, size.seconds)?;
        }
        for second in 0..own_seconds(size) {
            let own = is_of_server.then(|| row(u64::from(second) + 61 * nth, servers::ops(place, second)));
            let intervals =
                [interval(second, start, own.unwrap_or_else(|| rows[second as usize % rows.len()].clone()))];
            let counters = readings(start, second);
            run.record(point, &Batch { intervals: &intervals, counters: &counters, ..Batch::default() })?;
        }
        let end = start + Nanos(u64::from(size.seconds) * SECOND.0);
        run.record(point, &Batch { counters: &readings(start, size.seconds), ..Batch::default() })?;
        run.end_phase(point, Phase::Run, end, 0, 0)?;
        run.finish_point(point, PointState::Complete, None)?;
    }
    Ok(run.finish()?)
}

/// The seconds in which this machine itself has clients: none if hosts have them.
fn own_seconds(size: &Size) -> u32 {
    if size.counters == MadeCounters::Hosts { 0 } else { size.seconds }
}

fn meta(trials: &[Trial]) -> Result<RunMeta, Box<dyn Error>> {
    // What a plan has beyond this is left out of the file if it has its default.
    let plan = json!({"name": "made", "title": "a run of a given size", "scale": 1.0, "trials": trials});
    let plan: Plan = serde_json::from_value(plan)?;
    Ok(RunMeta {
        run_id: "made".into(),
        started_unix_ms: 1_793_000_000_000,
        plimsoll_version: "0".into(),
        plan,
        environment: Vec::new(),
        machine: Machine { cpus: Some(2), ..Machine::default() },
    })
}

/// Two engines, four numbers of clients, and as many sizes of the table as it takes; of servers the sweep that [`servers::settings`] has.
fn trial(nth: usize, size: &Size) -> Trial {
    let params = |name: &str, value| Params([(name.to_owned(), value)].into());
    let (engine, clients, work) = match size.counters {
        MadeCounters::Plain(_) => {
            let rows = params("table_rows", Value::Int(10_000 + nth as u64 / 8));
            (["sqlite", "fjall"][nth % 2], 1 << (nth / 2 % 4), rows)
        }
        MadeCounters::Servers => {
            let (engine, clients, mix) = servers::settings(nth);
            (engine, clients, params("mix", Value::Word(mix.into())))
        }
        MadeCounters::Hosts => ("mysql", 4, params("table_rows", Value::Int(10_000 + nth as u64))),
    };
    let simple = Trial::simple(engine, "oltp");
    Trial {
        target: TargetSpec { params: params("cache", Value::Bytes(Bytes::from_mib(64))), ..simple.target },
        workload: WorkloadSpec { params: work, ..simple.workload },
        load: Load { clients, ..simple.load },
        phases: Phases { run: Nanos(u64::from(size.seconds) * SECOND.0), ..simple.phases },
        on_error: OnError::Count,
        seed: 1,
        ..simple
    }
}

/// `ok` operations around 0.8 ms with a tail to 100 ms.
fn row(seed: u64, ok: u64) -> KindRow {
    let mut counts = LatencyCounts::default();
    for n in 0..ok {
        let scattered = (n + seed * 10_007).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 11;
        let uniform = (scattered as f64 + 0.5) / (1u64 << 53) as f64;
        counts.record((600_000.0 * (-uniform.ln()).powf(1.2)) as u64 + 150_000);
    }
    let service: Times = counts.take();
    KindRow { ok, response: service.clone(), service, ..KindRow::empty(OpKind(0)) }
}

fn interval(second: u32, start: Tick, row: KindRow) -> IntervalRow {
    IntervalRow {
        phase: Phase::Run,
        index: second,
        start: start + Nanos(u64::from(second) * SECOND.0),
        length: SECOND,
        kinds: vec![row],
        generator: Generator { cpu_user_ns: 2_000_000, cpu_system_ns: 1_000_000, ..Generator::default() },
    }
}

fn sources(counters: usize) -> Vec<SourceDef> {
    let numbers: Vec<usize> = (0..counters).collect();
    let sources = numbers.chunks(COUNTERS_OF_SOURCE).enumerate();
    let source = |(nth, places): (usize, &[usize])| SourceDef {
        name: format!("source_{nth}"),
        subject: "machine".into(),
        counters: (0..places.len()).map(|place| counter(nth, place)).collect(),
    };
    sources.map(source).collect()
}

fn counter(source: usize, place: usize) -> CounterDef {
    CounterDef {
        name: format!("counter_{place}"),
        unit: "count".into(),
        kind: if place.is_multiple_of(5) { CounterKind::Gauge } else { CounterKind::Counter },
        help: String::new(),
        role: ROLES.get(source).and_then(|roles| roles.get(place)).copied(),
        in_pages: false,
    }
}

/// MadeCounters that grow by unlike steps, and gauges that go up and down.
fn readings(sources: &[SourceDef], start: Tick, second: u32) -> Vec<CounterSample> {
    let second = u64::from(second);
    let value = |source: u64, place: u64| {
        let step = source * 1_237_001 + place * 70_717 + 17;
        let noise = (second * 31 + place * 7) % 97;
        Some(if place.is_multiple_of(5) { step + noise } else { step * second + noise * (second > 0) as u64 } as f64)
    };
    let sample = |(source, def): (u16, &SourceDef)| CounterSample {
        at: start + Nanos(second * SECOND.0),
        source,
        values: (0..def.counters.len() as u64).map(|place| value(u64::from(source), place)).collect(),
    };
    (0u16..).zip(sources).map(sample).collect()
}
