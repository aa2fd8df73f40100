//! The purchases tables in both their forms: their columns, indexes and partitions, and the space that their rows take.
//!
//! In: a trial's parameters. Out: descriptions of tables. Limits: an index is known by its number, in the order in which
//! `indexes` counts them; a table has at most [`PARTITIONS_MAX`] partitions, and one more for all further rows.

use crate::program::{ColumnKind, SqlColumn, SqlIndex, SqlTable, TablePartitions};
use model::{Bytes, Params};

/// Which of the forms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TableForm {
    Iibench2012,
    /// Today's: prices are integers, two of the indexes have other columns, and a row has text in addition to its numbers.
    Ibench,
}

/// The words for them in plans.
pub(super) const FORMS: [&str; 2] = ["iibench-2012", "ibench"];

/// How many different cash registers, products and customers there are in both, and prices in today's.
pub(super) const CASH_REGISTERS: u64 = 1_000;
pub(super) const PRODUCTS: u64 = 10_000;
pub(super) const CUSTOMERS: u64 = 100_000;
pub(super) const PRICES: u64 = 500;

/// Beyond a thousand, opening and planning cost more than what is measured.
const PARTITIONS_MAX: u64 = 1_000;
/// As many as in 2012, if no number of rows determines how many are needed.
const PARTITIONS_OF_2012: u64 = 10;

/// What the tables are like.
#[derive(Clone, Debug)]
pub(super) struct PurchaseSchema {
    pub(super) form: TableForm,
    pub(super) tables: u64,
    /// How many secondary indexes each is to have.
    pub(super) indexes: usize,
    /// Length of the text in each row.
    pub(super) text_bytes: usize,
    /// How much of it is random.
    pub(super) random_bytes: usize,
    partition_rows: u64,
    /// Rows of all steps that end by count, over all tables.
    rows: u64,
}

impl PurchaseSchema {
    /// The tables that `params` ask for, into which `rows` rows come; 0 if that is not known.
    pub(super) fn new(params: &Params, rows: u64) -> PurchaseSchema {
        let form = if params.word("schema") == FORMS[0] { TableForm::Iibench2012 } else { TableForm::Ibench };
        let text_bytes = if form == TableForm::Ibench { params.int("data_bytes") as usize } else { 0 };
        PurchaseSchema {
            form,
            tables: params.int("tables"),
            indexes: params.int("indexes") as usize,
            text_bytes,
            random_bytes: (text_bytes * (100 - params.int("compressible") as usize)).div_ceil(100),
            partition_rows: params.int("partition_rows"),
            rows,
        }
    }

    /// The name of table `nth`, from 0.
    pub(super) fn table_name(&self, nth: u64) -> String {
        let name = if self.indexes == 0 { "purchases_noindex" } else { "purchases_index" };
        if self.tables == 1 { name.to_string() } else { format!("{name}{}", nth + 1) }
    }

    /// Every table, with its secondary indexes if `with_indexes`.
    pub(super) fn all_tables(&self, with_indexes: bool) -> Vec<SqlTable> {
        (0..self.tables).map(|nth| self.define_table(nth, if with_indexes { self.indexes } else { 0 })).collect()
    }

    /// Table `nth`, from 0, with its first `indexes` secondary indexes.
    fn define_table(&self, nth: u64, indexes: usize) -> SqlTable {
        let indexes = (0..indexes).map(|nth| SqlIndex::not_unique(INDEX_NAMES[nth], self.index_columns(nth).to_vec()));
        SqlTable {
            name: self.table_name(nth),
            columns: self.columns(),
            primary_key: &[KEY],
            foreign_keys: Vec::new(),
            indexes: indexes.collect(),
            partitions: self.partitions(),
        }
    }

    /// The columns in the order in which inserts name them.
    pub(super) fn columns(&self) -> Vec<SqlColumn> {
        let (key, price) = match self.form {
            TableForm::Iibench2012 => (ColumnKind::Int, ColumnKind::Real),
            TableForm::Ibench => (ColumnKind::BigInt, ColumnKind::Int),
        };
        let mut columns = vec![
            SqlColumn::not_null(KEY, key),
            SqlColumn { not_null: false, ..SqlColumn::not_null("dateandtime", ColumnKind::DateTime) },
            SqlColumn::not_null("cashregisterid", ColumnKind::Int),
            SqlColumn::not_null("customerid", ColumnKind::Int),
            SqlColumn::not_null("productid", ColumnKind::Int),
            SqlColumn::not_null("price", price),
        ];
        if self.form == TableForm::Ibench {
            // No engine here takes a column of no characters.
            let kind = ColumnKind::VarChar(self.text_bytes.max(1) as u16);
            columns.push(SqlColumn { not_null: false, ..SqlColumn::not_null("data", kind) });
        }
        columns
    }

    /// The columns of secondary index `nth`, from 0.
    pub(super) fn index_columns(&self, nth: usize) -> &'static [&'static str] {
        let columns: [[&[&str]; 3]; 2] = [
            [&["price", "customerid"], &["cashregisterid", "price", "customerid"], PRICE_DATE_CUSTOMER],
            [&["productid", "customerid", "price"], &["cashregisterid", "customerid", "price"], PRICE_DATE_CUSTOMER],
        ];
        columns[self.form as usize][nth]
    }

    fn partitions(&self) -> Option<TablePartitions> {
        let needed = match self.rows.div_ceil(self.tables).div_ceil(self.partition_rows.max(1)) {
            0 => PARTITIONS_OF_2012,
            needed => needed.min(PARTITIONS_MAX),
        };
        (self.partition_rows > 0).then_some(TablePartitions::OfKeys { rows: self.partition_rows, count: needed })
    }

    /// About what one row takes in a B-tree, with its entries in all indexes. SQLite took 47 bytes for a row of 2012, in order
    /// of its key, and 23, 26 and 45 for its entries in the three indexes, whose pages random inserts leave two thirds full; for
    /// one of today 42 bytes without its text, and 19, 19 and 40 for its entries (300,000 rows each; the rest here is for larger
    /// ids). An LSM tree takes as much in its journal, and less when it has packed it into tables.
    pub(super) fn row_bytes(&self) -> Bytes {
        let (row, entries) = match self.form {
            TableForm::Iibench2012 => (50, [25, 30, 50]),
            TableForm::Ibench => (45 + self.text_bytes as u64, [22, 22, 45]),
        };
        Bytes(row + entries[..self.indexes].iter().sum::<u64>())
    }
}

/// The widths of a row's columns in bytes: INT and FLOAT have 4, DATETIME 8; today's schema has a BIGINT key and a text column.
/// Index entries are not in it.
pub(super) fn payload_bytes(params: &Params) -> u64 {
    const COLUMNS_OF_2012: u64 = 4 + 8 + 4 + 4 + 4 + 4;
    if params.word("schema") == FORMS[0] { COLUMNS_OF_2012 } else { COLUMNS_OF_2012 + 4 + params.int("data_bytes") }
}

pub(super) const KEY: &str = "transactionid";
/// The names of the indexes; each is unique within its table only.
pub(super) const INDEX_NAMES: [&str; 3] = ["marketsegment", "registersegment", "pdc"];
const PRICE_DATE_CUSTOMER: &[&str] = &["price", "dateandtime", "customerid"];
