//! Analyses for tests: a simulated quick run ([`quick`]), runs with what a chart asks for ([`with_points`], [`with_counter`],
//! [`inserting`], [`settled`], [`open_loop`], [`long_runs`]), damaged variants of any, and texts meant to do harm.
//!
//! In: nothing. Out: [`Analysis`] values with noise, drifts and stalls, the same on every call.
//! Limits: the noise is a small multiplicative generator; nothing statistical may be concluded from it.

use analysis::finding::comparison::{PendingShare, WriteDebt};
use analysis::finding::completeness::{BlockedClients, FewSamples, PointInterruption, RunLimit, UnfinishedStep};
use analysis::finding::correctness::{CorruptData, FailedOps, InFlightMismatch};
use analysis::finding::load::HiddenWaits;
use analysis::finding::machine::{CachedReads, CpuUser, ForeignCpu, MemoryPressure, MissingCounters, ReadRoute};
use analysis::finding::rates::{HalfRates, LongStalls, Stalls, Unsteadiness};
use analysis::finding::units::Share;
use analysis::numbers::projection::Obstacle;
use analysis::recorded::engine_names::EngineNames;
use analysis::verdict::verdict_with_searches;
use analysis::{
    Amounts, Analysis, BackgroundSummary, ClientCost, CounterSeries, Detail, Finding, InsertCost, InsertedRows,
    IntervalPoint, Label, NextStep, OpCost, PointAnalysis, Projection, Quantiles, RUN_DETECTORS, Role, Rounds, Series,
    Setting, SettingValue, Settings, Severity, Shape, Span, Stall, Subject, Summary, Validity, WorstInterval, verdict,
};
use model::limit::{ArrivalLaw, LimitPart, LimitSearch, LimitSpec, LimitStep, Objective, Observation, probe_trial};
use model::stacks::merge_stacks;
use model::steady::SteadyWindow;
use model::{
    AccessPattern, Bytes, CounterDef, CounterKind, CounterRole, CounterSample, EndpointInterval, EndpointRow, Fact,
    FailureClass, FoldedStack, Generator, HostClock, HostData, HostId, HostPhase, HostRole, Interval, IoWork, KindDef,
    KindRow, LatencyCounts, Load, LoadShare, Nanos, OnError, OpClass, OpKind, Pacing, ParamRole, Params, Phase,
    PhaseData, Phases, Plan, PointData, PointHost, PointState, PointTraits, RunData, RunMeta, SourceDef, StackReason,
    StackSnapshot, TargetSpec, Tick, Times, Trial, Until, Value, WorkloadSpec,
};
use plot::figure::{Figure, FigureBody, Panel};
use std::sync::OnceLock;

/// Texts that try to become markup, code, a formula, an escape sequence or a second line.
pub const HOSTILE: [&str; 14] = [
    "<script>alert(1)</script>",
    "\"><img src=x onerror=alert(1)>",
    "'; onload='alert(1)",
    "</title></svg><script>alert(1)</script>",
    "]]><!-- --> <![CDATA[",
    "&lt;&#60;&amp;",
    "| a | b |\n|---|---|",
    "[link](javascript:alert(1)) `code` ![i](http://example.org/x.png)",
    "=HYPERLINK(\"http://example.org\";\"x\")",
    "+1\t-1,@SUM(A1)\r\n=2",
    "\u{1b}[31mred\u{1b}[0m\u{1b}]0;title\u{7}",
    "\u{202e}txt.exe\u{200b}\u{0}\u{8}",
    "{{ 7 * 7 }} {% raw %}",
    "$x^2$ \\$ \u{fffe}",
];

/// What a simulated point does.
struct Sketch {
    engine: &'static str,
    workload: &'static str,
    group: usize,
    clients: u32,
    depth: u32,
    params: &'static [(&'static str, &'static str)],
    ops_per_s: f64,
    noise: f64,
    stall: Option<(f64, f64)>,
}

/// Thirteen points as the built-in plan `quick` measures them: four seconds each, after one of warmup.
pub fn quick() -> Analysis {
    let mut points: Vec<PointAnalysis> =
        sketches().iter().enumerate().map(|(i, s)| point(i as u32 + 1, s, 20, 0.25)).collect();
    points[5].findings.push(Finding::new(Severity::Note, stall()).at(vec![Span { from_s: 2.0, to_s: 2.5 }]));
    let halves = HalfRates {
        first_per_s: 4_120.0,
        first_half_width_per_s: 80.0,
        second_per_s: 2_843.0,
        second_half_width_per_s: 90.0,
    };
    let drift = Finding::new(Severity::Warning, Unsteadiness::Halves(halves)).next(NextStep::WarmUpLonger);
    points[7].findings.push(drift);
    points[7].validity = Validity::Indicative;
    let failed = FailedOps {
        failed_ops: 212,
        in_outages_ops: 0,
        done_ops: 11_565,
        failed_share: Share(0.018),
        quoted: vec!["`database is locked`".into()],
    };
    points[12].findings.push(Finding::new(Severity::Error, failed).next(NextStep::RemoveCause));
    points[12].validity = Validity::Invalid;
    let meta = meta();
    let verdict = verdict(&points, &meta.plan, &EngineNames::default());
    Analysis { meta, points, searches: Vec::new(), findings: vec![run_finding()], verdict }
}

fn sketches() -> Vec<Sketch> {
    let file = |mode: &'static str, group, depth, ops_per_s, stall| Sketch {
        engine: "file",
        workload: "file",
        group,
        clients: 1,
        depth,
        params: if mode == "rndrd" {
            &[("block", "16 KiB"), ("mode", "rndrd")]
        } else {
            &[("block", "16 KiB"), ("mode", "rndwr")]
        },
        ops_per_s,
        noise: 0.04,
        stall,
    };
    let insert = |engine, group, params, ops_per_s, noise| Sketch {
        engine,
        workload: "insert",
        group,
        clients: 1,
        depth: 1,
        params,
        ops_per_s,
        noise,
        stall: None,
    };
    let oltp = |clients, ops_per_s| Sketch {
        engine: "sqlite",
        workload: "oltp",
        group: 6,
        clients,
        depth: 1,
        params: &[("access", "zipf:0.9"), ("durability", "os"), ("mix", "read_write")],
        ops_per_s,
        noise: 0.08,
        stall: None,
    };
    vec![
        file("rndrd", 0, 1, 5_900.0, None),
        file("rndrd", 0, 8, 28_400.0, None),
        file("rndrd", 0, 32, 41_300.0, None),
        file("rndwr", 1, 1, 3_150.0, None),
        file("rndwr", 1, 8, 8_700.0, None),
        file("rndwr", 1, 32, 10_100.0, Some((2.0, 2.5))),
        insert("sqlite", 2, &[("durability", "os"), ("indexes", "0")], 61_800.0, 0.07),
        insert("sqlite", 3, &[("durability", "os"), ("indexes", "3")], 3_480.0, 0.25),
        insert("fjall", 4, &[("durability", "os"), ("indexes", "0")], 84_000.0, 0.1),
        insert("fjall", 5, &[("durability", "os"), ("indexes", "3")], 29_600.0, 0.18),
        oltp(1, 5_200.0),
        oltp(4, 6_650.0),
        oltp(16, 6_480.0),
    ]
}

/// A small linear congruential generator (Knuth's MMIX constants): between -1 and 1.
struct Noise(u64);

impl Noise {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }
}

fn point(id: u32, sketch: &Sketch, intervals: u32, length_s: f64) -> PointAnalysis {
    let mut noise = Noise(u64::from(id) * 7_919);
    let service_ns = 1e9 * f64::from(sketch.clients * sketch.depth) / sketch.ops_per_s;
    let intervals: Vec<IntervalPoint> = (0..intervals)
        .map(|i| interval(sketch, f64::from(i) * length_s - 1.0, length_s, service_ns, &mut noise))
        .collect();
    let response = times_of(service_ns, &mut noise);
    let stall = sketch.stall.map(|(from_s, to_s)| Stall {
        span: Span { from_s, to_s },
        length_s: to_s - from_s,
        rate_share: 0.01,
    });
    let counters = counters(sketch, &intervals, &mut noise);
    let counted = Span { from_s: 0.0, to_s: intervals.last().map_or(0.0, |i| i.at_s + i.length_s) };
    let series = Series {
        intervals,
        tail: Vec::new(),
        bins: Vec::new(),
        response_counts: Vec::new(),
        counted,
        service: response.clone(),
        response,
        counters,
        amounts: Amounts::default(),
    };
    PointAnalysis {
        held: None,
        load: None,
        variant: None,
        id,
        state: PointState::Complete,
        error: None,
        engine: sketch.engine.to_owned(),
        workload: sketch.workload.to_owned(),
        clients: sketch.clients,
        depth: sketch.depth,
        repeat: 1,
        settings: settings(sketch),
        label: sketch_label(sketch),
        group: sketch.group,
        facts: vec![Fact::new("engine.version", "3.50.4"), Fact::new("durability", "os")],
        traits: sketch_traits(sketch),
        summary: Some(summary(&series)),
        statements: Vec::new(),
        endpoints: Vec::new(),
        hosts: Vec::new(),
        instances: None,
        inserts: None,
        compression: None,
        projection: None,
        series: Some(series),
        shape: Some(Shape { stalls: stall.into_iter().collect(), ..Shape::default() }),
        rounds: None,
        threads: analysis::ThreadStates::default(),
        stacks: None,
        bottlenecks: None,
        mhz: None,
        work_done: Default::default(),
        findings: Vec::new(),
        validity: Validity::Valid,
    }
}

