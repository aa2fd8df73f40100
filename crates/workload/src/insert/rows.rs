//! The rows of the purchases tables: what each is, and which are there.
//!
//! In: the tables' schema, the seed, how far earlier steps have come. Out: rows as arguments of statements, as entries of
//! key-value engines, and as keys to be removed. A row takes about 50 ns to make as arguments, 35 ns as an entry without
//! indexes and 75 ns with three; random text a nanosecond a byte more.
//! Limits: a row is a function of (seed, table, id) alone, so every engine gets the same rows whatever the number of clients.
//! Random text has 64 letters, so a coder of single letters removes a quarter of it, and no compressor removes more. Ids that a
//! client took and did not insert before the end of its step stay free.
//!
//! Values have the ranges of iiBench; prices in the tables of 2012 follow its formula.

use super::dealing::ClaimedIds;
use super::schema::{CASH_REGISTERS, CUSTOMERS, PRICES, PRODUCTS, PurchaseSchema, TableForm};
use crate::SequenceState;
use crate::program::{push_entry, push_removal, push_text};
use crate::random::{LETTERS, Rng, Words, number_below, push_random_text, rng_for_key};
use model::{KvOp, LoadPart, SqlArg, SqlOp};
use std::ops::Range;
use std::sync::atomic::Ordering::Relaxed;

/// The rows of all tables.
#[derive(Clone)]
pub(super) struct PurchaseData {
    pub(super) schema: PurchaseSchema,
    pub(super) seed: u64,
    /// Whether rows have entries in the secondary indexes as soon as they are inserted.
    pub(super) indexed: bool,
    pub(super) sequence: SequenceState,
    /// The clients of this host among those that use these tables.
    pub(super) clients: LoadPart,
}

impl PurchaseData {
    /// Takes the next `rows` rows of `table` and returns the first id.
    pub(super) fn claim_rows(&self, table: u64, rows: u64) -> u64 {
        1 + self.sequence.dealt_rows(table as usize).fetch_add(rows, Relaxed)
    }

    /// Notes that ids of `table` are inserted and deleted that were dealt out among several hosts.
    pub(super) fn note_claimed(&self, table: u64, ids: &ClaimedIds) {
        self.sequence.dealt_rows(table as usize).fetch_max(ids.inserted.end - 1, Relaxed);
        if !ids.oldest.is_empty() {
            // The hosts are about equally fast, so what was dealt out to others before is gone as well.
            self.sequence.deleted_rows(table as usize).fetch_max(ids.oldest.end - 1, Relaxed);
        }
    }

    /// Takes the oldest `rows` rows of `table` that are left below `first`, to be deleted. There are fewer if the table
    /// has not as many.
    pub(super) fn claim_oldest(&self, table: u64, rows: u64, first: u64) -> Range<u64> {
        let gone = self.sequence.deleted_rows(table as usize);
        // The closure runs again after a lost race: the end follows from the value that won.
        let end = |from: u64| from + rows.min((first - 1).saturating_sub(from));
        let from = gone.fetch_update(Relaxed, Relaxed, |from| Some(end(from))).expect("the closure always answers");
        from + 1..end(from) + 1
    }

    /// The ids that are in `table`, or on their way there.
    pub(super) fn present_ids(&self, table: u64) -> Range<u64> {
        let (deleted, dealt) = (self.sequence.deleted_rows(table as usize), self.sequence.dealt_rows(table as usize));
        deleted.load(Relaxed) + 1..dealt.load(Relaxed) + 1
    }

    /// How many columns an insert names.
    pub(super) fn column_count(&self) -> u16 {
        if self.schema.form == TableForm::Ibench { 7 } else { 6 }
    }

    /// Indexes into which an insert puts entries.
    pub(super) fn live_indexes(&self) -> usize {
        if self.indexed { self.schema.indexes } else { 0 }
    }

