//! The load of data into an SQL engine: blocks of rows, which each engine takes in its own fastest way.
//!
//! In: how to connect for a load, blocks as operations ([`workload::SqlLoad::Rows`]). Out: clients that add each block as one transaction.
//! Limits: nothing is retried. Tables have no secondary index and no foreign key while they are filled, and no two loaders add the same key,
//! so nothing conflicts; what fails is a failure of the load.

use super::client_tally::ClientTally;
use super::{OpFailure, OpNames};
use crate::engine::WorkloadClients;
use load::{Driver, SyncClient};
use model::{Fact, LoadPart, OpKind, Outcome, SqlArg, SqlOp};
use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use workload::{OpKindDef, OpStream};

/// How loaders connect to one engine, for rows of a list of targets.
pub trait BulkConnect: Clone + Send + 'static {
    type Connection: BulkConnection;
    /// The engine, for messages.
    fn server_name(&self) -> String;
    /// The statement by which rows went in, for people, if there is another one for servers that refuse it.
    fn way(&self) -> Option<&'static str> {
        None
    }
    fn connect(&self) -> Result<Self::Connection, OpFailure>;
}

/// A connection that takes rows.
pub trait BulkConnection: Send + 'static {
    /// Adds `rows` to target number `target`: all of them, or none. Outside of a transaction they are one of their own.
    fn add_rows(&mut self, target: usize, rows: BlockRows<'_>) -> Result<(), OpFailure>;
    /// Runs `BEGIN` or `COMMIT`.
    fn run_text(&mut self, text: &str) -> Result<(), OpFailure>;
}

/// Rows of one target.
#[derive(Clone, Copy, Debug)]
pub struct BlockRows<'a> {
    /// The values of all rows, one row after the other.
    pub values: &'a [SqlArg],
    /// How many values a row has, at least 1.
    pub width: usize,
    /// The bytes of all texts, to which values refer.
    pub text: &'a [u8],
}

impl<'a> BlockRows<'a> {
    /// Rows of `values`, whose texts are in `text`.
    pub fn new(values: &'a [SqlArg], width: usize, text: &'a [u8]) -> BlockRows<'a> {
        BlockRows { values, width, text }
    }

    /// The same rows in parts of at most `count` rows.
    pub fn parts(&self, count: usize) -> impl Iterator<Item = BlockRows<'a>> {
        let (width, text) = (self.width, self.text);
        self.values.chunks(count * width).map(move |values| BlockRows { values, width, text })
    }

    /// How many rows there are.
    pub fn count(&self) -> usize {
        self.values.len() / self.width
    }

    /// The values of each row.
    pub fn rows(&self) -> impl Iterator<Item = &'a [SqlArg]> {
        self.values.chunks_exact(self.width)
    }

    /// The bytes of the text from `start` on.
    pub fn text(&self, start: u32, len: u32) -> &'a [u8] {
        &self.text[start as usize..][..len as usize]
    }

    /// Appends the rows as lines: values between tabs, NULL as `\N`, and a backslash before what would be read as something else. `COPY` of
    /// PostgreSQL and `LOAD DATA` of MySQL read this without any option.
    /// (<https://www.postgresql.org/docs/current/sql-copy.html>, <https://dev.mysql.com/doc/refman/8.4/en/load-data.html>)
    pub fn write_lines(&self, out: &mut Vec<u8>) {
        for row in self.rows() {
            for (nth, value) in row.iter().enumerate() {
                if nth > 0 {
                    out.push(b'\t');
                }
                self.write_value(value, out);
            }
            out.push(b'\n');
        }
    }

    #[inline]
    fn write_value(&self, value: &SqlArg, out: &mut Vec<u8>) {
        match *value {
            SqlArg::Int(value) => write!(out, "{value}").expect("memory takes all"),
            SqlArg::Float(value) => write!(out, "{value}").expect("memory takes all"),
            SqlArg::Text { start, len } => push_escaped(self.text(start, len), out),
            SqlArg::Null => out.extend_from_slice(b"\\N"),
            SqlArg::Kept(_) => unreachable!("a load keeps no values"),
        }
    }
}

