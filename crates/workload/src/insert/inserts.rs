//! Commits that insert rows, and delete as many of the oldest where the tables are to keep their size.
//!
//! In: the rows, how many of them in how many commits. Out: sources of operations, one commit each, dealt to the tables of a
//! client in turn. Limits: a client works on the tables whose numbers it has modulo the number of clients; where there are
//! more clients than tables, several work on one. Clients of one table take commits from one count, so that all work until the last
//! row is in; where there are several tables each client has an equal share, so that the tables are alike whichever was served
//! faster, and the clients end one after the other. Deletes are of ids that were dealt out, so where a table has hardly more
//! rows than are on their way, one may come before its row, which then stays.

use super::rows::Data;
use super::statements::{ROWS_PER_STATEMENT, Statement, Statements};
use crate::Workload;
use crate::program::{ClientIndex, OpStream, call_with_ints};
use model::{KvOp, Op, OpKind, SqlCall, SqlOp};
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

/// What a step inserts, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Commits {
    /// Over all clients and tables; 0 where nothing but time ends it.
    rows: u64,
    /// In each commit but the last.
    pub(super) per_commit: u64,
    /// Whether each commit deletes as many.
    pub(super) delete: bool,
}

impl Commits {
    /// `rows` rows, `per_commit` at a time.
    pub(super) fn new(rows: u64, per_commit: u64, delete: bool) -> Commits {
        Commits { rows, per_commit: if rows > 0 { per_commit.min(rows) } else { per_commit }, delete }
    }

    /// How many there are; `None` where they never end.
    fn count(self) -> Option<u64> {
        (self.rows > 0).then(|| self.rows.div_ceil(self.per_commit))
    }

    /// The rows of one on the whole: the last may insert fewer.
    pub(super) fn rows_each(self) -> f64 {
        self.count().map_or(self.per_commit as f64, |count| self.rows as f64 / count as f64)
    }

    /// The rows that are left for the last.
    pub(super) fn rows_of_last(self) -> u64 {
        match self.rows % self.per_commit {
            0 => self.per_commit,
            rest => rest,
        }
    }

    /// Statements of one commit, BEGIN and COMMIT included.
    pub(super) fn queries(self) -> f64 {
        let calls = self.per_commit.div_ceil(ROWS_PER_STATEMENT) + u64::from(self.delete);
        (if calls > 1 { calls + 2 } else { calls }) as f64
    }

    /// The part that performs them as operations of `kind`.
    pub(super) fn part<O: Op>(self, data: Data, statements: Statements, kind: OpKind) -> OpStream<O>
    where
        Inserts: Workload<O>,
    {
        let (tables, all) = (data.schema.tables, statements.clone());
        let rows_left = (self.rows > 0).then(|| Arc::new(AtomicU64::new(self.rows)));
        let part = OpStream::new(self.count(), self.per_commit, move |slot: ClientIndex| Inserts {
            tables: Turns::new(slot, tables),
            rows_left: rows_left.clone(),
            data: data.clone(),
            statements: statements.clone(),
            commits: self,
            kind,
        });
        let part = part.with_statements(move |slot| all.of_client(slot, tables));
        if tables == 1 { part.with_shared_budget() } else { part }
    }
}

/// The tables of one client, one after the other.
#[derive(Clone, Copy, Debug)]
pub(super) struct Turns {
    first: u64,
    next: u64,
    step: u64,
    tables: u64,
}

impl Turns {
    /// Those of the client in `slot`, of `tables` tables.
    pub(super) fn new(slot: ClientIndex, tables: u64) -> Turns {
        let first = u64::from(slot.client) % tables;
        Turns { first, next: first, step: slot.clients.into(), tables }
    }

    /// All of them, once.
    pub(super) fn all(self) -> impl Iterator<Item = u64> {
        (self.first..self.tables).step_by(self.step as usize)
    }

    /// The next table.
    #[inline]
    pub(super) fn next(&mut self) -> u64 {
        let table = self.next;
        self.next += self.step;
        if self.next >= self.tables {
            self.next = self.first;
        }
        table
    }
}

/// One client's commits.
pub(super) struct Inserts {
    data: Data,
    statements: Statements,
    tables: Turns,
    /// The rows that all clients have still to insert; `None` where they never end.
    rows_left: Option<Arc<AtomicU64>>,
    commits: Commits,
    kind: OpKind,
}

impl Inserts {
    /// The table of the next commit, the ids that it inserts and those that it deletes.
    #[inline]
    fn next(&mut self) -> Option<(u64, Range<u64>, Range<u64>)> {
        let rows = Some(self.rows()).filter(|rows| *rows > 0)?;
        let table = self.tables.next();
        let first = self.data.claim(table, rows);
        let oldest = if self.commits.delete { self.data.claim_oldest(table, rows, first) } else { 0..0 };
        Some((table, first..first + rows, oldest))
    }

