//! The shapes in which a workload comes: the data set to make and the operations to perform, for each family of engines.
//!
//! In: each workload makes these from its parameters and the seed. Out: engines read the shape of the data, the load loop
//! takes one source of operations per client from each [`OpStream`].
//! Limits: `kinds` is one list for all parts, those of the run first; an [`model::OpKind`] is an index into it.

use crate::found::WantedData;
use crate::procedure::SqlProcedure;
use crate::replay::Recording;
use crate::{SequenceState, Workload};
pub use model::ColumnKind;
use model::{
    BackgroundPace, Bytes, ConnectOp, ExpectedRows, HoldKind, IoOp, KvEntry, KvOp, LoadPart, Nanos, Op, OpClass,
    OpKind, Params, SqlArg, SqlCall, SqlOp, SqlStep, TaskOp, Trial,
};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The most operations that a source is asked for at once. The cost of the virtual call is spread over them, and they are
/// made between two operations of the client, so they must be few enough to take microseconds.
const AHEAD_MAX: usize = 64;

/// What a program is made from.
#[derive(Clone, Copy)]
pub struct ProgramInput<'a> {
    /// The workload's parameters: those of all hosts together.
    pub params: &'a Params,
    /// Where all randomness comes from.
    pub seed: u64,
    /// How far earlier trials on the same data have come.
    pub sequence: &'a SequenceState,
    /// The clients of this host among those that use the same data.
    pub clients: LoadPart,
    /// The part of this host in what is counted over all hosts, such as rows to insert, if each host has data of its own; the whole if
    /// they use the same.
    pub share: LoadPart,
    /// The recording that is replayed, as soon as its operations are to be made.
    pub recording: Option<&'a Arc<Recording>>,
}

impl<'a> ProgramInput<'a> {
    /// What one host makes its program from if no other shares its load.
    pub fn new(params: &'a Params, seed: u64, sequence: &'a SequenceState) -> ProgramInput<'a> {
        ProgramInput { params, seed, sequence, clients: LoadPart::WHOLE, share: LoadPart::WHOLE, recording: None }
    }

    /// What the program of `trial` is made from, on data whose trials have come as far as `sequence`.
    pub fn from_trial(trial: &'a Trial, sequence: &'a SequenceState) -> ProgramInput<'a> {
        let share = if trial.has_common_data() { LoadPart::WHOLE } else { trial.client_part() };
        let input = ProgramInput::new(&trial.workload.params, trial.seed, sequence);
        ProgramInput { clients: trial.data_part(), share, ..input }
    }
}

/// The index of a client among the clients of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClientIndex {
    /// The client, from 0.
    pub client: u32,
    /// How many there are, at least 1.
    pub clients: u32,
}

impl ClientIndex {
    /// Those of a `part` of the clients of a stream.
    pub fn all_in(part: LoadPart) -> impl Iterator<Item = ClientIndex> {
        (part.first()..part.first() + part.count()).map(move |client| ClientIndex { client, clients: part.of() })
    }

    /// This client's part of `total` things: contiguous, disjoint from every other client's, together all of them.
    pub fn share_of(self, total: u64) -> Range<u64> {
        LoadPart::new(self.client, 1, self.clients).cut_of(total)
    }
}

/// A number of ops that the clients of a stream take from until none is left. If each client had a share of its own, the faster
/// ones would finish early, and the end of the measurement would be of fewer clients. Clones share one budget.
#[derive(Clone, Debug)]
pub struct SharedBudget(Arc<AtomicU64>);

impl SharedBudget {
    pub fn new(ops: u64) -> SharedBudget {
        SharedBudget(Arc::new(AtomicU64::new(ops)))
    }

    /// Takes operations for one of `clients` clients: `most`, and fewer when it comes to the end, so that they end within one
    /// operation of each other (guided self-scheduling: C. Polychronopoulos, D. Kuck, IEEE Transactions on Computers 36, 1987). A
    /// sixteenth of an equal share at most, so that this also holds for a client that is ten times as slow as the others. 0 if
    /// none is left.
    pub fn take_ops(&self, most: u64, clients: u32) -> u64 {
        let taken = self.0.fetch_update(Relaxed, Relaxed, |left| Some(left - budget_share(left, most, clients)));
        taken.map_or(0, |left| budget_share(left, most, clients))
    }
}

