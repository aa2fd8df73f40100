//! The workload `replay-sql`: the statements of a server's log again, session by session and at their own times, on a copy of its data.
//!
//! In: a log that was read, which part of it how many times and how fast, the number of clients. Out: [`SqlOp`]s without calls, each with the
//! text of one statement and the ids that it made, the time at which it falls due, and as its arguments the numbers of its schema and its
//! session, its time in the recording, what it was answered there, how many bytes text and ids have, the [`StatementPlace`] of the one that it waits
//! for, whether it is in a transaction, and if it was a call of what was prepared, the number of that and the values. Keys that are named have values of their own in each further copy.
//! Limits: one round trip each. What was prepared is known of a capture and of a log of PostgreSQL; all else is sent as text. A client has one session after the other; with fewer clients than sessions at
//! once it has several, and then a slow statement holds up those of another session. Statements
//! that failed when they were recorded are sent again, too.

mod answer;
mod captured;
mod days;
mod key_mover;
mod keys;
mod lines;
mod log_file;
mod log_taker;
mod mysql_log;
mod part;
mod postgres_log;
mod recording;
mod renaming;
mod skipped;
mod source;
mod spill;
mod wanted;
mod worked_ids;
mod workload_file;

pub use answer::{RecordedAnswer, made_column};
pub use key_mover::{KeyMover, MovingColumn, MovingKey};
pub use keys::{AskedKey, KeyColumn};
pub use log_file::{SavedWorkload, ToSave, content_of_file, read_file, save_file};
pub use log_taker::RecordedServer;
pub use part::{asked_keys, clock_text, copies_of, shift_of, stretch_of, times_of};
pub use recording::{
    Copies, KINDS_MAX, KeptCall, Lanes, LeftOut, MadeCopies, OTHERS, PreparedTemplate, ReadStatement,
    RecordedStatement, RecordingSurvey, STATEMENTS_MAX, SqlRecording, StatementKind, StatementPlace, SurveyedStretch,
    Trigger, Triggers, UsedTable, WithoutSchema,
};
pub use skipped::{Skipped, SkippedKind};
pub use wanted::{LogDialect, LogWanted};
pub use worked_ids::{CountedColumn, FilledBy, WorkedIds, note_routines, note_triggers};
pub use workload_file::{FileContent, TableSize};

use crate::oltp::custom::keep_name;
use crate::program::{ClientIndex, OpKindDef, OpStream, ProgramInput, SqlProgram, SqlWork};
use crate::recording_error::RecordingError;
use crate::{DataReuse, Workload, WorkloadDef};
use key_mover::LaneKeys;
use lines::Lines;
use log_taker::{LogTaker, TakenLog};
use model::{
    Bytes, Entry, Family, Nanos, OpClass, OpKind, ParamDef, ParamKind, ParamRole, Params, SqlArg, SqlOp, Value,
    WorkTraits,
};
use part::{FOR, FROM, KEYS, SHIFT, TIMES_DEF};
use recording::RecordingBuilder;
use std::io::BufRead;
use std::sync::Arc;

pub static REPLAY_SQL: WorkloadDef = WorkloadDef {
    entry: Entry {
        name: "replay-sql",
        spoken: "statements",
        help: "the statements of a server's log again, session by session and at their own times, on a copy of its data",
        families: &[Family::Sql],
        params: &[
            LOG,
            LOG_LINE_PREFIX,
            TIMES_DEF,
            SHIFT,
            KEYS,
            FROM,
            FOR,
            SPEED,
            ALLOW_WRITES,
            CHECK_RESULTS,
            FUNCTIONS,
            SCHEMAS,
            RECORDED_ON,
            SAME_SERVER,
        ],
    },
    traits: |_| WorkTraits::default(),
    data_reuse: |_| DataReuse::Shared,
    // The data is there: nothing is made.
    data_bytes: |_| Bytes(0),
    growth_bytes_per_op: |_| Bytes(0),
    io: None,
    sql: Some(sql_program),
    kv: None,
    task: None,
    connect: None,
    steps_without_kv: &[],
    // What a log has failed before, and a read-only transaction refuses functions that write.
    usual_keys: &[("on_error", "count")],
};

