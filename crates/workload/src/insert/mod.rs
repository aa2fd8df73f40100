//! The insert benchmark: rows of the purchases tables, in the order of their keys, with up to three secondary indexes whose
//! entries fall at random places. What an engine does when the indexes outgrow its cache is the point of it.
//!
//! In: a step of it, the tables' form, how many rows in how many commits. Out: an operation is one commit of rows (one
//! statement, if one holds them; one atomic batch on a key-value engine, with a put per row and per index entry), one table
//! that gets its indexes, one drain, or one query. The steps, on one data set one after the other:
//!
//! - `l.i0` inserts `rows` rows into tables without secondary indexes, if it is the first step; with any other first step
//!   but `l.x` they have them from the start, so `l.i1` alone is the benchmark of 2012;
//! - `l.x` makes the indexes, an operation for each table. Key-value engines know no indexes: there it puts the entries of all
//!   rows, made again from the seed and not read back, 1,000 rows a batch;
//! - `l.i1` inserts as many rows again, now with indexes, and `l.i2` a fifth of them by small commits;
//! - `drain` waits until the engine has written its write debt; no other step does;
//! - `qr` and `qp` read ranges and rows while as many background clients insert at a rate of their own. Time ends them.
//!
//! Limits: `transactionid` is given by plimsoll (from 1, one counter a table for all clients), not by the engine; in the tables
//! of 2012 it is a 32-bit INT as it was then, so SQL engines that keep to that refuse rows after 2,147,483,647. Key-value engines
//! have no partitions and no `qr`.
//!
//! `schema` is what the tables are, `rows` what is in them, `inserts` and `queries` the operations, `statements` their SQL.

mod dealing;
mod inserts;
mod queries;
mod rows;
mod schema;
mod statements;

use crate::SequenceState;
use crate::background;
use crate::program::{BackgroundOps, KvProgram, OpKindDef, OpStream, ProgramInput, SqlProgram, SqlWork};
use crate::sequence::TABLES_MAX;
use crate::{DataReuse, UnsupportedParam, WorkloadDef};
pub(crate) use inserts::numbered_stream;
use inserts::{Commits, EmptyOps, InsertOps, index_stream};
use model::{
    BackgroundPace, Bytes, Entry, Family, Op, OpClass, OpKind, ParamDef, ParamKind, ParamRole, Params, Phrase, RowWork,
    StepIndexes, StepWork, UsedIf, WorkTraits,
};
use queries::{QueryOps, StepQuery};
use rows::PurchaseData;
use schema::{FORMS, INDEX_NAMES, PurchaseSchema};
use statements::StepStatements;

pub static INSERT: WorkloadDef = WorkloadDef {
    entry: Entry {
        name: "insert",
        spoken: "inserts",
        help: "the insert benchmark: loads rows, creates indexes, inserts with them, waits for pending writes, and queries during inserts",
        families: &[Family::Sql, Family::Kv],
        params: PARAMS,
    },
    traits: work_traits,
    data_reuse: |params| {
        let step = InsertStep::from_params(params);
        DataReuse::Continues { at: step as usize, begins: !matches!(step, InsertStep::Ranges | InsertStep::Points) }
    },
    data_bytes,
    growth_bytes_per_op,
    io: None,
    sql: Some(sql_program),
    kv: Some(kv_program),
    task: None,
    connect: None,
    // A range of secondary keys is found by an index of the engine, and a key-value engine has none.
    steps_without_kv: &["qr"],
    // What an insert costs, with the writes that it put off. The whole benchmark has five steps more.
    usual_keys: &[("step", "l.i1,drain")],
};

