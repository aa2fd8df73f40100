//! MySQL and MariaDB servers that somebody else runs: looked at before anything is made, and left as they were.
//!
//! In: an address. Out: a schema of plimsoll's own, with its marker. Limits: what the user's rights hide is not seen; a schema
//! that a killed plimsoll left is named, and dropped by hand; one of plimsoll's name without its marker is somebody else's, and the
//! server is refused.

use super::client::{MysqlAddress, failure};
use super::tables::quoted;
use crate::server::location::{ExternalSchema, OTHERS, RECENT_S, schema_left, schema_taken, schemas_there};
use crate::server::url::{Url, schema_name};
use crate::sql::OpFailure;
use ::mysql::prelude::Queryable;
use ::mysql::{Conn, Error};
use host::error::TargetError;
use model::Fact;
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(600);
const MARKER: &str = "plimsoll_marker";
/// The server's number for that.
const DATABASE_EXISTS: u16 = 1007;

/// Goes to the server and makes a schema there: the address with that schema, a connection, and what removes it.
pub fn create_schema(server: &MysqlAddress, url: &Url) -> Result<(MysqlAddress, Conn, ExternalSchema), TargetError> {
    let told = |failure: OpFailure| TargetError::Failed(format!("{}: {}", server.shown(), failure.text));
    let mut admin = server.connect(PATIENCE).map_err(told)?;
    refuse_production(&mut admin, server)?;
    let mut facts = look_around(&mut admin, server, url)?;
    facts.extend(server.facts());
    let name = schema_name();
    // Before there is anything that would drop it.
    admin.query_drop(format!("CREATE DATABASE {}", quoted(&name))).map_err(|error| match error {
        Error::MySqlError(said) if said.code == DATABASE_EXISTS => schema_taken(server.shown(), &name),
        error => told(failure(error)),
    })?;
    let remover = {
        let (server, name) = (server.clone(), name.clone());
        Box::new(move || remove(&server, &name))
    };
    let statements = [
        format!("USE {}", quoted(&name)),
        format!("CREATE TABLE {MARKER} (made_by VARCHAR(20) NOT NULL, name VARCHAR(64) NOT NULL PRIMARY KEY)"),
        format!("INSERT INTO {MARKER} VALUES ('plimsoll', '{name}')"),
    ];
    let made = statements.iter().try_for_each(|statement| admin.query_drop(statement));
    facts.push(Fact::new("server.schema", name.as_str()));
    let foreign = ExternalSchema::new(format!("{}, schema `{name}`", server.shown()), facts, remover);
    made.map_err(|error| told(failure(error)))?;
    Ok((server.in_database(&name), admin, foreign))
}

/// A server that follows another, feeds others or takes no writes is in use for something else.
fn refuse_production(admin: &mut Conn, server: &MysqlAddress) -> Result<(), TargetError> {
    let refused =
        |why: &str| Err(TargetError::Unsafe(format!("{} {why}; measure a server that serves nobody", server.shown())));
    let read_only = admin.query_first::<u8, _>("SELECT @@global.read_only");
    if matches!(read_only, Ok(Some(1))) {
        return refused("is read-only");
    }
    let follows = ["SHOW ALL SLAVES STATUS", "SHOW SLAVE STATUS", "SHOW REPLICA STATUS"];
    let is_replica = |question: &&str| admin.query::<::mysql::Row, _>(*question).is_ok_and(|rows| !rows.is_empty());
    if follows.iter().any(is_replica) {
        return refused("is a replica");
    }
    if count(admin, "command LIKE 'Binlog Dump%'") > 0 {
        return refused("has replicas");
    }
    let alone = admin.query_first::<Option<u8>, _>("SELECT GET_LOCK('plimsoll', 5)");
    if matches!(alone, Ok(Some(Some(0)))) {
        return refused("is being measured by another plimsoll");
    }
    Ok(())
}

/// Connections other than this one.
fn count(admin: &mut Conn, which: &str) -> u64 {
    let question =
        format!("SELECT count(*) FROM information_schema.processlist WHERE id <> connection_id() AND {which}");
    admin.query_first::<u64, _>(question).ok().flatten().unwrap_or_default()
}

fn look_around(admin: &mut Conn, server: &MysqlAddress, url: &Url) -> Result<Vec<Fact>, TargetError> {
    let others = format!("command <> 'Daemon' AND (command <> 'Sleep' OR time < {RECENT_S})");
    let others = count(admin, &others);
    let mut facts = vec![Fact::new("server.url", url.text.as_str()), Fact::new(OTHERS, others.to_string())];
    let there = format!(
        "SELECT s.schema_name, EXISTS (SELECT 1 FROM information_schema.tables t WHERE t.table_schema = s.schema_name \
         AND t.table_name = '{MARKER}') FROM information_schema.schemata s WHERE s.schema_name LIKE 'plimsoll\\_%'"
    );
    let there: Vec<(String, bool)> = admin.query(there).unwrap_or_default();
    facts.extend(schemas_there(server.shown(), &there)?);
    Ok(facts)
}

/// Drops the schema `name` where its marker says that it is plimsoll's.
fn remove(server: &MysqlAddress, name: &str) -> Result<(), TargetError> {
    let told = |text: String| schema_left(server.shown(), name, &text);
    let mut connection = server.connect(PATIENCE).map_err(|failure| told(failure.text))?;
    let marker =
        format!("SELECT count(*) FROM {}.{MARKER} WHERE made_by = 'plimsoll' AND name = '{name}'", quoted(name));
    let marked = connection.query_first::<u64, _>(marker).map_err(|error| told(failure(error).text))?;
    if marked != Some(1) {
        return Err(told("its marker is missing".into()));
    }
    connection.query_drop(format!("DROP DATABASE {}", quoted(name))).map_err(|error| told(failure(error).text))
}
