//! Commits that insert rows, and delete as many of the oldest if the tables are to keep their size.
//!
//! In: the rows, how many of them in how many commits. Out: sources of operations, one commit each, dealt to the tables of a
//! client in turn. Limits: client c of n works on the tables c, c + n, c + 2n and so on; with more clients than tables,
//! several work on one. Clients of one table take commits from one count, so that all work until the last row is in. With several
//! tables each client has an equal share, so that all tables grow alike even if one is served faster, and the clients end one after
//! the other. Deletes are of ids that were dealt out. If a table has hardly more rows than are on their way, a delete may come before
//! its row, which then stays.

use super::dealing::DealtCommits;
use super::rows::PurchaseData;
use super::statements::{PurchaseStatement, ROWS_PER_STATEMENT, StepStatements};
use crate::Workload;
use crate::program::{ClientIndex, OpKindDef, OpStream, call_with_ints};
use model::{KvOp, LoadPart, Op, OpClass, OpKind, SqlCall, SqlOp};
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

/// What a step inserts, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Commits {
    /// Over all clients and tables; `None` if only time ends it.
    rows: Option<u64>,
    /// In each commit but the last.
    pub(super) per_commit: u64,
    /// Whether each commit deletes as many.
    pub(super) delete: bool,
}

impl Commits {
    /// `rows` rows, `per_commit` at a time; `None` for rows without end.
    pub(super) fn new(rows: Option<u64>, per_commit: u64, delete: bool) -> Commits {
        Commits { rows, per_commit: rows.map_or(per_commit, |rows| per_commit.min(rows.max(1))), delete }
    }

    /// How many there are; `None` if they never end.
    pub(super) fn op_count(self) -> Option<u64> {
        self.rows.map(|rows| rows.div_ceil(self.per_commit))
    }

    /// The mean rows of a commit: the last may insert fewer.
    fn rows_each(self) -> f64 {
        let mean = self.rows.zip(self.op_count()).filter(|(_, count)| *count > 0);
        mean.map_or(self.per_commit as f64, |(rows, count)| rows as f64 / count as f64)
    }

    /// The rows that are left for the last.
    pub(super) fn rows_of_last(self) -> u64 {
        match self.rows.unwrap_or(0) % self.per_commit {
            0 => self.per_commit,
            rest => rest,
        }
    }

    /// The kind of operation that they are.
    pub(super) fn op_kind(self) -> OpKindDef {
        // One statement is a transaction by itself.
        let calls = self.per_commit.div_ceil(ROWS_PER_STATEMENT) + u64::from(self.delete);
        let kind = OpKindDef::of_calls("insert", OpClass::Write, calls as f64, calls > 1);
        OpKindDef { rows: self.rows_each(), ..kind }
    }

    /// The stream that performs them as operations of `kind`.
    pub(super) fn op_stream<O: Op>(self, data: PurchaseData, statements: StepStatements, kind: OpKind) -> OpStream<O>
    where
        InsertOps: Workload<O>,
    {
        let (tables, all) = (data.schema.tables, statements.clone());
        let supply = CommitSupply::new(self, &data);
        let (ops, ops_by_client) = match &supply {
            CommitSupply::Counted(_) => (self.op_count(), None),
            CommitSupply::Dealt(dealt) => (dealt.op_count(), Some(dealt.clone())),
        };
        let stream = OpStream::new(ops, self.per_commit, move |slot: ClientIndex| InsertOps {
            tables: TableTurns::new(slot, tables),
            supply: supply.clone(),
            data: data.clone(),
            statements: statements.clone(),
            commits: self,
            kind,
        });
        let stream = stream.with_statements(move |slot| all.of_client(slot, tables));
        match ops_by_client {
            _ if tables == 1 => stream.with_shared_budget(),
            Some(dealt) => stream.with_ops_by_client(move |slot| dealt.ops_of(slot)),
            None => stream,
        }
    }
}

/// Where clients take their commits from.
#[derive(Clone)]
enum CommitSupply {
    /// The rows that all clients have still to insert; `None` if they never end.
    Counted(Option<Arc<AtomicU64>>),
    /// Several hosts insert into the same tables, and these commits are of this host.
    Dealt(Arc<DealtCommits>),
}