const PARAMS: &[ParamDef] = &[
    ParamDef {
        help: "steps to run on the same data; they always run in this order: load without indexes (`l.i0`), create \
               them (`l.x`), insert (`l.i1`), insert a fifth as many rows in small commits (`l.i2`), wait until all pending \
               writes are \
               done (`drain`), range queries (`qr`), point queries (`qp`)",
        phrase: Phrase::Words(&[
            ("l.i0", "inserts without indexes"),
            ("l.x", "building of the indexes"),
            ("l.i1", "inserts with indexes"),
            ("l.i2", "inserts in small commits"),
            ("drain", "writing what was put off"),
            ("qr", "range queries during inserts"),
            ("qp", "point queries during inserts"),
        ]),
        ..ParamDef::new("step", ParamRole::Step, ParamKind::Steps(&STEPS), "l.i0")
    },
    ParamDef {
        help: "tables of the benchmark of 2012 (`iibench-2012`), or today's, with a text column (`ibench`)",
        shapes_data: true,
        phrase: Phrase::Words(&[("iibench-2012", "the tables of 2012"), ("ibench", "the tables of today")]),
        ..ParamDef::new("schema", ParamRole::Ground, ParamKind::OneOf(&FORMS), "ibench")
    },
    ParamDef {
        help: "number of secondary indexes, which are created in this order: marketsegment, registersegment, pdc",
        shapes_data: true,
        used_if: Some(UsedIf::one_of("step", &["l.x", "l.i1", "l.i2", "drain", "qr", "qp"])),
        phrase: Phrase::Counted {
            zero: "no secondary index",
            one: "one secondary index",
            many: "{} secondary indexes",
        },
        ..ParamDef::new("indexes", ParamRole::Indexes, int_between(0, 3), "3")
    },
    ParamDef {
        help: "rows inserted by l.i0 and by l.i1, all clients together (l.i2: a fifth); 0 = until `time` is over, as with `--time` and no \
               `--rows` if no step queries",
        scales: true,
        phrase: Phrase::Counted { zero: "as many rows as fit the time", one: "one row", many: "{} rows" },
        ..ParamDef::new("rows", ParamRole::DataSize, int_between(0, ROWS_MAX), "100000")
    },
    ParamDef {
        help: "rows per commit in l.i0 and l.i1; each operation is one commit",
        used_if: Some(UsedIf::one_of("step", &["l.i0", "l.i1"])),
        phrase: Phrase::Counted { zero: "", one: "one row per commit", many: "batches of {} rows" },
        ..ParamDef::new("rows_per_commit", ParamRole::Work, int_between(1, 100_000), "50")
    },
    ParamDef {
        help: "rows per commit in l.i2, and of the background inserts of qr and qp",
        used_if: Some(UsedIf::one_of("step", &["l.i2", "qr", "qp"])),
        phrase: Phrase::Counted { zero: "", one: "small commits of one row", many: "small commits of {} rows" },
        ..ParamDef::new("small_commit", ParamRole::Work, int_between(1, 100_000), "5")
    },
    ParamDef {
        help: "number of tables; with fewer tables than clients, clients share them",
        shapes_data: true,
        phrase: Phrase::Counted { zero: "no table", one: "one table", many: "{} tables" },
        ..ParamDef::new("tables", ParamRole::Size, int_between(1, TABLES_MAX as u64), "1")
    },
    ParamDef {
        help: "rows per partition of a table, by ranges of its key; 0 = no partitions",
        scales: true,
        shapes_data: true,
        phrase: Phrase::Counted { zero: "no partitions", one: "partitions of one row", many: "partitions of {} rows" },
        ..ParamDef::new("partition_rows", ParamRole::Size, int_between(0, ROWS_MAX), "0")
    },
    ParamDef {
        help: "bytes of text in each row",
        shapes_data: true,
        used_if: IN_TODAYS_TABLES,
        phrase: Phrase::Counted {
            zero: "no text per row",
            one: "one byte of text per row",
            many: "{} bytes of text per row",
        },
        ..ParamDef::new("data_bytes", ParamRole::Size, int_between(0, 4_000), "10")
    },
    ParamDef {
        help: "percent of that text that compression removes: it is one letter, and the rest is random",
        shapes_data: true,
        used_if: IN_TODAYS_TABLES,
        phrase: Phrase::Pattern("text of which {} % compress away"),
        ..ParamDef::new("compressible", ParamRole::Ground, int_between(0, 100), "50")
    },
    ParamDef {
        help: "in every step after l.i0, delete as many of the oldest rows per commit as are inserted",
        phrase: Phrase::Words(&[("true", "deletes of the oldest rows"), ("false", "no deletes")]),
        ..ParamDef::new("delete", ParamRole::Work, ParamKind::Bool, "false")
    },
    ParamDef {
        help: "background inserts in qr and qp: rows per second and client; 0 = none",
        used_if: Some(UsedIf::one_of("step", &["qr", "qp"])),
        phrase: Phrase::Counted {
            zero: "no inserts beside",
            one: "one insert per second beside",
            many: "{} inserts per second beside",
        },
        ..ParamDef::new("insert_rate", ParamRole::Work, int_between(0, 1_000_000), "100")
    },
    ParamDef {
        help: "rows that a query of qr reads",
        used_if: Some(UsedIf::one_of("step", &["qr"])),
        phrase: Phrase::Counted { zero: "empty queries", one: "queries of one row", many: "queries of {} rows" },
        ..ParamDef::new("query_rows", ParamRole::Work, int_between(1, 100_000), "10")
    },
    background::ON_NAMED_TABLES,
];

const IN_TODAYS_TABLES: Option<UsedIf> = Some(UsedIf::one_of("schema", &["ibench"]));
const ROWS_MAX: u64 = 1_000_000_000_000;
const fn int_between(min: u64, max: u64) -> ParamKind {
    ParamKind::Int { min, max }
}

/// The steps in their order.
const STEPS: [&str; 7] = ["l.i0", "l.x", "l.i1", "l.i2", "drain", "qr", "qp"];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum InsertStep {
    Load,
    Index,
    Insert,
    InsertSmall,
    Drain,
    Ranges,
    Points,
}

impl InsertStep {
    fn from_params(params: &Params) -> InsertStep {
        use InsertStep::*;
        let all = [Load, Index, Insert, InsertSmall, Drain, Ranges, Points];
        let at = STEPS.iter().position(|word| *word == params.word("step"));
        all[at.expect("`step` is declared with these words")]
    }

    /// What the step does to the secondary indexes.
    fn indexes(self) -> StepIndexes {
        match self {
            InsertStep::Load => StepIndexes::NotAtStart,
            InsertStep::Index => StepIndexes::Made,
            InsertStep::Insert
            | InsertStep::InsertSmall
            | InsertStep::Drain
            | InsertStep::Ranges
            | InsertStep::Points => StepIndexes::Kept,
        }
    }

