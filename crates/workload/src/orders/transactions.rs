//! The five transactions (clauses 2.4 to 2.8 of the specification), statement by statement.
//!
//! In: the data set, what a terminal's user enters. Out: operations whose calls use what others of them have read: the number of a
//! district's next order, the customer in the middle of those with a name, the oldest order that is not delivered. Limits: prices and texts
//! of stock never change, so an order line has them from the rows' own functions; the statements that read them are performed all the same.
//!
//! Why it is exact with many clients at any isolation level: what is read and then written is read with a lock (FOR UPDATE) or written
//! first. What is read after that is what the transaction itself has written.

use super::TransactionCalls;
use super::draws::push_last_name;
use super::inputs::{
    CustomerInput, DeliveryInput, KnownBy, NewOrderInput, OrderLine, PaymentInput, StockLevelInput, TerminalInput,
};
use super::rows::{DISTRICTS, OrderData};
use crate::program::{OpKindDef, push_text};
use model::{ExpectedRows, IfEmpty, KeptAnswer, KeptRow, OpClass, OpKind, SqlArg, SqlCall, SqlOp, TransactionEnd};

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

    /// What its operations are, made by `calls`. An order has ten lines on average.
    pub(super) fn op_kind_def(self, calls: TransactionCalls) -> OpKindDef {
        let (name, reads_only, statements) = match self {
            NewOrder => ("new_order", false, 45.0),
            Payment => ("payment", false, 7.0),
            OrderStatus => ("order_status", true, 3.0),
            Delivery => ("delivery", false, 70.0),
            StockLevel => ("stock_level", true, 2.0),
        };
        let class = OpClass::from_effects(true, !reads_only);
        match calls {
            TransactionCalls::Statements => OpKindDef::of_calls(name, class, statements, true),
            TransactionCalls::Procedures => OpKindDef::without_rows(name, class),
        }
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

/// The rows that each statement returns and changes. `others_change`: whether statements apart from the transactions change rows.
pub(super) fn expected_rows(others_change: bool) -> Vec<ExpectedRows> {
    let all = (0..STATEMENTS.len() as u16).map(rows_of_statement);
    all.map(|rows| if others_change { rows.or_fewer() } else { rows }).collect()
}

fn rows_of_statement(statement: u16) -> ExpectedRows {
    let some = ExpectedRows::returns(1, u64::MAX);
    match statement {
        // The item of a mistaken order is not there.
        ITEM => ExpectedRows::returns(0, 1),
        // A district whose orders are all delivered has none.
        OLDEST_NEW => ExpectedRows::returns(0, 1),
        CUSTOMERS_NAMED | BALANCES_NAMED | LINES => some,
        DELIVER_LINES => ExpectedRows::changes(1, u64::MAX),
        COUNT_ORDER | INSERT_ORDER | INSERT_NEW_ORDER | UPDATE_STOCK | INSERT_LINE | PAY_WAREHOUSE | PAY_DISTRICT
        | PAY_CUSTOMER | INSERT_HISTORY | DELETE_NEW | SET_CARRIER | CREDIT_CUSTOMER => ExpectedRows::CHANGES_ONE,
        CUSTOMER_TAX | NEXT_ORDER | WAREHOUSE | DISTRICT | CUSTOMER | BALANCE | LAST_ORDER | ORDER_CUSTOMER
        | SUM_LINES | NEXT_ORDER_READ | LOW_STOCK => ExpectedRows::RETURNS_ONE,
        // The text of stock for each district.
        STOCK_OF.. => ExpectedRows::RETURNS_ONE,
    }
}

/// The most of each that an operation has, so that its buffers never grow.
const CALLS_MAX: usize = 7 * DISTRICTS as usize;
const ARGS_MAX: usize = 320;
const TEXT_MAX: usize = 15 * 24 + 64;
/// What a delivery does with one order after it has found it.
const CALLS_PER_DELIVERY: u16 = 6;

/// The place of the value that an operation keeps, or of the first of several.
const FIRST_PLACE: u8 = 0;

/// Fills `op` with the transaction of `input`, statement by statement.
pub(super) fn fill_with_statements(op: &mut SqlOp, input: &TerminalInput, data: &OrderData) {
    begin_op(op, input.kind());
    op.transaction = true;
    match input {
        TerminalInput::NewOrder(order) => push_new_order(op, data, order),
        TerminalInput::Payment(payment) => push_payment(op, data, payment),
        TerminalInput::OrderStatus(status) => push_order_status(op, status),
        TerminalInput::Delivery(delivery) => push_delivery(op, *delivery),
        TerminalInput::StockLevel(level) => push_stock_level(op, *level),
    }
}

/// Empties `op` for a transaction of `kind`.
pub(super) fn begin_op(op: &mut SqlOp, kind: TransactionKind) {
    op.clear();
    op.calls.reserve(CALLS_MAX);
    op.args.reserve(ARGS_MAX);
    op.text.reserve(TEXT_MAX);
    op.keeps.reserve(3 * DISTRICTS as usize);
    op.op_kind = OpKind(kind as u8);
    op.writes = !matches!(kind, OrderStatus | StockLevel);
}

/// Keeps the first column of the call that is added next.
fn keep_next(op: &mut SqlOp, row: KeptRow, place: u8, if_empty: IfEmpty) {
    op.keeps.push(KeptAnswer { call: op.calls.len() as u16, row, columns: 1, place, if_empty });
}

/// Adds a call whose arguments are `args`.
pub(super) fn call_with(op: &mut SqlOp, statement: u16, args: &[SqlArg]) {
    op.calls.push(SqlCall { statement, args: args.len() as u16 });
    op.args.extend_from_slice(args);
}

/// A whole number as an argument.
pub(super) fn int(value: u64) -> SqlArg {
    SqlArg::Int(value as i64)
}

fn push_new_order(op: &mut SqlOp, data: &OrderData, order: &NewOrderInput) {
    let (lines, c) = (order.lines(), int(order.customer));
    let [w_arg, d_arg, o_arg] = [int(order.warehouse), int(order.district), SqlArg::Kept(FIRST_PLACE)];
    call_with(op, CUSTOMER_TAX, &[w_arg, w_arg, d_arg, c]);
    keep_next(op, KeptRow::First, FIRST_PLACE, IfEmpty::Fail);
    call_with(op, NEXT_ORDER, &[w_arg, d_arg]);
    call_with(op, COUNT_ORDER, &[w_arg, d_arg]);
    let (count, all_local) = (int(lines.len() as u64), int(order.is_local().into()));
    call_with(op, INSERT_ORDER, &[o_arg, d_arg, w_arg, c, count, all_local]);
    call_with(op, INSERT_NEW_ORDER, &[o_arg, d_arg, w_arg]);
    let entered = lines.len() - usize::from(order.is_mistaken);
    for (number, line) in (1..).zip(&lines[..entered]) {
        push_line(op, data, order, number, *line);
    }
    if order.is_mistaken {
        call_with(op, ITEM, &[int(data.no_item())]);
        op.ending = TransactionEnd::RollBack;
    }
}

fn push_line(op: &mut SqlOp, data: &OrderData, order: &NewOrderInput, number: u64, line: OrderLine) {
    let (w, d) = (order.warehouse, order.district);
    let OrderLine { supplier, item, quantity } = line;
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

fn push_payment(op: &mut SqlOp, data: &OrderData, payment: &PaymentInput) {
    let PaymentInput { warehouse: w, district: d, payer, amount } = *payment;
    let [w_arg, d_arg, amount_arg] = [w, d, amount].map(int);
    call_with(op, PAY_WAREHOUSE, &[amount_arg, w_arg]);
    call_with(op, WAREHOUSE, &[w_arg]);
    call_with(op, PAY_DISTRICT, &[amount_arg, w_arg, d_arg]);
    call_with(op, DISTRICT, &[w_arg, d_arg]);
    let customer = push_customer(op, payer, (CUSTOMERS_NAMED, CUSTOMER));
    op.calls.push(SqlCall { statement: PAY_CUSTOMER, args: 6 });
    op.args.extend([amount_arg, amount_arg]);
    push_text(op, |text| push_note(text, [d, w, amount]));
    let [cw, cd] = [payer.warehouse, payer.district].map(int);
    op.args.extend([cw, cd, customer]);
    op.calls.push(SqlCall { statement: INSERT_HISTORY, args: 7 });
    op.args.extend([customer, cd, cw, d_arg, w_arg, amount_arg]);
    push_text(op, |text| data.push_names(text, w, d));
}

/// What the record of a customer with bad credit gets: numbers with a blank behind each.
fn push_note(text: &mut Vec<u8>, numbers: [u64; 3]) {
    use std::io::Write;
    for number in numbers {
        write!(text, "{number} ").expect("writing to a vector does not fail");
    }
}

/// Adds the call that finds a customer by its last name or by its number. Returns its number as an argument of later calls.
fn push_customer(op: &mut SqlOp, wanted: CustomerInput, (by_name, by_number): (u16, u16)) -> SqlArg {
    let [w, d] = [wanted.warehouse, wanted.district].map(int);
    match wanted.known_by {
        KnownBy::Number(number) => {
            call_with(op, by_number, &[w, d, int(number)]);
            int(number)
        }
        KnownBy::LastName(name) => {
            keep_next(op, KeptRow::Middle, FIRST_PLACE, IfEmpty::Fail);
            op.calls.push(SqlCall { statement: by_name, args: 3 });
            op.args.extend([w, d]);
            push_text(op, |text| push_last_name(text, name));
            SqlArg::Kept(FIRST_PLACE)
        }
    }
}

fn push_order_status(op: &mut SqlOp, wanted: &CustomerInput) {
    let [w, d] = [wanted.warehouse, wanted.district].map(int);
    let customer = push_customer(op, *wanted, (BALANCES_NAMED, BALANCE));
    keep_next(op, KeptRow::First, FIRST_PLACE + 1, IfEmpty::Fail);
    call_with(op, LAST_ORDER, &[w, d, customer]);
    call_with(op, LINES, &[w, d, SqlArg::Kept(FIRST_PLACE + 1)]);
}

fn push_delivery(op: &mut SqlOp, delivery: DeliveryInput) {
    let [w, carrier] = [delivery.warehouse, delivery.carrier].map(int);
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

fn push_stock_level(op: &mut SqlOp, level: StockLevelInput) {
    let [w, d, threshold] = [level.warehouse, level.district, level.threshold].map(int);
    keep_next(op, KeptRow::First, FIRST_PLACE, IfEmpty::Fail);
    call_with(op, NEXT_ORDER_READ, &[w, d]);
    let next = SqlArg::Kept(FIRST_PLACE);
    call_with(op, LOW_STOCK, &[w, d, next, next, w, threshold]);
}
