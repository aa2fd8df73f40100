//! Recorded runs for tests, and what [`analysis::analyse`] makes of them: a quick run ([`quick`]), runs with what a chart asks for
//! ([`with_points`], [`inserting`], [`settled`], [`open_loop`], [`long_runs`] ...), damaged variants of any, and texts meant to do harm.
//!
//! Everything is the same on every call. The noise is a small multiplicative generator: nothing statistical may be concluded from it.

use analysis::evidence::RunLimit;
use analysis::findings::cached::CachedReads;
use analysis::findings::cached::ReadRoute;
use analysis::findings::coordinated_omission::HiddenWaits;
use analysis::findings::corrupt::CorruptData;
use analysis::findings::counter_gap::MissingCounters;
use analysis::findings::cut_short::UnfinishedStep;
use analysis::findings::errors::FailedOps;
use analysis::findings::few_samples::FewSamples;
use analysis::findings::hung::BlockedClients;
use analysis::findings::interrupted::PointInterruption;
use analysis::findings::littles_law::InFlightMismatch;
use analysis::findings::stall::LongStalls;
use analysis::findings::stall::Stalls;
use analysis::findings::swap::MemoryPressure;
use analysis::findings::write_debt::PendingShare;
use analysis::findings::write_debt::WriteDebt;
use analysis::math::units::Share;
use analysis::numbers::projection::Obstacle;
use analysis::points::work::WorkUnit;
use analysis::recorded::engine_names::EngineNames;
use analysis::simulated::{self, SECOND, Simulation};
use analysis::verdict::verdict_with_searches;
use analysis::{
    Analysis, BackgroundSummary, Cost, CounterSeries, Detail, Finding, InsertCost, Label, OpCost, PointAnalysis,
    Projection, Quantiles, Role, Setting, SettingValue, Settings, Severity, Subject, Validity, WriteBreakdown,
};
use model::limit::{ArrivalLaw, LimitPart, LimitSearch, LimitSpec, LimitStep, Objective, Observation, probe_trial};
use model::stacks::merge_stacks;
use model::{
    AccessPattern, Arrivals, Bytes, CounterDef, CounterKind, CounterRole, CounterSample, EndpointInterval, EndpointRow,
    EngineProcess, Event, EventKind, Fact, FailureClass, FileSystem, FileSystemSpec, FoldedStack, Generator, HostClock,
    HostData, HostId, HostPhase, HostRole, Interval, IoWork, KindDef, KindRow, LatencyCounts, Load, LoadShare, Nanos,
    OpClass, OpKind, Pacing, ParamOwner, ParamRole, Params, Percentile, Phase, PhaseData, Plan, PointData, PointHost,
    PointParam, PointState, RowWork, RunData, RunMeta, SourceDef, StackReason, StackSnapshot, StorageLimit, Tick,
    Times, Trial, Until, Value, WorkloadSpec, WritePath,
};
use plot::figure::{Figure, FigureBody, Panel};
use std::collections::BTreeMap;
use std::sync::{Mutex, OnceLock, PoisonError};

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

/// How the rate of a simulated point goes.
#[derive(Clone, Copy)]
enum Course {
    Even,
    /// Almost nothing is done between these seconds.
    Stalled(f64, f64),
    /// The last rate is this part of the first.
    Falling(f64),
    /// So many operations fail for each that is done.
    Failing(f64),
}

/// What a simulated point does.
#[derive(Clone)]
struct Sketch {
    engine: &'static str,
    workload: &'static str,
    clients: u32,
    depth: u32,
    params: Vec<(&'static str, Value)>,
    ops_per_s: f64,
    noise: f64,
    course: Course,
    rows_per_op: f64,
    queries_per_op: f64,
    run_s: u32,
    interval: Nanos,
}

/// Thirteen points as the built-in plan `quick` measures them: four seconds each, after one of warmup. The sixth stalls, the eighth slows
/// down, and in the last operations fail.
pub fn quick() -> Analysis {
    static MADE: OnceLock<Analysis> = OnceLock::new();
    MADE.get_or_init(|| analysed(meta(), record_all(&sketches()))).clone()
}

/// The points of `sketches`, numbered in their order.
fn record_all(sketches: &[Sketch]) -> Vec<PointData> {
    (1..).zip(sketches).map(|(id, sketch)| sketch.record(id)).collect()
}

/// The analysis of a run of `points`.
fn analysed(mut meta: RunMeta, points: Vec<PointData>) -> Analysis {
    if meta.plan.trials.is_empty() {
        meta.plan.trials = points.iter().map(|point| point.trial.clone()).collect();
    }
    analysis::analyse(&RunData { meta, points })
}

fn sketches() -> Vec<Sketch> {
    let word = |text: &str| Value::Word(text.into());
    let file = |mode, depth, ops_per_s, course| Sketch {
        engine: "file",
        workload: "file",
        depth,
        params: vec![("mode", word(mode)), ("block", Value::Bytes(BLOCK))],
        ops_per_s,
        noise: 0.04,
        course,
        ..oltp(1, 0.0)
    };
    let insert = |engine, indexes, ops_per_s, course, noise| Sketch {
        engine,
        workload: "insert",
        params: vec![("indexes", Value::Int(indexes)), ("durability", word("os"))],
        ops_per_s,
        noise,
        course,
        ..oltp(1, 0.0)
    };
    use Course::{Even, Failing, Falling, Stalled};
    vec![
        file("rndrd", 1, 5_900.0, Even),
        file("rndrd", 8, 28_400.0, Even),
        file("rndrd", 32, 41_300.0, Even),
        file("rndwr", 1, 3_150.0, Even),
        file("rndwr", 8, 8_700.0, Even),
        file("rndwr", 32, 10_100.0, Stalled(2.0, 2.5)),
        insert("sqlite", 0, 61_800.0, Even, 0.07),
        insert("sqlite", 3, 4_400.0, Falling(0.55), 0.05),
        insert("fjall", 0, 84_000.0, Even, 0.1),
        insert("fjall", 3, 29_600.0, Even, 0.18),
        oltp(1, 5_200.0),
        oltp(4, 6_650.0),
        Sketch { course: Failing(0.0183), ..oltp(16, 6_480.0) },
    ]
}

const BLOCK: Bytes = Bytes(16_384);

/// Transactions on SQLite, for four seconds.
fn oltp(clients: u32, ops_per_s: f64) -> Sketch {
    let word = |text: &str| Value::Word(text.into());
    Sketch {
        engine: "sqlite",
        workload: "oltp",
        clients,
        depth: 1,
        params: vec![("mix", word("read_write")), ("access", word("zipf:0.9")), ("durability", word("os"))],
        ops_per_s,
        noise: 0.08,
        course: Course::Even,
        rows_per_op: 0.0,
        queries_per_op: 1.0,
        run_s: 4,
        interval: Nanos::from_millis(250),
    }
}

/// A small linear congruential generator (Knuth's MMIX constants): between -1 and 1.
struct Noise(u64);

impl Noise {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }
}

