//! The sockets of one thread: what its connections write is sent, and what comes is put into their memories, by io_uring or by epoll.
//!
//! In: connections by their slots, each with its socket and its memory. Out: the slots to which something has come, one at a time.
//! Limits: used by the thread that has opened it. A failure to send is one of the connection, whose memory then ends.
//!
//! With io_uring, sends wait in the thread's own queue until it has handled all that the last call brought, or until [`ring::SENDS_MAX`]
//! of them wait: one call then sends them all and waits. With epoll each send is a call of its own, at once, and so is each read. In both
//! ways an operation has begun before its bytes come here, so that this wait is in its time.

mod buffers;
mod epoll;
mod ring;

use self::epoll::EpollSockets;
use self::ring::RingSockets;
use crate::ring::RingSetup;
use crate::server::memory::{HandedSocket, SocketMemory};
use model::{Fact, Nanos};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::OnceLock;

/// The connections of a thread by their slots.
pub trait ConnectionSlots {
    /// The connection in `slot`, if there is one.
    fn socket_of(&mut self, slot: u32) -> Option<HandedSocket<'_>>;
}

/// The sockets of one thread.
pub enum Sockets {
    Ring(Box<RingSockets>),
    Epoll(EpollSockets),
}

/// How sockets are read and written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SocketWay {
    Ring(RingSetup),
    Epoll,
}

impl SocketWay {
    /// By io_uring if the kernel can do all that it takes.
    pub fn best() -> SocketWay {
        SocketWay::by_ring().unwrap_or(SocketWay::Epoll)
    }

    /// By io_uring, or why that cannot be.
    pub fn by_ring() -> Result<SocketWay, &'static str> {
        static TRIED: OnceLock<Result<RingSetup, String>> = OnceLock::new();
        let tried = TRIED.get_or_init(|| try_ring().map_err(|error| host::error::system_words(&error)));
        tried.as_ref().map(|setup| SocketWay::Ring(*setup)).map_err(String::as_str)
    }

    /// What a reader of the run wants to know.
    pub fn facts(self) -> Vec<Fact> {
        match self {
            SocketWay::Ring(setup) => vec![Fact::new("client.sockets", "io_uring"), setup.fact()],
            SocketWay::Epoll => {
                let why = SocketWay::by_ring()
                    .err()
                    .map_or(String::new(), |why| format!("; io_uring cannot be used here: {why}"));
                vec![Fact::new("client.sockets", format!("epoll{why}"))]
            }
        }
    }
}

/// A ring that has received a byte and sent one: with a kernel that lacks a part, the connection would fail.
fn try_ring() -> io::Result<RingSetup> {
    struct One(UnixStream, SocketMemory);
    impl ConnectionSlots for One {
        fn socket_of(&mut self, _: u32) -> Option<HandedSocket<'_>> {
            Some(HandedSocket { fd: self.0.as_fd(), memory: &mut self.1 })
        }
    }
    let setup = RingSetup::probe()?;
    let (ours, mut theirs) = UnixStream::pair()?;
    theirs.set_nonblocking(true)?;
    let (mut one, mut byte) = (One(ours, SocketMemory::default()), [0]);
    let mut sockets = Sockets::open(SocketWay::Ring(setup), 1)?;
    sockets.add(0, one.socket_of(0).expect("it is there"))?;
    theirs.write_all(b"?")?;
    sockets.wait_at_most(Nanos::from_millis(1_000));
    sockets.take_next(&mut one);
    one.1.read_exact(&mut byte)?;
    one.1.write_all(b"!")?;
    sockets.send(0, one.socket_of(0).expect("it is there"));
    sockets.wait_at_most(Nanos(0));
    theirs.read_exact(&mut byte)?;
    Ok(setup)
}

impl Sockets {
    /// For connections in the slots below `slots`.
    pub fn open(way: SocketWay, slots: u32) -> io::Result<Sockets> {
        Ok(match way {
            SocketWay::Ring(setup) => Sockets::Ring(Box::new(RingSockets::open(setup, slots)?)),
            SocketWay::Epoll => Sockets::Epoll(EpollSockets::open()?),
        })
    }

    /// Takes a new connection into `slot`, which is free.
    pub fn add(&mut self, slot: u32, socket: HandedSocket<'_>) -> io::Result<()> {
        match self {
            Sockets::Ring(ring) => ring.add(slot, &socket),
            Sockets::Epoll(epoll) => epoll.add(slot, &socket),
        }
    }

