//! The mix `custom`: operations of statements that the user wrote.
//!
//! In: the statements of a plan file, the rows, the access distribution. Out: a source of operations in which each kind comes in
//! proportion to its weight, drawn from the seed.
//! Limits: within one operation a named value is the same in all statements, and so is the table: so a transaction can delete a row
//! and put it back. Whether rows are added or taken away for good is judged by the words of the statements.

use super::mixes::{RowPicker, RowsAfter};
use super::rows::{PAD_GROUPS, push_c};
use crate::Workload;
use crate::new_ids::NewIds;
use crate::program::{OpKindDef, push_text};
use crate::random::{Rng, Words, number_below, push_digit_groups};
use model::statement::{CustomOp, CustomStatement, CustomValue, Draw, TABLE};
use model::{ExpectedRows, OpClass, OpKind, SqlArg, SqlCall, SqlOp};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

/// All operations of a mix, with their statements numbered. `V` is what a value is drawn by.
pub(crate) struct CustomMix<V> {
    /// Their statements on all tables, in the order of their numbers.
    pub(crate) statements: Vec<String>,
    /// The rows that each of them returns and changes.
    pub(crate) rows: Vec<ExpectedRows>,
    /// What one of each amounts to.
    pub(crate) kinds: Vec<OpKindDef>,
    /// Whether any changes anything.
    pub(crate) writes: bool,
    ops: Vec<OpTemplate<V>>,
    weight_total: u64,
}

struct OpTemplate<V> {
    /// The weights of all before it and its own.
    weight_up_to: u64,
    transaction: bool,
    writes: bool,
    /// The values that occur in it, each once.
    values: Vec<V>,
    calls: Vec<StatementCall>,
}

struct StatementCall {
    /// The number of its statement on the first table.
    statement: u16,
    /// Whether the statements of the other tables follow it.
    is_on_tables: bool,
    /// Which of the operation's values it takes.
    values: Vec<u16>,
}

impl<V> CustomMix<V> {
    /// The mix of `ops` on `tables` tables. `transaction`: operations of several statements are put between BEGIN and COMMIT. `value_of`
    /// makes what a value is drawn by.
    pub(crate) fn new(
        ops: &[CustomOp],
        tables: u64,
        transaction: bool,
        mut value_of: impl FnMut(&CustomValue) -> V,
    ) -> CustomMix<V> {
        let (statements, rows, kinds) = (Vec::new(), Vec::new(), Vec::new());
        let mut custom = CustomMix { statements, rows, kinds, writes: false, ops: Vec::new(), weight_total: 0 };
        ops.iter().for_each(|op| custom.add_op(op, tables, transaction, &mut value_of));
        custom
    }

    fn add_op(&mut self, op: &CustomOp, tables: u64, transaction: bool, value_of: &mut impl FnMut(&CustomValue) -> V) {
        let transaction = transaction && op.statements.len() > 1;
        let mut distinct: Vec<&CustomValue> = Vec::new();
        let mut calls = Vec::new();
        for statement in &op.statements {
            let first = self.statements.len() as u16;
            let on = if statement.is_on_tables() { tables } else { 1 };
            self.statements.extend((1..=on).map(|number| statement.text.replace(TABLE, &number.to_string())));
            self.rows.resize(self.statements.len(), expected_rows(statement));
            let values = statement.values.iter().map(|value| place_among(&mut distinct, value)).collect();
            calls.push(StatementCall { statement: first, is_on_tables: statement.is_on_tables(), values });
        }
        // An operation that reads and writes has a class of its own, because the two cost so differently.
        let writes = op.statements.iter().any(|statement| statement.writes());
        let reads = op.statements.iter().any(|statement| !statement.writes());
        let class = OpClass::from_effects(reads, writes);
        self.writes |= writes;
        self.weight_total += u64::from(op.weight);
        self.kinds.push(OpKindDef::of_calls(keep_name(&op.name), class, op.statements.len() as f64, transaction));
        let values = distinct.into_iter().map(value_of).collect();
        self.ops.push(OpTemplate { weight_up_to: self.weight_total, transaction, writes, values, calls });
    }
}

