//! Sockets of a thread by io_uring: one call for many sends and receives.
//!
//! In: connections. Out: what has come to them, one completion at a time. Limits: Linux 6.0, for receives that stay (multishot) and take a
//! buffer when bytes come.
//!
//! The kernel reads the bytes of a send within the call that submits it, and does not keep them: if there is no room for all, the rest
//! waits here until there is. Only a send that fails, or that is not complete, has a completion. Completions of a connection that is gone
//! have the generation of its slot, and are dropped.

use super::ConnectionSlots;
use super::buffers::{GROUP, ReceiveBuffers};
use crate::ring::{RingSetup, submit_and_wait};
use crate::server::memory::HandedSocket;
use io_uring::{IoUring, cqueue, opcode, squeue, types};
use model::Nanos;
use rustix::io::Errno;
use rustix::net::SendFlags;
use std::io;
use std::mem::ManuallyDrop;
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};

/// Sends that may wait for each other until they are submitted by one call.
pub const SENDS_MAX: u32 = 16;

/// Receive buffers for few connections, and for many: with fewer buffers than answers that come at once, the receives start again.
const BUFFERS: [u32; 2] = [16, 8192];

/// Sent within the call or not at all, all or as much as there is room for, and without a signal if the other side is gone.
const SEND_FLAGS: i32 = libc::MSG_DONTWAIT | libc::MSG_WAITALL | libc::MSG_NOSIGNAL;

pub struct RingSockets {
    ring: ManuallyDrop<IoUring>,
    /// Dropped after the ring, if the kernel has ended all that it received.
    buffers: ManuallyDrop<ReceiveBuffers>,
    slots: Vec<RingSlot>,
    /// The number of the next call that submits.
    call: u64,
}

#[derive(Default)]
struct RingSlot {
    /// Counts the connections that were here.
    generation: u32,
    /// What was sent last.
    sending: Vec<u8>,
    /// How much of that the socket took, if it was not all.
    sent: usize,
    /// Whether the rest waits for room.
    awaits_room: bool,
    /// The call that submits the last send.
    call: u64,
}

/// What a completion is of. Its number is part of the completion's name.
#[derive(Clone, Copy, PartialEq, Eq)]
enum RingOp {
    Receive,
    Send,
    Room,
    Cancel,
}

/// The name of an operation: its kind in the upper 2 bits, 30 of the generation, and the slot.
fn name_of(op: RingOp, slot: u32, generation: u32) -> u64 {
    (op as u64) << 62 | u64::from(generation & GENERATIONS) << 32 | u64::from(slot)
}

const GENERATIONS: u32 = (1 << 30) - 1;

fn parse_name(name: u64) -> (RingOp, u32, u32) {
    let op = [RingOp::Receive, RingOp::Send, RingOp::Room, RingOp::Cancel][(name >> 62) as usize];
    (op, name as u32, (name >> 32) as u32 & GENERATIONS)
}

impl RingSockets {
    pub fn open(setup: RingSetup, slots: u32) -> io::Result<RingSockets> {
        let [few, many] = BUFFERS;
        let buffers = (2 * slots).next_power_of_two().clamp(few, many);
        // Each buffer has a completion, and each slot may have the end of its receive and of a send.
        let ring = setup.build(SENDS_MAX, (buffers + 2 * slots).next_power_of_two())?;
        let buffers = ReceiveBuffers::register(&ring, buffers as u16)?;
        let slots = (0..slots).map(|_| RingSlot::default()).collect();
        Ok(RingSockets { ring: ManuallyDrop::new(ring), buffers: ManuallyDrop::new(buffers), slots, call: 1 })
    }

    pub fn add(&mut self, slot: u32, socket: &HandedSocket<'_>) -> io::Result<()> {
        self.slots[slot as usize].awaits_room = false;
        self.receive(slot, socket.fd.as_raw_fd())
    }

