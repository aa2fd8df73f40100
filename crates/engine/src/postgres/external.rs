//! PostgreSQL servers by URL: they are looked at before anything is made, and left as they were.
//!
//! In: an address. Out: a schema of plimsoll's own, with its marker, in the database that the URL names; or that database with the user's
//! tables, as it is. Limits: settings and connections
//! that the role may not see are not seen; a schema that a killed plimsoll left is removed if nobody else may be using it, and named otherwise; a
//! schema of plimsoll's name that has tables and no marker was not made by plimsoll, and the server is refused.

use super::client::PostgresAddress;
use super::tables::quote_name;
use super::wire::{PostgresWire, PostgresWireError};
use crate::server::location::{ExternalSchema, MadeObjects, OTHERS, RECENT_S, schema_taken};
use crate::server::url::ServerUrl;
use crate::sql::admin_connection::{AdminConnection, allowed};
use crate::sql::common_data::{MARKER, check_marker, check_name, marker_query};
use crate::sql::endpoints::EndpointIdentity;
use crate::sql::external::{
    PATIENCE, SchemaUse, drop_schema, find_left_schemas, give_up_new, mark_statement, may_be_made, refuse_in_use,
    remove_left_schemas, remove_on_first,
};
use crate::sql::{OpFailure, server_error};
use host::error::TargetError;
use model::{CommonData, Fact};
use std::time::Duration;

/// The SQLSTATE for a schema that exists.
const DUPLICATE_SCHEMA: &str = "42P06";
/// The SQLSTATE for a database that is not there.
const NO_DATABASE: &str = "3D000";
/// The database that is there on every server, unless somebody has dropped it.
const USUAL_DATABASE: &str = "postgres";
/// The SQLSTATE for roles that lack a privilege.
const NOT_ALLOWED: &str = "42501";
/// The number of the advisory lock: "plimsoll" in ASCII.
const LOCK: i64 = 0x706c_696d_736f_6c6c;

/// Makes a schema on the first of `endpoints`: the address with that schema, a connection, and the function that removes it.
pub fn open_schema(
    endpoints: Vec<PostgresAddress>,
    url: &ServerUrl,
    schema: SchemaUse<'_>,
) -> Result<(PostgresAddress, PostgresWire, ExternalSchema), TargetError> {
    let server = endpoints.first().expect("a server has an endpoint").clone();
    let server = &server;
    let mut admin = server.connect_admin(PATIENCE).map_err(|error| server_error(server.shown(), error))?;
    refuse_production(&mut admin, server, url)?;
    let mut facts = look_around(&mut admin, server, url)?;
    remove_left_schemas(&mut facts, || has_server_alone(&mut admin, url), |name| remove_schema(server, name));
    facts.extend(server.facts());
    let name = schema.schema();
    if schema.is_new() {
        make_schema(&mut admin, server, &name)?;
    }
    let dropped = name.clone();
    let remover = Box::new(move |_: &MadeObjects| remove_on_first(&endpoints, |at| remove_schema(at, &dropped)));
    facts.push(Fact::new("server.schema", name.as_str()));
    // From here on it is dropped, whatever fails.
    let foreign = ExternalSchema::new(server.shown(), &name, facts, remover);
    let statements = [
        format!("SET search_path = {}", quote_name(&name)),
        format!("CREATE TABLE {MARKER} (made_by TEXT NOT NULL, name TEXT NOT NULL PRIMARY KEY)"),
        mark_statement(&name),
    ];
    let statements = if schema.is_new() { &statements[..] } else { &statements[..1] };
    match statements.iter().try_for_each(|statement| admin.set_up(statement)) {
        Ok(()) => Ok((server.in_schema(&name), admin, foreign)),
        Err(error) => {
            let made = schema.is_new().then(|| drop_statement(&name));
            Err(give_up_new(&mut admin, foreign, made.as_deref(), server_error(server.shown(), error)))
        }
    }
}