    /// Whether its operations are commits of rows.
    fn inserts(self) -> bool {
        matches!(self, InsertStep::Load | InsertStep::Insert | InsertStep::InsertSmall)
    }

    /// How many rows the step inserts in all, if it inserts; 0 if only time ends it.
    fn rows_in_all(self, params: &Params) -> u64 {
        match self {
            InsertStep::InsertSmall => params.int("rows").div_ceil(SMALL_SHARE),
            _ => params.int("rows"),
        }
    }

    /// What each operation commits, in steps that insert.
    fn commits(self, input: &ProgramInput) -> Option<Commits> {
        let (params, delete) = (input.params, input.params.flag("delete"));
        let cut = |rows| {
            let own = input.share.cut_of(rows);
            own.end - own.start
        };
        let rows = Some(self.rows_in_all(params)).filter(|rows| *rows > 0).map(cut);
        match self {
            InsertStep::Load => Some(Commits::new(rows, params.int("rows_per_commit"), false)),
            InsertStep::Insert => Some(Commits::new(rows, params.int("rows_per_commit"), delete)),
            InsertStep::InsertSmall => Some(Commits::new(rows, params.int("small_commit"), delete)),
            InsertStep::Index | InsertStep::Drain | InsertStep::Ranges | InsertStep::Points => None,
        }
    }

    /// What each operation asks for, in steps that ask.
    fn query(self, params: &Params) -> Option<StepQuery> {
        match self {
            InsertStep::Ranges => Some(StepQuery::Range(params.int("query_rows"))),
            InsertStep::Points => Some(StepQuery::Point),
            InsertStep::Load | InsertStep::Index | InsertStep::Insert | InsertStep::InsertSmall | InsertStep::Drain => {
                None
            }
        }
    }
}

fn work_traits(params: &Params) -> WorkTraits {
    let step = InsertStep::from_params(params);
    let rows = RowWork {
        asked: Some(step.rows_in_all(params)).filter(|rows| step.inserts() && *rows > 0),
        payload_bytes: Some(schema::payload_bytes(params)),
        partition_rows: Some(params.int("partition_rows") * params.int("tables")).filter(|rows| *rows > 0),
        deletes: params.flag("delete"),
    };
    let step = StepWork {
        name: params.word("step").to_owned(),
        at: step as u32,
        drains: step == InsertStep::Drain,
        indexes: step.indexes(),
        group: None,
    };
    WorkTraits { rows: Some(rows), step: Some(step), ..WorkTraits::default() }
}

/// `l.i2` inserts one row for so many of `l.i1`.
const SMALL_SHARE: u64 = 5;

/// The rows of all steps that end by count; 0 if they do not.
fn rows_of_all_steps(params: &Params) -> u64 {
    let rows = params.int("rows");
    2 * rows + rows.div_ceil(SMALL_SHARE)
}

/// The rows that this step inserts, whether it deletes as many or not.
fn data_bytes(params: &Params) -> Bytes {
    let step = InsertStep::from_params(params);
    let inserted = if step.inserts() { step.rows_in_all(params) } else { 0 };
    Bytes(inserted.saturating_mul(PurchaseSchema::new(params, 0).row_bytes().0))
}

/// Background inserts are left out: their rate is small.
fn growth_bytes_per_op(params: &Params) -> Bytes {
    let ended_by_count = params.int("rows") > 0;
    let all = SequenceState::default();
    let commits = InsertStep::from_params(params).commits(&ProgramInput::new(params, 0, &all));
    let commits = commits.filter(|_| !ended_by_count);
    Bytes(commits.map_or(0, |commits| commits.per_commit * PurchaseSchema::new(params, 0).row_bytes().0))
}

const RUN: OpKind = OpKind(0);
const BACKGROUND: OpKind = OpKind(1);

fn sql_program(input: &ProgramInput) -> SqlProgram {
    let params = input.params;
    let (step, data) = (InsertStep::from_params(params), step_data(input));
    // The step `l.x` gets the tables with their indexes, though it finds them without.
    let with_indexes = data.schema.all_tables(true);
    let schema = data.schema.all_tables(data.indexed);
    let (commits, query) = (step.commits(input), step.query(params));
    let background = query.and_then(|_| BackgroundInserts::from_params(params));
    let asked = query.map_or(Vec::new(), |query| query.statements(&data));
    let statements = StepStatements::new(commits.or(background.map(|inserts| inserts.commits)), asked);
    let (work, run) = match step {
        InsertStep::Index => (SqlWork::Indexes(with_indexes), numbered_stream(data.schema.tables, input.clients)),
        InsertStep::Drain => (SqlWork::Drain, numbered_stream(1, input.clients)),
        _ => (SqlWork::Calls, run_stream(&data, &statements, commits, query)),
    };
    SqlProgram {
        schema,
        procedures: Vec::new(),
        statements: statements.all_sql(&data.schema),
        rows: statements.all_rows(&data.schema),
        writes: query.is_none() || background.is_some(),
        kinds: op_kinds(step, commits, background),
        load: None,
        work,
        needs_answers: false,
        run,
        background: background.map(|inserts| inserts.background_ops(data, statements)).into_iter().collect(),
        conditions: Vec::new(),
        found: None,
    }
}

