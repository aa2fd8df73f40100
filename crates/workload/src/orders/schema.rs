//! The nine tables of the order-entry workload (clause 1.3 of the specification).
//!
//! In: whether foreign keys are made. Out: the tables in an order in which none refers to a later one. Limits: amounts are cents and
//! shares ten-thousandths, both in integers; `history` has no primary key.

use crate::program::{ColumnKind, ForeignKey, SqlColumn, SqlIndex, SqlTable};
use ColumnKind::{BigInt, Char, DateTime, Int, VarChar};

/// A column by its name, and what it holds.
type Column = (&'static str, ColumnKind);

/// The columns that may be NULL: of orders that are not delivered.
const NULLABLE: [&str; 2] = ["o_carrier_id", "ol_delivery_d"];

/// The tables, with `foreign_keys` if they are asked for.
pub(super) fn tables(foreign_keys: bool) -> Vec<SqlTable> {
    let all = TABLES.iter().map(|table| table.define(foreign_keys));
    all.collect()
}

pub(super) struct TableDef {
    pub(super) name: &'static str,
    pub(super) columns: &'static [Column],
    key: &'static [&'static str],
    index: Option<(&'static str, &'static [&'static str])>,
    foreign: &'static [ForeignKey],
}

impl TableDef {
    fn define(&self, foreign_keys: bool) -> SqlTable {
        let column = |&(name, kind): &Column| SqlColumn { name, kind, not_null: !NULLABLE.contains(&name) };
        let index = self.index.map(|(name, columns)| SqlIndex::not_unique(name, columns.to_vec()));
        SqlTable {
            name: self.name.into(),
            columns: self.columns.iter().map(column).collect(),
            primary_key: self.key,
            indexes: index.into_iter().collect(),
            foreign_keys: if foreign_keys { self.foreign.to_vec() } else { Vec::new() },
            partitions: None,
        }
    }
}

const fn refers(
    columns: &'static [&'static str],
    parent: &'static str,
    parent_key: &'static [&'static str],
) -> ForeignKey {
    ForeignKey { columns, parent, parent_key }
}

const ITEM_KEY: &[&str] = &["i_id"];
const WAREHOUSE_KEY: &[&str] = &["w_id"];
const DISTRICT_KEY: &[&str] = &["d_w_id", "d_id"];
const CUSTOMER_KEY: &[&str] = &["c_w_id", "c_d_id", "c_id"];
const STOCK_KEY: &[&str] = &["s_w_id", "s_i_id"];
const ORDER_KEY: &[&str] = &["o_w_id", "o_d_id", "o_id"];
const NEW_ORDER_KEY: &[&str] = &["no_w_id", "no_d_id", "no_o_id"];

/// By their numbers in [`TABLES`].
pub(super) const ITEM: usize = 0;
pub(super) const WAREHOUSE: usize = 1;
pub(super) const DISTRICT: usize = 2;
pub(super) const CUSTOMER: usize = 3;
pub(super) const HISTORY: usize = 4;
pub(super) const STOCK: usize = 5;
pub(super) const ORDERS: usize = 6;
pub(super) const NEW_ORDER: usize = 7;
pub(super) const ORDER_LINE: usize = 8;

