//! The OLTP benchmark of sysbench 1.0: its tables, its statements, its transactions.
//!
//! In: mix, tables, rows per table, access distribution. Out: `point_select`, one row by its key; or `read_write`, one
//! transaction of 18 statements between BEGIN and COMMIT: 10 point selects, 4 range selects over 100 rows, an index update,
//! a non-index update, and the deletion and new insertion of one row. The load part fills the tables, 1,000 rows a commit.
//! A point select takes about 5 ns to make, a transaction 200 ns, a loaded row 90 ns.
//! Limits: key-value engines have only `point_select`. Ids are given by plimsoll; rows are picked by `access` (uniform,
//! where sysbench's default is its "special" distribution). A read_write run keeps ids and row count and replaces k, c
//! and pad of single rows, so later trials may use its data set.
//!
//! Statement texts and text formats are those of sysbench's oltp_common.lua.

use crate::dist::{self, Distribution};
use crate::program::{
    Column, ColumnKind, Index, KvProgram, Part, Slot, SqlProgram, Table, call_with_ints, push_entry, push_text,
};
use crate::random::{Rng, Words, below, mix, push_digit_groups, rng, rng_of};
use crate::{Reuse, Unsupported, Workload, WorkloadDef};
use model::{Bytes, Entry, Family, KvOp, OpKind, ParamDef, ParamKind, Params, SqlArg, SqlCall, SqlOp};
use std::ops::Range;

/// `oltp`.
pub static OLTP: WorkloadDef = WorkloadDef {
    entry: Entry {
        name: "oltp",
        help: "the OLTP benchmark of sysbench: point selects, or transactions that read and write",
        families: &[Family::Sql, Family::Kv],
        params: &[MIX, TABLES, TABLE_ROWS, ACCESS],
    },
    data_reuse: Reuse::Shared,
    data_bytes,
    // Rows are replaced by rows of the same size; what they leave free is used again.
    growth_bytes_per_op: |_| Bytes(0),
    io: None,
    sql: Some(sql),
    kv: Some(kv),
};

const MIX: ParamDef = ParamDef {
    name: "mix",
    kind: ParamKind::OneOf(&["point_select", "read_write"]),
    default: "point_select",
    help: "point_select: one row by its key; read_write: a transaction of 18 statements (SQL only)",
    scales: false,
    shapes_data: false,
};
const TABLES: ParamDef = ParamDef {
    name: "tables",
    kind: ParamKind::Int { min: 1, max: 1_000 },
    default: "1",
    help: "number of tables",
    scales: false,
    shapes_data: true,
};
const TABLE_ROWS: ParamDef = ParamDef {
    name: "table_rows",
    // Ids are 32-bit integers, and a range goes up to 99 beyond the last.
    kind: ParamKind::Int { min: 1, max: 2_000_000_000 },
    default: "10000",
    help: "rows in each table",
    scales: true,
    shapes_data: true,
};
const ACCESS: ParamDef = ParamDef {
    name: "access",
    kind: ParamKind::Access,
    default: "uniform",
    help: "which rows are accessed",
    scales: false,
    shapes_data: false,
};

/// Rows that one commit of the load inserts: few enough for 200 KB of buffers, many enough that the commit does not count.
const ROWS_PER_COMMIT: u64 = 1_000;
const RANGE_ROWS: i64 = 100;
const C_GROUPS: usize = 10;
const PAD_GROUPS: usize = 5;
const RUN: OpKind = OpKind(0);
const LOAD: OpKind = OpKind(1);

/// SQLite took 208 to 217 bytes for a row and its index entry when loaded; a long read_write run leaves the pages of the
/// index two thirds full. The rest is for engines that pad the text columns with blanks or head each row with 20 bytes.
fn data_bytes(params: &Params) -> Bytes {
    const ROW: u64 = 270;
    Bytes(params.int("tables") * params.int("table_rows").max(1) * ROW)
}

