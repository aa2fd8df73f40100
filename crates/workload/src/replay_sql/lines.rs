//! The lines of a log, one by one, each with its number.
//!
//! In: a reader. Out: lines without their ends. Limits: a line has at most [`LINE_BYTES_MAX`] bytes; bytes that are no UTF-8 become
//! signs of their own ([`sql::text_of_bytes`]), because a log has what clients sent. A line ends in CR LF only if the first ones all do, as in a log
//! written on Windows: elsewhere a CR is of what a client sent. Zeros before a line are dropped: a file that was cut while its server wrote on has them.

use super::skipped::Skipped;
use super::source::unreadable;
use crate::recording_error::RecordingError;
use std::collections::VecDeque;
use std::io::{BufRead, Read};

/// The longest line: the largest packet of MySQL is 1 GiB, and a statement of more than this is not replayed.
pub(super) const LINE_BYTES_MAX: usize = 64 << 20;

/// How far a line is looked for that ends in LF alone: the log may begin within a text whose lines end in CR LF.
const HEAD_LINES: usize = 1_000;
const HEAD_BYTES: usize = 1 << 20;

/// Lines that are read one after the other.
pub(super) struct Lines<R> {
    reader: R,
    end: LineEnd,
    number: u64,
    current: Line,
    /// The lines that were looked at before their turn.
    ahead: VecDeque<Line>,
    /// How many lines were read from the reader.
    read: u64,
    /// If the line that was read last is to be read again.
    is_pending: bool,
    /// What was left out of lines, or replaced in them.
    pub(super) skipped: Skipped,
}

/// What ends each line of a log.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LineEnd {
    /// No line was read yet.
    Unseen,
    Lf,
    CrLf,
}

#[derive(Default)]
struct Line {
    bytes: Vec<u8>,
    /// Whether it ended as lines do.
    is_whole: bool,
}

impl Line {
    fn text(&self, end: LineEnd) -> &[u8] {
        let text = self.bytes.strip_suffix(b"\n").unwrap_or(&self.bytes);
        if end == LineEnd::CrLf { text.strip_suffix(b"\r").unwrap_or(text) } else { text }
    }
}

impl<R: BufRead> Lines<R> {
    pub(super) fn new(reader: R) -> Lines<R> {
        let current = Line { bytes: Vec::new(), is_whole: true };
        let (ahead, skipped) = (VecDeque::new(), Skipped::default());
        Lines { reader, end: LineEnd::Unseen, number: 0, current, ahead, read: 0, is_pending: false, skipped }
    }

    /// The number of the line that was read last, from 1.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// Whether the line that was read last has its end.
    pub(super) fn is_whole(&self) -> bool {
        self.current.is_whole
    }

    /// The next line; `None` at the end.
    pub(super) fn next_line(&mut self) -> Result<Option<String>, RecordingError> {
        self.see_end()?;
        if !std::mem::take(&mut self.is_pending) {
            if let Some(line) = self.ahead.pop_front() {
                self.current = line;
            } else {
                let bytes = std::mem::take(&mut self.current.bytes);
                match self.read_line(bytes)? {
                    Some(line) => self.current = line,
                    None => return Ok(None),
                }
            }
            self.number += 1;
        }
        let text = sql::text_of_bytes(self.current.text(self.end));
        if matches!(text, std::borrow::Cow::Owned(_)) {
            self.skipped.add("bytes that are no UTF-8", self.number);
        }
        Ok(Some(text.into_owned()))
    }

    /// The next call of [`Lines::next_line`] returns the same line again.
    pub(super) fn put_back(&mut self) {
        self.is_pending = true;
    }

    /// The line that is so many behind the one that was read last, from 1; `None` at the end.
    pub(super) fn peek(&mut self, behind: usize) -> Result<Option<&[u8]>, RecordingError> {
        debug_assert!(!self.is_pending, "the line that was put back would be behind itself");
        self.see_end()?;
        while self.ahead.len() < behind {
            match self.read_line(Vec::new())? {
                Some(line) => self.ahead.push_back(line),
                None => return Ok(None),
            }
        }
        Ok(Some(self.ahead[behind - 1].text(self.end)))
    }

