//! Tests of workloads whose load several hosts share.
//!
//! In: a trial of each workload, divided. Out: nothing. Limits: what hosts insert into common tables is tested next to how it is dealt out.

use crate::distribution::DISTRIBUTIONS;
use crate::distribution::fit::{DrawCounter, FitVerdict, LawComparison};
use crate::program::{ClientIndex, OpStream, ProgramInput, SqlProgram};
use crate::tests::params;
use crate::{SequenceState, WORKLOADS, WorkloadDef, distribution, find};
use model::{DataOrigin, Load, LoadPart, Op, SqlArg, SqlOp, Trial, WorkloadSpec, divide_trial};
use std::collections::BTreeSet;

const SHARED: [DataOrigin; 2] = [DataOrigin::MadeByFirst, DataOrigin::MadeByAll];

fn def(name: &str) -> &'static WorkloadDef {
    find(name).expect("a registered workload")
}

fn trial(workload: &str, changes: &[(&str, &str)], clients: u32) -> Trial {
    let simple = Trial::simple("any", workload);
    Trial {
        workload: WorkloadSpec { params: params(&def(workload).entry, changes), ..simple.workload },
        load: Load { clients, ..simple.load },
        seed: 7,
        ..simple
    }
}

/// The trials of `hosts` hosts.
fn shares(workload: &str, changes: &[(&str, &str)], clients: u32, hosts: u32, data: DataOrigin) -> Vec<Trial> {
    divide_trial(&trial(workload, changes, clients), hosts, data).expect("there are enough clients")
}

fn sql_of(trial: &Trial) -> SqlProgram {
    sql_on(trial, &SequenceState::default())
}

fn sql_on(trial: &Trial, sequence: &SequenceState) -> SqlProgram {
    (def(&trial.workload.name).sql.expect("it comes for SQL"))(&ProgramInput::from_trial(trial, sequence))
}

fn filled<O: Op>(stream: &OpStream<O>, slot: ClientIndex, count: usize) -> Vec<O> {
    let mut ops: Vec<O> = std::iter::repeat_with(O::default).take(count).collect();
    (stream.make)(slot).fill_ops(&mut ops);
    ops
}

/// The first operations of each client of `trial`, client by client.
fn first_ops(trial: &Trial) -> Vec<Vec<SqlOp>> {
    let program = sql_of(trial);
    ClientIndex::all_in(trial.data_part()).map(|slot| filled(&program.run, slot, 40)).collect()
}

/// All operations that the clients of `trial` perform in a run that ends by itself.
fn all_ops(trial: &Trial, sequence: &SequenceState) -> Vec<SqlOp> {
    let program = sql_on(trial, sequence);
    let of_client = |slot| {
        let ops = match &program.run.shared_budget {
            Some(budget) => std::iter::from_fn(|| Some(budget.take_ops(64, 1)).filter(|ops| *ops > 0)).sum(),
            None => program.run.ops_of(slot).expect("it ends"),
        };
        filled(&program.run, slot, ops as usize)
    };
    ClientIndex::all_in(trial.data_part()).flat_map(of_client).collect()
}

fn first_int(op: &SqlOp) -> u64 {
    if let SqlArg::Int(value) = op.args[0] { value as u64 } else { panic!("{op:?} begins with no number") }
}

#[test]
fn one_host_has_the_program_that_it_had_before_loads_were_shared() {
    let sequence = SequenceState::default();
    for workload in WORKLOADS
        .iter()
        .filter(|workload| workload.sql.is_some() && !["sql", "replay-sql"].contains(&workload.entry.name))
    {
        let alone = trial(workload.entry.name, &[], 3);
        let [ours] = &divide_trial(&alone, 1, DataOrigin::Own).unwrap()[..] else { panic!("one host, one trial") };
        let before = ProgramInput::new(&alone.workload.params, alone.seed, &sequence);
        let before = (workload.sql.unwrap())(&before);
        for client in 0..3 {
            let slot = ClientIndex { client, clients: 3 };
            let now = sql_of(ours);
            let fresh = (workload.sql.unwrap())(&ProgramInput::new(
                &alone.workload.params,
                alone.seed,
                &SequenceState::default(),
            ));
            assert_eq!(filled(&now.run, slot, 50), filled(&fresh.run, slot, 50), "{}", workload.entry.name);
            assert_eq!((now.run.ops, now.run.ops_of(slot)), (before.run.ops, before.run.ops_of(slot)));
        }
        assert_eq!(ClientIndex::all_in(ours.data_part()).count(), 3);
    }
}