fn kv_program(input: &ProgramInput) -> Result<KvProgram, UnsupportedParam> {
    let params = input.params;
    let (step, data) = (InsertStep::from_params(params), step_data(input));
    check_kv_params(params)?;
    let (commits, query) = (step.commits(input), step.query(params));
    let background = query.and_then(|_| BackgroundInserts::from_params(params));
    // A key-value engine has no statements.
    let none = StepStatements::new(None, []);
    let run = match step {
        InsertStep::Index => index_stream(data.clone()),
        InsertStep::Drain => OpStream::new(Some(1), 1, |_| EmptyOps),
        _ => run_stream(&data, &none, commits, query),
    };
    let kinds =
        op_kinds(step, commits, background).into_iter().map(|kind| OpKindDef { queries: 1.0, ..kind }).collect();
    Ok(KvProgram {
        tables: std::iter::once("row").chain(INDEX_NAMES).take(1 + data.schema.indexes).collect(),
        writes: query.is_none() || background.is_some(),
        kinds,
        load: None,
        drains: step == InsertStep::Drain,
        run,
        background: background.map(|inserts| inserts.background_ops(data, none)).into_iter().collect(),
    })
}

fn check_kv_params(params: &Params) -> Result<(), UnsupportedParam> {
    let (param, instead) = match params.word("step") {
        _ if params.int("partition_rows") > 0 => ("partition_rows", "0"),
        step if INSERT.steps_without_kv.contains(&step) => ("step", "qp"),
        _ => return Ok(()),
    };
    Err(UnsupportedParam { workload: INSERT.entry.name, param, value: params.get(param).to_string(), instead })
}

/// The rows as the step finds them. If it makes the indexes, the steps after it find those.
fn step_data(input: &ProgramInput) -> PurchaseData {
    let ProgramInput { params, seed, sequence, clients, .. } = *input;
    let step = InsertStep::from_params(params);
    // The step that makes the indexes begins without them.
    let indexed = sequence.indexed_or(step.indexes() == StepIndexes::Kept);
    if step.indexes() == StepIndexes::Made {
        sequence.set_indexed();
    }
    PurchaseData {
        schema: PurchaseSchema::new(params, rows_of_all_steps(params)),
        seed,
        indexed,
        sequence: sequence.clone(),
        clients,
    }
}

/// The stream of a step that inserts or asks.
fn run_stream<O: Op>(
    data: &PurchaseData,
    statements: &StepStatements,
    commits: Option<Commits>,
    query: Option<StepQuery>,
) -> OpStream<O>
where
    InsertOps: crate::Workload<O>,
    QueryOps: crate::Workload<O>,
{
    let (data, statements) = (data.clone(), statements.clone());
    if let Some(commits) = commits {
        return commits.op_stream(data, statements, RUN);
    }
    let query = query.expect("a step inserts, asks, or has a stream of its own");
    let known: Vec<_> = (0..data.schema.tables).map(|table| data.present_ids(table)).collect();
    let (tables, all) = (data.schema.tables, statements.clone());
    let stream =
        OpStream::new(None, 1, move |slot| QueryOps::new(slot, data.clone(), statements.clone(), query, known.clone()));
    stream.with_statements(move |slot| all.of_client(slot, tables))
}

fn op_kinds(step: InsertStep, commits: Option<Commits>, background: Option<BackgroundInserts>) -> Vec<OpKindDef> {
    let own = match step {
        InsertStep::Index => OpKindDef::without_rows("index", OpClass::Index),
        InsertStep::Drain => OpKindDef::without_rows("drain", OpClass::Drain),
        _ => commits.map_or(OpKindDef::without_rows("query", OpClass::Read), Commits::op_kind),
    };
    std::iter::once(own).chain(background.map(|inserts| inserts.commits.op_kind())).collect()
}

/// The inserts in the background of queries.
#[derive(Clone, Copy)]
struct BackgroundInserts {
    commits: Commits,
    /// Rows per second, for each client.
    rate: u64,
}

impl BackgroundInserts {
    /// Those that `params` ask for, if they do.
    fn from_params(params: &Params) -> Option<BackgroundInserts> {
        let commits = Commits::new(None, params.int("small_commit"), params.flag("delete"));
        Some(BackgroundInserts { commits, rate: params.int("insert_rate") }).filter(|inserts| inserts.rate > 0)
    }

