//! The OLTP benchmark of sysbench 1.0: its tables, its statements, its mixes.
//!
//! In: mix, tables, rows per table, access distribution; or the tables that sysbench has made. Out: one transaction, or one statement, an operation. `read_write`
//! is 18 statements between BEGIN and COMMIT: 10 point selects, 4 range selects over 100 rows, an index update, a non-index
//! update, and the deletion and new insertion of one row; `read_only` and `write_only` are its halves.
//! Limits: key-value engines have only `point_select`. Ids are given by plimsoll; rows are picked by `access` (uniform
//! by default; sysbench's default is `special`). Mixes that keep ids and row count leave the data set to later trials;
//! `insert` and `delete` do not. A `delete` of a row that is gone already deletes nothing, as in sysbench.
//!
//! `rows` is the data, `mixes` what is done with it, `custom` what a user wishes to do with it.

pub(crate) mod custom;
pub(crate) mod mixes;
pub(crate) mod rows;

use crate::background;
use crate::distribution::{self, Distribution};
use crate::found::{WantedData, WantedTables};
use crate::new_ids::NewIds;
use crate::program::{
    ColumnKind, KvProgram, OpKindDef, OpStream, ProgramInput, SqlColumn, SqlIndex, SqlLoad, SqlProgram, SqlTable,
    SqlWork,
};
use crate::{DataReuse, UnsupportedParam, WorkloadDef};
use custom::{CustomMix, CustomOps, OltpDraws};
use mixes::{MIXES, MixLengths, MixOps, OltpMix, PointGets, RowPicker, RowsAfter};
use model::{
    Bytes, DefaultIf, Entry, ExpectedRows, Family, OpClass, OpKind, ParamDef, ParamKind, ParamRole, Params, Phrase,
    SqlOp, UsedIf, WorkTraits,
};
use rows::OltpData;
use std::sync::Arc;

pub static OLTP: WorkloadDef = WorkloadDef {
    entry: Entry {
        name: "oltp",
        spoken: "transactions",
        help: "the OLTP benchmark of sysbench: point selects, transactions that read and write, and single statements",
        families: &[Family::Sql, Family::Kv],
        params: &[
            MIX,
            STATEMENT,
            TABLES_OF,
            ALLOW_WRITES,
            TABLES_MADE_OR_FOUND,
            ROWS_MADE_OR_FOUND,
            INDEX_IF_MADE,
            TRANSACTION,
            RANGE_ROWS,
            ACCESS,
            background::ON_ROWS,
        ],
    },
    traits: |_| WorkTraits::default(),
    data_reuse: |params| match rows_after(params) {
        RowsAfter::Kept => DataReuse::Shared,
        RowsAfter::Fewer | RowsAfter::More => DataReuse::Fresh,
    },
    data_bytes: |params| if is_found(params) { Bytes(0) } else { data_bytes(params) },
    // Rows are replaced by rows of the same size; what they leave free is used again.
    growth_bytes_per_op: |params| match rows_after(params) {
        RowsAfter::Kept | RowsAfter::Fewer => Bytes(0),
        RowsAfter::More => Bytes(ROW.0 * inserts_at_most(params)),
    },
    io: None,
    sql: Some(sql_program),
    kv: Some(kv_program),
    task: None,
    connect: None,
    steps_without_kv: &[],
    usual_keys: &[],
};