/// The quick run, whose insert points insert ten rows by an operation and whose transactions have twenty statements: a survey of a machine.
pub fn surveyed() -> Analysis {
    let mut analysis = quick();
    // The last failed operations.
    analysis.points.truncate(12);
    for summary in analysis.points[6..10].iter_mut().filter_map(|point| point.summary.as_mut()) {
        summary.rows_per_s = Some(10.0 * summary.ops_per_s);
    }
    for summary in analysis.points[10..].iter_mut().filter_map(|point| point.summary.as_mut()) {
        summary.queries_per_s = 20.0 * summary.ops_per_s;
    }
    with_verdict(analysis)
}

/// The same on a machine of which the hypervisor took such shares, in turn: all points are invalid.
pub fn spoilt(shares: &[f64]) -> Analysis {
    let mut analysis = surveyed();
    for (point, share) in analysis.points.iter_mut().zip(shares.iter().cycle()) {
        let by = CpuUser::Hypervisor { share_max: Share(0.02) };
        point.findings = vec![Finding::new(Severity::Error, ForeignCpu { share: Share(*share), by })];
        point.validity = Validity::Invalid;
    }
    with_verdict(analysis)
}

/// One point whose threads wait for a lock at stalls, and mostly write at random moments.
pub fn stalled_stacks() -> Analysis {
    const WAITS: &str = "main;commit;lock_wait";
    const WORKS: &str = "main;commit;write";
    const IDLE: &str = "main;purge";
    let mut point = recorded(1, "mariadb:innodb", 20, |_| 2_000);
    let snapshot = |at_s: u64, reason, stacks: &[&str]| StackSnapshot {
        at: Tick(at_s * 1_000_000_000),
        reason,
        tool: "gdb".to_owned(),
        took: Nanos::from_millis(400),
        stopped: Nanos::from_millis(100),
        stacks: merge_stacks(stacks.iter().map(|frames| FoldedStack::new("server", frames.split(';'))).collect()),
    };
    let (stall, random) = (StackReason::Stall, StackReason::Random);
    point.stacks = vec![
        snapshot(2, random, &[WORKS, WORKS, WORKS, IDLE]),
        snapshot(5, random, &[WAITS, WORKS, WORKS, IDLE]),
        snapshot(8, stall, &[WAITS, WAITS, WAITS, IDLE]),
        snapshot(9, stall, &[WAITS, WAITS, WAITS, IDLE]),
    ];
    analysis::analyse(&RunData { meta: meta(), points: vec![point] })
}

/// What the engine and the workload of `sketch` declare.
fn sketch_traits(sketch: &Sketch) -> PointTraits {
    let mut traits = PointTraits::default();
    traits.engine.durability = Some("os".to_owned());
    traits.engine.version = Some("3.50.4".to_owned());
    let mode = sketch.params.iter().find(|(name, _)| *name == "mode");
    traits.work.io = mode.map(|(_, mode)| io_work(mode, Bytes(16_384)));
    traits
}

fn io_work(mode: &str, block: Bytes) -> IoWork {
    let pattern = if mode.starts_with("seq") { AccessPattern::Sequential } else { AccessPattern::Random };
    IoWork { block, pattern, read_share: if mode.ends_with("rd") { 1.0 } else { 0.0 }, syncs: false }
}

fn settings(sketch: &Sketch) -> Settings {
    let names = [("engine", sketch.engine), ("workload", sketch.workload)];
    let counts = [("clients", sketch.clients), ("depth", sketch.depth), ("repeat", 1)];
    let mut settings = Settings::default();
    names.into_iter().for_each(|(name, value)| settings.put(setting(name, SettingValue::Name(value.to_owned()))));
    sketch.params.iter().for_each(|(name, value)| settings.put(setting(name, setting_value(value))));
    counts.into_iter().for_each(|(name, value)| settings.put(setting(name, SettingValue::Count(value))));
    settings
}

/// A setting as a run has it: parameters have the roles that engines and workloads declare.
pub fn setting(name: &str, value: SettingValue) -> Setting {
    let role = match name {
        "engine" => Role::Engine,
        "workload" => Role::Workload,
        "fs" | "storage_limit" | "cpu_limit" | "cpus" | "smt" | "turbo" | "scheduler" => Role::Ground,
        "instances" => Role::Instances,
        "memory_limit" => Role::Size,
        "pacing" => Role::Pacing,
        "clients" => Role::Clients,
        "depth" => Role::Depth,
        "repeat" => Role::Repeat,
        _ => Role::Tuning,
    };
    match value {
        SettingValue::Param(value) if role == Role::Tuning => Setting::of_workload(name, param_role(name), value),
        value => Setting::of_run(name, role, value),
    }
}

fn param_role(name: &str) -> ParamRole {
    match name {
        "mode" => ParamRole::Mode,
        "mix" => ParamRole::Mix,
        "step" => ParamRole::Step,
        "cache" => ParamRole::CacheSize,
        "rows" => ParamRole::DataSize,
        _ => ParamRole::Tuning,
    }
}

fn setting_value(text: &str) -> SettingValue {
    SettingValue::Param(text.parse().map_or_else(|_| Value::Word(text.to_owned()), Value::Int))
}

/// Sets `name` of `point`, its engine and its place included.
pub fn set(point: &mut PointAnalysis, name: &str, text: &str) {
    let count = || text.parse().expect("a number");
    match name {
        "engine" => {
            point.engine = text.to_owned();
            point.settings.put(setting("engine", SettingValue::Name(text.to_owned())));
        }
        "clients" => point.clients = count(),
        "depth" => point.depth = count(),
        "repeat" => point.repeat = count(),
        _ => {
            let mut setting = setting(name, setting_value(text));
            // As the workload `file` declares it.
            setting.used = name != "read_share" || point.settings.word("mode") == Some("rndrw");
            point.settings.put(setting);
        }
    }
    if name == "mode" {
        let block = point.traits.work.io.map_or(Bytes(0), |io| io.block);
        point.traits.work.io = Some(io_work(text, block));
    }
    if matches!(name, "clients" | "depth" | "repeat") {
        point.settings.put(setting(name, SettingValue::Count(count())));
    }
}

/// Labels `point` by the settings of these names, as far as it has them.
pub fn label(point: &mut PointAnalysis, group: &[&str], place: &[&str]) {
    let chosen = |names: &[&str]| names.iter().filter_map(|name| point.settings.get(name).cloned()).collect();
    point.label = Label { group: chosen(group), place: chosen(place) };
}

fn sketch_label(sketch: &Sketch) -> Label {
    let settings = settings(sketch);
    let chosen = |names: &[&str]| names.iter().filter_map(|name| settings.get(name).cloned()).collect();
    match sketch.workload {
        "file" => Label { group: chosen(&["engine", "mode"]), place: chosen(&["depth"]) },
        "oltp" => Label { group: chosen(&["engine", "workload", "mix"]), place: chosen(&["clients"]) },
        _ => Label { group: chosen(&["engine", "workload", "indexes"]), place: Vec::new() },
    }
}

