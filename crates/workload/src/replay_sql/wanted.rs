//! What of a log is replayed, and whose log it is.
//!
//! In: nothing. Out: values that all readers of logs share.

/// Whose log it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogDialect {
    /// Of MySQL or MariaDB.
    #[default]
    Mysql,
    /// Of PostgreSQL.
    Postgres,
}

/// What of a log is replayed, and how.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogWanted {
    /// Whether statements that write are replayed, too.
    pub writes: bool,
    /// The schemas that are called otherwise on the copy: what was recorded, and what the copy has.
    pub renamed: Vec<(String, String)>,
}
