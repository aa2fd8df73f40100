//! A server of MySQL or MariaDB that is watched: its counters from SHOW GLOBAL STATUS, its statements from performance_schema.
//!
//! In: an address. Out: values, and the sums of statements by digest. Limits: statements inside of stored procedures count with their CALL.
//! MariaDB counts no executions of prepared statements by digest, and all of them among its counters.

use super::details::{Details, ROWS_ASKED, name, number, rows_or_reason, seconds, without_values};
use super::ledger::StatementKey;
use super::log::{MYSQL_MARKS, Marks};
use super::{OWN, OwnQuestions, Values, WatchedServer, replica};
use crate::counters::{ServerSource, grows, level, number_in};
use crate::mysql::client::MysqlAddress;
use crate::mysql::counters::{INNODB, METRICS, ask_status, status_query_with};
use crate::mysql::external::{REPLICA_STATUS, account_in_grant};
use crate::mysql::wire::MysqlWire;
use crate::server::network::{Route, TextRows};
use crate::sql::OpFailure;
use crate::sql::admin_connection::{AdminConnection, allowed};
use model::{CounterRole, MissingPart, ObservedSession, ObservedWait, StatementCost};
use sql::Dialect;
use std::os::fd::BorrowedFd;
use std::time::{Duration, Instant};

/// What the server does for its clients.
pub static ACTIVITY: ServerSource = ServerSource {
    name: "activity",
    help: "statements by kind and connections of a server that is watched (plimsoll observe, mysql and mariadb)",
    counters: &[
        grows("selects", SELECTS, "ops", "SELECT, answers from the query cache included"),
        grows("inserts", INSERTS, "ops", "INSERT, REPLACE and LOAD"),
        grows("updates", UPDATES, "ops", "UPDATE"),
        grows("deletes", DELETES, "ops", "DELETE"),
        grows("questions", "Questions", "ops", "all statements that clients have sent"),
        grows("slow_queries", "Slow_queries", "ops", "statements that took longer than long_query_time"),
        grows("aborted_clients", "Aborted_clients", "ops", "connections that ended without a goodbye"),
        grows("bytes_sent", "Bytes_sent", "bytes", "bytes sent to clients, those of the watch included"),
        grows("bytes_received", "Bytes_received", "bytes", "bytes received from clients, those of the watch included"),
        level("connections", "Threads_connected", "count", "connections that are open")
            .read_as(CounterRole::Connections),
        level("connections_max", CONNECTIONS_MAX, "count", "the most that it takes")
            .read_as(CounterRole::ConnectionsMax),
        level(
            "connections_busy",
            BUSY,
            "count",
            "connections that are executing a statement, that of the watch left out",
        )
        .read_as(CounterRole::BusyConnections),
        level("lock_waiting", "Innodb_row_lock_current_waits", "count", "connections that wait for a row lock"),
        replica::RUNNING,
        replica::BEHIND,
    ],
};

static SOURCES: [&ServerSource; 2] = [&INNODB, &ACTIVITY];

const SELECTS: &str = "plimsoll_selects";
const INSERTS: &str = "plimsoll_inserts";
const UPDATES: &str = "plimsoll_updates";
const DELETES: &str = "plimsoll_deletes";
const BUSY: &str = "plimsoll_busy";
const CONNECTIONS_MAX: &str = "plimsoll_max_connections";

/// What the kinds are sums of, if a server has it.
const PARTS: [(&str, &[&str]); 4] = [
    (SELECTS, &["Com_select", "Qcache_hits"]),
    (INSERTS, &["Com_insert", "Com_insert_select", "Com_replace", "Com_replace_select", "Com_load"]),
    (UPDATES, &["Com_update", "Com_update_multi"]),
    (DELETES, &["Com_delete", "Com_delete_multi"]),
];
const ALSO: [&str; 9] = [
    "Questions",
    "Slow_queries",
    "Aborted_clients",
    "Bytes_sent",
    "Bytes_received",
    "Threads_connected",
    "Threads_running",
    "Innodb_row_lock_current_waits",
    "Uptime",
];

