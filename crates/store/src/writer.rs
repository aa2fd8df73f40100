//! Writes a run file while the run goes on: one transaction per interval.
//!
//! In: points, phases, and per interval a [`Batch`] of rows. Out: one SQLite file, readable after kill -9 at any moment with
//! everything that was committed.
//!
//! Limits: while recording, commits are handed to the operating system (WAL, `synchronous=NORMAL`) and reach the disk once a second
//! ([`crate::log_sync`]): a power loss may take the last of them, a kill may not. The recorder never waits for that disk, which may be the
//! very one that is measured. For the same reason the log is moved into the database between points, and within a point only if it
//! grows beyond 64 MiB.

use crate::error::StoreError;
use crate::hdr::Encoder;
use crate::log_sync::LogSync;
use crate::reserve::SpaceReserve;
use crate::rows::{
    RowPlace, insert_counter, insert_endpoint, insert_event, insert_interval, insert_source, insert_stacks, json_error,
    prepare_cached, sql_int, to_json, to_word,
};
use crate::{APPLICATION_ID, FORMAT, SCHEMA, open};
use model::{Background, CounterSample, EndpointInterval, Event, Fact, IntervalRow, KindDef};
use model::{Observation, Phase, PointParam, PointState, PointTraits, RunMeta, SourceDef, StackSnapshot, Tick, Trial};
use rusqlite::{Connection, ErrorCode, OpenFlags, OptionalExtension, Transaction, TransactionBehavior, params};
use std::any::Any;
use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// 64 MiB of pages of 4 KiB: what the log may grow to within a point before it is moved into the database.
const LOG_PAGES_MAX: u32 = 16_384;
/// 256 KiB of pages of 4 KiB, in place of SQLite's 2 MiB: rows are appended, so old pages are never needed again, and a cache that
/// goes on filling for a quarter of an hour looks like a leak.
const CACHE_PAGES: u32 = 64;
/// How long the end of a run waits for a process that reads the file at that moment.
const BUSY_WAIT: Duration = Duration::from_secs(1);

/// A run file being written.
pub struct RunWriter {
    pub(crate) path: PathBuf,
    pub(crate) db: Connection,
    encoder: Encoder,
    /// Given up for the last rows when the disk is full; `None` if the file system has no such files.
    reserve: Option<SpaceReserve>,
    /// Shows where the file is. Behind the database: to close it would release the locks of that.
    place: Option<FilePlace>,
    /// Brings the log to the disk, from the first commit on.
    sync: OnceCell<Option<LogSync>>,
    /// What goes when the file is closed. Behind the database, so that it goes after that.
    held: Option<Box<dyn Any + Send>>,
}

/// The number of a point in its run, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PointId(pub u32);

/// What a point declares when it begins.
#[derive(Clone, Copy, Debug)]
pub struct NewPoint<'a> {
    /// What is planned for it.
    pub trial: &'a Trial,
    /// What the engine reports of itself, for people. A fact with a typed counterpart is taken over into the traits.
    pub facts: &'a [Fact],
    /// What code reads of it, beyond that.
    pub traits: &'a PointTraits,
    /// The parameters of its trial as they are declared.
    pub params: &'a [PointParam],
    /// The kinds of operation, in the order of their numbers.
    pub kinds: &'a [KindDef],
    /// The sources of counters, in the order of their numbers.
    pub sources: &'a [SourceDef],
}

/// Everything of one interval tick.
#[derive(Clone, Copy, Debug, Default)]
pub struct Batch<'a> {
    /// What the clients did: increments.
    pub intervals: &'a [IntervalRow],
    /// What the counter sources read. A value that is not a finite number is kept as a gap.
    pub counters: &'a [CounterSample],
    pub events: &'a [Event],
    /// The stacks of the engine that were taken.
    pub stacks: &'a [StackSnapshot],
    /// What was done on each of several endpoints: increments.
    pub endpoints: &'a [EndpointInterval],
}

