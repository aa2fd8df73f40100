//! Statements of the user's own that clients of their own perform in the background of a workload.
//!
//! In: a program, and the entries in its parameters. Out: the same program with further statements and kinds of operation, and a
//! background load for each entry. Limits: a workload whose operations are no statements (an index build, a drain, a variant) has no
//! background: its one operation ends by itself. If several hosts use the same data, the first of them has the clients of all entries.

use crate::Workload;
use crate::distribution::{self, Distribution};
use crate::new_ids::NewIds;
use crate::oltp::custom::{CustomMix, CustomOps, OltpDraws};
use crate::oltp::mixes::RowPicker;
use crate::oltp::rows::OltpData;
use crate::program::{BackgroundOps, ClientIndex, OpStream, ProgramInput, SqlProgram, SqlWork};
use crate::random::client_rng_stream;
use model::{Access, BACKGROUND, BackgroundEntry, ExpectedRows, OpKind, ParamDef, ParamKind, ParamRole, Params, SqlOp};
use std::sync::Arc;

/// The entries of a workload whose rows have numbers, in tables with numbers.
pub(crate) const ON_ROWS: ParamDef = declare(true);

/// The entries of another workload.
pub(crate) const ON_NAMED_TABLES: ParamDef = declare(false);

const fn declare(rows: bool) -> ParamDef {
    ParamDef {
        help: "statements that clients of their own perform while others are measured, each with `name`, `sql`, `clients`, and `rate` \
               or `think`; SQL engines only",
        ..ParamDef::new(BACKGROUND, ParamRole::Tuning, ParamKind::Background { rows }, "")
    }
}

/// The streams of generators of the entries begin here; a workload has lower ones of its own.
const FIRST_STREAM: u32 = 1_000;

/// Whether the entries of `params` may leave other rows behind than they found.
pub(crate) fn changes_rows(params: &Params) -> bool {
    params.background().iter().flat_map(BackgroundEntry::statements).any(|statement| statement.changes_rows())
}

/// `program` with a background load for each entry in the parameters of `input`. `rows`: their values may be those of rows.
pub(crate) fn with_background(mut program: SqlProgram, input: &ProgramInput, rows: bool) -> SqlProgram {
    let entries = input.params.background();
    if entries.is_empty() || program.work != SqlWork::Calls {
        return program;
    }
    // Each client prepares what it executes: a report that is refused ends the point, and costs the measured clients nothing.
    let own = program.statements.len() as u16;
    if program.run.statements.is_none() {
        program.run = program.run.with_statements(move |_| (0..own).collect());
    }
    let values = EntryValues::new(input, rows);
    for (nth, entry) in (0..).zip(entries) {
        add_entry(&mut program, entry, nth, &values);
    }
    if input.clients.first() > 0 {
        // The kinds are those of every host; the clients are the first one's.
        program.background.retain(|ops| ops.clients.is_none());
    }
    program
}

/// Where the values of all entries come from.
#[derive(Clone)]
struct EntryValues {
    data: OltpData,
    access: Distribution,
    seed: u64,
    new_ids: NewIds,
}

impl EntryValues {
    fn new(input: &ProgramInput, rows: bool) -> EntryValues {
        let seed = input.seed;
        let data = if rows { OltpData::new(input) } else { OltpData::none(seed) };
        let uniform = Access { name: "uniform".into(), args: Vec::new() };
        let access = distribution::from_access(if rows { input.params.access("access") } else { &uniform }, data.rows);
        EntryValues { data, access, seed, new_ids: NewIds::after(data.last_id, input.clients) }
    }
}

fn add_entry(program: &mut SqlProgram, entry: &BackgroundEntry, nth: u32, values: &EntryValues) {
    let custom =
        Arc::new(CustomMix::new(std::slice::from_ref(&entry.op), values.data.tables, true, |value| value.draw.clone()));
    let (first, kind) = (program.statements.len() as u16, OpKind(program.kinds.len() as u8));
    let statements = first..first.saturating_add(custom.statements.len() as u16);
    program.rows.resize(program.statements.len(), ExpectedRows::ANY);
    program.rows.extend(&custom.rows);
    program.statements.extend(custom.statements.iter().cloned());
    program.kinds.extend(&custom.kinds);
    program.writes |= custom.writes;
    let values = values.clone();
    let make = move |slot: ClientIndex| {
        let rng = client_rng_stream(values.seed, slot.client, FIRST_STREAM + nth);
        let picks = RowPicker::with_rng(rng, values.data, values.access);
        let draws = OltpDraws { picks, new_ids: values.new_ids.clone() };
        EntryOps { ops: CustomOps::new(custom.clone(), draws), first, kind }
    };
    let stream = OpStream::new(None, 1, make).with_statements(move |_| statements.clone().collect());
    let (clients, pace) = (Some(entry.clients), entry.pace_of_client());
    program.background.push(BackgroundOps { stream, kinds: vec![kind], clients, pace });
}

/// The operations of one client of an entry.
struct EntryOps {
    ops: CustomOps<OltpDraws>,
    /// The number of the first of its statements among those of the program.
    first: u16,
    kind: OpKind,
}