/// What one of `clients` clients takes of a budget of which `left` operations are left: see [`SharedBudget::take_ops`].
fn budget_share(left: u64, most: u64, clients: u32) -> u64 {
    (left / (16 * u64::from(clients))).clamp(1, most).min(left)
}

/// How one client's source of operations is made. Called once per client; two sources of one client repeat each other.
pub type MakeWorkload<O> = Box<dyn Fn(ClientIndex) -> Box<dyn Workload<O>> + Send + Sync>;

/// How many operations each client performs.
pub(crate) type OpsOf = Box<dyn Fn(ClientIndex) -> u64 + Send + Sync>;

/// The numbers of the statements that a client executes.
pub(crate) type StatementsOf = Box<dyn Fn(ClientIndex) -> Vec<u16> + Send + Sync>;

/// A stream of ops, dealt to several clients: those that make the data set, or those of the run.
pub struct OpStream<O> {
    /// How many operations there are over all clients of this host; `None` if they never end. See [`OpStream::ops_of`].
    pub ops: Option<u64>,
    /// How many of them each client performs, if they are no equal shares.
    pub(crate) ops_by_client: Option<OpsOf>,
    /// How often the clients go through their shares.
    pub(crate) passes: u64,
    /// How many operations to make at once: the fewer the larger they are, because the client pauses while they are made
    /// and each slot keeps its buffers.
    pub ahead: usize,
    /// Makes the source of operations of one client.
    pub make: MakeWorkload<O>,
    /// The statements of each client, if they are not all.
    pub(crate) statements: Option<StatementsOf>,
    /// The count that clients take operations from; `None` if each has its share.
    pub shared_budget: Option<SharedBudget>,
}

impl<O: Op> OpStream<O> {
    /// The stream of `ops` operations with `rows_per_op` rows in each, whose sources `make` makes.
    pub(crate) fn new<W: Workload<O> + 'static>(
        ops: Option<u64>,
        rows_per_op: u64,
        make: impl Fn(ClientIndex) -> W + Send + Sync + 'static,
    ) -> Self {
        // An operation of 1,000 rows has buffers of 200 KB: 64 of them per client would not stay in any cache.
        let ahead = (AHEAD_MAX / rows_per_op.max(1) as usize).max(1);
        let make = Box::new(move |slot| -> Box<dyn Workload<O>> { Box::new(make(slot)) });
        OpStream { ops, ops_by_client: None, passes: 1, ahead, make, statements: None, shared_budget: None }
    }

    /// The same stream, whose clients take their ops from one budget. It must not matter which source makes how many.
    pub(crate) fn with_shared_budget(self) -> Self {
        OpStream { shared_budget: self.ops.map(SharedBudget::new), ..self }
    }

    /// The same stream, of which each client executes only the statements that `statements` returns for it.
    pub(crate) fn with_statements(self, statements: impl Fn(ClientIndex) -> Vec<u16> + Send + Sync + 'static) -> Self {
        OpStream { statements: Some(Box::new(statements)), ..self }
    }

    /// The same stream, of which each client performs as many operations as `ops_of` returns for it.
    pub(crate) fn with_ops_by_client(self, ops_of: impl Fn(ClientIndex) -> u64 + Send + Sync + 'static) -> Self {
        OpStream { ops_by_client: Some(Box::new(ops_of)), ..self }
    }

    /// The numbers of the statements that the client in `slot` executes; `None` if they may be any.
    pub fn statements_of(&self, slot: ClientIndex) -> Option<Vec<u16>> {
        self.statements.as_ref().map(|statements| statements(slot))
    }

    /// How many operations the client in `slot` must perform for the stream to be complete: its source deals these and
    /// no other client's does. `None` if they never end. With a shared budget it is an equal share, and a client may take more or less.
    pub fn ops_of(&self, slot: ClientIndex) -> Option<u64> {
        let total = self.ops?;
        if let Some(ops_of) = &self.ops_by_client {
            return Some(ops_of(slot));
        }
        let share = slot.share_of(total / self.passes);
        Some((share.end - share.start) * self.passes)
    }
}

