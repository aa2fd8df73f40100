//! The text of a log, out of what it is wrapped in.
//!
//! In: a reader of a file: plain, or packed by gzip or zstd; in UTF-8 or UTF-16. Out: a reader of plain bytes. Limits: UTF-16 is known by
//! its byte order mark only. What is packed more than [`RATIO_MAX`]-fold is refused: no log is.

use crate::recording_error::RecordingError;
use flate2::bufread::MultiGzDecoder;
use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// One statement again and again with other times is packed 100-fold.
const RATIO_MAX: u64 = 500;
/// Less is read whatever the ratio.
const UNPACKED_FREE: u64 = 64 << 20;
const BUFFER_BYTES: usize = 1 << 18;

/// Other programs' signs at the beginning of what they packed.
const UNREADABLE: [(&[u8], &str); 5] = [
    (b"\xfd7zXZ\0", "xz"),
    (b"BZh", "bzip2"),
    (b"PK\x03\x04", "zip"),
    (b"\x04\x22\x4d\x18", "lz4"),
    (b"\xfebin", "MySQL as a binary log"),
];

/// The text in `reader`.
///
/// # Errors
/// If it cannot be read, or is packed by a program that is not known here.
pub(super) fn unpacked<'a>(
    mut reader: impl BufRead + Send + 'a,
) -> Result<Box<dyn BufRead + Send + 'a>, RecordingError> {
    let head = first_bytes(&mut reader, 6)?;
    if let Some((_, program)) = UNREADABLE.iter().find(|(sign, _)| head.starts_with(sign)) {
        let text = format!("it was written by {program}; plain text, gzip and zstd can be read: unpack it first");
        return Err(RecordingError::of_file(text));
    }
    let is_packed_by = |sign: &[u8]| head.starts_with(sign);
    let (gzip, zstandard) = (is_packed_by(b"\x1f\x8b"), is_packed_by(b"\x28\xb5\x2f\xfd"));
    let packed = Arc::new(AtomicU64::new(0));
    let whole = Counted { inner: Cursor::new(head).chain(reader), count: packed.clone() };
    let text: Box<dyn Read + Send + 'a> = match (gzip, zstandard) {
        (true, _) => Box::new(Bounded { inner: MultiGzDecoder::new(whole), packed, unpacked: 0 }),
        (_, true) => {
            let decoder = zstd::stream::read::Decoder::with_buffer(whole).map_err(|error| unreadable(&error))?;
            Box::new(Bounded { inner: decoder, packed, unpacked: 0 })
        }
        _ => return decoded(whole),
    };
    decoded(BufReader::with_capacity(BUFFER_BYTES, text))
}

/// The text of `reader` as UTF-8 without its byte order mark.
fn decoded<'a>(mut reader: impl BufRead + Send + 'a) -> Result<Box<dyn BufRead + Send + 'a>, RecordingError> {
    // As many as a capture begins with: they are what is buffered first.
    let head = first_bytes(&mut reader, 4)?;
    let (mark, is_little) = match head[..] {
        [0xff, 0xfe, ..] => (2, Some(true)),
        [0xfe, 0xff, ..] => (2, Some(false)),
        [0xef, 0xbb, 0xbf, ..] => (3, None),
        _ => (0, None),
    };
    let rest = Cursor::new(head[mark..].to_vec()).chain(reader);
    Ok(match is_little {
        None => Box::new(rest),
        Some(is_little) => {
            let decoder = Utf16 { inner: rest, is_little, half: None, high: None, text: Vec::new(), read: 0 };
            Box::new(BufReader::new(decoder))
        }
    })
}

/// The first so `many` bytes, or all if there are fewer.
fn first_bytes(reader: &mut impl BufRead, many: u64) -> Result<Vec<u8>, RecordingError> {
    let mut bytes = Vec::new();
    reader.take(many).read_to_end(&mut bytes).map_err(|error| unreadable(&error))?;
    Ok(bytes)
}

pub(super) fn unreadable(error: &io::Error) -> RecordingError {
    RecordingError::of_file(format!("cannot be read: {}", model::system_words(error)))
}

/// Counts what is read of a packed file.
struct Counted<R> {
    inner: R,
    count: Arc<AtomicU64>,
}

impl<R: BufRead> Read for Counted<R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(bytes)?;
        self.count.fetch_add(read as u64, Relaxed);
        Ok(read)
    }
}

impl<R: BufRead> BufRead for Counted<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.inner.fill_buf()
    }

    fn consume(&mut self, many: usize) {
        self.count.fetch_add(many as u64, Relaxed);
        self.inner.consume(many);
    }
}

/// What comes out of a decoder, if it is not too much for what went in. A packed file that was cut off ends where it is cut.
struct Bounded<R> {
    inner: R,
    packed: Arc<AtomicU64>,
    unpacked: u64,
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let read = match self.inner.read(bytes) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => 0,
            read => read?,
        };
        self.unpacked += read as u64;
        let packed = self.packed.load(Relaxed);
        if self.unpacked > UNPACKED_FREE && self.unpacked / packed.max(1) > RATIO_MAX {
            let text = format!("{packed} packed bytes become more than {} bytes, as those of no log do", self.unpacked);
            return Err(io::Error::new(io::ErrorKind::InvalidData, text));
        }
        Ok(read)
    }
}

