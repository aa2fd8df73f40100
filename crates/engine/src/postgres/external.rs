//! PostgreSQL servers by URL: they are looked at before anything is made, and left as they were.
//!
//! In: an address. Out: a schema of plimsoll's own, with its marker, in the database that the URL names. Limits: settings and connections
//! that the role may not see are not seen; a schema that a killed plimsoll left is named, and must be dropped by hand; a schema of
//! plimsoll's name without its marker belongs to somebody else, and the server is refused.

use super::client::{PostgresAddress, failure};
use super::tables::quoted;
use super::wire::{Wire, WireError};
use crate::server::location::{ExternalSchema, OTHERS, RECENT_S, schema_left, schema_taken, schemas_there};
use crate::server::network::{SETUP_STATEMENT, TextRows};
use crate::server::url::{Url, schema_name};
use crate::sql::OpFailure;
use host::error::TargetError;
use model::Fact;
use std::time::Duration;

/// How long counting rows, vacuuming and dropping a schema may take.
const PATIENCE: Duration = Duration::from_secs(600);
const MARKER: &str = "plimsoll_marker";
/// The server's code for a schema that exists,
const DUPLICATE_SCHEMA: &str = "42P06";
/// and for roles that lack a privilege.
const NOT_ALLOWED: &str = "42501";
/// The number of the advisory lock: "plimsoll" in ASCII.
const LOCK: i64 = 0x706c_696d_736f_6c6c;

/// Makes a schema on the server: the address with that schema, a connection, and the function that removes it.
pub fn create_schema(
    server: &PostgresAddress,
    url: &Url,
) -> Result<(PostgresAddress, Wire, ExternalSchema), TargetError> {
    let mut admin = server.connect(PATIENCE).map_err(|failure| told(server, failure))?;
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
        format!("SET search_path = {}", quoted(&name)),
        format!("CREATE TABLE {MARKER} (made_by TEXT NOT NULL, name TEXT NOT NULL PRIMARY KEY)"),
        format!("INSERT INTO {MARKER} VALUES ('plimsoll', '{name}')"),
    ];
    let made = statements.iter().try_for_each(|statement| admin.run_within(statement, SETUP_STATEMENT));
    made.map_err(|error| told(server, failure(error)))?;
    Ok((server.in_schema(&name), admin, foreign))
}

fn told(server: &PostgresAddress, failure: OpFailure) -> TargetError {
    TargetError::Failed(format!("{}: {}", server.shown(), failure.text))
}

fn make_schema(admin: &mut Wire, server: &PostgresAddress, name: &str) -> Result<(), TargetError> {
    let Err(error) = admin.run_within(&format!("CREATE SCHEMA {}", quoted(name)), SETUP_STATEMENT) else {
        return Ok(());
    };
    let grant = match &error {
        WireError::Server { code, .. } if code == DUPLICATE_SCHEMA => return Err(schema_taken(server.shown(), name)),
        WireError::Server { code, .. } if code == NOT_ALLOWED => grant_for(server),
        _ => String::new(),
    };
    let mut failure = failure(error);
    failure.text.push_str(&grant);
    Err(told(server, failure))
}

/// The statement that allows the role to make plimsoll's schemas.
fn grant_for(server: &PostgresAddress) -> String {
    let [database, user] = server.database_and_user().map(quoted);
    format!("; plimsoll needs a schema of its own: GRANT CREATE ON DATABASE {database} TO {user}")
}

/// Refuses a server that follows another, feeds others or takes no writes: it is in use for something else.
fn refuse_production(admin: &mut Wire, server: &PostgresAddress) -> Result<(), TargetError> {
    let why = reason_to_refuse(admin).map_err(|failure| told(server, failure))?;
    why.map_or(Ok(()), |why| {
        Err(TargetError::Unsafe(format!("{} {why}; benchmark a server that is not in use", server.shown())))
    })
}

