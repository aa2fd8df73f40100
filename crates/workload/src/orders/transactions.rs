//! The five transactions (clauses 2.4 to 2.8 of the specification): their statements and their input.
//!
//! In: the data set, a generator, the warehouse of the terminal. Out: operations whose calls use what others of them have read: the number
//! of a district's next order, the customer in the middle of those with a name, the oldest order that is not delivered. Limits: prices
//! and texts of stock never change, so an order line has them from the rows' own functions; the statements that read them are performed
//! all the same. The items of an order are sorted, which the specification leaves open: two orders then lock stock in the same order.
//!
//! Why it is exact with many clients at any isolation level: what is read and then written is read with a lock (FOR UPDATE) or written
//! first. What is read after that is what the transaction itself has written.

use super::draws::{between, happens, push_last_name};
use super::rows::{DISTRICTS, OrderData};
use crate::program::{OpKindDef, call_with_ints, push_text};
use crate::random::Rng;
use model::{IfEmpty, KeptAnswer, KeptRow, OpClass, OpKind, SqlArg, SqlCall, SqlOp, TransactionEnd};

/// A kind of transaction; its number is that of its kind of operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TransactionKind {
    NewOrder,
    Payment,
    OrderStatus,
    Delivery,
    StockLevel,
}

use TransactionKind::{Delivery, NewOrder, OrderStatus, Payment, StockLevel};

impl TransactionKind {
    /// All of them.
    pub(super) const ALL: [TransactionKind; 5] = [NewOrder, Payment, OrderStatus, Delivery, StockLevel];

    /// How many of a hundred transactions are of this kind.
    pub(super) fn share_percent(self) -> usize {
        match self {
            NewOrder => 45,
            Payment => 43,
            OrderStatus | Delivery | StockLevel => 4,
        }
    }

    /// How long its user types before it, and thinks after it on average, in seconds (clause 5.2.5.7).
    pub(super) fn pauses_s(self) -> (f64, f64) {
        match self {
            NewOrder => (18.0, 12.0),
            Payment => (3.0, 12.0),
            OrderStatus => (2.0, 10.0),
            Delivery | StockLevel => (2.0, 5.0),
        }
    }

    /// What its operations are. An order has ten lines on average.
    pub(super) fn op_kind_def(self) -> OpKindDef {
        let (name, reads_only, statements) = match self {
            NewOrder => ("new_order", false, 45.0),
            Payment => ("payment", false, 7.0),
            OrderStatus => ("order_status", true, 3.0),
            Delivery => ("delivery", false, 70.0),
            StockLevel => ("stock_level", true, 2.0),
        };
        // BEGIN and COMMIT are statements, too.
        OpKindDef { name, class: OpClass::from_effects(true, !reads_only), queries: statements + 2.0, rows: 0.0 }
    }
}

// The numbers of the statements. The eleven after `STOCK_OF` read the text of stock for district 1, 2 and so on.
const CUSTOMER_TAX: u16 = 0;
const NEXT_ORDER: u16 = 1;
const COUNT_ORDER: u16 = 2;
const INSERT_ORDER: u16 = 3;
const INSERT_NEW_ORDER: u16 = 4;
const ITEM: u16 = 5;
const UPDATE_STOCK: u16 = 6;
const INSERT_LINE: u16 = 7;
const PAY_WAREHOUSE: u16 = 8;
const WAREHOUSE: u16 = 9;
const PAY_DISTRICT: u16 = 10;
const DISTRICT: u16 = 11;
const CUSTOMERS_NAMED: u16 = 12;
const CUSTOMER: u16 = 13;
const PAY_CUSTOMER: u16 = 14;
const INSERT_HISTORY: u16 = 15;
const BALANCES_NAMED: u16 = 16;
const BALANCE: u16 = 17;
const LAST_ORDER: u16 = 18;
const LINES: u16 = 19;
const OLDEST_NEW: u16 = 20;
const DELETE_NEW: u16 = 21;
const SET_CARRIER: u16 = 22;
const ORDER_CUSTOMER: u16 = 23;
const DELIVER_LINES: u16 = 24;
const SUM_LINES: u16 = 25;
const CREDIT_CUSTOMER: u16 = 26;
const NEXT_ORDER_READ: u16 = 27;
const LOW_STOCK: u16 = 28;
const STOCK_OF: u16 = 29;

