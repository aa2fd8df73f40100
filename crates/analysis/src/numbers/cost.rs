//! The cost of an insert: bytes read and written, CPU, context switches, space, and the writes that are still pending.
//!
//! In: a recorded point, its sequence, the machine. Out: an [`InsertCost`] of a point that inserts rows or is a step of a sequence.
//! A cost is what the counters grew by between the first and the last reading of the run phase, divided by the rows inserted
//! between the same readings. Bytes read are those of the device if a file system was made for the point, otherwise those that the
//! engine's processes caused; of the accounts of bytes written the one that can be believed is taken ([`crate::written`]).
//! Discards are no writes: the kernel counts them separately (iostat adds them, and so overstates an LSM tree twofold).
//! Limits: what the engine writes after the run is only in the debt and in what a drain wrote. If queries ran at the same time, nothing is divided by rows.

use crate::math::repeats::{Repeated, combined};
use crate::numbers::accounts::{WriteBreakdown, pending_writes, unflushed_bytes, write_breakdown};
use crate::numbers::amounts::rows_before;
use crate::numbers::op_cost::{Cost, Denominator, write_per_row};
use crate::numbers::rates::PerOp;
use crate::numbers::written::{ByteAccount, WriteAccounts, WrittenBytes, settled_end};
use crate::recorded::counters::{Growth, done_between, growth_of_reads, has_role};
use crate::recorded::facts::{EngineProcess, engine_process};
use crate::recorded::sequence;
use crate::recorded::window::Window;
use model::{CounterRole, KindRow, Machine, Nanos, Phase, PointData, Tick};
use serde::Serialize;

/// Inserts that read less than this count as reading nothing: one page of 16 KiB for every hundred rows.
pub const READ_BYTES_PER_INSERT_MIN: f64 = 163.84;

/// What an insert cost. A field is `None` if it could not be measured; all that is "per insert" also if the point did something else.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(test, derive(serde::Deserialize))]
pub struct InsertCost {
    /// Rows inserted in the run phase.
    pub rows: f64,
    /// Rows inserted per second; `None` if none was.
    pub inserts_per_s: Option<f64>,
    /// Its 95 % confidence interval, as that of the throughput.
    pub inserts_per_s_ci95: Option<[f64; 2]>,
    /// Whose bytes those read from the block layer are.
    pub read_account: Option<ByteAccount>,
    /// Whose bytes those written are. Not serialised here: [`crate::OpCost`] has it, for points of every kind.
    #[serde(skip)]
    pub written_account: Option<ByteAccount>,
    /// Bytes read per second, of the block layer.
    pub block_read_bytes_per_s: Option<f64>,
    /// Bytes written per second, by that account.
    pub written_bytes_per_s: Option<f64>,
    /// What an insert cost; nothing is known if queries ran at the same time. Bytes of the engine's own are the sum of its log, pages,
    /// compactions and doublewrite.
    #[serde(flatten, serialize_with = "write_per_row")]
    #[cfg_attr(test, serde(deserialize_with = "tests::skip"))]
    pub per_row: Cost,
    /// Size of the data on disk at the end, logs included.
    pub data_bytes: Option<f64>,
    /// The part of it that is logs: as much as the engine may keep, however much data there is.
    pub log_bytes: Option<f64>,
    /// Whether an unknown part of the data is in a log only: SQLite's, before a checkpoint.
    #[serde(skip)]
    pub in_log_only: bool,
    /// The writes that were pending when the run phase began.
    #[serde(skip)]
    pub pending_at_start_bytes: Option<f64>,
    /// The data in memtables, which is on disk in the log only.
    pub unflushed_bytes: Option<f64>,
    /// The data without its logs and with what memtables hold, for each row that is in the tables.
    pub data_bytes_per_row: Option<f64>,
    /// The widths of a row's columns, without index entries.
    pub payload_bytes_per_row: Option<f64>,
    /// Bytes written, by the same account, for each byte of payload inserted.
    pub write_amplification: Option<f64>,
    /// Bytes written, by the same account.
    pub written_bytes: Option<f64>,
    /// Bytes written, by the engine's own counters.
    pub engine_written_bytes: Option<f64>,
    /// What the engine had still to write at the end, by its own counters.
    pub pending_bytes: Option<f64>,
    /// The log that a crash at the end would have had to replay.
    pub log_age_bytes: Option<f64>,
    /// What the drain after this point wrote, if it followed no other inserts.
    pub drain_written_bytes: Option<f64>,
    /// What that drain could not write, or this point if it is the drain; `None` if nothing is left.
    pub drain_left_bytes: Option<f64>,
    /// Bytes written per insert, those of the drain included, over all steps before it. The drain has it, and the step that inserted
    /// if there was only one.
    pub written_with_drain_bytes_per_insert: Option<f64>,
    /// The cache that the engine was given.
    pub cache_bytes: Option<f64>,
    /// The memory that the engine may use: its limit, or all of the machine.
    pub memory_bytes: Option<f64>,
    /// The size of the same data in caches.
    pub data_per_cache: Option<f64>,
    /// The memory in caches.
    pub memory_per_cache: Option<f64>,
    /// Where the data was found, by what an insert read.
    pub found: Option<DataFound>,
}

