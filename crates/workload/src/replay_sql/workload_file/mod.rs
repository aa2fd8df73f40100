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

/// The number of the format, kept as SQLite's `user_version`. A change of the format is a new number.
const FORMAT: u32 = 2;
/// Marks a SQLite file as a workload file: "PLWK".
const APPLICATION_ID: u32 = 0x504C_574B;
const SCHEMA: &str = include_str!("schema.sql");
/// A longer statement is not kept.
const STATEMENT_BYTES_MAX: usize = 16 << 20;
/// A longer name of a schema is none.
const NAME_BYTES_MAX: usize = 8 << 10;
/// No time and no duration of a log is beyond: more than thirty thousand years.
const US_MAX: i64 = 1 << 60;

/// The digest of all statements, as it grows from one to the next.
#[derive(Default)]
struct FileDigest(sha2::Sha256);

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
    fn add(&mut self, kept: &KeptStatement, text: &str, made: &str, params: Option<&str>) {
        use sha2::Digest as _;
        let KeptStatement { line, session, schema, began_us, took_us, answer } = *kept;
        let numbers = [line, session, schema, began_us, took_us.unwrap_or(-1), text.len() as i64];
        let mut bytes: Vec<u8> = numbers.into_iter().flat_map(i64::to_le_bytes).collect();
        answer.put_behind(&mut bytes, made);
        self.0.update(bytes);
        self.0.update(text);
        self.0.update(params.unwrap_or_default());
    }

    fn finish(self) -> String {
        use sha2::Digest as _;
        self.0.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
    }
}