const READ_ONLY: &str = "SET SESSION TRANSACTION READ ONLY";
const SYSTEM_ZONE: &str = "SET SESSION time_zone = 'SYSTEM'";

/// What the watch itself asks in each reading, as the server writes it.
const OWN_STATUS: &str = "SHOW GLOBAL STATUS WHERE `Variable_name` IN (...)";

/// The columns that MariaDB has in front: the name of the connection, and what its applying thread does.
const MARIADB_FRONT: usize = 2;
/// What any account sees of a server that has a primary on MariaDB; elsewhere there is no more than that it takes no writes.
const HAS_PRIMARY: &str = "\
    SELECT variable_value FROM information_schema.global_status AS plimsoll_watch WHERE variable_name = 'Slave_heartbeat_period'";
const IS_READ_ONLY: &str = "SELECT @@global.read_only AS plimsoll_watch";
/// On MariaDB, and on MySQL.
const ALLOW_REPLICATION: [&str; 2] =
    ["GRANT SLAVE MONITOR ON *.* TO the account", "GRANT REPLICATION CLIENT ON *.* TO the account"];

const HAS_STATEMENTS: &str = "SELECT @@performance_schema AS plimsoll_watch";
const CONSUMERS: &str = "SELECT count(*) FROM performance_schema.setup_consumers AS plimsoll_watch \
                        WHERE name IN ('global_instrumentation', 'statements_digest') AND enabled = 'YES'";
const TURN_ON: &str = "UPDATE performance_schema.setup_consumers SET enabled = 'YES' WHERE name IN ('global_instrumentation', \
                       'thread_instrumentation', 'statements_digest')";

pub(super) struct WatchedMysql {
    address: MysqlAddress,
    wire: Option<MysqlWire>,
    is_mariadb: bool,
    version: String,
    max_connections: Option<String>,
    question: String,
    /// Whether the session has the zone in which the server tells when a transaction began.
    is_in_system_zone: bool,
    /// How many sessions waited for a row lock at the last reading.
    waiting: u64,
    /// What a replica is asked, and how many columns its answer has in front of the usual ones; `None` if it is no replica.
    replication: Option<(&'static str, usize)>,
    /// Whether it may be asked: one that has not answered once is not asked again, since it may not answer while replication is being stopped.
    may_ask_replication: bool,
    /// Whether it seems to be a replica, and the account may not see more.
    hides_replication: bool,
    /// What times of a start are told against: the wall clock may be set.
    began: Instant,
}

impl WatchedMysql {
    pub fn new(address: MysqlAddress) -> WatchedMysql {
        let parts = PARTS.iter().flat_map(|(_, parts)| parts.iter().copied()).chain(ALSO);
        let question = status_query_with(INNODB.counters, &parts.collect::<Vec<_>>());
        let (version, max_connections) = (String::new(), None);
        WatchedMysql {
            address,
            wire: None,
            is_mariadb: false,
            version,
            max_connections,
            question,
            is_in_system_zone: false,
            waiting: 0,
            replication: None,
            may_ask_replication: true,
            hides_replication: false,
            began: Instant::now(),
        }
    }

    /// Finds out whether the server is a replica. What is none is not asked again over this connection.
    fn find_replication(&mut self, wire: &mut MysqlWire, own: &mut OwnQuestions) -> Result<(), OpFailure> {
        self.replication = None;
        if !std::mem::replace(&mut self.may_ask_replication, false) {
            return Ok(());
        }
        let mut rows = None;
        for (question, front) in REPLICA_STATUS.into_iter().zip([MARIADB_FRONT, 0, 0]) {
            own.other += 1;
            rows = allowed(wire.query_rows(question))?;
            if let Some(rows) = &rows {
                self.replication = (!rows.is_empty()).then_some((question, front));
                break;
            }
        }
        if rows.is_none() {
            own.reads += 1;
            let sign = if self.is_mariadb { HAS_PRIMARY } else { IS_READ_ONLY };
            let sign = allowed(wire.query_value(sign))?.flatten();
            self.hides_replication = sign.and_then(|sign| sign.parse::<f64>().ok()).is_some_and(|value| value > 0.0);
        }
        self.may_ask_replication = true;
        Ok(())
    }

