//! Analyses for tests: a simulated quick run, damaged variants of it, and texts meant to do harm.
//!
//! In: nothing. Out: [`Analysis`] values with noise, drifts and stalls, the same on every call.
//! Limits: the noise is a small multiplicative generator; nothing statistical may be concluded from it.

use crate::figure::{Body, Figure, Panel};
use analysis::{
    Amounts, Analysis, Beside, Cost, CounterSeries, Finding, GeneratorCost, InsertCost, Inserted, IntervalPoint,
    PointAnalysis, Projection, Quantiles, Rounds, Series, Severity, Shape, Span, Stall, Summary, Validity,
    WorstInterval,
};
use hdrhistogram::Histogram;
use model::histogram::new_hdr;
use model::steady::Window;
use model::{
    Bytes, Fact, Generator, Interval, KindInterval, Load, Nanos, OnError, Pacing, Params, Phase, PhaseData, Phases,
    Plan, PointData, PointState, RunData, RunMeta, TargetSpec, Tick, Times, Trial, Until, Value, WorkloadSpec,
};
use std::collections::BTreeMap;

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
    target: &'static str,
    workload: &'static str,
    group: &'static str,
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
    points[5].findings.push(finding(
        "stall",
        Severity::Note,
        "stalled for 0.5 s at 2.0 s",
        "2 intervals below 20 % of the median rate of 9,810/s",
    ));
    points[7].findings.push(finding(
        "not-steady",
        Severity::Warning,
        "the rate fell by 31 % during the run",
        "first quarter 4,120/s, last quarter 2,843/s",
    ));
    points[7].validity = Validity::Indicative;
    points[12].findings.push(finding(
        "errors",
        Severity::Error,
        "1.8 % of the operations failed",
        "`database is locked`: 212 of 11,777",
    ));
    points[12].validity = Validity::Invalid;
    let verdict = [
        "This disk reads 41,300 random 16 KiB blocks/s at depth 32 and writes 10,100/s.",
        "sqlite inserts 61,800 rows/s without indexes and 3,480 with three; fjall 84,000 and 29,600.",
        "OLTP on sqlite stops scaling at 4 clients (6,650 transactions/s).",
        "The disk stalled once, for 0.5 s, during random writes at depth 32.",
        "11 of 13 points are valid; 1 is indicative, 1 is invalid (errors).",
    ];
    Analysis { meta: meta(), points, findings: vec![run_finding()], verdict: verdict.map(str::to_owned).into() }
}

