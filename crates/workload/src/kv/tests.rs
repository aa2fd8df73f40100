//! The mixes, the records and the law by which records are drawn.

use super::*;
use crate::SequenceState;
use crate::program::ClientIndex;
use crate::tests::params;
use model::{KvAction, KvOp, SqlArg, SqlOp};
use statrs::distribution::{ChiSquared, ContinuousCDF};
use std::collections::{BTreeMap, BTreeSet};

const ALONE: ClientIndex = ClientIndex { client: 0, clients: 1 };

fn sql_with(changes: &[(&str, &str)]) -> SqlProgram {
    sql_program(&ProgramInput::new(&params(&KV.entry, changes), 1, &SequenceState::default()))
}

fn kv_with(changes: &[(&str, &str)]) -> KvProgram {
    kv_program(&ProgramInput::new(&params(&KV.entry, changes), 1, &SequenceState::default())).unwrap()
}

/// `count` operations, made as a client makes them: 64 at a time.
fn filled<O: Op + Clone>(stream: &OpStream<O>, count: usize) -> Vec<O> {
    let mut source = (stream.make)(ALONE);
    let mut all = Vec::new();
    while all.len() < count {
        let mut ops = vec![O::default(); 64.min(count - all.len())];
        source.fill_ops(&mut ops);
        all.append(&mut ops);
    }
    all
}

fn texts(op: &SqlOp) -> Vec<String> {
    let text = |arg: &SqlArg| match arg {
        SqlArg::Text { start, len } => {
            String::from_utf8(op.text[*start as usize..][..*len as usize].to_vec()).expect("letters")
        }
        SqlArg::Int(value) => value.to_string(),
        other => panic!("{other:?} in a table of integers and texts"),
    };
    op.args.iter().map(text).collect()
}

#[test]
fn the_shares_of_the_operations_are_those_of_ycsb() {
    for (mix, first, share) in [("a", "read", 0.5), ("b", "read", 0.95), ("d", "read", 0.95), ("e", "scan", 0.95)] {
        let program = kv_with(&[("mix", mix)]);
        let ops = filled(&program.run, 40_000);
        let firsts = ops.iter().filter(|op| op.op_kind == OpKind(0)).count() as f64 / 40_000.0;
        assert!((firsts - share).abs() < 0.01, "{mix}: {firsts}");
        assert_eq!(program.kinds[0].name, first);
    }
    assert!(filled(&kv_with(&[("mix", "c")]).run, 500).iter().all(|op| op.action == KvAction::Get));
}

#[test]
fn statements_are_those_of_a_table_of_ten_fields() {
    let program = sql_with(&[("fields", "2"), ("mix", "f")]);
    assert_eq!(
        program.statements,
        [
            "SELECT field0, field1 FROM usertable WHERE ycsb_key = ?",
            "UPDATE usertable SET field0 = ? WHERE ycsb_key = ?",
            "UPDATE usertable SET field1 = ? WHERE ycsb_key = ?",
        ]
    );
    let scans = sql_with(&[("fields", "2"), ("mix", "e")]).statements;
    assert_eq!(
        scans,
        [
            "SELECT field0, field1 FROM usertable WHERE ycsb_key >= ? ORDER BY ycsb_key LIMIT ?",
            "INSERT INTO usertable (ycsb_key, field0, field1) VALUES (?, ?, ?)",
        ]
    );
    assert_eq!(sql_with(&[]).schema[0].columns.len(), 11);
}

#[test]
fn every_call_passes_as_many_arguments_as_its_statement_takes() {
    for mix in MIX_NAMES {
        let program = sql_with(&[("mix", mix)]);
        for op in filled(&program.run, 500) {
            let taken = |call: &model::SqlCall| program.statements[call.statement as usize].matches('?').count();
            assert!(op.calls.iter().all(|call| taken(call) == call.args as usize), "{mix}");
            assert_eq!(op.calls.iter().map(|call| call.args as usize).sum::<usize>(), op.args.len());
        }
    }
}

#[test]
fn a_read_modify_write_updates_the_record_that_it_read() {
    let program = sql_with(&[("mix", "f")]);
    let ops = filled(&program.run, 200);
    let changed: Vec<&SqlOp> = ops.iter().filter(|op| op.calls.len() == 2).collect();
    assert!(!changed.is_empty());
    for op in changed {
        let args = texts(op);
        assert_eq!((args[0].as_str(), args[1].len(), op.transaction, op.writes), (args[2].as_str(), 100, false, true));
    }
}

#[test]
fn both_families_get_the_same_records() {
    let (sql, kv) = (sql_with(&[("records", "250")]), kv_with(&[("records", "250")]));
    let (rows, entries) = (filled(sql.load.unwrap().ops(), 3), filled(&kv.load.unwrap(), 3));
    for (rows, entries) in rows.iter().zip(&entries) {
        let of_sql: Vec<String> = texts(rows).chunks(11).map(|row| row.concat()).collect();
        let of_kv: Vec<String> = entries.entries.iter().map(|entry| text_of(entries, entry)).collect();
        assert_eq!(of_sql, of_kv);
    }
    assert_eq!(rows.iter().map(|op| op.calls.len()).sum::<usize>(), 250);
}