    fn background_ops<O: Op>(self, data: PurchaseData, statements: StepStatements) -> BackgroundOps<O>
    where
        InsertOps: crate::Workload<O>,
    {
        let per_client_s = self.rate as f64 / self.commits.per_commit as f64;
        BackgroundOps {
            stream: self.commits.op_stream(data, statements, BACKGROUND),
            kinds: vec![BACKGROUND],
            clients: None,
            pace: BackgroundPace::Rate { per_client_s },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::{ClientIndex, TablePartitions};
    use crate::tests::params;
    use model::{KvAction, KvOp, SqlArg, SqlOp};
    use std::collections::{BTreeMap, BTreeSet};

    const ALONE: ClientIndex = ClientIndex { client: 0, clients: 1 };

    fn made(changes: &[(&str, &str)]) -> SqlProgram {
        going_on(&SequenceState::default(), changes)
    }

    /// The program of a step on data that earlier steps left.
    fn going_on(sequence: &SequenceState, changes: &[(&str, &str)]) -> SqlProgram {
        sql_program(&ProgramInput::new(&params(&INSERT.entry, changes), 1, sequence))
    }

    fn made_kv(sequence: &SequenceState, changes: &[(&str, &str)]) -> KvProgram {
        kv_program(&ProgramInput::new(&params(&INSERT.entry, changes), 1, sequence))
            .expect("there is a program for these")
    }

    /// All operations of `stream`, client by client, without the empty ones.
    fn performed<O: Op + Clone + 'static>(stream: &OpStream<O>, clients: u32) -> Vec<O> {
        let of_client = |client| {
            let slot = ClientIndex { client, clients };
            let mut ops = vec![O::default(); stream.ops_of(slot).expect("it ends") as usize];
            (stream.make)(slot).fill_ops(&mut ops);
            ops
        };
        (0..clients).flat_map(of_client).collect()
    }

    fn filled<O: Op + Clone>(stream: &OpStream<O>, count: usize) -> Vec<O> {
        let mut ops = vec![O::default(); count];
        (stream.make)(ALONE).fill_ops(&mut ops);
        ops
    }

    fn int_between(arg: &SqlArg) -> u64 {
        if let SqlArg::Int(value) = arg { *value as u64 } else { panic!("{arg:?} is no number") }
    }

    /// Each statement of `op` with its arguments.
    fn calls<'a>(program: &'a SqlProgram, op: &'a SqlOp) -> Vec<(&'a str, &'a [SqlArg])> {
        let mut at = 0;
        let mut call = |call: &model::SqlCall| {
            let args = &op.args[at..at + call.args as usize];
            at += args.len();
            (program.statements[call.statement as usize].as_str(), args)
        };
        op.calls.iter().map(&mut call).collect()
    }

    /// The ids that `ops` insert, by table.
    fn inserted(program: &SqlProgram, ops: &[SqlOp]) -> BTreeMap<String, Vec<u64>> {
        let mut ids = BTreeMap::<_, Vec<u64>>::new();
        for (text, args) in ops.iter().flat_map(|op| calls(program, op)) {
            let mut words = text.split(' ');
            if words.next() == Some("INSERT") {
                let columns = program.schema[0].columns.len();
                let table = words.nth(1).expect("INSERT INTO a table").to_string();
                ids.entry(table).or_default().extend(args.chunks(columns).map(|row| int_between(&row[0])));
            }
        }
        ids.values_mut().for_each(|ids| ids.sort_unstable());
        ids
    }

    fn up_to(n: u64) -> Vec<u64> {
        (1..=n).collect()
    }

    #[test]
    fn the_tables_are_those_of_2012_and_of_today() {
        let table = |schema, indexes| {
            let table = made(&[("step", "l.i1"), ("schema", schema), ("indexes", indexes)]).schema.remove(0);
            let indexes: Vec<_> =
                table.indexes.iter().map(|i| format!("{}: {}", i.name, i.columns.join(","))).collect();
            let columns: Vec<_> = table.columns.iter().map(|column| column.name).collect();
            assert_eq!(table.primary_key, ["transactionid"]);
            (table.name.clone(), columns.join(","), indexes)
        };
        let columns = "transactionid,dateandtime,cashregisterid,customerid,productid,price";
        let of_2012 = table("iibench-2012", "3");
        assert_eq!((of_2012.0.as_str(), of_2012.1.as_str()), ("purchases_index", columns));
        let indexes = [
            "marketsegment: price,customerid",
            "registersegment: cashregisterid,price,customerid",
            "pdc: price,dateandtime,customerid",
        ];
        assert_eq!(of_2012.2, indexes);
        let of_today = table("ibench", "3");
        assert_eq!(of_today.1, format!("{columns},data"));
        let indexes = [
            "marketsegment: productid,customerid,price",
            "registersegment: cashregisterid,customerid,price",
            "pdc: price,dateandtime,customerid",
        ];
        assert_eq!(of_today.2, indexes);
        assert_eq!(table("iibench-2012", "0"), ("purchases_noindex".into(), columns.into(), vec![]));
    }

    #[test]
    fn tables_begin_without_indexes_where_the_first_step_loads_or_makes_them() {
        for (step, indexes) in [("l.i0", 0), ("l.x", 0), ("l.i1", 3), ("l.i2", 3), ("drain", 3), ("qr", 3), ("qp", 3)] {
            assert_eq!(made(&[("step", step)]).schema[0].indexes.len(), indexes, "{step}");
        }
    }

    #[test]
    fn one_row_is_one_statement_on_its_own() {
        let program = made(&[("step", "l.i1"), ("schema", "iibench-2012"), ("rows_per_commit", "1"), ("rows", "0")]);
        let ops = filled(&program.run, 1);
        let columns = "transactionid, dateandtime, cashregisterid, customerid, productid, price";
        let text = format!("INSERT INTO purchases_index ({columns}) VALUES (?, ?, ?, ?, ?, ?)");
        assert_eq!(program.statements, [text]);
        assert_eq!((ops[0].calls.len(), ops[0].transaction, ops[0].writes), (1, false, true));
        assert_eq!(ops[0].text, b"2012-05-16 00:00:00");
        assert_eq!((program.kinds[0].queries, program.kinds[0].rows, program.run.ops), (1.0, 1.0, None));
    }

