//! A client's own record of what it did: counts and histograms of the interval that is open. Clients that share a thread share it.
//!
//! In: one [`Completion`] an operation. Out: an [`IntervalRow`] for each interval in which something ended, and the first
//! failure of each class; at the end of a phase of recorded times how punctually its operations began. Limits: belongs to one client
//! thread; nothing here is locked or, but at an interval's end, allocated, and nothing but the count of operations is shared.

use crate::progress::ClientCount;
use crate::schedule::{DueTimes, Schedule, StartCounts};
use crate::usage;
use model::{
    Completion, EndpointInterval, EndpointRow, FailureClass, FailureCounts, Generator, IntervalRow, KindRow,
    LatencyCounts, Nanos, OpKind, Outcome, Phase, RowCounts, Tick,
};
use std::sync::Arc;
use std::sync::mpsc::Sender;

/// What a client sends to the collector.
#[derive(Debug)]
pub enum Delivery {
    /// The client has opened what it works with and waits for the schedules.
    Opened,
    /// An interval is over. The row has the CPU, context switches and lag since the row before: an operation that began earlier brings
    /// its CPU along.
    Interval {
        /// Which client; of several that share a thread the first.
        client: u32,
        /// What it did in the interval.
        row: IntervalRow,
        /// Whether an operation of it ended otherwise than by the loss of its connection.
        is_answered: bool,
    },
    /// What was done on each of several endpoints in an interval that is over.
    Endpoints(Vec<EndpointInterval>),
    /// The first failure of its class on this client.
    Failure {
        /// The number of the client.
        client: u32,
        /// When the operation ended.
        at: Tick,
        /// What kind of failure it is.
        class: FailureClass,
        /// The driver's description of it.
        text: String,
    },
    /// The first operation of its kind on this client that missed rows.
    Miss {
        /// The number of the client.
        client: u32,
        /// When the operation ended.
        at: Tick,
        /// The driver's description of it.
        text: String,
    },
    /// The client could not begin, or panicked: a failure of the point.
    Broken {
        /// The number of the client.
        client: u32,
        /// The reason, for people.
        text: String,
    },
    /// The client has performed its last phase and is gone.
    Ended {
        /// The number of the client.
        client: u32,
        /// When its last operation ended.
        at: Tick,
    },
}

/// The operations of one kind in the interval that is open, with dense counts: of one client, or in the collector of all.
#[derive(Default)]
pub(crate) struct KindRecord {
    ok: u64,
    failed: u64,
    bytes: u64,
    late: u64,
    rows: RowCounts,
    service: LatencyCounts,
    /// Empty while the response times are the service times, as they are in a closed loop.
    response: LatencyCounts,
}

/// The operations on one endpoint in the interval that is open: of one client, or in the collector of all.
#[derive(Default)]
pub(crate) struct EndpointRecord {
    ok: u64,
    failed: FailureCounts,
    response: LatencyCounts,
}

/// When the operations of a recording began, as far as this client has performed them.
struct RecordedStarts {
    times: Arc<dyn DueTimes>,
    on_time_within: Nanos,
    counts: StartCounts,
}

impl RecordedStarts {
    fn of(times: Arc<dyn DueTimes>) -> RecordedStarts {
        RecordedStarts { on_time_within: times.on_time_within(), times, counts: StartCounts::default() }
    }

    fn hand_over(self) {
        self.times.add_starts(self.counts);
    }
}

/// A client's record of the interval that is open.
pub struct Recorder {
    client: u32,
    interval: Nanos,
    phase: Phase,
    closed: bool,
    phase_start: Tick,
    index: u32,
    interval_end: Tick,
    last_finished: Tick,
    kinds: Vec<KindRecord>,
    /// How many operations of the open interval have lost their connection.
    lost: u64,
    /// Of an engine with several endpoints: one for each that this client has used.
    endpoints: Vec<EndpointRecord>,
    lag: Generator,
    /// When the operations of a recording began, if one is replayed.
    starts: Option<RecordedStarts>,
    used_before: Generator,
    seen_failures: Vec<FailureClass>,
    /// The kinds of which an operation missed rows.
    seen_misses: Vec<OpKind>,
    done: Arc<ClientCount>,
    out: Sender<Delivery>,
}