fn interval(sketch: &Sketch, at_s: f64, length_s: f64, service_ns: f64, noise: &mut Noise) -> IntervalPoint {
    let warming = if at_s < 0.0 { 0.75 + at_s.mul_add(0.2, 0.2) } else { 1.0 };
    let stalled = sketch.stall.is_some_and(|(from, to)| (from..to).contains(&at_s));
    let ops_per_s = if stalled { 40.0 } else { sketch.ops_per_s * warming * (1.0 + sketch.noise * noise.next()) };
    let slow = if stalled { 30.0 } else { 1.0 + 0.1 * noise.next() };
    let time = |factor: f64| Some((service_ns * factor * slow) as u64);
    IntervalPoint {
        at_s,
        length_s,
        ops_per_s,
        bytes_per_s: ops_per_s * 16_384.0,
        p50_ns: time(0.8),
        p95_ns: time(1.9 + 0.2 * noise.next()),
        p99_ns: time(3.5 + noise.next()),
        max_ns: time(14.0 + 9.0 * noise.next()),
    }
}

/// A log-normal body with a tail that is ten times slower.
fn times_of(service_ns: f64, noise: &mut Noise) -> Times {
    let mut counts = LatencyCounts::default();
    for i in 0..20_000 {
        let normal: f64 = (0..6).map(|_| noise.next()).sum::<f64>() / 1.4;
        let tail = if i % 400 == 0 { 10.0 } else { 1.0 };
        let value = (service_ns * 0.8 * (0.3 * normal).exp() * tail) as u64;
        counts.record(value.max(1));
    }
    counts.take()
}

fn counters(sketch: &Sketch, intervals: &[IntervalPoint], noise: &mut Noise) -> Vec<CounterSeries> {
    let of = |source: &str, subject: &str, name: &str, unit: &str, rate: &mut dyn FnMut(&IntervalPoint) -> f64| {
        let rates: Vec<f64> = intervals.iter().map(|interval| rate(interval).max(0.0)).collect();
        let counter = counter_def(name, counter_role(name), CounterKind::Counter, unit);
        counter_series((source, subject), counter, intervals, &grown_readings(intervals, &rates))
    };
    let share = |part: f64, noise: &mut Noise| 2e9 * part * (1.0 + 0.15 * noise.next());
    let writes = if sketch.params.contains(&("mode", "rndrd")) { 0.02 } else { 1.0 };
    vec![
        of("cpu", "machine", "user_ns", "ns", &mut |_| share(0.38, noise)),
        of("cpu", "machine", "system_ns", "ns", &mut |_| share(0.21, noise)),
        of("cpu", "machine", "softirq_ns", "ns", &mut |_| share(0.02, noise)),
        of("cpu", "machine", "iowait_ns", "ns", &mut |_| share(0.12, noise)),
        of("cpu", "machine", "steal_ns", "ns", &mut |_| share(0.01, noise)),
        of("cpu", "machine", "idle_ns", "ns", &mut |_| share(0.26, noise)),
        of("disk", "vda", "read_ops", "ops", &mut |i| i.ops_per_s * (1.02 - writes)),
        of("disk", "vda", "write_ops", "ops", &mut |i| i.ops_per_s * writes * 0.3),
        of("disk", "vda", "flush_ops", "ops", &mut |_| 20.0 * writes),
        of("disk", "vda", "read_bytes", "bytes", &mut |i| i.bytes_per_s * (1.02 - writes)),
        of("disk", "vda", "write_bytes", "bytes", &mut |i| i.bytes_per_s * writes * 0.3),
        of("disk", "vda", "queue_ns", "ns", &mut |_| 1e9 * f64::from(sketch.depth) * (1.0 + 0.05 * noise.next())),
    ]
}

/// A counter of `(source, subject)` that was read so, as the analysis makes it of a run with these intervals.
fn counter_series(
    (source, subject): (&str, &str),
    counter: CounterDef,
    intervals: &[IntervalPoint],
    readings: &[(f64, f64)],
) -> CounterSeries {
    let source = SourceDef { name: source.to_owned(), subject: subject.to_owned(), counters: Vec::new() };
    let interval_s = intervals.first().map_or(1.0, |interval| interval.length_s);
    CounterSeries::from_readings(&source, &counter, readings, interval_s)
}

fn counter_def(name: &str, role: Option<CounterRole>, kind: CounterKind, unit: &str) -> CounterDef {
    let (name, unit) = (name.to_owned(), unit.to_owned());
    CounterDef { name, unit, kind, help: String::new(), role, in_pages: false }
}

/// How long after the moment of its grid a counter is read.
pub const READ_AFTER_S: f64 = 0.000_4;
/// How long before the run phase the last reading of the grid of the warmup comes.
const READ_BEFORE_RUN_S: f64 = 0.006;
/// How long after its last reading the sampler reads once more, because it stops.
const STOPPED_AFTER_S: f64 = 0.01;

/// When counters are read in a run with these intervals: on the grid of the warmup, once more as the run phase begins, on the grid of
/// the run from then on, and once more at the stop.
fn reading_times(intervals: &[IntervalPoint]) -> Vec<f64> {
    let ends_s = intervals.iter().map(|interval| interval.at_s + interval.length_s);
    let grid: Vec<f64> = intervals.first().map(|first| first.at_s).into_iter().chain(ends_s).collect();
    let warmup = grid.iter().filter(|at_s| **at_s <= 0.0).map(|at_s| at_s - READ_BEFORE_RUN_S);
    let run = grid.iter().filter(|at_s| **at_s >= 0.0).map(|at_s| at_s + READ_AFTER_S);
    let stop = grid.last().map(|at_s| at_s + READ_AFTER_S + STOPPED_AFTER_S);
    warmup.chain(run).chain(stop).collect()
}

/// The readings of a counter that grows by `rates` per second, one rate for each interval.
fn grown_readings(intervals: &[IntervalPoint], rates: &[f64]) -> Vec<(f64, f64)> {
    let times = reading_times(intervals);
    let mut readings: Vec<(f64, f64)> = times.first().map(|at_s| (*at_s, 0.0)).into_iter().collect();
    for pair in times.windows(2) {
        let middle_s = f64::midpoint(pair[0], pair[1]);
        let nth = intervals.partition_point(|interval| interval.at_s + interval.length_s <= middle_s);
        let rate = rates[nth.min(rates.len() - 1)];
        let before = readings.last().map_or(0.0, |(_, reading)| *reading);
        readings.push((pair[1], before + rate * (pair[1] - pair[0])));
    }
    readings
}

fn counter_role(name: &str) -> Option<CounterRole> {
    let known = [
        ("user_ns", CounterRole::MachineCpuUser),
        ("system_ns", CounterRole::MachineCpuSystem),
        ("softirq_ns", CounterRole::MachineCpuSoftirq),
        ("iowait_ns", CounterRole::MachineCpuIowait),
        ("steal_ns", CounterRole::MachineCpuSteal),
        ("idle_ns", CounterRole::MachineCpuIdle),
        ("read_ops", CounterRole::DeviceReadOps),
        ("write_ops", CounterRole::DeviceWriteOps),
        ("flush_ops", CounterRole::DeviceFlushOps),
        ("read_bytes", CounterRole::DeviceReadBytes),
        ("write_bytes", CounterRole::DeviceWriteBytes),
        ("queue_ns", CounterRole::DeviceQueue),
    ];
    known.into_iter().find(|(known, _)| *known == name).map(|(_, role)| role)
}

fn summary(series: &Series) -> Summary {
    let run: Vec<&IntervalPoint> = series.intervals.iter().filter(|i| i.at_s >= 0.0).collect();
    let mean = run.iter().map(|i| i.ops_per_s).sum::<f64>() / run.len() as f64;
    let worst = run.iter().min_by(|a, b| a.ops_per_s.total_cmp(&b.ops_per_s)).expect("a run has intervals");
    let times = Quantiles::from_times(&series.response).expect("it has times");
    let seconds = run.iter().map(|i| i.length_s).sum();
    Summary {
        new_orders: None,
        seconds,
        ops: (mean * seconds) as u64,
        grace_ops: 0,
        failed: 0,
        success_rate: Some(1.0),
        retries: None,
        late: 0,
        unserved: 0,
        offered_per_s: None,
        ops_per_s: mean,
        ops_per_s_ci95: Some([mean * 0.97, mean * 1.03]),
        queries_per_s: mean,
        queries_per_s_ci95: Some([mean * 0.97, mean * 1.03]),
        rows_per_s: None,
        rows_per_s_ci95: None,
        bytes_per_s: mean * 16_384.0,
        response_ns: Some(times),
        service_ns: Some(times),
        worst: Some(WorstInterval { at_s: worst.at_s, length_s: worst.length_s, ops_per_s: worst.ops_per_s }),
        client: ClientCost::default(),
        network: None,
        achieved: analysis::Achieved::default(),
        cost_per_query: analysis::CostPerQuery::default(),
        background: Vec::new(),
        kinds: Vec::new(),
        cost: OpCost {
            read_bytes_per_op: (mean > 20_000.0).then_some(16_384.0),
            written_bytes_per_op: Some(1.2e7 / mean),
            written_account: Some(analysis::ByteAccount::Process),
            written_unknown: None,
            written_accounts: analysis::WriteAccounts::default(),
            file_system_bytes: None,
            network_bytes_per_op: None,
            engine_cpu_ns_per_op: Some(1.3e9 / mean),
            context_switches_per_op: Some(8_000.0 / mean),
            running: analysis::RunningCost::default(),
        },
    }
}