fn reason_to_refuse(admin: &mut Wire) -> Result<Option<&'static str>, OpFailure> {
    let questions = [
        ("SELECT pg_is_in_recovery()", "t", "is a replica"),
        ("SELECT current_setting('default_transaction_read_only')", "on", "is read-only"),
        ("SELECT count(*) > 0 FROM pg_stat_replication", "t", "has replicas"),
    ];
    for (question, bad, why) in questions {
        if first_value(admin, question)?.as_deref() == Some(bad) {
            return Ok(Some(why));
        }
    }
    Ok((!is_alone(admin)?).then_some("is being measured by another plimsoll"))
}

/// Takes the lock that only one plimsoll has. The server frees the lock of a closed connection a while later.
fn is_alone(admin: &mut Wire) -> Result<bool, OpFailure> {
    const TRIES: u32 = 50;
    let question = format!("SELECT pg_try_advisory_lock({LOCK})");
    for nth in 0..TRIES {
        std::thread::sleep(Duration::from_millis(if nth == 0 { 0 } else { 100 }));
        if first_value(admin, &question)?.as_deref() != Some("f") {
            return Ok(true);
        }
    }
    Ok(false)
}

fn look_around(admin: &mut Wire, server: &PostgresAddress, url: &Url) -> Result<Vec<Fact>, TargetError> {
    let others = format!(
        "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid() \
         AND (state = 'active' OR state_change > now() - interval '{RECENT_S} s')"
    );
    let others = first_value(admin, &others).map_err(|failure| told(server, failure))?;
    let others = others.filter(|count| count.parse::<u64>().is_ok()).unwrap_or("unknown".into());
    let mut facts = vec![Fact::new("server.url", url.text.as_str()), Fact::new(OTHERS, others)];
    let there = format!(
        "SELECT nspname, EXISTS (SELECT 1 FROM pg_class WHERE relnamespace = n.oid AND relname = '{MARKER}') \
         FROM pg_namespace n WHERE nspname LIKE 'plimsoll\\_%'"
    );
    let there = allowed(admin.rows(&there)).map_err(|failure| told(server, failure))?.unwrap_or_default();
    let there: Vec<(String, bool)> = there.into_iter().filter_map(schema_with_marker).collect();
    facts.extend(schemas_there(server.shown(), &there)?);
    Ok(facts)
}

/// The name of a schema in `row`, and whether it has the marker.
fn schema_with_marker(row: Vec<Option<String>>) -> Option<(String, bool)> {
    let [name, is_marked] = row.try_into().ok()?;
    Some((name?, is_marked.as_deref() == Some("t")))
}

/// The first value of the answer to `question`, if the server answers it.
fn first_value(admin: &mut Wire, question: &str) -> Result<Option<String>, OpFailure> {
    let rows = allowed(admin.rows(question))?.unwrap_or_default();
    Ok(rows.into_iter().flatten().next().flatten())
}

/// The answer to a question that a server may refuse for want of a privilege, or because its version does not know it: `None` then.
fn allowed(answer: Result<TextRows, WireError>) -> Result<Option<TextRows>, OpFailure> {
    match answer {
        Ok(rows) => Ok(Some(rows)),
        Err(WireError::Server { .. }) => Ok(None),
        Err(error) => Err(failure(error)),
    }
}

/// Drops the schema `name` if it has plimsoll's marker.
fn remove(server: &PostgresAddress, name: &str) -> Result<(), TargetError> {
    let told = |text: String| schema_left(server.shown(), name, &text);
    let mut wire = server.connect(PATIENCE).map_err(|failure| told(failure.text))?;
    let marker =
        format!("SELECT count(*) FROM {}.{MARKER} WHERE made_by = 'plimsoll' AND name = '{name}'", quoted(name));
    let marked = wire.number_patiently(&marker).map_err(|error| told(failure(error).text))?;
    if marked != 1 {
        return Err(told("its marker is missing".into()));
    }
    wire.run(&format!("DROP SCHEMA {} CASCADE", quoted(name))).map_err(|error| told(failure(error).text))
}