/// When the run phase of a simulated point begins: after a second in which nothing is done, and the warmup.
const RUN_STARTS_S: f64 = 2.0;
const WARMUP_S: f64 = 1.0;

/// The moment that lies so many seconds after the beginning of the run phase.
fn tick(at_s: f64) -> Tick {
    Tick(((RUN_STARTS_S + at_s) * 1e9).round() as u64)
}

/// What is done from `at_s` on, in seconds since the run phase began.
#[derive(Clone, Copy)]
struct Stretch {
    at_s: f64,
    length_s: f64,
    ops_per_s: f64,
}

impl Sketch {
    /// The point as the store reads it.
    fn record(&self, id: u32) -> PointData {
        let mut noise = Noise(u64::from(id) * 7_919);
        let stretches = self.stretches(&mut noise);
        let mut point = self.unmeasured(id);
        for (phase, from_s, to_s) in [(Phase::Warmup, -WARMUP_S, 0.0), (Phase::Run, 0.0, f64::from(self.run_s))] {
            let own = stretches.iter().filter(|stretch| (from_s..to_s).contains(&stretch.at_s));
            let intervals = own.zip(0..).map(|(stretch, index)| self.interval(index, phase, stretch)).collect();
            point.phases.push(PhaseData {
                phase,
                start: tick(from_s),
                end: tick(to_s),
                unserved: 0,
                offered: 0,
                intervals,
            });
        }
        if matches!(self.course, Course::Failing(_)) {
            point.events.push(Event::new(tick(0.1), EventKind::Failure, "`database is locked`"));
        }
        let times = reading_times(&stretches.iter().map(|own| (own.at_s, own.length_s)).collect::<Vec<_>>());
        for (name, subject, counters) in self.counters(&stretches, &mut noise) {
            let readings: Vec<Vec<f64>> =
                counters.iter().map(|(_, rates)| grown_readings(&stretches, &times, rates)).collect();
            let defined = counters.iter().map(|(role, _)| counter_def(*role, CounterKind::Counter)).collect();
            add_readings(
                &mut point,
                SourceDef { name: name.into(), subject: subject.into(), counters: defined },
                &times,
                &readings,
            );
        }
        point
    }

    /// The point before anything is measured.
    fn unmeasured(&self, id: u32) -> PointData {
        let mut point = Simulation::counts(&[]).recorded;
        (point.id, point.phases) = (id, Vec::new());
        let of_engine = |name: &str| name == "durability";
        let params = |engine: bool| -> Params {
            let own = self.params.iter().filter(|(name, _)| of_engine(name) == engine);
            Params(own.map(|(name, value)| ((*name).to_owned(), value.clone())).collect())
        };
        let trial = &mut point.trial;
        (trial.target.engine, trial.target.params) = (self.engine.into(), params(true));
        trial.workload = WorkloadSpec { name: self.workload.into(), params: params(false) };
        trial.load = Load { clients: self.clients, depth: self.depth, pacing: Pacing::Closed { think: Nanos(0) } };
        trial.phases.warmup = Nanos::from_secs(1);
        trial.phases.run = Nanos::from_secs(u64::from(self.run_s));
        trial.phases.interval = self.interval;
        let declared = self.params.iter().map(|(name, _)| PointParam {
            name: (*name).to_owned(),
            owner: if of_engine(name) { ParamOwner::Engine } else { ParamOwner::Workload },
            role: param_role(name),
            used: true,
        });
        point.params = declared.collect();
        let engine = &mut point.traits.engine;
        (engine.durability, engine.version) = (Some("os".into()), Some("3.50.4".into()));
        engine.process = if self.engine == "file" { EngineProcess::None } else { EngineProcess::Embedded };
        engine.writes = WritePath::Append;
        let word = |wanted: &str| match self.params.iter().find(|(name, _)| *name == wanted) {
            Some((_, Value::Word(word))) => Some(word.as_str()),
            _ => None,
        };
        point.traits.work.io = word("mode").map(|mode| io_work(mode, BLOCK));
        point.facts = vec![Fact::new("engine.version", "3.50.4"), Fact::new("durability", "os")];
        let (name, class) = match (self.workload, word("mode")) {
            ("insert", _) => ("insert", OpClass::Write),
            (_, Some("rndrd")) => ("read", OpClass::Read),
            (_, Some(_)) => ("write", OpClass::Write),
            _ => ("transaction", OpClass::ReadWrite),
        };
        let (queries_per_op, rows_per_op) = (self.queries_per_op, self.rows_per_op);
        point.kinds = vec![KindDef { queries_per_op, rows_per_op, ..KindDef::new(name, class) }];
        point
    }

