//! The scripted engine: no I/O, only time. It tests plimsoll itself and shows what stalls, steps and drops look like.
//!
//! In: a script in parameters. Out: operations that take as long as the script asks. Limits: the last 0.1 ms of a wait
//! spin, because the kernel wakes no thread that exactly: clients with shorter operations keep a core busy each, and more of them than cores
//! disturb each other.

use crate::engine::{DataSpace, EngineDef, EngineLocation, Instance, InstanceReport, WorkloadClients, workload_of};
use crate::recordings;
use crate::sql::replay;
use host::error::TargetError;
use load::{Client, Clock, Driver, MonotonicClock, OpSource, SyncClient};
use model::{
    Entry, Fact, Family, LoadPart, Nanos, Op, Outcome, ParamDef, ParamKind, ParamRole, Params, TaskSet, Tick, Trial,
    UsedIf, WritePath,
};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use workload::{BackgroundOps, ClientIndex, OpKindDef, OpStream, ProgramInput, SequenceState, SqlWork};

pub static NULL: EngineDef = EngineDef {
    entry: Entry {
        name: "null",
        spoken: "the null engine",
        help: "no work: operations take as long as its parameters say, with the stalls, steps and drops that you ask for; to test plimsoll itself",
        families: &[Family::Io, Family::Sql, Family::Kv, Family::Task(TaskSet::Kernels), Family::Task(TaskSet::Codecs)],
        params: PARAMS,
    },
    runs: EngineLocation::InClients,
    scripted: true,
    start: |start| Ok(Box::new(NullEngine::start(&start.trial.target.params, start.trial.seed))),
    ..EngineDef::BARE
};

const FACTOR: ParamKind = ParamKind::Float { min: 0.0, max: 1e6 };

const PARAMS: &[ParamDef] = &[
    script_duration("service", "0", "service time of an operation"),
    script_param("service_dist", ParamKind::OneOf(&["constant", "exponential"]), "constant", "how service times vary"),
    script_param(
        "stall_every",
        ParamKind::Int { min: 0, max: u64::MAX },
        "0",
        "operations from one stall to the next; 0 = no stalls",
    ),
    used_if_set("stall_every", script_duration("stall", "0", "how long a stall freezes the engine")),
    script_duration("step_after", "0", "when service times change for good; 0 = never"),
    used_if_set("step_after", script_param("step_factor", FACTOR, "1", "factor for service times after the step")),
    script_duration("drop_every", "0", "time from one drop to the next; 0 = no drops"),
    used_if_set("drop_every", script_duration("drop_for", "0", "how long a drop lasts")),
    used_if_set("drop_every", script_param("drop_factor", FACTOR, "1", "factor for service times during a drop")),
];

const fn script_param(name: &'static str, kind: ParamKind, default: &'static str, help: &'static str) -> ParamDef {
    ParamDef { help, shapes_data: true, ..ParamDef::new(name, ParamRole::Tuning, kind, default) }
}

const fn script_duration(name: &'static str, default: &'static str, help: &'static str) -> ParamDef {
    script_param(name, ParamKind::Duration, default, help)
}

/// `def`, which has an effect only while the parameter `other` is not 0.
const fn used_if_set(other: &'static str, def: ParamDef) -> ParamDef {
    ParamDef { used_if: Some(UsedIf::not_zero(other)), ..def }
}

/// A wait spins for so long at its end: twice the slack that the kernel allows its timers. Eight clients with operations of 1 ms leave two
/// cores free for most of the time.
const SPIN_BELOW: Nanos = Nanos::from_micros(100);
/// No operation takes longer, whatever the factors make of it: times far beyond would leave the range of the clock.
const SERVICE_MAX: Nanos = Nanos::from_secs(365 * 86_400);

/// When operations take how long.
#[derive(Clone, Copy, Debug, PartialEq)]
struct NullScript {
    service: Nanos,
    exponential: bool,
    stall_every: u64,
    stall: Nanos,
    step_after: Nanos,
    step_factor: f64,
    drop_every: Nanos,
    drop_for: Nanos,
    drop_factor: f64,
}

