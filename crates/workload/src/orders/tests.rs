//! The promises of the order-entry workload: shares, rows, pauses and conditions.
//!
//! In: programs of small warehouses. Out: nothing. Limits: that the conditions hold on engines is in the contract tests.

use super::*;
use crate::tests::params;
use crate::{ClientIndex, ProcedureStep, SequenceState};
use model::{IfEmpty, KEPT_PLACES, KeptRow, SqlArg, TransactionEnd};
use std::collections::{BTreeMap, BTreeSet};

const ALONE: ClientIndex = ClientIndex { client: 0, clients: 1 };
const SMALL: [(&str, &str); 3] = [("items", "1000"), ("customers", "30"), ("warehouses", "2")];

fn program_with(changes: &[(&str, &str)]) -> SqlProgram {
    sql_program(&ProgramInput::new(&params(&ORDERS.entry, changes), 1, &SequenceState::default()))
}

fn filled(stream: &OpStream<SqlOp>, slot: ClientIndex, count: usize) -> Vec<SqlOp> {
    let mut ops = vec![SqlOp::default(); count];
    (stream.make)(slot).fill_ops(&mut ops);
    ops
}

fn ops_of(kind: TransactionKind, changes: &[(&str, &str)], count: usize) -> Vec<SqlOp> {
    let ops = filled(&program_with(changes).run, ALONE, count);
    ops.into_iter().filter(|op| op.op_kind == OpKind(kind as u8)).collect()
}

/// The calls of `op`: the numbers of the statements, with their arguments.
fn calls(op: &SqlOp) -> Vec<(u16, Vec<SqlArg>)> {
    let mut args = op.args.iter().copied();
    op.calls.iter().map(|call| (call.statement, args.by_ref().take(call.args.into()).collect())).collect()
}

fn share_of(part: usize, all: usize) -> f64 {
    part as f64 / all as f64
}

#[test]
fn the_shares_of_the_transactions_are_exact_in_each_hundred_and_their_order_is_not_the_same() {
    let ops = filled(&program_with(&SMALL).run, ALONE, 100_000);
    let mut orders = BTreeSet::new();
    for hundred in ops.chunks(100) {
        let mut counts = [0; 5];
        hundred.iter().for_each(|op| counts[usize::from(op.op_kind)] += 1);
        assert_eq!(counts, [45, 43, 4, 4, 4]);
        orders.insert(hundred.iter().map(|op| op.op_kind.0).collect::<Vec<_>>());
    }
    assert_eq!(orders.len(), 1_000);
}

#[test]
fn remote_stock_and_payments_names_and_rollbacks_have_their_shares() {
    let orders = ops_of(TransactionKind::NewOrder, &SMALL, 100_000);
    let rolled_back = orders.iter().filter(|op| op.ending == TransactionEnd::RollBack).count();
    assert!((share_of(rolled_back, orders.len()) - 0.01).abs() < 0.003, "{rolled_back}");
    let lines: Vec<bool> = orders
        .iter()
        .flat_map(|op| {
            let lines = calls(op).into_iter().filter(|(statement, _)| *statement == 7);
            lines.map(|(_, args)| args[2] != args[5]).collect::<Vec<_>>()
        })
        .collect();
    assert!((share_of(lines.len(), orders.len()) - 10.0).abs() < 0.1);
    assert!((share_of(lines.iter().filter(|remote| **remote).count(), lines.len()) - 0.01).abs() < 0.001);
    let payments = ops_of(TransactionKind::Payment, &SMALL, 100_000);
    let named = payments.iter().filter(|op| !op.keeps.is_empty()).count();
    assert!((share_of(named, payments.len()) - 0.6).abs() < 0.01);
    // The customer's warehouse and the terminal's, in the history.
    let remote = payments.iter().filter(|op| {
        let (_, history) = calls(op).pop().expect("it ends by its history");
        history[2] != history[4]
    });
    assert!((share_of(remote.count(), payments.len()) - 0.15).abs() < 0.01);
    // With one warehouse nothing is remote.
    for op in ops_of(TransactionKind::NewOrder, &[("items", "1000"), ("customers", "30")], 1_000) {
        assert!(calls(&op).iter().all(|(statement, args)| *statement != 7 || args[2] == args[5]));
    }
}

