//! The bytes that one end of a TCP connection sent, in their order.
//!
//! In: segments as they were captured: out of order, twice, overlapping, cut by the snap length. Out: the bytes once each, and the places
//! where some are missing. Bytes are missing for good when the other end has acknowledged them, or when [`PENDING_BYTES_MAX`] bytes wait for them.

use std::collections::BTreeMap;

/// The most bytes of one stream that wait for an earlier segment.
pub const PENDING_BYTES_MAX: usize = 4 << 20;
/// As many segments of one byte would take more memory than their bytes.
const PENDING_SEGMENTS_MAX: usize = 4096;
/// What the memory of a segment is more than its bytes.
const PENDING_COST_BYTES: usize = 96;

#[derive(Debug, PartialEq, Eq)]
pub enum Arrived<'a> {
    /// Bytes that were captured at `at_us`.
    Bytes { at_us: i64, bytes: &'a [u8], is_segment_start: bool },
    /// This many bytes are missing.
    Lost(u64),
}

struct Pending {
    at_us: i64,
    bytes: Vec<u8>,
    /// Bytes that the snap length cut off.
    cut: u32,
}

/// One direction of a connection.
#[derive(Default)]
pub struct Stream {
    /// The place of the next byte. Its low 32 bits are TCP's sequence number; the rest counts how often that wrapped.
    next: Option<u64>,
    pending: BTreeMap<u64, Pending>,
    pending_bytes: usize,
    /// The place after the last byte, if the end said that it sends no more.
    end: Option<u64>,
}

impl Stream {
    /// The next byte is the one with this sequence number.
    pub fn start(&mut self, seq: u32) {
        // One round above 0, so that an earlier segment has a place, too.
        *self = Stream { next: Some(u64::from(seq) + (1 << 32)), ..Stream::default() };
    }

    pub fn held_bytes(&self) -> usize {
        self.pending_bytes
    }

    /// The nearest place to the next byte that has this sequence number.
    fn place_of(next: u64, seq: u32) -> u64 {
        next.wrapping_add_signed(i64::from(seq.wrapping_sub(next as u32).cast_signed()))
    }

