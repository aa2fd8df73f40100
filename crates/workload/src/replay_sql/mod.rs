//! The workload `replay-sql`: the statements of a server's log again, session by session and at their own times, on a copy of its data.
//!
//! In: a log that was read, how fast it is to go, the number of clients. Out: [`SqlOp`]s without calls, each with the text of one statement,
//! the time at which it falls due, and the number of its schema as its only argument.
//! Limits: statements are sent as text, one round trip each. A client has one session after the other; with fewer clients than sessions at
//! once it has several, and then a slow statement holds up those of another session. Errors that the recorded server answered are not in a
//! log, or not told apart: their statements are sent again, and fail again.

mod lines;
mod mysql_log;
mod postgres_log;
mod recording;
mod renaming;
mod skipped;
mod tokens;

pub use recording::{
    KINDS_MAX, LeftOut, OTHERS, RecordedServer, RecordedStatement, STATEMENTS_MAX, SqlRecording, StatementKind,
};
pub use skipped::{Skipped, SkippedKind};
pub use tokens::{StatementEffect, effect_of, fingerprint};

use crate::oltp::custom::keep_name;
use crate::program::{ClientIndex, OpKindDef, OpStream, ProgramInput, SqlProgram, SqlWork};
use crate::recording_error::RecordingError;
use crate::{DataReuse, Workload, WorkloadDef};
use lines::Lines;
use model::{
    Bytes, Entry, Family, Nanos, OpClass, OpKind, ParamDef, ParamKind, ParamRole, Params, SqlArg, SqlOp, Value,
    WorkTraits,
};
use std::io::BufRead;
use std::sync::Arc;

/// `replay-sql`.
pub static REPLAY_SQL: WorkloadDef = WorkloadDef {
    entry: Entry {
        name: "replay-sql",
        spoken: "statements",
        help: "the statements of a server's log again, session by session and at their own times, on a copy of its data",
        families: &[Family::Sql],
        params: &[LOG, LOG_LINE_PREFIX, SPEED, ALLOW_WRITES, SCHEMAS, RECORDED_ON, SAME_SERVER],
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
    help: "log to replay: a slow or general log of MySQL or MariaDB, or PostgreSQL's log in CSV, in JSON or as text",
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

/// Whose log it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogDialect {
    /// Of MySQL or MariaDB.
    #[default]
    Mysql,
    /// Of PostgreSQL.
    Postgres,
}

/// What of a log is replayed, and how.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogWanted {
    /// Whether statements that write are replayed, too.
    pub writes: bool,
    /// The schemas that are called otherwise on the copy: what was recorded, and what the copy has.
    pub renamed: Vec<(String, String)>,
    /// `log_line_prefix` of the PostgreSQL that wrote the log; empty if it is to be found.
    pub log_line_prefix: String,
}

impl LogWanted {
    /// What a trial with these parameters replays.
    ///
    /// # Errors
    /// What is wrong with the names of schemas, in one line.
    pub fn from_params(params: &Params) -> Result<LogWanted, String> {
        let log_line_prefix = params.word(LOG_LINE_PREFIX.name).to_owned();
        Ok(LogWanted { writes: allows_writes(params), renamed: schema_names(params)?, log_line_prefix })
    }
}

