//! `postgres`: the counters that PostgreSQL keeps.
//!
//! In: an address. Out: a source that reads the statistics views in one query, whatever columns they have. Limits: each process of the
//! server reports once a second at most, so a value is up to a second old. The answer has a deadline and the budget of a control query.
//!
//! Bytes of pages are those of `pg_stat_io` (PostgreSQL 16 and later): operations times `op_bytes`, or `write_bytes` in 18
//! (<https://www.postgresql.org/docs/18/monitoring-stats.html#MONITORING-PG-STAT-IO-VIEW>); before, pages of `pg_stat_bgwriter`.
//! Empty pages that make a file longer count, too (`extends`): the kernel writes them unless their contents follow within seconds.
//! Bytes of log are those that were
//! written, which `pg_stat_io` has from 18 on; before, those that were made (`pg_stat_wal`): that leaves out that a block is written again for
//! each commit in it, and that new files are filled with zeros. No version counts the sorted runs of a new index.

use super::client::PostgresAddress;
use super::wait_events::name_watcher;
use super::wire::{PostgresWire, PostgresWireError};
use crate::counters::{CounterQuery, PATIENCE, ServerSource, grows, level, name_and_value, number_in, queried_source};
use crate::sql::admin_connection::AdminConnection;
use model::{CounterRole, CounterSource};
use std::collections::HashMap;

pub static POSTGRES: ServerSource = ServerSource {
    name: "postgres",
    help: "write-ahead log, checkpoints, buffers and transactions, as reported by the statistics views (postgres)",
    counters: &[
        grows("wal_bytes", "wal_bytes", "bytes", "bytes of write-ahead log made").read_as(CounterRole::LogMade),
        grows("wal_write_bytes", LOG, "bytes", "bytes of write-ahead log written, from PostgreSQL 18 on")
            .read_as(CounterRole::LogWritten),
        grows("wal_records", "wal_records", "ops", "records of write-ahead log made"),
        grows("wal_fpi", "wal_fpi", "ops", "full page images among them: first changes after a checkpoint"),
        grows("wal_write", "wal_write", "ops", "writes of the write-ahead log"),
        grows("wal_sync", "wal_sync", "ops", "syncs of the write-ahead log"),
        grows("wal_buffers_full", "wal_buffers_full", "ops", "waits for space in the log buffers")
            .read_as(CounterRole::LogBufferWaits),
        grows("checkpoints_timed", "checkpoints_timed", "ops", "checkpoints that were due")
            .read_as(CounterRole::Checkpoints),
        grows("checkpoints_requested", "checkpoints_req", "ops", "checkpoints because the log was full, or on request")
            .read_as(CounterRole::Checkpoints),
        grows("buffers_checkpoint", "buffers_checkpoint", "ops", "pages written by checkpoints"),
        grows("buffers_clean", "buffers_clean", "ops", "pages written by the background writer"),
        grows("buffers_backend", BACKEND_WRITES, "ops", "pages written by the clients' own processes"),
        grows("page_write_bytes", PAGES, "bytes", "bytes of pages that all processes of the server have written")
            .read_as(CounterRole::PagesWritten),
        grows("backend_fsyncs", BACKEND_SYNCS, "ops", "syncs that clients' own processes had to do"),
        grows("commits", "xact_commit", "ops", "transactions committed"),
        grows("rollbacks", "xact_rollback", "ops", "transactions rolled back"),
        grows("transactions", "all_transactions", "ops", "transactions that ended in all databases, others' included")
            .read_as(CounterRole::EngineTransactions),
        grows("blocks_read", "blks_read", "ops", "pages requested that were not in shared buffers")
            .read_as(CounterRole::CacheMisses),
        grows("page_read_bytes", READS, "bytes", "bytes of them").read_as(CounterRole::EngineRead),
        grows("blocks_hit", "blks_hit", "ops", "pages found in shared buffers").read_as(CounterRole::CacheHits),
        grows("deadlocks", "deadlocks", "ops", "transactions given up in a deadlock"),
        grows("temp_bytes", "temp_bytes", "bytes", "bytes written to temporary files"),
        level("checkpoint_age", "checkpoint_age", "bytes", "write-ahead log that a crash would have to replay")
            .read_as(CounterRole::LogAge),
        level("max_wal_size", "max_wal_size", "bytes", "log between checkpoints that the server tries not to exceed")
            .read_as(CounterRole::LogAgeMax),
        level("dead_rows", "dead_rows", "count", "old versions of rows that are not vacuumed yet, as estimated")
            .read_as(CounterRole::HistoryLength),
    ],
};