const MIX: ParamDef = ParamDef {
    help: "the operation: one statement, or a transaction of 14 (`read_only`), 4 (`write_only`) or 18 (`read_write`) statements; \
           `custom` (in plan files only) = the statements of the plan; fjall and rocksdb perform `point_select` only",
    phrase: Phrase::Words(&[
        ("point_select", "point selects"),
        ("read_only", "read-only transactions"),
        ("write_only", "write-only transactions"),
        ("read_write", "read-write transactions"),
        ("update_index", "updates of an indexed column"),
        ("update_non_index", "updates of a column without an index"),
        ("insert", "inserts of single rows"),
        ("delete", "deletes of single rows"),
        ("select_random_points", "selects of ten random rows"),
        ("select_random_ranges", "selects of ten random ranges"),
        (CUSTOM, "statements of your own"),
    ]),
    ..ParamDef::new("mix", ParamRole::Mix, ParamKind::OneOf(&MIX_NAMES), "point_select")
};
const STATEMENT: ParamDef = ParamDef {
    help: "statements to run if mix = `custom`, each with a name and a weight",
    used_if: Some(UsedIf::one_of("mix", &[CUSTOM])),
    ..ParamDef::new("statement", ParamRole::Work, ParamKind::Statements { if_word: Some(("mix", CUSTOM)) }, "")
};
const TABLES_OF: ParamDef = ParamDef {
    help: "whose tables are used: `plimsoll` makes them and removes them at the end; `sysbench` = the tables sbtest1, sbtest2 and so on that \
           `sysbench prepare` made in the database of --engine mysql://USER@HOST/DATABASE or postgres://USER@HOST/DATABASE: nothing is \
           created, altered or dropped there",
    shapes_data: true,
    phrase: Phrase::Words(&[(PLIMSOLL, "tables that plimsoll made"), (SYSBENCH, "tables that sysbench made")]),
    ..ParamDef::new("tables_of", ParamRole::Ground, ParamKind::OneOf(&[PLIMSOLL, SYSBENCH]), PLIMSOLL)
};
const ALLOW_WRITES: ParamDef = ParamDef {
    help: "let mixes that write change the rows of your tables; without it only mixes that read, in read-only transactions",
    used_if: Some(UsedIf::one_of("tables_of", &[SYSBENCH])),
    ..ParamDef::new("allow_writes", ParamRole::Work, ParamKind::Bool, "false")
};
/// As many as there are, which is nothing that one can write.
const ALL_FOUND: DefaultIf = DefaultIf { param: "tables_of", word: SYSBENCH, value: 0 };
const TABLES_MADE_OR_FOUND: ParamDef = ParamDef {
    help: "number of tables; with tables_of = `sysbench` the first so many of those that are there, and all of them by default",
    default_if: Some(ALL_FOUND),
    ..TABLES
};
const ROWS_MADE_OR_FOUND: ParamDef = ParamDef {
    help: "rows in each table; with tables_of = `sysbench` the first so many of those that are there, and all of them by default",
    default_if: Some(ALL_FOUND),
    ..TABLE_ROWS
};
const INDEX_IF_MADE: ParamDef = ParamDef { used_if: Some(UsedIf::one_of("tables_of", &[PLIMSOLL])), ..SECONDARY_INDEX };
pub(crate) const TABLES: ParamDef = ParamDef {
    help: "number of tables",
    shapes_data: true,
    phrase: Phrase::Counted { zero: "all tables", one: "one table", many: "{} tables" },
    ..ParamDef::new("tables", ParamRole::Size, ParamKind::Int { min: 1, max: 1_000 }, "1")
};
pub(crate) const TABLE_ROWS: ParamDef = ParamDef {
    // Ids are 32-bit integers, and a range goes beyond the last by its rows.
    help: "rows in each table",
    scales: true,
    shapes_data: true,
    phrase: Phrase::Counted { zero: "all rows per table", one: "one row per table", many: "{} rows per table" },
    ..ParamDef::new("table_rows", ParamRole::DataSize, ParamKind::Int { min: 1, max: 2_000_000_000 }, "10000")
};
pub(crate) const SECONDARY_INDEX: ParamDef = ParamDef {
    help: "create an index on column k of each table",
    shapes_data: true,
    phrase: Phrase::Words(&[("true", "one secondary index"), ("false", "no secondary index")]),
    ..ParamDef::new("secondary_index", ParamRole::Ground, ParamKind::Bool, "true")
};
const TRANSACTION: ParamDef = ParamDef {
    help: "run the statements of `read_only`, `write_only`, `read_write`, and each list of `custom`, inside one transaction",
    phrase: Phrase::Words(&[("true", "one transaction"), ("false", "a commit per statement")]),
    ..ParamDef::new("transaction", ParamRole::Work, ParamKind::Bool, "true")
};
const RANGE_ROWS: ParamDef = ParamDef {
    help: "rows in each range of `read_only` and `read_write` (sysbench: range_size)",
    used_if: Some(UsedIf::one_of("mix", &["read_only", "read_write"])),
    phrase: Phrase::Counted { zero: "empty ranges", one: "ranges of one row", many: "ranges of {} rows" },
    ..ParamDef::new("range_rows", ParamRole::Work, ParamKind::Int { min: 1, max: RANGE_ROWS_MAX }, "100")
};
pub(crate) const ACCESS: ParamDef = ParamDef {
    help: "distribution of the rows that statements use; sysbench's default is `special`",
    phrase: crate::distribution::PHRASE,
    ..ParamDef::new("access", ParamRole::Work, ParamKind::Access, "uniform")
};

