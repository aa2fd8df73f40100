//! The loops that perform operations, and the drivers they perform them through.
//!
//! In: a schedule, a clock, a source of operations, a driver, a recorder. Out: everything due in the phase is performed and
//! recorded. Limits: a loop returns only between operations; the caller must bound the time of one operation.
//!
//! `sync` performs one operation at a time; `batched` keeps several in flight on one thread.

mod batched;
mod sync;

pub use batched::run_batched;
pub use sync::run_sync;

use crate::clock::Clock;
use crate::schedule::{Schedule, Stop};
use model::{Nanos, Op, Outcome, RowCounts, Tick};

/// Performs one operation at a time.
pub trait Driver: Send + 'static {
    /// The family of operations.
    type Op: Op;
    /// Whether each operation ends with the return from a system call: then all of it has been executed, and the clock need not
    /// wait for that (see `tsc`).
    const ENDS_IN_KERNEL: bool = false;
    /// Whether its operations go to one of several endpoints, which are then counted apart.
    const HAS_ENDPOINTS: bool = false;
    /// Whether the rows that its operations return and change are counted.
    const HAS_ROWS: bool = false;
    /// Called once on the client's own thread before its first operation. An error ends the point.
    fn open(&mut self) -> Result<(), String> {
        Ok(())
    }
    /// Called when `op` is due: waits for what must end before it begins, but not when `is_over`. Whether it had to wait: that time is neither of the
    /// operation's service time nor the client's own lag.
    #[inline]
    fn hold_op(&mut self, _: &Self::Op, _is_over: impl Fn() -> bool) -> bool {
        false
    }
    /// Called before `started` is taken: makes what [`Driver::execute_op`] moves. Neither allocates nor logs.
    #[inline]
    fn prepare_op(&mut self, _: &Self::Op) {}
    /// Performs `op` and returns when it is done. Neither allocates nor logs.
    fn execute_op(&mut self, op: &Self::Op) -> Outcome;
    /// The same for an operation that may take as long as it likes: one that looks at `stop` ends soon after the request.
    #[inline]
    fn execute_op_until(&mut self, op: &Self::Op, _stop: &Stop) -> Outcome {
        self.execute_op(op)
    }
    /// Called after `finished` was taken: looks at what was moved, and decides how the operation counts.
    #[inline]
    fn check_outcome(&mut self, _: &Self::Op, outcome: Outcome) -> Outcome {
        outcome
    }
    /// The number of the endpoint on which the last operation ended.
    #[inline]
    fn last_endpoint(&self) -> u16 {
        0
    }
    /// The rows of the last operation that was done.
    #[inline]
    fn last_rows(&self) -> RowCounts {
        RowCounts::default()
    }
    /// What the last operation that missed rows did, for people.
    fn describe_miss(&self) -> String {
        String::new()
    }
    /// What happened at the last failure, for people.
    fn describe_failure(&self) -> String;
    /// Whether the last failure was the end: the load stops then, whatever `on_error` is.
    fn is_over(&self) -> bool {
        false
    }
}

/// One operation that a [`BatchDriver`] has finished.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FinishedOp {
    /// The slot it was pushed with.
    pub slot: u32,
    /// How the operation ended.
    pub outcome: Outcome,
}

/// Keeps several operations in flight on one thread.
pub trait BatchDriver: Send + 'static {
    /// The family of operations.
    type Op: Op;
    /// Whether the rows that its operations return and change are counted.
    const HAS_ROWS: bool = false;
    /// How many operations may be in flight at once. Slots are numbered from 0 to it.
    fn depth(&self) -> u32;
    /// Called once on the client's own thread before its first operation. An error ends the point.
    fn open(&mut self) -> Result<(), String> {
        Ok(())
    }
    /// Takes `op` to be started by the next [`BatchDriver::submit_and_wait`].
    fn push_op(&mut self, slot: u32, op: &Self::Op);
    /// Starts what was pushed, waits until at least one operation is done or `timeout` is over, and appends all that are
    /// done. A timeout of zero says that more may start at once: it does not wait then, and need not look.
    fn submit_and_wait(&mut self, timeout: Nanos, done: &mut Vec<FinishedOp>);
    /// Called after the time of `done` was taken, and before its slot is used again: looks at what was moved, and
    /// decides how the operation counts.
    #[inline]
    fn check_outcome(&mut self, done: &FinishedOp) -> Outcome {
        done.outcome
    }
    /// The rows of the last operation of `slot` that was done.
    #[inline]
    fn rows_of(&self, _slot: u32) -> RowCounts {
        RowCounts::default()
    }
    /// What the last operation of `slot` that missed rows did, for people.
    fn describe_miss_of(&self, _slot: u32) -> String {
        String::new()
    }
    /// What happened at the last failure, for people.
    fn describe_failure(&self) -> String;
    /// Whether a failure was the end: the load stops then, whatever `on_error` is.
    fn is_over(&self) -> bool {
        false
    }
}

/// Which operations share a look at the clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StampMode {
    /// All that are submitted together, and all whose completions are found together: the cheapest.
    Batch,
    /// None: each operation is submitted alone, and completions are looked for after each.
    Each,
}

/// The longest wait before a loop looks for a request to stop.
const PATIENCE: Nanos = Nanos::from_millis(100);

/// Waits for `at`; `false` if the load is to stop meanwhile.
fn wait_unless_stopped(clock: &impl Clock, stop: &Stop, at: Tick) -> bool {
    loop {
        if stop.reason().is_some() {
            return false;
        }
        let now = clock.now();
        if now >= at {
            return true;
        }
        // In steps, because nothing wakes a client that waits: it has to look for a request to stop by itself.
        clock.wait_until(at.min(now + PATIENCE));
    }
}

/// Waits for an arrival; `false` if the load is to stop meanwhile, or the phase ended before it: then it never falls due. It waits for
/// that end, too: a phase of an open loop lasts as long as was asked, whenever its last arrival falls due.
fn wait_for_arrival(clock: &impl Clock, stop: &Stop, schedule: &Schedule, due: Tick) -> bool {
    loop {
        // The end may come earlier while the client waits.
        let end = schedule.end();
        if stop.reason().is_some() {
            return false;
        }
        let now = clock.now();
        if now >= due.min(end) {
            return due < end;
        }
        clock.wait_until(due.min(end).min(now + PATIENCE));
    }
}

