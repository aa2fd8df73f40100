//! A server of PostgreSQL that is watched: its statistics views, and its statements from pg_stat_statements.
//!
//! In: an address. Out: values, and the sums of statements of all databases. Limits: the statistics of sessions are up to a second late, so that
//! without pg_stat_statements only transactions are counted, and one second may have those of another. Rows sent include rows changed.

use super::details::{Details, ROWS_ASKED, name, number, rows_or_reason, seconds, without_values};
use super::ledger::StatementKey;
use super::log::{Marks, POSTGRES_MARKS};
use super::{OWN, OwnQuestions, Values, WatchedServer, replica};
use crate::counters::{ServerSource, grows, level, number_in};
use crate::postgres::client::PostgresAddress;
use crate::postgres::counters::{POSTGRES, ask_views, views_question};
use crate::postgres::statement_view;
use crate::postgres::wait_events::name_watcher;
use crate::postgres::wire::PostgresWire;
use crate::server::network::{Route, TextRows};
use crate::sql::OpFailure;
use crate::sql::admin_connection::{AdminConnection, WireError};
use model::{CounterRole, MissingPart, ObservedSession, ObservedWait, StatementCost};
use sql::Dialect;
use std::os::fd::BorrowedFd;
use std::time::Duration;

/// What the server does for its clients.
pub static ACTIVITY: ServerSource = ServerSource {
    name: "activity",
    help: "rows and connections of a server that is watched (plimsoll observe, postgres)",
    counters: &[
        grows("rows_returned", "all_returned", "ops", "rows that were read by scans, in all databases"),
        grows("rows_fetched", "all_fetched", "ops", "rows that were read by index scans, in all databases"),
        grows("rows_inserted", "all_inserted", "ops", "rows inserted, in all databases"),
        grows("rows_updated", "all_updated", "ops", "rows updated, in all databases"),
        grows("rows_deleted", "all_deleted", "ops", "rows deleted, in all databases"),
        level("connections", "plimsoll_connections", "count", "connections that are open")
            .read_as(CounterRole::Connections),
        level("connections_max", "plimsoll_connections_max", "count", "the most that it takes")
            .read_as(CounterRole::ConnectionsMax),
        level(
            "connections_busy",
            "plimsoll_busy",
            "count",
            "connections that execute a statement, that of the watch left out",
        )
        .read_as(CounterRole::BusyConnections),
        level("lock_waiting", "plimsoll_waiting", "count", "connections that wait for a lock of another one"),
        replica::RUNNING,
        replica::BEHIND,
        level(
            "replica_unapplied",
            "plimsoll_replica_unapplied",
            "bytes",
            "log that a replica has received and not replayed",
        ),
    ],
};

/// How the question for the values begins.
const OWN_VIEWS: &str =
    "SELECT key, value FROM pg_stat_wal v, jsonb_each_text(to_jsonb(v)) UNION ALL SELECT key, value";

static SOURCES: [&ServerSource; 2] = [&POSTGRES, &ACTIVITY];

/// What every account may ask. How many sessions are busy is not known if the states of some are hidden.
const ACTIVITY_VIEWS: &str = "\
    SELECT v.key, v.value FROM (SELECT sum(tup_returned) AS returned, sum(tup_fetched) AS fetched, sum(tup_inserted) AS inserted, \
    sum(tup_updated) AS updated, sum(tup_deleted) AS deleted, sum(numbackends) AS backends, sum(xact_commit + xact_rollback) AS ended \
    FROM pg_stat_database) AS plimsoll_watch, \
    LATERAL (VALUES ('all_returned', returned::text), ('all_fetched', fetched::text), ('all_inserted', inserted::text), \
    ('all_updated', updated::text), ('all_deleted', deleted::text), ('plimsoll_connections', backends::text), \
    ('all_transactions', ended::text), ('plimsoll_connections_max', current_setting('max_connections')), \
    ('plimsoll_started', extract(epoch FROM pg_postmaster_start_time())::text)) AS v(key, value) \
    UNION ALL SELECT 'plimsoll_busy', CASE WHEN bool_or(state IS NULL AND datid IS NOT NULL AND backend_type IS NULL) THEN NULL \
    ELSE (count(*) FILTER (WHERE state NOT IN ('idle', 'disabled') AND backend_type = 'client backend' AND pid <> pg_backend_pid() \
    AND application_name <> 'plimsoll counters'))::text END FROM pg_stat_activity \
    UNION ALL SELECT 'plimsoll_waiting', CASE WHEN bool_or(state IS NULL AND datid IS NOT NULL AND backend_type IS NULL) THEN NULL \
    ELSE (count(*) FILTER (WHERE wait_event_type = 'Lock'))::text END FROM pg_stat_activity \
    UNION ALL SELECT v.key, v.value FROM (SELECT pg_is_in_recovery() AS is_replica) AS plimsoll_watch, \
    LATERAL (SELECT is_replica AND pg_is_wal_replay_paused() AS is_paused WHERE is_replica) AS r, \
    LATERAL (VALUES ('plimsoll_replica_runs', CASE WHEN is_paused THEN '0' ELSE '1' END), \
    ('plimsoll_replica_stopped', CASE WHEN is_paused THEN 'replay is paused' END), \
    ('plimsoll_replica_behind_s', CASE WHEN pg_last_wal_receive_lsn() = pg_last_wal_replay_lsn() \
    AND EXISTS (SELECT FROM pg_stat_wal_receiver) THEN '0' \
    ELSE extract(epoch FROM clock_timestamp() - pg_last_xact_replay_timestamp())::text END), \
    ('plimsoll_replica_unapplied', \
    greatest(pg_wal_lsn_diff(pg_last_wal_receive_lsn(), pg_last_wal_replay_lsn()), 0)::text)) AS v(key, value)";

