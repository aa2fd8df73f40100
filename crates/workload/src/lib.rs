//! What to do: the operations of each workload, and the distributions they are drawn from.
//!
//! In: a trial's parameters and seed. Out: a program for one family of engines (the data set to make and the operations to
//! perform), whose [`OpStream`]s make one source of operations for each client.
//! Limits: knows no engine, no clock and no file. Same parameters, seed and client, same operations; only the rows of
//! `insert` and the blocks of a shared cursor are dealt to the clients in the order in which they ask, so there a client's
//! share depends on the others.

pub mod background;
mod commits;
pub mod compress;
pub mod connect;
pub mod cpu;
pub mod distribution;
#[cfg(test)]
mod divided;
pub mod file;
pub mod found;
pub mod insert;
pub mod kv;
pub mod micro;
mod new_ids;
pub mod oltp;
pub mod orders;
pub mod own;
pub mod procedure;
pub mod program;
pub mod random;
mod recording_error;
pub mod replay;
pub mod replay_sql;
pub mod scatter;
mod sequence;
pub mod sql;
mod workload;

pub use procedure::{ProcedureStep, ProcedureVariable, SqlProcedure};
pub use program::{
    BackgroundOps, ClientIndex, ColumnKind, ForeignKey, IoProgram, KvProgram, OpKindDef, OpStream, ProgramInput,
    RowTarget, SharedBudget, SqlColumn, SqlCondition, SqlIndex, SqlLoad, SqlProgram, SqlTable, SqlWork,
    TablePartitions, TaskProgram, VariantSteps,
};
pub use recording_error::RecordingError;
pub use sequence::SequenceState;
pub use workload::{DataReuse, MakeProgram, UnsupportedParam, Workload, WorkloadDef};

/// All workloads. A new one is one file and one line here.
pub const WORKLOADS: &[&WorkloadDef] = &[
    &file::FILE,
    &insert::INSERT,
    &oltp::OLTP,
    &micro::MICRO,
    &kv::KV,
    &cpu::CPU,
    &sql::SQL,
    &connect::CONNECT,
    &compress::COMPRESS,
    &orders::ORDERS,
    &replay_sql::REPLAY_SQL,
    &replay::REPLAY,
    &own::OWN,
];

