//! Writes a workload file while a log is read.
//!
//! In: what the log holds, in its order. Out: a file that is complete, or none: it is written under another name next to its own, and gets that at the
//! end. Limits: in memory are a number for each of the first [`TEMPLATES_MAX`] templates and for each session that is open; a template that comes
//! later is written again each time.

use super::hashing::ValueHasher;
use super::template::Parts;
use super::{
    APPLICATION_ID, FAILED_UNBOUND, FORMAT, FileContent, FileDigest, HeadRow, KeptStatement, LOADS, NAME_BYTES_MAX,
    OWN_QUESTIONS, SCHEMA, STATEMENT_BYTES_MAX, US_MAX,
};
use crate::recording_error::RecordingError;
use crate::replay_sql::answer::RecordedAnswer;
use crate::replay_sql::log_file::SavedWorkload;
use crate::replay_sql::log_taker::{FoundStatement, LogTaker, RecordedServer, TakenLog};
use crate::replay_sql::recording::{Clock, OPEN_QUOTE, SCHEMAS_MAX, STATEMENTS_MAX, tables_in, without_end};
use crate::replay_sql::skipped::{Skipped, SkippedKind};
use crate::replay_sql::wanted::LogDialect;
use rusqlite::{CachedStatement, Connection, ErrorCode, params};
use sql::{BoundParam, Effect, Judge, Reading, Token};
use std::collections::{BTreeSet, HashMap};
use std::fs::File;
use std::hash::{BuildHasher, RandomState};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// Templates that are known again.
const TEMPLATES_MAX: usize = 100_000;
/// Tables whose sizes are kept.
const TABLES_MAX: usize = 10_000;
/// 8 MB of pages: rows are appended, so old ones are never needed again.
const CACHE_KIB: i32 = -8_192;
/// Statements between two looks at whether to go on.
const BETWEEN_LOOKS: u64 = 1_024;

const TOO_LONG: &str = "statement of more than 16 MiB";
const NOT_HASHED: &str = "statement whose values nothing replaces";

/// The place of a file that is to be made.
pub struct Place {
    path: PathBuf,
    unfinished: NamedTempFile,
}

impl Place {
    /// Of a file at `path`, which is not there yet.
    pub fn new(path: &Path) -> Result<Place, RecordingError> {
        if path.symlink_metadata().is_ok() {
            return Err(exists(path));
        }
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let unfinished = tempfile::Builder::new()
            .prefix(&format!(".{name}."))
            .suffix(".part")
            .tempfile_in(model::folder_of(path))
            .map_err(|error| not_written(path, &error))?;
        Ok(Place { path: path.to_owned(), unfinished })
    }

    /// Gives the file its name.
    fn finish(self) -> Result<(), RecordingError> {
        let Place { path, unfinished } = self;
        let failed = |error: std::io::Error| not_written(&path, &error);
        unfinished.as_file().sync_all().map_err(failed)?;
        match unfinished.into_temp_path().persist_noclobber(&path) {
            Ok(()) => {}
            Err(error) if error.error.kind() == std::io::ErrorKind::AlreadyExists => return Err(exists(&path)),
            Err(error) => return Err(failed(error.error)),
        }
        File::open(model::folder_of(&path)).and_then(|folder| folder.sync_all()).map_err(failed)
    }
}

fn exists(path: &Path) -> RecordingError {
    RecordingError::of_file(format!(
        "it cannot be saved as `{}`, which exists and is never overwritten; choose another name, or move it",
        path.display()
    ))
}

fn not_written(path: &Path, error: &std::io::Error) -> RecordingError {
    let remedy = match error.kind() {
        ErrorKind::NotFound | ErrorKind::NotADirectory => "make the directory first, or choose another",
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => "choose a directory in which you may write",
        _ => FREE_ROOM,
    };
    not_saved(path, &model::system_words(error), remedy)
}

const FREE_ROOM: &str = "free some room, or choose another directory";

fn not_saved(path: &Path, why: &str, remedy: &str) -> RecordingError {
    RecordingError::of_file(format!("it cannot be saved as `{}`: {why}; {remedy}", path.display()))
}

/// How a file is written.
pub struct Writing<'a> {
    /// Whether values are replaced by others.
    pub hash_values: bool,
    /// The first and the last moment of which statements are taken, in microseconds since 1970.
    pub part: Option<(i64, i64)>,
    /// Whether to give up.
    pub is_stopped: &'a dyn Fn() -> bool,
}