#[test]
fn an_order_has_a_line_for_each_item_with_its_price_and_is_rolled_back_after_one_that_is_not_there() {
    let data = OrderData::new(&params(&ORDERS.entry, &SMALL), 1);
    for op in ops_of(TransactionKind::NewOrder, &SMALL, 5_000) {
        let calls = calls(&op);
        let lines: Vec<_> = calls.iter().filter(|(statement, _)| *statement == 7).map(|(_, args)| args).collect();
        let (_, order) = &calls[3];
        let SqlArg::Int(count) = order[4] else { panic!("{order:?}") };
        let is_rolled_back = op.ending == TransactionEnd::RollBack;
        assert_eq!(lines.len() + usize::from(is_rolled_back), count as usize);
        assert!(calls.last().is_some_and(|(statement, args)| if is_rolled_back {
            (*statement, &args[..]) == (5, &[SqlArg::Int(1_001)])
        } else {
            *statement == 7
        }));
        for line in lines {
            let [SqlArg::Int(item), _, SqlArg::Int(quantity), SqlArg::Int(amount)] = line[4..8] else {
                panic!("{line:?}")
            };
            assert_eq!((line[0], amount), (SqlArg::Kept(0), quantity * data.price(item as u64) as i64));
        }
        assert!(op.transaction && op.writes && op.keeps.len() == 1);
    }
}

#[test]
fn what_is_kept_has_a_place_and_what_is_skipped_are_the_calls_of_one_district() {
    for op in filled(&program_with(&SMALL).run, ALONE, 2_000) {
        assert!(op.keeps.is_sorted_by_key(|kept| kept.call));
        for kept in &op.keeps {
            assert!(usize::from(kept.place + kept.columns) <= KEPT_PLACES);
            let text = STATEMENTS[usize::from(op.calls[usize::from(kept.call)].statement)];
            assert_eq!(kept.row == KeptRow::Middle, text.contains("c_last = ?"), "{text}");
            assert_eq!(matches!(kept.if_empty, IfEmpty::Skip(_)), text.contains("FROM new_order"), "{text}");
        }
    }
    let delivery = &ops_of(TransactionKind::Delivery, &SMALL, 100)[0];
    let starts: Vec<u16> =
        delivery.keeps.iter().filter(|kept| kept.if_empty != IfEmpty::Fail).map(|it| it.call).collect();
    assert_eq!(starts, (0..10).map(|d| 7 * d).collect::<Vec<_>>());
    assert!(delivery.keeps.iter().all(|kept| !matches!(kept.if_empty, IfEmpty::Skip(calls) if calls != 6)));
}

/// The text of the arguments of the first call of `op`.
fn shown_args(op: &SqlOp) -> Vec<String> {
    let shown = |arg: &SqlArg| match *arg {
        SqlArg::Text { start, len } => String::from_utf8(op.text[start as usize..][..len as usize].into()).unwrap(),
        SqlArg::Int(value) => value.to_string(),
        other => panic!("{other:?}"),
    };
    op.args[..op.calls[0].args.into()].iter().map(shown).collect()
}

#[test]
fn a_procedure_is_called_once_with_what_its_statements_would_have() {
    let called = filled(&program_with(&[&SMALL[..], &[("calls", "procedures")]].concat()).run, ALONE, 5_000);
    let stated = filled(&program_with(&SMALL).run, ALONE, 5_000);
    for (call, statements) in called.iter().zip(&stated) {
        assert_eq!((call.op_kind, call.writes, call.calls.len()), (statements.op_kind, statements.writes, 1));
        assert_eq!((call.calls[0].statement, call.transaction), (u16::from(call.op_kind.0), false));
        let (given, first) = (shown_args(call), shown_args(&SqlOp { keeps: Vec::new(), ..statements.clone() }));
        match call.op_kind.0 {
            0 => assert_eq!(given[..3], first[1..]),
            1 => assert_eq!((&given[6], &given[0]), (&first[0], &first[1])),
            // By the last name, or by the number.
            2 => {
                assert_eq!((&given[..2], if given[2] == "0" { &given[3] } else { &given[2] }), (&first[..2], &first[2]))
            }
            _ => assert_eq!(given[0], first[0]),
        }
    }
}

#[test]
fn the_text_of_an_order_has_each_line_at_its_place_and_an_item_that_is_not_there_last() {
    let called = ops_of(TransactionKind::NewOrder, &[&SMALL[..], &[("calls", "procedures")]].concat(), 5_000);
    let stated = ops_of(TransactionKind::NewOrder, &SMALL, 5_000);
    for (call, statements) in called.iter().zip(&stated) {
        let given = shown_args(call);
        let number = |at: usize, len: usize| SqlArg::Int(given[5][at..at + len].parse().unwrap());
        let all = calls(statements);
        let lines: Vec<_> = all.iter().filter(|(statement, _)| *statement == 7).map(|(_, args)| args).collect();
        for (nth, line) in lines.iter().enumerate() {
            // As the procedure takes it apart.
            let parts = [number(16 * nth, 7), number(16 * nth + 7, 7), number(16 * nth + 14, 2)];
            assert_eq!(parts, line[4..7]);
        }
        let count: usize = given[3].parse().unwrap();
        assert_eq!((given[5].len(), SqlArg::Int(count as i64)), (16 * count, all[3].1[4]));
        if statements.ending == TransactionEnd::RollBack {
            assert_eq!((number(16 * lines.len(), 7), count), (SqlArg::Int(1_001), lines.len() + 1));
        }
    }
}