/// The workload of that name.
pub fn find(name: &str) -> Option<&'static WorkloadDef> {
    WORKLOADS.iter().copied().find(|def| def.entry.name == name)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use model::{
        Access, Bytes, Entry, Family, IoOp, KvOp, Nanos, Op, OpKind, ParamDef, ParamKind, Params, SqlOp, TaskOp, Value,
    };
    use std::collections::BTreeSet;
    use std::fmt::Debug;

    /// `def`'s parameters with their defaults, parsed as the crate `plan` would.
    pub(crate) fn defaults(entry: &Entry) -> Params {
        Params(entry.params.iter().map(|param| (param.name.to_string(), parse(param, param.default))).collect())
    }

    /// The defaults with some of them replaced.
    pub(crate) fn params(entry: &Entry, changes: &[(&str, &str)]) -> Params {
        let mut params = defaults(entry);
        for (name, text) in changes {
            let def = entry.params.iter().find(|param| param.name == *name).expect("a declared parameter");
            params.0.insert(name.to_string(), parse(def, text));
        }
        params
    }

    fn parse(param: &ParamDef, text: &str) -> Value {
        match param.kind {
            ParamKind::Bool => Value::Bool(text.parse().unwrap()),
            ParamKind::Int { min, max } => Value::Int(text.parse().ok().filter(|v| (min..=max).contains(v)).unwrap()),
            ParamKind::Float { min, max } => {
                Value::Float(text.parse().ok().filter(|v| (min..=max).contains(v)).unwrap())
            }
            ParamKind::Bytes { min, max } => Value::Bytes(parse_bytes(text, min, max)),
            ParamKind::OneOf(words) | ParamKind::Steps(words) => {
                Value::Word(words.iter().find(|w| **w == text).unwrap().to_string())
            }
            ParamKind::Access => Value::Access(parse_access(text)),
            ParamKind::Statements { if_word: Some(_) } => Value::Statements(Vec::new()),
            ParamKind::Statements { if_word: None } => Value::Statements(own::tests::statements()),
            ParamKind::Tables { .. } => Value::Tables(own::tests::tables()),
            ParamKind::Background { .. } => Value::Background(Vec::new()),
            ParamKind::Variants => Value::Variant(sql::tests::variant()),
            ParamKind::DataSets => Value::Data(sql::tests::data_set()),
            ParamKind::Name | ParamKind::Path => Value::Word(text.to_string()),
            ParamKind::Speed => Value::Float(text.parse().unwrap()),
            ParamKind::Recording => Value::Recording(Box::new(replay::tests::summary())),
            ParamKind::Duration => Value::Nanos(parse_duration(text)),
            kind => panic!("no workload declares {kind:?}"),
        }
    }

    fn parse_bytes(text: &str, min: u64, max: u64) -> Bytes {
        let units = [("GiB", 30), ("MiB", 20), ("KiB", 10), ("B", 0), ("", 0)];
        let (digits, shift) = units.iter().find_map(|(unit, shift)| Some((text.strip_suffix(unit)?, shift))).unwrap();
        let bytes = digits.trim().parse::<u64>().unwrap() << shift;
        assert!((min..=max).contains(&bytes), "{text} is out of bounds");
        Bytes(bytes)
    }

    fn parse_duration(text: &str) -> Nanos {
        match text.strip_suffix('s') {
            Some(seconds) => Nanos::from_secs(seconds.parse().unwrap()),
            None => Nanos(text.parse::<u64>().ok().filter(|number| *number == 0).unwrap()),
        }
    }

    fn parse_access(text: &str) -> Access {
        let (name, args) = text.split_once(':').unwrap_or((text, ""));
        assert!(distribution::find(name).is_some(), "{name} is no distribution");
        let args = args.split(':').filter(|arg| !arg.is_empty()).map(|arg| arg.parse().unwrap());
        Access { name: name.to_string(), args: args.collect() }
    }

    /// An op of a family, with a look at the buffers it holds.
    trait Slotted: Op + Clone + PartialEq + Debug {
        fn capacities(&self) -> Vec<usize>;
    }
    impl Slotted for IoOp {
        fn capacities(&self) -> Vec<usize> {
            Vec::new()
        }
    }
    impl Slotted for TaskOp {
        fn capacities(&self) -> Vec<usize> {
            Vec::new()
        }
    }
    impl Slotted for SqlOp {
        fn capacities(&self) -> Vec<usize> {
            vec![self.calls.capacity(), self.args.capacity(), self.text.capacity()]
        }
    }
    impl Slotted for KvOp {
        fn capacities(&self) -> Vec<usize> {
            vec![self.entries.capacity(), self.removed.capacity(), self.bytes.capacity()]
        }
    }

    /// The parts of every family in which `def` comes: (kinds, load, run) of each.
    struct Parts<O> {
        kinds: usize,
        load: Option<OpStream<O>>,
        run: OpStream<O>,
    }

    fn io_parts(def: &WorkloadDef, seed: u64) -> Option<Parts<IoOp>> {
        let program = (def.io?)(&ProgramInput::new(&defaults(&def.entry), seed, &SequenceState::default()));
        Some(Parts { kinds: program.kinds.len(), load: Some(program.load), run: program.run })
    }
    fn sql_parts(def: &WorkloadDef, seed: u64) -> Option<Parts<SqlOp>> {
        let program = (def.sql?)(&ProgramInput::new(&defaults(&def.entry), seed, &SequenceState::default()));
        let load = program.load.map(|load| match load {
            SqlLoad::Rows { blocks, .. } => blocks,
            SqlLoad::Statements(statements) => statements,
        });
        Some(Parts { kinds: program.kinds.len(), load, run: program.run })
    }
    fn kv_parts(def: &WorkloadDef, seed: u64) -> Option<Parts<KvOp>> {
        let program = (def.kv?)(&ProgramInput::new(&defaults(&def.entry), seed, &SequenceState::default()))
            .expect("the defaults are supported");
        Some(Parts { kinds: program.kinds.len(), load: program.load, run: program.run })
    }

    fn task_parts(def: &WorkloadDef, seed: u64) -> Option<Parts<TaskOp>> {
        let program = (def.task?)(&ProgramInput::new(&defaults(&def.entry), seed, &SequenceState::default()));
        Some(Parts { kinds: program.kinds.len(), load: None, run: program.run })
    }

    /// Fills 3 batches of `count` slots as client 1 of 3 and returns them all.
    fn drawn<O: Slotted>(stream: &OpStream<O>, count: usize) -> Vec<O> {
        let mut source = (stream.make)(ClientIndex { client: 1, clients: 3 });
        let mut slots = vec![O::default(); count];
        let mut all = Vec::new();
        for _ in 0..3 {
            source.fill_ops(&mut slots);
            all.extend_from_slice(&slots);
        }
        all
    }

    /// `draws`: whether operations depend on the seed at all.
    fn hold_the_contract<O: Slotted>(draws: bool, make: impl Fn(u64) -> Option<Parts<O>>) {
        let Some(parts) = make(7) else { return };
        let again = make(7).expect("the same workload");
        let ops = drawn(&parts.run, 64);
        assert!(ops == drawn(&again.run, 64), "the same seed makes the same operations");
        assert!(!draws || ops != drawn(&make(8).expect("the same workload").run, 64), "another seed makes others");
        assert!(ops.iter().all(|op| (op.kind().0 as usize) < parts.kinds), "every op's kind is declared");
        buffers_are_reused(&parts.run);
        if let (Some(load), Some(load_again)) = (&parts.load, &again.load) {
            assert!(drawn(load, 2) == drawn(load_again, 2), "the same seed makes the same data set");
            buffers_are_reused(load);
        }
    }

    fn buffers_are_reused<O: Slotted>(stream: &OpStream<O>) {
        let mut source = (stream.make)(ClientIndex { client: 0, clients: 1 });
        let mut slots = vec![O::default(); stream.ahead];
        (0..3).for_each(|_| source.fill_ops(&mut slots));
        let before: Vec<_> = slots.iter().map(O::capacities).collect();
        (0..20).for_each(|_| source.fill_ops(&mut slots));
        assert_eq!(before, slots.iter().map(O::capacities).collect::<Vec<_>>());
    }

    #[test]
    fn every_workload_has_a_program_for_exactly_the_families_it_names() {
        for def in WORKLOADS {
            let has = |family| def.entry.families.contains(&family);
            assert_eq!(
                [Family::Io, Family::Sql, Family::Kv, Family::Connection].map(has),
                [def.io.is_some(), def.sql.is_some(), def.kv.is_some(), def.connect.is_some()]
            );
            let has_tasks = def.entry.families.iter().any(|family| matches!(family, Family::Task(_)));
            assert_eq!(has_tasks, def.task.is_some());
        }
    }

    #[test]
    fn every_workload_is_found_by_its_name_and_no_name_is_used_twice() {
        for def in WORKLOADS {
            assert!(std::ptr::eq(find(def.entry.name).expect("a registered workload"), *def));
        }
        assert!(find("none").is_none());
    }

    #[test]
    fn every_default_is_accepted_by_its_parameter() {
        for def in WORKLOADS {
            assert_eq!(
                defaults(&def.entry).0.len(),
                def.entry.params.len(),
                "{} declares a name twice",
                def.entry.name
            );
        }
    }

    #[test]
    fn what_fills_its_data_in_prepare_takes_space_and_what_fills_it_in_the_run_grows() {
        // A connection has no data, and statements of a log find theirs.
        let has_data = |def: &&&WorkloadDef| def.connect.is_none() && def.entry.name != "replay-sql";
        for def in WORKLOADS.iter().filter(has_data) {
            let params = defaults(&def.entry);
            let takes = ((def.data_bytes)(&params) > Bytes(0), (def.growth_bytes_per_op)(&params) > Bytes(0));
            let expected: &[(bool, bool)] = match (def.data_reuse)(&params) {
                // Tasks have no load. What they write, they overwrite or remove.
                _ if def.task.is_some() => &[(false, false)],
                DataReuse::Shared => &[(true, false)],
                // A workload that begins with rows and adds others has both.
                DataReuse::Fresh => &[(false, true), (true, true)],
                // What all steps make is known if they end by count, and else what an operation adds.
                DataReuse::Continues { .. } => &[(true, false), (false, true)],
            };
            assert!(expected.contains(&takes), "{}: {takes:?}", def.entry.name);
        }
    }

    #[test]
    fn operations_come_from_the_seed_and_slots_keep_their_buffers() {
        for def in WORKLOADS {
            // The steps of a variant are those of the plan, and the operations of a recording its own.
            let is_given = |param: &ParamDef| matches!(param.kind, ParamKind::Variants | ParamKind::Recording);
            let draws = !def.entry.params.iter().any(is_given);
            hold_the_contract(draws, |seed| io_parts(def, seed));
            hold_the_contract(draws, |seed| sql_parts(def, seed));
            hold_the_contract(draws, |seed| kv_parts(def, seed));
            hold_the_contract(draws, |seed| task_parts(def, seed));
        }
    }

    /// The kinds of some operations of `stream`.
    fn kinds_of<O: Slotted>(stream: &OpStream<O>) -> BTreeSet<u8> {
        drawn(stream, 2).iter().map(|op| op.kind().0).collect()
    }

    #[test]
    fn what_is_done_beside_a_run_is_of_the_kinds_that_it_says_and_the_run_is_of_others() {
        let mut seen = 0;
        let mut check = |run: BTreeSet<u8>, background: BTreeSet<u8>, kinds: &[OpKind]| {
            seen += 1;
            let told: BTreeSet<u8> = kinds.iter().map(|kind| kind.0).collect();
            assert!(background.is_subset(&told) && run.is_disjoint(&told), "{run:?} {background:?} {told:?}");
        };
        for def in WORKLOADS {
            let steps = def.entry.params.iter().flat_map(|param| match param.kind {
                ParamKind::Steps(words) => words.iter().map(|word| (param.name, *word)).collect(),
                _ => Vec::new(),
            });
            for step in steps {
                let params = params(&def.entry, &[step]);
                let sql = def.sql.map(|make| make(&ProgramInput::new(&params, 7, &SequenceState::default())));
                if let Some((program, background)) = sql.as_ref().and_then(|sql| Some((sql, sql.background.first()?))) {
                    check(kinds_of(&program.run), kinds_of(&background.stream), &background.kinds);
                }
                let kv = def.kv.and_then(|make| make(&ProgramInput::new(&params, 7, &SequenceState::default())).ok());
                if let Some((program, background)) = kv.as_ref().and_then(|kv| Some((kv, kv.background.first()?))) {
                    check(kinds_of(&program.run), kinds_of(&background.stream), &background.kinds);
                }
            }
        }
        assert!(seen > 0, "no step has operations beside it");
    }

    #[test]
    fn every_distribution_is_an_access_of_every_workload_that_takes_one() {
        for def in WORKLOADS.iter().filter(|def| def.entry.params.iter().any(|param| param.name == "access")) {
            let ops_of = |name: &str, seed| {
                let params = params(&def.entry, &[("access", name)]);
                let io = def
                    .io
                    .map(|make| drawn(&make(&ProgramInput::new(&params, seed, &SequenceState::default())).run, 64));
                let sql = def
                    .sql
                    .map(|make| drawn(&make(&ProgramInput::new(&params, seed, &SequenceState::default())).run, 64));
                let kv = def.kv.map(|make| {
                    drawn(
                        &make(&ProgramInput::new(&params, seed, &SequenceState::default()))
                            .expect("the defaults are supported")
                            .run,
                        64,
                    )
                });
                (io, sql, kv)
            };
            for name in distribution::DISTRIBUTIONS.iter().map(|dist| dist.entry.name) {
                assert!(ops_of(name, 7) == ops_of(name, 7), "{}: {name}", def.entry.name);
                assert!((name == "uniform") == (ops_of(name, 7) == ops_of("uniform", 7)), "{}: {name}", def.entry.name);
            }
        }
    }

    #[test]
    fn what_each_statement_of_a_workload_returns_and_changes_is_declared() {
        for def in WORKLOADS {
            let Some(make) = def.sql else { continue };
            let program = make(&ProgramInput::new(&defaults(&def.entry), 7, &SequenceState::default()));
            if program.work != SqlWork::Calls {
                continue;
            }
            assert_eq!(program.rows.len(), program.statements.len(), "{}", def.entry.name);
            // What the user wrote is not known.
            let known = |rows: &model::ExpectedRows| rows.is_known() || rows.mostly != model::MostlyRows::Unknown;
            assert!(def.entry.name == "own" || program.rows.iter().all(known), "{}", def.entry.name);
        }
    }

    #[test]
    fn every_call_passes_as_many_arguments_as_its_statement_has_placeholders() {
        for def in WORKLOADS {
            let Some(make) = def.sql else { continue };
            let program = make(&ProgramInput::new(&defaults(&def.entry), 7, &SequenceState::default()));
            let check = |stream: &OpStream<SqlOp>, statements: &[String]| {
                for op in drawn(stream, 2) {
                    assert_eq!(op.args.len(), op.calls.iter().map(|call| call.args as usize).sum::<usize>());
                    for call in &op.calls {
                        let text = &statements[call.statement as usize];
                        assert_eq!(text.matches('?').count(), call.args as usize, "{text}");
                    }
                    assert!(std::str::from_utf8(&op.text).is_ok());
                }
            };
            check(&program.run, &program.statements);
            let inserts: Vec<String> = match &program.load {
                Some(SqlLoad::Rows { targets, .. }) => {
                    targets.iter().map(|target| target.insert_statement(str::to_owned)).collect()
                }
                _ => continue,
            };
            program.load.iter().for_each(|load| check(load.ops(), &inserts));
        }
    }
}
