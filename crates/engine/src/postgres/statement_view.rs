//! The view pg_stat_statements, in which PostgreSQL counts what statements cost.
//!
//! In: nothing. Out: how to find it, and what to do if it is not there. Limits: the extension is looked for in the current database.

/// The schema in which the extension is; no row if this database does not have it.
pub const FIND_SCHEMA: &str = "SELECT n.nspname FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'pg_stat_statements'";

/// Why there is none.
pub const MISSING: &str = "this database has no pg_stat_statements";

pub const TURN_ON: &str = "execute CREATE EXTENSION pg_stat_statements in this database; if `SHOW shared_preload_libraries` does not name it, put it \
                           there and start the server again first";