/// Reads what is `wanted` of a log, of whichever kind it is.
///
/// # Errors
/// If it is no log, of another version, or cut off, if a statement cannot be parsed, or if it has nothing to replay.
pub fn read_log(reader: impl BufRead, wanted: &LogWanted) -> Result<(LogDialect, SqlRecording), RecordingError> {
    let mut lines = Lines::new(reader);
    let Some(first) = lines.next_line()? else { return Err(RecordingError::of_file("it is empty".to_owned())) };
    lines.put_back();
    if mysql_log::is_first_line(&first) {
        return Ok((LogDialect::Mysql, mysql_log::read(&mut lines, wanted)?));
    }
    if postgres_log::is_first_line(&first, wanted) {
        return Ok((LogDialect::Postgres, postgres_log::read(&mut lines, wanted)?));
    }
    let text = format!(
        "`{}` begins neither a slow or general log of MySQL or MariaDB nor a log of PostgreSQL",
        recording::shown(&first)
    );
    Err(RecordingError::at(1, text))
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
    let ops = input.params.recording().map_or(0, |summary| summary.ops);
    SqlProgram {
        schema: Vec::new(),
        procedures: Vec::new(),
        statements: Vec::new(),
        rows: Vec::new(),
        writes: allows_writes(input.params),
        kinds: vec![OpKindDef::without_rows(OTHERS, OpClass::Read)],
        load: None,
        work: SqlWork::Replay,
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

/// The statements of `recording` for so many `clients`, so many times as fast as they were recorded; without a speed, none has a time.
pub fn statement_stream(recording: Arc<SqlRecording>, clients: u32, speed: Option<f64>) -> OpStream<SqlOp> {
    let lanes = Arc::new(recording.lanes(clients));
    let all = recording.statements().len() as u64;
    let of_lanes = lanes.clone();
    let make = move |slot: ClientIndex| LaneOps {
        recording: recording.clone(),
        lanes: of_lanes.clone(),
        lane: slot.client,
        next: 0,
        speed,
    };
    OpStream::new(Some(all), 1, make).with_ops_by_client(move |slot| lanes[slot.client as usize].len() as u64)
}

/// When a statement falls due that was recorded at `due`.
fn due_at(due: Nanos, speed: Option<f64>) -> Nanos {
    match speed {
        None => Nanos(0),
        // A number of nanoseconds below 2^53, 104 days, is exact.
        Some(speed) => Nanos((due.0 as f64 / speed).round() as u64),
    }
}

/// When all statements fall due, in rising order.
pub fn due_times(recording: &SqlRecording, speed: f64) -> Vec<u64> {
    recording.statements().iter().map(|statement| due_at(statement.due, Some(speed)).0).collect()
}

/// The statements of one client.
struct LaneOps {
    recording: Arc<SqlRecording>,
    lanes: Arc<Vec<Vec<u32>>>,
    lane: u32,
    next: usize,
    speed: Option<f64>,
}

impl Workload<SqlOp> for LaneOps {
    fn fill_ops(&mut self, ops: &mut [SqlOp]) {
        for op in ops {
            op.clear();
            let Some(number) = self.lanes[self.lane as usize].get(self.next) else { continue };
            self.next += 1;
            let statement = &self.recording.statements()[*number as usize];
            op.op_kind = OpKind(statement.kind);
            op.due = due_at(statement.due, self.speed);
            op.text.extend_from_slice(self.recording.text(statement).as_bytes());
            op.args.extend([SqlArg::Int(statement.schema.into()), SqlArg::Int(statement.session.into())]);
        }
    }
}

/// The days from 1970 to a date of the Gregorian calendar (H. Hinnant, "chrono-Compatible Low-Level Date Algorithms", 2013); `None` of no date.
fn days_since_1970(year: i64, month: i64, day: i64) -> Option<i64> {
    ((1..=12).contains(&month) && (1..=31).contains(&day) && (1..=9_999).contains(&year)).then_some(())?;
    let year = if month <= 2 { year - 1 } else { year };
    let (era, year_of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    Some(era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468)
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
        let stream = statement_stream(recording.clone(), 2, Some(2.0));
        let slot = |client| ClientIndex { client, clients: 2 };
        assert_eq!((stream.ops, stream.ops_of(slot(0)), stream.ops_of(slot(1))), (Some(3), Some(2), Some(1)));
        let mut ops = vec![SqlOp::default(); 2];
        (stream.make)(slot(0)).fill_ops(&mut ops);
        let told: Vec<(&[u8], u64)> = ops.iter().map(|op| (&op.text[..], op.due.0 / 1_000_000)).collect();
        assert_eq!(told, [(&b"select 1"[..], 0), (&b"select 3"[..], 1_000)]);
        assert_eq!((ops[0].op_kind, ops[0].args[0]), (OpKind(0), SqlArg::Int(0)));
        assert_eq!(due_times(&recording, 1.0), [0, 500_000_000, 2_000_000_000]);
        let fast = statement_stream(recording.clone(), 1, None);
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
        assert_eq!(days_since_1970(2026, 11, 28), Some(20_785));
        assert_eq!(
            (days_since_1970(1970, 1, 1), days_since_1970(2000, 3, 1), days_since_1970(1, 13, 1)),
            (Some(0), Some(11_017), None)
        );
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
                    prop_assert!(recording.lanes(3).iter().map(Vec::len).sum::<usize>() == recording.statements().len());
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
