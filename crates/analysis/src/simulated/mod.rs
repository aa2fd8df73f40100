//! Recorded points made up for tests, with a known answer.
//!
//! In: counts per interval, or service times operation by operation. Out: a [`PointData`] as the store would read it.
//! Limits: one client, one kind of operation, one-second intervals unless a test changes the fields; exact, no sleeping.

mod by_name;
pub mod endpoints;
pub mod hosts;
pub mod searches;

pub use by_name::kind;

use crate::{Analysis, DetailKind, Finding, analyse};
use model::{
    Arrivals, Background, CounterDef, CounterKind, CounterSample, Event, EventKind, Fact, FailureMessage, Generator,
    Interval, KindDef, KindRow, LatencyCounts, Load, Machine, Nanos, OnError, OpClass, OpKind, Pacing, Params, Phase,
    PhaseData, Phases, Plan, PointData, PointState, PointTraits, RunData, RunMeta, SourceDef, TargetSpec, Tick, Times,
    Trial, Until, Value, WorkloadSpec,
};

/// One second in nanoseconds.
pub const SECOND: u64 = 1_000_000_000;

/// A small generator of random numbers (SplitMix64; Steele, Lea and Flood, OOPSLA 2014).
pub struct Random(u64);

impl Random {
    /// The generator of `seed`. The seed is mixed first: the states of this generator lie on one cycle, and neighbouring
    /// seeds taken as they are would give the same numbers, shifted by one.
    pub fn new(seed: u64) -> Random {
        Random(mix(seed ^ 0x5851_F42D_4C95_7F2D))
    }

    /// Uniform in (0, 1).
    pub fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        ((mix(self.0) >> 11) as f64 + 0.5) / (1u64 << 53) as f64
    }

    /// Normal with mean 0 and variance 1 (Box and Muller).
    pub fn normal(&mut self) -> f64 {
        let (radius, angle) = (self.uniform(), self.uniform());
        (-2.0 * radius.ln()).sqrt() * (std::f64::consts::TAU * angle).cos()
    }

    /// Exponential of that mean.
    pub fn exponential(&mut self, mean: f64) -> f64 {
        -mean * self.uniform().ln()
    }

    /// Poisson of that mean, by counting exponential gaps.
    pub fn poisson(&mut self, mean: f64) -> u64 {
        let mut at = self.exponential(1.0);
        let mut count = 0;
        while at < mean {
            count += 1;
            at += self.exponential(1.0);
        }
        count
    }

    /// Student's t with three degrees of freedom: tails so heavy that there is no fourth moment.
    pub fn students_t_of_3(&mut self) -> f64 {
        let chi_square: f64 = (0..3).map(|_| self.normal().powi(2)).sum();
        self.normal() / (chi_square / 3.0).sqrt()
    }

    /// `n` values of a stationary AR(1) process of mean 0 and unit innovations.
    pub fn autoregressive(&mut self, n: usize, coefficient: f64) -> Vec<f64> {
        let mut value = self.normal() / (1.0 - coefficient * coefficient).sqrt();
        let mut next = || {
            value = coefficient * value + self.normal();
            value
        };
        (0..n).map(|_| next()).collect()
    }
}

/// Makes so many values of a noise.
pub type Noise = fn(&mut Random, usize) -> Vec<f64>;

/// Noises of mean or median near 0 without any trend: what must find nothing in noise is tried on each.
pub const NOISES: [(&str, Noise); 8] = [
    ("white", |random, n| random.autoregressive(n, 0.0)),
    ("AR(1) of 0.5", |random, n| random.autoregressive(n, 0.5)),
    ("AR(1) of 0.7", |random, n| random.autoregressive(n, 0.7)),
    ("Student's t of 3", |random, n| (0..n).map(|_| random.students_t_of_3()).collect()),
    ("Cauchy", |random, n| (0..n).map(|_| random.normal() / random.normal()).collect()),
    ("log-normal upwards", |random, n| (0..n).map(|_| (1.5 * random.normal()).exp()).collect()),
    ("log-normal downwards", |random, n| (0..n).map(|_| -(1.5 * random.normal()).exp()).collect()),
    ("Pareto downwards", |random, n| (0..n).map(|_| -random.uniform().powf(-0.5)).collect()),
];

