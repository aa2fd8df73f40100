//! The workload `sql`: variants of one statement, each with its set-up and its clean-up.
//!
//! In: one variant and a data set of the plan, a number of rows, how often the variant is executed. Out: a program whose operations are
//! the steps of the variant, each a kind of its own, and whose load makes the data.
//! Limits: SQL engines only, one client; nothing is drawn from the seed. `{rows}` in any statement is the number of rows, which
//! `--scale` multiplies.

use crate::oltp::custom::keep_name;
use crate::program::{OpKindDef, OpStream, ProgramInput, SqlLoad, SqlProgram, SqlWork, VariantSteps};
use crate::{DataReuse, Workload, WorkloadDef};
use model::statement::CustomStatement;
use model::variant::{ROWS, SqlStep, SqlVariant};
use model::{
    Bytes, Entry, Family, Nanos, OpClass, OpKind, ParamDef, ParamKind, ParamRole, Params, Phrase, SqlCall, SqlOp,
    VariantWork, WorkTraits,
};

pub static SQL: WorkloadDef = WorkloadDef {
    entry: Entry {
        name: "sql",
        spoken: "queries",
        help: "variants of one statement, each with its set-up and clean-up: which is faster, and why",
        families: &[Family::Sql],
        params: PARAMS,
    },
    traits,
    // What a variant makes it removes.
    data_reuse: |_| DataReuse::Shared,
    data_bytes: |params| Bytes(params.int(ROWS_PARAM.name) * ROW_BYTES),
    growth_bytes_per_op: |_| Bytes(0),
    io: None,
    sql: Some(program),
    kv: None,
    task: None,
    connect: None,
    steps_without_kv: &[],
    usual_keys: &[],
};

const PARAMS: &[ParamDef] = &[VARIANT, DATA, QUESTION, ROWS_PARAM, EXECUTIONS, START, STATEMENT_TIMEOUT];

/// A guess: a few tables of some columns.
const ROW_BYTES: u64 = 200;

const VARIANT: ParamDef = ParamDef {
    help: "the variants that are compared, each with `name`, `setup`, `statement` and `cleanup`; the first is the base",
    phrase: Phrase::Words(&[("{}", "`{}`")]),
    ..ParamDef::new("variant", ParamRole::Tuning, ParamKind::Variants, "")
};
const DATA: ParamDef = ParamDef {
    help: "the tables that variants are compared on, each set with `name` and the `statements` that make and fill it",
    shapes_data: true,
    ..ParamDef::new("data", ParamRole::Mix, ParamKind::DataSets, "")
};
const QUESTION: ParamDef = ParamDef {
    help: "name of what the variants ask for: only those with the same question must return the same, and are compared",
    ..ParamDef::new("question", ParamRole::Mix, ParamKind::Name, "all")
};
const ROWS_PARAM: ParamDef = ParamDef {
    help: "the number that replaces `{rows}` in statements",
    scales: true,
    shapes_data: true,
    phrase: Phrase::Counted { zero: "no row", one: "one row", many: "{} rows" },
    ..ParamDef::new("rows", ParamRole::DataSize, ParamKind::Int { min: 1, max: 1 << 40 }, "10000")
};
const EXECUTIONS: ParamDef = ParamDef {
    help: "executions of the variant in each point",
    phrase: Phrase::Counted { zero: "no execution", one: "one execution", many: "{} executions" },
    ..ParamDef::new("executions", ParamRole::Tuning, ParamKind::Int { min: 1, max: 1_000 }, "1")
};
const START: ParamDef = ParamDef {
    help: "`warm` (one execution that is not measured comes first) or `cold` (before each point the engine is restarted and its files \
           are dropped from the page cache)",
    shapes_data: true,
    phrase: Phrase::Words(&[("warm", "a warm cache"), ("cold", "a cold cache")]),
    ..ParamDef::new("start", ParamRole::Ground, ParamKind::OneOf(&["warm", "cold"]), "warm")
};
const STATEMENT_TIMEOUT: ParamDef = ParamDef {
    help: "cancel a step that takes longer, and count it as failed; 0 = no limit",
    ..ParamDef::new("statement_timeout", ParamRole::Tuning, ParamKind::Duration, "0s")
};

fn traits(params: &Params) -> WorkTraits {
    let variant = params.variant(VARIANT.name);
    let (name, param) = (variant.name.clone(), VARIANT.name.to_owned());
    let (parts, is_cold, timeout) = (variant.parts(), is_cold(params), timeout(params));
    let work = VariantWork { name, param, parts, is_cold, timeout };
    WorkTraits { variant: Some(work), ..WorkTraits::default() }
}

/// Whether each point of `params` begins with cold caches.
pub fn is_cold(params: &Params) -> bool {
    params.word(START.name) == "cold"
}

fn timeout(params: &Params) -> Option<Nanos> {
    Some(params.nanos(STATEMENT_TIMEOUT.name)).filter(|limit| limit.0 > 0)
}

fn program(input: &ProgramInput) -> SqlProgram {
    let params = input.params;
    let rows = params.int(ROWS_PARAM.name).to_string();
    let filled = |sql: &String| sql.replace(ROWS, &rows);
    let variant = params.variant(VARIANT.name);
    let steps: Vec<SqlStep> =
        variant.steps.iter().map(|step| SqlStep { sql: filled(&step.sql), ..step.clone() }).collect();
    let data: Vec<String> = params.data_set(DATA.name).statements.iter().map(filled).collect();
    let count = steps.len();
    let work =
        VariantSteps { name: variant.name.clone(), steps, data, warms_up: !is_cold(params), timeout: timeout(params) };
    let load = (!work.data.is_empty()).then(|| SqlLoad::Statements(in_turn(count, work.data.len(), 1)));
    SqlProgram {
        schema: Vec::new(),
        procedures: Vec::new(),
        statements: work.steps.iter().map(|step| step.sql.clone()).collect(),
        rows: Vec::new(),
        writes: work.steps.iter().any(|step| class_of(&step.sql) != OpClass::Read),
        kinds: kinds_of(variant),
        load,
        run: in_turn(0, count, params.int(EXECUTIONS.name)),
        work: SqlWork::Variant(work),
        needs_answers: false,
        background: Vec::new(),
        conditions: Vec::new(),
        found: None,
    }
}