/// The quick run on a machine at this price per hour and with so many watts.
pub fn priced(price: Option<f64>, watts: Option<f64>) -> Analysis {
    let mut analysis = quick();
    for summary in analysis.points.iter_mut().filter_map(|point| point.summary.as_mut()) {
        let (ops_per_s, bytes_per_s) = (Some(summary.ops_per_s), Some(summary.bytes_per_s));
        summary.cost.running = analysis::RunningCost::at_rates(price, watts, ops_per_s, bytes_per_s);
    }
    analysis
}

/// The quick run as one of the kernel `sort`, a point for each of these numbers of clients, at nominal 2 GHz.
pub fn with_kernels(clients: &[u32]) -> Analysis {
    let mut analysis = quick();
    analysis.points.truncate(clients.len());
    for (point, clients) in analysis.points.iter_mut().zip(clients) {
        point.traits.work.kernel = Some("sort".into());
        (point.clients, point.mhz, point.group) = (*clients, Some(2000.0), 0);
    }
    analysis.meta.machine.frequency_is_measured = Some(false);
    analysis
}

/// Clients that nearly kept 500 inserts a second during a run, five rows each.
pub fn background_500() -> BackgroundSummary {
    let times =
        Quantiles { mean: 3e6, p50: 2_000_000, p95: 8_000_000, p99: 12_000_000, p999: 30_000_000, max: 41_000_000 };
    BackgroundSummary {
        kinds: vec!["insert".to_owned()],
        clients: 4,
        asked_per_s: Some(500.0),
        ops: 4_980,
        ops_per_s: 498.0,
        ops_per_s_ci95: Some([494.0, 502.0]),
        kept: Some(0.996),
        rows_per_s: Some(2_490.0),
        failed: 0,
        late: 12,
        unserved: 1,
        response_ns: Some(times),
        service_ns: Some(times),
    }
}

fn stall() -> Stalls {
    Stalls::Rates(LongStalls {
        count: 1,
        total_ns: Nanos::from_millis(500),
        longest_ns: Nanos::from_millis(500),
        longest_at_ns: Nanos::from_secs(2),
        period: None,
        usual_per_s: 9_810.0,
        deepest_share: Share(0.0),
        interval_ns: Nanos::from_millis(250),
    })
}

fn run_finding() -> Finding {
    let pressure = MemoryPressure { swapped_in_pages: 0, swapped_out_pages: 120, waited_share: Share(0.0) };
    Finding::new(Severity::Warning, pressure).about(Subject::Run).next(NextStep::ShrinkMemory)
}

/// Twelve findings of the run, each of another kind.
pub fn one_of_many_kinds() -> Vec<Finding> {
    let (second, quoted) = (Nanos::from_secs(1), || vec!["`quoted`".to_owned()]);
    let details: [Detail; 12] = [
        MemoryPressure { swapped_in_pages: 0, swapped_out_pages: 120, waited_share: Share(0.0) }.into(),
        MissingCounters { quoted: quoted() }.into(),
        BlockedClients { clients: 1, quoted: quoted() }.into(),
        HiddenWaits { p99_ns: second, longest_ns: second }.into(),
        InFlightMismatch { in_flight_mean: 0.4, in_flight_max: 1 }.into(),
        CachedReads { via: ReadRoute::Direct, read_bytes_per_s: 2e6, device_read_bytes_per_s: 1e5 }.into(),
        FewSamples { ops: 500, grace_ops: 0, highest: None, length_ns: second, failed_ops: 0 }.into(),
        FailedOps { failed_ops: 1, in_outages_ops: 0, done_ops: 99, failed_share: Share(0.01), quoted: quoted() }
            .into(),
        CorruptData { corrupt_units: 1, stale_units: 0, misdirected_units: 0, quoted: quoted() }.into(),
        PointInterruption { at_ns: Some(second), reason: "Ctrl-C".into() }.into(),
        UnfinishedStep { done_ops: 1, planned_ops: 4, limit: RunLimit::Time { time_ns: second } }.into(),
        stall().into(),
    ];
    details.into_iter().map(|detail| Finding::new(Severity::Warning, detail).about(Subject::Run)).collect()
}

/// The description of a run.
pub fn meta() -> RunMeta {
    RunMeta {
        run_id: "20261121-030405-quick".to_owned(),
        started_unix_ms: 1_795_230_245_000,
        plimsoll_version: "0.1.0".to_owned(),
        plan: Plan {
            name: "quick".to_owned(),
            title: "The disk and the embedded engines in a minute".to_owned(),
            scale: 1.0,
            ab: None,
            hourly: Default::default(),
            link: None,
            why: None,
            trials: Vec::new(),
        },
        machine: Default::default(),
        environment: vec![
            Fact::new("kernel.release", "6.18.0"),
            Fact::new("cpu.usable", "2"),
            Fact::new("cpu.model", "AMD EPYC 7763"),
            Fact::new("filesystem", "ext4"),
            Fact::new("disk.device", "vda"),
            Fact::new("memory.total_bytes", "25769803776"),
        ],
    }
}

/// `n` points of one group with 120 intervals of a second.
pub fn with_points(n: u32) -> Analysis {
    with_points_of(n, 120)
}

/// As [`with_points`], with so many intervals each.
pub fn with_points_of(n: u32, intervals: u32) -> Analysis {
    let sketch = &sketches()[11];
    let points = (1..=n)
        .map(|id| {
            let mut point = point(id, sketch, intervals, 1.0);
            set(&mut point, "clients", &id.to_string());
            label(&mut point, &["engine", "workload", "mix"], &["clients"]);
            point
        })
        .collect();
    with_verdict(Analysis { points, ..quick() })
}

/// A sweep over clients by the Universal Scalability Law with the terms 0.02 and 0.0005, its peak at 44 clients and 2 % of noise, and what
/// the run's detectors find in it.
pub fn scaled() -> Analysis {
    let mut noise = Noise(11);
    let mut analysis = with_points(7);
    for (nth, point) in (0u32..).zip(&mut analysis.points) {
        let clients = 1 << nth;
        set(point, "clients", &clients.to_string());
        let n = f64::from(clients);
        let per_s = 700.0 * n / (1.0 + 0.02 * (n - 1.0) + 5e-4 * n * (n - 1.0)) * (1.0 + 0.035 * noise.next());
        let summary = point.summary.as_mut().expect("it has one");
        (summary.ops_per_s, summary.queries_per_s, summary.queries_per_s_ci95) = (per_s, per_s, None);
        summary.ops_per_s_ci95 = Some([0.97 * per_s, 1.03 * per_s]);
        summary.response_ns = summary.response_ns.map(|times| Quantiles { p95: (1.5e9 * n / per_s) as u64, ..times });
    }
    let plan = &analysis.meta.plan;
    analysis.findings = RUN_DETECTORS.iter().flat_map(|one| (one.detect)(&analysis.points, plan)).collect();
    with_verdict(analysis)
}

/// One, two and four instances of one engine with one client each, and the verdict.
pub fn several_instances() -> Analysis {
    let mut analysis = with_points(3);
    for (nth, point) in (0u32..).zip(&mut analysis.points) {
        let instances = 1 << nth;
        point.settings.put(setting("instances", SettingValue::Count(instances)));
        label(point, &["engine", "instances"], &[]);
        point.group = nth as usize;
        let summary = point.summary.as_mut().expect("it has one");
        summary.ops_per_s = 900.0 * f64::from(instances) / (1.0 + 0.1 * f64::from(nth));
        let ops: Vec<u64> = (0..u64::from(instances)).map(|own| 3_000 - 40 * own).collect();
        point.instances = analysis::InstanceShares::from_ops(&ops, summary);
    }
    with_verdict(analysis)
}

/// `analysis` with the verdict that its points give.
pub fn with_verdict(analysis: Analysis) -> Analysis {
    let Analysis { points, searches, meta, .. } = &analysis;
    let verdict = verdict_with_searches(points, searches, &meta.plan, &EngineNames::default());
    Analysis { verdict, ..analysis }
}