    #[test]
    fn a_commit_is_as_few_statements_as_a_thousand_rows_each_allow() {
        for (rows, sizes, queries) in
            [("50", &[50][..], 1.0), ("1000", &[1_000], 1.0), ("2500", &[1_000, 1_000, 500], 5.0)]
        {
            let program = made(&[("rows_per_commit", rows), ("rows", "10000")]);
            let op = filled(&program.run, 1).remove(0);
            let seen: Vec<usize> = op.calls.iter().map(|call| call.args as usize / 7).collect();
            assert_eq!((seen.as_slice(), op.transaction), (sizes, sizes.len() > 1), "{rows}");
            assert_eq!((program.kinds[0].queries, program.kinds[0].name), (queries, "insert"));
        }
    }

    #[test]
    fn each_step_inserts_exactly_its_rows_and_goes_on_where_the_last_one_ended() {
        let sequence = SequenceState::default();
        let with = |step| going_on(&sequence, &[("step", step), ("rows", "1234"), ("rows_per_commit", "50")]);
        for (step, first, last, commits) in [("l.i0", 1, 1234, 25), ("l.i1", 1235, 2468, 25), ("l.i2", 2469, 2715, 50)]
        {
            let program = with(step);
            let ops = performed(&program.run, 3);
            assert_eq!(ops.len(), commits, "{step}");
            let ids: Vec<u64> = (first..=last).collect();
            assert_eq!(inserted(&program, &ops).into_values().collect::<Vec<_>>(), [ids], "{step}");
        }
    }

    #[test]
    fn few_rows_are_one_small_commit() {
        let program = made(&[("rows", "3")]);
        assert_eq!(inserted(&program, &performed(&program.run, 2))["purchases_index"], up_to(3));
        assert_eq!((program.kinds[0].rows, program.run.ops), (3.0, Some(1)));
    }

    #[test]
    fn clients_have_tables_of_their_own_or_share_one() {
        for (tables, clients, rows) in [("4", 4, 250), ("4", 2, 250), ("2", 4, 500), ("3", 3, 333)] {
            let program = made(&[("tables", tables), ("rows", "1000"), ("rows_per_commit", "1")]);
            let ids = inserted(&program, &performed(&program.run, clients));
            assert_eq!(ids.len().to_string(), tables);
            for (table, ids) in ids {
                assert!(ids == up_to(rows) || ids == up_to(rows + 1), "{table}: {} rows", ids.len());
            }
        }
    }