/// Opens the schema that another host of this run has made on the server: the address with that schema, a connection, and what is known
/// of the server.
pub fn join_schema(
    server: &PostgresAddress,
    url: &ServerUrl,
    common: &CommonData,
) -> Result<(PostgresAddress, PostgresWire, ExternalSchema), TargetError> {
    // The database of the URL holds the schema.
    check_name(server.shown(), common, None)?;
    let failed = |failure: OpFailure| server_error(server.shown(), failure);
    let mut admin = server.connect_admin(PATIENCE).map_err(failed)?;
    let quoted = quote_name(&common.schema);
    let marker = allowed(admin.query_rows(&marker_query(&quoted))).map_err(|error| failed(error.into()))?;
    check_marker(server.shown(), common, marker.as_ref())?;
    refuse_in_use(server.shown(), reason_of_state(&mut admin).map_err(failed)?)?;
    admin.set_up(&format!("SET search_path = {quoted}")).map_err(|error| failed(error.into()))?;
    let name = &common.schema;
    let facts = [Fact::new("server.url", url.text.as_str()), Fact::new("server.schema", name.as_str())];
    let facts = facts.into_iter().chain(server.facts()).collect();
    let joined = ExternalSchema::not_ours(server.shown(), name, facts);
    Ok((server.in_schema(name), admin, joined))
}

/// Opens the database that the URL names, which holds tables of the user. Nothing is made in it, and names have the role's own search path.
pub fn visit_database(
    server: &PostgresAddress,
    url: &ServerUrl,
) -> Result<(PostgresAddress, PostgresWire, ExternalSchema), TargetError> {
    let mut admin = server.connect_admin(PATIENCE).map_err(|error| server_error(server.shown(), error))?;
    refuse_production(&mut admin, server, url)?;
    let mut facts = look_around(&mut admin, server, url)?;
    facts.extend(server.facts());
    let schema =
        first_value(&mut admin, "SELECT current_schema()").map_err(|error| server_error(server.shown(), error))?;
    let Some(schema) = schema else {
        let text = format!("{}: no schema of the search path is there", server.shown());
        return Err(TargetError::Unsupported(text));
    };
    facts.push(Fact::new("server.schema", schema.as_str()));
    Ok((server.clone(), admin, ExternalSchema::not_ours(server.shown(), &schema, facts)))
}

/// Connects to the database that the URL names, or to another one if it is not there, unless the server is in use for something else.
pub fn reach_server(server: &PostgresAddress, url: &ServerUrl) -> Result<PostgresWire, TargetError> {
    let failed = |failure: OpFailure| server_error(server.shown(), failure);
    let mut admin = match server.connect_admin(PATIENCE) {
        Err(failure) if failure.text.contains(NO_DATABASE) => {
            server.in_database(USUAL_DATABASE).connect_admin(PATIENCE).map_err(failed)?
        }
        connected => connected.map_err(failed)?,
    };
    refuse_production(&mut admin, server, url)?;
    Ok(admin)
}

fn make_schema(admin: &mut PostgresWire, server: &PostgresAddress, name: &str) -> Result<(), TargetError> {
    let Err(error) = admin.set_up(&format!("CREATE SCHEMA {}", quote_name(name))) else {
        return Ok(());
    };
    let more = match &error {
        PostgresWireError::Io(_) => may_be_made(name),
        PostgresWireError::Server { code, .. } if code == DUPLICATE_SCHEMA => {
            return Err(schema_taken(server.shown(), name));
        }
        PostgresWireError::Server { code, .. } if code == NOT_ALLOWED => grant_for(server),
        _ => String::new(),
    };
    let mut failure = OpFailure::from(error);
    failure.text.push_str(&more);
    Err(server_error(server.shown(), failure))
}

/// The statement that allows the role to make plimsoll's schemas.
fn grant_for(server: &PostgresAddress) -> String {
    let [database, user] = server.database_and_user().map(quote_name);
    format!("; plimsoll needs a schema of its own: GRANT CREATE ON DATABASE {database} TO {user}")
}

/// Refuses a server that follows another, feeds others or takes no writes: it is in use for something else.
fn refuse_production(admin: &mut PostgresWire, server: &PostgresAddress, url: &ServerUrl) -> Result<(), TargetError> {
    let why = reason_to_refuse(admin, url.is_one_of_several).map_err(|error| server_error(server.shown(), error))?;
    refuse_in_use(server.shown(), why)
}

/// Why the server takes no load whoever makes the data.
fn reason_of_state(admin: &mut PostgresWire) -> Result<Option<&'static str>, OpFailure> {
    let questions = [
        ("SELECT pg_is_in_recovery()", "t", "is a replica"),
        ("SELECT current_setting('default_transaction_read_only')", "on", "is read-only"),
    ];
    for (question, bad, why) in questions {
        if first_value(admin, question)?.as_deref() == Some(bad) {
            return Ok(Some(why));
        }
    }
    Ok(None)
}