impl RunWriter {
    /// Makes a new run file with `meta` in it, on disk when this returns. Never overwrites and follows no symlink at `path`.
    /// Owner may write, group may read.
    pub fn create(path: &Path, meta: &RunMeta) -> Result<RunWriter, StoreError> {
        make_file(path)?;
        match open_new(path, meta) {
            Ok(db) => Ok(RunWriter::with(path, db)),
            Err(error) => {
                // The file is ours and empty; if it cannot be removed either, that error adds nothing.
                let _ = fs::remove_file(path);
                Err(StoreError::sqlite(path, "create the run file", error))
            }
        }
    }

    /// Opens a run file whose recorder has gone, to record further points. What is in it stays as it is.
    ///
    /// # Errors
    /// If it is not a run file of this format, or another process has it open.
    pub fn reopen(path: &Path) -> Result<RunWriter, StoreError> {
        let db = open::reopen(path)?;
        let tuned = set_pragmas(&db).map(|()| RunWriter::with(path, db));
        tuned.map_err(|error| StoreError::sqlite(path, "open", error))
    }

    fn with(path: &Path, db: Connection) -> RunWriter {
        RunWriter {
            path: path.to_owned(),
            db,
            encoder: Encoder::new(),
            reserve: SpaceReserve::take(path),
            place: FilePlace::of(path),
            sync: OnceCell::new(),
            held: None,
        }
    }

    /// Holds `lock`, which keeps other recorders out, until the file is closed.
    pub fn hold(&mut self, lock: impl Any + Send) {
        self.held = Some(Box::new(lock));
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// When Tick 0 of the run was, in milliseconds since 1970.
    pub fn started_unix_ms(&self) -> Result<u64, StoreError> {
        const STARTED: &str = "SELECT CAST(value AS INTEGER) FROM meta WHERE key = 'started_unix_ms'";
        let started = self.db.query_row(STARTED, [], |row| row.get::<_, i64>(0));
        let started = started.map_err(|error| StoreError::sqlite(&self.path, "read", error))?;
        Ok(u64::try_from(started).unwrap_or(0))
    }

    /// The last moment that the file holds.
    pub fn last_tick(&self) -> Result<Tick, StoreError> {
        const LAST: &str = "SELECT max(at) FROM (SELECT max(start_ns) AS at FROM phase
             UNION ALL SELECT max(end_ns) FROM phase UNION ALL SELECT max(start_ns + length_ns) FROM interval
             UNION ALL SELECT max(at_ns) FROM counter UNION ALL SELECT max(at_ns) FROM event)";
        let last = self.db.query_row(LAST, [], |row| row.get::<_, Option<i64>>(0));
        let last = last.map_err(|error| StoreError::sqlite(&self.path, "read", error))?;
        Ok(Tick(last.and_then(|last| u64::try_from(last).ok()).unwrap_or(0)))
    }

    /// Begins a point. It stays `partial` until it is finished.
    pub fn begin_point(&mut self, new: &NewPoint) -> Result<PointId, StoreError> {
        self.in_transaction("begin a point in", |tx, _| {
            let point = insert_point(tx, new)?;
            let place = RowPlace::of_recorder(point);
            (0u8..).zip(new.kinds).try_for_each(|(number, kind)| insert_kind_def(tx, point, number, kind))?;
            new.params.iter().try_for_each(|param| insert_param(tx, point, param))?;
            new.sources.iter().zip(0u16..).try_for_each(|(source, number)| insert_source(tx, place, number, source))?;
            Ok(point)
        })
    }

    /// Adds facts that were learnt after the point began. Those with a typed counterpart change the point's traits, too.
    pub fn add_facts(&mut self, point: PointId, facts: &[Fact]) -> Result<(), StoreError> {
        self.in_transaction("add facts to", |tx, _| {
            let mut append =
                tx.prepare_cached("UPDATE point SET facts = json_insert(facts, '$[#]', json(?2)) WHERE id = ?1")?;
            facts.iter().try_for_each(|fact| append.execute(params![point.0, to_json(fact)?]).map(drop))?;
            change_traits(tx, point, |traits| traits.learn_all(facts))
        })
    }

