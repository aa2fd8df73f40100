//! The mixes: which statements one operation consists of, and where their arguments come from.
//!
//! In: a mix by name, the rows, the access distribution. Out: sources of operations. A point select takes about 5 ns to make, a
//! read_write transaction 200 ns.
//! Limits: each step picks its table, and the statements of a step share it, as in sysbench; so an operation of several steps touches
//! several tables. sysbench's select_random_points and select_random_ranges know one table only.
//!
//! Statement texts are those of sysbench 1.0 (oltp_common.lua, select_random_points.lua, select_random_ranges.lua).

use super::RUN;
use super::rows::{Data, kv_key, push_c, push_insert};
use crate::Workload;
use crate::distribution::Distribution;
use crate::program::{ClientIndex, call_with_ints, push_entry};
use crate::random::{Rng, Words, below, rng};
use model::{KvAction, KvOp, OpClass, SqlArg, SqlCall, SqlOp};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Rows of a range by primary key: sysbench's `range_size`.
const RANGE_ROWS: i64 = 100;
/// Points of select_random_points and ranges of select_random_ranges: sysbench's `random_points` and `number_of_ranges`.
const RANDOM_PLACES: usize = 10;
/// How far each of those ranges goes beyond its beginning: sysbench's `delta`.
const RANDOM_RANGE_DELTA: i64 = 5;

/// A statement on one table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Statement {
    PointSelect,
    SimpleRange,
    SumRange,
    OrderRange,
    DistinctRange,
    IndexUpdate,
    NonIndexUpdate,
    Delete,
    Insert,
    RandomPoints,
    RandomRanges,
}

use Statement::*;

impl Statement {
    /// Its text on table `n`, from 1.
    pub(super) fn text(self, n: u64) -> String {
        match self {
            PointSelect => format!("SELECT c FROM sbtest{n} WHERE id=?"),
            SimpleRange => format!("SELECT c FROM sbtest{n} WHERE id BETWEEN ? AND ?"),
            SumRange => format!("SELECT SUM(k) FROM sbtest{n} WHERE id BETWEEN ? AND ?"),
            OrderRange => format!("SELECT c FROM sbtest{n} WHERE id BETWEEN ? AND ? ORDER BY c"),
            DistinctRange => format!("SELECT DISTINCT c FROM sbtest{n} WHERE id BETWEEN ? AND ? ORDER BY c"),
            IndexUpdate => format!("UPDATE sbtest{n} SET k=k+1 WHERE id=?"),
            NonIndexUpdate => format!("UPDATE sbtest{n} SET c=? WHERE id=?"),
            Delete => format!("DELETE FROM sbtest{n} WHERE id=?"),
            Insert => format!("INSERT INTO sbtest{n} (id, k, c, pad) VALUES (?, ?, ?, ?)"),
            RandomPoints => {
                format!("SELECT id, k, c, pad FROM sbtest{n} WHERE k IN ({})", ["?"; RANDOM_PLACES].join(", "))
            }
            RandomRanges => {
                format!("SELECT count(k) FROM sbtest{n} WHERE {}", ["k BETWEEN ? AND ?"; RANDOM_PLACES].join(" OR "))
            }
        }
    }

    fn writes(self) -> bool {
        matches!(self, IndexUpdate | NonIndexUpdate | Delete | Insert)
    }
}

/// What an operation does on one table.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// The statement so many times, each time with other arguments. An insert is of a row whose id nobody has had.
    Each(u32, Statement),
    /// A row is deleted, and inserted again with other values.
    Replace,
}

impl Step {
    fn statements(self) -> Vec<Statement> {
        match self {
            Step::Each(_, statement) => vec![statement],
            Step::Replace => vec![Delete, Insert],
        }
    }

    fn calls(self) -> u32 {
        match self {
            Step::Each(times, _) => times,
            Step::Replace => 2,
        }
    }
}

/// What the rows of a table are like after a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rows {
    /// As many as before, with the same ids.
    Kept,
    /// Fewer.
    Fewer,
    /// More.
    More,
}

/// What one operation consists of.
#[derive(Debug)]
pub(super) struct Mix {
    /// The word in plans, and the name of the kind of operation.
    pub(super) name: &'static str,
    /// What its run does to the tables.
    pub(super) rows: Rows,
    steps: &'static [Step],
}

const READS: [Step; 5] = [
    Step::Each(10, PointSelect),
    Step::Each(1, SimpleRange),
    Step::Each(1, SumRange),
    Step::Each(1, OrderRange),
    Step::Each(1, DistinctRange),
];
const WRITES: [Step; 3] = [Step::Each(1, IndexUpdate), Step::Each(1, NonIndexUpdate), Step::Replace];

/// Every mix, by the names of sysbench's scripts without `oltp_`.
pub(super) static MIXES: [Mix; 10] = [
    mix("point_select", Rows::Kept, &[Step::Each(1, PointSelect)]),
    mix("read_only", Rows::Kept, &READS),
    mix("write_only", Rows::Kept, &WRITES),
    mix("read_write", Rows::Kept, &[READS[0], READS[1], READS[2], READS[3], READS[4], WRITES[0], WRITES[1], WRITES[2]]),
    mix("update_index", Rows::Kept, &[Step::Each(1, IndexUpdate)]),
    mix("update_non_index", Rows::Kept, &[Step::Each(1, NonIndexUpdate)]),
    mix("delete", Rows::Fewer, &[Step::Each(1, Delete)]),
    mix("insert", Rows::More, &[Step::Each(1, Insert)]),
    mix("select_random_points", Rows::Kept, &[Step::Each(1, RandomPoints)]),
    mix("select_random_ranges", Rows::Kept, &[Step::Each(1, RandomRanges)]),
];