/// Waits for `at` or the end of the schedule, which may come meanwhile.
fn think_until(clock: &impl Clock, stop: &Stop, schedule: &Schedule, at: Tick) {
    let mut now = clock.now();
    while now < at.min(schedule.end()) && wait_unless_stopped(clock, stop, at.min(schedule.end()).min(now + PATIENCE)) {
        now = clock.now();
    }
}

/// Waits for the phase to begin. Returns since when the client has been free for it: the start, or now if it comes later; `None` if
/// the load is to stop meanwhile.
fn wait_for_start(clock: &impl Clock, stop: &Stop, schedule: &Schedule) -> Option<Tick> {
    let free_since = clock.now().max(schedule.start);
    wait_unless_stopped(clock, stop, schedule.start).then(|| {
        schedule.note_begin(clock.now());
        free_since
    })
}

#[cfg(test)]
mod tests {
    //! The loops on a simulated clock with scripted drivers: exact, and in no time.

    use super::*;
    use crate::clock::SimClock;
    use crate::recorder::{Delivery, Recorder};
    use crate::source::OpSource;
    use model::{Arrivals, ConnectOp, ConnectStep, IoOp, OnError, Pacing, Phase, SqlOp, Times};
    use std::sync::Arc;
    use std::sync::mpsc;
    use workload::Workload;

    struct AnyOp;
    impl Workload<IoOp> for AnyOp {
        fn fill_ops(&mut self, ops: &mut [IoOp]) {
            ops.fill(IoOp::default());
        }
    }

    /// 0.1 ms for each operation and 200 ms for each 10,000th.
    struct Stalling {
        clock: Arc<SimClock>,
        done: u64,
    }
    impl Driver for Stalling {
        type Op = IoOp;
        fn execute_op(&mut self, _: &IoOp) -> Outcome {
            self.done += 1;
            let stalls = self.done.is_multiple_of(10_000);
            self.clock.advance(if stalls { Nanos::from_millis(200) } else { Nanos::from_micros(100) });
            Outcome::Ok { bytes: 1 }
        }
        fn describe_failure(&self) -> String {
            String::new()
        }
    }

    /// Finishes everything in flight, oldest first, `together` at a time, 0.1 ms after it was asked to wait.
    struct Ring {
        clock: Arc<SimClock>,
        in_flight: std::collections::VecDeque<u32>,
        together: usize,
    }
    impl BatchDriver for Ring {
        type Op = IoOp;
        fn depth(&self) -> u32 {
            8
        }
        fn push_op(&mut self, slot: u32, _: &IoOp) {
            self.in_flight.push_back(slot);
        }
        fn submit_and_wait(&mut self, timeout: Nanos, done: &mut Vec<FinishedOp>) {
            if timeout == Nanos(0) {
                return;
            }
            self.clock.advance(Nanos::from_micros(100));
            let n = self.together.min(self.in_flight.len());
            done.extend(self.in_flight.drain(..n).map(|slot| FinishedOp { slot, outcome: Outcome::Ok { bytes: 1 } }));
        }
        fn describe_failure(&self) -> String {
            String::new()
        }
    }

    /// 0.1 ms to submit each operation, which is done at once.
    struct SlowToSubmit {
        clock: Arc<SimClock>,
        pushed: Vec<u32>,
    }
    impl BatchDriver for SlowToSubmit {
        type Op = IoOp;
        fn depth(&self) -> u32 {
            8
        }
        fn push_op(&mut self, slot: u32, _: &IoOp) {
            self.pushed.push(slot);
        }
        fn submit_and_wait(&mut self, timeout: Nanos, done: &mut Vec<FinishedOp>) {
            let submitting = Nanos::from_micros(100 * self.pushed.len() as u64);
            self.clock.advance(if self.pushed.is_empty() { timeout } else { submitting });
            done.extend(self.pushed.drain(..).map(|slot| FinishedOp { slot, outcome: Outcome::Ok { bytes: 1 } }));
        }
        fn describe_failure(&self) -> String {
            String::new()
        }
    }

    /// 0.1 ms for each operation, with 1 ms to make ready and 1 ms to look at it, which finds every second one wrong.
    struct Checking {
        clock: Arc<SimClock>,
        settled: u64,
    }
    impl Checking {
        fn look(&mut self) -> Outcome {
            self.clock.advance(Nanos::from_millis(1));
            self.settled += 1;
            match self.settled % 2 {
                0 => Outcome::Failed(model::FailureClass::Corrupt),
                _ => Outcome::Ok { bytes: 1 },
            }
        }
    }
    impl Driver for Checking {
        type Op = IoOp;
        fn prepare_op(&mut self, _: &IoOp) {
            self.clock.advance(Nanos::from_millis(1));
        }
        fn execute_op(&mut self, _: &IoOp) -> Outcome {
            self.clock.advance(Nanos::from_micros(100));
            Outcome::Ok { bytes: 1 }
        }
        fn check_outcome(&mut self, _: &IoOp, _: Outcome) -> Outcome {
            self.look()
        }
        fn describe_failure(&self) -> String {
            String::new()
        }
    }
    impl BatchDriver for Checking {
        type Op = IoOp;
        fn depth(&self) -> u32 {
            1
        }
        fn push_op(&mut self, _: u32, _: &IoOp) {
            self.clock.advance(Nanos::from_millis(1));
        }
        fn submit_and_wait(&mut self, _: Nanos, done: &mut Vec<FinishedOp>) {
            self.clock.advance(Nanos::from_micros(100));
            done.push(FinishedOp { slot: 0, outcome: Outcome::Ok { bytes: 1 } });
        }
        fn check_outcome(&mut self, _: &FinishedOp) -> Outcome {
            self.look()
        }
        fn describe_failure(&self) -> String {
            String::new()
        }
    }

    struct Totals {
        ok: u64,
        failed: u64,
        late: u64,
        response: Times,
        service: Times,
    }