fn sketches() -> Vec<Sketch> {
    let file = |mode: &'static str, group, depth, ops_per_s, stall| Sketch {
        target: "file",
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
    let insert = |target, group, params, ops_per_s, noise| Sketch {
        target,
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
        target: "sqlite",
        workload: "oltp",
        group: "sqlite oltp read_write",
        clients,
        depth: 1,
        params: &[("access", "zipf:0.9"), ("durability", "os"), ("mix", "read_write")],
        ops_per_s,
        noise: 0.08,
        stall: None,
    };
    vec![
        file("rndrd", "file rndrd", 1, 5_900.0, None),
        file("rndrd", "file rndrd", 8, 28_400.0, None),
        file("rndrd", "file rndrd", 32, 41_300.0, None),
        file("rndwr", "file rndwr", 1, 3_150.0, None),
        file("rndwr", "file rndwr", 8, 8_700.0, None),
        file("rndwr", "file rndwr", 32, 10_100.0, Some((2.0, 2.5))),
        insert("sqlite", "sqlite insert indexes 0", &[("durability", "os"), ("indexes", "0")], 61_800.0, 0.07),
        insert("sqlite", "sqlite insert indexes 3", &[("durability", "os"), ("indexes", "3")], 3_480.0, 0.25),
        insert("fjall", "fjall insert indexes 0", &[("durability", "os"), ("indexes", "0")], 84_000.0, 0.1),
        insert("fjall", "fjall insert indexes 3", &[("durability", "os"), ("indexes", "3")], 29_600.0, 0.18),
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
    let response = histogram(service_ns, &mut noise);
    let stall = sketch.stall.map(|(from_s, to_s)| Stall { span: Span { from_s, to_s }, rate_share: 0.01 });
    let counters = counters(sketch, &intervals, &mut noise);
    let counted = Span { from_s: 0.0, to_s: intervals.last().map_or(0.0, |i| i.at_s + i.length_s) };
    let series = Series {
        intervals,
        tail: Vec::new(),
        bins: Vec::new(),
        counted,
        service: response.clone(),
        response,
        counters,
        amounts: Amounts::default(),
    };
    PointAnalysis {
        load: None,
        id,
        state: PointState::Complete,
        error: None,
        target: sketch.target.to_owned(),
        workload: sketch.workload.to_owned(),
        clients: sketch.clients,
        depth: sketch.depth,
        repeat: 1,
        params: sketch.params.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect(),
        label: label(sketch),
        group: sketch.group.to_owned(),
        facts: vec![Fact::new("engine.version", "3.50.4"), Fact::new("durability", "os")],
        summary: Some(summary(&series)),
        inserts: None,
        projection: None,
        series: Some(series),
        shape: Some(Shape { stalls: stall.into_iter().collect(), ..Shape::default() }),
        rounds: None,
        findings: Vec::new(),
        validity: Validity::Valid,
    }
}

fn label(sketch: &Sketch) -> String {
    match sketch.workload {
        "file" => format!("{} depth {}", sketch.group, sketch.depth),
        "oltp" => format!("{} clients {}", sketch.group, sketch.clients),
        _ => sketch.group.to_owned(),
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
fn histogram(service_ns: f64, noise: &mut Noise) -> Histogram<u64> {
    let mut hdr = new_hdr();
    for i in 0..20_000 {
        let normal: f64 = (0..6).map(|_| noise.next()).sum::<f64>() / 1.4;
        let tail = if i % 400 == 0 { 10.0 } else { 1.0 };
        let value = (service_ns * 0.8 * (0.3 * normal).exp() * tail) as u64;
        hdr.record(value.max(1)).expect("an auto-resizing histogram takes every value");
    }
    hdr
}

fn counters(sketch: &Sketch, intervals: &[IntervalPoint], noise: &mut Noise) -> Vec<CounterSeries> {
    let of = |source: &str, subject: &str, name: &str, unit: &str, value: &mut dyn FnMut(&IntervalPoint) -> f64| {
        CounterSeries {
            source: source.to_owned(),
            subject: subject.to_owned(),
            name: name.to_owned(),
            unit: unit.to_owned(),
            values: intervals.iter().map(|i| (i.at_s + i.length_s, value(i).max(0.0))).collect(),
        }
    };
    let share = |part: f64, noise: &mut Noise| 2e9 * part * (1.0 + 0.15 * noise.next());
    let writes = if sketch.group.contains("rndrd") { 0.02 } else { 1.0 };
    vec![
        of("cpu", "machine", "user_ns", "ns/s", &mut |_| share(0.38, noise)),
        of("cpu", "machine", "system_ns", "ns/s", &mut |_| share(0.21, noise)),
        of("cpu", "machine", "softirq_ns", "ns/s", &mut |_| share(0.02, noise)),
        of("cpu", "machine", "iowait_ns", "ns/s", &mut |_| share(0.12, noise)),
        of("cpu", "machine", "steal_ns", "ns/s", &mut |_| share(0.01, noise)),
        of("cpu", "machine", "idle_ns", "ns/s", &mut |_| share(0.26, noise)),
        of("disk", "vda", "read_ops", "ops/s", &mut |i| i.ops_per_s * (1.02 - writes)),
        of("disk", "vda", "write_ops", "ops/s", &mut |i| i.ops_per_s * writes * 0.3),
        of("disk", "vda", "flush_ops", "ops/s", &mut |_| 20.0 * writes),
        of("disk", "vda", "read_bytes", "bytes/s", &mut |i| i.bytes_per_s * (1.02 - writes)),
        of("disk", "vda", "write_bytes", "bytes/s", &mut |i| i.bytes_per_s * writes * 0.3),
        of("disk", "vda", "queue_ns", "ns/s", &mut |_| 1e9 * f64::from(sketch.depth) * (1.0 + 0.05 * noise.next())),
    ]
}

fn summary(series: &Series) -> Summary {
    let run: Vec<&IntervalPoint> = series.intervals.iter().filter(|i| i.at_s >= 0.0).collect();
    let mean = run.iter().map(|i| i.ops_per_s).sum::<f64>() / run.len() as f64;
    let worst = run.iter().min_by(|a, b| a.ops_per_s.total_cmp(&b.ops_per_s)).expect("a run has intervals");
    let hdr = &series.response;
    let at = |q: f64| hdr.value_at_quantile(q);
    let times =
        Quantiles { mean: hdr.mean(), p50: at(0.5), p95: at(0.95), p99: at(0.99), p999: at(0.999), max: hdr.max() };
    let seconds = run.iter().map(|i| i.length_s).sum();
    Summary {
        seconds,
        ops: (mean * seconds) as u64,
        grace_ops: 0,
        failed: 0,
        success_rate: Some(1.0),
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
        generator: GeneratorCost::default(),
        achieved: analysis::Achieved::default(),
        cost_per_query: analysis::CostPerQuery::default(),
        beside: None,
        cost: Cost {
            read_bytes_per_op: (mean > 20_000.0).then_some(16_384.0),
            written_bytes_per_op: Some(1.2e7 / mean),
            engine_cpu_ns_per_op: Some(1.3e9 / mean),
            context_switches_per_op: Some(8_000.0 / mean),
        },
    }
}

/// Clients that nearly kept 500 inserts a second beside a run, five rows each.
pub fn beside() -> Beside {
    let times =
        Quantiles { mean: 3e6, p50: 2_000_000, p95: 8_000_000, p99: 12_000_000, p999: 30_000_000, max: 41_000_000 };
    Beside {
        kinds: vec!["insert".to_owned()],
        clients: 4,
        asked_per_s: 500.0,
        ops: 4_980,
        ops_per_s: 498.0,
        ops_per_s_ci95: Some([494.0, 502.0]),
        kept: 0.996,
        rows_per_s: Some(2_490.0),
        failed: 0,
        late: 12,
        unserved: 1,
        response_ns: Some(times),
        service_ns: Some(times),
    }
}

fn finding(code: &str, severity: Severity, title: &str, evidence: &str) -> Finding {
    let next_step = match severity {
        Severity::Note => "",
        _ => "Run it for longer: `--time 60s`.",
    };
    let [code, title, evidence, next_step] = [code, title, evidence, next_step].map(str::to_owned);
    Finding { code, severity, title, evidence, next_step }
}

fn run_finding() -> Finding {
    finding("foreign-cpu", Severity::Warning, "other processes used 6 % of the CPU", "0.12 of 2 cores, most in point 4")
}

fn meta() -> RunMeta {
    RunMeta {
        run_id: "20261121-030405-quick".to_owned(),
        started_unix_ms: 1_795_230_245_000,
        plimsoll_version: "0.1.0".to_owned(),
        plan: Plan {
            name: "quick".to_owned(),
            title: "The disk and the embedded engines in a minute".to_owned(),
            scale: 1.0,
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
    let sketch = &sketches()[11];
    let points = (1..=n)
        .map(|id| {
            let mut point = point(id, sketch, 120, 1.0);
            point.clients = id;
            point.label = format!("sqlite oltp read_write clients {id}");
            point
        })
        .collect();
    Analysis { points, ..quick() }
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
fn recorded(id: u32, target: &str, seconds: u64, mut count: impl FnMut(u64) -> u64) -> PointData {
    const SECOND: u64 = 1_000_000_000;
    let mut interval = |i: u64| {
        let ok = count(i);
        let mut times = Times::default();
        times.record_n(8 * SECOND / ok.max(1), ok);
        let kind = KindInterval {
            kind: 0,
            ok,
            failed: 0,
            bytes: ok * 16_384,
            late: 0,
            response: times.clone(),
            service: times,
        };
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
                path: None,
                fs: None,
                limits: Default::default(),
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
        },
        facts: Vec::new(),
        traits: Default::default(),
        params: Vec::new(),
        kinds: vec!["write".into()],
        phases: vec![PhaseData { phase: Phase::Run, start, end, unserved: 0, offered: 0, intervals }],
        sources: Vec::new(),
        counters: Vec::new(),
        events: Vec::new(),
    }
}

/// One point at a fixed rate whose response times are longer than its service times.
pub fn open_loop() -> Analysis {
    let mut analysis = with_points(1);
    let point = &mut analysis.points[0];
    if let (Some(summary), Some(series)) = (&mut point.summary, &mut point.series) {
        summary.offered_per_s = Some(7_000.0);
        (summary.late, summary.unserved) = (812, 3);
        series.response = histogram(4e6, &mut Noise(3));
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
    let window = Window::last(&rates);
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
            block_written_bytes_per_s: Some(385e6),
            block_read_bytes_per_insert: Some(1_100.0),
            block_written_bytes_per_insert: Some(10_080.0),
            engine_read_bytes_per_insert: Some(1_100.0),
            engine_written_bytes_per_insert: Some(9_900.0),
            engine_log_bytes_per_insert: Some(500.0),
            paid_written_bytes_per_insert: Some(12_000.0),
            debt_bytes: Some(186e6),
            ..base
        },
        InsertCost {
            rows: 1e6,
            inserts_per_s: Some(86_401.0),
            block_read_bytes_per_s: Some(86e6),
            block_written_bytes_per_s: Some(346e6),
            block_read_bytes_per_insert: Some(1_000.0),
            block_written_bytes_per_insert: Some(4_000.0),
            engine_written_bytes_per_insert: Some(3_900.0),
            ..base
        },
        InsertCost {
            block_written_bytes_per_s: Some(80e6),
            paid_written_bytes_per_insert: Some(12_000.0),
            ..InsertCost::default()
        },
    ];
    let labels = ["InnoDB l.i1", "MyRocks l.i1", "InnoDB drain"];
    for ((point, cost), label) in analysis.points.iter_mut().zip(costs).zip(labels) {
        (point.workload, point.label, point.inserts) = ("insert".to_owned(), label.to_owned(), Some(cost));
        point.params.remove("durability");
    }
    let why = "it is 100 times what was inserted, and a trend is followed to 10 times at most".to_owned();
    analysis.points[0].projection = Some(Projection {
        rows: 1e8,
        factor: 100.0,
        end: None,
        text: format!("where the full size of 100M rows ends cannot be told: {why}"),
        cannot_tell: Some(why),
    });
    let title = "write debt: 20 % of what the inserts cost was unpaid at the end: wKB/i is too low";
    analysis.points[0].findings.push(finding("write-debt", Severity::Note, title, "10.1 KB written per insert"));
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
            match *name {
                "engine" => point.target = value,
                _ => drop(point.params.insert((*name).to_owned(), value)),
            }
        }
        (point.workload, point.clients) = ("insert".into(), 5);
        point.label = format!("insert {nth}");
        point.group = point.label.clone();
        let (mut noise, mut before) = (Noise(nth as u64 + 1), 0);
        let level = 27_000.0 / 3f64.powi(nth as i32);
        let mut interval = |second: u64| {
            let filled = (before % 1_000_000) as f64 / 1e6;
            let rows = (level * (1.2 - 0.5 * filled * nth.min(1) as f64) * (1.0 + 0.05 * noise.next())) as u64;
            let inserted = Inserted { at_s: second as f64, length_s: 1.0, before, rows };
            before = inserted.after();
            inserted
        };
        let inserted: Vec<Inserted> = (0..seconds).map(&mut interval).collect();
        let rows = inserted.last().map_or(0, Inserted::after) as f64;
        let inserts_per_s = Some(rows / seconds as f64);
        point.inserts = Some(InsertCost { rows, inserts_per_s, ..InsertCost::default() });
        let amounts = Amounts { inserted, partition_rows: Some(1_000_000) };
        if let Some(series) = &mut point.series {
            series.intervals.iter_mut().for_each(|interval| interval.at_s *= seconds as f64 / 5.0);
            series.amounts = amounts;
        }
    }
    analysis
}

/// The panels of a figure that has some.
pub fn panels(figure: &Figure) -> &[Panel] {
    let Body::Panels { panels, .. } = &figure.body else { panic!("`{}` has no panels", figure.id) };
    panels
}

/// Analyses in which something is missing or extreme, each with a name for messages.
pub fn damaged() -> Vec<(&'static str, Analysis)> {
    vec![
        ("no points", Analysis { points: vec![], findings: vec![], verdict: vec![], ..quick() }),
        ("one point", Analysis { points: quick().points.drain(..1).collect(), ..quick() }),
        ("not reached", each(|p| (p.summary, p.series, p.state) = (None, None, PointState::Failed))),
        (
            "no counters",
            each(|p| {
                if let Some(s) = &mut p.series {
                    s.counters.clear()
                }
            }),
        ),
        ("no operations", each(without_operations)),
        (
            "no intervals",
            each(|p| {
                if let Some(s) = &mut p.series {
                    s.intervals.clear()
                }
            }),
        ),
        ("not numbers", each(not_numbers)),
        ("by rounds", settled()),
        ("no rounds", by_rounds(&[])),
        ("few rounds", by_rounds(&[1.0, f64::NAN])),
        ("rounds without operations", by_rounds(&[0.0; 9])),
        ("no labels", each(|p| (p.label, p.group, p.params) = (String::new(), String::new(), BTreeMap::new()))),
        ("inserts", inserts()),
        ("hostile", hostile()),
    ]
}

fn by_rounds(rates: &[f64]) -> Analysis {
    let mut analysis = settled();
    let length = Nanos::from_secs(30);
    analysis.points[0].rounds = Some(Rounds { length, rates: rates.into(), window: Window::last(rates) });
    analysis
}

fn each(change: impl Fn(&mut PointAnalysis)) -> Analysis {
    let mut analysis = quick();
    analysis.points.iter_mut().for_each(change);
    analysis
}

fn without_operations(point: &mut PointAnalysis) {
    if let (Some(summary), Some(series)) = (&mut point.summary, &mut point.series) {
        (summary.ops, summary.ops_per_s, summary.ops_per_s_ci95) = (0, 0.0, None);
        summary.queries_per_s = 0.0;
        (summary.response_ns, summary.service_ns, summary.cost) = (None, None, Cost::default());
        (series.response, series.service) = (new_hdr(), new_hdr());
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
    analysis.verdict.iter_mut().for_each(|line| *line = next());
    analysis.meta.environment.iter_mut().for_each(|f| (f.name, f.value) = (next(), next()));
    (analysis.meta.plan.title, analysis.meta.plan.name) = (next(), next());
    (analysis.meta.run_id, analysis.meta.plimsoll_version) = (next(), next());
    for p in &mut analysis.points {
        (p.label, p.group, p.target, p.workload, p.error) = (next(), next(), next(), next(), Some(next()));
        p.params = BTreeMap::from([(next(), next()), (next(), next())]);
        p.facts.iter_mut().for_each(|f| (f.name, f.value) = (next(), next()));
        p.facts.push(Fact::new("durability", next()));
        p.inserts = Some(InsertCost::default());
        p.findings.push(finding(&next(), Severity::Note, &next(), &next()));
    }
    analysis
}
