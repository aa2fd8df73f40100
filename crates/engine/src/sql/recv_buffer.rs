//! Bytes that a server has sent and that are not parsed yet: the receiving half of the clients of SQL servers.
//!
//! In: a socket. Out: slices of that buffer, of the length asked for. One read takes what is
//! there, which is a complete answer in most cases. Limits: the buffer grows to the longest message and stays so. An answer can have a limit of
//! time, which is looked at before each read.

use crate::server::network::unanswered;
use host::deadline::Deadline;
use std::io::{self, ErrorKind, Read};
use std::time::Duration;

/// Holds the answer to a point select a hundred times; pages that no answer reaches take no memory.
const AT_FIRST: usize = 16 << 10;

/// Bytes received, of which some are taken.
pub struct RecvBuffer {
    buffer: Vec<u8>,
    /// `buffer[at..end]` was received and not taken.
    at: usize,
    end: usize,
    /// Where the answer begins that may be taken again from its first byte.
    held: Option<usize>,
    /// How long an answer may take.
    limit: Option<Duration>,
    /// When that is over, once an answer is awaited.
    deadline: Option<Deadline>,
}

impl Default for RecvBuffer {
    fn default() -> RecvBuffer {
        RecvBuffer { buffer: vec![0; AT_FIRST], at: 0, end: 0, held: None, limit: None, deadline: None }
    }
}

impl RecvBuffer {
    /// What is taken from now on is kept until [`RecvBuffer::let_go`].
    pub fn hold(&mut self) {
        self.held = Some(self.at);
    }

    /// What was taken is kept no more. With `again` it comes once more.
    pub fn let_go(&mut self, again: bool) {
        let held = self.held.take().filter(|_| again);
        self.at = held.unwrap_or(self.at);
    }

    /// From now on an answer may take so long.
    pub fn set_limit(&mut self, limit: Duration) {
        self.limit = Some(limit);
    }

    /// What is received from now on is another answer.
    #[inline]
    pub fn begin_answer(&mut self) {
        self.deadline = None;
    }

    /// The next `bytes` bytes, not taken yet; `socket` is read until they are there.
    #[inline]
    pub fn peek(&mut self, bytes: usize, socket: &mut impl Read) -> io::Result<&[u8]> {
        while self.end - self.at < bytes {
            self.receive_more(bytes, socket)?;
        }
        Ok(&self.buffer[self.at..self.at + bytes])
    }

    /// Takes `bytes` bytes, which were peeked at.
    #[inline]
    pub fn take(&mut self, bytes: usize) -> &[u8] {
        let from = self.at;
        self.at += bytes;
        &self.buffer[from..self.at]
    }

    /// Whether everything that was received was taken.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.at == self.end
    }

    /// Reads once, with what is left moved to the front: little or nothing.
    fn receive_more(&mut self, bytes: usize, socket: &mut impl Read) -> io::Result<()> {
        let from = self.held.unwrap_or(self.at);
        if from > 0 {
            self.buffer.copy_within(from..self.end, 0);
        }
        (self.at, self.end) = (self.at - from, self.end - from);
        self.held = self.held.map(|_| 0);
        if self.end == self.buffer.len() {
            // Doubled, so that a large answer is not copied at each of its packets; no more than that, because a server may announce
            // more than it sends.
            self.buffer.resize((self.at + bytes).next_power_of_two().min(2 * self.end), 0);
        }
        self.check_limit()?;
        match socket.read(&mut self.buffer[self.end..]) {
            Ok(0) => Err(ErrorKind::UnexpectedEof.into()),
            Ok(received) => {
                self.end += received;
                Ok(())
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// An error if the answer has taken longer than it may.
    fn check_limit(&mut self) -> io::Result<()> {
        let Some(limit) = self.limit else { return Ok(()) };
        self.deadline
            .get_or_insert_with(|| Deadline::unless_interrupted(limit))
            .time_left()
            .map(drop)
            .map_err(unanswered)
    }
}

/// What a socket that does not wait gave or took; `None` if it could not for now.
#[inline]
pub fn if_ready(done: io::Result<usize>) -> io::Result<Option<usize>> {
    match done {
        Ok(count) => Ok(Some(count)),
        Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A socket on which a text arrives in pieces of at most so many bytes.
    struct Pieces<'a>(&'a [u8], usize);

    impl Read for Pieces<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let count = self.1.min(buffer.len());
            self.0.read(&mut buffer[..count])
        }
    }

    #[test]
    fn what_comes_in_pieces_is_put_together_whatever_their_size() {
        let text: Vec<u8> = (0..100_000u32).map(|n| n as u8).collect();
        for piece in [1, 7, 16_384, 100_000] {
            let (mut inbox, mut socket) = (RecvBuffer::default(), Pieces(&text, piece));
            let mut seen = Vec::new();
            for length in [1, 20_000, 3, 70_000, 9_996] {
                inbox.peek(length, &mut socket).unwrap();
                seen.extend_from_slice(inbox.take(length));
            }
            assert!(seen == text, "in pieces of {piece}");
        }
    }

    #[test]
    fn an_answer_that_has_not_come_as_a_whole_is_taken_again_from_its_first_byte() {
        let text: Vec<u8> = (0..60_000u32).map(|n| n as u8).collect();
        let (mut inbox, mut socket) = (RecvBuffer::default(), Pieces(&text, 7_000));
        let take = |inbox: &mut RecvBuffer, bytes, socket: &mut Pieces| {
            inbox.peek(bytes, socket)?;
            io::Result::Ok(inbox.take(bytes).to_vec())
        };
        assert_eq!(take(&mut inbox, 3, &mut socket).unwrap(), text[..3]);
        for again in [true, true, false] {
            inbox.hold();
            for part in [3..4, 4..20_000, 20_000..50_000] {
                assert!(take(&mut inbox, part.len(), &mut socket).unwrap() == text[part]);
            }
            inbox.let_go(again);
        }
        assert!(take(&mut inbox, 10_000, &mut socket).unwrap() == text[50_000..]);
    }

    #[test]
    fn a_message_that_is_announced_and_not_sent_takes_no_memory() {
        let mut inbox = RecvBuffer::default();
        assert!(inbox.peek(64 << 20, &mut Pieces(&[1; 100_000], 4096)).is_err());
        assert!(inbox.buffer.len() <= 256 << 10, "{}", inbox.buffer.len());
    }

    #[test]
    fn an_answer_that_comes_in_too_many_pieces_is_left_at_its_limit() {
        let mut inbox = RecvBuffer::default();
        inbox.set_limit(Duration::ZERO);
        assert_eq!(inbox.peek(2, &mut Pieces(b"ab", 1)).unwrap_err().kind(), ErrorKind::TimedOut);
        inbox.set_limit(Duration::from_secs(3_600));
        inbox.begin_answer();
        inbox.peek(2, &mut Pieces(b"ab", 1)).unwrap();
    }

    #[test]
    fn a_message_that_is_cut_off_is_an_end_that_nobody_expected() {
        let error = RecvBuffer::default().peek(4, &mut Pieces(b"abc", 2)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::UnexpectedEof);
    }
}