pub struct WorkloadWriter<'a> {
    /// Closed before the file is removed: fields drop in order.
    db: Connection,
    place: Place,
    dialect: LogDialect,
    judge: Judge,
    hasher: Option<ValueHasher>,
    /// Whether the log has other values than were recorded.
    was_hashed: bool,
    writing: &'a Writing<'a>,
    clock: Clock,
    hashes: RandomState,
    /// The sessions that may go on.
    sessions: HashMap<u64, OpenSession>,
    /// The numbers of templates and of schemas.
    templates: HashMap<u64, i64>,
    schemas: HashMap<String, i64>,
    tables: BTreeSet<String>,
    counts: Counts,
    /// Statements that were found, those that are left out among them.
    seen: u64,
    server: RecordedServer,
    skipped: Skipped,
    digest: FileDigest,
}

/// A session that may go on.
struct OpenSession {
    number: i64,
    /// Whether its last statement is in the file: an error is not that of the one before.
    has_last: bool,
}

#[derive(Clone, Copy, Default)]
struct Counts {
    statements: u64,
    sessions: i64,
    templates: i64,
    unbound: u64,
    repeated: u64,
    own: u64,
    loads: u64,
    failed_unbound: u64,
}

impl<'a> WorkloadWriter<'a> {
    /// One for a log in `dialect`.
    pub fn new(
        place: Place,
        dialect: LogDialect,
        writing: &'a Writing<'a>,
    ) -> Result<WorkloadWriter<'a>, RecordingError> {
        let db = open_new(place.unfinished.path()).map_err(|error| refused(&place.path, &error))?;
        Ok(WorkloadWriter {
            db,
            place,
            dialect,
            judge: Judge::new(dialect.sql()),
            hasher: if writing.hash_values { Some(ValueHasher::new(dialect.sql())?) } else { None },
            was_hashed: false,
            writing,
            clock: Clock::default(),
            hashes: RandomState::default(),
            sessions: HashMap::new(),
            templates: HashMap::new(),
            schemas: HashMap::new(),
            tables: BTreeSet::new(),
            counts: Counts::default(),
            seen: 0,
            server: RecordedServer::default(),
            skipped: Skipped::default(),
            digest: FileDigest::default(),
        })
    }

    /// The tables that statements name.
    pub fn tables(&self) -> &BTreeSet<String> {
        &self.tables
    }

    /// Adds what a server that was asked has said of itself.
    pub fn add_content(&self, content: &FileContent) -> Result<(), RecordingError> {
        let added = || -> rusqlite::Result<()> {
            let mut setting = self.db.prepare("INSERT OR IGNORE INTO setting VALUES (?1, ?2)")?;
            content.settings.iter().try_for_each(|(name, value)| setting.execute(params![name, value]).map(drop))?;
            let mut size = self.db.prepare("INSERT OR IGNORE INTO table_size VALUES (?1, ?2, ?3)")?;
            content.tables.iter().try_for_each(|it| size.execute(params![it.name, it.rows, it.bytes]).map(drop))
        };
        added().map_err(|error| refused(&self.place.path, &error))
    }

    fn push(&mut self, found: &FoundStatement<'_>, text: &str, tokens: &[Token]) -> Result<(), RecordingError> {
        let params = found.params.map(written_params);
        let parts = Parts::of(text, tokens);
        let values = serde_json::to_string(&parts.values).expect("texts are written as JSON");
        if values.len() > 2 * STATEMENT_BYTES_MAX {
            self.skip(TOO_LONG, found.line);
            return Ok(());
        }
        let Some(schema) = self.schema_number(found)? else { return Ok(()) };
        let session = self.number_with_last(found.session);
        let template = match self.templates.get(&self.hashes.hash_one((&parts.template, &params))) {
            Some(number) => *number,
            None => self.add_template((&parts.template, params.as_ref()), text, tokens)?,
        };
        let line = i64::try_from(found.line).unwrap_or(i64::MAX);
        let took_us = found.took_us.map(|took| i64::try_from(took).unwrap_or(i64::MAX));
        // Of other values there are other rows and ids.
        let (answer, made) =
            if self.hasher.is_some() { (RecordedAnswer::default(), "") } else { (storable(found.answer), found.made) };
        let kept = KeptStatement { line, session, schema, began_us: found.began_us, took_us, answer };
        self.digest.add(&kept, found.schema, text, made, params.as_deref());
        self.counts.statements += 1;
        let KeptStatement { began_us, .. } = kept;
        let number = self.counts.statements as i64;
        let RecordedAnswer { failed, sent, affected, made_id, last_id, .. } = answer;
        let [sent, affected, made_id, last_id] = [sent, affected, made_id, last_id].map(|it| it.map(|it| it as i64));
        const INSERT: &str =
            "INSERT INTO statement VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)";
        self.insert(INSERT, |insert| {
            let numbers = params![
                number,
                line,
                session,
                schema,
                began_us,
                took_us,
                template,
                values,
                failed,
                sent,
                affected,
                made_id,
                last_id,
                (!made.is_empty()).then_some(made)
            ];
            insert.execute(numbers)
        })
    }

    fn insert(
        &self,
        sql: &str,
        work: impl FnOnce(&mut CachedStatement) -> rusqlite::Result<usize>,
    ) -> Result<(), RecordingError> {
        let done = self.db.prepare_cached(sql).and_then(|mut insert| work(&mut insert));
        done.map(drop).map_err(|error| refused(&self.place.path, &error))
    }

    fn add_template(
        &mut self,
        template: (&String, Option<&String>),
        text: &str,
        tokens: &[Token],
    ) -> Result<i64, RecordingError> {
        self.counts.templates += 1;
        let number = self.counts.templates;
        if self.templates.len() < TEMPLATES_MAX {
            self.templates.insert(self.hashes.hash_one(template), number);
        }
        if self.tables.len() < TABLES_MAX {
            self.tables.extend(tables_in(text, tokens));
        }
        let shape = sql::shape_of(text, tokens);
        self.insert("INSERT INTO template VALUES (?1, ?2, ?3, ?4)", |insert| {
            insert.execute(params![number, shape, template.0, template.1])
        })?;
        Ok(number)
    }

    /// The number of the session `name`, whose last statement is in the file from now on.
    fn number_with_last(&mut self, name: &str) -> i64 {
        let number = self.counts.sessions + 1;
        let open = self.sessions.entry(self.hashes.hash_one(name)).or_insert(OpenSession { number, has_last: true });
        open.has_last = true;
        self.counts.sessions = self.counts.sessions.max(open.number);
        open.number
    }

    /// The number of the schema of a statement; `None` if its name is none.
    fn schema_number(&mut self, found: &FoundStatement<'_>) -> Result<Option<i64>, RecordingError> {
        if let Some(number) = self.schemas.get(found.schema) {
            return Ok(Some(*number));
        }
        if found.schema.len() > NAME_BYTES_MAX {
            self.skip("schema with a name of more than 8 KiB", found.line);
            return Ok(None);
        }
        if self.schemas.len() == SCHEMAS_MAX {
            let text = format!("its statements are in more than {SCHEMAS_MAX} schemas; save a part of it");
            return Err(RecordingError::at(found.line, text));
        }
        let number = self.schemas.len() as i64;
        self.schemas.insert(found.schema.to_owned(), number);
        let name = found.schema;
        self.insert("INSERT INTO schema_name VALUES (?1, ?2)", |insert| insert.execute(params![number, name]))?;
        Ok(Some(number))
    }

    fn push_end(&self, session: i64, ended_us: Option<i64>, has_failed: bool) -> Result<(), RecordingError> {
        let after = self.counts.statements as i64;
        self.insert("INSERT INTO session_end (after, session, ended_us, failed) VALUES (?1, ?2, ?3, ?4)", |insert| {
            insert.execute(params![after, session, ended_us, has_failed])
        })
    }

    /// Whether the statement is of the part that is saved. The clock goes on with all of them.
    fn is_in_part(&mut self, found: &FoundStatement<'_>) -> bool {
        let Some((first, last)) = self.writing.part else { return true };
        self.clock.advance(found.began_us.saturating_add_unsigned(found.took_us.unwrap_or(0)));
        (first..=last).contains(&self.clock.shifted(found.began_us))
    }

    pub fn finish(taken: TakenLog<WorkloadWriter<'_>>) -> Result<SavedWorkload, RecordingError> {
        let TakenLog { mut taker, has_whole_seconds, of_lines, .. } = taken;
        taker.skipped.add_all(&of_lines);
        if taker.counts.statements == 0 {
            let skipped: Vec<String> = taker.skipped.kinds().map(|(name, kind)| format!("{name} ({kind})")).collect();
            let skipped = if skipped.is_empty() { String::new() } else { format!("; skipped: {}", skipped.join(", ")) };
            let place = if taker.writing.part.is_some() { " in this part" } else { "" };
            return Err(RecordingError::of_file(format!("it has no statement to save{place}{skipped}")));
        }
        let Counts { statements, sessions, unbound, repeated, own, loads, failed_unbound, .. } = taker.counts;
        let counted = [(OWN_QUESTIONS, own), (LOADS, loads), (FAILED_UNBOUND, failed_unbound)];
        let counted = counted.into_iter().filter(|(_, count)| *count > 0);
        let counted = counted.map(|(name, count)| (name, SkippedKind { count, first_line: 0 }));
        for (name, kind) in taker.skipped.kinds().chain(counted) {
            taker.insert("INSERT INTO skipped VALUES (?1, ?2, ?3)", |insert| {
                insert.execute(params![name, kind.count as i64, kind.first_line as i64])
            })?;
        }
        let RecordedServer { version, port, socket } = &taker.server;
        let hashed = taker.hasher.is_some() || taker.was_hashed;
        let family = taker.dialect.family_word();
        let digest = std::mem::take(&mut taker.digest).finish(&HeadRow {
            dialect: taker.dialect,
            server: &taker.server,
            has_whole_seconds,
            is_hashed: hashed,
            counts: [statements, sessions as u64, unbound, repeated],
            plimsoll_version: env!("CARGO_PKG_VERSION"),
        });
        taker.insert("INSERT INTO workload VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)", |insert| {
            insert.execute(params![
                family,
                version,
                port,
                socket,
                has_whole_seconds,
                hashed,
                statements as i64,
                sessions,
                unbound as i64,
                repeated as i64,
                digest,
                env!("CARGO_PKG_VERSION")
            ])
        })?;
        let WorkloadWriter { db, place, skipped, .. } = taker;
        let closed = db.execute_batch("COMMIT").and_then(|()| db.close().map_err(|(_, error)| error));
        closed.map_err(|error| refused(&place.path, &error))?;
        place.finish()?;
        Ok(SavedWorkload { statements, sessions: sessions as u64, skipped: skipped.total() })
    }
}