/// UTF-16 as UTF-8; half a pair becomes the sign for that.
struct Utf16<R> {
    inner: R,
    is_little: bool,
    /// The first byte of a unit whose second one is to come.
    half: Option<u8>,
    /// The first unit of a pair.
    high: Option<u16>,
    /// What was decoded, and how much of it was read.
    text: Vec<u8>,
    read: usize,
}

impl<R: BufRead> Read for Utf16<R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        while self.read == self.text.len() {
            if !self.decode_more()? {
                return Ok(0);
            }
        }
        let read = (&self.text[self.read..]).read(bytes)?;
        self.read += read;
        Ok(read)
    }
}

impl<R: BufRead> Utf16<R> {
    /// Whether there was more.
    fn decode_more(&mut self) -> io::Result<bool> {
        (self.read, self.text) = (0, Vec::new());
        let source = self.inner.fill_buf()?;
        let many = source.len().min(BUFFER_BYTES);
        let source = source[..many].to_vec();
        self.inner.consume(many);
        for byte in &source {
            let Some(first) = self.half.take() else {
                self.half = Some(*byte);
                continue;
            };
            let pair = [first, *byte];
            let unit = if self.is_little { u16::from_le_bytes(pair) } else { u16::from_be_bytes(pair) };
            let (chars, high) = decode(self.high.take(), unit);
            chars.into_iter().flatten().for_each(|c| self.push(c));
            self.high = high;
        }
        let is_cut = many == 0 && (self.half.take().is_some() | self.high.take().is_some());
        if is_cut {
            self.push(char::REPLACEMENT_CHARACTER);
        }
        Ok(many > 0 || is_cut)
    }

    fn push(&mut self, c: char) {
        self.text.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
    }
}

/// What `unit` completes, and what it begins.
fn decode(high: Option<u16>, unit: u16) -> ([Option<char>; 2], Option<u16>) {
    const LOST: Option<char> = Some(char::REPLACEMENT_CHARACTER);
    let is_high = (0xd800..0xdc00).contains(&unit);
    match high {
        None if is_high => ([None, None], Some(unit)),
        None => ([char::from_u32(unit.into()).or(LOST), None], None),
        Some(_) if is_high => ([LOST, None], Some(unit)),
        Some(high) => match char::decode_utf16([high, unit]).next() {
            Some(Ok(c)) => ([Some(c), None], None),
            _ => ([LOST, char::from_u32(unit.into()).or(LOST)], None),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    const TEXT: &str = "# Time: 261128\nselect 'ä𝄞';\n";

    fn read(bytes: &[u8]) -> Result<String, String> {
        let mut text = String::new();
        let mut reader = unpacked(bytes).map_err(|error| error.to_string())?;
        reader.read_to_string(&mut text).map_err(|error| error.to_string())?;
        Ok(text)
    }

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn utf16(mark: bool, unit: impl Fn(u16) -> [u8; 2]) -> Vec<u8> {
        let mark = mark.then_some(0xfeff);
        mark.into_iter().chain(TEXT.encode_utf16()).flat_map(unit).collect()
    }

    #[test]
    fn a_text_is_the_same_in_all_its_wrappings() {
        let packed = gzip(TEXT.as_bytes());
        let two = [packed.clone(), packed.clone()].concat();
        assert_eq!(read(&two).unwrap(), TEXT.repeat(2), "rotated logs in one file");
        let zstandard = zstd::encode_all(TEXT.as_bytes(), 3).unwrap();
        let marked = [&b"\xef\xbb\xbf"[..], TEXT.as_bytes()].concat();
        let (little, big) = (utf16(true, u16::to_le_bytes), utf16(true, u16::to_be_bytes));
        for bytes in [TEXT.as_bytes().to_vec(), packed, zstandard, marked, little.clone(), gzip(&little), big] {
            assert_eq!(read(&bytes).unwrap(), TEXT);
        }
        assert_eq!(read(b"").unwrap(), "");
    }

    #[test]
    fn what_is_cut_ends_there_and_what_is_packed_by_others_is_named() {
        let text: String = (0..2_000).map(|nth| format!("line {nth}\n")).collect();
        for whole in [gzip(text.as_bytes()), zstd::encode_all(text.as_bytes(), 3).unwrap()] {
            for end in 6..whole.len() {
                assert!(text.starts_with(&read(&whole[..end]).unwrap()));
            }
        }
        let little = utf16(true, u16::to_le_bytes);
        assert_eq!(read(&little[..little.len() - 1]).unwrap(), [&TEXT[..TEXT.len() - 1], "\u{fffd}"].concat());
        assert!(read(b"\xfd7zXZ\0abc").unwrap_err().contains("it was written by xz"));
        assert!(read(b"\x1f\x8bnothing of that sort").is_err());
    }

    #[test]
    fn a_bomb_is_refused() {
        let bomb = gzip(&vec![b'a'; UNPACKED_FREE as usize * 2]);
        let refused = io::copy(&mut unpacked(&bomb[..]).unwrap(), &mut io::sink()).unwrap_err();
        assert!(refused.to_string().contains("as those of no log do"), "{refused}");
    }
}
