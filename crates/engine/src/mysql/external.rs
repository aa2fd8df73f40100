//! MySQL and MariaDB servers by URL: they are looked at before anything is made, and left as they were.
//!
//! In: an address. Out: a schema of plimsoll's own, with its marker. Limits: settings and connections that the account may not see are
//! not seen; a schema that a killed plimsoll left is named, and must be dropped by hand; a schema of plimsoll's name without its marker
//! belongs to somebody else, and the server is refused.

use super::client::{MysqlAddress, failure};
use super::tables::quoted;
use super::wire::{Wire, WireError};
use crate::server::location::{ExternalSchema, OTHERS, RECENT_S, schema_left, schema_taken, schemas_there};
use crate::server::network::{SETUP_STATEMENT, TextRows, first_number};
use crate::server::url::{Url, schema_name};
use crate::sql::OpFailure;
use host::error::TargetError;
use model::Fact;
use std::time::Duration;

/// How long counting rows, flushing and dropping a schema may take.
const PATIENCE: Duration = Duration::from_secs(600);
const MARKER: &str = "plimsoll_marker";
/// The server's number for a database that exists,
const DATABASE_EXISTS: u16 = 1007;
/// and for accounts that lack a privilege: on a database, on a table, and in general.
const NOT_ALLOWED: [u16; 3] = [1044, 1142, 1227];

/// Makes a schema on the server: the address with that schema, a connection, and the function that removes it.
pub fn create_schema(server: &MysqlAddress, url: &Url) -> Result<(MysqlAddress, Wire, ExternalSchema), TargetError> {
    let told = |failure: OpFailure| TargetError::Failed(format!("{}: {}", server.shown(), failure.text));
    let mut admin = server.connect(PATIENCE).map_err(told)?;
    refuse_production(&mut admin, server)?;
    let mut facts = look_around(&mut admin, server, url)?;
    facts.extend(server.facts());
    let name = schema_name();
    make_schema(&mut admin, server, &name)?;
    let remover = {
        let (server, name) = (server.clone(), name.clone());
        Box::new(move || remove(&server, &name))
    };
    facts.push(Fact::new("server.schema", name.as_str()));
    // From here on it is dropped, whatever fails.
    let foreign = ExternalSchema::new(format!("{}, schema `{name}`", server.shown()), facts, remover);
    let statements = [
        format!("USE {}", quoted(&name)),
        format!("CREATE TABLE {MARKER} (made_by VARCHAR(20) NOT NULL, name VARCHAR(64) NOT NULL PRIMARY KEY)"),
        format!("INSERT INTO {MARKER} VALUES ('plimsoll', '{name}')"),
    ];
    let made = statements.iter().try_for_each(|statement| admin.run_within(statement, SETUP_STATEMENT));
    made.map_err(|error| refused(&mut admin, server, error))?;
    Ok((server.in_database(&name), admin, foreign))
}

fn make_schema(admin: &mut Wire, server: &MysqlAddress, name: &str) -> Result<(), TargetError> {
    match admin.run_within(&format!("CREATE DATABASE {}", quoted(name)), SETUP_STATEMENT) {
        Ok(()) => Ok(()),
        Err(WireError::Server { code: DATABASE_EXISTS, .. }) => Err(schema_taken(server.shown(), name)),
        Err(error) => Err(refused(admin, server, error)),
    }
}

/// The error of a statement of set-up; with the missing GRANT if that is the reason.
fn refused(admin: &mut Wire, server: &MysqlAddress, error: WireError) -> TargetError {
    let grant = match error {
        WireError::Server { code, .. } if NOT_ALLOWED.contains(&code) => grant_for(admin),
        _ => String::new(),
    };
    TargetError::Failed(format!("{}: {}{grant}", server.shown(), failure(error).text))
}

/// The statement that allows the account to make plimsoll's schemas.
fn grant_for(admin: &mut Wire) -> String {
    let account = admin.rows("SELECT CURRENT_USER()").ok().and_then(|rows| rows.into_iter().flatten().next().flatten());
    let account = account.as_deref().and_then(|account| account.rsplit_once('@')).unwrap_or(("USER", "HOST"));
    let [user, host] = [account.0, account.1].map(|part| part.replace('\'', "''"));
    format!("; plimsoll needs a schema of its own: GRANT ALL ON `plimsoll\\_%`.* TO '{user}'@'{host}'")
}

