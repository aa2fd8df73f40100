//! The rows that are loaded (clause 4.3.3 of the specification), and how.
//!
//! In: warehouses, items, customers, seed. Out: the load part, about 1,000 rows a block, and the values of loaded
//! rows that transactions use again. Limits: a row is a function of (seed, table, key) alone, so every engine gets the same rows whatever
//! the number of clients. Dates are one constant.

use super::draws::{
    LAST_NAMES, Laws, between, happens, push_characters, push_data, push_digits, push_last_name, push_text_between,
};
use super::schema::{CUSTOMER, DISTRICT, HISTORY, ITEM, NEW_ORDER, ORDER_LINE, ORDERS, STOCK, TABLES, WAREHOUSE};
use super::{CUSTOMERS, ITEMS, SIZE, WAREHOUSES};
use crate::commits::CommitOps;
use crate::program::{OpStream, RowTarget, push_text};
use crate::random::{Rng, mix_word, rng_for_key};
use crate::scatter::Scatter;
use model::{Bytes, OpKind, Params, SqlArg, SqlCall, SqlOp};
use std::ops::Range;

/// The fewest items and customers of a district.
pub(super) const ITEMS_MIN: u64 = 100;
pub(super) const CUSTOMERS_MIN: u64 = 30;
/// Districts of a warehouse.
pub(super) const DISTRICTS: u64 = 10;
/// What one commit of the load makes at most of each: with all that belongs to them about 1,000 rows.
const ITEMS_PER_COMMIT: u64 = 1_000;
const CUSTOMERS_PER_COMMIT: u64 = 500;
const ORDERS_PER_COMMIT: u64 = 100;

/// The date of everything that is loaded.
const LOADED_AT: &str = "2020-01-01 00:00:00";

/// What a customer has paid before the run, in cents.
const FIRST_PAYMENT: u64 = 1_000;

/// The data set: warehouses, districts, customers, orders and items are numbered from 1.
#[derive(Clone, Copy)]
pub(super) struct OrderData {
    seed: u64,
    pub(super) warehouses: u64,
    pub(super) items: u64,
    /// Customers of each district, and its orders.
    pub(super) customers: u64,
    pub(super) laws: Laws,
}

/// What an order of the load has.
struct LoadedOrder {
    customer: u64,
    lines: u64,
    carrier: u64,
    rng: Rng,
}

impl OrderData {
    pub(super) fn new(params: &Params, seed: u64) -> OrderData {
        // A scaled number may have shrunk to nothing.
        let (items, customers) = (params.int(ITEMS.name).max(ITEMS_MIN), params.int(CUSTOMERS.name).max(CUSTOMERS_MIN));
        let laws = Laws::new(seed, customers, items);
        let one = OrderData { seed, warehouses: 1, items, customers, laws };
        let size = params.bytes(SIZE.name).0;
        let warehouses = match size {
            0 => params.int(WAREHOUSES.name),
            size => (size / one.warehouse_bytes()).max(1),
        };
        OrderData { warehouses, ..one }
    }

    /// The seed of the data and of the clients.
    pub(super) fn seed(&self) -> u64 {
        self.seed
    }

    /// A number that no item has.
    pub(super) fn no_item(&self) -> u64 {
        self.items + 1
    }

    /// Orders of a district that are delivered when the run begins: seven of ten.
    pub(super) fn delivered(&self) -> u64 {
        self.customers * 7 / 10
    }

    /// About the bytes of one warehouse in a B-tree.
    fn warehouse_bytes(&self) -> u64 {
        self.items * STOCK_BYTES + DISTRICTS * self.customers * CUSTOMER_BYTES
    }

    /// About the bytes of all tables.
    pub(super) fn about_bytes(&self) -> Bytes {
        Bytes(self.warehouses * self.warehouse_bytes() + self.items * ITEM_BYTES)
    }

    /// About how many rows all tables have: an order has ten lines on average.
    pub(super) fn row_count(&self) -> u64 {
        let of_customers = self.customers * 13 + self.customers - self.delivered();
        self.items + self.warehouses * (1 + self.items + DISTRICTS * (1 + of_customers))
    }

    fn item_commits(&self) -> u64 {
        self.items.div_ceil(ITEMS_PER_COMMIT)
    }

    fn customer_commits(&self) -> u64 {
        self.customers.div_ceil(CUSTOMERS_PER_COMMIT)
    }

    fn order_commits(&self) -> u64 {
        self.customers.div_ceil(ORDERS_PER_COMMIT)
    }

    fn commits_per_warehouse(&self) -> u64 {
        1 + self.item_commits() + DISTRICTS * (self.customer_commits() + self.order_commits())
    }

