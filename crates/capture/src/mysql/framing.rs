//! Packets of MySQL's protocol in one direction: three bytes of length, one of sequence, the payload.
//!
//! A payload of 16 MiB - 1 goes on in the next packet. After a gap that hid where a packet ends, nothing is taken until [`Packets::resume`].

use crate::literal::Cursor;

/// The payload length that says that the next packet continues it.
const LENGTH_MAX: usize = 0xff_ffff;

/// One message: the payload of a packet and of those that continue it.
pub struct Message<'a> {
    /// The sequence number of its first packet.
    pub first_seq: u8,
    /// That of its last.
    pub last_seq: u8,
    /// Its beginning, as far as it is kept.
    pub body: &'a [u8],
    /// Its length, with what of it is not kept.
    pub length: usize,
    /// Whether bytes of it are missing.
    pub is_cut: bool,
}

/// Puts the packets of a message together.
pub struct Packets {
    /// The most bytes of a message that are kept.
    kept_max: usize,
    header: [u8; 4],
    header_len: usize,
    /// Bytes of this packet that are to come.
    left: usize,
    continues: bool,
    first_seq: u8,
    length: usize,
    body: Vec<u8>,
    is_cut: bool,
    /// Whether it is not known where the next packet begins.
    pub is_lost: bool,
}

impl Packets {
    pub fn new(kept_max: usize, is_lost: bool) -> Packets {
        Packets {
            kept_max,
            header: [0; 4],
            header_len: 0,
            left: 0,
            continues: false,
            first_seq: 0,
            length: 0,
            body: Vec::new(),
            is_cut: false,
            is_lost,
        }
    }

    pub fn held_bytes(&self) -> usize {
        self.body.capacity()
    }

    /// The next byte begins a packet.
    pub fn resume(&mut self) {
        *self = Packets::new(self.kept_max, false);
    }

    /// `count` bytes are missing. True if a message was cut by it.
    pub fn lose(&mut self, count: u64) -> bool {
        let was_within = self.header_len > 0 || self.continues;
        match usize::try_from(count) {
            // All within one payload: where it ends is known.
            Ok(count) if self.header_len == 4 && count < self.left => {
                self.left -= count;
                self.length += count;
                self.is_cut = true;
                self.body = Vec::new();
            }
            _ => *self = Packets::new(self.kept_max, true),
        }
        was_within
    }