    /// What a replica reports of its replication; nothing of what is none.
    fn read_replication(&mut self) -> Result<Values, OpFailure> {
        let Some((question, front)) = self.replication else { return Ok(Values::new()) };
        self.may_ask_replication = false;
        let rows = allowed(self.wire()?.query_rows(question))?;
        self.may_ask_replication = true;
        Ok(replica::values_of(&rows.unwrap_or_default(), front))
    }

    fn wire(&mut self) -> Result<&mut MysqlWire, OpFailure> {
        self.wire.as_mut().ok_or_else(super::not_connected)
    }

    fn ask(&mut self, question: &str) -> Result<TextRows, OpFailure> {
        Ok(self.wire()?.query_rows(question)?)
    }

    /// Who waits for whom. InnoDB shows what it has collected before until nobody has read that for 100 ms: if it shows no wait although
    /// sessions waited just now, it is asked again after that time.
    fn ask_waits(&mut self, question: &str, own: &mut OwnQuestions) -> Result<Result<TextRows, String>, OpFailure> {
        own.reads += 1;
        let first = rows_or_reason(self.wire()?.query_rows(question))?;
        if self.waiting == 0 || !first.as_ref().is_ok_and(Vec::is_empty) {
            return Ok(first);
        }
        own.reads += 2;
        allowed(self.wire()?.query_rows(PAUSE))?;
        rows_or_reason(self.wire()?.query_rows(question))
    }

    /// Adds the waits of those `sessions` that wait for a metadata lock. Returns what was not seen of that.
    fn add_metadata_waits(
        &mut self,
        sessions: &[ObservedSession],
        waits: &mut Vec<ObservedWait>,
        own: &mut OwnQuestions,
    ) -> Result<Option<&'static str>, OpFailure> {
        if !sessions.iter().any(|session| session.doing.ends_with("metadata lock")) {
            return Ok(None);
        }
        own.reads += 1;
        let found = allowed(self.wire()?.query_rows(&format!("{METADATA_WAITS} LIMIT {ROWS_ASKED}")))?;
        let found = found.unwrap_or_default();
        let unseen = found.is_empty().then_some(UNSEEN_METADATA);
        waits.extend(found.into_iter().filter_map(wait_of));
        Ok(unseen)
    }

    /// MySQL has its locks in performance_schema since version 8, and MariaDB as they were before.
    fn has_newer_lock_tables(&self) -> bool {
        let major = self.version.split('.').next().and_then(|major| major.parse::<u32>().ok());
        !self.is_mariadb && major.is_some_and(|major| major >= 8)
    }
}

impl WatchedServer for WatchedMysql {
    fn connect(&mut self, patience: Duration, own: &mut OwnQuestions) -> Result<(), OpFailure> {
        self.wire = None;
        let mut wire = self.address.connect_within(patience)?;
        own.add_setting(READ_ONLY);
        wire.query_rows(READ_ONLY)?;
        // MariaDB and MySQL each know one of them.
        for limit in ["SET SESSION max_statement_time = 2", "SET SESSION max_execution_time = 2000"] {
            own.add_setting(limit);
            allowed(wire.query_rows(limit))?;
        }
        self.is_in_system_zone = false;
        own.reads += 2;
        self.version = wire.query_value("SELECT @@global.version AS plimsoll_watch")?.unwrap_or_default();
        self.is_mariadb = self.version.contains("MariaDB");
        self.max_connections = wire.query_value("SELECT @@global.max_connections AS plimsoll_watch")?;
        self.find_replication(&mut wire, own)?;
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
        self.wire.as_mut()?.query_value("SELECT @@global.datadir AS plimsoll_watch").ok().flatten()
    }

