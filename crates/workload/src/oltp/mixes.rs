//! The mixes: which statements one operation consists of, and the sources of their arguments.
//!
//! In: a mix by name, the rows, the access distribution, the lengths of ranges and lists. Out: sources of operations. A point select takes about 5 ns to make, a
//! read_write transaction 200 ns.
//! Limits: each step picks its table, and the statements of a step share it, as in sysbench; so an operation of several steps touches
//! several tables. sysbench's select_random_points and select_random_ranges know one table only.
//!
//! Statement texts are those of sysbench 1.0 (oltp_common.lua, select_random_points.lua, select_random_ranges.lua). Those of the workload
//! `micro` follow the descriptions of its author.

use super::RUN;
use super::rows::{OltpData, kv_key, push_c, push_insert};
use crate::Workload;
use crate::distribution::Distribution;
use crate::new_ids::NewIds;
use crate::program::{ClientIndex, call_with_ints, push_entry};
use crate::random::{Rng, Words, client_rng, number_below};
use model::{ExpectedRows, KvAction, KvOp, OpClass, SqlArg, SqlCall, SqlOp};

/// Points of select_random_points and ranges of select_random_ranges: sysbench's `random_points` and `number_of_ranges`.
const RANDOM_PLACES: usize = 10;
/// How far each of those ranges goes beyond its beginning: sysbench's `delta`.
const RANDOM_RANGE_DELTA: i64 = 5;

/// How long the lists and ranges of a mix are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MixLengths {
    /// Keys of a range, from its first to its last.
    pub(crate) range_rows: u64,
    /// Values in a list.
    pub(crate) list_points: u64,
}

/// The column by which rows are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FindBy {
    /// The primary key, `id`.
    PrimaryKey,
    /// The secondary index, on `k`.
    SecondaryIndex,
}

impl FindBy {
    fn column(self) -> &'static str {
        match self {
            FindBy::PrimaryKey => "id",
            FindBy::SecondaryIndex => "k",
        }
    }
}

/// What is read of the rows that are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReadColumns {
    /// The column by which they are found: an index has it, so the row itself is not needed.
    Covered,
    /// That column and `c`: the row itself is needed.
    NotCovered,
}

/// The columns that are read: `k, c`.
fn columns(by: FindBy, read: ReadColumns) -> String {
    let key = by.column();
    match read {
        ReadColumns::Covered => key.to_owned(),
        ReadColumns::NotCovered => format!("{key}, c"),
    }
}

/// A statement on one table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OltpStatement {
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
    /// Column c of the rows in a list of keys.
    ListSelect,
    /// The same of neighbouring rows, always the same ones, in the middle of the table.
    HotSelect,
    /// Rows in a list of values.
    ListRead(FindBy, ReadColumns),
    /// Rows in a range of values.
    RangeRead(FindBy, ReadColumns),
    /// How many rows are in a range of keys.
    CountRange,
    /// Another text for all rows in a list of keys.
    ListUpdate,
    /// All rows are looked at, and none is returned.
    Scan,
}

use OltpStatement::*;