fn sql(params: &Params, seed: u64) -> SqlProgram {
    let data = Data::new(params, seed);
    let access = dist::of(params.access("access"), data.rows);
    let statements = |of_table: &[Statement]| -> Vec<String> {
        (1..=data.tables).flat_map(|table| of_table.iter().map(move |statement| statement.text(table))).collect()
    };
    let read_write = params.word("mix") == "read_write";
    let (run, of_table, queries_per_op) = match read_write {
        true => (Part::new(None, 1, move |slot| ReadWrite(Picks::new(slot, data, access))), &STATEMENTS[..], 20.0),
        false => (Part::new(None, 1, move |slot| PointSelects(Picks::new(slot, data, access))), &STATEMENTS[..1], 1.0),
    };
    SqlProgram {
        schema: (1..=data.tables).map(table).collect(),
        statements: statements(of_table),
        load_statements: statements(&[Statement::Insert]),
        writes: read_write,
        kinds: vec![if read_write { "read_write" } else { "point_select" }, "load"],
        load: Some(data.load_part()),
        run,
        queries_per_op,
    }
}

fn kv(params: &Params, seed: u64) -> Result<KvProgram, Unsupported> {
    let mix = params.word("mix");
    if mix != "point_select" {
        return Err(Unsupported { workload: "oltp", param: "mix", value: mix.to_string(), instead: "point_select" });
    }
    let data = Data::new(params, seed);
    let access = dist::of(params.access("access"), data.rows);
    Ok(KvProgram {
        tables: vec!["row"],
        writes: false,
        kinds: vec!["point_select", "load"],
        load: Some(data.load_part()),
        run: Part::new(None, 1, move |slot| PointSelects(Picks::new(slot, data, access))),
    })
}

fn table(number: u64) -> Table {
    let column = |name, kind| Column { name, kind, not_null: true };
    Table {
        name: format!("sbtest{number}"),
        columns: vec![
            column("id", ColumnKind::Int),
            column("k", ColumnKind::Int),
            column("c", ColumnKind::Char(120)),
            column("pad", ColumnKind::Char(60)),
        ],
        primary_key: "id",
        indexes: vec![Index { name: format!("k_{number}"), columns: vec!["k"] }],
    }
}

/// The statements of one table, in the order in which they are prepared.
#[derive(Clone, Copy)]
enum Statement {
    PointSelect,
    SimpleRange,
    SumRange,
    OrderRange,
    DistinctRange,
    IndexUpdate,
    NonIndexUpdate,
    Delete,
    Insert,
}

use Statement::*;

const STATEMENTS: [Statement; 9] =
    [PointSelect, SimpleRange, SumRange, OrderRange, DistinctRange, IndexUpdate, NonIndexUpdate, Delete, Insert];
const RANGES: [Statement; 4] = [SimpleRange, SumRange, OrderRange, DistinctRange];

impl Statement {
    fn text(self, n: u64) -> String {
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
        }
    }

    /// Its index among the program's statements when all of them are prepared for each table.
    #[inline]
    fn of(self, table: u64) -> u16 {
        table as u16 * STATEMENTS.len() as u16 + self as u16
    }
}

/// The data set: `tables` tables (numbered from 0 here) with the ids 1 to `rows`.
#[derive(Clone, Copy)]
struct Data {
    seed: u64,
    tables: u64,
    rows: u64,
}

impl Data {
    fn new(params: &Params, seed: u64) -> Self {
        // A scaled table may have shrunk to nothing.
        Data { seed, tables: params.int("tables"), rows: params.int("table_rows").max(1) }
    }

    /// Commits that load one table.
    fn commits(&self) -> u64 {
        self.rows.div_ceil(ROWS_PER_COMMIT)
    }

    fn load_part<O: model::Op>(self) -> Part<O>
    where
        Load: Workload<O>,
    {
        let total = self.tables * self.commits();
        Part::new(Some(total), ROWS_PER_COMMIT, move |slot| Load { data: self, commits: slot.share(total) })
    }

    /// The generator of everything random in one loaded row.
    fn row_rng(&self, table: u64, id: u64) -> Rng {
        // A seed of its own keeps the rows apart from the clients' operations.
        rng_of(mix(self.seed), table << 32 | id)
    }
}

/// The client's share of the commits that fill the tables. Afterwards slots are empty transactions.
struct Load {
    data: Data,
    commits: Range<u64>,
}

impl Load {
    /// The table and ids of the next commit.
    fn next(&mut self) -> Option<(u64, Range<u64>)> {
        let commit = self.commits.next()?;
        let (table, nth) = (commit / self.data.commits(), commit % self.data.commits());
        let first = nth * ROWS_PER_COMMIT;
        Some((table, first + 1..(first + ROWS_PER_COMMIT).min(self.data.rows) + 1))
    }
}

