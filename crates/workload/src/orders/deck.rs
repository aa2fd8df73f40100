//! The order of a terminal's transactions, and its pauses.
//!
//! In: the client's number, the data set, the factor of the pauses. Out: its operations: from a deck of a hundred cards that is shuffled
//! when it is used up, so that the shares are exact. Limits: with pauses a client is a terminal of one warehouse and one district, and
//! without them each transaction has a warehouse of its own choice, so that a few clients use all of the data.

use super::TransactionCalls;
use super::inputs::{Home, TerminalInput};
use super::procedures::fill_with_call;
use super::rows::{DISTRICTS, OrderData};
use super::transactions::{TransactionKind, fill_with_statements};
use crate::program::ClientIndex;
use crate::random::{Rng, Words, client_rng, client_rng_stream, number_below, unit_interval};
use crate::{Workload, orders::draws::between};
use model::{Nanos, SqlOp};

/// Cards of a deck.
const CARDS: usize = 100;
/// A think time is at most so many times its mean (clause 5.2.5.4).
const THINK_MAX: f64 = 10.0;

pub(super) struct TerminalOps {
    data: OrderData,
    calls: TransactionCalls,
    rng: Rng,
    /// Of its own, so that a terminal enters the same with pauses and without.
    pause_rng: Rng,
    deck: [TransactionKind; CARDS],
    /// How many cards of it are left.
    left: usize,
    /// Its warehouse and district if it has pauses.
    home: Option<Home>,
    pauses: f64,
    /// The kind before: its user thinks before the next one.
    last: Option<TransactionKind>,
}

impl TerminalOps {
    /// The operations of the client in `slot`.
    pub(super) fn new(slot: ClientIndex, data: OrderData, calls: TransactionCalls, pauses: f64) -> TerminalOps {
        let client = u64::from(slot.client);
        let home = Home { warehouse: 1 + client % data.warehouses, district: 1 + client / data.warehouses % DISTRICTS };
        TerminalOps {
            rng: client_rng(data.seed(), slot.client),
            pause_rng: client_rng_stream(data.seed(), slot.client, PAUSE_STREAM),
            data,
            calls,
            deck: new_deck(),
            left: 0,
            home: (pauses > 0.0).then_some(home),
            pauses,
            last: None,
        }
    }

    fn next_kind(&mut self) -> TransactionKind {
        if self.left == 0 {
            shuffle(&mut self.deck, &mut self.rng);
            self.left = CARDS;
        }
        self.left -= 1;
        self.deck[self.left]
    }

    fn next_home(&mut self) -> Home {
        let warehouse = between(&mut self.rng, 1, self.data.warehouses);
        self.home.unwrap_or(Home { warehouse, district: between(&mut self.rng, 1, DISTRICTS) })
    }

    /// The time in which the user thinks about the transaction before and types `kind`.
    fn next_pause(&mut self, kind: TransactionKind) -> Nanos {
        if self.pauses == 0.0 {
            return Nanos(0);
        }
        let (keying_s, _) = kind.pauses_s();
        let think_s = self.last.replace(kind).map_or(0.0, |last| {
            let (_, mean_s) = last.pauses_s();
            (-(1.0 - unit_interval(self.pause_rng.next_u64())).ln()).min(THINK_MAX) * mean_s
        });
        Nanos(((keying_s + think_s) * self.pauses * 1e9) as u64)
    }
}

/// The stream of the generator of pauses.
const PAUSE_STREAM: u32 = 7;

fn new_deck() -> [TransactionKind; CARDS] {
    let all = TransactionKind::ALL.iter();
    let mut cards = all.flat_map(|kind| std::iter::repeat_n(*kind, kind.share_percent()));
    std::array::from_fn(|_| cards.next().expect("the shares are a hundred in all"))
}

/// R. Durstenfeld, "Algorithm 235: Random permutation", Communications of the ACM 7, 1964.
fn shuffle(deck: &mut [TransactionKind; CARDS], rng: &mut Rng) {
    for last in (1..CARDS).rev() {
        deck.swap(last, number_below(rng.next_u64(), last as u64 + 1) as usize);
    }
}

impl Workload<SqlOp> for TerminalOps {
    fn fill_ops(&mut self, ops: &mut [SqlOp]) {
        for op in ops {
            let kind = self.next_kind();
            let home = self.next_home();
            let input = TerminalInput::draw(kind, &self.data, home, &mut self.rng);
            match self.calls {
                TransactionCalls::Statements => fill_with_statements(op, &input, &self.data),
                TransactionCalls::Procedures => fill_with_call(op, &input, &self.data),
            }
            op.pause = self.next_pause(kind);
        }
    }
}