    /// The intervals of warmup and run, with their rates.
    fn stretches(&self, noise: &mut Noise) -> Vec<Stretch> {
        let length_s = self.interval.as_secs_f64();
        let count = ((WARMUP_S + f64::from(self.run_s)) / length_s).round() as u32;
        let stretch = |nth: u32| {
            let at_s = f64::from(nth) * length_s - WARMUP_S;
            let warming = if at_s < 0.0 { 0.75 + at_s.mul_add(0.2, 0.2) } else { 1.0 };
            let usual = self.ops_per_s * warming * (1.0 + self.noise * noise.next());
            let ops_per_s = match self.course {
                Course::Stalled(from_s, to_s) if (from_s..to_s).contains(&at_s) => 40.0,
                Course::Falling(last) => usual * (1.0 - (1.0 - last) * at_s.max(0.0) / f64::from(self.run_s)),
                _ => usual,
            };
            // So that the noise of a rate does not follow that of the one before.
            (0..4).for_each(|_| _ = noise.next());
            Stretch { at_s, length_s, ops_per_s }
        };
        (0..count).map(stretch).collect()
    }

    fn interval(&self, index: u32, phase: Phase, stretch: &Stretch) -> Interval {
        let ok = (stretch.ops_per_s * stretch.length_s).round() as u64;
        // All clients are busy all the time.
        let slots = f64::from(self.clients * self.depth);
        let response = spread_times(ok, (1e9 * slots / stretch.ops_per_s).min(5e8));
        let mut kind = KindRow { ok, response: response.clone(), service: response, ..KindRow::empty(OpKind(0)) };
        if self.workload == "file" {
            kind.bytes = ok * BLOCK.0;
        }
        if let (Course::Failing(share), Phase::Run) = (self.course, phase) {
            kind.failed = (ok as f64 * share) as u64;
        }
        let (start, length) = (tick(stretch.at_s), self.interval);
        Interval { index, start, length, kinds: vec![kind], generator: Generator::default() }
    }

    /// The sources of counters, and by how much a second each counter grows in each of `stretches`.
    fn counters(&self, stretches: &[Stretch], noise: &mut Noise) -> Vec<(&'static str, &'static str, Vec<Growing>)> {
        use CounterRole as R;
        let mut noisy = |role, per_s: f64, width: f64| -> Growing {
            (role, stretches.iter().map(|_| per_s * (1.0 + width * noise.next())).collect())
        };
        let by_op =
            |role, per_op: f64| -> Growing { (role, stretches.iter().map(|one| one.ops_per_s * per_op).collect()) };
        const CORES_NS: f64 = 2e9;
        let cpu = [
            (R::MachineCpuUser, 0.38),
            (R::MachineCpuSystem, 0.21),
            (R::MachineCpuSoftirq, 0.02),
            (R::MachineCpuIowait, 0.12),
            (R::MachineCpuSteal, 0.01),
            (R::MachineCpuIdle, 0.26),
        ];
        let mut cpu: Vec<Growing> = cpu.map(|(role, share)| noisy(role, share * CORES_NS, 0.15)).into();
        cpu.push(noisy(R::PlimsollCpu, 0.55 * CORES_NS, 0.01));
        let reads = self.params.contains(&("mode", Value::Word("rndrd".into())));
        let (read, written) = if reads { (1.0, 0.02) } else { (0.02, 1.0) };
        let block = BLOCK.0 as f64;
        let disk = vec![
            by_op(R::DeviceReadOps, read),
            by_op(R::DeviceWriteOps, 0.3 * written),
            noisy(R::DeviceFlushOps, 20.0 * written, 0.0),
            by_op(R::DeviceReadBytes, read * block),
            by_op(R::DeviceWriteBytes, 0.3 * written * block),
            noisy(R::DeviceQueue, 1e9 * f64::from(self.depth), 0.05),
        ];
        let process = vec![
            noisy(R::EngineCpuUser, 0.8e9, 0.01),
            noisy(R::EngineCpuSystem, 0.3e9, 0.01),
            noisy(R::EngineContextSwitches, 8_000.0, 0.05),
            by_op(R::ProcessReadBytes, if reads { block } else { 0.0 }),
            noisy(R::ProcessWriteBytes, 12e6, 0.01),
        ];
        vec![("cpu", "machine", cpu), ("disk", "vda", disk), ("process", "", process)]
    }
}

/// A counter, and by how much it grows per second in each interval.
type Growing = (CounterRole, Vec<f64>);

/// So many times around `mean_ns`: a log-normal body, and one in four hundred that takes ten times as long.
fn spread_times(count: u64, mean_ns: f64) -> Times {
    const PARTS: u64 = 200;
    let body_ns = 0.9 * mean_ns.min(5e8);
    let slow = count / 400;
    let body = count - slow;
    let of_body = (0..PARTS).map(|part| {
        let share = (part as f64 + 0.5) / PARTS as f64;
        // Tukey's lambda, which is near the normal distribution.
        let deviation = 4.91 * (share.powf(0.14) - (1.0 - share).powf(0.14));
        let n = body * (part + 1) / PARTS - body * part / PARTS;
        ((body_ns * (0.3 * deviation).exp()) as u64 + 1, n)
    });
    let rising: Vec<(u64, u64)> =
        of_body.chain([((10.0 * body_ns) as u64 + 1, slow)]).filter(|(_, n)| *n > 0).collect();
    let sum_ns = rising.iter().map(|(ns, n)| ns * n).sum();
    Times::from_recorded(rising.iter().copied(), sum_ns, rising.last().map_or(0, |(ns, _)| *ns))
}

/// A source of `point` that was read at `times`, in seconds since the run phase began; `readings` has the values of each counter.
fn add_readings(point: &mut PointData, source: SourceDef, times: &[f64], readings: &[Vec<f64>]) {
    let number = point.sources.len() as u16;
    point.sources.push(source);
    for (nth, at_s) in times.iter().enumerate() {
        let values = readings.iter().map(|counter| Some(counter[nth])).collect();
        point.counters.push(CounterSample { at: tick(*at_s), source: number, values });
    }
}

