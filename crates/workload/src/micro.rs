//! The microbenchmarks by which Mark Callaghan looks for regressions of databases (smalldatum.blogspot.com, "How I run sysbench"): each a
//! step that performs one sort of statement, by his names and in his groups, on the tables of the OLTP benchmark.
//!
//! In: a step, the tables, the lengths of lists and ranges. Out: an operation is one statement, or one transaction of `read-only`,
//! `read-write` and `write-only`. The steps, on one data set one after the other:
//!
//! - the reads whose names end in `.pre`, while the tables are as they were loaded;
//! - writes that keep the rows and fragment the tables, by `update-inlist` to `read-write_range=100`;
//! - `drain` waits until the engine has written its write debt, vacuum included;
//! - the same reads again, and those that come only here;
//! - `delete` and `insert`, which change the number of rows, so they are last.
//!
//! Limits: time ends every step but `drain`. The steps of a plan begin with the loaded tables, whichever is the first. His scripts
//! add ten point queries to each operation of `read-only-distinct`, `-order`, `-simple` and `-sum`; here each is its one statement.
//! Key-value engines have none of them.

use crate::background;
use crate::distribution::{self, Distribution};
use crate::insert::numbered_stream;
use crate::oltp::mixes::{
    FindBy, MixLengths, MixStep, OltpMix, OltpStatement, READS, READS_AND_WRITES, ReadColumns, RowsAfter, WRITES,
    new_mix,
};
use crate::oltp::rows::OltpData;
use crate::oltp::{self, MixRun, RANGE_ROWS_MAX, mix_program};
use crate::program::{OpKindDef, ProgramInput, SqlProgram, SqlWork};
use crate::{DataReuse, WorkloadDef};
use FindBy::{PrimaryKey, SecondaryIndex};
use ReadColumns::{Covered, NotCovered};
use model::{
    Access, Bytes, Entry, Family, OpClass, ParamDef, ParamKind, ParamRole, Params, Phrase, StepIndexes, StepWork,
    UsedIf, WorkTraits,
};

pub static MICRO: WorkloadDef = WorkloadDef {
    entry: Entry {
        name: "micro",
        spoken: "statements",
        help: "forty-eight microbenchmarks on the tables of sysbench: point queries, ranges, scans and writes, each before and after the \
               tables are fragmented",
        families: &[Family::Sql],
        params: &[
            STEP,
            oltp::TABLES,
            TABLE_ROWS,
            oltp::SECONDARY_INDEX,
            LIST_POINTS,
            RANGE_ROWS,
            AGGREGATE_ROWS,
            oltp::ACCESS,
            background::ON_ROWS,
        ],
    },
    traits: work_traits,
    data_reuse: |params| DataReuse::Continues { at: step_of(params).0, begins: true },
    data_bytes: oltp::data_bytes,
    growth_bytes_per_op: |params| match step_of(params).1.rows_after() {
        RowsAfter::Kept | RowsAfter::Fewer => Bytes(0),
        RowsAfter::More => oltp::ROW,
    },
    io: None,
    sql: Some(sql_program),
    kv: None,
    task: None,
    connect: None,
    steps_without_kv: &[],
    usual_keys: &[("time", "5s"), ("warmup", "1s")],
};