pub(super) struct WatchedPostgres {
    address: PostgresAddress,
    wire: Option<PostgresWire>,
    version: String,
    question: String,
    hides_others: bool,
    /// The question for the sums of all statements, and the one for texts without its end; `None` if they are not counted.
    statements: Option<[String; 2]>,
}

/// The question for a setting. The server takes statements that differ in a name after AS for one, and keeps the text of the first.
fn question_for(setting: &str) -> String {
    format!("SELECT {OWN}.setting FROM pg_settings AS {OWN} WHERE {OWN}.name = '{setting}'")
}

impl WatchedPostgres {
    pub fn new(address: PostgresAddress) -> WatchedPostgres {
        let (version, question) = (String::new(), String::new());
        WatchedPostgres { address, wire: None, version, question, hides_others: false, statements: None }
    }

    fn wire(&mut self) -> Result<&mut PostgresWire, OpFailure> {
        self.wire.as_mut().ok_or_else(super::not_connected)
    }

    fn ask(&mut self, question: &str) -> Result<TextRows, OpFailure> {
        Ok(self.wire()?.query_rows(question)?)
    }
}

impl WatchedServer for WatchedPostgres {
    fn connect(&mut self, patience: Duration, own: &mut OwnQuestions) -> Result<(), OpFailure> {
        self.wire = None;
        let mut wire = self.address.connect_within(patience)?;
        own.add_setting("SET application_name");
        name_watcher(&mut wire);
        for setting in
            ["SET default_transaction_read_only = on", "SET statement_timeout = '2s'", "SET lock_timeout = '1s'"]
        {
            own.add_setting(setting);
            wire.query_rows(setting)?;
        }
        // Each question is a transaction, as each setting is.
        own.other += 4;
        self.version = wire.query_value(&question_for("server_version"))?.unwrap_or_default();
        let sees_all = wire.query_value(
            "SELECT pg_has_role(current_user, 'pg_read_all_stats', 'USAGE') FROM (SELECT 1) AS plimsoll_watch",
        )?;
        self.hides_others = sees_all.as_deref() == Some("f");
        let views = views_question(&mut wire)?;
        // An account without the rights of pg_monitor may be refused some of the views, and then gets no answer at all.
        let all = format!("{views} UNION ALL {ACTIVITY_VIEWS}");
        let is_allowed = match ask_views(&mut wire, &all) {
            Err(error) if error.lost().is_some() => return Err(error.into()),
            answer => answer.is_ok(),
        };
        self.question = if is_allowed { all } else { ACTIVITY_VIEWS.to_owned() };
        self.wire = Some(wire);
        Ok(())
    }

    fn disconnect(&mut self) {
        self.wire = None;
    }