/// The quick run, whose insert points insert ten rows by an operation and whose transactions have twenty statements: a survey of a machine.
pub fn surveyed() -> Analysis {
    static MADE: OnceLock<Analysis> = OnceLock::new();
    MADE.get_or_init(|| analysed(meta(), surveyed_points())).clone()
}

fn surveyed_points() -> Vec<PointData> {
    let mut sketches = sketches();
    // The last failed operations.
    sketches.truncate(12);
    sketches[6..10].iter_mut().for_each(|sketch| sketch.rows_per_op = 10.0);
    sketches[10..].iter_mut().for_each(|sketch| sketch.queries_per_op = 20.0);
    record_all(&sketches)
}

/// The same on a machine of which the hypervisor took such shares, in turn: all points are invalid.
pub fn spoilt(shares: &[f64]) -> Analysis {
    let mut points = surveyed_points();
    for (point, share) in points.iter_mut().zip(shares.iter().cycle()) {
        point.counters.edit(|samples| {
            for sample in samples.iter_mut().filter(|sample| sample.source == 0) {
                // Time in user mode, in the kernel, of interrupts and waiting for the disk; stolen; idle.
                let used: f64 = sample.values[..4].iter().flatten().sum();
                (sample.values[4], sample.values[5]) = (Some(used * share / (1.0 - share)), Some(0.0));
            }
        });
    }
    analysed(meta(), points)
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

fn io_work(mode: &str, block: Bytes) -> IoWork {
    let pattern = if mode.starts_with("seq") { AccessPattern::Sequential } else { AccessPattern::Random };
    IoWork { block, pattern, read_share: if mode.ends_with("rd") { 1.0 } else { 0.0 }, syncs: false }
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
    SettingValue::Param(param_value(text))
}

fn param_value(text: &str) -> Value {
    text.parse().map_or_else(|_| Value::Word(text.to_owned()), Value::Int)
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

/// How long after the moment of its grid a counter is read.
pub const READ_AFTER_S: f64 = 0.000_4;
/// How long before the run phase the last reading of the grid of the warmup comes.
const READ_BEFORE_RUN_S: f64 = 0.006;
/// How long after its last reading the sampler reads once more, because it stops.
const STOPPED_AFTER_S: f64 = 0.01;

/// When counters are read in a run with these intervals, of which each has its beginning and its length: on the grid of the warmup, once
/// more as the run phase begins, on the grid of the run from then on, and once more at the stop.
fn reading_times(intervals: &[(f64, f64)]) -> Vec<f64> {
    let ends_s = intervals.iter().map(|(at_s, length_s)| at_s + length_s);
    let grid: Vec<f64> = intervals.first().map(|(at_s, _)| *at_s).into_iter().chain(ends_s).collect();
    let warmup = grid.iter().filter(|at_s| **at_s <= 0.0).map(|at_s| at_s - READ_BEFORE_RUN_S);
    let run = grid.iter().filter(|at_s| **at_s >= 0.0).map(|at_s| at_s + READ_AFTER_S);
    let stop = grid.last().map(|at_s| at_s + READ_AFTER_S + STOPPED_AFTER_S);
    warmup.chain(run).chain(stop).collect()
}

/// The readings at `times` of a counter that grows by `rates` per second, one rate for each of `stretches`.
fn grown_readings(stretches: &[Stretch], times: &[f64], rates: &[f64]) -> Vec<f64> {
    let mut grown = 0.0;
    let later = times.windows(2).map(|pair| {
        let middle_s = f64::midpoint(pair[0], pair[1]);
        let nth = stretches.partition_point(|stretch| stretch.at_s + stretch.length_s <= middle_s);
        grown += rates[nth.min(rates.len() - 1)] * (pair[1] - pair[0]);
        grown
    });
    std::iter::once(0.0).chain(later).collect()
}

fn counter_def(role: CounterRole, kind: CounterKind) -> CounterDef {
    let known = [
        (CounterRole::MachineCpuUser, "user_ns", "ns"),
        (CounterRole::MachineCpuSystem, "system_ns", "ns"),
        (CounterRole::MachineCpuSoftirq, "softirq_ns", "ns"),
        (CounterRole::MachineCpuIowait, "iowait_ns", "ns"),
        (CounterRole::MachineCpuSteal, "steal_ns", "ns"),
        (CounterRole::MachineCpuIdle, "idle_ns", "ns"),
        (CounterRole::PlimsollCpu, "self_ns", "ns"),
        (CounterRole::DeviceReadOps, "read_ops", "ops"),
        (CounterRole::DeviceWriteOps, "write_ops", "ops"),
        (CounterRole::DeviceFlushOps, "flush_ops", "ops"),
        (CounterRole::DeviceReadBytes, "read_bytes", "bytes"),
        (CounterRole::DeviceWriteBytes, "write_bytes", "bytes"),
        (CounterRole::DeviceQueue, "queue_ns", "ns"),
        (CounterRole::EngineCpuUser, "cpu_user_ns", "ns"),
        (CounterRole::EngineCpuSystem, "cpu_system_ns", "ns"),
        (CounterRole::EngineContextSwitches, "context_switches", "events"),
        (CounterRole::ProcessReadBytes, "read_bytes", "bytes"),
        (CounterRole::ProcessWriteBytes, "write_bytes", "bytes"),
        (CounterRole::CpuFrequency, "mhz", "MHz"),
    ];
    let (_, name, unit) = known.into_iter().find(|(known, ..)| *known == role).unwrap_or((role, "further", "count"));
    CounterDef { name: name.into(), unit: unit.into(), kind, help: String::new(), role: Some(role), in_pages: false }
}

/// The quick run on a machine at this price per hour and with so many watts.
pub fn priced(price: Option<f64>, watts: Option<f64>) -> Analysis {
    let mut meta = meta();
    meta.state_cost(model::HourlyCost { price, watts });
    analysed(meta, record_all(&sketches()))
}

/// A run of the kernel `sort`, a point for each of these numbers of clients, at nominal 2 GHz.
pub fn with_kernels(clients: &[u32]) -> Analysis {
    let sketches = sketches().into_iter().zip(clients).map(|(sketch, clients)| Sketch {
        engine: "cpu",
        workload: "cpu",
        clients: *clients,
        depth: 1,
        params: Vec::new(),
        course: Course::Even,
        ..sketch
    });
    let mut points = record_all(&sketches.collect::<Vec<_>>());
    for point in &mut points {
        point.traits.work.kernel = Some("sort".into());
        let counters = vec![counter_def(CounterRole::CpuFrequency, CounterKind::Gauge)];
        let times: Vec<f64> = (-1..=4).map(f64::from).collect();
        let source = SourceDef { name: "frequency".into(), subject: String::new(), counters };
        add_readings(point, source, &times, &[vec![2_000.0; times.len()]]);
    }
    let mut meta = meta();
    meta.machine.frequency_is_measured = Some(false);
    analysed(meta, points)
}

/// `n` points of one group with a second of warmup and 119 of the run phase each, in intervals of a second.
pub fn with_points(n: u32) -> Analysis {
    with_points_of(n, 120)
}

/// As [`with_points`], with so many intervals each.
pub fn with_points_of(n: u32, intervals: u32) -> Analysis {
    static MADE: Mutex<BTreeMap<(u32, u32), Analysis>> = Mutex::new(BTreeMap::new());
    let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
    made.entry((n, intervals)).or_insert_with(|| analysed(meta(), record_all(&minutes(n, intervals)))).clone()
}

/// Transactions by 1, 2, 3 ... `n` clients, in so many intervals of a second.
fn minutes(n: u32, intervals: u32) -> Vec<Sketch> {
    (1..=n).map(|clients| minute_of(clients, 6_650.0, intervals)).collect()
}

fn minute_of(clients: u32, ops_per_s: f64, intervals: u32) -> Sketch {
    Sketch { run_s: intervals - 1, interval: Nanos::from_secs(1), ..oltp(clients, ops_per_s) }
}

/// A sweep over clients by the Universal Scalability Law with the terms 0.02 and 0.0005, its peak at 44 clients and 2 % of noise.
pub fn scaled() -> Analysis {
    static MADE: OnceLock<Analysis> = OnceLock::new();
    let law = |n: f64| 700.0 * n / (1.0 + 0.02 * (n - 1.0) + 5e-4 * n * (n - 1.0));
    let make = || {
        let mut noise = Noise(11);
        let sketches =
            (0u32..7).map(|nth| minute_of(1 << nth, law(f64::from(1 << nth)) * (1.0 + 0.035 * noise.next()), 60));
        analysed(meta(), record_all(&sketches.collect::<Vec<_>>()))
    };
    MADE.get_or_init(make).clone()
}

/// One, two and four instances of one engine with one client each, and the verdict.
pub fn several_instances() -> Analysis {
    let all = [1u32, 2, 4];
    let rate = |nth: usize| 900.0 * f64::from(all[nth]) / (1.0 + 0.1 * nth as f64);
    let sketches: Vec<Sketch> = (0..3).map(|nth| minute_of(1, rate(nth), 120)).collect();
    let mut points = record_all(&sketches);
    for (point, instances) in points.iter_mut().zip(all) {
        point.trial.target.instances = instances;
        let done: u64 = point.phases[1].intervals.iter().map(|interval| interval.kinds[0].ok).sum();
        // The first does a little more than the others.
        let shares: Vec<u64> = (0..u64::from(instances)).map(|own| 3_000 - 40 * own).collect();
        let all: u64 = shares.iter().sum();
        let ops = shares.iter().map(|share| done * share / all).collect();
        point.traits.outcome.instance_ops = if instances > 1 { ops } else { Vec::new() };
    }
    analysed(meta(), points)
}

/// `analysis` with the verdict that its points give.
pub fn with_verdict(analysis: Analysis) -> Analysis {
    let Analysis { points, searches, meta, .. } = &analysis;
    let verdict = verdict_with_searches(points, searches, &meta.plan, &EngineNames::default());
    Analysis { verdict, ..analysis }
}

/// `analysis` with a further counter or gauge in the charts of each point, which showed `reading` at a moment, in seconds since the run
/// phase began. It is read when a real run reads it: not at the ends of the intervals, and twice within a few milliseconds as the run
/// phase begins.
pub fn with_counter(
    mut analysis: Analysis,
    (source, role, kind, unit): (&str, CounterRole, CounterKind, &str),
    reading: impl Fn(f64) -> f64,
) -> Analysis {
    for series in analysis.points.iter_mut().filter_map(|point| point.series.as_mut()) {
        let intervals: Vec<(f64, f64)> = series.intervals.iter().map(|own| (own.at_s, own.length_s)).collect();
        let readings: Vec<(f64, f64)> =
            reading_times(&intervals).into_iter().map(|at_s| (at_s, reading(at_s))).collect();
        let counter = CounterDef { name: "further".into(), unit: unit.into(), ..counter_def(role, kind) };
        let source = SourceDef { name: source.into(), subject: String::new(), counters: Vec::new() };
        let interval_s = intervals.first().map_or(1.0, |(_, length_s)| *length_s);
        series.counters.push(CounterSeries::from_readings(&source, &counter, &readings, interval_s));
    }
    analysis
}

/// The run of [`quick`] on an engine with processes of its own, whose eight threads mostly sync, and on clients that wait for it.
pub fn waiting() -> Analysis {
    use model::{ThreadOf, ThreadState};
    // On a CPU, in its queue, in a read, a sync or a lock, waiting for a client, and the rest.
    let of_engine = [0.25, 0.05, 0.1, 0.4, 0.1, 0.1, 0.0];
    let of_clients = [0.1, 0.0, 0.0, 0.0, 0.0, 0.9, 0.0];
    let mut points = record_all(&sketches());
    for point in &mut points {
        let length_s = point.trial.phases.interval.as_secs_f64();
        let intervals: Vec<(f64, f64)> = point
            .phases
            .iter()
            .flat_map(|phase| &phase.intervals)
            .map(|own| (own.start.0 as f64 / 1e9 - RUN_STARTS_S, length_s))
            .collect();
        let times = reading_times(&intervals);
        point.traits.engine.process = EngineProcess::Own;
        let states = [(ThreadOf::Engine, of_engine), (ThreadOf::Client, of_clients)];
        let states = states.into_iter().flat_map(|(of, shares)| {
            let own = ThreadState::ALL.into_iter().zip(shares);
            own.map(move |(state, share)| (CounterRole::ThreadTime(of, state), 8e9 * share))
        });
        let others = [(CounterRole::RowLockTime, 2.31e9), (CounterRole::ThreadWatchCpu, 0.003e9)];
        for (role, per_s) in states.chain(others) {
            let counters = vec![counter_def(role, CounterKind::Counter)];
            let source = SourceDef { name: "threads".into(), subject: String::new(), counters };
            let readings = times.iter().map(|at_s| per_s * (at_s + RUN_STARTS_S)).collect();
            add_readings(point, source, &times, &[readings]);
        }
    }
    analysed(meta(), points)
}

/// The quick run on an engine with processes of its own, which uses 0.4 cores and its clients 0.2, on a machine on which others work.
pub fn shared_cpus() -> Analysis {
    let mut points = record_all(&sketches());
    for point in &mut points {
        point.traits.engine.process = EngineProcess::Own;
        let sources = point.sources.clone();
        point.counters.edit(|samples| {
            for sample in samples {
                let seconds = sample.at.0 as f64 / 1e9;
                let counters = &sources[usize::from(sample.source)].counters;
                for (counter, value) in counters.iter().zip(&mut sample.values) {
                    let per_s = match counter.role {
                        Some(CounterRole::PlimsollCpu) => 0.2e9,
                        Some(CounterRole::EngineCpuUser) => 0.3e9,
                        Some(CounterRole::EngineCpuSystem) => 0.1e9,
                        _ => continue,
                    };
                    *value = Some(per_s * seconds);
                }
            }
        });
    }
    analysed(meta(), points)
}

/// Clients that nearly kept 500 inserts a second during a run, five rows each.
pub fn background_500() -> BackgroundSummary {
    let mut recorded = Times::default();
    // The 99th percentile is that of 12 ms.
    for (ms, count) in [(2, 9_400), (8, 450), (12, 100), (30, 45), (41, 5)] {
        recorded.record_n(ms * 1_000_000, count);
    }
    let times = Quantiles::from_times(&recorded);
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
        response_ns: times,
        service_ns: times,
        response: Times::default(),
        service: Times::default(),
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
        slower: None,
    })
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
        plan: Plan::new("quick", "The disk and the embedded engines in a minute"),
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
    let params = [("mode", Value::Word("rndwr".into())), ("block", Value::Bytes(BLOCK))];
    let mut point = Simulation::counts(&vec![0; seconds as usize]).recorded;
    (point.id, point.trial.target.engine) = (id, target.into());
    point.trial.workload = WorkloadSpec { name: "file".into(), params: simulated::params(&params) };
    point.trial.load.clients = 8;
    point.trial.phases.grace = Nanos(SECOND);
    (point.facts, point.kinds) = (Vec::new(), vec![simulated::kind("write")]);
    point.phases[0].intervals = intervals;
    point
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
    (point.trial, point.kinds) = (trial, vec![simulated::kind("transaction")]);
    point
}