/// Where inserts found the data that they needed: shown by read I/O, not assumed from sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(serde::Deserialize))]
pub enum DataFound {
    /// Hardly any read reached the block layer.
    #[serde(rename = "in memory")]
    InMemory,
    /// They had to be read.
    #[serde(rename = "larger than memory")]
    LargerThanMemory,
}

impl DataFound {
    /// The words used in tables.
    pub fn as_str(self) -> &'static str {
        match self {
            DataFound::InMemory => "in memory",
            DataFound::LargerThanMemory => "larger than memory",
        }
    }
}

impl InsertCost {
    /// The means of repeats, of amounts as well, so that an amount fits a cost of a row; an account, and where the data was found, is that
    /// of the row if all have the same. `None` if none has such costs.
    pub(crate) fn combine(all: &Repeated<InsertCost>) -> Option<InsertCost> {
        all.first()?;
        let (inserts_per_s, ci95) = all.rate(|one| Some((one.inserts_per_s?, one.inserts_per_s_ci95)));
        Some(combined!(
            all,
            InsertCost {
                rows: mean,
                inserts_per_s: (inserts_per_s),
                inserts_per_s_ci95: (ci95),
                read_account: same,
                written_account: same,
                block_read_bytes_per_s: mean,
                written_bytes_per_s: mean,
                per_row: (Cost::combine(&all.parts(|one| Some(&one.per_row)))),
                data_bytes: mean,
                log_bytes: mean,
                in_log_only: most,
                pending_at_start_bytes: mean,
                unflushed_bytes: mean,
                data_bytes_per_row: mean,
                payload_bytes_per_row: mean,
                write_amplification: mean,
                written_bytes: mean,
                engine_written_bytes: mean,
                pending_bytes: mean,
                log_age_bytes: mean,
                drain_written_bytes: mean,
                drain_left_bytes: mean,
                written_with_drain_bytes_per_insert: mean,
                cache_bytes: mean,
                memory_bytes: mean,
                data_per_cache: mean,
                memory_per_cache: mean,
                found: same,
            }
        ))
    }