/// The most rows of a range.
pub(crate) const RANGE_ROWS_MAX: u64 = 100_000_000;

/// The mix that a plan file spells out.
const CUSTOM: &str = "custom";

/// Who has made the tables.
const PLIMSOLL: &str = "plimsoll";
const SYSBENCH: &str = "sysbench";

const MIX_NAMES: [&str; MIXES.len() + 1] = {
    let mut names = [CUSTOM; MIXES.len() + 1];
    let mut nth = 0;
    while nth < MIXES.len() {
        names[nth] = MIXES[nth].name;
        nth += 1;
    }
    names
};

const RUN: OpKind = OpKind(0);
/// The kind of the load, if the run has one kind of operation.
const AFTER_ONE: OpKind = OpKind(1);

/// SQLite took 208 to 217 bytes for a row and its index entry when loaded; a long read_write run leaves the pages of the
/// index two thirds full. The rest is for engines that pad the text columns with blanks or head each row with 20 bytes.
pub(crate) const ROW: Bytes = Bytes(270);

/// The space that the loaded tables take.
pub(crate) fn data_bytes(params: &Params) -> Bytes {
    Bytes(params.int("tables") * params.int("table_rows").max(1) * ROW.0)
}

/// Whether the tables are there already.
fn is_found(params: &Params) -> bool {
    // The workload `micro` makes its own.
    params.0.get(TABLES_OF.name).is_some_and(|made_by| made_by.to_string() == SYSBENCH)
}

/// What is asked of tables that are there already; `None` if plimsoll makes them.
fn wanted_data(params: &Params) -> Option<WantedData> {
    let given = |name: &str| Some(params.int(name)).filter(|number| *number > 0);
    is_found(params).then(|| WantedData {
        asked: "tables_of = `sysbench`",
        allows_writes: params.flag(ALLOW_WRITES.name),
        tables: WantedTables::Sysbench { tables: given(TABLES.name), rows: given(TABLE_ROWS.name) },
    })
}

/// What the tables are like after a run.
fn rows_after(params: &Params) -> RowsAfter {
    match params.word("mix") {
        CUSTOM => custom::rows_after(params.statements(STATEMENT.name)),
        mix => OltpMix::by_name(mix).rows,
    }
}

/// The most rows that one operation of a mix that adds rows adds.
fn inserts_at_most(params: &Params) -> u64 {
    let ops = params.statements(STATEMENT.name).iter();
    ops.map(|op| op.statements.iter().filter(|it| it.adds_rows()).count() as u64).max().unwrap_or(1)
}

fn sql_program(input: &ProgramInput) -> SqlProgram {
    match input.params.word("mix") {
        CUSTOM => custom_sql(input),
        mix => mix_sql(input, OltpMix::by_name(mix)),
    }
}