const fn mix(name: &'static str, rows: Rows, steps: &'static [Step]) -> Mix {
    Mix { name, rows, steps }
}

impl Mix {
    /// The mix of that name.
    pub(super) fn named(name: &str) -> &'static Mix {
        MIXES.iter().find(|mix| mix.name == name).unwrap_or_else(|| panic!("`mix` is declared without `{name}`"))
    }

    /// Its statements on one table, in the order in which they are prepared.
    pub(super) fn statements(&self) -> Vec<Statement> {
        self.steps.iter().flat_map(|step| step.statements()).collect()
    }

    /// Whether it changes anything.
    pub(super) fn writes(&self) -> bool {
        self.statements().into_iter().any(Statement::writes)
    }

    /// What its operations do.
    pub(super) fn class(&self) -> OpClass {
        let reads = self.statements().into_iter().any(|statement| !statement.writes());
        OpClass::from_effects(reads, self.writes())
    }

    /// How many statements one operation executes.
    pub(super) fn calls(&self) -> u32 {
        self.steps.iter().map(|step| step.calls()).sum()
    }
}

/// How one client picks tables and rows.
pub(super) struct Picks {
    rng: Rng,
    tables: u64,
    access: Distribution,
}

impl Picks {
    /// The picks of the client in `slot`.
    pub(super) fn new(slot: ClientIndex, data: Data, access: Distribution) -> Self {
        Picks { rng: rng(data.seed, slot.client), tables: data.tables, access }
    }

    /// The generator, for what is neither a table nor a row.
    #[inline]
    pub(super) fn rng(&mut self) -> &mut Rng {
        &mut self.rng
    }

    #[inline]
    pub(super) fn table(&mut self) -> u64 {
        below(self.rng.next_u64(), self.tables)
    }

    #[inline]
    pub(super) fn id(&mut self) -> i64 {
        1 + self.access.draw(&mut self.rng) as i64
    }
}

/// One client's operations of a mix.
pub(super) struct Operations {
    picks: Picks,
    /// Each step with the index of its first statement among those of one table.
    steps: Vec<(Step, u16)>,
    statements_per_table: u16,
    transaction: bool,
    writes: bool,
    /// Of all clients: the id of the next row that is added.
    next_id: Arc<AtomicU64>,
}

impl Operations {
    /// The operations of `mix`. `transaction`: between BEGIN and COMMIT. `next_id`: where all clients take new ids from.
    pub(super) fn new(mix: &Mix, transaction: bool, picks: Picks, next_id: Arc<AtomicU64>) -> Self {
        let (mut steps, mut statements_per_table) = (Vec::new(), 0);
        for step in mix.steps {
            steps.push((*step, statements_per_table));
            statements_per_table += step.statements().len() as u16;
        }
        Operations { picks, steps, statements_per_table, transaction, writes: mix.writes(), next_id }
    }

    /// Adds `step`, whose first statement is number `statement`.
    fn perform(&mut self, op: &mut SqlOp, step: Step, statement: u16) {
        match step {
            Step::Each(times, kind) => (0..times).for_each(|_| self.call(op, kind, statement)),
            Step::Replace => {
                let (id, k) = (self.picks.id(), self.picks.id());
                call_with_ints(op, statement, &[id]);
                push_insert(op, statement + 1, id, k, &mut self.picks.rng);
            }
        }
    }

    #[inline]
    fn call(&mut self, op: &mut SqlOp, kind: Statement, statement: u16) {
        match kind {
            PointSelect | IndexUpdate | Delete => call_with_ints(op, statement, &[self.picks.id()]),
            SimpleRange | SumRange | OrderRange | DistinctRange => {
                let id = self.picks.id();
                call_with_ints(op, statement, &[id, id + RANGE_ROWS - 1]);
            }
            NonIndexUpdate => {
                op.calls.push(SqlCall { statement, args: 2 });
                push_c(op, &mut self.picks.rng);
                op.args.push(SqlArg::Int(self.picks.id()));
            }
            Insert => {
                let (id, k) = (self.next_id.fetch_add(1, Relaxed) as i64, self.picks.id());
                push_insert(op, statement, id, k, &mut self.picks.rng);
            }
            RandomPoints => {
                let points: [i64; RANDOM_PLACES] = std::array::from_fn(|_| self.picks.id());
                call_with_ints(op, statement, &points);
            }
            RandomRanges => {
                let starts: [i64; RANDOM_PLACES] = std::array::from_fn(|_| self.picks.id());
                call_with_ints(op, statement, starts.map(|k| [k, k + RANDOM_RANGE_DELTA]).as_flattened());
            }
        }
    }
}

impl Workload<SqlOp> for Operations {
    fn fill(&mut self, ops: &mut [SqlOp]) {
        for op in ops {
            op.clear();
            (op.op_kind, op.transaction, op.writes) = (RUN, self.transaction, self.writes);
            for nth in 0..self.steps.len() {
                let (step, at) = self.steps[nth];
                let table = self.picks.table() as u16;
                self.perform(op, step, table * self.statements_per_table + at);
            }
        }
    }
}

/// One row by its key on a key-value engine.
pub(super) struct PointGets(pub(super) Picks);

impl Workload<KvOp> for PointGets {
    fn fill(&mut self, ops: &mut [KvOp]) {
        for op in ops {
            op.clear();
            (op.op_kind, op.action) = (RUN, KvAction::Get);
            push_entry(op, 0, &kv_key(self.0.table(), self.0.id() as u64), |_| ());
        }
    }
}