impl OltpStatement {
    /// Its text on table `n`, from 1.
    pub(super) fn to_sql(self, n: u64, lengths: MixLengths) -> String {
        let list = || vec!["?"; lengths.list_points as usize].join(", ");
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
            ListSelect | HotSelect => format!("SELECT c FROM sbtest{n} WHERE id IN ({})", list()),
            ListRead(by, read) => {
                format!("SELECT {} FROM sbtest{n} WHERE {} IN ({})", columns(by, read), by.column(), list())
            }
            RangeRead(by, read) => {
                format!("SELECT {} FROM sbtest{n} WHERE {} BETWEEN ? AND ?", columns(by, read), by.column())
            }
            CountRange => format!("SELECT COUNT(c) FROM sbtest{n} WHERE id BETWEEN ? AND ?"),
            ListUpdate => format!("UPDATE sbtest{n} SET c=? WHERE id IN ({})", list()),
            // No text is shorter than nothing, and no optimizer here knows that.
            Scan => format!("SELECT id, k, c, pad FROM sbtest{n} WHERE LENGTH(c) < 0"),
        }
    }

    fn is_write(self) -> bool {
        matches!(self, IndexUpdate | NonIndexUpdate | Delete | Insert | ListUpdate)
    }

    /// The rows that it returns and changes. `there`: the rows that it looks for by their ids are in the table.
    pub(super) fn expected_rows(self, lengths: MixLengths, there: bool) -> ExpectedRows {
        let (range, list) = (lengths.range_rows, lengths.list_points);
        let if_there = |rows: ExpectedRows| if there { rows } else { rows.or_fewer() };
        match self {
            PointSelect => if_there(ExpectedRows::RETURNS_ONE),
            // A range or list begins at, or has, an id of the table, and may go on beyond its end.
            SimpleRange | OrderRange | DistinctRange | RangeRead(FindBy::PrimaryKey, _) => {
                if_there(ExpectedRows::returns(1, range))
            }
            ListSelect | HotSelect | ListRead(FindBy::PrimaryKey, _) => if_there(ExpectedRows::returns(1, list)),
            // Values of k come as often as they like.
            RandomPoints | RangeRead(FindBy::SecondaryIndex, _) | ListRead(FindBy::SecondaryIndex, _) => {
                ExpectedRows::returns(0, u64::MAX)
            }
            SumRange | RandomRanges | CountRange => ExpectedRows::RETURNS_ONE,
            Scan => ExpectedRows::returns(0, 0),
            IndexUpdate | Delete => if_there(ExpectedRows::CHANGES_ONE),
            // Another run with the same seed writes the same texts to the same rows.
            NonIndexUpdate => if_there(ExpectedRows::CHANGES_ONE.or_repeated()),
            ListUpdate => if_there(ExpectedRows::changes(1, list).or_repeated()),
            Insert => ExpectedRows::CHANGES_ONE,
        }
    }

    /// How many values of a list one execution takes.
    fn listed(self, lengths: MixLengths) -> u64 {
        match self {
            ListSelect | HotSelect | ListRead(..) | ListUpdate => lengths.list_points,
            _ => 0,
        }
    }
}

/// What an operation does on one table.
#[derive(Clone, Copy, Debug)]
pub(crate) enum MixStep {
    /// The statement so many times, each time with other arguments. An insert is of a row with a new id.
    Each(u32, OltpStatement),
    /// A row is deleted, and inserted again with other values.
    Replace,
}

impl MixStep {
    fn statements(self) -> Vec<OltpStatement> {
        match self {
            MixStep::Each(_, statement) => vec![statement],
            MixStep::Replace => vec![Delete, Insert],
        }
    }

    fn call_count(self) -> u32 {
        match self {
            MixStep::Each(times, _) => times,
            MixStep::Replace => 2,
        }
    }
}

/// What the rows of a table are like after a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RowsAfter {
    /// As many as before, with the same ids.
    Kept,
    Fewer,
    More,
}

/// What one operation consists of.
#[derive(Debug)]
pub(crate) struct OltpMix {
    /// The word in plans, and the name of the kind of operation.
    pub(crate) name: &'static str,
    /// What its run does to the tables.
    pub(crate) rows: RowsAfter,
    steps: &'static [MixStep],
}

/// The statements of `read_only`.
pub(crate) const READS: [MixStep; 5] = [
    MixStep::Each(10, PointSelect),
    MixStep::Each(1, SimpleRange),
    MixStep::Each(1, SumRange),
    MixStep::Each(1, OrderRange),
    MixStep::Each(1, DistinctRange),
];
/// The statements of `write_only`.
pub(crate) const WRITES: [MixStep; 3] =
    [MixStep::Each(1, IndexUpdate), MixStep::Each(1, NonIndexUpdate), MixStep::Replace];
/// The statements of `read_write`.
pub(crate) const READS_AND_WRITES: [MixStep; 8] =
    [READS[0], READS[1], READS[2], READS[3], READS[4], WRITES[0], WRITES[1], WRITES[2]];

