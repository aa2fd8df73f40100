//! The options that RocksDB is opened with, and their values when it is open.
//!
//! In: the parameters of a trial. Out: options; names and values read back. Limits: of what a plan sets, whether a name is known and
//! a value is valid is decided by RocksDB.

use super::RULES;
use crate::server::variables::ServerVariables;
use ::rocksdb::statistics::StatsLevel;
use ::rocksdb::{BlockBasedOptions, Cache, DBCompressionType, Options, WriteOptions};
use host::error::TargetError;
use model::Params;
use std::collections::BTreeMap;
use std::path::Path;

/// Ten bits a key keep a reader from looking in vain into 99 of 100 files: 1 % false positives.
/// (<https://github.com/facebook/rocksdb/wiki/RocksDB-Bloom-Filter>)
const FILTER_BITS_PER_KEY: f64 = 10.0;

/// Options of tables, which RocksDB takes from inside those of what makes tables.
const OF_TABLES: [&str; 14] = [
    "block_restart_interval",
    "block_size",
    "cache_index_and_filter_blocks",
    "checksum",
    "data_block_index_type",
    "filter_policy",
    "format_version",
    "index_type",
    "metadata_block_size",
    "no_block_cache",
    "optimize_filters_for_memory",
    "partition_filters",
    "pin_l0_filter_and_index_blocks_in_cache",
    "whole_key_filtering",
];

/// What a database is opened with.
pub fn from_params(params: &Params, variables: &ServerVariables) -> Result<Options, TargetError> {
    let mut ours = default_options(params);
    let text = text_of(variables);
    if text.is_empty() {
        return Ok(ours);
    }
    let set = ours.get_options_from_string(text);
    set.map_err(|error| RULES.blame(variables, TargetError::Failed(format!("rocksdb: {error}"))))
}

/// What differs from RocksDB's defaults (docs/journal/2026-11-21-rocksdb.md has why).
fn default_options(params: &Params) -> Options {
    let mut tables = BlockBasedOptions::default();
    tables.set_block_cache(&Cache::new_lru_cache(params.bytes("cache").0 as usize));
    tables.set_cache_index_and_filter_blocks(true);
    tables.set_pin_l0_filter_and_index_blocks_in_cache(true);
    tables.set_bloom_filter(FILTER_BITS_PER_KEY, false);
    let mut options = Options::default();
    options.create_if_missing(true);
    options.set_block_based_table_factory(&tables);
    options.set_compression_type(DBCompressionType::Lz4);
    options.set_manual_wal_flush(params.word("durability") == "none");
    options.set_max_background_jobs(std::thread::available_parallelism().map_or(2, |cores| cores.get().max(2) as i32));
    // Without histograms and timers, which would read the clock at each operation once more.
    options.enable_statistics();
    options.set_statistics_level(StatsLevel::ExceptHistogramOrTimers);
    options
}

/// `a=1;block_based_table_factory={block_size=16K;}`
fn text_of(variables: &ServerVariables) -> String {
    let (of_tables, others): (Vec<_>, Vec<_>) = variables.iter().partition(|(name, _)| OF_TABLES.contains(name));
    if of_tables.is_empty() {
        join_options(&others)
    } else {
        format!("{}block_based_table_factory={{{}}}", join_options(&others), join_options(&of_tables))
    }
}

/// `a=1;b=2;`
fn join_options(options: &[(&str, &str)]) -> String {
    options.iter().map(|(name, value)| format!("{name}={value};")).collect()
}

/// How each batch is written.
pub fn of_writes(params: &Params) -> WriteOptions {
    let mut options = WriteOptions::default();
    options.set_sync(params.word("durability") == "disk");
    options
}

/// What the database in `directory` runs with, by name: RocksDB writes it to a file OPTIONS-N whenever it opens.
pub fn read_back(directory: &Path) -> BTreeMap<String, String> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let numbered = entries.filter_map(|entry| {
        let number = entry.file_name().to_str()?.strip_prefix("OPTIONS-")?.parse::<u64>().ok()?;
        Some((number, entry.path()))
    });
    let text = numbered.max().and_then(|(_, path)| model::read_regular_text(&path).ok());
    settings_in(&text.unwrap_or_default())
}

fn settings_in(text: &str) -> BTreeMap<String, String> {
    let lines = text.lines().map(str::trim).filter(|line| !line.starts_with(['#', '[']));
    let settings = lines.filter_map(|line| line.split_once('='));
    settings.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{Bytes, Value};

    fn params(set: &[(&str, &str)]) -> Params {
        let word = |(name, value): &(&str, &str)| (name.to_string(), Value::Word(value.to_string()));
        let cache = ("cache".to_owned(), Value::Bytes(Bytes::from_mib(8)));
        let durability = ("durability".to_owned(), Value::Word("none".into()));
        Params(set.iter().map(word).chain([cache, durability]).collect())
    }

    fn opened(set: &[(&str, &str)]) -> Result<BTreeMap<String, String>, TargetError> {
        let (dir, params) = (tempfile::tempdir().unwrap(), params(set));
        let options = from_params(&params, &RULES.variables_in(&params))?;
        drop(::rocksdb::DB::open(&options, dir.path()).unwrap());
        Ok(read_back(dir.path()))
    }

    #[test]
    fn what_a_plan_sets_reaches_the_database_and_the_tables_and_leaves_the_rest() {
        let plain = opened(&[]).unwrap();
        assert_eq!((plain["compression"].as_str(), plain["manual_wal_flush"].as_str()), ("kLZ4Compression", "true"));
        let set = opened(&[("rocksdb.write_buffer_size", "16M"), ("rocksdb.block_size", "16K")]).unwrap();
        let changed: Vec<&str> = set.keys().filter(|name| set[*name] != plain[*name]).map(String::as_str).collect();
        assert_eq!((set["write_buffer_size"].as_str(), set["block_size"].as_str()), ("16777216", "16384"));
        assert!(changed.iter().all(|name| ["write_buffer_size", "block_size"].contains(name)), "{changed:?}");
    }

    #[test]
    fn an_option_that_rocksdb_does_not_know_is_the_plan_s_mistake() {
        for set in [("rocksdb.no_such_option", "1"), ("rocksdb.write_buffer_size", "much")] {
            let error = opened(&[set]).unwrap_err();
            assert!(matches!(&error, TargetError::Unsupported(text) if text.contains(set.0)), "{error}");
        }
    }
}