    /// Enters the `groups` of clients in the background of a point, and marks their kinds of operation.
    pub fn set_background(&mut self, point: PointId, groups: Vec<Background>) -> Result<(), StoreError> {
        self.in_transaction("mark kinds in", |tx, _| {
            let mut mark = tx.prepare_cached("UPDATE kind SET background = 1 WHERE point = ?1 AND kind = ?2")?;
            let mut kinds = groups.iter().flat_map(|group| &group.kinds);
            kinds.try_for_each(|kind| mark.execute(params![point.0, kind.0]).map(drop))?;
            change_traits(tx, point, |traits| traits.course.background = groups.clone())
        })
    }

    /// Sets what was seen so far of the server that `point` watches.
    pub fn set_observation(&mut self, point: PointId, observation: &Observation) -> Result<(), StoreError> {
        self.in_transaction("record what was seen in", |tx, _| {
            change_traits(tx, point, |traits| traits.observed = Some(observation.clone()))
        })
    }

    /// Begins a phase. Each phase of a point begins once.
    pub fn begin_phase(&mut self, point: PointId, phase: Phase, start: Tick) -> Result<(), StoreError> {
        self.in_transaction("begin a phase in", |tx, _| {
            let mut insert = tx.prepare_cached("INSERT INTO phase VALUES (?1, ?2, ?3, NULL, 0, 0)")?;
            insert.execute(params![point.0, phase.as_str(), sql_int(start.0)]).map(drop)
        })
    }

    /// Records everything of one interval tick in one transaction.
    pub fn record(&mut self, point: PointId, batch: &Batch) -> Result<(), StoreError> {
        let place = RowPlace::of_recorder(point);
        self.in_transaction("record an interval in", |tx, encoder| insert_batch(tx, encoder, place, batch))
    }

    /// Ends a phase that was begun.
    pub fn end_phase(
        &mut self,
        point: PointId,
        phase: Phase,
        end: Tick,
        offered: u64,
        unserved: u64,
    ) -> Result<(), StoreError> {
        self.in_transaction("end a phase in", |tx, _| {
            let mut update = tx.prepare_cached(
                "UPDATE phase SET end_ns = ?3, offered = ?4, unserved = ?5 WHERE point = ?1 AND phase = ?2",
            )?;
            let changed = update.execute(params![
                point.0,
                phase.as_str(),
                sql_int(end.0),
                sql_int(offered),
                sql_int(unserved)
            ])?;
            debug_assert_eq!(changed, 1, "a phase ends that did not begin");
            Ok(())
        })
    }

    /// Records how a point ended, and moves what was logged into the database: between points it disturbs no measurement.
    pub fn finish_point(&mut self, point: PointId, state: PointState, error: Option<&str>) -> Result<(), StoreError> {
        self.in_transaction("finish a point in", |tx, _| {
            let mut update = tx.prepare_cached("UPDATE point SET state = ?2, error = ?3 WHERE id = ?1")?;
            update.execute(params![point.0, state.as_str(), error]).map(drop)
        })?;
        let moved = move_log(&self.db, "PASSIVE");
        moved.map_err(|error| StoreError::sqlite(&self.path, "finish a point in", error))
    }

    /// Makes the run one file, syncs and closes it. If a process reads the file at this moment, its log stays until
    /// the last reader has gone; nothing is lost.
    pub fn finish(self) -> Result<(), StoreError> {
        let RunWriter { path, db, reserve, place: _place, held: _held, .. } = self;
        drop(reserve);
        let folded = move_log(&db, "TRUNCATE").and_then(|()| leave_wal(&db));
        let closed = folded.and_then(|()| db.close().map_err(|(_, error)| error));
        closed.map_err(|error| StoreError::sqlite(&path, "finish the run file", error))?;
        sync_with_directory(&path).map_err(|error| StoreError::io(&path, "sync", error))
    }