const STEP: ParamDef = ParamDef {
    help: "microbenchmarks to run on the same data; they always run in this order: reads of the tables as they were loaded (`.pre`), \
           updates, `drain`, the reads again, `delete`, `insert`",
    ..ParamDef::new("step", ParamRole::Step, ParamKind::Steps(&STEP_NAMES), "point-query.pre")
};
const TABLE_ROWS: ParamDef = ParamDef { default: "100000", ..oltp::TABLE_ROWS };
const LIST_POINTS: ParamDef = ParamDef {
    help: "values in the list of hot-points, points-* and update-inlist",
    used_if: Some(UsedIf::one_of("step", &LIST_STEPS)),
    phrase: Phrase::Counted { zero: "empty lists", one: "lists of one value", many: "lists of {} values" },
    ..ParamDef::new("list_points", ParamRole::Work, ParamKind::Int { min: 1, max: 10_000 }, "100")
};
const RANGE_ROWS: ParamDef = ParamDef {
    help: "values in each range of range-*",
    used_if: Some(UsedIf::one_of("step", &RANGE_STEPS)),
    phrase: Phrase::Counted { zero: "empty ranges", one: "ranges of one row", many: "ranges of {} rows" },
    ..ParamDef::new("range_rows", ParamRole::Work, ParamKind::Int { min: 1, max: RANGE_ROWS_MAX }, "100")
};
const AGGREGATE_ROWS: ParamDef = ParamDef {
    help: "rows in each range of read-only-count, -distinct, -order, -simple and -sum",
    used_if: Some(UsedIf::one_of("step", &AGGREGATE_STEPS)),
    phrase: Phrase::Counted { zero: "no row to aggregate", one: "one row to aggregate", many: "{} rows to aggregate" },
    ..ParamDef::new("aggregate_rows", ParamRole::Work, ParamKind::Int { min: 1, max: RANGE_ROWS_MAX }, "1000")
};

/// The groups, in the words of their author and in the order of his tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MicroGroup {
    PointQueries,
    Ranges,
    Aggregations,
    Writes,
}

impl MicroGroup {
    fn name(self) -> &'static str {
        match self {
            MicroGroup::PointQueries => "point queries",
            MicroGroup::Ranges => "range queries without aggregation",
            MicroGroup::Aggregations => "range queries with aggregation",
            MicroGroup::Writes => "writes",
        }
    }
}

/// How long the lists and ranges of a microbenchmark are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StepLength {
    /// It has neither of them.
    Single,
    /// A list of so many values; its name has the number.
    List(u64),
    /// Ranges of so many rows; its name has the number.
    Range(u64),
    /// A list as long as the parameter [`LIST_POINTS`].
    ListParam,
    /// Ranges as long as [`RANGE_ROWS`].
    RangeParam,
    /// Ranges as long as [`AGGREGATE_ROWS`].
    AggregateParam,
}

impl StepLength {
    fn lengths(self, params: &Params) -> MixLengths {
        let (list_points, range_rows) = match self {
            StepLength::Single => (0, 1),
            StepLength::List(points) => (points, 1),
            StepLength::Range(rows) => (0, rows),
            StepLength::ListParam => (params.int(LIST_POINTS.name), 1),
            StepLength::RangeParam => (0, params.int(RANGE_ROWS.name)),
            StepLength::AggregateParam => (0, params.int(AGGREGATE_ROWS.name)),
        };
        MixLengths { range_rows, list_points }
    }
}

/// Which rows a microbenchmark uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum UsedRows {
    /// Those that the parameter `access` draws.
    Access,
    /// A few much more often than the others, by the law that sysbench calls zipfian, with its exponent.
    Zipf,
    /// The first, again and again.
    First,
}

impl UsedRows {
    fn distribution(self, input: &ProgramInput) -> Distribution {
        let rows = OltpData::new(input).rows;
        let named = |name: &str, args: &[f64]| Access { name: name.to_owned(), args: args.to_vec() };
        match self {
            UsedRows::Access => distribution::from_access(input.params.access("access"), rows),
            UsedRows::Zipf => distribution::from_access(&named("zipf", &[0.8]), rows),
            UsedRows::First => distribution::from_access(&named("uniform", &[]), 1),
        }
    }
}

/// One microbenchmark, which may be two steps: before and after the writes.
#[derive(Debug)]
struct MicroTest {
    group: MicroGroup,
    length: StepLength,
    rows: UsedRows,
    mix: OltpMix,
}

/// The test that executes `statement` once in each operation.
const fn single(
    name: &'static str,
    group: MicroGroup,
    length: StepLength,
    statement: &'static [MixStep; 1],
) -> MicroTest {
    MicroTest { group, length, rows: UsedRows::Access, mix: new_mix(name, RowsAfter::Kept, statement) }
}

