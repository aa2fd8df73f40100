//! The bytes that engines read and wrote by their own counters, by purpose, and the bytes that they still have to write.
//!
//! In: the counters that an engine keeps of itself. Out: a [`WriteBreakdown`] over a stretch of time, and the [`PendingWrites`] at a
//! moment. Limits: an engine counts the bytes that it hands to the file system; the block layer shows what becomes of them.
//! PostgreSQL and RocksDB count what they request, which may come from the page cache; PostgreSQL has its full page images in its
//! log. MyRocks does not count what queries read. A part that an engine lacks or does not count is `None`, never 0.
//!
//! To add an engine: its counters in [`COUNTER_MAPS`] and [`PENDING_WRITES_MAPS`].

use crate::counters::{growth_of_first, level_at};
use crate::facts::fact;
use model::{PointData, Tick};

/// Bytes that an engine moved between two readings, by its own counters.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct WriteBreakdown {
    /// Read.
    pub read: Option<f64>,
    /// Written to the redo log or write-ahead log.
    pub log: Option<f64>,
    /// Written as pages, or by flushes of memory.
    pub pages: Option<f64>,
    /// Written by compactions.
    pub compaction: Option<f64>,
    /// Written to the doublewrite buffer.
    pub doublewrite: Option<f64>,
    /// All that was written; `None` where a part is missing that the engine has.
    pub written: Option<f64>,
}

/// What an engine still had to write at a moment.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PendingWrites {
    /// Bytes that it will write although nothing more is asked of it.
    pub bytes: Option<f64>,
    /// The log that a crash would have to replay.
    pub log_age_bytes: Option<f64>,
}

/// One summand: a counter, what one of it is in bytes, and its sign.
struct Term {
    counter: &'static str,
    unit: Unit,
    sign: f64,
}

enum Unit {
    Bytes,
    Pages,
}

const fn bytes(counter: &'static str) -> Term {
    Term { counter, unit: Unit::Bytes, sign: 1.0 }
}

const fn pages(counter: &'static str) -> Term {
    Term { counter, unit: Unit::Pages, sign: 1.0 }
}

const fn less_pages(counter: &'static str) -> Term {
    Term { sign: -1.0, ..pages(counter) }
}

/// The counters of an engine by purpose. A purpose without a counter is one that the engine lacks or does not count.
struct CounterMap {
    source: &'static str,
    page_fact: &'static str,
    page_bytes: f64,
    read: &'static [Term],
    log: &'static [Term],
    pages: &'static [Term],
    compaction: &'static [Term],
    doublewrite: &'static [Term],
}

const COUNTER_MAPS: &[CounterMap] = &[
    CounterMap {
        source: "innodb",
        page_fact: "mariadb.innodb_page_size",
        page_bytes: 16_384.0,
        read: &[bytes("data_read")],
        log: &[bytes("os_log_written")],
        // Pages and doublewrite together, without the redo log.
        pages: &[bytes("data_written"), less_pages("dblwr_pages_written")],
        compaction: &[],
        doublewrite: &[pages("dblwr_pages_written")],
    },
    CounterMap {
        source: "myrocks",
        page_fact: "",
        page_bytes: 0.0,
        read: &[],
        log: &[bytes("wal_bytes")],
        pages: &[bytes("flush_write_bytes")],
        compaction: &[bytes("compact_write_bytes")],
        doublewrite: &[],
    },
    CounterMap {
        source: "rocksdb",
        page_fact: "",
        page_bytes: 0.0,
        read: &[bytes("table_read_bytes")],
        log: &[bytes("wal_bytes")],
        pages: &[bytes("flush_write_bytes")],
        compaction: &[bytes("compact_write_bytes")],
        doublewrite: &[],
    },
    CounterMap {
        source: "postgres",
        page_fact: "postgres.block_size",
        page_bytes: 8_192.0,
        read: &[pages("blocks_read")],
        log: &[bytes("wal_bytes")],
        pages: &[pages("buffers_checkpoint"), pages("buffers_clean"), pages("buffers_backend")],
        compaction: &[],
        doublewrite: &[],
    },
];

/// What the engine of `point` read and wrote over `start..end`; `None` if it has no such counters.
pub fn write_breakdown(point: &PointData, start: Tick, end: Tick) -> Option<WriteBreakdown> {
    let map = COUNTER_MAPS.iter().find(|map| point.sources.iter().any(|source| source.name == map.source))?;
    let part = |terms: &[Term]| match terms.is_empty() {
        true => None,
        false => terms.iter().map(|term| map.amount(point, term, start, end)).sum::<Option<f64>>(),
    };
    let all = [map.log, map.pages, map.compaction, map.doublewrite];
    let told = all.iter().filter(|terms| !terms.is_empty());
    Some(WriteBreakdown {
        read: part(map.read),
        log: part(map.log),
        pages: part(map.pages),
        compaction: part(map.compaction),
        doublewrite: part(map.doublewrite),
        written: told.map(|terms| part(terms)).sum(),
    })
}

impl CounterMap {
    fn amount(&self, point: &PointData, term: &Term, start: Tick, end: Tick) -> Option<f64> {
        let grown = growth_of_first(point, self.source, term.counter, start, end)?.amount;
        Some(term.sign * grown * self.size_of(point, &term.unit))
    }

