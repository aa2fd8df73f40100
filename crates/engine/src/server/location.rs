//! The location of a server's data: a directory of plimsoll's own, or a schema of its own on an existing server.
//!
//! In: a private server directory, or a schema that was made. Out: one interface to both. Limits: a foreign server is never configured,
//! and nothing on it but the schema, which is dropped by its marker, or by the connection that has just made it, is ever changed.

use super::dir::ServerDir;
use super::sighting::ServerSighting;
use super::url::is_schema_name;
use host::error::TargetError;
use model::{Bytes, Fact};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Drops a schema of plimsoll's own, or what plimsoll has made in the database of a URL, when it has seen plimsoll's marker.
pub type DropSchema = Box<dyn FnMut(&MadeObjects) -> Result<(), TargetError>>;

/// The names of what plimsoll has made in a database.
#[derive(Default)]
pub struct MadeObjects {
    /// Tables, or those that it tried to make: the database had none before.
    pub tables: Vec<String>,
    /// The names of stored procedures.
    pub procedures: Vec<String>,
}

/// The fact of an existing server that counts its other clients.
pub const OTHERS: &str = "server.other_clients";
/// Other clients count if they were at work so many seconds ago at most.
pub const RECENT_S: u32 = 5;
/// The fact that the account may not see whether the server is a replica.
pub const REPLICATION: &str = "server.replication";
/// The fact that names schemas that were left there.
pub const LEFT: &str = "server.left_schemas";
/// The fact that counts schemas of earlier runs that were removed from it.
pub const REMOVED: &str = "server.removed_schemas";

/// The location of the data.
pub enum DataLocation {
    /// On a private server.
    Private(Box<ServerDir>),
    /// On an existing server.
    External(Box<ExternalSchema>),
}

/// A schema on an existing server. Dropped with this, if it was not removed before.
pub struct ExternalSchema {
    /// The server and the schema, for messages.
    pub shown: String,
    /// The name of the schema.
    pub name: String,
    /// What is known of the server.
    pub facts: Vec<Fact>,
    /// What is seen of its process.
    pub sighting: ServerSighting,
    /// What is seen of its further nodes that run on this machine.
    pub further_nodes: Vec<ServerSighting>,
    /// Whether the server did not answer when a client was blocked: nothing is tried that would wait for it again.
    pub is_silent: bool,
    /// The server, for messages.
    server: String,
    /// The rows and the seed of the complete data.
    sealed: Option<(u64, u64)>,
    made: Box<MadeObjects>,
    remove: Option<DropSchema>,
}

impl ExternalSchema {
    /// The schema `name` on the server called `server`, which `remove` drops.
    pub fn new(server: &str, name: &str, facts: Vec<Fact>, remove: DropSchema) -> ExternalSchema {
        ExternalSchema::with_remover(server, name, facts, Some(remove))
    }

    /// A schema that is not this host's to drop: another host has made it, or the user.
    pub fn not_ours(server: &str, name: &str, facts: Vec<Fact>) -> ExternalSchema {
        ExternalSchema::with_remover(server, name, facts, None)
    }

    fn with_remover(server: &str, name: &str, facts: Vec<Fact>, remove: Option<DropSchema>) -> ExternalSchema {
        let (sighting, made) = (ServerSighting::default(), Box::default());
        let (shown, name) = (format!("{server}, schema `{name}`"), name.to_owned());
        let (is_silent, sealed, server) = (false, None, server.to_owned());
        ExternalSchema {
            shown,
            name,
            facts,
            sighting,
            further_nodes: Vec::new(),
            is_silent,
            server,
            sealed,
            made,
            remove,
        }
    }

    /// Whether it is removed at the end.
    pub fn is_to_remove(&self) -> bool {
        self.remove.is_some()
    }

    pub fn keep(&mut self) {
        self.remove = None;
    }

    fn remove(&mut self) -> Result<(), TargetError> {
        match self.remove.take() {
            None => Ok(()),
            Some(_) if self.is_silent => Err(schema_left(&self.server, &self.name, "the server does not answer")),
            Some(mut remove) => remove(&self.made),
        }
    }

    /// Removes it after `error`, and returns that; with the reason why it was left, if it could not be removed.
    pub fn give_up(mut self, error: TargetError) -> TargetError {
        match self.remove() {
            Ok(()) => error,
            Err(left) => error.and_then(&left),
        }
    }
}

