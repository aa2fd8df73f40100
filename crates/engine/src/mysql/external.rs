//! MySQL and MariaDB servers by URL: they are looked at before anything is made, and left as they were.
//!
//! In: an address. Out: a schema of plimsoll's own, or the database that the URL names if it is empty, with plimsoll's marker; or that database
//! with the user's tables, as it is. Limits:
//! settings and connections that the account may not see are not seen; a schema that a killed plimsoll left is removed if nobody else may be
//! using it, and named otherwise; a schema of plimsoll's name that has tables and no marker was not made by plimsoll, and the server is refused.

use super::client::MysqlAddress;
use super::tables::quote_name;
use super::wire::{MysqlWire, MysqlWireError};
use super::wsrep::identify;
use crate::server::location::{
    DropSchema, ExternalSchema, MadeObjects, OTHERS, RECENT_S, REPLICATION, schema_left, schema_taken,
};
use crate::server::network::first_number;
use crate::server::url::ServerUrl;
use crate::sql::admin_connection::{AdminConnection, allowed};
use crate::sql::common_data::{MARKER, check_marker, check_name, marker_query};
use crate::sql::external::{
    PATIENCE, SchemaUse, drop_schema, find_left_schemas, give_up_new, mark_statement, may_be_made, refuse_in_use,
    remove_left_schemas, remove_on_first, run_if_marked,
};
use crate::sql::{OpFailure, server_error};
use host::error::TargetError;
use model::{CommonData, Fact};

/// The server's error number for a database that exists.
const DATABASE_EXISTS: u16 = 1007;
/// The server's error numbers for accounts that lack a privilege: on a database, on a table, and in general.
const NOT_ALLOWED: [u16; 3] = [1044, 1142, 1227];

/// The schemas of plimsoll's own in a GRANT.
const OWN_SCHEMAS: &str = "`plimsoll\\_%`";

/// Makes a schema on the server, or takes the database of the URL: the address with that schema, a connection, and the function that
/// removes what was made. If the server is the first of `endpoints`, it is removed on the first that is still there.
pub fn open_schema(
    server: &MysqlAddress,
    endpoints: Vec<MysqlAddress>,
    url: &ServerUrl,
    schema: SchemaUse<'_>,
) -> Result<(MysqlAddress, MysqlWire, ExternalSchema), TargetError> {
    let mut admin = server.connect_admin(PATIENCE).map_err(|error| server_error(server.shown(), error))?;
    refuse_production(&mut admin, server, url)?;
    let mut facts = look_around(&mut admin, server, url)?;
    remove_left_schemas(&mut facts, || has_server_alone(&mut admin, url), |name| remove_schema(server, name));
    facts.extend(server.facts());
    let (name, remover) = match (&url.database, schema) {
        (Some(database), SchemaUse::New) => take_database(&mut admin, server, endpoints, database)?,
        (Some(_), _) => return Err(no_place_for_sets(server)),
        (None, schema) => take_schema(&mut admin, server, endpoints, schema)?,
    };
    facts.push(Fact::new("server.schema", name.as_str()));
    // From here on it is removed, whatever fails.
    let foreign = ExternalSchema::new(server.shown(), &name, facts, remover);
    let statements = [
        format!("USE {}", quote_name(&name)),
        format!("CREATE TABLE {MARKER} (made_by VARCHAR(20) NOT NULL, name VARCHAR(64) NOT NULL PRIMARY KEY)"),
        mark_statement(&name),
    ];
    let statements = if schema.is_new() { &statements[..] } else { &statements[..1] };
    let mut done = 0;
    let marked = statements.iter().try_for_each(|statement| admin.set_up(statement).map(|()| done += 1));
    let Err(error) = marked else { return Ok((server.in_database(&name), admin, foreign)) };
    let (schemas, made) = match url.database {
        Some(_) => (quote_name(&name), (done > 1).then(|| format!("DROP TABLE {}.{MARKER}", quote_name(&name)))),
        // The next try makes a schema of another name.
        None => (OWN_SCHEMAS.to_owned(), schema.is_new().then(|| drop_statement(&name))),
    };
    let error = refused(&mut admin, server, &schemas, error);
    Err(give_up_new(&mut admin, foreign, made.as_deref(), error))
}