fn custom_sql(input: &ProgramInput) -> SqlProgram {
    let params = input.params;
    let data = OltpData::new(input);
    let access = distribution::from_access(params.access("access"), data.rows);
    let ops = params.statements(STATEMENT.name);
    let custom = Arc::new(CustomMix::new(ops, data.tables, params.flag("transaction"), |value| value.draw.clone()));
    let new_ids = NewIds::after(data.last_id, input.clients);
    let load = OpKind(custom.kinds.len() as u8);
    let (statements, rows, writes) = (custom.statements.clone(), custom.rows.clone(), custom.writes);
    let kinds = custom.kinds.iter().copied().chain((!is_found(params)).then(|| data.load_kind())).collect();
    let run = OpStream::new(None, 1, move |slot| {
        CustomOps::new(
            custom.clone(),
            OltpDraws { picks: RowPicker::new(slot, data, access), new_ids: new_ids.clone() },
        )
    });
    SqlProgram { statements, rows, writes, kinds, ..on_tables(params, data, load, run) }
}

/// The tables, how operations of the kind `load` fill them, and `run`, whose statements and kinds are still to be named. Tables that are
/// there already are neither made nor filled.
fn on_tables(params: &Params, data: OltpData, load: OpKind, run: OpStream<SqlOp>) -> SqlProgram {
    let found = wanted_data(params);
    let made = if found.is_some() { 0 } else { data.tables };
    let schema: Vec<SqlTable> = (1..=made).map(|number| define_table(number, params.flag("secondary_index"))).collect();
    SqlProgram {
        load: found.is_none().then(|| SqlLoad::of_whole_rows(&schema, data.load_stream(load))),
        schema,
        found,
        procedures: Vec::new(),
        statements: Vec::new(),
        rows: Vec::new(),
        writes: false,
        kinds: Vec::new(),
        work: SqlWork::Calls,
        needs_answers: false,
        run,
        background: Vec::new(),
        conditions: Vec::new(),
    }
}

fn mix_sql(input: &ProgramInput, mix: &'static OltpMix) -> SqlProgram {
    let params = input.params;
    let lengths = MixLengths { range_rows: params.int("range_rows"), ..NO_LENGTHS };
    let access = distribution::from_access(params.access("access"), OltpData::new(input).rows);
    mix_program(input, MixRun { mix, lengths, access, transaction: params.flag("transaction") })
}

/// What a run performs of a mix.
#[derive(Clone, Copy)]
pub(crate) struct MixRun {
    /// The statements of an operation.
    pub(crate) mix: &'static OltpMix,
    /// The lengths of its lists and ranges.
    pub(crate) lengths: MixLengths,
    /// How its rows are drawn.
    pub(crate) access: Distribution,
    /// Whether an operation of several statements is a transaction.
    pub(crate) transaction: bool,
}

/// For mixes without lists.
const NO_LENGTHS: MixLengths = MixLengths { range_rows: 1, list_points: 0 };
/// The values of a list that take the space of one row, of which [`OpStream::new`] counts how many an operation has.
const POINTS_PER_ROW: u64 = 16;