impl NullScript {
    fn from_params(params: &Params) -> NullScript {
        NullScript {
            service: params.nanos("service"),
            exponential: params.word("service_dist") == "exponential",
            stall_every: params.int("stall_every"),
            stall: params.nanos("stall"),
            step_after: params.nanos("step_after"),
            step_factor: params.float("step_factor"),
            drop_every: params.nanos("drop_every"),
            drop_for: params.nanos("drop_for"),
            drop_factor: params.float("drop_factor"),
        }
    }

    /// The service time at `elapsed` since the engine began; `u` is uniform in [0, 1).
    fn service_at(&self, elapsed: Nanos, u: f64) -> Nanos {
        let mut ns = self.service.0 as f64;
        if self.exponential {
            ns *= -(1.0 - u).ln();
        }
        if self.step_after.0 > 0 && elapsed >= self.step_after {
            ns *= self.step_factor;
        }
        // A drop is at the end of each period, so that the first one does not fall on the start.
        if self.drop_every.0 > 0 && elapsed.0 % self.drop_every.0 >= self.drop_every.0.saturating_sub(self.drop_for.0) {
            ns *= self.drop_factor;
        }
        Nanos(ns as u64).min(SERVICE_MAX)
    }

    fn stalls_at(&self, op_number: u64) -> bool {
        self.stall_every > 0 && op_number.is_multiple_of(self.stall_every)
    }
}

/// The engine: its script, and what its clients share.
struct NullEngine {
    script: NullScript,
    seed: u64,
    clock: MonotonicClock,
    shared: Arc<SharedState>,
}

#[derive(Default)]
struct SharedState {
    ops: AtomicU64,
    frozen_until: AtomicU64,
}

impl NullEngine {
    fn start(params: &Params, seed: u64) -> NullEngine {
        NullEngine {
            script: NullScript::from_params(params),
            seed,
            clock: MonotonicClock::start(),
            shared: Arc::default(),
        }
    }

    fn make_client<O: Op>(&self, source: OpSource<O>, slot: ClientIndex) -> Box<dyn Client> {
        let driver = NullDriver::<O> {
            script: self.script,
            clock: self.clock,
            shared: self.shared.clone(),
            rng: Xoshiro256PlusPlus::seed_from_u64(self.seed ^ u64::from(slot.client)),
            family: PhantomData,
        };
        Box::new(SyncClient::new(source, driver))
    }

    fn stream_clients<O: Op>(
        &self,
        kinds: &[OpKindDef],
        run: &OpStream<O>,
        background: &[BackgroundOps<O>],
        clients: LoadPart,
    ) -> WorkloadClients {
        WorkloadClients::new(kinds, run, background, clients, |source, slot| self.make_client(source, slot))
    }
}

impl Instance for NullEngine {
    fn report(&self) -> InstanceReport {
        let facts = vec![Fact::new("engine.version", env!("CARGO_PKG_VERSION"))];
        InstanceReport { facts, ..InstanceReport::default() }
    }

    fn write_path(&self, _: &Trial) -> WritePath {
        WritePath::Direct
    }

    fn make_loaders(&mut self, _: &Trial) -> Result<Option<WorkloadClients>, TargetError> {
        Ok(None)
    }

    fn finish_load(&mut self) -> Result<Vec<Fact>, TargetError> {
        Ok(Vec::new())
    }

    fn make_clients(&mut self, trial: &Trial) -> Result<WorkloadClients, TargetError> {
        let def = workload_of(trial);
        let (sequence, clients) = (SequenceState::default(), trial.data_part());
        let recording = recordings::recording_of(trial)?;
        let input = ProgramInput { recording: recording.as_ref(), ..ProgramInput::from_trial(trial, &sequence) };
        if let Some(make) = def.io {
            let program = make(&input);
            return Ok(self.stream_clients(&program.kinds, &program.run, &[], clients));
        }
        if let Some(program) = def.sql_program(&input) {
            if program.work == SqlWork::Replay {
                return Err(TargetError::Unsupported(replay::NEEDS_COPY.to_owned()));
            }
            return Ok(self.stream_clients(&program.kinds, &program.run, &program.background, clients));
        }
        if let Some(make) = def.task {
            let program = make(&input);
            return Ok(self.stream_clients(&program.kinds, &program.run, &[], clients));
        }
        let make = def.kv.expect("a workload has at least one family");
        let program = make(&input).map_err(|error| TargetError::Unsupported(error.to_string()))?;
        Ok(self.stream_clients(&program.kinds, &program.run, &program.background, clients))
    }

