//! Bringing tables to rest: what PostgreSQL put off writing is written.
//!
//! In: a connection of its own. Out: tables at rest. Limits: on a server of others there is no checkpoint.
//!
//! At rest, tables are vacuumed, which also marks their rows as seen by all (the first readers would have to write that
//! otherwise), and all dirty pages are written by a checkpoint.

use super::tables::quoted;
use super::wire::{Wire, WireError};

/// Writes out what was put off for `tables`, so that whatever comes next does not pay for it.
pub fn quiesce_tables(wire: &mut Wire, tables: &[String], private: bool) -> Result<(), WireError> {
    for table in tables {
        wire.run(&format!("VACUUM (ANALYZE) {}", quoted(table)))?;
    }
    if private { wire.run("CHECKPOINT") } else { Ok(()) }
}