impl<O: Op + 'static> OpStream<O> {
    /// The same operations `times` over: each client begins again when it has done its own. A stream that never ends stays
    /// as it is.
    pub fn repeated(self, times: u32) -> OpStream<O> {
        let Some(ops) = self.ops else { return self };
        let make = Arc::new(self.make);
        let repeat = Box::new(move |slot: ClientIndex| -> Box<dyn Workload<O>> {
            let share = slot.share_of(ops);
            let each = share.end - share.start;
            Box::new(RepeatedOps { pass: make(slot), make: make.clone(), slot, each, left: each })
        });
        let times = u64::from(times);
        let (passes, statements) = (self.passes * times, self.statements);
        let (ops, ahead) = (Some(ops * times), self.ahead);
        OpStream { ops, ops_by_client: None, passes, ahead, make: repeat, statements, shared_budget: None }
    }
}

/// The operations of a client, from the beginning again when they are over.
struct RepeatedOps<O> {
    make: Arc<MakeWorkload<O>>,
    slot: ClientIndex,
    /// Operations of one pass.
    each: u64,
    /// Those left of this pass.
    left: u64,
    pass: Box<dyn Workload<O>>,
}

impl<O: Op> Workload<O> for RepeatedOps<O> {
    fn fill_ops(&mut self, ops: &mut [O]) {
        let mut rest = ops;
        while !rest.is_empty() {
            if self.left == 0 {
                // A new source of the same client repeats the first one exactly.
                (self.pass, self.left) = ((self.make)(self.slot), self.each.max(1));
            }
            let (now, later) = rest.split_at_mut(rest.len().min(self.left as usize));
            self.pass.fill_ops(now);
            self.left -= now.len() as u64;
            rest = later;
        }
    }
}

/// A workload on files of equal length.
pub struct IoProgram {
    /// How many files there are; [`IoOp::file`] is an index into them.
    pub files: u16,
    /// How long each of them must be.
    pub file_bytes: Bytes,
    /// The size of every read and write of the run, and of the largest if they are of several sizes.
    pub block: Bytes,
    /// A power of two or a block: the offsets and sizes of all reads and writes of the run are multiples of it.
    pub granule: Bytes,
    /// The size of the largest write of the load.
    pub fill_block: Bytes,
    /// Whether the run reads.
    pub reads: bool,
    /// Whether the run writes.
    pub writes: bool,
    /// The kinds of operation.
    pub kinds: Vec<OpKindDef>,
    /// What fills the files.
    pub load: OpStream<IoOp>,
    /// Reads and writes them.
    pub run: OpStream<IoOp>,
}

/// A workload on tables of an SQL engine.
pub struct SqlProgram {
    /// The tables that must exist before the load.
    pub schema: Vec<SqlTable>,
    /// The stored procedures that must exist before the run.
    pub procedures: Vec<SqlProcedure>,
    /// The statements of the run, with `?` for each argument.
    pub statements: Vec<String>,
    /// How many rows each of them returns and changes, in their order. Of those beyond the last nothing is expected.
    pub rows: Vec<ExpectedRows>,
    /// Whether the run writes.
    pub writes: bool,
    /// The kinds of operation.
    pub kinds: Vec<OpKindDef>,
    /// Fills the tables, unless they begin empty.
    pub load: Option<SqlLoad>,
    /// What the measured operations are.
    pub work: SqlWork,
    /// Whether a client goes on by what it is answered: values for its next statement, or the end of its transaction. It may also be a
    /// terminal, which shows the answer before it thinks.
    pub needs_answers: bool,
    pub run: OpStream<SqlOp>,
    pub background: Vec<BackgroundOps<SqlOp>>,
    /// What must hold of the rows whenever no transaction is open.
    pub conditions: Vec<SqlCondition>,
    /// The tables of the user that it works on. It then makes none, and has no load.
    pub found: Option<WantedData>,
}

/// What fills the tables of a program before its run.
pub enum SqlLoad {
    /// Rows, which each engine takes in its own fastest way. An op is a block of rows: each of its calls is one row, and the number of its
    /// statement that of a target.
    Rows {
        targets: Vec<RowTarget>,
        /// The blocks, about a megabyte each. An engine adds the whole of one or nothing of it.
        blocks: OpStream<SqlOp>,
    },
    /// The statements that the plan has for its data: see [`VariantSteps::data`].
    Statements(OpStream<SqlOp>),
}

impl SqlLoad {
    pub fn ops(&self) -> &OpStream<SqlOp> {
        match self {
            SqlLoad::Rows { blocks, .. } => blocks,
            SqlLoad::Statements(statements) => statements,
        }
    }