#[test]
fn the_clients_of_all_hosts_do_what_those_of_one_host_would_do() {
    for mix in ["point_select", "read_write", "update_index", "delete", "select_random_ranges"] {
        let changes = [("mix", mix), ("tables", "3"), ("access", "zipf")];
        let alone = first_ops(&trial("oltp", &changes, 10));
        for data in SHARED {
            let merged: Vec<_> = shares("oltp", &changes, 10, 4, data).iter().flat_map(first_ops).collect();
            assert_eq!(merged, alone, "{mix}");
        }
    }
}

#[test]
fn hosts_with_data_of_their_own_draw_other_keys_each() {
    let own = shares("oltp", &[], 4, 2, DataOrigin::Own);
    let [one, other] = [first_ops(&own[0]), first_ops(&own[1])];
    assert_eq!((one.len(), other.len()), (2, 2));
    assert!(one.iter().chain(&other).map(|ops| format!("{ops:?}")).collect::<BTreeSet<_>>().len() == 4);
    assert_eq!(first_ops(&own[1]), other, "the same seed and number of hosts make the same operations");
    let rates = |data| shares("file", &[], 4, 2, data).iter().map(|own| own.data_part()).collect::<Vec<_>>();
    assert_eq!(rates(DataOrigin::Own), [LoadPart::all_of(2); 2], "each has all of its own files");
}

#[test]
fn the_draws_of_all_hosts_together_follow_the_law() {
    const KEYS: u64 = 5_000;
    const DRAWS: u64 = 20_000;
    let (clients, rows) = (10, KEYS.to_string());
    for entry in DISTRIBUTIONS.iter().map(|def| def.entry) {
        let changes = [("access", entry.name), ("table_rows", &*rows)];
        for data in [DataOrigin::Own, DataOrigin::MadeByAll] {
            let mut counter = DrawCounter::new(KEYS, DRAWS * clients);
            let hosts = shares("oltp", &changes, clients as u32, 4, data);
            let law = distribution::from_access(hosts[0].workload.params.access("access"), KEYS);
            for own in &hosts {
                let program = sql_of(own);
                for slot in ClientIndex::all_in(own.data_part()) {
                    let draws = filled(&program.run, slot, DRAWS as usize);
                    draws.iter().for_each(|op| counter.count_draw(law.place_of(first_int(op) - 1)));
                }
            }
            let counts = counter.finish();
            let fit = LawComparison::new(&counts, KEYS, DRAWS * clients, &*law.law()).chi_square().expect("enough");
            assert_eq!(fit.verdict(), FitVerdict::Fits, "{}, {data:?}: {}", entry.name, fit.sigmas());
        }
    }
}

#[test]
fn rows_that_hosts_add_have_new_ids_without_a_gap() {
    let mut ids = BTreeSet::new();
    for own in shares("oltp", &[("mix", "insert"), ("table_rows", "100")], 10, 4, DataOrigin::MadeByFirst) {
        let program = sql_of(&own);
        for slot in ClientIndex::all_in(own.data_part()) {
            for op in filled(&program.run, slot, 30) {
                assert!(ids.insert(first_int(&op)), "another host has this id");
            }
        }
    }
    assert_eq!(ids, (101..=400).collect());
}

#[test]
fn hosts_load_every_row_once_whatever_the_number_of_their_loaders() {
    let changes = [("tables", "2"), ("table_rows", "5500")];
    let mut ids = Vec::new();
    for (own, loaders) in shares("oltp", &changes, 3, 3, DataOrigin::MadeByAll).iter().zip([2, 8, 1]) {
        let load = sql_of(own).load.expect("the tables are filled");
        let load = load.ops();
        let part = own.loading_part();
        let part = LoadPart::new(part.first() * loaders, part.count() * loaders, part.of() * loaders);
        for slot in ClientIndex::all_in(part) {
            let ops = filled(load, slot, load.ops_of(slot).expect("the load ends") as usize);
            // Each row has 4 arguments.
            let rows = ops.iter().flat_map(|op| op.calls.iter().zip(op.args.chunks(4)));
            ids.extend(rows.map(|(call, row)| (call.statement, row[0])));
        }
    }
    let keys: BTreeSet<(u16, u64)> =
        ids.iter().map(|(table, id)| (*table, if let SqlArg::Int(id) = id { *id as u64 } else { 0 })).collect();
    let all = (0..2).flat_map(|table| (1..=5_500).map(move |id| (table, id)));
    assert_eq!((ids.len(), keys), (11_000, all.collect()));
}