/// Every mix, by the names of sysbench's scripts without `oltp_`.
pub(super) static MIXES: [OltpMix; 10] = [
    new_mix("point_select", RowsAfter::Kept, &[MixStep::Each(1, PointSelect)]),
    new_mix("read_only", RowsAfter::Kept, &READS),
    new_mix("write_only", RowsAfter::Kept, &WRITES),
    new_mix("read_write", RowsAfter::Kept, &READS_AND_WRITES),
    new_mix("update_index", RowsAfter::Kept, &[MixStep::Each(1, IndexUpdate)]),
    new_mix("update_non_index", RowsAfter::Kept, &[MixStep::Each(1, NonIndexUpdate)]),
    new_mix("delete", RowsAfter::Fewer, &[MixStep::Each(1, Delete)]),
    new_mix("insert", RowsAfter::More, &[MixStep::Each(1, Insert)]),
    new_mix("select_random_points", RowsAfter::Kept, &[MixStep::Each(1, RandomPoints)]),
    new_mix("select_random_ranges", RowsAfter::Kept, &[MixStep::Each(1, RandomRanges)]),
];

/// The mix that performs `steps` in each operation.
pub(crate) const fn new_mix(name: &'static str, rows: RowsAfter, steps: &'static [MixStep]) -> OltpMix {
    OltpMix { name, rows, steps }
}

impl OltpMix {
    /// The mix of that name.
    pub(super) fn by_name(name: &str) -> &'static OltpMix {
        MIXES.iter().find(|mix| mix.name == name).unwrap_or_else(|| panic!("`mix` is declared without `{name}`"))
    }

    /// Its statements on one table, in the order in which they are prepared.
    pub(super) fn statements(&self) -> Vec<OltpStatement> {
        self.steps.iter().flat_map(|step| step.statements()).collect()
    }

    /// Whether it changes anything.
    pub(super) fn writes(&self) -> bool {
        self.statements().into_iter().any(OltpStatement::is_write)
    }

    /// What its operations do.
    pub(super) fn op_class(&self) -> OpClass {
        let reads = self.statements().into_iter().any(|statement| !statement.is_write());
        OpClass::from_effects(reads, self.writes())
    }

    /// Whether it deletes rows and inserts them again.
    pub(super) fn replaces(&self) -> bool {
        self.steps.iter().any(|step| matches!(step, MixStep::Replace))
    }

    /// Whether each row that was loaded is there whenever a statement looks for it. A row that is replaced is gone for others unless both
    /// statements are one transaction, which `isolated` says.
    pub(super) fn rows_are_there(&self, isolated: bool) -> bool {
        self.rows != RowsAfter::Fewer && (isolated || !self.replaces())
    }

    /// How many statements one operation executes.
    pub(super) fn call_count(&self) -> u32 {
        self.steps.iter().map(|step| step.call_count()).sum()
    }

    /// How many values of lists one operation takes.
    pub(super) fn listed(&self, lengths: MixLengths) -> u64 {
        self.statements().into_iter().map(|statement| statement.listed(lengths)).sum()
    }
}

/// How one client picks tables and rows.
pub(crate) struct RowPicker {
    rng: Rng,
    tables: u64,
    rows: u64,
    access: Distribution,
}

impl RowPicker {
    /// The picks of the client in `slot`.
    pub(super) fn new(slot: ClientIndex, data: OltpData, access: Distribution) -> Self {
        RowPicker::with_rng(client_rng(data.seed, slot.client), data, access)
    }

    /// The picks that `rng` draws.
    pub(crate) fn with_rng(rng: Rng, data: OltpData, access: Distribution) -> Self {
        RowPicker { rng, tables: data.tables, rows: data.rows, access }
    }

    /// The generator, for what is neither a table nor a row.
    #[inline]
    pub(super) fn rng(&mut self) -> &mut Rng {
        &mut self.rng
    }

    #[inline]
    pub(super) fn pick_table(&mut self) -> u64 {
        number_below(self.rng.next_u64(), self.tables)
    }

    #[inline]
    pub(super) fn pick_id(&mut self) -> i64 {
        1 + self.access.draw(&mut self.rng) as i64
    }
}

/// One client's operations of a mix.
pub(super) struct MixOps {
    picks: RowPicker,
    /// Each step with the index of its first statement among those of one table.
    steps: Vec<(MixStep, u16)>,
    statements_per_table: u16,
    lengths: MixLengths,
    transaction: bool,
    writes: bool,
    new_ids: NewIds,
}