/// The names of parameters and variables in `text`.
fn variables_in(text: &str) -> BTreeSet<&str> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    words.filter(|word| word.starts_with("p_") || word.starts_with("v_")).collect()
}

fn texts_of<'s>(steps: &'s [ProcedureStep], into: &mut Vec<&'s str>) {
    for step in steps {
        match step {
            ProcedureStep::Perform(text) => into.push(text),
            ProcedureStep::While(condition, steps) | ProcedureStep::If(condition, steps) => {
                into.push(condition);
                texts_of(steps, into);
            }
            ProcedureStep::RollBack | ProcedureStep::Fail(_) => {}
        }
    }
}

#[test]
fn a_procedure_uses_all_that_it_declares_and_nothing_else() {
    assert!(program_with(&SMALL).procedures.is_empty());
    let program = program_with(&[("calls", "procedures")]);
    assert_eq!(program.kinds[0].queries, 1.0);
    let names: Vec<_> = program.procedures.iter().map(|procedure| procedure.name).collect();
    assert_eq!(names, program.kinds[..5].iter().map(|kind| kind.name).collect::<Vec<_>>());
    for procedure in &program.procedures {
        let mut texts = Vec::new();
        texts_of(&procedure.steps, &mut texts);
        let used: BTreeSet<&str> = texts.into_iter().flat_map(variables_in).collect();
        let declared = procedure.parameters.iter().chain(&procedure.variables).map(|variable| variable.name);
        assert_eq!(used, declared.collect(), "{}", procedure.name);
    }
}

#[test]
fn terminals_wait_as_long_as_is_published_and_stay_in_their_warehouse() {
    let changes = [&SMALL[..], &[("pauses", "1")]].concat();
    let program = program_with(&changes);
    let ops = filled(&program.run, ClientIndex { client: 3, clients: 20 }, 100_000);
    let waited: f64 = ops.iter().map(|op| op.pause.0 as f64 / 1e9).sum();
    // 20.99 s a transaction; the longest think times are cut off, which takes 0.0005 of their means.
    assert!((waited / ops.len() as f64 - 20.99).abs() < 0.1, "{}", waited / ops.len() as f64);
    let orders = ops.iter().filter(|op| op.op_kind == OpKind(0)).count() as f64;
    let most = (ORDERS.traits)(&params(&ORDERS.entry, &changes)).orders.unwrap().most_per_minute().unwrap();
    assert!((most - 12.86).abs() < 0.01, "{most}");
    assert!((10.0 * orders / (waited / 60.0) / most - 1.0).abs() < 0.01);
    let homes: BTreeSet<String> =
        ops.iter().filter(|op| op.op_kind == OpKind(4)).map(|op| format!("{:?}", &op.args[..2])).collect();
    assert_eq!(homes, BTreeSet::from(["[Int(2), Int(2)]".to_owned()]));
    assert!(filled(&program_with(&SMALL).run, ALONE, 1_000).iter().all(|op| op.pause.0 == 0));
}

#[test]
fn a_terminal_enters_the_same_whatever_the_factor_of_its_pauses() {
    let entered = |pauses: &str| -> Vec<_> {
        let ops = filled(&program_with(&[&SMALL[..], &[("pauses", pauses)]].concat()).run, ALONE, 500);
        ops.into_iter().map(|op| (op.op_kind, op.calls, op.args, op.text)).collect()
    };
    assert!(entered("1") == entered("0.001"));
}

/// All rows of the load by their tables, as texts.
fn loaded(changes: &[(&str, &str)], clients: u32) -> BTreeMap<String, Vec<Vec<String>>> {
    let program = program_with(changes);
    let Some(SqlLoad::Rows { targets, blocks: load }) = program.load else { panic!("it loads rows") };
    let mut rows: BTreeMap<String, Vec<Vec<String>>> = BTreeMap::new();
    for client in 0..clients {
        let slot = ClientIndex { client, clients };
        let mut ops = filled(&load, slot, load.ops_of(slot).expect("it ends") as usize + 1);
        assert!(ops.pop().is_some_and(|op| op.calls.is_empty() && op.transaction), "empty after the last");
        for op in ops {
            for (statement, args) in calls(&op) {
                let target = &targets[usize::from(statement)];
                assert_eq!(args.len(), target.columns.len(), "a call is one row");
                let shown = args.iter().map(|arg| match *arg {
                    SqlArg::Text { start, len } => {
                        String::from_utf8(op.text[start as usize..][..len as usize].into()).unwrap()
                    }
                    SqlArg::Int(value) => value.to_string(),
                    other => panic!("{other:?}"),
                });
                rows.entry(target.table.clone()).or_default().push(shown.collect());
            }
        }
    }
    rows.values_mut().for_each(|rows| rows.sort());
    rows
}