    fn error_log(&mut self) -> Option<(String, Marks)> {
        let file = self.wire.as_mut()?.query_value("SELECT @@global.log_error AS plimsoll_watch").ok().flatten();
        file.filter(|file| !file.is_empty() && file != "stderr").map(|file| (file, MYSQL_MARKS))
    }

    fn account(&mut self, own: &mut OwnQuestions) -> Option<String> {
        own.reads += 1;
        let account = self.wire.as_mut()?.query_value("SELECT current_user() AS plimsoll_watch").ok().flatten();
        account.as_deref().and_then(account_in_grant)
    }

    fn route(&self) -> &Route {
        self.address.route()
    }

    fn shown(&self) -> &str {
        self.address.shown()
    }

    fn names(&self) -> [&'static str; 2] {
        if self.is_mariadb { ["mariadb", "MariaDB"] } else { ["mysql", "MySQL"] }
    }

    fn dialect(&self) -> Dialect {
        Dialect::Mysql
    }

    fn version(&self) -> &str {
        &self.version
    }

    fn programs(&self) -> &'static [&'static str] {
        &["mariadbd", "mysqld"]
    }

    fn sources(&self) -> &'static [&'static ServerSource] {
        &SOURCES
    }

    fn read_values(&mut self, own: &mut OwnQuestions) -> Result<Values, OpFailure> {
        let (question, max_connections) = (self.question.clone(), self.max_connections.clone());
        let others = if self.is_mariadb { Vec::new() } else { vec![METRICS.to_owned()] };
        // The server counts a question before it answers: this one is in its own answer, and what follows in the next.
        own.other += 1;
        let mut values = ask_status(self.wire()?, &question, &others)?;
        values.extend(self.read_replication()?);
        for (name, parts) in PARTS {
            let sum = parts.iter().filter_map(|part| number_in(&values, part)).fold(0, u64::saturating_add);
            values.insert(name.to_owned(), sum.to_string());
        }
        self.waiting = number_in(&values, "Innodb_row_lock_current_waits").unwrap_or(0);
        let busy = number_in(&values, "Threads_running").map(|running| running.saturating_sub(1).to_string());
        values.extend(busy.map(|busy| (BUSY.to_owned(), busy)));
        values.extend(max_connections.map(|most| (CONNECTIONS_MAX.to_owned(), most)));
        Ok(values)
    }

    fn own_of_further_values(&self) -> OwnQuestions {
        let (reads, other) = (u64::from(!self.is_mariadb), u64::from(self.replication.is_some()));
        OwnQuestions { reads, other, ..OwnQuestions::default() }
    }

    fn missing_parts(&self) -> Vec<MissingPart> {
        let (what, mend) = ("how far the replica is behind: the account may not see it", ALLOW_REPLICATION);
        let mend = mend[usize::from(!self.is_mariadb)];
        let part = MissingPart { what: what.to_owned(), mend: mend.to_owned() };
        self.hides_replication.then_some(part).into_iter().collect()
    }

    fn started(&self, values: &Values) -> Option<f64> {
        Some(self.began.elapsed().as_secs_f64() - number_in(values, "Uptime")? as f64)
    }

    fn rounds_start_to_s(&self) -> f64 {
        1.0
    }

    fn connection_number(&self) -> Option<u32> {
        self.wire.as_ref().map(|wire| wire.key().id)
    }

    /// Statements by kind; the last is all of them.
    fn counts(&self, values: &Values) -> Option<Vec<u64>> {
        let all = number_in(values, "Questions")?;
        let mut kinds: Vec<u64> = PARTS.iter().filter_map(|(name, _)| number_in(values, name)).collect();
        kinds.push(all);
        Some(kinds)
    }

    fn find_statements(&mut self, own: &mut OwnQuestions) -> Result<Option<MissingPart>, OpFailure> {
        own.reads += 3;
        if self.ask(HAS_STATEMENTS)? != [[Some("1".to_owned())]] {
            let mend = "set `performance_schema = ON` in the server's configuration file and start it again";
            return Ok(missing("performance_schema is off", mend));
        }
        let (consumers, digests) = (CONSUMERS.to_owned(), format!("{DIGESTS} LIMIT 1"));
        let consumers = allowed(self.wire()?.query_rows(&consumers))?;
        let digests = allowed(self.wire()?.query_rows(&digests))?;
        let is_on = consumers.map(|rows| rows == [[Some("2".to_owned())]]);
        Ok(match (is_on, digests) {
            (Some(true), Some(_)) => None,
            (Some(false), _) => missing("the server counts no statements", TURN_ON),
            _ => missing("the account may not read them", "GRANT SELECT ON performance_schema.* TO the account"),
        })
    }

    fn read_statements(&mut self, own: &mut OwnQuestions) -> Result<Vec<(StatementKey, StatementCost)>, OpFailure> {
        own.reads += 1;
        Ok(self.ask(DIGESTS)?.into_iter().filter_map(sum_of).collect())
    }

    fn read_texts(&mut self, ids: &[String], own: &mut OwnQuestions) -> Result<TextRows, OpFailure> {
        own.reads += 1;
        // They are digits and letters: the server made them.
        let listed: Vec<String> = ids.iter().map(|id| format!("'{}'", id.replace(['\'', '\\'], ""))).collect();
        self.ask(&format!(
            "SELECT digest, max(left(digest_text, 1000)) FROM performance_schema.events_statements_summary_by_digest AS {OWN} \
             WHERE digest IN ({}) GROUP BY digest",
            listed.join(", ")
        ))
    }

    fn read_details(&mut self, own: &mut OwnQuestions) -> Result<Details, OpFailure> {
        if !self.is_in_system_zone {
            own.add_setting(SYSTEM_ZONE);
            allowed(self.wire()?.query_rows(SYSTEM_ZONE))?;
            self.is_in_system_zone = true;
        }
        let (waits, mend) =
            if self.has_newer_lock_tables() { (NEWER_WAITS, ALLOW_LOCKS) } else { (WAITS, ALLOW_PROCESS) };
        // Asked first: a wait may be short, and what InnoDB has collected for this answer serves for the next one, too.
        let waits = self.ask_waits(&format!("{waits} LIMIT {ROWS_ASKED}"), own)?;
        own.reads += 1;
        let question = format!("{SESSIONS} LIMIT {ROWS_ASKED}");
        let sessions: Vec<ObservedSession> = match rows_or_reason(self.wire()?.query_rows(&question))? {
            Ok(rows) => rows.into_iter().filter_map(session_of).collect(),
            Err(reason) => {
                let what = "who waits for whom, and open transactions";
                return Ok(Details::default().without(what, &reason, ALLOW_PROCESS));
            }
        };
        Ok(match waits {
            Ok(rows) => {
                let mut waits: Vec<ObservedWait> = rows.into_iter().filter_map(wait_of).collect();
                let unseen = (self.waiting > 0 && waits.is_empty()).then_some(UNSEEN_WAITS);
                let unseen_metadata = self.add_metadata_waits(&sessions, &mut waits, own)?;
                let mut details = Details::new(sessions, waits);
                details.look.failed = unseen.or(unseen_metadata).map(str::to_owned);
                details
            }
            Err(reason) => Details::new(sessions, Vec::new()).without("who waits for whom", &reason, mend),
        })
    }

    fn is_own(&self, text: &str) -> bool {
        text.contains(OWN) || text == OWN_STATUS || REPLICA_STATUS.contains(&text)
    }
}

