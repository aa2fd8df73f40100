//! The insert benchmark of 2012: rows of the purchases table, in the order of its key, with up to three secondary indexes
//! whose entries fall at random places. What an engine does when the indexes outgrow its cache is the point of it.
//!
//! In: number of indexes, rows per commit. Out: one commit per operation: `rows_per_commit` inserts on SQL, one atomic
//! batch on a key-value engine with a put per row and per index entry. A row takes about 50 ns to make as a statement,
//! 25 ns as a put without indexes and 60 ns with three.
//! Limits: `transactionid` is given by plimsoll (from 1, one counter for all clients), not by the engine; it is a 32-bit
//! INT as it was then, so SQL engines that keep to that refuse rows after 2,147,483,647. Ids that a client took and did not
//! insert before the end stay free. No queries run beside the inserts.
//!
//! Values have the ranges and the price formula of iiBench; a row is a function of (seed, transactionid) alone, so every
//! engine gets the same rows whatever the number of clients.

use crate::program::{Column, ColumnKind, Index, Kind, KvProgram, Part, SqlProgram, Table, push_entry, push_text};
use crate::random::{Words, below, rng_of};
use crate::{Carried, Reuse, Unsupported, Workload, WorkloadDef};
use model::{Bytes, Entry, Family, KvOp, OpKind, ParamDef, ParamKind, Params, SqlArg, SqlCall, SqlOp};
use std::sync::atomic::Ordering;

/// `insert`.
pub static INSERT: WorkloadDef = WorkloadDef {
    entry: Entry {
        name: "insert",
        help: "inserts into the purchases table of 2012; an operation is a commit of rows_per_commit rows",
        families: &[Family::Sql, Family::Kv],
        params: &[INDEXES, ROWS_PER_COMMIT],
    },
    data_reuse: |_| Reuse::Fresh,
    // The table begins empty.
    data_bytes: |_| Bytes(0),
    growth_bytes_per_op,
    io: None,
    sql: Some(sql),
    kv: Some(kv),
};

const INDEXES: ParamDef = ParamDef {
    name: "indexes",
    kind: ParamKind::Int { min: 0, max: 3 },
    default: "3",
    help: "secondary indexes: the first so many of marketsegment, registersegment, pdc",
    scales: false,
    shapes_data: true,
};
const ROWS_PER_COMMIT: ParamDef = ParamDef {
    name: "rows_per_commit",
    kind: ParamKind::Int { min: 1, max: 100_000 },
    default: "1",
    help: "rows inserted by each operation, which is one commit",
    scales: false,
    shapes_data: false,
};

const INDEX_COLUMNS: [(&str, &[&str]); 3] = [
    ("marketsegment", &["price", "customerid"]),
    ("registersegment", &["cashregisterid", "price", "customerid"]),
    ("pdc", &["price", "dateandtime", "customerid"]),
];
const KV_TABLES: [&str; 4] = ["row", "marketsegment", "registersegment", "pdc"];

/// SQLite took 47 bytes for a row, in order of its key, and 23, 26 and 45 for its entries in the three indexes, whose pages
/// random inserts leave two thirds full (300,000 rows; the rest here is for larger ids). An LSM tree takes as much in its
/// journal, and less when it has packed it into tables.
fn growth_bytes_per_op(params: &Params) -> Bytes {
    const ROW: u64 = 50;
    const INDEX_ENTRIES: [u64; 3] = [25, 30, 50];
    let entries: u64 = INDEX_ENTRIES[..params.int("indexes") as usize].iter().sum();
    Bytes(params.int("rows_per_commit") * (ROW + entries))
}

fn sql(params: &Params, seed: u64, carried: &Carried) -> SqlProgram {
    let (rows, table) = (Rows::new(params, seed, carried), table(params.int("indexes") as usize));
    let columns: Vec<&str> = table.columns.iter().map(|column| column.name).collect();
    let insert = format!("INSERT INTO {} ({}) VALUES (?, ?, ?, ?, ?, ?)", table.name, columns.join(", "));
    let per_commit = rows.per_commit;
    // BEGIN and COMMIT are sent where there is more than one row.
    let queries = if per_commit > 1 { per_commit as f64 + 2.0 } else { 1.0 };
    SqlProgram {
        schema: vec![table],
        statements: vec![insert],
        load_statements: Vec::new(),
        writes: true,
        kinds: vec![Kind { name: "insert", queries, rows: per_commit }],
        load: None,
        run: Part::new(None, per_commit, move |_| SqlInserts(rows.clone())),
        beside: None,
    }
}