#[test]
fn the_same_rows_are_loaded_whatever_the_number_of_clients_and_all_that_must_be_are_there() {
    let rows = loaded(&SMALL, 1);
    assert!(rows == loaded(&SMALL, 7));
    let counts = |table: &str| rows[table].len();
    let all = ["item", "warehouse", "district", "customer", "history", "stock", "orders", "new_order"].map(counts);
    assert_eq!(all, [1_000, 2, 20, 600, 600, 2_000, 600, 180]);
    let orders = &rows["orders"];
    let lines: usize = orders.iter().map(|order| order[order.len() - 2].parse::<usize>().unwrap()).sum();
    assert_eq!(counts("order_line"), lines);
    // Each customer of each district has one order.
    let of_customers: BTreeSet<_> = orders.iter().map(|order| [&order[1], &order[2], &order[3]]).collect();
    assert_eq!(of_customers.len(), 600);
    let names: BTreeSet<_> = rows["customer"].iter().map(|row| &row[5]).collect();
    assert_eq!(names.len(), 30);
}

#[test]
fn prices_and_texts_of_orders_are_those_of_the_rows_that_were_loaded() {
    let (rows, data) = (loaded(&SMALL, 2), OrderData::new(&params(&ORDERS.entry, &SMALL), 1));
    for item in &rows["item"] {
        assert_eq!(item[3], data.price(item[0].parse().unwrap()).to_string());
    }
    for stock in &rows["stock"] {
        for d in 1..=10 {
            let mut text = Vec::new();
            data.push_stock_info(&mut text, stock[1].parse().unwrap(), d as u64, stock[0].parse().unwrap());
            assert_eq!(stock[2 + d].as_bytes(), text);
        }
    }
    let name = |table: &str, key: &[&str]| {
        let row = rows[table].iter().find(|row| row[..key.len()].iter().eq(key)).unwrap();
        row[key.len()].clone()
    };
    let mut both = Vec::new();
    data.push_names(&mut both, 2, 7);
    assert_eq!(
        String::from_utf8(both).unwrap(),
        format!("{}    {}", name("warehouse", &["2"]), name("district", &["7", "2"]))
    );
}

#[test]
fn a_size_is_as_many_warehouses_as_come_to_it() {
    let of = |changes: &[(&str, &str)]| warehouses(&params(&ORDERS.entry, changes));
    assert_eq!((of(&[]), of(&[("warehouses", "7")])), (1, 7));
    let size = 100 << 30;
    let many = of(&[("size", "100GiB"), ("warehouses", "7")]);
    let bytes = (ORDERS.data_bytes)(&params(&ORDERS.entry, &[("size", "100GiB")])).0;
    assert!((900..1_300).contains(&many) && bytes.abs_diff(size) < size / 100, "{many} {bytes}");
    assert_eq!(of(&[("size", "1KiB")]), 1);
}

#[test]
fn there_are_twelve_conditions_and_none_if_they_are_not_asked_for() {
    let conditions = program_with(&SMALL).conditions;
    assert_eq!(conditions.iter().map(|it| it.number).collect::<Vec<_>>(), (1..=12).collect::<Vec<_>>());
    assert!(conditions[10].query.contains("<> 21 "));
    for condition in &conditions {
        let selected = condition.query.split(" FROM ").next().unwrap();
        assert_eq!(selected.split(", ").count(), condition.columns.len(), "{}", condition.query);
    }
    assert!(program_with(&[("conditions", "false")]).conditions.is_empty());
}

#[test]
fn foreign_keys_refer_to_the_whole_primary_key_of_a_table_before() {
    assert!(program_with(&SMALL).schema.iter().all(|table| table.foreign_keys.is_empty()));
    let schema = program_with(&[("foreign_keys", "true")]).schema;
    let mut keys = 0;
    for (nth, table) in schema.iter().enumerate() {
        for key in &table.foreign_keys {
            let parent = schema[..nth].iter().find(|parent| parent.name == key.parent).expect("an earlier table");
            assert_eq!(parent.primary_key, key.parent_key);
            assert!(key.columns.iter().all(|name| table.columns.iter().any(|column| column.name == *name)));
            keys += 1;
        }
    }
    assert_eq!(keys, 10);
}