    fn socket_fd(&self) -> Option<BorrowedFd<'_>> {
        self.wire.as_ref().map(AdminConnection::socket_fd)
    }

    fn data_dir(&mut self) -> Option<String> {
        self.wire.as_mut()?.query_value(&question_for("data_directory")).ok().flatten()
    }

    fn error_log(&mut self) -> Option<(String, Marks)> {
        let question = format!("SELECT {OWN}.file FROM pg_current_logfile('stderr') AS {OWN}(file)");
        let file = self.wire.as_mut()?.query_value(&question).ok().flatten();
        file.map(|file| (file, POSTGRES_MARKS))
    }

    fn account(&mut self, own: &mut OwnQuestions) -> Option<String> {
        own.other += 1;
        let question = format!("SELECT quote_ident(current_user) FROM (SELECT 1) AS {OWN}");
        self.wire.as_mut()?.query_value(&question).ok().flatten()
    }

    fn route(&self) -> &Route {
        self.address.route()
    }

    fn shown(&self) -> &str {
        self.address.shown()
    }

    fn names(&self) -> [&'static str; 2] {
        ["postgres", "PostgreSQL"]
    }

    fn dialect(&self) -> Dialect {
        Dialect::Postgres
    }

    fn version(&self) -> &str {
        &self.version
    }

    fn programs(&self) -> &'static [&'static str] {
        &["postgres", "postmaster"]
    }

    fn sources(&self) -> &'static [&'static ServerSource] {
        &SOURCES
    }

    fn missing_parts(&self) -> Vec<MissingPart> {
        let what = "counters of the engine: the account may not read them all".to_owned();
        let refused = MissingPart { what, mend: ALLOW.to_owned() };
        (self.question == ACTIVITY_VIEWS).then_some(refused).into_iter().collect()
    }

    fn read_values(&mut self, _: &mut OwnQuestions) -> Result<Values, OpFailure> {
        let question = self.question.clone();
        Ok(ask_views(self.wire()?, &question)?)
    }

    /// The question for the values is a transaction that ends after its answer was made.
    fn own_of_further_values(&self) -> OwnQuestions {
        OwnQuestions { other: 1, ..OwnQuestions::default() }
    }

    fn started(&self, values: &Values) -> Option<f64> {
        values.get("plimsoll_started")?.parse().ok()
    }

    fn counts(&self, values: &Values) -> Option<Vec<u64>> {
        number_in(values, "all_transactions").map(|all| vec![all])
    }

    fn counts_by_statements(&self) -> bool {
        true
    }

    fn keeps_counts(&self) -> bool {
        true
    }

    fn counts_late(&self) -> bool {
        true
    }

    fn counts_of_login(&self) -> u64 {
        1
    }

    fn find_statements(&mut self, own: &mut OwnQuestions) -> Result<Option<MissingPart>, OpFailure> {
        let missing =
            |why: &str, mend: &str| Ok(Some(MissingPart { what: format!("statements: {why}"), mend: mend.to_owned() }));
        if self.hides_others {
            let what = "statements and sessions of other accounts".to_owned();
            return Ok(Some(MissingPart { what, mend: ALLOW.to_owned() }));
        }
        own.other += 1;
        let found = self.ask(statement_view::FIND_SCHEMA)?;
        let Some(schema) = found.first().and_then(|row| row.first()?.clone()) else {
            return missing(statement_view::MISSING, statement_view::TURN_ON);
        };
        own.other += 2;
        let view = format!("\"{}\".pg_stat_statements", schema.replace('"', "\"\""));
        let columns = self.ask(&format!(
            "SELECT {OWN}.attname FROM pg_attribute AS {OWN} WHERE attrelid = '{}'::regclass AND attnum > 0",
            view.replace('\'', "''")
        ))?;
        let has = |name: &str| columns.iter().flatten().any(|column| column.as_deref() == Some(name));
        let time = if has("total_exec_time") { "total_exec_time" } else { "total_time" };
        let outer = if has("toplevel") { " AND s.toplevel" } else { "" };
        let sums = format!(
            "SELECT {OWN}.datname, s.queryid::text, concat(s.userid, '/', s.dbid), s.calls, round(s.{time} * 1000000)::bigint, s.rows, \
             s.shared_blks_hit + s.shared_blks_read FROM {view}(false) AS s \
             LEFT JOIN pg_database AS {OWN} ON {OWN}.oid = s.dbid WHERE s.queryid IS NOT NULL{outer}"
        );
        let texts = format!(
            "SELECT s.queryid::text, max(left(s.query, 1000)) FROM {view} AS s, (SELECT 1) AS {OWN} WHERE s.queryid IN"
        );
        match self.wire()?.query_rows(&sums) {
            Ok(_) => {
                self.statements = Some([sums, texts]);
                Ok(None)
            }
            Err(error) if error.lost().is_some() => Err(error.into()),
            // The extension is there, and its library was not loaded when the server started; or the account may not.
            Err(error) => missing(&error.into_failure().text, statement_view::TURN_ON),
        }
    }

    fn read_statements(&mut self, own: &mut OwnQuestions) -> Result<Vec<(StatementKey, StatementCost)>, OpFailure> {
        own.other += 1;
        let [sums, _] = self.statements.clone().ok_or_else(super::not_connected)?;
        Ok(self.ask(&sums)?.into_iter().filter_map(sum_of).collect())
    }

    fn read_texts(&mut self, ids: &[String], own: &mut OwnQuestions) -> Result<TextRows, OpFailure> {
        own.other += 1;
        let [_, texts] = self.statements.clone().ok_or_else(super::not_connected)?;
        // They are numbers: what is none is left out.
        let numbers: Vec<&str> = ids.iter().map(String::as_str).filter(|id| id.parse::<i64>().is_ok()).collect();
        let listed = if numbers.is_empty() { "NULL".to_owned() } else { numbers.join(", ") };
        self.ask(&format!("{texts} ({listed}) GROUP BY 1"))
    }

    fn read_details(&mut self, own: &mut OwnQuestions) -> Result<Details, OpFailure> {
        own.other += 1;
        let question = format!("{SESSIONS} LIMIT {ROWS_ASKED}");
        Ok(match rows_or_reason(self.wire()?.query_rows(&question))? {
            Ok(rows) => {
                let (sessions, waits): (Vec<_>, Vec<_>) = rows.into_iter().filter_map(session_of).unzip();
                Details::new(sessions, longest_first(waits.into_iter().flatten().collect()))
            }
            Err(reason) => Details::default().without("who waits for whom, and open transactions", &reason, ALLOW),
        })
    }

    /// The question for the values is longer than what is kept of a text.
    fn is_own(&self, text: &str) -> bool {
        text.contains(OWN) || text.starts_with(OWN_VIEWS)
    }
}

