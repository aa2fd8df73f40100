//! PostgreSQL servers that plimsoll did not start: looked at before anything is made, and left as they were.
//!
//! In: an address. Out: a schema of plimsoll's own, with its marker, in the database that the URL names. Limits: what the
//! user's rights hide is not seen; a schema that a killed plimsoll left is named, and dropped by hand; one of plimsoll's name without
//! its marker is not made by plimsoll, and the server is refused.

use super::client::{PostgresAddress, failure};
use super::tables::quoted;
use super::wire::{Wire, WireError};
use crate::server::location::{ExternalSchema, OTHERS, RECENT_S, schema_left, schema_taken, schemas_there};
use crate::server::url::{Url, schema_name};
use host::error::TargetError;
use model::Fact;
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(600);
const MARKER: &str = "plimsoll_marker";
/// The server's code for that.
const DUPLICATE_SCHEMA: &str = "42P06";
/// The number of the advisory lock: "plimsoll" in ASCII.
const LOCK: i64 = 0x706c_696d_736f_6c6c;

/// Goes to the server and makes a schema there: the address with that schema, a connection, and what removes it.
pub fn create_schema(
    server: &PostgresAddress,
    url: &Url,
) -> Result<(PostgresAddress, Wire, ExternalSchema), TargetError> {
    let told = |text: String| TargetError::Failed(format!("{}: {text}", server.shown()));
    let mut admin = server.connect(PATIENCE).map_err(|failure| told(failure.text))?;
    refuse_production(&mut admin, server)?;
    let mut facts = look_around(&mut admin, server, url)?;
    facts.extend(server.facts());
    let name = schema_name();
    let schema = quoted(&name);
    // Before there is anything that would drop it.
    admin.run(&format!("CREATE SCHEMA {schema}")).map_err(|error| match error {
        WireError::Said { code, .. } if code == DUPLICATE_SCHEMA => schema_taken(server.shown(), &name),
        error => told(failure(error).text),
    })?;
    let remover = {
        let (server, name) = (server.clone(), name.clone());
        Box::new(move || remove(&server, &name))
    };
    let statements = [
        format!("SET search_path = {schema}"),
        format!("CREATE TABLE {MARKER} (made_by TEXT NOT NULL, name TEXT NOT NULL PRIMARY KEY)"),
        format!("INSERT INTO {MARKER} VALUES ('plimsoll', '{name}')"),
    ];
    let made = statements.iter().try_for_each(|statement| admin.run(statement));
    facts.push(Fact::new("server.schema", name.as_str()));
    let foreign = ExternalSchema::new(format!("{}, schema `{name}`", server.shown()), facts, remover);
    made.map_err(|error| told(failure(error).text))?;
    Ok((server.in_schema(&name), admin, foreign))
}

/// A server that follows another, feeds others or takes no writes is in use for something else.
fn refuse_production(admin: &mut Wire, server: &PostgresAddress) -> Result<(), TargetError> {
    let questions = [
        ("SELECT pg_is_in_recovery()", "t", "is a replica"),
        ("SELECT current_setting('default_transaction_read_only')", "on", "is read-only"),
        ("SELECT count(*) > 0 FROM pg_stat_replication", "t", "has replicas"),
    ];
    let bad = questions.iter().find(|(question, bad, _)| first(admin.rows(question)).as_deref() == Some(*bad));
    let why =
        bad.map(|(_, _, why)| *why).or_else(|| (!is_alone(admin)).then_some("is being measured by another plimsoll"));
    why.map_or(Ok(()), |why| {
        Err(TargetError::Unsafe(format!("{} {why}; measure a server that serves nobody", server.shown())))
    })
}

/// Takes the lock of plimsolls. The server frees that of a connection a while after it was closed.
fn is_alone(admin: &mut Wire) -> bool {
    const TRIES: u32 = 50;
    let question = format!("SELECT pg_try_advisory_lock({LOCK})");
    (0..TRIES).any(|nth| {
        std::thread::sleep(Duration::from_millis(if nth == 0 { 0 } else { 100 }));
        first(admin.rows(&question)).as_deref() != Some("f")
    })
}

fn look_around(admin: &mut Wire, server: &PostgresAddress, url: &Url) -> Result<Vec<Fact>, TargetError> {
    let others = format!(
        "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid() \
         AND (state = 'active' OR state_change > now() - interval '{RECENT_S} s')"
    );
    let others = first(admin.rows(&others)).unwrap_or("unknown".into());
    let mut facts = vec![Fact::new("server.url", url.text.as_str()), Fact::new(OTHERS, others)];
    let there = format!(
        "SELECT nspname, EXISTS (SELECT 1 FROM pg_class WHERE relnamespace = n.oid AND relname = '{MARKER}') \
         FROM pg_namespace n WHERE nspname LIKE 'plimsoll\\_%'"
    );
    let pair = |row: Vec<Option<String>>| <[Option<String>; 2]>::try_from(row).ok();
    let there = admin.rows(&there).unwrap_or_default().into_iter().filter_map(pair);
    let there: Vec<(String, bool)> =
        there.filter_map(|[name, is_marked]| Some((name?, is_marked.as_deref() == Some("t")))).collect();
    facts.extend(schemas_there(server.shown(), &there)?);
    Ok(facts)
}

fn first(rows: Result<Vec<Vec<Option<String>>>, WireError>) -> Option<String> {
    rows.ok()?.into_iter().flatten().next().flatten()
}

/// Drops the schema `name` where its marker reports that it is plimsoll's.
fn remove(server: &PostgresAddress, name: &str) -> Result<(), TargetError> {
    let told = |text: String| schema_left(server.shown(), name, &text);
    let mut wire = server.connect(PATIENCE).map_err(|failure| told(failure.text))?;
    let marker =
        format!("SELECT count(*) FROM {}.{MARKER} WHERE made_by = 'plimsoll' AND name = '{name}'", quoted(name));
    if first(wire.rows(&marker)).as_deref() != Some("1") {
        return Err(told("its marker is missing".into()));
    }
    wire.run(&format!("DROP SCHEMA {} CASCADE", quoted(name))).map_err(|error| told(failure(error).text))
}
