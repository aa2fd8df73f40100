//! The five transactions as stored procedures: one call, and so one round trip, for each.
//!
//! In: what a terminal's user enters. Out: procedures that read and write the same rows as [`super::transactions`], by statements as similar as
//! a procedure allows, and operations that call them. Limits: what a procedure reads stays at the server. Of several customers with a
//! name it counts all and reads those up to the one in the middle, as the specification's own example does (appendix A). The lines of an
//! order are one text, because no two servers have the same type for a list.

use super::draws::push_last_name;
use super::inputs::{CustomerInput, KnownBy, LINES_MAX, NewOrderInput, PaymentInput, TerminalInput};
use super::rows::OrderData;
use super::transactions::{TransactionKind, begin_op, call_with, int};
use crate::procedure::ProcedureStep::{Fail, If, Perform, RollBack, While};
use crate::procedure::{ProcedureStep, ProcedureVariable, SqlProcedure};
use crate::program::push_text;
use model::ColumnKind::{self, BigInt, Int, VarChar};
use model::{SqlArg, SqlCall, SqlOp};
use std::io::Write;

/// What the text of an order has of each line: the digits of its item, its supplier and its quantity.
const ITEM_DIGITS: usize = 7;
const SUPPLIER_DIGITS: usize = 7;
const QUANTITY_DIGITS: usize = 2;
const LINE_CHARS: usize = ITEM_DIGITS + SUPPLIER_DIGITS + QUANTITY_DIGITS;

/// All procedures, by the numbers of their kinds.
pub(super) fn procedures() -> Vec<SqlProcedure> {
    let all = TransactionKind::ALL.iter().map(|kind| match kind {
        TransactionKind::NewOrder => new_order(),
        TransactionKind::Payment => payment(),
        TransactionKind::OrderStatus => order_status(),
        TransactionKind::Delivery => delivery(),
        TransactionKind::StockLevel => stock_level(),
    });
    all.collect()
}

/// Fills `op` with the one call that performs the transaction of `input`.
pub(super) fn fill_with_call(op: &mut SqlOp, input: &TerminalInput, data: &OrderData) {
    begin_op(op, input.kind());
    let procedure = input.kind() as u16;
    match input {
        TerminalInput::NewOrder(order) => call_new_order(op, procedure, data, order),
        TerminalInput::Payment(payment) => call_payment(op, procedure, payment),
        TerminalInput::OrderStatus(wanted) => call_order_status(op, procedure, *wanted),
        TerminalInput::Delivery(delivery) => {
            call_with(op, procedure, &[delivery.warehouse, delivery.carrier].map(int));
        }
        TerminalInput::StockLevel(level) => {
            call_with(op, procedure, &[level.warehouse, level.district, level.threshold].map(int));
        }
    }
}

fn call_new_order(op: &mut SqlOp, procedure: u16, data: &OrderData, order: &NewOrderInput) {
    let NewOrderInput { warehouse, district, customer, is_mistaken, .. } = *order;
    op.calls.push(SqlCall { statement: procedure, args: 6 });
    op.args.extend([warehouse, district, customer].map(int));
    let lines = order.lines();
    op.args.extend([lines.len() as u64, order.is_local().into()].map(int));
    push_text(op, |text| {
        for (nth, line) in (1..).zip(lines) {
            let item = if is_mistaken && nth == lines.len() { data.no_item() } else { line.item };
            let (supplier, quantity) = (line.supplier, line.quantity);
            write!(text, "{item:0ITEM_DIGITS$}{supplier:0SUPPLIER_DIGITS$}{quantity:0QUANTITY_DIGITS$}")
                .expect("writing to a vector does not fail");
        }
    });
}

fn call_payment(op: &mut SqlOp, procedure: u16, payment: &PaymentInput) {
    op.calls.push(SqlCall { statement: procedure, args: 7 });
    op.args.extend([payment.warehouse, payment.district].map(int));
    push_customer(op, payment.payer);
    op.args.push(int(payment.amount));
}

fn call_order_status(op: &mut SqlOp, procedure: u16, wanted: CustomerInput) {
    op.calls.push(SqlCall { statement: procedure, args: 4 });
    push_customer(op, wanted);
}

/// Adds a customer's warehouse, its district, and its number and last name, of which one is empty.
fn push_customer(op: &mut SqlOp, wanted: CustomerInput) {
    op.args.extend([wanted.warehouse, wanted.district].map(int));
    match wanted.known_by {
        KnownBy::Number(number) => {
            op.args.push(int(number));
            push_text(op, |_| ());
        }
        KnownBy::LastName(name) => {
            op.args.push(SqlArg::Int(0));
            push_text(op, |text| push_last_name(text, name));
        }
    }
}