/// Made of other values, because the versions count in different views and units.
const PAGES: &str = "page_write_bytes";
const READS: &str = "page_read_bytes";
const BACKEND_WRITES: &str = "buffers_backend";
const BACKEND_SYNCS: &str = "buffers_backend_fsync";
/// As the query names it.
const LOG: &str = "io_log_bytes";

/// The views as pairs of column and value. A column that a version lacks is not among them. A replica makes no log of its own: it refuses to
/// say how far that is, and its checkpoints are of the log that it has replayed.
const QUESTION: &str = "\
                        SELECT key, value FROM pg_stat_wal v, jsonb_each_text(to_jsonb(v)) \
                        UNION ALL SELECT key, value FROM pg_stat_bgwriter v, jsonb_each_text(to_jsonb(v)) \
                        UNION ALL SELECT key, value FROM pg_stat_database v, jsonb_each_text(to_jsonb(v)) WHERE v.datname = current_database() \
                        UNION ALL SELECT 'all_transactions', sum(xact_commit + xact_rollback)::text FROM pg_stat_database \
                        UNION ALL SELECT 'block_size', current_setting('block_size') \
                        UNION ALL SELECT 'max_wal_size', pg_size_bytes(current_setting('max_wal_size'))::text \
                        UNION ALL SELECT 'dead_rows', sum(n_dead_tup)::text FROM pg_stat_user_tables \
                        UNION ALL SELECT 'checkpoint_age', pg_wal_lsn_diff(CASE WHEN pg_is_in_recovery() \
                        THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_insert_lsn() END, redo_lsn)::text FROM pg_control_checkpoint()";

/// From PostgreSQL 17 on checkpoints have a view of their own, with names of its own.
const CHECKPOINTER: &str = " UNION ALL \
                            SELECT CASE key WHEN 'num_timed' THEN 'checkpoints_timed' WHEN 'num_requested' THEN 'checkpoints_req' \
                            WHEN 'buffers_written' THEN 'buffers_checkpoint' ELSE key END, value \
                            FROM pg_stat_checkpointer v, jsonb_each_text(to_jsonb(v))";

/// From PostgreSQL 16 on. The columns are read by name: 18 has `write_bytes` for `writes` times `op_bytes`, and rows of the object `wal`,
/// which `pg_stat_wal` had before. A sum over no rows is NULL, and no value.
const IO: &str = " UNION ALL \
                  SELECT named.key, named.value::text FROM (\
                  SELECT sum(bytes) AS bytes, sum(syncs) FILTER (WHERE is_client) AS syncs, \
                  round(sum(bytes) FILTER (WHERE is_client) / current_setting('block_size')::numeric) AS pages FROM (SELECT \
                  COALESCE((io ->> 'write_bytes')::numeric, (io ->> 'writes')::numeric * (io ->> 'op_bytes')::numeric, 0) + \
                  COALESCE((io ->> 'extend_bytes')::numeric, (io ->> 'extends')::numeric * (io ->> 'op_bytes')::numeric, 0) AS bytes, \
                  (io ->> 'fsyncs')::numeric AS syncs, io ->> 'backend_type' = 'client backend' AS is_client \
                  FROM (SELECT to_jsonb(v) AS io FROM pg_stat_io v) AS lines WHERE io ->> 'object' <> 'wal') AS pages) AS summed, \
                  LATERAL (VALUES ('io_page_bytes', summed.bytes), ('io_backend_writes', summed.pages), \
                  ('io_backend_syncs', summed.syncs)) AS named(key, value) \
                  UNION ALL SELECT sums.key, sums.value::text \
                  FROM (SELECT sum((io ->> 'write_bytes')::numeric) AS bytes, sum((io ->> 'writes')::numeric) AS writes, \
                  sum((io ->> 'fsyncs')::numeric) AS syncs \
                  FROM (SELECT to_jsonb(v) AS io FROM pg_stat_io v) AS log WHERE io ->> 'object' = 'wal') AS log, \
                  LATERAL (VALUES ('io_log_bytes', log.bytes), ('wal_write', log.writes), ('wal_sync', log.syncs)) AS sums(key, value)";

/// The sources of a server.
pub fn counter_sources(address: &PostgresAddress) -> Vec<Box<dyn CounterSource>> {
    vec![queried_source(
        &POSTGRES,
        "postgres",
        StatsViews { address: address.clone(), question: String::new(), wire: None },
    )]
}

/// The views that not all versions have.
const NEWER_VIEWS: &str = "SELECT plimsoll_watch.relname FROM pg_class AS plimsoll_watch \
                           WHERE plimsoll_watch.relname IN ('pg_stat_checkpointer', 'pg_stat_io')";

struct StatsViews {
    address: PostgresAddress,
    question: String,
    wire: Option<PostgresWire>,
}