/// Opens the schema that another host of this run has made on the server: the address with that schema, a connection, and what is known
/// of the server.
pub fn join_schema(
    server: &MysqlAddress,
    url: &ServerUrl,
    common: &CommonData,
) -> Result<(MysqlAddress, MysqlWire, ExternalSchema), TargetError> {
    check_name(server.shown(), common, url.database.as_deref())?;
    let failed = |error| server_error(server.shown(), error);
    let mut admin = server.connect_admin(PATIENCE).map_err(|error| server_error(server.shown(), error))?;
    // On another node of a cluster what the first host has committed may arrive a moment later: reads wait for it. Other servers lack the
    // variable.
    allowed(admin.query_rows("SET SESSION wsrep_sync_wait = 7"))
        .map_err(|error| server_error(server.shown(), error))?;
    let quoted = quote_name(&common.schema);
    let marker =
        allowed(admin.query_rows(&marker_query(&quoted))).map_err(|error| server_error(server.shown(), error))?;
    check_marker(server.shown(), common, marker.as_ref())?;
    let why = reason_of_state(&mut admin).map_err(|error| server_error(server.shown(), error))?;
    refuse_in_use(server.shown(), why)?;
    admin.set_up(&format!("USE {quoted}")).map_err(failed)?;
    let name = &common.schema;
    let facts = [Fact::new("server.url", url.text.as_str()), Fact::new("server.schema", name.as_str())];
    let facts = facts.into_iter().chain(server.facts()).collect();
    let joined = ExternalSchema::not_ours(server.shown(), name, facts);
    Ok((server.in_database(name), admin, joined))
}

/// Opens the database that the URL names, or else `usual`, which holds tables of the user. Nothing is made in it.
pub fn visit_database(
    server: &MysqlAddress,
    url: &ServerUrl,
    usual: Option<&str>,
) -> Result<(MysqlAddress, MysqlWire, ExternalSchema), TargetError> {
    let Some(name) = url.database.as_deref().or(usual) else {
        return Err(TargetError::Unsupported(format!(
            "{} names no database; name the one with your tables: mysql://USER@HOST/DATABASE",
            server.shown()
        )));
    };
    let failed = |error| server_error(server.shown(), error);
    let mut admin = reach_server(server, url)?;
    let mut facts = look_around(&mut admin, server, url)?;
    facts.extend(server.facts());
    facts.push(Fact::new("server.schema", name));
    admin.set_up(&format!("USE {}", quote_name(name))).map_err(failed)?;
    Ok((server.in_database(name), admin, ExternalSchema::not_ours(server.shown(), name, facts)))
}

/// Connects to the server, in no database, unless it is in use for something else.
pub fn reach_server(server: &MysqlAddress, url: &ServerUrl) -> Result<MysqlWire, TargetError> {
    let mut admin = server.connect_admin(PATIENCE).map_err(|error| server_error(server.shown(), error))?;
    refuse_production(&mut admin, server, url)?;
    Ok(admin)
}

/// The schema of plimsoll's own that `schema` names, which is made if it is to be new: its name, and the function that drops it.
fn take_schema(
    admin: &mut MysqlWire,
    server: &MysqlAddress,
    endpoints: Vec<MysqlAddress>,
    schema: SchemaUse<'_>,
) -> Result<(String, DropSchema), TargetError> {
    let name = schema.schema();
    if schema.is_new() {
        make_schema(admin, server, &name)?;
    }
    let dropped = name.clone();
    Ok((name, Box::new(move |_: &MadeObjects| remove_on_first(&endpoints, |at| remove_schema(at, &dropped)))))
}