/// The sums of all digests. The alias tells the watch's own statement from others.
const DIGESTS: &str = "\
                       SELECT schema_name, digest, count_star, sum_timer_wait DIV 1000, sum_errors, sum_rows_sent, sum_rows_examined \
                       FROM performance_schema.events_statements_summary_by_digest AS plimsoll_watch";

/// Sessions that execute a statement or hold a transaction, the longest first. None of these tables is locked by what clients do.
const SESSIONS: &str = "\
    SELECT plimsoll_watch.id, plimsoll_watch.user, plimsoll_watch.db, plimsoll_watch.command, plimsoll_watch.time, plimsoll_watch.state, \
    left(plimsoll_watch.info, 1000), timestampdiff(SECOND, t.trx_started, now()), t.trx_rows_locked, t.trx_rows_modified \
    FROM information_schema.processlist AS plimsoll_watch \
    LEFT JOIN information_schema.innodb_trx AS t ON t.trx_mysql_thread_id = plimsoll_watch.id \
    WHERE plimsoll_watch.id <> connection_id() AND (t.trx_id IS NOT NULL OR plimsoll_watch.command NOT IN \
    ('Sleep', 'Daemon', 'Connect', 'Binlog Dump', 'Binlog Dump GTID', 'Slave_IO', 'Slave_SQL', 'Slave_worker')) \
    ORDER BY greatest(coalesce(timestampdiff(SECOND, t.trx_started, now()), 0), coalesce(plimsoll_watch.time, 0)) DESC";