    /// The cost of `point`, whose run phase `window` cuts; `None` if it neither inserts rows nor is a step of a sequence
    /// that does.
    pub fn from_point(point: &PointData, all: &[PointData], machine: &Machine, window: &Window) -> Option<InsertCost> {
        let per_op = PerOp::from_point(point);
        let rows: f64 = per_op.rows_in_all(window.inside_recorded());
        let rate = per_op.rate_of_rows(window).filter(|_| rows > 0.0);
        let is_among_inserts = sequence::step_name(point).is_some() && point.traits.work.rows.is_some();
        if rows == 0.0 && !is_among_inserts {
            return None;
        }
        let totals = CounterTotals::between(point, window.phase.start, window.phase.end);
        let mut cost = InsertCost {
            rows,
            inserts_per_s: rate.map(|rate| rate.per_s),
            inserts_per_s_ci95: rate.and_then(|rate| rate.ci95),
            read_account: totals.read.map(|_| account_of_reads(point)),
            written_account: totals.written.map(|written| written.account),
            block_read_bytes_per_s: totals.read.map(|read| read.per_second()),
            written_bytes_per_s: totals.written.map(|written| written.per_second(window.phase.end)),
            written_bytes: totals.written.map(|written| written.growth.amount),
            engine_written_bytes: totals.breakdown.written,
            ..InsertCost::default()
        };
        if does_nothing_else(window, &per_op) {
            cost.divide_by_rows(window, &totals);
        }
        cost.unflushed_bytes = unflushed_bytes(point, window.phase.end);
        cost.add_space(point, all, machine);
        cost.add_debt(point, all, window.phase.end);
        Some(cost)
    }

    fn divide_by_rows(&mut self, window: &Window, totals: &CounterTotals) {
        let written = totals.written.map(|written| written.growth);
        let cost = Cost::measure(totals.point, window, written, Denominator::Row);
        self.per_row = Cost { by_engine: totals.breakdown_per_insert(), ..cost };
        self.payload_bytes_per_row = payload_bytes(totals.point);
        let written = self.per_row.written_bytes.zip(self.payload_bytes_per_row);
        self.write_amplification = written.map(|(written, payload)| written / payload);
        self.found = self.per_row.read_bytes.map(|read| {
            if read < READ_BYTES_PER_INSERT_MIN { DataFound::InMemory } else { DataFound::LargerThanMemory }
        });
    }

    fn add_space(&mut self, point: &PointData, all: &[PointData], machine: &Machine) {
        let outcome = &point.traits.outcome;
        self.data_bytes = outcome.data_bytes.map(|bytes| bytes as f64);
        let rows = rows_in_tables(point, all).filter(|rows| *rows > 0.0);
        self.log_bytes = outcome.log_bytes.map(|bytes| bytes as f64);
        // A log that is small against the data hardly changes the bytes of a row, whatever it holds.
        let log_counts = self.log_bytes.zip(self.data_bytes).is_some_and(|(log, all)| log * 10.0 > all);
        self.in_log_only = log_counts && has_role(point, CounterRole::LogHoldingData);
        let tables = self.table_bytes();
        self.data_bytes_per_row = tables.zip(rows).map(|(bytes, rows)| bytes / rows);
        self.cache_bytes = point.traits.engine.cache_bytes.map(|bytes| bytes as f64);
        let limit = point.traits.engine.memory_limit_bytes.map(|bytes| bytes as f64);
        let elsewhere = engine_process(point) == EngineProcess::Elsewhere;
        let whole = machine.memory_bytes.map(|bytes| bytes as f64).filter(|_| !elsewhere);
        self.memory_bytes = limit.or(whole);
        self.data_per_cache = self.in_caches(tables);
        self.memory_per_cache = self.in_caches(self.memory_bytes);
    }

    /// `bytes` as a multiple of the engine's cache.
    fn in_caches(&self, bytes: Option<f64>) -> Option<f64> {
        bytes.zip(self.cache_bytes).map(|(bytes, cache)| bytes / cache)
    }

    fn add_debt(&mut self, point: &PointData, all: &[PointData], end: Tick) {
        let pending = pending_writes(point, end);
        let begun = point.phase(Phase::Run).and_then(|run| pending_writes(point, run.start).bytes);
        self.pending_at_start_bytes = begun;
        (self.pending_bytes, self.log_age_bytes) = (pending.bytes, pending.log_age_bytes);
        let Some(drained) = DrainedWrites::until_drain(point, all) else { return };
        let alone = drained.inserting == [point.id];
        self.drain_written_bytes = drained.drain.filter(|_| alone && !sequence::is_drain(point));
        self.drain_left_bytes = drained.left;
        self.written_with_drain_bytes_per_insert = drained.per_insert().filter(|_| alone || sequence::is_drain(point));
    }