/// All of them, those that others refer to first.
pub(super) static TABLES: [TableDef; 9] = [
    TableDef {
        name: "item",
        columns: &[("i_id", Int), ("i_im_id", Int), ("i_name", VarChar(24)), ("i_price", Int), ("i_data", VarChar(50))],
        key: ITEM_KEY,
        index: None,
        foreign: &[],
    },
    TableDef {
        name: "warehouse",
        columns: &[
            ("w_id", Int),
            ("w_name", VarChar(10)),
            ("w_street_1", VarChar(20)),
            ("w_street_2", VarChar(20)),
            ("w_city", VarChar(20)),
            ("w_state", Char(2)),
            ("w_zip", Char(9)),
            ("w_tax", Int),
            ("w_ytd", BigInt),
        ],
        key: WAREHOUSE_KEY,
        index: None,
        foreign: &[],
    },
    TableDef {
        name: "district",
        columns: &[
            ("d_id", Int),
            ("d_w_id", Int),
            ("d_name", VarChar(10)),
            ("d_street_1", VarChar(20)),
            ("d_street_2", VarChar(20)),
            ("d_city", VarChar(20)),
            ("d_state", Char(2)),
            ("d_zip", Char(9)),
            ("d_tax", Int),
            ("d_ytd", BigInt),
            ("d_next_o_id", Int),
        ],
        key: DISTRICT_KEY,
        index: None,
        foreign: &[refers(&["d_w_id"], "warehouse", WAREHOUSE_KEY)],
    },
    TableDef {
        name: "customer",
        columns: &[
            ("c_id", Int),
            ("c_d_id", Int),
            ("c_w_id", Int),
            ("c_first", VarChar(16)),
            ("c_middle", Char(2)),
            ("c_last", VarChar(16)),
            ("c_street_1", VarChar(20)),
            ("c_street_2", VarChar(20)),
            ("c_city", VarChar(20)),
            ("c_state", Char(2)),
            ("c_zip", Char(9)),
            ("c_phone", Char(16)),
            ("c_since", DateTime),
            ("c_credit", Char(2)),
            ("c_credit_lim", BigInt),
            ("c_discount", Int),
            ("c_balance", BigInt),
            ("c_ytd_payment", BigInt),
            ("c_payment_cnt", Int),
            ("c_delivery_cnt", Int),
            ("c_data", VarChar(500)),
        ],
        key: CUSTOMER_KEY,
        index: Some(("name", &["c_w_id", "c_d_id", "c_last", "c_first"])),
        foreign: &[refers(&["c_w_id", "c_d_id"], "district", DISTRICT_KEY)],
    },
    TableDef {
        name: "history",
        columns: &[
            ("h_c_id", Int),
            ("h_c_d_id", Int),
            ("h_c_w_id", Int),
            ("h_d_id", Int),
            ("h_w_id", Int),
            ("h_date", DateTime),
            ("h_amount", BigInt),
            ("h_data", VarChar(24)),
        ],
        key: &[],
        index: None,
        foreign: &[
            refers(&["h_c_w_id", "h_c_d_id", "h_c_id"], "customer", CUSTOMER_KEY),
            refers(&["h_w_id", "h_d_id"], "district", DISTRICT_KEY),
        ],
    },
    TableDef {
        name: "stock",
        columns: &[
            ("s_i_id", Int),
            ("s_w_id", Int),
            ("s_quantity", Int),
            ("s_dist_01", Char(24)),
            ("s_dist_02", Char(24)),
            ("s_dist_03", Char(24)),
            ("s_dist_04", Char(24)),
            ("s_dist_05", Char(24)),
            ("s_dist_06", Char(24)),
            ("s_dist_07", Char(24)),
            ("s_dist_08", Char(24)),
            ("s_dist_09", Char(24)),
            ("s_dist_10", Char(24)),
            ("s_ytd", Int),
            ("s_order_cnt", Int),
            ("s_remote_cnt", Int),
            ("s_data", VarChar(50)),
        ],
        key: STOCK_KEY,
        index: None,
        foreign: &[refers(&["s_w_id"], "warehouse", WAREHOUSE_KEY), refers(&["s_i_id"], "item", ITEM_KEY)],
    },
    TableDef {
        name: "orders",
        columns: &[
            ("o_id", Int),
            ("o_d_id", Int),
            ("o_w_id", Int),
            ("o_c_id", Int),
            ("o_entry_d", DateTime),
            ("o_carrier_id", Int),
            ("o_ol_cnt", Int),
            ("o_all_local", Int),
        ],
        key: ORDER_KEY,
        index: Some(("customer", &["o_w_id", "o_d_id", "o_c_id", "o_id"])),
        foreign: &[refers(&["o_w_id", "o_d_id", "o_c_id"], "customer", CUSTOMER_KEY)],
    },
    TableDef {
        name: "new_order",
        columns: &[("no_o_id", Int), ("no_d_id", Int), ("no_w_id", Int)],
        key: NEW_ORDER_KEY,
        index: None,
        foreign: &[refers(NEW_ORDER_KEY, "orders", ORDER_KEY)],
    },
    TableDef {
        name: "order_line",
        columns: &[
            ("ol_o_id", Int),
            ("ol_d_id", Int),
            ("ol_w_id", Int),
            ("ol_number", Int),
            ("ol_i_id", Int),
            ("ol_supply_w_id", Int),
            ("ol_delivery_d", DateTime),
            ("ol_quantity", Int),
            ("ol_amount", BigInt),
            ("ol_dist_info", Char(24)),
        ],
        key: &["ol_w_id", "ol_d_id", "ol_o_id", "ol_number"],
        index: None,
        foreign: &[
            refers(&["ol_w_id", "ol_d_id", "ol_o_id"], "orders", ORDER_KEY),
            refers(&["ol_supply_w_id", "ol_i_id"], "stock", STOCK_KEY),
        ],
    },
];
