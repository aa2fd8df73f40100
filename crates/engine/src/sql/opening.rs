//! What a new connection does between its login and its first operation, without a wait.
//!
//! In: a connection whose socket was handed over, and what has come over it. Out: whether it is ready. Limits: one command at a time, as
//! on a connection that waits.

use super::OpFailure;
use super::admin_connection::{AdminConnection, allowed, if_complete};
use super::session_options::SessionOptions;
use crate::server::network::TextRows;
use std::collections::VecDeque;

/// A session that is not ready yet.
pub struct BegunSession<L> {
    /// Its login; `None` if that is done.
    pub login: Option<L>,
    pub rest: Opening,
}

/// What is left to do before a connection is ready.
pub struct Opening {
    steps: VecDeque<OpeningStep>,
    /// Whether the command of the first of them was sent.
    is_sent: bool,
    /// What the server has reported of itself.
    identity: Vec<Option<TextRows>>,
}

enum OpeningStep {
    Run(String),
    /// Prepares the statement of this number.
    Prepare(usize),
    /// Asks who the server is; it may refuse to say.
    Identify(&'static str),
}

impl Opening {
    /// Runs `texts`, and prepares `statements` if `options` ask for that. `is_after_loss` if the connection takes the place of a lost one:
    /// then it looks, too, whether the server is another one now.
    pub fn new(
        texts: impl IntoIterator<Item = String>,
        statements: &[String],
        options: &SessionOptions,
        is_after_loss: bool,
    ) -> Opening {
        let prepared = if options.prepares_all() { statements.len() } else { 0 };
        let questions = if is_after_loss { options.identity.questions() } else { &[] };
        let steps = texts.into_iter().map(OpeningStep::Run);
        let steps = steps.chain((0..prepared).map(OpeningStep::Prepare));
        let steps = steps.chain(questions.iter().copied().map(OpeningStep::Identify));
        Opening { steps: steps.collect(), is_sent: false, identity: Vec::new() }
    }

    /// Goes on with what has come over `wire`. True if the connection is ready.
    pub fn go_on<W: AdminConnection>(
        &mut self,
        wire: &mut W,
        statements: &[String],
        options: &SessionOptions,
    ) -> Result<bool, OpFailure> {
        while let Some(step) = self.steps.front() {
            if !self.is_sent {
                match step {
                    OpeningStep::Run(text) => wire.put_text(text)?,
                    OpeningStep::Identify(question) => wire.put_text(&sql::with_own_mark(question))?,
                    OpeningStep::Prepare(number) => wire.put_preparation(&statements[*number])?,
                }
                wire.send_command()?;
                self.is_sent = true;
            }
            let is_answered = match step {
                OpeningStep::Run(_) => if_complete(wire.read_rows())?.is_some(),
                OpeningStep::Identify(_) => {
                    let told = if_complete(allowed(wire.read_rows()))?;
                    let is_answered = told.is_some();
                    self.identity.extend(told);
                    is_answered
                }
                OpeningStep::Prepare(number) => if_complete(wire.take_preparation())
                    .map_err(|error| options.failed_preparation(&statements[*number], error.into()))?
                    .is_some(),
            };
            if !is_answered {
                return Ok(false);
            }
            self.steps.pop_front();
            self.is_sent = false;
        }
        let mut told = self.identity.drain(..);
        if told.len() > 0 {
            options.identity.look(true, |_| told.next().flatten());
        }
        Ok(true)
    }
}
