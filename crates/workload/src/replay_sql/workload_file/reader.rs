//! Reads a workload file, which may come from a stranger.
//!
//! In: a path. Out: what the log had, for a [`LogTaker`], in its order; and what the file says of itself. Limits: one statement is in memory at a time.
//! Whatever is not as a writer would have it ends the reading.

use super::template::put_together;
use super::{
    APPLICATION_ID, FAILED_UNBOUND, FORMAT, FileDigest, HeadRow, KeptStatement, LOADS, NAME_BYTES_MAX, OWN_QUESTIONS,
    SCHEMA, STATEMENT_BYTES_MAX, US_MAX,
};
use crate::recording_error::RecordingError;
use crate::replay_sql::answer::RecordedAnswer;
use crate::replay_sql::log_taker::{FoundStatement, LogTaker, RecordedServer, TakenLog};
use crate::replay_sql::recording::{SCHEMAS_MAX, STATEMENTS_MAX, shown};
use crate::replay_sql::skipped::Skipped;
use crate::replay_sql::source::unreadable;
use crate::replay_sql::wanted::LogDialect;
use rusqlite::{Connection, OpenFlags, Row, Rows};
use sql::BoundParam;
use std::io::Read;
use std::path::Path;
use store::untrusted::{self, HEADER_BYTES, MAGIC};

/// What was left out cannot be more.
const COUNT_MAX: i64 = 1 << 48;
/// Kinds, settings and tables that are read; a writer writes fewer.
const ROWS_MAX: u32 = 100_000;
/// A server has some hundred settings.
const SETTINGS_MAX: u32 = 5_000;

/// What a workload file says of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileContent {
    /// Whether its values were replaced by others.
    pub is_hashed: bool,
    /// Settings of the server that was asked for them, by name.
    pub settings: Vec<(String, String)>,
    /// Tables that statements name.
    pub tables: Vec<TableSize>,
}

/// How large a table is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TableSize {
    /// Its name, as statements write it.
    pub name: String,
    /// Its rows, by the statistics of the server.
    pub rows: Option<i64>,
    /// Its bytes, with those of its indexes.
    pub bytes: Option<i64>,
}

/// Why a file cannot be read any further.
enum ReadFault {
    Sql(rusqlite::Error),
    Wrong(String),
    Taker(RecordingError),
}

impl From<rusqlite::Error> for ReadFault {
    fn from(error: rusqlite::Error) -> ReadFault {
        ReadFault::Sql(error)
    }
}

impl From<RecordingError> for ReadFault {
    fn from(error: RecordingError) -> ReadFault {
        ReadFault::Taker(error)
    }
}

impl From<ReadFault> for RecordingError {
    fn from(fault: ReadFault) -> RecordingError {
        let what = match fault {
            ReadFault::Taker(error) => return error,
            ReadFault::Wrong(what) => what,
            // It may name what a stranger has put there.
            ReadFault::Sql(error) => shown(&error.to_string()),
        };
        RecordingError::of_file(format!("the workload file is damaged: {what}; copy it again from where it was saved"))
    }
}

fn wrong<T>(what: impl Into<String>) -> Result<T, ReadFault> {
    Err(ReadFault::Wrong(what.into()))
}

/// What the row of `workload` has.
struct Head {
    dialect: LogDialect,
    server: RecordedServer,
    has_whole_seconds: bool,
    is_hashed: bool,
    statements: u64,
    sessions: u64,
    unbound: u64,
    repeated: u64,
    digest: String,
    plimsoll_version: String,
}

impl Head {
    fn row(&self) -> HeadRow<'_> {
        HeadRow {
            dialect: self.dialect,
            server: &self.server,
            has_whole_seconds: self.has_whole_seconds,
            is_hashed: self.is_hashed,
            counts: [self.statements, self.sessions, self.unbound, self.repeated],
            plimsoll_version: &self.plimsoll_version,
        }
    }
}