/// `analysis` with a further counter or gauge in each point, which showed `reading` at a moment, in seconds since the run phase began. It
/// is read when a real run reads it: not at the ends of the intervals, and twice within a few milliseconds as the run phase begins.
pub fn with_counter(
    mut analysis: Analysis,
    (source, role, kind, unit): (&str, CounterRole, CounterKind, &str),
    reading: impl Fn(f64) -> f64,
) -> Analysis {
    for series in analysis.points.iter_mut().filter_map(|point| point.series.as_mut()) {
        let times = reading_times(&series.intervals).into_iter();
        let readings: Vec<(f64, f64)> = times.map(|at_s| (at_s, reading(at_s))).collect();
        let counter = counter_def("further", Some(role), kind, unit);
        series.counters.push(counter_series((source, ""), counter, &series.intervals, &readings));
    }
    analysis
}

/// The run of [`quick`] on an engine with processes of its own, whose eight threads mostly sync, and on clients that wait for it.
pub fn waiting() -> Analysis {
    use analysis::{StateShares, ThreadStates};
    use model::{ThreadOf, ThreadState};
    let of_engine = [0.25, 0.05, 0.1, 0.4, 0.1, 0.1, 0.0];
    let of_clients = [0.1, 0.0, 0.0, 0.0, 0.0, 0.9, 0.0];
    let shares = |[cpu, runnable, read, sync, lock, client, other]: [f64; 7]| StateShares {
        cpu,
        runnable,
        read,
        sync,
        lock,
        client,
        other,
        threads: 8.0,
    };
    let mut run = quick();
    for (of, all) in [(ThreadOf::Engine, of_engine), (ThreadOf::Client, of_clients)] {
        for (state, share) in ThreadState::ALL.into_iter().zip(all) {
            let counter = ("threads", CounterRole::ThreadTime(of, state), CounterKind::Counter, "ns");
            run = with_counter(run, counter, |at_s| 8e9 * share * (at_s + 10.0));
        }
    }
    for point in &mut run.points {
        let (engine, client) = (Some(shares(of_engine)), Some(shares(of_clients)));
        point.threads =
            ThreadStates { engine, client, session: None, row_lock_sessions: Some(2.31), watch_cores: Some(0.003) };
    }
    run
}

/// Three points of so many one-second intervals, as flash disks do it in five hours: standstills of 25 s every 20 minutes and
/// one of a single second, a level that falls after 4000 s, and waves. Five hours take minutes without optimisation.
pub fn long_runs(seconds: u64) -> Analysis {
    let mut noise = Noise(5);
    let mut rate = |i: u64, of: &dyn Fn(u64) -> f64| (of(i) * (1.0 + 0.02 * noise.next())) as u64;
    let standing = |i: u64| if i % 1_200 >= 1_175 || i == 700 { 0.0 } else { 20_700.0 };
    let falling = |i: u64| if i < 4_000 { 24_300.0 } else { 19_200.0 + 1_500.0 * ((i / 37 % 7) as f64 - 3.0) / 3.0 };
    let waves = |i: u64| 24_000.0 + 1_600.0 * (i as f64 / 600.0).sin();
    let shapes: [(&str, &dyn Fn(u64) -> f64); 3] = [("standing", &standing), ("falling", &falling), ("waves", &waves)];
    let points = (1..).zip(shapes).map(|(id, (target, of))| recorded(id, target, seconds, |i| rate(i, of)));
    let run = RunData { meta: meta(), points: points.collect() };
    analysis::analyse(&run)
}

/// 16 KiB operations by eight clients, so many in each second.
pub fn recorded(id: u32, target: &str, seconds: u64, mut count: impl FnMut(u64) -> u64) -> PointData {
    const SECOND: u64 = 1_000_000_000;
    let mut interval = |i: u64| {
        let ok = count(i);
        let mut times = Times::default();
        times.record_n(8 * SECOND / ok.max(1), ok);
        let (response, service, bytes) = (times.clone(), times, ok * 16_384);
        let kind = KindRow { ok, bytes, response, service, ..KindRow::empty(OpKind(0)) };
        Interval {
            index: i as u32,
            start: Tick(i * SECOND),
            length: Nanos(SECOND),
            kinds: vec![kind],
            generator: Generator::default(),
        }
    };
    let intervals: Vec<Interval> = (0..seconds).map(&mut interval).collect();
    let (start, end) = (Tick(0), Tick(seconds * SECOND));
    let params = [("mode", Value::Word("rndwr".into())), ("block", Value::Bytes(Bytes(16_384)))];
    let params = Params(params.map(|(name, value)| (name.to_owned(), value)).into());
    PointData {
        id,
        state: PointState::Complete,
        error: None,
        trial: Trial {
            target: TargetSpec {
                engine: target.into(),
                programs: None,
                path: None,
                fs: None,
                instances: 1,
                limits: Default::default(),
                machine: Default::default(),
                params: Params::default(),
            },
            workload: WorkloadSpec { name: "file".into(), params },
            load: Load { clients: 8, depth: 1, pacing: Pacing::Closed { think: Nanos(0) } },
            phases: Phases {
                warmup: Nanos(0),
                run: Nanos(end.0),
                ops_max: None,
                interval: Nanos(SECOND),
                grace: Nanos(SECOND),
                until: Until::Time,
            },
            on_error: OnError::Stop,
            repeat: 1,
            seed: 1,
            limit: None,
            stacks: false,
            share: None,
        },
        facts: Vec::new(),
        traits: Default::default(),
        params: Vec::new(),
        kinds: vec!["write".into()],
        phases: vec![PhaseData { phase: Phase::Run, start, end, unserved: 0, offered: 0, intervals }],
        sources: Vec::new(),
        counters: Default::default(),
        events: Vec::new(),
        stacks: Vec::new(),
        endpoints: Vec::new(),
        hosts: Vec::new(),
    }
}

/// Ten seconds of a plan with two statements: of 1,000 operations a second 750 look up a row in a millisecond, the others pay in 9 ms in
/// transactions of three statements, of which three failed.
pub fn with_statements() -> Analysis {
    let mut point = recorded(1, "sqlite", 10, |_| 0);
    let pay = KindDef { queries_per_op: 3.0, ..KindDef::new("pay", OpClass::ReadWrite) };
    point.kinds = vec![KindDef::new("lookup", OpClass::Read), pay, KindDef::new("load", OpClass::Write)];
    for interval in &mut point.phases[0].intervals {
        let row = |(number, ok, ns)| {
            let mut times = Times::default();
            times.record_n(ns, ok);
            KindRow { ok, response: times.clone(), service: times, ..KindRow::empty(OpKind(number)) }
        };
        interval.kinds = [(0, 750, 1_000_000), (1, 250, 9_000_000)].map(row).to_vec();
    }
    point.phases[0].intervals[4].kinds[1].failed = 3;
    analysis::analyse(&RunData { meta: meta(), points: vec![point] })
}

/// Ten seconds of a cluster of three nodes, of which the second was down for two seconds and lost two operations; the first takes half of
/// the load.
pub fn with_endpoints() -> Analysis {
    let done = |nth: usize, second: u64| match (nth, second) {
        (0, _) => 500,
        (1, 4 | 5) => 0,
        (1, _) => 312 + u64::from(second < 4),
        _ => 250,
    };
    let mut point = recorded(1, "mariadb:galera", 10, |second| (0..3).map(|nth| done(nth, second)).sum());
    point.traits.engine.endpoints = (1..=3).map(|nth| format!("node {nth}")).collect();
    for second in 0..10 {
        point.endpoints.extend((0..3).map(|nth| {
            let mut row = EndpointRow::empty(nth as u16);
            row.ok = done(nth, second);
            row.response.record_n(1_000_000 * (1 + nth as u64), row.ok);
            if (nth, second) == (1, 4) {
                row.failed.add_of(FailureClass::Lost, 2);
            }
            EndpointInterval { phase: Phase::Run, index: second as u32, row }
        }));
    }
    for (nth, name) in point.traits.engine.endpoints.clone().into_iter().enumerate() {
        let counter = |name: &str, role| CounterDef {
            name: name.into(),
            unit: if role == CounterRole::EndpointDown { "ns".into() } else { "ops".into() },
            kind: CounterKind::Counter,
            help: String::new(),
            role: Some(role),
            in_pages: false,
        };
        let counters = vec![
            counter("down_ns", CounterRole::EndpointDown),
            counter("retries", CounterRole::Retries),
            counter("reconnects", CounterRole::EndpointReconnects),
        ];
        point.sources.push(SourceDef { name: "endpoint".into(), subject: name, counters });
        for second in 0..=10_u64 {
            let down = if nth == 1 { (second as f64 - 4.0).clamp(0.0, 2.0) * 1e9 } else { 0.0 };
            let values = vec![Some(down), Some(0.0), Some(0.0)];
            point.counters.push(CounterSample { at: Tick(second * 1_000_000_000), source: nth as u16, values });
        }
    }
    analysis::analyse(&RunData { meta: meta(), points: vec![point] })
}

