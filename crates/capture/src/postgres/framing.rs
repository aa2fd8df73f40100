//! Messages of PostgreSQL's protocol in one direction: a letter, four bytes of length, the payload; the first of a client has no letter.
//!
//! Source: <https://www.postgresql.org/docs/current/protocol-message-formats.html>. Only the letters that are asked for are kept: no
//! password and no data of a COPY is ever copied, and a row only if it comes in several pieces.

use crate::literal::Cursor;

pub struct Message<'a> {
    /// Its letter; 0 for one without.
    pub kind: u8,
    /// Its payload, if it is of a kind that is kept.
    pub body: &'a [u8],
    /// Whether bytes of it are missing, or it is too long.
    pub is_cut: bool,
    pub is_too_long: bool,
}

/// Puts messages together from the bytes of a stream.
pub struct Messages {
    kept_kinds: &'static [u8],
    kept_max: usize,
    /// Whether the next message has no letter.
    pub is_untyped: bool,
    header: Vec<u8>,
    /// Bytes of this message that are to come; `None` while its header does.
    left: Option<usize>,
    length: usize,
    body: Vec<u8>,
    is_cut: bool,
    /// Whether it is not known where the next message begins.
    pub is_lost: bool,
}

impl Messages {
    pub fn new(kept_kinds: &'static [u8], kept_max: usize, is_lost: bool) -> Messages {
        Messages {
            kept_kinds,
            kept_max,
            is_untyped: false,
            header: Vec::new(),
            left: None,
            length: 0,
            body: Vec::new(),
            is_cut: false,
            is_lost,
        }
    }

    pub fn held_bytes(&self) -> usize {
        self.body.capacity()
    }

    /// The next byte begins a message.
    pub fn resume(&mut self) {
        *self = Messages::new(self.kept_kinds, self.kept_max, false);
    }

    /// `count` bytes are missing. True if a message was cut by it.
    pub fn lose(&mut self, count: u64) -> bool {
        let was_within = !self.header.is_empty();
        match (self.left, usize::try_from(count)) {
            (Some(left), Ok(count)) if count < left => {
                self.left = Some(left - count);
                self.is_cut = true;
                self.body = Vec::new();
            }
            _ => *self = Messages::new(self.kept_kinds, self.kept_max, true),
        }
        was_within
    }

    /// Takes the next bytes, and gives out the messages that end in them. What is given back says that the next message has no letter.
    pub fn feed(&mut self, mut bytes: &[u8], on_message: &mut impl FnMut(&Message<'_>) -> bool) {
        while !bytes.is_empty() && !self.is_lost {
            let left = match self.left {
                Some(left) => left,
                None => {
                    let wanted = if self.is_untyped { 4 } else { 5 };
                    let (part, rest) = bytes.split_at(bytes.len().min(wanted - self.header.len()));
                    self.header.extend_from_slice(part);
                    bytes = rest;
                    if self.header.len() < wanted {
                        return;
                    }
                    match payload_length(&self.header[wanted - 4..]) {
                        Some(length) => self.begin(length),
                        None => {
                            *self = Messages::new(self.kept_kinds, self.kept_max, true);
                            return;
                        }
                    }
                }
            };
            let (part, rest) = bytes.split_at(bytes.len().min(left));
            bytes = rest;
            self.left = Some(left - part.len());
            let is_whole = part.len() == self.length;
            if !is_whole && !self.is_cut && self.is_kept() {
                self.body.extend_from_slice(part);
            }
            if left == part.len() {
                self.end(part, is_whole, on_message);
            }
        }
    }

    fn kind(&self) -> u8 {
        if self.is_untyped { 0 } else { self.header[0] }
    }

    fn is_kept(&self) -> bool {
        self.length <= self.kept_max && self.kept_kinds.contains(&self.kind())
    }

    fn begin(&mut self, length: usize) -> usize {
        self.length = length;
        self.left = Some(length);
        self.is_cut = false;
        self.body.clear();
        length
    }

    fn end(&mut self, part: &[u8], is_whole: bool, on_message: &mut impl FnMut(&Message<'_>) -> bool) {
        let is_kept = self.is_kept();
        let body = match is_whole {
            true if is_kept => part,
            true => &[],
            false => &self.body,
        };
        let is_too_long = self.length > self.kept_max;
        let message = Message { kind: self.kind(), body, is_cut: self.is_cut, is_too_long };
        self.is_untyped = on_message(&message);
        self.header.clear();
        self.left = None;
        if self.body.capacity() > 64 << 10 {
            self.body = Vec::new();
        }
    }
}

/// The length says how many bytes follow it and its own four.
fn payload_length(bytes: &[u8]) -> Option<usize> {
    let length = u32::from_be_bytes(bytes.try_into().ok()?).checked_sub(4)?;
    // A message of a server has less than 1 GiB; more is no length.
    (length < 1 << 30).then_some(length as usize)
}

/// Whether `bytes` are complete messages of a client, the first of a kind that no server sends, or the beginning of one with a text.
pub fn are_requests(bytes: &[u8]) -> bool {
    matches!(bytes.first(), Some(b'Q' | b'P' | b'B')) && is_chain(bytes, b"QPBDESCHFXdcfp")
}

/// Whether `bytes` are messages of a server. Its last may go on.
pub fn are_answers(bytes: &[u8]) -> bool {
    is_chain(bytes, b"RKSZTDCENA123nstIGHWdcVv")
}

fn is_chain(bytes: &[u8], kinds: &[u8]) -> bool {
    let mut cursor = Cursor(bytes);
    let mut whole = 0;
    while let Some(kind) = cursor.byte() {
        let Some(length) = cursor.array::<4>().and_then(|length| payload_length(&length)) else { return false };
        if !kinds.contains(&kind) {
            return false;
        }
        if cursor.bytes(length).is_none() {
            return whole >= 2
                || (matches!(kind, b'Q' | b'P') && looks_like_text(cursor.0))
                || matches!(kind, b'T' | b'D');
        }
        whole += 1;
    }
    whole > 0
}

fn looks_like_text(bytes: &[u8]) -> bool {
    let beginning = &bytes[..bytes.len().min(64)];
    beginning.len() >= 8
        && beginning.iter().all(|byte| matches!(byte, 0 | b'\t' | b'\n' | b'\r' | b' '..=b'~' | 0x80..))
}