    fn size_of(&self, point: &PointData, unit: &Unit) -> f64 {
        match unit {
            Unit::Bytes => 1.0,
            Unit::Pages => number(point, self.page_fact).unwrap_or(self.page_bytes),
        }
    }
}

/// The gauges from which the pending writes of an engine follow.
struct PendingWritesMap {
    source: &'static str,
    pending_bytes: fn(&PointData, Tick) -> Option<f64>,
    log_age: &'static str,
}

const PENDING_WRITES_MAPS: &[PendingWritesMap] = &[
    PendingWritesMap { source: "innodb", pending_bytes: innodb_pending_bytes, log_age: "checkpoint_age" },
    PendingWritesMap {
        source: "myrocks",
        pending_bytes: |point, at| tree_pending_bytes(point, "myrocks", at),
        log_age: "",
    },
    PendingWritesMap {
        source: "rocksdb",
        pending_bytes: |point, at| tree_pending_bytes(point, "rocksdb", at),
        log_age: "",
    },
    PendingWritesMap { source: "postgres", pending_bytes: |_, _| None, log_age: "checkpoint_age" },
    // The log keeps the length that it once had, so its length is no debt.
    PendingWritesMap { source: "sqlite", pending_bytes: |_, _| None, log_age: "wal_bytes" },
    PendingWritesMap {
        source: "fjall",
        pending_bytes: |point, at| level_at(point, "fjall", "memtable_bytes", at),
        log_age: "journal_bytes",
    },
];

/// What the engine of `point` still has to write at `at`.
pub fn pending_writes(point: &PointData, at: Tick) -> PendingWrites {
    let map = PENDING_WRITES_MAPS.iter().find(|map| point.sources.iter().any(|source| source.name == map.source));
    let read = |map: &PendingWritesMap| PendingWrites {
        bytes: (map.pending_bytes)(point, at),
        log_age_bytes: level_at(point, map.source, map.log_age, at),
    };
    map.map(read).unwrap_or_default()
}

/// What an LSM tree holds in memory and in its log only: data that is in no table yet.
pub fn unflushed(point: &PointData, at: Tick) -> Option<f64> {
    const MEMTABLES: [(&str, &str); 3] =
        [("myrocks", "memtable_unflushed"), ("rocksdb", "memtable_unflushed"), ("fjall", "memtable_bytes")];
    MEMTABLES.iter().find_map(|(source, gauge)| level_at(point, source, gauge, at))
}

/// Dirty pages, each of which is written twice where there is a doublewrite buffer.
fn innodb_pending_bytes(point: &PointData, at: Tick) -> Option<f64> {
    let page = number(point, "mariadb.innodb_page_size").unwrap_or(16_384.0);
    let times = if fact(&point.facts, "mariadb.innodb_doublewrite") == Some("OFF") { 1.0 } else { 2.0 };
    Some(level_at(point, "innodb", "pages_dirty", at)? * page * times)
}

/// What is in memtables only, and what compactions have to rewrite, where `source` tells.
fn tree_pending_bytes(point: &PointData, source: &str, at: Tick) -> Option<f64> {
    let unflushed = level_at(point, source, "memtable_unflushed", at)?;
    Some(unflushed + level_at(point, source, "pending_compaction_bytes", at).unwrap_or(0.0))
}

fn number(point: &PointData, name: &str) -> Option<f64> {
    fact(&point.facts, name)?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::{SECOND, Simulation};
    use model::Fact;

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
        point.facts.push(Fact::new("mariadb.innodb_doublewrite", "OFF"));
        assert_eq!(owed(&point), Some(50.0 * 4096.0));
    }

    #[test]
    fn a_part_without_its_counter_is_missing_and_so_is_the_sum() {
        let counters = ["wal_bytes", "flush_write_bytes"];
        let point = Simulation::counts(&[1; 10]).source("myrocks", &counters, |s| vec![5.0 * s, 3.0 * s]).point();
        let found = write_breakdown(&point, Tick(0), Tick(10 * SECOND)).expect("it has counters");
        assert_eq!((found.log, found.pages, found.compaction, found.written), (Some(50.0), Some(30.0), None, None));
        assert_eq!(pending_writes(&point, Tick(0)), PendingWrites::default());
    }

    #[test]
    fn memtables_are_owed_and_hold_data_that_is_in_no_table() {
        let point = Simulation::counts(&[1; 10]).source("fjall", &["memtable_bytes"], |s| vec![7.0 * s]).point();
        let end = Tick(10 * SECOND);
        assert_eq!((pending_writes(&point, end).bytes, unflushed(&point, end)), (Some(70.0), Some(70.0)));
        assert_eq!(unflushed(&innodb(), end), None);
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
        assert_eq!((pending_writes(&point, end).bytes, unflushed(&point, end)), (Some(18.0), Some(7.0)));
    }

    #[test]
    fn an_engine_without_counters_keeps_no_account() {
        assert_eq!(write_breakdown(&Simulation::counts(&[1; 10]).point(), Tick(0), Tick(10 * SECOND)), None);
    }
}