/// The seeds of a test in which one takes seconds: two, or as many as `PLIMSOLL_TEST_SEEDS` asks for.
pub fn costly_seeds() -> std::ops::Range<u64> {
    const USUAL: u64 = 2;
    0..std::env::var("PLIMSOLL_TEST_SEEDS").map_or(USUAL, |text| text.parse().expect("a number of seeds"))
}

fn mix(state: u64) -> u64 {
    let mixed = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
}

/// Response and service times of each second in dense counts, because sparse ones are slow to add to one by one.
#[derive(Default)]
struct DenseTimes(Vec<[LatencyCounts; 2]>);

impl DenseTimes {
    fn add(&mut self, index: usize, response_ns: u64, service_ns: u64) {
        self.0.resize_with(self.0.len().max(index + 1), Default::default);
        let [response, service] = &mut self.0[index];
        response.record(response_ns.max(1));
        service.record(service_ns.max(1));
    }

    fn put_into(mut self, simulation: &mut Simulation) {
        for (index, [response, service]) in self.0.iter_mut().enumerate() {
            let kind = simulation.kind_of(index);
            (kind.response, kind.service) = (response.take(), service.take());
            kind.ok = kind.service.len();
        }
    }
}

/// A point in the making.
#[derive(Clone)]
pub struct Simulation {
    /// The point; tests change its fields.
    pub recorded: PointData,
    /// What is known of the machine.
    pub environment: Vec<Fact>,
}

impl Simulation {
    /// One second each with so many operations, 95 % of the second spent in them.
    pub fn counts(counts: &[u64]) -> Simulation {
        let mut simulation = Simulation::empty(counts.len() as u64);
        for (index, count) in counts.iter().enumerate() {
            let service_ns = SECOND * 95 / 100 / (*count).max(1);
            simulation.add(index, *count, service_ns, service_ns);
        }
        simulation
    }

    /// A closed loop of one client for so many seconds; `service_ns` is how long each operation takes.
    pub fn closed(seconds: u64, mut service_ns: impl FnMut(u64) -> u64) -> Simulation {
        let mut simulation = Simulation::empty(seconds);
        let mut times = DenseTimes::default();
        let (mut now, mut seq) = (0, 0);
        while seq == 0 || now < seconds * SECOND {
            let service = service_ns(seq);
            now += service;
            times.add((now / SECOND) as usize, service, service);
            seq += 1;
        }
        times.put_into(&mut simulation);
        simulation
    }

    /// An open loop of one client and constant arrivals for so many seconds.
    pub fn open(seconds: u64, per_s: u64, service_ns: impl FnMut(u64) -> u64) -> Simulation {
        Simulation::queue(seconds, 1, per_s as f64, (0..).map(|seq| seq * SECOND / per_s), service_ns)
    }

    /// An open loop of `clients` for so many seconds: an arrival at each moment of `intended_ns`, in rising order, of which there are
    /// `per_s` a second on average. The client that is free first takes the next.
    pub fn queue(
        seconds: u64,
        clients: u32,
        per_s: f64,
        intended_ns: impl Iterator<Item = u64>,
        mut service_ns: impl FnMut(u64) -> u64,
    ) -> Simulation {
        let mut simulation = Simulation::empty(seconds);
        let arrivals = Arrivals::Constant { per_s };
        simulation.recorded.trial.load = Load { clients, depth: 1, pacing: Pacing::Open { arrivals } };
        let mut free_at = vec![0; clients as usize];
        let mut times = DenseTimes::default();
        for (seq, intended) in (0..).zip(intended_ns.take_while(|ns| *ns < seconds * SECOND)) {
            simulation.recorded.phases[0].offered += 1;
            let free = free_at.iter_mut().min().expect("there is a client");
            if *free >= seconds * SECOND {
                simulation.recorded.phases[0].unserved += 1;
                continue;
            }
            let service = service_ns(seq);
            let late = *free > intended;
            let ended = intended.max(*free) + service;
            *free = ended;
            let index = (ended / SECOND) as usize;
            times.add(index, ended - intended, service);
            simulation.kind_of(index).late += u64::from(late);
        }
        times.put_into(&mut simulation);
        simulation
    }