fn variables(all: &[(&'static str, ColumnKind)]) -> Vec<ProcedureVariable> {
    all.iter().map(|&(name, kind)| ProcedureVariable { name, kind }).collect()
}

/// A text that several columns are read into.
const COLUMNS: ColumnKind = VarChar(1_000);

fn new_order() -> SqlProcedure {
    let lines = VarChar((LINES_MAX * LINE_CHARS) as u16);
    let given = [("p_w", Int), ("p_d", Int), ("p_c", Int), ("p_count", Int), ("p_all_local", Int), ("p_lines", lines)];
    let numbers =
        ["v_next", "v_nth", "v_item", "v_supplier", "v_quantity", "v_price", "v_stock"].map(|name| (name, Int));
    let texts = [("v_info", VarChar(24)), ("v_shown", COLUMNS)];
    SqlProcedure {
        name: "new_order",
        parameters: variables(&given),
        variables: variables(&[&numbers[..], &texts].concat()),
        steps: vec![
            Perform(
                "SELECT CONCAT(c_discount, c_last, c_credit, w_tax) INTO v_shown FROM customer, warehouse \
                 WHERE w_id = p_w AND c_w_id = p_w AND c_d_id = p_d AND c_id = p_c",
            ),
            Perform(
                "SELECT d_next_o_id, CONCAT(d_tax, '') INTO v_next, v_shown FROM district WHERE d_w_id = p_w AND d_id = p_d \
                 FOR UPDATE",
            ),
            If("v_next IS NULL", vec![Fail("the district of a new order was not found")]),
            Perform("UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = p_w AND d_id = p_d"),
            Perform(
                "INSERT INTO orders (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_carrier_id, o_ol_cnt, o_all_local) \
                 VALUES (v_next, p_d, p_w, p_c, CURRENT_TIMESTAMP, NULL, p_count, p_all_local)",
            ),
            Perform("INSERT INTO new_order (no_o_id, no_d_id, no_w_id) VALUES (v_next, p_d, p_w)"),
            Perform("SELECT 0 INTO v_nth"),
            While("v_nth < p_count", line_steps()),
        ],
    }
}

/// The steps for one line of an order. Line number `v_nth`, from 1, begins behind those before it.
fn line_steps() -> Vec<ProcedureStep> {
    vec![
        Perform(
            "SELECT CAST(SUBSTR(p_lines, 16 * v_nth + 1, 7) AS DECIMAL(7)), CAST(SUBSTR(p_lines, 16 * v_nth + 8, 7) AS DECIMAL(7)), \
             CAST(SUBSTR(p_lines, 16 * v_nth + 15, 2) AS DECIMAL(2)), v_nth + 1, NULL, NULL \
             INTO v_item, v_supplier, v_quantity, v_nth, v_price, v_stock",
        ),
        Perform("SELECT i_price, CONCAT(i_name, i_data) INTO v_price, v_shown FROM item WHERE i_id = v_item"),
        If("v_price IS NULL", vec![RollBack]),
        Perform(
            "SELECT s_quantity, s_data, CASE p_d WHEN 1 THEN s_dist_01 WHEN 2 THEN s_dist_02 WHEN 3 THEN s_dist_03 \
             WHEN 4 THEN s_dist_04 WHEN 5 THEN s_dist_05 WHEN 6 THEN s_dist_06 WHEN 7 THEN s_dist_07 WHEN 8 THEN s_dist_08 \
             WHEN 9 THEN s_dist_09 ELSE s_dist_10 END INTO v_stock, v_shown, v_info FROM stock \
             WHERE s_w_id = v_supplier AND s_i_id = v_item FOR UPDATE",
        ),
        If("v_stock IS NULL", vec![Fail("the stock of an item was not found")]),
        Perform(
            "UPDATE stock SET s_quantity = CASE WHEN s_quantity >= v_quantity + 10 THEN s_quantity - v_quantity \
             ELSE s_quantity + 91 - v_quantity END, s_ytd = s_ytd + v_quantity, s_order_cnt = s_order_cnt + 1, \
             s_remote_cnt = s_remote_cnt + CASE WHEN v_supplier <> p_w THEN 1 ELSE 0 END \
             WHERE s_w_id = v_supplier AND s_i_id = v_item",
        ),
        Perform(
            "INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id, ol_delivery_d, ol_quantity, \
             ol_amount, ol_dist_info) VALUES (v_next, p_d, p_w, v_nth, v_item, v_supplier, NULL, v_quantity, \
             v_quantity * v_price, v_info)",
        ),
    ]
}

/// The parameters of a customer: its number is 0 if it is known by its last name.
const CUSTOMER: [(&str, ColumnKind); 4] = [("p_c_w", Int), ("p_c_d", Int), ("p_c", Int), ("p_last", VarChar(16))];
/// The variables of [`customer_steps`].
const FOUND: [(&str, ColumnKind); 4] = [("v_c", Int), ("v_count", Int), ("v_skipped", Int), ("v_shown", COLUMNS)];

/// The steps that put the number of a customer into `v_c`, with the statements that read it by its name or by its number.
fn customer_steps(by_name: &'static str, by_number: &'static str) -> Vec<ProcedureStep> {
    vec![
        If(
            "p_c = 0",
            vec![
                Perform(
                    "SELECT COUNT(*) INTO v_count FROM customer WHERE c_w_id = p_c_w AND c_d_id = p_c_d AND c_last = p_last",
                ),
                If("v_count = 0", vec![Fail("no customer of the district has the last name")]),
                // The one in the middle, and of an even number the first of the two there.
                Perform("SELECT FLOOR((v_count - 1) / 2) INTO v_skipped"),
                Perform(by_name),
            ],
        ),
        If("p_c <> 0", vec![Perform(by_number)]),
        If("v_c IS NULL", vec![Fail("the customer was not found")]),
    ]
}

macro_rules! payer_columns {
    ($where:literal) => {
        concat!(
            "SELECT c_id, CONCAT(c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone, c_since, \
             c_credit, c_credit_lim, c_discount, c_balance) INTO v_c, v_shown FROM customer \
             WHERE c_w_id = p_c_w AND c_d_id = p_c_d AND ",
            $where
        )
    };
}

fn payment() -> SqlProcedure {
    let given = [&[("p_w", Int), ("p_d", Int)][..], &CUSTOMER, &[("p_amount", BigInt)]].concat();
    let names = [("v_w_name", VarChar(10)), ("v_d_name", VarChar(10))];
    let by_name = payer_columns!("c_last = p_last ORDER BY c_first LIMIT 1 OFFSET v_skipped");
    let places = [
        Perform("UPDATE warehouse SET w_ytd = w_ytd + p_amount WHERE w_id = p_w"),
        Perform(
            "SELECT w_name, CONCAT(w_street_1, w_street_2, w_city, w_state, w_zip) INTO v_w_name, v_shown FROM warehouse \
             WHERE w_id = p_w",
        ),
        Perform("UPDATE district SET d_ytd = d_ytd + p_amount WHERE d_w_id = p_w AND d_id = p_d"),
        Perform(
            "SELECT d_name, CONCAT(d_street_1, d_street_2, d_city, d_state, d_zip) INTO v_d_name, v_shown FROM district \
             WHERE d_w_id = p_w AND d_id = p_d",
        ),
    ];
    let paid = [
        Perform(
            "UPDATE customer SET c_balance = c_balance - p_amount, c_ytd_payment = c_ytd_payment + p_amount, \
             c_payment_cnt = c_payment_cnt + 1, c_data = CASE WHEN c_credit = 'BC' THEN SUBSTR(CONCAT(c_id, ' ', c_d_id, ' ', \
             c_w_id, ' ', p_d, ' ', p_w, ' ', p_amount, ' ', c_data), 1, 500) ELSE c_data END \
             WHERE c_w_id = p_c_w AND c_d_id = p_c_d AND c_id = v_c",
        ),
        Perform(
            "INSERT INTO history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data) \
             VALUES (v_c, p_c_d, p_c_w, p_d, p_w, CURRENT_TIMESTAMP, p_amount, CONCAT(v_w_name, '    ', v_d_name))",
        ),
    ];
    SqlProcedure {
        name: "payment",
        parameters: variables(&given),
        variables: variables(&[&FOUND[..], &names].concat()),
        steps: places.into_iter().chain(customer_steps(by_name, payer_columns!("c_id = p_c"))).chain(paid).collect(),
    }
}

macro_rules! balance_columns {
    ($where:literal) => {
        concat!(
            "SELECT c_id, CONCAT(c_balance, c_first, c_middle, c_last) INTO v_c, v_shown FROM customer \
             WHERE c_w_id = p_c_w AND c_d_id = p_c_d AND ",
            $where
        )
    };
}

fn order_status() -> SqlProcedure {
    let by_name = balance_columns!("c_last = p_last ORDER BY c_first LIMIT 1 OFFSET v_skipped");
    let order = [
        Perform(
            "SELECT o_id, CONCAT(o_entry_d, COALESCE(o_carrier_id, 0)) INTO v_order, v_shown FROM orders \
             WHERE o_w_id = p_c_w AND o_d_id = p_c_d AND o_c_id = v_c ORDER BY o_id DESC LIMIT 1",
        ),
        If("v_order IS NULL", vec![Fail("the customer has no order")]),
        // Every line is read, but a variable has room for one row only.
        Perform(
            "SELECT CONCAT(MAX(ol_i_id), MAX(ol_supply_w_id), SUM(ol_quantity), SUM(ol_amount), \
             COALESCE(MAX(ol_delivery_d), CURRENT_TIMESTAMP)) INTO v_shown FROM order_line \
             WHERE ol_w_id = p_c_w AND ol_d_id = p_c_d AND ol_o_id = v_order",
        ),
    ];
    SqlProcedure {
        name: "order_status",
        parameters: variables(&CUSTOMER),
        variables: variables(&[&FOUND[..], &[("v_order", Int)]].concat()),
        steps: customer_steps(by_name, balance_columns!("c_id = p_c")).into_iter().chain(order).collect(),
    }
}

const OLDEST_NEW: &str = "SELECT no_o_id INTO v_order FROM new_order WHERE no_w_id = p_w AND no_d_id = v_d \
                          ORDER BY no_o_id LIMIT 1 FOR UPDATE";

fn delivery() -> SqlProcedure {
    SqlProcedure {
        name: "delivery",
        parameters: variables(&[("p_w", Int), ("p_carrier", Int)]),
        variables: variables(&[("v_d", Int), ("v_order", Int), ("v_c", Int), ("v_amount", BigInt)]),
        steps: vec![
            Perform("SELECT 1 INTO v_d"),
            While(
                "v_d <= 10",
                vec![
                    Perform("SELECT NULL, NULL, NULL INTO v_order, v_c, v_amount"),
                    Perform(OLDEST_NEW),
                    // Another transaction may just have taken the row.
                    If("v_order IS NULL", vec![Perform(OLDEST_NEW)]),
                    If("v_order IS NOT NULL", delivery_steps()),
                    Perform("SELECT v_d + 1 INTO v_d"),
                ],
            ),
        ],
    }
}

/// The steps that deliver order `v_order` of district `v_d`.
fn delivery_steps() -> Vec<ProcedureStep> {
    vec![
        Perform("DELETE FROM new_order WHERE no_w_id = p_w AND no_d_id = v_d AND no_o_id = v_order"),
        Perform("UPDATE orders SET o_carrier_id = p_carrier WHERE o_w_id = p_w AND o_d_id = v_d AND o_id = v_order"),
        Perform("SELECT o_c_id INTO v_c FROM orders WHERE o_w_id = p_w AND o_d_id = v_d AND o_id = v_order"),
        Perform(
            "UPDATE order_line SET ol_delivery_d = CURRENT_TIMESTAMP WHERE ol_w_id = p_w AND ol_d_id = v_d AND ol_o_id = v_order",
        ),
        Perform(
            "SELECT SUM(ol_amount) INTO v_amount FROM order_line WHERE ol_w_id = p_w AND ol_d_id = v_d AND ol_o_id = v_order",
        ),
        If("v_c IS NULL OR v_amount IS NULL", vec![Fail("an order that is to be delivered was not found")]),
        Perform(
            "UPDATE customer SET c_balance = c_balance + v_amount, c_delivery_cnt = c_delivery_cnt + 1 \
             WHERE c_w_id = p_w AND c_d_id = v_d AND c_id = v_c",
        ),
    ]
}

fn stock_level() -> SqlProcedure {
    SqlProcedure {
        name: "stock_level",
        parameters: variables(&[("p_w", Int), ("p_d", Int), ("p_threshold", Int)]),
        variables: variables(&[("v_next", Int), ("v_low", BigInt)]),
        steps: vec![
            Perform("SELECT d_next_o_id INTO v_next FROM district WHERE d_w_id = p_w AND d_id = p_d"),
            If("v_next IS NULL", vec![Fail("the district was not found")]),
            Perform(
                "SELECT COUNT(DISTINCT s_i_id) INTO v_low FROM order_line, stock WHERE ol_w_id = p_w AND ol_d_id = p_d \
                 AND ol_o_id < v_next AND ol_o_id >= v_next - 20 AND s_w_id = p_w AND s_i_id = ol_i_id \
                 AND s_quantity < p_threshold",
            ),
        ],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_steps_read_a_line_where_the_call_writes_it() {
        let [Perform(read), ..] = &line_steps()[..] else { panic!("the first step reads the line") };
        let supplier_at = ITEM_DIGITS + 1;
        for part in [
            format!("SUBSTR(p_lines, {LINE_CHARS} * v_nth + 1, {ITEM_DIGITS}) AS DECIMAL({ITEM_DIGITS})"),
            format!(
                "SUBSTR(p_lines, {LINE_CHARS} * v_nth + {supplier_at}, {SUPPLIER_DIGITS}) AS DECIMAL({SUPPLIER_DIGITS})"
            ),
            format!(
                "SUBSTR(p_lines, {LINE_CHARS} * v_nth + {}, {QUANTITY_DIGITS}) AS DECIMAL({QUANTITY_DIGITS})",
                supplier_at + SUPPLIER_DIGITS
            ),
        ] {
            assert!(read.contains(&part), "{part} is not in {read}");
        }
    }
}
