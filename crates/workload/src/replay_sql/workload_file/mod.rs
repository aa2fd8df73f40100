//! The workload file: a log as one file that can be taken along.
//!
//! In: a log, a capture or another workload file. Out: a SQLite file, and out of that what its log had: whoever takes up the one takes up the same as of the
//! other, in the same order, so that a replay is the same. The format is `schema.sql`. Limits: statements of up to 16 MiB; commands to the server
//! itself and what no replay would send are counted and not kept. Files come from strangers: nothing in one is believed.

mod hashing;
mod reader;
mod template;
mod writer;

pub use reader::{FileContent, TableSize};
pub(super) use reader::{read_content, take_workload};
pub(super) use writer::{Place, WorkloadWriter, Writing};

use super::answer::RecordedAnswer;
use super::log_taker::RecordedServer;
use super::wanted::LogDialect;

/// The number of the format, kept as SQLite's `user_version`. A change of the format is a new number.
const FORMAT: u32 = 3;
/// Marks a SQLite file as a workload file: "PLWK".
const APPLICATION_ID: u32 = 0x504C_574B;
const SCHEMA: &str = include_str!("schema.sql");
/// A longer statement is not kept.
const STATEMENT_BYTES_MAX: usize = 16 << 20;
/// A longer name of a schema is none.
const NAME_BYTES_MAX: usize = 8 << 10;
/// Under what kind of what was skipped the questions of plimsoll itself are counted.
const OWN_QUESTIONS: &str = "question_of_plimsoll_itself";
/// Under what kind statements are counted that stored rows which the log does not have.
const LOADS: &str = "load_of_rows_that_the_log_lacks";
/// Under what kind it is counted how many of those without their values have failed.
const FAILED_UNBOUND: &str = "failure_whose_values_the_log_lacks";
/// No time and no duration of a log is beyond: more than thirty thousand years.
const US_MAX: i64 = 1 << 60;

/// The digest of all statements, as it grows from one to the next, and at the end of the row of `workload`: family, port and the like decide which
/// server is replayed on, and how.
#[derive(Default)]
struct FileDigest(sha2::Sha256);

/// The row of `workload` without its digest.
struct HeadRow<'a> {
    dialect: LogDialect,
    server: &'a RecordedServer,
    has_whole_seconds: bool,
    is_hashed: bool,
    /// Statements, sessions, and those that were left out as unbound and as repeated.
    counts: [u64; 4],
    plimsoll_version: &'a str,
}

/// A statement as it is kept.
#[derive(Clone, Copy)]
struct KeptStatement {
    line: i64,
    session: i64,
    schema: i64,
    began_us: i64,
    took_us: Option<i64>,
    answer: RecordedAnswer,
}

impl FileDigest {
    fn add(&mut self, kept: &KeptStatement, schema_name: &str, text: &str, made: &str, params: Option<&str>) {
        use sha2::Digest as _;
        let KeptStatement { line, session, schema, began_us, took_us, answer } = *kept;
        let lengths = [schema_name.len() as i64, text.len() as i64];
        let numbers = [line, session, schema, began_us, took_us.unwrap_or(-1)].into_iter().chain(lengths);
        let mut bytes: Vec<u8> = numbers.flat_map(i64::to_le_bytes).collect();
        answer.put_behind(&mut bytes, made);
        self.0.update(bytes);
        self.0.update(schema_name);
        self.0.update(text);
        self.0.update(params.unwrap_or_default());
    }

    fn finish(mut self, head: &HeadRow) -> String {
        use sha2::Digest as _;
        let HeadRow { dialect, server, has_whole_seconds, is_hashed, counts, plimsoll_version } = *head;
        let port = server.port.map_or(0, u64::from);
        let numbers = counts.into_iter().chain([port, u64::from(has_whole_seconds), u64::from(is_hashed)]);
        self.0.update(numbers.flat_map(u64::to_le_bytes).collect::<Vec<u8>>());
        let socket = server.socket.as_deref().unwrap_or_default();
        for text in [dialect.family_word(), &server.version, socket, plimsoll_version] {
            self.0.update((text.len() as u64).to_le_bytes());
            self.0.update(text);
        }
        self.0.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
    }
}
