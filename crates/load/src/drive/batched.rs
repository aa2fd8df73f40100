//! Several operations in flight on one thread. Two clock reads a batch: one when it is submitted, one when completions were
//! taken. A service time is therefore an upper bound, too long by at most the time between two looks at the completions, and
//! which includes the submission of a batch. With [`StampMode::Each`] every operation is a batch of its own.
//! What a driver looks at after a batch (`check_outcome`) is in no time of that batch, and delays the look for the next.
//!
//! If each slot is a client ([`OpSupply::SLOTS_ARE_CLIENTS`]) it thinks by itself, and the one that has waited longest for work
//! is the next to get some. Otherwise it is the slot that was used last, whose memory is still in the caches.

use super::{BatchDriver, FinishedOp, PATIENCE, StampMode, wait_for_arrival, wait_for_start};
use crate::clock::Clock;
use crate::recorder::Recorder;
use crate::schedule::{Admission, Schedule, Stop, StopReason};
use crate::source::OpSupply;
use model::{Arrival, Completion, Nanos, OnError, Op, OpKind, Outcome, Tick};
use std::collections::VecDeque;

/// What is remembered of an operation in flight.
#[derive(Clone, Copy)]
struct OpInFlight {
    kind: OpKind,
    /// `None` in a closed loop: it is intended for the moment at which it starts.
    intended: Option<Tick>,
    started: Tick,
    late: bool,
}

/// The slots of one client and what is in them.
struct Slots {
    /// The last is the next to be used.
    free: VecDeque<u32>,
    /// Whether they are used in turn, and not the one first that was used last.
    in_turn: bool,
    /// Those whose clients think, and when they will have done so: the first is the first to be free.
    thinking: VecDeque<(Tick, u32)>,
    in_flight: Vec<OpInFlight>,
    /// How many hold an operation.
    busy: u32,
    /// Pushed and not yet submitted.
    fresh: Vec<u32>,
    /// How many may be pushed before they are submitted.
    fresh_max: usize,
    /// Taken from the schedule, not yet due.
    held: Option<Arrival>,
    /// How much of its delay is the lag of this thread, which it carries on until it waits for an arrival again.
    behind: Nanos,
    /// The schedule has nothing more.
    done_admitting: bool,
}

/// Performs the phase of `schedule` with `driver`, keeping up to its depth in flight.
pub fn run_batched<D: BatchDriver, C: Clock, S: OpSupply<D::Op>>(
    schedule: &Schedule,
    clock: &C,
    source: &mut S,
    driver: &mut D,
    stamp: StampMode,
    recorder: &mut Recorder,
    stop: &Stop,
) {
    let Some(free_since) = wait_for_start(clock, stop, schedule) else { return };
    let mut slots = Slots::new(driver.depth(), stamp, S::SLOTS_ARE_CLIENTS);
    let mut finished: Vec<FinishedOp> = Vec::with_capacity(driver.depth() as usize);
    let mut now = clock.now();
    slots.behind = now.since(free_since);
    let has_pauses = D::Op::HAS_PAUSES && schedule.is_closed();
    if has_pauses {
        slots.begin_with_pauses(now, source);
    }
    // One time serves as the end of a batch and as the moment of the next admissions: two clock reads a batch in all.
    loop {
        slots.done_admitting |= stop.reason().is_some();
        slots.admit_all(schedule, now, source, driver, recorder);
        if slots.busy == 0 {
            match slots.next_start() {
                Some(at) if !slots.done_admitting && wait_for_arrival(clock, stop, schedule, at) => {
                    now = clock.now();
                    continue;
                }
                _ => return,
            }
        }
        // The timeout comes before the stamp, so that working it out is in no operation's time.
        let completion_timeout = slots.completion_timeout(now);
        slots.stamp_fresh(clock.now());
        driver.submit_and_wait(completion_timeout, &mut finished);
        now = clock.now();
        for done in finished.drain(..) {
            let outcome = driver.check_outcome(&done);
            let pause = if has_pauses { source.next_pause(done.slot) } else { Nanos(0) };
            let was = slots.release_slot(done.slot, now, Nanos(schedule.think.0 + pause.0));
            let intended = was.intended.unwrap_or(was.started);
            let completion = Completion { kind: was.kind, intended, started: was.started, finished: now, outcome };
            recorder.record(&completion, was.late);
            // A failure, or a miss, is reported under the number of the client that had it.
            let client = if S::SLOTS_ARE_CLIENTS { done.slot } else { 0 };
            if D::HAS_ROWS && matches!(outcome, Outcome::Ok { .. }) {
                let rows = driver.rows_of(done.slot);
                recorder.record_rows(client, was.kind, &rows, || driver.describe_miss_of(done.slot));
            }
            if let Outcome::Failed(class) = outcome {
                recorder.report_failure_of(client, class, now, || driver.describe_failure());
                if schedule.on_error == OnError::Stop {
                    stop.request(StopReason::Failure);
                }
                if driver.is_over() && stop.reason().is_none() {
                    recorder.break_off(driver.describe_failure());
                    stop.request(StopReason::Failure);
                }
            }
        }
    }
}

