//! What tables of the user's own promise: exact shares, unique keys, the same rows for any number of loaders, and one line for each fault.
//!
//! In: three small tables. Out: nothing. Limits: what an engine makes of them is tested with the engines.

use super::*;
use crate::found::{KeyColumn, KeyRows};
use crate::program::{ClientIndex, RowTarget, TablePartitions};
use crate::tests::params;
use crate::{SequenceState, own};
use model::own_table::*;
use model::statement::{ColumnName, CustomStatement, CustomValue, Draw};
use model::{Access, SqlArg, SqlOp, Value};
use std::collections::{BTreeMap, BTreeSet};

pub(super) const EVEN: ValueNumbers =
    ValueNumbers { distinct: Distinct::Natural, common: Vec::new(), access: None, correlation: 0.0 };

pub(super) fn column(name: &str, kind: ColumnKind, source: ValueSource) -> OwnColumn {
    OwnColumn { name: name.into(), kind, not_null: false, nulls: 0.0, source }
}

fn drawn(numbers: ValueNumbers, shape: ValueShape) -> ValueSource {
    ValueSource::Drawn(DrawnValues { numbers, depends_on: None, shape })
}

fn refers(table: &str, column: &str, numbers: ValueNumbers) -> ValueSource {
    ValueSource::Reference { table: table.into(), column: column.into(), numbers }
}

fn table(name: &str, rows: u64, key: &[&str], columns: Vec<OwnColumn>) -> OwnTable {
    let primary_key = key.iter().map(|name| (*name).into()).collect();
    OwnTable { name: name.into(), rows, columns, primary_key, indexes: Vec::new(), partitions: None, keys: None }
}

/// Customers, and their orders with lines.
pub(crate) fn tables() -> Vec<OwnTable> {
    let text = |least, most| drawn(EVEN, ValueShape::Length(Some((least, most))));
    let mut customers = table(
        "customers",
        200,
        &["id"],
        vec![
            column("id", ColumnKind::Int, ValueSource::Serial),
            column("name", ColumnKind::VarChar(40), text(5, 40)),
            column(
                "city",
                ColumnKind::SmallInt,
                drawn(ValueNumbers { common: vec![0.5, 0.25], ..EVEN }, ValueShape::Range(Some((1, 10)))),
            ),
        ],
    );
    customers.indexes.push(OwnIndex { name: "by_city".into(), columns: vec!["city".into()], unique: false });
    let mut discount = column(
        "discount",
        ColumnKind::Decimal { digits: 5, scale: 2 },
        drawn(ValueNumbers { distinct: Distinct::Count(20), ..EVEN }, ValueShape::Range(Some((0, 999)))),
    );
    discount.nulls = 0.3;
    let orders = table(
        "orders",
        1_000,
        &["id"],
        vec![
            column("id", ColumnKind::BigInt, ValueSource::Serial),
            column("customer", ColumnKind::Int, refers("customers", "id", EVEN)),
            column(
                "placed",
                ColumnKind::DateTime,
                drawn(ValueNumbers { correlation: 1.0, ..EVEN }, ValueShape::Range(None)),
            ),
            column(
                "shipped",
                ColumnKind::DateTime,
                ValueSource::Computed { column: "placed".into(), times: 1, from: 60, to: 600 },
            ),
            discount,
        ],
    );
    let lines = table(
        "lines",
        3_000,
        &["order_id", "line"],
        vec![
            column("order_id", ColumnKind::BigInt, refers("orders", "id", ValueNumbers { correlation: 1.0, ..EVEN })),
            column("line", ColumnKind::SmallInt, drawn(EVEN, ValueShape::Range(Some((1, 7))))),
            column("paid", ColumnKind::Boolean, drawn(EVEN, ValueShape::Truths)),
        ],
    );
    // Not in the order in which they can be made.
    vec![lines, orders, customers]
}

fn value(table: &str, column: &str) -> CustomValue {
    CustomValue { draw: Draw::Column(ColumnName { table: table.into(), column: column.into() }), nth: 1 }
}