fn make_schema(admin: &mut MysqlWire, server: &MysqlAddress, name: &str) -> Result<(), TargetError> {
    match admin.set_up(&format!("CREATE DATABASE {}", quote_name(name))) {
        Ok(()) => Ok(()),
        Err(MysqlWireError::Server { code: DATABASE_EXISTS, .. }) => Err(schema_taken(server.shown(), name)),
        Err(MysqlWireError::Io(error)) => {
            let mut failure = OpFailure::from(MysqlWireError::from(error));
            failure.text.push_str(&may_be_made(name));
            Err(server_error(server.shown(), failure))
        }
        Err(error) => Err(refused(admin, server, OWN_SCHEMAS, error)),
    }
}

fn no_place_for_sets(server: &MysqlAddress) -> TargetError {
    TargetError::Unsupported(format!(
        "{}: a data set has a schema of its own; leave the database out of the URL",
        server.shown()
    ))
}

/// Takes the database that the URL names, which must be empty: its name, and the function that drops plimsoll's tables in it.
fn take_database(
    admin: &mut MysqlWire,
    server: &MysqlAddress,
    endpoints: Vec<MysqlAddress>,
    name: &str,
) -> Result<(String, DropSchema), TargetError> {
    let quoted = name.replace('\\', "\\\\").replace('\'', "''");
    let list = |admin: &mut MysqlWire, what: &str| -> Result<Vec<String>, TargetError> {
        let rows = allowed(admin.query_rows(what)).map_err(|error| server_error(server.shown(), error))?;
        Ok(rows.unwrap_or_default().into_iter().flatten().flatten().collect())
    };
    let schemas = "SELECT schema_name FROM information_schema.schemata WHERE schema_name";
    if list(admin, &format!("{schemas} = '{quoted}'"))?.is_empty() {
        return Err(no_database(admin, server, name));
    }
    let tables = "SELECT table_name FROM information_schema.tables WHERE table_schema";
    let tables = list(admin, &format!("{tables} = '{quoted}' ORDER BY table_name LIMIT 4"))?;
    if !tables.is_empty() {
        return Err(not_empty(server, name, &tables));
    }
    let dropped = name.to_owned();
    let remover = move |made: &MadeObjects| remove_on_first(&endpoints, |at| remove_made(at, &dropped, made));
    Ok((name.to_owned(), Box::new(remover)))
}

fn no_database(admin: &mut MysqlWire, server: &MysqlAddress, name: &str) -> TargetError {
    let grant = grant_for(admin, &quote_name(name));
    TargetError::Failed(format!(
        "{} has no database `{name}`, or the account may not use it; create it, allow it by {grant}, or leave it out of the URL",
        server.shown()
    ))
}

fn not_empty(server: &MysqlAddress, name: &str, tables: &[String]) -> TargetError {
    let named: Vec<String> = tables.iter().take(3).map(|table| format!("`{table}`")).collect();
    let more = if tables.len() > 3 { ", ..." } else { "" };
    let named = named.join(", ");
    TargetError::Unsafe(format!(
        "{}: database `{name}` is not empty ({named}{more}), and was left as it is; name an empty one, or leave it out of the URL: \
         plimsoll then makes a schema of its own",
        server.shown()
    ))
}

/// The error of a statement of set-up; with the missing GRANT on `schemas` if that is the reason.
fn refused(admin: &mut MysqlWire, server: &MysqlAddress, schemas: &str, error: MysqlWireError) -> TargetError {
    let grant = match error {
        MysqlWireError::Server { code, .. } if NOT_ALLOWED.contains(&code) => {
            format!("; plimsoll needs a schema of its own: {}", grant_for(admin, schemas))
        }
        _ => String::new(),
    };
    TargetError::Failed(format!("{}: {}{grant}", server.shown(), OpFailure::from(error).text))
}