impl Workload<SqlOp> for Load {
    fn fill(&mut self, ops: &mut [SqlOp]) {
        for op in ops {
            op.clear();
            (op.op_kind, op.transaction, op.writes) = (LOAD, true, true);
            let Some((table, ids)) = self.next() else { continue };
            for id in ids {
                let mut rng = self.data.row_rng(table, id);
                let k = 1 + below(rng.next_u64(), self.data.rows);
                push_insert(op, table as u16, id as i64, k as i64, &mut rng);
            }
        }
    }
}

impl Workload<KvOp> for Load {
    fn fill(&mut self, ops: &mut [KvOp]) {
        for op in ops {
            op.clear();
            op.op_kind = LOAD;
            let Some((table, ids)) = self.next() else { continue };
            for id in ids {
                let mut rng = self.data.row_rng(table, id);
                push_entry(op, 0, &kv_key(table, id), |value| {
                    let k = 1 + below(rng.next_u64(), self.data.rows) as u32;
                    value.extend_from_slice(&k.to_be_bytes());
                    push_digit_groups(value, C_GROUPS, &mut rng);
                    push_digit_groups(value, PAD_GROUPS, &mut rng);
                });
            }
        }
    }
}

/// All tables are in one key space: number of the table, then the id, both 32-bit big-endian.
#[inline]
fn kv_key(table: u64, id: u64) -> [u8; 8] {
    (table << 32 | id).to_be_bytes()
}

fn push_insert(op: &mut SqlOp, statement: u16, id: i64, k: i64, rng: &mut Rng) {
    op.calls.push(SqlCall { statement, args: 4 });
    op.args.extend([SqlArg::Int(id), SqlArg::Int(k)]);
    push_text(op, |text| push_digit_groups(text, C_GROUPS, rng));
    push_text(op, |text| push_digit_groups(text, PAD_GROUPS, rng));
}

/// How one client picks tables and rows.
struct Picks {
    rng: Rng,
    tables: u64,
    access: Distribution,
}

impl Picks {
    fn new(slot: Slot, data: Data, access: Distribution) -> Self {
        Picks { rng: rng(data.seed, slot.client), tables: data.tables, access }
    }

    #[inline]
    fn table(&mut self) -> u64 {
        below(self.rng.next_u64(), self.tables)
    }

    #[inline]
    fn id(&mut self) -> i64 {
        1 + self.access.draw(&mut self.rng) as i64
    }
}

/// One row by its key.
struct PointSelects(Picks);

impl Workload<SqlOp> for PointSelects {
    fn fill(&mut self, ops: &mut [SqlOp]) {
        for op in ops {
            op.clear();
            op.op_kind = RUN;
            // Each table has this one statement.
            call_with_ints(op, self.0.table() as u16, &[self.0.id()]);
        }
    }
}

impl Workload<KvOp> for PointSelects {
    fn fill(&mut self, ops: &mut [KvOp]) {
        for op in ops {
            op.clear();
            (op.op_kind, op.get) = (RUN, true);
            push_entry(op, 0, &kv_key(self.0.table(), self.0.id() as u64), |_| ());
        }
    }
}

/// sysbench's oltp_read_write transaction; each step picks its table, the ten point selects share one.
struct ReadWrite(Picks);

impl Workload<SqlOp> for ReadWrite {
    fn fill(&mut self, ops: &mut [SqlOp]) {
        for op in ops {
            op.clear();
            (op.op_kind, op.transaction, op.writes) = (RUN, true, true);
            self.selects(op);
            self.updates(op);
            self.delete_and_insert(op);
        }
    }
}

impl ReadWrite {
    fn selects(&mut self, op: &mut SqlOp) {
        let table = self.0.table();
        for _ in 0..10 {
            call_with_ints(op, PointSelect.of(table), &[self.0.id()]);
        }
        for range in RANGES {
            let (table, id) = (self.0.table(), self.0.id());
            call_with_ints(op, range.of(table), &[id, id + RANGE_ROWS - 1]);
        }
    }

    fn updates(&mut self, op: &mut SqlOp) {
        call_with_ints(op, IndexUpdate.of(self.0.table()), &[self.0.id()]);
        op.calls.push(SqlCall { statement: NonIndexUpdate.of(self.0.table()), args: 2 });
        push_text(op, |text| push_digit_groups(text, C_GROUPS, &mut self.0.rng));
        op.args.push(SqlArg::Int(self.0.id()));
    }