/// What is known of the rows of a statement that the user wrote: one that begins as a change is mostly one.
fn expected_rows(statement: &CustomStatement) -> ExpectedRows {
    match statement.begins_as_change() {
        true => ExpectedRows::changes(1, u64::MAX).or_fewer(),
        false => ExpectedRows::ANY,
    }
}

/// The place of `value` among the values of an operation; it is added if it is new.
fn place_among<'v>(distinct: &mut Vec<&'v CustomValue>, value: &'v CustomValue) -> u16 {
    let place = distinct.iter().position(|other| *other == value).unwrap_or_else(|| {
        distinct.push(value);
        distinct.len() - 1
    });
    place as u16
}

/// What the rows are like after a run of `ops`.
pub(crate) fn rows_after(ops: &[CustomOp]) -> RowsAfter {
    let mut statements = ops.iter().flat_map(|op| &op.statements);
    match (statements.clone().any(|statement| statement.adds_rows()), statements.any(|it| it.changes_rows())) {
        (true, _) => RowsAfter::More,
        (false, true) => RowsAfter::Fewer,
        (false, false) => RowsAfter::Kept,
    }
}

/// The name for as long as the process lives. Kinds have the names of constants everywhere else; those of a plan are few, and each
/// is kept once.
pub(crate) fn keep_name(name: &str) -> &'static str {
    static NAMES: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    let mut names = NAMES.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    match names.get(name) {
        Some(kept) => kept,
        None => {
            // Leaked on purpose: results refer to the name until the process ends.
            let kept: &'static str = Box::leak(name.to_owned().into_boxed_str());
            names.insert(kept);
            kept
        }
    }
}

/// What draws the values of one client's operations.
pub(crate) trait DrawValues: Send {
    /// What a value is drawn by.
    type Value: Send + Sync;

    /// The generator, for what is no value.
    fn rng(&mut self) -> &mut Rng;

    /// The number of the table of the next operation, from 0.
    fn pick_table(&mut self) -> u64;

    /// A value. A text becomes part of `op`.
    fn draw(&mut self, value: &Self::Value, op: &mut SqlOp) -> SqlArg;
}

pub(crate) struct CustomOps<D: DrawValues> {
    custom: Arc<CustomMix<D::Value>>,
    draws: D,
    /// The values of the operation that is being made.
    values: Vec<SqlArg>,
}

impl<D: DrawValues> CustomOps<D> {
    /// The operations of `custom`, whose values `draws` draws.
    pub(crate) fn new(custom: Arc<CustomMix<D::Value>>, draws: D) -> Self {
        CustomOps { custom, draws, values: Vec::new() }
    }
}

/// The values of sysbench's tables.
pub(crate) struct OltpDraws {
    /// Where rows and tables come from.
    pub(crate) picks: RowPicker,
    /// All clients take from these.
    pub(crate) new_ids: NewIds,
}

impl DrawValues for OltpDraws {
    type Value = Draw;

    #[inline]
    fn rng(&mut self) -> &mut Rng {
        self.picks.rng()
    }

    #[inline]
    fn pick_table(&mut self) -> u64 {
        self.picks.pick_table()
    }

    #[inline]
    fn draw(&mut self, value: &Draw, op: &mut SqlOp) -> SqlArg {
        match *value {
            Draw::Id | Draw::K => SqlArg::Int(self.picks.pick_id()),
            Draw::NewId => SqlArg::Int(self.new_ids.take()),
            Draw::Int(from, to) => SqlArg::Int(int_between(from, to, self.picks.rng())),
            Draw::C => take_text(op, |op| push_c(op, self.picks.rng())),
            Draw::Pad => {
                take_text(op, |op| push_text(op, |text| push_digit_groups(text, PAD_GROUPS, self.picks.rng())))
            }
            Draw::Text(length) => {
                take_text(op, |op| push_text(op, |text| push_letters(text, length, self.picks.rng())))
            }
            Draw::Column(_) | Draw::NewColumn(_) => unreachable!("the plan lets no column of other tables pass"),
        }
    }
}