    /// Rows for all columns of all tables of `schema`, in their order.
    pub(crate) fn of_whole_rows(schema: &[SqlTable], blocks: OpStream<SqlOp>) -> SqlLoad {
        SqlLoad::Rows { targets: schema.iter().map(RowTarget::whole).collect(), blocks }
    }
}

/// A table and the columns that rows of a load have values for, in the order of the values. The other columns are NULL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowTarget {
    /// The name of the table.
    pub table: String,
    /// The names of the columns.
    pub columns: Vec<&'static str>,
}

impl RowTarget {
    /// All columns of `table`.
    pub(crate) fn whole(table: &SqlTable) -> RowTarget {
        RowTarget { table: table.name.clone(), columns: table.columns.iter().map(|column| column.name).collect() }
    }

    /// The insert of one row, with `?` for each value.
    pub fn insert_statement(&self, quote_name: impl Fn(&str) -> String) -> String {
        let columns: Vec<String> = self.columns.iter().map(|column| quote_name(column)).collect();
        let values = vec!["?"; columns.len()].join(", ");
        format!("INSERT INTO {} ({}) VALUES ({values})", quote_name(&self.table), columns.join(", "))
    }
}

/// A condition that must hold of the rows of a workload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SqlCondition {
    /// Its number in the specification of the workload.
    pub number: u8,
    /// What must hold, in a few words.
    pub rule: &'static str,
    /// A query for the first row that breaks it, by its key; no row if it holds.
    pub query: String,
    /// The names of the columns of that row.
    pub columns: &'static [&'static str],
}

/// A workload on the tables (key spaces) of a key-value engine.
pub struct KvProgram {
    /// The key spaces; [`KvEntry::table`] is an index into them.
    pub tables: Vec<&'static str>,
    /// Whether the run writes.
    pub writes: bool,
    /// The kinds of operation.
    pub kinds: Vec<OpKindDef>,
    /// Fills the key spaces, unless they begin empty.
    pub load: Option<OpStream<KvOp>>,
    /// Whether each measured operation is a drain, as [`SqlWork::Drain`] has it.
    pub drains: bool,
    pub run: OpStream<KvOp>,
    pub background: Vec<BackgroundOps<KvOp>>,
}

/// A workload of tasks in plimsoll's own process. There is no load: what the tasks need, their engine makes from the parameters.
pub struct TaskProgram {
    /// The kinds of operation.
    pub kinds: Vec<OpKindDef>,
    /// Whether the run writes to files.
    pub writes: bool,
    pub run: OpStream<TaskOp>,
}

/// What a measured operation on an SQL engine is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SqlWork {
    /// The statements that it calls.
    Calls,
    /// The engine makes the secondary indexes of one of these tables; the operation's one call has the table's number in place of a
    /// statement's.
    Indexes(Vec<SqlTable>),
    /// The engine writes its write debt, as it does after a load.
    Drain,
    /// The statements of a recording, which are no statements of the program.
    Replay,
    /// Each is one step of a variant of a statement: its one call has the number of the step. Rows are kept and compared.
    Variant(VariantSteps),
}

/// The steps of a variant, with every placeholder filled in, and how they are executed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VariantSteps {
    /// The name of the variant.
    pub name: String,
    /// The steps in order.
    pub steps: Vec<SqlStep>,
    /// The statements that make the data.
    pub data: Vec<String>,
    /// Whether one execution that is not measured comes first.
    pub warms_up: bool,
    /// The time limit of each step; `None` for none.
    pub timeout: Option<Nanos>,
}

/// One kind of operation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OpKindDef {
    /// Its name in run files, tables and charts.
    pub name: &'static str,
    /// What its operations do.
    pub class: OpClass,
    /// How many statements one operation is, BEGIN and COMMIT included; 1 if operations are no statements.
    pub queries: f64,
    /// Whether BEGIN and COMMIT are two of them.
    pub transaction: bool,
    /// How many rows one operation inserts on average: the last of several may insert fewer.
    pub rows: f64,
}

impl OpKindDef {
    /// One statement, or none, that inserts nothing.
    pub const fn without_rows(name: &'static str, class: OpClass) -> OpKindDef {
        OpKindDef { name, class, queries: 1.0, transaction: false, rows: 0.0 }
    }

    /// One statement that inserts `rows` rows on average.
    pub const fn with_rows(name: &'static str, class: OpClass, rows: f64) -> OpKindDef {
        OpKindDef { rows, ..OpKindDef::without_rows(name, class) }
    }