    fn empty(seconds: u64) -> Simulation {
        let trial = Trial {
            target: TargetSpec {
                engine: "sqlite".into(),
                programs: None,
                path: None,
                fs: None,
                instances: 1,
                limits: Default::default(),
                machine: Default::default(),
                params: Params::default(),
            },
            workload: WorkloadSpec { name: "oltp".into(), params: Params::default() },
            load: Load { clients: 1, depth: 1, pacing: Pacing::Closed { think: Nanos(0) } },
            phases: Phases {
                warmup: Nanos(0),
                run: Nanos::from_secs(seconds),
                ops_max: None,
                interval: Nanos(SECOND),
                grace: Nanos::from_secs(5),
                silence: None,
                until: Until::Time,
            },
            on_error: OnError::Stop,
            repeat: 1,
            seed: 1,
            limit: None,
            stacks: false,
            share: None,
            data_set: None,
            arm: None,
        };
        let phase = PhaseData {
            phase: Phase::Run,
            start: Tick(0),
            end: Tick(seconds * SECOND),
            unserved: 0,
            offered: 0,
            intervals: Vec::new(),
        };
        let recorded = PointData {
            id: 1,
            state: PointState::Complete,
            error: None,
            trial,
            facts: vec![Fact::new("engine.process", "own")],
            traits: PointTraits::default(),
            params: Vec::new(),
            kinds: vec![kind("transaction")],
            phases: vec![phase],
            sources: Vec::new(),
            counters: Default::default(),
            events: Vec::new(),
            stacks: Vec::new(),
            endpoints: Vec::new(),
            hosts: Vec::new(),
        };
        Simulation { recorded, environment: vec![Fact::new("cpu.count", "2")] }
    }

    /// Adds operations to an interval, and the intervals before it if they are missing.
    pub fn add(&mut self, index: usize, ok: u64, response_ns: u64, service_ns: u64) -> &mut KindRow {
        let kind = self.kind_of(index);
        kind.ok += ok;
        kind.response.record_n(response_ns.max(1), ok);
        kind.service.record_n(service_ns.max(1), ok);
        kind
    }

    /// The operations of an interval, which is added if it is missing, with those before it.
    fn kind_of(&mut self, index: usize) -> &mut KindRow {
        let intervals = &mut self.recorded.phases[0].intervals;
        while intervals.len() <= index {
            let number = intervals.len() as u32;
            intervals.push(empty_interval(number));
        }
        &mut intervals[index].kinds[0]
    }

    /// Adds a source read at every second; `values` gives its counters' values at a second.
    pub fn source(mut self, name: &str, counters: &[&str], values: impl Fn(f64) -> Vec<f64>) -> Simulation {
        let define = |counter: &&str| CounterDef {
            name: counter.to_string(),
            unit: "count".into(),
            kind: CounterKind::Counter,
            help: String::new(),
            role: None,
            in_pages: false,
        };
        let source = self.recorded.sources.len() as u16;
        let counters = counters.iter().map(define).collect();
        self.recorded.sources.push(SourceDef { name: name.into(), subject: String::new(), counters });
        let phase = &self.recorded.phases[0];
        for second in phase.start.0 / SECOND..=phase.end.0 / SECOND {
            let values = values(second as f64).into_iter().map(Some).collect();
            self.recorded.counters.push(CounterSample { at: Tick(second * SECOND), source, values });
        }
        self
    }

    /// In the background of the run, `clients` clients were to insert `asked` times a second and did so `done` times in each interval,
    /// 2 ms from the moment at which each was due.
    pub fn background(self, clients: u32, asked: u64, done: u64) -> Simulation {
        self.with(|point| {
            let kinds = vec![OpKind(point.kinds.len() as u8)];
            point.traits.course.background = vec![Background { kinds, clients, per_s: Some(asked as f64) }];
            point.kinds.push(KindDef { background: true, ..kind("insert") });
            let phase = &mut point.phases[0];
            let seconds = phase.end.0 / SECOND;
            phase.offered += asked * seconds;
            phase.unserved += (asked - done) * seconds;
            for interval in phase.intervals.iter_mut().take(seconds as usize) {
                let (mut response, mut service) = (Times::default(), Times::default());
                response.record_n(2_000_000, done);
                service.record_n(1_000_000, done);
                interval.kinds.push(KindRow { ok: done, response, service, ..KindRow::empty(OpKind(1)) });
            }
        })
    }