    #[test]
    fn a_client_executes_no_statements_but_those_of_its_tables() {
        for (clients, tables) in [(3, "8"), (8, "3"), (2, "1")] {
            for step in ["l.i0", "qr"] {
                let program = made(&[("step", step), ("tables", tables), ("rows", "10000"), ("rows_per_commit", "7")]);
                for client in 0..clients {
                    let slot = ClientIndex { client, clients };
                    let declared = program.run.statements_of(slot).expect("they are known");
                    let mut ops = vec![SqlOp::default(); 300];
                    (program.run.make)(slot).fill_ops(&mut ops);
                    let seen: BTreeSet<u16> =
                        ops.iter().flat_map(|op| op.calls.iter().map(|it| it.statement)).collect();
                    assert!(seen.iter().all(|number| declared.contains(number)), "{seen:?} {declared:?}");
                    // With 3 clients on 8 tables, the most have three; if clients share tables, each has one.
                    let per_table = program.statements.len() / program.schema.len();
                    assert!(
                        declared.len() <= per_table * program.schema.len().div_ceil(clients as usize),
                        "{declared:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn a_client_takes_no_rows_that_it_does_not_insert_before_the_step_ends() {
        let sequence = SequenceState::default();
        let program = going_on(&sequence, &[("rows", "10"), ("rows_per_commit", "1")]);
        filled(&program.run, 64);
        assert_eq!(sequence.dealt_rows(0).load(std::sync::atomic::Ordering::Relaxed), 10);
    }

    #[test]
    fn large_commits_are_made_few_at_a_time() {
        assert_eq!(
            [1, 10, 64, 100_000].map(|rows| made(&[("rows", "0"), ("rows_per_commit", &rows.to_string())]).run.ahead),
            [64, 6, 1, 1]
        );
    }

    #[test]
    fn a_commit_deletes_as_many_of_the_oldest_rows_within_bounds() {
        let sequence = SequenceState::default();
        let with = |step| {
            going_on(&sequence, &[("step", step), ("rows", "100"), ("rows_per_commit", "30"), ("delete", "true")])
        };
        performed(&with("l.i0").run, 1);
        let program = with("l.i1");
        let ops = performed(&program.run, 1);
        let deleted: Vec<(u64, u64)> = ops
            .iter()
            .map(|op| calls(&program, op)[1].1)
            .map(|args| (int_between(&args[0]), int_between(&args[1])))
            .collect();
        assert_eq!(deleted, [(1, 30), (31, 60), (61, 90), (91, 100)]);
        assert_eq!(calls(&program, &ops[0])[1].0, "DELETE FROM purchases_index WHERE transactionid BETWEEN ? AND ?");
        assert!(ops.iter().all(|op| op.transaction) && program.kinds[0].queries == 4.0);
    }

    #[test]
    fn nothing_is_deleted_that_was_not_inserted_before() {
        let program = made(&[("step", "l.i1"), ("rows", "0"), ("rows_per_commit", "10"), ("delete", "true")]);
        let ops = filled(&program.run, 3);
        assert_eq!(ops.iter().map(|op| op.calls.len()).collect::<Vec<_>>(), [1, 2, 2]);
        assert_eq!(calls(&program, &ops[1])[1].1, [SqlArg::Int(1), SqlArg::Int(10)]);
    }

    #[test]
    fn partitions_hold_the_rows_of_all_steps_and_there_are_ten_where_nobody_knows_how_many() {
        let count = |rows, tables| {
            let settings = [("partition_rows", "1000"), ("rows", rows), ("tables", tables)];
            made(&settings).schema[0].partitions.as_ref().map(|it| it.ends().len())
        };
        assert_eq!((count("10000", "1"), count("10000", "4"), count("0", "1")), (Some(22), Some(6), Some(10)));
        assert_eq!(count("1000000000", "1"), Some(1_000));
        assert_eq!(made(&[]).schema[0].partitions, None);
        let ends: Vec<i64> = TablePartitions::OfKeys { rows: 1_000, count: 2 }.ends();
        assert_eq!(ends, [1_001, 2_001]);
    }

    #[test]
    fn indexes_and_drains_are_work_of_the_engine() {
        let sequence = SequenceState::default();
        let with = |step| going_on(&sequence, &[("step", step), ("tables", "3"), ("indexes", "2")]);
        with("l.i0");
        let program = with("l.x");
        let SqlWork::Indexes(tables) = &program.work else { panic!("{:?}", program.work) };
        assert!(tables.len() == 3 && tables.iter().all(|table| table.indexes.len() == 2));
        let numbers: Vec<u16> = performed(&program.run, 2).iter().map(|op| op.calls[0].statement).collect();
        assert_eq!((numbers, program.kinds[0].name), (vec![0, 1, 2], "index"));
        let drain = with("drain");
        assert_eq!((drain.work, performed(&drain.run, 4).len(), drain.kinds[0].name), (SqlWork::Drain, 1, "drain"));
        assert_eq!(with("l.i1").work, SqlWork::Calls);
    }

    #[test]
    fn range_queries_go_over_every_index_in_the_order_of_its_columns() {
        let program = made(&[("step", "qr"), ("query_rows", "7")]);
        let expected = [
            "SELECT productid, customerid, price FROM purchases_index WHERE productid >= ? \
             ORDER BY productid, customerid, price LIMIT 7",
            "SELECT cashregisterid, customerid, price FROM purchases_index WHERE cashregisterid >= ? \
             ORDER BY cashregisterid, customerid, price LIMIT 7",
            "SELECT price, dateandtime, customerid FROM purchases_index WHERE price >= ? \
             ORDER BY price, dateandtime, customerid LIMIT 7",
        ];
        assert_eq!(program.statements[..3], expected);
        let ops = filled(&program.run, 3_000);
        let mut counts = [0; 3];
        for op in &ops {
            let nth = op.calls[0].statement as usize;
            counts[nth] += 1;
            assert!(int_between(&op.args[0]) < [10_000, 1_000, 500][nth] && !op.writes);
        }
        // 1,000 each, standard deviation 26.
        assert!(counts.iter().all(|count: &i32| count.abs_diff(1_000) < 130), "{counts:?}");
    }

    #[test]
    fn ranges_go_over_ids_where_there_are_no_indexes() {
        for indexes in ["0", "3"] {
            let sequence = SequenceState::default();
            let with = |step| going_on(&sequence, &[("step", step), ("indexes", indexes)]);
            with("l.i0");
            let text = &with("qr").statements[0];
            assert!(text.contains("WHERE transactionid >= ? ORDER BY transactionid LIMIT 10"), "{text}");
        }
    }

    #[test]
    fn points_are_rows_that_were_there_when_the_step_began_and_are_still() {
        let sequence = SequenceState::default();
        let with = |step| going_on(&sequence, &[("step", step), ("rows", "1000"), ("delete", "true")]);
        performed(&with("l.i0").run, 1);
        performed(&with("l.i1").run, 1);
        let program = with("qp");
        let background = program.background.first().expect("inserts go on");
        filled(&background.stream, 4);
        let ids: Vec<u64> = filled(&program.run, 10_000).iter().map(|op| int_between(&op.args[0])).collect();
        assert_eq!(
            program.statements[0],
            "SELECT transactionid, productid, data FROM purchases_index WHERE transactionid = ?"
        );
        // 1 to 1,000 went by l.i1, and 20 more in the background of the queries.
        assert_eq!((ids.iter().min(), ids.iter().max()), (Some(&1_021), Some(&2_000)));
    }

    #[test]
    fn inserts_go_on_beside_queries_at_a_rate_of_their_own() {
        let program = made(&[("step", "qr"), ("insert_rate", "200"), ("small_commit", "8")]);
        let background = program.background.first().expect("inserts go on");
        assert_eq!((background.pace, background.stream.ops), (BackgroundPace::Rate { per_client_s: 25.0 }, None));
        let op = filled(&background.stream, 1).remove(0);
        assert_eq!((op.op_kind, op.args.len(), program.kinds[1].rows), (OpKind(1), 8 * 7, 8.0));
        assert!(program.writes && program.kinds[0].rows == 0.0);
        let alone = made(&[("step", "qp"), ("insert_rate", "0")]);
        assert!(alone.background.is_empty() && alone.kinds.len() == 1 && !alone.writes);
    }

    #[test]
    fn key_value_engines_get_the_same_rows_and_the_same_deletes() {
        let (of_sql, of_kv) = (SequenceState::default(), SequenceState::default());
        for step in ["l.i0", "l.i1"] {
            let changes =
                [("step", step), ("rows", "40"), ("rows_per_commit", "20"), ("delete", "true"), ("tables", "2")];
            let (sql, kv) = (going_on(&of_sql, &changes), made_kv(&of_kv, &changes));
            for (sql, kv) in performed(&sql.run, 2).iter().zip(&performed(&kv.run, 2)) {
                let rows: Vec<_> =
                    sql.args.chunks(7).take(20).map(|row| int_between(&row[0]).to_be_bytes().to_vec()).collect();
                let puts = kv.entries.iter().filter(|entry| entry.table == 0);
                assert_eq!(puts.map(|entry| kv.key(entry)[2..].to_vec()).collect::<Vec<_>>(), rows);
                assert_eq!((kv.removed.is_empty(), kv.action), (sql.calls.len() == 1, KvAction::Put));
            }
        }
    }

    #[test]
    fn on_key_value_engines_the_indexes_are_put_from_the_seed_for_every_row_there_is() {
        let sequence = SequenceState::default();
        let with = |step| made_kv(&sequence, &[("step", step), ("rows", "2500"), ("indexes", "2")]);
        let load = performed(&with("l.i0").run, 3);
        assert!(load.iter().all(|op| op.entries.iter().all(|entry| entry.table == 0)));
        let index = performed(&with("l.x").run, 2);
        assert_eq!(index.iter().map(|op| op.entries.len()).collect::<Vec<_>>(), [2_000, 2_000, 1_000]);
        let later = performed(&with("l.i1").run, 1);
        assert_eq!(later[0].entries.len(), 3 * 50);
        // The entries that l.x puts are those that an insert would have put.
        let at_once = SequenceState::default();
        let whole = performed(&made_kv(&at_once, &[("step", "l.i1"), ("rows", "2500"), ("indexes", "2")]).run, 1);
        let keys = |ops: &[KvOp]| {
            let all = ops.iter().flat_map(|op| op.entries.iter().map(|entry| (entry.table, op.key(entry).to_vec())));
            let mut keys: Vec<_> = all.filter(|(table, _)| *table > 0).collect();
            keys.sort_unstable();
            keys
        };
        assert!(keys(&whole) == keys(&index));
    }

    #[test]
    fn what_key_value_engines_cannot_do_is_refused_with_what_to_use() {
        for (param, value, instead) in [("step", "qr", "qp"), ("partition_rows", "1000", "0")] {
            let Err(error) =
                kv_program(&ProgramInput::new(&params(&INSERT.entry, &[(param, value)]), 1, &SequenceState::default()))
            else {
                panic!("{param}")
            };
            let text = error.to_string();
            assert!(
                text.contains(&format!("{param} = `{value}`")) && text.ends_with(&format!("`{instead}`")),
                "{text}"
            );
        }
        let points = made_kv(&SequenceState::default(), &[("step", "qp")]);
        assert_eq!((filled(&points.run, 1)[0].action, points.tables.len()), (KvAction::Find, 4));
        let drain = made_kv(&SequenceState::default(), &[("step", "drain")]);
        assert!(drain.drains && performed(&drain.run, 2).len() == 1);
    }

    #[test]
    fn rows_that_are_counted_are_the_data_and_others_are_growth() {
        let sizes = |changes: &[(&str, &str)]| {
            let params = params(&INSERT.entry, changes);
            (data_bytes(&params).0, growth_bytes_per_op(&params).0)
        };
        let of_2012 = ("schema", "iibench-2012");
        assert_eq!(sizes(&[of_2012, ("rows", "1000"), ("step", "l.i1")]), (1_000 * 155, 0));
        assert_eq!(sizes(&[of_2012, ("rows", "1000"), ("step", "l.i2")]), (200 * 155, 0));
        assert_eq!(sizes(&[of_2012, ("rows", "1000"), ("delete", "true"), ("step", "l.i2")]), (200 * 155, 0));
        assert_eq!(sizes(&[of_2012, ("rows", "1000"), ("step", "qr")]), (0, 0));
        assert_eq!(sizes(&[of_2012, ("rows", "0"), ("rows_per_commit", "1000"), ("indexes", "1")]), (0, 75_000));
        assert_eq!(sizes(&[of_2012, ("rows", "0"), ("step", "drain")]), (0, 0));
    }
}