const LOG: ParamDef = ParamDef {
    help: "log to replay, plain or packed by gzip or zstd: a slow or general log of MySQL or MariaDB, PostgreSQL's log in CSV, in JSON or as text, a packet capture; or a workload file",
    ..ParamDef::new("log", ParamRole::Mode, ParamKind::Recording, "")
};
const LOG_LINE_PREFIX: ParamDef = ParamDef {
    help: "setting log_line_prefix of the PostgreSQL that wrote a log as text; those that many servers have are found without it",
    ..ParamDef::new("log_line_prefix", ParamRole::Tuning, ParamKind::Path, "")
};
const SPEED: ParamDef = ParamDef {
    help: "how many times as fast as recorded, or `max` for as fast as it goes: each client sends its next statement when the last is done",
    phrase: model::params::SPEED_PHRASE,
    ..ParamDef::new("speed", ParamRole::Work, ParamKind::Speed, "1")
};
const ALLOW_WRITES: ParamDef = ParamDef {
    help: "replay statements that write, too, and those of transactions and settings; without it only reads, in read-only transactions",
    ..ParamDef::new("allow_writes", ParamRole::Work, ParamKind::Bool, "false")
};
const CHECK_RESULTS: ParamDef = ParamDef {
    help: "sum up the rows that each kind of statement returns, so that `plimsoll compare` can tell what answers differently",
    ..ParamDef::new("check_results", ParamRole::Tuning, ParamKind::Bool, "false")
};
const FUNCTIONS: ParamDef = ParamDef {
    help: "functions that reads may call whatever they do, and views that they may name, as `a+b`; others with effects are left out",
    ..ParamDef::new("functions", ParamRole::Work, ParamKind::Path, "")
};
const SCHEMAS: ParamDef = ParamDef {
    help: "schemas (of PostgreSQL: databases) of the copy that have other names, as `shop=shop_copy+crm=crm_copy`",
    ..ParamDef::new("schemas", ParamRole::Tuning, ParamKind::Path, "")
};
const RECORDED_ON: ParamDef = ParamDef {
    help: "recorded server, as HOST:PORT, which is refused as the server to replay on",
    ..ParamDef::new("recorded_on", ParamRole::Tuning, ParamKind::Path, "")
};
const SAME_SERVER: ParamDef = ParamDef {
    help: "allow a server with the version, the port and the socket that the log has of the recorded one: a copy on another machine",
    ..ParamDef::new("same_server", ParamRole::Tuning, ParamKind::Bool, "false")
};

impl LogWanted {
    /// What a trial with these parameters replays.
    ///
    /// # Errors
    /// What is wrong with the names of schemas or keys, in one line.
    pub fn from_params(params: &Params) -> Result<LogWanted, String> {
        asked_keys(params)?;
        Ok(LogWanted {
            writes: allows_writes(params),
            renamed: schema_names(params)?,
            log_line_prefix: params.word(LOG_LINE_PREFIX.name).to_owned(),
            functions: allowed_functions(params),
        })
    }
}

/// How far the first entry of a log is looked for: its beginning may have been cut off within a statement.
const LINES_BEFORE_MAX: usize = 1_000;

/// Reads what is `wanted` of a log, of whichever kind it is, plain or packed.
///
/// # Errors
/// If it is no log or of another version, if there is no room for its statements, or if it has nothing to replay.
pub fn read_log(reader: impl BufRead + Send, wanted: &LogWanted) -> Result<(LogDialect, SqlRecording), RecordingError> {
    recording_of(take_log(reader, wanted, |dialect| Ok(RecordingBuilder::new(dialect, wanted)))?)
}

fn recording_of(taken: TakenLog<RecordingBuilder>) -> Result<(LogDialect, SqlRecording), RecordingError> {
    let mut recording = taken.taker.finish(taken.has_whole_seconds)?;
    recording.skipped.add_all(&taken.of_lines);
    Ok((taken.dialect, recording))
}

