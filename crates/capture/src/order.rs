//! The order of time: a statement takes its place when it begins, and leaves when it and all before it are done.
//!
//! At most [`WAITING_MAX`] statements of [`WAITING_BYTES_MAX`] bytes wait. Then the first leaves as it is: with the time to the last packet of
//! its answer so far.

use crate::statement::{AnswerCounts, CaptureEvent, CapturedStatement, MadeIds, Session, Values};
use std::collections::BTreeMap;
use std::ops::ControlFlow;

/// The most statements that wait for the end of an earlier one.
pub const WAITING_MAX: usize = 100_000;
/// The most bytes of text and values that they have.
pub const WAITING_BYTES_MAX: usize = 64 << 20;

/// The place of a statement: when it began, and its number.
pub type Ticket = (i64, u64);

enum Waiting {
    Statement { statement: Box<CapturedStatement>, is_done: bool },
    End(Session),
}

/// What has begun and was not given out.
#[derive(Default)]
pub struct Order {
    waiting: BTreeMap<Ticket, Waiting>,
    waiting_bytes: usize,
    next_number: u64,
    /// When the last that was given out began: nothing is given out with an earlier time.
    given_us: Option<i64>,
    /// Statements that were given out.
    pub given: u64,
}

impl Order {
    /// Takes up a statement that begins.
    pub fn begin(&mut self, mut statement: CapturedStatement) -> Ticket {
        statement.began_us = statement.began_us.max(self.given_us.unwrap_or(i64::MIN));
        let ticket = self.next_ticket(statement.began_us);
        self.waiting_bytes += bytes_of(&statement);
        self.waiting.insert(ticket, Waiting::Statement { statement: Box::new(statement), is_done: false });
        ticket
    }

    /// Takes up the end of a session.
    pub fn end_session(&mut self, session: Session, at_us: i64) {
        let ticket = self.next_ticket(at_us.max(self.given_us.unwrap_or(i64::MIN)));
        self.waiting.insert(ticket, Waiting::End(session));
    }

    fn next_ticket(&mut self, at_us: i64) -> Ticket {
        self.next_number += 1;
        (at_us, self.next_number)
    }

    /// A part of the answer came at `at_us`.
    pub fn answered(&mut self, ticket: Ticket, at_us: i64) {
        if let Some(Waiting::Statement { statement, .. }) = self.waiting.get_mut(&ticket) {
            statement.took_us = Some(u64::try_from(at_us.saturating_sub(statement.began_us)).unwrap_or(0));
        }
    }

    /// The server answered an error.
    pub fn fail(&mut self, ticket: Ticket) {
        if let Some(Waiting::Statement { statement, .. }) = self.waiting.get_mut(&ticket) {
            statement.failed = true;
        }
    }

    /// The answer was taken to its end.
    pub fn set_counts(&mut self, ticket: Ticket, counts: AnswerCounts) {
        if let Some(Waiting::Statement { statement, .. }) = self.waiting.get_mut(&ticket) {
            statement.counts = Some(counts);
        }
    }

    /// The rows that were inserted have these ids.
    pub fn set_made(&mut self, ticket: Ticket, made: MadeIds) {
        if let Some(Waiting::Statement { statement, .. }) = self.waiting.get_mut(&ticket) {
            statement.made = Some(made);
        }
    }

    /// The statement is one that was prepared for more than one execution.
    pub fn set_stays_prepared(&mut self, ticket: Ticket) {
        if let Some(Waiting::Statement { statement, .. }) = self.waiting.get_mut(&ticket) {
            statement.stays_prepared = true;
        }
    }

    /// The values of a statement are known later than it.
    pub fn set_values(&mut self, ticket: Ticket, values: Values) {
        if let Some(Waiting::Statement { statement, .. }) = self.waiting.get_mut(&ticket) {
            self.waiting_bytes -= bytes_of(statement);
            statement.values = values;
            self.waiting_bytes += bytes_of(statement);
        }
    }

    /// The answer is over.
    pub fn finish(&mut self, ticket: Ticket) {
        if let Some(Waiting::Statement { is_done, .. }) = self.waiting.get_mut(&ticket) {
            *is_done = true;
        }
    }

    /// The server did not run it.
    pub fn discard(&mut self, ticket: Ticket) {
        if let Some(Waiting::Statement { statement, .. }) = self.waiting.remove(&ticket) {
            self.waiting_bytes -= bytes_of(&statement);
        }
    }

    /// Gives out what is done, and what is too much to wait for.
    pub fn flush(&mut self, on_event: &mut impl FnMut(CaptureEvent) -> ControlFlow<()>) -> ControlFlow<()> {
        while let Some(first) = self.waiting.first_entry() {
            let is_full =
                self.waiting_bytes > WAITING_BYTES_MAX || self.next_number - first.key().1 > WAITING_MAX as u64;
            if !is_full && matches!(first.get(), Waiting::Statement { is_done: false, .. }) {
                break;
            }
            let (at_us, _) = *first.key();
            self.given_us = Some(at_us);
            match first.remove() {
                Waiting::End(session) => on_event(CaptureEvent::SessionEnded { session, at_us })?,
                Waiting::Statement { statement, .. } => {
                    self.waiting_bytes -= bytes_of(&statement);
                    self.given += 1;
                    on_event(CaptureEvent::Statement(*statement))?;
                }
            }
        }
        ControlFlow::Continue(())
    }
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

    fn statement(began_us: i64) -> CapturedStatement {
        let end = SocketAddr::from(([127, 0, 0, 1], 1));
        CapturedStatement {
            began_us,
            took_us: None,
            session: Session { number: 1, client: end, server: end, began_us: 0 },
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

    fn flushed(order: &mut Order) -> Vec<(i64, Option<u64>)> {
        let mut seen = Vec::new();
        let flow = order.flush(&mut |event| {
            if let CaptureEvent::Statement(statement) = event {
                seen.push((statement.began_us, statement.took_us));
            }
            ControlFlow::Continue(())
        });
        assert!(flow.is_continue());
        seen
    }

    #[test]
    fn a_statement_waits_for_one_that_began_before_it() {
        let mut order = Order::default();
        let (slow, fast) = (order.begin(statement(5)), order.begin(statement(6)));
        order.answered(fast, 7);
        order.finish(fast);
        assert_eq!(flushed(&mut order), []);
        order.answered(slow, 105);
        order.finish(slow);
        assert_eq!(flushed(&mut order), [(5, Some(100)), (6, Some(1))]);
        order.begin(statement(3));
        assert_eq!(order.waiting.keys().next(), Some(&(6, 3)), "never before what was given out");
    }

    #[test]
    fn one_that_never_ends_holds_up_only_as_many_as_are_allowed() {
        let mut order = Order::default();
        order.begin(statement(0));
        let mut seen = Vec::new();
        for at_us in 1..=WAITING_MAX as i64 + 1 {
            let ticket = order.begin(statement(at_us));
            order.finish(ticket);
            seen.extend(flushed(&mut order));
            assert!(order.waiting.len() <= WAITING_MAX + 1);
        }
        assert_eq!(seen.len(), WAITING_MAX + 2);
        assert_eq!(seen[0], (0, None));
        assert_eq!(order.waiting_bytes, 0);
    }
}
