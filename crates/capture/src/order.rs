//! The order of ends: a statement leaves when it has ended, and all that ended before it have left. Who has locked a row first ends first.
//!
//! A statement of which no end was captured ends when nothing more can be known of it. At most [`WAITING_MAX`] statements of
//! [`WAITING_BYTES_MAX`] bytes wait. Then the one whose answer is oldest leaves as it is: with the time to the last packet of its answer so far.
//! The statements of a session keep their order, whatever their times are.

use crate::statement::{AnswerCounts, CaptureEvent, CapturedStatement, MadeIds, Session, Values};
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

/// The most statements that wait for an end.
pub const WAITING_MAX: usize = 100_000;
/// The most bytes of text and values that they have.
pub const WAITING_BYTES_MAX: usize = 64 << 20;

/// The number of a statement, in the order in which they begin.
pub type Ticket = u64;

/// When something ended, and its number.
type Place = (i64, u64);

enum Ended {
    Statement(Box<CapturedStatement>),
    Session { session: Session, at_us: i64 },
}

/// What has begun and was not given out.
#[derive(Default)]
pub struct Order {
    running: BTreeMap<Ticket, Box<CapturedStatement>>,
    /// Those of them that have a part of their answer, by the last of it so far: they end no earlier.
    answering: BTreeSet<Place>,
    ended: BTreeMap<Place, Ended>,
    /// The last of each session that is among those that have ended, by its number.
    lasts: FxHashMap<u64, Place>,
    waiting_bytes: usize,
    next_number: u64,
    /// The time of the packet that is looked at.
    now_us: i64,
    /// Statements that were given out.
    pub given: u64,
}

impl Order {
    /// Takes up a statement that begins.
    pub fn begin(&mut self, statement: CapturedStatement) -> Ticket {
        self.now_us = statement.began_us;
        let ticket = self.next_number();
        self.waiting_bytes += bytes_of(&statement);
        self.running.insert(ticket, Box::new(statement));
        ticket
    }

    /// Takes up the end of a session.
    pub fn end_session(&mut self, session: Session, at_us: i64) {
        let number = self.next_number();
        let place = self.place_of(session.number, at_us.max(self.now_us), number);
        self.ended.insert(place, Ended::Session { session, at_us });
    }

    fn next_number(&mut self) -> u64 {
        self.next_number += 1;
        self.next_number
    }

    /// The place of what ended at `at_us`: not before the last of its session.
    fn place_of(&mut self, session: u64, at_us: i64, number: u64) -> Place {
        let last = self.lasts.get(&session).map_or(at_us, |(last_us, _)| *last_us);
        let place = (at_us.max(last), number);
        self.lasts.insert(session, place);
        place
    }

    /// A part of the answer came at `at_us`.
    pub fn answered(&mut self, ticket: Ticket, at_us: i64) {
        self.now_us = at_us;
        let Some(statement) = self.running.get_mut(&ticket) else { return };
        if let Some(before_us) = end_of(statement) {
            self.answering.remove(&(before_us, ticket));
        }
        statement.took_us = Some(u64::try_from(at_us.saturating_sub(statement.began_us)).unwrap_or(0));
        self.answering.extend(end_of(statement).map(|end_us| (end_us, ticket)));
    }

    /// The server answered an error.
    pub fn fail(&mut self, ticket: Ticket) {
        if let Some(statement) = self.running.get_mut(&ticket) {
            statement.failed = true;
        }
    }

    /// The answer was taken to its end.
    pub fn set_counts(&mut self, ticket: Ticket, counts: AnswerCounts) {
        if let Some(statement) = self.running.get_mut(&ticket) {
            statement.counts = Some(counts);
        }
    }

    /// The rows that were inserted have these ids.
    pub fn set_made(&mut self, ticket: Ticket, made: MadeIds) {
        if let Some(statement) = self.running.get_mut(&ticket) {
            statement.made = Some(made);
        }
    }

    /// The statement is one that was prepared for more than one execution.
    pub fn set_stays_prepared(&mut self, ticket: Ticket) {
        if let Some(statement) = self.running.get_mut(&ticket) {
            statement.stays_prepared = true;
        }
    }