    fn delete_and_insert(&mut self, op: &mut SqlOp) {
        let (table, id, k) = (self.0.table(), self.0.id(), self.0.id());
        call_with_ints(op, Delete.of(table), &[id]);
        push_insert(op, Insert.of(table), id, k, &mut self.0.rng);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::params;
    use std::collections::BTreeMap;

    const ALONE: Slot = Slot { client: 0, clients: 1 };

    fn sql_with(changes: &[(&str, &str)]) -> SqlProgram {
        sql(&params(&OLTP.entry, changes), 1)
    }

    fn filled<O: model::Op>(part: &Part<O>, slot: Slot, count: usize) -> Vec<O> {
        let mut ops: Vec<O> = std::iter::repeat_with(O::default).take(count).collect();
        (part.make)(slot).fill(&mut ops);
        ops
    }

    /// The calls of `op` with their arguments as text.
    fn shown(op: &SqlOp, statements: &[String]) -> Vec<(String, Vec<String>)> {
        let mut args = op.args.iter().map(|arg| match arg {
            SqlArg::Int(value) => value.to_string(),
            SqlArg::Text { start, len } => {
                String::from_utf8(op.text[*start as usize..][..*len as usize].to_vec()).expect("digits")
            }
            SqlArg::Float(value) => panic!("{value} in a table without floats"),
        });
        let call = |call: &SqlCall| {
            (statements[call.statement as usize].clone(), args.by_ref().take(call.args as usize).collect())
        };
        op.calls.iter().map(call).collect()
    }

    #[test]
    fn the_table_is_that_of_sysbench() {
        let table = sql_with(&[("tables", "2")]).schema.remove(1);
        let columns: Vec<_> = table.columns.iter().map(|column| (column.name, column.kind)).collect();
        let (c, pad) = (("c", ColumnKind::Char(120)), ("pad", ColumnKind::Char(60)));
        assert_eq!(columns, [("id", ColumnKind::Int), ("k", ColumnKind::Int), c, pad]);
        assert_eq!((table.name.as_str(), table.primary_key), ("sbtest2", "id"));
        assert_eq!(table.indexes, [Index { name: "k_2".into(), columns: vec!["k"] }]);
    }

    #[test]
    fn a_point_select_reads_one_existing_row_of_any_table() {
        let program = sql_with(&[("tables", "3"), ("table_rows", "50")]);
        let ops = filled(&program.run, ALONE, 500);
        let mut seen = BTreeMap::new();
        for op in &ops {
            let calls = shown(op, &program.statements);
            let (text, args) = &calls[0];
            assert_eq!((calls.len(), args.len(), op.transaction, op.writes), (1, 1, false, false));
            assert!((1..=50).contains(&args[0].parse::<u32>().expect("an id")));
            *seen.entry(text.clone()).or_insert(0) += 1;
        }
        let expected = [1, 2, 3].map(|n| format!("SELECT c FROM sbtest{n} WHERE id=?"));
        assert_eq!(seen.into_keys().collect::<Vec<_>>(), expected);
        assert_eq!((program.kinds, program.writes, program.queries_per_op), (vec!["point_select", "load"], false, 1.0));
    }

    #[test]
    fn a_read_write_transaction_is_that_of_sysbench() {
        let program = sql_with(&[("mix", "read_write")]);
        let op = filled(&program.run, ALONE, 1).remove(0);
        let calls = shown(&op, &program.statements);
        let texts: Vec<&str> = calls.iter().map(|(text, _)| text.as_str()).collect();
        assert_eq!(texts[..10], ["SELECT c FROM sbtest1 WHERE id=?"; 10]);
        assert_eq!(
            texts[10..],
            [
                "SELECT c FROM sbtest1 WHERE id BETWEEN ? AND ?",
                "SELECT SUM(k) FROM sbtest1 WHERE id BETWEEN ? AND ?",
                "SELECT c FROM sbtest1 WHERE id BETWEEN ? AND ? ORDER BY c",
                "SELECT DISTINCT c FROM sbtest1 WHERE id BETWEEN ? AND ? ORDER BY c",
                "UPDATE sbtest1 SET k=k+1 WHERE id=?",
                "UPDATE sbtest1 SET c=? WHERE id=?",
                "DELETE FROM sbtest1 WHERE id=?",
                "INSERT INTO sbtest1 (id, k, c, pad) VALUES (?, ?, ?, ?)",
            ]
        );
        assert!(op.transaction && op.writes && program.writes);
        assert_eq!(program.queries_per_op, calls.len() as f64 + 2.0);
    }

    #[test]
    fn a_read_write_transaction_puts_back_the_row_that_it_deletes_and_its_ranges_are_100_rows() {
        let program = sql_with(&[("mix", "read_write"), ("tables", "4")]);
        for op in filled(&program.run, ALONE, 100) {
            let calls = shown(&op, &program.statements);
            let (deleted, inserted) = (&calls[16], &calls[17]);
            assert_eq!(deleted.1[0], inserted.1[0]);
            let table_of = |text: &str| text.split_once("sbtest").map(|(_, rest)| rest[..1].to_string());
            assert_eq!(table_of(&deleted.0), table_of(&inserted.0));
            assert_eq!((inserted.1[2].len(), inserted.1[3].len(), calls[15].1[0].len()), (119, 59, 119));
            for (_, args) in &calls[10..14] {
                assert_eq!(args[1].parse::<i64>().expect("an id") - args[0].parse::<i64>().expect("an id"), 99);
            }
        }
    }

    #[test]
    fn the_load_of_all_clients_inserts_every_id_of_every_table_once() {
        let program = sql_with(&[("tables", "2"), ("table_rows", "2500")]);
        let load = program.load.as_ref().expect("the tables are filled");
        assert_eq!(load.ops, Some(6));
        let mut ids: BTreeMap<String, Vec<u32>> = BTreeMap::new();
        for client in 0..4 {
            let slot = Slot { client, clients: 4 };
            let count = load.ops_of(slot).expect("the load ends") as usize;
            let ops = filled(load, slot, count + 1);
            assert!(ops[count].calls.is_empty(), "beyond its share a client does nothing");
            for (text, args) in ops.iter().flat_map(|op| shown(op, &program.load_statements)) {
                ids.entry(text).or_default().push(args[0].parse().expect("an id"));
                assert!((1..=2500).contains(&args[1].parse::<u32>().expect("a k")));
                assert_eq!((args[2].len(), args[3].len()), (119, 59));
            }
        }
        assert_eq!(ids.len(), 2);
        assert!(ids.into_values().all(|ids| ids == (1..=2500).collect::<Vec<_>>()));
    }

    #[test]
    fn the_data_set_is_the_same_whatever_the_number_of_clients_and_the_mix() {
        let rows = |mix, clients| -> Vec<_> {
            let program = sql_with(&[("mix", mix), ("table_rows", "3000")]);
            let load = program.load.as_ref().expect("the tables are filled");
            let slots = (0..clients).map(|client| Slot { client, clients });
            let ops = slots.flat_map(|slot| filled(load, slot, load.ops_of(slot).expect("the load ends") as usize));
            ops.flat_map(|op| shown(&op, &program.load_statements)).collect()
        };
        assert_eq!(rows("point_select", 1), rows("read_write", 3));
    }

    #[test]
    fn keys_read_on_a_key_value_engine_are_keys_that_were_loaded() {
        let params = params(&OLTP.entry, &[("tables", "2"), ("table_rows", "1500")]);
        let program = kv(&params, 1).expect("point selects are supported");
        let load = filled(program.load.as_ref().expect("the key space is filled"), ALONE, 4);
        let keys: Vec<&[u8]> = load.iter().flat_map(|op| op.entries.iter().map(|entry| op.key(entry))).collect();
        assert_eq!(keys.len(), 3_000);
        assert!(keys.is_sorted_by(|a, b| a < b));
        assert!(load.iter().all(|op| !op.get && op.entries.iter().all(|entry| entry.value_len == 4 + 119 + 59)));
        for op in filled(&program.run, ALONE, 500) {
            assert!(op.get && op.entries.len() == 1);
            assert!(keys.binary_search(&op.key(&op.entries[0])).is_ok());
        }
    }

    #[test]
    fn a_key_value_engine_refuses_read_write_and_says_what_to_use() {
        let refused = kv(&params(&OLTP.entry, &[("mix", "read_write")]), 1).err().expect("a refusal").to_string();
        let expected = "workload `oltp` with mix = `read_write` does not exist for key-value engines";
        assert_eq!(refused, format!("{expected}; use mix = `point_select`"));
    }
}
