//! The statements that a server has counted, for a mix without a log.
//!
//! In: the URL of a server. Out: texts of statements without their values, with how often each ran, the most frequent first. MySQL and MariaDB have
//! them in `performance_schema.events_statements_summary_by_digest`, PostgreSQL in `pg_stat_statements`. Limits: only what reads or changes
//! rows of the database in the URL; 200 statements; what the server has forgotten (its tables are bounded) is not there. MariaDB does not
//! count executions of prepared statements there.

use super::{SchemaSource, server_of};
use crate::mysql::client::MysqlAddress;
use crate::postgres::client::PostgresAddress;
use crate::postgres::statement_view;
use crate::server::network::AnswerLimits;
use crate::sql::admin_connection::AdminConnection;
use crate::sql::external::PATIENCE;
use crate::sql::server_error;
use host::error::TargetError;
use sql::Dialect;
use std::path::Path;

/// A statement without its values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CountedStatement {
    /// Its text, with `?` or `$1` in place of each value.
    pub text: String,
    /// How often it ran.
    pub calls: u64,
    /// Whose SQL it is.
    pub dialect: Dialect,
}

/// The most statements that are taken.
const STATEMENTS_MAX: u32 = 200;

/// Reads the statements that the server of `source` has counted.
///
/// # Errors
/// If it cannot be reached, is a file, counts no statements (with what turns that on), or has counted none.
pub fn find_statements(source: &SchemaSource) -> Result<Vec<CountedStatement>, TargetError> {
    let place = source.place.as_str();
    let (dialect, rows) = match place.split_once("://") {
        Some(("mysql" | "mariadb", rest)) => (Dialect::Mysql, of_mysql(&format!("mysql://{rest}"), source)?),
        Some(("postgres" | "postgresql", _)) => (Dialect::Postgres, of_postgres(place, source)?),
        _ => {
            let place = host::error::shown(Path::new(place));
            return Err(TargetError::Unsupported(format!(
                "`{place}` counts no statements; --statements needs a server: mysql:// or postgres://"
            )));
        }
    };
    let counted = |row: Vec<Option<String>>| {
        let mut row = row.into_iter();
        let (text, calls) = (row.next()??, row.next()??.parse().ok().filter(|calls| *calls > 0)?);
        Some(CountedStatement { text, calls, dialect })
    };
    let found: Vec<CountedStatement> =
        rows.into_iter().filter_map(counted).filter(|one| is_of_rows(&one.text)).collect();
    if found.is_empty() {
        return Err(TargetError::Unsupported(format!(
            "`{place}` has counted no statement that reads or changes rows of this database; let the application run, then try again"
        )));
    }
    Ok(found)
}

/// Whether a statement reads or changes rows.
fn is_of_rows(text: &str) -> bool {
    let first: String = text.trim_start().chars().take_while(char::is_ascii_alphabetic).collect();
    ["select", "insert", "update", "delete", "replace", "with"].contains(&first.to_ascii_lowercase().as_str())
}

fn of_mysql(url: &str, source: &SchemaSource) -> Result<Vec<Vec<Option<String>>>, TargetError> {
    let (url, password) = server_of(url, source)?;
    let Some(database) = url.database.clone() else {
        return Err(TargetError::Unsupported(format!(
            "`{}` names no database; use mysql://user@host/database",
            url.text
        )));
    };
    let address = MysqlAddress::from_url(&url, password, AnswerLimits::default())?.in_database(&database);
    let shown = address.shown().to_owned();
    let mut wire = address.connect_admin(PATIENCE).map_err(|failure| server_error(&shown, failure))?;
    let mut ask = |question: &str| wire.rows_patiently(question).map_err(|error| server_error(&shown, error));
    if ask("SELECT @@performance_schema")? != [[Some("1".to_owned())]] {
        return Err(TargetError::Unsupported(format!(
            "{shown}: performance_schema is off, so the server counts no statements; set `performance_schema = ON` in its configuration file and start it again"
        )));
    }
    let consumer =
        "SELECT count(*) FROM performance_schema.setup_consumers WHERE name = 'statements_digest' AND enabled = 'YES'";
    if ask(consumer)? != [[Some("1".to_owned())]] {
        return Err(TargetError::Unsupported(format!(
            "{shown}: the server counts no statements; execute UPDATE performance_schema.setup_consumers SET enabled = 'YES' WHERE name IN ('global_instrumentation', 'thread_instrumentation', 'statements_digest')"
        )));
    }
    let name: String = database.bytes().map(|byte| format!("{byte:02X}")).collect();
    ask(&format!(
        "SELECT digest_text, count_star FROM performance_schema.events_statements_summary_by_digest \
         WHERE schema_name = CONVERT(X'{name}' USING utf8mb4) AND digest_text IS NOT NULL ORDER BY count_star DESC LIMIT {STATEMENTS_MAX}"
    ))
}

fn of_postgres(url: &str, source: &SchemaSource) -> Result<Vec<Vec<Option<String>>>, TargetError> {
    let (url, password) = server_of(url, source)?;
    let address = PostgresAddress::from_url(&url, password, AnswerLimits::default())?;
    let shown = address.shown().to_owned();
    let mut wire = address.connect_admin(PATIENCE).map_err(|failure| server_error(&shown, failure))?;
    let mut ask = |question: &str| wire.rows_patiently(question).map_err(|error| server_error(&shown, error));
    let place = ask(statement_view::FIND_SCHEMA)?;
    let Some(schema) = place.first().and_then(|row| row.first()?.clone()) else {
        return Err(TargetError::Unsupported(format!(
            "{shown}: {}; {}",
            statement_view::MISSING,
            statement_view::TURN_ON
        )));
    };
    ask(&format!(
        "SELECT s.query, sum(s.calls)::bigint FROM \"{}\".pg_stat_statements s JOIN pg_database d ON d.oid = s.dbid \
         WHERE d.datname = current_database() AND s.query IS NOT NULL GROUP BY s.query ORDER BY 2 DESC LIMIT {STATEMENTS_MAX}",
        schema.replace('"', "\"\"")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_statements_of_rows_are_taken() {
        assert!(
            ["SELECT 1", "  with a as (select 1) select 2", "UPDATE t SET a = ?"].iter().all(|text| is_of_rows(text))
        );
        assert!(!["SET a = ?", "BEGIN", "SHOW TABLES", "", "SELECTED"].iter().any(|text| is_of_rows(text)));
    }
}
