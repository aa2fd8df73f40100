//! The lines of a log, one by one, each with its number.
//!
//! In: a reader. Out: lines without their ends. Limits: a line has at most [`LINE_BYTES_MAX`] bytes; bytes that are no UTF-8 become the
//! sign for that, because a log has what clients sent.

use crate::recording_error::RecordingError;
use std::io::BufRead;

/// The longest line: the largest packet of MySQL is 1 GiB, and a statement of more than this is not replayed.
pub(super) const LINE_BYTES_MAX: usize = 64 << 20;

/// Lines that are read one after the other.
pub(super) struct Lines<R> {
    reader: R,
    number: u64,
    bytes: Vec<u8>,
    /// The line that was read last, if it is to be read again.
    is_pending: bool,
    /// Whether the last line ended as lines do.
    is_whole: bool,
}

impl<R: BufRead> Lines<R> {
    pub(super) fn new(reader: R) -> Lines<R> {
        Lines { reader, number: 0, bytes: Vec::new(), is_pending: false, is_whole: true }
    }

    /// The number of the line that was read last, from 1.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// Whether the line that was read last has its end.
    pub(super) fn is_whole(&self) -> bool {
        self.is_whole
    }

    /// The next line; `None` at the end.
    pub(super) fn next_line(&mut self) -> Result<Option<String>, RecordingError> {
        if !std::mem::take(&mut self.is_pending) {
            self.bytes.clear();
            let limit = LINE_BYTES_MAX as u64 + 1;
            let read = std::io::Read::take(&mut self.reader, limit).read_until(b'\n', &mut self.bytes);
            let read = read
                .map_err(|error| RecordingError::of_file(format!("cannot be read: {}", model::system_words(&error))))?;
            if read == 0 {
                return Ok(None);
            }
            self.number += 1;
            if self.bytes.len() > LINE_BYTES_MAX {
                return Err(RecordingError::at(self.number, "the line has more than 64 MiB"));
            }
            self.is_whole = self.bytes.ends_with(b"\n");
        }
        let end = self.bytes.strip_suffix(b"\n").unwrap_or(&self.bytes);
        let end = end.strip_suffix(b"\r").unwrap_or(end);
        Ok(Some(String::from_utf8_lossy(end).into_owned()))
    }

    /// The next call of [`Lines::next_line`] returns the same line again.
    pub(super) fn put_back(&mut self) {
        self.is_pending = true;
    }
}