    /// Reads ahead up to the first line that ends in LF alone.
    fn see_end(&mut self) -> Result<(), RecordingError> {
        if self.end != LineEnd::Unseen {
            return Ok(());
        }
        self.end = LineEnd::CrLf;
        let mut bytes = 0;
        while self.end == LineEnd::CrLf && self.ahead.len() < HEAD_LINES && bytes < HEAD_BYTES {
            let Some(line) = self.read_line(Vec::new())? else { break };
            bytes += line.bytes.len();
            if line.is_whole && !line.bytes.ends_with(b"\r\n") {
                self.end = LineEnd::Lf;
            }
            self.ahead.push_back(line);
        }
        Ok(())
    }

    /// Reads a line into `bytes`, whose content goes.
    fn read_line(&mut self, mut bytes: Vec<u8>) -> Result<Option<Line>, RecordingError> {
        bytes.clear();
        let number = self.read + 1;
        self.skip_zeros(number)?;
        let limit = LINE_BYTES_MAX as u64 + 1;
        let read = Read::take(&mut self.reader, limit).read_until(b'\n', &mut bytes);
        if read.map_err(|error| unreadable(&error))? == 0 {
            return Ok(None);
        }
        self.read = number;
        if bytes.len() > LINE_BYTES_MAX {
            return Err(RecordingError::at(number, "the line has more than 64 MiB"));
        }
        let is_whole = bytes.ends_with(b"\n");
        Ok(Some(Line { bytes, is_whole }))
    }

    fn skip_zeros(&mut self, number: u64) -> Result<(), RecordingError> {
        let mut found = false;
        loop {
            let buffer = self.reader.fill_buf().map_err(|error| unreadable(&error))?;
            let zeros = buffer.iter().take_while(|byte| **byte == 0).count();
            if zeros == 0 {
                break;
            }
            found = true;
            self.reader.consume(zeros);
        }
        if found {
            self.skipped.add("zeros before a line", number);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_seen_before_their_turn_and_numbered_when_it_comes() {
        let mut lines = Lines::new(&b"a\r\n\0\0\0b\nc\xffd"[..]);
        assert_eq!(lines.peek(3).unwrap(), Some(&b"c\xffd"[..]));
        assert_eq!(lines.peek(4).unwrap(), None);
        assert_eq!((lines.next_line().unwrap().unwrap(), lines.number()), ("a\r".into(), 1));
        lines.put_back();
        assert_eq!((lines.next_line().unwrap().unwrap(), lines.number()), ("a\r".into(), 1));
        assert_eq!((lines.next_line().unwrap().unwrap(), lines.number(), lines.is_whole()), ("b".into(), 2, true));
        assert_eq!(lines.next_line().unwrap().unwrap(), sql::text_of_bytes(b"c\xffd"));
        assert!(!lines.is_whole() && lines.next_line().unwrap().is_none());
        let skipped: Vec<String> = lines.skipped.kinds().map(|(name, kind)| format!("{name}: {kind}")).collect();
        assert_eq!(skipped, ["bytes_that_are_no_utf_8: 1, first in line 3", "zeros_before_a_line: 1, first in line 2"]);
    }

    #[test]
    fn a_cr_is_of_the_end_only_if_all_the_first_lines_have_one() {
        let all = |log: &[u8]| {
            let mut lines = Lines::new(log);
            std::iter::from_fn(|| lines.next_line().unwrap()).collect::<Vec<_>>()
        };
        assert_eq!(all(b"a\r\nb\r\r\n\r\nc"), ["a", "b\r", "", "c"], "as Windows writes it");
        assert_eq!(all(b"'a\r\nb\r\n'\nc\r\n"), ["'a\r", "b\r", "'", "c\r"]);
        let cut = [&b"x\r\n".repeat(HEAD_LINES)[..], b"y\n"].concat();
        assert_eq!(all(&cut).last().map(String::as_str), Some("y"), "what was read ahead is not read again");
        assert_eq!(all(&cut).len(), HEAD_LINES + 1);
    }
}