impl CounterQuery for StatsViews {
    fn connect(&mut self) -> Option<()> {
        self.wire = None;
        let mut wire = self.address.connect_admin(PATIENCE).ok()?;
        name_watcher(&mut wire)?;
        self.question = views_question(&mut wire).ok()?;
        self.wire = Some(wire);
        Some(())
    }

    fn read_values(&mut self) -> Option<HashMap<String, String>> {
        ask_views(self.wire.as_mut()?, &self.question).ok()
    }
}

/// The question for the views that the server at the other end of `wire` has.
pub(crate) fn views_question(wire: &mut PostgresWire) -> Result<String, PostgresWireError> {
    let views = wire.query_rows(NEWER_VIEWS)?;
    let has = |name: &str| views.iter().flatten().any(|view| view.as_deref() == Some(name));
    let parts = [("pg_stat_checkpointer", CHECKPOINTER), ("pg_stat_io", IO)];
    let newer = parts.into_iter().filter(|(view, _)| has(view)).map(|(_, part)| part);
    Ok(std::iter::once(QUESTION).chain(newer).collect())
}

/// The values that answer `question`, and those that are made of them.
pub(crate) fn ask_views(wire: &mut PostgresWire, question: &str) -> Result<HashMap<String, String>, PostgresWireError> {
    let mut values: HashMap<String, String> =
        wire.query_rows(question)?.into_iter().filter_map(name_and_value).collect();
    add_page_bytes(&mut values);
    add_backend_writes(&mut values);
    Ok(values)
}

/// Adds the bytes of pages that were written, from the view that has them all, and of those that were read.
fn add_page_bytes(values: &mut HashMap<String, String>) {
    let written = number_in(values, "io_page_bytes").or_else(|| pages_of_bgwriter(values));
    let pages_read = number_in(values, "blks_read").zip(number_in(values, "block_size"));
    let read = pages_read.map(|(pages, bytes)| pages.saturating_mul(bytes));
    let known = [(PAGES, written), (READS, read)].map(|(name, bytes)| Some((name.to_owned(), bytes?.to_string())));
    values.extend(known.into_iter().flatten());
}

/// Adds what the clients' own processes wrote and synced: from PostgreSQL 17 on `pg_stat_io` alone counts it. As in the view before, pages
/// that make a file longer are among those written.
fn add_backend_writes(values: &mut HashMap<String, String>) {
    for (name, newer) in [(BACKEND_WRITES, "io_backend_writes"), (BACKEND_SYNCS, "io_backend_syncs")] {
        if let Some(value) = values.get(newer).cloned() {
            values.entry(name.to_owned()).or_insert(value);
        }
    }
}

/// The bytes of pages written by PostgreSQL up to 15; later versions count those of the clients' own processes elsewhere.
fn pages_of_bgwriter(values: &HashMap<String, String>) -> Option<u64> {
    let mut pages = 0u64;
    for name in ["buffers_checkpoint", "buffers_clean", "buffers_backend"] {
        pages = pages.saturating_add(number_in(values, name)?);
    }
    Some(pages.saturating_mul(number_in(values, "block_size")?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pages(values: &[(&str, &str)]) -> Option<u64> {
        let mut values: HashMap<String, String> =
            values.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        add_page_bytes(&mut values);
        number_in(&values, PAGES)
    }

    #[test]
    fn each_version_has_its_pages_from_the_view_that_counts_them_all() {
        let bgwriter = [("buffers_checkpoint", "2"), ("buffers_clean", "3"), ("buffers_backend", "5")];
        let of_15 = [&bgwriter[..], &[("block_size", "8192")]].concat();
        assert_eq!(pages(&of_15), Some(81_920));
        let of_16 = [&of_15[..], &[("io_page_bytes", "98304")]].concat();
        assert_eq!(pages(&of_16), Some(98_304));
        assert_eq!(pages(&[("block_size", "8192"), ("io_page_bytes", "98304")]), Some(98_304));
        assert_eq!(pages(&[("block_size", "8192")]), None);
    }

    #[test]
    fn what_clients_wrote_themselves_is_that_of_the_background_writers_view_while_that_has_it() {
        let written = |values: &[(&str, &str)]| {
            let mut values: HashMap<String, String> =
                values.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
            add_backend_writes(&mut values);
            [BACKEND_WRITES, BACKEND_SYNCS].map(|name| number_in(&values, name))
        };
        let io = [("io_backend_writes", "7"), ("io_backend_syncs", "2")];
        assert_eq!(written(&io), [Some(7), Some(2)], "17");
        assert_eq!(written(&[&io[..], &[(BACKEND_WRITES, "9"), (BACKEND_SYNCS, "1")]].concat()), [Some(9), Some(1)]);
        assert_eq!(written(&[]), [None, None]);
    }
}