    fn measure_space(&self) -> DataSpace {
        DataSpace::default()
    }

    fn stop(self: Box<Self>) -> Result<(), TargetError> {
        Ok(())
    }
}

struct NullDriver<O> {
    script: NullScript,
    clock: MonotonicClock,
    shared: Arc<SharedState>,
    rng: Xoshiro256PlusPlus,
    family: PhantomData<fn(O)>,
}

impl<O: Op> Driver for NullDriver<O> {
    type Op = O;

    #[inline]
    fn execute_op(&mut self, _: &O) -> Outcome {
        if self.script.service.0 > 0 || self.script.stall_every > 0 {
            self.take_time();
        }
        Outcome::Ok { bytes: 0 } // nothing moved
    }

    fn describe_failure(&self) -> String {
        "the null engine does not fail".into()
    }
}

impl<O> NullDriver<O> {
    fn take_time(&mut self) {
        let now = self.clock.now();
        if self.script.stall_every > 0 && self.script.stalls_at(self.shared.ops.fetch_add(1, Relaxed) + 1) {
            // A stall freezes all clients, as a checkpoint of a real engine does.
            self.shared.frozen_until.store((now + self.script.stall).0, Relaxed);
        }
        let done = now + self.script.service_at(now.since(Tick(0)), self.rng.random());
        self.wait_until(done.max(Tick(self.shared.frozen_until.load(Relaxed))));
    }

    fn wait_until(&self, at: Tick) {
        let now = self.clock.now();
        if at.since(now) > SPIN_BELOW {
            // Sleeps for most of the wait and spins for the rest, which is then exact to a microsecond.
            self.clock.wait_until(at - SPIN_BELOW);
        }
        while self.clock.now() < at {
            std::hint::spin_loop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONSTANT: NullScript = NullScript {
        service: Nanos::from_micros(100),
        exponential: false,
        stall_every: 10_000,
        stall: Nanos::from_millis(200),
        step_after: Nanos::from_secs(10),
        step_factor: 2.0,
        drop_every: Nanos::from_secs(4),
        drop_for: Nanos::from_secs(1),
        drop_factor: 10.0,
    };

    #[test]
    fn steps_and_drops_multiply_the_service_time() {
        let at_s = |s| CONSTANT.service_at(Nanos::from_secs(s), 0.0).0 / 1_000;
        assert_eq!([0, 2, 3, 4, 7, 10, 11, 12].map(at_s), [100, 100, 1_000, 100, 1_000, 200, 2_000, 200]);
    }

    #[test]
    fn no_factor_makes_a_time_that_the_clock_cannot_hold() {
        let script = NullScript { service: Nanos(u64::MAX), step_factor: 1e6, ..CONSTANT };
        assert_eq!(script.service_at(Nanos::from_secs(11), 0.0), SERVICE_MAX);
    }

    #[test]
    fn every_ten_thousandth_operation_stalls() {
        assert!(CONSTANT.stalls_at(10_000) && CONSTANT.stalls_at(20_000));
        assert!(!CONSTANT.stalls_at(1) && !CONSTANT.stalls_at(9_999));
    }

    #[test]
    fn exponential_service_times_have_the_mean_asked_for() {
        let script = NullScript { exponential: true, ..CONSTANT };
        let n = 100_000;
        let sum: u64 = (0..n).map(|i| script.service_at(Nanos(0), (i as f64 + 0.5) / n as f64).0).sum();
        assert!((sum as f64 / n as f64 / 100_000.0 - 1.0).abs() < 0.001);
    }
}