/// Sessions that execute a statement or hold a transaction, the oldest first, with those that each waits for. Only of sessions that wait for a
/// lock the server looks for who has it. Versions before 14 do not tell since when one waits.
const SESSIONS: &str = "\
    SELECT plimsoll_watch.pid, plimsoll_watch.usename, plimsoll_watch.datname, plimsoll_watch.state, \
    concat_ws(': ', plimsoll_watch.wait_event_type, plimsoll_watch.wait_event), \
    extract(epoch FROM clock_timestamp() - plimsoll_watch.state_change), extract(epoch FROM clock_timestamp() - plimsoll_watch.xact_start), \
    age(plimsoll_watch.backend_xmin), CASE WHEN plimsoll_watch.wait_event_type = 'Lock' \
    THEN array_to_string(pg_blocking_pids(plimsoll_watch.pid), ',') END, extract(epoch FROM clock_timestamp() - w.since), \
    left(plimsoll_watch.query, 1000) FROM pg_stat_activity AS plimsoll_watch \
    LEFT JOIN (SELECT l.pid, min((to_jsonb(l) ->> 'waitstart')::timestamptz) AS since FROM pg_locks AS l WHERE NOT l.granted GROUP BY l.pid) \
    AS w ON w.pid = plimsoll_watch.pid \
    WHERE plimsoll_watch.pid <> pg_backend_pid() AND plimsoll_watch.backend_type = 'client backend' AND plimsoll_watch.state <> 'idle' \
    AND plimsoll_watch.application_name <> 'plimsoll counters' \
    ORDER BY coalesce(plimsoll_watch.xact_start, plimsoll_watch.state_change)";
const ALLOW: &str = "GRANT pg_monitor TO the account";

/// A session, and those that it waits for.
fn session_of(row: Vec<Option<String>>) -> Option<(ObservedSession, Vec<ObservedWait>)> {
    let [id, user, database, state, event, time, transaction, xmin_age, blockers, waited, text] =
        row.try_into().ok()?;
    let (waiter, waited) = (number(id)?, seconds(waited));
    let blockers = blockers.unwrap_or_default();
    let waits = blockers.split(',').filter_map(|blocker| blocker.parse().ok());
    let lock = name(event.clone());
    let wait = |blocker| ObservedWait { waiter, blocker, seconds: waited, lock: lock.clone() };
    let waits = waits.map(wait).collect();
    let session = ObservedSession {
        id: waiter,
        user: name(user).unwrap_or_default(),
        database: name(database),
        doing: [name(state), name(event)].into_iter().flatten().collect::<Vec<_>>().join(": "),
        seconds: seconds(time).unwrap_or(0.0),
        statement: text.map_or(String::new(), |text| without_values(&text, Dialect::Postgres)),
        transaction_s: seconds(transaction),
        rows_locked: None,
        rows_changed: None,
        xmin_age: number(xmin_age),
    };
    Some((session, waits))
}

fn longest_first(mut waits: Vec<ObservedWait>) -> Vec<ObservedWait> {
    waits.sort_by(|one, other| other.seconds.unwrap_or(0.0).total_cmp(&one.seconds.unwrap_or(0.0)));
    waits
}

fn sum_of(row: Vec<Option<String>>) -> Option<(StatementKey, StatementCost)> {
    let [database, id, entry, calls, time_ns, rows, pages] = row.try_into().ok()?;
    let number = |text: Option<String>| text?.parse::<u64>().ok();
    let cost = StatementCost {
        calls: number(calls)?,
        time_ns: number(time_ns)?,
        errors: 0,
        rows_sent: number(rows).unwrap_or(0),
        rows_read: None,
        pages: number(pages),
    };
    Some((StatementKey { database, id: id?, entry }, cost))
}
