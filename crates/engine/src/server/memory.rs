//! The memory between a connection and its socket, if something else reads and writes the socket.
//!
//! In: bytes that were received, and those that the connection writes. Out: a [`Read`] that does not wait, and the bytes to send. Limits:
//! both sides are on one thread; the end of what is received comes after all of its bytes.

use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::BorrowedFd;

/// What has come over a socket and is not read yet, and what is to be sent.
#[derive(Default)]
pub struct SocketMemory {
    received: Vec<u8>,
    /// How much of that was read.
    taken: usize,
    end: Option<ReceiveEnd>,
    /// Bytes to send, the first of them first.
    pub outgoing: Vec<u8>,
}

/// Why nothing more is received.
enum ReceiveEnd {
    /// The other side has closed the connection.
    Closed,
    Failed(io::Error),
}

/// A socket together with its memory.
pub struct HandedSocket<'a> {
    pub fd: BorrowedFd<'a>,
    /// What comes and goes over it.
    pub memory: &'a mut SocketMemory,
}

impl SocketMemory {
    /// Puts bytes behind those that have come.
    #[inline]
    pub fn put_received(&mut self, bytes: &[u8]) {
        self.received.extend_from_slice(bytes);
    }

    /// The other side has closed the connection.
    #[cold]
    pub fn put_end(&mut self) {
        self.end.get_or_insert(ReceiveEnd::Closed);
    }

    /// The socket has failed.
    #[cold]
    pub fn put_failure(&mut self, error: io::Error) {
        self.end.get_or_insert(ReceiveEnd::Failed(error));
    }

    /// Whether nothing more is received.
    #[inline]
    pub fn has_ended(&self) -> bool {
        self.end.is_some()
    }
}

impl Read for SocketMemory {
    #[inline]
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut left = &self.received[self.taken..];
        if left.is_empty() {
            return match &self.end {
                None => Err(ErrorKind::WouldBlock.into()),
                Some(ReceiveEnd::Closed) => Ok(0),
                Some(ReceiveEnd::Failed(error)) => {
                    Err(error.raw_os_error().map_or_else(|| error.kind().into(), io::Error::from_raw_os_error))
                }
            };
        }
        let count = left.read(buffer)?;
        self.taken += count;
        if self.taken == self.received.len() {
            self.received.clear();
            self.taken = 0;
        }
        Ok(count)
    }
}

impl Write for SocketMemory {
    #[inline]
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.outgoing.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_that_came_is_read_before_the_end_and_nothing_is_waited_for() {
        let (mut memory, mut buffer) = (SocketMemory::default(), [0; 3]);
        assert_eq!(memory.read(&mut buffer).unwrap_err().kind(), ErrorKind::WouldBlock);
        memory.put_received(b"abcd");
        memory.put_end();
        assert_eq!((memory.read(&mut buffer).unwrap(), &buffer), (3, b"abc"));
        assert_eq!((memory.read(&mut buffer).unwrap(), buffer[0]), (1, b'd'));
        assert_eq!((memory.read(&mut buffer).unwrap(), memory.has_ended()), (0, true));
    }

    #[test]
    fn a_failure_is_told_as_often_as_it_is_asked_for_and_the_first_counts() {
        let mut memory = SocketMemory::default();
        memory.put_failure(io::Error::from_raw_os_error(libc::ECONNRESET));
        memory.put_end();
        for _ in 0..2 {
            assert_eq!(memory.read(&mut [0]).unwrap_err().kind(), ErrorKind::ConnectionReset);
        }
    }
}