/// One point at a fixed rate whose response times are longer than its service times.
pub fn open_loop() -> Analysis {
    let mut points = record_all(&[minute_of(2, 6_650.0, 120)]);
    let point = &mut points[0];
    point.trial.load.pacing = Pacing::Open { arrivals: Arrivals::Constant { per_s: 7_000.0 } };
    let run = &mut point.phases[1];
    (run.offered, run.unserved) = (7_000 * 119, 3);
    for interval in &mut run.intervals {
        let kind = &mut interval.kinds[0];
        kind.response = spread_times(kind.ok, 4e6);
        kind.late = if interval.index < 98 { 7 } else { 6 };
    }
    analysed(meta(), points)
}

/// One point until steady: rounds of 30 s, of which the last five of twelve count.
pub fn settled() -> Analysis {
    by_rounds(360)
}

/// So many seconds of a point that goes by rounds of 30 s until it is steady.
fn by_rounds(run_s: u32) -> Analysis {
    let mut noise = Noise(5);
    let sketch = Sketch { run_s, interval: Nanos::from_secs(1), ..sketches()[3].clone() };
    let mut point = sketch.record(1);
    point.trial.phases.until = Until::Steady { round: Nanos::from_secs(30), precondition: 1 };
    let mut level = 0.0;
    for (nth, interval) in (0..).zip(&mut point.phases[1].intervals) {
        if nth % 30 == 0 {
            level = 8_000.0 * (1.0 + 1.5 * 0.7f64.powi(nth / 30)) * (1.0 + 0.02 * noise.next());
        }
        let ok = (level * (1.0 + 0.05 * noise.next())) as u64;
        let times = spread_times(ok, 1e9 / ok as f64);
        let (response, service, bytes) = (times.clone(), times, ok * BLOCK.0);
        interval.kinds = vec![KindRow { ok, bytes, response, service, ..KindRow::empty(OpKind(0)) }];
    }
    analysed(meta(), vec![point])
}