/// Longer than the time for which InnoDB keeps what it has collected.
const PAUSE: &str = "SELECT sleep(0.12) AS plimsoll_watch";
const UNSEEN_WAITS: &str = "who waits for whom: the waits were over when the server was asked, or another client reads its list of transactions \
                            more than 10 times a second, which keeps the list old";

/// Who waits for a row lock of whom: the numbers of both, since when, and what is locked. The keys that are locked are not asked for. On
/// MariaDB all transactions that have changed nothing have the number 0: of these only one that waits for this lock is the waiter, and those
/// without a lock block nobody.
const WAITS: &str = "\
    SELECT r.trx_mysql_thread_id, b.trx_mysql_thread_id, timestampdiff(SECOND, r.trx_wait_started, now()), l.lock_table, l.lock_index \
    FROM information_schema.innodb_lock_waits AS plimsoll_watch \
    JOIN information_schema.innodb_trx AS r ON r.trx_id = plimsoll_watch.requesting_trx_id \
    AND r.trx_requested_lock_id = plimsoll_watch.requested_lock_id \
    JOIN information_schema.innodb_trx AS b ON b.trx_id = plimsoll_watch.blocking_trx_id \
    AND b.trx_lock_structs > 0 AND b.trx_mysql_thread_id <> r.trx_mysql_thread_id \
    LEFT JOIN information_schema.innodb_locks AS l ON l.lock_id = plimsoll_watch.requested_lock_id ORDER BY 3 DESC";
const NEWER_WAITS: &str = "\
    SELECT r.trx_mysql_thread_id, b.trx_mysql_thread_id, timestampdiff(SECOND, r.trx_wait_started, now()), \
    concat(l.object_schema, '.', l.object_name), l.index_name \
    FROM performance_schema.data_lock_waits AS plimsoll_watch \
    JOIN information_schema.innodb_trx AS r ON r.trx_id = plimsoll_watch.requesting_engine_transaction_id \
    JOIN information_schema.innodb_trx AS b ON b.trx_id = plimsoll_watch.blocking_engine_transaction_id \
    LEFT JOIN performance_schema.data_locks AS l ON l.engine_lock_id = plimsoll_watch.requesting_engine_lock_id \
    AND l.engine = plimsoll_watch.engine ORDER BY 3 DESC";
/// Who waits for a metadata lock of whom: what is exclusive waits for all who have the table, and all others for what is exclusive, also if that
/// waits itself.
const METADATA_WAITS: &str = "\
    SELECT DISTINCT w.processlist_id, b.processlist_id, NULL, \
    concat(plimsoll_watch.object_schema, '.', plimsoll_watch.object_name, ' (metadata)'), NULL \
    FROM performance_schema.metadata_locks AS plimsoll_watch \
    JOIN performance_schema.metadata_locks AS g ON g.object_type = plimsoll_watch.object_type \
    AND g.object_schema = plimsoll_watch.object_schema AND g.object_name = plimsoll_watch.object_name \
    AND g.owner_thread_id <> plimsoll_watch.owner_thread_id \
    AND if(plimsoll_watch.lock_type IN ('EXCLUSIVE', 'SHARED_NO_READ_WRITE'), g.lock_status = 'GRANTED', \
    g.lock_type IN ('EXCLUSIVE', 'SHARED_NO_READ_WRITE')) \
    JOIN performance_schema.threads AS w ON w.thread_id = plimsoll_watch.owner_thread_id \
    JOIN performance_schema.threads AS b ON b.thread_id = g.owner_thread_id \
    WHERE plimsoll_watch.lock_status = 'PENDING' AND plimsoll_watch.object_type = 'TABLE'";