    fn totals(delivered: mpsc::Receiver<Delivery>) -> Totals {
        let mut totals = Totals { ok: 0, failed: 0, late: 0, response: Times::default(), service: Times::default() };
        for delivery in delivered.iter() {
            let row = match delivery {
                Delivery::Interval { row, .. } => row,
                Delivery::Failure { .. } => continue,
                delivery => panic!("unexpected {delivery:?}"),
            };
            for kind in &row.kinds {
                totals.ok += kind.ok;
                totals.failed += kind.failed;
                totals.late += kind.late;
                totals.service.add(&kind.service);
                totals.response.add(&kind.response);
            }
        }
        totals
    }

    /// The loops' common setting: `seconds` of `pacing` on a simulated clock.
    fn run(
        pacing: Pacing,
        seconds: u64,
        perform: impl FnOnce(&Schedule, &Arc<SimClock>, &mut OpSource<IoOp>, &mut Recorder, &Stop),
    ) -> (Totals, Schedule) {
        let clock = Arc::new(SimClock::default());
        let (out, delivered) = mpsc::channel();
        let schedule = Schedule::new(Phase::Run, Tick(0), Nanos::from_secs(seconds), None, &pacing, 1)
            .with_on_error(OnError::Count);
        let mut recorder = Recorder::new(0, 1, Nanos::from_secs(1), out);
        recorder.begin_phase(&schedule);
        perform(
            &schedule,
            &clock,
            &mut OpSource::from_workload(Box::new(AnyOp), 64, None),
            &mut recorder,
            &Stop::default(),
        );
        recorder.end_phase();
        drop(recorder);
        (totals(delivered), schedule)
    }

    fn stalling(pacing: Pacing, seconds: u64) -> (Totals, Schedule) {
        run(pacing, seconds, |schedule, clock, source, recorder, stop| {
            let mut driver = Stalling { clock: clock.clone(), done: 0 };
            run_sync(schedule, clock, source, &mut driver, recorder, stop);
        })
    }

    fn ms_at(times: &Times, quantile: f64) -> f64 {
        times.value_at_quantile(quantile) as f64 / 1e6
    }

    const CLOSED: Pacing = Pacing::Closed { think: Nanos(0) };
    const OPEN: Pacing = Pacing::Open { arrivals: Arrivals::Constant { per_s: 5_000.0 } };

    fn assert_near(seen: f64, theory: f64, what: &str) {
        assert!((seen / theory - 1.0).abs() < 0.02, "{what} is {seen}, theory says {theory}");
    }

    /// In 1.2 s of a closed loop, one operation of 10,000 takes 200 ms: p99.9 does not see it, the maximum does.
    #[test]
    fn closed_loop_hides_a_stall_from_its_percentiles() {
        let (seen, _) = stalling(CLOSED, 60);
        assert_near(ms_at(&seen.response, 0.999), 0.1, "p99.9");
        assert_near(seen.response.max_ns() as f64, 2e8, "max");
        assert_near(seen.ok as f64, 60.0 / 1.1999 * 10_000.0, "operations");
        assert_eq!(seen.late, 0);
    }

    /// At 5,000/s a stall comes every 2 s (10,000 operations). It delays what falls due in 200 ms, and the backlog, worked
    /// off at 10,000/s, delays as much again: 2,000 of 10,000 operations wait, evenly between 0 and 200 ms. The slowest 1 %
    /// of all are the slowest 5 % of those: p99 is 200 - 0.05 * 200 = 190 ms.
    #[test]
    fn open_loop_counts_arrivals_that_fell_due_during_a_stall() {
        let (seen, schedule) = stalling(OPEN, 61); // 30 complete stalls
        assert_near(ms_at(&seen.response, 0.99), 190.0, "p99 of the response time");
        assert_near(ms_at(&seen.service, 0.999), 0.1, "p99.9 of the service time");
        assert_near(seen.late as f64, 30.0 * 2_000.0, "late arrivals");
        assert!(schedule.offered_until(Tick(u64::MAX)) >= seen.ok);
    }

    #[test]
    fn arrivals_that_nobody_served_are_offered_all_the_same() {
        let arrivals = Arrivals::Constant { per_s: 20_000.0 };
        let (seen, schedule) = stalling(Pacing::Open { arrivals }, 10);
        assert_eq!(schedule.offered_until(Tick(u64::MAX)), 200_000);
        assert_near(seen.ok as f64, 10.0 / 1.1999 * 10_000.0, "operations done");
        assert_near(seen.response.max_ns() as f64, 10e9 * (1.0 - 1.0 / 1.1999 / 2.0), "longest wait");
    }

    #[test]
    fn think_time_lowers_the_rate_and_is_no_response_time() {
        let (seen, _) = stalling(Pacing::Closed { think: Nanos::from_micros(900) }, 5);
        assert_near(seen.ok as f64, 5_000.0, "operations");
        assert_near(ms_at(&seen.response, 0.5), 0.1, "p50");
    }

    /// Operations with a pause of 0.4 ms and one of 1.4 ms in turn.
    struct Pausing(u64);
    impl Workload<SqlOp> for Pausing {
        fn fill_ops(&mut self, ops: &mut [SqlOp]) {
            for op in ops {
                self.0 += 1;
                op.pause = Nanos::from_micros(if self.0.is_multiple_of(2) { 400 } else { 1_400 });
            }
        }
    }

    /// 0.1 ms for each operation, of one client or of several that share a thread.
    struct Quick {
        clock: Arc<SimClock>,
        in_flight: std::collections::VecDeque<(Tick, u32)>,
    }
    const QUICK: Nanos = Nanos::from_micros(100);
    impl Driver for Quick {
        type Op = SqlOp;
        fn execute_op(&mut self, _: &SqlOp) -> Outcome {
            self.clock.advance(QUICK);
            Outcome::Ok { bytes: 0 }
        }
        fn describe_failure(&self) -> String {
            String::new()
        }
    }
    impl BatchDriver for Quick {
        type Op = SqlOp;
        fn depth(&self) -> u32 {
            4
        }
        fn push_op(&mut self, slot: u32, _: &SqlOp) {
            self.in_flight.push_back((self.clock.now() + QUICK, slot));
        }
        fn submit_and_wait(&mut self, timeout: Nanos, done: &mut Vec<FinishedOp>) {
            match self.in_flight.front() {
                Some((at, _)) if *at <= self.clock.now() + timeout => {
                    self.clock.wait_until(*at);
                    let (_, slot) = self.in_flight.pop_front().expect("it is there");
                    done.push(FinishedOp { slot, outcome: Outcome::Ok { bytes: 0 } });
                }
                _ => self.clock.advance(timeout),
            }
        }
        fn describe_failure(&self) -> String {
            String::new()
        }
    }