impl LogTaker for WorkloadWriter<'_> {
    fn set_server(&mut self, server: RecordedServer) {
        self.server = server;
    }

    fn note_hashed(&mut self) {
        self.was_hashed = true;
    }

    fn note_each_once(&mut self) {
        self.judge.take_each_once();
    }

    fn skip_many(&mut self, kind: &str, count: u64, line: u64) {
        // The words of a command may be a value.
        let is_command = kind.starts_with("command ") || kind.starts_with("command_");
        let kind = if self.hasher.is_some() && is_command { "command" } else { kind };
        self.skipped.add_many(kind, count, line);
    }

    fn keep(&mut self, found: &FoundStatement<'_>) -> Result<(), RecordingError> {
        if self.seen.is_multiple_of(BETWEEN_LOOKS) && (self.writing.is_stopped)() {
            return Err(RecordingError::of_file("it was not saved: you ended it".to_owned()));
        }
        self.seen += 1;
        self.forget_last_of(found.session);
        let text = without_end(found.text);
        let Ok(lexed) = sql::lex(text, Reading::usual(self.dialect.sql())) else {
            self.skip(OPEN_QUOTE, found.line);
            return Ok(());
        };
        let is_repeated = self.judge.judge_lexed(text, &lexed).effect == Effect::Repeated;
        let is_load = is_repeated && found.loads_rows(text, &lexed.tokens, self.dialect);
        if is_repeated && !is_load {
            self.counts.repeated += 1;
            return Ok(());
        }
        if !self.is_in_part(found) {
            return Ok(());
        }
        if is_load {
            self.count_loads(1);
            return Ok(());
        }
        let is_of_time = found.began_us.abs() < US_MAX && found.took_us.is_none_or(|took| took < US_MAX as u64);
        if text.len() > STATEMENT_BYTES_MAX || !is_of_time {
            self.skip(if is_of_time { TOO_LONG } else { "time or duration that cannot be" }, found.line);
            return Ok(());
        }
        if self.counts.statements >= STATEMENTS_MAX {
            let text = format!("there are more than {STATEMENTS_MAX} statements; save a part of it");
            return Err(RecordingError::at(found.line, text));
        }
        match self.hasher.as_ref().map(|hasher| hasher.hashed(text, &lexed)) {
            None => self.push(found, text, &lexed.tokens),
            Some(Some((hashed, again))) => {
                // Other values stand where the values stood.
                let params = found.params.filter(|_| again.tokens.len() == lexed.tokens.len());
                self.push(&FoundStatement { params, ..*found }, &hashed, &again.tokens)
            }
            Some(None) => {
                self.skip(NOT_HASHED, found.line);
                Ok(())
            }
        }
    }

    fn forget_last_of(&mut self, session: &str) {
        if let Some(open) = self.sessions.get_mut(&self.hashes.hash_one(session)) {
            open.has_last = false;
        }
    }

    fn count_own(&mut self, many: u64) {
        self.counts.own += many;
    }

    fn count_unbound(&mut self, many: u64) {
        self.counts.unbound += many;
    }

    fn count_failed_unbound(&mut self, many: u64) {
        self.counts.failed_unbound += many;
    }

    fn count_repeated(&mut self, many: u64) {
        self.counts.repeated += many;
    }

    fn count_loads(&mut self, many: u64) {
        self.counts.loads += many;
    }

    fn fail_load(&mut self) {
        self.counts.loads = self.counts.loads.saturating_sub(1);
        self.counts.repeated += 1;
    }

    fn end_last_of(&mut self, session: &str, end_us: i64, has_failed: bool) -> Result<(), RecordingError> {
        match self.sessions.get(&self.hashes.hash_one(session)) {
            Some(open) if end_us.abs() < US_MAX => {
                // Of other values there are other answers.
                let is_kept = open.has_last && self.hasher.is_none();
                self.push_end(open.number, Some(end_us), has_failed && is_kept)
            }
            _ => Ok(()),
        }
    }

    fn end_session(&mut self, session: &str) -> Result<(), RecordingError> {
        match self.sessions.remove(&self.hashes.hash_one(session)) {
            Some(open) => self.push_end(open.number, None, false),
            None => Ok(()),
        }
    }
}

