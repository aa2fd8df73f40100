//! One operation at a time. Two clock reads an operation: the end of one is the admission of the next. What a driver does
//! before and after those two is in no operation's time; in an open loop it delays the next one, as the generator's lag. So does a
//! client that wakes up late: the arrivals that fell due meanwhile are its own lag, too, until it has caught up. For how long a driver holds an
//! operation back is no lag: it is in the response time of an arrival, which is late.

use super::{Driver, think_until, wait_for_arrival, wait_for_start};
use crate::clock::Clock;
use crate::recorder::Recorder;
use crate::schedule::{Admission, Schedule, Stop, StopReason};
use crate::source::OpSource;
use model::{Completion, Nanos, OnError, Op, Outcome, Tick};

/// Performs the phase of `schedule` with `driver`, one operation after the other.
pub fn run_sync<D: Driver, C: Clock>(
    schedule: &Schedule,
    clock: &C,
    source: &mut OpSource<D::Op>,
    driver: &mut D,
    recorder: &mut Recorder,
    stop: &Stop,
) {
    let Some(free_since) = wait_for_start(clock, stop, schedule) else { return };
    let mut now = clock.now();
    // How much of its delay is the client's own lag, which it carries on until it waits for an arrival again.
    let mut behind = now.since(free_since);
    let has_pauses = D::Op::HAS_PAUSES && schedule.is_closed();
    while stop.reason().is_none() && source.has_more() {
        if has_pauses && let pause @ Nanos(1..) = source.next_pause() {
            think_until(clock, stop, schedule, now + pause);
            now = clock.now();
            if stop.reason().is_some() {
                return;
            }
        }
        let (due, late) = match schedule.admit(now, behind, || source.next_due()) {
            Admission::AtOnce => (None, false),
            Admission::Due(arrival) => (Some(arrival), true),
            Admission::NotBefore(arrival) if wait_for_arrival(clock, stop, schedule, arrival.intended) => {
                (Some(arrival), false)
            }
            Admission::NotBefore(_) | Admission::Done => return,
        };
        let op = source.take_op();
        let is_held = driver.hold_op(op, || stop.reason().is_some() || clock.now() >= schedule.end());
        if is_held && stop.reason().is_some() {
            return;
        }
        // An arrival that was held back waited for the engine to perform another one.
        let late = late || is_held && due.is_some();
        driver.prepare_op(op);
        // Between the two stamps is the operation and nothing else. An early start makes a time longer and never shorter, so
        // this stamp need not wait for the instructions before it.
        let started = clock.now_unordered();
        let outcome = driver.execute_op_until(op, stop);
        now = if D::ENDS_IN_KERNEL { clock.now_unordered() } else { clock.now() };
        let outcome = driver.check_outcome(op, outcome);
        let intended = due.map_or(started, |arrival| arrival.intended);
        // A late arrival waited for this client to be free, which is no lag of the wake-up.
        if due.is_some() && !late {
            behind = started.since(intended);
            recorder.record_lag(behind);
        }
        let done = Completion { kind: op.kind(), intended, started, finished: now, outcome };
        recorder.record(&done, late);
        if D::HAS_ROWS && matches!(outcome, Outcome::Ok { .. }) {
            recorder.record_rows(0, done.kind, &driver.last_rows(), || driver.describe_miss());
        }
        if D::HAS_ENDPOINTS {
            recorder.record_endpoint(driver.last_endpoint(), &done);
        }
        let outcome = match (D::Op::HAS_STEPS, outcome) {
            (true, _) => finish_turn(clock, source, driver, recorder, &mut now, outcome),
            (false, outcome) => outcome,
        };
        if let Outcome::Failed(class) = outcome {
            recorder.report_failure(class, now, || driver.describe_failure());
            if schedule.on_error == OnError::Stop {
                return stop.request(StopReason::Failure);
            }
            if driver.is_over() {
                recorder.break_off(driver.describe_failure());
                return stop.request(StopReason::Failure);
            }
        }
        if schedule.think.0 > 0 {
            think_until(clock, stop, schedule, now + schedule.think);
            // The time slept is no part of the next admission.
            now = clock.now();
        }
    }
}

/// Performs the steps that follow an operation in its turn, also after the end of the phase: a turn that has begun is finished. If one
/// fails, or the operation has, the rest of the turn is left out. Returns the outcome of the last that was performed.
fn finish_turn<D: Driver, C: Clock>(
    clock: &C,
    source: &mut OpSource<D::Op>,
    driver: &mut D,
    recorder: &mut Recorder,
    now: &mut Tick,
    first: Outcome,
) -> Outcome {
    let mut outcome = first;
    while source.next_follows() {
        let op = source.take_op();
        if matches!(outcome, Outcome::Failed(_)) {
            continue;
        }
        driver.prepare_op(op);
        let started = clock.now_unordered();
        let ended = driver.execute_op(op);
        *now = clock.now();
        outcome = driver.check_outcome(op, ended);
        // No arrival of its own: it is due as soon as it can start.
        let step = Completion { kind: op.kind(), intended: started, started, finished: *now, outcome };
        recorder.record(&step, false);
    }
    outcome
}
