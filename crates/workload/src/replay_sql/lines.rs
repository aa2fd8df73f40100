//! The lines of a log, one by one, each with its number.
//!
//! In: a reader. Out: lines without their ends. Limits: a line has at most [`LINE_BYTES_MAX`] bytes; bytes that are no UTF-8 become
//! signs of their own ([`sql::text_of_bytes`]), because a log has what clients sent. Zeros before a line are dropped: a file that was cut while its server wrote on has them.

use super::skipped::Skipped;
use super::source::unreadable;
use crate::recording_error::RecordingError;
use std::collections::VecDeque;
use std::io::{BufRead, Read};

/// The longest line: the largest packet of MySQL is 1 GiB, and a statement of more than this is not replayed.
pub(super) const LINE_BYTES_MAX: usize = 64 << 20;

/// Lines that are read one after the other.
pub(super) struct Lines<R> {
    reader: R,
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

#[derive(Default)]
struct Line {
    bytes: Vec<u8>,
    /// Whether it ended as lines do.
    is_whole: bool,
}

impl Line {
    fn text(&self) -> &[u8] {
        let end = self.bytes.strip_suffix(b"\n").unwrap_or(&self.bytes);
        end.strip_suffix(b"\r").unwrap_or(end)
    }
}

impl<R: BufRead> Lines<R> {
    pub(super) fn new(reader: R) -> Lines<R> {
        let current = Line { bytes: Vec::new(), is_whole: true };
        let (ahead, skipped) = (VecDeque::new(), Skipped::default());
        Lines { reader, number: 0, current, ahead, read: 0, is_pending: false, skipped }
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
        let text = sql::text_of_bytes(self.current.text());
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
        while self.ahead.len() < behind {
            match self.read_line(Vec::new())? {
                Some(line) => self.ahead.push_back(line),
                None => return Ok(None),
            }
        }
        Ok(Some(self.ahead[behind - 1].text()))
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
        assert_eq!((lines.next_line().unwrap().unwrap(), lines.number()), ("a".into(), 1));
        lines.put_back();
        assert_eq!((lines.next_line().unwrap().unwrap(), lines.number()), ("a".into(), 1));
        assert_eq!((lines.next_line().unwrap().unwrap(), lines.number(), lines.is_whole()), ("b".into(), 2, true));
        assert_eq!(lines.next_line().unwrap().unwrap(), sql::text_of_bytes(b"c\xffd"));
        assert!(!lines.is_whole() && lines.next_line().unwrap().is_none());
        let skipped: Vec<String> = lines.skipped.kinds().map(|(name, kind)| format!("{name}: {kind}")).collect();
        assert_eq!(skipped, ["bytes_that_are_no_utf_8: 1, first in line 3", "zeros_before_a_line: 1, first in line 2"]);
    }
}
