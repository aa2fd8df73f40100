//! The twelve consistency conditions (clause 3.3.2 of the specification).
//!
//! In: how many orders of a district are delivered at the beginning. Out: for each a query for the first row that breaks it. Limits: they
//! hold when no transaction is open. The eleventh is written for the data as it is loaded; deliveries since then, which their customers
//! count, are added. The queries are those that SQLite, MariaDB, MySQL and PostgreSQL all understand.

use super::rows::OrderData;
use crate::program::SqlCondition;

/// The conditions on `data`.
pub(super) fn conditions(data: &OrderData) -> Vec<SqlCondition> {
    let mut all = fixed_conditions();
    all.insert(10, eleventh(data.delivered()));
    all
}

fn new(number: u8, rule: &'static str, columns: &'static [&'static str], query: &str) -> SqlCondition {
    SqlCondition { number, rule, columns, query: query.to_owned() }
}

const DISTRICT_OF: &str = "GROUP BY o_w_id, o_d_id";

/// Payments of a customer, and the lines of its orders that are delivered.
const BALANCES: &str = "FROM customer \
     LEFT JOIN (SELECT o_w_id, o_d_id, o_c_id, SUM(ol_amount) AS due FROM orders JOIN order_line ON ol_w_id = o_w_id \
     AND ol_d_id = o_d_id AND ol_o_id = o_id WHERE ol_delivery_d IS NOT NULL GROUP BY o_w_id, o_d_id, o_c_id) AS lines_due \
     ON o_w_id = c_w_id AND o_d_id = c_d_id AND o_c_id = c_id";

#[expect(clippy::too_many_lines, reason = "a table of queries")]
fn fixed_conditions() -> Vec<SqlCondition> {
    vec![
        new(
            1,
            "w_ytd is the sum of d_ytd",
            &["w_id", "w_ytd", "sum of d_ytd"],
            "SELECT w_id, w_ytd, total FROM warehouse LEFT JOIN (SELECT d_w_id, SUM(d_ytd) AS total FROM district \
             GROUP BY d_w_id) AS d ON d_w_id = w_id WHERE total IS NULL OR total <> w_ytd ORDER BY w_id LIMIT 1",
        ),
        new(
            2,
            "d_next_o_id is one more than the last order and the last new order",
            &["d_w_id", "d_id", "d_next_o_id", "last o_id", "last no_o_id"],
            "SELECT d_w_id, d_id, d_next_o_id, o_last, no_last FROM district \
             LEFT JOIN (SELECT o_w_id, o_d_id, MAX(o_id) AS o_last FROM orders GROUP BY o_w_id, o_d_id) AS o \
             ON o_w_id = d_w_id AND o_d_id = d_id \
             LEFT JOIN (SELECT no_w_id, no_d_id, MAX(no_o_id) AS no_last FROM new_order GROUP BY no_w_id, no_d_id) AS n \
             ON no_w_id = d_w_id AND no_d_id = d_id \
             WHERE o_last IS NULL OR o_last <> d_next_o_id - 1 OR no_last <> o_last ORDER BY d_w_id, d_id LIMIT 1",
        ),
        new(
            3,
            "the new orders of a district have no gap",
            &["no_w_id", "no_d_id", "first no_o_id", "last no_o_id", "rows"],
            "SELECT no_w_id, no_d_id, MIN(no_o_id), MAX(no_o_id), COUNT(*) FROM new_order GROUP BY no_w_id, no_d_id \
             HAVING MAX(no_o_id) - MIN(no_o_id) + 1 <> COUNT(*) ORDER BY no_w_id, no_d_id LIMIT 1",
        ),
        new(
            4,
            "a district has as many order lines as its orders say",
            &["o_w_id", "o_d_id", "sum of o_ol_cnt", "rows of order_line"],
            &format!(
                "SELECT o_w_id, o_d_id, due, found FROM (SELECT o_w_id, o_d_id, SUM(o_ol_cnt) AS due FROM orders \
                 {DISTRICT_OF}) AS o LEFT JOIN (SELECT ol_w_id, ol_d_id, COUNT(*) AS found FROM order_line \
                 GROUP BY ol_w_id, ol_d_id) AS l ON ol_w_id = o_w_id AND ol_d_id = o_d_id \
                 WHERE found IS NULL OR found <> due ORDER BY o_w_id, o_d_id LIMIT 1"
            ),
        ),
        new(
            5,
            "an order has no carrier as long as it is a new order",
            &["o_w_id", "o_d_id", "o_id", "o_carrier_id", "no_o_id"],
            "SELECT o_w_id, o_d_id, o_id, o_carrier_id, no_o_id FROM orders LEFT JOIN new_order ON no_w_id = o_w_id \
             AND no_d_id = o_d_id AND no_o_id = o_id WHERE (o_carrier_id IS NULL AND no_o_id IS NULL) \
             OR (o_carrier_id IS NOT NULL AND no_o_id IS NOT NULL) ORDER BY o_w_id, o_d_id, o_id LIMIT 1",
        ),
        new(
            6,
            "an order has as many lines as it says",
            &["o_w_id", "o_d_id", "o_id", "o_ol_cnt", "rows of order_line"],
            "SELECT o_w_id, o_d_id, o_id, o_ol_cnt, found FROM orders LEFT JOIN (SELECT ol_w_id, ol_d_id, ol_o_id, \
             COUNT(*) AS found FROM order_line GROUP BY ol_w_id, ol_d_id, ol_o_id) AS l ON ol_w_id = o_w_id \
             AND ol_d_id = o_d_id AND ol_o_id = o_id WHERE found IS NULL OR found <> o_ol_cnt \
             ORDER BY o_w_id, o_d_id, o_id LIMIT 1",
        ),
        new(
            7,
            "an order line is delivered if its order has a carrier",
            &["ol_w_id", "ol_d_id", "ol_o_id", "ol_number", "ol_delivery_d", "o_carrier_id"],
            "SELECT ol_w_id, ol_d_id, ol_o_id, ol_number, ol_delivery_d, o_carrier_id FROM order_line LEFT JOIN orders \
             ON o_w_id = ol_w_id AND o_d_id = ol_d_id AND o_id = ol_o_id WHERE o_id IS NULL \
             OR (ol_delivery_d IS NULL AND o_carrier_id IS NOT NULL) \
             OR (ol_delivery_d IS NOT NULL AND o_carrier_id IS NULL) ORDER BY ol_w_id, ol_d_id, ol_o_id, ol_number LIMIT 1",
        ),
        new(
            8,
            "w_ytd is the sum of what was paid there",
            &["w_id", "w_ytd", "sum of h_amount"],
            "SELECT w_id, w_ytd, paid FROM warehouse LEFT JOIN (SELECT h_w_id, SUM(h_amount) AS paid FROM history \
             GROUP BY h_w_id) AS h ON h_w_id = w_id WHERE paid IS NULL OR paid <> w_ytd ORDER BY w_id LIMIT 1",
        ),
        new(
            9,
            "d_ytd is the sum of what was paid there",
            &["d_w_id", "d_id", "d_ytd", "sum of h_amount"],
            "SELECT d_w_id, d_id, d_ytd, paid FROM district LEFT JOIN (SELECT h_w_id, h_d_id, SUM(h_amount) AS paid \
             FROM history GROUP BY h_w_id, h_d_id) AS h ON h_w_id = d_w_id AND h_d_id = d_id \
             WHERE paid IS NULL OR paid <> d_ytd ORDER BY d_w_id, d_id LIMIT 1",
        ),
        new(
            10,
            "c_balance is what was delivered less what was paid",
            &["c_w_id", "c_d_id", "c_id", "c_balance", "delivered", "paid"],
            &format!(
                "SELECT c_w_id, c_d_id, c_id, c_balance, due, paid {BALANCES} LEFT JOIN (SELECT h_c_w_id, h_c_d_id, h_c_id, \
                 SUM(h_amount) AS paid FROM history GROUP BY h_c_w_id, h_c_d_id, h_c_id) AS h ON h_c_w_id = c_w_id \
                 AND h_c_d_id = c_d_id AND h_c_id = c_id WHERE c_balance <> COALESCE(due, 0) - COALESCE(paid, 0) \
                 ORDER BY c_w_id, c_d_id, c_id LIMIT 1"
            ),
        ),
        new(
            12,
            "c_balance and c_ytd_payment are together what was delivered",
            &["c_w_id", "c_d_id", "c_id", "c_balance", "c_ytd_payment", "delivered"],
            &format!(
                "SELECT c_w_id, c_d_id, c_id, c_balance, c_ytd_payment, due {BALANCES} \
                 WHERE c_balance + c_ytd_payment <> COALESCE(due, 0) ORDER BY c_w_id, c_d_id, c_id LIMIT 1"
            ),
        ),
    ]
}

fn eleventh(delivered_at_load: u64) -> SqlCondition {
    new(
        11,
        "the orders of a district are its new orders and those that were delivered",
        &["d_w_id", "d_id", "rows of orders", "rows of new_order", "sum of c_delivery_cnt"],
        &format!(
            "SELECT d_w_id, d_id, o_rows, no_rows, delivered FROM district \
             LEFT JOIN (SELECT o_w_id, o_d_id, COUNT(*) AS o_rows FROM orders {DISTRICT_OF}) AS o \
             ON o_w_id = d_w_id AND o_d_id = d_id \
             LEFT JOIN (SELECT no_w_id, no_d_id, COUNT(*) AS no_rows FROM new_order GROUP BY no_w_id, no_d_id) AS n \
             ON no_w_id = d_w_id AND no_d_id = d_id \
             LEFT JOIN (SELECT c_w_id, c_d_id, SUM(c_delivery_cnt) AS delivered FROM customer GROUP BY c_w_id, c_d_id) AS c \
             ON c_w_id = d_w_id AND c_d_id = d_id \
             WHERE COALESCE(o_rows, 0) - COALESCE(no_rows, 0) - COALESCE(delivered, 0) <> {delivered_at_load} \
             ORDER BY d_w_id, d_id LIMIT 1"
        ),
    )
}
