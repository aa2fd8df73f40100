//! `postgres`: the counters that PostgreSQL keeps.
//!
//! In: an address. Out: a source that reads the statistics views in one query, whatever columns they have. Limits: each process of the
//! server reports once a second at most, so a value is up to a second old. Bytes that PostgreSQL 18 counts elsewhere are gaps. The
//! answer has a deadline and the budget of a control query.

use super::client::PostgresAddress;
use super::wire::PostgresWire;
use crate::counters::{CounterQuery, PATIENCE, ServerSource, grows, level, name_and_value, number_in, queried_source};
use model::{CounterRole, CounterSource};
use std::collections::HashMap;

/// PostgreSQL.
pub static POSTGRES: ServerSource = ServerSource {
    name: "postgres",
    help: "write-ahead log, checkpoints, buffers and transactions, as reported by the statistics views (postgres)",
    counters: &[
        grows("wal_bytes", "wal_bytes", "bytes", "bytes of write-ahead log made").read_as(CounterRole::LogWritten),
        grows("wal_records", "wal_records", "ops", "records of write-ahead log made"),
        grows("wal_fpi", "wal_fpi", "ops", "full page images among them: first changes after a checkpoint"),
        grows("wal_write", "wal_write", "ops", "writes of the write-ahead log"),
        grows("wal_sync", "wal_sync", "ops", "syncs of the write-ahead log"),
        grows("wal_buffers_full", "wal_buffers_full", "ops", "waits for space in the log buffers"),
        grows("checkpoints_timed", "checkpoints_timed", "ops", "checkpoints that were due"),
        grows("checkpoints_requested", "checkpoints_req", "ops", "checkpoints because the log was full, or on request"),
        grows("buffers_checkpoint", "buffers_checkpoint", "ops", "pages written by checkpoints"),
        grows("buffers_clean", "buffers_clean", "ops", "pages written by the background writer"),
        grows("buffers_backend", "buffers_backend", "ops", "pages written by the clients' own processes"),
        grows("page_write_bytes", PAGES, "bytes", "bytes of pages that these three have written")
            .read_as(CounterRole::PagesWritten),
        grows("backend_fsyncs", "buffers_backend_fsync", "ops", "syncs that clients' own processes had to do"),
        grows("commits", "xact_commit", "ops", "transactions committed"),
        grows("rollbacks", "xact_rollback", "ops", "transactions rolled back"),
        grows("blocks_read", "blks_read", "ops", "pages requested that were not in shared buffers")
            .pages_of(CounterRole::EngineRead),
        grows("blocks_hit", "blks_hit", "ops", "pages found in shared buffers"),
        grows("deadlocks", "deadlocks", "ops", "transactions given up in a deadlock"),
        grows("temp_bytes", "temp_bytes", "bytes", "bytes written to temporary files"),
        level("checkpoint_age", "checkpoint_age", "bytes", "write-ahead log that a crash would have to replay")
            .read_as(CounterRole::LogAge),
    ],
};

/// Made of other values: pages are counted, and bytes are wanted.
const PAGES: &str = "page_write_bytes";

/// The views as pairs of column and value. A column that a version lacks is not among them.
const QUESTION: &str = "\
                        SELECT key, value FROM pg_stat_wal v, jsonb_each_text(to_jsonb(v)) \
                        UNION ALL SELECT key, value FROM pg_stat_bgwriter v, jsonb_each_text(to_jsonb(v)) \
                        UNION ALL SELECT key, value FROM pg_stat_database v, jsonb_each_text(to_jsonb(v)) WHERE v.datname = current_database() \
                        UNION ALL SELECT 'block_size', current_setting('block_size') \
                        UNION ALL SELECT 'checkpoint_age', pg_wal_lsn_diff(pg_current_wal_insert_lsn(), redo_lsn)::text \
                        FROM pg_control_checkpoint()";

/// From PostgreSQL 17 on checkpoints have a view of their own, with names of its own.
const CHECKPOINTER: &str = " UNION ALL \
                            SELECT CASE key WHEN 'num_timed' THEN 'checkpoints_timed' WHEN 'num_requested' THEN 'checkpoints_req' \
                            WHEN 'buffers_written' THEN 'buffers_checkpoint' ELSE key END, value \
                            FROM pg_stat_checkpointer v, jsonb_each_text(to_jsonb(v))";

/// The sources of a server.
pub fn counter_sources(address: &PostgresAddress) -> Vec<Box<dyn CounterSource>> {
    vec![queried_source(
        &POSTGRES,
        "postgres",
        StatsViews { address: address.clone(), question: String::new(), wire: None },
    )]
}

struct StatsViews {
    address: PostgresAddress,
    question: String,
    wire: Option<PostgresWire>,
}

impl CounterQuery for StatsViews {
    fn connect(&mut self) -> Option<()> {
        self.wire = None;
        let mut wire = self.address.connect_admin(PATIENCE).ok()?;
        let newer = wire.query_rows("SELECT 1 FROM pg_class WHERE relname = 'pg_stat_checkpointer'").ok()?.len() == 1;
        self.question = [QUESTION, if newer { CHECKPOINTER } else { "" }].concat();
        self.wire = Some(wire);
        Some(())
    }

    fn read_values(&mut self) -> Option<HashMap<String, String>> {
        let rows = self.wire.as_mut()?.query_rows(&self.question).ok()?;
        let mut values: HashMap<String, String> = rows.into_iter().filter_map(name_and_value).collect();
        let pages = page_write_bytes(&values).map(|bytes| (PAGES.to_owned(), bytes.to_string()));
        values.extend(pages);
        Some(values)
    }
}

/// The bytes of pages written. From PostgreSQL 17 on the pages that the clients' processes write are not counted there, and so `None`.
fn page_write_bytes(values: &HashMap<String, String>) -> Option<u64> {
    let mut pages = 0u64;
    for name in ["buffers_checkpoint", "buffers_clean", "buffers_backend"] {
        pages = pages.saturating_add(number_in(values, name)?);
    }
    Some(pages.saturating_mul(number_in(values, "block_size")?))
}