    /// The values of a statement are known later than it.
    pub fn set_values(&mut self, ticket: Ticket, values: Values) {
        if let Some(statement) = self.running.get_mut(&ticket) {
            self.waiting_bytes -= bytes_of(statement);
            statement.values = values;
            self.waiting_bytes += bytes_of(statement);
        }
    }

    /// The answer is over, or nothing more can be known of it.
    pub fn finish(&mut self, ticket: Ticket) {
        let Some(statement) = self.take_running(ticket) else { return };
        let end_us = end_of(&statement).unwrap_or(self.now_us);
        let place = self.place_of(statement.session.number, end_us, ticket);
        self.ended.insert(place, Ended::Statement(statement));
    }

    /// The server did not run it, or undid it.
    pub fn discard(&mut self, ticket: Ticket) {
        if let Some(statement) = self.take_running(ticket) {
            self.waiting_bytes -= bytes_of(&statement);
        }
    }

    fn take_running(&mut self, ticket: Ticket) -> Option<Box<CapturedStatement>> {
        let statement = self.running.remove(&ticket)?;
        if let Some(end_us) = end_of(&statement) {
            self.answering.remove(&(end_us, ticket));
        }
        Some(statement)
    }

    /// Gives out what has ended before all others do, and what is too much to wait for.
    pub fn flush(&mut self, on_event: &mut impl FnMut(CaptureEvent) -> ControlFlow<()>) -> ControlFlow<()> {
        while let Some((place, ended)) = self.next_ended() {
            let session = match &ended {
                Ended::Statement(statement) => statement.session.number,
                Ended::Session { session, .. } => session.number,
            };
            if self.lasts.get(&session) == Some(&place) {
                self.lasts.remove(&session);
            }
            match ended {
                Ended::Session { session, at_us } => on_event(CaptureEvent::SessionEnded { session, at_us })?,
                Ended::Statement(statement) => {
                    self.waiting_bytes -= bytes_of(&statement);
                    self.given += 1;
                    on_event(CaptureEvent::Statement(*statement))?;
                }
            }
        }
        ControlFlow::Continue(())
    }

    /// The first that ended, if none that is answered may have ended before it. What has no answer yet ends later than all that have ended.
    fn next_ended(&mut self) -> Option<(Place, Ended)> {
        loop {
            let answering = self.answering.first().copied();
            let first = self.ended.first_key_value().map(|(place, _)| *place);
            if first.is_some_and(|first| answering.is_none_or(|next| first < next)) {
                return self.ended.pop_first();
            }
            let is_full = self.waiting_bytes > WAITING_BYTES_MAX || self.running.len() + self.ended.len() > WAITING_MAX;
            let oldest = answering.map(|(_, ticket)| ticket);
            let oldest = oldest.or_else(|| self.running.first_key_value().map(|(ticket, _)| *ticket));
            self.finish(oldest.filter(|_| is_full)?);
        }
    }
}

/// When the last of its answer so far came; `None` if nothing did.
fn end_of(statement: &CapturedStatement) -> Option<i64> {
    statement.took_us.map(|took_us| statement.began_us.saturating_add_unsigned(took_us))
}