    /// The commits of the load.
    pub(super) fn commit_count(&self) -> u64 {
        self.item_commits() + self.warehouses * self.commits_per_warehouse()
    }

    /// The part that fills the tables, by operations of `kind`.
    pub(super) fn load_stream(self, kind: OpKind) -> OpStream<SqlOp> {
        let total = self.commit_count();
        let push = move |op: &mut SqlOp, commit| {
            // The largest commit, so that no buffer grows later.
            op.calls.reserve(2_000);
            op.args.reserve(21_000);
            op.text.reserve(400_000);
            self.push_commit(op, commit);
        };
        let make = move |slot: crate::ClientIndex| CommitOps { kind, commits: slot.share_of(total), push };
        OpStream::new(Some(total), ITEMS_PER_COMMIT, make)
    }

    /// The generator of everything random in one loaded row.
    fn row_rng(&self, table: usize, w: u64, d: u64, id: u64) -> Rng {
        // A seed of its own keeps the rows apart from the clients' operations.
        rng_for_key(mix_word(self.seed), (table as u64) << 52 | w << 24 | d << 20 | id)
    }

    /// The price of an item, in cents.
    #[inline]
    pub(super) fn price(&self, item: u64) -> u64 {
        draw_price(&mut self.row_rng(ITEM, 0, 0, item))
    }

    /// Appends the text that the stock of warehouse `w` has of `item` for its district `d`.
    #[inline]
    pub(super) fn push_stock_info(&self, text: &mut Vec<u8>, w: u64, d: u64, item: u64) {
        push_characters(text, 24, &mut self.row_rng(STOCK_INFO, w, d, item));
    }

    /// Appends the names of a warehouse and of a district of it.
    pub(super) fn push_names(&self, text: &mut Vec<u8>, w: u64, d: u64) {
        push_name(text, &mut self.row_rng(WAREHOUSE, w, 0, 0));
        text.extend_from_slice(b"    ");
        push_name(text, &mut self.row_rng(DISTRICT, w, d, 0));
    }

    fn order(&self, w: u64, d: u64, o: u64) -> LoadedOrder {
        let mut rng = self.row_rng(ORDERS, w, d, o);
        let (lines, carrier) = (between(&mut rng, 5, 15), between(&mut rng, 1, 10));
        // Each customer of a district has one order. Districts have them in another order.
        let rank = (o + 37 * d + 101 * w) % self.customers;
        LoadedOrder { customer: 1 + Scatter::new(self.customers).key_of(rank), lines, carrier, rng }
    }
}

/// Bytes of a row with its share of the indexes. The rows of a customer: its own, its payment, its order and the lines of that.
const STOCK_BYTES: u64 = 370;
const CUSTOMER_BYTES: u64 = 1_900;
const ITEM_BYTES: u64 = 110;

/// A number of a table for what is drawn apart from its row.
const STOCK_INFO: usize = 16;

fn draw_price(rng: &mut Rng) -> u64 {
    between(rng, 100, 10_000)
}

fn push_name(text: &mut Vec<u8>, rng: &mut Rng) {
    push_text_between(text, 6, 10, rng);
}

/// Where the rows of the load go. Their numbers are [`LoadInsert`]s.
pub(super) fn load_targets() -> Vec<RowTarget> {
    LoadInsert::ALL.iter().map(LoadInsert::target).collect()
}

/// Rows of a table.
#[derive(Clone, Copy)]
struct LoadInsert {
    nth: u16,
    table: usize,
    /// The column that is NULL.
    null: Option<&'static str>,
}

impl LoadInsert {
    const ALL: [LoadInsert; 11] = [
        LoadInsert::new(0, ITEM),
        LoadInsert::new(1, WAREHOUSE),
        LoadInsert::new(2, DISTRICT),
        LoadInsert::new(3, CUSTOMER),
        LoadInsert::new(4, HISTORY),
        LoadInsert::new(5, STOCK),
        LoadInsert::new(6, ORDERS),
        LoadInsert::new(7, NEW_ORDER),
        LoadInsert::new(8, ORDER_LINE),
        LoadInsert { null: Some("o_carrier_id"), ..LoadInsert::new(9, ORDERS) },
        LoadInsert { null: Some("ol_delivery_d"), ..LoadInsert::new(10, ORDER_LINE) },
    ];
    const OPEN_ORDERS: LoadInsert = LoadInsert::ALL[9];
    const OPEN_LINES: LoadInsert = LoadInsert::ALL[10];

    const fn new(nth: u16, table: usize) -> LoadInsert {
        LoadInsert { nth, table, null: None }
    }

