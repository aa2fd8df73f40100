//! Quiescing tables: what PostgreSQL put off writing is written.
//!
//! In: a connection of its own. Out: quiesced tables. Limits: an existing server gets no checkpoint.
//!
//! Once quiesced, tables are vacuumed, which also marks their rows as seen by all (the first readers would have to write that
//! otherwise), and all dirty pages are written by a checkpoint. On an existing server the commit of `ANALYZE`, which writes the table's
//! statistics, flushes the log up to there, commits included that did not wait for that: those of a load.

use super::tables::quote_name;
use super::wire::{PostgresWire, PostgresWireError};
use crate::sql::admin_connection::AdminConnection;

/// Writes out what was put off for `tables`, so that whatever comes next does not pay for it.
pub fn quiesce_tables(wire: &mut PostgresWire, tables: &[String], private: bool) -> Result<(), PostgresWireError> {
    for table in tables {
        wire.run_statement(&format!("VACUUM (ANALYZE) {}", quote_name(table)))?;
    }
    if private { wire.run_statement("CHECKPOINT") } else { Ok(()) }
}