fn op(name: &str, text: &str, values: Vec<CustomValue>) -> CustomOp {
    CustomOp { name: name.into(), weight: 1, statements: vec![CustomStatement { text: text.into(), values }] }
}

pub(crate) fn statements() -> Vec<CustomOp> {
    let text = "SELECT * FROM lines WHERE order_id = ? AND line = ?";
    vec![
        op("line", text, vec![value("lines", "order_id"), value("lines", "line")]),
        op("city", "SELECT count(*) FROM customers WHERE city = ?", vec![value("customers", "city")]),
    ]
}

fn params_of(tables: &[OwnTable], ops: &[CustomOp], changes: &[(&str, &str)]) -> Params {
    let mut params = params(&OWN.entry, changes);
    params.0.insert("table".into(), Value::Tables(tables.to_vec()));
    params.0.insert("statement".into(), Value::Statements(ops.to_vec()));
    params
}

fn program_of(tables: &[OwnTable], ops: &[CustomOp], seed: u64) -> SqlProgram {
    sql_program(&ProgramInput::new(&params_of(tables, ops, &[]), seed, &SequenceState::default()))
}

/// Why these tables and statements cannot be.
fn fault_of(tables: &[OwnTable], ops: &[CustomOp]) -> String {
    own::check(&params_of(tables, ops, &[])).expect_err("a fault").text
}

/// The rows that `clients` loaders make, by their tables, each value as text.
fn loaded_by(program: &SqlProgram, clients: u32) -> BTreeMap<String, Vec<Vec<String>>> {
    let mut rows: BTreeMap<String, Vec<Vec<String>>> = BTreeMap::new();
    let Some(SqlLoad::Rows { targets, blocks: load }) = &program.load else { panic!("it has rows") };
    for client in 0..clients {
        let slot = ClientIndex { client, clients };
        let mut source = (load.make)(slot);
        for _ in 0..load.ops_of(slot).expect("a load ends") {
            let mut op = [SqlOp::default()];
            source.fill_ops(&mut op);
            take_rows(&op[0], targets, &mut rows);
        }
    }
    rows.values_mut().for_each(|rows| rows.sort());
    rows
}

fn take_rows(op: &SqlOp, targets: &[RowTarget], rows: &mut BTreeMap<String, Vec<Vec<String>>>) {
    let mut args = op.args.iter();
    for call in &op.calls {
        let target = &targets[call.statement as usize];
        assert_eq!(usize::from(call.args), target.columns.len(), "a call is one row");
        let values = args.by_ref().take(call.args.into()).map(|arg| shown(arg, op)).collect();
        rows.entry(target.table.clone()).or_default().push(values);
    }
}

fn shown(arg: &SqlArg, op: &SqlOp) -> String {
    match *arg {
        SqlArg::Int(value) => value.to_string(),
        SqlArg::Float(value) => value.to_string(),
        SqlArg::Text { start, len } => {
            String::from_utf8(op.text[start as usize..][..len as usize].to_vec()).expect("ASCII")
        }
        SqlArg::Null => "NULL".into(),
        SqlArg::Kept(_) => panic!("nothing is kept"),
    }
}

fn rows_of(tables: &[OwnTable], name: &str) -> Vec<Vec<String>> {
    loaded_by(&program_of(tables, &statements(), 1), 1).remove(name).unwrap_or_default()
}

/// How often each value of column `nth` comes.
fn counts(rows: &[Vec<String>], nth: usize) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    rows.iter().for_each(|row| *counts.entry(row[nth].clone()).or_default() += 1);
    counts
}

#[test]
fn rows_are_the_same_whatever_the_number_of_loaders_and_others_with_another_seed() {
    let alone = loaded_by(&program_of(&tables(), &statements(), 1), 1);
    assert_eq!(alone.values().map(Vec::len).collect::<Vec<_>>(), [200, 3_000, 1_000]);
    assert_eq!(loaded_by(&program_of(&tables(), &statements(), 1), 5), alone);
    assert_ne!(loaded_by(&program_of(&tables(), &statements(), 2), 1), alone);
}