impl Workload<SqlOp> for EntryOps {
    fn fill_ops(&mut self, ops: &mut [SqlOp]) {
        self.ops.fill_ops(ops);
        for op in ops {
            op.op_kind = self.kind;
            op.calls.iter_mut().for_each(|call| call.statement += self.first);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::params;
    use crate::{DataReuse, SequenceState, WORKLOADS, find};
    use model::statement::{CustomOp, CustomStatement, CustomValue, Draw};
    use model::{BackgroundPace, EntryPace, LoadPart, SqlArg, Value};

    fn entry(name: &str, texts: &[&str], draws: &[Draw]) -> BackgroundEntry {
        let values: Vec<CustomValue> = draws.iter().map(|draw| CustomValue { draw: draw.clone(), nth: 1 }).collect();
        let statement = |text: &&str| CustomStatement { text: (*text).into(), values: values.clone() };
        let op = CustomOp { name: name.into(), weight: 1, statements: texts.iter().map(statement).collect() };
        BackgroundEntry { op, clients: 2, pace: EntryPace::Rate(5.0) }
    }

    fn with_entries(workload: &str, entries: &[BackgroundEntry], changes: &[(&str, &str)]) -> Params {
        let mut params = params(&find(workload).expect("a workload").entry, changes);
        params.0.insert(BACKGROUND.into(), Value::Background(entries.to_vec()));
        params
    }

    fn program(workload: &str, entries: &[BackgroundEntry], changes: &[(&str, &str)]) -> SqlProgram {
        let params = with_entries(workload, entries, changes);
        let sequence = SequenceState::default();
        let input = ProgramInput::new(&params, 7, &sequence);
        find(workload).expect("a workload").sql_program(&input).expect("it comes for SQL")
    }

    fn filled(stream: &OpStream<SqlOp>, client: u32, count: usize) -> Vec<SqlOp> {
        let mut ops = vec![SqlOp::default(); count];
        (stream.make)(ClientIndex { client, clients: 2 }).fill_ops(&mut ops);
        ops
    }

    #[test]
    fn every_workload_of_statements_takes_entries_behind_its_own_statements_and_kinds() {
        let takers: Vec<&str> = WORKLOADS
            .iter()
            .filter(|def| def.entry.params.iter().any(|def| def.name == BACKGROUND))
            .map(|def| def.entry.name)
            .collect();
        assert_eq!(takers, ["insert", "oltp", "micro", "kv", "orders", "own"]);
        for workload in takers {
            let (alone, entries) = (
                program(workload, &[], &[]),
                [entry("a", &["SELECT 1"], &[]), entry("b", &["SELECT 2", "SELECT 3"], &[])],
            );
            let both = program(workload, &entries, &[]);
            let (statements, kinds) = (alone.statements.len(), alone.kinds.len());
            assert_eq!(both.statements[statements..], ["SELECT 1", "SELECT 2", "SELECT 3"], "{workload}");
            assert_eq!(
                both.kinds[kinds..].iter().map(|kind| (kind.name, kind.queries)).collect::<Vec<_>>(),
                [("a", 1.0), ("b", 4.0)]
            );
            let [a, b] = &both.background[..] else { panic!("two entries") };
            assert_eq!((a.clients, a.pace), (Some(2), BackgroundPace::Rate { per_client_s: 2.5 }));
            let op = filled(&b.stream, 0, 1).remove(0);
            assert_eq!((op.op_kind, op.transaction), (b.kinds[0], true));
            let called: Vec<u16> = op.calls.iter().map(|call| call.statement).collect();
            assert_eq!(called, [statements as u16 + 1, statements as u16 + 2]);
            assert_eq!(
                b.stream.statements_of(ClientIndex { client: 1, clients: 2 }),
                Some(called),
                "only its own are prepared"
            );
            let own = both.run.statements_of(ClientIndex { client: 0, clients: 1 }).expect("not those of the entries");
            assert!(own.iter().all(|number| usize::from(*number) < statements));
        }
    }

    #[test]
    fn values_are_drawn_by_the_access_of_the_workload_and_are_others_for_each_client() {
        let sum = entry("sum", &["SELECT sum(k) FROM sbtest{table} WHERE id > ?"], &[Draw::Id]);
        let program = program("oltp", &[sum], &[("tables", "3"), ("table_rows", "50"), ("access", "zipf:2")]);
        let stream = &program.background[0].stream;
        let ids = |client| -> Vec<i64> {
            let int = |op: &SqlOp| if let SqlArg::Int(id) = op.args[0] { id } else { panic!("{op:?}") };
            filled(stream, client, 500).iter().map(int).collect()
        };
        assert!(ids(0).iter().all(|id| (1..=50).contains(id)) && ids(0) == ids(0) && ids(0) != ids(1));
        let most = ids(0).iter().filter(|id| **id == ids(0)[0]).count();
        assert!(most != 500, "not all are one row");
        let tables: std::collections::BTreeSet<u16> =
            filled(stream, 0, 200).iter().map(|op| op.calls[0].statement).collect();
        assert_eq!(tables.len(), 3);
    }

    #[test]
    fn a_step_that_is_no_statement_has_no_background_and_other_hosts_leave_it_to_the_first() {
        let report = [entry("report", &["SELECT 1"], &[])];
        assert!(program("insert", &report, &[("step", "drain")]).background.is_empty());
        let params = with_entries("oltp", &report, &[]);
        let sequence = SequenceState::default();
        let input = ProgramInput { clients: LoadPart::new(4, 4, 8), ..ProgramInput::new(&params, 7, &sequence) };
        let second = find("oltp").expect("a workload").sql_program(&input).expect("it comes for SQL");
        assert!(second.background.is_empty() && second.kinds.iter().any(|kind| kind.name == "report"));
    }

    #[test]
    fn an_entry_that_adds_or_removes_rows_leaves_no_data_to_other_trials() {
        let reuse = |text: &str| {
            find("oltp").expect("a workload").reuse_of(&with_entries("oltp", &[entry("x", &[text], &[])], &[]))
        };
        assert_eq!((reuse("SELECT 1"), reuse("UPDATE sbtest1 SET k = 1")), (DataReuse::Shared, DataReuse::Shared));
        assert_eq!(reuse("DELETE FROM sbtest1 WHERE id = 1"), DataReuse::Fresh);
    }
}