/// Three points that insert on InnoDB and MyRocks, with figures near those of a table of 2017; the drain paid for the first.
pub fn inserts() -> Analysis {
    let mut analysis = with_points(3);
    let base = InsertCost { data_per_cache: Some(8.0), memory_per_cache: Some(96.0), ..InsertCost::default() };
    let by_engine = |written| WriteBreakdown { written: Some(written), ..WriteBreakdown::default() };
    let cost_of_row = |read, written, by_engine| Cost {
        read_bytes: Some(read),
        written_bytes: Some(written),
        by_engine,
        ..Cost::default()
    };
    let costs = [
        InsertCost {
            rows: 1e6,
            inserts_per_s: Some(38_207.0),
            inserts_per_s_ci95: Some([38_207.0 * 0.99, 38_207.0 * 1.01]),
            block_read_bytes_per_s: Some(42e6),
            written_bytes_per_s: Some(385e6),
            per_row: cost_of_row(
                1_100.0,
                10_080.0,
                WriteBreakdown { read: Some(1_100.0), log: Some(500.0), ..by_engine(9_900.0) },
            ),
            written_with_drain_bytes_per_insert: Some(12_000.0),
            pending_bytes: Some(186e6),
            ..base
        },
        InsertCost {
            rows: 1e6,
            inserts_per_s: Some(86_401.0),
            block_read_bytes_per_s: Some(86e6),
            written_bytes_per_s: Some(346e6),
            per_row: cost_of_row(1_000.0, 4_000.0, by_engine(3_900.0)),
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
    let count: usize = dimensions.iter().map(|(_, values)| values.len()).product();
    let mut points = Vec::new();
    for nth in 0..count {
        let mut place = nth;
        let sketch = Sketch {
            workload: "insert",
            params: vec![("durability", Value::Word("os".into()))],
            rows_per_op: 1.0,
            run_s: seconds as u32,
            ..minute_of(5, 27_000.0 / 3f64.powi(nth as i32), 2)
        };
        let mut point = sketch.record(nth as u32 + 1);
        for (name, values) in dimensions.iter().rev() {
            let value = values[place % values.len()];
            place /= values.len();
            plan_insert(&mut point, name, value);
        }
        // Inserts have no warmup: the rows would be there already.
        point.phases.remove(0);
        point.traits.work.rows = Some(RowWork { partition_rows: Some(1_000_000), ..RowWork::default() });
        let mut noise = Noise(nth as u64 + 1);
        let mut before = 0;
        for interval in &mut point.phases[0].intervals {
            // The first stays level; the others slow down as a partition fills.
            let filled = (before % 1_000_000) as f64 / 1e6 * nth.min(1) as f64;
            let ok = (sketch.ops_per_s * (1.2 - 0.5 * filled) * (1.0 + 0.05 * noise.next())) as u64;
            let times = spread_times(ok, 5e9 / ok as f64);
            before += ok;
            interval.kinds = vec![KindRow { ok, response: times.clone(), service: times, ..KindRow::empty(OpKind(0)) }];
        }
        points.push(point);
    }
    analysed(meta(), points)
}

/// Sets `name` in the trial of a point that inserts.
fn plan_insert(point: &mut PointData, name: &str, value: &str) {
    let target = &mut point.trial.target;
    match name {
        "engine" => target.engine = value.into(),
        "fs" => {
            let kind = if value == "xfs" { FileSystem::Xfs } else { FileSystem::Ext4 { barrier: true } };
            target.fs = Some(FileSystemSpec { kind, size: None });
        }
        "storage_limit" => {
            let iops = value.strip_prefix("iops=").map(|iops| iops.parse().expect("a number"));
            target.limits.storage = StorageLimit { read_iops: iops, write_iops: iops, ..StorageLimit::default() };
        }
        _ => {
            let of_engine = matches!(name, "durability" | "cache");
            let own = if of_engine { &mut target.params } else { &mut point.trial.workload.params };
            own.0.insert(name.into(), param_value(value));
            let owner = if of_engine { ParamOwner::Engine } else { ParamOwner::Workload };
            point.params.retain(|param| param.name != name);
            point.params.push(PointParam { name: name.into(), owner, role: param_role(name), used: true });
        }
    }
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
        ("no round", by_rounds(10)),
        ("few rounds", by_rounds(70)),
        ("inserts", inserts()),
        ("hostile", hostile()),
    ]);
    all
}