/// The program of `run` on the tables that the parameters describe.
pub(crate) fn mix_program(input: &ProgramInput, run: MixRun) -> SqlProgram {
    let MixRun { mix, lengths, access, transaction } = run;
    let data = OltpData::new(input);
    let transaction = transaction && mix.call_count() > 1;
    let new_ids = NewIds::after(data.last_id, input.clients);
    let statements = mix.statements();
    // By table first: the number of a statement is then a multiple for its table plus its place in the mix.
    let on_every_table = (1..=data.tables).flat_map(|table| statements.iter().map(move |it| it.to_sql(table, lengths)));
    let are_there = mix.rows_are_there(transaction) && !background::changes_rows(input.params);
    let rows = statements.iter().map(|it| it.expected_rows(lengths, are_there));
    let rows: Vec<ExpectedRows> = rows.map(|rows| if mix.replaces() { rows.while_replaced() } else { rows }).collect();
    let of_run = OpKindDef::of_calls(mix.name, mix.op_class(), mix.call_count().into(), transaction);
    let run = OpStream::new(None, mix.listed(lengths).div_ceil(POINTS_PER_ROW), move |slot| {
        MixOps::new(mix, lengths, transaction, RowPicker::new(slot, data, access), new_ids.clone())
    });
    SqlProgram {
        statements: on_every_table.collect(),
        rows: rows.repeat(data.tables as usize),
        writes: mix.writes(),
        kinds: std::iter::once(of_run).chain((!is_found(input.params)).then(|| data.load_kind())).collect(),
        ..on_tables(input.params, data, AFTER_ONE, run)
    }
}

fn kv_program(input: &ProgramInput) -> Result<KvProgram, UnsupportedParam> {
    let params = input.params;
    for (param, instead) in [(MIX.name, "point_select"), (TABLES_OF.name, PLIMSOLL)] {
        let value = params.word(param);
        if value != instead {
            return Err(UnsupportedParam { workload: "oltp", param, value: value.to_string(), instead });
        }
    }
    let data = OltpData::new(input);
    let access = distribution::from_access(params.access("access"), data.rows);
    Ok(KvProgram {
        tables: vec!["row"],
        writes: false,
        kinds: vec![OpKindDef::without_rows("point_select", OpClass::Read), data.load_kind()],
        load: Some(data.load_stream(AFTER_ONE)),
        drains: false,
        run: OpStream::new(None, 1, move |slot| PointGets(RowPicker::new(slot, data, access))),
        background: Vec::new(),
    })
}