impl Drop for ExternalSchema {
    fn drop(&mut self) {
        let _ = self.remove(); // an error can no longer be reported
    }
}

impl DataLocation {
    /// How messages name it.
    pub fn shown(&self) -> String {
        match self {
            DataLocation::Private(server_dir) => host::error::shown(server_dir.dir.path()),
            DataLocation::External(external) => external.shown.clone(),
        }
    }

    /// Notes that a table is about to be made.
    pub fn note_table(&mut self, name: &str) {
        if let DataLocation::External(external) = self {
            external.made.tables.push(name.to_owned());
        }
    }

    /// Notes that a stored procedure was made.
    pub fn note_procedure(&mut self, name: &str) {
        if let DataLocation::External(external) = self {
            external.made.procedures.push(name.to_owned());
        }
    }

    /// Marks the data as complete.
    pub fn seal(&mut self, rows: u64, seed: u64) -> Result<(), TargetError> {
        match self {
            DataLocation::Private(server_dir) => server_dir.dir.seal(rows),
            DataLocation::External(external) => {
                external.sealed = Some((rows, seed));
                Ok(())
            }
        }
    }

    /// Refuses data that is incomplete or of another description or seed.
    pub fn check_fits(&self, data: &str, seed: u64) -> Result<(), TargetError> {
        match self {
            DataLocation::Private(server_dir) => server_dir.dir.check_fits(data, seed),
            DataLocation::External(external) if external.sealed.is_some_and(|(_, made_of)| made_of == seed) => Ok(()),
            DataLocation::External(external) => {
                let text = format!("the data in {} is incomplete, or its seed is not {seed}", external.shown);
                Err(TargetError::Unsafe(text))
            }
        }
    }

    /// The rows of complete data.
    pub fn rows(&self) -> Option<u64> {
        match self {
            DataLocation::Private(server_dir) => server_dir.dir.amount(),
            DataLocation::External(external) => external.sealed.map(|(rows, _)| rows),
        }
    }

    /// Whether the server is plimsoll's own.
    pub fn is_private(&self) -> bool {
        matches!(self, DataLocation::Private(_))
    }

    /// The server's processes, if they are known.
    pub fn processes(&self) -> Vec<u32> {
        match self {
            DataLocation::Private(server_dir) => server_dir.processes(),
            DataLocation::External(external) => {
                let nodes = std::iter::once(&external.sighting).chain(&external.further_nodes);
                let mut all: Vec<u32> = nodes.filter_map(ServerSighting::pid).collect();
                // Several endpoints may lead to one node.
                all.sort_unstable();
                all.dedup();
                all
            }
        }
    }

    /// The block device under the data of an existing server, if it is known. That of a private one is below its directory.
    pub fn device(&self) -> Option<String> {
        match self {
            DataLocation::Private(_) => None,
            DataLocation::External(external) => external.sighting.device().map(str::to_owned),
        }
    }

    /// The way to the data directory of an existing server, if it is on this machine and may be seen.
    pub fn data_dir(&self) -> Option<PathBuf> {
        match self {
            DataLocation::Private(_) => None,
            DataLocation::External(external) => external.sighting.data_dir().map(Path::to_owned),
        }
    }

    /// The log of a private server. That of an existing one may be anywhere.
    pub fn log_file(&self) -> Option<PathBuf> {
        match self {
            DataLocation::Private(server_dir) => Some(server_dir.log().to_owned()),
            DataLocation::External(_) => None,
        }
    }

    /// What is known of the server.
    pub fn facts(&self) -> Vec<Fact> {
        match self {
            DataLocation::Private(server_dir) => server_dir.facts(),
            DataLocation::External(external) => {
                let nodes = external.further_nodes.iter().flat_map(ServerSighting::facts);
                let further = nodes.filter(|fact| fact.name == "server.process");
                let further = further.map(|fact| Fact::new("server.further_process", fact.value));
                [external.facts.clone(), external.sighting.facts(), further.collect()].concat()
            }
        }
    }

    /// What is known of it only after a load: how it ended, if it did.
    pub fn closing_facts(&self) -> Vec<Fact> {
        match self {
            DataLocation::Private(server_dir) => {
                server_dir.facts().into_iter().filter(|fact| fact.name == "server.ended").collect()
            }
            DataLocation::External(external) => external.sighting.closing_facts(),
        }
    }

