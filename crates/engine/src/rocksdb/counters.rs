//! What RocksDB counts of itself.
//!
//! In: an open database and the options that it was opened with, which hold its statistics. Out: the source `rocksdb`. Limits: a
//! ticker is a sum over cores without a lock of the writers; a property takes the database's mutex for as long as it takes to look.

use super::COUNTERS;
use crate::counters::{CounterQuery, queried_source};
use ::rocksdb::statistics::Ticker;
use ::rocksdb::{DB, Options};
use model::CounterSource;
use std::collections::HashMap;
use std::sync::Arc;

/// Has how often writers were held up, and why: `..., total-delays: 3, total-stops: 0`.
const STALLS: &str = "rocksdb.cf-write-stall-stats";

/// The source of `database`.
pub fn source_of(database: Arc<DB>, options: Options) -> Box<dyn CounterSource> {
    queried_source(&COUNTERS, "rocksdb", TickerStatistics { database, options })
}

struct TickerStatistics {
    database: Arc<DB>,
    options: Options,
}

impl CounterQuery for TickerStatistics {
    fn connect(&mut self) -> Option<()> {
        Some(())
    }

    fn read_values(&mut self) -> Option<HashMap<String, String>> {
        let names = COUNTERS.counters.iter().map(|counter| counter.known_as());
        Some(names.filter_map(|name| Some((name.to_owned(), self.value_of(name)?))).collect())
    }
}

impl TickerStatistics {
    fn value_of(&self, name: &str) -> Option<String> {
        if let Some(tickers) = name.split('+').map(ticker_of).collect::<Option<Vec<Ticker>>>() {
            let sum: u64 = tickers.into_iter().map(|ticker| self.options.get_ticker_count(ticker)).sum();
            return Some(sum.to_string());
        }
        if name.starts_with("rocksdb.") {
            self.database.property_value(name).ok()?
        } else {
            sum_among(&self.database.property_value(STALLS).ok()??, name)
        }
    }
}

fn ticker_of(name: &str) -> Option<Ticker> {
    Ticker::iter().copied().find(|ticker| ticker.name() == name)
}

/// The sum of the values of the names in `names`, between which there is a `+`.
fn sum_among(stalls: &str, names: &str) -> Option<String> {
    let sum: Option<u64> = names.split('+').map(|name| value_among(stalls, name)?.parse::<u64>().ok()).sum();
    sum.map(|sum| sum.to_string())
}

/// The value of `name` in `..., name: value, ...`.
fn value_among(stalls: &str, name: &str) -> Option<String> {
    let found = stalls.split([',', '\n']).find_map(|part| part.trim().strip_prefix(name)?.strip_prefix(": "));
    found.map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::CounterKind;

    #[test]
    fn every_counter_is_known_to_rocksdb_and_those_of_writes_grow() {
        let dir = tempfile::tempdir().unwrap();
        let mut options = Options::default();
        options.create_if_missing(true);
        options.enable_statistics();
        let database = Arc::new(DB::open(&options, dir.path()).unwrap());
        let mut source = source_of(database.clone(), options);
        let def = source.describe();
        let before = source.read();
        assert!(before.iter().all(Option::is_some), "{def:?} {before:?}");
        (0..1_000_u32).for_each(|key| database.put(key.to_be_bytes(), [7; 100]).unwrap());
        database.flush().unwrap();
        assert!(database.get(5_u32.to_be_bytes()).unwrap().is_some());
        let after = source.read();
        let grown = |name: &str| {
            let at = def.counters.iter().position(|counter| counter.name == name).unwrap();
            assert!(name == "table_bytes" || def.counters[at].kind == CounterKind::Counter, "{name}");
            after[at].unwrap() - before[at].unwrap()
        };
        for name in ["wal_bytes", "bytes_written"] {
            assert!(grown(name) > 104_000.0, "{name}: {}", grown(name));
        }
        for name in ["flush_write_bytes", "table_bytes", "table_read_bytes", "block_cache_miss"] {
            assert!(grown(name) >= 1.0, "{name}: {}", grown(name));
        }
    }

    #[test]
    fn stalls_are_found_by_name_wherever_they_stand() {
        let text = "Write Stall (count): a-delays: 5, total-delays: 3, total-stops: 2\ninterval: 5 total count\n";
        assert_eq!(
            (value_among(text, "total-delays"), value_among(text, "total-stops")),
            (Some("3".into()), Some("2".into()))
        );
        assert_eq!(value_among(text, "delays"), None);
        assert_eq!(sum_among(text, "a-delays+total-stops").as_deref(), Some("7"));
        assert_eq!(sum_among(text, "a-delays+b-delays"), None);
    }
}