    /// Takes the next bytes, and gives out the messages that end in them.
    pub fn feed(&mut self, mut bytes: &[u8], on_message: &mut impl FnMut(&Message<'_>)) {
        while !bytes.is_empty() && !self.is_lost {
            if self.header_len < 4 {
                let count = bytes.len().min(4 - self.header_len);
                self.header[self.header_len..self.header_len + count].copy_from_slice(&bytes[..count]);
                self.header_len += count;
                bytes = &bytes[count..];
                if self.header_len < 4 {
                    return;
                }
                self.begin_packet();
                if self.left > 0 {
                    continue;
                }
            }
            let (part, rest) = bytes.split_at(bytes.len().min(self.left));
            self.left -= part.len();
            bytes = rest;
            let is_alone = self.length == 0 && self.left == 0;
            self.length = self.length.saturating_add(part.len());
            if !is_alone && !self.is_cut {
                let room = self.kept_max.saturating_sub(self.body.len());
                self.body.extend_from_slice(&part[..part.len().min(room)]);
            }
            if self.left == 0 {
                self.end_packet(if is_alone { Some(part) } else { None }, on_message);
            }
        }
    }

    fn begin_packet(&mut self) {
        self.left = packet_length(self.header);
        if !self.continues {
            self.first_seq = self.header[3];
            self.length = 0;
            self.is_cut = false;
            self.body.clear();
        }
        self.continues = self.left == LENGTH_MAX;
    }

    /// `whole` is the message if it is in one piece, so that most are never copied.
    fn end_packet(&mut self, whole: Option<&[u8]>, on_message: &mut impl FnMut(&Message<'_>)) {
        self.header_len = 0;
        if self.continues {
            if let Some(part) = whole {
                self.body.extend_from_slice(&part[..part.len().min(self.kept_max)]);
            }
            return;
        }
        let body = match whole {
            Some(part) => &part[..part.len().min(self.kept_max)],
            None => &self.body,
        };
        let (first_seq, last_seq) = (self.first_seq, self.header[3]);
        on_message(&Message { first_seq, last_seq, body, length: self.length, is_cut: self.is_cut });
        self.length = 0;
        // A long one is rare: its memory is not kept for the next.
        if self.body.capacity() > 64 << 10 {
            self.body = Vec::new();
        }
    }
}

fn packet_length([low, middle, high, _]: [u8; 4]) -> usize {
    usize::from(low) | usize::from(middle) << 8 | usize::from(high) << 16
}

/// Whether `bytes` are complete packets that a client sends as commands, or the beginning of one with a text.
pub fn are_commands(bytes: &[u8]) -> bool {
    let mut cursor = Cursor(bytes);
    while !cursor.0.is_empty() {
        let Some(header) = cursor.array::<4>() else { return false };
        let length = packet_length(header);
        let Some(command) = cursor.0.first().copied().filter(|_| header[3] == 0 && length > 0) else { return false };
        if !is_command_of_length(command, length) {
            return false;
        }
        match cursor.bytes(length) {
            Some(_) => {}
            None => return has_text(command) && looks_like_text(&cursor.0[1..]),
        }
    }
    true
}

fn is_command_of_length(command: u8, length: usize) -> bool {
    match command {
        // Without arguments: quit, statistics, process info, debug, ping, reset connection.
        0x01 | 0x09 | 0x0a | 0x0d | 0x0e | 0x1f => length == 1,
        // With the number of a statement: close, reset.
        0x19 | 0x1a => length == 5,
        0x1b => length == 3,
        0x1c => length == 9,
        // Init db, query, field list, kill, change user, prepare, execute, long data, bulk execute.
        0x02 | 0x03 | 0x04 | 0x0c | 0x11 | 0x16 => length > 1,
        0x17 => length >= 10,
        0x18 | 0xfa => length >= 7,
        _ => false,
    }
}

fn has_text(command: u8) -> bool {
    matches!(command, 0x03 | 0x16)
}

fn looks_like_text(bytes: &[u8]) -> bool {
    let beginning = &bytes[..bytes.len().min(64)];
    // Query attributes come before the text.
    let text = beginning.strip_prefix(&[0, 1]).unwrap_or(beginning);
    text.len() >= 8 && text.iter().all(|byte| matches!(byte, b'\t' | b'\n' | b'\r' | b' '..=b'~' | 0x80..))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(seq: u8, payload: &[u8]) -> Vec<u8> {
        let length = u32::try_from(payload.len()).expect("short").to_le_bytes();
        [&length[..3], &[seq], payload].concat()
    }

    #[test]
    fn a_payload_of_16_mib_goes_on_in_the_next_packet_however_it_is_cut() {
        let text = vec![b'x'; LENGTH_MAX];
        let bytes = [packet(0, &text), packet(1, b"yz"), packet(2, b"!")].concat();
        for piece in [1_000_000, 65_536, bytes.len()] {
            let mut packets = Packets::new(usize::MAX, false);
            let mut seen = Vec::new();
            for part in bytes.chunks(piece) {
                packets.feed(part, &mut |message| {
                    seen.push((message.first_seq, message.last_seq, message.length, message.body.len()));
                });
            }
            assert_eq!(seen, [(0, 1, LENGTH_MAX + 2, LENGTH_MAX + 2), (2, 2, 1, 1)]);
        }
    }

    #[test]
    fn a_payload_of_exactly_16_mib_ends_with_an_empty_packet() {
        let bytes = [packet(0, &vec![b'x'; LENGTH_MAX]), packet(1, b"")].concat();
        let mut packets = Packets::new(100, false);
        let mut seen = Vec::new();
        packets.feed(&bytes, &mut |message| seen.push((message.length, message.body.len())));
        assert_eq!(seen, [(LENGTH_MAX, 100)]);
    }

    #[test]
    fn a_gap_within_a_payload_cuts_only_that_one() {
        let bytes = [packet(0, b"0123456789"), packet(0, b"next")].concat();
        let mut packets = Packets::new(100, false);
        let mut seen = Vec::new();
        packets.feed(&bytes[..6], &mut |_| panic!("nothing is whole"));
        assert!(packets.lose(5));
        packets.feed(&bytes[11..], &mut |message| seen.push((message.body.to_vec(), message.is_cut)));
        assert_eq!(seen.len(), 2);
        assert!(seen[0].1 && seen[1] == (b"next".to_vec(), false));
        assert!(!packets.lose(5) && packets.is_lost);
    }
}