/// Passes a log on to the taker that `make` makes once it is known whose log it is.
fn take_log<T: LogTaker>(
    reader: impl BufRead + Send,
    wanted: &LogWanted,
    make: impl FnOnce(LogDialect) -> Result<T, RecordingError>,
) -> Result<TakenLog<T>, RecordingError> {
    let mut reader = source::unpacked(reader)?;
    let head = reader.fill_buf().map_err(|error| source::unreadable(&error))?;
    if head.first_chunk().is_some_and(|head| capture::is_capture(*head)) {
        return captured::read(reader, make);
    }
    let mut lines = Lines::new(reader);
    let first = lines.peek(1)?.ok_or_else(|| RecordingError::of_file("it is empty".to_owned()))?;
    let first = String::from_utf8_lossy(first).into_owned();
    if first.as_bytes().starts_with(store::untrusted::MAGIC) {
        let text = "it is an SQLite file that is packed or comes through a pipe; unpack it, and name the file";
        return Err(RecordingError::of_file(text));
    }
    let dialect = if !mysql_log::is_first_line(&first) && postgres_log::is_first_line(&first, wanted) {
        LogDialect::Postgres
    } else if has_entry_of_mysql(&mut lines)? {
        LogDialect::Mysql
    } else {
        let text = format!(
            "`{}` begins neither a slow or general log of MySQL or MariaDB nor a log of PostgreSQL nor a packet capture",
            recording::shown(&first)
        );
        return Err(RecordingError::at(1, text));
    };
    let mut taker = make(dialect)?;
    let has_whole_seconds = match dialect {
        LogDialect::Postgres => postgres_log::read(&mut lines, wanted, &mut taker)?,
        LogDialect::Mysql => mysql_log::read(&mut lines, &mut taker)?,
    };
    Ok(TakenLog { dialect, taker, has_whole_seconds, of_lines: lines.skipped })
}

fn has_entry_of_mysql(lines: &mut Lines<impl BufRead>) -> Result<bool, RecordingError> {
    let mut bytes = 0;
    for nth in 1..=LINES_BEFORE_MAX {
        let Some(line) = lines.peek(nth)? else { return Ok(false) };
        bytes += line.len();
        if mysql_log::is_first_line(&String::from_utf8_lossy(line)) {
            return Ok(true);
        }
        if bytes > lines::LINE_BYTES_MAX {
            return Ok(false);
        }
    }
    Ok(false)
}

/// How many times as fast as recorded a trial with these parameters goes; `None` for as fast as it can.
pub fn speed_of(params: &Params) -> Option<f64> {
    match params.get(SPEED.name) {
        Value::Float(speed) => Some(*speed),
        _ => None,
    }
}

/// Whether statements that write are replayed.
pub fn allows_writes(params: &Params) -> bool {
    params.flag(ALLOW_WRITES.name)
}

/// Whether what statements return is summed up.
pub fn checks_results(params: &Params) -> bool {
    params.flag(CHECK_RESULTS.name)
}