    fn value_count(&self) -> u16 {
        (TABLES[self.table].columns.len() - usize::from(self.null.is_some())) as u16
    }

    fn target(&self) -> RowTarget {
        let columns = TABLES[self.table].columns.iter().map(|(name, _)| *name);
        let columns = columns.filter(|name| Some(*name) != self.null).collect();
        RowTarget { table: TABLES[self.table].name.into(), columns }
    }
}

/// Adds the rows of `keys`, whose values `push_row` adds.
fn push_rows<K>(
    op: &mut SqlOp,
    insert: LoadInsert,
    keys: impl Iterator<Item = K>,
    mut push_row: impl FnMut(&mut SqlOp, K),
) {
    let call = SqlCall { statement: insert.nth, args: insert.value_count() };
    for key in keys {
        push_row(op, key);
        op.calls.push(call);
    }
}

fn push_ints(op: &mut SqlOp, ints: &[u64]) {
    op.args.extend(ints.iter().map(|value| SqlArg::Int(*value as i64)));
}

fn push_date(op: &mut SqlOp) {
    push_text(op, |text| text.extend_from_slice(LOADED_AT.as_bytes()));
}

/// The numbers from 1 to `all` of part number `nth`, each of at most `most`.
fn part_of(nth: u64, most: u64, all: u64) -> Range<u64> {
    nth * most + 1..((nth + 1) * most).min(all) + 1
}

impl OrderData {
    /// Adds commit number `commit`: first the items, then warehouse by warehouse it, its stock, its customers and its orders. With one
    /// client no row refers to one that is made later.
    fn push_commit(&self, op: &mut SqlOp, commit: u64) {
        let Some(of_warehouses) = commit.checked_sub(self.item_commits()) else {
            return self.push_items(op, part_of(commit, ITEMS_PER_COMMIT, self.items));
        };
        let (w, nth) = (1 + of_warehouses / self.commits_per_warehouse(), of_warehouses % self.commits_per_warehouse());
        let Some(nth) = nth.checked_sub(1) else { return self.push_warehouse(op, w) };
        let Some(nth) = nth.checked_sub(self.item_commits()) else {
            return self.push_stock(op, w, part_of(nth, ITEMS_PER_COMMIT, self.items));
        };
        let customers = DISTRICTS * self.customer_commits();
        if nth < customers {
            let (d, part) = (1 + nth / self.customer_commits(), nth % self.customer_commits());
            return self.push_customers(op, w, d, part_of(part, CUSTOMERS_PER_COMMIT, self.customers));
        }
        let (d, part) = (1 + (nth - customers) / self.order_commits(), (nth - customers) % self.order_commits());
        self.push_orders(op, w, d, part_of(part, ORDERS_PER_COMMIT, self.customers));
    }

    fn push_items(&self, op: &mut SqlOp, items: Range<u64>) {
        push_rows(op, LoadInsert::ALL[ITEM], items, |op, item| {
            let mut rng = self.row_rng(ITEM, 0, 0, item);
            let price = draw_price(&mut rng);
            push_ints(op, &[item, between(&mut rng, 1, 10_000)]);
            push_text(op, |text| push_text_between(text, 14, 24, &mut rng));
            push_ints(op, &[price]);
            push_text(op, |text| push_data(text, &mut rng));
        });
    }

    /// A warehouse and its districts.
    fn push_warehouse(&self, op: &mut SqlOp, w: u64) {
        let paid = self.customers * FIRST_PAYMENT;
        push_rows(op, LoadInsert::ALL[WAREHOUSE], [w].into_iter(), |op, w| {
            let mut rng = self.row_rng(WAREHOUSE, w, 0, 0);
            push_ints(op, &[w]);
            push_text(op, |text| push_name(text, &mut rng));
            push_address(op, &mut rng);
            push_ints(op, &[between(&mut rng, 0, 2_000), DISTRICTS * paid]);
        });
        push_rows(op, LoadInsert::ALL[DISTRICT], 1..=DISTRICTS, |op, d| {
            let mut rng = self.row_rng(DISTRICT, w, d, 0);
            push_ints(op, &[d, w]);
            push_text(op, |text| push_name(text, &mut rng));
            push_address(op, &mut rng);
            push_ints(op, &[between(&mut rng, 0, 2_000), paid, self.customers + 1]);
        });
    }

    fn push_stock(&self, op: &mut SqlOp, w: u64, items: Range<u64>) {
        push_rows(op, LoadInsert::ALL[STOCK], items, |op, item| {
            let mut rng = self.row_rng(STOCK, w, 0, item);
            push_ints(op, &[item, w, between(&mut rng, 10, 100)]);
            (1..=DISTRICTS).for_each(|d| push_text(op, |text| self.push_stock_info(text, w, d, item)));
            push_ints(op, &[0, 0, 0]);
            push_text(op, |text| push_data(text, &mut rng));
        });
    }