impl Recorder {
    /// The recorder of `client` for operations of `kinds` kinds, in intervals of `interval`.
    pub fn new(client: u32, kinds: usize, interval: Nanos, out: Sender<Delivery>) -> Self {
        Recorder {
            client,
            interval,
            phase: Phase::Run,
            closed: true,
            phase_start: Tick(0),
            index: 0,
            interval_end: Tick(0),
            last_finished: Tick(0),
            kinds: (0..kinds).map(|_| KindRecord::default()).collect(),
            lost: 0,
            endpoints: Vec::new(),
            lag: Generator::default(),
            starts: None,
            used_before: usage::of_this_thread(),
            seen_failures: Vec::new(),
            seen_misses: Vec::new(),
            // Shared with a watch that only reads it, so that a client never waits for one.
            done: Arc::default(),
            out,
        }
    }

    /// The count of its operations.
    pub(crate) fn done(&self) -> Arc<ClientCount> {
        self.done.clone()
    }

    /// Begins the phase of `schedule`; what the thread used before it counts in no phase.
    pub fn begin_phase(&mut self, schedule: &Schedule) {
        self.phase = schedule.phase;
        self.closed = schedule.is_closed();
        let times = schedule.due_times().filter(|_| schedule.phase == Phase::Run);
        self.starts = times.map(|times| RecordedStarts::of(times.clone()));
        self.phase_start = schedule.start;
        self.index = 0;
        self.interval_end = schedule.start + self.interval;
        self.used_before = usage::of_this_thread();
    }

    /// Counts one operation. `late`: it had fallen due before this client was free.
    // Always inlined: called, it reads the completion back from the stack, to which it was just written in pieces, and waits for that.
    #[inline(always)]
    pub fn record(&mut self, done: &Completion, late: bool) {
        if done.finished >= self.interval_end {
            self.roll_interval(done.finished);
        }
        self.last_finished = done.finished;
        let record = &mut self.kinds[done.kind.0 as usize];
        record.late += late as u64;
        match done.outcome {
            Outcome::Ok { bytes } => {
                record.ok += 1;
                self.done.add_one();
                record.bytes += bytes as u64;
                record.service.record(done.finished.since(done.started).0);
                if !self.closed {
                    record.response.record(done.finished.since(done.intended).0);
                }
            }
            Outcome::Failed(class) => {
                record.failed += 1;
                self.lost += u64::from(class.is_of_connection());
            }
        }
        if let Some(starts) = &mut self.starts {
            starts.counts.count(done.started.since(done.intended), starts.on_time_within);
        }
    }

    /// Counts the rows of an operation of `kind` by client number `nth` of those that are recorded here. It was recorded before, as done.
    /// `describe` is called for the first of its kind that missed some.
    #[inline]
    pub fn record_rows(&mut self, nth: u32, kind: OpKind, rows: &RowCounts, describe: impl FnOnce() -> String) {
        self.kinds[usize::from(kind)].rows.add(rows);
        if rows.missed > 0 {
            self.report_miss(nth, kind, describe);
        }
    }

    #[cold]
    fn report_miss(&mut self, nth: u32, kind: OpKind, describe: impl FnOnce() -> String) {
        if !self.seen_misses.contains(&kind) {
            self.seen_misses.push(kind);
            self.send_delivery(Delivery::Miss { client: self.client + nth, at: self.last_finished, text: describe() });
        }
    }

    /// Counts an operation, which was recorded before, for the endpoint on which it ended.
    #[inline]
    pub fn record_endpoint(&mut self, endpoint: u16, done: &Completion) {
        let endpoint = usize::from(endpoint);
        if endpoint >= self.endpoints.len() {
            self.add_endpoints(endpoint + 1);
        }
        let record = &mut self.endpoints[endpoint];
        match done.outcome {
            Outcome::Ok { .. } => {
                record.ok += 1;
                record.response.record(done.finished.since(done.intended).0);
            }
            Outcome::Failed(class) => record.failed.count(class),
        }
    }

    #[cold]
    fn add_endpoints(&mut self, number: usize) {
        self.endpoints.resize_with(number, EndpointRecord::default);
    }

    /// Counts that this client waited for an arrival and woke up `lag` after it.
    #[inline]
    pub fn record_lag(&mut self, lag: Nanos) {
        self.lag.lag_count += 1;
        self.lag.lag_sum_ns += lag.0;
        self.lag.lag_max_ns = self.lag.lag_max_ns.max(lag.0);
    }