    /// What the user should know before the load begins.
    pub fn warnings(&self) -> Vec<String> {
        let DataLocation::External(external) = self else { return Vec::new() };
        external.facts.iter().filter_map(warning_of).collect()
    }

    /// A message if the server has ended by itself.
    pub fn describe_trouble(&self, suspected: bool) -> Option<String> {
        match self {
            DataLocation::Private(server_dir) => server_dir.describe_trouble(suspected),
            DataLocation::External(_) => None,
        }
    }

    /// A message if an existing server on this machine has ended.
    pub fn describe_external_end(&self, suspected: bool) -> Option<String> {
        match self {
            DataLocation::Private(_) => None,
            DataLocation::External(external) => external.sighting.describe_end(suspected),
        }
    }

    /// What the data takes; `asked` asks a foreign server for it.
    pub fn footprint(&self, asked: impl FnOnce() -> Bytes) -> Bytes {
        match self {
            DataLocation::Private(server_dir) => server_dir.dir.footprint(),
            DataLocation::External(_) => asked(),
        }
    }

    /// The part of it that is logs: redo log, write-ahead log; `None` of a foreign server.
    pub fn log_footprint(&self) -> Option<Bytes> {
        match self {
            DataLocation::Private(server_dir) => Some(server_dir.dir.footprint_of(&is_log)),
            DataLocation::External(_) => None,
        }
    }

    /// Stops the server and removes its directory, or drops the schema.
    pub fn remove(self) -> Result<(), TargetError> {
        match self {
            DataLocation::Private(server_dir) => server_dir.remove(),
            DataLocation::External(mut external) => external.remove(),
        }
    }
}

/// What follows from `others` other clients of the server.
fn describe_others(others: u64) -> String {
    let clients = if others == 1 { "1 other client".to_owned() } else { format!("{others} other clients") };
    format!(
        "{clients} used the server within the last {RECENT_S} s: that disturbs the measurement, and the load disturbs \
         what others do there"
    )
}

/// What a fact of an existing server means for the user, if it is a warning.
fn warning_of(fact: &Fact) -> Option<String> {
    match fact.name.as_str() {
        OTHERS => fact.value.parse().ok().filter(|others| *others > 0).map(describe_others),
        REPLICATION => Some(
            "the account may not see whether the server is a replica or has replicas, so it is measured in any case; GRANT PROCESS, \
             REPLICATION CLIENT (on MariaDB: PROCESS, SLAVE MONITOR) ON *.* lets it see"
                .to_owned(),
        ),
        REMOVED => {
            let schemas = if fact.value == "1" { "schema that an earlier run" } else { "schemas that earlier runs" };
            Some(format!("removed {} {schemas} had left on the server", fact.value))
        }
        LEFT => Some(format!("schemas left on the server by an earlier run: {}; drop them by hand", fact.value)),
        _ => None,
    }
}

/// The error that the schema `name` on the server called `server` could not be removed.
pub fn schema_left(server: &str, name: &str, why: &str) -> TargetError {
    TargetError::Failed(format!("{server}: schema `{name}` was left: {why}; drop it by hand"))
}

/// The error that the server called `server` has a schema `name` that plimsoll did not make.
pub fn schema_taken(server: &str, name: &str) -> TargetError {
    TargetError::Unsafe(format!(
        "{server} has a schema `{name}` that plimsoll did not make; it was left as it is: rename it, or use \
         another server"
    ))
}

/// A schema that begins as plimsoll's do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemaThere {
    /// The name of the schema.
    pub name: String,
    /// What is in it.
    pub content: SchemaContent,
}

/// What is in a schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SchemaContent {
    /// Plimsoll's marker: a run that was killed, or that could not drop it, left it.
    Marked,
    /// Nothing. If it has plimsoll's kind of name, a run was killed before it made the marker.
    Empty,
    /// Tables without the marker.
    Foreign,
}