impl CommitSupply {
    fn new(commits: Commits, data: &PurchaseData) -> CommitSupply {
        if data.clients.is_whole() {
            CommitSupply::Counted(commits.rows.map(|rows| Arc::new(AtomicU64::new(rows))))
        } else {
            CommitSupply::Dealt(Arc::new(DealtCommits::new(commits, data)))
        }
    }
}

/// The tables of one client, one after the other.
#[derive(Clone, Copy, Debug)]
pub(super) struct TableTurns {
    first: u64,
    next: u64,
    step: u64,
    tables: u64,
}

impl TableTurns {
    /// Those of the client in `slot`, of `tables` tables.
    pub(super) fn new(slot: ClientIndex, tables: u64) -> TableTurns {
        // Clients begin at different tables, so that they do not queue at the end of one index.
        let first = u64::from(slot.client) % tables;
        TableTurns { first, next: first, step: slot.clients.into(), tables }
    }

    /// All of them, once.
    pub(super) fn all_tables(self) -> impl Iterator<Item = u64> {
        (self.first..self.tables).step_by(self.step as usize)
    }

    #[inline]
    pub(super) fn next_table(&mut self) -> u64 {
        let table = self.next;
        self.next += self.step;
        if self.next >= self.tables {
            self.next = self.first;
        }
        table
    }
}

pub(super) struct InsertOps {
    data: PurchaseData,
    statements: StepStatements,
    tables: TableTurns,
    supply: CommitSupply,
    commits: Commits,
    kind: OpKind,
}

impl InsertOps {
    /// The table of the next commit, the ids that it inserts and those that it deletes.
    #[inline]
    fn next_commit(&mut self) -> Option<(u64, Range<u64>, Range<u64>)> {
        if let CommitSupply::Dealt(dealt) = &self.supply {
            let table = self.tables.next_table();
            let mut ids = dealt.claim(table)?;
            if !self.commits.delete {
                ids.oldest = 0..0;
            }
            self.data.note_claimed(table, &ids);
            return Some((table, ids.inserted, ids.oldest));
        }
        // The rows are taken before the table is chosen: a client that gets none must not move on to the next table.
        let rows = Some(self.take_rows()).filter(|rows| *rows > 0)?;
        let table = self.tables.next_table();
        // Ids are dealt out in order by a counter of all clients, so the table is filled at its end as by AUTO_INCREMENT.
        let first = self.data.claim_rows(table, rows);
        let oldest = if self.commits.delete { self.data.claim_oldest(table, rows, first) } else { 0..0 };
        Some((table, first..first + rows, oldest))
    }

    /// Takes the rows of the next commit: none if all are on their way.
    #[inline]
    fn take_rows(&self) -> u64 {
        let each = self.commits.per_commit;
        let CommitSupply::Counted(Some(rows_left)) = &self.supply else { return each };
        // Clients share one count, so that a fast one inserts more and all end together.
        let taken = rows_left.fetch_update(Relaxed, Relaxed, |left| Some(left.saturating_sub(each)));
        taken.map_or(0, |left| left.min(each))
    }

    fn push_inserts(&self, op: &mut SqlOp, table: u64, ids: Range<u64>) {
        let mut from = ids.start;
        while from < ids.end {
            let rows = (ids.end - from).min(ROWS_PER_STATEMENT);
            let statement = self.statements.number_of(table, PurchaseStatement::Insert(rows));
            op.calls.push(SqlCall { statement, args: rows as u16 * self.data.column_count() });
            (from..from + rows).for_each(|id| self.data.push_arguments(op, table, id));
            from += rows;
        }
    }
}

impl Workload<SqlOp> for InsertOps {
    fn fill_ops(&mut self, ops: &mut [SqlOp]) {
        for op in ops {
            op.clear();
            (op.op_kind, op.writes) = (self.kind, true);
            let Some((table, ids, oldest)) = self.next_commit() else { continue };
            self.push_inserts(op, table, ids);
            if !oldest.is_empty() {
                let delete = self.statements.number_of(table, PurchaseStatement::Delete);
                call_with_ints(op, delete, &[oldest.start as i64, oldest.end as i64 - 1]);
            }
            // One statement commits by itself; BEGIN and COMMIT around it would only be two more round trips.
            op.transaction = op.calls.len() > 1;
        }
    }
}