impl MixOps {
    /// The operations of `mix`. `transaction`: between BEGIN and COMMIT. All clients take from `new_ids`.
    pub(super) fn new(
        mix: &OltpMix,
        lengths: MixLengths,
        transaction: bool,
        picks: RowPicker,
        new_ids: NewIds,
    ) -> Self {
        let (mut steps, mut statements_per_table) = (Vec::new(), 0);
        for step in mix.steps {
            steps.push((*step, statements_per_table));
            statements_per_table += step.statements().len() as u16;
        }
        MixOps { picks, steps, statements_per_table, lengths, transaction, writes: mix.writes(), new_ids }
    }

    /// Adds `step`, whose first statement is number `statement`.
    fn push_step(&mut self, op: &mut SqlOp, step: MixStep, statement: u16) {
        match step {
            MixStep::Each(times, kind) => (0..times).for_each(|_| self.push_call(op, kind, statement)),
            MixStep::Replace => {
                let (id, k) = (self.picks.pick_id(), self.picks.pick_id());
                call_with_ints(op, statement, &[id]);
                push_insert(op, statement + 1, id, k, &mut self.picks.rng);
            }
        }
    }

    #[inline]
    fn push_call(&mut self, op: &mut SqlOp, kind: OltpStatement, statement: u16) {
        match kind {
            PointSelect | IndexUpdate | Delete => call_with_ints(op, statement, &[self.picks.pick_id()]),
            SimpleRange | SumRange | OrderRange | DistinctRange | CountRange | RangeRead(..) => {
                let first = self.picks.pick_id();
                call_with_ints(op, statement, &[first, first + self.lengths.range_rows as i64 - 1]);
            }
            ListSelect | ListRead(..) => self.push_list(op, statement),
            ListUpdate => {
                push_c(op, &mut self.picks.rng);
                self.push_list(op, statement);
                op.calls.last_mut().expect("push_list adds a call").args += 1;
            }
            HotSelect => {
                let (first, count) = (self.picks.rows as i64 / 2 + 1, self.lengths.list_points);
                op.calls.push(SqlCall { statement, args: count as u16 });
                op.args.extend((first..).take(count as usize).map(SqlArg::Int));
            }
            Scan => op.calls.push(SqlCall { statement, args: 0 }),
            NonIndexUpdate => {
                op.calls.push(SqlCall { statement, args: 2 });
                push_c(op, &mut self.picks.rng);
                op.args.push(SqlArg::Int(self.picks.pick_id()));
            }
            Insert => {
                let (id, k) = (self.new_ids.take(), self.picks.pick_id());
                push_insert(op, statement, id, k, &mut self.picks.rng);
            }
            RandomPoints => {
                let points: [i64; RANDOM_PLACES] = std::array::from_fn(|_| self.picks.pick_id());
                call_with_ints(op, statement, &points);
            }
            RandomRanges => {
                let starts: [i64; RANDOM_PLACES] = std::array::from_fn(|_| self.picks.pick_id());
                call_with_ints(op, statement, starts.map(|k| [k, k + RANDOM_RANGE_DELTA]).as_flattened());
            }
        }
    }
}

impl MixOps {
    /// Adds a call of `statement` with a list of values that are drawn one by one.
    #[inline]
    fn push_list(&mut self, op: &mut SqlOp, statement: u16) {
        let count = self.lengths.list_points;
        op.calls.push(SqlCall { statement, args: count as u16 });
        (0..count).for_each(|_| op.args.push(SqlArg::Int(self.picks.pick_id())));
    }
}

impl Workload<SqlOp> for MixOps {
    fn fill_ops(&mut self, ops: &mut [SqlOp]) {
        for op in ops {
            op.clear();
            (op.op_kind, op.transaction, op.writes) = (RUN, self.transaction, self.writes);
            for nth in 0..self.steps.len() {
                let (step, at) = self.steps[nth];
                let table = self.picks.pick_table() as u16;
                self.push_step(op, step, table * self.statements_per_table + at);
            }
        }
    }
}

/// One row by its key on a key-value engine.
pub(super) struct PointGets(pub(super) RowPicker);

impl Workload<KvOp> for PointGets {
    fn fill_ops(&mut self, ops: &mut [KvOp]) {
        for op in ops {
            op.clear();
            (op.op_kind, op.action) = (RUN, KvAction::Get);
            push_entry(op, 0, &kv_key(self.0.pick_table(), self.0.pick_id() as u64), |_| ());
        }
    }
}