    /// The operations open connections, and each is followed by these steps, which take so many nanoseconds.
    pub fn with_steps(self, steps: &[(&str, u64)]) -> Simulation {
        self.with(|point| {
            point.kinds = vec![KindDef::new("connect", OpClass::Connect)];
            point.kinds.extend(steps.iter().map(|(name, _)| KindDef::new(*name, OpClass::Step)));
            for interval in &mut point.phases[0].intervals {
                let ok = interval.kinds[0].ok;
                for (number, (_, ns)) in (1u8..).zip(steps) {
                    let mut times = Times::default();
                    times.record_n(*ns, ok);
                    let row = KindRow { ok, response: times.clone(), service: times, ..KindRow::empty(OpKind(number)) };
                    interval.kinds.push(row);
                }
            }
        })
    }

    /// The run phase goes by rounds of so many seconds, until they are steady.
    pub fn until_steady(self, round_s: u64) -> Simulation {
        let until = Until::Steady { round: Nanos::from_secs(round_s), precondition: 1 };
        self.with(|point| point.trial.phases.until = until)
    }

    /// Changes the recorded point.
    pub fn with(mut self, change: impl FnOnce(&mut PointData)) -> Simulation {
        change(&mut self.recorded);
        self
    }

    /// Adds an event in the middle of the first second.
    pub fn event(self, kind: EventKind, text: &str) -> Simulation {
        let event = Event::new(Tick(SECOND / 2), kind, text);
        self.with(|point| point.events.push(event))
    }

    /// The client threads used so much CPU in every interval.
    pub fn generator(self, generator: Generator) -> Simulation {
        self.with(|point| point.phases[0].intervals.iter_mut().for_each(|interval| interval.generator = generator))
    }

    /// The fact of whose process the engine is in.
    pub fn process(self, process: &str) -> Simulation {
        self.with(|point| point.facts = vec![Fact::new("engine.process", process)])
    }

    /// The recorded point alone.
    pub fn point(self) -> PointData {
        declared(self.recorded)
    }

    /// The analysis of a run of this point alone.
    pub fn analysis(&self) -> Analysis {
        analyse(&run_of(vec![self.recorded.clone()], self.environment.clone()))
    }

    /// The findings of `code`.
    pub fn findings(&self, code: &str) -> Vec<Finding> {
        let found = self.analysis().points.remove(0).findings;
        found.into_iter().filter(|finding| finding.code().as_str() == code).collect()
    }

    /// The figures of the one finding of their kind.
    pub fn figures<T: DetailKind + Clone>(&self) -> T {
        let finding = self.finding(T::CODE.as_str());
        T::in_detail(&finding.detail).expect("a finding of this code has them").clone()
    }

    /// The one finding of `code`.
    pub fn finding(&self, code: &str) -> Finding {
        let mut found = self.findings(code);
        assert_eq!(found.len(), 1, "{found:?}");
        found.remove(0)
    }
}

fn empty_interval(number: u32) -> Interval {
    Interval {
        index: number,
        start: Tick(u64::from(number) * SECOND),
        length: Nanos(SECOND),
        kinds: vec![KindRow::empty(OpKind(0))],
        generator: Generator::default(),
    }
}

/// The counts of `n` intervals of a rate that swings about 375 as a sine of that period, with normal noise.
pub fn swinging(n: u64, period: f64, amplitude: f64, deviation: f64) -> Vec<u64> {
    let mut random = Random::new(1);
    let phase = |at: u64| (std::f64::consts::TAU * at as f64 / period).sin();
    (0..n).map(|at| (375.0 + amplitude * phase(at) + deviation * random.normal()) as u64).collect()
}

/// `n` seconds whose counts are `level` of the second, with normal noise of this deviation around it.
pub fn noisy(seed: u64, n: u64, deviation: f64, level: impl Fn(u64) -> f64) -> Simulation {
    let mut random = Random::new(seed);
    let counts: Vec<u64> = (0..n).map(|at| (level(at) + deviation * random.normal()).max(0.0) as u64).collect();
    Simulation::counts(&counts)
}