    /// What is seen of 5 s of a load whose operations have pauses of 0.9 ms on average.
    fn pausing(pacing: &Pacing, clients: u64) -> Totals {
        let clock = Arc::new(SimClock::default());
        let schedule = Schedule::new(Phase::Run, Tick(0), Nanos::from_secs(5), None, pacing, 1);
        let (out, delivered) = mpsc::channel();
        let mut recorder = Recorder::new(0, 1, Nanos::from_secs(1), out);
        recorder.begin_phase(&schedule);
        let (mut driver, stop) = (Quick { clock: clock.clone(), in_flight: Default::default() }, Stop::default());
        let source = |nth| OpSource::from_workload(Box::new(Pausing(nth)), 8, None);
        match clients {
            1 => run_sync(&schedule, &clock, &mut source(0), &mut driver, &mut recorder, &stop),
            _ => {
                let mut sources: Vec<_> = (0..clients).map(source).collect();
                run_batched(&schedule, &clock, &mut sources, &mut driver, StampMode::Each, &mut recorder, &stop);
            }
        }
        recorder.end_phase();
        drop(recorder);
        totals(delivered)
    }

    #[test]
    fn pauses_of_operations_lower_the_rate_in_a_closed_loop_and_are_no_response_time() {
        let thinking = Pacing::Closed { think: Nanos::from_micros(1_000) };
        for (pacing, per_client_s) in [(CLOSED, 1_000.0), (thinking, 500.0)] {
            for clients in [1, 4] {
                let seen = pausing(&pacing, clients);
                assert_near(seen.ok as f64, 5.0 * per_client_s * clients as f64, "operations");
                assert_near(ms_at(&seen.response, 0.5), 0.1, "p50");
            }
        }
        assert_eq!(pausing(&OPEN, 1).ok, 25_000, "an open loop has no pauses");
    }

    /// Turns of an operation and two steps: 1 ms, 2 ms and 4 ms. Each tenth operation fails.
    struct Turns {
        clock: Arc<SimClock>,
        begun: u64,
    }
    impl Driver for Turns {
        type Op = ConnectOp;
        fn execute_op(&mut self, op: &ConnectOp) -> Outcome {
            let ms = match op.step {
                ConnectStep::Connect => 1,
                ConnectStep::FirstQuery => 2,
                _ => 4,
            };
            self.clock.advance(Nanos::from_millis(ms));
            self.begun += u64::from(!op.follows());
            if !op.follows() && self.begun.is_multiple_of(10) {
                Outcome::Failed(model::FailureClass::Other)
            } else {
                Outcome::Ok { bytes: 0 }
            }
        }
        fn describe_failure(&self) -> String {
            String::new()
        }
    }
    impl Workload<ConnectOp> for AnyOp {
        fn fill_ops(&mut self, ops: &mut [ConnectOp]) {
            let steps = [ConnectStep::Connect, ConnectStep::FirstQuery, ConnectStep::Close];
            for (nth, op) in ops.iter_mut().enumerate() {
                *op = ConnectOp { op_kind: model::OpKind((nth % 3) as u8), step: steps[nth % 3] };
            }
        }
    }

    /// For ten seconds of `pacing`: how often each kind was done and failed, and the median of its response time in ms.
    fn turns(pacing: Pacing) -> [(u64, u64, f64); 3] {
        let clock = Arc::new(SimClock::default());
        let (out, delivered) = mpsc::channel();
        let schedule = Schedule::new(Phase::Run, Tick(0), Nanos::from_secs(10), None, &pacing, 1);
        let schedule = schedule.with_on_error(OnError::Count);
        let mut recorder = Recorder::new(0, 3, Nanos::from_secs(1), out);
        recorder.begin_phase(&schedule);
        let mut driver = Turns { clock: clock.clone(), begun: 0 };
        let mut source = OpSource::from_workload(Box::new(AnyOp), 63, None);
        run_sync(&schedule, &clock, &mut source, &mut driver, &mut recorder, &Stop::default());
        recorder.end_phase();
        drop(recorder);
        let rows: Vec<_> = delivered
            .iter()
            .filter_map(|it| if let Delivery::Interval { row, .. } = it { Some(row) } else { None })
            .collect();
        [0u8, 1, 2].map(|number| {
            let own = || rows.iter().flat_map(|row| &row.kinds).filter(|kind| kind.kind.0 == number);
            let times = Times::merged(own().map(|kind| &kind.response));
            (own().map(|kind| kind.ok).sum(), own().map(|kind| kind.failed).sum(), ms_at(&times, 0.5))
        })
    }

    #[test]
    fn steps_follow_in_the_turn_of_their_operation_and_have_no_arrival() {
        // 9 turns of 7 ms and a failed one of 1 ms: 64 ms for ten.
        let [first, second, third] = turns(CLOSED);
        assert_near((first.0 + first.1) as f64, 10_000.0 / 6.4, "turns");
        assert_eq!((first.0, first.0), (second.0, third.0), "each turn that did not fail has all steps");
        assert_near(first.1 as f64, first.0 as f64 / 9.0, "failed");
        assert_eq!((second.1, third.1), (0, 0));
        [(first.2, 1.0), (second.2, 2.0), (third.2, 4.0)].iter().for_each(|(seen, ms)| assert_near(*seen, *ms, "ms"));
    }