    #[inline]
    fn make_row(&self, table: u64, id: u64) -> (PurchaseRow, Rng) {
        // Ids stay far below 2^40: a million rows a second for twelve days.
        let mut rng = rng_for_key(self.seed, table << 40 | id);
        let row = PurchaseRow::new(self.schema.form, id, &mut rng);
        (row, rng)
    }

    /// Adds the arguments of one inserted row.
    #[inline]
    pub(super) fn push_arguments(&self, op: &mut SqlOp, table: u64, id: u64) {
        let (row, mut rng) = self.make_row(table, id);
        op.args.push(SqlArg::Int(id as i64));
        push_text(op, |text| text.extend_from_slice(&date_and_time(row.time_s)));
        op.args.extend([row.cash_register, row.customer, row.product].map(|value| SqlArg::Int(value.into())));
        match self.schema.form {
            TableForm::Iibench2012 => op.args.push(SqlArg::Float(f64::from(row.price) / 100.0)),
            TableForm::Ibench => {
                op.args.push(SqlArg::Int(row.price.into()));
                push_text(op, |text| self.push_data(text, &mut rng));
            }
        }
    }

    /// Adds the row itself and its entries in as many indexes as rows have from the start.
    #[inline]
    pub(super) fn push_puts(&self, op: &mut KvOp, table: u64, id: u64) {
        let (row, mut rng) = self.make_row(table, id);
        push_entry(op, 0, self.row_key(table, id).as_bytes(), |value| {
            for column in [row.time_s, row.cash_register, row.customer, row.product, row.price] {
                value.extend_from_slice(&column.to_be_bytes());
            }
            self.push_data(value, &mut rng);
        });
        self.push_index_entries(op, table, &row, self.live_indexes());
    }

    /// Adds the entries of a row in all secondary indexes.
    pub(super) fn push_index_puts(&self, op: &mut KvOp, table: u64, id: u64) {
        self.push_index_entries(op, table, &self.make_row(table, id).0, self.schema.indexes);
    }

    /// Adds the keys of the row and of its entries to those that are removed.
    pub(super) fn push_removals(&self, op: &mut KvOp, table: u64, id: u64) {
        // The row is made again from its id: an engine without secondary indexes of its own needs the old keys to remove them.
        let (row, _) = self.make_row(table, id);
        push_removal(op, 0, self.row_key(table, id).as_bytes());
        for index in 0..self.live_indexes() {
            push_removal(op, 1 + index as u16, self.index_key(table, &row, index).as_bytes());
        }
    }

    /// The key of the row itself.
    #[inline]
    pub(super) fn row_key(&self, table: u64, id: u64) -> RowKey {
        let mut key = self.key_prefix(table);
        key.push(id.to_be_bytes());
        key
    }

    #[inline]
    fn push_index_entries(&self, op: &mut KvOp, table: u64, row: &PurchaseRow, indexes: usize) {
        for index in 0..indexes {
            push_entry(op, 1 + index as u16, self.index_key(table, row, index).as_bytes(), |_| ());
        }
    }

    /// What every key of `table` begins with, as all tables are in one key space: nothing if there is one table.
    #[inline]
    fn key_prefix(&self, table: u64) -> RowKey {
        let mut key = RowKey { bytes: [0; KEY_MAX], len: 0 };
        if self.schema.tables > 1 {
            key.push((table as u16).to_be_bytes());
        }
        key
    }

    /// The key of `row` in the index of that number: columns are big-endian 32-bit numbers, so that keys sort as the columns
    /// do; every key ends in the 64-bit id.
    #[inline]
    fn index_key(&self, table: u64, row: &PurchaseRow, index: usize) -> RowKey {
        let columns: &[u32] = match (self.schema.form, index) {
            (TableForm::Iibench2012, 0) => &[row.price, row.customer],
            (TableForm::Iibench2012, 1) => &[row.cash_register, row.price, row.customer],
            (TableForm::Ibench, 0) => &[row.product, row.customer, row.price],
            (TableForm::Ibench, 1) => &[row.cash_register, row.customer, row.price],
            _ => &[row.price, row.time_s, row.customer],
        };
        let mut key = self.key_prefix(table);
        columns.iter().for_each(|column| key.push(column.to_be_bytes()));
        key.push(row.id.to_be_bytes());
        key
    }

