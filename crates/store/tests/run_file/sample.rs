//! A made-up run for the tests: every table has rows, and every number is a different one.

use model::*;
use std::collections::BTreeMap;
use std::path::Path;
use store::{Batch, NewPoint, PointId, RunWriter, StoreError};

pub const SECOND: Nanos = Nanos::from_secs(1);

pub fn trial() -> Trial {
    let params =
        |pairs: &[(&str, Value)]| Params(pairs.iter().map(|(name, value)| (name.to_string(), value.clone())).collect());
    let simple = Trial::simple("sqlite", "oltp");
    let cache = ("cache", Value::Bytes(Bytes::from_mib(64)));
    Trial {
        target: TargetSpec { params: params(&[("durability", Value::Word("os".into())), cache]), ..simple.target },
        workload: WorkloadSpec {
            params: params(&[("access", Value::Access(Access { name: "zipf".into(), args: vec![0.1 + 0.2] }))]),
            ..simple.workload
        },
        load: Load { clients: 4, depth: 2, pacing: Pacing::Open { arrivals: Arrivals::Poisson { per_s: 1_000.1 } } },
        phases: Phases { warmup: SECOND, run: Nanos::from_secs(5), ..simple.phases },
        on_error: OnError::Count,
        seed: u64::MAX,
        ..simple
    }
}

pub fn meta() -> RunMeta {
    RunMeta {
        run_id: "2026-11-02-quick".into(),
        started_unix_ms: 1_793_000_000_000,
        plimsoll_version: "1.2.3".into(),
        plan: Plan { trials: vec![trial()], ..Plan::new("quick", "a \"quick\" look") },
        environment: vec![Fact::new("kernel", "6.18.0"), Fact::new("filesystem", "ext4")],
        machine: Machine { cpus: Some(2), ..Machine::default() },
    }
}

pub fn sources() -> Vec<SourceDef> {
    let counter = |name: &str| CounterDef {
        name: name.into(),
        unit: "ns".into(),
        kind: CounterKind::Counter,
        help: "one line".into(),
        role: (name == "user_ns").then_some(CounterRole::MachineCpuUser),
        in_pages: false,
    };
    let source = |name: &str, counters| SourceDef { name: name.into(), subject: "vda".into(), counters };
    vec![source("cpu", vec![counter("user_ns"), counter("system_ns")]), source("disk", vec![counter("busy_ns")])]
}

pub fn kinds() -> Vec<KindDef> {
    let write = KindDef { queries_per_op: 20.5, rows_per_op: 3.0, ..KindDef::new("write", OpClass::Write) };
    vec![KindDef::new("read", OpClass::Read), write]
}

pub fn times_of(times_ns: impl IntoIterator<Item = u64>) -> Times {
    let mut counts = LatencyCounts::default();
    times_ns.into_iter().for_each(|ns| counts.record(ns));
    counts.take()
}

/// One increment of interval `index` of `phase`, which begins at second 10, with `ok` operations of one kind.
pub fn row(phase: Phase, index: u32, kind: u8, ok: u64) -> IntervalRow {
    let times = |offset: u64| times_of((0..ok).map(|n| 100_000 + offset + n * 1_237));
    let kind = KindRow {
        kind: OpKind(kind),
        ok,
        failed: 3,
        bytes: ok * 16_384,
        late: 2,
        rows: RowCounts { returned: 5 * ok, changed: ok, missed: 1, idle: 2, commits: ok },
        response: if ok.is_multiple_of(2) { times(500_000) } else { times(0) },
        service: times(0),
    };
    IntervalRow {
        phase,
        index,
        start: Tick(10 * SECOND.0 + u64::from(index) * SECOND.0),
        length: SECOND,
        kinds: vec![kind],
        generator: Generator {
            cpu_user_ns: 11,
            cpu_system_ns: 12,
            context_switches: 13,
            lag_count: 14,
            lag_sum_ns: 15,
            lag_max_ns: 16 + u64::from(index),
        },
    }
}

pub fn reading(at_s: u64, source: u16, values: &[Option<f64>]) -> CounterSample {
    CounterSample { at: Tick(at_s * SECOND.0), source, values: values.to_vec() }
}

pub fn params() -> Vec<PointParam> {
    let param = |owner, name: &str, role, used| PointParam { name: name.into(), owner, role, used };
    vec![
        param(ParamOwner::Engine, "cache", ParamRole::CacheSize, true),
        param(ParamOwner::Workload, "access", ParamRole::Work, false),
    ]
}

pub fn traits() -> PointTraits {
    let engine = EngineTraits { cache_bytes: Some(64 << 20), ..EngineTraits::default() };
    PointTraits { engine, ..PointTraits::default() }
}

/// A point of `trial` that declares nothing.
pub fn bare<'a>(trial: &'a Trial, traits: &'a PointTraits) -> NewPoint<'a> {
    NewPoint { trial, facts: &[], traits, params: &[], kinds: &[], sources: &[] }
}

/// Begins a point of `trial` that declares everything.
pub fn begin_point(run: &mut RunWriter, trial: &Trial) -> Result<PointId, StoreError> {
    run.begin_point(&NewPoint {
        trial,
        facts: &[Fact::new("version", "3.54"), Fact::new("engine.process", "own")],
        traits: &traits(),
        params: &params(),
        kinds: &kinds(),
        sources: &sources(),
    })
}

/// Begins a run with one point in its run phase.
pub fn begin(path: &Path) -> (RunWriter, PointId) {
    let mut run = RunWriter::create(path, &meta()).unwrap();
    let point = begin_point(&mut run, &trial()).unwrap();
    run.begin_phase(point, Phase::Run, Tick(10 * SECOND.0)).unwrap();
    (run, point)
}

/// Records interval `index` with a reading and an event.
pub fn record(run: &mut RunWriter, point: PointId, index: u32) -> Result<(), StoreError> {
    let at_s = 11 + u64::from(index);
    let batch = Batch {
        intervals: &[row(Phase::Run, index, 0, 50 + u64::from(index))],
        counters: &[reading(at_s, 0, &[Some(at_s as f64 * 1e9), None])],
        events: &[Event::new(Tick(at_s * SECOND.0), EventKind::Engine, format!("second {at_s}"))],
        ..Batch::default()
    };
    run.record(point, &batch)
}

/// A finished run of one point with `intervals` intervals.
pub fn write_finished(path: &Path, intervals: u32) {
    let (mut run, point) = begin(path);
    (0..intervals).for_each(|index| record(&mut run, point, index).unwrap());
    run.end_phase(point, Phase::Run, Tick((10 + u64::from(intervals)) * SECOND.0), 500, 5).unwrap();
    run.finish_point(point, PointState::Complete, None).unwrap();
    run.finish().unwrap();
}

/// The names and sizes of the files in `folder`.
pub fn files_in(folder: &Path) -> BTreeMap<String, u64> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    entries.map(|entry| (entry.file_name().into_string().unwrap(), entry.metadata().unwrap().len())).collect()
}