/// Passes the file at `path` on to the taker that `make` makes once it is known whose statements it has.
pub fn take_workload<T: LogTaker>(
    path: &Path,
    make: impl FnOnce(LogDialect) -> Result<T, RecordingError>,
) -> Result<TakenLog<T>, RecordingError> {
    let db = open(path)?;
    let head = head_of(&db)?;
    let mut taker = make(head.dialect)?;
    taker.set_server(head.server.clone());
    // What others repeat was left out when it was saved.
    taker.note_each_once();
    if head.is_hashed {
        taker.note_hashed();
    }
    pass_on(&db, &head, &mut taker)?;
    taker.count_unbound(head.unbound);
    taker.count_repeated(head.repeated);
    for (kind, count, line) in skipped_of(&db)? {
        match kind.as_str() {
            OWN_QUESTIONS => taker.count_own(count),
            LOADS => taker.count_loads(count),
            FAILED_UNBOUND => taker.count_failed_unbound(count),
            kind => taker.skip_many(kind, count, line),
        }
    }
    let has_whole_seconds = head.has_whole_seconds;
    Ok(TakenLog { dialect: head.dialect, taker, has_whole_seconds, of_lines: Skipped::default() })
}

/// What the file at `path` says of itself.
///
/// # Errors
/// If it is no workload file, or is damaged.
pub fn read_content(path: &Path) -> Result<FileContent, RecordingError> {
    Ok(content_of(&open(path)?)?)
}

/// Opens the file at `path`, if it is what it should be.
fn open(path: &Path) -> Result<Connection, RecordingError> {
    let mut file = model::open_regular(path).map_err(|error| unreadable(&error))?;
    let mut header = Vec::new();
    let read = (&mut file).take(HEADER_BYTES as u64).read_to_end(&mut header).and_then(|_| file.metadata());
    let there = read.map_err(|error| unreadable(&error))?.len();
    check_header(&header, there)?;
    let db = untrusted::open_database(path, OpenFlags::SQLITE_OPEN_READ_ONLY)
        .and_then(|db| untrusted::harden(&db).map(|()| db))
        .map_err(ReadFault::Sql)?;
    check_tables(&db)?;
    Ok(db)
}

/// Looks at the header of a file of so many bytes before SQLite does.
fn check_header(header: &[u8], there: u64) -> Result<(), RecordingError> {
    let refuse = |why: &str| Err(RecordingError::of_file(why.to_owned()));
    if header.len() < HEADER_BYTES || !header.starts_with(MAGIC) {
        return refuse("it is cut off: it has no more than the beginning of an SQLite file; copy it again");
    }
    if untrusted::application_id(header) == store::APPLICATION_ID {
        return refuse("it is the file of a run, and no log or workload file; `plimsoll show` shows it");
    }
    if untrusted::application_id(header) != APPLICATION_ID {
        return refuse("it is an SQLite database of another program, and no log or workload file; name one of these");
    }
    match untrusted::format_number(header) {
        FORMAT => {}
        0 => return Ok(wrong("its format number is 0")?),
        format => {
            let remedy = if format < FORMAT {
                "save it again from its log, or use the plimsoll that saved it"
            } else {
                "use the plimsoll that saved it, or a newer one"
            };
            return Err(RecordingError::of_file(format!(
                "it has the workload file format {format}, and this plimsoll reads format {FORMAT}; {remedy}"
            )));
        }
    }
    if untrusted::in_wal_mode(header) {
        return refuse(
            "another program keeps its changes in a log beside it; execute `PRAGMA journal_mode = DELETE` on it, or save it again",
        );
    }
    let told = untrusted::told_bytes(header);
    if there < told {
        return Err(RecordingError::of_file(format!(
            "it is cut off: {there} of {told} bytes are there; copy it again"
        )));
    }
    Ok(())
}

/// Insists that the tables are tables and have the columns of the format, so that no query here runs SQL of a stranger.
fn check_tables(db: &Connection) -> Result<(), ReadFault> {
    let found = untrusted::table_definitions(db)?;
    for (name, sql) in untrusted::tables_of(SCHEMA)? {
        match found.get(&name) {
            Some(own) if *own == sql => {}
            Some(_) => return wrong(format!("its table `{name}` does not match format {FORMAT}")),
            None => return wrong(format!("its table `{name}` is missing")),
        }
    }
    Ok(())
}