    /// Does `work` in one transaction.
    pub(crate) fn in_transaction<T>(
        &mut self,
        doing: &'static str,
        work: impl FnOnce(&Transaction, &mut Encoder) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        let RunWriter { path, db, encoder, reserve, place, sync, .. } = self;
        place.as_ref().map_or(Ok(()), |place| place.check(path))?;
        let committed = db.transaction_with_behavior(TransactionBehavior::Immediate).and_then(|tx| {
            let done = work(&tx, encoder)?;
            tx.commit()?;
            Ok(done)
        });
        // The log is there from the first commit on.
        sync.get_or_init(|| LogSync::start(path)).iter().for_each(LogSync::ask);
        committed.map_err(|error| {
            let error = StoreError::sqlite(path, doing, error);
            if matches!(error, StoreError::Full { .. }) {
                *reserve = None; // how the point ended is written into its space
            }
            error
        })
    }
}

/// Writes all of `batch`. Its counters have the numbers of their sources in the point.
pub(crate) fn insert_batch(
    tx: &Transaction,
    encoder: &mut Encoder,
    place: RowPlace,
    batch: &Batch,
) -> rusqlite::Result<()> {
    batch.intervals.iter().try_for_each(|row| insert_interval(tx, encoder, place, row))?;
    batch.counters.iter().try_for_each(|sample| insert_counter(tx, place.point, sample))?;
    batch.events.iter().try_for_each(|event| insert_event(tx, place, event))?;
    batch.stacks.iter().try_for_each(|snapshot| insert_stacks(tx, place, snapshot))?;
    batch.endpoints.iter().try_for_each(|one| insert_endpoint(tx, encoder, place, one))
}

/// The file that is recorded, wherever it is.
struct FilePlace {
    file: File,
    /// Its file system and number.
    id: (u64, u64),
}

impl FilePlace {
    fn of(path: &Path) -> Option<FilePlace> {
        let file = model::open_regular(path).ok()?;
        let id = id_of(&file.metadata().ok()?);
        Some(FilePlace { file, id })
    }

    /// Refuses to go on if `path` does not lead to the file any more: nobody would find what is recorded.
    fn check(&self, path: &Path) -> Result<(), StoreError> {
        match fs::metadata(path) {
            Ok(meta) if id_of(&meta) == self.id => Ok(()),
            Err(error) if !matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Ok(()),
            _ => Err(StoreError::Gone { path: path.to_owned(), now: self.now() }),
        }
    }

    /// Where the file is now; `None` if it was removed.
    fn now(&self) -> Option<PathBuf> {
        let is_there = self.file.metadata().is_ok_and(|meta| meta.nlink() > 0);
        let named = || fs::read_link(format!("/proc/self/fd/{}", self.file.as_raw_fd())).ok();
        is_there.then(named).flatten()
    }
}

fn id_of(meta: &fs::Metadata) -> (u64, u64) {
    (meta.dev(), meta.ino())
}

/// Makes the empty file. SQLite has no way to insist on a new one.
fn make_file(path: &Path) -> Result<(), StoreError> {
    let made = OpenOptions::new().write(true).create_new(true).mode(0o640).open(path);
    match made {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(StoreError::Exists { path: path.to_owned() }),
        Err(error) if is_of_directory(&error) => Err(StoreError::NotCreated { path: path.to_owned(), cause: error }),
        Err(error) => Err(StoreError::io(path, "create the run file", error)),
    }
}

/// Whether another directory may do: this one is not there, or may not be written to.
fn is_of_directory(error: &io::Error) -> bool {
    use io::ErrorKind::{NotADirectory, NotFound, PermissionDenied, ReadOnlyFilesystem};
    matches!(error.kind(), PermissionDenied | ReadOnlyFilesystem | NotFound | NotADirectory)
}

