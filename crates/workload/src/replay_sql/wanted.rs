//! What of a log is replayed, and whose log it is.

use std::fmt;

/// Whose log it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogDialect {
    /// Of MySQL or MariaDB.
    #[default]
    Mysql,
    Postgres,
}

impl LogDialect {
    /// Whose SQL it has.
    pub fn sql(self) -> sql::Dialect {
        match self {
            LogDialect::Mysql => sql::Dialect::Mysql,
            LogDialect::Postgres => sql::Dialect::Postgres,
        }
    }

    /// The word for it in a workload file.
    pub(super) fn family_word(self) -> &'static str {
        match self {
            LogDialect::Mysql => "mysql",
            LogDialect::Postgres => "postgres",
        }
    }

    /// [`LogDialect::family_word`] the other way round.
    pub(super) fn of_family(word: &str) -> Option<LogDialect> {
        [LogDialect::Mysql, LogDialect::Postgres].into_iter().find(|dialect| dialect.family_word() == word)
    }
}

impl fmt::Display for LogDialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            LogDialect::Mysql => "MySQL or MariaDB",
            LogDialect::Postgres => "PostgreSQL",
        })
    }
}

/// What of a log is replayed, and how.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogWanted {
    /// Whether statements that write are replayed, too.
    pub writes: bool,
    /// The schemas that are called otherwise on the copy: what was recorded, and what the copy has.
    pub renamed: Vec<(String, String)>,
    /// `log_line_prefix` of the PostgreSQL that wrote the log; empty if it is to be found.
    pub log_line_prefix: String,
    /// Functions that reads may call, and views that they may name, whatever these do.
    pub functions: Vec<String>,
}