    /// Takes a segment whose first byte has the sequence number `seq`. `cut` bytes after `bytes` were not captured.
    pub fn push(&mut self, (at_us, seq): (i64, u32), bytes: &[u8], cut: u32, on_arrived: &mut impl FnMut(Arrived<'_>)) {
        let next = *self.next.get_or_insert(u64::from(seq) + (1 << 32));
        let place = Stream::place_of(next, seq);
        if place <= next {
            self.deliver(place, at_us, bytes, cut, on_arrived);
        } else if !bytes.is_empty() && self.pending.get(&place).is_none_or(|held| held.bytes.len() < bytes.len()) {
            let held = Pending { at_us, bytes: bytes.to_vec(), cut };
            self.pending_bytes += bytes.len() + PENDING_COST_BYTES;
            if let Some(replaced) = self.pending.insert(place, held) {
                self.pending_bytes -= replaced.bytes.len() + PENDING_COST_BYTES;
            }
        }
        self.deliver_pending(on_arrived);
        while self.pending_bytes > PENDING_BYTES_MAX || self.pending.len() > PENDING_SEGMENTS_MAX {
            self.skip_to_pending(on_arrived);
        }
    }

    /// The end said that it sends no byte from the sequence number `seq` on.
    pub fn finish_at(&mut self, seq: u32) {
        self.end = self.next.map(|next| Stream::place_of(next, seq));
    }

    /// The other end has all bytes before `seq`: those that were not captured will not come.
    pub fn acknowledge(&mut self, seq: u32, on_arrived: &mut impl FnMut(Arrived<'_>)) {
        let Some(next) = self.next else { return };
        let mut place = Stream::place_of(next, seq);
        // The end of a stream takes a sequence number of its own.
        if self.end.is_some_and(|end| place == end + 1) {
            place -= 1;
        }
        while self.next.is_some_and(|next| next < place) {
            if self.pending.keys().next().is_some_and(|first| *first <= place) {
                self.skip_to_pending(on_arrived);
            } else {
                self.skip_to(place, on_arrived);
            }
        }
    }

    /// Nothing more comes: what waits is delivered.
    pub fn close(&mut self, on_arrived: &mut impl FnMut(Arrived<'_>)) {
        while !self.pending.is_empty() {
            self.skip_to_pending(on_arrived);
        }
    }

    fn skip_to_pending(&mut self, on_arrived: &mut impl FnMut(Arrived<'_>)) {
        if let Some(place) = self.pending.keys().next().copied() {
            self.skip_to(place, on_arrived);
            self.deliver_pending(on_arrived);
        }
    }

    fn skip_to(&mut self, place: u64, on_arrived: &mut impl FnMut(Arrived<'_>)) {
        let Some(next) = self.next.as_mut().filter(|next| **next < place) else { return };
        on_arrived(Arrived::Lost(place - *next));
        *next = place;
    }

    fn deliver_pending(&mut self, on_arrived: &mut impl FnMut(Arrived<'_>)) {
        while let Some(first) =
            self.pending.first_entry().filter(|first| self.next.is_some_and(|next| *first.key() <= next))
        {
            let (place, held) = first.remove_entry();
            self.pending_bytes -= held.bytes.len() + PENDING_COST_BYTES;
            self.deliver(place, held.at_us, &held.bytes, held.cut, on_arrived);
        }
    }

    /// Delivers what is new of a segment that does not begin after the next byte.
    fn deliver(&mut self, place: u64, at_us: i64, bytes: &[u8], cut: u32, on_arrived: &mut impl FnMut(Arrived<'_>)) {
        let Some(next) = self.next else { return };
        let known = usize::try_from(next - place).unwrap_or(usize::MAX);
        if let Some(new) = bytes.get(known..).filter(|new| !new.is_empty()) {
            self.next = Some(next + new.len() as u64);
            on_arrived(Arrived::Bytes { at_us, bytes: new, is_segment_start: known == 0 });
        }
        if cut > 0 {
            self.skip_to(place + bytes.len() as u64 + u64::from(cut), on_arrived);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a stream that starts at `start` makes of segments; `_` stands for each byte that is missing.
    fn text_of(start: u32, segments: &[(u32, &str)], acknowledged: Option<u32>) -> String {
        let mut text = String::new();
        let mut take = |arrived: Arrived<'_>| match arrived {
            Arrived::Bytes { bytes, .. } => text.push_str(std::str::from_utf8(bytes).expect("ASCII")),
            Arrived::Lost(count) => (0..count).for_each(|_| text.push('_')),
        };
        let mut stream = Stream::default();
        stream.start(start);
        for (seq, bytes) in segments {
            stream.push((0, *seq), bytes.as_bytes(), 0, &mut take);
        }
        if let Some(seq) = acknowledged {
            stream.acknowledge(seq, &mut take);
        }
        assert_eq!(
            stream.held_bytes(),
            stream.pending.values().map(|held| held.bytes.len() + PENDING_COST_BYTES).sum::<usize>()
        );
        text
    }

    #[test]
    fn segments_in_any_order_and_twice_are_one_text() {
        assert_eq!(text_of(7, &[(7, "ab"), (11, "ef"), (7, "ab"), (9, "cd"), (9, "cd"), (13, "g")], None), "abcdefg");
        assert_eq!(text_of(7, &[(7, "abc"), (8, "bcde"), (14, "h"), (10, "defgh"), (6, "x")], None), "abcdefgh");
    }

    #[test]
    fn a_sequence_number_that_wraps_goes_on() {
        assert_eq!(text_of(u32::MAX - 1, &[(u32::MAX - 1, "ab"), (1, "d"), (0, "c"), (2, "e")], None), "abcde");
    }

    #[test]
    fn what_is_acknowledged_and_was_not_captured_is_missing() {
        assert_eq!(text_of(0, &[(0, "ab"), (4, "ef")], None), "ab");
        assert_eq!(text_of(0, &[(0, "ab"), (4, "ef")], Some(4)), "ab__ef");
        assert_eq!(text_of(0, &[(0, "ab"), (4, "ef"), (8, "i")], Some(10)), "ab__ef__i_");
    }

    #[test]
    fn what_waits_is_bounded() {
        let mut stream = Stream::default();
        stream.start(0);
        let mut lost = 0;
        for number in 0..100_000_u32 {
            stream.push((0, 10 + 2 * number), b"x", 0, &mut |arrived| {
                if let Arrived::Lost(count) = arrived {
                    lost += count;
                }
            });
            assert!(stream.pending.len() <= PENDING_SEGMENTS_MAX);
        }
        assert!(lost > 90_000, "{lost}");
    }

    #[test]
    fn what_the_snap_length_cut_off_is_missing_at_once() {
        let mut seen = Vec::new();
        let mut stream = Stream::default();
        stream.start(0);
        stream.push((5, 0), b"ab", 3, &mut |arrived| seen.push(format!("{arrived:?}")));
        stream.push((6, 5), b"f", 0, &mut |arrived| seen.push(format!("{arrived:?}")));
        assert_eq!(seen.len(), 3, "{seen:?}");
        assert_eq!(seen[1], "Lost(3)");
    }
}
