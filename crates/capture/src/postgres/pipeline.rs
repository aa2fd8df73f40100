//! The implicit transaction of a pipeline: if something fails, the server undoes all that ran since the last Sync.
//!
//! In: executions as they end, errors, and what each ReadyForQuery says of the transaction. Out: what is finished with its Sync, or left out because it
//! was undone. Limits: a SELECT is taken to change nothing, so a pipeline of these alone stays as it is. What fails within BEGIN and COMMIT stays, too: the
//! client itself rolls it back.

use crate::connection::Found;
use crate::order::Ticket;

/// More executions are not held back for one Sync.
const OPEN_MAX: usize = 100_000;

/// Whether the session is in a transaction block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Block {
    /// The capture began in the middle, or has lost something.
    #[default]
    Unknown,
    Outside,
    Inside,
}

/// What was executed since the last Sync.
#[derive(Default)]
pub struct Pipeline {
    block: Block,
    /// Those that ran outside of a block, and have ended.
    open: Vec<Ticket>,
    /// Whether one of them may have changed something.
    writes: bool,
}

impl Pipeline {
    /// An execution of `text` has ended with `tag`.
    pub fn end(&mut self, text: &[u8], tag: &[u8], ticket: Ticket, found: &mut Found<'_>) {
        match tag.strip_suffix(b"\0").unwrap_or(tag) {
            b"BEGIN" | b"START TRANSACTION" => self.block = Block::Inside,
            b"COMMIT" | b"PREPARE TRANSACTION" => self.leave_block(found),
            b"ROLLBACK" if !has_word(text, b"to") => self.leave_block(found),
            _ if self.block == Block::Outside => {
                if self.open.len() >= OPEN_MAX {
                    self.settle(found);
                }
                self.open.push(ticket);
                self.writes |= !is_read(text);
                return;
            }
            _ => {}
        }
        found.order.finish(ticket);
    }

    /// What ran before stays as it is, whatever fails behind it.
    fn leave_block(&mut self, found: &mut Found<'_>) {
        self.settle(found);
        self.block = Block::Outside;
    }

    fn settle(&mut self, found: &mut Found<'_>) {
        self.open.drain(..).for_each(|ticket| found.order.finish(ticket));
        self.writes = false;
    }

    /// Something failed. Whether it is to be left out like what it has undone: without that it might succeed.
    pub fn fail(&mut self, found: &mut Found<'_>) -> bool {
        if !self.writes {
            self.settle(found);
            return false;
        }
        found.skipped.rolled_back_statements += self.open.len() as u64;
        self.open.drain(..).for_each(|ticket| found.order.discard(ticket));
        self.writes = false;
        self.block == Block::Outside
    }

    /// The server is ready for the next pipeline, and says by `status` where it is; it is not known if that is empty.
    pub fn take_ready(&mut self, status: &[u8], found: &mut Found<'_>) {
        self.settle(found);
        self.block = match status {
            b"I" => Block::Outside,
            b"T" | b"E" => Block::Inside,
            _ => Block::Unknown,
        };
    }
}

fn is_read(text: &[u8]) -> bool {
    let first = words(text).next().unwrap_or_default();
    ["select", "show", "values", "fetch"].iter().any(|word| first.eq_ignore_ascii_case(word.as_bytes()))
}

fn has_word(text: &[u8], word: &[u8]) -> bool {
    words(text).any(|one| one.eq_ignore_ascii_case(word))
}

