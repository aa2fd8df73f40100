//! Sockets of a thread by epoll: a call for each send and each read, and one for many waits.
//!
//! In: connections. Out: what has come to them. Limits: edge-triggered, so that each arrival is announced once and read until the socket
//! is empty.

use super::ConnectionSlots;
use crate::server::memory::{HandedSocket, SocketMemory};
use model::Nanos;
use rustix::event::epoll::{self, Event, EventData, EventFlags};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};
use rustix::time::Timespec;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{BorrowedFd, OwnedFd};

/// Events taken by one wait; the others are left to the next.
const READY_MAX: usize = 64;

/// Bytes read by one call: an answer in most cases.
const READ_AT_ONCE: usize = 16 << 10;

/// The end of a connection has a flag of its own: one event announces it and the bytes before it.
const ANSWERS: EventFlags = EventFlags::IN.union(EventFlags::RDHUP).union(EventFlags::ET);
const ENDS: EventFlags = EventFlags::RDHUP.union(EventFlags::HUP).union(EventFlags::ERR);

pub struct EpollSockets {
    epoll: OwnedFd,
    /// Events of the last wait that were not taken yet, in reverse order.
    ready: Vec<(u32, EventFlags)>,
    buffer: Box<[u8]>,
}

impl EpollSockets {
    pub fn open() -> io::Result<EpollSockets> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        Ok(EpollSockets { epoll, ready: Vec::with_capacity(READY_MAX), buffer: vec![0; READ_AT_ONCE].into() })
    }

    pub fn add(&mut self, slot: u32, socket: &HandedSocket<'_>) -> io::Result<()> {
        Ok(epoll::add(&self.epoll, socket.fd, EventData::new_u64(slot.into()), ANSWERS)?)
    }

    /// When its socket is closed, the watch ends.
    pub fn remove(&mut self, slot: u32) {
        self.ready.retain(|(ready, _)| *ready != slot);
    }

    #[inline]
    pub fn send(&mut self, slot: u32, socket: HandedSocket<'_>) {
        if !send_some(socket.memory, socket.fd) {
            self.watch(slot, &socket, ANSWERS | EventFlags::OUT);
        }
    }

    #[cold]
    fn watch(&self, slot: u32, socket: &HandedSocket<'_>, flags: EventFlags) {
        // A socket that cannot be watched is found by those who wait for its answer.
        let _ = epoll::modify(&self.epoll, socket.fd, EventData::new_u64(slot.into()), flags);
    }

    #[inline]
    pub fn wait_at_most(&mut self, timeout: Nanos) {
        let Nanos(ns) = timeout;
        let timespec = |ns: u64| Timespec { tv_sec: (ns / 1_000_000_000) as i64, tv_nsec: (ns % 1_000_000_000) as i64 };
        // epoll waits for full milliseconds: too long for what falls due before. Poll does not.
        let is_whole = ns.is_multiple_of(1_000_000);
        if !is_whole && poll(&mut [PollFd::new(&self.epoll, PollFlags::IN)], Some(&timespec(ns))) == Ok(0) {
            return;
        }
        let timeout = timespec(if is_whole { ns } else { 0 });
        // If a signal comes, the caller asks again.
        if let Ok((ready, _)) = epoll::wait(&self.epoll, &mut [MaybeUninit::uninit(); READY_MAX], Some(&timeout)) {
            self.ready.extend(ready.iter().rev().map(|event: &Event| (event.data.u64() as u32, event.flags)));
        }
    }

    #[inline]
    pub fn has_more(&self) -> bool {
        !self.ready.is_empty()
    }

    #[inline]
    pub fn take_next(&mut self, connections: &mut impl ConnectionSlots) -> Option<u32> {
        let (slot, flags) = self.ready.pop()?;
        let mut socket = connections.socket_of(slot)?;
        if flags.contains(EventFlags::OUT) && send_some(socket.memory, socket.fd) {
            self.watch(slot, &socket, ANSWERS);
        }
        if flags.intersects(EventFlags::IN | ENDS) {
            self.receive_all(&mut socket, flags.intersects(ENDS));
        }
        Some(slot)
    }

    /// Reads until the socket is empty: a read that does not fill the buffer has emptied it.
    #[inline]
    fn receive_all(&mut self, socket: &mut HandedSocket<'_>, to_the_end: bool) {
        loop {
            match recv(socket.fd, &mut *self.buffer, RecvFlags::DONTWAIT) {
                Ok((0, _)) => return socket.memory.put_end(),
                Ok((count, _)) => {
                    socket.memory.put_received(&self.buffer[..count]);
                    if count < self.buffer.len() && !to_the_end {
                        return;
                    }
                }
                Err(Errno::INTR) => {}
                Err(Errno::WOULDBLOCK) => return,
                Err(error) => return socket.memory.put_failure(error.into()),
            }
        }
    }
}

/// Sends as much as there is room for. True if nothing is left to send.
#[inline]
fn send_some(memory: &mut SocketMemory, fd: BorrowedFd<'_>) -> bool {
    match send(fd, &memory.outgoing, SendFlags::DONTWAIT | SendFlags::NOSIGNAL) {
        Ok(sent) if sent == memory.outgoing.len() => memory.outgoing.clear(),
        Ok(sent) => drop(memory.outgoing.drain(..sent)),
        Err(Errno::WOULDBLOCK | Errno::INTR) => {}
        Err(error) => {
            memory.outgoing.clear();
            memory.put_failure(error.into());
        }
    }
    memory.outgoing.is_empty()
}