macro_rules! stock_of {
    ($district:literal) => {
        concat!(
            "SELECT s_quantity, s_data, s_dist_",
            $district,
            " FROM stock WHERE s_w_id = ? AND s_i_id = ? FOR UPDATE"
        )
    };
}

/// The columns of a customer that a payment shows.
macro_rules! customer_columns {
    () => {
        "c_id, c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone, c_since, c_credit, \
         c_credit_lim, c_discount, c_balance FROM customer WHERE c_w_id = ? AND c_d_id = ?"
    };
}

/// All statements of the run, by their numbers.
pub(super) static STATEMENTS: [&str; 39] = [
    "SELECT c_discount, c_last, c_credit, w_tax FROM customer, warehouse WHERE w_id = ? AND c_w_id = ? AND c_d_id = ? \
     AND c_id = ?",
    "SELECT d_next_o_id, d_tax FROM district WHERE d_w_id = ? AND d_id = ? FOR UPDATE",
    "UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = ? AND d_id = ?",
    "INSERT INTO orders (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_carrier_id, o_ol_cnt, o_all_local) \
     VALUES (?, ?, ?, ?, CURRENT_TIMESTAMP, NULL, ?, ?)",
    "INSERT INTO new_order (no_o_id, no_d_id, no_w_id) VALUES (?, ?, ?)",
    "SELECT i_price, i_name, i_data FROM item WHERE i_id = ?",
    "UPDATE stock SET s_quantity = CASE WHEN s_quantity >= ? THEN s_quantity - ? ELSE s_quantity + ? END, \
     s_ytd = s_ytd + ?, s_order_cnt = s_order_cnt + 1, s_remote_cnt = s_remote_cnt + ? WHERE s_w_id = ? AND s_i_id = ?",
    "INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id, ol_delivery_d, ol_quantity, \
     ol_amount, ol_dist_info) VALUES (?, ?, ?, ?, ?, ?, NULL, ?, ?, ?)",
    "UPDATE warehouse SET w_ytd = w_ytd + ? WHERE w_id = ?",
    "SELECT w_name, w_street_1, w_street_2, w_city, w_state, w_zip FROM warehouse WHERE w_id = ?",
    "UPDATE district SET d_ytd = d_ytd + ? WHERE d_w_id = ? AND d_id = ?",
    "SELECT d_name, d_street_1, d_street_2, d_city, d_state, d_zip FROM district WHERE d_w_id = ? AND d_id = ?",
    concat!("SELECT ", customer_columns!(), " AND c_last = ? ORDER BY c_first"),
    concat!("SELECT ", customer_columns!(), " AND c_id = ?"),
    "UPDATE customer SET c_balance = c_balance - ?, c_ytd_payment = c_ytd_payment + ?, c_payment_cnt = c_payment_cnt + 1, \
     c_data = CASE WHEN c_credit = 'BC' THEN SUBSTR(CONCAT(c_id, ' ', c_d_id, ' ', c_w_id, ' ', SUBSTR(?, 1, 40), c_data), \
     1, 500) ELSE c_data END WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?",
    "INSERT INTO history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data) \
     VALUES (?, ?, ?, ?, ?, CURRENT_TIMESTAMP, ?, ?)",
    "SELECT c_id, c_balance, c_first, c_middle FROM customer WHERE c_w_id = ? AND c_d_id = ? AND c_last = ? ORDER BY c_first",
    "SELECT c_balance, c_first, c_middle, c_last FROM customer WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?",
    "SELECT o_id, o_entry_d, o_carrier_id FROM orders WHERE o_w_id = ? AND o_d_id = ? AND o_c_id = ? ORDER BY o_id DESC LIMIT 1",
    "SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d FROM order_line WHERE ol_w_id = ? AND ol_d_id = ? \
     AND ol_o_id = ?",
    "SELECT no_o_id FROM new_order WHERE no_w_id = ? AND no_d_id = ? ORDER BY no_o_id LIMIT 1 FOR UPDATE",
    "DELETE FROM new_order WHERE no_w_id = ? AND no_d_id = ? AND no_o_id = ?",
    "UPDATE orders SET o_carrier_id = ? WHERE o_w_id = ? AND o_d_id = ? AND o_id = ?",
    "SELECT o_c_id FROM orders WHERE o_w_id = ? AND o_d_id = ? AND o_id = ?",
    "UPDATE order_line SET ol_delivery_d = CURRENT_TIMESTAMP WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id = ?",
    "SELECT SUM(ol_amount) FROM order_line WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id = ?",
    "UPDATE customer SET c_balance = c_balance + ?, c_delivery_cnt = c_delivery_cnt + 1 WHERE c_w_id = ? AND c_d_id = ? \
     AND c_id = ?",
    "SELECT d_next_o_id FROM district WHERE d_w_id = ? AND d_id = ?",
    "SELECT COUNT(DISTINCT s_i_id) FROM order_line, stock WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id < ? \
     AND ol_o_id >= ? - 20 AND s_w_id = ? AND s_i_id = ol_i_id AND s_quantity < ?",
    stock_of!("01"),
    stock_of!("02"),
    stock_of!("03"),
    stock_of!("04"),
    stock_of!("05"),
    stock_of!("06"),
    stock_of!("07"),
    stock_of!("08"),
    stock_of!("09"),
    stock_of!("10"),
];