    #[test]
    fn an_arrival_begins_a_turn_and_waits_for_the_turn_before_it() {
        let at = |per_s| turns(Pacing::Open { arrivals: Arrivals::Constant { per_s } });
        let [first, second, third] = at(100.0);
        assert_eq!((first.0 + first.1, second.0, third.0), (1_000, first.0, first.0));
        assert_near(first.2, 1.0, "a turn in time");
        // 200 a second need 1.28 s of each: the turns fall behind, their steps do not.
        let [late, second, _] = at(200.0);
        assert!(late.2 > 500.0, "{late:?}");
        assert_near(second.2, 2.0, "a step");
    }

    #[test]
    fn a_batch_keeps_its_depth_under_way() {
        let (seen, _) = run(CLOSED, 1, |schedule, clock, source, recorder, stop| {
            let mut ring = Ring { clock: clock.clone(), in_flight: Default::default(), together: 2 };
            run_batched(schedule, clock, source, &mut ring, StampMode::Batch, recorder, stop);
        });
        assert_near(seen.ok as f64, 20_000.0, "operations");
        assert_near(ms_at(&seen.response, 0.5), 0.4, "p50 of 8 under way, 2 done each 0.1 ms");
    }

    #[test]
    fn a_batch_in_an_open_loop_counts_from_the_intended_start() {
        let arrivals = Arrivals::Poisson { per_s: 40_000.0 };
        let (seen, schedule) = run(Pacing::Open { arrivals }, 1, |schedule, clock, source, recorder, stop| {
            let mut ring = Ring { clock: clock.clone(), in_flight: Default::default(), together: 2 };
            run_batched(schedule, clock, source, &mut ring, StampMode::Batch, recorder, stop);
        });
        let offered = schedule.offered_until(Tick(u64::MAX)) as f64;
        assert_near(offered, 40_000.0, "offered");
        assert!((seen.ok as f64) < 0.52 * offered, "{} done of {offered}", seen.ok);
        assert!(seen.response.max_ns() > 400_000_000, "the wait is in the response time");
        assert!(seen.service.max_ns() < 1_000_000, "and not in the service time");
    }

    #[test]
    fn operations_with_stamps_of_their_own_do_not_count_the_submission_of_others() {
        for (stamp, ms) in [(StampMode::Batch, 0.8), (StampMode::Each, 0.1)] {
            for pacing in [CLOSED, Pacing::Open { arrivals: Arrivals::Constant { per_s: 20_000.0 } }] {
                let (seen, _) = run(pacing, 1, |schedule, clock, source, recorder, stop| {
                    let mut driver = SlowToSubmit { clock: clock.clone(), pushed: Vec::new() };
                    run_batched(schedule, clock, source, &mut driver, stamp, recorder, stop);
                });
                assert_near(seen.ok as f64, 10_000.0, "operations");
                assert_near(ms_at(&seen.service, 0.5), ms, "p50");
            }
        }
    }

    #[test]
    fn stamps_of_their_own_keep_the_depth_under_way_all_the_same() {
        let (seen, _) = run(CLOSED, 1, |schedule, clock, source, recorder, stop| {
            let mut ring = Ring { clock: clock.clone(), in_flight: Default::default(), together: 1 };
            run_batched(schedule, clock, source, &mut ring, StampMode::Each, recorder, stop);
        });
        assert_near(seen.ok as f64, 10_000.0, "operations");
        assert_near(ms_at(&seen.service, 0.5), 0.8, "p50 of 8 under way, 1 done each 0.1 ms");
    }

    #[test]
    fn what_is_made_ready_before_and_looked_at_after_an_operation_is_in_no_time_and_counts() {
        let sync = run(CLOSED, 21, |schedule, clock, source, recorder, stop| {
            let mut driver = Checking { clock: clock.clone(), settled: 0 };
            run_sync(schedule, clock, source, &mut driver, recorder, stop);
        });
        let batched = run(CLOSED, 21, |schedule, clock, source, recorder, stop| {
            let mut driver = Checking { clock: clock.clone(), settled: 0 };
            run_batched(schedule, clock, source, &mut driver, StampMode::Batch, recorder, stop);
        });
        for (seen, _) in [sync, batched] {
            assert_near(seen.ok as f64, 5_000.0, "operations found right");
            assert_near(seen.failed as f64, 5_000.0, "operations found wrong");
            assert_near(seen.service.max_ns() as f64, 1e5, "longest time");
        }
    }

    /// 0.1 ms for each operation, which is held back for 1 ms before.
    struct Holding(Arc<SimClock>);
    impl Driver for Holding {
        type Op = IoOp;
        fn hold_op(&mut self, _: &IoOp, is_over: impl Fn() -> bool) -> bool {
            self.0.advance(Nanos::from_millis(1));
            !is_over()
        }
        fn execute_op(&mut self, _: &IoOp) -> Outcome {
            self.0.advance(Nanos::from_micros(100));
            Outcome::Ok { bytes: 1 }
        }
        fn describe_failure(&self) -> String {
            String::new()
        }
    }

    #[test]
    fn for_how_long_an_operation_is_held_back_is_in_no_service_time_and_makes_an_arrival_late() {
        let open = Pacing::Open { arrivals: Arrivals::Constant { per_s: 100.0 } };
        let [arrivals, closed] = [open, CLOSED].map(|pacing| {
            let (seen, _) = run(pacing, 10, |schedule, clock, source, recorder, stop| {
                run_sync(schedule, clock, source, &mut Holding(clock.clone()), recorder, stop);
            });
            assert_near(seen.service.max_ns() as f64, 1e5, "longest time");
            seen
        });
        assert_near(ms_at(&arrivals.response, 0.5), 1.1, "p50 from when it was due");
        // The last one may be held until the end.
        assert!(arrivals.ok > 900 && arrivals.late + 1 >= arrivals.ok, "{} of {}", arrivals.late, arrivals.ok);
        assert_eq!(closed.late, 0);
    }

