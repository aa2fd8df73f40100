//! What a capture becomes: statements, ends of sessions, and counts of what was skipped.

use std::fmt;
use std::net::SocketAddr;

/// The most bytes that the text of a statement, or its values, may have. A longer one is counted as too long.
pub const STATEMENT_BYTES_MAX: usize = 64 << 20;

/// Whose protocol it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// Of MySQL or MariaDB.
    Mysql,
    Postgres,
}

/// A connection of a client. Its text is one that no other session of the capture has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Session {
    /// Its number, in the order in which the capture has the connections.
    pub number: u64,
    pub client: SocketAddr,
    pub server: SocketAddr,
    /// When its first packet was captured, in microseconds since 1970.
    pub began_us: i64,
}

impl fmt::Display for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}.{:06}", self.client, self.began_us.div_euclid(1_000_000), self.began_us.rem_euclid(1_000_000))
    }
}

/// Why the values of a statement are not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnknownValues {
    /// The capture began after the client had told their types.
    TypesNotSeen,
    /// One has a type whose binary form is not known.
    UnknownType,
    /// They are not of the form that the protocol says.
    Malformed,
    /// They are those of many executions (`COM_STMT_BULK_EXECUTE` of MariaDB).
    Bulk,
}

/// What the placeholders of a statement stand for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Values {
    /// One literal of the dialect for each `?` or `$n`, in order; empty for a statement without placeholders.
    Known(Vec<String>),
    /// There are some, and they are not known.
    Unknown(UnknownValues),
}

/// What an answer shows of rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AnswerCounts {
    /// Rows that were returned.
    pub sent: u64,
    /// Rows that were changed, in the words of the server.
    pub affected: u64,
    /// The id that the server made for the first row that it inserted (MySQL and MariaDB); 0 for none.
    pub made_id: u64,
    /// The first number that it returned of a column for which the server makes ids (MySQL and MariaDB), as `INSERT .. RETURNING` does; 0 for none.
    pub returned_id: u64,
}

/// The values of one column, in the order of the rows that an INSERT returned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MadeIds {
    /// The name of the column in these rows.
    pub column: String,
    /// Integers or UUIDs, as text.
    pub ids: Vec<String>,
}

/// One statement, as a client sent it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CapturedStatement {
    /// When its packet was captured, in microseconds since 1970.
    pub began_us: i64,
    /// From then to the last packet of its answer before the next request; `None` if no answer was captured.
    pub took_us: Option<u64>,
    pub session: Session,
    pub dialect: Dialect,
    /// The schema (of PostgreSQL: the database) that was in force; empty for none, or if the capture began after it was chosen.
    pub schema: String,
    /// Its text, with placeholders if it was prepared.
    pub text: String,
    /// What they stand for.
    pub values: Values,
    /// Whether it was prepared for more than one execution: under a name (PostgreSQL), or it was executed before (MySQL).
    pub stays_prepared: bool,
    /// Whether the server answered an error.
    pub failed: bool,
    /// The rows of its answer; `None` if that was an error, or was not captured completely.
    pub counts: Option<AnswerCounts>,
    /// What an INSERT of PostgreSQL returned of the rows that it made.
    pub made: Option<MadeIds>,
}

/// What [`crate::read_capture`] gives to its caller, in the order of ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CaptureEvent {
    Statement(CapturedStatement),
    /// A session had its last packet.
    SessionEnded {
        session: Session,
        /// When, in microseconds since 1970.
        at_us: i64,
    },
}

/// What was not made a statement; `SKIPPED` describes each count.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Skipped {
    pub encrypted_connections: u64,
    pub compressed_connections: u64,
    pub other_connections: u64,
    pub forgotten_connections: u64,
    /// Those of which only what the client sent was captured.
    pub unanswered_connections: u64,
    pub cut_statements: u64,
    pub too_long_statements: u64,
    pub not_utf8_statements: u64,
    /// Those that were given out with bytes of which nobody knows the character set.
    pub taken_for_latin1: u64,
    pub unprepared_executions: u64,
    pub unknown_values: u64,
    pub not_run_statements: u64,
    pub rolled_back_statements: u64,
    pub unknown_commands: u64,
    pub cut_answers: u64,
    pub gaps: u64,
    pub lost_bytes: u64,
    pub other_packets: u64,
    pub fragments: u64,
}

/// A count of [`Skipped`], what it counts, and what helps.
type SkippedCount = (fn(&Skipped) -> u64, &'static str, &'static str);

const SKIPPED: [SkippedCount; 19] = [
    (
        |s| s.encrypted_connections,
        "connections that are encrypted",
        "capture with TLS off (`sslmode=disable`, `--skip-ssl`), or take the server's log",
    ),
    (|s| s.compressed_connections, "connections that are compressed", "capture with the client's compression off"),
    (
        |s| s.other_connections,
        "connections neither of MySQL or MariaDB nor of PostgreSQL",
        "or with too little of them to tell",
    ),
    (|s| s.forgotten_connections, "connections that were silent for longest when there were too many", ""),
    (|s| s.unanswered_connections, "connections without what the server sent", "capture both directions"),
    (|s| s.cut_statements, "statements that are cut", "capture with `-s0`, and with a larger buffer (`-B 65536`)"),
    (|s| s.too_long_statements, "statements of more than 64 MiB", ""),
    (|s| s.not_utf8_statements, "statements that are not UTF-8", ""),
    (|s| s.taken_for_latin1, "statements taken for latin1", ""),
    (|s| s.unprepared_executions, "executions of statements that were prepared before the capture began", ""),
    (|s| s.unknown_values, "statements with values that are not known", ""),
    (|s| s.not_run_statements, "statements after an error in their pipeline, which the server did not run", ""),
    (|s| s.rolled_back_statements, "statements of pipelines that failed, which the server rolled back", ""),
    (|s| s.unknown_commands, "commands that are not known", ""),
    (|s| s.cut_answers, "answers that are cut", "their ends and errors may be missing"),
    (|s| s.gaps, "gaps in the captured streams", "capture with a larger buffer (`-B 65536`)"),
    (|s| s.lost_bytes, "bytes that are missing in them", ""),
    (|s| s.other_packets, "packets not of TCP, or without an address", ""),
    (|s| s.fragments, "packets that are fragments", ""),
];

impl Skipped {
    /// What was skipped and how often, without what was not, and what helps; empty if nothing does.
    pub fn counts(&self) -> impl Iterator<Item = (u64, &'static str, &'static str)> {
        SKIPPED.iter().map(|(count, what, help)| (count(self), *what, *help)).filter(|(count, ..)| *count > 0)
    }

    /// A line for each: what, how many, and what helps.
    pub fn sentences(&self) -> Vec<String> {
        let line = |(count, what, help): (u64, &str, &str)| match help {
            "" => format!("{what}: {count}"),
            help => format!("{what}: {count} ({help})"),
        };
        self.counts().map(line).collect()
    }
}

/// What a capture had besides its statements.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CaptureSummary {
    pub packets: u64,
    /// Statements that were given out.
    pub statements: u64,
    /// Sessions of MySQL or MariaDB.
    pub mysql_sessions: u64,
    pub postgres_sessions: u64,
    /// The version and the address of the server that greeted a client last; `None` if no handshake was captured.
    pub server: Option<(String, SocketAddr)>,
    /// Whether the file ends within a packet.
    pub is_cut: bool,
    pub skipped: Skipped,
}