#[test]
fn shares_nulls_and_distinct_values_are_those_that_were_asked_for() {
    let tables = tables();
    let cities = counts(&rows_of(&tables, "customers"), 2);
    assert_eq!((cities["1"], cities["2"], cities.len()), (100, 50, 10), "{cities:?}");
    assert!(cities.values().all(|count| *count >= 6), "the others share the rest: {cities:?}");
    let orders = rows_of(&tables, "orders");
    let discounts = counts(&orders, 4);
    assert_eq!((discounts["NULL"], discounts.len()), (300, 21), "{discounts:?}");
    assert!(discounts.contains_key("0.00") && discounts.values().all(|count| *count == 300 || *count == 35));
    let customers = counts(&orders, 1);
    assert!(customers.len() == 200 && customers.values().all(|count| *count == 5), "{customers:?}");
}

#[test]
fn a_key_of_several_columns_is_unique_and_its_references_are_rows() {
    let lines = rows_of(&tables(), "lines");
    let keys: BTreeSet<(&String, &String)> = lines.iter().map(|row| (&row[0], &row[1])).collect();
    assert_eq!(keys.len(), 3_000);
    assert_eq!(counts(&lines, 0).len(), 1_000);
    let numbers: Vec<String> = counts(&lines, 1).into_keys().collect();
    assert_eq!(numbers, ["1", "2", "3", "4", "5", "6", "7"]);
}

#[test]
fn a_computed_column_follows_its_own_row() {
    let seconds = |text: &str| {
        let parts: Vec<u64> = text.split([' ', '-', ':']).map(|part| part.parse().unwrap()).collect();
        parts[2] * 86_400 + parts[3] * 3_600 + parts[4] * 60 + parts[5]
    };
    for row in rows_of(&tables(), "orders") {
        let after = seconds(&row[3]) - seconds(&row[2]);
        assert!((60..=600).contains(&after), "{row:?}");
    }
}

#[test]
fn a_column_that_depends_on_another_is_a_function_of_it() {
    let mut tables = tables();
    let on = |share| Some(Dependence { column: "city".into(), share });
    let zip = |share| {
        let numbers = ValueNumbers { distinct: Distinct::Count(5), ..EVEN };
        let values = DrawnValues { numbers, depends_on: on(share), shape: ValueShape::Length(Some((5, 5))) };
        column("zip", ColumnKind::Char(5), ValueSource::Drawn(values))
    };
    tables[2].columns.push(zip(1.0));
    let pairs = |tables: &[OwnTable]| {
        let rows = rows_of(tables, "customers");
        rows.iter().map(|row| (row[2].clone(), row[3].clone())).collect::<BTreeSet<_>>()
    };
    let all = pairs(&tables);
    assert_eq!((all.len(), all.iter().map(|(_, zip)| zip).collect::<BTreeSet<_>>().len()), (10, 5), "{all:?}");
    *tables[2].columns.last_mut().unwrap() = zip(0.5);
    assert!(pairs(&tables).len() > 25);
}

/// Spearman's rank correlation of the values of a column of 2,000 rows with the order of the rows.
fn correlation_of(correlation: f64) -> f64 {
    let values = drawn(ValueNumbers { correlation, ..EVEN }, ValueShape::Range(None));
    let columns = vec![column("id", ColumnKind::Int, ValueSource::Serial), column("v", ColumnKind::Int, values)];
    let mut all = tables();
    all.push(table("t", 2_000, &["id"], columns));
    let rows = rows_of(&all, "t");
    assert_eq!(counts(&rows, 1).len(), 2_000, "each has a value of its own");
    let numbers = |row: &Vec<String>| (row[0].parse::<f64>().unwrap(), row[1].parse::<f64>().unwrap());
    let squares: f64 = rows.iter().map(numbers).map(|(one, other)| (one - other).powi(2)).sum();
    let n = 2_000.0;
    1.0 - 6.0 * squares / (n * (n * n - 1.0))
}