impl Slots {
    fn new(depth: u32, stamp: StampMode, in_turn: bool) -> Slots {
        let empty = OpInFlight { kind: OpKind(0), intended: None, started: Tick(0), late: false };
        Slots {
            free: (0..depth).rev().collect(),
            in_turn,
            thinking: VecDeque::with_capacity(depth as usize),
            in_flight: vec![empty; depth as usize],
            busy: 0,
            fresh: Vec::with_capacity(depth as usize),
            fresh_max: match stamp {
                StampMode::Batch => depth as usize,
                StampMode::Each => 1,
            },
            held: None,
            behind: Nanos(0),
            done_admitting: false,
        }
    }

    /// Fills the free slots with what may start at `now`.
    #[inline]
    fn admit_all<D: BatchDriver, S: OpSupply<D::Op>>(
        &mut self,
        schedule: &Schedule,
        now: Tick,
        source: &mut S,
        driver: &mut D,
        recorder: &mut Recorder,
    ) {
        self.end_thinking(now);
        while !self.done_admitting && self.has_room() {
            let Some(slot) = self.next_free(source) else { return };
            let (intended, late) = match self.held.take() {
                Some(arrival) if arrival.intended > now => return self.held = Some(arrival),
                // The phase ended before this arrival fell due.
                Some(arrival) if arrival.intended >= schedule.end() => return self.done_admitting = true,
                Some(arrival) => {
                    self.behind = now.since(arrival.intended);
                    recorder.record_lag(self.behind);
                    (Some(arrival.intended), false)
                }
                None => match schedule.admit(now, self.behind, || source.next_due(slot)) {
                    Admission::AtOnce => (None, false),
                    Admission::Due(arrival) => (Some(arrival.intended), true),
                    Admission::NotBefore(arrival) => {
                        self.held = Some(arrival);
                        continue;
                    }
                    Admission::Done => return self.done_admitting = true,
                },
            };
            let op = source.take_op(slot);
            // The slot of `next_free`, which is still the last of the free ones.
            self.free.pop_back();
            self.in_flight[slot as usize] = OpInFlight { kind: op.kind(), intended, started: Tick(0), late };
            self.busy += 1;
            // Its start is stamped when the batch is submitted: until then it only waits for its neighbours.
            self.fresh.push(slot);
            driver.push_op(slot, op);
        }
    }

    /// The free slot to use next. Slots whose clients have no operations left are taken off the list.
    #[inline]
    fn next_free<O>(&mut self, source: &mut impl OpSupply<O>) -> Option<u32> {
        loop {
            let slot = *self.free.back()?;
            if source.has_more(slot) {
                return Some(slot);
            }
            self.free.pop_back();
        }
    }

    #[inline]
    fn put_back(&mut self, slot: u32) {
        match self.in_turn {
            true => self.free.push_front(slot),
            false => self.free.push_back(slot),
        }
    }

    /// Whether one more may be pushed before those that were are submitted.
    #[inline]
    fn has_room(&self) -> bool {
        self.fresh.len() < self.fresh_max
    }

    #[inline]
    fn end_thinking(&mut self, now: Tick) {
        while let Some((_, slot)) = self.thinking.pop_front_if(|(until, _)| *until <= now) {
            self.put_back(slot);
        }
    }

    /// Marks everything pushed since the last submission as started.
    #[inline]
    fn stamp_fresh(&mut self, started: Tick) {
        for slot in self.fresh.drain(..) {
            self.in_flight[slot as usize].started = started;
        }
    }

    /// Clients whose first operation has a pause before it begin with that.
    fn begin_with_pauses<O>(&mut self, now: Tick, source: &mut impl OpSupply<O>) {
        for slot in std::mem::take(&mut self.free) {
            match source.next_pause(slot) {
                Nanos(0) => self.free.push_back(slot),
                pause => self.think_until(now + pause, slot),
            }
        }
    }

    /// Think times are one constant unless operations have pauses of their own: then a client may be free before one that has thought for
    /// longer.
    fn think_until(&mut self, at: Tick, slot: u32) {
        match self.thinking.back() {
            Some((last, _)) if *last > at => {
                let place = self.thinking.partition_point(|(until, _)| *until <= at);
                self.thinking.insert(place, (at, slot));
            }
            _ => self.thinking.push_back((at, slot)),
        }
    }

    /// The operation of `slot` ended at `now`; its client thinks before it is free again.
    #[inline]
    fn release_slot(&mut self, slot: u32, now: Tick, think: Nanos) -> OpInFlight {
        self.busy -= 1;
        match think {
            Nanos(0) => self.put_back(slot),
            think => self.think_until(now + think, slot),
        }
        self.in_flight[slot as usize]
    }

    /// When the next operation can start, if it waits for time only.
    fn next_start(&self) -> Option<Tick> {
        let held = self.held.filter(|_| !self.free.is_empty()).map(|arrival| arrival.intended);
        held.or(self.thinking.front().map(|(until, _)| *until))
    }

    /// How long a wait for completions may take: until the next operation that a slot could start; no time if that operation waits
    /// only for the submission of those before it.
    fn completion_timeout(&self, now: Tick) -> Nanos {
        match self.next_start() {
            _ if !self.free.is_empty() && !self.has_room() => Nanos(0),
            Some(at) => at.since(now).min(PATIENCE),
            None => PATIENCE,
        }
    }
}