    /// The data without its logs, and with what is in memtables only; `None` if an unknown part of it is in a log.
    pub fn table_bytes(&self) -> Option<f64> {
        if self.in_log_only {
            return None;
        }
        let on_disk = (self.data_bytes? - self.log_bytes.unwrap_or(0.0)).max(0.0);
        Some(on_disk + self.unflushed_bytes.unwrap_or(0.0))
    }

    /// What was pending at the end and not at the beginning.
    pub fn own_pending_bytes(&self) -> Option<f64> {
        self.pending_bytes.map(|end| (end - self.pending_at_start_bytes.unwrap_or(0.0)).max(0.0))
    }

    /// The share of the writes caused by this point that were still pending at its end: what a drain wrote for it alone, or else
    /// what its engine's counters show.
    pub fn pending_share(&self) -> Option<f64> {
        // Without a figure per insert there is none that pending writes could make too low.
        self.per_row.written_bytes.or(self.per_row.by_engine.written)?;
        let drained = self.drain_written_bytes.map(|written| written + self.drain_left_bytes.unwrap_or(0.0));
        let pending = drained.or(self.own_pending_bytes())?;
        let written = self.written_bytes.or(self.engine_written_bytes)?;
        (self.rows > 0.0 && written + pending > 0.0).then(|| pending / (written + pending))
    }
}

fn account_of_reads(point: &PointData) -> ByteAccount {
    if point.trial.target.fs.is_some() { ByteAccount::Volume } else { ByteAccount::Process }
}

/// What a drain wrote, with what the steps before it wrote.
pub struct DrainedWrites {
    /// The points that inserted, by their numbers.
    pub inserting: Vec<u32>,
    /// The rows that they inserted.
    pub rows: f64,
    /// What all of them and the drain wrote, by every account.
    pub accounts: WriteAccounts,
    /// The account that can be believed; `None` if there is none.
    pub account: Option<ByteAccount>,
    /// Bytes that the drain wrote, by that account.
    pub drain: Option<f64>,
    /// Bytes that the drain left.
    pub left: Option<f64>,
    /// The same of each step, by the numbers of the points.
    pub by_step: Vec<(u32, WriteAccounts)>,
}

impl DrainedWrites {
    /// The writes up to the drain that follows `point`; `None` if none does.
    pub fn until_drain(point: &PointData, all: &[PointData]) -> Option<DrainedWrites> {
        let part = sequence::up_to_drain(point, all);
        let drain = part.last().filter(|last| sequence::is_drain(last) && last.phase(Phase::Run).is_some())?;
        let totals = part.iter().map(|one| CounterTotals::of_run(one)).collect::<Option<Vec<CounterTotals>>>()?;
        let previous = std::iter::once(None).chain(part.iter().copied().map(Some));
        let by_step = totals.iter().zip(previous).map(|(one, previous)| (one.point.id, one.accounts(previous)));
        let by_step: Vec<(u32, WriteAccounts)> = by_step.collect();
        let accounts = by_step.iter().fold(WriteAccounts::nothing(), |sum, (_, step)| sum.plus(*step));
        let account = accounts.choose(drain).ok();
        let drained = by_step.last().map(|(_, accounts)| *accounts);
        Some(DrainedWrites {
            inserting: totals.iter().filter(|one| one.rows > 0.0).map(|one| one.point.id).collect(),
            rows: totals.iter().map(|one| one.rows).sum(),
            accounts,
            account,
            drain: account.zip(drained).and_then(|(account, drained)| drained.bytes_of(account)),
            left: left_at_rest(drain),
            by_step,
        })
    }

    fn per_insert(&self) -> Option<f64> {
        let written = self.account.and_then(|account| self.accounts.bytes_of(account));
        written.filter(|_| self.rows > 0.0).map(|bytes| bytes / self.rows)
    }
}

