//! The bytes that engines read and wrote by their own counters, by purpose, and the bytes that they still have to write.
//!
//! In: the counters that an engine keeps of itself. Out: a [`WriteBreakdown`] over a stretch of time, and the [`PendingWrites`] at a
//! moment. Limits: an engine counts the bytes that it hands to the file system; the block layer shows what becomes of them.
//! PostgreSQL and RocksDB count what they request, which may come from the page cache; PostgreSQL has its full page images in its
//! log. MyRocks does not count what queries read. A part that an engine lacks or does not count is `None`, never 0.
//!
//! An engine gives its counters a [`CounterRole`], and is not named here.

use crate::math::repeats::{Repeated, combined};
use crate::recorded::counters::{bytes_grown, has_role, level_at};
use model::{CounterRole, PointData, Tick};

/// Bytes that an engine moved between two readings, by its own counters.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct WriteBreakdown {
    pub read: Option<f64>,
    /// Written to the redo log or write-ahead log.
    pub log: Option<f64>,
    /// Written as pages, or by flushes of memory.
    pub pages: Option<f64>,
    pub compaction: Option<f64>,
    /// Written to the doublewrite buffer.
    pub doublewrite: Option<f64>,
    /// All that was written; `None` if a part that the engine has could not be read.
    pub written: Option<f64>,
}

impl WriteBreakdown {
    /// The means of repeats.
    pub(crate) fn combine(all: &Repeated<WriteBreakdown>) -> WriteBreakdown {
        combined!(
            all,
            WriteBreakdown { read: mean, log: mean, pages: mean, compaction: mean, doublewrite: mean, written: mean }
        )
    }
}

/// What an engine still had to write at a moment.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PendingWrites {
    /// Bytes that it will write although nothing more is asked of it.
    pub bytes: Option<f64>,
    /// The log that a crash would have to replay.
    pub log_age_bytes: Option<f64>,
}

/// What the engine of `point` read and wrote over `start..end`; `None` if it has no such counters.
pub fn write_breakdown(point: &PointData, start: Tick, end: Tick) -> Option<WriteBreakdown> {
    use CounterRole::PagesWritten;
    use CounterRole::{CompactionWritten, DataFilesWritten, DoublewriteWritten, EngineRead, LogMade, LogWritten};
    let written_roles = [LogWritten, LogMade, PagesWritten, DataFilesWritten, CompactionWritten, DoublewriteWritten];
    if !written_roles.iter().any(|role| has_role(point, *role)) {
        return None;
    }
    let [read, log, compaction, doublewrite] = [EngineRead, LogWritten, CompactionWritten, DoublewriteWritten]
        .map(|role| bytes_grown(point, role, start, end));
    // A server may count what it writes of its log in some versions only.
    let log = log.or_else(|| bytes_grown(point, LogMade, start, end));
    let pages = match has_role(point, DataFilesWritten) {
        // InnoDB counts the writes to its files, which hold the pages and the doublewrite buffer together.
        true => bytes_grown(point, DataFilesWritten, start, end).zip(doublewrite).map(|(files, twice)| files - twice),
        false => bytes_grown(point, PagesWritten, start, end),
    };
    let has_pages = has_role(point, DataFilesWritten) || has_role(point, PagesWritten);
    // A part that the engine does not have is left out of the sum; one that could not be read makes the sum unknown.
    let parts = [
        (has_role(point, LogWritten) || has_role(point, LogMade), log),
        (has_pages, pages),
        (has_role(point, CompactionWritten), compaction),
        (has_role(point, DoublewriteWritten), doublewrite),
    ];
    let written = parts.into_iter().filter(|(is_counted, _)| *is_counted).map(|(_, part)| part).sum();
    Some(WriteBreakdown { read, log, pages, compaction, doublewrite, written })
}

/// What the engine of `point` still has to write at `at`.
pub fn pending_writes(point: &PointData, at: Tick) -> PendingWrites {
    // The log keeps the length that it once had, so its length is no debt.
    let log_age_bytes =
        level_at(point, CounterRole::LogAge, at).or_else(|| level_at(point, CounterRole::LogHoldingData, at));
    PendingWrites { bytes: dirty_bytes(point, at).or_else(|| tree_pending_bytes(point, at)), log_age_bytes }
}

/// What an LSM tree holds in memory and in its log only: data that is in no table yet.
pub fn unflushed_bytes(point: &PointData, at: Tick) -> Option<f64> {
    level_at(point, CounterRole::Memtable, at)
}