/// A replay of 20,000 statements of which so many fail, with these messages and how often each came.
pub fn replay_with_failures(failed: u64, messages: &[(u64, &str)]) -> Simulation {
    Simulation::counts(&[1_000; 20]).with(|point| {
        point.phases[0].intervals[3].kinds[0].failed = failed;
        let message = |(failed, text): &(u64, &str)| FailureMessage { failed: *failed, message: (*text).to_owned() };
        point.traits.outcome.replay_failures = messages.iter().map(message).collect();
    })
}

/// So many seconds of 1000 inserts each on InnoDB, which read and wrote so many bytes a second (the log has them all) and
/// had so many dirty pages.
pub fn inserting(seconds: usize, read_per_s: f64, written_per_s: f64, pages_dirty: f64) -> Simulation {
    inserting_so_many(&vec![1_000; seconds], read_per_s, written_per_s, pages_dirty)
}

/// The same with so many inserts in each second.
pub fn inserting_so_many(counts: &[u64], read_per_s: f64, written_per_s: f64, pages_dirty: f64) -> Simulation {
    let process = ["read_bytes", "write_bytes", "cpu_user_ns", "cpu_system_ns", "context_switches"];
    let innodb = ["os_log_written", "data_read", "data_written", "dblwr_pages_written", "pages_dirty"];
    let used = |s: f64| vec![read_per_s * s, written_per_s * s, 20e6 * s, 10e6 * s, 2_000.0 * s];
    // Nothing is owed when the run begins.
    let own = |s: f64| vec![written_per_s * s, read_per_s * s, 0.0, 0.0, if s > 0.0 { pages_dirty } else { 0.0 }];
    let inserts = Simulation::counts(counts).source("process", &process, used).source("innodb", &innodb, own);
    inserts.with(|point| {
        point.trial.workload.name = "insert".into();
        point.kinds = vec![kind("insert")];
        point.facts.push(Fact::new("rows_per_op.insert", "1"));
    })
}

/// The same as a step of a sequence; the step `drain` inserts nothing.
pub fn stepping(step: &str, seconds: usize, written_per_s: f64, pages_dirty: f64) -> PointData {
    let simulation = inserting(seconds, 0.0, written_per_s, pages_dirty).with(|point| {
        point.trial.workload.params = params(&[("step", Value::Word(step.into()))]);
        if step == "drain" {
            point.kinds = vec![kind("drain")];
        }
    });
    simulation.point()
}

/// A drain that ends with its operations, so many in each second.
pub fn drain(counts: &[u64]) -> Simulation {
    Simulation::counts(counts).with(|point| {
        point.trial.workload.name = "insert".into();
        point.trial.workload.params = params(&[("step", Value::Word("drain".into()))]);
        point.facts.push(Fact::new("run.ops", "1"));
    })
}

/// `point` with everything declared that it has by name.
pub fn declared(mut point: PointData) -> PointData {
    by_name::declare(&mut point);
    point
}

/// A run of `points`, numbered in order.
pub fn run_of(points: Vec<PointData>, environment: Vec<Fact>) -> RunData {
    let mut points: Vec<PointData> = points.into_iter().map(declared).collect();
    (1..).zip(&mut points).for_each(|(id, point)| point.id = id);
    let trials = points.iter().map(|point| point.trial.clone()).collect();
    let plan = Plan { trials, ..Plan::new("test", "a test") };
    let machine = Machine::from_facts(&environment);
    let (run_id, plimsoll_version) = ("test".into(), "0.0.0".into());
    let meta = RunMeta { run_id, started_unix_ms: 0, plimsoll_version, plan, environment, machine };
    RunData { meta, points }
}

/// The figures of all findings of one kind.
pub fn figures_of<T: DetailKind + Clone>(findings: &[Finding]) -> Vec<T> {
    findings.iter().filter_map(|finding| T::in_detail(&finding.detail)).cloned().collect()
}

/// Parameters from pairs of name and value.
pub fn params(pairs: &[(&str, Value)]) -> Params {
    Params(pairs.iter().map(|(name, value)| (name.to_string(), value.clone())).collect())
}