    /// Ends what the kernel does for the connection, and then drops what it has already done.
    pub fn remove(&mut self, slot: u32, socket: BorrowedFd<'_>) {
        self.slots[slot as usize].generation = self.slots[slot as usize].generation.wrapping_add(1) & GENERATIONS;
        // Without it the kernel would keep the socket open.
        let _ = self.cancel(types::CancelBuilder::fd(types::Fd(socket.as_raw_fd())).all());
    }

    fn cancel(&mut self, which: types::CancelBuilder) -> io::Result<()> {
        let cancel = opcode::AsyncCancel2::new(which).build().flags(squeue::Flags::SKIP_SUCCESS);
        self.push(&cancel.user_data(name_of(RingOp::Cancel, 0, 0)))?;
        self.submit_and_wait(Nanos(0))
    }

    /// Receives from now on, until the connection ends.
    fn receive(&mut self, slot: u32, fd: RawFd) -> io::Result<()> {
        let name = name_of(RingOp::Receive, slot, self.slots[slot as usize].generation);
        self.push(&opcode::RecvMulti::new(types::Fd(fd), GROUP).build().user_data(name))
    }

    #[inline]
    pub fn send(&mut self, slot: u32, socket: HandedSocket<'_>) {
        let HandedSocket { fd, memory } = socket;
        if self.slots[slot as usize].call == self.call {
            // The kernel has not read the last bytes yet. Only a server that answers before it is asked comes here.
            let _ = self.submit_and_wait(Nanos(0));
        }
        let place = &mut self.slots[slot as usize];
        if place.call == self.call {
            return memory.put_failure(queue_is_full());
        }
        if place.awaits_room {
            return place.sending.append(&mut memory.outgoing);
        }
        std::mem::swap(&mut place.sending, &mut memory.outgoing);
        memory.outgoing.clear();
        (place.sent, place.call) = (0, self.call);
        let send = opcode::Send::new(types::Fd(fd.as_raw_fd()), place.sending.as_ptr(), place.sending.len() as u32);
        let send = send.flags(SEND_FLAGS).build().flags(squeue::Flags::SKIP_SUCCESS);
        let name = name_of(RingOp::Send, slot, place.generation);
        if let Err(error) = self.push(&send.user_data(name)) {
            memory.put_failure(error);
        }
        // If the push had to make room by a call, this send is of the next.
        self.slots[slot as usize].call = self.call;
    }

    /// Queues an operation, after a call if the queue is full.
    #[inline]
    fn push(&mut self, entry: &squeue::Entry) -> io::Result<()> {
        for _ in 0..2 {
            // SAFETY: a send names bytes of its slot, which stay as they are until a call has submitted it (`RingSlot::call`); no other
            // operation names memory, but for the buffers that receives choose, which live as long as the ring.
            if unsafe { self.ring.submission().push(entry) }.is_ok() {
                return Ok(());
            }
            self.submit_and_wait(Nanos(0))?;
        }
        Err(queue_is_full())
    }

    #[inline]
    fn submit_and_wait(&mut self, timeout: Nanos) -> io::Result<()> {
        let called = submit_and_wait(&mut self.ring, timeout);
        // What the kernel did not take is of the next call.
        if self.ring.submission().is_empty() {
            self.call += 1;
        }
        called
    }

    #[inline]
    pub fn wait_at_most(&mut self, timeout: Nanos) {
        // What cannot be asked for is found missing by those who wait for an answer.
        let _ = self.submit_and_wait(timeout);
    }

    #[inline]
    pub fn has_more(&mut self) -> bool {
        !self.ring.completion().is_empty()
    }