fn push_escaped(text: &[u8], out: &mut Vec<u8>) {
    // Without an end before the last byte it is done for many bytes at once, and most texts have none of these.
    let is_plain = !text.iter().fold(false, |found, byte| found | (*byte <= b'\r') | (*byte == b'\\'));
    if is_plain {
        return out.extend_from_slice(text);
    }
    let mut rest = text;
    while let Some(at) = rest.iter().position(|byte| matches!(byte, b'\\' | b'\t' | b'\n' | b'\r')) {
        out.extend_from_slice(&rest[..at]);
        let letter = match rest[at] {
            b'\t' => b't',
            b'\n' => b'n',
            b'\r' => b'r',
            other => other,
        };
        out.extend_from_slice(&[b'\\', letter]);
        rest = &rest[at + 1..];
    }
    out.extend_from_slice(rest);
}

/// The facts of indexes that took `seconds`, those of each table its own; none if there were none.
pub fn index_facts(seconds: f64, tables: Vec<(String, f64)>) -> Vec<Fact> {
    let all = (!tables.is_empty()).then(|| Fact::new("load.index_s", format!("{seconds:.3}")));
    let each = tables.into_iter();
    let each = each.map(|(table, seconds)| Fact::new(format!("load.index_s.{table}"), format!("{seconds:.3}")));
    all.into_iter().chain(each).collect()
}

/// The `loaders` of this host, a part of all, that add the blocks of `stream` and count lost connections in `tally`.
pub fn bulk_clients<C: BulkConnect>(
    stream: &OpStream<SqlOp>,
    kinds: &[OpKindDef],
    loaders: LoadPart,
    connect: &C,
    tally: &Arc<ClientTally>,
) -> WorkloadClients {
    let names = OpNames::new(kinds);
    WorkloadClients::new(kinds, stream, &[], loaders, |source, _| {
        let (connect, names, tally) = (connect.clone(), names.clone(), tally.clone());
        let driver = BulkDriver { connect, names, tally, connection: None, failure: None };
        Box::new(SyncClient::new(source, driver))
    })
}

struct BulkDriver<C: BulkConnect> {
    connect: C,
    names: OpNames,
    tally: Arc<ClientTally>,
    /// Opened on the loader's own thread.
    connection: Option<C::Connection>,
    /// The last, with the kind of its operation.
    failure: Option<(OpKind, OpFailure)>,
}

impl<C: BulkConnect> BulkDriver<C> {
    /// Adds the rows of `block`; their bytes.
    fn add_block(&mut self, block: &SqlOp) -> Result<usize, OpFailure> {
        let connection = self.connection.as_mut().expect("opened before the first operation");
        let parts = || block.calls.chunk_by(|one, other| one.statement == other.statement);
        let is_transaction = parts().nth(1).is_some();
        if is_transaction {
            connection.run_text("BEGIN")?;
        }
        let mut values = &block.args[..];
        for calls in parts() {
            let width = usize::from(calls[0].args);
            let (mine, rest) = values.split_at(width * calls.len());
            values = rest;
            connection.add_rows(calls[0].statement.into(), BlockRows::new(mine, width, &block.text))?;
        }
        if is_transaction {
            connection.run_text("COMMIT")?;
        }
        Ok(block.text.len() + block.args.iter().filter(|value| matches!(value, SqlArg::Int(_))).count() * 8)
    }
}

impl<C: BulkConnect> Driver for BulkDriver<C> {
    type Op = SqlOp;

    fn open(&mut self) -> Result<(), String> {
        let opened = self.connect.connect();
        self.connection = Some(opened.map_err(|failure| failure.of_opening(&self.connect.server_name()))?);
        Ok(())
    }

    fn execute_op(&mut self, op: &SqlOp) -> Outcome {
        match self.add_block(op) {
            Ok(bytes) => Outcome::Ok { bytes: bytes as u32 },
            Err(failure) => {
                let class = failure.class;
                self.tally.lost.fetch_add(u64::from(class.is_of_connection()), Relaxed);
                self.failure = Some((op.op_kind, failure));
                Outcome::Failed(class)
            }
        }
    }

    fn describe_failure(&self) -> String {
        let server = self.connect.server_name();
        self.failure.as_ref().map_or_else(String::new, |(op, failure)| self.names.describe(&server, *op, failure))
    }
}