/// Ten seconds of two hosts with clients, of which the second does less than its half, and one host on which the database runs.
pub fn with_hosts() -> Analysis {
    use CounterRole::{
        DeviceBusy, MachineCpuIdle, MachineCpuSystem, MachineCpuUser, NetworkReceivedBytes, NetworkSentBytes,
    };
    let done = [600, 400];
    let mut point = recorded(1, "mysql", 10, |_| done.iter().sum());
    point.trial.load.clients = 4;
    let cpu =
        |busy: f64| vec![(MachineCpuUser, busy * 4e9), (MachineCpuSystem, 0.0), (MachineCpuIdle, (1.0 - busy) * 4e9)];
    let network = |sent: f64, received: f64| {
        vec![(NetworkSentBytes, sent), (NetworkReceivedBytes, received), (CounterRole::LinkSpeed, 1e9)]
    };
    for (id, ok) in (1u16..).zip(done) {
        let name = format!("c{id}");
        let mut host = HostData::unmeasured(made_host(id, &name, HostRole::Load));
        host.host.share = Some(LoadShare { clients: 2, part: 0.5 });
        let own = recorded(1, "mysql", 10, |_| ok).phases.remove(0);
        host.phases = vec![HostPhase { phase: Phase::Run, intervals: own.intervals }];
        add_source(&mut host, "cpu", "", &[cpu(0.2), vec![(CounterRole::PlimsollCpu, 0.6e9)]].concat());
        add_source(&mut host, "network", "eth0", &network(4e6 * f64::from(id), 9e6));
        point.hosts.push(host);
    }
    let mut node = HostData::unmeasured(made_host(3, "n1", HostRole::Observe));
    let engine = [(CounterRole::EngineCpuUser, 3.2e9), (CounterRole::EngineCpuSystem, 0.0)];
    let disk = [(DeviceBusy, 0.4e9), (CounterRole::DeviceReadBytes, 1e6), (CounterRole::DeviceWriteBytes, 20e6)];
    let sets = [(CounterRole::ReplicatedBytes, 5e6), (CounterRole::ReplicatedBytesReceived, 2e6)];
    add_source(&mut node, "cpu", "", &cpu(0.8));
    add_source(&mut node, "process", "server", &engine);
    add_source(&mut node, "disk", "vda", &disk);
    add_source(&mut node, "network", "eth0", &network(18e6, 20e6));
    add_source(&mut node, "network", "eth1", &network(40e6, 6e6));
    add_source(&mut node, "wsrep", "", &sets);
    point.hosts.push(node);
    analysis::analyse(&RunData { meta: meta(), points: vec![point] })
}

fn made_host(id: u16, name: &str, role: HostRole) -> PointHost {
    PointHost {
        id: HostId(id),
        name: name.into(),
        incarnation: format!("{name}-1"),
        role,
        share: None,
        facts: vec![Fact::new("cpu.count", "4")],
        clock: Some(HostClock { offset_ns: 1_200, bound_ns: 40_000 }),
        start_skew_ns: Some(-12_000),
    }
}

/// Adds a source of counters that grow by so much a second, more and less in turns; a link speed is a level.
fn add_source(host: &mut HostData, name: &str, subject: &str, counters: &[(CounterRole, f64)]) {
    let source = host.sources.len() as u16;
    let is_level = |role: CounterRole| role == CounterRole::LinkSpeed;
    let counter = |(role, _): &(CounterRole, f64)| CounterDef {
        name: format!("{role:?}"),
        unit: "count".into(),
        kind: if is_level(*role) { CounterKind::Gauge } else { CounterKind::Counter },
        help: String::new(),
        role: Some(*role),
        in_pages: false,
    };
    let defs = counters.iter().map(counter).collect();
    host.sources.push(SourceDef { name: name.into(), subject: subject.into(), counters: defs });
    for second in 0..=10_u64 {
        let more = if second % 2 == 1 { 0.1 } else { 0.0 };
        let grown = |(role, per_s): &(CounterRole, f64)| {
            Some(if is_level(*role) { *per_s } else { per_s * (second as f64 + more) })
        };
        let values = counters.iter().map(grown).collect();
        host.counters.push(CounterSample { at: Tick(second * 1_000_000_000), source, values });
    }
}

/// Searches for the largest rate on two engines whose response times are those of an M/M/1 queue: sqlite serves 1,000 operations a
/// second, fjall 1,500.
pub fn limits() -> Analysis {
    static MADE: OnceLock<Analysis> = OnceLock::new();
    MADE.get_or_init(search_on_queues).clone()
}

fn search_on_queues() -> Analysis {
    let (mut points, mut trials) = (Vec::new(), Vec::new());
    for (search, (engine, served_per_s)) in (0..).zip([("sqlite", 1_000.0), ("fjall", 1_500.0)]) {
        let objective = Objective::parse("p99<20ms,errors<0.1%").expect("it is one");
        let spec = LimitSpec { objective, hold: Nanos::from_secs(20), rate_max: None, arrivals: ArrivalLaw::Poisson };
        let mut asked = recorded(0, engine, 1, |_| 1).trial;
        (asked.workload.name, asked.workload.params) = ("oltp".into(), Params::default());
        asked.phases.run = Nanos::from_secs(10);
        let mut machine = LimitSearch::new(&spec, asked.phases.run);
        asked.limit = Some(LimitPart { spec, probe: None });
        let mut nth = 0;
        while let LimitStep::Measure { kind, per_s, length } = machine.next_step() {
            nth += 1;
            let trial = probe_trial(&asked, search, nth, kind, per_s, length);
            let point = queue_probe(points.len() as u32 + 1, trial, served_per_s, per_s);
            machine.observe(Observation::from_point(&point).expect("it has a run phase"));
            points.push(point);
        }
        trials.push(asked);
    }
    let mut meta = meta();
    meta.plan.trials = trials;
    analysis::analyse(&RunData { meta, points })
}

/// A probe of a queue with one server. Its response times are those of the exponential distribution, without noise; in an overload they grow
/// from interval to interval.
fn queue_probe(id: u32, trial: Trial, served_per_s: f64, offered_per_s: Option<f64>) -> PointData {
    let (length, step) = (trial.phases.run, trial.phases.interval);
    let spare_per_s = offered_per_s.map_or(served_per_s, |offered| served_per_s - offered);
    let done_per_s = offered_per_s.unwrap_or(served_per_s).min(served_per_s);
    let interval = |nth: u64| {
        let done = (done_per_s * step.as_secs_f64()).round().max(1.0) as u64;
        let mut response = LatencyCounts::default();
        for op in 0..done {
            let share = (op as f64 + 0.5) / done as f64;
            // A queue that gets just as much as it serves grows, too.
            let late_s = (-spare_per_s).max(0.02 * served_per_s) / served_per_s * (nth + 1) as f64 * step.as_secs_f64();
            let wait_s = if spare_per_s > 0.0 { -(1.0 - share).ln() / spare_per_s } else { late_s };
            response.record((wait_s * 1e9) as u64 + 1_000);
        }
        let response = response.take();
        let mut service = Times::default();
        service.record_n((1e9 / served_per_s) as u64, done);
        let kind = KindRow { ok: done, response, service, ..KindRow::empty(OpKind(0)) };
        Interval {
            index: nth as u32,
            start: Tick(nth * step.0),
            length: step,
            kinds: vec![kind],
            generator: Generator::default(),
        }
    };
    let intervals: Vec<Interval> = (0..length.0 / step.0).map(interval).collect();
    let offered = (offered_per_s.unwrap_or(0.0) * length.as_secs_f64()) as u64;
    let unserved = ((-spare_per_s).max(0.0) * length.as_secs_f64()) as u64;
    let end = Tick(length.0);
    let mut point = recorded(id, "", 1, |_| 1);
    point.phases = vec![PhaseData { phase: Phase::Run, start: Tick(0), end, unserved, offered, intervals }];
    (point.trial, point.kinds) = (trial, vec!["transaction".into()]);
    point
}