    /// The rows of the next commit: none where all are on their way.
    #[inline]
    fn rows(&self) -> u64 {
        let each = self.commits.per_commit;
        let Some(rows_left) = &self.rows_left else { return each };
        let taken = rows_left.fetch_update(Relaxed, Relaxed, |left| Some(left.saturating_sub(each)));
        taken.map_or(0, |left| left.min(each))
    }

    fn push_inserts(&self, op: &mut SqlOp, table: u64, ids: Range<u64>) {
        let mut from = ids.start;
        while from < ids.end {
            let rows = (ids.end - from).min(ROWS_PER_STATEMENT);
            let statement = self.statements.number(table, Statement::Insert(rows));
            op.calls.push(SqlCall { statement, args: rows as u16 * self.data.columns() });
            (from..from + rows).for_each(|id| self.data.push_arguments(op, table, id));
            from += rows;
        }
    }
}

impl Workload<SqlOp> for Inserts {
    fn fill(&mut self, ops: &mut [SqlOp]) {
        for op in ops {
            op.clear();
            (op.op_kind, op.writes) = (self.kind, true);
            let Some((table, ids, oldest)) = self.next() else { continue };
            self.push_inserts(op, table, ids);
            if !oldest.is_empty() {
                let delete = self.statements.number(table, Statement::Delete);
                call_with_ints(op, delete, &[oldest.start as i64, oldest.end as i64 - 1]);
            }
            op.transaction = op.calls.len() > 1;
        }
    }
}

impl Workload<KvOp> for Inserts {
    fn fill(&mut self, ops: &mut [KvOp]) {
        for op in ops {
            op.clear();
            op.op_kind = self.kind;
            let Some((table, ids, oldest)) = self.next() else { continue };
            ids.for_each(|id| self.data.push_puts(op, table, id));
            oldest.for_each(|id| self.data.push_removals(op, table, id));
        }
    }
}

/// The entries of all rows in the secondary indexes of a key-value engine, put by batches of rows.
pub(super) fn index_part(data: Data) -> OpStream<KvOp> {
    let present: Vec<Range<u64>> = (0..data.schema.tables).map(|table| data.present(table)).collect();
    let batches: u64 = present.iter().map(|ids| (ids.end - ids.start).div_ceil(ROWS_PER_STATEMENT)).sum();
    let of_table = |(table, ids): (usize, Range<u64>)| {
        let end = ids.end;
        let batch = move |from: u64| (table as u64, from..end.min(from + ROWS_PER_STATEMENT));
        ids.step_by(ROWS_PER_STATEMENT as usize).map(batch)
    };
    let all: Batches = Arc::new(Mutex::new(Box::new(present.into_iter().enumerate().flat_map(of_table))));
    let puts = move |_: ClientIndex| IndexPuts { data: data.clone(), batches: all.clone() };
    OpStream::new(Some(batches), ROWS_PER_STATEMENT, puts).with_shared_budget()
}

/// Batches that no client has taken yet: a table, and ids in it.
type Batches = Arc<Mutex<Box<dyn Iterator<Item = (u64, Range<u64>)> + Send>>>;

/// One client's batches.
struct IndexPuts {
    data: Data,
    batches: Batches,
}

impl Workload<KvOp> for IndexPuts {
    fn fill(&mut self, ops: &mut [KvOp]) {
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
pub(super) fn numbered_part(count: u64) -> OpStream<SqlOp> {
    let next = Arc::new(AtomicU64::new(0));
    OpStream::new(Some(count), 1, move |_| Numbered { next: next.clone(), count }).with_shared_budget()
}

/// The numbers that no client has taken yet.
struct Numbered {
    next: Arc<AtomicU64>,
    count: u64,
}

impl Workload<SqlOp> for Numbered {
    fn fill(&mut self, ops: &mut [SqlOp]) {
        for op in ops {
            op.clear();
            (op.op_kind, op.writes) = (OpKind(0), true);
            let nth = Some(self.next.fetch_add(1, Relaxed)).filter(|nth| *nth < self.count);
            op.calls.extend(nth.map(|nth| SqlCall { statement: nth as u16, args: 0 }));
        }
    }
}

/// Operations that say nothing.
pub(super) struct Empty;

impl Workload<KvOp> for Empty {
    fn fill(&mut self, ops: &mut [KvOp]) {
        ops.iter_mut().for_each(|op| {
            op.clear();
            op.op_kind = OpKind(0);
        });
    }
}