fn text_of(op: &KvOp, entry: &model::KvEntry) -> String {
    String::from_utf8([op.key(entry), op.value(entry)].concat()).unwrap()
}

#[test]
fn hashed_keys_are_in_no_order_and_ordered_ones_in_that_of_their_numbers() {
    let keys = |order: &str| {
        let data = RecordData::new(&params(&KV.entry, &[("key_order", order)]), 1);
        (1..=1_000).map(|id| data.key(id)).collect::<Vec<_>>()
    };
    let (hashed, ordered) = (keys("hashed"), keys("ordered"));
    assert!(ordered.is_sorted() && !hashed.is_sorted());
    assert_eq!(hashed.iter().collect::<BTreeSet<_>>().len(), 1_000);
    assert_eq!(&ordered[41], b"user00000000000000000042");
}

#[test]
fn records_are_as_popular_as_the_distribution_has_it() {
    const RECORDS: u64 = 1_000;
    const OPS: usize = 100_000;
    let program = kv_with(&[("mix", "c"), ("records", "1000"), ("key_order", "ordered")]);
    let zipf = crate::distribution::zipf::Zipf::new(RECORDS, 0.99);
    let mut counts = vec![0.0; RECORDS as usize];
    for op in filled(&program.run, OPS) {
        let id: u64 = std::str::from_utf8(&op.key(&op.entries[0])[4..]).unwrap().parse().unwrap();
        counts[zipf.rank_of(id - 1) as usize] += 1.0;
    }
    let below = zipf.probability_below();
    let expected = |rank: u64| OPS as f64 * (below(rank + 1) - below(rank));
    let squares: f64 = (0..RECORDS).map(|rank| (counts[rank as usize] - expected(rank)).powi(2) / expected(rank)).sum();
    let p = 1.0 - ChiSquared::new(RECORDS as f64 - 1.0).unwrap().cdf(squares);
    assert!(p > 0.001, "chi-square {squares:.0}, p = {p}");
}

#[test]
fn reads_of_mix_d_follow_the_law_whatever_the_number_of_clients() {
    const RECORDS: u64 = 1_000;
    // Zipf: rank k has a share in proportion to k to the power of -0.99.
    let law = 1.0 / (1..=RECORDS).map(|rank| (rank as f64).powf(-0.99)).sum::<f64>();
    let id = |op: &KvOp| -> u64 { std::str::from_utf8(&op.key(&op.entries[0])[4..]).unwrap().parse().unwrap() };
    for clients in [1, 2, 8] {
        let program = kv_with(&[("mix", "d"), ("records", "1000"), ("key_order", "ordered")]);
        assert_eq!(program.run.ahead, 1);
        let slots = (0..clients).map(|client| ClientIndex { client, clients });
        let mut sources: Vec<_> = slots.map(|slot| (program.run.make)(slot)).collect();
        let mut in_flight: Vec<Option<u64>> = vec![None; clients as usize];
        let (mut last, mut reads, mut of_newest) = (RECORDS, 0u64, 0u64);
        for turn in 0..60_000 {
            let client = turn % clients as usize;
            in_flight[client] = None;
            // Those that are there without a gap.
            let newest = in_flight.iter().flatten().min().map_or(last, |first| first - 1);
            let mut op = vec![KvOp::default()];
            sources[client].fill_ops(&mut op);
            match op[0].action {
                KvAction::Find => {
                    reads += 1;
                    of_newest += u64::from(id(&op[0]) == newest);
                }
                _ => {
                    last = id(&op[0]);
                    in_flight[client] = Some(last);
                }
            }
        }
        let share = of_newest as f64 / reads as f64;
        assert!((share - law).abs() < 0.01, "{clients} clients: {share} instead of {law}");
    }
}

#[test]
fn reads_of_mix_d_follow_the_newest_record() {
    let program = kv_with(&[("mix", "d"), ("records", "1000"), ("key_order", "ordered")]);
    let id = |op: &KvOp| -> u64 { std::str::from_utf8(&op.key(&op.entries[0])[4..]).unwrap().parse().unwrap() };
    let (mut newest, mut ages) = (1_000, BTreeMap::new());
    let mut source = (program.run.make)(ALONE);
    for _ in 0..500 {
        let mut ops = vec![KvOp::default(); 64];
        source.fill_ops(&mut ops);
        // What the batch itself inserts is not there when it is made.
        let reads = ops.iter().filter(|op| op.action == KvAction::Find);
        reads.for_each(|op| *ages.entry(newest - id(op)).or_insert(0) += 1);
        newest += ops.iter().filter(|op| op.action == KvAction::Put).count() as u64;
    }
    assert!(newest > 2_000, "{newest} records");
    let most = ages.iter().max_by_key(|(_, count)| **count).expect("there are reads");
    assert_eq!((*most.0, *ages.keys().last().expect("there are reads") < 1_000), (0, true));
}