/// A number from 0 to `most`.
fn count_cell(row: &Row, column: usize, most: i64) -> Result<u64, ReadFault> {
    match row.get(column)? {
        count if (0..=most).contains(&count) => Ok(count as u64),
        count => wrong(format!("there is {count} where only numbers from 0 to {most} can be")),
    }
}

fn flag_cell(row: &Row, column: usize) -> Result<bool, ReadFault> {
    Ok(count_cell(row, column, 1)? == 1)
}

fn name_cell(row: &Row, column: usize) -> Result<String, ReadFault> {
    match row.get_ref(column)?.as_str() {
        Ok(name) if name.len() <= NAME_BYTES_MAX => Ok(name.to_owned()),
        Ok(name) => wrong(format!("a name has {} bytes, and at most {NAME_BYTES_MAX} are read", name.len())),
        Err(error) => wrong(format!("a name is no text: {error}")),
    }
}

/// A time in microseconds, or a number as large.
fn us_cell(row: &Row, column: usize) -> Result<i64, ReadFault> {
    match row.get::<_, i64>(column)? {
        us if us > -US_MAX && us < US_MAX => Ok(us),
        us => wrong(format!("{us} us is no time of a log")),
    }
}

fn head_of(db: &Connection) -> Result<Head, ReadFault> {
    const HEAD: &str = "SELECT family, version, port, socket, whole_seconds, hashed, statements, unbound, repeated, digest, \
        sessions, plimsoll_version FROM workload LIMIT 1";
    let mut query = db.prepare(HEAD)?;
    let mut rows = query.query([])?;
    let Some(row) = rows.next()? else { return wrong("its table `workload` is empty") };
    let family = name_cell(row, 0)?;
    let Some(dialect) = LogDialect::of_family(&family) else {
        return wrong(format!("it is of `{}`, which is no kind of server", shown(&family)));
    };
    let port = row.get::<_, Option<i64>>(2)?.map(u16::try_from).transpose();
    let socket = row.get::<_, Option<String>>(3)?.filter(|socket| socket.len() <= NAME_BYTES_MAX);
    Ok(Head {
        dialect,
        server: RecordedServer {
            version: name_cell(row, 1)?,
            port: port.map_err(|_| ReadFault::Wrong("its port is none".to_owned()))?,
            socket,
        },
        has_whole_seconds: flag_cell(row, 4)?,
        is_hashed: flag_cell(row, 5)?,
        statements: count_cell(row, 6, STATEMENTS_MAX as i64)?,
        unbound: count_cell(row, 7, COUNT_MAX)?,
        repeated: count_cell(row, 8, COUNT_MAX)?,
        digest: name_cell(row, 9)?,
        sessions: count_cell(row, 10, i64::MAX)?,
        plimsoll_version: name_cell(row, 11)?,
    })
}

fn schemas_of(db: &Connection) -> Result<Vec<String>, ReadFault> {
    let mut query = db.prepare("SELECT id, name FROM schema_name ORDER BY id")?;
    let mut rows = query.query([])?;
    let mut names = Vec::new();
    while let Some(row) = rows.next()? {
        if names.len() >= SCHEMAS_MAX || count_cell(row, 0, i64::MAX)? != names.len() as u64 {
            return wrong("the numbers of its schemas are not 0, 1, 2 ...");
        }
        names.push(name_cell(row, 1)?);
    }
    Ok(names)
}

