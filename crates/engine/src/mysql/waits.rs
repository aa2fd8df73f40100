//! `server-waits`: how long the threads of MariaDB and MySQL waited, by the server's own account.
//!
//! In: an address. Out: a source of the classes of waits in performance_schema, or none if that is off. It asks over a connection of its own,
//! and never over a client's. Limits: only classes whose instruments are on and timed when the connection is made have values; MariaDB times
//! files and tables by default, and no mutexes. The server rounds each wait to the ticks of its timer. What performance_schema costs the
//! server is part of the rates. (<https://mariadb.com/kb/en/performance-schema-events_waits_summary_global_by_event_name-table/>)

use super::client::MysqlAddress;
use super::wire::MysqlWire;
use crate::counters::{CounterQuery, CounterSpec, PATIENCE, ServerSource, grows, name_and_value, queried_source};
use crate::sql::admin_connection::AdminConnection;
use model::{CounterRole, CounterSource, WaitClass};
use std::collections::{BTreeSet, HashMap};

/// The classes, known by the beginnings of the names of their events.
pub static WAITS: ServerSource = ServerSource {
    name: "server-waits",
    help: "how long the server's threads waited, by class, as reported by performance_schema if that is on (mariadb, mysql)",
    counters: &[
        waited("file_io_ns", "wait/io/file", WaitClass::FileIo, "in reads, writes and syncs of files"),
        waited("mutex_ns", "wait/synch/mutex", WaitClass::Mutex, "for mutexes of the server"),
        waited(
            "rwlock_ns",
            "wait/synch/rwlock",
            WaitClass::ReadWriteLock,
            "for locks of the server that readers share",
        ),
        waited("table_lock_ns", "wait/lock/table", WaitClass::TableLock, "for locks of tables"),
        waited("metadata_lock_ns", "wait/lock/metadata", WaitClass::MetadataLock, "for locks of what tables are"),
        waited("idle_ns", "idle", WaitClass::Idle, "for the next statement of a client"),
    ],
};

/// The server counts in picoseconds.
const PICOSECONDS: f64 = 1e-3;

const fn waited(name: &'static str, known_as: &'static str, class: WaitClass, help: &'static str) -> CounterSpec {
    grows(name, known_as, "ns", help).times(PICOSECONDS).read_as(CounterRole::EngineWait(class))
}

/// A class from the name of an event: both flavours have further names for locks that readers share.
const CLASS: &str = "\
                     CASE SUBSTRING_INDEX(name, '/', 3) WHEN 'wait/synch/prlock' THEN 'wait/synch/rwlock' \
                     WHEN 'wait/synch/sxlock' THEN 'wait/synch/rwlock' ELSE SUBSTRING_INDEX(name, '/', 3) END";

/// The source; `None` if performance_schema is off, may not be read, or times none of the classes.
pub fn wait_source(subject: &str, address: &MysqlAddress) -> Option<Box<dyn CounterSource>> {
    let mut query = WaitQuery { address: address.clone(), classes: BTreeSet::new(), connection: None };
    query.connect()?;
    query.connection = None;
    (!query.classes.is_empty()).then(|| queried_source(&WAITS, subject, query))
}

struct WaitQuery {
    address: MysqlAddress,
    /// Those that are on: of the others the server would report 0.
    classes: BTreeSet<String>,
    connection: Option<MysqlWire>,
}

impl CounterQuery for WaitQuery {
    fn connect(&mut self) -> Option<()> {
        self.connection = None;
        let mut connection = self.address.connect_admin(PATIENCE).ok()?;
        let rows = connection.query_rows(&classes_that_are_on()).ok()?;
        self.classes =
            rows.into_iter().filter_map(|row| row.into_iter().next()?).filter(|name| is_read(name)).collect();
        self.connection = Some(connection);
        Some(())
    }

    fn read_values(&mut self) -> Option<HashMap<String, String>> {
        let rows = self.connection.as_mut()?.query_rows(&sums()).ok()?;
        // A class in which nothing waited so far has no row.
        let mut values: HashMap<String, String> =
            self.classes.iter().map(|class| (class.clone(), "0".to_owned())).collect();
        let counted = rows.into_iter().filter_map(name_and_value);
        values.extend(counted.filter(|(class, _)| self.classes.contains(class)));
        Some(values)
    }
}

fn is_read(class: &str) -> bool {
    WAITS.counters.iter().any(|counter| counter.known_as() == class)
}

/// The classes with an instrument that is on and timed. If performance_schema is off its tables are there, and empty or of no effect.
fn classes_that_are_on() -> String {
    format!(
        "SELECT DISTINCT {CLASS} FROM performance_schema.setup_instruments \
         WHERE enabled = 'YES' AND timed = 'YES' AND @@performance_schema AND \
         'YES' = (SELECT enabled FROM performance_schema.setup_consumers WHERE name = 'global_instrumentation')"
    )
}

fn sums() -> String {
    format!(
        "SELECT {CLASS}, CAST(SUM(waited) AS CHAR) FROM (SELECT event_name AS name, sum_timer_wait AS waited \
         FROM performance_schema.events_waits_summary_global_by_event_name WHERE sum_timer_wait > 0) AS events GROUP BY 1"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_class_has_a_counter_with_its_role_in_nanoseconds() {
        let defs: Vec<_> = WAITS.counters.iter().map(CounterSpec::to_def).collect();
        let roles: Vec<_> = defs.iter().filter_map(|def| def.role).collect();
        assert_eq!(roles, WaitClass::ALL.map(CounterRole::EngineWait));
        assert!(defs.iter().all(|def| def.unit == "ns"));
        assert!(is_read("wait/io/file") && is_read("idle") && !is_read("wait/io/socket"));
    }
}