    /// `slots` servers of `service` each: a client for each of them, as theory has it (M/D/c and D/D/c).
    struct Servers {
        clock: Arc<SimClock>,
        slots: u32,
        service: Nanos,
        /// Those at work, and when they are done: the first is done first.
        at_work: std::collections::VecDeque<(Tick, u32)>,
    }
    impl BatchDriver for Servers {
        type Op = IoOp;
        fn depth(&self) -> u32 {
            self.slots
        }
        fn push_op(&mut self, slot: u32, _: &IoOp) {
            self.at_work.push_back((self.clock.now() + self.service, slot));
        }
        fn submit_and_wait(&mut self, timeout: Nanos, done: &mut Vec<FinishedOp>) {
            let first = self.at_work.front().map_or(Tick(u64::MAX), |(at, _)| *at);
            self.clock.wait_until(first.min(self.clock.now() + timeout));
            while let Some((_, slot)) = self.at_work.pop_front_if(|(at, _)| *at <= self.clock.now()) {
                done.push(FinishedOp { slot, outcome: Outcome::Ok { bytes: 1 } });
            }
        }
        fn describe_failure(&self) -> String {
            String::new()
        }
    }
    impl Driver for Servers {
        type Op = IoOp;
        fn execute_op(&mut self, _: &IoOp) -> Outcome {
            self.clock.advance(self.service);
            Outcome::Ok { bytes: 1 }
        }
        fn describe_failure(&self) -> String {
            String::new()
        }
    }

    /// `seconds` of an open loop before servers of 1 ms, and when it ended.
    fn serve(arrivals: Arrivals, slots: u32, seconds: u64) -> (Totals, Schedule, Tick) {
        let mut ended = Tick(0);
        let (seen, schedule) = run(Pacing::Open { arrivals }, seconds, |schedule, clock, source, recorder, stop| {
            let service = Nanos::from_millis(1);
            let mut servers = Servers { clock: clock.clone(), slots, service, at_work: Default::default() };
            match slots {
                1 => run_sync(schedule, clock, source, &mut servers, recorder, stop),
                _ => run_batched(schedule, clock, source, &mut servers, StampMode::Batch, recorder, stop),
            }
            ended = clock.now();
        });
        (seen, schedule, ended)
    }

    fn unserved(seen: &Totals, schedule: &Schedule) -> u64 {
        schedule.offered_until(Tick(u64::MAX)) - seen.ok - seen.failed
    }

    #[test]
    fn an_open_loop_lasts_as_long_as_was_asked_and_serves_what_falls_due_in_it() {
        for (per_s, ops) in [(0.5, 4), (1.0, 8), (10.0, 80)] {
            for slots in [1, 8] {
                let (seen, schedule, ended) = serve(Arrivals::Constant { per_s }, slots, 8);
                assert_eq!((seen.ok, seen.late, ended), (ops, 0, Tick(8_000_000_000)));
                assert_eq!((schedule.end(), unserved(&seen, &schedule)), (ended, 0));
                let (seen, schedule, ended) = serve(Arrivals::Poisson { per_s }, slots, 8);
                assert_eq!((unserved(&seen, &schedule), ended), (0, Tick(8_000_000_000)));
            }
        }
    }

    /// D/D/c: below the capacity no arrival waits. M/D/1: an arrival finds the server busy with the probability of the utilisation.
    #[test]
    fn the_share_of_late_arrivals_is_that_of_theory() {
        for slots in [1, 2, 8] {
            for utilisation in [0.1, 0.5, 0.875] {
                let per_s = utilisation * f64::from(slots) * 1_000.0;
                let (constant, schedule, _) = serve(Arrivals::Constant { per_s }, slots, 20);
                assert_eq!((constant.late, unserved(&constant, &schedule)), (0, 0), "{slots} clients at {utilisation}");
                let (poisson, ..) = serve(Arrivals::Poisson { per_s }, slots, 20);
                let share = poisson.late as f64 / poisson.ok as f64;
                match slots {
                    1 => assert!((share / utilisation - 1.0).abs() < 0.1, "{share} at {utilisation}"),
                    _ => assert!(share < utilisation, "{share} at {utilisation}: {slots} clients share the work"),
                }
            }
            let per_s = 1.1 * f64::from(slots) * 1_000.0;
            for arrivals in [Arrivals::Constant { per_s }, Arrivals::Poisson { per_s }] {
                let (seen, schedule, _) = serve(arrivals, slots, 20);
                let offered = schedule.offered_until(Tick(u64::MAX)) as f64;
                let left = unserved(&seen, &schedule) as f64 / offered;
                assert!((left - 0.1 / 1.1).abs() < 0.02, "{left} of {arrivals:?} are left");
            }
        }
    }

    /// Operations that fall due at times of their own: 0.5 ms apart, and a crowd of 100 at once after 1 s.
    struct Recorded(u64);
    impl Recorded {
        fn due_ns(nth: u64) -> u64 {
            nth.min(2_000) * 500_000
        }
    }
    impl Workload<IoOp> for Recorded {
        fn fill_ops(&mut self, ops: &mut [IoOp]) {
            for op in ops {
                op.due = Nanos(Recorded::due_ns(self.0));
                self.0 += 1;
            }
        }
    }

    /// With 1 ms of service one server is behind from the second operation on. Of several, two are busy when the crowd comes.
    #[test]
    fn recorded_operations_start_at_their_own_times_or_late_and_in_their_order() {
        for (slots, late) in [(1, 2_099..=2_099), (4, 96..=98), (8, 92..=94)] {
            let pacing = Pacing::Open { arrivals: Arrivals::Recorded { per_s: 1_000.0 } };
            let (clock, stop) = (Arc::new(SimClock::default()), Stop::default());
            let due: Vec<u64> = (0..2_100).map(Recorded::due_ns).collect();
            let schedule = Schedule::new(Phase::Run, Tick(0), Nanos::from_secs(10), None, &pacing, 1)
                .with_due_times(Some(Arc::new(due)), Nanos(0));
            let (out, delivered) = mpsc::channel();
            let mut recorder = Recorder::new(0, 1, Nanos::from_secs(1), out);
            recorder.begin_phase(&schedule);
            let mut source = OpSource::from_workload(Box::new(Recorded(0)), 64, Some(2_100));
            let service = Nanos::from_millis(1);
            let mut servers = Servers { clock: clock.clone(), slots, service, at_work: Default::default() };
            match slots {
                1 => run_sync(&schedule, &clock, &mut source, &mut servers, &mut recorder, &stop),
                _ => run_batched(&schedule, &clock, &mut source, &mut servers, StampMode::Batch, &mut recorder, &stop),
            }
            recorder.end_phase();
            drop(recorder);
            let seen = totals(delivered);
            assert!(seen.ok == 2_100 && late.contains(&seen.late), "{slots} slots: {} late of {}", seen.late, seen.ok);
            assert_eq!((unserved(&seen, &schedule), schedule.offered_until(Tick(u64::MAX))), (0, 2_100));
            // The last of the crowd waits for all before it.
            let last = if slots == 1 { 2_100 - 1_000 } else { 100 / u64::from(slots) };
            let longest = seen.response.max_ns() as f64 / 1e6;
            assert!((longest - last as f64).abs() <= 2.0, "{slots} slots: {longest} ms, not {last}");
        }
    }