    /// `calls` statements that insert nothing, with two more around them if they are a `transaction`: BEGIN and COMMIT, which are round
    /// trips like them.
    pub fn of_calls(name: &'static str, class: OpClass, calls: f64, transaction: bool) -> OpKindDef {
        let queries = calls + if transaction { 2.0 } else { 0.0 };
        OpKindDef { queries, transaction, ..OpKindDef::without_rows(name, class) }
    }

    /// The same on a connection that begins and ends a transaction without statements.
    pub fn without_begin_and_commit(self) -> OpKindDef {
        let queries = self.queries - if self.transaction { 2.0 } else { 0.0 };
        OpKindDef { queries, transaction: false, ..self }
    }
}

/// The ops of a background load, at a pace of their own.
pub struct BackgroundOps<O> {
    pub stream: OpStream<O>,
    /// Their kinds; no operation of the run is of any of these.
    pub kinds: Vec<OpKind>,
    /// How many clients perform them on one instance; `None` for one for each client of the run.
    pub clients: Option<u32>,
    /// How each of these clients is paced.
    pub pace: BackgroundPace,
}

/// A table of an SQL engine. Every insert names every column, so there are no defaults.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SqlTable {
    /// Its name: letters, digits and underscores.
    pub name: String,
    /// Its columns in order.
    pub columns: Vec<SqlColumn>,
    /// The columns of the primary key; none if it has no such key.
    pub primary_key: &'static [&'static str],
    pub indexes: Vec<SqlIndex>,
    /// Its foreign keys. They hold from the end of the load on.
    pub foreign_keys: Vec<ForeignKey>,
    /// How its rows are spread over partitions, if they are.
    pub partitions: Option<TablePartitions>,
}

/// Columns of a table whose values must be those of the primary key of a row of another table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ForeignKey {
    pub columns: &'static [&'static str],
    pub parent: &'static str,
    /// The columns of the primary key of the other table.
    pub parent_key: &'static [&'static str],
}

/// How the rows of a table are spread over partitions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TablePartitions {
    /// By ranges of the primary key, which is one column, and one more behind them for all larger keys.
    OfKeys {
        /// How many keys each of them takes; the first begins at 1.
        rows: u64,
        /// How many there are before the one for the rest.
        count: u64,
    },
    /// By ranges of a column, and one more behind them.
    Ranges {
        column: &'static str,
        /// The first value behind each of them, in rising order.
        ends: Vec<i64>,
    },
    /// By a hash of a column.
    Hash {
        column: &'static str,
        /// How many there are.
        count: u32,
    },
}

impl TablePartitions {
    /// The column that decides, in a table with this primary key.
    pub fn column(&self, primary_key: &[&'static str]) -> &'static str {
        match self {
            TablePartitions::OfKeys { .. } => primary_key[0],
            TablePartitions::Ranges { column, .. } | TablePartitions::Hash { column, .. } => column,
        }
    }

    /// The first value behind each range but the last; none of a hash.
    pub fn ends(&self) -> Vec<i64> {
        match self {
            TablePartitions::OfKeys { rows, count } => (1..=*count).map(|nth| 1 + (nth * rows) as i64).collect(),
            TablePartitions::Ranges { ends, .. } => ends.clone(),
            TablePartitions::Hash { .. } => Vec::new(),
        }
    }
}

/// A column of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SqlColumn {
    pub name: &'static str,
    pub kind: ColumnKind,
    /// Whether it refuses NULL.
    pub not_null: bool,
}

impl SqlColumn {
    /// A column that refuses NULL.
    pub(crate) const fn not_null(name: &'static str, kind: ColumnKind) -> SqlColumn {
        SqlColumn { name, kind, not_null: true }
    }
}

/// A secondary index of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SqlIndex {
    /// Its name, unique within its table only.
    pub name: String,
    /// The columns it orders by.
    pub columns: Vec<&'static str>,
    /// Whether no two rows may have the same values in it.
    pub unique: bool,
}

impl SqlIndex {
    /// An index that takes the same values twice.
    pub(crate) fn not_unique(name: impl Into<String>, columns: Vec<&'static str>) -> SqlIndex {
        SqlIndex { name: name.into(), columns, unique: false }
    }
}