/// One point at a fixed rate whose response times are longer than its service times.
pub fn open_loop() -> Analysis {
    let mut analysis = with_points(1);
    let point = &mut analysis.points[0];
    if let (Some(summary), Some(series)) = (&mut point.summary, &mut point.series) {
        summary.offered_per_s = Some(7_000.0);
        (summary.late, summary.unserved) = (812, 3);
        series.response = times_of(4e6, &mut Noise(3));
    }
    analysis
}

/// One point until steady: rounds of 30 s, of which the last five of twelve count.
pub fn settled() -> Analysis {
    let sketch = &sketches()[3];
    let mut point = point(1, sketch, 390, 1.0);
    let mut noise = Noise(5);
    let (mut rates, length) = (Vec::new(), Nanos::from_secs(30));
    let Some(series) = &mut point.series else { return quick() };
    for round in series.intervals.iter_mut().filter(|i| i.at_s >= 0.0).collect::<Vec<_>>().chunks_exact_mut(30).take(12)
    {
        let nth = rates.len() as i32;
        let level = 8_000.0 * (1.0 + 1.5 * 0.6f64.powi(nth)) * (1.0 + 0.02 * noise.next());
        round.iter_mut().for_each(|interval| interval.ops_per_s = level * (1.0 + 0.05 * noise.next()));
        rates.push(round.iter().map(|interval| interval.ops_per_s).sum::<f64>() / 30.0);
    }
    series.intervals.retain(|interval| interval.at_s < 360.0);
    series.counted = Span { from_s: 210.0, to_s: 360.0 };
    let window = SteadyWindow::last(&rates);
    point.summary = Some(summary(series));
    if let (Some(summary), Some(window)) = (&mut point.summary, &window) {
        (summary.seconds, summary.ops_per_s, summary.queries_per_s) = (150.0, window.mean, window.mean);
    }
    point.rounds = Some(Rounds { length, rates, window });
    Analysis { points: vec![point], findings: Vec::new(), ..quick() }
}

/// Three points that insert on InnoDB and MyRocks, with figures near those of a table of 2017; the drain paid for the first.
pub fn inserts() -> Analysis {
    let mut analysis = with_points(3);
    let base = InsertCost { data_per_cache: Some(8.0), memory_per_cache: Some(96.0), ..InsertCost::default() };
    let costs = [
        InsertCost {
            rows: 1e6,
            inserts_per_s: Some(38_207.0),
            inserts_per_s_ci95: Some([38_207.0 * 0.99, 38_207.0 * 1.01]),
            block_read_bytes_per_s: Some(42e6),
            written_bytes_per_s: Some(385e6),
            block_read_bytes_per_insert: Some(1_100.0),
            written_bytes_per_insert: Some(10_080.0),
            engine_read_bytes_per_insert: Some(1_100.0),
            engine_written_bytes_per_insert: Some(9_900.0),
            engine_log_bytes_per_insert: Some(500.0),
            written_with_drain_bytes_per_insert: Some(12_000.0),
            pending_bytes: Some(186e6),
            ..base
        },
        InsertCost {
            rows: 1e6,
            inserts_per_s: Some(86_401.0),
            block_read_bytes_per_s: Some(86e6),
            written_bytes_per_s: Some(346e6),
            block_read_bytes_per_insert: Some(1_000.0),
            written_bytes_per_insert: Some(4_000.0),
            engine_written_bytes_per_insert: Some(3_900.0),
            ..base
        },
        InsertCost {
            written_bytes_per_s: Some(80e6),
            written_with_drain_bytes_per_insert: Some(12_000.0),
            ..InsertCost::default()
        },
    ];
    let labels = ["InnoDB l.i1", "MyRocks l.i1", "InnoDB drain"];
    for ((point, cost), name) in analysis.points.iter_mut().zip(costs).zip(labels) {
        (point.workload, point.inserts) = ("insert".to_owned(), Some(cost));
        point.settings.put(setting("engine", SettingValue::Name(name.to_owned())));
        label(point, &["engine"], &[]);
        point.settings.remove("durability");
        point.traits.engine.durability = Some("os".to_owned());
    }
    let too_far = Obstacle::TooFar { factor: 100.0, factor_max: 10.0, scale_min: 0.1 };
    analysis.points[0].projection = Some(Projection { rows: 1e8, factor: 100.0, end: Err(too_far) });
    let pending = PendingShare {
        pending_share: Share(0.2),
        written_bytes_per_insert: Some(10_100.0),
        pending_bytes: None,
        own_pending_bytes: None,
        drain_written_bytes: None,
        drain_left_bytes: None,
        written_with_drain_bytes_per_insert: None,
    };
    analysis.points[0].findings.push(Finding::new(Severity::Note, WriteDebt::AfterInserts(pending)));
    analysis
}

/// A point for each combination of `dimensions`, that inserts for so many seconds into partitions of a million rows; each further
/// place at a third of the rate of the one before.
pub fn inserting(dimensions: &[(&str, &[&str])], seconds: u64) -> Analysis {
    let mut analysis = with_points(dimensions.iter().map(|(_, values)| values.len() as u32).product());
    for (nth, point) in (0..).zip(&mut analysis.points) {
        let mut place = nth;
        for (name, values) in dimensions.iter().rev() {
            let value = values[place % values.len()].to_owned();
            place /= values.len();
            set(point, name, &value);
        }
        point.workload = "insert".into();
        set(point, "clients", "5");
        set(point, "seed", &nth.to_string());
        label(point, &["seed"], &[]);
        point.settings.remove("seed");
        point.group = nth;
        let (mut noise, mut before) = (Noise(nth as u64 + 1), 0);
        let level = 27_000.0 / 3f64.powi(nth as i32);
        let mut interval = |second: u64| {
            let filled = (before % 1_000_000) as f64 / 1e6;
            let rows = (level * (1.2 - 0.5 * filled * nth.min(1) as f64) * (1.0 + 0.05 * noise.next())) as u64;
            let inserted = InsertedRows { at_s: second as f64, length_s: 1.0, before, rows };
            before = inserted.rows_after();
            inserted
        };
        let inserted: Vec<InsertedRows> = (0..seconds).map(&mut interval).collect();
        let rows = inserted.last().map_or(0, InsertedRows::rows_after) as f64;
        let inserts_per_s = Some(rows / seconds as f64);
        point.inserts = Some(InsertCost { rows, inserts_per_s, ..InsertCost::default() });
        let amounts = Amounts { inserted, partition_rows: Some(1_000_000) };
        if let Some(series) = &mut point.series {
            let scale = seconds as f64 / series.counted.to_s;
            for interval in &mut series.intervals {
                (interval.at_s, interval.length_s) = (interval.at_s * scale, interval.length_s * scale);
            }
            series.counted.to_s = seconds as f64;
            series.amounts = amounts;
        }
    }
    analysis
}

/// The panels of a figure that has some.
pub fn panels(figure: &Figure) -> &[Panel] {
    let FigureBody::Panels { panels, .. } = &figure.body else { panic!("`{}` has no panels", figure.id) };
    panels
}

/// Analyses in which something is missing or extreme, each with a name for messages.
pub fn damaged() -> Vec<(&'static str, Analysis)> {
    let mut all = damaged_variants(quick);
    all.extend([
        ("by rounds", settled()),
        ("no rounds", by_rounds(&[])),
        ("few rounds", by_rounds(&[1.0, f64::NAN])),
        ("rounds without operations", by_rounds(&[0.0; 9])),
        ("inserts", inserts()),
        ("hostile", hostile()),
    ]);
    all
}

/// The run of `make` with something missing or extreme in each of its points.
pub fn damaged_variants(make: fn() -> Analysis) -> Vec<(&'static str, Analysis)> {
    let each = |change: fn(&mut PointAnalysis)| {
        let mut analysis = make();
        analysis.points.iter_mut().for_each(change);
        with_verdict(analysis)
    };
    vec![
        ("no points", with_verdict(Analysis { points: vec![], findings: vec![], ..make() })),
        ("one point", with_verdict(Analysis { points: make().points.drain(..1).collect(), ..make() })),
        ("not reached", each(|p| (p.summary, p.series, p.state) = (None, None, PointState::Failed))),
        ("no counters", each(|p| p.series.iter_mut().for_each(|s| s.counters.clear()))),
        ("no operations", each(without_operations)),
        ("no intervals", each(|p| p.series.iter_mut().for_each(|s| s.intervals.clear()))),
        ("not numbers", each(not_numbers)),
        ("invalid", each(|p| p.validity = Validity::Invalid)),
        ("no labels", each(|p| (p.label, p.settings) = (Label::default(), Settings::default()))),
    ]
}