/// Where values stand, as JSON.
fn written_params(params: &[BoundParam]) -> String {
    let numbers = params.iter().map(|it| (it.number, it.tokens.start, it.tokens.end)).collect::<Vec<_>>();
    serde_json::to_string(&numbers).expect("numbers are written as JSON")
}

/// `answer` without numbers that a column cannot hold.
fn storable(answer: RecordedAnswer) -> RecordedAnswer {
    let fits = |number: &u64| i64::try_from(*number).is_ok();
    let RecordedAnswer { sent, affected, made_id, last_id, .. } = answer;
    let [sent, affected, made_id, last_id] = [sent, affected, made_id, last_id].map(|number| number.filter(fits));
    RecordedAnswer { sent, affected, made_id, last_id, ..answer }
}

/// Fills the empty file at `path`. Nobody reads it before it is whole, so nothing of it need be undone.
fn open_new(path: &Path) -> rusqlite::Result<Connection> {
    let db = Connection::open(path)?;
    db.set_prepared_statement_cache_capacity(16);
    db.pragma_update_and_check(None, "journal_mode", "OFF", |_| Ok(()))?;
    db.pragma_update(None, "synchronous", "OFF")?;
    db.pragma_update(None, "foreign_keys", "OFF")?;
    db.pragma_update(None, "cache_size", CACHE_KIB)?;
    db.pragma_update(None, "application_id", APPLICATION_ID)?;
    db.pragma_update(None, "user_version", FORMAT)?;
    db.execute_batch(SCHEMA)?;
    db.execute_batch("BEGIN")?;
    Ok(db)
}

fn refused(path: &Path, error: &rusqlite::Error) -> RecordingError {
    match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => not_saved(path, "no space left on its disk", FREE_ROOM),
        _ => not_saved(path, &model::system_error::without_number(&error.to_string()), FREE_ROOM),
    }
}