    /// A clock whose every 50th wait takes 20 ms longer: the client got no CPU.
    struct Oversleeping {
        clock: Arc<SimClock>,
        waits: std::cell::Cell<u64>,
    }
    impl Clock for Oversleeping {
        fn now(&self) -> Tick {
            self.clock.now()
        }
        fn wait_until(&self, at: Tick) {
            self.waits.set(self.waits.get() + 1);
            let longer = self.waits.get().is_multiple_of(50);
            self.clock.wait_until(if longer { at + Nanos::from_millis(20) } else { at });
        }
    }

    #[test]
    fn what_waits_because_its_client_got_no_cpu_is_lag_and_not_late() {
        for slots in [1, 4] {
            let per_s = 500.0;
            let clock = Oversleeping { clock: Arc::default(), waits: Default::default() };
            let pacing = Pacing::Open { arrivals: Arrivals::Constant { per_s } };
            let schedule = Schedule::new(Phase::Run, Tick(0), Nanos::from_secs(10), None, &pacing, 1);
            let (out, delivered) = mpsc::channel();
            let mut recorder = Recorder::new(0, 1, Nanos::from_secs(1), out);
            recorder.begin_phase(&schedule);
            let mut source = OpSource::from_workload(Box::new(AnyOp), 64, None);
            let service = Nanos::from_micros(500);
            let mut servers = Servers { clock: clock.clock.clone(), slots, service, at_work: Default::default() };
            let stop = Stop::default();
            match slots {
                1 => run_sync(&schedule, &clock, &mut source, &mut servers, &mut recorder, &stop),
                _ => run_batched(&schedule, &clock, &mut source, &mut servers, StampMode::Batch, &mut recorder, &stop),
            }
            recorder.end_phase();
            drop(recorder);
            let rows: Vec<Delivery> = delivered.iter().collect();
            let (mut late, mut waited_ns, mut lag_ns) = (0, 0, 0);
            for row in &rows {
                let Delivery::Interval { row, .. } = row else { panic!("unexpected {row:?}") };
                late += row.kinds[0].late;
                waited_ns += row.kinds[0].response.sum_ns() - row.kinds[0].service.sum_ns();
                lag_ns += u128::from(row.generator.lag_sum_ns);
            }
            assert!(waited_ns > 1_000_000_000, "they waited {waited_ns} ns with {slots} clients");
            assert_eq!((late, lag_ns), (0, waited_ns), "{slots} clients");
        }
    }

    /// Operations of one client, with its number in `file`.
    struct OpsOf(u16);
    impl Workload<IoOp> for OpsOf {
        fn fill_ops(&mut self, ops: &mut [IoOp]) {
            ops.fill(IoOp { file: self.0, ..IoOp::default() });
        }
    }

    /// Clients that share a thread: each operation is done 0.1 ms after it was submitted, whatever the others do.
    struct Shared {
        clock: Arc<SimClock>,
        in_flight: std::collections::VecDeque<(Tick, u32)>,
        done_of: [u64; 4],
    }
    impl BatchDriver for Shared {
        type Op = IoOp;
        fn depth(&self) -> u32 {
            4
        }
        fn push_op(&mut self, slot: u32, op: &IoOp) {
            assert_eq!(u32::from(op.file), slot, "an operation of somebody else");
            self.in_flight.push_back((self.clock.now() + Nanos::from_micros(100), slot));
        }
        fn submit_and_wait(&mut self, timeout: Nanos, done: &mut Vec<FinishedOp>) {
            let (now, first) = (self.clock.now(), self.in_flight.front().map(|(at, _)| at.since(self.clock.now())));
            self.clock.advance(first.map_or(timeout, |first| first.min(timeout)));
            assert!(first.is_some() || timeout > Nanos(0) || self.clock.now() > now, "it waits for nothing");
            while let Some((_, slot)) = self.in_flight.pop_front_if(|(at, _)| *at <= self.clock.now()) {
                self.done_of[slot as usize] += 1;
                done.push(FinishedOp { slot, outcome: Outcome::Ok { bytes: 1 } });
            }
        }
        fn describe_failure(&self) -> String {
            String::new()
        }
    }

    /// 64 clients on a thread that needs 5 us to send a statement and 5 us to take an answer, before a server that answers at once.
    struct BusyThread {
        clock: Arc<SimClock>,
        answered: std::collections::VecDeque<u32>,
    }
    impl BusyThread {
        fn work(&self) {
            self.clock.advance(Nanos::from_micros(5));
        }
    }
    impl BatchDriver for BusyThread {
        type Op = IoOp;
        fn depth(&self) -> u32 {
            64
        }
        fn push_op(&mut self, slot: u32, _: &IoOp) {
            self.answered.push_back(slot);
        }
        fn submit_and_wait(&mut self, timeout: Nanos, done: &mut Vec<FinishedOp>) {
            self.work();
            if timeout > Nanos(0) {
                self.work();
                done.extend(
                    self.answered.pop_front().map(|slot| FinishedOp { slot, outcome: Outcome::Ok { bytes: 1 } }),
                );
            }
        }
        fn describe_failure(&self) -> String {
            String::new()
        }
    }