    /// Appends a row's text: one letter again and again, then what is random.
    #[inline]
    fn push_data(&self, text: &mut Vec<u8>, rng: &mut Rng) {
        let PurchaseSchema { text_bytes, random_bytes, .. } = self.schema;
        text.resize(text.len() + text_bytes - random_bytes, b'a');
        push_random_text(text, random_bytes, LETTERS, rng);
    }
}

/// A table, three columns and an id.
const KEY_MAX: usize = 2 + 3 * 4 + 8;

/// A key under construction.
#[derive(Clone, Copy)]
pub(super) struct RowKey {
    bytes: [u8; KEY_MAX],
    len: usize,
}

impl RowKey {
    #[inline]
    fn push<const N: usize>(&mut self, part: [u8; N]) {
        self.bytes[self.len..self.len + N].copy_from_slice(&part);
        self.len += N;
    }

    /// What it is made of so far.
    #[inline]
    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct PurchaseRow {
    id: u64,
    /// In seconds since 1970.
    time_s: u32,
    cash_register: u32,
    customer: u32,
    product: u32,
    /// In cents in 2012.
    price: u32,
}

/// 2012-05-16 00:00:00 UTC, when the first row is bought.
const FIRST_S: u64 = 1_337_126_400;
/// The clock of iiBench stood still for as many rows as were inserted in a second; here that is a fixed number.
const ROWS_PER_S: u64 = 1_000;

impl PurchaseRow {
    #[inline]
    fn new(form: TableForm, id: u64, rng: &mut Rng) -> PurchaseRow {
        let customer = number_below(rng.next_u64(), CUSTOMERS) as u32;
        PurchaseRow {
            id,
            time_s: (FIRST_S + id / ROWS_PER_S) as u32,
            cash_register: number_below(rng.next_u64(), CASH_REGISTERS) as u32,
            customer,
            product: number_below(rng.next_u64(), PRODUCTS) as u32,
            price: match form {
                // iiBench: ((random * 500) + customerid) / 100.0, written with two digits.
                TableForm::Iibench2012 => customer + number_below(rng.next_u64(), PRICES + 1) as u32,
                TableForm::Ibench => number_below(rng.next_u64(), PRICES) as u32,
            },
        }
    }
}

/// `2012-05-16 00:00:00` of seconds since 1970. The date is Howard Hinnant's `civil_from_days`
/// (<https://howardhinnant.github.io/date_algorithms.html>) for days after 1970.
fn date_and_time(time_s: u32) -> [u8; 19] {
    // 719,468 days lie between 0000-03-01 and 1970-01-01: years begin in March, so a leap day is the last of its year.
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
        // The template has zeros in its places for digits, and ASCII digits are consecutive.
        text[at] += (value / 10 % 10) as u8;
        text[at + 1] += (value % 10) as u8;
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::{INSERT, step_data};
    use super::*;
    use crate::program::ProgramInput;
    use crate::tests::params;
    use proptest::prelude::*;

    fn rows(changes: &[(&str, &str)], seed: u64) -> PurchaseData {
        let step = ("step", "l.i1");
        step_data(&ProgramInput::new(
            &params(&INSERT.entry, &[&[step], changes].concat()),
            seed,
            &SequenceState::default(),
        ))
    }

    const OF_2012: (&str, &str) = ("schema", "iibench-2012");

    #[test]
    fn a_row_depends_on_seed_table_and_id_alone_and_stays_in_the_ranges_of_iibench() {
        for of in [OF_2012, ("schema", "ibench")] {
            let (one, other) = (rows(&[of], 1), rows(&[of], 2));
            for id in 1..5_000 {
                let row = one.make_row(0, id).0;
                assert_eq!(row, rows(&[of], 1).make_row(0, id).0);
                assert!(row != other.make_row(0, id).0 && row != one.make_row(1, id).0);
                assert!(row.cash_register < 1_000 && row.product < 10_000 && row.customer < 100_000);
                match one.schema.form {
                    TableForm::Iibench2012 => assert!((row.customer..=row.customer + 500).contains(&row.price)),
                    TableForm::Ibench => assert!(row.price < 500),
                }
            }
        }
    }

    #[test]
    fn a_share_of_the_text_is_random_and_the_rest_one_letter() {
        for (bytes, percent, random) in [("10", "50", 5), ("100", "100", 0), ("33", "0", 33), ("0", "50", 0)] {
            let data = rows(&[("data_bytes", bytes), ("compressible", percent)], 1);
            let (mut one, mut other) = (SqlOp::default(), SqlOp::default());
            data.push_arguments(&mut one, 0, 1);
            data.push_arguments(&mut other, 0, 2);
            let text = |op: &SqlOp| op.text[19..].to_vec();
            let plain = bytes.parse::<usize>().unwrap() - random;
            assert!(text(&one)[..plain].iter().all(|letter| *letter == b'a') && text(&one).len() == plain + random);
            assert!(text(&one)[plain..].iter().all(|letter| LETTERS.contains(letter)));
            assert_eq!(text(&one)[plain..] != text(&other)[plain..], random > 0);
        }
    }

    #[test]
    fn the_keys_of_one_table_have_no_number_before_them() {
        let (one, two) = (rows(&[], 1), rows(&[("tables", "2")], 1));
        assert_eq!(one.row_key(0, 7).as_bytes(), 7u64.to_be_bytes());
        assert_eq!(two.row_key(1, 7).as_bytes(), [&[0, 1][..], &7u64.to_be_bytes()].concat());
        assert!(two.index_key(1, &two.make_row(1, 7).0, 1).as_bytes().len() == KEY_MAX);
    }

    #[test]
    fn a_put_has_the_row_and_an_entry_per_index_and_a_removal_their_keys() {
        let data = rows(&[OF_2012], 1);
        let mut op = KvOp::default();
        data.push_puts(&mut op, 0, 2);
        data.push_removals(&mut op, 0, 2);
        let (row, _) = data.make_row(0, 2);
        assert_eq!(op.entries.iter().map(|entry| entry.table).collect::<Vec<_>>(), [0, 1, 2, 3]);
        assert_eq!(op.key(&op.entries[0]), 2u64.to_be_bytes());
        assert_eq!(op.value(&op.entries[0])[16..], row.price.to_be_bytes());
        assert!(op.entries[1..].iter().all(|entry| entry.value_len == 0));
        let keys =
            |entries: &[model::KvEntry]| entries.iter().map(|it| (it.table, op.key(it).to_vec())).collect::<Vec<_>>();
        assert_eq!(keys(&op.entries), keys(&op.removed));
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

    proptest! {
        #[test]
        fn index_keys_sort_as_their_columns_do(a in 1u64..1_000_000, b in 1u64..1_000_000, today: bool) {
            let data = rows(&[("schema", if today { "ibench" } else { "iibench-2012" })], 1);
            let (a, b) = (data.make_row(0, a).0, data.make_row(0, b).0);
            let columns = |row: &PurchaseRow, index| match (today, index) {
                (false, 0) => [row.price, row.customer, 0],
                (false, 1) => [row.cash_register, row.price, row.customer],
                (true, 0) => [row.product, row.customer, row.price],
                (true, 1) => [row.cash_register, row.customer, row.price],
                _ => [row.price, row.time_s, row.customer],
            };
            for index in 0..3 {
                let order = (columns(&a, index), a.id).cmp(&(columns(&b, index), b.id));
                let (key_a, key_b) = (data.index_key(0, &a, index), data.index_key(0, &b, index));
                prop_assert_eq!(key_a.as_bytes().cmp(key_b.as_bytes()), order);
            }
        }
    }
}