/// Fills the empty file. All of it is in the database itself before the log begins, so that the first page of a run file
/// is marked from the beginning with what it is.
fn open_new(path: &Path, meta: &RunMeta) -> rusqlite::Result<Connection> {
    let mut db =
        Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    let tx = db.transaction()?;
    tx.pragma_update(None, "application_id", APPLICATION_ID)?;
    tx.pragma_update(None, "user_version", FORMAT)?;
    tx.execute_batch(SCHEMA)?;
    insert_meta(&tx, meta)?;
    tx.commit()?;
    set_pragmas(&db)?;
    Ok(db)
}

/// Makes `db` record as the opening of this module describes.
fn set_pragmas(db: &Connection) -> rusqlite::Result<()> {
    db.busy_timeout(BUSY_WAIT)?;
    db.set_prepared_statement_cache_capacity(32);
    // On a file system without shared memory SQLite stays with its rollback journal: slower and as safe.
    db.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(()))?;
    db.pragma_update(None, "synchronous", "NORMAL")?;
    db.pragma_update(None, "cache_size", CACHE_PAGES)?;
    db.pragma_update_and_check(None, "wal_autocheckpoint", LOG_PAGES_MAX, |_| Ok(()))
}

/// One row per field of `meta`.
fn insert_meta(tx: &Transaction, meta: &RunMeta) -> rusqlite::Result<()> {
    let fields: BTreeMap<String, serde_json::Value> =
        serde_json::to_value(meta).and_then(serde_json::from_value).map_err(json_error)?;
    let mut insert = tx.prepare("INSERT INTO meta VALUES (?1, ?2)")?;
    fields.iter().try_for_each(|(key, value)| insert.execute(params![key, value.to_string()]).map(drop))
}

fn insert_point(tx: &Transaction, new: &NewPoint) -> rusqlite::Result<PointId> {
    let NewPoint { trial, facts, .. } = new;
    let mut traits = new.traits.clone();
    traits.learn_all(facts);
    let target = match &trial.target.path {
        Some(path) => path.display().to_string(),
        None => trial.target.engine.clone(),
    };
    let params = trial.target.params.0.iter().chain(&trial.workload.params.0);
    let mut params: BTreeMap<&str, String> = params.map(|(name, value)| (name.as_str(), value.to_string())).collect();
    params.extend(trial.target.programs.as_ref().map(|folder| ("programs", folder.display().to_string())));
    params.extend(trial.target.fs.map(|fs| ("fs", fs.kind.to_string())));
    params.extend(trial.target.limits.named());
    params.extend(trial.target.machine.named());
    let mut insert = prepare_cached(
        tx,
        "INSERT INTO point (state, error, target, workload, clients, depth, repeat, params, trial, facts, traits)
         VALUES (?1, NULL, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
    )?;
    insert.execute(params![
        PointState::Partial.as_str(),
        target,
        trial.workload.name,
        trial.load.clients,
        trial.load.depth,
        trial.repeat,
        to_json(&params)?,
        to_json(trial)?,
        to_json(facts)?,
        to_json(&traits)?,
    ])?;
    Ok(PointId(u32::try_from(tx.last_insert_rowid()).expect("a run has fewer than 2^32 points")))
}

fn insert_kind_def(tx: &Transaction, point: PointId, number: u8, kind: &KindDef) -> rusqlite::Result<()> {
    let mut insert = prepare_cached(tx, "INSERT INTO kind VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)")?;
    let KindDef { name, class, background, queries_per_op, rows_per_op } = kind;
    insert.execute(params![point.0, number, name, to_word(class)?, background, queries_per_op, rows_per_op]).map(drop)
}

fn insert_param(tx: &Transaction, point: PointId, param: &PointParam) -> rusqlite::Result<()> {
    let mut insert = prepare_cached(tx, "INSERT INTO param VALUES (?1, ?2, ?3, ?4, ?5)")?;
    insert.execute(params![point.0, to_word(&param.owner)?, param.name, to_word(&param.role)?, param.used]).map(drop)
}

/// Lets `change` do its work on the traits of `point`.
fn change_traits(tx: &Transaction, point: PointId, change: impl FnOnce(&mut PointTraits)) -> rusqlite::Result<()> {
    let text: Option<String> =
        tx.query_row("SELECT traits FROM point WHERE id = ?1", [point.0], |row| row.get(0)).optional()?;
    let Some(text) = text else { return Ok(()) };
    let mut traits: PointTraits = serde_json::from_str(&text).map_err(json_error)?;
    change(&mut traits);
    tx.execute("UPDATE point SET traits = ?2 WHERE id = ?1", params![point.0, to_json(&traits)?]).map(drop)
}

/// Moves the log into the database. A reader in the way is no error: the rest is moved later.
fn move_log(db: &Connection, mode: &str) -> rusqlite::Result<()> {
    db.pragma_update_and_check(None, "wal_checkpoint", mode, |_| Ok(()))
}

/// Goes back to one file without a log. A reader in the way is no error: the log stays until it has gone.
fn leave_wal(db: &Connection) -> rusqlite::Result<()> {
    match db.pragma_update_and_check(None, "journal_mode", "DELETE", |_| Ok(())) {
        Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) => Ok(()),
        left => left,
    }
}