/// All statements, and what was said of the ends of sessions behind each.
fn pass_on(db: &Connection, head: &Head, taker: &mut impl LogTaker) -> Result<(), ReadFault> {
    // A statement whose template is missing must be seen.
    const STATEMENTS: &str = "SELECT s.id, s.line, s.session, s.schema, s.began_us, s.took_us, t.text, s.vals,
        s.failed, s.sent, s.affected, s.made_id, s.last_id, s.made, t.params
        FROM statement s LEFT JOIN template t ON t.id = s.template ORDER BY s.id";
    let schemas = schemas_of(db)?;
    let mut ends_query = db.prepare("SELECT id, after, session, ended_us, failed FROM session_end ORDER BY id")?;
    let mut ends = SessionEnds { rows: ends_query.query([])?, last: 0, next: None };
    ends.read()?;
    let mut query = db.prepare(STATEMENTS)?;
    let mut rows = query.query([])?;
    let (mut digest, mut text, mut count) = (FileDigest::default(), String::new(), 0);
    while let Some(row) = rows.next()? {
        ends.pass_on(count, taker)?;
        count += 1;
        // A page that is used twice would make rows without end.
        if count_cell(row, 0, STATEMENTS_MAX as i64)? != count || count > head.statements {
            return wrong("the numbers of its statements are not 1, 2, 3 ... to their end");
        }
        let kept = statement_in(row, &mut text)?;
        let Some(schema) = usize::try_from(kept.schema).ok().and_then(|number| schemas.get(number)) else {
            return wrong(format!("statement {count} is in schema {}, which is not there", kept.schema));
        };
        let (made, params) = (optional_text(row, 13)?, optional_text(row, 14)?);
        let bound = params.map(|params| params_in(params, count)).transpose()?;
        let made = made.unwrap_or_default();
        digest.add(&kept, schema, &text, made, params);
        taker.add(&FoundStatement {
            line: kept.line as u64,
            began_us: kept.began_us,
            took_us: kept.took_us.map(|took| took as u64),
            session: &kept.session.to_string(),
            schema,
            text: &text,
            answer: kept.answer,
            made,
            params: bound.as_deref(),
        })?;
    }
    ends.pass_on(count, taker)?;
    if count != head.statements {
        return wrong(format!("{count} of {} statements are there", head.statements));
    }
    if digest.finish(&head.row()) != head.digest {
        return wrong("what it says is not what was saved");
    }
    Ok(())
}

/// A statement; its text goes to `text`.
fn statement_in(row: &Row, text: &mut String) -> Result<KeptStatement, ReadFault> {
    let number = count_cell(row, 0, i64::MAX)?;
    let [template, values] = [6, 7].map(|column| row.get_ref(column).map(|cell| cell.as_str()));
    let (Ok(template), Ok(values)) = (template?, values?) else {
        return wrong(format!("statement {number} has no template"));
    };
    if let Err(error) = put_together(template, values, text) {
        return wrong(format!("the values of statement {number}: {}", shown(&error.to_string())));
    }
    if text.len() > STATEMENT_BYTES_MAX {
        return wrong(format!("statement {number} has more than {STATEMENT_BYTES_MAX} bytes"));
    }
    let took_us = row.get::<_, Option<i64>>(5)?;
    if took_us.is_some_and(|took| !(0..US_MAX).contains(&took)) {
        return wrong(format!("statement {number} took a time that cannot be"));
    }
    let [line, session, schema] =
        [count_cell(row, 1, i64::MAX)?, count_cell(row, 2, i64::MAX)?, count_cell(row, 3, i64::MAX)?];
    let began_us = us_cell(row, 4)?;
    let (line, session, schema) = (line as i64, session as i64, schema as i64);
    Ok(KeptStatement { line, session, schema, began_us, took_us, answer: answer_in(row)? })
}

/// The ids that a statement made, or where its values stand.
fn optional_text<'a>(row: &'a Row, column: usize) -> Result<Option<&'a str>, ReadFault> {
    match row.get_ref(column)?.as_str_or_null() {
        Ok(text) if text.is_none_or(|text| text.len() <= STATEMENT_BYTES_MAX) => Ok(text),
        _ => wrong("what belongs to a statement is no text, or too long"),
    }
}

/// Where the values of statement `number` stand. Whoever takes it up looks whether it has such tokens.
fn params_in(json: &str, number: u64) -> Result<Vec<BoundParam>, ReadFault> {
    match serde_json::from_str::<Vec<(u16, usize, usize)>>(json) {
        Ok(params) => {
            Ok(params.into_iter().map(|(number, start, end)| BoundParam { number, tokens: start..end }).collect())
        }
        Err(_) => wrong(format!("where the values of statement {number} stand is no list of numbers")),
    }
}