    /// Customers, each with the payment that it has made.
    fn push_customers(&self, op: &mut SqlOp, w: u64, d: u64, customers: Range<u64>) {
        push_rows(op, LoadInsert::ALL[CUSTOMER], customers.clone(), |op, c| self.push_customer(op, w, d, c));
        push_rows(op, LoadInsert::ALL[HISTORY], customers, |op, c| {
            push_ints(op, &[c, d, w, d, w]);
            push_date(op);
            push_ints(op, &[FIRST_PAYMENT]);
            push_text(op, |text| push_text_between(text, 12, 24, &mut self.row_rng(HISTORY, w, d, c)));
        });
    }

    fn push_customer(&self, op: &mut SqlOp, w: u64, d: u64, c: u64) {
        let mut rng = self.row_rng(CUSTOMER, w, d, c);
        // The first thousand have all names, so that each name is there.
        let last = if c <= LAST_NAMES { c - 1 } else { self.laws.last_at_load.draw(&mut rng) };
        push_ints(op, &[c, d, w]);
        push_text(op, |text| push_text_between(text, 8, 16, &mut rng));
        push_text(op, |text| text.extend_from_slice(b"OE"));
        push_text(op, |text| push_last_name(text, last));
        push_address(op, &mut rng);
        push_text(op, |text| push_digits(text, 16, &mut rng));
        push_date(op);
        let credit: &[u8] = if happens(&mut rng, 10) { b"BC" } else { b"GC" };
        push_text(op, |text| text.extend_from_slice(credit));
        push_ints(op, &[5_000_000, between(&mut rng, 0, 5_000)]);
        op.args.push(SqlArg::Int(-(FIRST_PAYMENT as i64)));
        push_ints(op, &[FIRST_PAYMENT, 1, 0]);
        push_text(op, |text| push_text_between(text, 300, 500, &mut rng));
    }

    /// Orders with their lines; those that are not delivered are new orders, too.
    fn push_orders(&self, op: &mut SqlOp, w: u64, d: u64, orders: Range<u64>) {
        let open_from = (self.delivered() + 1).clamp(orders.start, orders.end);
        let (done, open) = (orders.start..open_from, open_from..orders.end);
        let push_order = |op: &mut SqlOp, o: u64, is_done: bool| {
            let order = self.order(w, d, o);
            push_ints(op, &[o, d, w, order.customer]);
            push_date(op);
            push_ints(op, &[order.carrier, order.lines, 1][usize::from(!is_done)..]);
        };
        push_rows(op, LoadInsert::ALL[ORDERS], done.clone(), |op, o| push_order(op, o, true));
        push_rows(op, LoadInsert::OPEN_ORDERS, open.clone(), |op, o| push_order(op, o, false));
        push_rows(op, LoadInsert::ALL[NEW_ORDER], open.clone(), |op, o| push_ints(op, &[o, d, w]));
        self.push_lines(op, LoadInsert::ALL[ORDER_LINE], w, d, done);
        self.push_lines(op, LoadInsert::OPEN_LINES, w, d, open);
    }

    fn push_lines(&self, op: &mut SqlOp, insert: LoadInsert, w: u64, d: u64, orders: Range<u64>) {
        let is_open = insert.null.is_some();
        let mut order = self.order(w, d, 0);
        let numbers = orders.flat_map(|o| (1..=self.order(w, d, o).lines).map(move |number| (o, number)));
        push_rows(op, insert, numbers, |op, (o, number)| {
            if number == 1 {
                order = self.order(w, d, o);
            }
            let rng = &mut order.rng;
            push_ints(op, &[o, d, w, number, between(rng, 1, self.items), w]);
            if !is_open {
                push_date(op);
            }
            // What is delivered was paid long ago, and counts in no balance.
            push_ints(op, &[5, if is_open { between(rng, 1, 999_999) } else { 0 }]);
            push_text(op, |text| push_characters(text, 24, rng));
        });
    }
}

/// Two streets, a city, a state and a code of four digits and 11111.
fn push_address(op: &mut SqlOp, rng: &mut Rng) {
    for (least, most) in [(10, 20), (10, 20), (10, 20), (2, 2)] {
        push_text(op, |text| push_text_between(text, least, most, rng));
    }
    push_text(op, |text| {
        push_digits(text, 4, rng);
        text.extend_from_slice(b"11111");
    });
}
