//! What the user of a terminal enters (clauses 2.4.1, 2.5.1, 2.6.1, 2.7.1 and 2.8.1 of the specification).
//!
//! In: the data set, a generator, the warehouse of the terminal. Out: the input of one transaction, the same whether it is performed by
//! statements or by a procedure. Limits: the items of an order are sorted, which the specification leaves open: two orders then lock stock
//! in the same order.

use super::draws::{between, happens};
use super::rows::{DISTRICTS, OrderData};
use super::transactions::TransactionKind;
use crate::random::Rng;

/// The most lines of an order.
pub(super) const LINES_MAX: usize = 15;

/// Where a transaction is entered.
#[derive(Clone, Copy)]
pub(super) struct Home {
    pub(super) warehouse: u64,
    /// The district of a terminal that always asks for the stock of the same one.
    pub(super) district: u64,
}

/// The input of a transaction.
#[expect(clippy::large_enum_variant, reason = "there is one at a time, and it is not moved far")]
pub(super) enum TerminalInput {
    NewOrder(NewOrderInput),
    Payment(PaymentInput),
    /// The customer that asks for its last order.
    OrderStatus(CustomerInput),
    Delivery(DeliveryInput),
    StockLevel(StockLevelInput),
}

pub(super) struct NewOrderInput {
    pub(super) warehouse: u64,
    pub(super) district: u64,
    pub(super) customer: u64,
    /// Whether the last line has a number that no item has: the user sees the mistake when all lines before are entered.
    pub(super) is_mistaken: bool,
    lines: [OrderLine; LINES_MAX],
    line_count: usize,
}

/// One line of an order.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct OrderLine {
    /// The warehouse that it comes from.
    pub(super) supplier: u64,
    pub(super) item: u64,
    pub(super) quantity: u64,
}

pub(super) struct PaymentInput {
    pub(super) warehouse: u64,
    pub(super) district: u64,
    pub(super) payer: CustomerInput,
    /// The amount in cents.
    pub(super) amount: u64,
}

/// A customer as a terminal's user knows it.
#[derive(Clone, Copy)]
pub(super) struct CustomerInput {
    /// Its own warehouse, which may be another than the terminal's.
    pub(super) warehouse: u64,
    /// Its district in that warehouse.
    pub(super) district: u64,
    pub(super) known_by: KnownBy,
}

/// By what a customer of a district is found.
#[derive(Clone, Copy)]
pub(super) enum KnownBy {
    /// Its last name, by the number of that name.
    LastName(u64),
    Number(u64),
}

/// A delivery of an order of each district.
#[derive(Clone, Copy)]
pub(super) struct DeliveryInput {
    pub(super) warehouse: u64,
    pub(super) carrier: u64,
}

/// A question for items of which less than `threshold` are in stock.
#[derive(Clone, Copy)]
pub(super) struct StockLevelInput {
    pub(super) warehouse: u64,
    pub(super) district: u64,
    pub(super) threshold: u64,
}

impl TerminalInput {
    /// The input of a transaction of `kind` that is entered at `home`.
    pub(super) fn draw(kind: TransactionKind, data: &OrderData, home: Home, rng: &mut Rng) -> TerminalInput {
        let w = home.warehouse;
        match kind {
            TransactionKind::NewOrder => TerminalInput::NewOrder(NewOrderInput::draw(data, w, rng)),
            TransactionKind::Payment => TerminalInput::Payment(PaymentInput::draw(data, w, rng)),
            TransactionKind::OrderStatus => {
                let d = between(rng, 1, DISTRICTS);
                TerminalInput::OrderStatus(CustomerInput::draw(data, (w, d), rng))
            }
            TransactionKind::Delivery => {
                TerminalInput::Delivery(DeliveryInput { warehouse: w, carrier: between(rng, 1, 10) })
            }
            TransactionKind::StockLevel => {
                let threshold = between(rng, 10, 20);
                TerminalInput::StockLevel(StockLevelInput { warehouse: w, district: home.district, threshold })
            }
        }
    }

    /// The kind of its transaction.
    pub(super) fn kind(&self) -> TransactionKind {
        match self {
            TerminalInput::NewOrder(_) => TransactionKind::NewOrder,
            TerminalInput::Payment(_) => TransactionKind::Payment,
            TerminalInput::OrderStatus(_) => TransactionKind::OrderStatus,
            TerminalInput::Delivery(_) => TransactionKind::Delivery,
            TerminalInput::StockLevel(_) => TransactionKind::StockLevel,
        }
    }
}

impl NewOrderInput {
    fn draw(data: &OrderData, w: u64, rng: &mut Rng) -> NewOrderInput {
        let (district, customer) = (between(rng, 1, DISTRICTS), data.laws.customer.draw(rng));
        let mut lines = [OrderLine::default(); LINES_MAX];
        let line_count = between(rng, 5, LINES_MAX as u64) as usize;
        for line in &mut lines[..line_count] {
            let is_remote = data.warehouses > 1 && happens(rng, 1);
            let supplier = if is_remote { other_warehouse(data, w, rng) } else { w };
            *line = OrderLine { supplier, item: data.laws.item.draw(rng), quantity: between(rng, 1, 10) };
        }
        lines[..line_count].sort_unstable();
        NewOrderInput { warehouse: w, district, customer, is_mistaken: happens(rng, 1), lines, line_count }
    }

    pub(super) fn lines(&self) -> &[OrderLine] {
        &self.lines[..self.line_count]
    }

    /// Whether all of it comes from the terminal's warehouse.
    pub(super) fn is_local(&self) -> bool {
        self.lines().iter().all(|line| line.supplier == self.warehouse)
    }
}

impl PaymentInput {
    fn draw(data: &OrderData, w: u64, rng: &mut Rng) -> PaymentInput {
        let (d, amount) = (between(rng, 1, DISTRICTS), between(rng, 100, 500_000));
        // Customers of other warehouses pay here, too.
        let is_remote = data.warehouses > 1 && happens(rng, 15);
        let of = if is_remote { (other_warehouse(data, w, rng), between(rng, 1, DISTRICTS)) } else { (w, d) };
        PaymentInput { warehouse: w, district: d, payer: CustomerInput::draw(data, of, rng), amount }
    }
}

impl CustomerInput {
    /// A customer of district `d` of warehouse `w`: by its last name in 60 of 100 cases, by its number in the others.
    fn draw(data: &OrderData, (w, d): (u64, u64), rng: &mut Rng) -> CustomerInput {
        let known_by = if happens(rng, 60) {
            KnownBy::LastName(data.laws.last.draw(rng))
        } else {
            KnownBy::Number(data.laws.customer.draw(rng))
        };
        CustomerInput { warehouse: w, district: d, known_by }
    }
}

/// A warehouse that is not `w`; there must be another.
fn other_warehouse(data: &OrderData, w: u64, rng: &mut Rng) -> u64 {
    let other = between(rng, 1, data.warehouses - 1);
    other + u64::from(other >= w)
}