impl Workload<KvOp> for InsertOps {
    fn fill_ops(&mut self, ops: &mut [KvOp]) {
        for op in ops {
            op.clear();
            op.op_kind = self.kind;
            let Some((table, ids, oldest)) = self.next_commit() else { continue };
            ids.for_each(|id| self.data.push_puts(op, table, id));
            oldest.for_each(|id| self.data.push_removals(op, table, id));
        }
    }
}

/// The entries of all rows in the secondary indexes of a key-value engine, put by batches of rows.
pub(super) fn index_stream(data: PurchaseData) -> OpStream<KvOp> {
    let present: Vec<Range<u64>> = (0..data.schema.tables).map(|table| data.present_ids(table)).collect();
    // Tables have different numbers of rows by now, and a batch never spans two of them.
    let count: u64 = present.iter().map(|ids| (ids.end - ids.start).div_ceil(ROWS_PER_STATEMENT)).sum();
    let all = (0..).zip(present).flat_map(|(table, ids)| table_batches(table, ids));
    let batches: IndexBatches = Arc::new(Mutex::new(Box::new(all)));
    let stream = OpStream::new(Some(count), ROWS_PER_STATEMENT, move |_| IndexPuts {
        data: data.clone(),
        batches: batches.clone(),
    });
    stream.with_shared_budget()
}

/// The batches of one table.
fn table_batches(table: u64, ids: Range<u64>) -> impl Iterator<Item = (u64, Range<u64>)> + Send {
    let end = ids.end;
    ids.step_by(ROWS_PER_STATEMENT as usize).map(move |from| (table, from..end.min(from + ROWS_PER_STATEMENT)))
}

/// Batches that no client has taken yet: a table, and ids in it.
type IndexBatches = Arc<Mutex<Box<dyn Iterator<Item = (u64, Range<u64>)> + Send>>>;

struct IndexPuts {
    data: PurchaseData,
    batches: IndexBatches,
}

impl Workload<KvOp> for IndexPuts {
    fn fill_ops(&mut self, ops: &mut [KvOp]) {
        for op in ops {
            op.clear();
            op.op_kind = OpKind(0);
            let next = self.batches.lock().unwrap_or_else(PoisonError::into_inner).next();
            let Some((table, ids)) = next else { continue };
            ids.for_each(|id| self.data.push_index_puts(op, table, id));
        }
    }
}

/// One operation for each of `count` things, which the engine does: its only call has the thing's number.
pub(crate) fn numbered_stream(count: u64, clients: LoadPart) -> OpStream<SqlOp> {
    let next = Arc::new(AtomicU64::new(0));
    let own = clients.dealt_of(count);
    OpStream::new(Some(own), 1, move |_| NumberedOps { next: next.clone(), own, clients }).with_shared_budget()
}

/// The numbers that no client has taken yet.
struct NumberedOps {
    next: Arc<AtomicU64>,
    /// How many this host has.
    own: u64,
    /// Its clients among those of all hosts.
    clients: LoadPart,
}

impl Workload<SqlOp> for NumberedOps {
    fn fill_ops(&mut self, ops: &mut [SqlOp]) {
        for op in ops {
            op.clear();
            (op.op_kind, op.writes) = (OpKind(0), true);
            let nth = Some(self.next.fetch_add(1, Relaxed)).filter(|nth| *nth < self.own);
            let number = nth.map(|nth| self.clients.number_of(nth));
            op.calls.extend(number.map(|number| SqlCall { statement: number as u16, args: 0 }));
        }
    }
}

/// Operations without content: the engine does the work.
pub(super) struct EmptyOps;

impl Workload<KvOp> for EmptyOps {
    fn fill_ops(&mut self, ops: &mut [KvOp]) {
        ops.iter_mut().for_each(|op| {
            op.clear();
            op.op_kind = OpKind(0);
        });
    }
}