    #[inline]
    pub fn take_next(&mut self, connections: &mut impl ConnectionSlots) -> Option<u32> {
        loop {
            let done = self.ring.completion().next()?;
            let (op, slot, generation) = parse_name(done.user_data());
            let is_here = op != RingOp::Cancel && self.slots[slot as usize].generation == generation;
            let socket = if is_here { connections.socket_of(slot) } else { None };
            let is_taken = match (op, socket) {
                (RingOp::Receive, Some(socket)) => self.take_received(slot, &done, socket),
                (RingOp::Send, Some(socket)) => self.take_send_end(slot, done.result(), socket),
                (RingOp::Room, Some(socket)) => self.send_rest(slot, socket),
                (_, None) | (RingOp::Cancel, _) => false,
            };
            if let Some(number) = cqueue::buffer_select(done.flags()) {
                self.buffers.give(number);
            }
            if is_taken {
                return Some(slot);
            }
        }
    }

    /// Takes what a receive has brought. False if it only starts again.
    #[inline]
    fn take_received(&mut self, slot: u32, done: &cqueue::Entry, socket: HandedSocket<'_>) -> bool {
        let HandedSocket { fd, memory } = socket;
        match (done.result(), cqueue::buffer_select(done.flags())) {
            (length @ 1.., Some(number)) => memory.put_received(self.buffers.bytes(number, length as usize)),
            (0.., _) => memory.put_end(),
            // There was no buffer: those that are taken now make room.
            (error, _) if [libc::ENOBUFS, libc::EINTR, libc::EAGAIN].contains(&-error) => {}
            (error, _) => memory.put_failure(io::Error::from_raw_os_error(-error)),
        }
        if !cqueue::more(done.flags())
            && !memory.has_ended()
            && let Err(error) = self.receive(slot, fd.as_raw_fd())
        {
            memory.put_failure(error);
        }
        done.result() >= 0 || memory.has_ended()
    }

    /// A send has failed, or there was room for a part of it.
    #[cold]
    fn take_send_end(&mut self, slot: u32, result: i32, socket: HandedSocket<'_>) -> bool {
        let place = &mut self.slots[slot as usize];
        match result {
            sent @ 0.. => place.sent = (place.sent + sent as usize).min(place.sending.len()),
            error if -error == libc::EAGAIN => {}
            error => {
                socket.memory.put_failure(io::Error::from_raw_os_error(-error));
                return true;
            }
        }
        self.await_room(slot, socket);
        false
    }

    fn await_room(&mut self, slot: u32, socket: HandedSocket<'_>) {
        let place = &mut self.slots[slot as usize];
        place.awaits_room = true;
        let room = opcode::PollAdd::new(types::Fd(socket.fd.as_raw_fd()), libc::POLLOUT as u32).build();
        let room = room.user_data(name_of(RingOp::Room, slot, place.generation));
        if let Err(error) = self.push(&room) {
            socket.memory.put_failure(error);
        }
    }

    /// There is room for more of the rest.
    #[cold]
    fn send_rest(&mut self, slot: u32, socket: HandedSocket<'_>) -> bool {
        let place = &mut self.slots[slot as usize];
        match rustix::net::send(socket.fd, &place.sending[place.sent..], SendFlags::DONTWAIT | SendFlags::NOSIGNAL) {
            Ok(sent) => place.sent += sent,
            Err(Errno::WOULDBLOCK | Errno::INTR) => {}
            Err(error) => {
                socket.memory.put_failure(error.into());
                return true;
            }
        }
        match place.sent < place.sending.len() {
            true => self.await_room(slot, socket),
            false => place.awaits_room = false,
        }
        true
    }
}

#[cold]
fn queue_is_full() -> io::Error {
    io::Error::other("io_uring takes no more operations")
}

impl Drop for RingSockets {
    /// The kernel must receive nothing into memory that is not there any more.
    fn drop(&mut self) {
        let has_ended = self.cancel(types::CancelBuilder::any()).is_ok();
        // SAFETY: neither is used after this.
        unsafe {
            ManuallyDrop::drop(&mut self.ring);
            if has_ended {
                ManuallyDrop::drop(&mut self.buffers);
            }
        }
    }
}