fn words(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|byte| !byte.is_ascii_alphanumeric()).filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::super::PostgresSession;
    use crate::connection::Found;
    use crate::order::Order;
    use crate::statement::{CaptureEvent, Dialect, Session, Skipped};
    use crate::stream::Arrived;
    use std::net::SocketAddr;
    use std::ops::ControlFlow;

    /// A session from its start on, and what was found in it.
    struct Talk {
        session: PostgresSession,
        order: Order,
        skipped: Skipped,
        at_us: i64,
    }

    fn message(kind: u8, body: &[u8]) -> Vec<u8> {
        [&[kind][..], &(body.len() as u32 + 4).to_be_bytes(), body].concat()
    }

    /// Executions of `texts`, and a Sync.
    fn pipeline(texts: &[&str]) -> Vec<u8> {
        let one = |text: &&str| {
            let parse = message(b'P', &[&b"\0"[..], text.as_bytes(), b"\0\0\0"].concat());
            [parse, message(b'B', &[0; 8]), message(b'E', &[0; 5])].concat()
        };
        [texts.iter().flat_map(one).collect::<Vec<u8>>(), message(b'S', b"")].concat()
    }

    /// The answer to an execution with this tag.
    fn done(tag: &str) -> Vec<u8> {
        [message(b'1', b""), message(b'2', b""), message(b'C', &[tag.as_bytes(), b"\0"].concat())].concat()
    }

    fn error() -> Vec<u8> {
        [message(b'1', b""), message(b'2', b""), message(b'E', b"")].concat()
    }

    fn ready(status: &[u8]) -> Vec<u8> {
        message(b'Z', status)
    }

    impl Talk {
        /// A session of which the server says `status` when it is ready first.
        fn begun(status: &[u8]) -> Talk {
            let (session, order, skipped) = (PostgresSession::new(true), Order::default(), Skipped::default());
            let mut talk = Talk { session, order, skipped, at_us: 0 };
            let start = [&16u32.to_be_bytes()[..], &196_608u32.to_be_bytes(), b"user\0a\0\0"].concat();
            talk.say(&start, &ready(status));
            talk
        }

        /// Takes what the client sends and what the server answers.
        fn say(&mut self, client: &[u8], server: &[u8]) {
            let end = SocketAddr::from(([127, 0, 0, 1], 1));
            let mut server_version = None;
            let mut found = Found {
                order: &mut self.order,
                skipped: &mut self.skipped,
                session: Session { number: 1, client: end, server: end, began_us: 0 },
                dialect: Dialect::Postgres,
                server_version: &mut server_version,
            };
            self.at_us += 1;
            let arrived = |bytes| Arrived::Bytes { at_us: self.at_us, bytes, is_segment_start: true };
            self.session.take_client(&arrived(client), &mut found);
            self.session.take_server(&arrived(server), &mut found);
        }

        /// The texts that are given out; behind one that failed stands an exclamation mark.
        fn given(&mut self) -> Vec<String> {
            let mut given = Vec::new();
            let flow = self.order.flush(&mut |event| {
                if let CaptureEvent::Statement(one) = event {
                    given.push(format!("{}{}", one.text, if one.failed { "!" } else { "" }));
                }
                ControlFlow::Continue(())
            });
            assert!(flow.is_continue());
            given
        }
    }

    const INSERTS: [&str; 3] = ["INSERT a", "INSERT b", "INSERT c"];

    #[test]
    fn what_ran_before_an_error_in_its_pipeline_was_undone_and_is_left_out() {
        let mut talk = Talk::begun(b"I");
        talk.say(&pipeline(&INSERTS), &[done("INSERT 0 1"), error(), ready(b"I")].concat());
        assert!(talk.given().is_empty());
        assert_eq!((talk.skipped.rolled_back_statements, talk.skipped.not_run_statements), (2, 1));
        talk.say(&pipeline(&["INSERT d"]), &done("INSERT 0 1"));
        assert!(talk.given().is_empty(), "an error may follow");
        talk.say(b"", &ready(b"I"));
        assert_eq!(talk.given(), ["INSERT d"]);
        talk.say(&pipeline(&["INSERT e"]), &[error(), ready(b"I")].concat());
        assert_eq!(talk.given(), ["INSERT e!"], "it has undone nothing else");
        // A constraint that is checked at the end fails with the Sync.
        talk.say(&pipeline(&["INSERT f"]), &[done("INSERT 0 1"), message(b'E', b""), ready(b"I")].concat());
        assert!(talk.given().is_empty());
    }

    #[test]
    fn reads_before_an_error_stay() {
        let mut talk = Talk::begun(b"I");
        let texts = ["select 1", "SELECT 1/0"];
        talk.say(&pipeline(&texts), &[done("SELECT 1"), error(), ready(b"I")].concat());
        assert_eq!(
            (talk.given(), talk.skipped.rolled_back_statements),
            (vec!["select 1".into(), "SELECT 1/0!".into()], 0)
        );
    }

    #[test]
    fn what_is_in_a_block_stays_because_its_client_rolls_it_back() {
        for status in [&b"T"[..], b""] {
            let mut talk = Talk::begun(status);
            talk.say(&pipeline(&INSERTS), &[done("INSERT 0 1"), error(), ready(b"E")].concat());
            assert_eq!(talk.given(), ["INSERT a", "INSERT b!"], "{status:?}");
        }
        let mut talk = Talk::begun(b"I");
        let answers = [done("BEGIN"), done("INSERT 0 1"), error(), ready(b"E")].concat();
        talk.say(&pipeline(&["BEGIN", "INSERT a", "INSERT b"]), &answers);
        assert_eq!(talk.given(), ["BEGIN", "INSERT a", "INSERT b!"]);
    }

    #[test]
    fn what_was_committed_within_a_pipeline_stays() {
        let mut talk = Talk::begun(b"T");
        let texts = ["INSERT a", "COMMIT", "INSERT b", "INSERT c"];
        let answers = [done("INSERT 0 1"), done("COMMIT"), done("INSERT 0 1"), error(), ready(b"I")].concat();
        talk.say(&pipeline(&texts), &answers);
        assert_eq!((talk.given(), talk.skipped.rolled_back_statements), (vec!["INSERT a".into(), "COMMIT".into()], 2));
        let mut talk = Talk::begun(b"T");
        let texts = ["ROLLBACK TO SAVEPOINT s", "INSERT a", "INSERT b"];
        let answers = [done("ROLLBACK"), done("INSERT 0 1"), error(), ready(b"E")].concat();
        talk.say(&pipeline(&texts), &answers);
        assert_eq!(talk.given(), ["ROLLBACK TO SAVEPOINT s", "INSERT a", "INSERT b!"], "it is still in its block");
    }
}