fn answer_in(row: &Row) -> Result<RecordedAnswer, ReadFault> {
    let number = |column: usize| -> Result<Option<u64>, ReadFault> {
        row.get::<_, Option<i64>>(column)?.map(|_| count_cell(row, column, i64::MAX)).transpose()
    };
    let failed = row.get::<_, Option<i64>>(8)?.map(|_| flag_cell(row, 8)).transpose()?;
    let (sent, affected, made_id, last_id) = (number(9)?, number(10)?, number(11)?, number(12)?);
    Ok(RecordedAnswer { failed, sent, affected, made_id, last_id, ..RecordedAnswer::default() })
}

/// The rows of `session_end`, one ahead.
struct SessionEnds<'a> {
    rows: Rows<'a>,
    /// The number of the last one.
    last: i64,
    next: Option<SessionEnd>,
}

struct SessionEnd {
    after: u64,
    session: u64,
    ended_us: Option<i64>,
    has_failed: bool,
}

impl SessionEnds<'_> {
    fn read(&mut self) -> Result<(), ReadFault> {
        self.next = match self.rows.next()? {
            None => None,
            Some(row) => {
                let id = row.get(0)?;
                if id <= self.last {
                    return wrong("the rows of its table `session_end` are not in order");
                }
                self.last = id;
                let ended_us = row.get::<_, Option<i64>>(3)?.map(|_| us_cell(row, 3)).transpose()?;
                Some(SessionEnd {
                    after: count_cell(row, 1, i64::MAX)?,
                    session: count_cell(row, 2, i64::MAX)?,
                    ended_us,
                    has_failed: flag_cell(row, 4)?,
                })
            }
        };
        Ok(())
    }

    /// Passes on what was said behind statement `number`.
    fn pass_on(&mut self, number: u64, taker: &mut impl LogTaker) -> Result<(), ReadFault> {
        while let Some(SessionEnd { session, ended_us, has_failed, .. }) =
            self.next.take_if(|next| next.after <= number)
        {
            let session = session.to_string();
            match ended_us {
                Some(ended_us) => taker.end_last_of(&session, ended_us, has_failed)?,
                None => taker.end_session(&session)?,
            }
            self.read()?;
        }
        Ok(())
    }
}

/// The kinds of what was skipped, with their counts and first lines.
fn skipped_of(db: &Connection) -> Result<Vec<(String, u64, u64)>, ReadFault> {
    let mut query = db.prepare("SELECT kind, count, first_line FROM skipped ORDER BY kind LIMIT ?1")?;
    let mut rows = query.query([ROWS_MAX])?;
    let mut kinds = Vec::new();
    while let Some(row) = rows.next()? {
        kinds.push((name_cell(row, 0)?, count_cell(row, 1, COUNT_MAX)?, count_cell(row, 2, i64::MAX)?));
    }
    Ok(kinds)
}

fn content_of(db: &Connection) -> Result<FileContent, ReadFault> {
    let is_hashed = head_of(db)?.is_hashed;
    let mut content = FileContent { is_hashed, ..FileContent::default() };
    let mut query = db.prepare("SELECT name, value FROM setting ORDER BY name LIMIT ?1")?;
    let mut rows = query.query([SETTINGS_MAX])?;
    while let Some(row) = rows.next()? {
        content.settings.push((name_cell(row, 0)?, name_cell(row, 1)?));
    }
    let mut query = db.prepare("SELECT name, rows, bytes FROM table_size ORDER BY bytes DESC, name LIMIT ?1")?;
    let mut rows = query.query([ROWS_MAX])?;
    while let Some(row) = rows.next()? {
        let (rows, bytes) = (row.get(1)?, row.get(2)?);
        content.tables.push(TableSize { name: name_cell(row, 0)?, rows, bytes });
    }
    Ok(content)
}
