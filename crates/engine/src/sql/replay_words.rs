//! What a replay of statements asks of one kind of server, as SQL.
//!
//! In: nothing; each kind of server that can be given a log has one. Out: [`ReplayWords`]. Limits: words only; who asks is elsewhere.

use crate::sql::replay_catalogue::CatalogueWords;
use crate::sql::replay_ids::CounterWords;
use crate::sql::replay_keys::KeyWords;
use crate::sql::replay_plans::PlanWords;
use workload::replay_sql::LogDialect;

/// What a replay asks of one kind of server, as SQL.
pub struct ReplayWords {
    /// The logs that it can be given.
    pub dialect: LogDialect,
    /// Its version, as its log names it.
    pub version: &'static str,
    pub port: &'static str,
    /// The path of its socket.
    pub socket: &'static str,
    /// The files of its logs; relative ones are in its data directory.
    pub log_files: &'static [&'static str],
    /// What a connection begins with.
    pub begin: &'static [&'static str],
    /// What makes all transactions of a connection read-only.
    pub read_only: &'static str,
    /// What it has of its own.
    pub catalogue: CatalogueWords,
    /// A query with a row if the schema in `{}`, a literal, is there.
    pub has_schema: &'static str,
    /// The statement that makes the schema in `{}` the current one; `None` if that takes another connection.
    pub enter_schema: Option<&'static str>,
    /// The query for the columns whose values the server makes: tables, columns, expressions, places from 0. An INSERT then names its ids. `None` if the
    /// server can be told the next id instead.
    pub made_columns: Option<&'static str>,
    /// How it is asked about the counters behind its ids.
    pub counters: CounterWords,
    /// How it is asked about the keys of copies.
    pub keys: KeyWords,
    /// How it is asked for a plan.
    pub plans: PlanWords,
}

impl ReplayWords {
    /// What a connection executes first.
    pub fn first_texts(&self, reads_only: bool) -> impl Iterator<Item = &'static str> {
        self.begin.iter().copied().chain(reads_only.then_some(self.read_only))
    }
}
