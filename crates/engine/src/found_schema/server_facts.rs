//! What is saved of a server together with its workload: its version, the settings that matter, and the sizes of tables.
//!
//! In: the URL of a server. Out: rows of its catalogue and its statistics. Limits: it only reads, and no row of a table of users. Numbers of rows are
//! the server's estimates. PostgreSQL tells the tables of the database in the URL only.

use super::{SchemaSource, server_of};
use crate::mysql::client::MysqlAddress;
use crate::postgres::client::PostgresAddress;
use crate::server::network::{AnswerLimits, TextRows};
use crate::sql::admin_connection::AdminConnection;
use crate::sql::external::PATIENCE;
use crate::sql::server_error;
use crate::{mysql, postgres};
use host::error::TargetError;
use std::collections::BTreeSet;
use std::path::Path;
use workload::replay_sql::{LogDialect, TableSize};

/// The most tables that a server is asked for.
const TABLES_MAX: u32 = 20_000;

/// The version and the settings of the server of `source`, by name, and whose SQL it understands.
///
/// # Errors
/// If it cannot be reached, or is no server.
pub fn find_settings(source: &SchemaSource) -> Result<(LogDialect, Vec<(String, String)>), TargetError> {
    let of_mysql =
        (mysql::settings::WATCHED.query)(&with_more(mysql::settings::WATCHED.names, &["version", "max_connections"]));
    let of_postgres = (postgres::settings::WATCHED.query)(&with_more(
        postgres::settings::WATCHED.names,
        &["server_version", "max_connections"],
    ));
    let (dialect, rows) = ask(source, &of_mysql, &of_postgres)?;
    let setting = |row: Vec<Option<String>>| {
        let mut row = row.into_iter();
        Some((row.next()??, row.next()??))
    };
    Ok((dialect, rows.into_iter().filter_map(setting).collect()))
}

fn with_more<'a>(names: &[&'a str], more: &[&'a str]) -> Vec<&'a str> {
    [more, names].concat()
}

/// The sizes of those tables of the server of `source` that are among `names`, which may have their schema before them.
///
/// # Errors
/// If it cannot be reached.
pub fn find_sizes(source: &SchemaSource, names: &BTreeSet<String>) -> Result<Vec<TableSize>, TargetError> {
    let of_mysql = format!(
        "SELECT table_schema, table_name, table_rows, data_length + index_length FROM information_schema.tables \
         WHERE table_type = 'BASE TABLE' AND table_schema NOT IN ('mysql', 'sys', 'performance_schema', 'information_schema') \
         ORDER BY 4 DESC LIMIT {TABLES_MAX}"
    );
    let of_postgres = format!(
        "SELECT n.nspname, c.relname, CASE WHEN c.reltuples < 0 THEN NULL ELSE c.reltuples::bigint END, pg_total_relation_size(c.oid) \
         FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace \
         WHERE c.relkind IN ('r', 'm') AND n.nspname NOT LIKE 'pg\\_%' AND n.nspname != 'information_schema' ORDER BY 4 DESC LIMIT {TABLES_MAX}"
    );
    let (_, rows) = ask(source, &of_mysql, &of_postgres)?;
    let wanted: BTreeSet<String> = names.iter().map(|name| name.to_lowercase()).collect();
    let size = |row: Vec<Option<String>>| {
        let [schema, table, rows, bytes]: [Option<String>; 4] = row.try_into().ok()?;
        let (table, full) = (table?, schema?);
        let full = format!("{full}.{table}");
        let number = |text: Option<String>| text.and_then(|text| text.parse().ok());
        let is_named = wanted.contains(&table.to_lowercase()) || wanted.contains(&full.to_lowercase());
        is_named.then(|| TableSize { name: full, rows: number(rows), bytes: number(bytes) })
    };
    Ok(rows.into_iter().filter_map(size).collect())
}

/// The rows that answer one of the questions.
fn ask(source: &SchemaSource, of_mysql: &str, of_postgres: &str) -> Result<(LogDialect, TextRows), TargetError> {
    let place = source.place.as_str();
    match place.split_once("://") {
        Some(("mysql" | "mariadb", rest)) => {
            let (url, password) = server_of(&format!("mysql://{rest}"), source)?;
            let address = MysqlAddress::from_url(&url, password, AnswerLimits::default())?;
            let shown = address.shown().to_owned();
            let mut wire = address.connect_admin(PATIENCE).map_err(|failure| server_error(&shown, failure))?;
            let rows = wire.rows_patiently(of_mysql).map_err(|error| server_error(&shown, error))?;
            Ok((LogDialect::Mysql, rows))
        }
        Some(("postgres" | "postgresql", _)) => {
            let (url, password) = server_of(place, source)?;
            let address = PostgresAddress::from_url(&url, password, AnswerLimits::default())?;
            let shown = address.shown().to_owned();
            let mut wire = address.connect_admin(PATIENCE).map_err(|failure| server_error(&shown, failure))?;
            let rows = wire.rows_patiently(of_postgres).map_err(|error| server_error(&shown, error))?;
            Ok((LogDialect::Postgres, rows))
        }
        _ => Err(TargetError::Unsupported(format!(
            "`{}` is no server; use mysql://user@host/ or postgres://user@host/database",
            host::error::shown(Path::new(place))
        ))),
    }
}