/// A whole number from `from` to `to`, which are included.
#[inline]
pub(crate) fn int_between(from: i64, to: i64, rng: &mut Rng) -> i64 {
    // 128 bits, since the distance of two 64-bit numbers may have 65.
    let numbers = (to as i128 - from as i128 + 1).min(u64::MAX as i128) as u64;
    (from as i128 + number_below(rng.next_u64(), numbers) as i128) as i64
}

/// The text that `push` adds as an argument, which is taken back: it becomes one in each statement that uses it.
#[inline]
pub(crate) fn take_text(op: &mut SqlOp, push: impl FnOnce(&mut SqlOp)) -> SqlArg {
    push(op);
    op.args.pop().expect("a text was added")
}

/// Letters and digits that need no quotes in any language.
pub(crate) fn push_letters(text: &mut Vec<u8>, length: u32, rng: &mut Rng) {
    const LETTERS: &[u8; 36] = b"abcdefghijklmnopqrstuvwxyz0123456789";
    text.extend((0..length).map(|_| LETTERS[number_below(rng.next_u64(), LETTERS.len() as u64) as usize]));
}

impl<D: DrawValues> Workload<SqlOp> for CustomOps<D> {
    fn fill_ops(&mut self, ops: &mut [SqlOp]) {
        let custom = self.custom.clone();
        for op in ops {
            op.clear();
            let at = number_below(self.draws.rng().next_u64(), custom.weight_total);
            // The weights are running totals, so the operation is the first whose total is above the number.
            let nth = custom.ops.partition_point(|template| template.weight_up_to <= at);
            let (template, table) = (&custom.ops[nth], self.draws.pick_table() as u16);
            (op.op_kind, op.transaction, op.writes) = (OpKind(nth as u8), template.transaction, template.writes);
            self.values.clear();
            for value in &template.values {
                let drawn = self.draws.draw(value, op);
                self.values.push(drawn);
            }
            for call in &template.calls {
                let statement = call.statement + if call.is_on_tables { table } else { 0 };
                op.calls.push(SqlCall { statement, args: call.values.len() as u16 });
                op.args.extend(call.values.iter().map(|place| self.values[*place as usize]));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::OLTP;
    use super::*;
    use crate::program::{ClientIndex, ProgramInput, SqlProgram};
    use crate::tests::params;
    use crate::{DataReuse, SequenceState};
    use model::statement::CustomStatement;
    use model::{Params, Value};

    fn value(draw: Draw) -> CustomValue {
        CustomValue { draw, nth: 1 }
    }

    fn op(name: &str, weight: u32, statements: &[(&str, &[CustomValue])]) -> CustomOp {
        let statement =
            |(text, values): &(&str, &[CustomValue])| CustomStatement { text: (*text).into(), values: values.to_vec() };
        CustomOp { name: name.into(), weight, statements: statements.iter().map(statement).collect() }
    }

    fn with(ops: &[CustomOp], changes: &[(&str, &str)]) -> Params {
        let mut params = params(&OLTP.entry, &[&[("mix", "custom")], changes].concat());
        params.0.insert("statement".into(), Value::Statements(ops.to_vec()));
        params
    }

    fn program(ops: &[CustomOp], changes: &[(&str, &str)]) -> SqlProgram {
        (OLTP.sql.expect("it comes for SQL"))(&ProgramInput::new(&with(ops, changes), 1, &SequenceState::default()))
    }

    fn filled(program: &SqlProgram, count: usize) -> Vec<SqlOp> {
        let mut ops = vec![SqlOp::default(); count];
        (program.run.make)(ClientIndex { client: 0, clients: 1 }).fill_ops(&mut ops);
        ops
    }

    /// A row is read, and a row is replaced by another of the same id.
    fn two() -> [CustomOp; 2] {
        let gone_and_back: [(&str, &[CustomValue]); 2] = [
            ("DELETE FROM sbtest{table} WHERE id = ?", &[value(Draw::Id)]),
            ("INSERT INTO sbtest{table} VALUES (?, ?, ?, ?)", &[Draw::Id, Draw::K, Draw::C, Draw::Pad].map(value)),
        ];
        [
            op("read", 7, &[("SELECT c FROM sbtest{table} WHERE id = ?", &[value(Draw::Id)])]),
            op("replace", 3, &gone_and_back),
        ]
    }

    #[test]
    fn each_kind_comes_as_often_as_its_weight_says() {
        let ops = filled(&program(&two(), &[]), 100_000);
        let reads = ops.iter().filter(|op| op.op_kind == OpKind(0)).count() as f64;
        // Binomial: five standard deviations of 145.
        assert!((reads - 70_000.0).abs() < 725.0, "{reads}");
        assert_eq!(filled(&program(&two(), &[]), 1_000), ops[..1_000], "the same seed makes the same operations");
    }

    #[test]
    fn a_value_is_the_same_wherever_it_stands_in_an_operation_and_so_is_the_table() {
        let program = program(&two(), &[("tables", "3"), ("table_rows", "50")]);
        let replaced = filled(&program, 500).into_iter().filter(|op| op.op_kind == OpKind(1));
        let mut tables = BTreeSet::new();
        for op in replaced {
            let [delete, insert] = op.calls[..] else { panic!("{:?}", op.calls) };
            assert_eq!((delete.args, insert.args, op.args[0]), (1, 4, op.args[1]));
            let [delete, insert] = [delete, insert].map(|call| program.statements[call.statement as usize].as_str());
            let table = delete.strip_prefix("DELETE FROM sbtest").expect("a table")[..1].to_owned();
            assert_eq!(insert, format!("INSERT INTO sbtest{table} VALUES (?, ?, ?, ?)"));
            assert!(op.transaction && op.writes);
            tables.insert(table);
        }
        assert_eq!(tables.len(), 3);
    }

    #[test]
    fn kinds_have_the_names_of_the_plan_and_count_begin_and_commit() {
        let kinds = |transaction| program(&two(), &[("transaction", transaction)]).kinds;
        let told: Vec<(&str, f64)> = kinds("true").iter().map(|kind| (kind.name, kind.queries)).collect();
        assert_eq!(told[..2], [("read", 1.0), ("replace", 4.0)]);
        assert_eq!((told[2].0, kinds("false")[1].queries), ("load", 2.0));
    }

    #[test]
    fn further_values_are_drawn_within_their_bounds() {
        let text = "SELECT ?, ?, ?, ? FROM t";
        let values = [Draw::Int(-2, 2), Draw::Int(i64::MIN, i64::MAX), Draw::Text(5), Draw::NewId].map(value);
        let mut seen = BTreeSet::new();
        for (nth, op) in (0..).zip(filled(&program(&[op("x", 1, &[(text, &values)])], &[("table_rows", "50")]), 300)) {
            let SqlArg::Int(int) = op.args[0] else { panic!("{:?}", op.args) };
            seen.insert(int);
            assert!(op.text.len() == 5 && op.text.iter().all(u8::is_ascii_alphanumeric));
            assert_eq!(op.args[3], SqlArg::Int(51 + nth), "a new id each time");
        }
        assert_eq!(seen, (-2..=2).collect());
    }

    #[test]
    fn data_is_left_to_later_trials_where_no_rows_come_or_go() {
        let reuse = |text: &str| (OLTP.data_reuse)(&with(&[op("x", 1, &[(text, &[])])], &[]));
        assert_eq!(reuse("UPDATE sbtest1 SET k = 1"), DataReuse::Shared);
        assert_eq!(
            (reuse("DELETE FROM sbtest1"), reuse("INSERT INTO t VALUES (1)")),
            (DataReuse::Fresh, DataReuse::Fresh)
        );
        let growth = (OLTP.growth_bytes_per_op)(&with(&two(), &[]));
        assert_eq!(growth, super::super::ROW);
    }
}