/// The most of each that an operation has, so that its buffers never grow.
const CALLS_MAX: usize = 7 * DISTRICTS as usize;
const ARGS_MAX: usize = 320;
const TEXT_MAX: usize = 15 * 24 + 64;
/// What a delivery does with one order after it has found it.
const CALLS_PER_DELIVERY: u16 = 6;

/// The place of the value that an operation keeps, or of the first of several.
const FIRST_PLACE: u8 = 0;

/// Where a transaction is entered.
#[derive(Clone, Copy)]
pub(super) struct Home {
    /// The warehouse.
    pub(super) warehouse: u64,
    /// The district of a terminal that always asks for the stock of the same one.
    pub(super) district: u64,
}

/// Fills `op` with a transaction of `kind` that is entered at `home`.
pub(super) fn fill_transaction(op: &mut SqlOp, kind: TransactionKind, data: &OrderData, home: Home, rng: &mut Rng) {
    op.clear();
    op.calls.reserve(CALLS_MAX);
    op.args.reserve(ARGS_MAX);
    op.text.reserve(TEXT_MAX);
    op.keeps.reserve(3 * DISTRICTS as usize);
    (op.op_kind, op.transaction) = (OpKind(kind as u8), true);
    op.writes = !matches!(kind, OrderStatus | StockLevel);
    match kind {
        NewOrder => push_new_order(op, data, home.warehouse, rng),
        Payment => push_payment(op, data, home.warehouse, rng),
        OrderStatus => push_order_status(op, data, home.warehouse, rng),
        Delivery => push_delivery(op, home.warehouse, rng),
        StockLevel => push_stock_level(op, home, rng),
    }
}

/// Keeps the first column of the call that is added next.
fn keep_next(op: &mut SqlOp, row: KeptRow, place: u8, if_empty: IfEmpty) {
    op.keeps.push(KeptAnswer { call: op.calls.len() as u16, row, columns: 1, place, if_empty });
}

/// Adds a call whose arguments are `args`.
fn call_with(op: &mut SqlOp, statement: u16, args: &[SqlArg]) {
    op.calls.push(SqlCall { statement, args: args.len() as u16 });
    op.args.extend_from_slice(args);
}

fn int(value: u64) -> SqlArg {
    SqlArg::Int(value as i64)
}

/// One line of a new order.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Line {
    supplier: u64,
    item: u64,
    quantity: u64,
}

