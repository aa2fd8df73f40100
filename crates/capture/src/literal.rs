//! Literals of SQL that both dialects write the same way.

use std::fmt::Write as _;

/// `bytes` in hexadecimal, without a prefix.
pub fn hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// Whether a text is a number as SQL writes it: digits with a sign and a point at most.
pub fn is_plain_number(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    digits.starts_with(|c: char| c.is_ascii_digit())
        && digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
        && digits.matches('.').count() <= 1
        && !digits.ends_with('.')
}

/// Reads a message from its front. Everything is `None` after the end.
#[derive(Clone, Copy)]
pub struct Cursor<'a>(pub &'a [u8]);

impl<'a> Cursor<'a> {
    pub fn bytes(&mut self, count: usize) -> Option<&'a [u8]> {
        let (front, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(front)
    }

    pub fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.bytes(N)?.try_into().ok()
    }

    pub fn byte(&mut self) -> Option<u8> {
        self.array::<1>().map(|[byte]| byte)
    }

    /// Up to a NUL, which is taken, too.
    pub fn until_nul(&mut self) -> Option<&'a [u8]> {
        let end = self.0.iter().position(|byte| *byte == 0)?;
        let text = self.bytes(end)?;
        self.byte()?;
        Some(text)
    }

    /// A number of MySQL's variable length. Source: the protocol's `int<lenenc>`.
    pub fn lenenc(&mut self) -> Option<u64> {
        let wide = |bytes: &[u8]| bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte));
        match self.byte()? {
            0xfc => self.bytes(2).map(wide),
            0xfd => self.bytes(3).map(wide),
            0xfe => self.bytes(8).map(wide),
            0xfb | 0xff => None,
            small => Some(u64::from(small)),
        }
    }

    /// Bytes after their length.
    pub fn lenenc_bytes(&mut self) -> Option<&'a [u8]> {
        let count = usize::try_from(self.lenenc()?).ok()?;
        self.bytes(count)
    }
}