    /// Forgets the connection in `slot`. Called before its socket is closed.
    #[cold]
    pub fn remove(&mut self, slot: u32, socket: BorrowedFd<'_>) {
        match self {
            Sockets::Ring(ring) => ring.remove(slot, socket),
            Sockets::Epoll(epoll) => epoll.remove(slot),
        }
    }

    /// Sends what the connection in `slot` has written.
    #[inline]
    pub fn send(&mut self, slot: u32, socket: HandedSocket<'_>) {
        match self {
            Sockets::Ring(ring) => ring.send(slot, socket),
            Sockets::Epoll(epoll) => epoll.send(slot, socket),
        }
    }

    /// Waits until something comes, or there is room to send more, for at most `timeout`.
    #[inline]
    pub fn wait_at_most(&mut self, timeout: Nanos) {
        match self {
            Sockets::Ring(ring) => ring.wait_at_most(timeout),
            Sockets::Epoll(epoll) => epoll.wait_at_most(timeout),
        }
    }

    /// Whether there may be more to take without a wait.
    #[inline]
    pub fn has_more(&mut self) -> bool {
        match self {
            Sockets::Ring(ring) => ring.has_more(),
            Sockets::Epoll(epoll) => epoll.has_more(),
        }
    }

    /// Puts what came next into the memory of its slot among `connections`, and gives the slot: bytes have come to it, or the end, or
    /// more of its own were sent.
    #[inline]
    pub fn take_next(&mut self, connections: &mut impl ConnectionSlots) -> Option<u32> {
        match self {
            Sockets::Ring(ring) => ring.take_next(connections),
            Sockets::Epoll(epoll) => epoll.take_next(connections),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Connections whose other ends the test has.
    #[derive(Default)]
    struct Lab {
        ours: Vec<Option<(UnixStream, SocketMemory)>>,
        theirs: Vec<UnixStream>,
    }

    impl ConnectionSlots for Lab {
        fn socket_of(&mut self, slot: u32) -> Option<HandedSocket<'_>> {
            let (socket, memory) = self.ours[slot as usize].as_mut()?;
            Some(HandedSocket { fd: (*socket).as_fd(), memory })
        }
    }

    impl Lab {
        /// Opens a connection in `slot`.
        fn connect(&mut self, sockets: &mut Sockets, slot: u32) {
            let (ours, theirs) = UnixStream::pair().unwrap();
            (self.ours[slot as usize], self.theirs[slot as usize]) = (Some((ours, SocketMemory::default())), theirs);
            sockets.add(slot, self.socket_of(slot).unwrap()).unwrap();
        }

        fn close(&mut self, sockets: &mut Sockets, slot: u32) {
            sockets.remove(slot, self.socket_of(slot).unwrap().fd);
            self.ours[slot as usize] = None;
        }

        fn send(&mut self, sockets: &mut Sockets, slot: u32, bytes: &[u8]) {
            let socket = self.socket_of(slot).unwrap();
            socket.memory.write_all(bytes).unwrap();
            sockets.send(slot, socket);
        }

        /// The slots to which what is there now has come.
        fn come(&mut self, sockets: &mut Sockets) -> Vec<u32> {
            let mut all = Vec::new();
            loop {
                sockets.wait_at_most(Nanos(0));
                let before = all.len();
                all.extend(std::iter::from_fn(|| sockets.take_next(self)));
                // A wait brings a part only of what is there for many.
                if all.len() == before {
                    return all;
                }
            }
        }

        /// What is in the memory of `slot`, and then its end if it has one.
        fn received(&mut self, slot: u32) -> String {
            let (mut text, memory) = (Vec::new(), self.socket_of(slot).unwrap().memory);
            let end = memory.read_to_end(&mut text).map_or("", |_| ".");
            String::from_utf8(text).unwrap() + end
        }
    }

    /// A lab with connections in the slots below `count`, in both ways.
    fn in_both_ways(count: u32, test: impl Fn(Lab, Sockets)) {
        for way in [SocketWay::best(), SocketWay::Epoll] {
            let mut sockets = Sockets::open(way, count).unwrap();
            let mut lab = Lab::default();
            for slot in 0..count {
                lab.ours.push(None);
                lab.theirs.push(UnixStream::pair().unwrap().0);
                lab.connect(&mut sockets, slot);
            }
            test(lab, sockets);
        }
    }

    #[test]
    fn what_is_sent_arrives_and_each_answer_is_in_the_memory_of_its_own_connection() {
        in_both_ways(40, |mut lab, mut sockets| {
            (0..40).for_each(|slot| lab.send(&mut sockets, slot, format!("to {slot:2}").as_bytes()));
            assert!(lab.come(&mut sockets).is_empty());
            for slot in 0..40 {
                let mut said = [0; 5];
                lab.theirs[slot].read_exact(&mut said).unwrap();
                assert_eq!(said, format!("to {slot:2}").as_bytes());
                lab.theirs[slot].write_all(format!("from {slot}").as_bytes()).unwrap();
            }
            let mut come = lab.come(&mut sockets);
            come.sort_unstable();
            assert_eq!(come, (0..40).collect::<Vec<_>>());
            (0..40).for_each(|slot| assert_eq!(lab.received(slot), format!("from {slot}")));
        });
    }

    #[test]
    fn the_last_bytes_come_before_the_end_that_comes_with_them() {
        in_both_ways(1, |mut lab, mut sockets| {
            lab.theirs[0].write_all(b"bye").unwrap();
            lab.theirs[0].shutdown(std::net::Shutdown::Both).unwrap();
            lab.come(&mut sockets);
            assert_eq!(lab.received(0), "bye.");
        });
    }

    #[test]
    fn to_send_to_one_who_has_gone_ends_the_connection() {
        in_both_ways(2, |mut lab, mut sockets| {
            drop(lab.theirs.remove(0));
            lab.send(&mut sockets, 0, b"hello?");
            lab.come(&mut sockets);
            assert!(lab.socket_of(0).unwrap().memory.has_ended() && !lab.socket_of(1).unwrap().memory.has_ended());
        });
    }

    #[test]
    fn bytes_for_which_there_is_no_room_follow_when_there_is_and_those_behind_them_come_last() {
        in_both_ways(2, |mut lab, mut sockets| {
            let long: Vec<u8> = (0..3 << 20).map(|n: u32| (n % 251) as u8).collect();
            lab.send(&mut sockets, 0, &long);
            lab.send(&mut sockets, 1, b"short");
            lab.come(&mut sockets);
            let (mut short, mut piece, mut all) = ([0; 5], vec![0; 1 << 16], Vec::new());
            lab.theirs[1].read_exact(&mut short).unwrap();
            lab.send(&mut sockets, 0, b"end");
            while all.len() < long.len() + 3 {
                let count = lab.theirs[0].read(&mut piece).unwrap();
                all.extend_from_slice(&piece[..count]);
                lab.come(&mut sockets);
            }
            assert!(all.starts_with(&long) && all.ends_with(b"end"));
        });
    }

    #[test]
    fn commands_of_one_connection_that_nobody_has_sent_yet_are_sent_in_their_order() {
        in_both_ways(1, |mut lab, mut sockets| {
            ["one ", "two ", "three"].iter().for_each(|text| lab.send(&mut sockets, 0, text.as_bytes()));
            lab.come(&mut sockets);
            let mut said = [0; 13];
            lab.theirs[0].read_exact(&mut said).unwrap();
            assert_eq!(&said, b"one two three");
        });
    }

    #[test]
    fn more_than_all_buffers_hold_is_received_whole() {
        in_both_ways(3, |mut lab, mut sockets| {
            let mut left: Vec<usize> = vec![1 << 20; 3];
            let mut come = [0; 3];
            while come != [1 << 20; 3] {
                for (slot, left) in left.iter_mut().enumerate().filter(|(_, left)| **left > 0) {
                    lab.theirs[slot].set_nonblocking(true).unwrap();
                    *left -= lab.theirs[slot].write(&vec![b'x'; *left]).unwrap_or(0);
                }
                lab.come(&mut sockets);
                (0..3).for_each(|slot| come[slot as usize] += lab.received(slot).len());
            }
        });
    }

    #[test]
    fn a_new_connection_gets_nothing_of_the_one_before_it_which_is_closed_at_once() {
        in_both_ways(1, |mut lab, mut sockets| {
            lab.theirs[0].write_all(b"late").unwrap();
            sockets.wait_at_most(Nanos(0));
            lab.close(&mut sockets, 0);
            lab.theirs[0].set_nonblocking(true).unwrap();
            let end = lab.theirs[0].read(&mut [0]);
            assert!(!end.is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock), "the other side sees the end");
            lab.connect(&mut sockets, 0);
            assert!(lab.come(&mut sockets).is_empty() && lab.received(0).is_empty());
            lab.theirs[0].write_all(b"own").unwrap();
            assert_eq!((lab.come(&mut sockets), lab.received(0).as_str()), (vec![0], "own"));
        });
    }
}