#[test]
fn values_follow_the_order_of_the_rows_as_far_as_was_asked() {
    for wanted in [-1.0, -0.5, 0.0, 0.25, 0.9, 1.0] {
        let found = correlation_of(wanted);
        assert!((found - wanted).abs() < 0.05, "{found} for {wanted}");
    }
}

#[test]
fn values_between_the_bounds_of_a_histogram_are_as_many_in_each_part() {
    let histogram = ValueShape::Histogram(vec![0, 10, 1_000, 1_000_000]);
    let columns = vec![column("v", ColumnKind::Int, drawn(EVEN, histogram))];
    let rows = rows_of(&[&[table("t", 3_000, &[], columns)], &tables()[..]].concat(), "t");
    let below = |most: i64| rows.iter().filter(|row| row[0].parse::<i64>().unwrap() < most).count();
    assert_eq!((below(10), below(1_000)), (1_000, 2_000));
}

#[test]
fn common_values_of_a_histogram_are_anywhere_between_its_bounds() {
    let numbers = ValueNumbers { distinct: Distinct::Count(10), common: vec![0.6, 0.2], ..EVEN };
    let columns = vec![column("v", ColumnKind::Int, drawn(numbers, ValueShape::Histogram(vec![0, 50, 100])))];
    let rows = rows_of(&[&[table("t", 1_000, &[], columns)], &tables()[..]].concat(), "t");
    let expected = [("0", 25), ("10", 25), ("20", 600), ("30", 25), ("70", 200)].map(|(v, n)| (v.to_owned(), n));
    let found = counts(&rows, 0);
    assert!(expected.iter().all(|(value, count)| found[value] == *count) && found.len() == 10, "{found:?}");
}

#[test]
fn values_of_one_row_go_together_and_new_rows_have_keys_of_their_own() {
    let tables = tables();
    let new = |column: &str| CustomValue {
        draw: Draw::NewColumn(ColumnName { table: "LINES".into(), column: column.into() }),
        nth: 1,
    };
    let ops = [
        statements().remove(0),
        op("add", "INSERT INTO lines VALUES (?, ?, ?)", ["order_id", "line", "paid"].map(new).to_vec()),
    ];
    let program = program_of(&tables, &ops, 1);
    let mut keys: BTreeSet<(String, String)> =
        rows_of(&tables, "lines").into_iter().map(|row| (row[0].clone(), row[1].clone())).collect();
    let mut made = vec![SqlOp::default(); 2_000];
    (program.run.make)(ClientIndex { client: 0, clients: 1 }).fill_ops(&mut made);
    for op in made {
        let key = (shown(&op.args[0], &op), shown(&op.args[1], &op));
        match op.args.len() {
            2 => assert!(keys.contains(&key), "{key:?}"),
            _ => assert!(keys.insert(key.clone()), "{key:?} was there"),
        }
    }
}

#[test]
fn skew_is_that_of_the_distribution() {
    let zipf = Access { name: "zipf".into(), args: vec![1.0] };
    let numbers = ValueNumbers { distinct: Distinct::Count(100), access: Some(zipf), ..EVEN };
    let columns = vec![column("v", ColumnKind::Int, drawn(numbers, ValueShape::Range(None)))];
    let mut all = tables();
    all.push(table("t", 10_000, &[], columns));
    let most = *counts(&rows_of(&all, "t"), 0).values().max().unwrap() as f64;
    // 1 / (1 + 1/2 + ... + 1/100), within five standard deviations.
    assert!((most - 10_000.0 / 5.187).abs() < 200.0, "{most}");
}

/// The fault of the tables after `change`.
fn fault_after(change: impl FnOnce(&mut Vec<OwnTable>)) -> String {
    let mut tables = tables();
    change(&mut tables);
    fault_of(&tables, &statements())
}