/// The run of `make` with something missing or extreme in each of its points.
pub fn damaged_variants(make: fn() -> Analysis) -> Vec<(&'static str, Analysis)> {
    let whole = make();
    let each = |change: fn(&mut PointAnalysis)| {
        let mut analysis = whole.clone();
        analysis.points.iter_mut().for_each(change);
        with_verdict(analysis)
    };
    vec![
        ("no points", with_verdict(Analysis { points: vec![], findings: vec![], ..whole.clone() })),
        ("one point", with_verdict(Analysis { points: whole.points[..1].to_vec(), ..whole.clone() })),
        ("not reached", each(|p| (p.summary, p.series, p.state) = (None, None, PointState::Failed))),
        ("no counters", each(|p| p.series.iter_mut().for_each(|s| s.counters.clear()))),
        ("no operations", each(without_operations)),
        ("no intervals", each(|p| p.series.iter_mut().for_each(|s| s.intervals.clear()))),
        ("not numbers", each(not_numbers)),
        ("invalid", each(|p| p.validity = Validity::Invalid)),
        ("no labels", each(|p| (p.label, p.settings) = (Label::default(), Settings::default()))),
    ]
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
        summary.cost.per_op.written_bytes = Some(f64::INFINITY);
        series.intervals.iter_mut().for_each(|i| (i.ops_per_s, i.at_s) = (f64::NAN, f64::INFINITY));
        series.counters.iter_mut().for_each(|c| c.values.iter_mut().for_each(|v| v.1 = f64::NAN));
    }
}

