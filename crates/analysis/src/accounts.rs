//! What engines say that they read and wrote, apart by what it was for, and what they still have to write.
//!
//! In: the counters that an engine keeps of itself. Out: bytes over a stretch of time, and the debt at a moment.
//! Limits: an engine's own bytes are those that it hands to the file system; what that makes of them, the block layer shows.
//! PostgreSQL and RocksDB count what they ask for, which may come from the page cache; PostgreSQL has its full page images in its log.
//! MyRocks does not tell what queries read. A part that an engine does not have or does not tell is `None`, never 0.
//!
//! To add an engine: its counters in [`BOOKS`] and [`DEBTS`].

use crate::counters::{growth_of_first, level_at};
use crate::facts::fact;
use model::{PointData, Tick};

/// Bytes that an engine moved between two readings, by its own account.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Account {
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
pub struct Debt {
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

/// How an engine keeps its books. A part without a counter is one that the engine does not have or does not tell.
struct Book {
    source: &'static str,
    page_fact: &'static str,
    page_bytes: f64,
    read: &'static [Term],
    log: &'static [Term],
    pages: &'static [Term],
    compaction: &'static [Term],
    doublewrite: &'static [Term],
}

const BOOKS: &[Book] = &[
    Book {
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
    Book {
        source: "myrocks",
        page_fact: "",
        page_bytes: 0.0,
        read: &[],
        log: &[bytes("wal_bytes")],
        pages: &[bytes("flush_write_bytes")],
        compaction: &[bytes("compact_write_bytes")],
        doublewrite: &[],
    },
    Book {
        source: "rocksdb",
        page_fact: "",
        page_bytes: 0.0,
        read: &[bytes("table_read_bytes")],
        log: &[bytes("wal_bytes")],
        pages: &[bytes("flush_write_bytes")],
        compaction: &[bytes("compact_write_bytes")],
        doublewrite: &[],
    },
    Book {
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

/// The account of the engine of `point` over `start..end`; `None` where it keeps none.
pub fn account(point: &PointData, start: Tick, end: Tick) -> Option<Account> {
    let book = BOOKS.iter().find(|book| point.sources.iter().any(|source| source.name == book.source))?;
    let part = |terms: &[Term]| match terms.is_empty() {
        true => None,
        false => terms.iter().map(|term| book.amount(point, term, start, end)).sum::<Option<f64>>(),
    };
    let all = [book.log, book.pages, book.compaction, book.doublewrite];
    let told = all.iter().filter(|terms| !terms.is_empty());
    Some(Account {
        read: part(book.read),
        log: part(book.log),
        pages: part(book.pages),
        compaction: part(book.compaction),
        doublewrite: part(book.doublewrite),
        written: told.map(|terms| part(terms)).sum(),
    })
}

impl Book {
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

/// What an engine owes.
struct Owed {
    source: &'static str,
    owes: fn(&PointData, Tick) -> Option<f64>,
    log_age: &'static str,
}

const DEBTS: &[Owed] = &[
    Owed { source: "innodb", owes: innodb_owes, log_age: "checkpoint_age" },
    Owed { source: "myrocks", owes: |point, at| tree_owes(point, "myrocks", at), log_age: "" },
    Owed { source: "rocksdb", owes: |point, at| tree_owes(point, "rocksdb", at), log_age: "" },
    Owed { source: "postgres", owes: |_, _| None, log_age: "checkpoint_age" },
    // The log keeps the length that it once had, so its length is no debt.
    Owed { source: "sqlite", owes: |_, _| None, log_age: "wal_bytes" },
    Owed {
        source: "fjall",
        owes: |point, at| level_at(point, "fjall", "memtable_bytes", at),
        log_age: "journal_bytes",
    },
];

/// What the engine of `point` still has to write at `at`.
pub fn debt(point: &PointData, at: Tick) -> Debt {
    let owed = DEBTS.iter().find(|owed| point.sources.iter().any(|source| source.name == owed.source));
    let of = |owed: &Owed| Debt {
        bytes: (owed.owes)(point, at),
        log_age_bytes: level_at(point, owed.source, owed.log_age, at),
    };
    owed.map(of).unwrap_or_default()
}

/// What an LSM tree holds in memory and in its log only: data that is in no table yet.
pub fn unflushed(point: &PointData, at: Tick) -> Option<f64> {
    const MEMTABLES: [(&str, &str); 3] =
        [("myrocks", "memtable_unflushed"), ("rocksdb", "memtable_unflushed"), ("fjall", "memtable_bytes")];
    MEMTABLES.iter().find_map(|(source, gauge)| level_at(point, source, gauge, at))
}

/// Dirty pages, each of which is written twice where there is a doublewrite buffer.
fn innodb_owes(point: &PointData, at: Tick) -> Option<f64> {
    let page = number(point, "mariadb.innodb_page_size").unwrap_or(16_384.0);
    let times = if fact(&point.facts, "mariadb.innodb_doublewrite") == Some("OFF") { 1.0 } else { 2.0 };
    Some(level_at(point, "innodb", "pages_dirty", at)? * page * times)
}

/// What is in memtables only, and what compactions have to rewrite, where `source` tells.
fn tree_owes(point: &PointData, source: &str, at: Tick) -> Option<f64> {
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
        let found = account(&innodb(), Tick(0), Tick(10 * SECOND)).expect("it keeps books");
        let half = 200.0 * 4096.0 * 10.0;
        assert_eq!((found.read, found.log, found.compaction), (Some(0.0), Some(1e7), None));
        assert_eq!((found.pages, found.doublewrite, found.written), (Some(half), Some(half), Some(2.0 * half + 1e7)));
    }

    #[test]
    fn a_dirty_page_is_owed_twice_where_there_is_a_doublewrite_buffer() {
        let owed = |point: &PointData| debt(point, Tick(10 * SECOND)).bytes;
        let mut point = innodb();
        assert_eq!(owed(&point), Some(50.0 * 4096.0 * 2.0));
        point.facts.push(Fact::new("mariadb.innodb_doublewrite", "OFF"));
        assert_eq!(owed(&point), Some(50.0 * 4096.0));
    }

    #[test]
    fn a_part_without_its_counter_is_missing_and_so_is_the_sum() {
        let counters = ["wal_bytes", "flush_write_bytes"];
        let point = Simulation::counts(&[1; 10]).source("myrocks", &counters, |s| vec![5.0 * s, 3.0 * s]).point();
        let found = account(&point, Tick(0), Tick(10 * SECOND)).expect("it keeps books");
        assert_eq!((found.log, found.pages, found.compaction, found.written), (Some(50.0), Some(30.0), None, None));
        assert_eq!(debt(&point, Tick(0)), Debt::default());
    }

    #[test]
    fn memtables_are_owed_and_hold_data_that_is_in_no_table() {
        let point = Simulation::counts(&[1; 10]).source("fjall", &["memtable_bytes"], |s| vec![7.0 * s]).point();
        let end = Tick(10 * SECOND);
        assert_eq!((debt(&point, end).bytes, unflushed(&point, end)), (Some(70.0), Some(70.0)));
        assert_eq!(unflushed(&innodb(), end), None);
    }

    #[test]
    fn a_tree_inside_plimsoll_tells_what_it_read_and_owes_what_it_holds_and_what_it_has_to_rewrite() {
        let grow = ["table_read_bytes", "wal_bytes", "flush_write_bytes", "compact_write_bytes"];
        let counters = [&grow[..], &["memtable_unflushed", "pending_compaction_bytes"]].concat();
        let values = |s: f64| vec![2.0 * s, 5.0 * s, 3.0 * s, 4.0 * s, 7.0, 11.0];
        let point = Simulation::counts(&[1; 10]).source("rocksdb", &counters, values).point();
        let (end, found) = (Tick(10 * SECOND), account(&point, Tick(0), Tick(10 * SECOND)).expect("it keeps books"));
        assert_eq!((found.read, found.written, found.doublewrite), (Some(20.0), Some(120.0), None));
        assert_eq!((debt(&point, end).bytes, unflushed(&point, end)), (Some(18.0), Some(7.0)));
    }

    #[test]
    fn an_engine_without_counters_keeps_no_account() {
        assert_eq!(account(&Simulation::counts(&[1; 10]).point(), Tick(0), Tick(10 * SECOND)), None);
    }
}