/// The statement that allows the account what plimsoll does in `schemas`, as a statement names them.
fn grant_for(admin: &mut MysqlWire, schemas: &str) -> String {
    let account =
        admin.query_rows("SELECT CURRENT_USER()").ok().and_then(|rows| rows.into_iter().flatten().next().flatten());
    let account = account.as_deref().and_then(account_in_grant).unwrap_or_else(|| "'USER'@'HOST'".to_owned());
    format!("GRANT ALL ON {schemas}.* TO {account}")
}

/// The account that `CURRENT_USER()` tells, as a GRANT names it.
pub(crate) fn account_in_grant(account: &str) -> Option<String> {
    let (user, host) = account.rsplit_once('@')?;
    let [user, host] = [user, host].map(|part| part.replace('\'', "''"));
    Some(format!("'{user}'@'{host}'"))
}

/// Refuses a server that follows another, feeds others or takes no writes: it is in use for something else.
fn refuse_production(admin: &mut MysqlWire, server: &MysqlAddress, url: &ServerUrl) -> Result<(), TargetError> {
    let why = reason_to_refuse(admin, url.is_one_of_several).map_err(|error| server_error(server.shown(), error))?;
    refuse_in_use(server.shown(), why)
}

/// The first is MariaDB's. MySQL has the third since 8.0.22, and removed the second in 8.4.
pub(crate) const REPLICA_STATUS: [&str; 3] = ["SHOW ALL SLAVES STATUS", "SHOW SLAVE STATUS", "SHOW REPLICA STATUS"];

/// Whether the account may see that the server is a replica.
fn sees_replication(admin: &mut MysqlWire) -> Result<bool, OpFailure> {
    for question in REPLICA_STATUS {
        if allowed(admin.query_rows(question))?.is_some() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The other settings by which a server takes no writes. A version that lacks one leaves it out.
const READ_ONLY_ALSO: &str = "SHOW GLOBAL VARIABLES WHERE Value <> 'OFF' AND \
                              Variable_name IN ('tx_read_only', 'transaction_read_only', 'innodb_read_only')";

/// Why the server takes no load whoever makes the data.
fn reason_of_state(admin: &mut MysqlWire) -> Result<Option<&'static str>, OpFailure> {
    if number(admin, "SELECT @@global.read_only")?.is_some_and(|value| value > 0) {
        return Ok(Some("is read-only"));
    }
    if allowed(admin.query_rows(READ_ONLY_ALSO))?.is_some_and(|rows| !rows.is_empty()) {
        return Ok(Some("is read-only"));
    }
    for question in REPLICA_STATUS {
        if allowed(admin.query_rows(question))?.is_some_and(|rows| !rows.is_empty()) {
            return Ok(Some("is a replica"));
        }
    }
    Ok(None)
}

/// Replicas are the other endpoints if it is `one_of_several`.
fn reason_to_refuse(admin: &mut MysqlWire, one_of_several: bool) -> Result<Option<&'static str>, OpFailure> {
    if let Some(why) = reason_of_state(admin)? {
        return Ok(Some(why));
    }
    if !one_of_several && connections(admin, "command LIKE 'Binlog Dump%'")? > 0 {
        return Ok(Some("has replicas"));
    }
    Ok((!is_alone(admin)?).then_some("is being measured by another plimsoll"))
}

/// Takes the lock that only one plimsoll has.
pub fn is_alone(admin: &mut MysqlWire) -> Result<bool, OpFailure> {
    // The server frees the lock of a closed connection a while later, and answers NULL if it could not try.
    let alone = allowed(admin.query_rows("SELECT COALESCE(GET_LOCK('plimsoll', 3), 1)"))?;
    let alone = alone.map(|rows| first_number(&rows, "GET_LOCK")).transpose().map_err(MysqlWireError::from)?;
    // The connection is idle for as long as a point lasts, and the lock goes with it.
    allowed(admin.query_rows("SET SESSION wait_timeout = 31536000"))?;
    Ok(alone.flatten() != Some(0))
}