/// The test whose operations are the transactions of `steps`, with ranges of so many rows.
const fn transactions(name: &'static str, group: MicroGroup, range_rows: u64, steps: &'static [MixStep]) -> MicroTest {
    let mix = new_mix(name, RowsAfter::Kept, steps);
    MicroTest { group, length: StepLength::Range(range_rows), rows: UsedRows::Access, mix }
}

use MicroGroup::{Aggregations, PointQueries, Ranges, Writes};
use MixStep::Each;
use OltpStatement::*;
use StepLength::{AggregateParam, List, ListParam, RangeParam, Single};

const POINT_QUERY: MicroTest = single("point-query", PointQueries, Single, &[Each(1, PointSelect)]);
const RANDOM_10: MicroTest = single("random-points", PointQueries, List(10), &[Each(1, ListSelect)]);
const RANDOM_100: MicroTest = single("random-points", PointQueries, List(100), &[Each(1, ListSelect)]);
const RANDOM_1000: MicroTest = single("random-points", PointQueries, List(1_000), &[Each(1, ListSelect)]);
const HOT_POINTS: MicroTest = single("hot-points", PointQueries, ListParam, &[Each(1, HotSelect)]);
const POINTS_COVERED_PK: MicroTest =
    single("points-covered-pk", PointQueries, ListParam, &[Each(1, ListRead(PrimaryKey, Covered))]);
const POINTS_NOT_COVERED_PK: MicroTest =
    single("points-notcovered-pk", PointQueries, ListParam, &[Each(1, ListRead(PrimaryKey, NotCovered))]);
const POINTS_COVERED_SI: MicroTest =
    single("points-covered-si", PointQueries, ListParam, &[Each(1, ListRead(SecondaryIndex, Covered))]);
const POINTS_NOT_COVERED_SI: MicroTest =
    single("points-notcovered-si", PointQueries, ListParam, &[Each(1, ListRead(SecondaryIndex, NotCovered))]);
const RANGE_COVERED_PK: MicroTest =
    single("range-covered-pk", Ranges, RangeParam, &[Each(1, RangeRead(PrimaryKey, Covered))]);
const RANGE_NOT_COVERED_PK: MicroTest =
    single("range-notcovered-pk", Ranges, RangeParam, &[Each(1, RangeRead(PrimaryKey, NotCovered))]);
const RANGE_COVERED_SI: MicroTest =
    single("range-covered-si", Ranges, RangeParam, &[Each(1, RangeRead(SecondaryIndex, Covered))]);
const RANGE_NOT_COVERED_SI: MicroTest =
    single("range-notcovered-si", Ranges, RangeParam, &[Each(1, RangeRead(SecondaryIndex, NotCovered))]);
const SCAN: MicroTest = single("scan", Ranges, Single, &[Each(1, Scan)]);
const READ_ONLY_10: MicroTest = transactions("read-only", Aggregations, 10, &READS);
const READ_ONLY_100: MicroTest = transactions("read-only", Aggregations, 100, &READS);
const READ_ONLY_10000: MicroTest = transactions("read-only", Aggregations, 10_000, &READS);
const COUNT: MicroTest = single("read-only-count", Aggregations, AggregateParam, &[Each(1, CountRange)]);
const DISTINCT: MicroTest = single("read-only-distinct", Aggregations, AggregateParam, &[Each(1, DistinctRange)]);
const ORDER: MicroTest = single("read-only-order", Aggregations, AggregateParam, &[Each(1, OrderRange)]);
const SIMPLE: MicroTest = single("read-only-simple", Aggregations, AggregateParam, &[Each(1, SimpleRange)]);
const SUM: MicroTest = single("read-only-sum", Aggregations, AggregateParam, &[Each(1, SumRange)]);
const UPDATE_INLIST: MicroTest = single("update-inlist", Writes, ListParam, &[Each(1, ListUpdate)]);
const UPDATE_INDEX: MicroTest = single("update-index", Writes, Single, &[Each(1, IndexUpdate)]);
const UPDATE_NONINDEX: MicroTest = single("update-nonindex", Writes, Single, &[Each(1, NonIndexUpdate)]);
const UPDATE_ONE: MicroTest =
    MicroTest { rows: UsedRows::First, ..single("update-one", Writes, Single, &[Each(1, NonIndexUpdate)]) };