/// A part of the fault's text, and what makes it.
type FaultCase = (&'static str, Box<dyn FnOnce(&mut Vec<OwnTable>)>);

#[test]
#[expect(clippy::too_many_lines, reason = "a table of cases")]
fn what_cannot_be_is_told_before_anything_is_made() {
    assert_eq!(own::check(&params_of(&tables(), &statements(), &[])), Ok(()));
    let cases: Vec<FaultCase> = vec![
        ("two tables are named `orders`", Box::new(|t| t[0].name = "ORDERS".into())),
        ("two columns of table `lines` are named `LINE`", Box::new(|t| t[0].columns[2].name = "LINE".into())),
        ("the name `a\\\"b` is not allowed", Box::new(|t| t[0].name = "a\"b".into())),
        ("the name `` is not allowed", Box::new(|t| t[0].columns[0].name = String::new())),
        ("the name `plimsoll_marker` is not allowed", Box::new(|t| t[0].name = "plimsoll_marker".into())),
        ("refers to table `none`", Box::new(|t| t[1].columns[1].source = refers("none", "id", EVEN))),
        ("that table has no such column", Box::new(|t| t[1].columns[1].source = refers("customers", "no", EVEN))),
        (
            "in a circle: `customers` -> `orders` -> `customers`",
            Box::new(|t| {
                t[2].columns[0].source = refers("orders", "customer", EVEN);
                t.swap(0, 2);
            }),
        ),
        (
            "columns follow each other in a circle: `a` -> `a`",
            Box::new(|t| {
                t.push(table("t", 1, &[], vec![column("a", ColumnKind::Int, refers("t", "a", EVEN))]));
            }),
        ),
        (
            "columns follow each other in a circle: `placed`",
            Box::new(|t| {
                let column = "shipped".into();
                t[1].columns[2].source = ValueSource::Computed { column, times: 1, from: 0, to: 0 };
            }),
        ),
        (
            "`order_id`, `line`) has at most 7000 different values, but the table has 8000 rows",
            Box::new(|t| t[0].rows = 8_000),
        ),
        ("is NOT NULL, but nulls = `0.3`", Box::new(|t| t[1].columns[4].not_null = true)),
        ("is in the primary key and cannot be NULL", Box::new(|t| t[1].columns[0].nulls = 0.1)),
        (
            "`smallint` cannot count 40000 rows",
            Box::new(|t| {
                t[0].rows = 40_000;
                t[0].columns[1].source = ValueSource::Serial;
            }),
        ),
        ("after scaling; at most", Box::new(|t| t[0].rows = u64::MAX)),
        ("is `bigint`, but `customers.id` is `int`", Box::new(|t| t[1].columns[1].kind = ColumnKind::BigInt)),
        (
            "table `lines` has 1001 columns",
            Box::new(|t| {
                let more = (3..1_001).map(|nth| column(&format!("c{nth}"), ColumnKind::Int, ValueSource::Serial));
                t[0].columns.extend(more);
            }),
        ),
        (
            "the shares in `common` are 1.5 together",
            Box::new(|t| {
                t[2].columns[2].source =
                    drawn(ValueNumbers { common: vec![1.0, 0.5], ..EVEN }, ValueShape::Range(Some((1, 10))));
            }),
        ),
        (
            "has room for 10 different values, but 200 are asked for",
            Box::new(|t| {
                let all = ValueNumbers { distinct: Distinct::All, ..EVEN };
                t[2].columns[2].source = drawn(all, ValueShape::Range(Some((1, 10))));
            }),
        ),
        (
            "2 characters have room for 1296 different values",
            Box::new(|t| {
                t[0].columns[2] = column("x", ColumnKind::Char(2), drawn(EVEN, ValueShape::Length(None)));
            }),
        ),
        ("the unique index (`city`) has no column with distinct = `all`", Box::new(|t| t[2].indexes[0].unique = true)),
        (
            "the unique index (`discount`) has at most 20 different values, but the table has 1000 rows",
            Box::new(|t| {
                t[1].indexes.push(OwnIndex { name: "d".into(), columns: vec!["discount".into()], unique: true });
            }),
        ),
        (
            "the index names column `no`, which the table does not have",
            Box::new(|t| t[2].indexes[0].columns[0] = "no".into()),
        ),
        (
            "`value` does not fit into `char(2)`",
            Box::new(|t| {
                let source = ValueSource::Constant(OwnConstant::Text("abc".into()));
                t[0].columns[2] = column("x", ColumnKind::Char(2), source);
            }),
        ),
    ];
    for (expected, change) in cases {
        let text = fault_after(change);
        assert!(text.contains(expected), "{text} for {expected}");
        assert!(!text.contains('\n'));
    }
}

#[test]
fn a_statement_that_names_what_is_not_there_is_refused() {
    let fault = |value: CustomValue| {
        let mut tables = tables();
        tables.push(table("empty", 0, &[], vec![column("a", ColumnKind::Int, ValueSource::Serial)]));
        fault_of(&tables, &[op("x", "SELECT ?", vec![value])])
    };
    assert_eq!(fault(value("none", "a")), "statement `x`: `:none.a` names table `none`, which the plan does not have");
    assert_eq!(fault(value("lines", "no")), "statement `x`: `:lines.no`: table `lines` has no column `no`");
    assert!(fault(value("empty", "a")).contains("begins without rows; use `:empty.a@new`"));
    assert!(fault(CustomValue { draw: Draw::Id, nth: 1 }).contains("is of sysbench's tables"));
}

#[test]
fn tables_come_after_those_that_they_refer_to_with_their_foreign_keys() {
    let mut params = params(&OWN.entry, &[("foreign_keys", "true")]);
    params.0.insert("table".into(), Value::Tables(tables()));
    let schema = sql_program(&ProgramInput::new(&params, 1, &SequenceState::default())).schema;
    let names: Vec<&str> = schema.iter().map(|table| table.name.as_str()).collect();
    assert_eq!(names, ["customers", "orders", "lines"]);
    assert_eq!((schema[2].foreign_keys[0].columns, schema[2].foreign_keys[0].parent), (&["order_id"][..], "orders"));
    assert_eq!(schema[2].primary_key, ["order_id", "line"]);
}

#[test]
fn a_table_that_refers_to_itself_refers_to_its_own_rows() {
    let mut parent = column("parent", ColumnKind::Int, refers("tree", "id", EVEN));
    parent.nulls = 0.1;
    let tree = table("tree", 500, &["id"], vec![column("id", ColumnKind::Int, ValueSource::Serial), parent]);
    let program = program_of(std::slice::from_ref(&tree), &[], 1);
    assert!(program.schema[0].foreign_keys.is_empty());
    let rows = loaded_by(&program, 3);
    let ids: BTreeSet<&str> = rows["tree"].iter().map(|row| row[0].as_str()).collect();
    let parents: Vec<&str> = rows["tree"].iter().map(|row| row[1].as_str()).collect();
    let roots = parents.iter().filter(|parent| !ids.contains(*parent)).count();
    assert_eq!((ids.len(), roots), (500, 50), "all but the tenth that is NULL");
    let mut params = params(&OWN.entry, &[("foreign_keys", "true")]);
    params.0.insert("table".into(), Value::Tables(vec![tree]));
    params.0.insert("statement".into(), Value::Statements(Vec::new()));
    let schema = sql_program(&ProgramInput::new(&params, 1, &SequenceState::default())).schema;
    assert_eq!((schema[0].foreign_keys[0].parent, schema[0].foreign_keys[0].columns), ("tree", &["parent"][..]));
}

#[test]
fn partitions_by_range_hold_as_many_rows_each() {
    let mut tables = tables();
    tables[2].partitions = Some(OwnPartitions { by: PartitionRule::Range, column: "ID".into(), count: 4 });
    let schema = program_of(&tables, &statements(), 1).schema;
    assert_eq!(schema[0].partitions, Some(TablePartitions::Ranges { column: "id", ends: vec![51, 101, 151] }));
    tables[0].partitions = Some(OwnPartitions { by: PartitionRule::Hash, column: "line".into(), count: 3 });
    let schema = program_of(&tables, &statements(), 1).schema;
    assert_eq!(schema[2].partitions, Some(TablePartitions::Hash { column: "line", count: 3 }));
    let refused = |change: fn(&mut OwnPartitions)| {
        fault_after(|tables| {
            let mut partitions = OwnPartitions { by: PartitionRule::Hash, column: "id".into(), count: 4 };
            change(&mut partitions);
            tables[2].partitions = Some(partitions);
        })
    };
    assert!(refused(|it| it.count = 1).contains("use 2 to 1000"));
    assert!(refused(|it| it.column = "none".into()).contains("which the table does not have"));
    assert!(
        refused(|it| it.column = "city".into()).contains("has to name their column `city`; its primary key does not")
    );
    assert!(refused(|it| it.column = "name".into()).contains("use a column of integers"));
}

fn found_table(name: &str, columns: &[&str]) -> OwnTable {
    let columns = columns.iter().map(|column| (*column).to_owned()).collect();
    let keys = OwnKeys { sql: format!("SELECT * FROM {name}"), columns };
    OwnTable { keys: Some(keys), ..table(name, 0, &[], Vec::new()) }
}

#[test]
fn statements_on_tables_that_are_there_take_values_of_the_rows_that_were_read() {
    let tables = [found_table("a", &["id", "word"]), found_table("b", &["id"])];
    let values = vec![value("a", "word"), value("a", "ID"), value("b", "id")];
    let params = params_of(&tables, &[op("x", "SELECT ?, ?, ?", values)], &[("existing", "true")]);
    assert_eq!(own::check(&params), Ok(()));
    let sequence = SequenceState::default();
    let input = ProgramInput::new(&params, 1, &sequence);
    let before = sql_program(&input);
    assert!(before.schema.is_empty() && before.load.is_none() && before.kinds.len() == 1 && !before.writes);
    let Some(WantedData { tables: WantedTables::Named(queries), allows_writes: false, .. }) = before.found else {
        panic!("it wants data that is there")
    };
    assert_eq!(queries[0].columns, ["id", "word"]);
    let texts = ["one", "two"].map(|word| Some(word.as_bytes().into()));
    let of_a = KeyRows {
        rows: 3,
        columns: vec![KeyColumn::Ints(vec![1, 2, 3]), KeyColumn::Texts([&texts[..], &[None]].concat())],
    };
    let of_b = KeyRows { rows: 1, columns: vec![KeyColumn::Ints(vec![7])] };
    sequence.set_found(FoundData::Keys(vec![of_a.into(), of_b.into()]));
    let mut ops = vec![SqlOp::default(); 100];
    (sql_program(&input).run.make)(ClientIndex { client: 0, clients: 1 }).fill_ops(&mut ops);
    let mut seen = BTreeSet::new();
    for op in &ops {
        let [word, SqlArg::Int(id), SqlArg::Int(7)] = &op.args[..] else { panic!("{:?}", op.args) };
        let word = match word {
            SqlArg::Text { start, len } => std::str::from_utf8(&op.text[*start as usize..][..*len as usize]).unwrap(),
            SqlArg::Null => "NULL",
            other => panic!("{other:?}"),
        };
        seen.insert((*id, word));
    }
    assert_eq!(seen, BTreeSet::from([(1, "one"), (2, "two"), (3, "NULL")]), "all of one row");
}

#[test]
fn keys_and_tables_to_make_exclude_each_other() {
    let fault = |tables: &[OwnTable], value: CustomValue, existing: &str| {
        own::check(&params_of(tables, &[op("x", "SELECT ?", vec![value])], &[("existing", existing)]))
            .expect_err("a fault")
            .text
    };
    let found = [found_table("orders", &["id"])];
    assert!(
        fault(&found, value("orders", "id"), "false").starts_with("`keys` of table `orders` need existing = `true`")
    );
    assert!(fault(&tables(), value("orders", "id"), "true").contains("makes no tables, so table `"));
    let at = |draw: Draw| fault(&found, CustomValue { draw, nth: 1 }, "true");
    let name = |column: &str| ColumnName { table: "orders".into(), column: column.into() };
    assert!(
        at(Draw::Column(name("no")))
            .ends_with("the keys of table `orders` have no column `no`; add it to their SELECT")
    );
    assert!(at(Draw::NewColumn(name("id"))).contains("plimsoll does not know which values are free"));
}