/// Names those of `found` that an earlier plimsoll left. One of plimsoll's kind of name that has tables and no marker is not made by
/// plimsoll, and the server is refused.
pub fn schemas_there(server: &str, found: &[SchemaThere]) -> Result<Option<Fact>, TargetError> {
    use SchemaContent::{Empty, Foreign, Marked};
    if let Some(taken) = found.iter().find(|one| one.content == Foreign && is_schema_name(&one.name)) {
        return Err(schema_taken(server, &taken.name));
    }
    let left: Vec<&str> = found
        .iter()
        .filter(|one| one.content == Marked || one.content == Empty && is_schema_name(&one.name))
        .map(|one| one.name.as_str())
        .collect();
    Ok((!left.is_empty()).then(|| Fact::new(LEFT, left.join(", "))))
}

/// Whether the log of the server whose data directory is `data` is on the same file system: files of it that tell where it is.
pub fn has_log_beside(data: &Path) -> bool {
    let number = |path: &Path| std::fs::metadata(path).ok().map(|found| found.dev());
    let logs = ["pg_wal", "ib_logfile0", "#innodb_redo", "#rocksdb"];
    let mut found = logs.iter().filter_map(|name| number(&data.join(name))).peekable();
    let own = number(data);
    found.peek().is_some() && found.all(|device| Some(device) == own)
}

/// Whether a file is a log. Of InnoDB these are the redo log, and the files with its undo log, doublewrite buffer and temporary tables;
/// tables have other files, and MySQL keeps some logs in directories of their own. Of RocksDB they are the write-ahead log and the text
/// log, of PostgreSQL all of `pg_wal`.
pub fn is_log(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let [in_pg_wal, in_rocksdb, in_redo, in_temp] = ["pg_wal", "#rocksdb", "#innodb_redo", "#innodb_temp"]
        .map(|dir| path.parent().is_some_and(|parent| parent.ends_with(dir)));
    // The last is the write sets that a Galera node keeps for others.
    let is_innodb = ["ib_logfile", "ibdata", "ibtmp", "undo", "galera.cache"].iter().any(|own| name.starts_with(own));
    let is_mysql = in_redo || in_temp || name.ends_with(".dblwr");
    is_innodb || is_mysql || in_pg_wal || in_rocksdb && name.ends_with(".log")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schema_of_plimsolls_name_without_its_marker_is_refused_and_one_with_it_is_named() {
        use SchemaContent::{Empty, Foreign, Marked};
        let (ours, theirs) = ("plimsoll_0123456789abcdef", "plimsoll_results");
        let there = |name: &str, content| SchemaThere { name: name.to_owned(), content };
        let found = |content| schemas_there("the server", &[there(ours, content), there(theirs, Foreign)]);
        let refused = found(Foreign).unwrap_err();
        assert!(matches!(&refused, TargetError::Unsafe(text) if text.contains(&format!("`{ours}`"))), "{refused}");
        assert_eq!(found(Marked).unwrap(), Some(Fact::new(LEFT, ours)));
        assert_eq!(found(Empty).unwrap(), Some(Fact::new(LEFT, ours)), "it was killed before it made the marker");
        assert_eq!(schemas_there("the server", &[there(theirs, Empty), there(theirs, Foreign)]).unwrap(), None);
    }

    #[test]
    fn schemas_that_are_there_are_called_those_of_an_earlier_run() {
        let told = |name: &str, value: &str| warning_of(&Fact::new(name, value)).expect("it is a warning");
        assert_eq!(told(LEFT, "a, b"), "schemas left on the server by an earlier run: a, b; drop them by hand");
        assert_eq!(told(REMOVED, "1"), "removed 1 schema that an earlier run had left on the server");
        assert_eq!(told(REMOVED, "2"), "removed 2 schemas that earlier runs had left on the server");
    }

    #[test]
    fn what_is_no_table_is_told_apart_from_what_is() {
        let log = |path: &str| is_log(Path::new(path));
        assert!(
            ["d/ib_logfile0", "d/ibdata1", "d/undo001", "d/pg_wal/0001", "d/#rocksdb/000012.log"].into_iter().all(log)
        );
        let of_mysql = [
            "d/galera.cache",
            "d/#innodb_redo/#ib_redo7",
            "d/#ib_16384_0.dblwr",
            "d/#innodb_temp/temp_1.ibt",
            "d/undo_001",
        ];
        assert!(of_mysql.into_iter().all(log));
        assert!(!["d/plimsoll/sbtest1.ibd", "d/base/5/2601", "d/#rocksdb/000013.sst"].into_iter().any(log));
    }
}