/// What the counters of a point grew by in a stretch of time.
struct CounterTotals<'a> {
    point: &'a PointData,
    start: Tick,
    end: Tick,
    rows: f64,
    per_op: PerOp,
    read: Option<Growth>,
    written: Option<WrittenBytes>,
    breakdown: WriteBreakdown,
}

/// Counters are read once a second, or once in an interval if that is shorter.
const MOMENT: Nanos = Nanos::from_millis(10);

impl CounterTotals<'_> {
    fn between(point: &PointData, start: Tick, end: Tick) -> CounterTotals<'_> {
        let per_op = PerOp::from_point(point);
        let phase = point.phase(Phase::Run);
        let rows = phase.map_or(0.0, |run| per_op.rows_in_all(&run.intervals));
        CounterTotals {
            point,
            start,
            end,
            rows,
            per_op,
            read: growth_of_reads(point, start, end),
            written: WrittenBytes::measure(point, start, end),
            breakdown: write_breakdown(point, start, settled_end(point, end)).unwrap_or_default(),
        }
    }

    fn of_run(point: &PointData) -> Option<CounterTotals<'_>> {
        let run = point.phase(Phase::Run)?;
        Some(CounterTotals::between(point, run.start, run.end))
    }

    /// Whether it is a step that inserts nothing and takes less than [`MOMENT`].
    fn is_momentary(&self) -> bool {
        self.rows == 0.0 && self.end.since(self.start) < MOMENT
    }

    /// What was written since the end of the step before. A step too short for two readings, such as the creation of no indexes, wrote
    /// next to nothing.
    fn accounts(&self, previous: Option<&PointData>) -> WriteAccounts {
        let measured = match previous {
            Some(previous) => WriteAccounts::measure_since(previous, self.point, self.start, self.end),
            None => WriteAccounts::measure(self.point, self.start, self.end),
        };
        let is_unread = WriteAccounts { is_synced: false, ..measured } == WriteAccounts::default();
        if is_unread && self.is_momentary() { WriteAccounts::nothing() } else { measured }
    }

    fn breakdown_per_insert(&self) -> WriteBreakdown {
        let rows = done_between(self.point, self.start, self.end, self.rows_weight());
        if rows <= 0.0 {
            return WriteBreakdown::default();
        }
        let WriteBreakdown { read, log, pages, compaction, doublewrite, written } = self.breakdown;
        let [read, log, pages, compaction, doublewrite, written] =
            [read, log, pages, compaction, doublewrite, written].map(|bytes| bytes.map(|bytes| bytes / rows));
        WriteBreakdown { read, log, pages, compaction, doublewrite, written }
    }

    fn rows_weight(&self) -> impl Fn(&KindRow) -> f64 {
        |kind| self.per_op.rows(kind)
    }
}

/// Whether every operation of the run phase inserted rows.
fn does_nothing_else(window: &Window, per_op: &PerOp) -> bool {
    let kinds = window.phase.intervals.iter().flat_map(|interval| &interval.kinds);
    let mut done = kinds.filter(|kind| kind.ok > 0).peekable();
    done.peek().is_some() && done.all(|kind| per_op.rows(kind) > 0.0)
}

/// The rows that the tables hold at the end of `point`; `None` if rows were deleted, too.
fn rows_in_tables(point: &PointData, all: &[PointData]) -> Option<f64> {
    if point.traits.work.rows.is_some_and(|rows| rows.deletes) {
        return None;
    }
    let inserted = point.phase(Phase::Run).map_or(0.0, |run| PerOp::from_point(point).rows_in_all(&run.intervals));
    Some(rows_before(point, all) + inserted)
}

/// The widths of a row's columns. Write amplification is defined as for LSM trees: bytes written to storage over bytes that the
/// client asked to be written (S. Dong et al., "Optimizing Space Amplification in RocksDB", CIDR 2017, section 2). So index entries
/// are amplification, not payload.
fn payload_bytes(point: &PointData) -> Option<f64> {
    Some(point.traits.work.rows?.payload_bytes? as f64)
}