fn push_new_order(op: &mut SqlOp, data: &OrderData, w: u64, rng: &mut Rng) {
    let (d, c) = (between(rng, 1, DISTRICTS), data.laws.customer.draw(rng));
    let mut lines = [Line::default(); 15];
    let lines = &mut lines[..between(rng, 5, 15) as usize];
    for line in lines.iter_mut() {
        let is_remote = data.warehouses > 1 && happens(rng, 1);
        let supplier = if is_remote { other_warehouse(data, w, rng) } else { w };
        *line = Line { supplier, item: data.laws.item.draw(rng), quantity: between(rng, 1, 10) };
    }
    lines.sort_unstable();
    // A number that no item has, in the last line: the user sees the mistake when all lines before are entered.
    let is_mistaken = happens(rng, 1);
    let all_local = lines.iter().all(|line| line.supplier == w);
    let [w_arg, d_arg, o_arg] = [int(w), int(d), SqlArg::Kept(FIRST_PLACE)];
    call_with(op, CUSTOMER_TAX, &[w_arg, w_arg, d_arg, int(c)]);
    keep_next(op, KeptRow::First, FIRST_PLACE, IfEmpty::Fail);
    call_with(op, NEXT_ORDER, &[w_arg, d_arg]);
    call_with(op, COUNT_ORDER, &[w_arg, d_arg]);
    call_with(op, INSERT_ORDER, &[o_arg, d_arg, w_arg, int(c), int(lines.len() as u64), int(all_local.into())]);
    call_with(op, INSERT_NEW_ORDER, &[o_arg, d_arg, w_arg]);
    let entered = lines.len() - usize::from(is_mistaken);
    for (number, line) in (1..).zip(&lines[..entered]) {
        push_line(op, data, (w, d), number, *line);
    }
    if is_mistaken {
        call_with(op, ITEM, &[int(data.items + 1)]);
        op.ending = TransactionEnd::RollBack;
    }
}

fn push_line(op: &mut SqlOp, data: &OrderData, (w, d): (u64, u64), number: u64, line: Line) {
    let Line { supplier, item, quantity } = line;
    let amount = quantity * data.price(item);
    let [supplier_arg, item_arg, quantity_arg] = [supplier, item, quantity].map(int);
    call_with(op, ITEM, &[item_arg]);
    call_with(op, STOCK_OF + d as u16 - 1, &[supplier_arg, item_arg]);
    let is_remote = int((supplier != w).into());
    let (enough, refill) = (int(quantity + 10), int(91 - quantity));
    call_with(op, UPDATE_STOCK, &[enough, quantity_arg, refill, quantity_arg, is_remote, supplier_arg, item_arg]);
    op.calls.push(SqlCall { statement: INSERT_LINE, args: 9 });
    let key = [SqlArg::Kept(FIRST_PLACE), int(d), int(w), int(number)];
    op.args.extend(key);
    op.args.extend([item_arg, supplier_arg, quantity_arg, int(amount)]);
    push_text(op, |text| data.push_stock_info(text, supplier, d, item));
}

/// A warehouse that is not `w`; there must be another.
fn other_warehouse(data: &OrderData, w: u64, rng: &mut Rng) -> u64 {
    let other = between(rng, 1, data.warehouses - 1);
    other + u64::from(other >= w)
}

fn push_payment(op: &mut SqlOp, data: &OrderData, w: u64, rng: &mut Rng) {
    let (d, amount) = (between(rng, 1, DISTRICTS), between(rng, 100, 500_000));
    // Customers of other warehouses pay here, too.
    let is_remote = data.warehouses > 1 && happens(rng, 15);
    let (cw, cd) = if is_remote { (other_warehouse(data, w, rng), between(rng, 1, DISTRICTS)) } else { (w, d) };
    let [w_arg, d_arg, amount_arg] = [w, d, amount].map(int);
    call_with(op, PAY_WAREHOUSE, &[amount_arg, w_arg]);
    call_with(op, WAREHOUSE, &[w_arg]);
    call_with(op, PAY_DISTRICT, &[amount_arg, w_arg, d_arg]);
    call_with(op, DISTRICT, &[w_arg, d_arg]);
    let customer = push_customer(op, data, (cw, cd), (CUSTOMERS_NAMED, CUSTOMER), rng);
    op.calls.push(SqlCall { statement: PAY_CUSTOMER, args: 6 });
    op.args.extend([amount_arg, amount_arg]);
    push_text(op, |text| push_note(text, [d, w, amount]));
    op.args.extend([int(cw), int(cd), customer]);
    op.calls.push(SqlCall { statement: INSERT_HISTORY, args: 7 });
    op.args.extend([customer, int(cd), int(cw), d_arg, w_arg, amount_arg]);
    push_text(op, |text| data.push_names(text, w, d));
}