    /// Little's law: clients = rate x response time, if no client waits for its thread outside of its operations.
    #[test]
    fn what_clients_wait_for_a_busy_thread_is_in_their_times() {
        let (seen, _) = run(CLOSED, 1, |schedule, clock, _, recorder, stop| {
            let mut sources: Vec<_> = (0..64).map(|_| OpSource::from_workload(Box::new(AnyOp), 64, None)).collect();
            let mut driver = BusyThread { clock: clock.clone(), answered: Default::default() };
            run_batched(schedule, clock, &mut sources, &mut driver, StampMode::Each, recorder, stop);
        });
        let busy = seen.response.sum_ns() as f64 / 1e9;
        assert_near(busy, 64.0, "seconds of operations in a second");
    }

    /// A second of `pacing` with four clients on a thread, of which number `n` has `limits[n]` operations: how many each did.
    fn shared(pacing: Pacing, limits: [Option<u64>; 4]) -> (Totals, [u64; 4]) {
        let mut done_of = [0; 4];
        let (seen, _) = run(pacing, 1, |schedule, clock, _, recorder, stop| {
            let source = |n: u16| OpSource::from_workload(Box::new(OpsOf(n)), 64, limits[usize::from(n)]);
            let mut sources: Vec<_> = (0..4).map(source).collect();
            let mut driver = Shared { clock: clock.clone(), in_flight: Default::default(), done_of };
            run_batched(schedule, clock, &mut sources, &mut driver, StampMode::Each, recorder, stop);
            done_of = driver.done_of;
        });
        (seen, done_of)
    }

    #[test]
    fn clients_that_share_a_thread_work_at_once_and_each_of_them_thinks_by_itself() {
        for (think_us, each) in [(0, 10_000.0), (900, 1_000.0), (300, 2_500.0)] {
            let (seen, done_of) = shared(Pacing::Closed { think: Nanos::from_micros(think_us) }, [None; 4]);
            done_of.iter().for_each(|done| assert_near(*done as f64, each, "operations of a client"));
            assert_near(ms_at(&seen.service, 0.5), 0.1, "p50");
        }
    }

    #[test]
    fn arrivals_go_to_the_clients_of_a_thread_in_turn() {
        let (seen, done_of) = shared(Pacing::Open { arrivals: Arrivals::Constant { per_s: 400.0 } }, [None; 4]);
        assert_eq!((seen.ok, done_of), (400, [100; 4]));
        assert_near(ms_at(&seen.response, 0.99), 0.1, "p99");
    }

    #[test]
    fn a_client_that_is_through_leaves_its_neighbours_their_operations() {
        let few = [Some(3), Some(0), None, Some(50)];
        let (_, done_of) = shared(CLOSED, few);
        assert_eq!((done_of[0], done_of[1], done_of[2] > 9_000, done_of[3]), (3, 0, true, 50));
        let (seen, _) = shared(Pacing::Open { arrivals: Arrivals::Constant { per_s: 1e5 } }, [Some(1_000); 4]);
        assert_eq!(seen.ok, 4_000);
    }

    /// 1 ms for each operation; with the third of them another client ends the schedule.
    struct Ending {
        schedule: Arc<Schedule>,
        clock: Arc<SimClock>,
        done: u64,
    }
    impl Ending {
        fn perform(&mut self) {
            self.clock.advance(Nanos::from_millis(1));
            self.done += 1;
            if self.done == 3 {
                self.schedule.end_at(self.clock.now());
            }
        }
    }
    impl Driver for Ending {
        type Op = IoOp;
        fn execute_op(&mut self, _: &IoOp) -> Outcome {
            self.perform();
            Outcome::Ok { bytes: 1 }
        }
        fn describe_failure(&self) -> String {
            String::new()
        }
    }
    impl BatchDriver for Ending {
        type Op = IoOp;
        fn depth(&self) -> u32 {
            8
        }
        fn push_op(&mut self, slot: u32, _: &IoOp) {
            assert_eq!(slot, 0, "one at a time falls due");
        }
        fn submit_and_wait(&mut self, _: Nanos, done: &mut Vec<FinishedOp>) {
            self.perform();
            done.push(FinishedOp { slot: 0, outcome: Outcome::Ok { bytes: 1 } });
        }
        fn describe_failure(&self) -> String {
            String::new()
        }
    }

    #[test]
    fn an_arrival_that_would_fall_due_after_an_end_that_came_early_is_not_waited_for() {
        let twice_a_second = Pacing::Open { arrivals: Arrivals::Constant { per_s: 2.0 } };
        for batched in [false, true] {
            let clock = Arc::new(SimClock::default());
            let schedule = Schedule::new(Phase::Run, Tick(0), Nanos::from_secs(3_600), None, &twice_a_second, 1);
            let schedule = Arc::new(schedule);
            let (out, delivered) = mpsc::channel();
            let mut recorder = Recorder::new(0, 1, Nanos::from_secs(1), out);
            recorder.begin_phase(&schedule);
            let mut source = OpSource::from_workload(Box::new(AnyOp), 64, None);
            let mut driver = Ending { schedule: schedule.clone(), clock: clock.clone(), done: 0 };
            let stop = Stop::default();
            if batched {
                run_batched(&schedule, &clock, &mut source, &mut driver, StampMode::Batch, &mut recorder, &stop)
            } else {
                run_sync(&schedule, &clock, &mut source, &mut driver, &mut recorder, &stop)
            }
            recorder.end_phase();
            drop(recorder);
            let end = Tick(1_001_000_000);
            assert_eq!(
                (totals(delivered).ok, schedule.end(), schedule.offered_until(end), clock.now()),
                (3, end, 3, end)
            );
        }
    }

    #[test]
    fn a_load_told_to_stop_starts_nothing_more() {
        let (seen, _) = run(CLOSED, 60, |schedule, clock, source, recorder, stop| {
            stop.request(crate::StopReason::Interrupted);
            let mut driver = Stalling { clock: clock.clone(), done: 0 };
            run_sync(schedule, clock, source, &mut driver, recorder, stop);
        });
        assert_eq!(seen.ok, 0);
    }
}