fn define_table(number: u64, secondary_index: bool) -> SqlTable {
    let index = secondary_index.then(|| SqlIndex::not_unique(format!("k_{number}"), vec!["k"]));
    SqlTable {
        name: format!("sbtest{number}"),
        columns: vec![
            SqlColumn::not_null("id", ColumnKind::Int),
            SqlColumn::not_null("k", ColumnKind::Int),
            SqlColumn::not_null("c", ColumnKind::Char(120)),
            SqlColumn::not_null("pad", ColumnKind::Char(60)),
        ],
        primary_key: &["id"],
        indexes: index.into_iter().collect(),
        foreign_keys: Vec::new(),
        partitions: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SequenceState;
    use crate::program::ClientIndex;
    use crate::tests::params;
    use model::{KvAction, SqlArg, SqlCall};
    use std::collections::{BTreeMap, BTreeSet};

    const ALONE: ClientIndex = ClientIndex { client: 0, clients: 1 };

    fn sql_with(changes: &[(&str, &str)]) -> SqlProgram {
        sql_program(&ProgramInput::new(&params(&OLTP.entry, changes), 1, &SequenceState::default()))
    }

    fn filled<O: model::Op>(stream: &OpStream<O>, slot: ClientIndex, count: usize) -> Vec<O> {
        let mut ops: Vec<O> = std::iter::repeat_with(O::default).take(count).collect();
        (stream.make)(slot).fill_ops(&mut ops);
        ops
    }

    /// The calls of `op` with their arguments as text.
    fn shown(op: &SqlOp, statements: &[String]) -> Vec<(String, Vec<String>)> {
        let mut args = op.args.iter().map(|arg| match arg {
            SqlArg::Int(value) => value.to_string(),
            SqlArg::Text { start, len } => {
                String::from_utf8(op.text[*start as usize..][..*len as usize].to_vec()).expect("digits")
            }
            other => panic!("{other:?} in a table of integers and texts"),
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
        assert_eq!((table.name.as_str(), table.primary_key), ("sbtest2", &["id"][..]));
        assert_eq!(table.indexes, [SqlIndex::not_unique("k_2", vec!["k"])]);
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
        assert_eq!((program.kinds[0], program.writes), (OpKindDef::without_rows("point_select", OpClass::Read), false));
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
        let kind = program.kinds[0];
        assert_eq!(
            (kind.queries, kind.without_begin_and_commit().queries),
            (calls.len() as f64 + 2.0, calls.len() as f64)
        );
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

    /// The blocks of the load of `program`, and inserts of rows into its targets.
    fn load_of(program: &SqlProgram) -> (&OpStream<SqlOp>, Vec<String>) {
        let Some(SqlLoad::Rows { targets, blocks }) = &program.load else { panic!("the tables are filled") };
        (blocks, targets.iter().map(|target| target.insert_statement(str::to_owned)).collect())
    }

    #[test]
    fn the_load_of_all_clients_inserts_every_id_of_every_table_once() {
        let program = sql_with(&[("tables", "2"), ("table_rows", "2500")]);
        let (load, inserts) = load_of(&program);
        assert_eq!(load.ops, Some(2));
        let mut ids: BTreeMap<String, Vec<u32>> = BTreeMap::new();
        for client in 0..4 {
            let slot = ClientIndex { client, clients: 4 };
            let count = load.ops_of(slot).expect("the load ends") as usize;
            let ops = filled(load, slot, count + 1);
            assert!(ops[count].calls.is_empty(), "beyond its share a client does nothing");
            for (text, args) in ops.iter().flat_map(|op| shown(op, &inserts)) {
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
            let (load, inserts) = load_of(&program);
            let slots = (0..clients).map(|client| ClientIndex { client, clients });
            let ops = slots.flat_map(|slot| filled(load, slot, load.ops_of(slot).expect("the load ends") as usize));
            ops.flat_map(|op| shown(&op, &inserts)).collect()
        };
        assert_eq!(rows("point_select", 1), rows("read_write", 3));
    }

    #[test]
    fn keys_read_on_a_key_value_engine_are_keys_that_were_loaded() {
        let params = params(&OLTP.entry, &[("tables", "2"), ("table_rows", "1500")]);
        let program =
            kv_program(&ProgramInput::new(&params, 1, &SequenceState::default())).expect("point selects are supported");
        let load = filled(program.load.as_ref().expect("the key space is filled"), ALONE, 4);
        let keys: Vec<&[u8]> = load.iter().flat_map(|op| op.entries.iter().map(|entry| op.key(entry))).collect();
        assert_eq!(keys.len(), 3_000);
        assert!(keys.is_sorted_by(|a, b| a < b));
        assert!(
            load.iter()
                .all(|op| op.action == KvAction::Put && op.entries.iter().all(|entry| entry.value_len == 4 + 119 + 59))
        );
        for op in filled(&program.run, ALONE, 500) {
            assert!(op.action == KvAction::Get && op.entries.len() == 1);
            assert!(keys.binary_search(&op.key(&op.entries[0])).is_ok());
        }
    }

    #[test]
    fn a_key_value_engine_refuses_read_write_and_says_what_to_use() {
        let refused = kv_program(&ProgramInput::new(
            &params(&OLTP.entry, &[("mix", "read_write")]),
            1,
            &SequenceState::default(),
        ))
        .err()
        .expect("a refusal")
        .to_string();
        let expected = "a key-value engine cannot run workload `oltp` with mix = `read_write`";
        assert_eq!(refused, format!("{expected}; use mix = `point_select`"));
    }

    /// The texts of one operation of `mix` on one table.
    fn texts(mix: &str) -> Vec<String> {
        let program = sql_with(&[("mix", mix)]);
        shown(&filled(&program.run, ALONE, 1)[0], &program.statements).into_iter().map(|(text, _)| text).collect()
    }

    #[test]
    fn the_halves_of_read_write_are_its_reads_and_its_writes() {
        let whole = texts("read_write");
        assert_eq!((texts("read_only").len(), texts("write_only").len()), (14, 4));
        assert_eq!([texts("read_only"), texts("write_only")].concat(), whole);
    }

    #[test]
    fn mixes_of_one_statement_are_those_of_sysbench_and_no_transactions() {
        let points = "SELECT id, k, c, pad FROM sbtest1 WHERE k IN (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)".to_string();
        let ranges = format!("SELECT count(k) FROM sbtest1 WHERE {}", ["k BETWEEN ? AND ?"; 10].join(" OR "));
        for (mix, text, args, writes) in [
            ("update_index", "UPDATE sbtest1 SET k=k+1 WHERE id=?", 1, true),
            ("update_non_index", "UPDATE sbtest1 SET c=? WHERE id=?", 2, true),
            ("delete", "DELETE FROM sbtest1 WHERE id=?", 1, true),
            ("insert", "INSERT INTO sbtest1 (id, k, c, pad) VALUES (?, ?, ?, ?)", 4, true),
            ("select_random_points", &points, 10, false),
            ("select_random_ranges", &ranges, 20, false),
        ] {
            let program = sql_with(&[("mix", mix)]);
            let op = filled(&program.run, ALONE, 1).remove(0);
            assert_eq!(texts(mix), [text]);
            assert_eq!((op.args.len(), op.writes, program.writes, op.transaction), (args, writes, writes, false));
            assert_eq!(program.kinds[0].queries, 1.0);
        }
    }

    #[test]
    fn random_ranges_go_five_beyond_their_beginning() {
        let program = sql_with(&[("mix", "select_random_ranges")]);
        let op = filled(&program.run, ALONE, 1).remove(0);
        let ints: Vec<i64> =
            op.args.iter().map(|arg| if let SqlArg::Int(value) = arg { *value } else { panic!("{arg:?}") }).collect();
        assert!(ints.chunks(2).all(|range| range[1] - range[0] == 5));
    }

    #[test]
    fn inserted_rows_have_ids_that_no_other_client_and_no_loaded_row_has() {
        let program = sql_with(&[("mix", "insert"), ("tables", "3"), ("table_rows", "100")]);
        let clients = (0..4).map(|client| ClientIndex { client, clients: 4 });
        let ops: Vec<SqlOp> = clients.flat_map(|slot| filled(&program.run, slot, 50)).collect();
        let ids: BTreeSet<String> =
            ops.iter().flat_map(|op| shown(op, &program.statements)[0].1.first().cloned()).collect();
        assert_eq!(ids.len(), 200);
        assert!(ids.iter().all(|id| id.parse::<u64>().expect("an id") > 100));
    }

    #[test]
    fn without_a_transaction_the_statements_are_the_same_and_each_commits_alone() {
        let program = sql_with(&[("mix", "read_write"), ("transaction", "false")]);
        let op = filled(&program.run, ALONE, 1).remove(0);
        assert_eq!((op.calls.len(), op.transaction, op.writes), (18, false, true));
        let kind = program.kinds[0];
        assert_eq!((kind.queries, kind.without_begin_and_commit()), (18.0, kind));
    }

    #[test]
    fn only_mixes_that_keep_their_rows_leave_the_data_to_later_trials() {
        for mix in &MIXES {
            let params = params(&OLTP.entry, &[("mix", mix.name)]);
            let changes = ["insert", "delete"].contains(&mix.name);
            assert_eq!((OLTP.data_reuse)(&params) == DataReuse::Fresh, changes, "{}", mix.name);
            assert_eq!((OLTP.growth_bytes_per_op)(&params) > Bytes(0), mix.name == "insert");
        }
    }

    #[test]
    fn a_table_without_secondary_index_has_none() {
        assert!(sql_with(&[("secondary_index", "false")]).schema[0].indexes.is_empty());
    }
}