/// The functions and views that the user allows reads to name.
pub fn allowed_functions(params: &Params) -> Vec<String> {
    params.word(FUNCTIONS.name).split('+').filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

/// Whether a server may have the version, the port and the socket of the recorded one.
pub fn allows_same_server(params: &Params) -> bool {
    params.flag(SAME_SERVER.name)
}

/// The recorded server as the user named it; empty if it was not named.
pub fn recorded_on(params: &Params) -> &str {
    params.word(RECORDED_ON.name)
}

/// The names of the copy's schemas in place of recorded ones.
///
/// # Errors
/// What is wrong with them, in one line.
pub fn schema_names(params: &Params) -> Result<Vec<(String, String)>, String> {
    let text = params.word(SCHEMAS.name);
    let pairs = text.split('+').filter(|pair| !pair.is_empty());
    let pair = |pair: &str| match pair.split_once('=') {
        Some((old, new)) if !old.is_empty() && !new.is_empty() => Ok((old.to_owned(), new.to_owned())),
        _ => Err(format!("schemas = `{}`: write `RECORDED=COPY`, and `+` between several", recording::shown(text))),
    };
    pairs.map(pair).collect()
}

/// The kinds of a recording.
pub fn kinds_of(recording: &SqlRecording) -> Vec<OpKindDef> {
    recording.kinds().iter().map(|kind| OpKindDef::without_rows(keep_name(&kind.name), kind.class)).collect()
}

fn sql_program(input: &ProgramInput) -> SqlProgram {
    // The statements and their kinds are those of the recording, which the engine reads.
    let ops = input.params.recording().map_or(0, |summary| summary.ops_in(times_of(input.params)));
    SqlProgram {
        schema: Vec::new(),
        procedures: Vec::new(),
        statements: Vec::new(),
        rows: Vec::new(),
        writes: allows_writes(input.params),
        kinds: vec![OpKindDef::without_rows(OTHERS, OpClass::Read)],
        load: None,
        work: SqlWork::Replay,
        needs_answers: false,
        run: OpStream::new(Some(ops), 1, |_| NoStatements),
        background: Vec::new(),
        conditions: Vec::new(),
        found: None,
    }
}

/// Operations without a statement.
struct NoStatements;

impl Workload<SqlOp> for NoStatements {
    fn fill_ops(&mut self, ops: &mut [SqlOp]) {
        ops.iter_mut().for_each(SqlOp::clear);
    }
}

/// The statements of `recording` in `lanes`, one for each client, so many times as fast as they were recorded; without a speed, none has
/// a time. Ids that were `worked` out count as recorded, and the `keys` of copies are moved. An operation without a text is one whose text cannot
/// be read back.
pub fn statement_stream(
    recording: Arc<SqlRecording>,
    lanes: Arc<Lanes>,
    speed: Option<f64>,
    worked: Option<Arc<WorkedIds>>,
    keys: Option<Arc<KeyMover>>,
) -> OpStream<SqlOp> {
    let all = recording.len();
    let of_lanes = lanes.clone();
    let make = move |slot: ClientIndex| LaneOps {
        recording: recording.clone(),
        lanes: of_lanes.clone(),
        lane: slot.client,
        next: 0,
        numbers: Vec::new().into_iter(),
        speed,
        worked: worked.clone(),
        keys: keys.clone().map(LaneKeys::new),
    };
    OpStream::new(Some(all), 1, make).with_ops_by_client(move |slot| lanes.count_of(slot.client))
}

/// When a statement falls due that was recorded at `due`.
fn due_at(due: Nanos, speed: Option<f64>) -> Nanos {
    match speed {
        None => Nanos(0),
        // A number of nanoseconds below 2^53, 104 days, is exact.
        Some(speed) => Nanos((due.0 as f64 / speed).round() as u64),
    }
}

/// How many statements fall due in the first `length` of a replay.
///
/// # Errors
/// If the file that they are kept in cannot be read.
pub fn count_due(recording: &SqlRecording, speed: f64, length: Nanos) -> std::io::Result<u64> {
    recording.count_due(|due| due_at(due, Some(speed)) < length)
}

/// The statements of one client.
struct LaneOps {
    recording: Arc<SqlRecording>,
    lanes: Arc<Lanes>,
    lane: u32,
    /// The place of the number behind `numbers` in the lane.
    next: u64,
    numbers: std::vec::IntoIter<u32>,
    speed: Option<f64>,
    worked: Option<Arc<WorkedIds>>,
    keys: Option<LaneKeys>,
}

impl LaneOps {
    /// The number of the next statement; `None` at the end.
    fn next_number(&mut self) -> std::io::Result<Option<u32>> {
        const AT_ONCE: usize = 1_024;
        if self.numbers.len() == 0 {
            self.numbers = self.lanes.numbers_of(self.lane, self.next, AT_ONCE)?.into_iter();
            self.next += self.numbers.len() as u64;
        }
        Ok(self.numbers.next())
    }

    fn fill(&mut self, op: &mut SqlOp) -> std::io::Result<()> {
        let Some(number) = self.next_number()? else { return Ok(()) };
        let statement = self.recording.statement(number)?;
        op.op_kind = OpKind(statement.kind);
        op.due = due_at(statement.due, self.speed);
        let recorded = [statement.schema.into(), statement.session.into(), statement.due.0 as i64];
        let mut read = self.recording.read_text(&statement, &mut op.text)?;
        if let Some(worked) = &self.worked {
            worked.put(&statement, &mut op.text, &mut read);
        }
        if let Some(keys) = &mut self.keys {
            keys.move_statement(&self.recording, &statement, &mut op.text, &mut read);
        }
        let ReadStatement { answer, made_bytes, call } = read;
        let bytes = [op.text.len() - made_bytes, made_bytes].map(|bytes| SqlArg::Int(bytes as i64));
        let after = statement.after.map_or(SqlArg::Null, StatementPlace::arg);
        let in_order = [after, SqlArg::Int(statement.is_in_transaction.into())];
        op.args.extend(recorded.map(SqlArg::Int).into_iter().chain(answer.args()).chain(bytes).chain(in_order));
        if let Some(call) = call {
            op.args.push(SqlArg::Int(call.template.into()));
            let first = op.args.len();
            call.put_args(&mut op.args, &mut op.text).ok_or(std::io::ErrorKind::InvalidData)?;
            if let Some(keys) = &self.keys {
                keys.move_args(&mut op.args[first..], &mut op.text);
            }
        }
        Ok(())
    }
}

impl Workload<SqlOp> for LaneOps {
    fn fill_ops(&mut self, ops: &mut [SqlOp]) {
        for op in ops {
            op.clear();
            if self.fill(op).is_err() {
                op.text.clear();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const GENERAL: &str = "261128  3:16:29\t     4 Query\tselect 1\n\t\t     5 Query\tselect 2 from t\n261128  3:16:31\t     4 Query\tselect 3\n";

    #[test]
    fn each_client_has_the_statements_of_its_sessions_at_their_times() {
        let (dialect, recording) = read_log(GENERAL.as_bytes(), &LogWanted::default()).unwrap();
        assert_eq!(dialect, LogDialect::Mysql);
        let recording = Arc::new(recording);
        let lanes = |clients| Arc::new(recording.lanes(clients).unwrap());
        let stream = statement_stream(recording.clone(), lanes(2), Some(2.0), None, None);
        let slot = |client| ClientIndex { client, clients: 2 };
        assert_eq!((stream.ops, stream.ops_of(slot(0)), stream.ops_of(slot(1))), (Some(3), Some(2), Some(1)));
        let mut ops = vec![SqlOp::default(); 2];
        (stream.make)(slot(0)).fill_ops(&mut ops);
        let told: Vec<(&[u8], u64)> = ops.iter().map(|op| (&op.text[..], op.due.0 / 1_000_000)).collect();
        assert_eq!(told, [(&b"select 1"[..], 0), (&b"select 3"[..], 1_000)]);
        assert_eq!((ops[0].op_kind, ops[0].args[0]), (OpKind(0), SqlArg::Int(0)));
        let due = [0, 1, 500_000_000, 500_000_001, 2_000_000_001]
            .map(|within| count_due(&recording, 1.0, Nanos(within)).unwrap());
        assert_eq!(due, [0, 1, 1, 2, 3]);
        let fast = statement_stream(recording.clone(), lanes(1), None, None, None);
        let mut ops = vec![SqlOp::default(); 4];
        (fast.make)(ClientIndex { client: 0, clients: 1 }).fill_ops(&mut ops);
        assert!(ops.iter().all(|op| op.due == Nanos(0)) && ops[3].text.is_empty());
        assert_eq!(
            kinds_of(&recording).iter().map(|kind| kind.name).collect::<Vec<_>>(),
            ["select ?", "select ? from t"]
        );
    }

    #[test]
    fn what_is_no_log_is_refused() {
        let refused = |text: &str| read_log(text.as_bytes(), &LogWanted::default()).unwrap_err().to_string();
        assert_eq!(refused(""), "it is empty");
        assert!(refused("hello\n").starts_with("line 1: `hello` begins neither a slow or general log"));
    }

    #[test]
    fn names_of_schemas_are_pairs() {
        let mut params = Params(Default::default());
        let mut read = |text: &str| {
            params.0.insert("schemas".into(), model::Value::Word(text.into()));
            schema_names(&params)
        };
        assert_eq!(read("a=b+c=d").unwrap(), [("a".into(), "b".into()), ("c".into(), "d".into())]);
        assert_eq!((read("").unwrap().len(), read("a").is_err(), read("=b").is_err()), (0, true, true));
    }

    proptest! {
        #[test]
        fn no_bytes_are_too_strange(bytes: Vec<u8>, head in 0usize..8) {
            let heads = [
                "", "x started with:\n", "# Time: 261128  3:16:29\n", "261128  3:16:29\t     4 Query\t", "2026-11-28 03:16:35.480 UTC,",
                "2026-11-28 03:16:35.480 UTC [5] LOG:  statement: ", "{\"timestamp\":", "Nov 29 15:47:05 db1 postgres[7]: [1-1] LOG:  ",
            ];
            let text = [heads[head].as_bytes(), &bytes[..], &b"\n"[..]].concat();
            for writes in [false, true] {
                if let Ok((_, recording)) = read_log(&text[..], &LogWanted { writes, ..LogWanted::default() }) {
                    let lanes = recording.lanes(3).unwrap();
                    prop_assert!((0..3).map(|lane| lanes.count_of(lane)).sum::<u64>() == recording.len());
                }
            }
        }

        #[test]
        fn a_log_that_was_changed_anywhere_is_read_or_refused(at in 0usize..1_000, byte: u8, cut in 0usize..1_000) {
            let log = [GENERAL, "# Time: 261128  3:16:29\n# Thread_id: 4  Schema: a  QC_hit: No\n# Query_time: 0.3  Lock_time: 0\nuse a;\nSET timestamp=1795835789;\nselect 1;\n"].concat();
            let mut bytes = log.into_bytes();
            let places = bytes.len();
            bytes[at % places] = byte;
            bytes.truncate(places - cut % places);
            let _ = read_log(&bytes[..], &LogWanted { writes: true, ..LogWanted::default() });
        }
    }
}