/// What the engine of `point` still had to write when the quiesce, in the point or before it, made no more progress.
pub fn left_at_rest(point: &PointData) -> Option<f64> {
    point.traits.outcome.pending_bytes.map(|bytes| bytes as f64).filter(|left| *left > 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulated::{Simulation, inserting, params, run_of, stepping};
    use model::{Bytes, Fact, Generator, OpKind, Value};

    /// What a row cost is not read back.
    pub fn skip<'de, D: serde::Deserializer<'de>>(_: D) -> Result<Cost, D::Error> {
        Ok(Cost::default())
    }

    fn cost(simulation: &Simulation) -> InsertCost {
        simulation.analysis().points.remove(0).inserts.expect("it inserts")
    }

    fn costs(points: Vec<PointData>) -> Vec<InsertCost> {
        let analysed = crate::analyse(&run_of(points, Vec::new())).points;
        analysed.into_iter().map(|point| point.inserts.expect("a step")).collect()
    }

    #[test]
    fn an_insert_costs_what_the_counters_grew_by_over_the_rows() {
        let used = Generator {
            cpu_user_ns: 4_000_000,
            cpu_system_ns: 6_000_000,
            context_switches: 500,
            ..Generator::default()
        };
        let found = cost(&inserting(10, 1e6, 4e6, 3.0).generator(used));
        assert_eq!((found.rows, found.inserts_per_s), (10_000.0, Some(1_000.0)));
        assert_eq!((found.per_row.read_bytes, found.per_row.written_bytes), (Some(1e3), Some(4e3)));
        assert_eq!((found.block_read_bytes_per_s, found.written_bytes_per_s), (Some(1e6), Some(4e6)));
        assert_eq!((found.per_row.by_engine.log, found.per_row.by_engine.pages), (Some(4e3), Some(0.0)));
        assert_eq!((found.per_row.by_engine.written, found.per_row.by_engine.compaction), (Some(4e3), None));
        assert_eq!((found.per_row.engine_cpu_ns, found.per_row.client_cpu_ns), (Some(30_000.0), Some(10_000.0)));
        assert_eq!((found.per_row.context_switches, found.per_row.client_context_switches), (Some(2.0), Some(0.5)));
        assert_eq!((found.write_amplification, found.pending_bytes), (Some(4e3 / 28.0), Some(3.0 * 32_768.0)));
        assert_eq!(
            (found.found, found.read_account, found.written_account),
            (Some(DataFound::LargerThanMemory), Some(ByteAccount::Process), Some(ByteAccount::Process))
        );
    }

    #[test]
    fn an_operation_of_fifty_rows_is_fifty_inserts() {
        let many = inserting(10, 0.0, 4e6, 0.0).with(|point| point.facts.push(Fact::new("rows_per_op.insert", "50")));
        let many =
            many.with(|point| point.facts.retain(|fact| fact.name != "rows_per_op.insert" || fact.value == "50"));
        let found = cost(&many);
        assert_eq!((found.inserts_per_s, found.per_row.written_bytes), (Some(50_000.0), Some(80.0)));
        let [low, high] = found.inserts_per_s_ci95.expect("there are ten intervals");
        assert!(low <= 50_000.0 && 50_000.0 <= high);
    }

    #[test]
    fn queries_beside_the_inserts_leave_rates_and_no_cost_of_an_insert() {
        let mixed = inserting(10, 1e6, 4e6, 0.0).with(|point| {
            point.kinds.push(crate::simulated::kind("query"));
            let queries = |kinds: &mut Vec<KindRow>| kinds.push(KindRow { kind: OpKind(1), ..kinds[0].clone() });
            point.phases[0].intervals.iter_mut().for_each(|interval| queries(&mut interval.kinds));
        });
        let found = cost(&mixed);
        assert_eq!((found.inserts_per_s, found.written_bytes_per_s), (Some(1_000.0), Some(4e6)));
        assert_eq!((found.per_row.written_bytes, found.per_row.engine_cpu_ns), (None, None));
    }

    #[test]
    fn a_drain_pays_for_the_step_before_it_or_for_several_together() {
        let alone = costs(vec![stepping("l.i1", 10, 1e6, 9.0), stepping("drain", 10, 4e6, 0.0)]);
        let paid: Vec<_> = alone.iter().map(|cost| cost.written_with_drain_bytes_per_insert).collect();
        assert_eq!(paid, [Some(5e3), Some(5e3)]);
        assert_eq!((alone[0].drain_written_bytes, alone[1].drain_written_bytes), (Some(4e7), None));
        assert_eq!((alone[1].inserts_per_s, alone[1].per_row.written_bytes), (None, None));
        let steps = ["l.i0", "l.i1", "drain"].map(|step| stepping(step, 10, 1e6, 0.0));
        let several: Vec<_> = costs(steps.into()).iter().map(|cost| cost.written_with_drain_bytes_per_insert).collect();
        assert_eq!(several, [None, None, Some(1.5e3)]);
    }

    #[test]
    fn a_step_too_short_for_two_readings_wrote_nothing_that_the_drain_would_miss() {
        let mut momentary = stepping("l.x", 1, 0.0, 0.0);
        momentary.kinds = vec![crate::simulated::kind("index")];
        momentary.phases[0].end.0 = momentary.phases[0].start.0 + 139_000;
        momentary.counters = Default::default();
        let paid = |momentary: PointData| {
            let steps = vec![stepping("l.i0", 10, 1e6, 9.0), momentary, stepping("drain", 10, 4e6, 0.0)];
            costs(steps).pop().unwrap().written_with_drain_bytes_per_insert
        };
        assert_eq!(paid(momentary.clone()), Some(5e3));
        momentary.phases[0].end.0 = momentary.phases[0].start.0 + 1_000_000_000;
        assert_eq!(paid(momentary), None, "a second without readings may have written anything");
    }

    #[test]
    fn what_a_drain_could_not_pay_is_told_at_the_drain_and_at_what_it_was_to_pay_for() {
        let mut drain = stepping("drain", 10, 4e6, 0.0);
        drain.facts.push(Fact::new("drain.pending_bytes", "35000000"));
        let found = costs(vec![stepping("l.i1", 10, 1e6, 9.0), drain, stepping("l.i2", 10, 1e6, 9.0)]);
        let left: Vec<_> = found.iter().map(|cost| cost.drain_left_bytes).collect();
        assert_eq!(left, [Some(35e6), Some(35e6), None]);
    }

    #[test]
    fn the_space_of_a_row_is_that_of_all_rows_of_the_sequence() {
        let sized = |step, bytes: &str| {
            let mut point = stepping(step, 10, 1e6, 0.0);
            point.facts.extend([Fact::new("data.bytes", bytes), Fact::new("data.log_bytes", "1000000")]);
            point.trial.target.params = params(&[("cache", Value::Bytes(Bytes(500_000)))]);
            point.trial.target.engine = "mariadb:innodb".into();
            point
        };
        let found = costs(vec![sized("l.i0", "2000000"), sized("l.i1", "4000000")]);
        let per_row: Vec<_> = found.iter().map(|cost| cost.data_bytes_per_row).collect();
        assert_eq!(per_row, [Some(100.0), Some(150.0)]);
        assert_eq!((found[1].data_per_cache, found[1].memory_per_cache), (Some(6.0), None));
    }

    #[test]
    fn what_no_source_told_is_absent_and_what_inserts_nothing_has_no_cost() {
        let bare = Simulation::counts(&[1000; 10]).with(|point| {
            point.kinds = vec![crate::simulated::kind("insert")];
            point.facts.push(Fact::new("rows_per_op.insert", "1"));
        });
        let found = cost(&bare);
        assert_eq!((found.written_bytes_per_s, found.per_row.by_engine.written), (None, None));
        assert_eq!((found.written_account, found.found, found.pending_bytes), (None, None, None));
        assert!(Simulation::counts(&[1000; 10]).analysis().points[0].inserts.is_none());
    }
}