/// Whether this plimsoll has the lock, nobody works in a schema of plimsoll's, and there is no other server on which another plimsoll may have
/// its own lock: all of a cluster have the same schemas.
fn has_server_alone(admin: &mut MysqlWire, url: &ServerUrl) -> bool {
    let locked = number(admin, "SELECT COALESCE(IS_USED_LOCK('plimsoll') = CONNECTION_ID(), 0)");
    let is_alone = matches!(identify(admin), Ok(found) if found.cluster.is_none());
    // The lock of a plimsoll whose connection the server has closed is free.
    let used = connections(admin, "db LIKE 'plimsoll\\_%'");
    matches!(locked, Ok(Some(1))) && is_alone && matches!(used, Ok(0)) && !url.is_one_of_several
}

/// The number that answers `question`, if the server does.
fn number(admin: &mut MysqlWire, question: &str) -> Result<Option<u64>, OpFailure> {
    let Some(rows) = allowed(admin.query_rows(question))? else { return Ok(None) };
    Ok(first_number(&rows, question).map_err(MysqlWireError::from)?)
}

/// How many connections other than this one are of a kind.
fn connections(admin: &mut MysqlWire, which: &str) -> Result<u64, OpFailure> {
    let question =
        format!("SELECT count(*) FROM information_schema.processlist WHERE id <> connection_id() AND {which}");
    Ok(number(admin, &question)?.unwrap_or_default())
}

fn look_around(admin: &mut MysqlWire, server: &MysqlAddress, url: &ServerUrl) -> Result<Vec<Fact>, TargetError> {
    let others = format!("command <> 'Daemon' AND (command <> 'Sleep' OR time < {RECENT_S})");
    let others = connections(admin, &others).map_err(|error| server_error(server.shown(), error))?;
    let mut facts = vec![Fact::new("server.url", url.text.as_str()), Fact::new(OTHERS, others.to_string())];
    let sees = sees_replication(admin).map_err(|error| server_error(server.shown(), error))?;
    facts.extend((!sees).then(|| Fact::new(REPLICATION, "hidden from the account")));
    let there = format!(
        "SELECT s.schema_name, count(t.table_name), COALESCE(sum(t.table_name = '{MARKER}'), 0) \
         FROM information_schema.schemata s LEFT JOIN information_schema.tables t ON t.table_schema = s.schema_name \
         WHERE s.schema_name LIKE 'plimsoll\\_%' GROUP BY s.schema_name"
    );
    let there =
        allowed(admin.query_rows(&there)).map_err(|error| server_error(server.shown(), error))?.unwrap_or_default();
    facts.extend(find_left_schemas(server.shown(), there)?);
    Ok(facts)
}

fn remove_schema(server: &MysqlAddress, name: &str) -> Result<(), TargetError> {
    drop_schema(server.shown(), server.connect_admin(PATIENCE), name, &quote_name(name), &drop_statement(name))
}

fn drop_statement(name: &str) -> String {
    format!("DROP DATABASE {}", quote_name(name))
}

/// Drops what plimsoll has `made` in the database `name`, and its marker at last.
fn remove_made(server: &MysqlAddress, name: &str, made: &MadeObjects) -> Result<(), TargetError> {
    let quoted = quote_name(name);
    let drop = |kind: &str, name: &str| format!("DROP {kind} IF EXISTS {quoted}.{}", quote_name(name));
    let procedures = made.procedures.iter().map(|name| drop("PROCEDURE", name));
    let tables = made.tables.iter().map(String::as_str).chain([MARKER]).map(|name| drop("TABLE", name));
    let drops: Vec<String> = procedures.chain(tables).collect();
    run_if_marked(server.connect_admin(PATIENCE), name, &quoted, &drops)
        .map_err(|why| schema_left(server.shown(), name, &why))
}