/// What the record of a customer with bad credit gets: numbers with a blank behind each.
fn push_note(text: &mut Vec<u8>, numbers: [u64; 3]) {
    use std::io::Write;
    for number in numbers {
        write!(text, "{number} ").expect("writing to a vector does not fail");
    }
}

/// Adds the call that finds a customer of a district: by its last name in 60 of 100 cases, by its number in the others. Returns its number
/// as an argument of later calls.
fn push_customer(
    op: &mut SqlOp,
    data: &OrderData,
    (w, d): (u64, u64),
    (by_name, by_number): (u16, u16),
    rng: &mut Rng,
) -> SqlArg {
    if !happens(rng, 60) {
        let customer = int(data.laws.customer.draw(rng));
        call_with(op, by_number, &[int(w), int(d), customer]);
        return customer;
    }
    let name = data.laws.last.draw(rng);
    keep_next(op, KeptRow::Middle, FIRST_PLACE, IfEmpty::Fail);
    op.calls.push(SqlCall { statement: by_name, args: 3 });
    op.args.extend([int(w), int(d)]);
    push_text(op, |text| push_last_name(text, name));
    SqlArg::Kept(FIRST_PLACE)
}

fn push_order_status(op: &mut SqlOp, data: &OrderData, w: u64, rng: &mut Rng) {
    let d = between(rng, 1, DISTRICTS);
    let customer = push_customer(op, data, (w, d), (BALANCES_NAMED, BALANCE), rng);
    keep_next(op, KeptRow::First, FIRST_PLACE + 1, IfEmpty::Fail);
    call_with(op, LAST_ORDER, &[int(w), int(d), customer]);
    call_with(op, LINES, &[int(w), int(d), SqlArg::Kept(FIRST_PLACE + 1)]);
}

fn push_delivery(op: &mut SqlOp, w: u64, rng: &mut Rng) {
    let (w, carrier) = (int(w), int(between(rng, 1, 10)));
    let [order, customer, amount] = [0, 1, 2].map(|nth| SqlArg::Kept(FIRST_PLACE + nth));
    for d in 1..=DISTRICTS {
        let d = int(d);
        let key = [w, d, order];
        keep_next(op, KeptRow::First, FIRST_PLACE, IfEmpty::Skip(CALLS_PER_DELIVERY));
        call_with(op, OLDEST_NEW, &[w, d]);
        call_with(op, DELETE_NEW, &key);
        call_with(op, SET_CARRIER, &[carrier, w, d, order]);
        keep_next(op, KeptRow::First, FIRST_PLACE + 1, IfEmpty::Fail);
        call_with(op, ORDER_CUSTOMER, &key);
        call_with(op, DELIVER_LINES, &key);
        keep_next(op, KeptRow::First, FIRST_PLACE + 2, IfEmpty::Fail);
        call_with(op, SUM_LINES, &key);
        call_with(op, CREDIT_CUSTOMER, &[amount, w, d, customer]);
    }
}

fn push_stock_level(op: &mut SqlOp, home: Home, rng: &mut Rng) {
    let (w, d) = (home.warehouse, home.district);
    let threshold = between(rng, 10, 20);
    keep_next(op, KeptRow::First, FIRST_PLACE, IfEmpty::Fail);
    call_with_ints(op, NEXT_ORDER_READ, &[w as i64, d as i64]);
    let next = SqlArg::Kept(FIRST_PLACE);
    call_with(op, LOW_STOCK, &[int(w), int(d), next, next, int(w), int(threshold)]);
}
