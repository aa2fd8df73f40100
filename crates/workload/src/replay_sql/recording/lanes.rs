//! The lanes of a recording: which client sends which statements, and in what order.
//!
//! In: sessions with their begins and ends, the number of clients. Out: for each client the numbers of its statements. Limits: a client has
//! one session after the other; if there are too few clients, it has several at once, or with writes the next one late.

use super::super::spill::{Spill, lost};
use super::SqlRecording;
use super::records::Record;
use crate::recording_error::RecordingError;
use model::Nanos;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;

/// So many numbers are put into place at once: 16 MB.
const CHUNK: usize = 1 << 20;
const BYTES: u64 = 4;

/// When a session was open, after the first statement of all began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct SessionSpan {
    pub begin: Nanos,
    pub end: Nanos,
}

/// Which statements each client sends.
#[derive(Debug)]
pub struct Lanes {
    /// The numbers of the statements, one lane behind the other.
    numbers: Spill,
    /// Where each lane ends, and the next one begins.
    ends: Vec<u64>,
    /// The lane of each session; nothing if writes are not replayed: then none waits for another.
    of_sessions: Vec<u32>,
}

impl Lanes {
    /// How many statements the client of `lane` sends.
    pub fn count_of(&self, lane: u32) -> u64 {
        self.ends[lane as usize] - self.begin_of(lane)
    }

    /// The lane of `session`; `None` if it is not kept, because only reads are replayed.
    pub fn lane_of(&self, session: u32) -> Option<u32> {
        self.of_sessions.get(session as usize).copied()
    }

    /// The numbers of the statements of `lane` from its `nth` on, at most so `many`; see [`SqlRecording::statement`].
    ///
    /// # Errors
    /// If the file that they are kept in cannot be read.
    pub fn numbers_of(&self, lane: u32, nth: u64, many: usize) -> io::Result<Vec<u32>> {
        let many = self.count_of(lane).saturating_sub(nth).min(many as u64);
        let mut bytes = vec![0; (many * BYTES) as usize];
        self.numbers.read_at((self.begin_of(lane) + nth) * BYTES, &mut bytes)?;
        let number = |bytes: &[u8]| u32::from_le_bytes(bytes.try_into().expect("4 bytes"));
        Ok(bytes.chunks_exact(BYTES as usize).map(number).collect())
    }

    fn begin_of(&self, lane: u32) -> u64 {
        lane.checked_sub(1).map_or(0, |before| self.ends[before as usize])
    }
}

impl SqlRecording {
    /// The most sessions that were open at once, from the first of their statements to the end of the last.
    pub fn most_at_once(&self) -> u32 {
        self.lane_of_sessions(u32::MAX).iter().max().map_or(0, |last| last + 1)
    }

    /// What each of `clients` clients sends, in the order of the times. With writes a client finishes one session before it begins the next.
    ///
    /// # Errors
    /// If there is no room for it, or the recording cannot be read back.
    pub fn lanes(&self, clients: u32) -> Result<Lanes, RecordingError> {
        let lanes = clients.max(1) as usize;
        let lane_of = self.lane_of_sessions(clients.max(1));
        let mut counts = vec![0u64; self.spans.len()];
        for record in self.records.iter() {
            counts[record.map_err(|error| lost(&error))?.session as usize] += 1;
        }
        let mut lane_counts = vec![0u64; lanes];
        lane_of.iter().zip(&counts).for_each(|(lane, count)| lane_counts[*lane as usize] += count);
        let ends: Vec<u64> = lane_counts
            .iter()
            .scan(0, |sum, count| {
                *sum += count;
                Some(*sum)
            })
            .collect();
        let mut next: Vec<u64> = ends.iter().zip(&lane_counts).map(|(end, count)| end - count).collect();
        let numbers = if self.keeps_sessions_whole {
            let mut starts = vec![0; counts.len()];
            for session in self.sessions_in_order() {
                let next = &mut next[lane_of[session as usize] as usize];
                starts[session as usize] = *next;
                *next += counts[session as usize];
            }
            self.put_into_place(starts, |record| record.session)?
        } else {
            self.put_into_place(next, |record| lane_of[record.session as usize])?
        };
        let of_sessions = if self.keeps_sessions_whole { lane_of } else { Vec::new() };
        Ok(Lanes { numbers, ends, of_sessions })
    }

    /// The numbers of all statements, each at the `next` place of its `group`.
    fn put_into_place(&self, mut next: Vec<u64>, group: impl Fn(&Record) -> u32) -> Result<Spill, RecordingError> {
        let mut numbers = Spill::of_zeros(self.len() * BYTES)?;
        let mut chunk: Vec<(u64, u32)> = Vec::new();
        for (number, record) in (0..).zip(self.records.iter()) {
            let next = &mut next[group(&record.map_err(|error| lost(&error))?) as usize];
            chunk.push((*next, number));
            *next += 1;
            if chunk.len() == CHUNK {
                write_chunk(&mut numbers, &mut chunk)?;
            }
        }
        write_chunk(&mut numbers, &mut chunk)?;
        Ok(numbers)
    }

    /// The sessions in the order in which they began.
    fn sessions_in_order(&self) -> Vec<u32> {
        let mut order: Vec<u32> = (0..self.spans.len() as u32).collect();
        order.sort_by_key(|session| self.spans[*session as usize].begin);
        order
    }

    /// The lane of each session, of at most so `many`.
    fn lane_of_sessions(&self, many: u32) -> Vec<u32> {
        let mut free: BinaryHeap<Reverse<(Nanos, u32)>> = BinaryHeap::new();
        let mut lane_of = vec![0; self.spans.len()];
        for session in self.sessions_in_order() {
            let SessionSpan { begin, end } = self.spans[session as usize];
            let next = free.len() as u32;
            let is_free = free.peek().is_some_and(|lane| lane.0.0 <= begin);
            let lane = if is_free || next >= many { free.pop().map_or(0, |lane| lane.0.1) } else { next };
            lane_of[session as usize] = lane;
            // Behind its end: two sessions of one moment are not one after the other.
            free.push(Reverse((Nanos(end.0.max(begin.0).saturating_add(1)), lane)));
        }
        lane_of
    }
}

/// Writes each number to its place: places that follow each other at once.
fn write_chunk(numbers: &mut Spill, chunk: &mut Vec<(u64, u32)>) -> Result<(), RecordingError> {
    chunk.sort_unstable();
    for together in chunk.chunk_by(|one, next| one.0 + 1 == next.0) {
        let bytes: Vec<u8> = together.iter().flat_map(|(_, number)| number.to_le_bytes()).collect();
        numbers.write_at(together[0].0 * BYTES, &bytes)?;
    }
    chunk.clear();
    Ok(())
}
