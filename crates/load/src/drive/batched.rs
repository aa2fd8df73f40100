//! Several operations under way on one thread. Two clock reads a batch: one when it is submitted, one when completions were
//! taken. A service time is therefore an upper bound, too long by at most the time between two looks at the completions, and
//! that holds the submission of a whole batch. With [`Stamp::Each`] every operation is a batch of its own.
//! What a driver looks at after a batch (`settle`) is in no time of that batch, and delays the look for the next.

use super::{BatchDriver, Done, PATIENCE, Stamp, wait_for_arrival, wait_for_start};
use crate::clock::Clock;
use crate::recorder::Recorder;
use crate::schedule::{Admit, Schedule, Stop, StopReason};
use crate::source::OpSource;
use model::{Arrival, Completion, Nanos, OnError, Op, OpKind, Outcome, Tick};

/// What is remembered of an operation under way.
#[derive(Clone, Copy)]
struct UnderWay {
    kind: OpKind,
    /// `None` in a closed loop: it is intended for the moment at which it starts.
    intended: Option<Tick>,
    started: Tick,
    late: bool,
}

/// The slots of one client and what is in them.
struct Slots {
    free: Vec<u32>,
    under_way: Vec<UnderWay>,
    /// Pushed and not yet submitted.
    fresh: Vec<u32>,
    /// How many may be pushed before they are submitted.
    fresh_max: usize,
    /// Taken from the schedule, not yet due.
    held: Option<Arrival>,
    /// The schedule has nothing more.
    done_admitting: bool,
}

/// Performs the phase of `schedule` with `driver`, keeping up to its depth under way.
pub fn run_batched<D: BatchDriver, C: Clock>(
    schedule: &Schedule,
    clock: &C,
    source: &mut OpSource<D::Op>,
    driver: &mut D,
    stamp: Stamp,
    recorder: &mut Recorder,
    stop: &Stop,
) {
    if !wait_for_start(clock, stop, schedule) {
        return;
    }
    let mut slots = Slots::new(driver.depth(), stamp);
    let mut finished: Vec<Done> = Vec::with_capacity(driver.depth() as usize);
    let mut now = clock.now();
    loop {
        slots.done_admitting |= stop.reason().is_some() || !source.has_more();
        slots.admit_all(schedule, now, source, driver, recorder);
        if slots.all_free() {
            match slots.held {
                Some(Arrival { intended })
                    if !slots.done_admitting && wait_for_arrival(clock, stop, schedule, intended) =>
                {
                    now = clock.now();
                    continue;
                }
                _ => return,
            }
        }
        let patience = slots.patience(now);
        slots.stamp_fresh(clock.now());
        driver.submit_and_wait(patience, &mut finished);
        now = clock.now();
        for done in finished.drain(..) {
            let outcome = driver.settle(&done);
            let was = slots.release(done.slot);
            let intended = was.intended.unwrap_or(was.started);
            let completion = Completion { kind: was.kind, intended, started: was.started, finished: now, outcome };
            recorder.record(&completion, was.late);
            if let Outcome::Failed(class) = outcome {
                recorder.report_failure(class, now, || driver.describe_failure());
                if schedule.on_error == OnError::Stop {
                    stop.request(StopReason::Failure);
                }
            }
        }
    }
}

impl Slots {
    fn new(depth: u32, stamp: Stamp) -> Slots {
        let empty = UnderWay { kind: OpKind(0), intended: None, started: Tick(0), late: false };
        Slots {
            free: (0..depth).rev().collect(),
            under_way: vec![empty; depth as usize],
            fresh: Vec::with_capacity(depth as usize),
            fresh_max: match stamp {
                Stamp::Batch => depth as usize,
                Stamp::Each => 1,
            },
            held: None,
            done_admitting: false,
        }
    }

    fn all_free(&self) -> bool {
        self.free.len() == self.under_way.len()
    }

    /// Fills the free slots with what may start at `now`.
    #[inline]
    fn admit_all<D: BatchDriver>(
        &mut self,
        schedule: &Schedule,
        now: Tick,
        source: &mut OpSource<D::Op>,
        driver: &mut D,
        recorder: &mut Recorder,
    ) {
        while !self.done_admitting && self.may_push() && source.has_more() {
            let (intended, late) = match self.held.take() {
                // It was to fall due later than the schedule, ended meanwhile, goes on.
                Some(arrival) if arrival.intended >= schedule.end() => return self.done_admitting = true,
                Some(arrival) if arrival.intended <= now => {
                    recorder.woke(now.since(arrival.intended));
                    (Some(arrival.intended), false)
                }
                Some(arrival) => return self.held = Some(arrival),
                None => match schedule.admit(now) {
                    Admit::AtOnce => (None, false),
                    Admit::Due(arrival) => (Some(arrival.intended), true),
                    Admit::NotBefore(arrival) => return self.held = Some(arrival),
                    Admit::Done => return self.done_admitting = true,
                },
            };
            let op = source.take();
            self.push(op.kind(), intended, late);
            driver.push(self.fresh[self.fresh.len() - 1], op);
        }
    }

    #[inline]
    fn may_push(&self) -> bool {
        !self.free.is_empty() && self.fresh.len() < self.fresh_max
    }

    #[inline]
    fn push(&mut self, kind: OpKind, intended: Option<Tick>, late: bool) {
        let slot = self.free.pop().expect("a slot is free: the caller looked");
        self.under_way[slot as usize] = UnderWay { kind, intended, started: Tick(0), late };
        self.fresh.push(slot);
    }

    /// Marks everything pushed since the last submission as started.
    #[inline]
    fn stamp_fresh(&mut self, started: Tick) {
        for slot in self.fresh.drain(..) {
            self.under_way[slot as usize].started = started;
        }
    }

    #[inline]
    fn release(&mut self, slot: u32) -> UnderWay {
        self.free.push(slot);
        self.under_way[slot as usize]
    }

    /// How long a wait for completions may take: until the next arrival that a free slot could serve; no time where the next
    /// operation waits for nothing but the submission of those before it.
    fn patience(&self, now: Tick) -> Nanos {
        match self.held {
            _ if self.free.is_empty() => PATIENCE,
            Some(arrival) => arrival.intended.since(now).min(PATIENCE),
            None if !self.may_push() => Nanos(0),
            None => PATIENCE,
        }
    }
}