const UNSEEN_METADATA: &str = "who has the metadata lock that a session waits for: that needs performance_schema with its instrument \
                               `wait/lock/metadata/sql/mdl`, and the right to read it";
const ALLOW_PROCESS: &str = "GRANT PROCESS ON *.* TO the account";
const ALLOW_LOCKS: &str = "GRANT PROCESS ON *.* TO the account; GRANT SELECT ON performance_schema.* TO the account";

fn session_of(row: Vec<Option<String>>) -> Option<ObservedSession> {
    let [id, user, database, command, time, state, text, transaction, locked, changed] = row.try_into().ok()?;
    let doing = [name(command), name(state)].into_iter().flatten().collect::<Vec<_>>().join(": ");
    Some(ObservedSession {
        id: number(id)?,
        user: name(user).unwrap_or_default(),
        database: name(database),
        doing,
        seconds: seconds(time).unwrap_or(0.0),
        statement: text.map_or(String::new(), |text| without_values(&text, Dialect::Mysql)),
        transaction_s: seconds(transaction),
        rows_locked: number(locked),
        rows_changed: number(changed),
        xmin_age: None,
    })
}

fn wait_of(row: Vec<Option<String>>) -> Option<ObservedWait> {
    let [waiter, blocker, waited, table, index] = row.try_into().ok()?;
    let table = name(table).map(|table| table.replace('`', ""));
    let lock = table.map(|table| name(index).map_or(table.clone(), |index| format!("{table}, index {index}")));
    Some(ObservedWait { waiter: number(waiter)?, blocker: number(blocker)?, seconds: seconds(waited), lock })
}

fn missing(why: &str, mend: &str) -> Option<MissingPart> {
    Some(MissingPart { what: format!("statements: {why}"), mend: mend.to_owned() })
}

fn sum_of(row: Vec<Option<String>>) -> Option<(StatementKey, StatementCost)> {
    let [database, id, calls, time_ns, errors, sent, read] = row.try_into().ok()?;
    let number = |text: Option<String>| text?.parse::<u64>().ok();
    let cost = StatementCost {
        calls: number(calls)?,
        time_ns: number(time_ns)?,
        errors: number(errors).unwrap_or(0),
        rows_sent: number(sent).unwrap_or(0),
        rows_read: number(read),
        pages: None,
    };
    Some((StatementKey { database, id: id.unwrap_or_default(), entry: None }, cost))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_question_has_the_name_by_which_it_is_left_out() {
        let all = [HAS_STATEMENTS, CONSUMERS, DIGESTS, SESSIONS, PAUSE, WAITS, NEWER_WAITS, METADATA_WAITS];
        assert!(all.iter().all(|question| question.contains(OWN)));
    }

    #[test]
    fn all_that_a_watch_counts_of_the_server_s_status_is_asked_for() {
        let asked: Vec<&str> = PARTS.iter().flat_map(|(_, parts)| parts.iter().copied()).chain(ALSO).collect();
        let of_status = ACTIVITY.counters.iter().flat_map(crate::counters::CounterSpec::parts);
        let unasked: Vec<&str> =
            of_status.filter(|name| !name.starts_with("plimsoll_") && !asked.contains(name)).collect();
        assert!(unasked.is_empty(), "{unasked:?}");
        assert!(ACTIVITY.counters.iter().any(|counter| counter.name() == "bytes_sent"));
    }
}