/// Waits until the file and its name are on disk.
fn sync_with_directory(path: &Path) -> io::Result<()> {
    model::open_regular(path)?.sync_all()?;
    File::open(model::folder_of(path))?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{EventKind, Plan};

    fn empty_run(path: &Path) -> RunWriter {
        let meta = RunMeta {
            run_id: "full".into(),
            started_unix_ms: 0,
            plimsoll_version: "0".into(),
            plan: Plan::new("full", ""),
            environment: Vec::new(),
            machine: Default::default(),
        };
        RunWriter::create(path, &meta).unwrap()
    }

    #[test]
    fn a_full_disk_is_told_from_other_errors_and_keeps_what_was_recorded() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.plimsoll");
        let mut run = empty_run(&path);
        // A limit on pages fails in the same place as a full disk, with the same code.
        run.db.pragma_update_and_check(None, "max_page_count", 30, |_| Ok(())).unwrap();
        run.db.execute_batch("PRAGMA foreign_keys = OFF").unwrap();
        let note = Event::new(Tick(1), EventKind::Engine, "before");
        run.record(PointId(1), &Batch { events: &[note], ..Batch::default() }).unwrap();
        let large = Event::new(Tick(2), EventKind::Engine, "x".repeat(1 << 17));
        let refused = run.record(PointId(1), &Batch { events: &[large], ..Batch::default() }).unwrap_err();
        assert!(matches!(refused, StoreError::Full { .. }), "{refused}");
        let kept: i64 = run.db.query_row("SELECT count(*) FROM event", [], |row| row.get(0)).unwrap();
        assert_eq!(kept, 1);
        run.finish().unwrap();
    }

    #[test]
    fn a_run_that_somebody_reads_while_it_ends_is_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.plimsoll");
        let run = empty_run(&path);
        run.db.busy_timeout(Duration::ZERO).unwrap();
        let reader = Connection::open(&path).unwrap();
        reader.execute_batch("BEGIN; SELECT count(*) FROM meta").unwrap();
        run.db.execute_batch("INSERT INTO meta VALUES ('note', '1')").unwrap();
        run.finish().unwrap();
        let count = "SELECT count(*) FROM meta WHERE key = 'note'";
        let notes: i64 = Connection::open(&path).unwrap().query_row(count, [], |row| row.get(0)).unwrap();
        assert_eq!(notes, 1);
    }
}