const UPDATE_ZIPF: MicroTest =
    MicroTest { rows: UsedRows::Zipf, ..single("update-zipf", Writes, Single, &[Each(1, NonIndexUpdate)]) };
const WRITE_ONLY: MicroTest = transactions("write-only", Writes, 1, &WRITES);
const READ_WRITE_10: MicroTest = transactions("read-write", Writes, 10, &READS_AND_WRITES);
const READ_WRITE_100: MicroTest = transactions("read-write", Writes, 100, &READS_AND_WRITES);
const DELETE: MicroTest = MicroTest {
    mix: new_mix("delete", RowsAfter::Fewer, &[Each(1, Delete)]),
    ..single("delete", Writes, Single, &[Each(1, Delete)])
};
const INSERT: MicroTest = MicroTest {
    mix: new_mix("insert", RowsAfter::More, &[Each(1, Insert)]),
    ..single("insert", Writes, Single, &[Each(1, Insert)])
};

/// What a step does.
#[derive(Clone, Copy, Debug)]
enum MicroStep {
    Test(&'static MicroTest),
    /// The engine writes its write debt.
    Drain,
}

impl MicroStep {
    fn rows_after(self) -> RowsAfter {
        match self {
            MicroStep::Test(test) => test.mix.rows,
            MicroStep::Drain => RowsAfter::Kept,
        }
    }
}

/// The steps in their order.
const STEPS: [(&str, MicroStep); 48] = {
    use MicroStep::{Drain, Test};
    [
        ("point-query.pre", Test(&POINT_QUERY)),
        ("random-points.pre_range=10", Test(&RANDOM_10)),
        ("random-points.pre_range=100", Test(&RANDOM_100)),
        ("random-points.pre_range=1000", Test(&RANDOM_1000)),
        ("points-covered-pk.pre", Test(&POINTS_COVERED_PK)),
        ("points-notcovered-pk.pre", Test(&POINTS_NOT_COVERED_PK)),
        ("points-covered-si.pre", Test(&POINTS_COVERED_SI)),
        ("points-notcovered-si.pre", Test(&POINTS_NOT_COVERED_SI)),
        ("range-covered-pk.pre", Test(&RANGE_COVERED_PK)),
        ("range-notcovered-pk.pre", Test(&RANGE_NOT_COVERED_PK)),
        ("range-covered-si.pre", Test(&RANGE_COVERED_SI)),
        ("range-notcovered-si.pre", Test(&RANGE_NOT_COVERED_SI)),
        ("read-only.pre_range=10", Test(&READ_ONLY_10)),
        ("read-only.pre_range=100", Test(&READ_ONLY_100)),
        ("read-only.pre_range=10000", Test(&READ_ONLY_10000)),
        ("update-inlist", Test(&UPDATE_INLIST)),
        ("update-index", Test(&UPDATE_INDEX)),
        ("update-nonindex", Test(&UPDATE_NONINDEX)),
        ("update-one", Test(&UPDATE_ONE)),
        ("update-zipf", Test(&UPDATE_ZIPF)),
        ("write-only", Test(&WRITE_ONLY)),
        ("read-write_range=10", Test(&READ_WRITE_10)),
        ("read-write_range=100", Test(&READ_WRITE_100)),
        ("drain", Drain),
        ("hot-points", Test(&HOT_POINTS)),
        ("point-query", Test(&POINT_QUERY)),
        ("random-points_range=10", Test(&RANDOM_10)),
        ("random-points_range=100", Test(&RANDOM_100)),
        ("random-points_range=1000", Test(&RANDOM_1000)),
        ("points-covered-pk", Test(&POINTS_COVERED_PK)),
        ("points-notcovered-pk", Test(&POINTS_NOT_COVERED_PK)),
        ("points-covered-si", Test(&POINTS_COVERED_SI)),
        ("points-notcovered-si", Test(&POINTS_NOT_COVERED_SI)),
        ("range-covered-pk", Test(&RANGE_COVERED_PK)),
        ("range-notcovered-pk", Test(&RANGE_NOT_COVERED_PK)),
        ("range-covered-si", Test(&RANGE_COVERED_SI)),
        ("range-notcovered-si", Test(&RANGE_NOT_COVERED_SI)),
        ("scan", Test(&SCAN)),
        ("read-only-count", Test(&COUNT)),
        ("read-only-distinct", Test(&DISTINCT)),
        ("read-only-order", Test(&ORDER)),
        ("read-only-simple", Test(&SIMPLE)),
        ("read-only-sum", Test(&SUM)),
        ("read-only_range=10", Test(&READ_ONLY_10)),
        ("read-only_range=100", Test(&READ_ONLY_100)),
        ("read-only_range=10000", Test(&READ_ONLY_10000)),
        ("delete", Test(&DELETE)),
        ("insert", Test(&INSERT)),
    ]
};

const STEP_NAMES: [&str; STEPS.len()] = {
    let mut names = [""; STEPS.len()];
    let mut nth = 0;
    while nth < STEPS.len() {
        names[nth] = STEPS[nth].0;
        nth += 1;
    }
    names
};
/// The steps whose list is as long as [`LIST_POINTS`].
const LIST_STEPS: [&str; 10] = [
    "points-covered-pk.pre",
    "points-notcovered-pk.pre",
    "points-covered-si.pre",
    "points-notcovered-si.pre",
    "update-inlist",
    "hot-points",
    "points-covered-pk",
    "points-notcovered-pk",
    "points-covered-si",
    "points-notcovered-si",
];
/// The steps whose ranges are as long as [`RANGE_ROWS`].
const RANGE_STEPS: [&str; 8] = [
    "range-covered-pk.pre",
    "range-notcovered-pk.pre",
    "range-covered-si.pre",
    "range-notcovered-si.pre",
    "range-covered-pk",
    "range-notcovered-pk",
    "range-covered-si",
    "range-notcovered-si",
];
/// The steps whose ranges are as long as [`AGGREGATE_ROWS`].
const AGGREGATE_STEPS: [&str; 5] =
    ["read-only-count", "read-only-distinct", "read-only-order", "read-only-simple", "read-only-sum"];

/// The step that `params` name, and its place among all.
fn step_of(params: &Params) -> (usize, MicroStep) {
    let at = STEP_NAMES.iter().position(|name| *name == params.word(STEP.name));
    let at = at.expect("`step` is declared with these words");
    (at, STEPS[at].1)
}

fn work_traits(params: &Params) -> WorkTraits {
    let (at, step) = step_of(params);
    let (drains, group) = match step {
        MicroStep::Test(test) => (false, test.group),
        MicroStep::Drain => (true, Writes),
    };
    let step = StepWork {
        name: STEP_NAMES[at].to_owned(),
        at: at as u32,
        drains,
        indexes: StepIndexes::Kept,
        group: Some(group.name().to_owned()),
    };
    WorkTraits { step: Some(step), ..WorkTraits::default() }
}

fn sql_program(input: &ProgramInput) -> SqlProgram {
    match step_of(input.params).1 {
        MicroStep::Test(test) => test_program(input, test),
        // The tables are those of any test.
        MicroStep::Drain => SqlProgram {
            statements: Vec::new(),
            rows: Vec::new(),
            writes: true,
            kinds: vec![OpKindDef::without_rows("drain", OpClass::Drain), load_kind(input)],
            work: SqlWork::Drain,
            run: numbered_stream(1, input.clients),
            ..test_program(input, &POINT_QUERY)
        },
    }
}

fn load_kind(input: &ProgramInput) -> OpKindDef {
    OltpData::new(input).load_kind()
}

fn test_program(input: &ProgramInput, test: &'static MicroTest) -> SqlProgram {
    let (lengths, access) = (test.length.lengths(input.params), test.rows.distribution(input));
    mix_program(input, MixRun { mix: &test.mix, lengths, access, transaction: true })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::ClientIndex;
    use crate::tests::params;
    use crate::{SequenceState, SqlTable};
    use model::{SqlArg, SqlOp};
    use std::collections::BTreeSet;

    const ALONE: ClientIndex = ClientIndex { client: 0, clients: 1 };

    fn program(step: &str, changes: &[(&str, &str)]) -> SqlProgram {
        let params = params(&MICRO.entry, &[&[("step", step)], changes].concat());
        sql_program(&ProgramInput::new(&params, 1, &SequenceState::default()))
    }

    fn ops(program: &SqlProgram, count: usize) -> Vec<SqlOp> {
        let mut ops = vec![SqlOp::default(); count];
        (program.run.make)(ALONE).fill_ops(&mut ops);
        ops
    }

    fn ints(op: &SqlOp) -> Vec<i64> {
        op.args.iter().filter_map(|arg| if let SqlArg::Int(value) = arg { Some(*value) } else { None }).collect()
    }

    /// The texts of one operation, with `?, ?` for longer lists.
    fn texts(program: &SqlProgram) -> Vec<String> {
        let op = ops(program, 1).remove(0);
        let text = |statement: u16| {
            let text = &program.statements[statement as usize];
            match text.split_once(" IN (") {
                Some((head, list)) => {
                    let listed = list.trim_end_matches(')').split(", ").collect::<Vec<_>>();
                    assert!(listed.iter().all(|mark| *mark == "?"), "{text}");
                    format!("{head} IN ({})", listed.len())
                }
                None => text.clone(),
            }
        };
        op.calls.iter().map(|call| text(call.statement)).collect()
    }

    #[test]
    fn each_test_of_one_statement_has_the_text_the_values_and_the_effect_that_its_name_promises() {
        for (step, text, values) in [
            ("point-query", "SELECT c FROM sbtest1 WHERE id=?", 1),
            ("random-points_range=10", "SELECT c FROM sbtest1 WHERE id IN (10)", 10),
            ("random-points_range=100", "SELECT c FROM sbtest1 WHERE id IN (100)", 100),
            ("random-points_range=1000", "SELECT c FROM sbtest1 WHERE id IN (1000)", 1_000),
            ("hot-points", "SELECT c FROM sbtest1 WHERE id IN (100)", 100),
            ("points-covered-pk", "SELECT id FROM sbtest1 WHERE id IN (100)", 100),
            ("points-notcovered-pk", "SELECT id, c FROM sbtest1 WHERE id IN (100)", 100),
            ("points-covered-si", "SELECT k FROM sbtest1 WHERE k IN (100)", 100),
            ("points-notcovered-si", "SELECT k, c FROM sbtest1 WHERE k IN (100)", 100),
            ("range-covered-pk", "SELECT id FROM sbtest1 WHERE id BETWEEN ? AND ?", 2),
            ("range-notcovered-pk", "SELECT id, c FROM sbtest1 WHERE id BETWEEN ? AND ?", 2),
            ("range-covered-si", "SELECT k FROM sbtest1 WHERE k BETWEEN ? AND ?", 2),
            ("range-notcovered-si", "SELECT k, c FROM sbtest1 WHERE k BETWEEN ? AND ?", 2),
            ("scan", "SELECT id, k, c, pad FROM sbtest1 WHERE LENGTH(c) < 0", 0),
            ("read-only-count", "SELECT COUNT(c) FROM sbtest1 WHERE id BETWEEN ? AND ?", 2),
            ("read-only-distinct", "SELECT DISTINCT c FROM sbtest1 WHERE id BETWEEN ? AND ? ORDER BY c", 2),
            ("read-only-order", "SELECT c FROM sbtest1 WHERE id BETWEEN ? AND ? ORDER BY c", 2),
            ("read-only-simple", "SELECT c FROM sbtest1 WHERE id BETWEEN ? AND ?", 2),
            ("read-only-sum", "SELECT SUM(k) FROM sbtest1 WHERE id BETWEEN ? AND ?", 2),
            ("update-inlist", "UPDATE sbtest1 SET c=? WHERE id IN (100)", 101),
            ("update-index", "UPDATE sbtest1 SET k=k+1 WHERE id=?", 1),
            ("update-nonindex", "UPDATE sbtest1 SET c=? WHERE id=?", 2),
            ("update-one", "UPDATE sbtest1 SET c=? WHERE id=?", 2),
            ("update-zipf", "UPDATE sbtest1 SET c=? WHERE id=?", 2),
            ("delete", "DELETE FROM sbtest1 WHERE id=?", 1),
            ("insert", "INSERT INTO sbtest1 (id, k, c, pad) VALUES (?, ?, ?, ?)", 4),
        ] {
            let program = program(step, &[]);
            let op = ops(&program, 1).remove(0);
            let writes = !text.starts_with("SELECT");
            assert_eq!(texts(&program), [text], "{step}");
            assert_eq!((op.calls.len(), usize::from(op.calls[0].args), op.args.len()), (1, values, values), "{step}");
            assert_eq!((op.transaction, op.writes, program.writes), (false, writes, writes), "{step}");
            assert_eq!((program.kinds[0].queries, program.kinds[0].rows), (1.0, 0.0), "{step}");
            assert_eq!(program.statements.len(), 1, "{step}");
        }
    }

    #[test]
    fn transactions_are_those_of_sysbench_with_the_ranges_of_their_names() {
        for (step, statements, span) in [
            ("read-only_range=10", 14, Some(9)),
            ("read-only.pre_range=100", 14, Some(99)),
            ("read-only_range=10000", 14, Some(9_999)),
            ("write-only", 4, None),
            ("read-write_range=10", 18, Some(9)),
            ("read-write_range=100", 18, Some(99)),
        ] {
            let program = program(step, &[]);
            let (op, texts) = (ops(&program, 1).remove(0), texts(&program));
            assert_eq!(
                (texts.len(), program.kinds[0].queries, op.transaction),
                (statements, statements as f64 + 2.0, true)
            );
            let mut spans = BTreeSet::new();
            for (text, (_, own)) in texts.iter().zip(op.calls_with_args()) {
                if let ([SqlArg::Int(first), SqlArg::Int(last)], true) = (own, text.contains("BETWEEN")) {
                    spans.insert(last - first);
                }
            }
            assert_eq!(spans, span.into_iter().collect(), "{step}");
        }
    }

    #[test]
    fn lists_are_drawn_value_by_value_and_hot_ones_are_neighbours_in_the_middle() {
        let rows = [("table_rows", "1000"), ("list_points", "20")];
        let random = ops(&program("points-covered-si", &rows), 50);
        let drawn: BTreeSet<i64> = random.iter().flat_map(ints).collect();
        assert!(drawn.len() > 500 && drawn.iter().all(|k| (1..=1000).contains(k)), "{}", drawn.len());
        for op in ops(&program("hot-points", &rows), 3) {
            assert_eq!(ints(&op), (501..=520).collect::<Vec<_>>());
        }
    }

    #[test]
    fn ranges_are_as_long_as_their_parameters() {
        for (step, param) in [("range-covered-si.pre", "range_rows"), ("read-only-sum", "aggregate_rows")] {
            let op = ops(&program(step, &[(param, "7")]), 1).remove(0);
            let [first, last] = ints(&op)[..] else { panic!("{op:?}") };
            assert_eq!(last - first, 6);
        }
    }

    #[test]
    fn update_one_changes_the_first_row_and_update_zipf_some_rows_much_more_often() {
        let all = |step| -> Vec<i64> { ops(&program(step, &[]), 5_000).iter().flat_map(ints).collect() };
        assert_eq!(all("update-one").into_iter().collect::<BTreeSet<_>>(), BTreeSet::from([1]));
        let distinct = |step| all(step).into_iter().collect::<BTreeSet<_>>().len();
        // Of 100,000 rows, 5,000 uniform draws repeat about 120.
        assert!(distinct("update-nonindex") > 4_800, "{}", distinct("update-nonindex"));
        assert!(distinct("update-zipf") < 4_200, "{}", distinct("update-zipf"));
    }

    #[test]
    fn tables_are_used_in_equal_parts() {
        let program = program("scan", &[("tables", "3")]);
        let scanned: BTreeSet<u16> = ops(&program, 60).iter().map(|op| op.calls[0].statement).collect();
        assert_eq!((scanned.len(), program.statements.len()), (3, 3));
    }

    #[test]
    fn what_is_inserted_is_new() {
        let program = program("insert", &[("table_rows", "50")]);
        let ids: Vec<i64> = ops(&program, 20).iter().map(|op| ints(op)[0]).collect();
        assert_eq!(ids, (51..=70).collect::<Vec<_>>());
    }

    #[test]
    fn every_read_before_the_writes_comes_again_after_them() {
        let at = |name: &str| STEP_NAMES.iter().position(|step| *step == name);
        let drain = at("drain").expect("there is one");
        let before: Vec<&str> = STEP_NAMES.iter().copied().filter(|name| name.contains(".pre")).collect();
        assert_eq!(before.len(), 15);
        for name in before {
            let again = at(&name.replace(".pre", "")).unwrap_or_else(|| panic!("{name} does not come again"));
            assert!(at(name) < at("update-inlist") && again > drain);
            assert_eq!(texts(&program(name, &[])), texts(&program(STEP_NAMES[again], &[])));
        }
        let rows = |name: &str| STEPS[at(name).expect("a step")].1.rows_after();
        assert!(STEP_NAMES[..STEP_NAMES.len() - 2].iter().all(|name| rows(name) == RowsAfter::Kept));
        assert_eq!((rows("delete"), rows("insert")), (RowsAfter::Fewer, RowsAfter::More));
    }

    #[test]
    fn a_step_writes_if_it_is_in_the_group_of_writes() {
        for name in STEP_NAMES {
            let params = params(&MICRO.entry, &[("step", name)]);
            let step = work_traits(&params).step.expect("it is a step");
            assert_eq!(program(name, &[]).writes, step.group.as_deref() == Some("writes"), "{name}");
        }
    }

    #[test]
    fn parameters_have_an_effect_on_the_steps_whose_lengths_they_are() {
        let with = |length: StepLength| -> Vec<&str> {
            let own = STEPS.iter().filter(|(_, step)| matches!(step, MicroStep::Test(test) if test.length == length));
            own.map(|(name, _)| *name).collect()
        };
        assert_eq!(with(ListParam), LIST_STEPS);
        assert_eq!(with(RangeParam), RANGE_STEPS);
        assert_eq!(with(AggregateParam), AGGREGATE_STEPS);
    }

    #[test]
    fn every_step_begins_with_the_same_loaded_tables() {
        let made = |step: &str| -> (Vec<SqlTable>, Option<u64>) {
            let program = program(step, &[("tables", "2")]);
            (program.schema, program.load.expect("the tables are filled").ops().ops)
        };
        let first = made(STEP_NAMES[0]);
        assert_eq!((first.0.len(), first.1), (2, Some(40)));
        assert!(STEP_NAMES.iter().all(|step| made(step) == first));
        let drain = program("drain", &[]);
        assert_eq!((drain.work, drain.run.ops), (SqlWork::Drain, Some(1)));
    }
}