fn kv(params: &Params, seed: u64, carried: &Carried) -> Result<KvProgram, Unsupported> {
    let (rows, indexes) = (Rows::new(params, seed, carried), params.int("indexes") as usize);
    Ok(KvProgram {
        tables: KV_TABLES[..1 + indexes].to_vec(),
        writes: true,
        kinds: vec![Kind { rows: rows.per_commit, ..Kind::plain("insert") }],
        load: None,
        run: Part::new(None, rows.per_commit, move |_| KvInserts { rows: rows.clone(), indexes }),
        beside: None,
    })
}

fn table(indexes: usize) -> Table {
    let int = |name| Column { name, kind: ColumnKind::Int, not_null: true };
    let index = |(name, columns): &(&str, &[&'static str])| Index { name: name.to_string(), columns: columns.to_vec() };
    Table {
        name: if indexes == 0 { "purchases_noindex" } else { "purchases_index" }.to_string(),
        columns: vec![
            int("transactionid"),
            Column { name: "dateandtime", kind: ColumnKind::DateTime, not_null: false },
            int("cashregisterid"),
            int("customerid"),
            int("productid"),
            Column { name: "price", kind: ColumnKind::Float, not_null: true },
        ],
        primary_key: "transactionid",
        indexes: INDEX_COLUMNS[..indexes].iter().map(index).collect(),
    }
}

/// The rows still to be inserted, shared by all clients.
#[derive(Clone)]
struct Rows {
    seed: u64,
    per_commit: u64,
    carried: Carried,
}

impl Rows {
    fn new(params: &Params, seed: u64, carried: &Carried) -> Self {
        Rows { seed, per_commit: params.int("rows_per_commit"), carried: carried.clone() }
    }

    /// Takes the rows of `ops` operations and returns the first id.
    fn claim(&self, ops: usize) -> u64 {
        1 + self.carried.dealt(0).fetch_add(ops as u64 * self.per_commit, Ordering::Relaxed)
    }
}

/// One purchase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Row {
    id: u64,
    /// Seconds since 1970.
    time_s: u32,
    cash_register: u32,
    customer: u32,
    product: u32,
    price_cents: u32,
}

/// 2012-05-16 00:00:00 UTC, when the first row is bought.
const FIRST_S: u64 = 1_337_126_400;
/// The clock of iiBench stood still for as many rows as were inserted in a second; here that is a fixed number.
const ROWS_PER_S: u64 = 1_000;

impl Row {
    #[inline]
    fn new(seed: u64, id: u64) -> Row {
        let mut rng = rng_of(seed, id);
        let customer = below(rng.next_u64(), 100_000) as u32;
        Row {
            id,
            time_s: (FIRST_S + id / ROWS_PER_S) as u32,
            cash_register: below(rng.next_u64(), 1_000) as u32,
            customer,
            product: below(rng.next_u64(), 10_000) as u32,
            // iiBench: ((random * 500) + customerid) / 100.0, written with two digits.
            price_cents: customer + below(rng.next_u64(), 501) as u32,
        }
    }
}

/// Inserts as SQL statements.
struct SqlInserts(Rows);

impl Workload<SqlOp> for SqlInserts {
    fn fill(&mut self, ops: &mut [SqlOp]) {
        let mut id = self.0.claim(ops.len());
        for op in ops {
            op.clear();
            op.op_kind = OpKind(0);
            op.writes = true;
            op.transaction = self.0.per_commit > 1;
            for _ in 0..self.0.per_commit {
                push_insert(op, &Row::new(self.0.seed, id));
                id += 1;
            }
        }
    }
}

#[inline]
fn push_insert(op: &mut SqlOp, row: &Row) {
    op.calls.push(SqlCall { statement: 0, args: 6 });
    op.args.push(SqlArg::Int(row.id as i64));
    push_text(op, |text| text.extend_from_slice(&date_and_time(row.time_s)));
    op.args.extend([row.cash_register, row.customer, row.product].map(|value| SqlArg::Int(value.into())));
    op.args.push(SqlArg::Float(f64::from(row.price_cents) / 100.0));
}

/// `2012-05-16 00:00:00` of seconds since 1970. The date is Howard Hinnant's `civil_from_days`
/// (<https://howardhinnant.github.io/date_algorithms.html>) for days after 1970.
fn date_and_time(time_s: u32) -> [u8; 19] {
    let days = time_s / 86_400 + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = era * 400 + year_of_era + u32::from(month <= 2);
    let mut text = *b"0000-00-00 00:00:00";
    let second = time_s % 86_400;
    let pairs = [
        (0, year / 100),
        (2, year),
        (5, month),
        (8, day),
        (11, second / 3_600),
        (14, second / 60 % 60),
        (17, second % 60),
    ];
    for (at, value) in pairs {
        text[at] += (value / 10 % 10) as u8;
        text[at + 1] += (value % 10) as u8;
    }
    text
}

/// Inserts as atomic batches of puts.
struct KvInserts {
    rows: Rows,
    indexes: usize,
}

impl Workload<KvOp> for KvInserts {
    fn fill(&mut self, ops: &mut [KvOp]) {
        let mut id = self.rows.claim(ops.len());
        for op in ops {
            op.clear();
            op.op_kind = OpKind(0);
            for _ in 0..self.rows.per_commit {
                push_puts(op, &Row::new(self.rows.seed, id), self.indexes);
                id += 1;
            }
        }
    }
}

/// One put for the row and one per index. Columns are big-endian 32-bit numbers (price in cents), so that keys sort as the
/// columns do; every key ends in the 64-bit id.
#[inline]
fn push_puts(op: &mut KvOp, row: &Row, indexes: usize) {
    push_entry(op, 0, &row.id.to_be_bytes(), |value| {
        for column in [row.time_s, row.cash_register, row.customer, row.product, row.price_cents] {
            value.extend_from_slice(&column.to_be_bytes());
        }
    });
    for index in 0..indexes {
        let (key, len) = index_key(row, index);
        push_entry(op, 1 + index as u16, &key[..len], |_| ());
    }
}

/// The key of `row` in the index of that number, and its length.
#[inline]
fn index_key(row: &Row, index: usize) -> ([u8; 20], usize) {
    let columns: &[u32] = match index {
        0 => &[row.price_cents, row.customer],
        1 => &[row.cash_register, row.price_cents, row.customer],
        _ => &[row.price_cents, row.time_s, row.customer],
    };
    let mut key = [0; 20];
    for (place, column) in key.chunks_exact_mut(4).zip(columns) {
        place.copy_from_slice(&column.to_be_bytes());
    }
    let columns_len = 4 * columns.len();
    key[columns_len..columns_len + 8].copy_from_slice(&row.id.to_be_bytes());
    (key, columns_len + 8)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::Slot;
    use crate::tests::params;
    use proptest::prelude::*;

    const ALONE: Slot = Slot { client: 0, clients: 1 };

    fn sql_with(indexes: &str, rows_per_commit: &str) -> SqlProgram {
        sql(
            &params(&INSERT.entry, &[("indexes", indexes), ("rows_per_commit", rows_per_commit)]),
            1,
            &Carried::default(),
        )
    }

    fn kv_with(indexes: &str, rows_per_commit: &str) -> KvProgram {
        let params = params(&INSERT.entry, &[("indexes", indexes), ("rows_per_commit", rows_per_commit)]);
        kv(&params, 1, &Carried::default()).expect("insert has a program for every parameter")
    }

    fn ids(ops: &[SqlOp]) -> Vec<i64> {
        let ids = ops.iter().flat_map(|op| op.args.chunks(6).map(|row| row[0]));
        ids.map(|id| if let SqlArg::Int(id) = id { id } else { panic!("{id:?} is no id") }).collect()
    }

    #[test]
    fn the_table_is_that_of_2012() {
        let table = sql_with("3", "1").schema.remove(0);
        let columns: Vec<_> = table.columns.iter().map(|column| column.name).collect();
        assert_eq!(columns, ["transactionid", "dateandtime", "cashregisterid", "customerid", "productid", "price"]);
        let indexes: Vec<_> = table.indexes.iter().map(|i| (i.name.as_str(), i.columns.join(","))).collect();
        assert_eq!(indexes[0], ("marketsegment", "price,customerid".to_string()));
        assert_eq!(indexes[1], ("registersegment", "cashregisterid,price,customerid".to_string()));
        assert_eq!(indexes[2], ("pdc", "price,dateandtime,customerid".to_string()));
        assert_eq!((table.name.as_str(), table.primary_key), ("purchases_index", "transactionid"));
        let without = sql_with("0", "1").schema.remove(0);
        assert_eq!((without.name.as_str(), without.indexes.len()), ("purchases_noindex", 0));
    }

    #[test]
    fn one_row_is_one_statement_on_its_own() {
        let program = sql_with("3", "1");
        let mut ops = [SqlOp::default()];
        (program.run.make)(ALONE).fill(&mut ops);
        let columns = "transactionid, dateandtime, cashregisterid, customerid, productid, price";
        let text = format!("INSERT INTO purchases_index ({columns}) VALUES (?, ?, ?, ?, ?, ?)");
        assert_eq!(program.statements, [text]);
        assert_eq!((ops[0].calls.len(), ops[0].transaction, ops[0].writes), (1, false, true));
        assert_eq!(ops[0].text, b"2012-05-16 00:00:00");
        assert_eq!(program.kinds[0].queries, 1.0);
    }

    #[test]
    fn several_rows_are_one_transaction() {
        let program = sql_with("0", "10");
        let mut ops = vec![SqlOp::default(); 3];
        (program.run.make)(ALONE).fill(&mut ops);
        assert!(ops.iter().all(|op| op.calls.len() == 10 && op.transaction));
        assert_eq!(ids(&ops), (1..=30).collect::<Vec<_>>());
        assert_eq!(program.kinds[0].queries, 12.0);
    }

    #[test]
    fn clients_share_one_row_of_ids_without_gap_or_overlap() {
        let program = sql_with("0", "2");
        let mut clients: Vec<_> = (0..3).map(|client| (program.run.make)(Slot { client, clients: 3 })).collect();
        let mut all = Vec::new();
        for turn in [0, 2, 1, 1, 0, 2] {
            let mut ops = vec![SqlOp::default(); 5];
            clients[turn].fill(&mut ops);
            all.extend(ids(&ops));
        }
        all.sort_unstable();
        assert_eq!(all, (1..=60).collect::<Vec<_>>());
    }

    #[test]
    fn large_commits_are_made_few_at_a_time() {
        assert_eq!([1, 10, 64, 100_000].map(|rows| sql_with("0", &rows.to_string()).run.ahead), [64, 6, 1, 1]);
    }

    #[test]
    fn a_row_depends_on_seed_and_id_alone_and_stays_in_the_ranges_of_iibench() {
        for id in 1..10_000 {
            let row = Row::new(1, id);
            assert_eq!(row, Row::new(1, id));
            assert_ne!(row, Row::new(2, id));
            assert!(row.cash_register < 1_000 && row.product < 10_000 && row.customer < 100_000);
            assert!((row.customer..=row.customer + 500).contains(&row.price_cents));
        }
    }

    #[test]
    fn dates_are_those_of_the_calendar() {
        let shown = |time_s| String::from_utf8(date_and_time(time_s).to_vec()).expect("digits");
        assert_eq!(shown(0), "1970-01-01 00:00:00");
        assert_eq!(shown(951_782_400), "2000-02-29 00:00:00");
        assert_eq!(shown(1_337_126_400 + 3_661), "2012-05-16 01:01:01");
        assert_eq!(shown(1_735_689_599), "2024-12-31 23:59:59");
        assert_eq!(shown(u32::MAX), "2106-02-07 06:28:15");
    }

    #[test]
    fn a_batch_puts_the_row_and_an_entry_per_index_with_the_same_content_as_the_statement() {
        let program = kv_with("3", "2");
        let mut ops = [KvOp::default()];
        (program.run.make)(ALONE).fill(&mut ops);
        let op = &ops[0];
        assert_eq!(program.tables, KV_TABLES);
        assert_eq!(op.entries.iter().map(|entry| entry.table).collect::<Vec<_>>(), [0, 1, 2, 3, 0, 1, 2, 3]);
        let row = Row::new(1, 2);
        assert_eq!(op.key(&op.entries[4]), 2u64.to_be_bytes());
        assert_eq!(op.value(&op.entries[4])[16..], row.price_cents.to_be_bytes());
        assert_eq!(op.entries[4].value_len, 20);
        assert!(op.entries[5..].iter().all(|entry| entry.value_len == 0));
        assert!(!op.get);
    }

    #[test]
    fn without_indexes_only_the_row_is_put() {
        let program = kv_with("0", "1");
        let mut ops = [KvOp::default()];
        (program.run.make)(ALONE).fill(&mut ops);
        assert_eq!((program.tables, ops[0].entries.len()), (vec!["row"], 1));
    }

    #[test]
    fn each_row_and_each_index_entry_takes_space() {
        let growth = |indexes, rows| {
            let changes = [("indexes", indexes), ("rows_per_commit", rows)];
            growth_bytes_per_op(&params(&INSERT.entry, &changes))
        };
        assert_eq!((growth("0", "1"), growth("3", "1"), growth("1", "1000")), (Bytes(50), Bytes(155), Bytes(75_000)));
    }

    proptest! {
        #[test]
        fn index_keys_sort_as_their_columns_do(a in 1u64..1_000_000, b in 1u64..1_000_000) {
            let (a, b) = (Row::new(1, a), Row::new(1, b));
            let orders = [
                (a.price_cents, a.customer, 0, a.id).cmp(&(b.price_cents, b.customer, 0, b.id)),
                (a.cash_register, a.price_cents, a.customer, a.id)
                    .cmp(&(b.cash_register, b.price_cents, b.customer, b.id)),
                (a.price_cents, a.time_s, a.customer, a.id).cmp(&(b.price_cents, b.time_s, b.customer, b.id)),
            ];
            for (index, order) in orders.into_iter().enumerate() {
                let ((key_a, len_a), (key_b, len_b)) = (index_key(&a, index), index_key(&b, index));
                prop_assert_eq!(key_a[..len_a].cmp(&key_b[..len_b]), order);
            }
        }
    }
}