fn by_rounds(rates: &[f64]) -> Analysis {
    let mut analysis = settled();
    let length = Nanos::from_secs(30);
    analysis.points[0].rounds = Some(Rounds { length, rates: rates.into(), window: SteadyWindow::last(rates) });
    analysis
}

fn without_operations(point: &mut PointAnalysis) {
    if let (Some(summary), Some(series)) = (&mut point.summary, &mut point.series) {
        (summary.ops, summary.ops_per_s, summary.ops_per_s_ci95) = (0, 0.0, None);
        summary.queries_per_s = 0.0;
        (summary.response_ns, summary.service_ns, summary.cost) = (None, None, OpCost::default());
        (series.response, series.service) = (Times::default(), Times::default());
        for i in &mut series.intervals {
            (i.ops_per_s, i.p50_ns, i.p95_ns, i.p99_ns, i.max_ns) = (0.0, None, None, None, None);
        }
    }
}

fn not_numbers(point: &mut PointAnalysis) {
    if let (Some(summary), Some(series)) = (&mut point.summary, &mut point.series) {
        (summary.ops_per_s, summary.ops_per_s_ci95) = (f64::NAN, Some([f64::NEG_INFINITY, f64::INFINITY]));
        summary.cost.written_bytes_per_op = Some(f64::INFINITY);
        series.intervals.iter_mut().for_each(|i| (i.ops_per_s, i.at_s) = (f64::NAN, f64::INFINITY));
        series.counters.iter_mut().for_each(|c| c.values.iter_mut().for_each(|v| v.1 = f64::NAN));
    }
}

/// The quick run with every text of it replaced by one that means harm.
pub fn hostile() -> Analysis {
    let mut texts = HOSTILE.iter().cycle().map(|t| (*t).to_owned());
    let mut next = || texts.next().expect("a cycle has no end");
    let mut analysis = quick();
    analysis.meta.environment.iter_mut().for_each(|f| (f.name, f.value) = (next(), next()));
    (analysis.meta.plan.title, analysis.meta.plan.name) = (next(), next());
    (analysis.meta.run_id, analysis.meta.plimsoll_version) = (next(), next());
    for p in &mut analysis.points {
        (p.engine, p.workload, p.error) = (next(), next(), Some(next()));
        p.settings = Settings::default();
        p.settings.put(setting("engine", SettingValue::Name(next())));
        (0..2).for_each(|_| p.settings.put(setting(&next(), SettingValue::Param(Value::Word(next())))));
        p.label = Label { group: p.settings.iter().cloned().collect(), place: Vec::new() };
        p.facts.iter_mut().for_each(|f| (f.name, f.value) = (next(), next()));
        (p.traits.engine.durability, p.traits.engine.version) = (Some(next()), Some(next()));
        p.inserts = Some(InsertCost::default());
        let interruption = PointInterruption { at_ns: None, reason: next() };
        p.findings.push(Finding::new(Severity::Note, interruption).about(Subject::Workload(next())));
    }
    with_verdict(analysis)
}

/// Pairs of repeats: base and new.
pub fn repeat_pairs(values: &[(f64, f64)]) -> Vec<analysis::RepeatPair> {
    values.iter().map(|(base, new)| analysis::RepeatPair { base: *base, new: *new }).collect()
}

/// The ratio of such pairs, of which more is better.
pub fn estimate_of(values: &[(f64, f64)]) -> analysis::RatioEstimate {
    analysis::RatioEstimate::from_pairs(&repeat_pairs(values), analysis::Preference::More).expect("all are above 0")
}

/// A run of postgres with an index, and one without it, which is half as fast.
pub fn compared() -> analysis::compare::RunComparison {
    use analysis::compare::{
        ArmSummary, Condition, ConditionEffect, ConditionKind, CostChange, CostMetric, MetricRatio, PlaceComparison,
        RunComparison,
    };
    use analysis::points::metric::Metric;
    let arm = |run: &str| ArmSummary {
        run: run.into(),
        group: None,
        engines: vec![("postgres".into(), Some("15.18 (Debian 15.18-0+deb12u1)".into()))],
        repeats: 4,
        hourly: model::HourlyCost::default(),
    };
    let metric = |metric, pairs: &[(f64, f64)]| MetricRatio::from_pairs(metric, &repeat_pairs(pairs));
    let metrics = [
        metric(Metric::OpsPerS, &[(1000.0, 500.0), (1010.0, 510.0), (1020.0, 500.0), (1010.0, 505.0)]),
        metric(Metric::P50Ns, &[(5e5, 5e5); 4]),
        metric(Metric::P99Ns, &[(1e6, 2.1e6); 4]),
    ];
    let cost = |metric, pair: (f64, f64)| {
        let mut cost = CostChange::from_pairs(metric, &repeat_pairs(&[pair; 4])).expect("it matters");
        cost.keep_if(true);
        cost
    };
    let (source, counter) = ("postgres".to_owned(), "blocks_read".to_owned());
    let read = CostMetric::Engine { source, counter, unit: model::CounterUnit::Events };
    let place = PlaceComparison {
        label: vec![
            setting("engine", SettingValue::Name("postgres".into())),
            setting("workload", SettingValue::Name("oltp".into())),
        ],
        points: [(1..=4).collect(), (1..=4).collect()],
        pairs: 4,
        is_interleaved: false,
        metrics: metrics.into_iter().flatten().collect(),
        costs: vec![cost(CostMetric::EngineCpu, (100e3, 250e3)), cost(read, (0.0, 3.0))],
    };
    let condition = |kind, base: &[&str], new: &[&str], effect| Condition {
        kind,
        base: base.iter().map(|text| (*text).to_owned()).collect(),
        new: new.iter().map(|text| (*text).to_owned()).collect(),
        effect,
    };
    let index = ConditionKind::Setting("secondary_index".into());
    let unlike = vec![
        condition(ConditionKind::Order, &[], &[], ConditionEffect::Weakens),
        condition(index, &["true"], &["false"], ConditionEffect::Compared),
    ];
    RunComparison {
        base: arm("old"),
        new: arm("new"),
        unlike,
        places: vec![place],
        unmatched: 0,
        kernels: None,
        left_out: 0,
    }
}

/// Two files of 100 MB that went through five codecs.
pub fn compressed() -> Analysis {
    let codecs = [("none", 100, 1.0), ("lz4", 50, 0.5), ("slow", 60, 3.0), ("gzip:1", 40, 4.0), ("gzip:9", 39, 20.0)];
    let mut all = with_points(10);
    for (nth, point) in all.points.iter_mut().enumerate() {
        let (codec, output_mb, seconds) = codecs[nth % 5];
        let file = if nth < 5 { "/data/a.ibd" } else { "/data/b.ibd" };
        let word = |name: &str, role, text: &str| {
            let mut made = setting(name, SettingValue::Param(Value::Word(text.into())));
            made.role = role;
            made
        };
        let (file, codec) = (word("file", Role::Work, file), word("codec", Role::Tuning, codec));
        point.settings.remove("mix");
        point.settings.put(file.clone());
        point.settings.put(codec.clone());
        point.label = Label { group: vec![file, codec], place: Vec::new() };
        let outcome = model::CompressionOutcome {
            input_bytes: Some(100_000_000),
            output_bytes: Some(output_mb * 1_000_000),
            durable_s: Some(seconds),
            own_cpu_s: Some(seconds),
            ..model::CompressionOutcome::default()
        };
        point.compression = analysis::CompressionCost::from_outcome(&outcome);
        point.group = nth;
    }
    all
}

/// A variant of a statement with these durations in seconds, of five repeats.
pub fn variant_arm(name: &str, setup: Option<f64>, statement: f64) -> analysis::points::variants::VariantArm {
    use analysis::numbers::variants::StepCost;
    use model::StepPart;
    let step = |name: &str, part, seconds| StepCost { name: name.into(), part, seconds: Some(seconds) };
    let measured = step("statement", StepPart::Statement, statement);
    analysis::points::variants::VariantArm {
        name: name.into(),
        total_seconds: Some(analysis::math::repeats::MeanOfRepeats {
            mean: statement + setup.unwrap_or(0.0),
            ci95: None,
            repeats: 5,
        }),
        setup_seconds: setup,
        statement_seconds: Some(statement),
        cleanup_seconds: None,
        steps: setup.map(|seconds| step("setup-1", StepPart::Setup, seconds)).into_iter().chain([measured]).collect(),
        ratio: None,
        statement_ratio: None,
        result: None,
        built: None,
        efforts: Default::default(),
        timeouts: 0,
        timeout_seconds: None,
        plan: None,
    }
}