/// Refuses a server that follows another, feeds others or takes no writes: it is in use for something else.
fn refuse_production(admin: &mut Wire, server: &MysqlAddress) -> Result<(), TargetError> {
    let told = |failure: OpFailure| TargetError::Failed(format!("{}: {}", server.shown(), failure.text));
    let why = reason_to_refuse(admin).map_err(told)?;
    why.map_or(Ok(()), |why| {
        Err(TargetError::Unsafe(format!("{} {why}; benchmark a server that is not in use", server.shown())))
    })
}

fn reason_to_refuse(admin: &mut Wire) -> Result<Option<&'static str>, OpFailure> {
    if number(admin, "SELECT @@global.read_only")?.is_some_and(|value| value > 0) {
        return Ok(Some("is read-only"));
    }
    for question in ["SHOW ALL SLAVES STATUS", "SHOW SLAVE STATUS", "SHOW REPLICA STATUS"] {
        if allowed(admin.rows(question))?.is_some_and(|rows| !rows.is_empty()) {
            return Ok(Some("is a replica"));
        }
    }
    if connections(admin, "command LIKE 'Binlog Dump%'")? > 0 {
        return Ok(Some("has replicas"));
    }
    // The server frees the lock of a closed connection a while later, and answers NULL if it could not try.
    let alone = allowed(admin.rows("SELECT COALESCE(GET_LOCK('plimsoll', 3), 1)"))?;
    let alone = alone.map(|rows| first_number(&rows, "GET_LOCK")).transpose().map_err(|error| failure(error.into()))?;
    Ok((alone.flatten() == Some(0)).then_some("is being measured by another plimsoll"))
}

/// The answer to a question that a server may refuse for want of a privilege, or because its version does not know it: `None` then.
fn allowed(answer: Result<TextRows, WireError>) -> Result<Option<TextRows>, OpFailure> {
    match answer {
        Ok(rows) => Ok(Some(rows)),
        Err(WireError::Server { .. }) => Ok(None),
        Err(error) => Err(failure(error)),
    }
}

/// The number that answers `question`, if the server does.
fn number(admin: &mut Wire, question: &str) -> Result<Option<u64>, OpFailure> {
    let Some(rows) = allowed(admin.rows(question))? else { return Ok(None) };
    first_number(&rows, question).map_err(|error| failure(error.into()))
}

/// How many connections other than this one are of a kind.
fn connections(admin: &mut Wire, which: &str) -> Result<u64, OpFailure> {
    let question =
        format!("SELECT count(*) FROM information_schema.processlist WHERE id <> connection_id() AND {which}");
    Ok(number(admin, &question)?.unwrap_or_default())
}

fn look_around(admin: &mut Wire, server: &MysqlAddress, url: &Url) -> Result<Vec<Fact>, TargetError> {
    let told = |failure: OpFailure| TargetError::Failed(format!("{}: {}", server.shown(), failure.text));
    let others = format!("command <> 'Daemon' AND (command <> 'Sleep' OR time < {RECENT_S})");
    let others = connections(admin, &others).map_err(told)?;
    let mut facts = vec![Fact::new("server.url", url.text.as_str()), Fact::new(OTHERS, others.to_string())];
    let there = format!(
        "SELECT s.schema_name, EXISTS (SELECT 1 FROM information_schema.tables t WHERE t.table_schema = s.schema_name \
         AND t.table_name = '{MARKER}') FROM information_schema.schemata s WHERE s.schema_name LIKE 'plimsoll\\_%'"
    );
    let there = allowed(admin.rows(&there)).map_err(told)?.unwrap_or_default();
    let there: Vec<(String, bool)> = there.into_iter().filter_map(schema_with_marker).collect();
    facts.extend(schemas_there(server.shown(), &there)?);
    Ok(facts)
}

/// The name of a schema in `row`, and whether it has the marker.
fn schema_with_marker(row: Vec<Option<String>>) -> Option<(String, bool)> {
    let [name, is_marked] = row.try_into().ok()?;
    Some((name?, is_marked.as_deref() == Some("1")))
}

/// Drops the schema `name` if it has plimsoll's marker.
fn remove(server: &MysqlAddress, name: &str) -> Result<(), TargetError> {
    let told = |text: String| schema_left(server.shown(), name, &text);
    let mut connection = server.connect(PATIENCE).map_err(|failure| told(failure.text))?;
    let marker =
        format!("SELECT count(*) FROM {}.{MARKER} WHERE made_by = 'plimsoll' AND name = '{name}'", quoted(name));
    let marked = connection.number_patiently(&marker).map_err(|error| told(failure(error).text))?;
    if marked != 1 {
        return Err(told("its marker is missing".into()));
    }
    connection.run(&format!("DROP DATABASE {}", quoted(name))).map_err(|error| told(failure(error).text))
}