/// Adds a call of `statement` with integers.
#[inline]
pub(crate) fn call_with_ints(op: &mut SqlOp, statement: u16, ints: &[i64]) {
    op.calls.push(SqlCall { statement, args: ints.len() as u16 });
    op.args.extend(ints.iter().map(|value| SqlArg::Int(*value)));
}

/// Adds the text that `write` appends as the next argument.
#[inline]
pub(crate) fn push_text(op: &mut SqlOp, write: impl FnOnce(&mut Vec<u8>)) {
    let start = op.text.len() as u32;
    write(&mut op.text);
    op.args.push(SqlArg::Text { start, len: op.text.len() as u32 - start });
}

/// Adds the entry of `key` in `table`, with the value that `write` appends behind it.
#[inline]
pub(crate) fn push_entry(op: &mut KvOp, table: u16, key: &[u8], write: impl FnOnce(&mut Vec<u8>)) {
    let start = op.bytes.len() as u32;
    op.bytes.extend_from_slice(key);
    let value_start = op.bytes.len();
    write(&mut op.bytes);
    let value_len = (op.bytes.len() - value_start) as u32;
    op.entries.push(KvEntry { table, start, key_len: key.len() as u32, value_len });
}

/// Adds the key of an entry in `table` to those that are removed.
#[inline]
pub(crate) fn push_removal(op: &mut KvOp, table: u16, key: &[u8]) {
    let start = op.bytes.len() as u32;
    op.bytes.extend_from_slice(key);
    op.removed.push(KvEntry { table, start, key_len: key.len() as u32, value_len: 0 });
}

/// What clients do with connections.
pub struct ConnectProgram {
    /// The kinds of operation.
    pub kinds: Vec<OpKindDef>,
    /// Turns of operations, or the one that holds.
    pub run: OpStream<ConnectOp>,
    /// How connections or transactions are held, if they are.
    pub hold: Option<HoldProgram>,
    /// Between connect and first query.
    pub pause: Nanos,
    /// After which a connection that is not open is given up.
    pub timeout: Nanos,
}

/// Connections or transactions that are opened and held.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HoldProgram {
    pub kind: HoldKind,
    /// The most that are opened.
    pub most: u64,
    /// The locks that each transaction takes in addition to that of its own row.
    pub locks: u64,
    /// The table that transactions write to.
    pub table: Option<SqlTable>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_shares_of_all_clients_are_the_whole_and_differ_by_one_at_most(total: u64, clients in 1u32..100) {
            let shares: Vec<_> = (0..clients).map(|client| ClientIndex { client, clients }.share_of(total)).collect();
            prop_assert_eq!((shares[0].start, shares[clients as usize - 1].end), (0, total));
            prop_assert!(shares.windows(2).all(|pair| pair[0].end == pair[1].start));
            prop_assert!(shares.iter().all(|s| s.end - s.start - total / clients as u64 <= 1));
        }
    }

    #[test]
    fn clients_of_one_count_take_all_of_it_and_less_at_once_towards_its_end() {
        let shared_budget = SharedBudget::new(10_000);
        let taken: Vec<u64> =
            std::iter::repeat_with(|| shared_budget.take_ops(64, 4)).take_while(|taken| *taken > 0).collect();
        assert_eq!((taken.iter().sum::<u64>(), taken[0], taken.last()), (10_000, 64, Some(&1)));
        assert!(taken.windows(2).all(|pair| pair[1] <= pair[0]), "{taken:?}");
        assert!(taken.iter().rev().take(8).all(|taken| *taken == 1), "{taken:?}");
        assert_eq!(SharedBudget::new(3).take_ops(64, 1), 1);
    }

    #[test]
    fn texts_and_entries_stand_where_their_places_say() {
        let mut sql = SqlOp::default();
        push_text(&mut sql, |text| text.extend_from_slice(b"one"));
        push_text(&mut sql, |text| text.extend_from_slice(b"two"));
        assert_eq!(sql.args[1], SqlArg::Text { start: 3, len: 3 });

        let mut kv = KvOp::default();
        push_entry(&mut kv, 0, b"first", |value| value.extend_from_slice(b"row"));
        push_entry(&mut kv, 3, b"k", |_| ());
        assert_eq!((kv.key(&kv.entries[0]), kv.value(&kv.entries[0])), (&b"first"[..], &b"row"[..]));
        assert_eq!((kv.key(&kv.entries[1]), kv.value(&kv.entries[1])), (&b"k"[..], &b""[..]));
    }
}