/// Whatever fills tables in parallel on one host is made in parts by several.
#[test]
fn the_loads_of_all_hosts_insert_what_that_of_one_does() {
    for workload in WORKLOADS
        .iter()
        .filter(|workload| workload.sql.is_some() && !["sql", "replay-sql"].contains(&workload.entry.name))
    {
        let inserted = |own: &Trial, loaders: u32| -> Vec<String> {
            let Some(load) = sql_of(own).load else { return Vec::new() };
            let load = load.ops();
            let part = own.loading_part();
            let part = LoadPart::new(part.first() * loaders, part.count() * loaders, part.of() * loaders);
            let of_client = |slot| filled(load, slot, load.ops_of(slot).expect("the load ends") as usize);
            ClientIndex::all_in(part).flat_map(of_client).map(|op| format!("{op:?}")).collect()
        };
        let small: &[(&str, &str)] = match workload.entry.name {
            "oltp" | "micro" => &[("tables", "2"), ("table_rows", "12500")],
            "kv" => &[("records", "5500")],
            _ => &[],
        };
        let mut alone = inserted(&trial(workload.entry.name, small, 3), 1);
        let shares = shares(workload.entry.name, small, 3, 3, DataOrigin::MadeByAll);
        let mut together: Vec<String> =
            shares.iter().zip([2, 3, 1]).flat_map(|(own, loaders)| inserted(own, loaders)).collect();
        alone.sort();
        together.sort();
        assert_eq!(together.len(), alone.len(), "{}", workload.entry.name);
        assert!(together == alone, "{}", workload.entry.name);
    }
}

#[test]
fn each_index_is_made_by_one_host_and_the_tables_are_drained_by_the_first() {
    let sequence = SequenceState::default();
    for (tables, clients, hosts) in [(1u16, 4, 2), (3, 4, 4), (7, 3, 2)] {
        let changes = |step| [("step", step), ("tables", ["1", "3", "7"][usize::from(tables / 3)])];
        let numbers = |step| -> Vec<Vec<u16>> {
            let own = shares("insert", &changes(step), clients, hosts, DataOrigin::MadeByFirst);
            let ops = own.iter().map(|own| all_ops(own, &sequence).iter().map(|op| op.calls[0].statement).collect());
            ops.collect()
        };
        let mut made = numbers("l.x").concat();
        made.sort_unstable();
        assert_eq!(made, (0..tables).collect::<Vec<_>>());
        let drained = numbers("drain");
        assert_eq!(drained.iter().map(Vec::len).collect::<Vec<_>>(), [&[1][..], &vec![0; hosts as usize - 1]].concat());
    }
    let own = shares("insert", &[("step", "drain")], 4, 2, DataOrigin::Own);
    assert!(own.iter().all(|own| all_ops(own, &sequence).len() == 1), "each drains its own data");
}

#[test]
fn rows_of_a_step_are_cut_among_hosts_with_data_of_their_own() {
    for (rows, clients, hosts) in [("1000", 10, 4), ("7", 4, 3), ("2", 5, 4)] {
        for step in ["l.i0", "l.i1", "l.i2"] {
            let changes = [("step", step), ("rows", rows), ("rows_per_commit", "3")];
            let inserted = |own: &Trial| -> u64 {
                let ops = all_ops(own, &SequenceState::default());
                ops.iter().map(|op| op.args.len() as u64 / 7).sum()
            };
            let each: Vec<u64> =
                shares("insert", &changes, clients, hosts, DataOrigin::Own).iter().map(inserted).collect();
            assert_eq!(each.iter().sum::<u64>(), inserted(&trial("insert", &changes, clients)), "{step}: {each:?}");
        }
    }
}

#[test]
fn hosts_go_on_with_common_tables_step_by_step() {
    let changes = |step| [("step", step), ("rows", "1003"), ("rows_per_commit", "10"), ("tables", "2")];
    // Each host has a state of its own, and learns from the tables what the others have inserted.
    let states = [(); 3].map(|()| SequenceState::default());
    let mut ids: [BTreeSet<u64>; 2] = Default::default();
    for step in ["l.i0", "l.i1"] {
        for (own, state) in shares("insert", &changes(step), 7, 3, DataOrigin::MadeByFirst).iter().zip(&states) {
            for op in all_ops(own, state) {
                let rows = op.args.chunks(7).map(|row| if let SqlArg::Int(id) = row[0] { id as u64 } else { 0 });
                let table = usize::from(op.calls[0].statement) / (sql_on(own, state).statements.len() / 2);
                rows.for_each(|id| assert!(ids[table].insert(id), "another host has inserted it"));
            }
        }
        for (table, ids) in ids.iter().enumerate() {
            let last = *ids.last().expect("there are rows");
            assert_eq!(*ids, (1..=last).collect());
            states.iter().for_each(|state| state.set_present(table, 1..last + 1));
        }
    }
    assert_eq!(ids.iter().map(BTreeSet::len).sum::<usize>(), 2_006);
}