/// A kind for each step, and one for the load.
fn kinds_of(variant: &SqlVariant) -> Vec<OpKindDef> {
    let names = variant.step_names();
    let steps = variant.steps.iter().zip(&names);
    let kinds = steps.map(|(step, name)| OpKindDef::without_rows(keep_name(name), class_of(&step.sql)));
    kinds.chain([OpKindDef::without_rows("load", OpClass::Write)]).collect()
}

/// What `sql` does to the data, as far as its words show.
fn class_of(sql: &str) -> OpClass {
    let writes = CustomStatement { text: sql.to_owned(), values: Vec::new() }.writes();
    OpClass::from_effects(!writes, writes)
}

/// Statements number 0 to `count`, `times` over, by one client. Their kinds begin at `first_kind`, or are all that one if it is no step.
fn in_turn(first_kind: usize, count: usize, times: u64) -> OpStream<SqlOp> {
    let one_kind = first_kind > 0;
    OpStream::new(Some(count as u64 * times), 1, move |_| StepsInTurn { first_kind, one_kind, count, next: 0 })
}

/// One step after the other, and again from the first.
struct StepsInTurn {
    first_kind: usize,
    one_kind: bool,
    count: usize,
    next: usize,
}

impl Workload<SqlOp> for StepsInTurn {
    fn fill_ops(&mut self, ops: &mut [SqlOp]) {
        for op in ops {
            op.clear();
            let kind = if self.one_kind { self.first_kind } else { self.next };
            op.op_kind = OpKind(kind as u8);
            op.calls.push(SqlCall { statement: self.next as u16, args: 0 });
            self.next = (self.next + 1) % self.count;
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::SequenceState;
    use crate::program::ClientIndex;
    use crate::tests::params;
    use model::{SqlDataSet, StepPart};

    pub(crate) fn variant() -> SqlVariant {
        let step = |part, sql: &str| SqlStep { part, sql: sql.into() };
        let steps = vec![
            step(StepPart::Setup, "CREATE TEMPORARY TABLE x AS SELECT a FROM t"),
            step(StepPart::Statement, "SELECT count(*) FROM x WHERE a < {rows}"),
            step(StepPart::Cleanup, "DROP TABLE x"),
        ];
        SqlVariant { name: "temp".into(), steps }
    }

    pub(crate) fn data_set() -> SqlDataSet {
        SqlDataSet {
            name: "t".into(),
            statements: vec!["CREATE TABLE t (a INT)".into(), "INSERT INTO t VALUES ({rows})".into()],
        }
    }

    #[test]
    fn the_steps_come_in_turn_with_their_own_kinds_and_end_with_the_executions() {
        let program = program(&ProgramInput::new(
            &params(&SQL.entry, &[("executions", "2"), ("rows", "7")]),
            1,
            &SequenceState::default(),
        ));
        assert_eq!(program.run.ops, Some(6));
        let mut ops = vec![SqlOp::default(); 6];
        (program.run.make)(ClientIndex { client: 0, clients: 1 }).fill_ops(&mut ops);
        assert_eq!(ops.iter().map(|op| op.op_kind.0).collect::<Vec<_>>(), [0, 1, 2, 0, 1, 2]);
        assert_eq!(program.statements[1], "SELECT count(*) FROM x WHERE a < 7");
        let SqlWork::Variant(steps) = &program.work else { panic!("a variant") };
        assert_eq!(steps.data[1], "INSERT INTO t VALUES (7)");
        let kinds: Vec<_> = program.kinds.iter().map(|kind| (kind.name, kind.class)).collect();
        let (read, write) = (OpClass::Read, OpClass::Write);
        assert_eq!(kinds, [("setup-1", write), ("statement", read), ("cleanup-1", write), ("load", write)]);
    }

    #[test]
    fn the_load_performs_each_statement_of_the_data_once() {
        let program = program(&ProgramInput::new(&params(&SQL.entry, &[]), 1, &SequenceState::default()));
        let load = program.load.as_ref().expect("there is data").ops();
        let mut ops = vec![SqlOp::default(); 2];
        (load.make)(ClientIndex { client: 0, clients: 1 }).fill_ops(&mut ops);
        let calls: Vec<_> = ops.iter().map(|op| (op.op_kind.0, op.calls[0].statement)).collect();
        assert_eq!((load.ops, calls), (Some(2), vec![(3, 0), (3, 1)]));
    }

    #[test]
    fn a_limit_of_zero_is_none_and_cold_points_do_not_warm_up() {
        let work = |changes: &[(&str, &str)]| traits(&params(&SQL.entry, changes)).variant.expect("a variant");
        assert_eq!((work(&[]).timeout, work(&[]).is_cold), (None, false));
        let cold = work(&[("start", "cold"), ("statement_timeout", "5s")]);
        assert!(cold.is_cold && cold.timeout.is_some());
        assert_eq!(cold.parts, [StepPart::Setup, StepPart::Statement, StepPart::Cleanup]);
    }
}