/// The quick run, interrupted, with every text of its file replaced by one that means harm.
pub fn hostile() -> Analysis {
    let mut texts = HOSTILE.iter().cycle().map(|t| (*t).to_owned());
    let mut next = || texts.next().expect("a cycle has no end");
    let mut meta = meta();
    meta.environment.iter_mut().for_each(|f| (f.name, f.value) = (next(), next()));
    (meta.plan.title, meta.plan.name) = (next(), next());
    (meta.run_id, meta.plimsoll_version) = (next(), next());
    let mut points = record_all(&sketches());
    for p in &mut points {
        (p.state, p.error) = (PointState::Partial, Some(next()));
        (p.trial.target.engine, p.trial.workload.name) = (next(), next());
        p.trial.target.params = Params::default();
        p.trial.workload.params = Params((0..2).map(|_| (next(), Value::Word(next()))).collect());
        let declare = |name: &String| PointParam {
            name: name.clone(),
            owner: ParamOwner::Workload,
            role: ParamRole::Tuning,
            used: true,
        };
        p.params = p.trial.workload.params.0.keys().map(declare).collect();
        p.facts.iter_mut().for_each(|f| (f.name, f.value) = (next(), next()));
        (p.traits.engine.durability, p.traits.engine.version) = (Some(next()), Some(next()));
        (p.kinds[0].name, p.kinds[0].rows_per_op) = (next(), 1.0);
        p.sources.iter_mut().for_each(|source| (source.name, source.subject) = (next(), next()));
        p.sources.iter_mut().flat_map(|source| &mut source.counters).for_each(|c| (c.name, c.unit) = (next(), next()));
        p.events.push(Event::new(tick(0.5), EventKind::Failure, next()));
    }
    analysed(meta, points)
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
        metric(Metric::Response(Percentile::P50), &[(5e5, 5e5); 4]),
        metric(Metric::Response(Percentile::P99), &[(1e6, 2.1e6); 4]),
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
        unit: WorkUnit::Operations,
        pairs: 4,
        is_interleaved: false,
        metrics: metrics.into_iter().flatten().collect(),
        costs: vec![cost(CostMetric::EngineCpu, (100e3, 250e3)), cost(read, (0.0, 3.0))],
        kinds: None,
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
        unpaired_kinds: Vec::new(),
        usable: [4, 4],
        unmatched: 0,
        kernels: None,
        watches: None,
        left_out: 0,
        lost: Vec::new(),
        failed_replays: [None, None],
    }
}

/// Two files of 100 MB that went through five codecs.
pub fn compressed() -> Analysis {
    let codecs = [("none", 100, 1.0), ("lz4", 50, 0.5), ("slow", 60, 3.0), ("gzip:1", 40, 4.0), ("gzip:9", 39, 20.0)];
    let files = ["/data/a.ibd", "/data/b.ibd"];
    let mut points = Vec::new();
    for (file, (codec, output_mb, seconds)) in files.into_iter().flat_map(|file| codecs.map(|codec| (file, codec))) {
        let sketch = Sketch {
            engine: "file",
            workload: "compress",
            params: vec![("file", Value::Word(file.into())), ("codec", Value::Word(codec.into()))],
            ..minute_of(1, 100.0, 21)
        };
        let mut point = sketch.record(points.len() as u32 + 1);
        point.params[0].role = ParamRole::Mode;
        // A file that is one stream is one operation.
        point.phases.remove(0);
        for interval in &mut point.phases[0].intervals {
            let ok = u64::from(interval.index == 0);
            let times = spread_times(ok, seconds * 1e9);
            interval.kinds = vec![KindRow { ok, response: times.clone(), service: times, ..KindRow::empty(OpKind(0)) }];
        }
        point.traits.outcome.compression = Some(model::CompressionOutcome {
            input_bytes: Some(100_000_000),
            output_bytes: Some(output_mb * 1_000_000),
            durable_s: Some(seconds),
            own_cpu_s: Some(seconds),
            ..model::CompressionOutcome::default()
        });
        points.push(point);
    }
    analysed(meta(), points)
}

/// A variant of a statement with these durations in seconds, of five repeats.
pub fn variant_arm(name: &str, setup: Option<f64>, statement: f64) -> analysis::points::variants::VariantArm {
    use analysis::numbers::variants::StepCost;
    use model::StepPart;
    let step = |name: &str, part, seconds| StepCost { name: name.into(), part, seconds: Some(seconds) };
    let measured = step("statement", StepPart::Statement, statement);
    analysis::points::variants::VariantArm {
        validity: analysis::Validity::Valid,
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

/// An answer with all that an answer may have: twelve rows of names in two parts, five long claims, and three sentences of trust.
pub fn made_answer() -> analysis::Answer {
    use analysis::answer::{Answer, AnswerCell, AnswerColumn, AnswerKind, AnswerRow, AnswerTable, Claim, ClaimKind};
    let cell = |nth: usize| AnswerCell {
        value: nth as f64,
        text: format!("{}.35x (1.22 to 1.49)", nth + 1),
        figure: "ratio".to_owned(),
        point: None,
        is_indicative: nth.is_multiple_of(3),
    };
    let row = |nth: usize| AnswerRow {
        name: vec![["sqlite", "fjall"][nth / 6].to_owned(), format!("batches of {} rows", 10 * (nth % 6 + 1))],
        cells: (0..3).map(|column| (nth != 4 || column != 1).then(|| cell(nth + column))).collect(),
    };
    let heads = ["read only", "write only", "read and write"];
    let sentence = "Three secondary indexes make inserts four times slower on both engines if each row is a commit, and forty times \
                    slower if a batch of one thousand rows is one.";
    Answer {
        kind: AnswerKind::Arms,
        question: "What do secondary indexes cost?".to_owned(),
        table: Some(AnswerTable {
            head: "against no index, 4 pairs".to_owned(),
            columns: heads.map(|head| AnswerColumn { head: head.to_owned() }).to_vec(),
            rows: (0..12).map(row).collect(),
            rows_of: 16,
            conditions: "16 KiB, io_uring, O_DIRECT, 1 GiB on ext4".to_owned(),
        }),
        claims: (0..5).map(|_| Claim::new(ClaimKind::Difference, sentence)).collect(),
        trust: [
            "9 of 12 points are valid.",
            "Other programs took 30 % of the CPU.",
            "The writes became slower after 2.3 s.",
        ]
        .map(str::to_owned)
        .to_vec(),
        next: Some("plimsoll run insert-engines --repeat 6".to_owned()),
    }
}