/// Dirty pages, each of which is written twice if there is a doublewrite buffer.
fn dirty_bytes(point: &PointData, at: Tick) -> Option<f64> {
    let is_doubled = has_role(point, CounterRole::DoublewriteWritten) && !point.traits.engine.doublewrite_off;
    let times = if is_doubled { 2.0 } else { 1.0 };
    Some(level_at(point, CounterRole::DirtyPages, at)? * times)
}

/// What is in memtables only, and what compactions have to rewrite if the engine counts it.
fn tree_pending_bytes(point: &PointData, at: Tick) -> Option<f64> {
    let pending = level_at(point, CounterRole::PendingCompaction, at).unwrap_or(0.0);
    Some(unflushed_bytes(point, at)? + pending)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulated::{SECOND, Simulation};
    use model::{CounterSample, Fact};

    fn innodb() -> PointData {
        let counters = ["data_read", "data_written", "os_log_written", "dblwr_pages_written", "pages_dirty"];
        let values = |second: f64| vec![0.0, 400.0 * 4096.0 * second, 1e6 * second, 200.0 * second, 50.0];
        let page_size = Fact::new("mariadb.innodb_page_size", "4096");
        Simulation::counts(&[1; 10]).source("innodb", &counters, values).with(|p| p.facts.push(page_size)).point()
    }

    #[test]
    fn pages_and_doublewrite_are_told_apart_and_the_log_is_added() {
        let found = write_breakdown(&innodb(), Tick(0), Tick(10 * SECOND)).expect("it has counters");
        let half = 200.0 * 4096.0 * 10.0;
        assert_eq!((found.read, found.log, found.compaction), (Some(0.0), Some(1e7), None));
        assert_eq!((found.pages, found.doublewrite, found.written), (Some(half), Some(half), Some(2.0 * half + 1e7)));
    }

    #[test]
    fn a_dirty_page_is_owed_twice_where_there_is_a_doublewrite_buffer() {
        let owed = |point: &PointData| pending_writes(point, Tick(10 * SECOND)).bytes;
        let mut point = innodb();
        assert_eq!(owed(&point), Some(50.0 * 4096.0 * 2.0));
        point.traits.engine.doublewrite_off = true;
        assert_eq!(owed(&point), Some(50.0 * 4096.0));
    }

    #[test]
    fn a_part_without_its_counter_is_missing_and_so_is_the_sum() {
        let counters = ["wal_bytes", "flush_write_bytes", "compact_write_bytes"];
        let values = |s: f64| vec![5.0 * s, 3.0 * s, 0.0];
        let without = |all: &mut Vec<CounterSample>| all.iter_mut().for_each(|sample| sample.values[2] = None);
        let gaps = |point: &mut PointData| point.counters.edit(without);
        let point = Simulation::counts(&[1; 10]).source("myrocks", &counters, values).with(gaps).point();
        let found = write_breakdown(&point, Tick(0), Tick(10 * SECOND)).expect("it has counters");
        assert_eq!((found.log, found.pages, found.compaction, found.written), (Some(50.0), Some(30.0), None, None));
        assert_eq!(pending_writes(&point, Tick(0)), PendingWrites::default());
    }

    #[test]
    fn memtables_are_owed_and_hold_data_that_is_in_no_table() {
        let point = Simulation::counts(&[1; 10]).source("fjall", &["memtable_bytes"], |s| vec![7.0 * s]).point();
        let end = Tick(10 * SECOND);
        assert_eq!((pending_writes(&point, end).bytes, unflushed_bytes(&point, end)), (Some(70.0), Some(70.0)));
        assert_eq!(unflushed_bytes(&innodb(), end), None);
    }

    #[test]
    fn a_tree_inside_plimsoll_tells_what_it_read_and_owes_what_it_holds_and_what_it_has_to_rewrite() {
        let grow = ["table_read_bytes", "wal_bytes", "flush_write_bytes", "compact_write_bytes"];
        let counters = [&grow[..], &["memtable_unflushed", "pending_compaction_bytes"]].concat();
        let values = |s: f64| vec![2.0 * s, 5.0 * s, 3.0 * s, 4.0 * s, 7.0, 11.0];
        let point = Simulation::counts(&[1; 10]).source("rocksdb", &counters, values).point();
        let (end, found) =
            (Tick(10 * SECOND), write_breakdown(&point, Tick(0), Tick(10 * SECOND)).expect("it has counters"));
        assert_eq!((found.read, found.written, found.doublewrite), (Some(20.0), Some(120.0), None));
        assert_eq!((pending_writes(&point, end).bytes, unflushed_bytes(&point, end)), (Some(18.0), Some(7.0)));
    }

    #[test]
    fn an_engine_without_counters_keeps_no_account() {
        assert_eq!(write_breakdown(&Simulation::counts(&[1; 10]).point(), Tick(0), Tick(10 * SECOND)), None);
    }
}