    /// Reports a failed operation, once for each class. `describe` is called only then.
    #[cold]
    pub fn report_failure(&mut self, class: FailureClass, at: Tick, describe: impl FnOnce() -> String) {
        self.report_failure_of(0, class, at, describe);
    }

    /// The same if several clients are recorded here, of which this is number `nth`.
    #[cold]
    pub fn report_failure_of(&mut self, nth: u32, class: FailureClass, at: Tick, describe: impl FnOnce() -> String) {
        // A full disk fails a million operations in the same way: their number is counted, and one of them is described.
        if !self.seen_failures.contains(&class) {
            self.seen_failures.push(class);
            self.send_delivery(Delivery::Failure { client: self.client + nth, at, class, text: describe() });
        }
    }

    /// Reports that the client cannot go on, and why.
    #[cold]
    pub fn break_off(&mut self, text: String) {
        self.send_delivery(Delivery::Broken { client: self.client, text });
    }

    /// Hands over the last interval of the phase.
    pub fn end_phase(&mut self) {
        self.hand_over();
        self.starts.take().into_iter().for_each(RecordedStarts::hand_over);
    }

    /// When the last operation ended.
    pub fn last_finished(&self) -> Tick {
        self.last_finished
    }

    /// Hands over the open interval and opens the one that holds `at`.
    #[cold]
    fn roll_interval(&mut self, at: Tick) {
        self.hand_over();
        // Intervals in which nothing ended are skipped and have no row.
        self.index = (at.since(self.phase_start).0 / self.interval.0) as u32;
        self.interval_end = self.phase_start + Nanos((self.index as u64 + 1) * self.interval.0);
    }

    fn hand_over(&mut self) {
        if self.kinds.iter().all(KindRecord::is_empty) {
            return; // what the thread used meanwhile goes with its next operations
        }
        // The usage is read once an interval: a read costs 300 ns.
        let used = usage::of_this_thread();
        let kinds = (0u8..).zip(&mut self.kinds).filter(|(_, record)| !record.is_empty());
        let row = IntervalRow {
            phase: self.phase,
            index: self.index,
            start: self.phase_start + Nanos(u64::from(self.index) * self.interval.0),
            length: self.interval,
            kinds: kinds.map(|(kind, record)| record.take_row(OpKind(kind))).collect(),
            generator: usage_between(&used, &self.used_before, &std::mem::take(&mut self.lag)),
        };
        self.used_before = used;
        let ended: u64 = row.kinds.iter().map(|kind| kind.ok + kind.failed).sum();
        let is_answered = ended > std::mem::take(&mut self.lost);
        self.send_delivery(Delivery::Interval { client: self.client, row, is_answered });
        self.hand_over_endpoints();
    }

    fn hand_over_endpoints(&mut self) {
        let (phase, index) = (self.phase, self.index);
        let used = (0u16..).zip(&mut self.endpoints).filter(|(_, record)| !record.is_empty());
        let rows: Vec<EndpointInterval> =
            used.map(|(endpoint, record)| EndpointInterval { phase, index, row: record.take_row(endpoint) }).collect();
        if !rows.is_empty() {
            self.send_delivery(Delivery::Endpoints(rows));
        }
    }

    /// Sends a delivery. A collector that is gone has given this client up, and the delivery is dropped.
    fn send_delivery(&self, delivery: Delivery) {
        let _ = self.out.send(delivery);
    }
}

impl KindRecord {
    fn is_empty(&self) -> bool {
        self.ok + self.failed == 0
    }

    /// Returns what was counted as a row of `kind`, and begins again from zero.
    pub(crate) fn take_row(&mut self, kind: OpKind) -> KindRow {
        let service = self.service.take();
        let response = if self.response.is_empty() { service.clone() } else { self.response.take() };
        KindRow {
            kind,
            ok: std::mem::take(&mut self.ok),
            failed: std::mem::take(&mut self.failed),
            bytes: std::mem::take(&mut self.bytes),
            late: std::mem::take(&mut self.late),
            rows: std::mem::take(&mut self.rows),
            response,
            service,
        }
    }

    /// Counts all of `row` here too.
    pub(crate) fn add_row(&mut self, row: &KindRow) {
        self.ok += row.ok;
        self.failed += row.failed;
        self.bytes += row.bytes;
        self.late += row.late;
        self.rows.add(&row.rows);
        let differs = row.response != row.service;
        if differs && self.response.is_empty() {
            self.response = self.service.clone(); // until now they were the same
        }
        if differs || !self.response.is_empty() {
            self.response.add(&row.response);
        }
        self.service.add(&row.service);
    }
}