fn bytes_of(statement: &CapturedStatement) -> usize {
    let values = match &statement.values {
        Values::Known(values) => values.iter().map(|value| value.len() + size_of::<String>()).sum(),
        Values::Unknown(_) => 0,
    };
    size_of::<CapturedStatement>() + statement.text.len() + statement.schema.len() + values
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statement::Dialect;
    use std::net::SocketAddr;

    fn statement(session: u64, began_us: i64) -> CapturedStatement {
        let end = SocketAddr::from(([127, 0, 0, 1], 1));
        CapturedStatement {
            began_us,
            took_us: None,
            session: Session { number: session, client: end, server: end, began_us: 0 },
            dialect: Dialect::Mysql,
            schema: String::new(),
            text: "SELECT 1".to_owned(),
            values: Values::Known(Vec::new()),
            stays_prepared: false,
            failed: false,
            counts: None,
            made: None,
        }
    }

    fn ended(order: &mut Order, ticket: Ticket, at_us: i64) {
        order.answered(ticket, at_us);
        order.finish(ticket);
    }

    /// When those began that are given out, and how long they took; of an end of a session its time and nothing.
    fn flushed(order: &mut Order) -> Vec<(i64, Option<u64>)> {
        let mut seen = Vec::new();
        let flow = order.flush(&mut |event| {
            seen.push(match event {
                CaptureEvent::Statement(statement) => (statement.began_us, statement.took_us),
                CaptureEvent::SessionEnded { at_us, .. } => (at_us, None),
            });
            ControlFlow::Continue(())
        });
        assert!(flow.is_continue());
        seen
    }

    #[test]
    fn what_ended_first_leaves_first_whichever_began_first() {
        let mut order = Order::default();
        // The first waits for a lock of the second.
        let (waits, locks) = (order.begin(statement(1, 5)), order.begin(statement(2, 6)));
        ended(&mut order, locks, 7);
        assert_eq!(flushed(&mut order), [(6, Some(1))], "who has no answer ends later");
        let last = order.begin(statement(2, 8));
        order.answered(waits, 9);
        ended(&mut order, last, 10);
        assert_eq!(flushed(&mut order), [], "the answer of the first may have been over before");
        order.answered(waits, 12);
        assert_eq!(flushed(&mut order), [(8, Some(2))]);
        order.finish(waits);
        assert_eq!(flushed(&mut order), [(5, Some(7))]);
    }

    #[test]
    fn of_what_has_no_end_the_place_is_where_that_was_known_and_its_session_keeps_its_order() {
        let mut order = Order::default();
        let (lost, other) = (order.begin(statement(1, 5)), order.begin(statement(2, 6)));
        let held = order.begin(statement(3, 7));
        order.answered(held, 8);
        ended(&mut order, other, 20);
        order.finish(lost);
        // It was answered before it is known that the answer to the one before it is lost.
        let next = order.begin(statement(1, 10));
        ended(&mut order, next, 11);
        order.end_session(statement(1, 0).session, 12);
        assert_eq!(flushed(&mut order), []);
        order.finish(held);
        let expected = [(7, Some(1)), (5, None), (6, Some(14)), (10, Some(1)), (12, None)];
        assert_eq!(flushed(&mut order), expected);
        assert!(order.lasts.is_empty());
    }

    #[test]
    fn one_whose_end_is_not_known_holds_up_only_as_many_as_are_allowed() {
        let mut order = Order::default();
        let open = order.begin(statement(1, 0));
        order.answered(open, 0);
        let mut seen = Vec::new();
        for at_us in 1..=WAITING_MAX as i64 + 1 {
            let ticket = order.begin(statement(2, at_us));
            ended(&mut order, ticket, at_us);
            seen.extend(flushed(&mut order));
            assert!(order.running.len() + order.ended.len() <= WAITING_MAX + 1);
        }
        assert_eq!(seen.len(), WAITING_MAX + 2);
        assert_eq!(seen[0], (0, Some(0)));
        assert_eq!((order.waiting_bytes, order.lasts.len()), (0, 0));
    }

    #[test]
    fn of_too_many_that_have_no_answer_the_first_leaves_as_it_is() {
        let mut order = Order::default();
        for at_us in 0..=WAITING_MAX as i64 {
            order.begin(statement(1, at_us));
        }
        assert_eq!(flushed(&mut order), [(0, None)]);
    }

    #[test]
    fn what_is_discarded_holds_up_nobody() {
        let mut order = Order::default();
        let undone = order.begin(statement(1, 1));
        order.answered(undone, 2);
        let other = order.begin(statement(2, 3));
        ended(&mut order, other, 4);
        assert_eq!(flushed(&mut order), []);
        order.discard(undone);
        assert_eq!((flushed(&mut order), order.waiting_bytes), (vec![(3, Some(1))], 0));
    }
}
