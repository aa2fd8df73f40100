//! `replication`: how far the replicas of a PostgreSQL server are behind.
//!
//! In: the address of an endpoint, and that of the first endpoint. Out: a source for each endpoint. A replica has the log that the first
//! endpoint has written and that it has not replayed; a server with replicas has their number and the delay of the slowest, by its own clock
//! (<https://www.postgresql.org/docs/current/monitoring-stats.html#MONITORING-PG-STAT-REPLICATION-VIEW>).
//! Limits: the first endpoint is asked a moment before the replica, so a replica that has all is 0 behind and never less. The delay is seen by
//! roles that may read all statistics (`pg_monitor`); for others it is a gap. A replica of another replica counts at the one that feeds it.

use super::client::PostgresAddress;
use super::wait_events::name_watcher;
use super::wire::PostgresWire;
use crate::counters::{CounterQuery, PATIENCE, ServerSource, level, name_and_value, queried_source};
use crate::sql::admin_connection::AdminConnection;
use model::{CounterRole, CounterSource};
use std::collections::HashMap;

/// What one of several endpoints knows of replication.
pub static REPLICATION: ServerSource = ServerSource {
    name: "replication",
    help: "how far replicas are behind, for each of several endpoints (postgres)",
    counters: &[
        level("lag_bytes", LAG, "bytes", "log of the first endpoint that this replica has not replayed yet")
            .read_as(CounterRole::ReplicaLag),
        level(
            "replay_lag_ns",
            DELAY,
            "ns",
            "time until the slowest replica of this server has replayed what is written",
        )
        .read_as(CounterRole::ReplicaDelay),
        level("replicas", REPLICAS, "count", "replicas that this server feeds"),
    ],
};

const LAG: &str = "lag_bytes";
const DELAY: &str = "replay_lag_ns";
const REPLICAS: &str = "replicas";

/// A replica that has all and hears of nothing new has no delay, which is NULL; so has every replica for a role that may not see its state.
const FED: &str = "SELECT 'replicas', count(*)::text FROM pg_stat_replication UNION ALL \
                   SELECT 'replay_lag_ns', round(COALESCE(max(extract(epoch FROM replay_lag)), 0) * 1e9)::bigint::text \
                   FROM pg_stat_replication HAVING count(*) > 0 AND count(*) = count(state)";

/// The counters of the endpoint at `address`, which is called `name`.
pub fn node_source(address: &PostgresAddress, name: &str, first: &PostgresAddress) -> Box<dyn CounterSource> {
    let ask = AskReplication { own: address.clone(), first: first.clone(), wire: None, first_wire: None };
    queried_source(&REPLICATION, name, ask)
}

struct AskReplication {
    own: PostgresAddress,
    first: PostgresAddress,
    wire: Option<PostgresWire>,
    /// The connection to the first endpoint, of a replica.
    first_wire: Option<PostgresWire>,
}

impl CounterQuery for AskReplication {
    fn connect(&mut self) -> Option<()> {
        self.first_wire = None;
        self.wire = Some(connect_to(&self.own)?);
        Some(())
    }

    fn read_values(&mut self) -> Option<HashMap<String, String>> {
        let wire = self.wire.as_mut()?;
        let is_replica = first_value(wire, "SELECT pg_is_in_recovery()")? == "t";
        let written = if is_replica { ask_first(&mut self.first_wire, &self.first) } else { None };
        let question = match written {
            Some(written) => format!("{FED} UNION ALL {}", lag_behind(&written)),
            None => FED.to_owned(),
        };
        Some(wire.query_rows(&question).ok()?.into_iter().filter_map(name_and_value).collect())
    }
}

/// The place in the log up to which the first endpoint has written; `None` if it is gone.
fn ask_first(wire: &mut Option<PostgresWire>, address: &PostgresAddress) -> Option<String> {
    let mut asked = wire.take().or_else(|| connect_to(address))?;
    let written = first_value(&mut asked, "SELECT pg_current_wal_lsn()")?;
    *wire = Some(asked);
    // It becomes a part of a statement.
    written.chars().all(|c| c.is_ascii_hexdigit() || c == '/').then_some(written)
}

/// The question how much of the log up to `written` is not replayed.
fn lag_behind(written: &str) -> String {
    format!("SELECT 'lag_bytes', greatest(pg_wal_lsn_diff('{written}', pg_last_wal_replay_lsn()), 0)::text")
}

fn connect_to(address: &PostgresAddress) -> Option<PostgresWire> {
    let mut wire = address.connect_admin(PATIENCE).ok()?;
    name_watcher(&mut wire)?;
    Some(wire)
}

fn first_value(wire: &mut PostgresWire, question: &str) -> Option<String> {
    wire.query_rows(question).ok()?.into_iter().flatten().next().flatten()
}