/// Replicas are the other endpoints if it is `one_of_several`.
fn reason_to_refuse(admin: &mut PostgresWire, one_of_several: bool) -> Result<Option<&'static str>, OpFailure> {
    if let Some(why) = reason_of_state(admin)? {
        return Ok(Some(why));
    }
    let fed = "SELECT count(*) > 0 FROM pg_stat_replication";
    if !one_of_several && first_value(admin, fed)?.as_deref() == Some("t") {
        return Ok(Some("has replicas"));
    }
    Ok((!is_alone(admin)?).then_some("is being measured by another plimsoll"))
}

/// Takes the lock that only one plimsoll has. The server frees the lock of a closed connection a while later.
pub fn is_alone(admin: &mut PostgresWire) -> Result<bool, OpFailure> {
    const TRIES: u32 = 50;
    let question = format!("SELECT pg_try_advisory_lock({LOCK})");
    for nth in 0..TRIES {
        // 5 s in all: the lock of a plimsoll that ended a moment ago is freed when the server notices.
        std::thread::sleep(Duration::from_millis(if nth == 0 { 0 } else { 100 }));
        if first_value(admin, &question)?.as_deref() != Some("f") {
            // The connection is idle for as long as a point lasts, and the lock goes with it. Servers before version 14 have no such limit.
            let limit = "SELECT set_config(name, '0', false) FROM pg_settings WHERE name = 'idle_session_timeout'";
            first_value(admin, limit)?;
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether this plimsoll has the lock, which is of a database, no other endpoint has its own, and nobody else of this role is in the database:
/// the lock of a plimsoll whose connection the server has closed is free.
fn has_server_alone(admin: &mut PostgresWire, url: &ServerUrl) -> bool {
    let locked = "SELECT count(*) > 0 FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid() AND granted";
    let alone = "SELECT count(*) = 0 FROM pg_stat_activity \
                 WHERE datname = current_database() AND usename = current_user AND pid <> pg_backend_pid()";
    let mut says = |question| matches!(first_value(admin, question), Ok(Some(yes)) if yes == "t");
    says(locked) && says(alone) && !url.is_one_of_several
}

fn look_around(admin: &mut PostgresWire, server: &PostgresAddress, url: &ServerUrl) -> Result<Vec<Fact>, TargetError> {
    let others = format!(
        "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid() \
         AND (state = 'active' OR state_change > now() - interval '{RECENT_S} s')"
    );
    let others = first_value(admin, &others).map_err(|error| server_error(server.shown(), error))?;
    let others = others.filter(|count| count.parse::<u64>().is_ok()).unwrap_or("unknown".into());
    let mut facts = vec![Fact::new("server.url", url.text.as_str()), Fact::new(OTHERS, others)];
    let there = format!(
        "SELECT nspname, count(relname), count(relname) FILTER (WHERE relname = '{MARKER}') \
         FROM pg_namespace n LEFT JOIN pg_class c ON relnamespace = n.oid WHERE nspname LIKE 'plimsoll\\_%' GROUP BY nspname"
    );
    let there =
        allowed(admin.query_rows(&there)).map_err(|error| server_error(server.shown(), error))?.unwrap_or_default();
    facts.extend(find_left_schemas(server.shown(), there)?);
    Ok(facts)
}

/// What the server reports of itself. Its replicas have the number that `initdb` gave its files.
pub fn identify(admin: &mut PostgresWire) -> Result<EndpointIdentity, OpFailure> {
    let version = first_value(admin, "SELECT current_setting('server_version')")?.unwrap_or_default();
    let cluster = first_value(admin, "SELECT system_identifier::text FROM pg_control_system()")?;
    let in_recovery = first_value(admin, "SELECT pg_is_in_recovery()")?.as_deref() == Some("t");
    let read_only = "SELECT current_setting('default_transaction_read_only')";
    let is_read_only = in_recovery || first_value(admin, read_only)?.as_deref() == Some("on");
    Ok(EndpointIdentity { version, cluster, is_read_only, is_ready: true })
}

/// The first value of the answer to `question`, if the server answers it.
fn first_value(admin: &mut PostgresWire, question: &str) -> Result<Option<String>, OpFailure> {
    let rows = allowed(admin.query_rows(question))?.unwrap_or_default();
    Ok(rows.into_iter().flatten().next().flatten())
}

fn remove_schema(server: &PostgresAddress, name: &str) -> Result<(), TargetError> {
    drop_schema(server.shown(), server.connect_admin(PATIENCE), name, &quote_name(name), &drop_statement(name))
}

fn drop_statement(name: &str) -> String {
    format!("DROP SCHEMA {} CASCADE", quote_name(name))
}