impl EndpointRecord {
    fn is_empty(&self) -> bool {
        self.ok == 0 && self.failed.total() == 0
    }

    /// Returns what was counted as a row of `endpoint`, and begins again from zero.
    pub(crate) fn take_row(&mut self, endpoint: u16) -> EndpointRow {
        let (ok, failed) = (std::mem::take(&mut self.ok), std::mem::take(&mut self.failed));
        EndpointRow { endpoint, ok, failed, response: self.response.take() }
    }

    /// Counts all of `row` here too.
    pub(crate) fn add_row(&mut self, row: &EndpointRow) {
        self.ok += row.ok;
        self.failed.add(&row.failed);
        self.response.add(&row.response);
    }
}

fn usage_between(now: &Generator, before: &Generator, lag: &Generator) -> Generator {
    Generator {
        cpu_user_ns: now.cpu_user_ns.saturating_sub(before.cpu_user_ns),
        cpu_system_ns: now.cpu_system_ns.saturating_sub(before.cpu_system_ns),
        context_switches: now.context_switches.saturating_sub(before.context_switches),
        ..*lag
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Pacing;
    use std::sync::mpsc;

    fn completion(started_ms: u64, finished_ms: u64) -> Completion {
        let at = |ms| Tick(ms * 1_000_000);
        Completion {
            kind: OpKind(0),
            intended: at(started_ms),
            started: at(started_ms),
            finished: at(finished_ms),
            outcome: Outcome::Ok { bytes: 10 },
        }
    }

    #[test]
    fn each_operation_is_in_the_interval_in_which_it_ended() {
        let (out, delivered) = mpsc::channel();
        let mut recorder = Recorder::new(0, 1, Nanos::from_millis(100), out);
        let closed = Pacing::Closed { think: Nanos(0) };
        recorder.begin_phase(&Schedule::new(Phase::Run, Tick(0), Nanos::from_secs(1), None, &closed, 0));
        [(0, 50), (50, 99), (99, 101), (101, 450)]
            .into_iter()
            .for_each(|(s, f)| recorder.record(&completion(s, f), false));
        recorder.end_phase();
        drop(recorder);
        let seen: Vec<(u32, u64)> = delivered
            .iter()
            .map(|delivery| match delivery {
                Delivery::Interval { row, .. } => (row.index, row.kinds[0].ok),
                other => panic!("unexpected {other:?}"),
            })
            .collect();
        assert_eq!(seen, [(0, 2), (1, 1), (4, 1)]);
    }

    #[test]
    fn a_failure_is_counted_every_time_and_described_once() {
        let (out, delivered) = mpsc::channel();
        let mut recorder = Recorder::new(3, 1, Nanos::from_millis(100), out);
        let failed = Completion { outcome: Outcome::Failed(FailureClass::Io), ..completion(0, 1) };
        recorder.begin_phase(&Schedule::new(
            Phase::Run,
            Tick(0),
            Nanos(1),
            None,
            &Pacing::Closed { think: Nanos(0) },
            0,
        ));
        for _ in 0..3 {
            recorder.record(&failed, false);
            recorder.report_failure(FailureClass::Io, failed.finished, || "EIO".into());
        }
        recorder.end_phase();
        drop(recorder);
        let (mut told, mut counted) = (0, 0);
        for delivery in delivered.iter() {
            match delivery {
                Delivery::Failure { client: 3, .. } => told += 1,
                Delivery::Interval { row, .. } => counted += row.kinds[0].failed,
                other => panic!("unexpected {other:?}"),
            }
        }
        assert_eq!((told, counted), (1, 3));
    }

    #[test]
    fn an_interval_in_which_all_operations_lost_their_connection_was_not_answered() {
        let (out, delivered) = mpsc::channel();
        let mut recorder = Recorder::new(0, 1, Nanos::from_millis(100), out);
        let closed = Pacing::Closed { think: Nanos(0) };
        recorder.begin_phase(&Schedule::new(Phase::Run, Tick(0), Nanos::from_secs(1), None, &closed, 0));
        let failed = |class, at| Completion { outcome: Outcome::Failed(class), ..completion(at, at + 1) };
        recorder.record(&completion(0, 1), false);
        recorder.record(&failed(FailureClass::Lost, 50), false);
        recorder.record(&failed(FailureClass::Lost, 150), false);
        recorder.record(&failed(FailureClass::Killed, 160), false);
        recorder.record(&failed(FailureClass::Other, 250), false);
        recorder.end_phase();
        drop(recorder);
        let answered = |delivery| match delivery {
            Delivery::Interval { is_answered, .. } => is_answered,
            other => panic!("unexpected {other:?}"),
        };
        assert_eq!(delivered.iter().map(answered).collect::<Vec<bool>>(), [true, false, true]);
    }

    #[test]
    fn rows_are_counted_with_their_kind_and_the_first_miss_of_each_is_told() {
        let (out, delivered) = mpsc::channel();
        let mut recorder = Recorder::new(3, 1, Nanos::from_millis(100), out);
        let closed = Pacing::Closed { think: Nanos(0) };
        recorder.begin_phase(&Schedule::new(Phase::Run, Tick(0), Nanos::from_secs(1), None, &closed, 0));
        for missed in [0, 1, 1] {
            recorder.record(&completion(0, 50), false);
            recorder.record_rows(1, OpKind(0), &RowCounts { returned: 2, missed, ..RowCounts::default() }, || {
                "gone".into()
            });
        }
        recorder.end_phase();
        drop(recorder);
        let (mut told, mut rows) = (Vec::new(), RowCounts::default());
        for delivery in delivered.iter() {
            match delivery {
                Delivery::Miss { client, text, .. } => told.push((client, text)),
                Delivery::Interval { row, .. } => rows.add(&row.kinds[0].rows),
                other => panic!("unexpected {other:?}"),
            }
        }
        assert_eq!(told, [(4, "gone".to_owned())]);
        assert_eq!(rows, RowCounts { returned: 6, missed: 2, ..RowCounts::default() });
    }

    #[test]
    fn operations_are_counted_for_their_endpoint_with_failures_by_class() {
        let (out, delivered) = mpsc::channel();
        let mut recorder = Recorder::new(0, 1, Nanos::from_millis(100), out);
        let closed = Pacing::Closed { think: Nanos(0) };
        recorder.begin_phase(&Schedule::new(Phase::Run, Tick(0), Nanos::from_secs(1), None, &closed, 0));
        let lost = Completion { outcome: Outcome::Failed(FailureClass::Lost), ..completion(60, 70) };
        for (endpoint, done) in [(2, completion(0, 50)), (2, lost), (0, completion(70, 90)), (0, completion(90, 120))] {
            recorder.record(&done, false);
            recorder.record_endpoint(endpoint, &done);
        }
        recorder.end_phase();
        drop(recorder);
        let rows = delivered.iter().filter_map(|delivery| match delivery {
            Delivery::Endpoints(rows) => Some(rows),
            _ => None,
        });
        let seen: Vec<(u32, u16, u64, u64)> =
            rows.flatten().map(|one| (one.index, one.row.endpoint, one.row.ok, one.row.failed.total())).collect();
        assert_eq!(seen, [(0, 0, 1, 0), (0, 2, 1, 1), (1, 0, 1, 0)]);
    }

    #[test]
    fn rows_of_clients_add_up_and_share_their_times_while_no_response_time_differs() {
        let times = |times_ns: &[u64]| {
            let mut times = model::Times::default();
            times_ns.iter().for_each(|ns| times.record_n(*ns, 1));
            times
        };
        let row = |response: &[u64], service: &[u64]| KindRow {
            ok: service.len() as u64,
            failed: 1,
            bytes: 10,
            response: times(response),
            service: times(service),
            ..KindRow::empty(OpKind(1))
        };
        let sum = |rows: &[KindRow]| {
            let mut all = KindRecord::default();
            rows.iter().for_each(|row| all.add_row(row));
            all.take_row(OpKind(1))
        };
        let same = row(&[500, 70_000], &[500, 70_000]);
        let apart = row(&[90_000], &[600]);
        let closed = sum(&[same.clone(), same.clone()]);
        assert_eq!((closed.ok, closed.failed, closed.bytes), (4, 2, 20));
        assert_eq!(closed.response, closed.service);
        for rows in [[same.clone(), apart.clone()], [apart, same]] {
            let open = sum(&rows);
            assert_eq!(open.service, times(&[500, 600, 70_000]));
            assert_eq!(open.response, times(&[500, 70_000, 90_000]));
        }
    }
}
